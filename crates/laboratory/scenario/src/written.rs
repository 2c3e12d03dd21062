//! Forms of settings that their Rust types do not show: `"none"`, times by page type, time spans.
//!
//! Each form has its serde functions and a type that stands for it in the schema.

use std::borrow::Cow;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use toml::{Table, Value};
use wane_nand::rber::{CHIPS, RberModel};
use wane_units::Nanos;

use super::schema::SPAN_MAX;

/// Most page types that a cell can have.
const PAGE_TYPES_MAX: usize = 4;

/// The keys of `data` in a chip's table, in the order of `wane_nand::rber::Ranges`.
pub(super) const CHIP_INPUTS: [&str; 3] = ["cycles", "days", "reads"];

/// Part of the description of a list whose items must be in order, which a JSON schema cannot say.
pub(super) const ORDERED: &str = "an editor does not see a wrong order";

/// A value, or `"none"`.
pub(super) struct OrNone<T>(PhantomData<T>);

/// A duration, or a list with one for each page type.
pub(super) struct PageTimes;

/// A time span in whole seconds.
pub(super) struct Span;

/// A time span, or the least and the most of one.
pub(super) struct Spans;

/// A chip's name, or the table of its errors.
pub(super) struct Chip;

macro_rules! inline_schema {
    (($($generics:tt)*) $type:ty, $name:literal, |$generator:ident| $schema:expr) => {
        impl<$($generics)*> JsonSchema for $type {
            fn inline_schema() -> bool {
                true
            }
            fn schema_name() -> Cow<'static, str> {
                Cow::Borrowed($name)
            }
            fn json_schema($generator: &mut SchemaGenerator) -> Schema {
                $schema
            }
        }
    };
}

inline_schema!((T: JsonSchema) OrNone<T>, "OrNone", |generator| {
    json_schema!({ "anyOf": [{ "const": "none" }, generator.subschema_for::<T>()] })
});
inline_schema!(() PageTimes, "PageTimes", |generator| {
    let one = generator.subschema_for::<Nanos>();
    let list = format!("a list of 1 to {PAGE_TYPES_MAX}");
    json_schema!({ "anyOf": [
        one,
        { "type": "array", "items": one, "minItems": 1, "maxItems": PAGE_TYPES_MAX, "x-allowed": list },
    ] })
});
inline_schema!(() Span, "Span", |generator| {
    let mut schema = Nanos::json_schema(generator);
    schema.insert("x-quantity".to_owned(), "span".into());
    schema
});
inline_schema!(() Spans, "Spans", |generator| {
    let one = generator.subschema_for::<Span>();
    json_schema!({ "anyOf": [
        one,
        {
            "type": "array", "items": one, "minItems": 2, "maxItems": 2, "x-order": "ascending",
            "description": format!("The least and the most; {ORDERED}."),
            "x-allowed": "a list of the least and the most"
        },
    ] })
});
inline_schema!(() Chip, "Chip", |_generator| {
    let names: Vec<&str> = CHIPS.iter().map(|chip| chip.name).collect();
    let range = json_schema!({
        "type": "array", "items": { "type": "number", "minimum": 0 }, "minItems": 2, "maxItems": 2,
        "x-order": "ascending", "description": format!("The least and the most; {ORDERED}."), "x-allowed": "[least, most]"
    });
    let data: serde_json::Map<String, serde_json::Value> =
        CHIP_INPUTS.iter().map(|input| ((*input).to_owned(), range.clone().to_value())).collect();
    let mut keys: serde_json::Map<String, serde_json::Value> = RberModel::NAMES.iter().map(|name| {
        let mut parameter = json_schema!({ "type": "number", "minimum": 0 });
        let largest = RberModel::largest(name);
        if largest < f64::MAX {
            parameter.insert("maximum".to_owned(), largest.into());
        }
        ((*name).to_owned(), parameter.to_value())
    }).collect();
    keys.insert("data".to_owned(), json_schema!({
        "type": "object", "properties": data, "required": CHIP_INPUTS, "additionalProperties": false,
        "description": "The ranges of the data that the model was fitted to. Beyond them it extrapolates."
    }).to_value());
    let order: Vec<&str> = RberModel::NAMES.into_iter().chain(["data"]).collect();
    json_schema!({ "anyOf": [
        { "enum": names },
        {
            "type": "object", "properties": keys, "required": order, "additionalProperties": false, "x-key-order": order,
            "x-allowed": "a table of parameters"
        },
    ] })
});

/// `Option` as a value or `"none"`; for `#[serde(with = "or_none")]`.
pub(super) mod or_none {
    use super::*;

    pub(in crate::written) fn of<T: DeserializeOwned, E: Error>(value: Value) -> Result<Option<T>, E> {
        if value.as_str() == Some("none") { Ok(None) } else { T::deserialize(value).map(Some).map_err(E::custom) }
    }

    pub(crate) fn deserialize<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
    where
        D: Deserializer<'de>,
        T: DeserializeOwned,
    {
        of(Value::deserialize(deserializer)?)
    }

    pub(crate) fn serialize<S: Serializer, T: Serialize>(value: &Option<T>, serializer: S) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => value.serialize(serializer),
            None => serializer.serialize_str("none"),
        }
    }
}

/// One duration, or a list of them.
pub(super) mod page_times {
    use super::*;

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Nanos>, D::Error> {
        match Value::deserialize(deserializer)? {
            list @ Value::Array(_) => Vec::deserialize(list),
            one => Nanos::deserialize(one).map(|one| vec![one]),
        }
        .map_err(D::Error::custom)
    }

    pub(crate) fn serialize<S: Serializer>(times: &[Nanos], serializer: S) -> Result<S::Ok, S::Error> {
        match times {
            [one] => one.serialize(serializer),
            list => list.serialize(serializer),
        }
    }
}

/// Days of a time span in whole seconds; `None` if it is not one. Whole seconds are exact after a conversion to days and back, nanoseconds
/// would not be.
pub(super) fn days(stretch: Nanos) -> Option<f64> {
    let whole = stretch.0.is_multiple_of(Nanos::SECOND.0) && stretch <= SPAN_MAX;
    whole.then(|| stretch.days())
}

fn stretch(days: f64) -> Nanos {
    let seconds = (days * (Nanos::DAY.0 / Nanos::SECOND.0) as f64).round() as u64;
    Nanos(seconds.saturating_mul(Nanos::SECOND.0))
}

fn days_of<E: Error>(stretch: Nanos) -> Result<f64, E> {
    days(stretch).ok_or_else(|| E::custom(format!("found {stretch}, expected whole seconds, at most {SPAN_MAX}")))
}

/// Days, with `"none"` for 0.
pub(super) mod span_or_none {
    use super::*;

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        or_none::deserialize(deserializer)?.map_or(Ok(0.0), days_of)
    }

    pub(crate) fn serialize<S: Serializer>(days: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        or_none::serialize(&Some(*days).filter(|days| *days > 0.0).map(stretch), serializer)
    }
}

/// Days, the least and the most, or `"none"`.
pub(super) mod spans_or_none {
    use super::*;

    type Ends = (f64, f64);

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Ends>, D::Error> {
        match Value::deserialize(deserializer)? {
            list @ Value::Array(_) => {
                let (least, most) = <(Nanos, Nanos)>::deserialize(list).map_err(D::Error::custom)?;
                Ok(Some((days_of(least)?, days_of(most)?)))
            }
            value => {
                let one = or_none::of::<Nanos, D::Error>(value)?.map(days_of).transpose()?;
                Ok(one.map(|days| (days, days)))
            }
        }
    }

    pub(crate) fn serialize<S: Serializer>(ends: &Option<Ends>, serializer: S) -> Result<S::Ok, S::Error> {
        match ends {
            Some((least, most)) if least != most => [stretch(*least), stretch(*most)].serialize(serializer),
            ends => or_none::serialize(&ends.map(|(days, _)| stretch(days)), serializer),
        }
    }
}

/// Reads a table whose values are checked as a struct of settings.
///
/// # Errors
/// A sentence of serde's. The checks should leave serde nothing to refuse, which debug builds assert.
pub(super) fn read<T: DeserializeOwned>(table: &Table) -> Result<T, String> {
    table.clone().try_into().map_err(|error: toml::de::Error| {
        let message = error.message().trim().to_owned();
        debug_assert!(false, "the checks let through what serde refuses: {message}");
        message
    })
}

/// A setting or a table of settings as TOML.
pub(super) fn value_of<T: Serialize>(settings: &T) -> Value {
    Value::try_from(settings).expect("settings are plain values, whole numbers below 2^63 and names for keys")
}

/// A table of settings as TOML.
pub(super) fn table_of<T: Serialize>(settings: &T) -> Table {
    match value_of(settings) {
        Value::Table(table) => table,
        other => unreachable!("a struct of settings is a table, not {other}"),
    }
}
