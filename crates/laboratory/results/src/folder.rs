//! The result folder of a run. It is replaced whole or not at all, by one process at a time, and read as one command left it.
//!
//! This module reads; [`Folder`] writes. The manifest decides which files and runs belong together, see [`Member`].

mod claim;
mod disk;
mod lock;
mod manifest;
#[cfg(test)]
mod tests;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use wane_units::{FILE_TOO_LARGE, Fnv, excerpt_path};

use super::array::of_former;
use super::tables::{Table, check_rises};
use super::{ArrayDrive, BlockRow, Row, Summary, Window};

pub use claim::{Folder, Render, Traces};
pub use manifest::{Inputs, MadeBy, Member};
use manifest::{MANIFEST, Manifest};

/// The resolved scenario of a run, or of an array.
pub const SCENARIO: &str = "scenario.toml";
const SUMMARY: &str = "summary.json";
const TIMELINE_CSV: &str = "timeline.csv";
const TIMELINE: &str = "timeline.parquet";
/// Timed windows and probes, one row each.
pub const WINDOWS_CSV: &str = "windows.csv";
const WINDOWS: &str = "windows.parquet";
const BLOCKS: &str = "blocks.parquet";
const LATENCY: &str = "latency.json";
/// The report on a run, or on several.
pub const REPORT: &str = "report.html";
/// One line for each cell of a sweep.
pub const GRID: &str = "grid.csv";
/// One line for each run of a sweep with several seeds. Its [`GRID`] has one line for each cell.
pub const RUNS: &str = "runs.csv";
/// What became of an array, in folders of versions before an array had a summary as a drive has.
const ARRAY: &str = "array.json";
/// Means and intervals of several seeds.
pub const STATISTICS: &str = "statistics.json";
/// The demo's trace, next to the folders of its runs.
pub const TRACE_COPY: &str = "pgbench-ext4.iolog.zst";

/// Every file that wane may write into a result folder, except the manifest.
const FILES: [&str; 14] = [
    ARRAY,
    SCENARIO,
    SUMMARY,
    TIMELINE_CSV,
    TIMELINE,
    BLOCKS,
    LATENCY,
    WINDOWS_CSV,
    WINDOWS,
    REPORT,
    GRID,
    RUNS,
    STATISTICS,
    TRACE_COPY,
];

/// Largest number of times that a reader starts again because results are being replaced.
const READS_MAX: u32 = 20;

/// The result of a run, as it is saved and as reports use it.
#[derive(Clone, Debug, PartialEq)]
pub struct RunResult {
    /// The run in numbers.
    pub summary: Summary,
    /// The rows of its life, in order.
    pub timeline: Vec<Row>,
    /// Its blocks at the end, in order of id.
    pub blocks: Vec<BlockRow>,
    /// Its timed windows, in order; none in an untimed run.
    pub windows: Vec<Window>,
    /// Codewords of first reads by their number of raw bit errors; the last entry counts all with more. `None` on flash without errors.
    pub error_histogram: Option<Vec<u64>>,
    /// The resolved scenario.
    pub scenario_toml: String,
    /// Of an array: the results of its drives, in the order in which its summary names them.
    pub drives: Vec<RunResult>,
}

/// `latency.json`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Close {
    windows: Vec<Window>,
    raw_bit_errors_per_codeword: Option<Vec<u64>>,
}

/// Most folders that a message names.
const NAMED_MAX: usize = 3;

/// Lists the subfolders that hold results, as the end of a sentence; empty if there are none.
fn results_below(path: &Path) -> String {
    let is_one = |folder: &Path| folder.join(MANIFEST).is_file() || folder.join(SUMMARY).is_file();
    let entries = std::fs::read_dir(path).into_iter().flatten().filter_map(Result::ok);
    let mut names: Vec<String> =
        entries.map(|entry| entry.path()).filter(|folder| is_one(folder)).map(|folder| excerpt_path(&folder)).collect();
    names.sort();
    let rest = match names.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    names.truncate(NAMED_MAX);
    if names.is_empty() { String::new() } else { format!("; folders in it do: {}{rest}", names.join(" ")) }
}

/// Reasons why results could not be written or read. Each is one sentence with the path.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResultError {
    /// The folder cannot be created or written to.
    #[error("results cannot be written to '{}': {reason}; give a folder that can be written", excerpt_path(path))]
    Unwritable {
        /// The folder.
        path: PathBuf,
        /// The system's error.
        reason: io::Error,
    },
    /// The folder holds something that is not a result.
    #[error(
        "'{}' holds '{}', which is no result of wane; give an empty folder, a new one, or one of an earlier run",
        excerpt_path(path),
        wane_units::excerpt(found)
    )]
    NotAResultFolder {
        /// The folder.
        path: PathBuf,
        /// The first entry that wane would not have written.
        found: String,
    },
    /// The folder holds results of another command, although this command was to continue its own.
    #[error(
        "'{}' holds results of {found}; what it holds stays: give an empty folder, a new one, or the one of this very grid to go on with it",
        excerpt_path(path)
    )]
    AnotherCommand {
        /// The folder.
        path: PathBuf,
        /// What left them, in words.
        found: &'static str,
    },
    /// The folder holds several runs that the command would delete.
    #[error(
        "'{}' holds {} of {found}, which would be lost; give another folder, or --force to replace them",
        excerpt_path(path),
        if *count == 1 { "a run".to_owned() } else { format!("{count} runs") }
    )]
    WouldBeLost {
        /// The folder.
        path: PathBuf,
        /// What left them, in words.
        found: &'static str,
        /// Number of runs that would be deleted.
        count: usize,
    },
    /// The folder belongs to one of several runs.
    #[error("'{}' belongs to {found} in '{}'; give another folder", excerpt_path(path), excerpt_path(around))]
    MemberOf {
        /// The folder.
        path: PathBuf,
        /// The command that wrote the folder around it, in words.
        found: &'static str,
        /// The folder around it.
        around: PathBuf,
    },
    /// Another process writes into the folder, its parent or a subfolder.
    #[error("'{}' is in use by another run of wane; wait until it ends, or give another folder", excerpt_path(path))]
    InUse {
        /// The folder that is locked.
        path: PathBuf,
    },
    /// The disk is full. Nothing was changed.
    #[error("the disk is full: '{}' could not be written; free some space and run again", excerpt_path(path))]
    Full {
        /// The file that did not fit.
        path: PathBuf,
    },
    /// The file is larger than the process may write. Nothing was changed.
    #[error("'{}' could not be written: {FILE_TOO_LARGE}", excerpt_path(path))]
    TooLarge {
        /// The file that did not fit.
        path: PathBuf,
    },
    /// There is no finished result.
    #[error("'{}' holds no finished result: it has no {SUMMARY}{}", excerpt_path(path), results_below(path))]
    Unfinished {
        /// The folder.
        path: PathBuf,
    },
    /// The folder holds several runs, but no manifest that says which belong together.
    #[error(
        "'{}' holds several results, but no {MANIFEST} that says which belong together; name the folders of the runs",
        excerpt_path(path)
    )]
    Unnamed {
        /// The folder.
        path: PathBuf,
    },
    /// A member is not the run that the manifest names.
    #[error(
        "'{}' holds another run than the one that '{}' names; run that command again, or name the folders of the runs",
        excerpt_path(path),
        excerpt_path(manifest)
    )]
    Stranger {
        /// The member's folder.
        path: PathBuf,
        /// The manifest.
        manifest: PathBuf,
    },
    /// A file of a result cannot be read or does not hold what it should.
    #[error("'{}' cannot be read: {reason}", excerpt_path(path))]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}

/// Reads the run in the folder at `path`.
///
/// # Errors
/// There is no finished run, or one of its files cannot be read.
pub fn read_run(path: &Path) -> Result<RunResult, ResultError> {
    at_rest(path, &|manifest| run_of(path, manifest))
}

/// Reads the run in the folder at `path`, or the runs that its manifest names: a sweep, several seeds or a demo. Members
/// that are not there yet are skipped.
///
/// # Errors
/// There is no finished run, one of the files cannot be read, or a member is not the run that the manifest names.
pub fn read_runs(path: &Path) -> Result<Vec<RunResult>, ResultError> {
    at_rest(path, &|manifest| {
        let is_run = |manifest: &&Manifest| matches!(manifest.command, MadeBy::Run | MadeBy::Array);
        let Some(manifest) = manifest.filter(|manifest| !is_run(manifest)) else {
            return Ok(vec![run_of(path, manifest)?]);
        };
        let mut runs = Vec::new();
        for member in &manifest.members {
            let place = manifest.place(path, &member.folder);
            if !place.join(SUMMARY).exists() && !place.join(MANIFEST).exists() {
                continue;
            }
            let run = at_rest(&place, &|inner| {
                let run = run_of(&place, inner)?;
                Ok(is_named(&run.summary, inner, member).then_some(run))
            })?;
            runs.push(run.ok_or_else(|| ResultError::Stranger { path: place, manifest: path.join(MANIFEST) })?);
        }
        if runs.is_empty() { Err(ResultError::Unfinished { path: path.to_owned() }) } else { Ok(runs) }
    })
}

/// Reads again until the manifest is the same before and after, so that nothing was replaced in between.
fn at_rest<T>(path: &Path, read: &dyn Fn(Option<&Manifest>) -> Result<T, ResultError>) -> Result<T, ResultError> {
    for _ in 0..READS_MAX {
        let before = Manifest::read(path)?;
        let found = read(before.as_ref());
        if Manifest::read(path)? == before {
            return found;
        }
    }
    let reason = "the results are being replaced; try again".to_owned();
    Err(ResultError::Unreadable { path: path.to_owned(), reason })
}

/// Whether a run and its own manifest match the entry in the manifest of several runs.
fn is_named(summary: &Summary, own: Option<&Manifest>, member: &Member) -> bool {
    let inputs = own.map(|manifest| manifest.inputs.clone()).unwrap_or_default();
    summary.scenario.hash == member.scenario && inputs == member.inputs
}

fn run_of(path: &Path, manifest: Option<&Manifest>) -> Result<RunResult, ResultError> {
    let Some(manifest) = manifest else {
        // The first versions wrote no manifest.
        let several = [GRID, STATISTICS].iter().any(|name| path.join(name).exists());
        return if several {
            Err(ResultError::Unnamed { path: path.to_owned() })
        } else {
            RunFiles::lying(path, None).read()
        };
    };
    RunFiles::lying(path, Some(manifest)).read()
}

impl RunResult {
    /// Writes the run as files in memory, by name, without those that repeat it for people. Processes pass runs to each other in this form.
    /// [`Self::of_files`] restores it exactly.
    ///
    /// # Errors
    /// A table cannot be made.
    pub fn to_files(&self) -> Result<Vec<(String, Vec<u8>)>, ResultError> {
        let files = claim::files_that_keep(Path::new(""), self)?;
        let mut files: Vec<(String, Vec<u8>)> =
            files.into_iter().map(|(name, bytes)| (name.to_owned(), bytes)).collect();
        for (folder, drive) in self.named_drives() {
            files.extend(drive.to_files()?.into_iter().map(|(name, bytes)| (format!("{folder}/{name}"), bytes)));
        }
        Ok(files)
    }

    /// Blocks of the drive, or of the drives that stand in an array at the end.
    pub fn block_count(&self) -> usize {
        let Some(array) = &self.summary.array else { return self.blocks.len() };
        let is_last =
            |place: usize| array.drives.get(place + 1).is_none_or(|next| next.place != array.drives[place].place);
        let places = (0..array.drives.len()).filter(|place| is_last(*place));
        places.filter_map(|place| self.drives.get(place)).map(|drive| drive.blocks.len()).sum()
    }

    /// The drives of an array, with the folders of their results.
    pub(crate) fn named_drives(&self) -> impl Iterator<Item = (&str, &Self)> {
        let told = self.summary.array.iter().flat_map(|array| &array.drives);
        told.map(|drive| drive.run.as_str()).zip(&self.drives)
    }

    /// Restores the run from the files of [`Self::to_files`].
    ///
    /// # Errors
    /// One is missing or does not hold what it should.
    pub fn of_files(files: &[(String, Vec<u8>)]) -> Result<Self, ResultError> {
        RunFiles { folder: Path::new(""), manifest: None, memory: Some(files) }.read()
    }
}

/// The files of one run.
struct RunFiles<'a> {
    folder: &'a Path,
    manifest: Option<&'a Manifest>,
    /// The files themselves, if they are in memory.
    memory: Option<&'a [(String, Vec<u8>)]>,
}

impl<'a> RunFiles<'a> {
    const fn lying(folder: &'a Path, manifest: Option<&'a Manifest>) -> Self {
        Self { folder, manifest, memory: None }
    }
}

impl RunFiles<'_> {
    fn read(&self) -> Result<RunResult, ResultError> {
        let missing = |name: &str| self.unreadable(name, "it is missing".to_owned());
        if let Some(text) = self.text(ARRAY)? {
            let scenario = self.text(SCENARIO)?.ok_or_else(|| missing(SCENARIO))?;
            let former = of_former(&text, scenario).map_err(|error| self.unreadable(ARRAY, error.to_string()))?;
            return Ok(RunResult { drives: self.drives(&former.summary)?, ..former });
        }
        let summary = self.summary()?;
        let scenario_toml = self.text(SCENARIO)?.ok_or_else(|| missing(SCENARIO))?;
        let close: Close = match self.text(LATENCY)? {
            Some(text) => serde_json::from_str(&text).map_err(|error| self.unreadable(LATENCY, error.to_string()))?,
            None => Close { windows: Vec::new(), raw_bit_errors_per_codeword: None },
        };
        let ages = close.windows.iter().map(|window| window.at_drive_writes);
        check_rises("at_drive_writes", ages).map_err(|reason| self.unreadable(LATENCY, reason))?;
        let table = |name: &str| {
            let bytes = self.bytes(name)?.ok_or_else(|| missing(name))?;
            Table::of(bytes).map_err(|reason| self.unreadable(name, reason))
        };
        Ok(RunResult {
            timeline: table(TIMELINE)?.timeline().map_err(|reason| self.unreadable(TIMELINE, reason))?,
            blocks: table(BLOCKS)?.blocks().map_err(|reason| self.unreadable(BLOCKS, reason))?,
            windows: close.windows,
            error_histogram: close.raw_bit_errors_per_codeword,
            scenario_toml,
            drives: self.drives(&summary)?,
            summary,
        })
    }

    /// The results of the drives of an array.
    fn drives(&self, summary: &Summary) -> Result<Vec<RunResult>, ResultError> {
        let told = summary.array.iter().flat_map(|array| &array.drives);
        let of_drive = |drive: &ArrayDrive| {
            if let Some(files) = self.memory {
                let own = |(name, bytes): &(String, Vec<u8>)| {
                    Some((name.strip_prefix(&drive.run)?.strip_prefix('/')?.to_owned(), bytes.clone()))
                };
                let files: Vec<(String, Vec<u8>)> = files.iter().filter_map(own).collect();
                return RunResult::of_files(&files);
            }
            let place = self.place(&drive.run);
            at_rest(&place, &|manifest| run_of(&place, manifest))
        };
        told.map(of_drive).collect()
    }

    fn summary(&self) -> Result<Summary, ResultError> {
        let text = self.text(SUMMARY)?.ok_or_else(|| ResultError::Unfinished { path: self.folder.to_owned() })?;
        serde_json::from_str(&text).map_err(|error| self.unreadable(SUMMARY, error.to_string()))
    }

    fn place(&self, name: &str) -> PathBuf {
        self.manifest.map_or_else(|| self.folder.join(name), |manifest| manifest.place(self.folder, name))
    }

    fn unreadable(&self, name: &str, reason: String) -> ResultError {
        ResultError::Unreadable { path: self.folder.join(name), reason }
    }

    fn text(&self, name: &str) -> Result<Option<String>, ResultError> {
        let text = self.bytes(name)?.map(String::from_utf8).transpose();
        text.map_err(|_| self.unreadable(name, "it is no UTF-8 text".to_owned()))
    }

    /// Reads a file. With a manifest it must be named there and unchanged since; without one any file is read.
    fn bytes(&self, name: &str) -> Result<Option<Vec<u8>>, ResultError> {
        if let Some(files) = self.memory {
            return Ok(files.iter().find(|(found, _)| found == name).map(|(_, bytes)| bytes.clone()));
        }
        let hash = self.manifest.map(|manifest| manifest.files.get(name));
        if hash == Some(None) {
            return Ok(None);
        }
        let bytes = match fs::read(self.place(name)) {
            Ok(bytes) => bytes,
            Err(error) if hash.is_none() && is_absent(&error) => return Ok(None),
            Err(error) => return Err(self.unreadable(name, error.to_string())),
        };
        if hash.flatten().is_some_and(|hash| *hash != Fnv::of(&bytes).hex()) {
            let reason =
                format!("it was changed after the run had written it; remove {MANIFEST} to read it all the same");
            return Err(self.unreadable(name, reason));
        }
        Ok(Some(bytes))
    }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
