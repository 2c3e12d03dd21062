//! Layers of a scenario: parsed with their places, checked against the keys, laid over each other.

use std::collections::BTreeMap;
use std::ops::Range;

use toml::de::{DeTable, DeValue};
use toml::{Spanned, Table, Value};
use wane_nand::rber::RberModel;
use wane_units::{Bytes, did_you_mean, excerpt, nearest};

use super::error::{Refusal, ScenarioError};
use super::keys::{
    CELL_TIMES, CHIP_DATA, CHIP_TABLES, EVENT_KEYS, Key, Kind, PRIORITY_KEYS, SECTIONS, Section, TOP, UNTIL, WORKLOAD,
    WORKLOAD_KINDS,
};
use super::values::{self, allowed_parameter, ends, is_parameter, number, ratio};

/// Deepest key that `--set` takes: `phase.0.workload.mix.0.share` and some room.
const DEPTH_MAX: usize = 8;

/// Longest list that a message shows, in bytes.
const LIST_SHOWN_MAX: usize = 60;

/// One source of values.
#[derive(Clone, Debug)]
pub(super) struct Layer {
    pub(super) name: String,
    pub(super) text: String,
    pub(super) table: Table,
    spans: BTreeMap<String, Range<usize>>,
}

impl Layer {
    /// A file or a preset.
    pub(super) fn parse(name: &str, text: &str) -> Result<Self, ScenarioError> {
        let document = DeTable::parse(text).map_err(|error| {
            let span = error.span();
            ScenarioError {
                source_name: name.to_owned(),
                key: String::new(),
                message: format!("this is no TOML: {}", excerpt(&error.message().trim().replace('\n', "; "))),
                span,
                text: text.to_owned(),
            }
        })?;
        let mut spans = BTreeMap::new();
        note_table(document.get_ref(), "", &mut spans);
        let mut layer = Self { name: name.to_owned(), text: text.to_owned(), table: Table::new(), spans };
        layer.table = toml::from_str(text).map_err(|error| layer.error("", error.message().trim().to_owned()))?;
        expand_shorthands(&mut layer.table);
        layer.check()?;
        Ok(layer)
    }

    /// One `--set key.path=value`. The value is TOML, or text where it is none.
    pub(super) fn set(assignment: &str) -> Result<Self, ScenarioError> {
        let name = format!("--set {assignment}");
        let mut layer = Self { name, text: String::new(), table: Table::new(), spans: BTreeMap::new() };
        let usage = "expected KEY=VALUE, such as ftl.gc.policy=d-choices";
        let Some((path, written)) = assignment.split_once('=') else {
            return Err(layer.error("", usage.to_owned()));
        };
        let parts: Vec<&str> = path.trim().split('.').collect();
        if parts.len() > DEPTH_MAX || parts.iter().any(|part| part.trim().is_empty()) {
            return Err(layer.error("", usage.to_owned()));
        }
        let parsed = toml::from_str::<Table>(&format!("value = {written}")).ok().filter(|table| table.len() == 1);
        let parsed = parsed.and_then(|mut table| table.remove("value"));
        let mut value = parsed.unwrap_or_else(|| Value::String(written.trim().to_owned()));
        for part in parts.iter().rev() {
            value = Value::Table(Table::from_iter([(part.trim().to_owned(), value)]));
        }
        if let Value::Table(table) = value {
            layer.table = table;
        }
        expand_shorthands(&mut layer.table);
        layer.check()?;
        Ok(layer)
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

    /// An error at a key of this layer, or at the nearest table that is there.
    pub(super) fn error(&self, key: &str, message: String) -> ScenarioError {
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

    fn check(&self) -> Result<(), ScenarioError> {
        for (name, value) in &self.table {
            match (SECTIONS.iter().find(|section| !section.name.is_empty() && section.name == name), value) {
                (Some(section), Value::Table(table)) => self.check_section(section, table, name)?,
                (Some(_), _) => {
                    return Err(self.error(name, format!("found {}, expected a table [{name}]", shown(value))));
                }
                (None, _) if name == "phase" => self.check_phases(value)?,
                (None, _) => {
                    let key = TOP.keys.iter().find(|key| key.name == name);
                    let key = key.ok_or_else(|| self.unknown(name, name, &top_names()))?;
                    self.check_value(key, value, name)?;
                }
            }
        }
        let beside = ["workload", "until"].into_iter().find(|name| self.table.contains_key(*name));
        match beside {
            Some(name) if self.table.contains_key("phase") => {
                Err(self.error(name, "stands beside [[phase]]; each phase has its own workload and until".to_owned()))
            }
            _ => Ok(()),
        }
    }

    fn check_phases(&self, phases: &Value) -> Result<(), ScenarioError> {
        let Some(phases) = items(phases) else {
            return Err(self.error("phase", format!("found {}, expected [[phase]] tables", shown(phases))));
        };
        for (number, phase) in phases {
            let path = format!("phase.{number}");
            let Value::Table(phase) = phase else {
                return Err(self.error(&path, format!("found {}, expected a [[phase]] table", shown(phase))));
            };
            for (name, value) in phase {
                let path = format!("{path}.{name}");
                match (name.as_str(), value) {
                    ("workload", Value::Table(table)) => self.check_section(&WORKLOAD, table, &path)?,
                    ("until", Value::Table(table)) => self.check_section(&UNTIL, table, &path)?,
                    ("workload" | "until", _) => {
                        return Err(self.error(&path, format!("found {}, expected a table", shown(value))));
                    }
                    _ => return Err(self.unknown(&path, name, &["workload", "until"])),
                }
            }
        }
        Ok(())
    }

    fn check_section(&self, section: &Section, table: &Table, path: &str) -> Result<(), ScenarioError> {
        for (name, value) in table {
            let path = format!("{path}.{name}");
            if let Some((_, inner)) = section.inner().find(|(inner, _)| inner == name) {
                let Value::Table(table) = value else {
                    return Err(self.error(&path, format!("found {}, expected a table [{}]", shown(value), inner.name)));
                };
                self.check_section(inner, table, &path)?;
                continue;
            }
            let key = section.keys.iter().find(|key| key.name == name);
            let names = || section.keys.iter().map(|key| key.name).chain(section.inner().map(|(name, _)| name));
            let key = key.ok_or_else(|| self.unknown(&path, name, &names().collect::<Vec<_>>()))?;
            self.check_value(key, value, &path)?;
        }
        Ok(())
    }

    fn unknown(&self, path: &str, name: &str, known: &[&str]) -> ScenarioError {
        let message = match (nearest(name, known), home(name)) {
            (Some(near), _) => format!("unknown key; did you mean \"{near}\"?"),
            (None, Some(section)) => format!("unknown key here; it belongs to [{section}]"),
            (None, None) => format!("unknown key; allowed are {}", known.join(", ")),
        };
        self.error(path, message)
    }

    fn check_value(&self, key: &Key, value: &Value, path: &str) -> Result<(), ScenarioError> {
        let within = |number: &i64, least, most| u64::try_from(*number).is_ok_and(|n| (least..=most).contains(&n));
        let fits = match (key.kind, value) {
            (Kind::Count(least, most) | Kind::CountOrNone(least, most), Value::Integer(count)) => {
                within(count, least, most)
            }
            (Kind::CountOrNone(_, _), Value::String(word)) => word == "none",
            (Kind::Number(least, most), Value::Integer(_) | Value::Float(_)) => {
                number(value).is_some_and(|number| (least..=most).contains(&number))
            }
            (Kind::Bytes(least, most), Value::String(text)) => match text.parse::<Bytes>() {
                Ok(bytes) => (least..=most).contains(&bytes.0),
                Err(error) => return Err(self.error(path, error.to_string())),
            },
            (Kind::Ratio, Value::String(_) | Value::Integer(_) | Value::Float(_)) => ratio(value).is_some(),
            (Kind::Flag, Value::Boolean(_)) | (Kind::Policy(_), Value::Table(_)) => true,
            (Kind::Text, Value::String(text)) => !text.trim().is_empty(),
            (Kind::Choice(words), Value::String(word)) if words.contains(&word.as_str()) => true,
            (Kind::Choice(words), Value::String(word)) => {
                let hint = did_you_mean(word, words);
                return Err(self.error(path, format!("found {}, allowed are {}{hint}", shown(value), words.join(", "))));
            }
            (Kind::Mix, _) if items(value).is_some() => return self.check_mix(value, path),
            (Kind::Workload, Value::Table(table)) => return self.check_section(&WORKLOAD, table, path),
            (Kind::Chip, Value::Table(table)) => return self.check_chip(table, path),
            (kind, value) => values::fits(kind, value).map_err(|message| self.error(path, message))?,
        };
        if fits {
            Ok(())
        } else {
            Err(self.error(path, format!("found {}, expected {}", shown(value), key.kind.allowed())))
        }
    }

    /// The parts of a chip that are there; whether any is missing shows when the layers are one.
    fn check_chip(&self, chip: &Table, path: &str) -> Result<(), ScenarioError> {
        let (data, inputs) = CHIP_DATA;
        let known: Vec<&str> = RberModel::NAMES.into_iter().chain([data]).collect();
        for (name, value) in chip {
            let path = format!("{path}.{name}");
            match value {
                Value::Table(ranges) if name == data => {
                    for (name, value) in ranges {
                        let path = format!("{path}.{name}");
                        if !inputs.contains(&name.as_str()) {
                            return Err(self.unknown(&path, name, &inputs));
                        }
                        if ends(value).is_none() {
                            return Err(self.error(&path, format!("found {}, allowed is [least, most]", shown(value))));
                        }
                    }
                }
                value if name == data => {
                    return Err(self.error(&path, format!("found {}, expected a table [{path}]", shown(value))));
                }
                _ if !known.contains(&name.as_str()) => return Err(self.unknown(&path, name, &known)),
                value if !is_parameter(name, value) => {
                    let message = format!("found {}, allowed is {}", shown(value), allowed_parameter(name));
                    return Err(self.error(&path, message));
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn check_mix(&self, parts: &Value, path: &str) -> Result<(), ScenarioError> {
        for (number, part) in items(parts).into_iter().flatten() {
            let path = format!("{path}.{number}");
            let Value::Table(part) = part else {
                let example = "expected a table such as { share = \"70 %\", pattern = \"uniform\" }";
                return Err(self.error(&path, format!("found {}, {example}", shown(part))));
            };
            // Refused before it is descended into, so that nesting stays bounded.
            if part.contains_key("mix") {
                return Err(self.error(&path, "a part of a mixture cannot be a mixture".to_owned()));
            }
            self.check_section(&WORKLOAD, part, &path)?;
        }
        Ok(())
    }
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

fn top_names() -> Vec<&'static str> {
    let sections = SECTIONS.iter().map(|section| section.name).filter(|name| !name.is_empty() && !name.contains('.'));
    TOP.keys.iter().map(|key| key.name).chain(sections).chain(["phase"]).collect()
}

/// The section that has a key of this name.
fn home(name: &str) -> Option<&'static str> {
    let holds = |section: &&&Section| !section.name.is_empty() && section.keys.iter().any(|key| key.name == name);
    SECTIONS.iter().find(holds).map(|section| section.name)
}

/// A value as a message shows it.
pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::Table(_) => "a table".to_owned(),
        Value::Array(list) => {
            let items: Vec<String> = list.iter().map(shown).collect();
            let whole = format!("[{}]", items.join(", "));
            if whole.len() <= LIST_SHOWN_MAX { whole } else { format!("a list of {}", list.len()) }
        }
        Value::String(text) => format!("\"{}\"", excerpt(text)),
        Value::Float(number) if number.abs() >= 1e15 => format!("{number:e}"),
        other => excerpt(&other.to_string()).to_string(),
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

/// Keys of `[ftl]` that choose a policy.
const POLICIES: [&str; 6] = ["gc", "wear-leveling", "capacity", "redundancy", "scrub", "retire"];

/// `gc = "greedy"` is short for `gc = { policy = "greedy" }`.
fn expand_shorthands(table: &mut Table) {
    let Some(Value::Table(ftl)) = table.get_mut("ftl") else { return };
    for key in POLICIES {
        if let Some(value @ Value::String(_)) = ftl.get_mut(key) {
            let policy = std::mem::replace(value, Value::Boolean(false));
            *value = Value::Table(Table::from_iter([("policy".to_owned(), policy)]));
        }
    }
}

/// Keys of single patterns, which another pattern does not take over.
const OWN_KEYS: [&str; 5] = ["r", "h", "exponent", "scramble", "sequential-share"];

/// Lays `over` on `base`.
///
/// # Errors
/// `over` speaks of phases that are not there, or of a single workload where there are phases.
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
            (Some(Value::Array(list)), Value::Table(above)) if name == "phase" || name == "mix" => {
                lay_items(list, above, &path)?;
            }
            (None, Value::Table(_)) if name == "phase" || name == "mix" => {
                return Err((path, "found no list of which this would be a part".to_owned()));
            }
            (Some(Value::Table(below)), Value::Table(above)) if !replaces(name, below, above) => {
                if name == "workload"
                    && above.get("pattern").is_some_and(|pattern| below.get("pattern") != Some(pattern))
                {
                    OWN_KEYS.iter().for_each(|key| drop(below.remove(*key)));
                }
                lay(below, above, &path)?;
            }
            (below, _) => {
                let arrival = below.filter(|_| name == "workload").and_then(|below| below.get("arrival")).cloned();
                base.insert(name.clone(), value.clone());
                // Arrivals are no part of what another kind of workload takes the place of, unless they were its own.
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

/// Takes away what `over` makes meaningless in the layers below it.
fn displace(base: &mut Table, over: &Table, path: &str) {
    if over.contains_key("trace") {
        // The name was that of another trace.
        base.remove("trace-name");
    }
    let says = |key: &str, word: &str| over.get(key).and_then(Value::as_str) == Some(word);
    let mut drop_all = |keys: &[&str]| keys.iter().for_each(|key| drop(base.remove(*key)));
    match path {
        "time" => {
            if says("scheduler", "timeline") {
                drop_all(&EVENT_KEYS);
            }
            if says("order", "first-come") {
                drop_all(&PRIORITY_KEYS);
            }
        }
        "drive" => {
            if says("chip", "none") {
                drop_all(&CHIP_TABLES);
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

/// Lays numbered items on those of a list.
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

/// A table that names another policy, or another kind of workload, takes nothing from the one below.
fn replaces(name: &str, below: &Table, above: &Table) -> bool {
    match name {
        name if POLICIES.contains(&name) => {
            above.get("policy").is_some_and(|policy| below.get("policy").is_some_and(|other| other != policy))
        }
        "workload" => {
            let kind = |table: &Table| WORKLOAD_KINDS.into_iter().find(|kind| table.contains_key(*kind));
            kind(above).is_some_and(|above| above != kind(below).unwrap_or("pattern"))
        }
        "arrival" => true,
        _ => false,
    }
}
