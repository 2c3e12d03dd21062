//! JSON: records of drives in sequence, in a list, under the name of each device, or wrapped in another tool's answer.

use serde_json::Value;
use wane_units::excerpt;

use super::{ReadError, intel_json, nvme_json, ocp_json, of_text, smartctl_json};
use crate::Reading;

/// Levels of objects in which a drive's record is looked for.
const DEPTH_MAX: usize = 4;

/// Words that tools print where JSON allows only a number; without their sign.
const NO_NUMBERS: [&str; 5] = ["nan", "NaN", "inf", "Infinity", "infinity"];

/// The readings of a text of JSON: one, or several in sequence or in lists.
pub(super) fn readings(text: &str) -> Result<Vec<Reading>, ReadError> {
    match sequence(text) {
        Err(error @ ReadError::Json(_)) => {
            let Some((repaired, words)) = without_words(text) else { return Err(error) };
            let mut readings = sequence(&repaired)?;
            for reading in &mut readings {
                reading.not_understood.extend(words.iter().map(|word| format!("a value that is no number: {word}")));
            }
            Ok(readings)
        }
        told => told,
    }
}

fn sequence(text: &str) -> Result<Vec<Reading>, ReadError> {
    let mut readings: Vec<Reading> = Vec::new();
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    while let Some(value) = values.next() {
        let behind = text[values.byte_offset()..].trim();
        match value {
            Ok(value) => readings.extend(of_value(&value)?),
            // A prompt behind the output, copied with it.
            Err(_) if !readings.is_empty() && !behind.contains(['{', '[', '"']) => {
                let told = format!("\"{}\" behind the JSON", excerpt(behind));
                readings.iter_mut().last().into_iter().for_each(|last| last.not_understood.push(told.clone()));
                break;
            }
            Err(error) => return Err(ReadError::Json(error)),
        }
    }
    if readings.is_empty() { Err(ReadError::Empty) } else { Ok(readings) }
}

/// The readings in one value.
pub(super) fn of_value(value: &Value) -> Result<Vec<Reading>, ReadError> {
    let mut readings = Vec::new();
    collect(value, None, 0, &mut readings)?;
    if readings.is_empty() { Err(ReadError::Empty) } else { Ok(readings) }
}

/// Adds the readings in a value; `name` is the key under which it stands.
fn collect(value: &Value, name: Option<&str>, depth: usize, readings: &mut Vec<Reading>) -> Result<(), ReadError> {
    match value {
        Value::Array(values) => values.iter().try_for_each(|value| collect(value, name, depth + 1, readings)),
        Value::String(text) if holds_output(text) => {
            readings.extend(of_text(text.trim())?);
            Ok(())
        }
        Value::Object(members) => {
            let refused = match object(value) {
                Ok(mut reading) => {
                    reading.device = reading.device.or_else(|| name.map(str::to_owned));
                    readings.push(reading);
                    return Ok(());
                }
                Err(refused) => refused,
            };
            let before = readings.len();
            let inner = |value: &Value| value.is_object() || value.is_array() || value.is_string();
            let mut first = None;
            if depth < DEPTH_MAX {
                for (key, member) in members.iter().filter(|(_, member)| inner(member)) {
                    if let Err(error) = collect(member, Some(key), depth + 1, readings) {
                        // What is no record of a drive at all is part of the wrapping.
                        first = first.or((!matches!(error, ReadError::OtherJson)).then_some(error));
                    }
                }
            }
            match first {
                Some(error) if matches!(refused, ReadError::OtherJson) => Err(error),
                _ if readings.len() > before => Ok(()),
                _ => Err(refused),
            }
        }
        _ => Err(ReadError::OtherJson),
    }
}

/// Whether a text in JSON is the output of a tool, as a program that ran it passes it on.
fn holds_output(text: &str) -> bool {
    text.trim_start().starts_with('{') || text.contains("=== START OF ") || text.contains("Smart Log for NVME device")
}

fn object(value: &Value) -> Result<Reading, ReadError> {
    if smartctl_json::is_one(value) {
        return smartctl_json::reading(value);
    }
    if nvme_json::is_one(value) {
        return Ok(nvme_json::reading(value));
    }
    if ocp_json::is_one(value) {
        return Ok(ocp_json::reading(value)?);
    }
    if intel_json::is_one(value) {
        return Ok(intel_json::reading(value));
    }
    let is_list = ["devices", "Devices"].iter().any(|key| value.get(key).is_some_and(Value::is_array));
    Err(if is_list { ReadError::Devices } else { ReadError::OtherJson })
}

/// The text with `null` for each word where a number should be, and these words; `None` if there is none.
fn without_words(text: &str) -> Option<(String, Vec<&str>)> {
    let (mut kept, mut words) = (String::new(), Vec::new());
    let (mut rest, mut is_quoted) = (text, false);
    while let Some(first) = rest.chars().next() {
        let mut taken = first.len_utf8();
        let word = rest.strip_prefix('-').unwrap_or(rest);
        let found = NO_NUMBERS.iter().find(|word_of| word.starts_with(**word_of));
        match (first, found) {
            ('\\', _) if is_quoted => taken += rest[1..].chars().next().map_or(0, char::len_utf8),
            ('"', _) => is_quoted = !is_quoted,
            (_, Some(found)) if !is_quoted => {
                let length = rest.len() - word.len() + found.len();
                words.push(&rest[..length]);
                kept += "null";
                rest = &rest[length..];
                continue;
            }
            _ => {}
        }
        kept += &rest[..taken];
        rest = &rest[taken..];
    }
    (!words.is_empty()).then_some((kept, words))
}

/// JSON from a text that quotes it with a sign before each line, or that has smartctl's JSON behind a prompt; `None` if it has
/// none.
pub(super) fn unquoted(text: &str) -> Option<String> {
    let first = text.lines().next()?.trim();
    if first.trim_start_matches([' ', '>', '|', '*', '#']).starts_with('{') {
        let plain = text.lines().map(|line| line.trim_start().trim_start_matches([' ', '>', '|', '*', '#']));
        return Some(plain.collect::<Vec<_>>().join("\n"));
    }
    let at = text.find("\n{")?;
    text[at..].contains("\"json_format_version\"").then(|| text[at..].trim().to_owned())
}
