//! Scenarios with time and errors: what they resolve to and what they refuse.

use wane_nand::{CellKind, ChecksPerRead, Draws};
use wane_units::{Nanos, Rate};
use wane_workload::Arrival;

use super::*;

const TIMED: &str = r#"
[drive]
preset = "mlc-8g"                     # 8 x 2 x 1 x 512 blocks of 256 pages of 4 KiB
channels = 8
dies-per-channel = 2
planes-per-die = 1
blocks-per-plane = 512
pages-per-block = 256
page-size = "4 KiB"
spare-factor = "20 %"
[drive.timing]
read = "75 us"
program = "750 us"
erase = "3.8 ms"
channel-rate = "333 MB/s"
[time]
scheduler = "event"                   # or "timeline", or "none"
[workload]
pattern = "uniform"
request-size = "4 KiB"
read-share = "100 %"
arrival = { queue-depth = 16 }        # or { poisson = "0.5 ms" }, { normal = ["100 ms", "10 ms"] }, "trace"
[until]
requests = 1_000_000
"#;

/// A scenario with every key of time and errors.
pub(super) const ALL: &str = r#"
[drive]
preset = "fast19-ssd"
chip = "tlc-72l-2018"
cell = "tlc"
endurance = "none"
[drive.timing]
read = ["40 us", "60 us", "80 us"]
suspend = "7 us"
[drive.ecc]
codeword = "1 KiB"
strength = 75
rereads-max = 3
scale = 1.5
draws = "sticky"
checks-per-read = "one-codeword"
[drive.variation]
blocks = 0.1
layers = 0.2
layer-count = 64
[drive.initial]
erase-count = 3000
erase-count-spread = "4 %"
retention = ["30 days", "90.5 days"]
reads = 17
[drive.faults]
factory-bad = "1 %"
program-failure = 1e-5
erase-failure = 2e-5
[time]
scheduler = "event"
drive-writes-per-day = 1.5
scale = 0.5
order = "priority"
read-priority = true
suspend = "both"
gc = "preemptible"
multi-plane = true
write-cache = "64 MiB"
write-cache-latency = "9 us"
processors = 4
think-time = "2 us"
link-rate = "550 MB/s"
command-time = "20 us"
[workload]
arrival = { normal = ["100 ms", "10 ms"] }
[probe]
at-drive-writes = [0, 0.5, 10]
workload = { trace = "a.csv", format = "msr", arrival = "trace" }
until = { requests = 7 }
retention = "90 days"
[until]
drive-writes = 10
"#;

pub(super) const OWN_CHIP: &str = "[drive.chip]\nepsilon = 1e-3\nalpha = 1e-10\nbeta = 0.0\ngamma = 0\nk = 2.0\nm = 0.0\nn = 0.0\np = 0.0\nq = \
                        1.5\n[drive.chip.data]\ncycles = [0.0, 3000.0]\ndays = [0, 365]\nreads = [0.0, 1e4]\n";

fn resolve(text: &str, set: &[&str]) -> Result<Scenario, ScenarioError> {
    let set: Vec<String> = set.iter().map(|assignment| (*assignment).to_owned()).collect();
    Scenario::resolve(&Sources { preset: None, file: Some(("test.toml", text)), set: &set })
}

fn good(text: &str, set: &[&str]) -> Scenario {
    let ends = text.contains("[until]") || text.contains("[[phase]]");
    let text = if ends { text.to_owned() } else { format!("{text}\n[until]\ndrive-writes = 1") };
    resolve(&text, set).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// An untimed scenario without time and errors must always resolve to the same text, by FNV-1a. What policies leave to
/// their defaults is shown beside it.
#[test]
fn untimed_scenarios_resolve_and_hash_as_they_always_did() {
    let fnv = |text: &str| {
        let mut top: Table = text.parse().unwrap();
        let ftl = top["ftl"].as_table_mut().unwrap();
        for family in Family::all() {
            if let Some(Value::Table(policy)) = ftl.get_mut(family.key()) {
                family.forget_defaults(policy).unwrap();
            }
        }
        wane_units::Fnv::of(toml::to_string(&top).unwrap().as_bytes()).get()
    };
    // (preset, hash, FNV-1a of the TOML)
    let table = [
        ("ftlsim-256g", "2fa65b33390bcb2e", 0xfce0_b7e1_6465_8192_u64),
        ("ftlsim-8g", "434b8185a1745829", 0x0d32_ec46_b734_c516),
        ("tiny", "a56205bd03754c50", 0x9c53_e83f_e05b_0b7a),
        ("amber-mlc", "5cae9393c7b481a3", 0x5fc1_d831_cf54_c68d),
        ("femu-16g", "9f3f6f68acffa66d", 0x6da3_483c_a1f2_dfff),
        ("mean-field", "cec1de4bdb42b59a", 0xeac8_d1f3_2596_2bea),
    ];
    for (preset, hash, toml) in table {
        let scenario = good(&format!("[drive]\npreset = '{preset}'\n[until]\ndrive-writes = 2.5"), &[]);
        assert_eq!((scenario.hash().as_str(), fnv(&scenario.to_toml())), (hash, toml), "{preset}");
    }
    // Beside its separate frontiers this one is as it was, too.
    let fast19 = good("[drive]\npreset = 'fast19-ssd'\n[ftl]\nfrontiers = 'one'\n[until]\ndrive-writes = 2.5", &[]);
    assert_eq!((fast19.hash().as_str(), fnv(&fast19.to_toml())), ("06a2021bfe612fac", 0xba68_22f1_9d38_b17d));
}

#[test]
fn the_timed_example_resolves_as_written() {
    let scenario = good(TIMED, &[]);
    let device = &scenario.device;
    assert_eq!((device.geometry.blocks(), device.logical_units, device.gc_reserve), (8192, 1_677_721, 2));
    let timing = TimingSpec {
        read: vec![Nanos(75_000)],
        program: vec![Nanos(750_000)],
        erase: Nanos(3_800_000),
        channel_rate: Some(Rate(333_000_000)),
        suspend: Nanos(20_000),
    };
    assert_eq!(scenario.medium, Medium { timing, ..Medium::default() });
    assert_eq!(scenario.time, Time { scheduler: Scheduler::Event, ..Time::default() });
    assert_eq!((scenario.phases[0].arrival, &scenario.probe), (Arrival::QueueDepth(16), &None));
    for scheduler in ["timeline", "none"] {
        let other = good(&TIMED.replace("\"event\"", &format!("\"{scheduler}\"")), &[]);
        assert_eq!(other.phases, scenario.phases, "{scheduler}");
    }
}

#[test]
fn every_key_arrives_where_it_belongs() {
    let scenario = good(ALL, &[]);
    let medium = &scenario.medium;
    assert_eq!(medium.chip.as_ref().map(|chip| chip.name.as_str()), Some("tlc-72l-2018"));
    assert_eq!(medium.chip.as_ref().map(|chip| chip.model.alpha), Some(3.9e-10));
    let timing = TimingSpec {
        read: [40_000, 60_000, 80_000].map(Nanos).to_vec(),
        program: [900_000, 1_125_000, 1_350_000].map(Nanos).to_vec(),
        erase: Nanos(5_000_000),
        channel_rate: Some(Rate(667_000_000)),
        suspend: Nanos(7_000),
    };
    assert_eq!((medium.cell, &medium.timing), (Some(CellKind::Tlc), &timing));
    let codeword = wane_units::Bytes(1024);
    let ecc = EccSpec {
        codeword,
        strength: Some(75),
        rereads_max: Some(3),
        scale: 1.5,
        draws: Draws::Sticky,
        checks_per_read: ChecksPerRead::OneCodeword,
        ..EccSpec::default()
    };
    assert_eq!(medium.ecc, ecc);
    assert_eq!(medium.variation, Variation { blocks: 0.1, layers: 0.2, layer_count: 64 });
    let erase_count_spread = Ratio::new(0.04).unwrap();
    let initial =
        Initial { erase_count: Some(3000), erase_count_spread, retention_days: Some((30.0, 90.5)), reads: 17 };
    assert_eq!(medium.initial, initial);
    let factory_bad = Ratio::new(0.01).unwrap();
    assert_eq!(
        medium.faults,
        FaultSpec { factory_bad, program_failure: 1e-5, erase_failure: 2e-5, ..FaultSpec::default() }
    );
    let time = Time {
        scheduler: Scheduler::Event,
        drive_writes_per_day: Some(WritesPerDay::Rate(1.5)),
        scale: 0.5,
        order: Order::Priority,
        read_priority: true,
        suspend: Suspend::Both,
        gc: Collection::Preemptible,
        multi_plane: true,
        write_cache: Some(wane_units::Bytes(64 << 20)),
        write_cache_latency: Nanos(9_000),
        processors: Some(4),
        think_time: Nanos(2_000),
        link_rate: Some(Rate(550_000_000)),
        command_time: Nanos(20_000),
    };
    assert_eq!(scenario.time, time);
    assert_eq!(scenario.phases[0].arrival, Arrival::Normal { mean_ns: 100_000_000, sd_ns: 10_000_000 });
    let probe = scenario.probe.unwrap();
    let ages = Ages::DriveWrites(vec![0.0, 0.5, 10.0]);
    assert_eq!((probe.ages, probe.requests, probe.retention_days), (ages, 7, 90.0));
    assert!(matches!(&probe.workload, Workload::Trace(trace) if trace.written == "a.csv"));
    assert_eq!(probe.arrival, Arrival::Trace);
}

#[test]
fn a_resolved_timed_scenario_resolves_to_itself() {
    let own = format!("{OWN_CHIP}[drive.ecc]\nstrength = 50\n");
    // The times of the defaults under a cell that brings others.
    let plain = "[drive]\ncell = 'qlc'\ntiming = { read = '50 us', program = '500 us', erase = '5 ms' }";
    let faster = "[drive]\npreset = 'cvss-128g'\ntiming.channel-rate = '667 MB/s'";
    let aged = "[drive]\ninitial = { retention = '1.5 years', reads = 3 }\n[time]\ndrive-writes-per-day = 0.3";
    let on_purpose = "[time]\nscheduler = 'none'\n[workload]\narrival = { poisson = '1.5 us' }";
    let quiet = "[drive]\npreset = 'fast19-ssd'\n[time]\norder = 'first-come'\nscheduler = 'none'";
    let kept = "[time]\nscheduler = 'timeline'\n[workload]\npattern = 'zipf'\n[probe]\nat-drive-writes = [1]\nworkload = { \
                arrival = { queue-depth = 4 } }";
    let phases = "[time]\nscheduler = 'timeline'\n[[phase]]\nuntil = { requests = 5 }\n[[phase]]\nuntil = { requests = 6 \
                  }\nworkload = { arrival = { poisson = '1 s' } }";
    let worn = "[drive]\nendurance = 9\n[time]\nscheduler = 'timeline'\n[probe]\nat-wear = ['30 %', 0.6]\nat-end-of-life = true";
    let dead = "[drive]\nendurance = 9\n[time]\nscheduler = 'timeline'\n[probe]\nat-end-of-life = true";
    for text in [TIMED, ALL, &own, plain, faster, aged, on_purpose, quiet, kept, phases, worn, dead] {
        for set in [&[][..], &["drive.cell=slc"], &["drive.preset=fast19-ssd"], &["drive.preset=femu-16g"]] {
            let once = good(text, set);
            let twice = resolve(&once.to_toml(), &[]).unwrap_or_else(|error| panic!("{error}\n{}", once.to_toml()));
            assert_eq!((&once, once.hash(), once.to_toml()), (&twice, twice.hash(), twice.to_toml()), "{text}");
        }
    }
}

#[test]
fn a_layer_displaces_what_it_makes_meaningless() {
    let cells = "[drive]\npreset = 'mlc-8g'\ncell = 'tlc'";
    let timing = |text: &str, set: &[&str]| {
        let timing = good(text, set).medium.timing;
        let read: Vec<u64> = timing.read.iter().map(|time| time.0).collect();
        (read, timing.program[0].0, timing.erase.0, timing.channel_rate.map_or(0, |rate| rate.0))
    };
    // The cell's own times go before the preset's, whose channels stay; explicit ones of the same layer or above stay.
    let tlc = vec![53_571, 69_642, 101_785];
    assert_eq!(timing(cells, &[]), (tlc.clone(), 900_000, 5_000_000, 333_000_000));
    let erase = format!("{cells}\ntiming = {{ erase = '9 ms' }}");
    assert_eq!(timing(&erase, &[]), (tlc.clone(), 900_000, 9_000_000, 333_000_000));
    assert_eq!(timing(&erase, &["drive.cell=slc"]), (vec![25_000], 250_000, 1_750_000, 333_000_000));
    assert_eq!(timing(&erase, &["drive.cell=slc", "drive.timing.read=1 us"]).0, vec![1_000]);
    assert_eq!(timing(&erase, &["drive.timing.read=1 us", "drive.cell=slc"]).0, vec![25_000]);
    assert_eq!(timing(&erase, &["drive.cell=none"]), (vec![75_000], 750_000, 9_000_000, 333_000_000));
    assert_eq!(timing(TIMED, &["drive.timing.read=\"60 us\""]).0, vec![60_000]);
    assert_eq!(timing(TIMED, &["drive.timing.read=['60 us', '70 us']"]).0, vec![60_000, 70_000]);

    let bare = good(ALL, &["drive.chip=none"]).medium;
    assert_eq!((bare.chip, bare.ecc, bare.variation), (None, EccSpec::default(), Variation::default()));
    let named = good(&format!("{OWN_CHIP}[drive.ecc]\nstrength = 3"), &["drive.chip=mlc-3xnm-2011"]).medium;
    assert_eq!((named.chip.unwrap().name.as_str(), named.ecc.strength), ("mlc-3xnm-2011", Some(3)));
    assert_eq!(good(OWN_CHIP, &["drive.chip.k=3"]).medium.chip.unwrap().model.k, 3.0);

    let plain = good(ALL, &["time.scheduler=timeline"]).time;
    assert_eq!(
        (plain.order, plain.processors, plain.drive_writes_per_day),
        (Order::FirstCome, None, Some(WritesPerDay::Rate(1.5)))
    );
    let timeline = good("[drive]\npreset = 'fast19-ssd'\n[time]\nscheduler = 'timeline'", &[]).time;
    assert_eq!((timeline.processors, timeline.order), (None, Order::FirstCome));
    let first = good(ALL, &["time.order=first-come"]).time;
    assert_eq!((first.read_priority, first.suspend, first.processors), (false, Suspend::None, Some(4)));
    let fast19 = good("[drive]\npreset = 'fast19-ssd'\n[time]\nscheduler = 'event'", &[]).time;
    assert_eq!((fast19.order, fast19.processors, fast19.think_time), (Order::Priority, Some(8), Nanos(1_000)));
}

#[test]
fn arrivals_outlive_another_workload_but_not_its_trace() {
    let arrival = |text: &str, set: &[&str]| good(text, set).phases[0].arrival;
    assert_eq!(arrival(TIMED, &["workload.arrival={ poisson = '0.5 ms' }"]), Arrival::Poisson(500_000));
    assert_eq!(arrival(TIMED, &["workload.arrival.poisson=0.5 ms"]), Arrival::Poisson(500_000));
    assert_eq!(arrival(TIMED, &["workload.standin=rad-be"]), Arrival::QueueDepth(16));
    let trace = "[time]\nscheduler = 'event'\n[workload]\ntrace = 'a.csv'\narrival = 'trace'";
    assert_eq!(arrival(trace, &[]), Arrival::Trace);
    assert_eq!(arrival(trace, &["workload.trace=b.csv"]), Arrival::Trace);
    assert_eq!(arrival(trace, &["workload.pattern=uniform"]), Arrival::QueueDepth(1));
}

#[test]
fn a_probe_serves_what_the_run_ends_with_unless_it_says_otherwise() {
    let text = "[time]\nscheduler = 'event'\n[[phase]]\nuntil = { requests = 5 }\n[[phase]]\nworkload = { pattern = 'zipf', \
                arrival = { queue-depth = 3 } }\nuntil = { requests = 5 }\n[probe]\nat-drive-writes = [0, 1]\n";
    let probe = |more: &str| {
        let probe = good(&format!("{text}{more}"), &[]).probe.unwrap();
        let Workload::Pattern(spec) = probe.workload else { panic!("a pattern") };
        (spec.pattern.name(), probe.arrival)
    };
    assert_eq!(probe(""), ("zipf", Arrival::QueueDepth(3)));
    assert_eq!(probe("workload = {}"), ("zipf", Arrival::QueueDepth(3)));
    assert_eq!(probe("workload = { arrival = { poisson = '1 ms' } }"), ("zipf", Arrival::Poisson(1_000_000)));
    assert_eq!(probe("workload = { read-share = 0.5 }"), ("uniform", Arrival::QueueDepth(1)));
    let scenario = good(text, &[]);
    let probe = scenario.probe.unwrap();
    assert_eq!((probe.requests, probe.retention_days), (100_000, 0.0));
    let mut traced = good(ALL, &[]);
    traced.relative_to(Path::new("/somewhere"));
    assert_eq!(traced.traces(), [Path::new("/somewhere/a.csv")]);
}

#[test]
fn a_hash_leaves_out_what_an_untimed_run_does_not_heed() {
    let plain = good("[drive]\npreset = 'mlc-8g'", &[]).hash();
    let silent = [
        "drive.timing.read=1 us",
        "drive.initial={ reads = 0 }",
        "drive.variation={}",
        "drive.thermal.ambient=40",
        "time={ scheduler = 'none', order = 'priority', processors = 3 }",
    ];
    let telling = [
        "drive.chip=tlc-72l-2018",
        "drive.cell=qlc",
        "drive.initial.erase-count=100",
        "drive.initial.retention=1 day",
        "drive.faults.factory-bad=1 %",
        "time.drive-writes-per-day=1",
        "time.scheduler=event",
        "time.scheduler=timeline",
    ];
    for set in silent {
        assert_eq!(good("[drive]\npreset = 'mlc-8g'", &[set]).hash(), plain, "{set}");
    }
    let mut seen = vec![plain];
    for set in telling {
        let hash = good("[drive]\npreset = 'mlc-8g'", &[set]).hash();
        assert!(!seen.contains(&hash), "{set}");
        seen.push(hash);
    }
    for set in ["workload.arrival.queue-depth=2", "drive.timing.erase=1 us", "time.gc=background"] {
        let hash = good(TIMED, &[set]).hash();
        assert!(!seen.contains(&hash) && hash != good(TIMED, &[]).hash(), "{set}");
    }
}

/// Resolves each text, with an end added if it has none, and checks that the error contains the given part.
fn check_refusals(table: &[(&str, &str)]) {
    for (text, want) in table {
        let ends = text.contains("[until]") || text.contains("[[phase]]");
        let text = if ends { (*text).to_owned() } else { format!("{text}\n[until]\ndrive-writes = 1") };
        let error = resolve(&text, &[]).expect_err(&text).to_string();
        assert!(error.contains(want), "{text}\n  said: {error}\n  want: {want}");
        assert!(!error.contains('\n'), "one line: {error}");
    }
}

#[test]
fn flash_that_cannot_be_is_refused_in_one_sentence() {
    check_refusals(&[
        ("[drive]\nchip = 'tlc-72l-2081'", "drive.chip: found \"tlc-72l-2081\", expected none, mlc-3xnm-2011"),
        ("[drive]\nchip = 'tlc-72l-2081'", "did you mean \"tlc-72l-2018\"?"),
        ("[drive]\nchip = 3", "expected none, mlc-3xnm-2011"),
        ("[drive.chip]\nk = 2.0", "drive.chip.epsilon: is missing; `wane rber fit` writes all keys"),
        ("[drive.chip]\nalhpa = 2.0", "drive.chip.alhpa: unknown key; did you mean \"alpha\"?"),
        ("[drive.chip]\nalpha = -1e-9", "drive.chip.alpha: found -0.000000001, expected a number from 0 on"),
        ("[drive.chip]\nalpha = inf", "drive.chip.alpha: found inf"),
        ("[drive.chip]\nalpha = '1'", "found \"1\", expected a number"),
        ("[drive.chip]\ndata = 3", "expected a table [drive.chip.data]"),
        ("[drive.chip.data]\ndays = [9, 1]", "drive.chip.data.days: found [9, 1], expected [least, most]"),
        ("[drive.chip.data]\ndays = [0, inf]", "expected [least, most]"),
        ("[drive.chip.data]\ndyas = [0, 1]", "did you mean \"days\"?"),
        ("[drive]\ncell = 'plc'", "drive.cell: found \"plc\", allowed are none, slc, mlc, tlc, qlc"),
        ("[drive.timing]\nread = 75", "drive.timing.read: found 75, expected a duration with its unit"),
        ("[drive.timing]\nread = '75'", "'75' is not a duration"),
        (
            "[drive.timing]\nread = '0 us'",
            "found \"0 us\", expected a duration with its unit, \"1 ns\" to \"10 s\", or a list",
        ),
        ("[drive.timing]\nread = []", "found [], expected"),
        ("[drive.timing]\nread = ['1 us', '2 us', '1 us', '1 us', '1 us']", "or a list of 1 to 4"),
        ("[drive.timing]\nread = ['1 us', 'x']", "'x' is not a duration"),
        (
            "[drive]\ncell = 'tlc'\ntiming = { program = ['1 us', '2 us'] }",
            "1 or 3 are allowed, as tlc has 3 page types",
        ),
        ("[drive.timing]\nerase = ['1 us']", "drive.timing.erase: found [\"1 us\"], expected"),
        ("[drive.timing]\nchannel-rate = '667 MB'", "'667 MB' is not a rate"),
        ("[drive.timing]\nchannel-rate = '0 B/s'", "expected a rate, \"1 kB/s\" to"),
        ("[drive.timing]\nchanel-rate = 'none'", "did you mean \"channel-rate\"?"),
        ("[drive]\ntimings = {}", "did you mean \"timing\"?"),
        ("[drive]\ntiming = '1 us'", "drive.timing: found \"1 us\", expected a table [drive.timing]"),
        ("[timing]\nread = '1 us'", "timing: unknown key"),
    ]);
}

#[test]
fn errors_that_cannot_be_are_refused_in_one_sentence() {
    check_refusals(&[
        ("[drive]\nstrength = 75", "unknown key here; it belongs to [drive.ecc]"),
        ("[drive.ecc]\nstrength = 75", "drive.ecc: means nothing without raw bit errors; name a chip in drive.chip"),
        ("[drive]\nchip = 'none'\n[drive.ecc]\nstrength = 75", "drive.ecc: means nothing"),
        ("[drive.variation]\nblocks = 0.1", "drive.variation: means nothing"),
        (
            "[drive]\nchip = 'tlc-72l-2018'\necc = { codeword = '3 KiB' }",
            "drive.ecc.codeword: found 3 KiB, which does not divide the mapping unit, 4 KiB",
        ),
        (
            "[drive]\nchip = 'tlc-72l-2018'\nlogical-capacity = '600 MB'\npage-size = '600 B'",
            "found 512 B, which does not divide the mapping unit, 600 B",
        ),
        ("[drive]\nchip = 'tlc-72l-2018'\necc = { scale = 1 }", "found 1, expected a number above 1, up to 1000000"),
        ("[drive]\nchip = 'tlc-72l-2018'\necc = { draws = 'expect' }", "did you mean \"expected\"?"),
        (
            "[drive]\nchip = 'tlc-72l-2018'\necc = { detail = 'pages', draws = 'sticky' }",
            "drive.ecc.detail: found \"pages\", which draws re-reads independently",
        ),
        (
            "[drive]\nchip = 'tlc-72l-2018'\necc = { detail = 'one-codeword' }",
            "allowed are codewords, pages; write drive.ecc.checks-per-read = \"one-codeword\" instead",
        ),
        ("[drive.chip]\nk = 20.05", "drive.chip.k: found 20.05, expected a number from 0 to 10"),
        ("[drive.chip]\nepsilon = 7", "drive.chip.epsilon: found 7, expected a number from 0 to 0.5"),
        ("[drive.variation]\nblocks = -0.1", "expected a number from 0 to 2"),
        ("[drive.variation]\nlayers = 2.5", "expected a number from 0 to 2"),
        ("[drive.initial]\nretention = '90'", "'90' is not a duration"),
        ("[drive.initial]\nretention = '5 ms'", "expected a duration in whole seconds"),
        ("[drive.initial]\nretention = ['9 days', '3 days']", "found [\"9 days\", \"3 days\"], expected"),
        ("[drive.initial]\nretention = ['9 days']", "found [\"9 days\"], expected"),
        ("[drive.initial]\nretention = ['none', '3 days']", "drive.initial.retention: 'none' is not a duration"),
        ("[drive.initial]\nretention = '101 years'", "\"36500 days\""),
        ("[drive.initial]\nerase-count = -1", "found -1"),
        ("[drive.initial]\nerase-count = 4_294_967_295", "found 4294967295"),
        ("[drive.faults]\nprogram-failure = 1.5", "expected a number from 0 to 1"),
        ("[drive.faults]\nfactory-bad = '200 %'", "expected 0 to 1"),
    ]);
}

#[test]
fn a_clock_that_contradicts_itself_is_refused_in_one_sentence() {
    let event = |keys: &str| format!("[time]\nscheduler = 'event'\n{keys}");
    let timeline = |keys: &str| format!("[time]\nscheduler = 'timeline'\n{keys}");
    let contradicts = "contradicts order = \"first-come\"; give order = \"priority\"";
    let needs = "needs scheduler = \"event\"";
    let table = [
        (event("order = 'first-come'\nread-priority = true"), contradicts),
        (event("suspend = 'erase'"), "time.suspend: contradicts order = \"first-come\""),
        (timeline("order = 'priority'"), "time.order: needs scheduler = \"event\"; the timeline serves"),
        (timeline("suspend = 'program'"), needs),
        (timeline("read-priority = true"), needs),
        (timeline("gc = 'background'"), needs),
        (timeline("gc = 'free'\n[ftl]\nrecovery = 'full-scan'"), "time.gc: \"free\" does not go with ftl.recovery"),
        (timeline("gc = 'rotating'"), "time.gc: needs scheduler = \"event\""),
        (event("gc = 'rotating'"), "time.gc: \"rotating\" needs ftl.redundancy = \"rain\""),
        (timeline("multi-plane = true"), needs),
        (timeline("write-cache = '1 MiB'"), needs),
        (timeline("processors = 8"), needs),
        (timeline("link-rate = '550 MB/s'"), needs),
        (timeline("command-time = '1 us'"), needs),
        ("[time]\nprocessors = 8".into(), "time.processors: has no effect on an untimed run; give time.scheduler"),
        ("[time]\nscale = 0.5".into(), "time.scale: has no effect"),
        (event("scale = 0"), "time.scale: found 0, expected a number above 0"),
        (event("scale = -1.5"), "found -1.5, expected a number above 0"),
        (event("drive-writes-per-day = 0"), "expected none, trace, or a number above 0, up to 1000000"),
        (event("drive-writes-per-day = 'much'"), "found \"much\""),
        (event("write-cache = '16'"), "'16' is not a size"),
        (event("write-cache = '1 B'"), "expected a size with its unit, \"512 B\" to \"1 TiB\", or `\"none\"`"),
        (event("processors = 0"), "found 0"),
        (event("think-time = 1"), "time.think-time: found 1, expected a duration"),
        ("[time]\nscheduler = 'events'".into(), "did you mean \"event\"?"),
        ("[time]\nschedular = 'event'".into(), "did you mean \"scheduler\"?"),
    ];
    let table: Vec<(&str, &str)> = table.iter().map(|(text, want)| (text.as_str(), *want)).collect();
    check_refusals(&table);
}

#[test]
fn arrivals_and_probes_that_cannot_be_are_refused_in_one_sentence() {
    let event = |workload: &str| format!("[time]\nscheduler = 'event'\n[workload]\n{workload}");
    let probe = |keys: &str| format!("[time]\nscheduler = 'event'\n[probe]\n{keys}");
    let one_of = "expected one of `{ queue-depth = 16 }`";
    let ages = "expected a list of 1 to 10000 ascending numbers";
    let table = [
        (
            "[workload]\narrival = { queue-depth = 2 }".into(),
            "workload.arrival: has no effect on an untimed run; give time.scheduler",
        ),
        (
            "[[phase]]\nuntil = { requests = 1 }\nworkload = { arrival = { queue-depth = 2 } }".into(),
            "phase.0.workload.arrival: has no effect",
        ),
        (
            event("arrival = 'trace'"),
            "workload.arrival: \"trace\" needs the times of a trace, but the workload is a pattern",
        ),
        (event("standin = 'rad-be'\narrival = 'trace'"), "but the workload is a stand-in"),
        (event("mix = [{ share = 1, trace = 'a' }]\narrival = 'trace'"), "but the workload is a mixture"),
        (event("trace = 'a'\nformat = 'lis'\narrival = 'trace'"), "but format = \"lis\" has none"),
        (
            event("mix = [{ share = 1, arrival = 'trace' }]"),
            "workload.mix.0.arrival: unknown key here; it belongs to [workload]",
        ),
        (event("arrival = 'traces'"), one_of),
        (event("arrival = 16"), one_of),
        (event("arrival = {}"), one_of),
        (event("arrival = { queue-depth = 1, poisson = '1 ms' }"), one_of),
        (
            event("arrival = { queue-depth = 0 }"),
            "workload.arrival.queue-depth: found 0, expected a whole number from 1 to 65536",
        ),
        (event("arrival = { queue-depth = 'x' }"), "found \"x\", expected a whole number"),
        (event("arrival = { queue-dept = 1 }"), "did you mean \"queue-depth\"?"),
        (event("arrival = { poisson = '1' }"), "'1' is not a duration"),
        (event("arrival = { poisson = '0 s' }"), "workload.arrival.poisson: found \"0 s\", expected a duration"),
        (event("arrival = { normal = ['1 ms'] }"), "expected a mean and a standard deviation"),
        (event("arrival = { normal = ['1 ms', 1] }"), "found [\"1 ms\", 1], expected a mean and a standard deviation"),
        (
            "[probe]\nat-drive-writes = [1]".into(),
            "probe: needs a clock; give time.scheduler = \"event\" or \"timeline\"",
        ),
        ("[time]\nscheduler = 'none'\n[probe]\nat-drive-writes = [1]".into(), "probe: needs a clock"),
        (probe(""), "probe.at-drive-writes: is missing"),
        (probe("at-drive-writes = []"), ages),
        (probe("at-drive-writes = 3"), ages),
        (probe("at-drive-writes = [1, 1]"), ages),
        (probe("at-drive-writes = [2, 1]"), ages),
        (probe("at-drive-writes = [-1, 1]"), ages),
        (probe("at-drive-writes = [nan]"), ages),
        (probe("at-drive-writes = [1]\nuntil = { drive-writes = 3 }"), "probe.until.drive-writes: unknown key here"),
        (probe("at-drive-writes = [1]\nuntil = { requests = 0 }"), "expected a whole number from 1"),
        (probe("at-drive-writes = [1]\nretention = '1 ms'"), "expected a duration in whole seconds"),
        (probe("at-drive-writes = [1]\nworkload = { pattern = 'zip' }"), "did you mean \"zipf\"?"),
        (probe("at-drive-writes = [1]\nworkload = { footprint = 0 }"), "probe.workload.footprint: covers no page"),
        (probe("at-drive-writes = [1]\nworkload = { arrival = 'trace' }"), "probe.workload.arrival: \"trace\" needs"),
        (probe("at-drive-writes = [1]\nworkload = { standin = 'x' }"), "probe.workload.standin: found \"x\""),
        (probe("at-drive-writes = [1]\nworkload = 3"), "expected a table as `[workload]`"),
    ];
    let table: Vec<(&str, &str)> = table.iter().map(|(text, want): &(String, &str)| (text.as_str(), *want)).collect();
    check_refusals(&table);
}

#[test]
fn keys_without_effect_are_told_with_the_reason() {
    const CHIP: &[&str] = &["drive.chip=\"tlc-72l-2018\"", "drive.endurance=\"none\""];
    let cases: [(&[&str], &str, &str); 19] = [
        (&["time.write-cache-latency=\"5 us\""], "time.write-cache-latency", "time.write-cache=\"1 MiB\""),
        (&["time.think-time=\"2 us\""], "time.think-time", "time.processors=8"),
        (&["time.scale=0.5"], "time.scale", "time.scale=1"),
        (&["time.multi-plane=true"], "time.multi-plane", "drive.planes-per-die=2"),
        (&["time.scheduler=\"none\"", "drive.timing.read=\"9 us\""], "drive.timing", "time.scheduler=\"timeline\""),
        (&["drive.ecc.rereads-max=3"], "drive.ecc.rereads-max", "drive.ecc.strength=50"),
        (
            &["drive.ecc.strength=50", "drive.ecc.sensing=\"soft\"", "drive.ecc.scale=3"],
            "drive.ecc.scale",
            "drive.ecc.scale=2",
        ),
        (&["drive.ecc.sensing=\"soft\"", "drive.ecc.scale=2"], "drive.ecc.sensing", "drive.ecc.strength=50"),
        (
            &["drive.ecc.strength=50", "drive.ecc.draws=\"table\"", "drive.ecc.scale=3"],
            "drive.ecc.scale",
            "drive.ecc.scale=2",
        ),
        (&["time.drive-writes-per-day=1"], "time.drive-writes-per-day", "probe.at-drive-writes=[0]"),
        (&["time.order=\"priority\""], "time.order", "time.gc=\"preemptible\""),
        (&["drive.variation.layer-count=9"], "drive.variation.layer-count", "drive.variation.layers=0.1"),
        (
            &["drive.initial.erase-count-spread=0.1"],
            "drive.initial.erase-count-spread",
            "drive.initial.erase-count=100",
        ),
        (&["drive.initial.reads=5"], "drive.initial.reads", "drive.chip=\"tlc-72l-2018\""),
        (&["ftl.gc-unforced=1"], "ftl.gc-unforced", "ftl.gc-unforced=40"),
        (&["ftl.remap-log=\"2 MiB\""], "ftl.remap-log", "ftl.recovery=\"full-scan\""),
        (&["drive.power-loss-protection=false"], "drive.power-loss-protection", "ftl.recovery=\"full-scan\""),
        (&["drive.wordline-pages=3"], "drive.wordline-pages", "ftl.recovery=\"full-scan\""),
        (&["drive.faults.lost-die-at=2"], "drive.faults.lost-die-at", "drive.faults.lost-die=1"),
    ];
    for (set, key, remedy) in cases {
        let chip = if set.iter().any(|set| set.contains(".ecc.") || set.contains("variation")) { CHIP } else { &[] };
        let mut set = [chip, &["drive.endurance=\"none\"", "ftl.gc-reserve=3"], set].concat();
        let told = good(TIMED, &set).without_effect();
        let [sentence] = &told[..] else { panic!("{set:?}: {told:?}") };
        assert!(sentence.starts_with(&format!("{key} has no effect: ")), "{set:?}: {sentence}");
        set.push(remedy);
        assert_eq!(good(TIMED, &set).without_effect(), [""; 0], "{set:?}");
    }
    let presets = PRESETS.iter().map(|preset| format!("drive.preset=\"{}\"", preset.name));
    for preset in presets {
        for scheduler in ["none", "event"] {
            let set = [&*preset, &format!("time.scheduler=\"{scheduler}\""), "until.requests=1"];
            assert_eq!(good("", &set).without_effect(), [""; 0], "{set:?}");
        }
    }
    assert_eq!(good(ALL, &[]).without_effect(), [""; 0]);
}

#[test]
fn a_fill_that_random_writes_undo_is_told() {
    let told = |set: &[&str]| good(TIMED, &[&["drive.endurance=\"none\""][..], set].concat()).without_effect();
    let (fill, random) = ("precondition.fill=0.8", "precondition.random-drive-writes=2");
    let both = told(&[fill, random]);
    let [sentence] = &both[..] else { panic!("{both:?}") };
    assert!(sentence.contains("also of the 20.0 % that precondition.fill leaves empty"), "{sentence}");
    for set in [&[fill][..], &[random], &["precondition.fill=1", random]] {
        assert_eq!(told(set), [""; 0], "{set:?}");
    }
}

#[test]
fn an_error_points_into_nested_tables() {
    let text = TIMED.replace("\"3.8 ms\"", "\"3.8\"");
    let error = resolve(&text, &[]).unwrap_err();
    assert_eq!((error.line(), error.key.as_str()), (Some(14), "drive.timing.erase"));
    assert_eq!(&text[error.span.unwrap()], "erase = \"3.8\"");
    let error = resolve(TIMED, &["drive.timing.raed=1 us"]).unwrap_err().to_string();
    assert!(error.ends_with("drive.timing.raed: unknown key; did you mean \"read\"?"), "{error}");
}

#[test]
fn policies_that_would_never_act_are_refused() {
    let table = [
        ("scrub = 'oracle'", "ftl.scrub: oracle goes by errors, of which there are none"),
        ("scrub = 'cost-benefit'", "ftl.scrub: cost-benefit goes by errors"),
        ("scrub = { policy = 'age', days = 3 }", "ftl.scrub: age goes by time, of which none passes"),
        (
            "retire = 'never'\n[drive]\nfaults = { lost-die = 1 }",
            "drive.faults.lost-die: found 1; the drive has 1 die, so that 0 is allowed",
        ),
        ("[drive]\ninitial = { erase-count = 500 }", "drive.initial.erase-count: found 500, but blocks retire at 500"),
        ("scrub = 'patrol'", "ftl.scrub: patrol goes by time"),
        ("retire = 'rber'", "ftl.retire: rber goes by errors"),
        ("redundancy = 'raid'", "ftl.redundancy: unknown policy \"raid\", allowed are none, stripes, selective"),
        (
            "redundancy = { policy = 'stripes', data-pages = 0 }",
            "`data-pages`: found 0, expected a whole number from 1 to 1024",
        ),
    ];
    for (text, want) in table {
        let text = format!("[ftl]\n{text}\n[until]\nrequests = 5");
        let error = resolve(&text, &[]).unwrap_err().to_string();
        assert!(error.contains(want), "{error}");
    }
    for text in ["[ftl]\nscrub = 'read-count'", "[ftl]\nscrub = 'age'\n[time]\ndrive-writes-per-day = 1"] {
        good(text, &[]);
    }
}

#[test]
fn the_times_of_a_cell_are_those_of_its_table() {
    // (cell, page types, mean read, mean program)
    let table = [
        (CellKind::Slc, 1, 25_000, 250_000),
        (CellKind::Mlc, 2, 50_000, 750_000),
        (CellKind::Tlc, 3, 75_000, 1_125_000),
        (CellKind::Qlc, 4, 100_000, 1_500_000),
    ];
    for (cell, types, read, program) in table {
        let timing = good("", &[&format!("drive.cell={}", cell.name())]).medium.timing;
        let mean =
            |times: &[Nanos]| (times.len(), times.iter().map(|time| time.0).sum::<u64>().div_ceil(times.len() as u64));
        assert_eq!((mean(&timing.read), mean(&timing.program)), ((types, read), (types, program)), "{}", cell.name());
        assert!(timing.read.is_sorted() && timing.program.is_sorted());
    }
}

#[test]
fn probes_may_go_by_wear_and_wait_for_the_end() {
    let text = "[drive]\nendurance = 9\n[time]\nscheduler = 'event'\n[until]\nend-of-life = true\n[probe]\n";
    let probe = |more: &str, set: &[&str]| good(&format!("{text}{more}"), set).probe.unwrap();
    let by_wear = probe("at-wear = ['30 %', 0.6]", &[]);
    assert_eq!((&by_wear.ages, by_wear.at_end_of_life), (&Ages::Wear(vec![0.3, 0.6]), false));
    assert_eq!(by_wear.ages.in_words(), "30, 60 % of the rated wear");
    assert_eq!(by_wear.ages.told(1).unwrap(), "60 % of the rated wear");
    // A layer above asks for other ages; the end stays.
    let both = probe("at-wear = [0.3]\nat-end-of-life = true", &["probe.at-drive-writes=[1, 2]"]);
    assert_eq!((both.ages, both.at_end_of_life), (Ages::DriveWrites(vec![1.0, 2.0]), true));
    assert_eq!(probe("at-end-of-life = true", &[]).ages.count(), 0);
    let refused = |more: &str| format!("{text}{more}");
    check_refusals(&[
        (&refused(""), "probe.at-drive-writes: is missing; say when to look"),
        (&refused("at-end-of-life = false"), "probe.at-drive-writes: is missing"),
        (&refused("at-wear = [0.1]\nat-days = [1]"), "probe.at-wear: stands beside at-days; give one of the two"),
        (
            &refused("at-wear = ['60 %', '30 %']"),
            "probe.at-wear: found [\"60 %\", \"30 %\"], expected a list of 1 to 10000 ascending shares",
        ),
        (&refused("at-wear = ['130 %']"), "probe.at-wear"),
        (
            &refused("at-wear = [0.5]\n[ftl]\nretire = 'never'")
                .replace("[until]\nend-of-life = true\n", "[until]\ndrive-writes = 1\n"),
            "probe.at-wear: needs a rated number of erases",
        ),
        (
            &refused("at-end-of-life = true\n[ftl]\nretire = 'never'")
                .replace("[until]\nend-of-life = true\n", "[until]\ndrive-writes = 1\n"),
            "probe.at-end-of-life: never comes",
        ),
    ]);
}

/// Days need a calendar: a rate, the pace of the workload's trace, or the clock of a timed run.
#[test]
fn days_are_counted_by_a_rate_a_trace_or_the_clock() {
    let looked = "[drive]\npreset = 'mlc-8g'\n[time]\nscheduler = 'event'\n[probe]\nat-years = [1, 2.5]\n";
    let aged = "[drive]\npreset = 'mlc-8g'\n[until]\nyears = 2\n";
    let trace = "[workload]\ntrace = 'a.csv'\n";
    let rate = "time.drive-writes-per-day=0.5";
    let calendar = |text: &str, set: &[&str]| good(text, set).time.drive_writes_per_day;
    let ended = format!("{looked}[until]\ndrive-writes = 1\n");
    assert_eq!(calendar(&ended, &[rate]), Some(WritesPerDay::Rate(0.5)));
    assert_eq!(calendar(&format!("{ended}{trace}"), &[]), Some(WritesPerDay::TRACE));
    assert_eq!(calendar(&format!("{aged}{trace}"), &[]), Some(WritesPerDay::TRACE));
    assert_eq!(calendar(&format!("{aged}[time]\nscheduler = 'event'"), &[]), None, "it has a clock");
    let ages = good(&ended, &[rate]).probe.unwrap().ages;
    assert_eq!(ages, Ages::Days(vec![365.0, 912.5]));
    assert_eq!((ages.told(0), ages.told(1)), (Some("1 year".to_owned()), Some("2.5 years".to_owned())));
    assert_eq!(good(aged, &[rate]).phases[0].until.days, Some(730.0));
    assert_eq!(good(aged, &[rate, "until.days=3"]).phases[0].until.days, Some(3.0));
    assert_eq!(good(&ended, &[rate, "probe.at-drive-writes=[1]"]).probe.unwrap().ages, Ages::DriveWrites(vec![1.0]));
    let nothing_writes = "[workload]\nread-share = 1\n[time]\nscheduler = 'event'";
    assert_eq!(good(&format!("{aged}{nothing_writes}"), &[]).phases[0].until.days, Some(730.0));
    check_refusals(&[
        (
            &ended,
            "line 6: probe.at-years: needs a calendar, and the workload is a pattern; give time.drive-writes-per-day",
        ),
        (aged, "line 4: until.years: needs a calendar, and the workload is a pattern"),
        (
            &format!("{aged}[workload]\ntrace = 'a.lis'\nformat = 'lis'"),
            "needs a calendar, and format = \"lis\" has none",
        ),
        ("[until]\nyears = 1\ndays = 1", "until.years: stands beside days"),
        ("[time]\ndrive-writes-per-day = 'trace'", "needs the times of a trace, but the workload is a pattern"),
        (
            "[time]\nscheduler = 'event'\ndrive-writes-per-day = 1\n[probe]\nat-days = [1]\nat-drive-writes = [1]",
            "probe.at-days: stands beside at-drive-writes",
        ),
        (&format!("{aged}[workload]\nread-share = 1\n[time]\ndrive-writes-per-day = 1"), "its workload writes nothing"),
    ]);
}
