//! Reads other tools' output about a drive. The kind of input is recognized by its content.

mod nvme_json;
mod ocp_json;
mod pages;
mod smartctl_json;
mod smartctl_text;

use std::borrow::Cow;
use std::io::Read;

use flate2::read::MultiGzDecoder;
use serde_json::Value;
use wane_units::Bytes;

use crate::reading::Source;
use crate::{LogError, PAGE_BYTES, Reading};

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
    /// JSON of something else.
    #[error(
        "is JSON, but neither smartctl's (which has the key \"smartctl\" or \"device\") nor nvme's (\"avail_spare\", or \"Physical media units written\" \
         of `nvme ocp smart-add-log`)"
    )]
    OtherJson,
    /// smartctl found no drive, or could not query it.
    #[error("smartctl could not ask the drive: {0}")]
    Smartctl(String),
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

const ALLOWED: &str = "smartctl's JSON or text, the JSON of `nvme smart-log` and `nvme ocp smart-add-log`, and the 512 bytes of OCP's log page C0h";

/// Most bytes of unpacked data: as much as an input may have.
const UNPACKED_MAX: u64 = 64 << 20;

/// The readings in these bytes, in their order, at least one. A text may hold many readings, and may be packed by gzip.
///
/// # Errors
/// The bytes are in none of the known formats, or cut off.
pub fn read(bytes: &[u8]) -> Result<Vec<Reading>, ReadError> {
    if bytes.starts_with(&[0x1F, 0x8B]) {
        let mut unpacked = Vec::new();
        MultiGzDecoder::new(bytes).take(UNPACKED_MAX + 1).read_to_end(&mut unpacked).map_err(ReadError::Packed)?;
        return if unpacked.len() as u64 > UNPACKED_MAX { Err(ReadError::Large) } else { read_plain(&unpacked) };
    }
    read_plain(bytes)
}

fn read_plain(bytes: &[u8]) -> Result<Vec<Reading>, ReadError> {
    // A page begins with a count, which may be any bytes, so it is recognized by its length and its GUID.
    if bytes.len() == PAGE_BYTES && !looks_like_text(bytes) {
        return Ok(vec![pages::ocp(bytes)?]);
    }
    let text = text_of(bytes);
    let text = text.trim_start_matches('\u{feff}').trim();
    match text.chars().next() {
        None => Err(ReadError::Empty),
        Some('{' | '[') => json(text),
        Some(_) => smartctl_text::readings(text),
    }
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

/// JSON: one reading, or several in sequence or in a list.
fn json(text: &str) -> Result<Vec<Reading>, ReadError> {
    let mut readings = Vec::new();
    for value in serde_json::Deserializer::from_str(text).into_iter::<Value>() {
        match value.map_err(ReadError::Json)? {
            Value::Array(values) => {
                for value in values {
                    readings.push(object(&value)?);
                }
            }
            value => readings.push(object(&value)?),
        }
    }
    if readings.is_empty() { Err(ReadError::Empty) } else { Ok(readings) }
}

fn object(value: &Value) -> Result<Reading, ReadError> {
    if value.get("smartctl").is_some() || value.get("device").is_some() {
        return smartctl_json::reading(value);
    }
    if nvme_json::is_one(value) {
        return Ok(nvme_json::reading(value));
    }
    if ocp_json::is_one(value) {
        return Ok(ocp_json::reading(value)?);
    }
    Err(ReadError::OtherJson)
}

/// A number of JSON, which may be written as text, as large counts are.
fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => match text.trim().strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok().map(|value| value as f64),
            None => text.replace(',', "").trim().parse().ok(),
        },
        _ => None,
    }
}

/// The first number in a text: "100%" is 100, "4,731,158 [2.42 TB]" 4731158, "0x04" 4.
fn leading_number(text: &str) -> Option<f64> {
    let text = text.trim();
    if let Some(digits) = text.strip_prefix("0x") {
        let end = digits.find(|letter: char| !letter.is_ascii_hexdigit()).unwrap_or(digits.len());
        return u64::from_str_radix(&digits[..end], 16).ok().map(|value| value as f64);
    }
    // Thousands are separated by commas, points, spaces or apostrophes, depending on the locale.
    let of_number = |letter: char| {
        letter.is_ascii_digit() || matches!(letter, ',' | '.' | '\'' | '\u{202f}' | '\u{a0}' | '\u{2019}')
    };
    let end = text.find(|letter: char| !of_number(letter)).unwrap_or(text.len());
    let number = text[..end].trim_end_matches('.');
    // A point separates thousands if three digits follow each; smartctl's text has no number with three decimals.
    let (whole, groups) = number.split_once('.').map_or((number, ""), |(whole, groups)| (whole, groups));
    let is_parted = !groups.is_empty() && groups.split('.').all(|group| group.len() == 3);
    let kept = if is_parted { number } else { whole };
    kept.chars().filter(char::is_ascii_digit).collect::<String>().parse().ok()
}

/// Reverses the readings of a file, in which the latest comes last, so that it comes first. An OCP page stays after the record
/// that it belongs to.
pub fn latest_first(readings: Vec<Reading>) -> Vec<Reading> {
    let mut records: Vec<Vec<Reading>> = Vec::new();
    for reading in readings {
        match records.last_mut().filter(|_| reading.source == Source::OcpPage) {
            Some(record) => record.push(reading),
            None => records.push(vec![reading]),
        }
    }
    records.into_iter().rev().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_parted_as_locales_do() {
        for (text, want) in [
            ("4,731,158 [2.42 TB]", 4_731_158.0),
            ("4.731.158 [2,42 TB]", 4_731_158.0),
            ("41.257", 41_257.0),
            ("41'257", 41_257.0),
            ("7\u{202f}069\u{202f}809", 7_069_809.0),
            ("35.5", 35.0),
            ("3.1415", 3.0),
            ("100%", 100.0),
            ("12. of", 12.0),
            ("0x04", 4.0),
        ] {
            assert_eq!(leading_number(text), Some(want), "{text}");
        }
        assert_eq!(leading_number("none"), None);
    }

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
