//! A parity array as a living block device.

use wane_blockdev::{
    Archive, ArchiveError, Batch, BlockDevice, Completion, Extent, ExtentState, Features, Kind, Living, Notice,
    Passing, PowerError, RangeSet, Recovered, Request, RequestId, SectorRange, Status, Stop, Took, Work, check_peek,
};
use wane_units::{Counters, EndOfLife, Fate, Lba, Sectors, SimTime};

use super::map::{Block, Rows};
use super::reads::{slice, slice_mut};
use super::{New, Open, Raid, Step, Task};
use crate::code::add_scaled;
use crate::living::{device_that_goes_on, life_that_goes_on, times_of_members};
use crate::members::archive_counters;
use crate::times::{Array, MemberTime};

/// Most stripes of which one call tells the state.
const TOLD_MAX: u64 = 1024;

impl Raid {
    /// Why a request asks no member for anything, if it does not. Without power that is the reason.
    fn reason_to_refuse(&self, request: &Request) -> Option<Status> {
        request.check(&self.features, self.capacity).err().filter(|_| !self.is_off)
    }

    /// Begins a request that is not refused.
    fn begin(&mut self, id: RequestId, mut request: Request) {
        let (at, kind, range) = (self.now, request.kind, request.range);
        let is_fua = request.flags.fua && kind.changes_contents();
        let mut bytes = None;
        if kind == Kind::Read && self.features.keeps_bytes {
            let mut buffer = request.bytes.take().unwrap_or_default();
            buffer.clear();
            buffer.resize(range.len_bytes(), 0);
            bytes = Some(buffer);
        }
        let open =
            Open { at, kind, range, waits: 0, ended: at, bytes, failed: RangeSet::new(), worst: Status::Done, is_fua };
        self.open.insert(id, open);
        let operations = match kind {
            Kind::Flush => {
                self.flushes.push_back(id);
                return self.flush_if_due();
            }
            Kind::Read => {
                let blocks = self.map.blocks(range);
                let of_one = |block: &Block, chunk| Block { chunks: chunk..chunk + 1, ..block.clone() };
                let each = |block: Block| block.chunks.clone().map(|chunk| of_one(&block, chunk)).collect::<Vec<_>>();
                let parts = blocks.into_iter().flat_map(each);
                parts.map(|block| self.operation(Some(id), block, Task::Read, request.origin)).collect()
            }
            _ => {
                self.changing.insert(id);
                self.change_parts(Some(id), &request)
            }
        };
        if let Some(open) = self.open.get_mut(&id) {
            open.waits = operations.len();
        }
        operations.into_iter().for_each(|operation| self.enter(operation));
        self.begin_ready();
    }

    /// Flushes members for flushes that waited for changes before them.
    pub(super) fn flush_if_due(&mut self) {
        while let Some(id) = self.flushes.front().copied() {
            if self.changing.first().is_some_and(|change| *change < id) {
                break;
            }
            self.flushes.pop_front();
            self.commits.ready.push(id);
        }
        self.commit_if_due();
    }

    /// The contents of a position, as members and what is under way have it; `None` if that cannot be told.
    fn peek_position(&self, stripe: u64, position: usize, rows: &Rows, to: &mut [u8]) -> Option<Vec<Rows>> {
        let (member, range) = self.map.place(stripe, position, rows);
        let gone = self.members[member].device.peek(range, to)?;
        let row = |range: SectorRange, gone: &SectorRange| {
            let start = rows.start + (gone.start.0 - range.start.0);
            start..start + gone.count.0
        };
        Some(gone.iter().map(|gone| row(range, gone)).collect())
    }

    /// The contents of rows of a chunk as members have them. Returns lost rows.
    fn peek_members(&self, stripe: u64, chunk: usize, rows: &Rows, to: &mut [u8]) -> Option<Vec<Rows>> {
        to.fill(0);
        if self.is_usable(stripe, chunk) {
            let bad = self.peek_position(stripe, chunk, rows, to)?;
            if bad.is_empty() {
                return Some(bad);
            }
        }
        let have: Vec<usize> = (0..self.coder.width())
            .filter(|position| *position != chunk && self.is_usable(stripe, *position))
            .collect();
        let is_trusted = self.coder.has_copies() || !self.differs.holds(stripe);
        let Some(sums) = self.coder.solve(&[chunk], &have).filter(|_| is_trusted) else {
            to.fill(0);
            return Some(vec![rows.clone()]);
        };
        to.fill(0);
        let mut bytes = vec![0; to.len()];
        for (from, factor) in sums.into_iter().flatten() {
            // Which of several members could do is found by reading.
            if !self.peek_position(stripe, from, rows, &mut bytes)?.is_empty() {
                return None;
            }
            add_scaled(to, factor, &bytes);
        }
        Some(Vec::new())
    }

    /// Puts what is under way on top of what members hold.
    fn lay_over(&self, stripe: u64, chunk: usize, rows: &Rows, to: &mut [u8]) {
        for id in self.locks.on(stripe) {
            let Some(operation) = self.operations.get(&id) else { continue };
            let (block, chunks) = operation.asked();
            let is_under_way = operation.step != Step::Writes || operation.first.waits();
            if operation.task == Task::Unwrite && is_under_way {
                to.fill(0);
            }
            let Some(new) = chunks.get(chunk).and_then(|chunk| chunk.new.as_ref()).filter(|_| is_under_way) else {
                continue;
            };
            let own = &block.rows;
            let both = own.start.max(rows.start)..own.end.min(rows.end);
            if block.chunks.contains(&chunk) && !both.is_empty() {
                let there = slice_mut(to, rows, &both);
                match new {
                    New::Bytes(bytes) => there.copy_from_slice(slice(bytes, own, &both)),
                    _ => there.fill(0),
                }
            }
        }
    }
}

impl BlockDevice for Raid {
    device_that_goes_on!();

    fn next_event_at(&self) -> Option<SimTime> {
        let below = if self.open.is_empty() { None } else { self.next_event() };
        [self.ended.next_at(), below].into_iter().flatten().min()
    }

    fn set_capacity(&mut self, at: SimTime, capacity: Sectors) -> Status {
        self.change_capacity(at, capacity)
    }

    fn notices(&mut self, out: &mut Vec<Notice>) {
        self.hear_members();
        out.append(&mut self.notices);
    }

    fn peek(&self, range: SectorRange, bytes: &mut [u8]) -> Option<Vec<SectorRange>> {
        check_peek(&self.features, self.capacity, range, bytes).filter(|()| !self.is_off)?;
        let mut lost = RangeSet::new();
        let all = range.start.0..range.start.0 + range.count.0;
        for block in self.map.blocks(range) {
            for (chunk, host) in self.map.hosts(&block) {
                let part = host.start.0..host.start.0 + host.count.0;
                let to = slice_mut(bytes, &all, &part);
                let stripe = block.stripe;
                to.fill(0);
                if self.written.holds(stripe) {
                    for bad in self.peek_members(stripe, chunk, &block.rows, to)? {
                        lost.insert(self.map.host(stripe, chunk, &bad));
                    }
                }
                self.lost.within(host).for_each(|range| lost.insert(range));
                if self.locks.is_busy(stripe) {
                    // Which of these will be written is not told here.
                    if lost.touches(host) {
                        return None;
                    }
                    self.lay_over(stripe, chunk, &block.rows, to);
                }
            }
        }
        let lost: Vec<SectorRange> = lost.within(range).collect();
        for gone in &lost {
            let part = gone.start.0..gone.start.0 + gone.count.0;
            slice_mut(bytes, &all, &part).fill(0);
        }
        Some(lost)
    }

    fn extents(&self, range: SectorRange, out: &mut Vec<Extent>) {
        let mut rest = range.intersection(SectorRange::new(Lba(0), self.capacity));
        let of_stripe = self.map.stripe_sectors();
        for _ in 0..TOLD_MAX {
            if rest.is_empty() {
                break;
            }
            let stripe = rest.start.0 / of_stripe;
            let part = rest.first(Sectors((stripe + 1) * of_stripe - rest.start.0).min(rest.count));
            let is_data = self.is_off || self.written.holds(stripe) || self.locks.is_busy(stripe);
            let state = if is_data { ExtentState::Data } else { ExtentState::Hole };
            out.push(Extent { range: part, state });
            rest = rest.without_first(part.count);
        }
    }
}

impl Array for Raid {
    fn finish(&mut self) {
        if self.is_off {
            return;
        }
        self.catch_up(self.now);
        while self.is_committing() || !self.operations.is_empty() || !self.children.is_empty() {
            let Some(next) = self.next_event() else { break };
            self.catch_up(next.max(self.now));
        }
    }

    times_of_members!();
}

impl Living for Raid {
    life_that_goes_on!(is_at_work);

    fn prefetch(&self, sector: Lba) {
        if sector.0 < self.capacity.0 {
            let stripe = sector.0 / self.map.stripe_sectors();
            let within = sector.0 % self.map.stripe_sectors();
            let row = within % self.map.chunk;
            let (member, range) = self.map.place(stripe, (within / self.map.chunk) as usize, &(row..row + 1));
            self.members[member].device.prefetch(range.start);
        }
    }

    fn end_of_life(&self) -> Option<EndOfLife> {
        if self.is_off {
            return None;
        }
        let is_stuck = |tile: u64| {
            let slots = self.map.table.tile(tile).iter();
            let unwritable = slots.filter(|slot| !self.members[usize::from(slot.member)].takes_writes()).count();
            unwritable > self.config.code.tolerates()
        };
        let mut seen = 0;
        let stuck = self.map.table.groups().iter().any(|group| {
            seen += group.tiles;
            is_stuck(seen - group.tiles)
        });
        let why = || self.members.devices().find_map(|device| device.end_of_life());
        stuck.then(|| why().unwrap_or(EndOfLife::SpareExhausted))
    }

    fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        archive.same("raid.members", &self.members.len())?;
        archive.field("raid.now", &mut self.now)?;
        archive.field("raid.is-off", &mut self.is_off)?;
        archive.field("raid.next-id", &mut self.next_id)?;
        archive.field("raid.capacity", &mut self.capacity)?;
        archive.field("raid.table", &mut self.map.table)?;
        archive.field("raid.open", &mut self.open)?;
        archive.field("raid.changing", &mut self.changing)?;
        archive.field("raid.flushes", &mut self.flushes)?;
        archive.field("raid.operations", &mut self.operations)?;
        archive.field("raid.locks", &mut self.locks)?;
        archive.field("raid.commits", &mut self.commits)?;
        archive.field("raid.moves", &mut self.moves)?;
        archive.field("raid.own", &mut self.own)?;
        archive.field("raid.unsure", &mut self.unsure)?;
        archive.field("raid.children", &mut self.children)?;
        archive.field("raid.tasks", &mut self.tasks)?;
        archive.field("raid.servers", &mut self.servers)?;
        archive.field("raid.ready", &mut self.ready)?;
        archive.field("raid.parity-pages", &mut self.parity_pages)?;
        archive.field("raid.notices", &mut self.notices)?;
        archive.field("raid.written", &mut self.written)?;
        archive.field("raid.zeroed", &mut self.zeroed)?;
        archive.field("raid.differs", &mut self.differs)?;
        archive.field("raid.lost", &mut self.lost)?;
        archive.field("raid.is-degraded", &mut self.is_degraded)?;
        archive.field("raid.owed", &mut self.owed)?;
        self.ended.archive(archive)?;
        for counters in [&mut self.host, &mut self.members.gone, &mut self.members.counters] {
            archive_counters(archive, "raid.counters", counters)?;
        }
        self.members.iter_mut().try_for_each(|member| member.archive(archive))?;
        let mut spares = self.spares.len();
        archive.field("raid.spares", &mut spares)?;
        // Those that took a place are members.
        self.spares.truncate(spares);
        self.spares.iter_mut().try_for_each(|spare| spare.archive(archive))?;
        if archive.is_reading() {
            self.map = self.map.clone().with_starts();
            self.follow_features();
        }
        Ok(())
    }
}

impl Raid {
    /// Whether it has something to do for itself up to an instant.
    fn works_until(&self, end: SimTime) -> bool {
        let is_due = || self.next_own_step().is_some_and(|next| next <= end);
        !self.operations.is_empty() || self.is_committing() || is_due()
    }

    /// Takes note of settings of members that were changed.
    fn follow_settings(&mut self) {
        let kept_bytes = self.features.keeps_bytes;
        self.follow_features();
        if self.is_off {
            return;
        }
        // A member that came to rest is ahead, and takes nothing before its instant.
        self.now = self.members.latest(self.now);
        self.catch_up(self.now);
        if self.features.keeps_bytes && !kept_bytes {
            // What it wrote of itself before had no bytes.
            self.must_raise();
            self.want_checkpoint();
        }
        self.count();
    }

    /// The members were cut off from power at an instant.
    fn cut(&mut self, at: SimTime) {
        for (id, open) in std::mem::take(&mut self.open) {
            let Open { at: submitted_at, kind, range, .. } = open;
            let status = Status::all_gone(if kind == Kind::Flush { SectorRange::EMPTY } else { range });
            self.ended.push(Completion { id, submitted_at, at, kind, range, status, bytes: None });
        }
        self.changing.clear();
        self.flushes.clear();
        self.operations.clear();
        self.locks.clear();
        self.children.clear();
        self.tasks.clear();
        self.ready.clear();
        self.parity_pages = super::ParityPages::default();
        self.owed = None;
        self.commits.cut();
        self.own.cut(self.map.stripes());
        self.moves.cut();
        self.unsure.clear();
    }

    /// What members can do, they do as they are set.
    fn follow_features(&mut self) {
        if let Ok(features) = self.members.features() {
            self.features = self.config.features(features);
        }
    }
}
