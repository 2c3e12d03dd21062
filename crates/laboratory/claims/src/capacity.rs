//! CV1 to CV11: capacity variance under the eleven traces' stand-ins (dissertation 000, ch. 4.5).

mod lifetimes;
mod policies;
mod traces;

use wane_workload::standin::{MIXTURES, STANDINS};

use super::{Claim, Class, Finding, Matter, Others, Reading, Runs, Verdict, gain, scenario};
use wane_results::RunResult;
use wane_scenario::Scenario;

/// The wear levelers of the designs.
const LEVELERS: [(&str, &str); 4] = [
    ("NoWL", "{ policy = 'none' }"),
    ("OBP", "{ policy = 'obp', threshold = 4, protection = 8 }"),
    ("DP", "{ policy = 'dual-pool', threshold = 5 }"),
    ("PWL", "{ policy = 'pwl', threshold = '50 %' }"),
];

/// Traces with footprints small enough for capacity variance to matter.
const SMALL: [&str; 5] = ["dap-ds", "dap-ps", "msn-cfs", "rad-as", "rad-be"];

/// The three smallest footprints.
const TINY: [&str; 3] = ["dap-ds", "msn-cfs", "rad-as"];

/// Denominator of the scale that the claims run at: a drive of 4 GiB.
const SCALE: u32 = 64;

/// Random drive writes that precondition the drive in the released trace scripts.
const RANDOM_OF_SCRIPTS: u32 = 2;

/// The same in the dissertation's text (Table 2).
const RANDOM_OF_TEXT: u32 = 3;

/// Layouts of a stand-in's footprint.
const PACKED: &str = "packed";
const SCATTERED: &str = "scattered";

const FIXED: &str = "{ policy = 'fixed' }";
const VARIANT: &str = "{ policy = 'variant', shrink = 'lazy' }";
const GRACEFUL: &str = "{ policy = 'variant', shrink = 'graceful' }";
const GREEDY: &str = "{ policy = 'greedy' }";

const CONFIGURATION: &str = "stand-ins on 4 GiB (1/64), E 500, lives to their end after one sequential and two random drive writes; OBP(4, 8), \
                             DP(5), PWL(50 %), lazy shrink";

/// What the paper says of all lives of its ch. 4.5.
const PUBLISHED: &str = "eleven traces in 256 GiB, looped until the drive dies, after one sequential and, as the text says, three random drive \
                         writes, while the released trace scripts make two; E 500; the traces are not in the repository";

/// How it is read here.
const READ: &str = "stand-ins with the published footprint, size, hotness and sequentiality; for DAP-PS and LM-TBE, loops of uniform writes (see \
                    the book's page on stand-ins); the scripts' two random drive writes, since the scripts made the figures";

/// The other reading of preconditioning.
const BY_TEXT: &str = "three random drive writes, as in the text";

/// A life of the FTLSim drive under a stand-in.
#[derive(Clone, Copy)]
struct Life<'a> {
    trace: &'a str,
    layout: &'a str,
    capacity: &'a str,
    leveler: &'a str,
    gc: &'a str,
    /// Denominator of the drive's scale.
    scale: u32,
    /// Random drive writes of preconditioning.
    random: u32,
    seed: u64,
}

impl<'a> Life<'a> {
    /// The life as the claims run it; the caller changes what differs.
    const fn new(trace: &'a str, capacity: &'a str, leveler: &'a str) -> Self {
        let random = RANDOM_OF_SCRIPTS;
        Self { trace, layout: PACKED, capacity, leveler, gc: GREEDY, scale: SCALE, random, seed: 1 }
    }

    fn scenario(self) -> Scenario {
        let Self { trace, layout, capacity, leveler, gc, scale, random, seed } = self;
        let text = format!(
            "seed = {seed}\n[drive]\npreset = 'ftlsim-256g'\nlogical-capacity = '{} MiB'\n[ftl]\ngc = {gc}\nwear-leveling = \
             {leveler}\ncapacity = {capacity}\n[precondition]\nsequential-drive-writes = 1\nrandom-drive-writes = \
             {random}\n[workload]\nstandin = '{trace}'\nlayout = '{layout}'\n[until]\nend-of-life = true\ndrive-writes = 20000\n",
            256 * 1024 / scale
        );
        let word = |table: &str| table.trim_start_matches("{ policy = ").trim_end_matches(" }").replace('\'', "");
        let policies = [capacity, leveler, gc].map(word).join(", ");
        scenario(&format!("{trace}, {layout}, {policies}, 1/{scale}, {random} random"), &text)
    }
}

fn leveler(name: &str) -> &'static str {
    LEVELERS.iter().find(|(known, _)| *known == name).map_or("{ policy = 'none' }", |(_, table)| table)
}

/// A design such as `Var_NoWL` under a trace.
fn designed<'a>(trace: &'a str, name: &str) -> Life<'a> {
    let (capacity, level) = name.split_once('_').unwrap_or(("Fix", name));
    Life::new(trace, if capacity == "Var" { VARIANT } else { FIXED }, leveler(level))
}

fn design(trace: &str, name: &str) -> Scenario {
    designed(trace, name).scenario()
}

/// A design preconditioned with `random` random drive writes.
fn preconditioned(trace: &str, name: &str, random: u32) -> Scenario {
    Life { random, ..designed(trace, name) }.scenario()
}

/// Designs after the three random drive writes of the text.
fn by_text(trace: &str, names: &[&str]) -> Vec<Scenario> {
    names.iter().map(|name| preconditioned(trace, name, RANDOM_OF_TEXT)).collect()
}

/// A drive without wear leveling that shrinks gracefully, without a bound on relocation.
fn graceful(trace: &str) -> Scenario {
    Life::new(trace, GRACEFUL, leveler("NoWL")).scenario()
}

fn traces() -> impl Iterator<Item = &'static str> + Clone {
    STANDINS.iter().map(|standin| standin.name)
}

/// Name of a trace's stand-in with a hot and a cold part; the trace's own name if it has no such stand-in.
fn mixture_of(trace: &'static str) -> &'static str {
    let of_trace = |name: &&str| name.strip_suffix("-mixture") == Some(trace);
    MIXTURES.iter().map(|mixture| mixture.name).find(of_trace).unwrap_or(trace)
}

fn designs(traces: &[&str], names: &[&str]) -> Vec<Scenario> {
    traces.iter().flat_map(|trace| names.iter().map(move |name| design(trace, name))).collect()
}

fn all_traces(names: &[&str]) -> Vec<Scenario> {
    designs(&traces().collect::<Vec<_>>(), names)
}

fn lifetime(result: &RunResult) -> f64 {
    result.summary.end.at_drive_writes
}

impl Runs {
    fn lifetime(&self, trace: &str, name: &str) -> f64 {
        lifetime(self.get(&design(trace, name)))
    }

    fn gain(&self, trace: &str, new: &str, base: &str) -> f64 {
        gain(self.lifetime(trace, new), self.lifetime(trace, base))
    }

    /// Gain in lifetime of `new` over `base` after `random` random drive writes.
    fn gain_after(&self, random: u32, trace: &str, new: &str, base: &str) -> f64 {
        let [new, base] = [new, base].map(|name| lifetime(self.get(&preconditioned(trace, name, random))));
        gain(new, base)
    }

    fn leveling(&self, trace: &str, name: &str) -> f64 {
        self.get(&design(trace, name)).summary.write_amplification.wear_leveling.unwrap_or(0.0)
    }
}

fn finding(ours: String, agrees: bool, note: impl Into<String>) -> Finding {
    Finding { ours, verdict: Verdict::of(agrees), note: note.into(), table: String::new() }
}

/// Whether a figure is within a quarter of the paper's.
fn is_near(ours: f64, paper: f64) -> bool {
    gain(ours, paper).abs() <= 0.25
}

/// Result of another choice that the paper leaves open.
fn choice(what: impl Into<String>, ours: String, agrees: bool) -> Reading {
    Reading { what: what.into(), matter: Matter::Choice, ours, verdict: Verdict::of(agrees) }
}

fn percent(share: f64) -> String {
    format!("{:+.1} %", 100.0 * share)
}

/// The largest of named values.
fn most(values: impl IntoIterator<Item = (&'static str, f64)>) -> (&'static str, f64) {
    let most = values.into_iter().fold(("none", f64::MIN), |best, next| if next.1 > best.1 { next } else { best });
    debug_assert!(most.1 > f64::MIN, "one of the traces has the most");
    most
}

/// A claim on these lives; the caller changes what differs.
fn claim(
    texts: [&'static str; 4],
    scenarios: fn() -> Vec<Scenario>,
    evaluate: fn(&Runs) -> Finding,
    others: Others,
) -> Claim {
    Claim::new(Class::Order, texts, [CONFIGURATION, PUBLISHED, READ], scenarios, evaluate, others)
}

pub(super) fn claims() -> Vec<Claim> {
    let mut claims = lifetimes::claims();
    claims.extend(traces::claims());
    claims.push(lifetimes::cv8_claim());
    claims.extend(policies::claims());
    claims
}
