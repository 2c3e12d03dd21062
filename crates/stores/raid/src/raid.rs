//! Arrays with parity or copies in stripes, over members of any sizes.

mod aggregate;
mod assemble;
mod away;
mod batch;
mod change;
mod commit;
mod commits;
mod living;
mod locks;
mod map;
mod member;
mod meta;
mod missing;
mod moves;
mod own;
mod packed;
mod parity_pages;
mod path;
mod reads;
mod recorded;
mod recover;
mod shape;
mod tend;
mod told;
mod turns;
mod undo;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};
use wane_blockdev::{
    Completion, CompletionQueue, Features, Kind, Living, Notice, NoticeKind, Origin, RangeSet, Request, RequestId,
    Resize, SectorRange, Status,
};
use wane_units::{Counters, Nanos, Sectors, SimTime};

use crate::bits::Bits;
use crate::code::{Code, Coder};
use crate::extents::ExtentTable;
use crate::host;
use crate::layout::LayoutError;
use crate::living::array_that_goes_on;
use crate::members::{MemberState, Members};
use crate::mirror::Unsure;
use crate::owed::Owed;
use crate::placement::Placement;
use crate::spread::{common, severity};
use crate::times::Times;

pub use assemble::{AssembleError, RaidPolicy};
pub use commits::Journal;
use commits::{Commits, InBatch};
use locks::{Locks, Need};
use map::{Block, Map};
use member::{Known, Member};
use meta::Areas;
use moves::Moves;
pub use moves::{Following, Retargeted};
use own::Own;
pub use own::{RaidRepairs, Scrub};
use parity_pages::ParityPages;
pub use path::{DIRECT, LostParities, MD, PATHS, STRAID, Server, WritePath, path};
use recorded::Recorded;
pub use shape::Changed;
use shape::Shape;

/// How a parity array works.
#[derive(Clone, Debug)]
pub struct RaidConfig {
    /// How parities follow from data.
    pub code: &'static dyn Code,
    /// Chunks of a stripe, parities included.
    pub width: usize,
    /// Sectors of a chunk.
    pub chunk: Sectors,
    /// Most sectors of a slot, the part of a tile on one member.
    pub slot: Sectors,
    /// On which members tiles lie.
    pub placement: &'static dyn Placement,
    /// Shares of the parities that the columns of a tile have, such as 40, 15, 15, 15, 15; empty: equal ones, as md's left-symmetric layout has them.
    /// What has more parities wears faster under writes of parts of stripes (Diff-RAID, EuroSys'10).
    pub parity_shares: Vec<u32>,
    /// How changes are carried out.
    pub path: &'static dyn WritePath,
    /// What is written before a change goes to its place.
    pub journal: Journal,
    /// Sectors of the ring that the journal has on each member; what the largest change needs, if that is more.
    pub ring: Sectors,
    /// Members that are read only where the others have no copy, as md's `--write-mostly`. With parities it has no effect: they need all members.
    pub write_mostly: Vec<usize>,
    /// Time after which a member that has not answered a read is read around: the others make what it has. `None`: never.
    pub read_around: Option<Nanos>,
    /// Whether it follows members that offer less.
    pub following: Following,
    /// Bytes of members a second at which it rebuilds and scrubs, in its own time.
    pub rebuild_rate: u64,
    /// Time from one scrub to the next; `None`: only when asked.
    pub scrub_every: Option<Nanos>,
    /// The array's own number, by which its members know each other.
    pub uuid: u64,
}

impl RaidConfig {
    /// What an array can do whose members can do this.
    fn features(&self, members: Features) -> Features {
        let resize = match self.following {
            Following::Never => Resize::Fixed,
            Following::Members => Resize::Both,
        };
        Features { trim_reads_zeros: true, resize, ..members }
    }
}

/// A request of the host that is under way.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Open {
    at: SimTime,
    kind: Kind,
    range: SectorRange,
    /// Operations that are not over.
    waits: usize,
    /// When the last of them ended.
    ended: SimTime,
    bytes: Option<Vec<u8>>,
    failed: RangeSet,
    worst: Status,
    is_fua: bool,
}

/// What an operation does with a stripe.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Task {
    /// Reads rows of one chunk for the host.
    Read,
    /// Writes the rows of its block.
    Write,
    /// Discards the stripe as a whole.
    Unwrite,
    /// Gives members what they miss.
    Rebuild,
    /// Makes parities anew.
    Resync,
    /// Copies the position that is being moved.
    Move,
    /// Compares parities with data.
    Scrub(Scrub),
}

/// Where an operation stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Step {
    /// Others that came before are at work.
    Waits,
    /// A processor works on it before it reads.
    Before,
    /// Members read.
    Reads,
    /// A processor works on it before it writes.
    After,
    /// It waits until its record is durable.
    Logs,
    /// Members write.
    Writes,
}

/// New contents.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum New {
    Bytes(Vec<u8>),
    /// A write without contents.
    Blank,
    /// A write of zeros, which may deallocate or not.
    Zeroes {
        may_unmap: bool,
    },
    /// A discard.
    Trim,
}

/// What an operation knows of one position of its stripe, within its rows.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Chunk {
    is_asked: bool,
    /// It did not answer in time, and nobody waits for it.
    is_late: bool,
    old: Option<Vec<u8>>,
    /// Rows that could not be read.
    bad: Vec<map::Rows>,
    new: Option<New>,
    was_written: bool,
    /// Rows that did not become what they should, and why.
    refused: Option<Status>,
}

/// Work on one stripe.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Operation {
    parent: Option<RequestId>,
    block: Block,
    task: Task,
    step: Step,
    /// Requests to members that are not complete.
    waits: u32,
    origin: Origin,
    chunks: Vec<Chunk>,
    /// It reads all that it can, since something of what it needs is missing.
    is_whole: bool,
    /// Rows that are repaired: of a position, with their contents.
    repairs: Vec<(usize, map::Rows, Option<Vec<u8>>)>,
    /// The entry of the ring with its record, and what that has of it.
    entry: Option<u64>,
    recorded: Recorded,
    joint: aggregate::Joint,
    undo: undo::Undo,
    first: away::First,
    ended: SimTime,
}

/// What happens at an instant.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum Timer {
    /// A processor is done with an operation.
    Served(u64),
    /// A position of a read has not answered for long.
    Late(u64, usize),
}

/// A request to a member.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Child {
    /// Of an operation, for rows of a position.
    Read {
        operation: u64,
        position: usize,
    },
    Write {
        operation: u64,
        position: usize,
    },
    Repair {
        operation: u64,
    },
    /// Of what is being moved: the same as was written to its old place.
    Twin {
        operation: u64,
        stripe: u64,
    },
    /// Of what makes things durable.
    Commit {
        cycle: u64,
    },
}

/// An array whose stripes have data chunks and parities, or copies, on members that may differ in size.
///
/// A stripe has `width` chunks on as many members. A [`Code`] says how parities follow from data, a [`Placement`] on which members tiles of stripes lie, a
/// [`WritePath`] how a change of a part of a stripe reads and writes. It loses data where more members fail than the code tolerates.
#[derive(Clone)]
pub struct Raid {
    config: RaidConfig,
    coder: Coder,
    map: Map,
    members: Members<Known>,
    features: Features,
    capacity: Sectors,
    /// Sectors of a unit: the largest of the members' atomic units.
    unit: Sectors,
    now: SimTime,
    is_off: bool,
    next_id: u64,
    open: BTreeMap<RequestId, Open>,
    /// Changes of the host that are under way.
    changing: BTreeSet<RequestId>,
    flushes: VecDeque<RequestId>,
    operations: BTreeMap<u64, Operation>,
    locks: Locks,
    commits: Commits,
    own: Own,
    moves: Moves,
    /// Devices that take the place of a member that is lost.
    spares: Vec<Box<dyn Living>>,
    /// Stripes that changed since members flushed.
    unsure: Unsure,
    areas: Areas,
    children: BTreeMap<(usize, RequestId), Child>,
    /// What happens later, by its instant.
    tasks: BTreeMap<(SimTime, u64), Timer>,
    /// When each processor is free.
    servers: Vec<SimTime>,
    parity_pages: ParityPages,
    /// Operations that may start.
    ready: VecDeque<u64>,
    ended: CompletionQueue,
    notices: Vec<Notice>,
    /// Stripes that hold something. The others are zeros, whatever members hold there.
    written: Bits,
    /// Stripes that are zeros on all members.
    zeroed: Bits,
    /// Stripes whose parities may not fit their data since a power cut.
    differs: Bits,
    /// Sectors whose data are lost, until they are written again.
    lost: RangeSet,
    /// Whether all members read zeros where they were discarded.
    reads_zeros: bool,
    is_degraded: bool,
    /// A change of a batch, for which nobody waits, was refused.
    has_refused: bool,
    /// No member missed anything when the present batch began.
    is_all_there: bool,
    owed: Option<Owed>,
    host: Counters,
    times: Times,
}

impl Raid {
    array_that_goes_on!();

    /// An array of these members, none of which has a request outstanding. What they hold is lost; the array begins as zeros.
    ///
    /// # Errors
    /// They make none.
    pub fn new(config: RaidConfig, devices: Vec<Box<dyn Living>>) -> Result<Self, LayoutError> {
        let mut array = Self::to_be_read(config, devices)?;
        meta::check_free(array.members.devices(), array.unit.0)?;
        array.zeroed = array.stripes_of_zeros();
        // What members discarded before they came here they may still forget.
        array.unsure.change(&(0..array.map.stripes()));
        array.commit_if_due();
        array.count();
        Ok(array)
    }

    /// The same, into which a state is read from an archive next: nothing is written on its members before.
    ///
    /// # Errors
    /// As of [`Raid::new`].
    pub fn to_be_read(config: RaidConfig, devices: Vec<Box<dyn Living>>) -> Result<Self, LayoutError> {
        let (features, unit) = common(&devices)?;
        let features = config.features(features);
        let sizes: Vec<Sectors> = devices.iter().map(|device| device.capacity()).collect();
        let shape = Shape::new(&config, &sizes, unit)?;
        Ok(Self::of_shape(config, devices, shape, features, unit))
    }

    /// An array of this shape, which knows nothing of what its members hold.
    fn of_shape(
        config: RaidConfig,
        devices: Vec<Box<dyn Living>>,
        shape: Shape,
        features: Features,
        unit: Sectors,
    ) -> Self {
        let Shape { coder, map, areas, slots } = shape;
        let reads_zeros = devices.iter().all(|device| device.features().trim_reads_zeros);
        let (stripes, tiles) = (map.stripes(), map.table.len());
        let now = devices.iter().map(|member| member.now()).max().unwrap_or(SimTime::ZERO);
        let members = devices.into_iter().zip(slots);
        let members = members.map(|(device, slots)| Member::new(device, Known::new(slots, stripes))).collect();
        let scrub_every = config.scrub_every;
        Self {
            config,
            coder,
            capacity: map.capacity(),
            servers: vec![now; map.groups()],
            map,
            members,
            features,
            unit,
            now,
            is_off: false,
            next_id: 0,
            open: BTreeMap::new(),
            changing: BTreeSet::new(),
            flushes: VecDeque::new(),
            operations: BTreeMap::new(),
            parity_pages: ParityPages::default(),
            locks: Locks::default(),
            commits: Commits::new(stripes, tiles),
            own: Own::new(stripes, now, scrub_every),
            spares: Vec::new(),
            moves: Moves::default(),
            unsure: Unsure::new(stripes),
            areas,
            children: BTreeMap::new(),
            tasks: BTreeMap::new(),
            ready: VecDeque::new(),
            ended: CompletionQueue::new(),
            notices: Vec::new(),
            written: Bits::new(stripes),
            zeroed: Bits::new(stripes),
            differs: Bits::new(stripes),
            lost: RangeSet::new(),
            reads_zeros,
            is_degraded: false,
            has_refused: false,
            is_all_there: true,
            owed: None,
            host: Counters::default(),
            times: Times::default(),
        }
    }

    /// How it works.
    pub const fn config(&self) -> &RaidConfig {
        &self.config
    }

    /// The slots of its tiles.
    pub const fn table(&self) -> &ExtentTable {
        &self.map.table
    }

    fn new_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id - 1
    }

    /// Whether a position of a stripe can be read, as far as is known.
    fn is_usable(&self, stripe: u64, position: usize) -> bool {
        let member = &self.members[self.map.member(stripe, position)];
        member.is_present() && !member.stale.holds(stripe)
    }

    /// Whether a position of a stripe can be written so that it is as it should be.
    fn is_writable(&self, stripe: u64, position: usize) -> bool {
        let member = &self.members[self.map.member(stripe, position)];
        member.is_online() && !member.stale.holds(stripe)
    }

    /// A member does not have what a stripe holds now.
    fn spoil(&mut self, member: usize, stripe: u64) {
        self.members[member].stale.insert_one(stripe);
        self.give_up_unknown(stripe);
        self.tell_if_degraded();
    }

    fn tell_if_degraded(&mut self) {
        let is_degraded = self.members.iter().any(|member| !member.is_whole());
        if is_degraded && !self.is_degraded {
            self.is_degraded = true;
            self.tell(NoticeKind::Degraded);
        }
    }

    /// A member can do less from now on.
    fn lose(&mut self, member: usize, state: MemberState) {
        if !self.members[member].lose(state) {
            return;
        }
        self.must_raise();
        self.commits.wants_checkpoint = true;
        if state == MemberState::Absent {
            // What it had not flushed is lost with it, a checkpoint too.
            self.commits.having.retain(|having| *having != member);
            self.forget(member);
        }
        self.tell(NoticeKind::MemberLost(member as u32));
        self.tell_if_degraded();
    }

    /// Starts an operation, when those before it on its stripe let it.
    fn enter(&mut self, operation: Operation) {
        let id = self.new_id();
        let is_change = operation.task != Task::Read;
        let stripe = operation.block.stripe;
        // What is not known to be written is written as a whole, and what does not fit is first made good as a whole.
        let is_unfit = || self.differs.holds(stripe) || !self.lost.is_empty() && self.is_given_up(stripe);
        let is_odd = || !self.written.holds(stripe) || is_unfit();
        let is_wide = is_change && (self.config.path.locks_stripes() || self.locks.is_busy(stripe) || is_odd());
        let rows = if is_wide { 0..self.map.chunk } else { operation.block.rows.clone() };
        self.operations.insert(id, operation);
        if self.locks.enter(stripe, id, Need { rows, is_change }) {
            self.ready.push_back(id);
        }
    }

    /// Lets operations begin that may.
    fn begin_ready(&mut self) {
        while let Some(id) = self.ready.pop_front() {
            let Some(operation) = self.operations.get(&id) else { continue };
            match operation.task {
                Task::Read => self.begin_read(id),
                Task::Write => self.serve(id, Step::Before),
                Task::Unwrite => self.begin_unwrite(id),
                Task::Move => self.begin_copy(id),
                Task::Rebuild | Task::Resync | Task::Scrub(_) => self.begin_own(id),
            }
        }
    }

    /// Lets a processor work on an operation, and then goes on with it.
    fn serve(&mut self, id: u64, step: Step) {
        let Some(operation) = self.operations.get_mut(&id) else { return };
        operation.step = step;
        let rows = operation.block.rows.start * Sectors::SIZE.0..operation.block.rows.end * Sectors::SIZE.0;
        let stripe = operation.block.stripe;
        let half = Nanos(self.config.path.service(rows).0 / 2);
        if half == Nanos::ZERO || self.commits.in_batch != InBatch::No {
            return self.served(id);
        }
        let end = match self.config.path.server() {
            Server::OfChange => self.now.saturating_add(half),
            Server::OfGroup => {
                let group = self.map.group(stripe).min(self.servers.len() - 1);
                let end = self.servers[group].max(self.now).saturating_add(half);
                self.servers[group] = end;
                end
            }
        };
        let turn = self.new_id();
        self.tasks.insert((end, turn), Timer::Served(id));
    }

    /// A processor is done with an operation.
    fn served(&mut self, id: u64) {
        match self.operations.get(&id).map(|operation| operation.step) {
            Some(Step::Before) => self.begin_change(id),
            Some(Step::After) => self.log(id),
            _ => {}
        }
    }

    /// Asks a member for something.
    fn ask(&mut self, member: usize, request: Request, child: Child) {
        let id = self.members.submit(self.now, member, request);
        self.children.insert((member, id), child);
    }

    /// Takes note of what a member completed.
    fn absorb(&mut self, number: usize, completion: Completion) {
        let Some(child) = self.children.remove(&(number, completion.id)) else { return };
        let member = &mut self.members[number];
        member.queue = member.queue.saturating_sub(1);
        match completion.status {
            Status::Gone(_) => self.lose(number, MemberState::Absent),
            Status::ReadOnly(_) => self.lose(number, MemberState::ReadOnly),
            _ => {}
        }
        match child {
            Child::Commit { cycle } => self.committed_on(cycle, &completion.status),
            Child::Read { operation, position } => {
                self.note_time(operation, number, &completion);
                self.was_read(operation, position, completion);
            }
            Child::Write { operation, position } => {
                self.note_time(operation, number, &completion);
                self.was_written(operation, Some(position), &completion);
            }
            Child::Repair { operation } => {
                self.count_repair(operation, &completion);
                self.was_written(operation, None, &completion);
            }
            Child::Twin { operation, stripe } => {
                if !completion.status.is_done() {
                    self.note_copied(stripe, false);
                }
                self.was_written(operation, None, &completion);
            }
        }
    }

    fn note_time(&mut self, operation: u64, member: usize, completion: &Completion) {
        if let Some(parent) = self.operations.get(&operation).and_then(|operation| operation.parent) {
            self.times.note(parent, member, completion);
        }
    }

    /// When something next happens by itself.
    fn next_event(&self) -> Option<SimTime> {
        let below = self.members.next_event_at().filter(|_| !self.children.is_empty());
        let task = self.tasks.first_key_value().map(|(key, _)| key.0);
        [below, task, self.next_own_step()].into_iter().flatten().min()
    }

    /// Lets time run to an instant, with all that happens meanwhile, each at its own instant.
    fn catch_up(&mut self, to: SimTime) {
        assert!(to >= self.now, "time falls from {:?} to {to:?}", self.now);
        self.begin_ready();
        while let Some(next) = self.next_event().filter(|next| *next <= to) {
            self.now = next.max(self.now);
            self.run_members(self.now);
            while let Some(entry) = self.tasks.first_entry().filter(|entry| entry.key().0 <= self.now) {
                match entry.remove() {
                    Timer::Served(id) => self.served(id),
                    Timer::Late(id, position) => self.read_around(id, position),
                }
            }
            self.begin_ready();
            if self.next_own_step().is_some_and(|own| own <= self.now) {
                self.step();
            }
        }
        self.now = to;
        self.run_members(to);
        self.begin_ready();
    }

    /// An operation is over.
    fn leave(&mut self, id: u64) {
        self.leave_joined(id);
        let Some(operation) = self.operations.remove(&id) else { return };
        self.locks.leave(operation.block.stripe, id, &mut self.ready);
        if let Some(parent) = operation.parent {
            self.settle_part(parent, operation.ended);
        }
        if operation.task != Task::Read {
            self.own_left(id);
            self.go_on_moving();
            self.note_placed(operation.entry);
        }
    }

    /// Sectors of a request failed.
    fn fail(&mut self, parent: Option<RequestId>, range: SectorRange, status: &Status) {
        self.has_refused |= parent.is_none();
        let Some(open) = parent.and_then(|parent| self.open.get_mut(&parent)) else { return };
        open.failed.insert(range);
        if severity(status) > severity(&open.worst) {
            open.worst = status.clone();
        }
    }

    /// A part of a request is over.
    fn settle_part(&mut self, parent: RequestId, ended: SimTime) {
        let Some(open) = self.open.get_mut(&parent) else { return };
        open.ended = open.ended.max(ended);
        open.waits -= 1;
        if open.waits == 0 {
            self.settle(parent);
        }
    }

    /// A request is over.
    fn settle(&mut self, id: RequestId) {
        let Some(mut open) = self.open.remove(&id) else { return };
        if std::mem::take(&mut open.is_fua) && open.worst.is_done() {
            // It ends when a flush does.
            self.open.insert(id, open);
            self.commits.ready.push(id);
            return self.commit_if_due();
        }
        let Open { at, kind, range, ended, bytes, failed, worst, .. } = open;
        let named: Vec<SectorRange> = failed.within(range).collect();
        let status = match worst {
            Status::Done => Status::Done,
            Status::NoSpace(_) => Status::NoSpace(named),
            Status::ReadOnly(_) => Status::ReadOnly(named),
            _ if self.members.are_gone() => Status::all_gone(range),
            _ => Status::MediumError(named),
        };
        let bytes = bytes.filter(|_| matches!(status, Status::Done | Status::MediumError(_)));
        self.changing.remove(&id);
        self.ended.push(Completion { id, submitted_at: at, at: ended, kind, range, status, bytes });
        self.flush_if_due();
    }

    /// Counts what the host asks for.
    fn count_host(&mut self, kind: Kind, range: SectorRange) {
        let unit = self.unit.0;
        let end = range.start.0 + range.count.0;
        let touched = end.div_ceil(unit) - range.start.0 / unit;
        let whole = (end / unit).saturating_sub(range.start.0.div_ceil(unit));
        host::count(&mut self.host, kind, range.count, self.unit, (touched, whole));
    }
}
