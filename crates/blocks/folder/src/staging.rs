//! Folders that appear whole.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::{Disk, System, UNFINISHED};

/// Why a folder cannot be made.
#[derive(Debug)]
#[non_exhaustive]
pub enum StagingError {
    /// Something has its name.
    Exists,
    /// The system refuses.
    System(io::Error),
}

/// A folder that is made under a hidden name beside its place, and renamed when it is whole. If that does not happen, it is removed. A
/// process that is killed leaves it behind as `.NAME.PID.part`.
#[derive(Debug)]
pub struct Staging {
    hidden: PathBuf,
    place: PathBuf,
    is_done: bool,
}

impl Staging {
    /// Begins the folder that is to appear at `place`.
    ///
    /// # Errors
    /// Something is there, or the system refuses.
    pub fn of(place: &Path) -> Result<Self, StagingError> {
        let name = place.file_name().filter(|_| place.symlink_metadata().is_err()).ok_or(StagingError::Exists)?;
        let mut hidden = OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".{}{UNFINISHED}", std::process::id()));
        let hidden = place.with_file_name(hidden);
        assert_eq!(hidden.parent(), place.parent(), "a folder gets its own name where it was made");
        fs::create_dir(&hidden).map_err(StagingError::System)?;
        Ok(Self { hidden, place: place.to_owned(), is_done: false })
    }

    /// Where its files are made.
    pub fn path(&self) -> &Path {
        &self.hidden
    }

    /// Gives it its name.
    ///
    /// # Errors
    /// Something is there by now, or the system refuses. It is removed then.
    pub fn appear(mut self) -> Result<(), StagingError> {
        if self.place.symlink_metadata().is_ok() {
            return Err(StagingError::Exists);
        }
        System.sync_folder(&self.hidden);
        System.rename(&self.hidden, &self.place).map_err(StagingError::System)?;
        self.is_done = true;
        if let Some(parent) = self.place.parent() {
            System.sync_folder(parent);
        }
        Ok(())
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        if !self.is_done {
            let _ = fs::remove_dir_all(&self.hidden);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_appears_whole_or_not_at_all() {
        let within = tempfile::tempdir().unwrap();
        let place = within.path().join("a");
        let begun = Staging::of(&place).unwrap();
        fs::write(begun.path().join("file"), "all of it").unwrap();
        assert!(!place.exists());
        drop(begun);
        assert_eq!(fs::read_dir(within.path()).unwrap().count(), 0);
        let begun = Staging::of(&place).unwrap();
        fs::write(begun.path().join("file"), "all of it").unwrap();
        begun.appear().unwrap();
        assert_eq!(fs::read_to_string(place.join("file")).unwrap(), "all of it");
        assert!(matches!(Staging::of(&place), Err(StagingError::Exists)));
        let late = Staging::of(&within.path().join("b")).unwrap();
        fs::create_dir(within.path().join("b")).unwrap();
        assert!(matches!(late.appear(), Err(StagingError::Exists)));
        assert_eq!(fs::read_dir(within.path()).unwrap().count(), 2);
    }
}
