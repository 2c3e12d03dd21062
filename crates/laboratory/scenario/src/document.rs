//! Files of other settings, such as a fleet's. They are read, checked and refused as a scenario is, by a schema of their own.
//!
//! A file and assignments are parsed with the places of their keys, checked against the schema, merged and read by serde. The caller checks
//! rules about several keys and makes their errors with [`Document::error`], which finds the line.

use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use toml::{Table, Value};
use wane_units::excerpt;

use super::check::check_by;
use super::error::{Refusal, ScenarioError};
use super::layer::Layer;

/// Where settings come from.
#[derive(Clone, Debug)]
pub enum Given<'a> {
    /// Nowhere: all settings are defaults.
    Nothing,
    /// The name and text of a file.
    Text(&'a str, &'a str),
    /// A table that was never a text, with the name that errors use.
    Table(&'a str, Table),
}

/// A file of settings with assignments on top.
pub struct Document {
    layers: Vec<Layer>,
    table: Table,
}

impl Document {
    /// Reads `given` over the `defaults`, and `--set` assignments on top; later ones win. A given list replaces the default
    /// one. Assignments change items of a list by number, from 0: `model.0.count=100`. `schema` is made by [`crate::schema_of`].
    ///
    /// # Errors
    /// The first value that the schema refuses.
    pub fn read(
        schema: &'static Json,
        defaults: Table,
        given: Given<'_>,
        set: &[String],
        example: &str,
    ) -> Result<Self, ScenarioError> {
        let mut layers = match given {
            Given::Nothing => Vec::new(),
            Given::Text(name, text) => vec![Layer::parse_plain(name, text)?],
            Given::Table(name, table) => vec![Layer::of_table_plain(name, table)],
        };
        for assignment in set {
            layers.push(Layer::set_plain("--set", assignment, example)?);
        }
        let mut table = defaults;
        for layer in &layers {
            check_by(schema, &layer.table).map_err(|(key, message)| layer.error(&key, message))?;
            lay(&mut table, &layer.table, "").map_err(|(key, message)| layer.error(&key, message))?;
        }
        Ok(Self { layers, table })
    }

    /// The settings; a key that is not written has its default.
    ///
    /// # Errors
    /// A value that the schema accepted and the struct refuses.
    pub fn settings<T: DeserializeOwned>(&self) -> Result<T, ScenarioError> {
        Value::Table(self.table.clone()).try_into().map_err(|error: toml::de::Error| {
            self.error("", excerpt(&error.message().trim().replace('\n', "; ")).to_string())
        })
    }

    /// Whether a key is given, not left to its default.
    pub fn holds(&self, key: &str) -> bool {
        self.layers.iter().any(|layer| layer.holds(key))
    }

    /// Makes an error at a key, such as `model.0.count`, in the layer that wrote it last.
    pub fn error(&self, key: &str, message: String) -> ScenarioError {
        let written = self.layers.iter().rev().find(|layer| layer.holds(key));
        match written.or(self.layers.first()) {
            Some(layer) => layer.error(key, message),
            None => ScenarioError { key: key.to_owned(), ..ScenarioError::elsewhere("settings", message) },
        }
    }
}

/// Merges `over` into `base`: tables key by key, items of lists by their number. Other values are replaced whole.
fn lay(base: &mut Table, over: &Table, path: &str) -> Result<(), Refusal> {
    for (name, value) in over {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        match (base.get_mut(name), value) {
            (Some(Value::Table(below)), Value::Table(above)) => lay(below, above, &path)?,
            (Some(Value::Array(list)), Value::Table(above)) => {
                let count = list.len();
                for (number, value) in above {
                    let item = number.parse::<usize>().ok().and_then(|number| list.get_mut(number));
                    let (Some(Value::Table(below)), Value::Table(above)) = (item, value) else {
                        let message = format!("is not there; the list has {count}, counted from 0");
                        return Err((format!("{path}.{number}"), message));
                    };
                    lay(below, above, &format!("{path}.{number}"))?;
                }
            }
            (None, Value::Table(above)) if above.keys().any(|key| key.parse::<usize>().is_ok()) => {
                return Err((path, "found no list of which this would be a part".to_owned()));
            }
            _ => drop(base.insert(name.clone(), value.clone())),
        }
    }
    Ok(())
}
