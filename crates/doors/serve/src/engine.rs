//! The drive and its clock: takes requests, gives each its instant, and says when it is to be answered. It knows no socket and reads no clock:
//! real time comes in with each call.

mod facts;
mod faults;
mod spans;
mod tickets;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use wane_blockdev::{Completion, Entry, Kind, Passing, PowerError, Request, SectorRange, Status};
use wane_ftl::Fate;
use wane_journal::{Input, Journal, JournalError, Place, Syncing};
use wane_lab::held::{Act, Acted, Aging};
use wane_lab::kept::Aged;
use wane_nbd::{Action, Errno, Reply};
use wane_sim::Clock;
use wane_units::{Lba, Nanos, Sectors, SimTime};

pub(crate) use facts::{Facts, Member, State};
pub(crate) use faults::{Effect, Fault, Faults, Kinds};
use tickets::{End, Ticket, Tickets};

use crate::client::Asked;
use crate::events::Watcher;
use crate::memory::Part;
use crate::pool::{self, Pool};
use crate::shelf::Shelf;
use crate::{ServeError, Speed};

/// Bytes of a sector.
pub(crate) const SECTOR: u64 = 512;

/// The logical sector of a served drive.
const FORMAT: Sectors = Sectors(1);

/// Room in the journal for what names the parts of a request, besides its data.
const NAMES_BYTES: usize = 1 << 15;

/// Parts of long requests that are submitted between two looks at what else there is.
const PARTS_AT_ONCE: usize = 4;

/// Things done to a drive that its history tells of a session.
const DONE_LIVE_MAX: usize = 20;

/// A request that is answered.
pub(crate) struct Answer {
    pub(crate) asked: Asked,
    pub(crate) reply: Reply,
    /// The number of the request among all, from 1.
    pub(crate) number: u64,
    pub(crate) submitted: SimTime,
    /// When it completed on the drive's clock.
    pub(crate) modelled: SimTime,
}

/// An answer whose time has not come, by its time and number.
struct Later(Answer);

impl Later {
    const fn key(&self) -> (SimTime, u64) {
        (self.0.modelled, self.0.number)
    }
}

impl PartialEq for Later {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Later {}

impl PartialOrd for Later {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Later {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

/// Why nothing is acknowledged any more.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The journal failed.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The drive's own file is damaged.
    #[error("its state cannot be read: {0}")]
    Damaged(String),
}

/// When the engine has to be called again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// At once.
    Now,
    /// At this real time.
    At(Nanos),
    /// When somebody asks for something.
    Never,
}

/// See the head of this file.
pub(crate) struct Engine {
    pub(crate) shelf: Shelf,
    clock: Box<dyn Clock + Send>,
    speed: Speed,
    /// The latest instant that the drive was given.
    at: SimTime,
    /// Requests are not taken before this instant: the drive recovers.
    ready: SimTime,
    /// Whether requests wait until nothing is under way.
    is_held: bool,
    waiting: VecDeque<Asked>,
    tickets: Tickets,
    /// Parts that are not submitted, with their ticket and number.
    backlog: VecDeque<(usize, usize, Request)>,
    later: BinaryHeap<Reverse<Later>>,
    pub(crate) faults: Faults,
    /// Requests that are never answered, unless the fault is cleared.
    stuck: Vec<Answer>,
    pub(crate) watcher: Watcher,
    /// What the drive has of the memory for bytes.
    memory: Part,
    /// Memory for the data of reads.
    pool: Pool,
    /// What is done to the drive, before anybody hears of it.
    journal: Option<Journal>,
    /// Why nothing is acknowledged any more.
    failure: Option<Failure>,
    /// Writes that were refused for want of it.
    pub(crate) refused_for_memory: u64,
    numbered: u64,
    /// What control did to the drive, in words, for its history; the last few.
    pub(crate) done_live: VecDeque<String>,
    /// The limits of re-reads that the host required before the power went off.
    required: Vec<Option<u32>>,
    done: Vec<Completion>,
}

impl Engine {
    /// An engine for a drive, whose time goes on at `real`.
    pub(crate) fn new(mut shelf: Shelf, speed: Speed, memory: Part, real: Nanos, pool: Pool) -> Self {
        // As small as clients may ask for. The rest of a unit is read first, as in a drive that is formatted so.
        shelf.each_drive(|drive| drive.format(FORMAT));
        let at = shelf.device().now();
        let watcher = Watcher::new(&shelf);
        Self {
            shelf,
            clock: speed.clock(at, real),
            speed,
            at,
            ready: at,
            is_held: false,
            waiting: VecDeque::new(),
            tickets: Tickets::default(),
            backlog: VecDeque::new(),
            later: BinaryHeap::new(),
            faults: Faults::default(),
            stuck: Vec::new(),
            watcher,
            memory,
            pool,
            journal: None,
            failure: None,
            refused_for_memory: 0,
            numbered: 0,
            done_live: VecDeque::new(),
            required: Vec::new(),
            done: Vec::new(),
        }
    }

    /// The same with another clock, such as one that replays.
    #[cfg(test)]
    pub(crate) fn with_clock(mut self, clock: Box<dyn Clock + Send>) -> Self {
        self.clock = clock;
        self
    }

    /// The same with a journal. The drive goes on where that ends.
    pub(crate) fn with_journal(mut self, journal: Option<Journal>) -> Self {
        self.journal = journal;
        self.note_act(self.shelf.device().now(), &Act::Begin { command: false });
        self.note_act(self.shelf.device().now(), &Act::KeepBytes);
        self.note_format();
        if self.shelf.is_array() {
            // An array knows what its drives have on flash by flushes alone, and a drive may be pulled at once.
            let _ = self.act(&Act::Flush);
        }
        self
    }

    pub(crate) const fn speed(&self) -> Speed {
        self.speed
    }

    pub(crate) fn set_speed(&mut self, speed: Speed, real: Nanos) {
        let now = self.clock.now(real).max(self.at);
        (self.clock, self.speed) = (speed.clock(now, real), speed);
    }

    /// The present instant.
    pub(crate) fn now(&mut self, real: Nanos) -> SimTime {
        self.at = self.clock.now(real).max(self.at);
        self.at
    }

    /// The present instant, or the one to which the drive's own work leads, such as the end of its recovery.
    pub(crate) fn now_of_drive(&mut self, real: Nanos) -> SimTime {
        self.now(real).max(self.shelf.device().now())
    }

    /// Whether the drive takes no writes any more. One that waits for capacity takes them again when it gets it.
    pub(crate) fn is_read_only(&self) -> bool {
        self.shelf.device().end_of_life().is_some()
    }

    /// Goes on at the drive's own time, if that is ahead.
    pub(crate) fn follow_drive(&mut self, real: Nanos) {
        self.at = self.at.max(self.shelf.device().now());
        self.clock.lead(self.at, real);
    }

    /// No request is taken before this instant.
    pub(crate) fn not_before(&mut self, at: SimTime) {
        self.ready = self.ready.max(at);
    }

    /// Notes for the drive's history what was done to it.
    pub(crate) fn note(&mut self, done: String) {
        if self.done_live.len() == DONE_LIVE_MAX {
            self.done_live.pop_front();
        }
        self.done_live.push_back(done);
    }

    /// Lets requests wait until nothing is under way, or lets them go on.
    pub(crate) fn hold(&mut self, is_held: bool) {
        self.is_held = is_held;
    }

    /// Bytes that may be kept, by all drives of the server together.
    pub(crate) const fn memory(&self) -> u64 {
        self.memory.most()
    }

    /// Whether nothing is under way.
    pub(crate) fn is_idle(&self) -> bool {
        self.tickets.is_empty() && self.later.is_empty()
    }

    /// Requests under way, and those that are stuck.
    pub(crate) fn outstanding(&self) -> (usize, usize) {
        (self.tickets.len() + self.later.len() + self.waiting.len(), self.stuck.len())
    }

    /// When a modelled instant comes in real time; `None` at full speed.
    pub(crate) fn real(&self, at: SimTime) -> Option<Nanos> {
        self.clock.real(at)
    }

    /// Takes a request. It is answered in a later call of [`Engine::go_on`].
    pub(crate) fn take(&mut self, asked: Asked, real: Nanos) {
        if self.is_held || !self.waiting.is_empty() || self.now(real) < self.ready {
            return self.waiting.push_back(asked);
        }
        self.begin(asked);
    }

    fn begin(&mut self, asked: Asked) {
        self.numbered += 1;
        let submitted = self.clock.arrival(asked.arrived).max(self.at);
        let answer = |asked, reply| Answer { asked, reply, number: 0, submitted, modelled: submitted };
        let mut answer = match self.understood(&asked) {
            Ok(None) => {
                let reply = ended(&asked, Ok(()));
                answer(asked, reply)
            }
            Err(errno) => {
                let reply = ended(&asked, Err(errno));
                answer(asked, reply)
            }
            Ok(Some(_)) if matches!(asked.frame.action, Action::BlockStatus { .. }) => {
                let spans = spans::of(&self.shelf, &asked);
                answer(asked, spans.map_or_else(Reply::Refused, Reply::Status))
            }
            Ok(Some(request)) => return self.submit(asked, request, submitted),
        };
        answer.number = self.numbered;
        self.later.push(Reverse(Later(answer)));
    }

    /// The request that a frame stands for; `None` if there is nothing to do.
    fn understood(&self, asked: &Asked) -> Result<Option<Request>, Errno> {
        let frame = &asked.frame;
        let (start, length) = (frame.offset, u64::from(frame.length));
        let is_whole = start.is_multiple_of(SECTOR) && length.is_multiple_of(SECTOR);
        let range = SectorRange::new(Lba(start / SECTOR), Sectors(length / SECTOR));
        let mut request = match frame.action {
            Action::Flush => return Ok(Some(Request::flush())),
            Action::Unknown | Action::Disconnect => return Err(Errno::Invalid),
            _ if !is_whole => return Err(Errno::Invalid),
            Action::BlockStatus { .. } if length == 0 => return Err(Errno::Invalid),
            Action::WriteZeroes { no_hole: true, fast: true } => return Err(Errno::NotSupported),
            Action::Read { .. } | Action::Cache | Action::BlockStatus { .. } => Request::read(range),
            Action::Write => Request::write_without_bytes(range),
            Action::Trim => Request::trim(range),
            Action::WriteZeroes { no_hole: true, .. } => Request::write_zeroes(range),
            Action::WriteZeroes { .. } => Request::write_zeroes(range).with_may_unmap(),
        };
        if frame.fua {
            request = request.with_fua();
        }
        let is_data = matches!(frame.action, Action::Read { .. } | Action::Write);
        if is_data && frame.length > wane_nbd::TRANSFER_MAX {
            return Err(Errno::Invalid);
        }
        let drive = self.shelf.device();
        if !range.lies_within(drive.capacity()) {
            let takes_room = matches!(frame.action, Action::Write | Action::WriteZeroes { .. });
            return Err(if takes_room { Errno::NoSpace } else { Errno::Invalid });
        }
        let is_hint = matches!(frame.action, Action::Cache);
        if drive.is_off() && (is_hint || range.is_empty() || matches!(frame.action, Action::BlockStatus { .. })) {
            return Err(Errno::Shutdown);
        }
        if request.kind.changes_contents() && self.is_read_only() {
            // Trims too: clients were told that nothing changes.
            return Err(Errno::NotPermitted);
        }
        Ok(Some(request).filter(|_| !is_hint && !range.is_empty()))
    }

    /// Submits a request in parts, the first at once. What a fault makes fail is not submitted.
    fn submit(&mut self, mut asked: Asked, mut request: Request, submitted: SimTime) {
        let faults = self.faults.meet(&request);
        if faults.is_stuck {
            let reply = Reply::Ended(Ok(()));
            return self.stuck.push(Answer { asked, reply, number: self.numbered, submitted, modelled: submitted });
        }
        let lacks_memory = self.lacks_memory(&request, asked.data.len() as u64) || self.lacks_room(asked.data.len());
        let mut ticket = Ticket::new(self.numbered, submitted, faults.slower);
        let features = self.shelf.device().features();
        let part = request.part();
        let failing: Vec<SectorRange> = if lacks_memory { vec![request.range] } else { faults.failing };
        let data = std::mem::take(&mut asked.data);
        let mut parts = Vec::new();
        if failing.is_empty() {
            if asked.frame.action == Action::Write {
                request.bytes = Some(data);
            }
            for part in request.parts(part, &features) {
                parts.push((ticket.add(None), part));
            }
        } else {
            let status =
                |range| if lacks_memory { Status::NoSpace(vec![range]) } else { Status::MediumError(vec![range]) };
            for (range, fails) in cut(request.range, &failing) {
                let from = (range.start.0 - request.range.start.0) as usize * SECTOR as usize;
                let piece = |range: SectorRange| Request {
                    range,
                    bytes: (!data.is_empty()).then(|| data[from..from + range.len_bytes()].to_vec()),
                    ..request.clone()
                };
                if fails {
                    let bytes = matches!(asked.frame.action, Action::Read { .. }).then(|| vec![0; range.len_bytes()]);
                    ticket.add(Some(End { status: status(range), bytes }));
                } else {
                    for part in piece(range).parts(part, &features) {
                        parts.push((ticket.add(None), part));
                    }
                }
            }
        }
        let number = self.tickets.insert(asked, ticket);
        let mut parts = parts.into_iter();
        if self.backlog.is_empty()
            && let Some((part, request)) = parts.next()
        {
            self.hand_in(number, part, request, submitted);
        }
        self.backlog.extend(parts.map(|(part, request)| (number, part, request)));
        if self.tickets.is_over(number) {
            self.finish(number);
        }
    }

    fn hand_in(&mut self, ticket: usize, part: usize, mut request: Request, at: SimTime) {
        self.at = self.at.max(at).max(self.shelf.device().now());
        if self.journal.is_some() {
            let entry = self.note_call(Entry::Submit { at: self.at, request });
            let Entry::Submit { request: noted, .. } = entry else { unreachable!("a call is noted as it is") };
            request = noted;
        }
        if request.kind == Kind::Read && request.range.len_bytes() >= pool::LEAST {
            request.bytes = Some(self.pool.take(request.range.len_bytes()));
        }
        let id = self.shelf.device_mut().submit(self.at, request);
        self.tickets.expect(id, ticket, part);
    }

    /// Notes a call of the drive that is about to be made, or that was made and of which nobody has heard.
    fn note_call(&mut self, entry: Entry) -> Entry {
        let input = Input::Call(entry);
        self.append(self.at, &input);
        let Input::Call(entry) = input else { unreachable!("it is a call") };
        entry
    }

    /// Notes an act that was done when the drive was at `at`, and of which nobody has heard.
    fn note_act(&mut self, at: SimTime, act: &Act) {
        if self.journal.is_some() {
            self.append(at, &Input::Command(act.encode()));
        }
    }

    fn append(&mut self, at: SimTime, input: &Input) {
        let Some(journal) = &mut self.journal else { return };
        if let Err(error) = journal.append(at.0, input) {
            self.failure.get_or_insert(error.into());
        }
    }

    /// Does something to the drive that is no call of it.
    ///
    /// # Errors
    /// The drive is not made for it.
    pub(crate) fn act(&mut self, act: &Act) -> Result<Acted, ServeError> {
        let at = self.shelf.device().now();
        let acted = self.shelf.act(act)?;
        self.note_act(at, act);
        Ok(acted)
    }

    /// Ages the drive, and trims what only that wrote. `each` returns whether it goes on.
    ///
    /// # Errors
    /// The drive cannot be aged so.
    pub(crate) fn age(
        &mut self,
        aging: Aging,
        stop: &Arc<AtomicBool>,
        each: &mut dyn FnMut(&Aged) -> bool,
    ) -> Result<Acted, ServeError> {
        let (at, before) = (self.shelf.device().now(), self.shelf.drive_writes());
        let acted = match self.shelf.age_and_trim(&aging, stop, each) {
            Ok(acted) => acted,
            Err(error) => {
                if self.shelf.drive_writes() > before {
                    // It cannot be done again to the same place, so that its journal begins anew.
                    self.save("aged, which failed before its target".to_owned())?;
                }
                return Err(error.into());
            }
        };
        let stopped_at =
            Some(self.shelf.drive_writes()).filter(|_| acted.reached == Some(wane_lab::kept::Reached::Interrupted));
        self.note_act(at, &Act::Age(Aging { stopped_at, ..aging }));
        Ok(acted)
    }

    /// Lets time pass without requests.
    pub(crate) fn pass(&mut self, at: SimTime, time: Passing) {
        self.at = self.at.max(at);
        self.note_call(Entry::Pass { at, time });
        self.shelf.device_mut().pass(at, time);
    }

    /// Lets the time pass for the drive in which nobody asked for anything, so that its clock is where its server's is.
    pub(crate) fn rest_until(&mut self, real: Nanos) {
        if !self.shelf.device().is_off() {
            let at = self.now_of_drive(real);
            self.pass(at, Passing::Idle(Nanos::ZERO));
        }
    }

    /// Changes the drive's capacity.
    pub(crate) fn set_capacity(&mut self, at: SimTime, capacity: Sectors) -> Status {
        self.at = self.at.max(at);
        self.note_call(Entry::SetCapacity { at, capacity });
        self.shelf.device_mut().set_capacity(at, capacity)
    }

    /// Changes how many sectors of the drive may hold data at once.
    pub(crate) fn set_mapped_limit(&mut self, at: SimTime, limit: Sectors) -> Status {
        self.at = self.at.max(at);
        self.note_call(Entry::SetMappedLimit { at, limit });
        self.shelf.device_mut().set_mapped_limit(at, limit)
    }

    /// Saves the drive, which comes to rest for it.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn save(&mut self, note: String) -> Result<(), ServeError> {
        self.act(&Act::Flush)?;
        self.act(&Act::ComeToRest)?;
        match &mut self.journal {
            Some(journal) => self.shelf.save_beside(note, journal)?,
            None => self.shelf.save(note)?,
        }
        self.note_format();
        Ok(())
    }

    /// Notes how the drive is formatted, which is not saved with it.
    fn note_format(&mut self) {
        self.note_act(self.shelf.device().now(), &Act::Format(FORMAT.0));
    }

    /// Makes what was done survive as much as is asked for. Nobody may hear of it before.
    ///
    /// # Errors
    /// The journal failed, or the drive's own file is damaged; nobody may hear of anything any more.
    pub(crate) fn commit(&mut self, on_disk: bool) -> Result<(), Failure> {
        if let Some(failure) = self.failure.take() {
            self.failure = Some(JournalError::Broken.into());
            return Err(failure);
        }
        if let Some(damage) = self.shelf.damage() {
            return Err(Failure::Damaged(damage.to_owned()));
        }
        let Some(journal) = &mut self.journal else { return Ok(()) };
        let committed = if on_disk { journal.sync() } else { journal.write() };
        Ok(committed.map(drop)?)
    }

    /// Records of the journal so far.
    pub(crate) fn records(&self) -> u64 {
        self.journal.as_ref().map_or(0, Journal::number)
    }

    /// A sync of all that was committed, for another thread; `None` if there is nothing to sync, or one is being made.
    ///
    /// # Errors
    /// As of [`Engine::commit`].
    pub(crate) fn sync_later(&mut self) -> Result<Option<Syncing>, Failure> {
        self.journal.as_mut().map_or(Ok(None), |journal| Ok(journal.sync_later()?))
    }

    /// Records that are on the disk.
    ///
    /// # Errors
    /// As of [`Engine::commit`].
    pub(crate) fn synced(&mut self) -> Result<u64, Failure> {
        self.journal.as_mut().map_or(Ok(u64::MAX), |journal| Ok(journal.settle()?))
    }

    /// Bytes of the journal since it was last opened or sealed.
    pub(crate) fn journal_bytes(&self) -> u64 {
        self.journal.as_ref().map_or(0, Journal::bytes)
    }

    /// Ends the present segment of the journal, up to which another process can save the drive; `None` without a journal, or without power.
    ///
    /// # Errors
    /// As of [`Engine::commit`].
    pub(crate) fn seal(&mut self) -> Result<Option<Place>, Failure> {
        let is_off = self.shelf.device().is_off();
        let Some(journal) = self.journal.as_mut().filter(|_| !is_off) else { return Ok(None) };
        let place = journal.seal()?;
        // It is not saved, and the segments that say so will go.
        self.note_format();
        Ok(Some(place))
    }

    /// Makes another drive of what this one is now.
    ///
    /// # Errors
    /// A sentence: it has no journal, or the system refuses.
    pub(crate) fn fork(&mut self, to: &Path) -> Result<(), ServeError> {
        self.shelf.fork(to, self.journal.as_mut())
    }

    pub(crate) const fn has_journal(&self) -> bool {
        self.journal.is_some()
    }

    /// Notes that its journal ends here, on the disk.
    pub(crate) fn note_end(&mut self) {
        if let (Some(journal), Some(kept)) = (&self.journal, self.shelf.kept()) {
            kept.note_end(journal);
        }
    }

    /// Ends the journal. What is done from now on is not in it.
    pub(crate) fn end_journal(&mut self) -> Option<Journal> {
        self.journal.take()
    }

    /// Whether the journal has no room for a request with so many bytes.
    fn lacks_room(&mut self, bytes: usize) -> bool {
        let Some(journal) = &mut self.journal else { return false };
        match journal.make_room(bytes + NAMES_BYTES) {
            Ok(()) => false,
            Err(JournalError::NoRoom(_)) => true,
            Err(error) => {
                self.failure.get_or_insert(error.into());
                true
            }
        }
    }

    /// Whether the bytes of a write would find no room in the memory that is allowed.
    fn lacks_memory(&mut self, request: &Request, bytes: u64) -> bool {
        if bytes == 0 || self.shelf.device().is_off() || self.memory.has_room(self.shelf.payload_memory(), bytes) {
            return false;
        }
        // Bytes that replace others take no more memory.
        let lacks = !self.shelf.holds_bytes(request.range);
        self.refused_for_memory += u64::from(lacks);
        lacks
    }

    /// Submits what is left of long requests, and hands out what has completed by `real`. At full speed all that was asked has.
    pub(crate) fn go_on(&mut self, real: Nanos, out: &mut Vec<Answer>) {
        if !self.waiting.is_empty() && self.clock.real(self.ready).is_none() {
            // Nobody waits in truth.
            self.clock.lead(self.ready, real);
        }
        let now = self.now(real);
        while now >= self.ready && !self.is_held {
            let Some(asked) = self.waiting.pop_front() else { break };
            self.begin(asked);
        }
        for _ in 0..PARTS_AT_ONCE {
            let Some((ticket, part, request)) = self.backlog.pop_front() else { break };
            self.hand_in(ticket, part, request, now);
        }
        while let Some(next) = self.next_at() {
            if self.clock.real(next).is_some_and(|due| due > real) {
                break;
            }
            let until = self.clock.now(real).max(next).max(self.at);
            self.clock.lead(next, real);
            self.complete(if self.clock.real(next).is_none() { next.max(self.at) } else { until }, out);
        }
        if self.shelf.has_own_work() && !self.shelf.device().is_off() {
            // An array rebuilds and scrubs in its own time, whether or not somebody asks for anything.
            self.complete(self.at, out);
        }
        self.watcher.look(&mut self.shelf);
    }

    /// Runs the drive to an instant, and hands out what has completed by then.
    fn complete(&mut self, until: SimTime, out: &mut Vec<Answer>) {
        let until = until.max(self.shelf.device().now());
        self.at = until;
        let mut done = std::mem::take(&mut self.done);
        self.shelf.device_mut().complete(until, &mut done);
        for completion in done.drain(..) {
            let Some(number) = self.tickets.end(completion) else { continue };
            if self.tickets.is_over(number) {
                self.finish(number);
            }
        }
        self.done = done;
        while self.later.peek().is_some_and(|first| first.0.0.modelled <= until) {
            out.extend(self.later.pop().map(|first| first.0.0));
        }
    }

    /// Makes the answer of a request all of whose parts are over.
    fn finish(&mut self, number: usize) {
        let (asked, ticket) = self.tickets.remove(number);
        let answer = ticket.answer(asked);
        self.later.push(Reverse(Later(answer)));
    }

    /// A lower bound of the next instant at which something is to be answered.
    fn next_at(&self) -> Option<SimTime> {
        let later = self.later.peek().map(|first| first.0.0.modelled);
        [later, self.shelf.device().next_event_at()].into_iter().flatten().min()
    }

    /// When it has to be called again.
    pub(crate) fn due(&self) -> Due {
        let waits_for = (!self.waiting.is_empty() && !self.is_held).then_some(self.ready);
        let next = [self.next_at(), waits_for].into_iter().flatten().min();
        match next {
            _ if !self.backlog.is_empty() => Due::Now,
            None => Due::Never,
            Some(at) => self.clock.real(at).map_or(Due::Now, Due::At),
        }
    }

    /// Takes the power away: what is under way ends now, and what comes is refused until the power is back.
    pub(crate) fn cut_power(&mut self, at: SimTime, fate: &mut dyn FnMut() -> Fate) {
        self.at = self.at.max(at);
        if self.shelf.device().is_off() {
            return;
        }
        self.required = self.shelf.required();
        let mut fates = Vec::new();
        self.shelf.device_mut().power_off(self.at, &mut || {
            let drawn = fate();
            fates.push(drawn);
            drawn
        });
        self.note_call(Entry::PowerOff { at: self.at, fates });
        self.let_go(Errno::Shutdown);
    }

    /// Gives power back. Returns how long the drive recovers, during which requests wait.
    ///
    /// # Errors
    /// The power is on, or the drive does not come back.
    pub(crate) fn give_power(&mut self, at: SimTime) -> Result<Nanos, PowerError> {
        self.at = self.at.max(at);
        let (at, required) = (self.at, std::mem::take(&mut self.required));
        let recovered = self.shelf.device_mut().power_on(at)?;
        self.note_call(Entry::PowerOn { at });
        if required.iter().any(Option::is_some) {
            // The host requires again what it required; blocks beyond it are out of service already.
            let _ = self.act(&Act::ReadRecoveries(required));
        }
        self.not_before(at.saturating_add(recovered.took));
        Ok(recovered.took)
    }

    /// Lets what is stuck be answered.
    pub(crate) fn release(&mut self) {
        self.let_go(Errno::Io);
    }

    fn let_go(&mut self, errno: Errno) {
        for mut answer in self.stuck.drain(..) {
            answer.modelled = self.at;
            answer.reply = ended(&answer.asked, Err(errno));
            self.later.push(Reverse(Later(answer)));
        }
    }
}

/// The answer to a request that was done without data, or not at all.
fn ended(asked: &Asked, ended: Result<(), Errno>) -> Reply {
    match (asked.frame.action, ended) {
        (Action::Read { whole }, Ok(())) => {
            Reply::Data { offset: asked.frame.offset, pieces: Vec::new(), whole, failed: None }
        }
        (Action::Read { .. } | Action::BlockStatus { .. }, Err(errno)) => Reply::Refused(errno),
        (_, ended) => Reply::Ended(ended),
    }
}

/// Cuts a range at others, which lie in it in rising order. Says of each part whether it is one of these.
fn cut(range: SectorRange, at: &[SectorRange]) -> Vec<(SectorRange, bool)> {
    let (mut parts, mut from) = (Vec::new(), range.start);
    let end = Lba(range.start.0 + range.count.0);
    for piece in at {
        parts.push((SectorRange::between(from, piece.start), false));
        parts.push((*piece, true));
        from = Lba(piece.start.0 + piece.count.0);
    }
    parts.push((SectorRange::between(from, end), false));
    parts.retain(|(part, _)| !part.is_empty());
    parts
}

#[cfg(test)]
mod tests;
