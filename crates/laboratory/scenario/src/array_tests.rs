//! Arrays in scenarios.

use wane_blockdev::{BlockDevice as _, Living, Ram, RamConfig};
use wane_raid::Raid;
use wane_units::Sectors;

use super::{ArrayLayout, LastWord, Scenario, ScenarioError, Sources};

const MIRROR: &str = "[drive]\nlogical-capacity = \"8 MiB\"\npages-per-block = 16\nendurance = 100\n\
                      [array]\n[[array.member]]\ncount = 2\n[[array.member]]\n\
                      drive = { endurance = 300, logical-capacity = \"12 MiB\" }\n[until]\ndrive-writes = 1\n";

fn resolve(text: &str, set: &[&str]) -> Result<Scenario, ScenarioError> {
    let set: Vec<String> = set.iter().map(|set| (*set).to_owned()).collect();
    Scenario::resolve(&Sources { file: Some(("array.toml", text)), set: &set, preset: None })
}

fn refused(set: &[&str]) -> String {
    resolve(MIRROR, set).expect_err("it is refused").to_string()
}

#[test]
fn members_have_the_drive_of_the_scenario_and_what_they_change() {
    let scenario = resolve(MIRROR, &[]).expect("an array");
    let array = scenario.array.as_ref().expect("an array");
    assert_eq!((array.settings.layout, array.settings.at_end_of_life), (ArrayLayout::Mirror, LastWord::ReadOnly));
    let told: Vec<_> =
        array.members.iter().map(|drive| (drive.device.logical_bytes() >> 20, drive.device.endurance)).collect();
    assert_eq!(told, [(8, Some(100)), (8, Some(100)), (12, Some(300))]);
    // Two copies on 8, 8 and 12 MiB.
    assert_eq!(scenario.host_device().logical_bytes(), 14 << 20);
    assert_eq!(scenario.device.logical_bytes(), 8 << 20);
    let mut seeds: Vec<u64> = array.members.iter().map(|drive| drive.seed).collect();
    seeds.dedup();
    assert_eq!(seeds.len(), 3, "each draws its own numbers");
    // A member of another preset.
    let text = "[drive]\npreset = \"sata-qlc-480g\"\n[array]\n[[array.member]]\n[[array.member]]\n\
                drive = { preset = \"tiny\" }\n[until]\ndrive-writes = 1\n";
    let both = resolve(text, &[]).expect("an array").array.expect("an array").members;
    assert_eq!((both[0].preset.as_str(), both[1].preset.as_str()), ("sata-qlc-480g", "tiny"));
    assert!(both[0].device.logical_bytes() > 100 * both[1].device.logical_bytes());
}

#[test]
fn a_resolved_array_resolves_to_itself() {
    for set in [
        &[][..],
        &["array.layout=stripe", "array.chunk=128KiB"],
        &["array.replace-at=0.5", "array.reads=healthiest"],
        &["array.layout=raid", "array.chunk=16KiB", "array.spares=2", "array.scrub-every=30days"],
        &["array.layout=raid", "array.chunk=8KiB", "array.code=copies-2", "array.journal=none"],
        &["array.layout=raid", "array.chunk=8KiB", "array.parity-shares=[2, 1, 1]"],
        &["array.member.1.write-mostly=true"],
        &["array.layout=raid", "array.chunk=8KiB", "array.code=copies-3", "array.member.0.write-mostly=true"],
        &["array.layout=raid", "array.chunk=8KiB", "array.read-around=20ms", "array.following=members"],
        &["array.layout=raid", "array.chunk=16KiB", "array.checksums=true"],
    ] {
        let scenario = resolve(MIRROR, set).expect("an array");
        let text = scenario.to_toml();
        let again = resolve(&text, &[]).expect("a resolved scenario resolves");
        assert_eq!((again.to_toml(), again.hash()), (text, scenario.hash()));
        let (one, other) = (again.array.expect("an array"), scenario.array.expect("an array"));
        assert_eq!(one.device, other.device);
        let devices = |array: &super::ArraySpec| -> Vec<_> {
            array.members.iter().map(|drive| (drive.device, drive.seed, drive.medium.clone())).collect()
        };
        assert_eq!(devices(&one), devices(&other));
    }
}

#[test]
fn a_member_of_another_preset_resolves_to_itself() {
    let text = "[drive]\npreset = \"tiny\"\n[array]\n[[array.member]]\n[[array.member]]\n\
                drive = { preset = \"mlc-8g\", logical-capacity = \"64 MiB\" }\n[until]\ndrive-writes = 1\n";
    let scenario = resolve(text, &[]).expect("an array");
    let again = resolve(&scenario.to_toml(), &[]).expect("a resolved scenario resolves");
    assert_eq!(again.hash(), scenario.hash());
    let devices = |scenario: &Scenario| -> Vec<_> {
        scenario.array.iter().flat_map(|array| &array.members).map(|drive| drive.device).collect()
    };
    assert_eq!(devices(&again), devices(&scenario));
}

#[test]
fn members_that_shrink_unfollowed_and_those_that_are_followed_in_vain_are_told() {
    let shrinks = "ftl.capacity={ policy = \"variant\", shrink = \"graceful\" }";
    let raid = ["array.layout=raid", "array.code=copies-2", "array.width=2"];
    let told = |set: &[&str]| {
        let scenario = resolve(MIRROR, set).expect("an array");
        let about =
            |words: &str| scenario.unasked().iter().chain(&scenario.without_effect()).any(|told| told.contains(words));
        (about("get no space back from this array"), about("array.following has no effect"))
    };
    assert_eq!(told(&[]), (false, false));
    assert_eq!(told(&[shrinks]), (true, false));
    assert_eq!(told(&[&raid[..], &[shrinks]].concat()), (true, false));
    assert_eq!(told(&[&raid[..], &[shrinks, "array.following=members"]].concat()), (false, false));
    assert_eq!(told(&[&raid[..], &["array.following=members"]].concat()), (false, true));
    // The layout is the reason there.
    assert_eq!(told(&["array.following=members"]), (false, true));
}

#[test]
fn checksums_take_their_place_from_each_member() {
    let bytes = |set: &[&str]| resolve(MIRROR, set).expect("an array").host_device().logical_bytes();
    // Members of 8, 8 and 12 MiB: a block of marks each, and a block for each 4 MiB.
    let checked = (3 + 3 + 4) * 4096;
    assert_eq!(bytes(&["array.checksums=true"]), (28 * (1 << 20) - checked) / 2);
    assert_eq!(bytes(&["array.checksums=true", "array.layout=linear"]), 28 * (1 << 20) - checked);
}

#[test]
fn a_scenario_of_one_drive_knows_nothing_of_arrays() {
    let scenario = resolve("[drive]\npreset = \"tiny\"\n[until]\ndrive-writes = 1\n", &[]).expect("a drive");
    assert!(scenario.array.is_none() && !scenario.to_toml().contains("[array]"));
    let array = resolve(MIRROR, &[]).expect("an array");
    let hash = array.hash();
    assert!(array.array.expect("an array").members.iter().all(|drive| drive.hash() != hash));
}

#[test]
fn what_makes_no_array_is_refused_in_a_sentence() {
    let cases: [(&[&str], &str); 17] = [
        (
            &["array.layout=stripe", "array.member.1.write-mostly=true"],
            "array.member.1.write-mostly: needs copies of all data, layout = \"mirror\" or a code \"copies-2\" or \"copies-3\", found \"stripe\"",
        ),
        (
            &["array.member.0.write-mostly=true", "array.member.1.write-mostly=true"],
            "array.member.0.write-mostly: is true for all members",
        ),
        (&["array.member.0.drive.faults.lost-die=0"], "drive.faults.lost-die: dies of an array's drives"),
        (&["array.layout=linear", "array.member.0.drive.mapping-unit=2KiB"], "array.member: mapping units differ"),
        (
            &["array.checksums=true", "drive.mapping-unit=2KiB"],
            "array.checksums: the device writes units of 4 sectors; checksums need units of whole blocks of 4 KiB",
        ),
        (&["array.copies=4"], "array: 4 copies on 3 members"),
        (&["array.copies=1"], "array.copies: found 1, expected a whole number from 2 to 16"),
        (&["array.layout=raid5"], "allowed are mirror, stripe, linear, raid"),
        (&["array.layout=stripe", "array.spares=1"], "array.spares: needs layout = \"mirror\" or \"raid\": a stripe"),
        (&["array.layout=stripe", "array.chunk=6KiB"], "array.chunk: a chunk has 12 sectors"),
        (&["array.layout=stripe", "array.chunk=16MiB"], "is smaller than a chunk of"),
        (&["array.layout=linear", "array.replace-at=0.5"], "array.replace-at: needs layout = \"mirror\" or \"raid\""),
        (&["array.member.0.count=64"], "array.member: found 65 members; 1 to 64 are allowed"),
        (&["array.member.2.count=1"], "array.member.2: is not there; the list has 2"),
        (&["array.member.0.drive.mapping-unit=3KiB"], "array.member.0.drive"),
        (&["array.member.1.drive.endurence=3"], "did you mean \"endurance\"?"),
        (
            &["fast-forward.factor=2", "array.member.1.drive.faults.erase-failure=1e-6"],
            "fast-forward: predicts erase counts alone, and the scenario has faults",
        ),
    ];
    for (set, why) in cases {
        let told = refused(set);
        assert!(told.contains(why), "{set:?}: {told}");
        assert_eq!(told.lines().count(), 1, "{told}");
    }
    let two =
        resolve("[drive]\npreset = \"tiny\"\n[array]\n[until]\ndrive-writes = 1\n", &[]).expect("a mirror of two");
    assert_eq!(two.array.expect("an array").members.len(), 2);
}

const RAID: &str = "[drive]\nlogical-capacity = \"8 MiB\"\npages-per-block = 16\n[array]\nlayout = \"raid\"\nchunk = \"8 KiB\"\n\
                    [[array.member]]\ncount = 4\n[[array.member]]\n[until]\ndrive-writes = 1\n";

/// Memory as large as a member, with its unit.
fn ram(device: &super::Device) -> Box<dyn Living> {
    let config = RamConfig::new(Sectors(device.logical_bytes() / 512));
    let unit = Sectors(device.unit.0 / 512);
    Box::new(Ram::with(RamConfig { atomic_unit: unit, ..config }).expect("a unit of whole sectors"))
}

/// The capacity of a scenario is that of the device that is made of its members.
#[test]
fn a_raid_has_the_capacity_of_its_code_on_its_members() {
    let of = |set: &[&str]| {
        let array = resolve(RAID, set).expect("an array").array.expect("an array");
        let members: Vec<Box<dyn Living>> = array.members.iter().map(|member| ram(&member.device)).collect();
        let device = Raid::new(array.raid(7).expect("a raid"), members).expect("an array");
        assert_eq!(device.capacity().0 * 512, array.device.logical_bytes(), "{set:?}");
        (array.settings.width, array.device.logical_bytes() as f64 / (8 << 20) as f64)
    };
    // Members of 8 MiB give up to a quarter for the ring, the tables and the last part of a tile.
    let about = |found: (Option<u32>, f64), width: u32, data: f64| {
        assert_eq!(found.0, Some(width));
        assert!((0.75 * data..data).contains(&found.1), "{found:?} of {data}");
    };
    about(of(&[]), 5, 4.0);
    about(of(&["array.code=pq"]), 5, 3.0);
    about(of(&["array.code=pqr"]), 5, 2.0);
    about(of(&["array.width=3"]), 3, 10.0 / 3.0);
    about(of(&["array.code=copies-2"]), 4, 2.5);
    about(of(&["array.width=3", "array.member.1.drive.logical-capacity=16MiB"]), 3, 4.0);
    about(of(&["array.placement=equal", "array.member.1.drive.logical-capacity=16MiB"]), 5, 4.0);
}

/// A key of another layout is told, since a user who writes it expects something of it.
#[test]
fn keys_of_other_layouts_are_told_to_have_no_effect() {
    let of = |set: &[&str]| resolve(MIRROR, set).expect("an array").without_effect();
    assert!(of(&["array.copies=3", "time.scheduler=event", "array.rebuild-rate=10MB/s"]).is_empty());
    let untimed =
        of(&["array.layout=raid", "array.rebuild-rate=10MB/s", "array.scrub-every=30days", "array.read-around=1s"]);
    assert_eq!(
        untimed,
        ["rebuild-rate", "scrub-every", "read-around"]
            .map(|key| format!("array.{key} has no effect: the run is untimed; give time.scheduler = \"event\""))
    );
    assert_eq!(
        of(&["array.code=pq", "array.width=3"]),
        ["code", "width"]
            .map(|key| format!("array.{key} has no effect: it belongs to layout raid, and this is mirror"))
    );
    let shares = of(&["array.parity-shares=[1, 2, 1]", "array.read-around=1s", "array.following=members"]);
    assert_eq!(
        shares,
        ["parity-shares", "read-around", "following"]
            .map(|key| format!("array.{key} has no effect: it belongs to layout raid, and this is mirror"))
    );
    let raid = of(&["array.layout=raid", "array.chunk=8KiB", "array.reads=healthiest"]);
    assert_eq!(raid, ["array.reads has no effect: it belongs to layout mirror, and this is raid"]);
}

#[test]
fn what_makes_no_raid_is_refused_in_a_sentence() {
    let cases: [(&[&str], &str); 17] = [
        (&["array.member.1.write-mostly=true"], "array.member.1.write-mostly: needs copies of all data"),
        (&["array.parity-shares=[4, 1]"], "array.parity-shares: found 2 shares for 5 members; each has one"),
        (&["array.parity-shares=[0, 0, 0, 0, 0]"], "array.parity-shares: found 0 for each member"),
        (&["array.parity-shares=[97, 1, 1, 1, 1]"], "array.parity-shares: found shares of 101 in lowest terms"),
        (
            &["array.parity-shares=[4, 1, 1, 1, 1]", "array.code=pq"],
            "array.parity-shares: needs a code with one parity, \"xor\", found \"pq\"",
        ),
        (
            &["array.parity-shares=[4, 1, 1, 1, 1]", "array.width=4"],
            "array.parity-shares: needs stripes on all 5 members, found a width of 4",
        ),
        (&["array.read-around=0s"], "array.read-around: found"),
        (&["array.following=host"], "allowed are never, members"),
        (&["array.code=raid5"], "array.code: found \"raid5\", allowed are copies-2, copies-3, xor, pq, pqr"),
        (&["array.placement=auto"], "array.placement: found \"auto\", allowed are unequal, equal, manual"),
        (&["array.write-path=fast"], "array.write-path: found \"fast\", allowed are direct, md, straid"),
        (
            &["array.width=7"],
            "array.width: a stripe of 7 chunks needs 7 members, found 5; the largest width that works is 5",
        ),
        (
            &["array.width=3", "array.code=copies-2"],
            "array.width: \"copies-2\" has no stripes of 3 chunks; the largest width that works is 4",
        ),
        (
            &["array.width=3", "array.code=pqr"],
            "array.width: \"pqr\" has no stripes of 3 chunks; the largest width that works is 5",
        ),
        (
            &["array.code=pqr", "array.member.0.count=2"],
            "array.code: \"pqr\" has 3 parities and needs 4 members, found 3",
        ),
        (&["array.chunk=6KiB"], "array.chunk: a chunk has 12 sectors, and a multiple of the largest unit of a member"),
        (
            &["array.chunk=1MiB"],
            "array.chunk: a member has 16384 sectors, and a part of a tile, the ring and the tables",
        ),
    ];
    for (set, why) in cases {
        let set: Vec<String> = set.iter().map(|set| (*set).to_owned()).collect();
        let sources = Sources { file: Some(("array.toml", RAID)), set: &set, preset: None };
        let told = Scenario::resolve(&sources).expect_err("it is refused").to_string();
        assert!(told.contains(why), "{set:?}: {told}");
        assert_eq!(told.lines().count(), 1, "{told}");
    }
}

/// A stripe of five drives of which a forecast is asked.
const FORECAST: &str = "[drive]\nlogical-capacity = \"8 MiB\"\npages-per-block = 16\nendurance = 100\n\
                        [array]\nlayout = \"stripe\"\n[[array.member]]\ncount = 5\n[time]\ndrive-writes-per-day = 0.5\n\
                        [until]\nend-of-life = true\n[forecast]\nparities = 1\n";

#[test]
fn a_forecast_resolves_to_itself_and_changes_the_hash() {
    let sets: [&[&str]; 3] = [
        &[],
        &["forecast.scrub=none", "forecast.drive-capacity=7680 GB", "forecast.alternatives=[\"spare\"]"],
        &[
            "forecast.spread=normal",
            "forecast.years=[0.5, 2]",
            "forecast.capacity-variance=1.5",
            "forecast.detection=90s",
        ],
    ];
    let mut hashes = Vec::new();
    for set in sets {
        let scenario = resolve(FORECAST, set).expect("a forecast");
        let again = resolve(&scenario.to_toml(), &[]).expect("a resolved scenario resolves");
        assert_eq!((&again.forecast, again.hash()), (&scenario.forecast, scenario.hash()));
        assert!(scenario.array.expect("an array").members.iter().all(|member| member.forecast.is_none()));
        hashes.push(again.hash());
    }
    hashes.dedup();
    assert_eq!(hashes.len(), 3);
}

#[test]
fn an_array_has_the_alternatives_that_it_can_have() {
    let chosen = |set: &[&str]| {
        let scenario = resolve(FORECAST, set).expect("a forecast");
        let array = scenario.array.as_ref().expect("an array");
        scenario
            .forecast
            .expect("a forecast")
            .chosen(array)
            .iter()
            .map(|name| name.name())
            .collect::<Vec<_>>()
            .join(" ")
    };
    assert_eq!(chosen(&[]), "spare more-redundancy staggered-ages uneven-parity early-replacement");
    let mirror = ["array.layout=mirror", "forecast.parities=0", "forecast.capacity-variance=2"];
    assert_eq!(chosen(&mirror), "spare more-redundancy staggered-ages capacity-variance early-replacement");
    assert_eq!(chosen(&["array.layout=linear", "forecast.parities=0"]), "staggered-ages");
    // The code of a raid says what it has. One parity of one chunk is a copy.
    let raid = |code: &str, width: &str| chosen(&["array.layout=raid", "forecast.parities=0", code, width]);
    let with_parity = "spare more-redundancy staggered-ages uneven-parity early-replacement";
    assert_eq!(raid("array.code=xor", "array.width=5"), with_parity);
    // Unequal shares need one parity, and stripes on all members.
    let evenly = [
        ("array.code=pq", "array.width=4"),
        ("array.code=pq", "array.width=5"),
        ("array.code=xor", "array.width=4"),
        ("array.code=copies-2", "array.width=4"),
        ("array.code=xor", "array.width=2"),
    ];
    for (code, width) in evenly {
        assert_eq!(raid(code, width), "spare more-redundancy staggered-ages early-replacement", "{code} {width}");
    }
    assert_eq!(
        raid("array.code=xor", "array.parity-shares=[2, 1, 1, 1, 1]"),
        "spare more-redundancy staggered-ages early-replacement"
    );
    assert_eq!(raid("array.code=pqr", "array.width=5"), "spare staggered-ages early-replacement");
    // What would take more members than an array has, begin with worn out ones, or replace them later than the plan.
    let count = |count: &str, more: &str| chosen(&[&format!("array.member.0.count={count}"), more]);
    assert_eq!(count("64", "forecast.stagger=0.01"), "spare staggered-ages uneven-parity early-replacement");
    assert_eq!(count("11", "forecast.stagger=0.1"), "spare more-redundancy uneven-parity early-replacement");
    assert_eq!(count("8", "forecast.endurance=0.6"), "spare more-redundancy uneven-parity");
    let soon = ["array.layout=mirror", "forecast.parities=0", "array.replace-at=0.5"];
    assert_eq!(chosen(&soon), "spare more-redundancy staggered-ages");
}

#[test]
fn a_forecast_that_cannot_be_made_is_refused_in_one_sentence() {
    let refused = |set: &[&str]| resolve(FORECAST, set).expect_err("it is refused").to_string();
    let chip = "drive.chip=tlc-72l-2018";
    let cases: [(&[&str], &str, &str); 15] = [
        (&["time.drive-writes-per-day=none"], "forecast", "give time.drive-writes-per-day"),
        (&["array.layout=mirror"], "forecast.parities", "found 1 with layout = \"mirror\""),
        (&["forecast.parities=3", "array.member.0.count=4"], "forecast.parities", "3 parities need 5 members at least"),
        (&["forecast.parities=4"], "forecast.parities", "found 4"),
        (&["array.layout=raid"], "forecast.parities", "whose parities are those of array.code = \"xor\"; leave it out"),
        (
            &[
                "array.layout=raid",
                "array.code=pqr",
                "forecast.parities=0",
                "forecast.alternatives=[\"more-redundancy\"]",
            ],
            "forecast.alternatives.0",
            "three parities are the most",
        ),
        (
            &["array.layout=raid", "array.width=3", "forecast.parities=0", "forecast.alternatives=[\"uneven-parity\"]"],
            "forecast.alternatives.0",
            "shares need stripes on all 5 members, and array.width is 3",
        ),
        (&["forecast.spread=normal", "forecast.cv=0.4"], "forecast.cv", "a normal spread has at most 0.25"),
        (&["forecast.years=[3, 1]"], "forecast.years", "ascending"),
        (
            &["forecast.alternatives=[\"capacity-variance\"]"],
            "forecast.alternatives",
            "give forecast.capacity-variance",
        ),
        (&["forecast.afr=1.5"], "forecast.afr", "1.5"),
        (&["forecast.uber=chip"], "forecast.uber", "found \"chip\": there is no drive.chip"),
        (&["forecast.uber=chip", chip], "forecast.uber", "drive.ecc.strength is \"none\""),
        (&["forecast.uber=chip", chip, "drive.ecc.strength=75"], "forecast.uber", "drive.ecc.rereads-max is \"none\""),
        (&["forecast.uber=measured"], "forecast.uber", "stated"),
    ];
    for (set, key, told) in cases {
        let found = refused(set);
        assert!(found.contains(key) && found.contains(told), "{set:?}: {found}");
        assert_eq!(found.trim().lines().count(), 1, "{found}");
    }
    let text = "[drive]\nlogical-capacity = \"8 MiB\"\npages-per-block = 16\n[until]\ndrive-writes = 1\n[forecast]\n";
    let alone = resolve(text, &[]).expect_err("one drive").to_string();
    assert!(alone.contains("forecast") && alone.contains("is of an array"), "{alone}");
}

#[test]
fn keys_of_the_other_source_of_the_uber_are_told_to_have_no_effect() {
    let told = |set: &[&str]| resolve(FORECAST, set).expect("a forecast").without_effect();
    assert_eq!(told(&[]), Vec::<String>::new());
    assert_eq!(
        told(&["forecast.uber-retention=24h", "forecast.uber-reads=5"]),
        ["uber-retention", "uber-reads"]
            .map(|key| format!("forecast.{key} has no effect: forecast.uber is \"stated\""))
    );
    let chip = ["drive.chip=tlc-72l-2018", "drive.ecc.strength=75", "drive.ecc.rereads-max=1", "forecast.uber=chip"];
    assert_eq!(told(&chip), Vec::<String>::new());
    let worn = told(&[&chip[..], &["forecast.uber-worn=1e-14", "forecast.uber-reads=5"]].concat());
    assert_eq!(worn, ["forecast.uber-worn has no effect: forecast.uber is \"chip\""]);
}
