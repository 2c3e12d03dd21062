//! A fleet in files: the same bytes with any threads, ranges and interruptions, and one sentence for each refusal.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use parquet::file::reader::{FileReader, SerializedFileReader};

use super::*;

/// 34 drives, so that there are three files, over a few days.
const SMALL: [&str; 3] = ["model.0.count=34", "days=3", "hazards.random=99 %"];

fn fleet(set: &[&str]) -> Fleet {
    Fleet::read(None, &set.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>()).unwrap()
}

fn run(fleet: &Fleet, out: &Path, drives: (u32, u32), threads: usize) -> Result<Ended, TwinError> {
    simulate(fleet, &Job { out, drives, threads, others: Others::Keep }, &AtomicBool::new(false), &mut |_| {})
}

/// Every file below a folder that is not the folder's own, with its bytes.
fn parts(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for kind in ["records", "truth"] {
        for file in fs::read_dir(folder.join(kind)).into_iter().flatten() {
            let path = file.unwrap().path();
            found.insert(Path::new(kind).join(path.file_name().unwrap()), fs::read(&path).unwrap());
        }
    }
    found
}

#[test]
fn threads_ranges_and_interruptions_change_no_byte() {
    let place = tempfile::tempdir().unwrap();
    let fleet = fleet(&SMALL);
    let whole = place.path().join("whole");
    let Ended::Whole(told) = run(&fleet, &whole, (0, 34), 1).unwrap() else { panic!("it was not stopped") };
    assert_eq!((told.drives, told.rows > 34 * 60), (34, true), "{told:?}");
    let wanted = parts(&whole);
    assert_eq!(wanted.len(), 6);
    let threads = place.path().join("threads");
    run(&fleet, &threads, (0, 34), 3).unwrap();
    assert!(parts(&threads) == wanted, "threads");
    let (one, other) = (place.path().join("one"), place.path().join("other"));
    run(&fleet, &one, drives_of(&fleet, Some("0..16")).unwrap(), 1).unwrap();
    run(&fleet, &other, drives_of(&fleet, Some("16..34")).unwrap(), 1).unwrap();
    let mut both = parts(&one);
    both.extend(parts(&other));
    assert!(both == wanted, "ranges");

    let broken = place.path().join("broken");
    let stop = AtomicBool::new(false);
    let job = Job { out: &broken, drives: (0, 34), threads: 1, others: Others::Keep };
    let ended = simulate(&fleet, &job, &stop, &mut |done| stop.store(done >= 17, Ordering::Relaxed)).unwrap();
    // On a machine that finishes before the first look, there is nothing left to stop.
    if let Ended::Stopped(drives) = ended {
        assert!(drives < 34);
        assert!(!read_manifest(&broken).unwrap().whole, "half a fleet is none");
    }
    fs::remove_file(broken.join("records/simulated-000001.parquet")).unwrap_or_default();
    fs::write(broken.join("records/.simulated-000001.parquet"), "begun").unwrap();
    let manifest =
        fs::read_to_string(broken.join("simulated.json")).unwrap().replace("\"whole\": true", "\"whole\": false");
    fs::write(broken.join("simulated.json"), manifest).unwrap();
    assert_eq!(run(&fleet, &broken, (0, 34), 2).unwrap(), Ended::Whole(told.clone()));
    assert!(parts(&broken) == wanted, "interrupted");
    assert_eq!(run(&fleet, &broken, (0, 34), 2).unwrap(), Ended::Already(told));
}

#[test]
fn what_is_missing_damaged_or_of_others_is_simulated_anew() {
    let place = tempfile::tempdir().unwrap();
    let (fleet, out) = (fleet(&SMALL), place.path().join("fleet"));
    run(&fleet, &out, (0, 34), 1).unwrap();
    let wanted = parts(&out);
    let (records, truth) = (out.join("records"), out.join("truth"));
    let file = |number: u32| format!("simulated-{number:06}.parquet");
    // In the middle of a file, where no reader of its footer looks.
    let flip = |path: PathBuf| {
        let mut bytes = fs::read(&path).unwrap();
        bytes[500] ^= 1;
        fs::write(path, bytes).unwrap();
    };
    let harms: [&dyn Fn(); 8] = [
        &|| flip(records.join(file(2))),
        &|| flip(truth.join(file(0))),
        &|| fs::remove_file(out.join("SHA256SUMS")).unwrap(),
        &|| fs::remove_file(records.join(file(1))).unwrap(),
        &|| fs::remove_file(truth.join(file(2))).unwrap(),
        &|| fs::write(records.join(file(0)), "PAR1").unwrap(),
        &|| fs::write(truth.join(file(1)), &wanted[&Path::new("truth").join(file(1))][..1000]).unwrap(),
        &|| assert!(fs::copy(truth.join(file(1)), truth.join(file(0))).unwrap() > 0),
    ];
    for (number, harm) in harms.iter().enumerate() {
        harm();
        assert!(matches!(run(&fleet, &out, (0, 34), 1).unwrap(), Ended::Whole(_)), "harm {number}");
        assert!(parts(&out) == wanted, "harm {number}");
    }
}

#[test]
fn a_drive_of_a_fleet_need_not_say_when_it_ends() {
    let place = tempfile::tempdir().unwrap();
    let drive = "[drive]\nlogical-capacity = \"256 MiB\"\nspare-factor = \"12 %\"\npage-size = \"16 KiB\"\npages-per-block = 64\n";
    let read = |more: &str| {
        fs::write(place.path().join("drive.toml"), format!("{drive}{more}")).unwrap();
        let set = ["model.0.drive=drive.toml".to_owned()];
        Fleet::read(Some((&place.path().join("fleet.toml"), "")), &set).map(|_| ()).map_err(|error| error.to_string())
    };
    assert_eq!(read(""), Ok(()));
    for (more, wanted) in [
        ("[time]\nscheduler = \"event\"\n[drive.thermal]\nambient = 50\n", "has drive.thermal, and"),
        ("chip = \"tlc-72l-2018\"\n[drive.retention]\ncelsius = 50\n", "has drive.retention.celsius = 50, and"),
    ] {
        let found = read(more).unwrap_err();
        assert!(found.contains(wanted), "{found}");
    }
}

#[test]
fn the_settings_in_a_folder_make_its_fleet_again_wherever_it_lies() {
    let place = tempfile::tempdir().unwrap();
    let own = "[drive]\nlogical-capacity = \"256 MiB\"\nspare-factor = \"12 %\"\npage-size = \"16 KiB\"\npages-per-block = 64\n";
    fs::write(place.path().join("own.toml"), own).unwrap();
    let path = place.path().join("fleet.toml");
    let text = "days = 1\n[[model]]\ncount = 1\n[[model]]\nname = \"OWN\"\ndrive = \"own.toml\"\ncount = 1\n";
    let fleet = Fleet::read(Some((&path, text)), &[]).unwrap();
    let (one, other) = (place.path().join("one"), place.path().join("other"));
    run(&fleet, &one, (0, 2), 1).unwrap();
    fs::remove_file(place.path().join("own.toml")).unwrap();
    let moved = place.path().join("moved");
    fs::rename(&one, &moved).unwrap();
    let text = fs::read_to_string(moved.join("fleet.toml")).unwrap();
    let again = Fleet::read(Some((&moved.join("fleet.toml"), &text)), &[]).unwrap();
    assert_eq!(again.hash(), fleet.hash());
    run(&again, &other, (0, 2), 1).unwrap();
    assert!(parts(&other) == parts(&moved));
    let job = Job { out: &moved, drives: (0, 34), threads: 1, others: Others::Replace };
    simulate(&self::fleet(&SMALL), &job, &AtomicBool::new(false), &mut |_| {}).unwrap();
    assert!(!moved.join("drive-1.toml").exists(), "what the other fleet was made of is gone");
}

#[test]
fn every_file_says_that_it_is_simulated_and_at_which_scale() {
    let place = tempfile::tempdir().unwrap();
    let fleet = fleet(&["model.0.count=2", "days=1", "records=daily"]);
    run(&fleet, place.path(), (0, 2), 1).unwrap();
    for (name, _) in parts(place.path()) {
        let file = fs::File::open(place.path().join(&name)).unwrap();
        let reader = SerializedFileReader::new(file).unwrap();
        let told = reader.metadata().file_metadata().key_value_metadata().unwrap().clone();
        let said = |key: &str| told.iter().find(|pair| pair.key == key).and_then(|pair| pair.value.clone()).unwrap();
        assert!(said(SIMULATED).contains("simulated by wane"), "{name:?}");
        assert!(said("wane.scale").contains("SIM-A: 1 byte stands for 3576.3"), "{}", said("wane.scale"));
        let source = |row: &parquet::record::Row| row.to_string().contains("source: \"simulated\"");
        assert!(reader.get_row_iter(None).unwrap().all(|row| source(&row.unwrap())), "{name:?}");
    }
    assert_eq!(read_manifest(place.path()).unwrap().scale["SIM-A"].round(), 3576.0);
}

#[test]
fn a_seed_changes_the_fleet_and_its_drives_names() {
    let (one, other) = (fleet(&["seed=1"]), fleet(&["seed=2"]));
    assert_ne!(one.hash(), other.hash());
    assert_ne!(one.serial(0)[..11], other.serial(0)[..11]);
    assert_ne!(one.slots(), other.slots());
}

/// The sentence with which settings are refused.
fn refused(file: &str, set: &[&str]) -> String {
    let set: Vec<String> = set.iter().map(|one| (*one).to_owned()).collect();
    match Fleet::read(Some((Path::new("fleet.toml"), file)), &set) {
        Ok(_) => panic!("{file} {set:?} was taken"),
        Err(error) => error.to_string(),
    }
}

/// A file, assignments applied to it, and the begin of the sentence with which they are refused.
const REFUSED: [(&str, &[&str], &str); 26] = [
    ("dayz = 3", &[], "fleet.toml, line 1: dayz: unknown key; did you mean \"days\"?"),
    ("days = 0", &[], "fleet.toml, line 1: days: found 0, expected a whole number from 1 to 3650"),
    ("[[model]]\ncount = 3\ncuont = 4", &[], "fleet.toml, line 3: model.0.cuont: unknown key; did you mean \"count\"?"),
    ("[model]\ncount = 3", &[], "fleet.toml, line 1: model: found a table, expected one or more `[[model]]` tables"),
    ("model = 3", &[], "fleet.toml, line 1: model: found 3, expected one or more `[[model]]` tables"),
    ("records = \"weekly\"", &[], "fleet.toml, line 1: records: found \"weekly\", allowed are hourly, daily"),
    (
        "start = \"yesterday\"",
        &[],
        "fleet.toml, line 1: start: found \"yesterday\", expected a day in quotes, such as \"2024-01-01\"",
    ),
    (
        "start = 2024-01-01",
        &[],
        "fleet.toml, line 1: start: found 2024-01-01, expected a day in quotes, such as \"2024-01-01\"",
    ),
    ("[[model]]\nname = \" \"", &[], "fleet.toml, line 2: model.0.name: found \" \", expected text"),
    (
        "[[model]]\nname = \"a\\nb\"",
        &[],
        "fleet.toml, line 2: model.0.name: found \"a\\nb\", expected a name of 1 to 100",
    ),
    (
        "[[model]]\nfirmwares = [\"1\", \" \"]",
        &[],
        "fleet.toml, line 2: model.0.firmwares: found [\"1\", \" \"], expected a list of 1 to 100 names",
    ),
    (
        "start = \"1815-06-18\"",
        &[],
        "fleet.toml, line 1: start: found 1815-06-18, expected a day of the years 1970 to 2200",
    ),
    ("days = ", &[], "fleet.toml, line 1: this is no TOML: "),
    ("", &["days=x"], "--set days=x: days: found \"x\", expected a whole number from 1 to 3650"),
    ("", &["days"], "--set days: expected KEY=VALUE, such as model.0.count=1000"),
    ("[[model]]", &["model.1.count=3"], "--set model.1.count=3: model.1: is not there; the list has 1, counted from 0"),
    (
        "[[model]]\nage-least = 9\nage-most = 3",
        &[],
        "fleet.toml, line 2: model.0.age-least: found 9, which is above age-most, 3",
    ),
    (
        "[[workload]]\ndwpd-mean = 9",
        &[],
        "fleet.toml, line 2: workload.0.dwpd-mean: found 9, which is above dwpd-most, 3",
    ),
    (
        "",
        &["workload.0.dwpd-least=5"],
        "--set workload.0.dwpd-least=5: workload.0.dwpd-least: found 5, which is above dwpd-most, 3",
    ),
    (
        "",
        &["workload.0.dwpd-most=0.3"],
        "--set workload.0.dwpd-most=0.3: workload.0.dwpd-most: found 0.3, which is below dwpd-mean, 0.5",
    ),
    ("[[workload]]\ndwpd-most = 0", &[], "fleet.toml, line 2: workload.0.dwpd-most: found 0, expected more"),
    (
        "[[workload]]\nshare = 0",
        &[],
        "fleet.toml, line 2: workload.0.share: found no share above 0; one workload must have one",
    ),
    (
        "[[model]]\n[[model]]",
        &[],
        "fleet.toml, line 2: model.1.name: found \"SIM-A\" twice; give each [[model]] a name",
    ),
    (
        "[[model]]\ncapacity = \"1 MiB\"",
        &[],
        "fleet.toml, line 2: model.0.capacity: found 1 MiB, less than the 268435456 B that are simulated",
    ),
    (
        "[hazards]\nnode-later = \"90 %\"",
        &[],
        "fleet.toml, line 1: hazards.node-minutes: found node-minutes, rack-minutes, rack-days and",
    ),
    (
        "[[model]]\ndrive = \"none.toml\"",
        &[],
        "fleet.toml, line 2: model.0.drive: none.toml: No such file or directory (os error 2)",
    ),
];

#[test]
fn what_is_wrong_with_a_file_is_one_sentence() {
    for (file, set, wanted) in REFUSED {
        let found = refused(file, set);
        assert!(found.starts_with(wanted), "{file}\n{set:?}\nfound:  {found}\nwanted: {wanted}");
        assert_eq!(found.lines().count(), 1, "{found}");
    }
}

#[test]
fn a_drive_that_is_too_small_or_never_wears_out_is_refused() {
    let place = tempfile::tempdir().unwrap();
    fs::write(
        place.path().join("drive.toml"),
        "[drive]\npreset = \"tiny\"\nlogical-capacity = \"32 MiB\"\n[until]\nend-of-life = true\n",
    )
    .unwrap();
    let path = place.path().join("fleet.toml");
    let found = Fleet::read(Some((&path, "[[model]]\ndrive = \"drive.toml\"")), &[]).err().unwrap().to_string();
    assert!(found.ends_with("a drive of a fleet has at least 16384 in 256"), "{found}");
    let own = "[drive]\npreset = \"tiny\"\n[ftl]\nretire = \"never\"\n[until]\ndrive-writes = 1\n";
    fs::write(place.path().join("drive.toml"), own).unwrap();
    let found = Fleet::read(Some((&path, "[[model]]\ndrive = \"drive.toml\"")), &[]).err().unwrap().to_string();
    assert!(
        found.ends_with("model.0.drive: has ftl.retire = \"never\", drives of a fleet have \"at-endurance\""),
        "{found}"
    );
}

#[test]
fn a_folder_with_something_else_or_another_fleet_is_left_alone() {
    let place = tempfile::tempdir().unwrap();
    let (one, other) = (fleet(&["model.0.count=1", "days=1"]), fleet(&["model.0.count=1", "days=1", "seed=2"]));
    let strange = place.path().join("strange");
    fs::create_dir(&strange).unwrap();
    fs::write(strange.join("thesis.txt"), "mine").unwrap();
    let said = run(&one, &strange, (0, 1), 1).unwrap_err().to_string();
    assert!(
        said.ends_with("holds something else than a simulated fleet; give an empty folder or another name"),
        "{said}"
    );
    let twin = place.path().join("twin");
    run(&one, &twin, (0, 1), 1).unwrap();
    let said = run(&other, &twin, (0, 1), 1).unwrap_err().to_string();
    assert!(said.ends_with("--force begins anew"), "{said}");
    let job = Job { out: &twin, drives: (0, 1), threads: 1, others: Others::Replace };
    let ended = simulate(&other, &job, &AtomicBool::new(false), &mut |_| {}).unwrap();
    assert!(matches!(ended, Ended::Whole(_)));
    assert_eq!(read_manifest(&twin).unwrap().fleet, other.hash());
}

#[test]
fn what_lies_beside_the_drives_is_made_anew_too() {
    let place = tempfile::tempdir().unwrap();
    let own = "[drive]\nlogical-capacity = \"256 MiB\"\nspare-factor = \"12 %\"\npage-size = \"16 KiB\"\npages-per-block = 64\n";
    fs::write(place.path().join("own.toml"), own).unwrap();
    let text = "days = 1\n[[model]]\nname = \"OWN\"\ndrive = \"own.toml\"\ncount = 2\n";
    let fleet = Fleet::read(Some((&place.path().join("fleet.toml"), text)), &[]).unwrap();
    let out = place.path().join("out");
    run(&fleet, &out, (0, 2), 1).unwrap();
    let names = ["simulated.json", "fleet.toml", "drive-0.toml", "SHA256SUMS"];
    let all = || names.map(|name| fs::read_to_string(out.join(name)).unwrap());
    let wanted = all();
    for name in &names[..3] {
        assert!(wanted[3].contains(&format!("  {name}\n")), "{name}");
    }
    let drives = parts(&out);
    let edited = |name: &str, from: &str, to: &str| {
        let text = fs::read_to_string(out.join(name)).unwrap();
        fs::write(out.join(name), text.replace(from, to)).unwrap();
    };
    let harms: [&dyn Fn(); 6] = [
        &|| edited("simulated.json", "\"drives_of_fleet\": 2", "\"drives_of_fleet\": 40"),
        &|| edited("fleet.toml", "days = 1", "days = 4"),
        &|| fs::write(out.join("fleet.toml"), "").unwrap(),
        &|| fs::remove_file(out.join("fleet.toml")).unwrap(),
        &|| edited("drive-0.toml", "256", "512"),
        &|| edited("SHA256SUMS", "fleet.toml", "fleet.tom"),
    ];
    for (number, harm) in harms.iter().enumerate() {
        harm();
        assert!(any_differs(&out, &names, &wanted), "harm {number} does none");
        assert!(matches!(run(&fleet, &out, (0, 2), 1).unwrap(), Ended::Whole(_)), "harm {number}");
        assert!(all() == wanted && parts(&out) == drives, "harm {number}");
        assert!(matches!(run(&fleet, &out, (0, 2), 1).unwrap(), Ended::Already(_)), "harm {number}");
    }
    // It is unknown to which fleet these drives belong.
    for harm in [&(|| fs::remove_file(out.join("simulated.json")).unwrap()) as &dyn Fn(), &|| {
        fs::write(out.join("simulated.json"), "{}").unwrap();
    }] {
        harm();
        let said = run(&fleet, &out, (0, 2), 1).unwrap_err().to_string();
        assert!(said.ends_with("is missing or damaged; --force begins anew"), "{said}");
        assert!(parts(&out) == drives);
        let job = Job { out: &out, drives: (0, 2), threads: 1, others: Others::Replace };
        simulate(&fleet, &job, &AtomicBool::new(false), &mut |_| {}).unwrap();
        assert!(all() == wanted && parts(&out) == drives);
    }
    edited("simulated.json", "\"format\": 3", "\"format\": 2");
    let said = run(&fleet, &out, (0, 2), 1).unwrap_err().to_string();
    assert!(said.ends_with("has format 2, this version of wane writes format 3; --force begins anew"), "{said}");
    // Files that are not the fleet's are not removed.
    fs::write(out.join("thesis.txt"), "mine").unwrap();
    fs::remove_file(out.join("simulated.json")).unwrap();
    let job = Job { out: &out, drives: (0, 2), threads: 1, others: Others::Replace };
    let said = simulate(&fleet, &job, &AtomicBool::new(false), &mut |_| {}).unwrap_err().to_string();
    assert!(said.contains("holds something else") && parts(&out) == drives, "{said}");
}

/// Whether any of a folder's files is not what it was.
fn any_differs(folder: &Path, names: &[&str], were: &[String]) -> bool {
    names.iter().zip(were).any(|(name, was)| fs::read_to_string(folder.join(name)).ok().as_ref() != Some(was))
}

#[test]
fn ranges_are_whole_files_of_the_fleet() {
    let fleet = fleet(&["model.0.count=40", "days=1"]);
    assert_eq!(drives_of(&fleet, None).unwrap(), (0, 40));
    assert_eq!(drives_of(&fleet, Some("16..40")).unwrap(), (16, 40));
    for (found, wanted) in [
        ("x", "--drives x: expected a range, such as 0..512"),
        ("16..16", "--drives 16..16: expected drives of 0..40, the first below the end"),
        ("0..41", "--drives 0..41: expected drives of 0..40, the first below the end"),
        ("0..20", "--drives 0..20: a file holds 16 drives; both ends are multiples of that, or 40, the fleet's end"),
    ] {
        assert_eq!(drives_of(&fleet, Some(found)).unwrap_err().to_string(), wanted);
    }
}

#[test]
fn the_example_is_a_fleet() {
    let fleet = Fleet::read(Some((Path::new("fleet.toml"), EXAMPLE)), &[]).unwrap();
    assert_eq!(fleet.slots().len(), 100);
}

/// A file of the repository.
fn repository(file: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").join(file)).unwrap()
}

#[test]
fn the_fleet_of_the_book_is_one() {
    let fleet = Fleet::read(Some((Path::new("fleet.toml"), &repository("examples/fleets/known-ends.toml"))), &[]);
    assert_eq!(fleet.unwrap().slots().len(), 400);
}

#[test]
fn the_book_says_what_each_attribute_holds() {
    let page = repository("docs/src/fleet-twin.md");
    let row = |line: &str| {
        let mut cells = line.strip_prefix("| ")?.split(" | ");
        Some((cells.next()?.parse::<u16>().ok()?, cells.next()?.to_owned()))
    };
    let told: Vec<(u16, String)> = page.lines().filter_map(row).collect();
    let (of_a, of_b) = (numbers(AttributeSet::A), numbers(AttributeSet::B));
    let set = |number: &u16| match (of_a.contains(number), of_b.contains(number)) {
        (true, true) => "both",
        (true, false) => "A",
        _ => "B",
    };
    let wanted: Vec<(u16, String)> = all_numbers().iter().map(|number| (*number, set(number).to_owned())).collect();
    assert_eq!(told, wanted);
}

#[test]
fn five_lines_are_a_fleet() {
    let fleet = Fleet::read(
        Some((Path::new("fleet.toml"), "days = 90\n[[model]]\ncount = 100\n[[workload]]\npattern = \"zipf\"\n")),
        &[],
    );
    assert_eq!(fleet.unwrap().settings().workload[0].name, "zipf");
}
