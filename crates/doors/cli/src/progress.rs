//! Progress: a bar with the time left on a terminal, a line every ten seconds elsewhere; and Ctrl-C.

use std::io::{self, IsTerminal};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use tempfile::NamedTempFile;
use wane_lab::progress::{Stopwatch, Throttle};
use wane_lab::run::Step;
use wane_results::Traces;

use crate::output::tell;

/// Shows how far a run is.
pub struct Progress {
    label: String,
    stopwatch: Stopwatch,
    throttle: Throttle,
    bar: Option<ProgressBar>,
    lines: bool,
    /// The stage that the stopwatch measures: whether it preconditions, and the phase.
    stage: (bool, usize),
    /// Whether the user has stopped the run, so that the rest will not be done.
    interrupted: bool,
}

const BAR_STEPS: u64 = 1000;

/// Least share of a run from which the time left is estimated.
const DONE_LEAST: f64 = 0.01;

impl Progress {
    /// Progress of what `label` names; silent with `quiet`.
    pub fn new(label: &str, quiet: bool) -> Self {
        let terminal = io::stderr().is_terminal();
        let bar = (terminal && !quiet).then(|| {
            let bar = ProgressBar::with_draw_target(Some(BAR_STEPS), ProgressDrawTarget::stderr());
            let style = ProgressStyle::with_template("{prefix:24!} {wide_bar} {msg}").expect("the template is fixed");
            bar.set_style(style);
            bar.set_prefix(label.to_owned());
            bar
        });
        let interval = Duration::from_millis(if terminal { 100 } else { 10_000 });
        let mut throttle = Throttle::new(interval);
        // Off a terminal, a run shorter than the interval says nothing.
        throttle.ready();
        Self {
            label: label.to_owned(),
            stopwatch: Stopwatch::start(),
            throttle,
            bar,
            lines: !terminal && !quiet,
            stage: (true, 0),
            interrupted: false,
        }
    }

    /// Stops showing the time left.
    pub(crate) fn interrupt(&mut self) {
        self.interrupted = true;
    }

    /// Returns the time left when the share `done` is done, as text to append.
    fn left(&self, done: f64) -> String {
        let left = self.stopwatch.left(done).filter(|_| !self.interrupted);
        left.map_or_else(String::new, |left| format!(", {} left", short(left)))
    }

    /// Shows how far a run is, at most once an interval.
    pub fn step(&mut self, step: &Step) {
        // Progress and the time left are those of a stage.
        if self.stage != (step.preconditioning, step.phase) {
            self.stage = (step.preconditioning, step.phase);
            self.stopwatch = Stopwatch::start();
        }
        if !self.throttle.ready() {
            return;
        }
        let known = step.done.filter(|done| *done >= DONE_LEAST);
        let left = known.map(|done| self.left(done));
        let stage = if step.preconditioning {
            "preconditioning".to_owned()
        } else {
            let predicted = match step.predicted {
                0.0 => String::new(),
                predicted => format!(", {predicted:.1} of them predicted"),
            };
            format!("{:.1} drive writes{predicted}", step.drive_writes)
        };
        let text = format!("{stage}{}", left.unwrap_or_default());
        if let Some(bar) = &self.bar {
            bar.set_position((step.done.unwrap_or(0.0) * BAR_STEPS as f64) as u64);
            bar.set_message(text);
        } else if self.lines {
            tell(&format!("{}: {text}", self.label));
        }
    }

    /// Shows that one of several runs has finished: `finished` of `all`, with `what` about it.
    pub(crate) fn say(&mut self, finished: usize, all: usize, what: &str) {
        assert!(finished <= all && all > 0, "{finished} of {all} runs have finished");
        let done = finished as f64 / all as f64;
        let left = self.left(done);
        let text = format!("[{finished}/{all}] {what}");
        if let Some(bar) = &self.bar {
            bar.suspend(|| tell(&text));
            bar.set_position((done * BAR_STEPS as f64) as u64);
            bar.set_message(left.trim_start_matches(", ").to_owned());
        } else if self.lines && self.throttle.ready() {
            tell(&format!("{}: {text}{left}", self.label));
        }
    }

    /// Whether it is time to show progress; if so, the next time is an interval later.
    pub fn is_due(&mut self) -> bool {
        self.throttle.ready()
    }

    /// Shows the progress of several runs: `what` about them, and the share of all work that is done.
    pub fn under_way(&mut self, what: &str, done: f64) {
        debug_assert!((0.0..=1.0).contains(&done), "a share of the work is done: {done}");
        let left = if done >= DONE_LEAST { self.left(done) } else { String::new() };
        if let Some(bar) = &self.bar {
            bar.set_position((done * BAR_STEPS as f64) as u64);
            bar.set_message(left.trim_start_matches(", ").to_owned());
        } else if self.lines {
            let share = if done > 0.0 { format!(", {:.0} % of the work", 100.0 * done) } else { String::new() };
            tell(&format!("{}: {what}{share}{left}", self.label));
        }
    }

    /// Takes the bar away.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn short(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..100 => format!("{seconds} s"),
        100..6000 => format!("{} min", seconds.div_ceil(60)),
        _ => format!("{:.1} h", seconds as f64 / 3600.0),
    }
}

/// Something on the disk to remove if a signal ends the process.
enum Leaving {
    Folder(Traces),
    File(PathBuf),
}

/// What a signal acts on: the run to stop, if there is one, and what to remove when the process ends.
struct Concerned {
    stop: Option<Arc<AtomicBool>>,
    leavings: Vec<Leaving>,
}

static CONCERNED: Mutex<Concerned> = Mutex::new(Concerned { stop: None, leavings: Vec::new() });

fn concerned() -> MutexGuard<'static, Concerned> {
    CONCERNED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns a flag that is true once the user pressed Ctrl-C or the system asked to end. A later signal ends the process at
/// once. Some senders signal a process and its group, so two signals close together count as one.
pub(crate) fn stop_flag() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    concerned().stop = Some(Arc::clone(&stop));
    listen();
    stop
}

/// From now on Ctrl-C, or the system's request to end, ends the process at once: there are no partial results to keep.
pub(crate) fn end_at_once() {
    concerned().stop = None;
    listen();
}

/// Removes a result folder's traces if a signal ends the process. A run that should stop instead takes its [`stop_flag`]
/// first.
pub(crate) fn remove_at_exit(traces: &Traces) {
    concerned().leavings.push(Leaving::Folder(traces.clone()));
    listen();
}

/// Removes a temporary file if a signal ends the process, as long as this value lives.
pub(crate) struct RemovedAtExit(PathBuf);

impl RemovedAtExit {
    /// Makes the file. A signal that comes meanwhile waits, so that every file that is made is known.
    pub(crate) fn make(make: impl FnOnce() -> io::Result<NamedTempFile>) -> io::Result<(Self, NamedTempFile)> {
        listen();
        let mut concerned = concerned();
        let file = make()?;
        let path = file.path().to_owned();
        debug_assert!(path.exists(), "what is removed at the exit was made");
        concerned.leavings.push(Leaving::File(path.clone()));
        Ok((Self(path), file))
    }
}

impl Drop for RemovedAtExit {
    fn drop(&mut self) {
        concerned().leavings.retain(|leaving| !matches!(leaving, Leaving::File(path) if *path == self.0));
    }
}

/// Installs the signal handler.
fn listen() {
    static LISTENING: Once = Once::new();
    LISTENING.call_once(|| {
        let mut again = Throttle::new(Duration::from_secs(1));
        // Without a handler Ctrl-C ends the process as usual, so a refusal costs only the partial results.
        let _ = ctrlc::set_handler(move || {
            let later = again.ready();
            // Locked to the end, so that no file is made meanwhile.
            let mut concerned = concerned();
            if concerned.stop.as_ref().is_some_and(|stop| !stop.swap(true, Ordering::Relaxed) || !later) {
                return;
            }
            for leaving in concerned.leavings.drain(..) {
                match leaving {
                    Leaving::Folder(traces) => traces.remove(),
                    Leaving::File(path) => drop(std::fs::remove_file(path)),
                }
            }
            std::process::exit(crate::INTERRUPTED);
        });
    });
}

/// Turns growth of a file past the limit (`ulimit -f`) into a write error, which is reported, instead of a signal, which
/// ends the process.
pub(crate) fn survive_large_files() {
    #[cfg(unix)]
    {
        // The flag is never read: any handler keeps the process alive.
        let come = Arc::new(AtomicBool::new(false));
        let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, come);
    }
}

/// Sets the flag that ends the server when stdin ends, in whatever way the process at its other end has ended.
pub(crate) fn end_with_stdin(stop: &Arc<AtomicBool>) {
    let stop = Arc::clone(stop);
    #[expect(clippy::disallowed_methods, reason = "it waits for the end of a pipe, and no result depends on when")]
    std::thread::spawn(move || {
        let _ = io::copy(&mut io::stdin(), &mut io::sink());
        stop.store(true, Ordering::Relaxed);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_that_were_interrupted_have_no_time_left() {
        let mut progress = Progress::new("sweep", true);
        assert!(progress.left(0.5).ends_with(" left"), "found {:?}", progress.left(0.5));
        progress.interrupt();
        assert_eq!(progress.left(0.5), "");
    }
}
