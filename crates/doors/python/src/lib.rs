//! The native part of the Python package `wane`: it turns Python calls into calls of the crates, and decides nothing itself.
//!
//! What a user sees (names, docstrings, defaults) is in `python/wane`, typed by `_wane.pyi`. Only that code calls this.
//! Errors and panics become exceptions in `error.rs`. The interpreter's lock is released (`detach`) during a run.

#![allow(clippy::needless_pass_by_value, reason = "functions take what the interpreter hands over")]

mod attend;
mod coding;
mod drive;
mod error;
mod fleet;
mod policies;
mod result;
mod run;
mod simulate;
mod smart;
mod sweep;
mod table;
mod theory;

use std::ffi::OsString;
use std::io::Write;

use pyo3::prelude::*;

/// The `wane` command: takes the arguments, the command's name first, and returns the exit code.
#[pyfunction]
fn main(py: Python<'_>, arguments: Vec<OsString>) -> i32 {
    py.detach(|| {
        let code = wane_cli::main(arguments);
        // The interpreter does not know this buffer.
        let _ = std::io::stdout().flush();
        code
    })
}

/// Makes a page in the style of a run's report: the title is text, the body markup.
#[pyfunction]
fn document(title: &str, body: &str) -> String {
    wane_report::document(title, body)
}

/// Panics, so that tests can check what becomes of a panic.
#[pyfunction]
fn provoke_panic() -> PyResult<()> {
    error::guarded(|| panic!("provoked"))
}

#[pymodule(gil_used = true)]
mod _wane {
    #[pymodule_export]
    use super::coding::{coding, coding_inputs};
    #[pymodule_export]
    use super::drive::Drive;
    #[pymodule_export]
    use super::fleet::{
        economics_benchmarked, economics_compare, economics_figures, economics_inputs, economics_ownership,
        heat_acceleration, heat_degradation, heat_loss, heat_misprints, heat_names, heat_performance,
        heat_pooled_deviation, heat_recomputed, heat_sample, heat_spread, heat_t_test, heat_throughput,
    };
    #[pymodule_export]
    use super::policies::{FreeView, GcView, ScrubView, WearView};
    #[pymodule_export]
    use super::result::RunResult;
    #[pymodule_export]
    use super::run::{Scenario, read, resolve, run};
    #[pymodule_export]
    use super::simulate::{simulate_fleet, simulated_drives};
    #[pymodule_export]
    use super::smart::{judge, readings};
    #[pymodule_export]
    use super::sweep::{Sweep, plan_sweep, run_job};
    #[pymodule_export]
    use super::table::Columns;
    #[pymodule_export]
    use super::theory::{
        d_choices, d_choices_weights, d_for_cost, d_for_wear_leveling, greedy, half_full_occupancy, occupancy_after,
        occupancy_from_rates, operating_point, optimal_wear_leveling, optimal_weights, random_victims, total_variation,
        uniform_rates, write_amplification,
    };
    #[pymodule_export]
    use super::{document, main, provoke_panic};

    use pyo3::prelude::*;

    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "Python's name")]
    const __version__: &str = wane_lab::session::VERSION;
    #[pymodule_export]
    const ROLES: [&str; 5] = crate::policies::KEYS;

    #[pymodule_init]
    fn init(_module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::error::keep_panics();
        Ok(())
    }
}
