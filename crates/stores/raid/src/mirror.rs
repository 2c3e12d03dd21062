//! Mirrors: arrays with several copies of each sector.

mod batch;
mod changes;
mod member;
mod own;
mod reads;
mod tend;
mod told;

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};
use wane_blockdev::{
    Archive, ArchiveError, Batch, BlockDevice, Completion, CompletionQueue, Extent, ExtentState, Features, Kind,
    Living, Notice, NoticeKind, Passing, PowerError, RangeSet, Recovered, Request, RequestId, SectorRange, Status,
    Stop, Took, Work, all_extents, check_peek,
};
use wane_units::{Counters, EndOfLife, Fate, Lba, Nanos, Sectors, SimTime};

use crate::bits::Bits;
use crate::copies::Copies;
use crate::host;
use crate::layout::LayoutError;
use crate::living::{array_that_goes_on, device_that_goes_on, life_that_goes_on, times_of_members};
use crate::members::{MemberState, Members, Returned, archive_counters};
use crate::owed::{Owed, Part};
use crate::spread::common;
use crate::times::{Array, MemberTime, Times};

use changes::Changing;
pub(crate) use member::Unsure;
use member::{Known, Member};
use own::Own;
pub use own::Repairs;
use reads::Reading;

/// Requests after which members are asked again how worn they are.
const REQUESTS_PER_LOOK: u64 = 256;

/// Which of several good copies is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReadPolicy {
    /// That of the member with the fewest requests under way. Equal ones take turns by address, each for 128 KiB.
    #[default]
    ShortestQueue,
    /// That of the member that has used least of its rated wear, and of equal ones the one with the fewest requests under way.
    Healthiest,
}

/// How a mirror works.
#[derive(Clone, Debug, PartialEq)]
pub struct MirrorConfig {
    /// Copies of each sector; 2 or more, and no more than there are members.
    pub copies: usize,
    /// Which copy is read.
    pub reads: ReadPolicy,
    /// Members that are read only where no other one has a good copy, as md's `--write-mostly`.
    pub write_mostly: Vec<usize>,
    /// Bytes a second at which it copies and scrubs beside its host, in its own time.
    pub rebuild_rate: u64,
    /// Most sectors that it copies at once.
    pub rebuild_chunk: Sectors,
    /// Time from one scrub to the next; `None`: only when asked ([`Mirror::scrub`]).
    pub scrub_every: Option<Nanos>,
}

impl Default for MirrorConfig {
    /// Two copies; 200 MB/s in pieces of 1 MiB; no scrubs.
    fn default() -> Self {
        Self {
            copies: 2,
            reads: ReadPolicy::default(),
            write_mostly: Vec::new(),
            rebuild_rate: 200_000_000,
            rebuild_chunk: Sectors(2048),
            scrub_every: None,
        }
    }
}

/// A request that is under way: the host's, or one of the array's own.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Open {
    at: SimTime,
    kind: Kind,
    range: SectorRange,
    /// Requests to members that are not complete.
    waits: usize,
    /// When the last of them ended.
    ended: SimTime,
    doing: Doing,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum Doing {
    Read(Reading),
    Change(Changing),
    /// A flush: members that failed it.
    Flush(Vec<usize>),
}

/// An array with several copies of each sector, on members that may differ in size.
///
/// A write goes to all copies, and is done when one of them took it; a copy that did not is stale from then on, and is not read until it was made
/// good. A read asks one good copy, and the others for what that has lost, which is then written again. The mirror copies what is stale in its own
/// time, and lives as long as one copy of each sector is there.
///
/// What is stale, and where copies may differ after a power cut, is kept in a small memory of its own that survives power cuts, as that of a RAID
/// controller does. The members hold nothing but data.
#[derive(Clone)]
pub struct Mirror {
    config: MirrorConfig,
    layout: Copies,
    members: Members<Known>,
    features: Features,
    capacity: Sectors,
    /// Sectors of a unit: the largest of the members' atomic units.
    unit: Sectors,
    /// The same as a power of 2, if it is one: a division takes as long as a page of a batch.
    unit_shift: Option<u32>,
    now: SimTime,
    is_off: bool,
    next_id: u64,
    open: BTreeMap<RequestId, Open>,
    children: BTreeMap<(usize, RequestId), (RequestId, Part)>,
    ended: CompletionQueue,
    notices: Vec<Notice>,
    owed: Option<Owed>,
    unsure: Unsure,
    /// Units whose copies may differ since a power cut. They are read from the first good copy until all are equal.
    differs: Bits,
    own: Own,
    /// What the host did, in its units; what members counted for it is more.
    host: Counters,
    times: Times,
}

impl Mirror {
    array_that_goes_on!();

    /// A mirror of these members, none of which has a request outstanding. All of them are empty, or hold the same.
    ///
    /// # Errors
    /// They make none.
    pub fn new(config: MirrorConfig, devices: Vec<Box<dyn Living>>) -> Result<Self, LayoutError> {
        let (features, unit) = common(&devices)?;
        let sizes: Vec<Sectors> = devices.iter().map(|member| member.capacity()).collect();
        let mut layout = Copies::new(config.copies);
        let capacity = layout.capacity(&sizes, unit)?;
        let now = devices.iter().map(|member| member.now()).max().unwrap_or(SimTime::ZERO);
        let units = capacity.0 / unit.0;
        let scrub_every = config.scrub_every;
        let mut mirror = Self {
            config,
            layout,
            members: devices.into_iter().map(|device| Member::new(device, Known::new(units))).collect(),
            features,
            capacity,
            unit,
            unit_shift: unit.0.is_power_of_two().then(|| unit.0.trailing_zeros()),
            now,
            is_off: false,
            next_id: 0,
            open: BTreeMap::new(),
            children: BTreeMap::new(),
            ended: CompletionQueue::new(),
            notices: Vec::new(),
            owed: None,
            unsure: Unsure::new(units),
            differs: Bits::new(units),
            own: Own::new(units, now, scrub_every),
            host: Counters::default(),
            times: Times::default(),
        };
        mirror.count();
        mirror.ask_health();
        Ok(mirror)
    }

    /// How it works.
    pub const fn config(&self) -> &MirrorConfig {
        &self.config
    }

    /// The condition of each member.
    pub fn states(&self) -> impl Iterator<Item = MemberState> + '_ {
        self.members.iter().map(|member| member.state)
    }

    /// Sectors of which a member has no present copy.
    pub fn stale(&self, member: usize) -> Sectors {
        Sectors(self.members[member].stale().len() * self.unit.0)
    }

    /// Sectors of which some copy is missing, or may differ.
    pub fn sectors_to_copy(&self) -> Sectors {
        let stale: u64 = self.members.iter().map(|member| member.stale().len()).sum();
        Sectors((stale + self.differs.len()) * self.unit.0)
    }

    /// What it did for itself so far.
    pub const fn repairs(&self) -> Repairs {
        self.own.repairs
    }

    /// The unit of a sector.
    #[inline]
    fn unit_of(&self, sector: u64) -> u64 {
        self.unit_shift.map_or_else(|| sector / self.unit.0, |shift| sector >> shift)
    }

    /// Units that a range touches.
    #[inline]
    fn units_of(&self, range: SectorRange) -> Range<u64> {
        let end = range.start.0 + range.count.0;
        self.unit_of(range.start.0)..self.unit_of(end + (self.unit.0 - 1))
    }

    /// Units that lie in a range as a whole.
    #[inline]
    fn whole_units_of(&self, range: SectorRange) -> Range<u64> {
        let start = self.unit_of(range.start.0 + (self.unit.0 - 1));
        start..self.unit_of(range.start.0 + range.count.0).max(start)
    }

    /// The sectors of units.
    fn sectors_of(&self, units: &Range<u64>) -> SectorRange {
        SectorRange::between(Lba(units.start * self.unit.0), Lba(units.end * self.unit.0))
    }

    fn new_id(&mut self) -> RequestId {
        self.next_id += 1;
        RequestId(self.next_id - 1)
    }

    /// A member can do less from now on. What it had not flushed may be lost with it.
    fn lose(&mut self, member: usize, state: MemberState) {
        if !self.members[member].lose(state) {
            return;
        }
        if state == MemberState::Absent {
            self.forget_changes(member);
            for units in self.unsure.ranges(None) {
                self.spoil_on(member, &units);
            }
        }
        self.tell(NoticeKind::MemberLost(member as u32));
        self.tell_if_degraded();
    }

    /// What a member answered of changes that are not over it may have forgotten, or it was another device that answered.
    fn forget_changes(&mut self, member: usize) {
        let last = RequestId(self.next_id.saturating_sub(1));
        self.members[member].fail(last);
    }

    /// These units of a member are stale, as far as it has a copy of them.
    fn spoil_on(&mut self, member: usize, units: &Range<u64>) {
        let range = self.sectors_of(units);
        let on: Vec<SectorRange> = self
            .layout
            .pieces(range)
            .filter(|(number, _)| self.layout.runs()[*number].places.iter().any(|place| place.0 == member))
            .map(|(_, piece)| piece)
            .collect();
        for piece in on {
            let units = self.units_of(piece);
            self.members[member].spoil(units);
        }
    }

    fn is_degraded(&self) -> bool {
        self.members.iter().any(|member| !member.is_online() || !member.is_whole())
    }

    fn tell_if_degraded(&mut self) {
        if !self.own.is_degraded && self.is_degraded() {
            self.own.is_degraded = true;
            self.tell(NoticeKind::Degraded);
        }
        self.own.is_due |= self.has_to_copy();
    }

    /// Asks members how worn they are, if reads go by that.
    fn ask_health(&mut self) {
        if self.config.reads != ReadPolicy::Healthiest {
            return;
        }
        for member in self.members.iter_mut().filter(|member| member.is_present()) {
            member.known.life_used = member.life_used();
        }
    }

    /// Counts what the host asks for.
    #[inline]
    fn count_host(&mut self, kind: Kind, range: SectorRange) {
        let (units, whole) = (self.units_of(range), self.whole_units_of(range));
        let (touched, whole) = (units.end - units.start, whole.end - whole.start);
        host::count(&mut self.host, kind, range.count, self.unit, (touched, whole));
    }

    /// Submits a part of a request to a member.
    fn ask(&mut self, parent: RequestId, member: usize, part: Part, request: Request) {
        let id = self.members.submit(self.now, member, request);
        self.children.insert((member, id), (parent, part));
        if let Some(open) = self.open.get_mut(&parent) {
            open.waits += 1;
        }
    }

    /// Lets time run to an instant, with all that the array does for itself meanwhile, each at its own instant.
    fn catch_up(&mut self, to: SimTime) {
        assert!(to >= self.now, "time falls from {:?} to {to:?}", self.now);
        loop {
            let below = if self.children.is_empty() { None } else { self.members.next_event_at() };
            let own = self.next_own_step();
            let Some(next) = below.into_iter().chain(own).min().filter(|next| *next <= to) else { break };
            let next = next.max(self.now);
            self.now = next;
            self.run_members(next);
            if self.next_own_step().is_some_and(|own| own <= next) {
                self.step();
            }
        }
        self.now = to;
        self.run_members(to);
    }

    /// Takes note of what a member completed.
    fn absorb(&mut self, member: usize, completion: Completion) {
        let Some((parent, part)) = self.children.remove(&(member, completion.id)) else { return };
        self.members[member].queue -= 1;
        match completion.status {
            Status::Gone(_) => self.lose(member, MemberState::Absent),
            Status::ReadOnly(_) => self.lose(member, MemberState::ReadOnly),
            _ => {}
        }
        let Some(open) = self.open.get_mut(&parent) else { return };
        if open.is_of_host() {
            self.times.note(parent, member, &completion);
        }
        open.waits -= 1;
        open.ended = open.ended.max(completion.at);
        let waits = open.waits;
        match &mut open.doing {
            Doing::Read(reading) => {
                reading.answer(member, part, completion);
                self.judge(parent);
            }
            Doing::Change(changing) => {
                changing.answer(member, part, &completion.status);
                if waits == 0 {
                    self.settle_change(parent);
                }
            }
            Doing::Flush(failed) => {
                if !completion.status.is_done() {
                    failed.push(member);
                }
                if waits == 0 {
                    self.settle_flush(parent);
                }
            }
        }
    }

    /// Hands the host the end of its request.
    fn end(&mut self, id: RequestId, open: &Open, status: Status, bytes: Option<Vec<u8>>) {
        let Open { at, kind, range, ended, .. } = *open;
        self.ended.push(Completion { id, submitted_at: at, at: ended, kind, range, status, bytes });
    }

    /// How a request ends of which these sectors failed, because of `worst`.
    fn failure(&self, range: SectorRange, failed: &RangeSet, worst: &Status) -> Status {
        let named: Vec<SectorRange> = failed.within(range).collect();
        if named.is_empty() {
            return Status::Done;
        }
        match worst {
            Status::NoSpace(_) => Status::NoSpace(named),
            Status::ReadOnly(_) => Status::ReadOnly(named),
            _ if self.members.are_gone() => Status::all_gone(range),
            _ => Status::MediumError(named),
        }
    }

    /// Why a request asks no member for anything, if it does not.
    fn reason_to_refuse(&self, request: &Request) -> Option<Status> {
        request.check(&self.features, self.capacity).err()
    }

    /// Begins a request that is not refused.
    fn begin(&mut self, id: RequestId, request: Request) {
        if id.0.is_multiple_of(REQUESTS_PER_LOOK) {
            self.ask_health();
        }
        match request.kind {
            Kind::Read => self.read(id, request.range, request.origin, reads::Why::Host),
            Kind::Flush => self.flush(id, false),
            _ => self.change(id, request),
        }
    }

    /// The members were cut off from power at an instant.
    fn cut(&mut self, at: SimTime) {
        for (id, open) in std::mem::take(&mut self.open) {
            if open.is_of_host() {
                let Open { at: submitted_at, kind, range, .. } = open;
                let status = Status::all_gone(if kind == Kind::Flush { SectorRange::EMPTY } else { range });
                self.ended.push(Completion { id, submitted_at, at, kind, range, status, bytes: None });
            }
        }
        self.children.clear();
        self.owed = None;
        self.own.stop();
        self.members.iter_mut().for_each(|member| member.cut());
    }

    /// Switches the members on and finds out what is stale.
    fn recover(&mut self, at: SimTime) -> Result<Recovered, PowerError> {
        let Returned { took, lost, why } = self.members.power_on(at, |member| {
            if !member.is_present() {
                member.come_back();
            }
        });
        lost.into_iter().for_each(|member| self.lose(member, MemberState::Absent));
        let is_there = |place: &(usize, Lba)| self.members[place.0].is_present();
        if !self.layout.runs().iter().all(|run| run.places.iter().any(is_there)) {
            self.now = self.members.stay_off(at);
            let why = why.map_or_else(String::new, |why| format!(": {why}"));
            return Err(PowerError::Lost(format!("of some sectors no member with a copy comes back{why}")));
        }
        self.is_off = false;
        for units in self.unsure.ranges(None) {
            self.differs.insert(units);
        }
        self.unsure.clear();
        self.now = self.members.latest(self.now);
        self.run_members(self.now);
        self.tell_if_degraded();
        self.count();
        Ok(Recovered { took })
    }
}

impl BlockDevice for Mirror {
    device_that_goes_on!();

    fn next_event_at(&self) -> Option<SimTime> {
        let is_waiting = self.open.values().any(Open::is_of_host);
        let below = if is_waiting { self.members.next_event_at() } else { None };
        [self.ended.next_at(), below].into_iter().flatten().min()
    }

    /// An array gives no space back, whatever a member wants.
    fn notices(&mut self, out: &mut Vec<Notice>) {
        self.members.drop_notices();
        out.append(&mut self.notices);
    }

    fn peek(&self, range: SectorRange, bytes: &mut [u8]) -> Option<Vec<SectorRange>> {
        check_peek(&self.features, self.capacity, range, bytes).filter(|()| !self.is_off)?;
        self.look(range, bytes)
    }

    fn extents(&self, range: SectorRange, out: &mut Vec<Extent>) {
        /// Most pieces of which one call tells the state.
        const TOLD_MAX: usize = 256;
        let range = range.intersection(SectorRange::new(Lba(0), self.capacity));
        for (number, piece) in self.layout.pieces(range).take(TOLD_MAX) {
            let units = self.units_of(piece);
            let run = &self.layout.runs()[number];
            let good = |(_, place): &(usize, &(usize, Lba))| {
                let member = &self.members[place.0];
                member.is_present() && !member.stale().touches(units.clone())
            };
            let found = run.places.iter().enumerate().find(good);
            let Some((place, (member, _))) = found.filter(|_| !self.is_off && !self.differs.touches(units.clone()))
            else {
                out.push(Extent { range: piece, state: ExtentState::Data });
                continue;
            };
            let part = Part { host: piece, start: run.at(place, piece.start) };
            let mut told = Vec::new();
            all_extents(&self.members[*member].device, part.range(), &mut told);
            out.extend(told.into_iter().map(|extent| Extent { range: part.host_of(extent.range), ..extent }));
        }
    }
}

impl Open {
    /// Whether the host asked for it.
    const fn is_of_host(&self) -> bool {
        match &self.doing {
            Doing::Read(reading) => matches!(reading.why, reads::Why::Host),
            Doing::Change(changing) => matches!(changing.why, changes::Why::Host),
            Doing::Flush(_) => matches!(self.kind, Kind::Flush) && self.range.count.0 == 0,
        }
    }
}

impl Array for Mirror {
    times_of_members!();
}

impl Living for Mirror {
    life_that_goes_on!(has_work);

    fn prefetch(&self, sector: Lba) {
        if sector.0 < self.capacity.0 {
            let run = &self.layout.runs()[self.layout.find(sector)];
            for (place, (member, _)) in run.places.iter().enumerate() {
                self.members[*member].device.prefetch(run.at(place, sector));
            }
        }
    }

    fn end_of_life(&self) -> Option<EndOfLife> {
        self.refuses_writes().then(|| self.why_dead())
    }

    fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        archive.same("mirror.members", &self.members.len())?;
        archive.field("mirror.now", &mut self.now)?;
        archive.field("mirror.is-off", &mut self.is_off)?;
        archive.field("mirror.next-id", &mut self.next_id)?;
        archive.field("mirror.open", &mut self.open)?;
        archive.field("mirror.children", &mut self.children)?;
        archive.field("mirror.notices", &mut self.notices)?;
        archive.field("mirror.owed", &mut self.owed)?;
        archive.field("mirror.unsure", &mut self.unsure)?;
        archive.field("mirror.differs", &mut self.differs)?;
        archive.field("mirror.own", &mut self.own)?;
        self.ended.archive(archive)?;
        archive_counters(archive, "mirror.host", &mut self.host)?;
        archive_counters(archive, "mirror.gone", &mut self.members.gone)?;
        archive_counters(archive, "mirror.counters", &mut self.members.counters)?;
        self.members.iter_mut().try_for_each(|member| member.archive(archive))?;
        if archive.is_reading() {
            self.follow_features();
        }
        Ok(())
    }
}
