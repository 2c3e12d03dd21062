//! Pages that nvme-cli prints for people: lines of a key and a value, which are read as the same keys in JSON are.

use std::borrow::Cow;

use serde_json::Value;

use super::pages::{Fields, is_known, page_of, plain};
use super::refusal;
use crate::reading::Source;
use crate::{LogError, Reading};

/// Beginnings of pages, behind which the device may stand.
const HEADINGS: [&str; 4] = [
    "Smart Log for NVME device",
    "Endurance Group Log for NVME device",
    "SMART Cloud Attributes for NVMe device",
    "SMART Cloud Attributes",
];

/// First keys of pages, for those without a heading.
const FIRST: [&str; 4] =
    ["critical_warning", "deviceid", "host_bytes_with_metadata_written_hbmw", "physical_media_units_written"];

/// Keys in the order in which nvme-cli 2.0 to 2.3 prints them.
const SWAPPED: [&str; 2] = ["end_to_end_corrected_errors", "end_to_end_detected_errors"];

/// Signs that a key of a page has; others are of what stands around it.
const SIGNS: &str = " _-()[]%.&/,#:";

/// Lines of one page.
#[derive(Default)]
struct Lines<'a> {
    device: Option<&'a str>,
    fields: Fields<'a>,
}

fn heading(line: &str) -> Option<&str> {
    HEADINGS.iter().find_map(|start| line.strip_prefix(start))
}

/// Whether these are lines of pages: one has a heading, or is a page's first key as nvme-cli writes it.
pub(super) fn is_one(lines: &[&str]) -> bool {
    let is_first = |line: &&str| {
        let key = pair(line).map(|(key, _)| key);
        key.is_some_and(|key| FIRST.contains(&plain(key).as_str()) && (key != "Critical Warning"))
    };
    lines.iter().any(|line| heading(line).is_some() || is_first(line))
}

/// The readings of all pages.
///
/// # Errors
/// A page C0h is not OCP's.
pub(super) fn readings(lines: &[&str]) -> Result<Vec<Reading>, LogError> {
    let mut pages: Vec<Lines<'_>> = Vec::new();
    for line in lines {
        if let Some(rest) = heading(line) {
            // "Smart Log for NVME device:nvme0n1 namespace-id:ffffffff".
            let device = rest.trim_start_matches([':', ' ', '\t', '-']).split_whitespace().next();
            pages.push(Lines { device, ..Lines::default() });
            continue;
        }
        let Some((key, value)) = pair(line) else { continue };
        let key = plain(key);
        let has = |page: &Lines<'_>, wanted: &str| page.fields.iter().any(|(known, _)| known == wanted);
        let is_full = |page: &Lines<'_>| !page.fields.is_empty() && (has(page, &key) || FIRST.contains(&key.as_str()));
        if pages.last().is_none_or(is_full) {
            pages.push(Lines::default());
        }
        let digits =
            (!value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit())).then(|| value.parse::<u64>());
        let value = digits.and_then(Result::ok).map_or_else(|| Value::String(value.to_owned()), Value::from);
        if let Some(page) = pages.last_mut() {
            page.fields.push((key, Cow::Owned(value)));
        }
    }
    let mut told = Vec::new();
    for Lines { device, fields } in &pages {
        if refusal::by_keys(|wanted| fields.iter().any(|(key, _)| key == wanted)).is_some() {
            continue;
        }
        let Some(page) = page_of(fields) else { continue };
        let at = SWAPPED.map(|key| fields.iter().position(|(known, _)| known == key));
        let mut reading = page.read(fields, at[0].is_some() && at[0] < at[1])?;
        reading.device = device.map(str::to_owned).or(reading.device);
        if reading.source == Source::NvmeJson {
            reading.source = Source::NvmeText;
        }
        if !reading.known.is_empty() {
            told.push(reading);
        }
    }
    Ok(told)
}

/// A key and its value: parted by a colon, or by tabs and spaces.
fn pair(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':').or_else(|| line.trim().rsplit_once(['\t']).or_else(|| wide(line)))?;
    let (key, value) = (key.trim().trim_end_matches('-').trim(), value.trim());
    let is_key = |letter: char| letter.is_ascii_alphanumeric() || SIGNS.contains(letter);
    // Of what no page knows, only what may be a count.
    let is_told = value.contains(|letter: char| letter.is_ascii_digit()) || is_known(&plain(key));
    (!key.is_empty() && key.chars().all(is_key) && is_told).then_some((key, value))
}

/// Parts that two spaces or more part.
fn wide(line: &str) -> Option<(&str, &str)> {
    let line = line.trim();
    let at = line.rfind("  ")?;
    Some((&line[..at], &line[at..]))
}
