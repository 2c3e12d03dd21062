//! FF2: the baselines beside the framework, with the wear of both drives after equally many host writes.

use wane_scenario::Scenario;

use super::lives::{Life, Model};
use super::{
    BY_ID, CML, FRAMEWORK, FTLSIM, Figure, MATCHED, MODELS, RANKED, REFITS, SCALE, accuracies, choice, in_full, mean,
    percent, range, refitted, to_failure,
};
use crate::{Claim, Class, Finding, Others, Reading, Runs, Verdict};

pub(super) fn claim() -> Claim {
    let of = super::claim(
        Class::Order,
        [
            "FF2",
            "000 Fig. 8",
            "the same: DEVS 60 to 93 %, CML 48 to 84 % (the text also has 83)",
            "FF above DEVS above CML on average",
        ],
        FTLSIM,
        || in_full(&to_failure(SCALE), &["1.5"], &MODELS),
        |runs| {
            let found = at_equal_writes(runs, MODELS, RANKED);
            let (ours, agrees) = judged(&found);
            Finding {
                ours,
                verdict: Verdict::of(agrees),
                note: format!(
                    "the drives are compared at the host writes at which the first of the two dies, the full one or the forecast's. DEVS from {}, \
                     CML from {}. At its own death any drive is worn to its rated erases, whichever model predicted it: what a baseline lost comes \
                     back as a longer life, and all three look alike",
                    range(&found[1]),
                    range(&found[2])
                ),
                table: String::new(),
            }
        },
        Others::Run { scenarios: || refitted(&to_failure(SCALE), "1.5"), evaluate: readings },
    );
    Claim { published: PUBLISHED, later, ..of }
}

const PUBLISHED: &str = "eleven traces, \"run until the number of bad blocks exceeds its over-provisioning\"; that the wear of all is compared after \
                         the same host writes is not said. Otherwise as FF1";

/// Every model that is compared.
fn models() -> impl Iterator<Item = Model> {
    MODELS.into_iter().chain(REFITS.map(|(_, devs)| devs))
}

/// The life in full and fast-forwarded, up to where the first of them dies.
fn at_first_death(runs: &Runs, life: &Life, model: Model) -> [Scenario; 2] {
    let both = [life.full(), life.forwarded("1.5", model)];
    let [full, forwarded] = both.each_ref().map(|scenario| runs.get(scenario).summary.end.at_drive_writes);
    let [whole, forecast] = both;
    if full < forwarded {
        [whole, life.up_to(full).forwarded("1.5", model)]
    } else if forwarded < full {
        [life.up_to(forwarded).full(), forecast]
    } else {
        [whole, forecast]
    }
}

fn later(runs: &Runs) -> Vec<Scenario> {
    // Other fits of DEVS are another reading, which has the first seed alone.
    let models: Vec<Model> = if runs.is_first_seed() { models().collect() } else { MODELS.into() };
    let of = |life: &Life| models.iter().flat_map(|model| at_first_death(runs, life, *model)).collect::<Vec<_>>();
    to_failure(SCALE).iter().flat_map(of).collect()
}

fn at_equal_writes(runs: &Runs, models: [Model; 3], of: Figure) -> [Vec<f64>; 3] {
    let lives = to_failure(SCALE);
    models.map(|model| {
        let close = |life: &Life| {
            let [full, forecast] = at_first_death(runs, life, model);
            of(&runs.closeness(runs.get(&forecast), runs.get(&full)))
        };
        lives.iter().map(close).collect()
    })
}

fn judged(found: &[Vec<f64>; 3]) -> (String, bool) {
    let [framework, devs, cml] = found.each_ref().map(|found| mean(found.iter().copied()));
    let words = format!("means: FF {} %, DEVS {}, CML {}", percent(framework), percent(devs), percent(cml));
    (words, framework > devs && devs > cml)
}

fn readings(runs: &Runs) -> Vec<Reading> {
    let by_id = choice(BY_ID, judged(&at_equal_writes(runs, MODELS, MATCHED)));
    let own = judged(&accuracies(runs, &to_failure(SCALE), "1.5", MODELS, RANKED));
    let refitted =
        REFITS.map(|(what, devs)| choice(what, judged(&at_equal_writes(runs, [FRAMEWORK, devs, CML], RANKED))));
    [by_id, choice("each drive at its own death", own)].into_iter().chain(refitted).collect()
}
