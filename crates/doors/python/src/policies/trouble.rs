//! Exceptions that Python objects raise while the engine asks them: kept until the engine has stopped, then raised unchanged.
//!
//! The engine asks on the thread that called it, so that each thread has its present call. A call that a policy makes has its own exceptions.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::prelude::*;

struct Call {
    stop: Arc<AtomicBool>,
    raised: Option<PyErr>,
}

thread_local! {
    static CALLS: RefCell<Vec<Call>> = const { RefCell::new(Vec::new()) };
}

/// Restores the state of the call before, however the present one ends.
struct Ending;

impl Drop for Ending {
    fn drop(&mut self) {
        CALLS.with_borrow_mut(Vec::pop);
    }
}

/// Does `work`, in which policies may raise. The first exception stops it by its flag.
pub(crate) fn heard<T>(stop: &Arc<AtomicBool>, work: impl FnOnce() -> T) -> (T, Option<PyErr>) {
    CALLS.with_borrow_mut(|calls| calls.push(Call { stop: Arc::clone(stop), raised: None }));
    let ending = Ending;
    let done = work();
    let raised = CALLS.with_borrow_mut(|calls| calls.last_mut().and_then(|call| call.raised.take()));
    drop(ending);
    (done, raised)
}

/// Whether something was raised in the present call; then no object is asked any more.
pub(super) fn is_raised() -> bool {
    CALLS.with_borrow(|calls| calls.last().is_some_and(|call| call.raised.is_some()))
}

/// Notes what an object raised, and stops the present call. Outside of a call, the interpreter reports it as an exception that could not be raised.
pub(super) fn raise(error: PyErr) {
    let left = CALLS.with_borrow_mut(|calls| {
        let Some(call) = calls.last_mut() else { return Some(error) };
        call.stop.store(true, Ordering::Relaxed);
        // The first exception is the one that ended it.
        call.raised.get_or_insert(error);
        None
    });
    if let Some(error) = left {
        Python::attach(|py| error.write_unraisable(py, None));
    }
}
