//! Figures 10, 15a, 17 and 18 of Jiao et al., FAST 2024 (001), with our numbers next to those in its text.

use super::lifetime::{REQUIREMENTS, designs, taken};
use super::speed::SHARES;
use super::stores::{BOTH, COMPARED, compared, lookups};
use super::wear::strengths;
use super::{Access, Design, Life, Runs, pair, read_rate, rereads_per_gib};
use wane_report::published::{Bars, Picture};

/// Probes between two groups of bars.
const EVERY: usize = 3;

/// The title and the figures of a claim, if the paper has some.
pub(super) fn of(id: &str, runs: &Runs) -> Option<(&'static str, Vec<Picture>)> {
    Some(match id {
        "CS6" => ("Figure 10: read throughput under Zipf", SHARES.iter().map(|share| figure10(runs, *share)).collect()),
        "CS13" => ("Figure 15a: host writes at a required throughput", vec![figure15a(runs)]),
        "CS15" => ("Figure 17: lookups of key-value stores", [0, 1].map(|store| figure17(runs, store)).into()),
        "CS17" => ("Figure 18: re-reads by error correction", vec![figure18(runs)]),
        _ => return None,
    })
}

fn figure10(runs: &Runs, share: u32) -> Picture {
    let results = pair(Access::Zipf, share).map(|life| runs.life(life));
    let longest = results.iter().map(|result| result.windows.len()).max().unwrap_or(0);
    let group = |number: usize| {
        let age =
            results.iter().find_map(|result| result.windows.get(number)).map_or(0.0, |window| window.at_drive_writes);
        // A drive that has died reads nothing.
        let of = |result: &&wane_results::RunResult| {
            result.windows.get(number).map_or(0.0, |window| read_rate(window) / read_rate(&result.windows[0]))
        };
        (format!("{age:.0}"), results.iter().map(of).collect())
    };
    Picture::Bars(Bars {
        heading: "Figure 10",
        caption: format!(
            "{share} % mapped, by drive writes of the host; no bar after a drive's end. In the paper CVSS reads up to 0.72 faster at equal host writes."
        ),
        measure: "read throughput, 1 = new drive",
        series: ["CVSS", "TrSS"].map(str::to_owned).into(),
        groups: (0..longest).step_by(EVERY).map(group).collect(),
        levels: vec![(0.5, "the paper measures down to".to_owned())],
    })
}

fn figure15a(runs: &Runs) -> Picture {
    let group = |requirement: f64| {
        let name = if requirement > 0.0 { format!("at least {requirement}") } else { "no requirement".to_owned() };
        (name, taken(runs, designs(Access::Zipf, 30), requirement).to_vec())
    };
    let mut groups = vec![("paper, at least 0.8".to_owned(), vec![10.0, 18.0, 28.0])];
    groups.extend(REQUIREMENTS.into_iter().map(group));
    Picture::Bars(Bars {
        heading: "Figure 15a",
        caption: "Zipf, 30 % mapped: terabytes until the read throughput falls below a share of the new drive's."
            .to_owned(),
        measure: "TB that the host wrote",
        series: Design::ALL.map(|design| design.name().to_owned()).into(),
        groups,
        levels: Vec::new(),
    })
}

fn figure17(runs: &Runs, store: usize) -> Picture {
    let times = compared(BOTH[store]).map(|life| lookups(runs, life));
    let of = |(place, name): (usize, &str)| {
        (name.to_owned(), times.iter().map(|drive| drive[place] / times[0][place]).collect())
    };
    let mut groups: Vec<(String, Vec<f64>)> =
        ["75 %", "90 %", "95 %", "99 %"].into_iter().enumerate().map(of).collect();
    groups.push(("paper, 99 %".to_owned(), [[1.0, 0.49, 0.56], [1.0, 0.47, 0.60]][store].into()));
    Picture::Bars(Bars {
        heading: ["Figure 17a", "Figure 17b"][store],
        caption: format!(
            "{}: percentiles of lookups, means over the probes of a life, by the RBER at which blocks retire.",
            BOTH[store].name()
        ),
        measure: "time of a lookup, 1 = TrSS",
        series: COMPARED.map(str::to_owned).into(),
        groups,
        levels: Vec::new(),
    })
}

fn figure18(runs: &Runs) -> Picture {
    let own = rereads_per_gib(runs.life(Life::of(Design::Variant)));
    let bar = |life: Life| {
        let name = format!("{} ({})", life.design.name(), life.strength);
        (name, vec![rereads_per_gib(runs.life(life)) / own])
    };
    Picture::Bars(Bars {
        heading: "Figure 18",
        caption: "Zipf, 30 % mapped, over the whole life, by the bits of a codeword of 4 KiB that are corrected."
            .to_owned(),
        measure: "re-reads a GiB read, 1 = CVSS (50)",
        series: vec!["re-reads".to_owned()],
        groups: [Life::of(Design::Variant)].into_iter().chain(strengths()).map(bar).collect(),
        levels: vec![(2.93, "paper, TrSS (50)".to_owned())],
    })
}
