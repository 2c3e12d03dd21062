//! Simulated fleets: from a file or a dict to a folder, during which the interpreter handles signals.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::prelude::*;
use pyo3::types::PyDict;
use pythonize::depythonize;
use wane_cli::Progress;
use wane_scenario::folder_of;
use wane_twin::{Ended, Fleet, Job, Others, TwinError, drives_of, simulate};

use crate::error;

/// Number of records, whether they were there before, number of drives, and number of failed drives by cause.
type Came = (u64, bool, u32, BTreeMap<&'static str, u64>);

fn refused(error: &TwinError) -> PyErr {
    error::fleet_sentence(error)
}

fn read(path: Option<&Path>, table: Option<&Bound<'_, PyDict>>, set: &[String]) -> PyResult<Fleet> {
    error::guarded(|| {
        let fleet = match (path, table) {
            (_, Some(table)) => {
                let table = depythonize(table).map_err(|error| error::fleet_sentence(&error))?;
                Fleet::of_table(table, &path.map(folder_of).unwrap_or_default(), set)
            }
            (Some(path), None) => {
                let (_, text) = wane_cli::read_scenario(path).map_err(error::fleet_sentence)?;
                Fleet::read(Some((path, &text)), set)
            }
            (None, None) => Fleet::read(None, set),
        };
        fleet.map_err(|error| refused(&error))
    })
}

/// Simulates drives of a fleet into a folder. With `bar`, progress is shown. With `claims_only` the folder is made and nothing is simulated.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "Python's function gives them their names")]
pub(crate) fn simulate_fleet(
    py: Python<'_>,
    path: Option<PathBuf>,
    table: Option<Bound<'_, PyDict>>,
    set: Vec<String>,
    out: PathBuf,
    drives: Option<&str>,
    threads: Option<usize>,
    force: bool,
    bar: bool,
    claims_only: bool,
) -> PyResult<Came> {
    let fleet = read(path.as_deref(), table.as_ref(), &set)?;
    let drives = drives_of(&fleet, drives).map_err(|error| refused(&error))?;
    let threads = threads.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let others = if force { Others::Replace } else { Others::Keep };
    let job = Job { out: &out, drives, threads, others };
    let (stop, all) = (AtomicBool::new(claims_only), drives.1 - drives.0);
    let (mut progress, mut raised) = (Progress::new("fleet", !bar), None);
    let ended = py.detach(|| {
        simulate(&fleet, &job, &stop, &mut |done| {
            if progress.is_due() {
                progress.under_way(&format!("{done} of {all} drives"), f64::from(done) / f64::from(all));
            }
            if let Err(error) = Python::attach(|py| py.check_signals()) {
                stop.store(true, Ordering::Relaxed);
                raised.get_or_insert(error);
            }
        })
    });
    progress.finish();
    if let Some(error) = raised {
        return Err(error);
    }
    match ended.map_err(|error| refused(&error))? {
        Ended::Whole(told) => Ok((told.rows, false, told.drives, told.failed)),
        Ended::Already(told) => Ok((told.rows, true, told.drives, told.failed)),
        Ended::Stopped(drives) => Ok((0, false, drives, BTreeMap::new())),
    }
}

/// Returns the number of drives of a fleet, and the number in a file.
#[pyfunction]
pub(crate) fn simulated_drives(
    path: Option<PathBuf>,
    table: Option<Bound<'_, PyDict>>,
    set: Vec<String>,
) -> PyResult<(u32, u32)> {
    Ok((read(path.as_deref(), table.as_ref(), &set)?.slots().len() as u32, wane_twin::FILE_DRIVES))
}
