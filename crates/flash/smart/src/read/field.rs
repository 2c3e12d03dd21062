//! A name and a value, of a line of text or of JSON: the value is taken only if it is understood to its end, and is listed if it is
//! not.

use serde_json::Value;
use wane_units::excerpt;

use crate::numbers::{Amount, amount, decimal, number};
use crate::{Protocol, Quantity as Q, Reading};

/// Units that tools print behind a number, without signs and in lower case.
const UNITS: [&str; 14] = [
    "",
    "%",
    "c",
    "f",
    "k",
    "celsius",
    "fahrenheit",
    "kelvin",
    "bytes",
    "byteslogicalphysical",
    "byteslogical",
    "hours",
    "minutes",
    "sectors",
];

/// Sizes of smartctl's and nvme's brackets: powers of a thousand.
const SIZES: [(&str, f64); 7] =
    [("B", 1.0), ("KB", 1e3), ("MB", 1e6), ("GB", 1e9), ("TB", 1e12), ("PB", 1e15), ("EB", 1e18)];

/// The difference between a number and the size beside it, beyond the rounding of that size, that is no contradiction.
const ROUNDING: f64 = 1e-3;

const ZERO_CELSIUS_KELVIN: f64 = 273.0;

/// A temperature above this is in Kelvin, as in NVMe's log: no drive works at 200 degrees Celsius.
const CELSIUS_MAX: f64 = 200.0;

/// Texts of tools that stand for no value.
const NOTHING: [&str; 4] = ["", "-", "<not available>", "not available"];

/// Adds a value of JSON, in units of `unit`. A value of another shape is read if it can be, and otherwise listed.
pub(super) fn take(reading: &mut Reading, quantity: Q, unit: f64, value: &Value, from: &str) {
    match (number(value), value) {
        // NVMe has 0 Kelvin where it does not tell.
        (Some(0.0), _) if quantity == Q::Temperature && reading.protocol == Some(Protocol::Nvme) => {}
        (Some(told), _) if quantity == Q::Temperature && told > CELSIUS_MAX => {
            reading.know(quantity, Some(told - ZERO_CELSIUS_KELVIN), from);
        }
        (Some(told), _) => reading.know(quantity, Some(told * unit), from),
        // A key with nothing is one whose value was lost on the way.
        (None, Value::String(text)) if NOTHING.contains(&text.trim()) => {
            reading.refuse(quantity, format!("{from}: \"{}\"", excerpt(text)));
        }
        (None, Value::String(text)) => note(reading, quantity, unit, text, from),
        (None, other) => reading.refuse(quantity, format!("{from}: {}", excerpt(&other.to_string()))),
    }
}

/// Adds the value at a place `a/b` of an object, or what stands there instead of the inner object.
pub(super) fn take_at(reading: &mut Reading, quantity: Q, unit: f64, root: &Value, place: &str) {
    let mut at = root;
    for key in place.split('/') {
        at = match at.get(key) {
            Some(inner) => inner,
            // smartctl has an object here, and perhaps without this key.
            None if at.is_object() => return,
            None => break,
        };
    }
    take(reading, quantity, unit, at, &place.replace('/', "."));
}

/// Adds the value of a field, in units of `unit`. A value that contradicts the size beside it, or of which only a part was
/// read, is listed as not understood, and so is what follows a number.
pub(super) fn note(reading: &mut Reading, quantity: Q, unit: f64, value: &str, from: &str) {
    let Some(found) = amount(value) else {
        if !NOTHING.contains(&value.trim()) {
            reading.refuse(quantity, format!("{from}: \"{}\"", excerpt(value)));
        }
        return;
    };
    if found.is_cut() {
        reading.refuse(quantity, format!("{from}: \"{}\" is not one number", excerpt(value)));
        return;
    }
    let (words, brackets) = parts(found.rest);
    let mut told = found.value * unit;
    if let Some((told, _)) = size(value).filter(|_| quantity.key().ends_with("_bytes")) {
        // "144 TB", whatever the unit of the plain number.
        reading.know(quantity, Some(told), from);
        return;
    }
    if quantity == Q::Temperature {
        told = celsius(&found, &plain(&words), &brackets);
    }
    for bracket in &brackets {
        match size(bracket) {
            Some((size, rounding)) if (size - told).abs() > rounding + ROUNDING * size => {
                reading.refuse(quantity, format!("{from}: \"{}\" contradicts itself", excerpt(value)));
                return;
            }
            Some(_) => {}
            None if quantity == Q::Temperature => {}
            None => reading.not_understood.push(format!("{from}: \"{}\" behind the number", excerpt(bracket))),
        }
    }
    if !UNITS.contains(&plain(&words).as_str()) {
        reading.not_understood.push(format!("{from}: \"{}\" behind the number", excerpt(words.trim())));
    }
    reading.know(quantity, Some(told), from);
}

/// What follows a number: the words, and what is in brackets.
fn parts(rest: &str) -> (String, Vec<&str>) {
    let (mut words, mut brackets, mut rest) = (String::new(), Vec::new(), rest);
    while let Some(from) = rest.find(['[', '(']) {
        let close = if rest[from..].starts_with('[') { ']' } else { ')' };
        let Some(length) = rest[from..].find(close) else { break };
        words += &rest[..from];
        brackets.push(&rest[from + 1..from + length]);
        rest = &rest[from + length + 1..];
    }
    (words + rest, brackets)
}

/// Letters in lower case: "°C", whatever its sign became, is "c".
fn plain(words: &str) -> String {
    let kept = words.chars().filter(|letter| letter.is_ascii_alphanumeric() || *letter == '%');
    kept.map(|letter| letter.to_ascii_lowercase()).collect()
}

/// Degrees Celsius: nvme-cli prints Fahrenheit where the locale has it, with Kelvin in brackets.
fn celsius(found: &Amount<'_>, unit: &str, brackets: &[&str]) -> f64 {
    let kelvin = brackets.iter().filter_map(|bracket| amount(bracket));
    let kelvin =
        kelvin.filter(|told| matches!(plain(told.rest).as_str(), "k" | "kelvin")).map(|told| told.value).next();
    match (unit, kelvin) {
        (_, Some(kelvin)) => kelvin - ZERO_CELSIUS_KELVIN,
        ("f" | "fahrenheit", None) => ((found.value - 32.0) / 1.8).round(),
        ("k" | "kelvin", None) => found.value - ZERO_CELSIUS_KELVIN,
        _ => found.value,
    }
}

/// A size as in "21.1 TB" or "21,1 TB", and one unit of its last digit.
fn size(text: &str) -> Option<(f64, f64)> {
    let text = text.trim();
    let at = text.find(|letter: char| letter.is_ascii_alphabetic())?;
    let (_, bytes) = SIZES.iter().find(|(name, _)| *name == &text[at..])?;
    // Three digits at most, so that a point or a comma parts no thousands.
    let number = text[..at].trim();
    let decimals = number.rsplit_once(['.', ',']).map_or(0, |(_, fraction)| fraction.len());
    Some((decimal(number)? * bytes, bytes * 0.1f64.powi(i32::try_from(decimals).ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Source;

    fn noted(quantity: Q, unit: f64, value: &str) -> (Option<f64>, Vec<String>) {
        let mut reading = Reading::new(Source::SmartctlText);
        note(&mut reading, quantity, unit, value, "field");
        (reading.get(quantity), reading.not_understood)
    }

    #[test]
    fn a_number_is_held_to_the_size_beside_it() {
        for value in ["41,327,562 [21.1 TB]", "41 327 562 [21,1 TB]", "41327562 (21.16 TB)", "41327562"] {
            assert_eq!(noted(Q::HostWritten, 512e3, value), (Some(41_327_562.0 * 512e3), vec![]), "{value}");
        }
        for value in ["41 [21,1 TB]", "41 327 [21,1 TB]", "41,327,562 [2.11 TB]"] {
            let (told, said) = noted(Q::HostWritten, 512e3, value);
            assert_eq!((told, said), (None, vec![format!("field: \"{value}\" contradicts itself")]));
        }
        assert_eq!(noted(Q::Capacity, 1.0, "512,110,190,592 bytes [512 GB]"), (Some(512_110_190_592.0), vec![]));
        assert_eq!(noted(Q::HostRead, 512e3, "1 [512 KB]"), (Some(512e3), vec![]));
    }

    #[test]
    fn what_is_behind_a_number_is_told() {
        assert_eq!(noted(Q::MediaErrors, 1.0, "1 78"), (None, vec!["field: \"1 78\" is not one number".to_owned()]));
        let (told, said) = noted(Q::MediaErrors, 1.0, "7 since the reset (in 2020)");
        assert_eq!(told, Some(7.0));
        assert_eq!(said, ["field: \"in 2020\" behind the number", "field: \"since the reset\" behind the number"]);
        assert_eq!(noted(Q::Spare, 1.0, "- 3 -").1, ["field: \"- 3 -\""]);
        assert_eq!(noted(Q::Spare, 1.0, "<not available>"), (None, vec![]));
    }

    #[test]
    fn a_value_of_json_of_another_shape_is_read_or_listed() {
        let taken = |quantity, unit, text: &str| {
            let mut reading = Reading::new(Source::NvmeJson);
            take(&mut reading, quantity, unit, &serde_json::from_str(text).unwrap(), "key");
            (reading.get(quantity), reading.not_understood, reading.unread)
        };
        for text in ["61", "\"61 %\"", "\"61\"", "[61]", r#"{"value": 61}"#, r#"{"n": 61, "s": "61"}"#] {
            assert_eq!(taken(Q::PercentageUsed, 1.0, text), (Some(61.0), vec![], vec![]), "{text}");
        }
        for text in ["\"144 TB\"", "281250000", "\"281,250,000 [144 TB]\""] {
            assert_eq!(taken(Q::HostWritten, 512e3, text), (Some(144e12), vec![], vec![]), "{text}");
        }
        assert_eq!(taken(Q::Temperature, 1.0, "312").0, Some(39.0));
        for (text, said) in [
            ("null", "key: null"),
            ("[6, 1]", "key: [6,1]"),
            (r#"{"v": 61}"#, r#"key: {"v":61}"#),
            ("\"worn\"", "key: \"worn\""),
        ] {
            let wanted = (None, vec![said.to_owned()], vec![Q::PercentageUsed]);
            assert_eq!(taken(Q::PercentageUsed, 1.0, text), wanted, "{text}");
        }
    }

    #[test]
    fn degrees_are_of_any_scale() {
        for (value, want) in [
            ("43 Celsius", 43.0),
            ("38 C", 38.0),
            ("32\u{b0}C (305 Kelvin)", 32.0),
            ("32?C (305 Kelvin)", 32.0),
            ("90 \u{b0}F (305 K)", 32.0),
            ("90 F", 32.0),
            ("305 K", 32.0),
            ("-5 Celsius", -5.0),
        ] {
            assert_eq!(noted(Q::Temperature, 1.0, value), (Some(want), vec![]), "{value}");
        }
    }
}
