//! smartctl's JSON as YAML (`--json=y`): the same keys and values, indented. Anchors and aliases, which it never prints, are
//! refused, since a few lines of them can stand for gigabytes.

use saphyr_parser::{Event, Parser, ScalarStyle};
use serde_json::{Map, Value};
use wane_units::excerpt;

use super::{ReadError, json};
use crate::Reading;

/// Most levels of a document.
const DEPTH_MAX: usize = 64;

/// Whether a text is smartctl's YAML.
pub(super) fn is_one(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim_end).filter(|line| !line.is_empty());
    let first = lines.next();
    let first = if first == Some("---") { lines.next() } else { first };
    first.is_some_and(|line| ["json_format_version:", "smartctl:"].contains(&line))
}

/// The readings of its documents.
pub(super) fn readings(text: &str) -> Result<Vec<Reading>, ReadError> {
    let mut readings = Vec::new();
    for document in documents(text).map_err(ReadError::Yaml)? {
        readings.extend(json::read_value(&document)?);
    }
    if readings.is_empty() { Err(ReadError::Empty) } else { Ok(readings) }
}

/// A list or an object that is not at its end, with the key under which the next value of an object goes.
enum Open {
    List(Vec<Value>),
    Object(Map<String, Value>, Option<String>),
}

fn documents(text: &str) -> Result<Vec<Value>, String> {
    let (mut documents, mut open): (Vec<Value>, Vec<Open>) = (Vec::new(), Vec::new());
    for event in Parser::new_from_str(text) {
        let (event, _) = event.map_err(|error| excerpt(&error.to_string()).to_string())?;
        let value = match event {
            Event::Scalar(text, style, ..) => {
                if let Some(Open::Object(_, key @ None)) = open.last_mut() {
                    *key = Some(text.into_owned());
                    continue;
                }
                scalar(&text, style)
            }
            Event::SequenceStart(..) | Event::MappingStart(..) if open.len() == DEPTH_MAX => {
                return Err(format!("it has more than {DEPTH_MAX} levels"));
            }
            Event::SequenceStart(..) => {
                open.push(Open::List(Vec::new()));
                continue;
            }
            Event::MappingStart(..) => {
                open.push(Open::Object(Map::new(), None));
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => match open.pop() {
                Some(Open::List(elements)) => Value::Array(elements),
                Some(Open::Object(members, _)) => Value::Object(members),
                None => continue,
            },
            Event::Alias(_) => return Err("it has aliases, which smartctl does not print".to_owned()),
            _ => continue,
        };
        match open.last_mut() {
            None => documents.push(value),
            Some(Open::List(elements)) => elements.push(value),
            Some(Open::Object(members, key)) => {
                let key = key.take().ok_or("a key is no text")?;
                members.insert(key, value);
            }
        }
    }
    Ok(documents)
}

/// A plain scalar is what it would be in JSON; what is in quotation marks is text.
fn scalar(text: &str, style: ScalarStyle) -> Value {
    let plain = (style == ScalarStyle::Plain).then(|| match text {
        "" | "~" => Some(Value::Null),
        _ => serde_json::from_str(text).ok(),
    });
    plain.flatten().unwrap_or_else(|| Value::String(text.to_owned()))
}
