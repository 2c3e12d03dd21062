//! `wane array plan`: what it tells, and what it refuses.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use assert_cmd::Command;
use serde_json::Value;

/// Config 1 of dissertation 000, table 9.
const SIX: [&str; 6] = [
    "nvme0=150GiB@3.33GiB/s:fast",
    "nvme1=120GiB@3.33GiB/s:fast",
    "nvme2=100GiB@3.33GiB/s:fast",
    "sata0=80GiB@0.48GiB/s:slow",
    "sata1=60GiB@0.48GiB/s:slow",
    "sata2=20GiB@0.48GiB/s:slow",
];

fn plan(members: &[&str], options: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wane"));
    command.args(["array", "plan"]).args(options);
    members.iter().for_each(|member| _ = command.args(["--member", *member]));
    let output = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

fn json(members: &[&str], options: &[&str]) -> Value {
    let (code, told, wrong) = plan(members, &[options, &["--json"]].concat());
    assert_eq!(code, Some(0), "{wrong}");
    serde_json::from_str(&told).unwrap()
}

fn gib(value: &Value) -> f64 {
    value.as_f64().unwrap() / (1u64 << 30) as f64
}

#[test]
fn a_plan_tells_what_the_drives_of_the_paper_give() {
    let found = json(&SIX, &["--width", "3", "--tile", "1 GiB"]);
    assert_eq!(gib(&found["layout"]["data_bytes"]), 352.0);
    assert_eq!(gib(&found["layout"]["redundancy_bytes"]), 176.0);
    assert_eq!(gib(&found["layout"]["stranded_bytes"]), 2.0);
    assert_eq!(gib(&found["groups"][0]["data_bytes"]), 196.0);
    let without: Vec<f64> =
        found["drives"].as_array().unwrap().iter().map(|drive| gib(&drive["data_bytes_without"])).collect();
    assert_eq!(without, [252.0, 260.0, 280.0, 300.0, 312.0, 340.0], "by hand, from sum(min(size, D)) >= 3 D");
    assert!((gib(&found["groups"][0]["read_bytes_per_second"]) - 9.99).abs() < 1e-6);
    let others: Vec<(&str, f64)> = found["other_layouts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|other| (other["placement"].as_str().unwrap(), gib(&other["data_bytes"])))
        .collect();
    assert_eq!(others, [("manual", 340.0), ("equal", 80.0)]);
    let last = found["frontier"].as_array().unwrap().last().unwrap();
    assert_eq!((gib(&last["fast_data_bytes"]), gib(&last["data_bytes"])), (200.0, 350.0));
    let fast = json(&SIX, &["--width", "3", "--tile", "1 GiB", "--fast", "200 GiB"]);
    assert_eq!((gib(&fast["layout"]["fast_data_bytes"]), gib(&fast["layout"]["data_bytes"])), (200.0, 350.0));
}

/// What is wanted of fast drives holds in every table: other widths, and other codes.
#[test]
fn what_is_wanted_of_fast_drives_holds_for_all_that_is_compared() {
    let found = json(&SIX, &["--tile", "1 GiB", "--fast", "120 GiB"]);
    for code in found["codes"].as_array().unwrap() {
        assert!(gib(&code["fast_data_bytes"]) >= 120.0, "{code}");
    }
    let names: Vec<&str> =
        found["codes"].as_array().unwrap().iter().map(|code| code["code"].as_str().unwrap()).collect();
    assert_eq!(names, ["copies-2", "xor"], "three copies hold 100 GiB on three drives, and so do two parities");
    let widths: Vec<u64> =
        found["widths"].as_array().unwrap().iter().map(|width| width["width"].as_u64().unwrap()).collect();
    assert_eq!(widths, [2, 3], "there are three fast drives");
    let (_, told, _) = plan(&SIX, &["--tile", "1 GiB", "--fast", "120 GiB"]);
    assert!(told.contains("on fast drives"), "{told}");
    // Where no width can, the sentence has the most of any.
    let (_, _, wrong) = plan(&SIX, &["--tile", "1 GiB", "--fast", "300 GiB"]);
    assert!(wrong.contains("the fast drives hold at most 200 GiB of data in stripes of 3"), "{wrong}");
}

#[test]
fn the_width_with_the_most_data_is_chosen_where_none_is_asked_for() {
    let found = json(&SIX, &["--code", "xor"]);
    let of_width = |width: &Value| width["data_bytes"].as_u64().unwrap();
    let most = found["widths"].as_array().unwrap().iter().map(of_width).max();
    assert_eq!(found["layout"]["data_bytes"].as_u64(), most);
    assert_eq!(found["widths"].as_array().unwrap().len(), 5, "2 to 6");
    let (_, told, _) = plan(&SIX, &["--width", "3"]);
    for part in ["survives             the loss of any 1 drive", "9.99 GiB/s", "nvme0 nvme1 nvme2", "manual", "--fast"]
    {
        assert!(told.contains(part), "{part}: {told}");
    }
}

/// Stripes of several widths hold all drives but the largest, or but the largest two with two parities. What the text tells as the most is the most.
#[test]
fn the_most_of_one_width_is_not_told_as_the_most_there_is() {
    // (sizes in TB, code, most data of one width in TB, of several, layers)
    let table: [(&[u32], &str, f64, f64, usize); 7] = [
        (&[8, 8, 8, 8, 4, 4], "xor", 32.0, 32.0, 2),
        (&[1, 2, 2, 4, 4], "xor", 8.667, 9.0, 3),
        (&[4, 8, 8], "xor", 10.0, 12.0, 2),
        (&[1, 2, 2, 4, 4], "pq", 5.0, 5.0, 2),
        (&[1, 2, 2, 4, 4], "pqr", 2.5, 3.0, 2),
        (&[1, 2, 2, 4, 4], "copies-2", 6.5, 6.5, 0),
        (&[3, 3, 3], "xor", 6.0, 6.0, 1),
    ];
    for (sizes, code, one, several, layers) in table {
        let members: Vec<String> =
            sizes.iter().enumerate().map(|(number, size)| format!("d{number}={size}TB")).collect();
        let members: Vec<&str> = members.iter().map(String::as_str).collect();
        let found = json(&members, &["--code", code]);
        let tb = |value: &Value| value["data_bytes"].as_f64().unwrap() / 1e12;
        let best = found["widths"].as_array().unwrap().iter().map(tb).fold(0.0, f64::max);
        let of_several = &found["several_widths"];
        assert!((best / one - 1.0).abs() < 2e-4, "{sizes:?} {code}: {best}");
        assert!((tb(of_several) / several - 1.0).abs() < 2e-4, "{sizes:?} {code}: {of_several}");
        assert_eq!(of_several["layers"].as_array().unwrap().len(), layers, "{sizes:?} {code}");
        let (_, told, _) = plan(&members, &["--code", code]);
        assert!(told.contains("most data of one width") && told.contains("most data of several widths"), "{told}");
        let says_how = told.contains("of several widths    a stripe over each of these in turn: ");
        assert_eq!(says_how, several > one + 1e-3, "{sizes:?} {code}: {told}");
    }
    let (_, told, _) = plan(&["a=4TB", "b=8TB", "c=8TB"], &[]);
    assert!(told.contains("in turn: 4 TB of 3 drives, 4 TB of 2 drives"), "{told}");
}

/// The journal costs each drive by its size, as far as no drive has an entry twice; codes stand side by side.
#[test]
fn a_plan_tells_what_a_journal_costs_each_drive_and_what_each_code_gives() {
    let six = ["a=4TB", "b=4TB", "c=2TB", "d=2TB", "e=1TB", "f=512GB"];
    let found = json(&six, &["--width", "3"]);
    let of = |found: &Value, key: &str| -> Vec<f64> {
        found["drives"].as_array().unwrap().iter().map(|drive| drive[key].as_f64().unwrap()).collect()
    };
    // A record of 4 KiB and its parity, 64 bytes and 8 for each before them, on two drives; a checkpoint takes a thousandth more.
    let by_hand = 2.0 * (64.0 + 2.0 * 4104.0) / 4096.0;
    let bytes = of(&found, "journal_bytes_per_byte");
    assert!((bytes.iter().sum::<f64>() / by_hand - 1.0).abs() < 5e-3, "{bytes:?}");
    let writes = of(&found, "journal_drive_writes_per_array_write");
    let alike = by_hand * 9.008 / 13.512;
    assert!(writes.iter().all(|writes| (writes / alike - 1.0).abs() < 0.01), "{writes:?}: {alike}");
    // Two large drives have each entry between them: the small ones would have more than their part, were it not for that.
    let two = json(&["a=8TB", "b=1TB", "c=1TB"], &[]);
    let bytes = of(&two, "journal_bytes_per_byte");
    assert!((bytes[0] / by_hand - 0.5).abs() < 5e-3 && (bytes[1] / by_hand - 0.25).abs() < 5e-3, "{bytes:?}");
    let codes = found["codes"].as_array().unwrap();
    let row = |name: &str| codes.iter().find(|code| code["code"] == name).unwrap();
    for (name, data, survives, bytes) in [
        ("copies-2", 6.756, 1, 2),
        ("copies-3", 4.504, 2, 3),
        ("xor", 9.008, 1, 2),
        ("pq", 5.512, 2, 3),
        ("pqr", 3.024, 3, 4),
    ] {
        let row = row(name);
        assert!((row["data_bytes"].as_f64().unwrap() / 1e12 - data).abs() < 1e-3, "{row}");
        assert_eq!((row["survives"].as_u64(), row["bytes_per_byte"].as_u64()), (Some(survives), Some(bytes)));
        let copies = f64::from(u32::try_from(bytes).unwrap());
        let full = copies + copies * (64.0 + copies * 4104.0) / 4096.0;
        assert!((row["bytes_per_byte_with_journal"].as_f64().unwrap() / full - 1.0).abs() < 0.01, "{row}");
    }
    let (_, told, _) = plan(&six, &["--width", "3"]);
    for part in [
        "journal of a byte",
        "journal of an array write",
        "2.70 drive writes",
        "written for a byte of 4 KiB",
        "have the ring by their size",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
}

#[test]
fn drives_come_from_a_file_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("drives.toml");
    let drive = |name: &str, size: &str| format!("[[member]]\nname = \"{name}\"\nsize = \"{size}\"\n");
    std::fs::write(&path, drive("a", "1 TB") + &drive("b", "2 TB")).unwrap();
    let found = json(&["c=1TB"], &[path.to_str().unwrap(), "--code", "copies-2", "--width", "2"]);
    assert_eq!(found["drives"].as_array().unwrap().len(), 3);
    assert!(
        (found["layout"]["data_bytes"].as_f64().unwrap() / 2e12 - 1.0).abs() < 1e-4,
        "two copies on 1, 2 and 1 TB hold 2 TB"
    );
    std::fs::write(&path, "[[member]]\nname = \"a\"\nsise = \"1 TB\"\n").unwrap();
    let (code, _, wrong) = plan(&[], &[path.to_str().unwrap()]);
    assert_eq!(code, Some(2));
    assert!(wrong.contains("line 3: unknown field `sise`"), "{wrong}");
}

#[test]
fn what_makes_no_array_is_told_in_one_sentence() {
    let (a, b) = ("a=1TB@5MB/s", "b=1TB@1MB/s");
    let table: [(&[&str], &[&str], &str); 16] = [
        (&[], &[], "found 0 drives"),
        (&[a, b], &["--width", "3"], "a stripe of 3 chunks needs 3 drives, found 2; the largest that works has 2"),
        (&SIX[..5], &["--code", "copies-2", "--width", "9"], "found 5; the largest that works has 4"),
        (&[a, b, "c=10MiB@1MB/s"], &["--width", "3"], "needs 3 drives, found 2"),
        (&SIX, &["--code", "pq", "--width", "2"], "pq has no stripes of 2 chunks on 6 drives; allowed are 3, 4, 5, 6"),
        (&[a, b], &["--code", "pqr"], "pqr needs 4 drives at least, found 2 that hold a tile of 64 MiB"),
        (&[a, a], &[], "two drives have the name \"a\""),
        (&["a=1XB"], &[], "'1XB' is not a size"),
        (&["a=1TB@5"], &[], "'5' is not a rate"),
        (&["a"], &[], "which has no ="),
        (&["a=1TB:hot"], &[], "whose class is neither fast nor slow"),
        (&[a, "b=1TB"], &[], "drive \"b\" has no speed"),
        (&[a, b], &["--code", "raid5"], "no code \"raid5\"; there are"),
        (&[a, b], &["--placement", "any"], "no placement \"any\"; there are unequal, equal, manual"),
        (&[a, b], &["--tile", "1 KiB"], "--tile: found 1 KiB, allowed are 64 KiB to 1 TiB"),
        (&SIX, &["--width", "3", "--fast", "1 TiB"], "the fast drives hold at most 200 GiB of data in stripes of 3"),
    ];
    for (members, options, sentence) in table {
        let (code, told, wrong) = plan(members, options);
        assert_eq!((code, told.as_str()), (Some(2), ""), "{members:?} {options:?}");
        assert!(wrong.contains(sentence), "{sentence}: {wrong}");
        assert_eq!(wrong.lines().count(), 1, "{wrong}");
    }
    let (_, _, wrong) = plan(&["a=1TB", "b=1TB"], &["--fast", "1 GB"]);
    assert!(wrong.contains("--fast: no drive is known to be fast"), "{wrong}");
    let (_, _, wrong) = plan(&[a, b], &["--width", "2", "--fast", "1 GB"]);
    assert!(wrong.contains("--fast: stripes of 2 chunks need as many fast drives, found 1"), "{wrong}");
}
