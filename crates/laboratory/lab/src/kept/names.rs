//! Paths of kept drives, and what sets one apart from others.

use std::path::Path;

use wane_units::{Fnv, excerpt_path};

use super::KeptError;

/// The folder of a path, and the number of the drive of an array that it names: `old.wane/1` is the second drive of the array in `old.wane`.
pub(super) fn place_of(path: &Path) -> (&Path, Option<usize>) {
    let is_drive = |folder: &Path| folder.join(wane_shelf::MANIFEST).is_file();
    let number = |name: &str| name.parse::<usize>().ok().filter(|number| number.to_string() == name);
    let number = path.file_name().and_then(|name| name.to_str()).and_then(number);
    match (path.parent(), number) {
        (Some(folder), Some(number)) if !is_drive(path) && is_drive(folder) => (folder, Some(number)),
        _ => (path, None),
    }
}

/// Refuses a path that names a drive of an array for what is done to the whole.
///
/// # Errors
/// It does.
pub fn check_whole(path: &Path, done: &'static str) -> Result<(), KeptError> {
    match place_of(path) {
        (_, Some(_)) => Err(KeptError::At(excerpt_path(path), Box::new(KeptError::Whole(done)))),
        (_, None) => Ok(()),
    }
}

/// Refuses a new drive in the folder of another, with which it would be removed.
pub(super) fn check_place(path: &Path) -> Result<(), KeptError> {
    match path.parent() {
        Some(folder) if folder.join(wane_shelf::MANIFEST).is_file() => Err(KeptError::Inside(excerpt_path(path))),
        _ => Ok(()),
    }
}

/// What sets a drive at this place apart from others, those of which it is a fork included. Not its path, which is nobody's business.
pub(super) fn label(parent: &str, path: &Path) -> String {
    let place = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut hash = Fnv::of(parent.as_bytes());
    hash.add(place.to_string_lossy().as_bytes());
    hash.hex()
}
