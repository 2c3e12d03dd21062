//! Output of `smartctl --json` for ATA, NVMe and SCSI drives: smartctl 7.0 to 7.5.

use serde_json::Value;
use wane_units::excerpt;

use super::ReadError;
use crate::attributes::{decoded, understand};
use crate::numbers::{decimal, number};
use crate::reading::{Attribute, Failed, Protocol, Source};
use crate::statistics::Statistic;
use crate::{HealthRecord, Quantity as Q, Reading};

/// Bytes of NVMe's data unit.
const DATA_UNIT_BYTES: f64 = 512_000.0;

/// SCSI's gigabytes are of 10^9 bytes.
const GIGABYTE: f64 = 1e9;

/// Keys of log 02h, their quantities and units.
const NVME: [(&str, Q, f64); 16] = [
    ("critical_warning", Q::CriticalWarning, 1.0),
    ("temperature", Q::Temperature, 1.0),
    ("available_spare", Q::Spare, 1.0),
    ("available_spare_threshold", Q::SpareThreshold, 1.0),
    ("percentage_used", Q::PercentageUsed, 1.0),
    ("data_units_read", Q::HostRead, DATA_UNIT_BYTES),
    ("data_units_written", Q::HostWritten, DATA_UNIT_BYTES),
    ("host_reads", Q::HostReads, 1.0),
    ("host_writes", Q::HostWrites, 1.0),
    ("power_cycles", Q::PowerCycles, 1.0),
    ("power_on_hours", Q::PowerOnHours, 1.0),
    ("unsafe_shutdowns", Q::UnsafeShutdowns, 1.0),
    ("media_errors", Q::MediaErrors, 1.0),
    ("num_err_log_entries", Q::ErrorLogEntries, 1.0),
    ("warning_temp_time", Q::MinutesWarning, 1.0),
    ("critical_comp_time", Q::MinutesCritical, 1.0),
];

/// Other keys, by their paths.
const OTHERS: [(&str, Q, f64); 13] = [
    ("/user_capacity/bytes", Q::Capacity, 1.0),
    // Since smartctl 7.5, of every drive.
    ("/endurance_used/current_percent", Q::PercentageUsed, 1.0),
    ("/spare_available/current_percent", Q::Spare, 1.0),
    ("/spare_available/threshold_percent", Q::SpareThreshold, 1.0),
    ("/temperature/current", Q::Temperature, 1.0),
    ("/temperature/drive_trip", Q::TemperatureCritical, 1.0),
    ("/temperature/op_limit_max", Q::TemperatureWarning, 1.0),
    ("/nvme_composite_temperature_threshold/warning", Q::TemperatureWarning, 1.0),
    ("/nvme_composite_temperature_threshold/critical", Q::TemperatureCritical, 1.0),
    ("/power_cycle_count", Q::PowerCycles, 1.0),
    ("/scsi_grown_defect_list", Q::Reallocated, 1.0),
    ("/scsi_percentage_used_endurance_indicator", Q::PercentageUsed, 1.0),
    ("/scsi_pending_defects/count", Q::Pending, 1.0),
];

/// Keys of smartctl's JSON that nothing else has.
const KEYS: [&str; 10] = [
    "smartctl",
    "json_format_version",
    "smart_status",
    "ata_smart_attributes",
    "ata_device_statistics",
    "nvme_smart_health_information_log",
    "scsi_error_counter_log",
    "scsi_grown_defect_list",
    "endurance_used",
    "spare_available",
];

pub(super) fn is_one(value: &Value) -> bool {
    KEYS.iter().any(|key| value.get(key).is_some()) || value.get("device").is_some_and(Value::is_object)
}

pub(super) fn reading(value: &Value) -> Result<Reading, ReadError> {
    let mut reading = Reading::new(Source::SmartctlJson);
    identify(&mut reading, value);
    if let Some(record) = value.pointer("/wane/record") {
        match serde_json::from_value::<HealthRecord>(record.clone()) {
            // The simulated drive's own record takes precedence over its rounded pages.
            Ok(record) => reading.know_all_of(&record),
            Err(error) => reading.not_understood.push(format!("wane.record ({error})")),
        }
    }
    nvme(&mut reading, value);
    for (path, quantity, unit) in OTHERS {
        let told = value.pointer(path).and_then(number).map(|value| value * unit);
        reading.know(quantity, told, &path[1..].replace('/', "."));
    }
    hours(&mut reading, value);
    scsi(&mut reading, value);
    device_statistics(&mut reading, value);
    let rows = value.pointer("/ata_smart_attributes/table").and_then(Value::as_array);
    reading.attributes = rows.into_iter().flatten().filter_map(attribute).collect();
    understand(&mut reading);
    errors_logged(&mut reading, value);
    if reading.tells_health() { Ok(reading) } else { Err(refused(value)) }
}

/// Why the output has nothing of a drive's health.
fn refused(value: &Value) -> ReadError {
    if value.get("devices").is_some_and(Value::is_array) {
        return ReadError::Devices;
    }
    let messages = value.pointer("/smartctl/messages").and_then(Value::as_array);
    let said = messages.into_iter().flatten().filter_map(|message| message.get("string")?.as_str());
    let said = said.collect::<Vec<_>>().join("; ");
    if !said.is_empty() {
        return ReadError::Smartctl(excerpt(&said).to_string());
    }
    match ["available", "enabled"].map(|key| value.pointer(&format!("/smart_support/{key}")).and_then(Value::as_bool)) {
        [Some(false), _] => ReadError::NoHealth("it says that the drive has no SMART".to_owned()),
        [_, Some(false)] => ReadError::NoHealth("SMART is off; `smartctl -s on` switches it on".to_owned()),
        _ => ReadError::NoHealth("smartctl was not asked for it; run it with -x".to_owned()),
    }
}

/// ATA's log of errors, the extended one if both are there.
fn errors_logged(reading: &mut Reading, value: &Value) {
    for kind in ["extended", "summary"] {
        let Some(log) = value.pointer(&format!("/ata_smart_error_log/{kind}")) else { continue };
        reading.know(Q::ErrorLogEntries, log.get("count").and_then(number), "ATA error log");
        let rows = log.get("table").and_then(Value::as_array);
        let said = rows.into_iter().flatten().filter_map(|row| row.get("error_description")?.as_str());
        let found = said.filter(|said| said.contains("UNC")).count();
        reading.logged_uncorrectable = reading.logged_uncorrectable.max(u32::try_from(found).unwrap_or(u32::MAX));
    }
}

fn identify(reading: &mut Reading, value: &Value) {
    let text = |key: &str| {
        let found = value.get(key).and_then(Value::as_str).map(str::trim);
        found.filter(|found| !found.is_empty()).map(str::to_owned)
    };
    reading.model = text("model_name").or_else(|| text("scsi_model_name")).or_else(|| text("product"));
    reading.family = text("model_family");
    let device = value.pointer("/device/name").or_else(|| value.get("device")).and_then(Value::as_str);
    reading.device = device.map(str::to_owned);
    reading.serial = text("serial_number");
    reading.firmware = text("firmware_version").or_else(|| text("scsi_revision")).or_else(|| text("revision"));
    reading.protocol = match value.pointer("/device/protocol").and_then(Value::as_str) {
        Some("ATA") => Some(Protocol::Ata),
        Some("NVMe") => Some(Protocol::Nvme),
        Some("SCSI") => Some(Protocol::Scsi),
        _ if value.get("nvme_smart_health_information_log").is_some() => Some(Protocol::Nvme),
        _ if value.get("ata_smart_attributes").is_some() => Some(Protocol::Ata),
        _ => None,
    };
    reading.is_rotating = value.get("rotation_rate").and_then(Value::as_u64).map(|rate| rate > 0);
    reading.unix_seconds = value.pointer("/local_time/time_t").and_then(Value::as_i64);
    reading.is_passed = value.pointer("/smart_status/passed").and_then(Value::as_bool);
}

fn nvme(reading: &mut Reading, value: &Value) {
    let Some(log) = value.get("nvme_smart_health_information_log") else { return };
    for (key, quantity, unit) in NVME {
        let told = log.get(key).and_then(number).map(|value| value * unit);
        reading.know(quantity, told, &format!("NVMe log 02h, {key}"));
    }
}

fn hours(reading: &mut Reading, value: &Value) {
    let Some(told) = value.pointer("/power_on_time/hours").and_then(number) else { return };
    let minutes = value.pointer("/power_on_time/minutes").and_then(number).unwrap_or(0.0);
    reading.know(Q::PowerOnHours, Some(told + minutes / 60.0), "power_on_time");
}

fn scsi(reading: &mut Reading, value: &Value) {
    let Some(log) = value.get("scsi_error_counter_log") else { return };
    for (key, quantity) in [("read", Q::HostRead), ("write", Q::HostWritten)] {
        let told = log.get(key).and_then(|row| row.get("gigabytes_processed")).and_then(gigabytes);
        let from = format!("scsi_error_counter_log.{key}.gigabytes_processed");
        reading.know(quantity, told.map(|gigabytes| gigabytes * GIGABYTE), &from);
    }
    let rows = ["read", "write", "verify"].iter().filter_map(|key| log.get(key));
    let errors: Vec<f64> = rows.filter_map(|row| row.get("total_uncorrected_errors").and_then(number)).collect();
    let total = (!errors.is_empty()).then(|| errors.iter().sum());
    reading.know(Q::MediaErrors, total, "scsi_error_counter_log, total_uncorrected_errors");
}

/// Gigabytes are text with three decimals, whose mark depends on the locale.
fn gigabytes(value: &Value) -> Option<f64> {
    value.as_str().map_or_else(|| number(value), decimal)
}

fn device_statistics(reading: &mut Reading, value: &Value) {
    let block_bytes = value.get("logical_block_size").and_then(number).unwrap_or(512.0);
    let pages = value.pointer("/ata_device_statistics/pages").and_then(Value::as_array);
    for page in pages.into_iter().flatten() {
        let Some(page_number) = page.get("number").and_then(Value::as_u64) else { continue };
        for row in page.get("table").and_then(Value::as_array).into_iter().flatten() {
            let valid = row.pointer("/flags/valid").and_then(Value::as_bool).unwrap_or(true);
            let (offset, told) = (row.get("offset").and_then(Value::as_u64), row.get("value").and_then(number));
            if let (true, Some(offset)) = (valid, offset) {
                Statistic { page: page_number, offset, value: told }.note(reading, block_bytes);
            }
        }
    }
}

/// A row of the table of attributes; `None` if it is not one.
fn attribute(row: &Value) -> Option<Attribute> {
    let small = |key: &str| row.get(key).and_then(Value::as_u64).and_then(|value| u8::try_from(value).ok());
    let text = |path: &str| row.pointer(path).and_then(Value::as_str).map(str::to_owned);
    let (id, bits) = (small("id")?, row.pointer("/raw/value").and_then(Value::as_u64));
    Some(Attribute {
        id,
        name: text("/name").unwrap_or_default(),
        value: small("value"),
        worst: small("worst"),
        threshold: small("thresh"),
        is_prefailure: row.pointer("/flags/prefailure").and_then(Value::as_bool).unwrap_or(false),
        failed: match row.get("when_failed").and_then(Value::as_str) {
            Some("now") => Some(Failed::Now),
            Some("past") => Some(Failed::Past),
            _ => None,
        },
        raw: text("/raw/string").or_else(|| bits.map(|bits| decoded(id, bits)))?,
        raw_bits: bits,
    })
}
