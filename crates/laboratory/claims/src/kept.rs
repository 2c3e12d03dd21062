//! Finished runs that are kept, so that a command that was ended goes on where it was.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};

use wane_results::{Fingerprints, Inputs, ResultError, RunResult};
use wane_scenario::Scenario;
use wane_units::Fnv;

use super::{Finding, Matter, Reading, Verdict};

/// A folder of finished runs, one file each. A file belongs to one build of the program, one scenario and one content of its traces: only these
/// together say what a run's figures are.
#[derive(Debug)]
pub struct Kept {
    folder: PathBuf,
    build: String,
    fingerprints: Mutex<Fingerprints>,
}

impl Kept {
    /// Runs kept in `folder`, which is made if it is not there. `build` tells this build of the program from all others.
    ///
    /// # Errors
    /// The folder cannot be made.
    pub fn open(folder: &Path, build: &str) -> Result<Self, ResultError> {
        fs::create_dir_all(folder).map_err(|reason| unwritable(folder, reason))?;
        Ok(Self { folder: folder.to_owned(), build: build.to_owned(), fingerprints: Mutex::default() })
    }

    /// Where a scenario's run is kept; `None` if nothing tells what its traces hold.
    fn place(&self, scenario: &Scenario) -> Option<PathBuf> {
        let traces = scenario.traces();
        let mut fingerprints = self.fingerprints.lock().unwrap_or_else(PoisonError::into_inner);
        let inputs = match fingerprints.inputs(&traces, &AtomicBool::new(false)) {
            Inputs::Nothing => String::new(),
            Inputs::Hash(hash) => hash,
            Inputs::Unknown => return None,
        };
        let key = [&self.build, &scenario.hash(), &scenario.name, &inputs].map(String::as_str).join("\n");
        Some(self.folder.join(format!("{}.run", Fnv::of(key.as_bytes()).hex())))
    }

    /// The finished run of a scenario, if it is there and whole.
    pub(crate) fn find(&self, scenario: &Scenario) -> Option<RunResult> {
        let run = RunResult::of_files(&read(&self.place(scenario)?)?).ok()?;
        (run.summary.scenario.hash == scenario.hash() && run.summary.scenario.name == scenario.name).then_some(run)
    }

    /// Keeps a finished run.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn keep(&self, scenario: &Scenario, run: &RunResult) -> Result<(), ResultError> {
        let Some(place) = self.place(scenario) else { return Ok(()) };
        self.write(&place, &run.to_files()?)
    }

    fn write(&self, place: &Path, files: &[(String, Vec<u8>)]) -> Result<(), ResultError> {
        // A reader finds the whole file or none.
        let part = place.with_extension(format!("part-{}", std::process::id()));
        let written = fs::write(&part, packed(files)).and_then(|()| fs::rename(&part, place));
        written.map_err(|reason| unwritable(&self.folder, reason))
    }

    /// Where the result of a claim that simulates by itself is kept; `shift` is that of its seed.
    fn place_of_claim(&self, id: &str, shift: u64) -> PathBuf {
        let key = format!("{}\n{id}\n{shift}", self.build);
        self.folder.join(format!("{}.claim", Fnv::of(key.as_bytes()).hex()))
    }

    /// The result of a claim that simulates by itself, if it is there and whole.
    pub(crate) fn find_claim(&self, id: &str, shift: u64) -> Option<(Finding, Vec<Reading>)> {
        let mut texts = read(&self.place_of_claim(id, shift))?.into_iter();
        let mut next = || texts.next().and_then(|(_, text)| String::from_utf8(text).ok());
        let (ours, verdict, note, table) = (next()?, Verdict::of_word(&next()?)?, next()?, next()?);
        let mut others = Vec::new();
        while let Some(what) = next() {
            let (matter, ours, verdict) = (Matter::of_word(&next()?)?, next()?, Verdict::of_word(&next()?)?);
            others.push(Reading { what, matter, ours, verdict });
        }
        Some((Finding { ours, verdict, note, table }, others))
    }

    /// Keeps the result of a claim that simulates by itself.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn keep_claim(
        &self,
        id: &str,
        shift: u64,
        found: &Finding,
        others: &[Reading],
    ) -> Result<(), ResultError> {
        let mut texts = vec![found.ours.as_str(), found.verdict.word(), &found.note, &found.table];
        for Reading { what, matter, ours, verdict } in others {
            texts.extend([what.as_str(), matter.word(), ours, verdict.word()]);
        }
        let files: Vec<_> = texts.into_iter().map(|text| ("text".to_owned(), text.as_bytes().to_vec())).collect();
        self.write(&self.place_of_claim(id, shift), &files)
    }
}

fn read(place: &Path) -> Option<Vec<(String, Vec<u8>)>> {
    unpacked(&fs::read(place).ok()?)
}

fn unwritable(folder: &Path, reason: io::Error) -> ResultError {
    ResultError::Unwritable { path: folder.to_owned(), reason }
}

/// Files in one: for each its name and length in a line, and its bytes. The last line has the hash of all before it.
fn packed(files: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, content) in files {
        debug_assert!(!name.contains([' ', '\n']), "{name}: a file of a run has a plain name");
        bytes.extend(format!("{name} {}\n", content.len()).into_bytes());
        bytes.extend(content);
    }
    let hash = Fnv::of(&bytes).hex();
    bytes.extend(hash.into_bytes());
    bytes
}

/// The files of [`packed`]; `None` if they are not whole.
fn unpacked(bytes: &[u8]) -> Option<Vec<(String, Vec<u8>)>> {
    let (mut rest, hash) = bytes.split_at_checked(bytes.len().checked_sub(Fnv::EMPTY.hex().len())?)?;
    if Fnv::of(rest).hex().as_bytes() != hash {
        return None;
    }
    let mut files = Vec::new();
    while !rest.is_empty() {
        let end = rest.iter().position(|byte| *byte == b'\n')?;
        let (name, length) = str::from_utf8(&rest[..end]).ok()?.split_once(' ')?;
        let (content, next) = rest[end + 1..].split_at_checked(length.parse().ok()?)?;
        files.push((name.to_owned(), content.to_owned()));
        rest = next;
    }
    Some(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_claims_come_back() {
        let folder = std::env::temp_dir().join(format!("wane-kept-claims-{}", std::process::id()));
        let kept = Kept::open(&folder, "one").unwrap();
        let finding =
            Finding { ours: "1 of 2".into(), verdict: Verdict::Differs, note: "why\nso".into(), table: String::new() };
        let other = Reading { what: "else".into(), matter: Matter::Scale, ours: "2".into(), verdict: Verdict::Agrees };
        kept.keep_claim("X1", 3, &finding, &[other]).unwrap();
        let told = |(finding, others): (Finding, Vec<Reading>)| format!("{finding:?} {others:?}");
        let found = kept.find_claim("X1", 3).map(told);
        assert!(found.as_ref().is_some_and(|told| told.contains("why\\nso") && told.contains("Scale")), "{found:?}");
        assert!(kept.find_claim("X1", 2).is_none() && kept.find_claim("X", 3).is_none());
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn files_come_back_whole_or_not_at_all() {
        let files = vec![("a.json".to_owned(), b"one\ntwo".to_vec()), ("b".to_owned(), Vec::new())];
        let bytes = packed(&files);
        assert_eq!(unpacked(&bytes), Some(files));
        assert!((0..bytes.len()).all(|length| unpacked(&bytes[..length]).is_none()));
        let mut other = bytes;
        other[9] ^= 1;
        assert_eq!(unpacked(&other), None);
    }
}
