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

const ALL: &str = r#"
[drive]
preset = "fast19-ssd"
chip = "tlc-72l-2018"
cell = "tlc"
[drive.timing]
read = ["40 us", "60 us", "80 us"]
suspend = "7 us"
[drive.ecc]
codeword = "1 KiB"
strength = 75
rereads-max = 3
scale = 1.5
draws = "sticky"
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

const OWN_CHIP: &str = "[drive.chip]\nepsilon = 1e-3\nalpha = 1e-10\nbeta = 0.0\ngamma = 0\nk = 2.0\nm = 0.0\nn = 0.0\np = 0.0\nq = \
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

/// What an untimed scenario that says nothing of time and errors resolves to, by FNV-1a, must never change.
#[test]
fn untimed_scenarios_resolve_and_hash_as_they_always_did() {
    let fnv = |text: &str| {
        let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        text.bytes().fold(0xcbf2_9ce4_8422_2325, step)
    };
    // (preset, hash, FNV-1a of the TOML)
    let table = [
        ("ftlsim-256g", "2fa65b33390bcb2e", 0xfce0_b7e1_6465_8192_u64),
        ("ftlsim-8g", "434b8185a1745829", 0x0d32_ec46_b734_c516),
        ("tiny", "a56205bd03754c50", 0x9c53_e83f_e05b_0b7a),
        ("amber-mlc", "5cae9393c7b481a3", 0x5fc1_d831_cf54_c68d),
        ("femu-16g", "9f3f6f68acffa66d", 0x6da3_483c_a1f2_dfff),
        ("cvss-128g", "fdf89789495781fb", 0x0e68_c7a7_489f_25f3),
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
        read: vec![75_000],
        program: vec![750_000],
        erase: 3_800_000,
        channel_bytes_per_second: Some(333_000_000),
        suspend: 20_000,
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
        read: vec![40_000, 60_000, 80_000],
        program: vec![900_000, 1_125_000, 1_350_000],
        erase: 5_000_000,
        channel_bytes_per_second: Some(667_000_000),
        suspend: 7_000,
    };
    assert_eq!((medium.cell, &medium.timing), (Some(CellName::Tlc), &timing));
    let codeword = wane_units::Bytes(1024);
    let ecc = EccSpec { codeword, strength: Some(75), rereads_max: Some(3), scale: 1.5, draws: Draws::Sticky };
    assert_eq!(medium.ecc, ecc);
    assert_eq!(medium.variation, Variation { blocks: 0.1, layers: 0.2, layer_count: 64 });
    let erase_count_spread = Ratio::new(0.04).unwrap();
    let initial =
        Initial { erase_count: Some(3000), erase_count_spread, retention_days: Some((30.0, 90.5)), reads: 17 };
    assert_eq!(medium.initial, initial);
    let factory_bad = Ratio::new(0.01).unwrap();
    assert_eq!(medium.faults, FaultSpec { factory_bad, program_failure: 1e-5, erase_failure: 2e-5 });
    let time = Time {
        scheduler: Scheduler::Event,
        drive_writes_per_day: Some(1.5),
        scale: 0.5,
        order: Order::Priority,
        read_priority: true,
        suspend: Suspend::Both,
        gc: Collection::Preemptible,
        multi_plane: true,
        write_cache: Some(wane_units::Bytes(64 << 20)),
        write_cache_latency: 9_000,
        processors: Some(4),
        think_time: 2_000,
    };
    assert_eq!(scenario.time, time);
    assert_eq!(scenario.phases[0].arrival, Arrival::Normal { mean_ns: 100_000_000, sd_ns: 10_000_000 });
    let probe = scenario.probe.unwrap();
    assert_eq!((probe.at_drive_writes, probe.requests, probe.retention_days), (vec![0.0, 0.5, 10.0], 7, 90.0));
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
    for text in [TIMED, ALL, &own, plain, faster, aged, on_purpose, quiet, kept, phases] {
        for set in [&[][..], &["drive.cell=slc"], &["drive.preset=fast19-ssd"], &["drive.preset=cvss-128g"]] {
            let once = good(text, set);
            let twice = resolve(&once.to_toml(), &[]).unwrap_or_else(|error| panic!("{error}\n{}", once.to_toml()));
            assert_eq!((&once, once.hash(), once.to_toml()), (&twice, twice.hash(), twice.to_toml()), "{text}");
        }
    }
}
