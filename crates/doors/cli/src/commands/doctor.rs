//! `wane doctor`: judges a drive's health from the output of smartctl and other tools.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::json;
use wane_smart::doctor::{DoctorError, Finding, Judgement, judge};
use wane_smart::{Reading, latest_first, read_named};
use wane_units::{Bytes, excerpt, excerpt_path};

use crate::args::doctor::{DoctorArguments, Form, NameBy};
use crate::output::{
    DOCTOR_MARK, Failure, Others, check_writable, columns, escaped, pretty, print, print_json, tell, write_text,
};
use crate::{DIFFERS, DONE};

/// Most bytes of an input: some 5,000 dumps of smartctl's text.
const INPUT_BYTES_MAX: u64 = 64 << 20;

/// Name of a drive without one, in a file of verdicts.
const NAMELESS: &str = "a drive without a name";

pub(crate) fn doctor(arguments: &DoctorArguments) -> Result<i32, Failure> {
    if arguments.files.iter().filter(|file| *file == Path::new("-")).count() > 1 {
        return Err(Failure::wrong("stdin is given twice, but can be read only once"));
    }
    let mut drives = Drives { by: arguments.name_by, drives: Vec::new() };
    let mut refused = Vec::new();
    for file in &files_of(&arguments.files)? {
        match readings_of(file) {
            Ok(readings) => drives.add(file, latest_first(readings)),
            Err(failure) => refused.push(failure),
        }
    }
    let drives = drives.drives;
    if drives.len() > 1 {
        return several(drives, arguments, refused);
    }
    // One drive's history is judged whole, or not at all.
    if let Some(failure) = refused.into_iter().next() {
        return Err(failure);
    }
    let readings = drives.into_iter().flat_map(|drive| drive.readings).collect();
    let judgement = judge(readings).map_err(Failure::wrong)?;
    // The target is written, so that a link stays a link.
    let target = |file: &Path| file.is_symlink().then(|| file.canonicalize().ok()).flatten();
    let watched = arguments.watch.as_deref().map(|file| target(file).unwrap_or_else(|| file.to_owned()));
    let mut changed = None;
    let mut lock = None;
    if let Some(file) = &watched {
        check_writable(file, Others::Overwritten)?;
        // Others that watch in this folder wait until the verdicts are kept.
        lock = Some(locked(file)?);
        changed = Some((file, kept(file)?));
    }
    // A drive without a name is known by the file of its record.
    let nameless = arguments.files.first().filter(|file| *file != Path::new("-"));
    let nameless = nameless.map_or_else(|| NAMELESS.to_owned(), |file| format!("{NAMELESS}, {}", excerpt_path(file)));
    if let Some((_, state)) = &mut changed
        && !state.take(&judgement, nameless)
    {
        return Ok(DONE);
    }
    let form = if arguments.json { Form::Json } else { arguments.format };
    print(&match form {
        Form::Text => judgement.text(),
        Form::Json => pretty(&judgement)?,
        Form::Prometheus => judgement.prometheus(),
        Form::Ceph => judgement.ceph(),
    })?;
    // Kept only after they were printed: if printing fails, the next run prints them again.
    if let Some((file, state)) = changed {
        write_text(file, Others::Overwritten, &pretty(&state)?)?;
    }
    drop(lock);
    Ok(DONE)
}

/// The files, those of folders in the order of their names.
fn files_of(given: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    for file in given {
        if !file.is_dir() {
            files.push(file.clone());
            continue;
        }
        let before = files.len();
        add_files(file, &mut files)
            .map_err(|error| Failure::wrong(format!("{}: cannot be read: {error}", excerpt_path(file))))?;
        if files.len() == before {
            return Err(Failure::wrong(format!("{}: has no files; give records of drives", excerpt_path(file))));
        }
    }
    Ok(files)
}

/// Adds the files of a folder and of those in it. Links are not followed, and hidden files are left out.
fn add_files(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    let mut entries = std::fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries.iter().filter(|entry| !entry.file_name().to_string_lossy().starts_with('.')) {
        let kind = entry.file_type()?;
        if kind.is_dir() {
            add_files(&entry.path(), files)?;
        } else if kind.is_file() {
            files.push(entry.path());
        }
    }
    Ok(())
}

/// The records of a drive.
struct OfDrive {
    key: Option<String>,
    /// Its World Wide Name, by which drives of one serial number are told apart.
    wwn: Option<String>,
    /// The file of the last of them, or the first one if they have no times.
    file: String,
    /// When that was, in seconds of the Unix clock.
    at: Option<i64>,
    readings: Vec<Reading>,
}

/// Whether a serial number was taken out: nothing, one sign again and again, or a word for it.
fn is_blank(serial: &str) -> bool {
    let serial = serial.trim();
    let first = serial.chars().next();
    serial.chars().all(|sign| Some(sign) == first || !sign.is_alphanumeric())
        || ["redact", "remove", "hidden", "serial"].iter().any(|word| serial.to_lowercase().contains(word))
}

/// Records by drive, in the order in which drives came.
struct Drives {
    by: NameBy,
    drives: Vec<OfDrive>,
}

impl Drives {
    /// Adds the records of a file. One without a name, such as a page of OCP, belongs to the drive before it.
    fn add(&mut self, file: &Path, readings: Vec<Reading>) {
        let name = excerpt_path(file);
        let mut last = None;
        for reading in readings {
            let plain = |name: &str| {
                // smartd writes underscores for signs.
                name.trim().replace(|letter: char| !letter.is_alphanumeric(), "_").to_lowercase()
            };
            let serial = reading.serial.as_deref().filter(|serial| !is_blank(serial));
            let other = reading.device.as_deref().or(reading.model.as_deref());
            let key = match (self.by, serial, other) {
                (NameBy::File, ..) => Some(name.clone()),
                (NameBy::Serial, Some(serial), _) => Some(plain(serial)),
                // Machines have devices, and drives models, of the same name.
                (NameBy::Serial, None, Some(other)) => Some(format!("{} {name}", plain(other))),
                (NameBy::Serial, None, None) => None,
            };
            let wwn = reading.wwn.clone().filter(|_| self.by == NameBy::Serial);
            let is_of = |drive: &OfDrive, key: &String| {
                let is_other = drive.wwn.as_ref().zip(wwn.as_ref()).is_some_and(|(own, other)| own != other);
                drive.key.as_ref().is_none_or(|own| own == key) && !is_other
            };
            let found = match &key {
                None => last.or_else(|| self.drives.len().checked_sub(1)),
                Some(key) => self.drives.iter().position(|drive| is_of(drive, key)),
            };
            let at = found.unwrap_or_else(|| {
                self.drives.push(OfDrive { key: None, wwn: None, file: name.clone(), at: None, readings: Vec::new() });
                self.drives.len() - 1
            });
            let drive = &mut self.drives[at];
            drive.key = drive.key.take().or(key);
            drive.wwn = drive.wwn.take().or(wwn);
            if reading.unix_seconds > drive.at {
                (drive.file, drive.at) = (name.clone(), reading.unix_seconds);
            }
            drive.readings.push(reading);
            last = Some(at);
        }
    }
}

/// Rules about wear, whose drives have a date, after those about failures and errors, and before those about anything else.
const BY_RATING: [&str; 3] = ["wear", "end-of-life", "spare-end"];
const OTHERS: [&str; 9] = [
    "temperature",
    "write-amplification",
    "own-writes",
    "counters",
    "contradictions",
    "two-drives",
    "unread",
    "told-less",
    "link",
];

/// How urgent a rule's finding is among equal verdicts; the least is the most urgent.
fn urgency(rule: &str) -> usize {
    // A drive past its rating goes before one that has a date.
    let rating = BY_RATING.iter().position(|known| *known == rule).map(|at| at + 1);
    rating.or(OTHERS.iter().position(|known| *known == rule).map(|at| at + 10)).unwrap_or(0)
}

/// The most urgent finding of the drive's verdict.
fn first_finding(judgement: &Judgement) -> Option<&Finding> {
    let of_it = judgement.findings.iter().filter(|finding| finding.verdict == judgement.verdict);
    of_it.min_by_key(|finding| urgency(finding.rule)).or(judgement.findings.first())
}

/// The day on which the rated wear is used or the spare is at its threshold, whichever comes first.
fn day(judgement: &Judgement) -> Option<&String> {
    let life = &judgement.life;
    [&life.end, &life.spare_end].into_iter().flatten().filter_map(|end| end.expected.as_ref()).min()
}

/// When the rated wear is used, or the spare: a day, or hours under power.
fn by(judgement: &Judgement) -> Option<String> {
    let hours = judgement.life.power_on_hours_left.as_ref().and_then(|left| left.expected);
    day(judgement).cloned().or_else(|| hours.map(|hours| format!("{hours:.0} h")))
}

/// Several drives: a line for each, the worst first, and a sentence for each file that is refused.
fn several(drives: Vec<OfDrive>, arguments: &DoctorArguments, mut refused: Vec<Failure>) -> Result<i32, Failure> {
    let form = if arguments.json { Form::Json } else { arguments.format };
    if arguments.watch.is_some() || matches!(form, Form::Prometheus | Form::Ceph) {
        let what = if arguments.watch.is_some() { "--watch" } else { "this --format" };
        let count = drives.len();
        return Err(Failure::wrong(format!(
            "{what} is for one drive, and the records are of {count}; give it one drive's records at a time"
        )));
    }
    let mut judged = Vec::new();
    for OfDrive { file, readings, .. } in drives {
        match judge(readings) {
            Ok(judgement) => judged.push((judgement, file)),
            Err(error @ DoctorError::TwoDrives { .. }) => refused.push(Failure::wrong(format!(
                "{file}: {error}; they have one serial number: --name-by file takes each file for a drive"
            ))),
            Err(error) => refused.push(Failure::wrong(format!("{file}: {error}"))),
        }
    }
    let ended = if refused.is_empty() { DONE } else { DIFFERS };
    // Of equal verdicts the most urgent comes first, then the one with the nearest day, then the one with more bad findings.
    let rank = |judgement: &Judgement| {
        let bad = judgement.findings.iter().filter(|finding| finding.verdict == judgement.verdict).count();
        let urgency = first_finding(judgement).map_or(usize::MAX, |finding| urgency(finding.rule));
        let life = &judgement.life;
        let day = day(judgement).cloned();
        let hours =
            life.power_on_hours_left.as_ref().and_then(|left| left.expected).map_or(u64::MAX, |hours| hours as u64);
        let near = (day.is_none(), day, hours);
        (std::cmp::Reverse(judgement.verdict), urgency, near, std::cmp::Reverse(bad))
    };
    judged.sort_by_cached_key(|(judgement, _)| rank(judgement));
    if form == Form::Json {
        let told = |(judgement, file): &(Judgement, String)| json!({ "file": file, "judgement": judgement });
        let refused: Vec<String> = refused.iter().map(ToString::to_string).collect();
        print_json(&json!({ "drives": judged.iter().map(told).collect::<Vec<_>>(), "refused": refused }))?;
        return Ok(ended);
    }
    let line = |(judgement, file): &(Judgement, String)| {
        let drive = &judgement.drive;
        let worst = first_finding(judgement).map_or("no rule has the values that it needs", |finding| &finding.reason);
        vec![
            judgement.verdict.name().to_owned(),
            excerpt(drive.model.as_deref().unwrap_or(NAMELESS)).to_string(),
            excerpt(drive.serial.as_deref().unwrap_or("-")).to_string(),
            file.clone(),
            by(judgement).unwrap_or_else(|| "-".to_owned()),
            escaped(worst),
        ]
    };
    let lines: Vec<Vec<String>> = judged.iter().map(line).collect();
    print(&columns(&lines))?;
    refused.iter().for_each(|failure| tell(&format!("wane: {failure}")));
    Ok(ended)
}

/// Locks a file's folder until the returned value is dropped. The file itself is replaced, so a lock on it would not hold.
fn locked(file: &Path) -> Result<std::fs::File, Failure> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let opened = std::fs::File::open(folder).and_then(|folder| folder.lock().map(|()| folder));
    opened.map_err(|error| Failure::wrong(format!("{}: cannot be locked: {error}", excerpt_path(file))))
}

fn readings_of(file: &Path) -> Result<Vec<Reading>, Failure> {
    let (name, opened): (String, io::Result<Box<dyn Read>>) = if file == Path::new("-") {
        ("stdin".to_owned(), Ok(Box::new(io::stdin())))
    } else {
        (excerpt_path(file), std::fs::File::open(file).map(|file| Box::new(file) as Box<dyn Read>))
    };
    let mut bytes = Vec::new();
    let got = opened.and_then(|file| file.take(INPUT_BYTES_MAX + 1).read_to_end(&mut bytes));
    got.map_err(|error| Failure::wrong(format!("{name}: cannot be read: {error}")))?;
    if bytes.len() as u64 > INPUT_BYTES_MAX {
        let most = Bytes(INPUT_BYTES_MAX);
        return Err(Failure::wrong(format!("{name}: has more than {most}, allowed are at most {most} of records")));
    }
    read_named(&name, &bytes).map_err(|error| Failure::wrong(format!("{name}: {error}")))
}

/// The last verdicts of each drive.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct State {
    /// The mark of files that wane writes.
    mark: String,
    /// Each rule's verdict, by model and serial number, or by model and file.
    drives: BTreeMap<String, BTreeMap<String, String>>,
}

impl State {
    /// Stores the verdicts on a drive; returns whether one differs. For an unknown drive they do.
    fn take(&mut self, judgement: &Judgement, nameless: String) -> bool {
        let serial = judgement.drive.serial.clone().unwrap_or(nameless);
        let name = judgement.drive.model.iter().cloned().chain([serial]).collect::<Vec<_>>().join(" ");
        let rules = judgement.findings.iter();
        let verdicts: BTreeMap<String, String> =
            rules.map(|finding| (finding.rule.to_owned(), finding.verdict.name().to_owned())).collect();
        assert_eq!(verdicts.len(), judgement.findings.len(), "a rule finds one thing at most");
        let differs = self.drives.get(&name) != Some(&verdicts);
        self.drives.insert(name, verdicts);
        differs
    }
}

/// Reads the verdicts that a file keeps; none if the file is missing or empty.
fn kept(file: &Path) -> Result<State, Failure> {
    let wrong = |why: &dyn std::fmt::Display| Failure::wrong(format!("{}: {why}", excerpt_path(file)));
    let new = State { mark: DOCTOR_MARK.to_owned(), drives: BTreeMap::new() };
    let read = |file: std::fs::File| {
        let mut bytes = Vec::new();
        file.take(INPUT_BYTES_MAX).read_to_end(&mut bytes).map(|_| bytes)
    };
    match std::fs::File::open(file).and_then(read) {
        Ok(bytes) if bytes.is_empty() => Ok(new),
        Ok(bytes) => {
            serde_json::from_slice::<State>(&bytes).ok().filter(|state| state.mark == DOCTOR_MARK).ok_or_else(|| {
                wrong(&"exists, and keeps no verdicts of `wane doctor --watch`: give another name, or remove it")
            })
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(new),
        Err(error) => Err(wrong(&format!("cannot be read: {error}"))),
    }
}
