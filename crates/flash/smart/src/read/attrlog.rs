//! smartd's log of attributes (`smartd -A`, `attrlog.*.csv`): a line at each check of the drive, so that it is a history.
//!
//! ATA's lines have a number, a normalized and a raw value for each attribute, SCSI's and NVMe's a name and a value. The raw value has
//! all 48 bits, of which smartctl prints only a part for some attributes. The drive's name is only in the file's.

use std::borrow::Cow;

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde_json::Value;

use super::{field, pages};
use crate::attributes::{decoded, understand};
use crate::numbers::{decimal, whole_amount};
use crate::reading::{Attribute, Protocol, Source};
use crate::{Quantity as Q, Reading};

const GIGABYTE: f64 = 1e9;

/// Ends of the names of logs' files.
const ENDS: [&str; 3] = [".ata.csv", ".scsi.csv", ".nvme.csv"];

/// Model and serial number by the name of a log's file, `attrlog.MODEL-SERIAL.ata.csv`, in which smartd writes each sign that is
/// no letter or digit as an underscore. What is before the model may be set; SCSI has the vendor there, and NVMe the namespace behind.
pub(super) fn names(file: &str) -> Option<(String, String)> {
    let file = file.rsplit(['/', '\\']).next()?;
    let (named, is_scsi) = ENDS.iter().find_map(|end| Some((&file[..file.find(end)?], *end == ENDS[1])))?;
    let named = named.rsplit('.').next()?;
    let mut parts: Vec<&str> = named.split('-').collect();
    let is_namespace = |part: &&str| part.strip_prefix('n').is_some_and(|rest| rest.parse::<u32>().is_ok());
    if parts.len() > 2 && file.contains(ENDS[2]) {
        parts.pop_if(|part| is_namespace(&&**part));
    }
    let serial = parts.pop()?;
    let taken = if is_scsi { 2 } else { 1 }.min(parts.len());
    let model = parts[parts.len() - taken..].join(" ");
    (!model.is_empty()).then(|| (model.replace('_', " "), serial.to_owned()))
}

/// The readings of a log, of a drive with these names if its file has them; `None` if it is none.
pub(super) fn readings(text: &str, names: Option<&(String, String)>) -> Option<Vec<Reading>> {
    let mut readings = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        match (row(line, names), readings.last_mut()) {
            (Some(reading), _) => readings.push(reading),
            (None, None) => return None,
            // The power failed while it was written.
            (None, Some(last)) => {
                let last: &mut Reading = last;
                last.not_understood.push("a line of the log that is cut off".to_owned());
            }
        }
    }
    Some(readings)
}

fn row(line: &str, names: Option<&(String, String)>) -> Option<Reading> {
    let (time, rest) = line.split_once(';')?;
    let time = time.split_whitespace().collect::<Vec<_>>().join(" ");
    let time = DateTime::strptime("%Y-%m-%d %H:%M:%S", time).ok()?.to_zoned(TimeZone::UTC).ok()?;
    let fields: Vec<&str> = rest.split(';').map(str::trim).filter(|field| !field.is_empty()).collect();
    let mut reading = Reading::new(Source::Attrlog);
    (reading.model, reading.serial) = names.cloned().unzip();
    reading.unix_seconds = Some(time.timestamp().as_second());
    reading.not_understood.push("the time zone of the log, taken for UTC".to_owned());
    if fields.first()?.parse::<u8>().is_ok() {
        reading.protocol = Some(Protocol::Ata);
        reading.attributes = fields.chunks_exact(3).filter_map(attribute).collect();
        understand(&mut reading);
    } else {
        named(&mut reading, &fields);
    }
    reading.tells_health().then_some(reading)
}

fn attribute(fields: &[&str]) -> Option<Attribute> {
    let (id, bits) = (fields[0].parse().ok()?, fields[2].parse().ok()?);
    Some(Attribute {
        id,
        name: String::new(),
        value: fields[1].parse().ok(),
        worst: None,
        threshold: None,
        is_prefailure: false,
        failed: None,
        raw: decoded(id, bits),
        raw_bits: Some(bits),
    })
}

/// Adds the fields of a drive that has names for them.
fn named(reading: &mut Reading, fields: &[&str]) {
    let pairs = fields.chunks_exact(2).map(|pair| (pair[0], pair[1]));
    let log: pages::Fields<'_> =
        pairs.clone().map(|(name, value)| (pages::plain(name), Cow::Owned(Value::from(value)))).collect();
    if pages::page_of(&log).is_some_and(|page| page.source == Source::NvmeJson) {
        pages::HEALTH.add(reading, &log);
        reading.protocol = Some(Protocol::Nvme);
        reading.is_rotating = Some(false);
        reading.is_passed = reading.get(Q::CriticalWarning).map(|bits| bits == 0.0);
        return;
    }
    let mut uncorrected = None;
    for (name, value) in pairs {
        let from = format!("attrlog, {name}");
        let mut gigabytes = |quantity| match decimal(value) {
            Some(gigabytes) => reading.know(quantity, Some(gigabytes * GIGABYTE), &from),
            None => reading.refuse(quantity, format!("{from}: {value}")),
        };
        match name {
            "read-gb-processed" => gigabytes(Q::HostRead),
            "write-gb-processed" => gigabytes(Q::HostWritten),
            "temperature" => field::note(reading, Q::Temperature, 1.0, value, &from),
            _ if name.ends_with("-total-unc-errors") => match whole_amount(value) {
                Some(errors) => uncorrected = Some(errors + uncorrected.unwrap_or(0.0)),
                None => reading.refuse(Q::MediaErrors, format!("{from}: {value}")),
            },
            // Corrected errors, which are no damage, and what is verified.
            _ if name.contains("-corr-") || name.ends_with("-err-corrected") || name == "non-medium-errors" => {}
            "verify-gb-processed" => {}
            _ => reading.not_understood.push(from),
        }
    }
    let is_scsi = fields.iter().any(|name| name.ends_with("-gb-processed"));
    reading.protocol = is_scsi.then_some(Protocol::Scsi);
    reading.know(Q::MediaErrors, uncorrected, "attrlog, total-unc-errors");
}
