//! smartctl's output for people: `-a` and `-x` of SATA and NVMe drives, once or repeated, also as printed by `grep` over many
//! files.

use wane_units::excerpt;

use super::{ReadError, leading_number};
use crate::attributes::understand;
use crate::reading::{Attribute, Failed, Protocol, Source};
use crate::statistics::Statistic;
use crate::time::parse_asctime;
use crate::{Quantity as Q, Reading};

/// Bytes of NVMe's data unit.
const DATA_UNIT_BYTES: f64 = 512_000.0;

/// Bytes of a logical sector, unless the text gives another size.
const SECTOR_BYTES: f64 = 512.0;

/// Lines of the NVMe log, their quantities and units.
const NVME: [(&str, Q, f64); 18] = [
    ("Critical Warning", Q::CriticalWarning, 1.0),
    ("Temperature", Q::Temperature, 1.0),
    ("Available Spare", Q::Spare, 1.0),
    ("Available Spare Threshold", Q::SpareThreshold, 1.0),
    ("Percentage Used", Q::PercentageUsed, 1.0),
    ("Data Units Read", Q::HostRead, DATA_UNIT_BYTES),
    ("Data Units Written", Q::HostWritten, DATA_UNIT_BYTES),
    ("Host Read Commands", Q::HostReads, 1.0),
    ("Host Write Commands", Q::HostWrites, 1.0),
    ("Power Cycles", Q::PowerCycles, 1.0),
    ("Power On Hours", Q::PowerOnHours, 1.0),
    ("Unsafe Shutdowns", Q::UnsafeShutdowns, 1.0),
    ("Media and Data Integrity Errors", Q::MediaErrors, 1.0),
    ("Error Information Log Entries", Q::ErrorLogEntries, 1.0),
    ("Warning Comp. Temperature Time", Q::MinutesWarning, 1.0),
    ("Critical Comp. Temperature Time", Q::MinutesCritical, 1.0),
    ("Warning Comp. Temp. Threshold", Q::TemperatureWarning, 1.0),
    ("Critical Comp. Temp. Threshold", Q::TemperatureCritical, 1.0),
];

/// Start of a drive's text: its heading, or its model if the heading was cut off.
const HEADING: &str = "=== START OF INFORMATION SECTION ===";
const MODELS: [&str; 3] = ["Device Model:", "Model Number:", "Product:"];

pub(super) fn readings(text: &str) -> Result<Vec<Reading>, ReadError> {
    let mut parts: Vec<Vec<&str>> = Vec::new();
    let mut cut = false;
    for line in text.lines().map(without_file) {
        let is_model = MODELS.iter().any(|start| line.starts_with(start));
        // Some grep output has the model's line without the heading, or the same heading twice.
        if line.starts_with(HEADING) || (is_model && !cut) {
            parts.push(Vec::new());
        }
        cut = line.starts_with(HEADING) || (cut && !is_model);
        if let Some(part) = parts.last_mut() {
            part.push(line);
        }
    }
    if parts.is_empty() {
        return Err(refused(text));
    }
    let readings: Vec<Reading> = parts.iter().map(|lines| reading(lines)).collect();
    let told: Vec<Reading> = readings.into_iter().filter(tells).collect();
    if told.is_empty() {
        Err(ReadError::Smartctl("it reports nothing about the drive's health; run it with -x".to_owned()))
    } else {
        Ok(told)
    }
}

/// Whether a reading has health data. A part with only "PASSED" was cut off, or its drive has no SMART data.
fn tells(reading: &Reading) -> bool {
    !reading.attributes.is_empty() || reading.known.keys().any(|quantity| *quantity != Q::Capacity)
}

/// The error for a text without a drive.
fn refused(text: &str) -> ReadError {
    // "smartctl 7.4 2023-08-01", "smartctl pre-7.5", and in old versions "smartctl version 5.38".
    let follows = |rest: &str| {
        rest.starts_with(|first: char| first.is_ascii_digit()) || rest.starts_with("pre") || rest.starts_with("version")
    };
    // A log may have its own lines before: the time, the machine's name.
    let mut lines = text.lines().map(str::trim);
    if !lines.any(|line| line.strip_prefix("smartctl ").is_some_and(follows)) {
        return ReadError::Unknown;
    }
    let said =
        lines.filter(|line| !line.is_empty() && !line.starts_with("smartctl ") && !line.starts_with("Copyright"));
    ReadError::Smartctl(excerpt(&said.take(2).collect::<Vec<_>>().join("; ")).to_string())
}

/// A line without the file name that `grep` puts before it: "log_06.txt-", or "log_06.txt:" for a matching line.
fn without_file(line: &str) -> &str {
    let Some(at) = line.find(".txt").filter(|at| !line[..*at].contains(' ')) else { return line };
    line[at + 4..].strip_prefix(['-', ':']).unwrap_or(line)
}

fn reading(lines: &[&str]) -> Reading {
    let mut reading = Reading::new(Source::SmartctlText);
    let mut sector_bytes = SECTOR_BYTES;
    for line in lines {
        if let Some(attribute) = attribute(line) {
            reading.attributes.push(attribute);
        } else if let Some(statistic) = statistic(line) {
            statistic.note(&mut reading, sector_bytes);
        } else if let Some((name, value)) = line.split_once(':') {
            // "Warning  Comp. Temperature Time" has two spaces.
            let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
            named(&mut reading, &name, value.trim(), &mut sector_bytes);
        }
    }
    understand(&mut reading);
    reading
}

/// Reads a line of a name and a value.
fn named(reading: &mut Reading, name: &str, value: &str, sector_bytes: &mut f64) {
    let text = || (!value.is_empty() && value.chars().any(|letter| letter != '-')).then(|| value.to_owned());
    match name {
        "Device Model" => (reading.model, reading.protocol) = (text(), Some(Protocol::Ata)),
        "Model Number" => (reading.model, reading.protocol) = (text(), Some(Protocol::Nvme)),
        "Product" => (reading.model, reading.protocol) = (text(), Some(Protocol::Scsi)),
        "Model Family" => reading.family = text(),
        // A later run in the same log, which had no drive to query.
        _ if name.starts_with("Smartctl open device") => {
            reading.not_understood.push(excerpt(&format!("{name}: {value}")).to_string());
        }
        "Serial Number" | "Serial number" => reading.serial = text(),
        "Firmware Version" | "Revision" => reading.firmware = text(),
        "Rotation Rate" => reading.is_rotating = Some(value != "Solid State Device"),
        "Sector Size" | "Sector Sizes" | "Logical block size" => {
            *sector_bytes = leading_number(value).filter(|bytes| *bytes > 0.0).unwrap_or(SECTOR_BYTES);
        }
        "User Capacity" | "Total NVM Capacity" => reading.know(Q::Capacity, leading_number(value), name),
        "Local Time is" => match parse_asctime(value) {
            Some((seconds, is_zone_known)) => {
                reading.unix_seconds = Some(seconds);
                if !is_zone_known {
                    reading.not_understood.push(format!("the time zone of \"{value}\", taken for UTC"));
                }
            }
            None => reading.not_understood.push(format!("the time \"{value}\"")),
        },
        "SMART overall-health self-assessment test result" | "SMART Health Status" => {
            reading.is_passed = Some(value.starts_with("PASSED") || value == "OK");
        }
        _ => {
            if let Some((_, quantity, unit)) = NVME.iter().find(|(known, ..)| *known == name) {
                let told = leading_number(value).map(|told| told * unit);
                reading.know(*quantity, told, &format!("NVMe log 02h, {name}"));
            }
        }
    }
}

/// A row of the table of attributes, as printed by `-a` (flags in hex, with the type and the time of update) or `-x` (flags as
/// letters).
fn attribute(line: &str) -> Option<Attribute> {
    let mut words = line.split_whitespace();
    let id = words.next()?.parse().ok()?;
    let (name, flags) = (words.next()?, words.next()?);
    let is_long = flags.starts_with("0x");
    let is_brief = flags.len() == 6 && flags.chars().all(|flag| "POSRCK-+".contains(flag));
    if !(is_long || is_brief) {
        return None;
    }
    let small = |word: &str| word.parse::<u8>().ok();
    let (value, worst, threshold) = (words.next()?, words.next()?, words.next()?);
    let is_prefailure = if is_long {
        let kind = words.next()?;
        words.next()?;
        kind == "Pre-fail"
    } else {
        flags.starts_with('P')
    };
    let failed = match words.next()? {
        "FAILING_NOW" | "NOW" => Some(Failed::Now),
        "In_the_past" | "Past" => Some(Failed::Past),
        _ => None,
    };
    let raw = words.collect::<Vec<_>>().join(" ");
    let raw_bits = raw.parse().ok();
    (!raw.is_empty()).then(|| Attribute {
        id,
        name: name.to_owned(),
        value: small(value),
        worst: small(worst),
        threshold: small(threshold),
        is_prefailure,
        failed,
        raw,
        raw_bits,
    })
}

/// A row of the device statistics: page, offset, size, value, flags, description. A value of "-" is not reported.
fn statistic(line: &str) -> Option<Statistic> {
    let mut words = line.split_whitespace();
    let mut hex = || u64::from_str_radix(words.next()?.strip_prefix("0x")?, 16).ok();
    let (page, offset) = (hex()?, hex()?);
    let _size = words.next()?;
    let value = words.next()?.parse().ok();
    Some(Statistic { page, offset, value })
}
