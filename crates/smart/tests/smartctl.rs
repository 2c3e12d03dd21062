//! What smartctl prints of real NVMe drives, and of one of ours.

#![allow(missing_docs, reason = "tests")]
#![allow(clippy::unwrap_used, reason = "a test")]

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::path::Path;

use serde_json::Value;
use wane_smart::{HealthRecord, Identity, smartctl};

/// Every key path of a value with its type; a list's elements are one path.
fn paths(value: &Value, at: &str, found: &mut BTreeMap<String, &'static str>) {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "list",
        Value::Object(_) => "object",
    };
    found.insert(at.to_owned(), kind);
    match value {
        Value::Object(members) => members.iter().for_each(|(key, value)| paths(value, &format!("{at}.{key}"), found)),
        Value::Array(elements) => elements.iter().for_each(|value| paths(value, &format!("{at}[]"), found)),
        _ => {}
    }
}

fn ours() -> Value {
    let record =
        HealthRecord { available_spare_percent: 100.0, day: 1.5, power_on_hours: 36.0, ..HealthRecord::default() };
    smartctl(&record, &Identity::simulated("a", "tiny", 1), "d.wane", &["wane", "drive", "smart", "d.wane", "--json"])
}

/// The files of a tar archive whose names end in `.json`.
fn files(tar: &[u8]) -> Vec<Vec<u8>> {
    const BLOCK: usize = 512;
    let (mut found, mut at) = (Vec::new(), 0);
    while at + BLOCK <= tar.len() && tar[at] != 0 {
        let header = &tar[at..at + BLOCK];
        let text = |range: std::ops::Range<usize>| {
            String::from_utf8_lossy(&header[range]).trim_matches(['\0', ' ']).to_owned()
        };
        let size = usize::from_str_radix(&text(124..136), 8).unwrap();
        if text(0..100).ends_with(".json") {
            found.push(tar[at + BLOCK..at + BLOCK + size].to_vec());
        }
        at += BLOCK + size.div_ceil(BLOCK) * BLOCK;
    }
    found
}

#[test]
fn every_key_path_that_all_nvme_drives_of_a_collection_share_is_there() {
    let Some(folder) = std::env::var_os("WANE_TEST_DATA") else {
        return wane_testkit::skipped("WANE_TEST_DATA, a folder with smartctl's output of real drives, is not set");
    };
    let packed = std::fs::File::open(Path::new(&folder).join("smart/smartctl_json_A.tar.gz")).unwrap();
    let mut tar = Vec::new();
    flate2::read::GzDecoder::new(packed).read_to_end(&mut tar).unwrap();
    let drives: Vec<Value> = files(&tar).iter().map(|bytes| serde_json::from_slice(bytes).unwrap()).collect();
    let nvme: Vec<&Value> = drives.iter().filter(|drive| drive["device"]["type"] == "nvme").collect();
    assert_eq!(nvme.len(), 30, "of {} drives", drives.len());
    let mut shared: Option<BTreeSet<(String, &str)>> = None;
    for drive in nvme {
        let mut found = BTreeMap::new();
        paths(drive, "", &mut found);
        let found: BTreeSet<(String, &str)> = found.into_iter().collect();
        shared = Some(shared.map_or(found.clone(), |shared| shared.intersection(&found).cloned().collect()));
    }
    let shared = shared.unwrap();
    assert_eq!(shared.len(), 53, "{shared:?}");
    let mut printed = BTreeMap::new();
    let ours = ours();
    paths(&ours, "", &mut printed);
    let printed: BTreeSet<(String, &str)> = printed.into_iter().collect();
    let missing: Vec<_> = shared.difference(&printed).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn values_are_the_drives() {
    let object = ours();
    assert_eq!(object["model_name"], "wane tiny (simulated)");
    assert_eq!(object["device"]["name"], "d.wane");
    assert_eq!(object["smart_status"]["passed"], true);
    assert_eq!(object["smartctl"]["exit_status"], 0);
    assert_eq!(object["local_time"]["asctime"], "Thu Jan  2 12:00:00 2025 UTC");
    assert_eq!(object["power_on_time"]["hours"], 36);
    assert_eq!(object["wane"]["is_simulated"], true);
    let dead = HealthRecord { is_read_only: true, percentage_used: Some(103.7), ..HealthRecord::default() };
    let object = smartctl(&dead, &Identity::simulated("a", "tiny", 1), "d.wane", &[]);
    assert_eq!(object["smart_status"]["passed"], false);
    assert_eq!(object["smart_status"]["nvme"]["value"], 9);
    assert_eq!(object["smartctl"]["exit_status"], 8);
    assert_eq!(object["nvme_smart_health_information_log"]["percentage_used"], 103);
}
