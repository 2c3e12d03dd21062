//! Long work, during which the interpreter handles signals and progress is shown.
//!
//! Work without Python in it runs on its own thread without the interpreter's lock; the calling thread handles signals every 50 ms. Work that asks
//! policies in Python stays on the calling thread and keeps the lock, because taking it back costs up to 5 ms, Python's switch interval, whenever
//! another thread is busy. Instead it offers the lock every few milliseconds.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pyo3::prelude::*;
use wane_cli::Progress;
use wane_lab::progress::{Stopwatch, Throttle};
use wane_lab::run::{Step, Watch};
use wane_lab::session;

use crate::policies::{self, trouble};

/// Interval at which signals are handled and progress is shown.
pub(crate) const ATTENDED_EVERY: Duration = Duration::from_millis(50);

/// Time without a call of Python after which work that keeps the lock offers it to other threads. In a call, Python's own loop offers it once
/// another thread has waited for a switch interval. A thread that takes the offer keeps the lock for such an interval.
const OFFERED_AFTER: Duration = Duration::from_millis(8);

/// Whether the work calls policies in Python.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Policies {
    /// Only native policies.
    Native,
    /// Some policies are Python objects.
    Python,
}

/// Where progress is reported.
pub(crate) struct Telling {
    progress: Progress,
    attend: Option<Py<PyAny>>,
    raised: Option<PyErr>,
}

impl Telling {
    /// With `bar`, progress is shown as by the command. `attend` is called with (preconditioning, phase, drive writes, share done); if it raises, the
    /// work ends.
    pub(crate) fn new(label: &str, bar: bool, attend: Option<Py<PyAny>>) -> Self {
        Self { progress: Progress::new(label, !bar), attend, raised: None }
    }

    /// Reports how far the work is, and lets the interpreter handle signals that have come.
    fn look_up(&mut self, py: Python<'_>, step: Option<&Step>, stop: &AtomicBool) {
        if let Some(step) = step {
            self.progress.step(step);
        }
        let attend = self.attend.as_ref().filter(|_| self.raised.is_none());
        let heard = py.check_signals().and_then(|()| match attend.zip(step) {
            Some((attend, step)) => {
                attend.call1(py, (step.preconditioning, step.phase, step.drive_writes, step.done)).map(drop)
            }
            None => Ok(()),
        });
        if let Err(error) = heard {
            stop.store(true, Ordering::Relaxed);
            // The first is what ended the work.
            self.raised.get_or_insert(error);
        }
    }
}

/// Does `work`, which ends soon after its flag rises. Returns its result, and what Python raised meanwhile.
pub(crate) fn attended<T: Send>(
    py: Python<'_>,
    policies: Policies,
    stop: &Arc<AtomicBool>,
    mut telling: Telling,
    work: impl FnOnce(&mut Watch<'_>) -> T + Send,
) -> (T, Option<PyErr>) {
    let done = match policies {
        Policies::Native => py.detach(|| {
            let work = |step: &mut dyn FnMut(&Step)| work(&mut Watch { step, stop });
            session::attended(ATTENDED_EVERY, work, &mut |step| {
                Python::attach(|py| telling.look_up(py, step, stop));
            })
        }),
        Policies::Python => {
            let (done, raised) = trouble::heard(stop, || keeping(py, stop, &mut telling, work));
            telling.raised = raised.or(telling.raised);
            done
        }
    };
    telling.progress.finish();
    (done, telling.raised)
}

/// Does `work` on this thread with the interpreter's lock, which is offered now and then.
fn keeping<T>(
    py: Python<'_>,
    stop: &Arc<AtomicBool>,
    telling: &mut Telling,
    work: impl FnOnce(&mut Watch<'_>) -> T,
) -> T {
    let (mut looks, mut kept) = (Throttle::new(ATTENDED_EVERY), Stopwatch::start());
    let mut step = |step: &Step| {
        let looks_up = looks.ready();
        if policies::were_asked() {
            kept = Stopwatch::start();
        }
        // The policies called may run no Python code.
        if looks_up || kept.elapsed() >= OFFERED_AFTER {
            py.detach(std::thread::yield_now);
            kept = Stopwatch::start();
        }
        if looks_up {
            telling.look_up(py, Some(step), stop);
        }
    };
    work(&mut Watch { step: &mut step, stop })
}
