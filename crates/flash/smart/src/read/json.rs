//! JSON: records of drives in sequence, in a list, under the name of each device, or wrapped in another tool's answer.

use serde_json::Value;
use wane_units::excerpt;

use super::{ReadError, foreign, of_text, pages, refusal, smartctl_json};
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

/// Keys of OCP's page in the order of nvme-cli 2.0 to 2.3. The first of its keys comes first, unless the keys were sorted.
const SWAPPED: [&str; 3] =
    ["\"Physical media units written\"", "\"End to end corrected errors\"", "\"End to end detected errors\""];
const SORTED: &str = "\"Bad user nand blocks - Raw\"";

fn sequence(text: &str) -> Result<Vec<Reading>, ReadError> {
    let mut found = Collector::default();
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let mut start = 0;
    while let Some(value) = values.next() {
        let end = values.byte_offset();
        let behind = text[end..].trim();
        match value {
            Ok(value) => {
                let part = &text[start..end];
                let [first, corrected, detected] = SWAPPED.map(|key| part.find(key));
                let is_sorted = part.find(SORTED).is_some_and(|bad| Some(bad) < first);
                found.is_corrected_first = corrected.is_some() && corrected < detected && !is_sorted;
                if let Err(error) = found.collect(&value, None, 0) {
                    found.refused.push(error);
                }
            }
            // A prompt behind the output, copied with it.
            Err(_) if !found.readings.is_empty() && !behind.contains(['{', '[', '"']) => {
                let told = format!("\"{}\" behind the JSON", excerpt(behind));
                found.readings.iter_mut().last().into_iter().for_each(|last| last.not_understood.push(told.clone()));
                break;
            }
            Err(error) => return Err(ReadError::Json(error)),
        }
        start = end;
    }
    found.finish()
}

/// The readings in one value.
pub(super) fn read_value(value: &Value) -> Result<Vec<Reading>, ReadError> {
    let mut found = Collector::default();
    found.collect(value, None, 0)?;
    found.finish()
}

/// What is found in values.
#[derive(Default)]
struct Collector {
    readings: Vec<Reading>,
    /// What beside them is no record, and why.
    refused: Vec<ReadError>,
    /// Whether the text has the keys of OCP's page in the order of old versions of nvme-cli.
    is_corrected_first: bool,
}

impl Collector {
    /// The readings, of which the last tells what else was there.
    fn finish(mut self) -> Result<Vec<Reading>, ReadError> {
        let Some(last) = self.readings.last_mut() else {
            return Err(self.refused.into_iter().next().unwrap_or(ReadError::Empty));
        };
        let told = self.refused.iter().map(|error| format!("another part of the file: {error}"));
        last.not_understood.extend(told.map(|told| excerpt(&told).to_string()));
        Ok(self.readings)
    }

    /// Adds the readings in a value; `name` is the key under which it stands.
    fn collect(&mut self, value: &Value, name: Option<&str>, depth: usize) -> Result<(), ReadError> {
        match value {
            Value::Array(values) => {
                let before = self.readings.len();
                let refused: Vec<_> =
                    values.iter().filter_map(|value| self.collect(value, name, depth + 1).err()).collect();
                if self.readings.len() > before {
                    self.refused.extend(refused);
                    return Ok(());
                }
                refused.into_iter().next().map_or(Ok(()), Err)
            }
            Value::String(text) if holds_output(text) => {
                self.readings.extend(of_text(text.trim())?);
                Ok(())
            }
            Value::Object(members) => {
                let refused = match self.object(value) {
                    Ok(mut readings) => {
                        for reading in &mut readings {
                            reading.device = reading.device.take().or_else(|| name.map(str::to_owned));
                        }
                        self.readings.extend(readings);
                        return Ok(());
                    }
                    // Its parts are no records either.
                    Err(refused @ ReadError::Foreign { .. }) => return Err(refused),
                    Err(refused) => refused,
                };
                let before = self.readings.len();
                let inner = |value: &Value| value.is_object() || value.is_array() || value.is_string();
                let mut others = Vec::new();
                if depth < DEPTH_MAX {
                    for (key, member) in members.iter().filter(|(_, member)| inner(member)) {
                        others.extend(self.collect(member, Some(key), depth + 1).err());
                    }
                }
                // What is no record of a drive at all is part of the wrapping.
                others.retain(|error| !matches!(error, ReadError::OtherJson));
                if self.readings.len() > before {
                    others.retain(|error| !matches!(error, ReadError::NoHealth(_)));
                    self.refused.extend(others);
                    return Ok(());
                }
                // The clearest cause.
                others.sort_by_key(|error| !matches!(error, ReadError::Foreign { .. }));
                let is_wrapping = matches!(refused, ReadError::OtherJson);
                Err(others.into_iter().next().filter(|_| is_wrapping).unwrap_or(refused))
            }
            _ => Err(ReadError::OtherJson),
        }
    }

    /// The readings of an object that is of exactly one known shape.
    fn object(&self, value: &Value) -> Result<Vec<Reading>, ReadError> {
        if let Some(refused) = refusal::of_object(value) {
            return Err(refused);
        }
        if let Some(told) = foreign::readings(value) {
            return told;
        }
        if smartctl_json::is_one(value) {
            return Ok(vec![smartctl_json::reading(value)?]);
        }
        let fields = pages::fields(value);
        let page = pages::page_of(&fields).ok_or(ReadError::OtherJson)?;
        Ok(vec![page.read(&fields, self.is_corrected_first)?])
    }
}

/// Whether a text in JSON is the output of a tool, as a program that ran it passes it on.
fn holds_output(text: &str) -> bool {
    ["=== START OF ", "Smart Log for NVME device", "SMART/Health Information (NVMe", "ID# ATTRIBUTE_NAME"]
        .iter()
        .any(|part| text.contains(part))
        || text.trim_start().starts_with('{')
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
