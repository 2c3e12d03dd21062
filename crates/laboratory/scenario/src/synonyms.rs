//! Synonyms: keys that say the same as another key in other terms. Over-provisioning stands for the spare factor, years for days.
//!
//! A layer that writes a synonym is read as if it had written the plain key. Layers therefore displace each other whichever key they write,
//! and scenarios that mean the same have the same hash. A layer that writes both keys is refused.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use toml::{Table, Value};
use wane_units::{DAYS_PER_YEAR, Ratio};

use super::error::Refusal;
use super::values::number;

/// Largest over-provisioning: a hundred times the logical capacity, far beyond any drive.
pub(super) const SURPLUS_MAX: f64 = 100.0;
/// Largest without a percent sign: a bare 7 probably means 7 % but would be 700 %.
pub(super) const SURPLUS_BARE_MAX: f64 = 1.0;

/// Flash beyond the logical capacity, divided by that capacity: `0.07` or `"7 %"`. Values above 1 are written in percent.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(transparent)]
pub(super) struct Surplus(Value);

impl JsonSchema for Surplus {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("Surplus")
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": ["number", "string"],
            "minimum": 0,
            "maximum": SURPLUS_BARE_MAX,
            "pattern": r"^\s*[0-9.]+\s*%?\s*$",
            "x-quantity": "surplus"
        })
    }
}

/// The over-provisioning that a text or number of a [`Surplus`] means; `None` if it is not allowed.
pub(super) fn surplus(value: &Value) -> Option<f64> {
    let plain = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        digits.then(|| text.parse::<f64>().ok()).flatten()
    };
    let (found, most) = match value {
        Value::String(text) => match text.trim().strip_suffix('%') {
            Some(percent) => (plain(percent.trim()).map(|percent| percent / 100.0), SURPLUS_MAX),
            None => (plain(text.trim()), SURPLUS_BARE_MAX),
        },
        value => (number(value), SURPLUS_BARE_MAX),
    };
    found.filter(|surplus| (0.0..=most).contains(surplus))
}

/// Converts over-provisioning, physical / logical - 1, to the spare factor, 1 - logical / physical.
pub fn spare_of(over_provisioning: f64) -> f64 {
    over_provisioning / (1.0 + over_provisioning)
}

/// Converts a spare factor below 1, 1 - logical / physical, to over-provisioning, physical / logical - 1.
pub fn over_provisioning_of(spare_factor: f64) -> f64 {
    spare_factor / (1.0 - spare_factor)
}

/// A synonym, the plain key that it stands for, and a function from its value to the plain key's.
type Synonym = (&'static str, &'static str, fn(&Value) -> Option<Value>);

/// Synonyms in `[drive]`.
const DRIVE: [Synonym; 1] = [("over-provisioning", "spare-factor", |value| {
    surplus(value).map(spare_of).and_then(Ratio::new).map(|spare| Value::Float(spare.get()))
})];
/// Synonyms in `[until]`, of the run and of each phase.
const UNTIL: [Synonym; 1] = [("years", "days", days_of_years)];
/// Synonyms in `[probe]`.
const PROBE: [Synonym; 1] = [("at-years", "at-days", |value| {
    value.as_array()?.iter().map(days_of_years).collect::<Option<Vec<Value>>>().map(Value::Array)
})];

/// The plain key of a dotted key: `drive.spare-factor` for `drive.over-provisioning`. A key that is no synonym is returned unchanged.
pub fn plain_key(key: &str) -> String {
    let Some((path, name)) = key.rsplit_once('.') else { return key.to_owned() };
    let synonyms: &[Synonym] = match path.rsplit('.').next() {
        Some("drive") => &DRIVE,
        Some("until") => &UNTIL,
        Some("probe") => &PROBE,
        _ => &[],
    };
    let plain = synonyms.iter().find(|synonym| synonym.0 == name).map_or(name, |synonym| synonym.1);
    format!("{path}.{plain}")
}

fn days_of_years(years: &Value) -> Option<Value> {
    number(years).map(|years| Value::Float(years * DAYS_PER_YEAR))
}

/// Replaces synonyms by plain keys in a layer whose values are checked. Returns the paths of these plain keys, each with the path of the
/// synonym.
///
/// # Errors
/// A table has both.
pub(super) fn translate(layer: &mut Table) -> Result<BTreeMap<String, String>, Refusal> {
    let mut written = BTreeMap::new();
    let mut each = |table: Option<&mut Value>, path: &str, synonyms: &[Synonym]| {
        let Some(Value::Table(table)) = table else { return Ok(()) };
        synonyms.iter().try_for_each(|synonym| one(table, path, synonym, &mut written))
    };
    each(layer.get_mut("drive"), "drive", &DRIVE)?;
    each(layer.get_mut("until"), "until", &UNTIL)?;
    each(layer.get_mut("probe"), "probe", &PROBE)?;
    // `--set` writes a list of phases as a table with numbers for names.
    let phases: Vec<(String, &mut Value)> = match layer.get_mut("phase") {
        Some(Value::Array(list)) => list.iter_mut().enumerate().map(|(at, phase)| (at.to_string(), phase)).collect(),
        Some(Value::Table(table)) => table.iter_mut().map(|(at, phase)| (at.clone(), phase)).collect(),
        _ => Vec::new(),
    };
    for (number, phase) in phases {
        each(phase.get_mut("until"), &format!("phase.{number}.until"), &UNTIL)?;
    }
    Ok(written)
}

fn one(
    table: &mut Table,
    path: &str,
    (name, plain, meaning): &Synonym,
    written: &mut BTreeMap<String, String>,
) -> Result<(), Refusal> {
    let Some(value) = table.remove(*name) else { return Ok(()) };
    if table.contains_key(*plain) {
        let message = format!("stands beside {plain}, which says the same in another way; give one of the two");
        return Err((format!("{path}.{name}"), message));
    }
    let value = meaning(&value).expect("the value was checked");
    table.insert((*plain).to_owned(), value);
    written.insert(format!("{path}.{plain}"), format!("{path}.{name}"));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seven_without_a_sign_is_not_taken_for_seven_hundred_percent() {
        let text = |text: &str| Value::String(text.to_owned());
        for wrong in [Value::Integer(7), Value::Float(1.5), text("7"), text("10001 %")] {
            assert_eq!(surplus(&wrong), None, "{wrong}");
        }
        for (right, share) in [(text("700 %"), 7.0), (text("1"), 1.0), (Value::Float(0.07), 0.07)] {
            assert_eq!(surplus(&right), Some(share), "{right}");
        }
    }

    #[test]
    fn spare_factor_and_over_provisioning_are_two_words_for_one_ratio() {
        for (logical, physical) in [(100.0, 107.0), (90.0, 100.0), (1.0, 3.0), (5.0, 5.0)] {
            let (spare, surplus) = (1.0 - logical / physical, physical / logical - 1.0);
            assert!((spare_of(surplus) - spare).abs() < 1e-12, "{logical} of {physical}");
            assert!((over_provisioning_of(spare) - surplus).abs() < 1e-12, "{logical} of {physical}");
        }
    }
}
