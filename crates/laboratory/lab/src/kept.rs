//! A drive that is kept in a folder. It can be created, opened, saved and forked; everything else is done by [`Held`].
//!
//! A journal in its folder has what was done to it since its last save: by a server, call by call, and by commands ([`Kept::keep`]), each of
//! them whole or not at all. Opening the drive does it again.

use std::fs::File;
use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use wane_archive::{Archive, ArchiveError};
use wane_blockdev::{Completion, Entry, IoError, Request};
use wane_folder::System;
use wane_ftl::{Fate, Recovery};
use wane_journal::{Input, Journal, JournalConfig, JournalError, Lineage, Place, Record};
use wane_results::{ArrayProbe, RunResult};
use wane_scenario::{Scenario, ScenarioError, Sources, as_kept_formerly};
use wane_shelf::{DriveFolder, JournalStart, Manifest, VERSION};
use wane_units::{Fnv, Nanos, SimTime, excerpt_path};

use crate::array::Assembly;
use crate::build::PolicyOverrides;
use crate::held::{Act, Acted, Held};
pub use wane_aging::FACTOR_MOST;

pub use crate::held::{Aged, DataCheck, Injection, KeptError, Reached, Retire, Target, WrittenBytes};
use crate::progress::Stopwatch;
use crate::run::Watch;
use crate::session;
pub use attached::{Attached, Keeps};
pub use names::check_whole;
use names::{check_place, label, place_of};
use recent::Recent;
pub use repeat::Seen;
use repeat::{Repeat, Repeated};

mod attached;
mod names;
mod recent;
mod repeat;

/// See the head of this file.
pub struct Kept {
    folder: DriveFolder,
    held: Held,
    /// What of the journal was done again when it was opened.
    repeated: Repeated,
    /// Seconds that this took.
    repeat_seconds: f64,
    /// Sentences of the history that are in the journal alone.
    notes: Vec<String>,
    /// What was done since it was opened.
    recent: Recent,
    /// The limits of re-reads that its host required before its power went off in the journal.
    required: Vec<Option<u32>>,
    /// The instant at which opening it gave it power. Its journal does not have that yet.
    revived: Option<SimTime>,
    /// See [`Kept::journal_end`].
    end: Option<JournalEnd>,
}

/// What is known of the end of a drive's journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JournalEnd {
    /// Its records since the drive was saved.
    pub records: u64,
    /// The last of these, of which nobody knows that they were on the disk: a machine that dies may take them away, and nobody sees it.
    pub unmarked: u64,
    /// Whether the journal was closed at its end. If it was not, other records may have followed.
    pub is_known: bool,
}

/// How a journal of commands is written: most are short.
const COMMANDS: JournalConfig = JournalConfig { segment_bytes: 64 << 20, step_bytes: 64 << 10 };

/// A drive is saved whole if doing its journal again would take longer than this.
const REPEAT_SECONDS: f64 = 1.0;

/// Before it is served, it is saved if that took so long: killed again and again, it would have ever more to do again.
const REPEAT_SECONDS_MOST: f64 = 4.0;

/// Or if its journal has more bytes than its state and than this, or more files.
const JOURNAL_LEAST: u64 = 4 << 20;
const SEGMENTS_MOST: usize = 64;

/// Resolves the saved text of a scenario.
/// Folders up to this version were written when some defaults of scenarios were others.
const DEFAULTS_CHANGED: u32 = 2;

fn resolved(text: &str) -> Result<Scenario, ScenarioError> {
    Scenario::resolve(&Sources { file: Some(("drive.json", text)), ..Sources::default() })
}

impl Kept {
    /// Creates a new, empty drive at `path`.
    ///
    /// # Errors
    /// Something is there, or the scenario makes no drive.
    pub fn create(path: &Path, scenario: &Scenario, stop: &Arc<AtomicBool>) -> Result<Self, KeptError> {
        check_place(path)?;
        let mut held = Held::new(scenario, PolicyOverrides::default())?;
        held.open_workload(stop)?;
        let mut manifest = Manifest::new(scenario.to_toml());
        manifest.label = label("", path);
        manifest.history.push(format!("created of {}", scenario.name));
        let folder = DriveFolder::create(path, manifest, |writer, _| held.archive(writer as &mut dyn Archive))?;
        Ok(Self::new(folder, held))
    }

    /// Creates a new drive at `path` and preconditions it as a run is. Every `pause` it is kept as it is then; if this is killed or stopped, the next
    /// call goes on from there. Before the first of these it appears whole, or not at all.
    ///
    /// # Errors
    /// As of [`Kept::create`]; the user stopped it, or the drive died, which leaves nothing.
    pub fn create_preconditioned(
        path: &Path,
        scenario: &Scenario,
        pause: Duration,
        watch: &mut Watch<'_>,
    ) -> Result<Self, KeptError> {
        check_place(path)?;
        let mut kept = match Self::unfinished(path, scenario)? {
            Some(kept) => kept,
            None => Self::begin_preconditioned(path, scenario, pause, watch)?,
        };
        while let Some(done) = kept.folder.manifest().unfinished {
            let stopwatch = Stopwatch::start();
            let left = kept.held.precondition_from(done, &mut || stopwatch.elapsed() >= pause, watch)?;
            if let Some(cause) = kept.held.cause() {
                drop(kept);
                let _ = std::fs::remove_dir_all(path);
                return Err(KeptError::DiedNew(cause));
            }
            if left.is_none() && watch.is_stopped() {
                return Err(KeptError::Unfinished(excerpt_path(path)));
            }
            kept.folder.set_unfinished(left);
            kept.save_with(None, true, None)?;
        }
        Ok(kept)
    }

    /// The drive at `path`, if it is of this scenario and was not made to its end.
    fn unfinished(path: &Path, scenario: &Scenario) -> Result<Option<Self>, KeptError> {
        let Ok(folder) = DriveFolder::open(path) else { return Ok(None) };
        if folder.manifest().unfinished.is_none() || folder.manifest().scenario != scenario.to_toml() {
            return Ok(None);
        }
        Self::saved(folder, false).map(Some)
    }

    fn begin_preconditioned(
        path: &Path,
        scenario: &Scenario,
        pause: Duration,
        watch: &mut Watch<'_>,
    ) -> Result<Self, KeptError> {
        let mut held = Held::new(scenario, PolicyOverrides::default())?;
        held.open_workload(watch.stop)?;
        let mut manifest = Manifest::new(scenario.to_toml());
        manifest.label = label("", path);
        manifest.history.push(format!("created of {}, and preconditioned as for a run", scenario.name));
        let mut failed = None;
        let stopwatch = Stopwatch::start();
        let folder = DriveFolder::create(path, manifest, |writer, manifest| {
            let left = held.precondition_from(0, &mut || stopwatch.elapsed() >= pause, watch);
            let preconditioned = left.and_then(|left| match held.cause() {
                Some(cause) => Err(KeptError::DiedNew(cause)),
                None if left.is_none() && watch.is_stopped() => Err(KeptError::Interrupted),
                None => Ok(left),
            });
            match preconditioned {
                Ok(left) => {
                    manifest.unfinished = left;
                    held.archive(writer as &mut dyn Archive)
                }
                Err(error) => {
                    failed = Some(error);
                    Err(ArchiveError::Unsaved("it was not preconditioned".to_owned()))
                }
            }
        });
        match failed {
            Some(error) => Err(error),
            None => Ok(Self::new(folder?, held)),
        }
    }

    fn new(folder: DriveFolder, held: Held) -> Self {
        let (repeated, recent) = (Repeated::default(), Recent::default());
        let (repeat_seconds, notes) = (0.0, Vec::new());
        let (required, revived, end) = (Vec::new(), None, None);
        Self { folder, held, repeated, repeat_seconds, notes, recent, required, revived, end }
    }

    /// Opens the drive at `path`. Everything is read and verified.
    ///
    /// # Errors
    /// It is no drive, damaged, in use, or needs too much memory.
    pub fn open(path: &Path) -> Result<Self, KeptError> {
        Self::open_at(path, false)
    }

    /// Opens the array of which a path names a drive, as a whole, and returns the drive's number.
    ///
    /// # Errors
    /// As of [`Kept::open`]; the path names no drive of an array.
    pub fn open_for(path: &Path) -> Result<(Self, usize), KeptError> {
        let (folder, number) = place_of(path);
        let kept = Self::open_folder(DriveFolder::open(folder)?, true, u64::MAX)?.brought_back()?;
        let at = |error| KeptError::At(excerpt_path(folder), Box::new(error));
        match (number, kept.places()) {
            (_, None) => Err(at(KeptError::NoArray)),
            (None, Some(_)) => Err(at(KeptError::OneDrive("taken out, put back or replaced"))),
            (Some(place), Some(places)) if place >= places => Err(at(KeptError::NoMember { place, places })),
            (Some(place), Some(_)) => Ok((kept, place)),
        }
    }

    /// Opens the drive at a path, or the drive of an array of that number at its end, as in `old.wane/1`, which is in focus then.
    fn open_at(path: &Path, late: bool) -> Result<Self, KeptError> {
        let (folder, focus) = place_of(path);
        let mut kept = Self::open_folder(DriveFolder::open(folder)?, late, u64::MAX)?.brought_back()?;
        kept.held.set_focus(focus).map_err(|error| KeptError::At(excerpt_path(folder), Box::new(error)))?;
        Ok(kept)
    }

    /// The same, but large tables and bytes that were written to it are read, and verified, when they are first touched: see
    /// [`Kept::check_bytes`].
    ///
    /// # Errors
    /// As of [`Kept::open`].
    pub fn open_late(path: &Path) -> Result<Self, KeptError> {
        Self::open_at(path, true)
    }

    /// A drive as it was saved; `late` as of [`Kept::open_late`].
    fn saved(mut folder: DriveFolder, late: bool) -> Result<Self, KeptError> {
        let manifest = folder.manifest();
        let scenario = match manifest.version {
            ..=DEFAULTS_CHANGED => resolved(&as_kept_formerly(&manifest.scenario))?,
            _ => resolved(&manifest.scenario)?,
        };
        if !late {
            session::check_memory(&scenario)?;
        }
        let mut held = Held::with(&scenario, PolicyOverrides::default(), folder.manifest().workloads, Assembly::Read)?;
        if late {
            folder.read_late(|reader| held.archive(reader as &mut dyn Archive))?;
        } else {
            folder.read(|reader| held.archive(reader as &mut dyn Archive))?;
        }
        Ok(Self::new(folder, held))
    }

    /// Opens a drive with what segments before this one have.
    fn open_folder(folder: DriveFolder, late: bool, before: u64) -> Result<Self, KeptError> {
        if folder.manifest().unfinished.is_some() {
            return Err(KeptError::Unfinished(excerpt_path(folder.path())));
        }
        let mut kept = Self::saved(folder, late)?;
        if let Some(start) = kept.folder.manifest().journal.clone() {
            let stopwatch = Stopwatch::start();
            let mut repeat = Repeat::of(&mut kept.held);
            let path = kept.folder.path();
            kept.repeated = repeat.journal(path, &start, before, None, &mut |_| {})?;
            (kept.notes, kept.required) = (repeat.notes, repeat.required);
            kept.repeat_seconds = stopwatch.elapsed().as_secs_f64();
            if before == u64::MAX {
                kept.know_journal()?;
            }
        }
        Ok(kept)
    }

    /// Takes note of what is known of its journal's end.
    fn know_journal(&mut self) -> Result<(), KeptError> {
        if let Some((end, unmarked)) = self.repeated.end {
            self.folder.check_journal(end)?;
            let (noted, is_closed) = self.folder.noted_journal();
            let (records, unmarked) = (self.repeated.records, unmarked.min(end.number - noted));
            self.end = Some(JournalEnd { records, unmarked, is_known: is_closed && noted == end.number });
        }
        Ok(())
    }

    /// What is known of its journal's end, as it was opened; `None`: it had no journal.
    pub const fn journal_end(&self) -> Option<JournalEnd> {
        self.end
    }

    /// Gives power to a drive whose server died while it was off.
    fn brought_back(mut self) -> Result<Self, KeptError> {
        if self.held.device().is_off() {
            let at = self.held.device().now();
            self.held.device_mut().power_on(at).map_err(KeptError::Unpowered)?;
            let required = std::mem::take(&mut self.required);
            self.held.act(&Act::ReadRecoveries(required.clone()))?;
            self.required = required;
            self.revived = Some(at);
        }
        self.let_answers_go();
        Ok(self)
    }

    /// Opens the drive at `path` as it was saved, and does again what its journal has, up to `until` if that is given, with the same modelled
    /// times. Each thing that happens is told. Returns the drive and the instant at which the journal begins. The folder is not changed, and the
    /// drive is not to be saved there.
    ///
    /// # Errors
    /// As of [`Kept::open`]; it has no journal.
    pub fn replay(
        path: &Path,
        until: Option<SimTime>,
        each: &mut dyn FnMut(Seen),
    ) -> Result<(Self, SimTime), KeptError> {
        check_whole(path, "replayed")?;
        let folder = DriveFolder::open(path)?;
        let Some(start) = folder.manifest().journal.clone() else {
            return Err(KeptError::NoJournal(excerpt_path(path)));
        };
        let mut kept = Self::saved(folder, false)?;
        let begin = kept.held.device().now();
        if until.is_some_and(|until| until < begin) {
            return Err(KeptError::BeforeJournal(excerpt_path(path), begin));
        }
        let mut repeat = Repeat::of(&mut kept.held);
        kept.repeated = repeat.journal(path, &start, u64::MAX, until, each)?;
        // Behind the end of the journal no time passes but that of what is under way.
        repeat.run_out(until.filter(|_| repeat.is_cut_short), each);
        (kept.notes, kept.required) = (repeat.notes, repeat.required);
        // Without power nothing of it can be shown.
        Ok((kept.brought_back()?, begin))
    }

    /// A drive in the folder of another would be removed with that.
    fn check_outside(&self, to: &Path) -> Result<(), KeptError> {
        let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        if absolute(to).starts_with(absolute(self.folder.path())) {
            return Err(KeptError::Inside(excerpt_path(to)));
        }
        Ok(())
    }

    /// Takes out the answers to requests of a server that is gone: nobody waits for them.
    fn let_answers_go(&mut self) {
        let device = self.held.device_mut();
        let now = device.now();
        device.complete(now, &mut Vec::new());
    }

    /// Keeps the present state as a new drive at `to`, which has no journal.
    ///
    /// # Errors
    /// Something is there, the drive has no power, or the system refuses.
    pub fn copy_to(&mut self, to: &Path, note: String) -> Result<(), KeptError> {
        self.check_outside(to)?;
        let mut manifest = Manifest::new(self.scenario().to_toml());
        manifest.workloads = self.workloads();
        manifest.label = label(self.label(), to);
        manifest.history = self.history();
        manifest.history.push(note);
        self.held.come_to_rest();
        self.let_answers_go();
        let held = &mut self.held;
        DriveFolder::create(to, manifest, |writer, _| held.archive(writer as &mut dyn Archive))?;
        Ok(())
    }

    /// Records of the journal that were done again when it was opened.
    pub fn repeated(&self) -> u64 {
        self.repeated.records
    }

    /// A sentence if whole records of the journal were cut off when it was opened, with what lay before them: a machine that died leaves that, or
    /// somebody who damages the file, but no program that was killed. It is told until the drive is changed.
    pub fn dropped(&self) -> Option<String> {
        let (file, records) = self.repeated.dropped.as_ref()?;
        let (drive, are) = (excerpt_path(self.folder.path()), if *records == 1 { "record is" } else { "records are" });
        Some(format!(
            "{drive}: {file} is cut off where it is torn, and {records} whole {are} dropped behind that: what they had was acknowledged, \
             and not known to be on the disk"
        ))
    }

    /// Checks that all bytes that were read since it was opened were whole. Otherwise what it answered may be wrong.
    ///
    /// # Errors
    /// A sentence that names the file.
    pub fn check_bytes(&self) -> Result<(), KeptError> {
        match self.held.damage() {
            Some(damage) => Err(KeptError::Bytes(self.shown(), damage.to_owned())),
            None => Ok(()),
        }
    }

    /// See [`Held::load`]. It changes nothing.
    ///
    /// # Errors
    /// A sentence that names the file.
    pub fn load(&mut self) -> Result<(), KeptError> {
        self.held.load().map_err(|error| KeptError::Bytes(self.shown(), error.to_string()))
    }

    fn shown(&self) -> String {
        excerpt_path(self.folder.path())
    }

    /// Performs a request, which [`Kept::keep`] keeps.
    ///
    /// # Errors
    /// Its status is not `Done`.
    pub fn perform(&mut self, request: Request) -> Result<Completion, IoError> {
        self.recent.call(self.held.device().now(), &request);
        self.held.blocking().perform(request)
    }

    /// See [`Held::check_copies`]. It changes nothing.
    ///
    /// # Errors
    /// As of [`Held::check_copies`].
    pub fn only_copies(&mut self, place: usize) -> Result<(), KeptError> {
        self.held.check_copies(place)
    }

    /// Opens the array of a path that may name a drive of it, which is not looked at.
    ///
    /// # Errors
    /// As of [`Kept::open`].
    pub fn open_around(path: &Path) -> Result<Self, KeptError> {
        Self::open_folder(DriveFolder::open(place_of(path).0)?, true, u64::MAX)?.brought_back()
    }

    /// Does something to it, or to the drive in focus, which [`Kept::keep`] keeps.
    ///
    /// # Errors
    /// As of [`Held::act`]. It must not be kept or saved then.
    pub fn act(&mut self, act: &Act) -> Result<Acted, KeptError> {
        let of_one;
        let act = match self.held.focus() {
            Some(_) if act.is_of_the_keeper() => act,
            Some(place) => {
                of_one = Act::Of(place as u32, Box::new(act.clone()));
                &of_one
            }
            None => act,
        };
        self.recent.act(self.held.device().now(), act);
        self.held.act(act)
    }

    /// See [`Held::cut_power`]. [`Kept::keep`] keeps it.
    ///
    /// # Errors
    /// As of [`Held::cut_power`]. It must not be kept or saved then.
    pub fn cut_power(
        &mut self,
        out: &[u32],
        mut fate: impl FnMut() -> Fate,
    ) -> Result<(Option<Recovery>, Option<Nanos>), KeptError> {
        let at = self.held.device().now();
        let mut fates = Vec::new();
        let recovered = self.held.cut_power(out, || {
            let drawn = fate();
            fates.push(drawn);
            drawn
        })?;
        let done = if out.is_empty() { Act::PowerCut(fates) } else { Act::PowerCutWithout(fates, out.to_vec()) };
        self.recent.act(at, &done);
        Ok(recovered)
    }

    /// Keeps all that was done since it was opened, or nothing of it. The journal takes it, or a save where one is due. `note` says in a sentence
    /// what it was. What was not done by [`Kept::perform`], [`Kept::act`] or [`Kept::cut_power`] is kept by a save alone.
    ///
    /// # Errors
    /// It cannot be written. What was kept before is still there.
    pub fn keep(&mut self, note: String) -> Result<(), KeptError> {
        self.check_bytes()?;
        if !self.recent.is_recorded() || (self.is_due() && !self.journal_stays()) {
            return self.save(note);
        }
        // Each command leaves the drive at rest.
        self.act(&Act::ComeToRest)?;
        let at = self.held.device().now();
        let mut recent = std::mem::take(&mut self.recent);
        recent.act(at, &Act::Note(note.clone()));
        let path = self.shown();
        let failed = |error| KeptError::Journal(path.clone(), error);
        let mut journal = self.journal_as(COMMANDS)?;
        // Its room is there before any of it is.
        journal.make_room(recent.bytes()).map_err(&failed)?;
        for (at, input) in recent.inputs() {
            journal.append(at.0, &input).map_err(&failed)?;
        }
        journal.sync().map_err(&failed)?;
        self.note_end(&journal);
        self.notes.push(note);
        Ok(())
    }

    /// Lets its journal stay, for a replay: commands append to it however long it is.
    ///
    /// # Errors
    /// The manifest cannot be written.
    pub fn let_journal_stay(&mut self) -> Result<(), KeptError> {
        Ok(self.folder.let_journal_stay()?)
    }

    /// Whether its journal stays, for a replay, until a save ends it.
    pub fn journal_stays(&self) -> bool {
        self.folder.manifest().journal.as_ref().is_some_and(|start| start.stays)
    }

    /// Whether it is to be saved whole.
    fn is_due(&self) -> bool {
        let bytes = self.folder.journal_bytes() + self.recent.bytes() as u64;
        self.repeat_seconds + self.recent.seconds() > REPEAT_SECONDS
            || bytes > self.folder.state_bytes().max(JOURNAL_LEAST)
            || self.folder.journal_segments() >= SEGMENTS_MOST
    }

    /// Whether it is to be saved before anything else is done to it: doing its journal again took long, or that has many files.
    pub fn is_overdue(&self) -> bool {
        self.repeat_seconds > REPEAT_SECONDS_MOST || self.folder.journal_segments() >= SEGMENTS_MOST
    }

    /// The journal of what is done to it from now on, or that of what was done to it since its last save. The caller appends all that it does.
    ///
    /// # Errors
    /// The journal cannot be written.
    pub fn journal(&mut self) -> Result<Journal, KeptError> {
        self.journal_as(JournalConfig::default())
    }

    fn journal_as(&mut self, config: JournalConfig) -> Result<Journal, KeptError> {
        let path = self.folder.path().to_owned();
        let failed = |error| KeptError::Journal(excerpt_path(&path), error);
        let disk = Arc::new(System);
        if let Some(start) = self.folder.manifest().journal.clone() {
            let each = &mut |_: &Record<'_>, _: &str| Ok::<_, JournalError>(());
            if self.folder.manifest().version < VERSION {
                // An older wane would take the segments that come for torn ones.
                self.folder.begin_journal(start.clone())?;
            }
            let (known, _) = self.folder.noted_journal();
            let (mut journal, _) =
                Journal::open(disk, &path, &start.lineage(), config, (start.place, known), each).map_err(&failed)?;
            self.folder.note_journal(journal.synced(), false);
            if let Some(at) = self.revived.take() {
                let act = |act: &Act| Input::Command(act.encode());
                let inputs = [
                    act(&Act::Begin { command: false }),
                    Input::Call(Entry::PowerOn { at }),
                    act(&Act::ReadRecoveries(self.required.clone())),
                ];
                for input in inputs {
                    journal.append(at.0, &input).map_err(&failed)?;
                }
            }
            return Ok(journal);
        }
        let mut device = Fnv::of(self.label().as_bytes());
        device.add(&self.folder.manifest().stored.number.to_le_bytes());
        let device = device.get();
        let journal = Journal::create(disk, &path, device, config).map_err(failed)?;
        self.folder.begin_journal(JournalStart::new(Lineage::of(device), journal.place()))?;
        Ok(journal)
    }

    /// Notes that its journal ends here, on the disk, so that it is seen if it is cut off.
    pub fn note_end(&self, journal: &Journal) {
        self.folder.note_journal(journal.synced(), journal.synced() == journal.number());
    }

    /// As [`Kept::save`], in the middle of a journal, which goes on behind what is saved.
    ///
    /// # Errors
    /// As of [`Kept::save`]; the journal cannot be written.
    pub fn save_beside(&mut self, note: String, journal: &mut Journal) -> Result<(), KeptError> {
        let path = self.shown();
        let place = journal.seal().map_err(|error| KeptError::Journal(path, error))?;
        let start = self.lineage().map(|lineage| JournalStart::new(lineage, place));
        self.save_with(Some(note), true, start)
    }

    fn lineage(&self) -> Option<Lineage> {
        self.folder.manifest().journal.as_ref().map(JournalStart::lineage)
    }

    /// A file handle that holds the folder's lock, for the process that saves it beside this one ([`Kept::save_up_to`]).
    ///
    /// # Errors
    /// The system refuses.
    pub fn share_lock(&self) -> std::io::Result<File> {
        self.folder.share_lock()
    }

    /// Saves the drive at `path` as it was at `place` of its journal, which is the start of a segment, while the process that gave `lock` goes on
    /// with it. Segments before that place are gone then.
    ///
    /// # Errors
    /// As of [`Kept::open`] and [`Kept::save`]; its journal does not reach that place, or its power is off there.
    pub fn save_up_to(path: &Path, lock: File, place: Place) -> Result<(), KeptError> {
        let mut kept = Self::open_folder(DriveFolder::open_beside(path, lock)?, true, place.segment)?;
        let number =
            kept.folder.manifest().journal.as_ref().map_or(0, |start| start.place.number) + kept.repeated.records;
        let Some(lineage) = kept.lineage().filter(|_| number == place.number) else {
            return Err(KeptError::Short(kept.shown()));
        };
        let start = JournalStart::new(lineage, place);
        // The drive goes on from here, in the midst of what it does.
        kept.write(None, true, Some(start), Held::archive_now)
    }

    /// Takes note of what [`Kept::save_up_to`] did in another process.
    ///
    /// # Errors
    /// What that wrote cannot be read.
    pub fn renew(&mut self) -> Result<(), KeptError> {
        self.folder.renew()?;
        self.notes.clear();
        Ok(())
    }

    /// Bytes of its saved state.
    pub fn state_bytes(&self) -> u64 {
        self.folder.state_bytes()
    }

    /// Makes a drive at `to` that is what this one is now, while that goes on with `journal`. Nothing is read or verified.
    ///
    /// # Errors
    /// Something is there, or the system refuses.
    pub fn fork_live(&self, to: &Path, journal: &mut Journal) -> Result<(), KeptError> {
        self.check_outside(to)?;
        let place = journal.seal().map_err(|error| KeptError::Journal(self.shown(), error))?;
        let (from, label) = (self.shown(), label(self.label(), to));
        self.folder.fork_before(place.segment, to, |manifest| {
            manifest.history.push(format!("forked from {from} while that was served"));
            apart(manifest, label, place.segment - 1);
        })?;
        Ok(())
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
        self.save_with(Some(note), is_first, None)
    }

    fn save_with(
        &mut self,
        note: Option<String>,
        is_first: bool,
        journal: Option<JournalStart>,
    ) -> Result<(), KeptError> {
        self.write(note, is_first, journal, Held::archive)
    }

    fn write(
        &mut self,
        note: Option<String>,
        is_first: bool,
        journal: Option<JournalStart>,
        archive: impl FnOnce(&mut Held, &mut dyn Archive) -> Result<(), ArchiveError>,
    ) -> Result<(), KeptError> {
        self.check_bytes()?;
        let mut manifest = self.folder.manifest().clone();
        (manifest.scenario, manifest.workloads) = (self.scenario().to_toml(), self.workloads());
        manifest.history.extend(self.notes.iter().cloned());
        if !is_first {
            manifest.history.pop();
        }
        manifest.history.extend(note);
        manifest.journal = journal;
        let held = &mut self.held;
        self.folder.save(manifest, |writer| archive(held, writer as &mut dyn Archive))?;
        self.notes.clear();
        (self.recent, self.revived, self.end) = (Recent::default(), None, None);
        self.repeat_seconds = 0.0;
        Ok(())
    }

    /// Makes a drive at `to` with the last saved state of the drive at `from`. Both share their files, whose
    /// checksums are verified.
    ///
    /// # Errors
    /// `from` is no drive or in use, something is at `to`, or the system refuses.
    pub fn fork(from: &Path, to: &Path) -> Result<(), KeptError> {
        check_whole(from, "forked")?;
        check_place(to)?;
        let name = wane_units::excerpt_path(from);
        let folder = DriveFolder::open(from)?;
        let newest = folder.newest_segment();
        folder.fork(to, |manifest| {
            manifest.history.push(format!("forked from {name}"));
            let label = label(&manifest.label, to);
            apart(manifest, label, newest);
        })?;
        Ok(())
    }

    /// What sets it apart from other drives of its scenario; empty if it is older than such labels.
    pub fn label(&self) -> &str {
        &self.folder.manifest().label
    }

    /// What was done to it, in sentences, the oldest first.
    pub fn history(&self) -> Vec<String> {
        self.folder.manifest().history.iter().chain(&self.notes).cloned().collect()
    }

    /// See [`Held::look`]. The drive is not kept.
    ///
    /// # Errors
    /// As of [`Held::look`].
    pub fn look(self, scenario: &Scenario, watch: &mut Watch<'_>) -> Result<RunResult, KeptError> {
        self.held.look(scenario, watch)
    }

    /// See [`Held::look_at_array`]. The array is not kept.
    ///
    /// # Errors
    /// As of [`Held::look_at_array`].
    ///
    /// # Panics
    /// As of [`Held::look_at_array`].
    pub fn look_at_array(
        self,
        scenario: &Scenario,
        stop: &Arc<AtomicBool>,
    ) -> Result<(ArrayProbe, Vec<String>), KeptError> {
        self.held.look_at_array(scenario, stop)
    }
}

/// Sets a fork apart from its parent, whose segments it has up to this one.
fn apart(manifest: &mut Manifest, label: String, until: u64) {
    if let Some(start) = &manifest.journal {
        let device = Fnv::of(label.as_bytes()).get();
        manifest.journal = Some(JournalStart::new(start.lineage().forked(until, device), start.place));
    }
    manifest.label = label;
}

impl Deref for Kept {
    type Target = Held;

    fn deref(&self) -> &Held {
        &self.held
    }
}

impl DerefMut for Kept {
    fn deref_mut(&mut self) -> &mut Held {
        // Nobody knows what is done to it.
        self.recent.lose();
        &mut self.held
    }
}

#[cfg(test)]
mod tests;
