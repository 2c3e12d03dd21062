use super::layer::Layer;
use super::schema::sections;
use super::*;

pub(super) const EXAMPLE: &str = r#"
seed = 1
[drive]
preset           = "ftlsim-256g"
logical-capacity = "8 GiB"
spare-factor     = "10 %"            # (physical - logical) / physical
page-size        = "4 KiB"
pages-per-block  = 256
endurance        = 500               # rated P/E cycles, which policies read; or "none"
[ftl]
gc               = { policy = "greedy" }
wear-leveling    = { policy = "pwl", threshold = "50 %" }
capacity         = "fixed"           # or "variant", or { policy = "variant", shrink = "graceful", relocation-bound = "1 GiB" }
[precondition]
sequential-drive-writes = 1
random-drive-writes     = 3
[workload]
pattern   = "hot-cold"               # r of the writes go to h of the footprint
r         = 0.9
h         = 0.1
footprint = "100 %"
[until]
drive-writes = 100
end-of-life  = true                  # whichever comes first
"#;

pub(super) const PHASES: &str = r#"
[drive]
preset = "amber-mlc"
blocks-per-plane = 64
[[phase]]
workload = { mix = [{ share = "70 %", pattern = "zipf", exponent = 1.1 }, { share = 0.3, trace = "a.csv", loop = false }] }
until = { requests = 1_000 }
[[phase]]
workload = { pattern = "hybrid", request-size = "16 KiB", read-share = 0.5 }
until = { drive-writes = 0.5, end-of-life = true }
"#;

fn resolve(text: &str, set: &[&str]) -> Result<Scenario, ScenarioError> {
    let set: Vec<String> = set.iter().map(|assignment| (*assignment).to_owned()).collect();
    Scenario::resolve(&Sources { preset: None, file: Some(("test.toml", text)), set: &set })
}

#[test]
fn the_example_resolves_as_written() {
    let scenario = resolve(EXAMPLE, &[]).unwrap();
    let device = &scenario.device;
    assert_eq!((device.logical_units, device.rated_blocks, device.blocks), (2_097_152, 9102, 9109));
    assert_eq!(device.endurance, Some(500));
    assert_eq!(scenario.ftl.wear_leveling.get("threshold").and_then(Value::as_str), Some("50 %"));
    assert_eq!(scenario.precondition.random_drive_writes, 3.0);
    let Workload::Pattern(spec) = &scenario.phases[0].workload else { panic!("a pattern") };
    assert!(matches!(spec.pattern, Pattern::HotCold { .. }) && spec.footprint_units == 2_097_152);
    assert_eq!(scenario.phases[0].until, Until { drive_writes: Some(100.0), end_of_life: true, ..Until::default() });
    assert_eq!(scenario.name, "test");
}

#[test]
fn the_published_drive_has_its_published_blocks() {
    let scenario = resolve("[drive]\npreset = 'ftlsim-256g'\n[until]\ndrive-writes = 1", &[]).unwrap();
    let device = &scenario.device;
    assert_eq!((device.logical_units, device.rated_blocks, device.blocks), (67_108_864, 291_271, 291_278));
}

#[test]
fn the_drives_of_the_papers_come_out() {
    // (preset, logical units, physical units, T, firmware blocks)
    let table = [
        ("ftlsim-8g", 2_097_152, 9109 * 256, 9102, 9109),
        ("amber-mlc", 67_004_006, 74_448_896, 145_401, 145_408),
        ("femu-16g", 3_932_160, 4_194_304, 253, 256),
        ("cvss-128g", 31_249_920, 33_554_432, 492, 512),
        ("fast19-ssd", 52_428_800, 67_108_864, 65_312, 65_536),
        ("mean-field", 7_130_316, 8_388_608, 124_520, 131_072),
    ];
    for (preset, logical, physical, rated, blocks) in table {
        let device = resolve(&format!("[drive]\npreset = '{preset}'\n[until]\ndrive-writes = 1"), &[]).unwrap().device;
        let got = (device.logical_units, device.physical_units(), device.rated_blocks, device.blocks);
        assert_eq!(got, (logical, physical, rated, blocks), "{preset}");
    }
}

#[test]
fn every_preset_resolves_and_says_what_it_is() {
    for preset in PRESETS {
        let sources = Sources { preset: Some(preset.name), file: Some(("t", "[until]\ndrive-writes = 1")), set: &[] };
        let scenario = Scenario::resolve(&sources).unwrap_or_else(|error| panic!("{}: {error}", preset.name));
        assert!(preset.summary().len() > 20 && scenario.device.logical_units > 0);
    }
}

/// Drives that one would buy are named by kind and capacity, and each of their keys says where its value comes from.
#[test]
fn presets_of_drives_on_sale_are_what_their_names_say() {
    let bought: Vec<_> =
        PRESETS.iter().filter(|preset| preset.name.starts_with(['t', 'q']) && preset.name != "tiny").collect();
    assert_eq!(bought.len(), 8);
    for preset in bought {
        let name = preset.name;
        let sources = Sources { preset: Some(name), file: Some(("t", "[until]\ndrive-writes = 1")), set: &[] };
        let scenario = Scenario::resolve(&sources).unwrap_or_else(|error| panic!("{name}: {error}"));
        let terabytes: f64 = name.trim_end_matches('t').rsplit('-').next().unwrap().parse().unwrap();
        let device = &scenario.device;
        assert!((device.logical_bytes() as f64 / 1e12 - terabytes).abs() < 1e-9, "{name}: {}", device.logical_bytes());
        let (cycles, surplus) = match name.split_once("-").unwrap() {
            ("tlc", kind) if kind.starts_with("enterprise") => (3000, 0.14),
            ("tlc", _) => (1500, 0.09),
            ("qlc", kind) if kind.starts_with("enterprise") => (1500, 0.14),
            _ => (1000, 0.09),
        };
        assert_eq!(device.endurance, Some(cycles), "{name}");
        let asked = over_provisioning_of(device.spare_factor);
        assert!((asked - surplus).abs() < 1e-9, "{name}: {asked}");
        // The reserve of garbage collection and whole planes add a little.
        assert!((device.over_provisioning() - surplus).abs() < 0.01, "{name}: {}", device.over_provisioning());
        let dies = f64::from(device.geometry.dies()) * if name.starts_with("tlc") { 68.7e9 } else { 137.4e9 };
        let flash = device.geometry.capacity().0 as f64;
        assert!((0.85..=1.0).contains(&(flash / dies)), "{name}: its dies have {dies}, its blocks {flash}");
        let lines: Vec<&str> = preset.text.lines().collect();
        for (number, line) in
            lines.iter().enumerate().filter(|(_, line)| line.contains(" = ") && !line.starts_with('#'))
        {
            let why = lines[number - 1];
            let told = why.starts_with("# ") && (why.contains("source: ") || why.contains("guessed: "));
            assert!(told, "{name}: {line} has neither a source nor is it guessed");
        }
    }
}

#[test]
fn a_resolved_scenario_resolves_to_itself() {
    let phases = "[[phase]]\nworkload = { pattern = 'zipf' }\nuntil = { requests = 5 }\n[[phase]]\nworkload = { standin = \
                  'rad-be' }\nuntil = { drive-writes = 0.5 }\n";
    let mix = "[workload]\nmix = [{ share = '70 %', pattern = 'uniform' }, { share = 0.3, pattern = 'jesd219' }]\n\
               [until]\ndrive-writes = 1\n";
    let geometry =
        "[drive]\npreset = 'amber-mlc'\nendurance = 'none'\n[ftl]\nunit = 'superblock'\n[until]\nrequests = 9";
    let graceful = "[ftl]\ncapacity = { policy = 'variant', shrink = 'graceful', relocation-bound = '1 GiB' }\n[until]\n\
                    end-of-life = true";
    let all_presets =
        PRESETS.iter().map(|preset| format!("[drive]\npreset = '{}'\n[until]\ndrive-writes = 2.5", preset.name));
    let texts = [EXAMPLE, phases, mix, geometry, graceful].map(str::to_owned).into_iter().chain(all_presets);
    for text in texts {
        let once = resolve(&text, &[]).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let twice = resolve(&once.to_toml(), &[]).unwrap_or_else(|error| panic!("{error}\n{}", once.to_toml()));
        assert_eq!(once.to_toml(), twice.to_toml());
        assert_eq!((once.hash(), once.device), (twice.hash(), twice.device));
    }
}

/// The table of garbage collection's policy in a resolved scenario.
fn resolved_gc(scenario: &Scenario) -> Table {
    let top: Table = scenario.to_toml().parse().unwrap();
    top["ftl"]["gc"].as_table().unwrap().clone()
}

#[test]
fn a_resolved_scenario_shows_defaults_of_policies_and_keeps_its_hash() {
    let gc = |gc: &str, set: &[&str]| {
        let text = format!("[ftl]\ngc = {gc}\n[until]\ndrive-writes = 1");
        resolve(&text, set).unwrap_or_else(|error| panic!("{error}"))
    };
    let left = gc("'d-choices'", &[]);
    let written = gc("{ policy = 'd-choices', d = 2 }", &[]);
    let wanted = "policy = 'd-choices'\nd = 2.0\ndefaults = ['d']".parse().unwrap();
    assert_eq!(resolved_gc(&left), wanted);
    assert_eq!(resolved_gc(&written), "policy = 'd-choices'\nd = 2".parse().unwrap());
    assert_ne!(left.hash(), written.hash(), "what is written counts, whatever it says");
    for scenario in [&left, &written] {
        let again = resolve(&scenario.to_toml(), &[]).unwrap();
        assert_eq!((again.hash(), &again.ftl), (scenario.hash(), &scenario.ftl));
    }
    // What is changed in a resolved scenario counts as if it had been written.
    for d in ["3", "3.0"] {
        let changed = resolve(&left.to_toml(), &[&format!("ftl.gc.d={d}")]).unwrap();
        assert_eq!(changed.hash(), gc("'d-choices'", &[&format!("ftl.gc.d={d}")]).hash());
    }
    let other = resolve(&left.to_toml(), &["ftl.gc=greedy"]).unwrap();
    assert_eq!(other.hash(), gc("'greedy'", &[]).hash());
    assert_eq!(resolved_gc(&gc("{ policy = 'd-choices', defaults = ['d'] }", &[])), wanted);
}

#[test]
fn layers_lie_over_each_other() {
    let over = |set: &[&str]| resolve(EXAMPLE, set).unwrap();
    let other = over(&["ftl.wear-leveling.policy=obp"]);
    assert_eq!(other.ftl.wear_leveling.len(), 1, "another policy takes no parameter of the one below");
    let same = over(&["ftl.wear-leveling.threshold='25 %'"]);
    assert_eq!(same.ftl.wear_leveling.get("policy").and_then(Value::as_str), Some("pwl"));
    assert_eq!(over(&["ftl.gc=d-choices", "ftl.gc.d=4"]).ftl.gc.get("d").and_then(Value::as_integer), Some(4));
    let zipf = over(&["workload.pattern=zipf"]);
    assert!(matches!(&zipf.phases[0].workload, Workload::Pattern(PatternSpec { pattern: Pattern::Zipf { .. }, .. })));
    assert_ne!(over(&["seed=2"]).hash(), over(&[]).hash());
    assert_eq!(over(&["name=other"]).hash(), over(&[]).hash());
    assert_eq!(over(&["drive.preset=ftlsim-8g"]).hash(), over(&[]).hash(), "the same drive by another name");
}

#[test]
fn keys_that_are_set_displace_inherited_ones() {
    let until = "\n[until]\ndrive-writes = 1";
    // (drive, logical units, T, blocks)
    let table = [
        ("logical-capacity = '1 GiB'", 262_144, 1137, 1144),
        ("blocks = 1000", 230_400, 993, 1000),
        ("blocks = 1000\nspare-factor = '20 %'", 204_800, 993, 1000),
        ("blocks = 1000\nlogical-capacity = '512 MiB'", 131_072, 993, 1000),
        ("spare-factor = '28 %'", 2_097_152, 11_377, 11_384),
        ("preset = 'amber-mlc'\nblocks-per-plane = 10\nlogical-capacity = '1 GiB'", 262_144, 1273, 1280),
        ("preset = 'amber-mlc'\nlogical-capacity = '1 GiB'", 262_144, 633, 640),
        ("page-size = '16 KiB'\nmapping-unit = '4 KiB'", 2_097_152, 2275, 2282),
    ];
    for (drive, logical, rated, blocks) in table {
        let device = resolve(&format!("[drive]\n{drive}{until}"), &[]).unwrap_or_else(|error| panic!("{error}")).device;
        assert_eq!((device.logical_units, device.rated_blocks, device.blocks), (logical, rated, blocks), "{drive}");
    }
}

#[test]
fn each_die_keeps_a_reserve_and_superblocks_come_whole() {
    let shape = "channels = 2\ndies-per-channel = 2\nplanes-per-die = 2\nlogical-capacity = '1 GiB'\n";
    // U is 1024 blocks, 128 superblocks of the drive or 512 of the dies. (unit, domain, T, flash blocks)
    let table = [
        ("block", "drive", 1137, 1137 + 7),
        ("block", "die", 1137 + 3, 1137 + 28 + 3),
        ("superblock", "drive", 142, (142 + 7) * 8),
        ("superblock", "die", 568, (568 + 28) * 2),
    ];
    for (unit, domain, rated, flash) in table {
        let text = format!("[drive]\n{shape}[ftl]\nunit = '{unit}'\ndomain = '{domain}'\n[until]\ndrive-writes = 1");
        let device = resolve(&text, &[]).unwrap().device;
        assert_eq!((device.rated_blocks, device.geometry.blocks()), (rated, flash), "{unit} {domain}");
        assert_eq!(device.geometry.blocks() % 8, 0);
    }
}

#[test]
fn preconditioning_fills_once_unless_it_says_otherwise() {
    let preset = "[drive]\npreset = 'ftlsim-8g'\n";
    // (text, fill, sequential, random)
    let table = [
        ("", 1.0, 1, 0.0),
        (preset, 1.0, 1, 3.0),
        ("[precondition]\nfill = '0 %'", 0.0, 0, 0.0),
        ("[precondition]\nfill = 0.25\nrandom-drive-writes = 0.5", 0.25, 0, 0.5),
        ("[precondition]\nsequential-drive-writes = 0", 0.0, 0, 0.0),
        ("[precondition]\nsequential-drive-writes = 2\nfill = '100 %'", 1.0, 2, 0.0),
        ("[precondition]\nfill = '0 %'\n[drive]\npreset = 'ftlsim-8g'", 0.0, 0, 0.0),
        ("[precondition]\nrandom-drive-writes = 1\n[drive]\npreset = 'ftlsim-8g'", 1.0, 1, 1.0),
    ];
    for (text, fill, sequential, random) in table {
        let precondition = resolve(&format!("{text}\n[until]\ndrive-writes = 1"), &[]).unwrap().precondition;
        let got = (precondition.fill.get(), precondition.sequential_drive_writes, precondition.random_drive_writes);
        assert_eq!(got, (fill, sequential, random), "{text}");
    }
}

#[test]
fn another_workload_keeps_what_still_means_something() {
    let workload = |text: &str, set: &[&str]| {
        let scenario =
            resolve(&format!("{text}\n[until]\ndrive-writes = 1"), set).unwrap_or_else(|error| panic!("{error}"));
        scenario.phases[0].workload.clone()
    };
    let hot_cold = "[workload]\npattern = 'hot-cold'\nr = 0.9\nh = 0.1\nfootprint = '50 %'";
    let Workload::Pattern(zipf) = workload(hot_cold, &["workload.pattern=zipf"]) else { panic!("a pattern") };
    assert_eq!((zipf.pattern.name(), zipf.footprint_units), ("zipf", 1_048_576));
    let trace = "[workload]\ntrace = 'a.csv'\nloop = false\nremap = 'compact'";
    let Workload::Trace(other) = workload(trace, &["workload.trace=b.csv"]) else { panic!("a trace") };
    assert_eq!((other.written.as_str(), other.looped, other.compact), ("b.csv", false, true));
    let standin = |name: &str, layout| Workload::Standin(crate::StandinSpec { name: name.into(), layout });
    assert_eq!(
        workload(hot_cold, &["workload.standin=rad-be"]),
        standin("rad-be", wane_workload::standin::Layout::Packed)
    );
    let scattered = ["workload.standin=rad-be", "workload.layout=scattered"];
    assert_eq!(workload(hot_cold, &scattered), standin("rad-be", wane_workload::standin::Layout::Scattered));
}

#[test]
fn phases_are_numbered_from_0() {
    let over = |set: &[&str]| resolve(PHASES, set);
    let scenario =
        over(&["phase.0.until.requests=5", "phase.0.workload.mix.0.exponent=2", "phase.1.workload.pattern=zipf"]);
    let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(scenario.phases[0].until.requests, Some(5));
    let Workload::Mix(parts) = &scenario.phases[0].workload else { panic!("a mixture") };
    assert!(matches!(&parts[0].1, Workload::Pattern(PatternSpec { pattern: Pattern::Zipf { exponent: 2.0, .. }, .. })));
    let Workload::Pattern(spec) = &scenario.phases[1].workload else { panic!("a pattern") };
    assert_eq!((spec.pattern.name(), spec.read_share.get()), ("zipf", 0.5));
    let table = [
        ("phase.2.until.requests=5", "phase.2: is not there; the list has 2, counted from 0"),
        ("phase.x.until.requests=5", "expected one or more `[[phase]]` tables"),
        ("workload.r=0.5", "write phase.0.workload"),
        ("until.requests=1", "write phase.0.until"),
    ];
    for (set, want) in table {
        let error = over(&[set]).expect_err(set).to_string();
        assert!(error.contains(want), "{set}: {error}");
    }
    assert!(resolve(EXAMPLE, &["phase.0.until.requests=1"]).unwrap_err().to_string().contains("found no list"));
    let replaced = "phase=[{ until = { requests = 3 } }]";
    assert_eq!(resolve(EXAMPLE, &[replaced]).unwrap().phases[0].until.requests, Some(3));
}

#[test]
fn a_hash_names_traces_as_the_file_does() {
    let text = "[workload]\ntrace = 'a.csv'\n[until]\ndrive-writes = 1";
    let mut moved = resolve(text, &[]).unwrap();
    let hash = moved.hash();
    moved.relative_to(Path::new("/somewhere"));
    let Workload::Trace(trace) = &moved.phases[0].workload else { panic!("a trace") };
    assert_eq!((trace.path.as_path(), moved.hash()), (Path::new("/somewhere/a.csv"), hash.clone()));
    assert!(moved.to_toml().contains("/somewhere/a.csv"));
    assert_ne!(resolve(&text.replace("a.csv", "b.csv"), &[]).unwrap().hash(), hash);
}

#[test]
fn an_error_points_at_its_place() {
    let text = "[drive]\npage-size = '4 KiB'\nmapping-unit = '3 KiB'\n[until]\ndrive-writes = 1";
    let error = resolve(text, &[]).unwrap_err();
    assert_eq!((error.line(), error.key.as_str()), (Some(3), "drive.mapping-unit"));
    assert_eq!(&text[error.span.unwrap()], "mapping-unit = '3 KiB'");
    let good = text.replace("3 KiB", "2 KiB");
    let error = resolve(&good, &["drive.mapping-unit='3 KiB'"]).unwrap_err();
    assert_eq!((error.source_name.as_str(), error.line()), ("--set drive.mapping-unit='3 KiB'", None));
    let error = resolve(&good, &["ftl.wear-leveling={ policy = 'pwl', threshold = 7 }"]).unwrap_err();
    assert_eq!(error.key, "ftl.wear-leveling.threshold");
}

/// Resolves each text, to which an end is added where it has none, and looks for a part of the sentence.
fn check_refusals(table: &[(&str, &str)]) {
    for (text, want) in table {
        let ends = text.contains("until") || text.contains("phase");
        let text = if ends { (*text).to_owned() } else { format!("{text}\n[until]\ndrive-writes = 1") };
        let error = resolve(&text, &[]).expect_err(&text).to_string();
        assert!(error.contains(want), "{text}\n  said: {error}\n  want: {want}");
        assert!(!error.contains('\n'), "one line: {error}");
    }
}

#[test]
fn what_is_no_scenario_is_said_in_one_sentence() {
    check_refusals(&[
        ("[drvie]\nx = 1", "did you mean \"drive\"?"),
        ("seed = 'x'", "seed: found \"x\", expected a whole number"),
        ("seed = -1", "found -1"),
        ("[drive", "this is no TOML"),
        ("seed = 1\nseed = 2", "this is no TOML"),
    ]);
}

#[test]
fn a_drive_that_cannot_be_is_refused_in_one_sentence() {
    check_refusals(&[
        (
            "[drive]\npage_size = '4 KiB'",
            "test.toml, line 2: drive.page_size: unknown key; did you mean \"page-size\"?",
        ),
        ("drive = 3", "expected a table [drive]"),
        ("[drive]\npage-size = 4096", "expected a size with its unit"),
        ("[drive]\npage-size = '4 KB'", "'4 KB' is not a size"),
        ("[drive]\nspare-factor = 1.5", "found 1.5, expected 0 to 1"),
        ("[drive]\nover-provisioning = 'much'", "found \"much\", expected 0 to 100, or"),
        ("[drive]\nspare-factor = '100 %'", "leaves no logical capacity"),
        ("[drive]\npreset = 'x'", "allowed are ftlsim-256g"),
        ("[drive]\nspare-factor = 0", "leaves no spare space"),
        ("[drive]\nlogical-capacity = '1 GiB'\nspare-factor = 0.1\nblocks = 9999", "leave one of the three out"),
        ("[drive]\nlogical-capacity = '1000 B'", "no multiple of the mapping unit"),
        ("[drive]\nmapping-unit = '3 KiB'", "no whole fraction of the page"),
        ("[drive]\nlogical-capacity = '17 TiB'", "the smallest unit that fits is 8 KiB"),
        ("[drive]\nchannels = 3\nblocks = 1000", "no multiple of the drive's 3 planes"),
        ("[drive]\nendurance = 'much'", "found \"much\""),
        ("[drive]\npages-per-block = 1", "at least 2 are needed"),
        ("[drive]\nblocks = 100\nblocks-per-plane = 99", "1 planes of 99 blocks are 99"),
        ("[drive]\nspare-factor = '99.99999999 %'\nblocks = 100", "leaves no logical capacity"),
        ("[drive]\nlogical-capacity = '17 TiB'\npage-size = '16 KiB'\nmapping-unit = '4 KiB'", "fits is 8 KiB"),
    ]);
}

/// The values that the sentence allows are taken, and a unit more or a hundredth of a percent less is not.
#[test]
fn a_drive_without_room_is_told_what_takes_its_blocks_and_what_fits() {
    let stripes = "[ftl]\ndomain = 'die'\ngc-reserve = 2\nredundancy = { policy = 'stripes', data-pages = 3 }";
    // (drive, ftl, part of the sentence, a drive that it allows, one just beyond)
    let table = [
        (
            "spare-factor = 0",
            "",
            "drive.spare-factor: leaves no spare space: 8 GiB of logical capacity on 8199 blocks, of which garbage collection \
             keeps 7 free and 1 is open for writing, each of 1 MiB; the smallest spare-factor for 8 GiB is 0.02 %",
            "spare-factor = '0.02 %'",
            "spare-factor = '0.01 %'",
        ),
        (
            "blocks = 100\nlogical-capacity = '100 MiB'",
            "[ftl]\nfrontiers = 'separate'",
            "100 blocks, of which garbage collection keeps 7 free and 2 are open for writing, each of 1 MiB; the largest \
             logical-capacity is 91 MiB",
            "blocks = 100\nlogical-capacity = '91 MiB'",
            "blocks = 100\nlogical-capacity = '93188 KiB'",
        ),
        (
            "blocks = 100\nspare-factor = '5 %'",
            "",
            "keeps 7 free and 1 is open for writing, each of 1 MiB; the smallest spare-factor is 8 %",
            "blocks = 100\nspare-factor = '8 %'",
            "blocks = 100\nspare-factor = '7.99 %'",
        ),
        (
            "channels = 4\nblocks-per-plane = 64\nspare-factor = 0.28",
            stripes,
            "256 blocks, of which garbage collection keeps 8 free, 4 are open for writing and parity takes 61 (1 page for 3 of data), \
             each of 1 MiB; the smallest spare-factor is 28.52 %",
            "channels = 4\nblocks-per-plane = 64\nspare-factor = '28.52 %'",
            "channels = 4\nblocks-per-plane = 64\nspare-factor = '28.51 %'",
        ),
        (
            "channels = 4\nlogical-capacity = '1 GiB'\nspare-factor = 0.2",
            stripes,
            "the smallest spare-factor for 1 GiB is 25.26 %",
            "channels = 4\nlogical-capacity = '1 GiB'\nspare-factor = '25.26 %'",
            "channels = 4\nlogical-capacity = '1 GiB'\nspare-factor = '25 %'",
        ),
        (
            "blocks = 8\nlogical-capacity = '1 MiB'",
            "",
            "; at least 9 blocks are needed",
            "blocks = 9\nlogical-capacity = '1 MiB'",
            "",
        ),
    ];
    for (drive, ftl, want, allowed, beyond) in table {
        let drive_of = |drive: &str| format!("[drive]\n{drive}\n{ftl}\n[until]\ndrive-writes = 1");
        let error = resolve(&drive_of(drive), &[]).expect_err(drive).to_string();
        assert!(error.contains(want), "{drive}\n  said: {error}\n  want: {want}");
        resolve(&drive_of(allowed), &[]).unwrap_or_else(|error| panic!("{error}"));
        if !beyond.is_empty() {
            let error = resolve(&drive_of(beyond), &[]).expect_err(beyond).to_string();
            assert!(error.contains("leaves no spare space"), "{beyond}: {error}");
        }
    }
}

#[test]
fn streams_and_free_blocks_are_chosen_and_their_defaults_count_for_nothing() {
    let hash = |ftl: &str| {
        let text = format!("[ftl]\n{ftl}\n[until]\ndrive-writes = 1");
        let scenario = resolve(&text, &[]).unwrap_or_else(|error| panic!("{error}"));
        let again = resolve(&scenario.to_toml(), &[]).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(again.hash(), scenario.hash(), "{ftl}");
        scenario.hash()
    };
    let (plain, separate) = (hash(""), hash("frontiers = 'separate'"));
    assert_ne!(plain, separate);
    for (ftl, want) in [
        ("placement = 'one'", &plain),
        ("allocation = 'fifo'", &plain),
        ("placement = { policy = 'one' }\nfrontiers = 'one'", &plain),
        ("placement = 'separate'", &separate),
    ] {
        assert_eq!(&hash(ftl), want, "{ftl}");
    }
    assert!(![plain, separate].contains(&hash("allocation = 'least-worn'")));
    let over_preset = "[drive]\npreset = 'fast19-ssd'\n[ftl]\nplacement = 'one'\n[until]\ndrive-writes = 1";
    assert_eq!(resolve(over_preset, &[]).unwrap().ftl.frontiers, wane_ftl::Frontiers::One);
    let worn = resolve("[ftl]\nallocation = 'most-worn'\n[until]\ndrive-writes = 1", &[]).unwrap();
    assert_eq!(worn.ftl.allocation["policy"].as_str(), Some("most-worn"));
}

#[test]
fn a_firmware_that_cannot_be_is_refused_in_one_sentence() {
    check_refusals(&[
        ("[ftl]\ngc = 'gredy'", "did you mean \"greedy\"?"),
        ("[ftl.gc]\npolicy = 'd-choices'\nchoices = 2", "`choices`: is unknown, allowed are `d`"),
        ("[ftl.wear-leveling]\npolicy = 'pwl'\ntreshold = 0.5", "did you mean \"threshold\"?"),
        ("[ftl.gc]\npolcy = 'fifo'", "did you mean \"policy\"?"),
        (
            "[ftl]\ngc = { policy = 'd-choices', d = 0 }",
            "ftl.gc.d: policy \"d-choices\": `d`: found 0, expected a number from 1 to 4096",
        ),
        ("[ftl]\ngc = { policy = 'greedy', d = 2 }", "`d`: is unknown, allowed are `tie`"),
        ("[ftl]\ngc = { policy = 'd-choices', d = 'string x' }", "found \"string x\", expected a number"),
        (
            "[ftl]\ngc = { policy = 'd-choices', d = 'x' }",
            "ftl.gc.d: policy \"d-choices\": `d`: found \"x\", expected a number",
        ),
        (
            "[ftl]\nredundancy = { policy = 'stripes', data-pages = -1 }",
            "found -1, expected a whole number from 1 to 1024",
        ),
        (
            "[ftl]\nredundancy = { policy = 'stripes', data-pages = [1] }",
            "`data-pages`: found a list, expected a whole number",
        ),
        ("[ftl]\ngc = { d = 2 }", "policy \"greedy\": `d`: is unknown, allowed are `tie`"),
        ("[ftl]\nwear-leveling = { policy = 'pwl', threshold = '150 %' }", "ratio from 0 to 1"),
        ("[drive]\nendurance = 'none'\n[ftl]\nwear-leveling = 'pwl'", "pwl follows the rated endurance"),
        ("[ftl]\ngc-reserve = 1", "at least 2 are needed"),
        ("[ftl]\nallocation = 'lest-worn'", "did you mean \"least-worn\"?"),
        ("[ftl]\nallocation = { policy = 'fifo', d = 2 }", "it takes no parameters"),
        (
            "[ftl]\nfrontiers = 'one'\nplacement = 'separate'",
            "ftl.placement: found \"separate\", but ftl.frontiers is \"one\"; give one of the two",
        ),
        ("[ftl]\ngc = 3", "expected a policy (greedy, cost-benefit"),
        ("[ftl]\ngc = { policy = 3 }", "found 3, expected a name"),
        ("[ftl]\ngc = { defaults = 3 }", "ftl.gc.defaults: found 3, expected a list of the parameters"),
        (
            "[ftl]\ngc = { policy = 'cost-benefit', defaults = ['aeg'] }",
            "test.toml, line 2: ftl.gc.defaults: found \"aeg\", which is no parameter of policy \"cost-benefit\"; allowed are",
        ),
        ("[ftl]\ngc = { policy = 'd-choices', d = 2, defaults = ['d', 'dd'] }", "found \"dd\""),
        (
            "[ftl]\ngc = { defaults = ['tiee'] }",
            "parameter of policy \"greedy\"; allowed are tie; did you mean \"tie\"?",
        ),
        ("[ftl]\nallocation = { policy = 'fifo', defaults = ['d'] }", "policy \"fifo\"; it takes none"),
        (
            "[ftl]\ncapacity = { policy = 'variant', defaults = ['shrnk'] }",
            "allowed are keep, relocation-bound, shrink; did you mean \"shrink\"?",
        ),
        ("[ftl]\nunit = 'superblok'", "did you mean \"superblock\"?"),
        ("[drive]\nendurance = 'none'\n[ftl]\ngc-reserve = 1\nwear-leveling = 'dual-pool'", "at least 2"),
    ]);
}

#[test]
fn a_run_that_cannot_be_is_refused_in_one_sentence() {
    check_refusals(&[
        ("[precondition]\nfill = '50 %'\nsequential-drive-writes = 1", "but fill is 50 %"),
        ("[workload]\nfootprint = '120 %'", "found \"120 %\", expected 0 to 1"),
        ("[workload]\nfootprint = 0", "covers no page"),
        ("[workload]\nexponent = 1.2", "does not belong to pattern = \"uniform\""),
        ("[workload]\npattern = 'zip'", "did you mean \"zipf\"?"),
        ("[workload]\npattern = 'uniform'\ntrace = 'x'", "stands beside pattern"),
        ("[workload]\nmix = [{ share = 0.5, pattern = 'uniform' }]", "add up to 50 %"),
        ("[workload]\nstandin = 'x'", "allowed are ycsb-a"),
        ("[workload]\nfill = '10 %'", "unknown key here; it belongs to [precondition]"),
        ("[workload]\nread-share = 0.7\ntrim-share = 0.4", "exceeds 100 %"),
        ("[workload]\nread-share = 1", "its workload writes nothing"),
        ("[workload]\nrequest-size = '5 KiB'", "a multiple of the mapping unit, 4 KiB"),
        ("[workload]\npattern = 'hot-cold'\nh = 0", "leaves no hot page"),
        ("[workload]\npattern = 'hot-cold'\nh = 1", "leaves no cold page"),
        ("[workload]\nstandin = 'rad-be'\nfootprint = 0.5", "does not belong to a stand-in"),
        (
            "[workload]\nstandin = 'rad-be-traffic'\nlayout = 'scattered'",
            "layout: stands with rad-be-traffic, which reads too; such a stand-in is always packed",
        ),
        ("[workload]\nstandin = 'rad-be'\nlayout = 'x'", "allowed are packed, scattered"),
        ("[workload]\ntrace = ''", "found \"\", expected text"),
        ("[workload]\ntrace = 'x'\nassume-block = '0 B'", "found \"0 B\""),
        ("[workload]\nshare = 0.5", "unknown key here; it belongs to [[workload.mix]]"),
        ("[workload]\nmix = [{ pattern = 'uniform' }]", "needs its share"),
        (
            "[workload]\nmix = [{ share = 1, mix = [] }]",
            "workload.mix.0.mix: unknown key here; it belongs to [workload]",
        ),
        ("[workload]\nmix = 3", "expected a list of workloads"),
        ("[[phase]]\n[workload]\n", "stands beside [[phase]]"),
        ("phase = 3", "expected one or more `[[phase]]` tables"),
        ("phase = []", "phase: found [], expected one or more `[[phase]]` tables"),
        ("[[phase]]\nworkloads = {}", "did you mean \"workload\"?"),
        ("[[phase]]\nuntil = { end-of-life = false }", "phase.0.until: the run would never end"),
        ("[until]\ndrive-writes = nan", "found nan"),
        ("[until]\nrequests = 0", "found 0, expected a whole number from 1 to"),
        ("until = {}", "the run would never end"),
        ("[drive]\nendurance = 'none'\n[until]\nend-of-life = true", "end-of-life alone never comes"),
    ]);
}

#[test]
fn a_wrong_assignment_is_named() {
    let error = resolve(EXAMPLE, &["ftl.gc.polcy=x"]).unwrap_err().to_string();
    assert!(error.starts_with("--set ftl.gc.polcy=x: ftl.gc.polcy: "), "{error}");
    assert!(resolve(EXAMPLE, &["nonsense"]).unwrap_err().to_string().contains("KEY=VALUE"));
}

/// What a scenario resolves to resolves to the same; anything else is a sentence of one line.
fn check_total(result: Result<Scenario, ScenarioError>, context: &str) -> bool {
    match result {
        Ok(scenario) => {
            let again = resolve(&scenario.to_toml(), &[]).unwrap_or_else(|error| panic!("{context}: {error}"));
            assert_eq!(again.hash(), scenario.hash(), "{context}");
            true
        }
        Err(error) => {
            let sentence = error.to_string();
            assert!(!error.message.is_empty() && !sentence.contains('\n'), "{context}: {sentence:?}");
            let inside = |span: std::ops::Range<usize>| span.start <= span.end && span.end <= error.text.len();
            assert!(error.span.is_none_or(inside), "{context}: {sentence}");
            false
        }
    }
}

#[test]
fn any_bytes_give_a_scenario_or_a_sentence() {
    let mut stream = wane_sim::Streams::new(11).stream("fuzz");
    let mut good = 0;
    for round in 0..4000 {
        let mut bytes = [EXAMPLE, PHASES, super::timed_tests::ALL][round as usize % 3].as_bytes().to_vec();
        for _ in 0..=round % 6 {
            let at = stream.below(bytes.len() as u64) as usize;
            match stream.below(4) {
                0 => bytes[at] = stream.bits() as u8,
                1 if bytes.len() > 1 => drop(bytes.remove(at)),
                2 => bytes.insert(at, b"0123456789\"'[]{}=.%-\n"[stream.below(21) as usize]),
                _ => bytes.truncate(at.max(1)),
            }
        }
        good += u32::from(check_total(resolve_bytes(&bytes), &format!("round {round}")));
    }
    assert!(good > 100, "only {good} mutants were scenarios: the test explores too little");
}

#[test]
fn nesting_without_end_is_refused() {
    let deep = 100_000;
    let dotted = vec!["drive"; deep].join(".");
    let texts = [
        format!("seed = {}", "[".repeat(deep)),
        format!("workload = {}", "{mix=[".repeat(deep)),
        format!("{dotted} = 1"),
        format!("[{dotted}]"),
    ];
    for text in texts {
        assert!(resolve(&text, &[]).is_err(), "{}", &text[..40]);
    }
    assert!(resolve(EXAMPLE, &[&format!("{dotted}=1")]).is_err());
    assert!(resolve(EXAMPLE, &[&format!("seed={}", "[".repeat(deep))]).is_err());
    assert!(resolve("\u{feff}[until]\ndrive-writes = 1", &[]).is_ok(), "a byte order mark is no content");
}

/// Values of every kind, good and bad.
pub(super) const VALUES: &[&str] = &[
    "0",
    "1",
    "2",
    "3",
    "7",
    "8",
    "64",
    "1000",
    "4096",
    "1048576",
    "4294967295",
    "9223372036854775807",
    "-1",
    "0.1",
    "0.5",
    "0.999999999999",
    "1.0",
    "1e300",
    "nan",
    "true",
    "false",
    "'none'",
    "'0 %'",
    "'99.9999 %'",
    "'512 B'",
    "'4 KiB'",
    "'16 KiB'",
    "'16 MiB'",
    "'1 GiB'",
    "'1 TiB'",
    "'16 TiB'",
    "'65536 TiB'",
    "'die'",
    "'superblock'",
    "'separate'",
    "'never'",
    "'zipf'",
    "'hot-cold'",
    "'tiny'",
    "'amber-mlc'",
    "'pwl'",
    "'variant'",
    "'dual-pool'",
    "'mlc-8g'",
    "'fast19-ssd'",
    "'tlc-72l-2018'",
    "'tlc'",
    "'event'",
    "'timeline'",
    "'priority'",
    "'both'",
    "'trace'",
    "'1 ns'",
    "'3.8 ms'",
    "'90 days'",
    "'667 MB/s'",
    "['1 us', '2.5 us']",
    "['1 day', '9 days']",
    "[0, 0.5, 3]",
    "{ queue-depth = 3 }",
    "{ normal = ['1 ms', '1 us'] }",
    "{ arrival = { poisson = '7 us' } }",
    "{ standin = 'rad-be' }",
    "{}",
    "[]",
];

#[test]
fn any_values_give_a_scenario_or_a_sentence() {
    let mut stream = wane_sim::Streams::new(12).stream("fuzz");
    // Values that fit their key alone, so that the draws explore how keys go together.
    let tables = sections().iter().filter(|section| !section.is_list);
    let paths = tables.flat_map(|section| section.keys.iter().map(|(key, _)| format!("{}.{key}", section.name)));
    let fitting = |path: String| -> Vec<String> {
        let assign = |value: &&str| format!("{}={value}", path.trim_start_matches('.'));
        VALUES.iter().map(assign).filter(|assignment| Layer::set(assignment).is_ok()).collect()
    };
    let keys: Vec<Vec<String>> = paths.map(fitting).filter(|fitting| !fitting.is_empty()).collect();
    let mut good = 0;
    for round in 0..20_000 {
        let mut set = vec!["until.drive-writes=1".to_owned()];
        for _ in 0..1 + round % 5 {
            let key = &keys[stream.below(keys.len() as u64) as usize];
            set.push(key[stream.below(key.len() as u64) as usize].clone());
        }
        let result = Scenario::resolve(&Sources { set: &set, ..Sources::default() });
        good += u32::from(check_total(result, &set.join(" ")));
    }
    assert!(good > 1000, "only {good} draws were scenarios: the test explores too little");
}

#[test]
fn the_manual_has_every_key() {
    let manual = manual();
    let keys = sections().iter().flat_map(|section| &section.keys);
    keys.for_each(|(key, _)| assert!(manual.contains(&format!("| `{key}` |")), "{key}"));
    for section in sections().iter().filter(|section| !section.name.is_empty()) {
        assert!(manual.contains(&format!("\n## `{}`\n", section.title())), "{}", section.name);
    }
}

/// Scenarios of the book: its blocks of TOML that say when a run ends, or do so with a line more.
pub(super) fn scenarios_of_the_book() -> Vec<String> {
    let book = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/src");
    let mut chapters: Vec<_> = std::fs::read_dir(book).unwrap().map(|entry| entry.unwrap().path()).collect();
    chapters.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    chapters.sort();
    let texts = chapters.iter().map(|path| std::fs::read_to_string(path).unwrap());
    let blocks = |text: String| -> Vec<String> {
        text.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()).map(str::to_owned).collect()
    };
    texts.flat_map(blocks).collect()
}

#[test]
fn a_resolved_scenario_that_is_run_again_has_the_same_hash() {
    let end = "[until]\ndrive-writes = 2.5\n";
    let of_preset = |preset: &Preset| format!("[drive]\npreset = '{}'\n{end}", preset.name);
    let mut texts: Vec<String> = PRESETS.iter().map(of_preset).collect();
    let book = scenarios_of_the_book();
    texts.extend(book.iter().cloned().chain(book.iter().map(|text| format!("{text}\n{end}"))));
    for more in [
        "[workload]\ntrace = 'traces/a.trace'\nloop = false",
        "[workload]\nmix = [{ share = 0.3, trace = '../a b.trace' }, { share = 0.7, pattern = 'uniform' }]",
        "[workload]\npattern = 'zipf'\nfootprint = '33.3 %'\nread-share = 0.123456789",
        "[precondition]\nfill = '77.7 %'",
    ] {
        texts.push(format!("seed = 4611686018427387904\n[drive]\npreset = 'tiny'\n{more}\n{end}"));
    }
    let mut checked = 0;
    for text in texts {
        let resolved = |text: &str, folder: &str| {
            let sources = Sources { preset: None, file: Some(("s.toml", text)), set: &[] };
            Scenario::resolve(&sources).map(|mut scenario| {
                scenario.relative_to(std::path::Path::new(folder));
                scenario
            })
        };
        // Fragments that show a key or two are no scenarios.
        let Ok(first) = resolved(&text, "/somewhere") else { continue };
        let again = resolved(&first.to_toml(), "/elsewhere").unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert_eq!(again.hash(), first.hash(), "{text}\nbecame\n{}", first.to_toml());
        assert_eq!(again.to_toml(), first.to_toml());
        assert_eq!(again.traces(), first.traces());
        checked += 1;
    }
    assert!(checked >= PRESETS.len() + 8, "only {checked} were scenarios");
    let resolved =
        "[drive]\npreset = 'tiny'\n[workload]\ntrace = '/x/a.trace'\ntrace-name = 'a.trace'\n[until]\nrequests = 1\n";
    let set = ["workload.trace=b.trace".to_owned()];
    let other = Scenario::resolve(&Sources { preset: None, file: Some(("s.toml", resolved)), set: &set }).unwrap();
    assert!(!other.to_toml().contains("trace-name"), "the name goes with its trace");
}

/// A resolved scenario writes `frontiers`, whichever key was given: a layer above it may give the other one.
#[test]
fn of_two_layers_the_upper_one_chooses_the_streams() {
    let frontiers = |file: &str, set: &[&str]| {
        let set: Vec<String> = set.iter().map(|assignment| (*assignment).to_owned()).collect();
        let text = format!("{file}\n[until]\nrequests = 9\n");
        let sources = Sources { preset: Some("tiny"), file: Some(("streams.toml", &text)), set: &set };
        Scenario::resolve(&sources).map(|scenario| scenario.ftl.frontiers)
    };
    let table: [(&str, &[&str], wane_ftl::Frontiers); 5] = [
        ("[ftl]\nfrontiers = 'one'", &["ftl.placement=separate"], wane_ftl::Frontiers::Separate),
        ("[ftl]\nfrontiers = 'one'", &["ftl.placement.policy=separate"], wane_ftl::Frontiers::Separate),
        ("[ftl]\nplacement = 'separate'", &["ftl.frontiers=one"], wane_ftl::Frontiers::One),
        ("[ftl]\nplacement = 'separate'", &[], wane_ftl::Frontiers::Separate),
        ("", &["ftl.placement=separate", "ftl.frontiers=one"], wane_ftl::Frontiers::One),
    ];
    for (file, set, want) in table {
        assert_eq!(frontiers(file, set).unwrap(), want, "{file} {set:?}");
    }
    let refused = frontiers("[ftl]\nplacement = 'separate'\nfrontiers = 'one'", &[]).unwrap_err();
    assert!(refused.to_string().contains("give one of the two"), "{refused}");
}

#[test]
fn an_assigned_table_that_is_no_toml_is_told_as_such() {
    for assignment in
        ["ftl.scrub={policy='oracle',threshold=1e400}", "ftl.gc={policy='d-choices' d=2}", "probe.at-drive-writes=[1,"]
    {
        let sources = Sources { preset: Some("tiny"), set: &[assignment.to_owned()], ..Sources::default() };
        let refused = Scenario::resolve(&sources).unwrap_err().to_string();
        assert!(refused.contains("the value is no TOML: ") && !refused.contains("unknown policy"), "{refused}");
    }
}

/// Whoever writes one of the two has the drive, the plain data and the hash of whoever writes the other; layers displace both alike.
#[test]
fn over_provisioning_is_the_spare_factor_in_other_words() {
    let table = [
        ("over-provisioning = '7 %'", "spare-factor = 0.06542056074766356"),
        ("over-provisioning = 0.25", "spare-factor = '20 %'"),
        ("over-provisioning = '150 %'", "spare-factor = '60 %'"),
        ("blocks = 4096\nover-provisioning = '25 %'", "blocks = 4096\nspare-factor = '20 %'"),
    ];
    for (surplus, spare) in table {
        let of = |keys: &str| resolve(&format!("[drive]\n{keys}\n[until]\ndrive-writes = 1"), &[]).unwrap();
        let (surplus, spare) = (of(surplus), of(spare));
        assert_eq!((surplus.device, surplus.hash()), (spare.device, spare.hash()));
    }
    let both = "[drive]\nover-provisioning = '7 %'\nspare-factor = '10 %'\n[until]\ndrive-writes = 1";
    let error = resolve(both, &[]).unwrap_err().to_string();
    assert!(error.contains("line 2: drive.over-provisioning: stands beside spare-factor"), "{error}");
    let layers = |below: &str, above: &str| {
        resolve(&format!("[drive]\n{below}\n[until]\ndrive-writes = 1"), &[above]).unwrap().device.spare_factor
    };
    assert_eq!(layers("spare-factor = '10 %'", "drive.over-provisioning=25 %"), 0.2);
    assert_eq!(layers("over-provisioning = '25 %'", "drive.spare-factor=10 %"), 0.1);
}

#[test]
fn a_resolved_scenario_says_what_its_spare_factor_comes_to() {
    let text = "[drive]\nblocks = 4096\nspare-factor = '20 %'\n[until]\ndrive-writes = 1";
    let resolved = resolve(text, &[]).unwrap().to_toml();
    let first = resolved.lines().next().unwrap_or_default();
    assert_eq!(first, "# over-provisioning (physical / logical - 1) 25 %, spare factor (1 - logical / physical) 20 %");
}
