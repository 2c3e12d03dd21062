//! CV1 to CV11: capacity variance under the eleven traces' stand-ins (dissertation 000, ch. 4.5).

use wane_workload::standin::STANDINS;

use super::{Claim, Class, Finding, Others, Runs, Verdict, gain, mean, scenario};
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

/// Traces that are also run at 1/16.
const LARGE_SCALE: [&str; 3] = ["rad-be", "msn-befs", "vdi"];

/// Bounds on relocation in GiB of a 256 GiB drive.
const BOUNDS: [u32; 3] = [1, 5, 10];

/// Bounds around DAP-PS's step.
const STEP_BOUNDS: [u32; 2] = [17, 18];

/// Denominator of the scale that the claims run at: a drive of 4 GiB.
const SCALE: u32 = 64;

/// Random drive writes that precondition the drive in the released trace scripts.
const RANDOM_OF_SCRIPTS: u32 = 2;

/// The same in the dissertation's text (Table 2).
const RANDOM_OF_TEXT: u32 = 3;

/// A life of the FTLSim drive under a stand-in.
#[derive(Clone, Copy)]
struct Life<'a> {
    trace: &'a str,
    capacity: &'a str,
    leveler: &'a str,
    gc: &'a str,
    /// Denominator of the drive's scale.
    scale: u32,
    /// Random drive writes of preconditioning.
    random: u32,
}

impl<'a> Life<'a> {
    /// As the claims run it, but for what the caller changes.
    const fn new(trace: &'a str, capacity: &'a str, leveler: &'a str) -> Self {
        Self { trace, capacity, leveler, gc: GREEDY, scale: SCALE, random: RANDOM_OF_SCRIPTS }
    }

    fn scenario(self) -> Scenario {
        let Self { trace, capacity, leveler, gc, scale, random } = self;
        let text = format!(
            "[drive]\npreset = 'ftlsim-256g'\nlogical-capacity = '{} MiB'\n[ftl]\ngc = {gc}\nwear-leveling = {leveler}\ncapacity = \
             {capacity}\n[precondition]\nsequential-drive-writes = 1\nrandom-drive-writes = {random}\n[workload]\nstandin = \
             '{trace}'\n[until]\nend-of-life = true\ndrive-writes = 20000\n",
            256 * 1024 / scale
        );
        let word = |table: &str| table.trim_start_matches("{ policy = ").trim_end_matches(" }").replace('\'', "");
        let policies = [capacity, leveler, gc].map(word).join(", ");
        scenario(&format!("{trace}, {policies}, 1/{scale}, {random} random"), &text)
    }
}

const FIXED: &str = "{ policy = 'fixed' }";
const VARIANT: &str = "{ policy = 'variant', shrink = 'lazy' }";
const GREEDY: &str = "{ policy = 'greedy' }";
const NEWEST: &str = "{ policy = 'greedy', tie = 'newest' }";
const COST_BENEFIT: &str = "{ policy = 'cost-benefit' }";

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

/// A design after the three random drive writes of the text.
fn by_text(trace: &str, name: &str) -> Scenario {
    Life { random: RANDOM_OF_TEXT, ..designed(trace, name) }.scenario()
}

/// A fixed drive with another garbage collector.
fn collected(trace: &str, leveler: &str, gc: &str) -> Scenario {
    Life { gc, ..Life::new(trace, FIXED, leveler) }.scenario()
}

/// With a bound on what the file system relocates, in GiB of a 256 GiB drive.
fn bounded(trace: &str, gib: u32) -> Scenario {
    let mib = gib * 1024 / SCALE;
    let capacity = format!("{{ policy = 'variant', shrink = 'graceful', relocation-bound = '{mib} MiB' }}");
    Life::new(trace, &capacity, leveler("NoWL")).scenario()
}

fn traces() -> impl Iterator<Item = &'static str> + Clone {
    STANDINS.iter().map(|standin| standin.name)
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

    fn leveling(&self, trace: &str, name: &str) -> f64 {
        self.get(&design(trace, name)).summary.write_amplification.wear_leveling.unwrap_or(0.0)
    }
}

fn finding(ours: String, agrees: bool, note: impl Into<String>) -> Finding {
    Finding { ours, verdict: Verdict::of(agrees), note: note.into(), table: String::new() }
}

fn percent(share: f64) -> String {
    format!("{:+.1} %", 100.0 * share)
}

/// The largest of named values.
fn most(values: impl Iterator<Item = (&'static str, f64)>) -> (&'static str, f64) {
    values.fold(("none", f64::MIN), |best, next| if next.1 > best.1 { next } else { best })
}

const CONFIGURATION: &str = "stand-ins on 4 GiB (1/64), E 500, lives to their end after one sequential and two random drive writes (the \
                             released trace scripts; the text says three); OBP(4, 8), DP(5), PWL(50 %), lazy shrink";

/// The designs of Fig. 22.
const DESIGNS: [&str; 8] = ["Fix_NoWL", "Fix_OBP", "Fix_DP", "Fix_PWL", "Var_NoWL", "Var_OBP", "Var_DP", "Var_PWL"];

pub(super) fn claims() -> Vec<Claim> {
    let mut claims = lifetimes();
    claims.extend(single_traces());
    claims.extend(policies());
    claims
}

fn claim(
    id: &'static str,
    source: &'static str,
    paper: &'static str,
    tolerance: &'static str,
    scenarios: fn() -> Vec<Scenario>,
    evaluate: fn(&Runs) -> Finding,
) -> Claim {
    Claim {
        id,
        class: Class::Order,
        source,
        configuration: CONFIGURATION,
        paper,
        published: "",
        reading: "",
        tolerance,
        hangs_on_seed: false,
        scenarios,
        evaluate,
        others: Others::NONE,
    }
}

fn lifetimes() -> Vec<Claim> {
    vec![
        claim(
            "CV1",
            "000 Fig. 22",
            "Var_NoWL over Fix_PWL: gain 1.33 on average, 2.94 at most (RAD-BE)",
            "RAD-BE gains 2 to 4",
            || {
                let by_text = ["Var_NoWL", "Fix_PWL"].map(|name| by_text("rad-be", name));
                all_traces(&DESIGNS).into_iter().chain(by_text).collect()
            },
            cv1,
        ),
        claim(
            "CV2",
            "000 Fig. 22",
            "Fix_DP over Fix_NoWL: gain 0.18 on average",
            "positive",
            || all_traces(&["Fix_DP", "Fix_NoWL"]),
            cv2,
        ),
        Claim {
            class: Class::Mechanism,
            ..claim(
                "CV3",
                "000 §4.5.1",
                "small footprints, Fix to Var: at most 9.2 % (PWL), 7.7 % (DP), 4.9 % (OBP)",
                "OBP and DP at most 12 %",
                || designs(&SMALL, &["Fix_OBP", "Var_OBP", "Fix_DP", "Var_DP", "Fix_PWL", "Var_PWL"]),
                cv3,
            )
        },
        claim(
            "CV4",
            "000 §4.5.1",
            "DAP-DS: Var_NoWL 13.9x Fix_NoWL; DP's amplification 1.80",
            "gain 8 to 20",
            || designs(&["dap-ds"], &["Var_NoWL", "Fix_NoWL", "Fix_DP"]),
            cv4,
        ),
    ]
}

/// CV5 to CV8, and the check of the scale.
fn single_traces() -> Vec<Claim> {
    vec![
        claim(
            "CV5",
            "000 §4.5.1",
            "MSN-BEFS: Var_NoWL lives 145 drive writes = 36.27 TiB, gain 0.91; Fix_NoWL 5 % below Fix_DP",
            "145 drive writes +- 25 %; 145 x 256 / 1024 = 36.25",
            || {
                let scripts = designs(&["msn-befs"], &["Var_NoWL", "Fix_NoWL", "Fix_DP", "Fix_PWL"]);
                scripts.into_iter().chain([by_text("msn-befs", "Var_NoWL"), by_text("msn-befs", "Fix_PWL")]).collect()
            },
            cv5,
        ),
        claim(
            "CV6",
            "000 §4.5.1",
            "Var_NoWL: -3.1 % against Fix_PWL (VDI), -3.6 % against Fix_DP (LM-TBE); LM-TBE's amplification 0.18",
            "absolute differences at most 10 %",
            || designs(&["vdi", "lm-tbe"], &["Var_NoWL", "Fix_NoWL", "Fix_PWL", "Fix_DP"]),
            cv6,
        ),
        claim(
            "CV7",
            "000 §4.5.1",
            "DTRS: Fix_NoWL +117 % over Fix_OBP, +18 % over Fix_DP; Var_NoWL +24 % over Fix_DP; Var_PWL +3 % over Var_NoWL",
            "the signs",
            || designs(&["dtrs"], &["Fix_NoWL", "Fix_OBP", "Fix_DP", "Var_NoWL", "Var_PWL"]),
            cv7,
        ),
        claim(
            "CV8",
            "000 §4.1",
            "capacity variance with wear leveling takes up to 84 % more writes",
            "positive",
            || all_traces(&["Fix_OBP", "Var_OBP", "Fix_DP", "Var_DP", "Fix_PWL", "Var_PWL"]),
            cv8,
        ),
        Claim {
            class: Class::Mechanism,
            ..claim(
                "CV-scale",
                "this project",
                "the scale of CV1 to CV11 does not decide them",
                "three traces at 1/16 within 10 % of 1/64, Fix_NoWL and Var_NoWL",
                || {
                    let large = LARGE_SCALE.iter().flat_map(|trace| [16, SCALE].map(|scale| scaled(trace, scale)));
                    large.flatten().collect()
                },
                cv_scale,
            )
        },
    ]
}

/// Fix_NoWL and Var_NoWL at a scale.
fn scaled(trace: &str, scale: u32) -> [Scenario; 2] {
    [FIXED, VARIANT].map(|capacity| Life { scale, ..Life::new(trace, capacity, leveler("NoWL")) }.scenario())
}

fn policies() -> Vec<Claim> {
    vec![
        Claim {
            class: Class::Mechanism,
            ..claim(
                "CV9",
                "000 Fig. 24",
                "greedy against \"cost-benefit\": mean difference 2.03 (OBP), 0.43 (DP), 0.60 (PWL), 0.67 % (NoWL), 6.6 % at most",
                "with the released code's variant, greedy with newest ties, at most 8 %; true cost-benefit is only reported",
                || {
                    let newest = |trace: &'static str| LEVELERS.map(|(_, leveler)| collected(trace, leveler, NEWEST));
                    let benefit = SMALL.map(|trace| collected(trace, leveler("NoWL"), COST_BENEFIT));
                    let greedy = all_traces(&["Fix_NoWL", "Fix_OBP", "Fix_DP", "Fix_PWL"]);
                    traces().flat_map(newest).chain(benefit).chain(greedy).collect()
                },
                cv9,
            )
        },
        Claim {
            configuration: "as CV1 without wear leveling, graceful shrink with a bound on relocation at 1/64 of the paper's",
            ..claim(
                "CV10",
                "000 Fig. 25",
                "relocation bound of 1, 5, 10 GiB: 3.21x, 4.07x, 4.10x Fix_NoWL; RAD-AS 11.64x at 1 GiB; DAP-PS steps at the 18th GiB",
                "rises with the bound and saturates by 5 GiB (10 GiB within 5 % of it)",
                || {
                    let bounds = traces().flat_map(|trace| BOUNDS.map(|gib| bounded(trace, gib)));
                    let step = STEP_BOUNDS.map(|gib| bounded("dap-ps", gib));
                    bounds.chain(step).chain(all_traces(&["Fix_NoWL"])).collect()
                },
                cv10,
            )
        },
        claim(
            "CV11",
            "000 Fig. 23",
            "wear leveling's amplification up to 1.8 (OBP, DP), PWL lower overall",
            "PWL's mean below OBP's and DP's",
            || all_traces(&["Fix_OBP", "Fix_DP", "Fix_PWL"]),
            cv11,
        ),
    ]
}

fn cv1(runs: &Runs) -> Finding {
    let gains = || traces().map(|trace| (trace, runs.gain(trace, "Var_NoWL", "Fix_PWL")));
    let rad_be = runs.gain("rad-be", "Var_NoWL", "Fix_PWL");
    let (trace, highest) = most(gains());
    let ours =
        format!("mean {:.2}, most {highest:.2} ({trace}), RAD-BE {rad_be:.2}", mean(gains().map(|(_, gain)| gain)));
    let by_text = |name| lifetime(runs.get(&by_text("rad-be", name)));
    let note = format!(
        "after three random drive writes RAD-BE gains {:.2}. Lifetimes of all designs in drive writes:",
        gain(by_text("Var_NoWL"), by_text("Fix_PWL"))
    );
    Finding { table: lifetimes_table(runs), ..finding(ours, (2.0..=4.0).contains(&rad_be), note) }
}

/// Drive writes that each design lives under each trace.
fn lifetimes_table(runs: &Runs) -> String {
    let mut table = format!("| trace | {} |\n|---|{}\n", DESIGNS.join(" | "), "---:|".repeat(DESIGNS.len()));
    for trace in traces() {
        let lives = DESIGNS.map(|name| format!("{:.1}", runs.lifetime(trace, name)));
        table += &format!("| {trace} | {} |\n", lives.join(" | "));
    }
    table
}

fn cv2(runs: &Runs) -> Finding {
    let gain = mean(traces().map(|trace| runs.gain(trace, "Fix_DP", "Fix_NoWL")));
    finding(format!("mean gain {gain:.2}"), gain > 0.0, "")
}

fn cv3(runs: &Runs) -> Finding {
    let gains = |name: &str| {
        let (fixed, variant) = (format!("Fix_{name}"), format!("Var_{name}"));
        SMALL.map(|trace| (trace, runs.gain(trace, &variant, &fixed)))
    };
    let [obp, dp, pwl] = ["OBP", "DP", "PWL"].map(|name| most(gains(name).into_iter()));
    let ours = ["PWL", "DP", "OBP"]
        .iter()
        .zip([pwl, dp, obp])
        .map(|(name, (trace, gain))| format!("{name} {} ({trace})", percent(gain)));
    let others = most(gains("DP").into_iter().filter(|(trace, _)| *trace != dp.0)).1;
    let worn = |trace: &str, name: &str| runs.get(&design(trace, name)).summary.wear.erase_count;
    let (by_dp, by_pwl) = (worn(dp.0, "Fix_DP"), worn(pwl.0, "Fix_PWL"));
    let note = format!(
        "DP's other traces gain at most {}. Under {} a fixed drive with DP ends when a tenth of its blocks are worn out while the \
         median block has {} of its 500 erases: pools that inverted, as in WL8, leave a rest to gain. Under {} one with PWL, which \
         begins late, ends with its least worn percent at {} and its median block at {} erases",
        percent(others),
        dp.0,
        by_dp.p50,
        pwl.0,
        by_pwl.p1,
        by_pwl.p50
    );
    finding(ours.collect::<Vec<_>>().join(", "), obp.1 <= 0.12 && dp.1 <= 0.12, note)
}

fn cv4(runs: &Runs) -> Finding {
    let gain = runs.gain("dap-ds", "Var_NoWL", "Fix_NoWL");
    let dp = runs.leveling("dap-ds", "Fix_DP");
    finding(format!("gain {gain:.1}; DP's amplification {dp:.2}"), (8.0..=20.0).contains(&gain), "")
}

fn cv5(runs: &Runs) -> Finding {
    let lived = runs.lifetime("msn-befs", "Var_NoWL");
    let ours = format!(
        "{lived:.0} drive writes = {:.2} TiB; gain {:.2} over Fix_PWL, {:.2} over Fix_NoWL; Fix_NoWL {} against Fix_DP",
        lived * 256.0 / 1024.0,
        runs.gain("msn-befs", "Var_NoWL", "Fix_PWL"),
        runs.gain("msn-befs", "Var_NoWL", "Fix_NoWL"),
        percent(runs.gain("msn-befs", "Fix_NoWL", "Fix_DP"))
    );
    let by_text = |name| lifetime(runs.get(&by_text("msn-befs", name)));
    let note = format!(
        "preconditioning decides it: after the three random drive writes of the text the drive lives {:.0} drive writes, a gain of {:.2} \
         over Fix_PWL, because cold blocks then hold more of the spare space as scattered invalid pages",
        by_text("Var_NoWL"),
        gain(by_text("Var_NoWL"), by_text("Fix_PWL"))
    );
    finding(ours, gain(lived, 145.0).abs() <= 0.25, note)
}

fn cv6(runs: &Runs) -> Finding {
    let (vdi, lm_tbe) = (runs.gain("vdi", "Var_NoWL", "Fix_PWL"), runs.gain("lm-tbe", "Var_NoWL", "Fix_DP"));
    let leveling = runs.leveling("lm-tbe", "Fix_DP");
    let ours = format!("VDI {}, LM-TBE {}; LM-TBE's amplification {leveling:.2} (DP)", percent(vdi), percent(lm_tbe));
    let note = format!(
        "what differs is the cost of DP, {leveling:.2} pages a host page against the paper's 0.18: the hot part of a stand-in never \
         drifts, so that the pools go on swapping. Capacity variance itself changes LM-TBE's life by {} (against Fix_NoWL)",
        percent(runs.gain("lm-tbe", "Var_NoWL", "Fix_NoWL"))
    );
    finding(ours, vdi.abs() <= 0.1 && lm_tbe.abs() <= 0.1, note)
}

fn cv7(runs: &Runs) -> Finding {
    let pairs = [("Fix_NoWL", "Fix_OBP"), ("Fix_NoWL", "Fix_DP"), ("Var_NoWL", "Fix_DP"), ("Var_PWL", "Var_NoWL")];
    let gains = pairs.map(|(new, base)| runs.gain("dtrs", new, base));
    let words = pairs.iter().zip(gains).map(|((new, base), gain)| format!("{new} {} over {base}", percent(gain)));
    let note = format!(
        "the last sign is of a difference that is small in the paper too; PWL moves {:.3} pages a host page in the variant drive's life",
        runs.leveling("dtrs", "Var_PWL")
    );
    finding(words.collect::<Vec<_>>().join("; "), gains.iter().all(|gain| *gain > 0.0), note)
}

fn cv8(runs: &Runs) -> Finding {
    let gains = traces().flat_map(|trace| {
        ["OBP", "DP", "PWL"].map(|name| (trace, runs.gain(trace, &format!("Var_{name}"), &format!("Fix_{name}"))))
    });
    let (trace, highest) = most(gains);
    finding(format!("up to {} ({trace})", percent(highest)), highest > 0.0, "the paper ties this number to no figure")
}

fn cv_scale(runs: &Runs) -> Finding {
    let mut words = Vec::new();
    let mut furthest: f64 = 0.0;
    for trace in LARGE_SCALE {
        let lived = |scale| scaled(trace, scale).map(|scenario| lifetime(runs.get(&scenario)));
        for ((name, large), small) in ["Fix", "Var"].iter().zip(lived(16)).zip(lived(SCALE)) {
            let off = gain(large, small);
            furthest = furthest.max(off.abs());
            words.push(format!("{trace} {name} {}", percent(off)));
        }
    }
    finding(words.join(", "), furthest <= 0.1, "")
}

fn cv9(runs: &Runs) -> Finding {
    let mut words = Vec::new();
    let mut furthest: f64 = 0.0;
    for (name, leveler) in LEVELERS {
        let off = |trace: &str| {
            let newest = lifetime(runs.get(&collected(trace, leveler, NEWEST)));
            gain(newest, runs.lifetime(trace, &format!("Fix_{name}"))).abs()
        };
        furthest = traces().map(off).fold(furthest, f64::max);
        words.push(format!("{name} {:.2} %", 100.0 * mean(traces().map(off))));
    }
    let benefit = |trace: &str| {
        let lived = lifetime(runs.get(&collected(trace, leveler("NoWL"), COST_BENEFIT)));
        format!("{trace} {}", percent(gain(lived, runs.lifetime(trace, "Fix_NoWL"))))
    };
    let note = format!("true cost-benefit against greedy, Fix_NoWL: {}", SMALL.map(benefit).join(", "));
    finding(format!("{}; {:.1} % at most", words.join(", "), 100.0 * furthest), furthest <= 0.08, note)
}

fn cv10(runs: &Runs) -> Finding {
    let ratio = |trace: &str, gib: u32| lifetime(runs.get(&bounded(trace, gib))) / runs.lifetime(trace, "Fix_NoWL");
    let means = BOUNDS.map(|gib| mean(traces().map(|trace| ratio(trace, gib))));
    let [before, after] = STEP_BOUNDS.map(|gib| ratio("dap-ps", gib));
    let ours = format!(
        "{:.2}x, {:.2}x, {:.2}x; RAD-AS {:.2}x at 1 GiB; DAP-PS {before:.2}x at 17 and {after:.2}x at 18 GiB",
        means[0],
        means[1],
        means[2],
        ratio("rad-as", 1)
    );
    let rises = means[0] <= means[1] * 1.01 && means[1] <= means[2] * 1.01;
    let note =
        "where the traces' data lay is not published; the stand-ins keep 0.5 GiB of 256 at the top, DAP-PS 17.5 GiB";
    finding(ours, rises && gain(means[2], means[1]).abs() <= 0.05, note)
}

fn cv11(runs: &Runs) -> Finding {
    let of = |name: &str| {
        let design = format!("Fix_{name}");
        let values = || traces().map(|trace| (trace, runs.leveling(trace, &design)));
        (mean(values().map(|(_, value)| value)), most(values()).1)
    };
    let [obp, dp, pwl] = ["OBP", "DP", "PWL"].map(of);
    let ours = format!(
        "OBP mean {:.2}, most {:.2}; DP {:.2}, {:.2}; PWL {:.2}, {:.2}",
        obp.0, obp.1, dp.0, dp.1, pwl.0, pwl.1
    );
    finding(ours, pwl.0 < obp.0 && pwl.0 < dp.0, "")
}
