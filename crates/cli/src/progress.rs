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
    /// Whether the user has stopped it: what is left is not going to be done.
    interrupted: bool,
}

const BAR_STEPS: u64 = 1000;

/// The time left is not guessed from less than this share of a run.
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

    /// From now on no time left is told.
    pub(crate) fn interrupt(&mut self) {
        self.interrupted = true;
    }

    /// The time left where this share is done, as it stands behind what was done.
    fn left(&self, done: f64) -> String {
        let left = self.stopwatch.left(done).filter(|_| !self.interrupted);
        left.map_or_else(String::new, |left| format!(", {} left", short(left)))
    }

    /// Tells how far a run is, as often as that is wanted.
    pub fn step(&mut self, step: &Step) {
        // What is done is told of a stage, and so is the time left.
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

    /// Of several runs one has finished: how many have, of how many, and what to say of it.
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

    /// Whether it is time to tell something; if so, the next time is later.
    pub fn is_due(&mut self) -> bool {
        self.throttle.ready()
    }

    /// Of several runs some are under way: what to say of them, and which share of all work is done.
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

/// What a process that is ended leaves on the disk, unless it is taken away.
enum Leaving {
    Folder(Traces),
    File(PathBuf),
}

/// Whom a signal concerns: the run to be stopped, if there is one, and what to take away where the process ends.
struct Concerned {
    stop: Option<Arc<AtomicBool>>,
    leavings: Vec<Leaving>,
}

static CONCERNED: Mutex<Concerned> = Mutex::new(Concerned { stop: None, leavings: Vec::new() });

fn concerned() -> MutexGuard<'static, Concerned> {
    CONCERNED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// True once the user pressed Ctrl-C or the system asked to end; asked again later, the process ends at once. Some
/// senders signal a process and its group, so two signals close together are one.
pub(crate) fn stop_flag() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    concerned().stop = Some(Arc::clone(&stop));
    listen();
    stop
}

/// From now on Ctrl-C, or the system's wish to end, ends the process at once: there is nothing partial to keep.
pub(crate) fn end_at_once() {
    concerned().stop = None;
    listen();
}

/// Gives a result folder up where a signal ends the process. A run that is to be stopped instead asks for its
/// [`stop_flag`] before.
pub(crate) fn remove_at_exit(traces: &Traces) {
    concerned().leavings.push(Leaving::Folder(traces.clone()));
    listen();
}

/// Removes a temporary file where a signal ends the process, until the value is dropped.
pub(crate) struct RemovedAtExit(PathBuf);

impl RemovedAtExit {
    /// Makes the file. A signal that comes meanwhile waits for it, so that no file is made and not known.
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

/// Answers signals from now on.
fn listen() {
    static LISTENING: Once = Once::new();
    LISTENING.call_once(|| {
        let mut again = Throttle::new(Duration::from_secs(1));
        // Without a handler Ctrl-C ends the process as ever, so a refusal costs only the partial results.
        let _ = ctrlc::set_handler(move || {
            let later = again.ready();
            // Held to the end, so that no file is made meanwhile.
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

/// Makes a file that grows past the limit (`ulimit -f`) an error of the write, which is told, instead of a signal, which
/// ends the process.
pub(crate) fn survive_large_files() {
    #[cfg(unix)]
    {
        // Nobody asks whether it came: any answer but dying will do.
        let come = Arc::new(AtomicBool::new(false));
        let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, come);
    }
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
