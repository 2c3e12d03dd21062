//! Metrics of Prometheus's smartctl_exporter. They are turned into smartctl's JSON, of which they were made, and read like it.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{ReadError, smartctl_json};
use crate::Reading;
use crate::reading::Source;

const PREFIX: &str = "smartctl_";

/// Metrics without a label of their own, and their place in smartctl's JSON.
const PLACES: [(&str, &str); 15] = [
    ("device_percentage_used", "nvme_smart_health_information_log/percentage_used"),
    ("device_available_spare", "nvme_smart_health_information_log/available_spare"),
    ("device_available_spare_threshold", "nvme_smart_health_information_log/available_spare_threshold"),
    ("device_critical_warning", "nvme_smart_health_information_log/critical_warning"),
    ("device_media_errors", "nvme_smart_health_information_log/media_errors"),
    ("device_num_err_log_entries", "nvme_smart_health_information_log/num_err_log_entries"),
    ("device_power_cycle_count", "power_cycle_count"),
    ("device_capacity_bytes", "user_capacity/bytes"),
    ("device_rotation_rate", "rotation_rate"),
    ("device_error_log_count", "ata_smart_error_log/summary/count"),
    ("scsi_grown_defect_list", "scsi_grown_defect_list"),
    ("read_total_uncorrected_errors", "scsi_error_counter_log/read/total_uncorrected_errors"),
    ("write_total_uncorrected_errors", "scsi_error_counter_log/write/total_uncorrected_errors"),
    ("device_bytes_read", "nvme_smart_health_information_log/data_units_read"),
    ("device_bytes_written", "nvme_smart_health_information_log/data_units_written"),
];

/// Labels that name the drive.
const NAMES: [&str; 4] = ["model_name", "model_family", "serial_number", "firmware_version"];

/// The exporter multiplies data units, of 512,000 bytes, by this and by the bytes of a logical block.
const EXPORTER_FACTOR: f64 = 1024.0;
const BLOCK_BYTES: f64 = 512.0;

/// smartctl's exit status where the drive's own assessment fails.
const EXIT_FAILING: u64 = 8;

/// A line of metrics.
struct Metric<'a> {
    name: &'a str,
    labels: BTreeMap<&'a str, String>,
    value: f64,
    milliseconds: Option<f64>,
}

/// A drive as far as its metrics were read.
#[derive(Default)]
struct Device {
    json: Value,
    attributes: BTreeMap<u64, Value>,
    block_bytes: Option<f64>,
    passed: Option<bool>,
    exit_status: Option<u64>,
}

/// The readings of metrics, one for each device; `None` if the text has none of them.
pub(super) fn readings(text: &str) -> Option<Result<Vec<Reading>, ReadError>> {
    let mut devices: BTreeMap<String, Device> = BTreeMap::new();
    for metric in text.lines().filter_map(metric) {
        if let Some(name) = metric.labels.get("device") {
            devices.entry(name.clone()).or_default().add(&metric);
        }
    }
    if devices.is_empty() {
        return None;
    }
    let told: Vec<Reading> = devices.into_iter().filter_map(|(name, device)| device.reading(&name)).collect();
    let nothing = || ReadError::NoHealth("the metrics name devices and tell nothing else of them".to_owned());
    Some(if told.is_empty() { Err(nothing()) } else { Ok(told) })
}

/// A line `smartctl_name{label="value"} 1`, perhaps with a time in milliseconds.
fn metric(line: &str) -> Option<Metric<'_>> {
    let (name, rest) = line.trim().strip_prefix(PREFIX)?.split_once('{')?;
    let (mut labels, mut rest) = (BTreeMap::new(), rest);
    while let Some((label, behind)) = rest.trim_start_matches([',', ' ']).split_once("=\"") {
        if label.contains('}') {
            break;
        }
        let (value, behind) = quoted(behind)?;
        labels.insert(label.trim(), value);
        rest = behind;
    }
    let mut words = rest.trim_start_matches([',', ' ']).strip_prefix('}')?.split_whitespace();
    let value = words.next()?.parse().ok()?;
    Some(Metric { name, labels, value, milliseconds: words.next().and_then(|word| word.parse().ok()) })
}

/// A label's value up to its quotation mark, and what follows.
fn quoted(text: &str) -> Option<(String, &str)> {
    let (mut value, mut letters) = (String::new(), text.char_indices());
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => value.push(letters.next()?.1),
            _ => value.push(letter),
        }
    }
    None
}

impl Device {
    fn add(&mut self, metric: &Metric<'_>) {
        let label = |name: &str| metric.labels.get(name).map_or("", String::as_str);
        for name in NAMES {
            let told = label(name);
            if !told.is_empty() && told != "unknown" {
                set(&mut self.json, name, &json!(told));
            }
        }
        if let Some(milliseconds) = metric.milliseconds {
            set(&mut self.json, "local_time/time_t", &json!((milliseconds / 1000.0) as i64));
        }
        match metric.name {
            "device" if !label("protocol").is_empty() => {
                set(&mut self.json, "device/protocol", &json!(label("protocol")));
            }
            "device_attribute" => self.attribute(metric, label("attribute_id"), label("attribute_value_type")),
            "device_temperature" => {
                set(&mut self.json, &format!("temperature/{}", label("temperature_type")), &json!(metric.value));
            }
            "device_power_on_seconds" => set(&mut self.json, "power_on_time/hours", &json!(metric.value / 3600.0)),
            "device_block_size" if label("blocks_type") == "logical" => self.block_bytes = Some(metric.value),
            "device_smart_status" => self.passed = Some(metric.value == 1.0),
            "device_smartctl_exit_status" => self.exit_status = Some(metric.value as u64),
            "device_statistics" if label("statistic_name") == "Percentage Used Endurance Indicator" => {
                set(&mut self.json, "endurance_used/current_percent", &json!(metric.value));
            }
            name => {
                if let Some((_, place)) = PLACES.iter().find(|(known, _)| *known == name) {
                    set(&mut self.json, place, &json!(metric.value));
                }
            }
        }
    }

    fn attribute(&mut self, metric: &Metric<'_>, id: &str, kind: &str) {
        let Ok(id) = id.parse::<u64>() else { return };
        let (name, flags) = (metric.labels.get("attribute_name"), metric.labels.get("attribute_flags_short"));
        let is_prefailure = flags.is_some_and(|flags| flags.starts_with('P'));
        let new = || json!({ "id": id, "name": name, "flags": { "prefailure": is_prefailure } });
        let row = self.attributes.entry(id).or_insert_with(new);
        let place = if kind == "raw" { "raw/value" } else { kind };
        set(row, place, &json!(metric.value as u64));
    }

    fn reading(mut self, name: &str) -> Option<Reading> {
        let log = "nvme_smart_health_information_log";
        let has_log = self.json.pointer(&format!("/{log}/percentage_used")).is_some();
        for key in ["data_units_read", "data_units_written"] {
            let place = format!("/{log}/{key}");
            // The exporter gives zero for drives of other protocols, which have no data units.
            if let Some(told) = self.json.pointer_mut(&place) {
                let bytes = told.as_f64().filter(|_| has_log);
                let unit = EXPORTER_FACTOR * self.block_bytes.unwrap_or(BLOCK_BYTES);
                *told = bytes.map_or(Value::Null, |bytes| json!((bytes / unit).round()));
            }
        }
        // A status that smartctl did not print is zero too, but smartctl's exit status then has no failure.
        let is_failed = self.exit_status.is_none_or(|status| status & EXIT_FAILING != 0);
        if let Some(passed) = self.passed.filter(|passed| *passed || is_failed) {
            set(&mut self.json, "smart_status/passed", &json!(passed));
        }
        if !self.attributes.is_empty() {
            let rows: Vec<Value> = self.attributes.into_values().collect();
            set(&mut self.json, "ata_smart_attributes/table", &json!(rows));
        }
        set(&mut self.json, "device/name", &json!(name));
        let mut reading = smartctl_json::reading(&self.json).ok()?;
        reading.source = Source::Exporter;
        Some(reading)
    }
}

/// Puts a value at a place `a/b` of an object, whose objects are made.
fn set(object: &mut Value, place: &str, value: &Value) {
    let at = place.split('/').try_fold(object, |at, key| {
        if !at.is_object() {
            *at = json!({});
        }
        Some(at.as_object_mut()?.entry(key).or_insert(Value::Null))
    });
    at.into_iter().for_each(|at| *at = value.clone());
}
