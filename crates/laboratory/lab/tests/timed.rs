//! Whole timed runs, checked against the accepted simulator's figures, against their untimed twins, and against themselves.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::sync::LazyLock;
use std::sync::atomic::AtomicBool;

use wane_lab::run::Watch;
use wane_lab::session::execute;
use wane_results::{BlockRow, RunResult, Summary, WindowKind};
use wane_scenario::{Scenario, Sources};
use wane_testkit::SMALL_DRIVE;

fn run(text: &str, set: &[&str]) -> RunResult {
    let set: Vec<String> = set.iter().map(|assignment| (*assignment).to_owned()).collect();
    let sources = Sources { file: Some(("test.toml", text)), set: &set, ..Sources::default() };
    let scenario = Scenario::resolve(&sources).unwrap();
    let stop = std::sync::Arc::new(AtomicBool::new(false));
    let overrides = wane_lab::build::PolicyOverrides::default();
    execute(&scenario, &overrides, &mut Watch { step: &mut |_| {}, stop: &stop }).unwrap()
}

/// The scenario that the accepted simulator was measured with.
const MLC: &str = r#"
[drive]
preset = "mlc-8g"
[drive.timing]
read = "75 us"
program = "750 us"
erase = "3.8 ms"
channel-rate = "333 MB/s"
[time]
scheduler = "event"
[workload]
read-share = "100 %"
arrival = { queue-depth = 16 }
[until]
requests = 200_000
"#;

#[test]
fn reads_at_depth_16_come_within_5_percent_of_the_accepted_simulator() {
    for scheduler in ["event", "timeline"] {
        let summary = run(MLC, &[&format!("time.scheduler=\"{scheduler}\"")]).summary;
        let (iops, mean) =
            (summary.throughput.unwrap().read.iops, summary.latency.unwrap().read.unwrap().times.mean_ns);
        assert!((iops / 106e3 - 1.0).abs() < 0.05, "{scheduler}: {iops} IOPS for 106 k");
        assert!((mean / 151e3 - 1.0).abs() < 0.05, "{scheduler}: {mean} ns for 151 us");
    }
}

#[test]
fn collection_that_takes_no_time_leaves_the_same_drive() {
    let text = "[drive]\npreset = 'trss-128g'\npages-per-block = 4\n[workload]\npattern = 'uniform'\nread-share = 0.5\n\
                arrival = { queue-depth = 8 }\n[until]\ndrive-writes = 0.5\n[precondition]\nfill = '90 %'";
    let [[taken, free], [_, events]] = ["timeline", "event"].map(|scheduler| {
        ["foreground", "free"].map(|gc| {
            let set = [format!("time.scheduler={scheduler}"), format!("time.gc={gc}")];
            run(text, &set.each_ref().map(String::as_str))
        })
    });
    assert!(taken.summary.write_amplification.total.unwrap() > 1.5, "collection has work to do");
    assert_eq!(taken.blocks, free.blocks);
    assert_eq!(taken.summary.host, free.summary.host);
    assert_eq!(taken.summary.errors, free.summary.errors);
    let of = |run: &RunResult| run.summary.latency.clone().unwrap();
    let (slow, fast) = (of(&taken), of(&free));
    assert_eq!(fast, of(&events), "the schedulers agree");
    for (slow, fast) in [(slow.read.unwrap(), fast.read.unwrap()), (slow.write.unwrap(), fast.write.unwrap())] {
        assert!(slow.breakdown_ns.behind_gc > 0.0);
        assert_eq!(fast.breakdown_ns.behind_gc, 0.0);
        assert!(fast.times.mean_ns < slow.times.mean_ns && fast.times.p99_ns < slow.times.p99_ns, "{fast:?}");
    }
}

#[test]
fn write_amplification_meets_the_accepted_simulator() {
    let untimed = ["time.scheduler=\"none\"", "workload.read-share=0", "workload.arrival={queue-depth=1}"];
    let total = |summary: &Summary| summary.write_amplification.total.unwrap();
    let steady = |summary: &Summary| summary.write_amplification.last_drive_write.total.unwrap();
    // (more settings, which figure, printed, tolerance): a reserve of two blocks a die, or 5 % of all; from 90 % mapped.
    type Figure<'a> = &'a dyn Fn(&Summary) -> f64;
    let table: [(&[&str], Figure<'_>, f64, f64); 4] = [
        (&["until.requests=7000000"], &steady, 2.7, 0.05),
        (&["until.requests=7000000", "ftl.gc-reserve=26"], &steady, 3.3, 0.05),
        (&["until.requests=5000000", "precondition.fill=\"90 %\""], &total, 2.34, 0.05),
        (&["until.requests=6500000", "precondition.fill=\"90 %\""], &total, 2.47, 0.05),
    ];
    for (set, figure, printed, tolerance) in table {
        let summary = run(MLC, &[&untimed, set].concat()).summary;
        let found = figure(&summary);
        assert!((found / printed - 1.0).abs() < tolerance, "{set:?}: {found} for {printed}");
    }
}

/// A small drive that collects garbage all the time.
static SMALL: LazyLock<String> = LazyLock::new(|| {
    format!(
        r#"
[drive]
{SMALL_DRIVE}dies-per-channel = 2
planes-per-die = 2
blocks-per-plane = 16
chip = "tlc-72l-2018"
endurance = "none"
[drive.ecc]
strength = 40
[drive.initial]
erase-count = 3000
[ftl]
unit = "block"
domain = "die"
gc-reserve = 2
frontiers = "separate"
[time]
scheduler = "event"
[workload]
pattern = "jesd219"
request-size = "8 KiB"
read-share = "50 %"
trim-share = "2 %"
arrival = {{ poisson = "2 ms" }}
[until]
requests = 20_000
"#
    )
});

/// The final state, without time and errors.
fn state(result: &RunResult) -> (Summary, Vec<BlockRow>) {
    let mut summary = result.summary.clone();
    (summary.latency, summary.throughput, summary.errors) = (None, None, None);
    (summary.latency_of, summary.latency_by_gc) = (None, None);
    // Reads from the controller's buffer and reads around a die depend on time.
    (summary.flash.reads_buffered, summary.flash.reads_around) = (0, 0);
    // What stands idle is told of timed drives alone.
    summary.warnings.retain(|warning| {
        !warning.starts_with(wane_results::OVERLOADED) && !warning.contains(" is written at a time, as ")
    });
    summary.run = Default::default();
    summary.scenario = Default::default();
    (summary, result.blocks.clone())
}

/// 40 us for 4 KiB and 20 us a command.
const LINK: [&str; 2] = ["time.link-rate=\"102.4 MB/s\"", "time.command-time=\"20 us\""];

#[test]
fn a_link_serves_one_command_at_a_time() {
    let set = |depth: &'static str| [&LINK[..], &[depth, "until.requests=20000"]].concat();
    let of = |depth| run(MLC, &set(depth)).summary.clone();
    let (one, many) = (of("workload.arrival={queue-depth=1}"), of("workload.arrival={queue-depth=64}"));
    let read = |summary: &Summary| summary.latency.as_ref().unwrap().read.unwrap();
    assert!((read(&one).breakdown_ns.link - 60_000.0).abs() < 1.0, "{:?}", read(&one));
    let iops = many.throughput.unwrap().read.iops;
    assert!((iops * 60e-6 - 1.0).abs() < 0.01, "{iops} reads a second");
}

#[test]
fn time_and_errors_leave_the_state_alone() {
    let plain = run(&SMALL, &["drive.chip=\"none\"", "time.scheduler=\"none\""]);
    assert!(plain.summary.gc.victims > 500 && plain.windows.is_empty());
    let table: [&[&str]; 10] = [
        &[],
        &["drive.ecc.strength=\"none\""],
        &["drive.chip=\"none\""],
        &["time.scheduler=\"none\""],
        &["time.scheduler=\"timeline\""],
        &["time.gc=\"background\""],
        &["time.gc=\"preemptible\"", "time.order=\"priority\"", "time.read-priority=true", "time.suspend=\"both\""],
        &["time.processors=2", "time.write-cache=\"64 KiB\"", "time.multi-plane=true"],
        &["workload.arrival={queue-depth=8}", "drive.ecc.draws=\"sticky\""],
        &LINK,
    ];
    for set in table {
        assert!(state(&run(&SMALL, set)) == state(&plain), "{set:?}");
    }
}

/// Reads around a die change only latencies: the state is the same as with stripes over as many dies whose reads wait.
#[test]
fn reads_around_a_die_leave_maps_and_read_counts_alone() {
    let run_with = |policy: &str, set: &str| {
        let redundancy = format!("ftl.redundancy={{policy=\"{policy}\",data-pages=7}}");
        let arrival = "workload.arrival={poisson=\"1 ms\"}";
        run(&SMALL, &[&redundancy, arrival, "drive.dies-per-channel=4", "drive.spare-factor=\"40 %\"", set])
    };
    let plain = run_with("stripes", "time.gc=\"foreground\"");
    assert!(plain.summary.gc.victims > 500 && plain.summary.flash.reads_around == 0);
    assert!(state(&run_with("rain", "time.scheduler=\"none\"")) == state(&plain));
    let mut around = Vec::new();
    for set in
        ["time.scheduler=\"timeline\"", "time.gc=\"background\"", "time.gc=\"rotating\"", "time.gc=\"preemptible\""]
    {
        let result = run_with("rain", set);
        assert!(state(&result) == state(&plain), "{set}");
        assert_eq!(result.summary.errors, plain.summary.errors, "{set}");
        around.push(result.summary.flash.reads_around);
    }
    assert!(around[0] > 100 && around[2] > around[1] && around[3] == 0, "reads that went around: {around:?}");
}

#[test]
fn the_same_seed_gives_the_same_latencies_and_another_does_not() {
    let [first, second, other] = [&[][..], &[], &["seed=2"]].map(|set| run(&SMALL, set));
    assert_eq!((&first.windows, first.summary.latency.clone()), (&second.windows, second.summary.latency));
    assert_ne!(first.windows, other.windows);
    assert_eq!(first.error_histogram, second.error_histogram);
}

#[test]
fn the_parts_of_a_latency_add_up_to_its_mean() {
    for set in [&[][..], &["time.gc=\"preemptible\"", "time.order=\"priority\"", "time.processors=1"], &LINK] {
        let latency = run(&SMALL, set).summary.latency.unwrap();
        for figures in [latency.read.unwrap(), latency.write.unwrap()] {
            let parts: f64 = figures.breakdown_ns.named().iter().map(|(_, part)| part).sum();
            assert!((parts / figures.times.mean_ns - 1.0).abs() < 1e-9, "{set:?}: {parts} {}", figures.times.mean_ns);
        }
    }
}

#[test]
fn a_worn_drive_reads_again_and_a_strong_code_never_does() {
    let [weak, strong] =
        ["drive.ecc.strength=20", "drive.ecc.strength=\"none\""].map(|set| run(&SMALL, &[set]).summary.clone());
    let (weak_errors, strong_errors) = (weak.errors.unwrap(), strong.errors.unwrap());
    assert!(weak_errors.retries > 10_000 && strong_errors.retries == 0);
    assert!(strong_errors.raw_bit_errors > 0 && strong_errors.uncorrectable == 0);
    let mean = |summary: &Summary| summary.latency.as_ref().unwrap().read.unwrap();
    assert!(mean(&weak).breakdown_ns.rereads > 0.0 && mean(&strong).breakdown_ns.rereads == 0.0);
    assert!(mean(&weak).times.mean_ns > mean(&strong).times.mean_ns);
}

#[test]
fn re_reads_are_counted_beside_the_reads_of_their_origin() {
    let collecting = ["drive.ecc.strength=20", "drive.ecc.rereads-max=2", "workload.read-share=\"2 %\""];
    let summary = run(&SMALL, &collecting).summary;
    let errors = summary.errors.unwrap();
    let reads = summary.latency.unwrap().read.unwrap().times.count;
    assert!(
        errors.background_retries > 2 * reads,
        "one rate over the host's reads would be above the limit: {errors:?}"
    );
    for rate in [errors.host_retry_rate(), errors.background_retry_rate()] {
        assert!(rate.is_some_and(|rate| rate > 0.1 && rate <= 2.0), "{errors:?}");
    }
    assert_eq!(errors.host_retries + errors.background_retries, errors.retries);
}

/// An untimed life of the small drive, with or without windows.
const PROBE: &str = r#"
[probe]
at-drive-writes = [0, 1, 2]
until = { requests = 2_000 }
workload = { pattern = "uniform", read-share = "100 %", arrival = { queue-depth = 4 } }
"#;

#[test]
fn windows_end_with_their_phases_and_hold_all_their_requests() {
    let text = "[drive]\npreset = 'mlc-8g'\nblocks-per-plane = 16\n[time]\nscheduler = 'event'\n\
                [[phase]]\nworkload = { pattern = 'sequential', request-size = '64 KiB', arrival = { queue-depth = 32 } }\n\
                until = { requests = 3_000 }\n\
                [[phase]]\nworkload = { pattern = 'uniform', read-share = '100 %', arrival = { queue-depth = 16 } }\n\
                until = { requests = 1_500 }\n\
                [[phase]]\nworkload = { pattern = 'uniform', arrival = { queue-depth = 4 } }\nuntil = { requests = 2_000 }\n";
    let result = run(text, &[]);
    let counted = |phase: u32| {
        let of = result.windows.iter().filter(|window| window.phase == phase);
        let sums = of.map(|window| {
            let latency = &window.latency;
            [latency.read, latency.write].map(|of| of.map_or(0, |of| of.times.count))
        });
        sums.fold([0, 0], |sum, one| [sum[0] + one[0], sum[1] + one[1]])
    };
    assert_eq!([0, 1, 2].map(counted), [[0, 3_000], [1_500, 0], [0, 2_000]]);
    assert!(result.windows.windows(2).all(|pair| pair[0].phase <= pair[1].phase), "in their order");
    let columns = wane_results::window_columns(result.windows.iter());
    assert!(columns.iter().any(|column| column.name == "phase"), "windows.csv says which phase");
    let alone = run(text, &["phase.1.until.requests=1", "phase.2.until.requests=1", "phase.0.until.requests=10"]);
    assert_eq!(alone.windows.iter().map(|window| window.phase).collect::<Vec<_>>(), [0, 1, 2], "however short");
}

#[test]
fn a_probe_changes_no_other_number() {
    let life = SMALL.replace("requests = 20_000", "drive-writes = 2");
    let without = run(&life, &["time.scheduler=\"none\""]);
    let with = run(&format!("{life}{PROBE}"), &[]);
    assert_eq!((&with.timeline, state(&with)), (&without.timeline, state(&without)));
    assert_eq!(with.summary.errors, without.summary.errors);
    let probes: Vec<_> = with.windows.iter().map(|window| (window.kind, window.at_drive_writes.round())).collect();
    assert_eq!(probes, [0.0, 1.0, 2.0].map(|at| (WindowKind::Probe, at)));
    assert!(with.windows.iter().all(|window| window.latency.read.unwrap().times.count > 1900));
    // Reads of what a probe has just written come from the controller's buffer.
    let mixed =
        run(&format!("{life}{PROBE}"), &["probe.workload.read-share=0.3", "probe.workload.arrival.queue-depth=32"]);
    assert_eq!(mixed.summary.flash, without.summary.flash);
}

#[test]
fn writes_smaller_than_a_page_are_told_to_take_no_time() {
    let small = ["drive.page-size=\"16 KiB\"", "drive.mapping-unit=\"4 KiB\""];
    let warned = |set: &[&str]| {
        let result = run(&SMALL, &[&small[..], set].concat());
        let fast = result.summary.latency.unwrap().write.unwrap().times.p50_ns == 0;
        assert_eq!(fast, result.summary.warnings.iter().any(|told| told.contains("filled no page")));
        fast
    };
    assert!(warned(&[]));
    assert!(!warned(&["workload.request-size=\"16 KiB\""]));
    assert!(!warned(&["time.write-cache=\"1 MiB\""]));
}

#[test]
fn a_drive_that_dies_while_it_is_preconditioned_says_so() {
    let result = run(&SMALL, &["drive.faults.program-failure=1", "precondition.random-drive-writes=1"]);
    let told = &result.summary.warnings;
    assert!(told.iter().any(|told| told.starts_with("the drive died while it was preconditioned")), "{told:?}");
}

#[test]
fn a_run_that_ends_before_a_probe_says_so() {
    let life = SMALL.replace("requests = 20_000", "drive-writes = 1.5");
    let result = run(&format!("{life}{PROBE}"), &[]);
    let warning = "the run ended before 1 of 3 probes were due, the next at 2 drive writes";
    assert!(result.summary.warnings.iter().any(|found| found == warning), "{:?}", result.summary.warnings);
}

#[test]
fn retention_before_a_probe_costs_re_reads() {
    let life = SMALL.replace("requests = 20_000", "drive-writes = 0.5").replace("tlc-72l-2018", "mlc-2ynm-2015");
    let base = ["drive.initial.erase-count=8000", "drive.ecc.strength=10", "probe.at-drive-writes=[0.5]"];
    let retries = |set: &str| {
        let result = run(&format!("{life}{PROBE}"), &[&base[..], &[set]].concat());
        result.windows[0].errors.unwrap().retries
    };
    let (fresh, aged) = (retries("probe.retention=\"none\""), retries("probe.retention=\"60 days\""));
    assert!(aged > 2 * fresh + 100, "{fresh} re-reads, {aged} after sixty days");
}

#[test]
fn scrubbing_trades_relocations_for_re_reads() {
    // Read so often that 85 errors are expected in a codeword, 28 without the disturb.
    let read = ["workload.read-share=\"95 %\"", "drive.ecc.strength=60", "drive.initial.reads=1500"];
    let scrub = "ftl.scrub={policy=\"oracle\",threshold=60}";
    for time in ["time.scheduler=\"none\"", "time.scheduler=\"event\""] {
        let [without, with] =
            [&[][..], &[scrub]].map(|set| run(&SMALL, &[&read, set, &[time]].concat()).summary.clone());
        assert_eq!(without.flash.pages_programmed.scrub, 0);
        assert!(with.flash.pages_programmed.scrub > 0 && with.flash.blocks_erased.scrub > 0, "{time}");
        let (before, after) = (without.errors.unwrap().retries, with.errors.unwrap().retries);
        assert!(after < before / 2, "{time}: {before} re-reads, {after} with scrubbing");
    }
}

#[test]
fn stripes_give_back_what_a_limit_on_re_reads_loses() {
    let weak = ["drive.ecc.rereads-max=0", "drive.ecc.strength=40", "drive.spare-factor=\"45 %\""];
    let stripes = "ftl.redundancy={policy=\"stripes\",data-pages=3}";
    let [without, with] = [&[][..], &[stripes]].map(|set| run(&SMALL, &[&weak, set].concat()).summary.clone());
    let (lost, left) = (without.errors.unwrap(), with.errors.unwrap());
    assert!(lost.uncorrectable > 0 && lost.recoveries == 0);
    assert!(left.recoveries > 0 && left.uncorrectable < lost.uncorrectable, "{lost:?} {left:?}");
    assert!(with.flash.pages_programmed.parity > 0);
    let read = with.latency.unwrap().read.unwrap();
    assert!(read.breakdown_ns.recovery > 0.0);
}

#[test]
fn a_lost_die_costs_data_unless_stripes_span_the_others() {
    let lost =
        ["drive.faults.lost-die=1", "drive.faults.lost-die-at=1", "drive.chip=\"none\"", "drive.spare-factor=\"70 %\""];
    let life = SMALL.replace("[drive.ecc]\nstrength = 40\n", "");
    let stripes = "ftl.redundancy={policy=\"stripes\",data-pages=2}";
    let [without, with] = [&[][..], &[stripes]].map(|set| run(&life, &[&lost, set].concat()).summary.clone());
    let counts = |summary: &Summary| {
        let errors = summary.errors.unwrap();
        (errors.uncorrectable + errors.uncorrectable_relocated, errors.recoveries)
    };
    let (bare, striped) = (counts(&without), counts(&with));
    assert!(bare.0 > 100 && bare.1 == 0, "{bare:?}");
    assert!(striped.1 > 100 && striped.0 < bare.0 / 4, "{striped:?}");
    // Blocks of the die leave service as programs of them fail, until it has none left to write to; the others live on.
    assert!(without.wear.blocks_retired > 0 && with.wear.blocks_retired > 0);
    assert_eq!((without.end.cause, with.end.cause), (None, None));
    let whole = run(&life, &["drive.chip=\"none\"", "drive.spare-factor=\"70 %\""]).summary;
    assert_eq!(whole.wear.blocks_retired, 0);
}

#[test]
fn errors_beyond_the_chips_data_are_told() {
    let told = |set: &[&str]| {
        let warnings = run(&SMALL, set).summary.warnings;
        warnings.into_iter().find(|warning| warning.contains("extrapolated")).unwrap_or_default()
    };
    assert_eq!(told(&["drive.spare-factor=\"30 %\""]), "");
    // (setting, what the sentence names)
    let table = [
        ("drive.initial.erase-count=12000", "P/E cycles (up to"),
        ("drive.initial.retention=\"400 days\"", "days since data was written (up to 400; the source has 0 to 365)"),
        ("drive.initial.reads=20000", "reads of a block (up to 20"),
    ];
    for (set, want) in table {
        let warning = told(&[set, "workload.trim-share=0", "workload.read-share=\"100 %\"", "until.requests=10"]);
        assert!(warning.contains("errors of tlc-72l-2018") && warning.contains(want), "{warning}");
    }
}

#[test]
fn a_trace_without_times_cannot_say_when_requests_come() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.lis");
    std::fs::write(&path, "100 8 0 1\n200 8 0 2\n300 8 0 3\n").unwrap();
    let text = format!(
        "[drive]\npreset = 'tiny'\n[time]\nscheduler = 'event'\n[workload]\ntrace = '{}'\narrival = 'trace'\n[until]\n\
         requests = 5",
        path.display()
    );
    let sources = Sources { file: Some(("test.toml", &text)), ..Sources::default() };
    let error = wane_lab::build::plan(&Scenario::resolve(&sources).unwrap()).err().unwrap().to_string();
    assert!(error.contains("a.lis: requests of format lis have no time of arrival, so arrival"), "{error}");
}

/// Reads of 16 KiB pages on eight dies, all of which are always at work, with heat.
const WARM: &str = "[drive]\npreset = 'mlc-8g'\nchannels = 4\nblocks-per-plane = 16\n[drive.timing]\nread = '80 us'\nchannel-rate = 'none'\n\
    [drive.thermal]\nambient = 25\nidle-power = 1\ndie-power = 0.5\nresistance = 10\ntime-constant = '200 ms'\nthrottle-above = 60\n\
    throttle-below = 59\nthrottle-stretch = 10\n[time]\nscheduler = 'event'\n[precondition]\nsequential-drive-writes = 1\n[workload]\n\
    pattern = 'uniform'\nread-share = 1\narrival = { queue-depth = 64 }\n[until]\nrequests = 400_000\n";

#[test]
fn a_warm_drive_serves_what_its_surroundings_can_cool() {
    let iops = |set: &[&str]| run(WARM, set).summary.throughput.unwrap().read.iops;
    let (cold, none) = (iops(&["drive.thermal.ambient=0"]), iops(&["drive.thermal.ambient=none"]));
    assert_eq!(cold, none, "a drive that never gets too warm is as fast as one without heat");
    // Nearly all dies work nearly always, which warms the drive by 40 K less their waits. Throttled it is at 59 to 60 degrees, 10 of them from idling.
    for (ambient, celsius) in [("25", 25.0), ("35", 35.0), ("45", 45.0)] {
        let result = run(WARM, &[&format!("drive.thermal.ambient={ambient}")]);
        let thermal = result.summary.thermal.unwrap();
        let rate = result.summary.throughput.unwrap().read.iops / none;
        let heat = 10.0 * (thermal.watts_mean - 1.0);
        assert!((thermal.celsius_mean - (celsius + 10.0 + heat)).abs() < 1.5, "{ambient}: {thermal:?}");
        // Power and rate fall alike.
        let full = 10.0 * 0.5 * none * 80e-6;
        assert!((rate - heat / full).abs() < 0.02, "{ambient}: {rate} of the rate at {heat} of {full} K");
        let wanted = ((59.5 - celsius - 10.0) / full).min(1.0);
        assert!((rate - wanted).abs() < 0.05, "{ambient}: {rate}, {wanted} wanted");
        assert_eq!(wanted < 1.0, thermal.throttled_share > 0.0, "{ambient}: {thermal:?}");
    }
}
