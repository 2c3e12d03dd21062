//! The lock of a result folder: one process at a time writes into it.
//!
//! The operating system locks the file `.lock` in the folder and releases it when the holder ends, for whatever reason. The
//! holder removes the file at the end, so that nothing stays behind. A process that locked a removed file tries again.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use super::disk;

/// The file's name.
pub(super) const LOCK: &str = ".lock";

/// Number of tries in a folder that other processes keep removing.
const TRIES_MAX: u32 = 100;

/// The lock of a folder, held.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
    path: PathBuf,
}

impl Lock {
    /// Locks a folder and creates it if needed; `None` while another process holds the lock.
    pub(super) fn take(folder: &Path) -> io::Result<Option<Self>> {
        let path = folder.join(LOCK);
        for _ in 0..TRIES_MAX {
            std::fs::create_dir_all(folder)?;
            let file = match OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                file => file?,
            };
            match file.try_lock() {
                Ok(()) if is_at(&file, &path) => return Ok(Some(Self { file, path })),
                // The last holder removed the file between opening and locking.
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
        Err(io::Error::other("the folder disappears again and again"))
    }

    /// Whether another process holds the lock of a folder.
    pub(super) fn is_held(folder: &Path) -> bool {
        let Ok(file) = File::open(folder.join(LOCK)) else { return false };
        matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock))
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // On other systems a locked file cannot be distinguished from one that replaced it, so it stays.
        if cfg!(unix) && is_at(&self.file, &self.path) {
            let _ = disk::remove_file(&self.path);
        }
    }
}

/// Whether the open file is the one at `path`.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (file.metadata(), std::fs::metadata(path)) {
        (Ok(open), Ok(there)) => (open.dev(), open.ino()) == (there.dev(), there.ino()),
        _ => false,
    }
}

#[cfg(not(unix))]
fn is_at(_file: &File, path: &Path) -> bool {
    path.exists()
}
