//! Folders whose files survive a crash, from four pieces:
//!
//! - [`Lock`]: one [`Process`] has the folder open, and who it is, is known ([`Holder`]);
//! - [`replace`]: a file changes whole or not at all, also if the machine stops;
//! - [`Staging`]: a folder appears whole or not at all;
//! - [`Disk`]: the calls of the system on which that rests. [`System`] makes them, and [`Simulated`] is a disk in memory that fails where a
//!   test wants, and loses at a crash what a real disk may lose.

mod disk;
mod lock;
mod process;
mod simulated;
mod staging;

use std::io;
use std::path::Path;

pub use disk::{Disk, Output, System};
pub use lock::{Lock, LockError};
pub use process::{Holder, Process};
pub use simulated::{Failing, Simulated};
pub use staging::{Staging, StagingError};

/// Suffix of a file that is still being written. Anyone who finds such a file may remove it.
pub const UNFINISHED: &str = ".part";

/// Writes a file in a folder in place of one of that name, and waits until it is on the disk. Returns its length. Until the end the file
/// before is there, and afterwards the new one.
///
/// # Errors
/// `write` or the disk refuses. The file before is still there.
pub fn replace<E: From<io::Error>>(
    disk: &dyn Disk,
    folder: &Path,
    name: &str,
    write: impl FnOnce(Box<dyn Output>) -> Result<Box<dyn Output>, E>,
) -> Result<u64, E> {
    let unfinished = folder.join(format!("{name}{UNFINISHED}"));
    let written = || {
        let mut file = write(disk.create(&unfinished)?)?;
        file.sync()?;
        let length = file.length();
        disk.rename(&unfinished, &folder.join(name))?;
        Ok(length)
    };
    let done = written();
    if done.is_err() {
        // If that fails too, it stays under its unfinished name.
        let _ = disk.remove(&unfinished);
    }
    disk.sync_folder(folder);
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(disk: &dyn Disk, bytes: &[u8]) -> io::Result<u64> {
        replace(disk, Path::new("/d"), "a", |mut file| {
            file.write_all(bytes)?;
            Ok::<_, io::Error>(file)
        })
    }

    #[test]
    fn a_file_is_replaced_whole_whatever_fails_and_whenever_the_machine_stops() {
        let path = Path::new("/d/a");
        for failing in 0.. {
            let disk = Simulated::default();
            assert_eq!(put(&disk, b"before").unwrap(), 6);
            disk.fail(failing, Failing::Io);
            let done = put(&disk, b"afterwards");
            let found = disk.read(path).unwrap();
            assert_eq!(found, if done.is_ok() { &b"afterwards"[..] } else { b"before" });
            for seed in 0..40 {
                let after = disk.crashed(seed).read(path).unwrap();
                // Before its name was synced, either may be there, each of them whole.
                assert!(after == b"afterwards" || (after == b"before" && done.is_err()), "{after:?}");
            }
            if done.is_ok() {
                assert!(failing >= 4, "each call was made to fail");
                break;
            }
        }
    }
}
