//! Layers: how preset, file and `--set` are merged, and which of them decides.

use super::*;

#[test]
fn layers_lie_over_each_other() {
    let over = |set: &[&str]| resolve(EXAMPLE, set).unwrap();
    let other = over(&["ftl.wear-leveling.policy=obp"]);
    assert_eq!(other.ftl.wear_leveling.table().len(), 1, "another policy takes no parameter of the one below");
    let same = over(&["ftl.wear-leveling.threshold='25 %'"]);
    assert_eq!(same.ftl.wear_leveling.name(), "pwl");
    assert_eq!(over(&["ftl.gc=d-choices", "ftl.gc.d=4"]).ftl.gc.table().get("d").and_then(Value::as_integer), Some(4));
    let zipf = over(&["workload.pattern=zipf"]);
    assert!(matches!(&zipf.phases[0].workload, Workload::Pattern(PatternSpec { pattern: Pattern::Zipf { .. }, .. })));
    assert_ne!(over(&["seed=2"]).hash(), over(&[]).hash());
    assert_eq!(over(&["name=other"]).hash(), over(&[]).hash());
    assert_eq!(over(&["drive.preset=ftlsim-8g"]).hash(), over(&[]).hash(), "the same drive by another name");
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

/// A resolved scenario writes `frontiers`, whichever key was given; a layer on top may give the other key.
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
fn a_placement_that_frontiers_cannot_name_takes_its_place_and_makes_room_for_it() {
    let placement = |preset: &str, ftl: &str, set: &[&str]| {
        let text = format!("[drive]\npreset = '{preset}'\n[ftl]\n{ftl}\n[until]\nrequests = 9");
        let scenario = resolve(&text, set).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(resolve(&scenario.to_toml(), &[]).unwrap().hash(), scenario.hash(), "{ftl}");
        (scenario.ftl.placement.name().to_owned(), scenario.ftl.frontiers, scenario.hash())
    };
    let (of_layers, one, separate) = (
        placement("fast19-ssd", "placement = 'autostream-mq'", &[]),
        wane_ftl::Frontiers::One,
        wane_ftl::Frontiers::Separate,
    );
    assert_eq!((of_layers.0.as_str(), of_layers.1), ("autostream-mq", one), "the preset's frontiers are displaced");
    assert_eq!(placement("fast19-ssd", "placement = 'autostream-mq'\nfrontiers = 'one'", &[]).2, of_layers.2);
    let above = placement("tiny", "placement = 'autostream-sfr'", &["ftl.frontiers=separate"]);
    assert_eq!((above.0.as_str(), above.1), ("one", separate));
    assert_eq!(above.2, placement("tiny", "frontiers = 'separate'", &[]).2);
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
    assert_eq!(worn.ftl.allocation.name(), "most-worn");
}

#[test]
fn a_layer_may_change_what_the_clients_of_a_store_do() {
    let store = "[drive]\npreset = 'cvss-128g'\n[workload]\nlsm = 'mixed'\ngets = '30 %'\ndiscard = 'never'\n[until]\nrequests = 9";
    let of = |set: &[&str]| {
        let scenario = resolve(store, set).unwrap_or_else(|error| panic!("{error}"));
        let again = resolve(&scenario.to_toml(), &[]).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((again.hash(), &again.phases), (scenario.hash(), &scenario.phases), "{set:?}");
        let Workload::Lsm(spec) = &scenario.phases[0].workload else { panic!("a store") };
        (spec.operations, spec.config(scenario.device.logical_units, scenario.device.unit))
    };
    let (mixed, config) = of(&[]);
    assert_eq!((mixed.gets, mixed.puts(), config.discard), (0.3, 0.7, wane_workload::lsm::Discard::Never));
    assert_eq!((config.memtable_bytes, config.level_base_bytes, config.record_bytes), (64 << 20, 256 << 20, 1024));
    // Another mixture takes the store over, and not the shares.
    let (ycsb, config) = of(&["workload.lsm=ycsb-e"]);
    assert_eq!((ycsb.scans, ycsb.scan_records, config.discard), (0.95, 100, wane_workload::lsm::Discard::Never));
    assert_eq!(of(&["workload.gets=0.6"]).0.gets, 0.6);
}

#[test]
fn the_store_of_a_smaller_drive_keeps_its_levels() {
    let text = "[drive]\npreset = 'tlc-enterprise-3.84t'\n[workload]\nlsm = 'ycsb-a'\n[until]\nrequests = 9";
    let scenario = resolve(text, &[]).unwrap();
    let small = scenario.scaled("1/16".parse().unwrap()).unwrap();
    let config = |scenario: &Scenario| {
        let Workload::Lsm(spec) = &scenario.phases[0].workload else { panic!("a store") };
        spec.config(scenario.device.logical_units, scenario.device.unit)
    };
    let (large, small) = (config(&scenario), config(&small));
    let share = small.data_bytes as f64 / large.data_bytes as f64;
    for (large, small) in [
        (large.memtable_bytes, small.memtable_bytes),
        (large.table_bytes, small.table_bytes),
        (large.level_base_bytes, small.level_base_bytes),
    ] {
        assert!((small as f64 / large as f64 / share - 1.0).abs() < 1e-3, "{small} of {large} at {share}");
    }
    assert_eq!((small.record_bytes, small.block_bytes), (large.record_bytes, large.block_bytes));
    small.check().unwrap();
}

#[test]
fn a_table_is_the_scenario_that_its_text_is() {
    for text in [EXAMPLE, PHASES] {
        let table: Table = text.parse().unwrap();
        let of_text = resolve(text, &["seed=5"]).unwrap();
        let set = [("set", "seed=5".to_owned())];
        let of_table = Scenario::of_table("scenario", table, None, &set).unwrap();
        // Only a file lends its name.
        assert_eq!(of_table.name, of_table.preset);
        assert_eq!((of_table.hash(), of_table.device), (of_text.hash(), of_text.device));
        assert_eq!(Scenario { name: of_text.name.clone(), ..of_table }, of_text);
    }
}

#[test]
fn an_error_of_a_table_has_its_key_and_no_line() {
    let refused = |text: &str| Scenario::of_table("scenario", text.parse().unwrap(), None, &[]).unwrap_err();
    let error = refused("[drive]\npresett = 'tiny'\n");
    assert_eq!(error.to_string(), "scenario: drive.presett: unknown key; did you mean \"preset\"?");
    assert_eq!((error.line(), error.key.as_str()), (None, "drive.presett"));
    assert!(refused("ftl.gc = 'gready'\n").to_string().starts_with("scenario: ftl.gc: unknown policy \"gready\""));
}
