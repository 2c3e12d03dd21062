//! What tools told of a drive: their output as dicts, and judged.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList};
use pythonize::pythonize;
use wane_smart::{Reading, doctor, latest_first, read};

use crate::error;

/// The readings in these bytes, in their order, as dicts. `name` goes before what is wrong with them.
#[pyfunction]
pub(crate) fn readings<'py>(py: Python<'py>, name: &str, bytes: &Bound<'py, PyBytes>) -> PyResult<Bound<'py, PyList>> {
    error::guarded(|| {
        let told = of_one(name, bytes)?;
        PyList::new(py, told.iter().map(|reading| pythonize(py, reading)).collect::<Result<Vec<_>, _>>()?)
    })
}

/// The judgement of the readings of one drive, as the dict that `wane doctor --json` prints: `(name, bytes)`, the latest first.
#[pyfunction]
pub(crate) fn judge<'py>(py: Python<'py>, inputs: Vec<(String, Bound<'py, PyBytes>)>) -> PyResult<Bound<'py, PyAny>> {
    error::guarded(|| {
        let mut all = Vec::new();
        for (name, bytes) in &inputs {
            // In a file the earliest comes first; of files the latest.
            all.extend(latest_first(of_one(name, bytes)?));
        }
        Ok(pythonize(py, &doctor::judge(all).map_err(error::smart)?)?)
    })
}

fn of_one(name: &str, bytes: &Bound<'_, PyBytes>) -> PyResult<Vec<Reading>> {
    read(bytes.as_bytes()).map_err(|error| error::smart(format!("{name}: {error}")))
}
