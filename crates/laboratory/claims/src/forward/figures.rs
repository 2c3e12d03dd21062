//! Figures 7 to 9, 11 and 12 of the dissertation's chapter 3, with our numbers and those of its text.

use wane_aging::skew_normal::SkewNormal;
use wane_report::published::{Bars, Distributions, Picture};

use super::{
    FACTORS, FIGURE_7, FIGURE_12, FRAMEWORK, Life, MODELS, RANKED, SCALE, accuracies, by_factor, erases, of_factors,
    of_figure_7, on_amber, on_femu, to_failure, unleveled,
};
use crate::Runs;

const ACCURACY: &str = "accuracy, blocks matched by rank";

/// The figures of a claim, under the title of their page.
pub(crate) fn pictures(id: &str, runs: &Runs) -> Option<(&'static str, Vec<Picture>)> {
    Some(match id {
        "FF1" => {
            let wear = to_failure(SCALE).iter().map(|life| wear(runs, life, "1.5")).collect();
            ("Wear at the end of life, simulated and fast-forwarded", wear)
        }
        "FF2" => {
            let levels = vec![(0.94, "paper, FF, mean".to_owned())];
            ("Figure 8: until failure on FTLSim", vec![bars(runs, &to_failure(SCALE), "1.5", "Figure 8", levels)])
        }
        "FF3" => {
            let levels = [(0.93, "FF"), (0.91, "DEVS"), (0.49, "CML")];
            let levels = levels.map(|(level, name)| (level, format!("paper, {name}, mean"))).into();
            ("Figure 9: 600 iterations on Amber", vec![bars(runs, &on_amber(), "2", "Figure 9", levels)])
        }
        "FF4" => ("Figure 10: without wear leveling", vec![bars(runs, &unleveled(), "2", "Figure 10", Vec::new())]),
        "FF5" => {
            let levels = [(0.93, "TPCC, FF"), (0.79, "TPCC, DEVS"), (0.18, "TPCC, CML")];
            let levels = levels.map(|(level, name)| (level, format!("paper, {name}"))).into();
            ("Figure 11: 50 iterations on FEMU", vec![bars(runs, &on_femu(), "2", "Figure 11", levels)])
        }
        "FF6" => ("Figure 12: accuracy by acceleration factor", vec![figure_12(runs)]),
        "FF8" => ("Figure 7: the distribution of erase counts", vec![figure_7(runs)]),
        _ => return None,
    })
}

fn bars(runs: &Runs, lives: &[Life], factor: &str, heading: &'static str, levels: Vec<(f64, String)>) -> Picture {
    let found = accuracies(runs, lives, factor, MODELS, RANKED);
    let group =
        |(place, life): (usize, &Life)| (life.trace.to_owned(), found.iter().map(|of_model| of_model[place]).collect());
    Picture::Bars(Bars {
        heading,
        caption: format!(
            "Erase counts at a factor of {factor} against the full run. DEVS and CML are reconstructions."
        ),
        measure: ACCURACY,
        series: MODELS.map(|model| model.title.to_owned()).into(),
        groups: lives.iter().enumerate().map(group).collect(),
        levels,
    })
}

fn figure_12(runs: &Runs) -> Picture {
    let group = |(life, paper): (Life, [f64; 4])| {
        let ours = by_factor(runs, &life, RANKED);
        [(life.trace.to_owned(), ours.to_vec()), (format!("{}, paper", life.trace), paper.to_vec())]
    };
    Picture::Bars(Bars {
        heading: "Figure 12",
        caption: "Erase counts after 100 drive writes against the full run, with the paper's numbers beside."
            .to_owned(),
        measure: ACCURACY,
        series: FACTORS.map(|factor| format!("factor {factor}")).into(),
        groups: of_factors().into_iter().zip(FIGURE_12).flat_map(group).collect(),
        levels: Vec::new(),
    })
}

/// Cumulative distribution: each erase count with the share of the blocks that have at most as many erases.
fn distribution(counts: &[u32]) -> Vec<(f64, f64)> {
    let mut sorted = counts.to_vec();
    sorted.sort_unstable();
    let all = sorted.len().max(1) as f64;
    let mut below = 0;
    let share = |alike: &[u32]| {
        below += alike.len();
        (f64::from(alike[0]), below as f64 / all)
    };
    let shares: Vec<(f64, f64)> = sorted.chunk_by(PartialEq::eq).map(share).collect();
    debug_assert!(shares.last().is_none_or(|(_, share)| *share == 1.0), "all blocks have at most the most erases");
    shares
}

/// The wear of a life in full and fast-forwarded, laid over each other.
fn wear(runs: &Runs, life: &Life, factor: &str) -> Picture {
    let of = |scenario| distribution(&erases(runs.get(&scenario)));
    Picture::Distributions(Distributions {
        heading: life.trace,
        caption: format!("Erase counts at the end of life: all simulated, and predicted at a factor of {factor}."),
        over: "erases of a block",
        curves: vec![
            ("simulated".to_owned(), of(life.full())),
            ("fast-forwarded".to_owned(), of(life.forwarded(factor, FRAMEWORK))),
        ],
        levels: Vec::new(),
    })
}

fn figure_7(runs: &Runs) -> Picture {
    let counts = erases(runs.get(&of_figure_7().full()));
    let values: Vec<f64> = counts.iter().map(|count| f64::from(*count)).collect();
    let ours = distribution(&counts);
    let along = |of: &SkewNormal| ours.iter().map(|(erases, _)| (*erases, of.cdf(erases + 0.5))).collect::<Vec<_>>();
    let mut curves = vec![("our blocks".to_owned(), ours.clone())];
    curves.extend(SkewNormal::fit(&values).ok().map(|fit| ("likeliest skew-normal".to_owned(), along(&fit))));
    curves.push(("the paper's skew-normal".to_owned(), along(&FIGURE_7)));
    Picture::Distributions(Distributions {
        heading: "Figure 7",
        caption: "Erase counts under WBS.".to_owned(),
        over: "erases of a block",
        curves,
        levels: Vec::new(),
    })
}
