//! Workloads and phases as plain data.

use std::path::PathBuf;

use toml::{Table, Value};
use wane_units::{Bytes, Ratio, excerpt};
use wane_workload::SHARE_MIN;
use wane_workload::standin;
use wane_workload::trace::Format;

use super::error::Refusal;
use super::keys::WORKLOAD_KINDS;
use super::values::{flag, number, ratio, size};

/// Where requests come from.
#[derive(Clone, Debug, PartialEq)]
pub enum Workload {
    /// A synthetic pattern.
    Pattern(PatternSpec),
    /// A trace file.
    Trace(TraceSpec),
    /// A stand-in for a published trace.
    Standin(String),
    /// Workloads drawn per request, with their shares.
    Mix(Vec<(Ratio, Workload)>),
}

/// A synthetic pattern and what it is asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct PatternSpec {
    /// Which addresses.
    pub pattern: Pattern,
    /// Logical units that it touches, from 0 on.
    pub footprint_units: u32,
    /// Units of a request.
    pub request_units: u32,
    /// Share of the requests that read.
    pub read_share: Ratio,
    /// Share of the requests that trim.
    pub trim_share: Ratio,
}

/// The shape of a pattern.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pattern {
    /// Every page alike.
    Uniform,
    /// `r` of the accesses go to `h` of the footprint.
    HotCold {
        /// Share of the accesses.
        r: Ratio,
        /// Share of the footprint.
        h: Ratio,
    },
    /// Zipf's law.
    Zipf {
        /// Theta.
        exponent: f64,
        /// Popular pages spread over the footprint.
        scramble: bool,
    },
    /// In order, wrapping.
    Sequential,
    /// Random and sequential requests.
    Hybrid {
        /// Share of the sequential ones.
        sequential_share: Ratio,
    },
    /// The skew of JESD219.
    Jesd219,
}

/// A trace and how it is read.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceSpec {
    /// The file, or `-`.
    pub path: PathBuf,
    /// The name by which it counts in the scenario's hash: `trace-name`, or the file as the scenario names it.
    pub written: String,
    /// Its format; `None`: by content.
    pub format: Option<String>,
    /// Direction of a trace without one.
    pub assume_read: bool,
    /// Unit of a trace without one.
    pub assume_block: Bytes,
    /// Count bad lines instead of stopping.
    pub skip_bad_lines: bool,
    /// Rank among the touched pages instead of modulo.
    pub compact: bool,
    /// Start over at the end.
    pub looped: bool,
}

const PATTERN_KEYS: [&str; 4] = ["footprint", "request-size", "read-share", "trim-share"];
const TRACE_KEYS: [&str; 7] = ["trace-name", "format", "assume-op", "assume-block", "skip-bad-lines", "remap", "loop"];

/// Which path of a trace a table shows.
#[derive(Clone, Copy)]
pub(super) enum Paths {
    /// As the scenario has it.
    AsWritten,
    /// As it is opened.
    Resolved,
}

/// What the workload is measured against.
#[derive(Clone, Copy)]
pub(super) struct Space {
    pub(super) logical_units: u32,
    pub(super) unit: Bytes,
}

pub(super) fn workload(table: &Table, space: Space, in_mix: bool) -> Result<Workload, Refusal> {
    let kinds: Vec<&str> = WORKLOAD_KINDS.into_iter().filter(|kind| table.contains_key(*kind)).collect();
    if let [first, second, ..] = kinds[..] {
        return Err((
            second.to_owned(),
            format!("stands beside {first}; one of {} is allowed", WORKLOAD_KINDS.join(", ")),
        ));
    }
    if table.contains_key("share") && !in_mix {
        return Err(("share".to_owned(), "belongs to a part of a mixture".to_owned()));
    }
    if table.contains_key("arrival") && in_mix {
        return Err(("arrival".to_owned(), "belongs to the whole mixture".to_owned()));
    }
    match kinds.first().copied().unwrap_or("pattern") {
        "trace" => {
            only(table, "trace", &TRACE_KEYS, "a trace")?;
            Ok(Workload::Trace(trace(table)))
        }
        "standin" => {
            only(table, "standin", &[], "a stand-in")?;
            if space.logical_units < standin::PAGES_MIN {
                let (least, found) = (standin::PAGES_MIN, space.logical_units);
                let message =
                    format!("a stand-in needs a drive of at least {least} logical pages; this one has {found}");
                return Err(("standin".to_owned(), message));
            }
            Ok(Workload::Standin(text(table, "standin").unwrap_or_default().to_owned()))
        }
        "mix" => {
            only(table, "mix", &[], "a mixture")?;
            mix(table, space)
        }
        _ => pattern(table, space).map(Workload::Pattern),
    }
}

fn text<'a>(table: &'a Table, key: &str) -> Option<&'a str> {
    table.get(key).and_then(Value::as_str)
}

fn share(table: &Table, key: &str, default: f64) -> Ratio {
    table.get(key).and_then(ratio).or_else(|| Ratio::new(default)).unwrap_or(Ratio::ZERO)
}

/// Refuses keys that mean nothing to this kind of workload.
fn only(table: &Table, kind: &str, allowed: &[&str], what: &str) -> Result<(), Refusal> {
    let stray = table
        .keys()
        .find(|key| *key != kind && !["share", "arrival"].contains(&key.as_str()) && !allowed.contains(&key.as_str()));
    match stray {
        None => Ok(()),
        Some(key) if allowed.is_empty() => {
            Err((key.clone(), format!("does not belong to {what}, which takes no other key")))
        }
        Some(key) => Err((key.clone(), format!("does not belong to {what}, which takes {}", allowed.join(", ")))),
    }
}

fn pattern(table: &Table, space: Space) -> Result<PatternSpec, Refusal> {
    let name = text(table, "pattern").unwrap_or("uniform");
    let (shape, own): (Pattern, &[&str]) = match name {
        "hot-cold" => (Pattern::HotCold { r: share(table, "r", 0.8), h: share(table, "h", 0.2) }, &["r", "h"]),
        "zipf" => {
            let exponent = table.get("exponent").and_then(number).unwrap_or(1.2);
            (Pattern::Zipf { exponent, scramble: flag(table, "scramble", true) }, &["exponent", "scramble"])
        }
        "sequential" => (Pattern::Sequential, &[]),
        "hybrid" => {
            (Pattern::Hybrid { sequential_share: share(table, "sequential-share", 0.5) }, &["sequential-share"])
        }
        "jesd219" => (Pattern::Jesd219, &[]),
        _ => (Pattern::Uniform, &[]),
    };
    let allowed: Vec<&str> = PATTERN_KEYS.iter().chain(own).copied().collect();
    only(table, "pattern", &allowed, &format!("pattern = \"{name}\""))?;
    let footprint = share(table, "footprint", 1.0).floor_of(u64::from(space.logical_units)) as u32;
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
    let (read_share, trim_share) = (share(table, "read-share", 0.0), share(table, "trim-share", 0.0));
    if read_share.get() + trim_share.get() > 1.0 + 1e-12 {
        return Err(("trim-share".to_owned(), "together with read-share it exceeds 100 %".to_owned()));
    }
    Ok(PatternSpec {
        pattern: shape,
        footprint_units: footprint,
        request_units: request_units(table, space, footprint)?,
        read_share,
        trim_share,
    })
}

fn request_units(table: &Table, space: Space, footprint: u32) -> Result<u32, Refusal> {
    let Some(Ok(bytes)) = text(table, "request-size").map(str::parse::<Bytes>) else { return Ok(1) };
    let units = bytes.0 / space.unit.0;
    if !bytes.0.is_multiple_of(space.unit.0) || units > u64::from(footprint) {
        return Err((
            "request-size".to_owned(),
            format!("found {bytes}; a multiple of the mapping unit, {}, up to the footprint is allowed", space.unit),
        ));
    }
    Ok(units as u32)
}

fn trace(table: &Table) -> TraceSpec {
    let block = text(table, "assume-block").and_then(|text| text.parse().ok()).unwrap_or(Bytes(512));
    TraceSpec {
        path: PathBuf::from(text(table, "trace").unwrap_or_default()),
        written: text(table, "trace-name").or(text(table, "trace")).unwrap_or_default().to_owned(),
        format: text(table, "format").filter(|format| *format != "auto").map(str::to_owned),
        assume_read: text(table, "assume-op") == Some("read"),
        assume_block: block,
        skip_bad_lines: flag(table, "skip-bad-lines", false),
        compact: text(table, "remap") == Some("compact"),
        looped: flag(table, "loop", true),
    }
}

fn mix(table: &Table, space: Space) -> Result<Workload, Refusal> {
    let parts = table.get("mix").and_then(Value::as_array).cloned().unwrap_or_default();
    let mut built = Vec::new();
    let mut sum = 0.0;
    for (number, part) in parts.iter().filter_map(Value::as_table).enumerate() {
        let at = |key: &str| format!("mix.{number}.{key}");
        let Some(share) = part.get("share").and_then(ratio) else {
            return Err((at("share"), "missing; every part of a mixture needs its share".to_owned()));
        };
        sum += share.get();
        built.push((share, workload(part, space, true).map_err(|(key, message)| (at(&key), message))?));
    }
    if built.is_empty() || (sum - 1.0).abs() > 1e-9 {
        let percent = (sum * 1e4).round() / 100.0;
        return Err(("mix".to_owned(), format!("the shares add up to {percent} %; they must add up to 100 %")));
    }
    Ok(Workload::Mix(built))
}

impl Workload {
    /// Whether the workload ends by itself.
    pub fn ends(&self) -> bool {
        match self {
            Workload::Trace(trace) => !trace.looped,
            Workload::Mix(parts) => parts.iter().any(|(share, part)| share.get() > SHARE_MIN && part.ends()),
            Workload::Pattern(_) | Workload::Standin(_) => false,
        }
    }

    /// Whether anything writes. Of a trace that is not known before it is read.
    pub fn writes(&self) -> bool {
        match self {
            Workload::Pattern(spec) => spec.read_share.get() + spec.trim_share.get() < 1.0 - SHARE_MIN,
            Workload::Mix(parts) => parts.iter().any(|(share, part)| share.get() > SHARE_MIN && part.writes()),
            Workload::Trace(_) | Workload::Standin(_) => true,
        }
    }

    /// The resolved table. The space turns the footprint back into a ratio.
    pub(super) fn to_table(&self, space: Space, paths: Paths) -> Table {
        let mut table = Table::new();
        let mut put = |key: &str, value: Value| {
            table.insert(key.to_owned(), value);
        };
        match self {
            Workload::Standin(name) => put("standin", Value::from(name.as_str())),
            Workload::Trace(trace) => {
                let resolved = trace.path.to_string_lossy();
                put(
                    "trace",
                    Value::from(match paths {
                        Paths::AsWritten => trace.written.as_str(),
                        Paths::Resolved => &resolved,
                    }),
                );
                if matches!(paths, Paths::Resolved) && resolved != trace.written {
                    put("trace-name", Value::from(trace.written.as_str()));
                }
                put("format", Value::from(trace.format.as_deref().unwrap_or("auto")));
                put("assume-op", Value::from(if trace.assume_read { "read" } else { "write" }));
                put("assume-block", size(trace.assume_block.0));
                put("skip-bad-lines", Value::from(trace.skip_bad_lines));
                put("remap", Value::from(if trace.compact { "compact" } else { "modulo" }));
                put("loop", Value::from(trace.looped));
            }
            Workload::Mix(parts) => {
                let part = |(share, workload): &(Ratio, Workload)| {
                    let mut table = workload.to_table(space, paths);
                    table.insert("share".to_owned(), Value::from(share.get()));
                    Value::Table(table)
                };
                put("mix", Value::Array(parts.iter().map(part).collect()));
            }
            Workload::Pattern(spec) => {
                put("pattern", Value::from(spec.pattern.name()));
                put("footprint", Value::from(f64::from(spec.footprint_units) / f64::from(space.logical_units)));
                put("request-size", size(u64::from(spec.request_units) * space.unit.0));
                put("read-share", Value::from(spec.read_share.get()));
                put("trim-share", Value::from(spec.trim_share.get()));
                match spec.pattern {
                    Pattern::HotCold { r, h } => {
                        put("r", Value::from(r.get()));
                        put("h", Value::from(h.get()));
                    }
                    Pattern::Zipf { exponent, scramble } => {
                        put("exponent", Value::from(exponent));
                        put("scramble", Value::from(scramble));
                    }
                    Pattern::Hybrid { sequential_share } => {
                        put("sequential-share", Value::from(sequential_share.get()));
                    }
                    Pattern::Uniform | Pattern::Sequential | Pattern::Jesd219 => {}
                }
            }
        }
        table
    }
}

impl Pattern {
    /// Its name in a scenario.
    pub fn name(&self) -> &'static str {
        match self {
            Pattern::Uniform => "uniform",
            Pattern::HotCold { .. } => "hot-cold",
            Pattern::Zipf { .. } => "zipf",
            Pattern::Sequential => "sequential",
            Pattern::Hybrid { .. } => "hybrid",
            Pattern::Jesd219 => "jesd219",
        }
    }
}

/// Whether a stand-in exists; the sentence if not.
pub(super) fn check_standin(name: &str) -> Result<(), String> {
    let names: Vec<&str> = standin::names().collect();
    if names.contains(&name) {
        Ok(())
    } else {
        Err(format!("found \"{}\", allowed are {}", excerpt(name), names.join(", ")))
    }
}

/// Whether a trace format exists; the sentence if not.
pub(super) fn check_format(name: &str) -> Result<(), String> {
    let names: Vec<String> = Format::ALL.iter().map(ToString::to_string).collect();
    match name.parse::<Format>() {
        Ok(_) => Ok(()),
        Err(_) => Err(format!("found \"{}\", allowed are auto, {}", excerpt(name), names.join(", "))),
    }
}
