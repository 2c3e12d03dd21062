//! Tests that checks, messages and pages are all made from one struct of parameters.

#![allow(clippy::unwrap_used, reason = "a test")]

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wane_units::{Bytes, Ratio};

use crate::{Builtin, Entry, ParameterError};

#[derive(Debug)]
struct Sample(SampleParams);

/// Samples every kind of parameter.
///
/// What it does.
///
/// Source: made up.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
struct SampleParams {
    /// Days | of rest.
    #[schemars(extend("exclusiveMinimum" = 0, "x-unit" = "days"))]
    days: f64,
    /// Blocks drawn.
    #[schemars(range(min = 1, max = 4096))]
    blocks: u32,
    /// Any count.
    #[schemars(range(max = i64::MAX as u64))]
    count: u64,
    /// What comes first.
    tie: Tie,
    /// Whether it does.
    on: bool,
    /// A share.
    share: Ratio,
    /// A limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<Bytes>,
    /// What changes when.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    steps: Vec<(Ratio, f64)>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Tie {
    /// The old one.
    #[default]
    OldOne,
    /// The new one.
    NewOne,
}

impl Default for SampleParams {
    fn default() -> Self {
        let share = Ratio::new(0.5).unwrap();
        Self { days: 2.0, blocks: 3, count: 4, tie: Tie::OldOne, on: false, share, limit: None, steps: Vec::new() }
    }
}

impl Builtin for Sample {
    const KIND: &'static str = "sample";
    const NAME: &'static str = "whole";
    type Params = SampleParams;

    fn build(params: SampleParams) -> Self {
        Self(params)
    }

    fn check(params: &SampleParams) -> Result<(), String> {
        if params.on && params.limit.is_some() { Err("on takes no limit".to_owned()) } else { Ok(()) }
    }
}

const ENTRY: Entry<Sample> = Entry::of::<Sample>(Sample::read);

fn refusal(toml: &str) -> String {
    ENTRY.parse(toml.parse().unwrap()).unwrap_err().to_string()
}

#[test]
fn what_is_out_of_range_is_refused_with_its_key_the_value_and_what_is_allowed() {
    let share = "a ratio from 0 to 1, such as 0.5 or \"50 %\"";
    let table = [
        ("days = 0", "`days`: found 0, expected a number above 0, in days".to_owned()),
        ("days = nan", "`days`: found NaN, expected a number above 0, in days".to_owned()),
        ("days = [1]", "`days`: found a list, expected a number above 0, in days".to_owned()),
        ("blocks = 0", "`blocks`: found 0, expected a whole number from 1 to 4096".to_owned()),
        ("blocks = 1.5", "`blocks`: found 1.5, expected a whole number from 1 to 4096".to_owned()),
        ("count = -1", "`count`: found -1, expected a whole number from 0 on".to_owned()),
        ("tie = 'older'", "`tie`: found \"older\", expected one of \"old-one\", \"new-one\"".to_owned()),
        ("on = 'yes'", "`on`: found \"yes\", expected true or false".to_owned()),
        ("share = '150 %'", format!("`share`: found \"150 %\", expected {share}")),
        ("share = 2", format!("`share`: found 2, expected {share}")),
        ("steps = 1", format!("`steps`: found 1, expected a list of [{share}, a number]")),
        ("steps = [[0.5]]", format!("`steps`: found a list, expected [{share}, a number]")),
        ("steps = [[0.5, 1], ['x', 1]]", format!("`steps`: found \"x\", expected {share}")),
        ("limit = '4'", "`limit`: found \"4\", expected a size such as \"1 GiB\"".to_owned()),
        ("on = true\nlimit = '1 KiB'", "on takes no limit".to_owned()),
        (
            "block = 3",
            "`block`: is unknown, allowed are `blocks`, `count`, `days`, `limit`, `on`, `share`, `steps`, `tie`; did you mean \
             \"blocks\"?"
                .to_owned(),
        ),
    ];
    for (toml, want) in table {
        assert_eq!(refusal(toml), format!("sample \"whole\": {want}"), "{toml}");
    }
}

#[test]
fn what_is_in_range_is_taken() {
    let toml = "days = 7\nblocks = 4096\ntie = 'new-one'\nshare = '25 %'\nlimit = '1.5 KiB'";
    let Sample(read) = ENTRY.parse(toml.parse().unwrap()).unwrap();
    let share = Ratio::new(0.25).unwrap();
    let want = SampleParams {
        days: 7.0,
        blocks: 4096,
        tie: Tie::NewOne,
        share,
        limit: Some(Bytes(1536)),
        ..SampleParams::default()
    };
    assert_eq!(read, want);
}

#[test]
fn structs_are_held_to_the_same_ranges_as_text() {
    let table: [(SampleParams, Option<&str>); 5] = [
        (SampleParams::default(), None),
        (SampleParams { days: f64::NAN, ..SampleParams::default() }, Some("days")),
        (SampleParams { blocks: 4097, ..SampleParams::default() }, Some("blocks")),
        (SampleParams { count: u64::MAX, ..SampleParams::default() }, None),
        (SampleParams { on: true, limit: Some(Bytes(1)), ..SampleParams::default() }, None),
    ];
    let refused: Vec<Result<(), ParameterError>> =
        table.iter().map(|(params, _)| Sample::new(params.clone()).map(drop)).collect();
    assert_eq!(refused.iter().map(Result::is_ok).collect::<Vec<_>>(), [true, false, false, false, false]);
    for ((_, key), refused) in table.iter().zip(refused) {
        assert_eq!(refused.err().and_then(|error| error.key).as_deref(), *key);
    }
}

#[test]
fn defaults_resolve_to_themselves() {
    let Sample(read) = ENTRY.parse(ENTRY.defaults()).unwrap();
    assert_eq!(read, SampleParams::default());
}

#[test]
fn the_page_is_the_doc_comment_with_the_fields_as_a_table() {
    assert_eq!(ENTRY.summary(), "samples every kind of parameter");
    let (page, want) = (
        ENTRY.page(),
        "What it does.\n\n| key | default | allowed | meaning |\n|---|---|---|---|\n\
         | `blocks` | `3` | 1 to 4096 | Blocks drawn. |\n\
         | `count` | `4` | 0 and up | Any count. |\n\
         | `days` | `2` | above 0, in days | Days \\| of rest. |\n\
         | `limit` | none | a size, such as `\"1 GiB\"` | A limit. |\n\
         | `on` | `false` | `true`, `false` | Whether it does. |\n\
         | `share` | `0.5` | 0 to 1, or in percent | A share. |\n\
         | `steps` | none | a list of [0 to 1, or in percent; a number] | What changes when. |\n\
         | `tie` | `\"old-one\"` | `\"old-one\"`, `\"new-one\"` | What comes first. `\"old-one\"`: The old one. `\"new-one\"`: The \
         new one. |\n\nSource: made up.\n",
    );
    assert_eq!(page, want);
    assert_eq!(
        ENTRY.example(),
        "{ sample = \"whole\", blocks = 3, count = 4, days = 2, on = false, share = 0.5, tie = \"old-one\" }"
    );
}
