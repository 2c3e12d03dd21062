//! Long work, while the interpreter's signals are heard and progress is told.
//!
//! Work without Python in it runs on a thread of its own and lets the interpreter go: the calling thread looks up every 50 ms. Work that asks
//! policies in Python stays on the calling thread and keeps the interpreter, because to take it back costs up to 5 ms, Python's switch interval,
//! whenever another thread is busy; it offers the interpreter every few milliseconds instead.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pyo3::prelude::*;
use wane_cli::Progress;
use wane_lab::progress::{Stopwatch, Throttle};
use wane_lab::run::{Step, Watch};
use wane_lab::session;

use crate::policies::{self, trouble};

/// How often work looks up: signals are heard and progress is told this often.
pub(crate) const ATTENDED_EVERY: Duration = Duration::from_millis(50);

/// After how long without a question to Python work that keeps the interpreter offers it to other threads; Python's own loop offers it in every
/// question, once another thread has waited for a switch interval. A thread that takes the offer keeps it for such an interval.
const OFFERED_AFTER: Duration = Duration::from_millis(8);

/// Who asks what the work asks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Policies {
    /// Native code alone.
    Native,
    /// Objects of Python among others.
    Python,
}

/// Who is told how far the work is.
pub(crate) struct Telling {
    progress: Progress,
    attend: Option<Py<PyAny>>,
    raised: Option<PyErr>,
}

impl Telling {
    /// `bar` shows progress as the command does; `attend` is called with (preconditioning, phase, drive writes, share done) and may raise, which
    /// ends the work.
    pub(crate) fn new(label: &str, bar: bool, attend: Option<Py<PyAny>>) -> Self {
        Self { progress: Progress::new(label, !bar), attend, raised: None }
    }

    /// Tells how far the work is, and lets the interpreter handle signals that have come.
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

/// Does `work`, which ends soon after its flag rises. Gives what it gave, and what Python raised meanwhile.
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

/// Does `work` on this thread with the interpreter, which is offered now and then.
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
        // What is asked may be no code of Python's.
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
