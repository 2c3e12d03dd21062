//! Metrics of drives: of Prometheus's smartctl_exporter, of node_exporter's scripts `smartmon` and `nvme_metrics`, and of telegraf,
//! whose lines may be InfluxDB's. They are turned into smartctl's JSON, of which most of them were made, and read like it.
//!
//! Units are those of each tool, and of its versions: [`units`].

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::foreign::set;
use super::pages::{DATA_UNIT_BYTES, plain};
use super::{ReadError, smartctl_json};
use crate::Reading;
use crate::reading::Source;

const LOG: &str = "nvme_smart_health_information_log";

/// Beginnings of metrics' names, and the tool whose they are.
const TOOLS: [(&str, Tool); 5] = [
    ("smartctl_exporter_", Tool::Exporter),
    ("smartctl_", Tool::Exporter),
    ("smartmon_", Tool::Smartmon),
    ("nvme_", Tool::Nvme),
    ("smart_", Tool::Telegraf),
];

/// Whose metrics they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tool {
    /// Prometheus's smartctl_exporter.
    Exporter,
    /// node_exporter's `smartmon.sh` and `smartmon.py`.
    Smartmon,
    /// node_exporter's `nvme_metrics.sh` and `nvme_metrics.py`.
    Nvme,
    /// telegraf's input `smart`.
    Telegraf,
}

/// Metrics, their places in smartctl's JSON, and by what they are multiplied.
const PLACES: [(Tool, &str, &str, f64); 35] = [
    (Tool::Exporter, "device_percentage_used", "LOG/percentage_used", 1.0),
    (Tool::Exporter, "device_available_spare", "LOG/available_spare", 1.0),
    (Tool::Exporter, "device_available_spare_threshold", "LOG/available_spare_threshold", 1.0),
    (Tool::Exporter, "device_critical_warning", "LOG/critical_warning", 1.0),
    (Tool::Exporter, "device_media_errors", "LOG/media_errors", 1.0),
    (Tool::Exporter, "device_num_err_log_entries", "LOG/num_err_log_entries", 1.0),
    (Tool::Exporter, "device_power_cycle_count", "power_cycle_count", 1.0),
    (Tool::Exporter, "device_power_on_seconds", "power_on_time/hours", 1.0 / 3600.0),
    (Tool::Exporter, "device_capacity_bytes", "user_capacity/bytes", 1.0),
    (Tool::Exporter, "device_rotation_rate", "rotation_rate", 1.0),
    (Tool::Exporter, "device_error_log_count", "ata_smart_error_log/summary/count", 1.0),
    (Tool::Exporter, "scsi_grown_defect_list", "scsi_grown_defect_list", 1.0),
    (Tool::Exporter, "read_total_uncorrected_errors", "scsi_error_counter_log/read/total_uncorrected_errors", 1.0),
    (Tool::Exporter, "write_total_uncorrected_errors", "scsi_error_counter_log/write/total_uncorrected_errors", 1.0),
    (Tool::Smartmon, "device_errors", "ata_smart_error_log/summary/count", 1.0),
    (Tool::Smartmon, "grown_defects_count_raw_value", "scsi_grown_defect_list", 1.0),
    // Ratios, where the log has percent.
    (Tool::Nvme, "available_spare_ratio", "LOG/available_spare", 100.0),
    (Tool::Nvme, "available_spare_threshold_ratio", "LOG/available_spare_threshold", 100.0),
    (Tool::Nvme, "percentage_used_ratio", "LOG/percentage_used", 100.0),
    (Tool::Nvme, "critical_warning", "LOG/critical_warning", 1.0),
    (Tool::Nvme, "temperature_celsius", "LOG/temperature", 1.0),
    (Tool::Nvme, "physical_size_bytes", "user_capacity/bytes", 1.0),
    (Tool::Telegraf, "device_temp_c", "temperature/current", 1.0),
    (Tool::Telegraf, "device_power_on_hours", "power_on_time/hours", 1.0),
    (Tool::Telegraf, "device_power_cycle_count", "power_cycle_count", 1.0),
    (Tool::Telegraf, "device_percentage_used", "endurance_used/current_percent", 1.0),
    (Tool::Telegraf, "device_available_spare", "spare_available/current_percent", 1.0),
    (Tool::Telegraf, "device_available_spare_threshold", "spare_available/threshold_percent", 1.0),
    (Tool::Telegraf, "device_critical_warning", "LOG/critical_warning", 1.0),
    (Tool::Telegraf, "device_media_errors", "LOG/media_errors", 1.0),
    (Tool::Telegraf, "device_error_log_entries", "LOG/num_err_log_entries", 1.0),
    (Tool::Telegraf, "device_unsafe_shutdowns", "LOG/unsafe_shutdowns", 1.0),
    (Tool::Telegraf, "device_warning_temperature_time", "LOG/warning_temp_time", 1.0),
    (Tool::Telegraf, "device_critical_temperature_time", "LOG/critical_comp_time", 1.0),
    (Tool::Telegraf, "device_capacity", "user_capacity/bytes", 1.0),
];

/// Attributes that telegraf gives as fields of a drive: the raw value of the first, the normalized one of the others.
const TELEGRAF_RAW: [(&str, u64); 6] = [
    ("device_reallocated_sectors_count", 5),
    ("device_end_to_end_error", 184),
    ("device_uncorrectable_errors", 187),
    ("device_pending_sector_count", 197),
    ("device_uncorrectable_sector_count", 198),
    ("device_udma_crc_errors", 199),
];
const TELEGRAF_NORMALIZED: [(&str, u64, &str); 3] = [
    ("device_wear_leveling_count", 177, "Wear_Leveling_Count"),
    ("device_percent_lifetime_remain", 202, "Percent_Lifetime_Remain"),
    ("device_media_wearout_indicator", 233, "Media_Wearout_Indicator"),
];

/// smartctl's names of attributes, which `smartmon.py` gives without their numbers.
const NUMBERS: [(&str, u64); 14] = [
    ("reallocated_sector_ct", 5),
    ("power_on_hours", 9),
    ("power_cycle_count", 12),
    ("wear_leveling_count", 177),
    ("end_to_end_error", 184),
    ("reported_uncorrect", 187),
    ("command_timeout", 188),
    ("airflow_temperature_cel", 190),
    ("temperature_celsius", 194),
    ("current_pending_sector", 197),
    ("offline_uncorrectable", 198),
    ("udma_crc_error_count", 199),
    ("percent_lifetime_remain", 202),
    ("media_wearout_indicator", 233),
];

/// Labels that name the drive, in any of the tools, and their places. A text that stands for none is not one.
const NAMES: [(&str, &str); 16] = [
    ("model_name", "model_name"),
    ("scsi_model_name", "scsi_model_name"),
    ("device_model", "model_name"),
    ("model", "model_name"),
    ("product", "product"),
    ("model_family", "model_family"),
    ("serial_number", "serial_number"),
    ("serial_no", "serial_number"),
    ("serial", "serial_number"),
    ("firmware_version", "firmware_version"),
    ("firmware", "firmware_version"),
    ("scsi_revision", "scsi_revision"),
    ("revision", "revision"),
    ("wwn", "wwn"),
    ("protocol", "device/protocol"),
    ("capacity", "user_capacity/bytes"),
];

/// Parts of metrics' names that are understood and not used.
const UNUSED: [&str; 20] = [
    "_corrected_by_",
    "_self_test_",
    "capacity_blocks",
    "nvme_capacity_bytes",
    "interface_speed",
    "block_size",
    "device_state",
    "device_statistics",
    "device_status",
    "erc_seconds",
    "smart_available",
    "smart_enabled",
    "device_active",
    "exit_status",
    "controller_busy_time",
    "read_error_rate",
    "seek_error_rate",
    "_size_bytes",
    "used_bytes",
    "smartctl_run",
];

/// smartctl's exit status where the drive's own assessment fails.
const EXIT_FAILING: u64 = 8;

/// A line of metrics.
struct Metric<'a> {
    tool: Tool,
    name: String,
    labels: BTreeMap<&'a str, String>,
    value: f64,
    milliseconds: Option<f64>,
    /// Of InfluxDB's lines, which stand together by their time.
    moment: Option<&'a str>,
}

impl Metric<'_> {
    fn label(&self, name: &str) -> &str {
        self.labels.get(name).map_or("", String::as_str)
    }

    /// What tells the drives of a file apart; `None` if the metric is of none.
    fn drive(&self) -> Option<(String, String, String)> {
        // smartmon.sh has a path under "disk", and smartmon.py the number of a disk of a controller.
        let disk = self.labels.get("disk").filter(|disk| self.labels.contains_key("device") && *disk != "0");
        let device = self.labels.get("device").or_else(|| self.labels.get("disk"))?;
        let device = disk.map_or_else(|| device.clone(), |disk| format!("{device} {disk}"));
        Some((self.label("host").to_owned(), device, self.moment.unwrap_or_default().to_owned()))
    }
}

fn is_unused(name: &str) -> bool {
    UNUSED.iter().any(|part| name.contains(part))
}

/// A drive as far as its metrics were read.
#[derive(Default)]
struct Device {
    tool: Option<Tool>,
    json: Value,
    attributes: BTreeMap<(u64, String), Value>,
    block_bytes: Option<f64>,
    /// Bytes that the host read and wrote, as smartctl_exporter has them.
    moved: BTreeMap<&'static str, f64>,
    passed: Option<bool>,
    exit_status: Option<u64>,
    not_understood: Vec<String>,
}

/// The readings of metrics, one for each device; `None` if the text has none of them.
pub(super) fn readings(text: &str) -> Option<Result<Vec<Reading>, ReadError>> {
    let mut devices: BTreeMap<(String, String, String), Device> = BTreeMap::new();
    let mut is_built = false;
    for metric in text.lines().flat_map(metrics) {
        is_built |= metric.tool == Tool::Exporter && metric.name == "build_info";
        if let Some(drive) = metric.drive() {
            devices.entry(drive).or_default().add(&metric);
        }
    }
    if devices.is_empty() {
        return None;
    }
    let told = devices.into_iter().filter_map(|((_, name, _), device)| device.reading(&name, is_built));
    let told: Vec<Reading> = told.collect();
    let nothing = || ReadError::NoHealth("the metrics name devices and tell nothing else of them".to_owned());
    Some(if told.is_empty() { Err(nothing()) } else { Ok(told) })
}

/// The metrics of a line, which InfluxDB's may have several of.
fn metrics(line: &str) -> Vec<Metric<'_>> {
    prometheus(line).map_or_else(|| influx(line).unwrap_or_default(), |metric| vec![metric])
}

fn tool(name: &str) -> Option<(Tool, &str)> {
    TOOLS.iter().find_map(|(start, tool)| Some((*tool, name.strip_prefix(start)?)))
}

/// A line `smartctl_name{label="value"} 1`, perhaps with a time in milliseconds.
fn prometheus(line: &str) -> Option<Metric<'_>> {
    let (name, rest) = line.trim().split_once('{')?;
    let (tool, name) = tool(name)?;
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
    let milliseconds = words.next().and_then(|word| word.parse().ok());
    Some(Metric { tool, name: name.to_owned(), labels, value, milliseconds, moment: None })
}

/// A line `smart_device,device=sda,model=A\ B temp_c=40i,health_ok=true 1502536854000000000` of InfluxDB.
fn influx(line: &str) -> Option<Vec<Metric<'_>>> {
    let [series, fields, rest @ ..] = &parts(line.trim(), ' ')[..] else { return None };
    let tags = parts(series, ',');
    let (tool, measurement) = tool(tags.first()?).filter(|(tool, _)| *tool == Tool::Telegraf)?;
    let mut labels = BTreeMap::new();
    for (tag, value) in tags[1..].iter().filter_map(|tag| tag.split_once('=')) {
        labels.insert(tag, value.replace('\\', ""));
    }
    let moment = rest.first().copied();
    let milliseconds = moment.and_then(|time| time.parse::<f64>().ok()).map(|nanoseconds| nanoseconds / 1e6);
    let told = parts(fields, ',').into_iter().filter_map(|field| {
        let (name, value) = field.split_once('=')?;
        let value = match value {
            "true" | "t" | "T" => 1.0,
            "false" | "f" | "F" => 0.0,
            number => number.trim_end_matches(['i', 'u']).parse().ok()?,
        };
        let name = format!("{measurement}_{name}");
        Some(Metric { tool, name, labels: labels.clone(), value, milliseconds, moment })
    });
    Some(told.collect())
}

/// Parts of a text between a sign that no backslash stands before.
fn parts(text: &str, sign: char) -> Vec<&str> {
    let (mut found, mut start, mut is_escaped) = (Vec::new(), 0, false);
    for (at, letter) in text.char_indices() {
        if letter == sign && !is_escaped {
            found.push(&text[start..at]);
            start = at + 1;
        }
        is_escaped = letter == '\\' && !is_escaped;
    }
    found.push(&text[start..]);
    found
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
    fn put(&mut self, place: &str, value: &Value) {
        set(&mut self.json, &place.replace("LOG", LOG), value);
    }

    fn add(&mut self, metric: &Metric<'_>) {
        self.tool.get_or_insert(metric.tool);
        for (name, place) in NAMES {
            let told = metric.label(name);
            if !told.is_empty() && told != "unknown" {
                self.put(place, &json!(told));
            }
        }
        if let Some(milliseconds) = metric.milliseconds {
            self.put("local_time/time_t", &json!((milliseconds / 1000.0) as i64));
        }
        let found = PLACES.iter().find(|(tool, name, ..)| (*tool, *name) == (metric.tool, metric.name.as_str()));
        if let Some((_, _, place, factor)) = found {
            self.put(place, &json!(metric.value * factor));
            return;
        }
        let is_used = match metric.tool {
            Tool::Exporter => self.exporter(metric),
            Tool::Smartmon => self.smartmon(metric),
            Tool::Nvme => self.nvme(metric),
            Tool::Telegraf => self.telegraf(metric),
        };
        if !is_used && !is_unused(&metric.name) {
            self.not_understood.push(format!("metric {}", metric.name));
        }
    }

    fn exporter(&mut self, metric: &Metric<'_>) -> bool {
        match metric.name.as_str() {
            "device_attribute" => {
                let prefailure = metric.label("attribute_flags_short").starts_with('P');
                let row = self.row(metric.label("attribute_id").parse().unwrap_or(0), metric.label("attribute_name"));
                set(row, "flags/prefailure", &json!(prefailure));
                let kind = metric.label("attribute_value_type");
                set(row, if kind == "raw" { "raw/value" } else { kind }, &json!(metric.value as u64));
            }
            "device_temperature" => {
                self.put(&format!("temperature/{}", metric.label("temperature_type")), &json!(metric.value));
            }
            "device_bytes_read" | "device_bytes_written" => {
                let way = if metric.name == "device_bytes_read" { "read" } else { "write" };
                self.moved.insert(way, metric.value);
            }
            "device_block_size" if metric.label("blocks_type") == "logical" => self.block_bytes = Some(metric.value),
            "device_smart_status" => self.passed = Some(metric.value == 1.0),
            "device_smartctl_exit_status" => self.exit_status = Some(metric.value as u64),
            "device_statistics" if metric.label("statistic_name") == "Percentage Used Endurance Indicator" => {
                self.put("endurance_used/current_percent", &json!(metric.value));
            }
            "device" => {}
            _ => return false,
        }
        true
    }

    fn smartmon(&mut self, metric: &Metric<'_>) -> bool {
        let kinds = [("_raw_value", "raw/value"), ("_value", "value"), ("_worst", "worst"), ("_threshold", "thresh")];
        let Some((name, place)) = kinds.iter().find_map(|(end, place)| Some((metric.name.strip_suffix(end)?, *place)))
        else {
            match metric.name.as_str() {
                "device_smart_healthy" => self.put("smart_status/passed", &json!(metric.value == 1.0)),
                "device_info" => {}
                _ => return false,
            }
            return true;
        };
        // smartmon.py has the name in a label.
        let name = if name == "attr" { metric.label("name") } else { name };
        let by_name = NUMBERS.iter().find(|(known, _)| *known == name).map_or(0, |(_, number)| *number);
        let id = metric.label("smart_id").parse().unwrap_or(by_name);
        set(self.row(id, name), place, &json!(metric.value as u64));
        true
    }

    fn nvme(&mut self, metric: &Metric<'_>) -> bool {
        let name = metric.name.strip_suffix("_total").unwrap_or(&metric.name);
        if name != "device_info" && !is_unused(name) {
            self.put(&format!("LOG/{name}"), &json!(metric.value));
        }
        true
    }

    fn telegraf(&mut self, metric: &Metric<'_>) -> bool {
        let value = json!(metric.value);
        if let Some((_, id)) = TELEGRAF_RAW.iter().find(|(name, _)| *name == metric.name) {
            set(self.row(*id, ""), "raw/value", &value);
        } else if let Some((_, id, name)) = TELEGRAF_NORMALIZED.iter().find(|(name, ..)| *name == metric.name) {
            let row = self.row(*id, name);
            set(row, "value", &value);
            if row.pointer("/raw").is_none() {
                set(row, "raw/string", &json!("-"));
            }
        } else if metric.name == "device_health_ok" {
            self.put("smart_status/passed", &json!(metric.value == 1.0));
        } else if let Some(kind) = metric.name.strip_prefix("attribute_") {
            let name = metric.label("name");
            // NVMe's and SCSI's have no flags.
            if metric.label("flags").is_empty() {
                match (kind, name) {
                    ("raw_value", "Temperature_Celsius") => self.put("temperature/current", &value),
                    ("raw_value", "Power_Cycle_Count") => self.put("power_cycle_count", &value),
                    ("raw_value", "Power_On_Hours") => self.put("power_on_time/hours", &value),
                    ("raw_value", "Percentage_Used") => self.put("endurance_used/current_percent", &value),
                    ("raw_value", name) => self.put(&format!("LOG/{}", plain(name)), &value),
                    _ => {}
                }
                return true;
            }
            let place = match kind {
                "raw_value" => "raw/value",
                "threshold" => "thresh",
                kind => kind,
            };
            let prefailure = metric.label("flags").starts_with('P');
            let row = self.row(metric.label("id").parse().unwrap_or(0), name);
            set(row, "flags/prefailure", &json!(prefailure));
            set(row, place, &value);
        } else {
            return false;
        }
        true
    }

    /// The row of an attribute.
    fn row(&mut self, id: u64, name: &str) -> &mut Value {
        let key = (id, if id == 0 { name.to_owned() } else { String::new() });
        let row = self.attributes.entry(key).or_insert_with(|| json!({ "id": id }));
        if !name.is_empty() {
            set(row, "name", &json!(name));
        }
        row
    }

    fn reading(mut self, name: &str, is_built: bool) -> Option<Reading> {
        self.bytes(is_built);
        // A status that smartctl did not print is zero too, but smartctl's exit status then has no failure.
        let is_failed = self.exit_status.is_none_or(|status| status & EXIT_FAILING != 0);
        if let Some(passed) = self.passed.filter(|passed| *passed || is_failed) {
            self.put("smart_status/passed", &json!(passed));
        }
        if !self.attributes.is_empty() {
            let rows: Vec<Value> = std::mem::take(&mut self.attributes).into_values().collect();
            self.put("ata_smart_attributes/table", &json!(rows));
        }
        self.put("device/name", &json!(name));
        let mut reading = smartctl_json::reading(&self.json).ok()?;
        reading.source = match self.tool {
            Some(Tool::Telegraf) => Source::Telegraf,
            Some(Tool::Smartmon | Tool::Nvme) => Source::NodeExporter,
            _ => Source::Exporter,
        };
        if self.tool == Some(Tool::Nvme) {
            reading.is_passed = reading.get(crate::Quantity::CriticalWarning).map(|bits| bits == 0.0);
        }
        self.not_understood.dedup();
        reading.not_understood.extend(self.not_understood);
        Some(reading)
    }

    /// Puts the host's bytes as smartctl has them: data units of NVMe, gigabytes of SCSI. Drives of other protocols have zeros.
    fn bytes(&mut self, is_built: bool) {
        let has = |json: &Value, place: &str| json.pointer(place).is_some();
        let is_scsi = self.json.pointer("/device/protocol").is_some_and(|told| told == "SCSI")
            || has(&self.json, "/scsi_error_counter_log")
            || has(&self.json, "/scsi_grown_defect_list");
        let moved: Vec<(&str, f64)> =
            self.moved.iter().map(|(way, bytes)| (*way, *bytes)).filter(|(_, bytes)| *bytes > 0.0).collect();
        if is_scsi {
            for (way, bytes) in moved {
                self.put(&format!("scsi_error_counter_log/{way}/gigabytes_processed"), &json!(bytes / 1e9));
            }
        } else if has(&self.json, &format!("/{LOG}/percentage_used")) && !moved.is_empty() {
            let bytes: Vec<f64> = moved.iter().map(|(_, bytes)| *bytes).collect();
            let (unit, said) = units(&bytes, self.block_bytes, is_built);
            self.not_understood.extend(said);
            for (way, bytes) in moved.iter().filter_map(|(way, bytes)| Some((way, bytes / unit?))) {
                let key = if *way == "read" { "data_units_read" } else { "data_units_written" };
                self.put(&format!("LOG/{key}"), &json!(bytes.round()));
            }
        }
    }
}

/// Bytes by which smartctl_exporter multiplied NVMe's data units to give these, and what is to be said of that: since 0.13 the
/// 512,000 of a unit, whatever a block has; from 0.10 a thousand blocks; before 1,024 blocks. Since 0.14 it tells its version.
fn units(bytes: &[f64], block_bytes: Option<f64>, is_built: bool) -> (Option<f64>, Option<String>) {
    let is_of = |unit: f64| unit > 0.0 && bytes.iter().all(|bytes| bytes % unit == 0.0);
    let block_bytes = block_bytes.unwrap_or(512.0);
    let (thousand, binary) = (1000.0 * block_bytes, 1024.0 * block_bytes);
    if is_built || thousand == DATA_UNIT_BYTES && is_of(thousand) {
        return (Some(DATA_UNIT_BYTES), None);
    }
    if is_of(thousand) {
        let said = format!(
            "bytes read and written are taken for those of smartctl_exporter 0.10 to 0.12, which has {thousand} for a unit of 512,000"
        );
        return (Some(thousand), Some(said));
    }
    if is_of(DATA_UNIT_BYTES) {
        return (Some(DATA_UNIT_BYTES), None);
    }
    if is_of(binary) {
        return (Some(binary), None);
    }
    (None, Some("bytes read and written: of no version of smartctl_exporter".to_owned()))
}
