//! A drive that shrinks, and the three ways in which its host gives space up.

#![allow(clippy::unwrap_used, reason = "a test")]

use wane_lab::build::PolicyOverrides;
use wane_lab::run::Watch;
use wane_lab::session;
use wane_results::{EndCause, RunResult, Trigger};
use wane_scenario::{Scenario, Sources};

/// A life to its end whose data lie scattered over the logical space.
fn life(capacity: &str, more: &str) -> RunResult {
    let text = format!(
        "[ftl]\ngc-reserve = 4\nmode = 'over-provisioning'\ncapacity = {{ policy = 'variant', shrink = 'graceful', {capacity} }}\n{more}\
         [workload]\nstandin = 'rad-be'\nlayout = 'scattered'\n[until]\nend-of-life = true"
    );
    let sources = Sources { preset: Some("tiny"), file: Some(("shrinking", &text)), set: &[] };
    let scenario = Scenario::resolve(&sources).unwrap_or_else(|error| panic!("{error}"));
    let mut watch = Watch { step: &mut |_| {}, stop: &std::sync::Arc::default() };
    session::execute(&scenario, &PolicyOverrides::default(), &mut watch).unwrap_or_else(|error| panic!("{error}"))
}

/// Units that the file system wrote, and units that it remapped.
fn moved(run: &RunResult) -> (u64, u64) {
    let counters = run.timeline.last().unwrap().counters;
    (counters.programmed_file_system, counters.host_units_remapped)
}

#[test]
fn space_is_given_up_by_writing_by_remapping_or_where_it_is_free() {
    let [relocated, remapped, scattered] =
        ["relocate", "remap", "non-contiguous"].map(|method| life(&format!("keep = 'spare', method = '{method}'"), ""));
    assert!(moved(&relocated).0 > 0 && moved(&relocated).1 == 0, "{:?}", moved(&relocated));
    assert!(moved(&remapped).0 == 0 && moved(&remapped).1 > 0, "{:?}", moved(&remapped));
    assert_eq!(moved(&scattered), (0, 0));
    for run in [&relocated, &remapped, &scattered] {
        assert_eq!(run.summary.end.cause, Some(EndCause::FootprintDoesNotFit));
        assert!(run.summary.capacity.logical_bytes_exported < run.summary.capacity.logical_bytes_initial / 2);
        // In the end the data take all that is exported, so that the host cannot shrink as far as the drive asks.
        assert!(run.timeline.last().unwrap().states.unwrap().degraded.is_some());
        assert!(run.timeline[0].states.unwrap().degraded.is_none());
    }
}

#[test]
fn a_drive_that_keeps_its_spare_blocks_gives_up_what_retired_in_steps() {
    for step in [1, 4] {
        let run = life(&format!("keep = 'spare', step = {step}, method = 'remap'"), "");
        let capacity = &run.summary.capacity;
        let block = 64 * 4096;
        let before_the_host_failed = run.timeline.iter().take_while(|row| {
            row.states.unwrap().degraded != Some(Trigger::Host)
                && row.exported_bytes > capacity.logical_bytes_initial / 3
        });
        let mut rows = 0;
        for row in before_the_host_failed {
            let given_up = capacity.logical_bytes_initial - row.exported_bytes;
            assert_eq!(given_up, u64::from(row.blocks_retired / step * step) * block, "{} blocks", row.blocks_retired);
            rows += 1;
        }
        assert!(rows > 100, "{rows}");
    }
}
