//! Checks values against the schema. The error is one sentence that says what is allowed.
//!
//! Values are checked before serde reads them, so that every sentence is ours. Each layer is checked by itself; missing keys are found
//! once the layers are merged.

use serde_json::Value as Json;
use toml::{Table, Value};
use wane_units::{Bytes, Nanos, Rate, Ratio, did_you_mean, excerpt, nearest};

use super::error::Refusal;
use super::policies::{DEFAULTS, Family};
use super::schema::{Form, Node, SPAN_MAX, Section, home};
use super::synonyms::{SURPLUS_BARE_MAX, SURPLUS_MAX, surplus};
use super::values::{number, ratio, shown};
use super::written;

/// Checks a layer: a table of a scenario in which any key may be missing.
pub(super) fn check(layer: &Table) -> Result<(), Refusal> {
    check_keys(Node::root(), layer, "")
}

/// Checks a table of other settings against their schema, as [`check`] does a layer.
pub(super) fn check_by(schema: &'static Json, table: &Table) -> Result<(), Refusal> {
    check_keys(Node::root_of(schema), table, "")
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

fn check_keys(node: Node, table: &Table, path: &str) -> Result<(), Refusal> {
    for (name, value) in table {
        let path = join(path, name);
        match node.key(name) {
            Some(key) => check_value(key, value, &path)?,
            None => return Err((path, unknown(node, name))),
        }
    }
    Ok(())
}

/// The message for an unknown key.
fn unknown(node: Node, name: &str) -> String {
    let known: Vec<&str> = node.keys().into_iter().map(|(key, _)| key).collect();
    unknown_of(name, &known, home(name).filter(|_| node.is_of_scenario()))
}

fn unknown_of(name: &str, known: &[&str], home: Option<&Section>) -> String {
    match (nearest(name, known), home) {
        (Some(near), _) => format!("unknown key; did you mean \"{near}\"?"),
        (None, Some(section)) => format!("unknown key here; it belongs to {}", section.title()),
        (None, None) => format!("unknown key; allowed are {}", known.join(", ")),
    }
}

fn check_value(node: Node, value: &Value, path: &str) -> Result<(), Refusal> {
    let refuse = |message: String| (path.to_owned(), message);
    match (node.form(), value) {
        (Form::Keys, Value::Table(table)) => check_keys(node, table, path),
        (Form::Keys, _) => {
            let is_numbered = path.split('.').any(|part| part.starts_with(|first: char| first.is_ascii_digit()));
            let wanted = match node.home() {
                _ if is_numbered => "a table".to_owned(),
                Some(other) if other != path => allowed(node),
                _ => format!("a table [{path}]"),
            };
            Err(refuse(format!("found {}, expected {wanted}", shown(value))))
        }
        (Form::Policy(family), Value::Table(table)) => check_policy(family, table, path),
        (Form::List, _) if node.lists_tables() => check_tables(node, value, path),
        (Form::Either(branches), _) => check_either(node, &branches, value, path),
        (Form::Words(words), Value::String(word)) if !words.contains(&word.as_str()) => {
            let moved = node.get("x-moved").and_then(|moved| moved.get(word)?.as_str());
            let hint = moved.map_or_else(|| did_you_mean(word, &words), |key| format!("; write {key} instead"));
            Err(refuse(format!("found {}, allowed are {}{hint}", shown(value), words.join(", "))))
        }
        _ => match fits(node, value) {
            Ok(true) => Ok(()),
            Ok(false) => Err(refuse(misfit(node, value))),
            Err(sentence) => Err(refuse(sentence)),
        },
    }
}

/// Checks the name of a policy. Its parameters are checked once the layers are merged, since a layer may write a single one.
fn check_policy(key: &str, table: &Table, path: &str) -> Result<(), Refusal> {
    let names = Family::of_key(key).map(Family::names).unwrap_or_default();
    if let Some(listed) = table.get(DEFAULTS) {
        let is_list = listed.as_array().is_some_and(|list| list.iter().all(Value::is_str));
        if !is_list {
            let message = format!("found {}, expected a list of the parameters that were not written", shown(listed));
            return Err((format!("{path}.{DEFAULTS}"), message));
        }
    }
    match table.get("policy") {
        None => Ok(()),
        Some(Value::String(name)) if names.contains(&name.as_str()) => Ok(()),
        Some(Value::String(name)) => {
            let (found, allowed, hint) = (excerpt(name), names.join(", "), did_you_mean(name, &names));
            Err((path.to_owned(), format!("unknown policy \"{found}\", allowed are {allowed}{hint}")))
        }
        Some(other) => {
            let message = format!("found {}, expected a name, one of {}", shown(other), names.join(", "));
            Err((format!("{path}.policy"), message))
        }
    }
}

fn misfit(node: Node, value: &Value) -> String {
    format!("found {}, expected {}{}", shown(value), allowed(node), meant_percent(node, value))
}

/// A hint for a share above its range that was probably meant in percent, such as 7 for "7 %"; otherwise empty.
fn meant_percent(node: Node, value: &Value) -> String {
    let number = value.as_integer().map(|number| number as f64).or_else(|| value.as_float());
    let is_share = matches!(node.form(), Form::Quantity("ratio" | "surplus"));
    match number.filter(|number| is_share && (1.0..=100.0).contains(number)) {
        Some(number) => format!("; did you mean \"{number} %\"?"),
        None => String::new(),
    }
}

/// Checks a list of tables, which `--set` writes as a table with numbers for names.
fn check_tables(node: Node, value: &Value, path: &str) -> Result<(), Refusal> {
    let enough = |items: &Vec<_>| bound(node, "minItems").is_none_or(|least| items.len() as f64 >= least);
    let Some(items) = items(value).filter(enough) else { return Err((path.to_owned(), misfit(node, value))) };
    for (number, item) in items {
        let each = node.item(number).expect("a list of tables has items");
        check_value(each, item, &join(path, &number.to_string()))?;
    }
    Ok(())
}

/// The items of a list, with their numbers. `--set` writes `phase.0.until...`: a table with numbers for names.
fn items(value: &Value) -> Option<Vec<(usize, &Value)>> {
    match value {
        Value::Array(items) => Some(items.iter().enumerate().collect()),
        Value::Table(table) if !table.is_empty() => {
            table.iter().map(|(name, item)| Some((name.parse().ok()?, item))).collect()
        }
        _ => None,
    }
}

/// Checks a value against the form that it looks like.
fn check_either(node: Node, branches: &[Node], value: &Value, path: &str) -> Result<(), Refusal> {
    let refuse = |message: String| Err((path.to_owned(), message));
    let mut words: Vec<&str> = Vec::new();
    for branch in branches {
        if let Form::Words(more) = branch.form() {
            words.extend(more);
        }
    }
    let tables: Vec<Node> = branches.iter().copied().filter(|branch| matches!(branch.form(), Form::Keys)).collect();
    match value {
        Value::Table(table) if !tables.is_empty() => {
            let mut keys = table.keys();
            let named = keys.next().filter(|_| tables.len() > 1 && keys.next().is_none());
            let known: Vec<&str> = tables.iter().flat_map(|branch| branch.keys()).map(|(key, _)| key).collect();
            match (&tables[..], named) {
                ([one], _) => check_keys(*one, table, path),
                (several, Some(key)) => match several.iter().find(|branch| branch.key(key).is_some()) {
                    Some(branch) => check_keys(*branch, table, path),
                    None => Err((join(path, key), unknown_of(key, &known, home(key)))),
                },
                (_, None) => refuse(misfit(node, value)),
            }
        }
        Value::String(word) if words.contains(&word.as_str()) => Ok(()),
        _ => {
            for branch in branches {
                match fits(*branch, value) {
                    Ok(true) => return Ok(()),
                    Ok(false) => {}
                    Err(sentence) => return refuse(sentence),
                }
            }
            let hint = value.as_str().map(|word| did_you_mean(word, &words)).unwrap_or_default();
            refuse(misfit(node, value) + &hint)
        }
    }
}

/// Whether a value fits a form that is not a table. An error is a sentence that says more than that it does not fit.
fn fits(node: Node, value: &Value) -> Result<bool, String> {
    match (node.form(), value) {
        (Form::Whole, Value::Integer(count)) => Ok(within(node, *count as f64) && whole_within(node, *count)),
        (Form::Number, Value::Integer(_) | Value::Float(_)) => {
            Ok(number(value).is_some_and(|number| within(node, number)))
        }
        (Form::Flag, Value::Boolean(_)) => Ok(true),
        (Form::Text, Value::String(text)) => Ok(!text.trim().is_empty()),
        (Form::Words(words), Value::String(word)) => Ok(words.contains(&word.as_str())),
        (Form::Quantity("ratio"), Value::String(_) | Value::Integer(_) | Value::Float(_)) => Ok(ratio(value).is_some()),
        (Form::Quantity("surplus"), Value::String(_) | Value::Integer(_) | Value::Float(_)) => {
            Ok(surplus(value).is_some())
        }
        (Form::Quantity(quantity), Value::String(text)) => quantity_fits(node, quantity, text),
        (Form::List, Value::Array(list)) => list_fits(node, list),
        (Form::Either(branches), value) => {
            branches.iter().try_fold(false, |good, branch| Ok(good || fits(*branch, value)?))
        }
        _ => Ok(false),
    }
}

fn bound(node: Node, name: &str) -> Option<f64> {
    node.get(name).and_then(Json::as_f64)
}

fn within(node: Node, number: f64) -> bool {
    bound(node, "minimum").is_none_or(|least| number >= least)
        && bound(node, "exclusiveMinimum").is_none_or(|least| number > least)
        && bound(node, "maximum").is_none_or(|most| number <= most)
        && number.is_finite()
}

/// Like [`within`] but exact: the numbers of a JSON schema keep all digits, which a float does not.
fn whole_within(node: Node, count: i64) -> bool {
    let least = node.get("minimum").and_then(Json::as_i64);
    let most = node.get("maximum").and_then(Json::as_i64);
    least.is_none_or(|least| count >= least) && most.is_none_or(|most| count <= most)
}

fn quantity_fits(node: Node, quantity: &str, text: &str) -> Result<bool, String> {
    fn raw<T: std::str::FromStr>(text: &str, raw: impl Fn(T) -> u64) -> Result<u64, String>
    where
        T::Err: std::fmt::Display,
    {
        text.parse::<T>().map(raw).map_err(|error| error.to_string())
    }
    let parse = |text: &str| match quantity {
        "size" => raw(text, |bytes: Bytes| bytes.0),
        "rate" => raw(text, |rate: Rate| rate.0),
        _ => raw(text, |nanos: Nanos| nanos.0),
    };
    let value = parse(text)?;
    let bound = |name: &str| node.text(name).and_then(|text| parse(text).ok());
    let in_range =
        bound("x-least").is_none_or(|least| value >= least) && bound("x-most").is_none_or(|most| value <= most);
    Ok(in_range && (quantity != "span" || written::days(Nanos(value)).is_some()))
}

fn list_fits(node: Node, list: &[Value]) -> Result<bool, String> {
    let count = list.len() as f64;
    let mut good = bound(node, "minItems").is_none_or(|least| count >= least)
        && bound(node, "maxItems").is_none_or(|most| count <= most);
    for (number, item) in list.iter().enumerate() {
        good &= match node.item(number) {
            Some(each) => fits(each, item)?,
            None => false,
        };
    }
    let written = |text: &str| {
        let share = || text.parse().ok().map(|share: Ratio| share.get());
        text.parse().ok().map(|nanos: Nanos| nanos.0 as f64).or_else(share)
    };
    let size = |item: &Value| number(item).or_else(|| written(item.as_str()?));
    let sizes: Vec<f64> = list.iter().filter_map(size).collect();
    let ordered = match node.text("x-order") {
        None => true,
        Some("ascending") => sizes.is_sorted(),
        Some(_) => sizes.windows(2).all(|pair| pair[0] < pair[1]),
    };
    Ok(good && ordered)
}

/// What a key, or one form of its value, allows, in words.
pub(super) fn allowed(node: Node) -> String {
    if let Some(words) = node.words_allowed() {
        return words.to_owned();
    }
    let bound = |name: &str| node.text(name).unwrap_or_default();
    let range = |what: &str| format!("{what}, \"{}\" to \"{}\"", bound("x-least"), bound("x-most"));
    match node.form() {
        Form::Whole => {
            let bound = |name: &str| node.get(name).map(ToString::to_string).unwrap_or_default();
            format!("a whole number from {} to {}", bound("minimum"), bound("maximum"))
        }
        Form::Number => numbers(node),
        Form::Quantity("size") => range("a size with its unit"),
        Form::Quantity("rate") => range("a rate"),
        Form::Quantity("duration") => range("a duration with its unit"),
        Form::Quantity("ratio") => "0 to 1, or \"0 %\" to \"100 %\"".to_owned(),
        Form::Quantity("surplus") => format!("0 to {SURPLUS_BARE_MAX}, or \"0 %\" to \"{} %\"", 100.0 * SURPLUS_MAX),
        Form::Quantity(_) => format!("a duration in whole seconds, \"0 s\" to \"{SPAN_MAX}\""),
        Form::Flag => "true or false".to_owned(),
        Form::Text => "text".to_owned(),
        Form::Words(words) => words.join(", "),
        Form::Policy(key) => {
            let names = Family::of_key(key).map(Family::names).unwrap_or_default();
            format!("a policy ({}), or a table with `policy` and its parameters", names.join(", "))
        }
        Form::Keys => match node.home() {
            Some(section) => format!("a table as `[{section}]`"),
            None => "a table".to_owned(),
        },
        Form::List => "a list".to_owned(),
        Form::Either(branches) => either_allowed(&branches),
    }
}

fn numbers(node: Node) -> String {
    match (bound(node, "minimum"), bound(node, "exclusiveMinimum"), bound(node, "maximum")) {
        (_, Some(least), Some(most)) => format!("a number above {least}, up to {most}"),
        (_, Some(least), None) => format!("a number above {least}"),
        (Some(least), None, Some(most)) => format!("a number from {least} to {most}"),
        (Some(least), None, None) => format!("a number from {least} on"),
        (None, None, Some(most)) => format!("a number up to {most}"),
        (None, None, None) => "a number".to_owned(),
    }
}

/// What several forms allow. Words come first, except a lone `"none"`, which comes last.
fn either_allowed(branches: &[Node]) -> String {
    let (mut words, mut others) = (Vec::new(), Vec::new());
    for branch in branches {
        match branch.form() {
            Form::Words(more) => words.extend(more),
            _ => others.push(allowed(*branch)),
        }
    }
    let mut parts: Vec<String> = match &words[..] {
        ["none"] => others.into_iter().chain(["`\"none\"`".to_owned()]).collect(),
        words => words.iter().map(ToString::to_string).chain(others).collect(),
    };
    let last = parts.pop().unwrap_or_default();
    format!("{}, or {last}", parts.join(", "))
}
