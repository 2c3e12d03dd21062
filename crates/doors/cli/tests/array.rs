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
