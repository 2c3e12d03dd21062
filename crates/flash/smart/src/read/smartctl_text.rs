//! smartctl's output for people: `-a`, `-x` and `-A` of SATA, NVMe and SAS drives, once or repeated.

use wane_units::excerpt;

use super::field;
use super::lines::is_version;
use crate::attributes::understand;
use crate::numbers::{amount, decimal, whole_amount};
use crate::reading::{Attribute, Failed, Protocol, Source, world_wide_name};
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

/// Lines of a SCSI drive.
const SCSI: [(&str, Q); 4] = [
    ("Percentage used endurance indicator", Q::PercentageUsed),
    ("Current Drive Temperature", Q::Temperature),
    ("Drive Trip Temperature", Q::TemperatureCritical),
    ("Elements in grown defect list", Q::Reallocated),
];

/// The hours of a SCSI drive as smartctl 5 and 6 print them.
const OLD_HOURS: &str = "number of hours powered up";

/// Columns of SCSI's table of errors: those behind the name, the gigabytes, and the uncorrected errors.
const COUNTER_COLUMNS: usize = 7;
const GIGABYTES_COLUMN: usize = 5;
const UNCORRECTED_COLUMN: usize = 6;
const GIGABYTE: f64 = 1e9;

/// Start of a drive's text: its heading, or its model if the heading was cut off.
const HEADING: &str = "=== START OF INFORMATION SECTION ===";
const MODELS: [&str; 3] = ["Device Model:", "Model Number:", "Product:"];

/// Start of another section of a run.
const SECTION: &str = "=== START OF ";

/// What one run of smartctl prints at most once. A second one is of another run.
const ONCE: [&str; 5] = [
    "ID# ATTRIBUTE_NAME",
    "SMART/Health Information (NVMe",
    "Error counter log:",
    "SMART overall-health self-assessment",
    "SMART Health Status:",
];

/// Lines of one section.
#[derive(Default)]
struct Section<'a> {
    lines: Vec<&'a str>,
    /// Whether a drive's text begins here.
    is_start: bool,
    /// Which of [`ONCE`] it has.
    once: Vec<&'static str>,
}

pub(super) fn readings(lines: &[&str]) -> Vec<Reading> {
    let mut drives: Vec<Section<'_>> = Vec::new();
    for section in sections(lines) {
        // A run with `-A` after one with `-i` is of the same drive, and one that repeats what is there is not.
        match drives.last_mut() {
            Some(drive) if !section.is_start && !section.once.iter().any(|part| drive.once.contains(part)) => {
                drive.lines.extend(section.lines);
                drive.once.extend(section.once);
            }
            _ => drives.push(section),
        }
    }
    let is_smartctl = lines.iter().any(|line| {
        is_version(line) || line.starts_with(SECTION) || ONCE[..2].iter().any(|part| line.starts_with(part))
    });
    let told = drives.iter().map(|drive| reading(&drive.lines));
    told.filter(|told| tells(told) && (is_smartctl || told.model.is_some() || !told.attributes.is_empty())).collect()
}

fn sections<'a>(lines: &[&'a str]) -> Vec<Section<'a>> {
    let mut sections = vec![Section::default()];
    let (mut has_heading, mut has_model) = (false, false);
    for line in lines {
        let is_heading = line.starts_with(HEADING);
        let is_model = MODELS.iter().any(|start| line.starts_with(start));
        // Some grep output has the model's line without the heading, or the same heading twice.
        let is_start = is_heading || (is_model && (has_model || !has_heading));
        if is_start || is_version(line) || line.starts_with(SECTION) {
            sections.push(Section { is_start, ..Section::default() });
        }
        if is_start {
            (has_heading, has_model) = (is_heading, false);
        }
        has_model |= is_model;
        if let Some(section) = sections.last_mut() {
            section.once.extend(ONCE.iter().filter(|part| line.starts_with(**part)));
            section.lines.push(line);
        }
    }
    sections
}

/// Whether a reading has health data. A part with only "PASSED" was cut off, or its drive has no SMART data.
fn tells(reading: &Reading) -> bool {
    let is_failed = reading.is_passed == Some(false);
    is_failed || !reading.attributes.is_empty() || reading.known.keys().any(|quantity| *quantity != Q::Capacity)
}

fn reading(lines: &[&str]) -> Reading {
    let mut reading = Reading::new(Source::SmartctlText);
    let (mut sector_bytes, mut uncorrected, mut vendor) = (SECTOR_BYTES, None, None);
    for line in lines {
        if let Some(attribute) = attribute(line) {
            reading.attributes.push(attribute);
        } else if let Some(statistic) = statistic(line) {
            statistic.note(&mut reading, sector_bytes);
        } else if line.starts_with(ONCE[1]) {
            reading.protocol = Some(Protocol::Nvme);
        } else if let Some(hours) = line.strip_prefix(OLD_HOURS) {
            // "number of hours powered up  = 24755.95".
            let hours = decimal(hours.trim_start().trim_start_matches('='));
            reading.know(Q::PowerOnHours, hours, OLD_HOURS);
        } else if let Some(failed) = failed_test(line) {
            reading.failed_test.get_or_insert(failed);
        } else if line.contains("Error: UNC") {
            reading.logged_uncorrectable += 1;
        } else if let Some((name, value)) = line.split_once(':') {
            // "Warning  Comp. Temperature Time" has two spaces.
            let (name, value) = (name.split_whitespace().collect::<Vec<_>>().join(" "), value.trim());
            match name.as_str() {
                "Vendor" => vendor = Some(value),
                "read" | "write" | "verify" => counters(&mut reading, &name, value, &mut uncorrected),
                _ => named(&mut reading, &name, value, &mut sector_bytes),
            }
        }
    }
    reading.know(Q::MediaErrors, uncorrected, "error counter log, total uncorrected errors");
    if reading.protocol.is_none() && !reading.attributes.is_empty() {
        reading.protocol = Some(Protocol::Ata);
    }
    // As in smartctl's JSON.
    if let (Some(vendor), Some(product), Some(Protocol::Scsi)) = (vendor, &reading.model, reading.protocol) {
        reading.model = Some(format!("{vendor} {product}").trim().to_owned());
    }
    reading.is_default_named = reading.family.is_none();
    understand(&mut reading);
    reading
}

/// How the last test of the drive failed, if this line of the log of tests says so: "# 1  Extended offline    Completed: read failure       90%", of NVMe
/// " 0   Extended          Completed: failed segments".
fn failed_test(line: &str) -> Option<String> {
    let line = line.trim_start();
    let rest = line.strip_prefix("# 1 ").or_else(|| line.strip_prefix("0 "))?;
    let (_, told) = rest.split_once("Completed: ").or_else(|| rest.split_once("Fatal or unknown "))?;
    let told = told.split("  ").next().unwrap_or_default().trim();
    (told.contains("fail") || told.contains("error") || rest.contains("Fatal")).then(|| excerpt(told).to_string())
}

/// Reads a row of SCSI's table of errors.
fn counters(reading: &mut Reading, name: &str, value: &str, uncorrected: &mut Option<f64>) {
    let columns: Vec<&str> = value.split_whitespace().collect();
    let from = format!("error counter log, {name}");
    if columns.len() != COUNTER_COLUMNS {
        // Lines of other logs also begin so.
        if columns.len() > 2 {
            reading.not_understood.push(format!("{from}: \"{}\"", excerpt(value)));
        }
        return;
    }
    let bytes = decimal(columns[GIGABYTES_COLUMN]).map(|gigabytes| gigabytes * GIGABYTE);
    match name {
        "read" => reading.know(Q::HostRead, bytes, &format!("{from}, gigabytes processed")),
        "write" => reading.know(Q::HostWritten, bytes, &format!("{from}, gigabytes processed")),
        _ => {}
    }
    if let Some(errors) = whole_amount(columns[UNCORRECTED_COLUMN]) {
        *uncorrected = Some(uncorrected.unwrap_or(0.0) + errors);
    }
}

/// Reads a line of a name and a value.
fn named(reading: &mut Reading, name: &str, value: &str, sector_bytes: &mut f64) {
    let text = || (!value.is_empty() && value.chars().any(|letter| letter != '-')).then(|| value.to_owned());
    match name {
        "Device Model" => (reading.model, reading.protocol) = (text(), Some(Protocol::Ata)),
        "Model Number" => (reading.model, reading.protocol) = (text(), Some(Protocol::Nvme)),
        "Product" => (reading.model, reading.protocol) = (text(), Some(Protocol::Scsi)),
        "Model Family" => reading.family = text(),
        "LU WWN Device Id" | "Logical Unit id" => reading.wwn = world_wide_name(value),
        // A later run in the same log, which had no drive to query.
        _ if name.starts_with("Smartctl open device") => {
            reading.not_understood.push(excerpt(&format!("{name}: {value}")).to_string());
        }
        "Serial Number" | "Serial number" => reading.serial = text(),
        "Firmware Version" | "Revision" => reading.firmware = text(),
        "Rotation Rate" => reading.is_rotating = Some(value != "Solid State Device"),
        "Sector Size" | "Sector Sizes" | "Logical block size" => {
            *sector_bytes = amount(value).map(|told| told.value).filter(|bytes| *bytes > 0.0).unwrap_or(SECTOR_BYTES);
        }
        "User Capacity" | "Total NVM Capacity" => field::note(reading, Q::Capacity, 1.0, value, name),
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
        "ATA Error Count" | "Device Error Count" => {
            reading.protocol.get_or_insert(Protocol::Ata);
            reading.know(Q::ErrorLogEntries, amount(value).map(|told| told.value), "ATA error log");
        }
        // "hours:minutes 24755:57".
        "Accumulated power on time, hours" => {
            let told = value.strip_prefix("minutes").and_then(|told| told.trim().split_once(':'));
            let minutes = told.and_then(|(_, minutes)| amount(minutes)).map_or(0.0, |minutes| minutes.value);
            let hours = told.and_then(|(hours, _)| whole_amount(hours)).map(|hours| hours + minutes / 60.0);
            reading.know(Q::PowerOnHours, hours, name.trim_end_matches(", hours"));
        }
        _ => {
            if let Some((_, quantity, unit)) = NVME.iter().find(|(known, ..)| *known == name) {
                field::note(reading, *quantity, *unit, value, &format!("NVMe log 02h, {name}"));
            } else if let Some((_, quantity)) = SCSI.iter().find(|(known, _)| *known == name) {
                field::note(reading, *quantity, 1.0, value, name);
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
    let raw_bits = bits(&raw);
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

/// The bits of a raw value that is printed whole: as one number, or as its three words from the highest down.
fn bits(raw: &str) -> Option<u64> {
    if let Some(digits) = raw.strip_prefix("0x") {
        return u64::from_str_radix(digits, 16).ok();
    }
    let words: Vec<u64> = raw.split(' ').map(|word| word.parse().ok()).collect::<Option<_>>()?;
    match words[..] {
        [bits] => Some(bits),
        [high, middle, low] if words.iter().all(|word| *word <= 0xFFFF) => Some(high << 32 | middle << 16 | low),
        _ => None,
    }
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
