//! Scenarios and their runs: from a file or a dict to a result, while the interpreter's signals are heard.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use pythonize::depythonize;
use wane_lab::build::PolicyOverrides;
use wane_lab::session;
use wane_results::Folder;
use wane_scenario::{Scale, Sources, folder_of};

use crate::attend::{Policies, Telling, attended};
use crate::result::RunResult;
use crate::{error, policies};

/// What errors call a scenario that is a dict.
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

/// Resolves the scenario of a file or a table, or a preset alone, with values above it: `(key, value)`, later ones on top.
#[pyfunction]
pub(crate) fn resolve(
    path: Option<PathBuf>,
    table: Option<Bound<'_, PyDict>>,
    preset: Option<&str>,
    set: Vec<(String, Bound<'_, PyAny>)>,
    scale: Option<&str>,
) -> PyResult<Scenario> {
    error::guarded(|| {
        let options = set.iter().map(assignment).collect::<PyResult<Vec<(&str, String)>>>()?;
        let mut scenario = match &table {
            Some(table) => {
                let table: toml::Table = depythonize(table).map_err(|error| error::scenario_sentence(&error))?;
                wane_scenario::Scenario::of_table(TABLE_NAME, table, preset, &options)
            }
            None => {
                let file = path.as_deref().map(wane_cli::read_scenario).transpose();
                let file = file.map_err(error::scenario_sentence)?;
                let file = file.as_ref().map(|(name, text)| (name.as_str(), text.as_str()));
                wane_scenario::Scenario::resolve_with(&Sources { preset, file, set: &[] }, &options)
            }
        }
        .map_err(|error| error::scenario(&error))?;
        scenario.relative_to(&path.as_deref().map(folder_of).unwrap_or_default());
        if let Some(scale) = scale {
            let told = |error: &dyn std::fmt::Display| error::scenario_sentence(format!("scale {error}"));
            let scale: Scale = scale.parse().map_err(|error: String| told(&format!("\"{scale}\": {error}")))?;
            scenario = scenario.scaled(scale).map_err(|error| told(&error))?;
        }
        Ok(Scenario { scenario })
    })
}

/// Values above a scenario's, as texts KEY=VALUE.
pub(crate) fn assignments(set: &[(String, Bound<'_, PyAny>)]) -> PyResult<Vec<String>> {
    set.iter().map(|value| Ok(assignment(value)?.1)).collect()
}

/// A value above the scenario's, as an assignment of the option `set`. A text is taken as on the command line, where words need no quotes.
fn assignment((key, value): &(String, Bound<'_, PyAny>)) -> PyResult<(&'static str, String)> {
    let written = match value.extract::<String>() {
        Ok(text) => text,
        Err(_) => {
            let value: toml::Value = depythonize(value).map_err(|error| error::scenario_sentence(&error))?;
            value.to_string()
        }
    };
    Ok(("set", format!("{key}={written}")))
}

/// Runs a scenario to its end; writes the results into `out`. `bar` shows progress as the command does; `attend` is called with
/// (preconditioning, phase, drive writes, share done) and may raise, which ends the run. Gives the result and what was removed from `out`.
#[pyfunction]
pub(crate) fn run(
    py: Python<'_>,
    scenario: &Scenario,
    out: Option<PathBuf>,
    bar: bool,
    attend: Option<Py<PyAny>>,
    policies: Option<Bound<'_, PyDict>>,
) -> PyResult<(RunResult, Option<String>)> {
    let scenario = &scenario.scenario;
    error::guarded(|| {
        // An unusable folder is told before hours of work, not after.
        let mut folder = claim(out.as_deref())?;
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

/// The policies of a dict, and who is asked with them.
pub(crate) fn overridden(policies: Option<&Bound<'_, PyDict>>) -> PyResult<(Policies, PolicyOverrides)> {
    match policies.filter(|policies| !policies.is_empty()) {
        Some(policies) => Ok((Policies::Python, policies::overrides(policies)?)),
        None => Ok((Policies::Native, PolicyOverrides::default())),
    }
}

fn claim(out: Option<&Path>) -> PyResult<Option<Folder>> {
    out.map(Folder::claim).transpose().map_err(|error| error::results(&error))
}

/// The runs that a folder of results holds.
#[pyfunction]
pub(crate) fn read(py: Python<'_>, folder: PathBuf) -> PyResult<Vec<RunResult>> {
    error::guarded(|| {
        let runs = py.detach(|| wane_results::read_runs(&folder)).map_err(|error| error::results(&error))?;
        Ok(runs.into_iter().map(RunResult::new).collect())
    })
}
