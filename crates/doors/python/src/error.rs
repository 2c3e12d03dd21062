//! Errors of the crates as exceptions: one class for each kind, with the sentence that the command prints.
//!
//! The classes are Python's, in `python/wane/_errors.py`, so that they can have further bases, attributes and docstrings.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use wane_fleet::FleetError as WaneFleetError;
use wane_lab::build::PlanError;
use wane_lab::held::KeptError;
use wane_lab::session::SessionError;
use wane_theory::TheoryError as WaneTheoryError;

mod classes {
    //! The exceptions of the package.
    use pyo3::import_exception;

    import_exception!(wane._errors, WaneError);
    import_exception!(wane._errors, ScenarioError);
    import_exception!(wane._errors, TraceError);
    import_exception!(wane._errors, ResultsError);
    import_exception!(wane._errors, OutOfMemoryError);
    import_exception!(wane._errors, PolicyError);
    import_exception!(wane._errors, FleetError);
    import_exception!(wane._errors, TheoryError);
    import_exception!(wane._errors, InternalError);
    import_exception!(wane._errors, SmartError);
}

/// A sentence as the command prints it.
fn sentence(error: impl std::fmt::Display) -> String {
    wane_cli::escaped(&error.to_string())
}

/// A scenario that cannot be run, with the key, the source and the line where they are known.
pub(crate) fn scenario(error: &wane_scenario::ScenarioError) -> PyErr {
    let key = (!error.key.is_empty()).then(|| error.key.clone());
    classes::ScenarioError::new_err((sentence(error), key, error.source_name.clone(), error.line()))
}

/// A scenario that cannot be run, in a sentence.
pub(crate) fn scenario_sentence(error: impl std::fmt::Display) -> PyErr {
    classes::ScenarioError::new_err((sentence(error),))
}

/// A folder of results that cannot be read or written.
pub(crate) fn results(error: &wane_results::ResultError) -> PyErr {
    classes::ResultsError::new_err((sentence(error),))
}

/// A question for which a model has no answer.
pub(crate) fn theory(error: &WaneTheoryError) -> PyErr {
    classes::TheoryError::new_err((sentence(error),))
}

/// The same, found before the model was asked.
pub(crate) fn theory_sentence(error: impl std::fmt::Display) -> PyErr {
    classes::TheoryError::new_err((sentence(error),))
}

/// Output of a tool about a drive that cannot be read or judged.
pub(crate) fn smart(error: impl std::fmt::Display) -> PyErr {
    classes::SmartError::new_err((sentence(error),))
}

/// A question about many drives that has no answer.
pub(crate) fn fleet(error: &WaneFleetError) -> PyErr {
    classes::FleetError::new_err((sentence(error),))
}

/// The same, found before it was asked.
pub(crate) fn fleet_sentence(error: impl std::fmt::Display) -> PyErr {
    classes::FleetError::new_err((sentence(error),))
}

/// A refusal without a kind of its own.
pub(crate) fn sentence_of(error: impl std::fmt::Display) -> PyErr {
    classes::WaneError::new_err((sentence(error),))
}

/// A policy in Python that gives an answer that is not allowed, or uses a view that is gone.
pub(crate) fn policy(error: impl std::fmt::Display) -> PyErr {
    classes::PolicyError::new_err((sentence(error),))
}

/// A bug.
pub(crate) fn internal(error: impl std::fmt::Display) -> PyErr {
    classes::InternalError::new_err((format!("{error}; please report it with the calls you made"),))
}

/// A number that names nothing.
pub(crate) fn index(sentence: String) -> PyErr {
    PyIndexError::new_err(sentence)
}

/// A value outside of its range.
pub(crate) fn value(sentence: String) -> PyErr {
    PyValueError::new_err(sentence)
}

/// A drive's refusal or failure.
pub(crate) fn held(error: &KeptError) -> PyErr {
    match error {
        KeptError::Scenario(error) => scenario(error),
        KeptError::TooOld { .. } => value(sentence(error)),
        KeptError::Session(error) => session(error),
        KeptError::Plan(PlanError::Trace(_)) | KeptError::Source(_) => classes::TraceError::new_err((sentence(error),)),
        KeptError::Phases(phases) => scenario_sentence(format!(
            "a drive is aged by one workload at a time, and the scenario has {phases} phases; give it the table of one as workload"
        )),
        KeptError::TraceChanged => classes::TraceError::new_err((
            "the workload's trace has changed since the drive was aged by it; give it a workload, which starts from the beginning",
        )),
        KeptError::Plan(_) | KeptError::Stdin | KeptError::Writeless | KeptError::Unrated => scenario_sentence(error),
        _ => sentence_of(error),
    }
}

/// A run that gave no result.
pub(crate) fn session(error: &SessionError) -> PyErr {
    match error {
        SessionError::Memory { .. } => classes::OutOfMemoryError::new_err((sentence(error),)),
        SessionError::Plan(PlanError::Trace(_)) | SessionError::Source(_) | SessionError::TraceChanged => {
            classes::TraceError::new_err((sentence(error),))
        }
        SessionError::Plan(_) => scenario_sentence(error),
        SessionError::Results(error) => results(error),
        _ => classes::WaneError::new_err((sentence(error),)),
    }
}

/// Message of the last panic, until it is reported.
static PANIC: Mutex<Option<String>> = Mutex::new(None);

fn last_panic() -> MutexGuard<'static, Option<String>> {
    PANIC.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes a panic print nothing and keeps its message for [`guarded`].
pub(crate) fn keep_panics() {
    std::panic::set_hook(Box::new(|panic| {
        if !wane_results::panic_is_caught() {
            *last_panic() = Some(wane_cli::panic_in_words(panic));
        }
    }));
}

/// Does `work`; a panic in it becomes an `InternalError`.
pub(crate) fn guarded<T>(work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    // Half-done work is dropped with the unwound stack: `work` keeps nothing that outlives it.
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        let told = last_panic().take().unwrap_or_else(|| "internal error".to_owned());
        Err(classes::InternalError::new_err((format!("{told}; please report it with the call you made"),)))
    })
}
