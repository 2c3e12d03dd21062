//! Tables of a schedule in a file.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use serde::Serialize;
use serde::de::DeserializeOwned;
use wane_archive::{Archive, ArchiveError};

/// Writes or reads a table with one record for each part of the drive. `keep` copies from a new drive's record to one that was read
/// what the configuration says.
///
/// # Errors
/// As of [`Archive`]; or the file has another number of records.
pub(crate) fn table<T: Serialize + DeserializeOwned>(
    archive: &mut dyn Archive,
    name: &str,
    table: &mut Vec<T>,
    keep: impl Fn(&T, &mut T),
) -> Result<(), ArchiveError> {
    if !archive.is_reading() {
        return archive.field(name, table);
    }
    let mut found = Vec::new();
    archive.field(name, &mut found)?;
    if found.len() != table.len() {
        let (found, wanted) = (format!("{} long", found.len()), format!("{} long", table.len()));
        return Err(ArchiveError::AnotherDrive { name: name.to_owned(), found, wanted });
    }
    found.iter_mut().zip(&*table).for_each(|(found, new)| keep(new, found));
    *table = found;
    Ok(())
}

/// Writes or reads a heap, in its order: where its entries lie in memory depends on the past and means nothing.
///
/// # Errors
/// As of [`Archive`].
pub(crate) fn heap<T: Ord + Clone + Serialize + DeserializeOwned>(
    archive: &mut dyn Archive,
    name: &str,
    heap: &mut BinaryHeap<Reverse<T>>,
) -> Result<(), ArchiveError> {
    let mut entries = heap.clone().into_sorted_vec();
    archive.field(name, &mut entries)?;
    *heap = entries.into();
    Ok(())
}
