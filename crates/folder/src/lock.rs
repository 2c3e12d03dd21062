//! A folder's lock.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

/// Digits of the number that a lock file notes: always as many, so that a note replaces the one before whole.
const DIGITS: usize = 20;

/// Why a folder cannot be locked.
#[derive(Debug)]
#[non_exhaustive]
pub enum LockError {
    /// Another process has it.
    Busy,
    /// The system refuses.
    System(io::Error),
}

/// Held while a folder is open. The system gives it back when the process ends, however that happens.
#[derive(Debug)]
pub struct Lock(File);

impl Lock {
    /// Takes the lock file of this name in a folder.
    ///
    /// # Errors
    /// Another process has it, or the system refuses.
    pub fn take(folder: &Path, name: &str) -> Result<Self, LockError> {
        let path = folder.join(name);
        let open = || OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
        // A folder without write permission is locked too.
        let file = open().or_else(|error| File::open(&path).map_err(|_| error)).map_err(LockError::System)?;
        match file.try_lock() {
            Ok(()) => Ok(Self(file)),
            Err(TryLockError::WouldBlock) => Err(LockError::Busy),
            Err(TryLockError::Error(error)) => Err(LockError::System(error)),
        }
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

    /// The number that it notes; 0 if it notes none.
    pub fn noted(&self) -> u64 {
        let mut note = [0; DIGITS];
        let mut file = &self.0;
        let read = file.seek(SeekFrom::Start(0)).and_then(|_| file.read_exact(&mut note));
        read.ok().and_then(|()| std::str::from_utf8(&note).ok()?.parse().ok()).unwrap_or(0)
    }

    /// Notes a number. If that fails, only the note is lost.
    pub fn note(&self, number: u64) {
        let text = format!("{number:0DIGITS$}\n");
        let mut file = &self.0;
        let _ = file.seek(SeekFrom::Start(0)).and_then(|_| file.write_all(text.as_bytes()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_has_it_and_its_note_stays() {
        let folder = tempfile::tempdir().unwrap();
        let lock = Lock::take(folder.path(), "lock").unwrap();
        assert_eq!(lock.noted(), 0);
        lock.note(12);
        lock.note(7);
        assert!(matches!(Lock::take(folder.path(), "lock"), Err(LockError::Busy)));
        drop(lock);
        assert_eq!(Lock::take(folder.path(), "lock").unwrap().noted(), 7);
        assert!(matches!(Lock::take(&folder.path().join("none"), "lock"), Err(LockError::System(_))));
    }
}
