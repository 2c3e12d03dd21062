//! Workloads and phases as plain data.

use std::borrow::Cow;
use std::path::PathBuf;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, json};
use toml::{Table, Value};
use wane_units::{Bytes, Ratio};
use wane_workload::SHARE_MIN;
use wane_workload::standin;
use wane_workload::trace::Format;

use super::error::Refusal;
use super::schema::fields;
use super::settings::SECTOR;
use super::time::ArrivalSetting;
use super::written::{self, table_of};

/// Where requests come from.
#[derive(Clone, Debug, PartialEq)]
pub enum Workload {
    /// A synthetic pattern.
    Pattern(PatternSpec),
    /// A trace file.
    Trace(TraceSpec),
    /// A stand-in for a published trace.
    Standin(StandinSpec),
    /// Workloads drawn per request, with their shares.
    Mix(Vec<(Ratio, Workload)>),
    /// A key-value store.
    Lsm(LsmSpec),
}

impl Workload {
    /// Logical units from the first on beyond which it touches nothing; `None` if that is not known.
    pub fn footprint(&self) -> Option<u32> {
        match self {
            Self::Pattern(pattern) => Some(pattern.footprint_units),
            Self::Mix(parts) => parts.iter().try_fold(0, |most: u32, (_, part)| Some(most.max(part.footprint()?))),
            Self::Trace(_) | Self::Standin(_) | Self::Lsm(_) => None,
        }
    }
}

/// A stand-in for a published trace.
#[derive(Clone, Debug, PartialEq)]
pub struct StandinSpec {
    /// Its name.
    pub name: String,
    /// Where its footprint lies.
    pub layout: standin::Layout,
}

/// A synthetic pattern and its requests.
#[derive(Clone, Debug, PartialEq)]
pub struct PatternSpec {
    /// Which addresses it touches.
    pub pattern: Pattern,
    /// Number of logical units that it touches, from unit 0 on.
    pub footprint_units: u32,
    /// Units of a request.
    pub request_units: u32,
    /// Share of the requests that read.
    pub read_share: Ratio,
    /// Share of the requests that trim.
    pub trim_share: Ratio,
}

/// The shape of a pattern: the key `pattern` and the keys that only this pattern has.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(tag = "pattern", rename_all = "kebab-case", rename_all_fields = "kebab-case")]
pub enum Pattern {
    /// All pages equally often.
    Uniform,
    /// `r` of the accesses go to `h` of the footprint.
    HotCold {
        /// `hot-cold`: share of the accesses that go to the hot pages.
        #[serde(default = "default::r")]
        r: Ratio,
        /// `hot-cold`: share of the footprint that is hot.
        #[serde(default = "default::h")]
        h: Ratio,
    },
    /// Zipf's law.
    Zipf {
        /// `zipf`, `zipf-table`: the exponent theta; 0 is uniform.
        #[serde(default = "default::exponent")]
        #[schemars(range(min = 0.0, max = 10.0))]
        exponent: f64,
        /// `zipf`, `zipf-table`: spread the popular pages over the footprint.
        #[serde(default = "default::scramble")]
        scramble: bool,
    },
    /// The same law by a table: other random draws, several times as fast.
    ZipfTable {
        /// `zipf`, `zipf-table`: the exponent theta; 0 is uniform.
        #[serde(default = "default::exponent")]
        #[schemars(range(min = 0.0, max = 10.0))]
        exponent: f64,
        /// `zipf`, `zipf-table`: spread the popular pages over the footprint.
        #[serde(default = "default::scramble")]
        scramble: bool,
    },
    /// In order, wrapping.
    Sequential,
    /// Random and sequential requests.
    Hybrid {
        /// `hybrid`: share of the requests that continue where the last sequential one ended.
        #[serde(default = "default::sequential_share")]
        sequential_share: Ratio,
    },
    /// 50 % of the accesses on 5 % of the pages, 30 % on the next 15 %, by JESD219.
    Jesd219,
}

/// Defaults of patterns. Each is a function, since serde needs one.
mod default {
    use super::Ratio;

    fn ratio(value: f64) -> Ratio {
        Ratio::new(value).expect("a default lies between 0 and 1")
    }

    pub(super) fn r() -> Ratio {
        ratio(0.8)
    }

    pub(super) fn h() -> Ratio {
        ratio(0.2)
    }

    pub(super) fn exponent() -> f64 {
        1.2
    }

    pub(super) fn scramble() -> bool {
        true
    }

    pub(super) fn sequential_share() -> Ratio {
        ratio(0.5)
    }
}

/// The keys of requests, which every pattern has.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, rename_all = "kebab-case")]
struct Requests {
    /// Share of the logical pages that a pattern touches, from page 0 on.
    footprint: Ratio,
    /// Size of a pattern's requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-least" = SECTOR, "x-most" = Bytes(1 << 40), "x-default" = "one mapping unit"))]
    request_size: Option<Bytes>,
    /// Share of a pattern's requests that read.
    read_share: Ratio,
    /// Share of a pattern's requests that trim.
    trim_share: Ratio,
}

impl Default for Requests {
    fn default() -> Self {
        Self { footprint: Ratio::ONE, request_size: None, read_share: Ratio::ZERO, trim_share: Ratio::ZERO }
    }
}

/// A trace and how it is read.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceSpec {
    /// The file, or `-`.
    pub path: PathBuf,
    /// The name that enters the scenario's hash: `trace-name`, or the file as the scenario names it.
    pub written: String,
    /// Its format; `None`: found from its content.
    pub format: Option<String>,
    /// Whether requests of a trace without directions are reads.
    pub assume_read: bool,
    /// Address unit of a trace that has none.
    pub assume_block: Bytes,
    /// Whether a 1 stands for a read where directions are numbers; `None`: as in files of the format.
    pub assume_one_reads: Option<bool>,
    /// Whether bad lines are counted instead of stopping the run.
    pub skip_bad_lines: bool,
    /// Whether a page becomes its rank among the touched pages instead of its number modulo the logical pages.
    pub compact: bool,
    /// Whether it starts over at its end.
    pub looped: bool,
    /// One in `sample` chunks of addresses is kept.
    pub sample: u32,
}

/// The keys of a trace.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, rename_all = "kebab-case")]
struct TraceSettings {
    /// A trace file. A relative path is relative to the scenario's folder; `"-"` reads stdin.
    #[schemars(extend("x-default" = "none"))]
    trace: String,
    /// The trace's name in the scenario's hash. Resolved scenarios write it if `trace` became an absolute path.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "`trace`"))]
    trace_name: Option<String>,
    /// The trace's format; `auto` finds it from the content.
    #[schemars(extend("enum" = formats()))]
    format: String,
    /// Direction of the requests, if the trace has none.
    assume_op: Direction,
    /// Unit of the addresses, if the trace has none.
    #[schemars(extend("x-least" = Bytes(1), "x-most" = Bytes(1 << 20)))]
    assume_block: Bytes,
    /// What a 1 stands for, if directions are numbers (`mqsim`, `ssdsim`, `disksim`, `tencent`).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "as in files of the format"))]
    assume_one: Option<Direction>,
    /// Whether lines that do not parse are counted instead of stopping the run.
    skip_bad_lines: bool,
    /// How a trace's pages become the drive's. `modulo`: page modulo logical pages, which keeps distances. `compact`: the rank among the pages
    /// touched, which keeps the footprint.
    remap: Remap,
    /// Whether the trace starts over at its end.
    r#loop: bool,
    /// With `N`, one in `N` chunks of 64 KiB of the trace's addresses is kept, and the kept ones are moved together: the trace of a drive that is
    /// `N` times smaller. Writes to the other chunks are left out, so that drive writes per day stay the same.
    #[schemars(range(min = 1, max = SAMPLE_MAX), extend("x-unwritten" = "default"))]
    sample: u32,
}

/// Largest `sample`.
pub(super) const SAMPLE_MAX: u32 = 1 << 20;

impl Default for TraceSettings {
    fn default() -> Self {
        Self {
            trace: String::new(),
            trace_name: None,
            format: AUTO.to_owned(),
            assume_op: Direction::Write,
            assume_block: Bytes(512),
            assume_one: None,
            skip_bad_lines: false,
            remap: Remap::Modulo,
            r#loop: true,
            sample: 1,
        }
    }
}

/// The value of `format` by which the trace's content decides.
const AUTO: &str = "auto";

fn formats() -> Vec<String> {
    std::iter::once(AUTO.to_owned()).chain(Format::ALL.iter().map(Format::to_string)).collect()
}

/// Which way a request goes.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Direction {
    /// From the drive.
    Read,
    /// To the drive.
    Write,
}

impl Direction {
    fn of(reads: bool) -> Self {
        if reads { Self::Read } else { Self::Write }
    }
}

/// How a trace's pages become the drive's.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Remap {
    /// Page modulo logical pages.
    Modulo,
    /// The rank among the pages touched.
    Compact,
}

/// The keys of a stand-in.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, rename_all = "kebab-case")]
struct StandinSettings {
    /// A stand-in for a published trace, by name. `rad-be` and others have only its writes, `rad-be-traffic` and others also its reads.
    #[schemars(extend("x-default" = "none", "enum" = standin::names().collect::<Vec<_>>()))]
    standin: String,
    /// Where the pages that it writes lie in the address space. A stand-in with reads is always `packed`.
    #[serde(skip_serializing_if = "is_packed")]
    layout: Layout,
}

/// Where a stand-in's footprint lies. The addresses of the published traces are unknown.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Layout {
    /// From address 0 on, with a tail at the top: 0.5 GiB of 256 GiB, 17.5 GiB for `dap-ps`.
    #[default]
    Packed,
    /// In extents of the length of a mean sequential run, spread evenly over the address space.
    Scattered,
}

// serde hands over a reference.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_packed(layout: &Layout) -> bool {
    *layout == Layout::Packed
}

/// The keys of a mixture.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, rename_all = "kebab-case")]
struct MixSettings {
    /// Workloads drawn per request, each with its `share`: `[{ share = "70 %", pattern = ... }, ...]`.
    #[schemars(with = "Vec<PartSettings>", length(min = 1))]
    #[schemars(extend("x-default" = "none", "x-allowed" = "a list of workloads with `share`"))]
    mix: Vec<Table>,
}

mod lsm;

use lsm::LsmSettings;
pub use lsm::LsmSpec;

/// The keys that every workload has.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, rename_all = "kebab-case")]
struct AnySettings {
    /// When requests arrive, in timed runs: `queue-depth` keeps a number of requests outstanding; `{ poisson = "0.5 ms" }` or `{ normal = ["100
    /// ms", "10 ms"] }` draws gaps by mean, or mean and standard deviation; `"trace"` uses the times of the workload's trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = ArrivalSetting::from(wane_workload::Arrival::default()), "x-allowed" = ARRIVALS))]
    arrival: Option<ArrivalSetting>,
}

const ARRIVALS: &str =
    "one of `{ queue-depth = 16 }`, `{ poisson = \"0.5 ms\" }`, `{ normal = [\"100 ms\", \"10 ms\"] }` and `\"trace\"`";

/// The key that a part of a mixture has in addition to those of a workload.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, rename_all = "kebab-case")]
struct ShareSettings {
    /// Share of the requests. All shares of a mixture add up to 100 %.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "required"))]
    share: Option<Ratio>,
}

/// The schema of `[workload]`: the keys of every kind side by side, since a layer may change one key of a workload below it.
pub(super) struct WorkloadSettings;

/// The schema of a part of a mixture: a workload that is no mixture, and its share.
struct PartSettings;

/// The keys that decide the kind of a workload, in the order in which messages name them.
pub(super) const KINDS: [&str; 5] = ["pattern", "trace", "standin", "lsm", "mix"];

/// Puts the keys of some kinds into one schema.
fn side_by_side(description: &str, kinds: &[(Schema, Vec<String>)]) -> Schema {
    let mut properties = Map::new();
    let mut order: Vec<&str> = Vec::new();
    for (schema, keys) in kinds {
        let inner = schema.get("properties").and_then(|properties| properties.as_object());
        properties.extend(inner.into_iter().flatten().map(|(key, schema)| (key.clone(), schema.clone())));
        order.extend(keys.iter().map(String::as_str));
    }
    schemars::json_schema!({
        "type": "object", "description": description, "properties": properties, "additionalProperties": false,
        "x-key-order": order
    })
}

/// The schemas of the key `pattern`, with the meaning of each word, and of the keys that only some patterns have.
fn pattern_schemas(generator: &mut SchemaGenerator) -> (Schema, Schema) {
    let variants = Pattern::json_schema(generator);
    let variants = variants.get("oneOf").and_then(|variants| variants.as_array()).cloned().unwrap_or_default();
    let (mut words, mut own) = (Vec::new(), Map::new());
    for variant in &variants {
        let Some(keys) = variant.get("properties").and_then(|keys| keys.as_object()) else { continue };
        for (key, schema) in keys {
            if key == "pattern" {
                words.push(json!({ "const": schema["const"], "description": variant["description"] }));
            } else {
                own.insert(key.clone(), schema.clone());
            }
        }
    }
    let meaning = "`uniform`; `hot-cold`: r of the accesses go to h of the footprint; `zipf`; `zipf-table`: the same law by \
                   a table, with other random draws and several times as fast; `sequential`, wrapping; `hybrid`: random \
                   and sequential; `jesd219`: 50 % of the accesses on 5 % of the pages, 30 % on the next 15 %.";
    let pattern = json!({ "oneOf": words, "description": meaning, "default": Pattern::Uniform.name() });
    (schemars::json_schema!({ "properties": { "pattern": pattern } }), schemars::json_schema!({ "properties": own }))
}

/// Keys that only single patterns have. Another pattern does not take them over.
fn own_keys() -> Vec<String> {
    let shapes = [
        Pattern::HotCold { r: default::r(), h: default::h() },
        Pattern::Zipf { exponent: default::exponent(), scramble: default::scramble() },
        Pattern::Hybrid { sequential_share: default::sequential_share() },
    ];
    shapes.iter().flat_map(Pattern::own_keys).collect()
}

/// Keys of lower layers that a layer drops if it gives `key` another value.
pub(super) fn own_keys_under(key: &str) -> Vec<String> {
    match key {
        "pattern" => own_keys(),
        "lsm" => lsm::MIXED_KEYS.map(str::to_owned).to_vec(),
        _ => Vec::new(),
    }
}

/// The keys of a struct, in the order of its fields.
fn keys_of<T: JsonSchema + DeserializeOwned>(generator: &mut SchemaGenerator) -> (Schema, Vec<String>) {
    (T::json_schema(generator), fields::<T>().iter().map(|key| (*key).to_owned()).collect())
}

/// The keys of the kinds that can be parts of a mixture.
fn kinds(generator: &mut SchemaGenerator) -> Vec<(Schema, Vec<String>)> {
    let (pattern, own) = pattern_schemas(generator);
    vec![
        (pattern, vec!["pattern".to_owned()]),
        keys_of::<Requests>(generator),
        (own, own_keys()),
        keys_of::<TraceSettings>(generator),
        keys_of::<StandinSettings>(generator),
    ]
}

impl JsonSchema for WorkloadSettings {
    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("WorkloadSettings")
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut kinds = kinds(generator);
        kinds.push(keys_of::<LsmSettings>(generator));
        kinds.push(keys_of::<MixSettings>(generator));
        kinds.push(keys_of::<AnySettings>(generator));
        let about = "Where requests come from: a pattern, a trace, a stand-in for a published trace, a key-value store, or a mixture.";
        side_by_side(about, &kinds)
    }
}

impl JsonSchema for PartSettings {
    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("PartSettings")
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut kinds = kinds(generator);
        kinds.insert(0, keys_of::<ShareSettings>(generator));
        let about =
            "A part of a mixture: a pattern, a trace or a stand-in, with its keys as in `[workload]`, and its share.";
        let mut part = side_by_side(about, &kinds);
        part.insert("required".to_owned(), json!(["share"]));
        part
    }
}

/// Which path of a trace a resolved table shows.
#[derive(Clone, Copy)]
pub(super) enum Paths {
    /// As the scenario has it.
    AsWritten,
    /// As it is opened.
    Resolved,
}

/// The logical space that a workload runs on.
#[derive(Clone, Copy)]
pub(super) struct Space {
    pub(super) logical_units: u32,
    pub(super) unit: Bytes,
}

/// Reads the keys of `T` from a table whose values are checked; other keys belong to other structs.
fn part<T: DeserializeOwned>(table: &Table) -> Result<T, Refusal> {
    written::read(table).map_err(|message| (String::new(), message))
}

/// The arrival that a workload's table writes.
pub(super) fn arrival_of(table: &Table) -> Result<Option<ArrivalSetting>, Refusal> {
    part::<AnySettings>(table).map(|any| any.arrival)
}

/// Which of [`KINDS`] a table names. A table that names none is a pattern.
pub(super) fn kind_of(table: &Table) -> Option<&'static str> {
    KINDS.into_iter().find(|kind| table.contains_key(*kind))
}

/// Makes the workload of a table whose keys and values are checked one by one.
pub(super) fn workload(table: &Table, space: Space) -> Result<Workload, Refusal> {
    let kinds: Vec<&str> = KINDS.into_iter().filter(|kind| table.contains_key(*kind)).collect();
    if let [first, second, ..] = kinds[..] {
        return Err((second.to_owned(), format!("stands beside {first}; one of {} is allowed", KINDS.join(", "))));
    }
    match kinds.first().copied().unwrap_or("pattern") {
        "trace" => {
            only(table, fields::<TraceSettings>(), "a trace")?;
            part(table).map(|trace: TraceSettings| Workload::Trace(trace.into()))
        }
        "standin" => {
            only(table, fields::<StandinSettings>(), "a stand-in")?;
            if space.logical_units < standin::PAGES_MIN {
                let (least, found) = (standin::PAGES_MIN, space.logical_units);
                let message =
                    format!("a stand-in needs a drive of at least {least} logical pages; this one has {found}");
                return Err(("standin".to_owned(), message));
            }
            standin_spec(part(table)?).map(Workload::Standin)
        }
        "lsm" => {
            only(table, fields::<LsmSettings>(), "a key-value store")?;
            LsmSpec::new(part(table)?, space).map(Workload::Lsm)
        }
        "mix" => {
            only(table, fields::<MixSettings>(), "a mixture")?;
            mix(&part::<MixSettings>(table)?.mix, space)
        }
        _ => pattern(table, space).map(Workload::Pattern),
    }
}

/// Refuses keys that this kind of workload does not have. The first of the allowed keys names the kind.
fn only(table: &Table, allowed: &[&str], what: &str) -> Result<(), Refusal> {
    let everywhere = [fields::<AnySettings>(), fields::<ShareSettings>()].concat();
    let stray = table.keys().find(|key| !everywhere.contains(&key.as_str()) && !allowed.contains(&key.as_str()));
    match (stray, allowed) {
        (None, _) => Ok(()),
        (Some(key), [_]) => Err((key.clone(), format!("does not belong to {what}, which takes no other key"))),
        (Some(key), _) => {
            Err((key.clone(), format!("does not belong to {what}, which takes {}", allowed[1..].join(", "))))
        }
    }
}

fn pattern(table: &Table, space: Space) -> Result<PatternSpec, Refusal> {
    let mut tagged = table.clone();
    tagged.entry("pattern").or_insert_with(|| Value::from(Pattern::Uniform.name()));
    let shape: Pattern = part(&tagged)?;
    let own = shape.own_keys();
    let allowed: Vec<&str> =
        ["pattern"].iter().chain(fields::<Requests>()).copied().chain(own.iter().map(String::as_str)).collect();
    only(table, &allowed, &format!("pattern = \"{}\"", shape.name()))?;
    let requests: Requests = part(table)?;
    let footprint = requests.footprint.floor_of(u64::from(space.logical_units)) as u32;
    if footprint == 0 {
        return Err(("footprint".to_owned(), "covers no page of this drive".to_owned()));
    }
    if let Pattern::HotCold { r, h } = shape
        && h.floor_of(u64::from(footprint)) == 0
        && r.get() > 0.0
    {
        return Err(("h".to_owned(), "leaves no hot page in the footprint".to_owned()));
    }
    if let Pattern::HotCold { r, h } = shape
        && h.floor_of(u64::from(footprint)) == u64::from(footprint)
        && r.get() < 1.0
    {
        return Err(("h".to_owned(), "leaves no cold page in the footprint".to_owned()));
    }
    if requests.read_share.get() + requests.trim_share.get() > 1.0 + 1e-12 {
        return Err(("trim-share".to_owned(), "together with read-share it exceeds 100 %".to_owned()));
    }
    Ok(PatternSpec {
        pattern: shape,
        footprint_units: footprint,
        request_units: requests.request_size.map_or(Ok(1), |size| units_of(size, space, footprint))?,
        read_share: requests.read_share,
        trim_share: requests.trim_share,
    })
}

fn units_of(request: Bytes, space: Space, footprint: u32) -> Result<u32, Refusal> {
    let units = request.0 / space.unit.0;
    if !request.0.is_multiple_of(space.unit.0) || units > u64::from(footprint) {
        return Err((
            "request-size".to_owned(),
            format!(
                "found {}; a multiple of the mapping unit, {}, up to the footprint is allowed",
                request.exactly(),
                space.unit
            ),
        ));
    }
    Ok(units as u32)
}

impl From<TraceSettings> for TraceSpec {
    fn from(trace: TraceSettings) -> Self {
        Self {
            path: PathBuf::from(&trace.trace),
            written: trace.trace_name.unwrap_or(trace.trace),
            format: Some(trace.format).filter(|format| format != AUTO),
            assume_read: trace.assume_op == Direction::Read,
            assume_block: trace.assume_block,
            assume_one_reads: trace.assume_one.map(|one| one == Direction::Read),
            skip_bad_lines: trace.skip_bad_lines,
            compact: trace.remap == Remap::Compact,
            looped: trace.r#loop,
            sample: trace.sample,
        }
    }
}

impl TraceSpec {
    fn settings(&self, paths: Paths) -> TraceSettings {
        let resolved = self.path.to_string_lossy();
        let (trace, trace_name) = match paths {
            Paths::AsWritten => (self.written.clone(), None),
            Paths::Resolved if resolved == self.written => (self.written.clone(), None),
            Paths::Resolved => (resolved.into_owned(), Some(self.written.clone())),
        };
        TraceSettings {
            trace,
            trace_name,
            format: self.format.clone().unwrap_or_else(|| AUTO.to_owned()),
            assume_op: Direction::of(self.assume_read),
            assume_block: self.assume_block,
            assume_one: self.assume_one_reads.map(Direction::of),
            skip_bad_lines: self.skip_bad_lines,
            remap: if self.compact { Remap::Compact } else { Remap::Modulo },
            r#loop: self.looped,
            sample: self.sample,
        }
    }
}

fn mix(parts: &[Table], space: Space) -> Result<Workload, Refusal> {
    let mut built = Vec::new();
    let mut sum = 0.0;
    for (number, table) in parts.iter().enumerate() {
        let at = |key: &str| format!("mix.{number}.{key}");
        let Some(share) = part::<ShareSettings>(table)?.share else {
            return Err((at("share"), "missing; every part of a mixture needs its share".to_owned()));
        };
        if table.contains_key("lsm") {
            return Err((at("lsm"), "a key-value store writes its own space and is no part of a mixture".to_owned()));
        }
        sum += share.get();
        built.push((share, workload(table, space).map_err(|(key, message)| (at(&key), message))?));
    }
    if built.is_empty() || (sum - 1.0).abs() > 1e-9 {
        let percent = (sum * 1e4).round() / 100.0;
        return Err(("mix".to_owned(), format!("the shares add up to {percent} %; they must add up to 100 %")));
    }
    Ok(Workload::Mix(built))
}
fn standin_spec(settings: StandinSettings) -> Result<StandinSpec, (String, String)> {
    let StandinSettings { standin: name, layout } = settings;
    if layout == Layout::Scattered && standin::find_traffic(&name).is_some() {
        let message = format!("stands with {name}, which reads too; such a stand-in is always packed");
        return Err(("layout".to_owned(), message));
    }
    let layout = match layout {
        Layout::Packed => standin::Layout::Packed,
        Layout::Scattered => standin::Layout::Scattered,
    };
    Ok(StandinSpec { name, layout })
}

impl StandinSpec {
    fn settings(&self) -> StandinSettings {
        let layout = match self.layout {
            standin::Layout::Packed => Layout::Packed,
            standin::Layout::Scattered => Layout::Scattered,
        };
        StandinSettings { standin: self.name.clone(), layout }
    }
}

impl Workload {
    /// Whether the workload ends by itself.
    pub fn ends(&self) -> bool {
        match self {
            Workload::Trace(trace) => !trace.looped,
            Workload::Mix(parts) => parts.iter().any(|(share, part)| share.get() > SHARE_MIN && part.ends()),
            Workload::Pattern(_) | Workload::Standin(_) | Workload::Lsm(_) => false,
        }
    }

    /// Whether the workload may write. A trace counts as writing, since it is not read yet.
    pub fn writes(&self) -> bool {
        match self {
            Workload::Pattern(spec) => spec.read_share.get() + spec.trim_share.get() < 1.0 - SHARE_MIN,
            Workload::Mix(parts) => parts.iter().any(|(share, part)| share.get() > SHARE_MIN && part.writes()),
            Workload::Lsm(spec) => spec.operations.puts() > SHARE_MIN,
            Workload::Trace(_) | Workload::Standin(_) => true,
        }
    }

    /// The resolved table. `space` turns the footprint back into a ratio.
    pub(super) fn to_table(&self, space: Space, paths: Paths) -> Table {
        match self {
            Workload::Standin(standin) => table_of(&standin.settings()),
            Workload::Lsm(spec) => table_of(&spec.settings),
            Workload::Trace(trace) => table_of(&trace.settings(paths)),
            Workload::Mix(parts) => {
                let part = |(share, workload): &(Ratio, Workload)| {
                    let mut table = workload.to_table(space, paths);
                    table.extend(table_of(&ShareSettings { share: Some(*share) }));
                    table
                };
                table_of(&MixSettings { mix: parts.iter().map(part).collect() })
            }
            Workload::Pattern(spec) => {
                let footprint = f64::from(spec.footprint_units) / f64::from(space.logical_units);
                let requests = Requests {
                    footprint: Ratio::new(footprint).expect("a footprint lies on the drive"),
                    request_size: Some(Bytes(u64::from(spec.request_units) * space.unit.0)),
                    read_share: spec.read_share,
                    trim_share: spec.trim_share,
                };
                let mut table = table_of(&requests);
                table.extend(table_of(&spec.pattern));
                table
            }
        }
    }
}

impl Pattern {
    /// The names of all patterns.
    pub const NAMES: [&'static str; 7] =
        ["uniform", "hot-cold", "zipf", "zipf-table", "sequential", "hybrid", "jesd219"];

    /// Its name in a scenario.
    pub fn name(&self) -> &'static str {
        match self {
            Pattern::Uniform => "uniform",
            Pattern::HotCold { .. } => "hot-cold",
            Pattern::Zipf { .. } => "zipf",
            Pattern::ZipfTable { .. } => "zipf-table",
            Pattern::Sequential => "sequential",
            Pattern::Hybrid { .. } => "hybrid",
            Pattern::Jesd219 => "jesd219",
        }
    }

    /// The keys that only this pattern has.
    fn own_keys(&self) -> Vec<String> {
        table_of(self).into_iter().map(|(key, _)| key).filter(|key| key != "pattern").collect()
    }
}
