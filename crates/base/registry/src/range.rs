//! Ranges: describes in words what the schema of a parameter allows, and checks values against it.

use schemars::Schema;
use serde_json::Value as Json;
use toml::Value;
use wane_units::{Bytes, Ratio, did_you_mean, excerpt};

use crate::share::{SHARE_OR_COUNT, ShareOrCount};

/// A parameter that is refused.
pub(crate) struct Refused {
    pub(crate) key: String,
    pub(crate) reason: String,
}

/// Checks a table against a schema. `kind` is the key that may occur next to the parameters, for the hint at a misspelt one.
pub(crate) fn check(schema: &Schema, kind: &str, table: &toml::Table) -> Result<(), Refused> {
    let properties: Vec<(&str, Allowed)> = properties(schema).collect();
    for (key, value) in table {
        let refuse = |reason| Refused { key: key.clone(), reason };
        match properties.iter().find(|(name, _)| name == key) {
            None => {
                let known: Vec<&str> = properties.iter().map(|(name, _)| *name).collect();
                return Err(refuse(unknown(key, kind, &known)));
            }
            Some((_, allowed)) => {
                if let Some((found, wanted)) = allowed.refused(value) {
                    return Err(refuse(format!("found {}, expected {wanted}", shown(found))));
                }
            }
        }
    }
    Ok(())
}

fn unknown(key: &str, kind: &str, known: &[&str]) -> String {
    if known.is_empty() {
        return "is unknown; it takes no parameters".to_owned();
    }
    let listed: Vec<String> = known.iter().map(|name| format!("`{name}`")).collect();
    let candidates: Vec<&str> = known.iter().copied().chain([kind]).collect();
    format!("is unknown, allowed are {}{}", listed.join(", "), did_you_mean(key, &candidates))
}

/// The parameters of a schema in the order of their names.
pub(crate) fn properties(schema: &Schema) -> impl Iterator<Item = (&str, Allowed)> {
    let properties = schema.get("properties").and_then(Json::as_object);
    properties.into_iter().flatten().map(|(name, property)| (name.as_str(), Allowed::of(property)))
}

/// What a parameter may be.
#[derive(Clone, Debug)]
pub(crate) struct Allowed {
    kind: Kind,
    unit: Option<String>,
}

#[derive(Clone, Debug)]
enum Kind {
    Whole {
        least: u64,
        most: Option<u64>,
    },
    Number {
        least: Option<f64>,
        above: Option<f64>,
        most: Option<f64>,
    },
    Choice(Vec<String>),
    Flag,
    Ratio,
    /// A share above 0, or a whole number from 1 on.
    ShareOrCount,
    Size,
    Text,
    /// Any number of these.
    List(Box<Allowed>),
    /// A list of exactly these.
    Tuple(Vec<Allowed>),
}

impl Allowed {
    /// Reads the schema of one parameter.
    pub(crate) fn of(property: &Json) -> Self {
        let unit = property.get("x-unit").and_then(Json::as_str).map(str::to_owned);
        Self { kind: Kind::of(property), unit }
    }

    /// The part of a value that is not allowed, which may be the value itself or one in it, and what is allowed there.
    fn refused<'a>(&'a self, value: &'a Value) -> Option<(&'a Value, &'a Self)> {
        match (&self.kind, value) {
            (Kind::List(each), Value::Array(found)) => found.iter().find_map(|value| each.refused(value)),
            (Kind::Tuple(wanted), Value::Array(found)) if wanted.len() == found.len() => {
                wanted.iter().zip(found).find_map(|(wanted, value)| wanted.refused(value))
            }
            _ => (!self.holds(value)).then_some((value, self)),
        }
    }

    /// Whether a value that is not a list is allowed.
    fn holds(&self, value: &Value) -> bool {
        match (&self.kind, value) {
            (Kind::Whole { least, most }, Value::Integer(found)) => {
                u64::try_from(*found).is_ok_and(|found| found >= *least && most.is_none_or(|most| found <= most))
            }
            (Kind::Number { least, above, most }, Value::Integer(_) | Value::Float(_)) => {
                number(value).is_some_and(|found| {
                    found.is_finite()
                        && least.is_none_or(|least| found >= least)
                        && above.is_none_or(|above| found > above)
                        && most.is_none_or(|most| found <= most)
                })
            }
            (Kind::Choice(words), Value::String(found)) => words.contains(found),
            (Kind::Flag, Value::Boolean(_)) | (Kind::Text, Value::String(_)) => true,
            (Kind::Ratio, Value::String(found)) => found.parse::<Ratio>().is_ok(),
            (Kind::Ratio, found) => number(found).is_some_and(|found| Ratio::new(found).is_some()),
            (Kind::ShareOrCount, found) => ShareOrCount::read(found).is_some(),
            (Kind::Size, Value::String(found)) => found.parse::<Bytes>().is_ok(),
            _ => false,
        }
    }

    /// The text for the column of a table.
    pub(crate) fn column(&self) -> String {
        let range = match &self.kind {
            Kind::Choice(words) => words.iter().map(|word| format!("`\"{word}\"`")).collect::<Vec<_>>().join(", "),
            Kind::Flag => "`true`, `false`".to_owned(),
            Kind::Ratio => "0 to 1, or in percent".to_owned(),
            Kind::ShareOrCount => "a share in percent or as a fraction, or a whole number from 1 on".to_owned(),
            Kind::Size => "a size, such as `\"1 GiB\"`".to_owned(),
            Kind::Text => "any text".to_owned(),
            Kind::List(each) => format!("a list of {}", each.column()),
            Kind::Tuple(parts) => format!("[{}]", parts.iter().map(Self::column).collect::<Vec<_>>().join("; ")),
            Kind::Number { least: None, above: None, most: None } => "a number".to_owned(),
            // The largest number of the type is not shown as a limit.
            Kind::Whole { least, most: Some(most) } if *most == u64::from(u32::MAX) => format!("{least} and up"),
            Kind::Whole { least, most: None } => format!("{least} and up"),
            Kind::Number { least: Some(least), above: None, most: None } => format!("{least} and up"),
            Kind::Whole { .. } | Kind::Number { .. } => self.range().trim_start_matches("from ").to_owned(),
        };
        range + &self.unit_words()
    }

    fn unit_words(&self) -> String {
        self.unit.as_ref().map_or_else(String::new, |unit| format!(", in {unit}"))
    }

    fn range(&self) -> String {
        match &self.kind {
            Kind::Whole { least, most: Some(most) } => format!("from {least} to {most}"),
            Kind::Whole { least, most: None } => format!("from {least} on"),
            Kind::Number { least: Some(least), most: Some(most), .. } => format!("from {least} to {most}"),
            Kind::Number { above: Some(above), most: Some(most), .. } => format!("above {above}, up to {most}"),
            Kind::Number { most: Some(most), .. } => format!("up to {most}"),
            Kind::Number { above: Some(above), .. } => format!("above {above}"),
            Kind::Number { least: Some(least), .. } => format!("from {least} on"),
            _ => String::new(),
        }
    }
}

/// The text for a message.
impl std::fmt::Display for Allowed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.kind {
            Kind::Whole { .. } => write!(f, "a whole number {}", self.range())?,
            Kind::Number { .. } => f.write_str(format!("a number {}", self.range()).trim_end())?,
            Kind::Choice(words) => {
                let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
                write!(f, "{}{}", if words.len() > 1 { "one of " } else { "" }, quoted.join(", "))?;
            }
            Kind::Flag => f.write_str("true or false")?,
            Kind::Ratio => f.write_str("a ratio from 0 to 1, such as 0.5 or \"50 %\"")?,
            Kind::ShareOrCount => f.write_str("a share such as \"2 %\" or 0.02, or a whole number from 1 on")?,
            Kind::Size => f.write_str("a size such as \"1 GiB\"")?,
            Kind::Text => f.write_str("a text")?,
            Kind::List(each) => write!(f, "a list of {each}")?,
            Kind::Tuple(parts) => {
                let parts: Vec<String> = parts.iter().map(ToString::to_string).collect();
                write!(f, "[{}]", parts.join(", "))?;
            }
        }
        f.write_str(&self.unit_words())
    }
}

impl Kind {
    fn of(property: &Json) -> Self {
        let format = property.get("format").and_then(Json::as_str).unwrap_or_default();
        let quantity = property.get("x-quantity").and_then(Json::as_str);
        let words = choices(property);
        let bound = |name: &str| property.get(name).and_then(Json::as_f64);
        match () {
            () if !words.is_empty() => Self::Choice(words.into_iter().map(|(word, _)| word).collect()),
            () if quantity == Some("ratio") => Self::Ratio,
            () if quantity == Some(SHARE_OR_COUNT) => Self::ShareOrCount,
            () if quantity == Some("size") => Self::Size,
            () if is(property, "boolean") => Self::Flag,
            () if is(property, "array") => match property.get("prefixItems").and_then(Json::as_array) {
                Some(parts) => Self::Tuple(parts.iter().map(Allowed::of).collect()),
                None => Self::List(Box::new(Allowed::of(property.get("items").unwrap_or(&Json::Null)))),
            },
            () if is(property, "integer") => {
                let whole = |name: &str| property.get(name).and_then(Json::as_u64);
                // TOML has no larger numbers, so these limits need not be shown.
                let told = |most: &u64| *most < i64::MAX as u64;
                let widest = (format == "uint32").then_some(u64::from(u32::MAX));
                Self::Whole { least: whole("minimum").unwrap_or(0), most: whole("maximum").or(widest).filter(told) }
            }
            () if is(property, "number") => {
                Self::Number { least: bound("minimum"), above: bound("exclusiveMinimum"), most: bound("maximum") }
            }
            () => {
                debug_assert!(
                    is(property, "string"),
                    "a parameter of a type without a check would be read as text: {property}"
                );
                Self::Text
            }
        }
    }
}

fn is(property: &Json, kind: &str) -> bool {
    match property.get("type") {
        Some(Json::String(found)) => found == kind,
        Some(Json::Array(found)) => found.iter().any(|found| found == kind),
        _ => false,
    }
}

/// The words that a parameter of fixed choices takes, each with its meaning.
pub(crate) fn choices(property: &Json) -> Vec<(String, String)> {
    let documented = property.get("oneOf").and_then(Json::as_array).into_iter().flatten().flat_map(|choice| {
        let meaning = choice.get("description").and_then(Json::as_str).unwrap_or_default();
        let plain = choice.get("enum").and_then(Json::as_array).into_iter().flatten();
        plain.chain(choice.get("const")).map(move |word| (word, meaning))
    });
    let plain = property.get("enum").and_then(Json::as_array).into_iter().flatten().map(|word| (word, ""));
    let words = documented.chain(plain);
    words.filter_map(|(word, meaning)| Some((word.as_str()?.to_owned(), meaning.to_owned()))).collect()
}

fn number(value: &Value) -> Option<f64> {
    value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64))
}

/// A value as messages quote it.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => format!("\"{}\"", excerpt(text)),
        Value::Array(_) => "a list".to_owned(),
        Value::Table(_) => "a table".to_owned(),
        Value::Float(number) => number.to_string(),
        other => excerpt(&other.to_string()).to_string(),
    }
}
