//! smartctl's output for real NVMe drives, and for a simulated one.

#![allow(missing_docs, reason = "tests")]
#![allow(clippy::unwrap_used, reason = "a test")]

mod data;

use std::collections::{BTreeMap, BTreeSet};

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
    smartctl(
        &record,
        &Identity::simulated("a", "tiny", 1, ""),
        "d.wane",
        &["wane", "drive", "smart", "d.wane", "--json"],
    )
}

#[test]
fn every_key_path_that_all_nvme_drives_of_a_collection_share_is_there() {
    let Some(drives) = data::collection() else { return };
    let drives: Vec<Value> = drives.iter().map(|(_, bytes)| serde_json::from_slice(bytes).unwrap()).collect();
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
    let object = smartctl(&dead, &Identity::simulated("a", "tiny", 1, ""), "d.wane", &[]);
    assert_eq!(object["smart_status"]["passed"], false);
    assert_eq!(object["smart_status"]["nvme"]["value"], 9);
    assert_eq!(object["smartctl"]["exit_status"], 8);
    assert_eq!(object["nvme_smart_health_information_log"]["percentage_used"], 103);
}
