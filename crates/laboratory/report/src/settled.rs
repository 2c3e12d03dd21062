//! Whether a run was long enough to be compared: a drive that has just been filled collects little, and some policies take longer than
//! others to show what they cost.

use wane_results::{EndReason, RunResult, write_amplification};

/// The last part of a run that is compared with the whole.
const LAST: f64 = 0.25;
/// By what share its write amplification may differ from the whole run's.
const SETTLED: f64 = 0.1;

/// Whether collection had not begun, or the last quarter of the run cost over a tenth more or less than the whole. A drive that died had a
/// whole life.
fn is_unsettled(run: &RunResult) -> bool {
    let (Some(first), Some(last)) = (run.timeline.first(), run.timeline.last()) else { return false };
    let unit = run.summary.host.page_bytes;
    let written = last.counters.host_units_written;
    if run.summary.end.reason == EndReason::EndOfLife || written == 0 {
        return false;
    }
    let from = (written as f64 * (1.0 - LAST)) as u64;
    let before = run.timeline.iter().rev().find(|row| row.counters.host_units_written <= from).unwrap_or(first);
    let total = |counters| write_amplification(&counters, unit).total.unwrap_or(1.0);
    let (part, whole) = (total(last.counters - before.counters), total(last.counters));
    run.summary.gc.victims == 0 || (part / whole - 1.0).abs() > SETTLED
}

/// Sentence with the number of runs whose write amplification has not settled; `None` if all have.
pub(super) fn unsettled<'a>(runs: impl Iterator<Item = &'a RunResult>) -> Option<String> {
    let (mut some, mut all) = (0, 0);
    for run in runs {
        all += 1;
        some += usize::from(is_unsettled(run));
    }
    let have = if some == all { format!("all {all} runs had") } else { format!("{some} of {all} runs had") };
    (some > 0).then(|| {
        format!(
            "{have} not settled: the last quarter cost over a tenth more or less than the whole run, or nothing was collected; longer runs may \
             order them otherwise"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use wane_results::test_runs::test_run;

    /// A run whose flash pages for each host page are these in its four quarters.
    fn of(quarters: [u64; 4], victims: u64) -> RunResult {
        let mut run = test_run(1);
        run.summary.end.reason = EndReason::DriveWrites;
        run.summary.gc.victims = victims;
        let mut row = run.timeline[0];
        row.counters = Default::default();
        run.timeline = vec![row];
        for pages in quarters {
            row.counters.host_units_written += 100;
            row.counters.programmed_host += 100;
            row.counters.programmed_gc += 100 * (pages - 1);
            run.timeline.push(row);
        }
        run
    }

    #[test]
    fn a_run_is_settled_where_its_end_is_as_the_whole() {
        for (quarters, victims, settled) in
            [([2, 2, 2, 2], 9, true), ([1, 1, 2, 2], 9, false), ([3, 2, 2, 2], 9, false), ([1, 1, 1, 1], 0, false)]
        {
            let run = of(quarters, victims);
            assert_eq!(unsettled(std::iter::once(&run)).is_none(), settled, "{quarters:?} {victims}");
        }
        let mut died = of([1, 2, 3, 9], 9);
        died.summary.end.reason = EndReason::EndOfLife;
        assert_eq!(unsettled(std::iter::once(&died)), None);
        let told = unsettled([&of([1, 1, 2, 2], 9), &died].into_iter()).unwrap();
        assert!(told.starts_with("1 of 2 runs had not settled: "), "{told}");
    }
}
