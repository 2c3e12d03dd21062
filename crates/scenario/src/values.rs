//! Values with units, as scenarios write them: whether they fit their kind, and what they mean.

use toml::{Table, Value};
use wane_nand::rber::{CHIPS, RberModel};
use wane_units::{Bytes, Nanos, Rate, Ratio, did_you_mean, excerpt};

use super::keys::{AGES_MAX, ARRIVALS, GAP_MAX, Kind, PAGE_TYPES_MAX, QUEUE_DEPTH_MAX, SPAN_MAX};
use super::layer::shown;

/// Whether a value fits its kind; the sentence where more can be said than that.
pub(super) fn fits(kind: Kind, value: &Value) -> Result<bool, String> {
    match (kind, value) {
        (Kind::Above(least, most) | Kind::AboveOrNone(least, most), Value::Integer(_) | Value::Float(_)) => {
            Ok(number(value).is_some_and(|number| number > least && number <= most))
        }
        (
            Kind::AboveOrNone(..) | Kind::BytesOrNone(..) | Kind::RateOrNone(..) | Kind::SpanOrNone | Kind::Spans,
            Value::String(word),
        ) if word == "none" => Ok(true),
        (Kind::BytesOrNone(least, most), Value::String(text)) => within(text, least, most, |bytes: Bytes| bytes.0),
        (Kind::RateOrNone(least, most), Value::String(text)) => within(text, least, most, |rate: Rate| rate.0),
        (Kind::Duration(least, most) | Kind::Durations(least, most), Value::String(text)) => {
            within(text, least, most, |nanos: Nanos| nanos.0)
        }
        (Kind::Durations(least, most), Value::Array(list)) => {
            all(list, 1..=PAGE_TYPES_MAX, |item| fits(Kind::Duration(least, most), item))
        }
        (Kind::SpanOrNone | Kind::Spans, Value::String(text)) => {
            Ok(within(text, 0, SPAN_MAX.0, |nanos: Nanos| nanos.0)? && span(value).is_some())
        }
        (Kind::Spans, Value::Array(list)) => {
            let ascending = list.iter().filter_map(span).is_sorted();
            Ok(all(list, 2..=2, |item| Ok(item.as_str() != Some("none") && fits(Kind::SpanOrNone, item)?))?
                && ascending)
        }
        (Kind::Ages, Value::Array(list)) => {
            let ages: Vec<f64> = list.iter().filter_map(number).filter(|age| (0.0..=1e9).contains(age)).collect();
            let ascending = ages.windows(2).all(|pair| pair[0] < pair[1]);
            Ok(ascending && ages.len() == list.len() && (1..=AGES_MAX).contains(&ages.len()))
        }
        (Kind::Arrival, value) => arrival_fits(value),
        (Kind::Chip, Value::String(name)) => chip_fits(name),
        _ => Ok(false),
    }
}

fn within<T: std::str::FromStr>(text: &str, least: u64, most: u64, raw: impl Fn(T) -> u64) -> Result<bool, String>
where
    T::Err: std::fmt::Display,
{
    let value = text.parse::<T>().map_err(|error| error.to_string())?;
    Ok((least..=most).contains(&raw(value)))
}

fn all(
    list: &[Value],
    count: std::ops::RangeInclusive<usize>,
    fits: impl Fn(&Value) -> Result<bool, String>,
) -> Result<bool, String> {
    let mut good = count.contains(&list.len());
    for item in list {
        good &= fits(item)?;
    }
    Ok(good)
}

fn arrival_fits(value: &Value) -> Result<bool, String> {
    let Value::Table(table) = value else { return Ok(value.as_str() == Some("trace")) };
    let mut entries = table.iter();
    let (Some((name, value)), None) = (entries.next(), entries.next()) else { return Ok(false) };
    let (mean, sd) = (Kind::Duration(1, GAP_MAX.0), Kind::Duration(0, GAP_MAX.0));
    let within = |kind: Kind, value: &Value| match fits(kind, value) {
        Ok(true) => Ok(true),
        Ok(false) => Err(format!("found {name} = {}, expected {}", shown(value), kind.allowed())),
        Err(message) => Err(format!("{name}: {message}")),
    };
    match (name.as_str(), value) {
        ("queue-depth", Value::Integer(depth)) if (1..=i64::from(QUEUE_DEPTH_MAX)).contains(depth) => Ok(true),
        ("queue-depth", value) => {
            Err(format!("found queue-depth = {}, expected a whole number from 1 to {QUEUE_DEPTH_MAX}", shown(value)))
        }
        ("poisson", value) => within(mean, value),
        ("normal", Value::Array(pair)) if pair.len() == 2 => Ok(within(mean, &pair[0])? && within(sd, &pair[1])?),
        ("normal", _) => Err(format!(
            "found normal = {}, expected a mean and a standard deviation, such as [\"100 ms\", \"10 ms\"]",
            shown(value)
        )),
        (name, _) => {
            let hint = did_you_mean(name, &ARRIVALS);
            Err(format!("found \"{}\", allowed are {}{hint}", excerpt(name), ARRIVALS.join(", ")))
        }
    }
}

fn chip_fits(name: &str) -> Result<bool, String> {
    let known: Vec<&str> = ["none"].into_iter().chain(CHIPS.iter().map(|chip| chip.name)).collect();
    if known.contains(&name) {
        return Ok(true);
    }
    let hint = did_you_mean(name, &known);
    Err(format!("found \"{}\", allowed are {}, or a table of parameters{hint}", excerpt(name), known.join(", ")))
}

/// A duration in nanoseconds.
pub(super) fn nanos(value: &Value) -> Option<u64> {
    value.as_str().and_then(|text| text.parse::<Nanos>().ok()).map(|nanos| nanos.0)
}

/// A duration, or a list of them.
pub(super) fn nanos_list(value: &Value) -> Option<Vec<u64>> {
    match value {
        Value::Array(list) => list.iter().map(nanos).collect(),
        value => nanos(value).map(|nanos| vec![nanos]),
    }
}

/// Days of a stretch in whole seconds; `None` for `"none"` and what is no such stretch.
///
/// Whole seconds survive the way to days and back, which nanoseconds would not.
pub(super) fn span(value: &Value) -> Option<f64> {
    let nanos = Nanos(nanos(value)?);
    nanos.0.is_multiple_of(Nanos::SECOND.0).then(|| nanos.days())
}

/// Nanoseconds as they are written.
pub(super) fn duration(nanos: u64) -> Value {
    Value::from(Nanos(nanos).to_string())
}

/// Days of a stretch in whole seconds as they are written.
pub(super) fn stretch(days: f64) -> Value {
    let seconds = (days * (Nanos::DAY.0 / Nanos::SECOND.0) as f64).round() as u64;
    duration(seconds.saturating_mul(Nanos::SECOND.0))
}

/// `"none"` for nothing.
pub(super) fn or_none<T>(value: Option<T>, write: impl Fn(T) -> Value) -> Value {
    value.map_or_else(|| Value::from("none"), write)
}

/// A whole number of a table; `None` for `"none"` and where it is missing.
pub(super) fn count(table: &Table, key: &str) -> Option<u32> {
    table.get(key).and_then(Value::as_integer).and_then(|count| u32::try_from(count).ok())
}

/// The place of a word among its choices; the first where it is missing.
pub(super) fn choice(table: &Table, key: &str, words: &[&str]) -> usize {
    let written = table.get(key).and_then(Value::as_str);
    written.and_then(|word| words.iter().position(|name| *name == word)).unwrap_or(0)
}

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

/// A size as the shortest text that is exact.
pub(super) fn size(bytes: u64) -> Value {
    let short = Bytes(bytes).to_string();
    Value::from(if short.parse() == Ok(Bytes(bytes)) { short } else { format!("{bytes} B") })
}

/// The least and the most of a range `[least, most]`.
pub(super) fn ends(value: &Value) -> Option<(f64, f64)> {
    let [least, most] = value.as_array()?.as_slice() else { return None };
    let (least, most) = (number(least)?, number(most)?);
    (least >= 0.0 && least <= most && most.is_finite()).then_some((least, most))
}

/// Whether a number can be a parameter of a chip.
pub(super) fn is_parameter(name: &str, value: &Value) -> bool {
    number(value).is_some_and(|number| (0.0..=RberModel::largest(name)).contains(&number))
}

/// What [`is_parameter`] allows, for a sentence.
pub(super) fn allowed_parameter(name: &str) -> String {
    let largest = RberModel::largest(name);
    if largest == f64::MAX { "a number from 0 on".to_owned() } else { format!("a number from 0 to {largest}") }
}

/// `true` or `false` of a table.
pub(super) fn flag(table: &Table, key: &str, default: bool) -> bool {
    table.get(key).and_then(Value::as_bool).unwrap_or(default)
}
