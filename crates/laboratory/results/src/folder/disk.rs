//! All changes that a result folder makes to the disk. They are in one place so that tests can stop after any of them.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

pub(super) fn create_folder(path: &Path) -> io::Result<()> {
    step()?;
    fs::create_dir(path)
}

/// Writes a new file and waits until it is on the disk.
pub(super) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if let Err(stopped) = step() {
        // A process may also die in the middle of a write.
        let _ = fs::write(path, &bytes[..bytes.len() / 2]);
        return Err(stopped);
    }
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    // Tests kill processes, not machines, and write thousands of files, so that they need no sync.
    if cfg!(test) { Ok(()) } else { file.sync_all() }
}

pub(super) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    step()?;
    fs::rename(from, to)
}

/// Removes a file. A missing file is no error.
pub(super) fn remove_file(path: &Path) -> io::Result<()> {
    step()?;
    absent_is_fine(fs::remove_file(path))
}

/// Removes a folder and its content. A missing folder is no error.
pub(super) fn remove_all(path: &Path) -> io::Result<()> {
    step()?;
    absent_is_fine(fs::remove_dir_all(path))
}

/// Removes a folder if it is empty.
pub(super) fn remove_empty(path: &Path) -> io::Result<()> {
    step()?;
    fs::remove_dir(path)
}

/// Waits until the names in a folder are on the disk. Does nothing on systems that cannot.
pub(super) fn sync_folder(path: &Path) {
    if cfg!(unix) && !cfg!(test) {
        let _ = File::open(path).and_then(|folder| folder.sync_all());
    }
}

fn absent_is_fine(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

#[cfg(not(test))]
#[expect(clippy::unnecessary_wraps, reason = "tests make it fail")]
fn step() -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
fn step() -> io::Result<()> {
    faults::step()
}

/// Stops all changes after a number of them, as a killed process or a full disk does.
#[cfg(test)]
pub(super) mod faults {
    use std::cell::Cell;
    use std::io;

    #[derive(Clone, Copy)]
    struct Fault {
        left: u64,
        kind: io::ErrorKind,
        /// Whether every later change fails too, and not only one.
        lasts: bool,
    }

    thread_local! {
        static FAULT: Cell<Option<Fault>> = const { Cell::new(None) };
    }

    pub(super) fn step() -> io::Result<()> {
        let Some(mut fault) = FAULT.get() else { return Ok(()) };
        if fault.left > 0 {
            fault.left -= 1;
            FAULT.set(Some(fault));
            return Ok(());
        }
        if !fault.lasts {
            FAULT.set(None);
        }
        Err(io::Error::new(fault.kind, "stopped by the test"))
    }

    /// Runs `work` and fails all changes after the first `changes`. Also returns whether it came that far.
    pub(in super::super) fn killed_after<T>(changes: u64, work: impl FnOnce() -> T) -> (T, bool) {
        FAULT.set(Some(Fault { left: changes, kind: io::ErrorKind::Other, lasts: true }));
        let done = work();
        let stopped = FAULT.take().is_some_and(|fault| fault.left == 0);
        (done, stopped)
    }

    /// Runs `work` and fails one change after the first `changes`. Also returns whether it came that far.
    pub(in super::super) fn refused_after<T>(changes: u64, kind: io::ErrorKind, work: impl FnOnce() -> T) -> (T, bool) {
        FAULT.set(Some(Fault { left: changes, kind, lasts: false }));
        let done = work();
        (done, FAULT.take().is_none())
    }
}
