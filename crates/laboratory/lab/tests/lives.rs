//! Whole small lives. Their results are pinned, and equal for equal seeds on any number of threads.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::fmt::Write as _;
use std::sync::atomic::AtomicBool;

use wane_lab::build::PolicyOverrides;
use wane_lab::run::Watch;
use wane_lab::session;
use wane_results::RunResult;
use wane_scenario::{Scenario, Sources};

/// Name and scenario.
const LIVES: [(&str, &str); 13] = [
    ("greedy-uniform", "[workload]\npattern = 'uniform'\n[until]\ndrive-writes = 4"),
    ("pwl-to-the-end", "[ftl]\nwear-leveling = 'pwl'\n[workload]\npattern = 'hot-cold'\n[until]\nend-of-life = true"),
    ("dual-pool", "[ftl]\nwear-leveling = 'dual-pool'\n[workload]\npattern = 'hot-cold'\n[until]\nend-of-life = true"),
    (
        "obp-variant",
        "[ftl]\nwear-leveling = 'obp'\ncapacity = 'variant'\n[workload]\nstandin = 'rad-be'\n[until]\nend-of-life = true",
    ),
    (
        "hot-cold-swap",
        "[ftl]\nwear-leveling = 'hot-cold-swap'\n[workload]\npattern = 'zipf'\n[until]\ndrive-writes = 12",
    ),
    (
        "variance",
        "[ftl]\nwear-leveling = { policy = 'variance', threshold = 0.9 }\n[workload]\npattern = 'jesd219'\nfootprint = '20 \
                  %'\n[until]\nend-of-life = true",
    ),
    (
        "graceful",
        "[ftl]\ncapacity = { policy = 'variant', shrink = 'graceful' }\n[workload]\nstandin = 'dap-ps'\n[until]\nend-of-life \
                  = true",
    ),
    (
        "relocation-bound",
        "[ftl]\ncapacity = { policy = 'variant', shrink = 'graceful', relocation-bound = '1 MiB' }\n[workload]\nstandin \
                          = 'dap-ps'\n[until]\nend-of-life = true",
    ),
    (
        "cost-benefit-separate",
        "[ftl]\ngc = 'cost-benefit'\nfrontiers = 'separate'\n[workload]\npattern = 'hot-cold'\n[until]\n\
                               drive-writes = 5",
    ),
    (
        "d-choices-dies",
        "[drive]\nchannels = 2\ndies-per-channel = 2\n[ftl]\ngc = { policy = 'd-choices', d = 2.5 }\ndomain = 'die'\n\
                        [until]\ndrive-writes = 5",
    ),
    (
        "windowed-superblocks",
        "[drive]\nchannels = 2\nplanes-per-die = 2\n[ftl]\ngc = { policy = 'windowed-greedy', window = 40 }\nunit = \
                              'superblock'\ndomain = 'drive'\ngc-reserve = 3\n[until]\ndrive-writes = 5",
    ),
    (
        "fine-mapping-mixed",
        "[drive]\npage-size = '16 KiB'\nmapping-unit = '4 KiB'\n[ftl]\ngc = 'fifo'\n[precondition]\nfill = '50 %'\n\
                            [workload]\npattern = 'hybrid'\nread-share = 0.4\ntrim-share = 0.1\nrequest-size = '8 KiB'\n[until]\n\
                            requests = 60000",
    ),
    (
        "phases-and-mixtures",
        "[ftl]\ngc = 'random'\n[[phase]]\nworkload = { pattern = 'sequential' }\nuntil = { drive-writes = 1 }\n\
                             [[phase]]\nworkload = { mix = [{ share = 0.7, pattern = 'uniform' }, { share = 0.3, standin = 'wbs' }] }\n\
                             until = { drive-writes = 3 }",
    ),
];

fn scenario(name: &str, text: &str) -> Scenario {
    let preset = Some("tiny");
    Scenario::resolve(&Sources { preset, file: Some((name, text)), set: &[] }).unwrap_or_else(|error| panic!("{error}"))
}

fn live(scenario: &Scenario) -> RunResult {
    let mut watch = Watch { step: &mut |_| {}, stop: &std::sync::Arc::default() };
    session::execute(scenario, &PolicyOverrides::default(), &mut watch).unwrap_or_else(|error| panic!("{error}"))
}

/// The summary without what may differ between equal runs.
fn bytes(result: &RunResult) -> String {
    let mut value = serde_json::to_value(&result.summary).unwrap();
    value.as_object_mut().unwrap().remove("run");
    serde_json::to_string_pretty(&value).unwrap()
}

#[test]
fn lives_are_as_they_were() {
    let mut text = String::new();
    for (name, toml) in LIVES {
        let result = live(&scenario(name, toml));
        let summary = &result.summary;
        let erases = &summary.wear.erase_count;
        let _ = writeln!(text, "{name} ({})", summary.scenario.hash);
        let _ = writeln!(
            text,
            "  end {} {:?} at {:.6}",
            summary.end.reason.name(),
            summary.end.cause,
            summary.end.at_drive_writes
        );
        let _ = writeln!(
            text,
            "  host {} read {} unmapped {} trimmed {}",
            summary.host.pages_written,
            summary.host.pages_read,
            summary.host.pages_read_unmapped,
            summary.host.pages_trimmed
        );
        let _ =
            writeln!(text, "  programmed {:?} in {}", summary.flash.pages_programmed, summary.flash.program_operations);
        let _ = writeln!(
            text,
            "  erases {:?}, least {} median {} most {} sd {:.6}",
            summary.flash.blocks_erased, erases.min, erases.p50, erases.max, erases.sd
        );
        let _ = writeln!(text, "  retired {} capacity {:?}", summary.wear.blocks_retired, summary.capacity);
        let _ = writeln!(text, "  rows {} blocks {}", result.timeline.len(), result.blocks.len());
    }
    insta::assert_snapshot!(text);
}

#[test]
fn equal_seeds_give_equal_bytes_on_any_number_of_threads() {
    let scenarios: Vec<Scenario> = LIVES.iter().map(|(name, toml)| scenario(name, toml)).collect();
    let parallel = session::execute_all(&scenarios, None, &std::sync::Arc::default(), &|_, _, _| {}, &|_, _| {});
    for (scenario, outcome) in scenarios.iter().zip(parallel) {
        let together = outcome.unwrap().unwrap();
        let alone = live(scenario);
        assert_eq!(bytes(&together), bytes(&alone), "{}", scenario.name);
        assert_eq!(together.timeline, alone.timeline, "{}", scenario.name);
    }
    let mut other = scenarios[0].clone();
    other.seed += 1;
    assert_ne!(bytes(&live(&other)), bytes(&live(&scenarios[0])));
}

#[test]
fn figures_of_a_life_add_up() {
    for (name, toml) in LIVES {
        let result = live(&scenario(name, toml));
        let programmed = &result.summary.flash.pages_programmed;
        let causes =
            programmed.host + programmed.gc + programmed.wear_leveling + programmed.file_system + programmed.padding;
        assert_eq!(programmed.total, causes, "{name}");
        assert_eq!(programmed.host, result.summary.host.pages_written, "{name}");
        let retired = result.blocks.iter().filter(|block| block.state.name() == "retired").count() as u64;
        assert_eq!(result.summary.wear.blocks_retired, retired, "{name}");
        let last = result.timeline.last().unwrap();
        assert_eq!(last.exported_bytes, result.summary.capacity.logical_bytes_exported, "{name}");
    }
}

#[test]
fn a_full_die_leaves_the_others_alive() {
    let text = "[drive]\nchannels = 2\ndies-per-channel = 2\n[ftl]\ngc-reserve = 3\ndomain = '{domain}'\n[workload]\npattern = \
                'uniform'\nfootprint = '60 %'\n[until]\nend-of-life = true";
    let retired = |domain: &str| {
        let result = live(&scenario(domain, &text.replace("{domain}", domain)));
        assert_eq!(result.summary.end.reason.name(), "end-of-life");
        result.summary.wear.blocks_retired
    };
    assert!(2 * retired("die") >= retired("drive"), "{} of {}", retired("die"), retired("drive"));
}

#[test]
fn a_short_drive_write_has_a_last_one() {
    let scenario = scenario("short", "[drive]\nlogical-capacity = '3.90625 MiB'\n[until]\ndrive-writes = 20");
    let amplification = live(&scenario).summary.write_amplification;
    assert_ne!(amplification.last_drive_write.total, amplification.total);
}

#[test]
fn a_stopped_run_is_marked() {
    let mut seen = 0;
    let stop = std::sync::Arc::new(AtomicBool::new(false));
    let mut step = |_: &wane_lab::run::Step| {
        seen += 1;
        stop.store(seen > 20, std::sync::atomic::Ordering::Relaxed);
    };
    let scenario = scenario("stopped", "[until]\ndrive-writes = 1000");
    let result =
        session::execute(&scenario, &PolicyOverrides::default(), &mut Watch { step: &mut step, stop: &stop }).unwrap();
    assert!(session::interrupted(&result));
    assert!(result.summary.host.pages_written > 0 && result.summary.host.drive_writes < 1000.0);
}
