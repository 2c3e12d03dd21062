//! Layers of a scenario: parsed with the places of their keys, checked against the schema, and merged.

use std::collections::BTreeMap;
use std::ops::Range;

use toml::de::{DeTable, DeValue};
use toml::{Spanned, Table, Value};
use wane_units::excerpt;

use super::check::check;
use super::error::{Refusal, ScenarioError};
use super::medium::{CELL_TIMES, chip_tables};
use super::policies::Family;
use super::synonyms::translate;
use super::time::{age_keys, event_keys, priority_keys};
use super::workload::{kind_of, own_keys_under};

/// Deepest key that `--set` takes: `phase.0.workload.mix.0.share` and some room.
const DEPTH_MAX: usize = 8;

/// One source of values.
#[derive(Clone, Debug)]
pub(super) struct Layer {
    pub(super) name: String,
    pub(super) text: String,
    pub(super) table: Table,
    spans: BTreeMap<String, Range<usize>>,
    /// Plain keys of the table that were written as synonyms, with these synonyms.
    written: BTreeMap<String, String>,
}

impl Layer {
    /// Parses and checks a file or a preset.
    pub(super) fn parse(name: &str, text: &str) -> Result<Self, ScenarioError> {
        Self::parse_plain(name, text)?.checked()
    }

    /// Parses a file of any settings without checking it.
    pub(super) fn parse_plain(name: &str, text: &str) -> Result<Self, ScenarioError> {
        let document = DeTable::parse(text).map_err(|error| {
            let span = error.span();
            let at = span.clone().and_then(|span| text.get(span)).unwrap_or_default();
            let mut message = excerpt(&error.message().trim().replace('\n', "; ")).to_string();
            if message == "duplicate key" {
                message.push_str(&format!(" \"{}\"", excerpt(at)));
            }
            ScenarioError {
                source_name: name.to_owned(),
                key: String::new(),
                message: format!("this is no TOML: {message}"),
                span,
                text: text.to_owned(),
            }
        })?;
        let mut spans = BTreeMap::new();
        note_table(document.get_ref(), "", &mut spans);
        let mut layer =
            Self { name: name.to_owned(), text: text.to_owned(), table: Table::new(), spans, written: BTreeMap::new() };
        if let Some((key, message)) = too_large(document.get_ref(), "") {
            return Err(layer.error(&key, message));
        }
        layer.table = toml::from_str(text).map_err(|error| layer.error("", error.message().trim().to_owned()))?;
        Ok(layer)
    }

    /// Checks a table that was never a text. Its errors have keys but no lines.
    pub(super) fn of_table(name: &str, table: Table) -> Result<Self, ScenarioError> {
        Self::of_table_plain(name, table).checked()
    }

    /// Makes a layer of a table of any settings without checking it.
    pub(super) fn of_table_plain(name: &str, table: Table) -> Self {
        let (spans, written) = (BTreeMap::new(), BTreeMap::new());
        Self { name: name.to_owned(), text: String::new(), table, spans, written }
    }

    /// Parses and checks one `--set key.path=value`, or an assignment of another option. A value that is not TOML is taken as text.
    pub(super) fn set(option: &str, assignment: &str) -> Result<Self, ScenarioError> {
        Self::set_plain(option, assignment, "ftl.gc.policy=d-choices")?.checked()
    }

    /// Parses one assignment of any settings without checking it. The usage message shows `example`.
    pub(super) fn set_plain(option: &str, assignment: &str, example: &str) -> Result<Self, ScenarioError> {
        let name = format!("{option} {assignment}");
        let mut layer =
            Self { name, text: String::new(), table: Table::new(), spans: BTreeMap::new(), written: BTreeMap::new() };
        let usage = format!("expected KEY=VALUE, such as {example}");
        let Some((path, written)) = assignment.split_once('=') else {
            return Err(layer.error("", usage));
        };
        let parts: Vec<&str> = path.trim().split('.').collect();
        if parts.len() > DEPTH_MAX || parts.iter().any(|part| part.trim().is_empty()) {
            return Err(layer.error("", usage));
        }
        let parsed = match toml::from_str::<Table>(&format!("value = {written}")) {
            Ok(table) => Some(table).filter(|table| table.len() == 1).and_then(|mut table| table.remove("value")),
            // Words need no quotes, but a value that begins like a table or a list must be one.
            Err(error) if written.trim_start().starts_with(['{', '[']) => {
                let reason = error.message().lines().next().unwrap_or_default().to_owned();
                return Err(layer.error(path.trim(), format!("the value is no TOML: {reason}")));
            }
            Err(_) => None,
        };
        let mut value = parsed.unwrap_or_else(|| Value::String(written.trim().to_owned()));
        for part in parts.iter().rev() {
            value = Value::Table(Table::from_iter([(part.trim().to_owned(), value)]));
        }
        if let Value::Table(table) = value {
            layer.table = table;
        }
        Ok(layer)
    }

    /// Writes out shorthands, checks the values and replaces synonyms by plain keys.
    fn checked(mut self) -> Result<Self, ScenarioError> {
        expand_shorthands(&mut self.table);
        self.check()?;
        self.translate()?;
        Ok(self)
    }

    /// Whether the layer sets a key or table.
    pub(super) fn holds(&self, key: &str) -> bool {
        let mut value: Option<&Value> = None;
        for part in key.split('.') {
            let next = match value {
                None => self.table.get(part),
                Some(Value::Array(list)) => part.parse().ok().and_then(|number: usize| list.get(number)),
                Some(value) => value.get(part),
            };
            let Some(next) = next else { return false };
            value = Some(next);
        }
        true
    }

    /// Makes an error at a key of this layer, or at the nearest table around it that the layer has.
    pub(super) fn error(&self, key: &str, message: String) -> ScenarioError {
        let key = self.written.get(key).map_or(key, String::as_str);
        let mut place = key;
        let span = loop {
            if let Some(span) = self.spans.get(place) {
                break Some(span.clone());
            }
            match place.rsplit_once('.') {
                Some((parent, _)) => place = parent,
                None => break None,
            }
        };
        ScenarioError { source_name: self.name.clone(), key: key.to_owned(), message, span, text: self.text.clone() }
    }

    /// Replaces synonyms by plain keys. The values must be checked already.
    fn translate(&mut self) -> Result<(), ScenarioError> {
        let mut table = std::mem::take(&mut self.table);
        let translated = translate(&mut table);
        self.table = table;
        self.written = translated.map_err(|(key, message)| self.error(&key, message))?;
        Ok(())
    }

    fn check(&self) -> Result<(), ScenarioError> {
        check(&self.table).map_err(|(key, message)| self.error(&key, message))?;
        let beside = ["workload", "until"].into_iter().find(|name| self.table.contains_key(*name));
        match beside {
            Some(name) if self.table.contains_key("phase") => {
                Err(self.error(name, "stands beside [[phase]]; each phase has its own workload and until".to_owned()))
            }
            _ => Ok(()),
        }
    }
}

fn note_table(table: &DeTable<'_>, path: &str, spans: &mut BTreeMap<String, Range<usize>>) {
    for (name, value) in table {
        let path = if path.is_empty() { name.get_ref().to_string() } else { format!("{path}.{}", name.get_ref()) };
        spans.insert(path.clone(), name.span().start..value.span().end.max(name.span().end));
        note_value(value, &path, spans);
    }
}

fn note_value(value: &Spanned<DeValue<'_>>, path: &str, spans: &mut BTreeMap<String, Range<usize>>) {
    match value.get_ref() {
        DeValue::Table(table) => note_table(table, path, spans),
        DeValue::Array(items) => {
            for (number, item) in items.iter().enumerate() {
                let path = format!("{path}.{number}");
                spans.insert(path.clone(), item.span());
                note_value(item, &path, spans);
            }
        }
        _ => {}
    }
}

/// Finds the first number that is too large for TOML. The parser itself reads numbers only on demand.
fn too_large(table: &DeTable<'_>, path: &str) -> Option<Refusal> {
    table.iter().find_map(|(name, value)| {
        let path = if path.is_empty() { name.get_ref().to_string() } else { format!("{path}.{}", name.get_ref()) };
        too_large_value(value.get_ref(), &path)
    })
}

fn too_large_value(value: &DeValue<'_>, path: &str) -> Option<Refusal> {
    let (found, most) = match value {
        DeValue::Table(table) => return too_large(table, path),
        DeValue::Array(items) => {
            let item = |(number, item): (usize, &Spanned<DeValue<'_>>)| {
                too_large_value(item.get_ref(), &format!("{path}.{number}"))
            };
            return items.iter().enumerate().find_map(item);
        }
        DeValue::Integer(number) if i64::from_str_radix(number.as_str(), number.radix()).is_err() => {
            (number.to_string(), format!("whole numbers are {} to {}", i64::MIN, i64::MAX))
        }
        DeValue::Float(number)
            if number.as_str().parse().is_ok_and(f64::is_infinite) && !number.as_str().contains("inf") =>
        {
            (number.to_string(), format!("numbers are at most {:e}", f64::MAX))
        }
        _ => return None,
    };
    Some((path.to_owned(), format!("found {}, which is too large: {most}", excerpt(&found))))
}

/// `gc = "greedy"` is short for `gc = { policy = "greedy" }`.
fn expand_shorthands(table: &mut Table) {
    let Some(Value::Table(ftl)) = table.get_mut("ftl") else { return };
    for key in Family::all().map(Family::key) {
        if let Some(value @ Value::String(_)) = ftl.get_mut(key) {
            let policy = std::mem::replace(value, Value::Boolean(false));
            *value = Value::Table(Table::from_iter([("policy".to_owned(), policy)]));
        }
    }
}

/// Whether the tables of this name are a list.
fn is_list(name: &str) -> bool {
    matches!(name, "phase" | "mix" | "member")
}

/// Merges `over` into `base`.
///
/// # Errors
/// `over` has phases that `base` lacks, or a single workload although `base` has phases.
pub(super) fn merge(base: &mut Table, over: &Table) -> Result<(), Refusal> {
    for name in ["workload", "until"] {
        if base.contains_key("phase") && over.contains_key(name) {
            let message = format!("the scenario has [[phase]] tables; write phase.0.{name} for the first of them");
            return Err((name.to_owned(), message));
        }
        if over.get("phase").is_some_and(Value::is_array) {
            base.remove(name);
        }
    }
    lay(base, over, "")
}

fn lay(base: &mut Table, over: &Table, path: &str) -> Result<(), Refusal> {
    displace(base, over, path);
    for (name, value) in over {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        match (base.get_mut(name), value) {
            (Some(Value::Array(list)), Value::Table(above)) if is_list(name) => {
                lay_items(list, above, &path)?;
            }
            (None, Value::Table(_)) if is_list(name) => {
                return Err((path, "found no list of which this would be a part".to_owned()));
            }
            (Some(Value::Table(below)), Value::Table(above)) if !replaces(name, below, above) => {
                let changes = |key: &&str| above.get(*key).is_some_and(|chosen| below.get(*key) != Some(chosen));
                if let Some(key) = ["pattern", "lsm"].iter().find(|key| name == "workload" && changes(key)) {
                    own_keys_under(key).iter().for_each(|key| drop(below.remove(key)));
                }
                lay(below, above, &path)?;
            }
            (below, _) => {
                let arrival = below.filter(|_| name == "workload").and_then(|below| below.get("arrival")).cloned();
                base.insert(name.clone(), value.clone());
                // Another kind of workload keeps the arrivals of the one that it replaces, unless these are times of a trace and it has none.
                if let (Some(arrival), Some(Value::Table(workload))) = (arrival, base.get_mut(name))
                    && (arrival.is_table() || workload.contains_key("trace"))
                {
                    workload.entry("arrival").or_insert(arrival);
                }
            }
        }
    }
    Ok(())
}

/// Removes the keys of lower layers that have no effect with `over`.
fn displace(base: &mut Table, over: &Table, path: &str) {
    if over.contains_key("trace") {
        // The name belongs to another trace.
        base.remove("trace-name");
    }
    let says = |key: &str, word: &str| over.get(key).and_then(Value::as_str) == Some(word);
    // The one value of `gc` that the timeline uses.
    let is_free = base.get("gc").and_then(Value::as_str) == Some("free");
    let mut drop_all = |keys: &[&str]| keys.iter().for_each(|key| drop(base.remove(*key)));
    match path {
        "time" => {
            if says("scheduler", "timeline") {
                drop_all(&event_keys().into_iter().filter(|key| !(is_free && *key == "gc")).collect::<Vec<_>>());
            }
            if says("order", "first-come") {
                drop_all(&priority_keys());
            }
        }
        // One key says when a probe's windows open; a layer that writes another key displaces it.
        "probe" => {
            if let Some(own) = age_keys().into_iter().find(|key| over.contains_key(*key)) {
                drop_all(&age_keys().into_iter().filter(|key| *key != own).collect::<Vec<_>>());
            }
        }
        "drive" => {
            if says("chip", "none") {
                drop_all(&chip_tables());
            }
            if over.contains_key("cell")
                && !says("cell", "none")
                && let Some(Value::Table(timing)) = base.get_mut("timing")
            {
                CELL_TIMES.iter().for_each(|key| drop(timing.remove(*key)));
            }
        }
        _ => {}
    }
}

/// Merges numbered items into those of a list.
fn lay_items(list: &mut [Value], over: &Table, path: &str) -> Result<(), Refusal> {
    let count = list.len();
    for (number, value) in over {
        let path = format!("{path}.{number}");
        let item = number.parse::<usize>().ok().and_then(|number| list.get_mut(number));
        match (item, value) {
            (Some(Value::Table(below)), Value::Table(above)) => lay(below, above, &path)?,
            _ => return Err((path, format!("is not there; the list has {count}, counted from 0"))),
        }
    }
    Ok(())
}

/// Whether a table replaces the one below whole, since it names another policy or another kind of workload.
fn replaces(name: &str, below: &Table, above: &Table) -> bool {
    match name {
        name if Family::of_key(name).is_some() => {
            above.get("policy").is_some_and(|policy| below.get("policy").is_some_and(|other| other != policy))
        }
        "workload" => kind_of(above).is_some_and(|above| above != kind_of(below).unwrap_or("pattern")),
        "arrival" => true,
        _ => false,
    }
}
