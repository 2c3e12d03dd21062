//! A folder's lock.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::time::Duration;

use crate::Holder;

/// How long a lock is waited for whose taker is gone: a process to which it was given, which ends with it, needs a while for that.
const WAITS: u32 = 500;
const PAUSE: Duration = Duration::from_millis(20);

/// Digits of a number that a lock file notes: always as many, so that a note replaces the one before whole.
const DIGITS: usize = 20;
const LINE: u64 = DIGITS as u64 + 1;

/// Why a folder cannot be locked.
#[derive(Debug)]
#[non_exhaustive]
pub enum LockError {
    /// Somebody has it.
    Busy(Holder),
    /// The system refuses.
    System(io::Error),
}

/// Held while a folder is open. The system gives it back when the process ends, however that happens.
#[derive(Debug)]
pub struct Lock(File);

impl Lock {
    /// Takes the lock file of this name in a folder. Waits some seconds if the process is gone that took it.
    ///
    /// # Errors
    /// Another process has it, or the system refuses.
    pub fn take(folder: &Path, name: &str) -> Result<Self, LockError> {
        let path = folder.join(name);
        let open = || OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
        // A folder without write permission is locked too.
        let file = open().or_else(|error| File::open(&path).map_err(|_| error)).map_err(LockError::System)?;
        for left in (0..=WAITS).rev() {
            match file.try_lock() {
                Ok(()) => return Ok(Self(file)),
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(LockError::System(error)),
            }
            match Holder::of(&file) {
                Holder::Heir(_) if left > 0 => std::thread::sleep(PAUSE),
                holder => return Err(LockError::Busy(holder.named(&file))),
            }
        }
        unreachable!("the last of them returns")
    }

    /// A handle that holds the lock as long as it is open, also in a process to which it is given.
    ///
    /// # Errors
    /// The system refuses.
    pub fn share(&self) -> io::Result<File> {
        self.0.try_clone()
    }

    /// The lock that another process shares.
    pub const fn shared(handle: File) -> Self {
        Self(handle)
    }

    /// The number that its line of this number notes, from 0; 0 if it notes none.
    pub fn noted(&self, line: u64) -> u64 {
        let mut note = [0; DIGITS];
        let mut file = &self.0;
        let read = file.seek(SeekFrom::Start(line * LINE)).and_then(|_| file.read_exact(&mut note));
        read.ok().and_then(|()| std::str::from_utf8(&note).ok()?.parse().ok()).unwrap_or(0)
    }

    /// Notes numbers from a line on, all of them or none. If that fails, only the note is lost.
    pub fn note(&self, line: u64, numbers: &[u64]) {
        let text: String = numbers.iter().map(|number| format!("{number:0DIGITS$}\n")).collect();
        let mut file = &self.0;
        let _ = file.seek(SeekFrom::Start(line * LINE)).and_then(|_| file.write_all(text.as_bytes()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_has_it_and_its_note_stays() {
        let folder = tempfile::tempdir().unwrap();
        let lock = Lock::take(folder.path(), "lock").unwrap();
        assert_eq!(lock.noted(0), 0);
        lock.note(1, &[u64::MAX, 5]);
        assert_eq!((lock.noted(0), lock.noted(1), lock.noted(2), lock.noted(3)), (0, u64::MAX, 5, 0));
        lock.note(0, &[12]);
        lock.note(0, &[7]);
        let busy = Lock::take(folder.path(), "lock");
        match busy {
            Err(LockError::Busy(holder)) if cfg!(target_os = "linux") => {
                assert_eq!(holder, Holder::Process(std::process::id()));
            }
            other => assert!(matches!(other, Err(LockError::Busy(_))), "{other:?}"),
        }
        drop(lock);
        let again = Lock::take(folder.path(), "lock").unwrap();
        assert_eq!((again.noted(0), again.noted(2)), (7, 5));
        assert!(matches!(Lock::take(&folder.path().join("none"), "lock"), Err(LockError::System(_))));
    }
}
