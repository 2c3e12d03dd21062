//! Checks the JSON schema that editors read with an independent validator and against what wane itself accepts.

use std::sync::LazyLock;

use jsonschema::Validator;

use super::layer::Layer;
use super::schema::{Section, sections};
use super::tests::{EXAMPLE, PHASES, VALUES, scenarios_of_the_book};
use super::timed_tests::ALL;
use super::written::ORDERED;
use super::*;

static VALIDATOR: LazyLock<Validator> =
    LazyLock::new(|| jsonschema::draft202012::new(json_schema()).expect("the schema is one of 2020-12"));

/// The errors that the validator finds in a text of TOML.
fn complaints(text: &str) -> Vec<String> {
    let table: Table = text.parse().unwrap_or_else(|error| panic!("{error}\n{text}"));
    let json = serde_json::to_value(table).unwrap();
    VALIDATOR.iter_errors(&json).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

fn resolve(text: &str) -> Result<Scenario, ScenarioError> {
    Scenario::resolve(&Sources { preset: None, file: Some(("test.toml", text)), set: &[] })
}

#[test]
fn the_schema_is_a_json_schema() {
    jsonschema::meta::validate(json_schema()).unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn an_editor_finds_nothing_wrong_with_a_good_scenario() {
    let mut texts: Vec<String> = PRESETS.iter().map(|preset| preset.text.to_owned()).collect();
    texts.extend([EXAMPLE, PHASES, ALL].map(str::to_owned));
    let short = "[ftl]\ngc = 'greedy'\nretire = { policy = 'failures' }\n[until]\nrequests = 1\n";
    texts.push(short.to_owned());
    let bound = "[ftl]\ncapacity = { policy = 'variant', shrink = 'graceful', relocation-bound = '1 GiB' }\n[until]\nrequests = 1\n";
    texts.push(bound.to_owned());
    let end = "[until]\ndrive-writes = 2.5\n";
    let book = scenarios_of_the_book();
    texts.extend(book.iter().cloned().chain(book.iter().map(|text| format!("{text}\n{end}"))));
    let policies =
        policies().into_iter().map(|policy| format!("[ftl]\n{} = {}\n", policy.family.key(), policy.example));
    texts.extend(policies);
    let mut checked = 0;
    for text in texts {
        // Fragments of the book that show a key or two are no scenarios.
        let Ok(layer) = Layer::parse("test.toml", &text) else { continue };
        assert_eq!(complaints(&layer.text), [""; 0], "{text}");
        checked += 1;
        let Ok(scenario) = resolve(&text) else { continue };
        assert_eq!(complaints(&scenario.to_toml()), [""; 0], "resolved from {text}");
    }
    assert!(checked > 45, "only {checked} texts were checked");
}

#[test]
fn an_editor_underlines_what_wane_refuses() {
    let table = [
        ("[drvie]\nchannels = 8", "drvie"),
        ("[drive]\npage_size = '4 KiB'", "page_size"),
        ("[drive]\npage-size = 4096", "/drive/page-size"),
        ("[drive]\npage-size = '4 KB'", "/drive/page-size"),
        ("[drive]\nchannels = 0", "/drive/channels"),
        ("[drive]\nendurance = 0", "/drive/endurance"),
        ("[drive]\nendurance = 'much'", "/drive/endurance"),
        ("[drive]\nspare-factor = 1.5", "/drive/spare-factor"),
        ("[drive]\ncell = 'plc'", "/drive/cell"),
        ("[drive]\nchip = 'tlc'", "/drive/chip"),
        ("[drive.chip]\nk = 2.0", "/drive/chip"),
        ("[drive.timing]\nread = []", "/drive/timing/read"),
        ("[drive.timing]\nchannel-rate = '667 MB'", "/drive/timing/channel-rate"),
        ("[drive.ecc]\nscale = 1", "/drive/ecc/scale"),
        ("[drive.initial]\nretention = ['9 days']", "/drive/initial/retention"),
        ("[ftl]\ngc = 'gredy'", "/ftl/gc"),
        ("[ftl]\ngc = { policy = 'gredy' }", "/ftl/gc"),
        ("[ftl]\ngc = { policy = 'd-choices', d = 0 }", "/ftl/gc"),
        ("[ftl]\ngc = { policy = 'fifo', d = 2 }", "/ftl/gc"),
        ("[ftl]\nwear-leveling = { policy = 'pwl', threshold = '150 %' }", "/ftl/wear-leveling"),
        ("[ftl]\nwear-leveling = { policy = 'pwl', threshold = 'half' }", "/ftl/wear-leveling"),
        ("[ftl]\ncapacity = { policy = 'variant', relocation-bound = '1 Gib' }", "/ftl/capacity"),
        ("[ftl]\nunit = 'superblok'", "/ftl/unit"),
        ("[time]\nscheduler = 'events'", "/time/scheduler"),
        ("[time]\nthink-time = 1", "/time/think-time"),
        ("[workload]\npattern = 'zip'", "/workload/pattern"),
        ("[workload]\nexponent = 11", "/workload/exponent"),
        ("[workload]\nread-share = '100.1 %'", "/workload/read-share"),
        ("[workload]\narrival = { queue-depth = 0 }", "/workload/arrival"),
        ("[workload]\narrival = { queue-depth = 1, poisson = '1 ms' }", "/workload/arrival"),
        ("[workload]\nmix = [{ share = 1, mix = [] }]", "mix"),
        ("[workload]\nmix = [{}]", "/workload/mix/0"),
        ("[workload]\nmix = [{ share = 1 }, { pattern = 'uniform' }]", "/workload/mix/1"),
        ("[[phase]]\nworkload = { mix = [{ pattern = 'zipf' }] }\nuntil = { requests = 1 }", "/phase/0/workload/mix/0"),
        ("[ftl]\ncapacity = { policy = 'variant', relocation-bound = '1 GiB' }", "/ftl/capacity"),
        ("[ftl]\ncapacity = { policy = 'variant', shrink = 'lazy', relocation-bound = '1 GiB' }", "/ftl/capacity"),
        ("[ftl]\ngc = { policy = 'd-choices', defaults = ['e'] }", "/ftl/gc"),
        ("[workload]\ntrace = ''", "/workload/trace"),
        ("[[phase]]\nuntil = { requests = 0 }", "/phase/0/until/requests"),
        ("[[phase]]\n[workload]", "phase"),
        ("[probe]\nat-drive-writes = []", "/probe/at-drive-writes"),
        ("[probe]\nretention = '1 day'", "/probe"),
        ("[probe]\nat-days = [1]\nat-drive-writes = [1]", "/probe"),
        ("[probe]\nat-wear = [0.5]\nat-drive-writes = [1]", "/probe"),
        ("[probe]\nat-wear = [1.5]", "/probe"),
        ("[until]\nyears = -1", "/until/years"),
        ("[time]\ndrive-writes-per-day = 'rate'", "/time/drive-writes-per-day"),
    ];
    for (text, place) in table {
        assert!(resolve(text).is_err(), "{text}");
        let found = complaints(text);
        assert!(found.iter().any(|complaint| complaint.contains(place)), "{text}: {found:?}");
    }
}

/// A JSON schema cannot say that the items of a list must be in order, so the description of each such list does.
#[test]
fn what_an_editor_cannot_see_the_description_says() {
    let table = [
        "[probe]\nat-drive-writes = [10, 0]",
        "[probe]\nat-drive-writes = [1, 1]",
        "[probe]\nat-wear = ['60 %', '30 %']",
        "[drive.initial]\nretention = ['9 days', '1 day']",
    ];
    for text in table {
        assert!(Layer::parse("test.toml", text).is_err(), "{text}");
        assert_eq!(complaints(text), [""; 0], "an editor sees it after all: {text}");
    }
    let mut ordered = 0;
    let mut left = vec![json_schema()];
    while let Some(node) = left.pop() {
        if node.get("x-order").is_some() {
            let description = node["description"].as_str().unwrap_or_default();
            assert!(description.contains(ORDERED), "{node}");
            ordered += 1;
        }
        left.extend(node.as_object().into_iter().flat_map(|members| members.values()));
        left.extend(node.as_array().into_iter().flatten());
    }
    assert!(ordered > 2, "only {ordered} lists have an order");
}

/// An editor accepts every value that wane accepts for a key.
#[test]
fn an_editor_takes_whatever_a_key_takes() {
    let mut taken = 0;
    let own = [
        "'100.0 %'",
        "'.5 %'",
        "'007.%'",
        "'1.'",
        "'0'",
        "'much'",
        "'4 KiB'",
        "'1.5 s'",
        "'100%'",
        "' 3 us '",
        "'1_000 kB'",
        "1_000",
        "0.25",
        "'msr'",
    ];
    let tables = sections().iter().filter(|section| !section.is_list);
    let keys = tables.flat_map(|section: &Section| section.keys.iter().map(|(key, _)| (section.name.as_str(), *key)));
    for (section, key) in keys {
        for value in VALUES.iter().chain(&own) {
            let text =
                if section.is_empty() { format!("{key} = {value}") } else { format!("[{section}]\n{key} = {value}") };
            // A probe wants a key beside the one that is tried, and parameters of policies are checked when layers are one.
            let whole = || resolve(&format!("{text}\n[until]\nrequests = 1")).is_ok();
            let good = Layer::parse("test.toml", &text).is_ok() && (section != "ftl" || whole());
            if good && !section.starts_with("probe") && *value != "{}" {
                let found: Vec<String> = complaints(&text);
                assert_eq!(found, [""; 0], "{text}");
                taken += 1;
            }
        }
    }
    assert!(taken > 400, "only {taken} values were taken");
}

#[test]
fn every_default_is_allowed() {
    let mut checked = 0;
    for section in sections().iter().filter(|section| !section.is_list && !section.name.starts_with("probe")) {
        for (key, node) in &section.keys {
            let Some(default) = node.get("default") else { continue };
            let default = Value::try_from(default).unwrap();
            let text = if section.name.is_empty() {
                format!("{key} = {default}")
            } else {
                format!("[{}]\n{key} = {default}", section.name)
            };
            Layer::parse("test.toml", &text).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(complaints(&text), [""; 0], "{text}");
            checked += 1;
        }
    }
    assert!(checked > 60, "only {checked} keys have a default");
}
