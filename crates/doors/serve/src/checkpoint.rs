//! Saving a served drive without disturbing it: another process opens its last save, does the sealed part of its journal again, and saves that.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde::{Deserialize, Serialize};
use wane_journal::Place;
use wane_lab::kept::{Kept, KeptError};
use wane_units::Nanos;

use crate::ServeError;

/// Least time of the drive's thread after which its journal is saved: doing it again takes about as long.
const WORK_LEAST: Nanos = Nanos::SECOND;

/// Least bytes of a journal that is longer than the drive's state.
const BYTES_LEAST: u64 = 64 << 20;

/// From so many times that on, requests wait.
const TOO_LONG: u64 = 4;

/// Most bytes of what the process says.
const TOLD_MAX: u64 = 4096;

/// What the process is to do.
#[derive(Debug, Serialize, Deserialize)]
pub struct UpTo {
    /// The process that goes on with the drive.
    pub pid: u32,
    /// The place in the journal.
    pub place: Place,
}

/// Saves a drive as it was at a place of its journal. Called in a process of its own, whose stdin is a handle of the drive's lock.
///
/// # Errors
/// The drive cannot be opened or saved. It is as it was.
pub fn checkpoint(path: &Path, up_to: &UpTo) -> Result<(), ServeError> {
    use std::os::fd::AsFd;

    // It ends with the process for which it works. Until it has, the lock is held, and nobody else opens the drive.
    #[cfg(target_os = "linux")]
    {
        let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
        let parent = rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get().unsigned_abs());
        if parent != Some(up_to.pid) {
            return Err(KeptError::Interrupted.into());
        }
    }
    // What is served comes first.
    let _ = rustix::process::nice(5);
    let lock = std::io::stdin().as_fd().try_clone_to_owned().map_err(KeptError::Memory)?;
    Ok(Kept::save_up_to(path, lock.into(), up_to.place)?)
}

/// A save that is under way in another process.
struct Running {
    child: Child,
    begun: Nanos,
}

/// When the next save is due, and whether one is under way.
pub(crate) struct Checkpointer {
    /// The command that makes it; without one the server saves the drive itself.
    program: Option<PathBuf>,
    drive: PathBuf,
    running: Option<Running>,
    /// Time of the drive's thread since the last place up to which a save was begun.
    work: Nanos,
    /// How long the last save took.
    took: Nanos,
    /// Further factors, after saves that failed.
    patience: u64,
    /// Whether it was told that requests wait.
    is_told: bool,
}

/// What became of a save.
pub(crate) enum Ended {
    Saved,
    /// Why it was not.
    Failed(String),
}

impl Checkpointer {
    pub(crate) const fn new(program: Option<PathBuf>, drive: PathBuf) -> Self {
        Self { program, drive, running: None, work: Nanos::ZERO, took: Nanos::ZERO, patience: 1, is_told: false }
    }

    /// The drive's thread has worked for so long.
    pub(crate) const fn worked(&mut self, time: Nanos) {
        self.work = self.work.saturating_add(time);
    }

    pub(crate) const fn has_program(&self) -> bool {
        self.program.is_some()
    }

    pub(crate) const fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// How many times over a save is due, for a journal of so many bytes and a state of so many.
    fn times(&self, bytes: u64, state: u64) -> u64 {
        // One that takes long is begun less often.
        let work = self.work.0 / WORK_LEAST.max(self.took).0;
        let length = bytes / state.max(BYTES_LEAST);
        work.max(length) / self.patience
    }

    /// Whether a save is due.
    pub(crate) fn is_due(&self, bytes: u64, state: u64) -> bool {
        self.running.is_none() && self.times(bytes, state) >= 1
    }

    /// Whether requests wait until a save is over.
    pub(crate) fn is_too_long(&self, bytes: u64, state: u64) -> bool {
        self.running.is_some() && self.times(bytes, state) >= TOO_LONG
    }

    /// Whether that is to be told, which it is once.
    pub(crate) const fn tells(&mut self) -> bool {
        !std::mem::replace(&mut self.is_told, true)
    }

    /// Begins a save up to a place, which is sealed. `lock` is handed on.
    pub(crate) fn begin(&mut self, place: Place, lock: std::fs::File, now: Nanos) -> std::io::Result<()> {
        let Some(program) = &self.program else { return Err(std::io::ErrorKind::Unsupported.into()) };
        let up_to = UpTo { pid: std::process::id(), place };
        let child = Command::new(program)
            .arg("checkpoint")
            .arg(&self.drive)
            .arg(serde_json::to_string(&up_to).expect("a place is JSON"))
            .stdin(Stdio::from(lock))
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()?;
        self.running = Some(Running { child, begun: now });
        self.work = Nanos::ZERO;
        Ok(())
    }

    /// What became of the save that is under way; `None` while it is, or if none is.
    pub(crate) fn ended(&mut self, now: Nanos) -> Option<Ended> {
        let status = match self.running.as_mut()?.child.try_wait() {
            Ok(None) => return None,
            Ok(Some(status)) => Ok(status),
            Err(error) => Err(error),
        };
        let Running { mut child, begun } = self.running.take()?;
        let mut told = String::new();
        match status {
            Ok(status) if status.success() => {
                self.took = Nanos(now.0.saturating_sub(begun.0));
                self.saved();
                return Some(Ended::Saved);
            }
            Ok(status) => {
                let stderr = child.stderr.take().map(|stderr| stderr.take(TOLD_MAX));
                let read = stderr.and_then(|mut stderr| stderr.read_to_string(&mut told).ok());
                if read.is_none() || told.trim().is_empty() {
                    told = format!("its process ended with {status}");
                }
            }
            Err(error) => told = error.to_string(),
        }
        self.failed();
        Some(Ended::Failed(told.trim().trim_start_matches("wane: ").to_owned()))
    }

    /// The drive is saved.
    pub(crate) const fn saved(&mut self) {
        (self.patience, self.is_told) = (1, false);
    }

    /// It was not saved. It is tried again later.
    pub(crate) const fn failed(&mut self) {
        self.patience = self.patience.saturating_mul(2);
    }

    /// The drive is saved up to now by its server.
    pub(crate) const fn begun_anew(&mut self) {
        self.work = Nanos::ZERO;
    }

    /// Ends the save that is under way. It may have been made. Returns whether there was any.
    pub(crate) fn stop(&mut self) -> bool {
        let Some(mut running) = self.running.take() else { return false };
        let _ = running.child.kill();
        let _ = running.child.wait();
        true
    }
}

impl Drop for Checkpointer {
    fn drop(&mut self) {
        self.stop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_save_is_due_by_work_or_by_length_and_a_failure_gives_time() {
        let mut all = Checkpointer::new(None, PathBuf::new());
        assert!(!all.is_due(BYTES_LEAST - 1, 0) && all.is_due(BYTES_LEAST, 0));
        assert!(!all.is_due(BYTES_LEAST, 2 * BYTES_LEAST) && all.is_due(3 * BYTES_LEAST, 2 * BYTES_LEAST));
        all.worked(Nanos(WORK_LEAST.0 - 1));
        assert!(!all.is_due(0, 0));
        all.worked(Nanos(1));
        assert!(all.is_due(0, 0));
        all.failed();
        assert!(!all.is_due(0, 0));
        all.worked(WORK_LEAST);
        assert!(all.is_due(0, 0));
        all.saved();
        all.took = Nanos(3 * WORK_LEAST.0);
        assert!(!all.is_due(0, 0), "one that takes long is begun less often");
    }
}
