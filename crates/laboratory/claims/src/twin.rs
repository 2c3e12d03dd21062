//! DC1 and DC2: how the attributes of a fleet correlate, and what its health states are (dissertation 002, chapter 4), on simulated drives.
//!
//! The paper's logs are private. The fleet has the inputs that the paper prints: ages, hours that model B does not count, the amplification, and the
//! share of model B's drives that are past their rating. What it does not print is the twin's default. Where an input decides a figure, the note
//! says so.

mod statistics;

use wane_twin::{Fleet, FleetSettings, Life, lives};

use super::{Claim, Class, Finding, Matter, Others, Reading, Verdict};
use statistics::{clusters, elbow, slope, spearman};

/// Wear attributes. Model A: erases, percent, written to flash and by the host. Model B: erases, life left, sectors, pages by host and by firmware.
const WEAR_A: [u16; 5] = [168, 173, 230, 233, 241];
const WEAR_B: [u16; 5] = [173, 202, 246, 247, 248];
/// Model B's without the life left.
const WEAR_B_COUNTED: [u16; 4] = [173, 246, 247, 248];
/// Hours, power cycles, unexpected losses of power, temperature.
const ENVIRONMENT: [u16; 4] = [9, 12, 174, 194];

/// What counts as a strong correlation (section 4.3).
const STRONG: f64 = 0.9;

/// Rated erases of model B with the printed inputs: the number with which the share of its drives that report no life left is nearest to 90.8 %.
const RATED: u32 = 28;

/// Model B's power-on hours over model A's, 11,000 over 19,000 at most: the hours that it is awake, and so its work (section 4.3.3).
const AWAKE: f64 = 11.0 / 19.0;

/// Flash beyond the data, in percent, which gives model A's amplification of 1.3.
const SPARE: u32 = 80;

/// Days between the records that are clustered.
const STEP_DAYS: usize = 6;

/// Number of groups in the paper, and the most that the search for an elbow tries.
const STATES: usize = 5;
const STATES_MAX: usize = 10;

/// Seeds of other readings.
const SEEDS: [u64; 2] = [2, 3];

/// Tables 4.1 and 4.2: percent of drives that stay in one group, or that pass through several on one path.
const TABLE_4_1: [f64; 9] = [10.7, 0.0, 1.3, 2.0, 2.0, 27.3, 18.0, 38.0, 0.7];
const TABLE_4_2: [f64; 10] = [19.8, 27.0, 0.7, 15.6, 0.7, 29.8, 0.7, 4.3, 0.7, 0.7];

const CONFIGURATION: &str = "100 simulated drives of model A and 100 of B, scaled to 256 MiB each, 83 to 792 days old, for 180 days of daily records. A mix of \
                             workloads in requests of 256 KiB, A's drives 0.1 to 3 drive writes a day (mean 0.5), B's 11/19 of that, which count as \
                             large a share of their hours; 80 % more flash than data; A has 3,000 rated erases, B 28 and endures 100 times as many";

pub(super) fn claims() -> Vec<Claim> {
    let none = || Vec::new();
    vec![
        Claim::new(
            Class::Order,
            [
                "DC1",
                "002 §4.3, Figs. 4.1 to 4.3",
                "wear attributes correlate above 0.9 with each other, environmental ones with none that strongly; model A writes 1.3 times to flash; \
                 model B's host writes 30 sectors a page",
                "Spearman above 0.9 in size among the wear attributes of both models and below among environment and wear; 29 to 32 sectors",
            ],
            [
                CONFIGURATION,
                "hourly SMART records of two models over six months, not public; constant attributes left out; the workloads unknown. Printed are \
                 power-on hours of 2,000 to 19,000 (A) and to 11,000 (B), deployed in the same time frame, since B sleeps longer and works less; and \
                 that 90.8 % of B's drives have no rated erases left and run on",
                "all daily records of a model together; the slope of a line through them; ages, hours, amplification and rating are inputs and not \
                 judged",
            ],
            none,
            |runs| attributes(Inputs::Printed, runs.seed(), &WEAR_B),
            Others::Run {
                scenarios: none,
                evaluate: |_| {
                    let without = attributes(Inputs::Printed, 1, &WEAR_B_COUNTED);
                    let what = "without the life left of model B, which is 0 for nine drives in ten".to_owned();
                    let without =
                        Reading { what, matter: Matter::Choice, ours: without.ours, verdict: without.verdict };
                    let others = readings(|inputs, seed| attributes(inputs, seed, &WEAR_B));
                    std::iter::once(without).chain(others).collect()
                },
            },
        ),
        Claim::new(
            Class::Order,
            [
                "DC2",
                "002 §4.4, Tables 4.1 and 4.2, §4.3.2",
                "five health states; 84 % of model A's drives and 36.2 % of B's change theirs, at most 3 and 9 times; 90.8 % of B's report no life \
                 left",
                "both tables sum to 100; more than half of A's drives change their state, fewer than half of B's",
            ],
            [
                CONFIGURATION,
                "k-means on attributes scaled to 0 to 1, five groups by the elbow; a drive's state is the group of each record",
                "a record every six days; A by 168, 173, 230, 233 and 241, B by 173 + 248 and 246 + 247; in addition the same clustering as if each \
                 drive's counters had grown at a constant rate",
            ],
            none,
            |runs| states(Inputs::Printed, runs.seed()),
            Others::Run { scenarios: none, evaluate: |_| readings(states) },
        ),
    ]
}

/// What the fleet is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Inputs {
    /// What the paper prints.
    Printed,
    /// The twin's defaults, but for the drives' ages.
    Default,
}

fn readings(evaluate: fn(Inputs, u64) -> Finding) -> Vec<Reading> {
    let of = |what: String, matter, Finding { ours, verdict, .. }| Reading { what, matter, ours, verdict };
    let default = of("the twin's defaults but for the ages".to_owned(), Matter::Choice, evaluate(Inputs::Default, 1));
    let seeds = SEEDS.map(|seed| of(format!("seed {seed}"), Matter::Seed, evaluate(Inputs::Printed, seed)));
    std::iter::once(default).chain(seeds).collect()
}

/// The lives of model A's and of model B's drives.
fn fleet(inputs: Inputs, seed: u64) -> [Vec<Life>; 2] {
    ["A", "B"].map(|name| {
        let text = fleet_text(inputs, name, seed);
        let fleet =
            Fleet::read(Some((std::path::Path::new("fleet.toml"), &text)), &[]).expect("the claim's fleet is right");
        let lives = lives(&fleet).expect("its drives can be built");
        assert_eq!(lives.len(), 100, "the drives of the model lived");
        lives
    })
}

fn fleet_text(inputs: Inputs, name: &str, seed: u64) -> String {
    let mut text = format!(
        "seed = {seed}\ndays = 180\nrecords = \"daily\"\n[[model]]\nattributes = \"{name}\"\ncount = 100\nage-least = 83.0\nage-most = 792.0\n"
    );
    if inputs == Inputs::Default {
        return text;
    }
    text += &format!("over-provisioning = '{SPARE} %'\n");
    if name == "B" {
        let paces = [0.1, 0.5, 3.0].map(|pace: f64| pace * AWAKE);
        text += &format!("hours-counted = {AWAKE}\nrated-erases = {RATED}\nendurance = 100\n");
        // The default mix at another pace.
        for work in FleetSettings::default().workload {
            text += &format!(
                "[[workload]]\nname = '{}'\npattern = '{}'\nshare = {}\ndwpd-least = {}\ndwpd-mean = {}\ndwpd-most = {}\n",
                work.name,
                work.pattern.name(),
                work.share,
                paces[0],
                paces[1],
                paces[2]
            );
        }
    }
    text
}

/// Values of an attribute in all records.
fn column(lives: &[Life], attribute: u16) -> Vec<f64> {
    let of =
        |life: &Life| life.column(attribute).unwrap_or_default().iter().map(|value| *value as f64).collect::<Vec<_>>();
    lives.iter().flat_map(of).collect()
}

/// The weakest correlation among wear attributes, and the strongest of an environmental one with them; with their names.
fn ends(lives: &[Life], wear: &[u16]) -> ((f64, String), (f64, String)) {
    let columns: Vec<(u16, Vec<f64>)> = wear.iter().chain(&ENVIRONMENT).map(|id| (*id, column(lives, *id))).collect();
    let (mut weakest, mut strongest) = ((1.0, String::new()), (0.0, String::new()));
    for (at, (one, first)) in columns[..wear.len()].iter().enumerate() {
        for (other, second) in &columns[at + 1..] {
            let Some(found) = spearman(first, second) else { continue };
            let name = format!("{one} and {other}");
            if ENVIRONMENT.contains(other) {
                if f64::abs(found) > f64::abs(strongest.0) {
                    strongest = (found, name);
                }
            } else if f64::abs(found) < f64::abs(weakest.0) {
                weakest = (found, name);
            }
        }
    }
    (weakest, strongest)
}

fn attributes(inputs: Inputs, seed: u64, wear_b: &[u16]) -> Finding {
    let [model_a, model_b] = fleet(inputs, seed);
    let worn = without_life(&model_b);
    let amplification = slope(&column(&model_a, 241), &column(&model_a, 233));
    let sectors = slope(&column(&model_b, 247), &column(&model_b, 246));
    let pages = |id| column(&model_b, id);
    let both: Vec<f64> = pages(247).iter().zip(pages(248)).map(|(host, ftl)| host + ftl).collect();
    let amplification_b = slope(&pages(247), &both);
    let mut agrees = (29.0..=32.0).contains(&sectors);
    let mut table = "| model | weakest among wear | attributes | strongest with environment | attributes |\n|---|---:|---|---:|---|\n".to_owned();
    let mut weakest_of = Vec::new();
    for (name, lives, wear) in [("A", &model_a, &WEAR_A[..]), ("B", &model_b, wear_b)] {
        let (weakest, strongest) = ends(lives, wear);
        agrees &= f64::abs(weakest.0) > STRONG && f64::abs(strongest.0) < STRONG;
        table += &format!("| {name} | {:.3} | {} | {:.3} | {} |\n", weakest.0, weakest.1, strongest.0, strongest.1);
        weakest_of.push(format!("{name} {:.2}", f64::abs(weakest.0)));
    }
    Finding {
        ours: format!(
            "{} at least among wear; {sectors:.1} sectors a page; amplification {amplification:.2}",
            weakest_of.join(", ")
        ),
        verdict: Verdict::of(agrees),
        note: format!(
            "the slope of 233 on 241 is {amplification:.2} and that of 247 + 248 on 247 is {amplification_b:.2}, an input through the spare flash. \
             {worn} % of B's drives report no life left, an input too. Equal values have equal ranks: where 90.8 % of the records have one value, no \
             attribute's rank correlation with it exceeds {:.2}, so that the paper's two statements about model B exclude each other for attribute \
             202. An input decides sectors a page: requests of 256 KiB that begin at any 4 KiB write their first and last page in part, and \
             32 x 64 / 67 is 30.6. Host and flash writes diverge where drives with different workloads amplify differently:",
            tied_most(0.908)
        ),
        table,
    }
}

/// The largest rank correlation of an attribute of which this share of the values is equal, and the others are not, with one whose values all differ:
/// its ranks' variance over the other's, by the root.
fn tied_most(share: f64) -> f64 {
    (1.0 - share * share * share).sqrt()
}

/// Health states of a model's drives.
struct Health {
    elbow: usize,
    distortion: f64,
    /// Percent of the drives that change their state, and the most changes of one.
    changed: f64,
    most: usize,
    /// The same percent, if each drive's counters had grown evenly.
    changed_even: f64,
}

fn health(lives: &[Life], features: &[&[u16]], name: &str) -> Health {
    let mut drives = Vec::new();
    let (mut points, mut even) = (Vec::new(), Vec::new());
    let ids: Vec<u16> = features.concat();
    let scales: Vec<(u16, f64, f64)> = ids
        .iter()
        .map(|id| {
            let all = column(lives, *id);
            let least = all.iter().copied().fold(f64::INFINITY, f64::min);
            (*id, least, all.iter().copied().fold(f64::NEG_INFINITY, f64::max) - least)
        })
        .collect();
    for (drive, life) in lives.iter().enumerate().filter(|(_, life)| !life.hours().is_empty()) {
        let scaled = |id: u16, at: usize| {
            let (_, least, width) = scales.iter().find(|scale| scale.0 == id).copied().unwrap_or((id, 0.0, 1.0));
            (life.column(id).unwrap_or_default()[at] as f64 - least) / width
        };
        let point =
            |at: usize| features.iter().map(|ids| ids.iter().map(|id| scaled(*id, at)).sum()).collect::<Vec<f64>>();
        let last = life.hours().len() - 1;
        let (first_hour, hours) = (life.hours()[0], f64::from((life.hours()[last] - life.hours()[0]).max(1)));
        for at in (0..=last).step_by(STEP_DAYS) {
            let share = f64::from(life.hours()[at] - first_hour) / hours;
            points.push(point(at));
            even.push(
                point(0).iter().zip(point(last)).map(|(from, to)| from + share * (to - from)).collect::<Vec<f64>>(),
            );
            drives.push(drive);
        }
    }
    let distortions: Vec<f64> = (1..=STATES_MAX).map(|count| clusters(&points, count, name).distortion).collect();
    let (changed, most) = changes(&clusters(&points, STATES, name).labels, &drives);
    let (changed_even, _) = changes(&clusters(&even, STATES, name).labels, &drives);
    Health { elbow: elbow(&distortions), distortion: distortions[STATES - 1], changed, most, changed_even }
}

/// Percent of the drives whose label changes, and the most changes of one.
fn changes(labels: &[usize], drives: &[usize]) -> (f64, usize) {
    assert_eq!(labels.len(), drives.len(), "each record has a state and a drive");
    debug_assert!(drives.is_sorted(), "a drive's records stand together");
    let mut counts = std::collections::BTreeMap::new();
    for (at, drive) in drives.iter().enumerate() {
        let changed = at > 0 && drives[at - 1] == *drive && labels[at - 1] != labels[at];
        *counts.entry(*drive).or_insert(0) += usize::from(changed);
    }
    let some = counts.values().filter(|count| **count > 0).count();
    (100.0 * some as f64 / counts.len() as f64, counts.values().copied().max().unwrap_or(0))
}

/// Number of drives that report no life left at the end: of a hundred, percent.
fn without_life(lives: &[Life]) -> usize {
    let last = |life: &Life| life.column(202).and_then(<[i64]>::last).copied();
    lives.iter().filter(|life| last(life) == Some(0)).count()
}

fn states(inputs: Inputs, seed: u64) -> Finding {
    let [model_a, model_b] = fleet(inputs, seed);
    let single: Vec<&[u16]> = WEAR_A.iter().map(std::slice::from_ref).collect();
    let found =
        [health(&model_a, &single, "states of A"), health(&model_b, &[&[173, 248], &[246, 247]], "states of B")];
    let worn = without_life(&model_b);
    let sums = [TABLE_4_1.iter().sum::<f64>(), TABLE_4_2.iter().sum::<f64>()];
    let is_whole = sums.iter().all(|sum| (sum - 100.0).abs() < 1e-9);
    let mut table = "| model | elbow | distortion at 5 | drives that change, % | had they grown evenly, % | most changes |\n|---|---:|---:|---:|---:|---:|\n".to_owned();
    for (name, health) in ["A", "B"].iter().zip(&found) {
        let Health { elbow, distortion, changed, most, changed_even } = health;
        table += &format!("| {name} | {elbow} | {distortion:.3} | {changed:.1} | {changed_even:.1} | {most} |\n");
    }
    let [one, other] = &found;
    Finding {
        ours: format!(
            "{:.0} % of A and {:.0} % of B change, at most {} and {} times; {worn} % of B report no life left",
            one.changed, other.changed, one.most, other.most
        ),
        verdict: Verdict::of(is_whole && one.changed > 50.0 && other.changed < 50.0),
        note: format!(
            "tables 4.1 and 4.2 sum to {:.1} and {:.1}. Counters that only grow take drives through states whatever their health: had each grown at \
             its own constant rate, {:.0} and {:.0} % would change theirs as well. Distortions are mean distances in scaled units:",
            sums[0], sums[1], one.changed_even, other.changed_even
        ),
        table,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_bound_a_rank_correlation() {
        // Nine tenths are zero, and the rest rises with the other attribute.
        let one: Vec<f64> = (0..1000).map(f64::from).collect();
        let other: Vec<f64> = one.iter().map(|value| (value - 899.0).max(0.0)).collect();
        let found = spearman(&one, &other).unwrap_or(0.0);
        assert!((found - tied_most(0.9)).abs() < 1e-3, "{found} {}", tied_most(0.9));
    }
}
