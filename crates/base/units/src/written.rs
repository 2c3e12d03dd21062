//! Quantities in files: serde reads and writes the texts of [`crate::quantity`], and a JSON schema describes them to editors.
//!
//! The schema of a quantity has the member `x-quantity`, which tells readers of the schema what the text means.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::quantity::{BYTE_UNITS, TIME_UNITS};
use crate::{Bytes, Nanos, Rate, Ratio};

/// Pattern of a number and one of these units. It allows more than the parser, which also demands a whole number of the smallest unit.
fn pattern<'a>(units: impl Iterator<Item = &'a str>, end: &str) -> String {
    let units: Vec<&str> = units.collect();
    format!(r"^\s*[0-9][0-9_.]*\s*({}){end}\s*$", units.join("|"))
}

/// Implements serde and the schema for a quantity that is written as a text with its unit.
macro_rules! written {
    ($quantity:ty, $name:literal, $word:literal, $wanted:literal, $text:expr, $pattern:expr) => {
        impl Serialize for $quantity {
            /// The shortest text that is exact.
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let text: fn(&Self) -> String = $text;
                serializer.serialize_str(&text(self))
            }
        }

        impl<'de> Deserialize<'de> for $quantity {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Text;
                impl Visitor<'_> for Text {
                    type Value = $quantity;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str($wanted)
                    }
                    fn visit_str<E: Error>(self, text: &str) -> Result<$quantity, E> {
                        text.parse().map_err(E::custom)
                    }
                }
                deserializer.deserialize_str(Text)
            }
        }

        impl JsonSchema for $quantity {
            fn inline_schema() -> bool {
                true
            }
            fn schema_name() -> Cow<'static, str> {
                Cow::Borrowed($name)
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({ "type": "string", "pattern": $pattern, "x-quantity": $word })
            }
        }
    };
}

written!(
    Bytes,
    "Bytes",
    "size",
    "a size with its unit, such as \"4 KiB\"",
    |bytes| {
        let short = bytes.to_string();
        if short.parse() == Ok(*bytes) { short } else { format!("{} B", bytes.0) }
    },
    pattern(BYTE_UNITS.iter().map(|(unit, _)| *unit), "")
);
written!(
    Nanos,
    "Nanos",
    "duration",
    "a duration with its unit, such as \"75 us\"",
    Nanos::to_string,
    pattern(TIME_UNITS.iter().map(|(unit, _)| *unit), "")
);
written!(
    Rate,
    "Rate",
    "rate",
    "a rate, such as \"667 MB/s\"",
    Rate::to_string,
    pattern(BYTE_UNITS.iter().map(|(unit, _)| *unit), "/s")
);

/// From 0 to 100, as digits.
const PERCENT: &str = r"0*(100(\.0*)?|[0-9]{1,2}(\.[0-9]*)?|\.[0-9]+)";
/// From 0 to 1, as digits.
const SHARE: &str = r"0+(\.[0-9]*)?|0*\.[0-9]+|0*1(\.0*)?";

impl Serialize for Ratio {
    /// Writes the number, not the percentage.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.get())
    }
}

impl<'de> Deserialize<'de> for Ratio {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Share;
        impl Share {
            fn number<E: Error>(self, number: f64) -> Result<Ratio, E> {
                Ratio::new(number)
                    .ok_or_else(|| E::custom(format!("found {number}, expected 0 to 1, such as \"50 %\"")))
            }
        }
        impl Visitor<'_> for Share {
            type Value = Ratio;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a ratio between 0 and 1, such as 0.5 or \"50 %\"")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Ratio, E> {
                text.parse().map_err(E::custom)
            }
            fn visit_f64<E: Error>(self, number: f64) -> Result<Ratio, E> {
                self.number(number)
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<Ratio, E> {
                self.number(number as f64)
            }
            fn visit_u64<E: Error>(self, number: u64) -> Result<Ratio, E> {
                self.number(number as f64)
            }
        }
        deserializer.deserialize_any(Share)
    }
}

impl JsonSchema for Ratio {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("Ratio")
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": ["number", "string"],
            "minimum": 0,
            "maximum": 1,
            "pattern": format!(r"^\s*(({PERCENT})\s*%|{SHARE})\s*$"),
            "x-quantity": "ratio"
        })
    }
}
