//! Scenarios and their runs: from a file or a dict to a result, during which the interpreter handles signals.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use pythonize::depythonize;
use wane_lab::build::PolicyOverrides;
use wane_lab::session::{self, Others};
use wane_results::Folder;
use wane_scenario::{Scale, Sources, folder_of};

use crate::attend::{Policies, Telling, attended};
use crate::result::RunResult;
use crate::{error, policies};

/// Name of a scenario that is a dict, in errors.
const TABLE_NAME: &str = "scenario";

/// A resolved scenario.
#[pyclass(frozen, module = "wane._wane")]
pub(crate) struct Scenario {
    pub(crate) scenario: wane_scenario::Scenario,
}

#[pymethods]
impl Scenario {
    /// Its name, for people.
    #[getter]
    fn name(&self) -> &str {
        &self.scenario.name
    }
}

/// The sources of a scenario: all that another process needs to resolve the same scenario.
pub(crate) struct Given {
    /// The name and the text of a file.
    pub(crate) file: Option<(String, String)>,
    pub(crate) table: Option<toml::Table>,
    /// The folder that relative traces are relative to.
    pub(crate) folder: PathBuf,
    pub(crate) preset: Option<String>,
    /// Values that override it, as texts KEY=VALUE.
    pub(crate) set: Vec<String>,
    pub(crate) scale: Option<String>,
}

/// Whether a scenario has to say when it ends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ends {
    AsItSays,
    /// It need not: only its drive is used.
    Never,
}

impl Given {
    /// Makes the sources from a file or a table, or only a preset, and values that override it: `(key, value)`, of which later ones count.
    pub(crate) fn new(
        path: Option<&Path>,
        table: Option<&Bound<'_, PyDict>>,
        preset: Option<&str>,
        set: &[(String, Bound<'_, PyAny>)],
        scale: Option<&str>,
    ) -> PyResult<Self> {
        let file = path.filter(|_| table.is_none()).map(read_file).transpose();
        let table = table.map(|table| depythonize(table)).transpose();
        Ok(Self {
            file: file.map_err(error::scenario_sentence)?,
            table: table.map_err(|error| error::scenario_sentence(&error))?,
            folder: path.map(folder_of).unwrap_or_default(),
            preset: preset.map(str::to_owned),
            set: assignments(set)?,
            scale: scale.map(str::to_owned),
        })
    }

    /// Resolves the scenario; the values of a point of a grid override all others.
    pub(crate) fn resolve(&self, point: &[String], ends: Ends) -> PyResult<wane_scenario::Scenario> {
        let set = self.set.iter().map(|value| ("set", value.clone()));
        let options: Vec<(&str, String)> = set.chain(point.iter().map(|value| ("grid", value.clone()))).collect();
        let preset = self.preset.as_deref();
        let resolve = |options: &[(&str, String)]| match &self.table {
            Some(table) => wane_scenario::Scenario::of_table(TABLE_NAME, table.clone(), preset, options),
            None => {
                let file = self.file.as_ref().map(|(name, text)| (name.as_str(), text.as_str()));
                wane_scenario::Scenario::resolve_with(&Sources { preset, file, set: &[] }, options)
            }
        };
        let mut scenario = match ends {
            Ends::AsItSays => resolve(&options),
            Ends::Never => wane_scenario::endless(&options, resolve),
        }
        .map_err(|error| error::scenario(&error))?;
        scenario.relative_to(&self.folder);
        if let Some(scale) = &self.scale {
            let told = |error: &dyn std::fmt::Display| error::scenario_sentence(format!("scale {error}"));
            let scale: Scale = scale.parse().map_err(|error: String| told(&format!("\"{scale}\": {error}")))?;
            scenario = scenario.scaled(scale).map_err(|error| told(&error))?;
        }
        Ok(scenario)
    }
}

/// Reads the name and the text of a file. If it is the name of a preset, the error says how to give a preset.
fn read_file(path: &Path) -> Result<(String, String), String> {
    wane_cli::read_scenario(path).map_err(|error| match path.to_str() {
        Some(name) if !path.exists() && wane_scenario::PRESETS.iter().any(|preset| preset.name == name) => {
            format!("{error}; the preset is given as preset=\"{name}\"")
        }
        _ => error,
    })
}

/// Resolves the scenario of a file or a table, or of only a preset, with values that override it: `(key, value)`, of which later ones count. With
/// `endless` it need not say when it ends.
#[pyfunction]
pub(crate) fn resolve(
    path: Option<PathBuf>,
    table: Option<Bound<'_, PyDict>>,
    preset: Option<&str>,
    set: Vec<(String, Bound<'_, PyAny>)>,
    scale: Option<&str>,
    endless: bool,
) -> PyResult<Scenario> {
    error::guarded(|| {
        let given = Given::new(path.as_deref(), table.as_ref(), preset, &set, scale)?;
        Ok(Scenario { scenario: given.resolve(&[], if endless { Ends::Never } else { Ends::AsItSays })? })
    })
}

/// Formats values that override a scenario's, as texts KEY=VALUE.
pub(crate) fn assignments(set: &[(String, Bound<'_, PyAny>)]) -> PyResult<Vec<String>> {
    set.iter().map(assignment).collect()
}

/// Formats a value that overrides the scenario's as KEY=VALUE.
fn assignment((key, value): &(String, Bound<'_, PyAny>)) -> PyResult<String> {
    Ok(format!("{key}={}", written(value)?))
}

/// Formats a value as on the command line. A text stays as it is, since words need no quotes there.
pub(crate) fn written(value: &Bound<'_, PyAny>) -> PyResult<String> {
    match value.extract::<String>() {
        Ok(text) => Ok(text),
        Err(_) => {
            let value: toml::Value = depythonize(value).map_err(|error| error::scenario_sentence(&error))?;
            Ok(match value {
                toml::Value::Table(table) => policy_first(table),
                other => other.to_string(),
            })
        }
    }
}

/// Formats a table as people write it: a policy before its parameters.
fn policy_first(mut table: toml::Table) -> String {
    const POLICY: &str = "policy";
    let Some(policy) = table.remove(POLICY) else { return toml::Value::Table(table).to_string() };
    let rest = toml::Value::Table(table).to_string();
    match rest.strip_prefix("{ ") {
        Some(rest) => format!("{{ {POLICY} = {policy}, {rest}"),
        None => format!("{{ {POLICY} = {policy} }}"),
    }
}

/// Runs a scenario to its end, and writes the results into `out`. With `bar`, progress is shown as by the command. `attend` is called with
/// (preconditioning, phase, drive writes, share done); if it raises, the run ends. Returns the result, and what was removed from `out`.
#[pyfunction]
pub(crate) fn run(
    py: Python<'_>,
    scenario: &Scenario,
    out: Option<PathBuf>,
    bar: bool,
    attend: Option<Py<PyAny>>,
    policies: Option<Bound<'_, PyDict>>,
    force: bool,
) -> PyResult<(RunResult, Option<String>)> {
    let scenario = &scenario.scenario;
    error::guarded(|| {
        // An unusable folder is reported before hours of work, not after.
        let mut folder = claim(out.as_deref())?;
        if let Some(folder) = &folder {
            let others = if force { Others::Replaced } else { Others::Kept };
            session::check_loss(folder, others).map_err(|error| error::results(&error))?;
        }
        let stop = Arc::new(AtomicBool::new(false));
        let telling = Telling::new(&scenario.name, bar, attend);
        let (who, overrides) = overridden(policies.as_ref())?;
        let (ran, raised) = attended(py, who, &stop, telling, move |watch| {
            let ran = session::execute(scenario, &overrides, watch).map_err(|error| error::session(&error))?;
            let removed = match &mut folder {
                Some(folder) => {
                    let removed = session::write(folder, &ran).map_err(|error| error::results(&error))?;
                    wane_cli::removed_in_words(folder, &removed)
                }
                None => None,
            };
            Ok((RunResult::new(ran), removed))
        });
        match raised {
            Some(error) => Err(error),
            None => ran,
        }
    })
}

/// Returns the policies of a dict, and whether some are in Python.
pub(crate) fn overridden(policies: Option<&Bound<'_, PyDict>>) -> PyResult<(Policies, PolicyOverrides)> {
    match policies.filter(|policies| !policies.is_empty()) {
        Some(policies) => Ok((Policies::Python, policies::overrides(policies)?)),
        None => Ok((Policies::Native, PolicyOverrides::default())),
    }
}

pub(crate) fn claim(out: Option<&Path>) -> PyResult<Option<Folder>> {
    out.map(Folder::claim).transpose().map_err(|error| error::results(&error))
}

/// Reads the runs in a folder of results.
#[pyfunction]
pub(crate) fn read(py: Python<'_>, folder: PathBuf) -> PyResult<Vec<RunResult>> {
    error::guarded(|| {
        let runs = py.detach(|| wane_results::read_runs(&folder)).map_err(|error| error::results(&error))?;
        Ok(runs.into_iter().map(RunResult::new).collect())
    })
}
