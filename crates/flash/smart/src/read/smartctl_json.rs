//! Output of `smartctl --json` for ATA, NVMe and SCSI drives: smartctl 7.0 to 7.5.

use serde_json::Value;
use wane_units::excerpt;

use super::{ReadError, field, pages};
use crate::attributes::{decoded, understand};
use crate::numbers::{decimal, number};
use crate::reading::{Attribute, Failed, Protocol, Source, world_wide_name};
use crate::statistics::Statistic;
use crate::{HealthRecord, Quantity as Q, Reading};

/// SCSI's gigabytes are of 10^9 bytes.
const GIGABYTE: f64 = 1e9;

/// Key of log 02h.
const LOG: &str = "nvme_smart_health_information_log";

/// Keys under which Ceph stores vendors' pages beside it.
const ADDED: [&str; 2] = ["nvme_smart_health_information_add_log", "nvme_smart_health_information_add_log_v2"];

/// Other keys, by their places.
const OTHERS: [(&str, Q, f64); 14] = [
    ("user_capacity/bytes", Q::Capacity, 1.0),
    // Since smartctl 7.5, of every drive.
    ("endurance_used/current_percent", Q::PercentageUsed, 1.0),
    ("spare_available/current_percent", Q::Spare, 1.0),
    ("spare_available/threshold_percent", Q::SpareThreshold, 1.0),
    ("temperature/current", Q::Temperature, 1.0),
    ("temperature/drive_trip", Q::TemperatureCritical, 1.0),
    ("temperature/op_limit_max", Q::TemperatureWarning, 1.0),
    ("nvme_composite_temperature_threshold/warning", Q::TemperatureWarning, 1.0),
    ("nvme_composite_temperature_threshold/critical", Q::TemperatureCritical, 1.0),
    ("power_cycle_count", Q::PowerCycles, 1.0),
    ("scsi_start_stop_cycle_counter/accumulated_start_stop_cycles", Q::PowerCycles, 1.0),
    ("scsi_grown_defect_list", Q::Reallocated, 1.0),
    ("scsi_percentage_used_endurance_indicator", Q::PercentageUsed, 1.0),
    ("scsi_pending_defects/count", Q::Pending, 1.0),
];

/// Keys of smartctl's JSON that nothing else has, and those of which it takes two.
const OWN: [&str; 6] =
    ["smartctl", "json_format_version", "ata_smart_attributes", "ata_device_statistics", LOG, "scsi_error_counter_log"];
const SHARED: [&str; 15] = [
    "device",
    "smart_status",
    "smart_support",
    "model_name",
    "scsi_model_name",
    "serial_number",
    "firmware_version",
    "user_capacity",
    "rotation_rate",
    "local_time",
    "power_on_time",
    "power_cycle_count",
    "scsi_grown_defect_list",
    "endurance_used",
    "spare_available",
];
const SHARED_LEAST: usize = 2;

pub(super) fn is_one(value: &Value) -> bool {
    let has = |key: &&&str| value.get(**key).is_some();
    OWN.iter().any(|key| has(&key)) || SHARED.iter().filter(has).count() >= SHARED_LEAST
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
    assessment(&mut reading, value);
    logs(&mut reading, value);
    for (place, quantity, unit) in OTHERS {
        field::take_at(&mut reading, quantity, unit, value, place);
    }
    hours(&mut reading, value);
    scsi(&mut reading, value);
    device_statistics(&mut reading, value);
    let table = value.pointer("/ata_smart_attributes/table");
    let rows: Vec<&Value> = match table {
        Some(Value::Array(rows)) => rows.iter().collect(),
        // As a list that lost its order.
        Some(Value::Object(rows)) => rows.values().collect(),
        Some(other) => {
            reading.not_understood.push(format!("ata_smart_attributes.table: {}", excerpt(&other.to_string())));
            Vec::new()
        }
        None => Vec::new(),
    };
    for row in rows {
        match attribute(row) {
            Some(attribute) => reading.attributes.push(attribute),
            None => reading.not_understood.push(format!("a row of attributes: {}", excerpt(&row.to_string()))),
        }
    }
    understand(&mut reading);
    errors_logged(&mut reading, value);
    tests(&mut reading, value);
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

/// Results of NVMe's tests of itself that are failures: a fatal error, and segments that failed.
const NVME_FAILED: std::ops::RangeInclusive<u64> = 5..=7;

/// The last test of itself, if it failed; and NVMe's log of errors, of which only the number is used.
fn tests(reading: &mut Reading, value: &Value) {
    for kind in ["extended", "standard"] {
        let Some(status) = value.pointer(&format!("/ata_smart_self_test_log/{kind}/table/0/status")) else { continue };
        if status.get("passed").and_then(Value::as_bool) == Some(false) {
            let said = status.get("string").and_then(Value::as_str).unwrap_or("it did not pass");
            reading.failed_test.get_or_insert(excerpt(said).to_string());
        }
    }
    if let Some(result) = value.pointer("/nvme_self_test_log/table/0/self_test_result")
        && result.get("value").and_then(Value::as_u64).is_some_and(|result| NVME_FAILED.contains(&result))
    {
        let said = result.get("string").and_then(Value::as_str).unwrap_or("segments failed");
        reading.failed_test.get_or_insert(excerpt(said).to_string());
    }
    let errors = value.pointer("/nvme_error_information_log/table").and_then(Value::as_array);
    let said = |error: &Value| Some(error.pointer("/status_field/string")?.as_str()?.to_owned());
    if let Some(last) = errors.and_then(|errors| errors.iter().find_map(said)) {
        reading.not_understood.push(excerpt(&format!("NVMe error log, the last one: {last}")).to_string());
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
    reading.wwn = match value.get("wwn") {
        Some(Value::Object(parts)) => {
            let part = |key: &str| parts.get(key).and_then(Value::as_u64);
            part("naa").zip(part("oui")).zip(part("id")).map(|((naa, oui), id)| format!("{naa:x}{oui:06x}{id:09x}"))
        }
        other => other.and_then(Value::as_str).and_then(world_wide_name),
    };
    reading.is_default_named = value.get("in_smartctl_database").and_then(Value::as_bool) == Some(false)
        || reading.family.is_none() && reading.protocol != Some(Protocol::Nvme);
}

/// The drive's own assessment.
fn assessment(reading: &mut Reading, value: &Value) {
    let Some(status) = value.get("smart_status") else { return };
    let told = if status.is_object() { status.get("passed") } else { Some(status) };
    let Some(told) = told.map(|told| told.get("value").unwrap_or(told)) else { return };
    let is = |words: [&str; 3]| told.as_str().is_some_and(|text| words.contains(&text.to_ascii_lowercase().as_str()));
    reading.is_passed = match told {
        Value::Bool(passed) => Some(*passed),
        _ if number(told) == Some(1.0) => Some(true),
        _ if number(told) == Some(0.0) => Some(false),
        _ if is(["passed", "ok", "true"]) => Some(true),
        _ if is(["failed", "failed!", "false"]) => Some(false),
        _ => None,
    };
    if reading.is_passed.is_none() {
        reading.refuse(Q::CriticalWarning, format!("smart_status: {}", excerpt(&status.to_string())));
    }
}

/// Log 02h, and a vendor's page beside it.
fn logs(reading: &mut Reading, value: &Value) {
    match value.get(LOG) {
        Some(log) if log.is_object() => pages::HEALTH.add(reading, &pages::fields(log)),
        Some(other) => reading.refuse(Q::PercentageUsed, format!("{LOG}: {}", excerpt(&other.to_string()))),
        None => {}
    }
    for (key, page) in ADDED.iter().filter_map(|key| Some((key, value.get(key)?))) {
        let fields = pages::fields(page);
        match pages::page_of(&fields) {
            Some(page) => page.add(reading, &fields),
            None => reading.not_understood.push((*key).to_owned()),
        }
    }
}

fn hours(reading: &mut Reading, value: &Value) {
    let Some(told) = value.pointer("/power_on_time/hours").and_then(number) else {
        return field::take_at(reading, Q::PowerOnHours, 1.0, value, "power_on_time/hours");
    };
    let minutes = value.pointer("/power_on_time/minutes").and_then(number).unwrap_or(0.0);
    reading.know(Q::PowerOnHours, Some(told + minutes / 60.0), "power_on_time");
}

fn scsi(reading: &mut Reading, value: &Value) {
    let Some(log) = value.get("scsi_error_counter_log") else { return };
    for (key, quantity) in [("read", Q::HostRead), ("write", Q::HostWritten)] {
        let Some(told) = log.get(key).and_then(|row| row.get("gigabytes_processed")) else { continue };
        let from = format!("scsi_error_counter_log.{key}.gigabytes_processed");
        match gigabytes(told) {
            Some(gigabytes) => reading.know(quantity, Some(gigabytes * GIGABYTE), &from),
            None => reading.refuse(quantity, format!("{from}: {}", excerpt(&told.to_string()))),
        }
    }
    let rows = ["read", "write", "verify"].iter().filter_map(|key| log.get(key)?.get("total_uncorrected_errors"));
    let told: Vec<Option<f64>> = rows.map(number).collect();
    let total = told.iter().flatten().copied().reduce(|one, other| one + other);
    let from = "scsi_error_counter_log, total_uncorrected_errors";
    reading.know(Q::MediaErrors, total, from);
    if told.contains(&None) {
        reading.refuse(Q::MediaErrors, format!("{from}: one is no number"));
    }
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
            let (offset, told) = (row.get("offset").and_then(Value::as_u64), row.get("value"));
            if let (true, Some(offset)) = (valid, offset) {
                let statistic = Statistic { page: page_number, offset, value: told.and_then(number) };
                statistic.note(reading, block_bytes);
                if let Some(told) = told.filter(|told| number(told).is_none()) {
                    statistic.refuse(reading, &excerpt(&told.to_string()).to_string());
                }
            }
        }
    }
}

/// A row of the table of attributes; `None` if it is not one.
pub(super) fn attribute(row: &Value) -> Option<Attribute> {
    let small = |key: &str| {
        let told = row.get(key).and_then(number).filter(|value| value.fract() == 0.0 && (0.0..=255.0).contains(value));
        told.map(|value| value as u8)
    };
    let text = |path: &str| row.pointer(path).and_then(Value::as_str).map(str::to_owned);
    let raw = row.pointer("/raw/value").or_else(|| row.get("raw"));
    // Exactly, if it is a number: it has up to 64 bits.
    let bits = raw.and_then(|raw| raw.as_u64().or_else(|| Some(number(raw).filter(|bits| *bits >= 0.0)? as u64)));
    let id = small("id")?;
    let flags = text("/flags/string").or_else(|| text("/flags")).unwrap_or_default();
    let is_prefailure = row.pointer("/flags/prefailure").and_then(Value::as_bool);
    Some(Attribute {
        id,
        name: text("/name").unwrap_or_default(),
        value: small("value"),
        worst: small("worst"),
        threshold: small("thresh").or_else(|| small("threshold")),
        is_prefailure: is_prefailure.unwrap_or_else(|| flags.starts_with('P')),
        failed: match row.get("when_failed").or_else(|| row.get("fail")).and_then(Value::as_str) {
            Some("now" | "FAILING_NOW" | "NOW") => Some(Failed::Now),
            Some("past" | "In_the_past" | "Past") => Some(Failed::Past),
            _ => None,
        },
        raw: text("/raw/string").or_else(|| text("/raw")).or_else(|| bits.map(|bits| decoded(id, bits)))?,
        raw_bits: bits,
    })
}
