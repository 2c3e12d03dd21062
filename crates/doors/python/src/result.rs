//! A run's result, given to Python as plain values: a dict, lists of named columns, arrays. Arrays are copies that cannot be written.

use numpy::{Element, PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyBytes;
use pythonize::pythonize;
use wane_results::{block_columns, timeline_columns, window_columns};

use crate::error;
use crate::table::Columns;

/// A window's distributions: nanoseconds and shares of reads, then of writes.
type Distributions<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyAny>);

/// Files by name.
type Files<'py> = Vec<(String, Bound<'py, PyBytes>)>;

/// A run's result.
#[pyclass(frozen, module = "wane._wane")]
pub(crate) struct RunResult {
    result: wane_results::RunResult,
}

impl RunResult {
    /// Wraps a result.
    pub(crate) const fn new(result: wane_results::RunResult) -> Self {
        Self { result }
    }

    /// What it wraps.
    pub(crate) const fn result(&self) -> &wane_results::RunResult {
        &self.result
    }
}

#[pymethods]
impl RunResult {
    /// The dict of `wane run --json`.
    fn summary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        error::guarded(|| Ok(pythonize(py, &self.result.summary)?))
    }

    /// The columns of `timeline.parquet`.
    fn timeline(&self) -> PyResult<Columns> {
        error::guarded(|| {
            Ok(Columns::new(timeline_columns(&self.result.timeline, self.result.summary.host.page_bytes)))
        })
    }

    /// The columns of `blocks.parquet`.
    fn blocks(&self) -> PyResult<Columns> {
        error::guarded(|| Ok(Columns::new(block_columns(&self.result.blocks))))
    }

    /// The columns of `windows.parquet`; none without windows.
    fn windows(&self) -> PyResult<Columns> {
        let windows = &self.result.windows;
        error::guarded(|| {
            Ok(Columns::new(if windows.is_empty() { Vec::new() } else { window_columns(windows.iter()) }))
        })
    }

    /// For each window the points of its distributions: nanoseconds and shares of reads, then of writes.
    fn distributions<'py>(&self, py: Python<'py>) -> PyResult<Vec<Distributions<'py>>> {
        let arrays = |points: &[(u64, f64)]| {
            let times = array(py, points.iter().map(|point| point.0).collect())?;
            Ok::<_, PyErr>((times, array(py, points.iter().map(|point| point.1).collect())?))
        };
        let windows = self.result.windows.iter().map(|window| {
            let (reads, writes) = (arrays(&window.read_cdf)?, arrays(&window.write_cdf)?);
            Ok((reads.0, reads.1, writes.0, writes.1))
        });
        error::guarded(|| windows.collect())
    }

    /// Number of codewords of first reads by raw bit errors; the last entry counts all beyond. `None` on flash without errors.
    fn error_histogram<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        error::guarded(|| self.result.error_histogram.clone().map(|counts| array(py, counts)).transpose())
    }

    /// Makes the run that is in the files of another run's `__reduce__`.
    #[staticmethod]
    fn of_files(files: Vec<(String, PyBackedBytes)>) -> PyResult<Self> {
        let files: Vec<_> = files.into_iter().map(|(name, bytes)| (name, bytes.to_vec())).collect();
        error::guarded(|| {
            wane_results::RunResult::of_files(&files).map(Self::new).map_err(|error| error::results(&error))
        })
    }

    /// Pickles the result for another process, as the files that keep it.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Files<'py>,))> {
        let files = error::guarded(|| self.result.to_files().map_err(|error| error::results(&error)))?;
        let files = files.into_iter().map(|(name, bytes)| (name, PyBytes::new(py, &bytes))).collect();
        Ok((py.get_type::<Self>().getattr("of_files")?, (files,)))
    }

    /// The results of the drives of an array, in the order in which its summary names them.
    fn drives(&self) -> Vec<Self> {
        self.result.drives.iter().cloned().map(Self::new).collect()
    }

    /// The resolved scenario.
    fn scenario_toml(&self) -> &str {
        &self.result.scenario_toml
    }

    /// What `wane run` prints.
    fn in_words(&self) -> PyResult<String> {
        error::guarded(|| Ok(wane_units::printable(&wane_cli::in_words(&self.result)).into_owned()))
    }

    /// The page `report.html`.
    fn report(&self, py: Python<'_>) -> PyResult<String> {
        error::guarded(|| Ok(py.detach(|| wane_report::render(std::slice::from_ref(&self.result)))))
    }
}

/// Makes an array that has its own memory and cannot be written.
pub(crate) fn array<T: Element>(py: Python<'_>, values: Vec<T>) -> PyResult<Bound<'_, PyAny>> {
    let array = PyArray1::from_vec(py, values);
    // The borrow ends here; the flag stays.
    drop(array.readwrite().make_nonwriteable());
    Ok(array.into_any())
}
