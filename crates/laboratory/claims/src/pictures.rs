//! Figures of papers with our numbers. Figures 4 to 9 and 11 of Kim et al., FAST 2019 (004), are drawn here; other papers' figures come from the files
//! of their claims. The papers' numbers are shown where their text has them.

use wane_workload::standin::TRAFFIC_STANDINS;

use super::holistic::{self, Scheme as Approach, Served};
use super::reliability::{AGES, CHIPS, Chip, REREADS, STRIPES, Scheme, THRESHOLDS, TLC, failure_rate, programmed};
use super::unpublished::OURS;
use super::{Runs, forward, mean, variant};
use wane_report::published::{Bars, Distributions, Picture, page};
use wane_results::RunResult;
use wane_scenario::Scenario;

const LATENCY: &str = "mean read latency, 1 = without errors";
const TAIL: &str = "99.9 % of read latency, 1 = without errors";

/// The page of a claim's figures, if the paper has some.
pub(super) fn of(id: &str, runs: &Runs) -> Option<String> {
    if let Some((title, pictures)) = variant::pictures(id, runs) {
        return Some(page(title, &lead("Jiao et al., FAST 2024"), &pictures));
    }
    if let Some((title, pictures)) = forward::pictures(id, runs) {
        return Some(page(title, &lead("Jiao, dissertation (000), chapter 3"), &pictures));
    }
    if id == "DC3" {
        let (title, pictures) = super::cells::pictures(runs);
        return Some(page(title, &lead("Liang, dissertation (002), section 5.2"), &pictures));
    }
    if id == "DC11" {
        let (title, pictures) = super::active::pictures();
        return Some(page(title, &lead("Liang, dissertation (002), section 8.3"), &pictures));
    }
    let (title, pictures) = match id {
        "RE2" => ("Figure 5: raw bit errors", vec![figure5(runs)]),
        "RE3" => ("Figure 4: error correction and re-reads", CHIPS.iter().map(|chip| figure4(runs, chip)).collect()),
        "RE5" => (
            "Figures 6 and 7: redundancy inside the drive",
            REREADS.iter().flat_map(|rereads| figure6(runs, *rereads)).collect(),
        ),
        "RE6" => ("Figure 8: the oracle scrubber", figure8(runs)),
        "RE7" => ("Figure 9: data that has lain", CHIPS.iter().map(|chip| figure9(runs, chip)).collect()),
        "RE8" => (
            "Figure 11: holistic reliability management",
            CHIPS.iter().zip(OVERHEADS).map(|(chip, paper)| figure11(runs, chip, paper)).collect(),
        ),
        _ => return None,
    };
    Some(page(title, &lead("Kim et al., FAST 2019"), &pictures))
}

/// What a page says above its figures.
fn lead(paper: &str) -> String {
    format!("After {paper}. Dashed lines, and bars that are labeled so, are the numbers in its text.")
}

fn bars(heading: &'static str, caption: String, measure: &'static str, series: Vec<String>) -> Bars {
    Bars { heading, caption, measure, series, groups: Vec::new(), levels: Vec::new() }
}

fn cycles(count: u32) -> String {
    format!("{count} cycles")
}

fn figure4(runs: &Runs, chip: &'static Chip) -> Picture {
    let series = chip.cycles.map(cycles).into();
    let of = |strength| {
        chip.cycles.map(|cycles| {
            runs.slowdown(&OURS.corrected(chip, cycles, Some(strength)), &OURS.corrected(chip, cycles, None))
        })
    };
    let groups = chip.strengths.map(|strength| (format!("{strength} bits"), of(strength).to_vec())).into();
    let levels = if chip.name == TLC.name { vec![(3.2, "paper, most".to_owned())] } else { Vec::new() };
    let caption = format!("{}: mean read latency by correctable bits of a codeword.", chip.title);
    Picture::Bars(Bars { groups, levels, ..bars("Figure 4", caption, LATENCY, series) })
}

/// Cumulative distribution: each number of wrong bits with the share of the codewords that have at most as many.
fn distribution(result: &RunResult) -> Vec<(f64, f64)> {
    let Some(counts) = &result.error_histogram else { return Vec::new() };
    let all = counts.iter().sum::<u64>().max(1) as f64;
    let mut below = 0;
    let share = |(errors, count): (usize, &u64)| {
        below += count;
        (errors as f64, below as f64 / all)
    };
    counts.iter().enumerate().take(151).map(share).collect()
}

fn figure5(runs: &Runs) -> Picture {
    let named = [(None, "every error corrected"), (Some(75), "75 bits"), (Some(25), "25 bits")];
    let curves =
        named.map(|(strength, name)| (name.to_owned(), distribution(runs.get(&OURS.corrected(TLC, 5000, strength)))));
    let levels = [(0.85, "paper below 75, every error corrected"), (0.74, "75 bits"), (0.51, "25 bits")];
    Picture::Distributions(Distributions {
        heading: "Figure 5",
        caption: "TLC at 5,000 cycles: codewords by wrong bits at their first check.".to_owned(),
        over: "wrong bits of a codeword",
        curves: curves.into(),
        levels: levels.map(|(value, name)| (value, name.to_owned())).into(),
    })
}

fn figure6(runs: &Runs, rereads: u32) -> [Picture; 4] {
    let heading = if rereads == 1 { "Figure 6" } else { "Figure 7" };
    let series: Vec<String> =
        STRIPES.map(|stripe| if stripe == 0 { "no stripes".to_owned() } else { format!("s = {stripe}") }).into();
    let groups = |of: &dyn Fn(u32, u32) -> f64| {
        TLC.cycles.map(|count| (cycles(count), STRIPES.map(|stripe| of(count, stripe)).to_vec())).into()
    };
    let run = |cycles, stripe| OURS.striped(cycles, stripe, rereads);
    let base = |cycles| OURS.striped_base(cycles);
    let again = if rereads == 1 { "re-read" } else { "re-reads" };
    let caption = |what: &str| format!("TLC, 75 bits, at most {rereads} {again}: {what}.");
    let make = |what: &str, measure, of: &dyn Fn(u32, u32) -> f64| {
        Picture::Bars(Bars { groups: groups(of), ..bars(heading, caption(what), measure, series.clone()) })
    };
    [
        make("mean read latency", LATENCY, &|cycles, stripe| runs.slowdown(&run(cycles, stripe), &base(cycles))),
        make("its tail", TAIL, &|cycles, stripe| runs.tail(&run(cycles, stripe), &base(cycles))),
        make("write amplification", "units programmed a host unit", &|cycles, stripe| {
            programmed(runs.get(&run(cycles, stripe))).iter().sum()
        }),
        make("reconstructions that fail", "share", &|cycles, stripe| {
            failure_rate(runs.get(&run(cycles, stripe))).unwrap_or(0.0)
        }),
    ]
}

fn figure8(runs: &Runs) -> Vec<Picture> {
    let series: Vec<String> = THRESHOLDS.map(|threshold| format!("E(err) = {threshold}")).into();
    let base = |cycles| OURS.corrected(TLC, cycles, None);
    let groups = |of: &dyn Fn(&Scenario, &Scenario) -> f64| {
        let group = |count| THRESHOLDS.map(|threshold| of(&OURS.scrubbed(count, threshold), &base(count))).to_vec();
        TLC.cycles.map(|count| (cycles(count), group(count))).into()
    };
    let make = |what: &str, measure, levels: Vec<(f64, String)>, of: &dyn Fn(&Scenario, &Scenario) -> f64| {
        let caption = format!("TLC, 75 bits, oracle: {what}.");
        Picture::Bars(Bars { groups: groups(of), levels, ..bars("Figure 8", caption, measure, series.clone()) })
    };
    let by = |part: usize| move |runs: &Runs, run: &Scenario| programmed(runs.get(run))[part];
    vec![
        make("mean read latency", LATENCY, vec![(1.25, "paper, at 5,000 cycles".to_owned())], &|run, base| {
            runs.slowdown(run, base)
        }),
        make("its tail", TAIL, Vec::new(), &|run, base| runs.tail(run, base)),
        make("what garbage collection programs", "units a host unit", Vec::new(), &|run, _| by(1)(runs, run)),
        make("what the scrubber programs", "units a host unit", Vec::new(), &|run, _| by(2)(runs, run)),
    ]
}

fn figure9(runs: &Runs, chip: &'static Chip) -> Picture {
    let schemes =
        [(Scheme::Reread, "ECC + re-read"), (Scheme::Stripes, "redundancy, s = 15"), (Scheme::Oracle, "oracle scrub")];
    let series = schemes.map(|(_, name)| name.to_owned()).into();
    let of = |age| {
        schemes.map(|(scheme, _)| runs.slowdown(&OURS.aged(chip, age, scheme), &OURS.aged(chip, age, Scheme::Infinite)))
    };
    let groups = AGES.map(|age| (format!("{} to {} days", age.0, age.1), of(age).to_vec())).into();
    let told = if chip.name == CHIPS[1].name { " The paper's scrubber takes 23 % off at 30 to 90 days." } else { "" };
    let caption = format!("{} at {} cycles, {} bits.{told}", chip.title, chip.cycles[2], chip.strength);
    Picture::Bars(Bars { groups, ..bars("Figure 9", caption, LATENCY, series) })
}

/// The paper's mean overheads of re-reading, oracle and HRM, by chip.
const OVERHEADS: [[f64; 3]; 3] = [[0.187, 0.123, 0.104], [0.050, 0.017, 0.009], [1.551, 0.645, 0.590]];

fn figure11(runs: &Runs, chip: &'static Chip, paper: [f64; 3]) -> Picture {
    let series = Approach::PAYING.map(|scheme| scheme.name().to_owned()).into();
    let of = |trace| Approach::PAYING.map(|scheme| Served::new(trace, chip, OURS).normalized(runs, scheme)).to_vec();
    let mut groups: Vec<(String, Vec<f64>)> =
        TRAFFIC_STANDINS.iter().map(|trace| (trace.writes.to_uppercase(), of(trace))).collect();
    let means = Approach::PAYING.map(|scheme| {
        mean(TRAFFIC_STANDINS.iter().map(|trace| Served::new(trace, chip, OURS).normalized(runs, scheme)))
    });
    groups.push(("mean".to_owned(), means.to_vec()));
    groups.push(("paper, mean".to_owned(), paper.map(|overhead| 1.0 + overhead).to_vec()));
    let part = holistic::GIB_MAX;
    let caption = format!(
        "{} at {} cycles; stand-ins for the traces, at most {part:.0} GiB of each.",
        chip.title, chip.cycles[2]
    );
    Picture::Bars(Bars { groups, ..bars("Figure 11", caption, LATENCY, series) })
}
