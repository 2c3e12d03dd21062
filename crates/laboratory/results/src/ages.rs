//! The age of the drive at which latencies were measured, which decides whether those of several runs can be compared.

use serde::{Deserialize, Serialize};

use super::{Latency, RunResult, Summary, Window, WindowKind};

/// Two ages count as the same if they differ by no more than this share. Drives of different capacity round an age to
/// different numbers of pages.
const SAME_SHARE: f64 = 1e-3;
/// Two ages also count as the same if they differ by no more than this many drive writes.
const SAME_DRIVE_WRITES: f64 = 1e-3;
/// The same where the age is that of an array, whose run looks at it 256 times an array write, or of a device below a file system, which writes many blocks
/// at once. Of several probes it is the nearest.
const SAME_DRIVE_WRITES_OF_STACKS: f64 = 2e-2;
/// Two shares of the rated wear count as the same if they differ by no more than this. A probe at a wear comes a little late.
const SAME_WEAR: f64 = 5e-3;
/// Runs have the same length if their numbers of requests, or their ends in drive writes, differ by no more than this share.
const SAME_LENGTH_SHARE: f64 = 0.01;

/// `latency_of.*`: the part of the drive's life in which `latency` and `throughput` were measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LatencyOf {
    /// The run itself, or a probe.
    pub kind: WindowKind,
    /// Drive writes at its start.
    pub from_drive_writes: f64,
    /// Drive writes at its end. For a probe they are those at its start, since it writes to a copy.
    pub until_drive_writes: f64,
    /// Share of the rated wear that was used at its start; only of probes by wear and before the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub life_used: Option<f64>,
}

/// The age of a drive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Age {
    /// Drive writes.
    DriveWrites(f64),
    /// Share of the rated wear.
    Wear(f64),
}

impl Age {
    /// The age of a window in the same measure; `None` if it has none.
    fn of(self, window: &Window) -> Option<Self> {
        match self {
            Self::DriveWrites(_) => Some(Self::DriveWrites(window.at_drive_writes)),
            Self::Wear(_) => window.life_used.map(Self::Wear),
        }
    }

    fn is(self, other: Self, is_stack: bool) -> bool {
        match (self, other) {
            (Self::DriveWrites(left), Self::DriveWrites(right)) => {
                is_same_age(left, right) || (is_stack && (left - right).abs() <= SAME_DRIVE_WRITES_OF_STACKS)
            }
            (Self::Wear(left), Self::Wear(right)) => (left - right).abs() <= SAME_WEAR,
            _ => false,
        }
    }

    /// How far apart two ages in the same measure are; 0 of wear, where the first counts.
    fn apart(self, other: Self) -> f64 {
        match (self, other) {
            (Self::DriveWrites(left), Self::DriveWrites(right)) => (left - right).abs(),
            _ => 0.0,
        }
    }
}

/// `latency_by_gc.*`: latencies before and after garbage collection began, of a run in which it did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LatencyByGc {
    /// Drive writes when the first block was collected.
    pub began_at_drive_writes: f64,
    /// Latencies of requests that were done before.
    pub before: Latency,
    /// Latencies of requests that were done since.
    pub since: Latency,
}

/// What the latencies of several runs have in common.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Common {
    /// All are from runs that began at the same age and have the same length, or there are no latencies.
    Run,
    /// All runs have a probe at this age: the latest age that they share.
    Probe(Age),
    /// They were measured at different ages and cannot be compared.
    Nothing,
}

fn is_same_age(left: f64, right: f64) -> bool {
    (left - right).abs() <= SAME_DRIVE_WRITES.max(SAME_SHARE * left.abs().max(right.abs()))
}

impl LatencyOf {
    /// Which part of the life the windows of a run cover; `None` if nothing was timed.
    pub fn of(windows: &[Window], end_drive_writes: f64) -> Option<Self> {
        let (first, last) = (windows.first()?, windows.last()?);
        let of = |window: &Window, until_drive_writes: f64| Self {
            kind: window.kind,
            from_drive_writes: window.at_drive_writes,
            until_drive_writes,
            life_used: window.life_used,
        };
        Some(match last.kind {
            WindowKind::Run => of(first, end_drive_writes),
            WindowKind::Probe => of(last, last.at_drive_writes),
        })
    }
}

impl RunResult {
    /// Index of the window that is the probe at `age`. Of several at a wear it is the first: the others look at the end of the life.
    pub fn probe_at(&self, age: Age) -> Option<usize> {
        let is_stack = self.summary.array.is_some() || self.summary.file_system.is_some();
        let found = self.windows.iter().enumerate().filter(|(_, window)| window.kind == WindowKind::Probe);
        let found = found.filter_map(|(number, window)| Some((number, age.of(window)?)));
        let same = found.filter(|(_, of)| of.is(age, is_stack));
        same.min_by(|(_, one), (_, other)| one.apart(age).total_cmp(&other.apart(age))).map(|(number, _)| number)
    }

    /// Index of the last window that has at least half as many requests as the fullest one. A remainder at the end of a run may
    /// be too short to have a tail. `None` without windows.
    pub fn last_full_window(&self) -> Option<usize> {
        let most = self.windows.iter().map(Window::requests).max()?;
        self.windows.iter().rposition(|window| 2 * window.requests() >= most)
    }

    /// Share of the run's requests in `window`.
    pub fn window_share(&self, window: usize) -> f64 {
        let all: u64 = self.windows.iter().map(Window::requests).sum();
        self.windows[window].requests() as f64 / all.max(1) as f64
    }

    /// The part of the life in which its latencies were measured; `None` if it has none.
    pub fn latency_of(&self) -> Option<LatencyOf> {
        LatencyOf::of(&self.windows, self.summary.end.at_drive_writes)
    }

    /// The summary with its latencies replaced by those at the age that the runs share. If they share none, the run's latencies stay.
    pub fn summary_at(&self, common: Common) -> Summary {
        let mut summary = self.summary.clone();
        if let Common::Probe(age) = common {
            let window = self.probe_at(age).map(|index| &self.windows[index]);
            summary.latency = window.map(|window| window.latency.clone());
            summary.throughput = window.map(|window| window.throughput);
            summary.latency_of = window.and_then(|window| LatencyOf::of(std::slice::from_ref(window), 0.0));
        }
        summary
    }
}

impl Common {
    /// Finds what the latencies of `runs` have in common. Runs without latencies do not count.
    pub fn of<'a, R>(runs: R) -> Self
    where
        R: Iterator<Item = &'a RunResult> + Clone,
    {
        let timed = move || runs.clone().filter(|run| !run.windows.is_empty());
        let is_probed = |run: &RunResult| run.windows.iter().any(|window| window.kind == WindowKind::Probe);
        let Some(first) = timed().next() else { return Self::Run };
        match (timed().any(is_probed), timed().all(is_probed)) {
            (true, true) => {
                // An age that finds another probe than its own tells none apart: drives that began nearly worn out are as worn at all of them.
                let shared = |measure: Age| -> Vec<Age> {
                    let ages = first.windows.iter().enumerate().rev();
                    let ages = ages.filter_map(|(number, window)| Some((number, measure.of(window)?)));
                    let own = ages.filter(|(number, age)| first.probe_at(*age) == Some(*number)).map(|(_, age)| age);
                    own.filter(|age| timed().all(|run| run.probe_at(*age).is_some())).collect()
                };
                // Drives that wear at different paces are as old after different drive writes: the measure by which they were looked at is the
                // one that they share more often.
                let (written, worn) = (shared(Age::DriveWrites(0.0)), shared(Age::Wear(0.0)));
                let most = if worn.len() > written.len() { worn } else { written };
                most.first().copied().map_or(Self::Nothing, Self::Probe)
            }
            (true, false) => Self::Nothing,
            (false, _) => {
                let range = |of: fn(&RunResult) -> f64| {
                    timed().map(of).fold((f64::INFINITY, 0.0_f64), |(least, most), one| (least.min(one), most.max(one)))
                };
                let (first, last) = range(|run| run.windows.first().map_or(0.0, |window| window.at_drive_writes));
                let alike = |(least, most): (f64, f64)| most - least <= SAME_LENGTH_SHARE * most;
                // As many requests are a different number of drive writes on drives of different capacity.
                let is_as_long = alike(range(|run| run.summary.end.at_drive_writes))
                    || alike(range(|run| run.windows.iter().map(Window::requests).sum::<u64>() as f64));
                if is_same_age(first, last) && is_as_long { Self::Run } else { Self::Nothing }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_runs::{probed, test_run, timed};

    fn common(runs: &[RunResult]) -> Common {
        Common::of(runs.iter())
    }

    #[test]
    fn the_last_age_that_all_have_is_compared() {
        let table = [
            (
                vec![probed(test_run(1), &[0.0, 20.0, 60.0]), probed(test_run(2), &[0.0, 20.0])],
                Common::Probe(Age::DriveWrites(20.0)),
            ),
            (
                vec![probed(test_run(1), &[20.0]), probed(test_run(2), &[20.0004, 60.0])],
                Common::Probe(Age::DriveWrites(20.0)),
            ),
            (vec![probed(test_run(1), &[20.0]), probed(test_run(2), &[60.0])], Common::Nothing),
            (vec![probed(test_run(1), &[20.0]), test_run(2)], Common::Probe(Age::DriveWrites(20.0))),
            (vec![probed(test_run(1), &[20.0]), timed(test_run(2), 3)], Common::Nothing),
            (vec![timed(test_run(1), 3), timed(test_run(2), 5)], Common::Run),
            (vec![test_run(1)], Common::Run),
            (vec![], Common::Run),
        ];
        for (runs, expected) in table {
            assert_eq!(common(&runs), expected);
        }
    }

    /// A policy that amplifies writes less reaches a wear after more of them.
    #[test]
    fn probes_at_a_wear_are_compared_at_it() {
        let worn = |seed, ages: &[f64], wear: &[f64]| {
            let mut run = probed(test_run(seed), ages);
            run.windows.iter_mut().zip(wear).for_each(|(window, used)| window.life_used = Some(*used));
            run.summary.latency_of = run.latency_of();
            run
        };
        let quick = worn(1, &[0.0, 10.0, 20.0, 30.0], &[0.001, 0.2502, 0.5, 0.7503]);
        let slow = worn(2, &[0.0, 14.0, 29.0], &[0.001, 0.2511, 0.5009]);
        let runs = [quick, slow];
        assert_eq!(common(&runs), Common::Probe(Age::Wear(0.5)));
        let summary = runs[1].summary_at(common(&runs));
        assert_eq!(summary.latency.as_ref(), Some(&runs[1].windows[2].latency));
        let of = summary.latency_of.unwrap();
        assert_eq!((of.from_drive_writes, of.life_used), (29.0, Some(0.5009)));
        // Looked at by drive writes, and once more at the end, where all are worn.
        let end = |seed, wear| worn(seed, &[0.0, 20.0, 40.0, 70.0 + seed as f64], wear);
        let runs = [end(1, &[0.0, 0.3, 0.6, 1.01]), end(2, &[0.0, 0.2, 0.4, 1.01])];
        assert_eq!(common(&runs), Common::Probe(Age::DriveWrites(40.0)));
    }

    /// Drives that began nearly worn out, looked at by drive writes, and once more before each of them died.
    #[test]
    fn a_wear_that_all_probes_have_is_no_age() {
        let worn = |seed, end: f64| {
            let mut run = probed(test_run(seed), &[1.0, 3.0, 5.0, end]);
            let wear = [0.985, 0.989, 0.991, 0.993];
            run.windows.iter_mut().zip(wear).for_each(|(window, used)| window.life_used = Some(used));
            run.summary.latency_of = run.latency_of();
            run
        };
        assert_eq!(common(&[worn(1, 9.2), worn(2, 6.4)]), Common::Probe(Age::DriveWrites(5.0)));
    }

    #[test]
    fn timed_runs_must_begin_at_one_age_and_be_as_long() {
        let (short, mut long) = (timed(test_run(1), 3), timed(test_run(2), 3));
        // As many requests are more drive writes on a smaller drive.
        long.summary.end.at_drive_writes *= 1.1;
        assert_eq!(common(&[short.clone(), long.clone()]), Common::Run);
        let mut later = long.clone();
        later.windows.iter_mut().for_each(|window| window.at_drive_writes += 0.5);
        assert_eq!(common(&[short.clone(), later]), Common::Nothing, "its drive was older");
        long.windows.pop();
        assert_eq!(common(&[short, long]), Common::Nothing, "neither requests nor drive writes are as many");
    }

    #[test]
    fn a_summary_is_of_the_age_asked_for() {
        let run = probed(test_run(1), &[0.0, 20.0, 60.0]);
        let last = run.latency_of().unwrap();
        assert_eq!((last.from_drive_writes, last.until_drive_writes, last.kind), (60.0, 60.0, WindowKind::Probe));
        let summary = run.summary_at(Common::Probe(Age::DriveWrites(20.0)));
        assert_eq!(summary.latency_of.unwrap().from_drive_writes, 20.0);
        assert_eq!(summary.latency.as_ref(), Some(&run.windows[1].latency));
        assert_ne!(summary.latency, run.summary.latency);
        assert_eq!(run.summary_at(Common::Nothing), run.summary);
        assert_eq!(run.summary_at(Common::Probe(Age::DriveWrites(30.0))).latency, None, "nothing of another age");
    }
}
