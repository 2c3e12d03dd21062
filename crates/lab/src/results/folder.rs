//! The folder that a run leaves: written whole or not at all.
//!
//! Every file is written beside its place and then renamed into it, `summary.json` last. A folder whose `summary.json`
//! exists is therefore complete; a run that was stopped says so in `end.reason`.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::tables::{Table, block_columns, timeline_columns, to_csv, write_parquet};
use super::{BlockRow, EndReason, Row, Summary, Window};

const SCENARIO: &str = "scenario.toml";
const SUMMARY: &str = "summary.json";
const TIMELINE_CSV: &str = "timeline.csv";
const TIMELINE: &str = "timeline.parquet";
const BLOCKS: &str = "blocks.parquet";
const LATENCY: &str = "latency.json";
const REPORT: &str = "report.html";
const GRID: &str = "grid.csv";
const STATISTICS: &str = "statistics.json";
/// Every file that wane may leave in a result folder.
/// The demo's trace, beside the folders of its runs.
pub const TRACE_COPY: &str = "pgbench-ext4.iolog.zst";

const FILES: [&str; 10] =
    [SCENARIO, SUMMARY, TIMELINE_CSV, TIMELINE, BLOCKS, LATENCY, REPORT, GRID, STATISTICS, TRACE_COPY];

/// A run, as it is kept and as reports are made of it.
#[derive(Clone, Debug, PartialEq)]
pub struct RunResult {
    /// The run in numbers.
    pub summary: Summary,
    /// Its life, in order.
    pub timeline: Vec<Row>,
    /// Its blocks at the end, in order of id.
    pub blocks: Vec<BlockRow>,
    /// Its timed windows, in order; none in an untimed run.
    pub windows: Vec<Window>,
    /// Codewords of first reads by raw bit errors, the last entry those beyond; `None` on flash without errors.
    pub error_histogram: Option<Vec<u64>>,
    /// The resolved scenario.
    pub scenario_toml: String,
}

/// `latency.json`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Close {
    windows: Vec<Window>,
    raw_bit_errors_per_codeword: Option<Vec<u64>>,
}

/// Why results could not be written or read. Each is one sentence with the path.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResultError {
    /// The folder cannot be made, or nothing can be written to it.
    #[error("results cannot be written to '{}': {reason}; give a folder that can be written", path.display())]
    Unwritable {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        reason: io::Error,
    },
    /// The folder holds something that is no result.
    #[error("'{}' holds '{found}', which is no result of wane; give an empty folder, a new one, or one of an earlier run", path.display())]
    NotAResultFolder {
        /// The folder.
        path: PathBuf,
        /// The first entry that wane would not have written.
        found: String,
    },
    /// The disk is full. Nothing was changed.
    #[error("the disk is full: '{}' could not be written; free some space and run again", path.display())]
    Full {
        /// The file that did not fit.
        path: PathBuf,
    },
    /// There is no finished result.
    #[error("'{}' holds no finished result: it has no {SUMMARY}", path.display())]
    Unfinished {
        /// The folder.
        path: PathBuf,
    },
    /// A file of a result cannot be read or does not hold what it should.
    #[error("'{}' cannot be read: {reason}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
}

/// A folder for results.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
}

impl Folder {
    /// The folder at `path`, made if there is none. It may hold earlier results, which stay until new ones are written.
    ///
    /// # Errors
    /// It cannot be made or written, or it holds anything but results.
    pub fn create(path: &Path) -> Result<Self, ResultError> {
        let unwritable = |reason| ResultError::Unwritable { path: path.to_owned(), reason };
        fs::create_dir_all(path).map_err(unwritable)?;
        if let Some(found) = foreign_entry(path, 0).map_err(unwritable)? {
            return Err(ResultError::NotAResultFolder { path: path.to_owned(), found });
        }
        // Hours of simulation should not end with the news that nothing can be written here.
        let probe = partial(path, SUMMARY);
        File::create(&probe).and_then(|_| fs::remove_file(&probe)).map_err(unwritable)?;
        Ok(Self { path: path.to_owned() })
    }

    /// Where the folder is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a run and, if given, its report, in place of what the folder held.
    ///
    /// # Errors
    /// A file cannot be written; then the folder still holds what it held.
    pub fn write(&self, run: &RunResult, report_html: Option<&str>) -> Result<(), ResultError> {
        let metadata = [
            ("wane.version", run.summary.run.version.as_str()),
            ("wane.scenario.name", run.summary.scenario.name.as_str()),
            ("wane.scenario.hash", run.summary.scenario.hash.as_str()),
        ];
        let parquet = |name: &str, columns: &[_]| {
            let mut bytes = Vec::new();
            let written = write_parquet(&mut bytes, columns, &metadata);
            written.map(|()| bytes).map_err(|error| ResultError::Unwritable {
                path: self.path.join(name),
                reason: io::Error::other(error.to_string()),
            })
        };
        let timeline = timeline_columns(&run.timeline);
        let mut files = vec![
            (SCENARIO, run.scenario_toml.clone().into_bytes()),
            (TIMELINE_CSV, to_csv(&timeline).into_bytes()),
            (TIMELINE, parquet(TIMELINE, &timeline)?),
            (BLOCKS, parquet(BLOCKS, &block_columns(&run.blocks))?),
        ];
        if !run.windows.is_empty() || run.error_histogram.is_some() {
            let close =
                Close { windows: run.windows.clone(), raw_bit_errors_per_codeword: run.error_histogram.clone() };
            files.push((LATENCY, serde_json::to_vec(&close).expect("windows hold only numbers")));
        }
        files.extend(report_html.map(|html| (REPORT, html.as_bytes().to_vec())));
        files.push((SUMMARY, run.summary.to_json().into_bytes()));
        self.replace(&files)
    }

    /// Writes `grid.csv` of a sweep.
    ///
    /// # Errors
    /// It cannot be written; then an earlier one stays.
    pub fn write_grid(&self, csv: &str) -> Result<(), ResultError> {
        self.replace(&[(GRID, csv.as_bytes().to_vec())])
    }

    /// Writes `statistics.json` of several seeds.
    ///
    /// # Errors
    /// It cannot be written; then an earlier one stays.
    pub fn write_statistics(&self, json: &str) -> Result<(), ResultError> {
        self.replace(&[(STATISTICS, json.as_bytes().to_vec())])
    }

    /// Writes `report.html` of several runs.
    ///
    /// # Errors
    /// It cannot be written; then an earlier one stays.
    pub fn write_report(&self, html: &str) -> Result<(), ResultError> {
        self.replace(&[(REPORT, html.as_bytes().to_vec())])
    }

    /// The run in the folder at `path`.
    ///
    /// # Errors
    /// There is no finished run, or one of its files cannot be read.
    pub fn read(path: &Path) -> Result<RunResult, ResultError> {
        let summary = read_summary(path)?.ok_or_else(|| ResultError::Unfinished { path: path.to_owned() })?;
        let file = |name: &str| path.join(name);
        let unreadable = |name: &str| {
            let path = file(name);
            move |reason: String| ResultError::Unreadable { path, reason }
        };
        let scenario_toml = fs::read_to_string(file(SCENARIO));
        let close = read_close(&file(LATENCY)).map_err(unreadable(LATENCY))?;
        Ok(RunResult {
            summary,
            timeline: Table::open(&file(TIMELINE)).and_then(|table| table.timeline()).map_err(unreadable(TIMELINE))?,
            blocks: Table::open(&file(BLOCKS)).and_then(|table| table.blocks()).map_err(unreadable(BLOCKS))?,
            windows: close.windows,
            error_histogram: close.raw_bit_errors_per_codeword,
            scenario_toml: scenario_toml.map_err(|error| unreadable(SCENARIO)(error.to_string()))?,
        })
    }

    /// The summary in the folder at `path`, if a run of this scenario by this version was finished there and not
    /// interrupted: what lets a sweep skip a cell.
    ///
    /// # Errors
    /// There is a summary, but it cannot be read.
    pub fn finished(path: &Path, scenario_hash: &str, version: &str) -> Result<Option<Summary>, ResultError> {
        let fits = |summary: &Summary| {
            summary.scenario.hash == scenario_hash
                && summary.run.version == version
                && summary.end.reason != EndReason::Interrupted
        };
        Ok(read_summary(path)?.filter(fits))
    }

    /// Writes the trace that the runs below this folder replay.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write_trace(&self, bytes: &[u8]) -> Result<(), ResultError> {
        self.replace(&[(TRACE_COPY, bytes.to_vec())])
    }

    /// Writes all files beside their places, then renames them, in order.
    fn replace(&self, files: &[(&str, Vec<u8>)]) -> Result<(), ResultError> {
        let written = files.iter().try_for_each(|(name, bytes)| write_file(&partial(&self.path, name), bytes));
        if let Err(error) = written {
            for (name, _) in files {
                // A file that was never begun is no loss.
                let _ = fs::remove_file(partial(&self.path, name));
            }
            return Err(error);
        }
        if files.iter().any(|(name, _)| *name == SUMMARY) {
            self.forget()?;
        }
        for (name, _) in files {
            let place = self.path.join(name);
            fs::rename(partial(&self.path, name), &place)
                .map_err(|reason| ResultError::Unwritable { path: place, reason })?;
        }
        Ok(())
    }

    /// Removes what an earlier run left: its summary first, so that a half-removed result is not taken for a whole one.
    fn forget(&self) -> Result<(), ResultError> {
        for name in [SUMMARY, REPORT, LATENCY] {
            let place = self.path.join(name);
            match fs::remove_file(&place) {
                Err(reason) if reason.kind() != io::ErrorKind::NotFound => {
                    return Err(ResultError::Unwritable { path: place, reason });
                }
                _ => {}
            }
        }
        Ok(())
    }
}

fn partial(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!(".{name}.partial"))
}

fn write_file(path: &Path, bytes: &[u8]) -> Result<(), ResultError> {
    let written = File::create(path).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    written.map_err(|reason| match reason.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ResultError::Full { path: path.to_owned() },
        _ => ResultError::Unwritable { path: path.to_owned(), reason },
    })
}

/// What was measured closely; nothing where there is no such file.
fn read_close(path: &Path) -> Result<Close, String> {
    match fs::read_to_string(path) {
        Ok(text) => serde_json::from_str(&text).map_err(|error| error.to_string()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Ok(Close { windows: Vec::new(), raw_bit_errors_per_codeword: None })
        }
        Err(error) => Err(error.to_string()),
    }
}

fn read_summary(folder: &Path) -> Result<Option<Summary>, ResultError> {
    let path = folder.join(SUMMARY);
    let unreadable = |path: PathBuf, reason: String| ResultError::Unreadable { path, reason };
    match fs::read_to_string(&path) {
        Ok(text) => serde_json::from_str(&text).map(Some).map_err(|error| unreadable(path, error.to_string())),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(unreadable(path, error.to_string())),
    }
}

/// The first entry that wane would not have written. A sweep over seeds holds folders of folders of results: three
/// levels.
fn foreign_entry(folder: &Path, depth: u32) -> io::Result<Option<String>> {
    let mut entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let name = entry.file_name().to_string_lossy().into_owned();
        let own = name.strip_prefix('.').and_then(|name| name.strip_suffix(".partial")).unwrap_or(&name);
        if entry.file_type()?.is_dir() {
            if depth == 2 {
                return Ok(Some(name));
            }
            if let Some(below) = foreign_entry(&entry.path(), depth + 1)? {
                return Ok(Some(format!("{name}/{below}")));
            }
        } else if !FILES.contains(&own) {
            return Ok(Some(name));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::test_run;

    #[test]
    fn what_is_written_is_read_back() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("deep/run");
        let folder = Folder::create(&path).unwrap();
        for seed in [1, 2] {
            let run = test_run(seed);
            folder.write(&run, Some("<p>")).unwrap();
            assert_eq!(Folder::read(&path).unwrap(), run);
        }
        let mut names: Vec<_> = fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, [BLOCKS, REPORT, SCENARIO, SUMMARY, TIMELINE_CSV, TIMELINE]);
    }

    #[test]
    fn the_same_run_gives_the_same_bytes() {
        let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for place in [&first, &second] {
            Folder::create(place.path()).unwrap().write(&test_run(1), None).unwrap();
        }
        for name in [SCENARIO, SUMMARY, TIMELINE_CSV, TIMELINE, BLOCKS] {
            assert_eq!(
                fs::read(first.path().join(name)).unwrap(),
                fs::read(second.path().join(name)).unwrap(),
                "{name}"
            );
        }
    }

    #[test]
    fn csv_has_a_line_a_row_and_nothing_for_null() {
        let run = test_run(1);
        let csv = to_csv(&timeline_columns(&run.timeline));
        let lines: Vec<&str> = csv.lines().collect();
        assert_eq!(lines.len(), 1 + run.timeline.len());
        assert!(lines[0].starts_with("drive_writes,phase,host_pages_written,"), "{}", lines[0]);
        assert!(lines[1].starts_with("0,0,0,") && lines[1].contains(",,"), "{}", lines[1]);
        let fields: Vec<usize> = lines.iter().map(|line| line.split(',').count()).collect();
        assert!(fields.iter().all(|count| *count == 34), "{fields:?}");
    }

    #[test]
    fn a_report_of_the_run_before_does_not_outlive_it() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::create(place.path()).unwrap();
        folder.write(&test_run(1), Some("<p>")).unwrap();
        folder.write(&test_run(2), None).unwrap();
        assert!(!place.path().join(REPORT).exists());
    }

    #[test]
    fn only_results_are_written_over() {
        let table: [(&str, Option<&str>); 6] = [
            ("summary.json", None),
            (".summary.json.partial", None),
            ("cell-1/seed-1/summary.json", None),
            ("thesis.tex", Some("thesis.tex")),
            ("cell-1/thesis.tex", Some("cell-1/thesis.tex")),
            ("a/b/c/summary.json", Some("a/b/c")),
        ];
        for (file, refused) in table {
            let place = tempfile::tempdir().unwrap();
            let file = place.path().join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, "{}").unwrap();
            match (Folder::create(place.path()), refused) {
                (Ok(_), None) => {}
                (Err(ResultError::NotAResultFolder { found, .. }), Some(expected)) => assert_eq!(found, expected),
                (other, _) => panic!("{}: {other:?}", file.display()),
            }
            assert_eq!(fs::read_to_string(&file).is_ok(), file.file_name().unwrap() != ".summary.json.partial");
        }
    }

    #[test]
    fn a_place_that_is_no_folder_is_refused_with_a_sentence() {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("file");
        fs::write(&file, "").unwrap();
        let message = Folder::create(&file.join("out")).unwrap_err().to_string();
        assert!(message.contains("file/out") && message.contains("give a folder"), "{message}");
    }

    #[test]
    fn a_full_disk_is_named_and_leaves_no_trace() {
        if !Path::new("/dev/full").exists() {
            println!("skipped: this system has no /dev/full");
            return;
        }
        assert!(matches!(write_file(Path::new("/dev/full"), b"x"), Err(ResultError::Full { .. })));
        #[cfg(unix)]
        {
            let place = tempfile::tempdir().unwrap();
            let folder = Folder::create(place.path()).unwrap();
            folder.write(&test_run(1), None).unwrap();
            std::os::unix::fs::symlink("/dev/full", partial(place.path(), BLOCKS)).unwrap();
            let error = folder.write(&test_run(2), None).unwrap_err();
            assert!(error.to_string().starts_with("the disk is full"), "{error}");
            assert_eq!(Folder::read(place.path()).unwrap(), test_run(1));
            assert!(!place.path().join(".timeline.csv.partial").exists());
        }
    }

    #[test]
    fn only_a_finished_run_of_the_same_scenario_and_version_is_skipped() {
        let place = tempfile::tempdir().unwrap();
        let finished = |hash: &str, version: &str| Folder::finished(place.path(), hash, version).unwrap().is_some();
        let mut run = test_run(1);
        let (hash, version) = (run.summary.scenario.hash.clone(), run.summary.run.version.clone());
        assert!(!finished(&hash, &version), "nothing there yet");
        let folder = Folder::create(place.path()).unwrap();
        folder.write(&run, None).unwrap();
        assert!(finished(&hash, &version));
        assert!(!finished("other", &version));
        assert!(!finished(&hash, "0.0.0"));
        run.summary.end.reason = EndReason::Interrupted;
        folder.write(&run, None).unwrap();
        assert!(!finished(&hash, &version));
    }

    #[test]
    fn what_is_no_result_is_refused_with_the_file_at_fault() {
        let place = tempfile::tempdir().unwrap();
        let message = |name: &str| {
            let message = Folder::read(place.path()).unwrap_err().to_string();
            assert!(message.contains(name), "{message}");
        };
        message("no finished result");
        let folder = Folder::create(place.path()).unwrap();
        for (name, content) in [(TIMELINE, "PAR1"), (BLOCKS, ""), (SUMMARY, "{}"), (SUMMARY, "{\"host\":1}")] {
            folder.write(&test_run(1), None).unwrap();
            fs::write(place.path().join(name), content).unwrap();
            message(name);
        }
        folder.write(&test_run(1), None).unwrap();
        fs::copy(place.path().join(BLOCKS), place.path().join(TIMELINE)).unwrap();
        message("no column 'drive_writes'");
    }
}
