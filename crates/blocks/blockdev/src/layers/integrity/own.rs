//! What an integrity layer asks of its device for itself: marks, checksums that are written, and what it reads when power is back.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use wane_units::{Lba, Nanos, Sectors, SimTime};

use super::area::{self, Area, BLOCK, BLOCK_BYTES};
use super::{Child, Held, Integrity, Mismatches, Sums, sums};
use crate::{
    Batch, Completion, Extent, ExtentState, Kind, Living, Origin, RangeSet, Request, SectorRange, Status, Stop, Work,
    all_extents, carry_out,
};

/// Sectors that are read at once when power is back: 1 MiB.
const READ_MOST: Sectors = Sectors(2048);

/// Regions that are being marked.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Mark {
    turn: u64,
    pub(super) regions: BTreeSet<u64>,
    /// Requests that are not complete.
    waits: usize,
    worst: Status,
}

/// Regions whose checksums are being written.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Clean {
    turn: u64,
    /// Those that were not changed since.
    pub(super) regions: BTreeSet<u64>,
    waits: usize,
    is_failed: bool,
}

impl<D: Living> Integrity<D> {
    /// A block of the bitmap, with the marks that are under way.
    fn bitmap_bytes(&self, block: u64) -> Vec<u8> {
        let of = self.area.regions_of(block);
        let mut bytes = vec![0; BLOCK_BYTES];
        let under_way = self.mark.iter().flat_map(|mark| mark.regions.range(of.clone()));
        for region in self.marked.range(of.clone()).chain(under_way) {
            let bit = region - of.start;
            bytes[(bit / 8) as usize] |= 1 << (bit % 8);
        }
        bytes
    }

    fn write(range: SectorRange, bytes: impl FnOnce() -> Vec<u8>, keeps_bytes: bool) -> Request {
        let request = if keeps_bytes { Request::write(range, bytes()) } else { Request::write_without_bytes(range) };
        request.with_origin(Origin::ArrayParity)
    }

    fn write_bitmap(&self, block: u64) -> Request {
        Self::write(Area::bitmap(block), || self.bitmap_bytes(block), self.keeps_bytes)
    }

    fn write_sums(&self, region: u64) -> Request {
        Self::write(self.area.sums(region), || self.sums.bytes(region), self.keeps_bytes)
    }

    fn flush() -> Request {
        Request::flush().with_origin(Origin::ArrayParity)
    }

    fn ask(&mut self, at: SimTime, request: Request, child: Child) {
        let id = self.device.submit(at, request);
        self.children.insert(id, child);
    }

    /// The blocks of the bitmap with these regions.
    fn bitmaps(regions: &BTreeSet<u64>) -> BTreeSet<u64> {
        regions.iter().map(|region| Area::bitmap_of(*region)).collect()
    }

    /// The regions that held changes need, and that are not marked.
    fn needed(&self) -> BTreeSet<u64> {
        let changes = self.held.iter().filter(|held| held.request.kind.changes_contents());
        let regions = changes.flat_map(|held| area::regions(held.request.range));
        regions.filter(|region| !self.marked.contains(region)).collect()
    }

    /// Begins to mark what held changes need.
    pub(super) fn begin_mark(&mut self, at: SimTime) {
        let regions = self.needed();
        debug_assert!(self.mark.is_none() && !regions.is_empty(), "one mark is under way at a time");
        self.turns += 1;
        let turn = self.turns;
        let blocks = Self::bitmaps(&regions);
        self.mark = Some(Mark { turn, regions, waits: blocks.len(), worst: Status::Done });
        let is_forced = self.device.features().fua;
        for block in blocks {
            let mut request = self.write_bitmap(block);
            request.flags.fua = is_forced;
            self.ask(at, request, Child::Mark(turn));
        }
        if !is_forced {
            self.ask(at, Self::flush(), Child::Mark(turn));
            self.mark.iter_mut().for_each(|mark| mark.waits += 1);
        }
    }

    /// A part of a mark ended.
    pub(super) fn was_marked(&mut self, at: SimTime, turn: u64, status: Status) {
        let Some(mark) = self.mark.as_mut().filter(|mark| mark.turn == turn) else { return };
        mark.waits -= 1;
        if status.severity() > mark.worst.severity() {
            mark.worst = status;
        }
        if mark.waits > 0 {
            return;
        }
        let Some(mark) = self.mark.take() else { return };
        if mark.worst.is_done() {
            self.marked.extend(mark.regions);
        } else {
            self.give_up(at, &mark);
        }
        self.start_held(at);
    }

    /// What needed a mark that failed ends as that did.
    fn give_up(&mut self, at: SimTime, mark: &Mark) {
        for held in std::mem::take(&mut self.held) {
            let needs = held.request.kind.changes_contents()
                && area::regions(held.request.range).any(|region| mark.regions.contains(&region));
            if !needs {
                self.held.push_back(held);
                continue;
            }
            let status = match &mark.worst {
                status if status.is_failure() => status.clone(),
                _ => Status::MediumError(Vec::new()),
            };
            self.open -= 1;
            self.end(&held, at, status.naming(vec![held.request.range]));
        }
    }

    /// Starts what no longer waits.
    fn start_held(&mut self, at: SimTime) {
        while let Some(held) = self.held.pop_front() {
            if held.request.kind.changes_contents() && !self.is_marked(held.request.range) {
                self.held.push_front(held);
                return self.begin_mark(at);
            }
            self.start(at, held);
        }
    }

    /// Marks regions at once, in no time.
    ///
    /// # Errors
    /// The device takes no more writes, or is gone.
    pub(super) fn mark_now(&mut self, at: SimTime, regions: BTreeSet<u64>) -> Result<(), Stop> {
        let new: BTreeSet<u64> = regions.into_iter().filter(|region| !self.marked.contains(region)).collect();
        if new.is_empty() {
            return Ok(());
        }
        let blocks = Self::bitmaps(&new);
        self.marked.extend(&new);
        let done = self.write_now(
            at,
            blocks.into_iter().map(|block| (Area::bitmap(block), block)).collect(),
            |layer, block| layer.write_bitmap(block),
        );
        if done.is_err() {
            self.marked.retain(|region| !new.contains(region));
        }
        done
    }

    /// Writes blocks of its own and makes all durable, in no time.
    fn write_now(
        &mut self,
        at: SimTime,
        blocks: Vec<(SectorRange, u64)>,
        request: impl Fn(&Self, u64) -> Request,
    ) -> Result<(), Stop> {
        if self.keeps_bytes {
            // Batches have no contents.
            for (_, number) in blocks {
                let request = request(self, number);
                self.ask(at, request, Child::Aside);
            }
        } else {
            let extents: Vec<SectorRange> = blocks.into_iter().map(|(range, _)| range).collect();
            self.at_once(at, Work::Write, &extents)?;
        }
        self.at_once(at, Work::Flush, &[])
    }

    fn at_once(&mut self, at: SimTime, work: Work, extents: &[SectorRange]) -> Result<(), Stop> {
        let took = carry_out(&mut self.device, at, &Batch::new(work, extents).from(Origin::ArrayParity));
        if took.stop == Stop::Done { Ok(()) } else { Err(took.stop) }
    }

    /// Starts all that is held, for a call that cannot wait.
    pub(super) fn force(&mut self, at: SimTime) {
        if self.held.is_empty() {
            return;
        }
        let regions = self.needed();
        self.mark = None;
        // If that fails, the changes do too.
        let _told_by_the_changes = self.mark_now(at, regions);
        while let Some(held) = self.held.pop_front() {
            self.start(at, held);
        }
    }

    /// The regions whose checksums can be written now.
    fn cleanable(&self) -> BTreeSet<u64> {
        let all = self.marked.union(&self.unsaved);
        all.filter(|region| !self.changing.contains_key(region)).copied().collect()
    }

    /// Begins to write the checksums of regions that nobody changes.
    pub(super) fn begin_clean(&mut self, at: SimTime) {
        let regions = self.cleanable();
        if self.clean.is_some() || regions.is_empty() {
            return;
        }
        self.cleaned_at = at;
        self.turns += 1;
        let turn = self.turns;
        for region in &regions {
            let request = self.write_sums(*region);
            self.ask(at, request, Child::Clean(turn));
        }
        self.ask(at, Self::flush(), Child::Clean(turn));
        let waits = regions.len() + 1;
        self.clean = Some(Clean { turn, regions, waits, is_failed: false });
    }

    /// A part of a cleaning ended.
    pub(super) fn was_written(&mut self, at: SimTime, turn: u64, status: &Status) {
        let Some(clean) = self.clean.as_mut().filter(|clean| clean.turn == turn) else { return };
        clean.waits -= 1;
        clean.is_failed |= !status.is_done();
        if clean.waits > 0 {
            return;
        }
        let Some(clean) = self.clean.take().filter(|clean| !clean.is_failed) else { return };
        for block in self.unmark(&clean.regions) {
            // If it is lost, the regions stay marked on the device, which costs time after a power cut and nothing else.
            let request = self.write_bitmap(block);
            self.ask(at, request, Child::Aside);
        }
    }

    /// Takes marks away. Returns the blocks of the bitmap that say so.
    fn unmark(&mut self, regions: &BTreeSet<u64>) -> BTreeSet<u64> {
        for region in regions {
            self.marked.remove(region);
            self.unsaved.remove(region);
        }
        Self::bitmaps(regions)
    }

    /// Waits for all that the device below has to do.
    pub(super) fn settle(&mut self) {
        while !self.children.is_empty()
            && let Some(next) = self.device.next_event_at()
        {
            self.step(next.max(self.device.now()));
        }
    }

    /// Writes the checksums of all regions while nothing is under way.
    pub(super) fn clean_now(&mut self, at: SimTime) {
        self.settle();
        let at = at.max(self.device.now());
        if self.keeps_bytes {
            self.begin_clean(at);
            return self.settle();
        }
        let regions = self.cleanable();
        if regions.is_empty() {
            return;
        }
        self.cleaned_at = at;
        let sums = regions.iter().map(|region| (self.area.sums(*region), *region)).collect();
        if self.write_now(at, sums, Self::write_sums).is_ok() {
            let blocks = self.unmark(&regions);
            let extents: Vec<SectorRange> = blocks.into_iter().map(Area::bitmap).collect();
            // A device that takes no more writes says so to its host.
            let _told_to_the_host = self.at_once(at, Work::Write, &extents);
        }
    }

    /// The power went: what was held, and its own work, is no more.
    pub(super) fn drop_all(&mut self, at: SimTime) {
        (self.mark, self.clean) = (None, None);
        for held in std::mem::take(&mut self.held) {
            self.open -= 1;
            self.end_gone(&held, at);
        }
        self.step(at);
        self.children.clear();
        self.changing.clear();
        debug_assert_eq!(self.open, 0, "each request has ended");
    }

    /// Asks the device below and waits for its answer.
    fn ask_now(&mut self, request: Request) -> Option<Completion> {
        let now = self.device.now();
        let id = self.device.submit(now, request);
        let mut out = Vec::new();
        crate::drain(&mut self.device, now, &mut out);
        out.into_iter().find(|done| done.id == id)
    }

    /// Reads a range, and says what of it is lost.
    fn read_now(&mut self, range: SectorRange) -> (Vec<u8>, RangeSet) {
        let done = self.ask_now(Request::read(range).with_origin(Origin::ArrayParity));
        let Some(Completion { status, bytes: Some(bytes), .. }) = done.filter(|done| !done.status.is_refusal()) else {
            return (Vec::new(), [range].into_iter().collect());
        };
        (bytes, status.failed().iter().copied().collect())
    }

    /// Finds out what holds when the power is back. Returns how long that took.
    pub(super) fn recover(&mut self) -> Nanos {
        let begin = self.device.now();
        if self.keeps_bytes {
            self.marked.clear();
            self.unsaved.clear();
            self.sums = Sums::default();
            self.bad = RangeSet::new();
            self.find_marks();
            self.load_sums();
        }
        let again: Vec<u64> = self.marked.union(&self.unsaved).copied().collect();
        again.into_iter().for_each(|region| self.remake(region));
        self.cleaned_at = self.device.now();
        Nanos(self.cleaned_at.0 - begin.0)
    }

    /// Reads the bitmap. Where it is lost, all is marked.
    fn find_marks(&mut self) {
        for block in 0..self.area.bitmap_blocks() {
            let (bytes, lost) = self.read_now(Area::bitmap(block));
            let of = self.area.regions_of(block);
            let is_set = |region: &u64| {
                let bit = region - of.start;
                !lost.is_empty() || bytes[(bit / 8) as usize] >> (bit % 8) & 1 == 1
            };
            self.marked.extend(of.clone().filter(is_set));
        }
    }

    /// Sectors of the device that may hold something, in pieces.
    fn held_in(&self, range: SectorRange) -> Vec<SectorRange> {
        let mut told: Vec<Extent> = Vec::new();
        all_extents(&self.device, range, &mut told);
        let mut pieces = Vec::new();
        for extent in told.iter().filter(|extent| extent.state != ExtentState::Hole) {
            // Units may be larger than blocks, and extents begin anywhere.
            let start = extent.range.start.0 / BLOCK.0 * BLOCK.0;
            let end = (extent.range.start.0 + extent.range.count.0).next_multiple_of(BLOCK.0);
            let mut rest = SectorRange::between(Lba(start), Lba(end)).intersection(range);
            while !rest.is_empty() {
                pieces.push(rest.first(READ_MOST.min(rest.count)));
                rest = rest.without_first(READ_MOST.min(rest.count));
            }
        }
        pieces
    }

    /// Reads the checksums of regions without a mark.
    fn load_sums(&mut self) {
        for piece in self.held_in(self.area.all_sums()) {
            let (bytes, lost) = self.read_now(piece);
            for number in 0..piece.count.0 / BLOCK.0 {
                let place = SectorRange::new(Lba(piece.start.0 + number * BLOCK.0), BLOCK);
                let region = self.area.region_at(place.start);
                if self.marked.contains(&region) {
                    continue;
                }
                if lost.touches(place) {
                    self.unsaved.insert(region);
                } else {
                    let from = number as usize * BLOCK_BYTES;
                    self.sums.load(region, &bytes[from..from + BLOCK_BYTES]);
                }
            }
        }
        // What lies beyond a capacity that fell is gone.
        self.sums.cut(self.left().0 / BLOCK.0);
    }

    /// Makes the checksums of a region from what it holds.
    fn remake(&mut self, region: u64) {
        let host = area::region_at(region).intersection(SectorRange::new(Lba(0), self.left()));
        for piece in self.held_in(self.area.below(host)) {
            let (bytes, lost) = self.read_now(piece);
            let above = self.area.above(piece);
            self.mismatches += Mismatches { remade: above.count, ..Mismatches::default() };
            if !self.keeps_bytes {
                continue;
            }
            for (number, block) in area::blocks(above).enumerate() {
                let is_lost = lost.touches(self.area.below(area::block_at(block)));
                let from = number * BLOCK_BYTES;
                let sum = if is_lost { sums::UNKNOWN } else { sums::of(&bytes[from..from + BLOCK_BYTES]) };
                self.sums.set(block, sum);
            }
        }
    }

    /// Ends a request of the host as the device would without power.
    pub(super) fn end_gone(&mut self, held: &Held, at: SimTime) {
        let Request { kind, range, .. } = held.request;
        let range = if kind == Kind::Flush { SectorRange::EMPTY } else { range };
        self.end(held, at, Status::all_gone(range));
    }
}
