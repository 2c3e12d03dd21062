//! Output of `nvme smart-log -o json`, of nvme-cli 1 and 2, whose keys differ.

use serde_json::Value;

use crate::numbers::number;
use crate::reading::{Protocol, Source};
use crate::{Quantity as Q, Reading};

/// Bytes of NVMe's data unit.
const DATA_UNIT_BYTES: f64 = 512_000.0;

/// A temperature above this is in Kelvin, as in the log: no drive works at 200 degrees Celsius.
const CELSIUS_MAX: f64 = 200.0;

const ZERO_CELSIUS_KELVIN: f64 = 273.0;

/// A quantity, its keys in different versions, and its unit.
const KEYS: [(Q, &[&str], f64); 15] = [
    (Q::Spare, &["avail_spare", "available_spare"], 1.0),
    (Q::SpareThreshold, &["spare_thresh", "available_spare_threshold"], 1.0),
    (Q::PercentageUsed, &["percent_used", "percentage_used"], 1.0),
    (Q::HostRead, &["data_units_read"], DATA_UNIT_BYTES),
    (Q::HostWritten, &["data_units_written"], DATA_UNIT_BYTES),
    (Q::HostReads, &["host_read_commands", "host_reads"], 1.0),
    (Q::HostWrites, &["host_write_commands", "host_writes"], 1.0),
    (Q::PowerCycles, &["power_cycles"], 1.0),
    (Q::PowerOnHours, &["power_on_hours"], 1.0),
    (Q::UnsafeShutdowns, &["unsafe_shutdowns"], 1.0),
    (Q::MediaErrors, &["media_errors"], 1.0),
    (Q::ErrorLogEntries, &["num_err_log_entries"], 1.0),
    (Q::MinutesWarning, &["warning_temp_time", "warning_temperature_time"], 1.0),
    (Q::MinutesCritical, &["critical_comp_time", "critical_composite_temperature_time"], 1.0),
    (Q::Throttled, &["thm_temp1_trans_count", "thermal_management_t1_trans_count"], 1.0),
];

/// Bits of the critical warning in the object that newer versions print.
const WARNINGS: [(&str, u32); 6] = [
    ("available_spare", 0),
    ("temp_threshold", 1),
    ("reliability_degraded", 2),
    ("ro", 3),
    ("vmbu_failed", 4),
    ("pmr_ro", 5),
];

/// The quantity of a key, in any version, and its unit.
pub(super) fn quantity(key: &str) -> Option<(Q, f64)> {
    KEYS.iter().find(|(_, keys, _)| keys.contains(&key)).map(|(quantity, _, unit)| (*quantity, *unit))
}

pub(super) fn is_one(value: &Value) -> bool {
    ["avail_spare", "available_spare", "percent_used"].iter().any(|key| value.get(key).is_some())
}

pub(super) fn reading(value: &Value) -> Reading {
    let mut reading = Reading::new(Source::NvmeJson);
    reading.protocol = Some(Protocol::Nvme);
    reading.is_rotating = Some(false);
    let warning = value.get("critical_warning").and_then(critical_warning);
    reading.know(Q::CriticalWarning, warning, "NVMe log 02h, critical_warning");
    reading.is_passed = warning.map(|bits| bits == 0.0);
    for (quantity, keys, unit) in KEYS {
        let told = keys.iter().find_map(|key| Some((key, number(value.get(key)?)?)));
        if let Some((key, told)) = told {
            reading.know(quantity, Some(told * unit), &format!("NVMe log 02h, {key}"));
        }
    }
    let temperature = value.get("temperature").and_then(number);
    let celsius = temperature.map(|told| if told > CELSIUS_MAX { told - ZERO_CELSIUS_KELVIN } else { told });
    reading.know(Q::Temperature, celsius, "NVMe log 02h, temperature");
    reading
}

/// The critical warning: a number, an object with the number as `value`, or one flag for each bit.
fn critical_warning(value: &Value) -> Option<f64> {
    if let Some(bits) = number(value) {
        return Some(bits);
    }
    if let Some(bits) = value.get("value").and_then(number) {
        return Some(bits);
    }
    let object = value.as_object()?;
    let is_set =
        |key: &str| object.get(key).is_some_and(|flag| flag.as_bool() == Some(true) || number(flag) == Some(1.0));
    let known = WARNINGS.iter().any(|(key, _)| object.contains_key(*key));
    let bits: u32 = WARNINGS.iter().filter(|(key, _)| is_set(key)).map(|(_, bit)| 1 << bit).sum();
    known.then(|| f64::from(bits))
}
