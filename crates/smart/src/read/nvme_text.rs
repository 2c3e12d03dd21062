//! Output of `nvme smart-log` for people, of nvme-cli 1 and 2: keys of the JSON, some of them with capitals and spaces.

use super::{field, nvme_json};
use crate::numbers::amount;
use crate::reading::{Protocol, Source};
use crate::{Quantity as Q, Reading};

const HEADING: &str = "Smart Log for NVME device";

/// The first key of the log, for a paste without the heading.
const FIRST_KEY: &str = "critical_warning";

fn is_first(line: &str) -> bool {
    line.strip_prefix(FIRST_KEY).is_some_and(|rest| rest.trim_start().starts_with(':'))
}

pub(super) fn is_one(lines: &[&str]) -> bool {
    lines.iter().any(|line| line.starts_with(HEADING) || is_first(line))
}

/// The readings of all logs in the text that tell anything.
pub(super) fn readings(lines: &[&str]) -> Vec<Reading> {
    let mut readings: Vec<Reading> = Vec::new();
    for line in lines {
        let is_heading = line.starts_with(HEADING);
        let has_log = readings.last().is_some_and(|last| !last.known.is_empty());
        if is_heading || (is_first(line) && (readings.is_empty() || has_log)) {
            readings.push(new(line));
        }
        let Some((reading, (name, value))) = readings.last_mut().zip(line.split_once(':')) else { continue };
        if !is_heading {
            note(reading, name, value.trim());
        }
    }
    readings.retain(|reading| !reading.known.is_empty());
    readings
}

fn new(line: &str) -> Reading {
    let mut reading = Reading::new(Source::NvmeText);
    reading.protocol = Some(Protocol::Nvme);
    reading.is_rotating = Some(false);
    // "Smart Log for NVME device:nvme0n1 namespace-id:ffffffff".
    let device = line.strip_prefix(HEADING).and_then(|rest| rest.trim_start_matches(':').split_whitespace().next());
    reading.device = device.map(str::to_owned);
    reading
}

fn note(reading: &mut Reading, name: &str, value: &str) {
    let key = name.trim().to_lowercase().split_whitespace().collect::<Vec<_>>().join("_");
    let from = format!("NVMe log 02h, {key}");
    match key.as_str() {
        FIRST_KEY => {
            let bits = amount(value).map(|told| told.value);
            reading.know(Q::CriticalWarning, bits, &from);
            reading.is_passed = bits.map(|bits| bits == 0.0);
        }
        "temperature" => field::note(reading, Q::Temperature, 1.0, value, &from),
        _ => {
            if let Some((quantity, unit)) = nvme_json::quantity(&key) {
                field::note(reading, quantity, unit, value, &from);
            }
        }
    }
}
