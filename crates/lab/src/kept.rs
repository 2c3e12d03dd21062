//! A drive that is kept in a folder. It can be created, opened, saved and forked; everything else is done by [`Held`].

use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use wane_archive::{Archive, ArchiveError};
use wane_ftl::{Fate, Recovery};
use wane_results::RunResult;
use wane_scenario::{Scenario, ScenarioError, Sources};
use wane_shelf::{DriveFolder, Manifest};
use wane_units::{Fnv, Nanos};

use crate::build::PolicyOverrides;
use crate::held::Held;
pub use wane_aging::FACTOR_MOST;

pub use crate::held::{Aged, DataCheck, Injection, KeptError, Reached, Retire, Target, WrittenBytes};
use crate::run::Watch;

/// See the head of this file.
pub struct Kept {
    folder: DriveFolder,
    held: Held,
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
        Ok(Self { folder, held })
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
            None => Ok(Self { folder: folder?, held }),
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
        Ok(Self { folder, held })
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
        let mut manifest = self.folder.manifest().clone();
        (manifest.scenario, manifest.workloads) = (self.scenario().to_toml(), self.workloads());
        if !is_first {
            manifest.history.pop();
        }
        manifest.history.push(note);
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
