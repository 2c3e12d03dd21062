//! Simulated drives beneath drives that encode: what is written to a folder wears a drive of `wane drive create`, as host writes.
//!
//! A share's file takes whole pages of the simulated drive, the first free ones; removing the file trims them. A share that is being written counts
//! when it is sealed. The bytes themselves lie in the folder, unharmed by wear: the simulated drive only measures what they cost.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use serde::{Deserialize, Serialize};
use wane_lab::held::Held;
use wane_lab::kept::Kept;
use wane_units::excerpt_path;

use crate::ActorError;
use crate::store::Medium;

/// Pages of each file, as runs of (first page, pages).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Files {
    free: BTreeMap<u32, u32>,
    held: BTreeMap<String, Vec<(u32, u32)>>,
}

impl Files {
    pub(crate) fn new(pages: u32) -> Self {
        Self { free: BTreeMap::from([(0, pages)]), held: BTreeMap::new() }
    }

    /// Whether every page of a drive is either free or belongs to one file, once.
    fn cover(&self, pages: u32) -> bool {
        let mut runs: Vec<(u32, u32)> = self.held.values().flatten().copied().collect();
        runs.extend(self.free.iter().map(|(start, count)| (*start, *count)));
        runs.sort_unstable();
        let next = |next: u32, (start, count): &(u32, u32)| (*start == next).then(|| start.checked_add(*count))?;
        runs.iter().all(|(_, count)| *count > 0) && runs.iter().try_fold(0, next) == Some(pages)
    }

    fn free_pages(&self) -> u64 {
        self.free.values().map(|count| u64::from(*count)).sum()
    }

    fn held_pages(&self) -> u64 {
        self.held.values().flatten().map(|(_, count)| u64::from(*count)).sum()
    }

    /// Gives a file the first `pages` free pages; `None` if there are fewer.
    fn take(&mut self, name: &str, pages: u64) -> Option<Vec<u32>> {
        debug_assert!(!self.held.contains_key(name), "a file gives its pages back before it takes others");
        if self.free_pages() < pages {
            return None;
        }
        let (mut left, mut runs) = (pages, Vec::new());
        while left > 0 {
            let (start, count) = self.free.pop_first()?;
            let taken = u32::try_from(left).unwrap_or(u32::MAX).min(count);
            runs.push((start, taken));
            left -= u64::from(taken);
            if taken < count {
                self.free.insert(start + taken, count - taken);
            }
        }
        let all = numbers(&runs);
        self.held.insert(name.to_owned(), runs);
        Some(all)
    }

    /// Frees a file's pages and returns them.
    fn give(&mut self, name: &str) -> Vec<u32> {
        let runs = self.held.remove(name).unwrap_or_default();
        for (mut start, mut count) in runs.iter().copied() {
            if let Some((before, pages)) = self.free.range(..start).next_back().map(|(before, pages)| (*before, *pages))
                && before + pages == start
            {
                self.free.remove(&before);
                (start, count) = (before, pages + count);
            }
            if let Some(pages) = self.free.remove(&(start + count)) {
                count += pages;
            }
            self.free.insert(start, count);
        }
        numbers(&runs)
    }
}

fn numbers(runs: &[(u32, u32)]) -> Vec<u32> {
    runs.iter().flat_map(|(start, count)| *start..start + count).collect()
}

/// # Errors
/// The drive has worn out.
fn check_worn(held: &Held) -> Result<(), ActorError> {
    held.cause().map_or(Ok(()), |cause| {
        Err(ActorError::Full(format!("the simulated drive has worn out ({}), and takes no writes", cause.name())))
    })
}

/// Writes a file to a drive.
pub(crate) fn write(held: &mut Held, files: &mut Files, name: &str, bytes: u64) -> Result<(), ActorError> {
    check_worn(held)?;
    let page = u64::from(held.unit_bytes());
    let pages = bytes.div_ceil(page);
    let full = || {
        format!("the simulated drive has {} of {} pages free, and {pages} are needed", files.free_pages(), held.pages())
    };
    let why = full();
    if pages > u64::from(held.room()) {
        let room = held.room();
        return Err(ActorError::Full(format!(
            "the simulated drive shrank to {room} free pages, and {pages} are needed"
        )));
    }
    let taken = files.take(name, pages).ok_or(ActorError::Full(why))?;
    held.write(&taken, &AtomicBool::new(false));
    check_worn(held)
}

/// Removes a file from a drive.
pub(crate) fn trim(held: &mut Held, files: &mut Files, name: &str) {
    let pages = files.give(name);
    held.trim(&pages, &AtomicBool::new(false));
}

/// A drive kept in a folder, beneath the files of a server.
pub struct Simulated {
    path: PathBuf,
    kept: Kept,
    files: Files,
    /// The file of the table of files' pages.
    table: PathBuf,
}

impl Simulated {
    /// Opens the drive at `path`, for the server of `folder`. The table of files' pages is saved in the folder when the server ends in order; files
    /// that a kill leaves unknown are written again.
    ///
    /// # Errors
    /// It is no drive, or in use. A dead drive is opened: it keeps its data, and takes no writes.
    pub fn open(path: &Path, folder: &Path) -> Result<Self, ActorError> {
        let shown = excerpt_path(path);
        let kept = Kept::open(path).map_err(|error| ActorError::Invalid(error.to_string()))?;
        let table = folder.join("simulated.json");
        let files = match std::fs::read(&table) {
            Ok(text) => serde_json::from_slice(&text).map_err(|error| {
                ActorError::Invalid(format!("{}: {error}; without it shares are written again", excerpt_path(&table)))
            })?,
            Err(_) => Files::new(kept.pages()),
        };
        if !files.cover(kept.pages()) {
            return Err(ActorError::Invalid(format!(
                "{} is of another drive than {shown}, or damaged: its files and what is free are not {shown}'s pages, each once",
                excerpt_path(&table)
            )));
        }
        Ok(Self { path: path.to_owned(), kept, files, table })
    }
}

impl Medium for Simulated {
    fn keep(&mut self, file: &str, bytes: u64) -> Result<(), ActorError> {
        if self.files.held.contains_key(file) {
            return Ok(());
        }
        write(&mut self.kept, &mut self.files, file, bytes)
    }

    fn free(&mut self, file: &str) {
        trim(&mut self.kept, &mut self.files, file);
    }

    fn retain(&mut self, is_there: &dyn Fn(&str) -> bool) {
        let gone: Vec<String> = self.files.held.keys().filter(|name| !is_there(name)).cloned().collect();
        gone.iter().for_each(|name| self.free(name));
    }

    fn facts(&self) -> serde_json::Value {
        let counters = self.kept.counters();
        let unit = u64::from(self.kept.unit_bytes());
        let wear = Wear::of(&self.kept);
        serde_json::json!({
            "drive": self.path.display().to_string(),
            "pages": self.kept.pages(),
            "pages_held": self.files.held_pages(),
            "bytes_written": counters.host_bytes_written(unit),
            "bytes_programmed": counters.programmed_total() * unit,
            "erases_mean": wear.erases_mean,
            "life_used": self.kept.life_used(),
            "cause": self.kept.cause().map(|cause| cause.name()),
        })
    }

    fn save(&mut self) -> Result<(), ActorError> {
        let text = serde_json::to_vec(&self.files).map_err(|error| ActorError::System(error.to_string()))?;
        self.kept.save("served shares of objects".to_owned()).map_err(|error| ActorError::System(error.to_string()))?;
        crate::store::replace(&self.table, &text)
    }
}

/// Writes and wear of a drive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Wear {
    pub(crate) bytes_written: u64,
    pub(crate) bytes_programmed: u64,
    pub(crate) erases_mean: f64,
}

impl Wear {
    pub(crate) fn of(held: &Held) -> Self {
        let (counters, unit) = (held.counters(), u64::from(held.unit_bytes()));
        let drives = held.drives();
        let counts: Vec<u32> = drives.iter().flat_map(|(_, drive)| drive.superblock_erase_counts()).copied().collect();
        let erases = counts.iter().map(|count| f64::from(*count)).sum::<f64>();
        Self {
            bytes_written: counters.host_bytes_written(unit),
            bytes_programmed: counters.programmed_total() * unit,
            erases_mean: erases / counts.len().max(1) as f64,
        }
    }

    /// Returns the increase since `before`.
    pub(crate) fn since(&self, before: &Self) -> Self {
        assert!(before.bytes_written <= self.bytes_written, "bytes that were written are never taken back");
        assert!(before.bytes_programmed <= self.bytes_programmed, "bytes that were programmed are never taken back");
        Self {
            bytes_written: self.bytes_written - before.bytes_written,
            bytes_programmed: self.bytes_programmed - before.bytes_programmed,
            erases_mean: self.erases_mean - before.erases_mean,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_given_and_taken_back_whole() {
        let mut files = Files::new(100);
        assert_eq!(files.take("a", 30).unwrap(), (0..30).collect::<Vec<u32>>());
        files.take("b", 30).unwrap();
        files.take("c", 30).unwrap();
        assert_eq!(files.take("d", 11), None);
        assert_eq!(files.give("b").len(), 30);
        // Two runs, where it fits.
        assert_eq!(files.take("d", 35).unwrap(), (30..60).chain(90..95).collect::<Vec<u32>>());
        assert!(files.take("empty", 0).unwrap().is_empty());
        for name in ["a", "c", "d", "empty", "never"] {
            files.give(name);
        }
        assert_eq!(files, Files::new(100));
    }

    #[test]
    fn a_table_has_every_page_once() {
        let mut files = Files::new(100);
        files.take("a", 30).unwrap();
        files.take("empty", 0).unwrap();
        assert!(files.cover(100) && !files.cover(99) && !files.cover(101));
        let with = |free: &[(u32, u32)], held: &[(u32, u32)]| Files {
            free: free.iter().copied().collect(),
            held: BTreeMap::from([("a".to_owned(), held.to_vec())]),
        };
        assert!(with(&[(30, 70)], &[(10, 20), (0, 10)]).cover(100));
        for (free, held) in [
            (&[(30, 70)][..], &[(0, 20), (10, 10)][..]),
            (&[(40, 60)], &[(20, 20), (20, 20)]),
            (&[(30, 70)], &[(u32::MAX, 30)]),
            (&[(30, 70), (100, 0)], &[(0, 30)]),
            (&[(0, 100)], &[(0, u32::MAX), (u32::MAX, 1)]),
        ] {
            assert!(!with(free, held).cover(100), "{free:?} {held:?}");
        }
    }
}
