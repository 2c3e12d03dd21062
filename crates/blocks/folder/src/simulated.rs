//! A disk in memory, for tests: it fails where it is told to, and a crash loses what a real disk may lose.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use wane_sim::Streams;

use crate::{Disk, Output};

/// Bytes that a disk writes whole.
const SECTOR: usize = 512;

/// How a call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failing {
    /// EIO. A sync that fails so loses what was to be synced: later syncs say that all is well, as on Linux.
    Io,
    /// ENOSPC. A write may have written a part.
    NoSpace,
    /// The process is killed in the call, and makes no further one. A write has written N/256 of its bytes. Each call ends with an error,
    /// as somebody has to be told.
    Killed(u8),
}

impl Failing {
    fn error(self) -> io::Error {
        match self {
            Self::Io => io::Error::other("simulated: input/output error"),
            Self::NoSpace => io::ErrorKind::StorageFull.into(),
            Self::Killed(_) => io::Error::other("simulated: the process was killed"),
        }
    }
}

/// A change of names that a crash may undo.
#[derive(Clone, Debug)]
enum Change {
    Named(PathBuf, usize),
    Removed(PathBuf),
    Renamed(PathBuf, PathBuf),
}

fn change(names: &mut BTreeMap<PathBuf, usize>, change: &Change) {
    match change {
        Change::Named(path, file) => {
            names.insert(path.clone(), *file);
        }
        Change::Removed(path) => {
            names.remove(path);
        }
        Change::Renamed(from, to) => {
            if let Some(file) = names.remove(from) {
                names.insert(to.clone(), file);
            }
        }
    }
}

/// The bytes of a file.
#[derive(Clone, Debug, Default)]
struct File {
    present: Vec<u8>,
    /// What a crash leaves in any case.
    durable: Vec<u8>,
    /// Bytes before this one are not written by a sync any more.
    dirty_from: usize,
}

#[derive(Clone, Debug, Default)]
struct State {
    files: Vec<File>,
    names: BTreeMap<PathBuf, usize>,
    durable_names: BTreeMap<PathBuf, usize>,
    /// Since the folder was synced.
    changes: Vec<Change>,
    calls: u64,
    fail: Option<(u64, Failing)>,
}

impl State {
    /// Counts a call that changes something; it fails if that was asked for.
    fn call(&mut self) -> Result<(), Failing> {
        let number = self.calls;
        self.calls += 1;
        match self.fail {
            // The dead write nothing.
            Some((at, Failing::Killed(_))) if at < number => Err(Failing::Killed(0)),
            Some((at, how)) if at == number => Err(how),
            _ => Ok(()),
        }
    }

    /// Whether the process was killed.
    fn is_dead(&self) -> bool {
        matches!(self.fail, Some((at, Failing::Killed(_))) if at < self.calls)
    }

    fn change(&mut self, what: Change) {
        change(&mut self.names, &what);
        self.changes.push(what);
    }

    fn file(&self, path: &Path) -> io::Result<usize> {
        self.names.get(path).copied().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

/// See the head of this file. Clones are the same disk.
#[derive(Clone, Debug, Default)]
pub struct Simulated(Arc<Mutex<State>>);

impl Simulated {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets the call fail before which `calls` further ones are made. Reads do not count.
    pub fn fail(&self, calls: u64, how: Failing) {
        let mut state = self.state();
        state.fail = Some((state.calls + calls, how));
    }

    /// Lets no further call fail.
    pub fn heal(&self) {
        self.state().fail = None;
    }

    /// Calls so far that changed something.
    pub fn calls(&self) -> u64 {
        self.state().calls
    }

    /// The disk after a crash now: of what was not synced, any sectors are there, one of them torn, and of the changes of names any that came
    /// first. Which, is drawn by `seed`.
    #[must_use]
    pub fn crashed(&self, seed: u64) -> Self {
        let mut state = self.state().clone();
        let mut stream = Streams::new(seed).stream("crash");
        let mut below = |bound: usize| if bound == 0 { 0 } else { stream.below(bound as u64) as usize };
        for file in &mut state.files {
            let length = if file.present.len() >= file.durable.len() {
                file.durable.len() + below(file.present.len() - file.durable.len() + 1)
            } else {
                [file.durable.len(), file.present.len()][below(2)]
            };
            let mut bytes = file.durable.clone();
            bytes.resize(length, 0);
            let torn = below(length / SECTOR + 2);
            for (sector, place) in (0..length).step_by(SECTOR).enumerate() {
                let end = (place + SECTOR).min(length).min(file.present.len());
                let from = place.max(file.dirty_from);
                if from < end && below(2) == 1 {
                    let end = if sector == torn { from + below(end - from) } else { end };
                    bytes[from..end].copy_from_slice(&file.present[from..end]);
                }
            }
            *file = File { present: bytes.clone(), durable: bytes, dirty_from: length };
        }
        let kept = below(state.changes.len() + 1);
        let changes = std::mem::take(&mut state.changes);
        changes[..kept].iter().for_each(|what| change(&mut state.durable_names, what));
        state.names = state.durable_names.clone();
        state.fail = None;
        Self(Arc::new(Mutex::new(state)))
    }

    /// Changes bytes of a file as damage does.
    ///
    /// # Panics
    /// There is no such file.
    pub fn damage(&self, path: &Path, how: impl FnOnce(&mut Vec<u8>)) {
        let mut state = self.state();
        let file = state.file(path).expect("only a file that is there is damaged");
        let file = &mut state.files[file];
        how(&mut file.present);
        file.durable = file.present.clone();
        file.dirty_from = file.present.len();
    }
}

/// A file that is being written.
#[derive(Debug)]
struct Opened {
    disk: Simulated,
    file: usize,
    written: usize,
}

impl Write for Opened {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.disk.state();
        let (count, failed) = match state.call() {
            Ok(()) => (bytes.len(), None),
            Err(how @ Failing::NoSpace) => (bytes.len() / 2, Some(how)),
            Err(how @ Failing::Killed(part)) => (bytes.len() * usize::from(part) / 256, Some(how)),
            Err(how @ Failing::Io) => (0, Some(how)),
        };
        let file = &mut state.files[self.file];
        let end = self.written + count;
        if file.present.len() < end {
            file.present.resize(end, 0);
        }
        file.present[self.written..end].copy_from_slice(&bytes[..count]);
        file.dirty_from = file.dirty_from.min(self.written);
        match failed {
            Some(how) => Err(how.error()),
            None => {
                self.written = end;
                Ok(count)
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Output for Opened {
    fn sync(&mut self) -> io::Result<()> {
        let mut state = self.disk.state();
        let called = state.call();
        if let Err(how @ Failing::Killed(_)) = called {
            // What the system has it may still write.
            return Err(how.error());
        }
        let file = &mut state.files[self.file];
        let from = std::mem::replace(&mut file.dirty_from, file.present.len());
        called.map_err(Failing::error)?;
        file.durable.resize(file.present.len(), 0);
        file.durable[from..].copy_from_slice(&file.present[from..]);
        Ok(())
    }

    fn sync_later(&self) -> io::Result<Box<dyn FnOnce() -> io::Result<()> + Send>> {
        let mut same = Self { disk: self.disk.clone(), file: self.file, written: self.written };
        Ok(Box::new(move || same.sync()))
    }

    fn reserve(&mut self, bytes: u64) -> io::Result<()> {
        let mut state = self.disk.state();
        state.call().map_err(Failing::error)?;
        let file = &mut state.files[self.file];
        let bytes = bytes as usize;
        if file.present.len() < bytes {
            file.present.resize(bytes, 0);
        }
        Ok(())
    }

    fn length(&self) -> u64 {
        self.written as u64
    }
}

impl Disk for Simulated {
    fn create(&self, path: &Path) -> io::Result<Box<dyn Output>> {
        let mut state = self.state();
        state.call().map_err(Failing::error)?;
        let file = state.files.len();
        state.files.push(File::default());
        state.change(Change::Named(path.to_owned(), file));
        drop(state);
        Ok(Box::new(Opened { disk: self.clone(), file, written: 0 }))
    }

    fn append(&self, path: &Path, length: u64) -> io::Result<Box<dyn Output>> {
        let mut state = self.state();
        state.call().map_err(Failing::error)?;
        let file = state.file(path)?;
        let length = length as usize;
        let content = &mut state.files[file];
        if content.present.len() < length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        content.present.truncate(length);
        content.dirty_from = content.dirty_from.min(length);
        drop(state);
        Ok(Box::new(Opened { disk: self.clone(), file, written: length }))
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let state = self.state();
        Ok(state.files[state.file(path)?].present.clone())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.call().map_err(Failing::error)?;
        state.file(from)?;
        state.change(Change::Renamed(from.to_owned(), to.to_owned()));
        Ok(())
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.call().map_err(Failing::error)?;
        let file = state.file(from)?;
        state.change(Change::Named(to.to_owned(), file));
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.call().map_err(Failing::error)?;
        state.file(path)?;
        state.change(Change::Removed(path.to_owned()));
        Ok(())
    }

    fn names(&self, folder: &Path) -> io::Result<Vec<String>> {
        let state = self.state();
        let within = state.names.keys().filter(|path| path.parent() == Some(folder));
        Ok(within.filter_map(|path| path.file_name()).map(|name| name.to_string_lossy().into_owned()).collect())
    }

    fn sync_folder(&self, _folder: &Path) {
        let mut state = self.state();
        if state.is_dead() {
            return;
        }
        state.durable_names = state.names.clone();
        state.changes.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crash_keeps_what_was_synced_and_any_of_the_rest() {
        let disk = Simulated::default();
        let path = Path::new("/d/a");
        let mut file = disk.create(path).unwrap();
        file.write_all(&[1; 1000]).unwrap();
        file.sync().unwrap();
        disk.sync_folder(Path::new("/d"));
        file.write_all(&[2; 3000]).unwrap();
        let (mut lengths, mut torn, mut whole) = (std::collections::BTreeSet::new(), 0, 0);
        for seed in 0..300 {
            let found = disk.crashed(seed).read(path).unwrap();
            assert!(found[..1000].iter().all(|byte| *byte == 1), "what was synced is there");
            lengths.insert(found.len());
            let rest = &found[1000..];
            torn += usize::from(rest.contains(&0) && rest.contains(&2));
            whole += usize::from(found.len() == 4000 && !rest.contains(&0));
        }
        assert!(lengths.len() > 100 && torn > 50, "{lengths:?} {torn} {whole}");
        file.sync().unwrap();
        assert_eq!(disk.crashed(5).read(path).unwrap().len(), 4000);
    }

    #[test]
    fn a_sync_that_failed_is_not_made_good_by_another() {
        let disk = Simulated::default();
        let path = Path::new("/d/a");
        let mut file = disk.create(path).unwrap();
        disk.sync_folder(Path::new("/d"));
        file.write_all(&[7; 512]).unwrap();
        disk.fail(0, Failing::Io);
        assert!(file.sync().is_err());
        file.write_all(&[8; 512]).unwrap();
        file.sync().unwrap();
        let found = disk.crashed(1).read(path).unwrap();
        assert_eq!((&found[..512], &found[512..]), (&[0; 512][..], &[8; 512][..]));
        // Until then it is there.
        assert_eq!(disk.read(path).unwrap()[0], 7);
    }

    #[test]
    fn a_process_that_is_killed_has_written_a_part_and_makes_no_further_call() {
        let disk = Simulated::default();
        let path = Path::new("/d/a");
        let mut file = disk.create(path).unwrap();
        disk.fail(1, Failing::Killed(128));
        file.write_all(&[1; 100]).unwrap();
        assert!(file.write_all(&[2; 100]).is_err());
        assert!(file.write_all(&[3; 100]).is_err() && file.sync().is_err() && disk.remove(path).is_err());
        disk.sync_folder(Path::new("/d"));
        disk.heal();
        assert_eq!(disk.read(path).unwrap(), [[1; 100].as_slice(), &[2; 50]].concat());
        assert!((0..40).any(|seed| disk.crashed(seed).read(path).is_err()), "its name was not synced");
    }

    #[test]
    fn names_come_back_in_the_order_of_their_changes() {
        let disk = Simulated::default();
        let folder = Path::new("/d");
        disk.create(&folder.join("a")).unwrap();
        disk.rename(&folder.join("a"), &folder.join("b")).unwrap();
        disk.link(&folder.join("b"), &folder.join("c")).unwrap();
        disk.remove(&folder.join("b")).unwrap();
        let mut seen = std::collections::BTreeSet::new();
        for seed in 0..200 {
            seen.insert(disk.crashed(seed).names(folder).unwrap());
        }
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let want = [names(&[]), names(&["a"]), names(&["b"]), names(&["b", "c"]), names(&["c"])];
        assert_eq!(seen, want.into());
        disk.sync_folder(folder);
        assert_eq!(disk.crashed(3).names(folder).unwrap(), ["c"]);
    }
}
