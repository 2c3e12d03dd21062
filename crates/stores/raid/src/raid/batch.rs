//! Batches of a parity array: work without contents and without time.

use std::collections::BTreeMap;

use wane_blockdev::{Batch, Kind, Living as _, Origin, Request, SectorRange, Stop, Took, Work, carry_out};
use wane_units::{EndOfLife, Lba, Sectors, SimTime};

use super::Raid;
use super::commits::InBatch;
use super::map::{Block, Rows};
use crate::members::MemberState;
use crate::owed::{Owed, Part};

impl Raid {
    /// Carries out a batch within the capacity.
    pub(super) fn take_batch(&mut self, at: SimTime, batch: &Batch<'_>) -> Took {
        self.is_all_there = self.members.iter().all(|member| member.is_retired || member.is_whole() && !member.is_full);
        match batch.work.kind() {
            Kind::Read => self.read_batch(at, batch),
            Kind::Flush => self.flush_batch(at, batch),
            _ => self.change_batch(at, batch),
        }
    }

    /// The chunks of ranges, with their rows.
    fn pieces(&self, extents: &[SectorRange]) -> Vec<(u64, usize, Rows)> {
        let mut pieces = Vec::new();
        for block in extents.iter().flat_map(|extent| self.map.blocks(*extent)) {
            pieces.extend(block.chunks.clone().map(|chunk| (block.stripe, chunk, block.rows.clone())));
        }
        pieces
    }

    fn read_batch(&mut self, at: SimTime, batch: &Batch<'_>) -> Took {
        self.host.bytes_read_around += batch.tally.bytes_around;
        let mut done = Sectors::ZERO;
        for extent in batch.extents {
            done += extent.count;
            if batch.work == Work::Read {
                self.count_host(Kind::Read, *extent);
            }
        }
        let mut asked: Vec<Vec<SectorRange>> = vec![Vec::new(); self.members.len()];
        let mut of: Vec<Vec<(u64, usize, usize, Rows)>> = vec![Vec::new(); self.members.len()];
        let mut missing = Vec::new();
        for (stripe, chunk, rows) in self.pieces(batch.extents) {
            if !self.written.holds(stripe) {
                continue;
            }
            let Some(position) = self.best(stripe, chunk) else {
                missing.push((stripe, chunk, chunk, rows));
                continue;
            };
            let (member, range) = self.map.place(stripe, position, &rows);
            asked[member].push(range);
            of[member].push((stripe, chunk, position, rows));
        }
        for (member, extents) in asked.iter().enumerate().filter(|(_, extents)| !extents.is_empty()) {
            let took = carry_out(&mut self.members[member].device, at, &Batch { extents, ..*batch });
            if matches!(took.stop, Stop::Gone | Stop::Dead(_)) {
                self.lose(member, MemberState::Absent);
                missing.append(&mut of[member]);
                continue;
            }
            for unread in took.unread {
                let is_of = |range: &SectorRange| range.overlaps(unread);
                let hit = extents.iter().zip(&of[member]).filter(|(range, _)| is_of(range));
                missing.extend(hit.map(|(_, piece)| piece.clone()));
            }
        }
        let mut lost = wane_blockdev::RangeSet::new();
        for (stripe, chunk, position, rows) in missing {
            if !self.read_others(at, batch, stripe, position, &rows) {
                lost.insert(self.map.host(stripe, chunk, &rows));
            }
        }
        let bound = SectorRange::new(Lba(0), self.capacity);
        Took { done, stop: Stop::Done, unread: lost.within(bound).collect() }
    }

    /// Reads what makes a chunk whose member lost it, and writes it again. Returns whether that worked.
    fn read_others(&mut self, at: SimTime, batch: &Batch<'_>, stripe: u64, chunk: usize, rows: &Rows) -> bool {
        let mut have = Vec::new();
        for position in (0..self.coder.width()).filter(|position| *position != chunk) {
            if !self.is_usable(stripe, position) {
                continue;
            }
            let (member, range) = self.map.place(stripe, position, rows);
            let took = carry_out(&mut self.members[member].device, at, &Batch { extents: &[range], ..*batch });
            if took.stop == Stop::Done && took.unread.is_empty() {
                have.push(position);
            }
        }
        let is_trusted = self.coder.has_copies() || !self.differs.holds(stripe);
        if !is_trusted || self.coder.solve(&[chunk], &have).is_none() {
            return false;
        }
        if self.is_writable(stripe, chunk) {
            let (member, range) = self.map.place(stripe, chunk, rows);
            let ranges = [range];
            let again = Batch::new(Work::Rewrite, &ranges).from(wane_blockdev::Origin::ArrayRepair);
            let took = carry_out(&mut self.members[member].device, at, &again);
            if let Stop::Dead(_) = took.stop {
                self.lose(member, MemberState::ReadOnly);
            }
        }
        true
    }

    fn flush_batch(&mut self, at: SimTime, batch: &Batch<'_>) -> Took {
        let mut stop = Stop::Done;
        for number in 0..self.members.len() {
            if !self.members[number].is_present() {
                continue;
            }
            let took = carry_out(&mut self.members[number].device, at, batch);
            if took.stop != Stop::Done {
                let is_gone = took.stop == Stop::Gone;
                self.lose(number, if is_gone { MemberState::Absent } else { MemberState::ReadOnly });
                stop = took.stop;
            }
        }
        self.commit_at_once();
        Took::new(Sectors::ZERO, stop)
    }

    /// Changes: each range is a request that nobody waits for. What is written again leaves parities as they are; members read, write and record as they
    /// do for any change.
    fn change_batch(&mut self, at: SimTime, batch: &Batch<'_>) -> Took {
        if let Some(why) = self.end_of_life() {
            return Took::new(Sectors::ZERO, Stop::Dead(why));
        }
        self.host.units_written_in_part += batch.tally.units_in_part;
        self.host.bytes_written_around += batch.tally.bytes_around;
        let mut quick = Quick::new(self.members.len());
        let mut done = Sectors::ZERO;
        self.has_refused = false;
        self.commits.in_batch = if self.features.keeps_bytes { InBatch::WithBytes } else { InBatch::Hollow };
        for extent in batch.extents {
            self.count_host(if batch.work == Work::Trim { Kind::Trim } else { Kind::Write }, *extent);
            self.change_extent(at, batch, *extent, &mut quick);
            if self.has_refused && batch.work != Work::Trim {
                break;
            }
            done += extent.count;
        }
        self.commits.in_batch = InBatch::No;
        let has_refused = std::mem::take(&mut self.has_refused) && batch.work != Work::Trim;
        let took = self.change_quickly(at, batch, quick, done);
        if has_refused && took.stop == Stop::Done {
            // A host that would go on would write what is not kept.
            return Took { stop: Stop::Dead(self.end_of_life().unwrap_or(EndOfLife::NoFreeBlock)), ..took };
        }
        took
    }

    /// Changes a range in the quick way, or in the slow one.
    fn change_extent(&mut self, at: SimTime, batch: &Batch<'_>, extent: SectorRange, quick: &mut Quick) {
        if batch.work == Work::Trim || self.features.keeps_bytes && batch.work != Work::Rewrite {
            return self.change_slowly(at, batch, extent);
        }
        if let Some(block) = self.map.single(extent) {
            return self.change_block(at, batch, &block, quick);
        }
        for block in self.map.blocks(extent) {
            self.change_block(at, batch, &block, quick);
        }
    }

    /// Changes a block in the quick way, or in the slow one.
    fn change_block(&mut self, at: SimTime, batch: &Batch<'_>, block: &Block, quick: &mut Quick) {
        if self.plan_quickly(block, quick) {
            return;
        }
        if self.features.keeps_bytes && self.written.holds(block.stripe) {
            self.plan_again(block, quick);
        } else {
            for (_, host) in self.map.hosts(block).collect::<Vec<_>>() {
                self.change_slowly(at, batch, host);
            }
        }
    }

    /// Changes a range by operations, as requests do.
    fn change_slowly(&mut self, at: SimTime, batch: &Batch<'_>, range: SectorRange) {
        let request = match batch.work {
            Work::Trim => Request::trim(range),
            _ => Request::write_without_bytes(range),
        };
        let parts = self.change_parts(None, &request.with_origin(batch.origin));
        parts.into_iter().for_each(|operation| self.enter(operation));
        self.begin_ready();
        self.catch_up(at);
    }

    /// Plans what members do for a change without contents, or one that leaves them as they are. Returns whether that is all there is to it: no member
    /// misses anything, and nothing else is under way on the stripe.
    fn plan_quickly(&mut self, block: &Block, quick: &mut Quick) -> bool {
        let stripe = block.stripe;
        let is_whole = self.is_all_there && !self.differs.holds(stripe);
        if !is_whole || self.locks.is_busy(stripe) || self.moves_tile(stripe) {
            return false;
        }
        let is_first = !self.written.holds(stripe);
        if is_first && !self.zeroed.holds(stripe) {
            return false;
        }
        let data = self.coder.data();
        let coder = &self.coder;
        let chunks = &block.chunks;
        let changes = |parity: &usize| chunks.clone().any(|chunk| coder.coefficient(parity - data, chunk) != 0);
        let parities = (data..coder.width()).filter(changes);
        let written = chunks.clone().chain(parities.clone());
        let places = self.map.places(stripe);
        let mut logged = None;
        if !is_first {
            let belongs = |chunk: &usize| {
                !chunks.contains(chunk) && parities.clone().any(|parity| coder.coefficient(parity - data, *chunk) != 0)
            };
            let others = (0..data).filter(belongs);
            let modify = chunks.len() + parities.clone().count();
            if self.config.path.modifies(modify, others.clone().count()) {
                written.clone().for_each(|position| quick.read(places.of(position, &block.rows)));
            } else {
                others.for_each(|position| quick.read(places.of(position, &block.rows)));
            }
            logged = Some(modify);
        }
        let host = self.map.host(stripe, chunks.start, &block.rows);
        for position in written {
            let (member, range) = places.of(position, &block.rows);
            quick.writes[member].push(Part { host, start: range.start });
        }
        match logged {
            Some(parts) => self.plan_record(block, parts, quick),
            None => {
                self.written.insert_one(stripe);
                self.zeroed.remove(stripe..stripe + 1);
                self.note_first(stripe);
            }
        }
        // Contents that stay are what members hold, whether this reaches them or not.
        if self.features.keeps_bytes {
            return true;
        }
        self.unsure.change(&(stripe..stripe + 1));
        if !self.lost.is_empty() {
            for (_, host) in self.map.hosts(block).collect::<Vec<_>>() {
                self.lost.remove(host);
            }
        }
        true
    }

    /// Plans that members which can be written write again what is theirs of a block, although others miss it.
    fn plan_again(&mut self, block: &Block, quick: &mut Quick) {
        let stripe = block.stripe;
        let positions = block.chunks.clone().chain(self.coder.data()..self.coder.width());
        let positions: Vec<usize> = positions.filter(|position| self.is_writable(stripe, *position)).collect();
        let places = self.map.places(stripe);
        let host = self.map.host(stripe, block.chunks.start, &block.rows);
        for position in &positions {
            let (member, range) = places.of(*position, &block.rows);
            quick.writes[member].push(Part { host, start: range.start });
        }
        self.plan_record(block, positions.len(), quick);
    }

    /// Plans what members write of the ring for a change of `parts` chunks.
    fn plan_record(&mut self, block: &Block, parts: usize, quick: &mut Quick) {
        let rows = (block.rows.end - block.rows.start) as usize * 512;
        let bytes = self.logged_quickly(block.stripe, parts, rows);
        for (member, range) in self.ring_for(bytes) {
            let host = SectorRange::new(Lba(0), range.count);
            quick.writes[member].push(Part { host, start: range.start });
        }
    }

    /// Reads and writes.
    fn change_quickly(&mut self, at: SimTime, batch: &Batch<'_>, quick: Quick, done: Sectors) -> Took {
        let Quick { reads, writes } = quick;
        let origin = batch.origin;
        for (member, extents) in reads.iter().enumerate().filter(|(_, extents)| !extents.is_empty()) {
            let asked = Batch::new(Work::Read, extents).from(Origin::ArrayParity);
            let took = carry_out(&mut self.members[member].device, at, &asked);
            for unread in took.unread {
                for sector in unread.start.0..unread.start.0 + unread.count.0 {
                    self.read_again(at, &asked, member, Lba(sector));
                }
            }
        }
        let work = if self.features.keeps_bytes { Work::Rewrite } else { Work::Write };
        self.owed = Some(Owed::new(&Batch { work, origin, ..*batch }, writes));
        let (stop, refused) = self.pay(at);
        let Some(refused) = refused else { return Took::new(done, stop) };
        let mut before = Sectors::ZERO;
        for extent in batch.extents {
            if !extent.intersection(refused.host).is_empty() {
                before += Sectors(refused.host.start.0.saturating_sub(extent.start.0));
                break;
            }
            before += extent.count;
        }
        Took::new(before, stop)
    }

    /// A member lost a sector that is needed: the others make it, or it is lost.
    fn read_again(&mut self, at: SimTime, asked: &Batch<'_>, member: usize, sector: Lba) {
        let Some((stripe, position, row)) = self.map.what_is_at(member, sector) else { return };
        let rows = row..row + 1;
        if !self.read_others(at, asked, stripe, position, &rows) && position < self.coder.data() {
            self.lost.insert(self.map.host(stripe, position, &rows));
        }
    }

    /// Lets members do what they owe. Returns how that stopped, and the first part that the array could not keep.
    fn pay(&mut self, at: SimTime) -> (Stop, Option<Part>) {
        let Some(carried) = self.members.carry_on(at, &mut self.owed) else { return (Stop::Done, None) };
        let end = self.map.capacity().0;
        let (mut first, mut refused) = (None, BTreeMap::<u64, Vec<usize>>::new());
        for (member, how, left) in carried.ended {
            self.lose(member, if how == Stop::Gone { MemberState::Absent } else { MemberState::ReadOnly });
            // What was to be written again is still there.
            if self.features.keeps_bytes {
                continue;
            }
            for part in left.into_iter().filter(|part| part.host.start.0 < end) {
                first = first.or(Some(part));
                refused.entry(part.host.start.0 / self.map.stripe_sectors()).or_default().push(member);
            }
        }
        for (stripe, members) in refused {
            self.spoil_refused(stripe, &members);
        }
        match self.end_of_life() {
            Some(why) => (Stop::Dead(why), first),
            None if self.owed.is_some() => (Stop::Paused, None),
            None => (Stop::Done, None),
        }
    }

    /// Members did not take what a batch wrote to a stripe. More than the code tolerates: then what they hold stays as it was, and parities are made of it
    /// no more.
    pub(super) fn spoil_refused(&mut self, stripe: u64, members: &[usize]) {
        members.iter().for_each(|member| self.spoil(*member, stripe));
        let missing = (0..self.coder.width()).filter(|position| !self.is_usable(stripe, *position)).count();
        if missing <= self.config.code.tolerates() {
            return;
        }
        members.iter().for_each(|member| self.members[*member].stale.remove(stripe..stripe + 1));
        let parities = if self.coder.has_copies() { 0..0 } else { self.coder.data()..self.coder.width() };
        for parity in parities {
            let member = self.map.member(stripe, parity);
            self.spoil(member, stripe);
        }
    }

    /// Lets members do what they owe.
    pub(super) fn carry_on(&mut self, at: SimTime) -> Stop {
        let (stop, _) = self.pay(at);
        self.members.close_own();
        self.count();
        stop
    }
}

/// What members do for the changes of a batch.
struct Quick {
    reads: Vec<Vec<SectorRange>>,
    writes: Vec<Vec<Part>>,
}

impl Quick {
    fn new(members: usize) -> Self {
        Self { reads: vec![Vec::new(); members], writes: vec![Vec::new(); members] }
    }

    fn read(&mut self, (member, range): (usize, SectorRange)) {
        self.reads[member].push(range);
    }
}
