//! A drive of which the host requires that no read takes more than a number of re-reads.

#![allow(clippy::unwrap_used, reason = "a test")]

use wane_lab::build::PolicyOverrides;
use wane_lab::run::Watch;
use wane_lab::session;
use wane_results::RunResult;
use wane_scenario::{Scenario, Sources};

fn scenario(key: &str) -> Scenario {
    let text = format!(
        "[drive]\npreset = 'cvss-128g'\npages-per-block = 2\ninitial = {{ erase-count = 70 }}\n[ftl]\n{key}\n[workload]\npattern = 'zipf'\nexponent = 1.1\nfootprint = '30 %'\n\
         request-size = '16 KiB'\nread-share = 0.5\n[precondition]\nfill = '30 %'\n[until]\ndrive-writes = 8"
    );
    let sources = Sources { preset: None, file: Some(("requirement", &text)), set: &[] };
    Scenario::resolve(&sources).unwrap_or_else(|error| panic!("{error}"))
}

fn life(key: &str) -> RunResult {
    let mut watch = Watch { step: &mut |_| {}, stop: &std::sync::Arc::default() };
    session::execute(&scenario(key), &PolicyOverrides::default(), &mut watch).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn blocks_retire_by_what_is_required_and_no_read_fails_for_it() {
    let (free, required) = (life(""), life("read-recovery = 2"));
    let most = |run: &RunResult| run.blocks.iter().map(|block| block.erase_count).max().unwrap();
    // Three re-reads are needed from 86 erases on.
    assert_eq!(most(&required), 86);
    assert!(most(&free) > 86, "without a requirement blocks retire at 267, and have {}", most(&free));
    let errors = required.summary.errors.unwrap();
    assert_eq!(errors.uncorrectable, 0, "{errors:?}");
    let rate = |run: &RunResult| run.summary.errors.and_then(|errors| errors.host_retry_rate()).unwrap();
    assert!(rate(&required) <= 2.0 && rate(&free) > rate(&required), "{} {}", rate(&required), rate(&free));
    assert!(required.summary.wear.blocks_retired > free.summary.wear.blocks_retired);
}

#[test]
fn the_key_survives_the_resolved_text_and_no_key_keeps_its_hash() {
    let required = scenario("read-recovery = 2");
    let again =
        Scenario::resolve(&Sources { file: Some(("again", &required.to_toml())), ..Sources::default() }).unwrap();
    assert_eq!((again.ftl.read_recovery, again.hash()), (Some(2), required.hash()));
    assert_eq!(scenario("read-recovery = 'none'").hash(), scenario("").hash());
    assert_ne!(required.hash(), scenario("").hash());
}
