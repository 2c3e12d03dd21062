//! JSON of other tools about a drive, turned into smartctl's JSON, of which most of it was made, and read like it.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::{ReadError, smartctl_json};
use crate::Reading;
use crate::numbers::number;

/// Bit of scrutiny's status that is the drive's own assessment.
const SCRUTINY_FAILED: u64 = 1;

/// Keys of scrutiny's device, and their places in smartctl's JSON.
const SCRUTINY: [(&str, &str); 7] = [
    ("device_name", "device/name"),
    ("device_protocol", "device/protocol"),
    ("model_name", "model_name"),
    ("serial_number", "serial_number"),
    ("firmware", "firmware_version"),
    ("capacity", "user_capacity/bytes"),
    ("wwn", "wwn"),
];

/// Puts a value at a place `a/b` of an object, whose objects are made.
pub(super) fn set(object: &mut Value, place: &str, value: &Value) {
    let at = place.split('/').try_fold(object, |at, key| {
        if !at.is_object() {
            *at = json!({});
        }
        Some(at.as_object_mut()?.entry(key).or_insert(Value::Null))
    });
    at.into_iter().for_each(|at| *at = value.clone());
}

/// The readings of an object of such a tool; `None` if it is of none.
pub(super) fn readings(value: &Value) -> Option<Result<Vec<Reading>, ReadError>> {
    if let (Some(device), Some(results)) = (value.get("device"), value.get("smart_results").and_then(Value::as_array)) {
        let records = results.iter().map(|result| smartctl_json::reading(&scrutiny(device, result)));
        return Some(records.collect());
    }
    let table = proxmox(value)?;
    Some(smartctl_json::reading(&table).map(|reading| vec![reading]))
}

/// A record of scrutiny's `/api/device/{wwn}/details`.
fn scrutiny(device: &Value, result: &Value) -> Value {
    let mut record = json!({});
    for (key, place) in SCRUTINY {
        if let Some(told) = device.get(key) {
            set(&mut record, place, told);
        }
    }
    let date = result.get("date").and_then(Value::as_str).and_then(|date| date.parse::<Timestamp>().ok());
    if let Some(date) = date {
        set(&mut record, "local_time/time_t", &json!(date.as_second()));
    }
    for (key, place) in [
        ("temp", "temperature/current"),
        ("power_on_hours", "power_on_time/hours"),
        ("power_cycle_count", "power_cycle_count"),
    ] {
        if let Some(told) = result.get(key) {
            set(&mut record, place, told);
        }
    }
    if let Some(status) = result.get("Status").and_then(Value::as_u64) {
        set(&mut record, "smart_status/passed", &json!(status & SCRUTINY_FAILED == 0));
    }
    let none = Map::new();
    let attributes = result.get("attrs").and_then(Value::as_object).unwrap_or(&none);
    for (key, told) in attributes {
        let is_number = key.bytes().all(|byte| byte.is_ascii_digit());
        match key.as_str() {
            _ if is_number => {
                let row = json!({
                    "id": key, "value": told.get("value"), "worst": told.get("worst"), "thresh": told.get("thresh"),
                    "when_failed": told.get("when_failed"),
                    "raw": { "value": told.get("raw_value"), "string": told.get("raw_string") },
                });
                let table = record.pointer("/ata_smart_attributes/table").and_then(Value::as_array);
                let rows: Vec<Value> = table.into_iter().flatten().cloned().chain([row]).collect();
                set(&mut record, "ata_smart_attributes/table", &json!(rows));
            }
            "scsi_grown_defect_list" => set(&mut record, key, told),
            _ if key.ends_with("_total_uncorrected_errors") => {
                let row = key.split('_').next().unwrap_or_default();
                set(&mut record, &format!("scsi_error_counter_log/{row}/total_uncorrected_errors"), told);
            }
            // SCSI's corrected errors, which are no damage.
            _ if key.contains("correct") => {}
            _ => set(&mut record, &format!("nvme_smart_health_information_log/{key}"), told),
        }
    }
    // NVMe's threshold of the spare stands beside it.
    if let Some(threshold) =
        attributes.get("available_spare").and_then(|spare| spare.get("thresh")).filter(|told| number(told) > Some(0.0))
    {
        set(&mut record, "nvme_smart_health_information_log/available_spare_threshold", threshold);
    }
    record
}

/// Proxmox VE's `/nodes/{node}/disks/smart` of an ATA drive, whose rows are smartctl's.
fn proxmox(value: &Value) -> Option<Value> {
    let rows = value.get("attributes").filter(|_| value.get("type").is_some_and(|kind| kind == "ata"))?.as_array()?;
    let mut record = json!({ "device": { "protocol": "ATA" }, "ata_smart_attributes": { "table": rows } });
    if let Some(health) = value.get("health") {
        set(&mut record, "smart_status", health);
    }
    Some(record)
}
