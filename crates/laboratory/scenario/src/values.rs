//! Values of TOML: numbers and shares in any of their forms, and how messages show a value.

use toml::Value;
use wane_units::{Ratio, excerpt};

/// Longest list that a message shows, in bytes.
const LIST_SHOWN_MAX: usize = 60;

/// A number, whole or not.
pub(super) fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Integer(number) => Some(*number as f64),
        Value::Float(number) => Some(*number),
        _ => None,
    }
}

/// A share, as a number or in percent.
pub(super) fn ratio(value: &Value) -> Option<Ratio> {
    match value {
        Value::String(text) => text.parse().ok(),
        value => number(value).and_then(Ratio::new),
    }
}

/// The two ends of a range `[least, most]`.
pub(super) fn ends(value: &Value) -> Option<(f64, f64)> {
    let [least, most] = value.as_array()?.as_slice() else { return None };
    number(least).zip(number(most))
}

/// A value as a message shows it.
pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::Table(_) => "a table".to_owned(),
        Value::Array(list) => {
            let items: Vec<String> = list.iter().map(shown).collect();
            let whole = format!("[{}]", items.join(", "));
            if whole.len() <= LIST_SHOWN_MAX { whole } else { format!("a list of {}", list.len()) }
        }
        Value::String(text) => format!("\"{}\"", excerpt(text)),
        Value::Float(number) if number.abs() >= 1e15 => format!("{number:e}"),
        other => excerpt(&other.to_string()).to_string(),
    }
}
