//! An integrity layer as a living block device.

use std::collections::BTreeSet;

use wane_archive::{Archive, ArchiveError};
use wane_units::{Counters, Fate, Lba, Nanos, Sectors, SimTime};

use super::area::{self, BLOCK, BLOCK_BYTES};
use super::{Held, Integrity, sums};
use crate::{
    Batch, BlockDevice, Completion, Extent, ExtentState, Features, Living, Notice, NoticeKind, Passing, PowerError,
    RangeSet, Recovered, Request, RequestId, SectorRange, Status, Stop, Timed, Took, Work, check_capacity, check_peek,
    live_on,
};

impl<D: Living> BlockDevice for Integrity<D> {
    fn features(&self) -> Features {
        self.offers()
    }

    fn capacity(&self) -> Sectors {
        self.left()
    }

    fn submit(&mut self, at: SimTime, request: Request) -> RequestId {
        self.catch_up(at);
        let id = self.new_id();
        let held = Held { id, submitted_at: at, request };
        if self.is_off {
            self.end_gone(&held, at);
            return id;
        }
        if let Err(status) = held.request.check(&self.offers(), self.left()) {
            self.end(&held, at, status);
            return id;
        }
        self.open += 1;
        if !self.waits(&held.request) {
            self.start(at, held);
            return id;
        }
        self.held.push_back(held);
        if self.mark.is_none() {
            self.begin_mark(at);
            // A device without latency has marked it now.
            self.catch_up(at);
        }
        id
    }

    fn next_event_at(&self) -> Option<SimTime> {
        let below = if self.open > 0 { self.device.next_event_at() } else { None };
        [self.ended.next_at(), below].into_iter().flatten().min()
    }

    fn complete(&mut self, until: SimTime, out: &mut Vec<Completion>) {
        self.catch_up(until);
        if self.children.is_empty() {
            // The device below hears of each instant.
            self.step(until);
        }
        self.ended.pop_until(until, out);
    }

    fn set_capacity(&mut self, at: SimTime, capacity: Sectors) -> Status {
        self.catch_up(at);
        if self.is_off {
            return Status::Gone(Vec::new());
        }
        if let Err(status) = check_capacity(&self.offers(), self.left(), self.left(), capacity) {
            return status;
        }
        if capacity == self.left() {
            return Status::Done;
        }
        self.force(at);
        let status = self.device.set_capacity(at, self.area.start + capacity);
        if status.is_done() {
            self.sums.cut(capacity.0 / BLOCK.0);
            self.bad.remove(SectorRange::between(Lba(capacity.0), Lba(u64::MAX)));
        }
        status
    }

    fn notices(&mut self, out: &mut Vec<Notice>) {
        let first = out.len();
        self.device.notices(out);
        for notice in &mut out[first..] {
            match &mut notice.kind {
                NoticeKind::CapacityWanted { to, .. } => *to = self.area.left(*to),
                NoticeKind::CapacityChanged(to) | NoticeKind::MappedLimitChanged(to) => *to = self.area.left(*to),
                _ => {}
            }
        }
    }

    fn peek(&self, range: SectorRange, bytes: &mut [u8]) -> Option<Vec<SectorRange>> {
        check_peek(&self.offers(), self.left(), range, bytes).filter(|()| !self.is_off && !self.is_held(range))?;
        let blocks = area::blocks(range);
        let whole = SectorRange::between(Lba(blocks.start * BLOCK.0), Lba(blocks.end * BLOCK.0));
        let mut all = vec![0; whole.len_bytes()];
        let lost = self.device.peek(self.area.below(whole), &mut all)?;
        let mut lost: RangeSet = lost.into_iter().map(|range| self.area.above(range)).collect();
        let trim_reads_zeros = self.device.features().trim_reads_zeros;
        for (block, bytes) in blocks.zip(all.chunks_mut(BLOCK_BYTES)) {
            let sectors = area::block_at(block);
            if !lost.touches(sectors) && !sums::fits(self.sums.get(block), bytes, trim_reads_zeros) {
                if area::regions(sectors).any(|region| self.changing.contains_key(&region)) {
                    // A change of it may have failed, which is not known yet.
                    return None;
                }
                bytes.fill(0);
                lost.insert(sectors);
            }
        }
        let from = if range.is_empty() { 0 } else { SectorRange::between(whole.start, range.start).len_bytes() };
        bytes.copy_from_slice(&all[from..from + range.len_bytes()]);
        Some(lost.within(range).collect())
    }

    fn extents(&self, range: SectorRange, out: &mut Vec<Extent>) {
        let range = range.intersection(SectorRange::new(Lba(0), self.left()));
        let first = out.len();
        self.device.extents(self.area.below(range), out);
        for extent in &mut out[first..] {
            extent.range = self.area.above(extent.range);
        }
        if self.is_held(range) {
            // It is not told which of them hold something.
            out.truncate(first);
            out.push(Extent { range, state: ExtentState::Data });
        }
    }
}

impl<D: Living> Integrity<D> {
    /// Whether time is long enough to write checksums.
    fn is_rest(&self, time: Passing) -> bool {
        match time {
            Passing::Idle(time) => time >= self.clean_every,
            Passing::Days(days) | Passing::Shelf { days, .. } => {
                days * Nanos::DAY.0 as f64 >= self.clean_every.0 as f64
            }
        }
    }
}

impl<D: Living> Living for Integrity<D> {
    live_on!(device: now go_on work);

    fn batch(&mut self, at: SimTime, batch: &Batch<'_>) -> Took {
        if self.is_off {
            return Took::new(Sectors::ZERO, Stop::Gone);
        }
        self.catch_up(at);
        let is_flush = batch.work == Work::Flush;
        if !is_flush && !batch.extents.iter().all(|extent| extent.lies_within(self.left())) {
            return Took::new(Sectors::ZERO, Stop::OutOfRange);
        }
        self.force(at);
        let is_change = batch.work.kind().changes_contents();
        if is_change {
            let regions: BTreeSet<u64> = batch.extents.iter().flat_map(|extent| area::regions(*extent)).collect();
            if let Err(stop) = self.mark_now(at, regions) {
                return Took::new(Sectors::ZERO, stop);
            }
        }
        let below: Vec<SectorRange> = batch.extents.iter().map(|extent| self.area.below(*extent)).collect();
        let mut took = self.device.batch(at, &Batch { extents: &below, ..*batch });
        for unread in &mut took.unread {
            *unread = self.area.above(*unread);
        }
        for extent in batch.extents.iter().filter(|_| is_change) {
            self.touch(*extent);
            // What does not fit the device is left out, and nobody says what that is.
            if self.keeps_bytes && batch.work != Work::Rewrite {
                self.sums.fill(area::blocks(*extent), sums::UNKNOWN);
            }
        }
        took
    }

    fn pass(&mut self, at: SimTime, time: Passing) -> SimTime {
        if !self.is_off {
            self.catch_up(at);
            if self.open == 0 && self.is_rest(time) {
                self.clean_now(at);
            }
        }
        let at = at.max(self.device.now());
        self.device.pass(at, time)
    }

    fn prefetch(&self, sector: Lba) {
        self.device.prefetch(Lba(sector.0.saturating_add(self.area.start.0)));
    }

    fn counters(&self) -> &Counters {
        self.device.counters()
    }

    fn members<'a>(&'a self, each: &mut dyn FnMut(&'a dyn Living)) {
        each(&self.device);
    }

    fn members_mut(&mut self, each: &mut dyn FnMut(&mut dyn Living)) {
        each(&mut self.device);
        if self.device.features().keeps_bytes != self.keeps_bytes {
            // Marks without bytes are nowhere.
            self.keeps_bytes = self.device.features().keeps_bytes;
            self.marked.clear();
            self.sums.clear();
        }
    }

    fn timed(&mut self) -> Option<&mut dyn Timed> {
        self.device.timed()
    }

    fn power_off(&mut self, at: SimTime, fate: &mut dyn FnMut() -> Fate) {
        if self.is_off {
            return self.device.power_off(at, fate);
        }
        self.catch_up(at);
        self.device.power_off(at, fate);
        self.is_off = true;
        self.drop_all(at);
    }

    fn power_on(&mut self, at: SimTime) -> Result<Recovered, PowerError> {
        let recovered = self.device.power_on(at)?;
        self.is_off = false;
        let more = self.recover();
        Ok(Recovered { took: Nanos(recovered.took.0.saturating_add(more.0)) })
    }

    fn another(&self) -> Box<dyn Living> {
        Box::new(Integrity {
            device: self.device.another(),
            area: self.area,
            clean_every: self.clean_every,
            zeros: self.zeros,
            keeps_bytes: self.keeps_bytes,
            sums: self.sums.clone(),
            marked: self.marked.clone(),
            unsaved: self.unsaved.clone(),
            changing: self.changing.clone(),
            held: self.held.clone(),
            children: self.children.clone(),
            mark: self.mark.clone(),
            clean: self.clean.clone(),
            cleaned_at: self.cleaned_at,
            turns: self.turns,
            open: self.open,
            ended: self.ended.clone(),
            next_id: self.next_id,
            bad: self.bad.clone(),
            mismatches: self.mismatches,
            is_off: self.is_off,
            passing: Vec::new(),
        })
    }

    fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        archive.field("integrity.area", &mut self.area)?;
        archive.field("integrity.keeps-bytes", &mut self.keeps_bytes)?;
        archive.field("integrity.sums", &mut self.sums)?;
        archive.field("integrity.marked", &mut self.marked)?;
        archive.field("integrity.unsaved", &mut self.unsaved)?;
        archive.field("integrity.changing", &mut self.changing)?;
        archive.field("integrity.held", &mut self.held)?;
        archive.field("integrity.children", &mut self.children)?;
        archive.field("integrity.mark", &mut self.mark)?;
        archive.field("integrity.clean", &mut self.clean)?;
        archive.field("integrity.cleaned-at", &mut self.cleaned_at)?;
        archive.field("integrity.turns", &mut self.turns)?;
        archive.field("integrity.open", &mut self.open)?;
        archive.field("integrity.next-id", &mut self.next_id)?;
        archive.field("integrity.bad", &mut self.bad)?;
        archive.field("integrity.mismatches", &mut self.mismatches)?;
        archive.field("integrity.is-off", &mut self.is_off)?;
        self.ended.archive(archive)?;
        self.device.archive(archive)
    }
}
