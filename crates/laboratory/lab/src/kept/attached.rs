//! A kept drive as a block device of a command that works on it for long, such as a mounted file system.
//!
//! Each call is noted in the drive's journal before it is made. A flush, and a write with force unit access, puts all that was noted on the disk before it
//! is answered. So a process that is killed, or a machine that dies, takes away a tail of what was not flushed, as a power cut does of a drive with a
//! volatile cache. The next who opens the drive does the journal again.

use std::time::Duration;

use wane_blockdev::{
    BlockDevice, Completion, Entry, Extent, Features, Kind, Living, Notice, Request, RequestId, SectorRange, Status,
};
use wane_journal::{Input, Journal, JournalError};
use wane_shelf::JournalStart;
use wane_units::{Sectors, SimTime};

use super::{JOURNAL_LEAST, Kept, REPEAT_SECONDS};
use crate::held::{Act, Held, KeptError};
use crate::progress::Stopwatch;

/// Bytes of what was noted that wait for the system at most.
const WAITING_MAX: usize = 1 << 20;
/// Calls that wait at most until the drive is changed for the first time. Before that it has no journal of them.
const EARLY_MAX: usize = 4096;
/// Room of a record besides its data, at least.
const RECORD_BYTES: usize = 256;
/// The drive is saved between two flushes once doing its journal again would take so long, or four times as long as the last save took.
const WORK_MOST: Duration = Duration::from_secs(4);
/// Or if its journal has more bytes than its state, and than this.
const BYTES_MOST: u64 = 64 << 20;

/// What is kept of what is done to an [`Attached`] drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keeps {
    /// All of it.
    All,
    /// Nothing: it is only looked at.
    Nothing,
}

/// See the head of this file. Each request is done at once: the drive has its own clock, which no host waits for.
pub struct Attached {
    pub(super) kept: Kept,
    keeps: Keeps,
    /// From the first change on.
    journal: Option<Journal>,
    /// Calls before the first change.
    early: Vec<(SimTime, Input)>,
    /// Bytes that were noted and not handed to the system.
    waiting: usize,
    failure: Option<KeptError>,
    /// How long the drive has worked since its last save, and how long that took.
    worked: Duration,
    save_took: Duration,
    saves: u32,
    next: u64,
    done: Vec<Completion>,
    /// What the drive asked its former user for, and did not get.
    notices: Vec<Notice>,
}

impl Attached {
    /// Attaches a drive, which keeps bytes from now on.
    ///
    /// # Errors
    /// There is no memory for its bytes, or it cannot be saved although its journal is too long.
    pub fn new(mut kept: Kept, keeps: Keeps) -> Result<Self, KeptError> {
        if keeps == Keeps::All && kept.is_overdue() && !kept.journal_stays() {
            kept.save("saved before it was used, as its journal was long".to_owned())?;
        }
        let mut attached = Self {
            kept,
            keeps,
            journal: None,
            early: Vec::new(),
            waiting: 0,
            failure: None,
            worked: Duration::ZERO,
            save_took: Duration::ZERO,
            saves: 0,
            next: 0,
            done: Vec::new(),
            notices: Vec::new(),
        };
        if !attached.held().is_array() {
            let (at, wish) = (attached.held().device().now(), attached.held().drive().wish());
            attached.notices.extend(wish.map(|kind| Notice { at, kind }));
        }
        attached.act(&Act::Begin { command: false })?;
        attached.begin()?;
        Ok(attached)
    }

    /// What each part of a journal begins with: what is not saved.
    fn begin(&mut self) -> Result<(), KeptError> {
        let sector = self.held().device().features().sector;
        self.act(&Act::Format(sector.0))?;
        self.act(&Act::KeepBytes)
    }

    /// The drive.
    pub const fn held(&self) -> &Held {
        &self.kept.held
    }

    fn act(&mut self, act: &Act) -> Result<(), KeptError> {
        let at = self.held().device().now();
        self.kept.held.act(act)?;
        self.note(at, Input::Command(act.encode()));
        Ok(())
    }

    /// Notes what is about to be done, or what was done and of which nobody has heard. Returns it.
    fn note(&mut self, at: SimTime, input: Input) -> Input {
        if self.keeps == Keeps::Nothing {
            return input;
        }
        if let Some(journal) = &mut self.journal {
            if let Err(error) = journal.append(at.0, &input) {
                self.fail(error);
            }
        } else {
            self.early.push((at, input.clone()));
        }
        input
    }

    fn fail(&mut self, error: JournalError) {
        let path = self.kept.shown();
        self.failure.get_or_insert(KeptError::Journal(path, error));
    }

    /// Begins the journal, if it was not.
    fn open_journal(&mut self) -> Result<(), KeptError> {
        if self.journal.is_some() || self.keeps == Keeps::Nothing {
            return Ok(());
        }
        let mut journal = self.kept.journal()?;
        for (at, input) in std::mem::take(&mut self.early) {
            journal.append(at.0, &input).map_err(|error| KeptError::Journal(self.kept.shown(), error))?;
        }
        self.journal = Some(journal);
        Ok(())
    }

    /// Makes sure that a call with N `bytes` can be noted.
    ///
    /// # Errors
    /// How it is refused. Nothing was done.
    fn make_room(&mut self, changes: Changes, range: SectorRange, bytes: usize) -> Result<(), Status> {
        if self.failure.is_none()
            && (changes == Changes::Something || self.early.len() > EARLY_MAX)
            && let Err(error) = self.open_journal()
        {
            self.failure = Some(error);
        }
        if self.failure.is_some() {
            return Err(Status::all_gone(range));
        }
        let Some(journal) = &mut self.journal else { return Ok(()) };
        match journal.make_room(bytes + RECORD_BYTES) {
            Ok(()) => Ok(()),
            Err(JournalError::NoRoom(_)) if changes == Changes::Something => Err(Status::NoSpace(vec![range])),
            Err(JournalError::NoRoom(_)) => Err(Status::MediumError(vec![range])),
            Err(error) => {
                self.fail(error);
                Err(Status::all_gone(range))
            }
        }
    }

    /// Puts all that was noted on the disk, or hands it to the system.
    fn commit(&mut self, how: Commit) {
        self.waiting = 0;
        let Some(journal) = &mut self.journal else { return };
        let committed = if how == Commit::OnDisk { journal.sync() } else { journal.write() };
        if let Err(error) = committed {
            self.fail(error);
        }
    }

    /// Carries out a request. It is noted before, and on the disk afterwards if it asks for that.
    fn perform(&mut self, request: Request) -> (Status, Option<Vec<u8>>) {
        let (kind, range) = (request.kind, request.range);
        let is_durable = kind == Kind::Flush || request.flags.fua;
        let bytes = request.bytes.as_ref().filter(|_| kind != Kind::Read).map_or(0, Vec::len);
        let changes = if kind.changes_contents() { Changes::Something } else { Changes::Nothing };
        if let Err(status) = self.make_room(changes, range, bytes) {
            return (status, None);
        }
        let stopwatch = Stopwatch::start();
        let at = self.held().device().now();
        let noted = self.note(at, Input::Call(Entry::Submit { at, request }));
        let Input::Call(Entry::Submit { request, .. }) = noted else { unreachable!("a call is noted as it is") };
        let (status, bytes_read) = match self.kept.held.blocking().perform(request) {
            Ok(done) => (done.status, done.bytes),
            Err(error) => (error.status, error.bytes),
        };
        self.worked += stopwatch.elapsed();
        self.waiting += bytes + RECORD_BYTES;
        if let Err(damage) = self.kept.check_bytes() {
            // What it answered may be wrong, and is not to be noted as done.
            self.failure.get_or_insert(damage);
        } else if is_durable {
            self.commit(Commit::OnDisk);
            self.save_if_due();
        } else if self.waiting > WAITING_MAX {
            self.commit(Commit::Handed);
        }
        // What is not in the journal was never done.
        if self.failure.is_some() { (Status::all_gone(range), None) } else { (status, bytes_read) }
    }

    /// Whether the journal has become so long that the drive is saved in between.
    fn is_long(&self) -> bool {
        let bytes = self.journal.as_ref().map_or(0, Journal::bytes);
        !self.kept.journal_stays()
            && (self.worked > WORK_MOST.max(4 * self.save_took) || bytes > self.kept.state_bytes().max(BYTES_MOST))
    }

    /// Saves the drive behind its journal, which begins anew. If that cannot be, the journal grows on.
    fn save_if_due(&mut self) {
        if self.failure.is_some() || !self.is_long() {
            return;
        }
        let stopwatch = Stopwatch::start();
        let saved = self.save_beside();
        // One that fails is tried again after as much work.
        (self.worked, self.save_took) = (Duration::ZERO, stopwatch.elapsed());
        if let Err(error) = saved {
            match error {
                KeptError::Journal(_, JournalError::NoRoom(_)) | KeptError::Shelf(_) => {}
                error => self.failure = Some(error),
            }
        }
    }

    pub(super) fn save_beside(&mut self) -> Result<(), KeptError> {
        self.act(&Act::ComeToRest)?;
        let path = self.kept.shown();
        let Some(journal) = &mut self.journal else { return Ok(()) };
        let place = journal.seal().map_err(|error| KeptError::Journal(path, error))?;
        let start = self.kept.lineage().map(|lineage| JournalStart::new(lineage, place));
        let note = "saved while a command used it, as its journal was long".to_owned();
        self.kept.save_with(Some(note), self.saves == 0, start)?;
        self.saves += 1;
        self.begin()
    }

    /// An independent copy of the drive, on which something can be tried.
    pub fn rehearsal(&self) -> Box<dyn Living> {
        self.kept.device().another()
    }

    /// Ends it. What was done is kept, with a sentence of what that was; of a drive that is only looked at, nothing.
    ///
    /// # Errors
    /// The journal failed before, or the drive cannot be kept. What was flushed before is still there.
    pub fn close(mut self, note: String) -> Result<(), KeptError> {
        if self.keeps == Keeps::Nothing {
            return self.kept.check_bytes();
        }
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        self.kept.check_bytes()?;
        self.open_journal()?;
        self.act(&Act::ComeToRest)?;
        self.act(&Act::Note(note.clone()))?;
        self.commit(Commit::OnDisk);
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        let journal = self.journal.take().inspect(|journal| self.kept.note_end(journal));
        let bytes = journal.map_or(0, |journal| journal.bytes());
        let seconds = self.kept.repeat_seconds + self.worked.as_secs_f64();
        let is_due = seconds > REPEAT_SECONDS || bytes > self.kept.state_bytes().max(JOURNAL_LEAST);
        if is_due && !self.kept.journal_stays() {
            // If it cannot be saved, its journal has all of it.
            return self.kept.save(note);
        }
        Ok(())
    }
}

/// Whether a call changes what the drive holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Changes {
    Something,
    Nothing,
}

/// How far what was noted is to get.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Commit {
    /// It survives the end of this process.
    Handed,
    /// It survives the end of the machine.
    OnDisk,
}

impl Attached {
    /// Makes a call of the drive that changes what it offers. It is on the disk when it returns.
    fn set(&mut self, entry: impl FnOnce(SimTime) -> Entry, call: impl FnOnce(&mut Held, SimTime) -> Status) -> Status {
        let whole = SectorRange::new(wane_units::Lba(0), self.capacity());
        if let Err(status) = self.make_room(Changes::Something, whole, 0) {
            return status;
        }
        let at = self.held().device().now();
        self.note(at, Input::Call(entry(at)));
        let status = call(&mut self.kept.held, at);
        self.commit(Commit::OnDisk);
        if self.failure.is_some() { Status::all_gone(whole) } else { status }
    }
}

impl BlockDevice for Attached {
    fn features(&self) -> Features {
        Features { keeps_bytes: true, ..self.held().device().features() }
    }

    fn capacity(&self) -> Sectors {
        self.held().device().capacity()
    }

    fn submit(&mut self, at: SimTime, request: Request) -> RequestId {
        let id = RequestId(self.next);
        self.next += 1;
        let (kind, range) = (request.kind, request.range);
        let (status, bytes) = self.perform(request);
        self.done.push(Completion { id, submitted_at: at, at, kind, range, status, bytes });
        id
    }

    fn next_event_at(&self) -> Option<SimTime> {
        self.done.first().map(|first| first.at)
    }

    fn complete(&mut self, _until: SimTime, out: &mut Vec<Completion>) {
        out.append(&mut self.done);
    }

    fn set_capacity(&mut self, _at: SimTime, capacity: Sectors) -> Status {
        self.set(|at| Entry::SetCapacity { at, capacity }, |held, at| held.device_mut().set_capacity(at, capacity))
    }

    fn mapped_limit(&self) -> Sectors {
        self.held().device().mapped_limit()
    }

    fn set_mapped_limit(&mut self, _at: SimTime, limit: Sectors) -> Status {
        self.set(|at| Entry::SetMappedLimit { at, limit }, |held, at| held.device_mut().set_mapped_limit(at, limit))
    }

    fn notices(&mut self, out: &mut Vec<Notice>) {
        out.append(&mut self.notices);
        self.kept.held.device_mut().notices(out);
    }

    fn extents(&self, range: SectorRange, out: &mut Vec<Extent>) {
        self.held().device().extents(range, out);
    }

    fn peek(&self, range: SectorRange, bytes: &mut [u8]) -> Option<Vec<SectorRange>> {
        self.held().device().peek(range, bytes)
    }
}
