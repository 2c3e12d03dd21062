//! Output of tools about a drive: read into dicts, and judged.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use pythonize::pythonize;
use wane_smart::{Reading, doctor, latest_first, read_named};

use crate::error;

/// Returns the readings in these bytes, in their order, as dicts. `name` begins the messages of errors.
#[pyfunction]
pub(crate) fn readings<'py>(py: Python<'py>, name: &str, bytes: &Bound<'py, PyBytes>) -> PyResult<Bound<'py, PyList>> {
    error::guarded(|| {
        let told = of_one(name, bytes)?;
        PyList::new(py, told.iter().map(|reading| pythonize(py, reading)).collect::<Result<Vec<_>, _>>()?)
    })
}

/// Judges the readings of one drive, given as `(name, bytes)`, the latest first. Returns the dict that `wane doctor --json` prints.
#[pyfunction]
pub(crate) fn judge<'py>(py: Python<'py>, inputs: Vec<(String, Bound<'py, PyBytes>)>) -> PyResult<Bound<'py, PyAny>> {
    error::guarded(|| {
        let mut all = Vec::new();
        for (name, bytes) in &inputs {
            // Within a file the earliest reading comes first; among files the latest.
            all.extend(latest_first(of_one(name, bytes)?));
        }
        Ok(pythonize(py, &doctor::judge(all).map_err(error::smart)?)?)
    })
}

fn of_one(name: &str, bytes: &Bound<'_, PyBytes>) -> PyResult<Vec<Reading>> {
    read_named(name, bytes.as_bytes()).map_err(|error| error::smart(format!("{name}: {error}")))
}
