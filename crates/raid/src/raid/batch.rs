//! Batches of a parity array: work without contents and without time.

use wane_blockdev::{Batch, Kind, Living as _, Request, SectorRange, Stop, Took, Work, carry_out};
use wane_units::{Sectors, SimTime};

use super::map::Rows;
use super::{Raid, Task};
use crate::mirror::MemberState;
use crate::owed::{Owed, close_own};

impl Raid {
    pub(super) fn take_batch(&mut self, at: SimTime, batch: &Batch<'_>) -> Took {
        if self.is_off {
            return Took::new(Sectors::ZERO, Stop::Gone);
        }
        self.catch_up(at);
        if self.members.iter().all(|member| !member.is_present()) {
            return Took::new(Sectors::ZERO, Stop::Gone);
        }
        if batch.work != Work::Flush && !batch.extents.iter().all(|range| range.lies_within(self.capacity)) {
            return Took::new(Sectors::ZERO, Stop::OutOfRange);
        }
        let took = match batch.work.kind() {
            Kind::Read => self.read_batch(at, batch),
            Kind::Flush => self.flush_batch(at, batch),
            _ if batch.work == Work::Rewrite => self.rewrite_batch(at, batch),
            _ => self.change_batch(at, batch),
        };
        close_own(self.members.iter_mut().map(|member| &mut *member.device));
        self.count();
        took
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
        let mut of: Vec<Vec<(u64, usize, Rows)>> = vec![Vec::new(); self.members.len()];
        let mut missing = Vec::new();
        for (stripe, chunk, rows) in self.pieces(batch.extents) {
            if !self.written.holds(stripe) {
                continue;
            }
            if !self.is_usable(stripe, chunk) {
                missing.push((stripe, chunk, rows));
                continue;
            }
            let (member, range) = self.map.place(stripe, chunk, &rows);
            asked[member].push(range);
            of[member].push((stripe, chunk, rows));
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
        for (stripe, chunk, rows) in missing {
            if !self.read_others(at, batch, stripe, chunk, &rows) {
                lost.insert(self.map.host(stripe, chunk, &rows));
            }
        }
        let bound = SectorRange::new(wane_units::Lba(0), self.capacity);
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

    /// Writes what is there again: data that stay leave parities as they are, and a host that writes parts of stripes writes these too.
    fn rewrite_batch(&mut self, at: SimTime, batch: &Batch<'_>) -> Took {
        if !self.features.keeps_bytes {
            return self.change_batch(at, batch);
        }
        let mut done = Sectors::ZERO;
        for extent in batch.extents {
            self.count_host(Kind::Write, *extent);
            done += extent.count;
        }
        let mut asked: Vec<Vec<SectorRange>> = vec![Vec::new(); self.members.len()];
        for block in batch.extents.iter().flat_map(|extent| self.map.blocks(*extent)) {
            // What holds nothing holds zeros, which need no place.
            if !self.written.holds(block.stripe) {
                continue;
            }
            let parities = self.coder.data()..self.coder.width();
            for position in block.chunks.clone().chain(parities) {
                if self.is_writable(block.stripe, position) {
                    let (member, range) = self.map.place(block.stripe, position, &block.rows);
                    asked[member].push(range);
                }
            }
        }
        for (member, extents) in asked.iter().enumerate().filter(|(_, extents)| !extents.is_empty()) {
            let took = carry_out(&mut self.members[member].device, at, &Batch { extents, ..*batch });
            if let Stop::Dead(_) = took.stop {
                self.lose(member, MemberState::ReadOnly);
            }
        }
        Took::new(done, Stop::Done)
    }

    /// Changes: each range is a request that nobody waits for.
    fn change_batch(&mut self, at: SimTime, batch: &Batch<'_>) -> Took {
        if let Some(why) = self.end_of_life() {
            return Took::new(Sectors::ZERO, Stop::Dead(why));
        }
        self.host.units_written_in_part += batch.tally.units_in_part;
        self.host.bytes_written_around += batch.tally.bytes_around;
        let mut done = Sectors::ZERO;
        for extent in batch.extents {
            let request = match batch.work {
                Work::Trim => Request::trim(*extent),
                _ => Request::write_without_bytes(*extent),
            };
            let kind = request.kind;
            self.count_host(kind, *extent);
            let parts = self.change_parts(None, &request.with_origin(batch.origin));
            parts.into_iter().for_each(|operation| self.enter(operation));
            self.begin_ready();
            self.catch_up(at);
            done += extent.count;
        }
        Took::new(done, Stop::Done)
    }

    /// Lets members do what they owe.
    pub(super) fn carry_on(&mut self, at: SimTime) -> Stop {
        let Some(mut owed) = self.owed.take() else { return Stop::Done };
        let carried = owed.carry_on(at, self.members.iter_mut().map(|member| &mut member.device));
        self.owed = Some(owed).filter(Owed::is_open);
        close_own(self.members.iter_mut().map(|member| &mut *member.device));
        self.count();
        carried.stop
    }

    /// Whether nothing is under way that a batch could disturb.
    #[allow(dead_code, reason = "the quick way of batches uses it")]
    fn is_quiet(&self) -> bool {
        self.operations.values().all(|operation| operation.task == Task::Read)
    }
}
