//! Pages: what the book and the lists say about a built-in, made from the schema of its parameters.

use std::fmt::Write as _;

use schemars::Schema;
use serde_json::Value as Json;
use toml::{Table, Value};

use crate::range::{Allowed, choices};

/// The first sentence, which begins with a small letter and ends without a period.
pub(crate) fn summary(schema: &Schema) -> String {
    let first = text(schema).split("\n\n").next().unwrap_or_default().replace('\n', " ");
    let first = first.trim_end_matches('.');
    let mut letters = first.chars();
    match (letters.next(), letters.clone().next()) {
        // RBER and d-choices stay as they are.
        (Some(large), Some(next)) if !next.is_uppercase() => large.to_lowercase().chain(letters).collect(),
        _ => first.to_owned(),
    }
}

/// The text after the first sentence, with the table of parameters before the paragraph that names the source.
pub(crate) fn page(schema: &Schema) -> String {
    let body = text(schema).split_once("\n\n").map_or("", |(_, body)| body).trim_end();
    let source = body.rfind("Source: ").filter(|at| *at == 0 || body[..*at].ends_with("\n\n"));
    let (body, source) = body.split_at(source.unwrap_or(body.len()));
    let parameters = parameters(schema);
    let parts = [body.trim_end(), parameters.trim_end(), source];
    parts.iter().filter(|part| !part.is_empty()).fold(String::new(), |page, part| {
        let gap = if page.is_empty() { "" } else { "\n" };
        page + gap + part + "\n"
    })
}

/// Writes a table of TOML on one line.
pub(crate) fn example(kind: &str, name: &str, defaults: &Table) -> String {
    let mut example = format!("{{ {kind} = \"{name}\"");
    for (key, value) in defaults {
        let _ = write!(example, ", {key} = {}", written(value));
    }
    example + " }"
}

fn text(schema: &Schema) -> &str {
    schema.get("description").and_then(Json::as_str).unwrap_or_default()
}

fn parameters(schema: &Schema) -> String {
    let properties = schema.get("properties").and_then(Json::as_object);
    let rows: String = properties.into_iter().flatten().map(|(key, property)| row(key, property)).collect();
    if rows.is_empty() {
        return rows;
    }
    format!("| key | default | allowed | meaning |\n|---|---|---|---|\n{rows}")
}

fn row(key: &str, property: &Json) -> String {
    let default = property.get("default").filter(|default| !default.is_null());
    let default = default.and_then(|default| Value::try_from(default).ok());
    let default = default.map_or_else(|| "none".to_owned(), |value| format!("`{}`", written(&value)));
    let mut meaning = property.get("description").and_then(Json::as_str).unwrap_or_default().to_owned();
    for (word, means) in choices(property).iter().filter(|(_, means)| !means.is_empty()) {
        let _ = write!(meaning, " `\"{word}\"`: {means}");
    }
    let meaning = meaning.replace('\n', " ").replace('|', "\\|");
    format!("| `{key}` | {default} | {} | {meaning} |\n", Allowed::of(property).column())
}

/// Writes a value of TOML. A number without a fraction is written as a whole one, which every parameter accepts.
fn written(value: &Value) -> String {
    match value {
        Value::Float(number) => number.to_string(),
        other => other.to_string(),
    }
}
