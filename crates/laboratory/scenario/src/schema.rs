//! The schema of a scenario, made of the structs of settings, and functions to walk through it.
//!
//! It is a JSON schema (2020-12), so that editors and validators understand it. The members whose names begin with `x-` are our own: they
//! say what a JSON schema cannot, and are read by the checks and the manual. [`super::settings`] explains each.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema};
use serde::de::{DeserializeOwned, Deserializer, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::{Value as Json, json};
use toml::{Table, Value};
use wane_units::Nanos;

use super::presets;
use super::settings::Settings;

/// Longest time span that a key takes.
pub(super) const SPAN_MAX: Nanos = Nanos(100 * 365 * Nanos::DAY.0);

static SCHEMA: LazyLock<Json> = LazyLock::new(|| schema_of::<Settings>("wane scenario"));

/// Returns the JSON schema (2020-12) of a file of settings. Editors show it by its `title`.
pub fn schema_of<T: JsonSchema>(title: &str) -> Json {
    let settings = SchemaSettings::draft2020_12().with_transform(RecursiveTransform(plain));
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    schema["title"] = json!(title);
    schema
}

/// Returns the JSON schema (2020-12) of a scenario file. Editors complete and check scenarios with it.
pub fn json_schema() -> &'static Json {
    &SCHEMA
}

/// Simplifies one schema.
///
/// Removes null, which TOML lacks, Rust's number types, and the defaults of whole tables, whose keys have their own.
/// Texts must not be blank. Each paragraph of a description becomes one line.
fn plain(schema: &mut Schema) {
    schema.remove("format");
    if let Some(Json::String(doc)) = schema.get_mut("description") {
        let paragraphs = doc.split("\n\n").map(|paragraph| paragraph.split_whitespace().collect::<Vec<_>>().join(" "));
        *doc = paragraphs.collect::<Vec<_>>().join("\n\n");
    }
    let is_null = |schema: &Json| schema["type"] == "null";
    if let Some(Json::Array(types)) = schema.get_mut("type") {
        types.retain(|name| name != "null");
        if let [one] = &types[..] {
            let one = one.clone();
            schema.insert("type".to_owned(), one);
        }
    }
    if let Some(Json::Array(either)) = schema.get("anyOf")
        && let [value, null] = &either[..]
        && is_null(null)
        && let Json::Object(value) = value.clone()
    {
        schema.remove("anyOf");
        for (name, member) in value {
            schema.ensure_object().entry(name).or_insert(member);
        }
    }
    let says = |schema: &Schema, member: &str| schema.get(member).is_some();
    // Arrivals are a value that happens to be a table.
    let of_table = |default: &Json| default.is_object() && says(schema, "$ref") && !says(schema, "x-allowed");
    if says(schema, "x-default") || schema.get("default").is_some_and(|default| default.is_null() || of_table(default))
    {
        schema.remove("default");
    }
    let is_text = schema.get("type").is_some_and(|kind| kind == "string");
    if is_text && !["enum", "const", "pattern"].iter().any(|member| says(schema, member)) {
        schema.insert("pattern".to_owned(), json!(r"\S"));
    }
}

/// The keys of a struct in the order of its fields.
pub(super) fn fields<T: DeserializeOwned>() -> &'static [&'static str] {
    let mut names: &'static [&'static str] = &[];
    // The error is by design: only the names are needed.
    let _ = T::deserialize(FieldNames(&mut names));
    names
}

/// A deserializer that stores the names of a struct's fields. A struct that is deserialized passes them to it.
struct FieldNames<'a>(&'a mut &'static [&'static str]);

impl<'de> Deserializer<'de> for FieldNames<'_> {
    type Error = serde::de::value::Error;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        *self.0 = fields;
        self.deserialize_any(visitor)
    }

    fn deserialize_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, Self::Error> {
        Err(serde::de::Error::custom("there is no value"))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct newtype_struct seq
        tuple tuple_struct map enum identifier ignored_any
    }
}

/// Adds the order of a struct's fields, which a JSON object does not keep; for `#[schemars(transform = ...)]`.
pub fn in_field_order<T: DeserializeOwned>(schema: &mut Schema) {
    schema.insert("x-key-order".to_owned(), json!(fields::<T>()));
}

/// Sets the defaults of `[drive]` for its size to those of a drive that names no preset.
pub(super) fn with_values_of_no_preset(schema: &mut Schema) {
    let preset: Table = presets::NONE.text.parse().expect("the built-in preset is TOML");
    let Some(Json::Object(keys)) = schema.get_mut("properties") else { return };
    for (key, value) in preset["drive"].as_table().into_iter().flatten() {
        keys[key]["default"] = json!(value);
    }
}

/// A place in the schema.
#[derive(Clone, Copy)]
pub(super) struct Node {
    /// The whole schema.
    root: &'static Json,
    /// The schema of the field.
    field: &'static Json,
    /// The schema of its type: the field itself, the definition that it refers to, or a branch of that.
    kind: &'static Json,
    /// Whether it is one of several forms of the field's value, or an item of it.
    is_branch: bool,
}

/// The form of a node's value.
pub(super) enum Form {
    /// A table of keys.
    Keys,
    /// One of several forms.
    Either(Vec<Node>),
    /// One of some words.
    Words(Vec<&'static str>),
    /// A size, duration, rate, span or ratio.
    Quantity(&'static str),
    /// A policy of a family, by the family's key.
    Policy(&'static str),
    /// Any text that is not blank.
    Text,
    /// A whole number.
    Whole,
    /// A number.
    Number,
    /// `true` or `false`.
    Flag,
    /// A list.
    List,
}

impl Node {
    /// The whole scenario.
    pub(super) fn root() -> Self {
        Self::root_of(&SCHEMA)
    }

    /// The root of a schema that [`schema_of`] made.
    pub(super) fn root_of(schema: &'static Json) -> Self {
        Self { root: schema, field: schema, kind: schema, is_branch: false }
    }

    fn to(self, field: &'static Json) -> Self {
        let name = field["$ref"].as_str().and_then(|target| target.strip_prefix("#/$defs/"));
        let kind = name.map_or(field, |name| &self.root["$defs"][name]);
        Self { root: self.root, field, kind, is_branch: false }
    }

    /// Whether its schema is that of a scenario.
    pub(super) fn is_of_scenario(self) -> bool {
        std::ptr::eq(self.root, &*SCHEMA)
    }

    /// A form that the value of this node may have. The members of the field also hold for it.
    fn branch(self, kind: &'static Json) -> Self {
        Self { kind: self.to(kind).kind, is_branch: true, ..self }
    }

    /// The member of the schema with this name. The field's goes before its type's.
    pub(super) fn get(self, name: &str) -> Option<&'static Json> {
        self.field.get(name).or_else(|| self.kind.get(name))
    }

    /// The member of the schema with this name, if it is a text.
    pub(super) fn text(self, name: &str) -> Option<&'static str> {
        self.get(name).and_then(Json::as_str)
    }

    /// Whether a value is the default and the field's `x-unwritten` leaves it out.
    pub(super) fn is_unwritten_default(self, value: &Value) -> bool {
        self.text("x-unwritten") == Some("default") && self.get("default") == serde_json::to_value(value).ok().as_ref()
    }

    /// What is allowed, if the schema says it in words. A branch uses only its own words.
    pub(super) fn words_allowed(self) -> Option<&'static str> {
        let own = if self.is_branch { self.kind.get("x-allowed") } else { self.get("x-allowed") };
        own.and_then(Json::as_str)
    }

    /// The doc comment, as one line.
    pub(super) fn doc(self) -> String {
        let doc = self.text("description").unwrap_or_default();
        doc.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// The definition that the table refers to; the same for two tables of the same keys.
    fn target(self) -> Option<&'static str> {
        self.field["$ref"].as_str()
    }

    /// The form of the node's value.
    pub(super) fn form(self) -> Form {
        let list = |name: &str| self.kind.get(name).and_then(Json::as_array);
        let kind = self.kind["type"].as_str();
        if let Some(family) = self.kind["x-policy"].as_str() {
            return Form::Policy(family);
        }
        if self.kind.get("properties").is_some() {
            return Form::Keys;
        }
        if let Some(quantity) = self.kind["x-quantity"].as_str() {
            return Form::Quantity(quantity);
        }
        if let Some(word) = self.kind["const"].as_str() {
            return Form::Words(vec![word]);
        }
        if let Some(words) = list("enum") {
            return Form::Words(words.iter().filter_map(Json::as_str).collect());
        }
        if let Some(branches) = list("anyOf").or_else(|| list("oneOf")) {
            return self.either(branches);
        }
        match kind {
            Some("integer") => Form::Whole,
            Some("number") => Form::Number,
            Some("boolean") => Form::Flag,
            Some("array") => Form::List,
            Some("string") => Form::Text,
            other => unreachable!("a setting has a known type, not {other:?} in {}", self.kind),
        }
    }

    /// The form of several branches. Branches of branches count as branches; if all are words, the form is a choice of words.
    fn either(self, branches: &'static [Json]) -> Form {
        let mut flat = Vec::new();
        for branch in branches.iter().map(|branch| self.branch(branch)) {
            match branch.form() {
                Form::Either(inner) => flat.extend(inner),
                _ => flat.push(branch),
            }
        }
        let words = flat.iter().map(|branch| match branch.form() {
            Form::Words(words) => Some(words),
            _ => None,
        });
        match words.collect::<Option<Vec<_>>>() {
            Some(words) => Form::Words(words.concat()),
            None => Form::Either(flat),
        }
    }

    /// The name of the section that has the same keys.
    pub(super) fn home(self) -> Option<&'static str> {
        if !self.is_of_scenario() {
            return None;
        }
        let same = |section: &&Section| section.target.is_some() && section.target == self.target();
        sections().iter().find(same).map(|section| section.name.as_str())
    }

    /// The keys of a table, in the order of the fields.
    pub(super) fn keys(self) -> Vec<(&'static str, Node)> {
        let Some(keys) = self.kind["properties"].as_object() else { return Vec::new() };
        let mut nodes: Vec<_> = keys.iter().map(|(name, key)| (name.as_str(), self.to(key))).collect();
        let order: Vec<&str> =
            self.kind["x-key-order"].as_array().into_iter().flatten().filter_map(Json::as_str).collect();
        nodes.sort_by_key(|(name, _)| order.iter().position(|known| known == name));
        nodes
    }

    /// A key of a table.
    pub(super) fn key(self, name: &str) -> Option<Node> {
        self.kind["properties"].as_object()?.get(name).map(|key| self.to(key))
    }

    /// The schema of an item of a list.
    pub(super) fn item(self, number: usize) -> Option<Node> {
        let named = self.kind["prefixItems"].get(number).or_else(|| self.kind.get("items"))?;
        let own = self.to(named);
        // A range of the field also holds for its items, but its `x-allowed` and its order belong to the list.
        Some(if own.form_is_plain() { self.branch(named) } else { own })
    }

    fn form_is_plain(self) -> bool {
        matches!(self.form(), Form::Quantity(_) | Form::Whole | Form::Number | Form::Text | Form::Flag)
    }

    /// Whether a list's items are tables.
    pub(super) fn lists_tables(self) -> bool {
        self.item(0).is_some_and(|item| matches!(item.form(), Form::Keys))
    }
}

/// A section of the manual: a table of the scenario.
pub(super) struct Section {
    /// Its name, such as `drive.ecc`; empty for the top.
    pub(super) name: String,
    /// Whether it is a list of tables, such as `[[phase]]`.
    pub(super) is_list: bool,
    /// What it is for.
    pub(super) doc: String,
    /// Its definition in the schema.
    target: Option<&'static str>,
    /// Its keys.
    pub(super) keys: Vec<(&'static str, Node)>,
}

static SECTIONS: LazyLock<Vec<Section>> = LazyLock::new(|| {
    let mut sections = Vec::new();
    collect(Node::root(), "", &mut BTreeSet::new(), &mut sections);
    sections
});

/// Every table of a scenario, in the order of the fields. A table that occurs again is a key of the section around it.
pub(super) fn sections() -> &'static [Section] {
    &SECTIONS
}

fn collect(table: Node, name: &str, told: &mut BTreeSet<&'static str>, sections: &mut Vec<Section>) {
    let place = sections.len();
    sections.push(Section {
        name: name.to_owned(),
        is_list: false,
        doc: table.doc(),
        target: table.target(),
        keys: Vec::new(),
    });
    let mut keys = Vec::new();
    for (key, node) in table.keys() {
        let path = if name.is_empty() { key.to_owned() } else { format!("{name}.{key}") };
        match node.form() {
            Form::Keys if node.target().is_none_or(|target| told.insert(target)) => {
                collect(node, &path, told, sections);
            }
            Form::List if node.lists_tables() => {
                let item = node.item(0).expect("a list of tables has items");
                let mut own = item.keys();
                own.retain(|(key, node)| table.key(key).is_none_or(|same| same.kind != node.kind));
                keys.push((key, node));
                sections.push(Section { name: path, is_list: true, doc: item.doc(), target: item.target(), keys: own });
            }
            _ => keys.push((key, node)),
        }
    }
    sections[place].keys = keys;
}

/// The section that has a key of this name.
pub(super) fn home(name: &str) -> Option<&'static Section> {
    sections().iter().find(|section| !section.name.is_empty() && section.keys.iter().any(|(key, _)| *key == name))
}

/// The keys of a section, including tables, whose `x-needs` has `need`.
pub(super) fn keys_that_need(section: &str, need: &str) -> Vec<&'static str> {
    let node = Node::root().key(section).expect("the section is a field of the settings");
    let needs =
        |node: &Node| node.get("x-needs").and_then(Json::as_array).is_some_and(|needs| needs.iter().any(|n| n == need));
    node.keys().into_iter().filter(|(_, node)| needs(node)).map(|(key, _)| key).collect()
}
