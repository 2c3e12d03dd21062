//! The folder of a simulation. It records what is done, so that an interrupted simulation can go on, and half a fleet never reads as a whole one.
//!
//! ```text
//! simulated.json                          the fleet, the range of its drives, and whether they are all there
//! fleet.toml                              the settings, with every default; it makes the same fleet again in any place
//! drive-0.toml                            the drive of model 0, if the settings name a file for it
//! SHA256SUMS                              the hashes of all these files, once they are all there
//! records/simulated-000000.parquet        the records of drives 0 to 15
//! truth/simulated-000000.parquet          what became of them
//! ```
//!
//! A file is written under another name, and moved to its place when it is on the disk. `simulated.json` says `"whole": true` only when all are.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File, TryLockError};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::TwinError;
use crate::fleet::Fleet;
use crate::sums::{SUMS, Sums};
use crate::table::{self, Kind, Writer};

/// Version of the folder's format. It changes when a reader of the old format would misread the new one.
pub const FORMAT: u32 = 3;

/// The mark in `simulated.json` that tells it from other files of that name.
pub const MARK: &str = "a fleet simulated by wane";

/// Drives in a file. Ranges of drives begin and end between files, so that ranges simulated separately give the same bytes together.
pub const FILE_DRIVES: u32 = 16;

const MANIFEST: &str = "simulated.json";
const SETTINGS: &str = "fleet.toml";

/// The folders of drives' files.
const KINDS: [&str; 2] = ["records", "truth"];

/// What to do with a folder that holds another simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Others {
    /// Refuse it.
    Keep,
    /// Remove what the other simulation wrote.
    Replace,
}

/// Contents of `simulated.json`.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Manifest {
    /// [`MARK`].
    pub mark: String,
    /// [`FORMAT`].
    pub format: u32,
    /// The fleet's hash.
    pub fleet: String,
    /// Drives of the whole fleet.
    pub drives_of_fleet: u32,
    /// The first drive of this folder.
    pub first: u32,
    /// The end of its range of drives, which is excluded.
    pub end: u32,
    /// Whether all of them are there.
    pub whole: bool,
    /// Bytes of the real drive for each simulated byte, by model.
    pub scale: BTreeMap<String, f64>,
    /// Rows of records, once they are all there.
    pub rows: u64,
    /// Drives that failed, by cause, once they are all there.
    pub failed: BTreeMap<String, u64>,
}

impl Manifest {
    fn to_text(&self) -> String {
        serde_json::to_string_pretty(self).expect("plain values") + "\n"
    }
}

/// A folder that this process writes to.
pub(crate) struct Folder {
    path: PathBuf,
    /// Lock that is held as long as the folder is in use.
    _lock: File,
}

impl Folder {
    /// Claims a folder for a fleet's drives, and makes it if it is missing. Returns whether its manifest says that it is whole already.
    pub(crate) fn claim(
        path: &Path,
        fleet: &Fleet,
        first: u32,
        end: u32,
        others: Others,
    ) -> Result<(Self, bool), TwinError> {
        let refuse = |holds: &str| TwinError::Folder { folder: path.to_owned(), holds: holds.to_owned() };
        if path.is_file() {
            return Err(refuse("is a file, and a simulated fleet is a folder"));
        }
        fs::create_dir_all(path).map_err(|error| TwinError::unwritten(path, &error))?;
        let manifest = path.join(MANIFEST);
        let has_drives = !parts_of(path)?.is_empty();
        let is_other = |file| !(is_ours(&file) || has_drives && is_of_drives(&file));
        let holds_others = fs::read_dir(path).is_ok_and(|mut files| files.any(is_other));
        if !manifest.exists() && holds_others {
            return Err(refuse("holds something else than a simulated fleet; give an empty folder or another name"));
        }
        let lock = path.join(".lock");
        let file = File::create(&lock).map_err(|error| TwinError::unwritten(&lock, &error))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(refuse("another process simulates into it; wait until it is done"));
            }
            Err(TryLockError::Error(error)) => return Err(TwinError::unwritten(&lock, &error)),
        }
        let folder = Self { path: path.to_owned(), _lock: file };
        let wanted = folder.manifest_of(fleet, first, end);
        let there = match read_manifest(path) {
            Ok(there) => Some(there),
            Err(TwinError::Format { found, .. }) if others == Others::Keep => {
                return Err(refuse(&format!(
                    "has format {found}, this version of wane writes format {FORMAT}; --force begins anew"
                )));
            }
            // It is unknown to which fleet these drives belong.
            Err(_) if has_drives && !holds_others && others == Others::Keep => {
                return Err(refuse(&format!(
                    "has drives, but {MANIFEST}, which says to which fleet they belong, is missing or damaged; --force begins anew"
                )));
            }
            Err(_) if has_drives && !holds_others => {
                folder.clear()?;
                None
            }
            Err(error) if manifest.exists() => return Err(error),
            Err(_) => None,
        };
        if let Some(there) = there {
            let same = (&there.fleet, there.first, there.end) == (&wanted.fleet, first, end);
            match (same, others) {
                (true, Others::Keep) => return Ok((folder, there.whole)),
                (false, Others::Keep) => {
                    let holds = format!(
                        "holds drives {}..{} of another simulation ({}), and this is {first}..{end} of {}; --force begins anew",
                        there.first, there.end, there.fleet, wanted.fleet
                    );
                    return Err(refuse(&holds));
                }
                (_, Others::Replace) => folder.clear()?,
            }
        }
        folder.write_settings(fleet)?;
        folder.write_manifest(&wanted)?;
        Ok((folder, false))
    }

    fn write_settings(&self, fleet: &Fleet) -> Result<(), TwinError> {
        settings_of(fleet).iter().try_for_each(|(name, text)| self.write(name, text))
    }

    fn manifest_of(&self, fleet: &Fleet, first: u32, end: u32) -> Manifest {
        Manifest {
            mark: MARK.to_owned(),
            format: FORMAT,
            fleet: fleet.hash().to_owned(),
            drives_of_fleet: fleet.slots.len() as u32,
            first,
            end,
            scale: fleet.models().map(|(name, _, scale)| (name.to_owned(), scale)).collect(),
            ..Manifest::default()
        }
    }

    /// Marks the folder as not whole, because some of its files are missing.
    pub(crate) fn reopen(&self, fleet: &Fleet, range: (u32, u32)) -> Result<(), TwinError> {
        self.write_manifest(&self.manifest_of(fleet, range.0, range.1))
    }

    /// Marks the folder as whole, and removes files that interrupted runs had begun.
    pub(crate) fn finish(&self, fleet: &Fleet, range: (u32, u32), told: &Told) -> Result<(), TwinError> {
        for path in parts_of(&self.path)?.into_iter().filter(|path| is_staged(path)) {
            fs::remove_file(&path).map_err(|error| TwinError::unwritten(&path, &error))?;
        }
        self.write_settings(fleet)?;
        let mut sums = Sums::of(&self.path, &names_of(range))?;
        for (name, text) in self.small_files(fleet, range, told) {
            sums.add(name, &text);
        }
        self.write(SUMS, &sums.to_text())?;
        self.write_manifest(&self.whole_manifest(fleet, range, told))
    }

    fn whole_manifest(&self, fleet: &Fleet, range: (u32, u32), told: &Told) -> Manifest {
        let failed = told.failed.iter().map(|(cause, count)| ((*cause).to_owned(), *count)).collect();
        Manifest { whole: true, rows: told.rows, failed, ..self.manifest_of(fleet, range.0, range.1) }
    }

    /// Returns the names and contents of a whole fleet's files, apart from those of its drives.
    fn small_files(&self, fleet: &Fleet, range: (u32, u32), told: &Told) -> Vec<(String, String)> {
        let mut files = settings_of(fleet);
        files.push((MANIFEST.to_owned(), self.whole_manifest(fleet, range, told).to_text()));
        files
    }

    /// Whether a whole fleet's files, apart from those of its drives, and their hashes are as they were written.
    pub(crate) fn is_as_made(&self, fleet: &Fleet, range: (u32, u32), told: &Told) -> bool {
        let sums = Sums::read(&self.path);
        self.small_files(fleet, range, told).iter().all(|(name, text)| {
            sums.has(name, text) && fs::read(self.path.join(name)).is_ok_and(|found| found == text.as_bytes())
        })
    }

    fn write_manifest(&self, manifest: &Manifest) -> Result<(), TwinError> {
        self.write(MANIFEST, &manifest.to_text())
    }

    /// Replaces a small file, whole or not at all.
    fn write(&self, name: &str, text: &str) -> Result<(), TwinError> {
        let staged = self.path.join(format!(".{name}"));
        let unwritten = |error| TwinError::unwritten(&staged, &error);
        let mut file = File::create(&staged).map_err(unwritten)?;
        file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(unwritten)?;
        self.settle(&staged, &self.path.join(name))
    }

    fn settle(&self, staged: &Path, place: &Path) -> Result<(), TwinError> {
        fs::rename(staged, place).map_err(|error| TwinError::unwritten(place, &error))?;
        let folder = place.parent().unwrap_or(&self.path);
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(|error| TwinError::unwritten(folder, &error))
    }

    fn place(&self, kind: Kind, number: u32) -> PathBuf {
        self.path.join(kind.file(number))
    }

    /// Whether the two files of a group of drives are there, whole, and of this fleet.
    pub(crate) fn holds(&self, fleet: &Fleet, number: u32) -> bool {
        [Kind::Records, Kind::Truth].iter().all(|kind| table::is_of(&self.place(*kind, number), fleet, *kind, number))
    }

    /// Removes files of a whole fleet that have changed since they were written.
    pub(crate) fn remove_damaged(&self, range: (u32, u32)) -> Result<(), TwinError> {
        let names = names_of(range);
        for name in Sums::read(&self.path).damaged(&self.path, &names) {
            let path = self.path.join(name);
            fs::remove_file(&path).map_err(|error| TwinError::unwritten(&path, &error))?;
        }
        Ok(())
    }

    /// Outcome of the drives of a file, if [`Self::holds`] them.
    pub(crate) fn told(&self, fleet: &Fleet, number: u32) -> Result<Option<Told>, TwinError> {
        let (records, truth) = (self.place(Kind::Records, number), self.place(Kind::Truth, number));
        if !self.holds(fleet, number) {
            return Ok(None);
        }
        let rows = table::rows_of(&records)?;
        let causes = table::causes_of(&truth)?;
        let mut told = Told { drives: causes.len() as u32, rows, ..Told::default() };
        for cause in causes.into_iter().flatten() {
            *told.failed.entry(cause.name()).or_default() += 1;
        }
        Ok(Some(told))
    }

    /// Begins the two files of a group of drives; they count once [`Staged::settle`] is done.
    pub(crate) fn stage(&self, fleet: &Fleet, number: u32) -> Result<Staged, TwinError> {
        let mut files = Vec::new();
        for kind in [Kind::Records, Kind::Truth] {
            let place = self.place(kind, number);
            let folder = place.parent().unwrap_or(&self.path);
            fs::create_dir_all(folder).map_err(|error| TwinError::unwritten(folder, &error))?;
            let staged = folder.join(format!(".simulated-{number:06}.parquet"));
            files.push((Writer::create(fleet, kind, number, &staged)?, staged, place));
        }
        let [records, truth] = files.try_into().unwrap_or_else(|_| unreachable!("there are two kinds"));
        Ok(Staged { records, truth })
    }

    /// Moves two files to their places, the records last: if the records are there, both are.
    pub(crate) fn settle_both(&self, staged: Staged) -> Result<(), TwinError> {
        for (writer, staged, place) in [staged.truth, staged.records] {
            writer.close(&staged)?;
            self.settle(&staged, &place)?;
        }
        Ok(())
    }

    /// Lists the files of the drives that the settings name.
    fn drives(&self) -> Result<Vec<PathBuf>, TwinError> {
        let files = fs::read_dir(&self.path).map_err(|error| TwinError::unwritten(&self.path, &error))?;
        Ok(files.flatten().filter(|file| is_drive_file(&file.file_name())).map(|file| file.path()).collect())
    }

    /// Removes the files that a simulation wrote, and no others.
    fn clear(&self) -> Result<(), TwinError> {
        let mut files: Vec<PathBuf> = [MANIFEST, SETTINGS, SUMS].map(|name| self.path.join(name)).into();
        files.extend(self.drives()?);
        files.extend(parts_of(&self.path)?);
        for file in files {
            match fs::remove_file(&file) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(TwinError::unwritten(&file, &error));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

fn is_staged(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'))
}

/// Names of the files of drives, relative to the folder.
fn names_of((first, end): (u32, u32)) -> Vec<String> {
    let numbers = first / FILE_DRIVES..end.div_ceil(FILE_DRIVES);
    numbers.flat_map(|number| [Kind::Records, Kind::Truth].map(|kind| kind.file(number))).collect()
}

/// Name of the file of a model's drive.
fn drive_file(model: usize) -> String {
    format!("drive-{model}.toml")
}

fn is_drive_file(name: &OsStr) -> bool {
    let number = name.to_str().and_then(|name| name.strip_prefix("drive-")?.strip_suffix(".toml")?.parse().ok());
    number.is_some_and(|number: usize| name.to_str() == Some(&drive_file(number)))
}

/// Returns names and contents of the settings' file and of the drives' files beside it, which the settings name.
fn settings_of(fleet: &Fleet) -> Vec<(String, String)> {
    let mut settings = fleet.settings.clone();
    let mut files = Vec::new();
    for (number, (own, model)) in settings.model.iter_mut().zip(&fleet.models).enumerate() {
        if own.drive.is_some() {
            let name = drive_file(number);
            files.push((name.clone(), model.scenario.to_toml()));
            own.drive = Some(name);
        }
    }
    files.push((SETTINGS.to_owned(), toml::to_string(&settings).expect("settings are TOML")));
    files
}

/// Lists every file of drives, whole or begun.
fn parts_of(path: &Path) -> Result<Vec<PathBuf>, TwinError> {
    let mut parts = Vec::new();
    for folder in KINDS.map(|name| path.join(name)) {
        for file in fs::read_dir(&folder).into_iter().flatten() {
            let path = file.map_err(|error| TwinError::unwritten(&folder, &error))?.path();
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
            if name.trim_start_matches('.').starts_with("simulated-") && name.ends_with(".parquet") {
                parts.push(path);
            }
        }
    }
    parts.sort();
    Ok(parts)
}

/// Whether it is a file that lies beside finished drives.
fn is_of_drives(file: &std::io::Result<fs::DirEntry>) -> bool {
    let name = file.as_ref().map(fs::DirEntry::file_name).unwrap_or_default();
    KINDS.iter().chain(&[MANIFEST, SUMS]).any(|own| *own == name)
}

/// Whether a run that ended at this point may have made it.
fn is_ours(file: &std::io::Result<fs::DirEntry>) -> bool {
    let name = file.as_ref().map(fs::DirEntry::file_name).unwrap_or_default();
    let plain = name.to_str().unwrap_or_default().trim_start_matches('.');
    [".lock", SETTINGS, ".fleet.toml", ".simulated.json", ".SHA256SUMS"].iter().any(|own| *own == name)
        || is_drive_file(OsStr::new(plain))
}

/// Reads a folder's manifest.
///
/// # Errors
/// It holds no simulation, or one of another format.
pub fn read_manifest(folder: &Path) -> Result<Manifest, TwinError> {
    let path = folder.join(MANIFEST);
    let refuse = |holds: String| TwinError::Folder { folder: folder.to_owned(), holds };
    let text =
        fs::read_to_string(&path).map_err(|error| TwinError::File { path: path.clone(), why: error.to_string() })?;
    let told: Option<Manifest> = serde_json::from_str(&text).ok();
    let told = told.filter(|told| told.mark == MARK);
    let told = told.ok_or_else(|| refuse(format!("{MANIFEST} is not of a simulated fleet; give another folder")))?;
    if told.format != FORMAT {
        return Err(TwinError::Format { folder: folder.to_owned(), found: told.format, wanted: FORMAT });
    }
    Ok(told)
}

/// The files of a group of drives, while they are written.
pub(crate) struct Staged {
    pub(crate) records: (Writer, PathBuf, PathBuf),
    pub(crate) truth: (Writer, PathBuf, PathBuf),
}

/// Outcome of a group of drives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// Drives that were simulated.
    pub drives: u32,
    /// Their records.
    pub rows: u64,
    /// Number of drives that failed, by cause.
    pub failed: BTreeMap<&'static str, u64>,
}

impl Told {
    pub(crate) fn add(&mut self, other: &Self) {
        self.drives += other.drives;
        self.rows += other.rows;
        for (cause, count) in &other.failed {
            *self.failed.entry(cause).or_default() += count;
        }
    }
}

impl<'a> std::iter::Sum<&'a Told> for Told {
    fn sum<I: Iterator<Item = &'a Told>>(all: I) -> Self {
        all.fold(Self::default(), |mut sum, one| {
            sum.add(one);
            sum
        })
    }
}
