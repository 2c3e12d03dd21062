//! Writes into a result folder: one process claims it, and it is replaced whole or not at all.
//!
//! New files go into a staging folder within the folder. Then one rename puts a manifest into place that names them there. From
//! that moment on the new results count. They are then moved to their places, and the files of an earlier command with the same
//! names, or named in its manifest, are deleted. If the process dies in between, readers find everything by the manifest, and
//! the next claim finishes the move.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use super::super::tables::{Column, block_columns, timeline_columns, to_csv, window_columns, write_parquet};
use super::super::{EndReason, RunResult};
use super::lock::{LOCK, Lock};
use super::manifest::{Inputs, MANIFEST, MadeBy, Manifest, Member, STAGING};
use super::{
    BLOCKS, Close, FILES, LATENCY, REPORT, ResultError, SCENARIO, SUMMARY, TIMELINE, TIMELINE_CSV, WINDOWS, WINDOWS_CSV,
};
use super::{RunFiles, at_rest, disk, is_named, run_of};

/// Name, in a staging folder, of the manifest for when all has been moved.
const SETTLED: &str = "settled.json";

/// Prefix, in a staging folder, of the names of replaced members.
const REPLACED: &str = ".old-";

/// Number of names for staging folders that are tried.
const NAMES_MAX: u32 = 10_000;

/// A file's name and content.
type NewFile<'a> = (&'a str, Vec<u8>);

/// A folder for results, which no other process writes into while this value lives.
///
/// If it is dropped before anything was written, the disk is as before the claim.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// The manifest that was there at the claim.
    before: Option<Manifest>,
    /// Whether the folder held no results.
    was_empty: bool,
    members: Vec<Member>,
    origin: MadeBy,
    /// Whether members wait in the staging folder until all are there, since they replace those of another command.
    staged: bool,
    interrupted: bool,
    traces: Traces,
}

/// What a claim has on the disk while it lasts, so that a process that must end at once can remove it.
#[derive(Clone, Debug)]
pub struct Traces(Arc<Mutex<Leavings>>);

#[derive(Debug)]
struct Leavings {
    folder: PathBuf,
    lock: Option<Lock>,
    /// Folders that were made for the claim, the innermost first.
    made: Vec<PathBuf>,
    staging: Option<PathBuf>,
    /// Whether a manifest names planned members, of which possibly none is there yet.
    planned: bool,
}

impl Traces {
    fn hold(&self) -> MutexGuard<'_, Leavings> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Gives the folder up: removes staged files that do not count yet, and folders made for the claim that are still
    /// empty. Results that count stay. Call it only once nothing is written any more.
    pub fn remove(&self) {
        let mut leavings = self.hold();
        if leavings.lock.is_none() {
            return;
        }
        leavings.staging = None;
        let folder = leavings.folder.clone();
        // Files that a manifest names stay. If the manifest cannot be read, it may name all of them.
        if let Ok(manifest) = Manifest::read(&folder) {
            let staged = manifest.and_then(|manifest| manifest.staged).map(|name| folder.join(name));
            remove_stagings(&folder, staged.as_deref());
        }
        if let Some(manifest) = Manifest::read(&folder).ok().flatten().filter(|_| leavings.planned) {
            let none = manifest.members.iter().all(|member| !holds_result(&folder.join(&member.folder)));
            if none && manifest.files.is_empty() {
                for member in &manifest.members {
                    let _ = disk::remove_empty(&folder.join(&member.folder));
                }
                let _ = disk::remove_file(&folder.join(MANIFEST));
            }
        }
        leavings.lock = None;
        for made in std::mem::take(&mut leavings.made) {
            if disk::remove_empty(&made).is_err() {
                break;
            }
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        self.traces.remove();
    }
}

impl Folder {
    /// Claims the folder at `path` and creates it if needed. Earlier results in it stay until new ones are
    /// complete. Unfinished work of a killed process is finished or removed.
    ///
    /// # Errors
    /// It cannot be made or written, it holds anything but results, or another process is at work in it.
    pub fn claim(path: &Path) -> Result<Self, ResultError> {
        let unwritable = |reason| ResultError::Unwritable { path: path.to_owned(), reason };
        if path.is_file() {
            let reason = "it is a file, and results need a folder".to_owned();
            return Err(ResultError::Unwritable { path: path.to_owned(), reason: std::io::Error::other(reason) });
        }
        let made = missing(path);
        let taken = Lock::take(path).map_err(|reason| {
            made.iter().for_each(|made| drop(disk::remove_empty(made)));
            unwritable(reason)
        })?;
        let Some(lock) = taken else { return Err(ResultError::InUse { path: path.to_owned() }) };
        let leavings = Leavings { folder: path.to_owned(), lock: Some(lock), made, staging: None, planned: false };
        let mut claimed = Self {
            path: path.to_owned(),
            before: None,
            was_empty: false,
            members: Vec::new(),
            origin: MadeBy::Run,
            staged: false,
            interrupted: false,
            traces: Traces(Arc::new(Mutex::new(leavings))),
        };
        if let Some(found) = foreign_entry(path, 0).map_err(unwritable)? {
            return Err(ResultError::NotAResultFolder { path: path.to_owned(), found });
        }
        claimed.refuse_neighbors()?;
        claimed.refuse_member()?;
        claimed.before = heal(path)?;
        for entry in entries(path).map_err(unwritable)? {
            if entry.file_type().map_err(unwritable)?.is_dir() && !is_staging(&entry.file_name()) {
                // A run whose manifest is damaged counts as missing and is written again.
                if heal(&entry.path()).is_ok() {
                    remove_stagings(&entry.path(), None);
                }
            }
        }
        claimed.was_empty = entries(path).map_err(unwritable)?.iter().all(|entry| is_own_hidden(&entry.file_name()));
        Ok(claimed)
    }

    /// The path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What to remove if the process must end without dropping this value.
    pub fn traces(&self) -> Traces {
        self.traces.clone()
    }

    /// Refuses if another process works in the parent folder or in a subfolder. Its own lock is held
    /// already, so that of two processes that start at once at least one sees the other.
    fn refuse_neighbors(&self) -> Result<(), ResultError> {
        let whole = std::path::absolute(&self.path).unwrap_or_else(|_| self.path.clone());
        let inner = entries(&self.path).unwrap_or_default().into_iter().map(|entry| entry.path());
        let mut neighbors = whole.parent().map(Path::to_owned).into_iter().chain(inner);
        match neighbors.find(|neighbor| Lock::is_held(neighbor)) {
            Some(path) => Err(ResultError::InUse { path }),
            None => Ok(()),
        }
    }

    /// Refuses the folder of one of several runs, since their manifest would then name another run.
    fn refuse_member(&self) -> Result<(), ResultError> {
        let whole = std::path::absolute(&self.path).unwrap_or_else(|_| self.path.clone());
        let (Some(around), Some(name)) = (whole.parent(), whole.file_name()) else { return Ok(()) };
        // A manifest that cannot be read does not matter here.
        let Some(manifest) = Manifest::read(around).ok().flatten() else { return Ok(()) };
        if manifest.members.iter().any(|member| name == member.folder.as_str()) && holds_result(&self.path) {
            let (path, found) = (self.path.clone(), manifest.command.in_words());
            return Err(ResultError::MemberOf { path, found, around: around.to_owned() });
        }
        Ok(())
    }

    /// Replaces what the folder held by a run, those of its drives if it is of an array, and their reports if `render` makes some. Returns the names
    /// of the members of an earlier command that were removed.
    ///
    /// # Errors
    /// A file cannot be written; then the folder still holds what it held.
    pub fn write(&mut self, run: &RunResult, render: Option<Render<'_>>) -> Result<Vec<String>, ResultError> {
        let files = run_files(&self.path, run, render)?;
        let manifest = manifest_of(run, Inputs::default());
        write_drives(&self.staging()?, run, render)?;
        self.publish(manifest, &files)
    }

    /// Refuses a folder that holds anything but exactly these members, finished or not. For a command that continues where it stopped and
    /// deletes nothing.
    ///
    /// # Errors
    /// It holds results of another command, or of other scenarios or traces.
    pub fn refuse_others(&self, origin: MadeBy, members: &[Member]) -> Result<(), ResultError> {
        let found = match &self.before {
            _ if self.was_empty => return Ok(()),
            Some(old) if old.command != origin => old.command.in_words(),
            Some(old) if old.members == members => return Ok(()),
            Some(_) => "other scenarios or traces than this command's",
            None => "an earlier version of wane",
        };
        Err(ResultError::AnotherCommand { path: self.path.clone(), found })
    }

    /// Refuses to delete runs of a sweep or of several seeds that are not among these members, since they may be the work of hours.
    ///
    /// # Errors
    /// The folder holds such runs.
    pub fn refuse_loss(&self, members: &[Member]) -> Result<(), ResultError> {
        let Some(old) = self.before.as_ref().filter(|old| matches!(old.command, MadeBy::Sweep | MadeBy::Seeds)) else {
            return Ok(());
        };
        if old.members == members {
            return Ok(());
        }
        let wanted: BTreeSet<(&str, &Inputs)> =
            members.iter().map(|member| (member.scenario.as_str(), &member.inputs)).collect();
        let stays = |place: &Path| {
            what_lies_at(place).is_some_and(|(scenario, inputs)| wanted.contains(&(scenario.as_str(), &inputs)))
        };
        let places = old.members.iter().map(|member| self.path.join(&member.folder));
        match places.filter(|place| holds_result(place) && !stays(place)).count() {
            0 => Ok(()),
            count => Err(ResultError::WouldBeLost { path: self.path.clone(), found: old.command.in_words(), count }),
        }
    }

    /// The name of the single run that the folder holds, if the hash of its scenario is not among these.
    pub fn other_run(&self, hashes: &[String]) -> Option<String> {
        let is_run = |old: &&Manifest| matches!(old.command, MadeBy::Run | MadeBy::Array);
        let manifest = self.before.as_ref().filter(is_run)?;
        let summary = RunFiles::lying(&self.path, Some(manifest)).summary().ok()?;
        (!hashes.contains(&summary.scenario.hash)).then_some(summary.scenario.name)
    }

    /// Sets which runs the folder will hold, in order. In an empty folder each can be read as soon as it is written. Results of
    /// another command stay until [`Self::finish`].
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn begin(&mut self, origin: MadeBy, members: Vec<Member>) -> Result<(), ResultError> {
        let same = self.before.as_ref().is_some_and(|old| old.command == origin && old.members == members);
        self.staged = !same && !self.was_empty;
        self.origin = origin;
        let staging = self.traces.hold().staging.clone();
        if self.staged && staging.is_none() {
            self.adopt_staging();
        } else {
            remove_stagings(&self.path, staging.as_deref());
        }
        if !self.staged && !same {
            let manifest = Manifest::new(origin, Inputs::default(), members.clone());
            let staging = self.staging()?;
            let planned = staging.join(MANIFEST);
            write_file(&planned, &manifest.to_json())?;
            self.traces.hold().planned = true;
            let place = self.path.join(MANIFEST);
            disk::rename(&planned, &place).map_err(|reason| ResultError::Unwritable { path: place, reason })?;
        }
        self.members = members;
        if self.staged { self.carry_over() } else { Ok(()) }
    }

    /// Copies the runs that exist under other names into the staging folder. One more value in a sweep renumbers the runs behind it.
    fn carry_over(&self) -> Result<(), ResultError> {
        let Some(old) = &self.before else { return Ok(()) };
        let staging = self.staging()?;
        // Each place is read once, since a sweep may have thousands.
        let places = old.members.iter().map(|old| self.path.join(&old.folder));
        let lying: BTreeMap<(String, Inputs), PathBuf> =
            places.filter_map(|place| Some((what_lies_at(&place)?, place))).collect();
        for member in self.members.iter().filter(|member| member.inputs != Inputs::Unknown) {
            let Some(from) = lying.get(&(member.scenario.clone(), member.inputs.clone())) else { continue };
            if ![&self.path, &staging].into_iter().any(|at| is_member(&at.join(&member.folder), member)) {
                copy_run(from, &staging.join(&member.folder))?;
            }
        }
        Ok(())
    }

    /// The finished run of a member, if it is there already. Scenario, traces and version must be the same, and the run not
    /// interrupted.
    pub fn found(&self, member: usize, version: &str) -> Option<RunResult> {
        let member = &self.members[member];
        let staging = self.traces.hold().staging.clone();
        let places = [Some(self.path.clone()), staging].into_iter().flatten();
        places.map(|place| place.join(&member.folder)).find_map(|place| finished(&place, member, version))
    }

    /// Writes the run of a member and its report, whole or not at all; of an array with those of its drives.
    ///
    /// # Errors
    /// A file cannot be written; then its folder still holds what it held.
    pub fn write_member(&self, member: usize, run: &RunResult, render: Render<'_>) -> Result<(), ResultError> {
        let member = &self.members[member];
        let within = if self.staged { self.staging()? } else { self.path.clone() };
        let place = within.join(&member.folder);
        let files = run_files(&place, run, Some(render))?;
        let mut manifest = manifest_of(run, member.inputs.clone());
        let lie = Manifest::read(&place).ok().flatten().map(|old| old.members).unwrap_or_default();
        let is_new = |folder: &String| manifest.members.iter().any(|drive| drive.folder == *folder);
        manifest.superseded = lie.into_iter().map(|drive| drive.folder).filter(|folder| !is_new(folder)).collect();
        let unwritable = |reason| ResultError::Unwritable { path: place.clone(), reason };
        if !place.is_dir() {
            disk::create_folder(&place).map_err(unwritable)?;
        }
        let replaced = make_staging(&place).and_then(|staging| {
            let written = write_drives(&staging, run, Some(render));
            let replaced = written.and_then(|()| replace(&place, &staging, manifest, &files));
            if replaced.is_err() && !is_in_force(&place, &staging) {
                let _ = disk::remove_all(&staging);
            }
            replaced
        });
        if replaced.is_err() {
            let _ = disk::remove_empty(&place);
        }
        replaced
    }

    /// Writes a file of [`Self::finish`] in advance, for runs that read it. Returns its path until then.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn stage(&self, name: &str, bytes: &[u8]) -> Result<PathBuf, ResultError> {
        let place = self.staging()?.join(name);
        write_file(&place, bytes)?;
        Ok(place)
    }

    /// Makes the written members and these files the whole content of the folder. Returns the names of the members of an
    /// earlier command that were removed.
    ///
    /// # Errors
    /// A file cannot be written; then the folder still holds what it held.
    pub fn finish(&mut self, files: &[NewFile<'_>]) -> Result<Vec<String>, ResultError> {
        let manifest = Manifest::new(self.origin, Inputs::default(), self.members.clone());
        self.publish(manifest.marked(self.interrupted), files)
    }

    /// Notes that the user stopped the command before its results were whole, for [`Self::finish`].
    pub const fn note_interrupted(&mut self) {
        self.interrupted = true;
    }

    fn publish(&mut self, mut manifest: Manifest, files: &[NewFile<'_>]) -> Result<Vec<String>, ResultError> {
        let staging = self.staging()?;
        let removed = self.superseded(&manifest.members, &staging);
        manifest.superseded.clone_from(&removed);
        // Held, so that [`Traces::remove`] cannot delete files while they are put into force.
        let mut leavings = self.traces.hold();
        let replaced = replace(&self.path, &staging, manifest, files);
        if replaced.is_err() && !is_in_force(&self.path, &staging) {
            return replaced.map(|()| Vec::new());
        }
        leavings.staging = None;
        leavings.planned = false;
        leavings.made.clear();
        drop(leavings);
        replaced?;
        remove_stagings(&self.path, None);
        self.before = Manifest::read(&self.path)?;
        Ok(removed)
    }

    /// Results in the folder that no longer count although no new member replaces them: members of an earlier
    /// command, and other runs in the places of members that are not there.
    fn superseded(&self, members: &[Member], staging: &Path) -> Vec<String> {
        let is_new = |name: &str| members.iter().any(|member| member.folder == name);
        let old = self.before.iter().flat_map(|old| &old.members).map(|member| &member.folder);
        let old = old.filter(|name| !is_new(name));
        let absent = members.iter().filter(|member| !staging.join(&member.folder).exists());
        let strange = absent.filter(|member| !is_member(&self.path.join(&member.folder), member));
        let names = old.chain(strange.map(|member| &member.folder));
        names.filter(|name| holds_result(&self.path.join(name))).cloned().collect()
    }

    /// The staging folder, created if needed.
    fn staging(&self) -> Result<PathBuf, ResultError> {
        let mut leavings = self.traces.hold();
        if let Some(staging) = &leavings.staging {
            return Ok(staging.clone());
        }
        let staging = make_staging(&self.path)?;
        leavings.staging = Some(staging.clone());
        Ok(staging)
    }

    /// Continues in the staging folder of a process that was killed, so that its finished members need not run again.
    fn adopt_staging(&self) {
        let left = entries(&self.path).unwrap_or_default().into_iter().find(|entry| is_staging(&entry.file_name()));
        let Some(left) = left.map(|entry| entry.path()) else { return };
        for entry in entries(&left).unwrap_or_default() {
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let _ = match is_folder {
                true => heal(&entry.path()).map(|_| remove_stagings(&entry.path(), None)),
                false => disk::remove_file(&entry.path())
                    .map_err(|reason| ResultError::Unwritable { path: entry.path(), reason }),
            };
        }
        remove_stagings(&self.path, Some(&left));
        self.traces.hold().staging = Some(left);
    }
}

/// Makes the report of a run.
pub type Render<'a> = &'a dyn Fn(&RunResult) -> String;

impl RunResult {
    /// Whether the user stopped it before it was whole.
    pub fn is_interrupted(&self) -> bool {
        let is_cut = |array: &super::super::ArrayFigures| array.interrupted.is_some();
        self.summary.end.reason == EndReason::Interrupted || self.summary.array.as_ref().is_some_and(is_cut)
    }
}

/// The manifest of a run; of an array it names the folders of the drives.
fn manifest_of(run: &RunResult, inputs: Inputs) -> Manifest {
    let drive = |(folder, drive): (&str, &RunResult)| Member {
        folder: folder.to_owned(),
        scenario: drive.summary.scenario.hash.clone(),
        inputs: Inputs::default(),
    };
    let drives: Vec<Member> = run.named_drives().map(drive).collect();
    let made_by = if drives.is_empty() { MadeBy::Run } else { MadeBy::Array };
    Manifest::new(made_by, inputs, drives).marked(run.is_interrupted())
}

/// Writes the runs of an array's drives into a staging folder.
fn write_drives(staging: &Path, run: &RunResult, render: Option<Render<'_>>) -> Result<(), ResultError> {
    for (name, drive) in run.named_drives() {
        let folder = staging.join(name);
        let unwritable = |reason| ResultError::Unwritable { path: final_place(&folder), reason };
        disk::remove_all(&folder).and_then(|()| disk::create_folder(&folder)).map_err(unwritable)?;
        let mut manifest = manifest_of(drive, Inputs::default());
        for (name, bytes) in run_files(&folder, drive, render)? {
            write_file(&folder.join(name), &bytes)?;
            manifest.add_file(name, &bytes);
        }
        write_file(&folder.join(MANIFEST), &manifest.to_json())?;
    }
    Ok(())
}

/// The run at `place`, if it is finished and the one that the member names.
fn finished(place: &Path, member: &Member, version: &str) -> Option<RunResult> {
    let found = at_rest(place, &|manifest| {
        let summary = RunFiles::lying(place, manifest).summary()?;
        let fits = is_named(&summary, manifest, member)
            && member.inputs != Inputs::Unknown
            && summary.run.version == version
            && !manifest.is_some_and(|manifest| manifest.interrupted)
            && summary.end.reason != EndReason::Interrupted;
        if fits { run_of(place, manifest).map(Some) } else { Ok(None) }
    });
    found.ok().flatten()
}

/// Copies the folder of a run, and those of an array's drives in it.
fn copy_run(from: &Path, to: &Path) -> Result<(), ResultError> {
    copy_folder(from, to).map_err(|reason| match reason.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ResultError::Full { path: final_place(to) },
        _ => ResultError::Unwritable { path: final_place(to), reason },
    })
}

/// Copies a folder with what is in it. The manifest comes last, since without it nothing in the copy counts.
fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    disk::remove_all(to)?;
    disk::create_folder(to)?;
    let mut names: Vec<OsString> = entries(from)?.iter().map(fs::DirEntry::file_name).collect();
    names.retain(|name| !is_own_hidden(name));
    names.sort_by_key(|name| name == MANIFEST);
    names.iter().try_for_each(|name| {
        let (from, to) = (from.join(name), to.join(name));
        if from.is_file() { disk::write(&to, &fs::read(from)?) } else { copy_folder(&from, &to) }
    })
}

/// Hash of the scenario of the run at `place`, and the contents of its traces; `None` if there is no run.
fn what_lies_at(place: &Path) -> Option<(String, Inputs)> {
    let found = at_rest(place, &|manifest| {
        let summary = RunFiles::lying(place, manifest).summary()?;
        Ok((summary.scenario.hash, manifest.map(|manifest| manifest.inputs.clone()).unwrap_or_default()))
    });
    found.ok()
}

/// Whether the run at `place` is the one that the member names, finished or not.
fn is_member(place: &Path, member: &Member) -> bool {
    let named = at_rest(place, &|manifest| {
        let summary = RunFiles::lying(place, manifest).summary()?;
        Ok(is_named(&summary, manifest, member))
    });
    named.unwrap_or(false)
}

/// The files of a run, in memory.
fn run_files<'a>(folder: &Path, run: &RunResult, render: Option<Render<'_>>) -> Result<Vec<NewFile<'a>>, ResultError> {
    let mut files = files_that_keep(folder, run)?;
    files.push((TIMELINE_CSV, to_csv(&timeline_columns(&run.timeline, run.summary.host.page_bytes)).into_bytes()));
    if !run.windows.is_empty() {
        let windows = window_columns(run.windows.iter());
        files.push((WINDOWS_CSV, to_csv(&windows).into_bytes()));
        files.push((WINDOWS, parquet(folder, run, WINDOWS, &windows)?));
    }
    files.extend(render.map(|render| (REPORT, render(run).into_bytes())));
    Ok(files)
}

/// The files of a run that are needed to restore it.
pub(super) fn files_that_keep<'a>(folder: &Path, run: &RunResult) -> Result<Vec<NewFile<'a>>, ResultError> {
    let mut files = vec![
        (SCENARIO, run.scenario_toml.clone().into_bytes()),
        (TIMELINE, parquet(folder, run, TIMELINE, &timeline_columns(&run.timeline, run.summary.host.page_bytes))?),
        (BLOCKS, parquet(folder, run, BLOCKS, &block_columns(&run.blocks))?),
        (SUMMARY, run.summary.to_json().into_bytes()),
    ];
    if !run.windows.is_empty() || run.error_histogram.is_some() {
        let close = Close { windows: run.windows.clone(), raw_bit_errors_per_codeword: run.error_histogram.clone() };
        files.push((LATENCY, serde_json::to_vec(&close).expect("windows hold only numbers")));
    }
    Ok(files)
}

/// A table of a run as a Parquet file.
fn parquet(folder: &Path, run: &RunResult, name: &str, columns: &[Column]) -> Result<Vec<u8>, ResultError> {
    let metadata = [
        ("wane.version", run.summary.run.version.as_str()),
        ("wane.scenario.name", run.summary.scenario.name.as_str()),
        ("wane.scenario.hash", run.summary.scenario.hash.as_str()),
    ];
    let mut bytes = Vec::new();
    let written = write_parquet(&mut bytes, columns, &metadata);
    written.map(|()| bytes).map_err(|error| ResultError::Unwritable {
        path: folder.join(name),
        reason: io::Error::other(error.to_string()),
    })
}

/// Replaces what `folder` holds by the staged members and `files`.
///
/// All writes happen before the manifest is renamed into place. After that there are only renames and
/// removals, which a full disk cannot stop.
fn replace(folder: &Path, staging: &Path, mut manifest: Manifest, files: &[NewFile<'_>]) -> Result<(), ResultError> {
    for (name, bytes) in files {
        write_file(&staging.join(name), bytes)?;
        manifest.add_file(name, bytes);
    }
    let superseded = std::mem::take(&mut manifest.superseded);
    write_file(&staging.join(SETTLED), &manifest.to_json())?;
    manifest.superseded = superseded;
    manifest.staged = staging.file_name().map(|name| name.to_string_lossy().into_owned());
    let staged = staging.join(MANIFEST);
    write_file(&staged, &manifest.to_json())?;
    disk::sync_folder(staging);
    let place = folder.join(MANIFEST);
    disk::rename(&staged, &place).map_err(|reason| ResultError::Unwritable { path: place, reason })?;
    disk::sync_folder(folder);
    settle(folder, &manifest)
}

/// Whether the manifest of `folder` names `staging`, so that its files count.
fn is_in_force(folder: &Path, staging: &Path) -> bool {
    let name = staging.file_name().map(|name| name.to_string_lossy().into_owned());
    // A manifest that cannot be read may name it, so that nothing is removed.
    Manifest::read(folder).map_or(true, |manifest| manifest.is_some_and(|manifest| manifest.staged == name))
}

/// Moves staged files to their places. It may stop at any step and be started again.
fn settle(folder: &Path, manifest: &Manifest) -> Result<(), ResultError> {
    let Some(staging) = manifest.staged.as_ref().map(|name| folder.join(name)) else { return Ok(()) };
    let moved = || -> io::Result<()> {
        let aside = |name: &str| {
            let place = folder.join(name);
            if place.exists() { disk::rename(&place, &staging.join(format!("{REPLACED}{name}"))) } else { Ok(()) }
        };
        for name in manifest.files.keys() {
            if staging.join(name).exists() {
                disk::rename(&staging.join(name), &folder.join(name))?;
            }
        }
        for name in FILES.iter().filter(|name| !manifest.files.contains_key(**name)) {
            disk::remove_file(&folder.join(name))?;
        }
        for member in &manifest.members {
            if staging.join(&member.folder).exists() {
                aside(&member.folder)?;
                disk::rename(&staging.join(&member.folder), &folder.join(&member.folder))?;
            }
        }
        manifest.superseded.iter().try_for_each(|name| aside(name))?;
        disk::rename(&staging.join(SETTLED), &folder.join(MANIFEST))?;
        disk::sync_folder(folder);
        disk::remove_all(&staging)
    };
    moved().map_err(|reason| ResultError::Unwritable { path: folder.to_owned(), reason })
}

/// Finishes the move of a killed process, and removes files that it had not finished writing. Returns the manifest.
fn heal(folder: &Path) -> Result<Option<Manifest>, ResultError> {
    let found = Manifest::read(folder)?;
    let healed = match found {
        Some(manifest) if manifest.staged.is_some() => {
            settle(folder, &manifest)?;
            Manifest::read(folder)?
        }
        found => found,
    };
    for entry in entries(folder).unwrap_or_default() {
        if is_partial(&entry.file_name()) {
            let _ = disk::remove_file(&entry.path());
        }
    }
    Ok(healed)
}

/// Removes all staging folders in `folder` except `kept`.
fn remove_stagings(folder: &Path, kept: Option<&Path>) {
    for entry in entries(folder).unwrap_or_default() {
        if is_staging(&entry.file_name()) && Some(entry.path().as_path()) != kept {
            let _ = disk::remove_all(&entry.path());
        }
    }
}

fn make_staging(folder: &Path) -> Result<PathBuf, ResultError> {
    let unwritable = |reason| ResultError::Unwritable { path: folder.to_owned(), reason };
    for number in 0..NAMES_MAX {
        let staging = folder.join(format!("{STAGING}{}-{number}", std::process::id()));
        match disk::create_folder(&staging) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => return made.map(|()| staging).map_err(unwritable),
        }
    }
    Err(unwritable(io::Error::other(format!("it is full of folders '{STAGING}...'"))))
}

fn write_file(path: &Path, bytes: &[u8]) -> Result<(), ResultError> {
    disk::write(path, bytes).map_err(|reason| match reason.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ResultError::Full { path: final_place(path) },
        io::ErrorKind::FileTooLarge => ResultError::TooLarge { path: final_place(path) },
        _ => ResultError::Unwritable { path: final_place(path), reason },
    })
}

/// The final path of a staged file, as users know it.
fn final_place(path: &Path) -> PathBuf {
    path.iter().filter(|part| !is_staging(part)).collect()
}

/// Whether a run's results lie in the folder.
fn holds_result(folder: &Path) -> bool {
    folder.join(SUMMARY).exists() || folder.join(MANIFEST).exists()
}

/// The folders that must be created so that `path` exists, the innermost first.
fn missing(path: &Path) -> Vec<PathBuf> {
    let parts = path.ancestors().filter(|part| !part.as_os_str().is_empty());
    parts.take_while(|part| !part.exists()).map(Path::to_owned).collect()
}

/// What is in a folder, by name.
fn entries(folder: &Path) -> io::Result<Vec<fs::DirEntry>> {
    let mut entries = fs::read_dir(folder)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    Ok(entries)
}

fn is_staging(name: &std::ffi::OsStr) -> bool {
    name.to_string_lossy().starts_with(STAGING)
}

/// Whether the name is that of an unfinished file of an earlier version, such as `.summary.json.partial`.
fn is_partial(name: &std::ffi::OsStr) -> bool {
    let name = name.to_string_lossy();
    name.strip_prefix('.').and_then(|name| name.strip_suffix(".partial")).is_some_and(|name| FILES.contains(&name))
}

fn is_own_hidden(name: &OsString) -> bool {
    name == LOCK || is_staging(name) || is_partial(name)
}

/// The first entry that wane did not write. Names alone prove nothing, since a user's own
/// scenario may be called `scenario.toml`. A sweep of arrays has three levels of folders.
fn foreign_entry(folder: &Path, depth: u32) -> io::Result<Option<String>> {
    let is_own = bears_results(folder)?;
    for entry in entries(folder)? {
        let name = entry.file_name().to_string_lossy().into_owned();
        if is_own_hidden(&entry.file_name()) {
            continue;
        }
        if entry.file_type()?.is_dir() {
            if depth == 2 {
                return Ok(Some(name));
            }
            if let Some(below) = foreign_entry(&entry.path(), depth + 1)? {
                return Ok(Some(format!("{name}/{below}")));
            }
        } else if name != MANIFEST && !(is_own && FILES.contains(&name.as_str())) {
            return Ok(Some(name));
        }
    }
    Ok(None)
}

/// Whether the files in a folder are results. It then has a manifest, which is read later, a summary without one, as of earlier
/// versions, or subfolders with results.
fn bears_results(folder: &Path) -> io::Result<bool> {
    let is_run = |folder: &Path| folder.join(MANIFEST).exists() || is_summary(&folder.join(SUMMARY));
    if is_run(folder) {
        return Ok(true);
    }
    for entry in entries(folder)? {
        let below = entry.path();
        if entry.file_type()?.is_dir()
            && !is_own_hidden(&entry.file_name())
            && (is_run(&below) || entries(&below)?.iter().any(|entry| is_run(&entry.path())))
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a file is a summary of wane, of any version.
fn is_summary(path: &Path) -> bool {
    let parsed = fs::read(path).ok().and_then(|bytes| serde_json::from_slice::<serde_json::Value>(&bytes).ok());
    parsed.is_some_and(|summary| summary["scenario"]["hash"].is_string() && summary["run"].is_object())
}
