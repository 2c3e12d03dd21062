//! A drive that is kept in a folder. It can be created, opened, saved and forked; everything else is done by [`Held`].
//!
//! While a drive is served, a journal in its folder has all that was done to it since its last save. If the server dies, whoever opens the
//! drive next does it again.

use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use wane_archive::{Archive, ArchiveError};
use wane_blockdev::{BlockDevice, Entry};
use wane_folder::System;
use wane_ftl::{Fate, Recovery};
use wane_journal::{Input, InputError, Journal, JournalConfig, JournalError, Record};
use wane_results::RunResult;
use wane_scenario::{Scenario, ScenarioError, Sources};
use wane_shelf::{DriveFolder, JournalStart, Manifest};
use wane_units::{Fnv, Nanos, SimTime, excerpt_path};

use crate::build::PolicyOverrides;
use crate::held::{Act, Held};
pub use wane_aging::FACTOR_MOST;

pub use crate::held::{Aged, DataCheck, Injection, KeptError, Reached, Retire, Target, WrittenBytes};
use crate::run::Watch;

/// See the head of this file.
pub struct Kept {
    folder: DriveFolder,
    held: Held,
    /// Records of the journal that were done again when it was opened.
    repeated: u64,
}

/// Resolves the saved text of a scenario.
fn resolved(text: &str) -> Result<Scenario, ScenarioError> {
    Scenario::resolve(&Sources { file: Some(("drive.json", text)), ..Sources::default() })
}

impl Kept {
    /// Creates a new, empty drive at `path`.
    ///
    /// # Errors
    /// Something is there, or the scenario makes no drive.
    pub fn create(path: &Path, scenario: &Scenario, stop: &Arc<AtomicBool>) -> Result<Self, KeptError> {
        let mut held = Held::new(scenario, PolicyOverrides::default())?;
        held.open_workload(stop)?;
        let mut manifest = Manifest::new(scenario.to_toml());
        manifest.label = label("", path);
        manifest.history.push(format!("created of {}", scenario.name));
        let folder = DriveFolder::create(path, manifest, |writer| held.archive(writer as &mut dyn Archive))?;
        Ok(Self { folder, held, repeated: 0 })
    }

    /// Creates a new drive at `path` and preconditions it as a run is. It appears whole, or not at all.
    ///
    /// # Errors
    /// As of [`Kept::create`]; the user stopped it, or the drive died.
    pub fn create_preconditioned(path: &Path, scenario: &Scenario, watch: &mut Watch<'_>) -> Result<Self, KeptError> {
        let mut held = Held::new(scenario, PolicyOverrides::default())?;
        held.open_workload(watch.stop)?;
        let mut manifest = Manifest::new(scenario.to_toml());
        manifest.label = label("", path);
        manifest.history.push(format!("created of {}, and preconditioned as for a run", scenario.name));
        let mut failed = None;
        let folder = DriveFolder::create(path, manifest, |writer| {
            let preconditioned = held.precondition(watch).and_then(|()| match held.cause() {
                Some(cause) => Err(KeptError::DiedNew(cause)),
                None if watch.is_stopped() => Err(KeptError::Interrupted),
                None => Ok(()),
            });
            match preconditioned {
                Ok(()) => held.archive(writer as &mut dyn Archive),
                Err(error) => {
                    failed = Some(error);
                    Err(ArchiveError::Unsaved("it was not preconditioned".to_owned()))
                }
            }
        });
        match failed {
            Some(error) => Err(error),
            None => Ok(Self { folder: folder?, held, repeated: 0 }),
        }
    }

    /// Opens the drive at `path`. Everything is read and verified.
    ///
    /// # Errors
    /// It is no drive, damaged, in use, or needs too much memory.
    pub fn open(path: &Path) -> Result<Self, KeptError> {
        let mut folder = DriveFolder::open(path)?;
        let scenario = resolved(&folder.manifest().scenario)?;
        let mut held = Held::with(&scenario, PolicyOverrides::default(), folder.manifest().workloads)?;
        folder.read(|reader| held.archive(reader as &mut dyn Archive))?;
        let repeated = match folder.manifest().journal {
            Some(start) => repeat(&mut held, path, start)?,
            None => 0,
        };
        Ok(Self { folder, held, repeated })
    }

    /// Records of the journal that were done again when it was opened, since its server had died.
    pub fn repeated(&self) -> u64 {
        self.repeated
    }

    /// The journal of what is done to it from now on, or that of what was done to it since its last save. The caller appends all that it does.
    ///
    /// # Errors
    /// The journal cannot be written.
    pub fn journal(&mut self) -> Result<Journal, KeptError> {
        let path = self.folder.path().to_owned();
        let failed = |error| KeptError::Journal(excerpt_path(&path).to_string(), error);
        let (disk, config) = (Arc::new(System), JournalConfig::default());
        if let Some(JournalStart { device, place }) = self.folder.manifest().journal {
            let each = &mut |_: &Record<'_>, _: &str| Ok::<_, JournalError>(());
            let (journal, _) = Journal::open(disk, &path, device, config, place, each).map_err(failed)?;
            return Ok(journal);
        }
        let device = Fnv::of(self.label().as_bytes()).get();
        let journal = Journal::create(disk, &path, device, config).map_err(failed)?;
        self.folder.begin_journal(JournalStart { device, place: journal.place() })?;
        Ok(journal)
    }

    /// As [`Kept::save`], in the middle of a journal, which goes on behind what is saved.
    ///
    /// # Errors
    /// As of [`Kept::save`]; the journal cannot be written.
    pub fn save_beside(&mut self, note: String, journal: &mut Journal) -> Result<(), KeptError> {
        let path = excerpt_path(self.folder.path()).to_string();
        let device = self.folder.manifest().journal.map_or(0, |start| start.device);
        let place = journal.seal().map_err(|error| KeptError::Journal(path, error))?;
        self.save_with(note, true, Some(JournalStart { device, place }))
    }

    /// Saves its present state. `note` says in a sentence what was done to it.
    ///
    /// # Errors
    /// It cannot be written. The last saved state is still there.
    pub fn save(&mut self, note: String) -> Result<(), KeptError> {
        self.save_on_the_way(note, true)
    }

    /// Saves its present state in the middle of something. Unless it is the first time, `note` replaces the one of the time before.
    ///
    /// # Errors
    /// As of [`Kept::save`].
    pub fn save_on_the_way(&mut self, note: String, is_first: bool) -> Result<(), KeptError> {
        self.save_with(note, is_first, None)
    }

    fn save_with(&mut self, note: String, is_first: bool, journal: Option<JournalStart>) -> Result<(), KeptError> {
        let mut manifest = self.folder.manifest().clone();
        (manifest.scenario, manifest.workloads) = (self.scenario().to_toml(), self.workloads());
        if !is_first {
            manifest.history.pop();
        }
        manifest.history.push(note);
        manifest.journal = journal;
        let held = &mut self.held;
        Ok(self.folder.save(manifest, |writer| held.archive(writer as &mut dyn Archive))?)
    }

    /// Makes a drive at `to` with the last saved state of the drive at `from`. Both share their files, whose
    /// checksums are verified.
    ///
    /// # Errors
    /// `from` is no drive or in use, something is at `to`, or the system refuses.
    pub fn fork(from: &Path, to: &Path) -> Result<(), KeptError> {
        let name = wane_units::excerpt_path(from);
        DriveFolder::open(from)?.fork(to, |manifest| {
            manifest.history.push(format!("forked from {name}"));
            manifest.label = label(&manifest.label, to);
        })?;
        Ok(())
    }

    /// What sets it apart from other drives of its scenario; empty if it is older than such labels.
    pub fn label(&self) -> &str {
        &self.folder.manifest().label
    }

    /// What was done to it, in sentences, the oldest first.
    pub fn history(&self) -> &[String] {
        &self.folder.manifest().history
    }

    /// See [`Held::look`]. The drive is not kept.
    ///
    /// # Errors
    /// As of [`Held::look`].
    pub fn look(self, scenario: &Scenario, watch: &mut Watch<'_>) -> Result<RunResult, KeptError> {
        self.held.look(scenario, watch)
    }

    /// See [`Held::cut_power`].
    ///
    /// # Errors
    /// As of [`Held::cut_power`].
    pub fn cut_power(self, fate: impl FnMut() -> Fate) -> Result<(Self, Recovery, Option<Nanos>), KeptError> {
        let (held, report, took) = self.held.cut_power(fate)?;
        Ok((Self { held, ..self }, report, took))
    }
}

/// Does again what a journal has. Returns the number of its records.
fn repeat(held: &mut Held, path: &Path, start: JournalStart) -> Result<u64, KeptError> {
    let sector = held.drive().features().sector;
    let (mut answers, mut required) = (Vec::new(), None);
    let mut each = |record: &Record<'_>, file: &str| {
        let meaningless = |error| JournalError::Meaningless { file: file.to_owned(), number: record.number, error };
        match Input::decode(record.bytes).map_err(meaningless)? {
            Input::Call(entry) => {
                if matches!(entry, Entry::PowerOff { .. }) {
                    required = held.drive().read_recovery();
                }
                let at = entry.repeat(held.drive_mut());
                // Nobody waits for the answers any more.
                held.drive_mut().complete(at, &mut answers);
                answers.clear();
            }
            Input::Command(bytes) => {
                let act = Act::decode(&bytes).ok_or_else(|| meaningless(InputError::Command))?;
                // An act is done at the drive's own time.
                let at = held.drive().now().max(SimTime(record.at));
                held.drive_mut().complete(at, &mut answers);
                answers.clear();
                held.act(&act).map_err(|error| Trouble::Act(Box::new(error)))?;
            }
            Input::Comment(_) => {}
        }
        Ok::<_, Trouble>(())
    };
    let opened = Journal::look(&System, path, start.device, start.place, &mut each);
    let opened = opened.map_err(|trouble| match trouble {
        Trouble::Journal(error) => KeptError::Journal(excerpt_path(path).to_string(), error),
        Trouble::Act(error) => *error,
    })?;
    // A served drive is formatted for its clients, which is not saved.
    held.drive_mut().format(sector);
    if held.drive().is_off() {
        // Its server died while its power was off.
        held.drive_mut().power_on().map_err(KeptError::Power)?;
        held.act(&Act::ReadRecovery(required))?;
    }
    Ok(opened.records)
}

/// Why a journal cannot be done again.
enum Trouble {
    Journal(JournalError),
    Act(Box<KeptError>),
}

impl From<JournalError> for Trouble {
    fn from(error: JournalError) -> Self {
        Self::Journal(error)
    }
}

/// What sets a drive at this place apart from others, those of which it is a fork included. Not its path, which is nobody's business.
fn label(parent: &str, path: &Path) -> String {
    let place = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut hash = Fnv::of(parent.as_bytes());
    hash.add(place.to_string_lossy().as_bytes());
    hash.hex()
}

impl Deref for Kept {
    type Target = Held;

    fn deref(&self) -> &Held {
        &self.held
    }
}

impl DerefMut for Kept {
    fn deref_mut(&mut self) -> &mut Held {
        &mut self.held
    }
}

#[cfg(test)]
mod tests;
