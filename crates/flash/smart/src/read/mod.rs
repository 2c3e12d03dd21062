//! Reads other tools' output about a drive. The kind of input is recognized by its content.

mod attrlog;
mod crystal;
pub(crate) mod emmc;
mod field;
mod foreign;
mod gron;
mod json;
mod lines;
mod metrics;
mod ocp;
mod page_text;
mod pages;
mod refusal;
mod smartctl_json;
mod smartctl_text;
mod yaml;

use std::borrow::Cow;
use std::io::Read;

use flate2::read::MultiGzDecoder;
use wane_units::Bytes;

use crate::{LogError, PAGE_BYTES, Reading, consistency};

/// Why an input cannot be read as a drive's record.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// It is empty.
    #[error("is empty; allowed are {ALLOWED}")]
    Empty,
    /// It begins like JSON and is not JSON.
    #[error("is no whole JSON: {0}; allowed are {ALLOWED}")]
    Json(serde_json::Error),
    /// It begins like smartctl's YAML and is not YAML.
    #[error("is no whole YAML: {0}; allowed are {ALLOWED}")]
    Yaml(String),
    /// JSON of something else.
    #[error(
        "is JSON, but neither smartctl's (which has the key \"smartctl\" or \"device\") nor nvme's (\"avail_spare\", or \"Physical media units written\" \
         of `nvme ocp smart-add-log`)"
    )]
    OtherJson,
    /// smartctl found no drive, or could not query it.
    #[error("smartctl could not ask the drive: {0}")]
    Smartctl(String),
    /// The output of smartctl has nothing of the drive's health.
    #[error("has nothing of the drive's health: {0}")]
    NoHealth(String),
    /// A list of devices.
    #[error(
        "is a list of devices, as of `smartctl --scan`, and has no drive's health; run `smartctl -x --json` on a device of it"
    )]
    Devices,
    /// What another tool tells, which is known and not read.
    #[error("is {what}, which is not read; {help}")]
    Foreign {
        /// What it is.
        what: &'static str,
        /// What to do.
        help: &'static str,
    },
    /// A page that is no OCP page.
    #[error("{0}")]
    Page(#[from] LogError),
    /// The gzip data are cut off or damaged.
    #[error("is cut off or damaged: {0}")]
    Packed(std::io::Error),
    /// It is too large when unpacked.
    #[error("has more than {most} when it is unpacked, allowed are at most {most} of records", most = Bytes(UNPACKED_MAX))]
    Large,
    /// It is in no known format.
    #[error("is not of a drive; allowed are {ALLOWED}")]
    Unknown,
}

const ALLOWED: &str = "smartctl's JSON or text, nvme-cli's `smart-log`, `endurance-log`, `fdp stats`, `ocp smart-add-log`, and `intel smart-log-add`, \
                       smartd's attrlog, metrics of smartctl_exporter, node_exporter, and telegraf, scrutiny's and Proxmox' answers, the text of \
                       CrystalDiskInfo, Windows' Get-StorageReliabilityCounter, `mmc extcsd read`, and the 512 bytes of OCP's log page C0h";

/// Most bytes of unpacked data: as much as an input may have.
const UNPACKED_MAX: u64 = 64 << 20;

/// The readings in these bytes, in their order, at least one. A text may hold many readings, and may be packed by gzip.
///
/// # Errors
/// The bytes are in none of the known formats, or cut off.
pub fn read(bytes: &[u8]) -> Result<Vec<Reading>, ReadError> {
    read_named("", bytes)
}

/// The readings in a file's bytes, as of [`read`]. smartd's log has the names of its drive only in the file's name.
///
/// # Errors
/// As of [`read`].
pub fn read_named(file: &str, bytes: &[u8]) -> Result<Vec<Reading>, ReadError> {
    if bytes.starts_with(&[0x1F, 0x8B]) {
        let mut unpacked = Vec::new();
        MultiGzDecoder::new(bytes).take(UNPACKED_MAX + 1).read_to_end(&mut unpacked).map_err(ReadError::Packed)?;
        return if unpacked.len() as u64 > UNPACKED_MAX { Err(ReadError::Large) } else { read_plain(file, &unpacked) };
    }
    read_plain(file, bytes)
}

fn read_plain(file: &str, bytes: &[u8]) -> Result<Vec<Reading>, ReadError> {
    // A page begins with a count, which may be any bytes, so it is recognized by its length and its GUID.
    if bytes.len() == PAGE_BYTES && !looks_like_text(bytes) {
        return Ok(vec![ocp::read_page(bytes)?]);
    }
    let text = text_of(bytes);
    let text = text.trim_start_matches('\u{feff}').trim();
    let mut readings = match attrlog::readings(text, attrlog::names(file).as_ref()) {
        Some(readings) if !readings.is_empty() => readings,
        _ => of_text(text)?,
    };
    readings.iter_mut().for_each(consistency::check);
    Ok(readings)
}

/// The readings of a text in any of the formats.
fn of_text(text: &str) -> Result<Vec<Reading>, ReadError> {
    match text.chars().next() {
        None => return Err(ReadError::Empty),
        Some('{' | '[') => return json::readings(text),
        Some(_) => {}
    }
    if let Some(readings) = metrics::readings(text) {
        return readings;
    }
    if let Some(json) = json::unquoted(text) {
        return json::readings(&json);
    }
    if let Some(value) = gron::value(text) {
        return json::read_value(&value);
    }
    if yaml::is_one(text) {
        return yaml::readings(text);
    }
    let lines = lines::lines(text);
    if let Some(told) = crystal::readings(&lines) {
        return told;
    }
    if let Some(told) = emmc::reading(&lines) {
        return Ok(vec![told]);
    }
    if let Some(refused) = refusal::of_events(&lines) {
        return Err(refused);
    }
    let readings =
        if page_text::is_one(&lines) { page_text::readings(&lines)? } else { smartctl_text::readings(&lines) };
    if readings.is_empty() { Err(refusal::of_text(&lines)) } else { Ok(readings) }
}

/// The text of bytes: UTF-8, or UTF-16 with its mark, as Windows shells redirect a program's output. Invalid letters become the
/// replacement character.
fn text_of(bytes: &[u8]) -> Cow<'_, str> {
    let units = |bytes: &[u8], unit: fn([u8; 2]) -> u16| {
        let units = bytes.as_chunks().0.iter().map(|pair| unit(*pair));
        char::decode_utf16(units).map(|letter| letter.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
    };
    match bytes {
        [0xFF, 0xFE, rest @ ..] => Cow::Owned(units(rest, u16::from_le_bytes)),
        [0xFE, 0xFF, rest @ ..] => Cow::Owned(units(rest, u16::from_be_bytes)),
        _ => String::from_utf8_lossy(bytes),
    }
}

fn looks_like_text(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace())
}

/// Reverses the readings of a file, in which the latest comes last, so that it comes first. An OCP page stays after the record
/// that it belongs to.
pub fn latest_first(readings: Vec<Reading>) -> Vec<Reading> {
    let mut records: Vec<Vec<Reading>> = Vec::new();
    for reading in readings {
        match records.last_mut().filter(|_| reading.source.is_page()) {
            Some(record) => record.push(reading),
            None => records.push(vec![reading]),
        }
    }
    records.into_iter().rev().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Source;

    #[test]
    fn a_text_of_windows_is_read_as_the_same_in_utf_8() {
        let text = r#"{"avail_spare": 100, "percent_used": 7, "critical_warning": 0}"#;
        let told = read(text.as_bytes()).unwrap();
        for (mark, unit) in [([0xFF, 0xFE], u16::to_le_bytes as fn(u16) -> [u8; 2]), ([0xFE, 0xFF], u16::to_be_bytes)] {
            let bytes: Vec<u8> = mark.into_iter().chain(text.encode_utf16().flat_map(unit)).collect();
            assert_eq!(read(&bytes).unwrap(), told);
            assert!(matches!(read(&bytes[..bytes.len() - 4]), Err(ReadError::Json(_))), "cut off");
            assert!(matches!(read(&bytes[..2]), Err(ReadError::Empty)), "the mark alone");
        }
    }

    #[test]
    fn a_page_stays_with_its_record_where_the_order_turns() {
        let reading =
            |serial: &str, source: Source| Reading { serial: Some(serial.to_owned()), source, ..Reading::new(source) };
        let given =
            [("a", Source::NvmeJson), ("pa", Source::OcpPage), ("b", Source::NvmeJson), ("pb", Source::OcpPage)];
        let told = latest_first(given.map(|(serial, source)| reading(serial, source)).into());
        let order: Vec<&str> = told.iter().filter_map(|reading| reading.serial.as_deref()).collect();
        assert_eq!(order, ["b", "pb", "a", "pa"]);
    }
}
