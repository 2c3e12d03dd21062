//! The manual of the scenario file, in Markdown, made of the schema.

use serde_json::Value as Json;
use wane_units::Ratio;

use super::check::allowed;
use super::schema::{Form, Node, Section, sections};

const ABOUT: &str = "# The scenario file

One TOML file says everything about a run. Unknown keys are refused. Ratios are written `0.9` or `\"90 %\"`, counts as bare numbers, \
everything else with its unit: `\"4 KiB\"`, `\"75 us\"`, `\"667 MB/s\"`, `\"90 days\"`. Values come in layers: the preset, the file, \
`--set KEY=VALUE`; a layer that names another policy than the one below replaces that table whole. `[[phase]]` tables, each with its \
`workload` and `until`, replace a single workload; `--set phase.0.until.requests=5` changes the first. In a policy's table \
of a resolved scenario, `defaults = [...]` names the parameters that were not written; each must be a parameter of that policy.

`wane manual --schema` prints the same as a JSON schema. With it editors complete a scenario and underline errors in it. A \
scenario whose first line is `#:schema ./scenario.schema.json` uses the schema in the file of that name in its folder.
";

/// The name of the keys above all tables, as a section of the manual.
const TOP: &str = "top";

/// Returns the manual page of all keys, in Markdown.
pub fn manual() -> String {
    let mut page = ABOUT.to_owned();
    for section in sections() {
        page.push('\n');
        page.push_str(&section.page());
    }
    page
}

/// Returns the section of the manual with this name, such as `array`, `drive.ecc` or `[[phase]]`; `None` if there is none.
pub fn manual_of(name: &str) -> Option<String> {
    let name = name.trim().trim_start_matches('[').trim_end_matches(']');
    let section = sections().iter().find(|section| section.called() == name)?;
    let below: Vec<String> = sections()
        .iter()
        .filter(|other| other.name.strip_prefix(name).is_some_and(|rest| rest.starts_with('.')))
        .map(|other| format!("`{}`", other.name))
        .collect();
    let more = if below.is_empty() { String::new() } else { format!("\nTables in it: {}.\n", below.join(", ")) };
    Some(section.page() + &more)
}

/// The names of the manual's sections, in its order.
pub fn manual_sections() -> Vec<&'static str> {
    sections().iter().map(Section::called).collect()
}

impl Section {
    /// Its name in the manual.
    fn called(&self) -> &str {
        if self.name.is_empty() { TOP } else { &self.name }
    }

    /// Its part of the manual.
    fn page(&self) -> String {
        let title = if self.name.is_empty() { "Top".to_owned() } else { format!("`{}`", self.title()) };
        let mut page = format!("## {title}\n\n{}\n", self.doc);
        if !self.keys.is_empty() {
            page.push_str("\n| key | default | allowed | meaning |\n|---|---|---|---|\n");
        }
        for (name, key) in &self.keys {
            page.push_str(&format!("| `{name}` | {} | {} | {} |\n", default_of(*key), allowed(*key), key.doc()));
        }
        page
    }

    /// Its name as TOML writes it.
    pub(super) fn title(&self) -> String {
        if self.is_list { format!("[[{}]]", self.name) } else { format!("[{}]", self.name) }
    }
}

/// The default of a key as the manual shows it.
fn default_of(key: Node) -> String {
    if let Some(words) = key.text("x-default") {
        return words.to_owned();
    }
    let text = match key.get("default") {
        None => "none".to_owned(),
        Some(Json::Number(share)) if matches!(key.form(), Form::Quantity("ratio")) => {
            share.as_f64().and_then(Ratio::new).map_or_else(|| share.to_string(), |share| share.to_string())
        }
        Some(Json::String(text)) => text.clone(),
        Some(value) => inline(value),
    };
    if text.starts_with(['{', '[']) || text.starts_with(|first: char| first.is_ascii_digit()) {
        format!("`{text}`")
    } else {
        text
    }
}

/// A value as TOML on one line.
fn inline(value: &Json) -> String {
    match value {
        Json::Object(table) => {
            let entries: Vec<String> = table.iter().map(|(key, value)| format!("{key} = {}", inline(value))).collect();
            format!("{{ {} }}", entries.join(", "))
        }
        Json::Array(list) => format!("[{}]", list.iter().map(inline).collect::<Vec<_>>().join(", ")),
        Json::Number(number) => number.as_f64().map_or_else(|| number.to_string(), |number| number.to_string()),
        other => other.to_string(),
    }
}
