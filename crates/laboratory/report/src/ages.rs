//! The age of the drives at which latencies are reported and compared, and the words for it.

use super::along::Along;
use super::groups::{Group, groups};
use super::numbers::{counted_of, percent};
use super::words::as_of_arrays;
use wane_results::{Age, Common, Latency, LatencyOf, RunResult, Throughput, Window, WindowKind};

/// Most names in a note.
const NAMED_MAX: usize = 6;

impl Group<'_> {
    /// The windows behind a run's latencies: its probe at the age that all runs have, its last probe if they have none in common, or all
    /// windows of a timed run. All figures of a run follow this rule, so that none has two values.
    pub(super) fn windows<'a>(&self, run: &'a RunResult) -> &'a [Window] {
        let only = match (self.common, run.windows.last()) {
            (Common::Probe(age), _) => run.probe_at(age),
            (_, Some(last)) if last.kind == WindowKind::Probe => Some(run.windows.len() - 1),
            _ => return &run.windows,
        };
        only.map_or(&[], |index| &run.windows[index..=index])
    }

    /// Whether its latencies cover whole runs, which also have several windows.
    pub(super) fn is_of_whole_runs(&self) -> bool {
        let windows = &self.first().windows;
        windows.len() > 1 && windows.iter().all(|window| window.kind == WindowKind::Run)
    }

    /// A run's latencies at the age that all runs have.
    pub(super) fn latency<'a>(&self, run: &'a RunResult) -> Option<&'a Latency> {
        match self.common {
            Common::Probe(age) => Some(&run.windows[run.probe_at(age)?].latency),
            Common::Run | Common::Nothing => run.summary.latency.as_ref(),
        }
    }

    /// A run's throughput at the age that all runs have.
    pub(super) fn throughput(&self, run: &RunResult) -> Option<Throughput> {
        match self.common {
            Common::Probe(age) => Some(run.windows[run.probe_at(age)?].throughput),
            Common::Run | Common::Nothing => run.summary.throughput,
        }
    }

    /// The part of the life that its latencies cover: "after 20 drive writes", "over the whole run of 12.5 drive writes". Empty if it is
    /// unknown.
    pub(super) fn age(&self) -> String {
        let of = match self.common {
            Common::Probe(Age::DriveWrites(age)) => return self.after(age),
            Common::Probe(age @ Age::Wear(_)) => return at(age),
            Common::Run | Common::Nothing => self.first().latency_of(),
        };
        of.map_or_else(String::new, |of| match of.kind {
            WindowKind::Probe => self.after(of.from_drive_writes),
            WindowKind::Run => over(&of),
        })
    }

    /// "after 20 drive writes", and the same in the calendar of the report, if it has one: "after 20 drive writes (3.1 years)".
    fn after(&self, drive_writes: f64) -> String {
        let told = at(Age::DriveWrites(drive_writes));
        match self.life {
            Along::Days | Along::Years if drive_writes > 0.0 => {
                let place = self.life.place(self.first(), drive_writes);
                format!("{told} ({})", self.life.told(place))
            }
            _ => told,
        }
    }

    /// The age with a space before it, to end a sentence; empty where there is none.
    pub(super) fn of_age(&self) -> String {
        let age = self.age();
        if age.is_empty() { age } else { format!(" {age}") }
    }
}

/// "after 20 drive writes", or "at 75 % of the rated wear".
pub(super) fn at(age: Age) -> String {
    match age {
        Age::DriveWrites(written) => format!("after {}", counted_of(written, "drive write")),
        Age::Wear(share) => format!("at {} of the rated wear", percent(share)),
    }
}

/// "over the whole run of 12.5 drive writes".
fn over(of: &LatencyOf) -> String {
    match of.until_drive_writes - of.from_drive_writes {
        written if written > 0.0 => format!("over the whole run of {}", counted_of(written, "drive write")),
        _ => "over the whole run".to_owned(),
    }
}

/// Names the part of a run that its first window or [its last full one](RunResult::last_full_window) covers, by its requests: "first 2 % of the run".
pub fn part_of_run(run: &RunResult, window: usize) -> String {
    let share = percent(run.window_share(window));
    match window {
        0 if run.windows.len() == 1 => "whole run".to_owned(),
        0 => format!("first {share} of the run"),
        last if last + 1 == run.windows.len() => format!("last {share} of the run"),
        _ => format!("last full {share} of the run"),
    }
}

/// Note on the ages at which latencies of several runs are compared; `None` if all have one age.
pub fn ages_note(runs: &[RunResult]) -> Option<String> {
    let groups = groups(runs);
    note(&groups).map(|told| as_of_arrays(&groups, told))
}

/// See [`ages_note`].
pub(super) fn note(groups: &[Group<'_>]) -> Option<String> {
    let named = |of: &[&Group<'_>]| {
        let names: Vec<String> =
            of.iter().take(NAMED_MAX).map(|group| format!("\u{201c}{}\u{201d}", group.label)).collect();
        let rest = of.len().saturating_sub(NAMED_MAX);
        let rest = if rest > 0 { format!(" and {rest} more") } else { String::new() };
        format!("{}{rest}", names.join(", "))
    };
    let timed: Vec<&Group<'_>> =
        groups.iter().filter(|group| group.runs.iter().any(|run| !run.windows.is_empty())).collect();
    let mut told = Vec::new();
    match timed.first()?.common {
        Common::Run => {}
        Common::Probe(age) => {
            let runs = || timed.iter().flat_map(|group| &group.runs);
            let ages = runs().filter_map(|run| run.latency_of());
            let last = match age {
                Age::DriveWrites(age) => Age::DriveWrites(ages.map(|of| of.from_drive_writes).fold(age, f64::max)),
                Age::Wear(age) => Age::Wear(ages.filter_map(|of| of.life_used).fold(age, f64::max)),
            };
            let lacking: Vec<&Group<'_>> = timed
                .iter()
                .copied()
                .filter(|group| group.runs.iter().any(|run| run.probe_at(last).is_none()))
                .collect();
            if !lacking.is_empty() {
                told.push(format!(
                    "Latencies are compared {}, the last probe that all runs have; {} ended before {}.",
                    at(age),
                    named(&lacking),
                    match last {
                        Age::DriveWrites(written) => counted_of(written, "drive write"),
                        Age::Wear(share) => percent(share),
                    }
                ));
            }
        }
        Common::Nothing => {
            let each: Vec<String> = timed
                .iter()
                .take(NAMED_MAX)
                .map(|group| format!("\u{201c}{}\u{201d}{}", group.label, group.of_age()))
                .collect();
            told.push(format!(
                "Latencies are of different ages and are not compared: {}{}.",
                each.join(", "),
                if timed.len() > NAMED_MAX { ", and others" } else { "" }
            ));
        }
    }
    let without: Vec<&Group<'_>> =
        groups.iter().filter(|group| group.runs.iter().all(|run| run.windows.is_empty())).collect();
    if !without.is_empty() {
        let have = if without.len() == 1 { "has" } else { "have" };
        told.push(format!("{} {have} no latencies.", named(&without)));
    }
    (!told.is_empty()).then(|| told.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use wane_results::test_runs::{probed, test_run, timed};

    fn run(name: &str, ages: &[f64]) -> RunResult {
        let mut run = probed(test_run(1), ages);
        run.summary.scenario.name = name.to_owned();
        run.scenario_toml.push_str(&format!("\n[a]\nb = \"{name}\"\n"));
        run
    }

    #[test]
    fn a_run_that_lacks_the_last_age_is_named() {
        let runs = [run("long", &[0.0, 20.0, 60.0]), run("short", &[0.0, 20.0])];
        let told = ages_note(&runs).unwrap();
        let expected = "Latencies are compared after 20 drive writes, the last probe that all runs have; \
                        \u{201c}short\u{201d} ended before 60 drive writes.";
        assert_eq!(told, expected);
        let groups = groups(&runs);
        for group in &groups {
            assert_eq!(group.windows(group.first()), &group.first().windows[1..=1]);
            assert_eq!(group.age(), "after 20 drive writes");
            assert_eq!(group.latency(group.first()), Some(&group.first().windows[1].latency));
        }
        assert_eq!(ages_note(&runs[..1]), None);
    }

    #[test]
    fn runs_that_are_looked_at_by_wear_are_compared_at_a_wear() {
        let worn = |name: &str, ages: &[f64]| {
            let mut run = run(name, ages);
            let used = [0.0, 0.25, 0.5, 0.75];
            run.windows.iter_mut().zip(used).for_each(|(window, used)| window.life_used = Some(used));
            run
        };
        let runs = [worn("wears", &[0.0, 9.0, 20.0, 31.0]), worn("spares", &[0.0, 12.0, 25.0])];
        let told = ages_note(&runs).unwrap().replace('\u{a0}', " ");
        let expected = "Latencies are compared at 50 % of the rated wear, the last probe that all runs have; \
                        \u{201c}spares\u{201d} ended before 75 %.";
        assert_eq!(told, expected);
        let groups = groups(&runs);
        assert!(groups.iter().all(|group| group.age().replace('\u{a0}', " ") == "at 50 % of the rated wear"));
        assert_eq!(groups[1].latency(&runs[1]), Some(&runs[1].windows[2].latency));
    }

    #[test]
    fn runs_without_a_common_age_are_not_compared() {
        let runs = [run("early", &[20.0]), run("late", &[60.0])];
        let told = ages_note(&runs).unwrap();
        assert!(
            told.contains("not compared: \u{201c}early\u{201d} after 20 drive writes, \u{201c}late\u{201d} after 60"),
            "{told}"
        );
    }

    #[test]
    fn a_run_without_latencies_is_named() {
        let runs = [timed(run("a", &[1.0]), 2), {
            let mut untimed = test_run(1);
            untimed.summary.scenario.name = "bare".to_owned();
            untimed
        }];
        assert!(ages_note(&runs).unwrap().contains("\u{201c}bare\u{201d} has no latencies."));
    }
}
