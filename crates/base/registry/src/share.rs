//! A number of things that is written as a share of all of them, or counted.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use toml::Value;
use wane_units::Ratio;

/// The quantity that its schema names.
pub(crate) const SHARE_OR_COUNT: &str = "share-or-count";

/// A number of blocks, pages or drives: a share such as `"2 %"` or `0.02`, which holds for a drive of any size, or a count such as `500`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ShareOrCount {
    /// A share of all, above 0.
    Share(Ratio),
    /// A count, at least 1.
    Count(u32),
}

impl ShareOrCount {
    /// The count of `all`: at least 1, and a share rounded to the nearest.
    pub fn of(self, all: u32) -> u32 {
        match self {
            Self::Count(count) => count.max(1),
            Self::Share(share) => ((f64::from(all) * share.get()).round() as u32).max(1),
        }
    }

    /// Reads it from a value of TOML; `None` if it is neither.
    pub(crate) fn read(value: &Value) -> Option<Self> {
        let share = match value {
            Value::Integer(count) => return u32::try_from(*count).ok().filter(|count| *count > 0).map(Self::Count),
            Value::Float(share) => Ratio::new(*share),
            Value::String(text) => text.parse().ok(),
            _ => None,
        };
        share.filter(|share| share.get() > 0.0).map(Self::Share)
    }
}

impl Serialize for ShareOrCount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Count(count) => count.serialize(serializer),
            Self::Share(share) => share.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for ShareOrCount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        Self::read(&value).ok_or_else(|| D::Error::custom("a share above 0 or a whole number from 1 on is allowed"))
    }
}

impl JsonSchema for ShareOrCount {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("ShareOrCount")
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let share = Ratio::json_schema(generator);
        json_schema!({ "anyOf": [{ "type": "integer", "minimum": 1 }, share], "x-quantity": SHARE_OR_COUNT })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_holds_for_any_size_and_a_count_for_one() {
        let table = [
            ("500", Some((500, 500))),
            ("1", Some((1, 1))),
            ("0.5", Some((50, 5_000))),
            ("'2 %'", Some((2, 200))),
            ("0.000001", Some((1, 1))),
            ("1.0", Some((100, 10_000))),
            ("0", None),
            ("0.0", None),
            ("-3", None),
            ("1.5", None),
            ("'many'", None),
            ("true", None),
        ];
        for (text, want) in table {
            let table: toml::Table = format!("it = {text}").parse().unwrap();
            let found = ShareOrCount::read(&table["it"]);
            assert_eq!(found.map(|found| (found.of(100), found.of(10_000))), want, "{text}");
            // What is written reads as the same.
            let again = found.map(|found| ShareOrCount::read(&Value::try_from(found).unwrap()));
            assert_eq!(again, found.map(Some), "{text}");
        }
    }
}
