//! Resolved scenarios: text that resolves to itself, with the hash of the original scenario.

use super::*;
use crate::timed_tests::OWN_CHIP;

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
    let wanted = "policy = 'd-choices'\nd = 2.0\ndraw = 'neighbors'\ndefaults = ['d', 'draw']".parse().unwrap();
    assert_eq!(resolved_gc(&left), wanted);
    let of_written = "policy = 'd-choices'\nd = 2\ndraw = 'neighbors'\ndefaults = ['draw']".parse().unwrap();
    assert_eq!(resolved_gc(&written), of_written);
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
fn a_resolved_scenario_that_is_run_again_has_the_same_hash() {
    let end = "[until]\ndrive-writes = 2.5\n";
    let of_preset = |preset: &Preset| format!("[drive]\npreset = '{}'\n{end}", preset.name);
    let mut texts: Vec<String> = PRESETS.iter().map(of_preset).collect();
    let book = scenarios_of_the_book();
    texts.extend(book.iter().cloned().chain(book.iter().map(|text| format!("{text}\n{end}"))));
    for more in [
        "[workload]\ntrace = 'traces/a.trace'\nloop = false",
        "[workload]\ntrace = 'a.trace'\nassume-one = 'write'",
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

/// Every key that changes the drive is in the resolved text and in the hash.
#[test]
fn no_key_of_the_drive_is_lost_in_the_resolved_text() {
    let text = format!(
        "[drive]\npreset = 'tiny'\n{OWN_CHIP}[ftl]\nrecovery = 'full-scan'\n[time]\nscheduler = 'event'\n[until]\nrequests = 9"
    );
    let base = resolve(&text, &[]).unwrap_or_else(|error| panic!("{error}"));
    let drives = keys().into_iter().filter(|key| key.path.starts_with("drive.") && key.path != "drive.preset");
    for key in drives {
        let own = ["55", "[0.0, 0.5]", "['3 us', '9 us']"].map(str::to_owned);
        let words = key.words.iter().map(|word| format!("'{word}'"));
        let values = VALUES.iter().map(|value| (*value).to_owned()).chain(own).chain(words);
        let mut changed = 0;
        for set in values.map(|value| format!("{}={value}", key.path)) {
            let Ok(scenario) = resolve(&text, &[&set]) else { continue };
            if (&scenario.device, &scenario.medium) == (&base.device, &base.medium) {
                continue;
            }
            let again = resolve(&scenario.to_toml(), &[]).unwrap_or_else(|error| panic!("{error}\n{set}"));
            assert_eq!((&again.device, &again.medium), (&scenario.device, &scenario.medium), "{set}");
            assert_ne!(scenario.hash(), base.hash(), "{set}");
            changed += 1;
        }
        assert!(changed > 0, "no value that was tried for {} changes the drive", key.path);
    }
}
