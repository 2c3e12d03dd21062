//! Intel's additional page as printed by `nvme intel smart-log-add -o json`: what log page 02h lacks, above all the writes to
//! flash.

use serde_json::Value;

use crate::numbers::number;
use crate::reading::{Protocol, Source};
use crate::{Quantity as Q, Reading};

/// Bytes of the counts of writes: as of Intel's attributes 241 to 243 on SATA, whose names in smartmontools' drivedb.h say so.
const WRITTEN_BYTES: f64 = (32u64 << 20) as f64;

/// A field, where its value stands in it, the quantity and its unit.
const FIELDS: [(&str, &str, Q, f64); 10] = [
    ("program_fail_count", "/raw", Q::ProgramFails, 1.0),
    ("erase_fail_count", "/raw", Q::EraseFails, 1.0),
    ("wear_leveling", "/raw/min", Q::EraseCountMin, 1.0),
    ("wear_leveling", "/raw/max", Q::EraseCountMax, 1.0),
    ("wear_leveling", "/raw/avg", Q::EraseCountMean, 1.0),
    ("end_to_end_error_detection_count", "/raw", Q::EndToEndErrors, 1.0),
    ("crc_error_count", "/raw", Q::LinkErrors, 1.0),
    ("thermal_throttle_status", "/raw/count", Q::Throttled, 1.0),
    ("nand_bytes_written", "/raw", Q::FlashWritten, WRITTEN_BYTES),
    ("host_bytes_written", "/raw", Q::HostWritten, WRITTEN_BYTES),
];

/// Fields that are understood and not used.
const UNUSED: [&str; 5] = [
    "timed_workload_media_wear",
    "timed_workload_host_reads",
    "timed_workload_timer",
    "retry_buffer_overflow_count",
    "pll_lock_loss_count",
];

fn fields(value: &Value) -> Option<&serde_json::Map<String, Value>> {
    value.get("Device stats")?.as_object()
}

pub(super) fn is_one(value: &Value) -> bool {
    fields(value).is_some()
}

pub(super) fn reading(value: &Value) -> Reading {
    let mut reading = Reading::new(Source::IntelPage);
    reading.protocol = Some(Protocol::Nvme);
    reading.is_rotating = Some(false);
    for (name, told) in fields(value).into_iter().flatten() {
        let rows = FIELDS.iter().filter(|(field, ..)| field == name);
        if rows.clone().next().is_none() && !UNUSED.contains(&name.as_str()) {
            reading.not_understood.push(format!("Intel's additional page, {name}"));
        }
        // Firmware that does not count a field has zeros in all of it, as in the counts of erases.
        let is_blank = told.get("raw").and_then(Value::as_object).is_some_and(|raw| raw.values().all(|raw| raw == 0));
        for (_, place, quantity, unit) in rows.filter(|_| !is_blank) {
            let value = told.pointer(place).and_then(number).map(|value| value * unit);
            reading.know(*quantity, value, &format!("Intel's additional page, {name}"));
        }
    }
    reading
}
