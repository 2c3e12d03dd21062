//! One process at a time writes into a result folder.
//!
//! The lock is the operating system's, on the file `.lock` in the folder: it ends with its holder, however that ends. The
//! holder removes the file at last, so that nothing stays behind; whoever locked a removed file tries again.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use super::disk;

/// The file's name.
pub(super) const LOCK: &str = ".lock";

/// Tries before giving up on a folder that others keep removing.
const TRIES_MAX: u32 = 100;

/// The lock of a folder, held.
#[derive(Debug)]
pub(super) struct Lock {
    file: File,
    path: PathBuf,
}

impl Lock {
    /// Locks a folder, made if there is none; `None` while another process holds it.
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
                // Its holder removed it between the opening and the locking.
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
        // Elsewhere a locked file cannot be told from one that took its place, so it stays.
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
