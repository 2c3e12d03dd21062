//! What several runs are compared by: the figures of a summary that are worth a picture, the most telling first.

use std::collections::BTreeMap;

use super::along::Along;
use super::groups::{Group, differing};
use super::numbers::{capacity, counted, counted_of, duration, lifetime, percent, short};
use super::words::jain_in_digits;
use wane_results::{Common, DAYS_PER_YEAR, EndReason, Estimate, Latency, RunResult, Summary, is_same};

/// Which end of a measure is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Better {
    More,
    Less,
    /// Neither end is better, though the measure is worth seeing.
    Neither,
}

/// A figure of a run.
pub(super) struct Metric {
    /// For ids.
    pub(super) id: &'static str,
    /// As the subject of a sentence, in lower case.
    pub(super) name: &'static str,
    pub(super) better: Better,
    /// Writes a value for people.
    pub(super) tell: fn(f64) -> String,
    /// A duration in nanoseconds.
    pub(super) is_duration: bool,
    of: fn(&Summary) -> Option<f64>,
}

/// A metric with its value in each group; `None` where a run has none.
pub(super) struct Measured {
    pub(super) metric: &'static Metric,
    pub(super) estimates: Vec<Option<Estimate>>,
    /// Whether the drives of each group still lived: their lives are at least as long.
    pub(super) alive: Vec<bool>,
    /// Which end of it is better among these groups.
    pub(super) better: Better,
}

/// Keys, or their beginnings, that set a drive's conditions: its age, heat and load. None of their values is a choice.
const CONDITIONS: [&str; 7] = [
    "drive.initial.",
    "drive.retention.",
    "drive.thermal.ambient",
    "probe.retention",
    "time.drive-writes-per-day",
    "time.scale",
    "workload.arrival",
];

/// Whether groups differ in conditions only.
fn differ_in_conditions(groups: &[Group<'_>]) -> bool {
    let apart = differing(&groups.iter().map(|group| &group.keys).collect::<Vec<_>>());
    let mut apart = apart.iter().filter(|key| *key != "name").peekable();
    apart.peek().is_some() && apart.all(|key| CONDITIONS.iter().any(|known| key.starts_with(known)))
}

/// Whether requests arrive however late the last ones are answered (an open loop): as many are served in a second as arrive in one.
fn is_open_loop(group: &Group<'_>) -> bool {
    let of_probe = group.keys.keys().any(|key| key.starts_with("probe."));
    let asks = |key: &str| key.contains("workload.arrival") && key.starts_with("probe.") == of_probe;
    let mut asked = group.keys.keys().filter(|key| asks(key)).peekable();
    asked.peek().is_some() && asked.all(|key| !key.ends_with("queue-depth"))
}

/// Whether as much was written to all drives: fewer writes leave less wear, and less even wear.
fn are_written_alike(groups: &[Group<'_>]) -> bool {
    let written = || groups.iter().filter_map(|group| group.mean(|of| Some(of.end.at_drive_writes)));
    let (least, most) = (written().fold(f64::INFINITY, f64::min), written().fold(0.0, f64::max));
    most - least <= WRITTEN_ALIKE * most
}

/// Whether some drives collected nothing, and others did.
fn some_collected_nothing(groups: &[Group<'_>]) -> bool {
    let collected = |group: &Group<'_>| group.runs.iter().all(|run| run.summary.gc.victims > 0);
    groups.iter().any(collected) && !groups.iter().all(collected)
}

/// The id of a life.
pub(super) const LIFE: &str = "life";
/// Drives whose wear is compared were written as much, within this share.
const WRITTEN_ALIKE: f64 = 0.05;
/// Differences below this share of the greatest value are not worth a picture.
const WORTH: f64 = 0.02;
/// With fewer requests beyond it, a percentile is not shown first.
const BEYOND_MIN: f64 = 30.0;
/// Differences above this share are shown first.
const MUCH: f64 = 0.1;

fn writes(value: f64) -> String {
    counted_of(value, "drive write")
}

fn array_writes(value: f64) -> String {
    counted_of(value, "array write")
}

fn years(value: f64) -> String {
    lifetime(DAYS_PER_YEAR * value)
}

fn celsius(value: f64) -> String {
    format!("{value:.1} \u{b0}C")
}

fn share(part: u64, whole: u64) -> f64 {
    part as f64 / whole.max(1) as f64
}

fn read(summary: &Summary, figure: fn(&wane_results::LatencyDistribution) -> f64) -> Option<f64> {
    of_latency(summary, |latency| latency.read.as_ref().map(|read| figure(&read.times)))
}

fn write(summary: &Summary, figure: fn(&wane_results::LatencyDistribution) -> f64) -> Option<f64> {
    of_latency(summary, |latency| latency.write.as_ref().map(|write| figure(&write.times)))
}

fn of_latency(summary: &Summary, figure: impl Fn(&Latency) -> Option<f64>) -> Option<f64> {
    summary.latency.as_ref().and_then(figure)
}

const fn metric(
    (id, name): (&'static str, &'static str),
    better: Better,
    tell: fn(f64) -> String,
    of: fn(&Summary) -> Option<f64>,
) -> Metric {
    Metric { id, name, better, tell, is_duration: false, of }
}

const fn latency((id, name): (&'static str, &'static str), of: fn(&Summary) -> Option<f64>) -> Metric {
    Metric { is_duration: true, ..metric((id, name), Better::Less, duration, of) }
}

/// The life where a calendar is known.
static LIFE_IN_YEARS: Metric =
    metric((LIFE, "life"), Better::More, years, |of| of.life.as_ref().and_then(|life| life.years));
/// The life of arrays.
static LIFE_OF_ARRAYS: Metric = metric((LIFE, "life"), Better::More, array_writes, |of| Some(of.end.at_drive_writes));
/// All of them. A life counts where a drive died.
pub(super) static METRICS: [Metric; 23] = [
    metric((LIFE, "life"), Better::More, writes, |of| Some(of.end.at_drive_writes)),
    metric(("first-death", "first death of a drive"), Better::More, array_writes, |of| {
        of.array.as_ref().and_then(|array| array.first_death_at)
    }),
    metric(("degraded", "time with less redundancy"), Better::Less, array_writes, |of| {
        of.array.as_ref().filter(|array| array.is_redundant()).map(|array| array.writes_degraded)
    }),
    metric(
        ("array-lost", "data lost with drives"),
        Better::Less,
        |bytes| capacity(bytes as u64),
        |of| of.array.as_ref().map(|array| array.bytes_lost as f64),
    ),
    latency(("read-p999", "p99.9 of reads"), |of| read(of, |read| read.p999_ns as f64)),
    latency(("read-mean", "mean read latency"), |of| read(of, |read| read.mean_ns)),
    metric(("amplification", "write amplification"), Better::Less, short, |of| of.write_amplification.total),
    latency(("write-p999", "p99.9 of writes"), |of| write(of, |write| write.p999_ns as f64)),
    latency(("write-mean", "mean write latency"), |of| write(of, |write| write.mean_ns)),
    latency(("read-p99", "p99 of reads"), |of| read(of, |read| read.p99_ns as f64)),
    metric(("read-iops", "reads a second"), Better::More, short, |of| {
        of.throughput.map(|rate| rate.read.iops).filter(|rate| *rate > 0.0)
    }),
    metric(("write-iops", "writes a second"), Better::More, short, |of| {
        of.throughput.map(|rate| rate.write.iops).filter(|rate| *rate > 0.0)
    }),
    metric(("read-rate", "MB read a second"), Better::More, short, |of| {
        of.throughput.map(|rate| rate.read.bytes_per_second / 1e6).filter(|rate| *rate > 0.0)
    }),
    metric(("write-rate", "MB written a second"), Better::More, short, |of| {
        of.throughput.map(|rate| rate.write.bytes_per_second / 1e6).filter(|rate| *rate > 0.0)
    }),
    metric(("lost", "lost pages"), Better::Less, counted, |of| of.errors.map(|errors| errors.uncorrectable as f64)),
    metric(("rereads", "re-reads for each read"), Better::Less, short, |of| {
        of.errors.and_then(|errors| errors.host_retry_rate())
    }),
    metric(("left", "capacity left at the end"), Better::More, percent, |of| {
        Some(share(of.capacity.logical_bytes_exported, of.capacity.logical_bytes_initial))
    }),
    metric(("spread", "spread of wear (sd over mean)"), Better::Less, percent, |of| {
        let count = &of.wear.erase_count;
        (count.mean > 0.0).then(|| count.sd / count.mean)
    }),
    metric(("jain", "Jain\u{2019}s index of wear"), Better::More, jain_in_digits, |of| Some(of.wear.jain_index)),
    metric(("erases", "mean erases of a block"), Better::Neither, short, |of| Some(of.wear.erase_count.mean)),
    metric(("throttled", "share of the time that it was throttled"), Better::Less, percent, |of| {
        of.thermal.map(|thermal| thermal.throttled_share)
    }),
    metric(("celsius", "mean temperature"), Better::Neither, celsius, |of| {
        of.thermal.map(|thermal| thermal.celsius_mean)
    }),
    metric(("retired", "retired blocks"), Better::Neither, counted, |of| Some(of.wear.blocks_retired as f64)),
];

/// The metrics that runs have, those worth seeing first: how many these are, and all.
pub(super) fn measured(groups: &[Group<'_>]) -> (usize, Vec<Measured>) {
    let died = |group: &Group<'_>| group.runs.iter().all(|run| run.summary.end.reason == EndReason::EndOfLife);
    let any_died = groups.iter().any(died);
    let conditions = differ_in_conditions(groups);
    let of = |metric: &'static Metric| {
        let life = metric.id == LIFE;
        // The calendar is that of all runs or of none.
        let in_years = life && groups.iter().all(|group| matches!(group.life, Along::Days | Along::Years));
        let metric = match life {
            true if in_years => &LIFE_IN_YEARS,
            true if groups.iter().all(|group| group.first().summary.array.is_some()) => &LIFE_OF_ARRAYS,
            _ => metric,
        };
        let estimates = groups.iter().map(|group| estimate(group, metric)).collect();
        let alive = groups.iter().map(|group| life && !died(group)).collect();
        let is_given = conditions
            || metric.is_rate() && groups.iter().all(is_open_loop)
            || metric.is_of_wear() && !groups.iter().all(died) && !are_written_alike(groups);
        // Where nothing was collected there is nothing to compare.
        let is_given = is_given || metric.id == "amplification" && some_collected_nothing(groups);
        let better = if is_given { Better::Neither } else { metric.better };
        Measured { metric, estimates, alive, better }
    };
    // Figures of requests at different ages say nothing of what was swept.
    let one_age = groups.iter().all(|group| group.common != Common::Nothing);
    let all =
        METRICS.iter().filter(|metric| (metric.id != LIFE || any_died) && (one_age || !metric.is_timed())).map(of);
    // A single run has nothing to differ from, but figures.
    let least = groups.len().min(2);
    let has = |measured: &Measured| measured.estimates.iter().flatten().count() >= least.max(1);
    let is_worth = |one: &Measured| one.difference() > WORTH && !rests_on_few(one.metric, groups);
    let mut all: Vec<Measured> = all.filter(has).collect();
    for (rate, of_requests) in [("read-rate", "read-iops"), ("write-rate", "write-iops")] {
        if requests_are_alike(&all, rate, of_requests) {
            all.retain(|one| one.metric.id != rate);
        }
    }
    let (mut worth, rest): (Vec<Measured>, Vec<Measured>) = all.into_iter().partition(is_worth);
    // What a drive delivered comes before its state. Within each, large differences come before small ones, however telling the measure
    // is.
    worth.sort_by_key(|one| (one.metric.is_of_state(), one.difference() <= MUCH));
    let count = worth.len();
    worth.extend(rest);
    (count, worth)
}

/// By what share figures of one seed must differ to be told apart. Nothing is known of their spread then; lives and write amplifications of
/// two seeds often differ by some tenths of a percent.
pub(super) const ONE_SEED_SHARE: f64 = 0.01;

/// Whether figures of a single seed each differ enough to be told apart.
fn one_seed_tells(one: f64, other: f64) -> bool {
    (one - other).abs() > ONE_SEED_SHARE * one.abs().max(other.abs())
}

/// Whether the 95 % interval of the differences between two runs' figures excludes 0 (Student's t), over the seeds that both have. With one
/// seed in common they must differ by more than [`ONE_SEED_SHARE`].
pub(super) fn are_told_apart(one: &BTreeMap<u64, f64>, other: &BTreeMap<u64, f64>) -> bool {
    let pairs: Vec<(f64, f64)> = one.iter().filter_map(|(seed, one)| Some((*one, *other.get(seed)?))).collect();
    let differences: Vec<f64> = pairs.iter().map(|(one, other)| one - other).collect();
    let Some(estimate) = Estimate::of(&differences).filter(|_| differences.len() > 1) else {
        return pairs.first().is_none_or(|(one, other)| one_seed_tells(*one, *other));
    };
    estimate.low() > 0.0 || estimate.high() < 0.0
}

/// Whether requests of all groups are equally large, within a percent: bytes a second then add nothing to requests a second.
fn requests_are_alike(all: &[Measured], rate: &str, of_requests: &str) -> bool {
    let values = |id: &str| {
        let one = all.iter().find(|one| one.metric.id == id);
        one.map(|one| one.estimates.iter().map(|found| found.as_ref().map(|found| found.mean)).collect::<Vec<_>>())
    };
    let (Some(bytes), Some(requests)) = (values(rate), values(of_requests)) else { return true };
    let sizes =
        || bytes.iter().zip(&requests).filter_map(|(bytes, requests)| Some(bytes.as_ref()? / requests.as_ref()?));
    let (least, most) = (sizes().fold(f64::INFINITY, f64::min), sizes().fold(0.0, f64::max));
    most <= 1.01 * least
}

/// Whether a percentile is decided by so few requests of a run that chance may turn it round.
pub(super) fn rests_on_few(metric: &Metric, groups: &[Group<'_>]) -> bool {
    let beyond = match metric.id {
        "read-p999" | "write-p999" => 0.001,
        "read-p99" => 0.01,
        _ => return false,
    };
    let count = |latency: &Latency| if metric.id.starts_with("read") { latency.read } else { latency.write };
    let is_few = |group: &&Group<'_>, run: &&RunResult| {
        let summary = run.summary_at(group.common);
        let requests = summary.latency.as_ref().and_then(count).map_or(0, |figures| figures.times.count);
        requests > 0 && requests as f64 * beyond < BEYOND_MIN
    };
    groups.iter().any(|group| group.runs.iter().any(|run| is_few(&group, run)))
}

/// Mean and interval over the seeds, of latencies at the age that all runs have.
fn estimate(group: &Group<'_>, metric: &Metric) -> Option<Estimate> {
    let values: Vec<f64> = group.runs.iter().filter_map(|run| (metric.of)(&run.summary_at(group.common))).collect();
    Estimate::of(&values)
}

impl Metric {
    /// Whether it measures requests, and so covers a part of the life.
    pub(super) fn is_timed(&self) -> bool {
        self.is_duration || self.is_rate() || matches!(self.id, "lost" | "rereads")
    }

    /// Whether it shows the state of a drive rather than what it delivered: how long it lived, what writing cost, how fast it served.
    pub(super) fn is_of_state(&self) -> bool {
        matches!(self.id, "left" | "spread" | "jain" | "erases" | "celsius" | "retired")
    }

    /// Whether it measures how even wear is.
    fn is_of_wear(&self) -> bool {
        matches!(self.id, "spread" | "jain")
    }

    /// Whether it is a rate of what is served.
    fn is_rate(&self) -> bool {
        matches!(self.id, "read-iops" | "write-iops" | "read-rate" | "write-rate")
    }

    /// Unit of its values; empty if its name says it.
    pub(super) fn unit(&self) -> &'static str {
        match self.id {
            _ if self.is_duration => "ns",
            "left" | "spread" | "throttled" => "share",
            _ => "",
        }
    }

    /// Its name at an axis.
    pub(super) fn measure(&self) -> &'static str {
        match self.id {
            LIFE if std::ptr::eq(self, &LIFE_IN_YEARS) => "life in years",
            LIFE if std::ptr::eq(self, &LIFE_OF_ARRAYS) => "life in array writes",
            LIFE => "life in drive writes",
            _ => self.name,
        }
    }
}

impl Measured {
    /// Difference between the greatest and the least value, as a share of the larger.
    fn difference(&self) -> f64 {
        let values = || self.estimates.iter().flatten().map(|estimate| estimate.mean);
        let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
        (high - low) / high.abs().max(low.abs()).max(1e-300)
    }

    /// The groups with the best value, where one end is better; several where they tie, none where all do.
    pub(super) fn best(&self) -> Vec<usize> {
        let best = self.ends().filter(|_| self.better != Better::Neither).map(|ends| ends.0);
        let best = best.map_or_else(Vec::new, |best| self.alike(best));
        let all = self.estimates.iter().flatten().count();
        if best.len() == all && all > 1 { Vec::new() } else { best }
    }

    /// The groups with the value of `group`, which comes first: the same value, the same digits in print, since no reader would see why
    /// one is better, or values so near that one seed does not tell them apart.
    pub(super) fn alike(&self, group: usize) -> Vec<usize> {
        let is_alike = |other: &usize| {
            let both = self.estimates[*other].as_ref().zip(self.estimates[group].as_ref());
            both.is_some_and(|(one, of)| {
                let of_one_seed = one.half_width.is_infinite() && of.half_width.is_infinite();
                is_same(one.mean, of.mean)
                    || self.told(*other) == self.told(group)
                    || (of_one_seed && !one_seed_tells(one.mean, of.mean))
            })
        };
        let others = (0..self.estimates.len()).filter(|other| *other != group).filter(is_alike);
        std::iter::once(group).chain(others).collect()
    }

    /// The groups with the best and with the worst value.
    pub(super) fn ends(&self) -> Option<(usize, usize)> {
        let valued =
            || self.estimates.iter().enumerate().filter_map(|(index, found)| Some((index, found.as_ref()?.mean)));
        let by = |left: &(usize, f64), right: &(usize, f64)| left.1.total_cmp(&right.1);
        let (least, most) = (valued().min_by(by)?.0, valued().max_by(by)?.0);
        Some(if self.better == Better::Less { (least, most) } else { (most, least) })
    }

    /// Number of other groups that the seeds do not distinguish from `best`. Groups of the same value are not counted.
    pub(super) fn not_told_from(&self, groups: &[Group<'_>], best: usize) -> usize {
        let values = |group: usize| -> BTreeMap<u64, f64> {
            let of = &groups[group];
            of.runs.iter().filter_map(|run| Some((run.summary.run.seed, self.value(of, run)?))).collect()
        };
        let (of_best, alike) = (values(best), self.alike(best));
        let is_near = |group: &usize| {
            let found = values(*group);
            !found.is_empty() && !are_told_apart(&of_best, &found)
        };
        (0..groups.len()).filter(|group| !alike.contains(group)).filter(is_near).count()
    }

    /// Its value in a run of a group.
    pub(super) fn value(&self, group: &Group<'_>, run: &RunResult) -> Option<f64> {
        (self.metric.of)(&run.summary_at(group.common))
    }

    /// The value of a group in words.
    pub(super) fn told(&self, group: usize) -> String {
        let Some(estimate) = &self.estimates[group] else { return "\u{2013}".to_owned() };
        let least = if self.alive[group] { "\u{2265} " } else { "" };
        format!("{least}{}", (self.metric.tell)(estimate.mean))
    }

    /// What all groups that have a value have, if no digit of it differs; `None` if some does.
    pub(super) fn same(&self) -> Option<String> {
        let mut told =
            (0..self.estimates.len()).filter(|group| self.estimates[*group].is_some()).map(|group| self.told(group));
        let first = told.next()?;
        told.all(|other| other == first).then_some(first)
    }

    /// The interval of a group's mean, where it has several seeds.
    pub(super) fn interval(&self, group: usize) -> Option<(f64, f64)> {
        let estimate = self.estimates[group].as_ref()?;
        (estimate.half_width.is_finite() && estimate.half_width > 0.0).then(|| (estimate.low(), estimate.high()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::groups::groups;
    use wane_results::test_runs::{test_run, timed};

    fn of(id: &str, values: &[f64]) -> Measured {
        let metric = METRICS.iter().find(|metric| metric.id == id).unwrap();
        let estimates = values.iter().map(|value| Estimate::of(&[*value])).collect();
        Measured { metric, estimates, alive: vec![false; values.len()], better: metric.better }
    }

    #[test]
    fn what_drives_meet_and_what_comes_by_itself_has_no_best() {
        let table = [
            ("ftl.gc.d = DDD", "read-p999", Better::Less),
            ("ftl.gc.d = DDD\nworkload.arrival.queue-depth = 4", "read-iops", Better::More),
            ("ftl.gc.d = DDD\nworkload.arrival.poisson = '1 ms'", "read-iops", Better::Neither),
            ("ftl.gc.d = DDD\nworkload.arrival.poisson = '1 ms'", "read-p999", Better::Less),
            (
                "ftl.gc.d = DDD\nworkload.arrival.queue-depth = 1\nprobe.workload.arrival = 'trace'",
                "read-iops",
                Better::Neither,
            ),
            ("drive.initial.erase-count = DDD", "read-p999", Better::Neither),
            ("time.scale = DDD\nworkload.arrival = 'trace'", "read-p999", Better::Neither),
            ("time.scale = DDD\nftl.gc.d = DDD", "read-p999", Better::Less),
        ];
        for (scenario, id, expected) in table {
            let run = |value: u32| {
                let mut run = timed(test_run(u64::from(value)), 1);
                run.scenario_toml = scenario.replace("DDD", &value.to_string());
                run
            };
            let runs = [run(1), run(2)];
            let (_, all) = measured(&groups(&runs));
            let found = all.iter().find(|one| one.metric.id == id).unwrap();
            assert_eq!(found.better, expected, "{id} of {scenario}");
        }
    }

    #[test]
    fn wear_is_compared_after_as_many_writes_or_at_the_end_of_all_lives() {
        let table = [
            ([10.0, 10.0], [false, false], Better::Less),
            ([10.0, 20.0], [false, false], Better::Neither),
            ([10.0, 20.0], [true, false], Better::Neither),
            ([10.0, 20.0], [true, true], Better::Less),
        ];
        for (writes, died, expected) in table {
            let run = |number: usize| {
                let mut run = test_run(1);
                run.scenario_toml = format!("ftl.gc.d = {number}");
                run.summary.end.at_drive_writes = writes[number];
                run.summary.end.reason = if died[number] { EndReason::EndOfLife } else { EndReason::DriveWrites };
                run
            };
            let runs = [run(0), run(1)];
            let (_, all) = measured(&groups(&runs));
            let spread = all.iter().find(|one| one.metric.id == "spread").unwrap();
            assert_eq!(spread.better, expected, "{writes:?} {died:?}");
        }
    }

    #[test]
    fn bytes_a_second_are_told_where_requests_differ_in_size() {
        let alike = |rates: &[f64]| {
            let all = [of("write-iops", &[1000.0, 500.0]), of("write-rate", rates)];
            requests_are_alike(&all, "write-rate", "write-iops")
        };
        assert!(alike(&[4.096, 2.048]), "both write 4 KiB");
        assert!(!alike(&[4.096, 8.192]), "4 KiB and 16 KiB");
        assert!(requests_are_alike(&[of("read-iops", &[1.0])], "write-rate", "write-iops"), "nothing was written");
    }
}
