//! Files of other settings, such as a fleet's: read, checked and told of as a scenario is, by a schema of their own.
//!
//! A file and assignments are parsed with their places, checked against the schema, laid over each other and read by serde. What hangs on
//! several keys the caller checks, and refuses by [`Document::error`], which finds the line.

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
    /// Nowhere: all are defaults.
    Nothing,
    /// The name and text of a file.
    Text(&'a str, &'a str),
    /// A table that was never a text, under the name that errors call it.
    Table(&'a str, Table),
}

/// A file of settings with assignments above it.
pub struct Document {
    layers: Vec<Layer>,
    table: Table,
}

impl Document {
    /// Reads what is given, and `--set` assignments above it; later ones win. Below both lie the `defaults`. A list that is
    /// given takes the place of the default one, and assignments change a list by number, from 0: `model.0.count=100`.
    ///
    /// # Errors
    /// The first value that the schema refuses; `schema` is of [`crate::schema_of`].
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

    /// The settings; what is not written is their default.
    ///
    /// # Errors
    /// A value that the schema let pass and the struct does not.
    pub fn settings<T: DeserializeOwned>(&self) -> Result<T, ScenarioError> {
        Value::Table(self.table.clone()).try_into().map_err(|error: toml::de::Error| {
            self.error("", excerpt(&error.message().trim().replace('\n', "; ")).to_string())
        })
    }

    /// Whether a key is given, and not left to its default.
    pub fn holds(&self, key: &str) -> bool {
        self.layers.iter().any(|layer| layer.holds(key))
    }

    /// What is wrong at a key, such as `model.0.count`, in the layer that wrote it last.
    pub fn error(&self, key: &str, message: String) -> ScenarioError {
        let written = self.layers.iter().rev().find(|layer| layer.holds(key));
        match written.or(self.layers.first()) {
            Some(layer) => layer.error(key, message),
            None => ScenarioError { key: key.to_owned(), ..ScenarioError::elsewhere("settings", message) },
        }
    }
}

/// Lays `over` on `base`: tables key by key, items of lists by their number, and other values whole.
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
