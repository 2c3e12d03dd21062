//! A drive in a folder: a manifest, the drive's state, and a lock.
//!
//! | file | contents |
//! |---|---|
//! | `drive.json` | the manifest: version, the drive's scenario, the valid state file, what was done to the drive |
//! | `state.N` | the state of save N, an archive (`wane-archive`) |
//! | `pieces.N` | where the pieces of `state.N` lie, if they are many; it saves reading, and a state without it is looked through |
//! | `journal.N` | what was done to the drive since its last save, if it is or was served (`wane-journal`) |
//! | `lock` | held by the process that has the drive open; notes the number of the last save, and how far the journal was on the disk |
//!
//! A save writes a new state file beside the old one, and then renames a new manifest into place. Before the rename the old drive
//! is valid, after it the new one, even if the machine stops. State files never change once they are written. A fork is a folder
//! with hard links to them. A save writes only the pieces of 256 KiB that are in no earlier state file, and of one of which less
//! than half changed only the changes; such files stay as long as they are needed. Only a save removes files: opening, reading
//! and forking leave the folder as it is.
//!
//! A new drive is made in a hidden folder `.NAME.PID.part` beside its place. A process that is killed leaves that folder behind. Nothing removes
//! it: whether a process still works in it cannot be known for sure, and the folder may be one of the user's.

mod manifest;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use wane_archive::{ArchiveError, Index, Others, Pieces, Reader, Writer};
use wane_folder::{Disk, Holder, Lock, LockError, Output, Staging, StagingError, System, UNFINISHED, replace};
use wane_journal::Place;
use wane_units::{excerpt_path, why_unwritten};

use manifest::ManifestError;
pub use manifest::{JournalStart, MANIFEST, Manifest, Stored, VERSION};

const LOCK: &str = "lock";
/// The index of the state, with its number behind it.
const PIECES: &str = "pieces.";
/// Lines of it: the number of the last save; what sets the newest journal apart, its records on the disk, and whether it was closed there.
const SAVE_LINE: u64 = 0;
const JOURNAL_LINE: u64 = 1;
/// Most earlier state files to which a save refers.
const SHARES_MAX: usize = 8;
/// An earlier state file of which less than 1/`SHARE_MIN` is needed is not kept.
const SHARE_MIN: u64 = 4;

/// Bytes that are read at once from a state file that is read in short pieces.
const READ_BYTES: usize = 1 << 16;

/// The same where most bytes are left out: what the buffer takes behind them is mostly left out too.
const LATE_BYTES: usize = 1 << 12;

/// Why a drive's folder cannot be used. Each message names the folder.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ShelfError {
    /// Something is there already.
    #[error("{0} is there already; give another name, or remove it")]
    Exists(String),
    /// Nothing is there.
    #[error("{0}: there is no such drive")]
    Missing(String),
    /// The folder is no drive.
    #[error("{0} is not a drive: it has no {MANIFEST}")]
    NotADrive(String),
    /// Somebody has it open.
    #[error("{0} is in use by {1}; wait until that has ended")]
    Busy(String, Holder),
    /// Its manifest cannot be used.
    #[error("{0}/{MANIFEST}: {1}")]
    Manifest(String, ManifestError),
    /// Its state cannot be read.
    #[error("{path}/{file} cannot be read: {error}")]
    State {
        /// The folder.
        path: String,
        /// The state file.
        file: String,
        /// Why.
        error: ArchiveError,
    },
    /// Its state differs in length from what was written.
    #[error("{path}/{file} has {found} B, and was written with {wanted} B: it is damaged")]
    Length {
        /// The folder.
        path: String,
        /// The state file.
        file: String,
        /// Bytes found.
        found: u64,
        /// Bytes that were written.
        wanted: u64,
    },
    /// Its state is intact, but that of another drive.
    #[error(
        "{path}/{file} is the state of another drive, or of another time: {path}/{MANIFEST} was written with another one"
    )]
    AnotherState {
        /// The folder.
        path: String,
        /// The state file.
        file: String,
    },
    /// Its manifest is older than its last save.
    #[error(
        "{path}/{MANIFEST} is of save {found}, but the drive was saved {saved} times: it is an older copy, whose state may be gone; put the newest one back, or remove {path}/{LOCK} to go on from this copy"
    )]
    Older {
        /// The folder.
        path: String,
        /// The save that the manifest names.
        found: u64,
        /// Saves so far.
        saved: u64,
    },
    /// Its journal is shorter than what was noted of it.
    #[error(
        "{path}/{file} ends before record {found}, and {noted} records were on the disk: it was cut off, or is an older copy; put the newest one back, or remove {path}/{LOCK} to go on from this one"
    )]
    Shorter {
        /// The folder.
        path: String,
        /// The segment in which it ends.
        file: String,
        /// Records up to its end.
        found: u64,
        /// Records up to which it was noted to go.
        noted: u64,
    },
    /// It cannot be saved; the saved state is still there.
    #[error("{path} cannot be saved: {error}; the drive is as it was")]
    Unsaved {
        /// The folder.
        path: String,
        /// Why.
        error: ArchiveError,
    },
    /// The system refuses.
    #[error("{path} cannot be {doing}: {why}")]
    System {
        /// The folder.
        path: String,
        /// What was to be done with it.
        doing: &'static str,
        /// What the system says.
        why: String,
    },
}

/// The open and locked folder of a drive.
#[derive(Debug)]
pub struct DriveFolder {
    path: PathBuf,
    manifest: Manifest,
    /// Where the pieces of the present state lie; empty before the state was read.
    pieces: Pieces,
    /// Held as long as the folder is open.
    lock: Lock,
    /// Where saves are written. Tests let it fail.
    disk: Arc<dyn Disk>,
}

fn shown(path: &Path) -> String {
    excerpt_path(path).to_string()
}

fn system(path: &Path, doing: &'static str) -> impl FnOnce(io::Error) -> ShelfError {
    let path = shown(path);
    move |error| ShelfError::System { path, doing, why: why_unwritten(&error) }
}

impl DriveFolder {
    /// Creates a drive at `path`; `write` writes its state, and may change its manifest. The folder appears whole, or not at all.
    ///
    /// # Errors
    /// Something is there already, or the system refuses.
    pub fn create(
        path: &Path,
        manifest: Manifest,
        write: impl FnOnce(&mut Writer<Box<dyn Output>>, &mut Manifest) -> Result<(), ArchiveError>,
    ) -> Result<Self, ShelfError> {
        let staging = staging(path)?;
        let mut manifest = manifest;
        let (stored, pieces) = write_state(&System, staging.path(), 1, None, |writer| write(writer, &mut manifest))
            .map_err(|error| ShelfError::Unsaved { path: shown(path), error })?;
        manifest.stored = stored;
        write_manifest(&System, staging.path(), &manifest).map_err(system(path, "created"))?;
        staging.appear().map_err(unmade(path))?;
        let folder = Self { pieces, ..Self::open(path)? };
        folder.note_save();
        Ok(folder)
    }

    /// Opens the drive at `path`.
    ///
    /// # Errors
    /// It is no drive, damaged, of a later version, or in use.
    pub fn open(path: &Path) -> Result<Self, ShelfError> {
        if !path.exists() {
            return Err(ShelfError::Missing(shown(path)));
        }
        if !path.join(MANIFEST).is_file() {
            return Err(ShelfError::NotADrive(shown(path)));
        }
        let lock = lock(path)?;
        let text = fs::read(path.join(MANIFEST)).map_err(system(path, "read"))?;
        let manifest = Manifest::parse(&text).map_err(|error| ShelfError::Manifest(shown(path), error))?;
        let (found, saved) = (manifest.stored.number, lock.noted(SAVE_LINE));
        if found < saved {
            return Err(ShelfError::Older { path: shown(path), found, saved });
        }
        Ok(Self { path: path.to_owned(), manifest, pieces: Pieces::default(), lock, disk: Arc::new(System) })
    }

    /// Notes the number of the present save, so that an older manifest is recognized.
    fn note_save(&self) {
        self.lock.note(SAVE_LINE, &[self.manifest.stored.number]);
    }

    /// Notes how many records of its journal are on the disk, so that a shorter one is recognized. `is_closed`: it ends there.
    pub fn note_journal(&self, records: u64, is_closed: bool) {
        if let Some(start) = &self.manifest.journal {
            self.lock.note(JOURNAL_LINE, &[start.device, records, u64::from(is_closed)]);
        }
    }

    /// Records of its journal that were noted to be on the disk, and whether it was closed there.
    pub fn noted_journal(&self) -> (u64, bool) {
        let [device, records, is_closed] = [0, 1, 2].map(|line| self.lock.noted(JOURNAL_LINE + line));
        match &self.manifest.journal {
            Some(start) if start.device == device => (records, is_closed == 1),
            _ => (0, false),
        }
    }

    /// Checks that its journal, which ends there, has all records that were noted.
    ///
    /// # Errors
    /// It is shorter.
    pub fn check_journal(&self, end: Place) -> Result<(), ShelfError> {
        let (found, (noted, _)) = (end.number, self.noted_journal());
        if found >= noted {
            return Ok(());
        }
        let (path, file) = (shown(&self.path), wane_journal::name(end.segment));
        Err(ShelfError::Shorter { path, file, found, noted })
    }

    /// Path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The drive's manifest.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Notes for the next save how far its preconditioning is; `None`: it is over.
    pub fn set_unfinished(&mut self, units: Option<u64>) {
        self.manifest.unfinished = units;
    }

    /// Reads the drive's state with `read`, to its end.
    ///
    /// # Errors
    /// The state is damaged, or of another drive.
    pub fn read<T>(
        &mut self,
        read: impl FnOnce(&mut Reader<BufReader<File>>) -> Result<T, ArchiveError>,
    ) -> Result<T, ShelfError> {
        self.read_by(READ_BYTES, |file, number, files| Reader::beside(file, number, Some(files)), read)
    }

    /// As [`DriveFolder::read`], but large tables are read, and verified, when they are needed.
    ///
    /// # Errors
    /// What was read of the state is damaged, or of another drive.
    pub fn read_late<T>(
        &mut self,
        read: impl FnOnce(&mut Reader<BufReader<File>>) -> Result<T, ArchiveError>,
    ) -> Result<T, ShelfError> {
        let index = self.index();
        let begin = |file, number, files| Ok(Reader::late(file, number, files)?.indexed(index));
        self.read_by(LATE_BYTES, begin, read)
    }

    /// Where the pieces of the state lie, if that was noted.
    fn index(&self) -> Option<Index> {
        let Stored { number, digest, .. } = self.manifest.stored;
        let place = self.path.join(format!("{PIECES}{number}"));
        // Opening a pipe would block.
        let bytes = fs::metadata(&place).ok().filter(fs::Metadata::is_file).and_then(|_| fs::read(place).ok())?;
        Index::read(&bytes, digest)
    }

    fn read_by<T>(
        &mut self,
        buffer: usize,
        begin: impl FnOnce(BufReader<File>, u64, Arc<dyn Others>) -> Result<Reader<BufReader<File>>, ArchiveError>,
        read: impl FnOnce(&mut Reader<BufReader<File>>) -> Result<T, ArchiveError>,
    ) -> Result<T, ShelfError> {
        let (opened, unread) = self.state()?;
        let (number, files) = (self.manifest.stored.number, self.files());
        let read = || {
            let mut reader = begin(BufReader::with_capacity(buffer, opened), number, files)?;
            let found = read(&mut reader)?;
            Ok((found, reader.finish_told()?))
        };
        let (found, pieces) = read().map_err(unread)?;
        self.check_digest(&pieces)?;
        self.pieces = pieces;
        Ok(found)
    }

    /// Takes note of a save that another process made while this one had the folder open.
    ///
    /// # Errors
    /// Its manifest or its state cannot be read.
    pub fn renew(&mut self) -> Result<(), ShelfError> {
        let text = fs::read(self.path.join(MANIFEST)).map_err(system(&self.path, "read"))?;
        let manifest = Manifest::parse(&text).map_err(|error| ShelfError::Manifest(shown(&self.path), error))?;
        if manifest == self.manifest {
            return Ok(());
        }
        self.manifest = manifest;
        let (opened, unread) = self.state()?;
        let (number, index) = (self.manifest.stored.number, self.index());
        let reader = Reader::late(BufReader::with_capacity(LATE_BYTES, opened), number, self.files());
        self.pieces = reader.and_then(|reader| reader.indexed(index).skim()).map_err(unread)?;
        Ok(())
    }

    /// A file handle that holds the folder's lock as long as it is open, in whichever process.
    ///
    /// # Errors
    /// The system refuses.
    pub fn share_lock(&self) -> io::Result<File> {
        self.lock.share()
    }

    /// Opens the drive at `path` in a process to which the one that has it open gave its lock.
    ///
    /// # Errors
    /// As of [`DriveFolder::open`].
    pub fn open_beside(path: &Path, lock: File) -> Result<Self, ShelfError> {
        let text = fs::read(path.join(MANIFEST)).map_err(system(path, "read"))?;
        let manifest = Manifest::parse(&text).map_err(|error| ShelfError::Manifest(shown(path), error))?;
        let lock = Lock::shared(lock);
        Ok(Self { path: path.to_owned(), manifest, pieces: Pieces::default(), lock, disk: Arc::new(System) })
    }

    /// Checks that the state belongs to the manifest: a state file of a related drive may have the same name.
    fn check_digest(&self, pieces: &Pieces) -> Result<(), ShelfError> {
        if pieces.digest() == self.manifest.stored.digest {
            return Ok(());
        }
        Err(ShelfError::AnotherState { path: shown(&self.path), file: self.manifest.stored.file.clone() })
    }

    /// The state files in which pieces of the present state may lie.
    fn files(&self) -> Arc<dyn Others> {
        // They are open before a later save removes them.
        let file =
            |stored: &Stored| (stored.number, (stored.file.clone(), File::open(self.path.join(&stored.file)).ok()));
        Arc::new(Files(self.manifest.states().map(file).collect()))
    }

    /// Opens the state file. The second value turns an error in it into a message.
    fn state(&self) -> Result<(File, impl Fn(ArchiveError) -> ShelfError), ShelfError> {
        let path = shown(&self.path);
        for Stored { file, bytes, .. } in self.manifest.states() {
            let unread =
                |error: io::Error| ShelfError::State { path: path.clone(), file: file.clone(), error: error.into() };
            // Opening a pipe would block.
            let meta = fs::metadata(self.path.join(file)).map_err(unread)?;
            if !meta.is_file() {
                return Err(unread(io::Error::other("it is no plain file")));
            }
            let (found, wanted) = (meta.len(), *bytes);
            if found != wanted {
                return Err(ShelfError::Length { path, file: file.clone(), found, wanted });
            }
        }
        let file = self.manifest.stored.file.clone();
        let place = self.path.join(&file);
        let unread = move |error: ArchiveError| ShelfError::State { path: path.clone(), file: file.clone(), error };
        Ok((File::open(place).map_err(|error| unread(error.into()))?, unread))
    }

    /// The pieces that a save need not write again. Leaves out files of which only a small part is needed, and all beyond a
    /// maximum.
    fn known(&self) -> Pieces {
        let mut known = self.pieces.clone();
        let bytes_of =
            |number| self.manifest.states().find(|stored| stored.number == number).map_or(0, |stored| stored.bytes);
        let mut files: Vec<(u64, u64)> = known.files().collect();
        files.sort_unstable_by_key(|(number, wanted)| (std::cmp::Reverse(*wanted), *number));
        for (place, (number, wanted)) in files.into_iter().enumerate() {
            if place >= SHARES_MAX || wanted < bytes_of(number) / SHARE_MIN {
                known.forget(number);
            }
        }
        assert!(known.files().count() <= SHARES_MAX, "a save refers to a few files alone");
        known
    }

    /// Saves the drive with a new manifest; `write` writes its state. Until this is done, the previous save is valid.
    ///
    /// # Errors
    /// The state cannot be written; the drive is as it was.
    pub fn save(
        &mut self,
        manifest: Manifest,
        write: impl FnOnce(&mut Writer<Box<dyn Output>>) -> Result<(), ArchiveError>,
    ) -> Result<(), ShelfError> {
        let mut manifest = manifest;
        let number = self.manifest.stored.number + 1;
        let (stored, pieces) = write_state(&*self.disk, &self.path, number, Some((self.known(), self.files())), write)
            .map_err(|error| ShelfError::Unsaved { path: shown(&self.path), error })?;
        let is_wanted = |stored: &&Stored| pieces.files().any(|(file, _)| file == stored.number);
        manifest.version = VERSION;
        manifest.shares = self.manifest.states().filter(is_wanted).cloned().collect();
        manifest.stored = stored;
        if let Err(error) = write_manifest(&*self.disk, &self.path, &manifest) {
            let _ = self.disk.remove(&self.path.join(&manifest.stored.file));
            return Err(ShelfError::Unsaved { path: shown(&self.path), error: error.into() });
        }
        (self.manifest, self.pieces) = (manifest, pieces);
        self.note_save();
        self.remove_leftovers();
        Ok(())
    }

    /// Makes another drive at `path` with the state of this one's last save, after verifying it. Both share their files, which
    /// never change.
    ///
    /// # Errors
    /// Something is there already, or the system refuses.
    pub fn fork(&self, path: &Path, name: impl FnOnce(&mut Manifest)) -> Result<Self, ShelfError> {
        let (opened, unread) = self.state()?;
        let from = BufReader::with_capacity(READ_BYTES, opened);
        let reader = Reader::beside(from, self.manifest.stored.number, Some(self.files()));
        self.check_digest(&reader.and_then(Reader::verify).map_err(unread)?)?;
        self.fork_before(u64::MAX, path, name)?;
        let fork = Self::open(path)?;
        fork.note_save();
        Ok(fork)
    }

    /// The same without verifying it, and with the segments of its journal before this one alone. The folder is left unlocked. `name` gives its
    /// journal another lineage if the parent lives on.
    ///
    /// # Errors
    /// As of [`DriveFolder::fork`].
    pub fn fork_before(&self, segment: u64, path: &Path, name: impl FnOnce(&mut Manifest)) -> Result<(), ShelfError> {
        let staging = staging(path)?;
        let states = self.manifest.states().map(|stored| stored.file.clone());
        let segments = self.segments(segment).map_err(system(path, "forked"))?;
        for file in states.chain(segments) {
            let (from, to) = (self.path.join(&file), staging.path().join(&file));
            // Another file system cannot link to this one: the files are copied.
            if System.link(&from, &to).is_err() {
                fs::copy(&from, &to).and_then(|_| File::open(&to)?.sync_all()).map_err(system(path, "forked"))?;
            }
        }
        let index = format!("{PIECES}{}", self.manifest.stored.number);
        // It is worth no copy.
        let _ = System.link(&self.path.join(&index), &staging.path().join(&index));
        let mut manifest = self.manifest.clone();
        name(&mut manifest);
        assert!(manifest.states().eq(self.manifest.states()), "a fork has the state files of its parent");
        write_manifest(&System, staging.path(), &manifest).map_err(system(path, "forked"))?;
        staging.appear().map_err(unmade(path))
    }

    /// The files of its journal.
    fn segments(&self, before: u64) -> io::Result<Vec<String>> {
        let Some(start) = &self.manifest.journal else { return Ok(Vec::new()) };
        let is_of_it = |name: &String| {
            wane_journal::segment_of(name).is_some_and(|segment| (start.place.segment..before).contains(&segment))
        };
        Ok(System.names(&self.path)?.into_iter().filter(is_of_it).collect())
    }

    /// Notes that its journal is to stay.
    ///
    /// # Errors
    /// The manifest cannot be written.
    pub fn let_journal_stay(&mut self) -> Result<(), ShelfError> {
        match self.manifest.journal.clone().filter(|start| !start.stays) {
            Some(start) => self.begin_journal(JournalStart { stays: true, ..start }),
            None => Ok(()),
        }
    }

    /// Bytes of its journal's files.
    pub fn journal_bytes(&self) -> u64 {
        let bytes = |name: &String| fs::metadata(self.path.join(name)).map_or(0, |meta| meta.len());
        self.segments(u64::MAX).map_or(0, |names| names.iter().map(bytes).sum())
    }

    /// Files of its journal.
    pub fn journal_segments(&self) -> usize {
        self.segments(u64::MAX).map_or(0, |names| names.len())
    }

    /// The number of the newest segment that lies in its folder; 0 if there is none.
    pub fn newest_segment(&self) -> u64 {
        let names = System.names(&self.path).unwrap_or_default();
        names.iter().filter_map(|name| wane_journal::segment_of(name)).max().unwrap_or(0)
    }

    /// Bytes of its state.
    pub fn state_bytes(&self) -> u64 {
        self.manifest.states().map(|stored| stored.bytes).sum()
    }

    /// Notes where the journal begins of what is done to the drive from now on, as it is saved.
    ///
    /// # Errors
    /// The manifest cannot be written. The drive has no journal then.
    pub fn begin_journal(&mut self, start: JournalStart) -> Result<(), ShelfError> {
        let manifest = Manifest { version: VERSION, journal: Some(start), ..self.manifest.clone() };
        write_manifest(&*self.disk, &self.path, &manifest)
            .map_err(|error| ShelfError::Unsaved { path: shown(&self.path), error: error.into() })?;
        self.manifest = manifest;
        Ok(())
    }

    /// Removes the leftovers of a save that was stopped, and the state before the present one.
    fn remove_leftovers(&self) {
        for name in self.disk.names(&self.path).unwrap_or_default() {
            // Other files in the folder stay, unless their names are those of the drive's next saves.
            let number = name.strip_prefix("state.").and_then(|number| number.parse::<u64>().ok());
            let stored = self.manifest.stored.number;
            let is_wanted = |number| self.manifest.states().any(|state| state.number == number);
            let of_pieces = name.strip_prefix(PIECES).and_then(|number| number.parse::<u64>().ok());
            let is_old = number.is_some_and(|number| !is_wanted(number) && number <= stored + 1)
                || of_pieces.is_some_and(|number| number != stored && number <= stored + 1);
            let is_unfinished = name.strip_suffix(UNFINISHED).is_some_and(|of| {
                of.starts_with("state.")
                    || of.starts_with(PIECES)
                    || of == MANIFEST
                    || wane_journal::segment_of(of).is_some()
            });
            let is_done = wane_journal::segment_of(&name).is_some_and(|segment| {
                self.manifest.journal.as_ref().is_none_or(|start| segment < start.place.segment)
            });
            if is_old || is_unfinished || is_done {
                let _ = self.disk.remove(&self.path.join(&name));
            }
        }
    }
}

/// State files of a folder, by number: their names, and those that are there.
#[derive(Debug)]
struct Files(BTreeMap<u64, (String, Option<File>)>);

impl Others for Files {
    fn read_at(&self, file: u64, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        let (_, open) = self.0.get(&file).ok_or_else(|| io::Error::other("it names a file that is not its own"))?;
        read_exact_at(open.as_ref().ok_or(io::ErrorKind::NotFound)?, offset, bytes)
    }

    fn name(&self, file: u64) -> String {
        self.0.get(&file).map_or_else(|| format!("state.{file}"), |(name, _)| name.clone())
    }
}

#[cfg(unix)]
fn read_exact_at(file: &File, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
    std::os::unix::fs::FileExt::read_exact_at(file, bytes, offset)
}

#[cfg(windows)]
fn read_exact_at(file: &File, mut offset: u64, mut bytes: &mut [u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        let count = std::os::windows::fs::FileExt::seek_read(file, bytes, offset)?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        offset += count as u64;
        bytes = &mut bytes[count..];
    }
    Ok(())
}

fn staging(path: &Path) -> Result<Staging, ShelfError> {
    Staging::of(path).map_err(unmade(path))
}

fn unmade(path: &Path) -> impl FnOnce(StagingError) -> ShelfError {
    move |error| match error {
        StagingError::System(error) => system(path, "created")(error),
        _ => ShelfError::Exists(shown(path)),
    }
}

fn lock(path: &Path) -> Result<Lock, ShelfError> {
    Lock::take(path, LOCK).map_err(|error| match error {
        LockError::System(error) => system(path, "locked")(error),
        LockError::Busy(holder) => ShelfError::Busy(shown(path), holder),
        _ => ShelfError::Busy(shown(path), Holder::Unknown),
    })
}

/// Writes a state file and waits until it is on the disk.
fn write_state(
    disk: &dyn Disk,
    folder: &Path,
    number: u64,
    known: Option<(Pieces, Arc<dyn Others>)>,
    write: impl FnOnce(&mut Writer<Box<dyn Output>>) -> Result<(), ArchiveError>,
) -> Result<(Stored, Pieces), ArchiveError> {
    let file = format!("state.{number}");
    let mut pieces = Pieces::default();
    let written = replace(disk, folder, &file, |output| {
        let mut writer = Writer::beside(output, number, known)?;
        write(&mut writer)?;
        let output;
        (output, pieces) = writer.finish_told()?;
        Ok(output)
    });
    let bytes = written.map_err(|error| match error {
        ArchiveError::Io(error) => ArchiveError::Unsaved(why_unwritten(&error)),
        other => other,
    })?;
    if let Some(index) = pieces.index_bytes() {
        // Without it the state is as good, and slower to open.
        let _ = replace(disk, folder, &format!("{PIECES}{number}"), |mut output| {
            output.write_all(&index)?;
            Ok::<_, io::Error>(output)
        });
    }
    Ok((Stored { file, number, bytes, digest: pieces.digest() }, pieces))
}

fn write_manifest(disk: &dyn Disk, folder: &Path, manifest: &Manifest) -> io::Result<()> {
    let text = manifest.text();
    debug_assert!(Manifest::parse(text.as_bytes()).is_ok(), "a manifest that is written can be read");
    let written = replace(disk, folder, MANIFEST, |mut file| {
        file.write_all(text.as_bytes())?;
        Ok(file)
    });
    written.map(drop)
}
