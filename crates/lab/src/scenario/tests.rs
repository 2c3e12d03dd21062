use super::*;

const EXAMPLE: &str = r#"
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
    assert_eq!(scenario.phases[0].until, Until { drive_writes: Some(100.0), requests: None, end_of_life: true });
    assert_eq!(scenario.name, "test");
}

#[test]
fn the_published_drive_has_its_published_blocks() {
    let scenario = resolve("[drive]\npreset = 'ftlsim-256g'\n[until]\ndrive-writes = 1", &[]).unwrap();
    let device = &scenario.device;
    assert_eq!((device.logical_units, device.rated_blocks, device.blocks), (67_108_864, 291_271, 291_278));
}

#[test]
fn every_preset_resolves_and_says_what_it_is() {
    for preset in PRESETS {
        let sources = Sources { preset: Some(preset.name), file: Some(("t", "[until]\ndrive-writes = 1")), set: &[] };
        let scenario = Scenario::resolve(&sources).unwrap_or_else(|error| panic!("{}: {error}", preset.name));
        assert!(preset.summary().len() > 20 && scenario.device.logical_units > 0);
    }
}

#[test]
fn a_resolved_scenario_resolves_to_itself() {
    let phases = "[[phase]]\nworkload = { pattern = 'zipf' }\nuntil = { requests = 5 }\n[[phase]]\nworkload = { standin = \
                  'rad-be' }\nuntil = { drive-writes = 0.5 }\n";
    let mix = "[workload]\nmix = [{ share = '70 %', pattern = 'uniform' }, { share = 0.3, pattern = 'jesd219' }]\n\
               [until]\ndrive-writes = 1\n";
    let geometry = "[drive]\npreset = 'amber-mlc'\nendurance = 'none'\n[ftl]\nunit = 'superblock'\n[until]\nrequests = 9";
    let graceful = "[ftl]\ncapacity = { policy = 'variant', shrink = 'graceful', relocation-bound = '1 GiB' }\n[until]\n\
                    end-of-life = true";
    let all_presets = PRESETS.iter().map(|preset| format!("[drive]\npreset = '{}'\n[until]\ndrive-writes = 2.5", preset.name));
    let texts = [EXAMPLE, phases, mix, geometry, graceful].map(str::to_owned).into_iter().chain(all_presets);
    for text in texts {
        let once = resolve(&text, &[]).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let twice = resolve(&once.to_toml(), &[]).unwrap_or_else(|error| panic!("{error}\n{}", once.to_toml()));
        assert_eq!(once.to_toml(), twice.to_toml());
        assert_eq!((once.hash(), once.device), (twice.hash(), twice.device));
    }
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
fn what_is_wrong_is_said_in_one_sentence() {
    let u = "\n[until]\ndrive-writes = 1";
    // (text, a part of the sentence)
    let table: [(String, &str); 34] = [
        ("[drive]\npage_size = '4 KiB'".into(), "test.toml, line 2: drive.page_size: unknown key; did you mean \"page-size\"?"),
        ("[drvie]\nx = 1".into(), "did you mean \"drive\"?"),
        ("seed = 'x'".into(), "seed: found \"x\", expected a whole number"),
        ("seed = -1".into(), "found -1"),
        ("drive = 3".into(), "expected a table [drive]"),
        ("[drive".into(), "this is no TOML"),
        ("[drive]\npage-size = 4096".into(), "expected a size with its unit"),
        ("[drive]\npage-size = '4 KB'".into(), "'4 KB' is not a size"),
        ("[drive]\nspare-factor = 1.5".into(), "found 1.5, expected 0 to 1"),
        ("[drive]\nspare-factor = '100 %'".into(), "leaves no logical capacity"),
        ("[drive]\npreset = 'x'".into(), "allowed are ftlsim-256g"),
        (format!("[drive]\nspare-factor = 0{u}"), "leave no spare space"),
        (format!("[drive]\nlogical-capacity = '1 GiB'\nspare-factor = 0.1\nblocks = 9999{u}"), "leave one of the three out"),
        (format!("[drive]\nlogical-capacity = '1000 B'{u}"), "no multiple of the mapping unit"),
        (format!("[drive]\nmapping-unit = '3 KiB'{u}"), "no whole fraction of the page"),
        (format!("[drive]\nlogical-capacity = '17 TiB'{u}"), "the smallest unit that fits is 8 KiB"),
        (format!("[drive]\nchannels = 3\nblocks = 1000{u}"), "no multiple of the drive's 3 planes"),
        (format!("[ftl]\ngc = 'gredy'{u}"), "did you mean \"greedy\"?"),
        (format!("[ftl]\ngc = {{ policy = 'd-choices', d = 0 }}{u}"), "d is 0; 1 to 4096 is allowed"),
        (format!("[ftl]\ngc = {{ policy = 'greedy', d = 2 }}{u}"), "unknown field `d`"),
        (format!("[ftl]\ngc = {{ d = 2 }}{u}"), "its `policy` is missing"),
        (format!("[ftl]\nwear-leveling = {{ policy = 'pwl', threshold = '150 %' }}{u}"), "ratio between 0 and 1"),
        (format!("[drive]\nendurance = 'none'\n[ftl]\nwear-leveling = 'pwl'{u}"), "pwl follows the rated endurance"),
        (format!("[ftl]\ngc-reserve = 1{u}"), "at least 2 are needed"),
        (format!("[precondition]\nfill = '50 %'\nsequential-drive-writes = 1{u}"), "but fill is 50 %"),
        (format!("[workload]\nfootprint = '120 %'{u}"), "found \"120 %\", expected 0 to 1"),
        (format!("[workload]\nfootprint = 0{u}"), "covers no page"),
        (format!("[workload]\nexponent = 1.2{u}"), "does not belong to pattern = \"uniform\""),
        (format!("[workload]\npattern = 'zip'{u}"), "did you mean \"zipf\"?"),
        (format!("[workload]\npattern = 'uniform'\ntrace = 'x'{u}"), "stands beside pattern"),
        (format!("[workload]\nmix = [{{ share = 0.5, pattern = 'uniform' }}]{u}"), "add up to 50 %"),
        (format!("[workload]\nstandin = 'x'{u}"), "allowed are ycsb-a"),
        (String::new(), "the run would never end"),
        ("[drive]\nendurance = 'none'\n[until]\nend-of-life = true".into(), "end-of-life alone never comes"),
    ];
    for (text, want) in table {
        let error = resolve(&text, &[]).expect_err(&text).to_string();
        assert!(error.contains(want), "{text}\n  said: {error}\n  want: {want}");
        assert!(!error.contains('\n'), "one line: {error}");
    }
    let error = resolve(EXAMPLE, &["ftl.gc.polcy=x"]).unwrap_err().to_string();
    assert!(error.starts_with("--set ftl.gc.polcy=x: ftl.gc: "), "{error}");
    assert!(resolve(EXAMPLE, &["nonsense"]).unwrap_err().to_string().contains("KEY=VALUE"));
}

#[test]
fn any_bytes_give_a_scenario_or_a_sentence() {
    let mut stream = wane_sim::Streams::new(11).stream("fuzz");
    for round in 0..3000 {
        let mut bytes = EXAMPLE.as_bytes().to_vec();
        for _ in 0..=round % 6 {
            let at = stream.below(bytes.len() as u64) as usize;
            match stream.below(4) {
                0 => bytes[at] = stream.bits() as u8,
                1 => drop(bytes.remove(at)),
                2 => bytes.insert(at, b"0123456789\"'[]{}=.%-"[stream.below(20) as usize]),
                _ => bytes.truncate(at.max(1)),
            }
        }
        match resolve_bytes(&bytes) {
            Ok(scenario) => assert_eq!(resolve(&scenario.to_toml(), &[]).unwrap().hash(), scenario.hash()),
            Err(error) => assert!(!error.message.is_empty()),
        }
    }
}

#[test]
fn the_manual_has_every_key() {
    let manual = keys::manual();
    let keys = keys::SECTIONS.iter().flat_map(|section| section.keys);
    keys.for_each(|key| assert!(manual.contains(&format!("| `{}` |", key.name)), "{}", key.name));
}
