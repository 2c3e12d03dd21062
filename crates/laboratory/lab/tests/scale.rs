//! A drive that is run as a smaller one has the same life, write amplification, evenness of wear and latencies.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::sync::Arc;

use wane_lab::build::PolicyOverrides;
use wane_lab::run::Watch;
use wane_lab::session::execute;
use wane_results::{EraseCounts, RunResult, Summary};
use wane_scenario::{Scale, Scenario, Sources};

fn scenario(text: &str) -> Scenario {
    let sources = Sources { file: Some(("test.toml", text)), ..Sources::default() };
    Scenario::resolve(&sources).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn run(scenario: &Scenario) -> RunResult {
    let watch = &mut Watch { step: &mut |_| {}, stop: &Arc::default() };
    execute(scenario, &PolicyOverrides::default(), watch).unwrap()
}

/// 16,384 blocks of 16 pages on 16 dies.
const DRIVE: &str = "
[drive]
channels = 4
dies-per-channel = 4
planes-per-die = 2
blocks-per-plane = 512
pages-per-block = 16
spare-factor = '15 %'
endurance = 150
";

/// The same run at three sizes: the whole drive, a half and a quarter.
fn sizes(text: &str, blocks: u32) -> [RunResult; 3] {
    let whole = scenario(text);
    let [half, quarter] = [Scale::Ratio(0.5), Scale::Ratio(0.25)].map(|scale| whole.scaled(scale).unwrap());
    let found = [&whole, &half, &quarter].map(|scenario| scenario.device.geometry.blocks());
    assert_eq!(found, [blocks, blocks / 2, blocks / 4]);
    [whole, half, quarter].map(|scenario| run(&scenario))
}

fn check(runs: &[RunResult; 3], what: &str, most: f64, figure: impl Fn(&Summary) -> f64) {
    let figures = runs.each_ref().map(|run| figure(&run.summary));
    for scaled in &figures[1..] {
        let off = scaled / figures[0] - 1.0;
        assert!(off.abs() <= most, "{what}: {figures:?}, {:.2} % off", 100.0 * off);
    }
}

#[test]
fn a_smaller_drive_of_the_same_shape_lives_as_long() {
    let pooled = "[ftl]\nunit = 'block'\ndomain = 'drive'\ngc-reserve = 7\n";
    // With a smaller reserve, blocks that happen to retire in a row would end a die, at a random time on a drive of any size.
    let by_die = "[ftl]\nunit = 'block'\ndomain = 'die'\nfrontiers = 'separate'\ngc-reserve = 4\n";
    let skewed = "[workload]\npattern = 'hot-cold'\nr = 0.8\nh = 0.2\nfootprint = '90 %'\n";
    let leveled = "[ftl]\nunit = 'block'\ndomain = 'drive'\ngc-reserve = 7\nwear-leveling = { policy = 'pwl', threshold = '50 %' }\n";
    let table = [(pooled, ""), (pooled, skewed), (leveled, skewed), (by_die, ""), (by_die, skewed)];
    for (firmware, workload) in table {
        let text = format!("{DRIVE}{firmware}{workload}[until]\nend-of-life = true\n");
        let runs = sizes(&text, 16_384);
        let at = |what: &str| format!("{what} of{workload:?} under {firmware:?}");
        check(&runs, &at("WAF"), 0.02, |summary| summary.write_amplification.total.unwrap());
        check(&runs, &at("drive writes"), 0.02, |summary| summary.end.at_drive_writes);
        check(&runs, &at("TBW"), 0.02, |summary| summary.life.as_ref().unwrap().terabytes_written);
        // The least and the most worn block are rarer the fewer there are.
        let quantiles: [fn(&EraseCounts) -> u32; 5] =
            [|erases| erases.p1, |erases| erases.p10, |erases| erases.p50, |erases| erases.p90, |erases| erases.p99];
        for quantile in quantiles {
            let figures = runs.each_ref().map(|run| {
                let erases = &run.summary.wear.erase_count;
                f64::from(quantile(erases)) / erases.mean
            });
            let off = figures[1..].iter().map(|figure| (figure - figures[0]).abs()).fold(0.0, f64::max);
            assert!(off <= 0.03, "{}: {figures:?}", at("an erase quantile over the mean"));
        }
    }
}

#[test]
fn a_smaller_drive_of_the_same_shape_answers_as_late() {
    let timed = "
[ftl]
unit = 'block'
domain = 'die'
frontiers = 'separate'
gc-reserve = 2
[precondition]
random-drive-writes = 2
[time]
scheduler = 'event'
order = 'priority'
gc = 'preemptible'
[workload]
read-share = '70 %'
arrival = { poisson = '60 us' }
[until]
requests = 400_000
";
    let larger = DRIVE.replace("blocks-per-plane = 512", "blocks-per-plane = 1024");
    let runs = sizes(&format!("{larger}{timed}"), 32_768);
    let read = |summary: &Summary| summary.latency.as_ref().unwrap().read.unwrap();
    check(&runs, "p99.9 of reads", 0.10, |summary| read(summary).times.p999_ns as f64);
    check(&runs, "p50 of reads", 0.10, |summary| read(summary).times.p50_ns as f64);
    let write = |summary: &Summary| summary.latency.as_ref().unwrap().write.unwrap();
    check(&runs, "p99.9 of writes", 0.10, |summary| write(summary).times.p999_ns as f64);
}

#[test]
fn the_link_of_a_drive_with_fewer_dies_is_so_much_slower() {
    let text = "[drive]\npreset = 'qlc-enterprise-15.36t'\n[time]\nscheduler = 'event'\nlink-rate = '3200 MB/s'\n\
                command-time = '2 us'\n[workload]\narrival = { queue-depth = 64 }\n[until]\nrequests = 1\n";
    let whole = scenario(text);
    let small = whole.scaled(Scale::Auto).unwrap();
    let share = u64::from(whole.device.geometry.dies() / small.device.geometry.dies());
    assert_eq!(share, 4);
    let link = |scenario: &Scenario| (scenario.time.link_rate.unwrap().0, scenario.time.command_time.0);
    assert_eq!(link(&whole), (3_200_000_000, 2_000));
    assert_eq!(link(&small), (3_200_000_000 / share, 2_000 * share));
}

#[test]
fn a_result_says_for_which_drive_it_stands() {
    let whole = scenario(&format!("{DRIVE}[until]\ndrive-writes = 1\n"));
    let quarter = whole.scaled(Scale::Auto).unwrap();
    let result = run(&quarter);
    let scaled = result.summary.scaled.unwrap();
    assert_eq!(scaled.from_logical_bytes, whole.device.logical_bytes());
    assert!((scaled.ratio - 0.25).abs() < 0.01, "{scaled:?}");
    let told = &result.summary.warnings[0];
    assert!(!told.contains("  "), "{told}");
    assert!(
        told.contains("was run as one of")
            && told.contains("TBW, years and drive writes a day are those of the larger one"),
        "{told}"
    );
    let written = result.summary.life.unwrap().terabytes_written;
    assert!((written - whole.device.logical_bytes() as f64 / 1e12).abs() < 1e-6, "{written}");
    // It runs again as it was run, and says so again.
    let again = scenario(&result.scenario_toml);
    assert_eq!((again.device, again.hash()), (quarter.device, quarter.hash()));
}

/// A trace whose requests are all replayed writes the same amount on any drive.
#[test]
fn what_a_timed_trace_wrote_is_told_as_it_was_and_a_life_of_the_larger_drive() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.trace");
    // 4 KiB every 0.1 s.
    let text: String = (0..500u64).map(|at| format!("{} 0 {} 8 0\n", at * 100_000_000, at % 50 * 8)).collect();
    std::fs::write(&path, text).unwrap();
    let timed = |ends: &str| {
        let workload = format!("[workload]\ntrace = '{}'\narrival = 'trace'\n", path.display());
        scenario(&format!("{DRIVE}[time]\nscheduler = 'event'\n{workload}{ends}"))
    };
    let whole = timed("loop = false\n");
    let quarter = whole.scaled(Scale::Auto).unwrap();
    let [large, small] = [&whole, &quarter].map(|scenario| run(scenario).summary);
    assert_eq!(large.host.bytes_written, small.host.bytes_written);
    let [of_large, of_small] = [&large, &small].map(|summary| summary.life.clone().unwrap());
    assert!((of_large.terabytes_written - 500.0 * 4096.0 / 1e12).abs() < 1e-15, "{of_large:?}");
    let near = |one: f64, other: f64| (one / other - 1.0).abs() < 1e-9;
    assert!(near(of_small.terabytes_written, of_large.terabytes_written), "{of_small:?} {of_large:?}");
    let rates = [&of_small, &of_large].map(|life| life.drive_writes_per_day.unwrap());
    assert!(near(rates[0], rates[1]), "{of_small:?} {of_large:?}");
    assert!(near(of_small.days.unwrap(), of_large.days.unwrap()), "{of_small:?} {of_large:?}");
    assert!(small.warnings[0].contains("times as often"), "{:?}", small.warnings);
}
