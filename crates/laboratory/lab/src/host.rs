//! The host of a device: hands it batches, and answers what it asks. It knows neither phases nor results.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use wane_archive::{Archive, ArchiveError};
use wane_blockdev::{
    Batch as Asked, BlockDevice, ExtentState, Living, Notice, NoticeKind, SectorRange, Stop, Tally, Took, Work,
    all_extents, all_of, each_of,
};
use wane_ftl::{EndOfLife, ProjectionError};
use wane_results::{Counters, EndCause};
use wane_ssd::{Drive, Projection};
use wane_units::{Lba, Lpn, Sectors};
use wane_workload::{Batch, Op};

use crate::below::Below;
use crate::files::Files;
use crate::queued::Queued;
use crate::record::Recorded;
use crate::space::{HostSpace, Space};
use crate::usable::Usable;

/// Pages of a request that are written between two checks of the stop flag. The result is the same as if they were written at
/// once.
const SLICE_PAGES: usize = 1 << 12;

/// Reasons why a run ends before its phases do.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ended {
    /// The drive died.
    Died(EndCause),
    /// The simulated time is used up.
    ClockEnd,
    /// The user stopped it.
    Interrupted,
}

/// Reasons why a step ends.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Halt {
    /// The run is over.
    Ended(Ended),
    /// The budget is spent.
    Spent,
}

impl From<Ended> for Halt {
    fn from(ended: Ended) -> Self {
        Self::Ended(ended)
    }
}

/// How a host uses the addresses of its workload.
#[derive(Clone)]
pub(crate) enum Addresses {
    /// They are the device's, which keeps its capacity.
    Direct,
    /// They wrap around at the capacity. The host uses whatever the drive exports and gives nothing back.
    Wrapping,
    /// They are places among these units of the device, which exports fewer than when it was new, or may map fewer.
    Within(Arc<Usable>),
}

/// See the head of this file.
#[derive(Clone)]
pub(crate) struct Host {
    device: Below,
    addresses: Addresses,
    unit: Sectors,
    /// Whether pages of a request that follow each other come to the device as one range. An array writes a parity once for what changes together; to a
    /// drive it is the same.
    joins: bool,
    /// Units of the device when it was new.
    when_new: u32,
    /// Units that were predicted instead of written, and bytes of flash that were predicted to be programmed for them. One drive keeps them itself.
    predicted: (u64, u64),
    /// The sectors of the present batch.
    extents: Vec<SectorRange>,
    /// What the last batch of reads found lost.
    unread: Vec<SectorRange>,
}

impl Host {
    /// Makes the host of a drive. If that may shrink, its file system knows which pages are in use, and moves and trims data.
    pub(crate) fn of(drive: Drive) -> Self {
        let capacity = drive.capacity_policy();
        if !capacity.may_shrink() {
            return Self::new(drive, Addresses::Direct);
        }
        let bound = capacity.relocation_bound().map(|bytes| bytes.0 / u64::from(drive.unit_bytes()));
        let (when_new, unit_bytes) = (drive.logical_initial(), drive.unit_bytes());
        let map = HostSpace::new(when_new, bound, capacity.method());
        let unit = Sectors(u64::from(unit_bytes) / Sectors::SIZE.0);
        Self::on(Below::Stack(Box::new(Space::new(drive, map))), Addresses::Direct, unit, when_new)
    }

    /// Makes the host of a drive that uses its addresses.
    pub(crate) fn new(drive: Drive, addresses: Addresses) -> Self {
        let (unit, when_new) = (Sectors(u64::from(drive.unit_bytes()) / Sectors::SIZE.0), drive.logical_initial());
        Self::on(Below::Bare(Box::new(drive)), addresses, unit, when_new)
    }

    fn on(device: Below, addresses: Addresses, unit: Sectors, when_new: u32) -> Self {
        // A file system joins what it writes itself.
        let joins = device.only().is_none() && device.layer::<Files>().is_none();
        let (extents, unread) = (Vec::new(), Vec::new());
        Self { device, addresses, unit, joins, when_new, predicted: (0, 0), extents, unread }
    }

    /// Makes the host of a stack of devices, which has `when_new` units of `unit` sectors when it is new.
    pub(crate) fn of_stack(stack: Box<dyn Living>, unit: Sectors, when_new: u32) -> Self {
        Self::on(Below::Stack(stack), Addresses::Direct, unit, when_new)
    }

    /// The same, of a device whose addresses wrap around.
    pub(crate) fn wrapping(stack: Box<dyn Living>, unit: Sectors) -> Self {
        let when_new = (stack.capacity().0 / unit.0) as u32;
        Self::on(Below::Stack(stack), Addresses::Wrapping, unit, when_new)
    }

    /// A copy to which the requests of a probe go: its addresses wrap around, and nobody gives anything back.
    pub(crate) fn for_probe(&self) -> Self {
        let device = match self.space() {
            Some(space) => Below::Bare(Box::new(space.drive().clone())),
            None => self.device.clone(),
        };
        Self { predicted: self.predicted, ..Self::on(device, Addresses::Wrapping, self.unit, self.when_new) }
    }

    /// Applies predicted wear of `units` units to the drives that take writes, in order. What they want then, they tell.
    ///
    /// # Errors
    /// A drive refuses, and nothing of it changes.
    pub(crate) fn project(&mut self, units: u64, projections: &[Projection<'_>]) -> Result<(), ProjectionError> {
        let (mut next, mut refused, mut programmed) = (projections.iter(), None, 0);
        self.each_drive(&mut |drive| {
            if drive.end_of_life().is_none()
                && let Some(projection) = next.next()
            {
                programmed += projection.programmed_units * u64::from(drive.unit_bytes());
                match drive.project_wear(projection) {
                    Ok(outcome) => drive.settle_alone(outcome),
                    Err(error) => refused = refused.take().or(Some(error)),
                }
            }
        });
        self.predicted.0 += units;
        self.predicted.1 += programmed;
        refused.map_or(Ok(()), Err)
    }

    /// Whether it stands on one drive, and no file system or array between.
    pub(crate) fn is_alone(&self) -> bool {
        self.is_bare() || self.space().is_some()
    }

    /// Whether its device is to get requests whole.
    pub(crate) const fn joins(&self) -> bool {
        self.joins
    }

    /// Whether it stands on an array.
    pub(crate) fn is_array(&self) -> bool {
        self.device.only().is_none()
    }

    /// Units of an array that were predicted instead of written, and bytes of flash that were predicted to be programmed for them.
    pub(crate) const fn predicted(&self) -> (u64, u64) {
        self.predicted
    }

    /// The same, to be changed.
    pub(crate) const fn predicted_mut(&mut self) -> &mut (u64, u64) {
        &mut self.predicted
    }

    /// Whether the device takes writes.
    pub(crate) fn takes_writes(&self) -> bool {
        match self.device.only() {
            Some(drive) => drive.end_of_life().is_none(),
            None => self.living().end_of_life().is_none() && !self.living().is_off(),
        }
    }

    /// The time of the array, if it stands on one whose time is kept.
    pub(crate) fn array_time(&self) -> Option<&Queued> {
        self.device.queued().filter(|queued| queued.keeps_time() && self.is_array())
    }

    /// The same, to be changed.
    pub(crate) fn array_time_mut(&mut self) -> Option<&mut Queued> {
        let is_array = self.is_array();
        self.device.queued_mut().filter(|queued| queued.keeps_time() && is_array)
    }

    /// Hands out the drives that have power, to be changed.
    pub(crate) fn each_drive(&mut self, each: &mut dyn FnMut(&mut Drive)) {
        each_of::<Drive>(self.living_mut(), &mut |drive| {
            if !drive.is_off() {
                each(drive);
            }
        });
    }

    /// The file system, if it stands on one.
    pub(crate) fn files(&self) -> Option<&Files> {
        self.device.layer()
    }

    /// Lets the file system, if it stands on one, count from now on.
    pub(crate) fn start_files(&mut self) {
        if let Some(files) = self.device.layer_mut::<Files>() {
            files.start();
        }
    }

    /// Gives an array the capacity that it asks for, unless that holds some of its first `used` units. Returns whether it gave any.
    pub(crate) fn give_back(&mut self, used: u32) -> bool {
        let (unit, array) = (self.unit.0, self.device.living_mut());
        let mut heard: Vec<Notice> = Vec::new();
        array.notices(&mut heard);
        let wanted = heard.iter().rev().find_map(|notice| match notice.kind {
            NoticeKind::CapacityWanted { to, .. } => Some(to),
            _ => None,
        });
        let Some(to) = wanted.filter(|to| to.0 >= u64::from(used) * unit && *to < array.capacity()) else {
            return false;
        };
        let now = array.now();
        array.set_capacity(now, to).is_done()
    }

    /// What its workload may use of the device.
    pub(crate) fn usable(&self) -> Usable {
        let Some(space) = self.space() else { return Usable::of(self.living(), self.unit) };
        // What wear takes from a drive that may shrink is its map's to answer, and what a host set is not.
        let (capacity, limit) = (space.drive().capacity(), space.drive().mapped_limit());
        Usable::within(space, self.unit, if limit < capacity { limit } else { space.capacity() })
    }

    /// From now on its workload has as many addresses as there are usable units, and stays on these; `None`: it has the device's.
    pub(crate) fn stay_within(&mut self, usable: Option<Usable>) {
        self.addresses = usable.map_or(Addresses::Direct, |usable| Addresses::Within(Arc::new(usable)));
    }

    /// Turns what a workload drew into pages of the device.
    #[inline]
    pub(crate) fn place(&self, pages: &mut [u32]) {
        if let Addresses::Within(usable) = &self.addresses {
            usable.place(pages);
        }
    }

    /// Puts another stack in the place of this one, which is as large.
    pub(crate) fn set_stack(&mut self, stack: Box<dyn Living>) {
        self.device = Below::Stack(stack);
    }

    /// What it stands on.
    pub(crate) fn living(&self) -> &dyn Living {
        self.device.living()
    }

    /// The same, to be changed.
    pub(crate) fn living_mut(&mut self) -> &mut dyn Living {
        self.device.living_mut()
    }

    /// Why it takes no more writes.
    pub(crate) fn end_of_life(&self) -> Option<EndCause> {
        match (&self.device, self.space(), self.files()) {
            (Below::Bare(drive), ..) => drive.end_of_life().map(end_cause),
            (_, Some(space), _) => space.drive().end_of_life().map(|cause| space.cause(cause)),
            (_, _, Some(files)) => files.cause(),
            (Below::Stack(stack), ..) => stack.end_of_life().map(end_cause),
        }
    }

    /// Logical units of the device when it was new.
    pub(crate) const fn logical_units(&self) -> u32 {
        self.when_new
    }

    /// Units that its workload addresses, when the device was new.
    pub(crate) fn addresses(&self) -> u32 {
        self.files().map_or_else(|| self.logical_units(), Files::blocks)
    }

    /// Share of its rated erases that is used, if it has a rating; of several drives, the largest.
    pub(crate) fn life_used(&self) -> Option<f64> {
        match &self.device {
            Below::Bare(drive) => drive.life_used(),
            // Health also counts the erases of all blocks, which takes as long as a batch.
            Below::Stack(stack) => {
                let drives = all_of::<Drive>(stack.as_ref()).into_iter().filter(|drive| !drive.is_off());
                drives.filter_map(Drive::life_used).reduce(f64::max)
            }
        }
    }

    /// The array, if it stands on one; otherwise what it stands on.
    pub(crate) fn array(&mut self) -> &mut dyn Living {
        self.device.array()
    }

    /// The device.
    pub(crate) fn device(&mut self) -> &mut Below {
        &mut self.device
    }

    /// The one drive, to be changed.
    ///
    /// # Panics
    /// It stands on an array.
    pub(crate) fn drive_mut(&mut self) -> &mut Drive {
        self.device.one_drive().expect("the host of one drive")
    }

    /// Returns the drive and drops the rest.
    pub(crate) fn into_drive(self) -> Drive {
        self.device.into_drive()
    }

    fn space(&self) -> Option<&Space> {
        self.device.layer()
    }

    /// Pages that its map may still take into use; `None` without a map.
    pub(crate) fn room(&self) -> Option<u32> {
        self.space().map(|space| space.map().room())
    }

    /// Whether it stands on one drive whose addresses it uses as they are.
    pub(crate) const fn is_bare(&self) -> bool {
        matches!(self.device, Below::Bare(_))
    }

    /// Why a drive died, as results name it.
    pub(crate) fn cause(&self, cause: EndOfLife) -> EndCause {
        let of_files = self.files().and_then(Files::cause);
        self.space().map_or(of_files.unwrap_or(end_cause(cause)), |space| space.cause(cause))
    }

    /// The drive's unit of a page of the host; `None` if its space was given up.
    pub(crate) fn unit_of(&self, page: u32) -> Option<u32> {
        self.space().map_or(Some(page), |space| space.slot(page))
    }

    /// Sectors that the last batch of reads found lost.
    pub(crate) fn unread(&self) -> &[SectorRange] {
        &self.unread
    }

    /// Sectors of a unit.
    pub(crate) const fn unit(&self) -> Sectors {
        self.unit
    }

    /// Says that these pages will soon be asked for.
    pub(crate) fn prefetch(&self, pages: &[u32]) {
        /// More map entries would push each other out of the cache.
        const ASKED_AT_ONCE: usize = 32;
        for page in pages.iter().take(ASKED_AT_ONCE) {
            self.device.prefetch(Lba(u64::from(*page) * self.unit.0));
        }
    }

    /// Hands the device some pages of a batch. Returns how many of them are done.
    #[inline]
    fn ask(&mut self, work: Work, batch: &Batch, places: Range<usize>) -> (usize, Stop) {
        if self.joins && batch.has_long_requests() {
            return self.ask_joined(work, batch.pieces(places));
        }
        self.tell(work, &batch.pages[places], Tally::default())
    }

    /// The same of pieces of pages, each of a request.
    fn ask_joined<'a>(&mut self, work: Work, pieces: impl Iterator<Item = &'a [u32]>) -> (usize, Stop) {
        self.extents.clear();
        for piece in pieces {
            let mut rest = piece;
            while let [first, ..] = rest {
                let follows = |(page, place): &(&u32, u32)| **page == *place;
                let count = rest.iter().zip(*first..).take_while(follows).count();
                let start = Lba(u64::from(*first) * self.unit.0);
                self.extents.push(SectorRange::new(start, Sectors(count as u64 * self.unit.0)));
                rest = &rest[count..];
            }
        }
        let took = self.device.take(&Asked::new(work, &self.extents));
        assert!(took.stop != Stop::OutOfRange, "the workload asks for what the array exports");
        ((took.done.0 / self.unit.0) as usize, took.stop)
    }

    /// Hands the device a batch of whole units, each for itself. Returns how many of them are done.
    #[inline]
    fn tell(&mut self, work: Work, pages: &[u32], tally: Tally) -> (usize, Stop) {
        ask(&mut self.device, &mut self.extents, self.unit, work, pages, tally)
    }

    /// Serves a batch. A write is served from the page `done` on, as far as `units` reach.
    #[inline(always)]
    pub(crate) fn serve(
        &mut self,
        batch: &mut Batch,
        done: &mut usize,
        units: &mut u64,
        stop: &AtomicBool,
    ) -> Result<(), Halt> {
        if let Addresses::Wrapping = self.addresses {
            let exported = self.files().map_or_else(|| self.exported(), Files::blocks);
            if exported == 0 {
                return Ok(());
            }
            batch.pages.iter_mut().for_each(|page| *page %= exported);
        }
        match batch.op {
            Op::Read => {
                let bytes_around = if batch.parts.is_empty() { 0 } else { batch.bytes_around() };
                let tally = Tally { bytes_around, ..Tally::default() };
                self.unread =
                    asked(&mut self.device, &mut self.extents, self.unit, Work::Read, &batch.pages, tally).unread;
            }
            Op::Write if batch.parts.is_empty() => self.write(batch, done, units, stop)?,
            Op::Write => self.write_parts(batch, done, units, stop)?,
            Op::Trim => {
                self.ask(Work::Trim, batch, 0..batch.pages.len());
            }
            Op::Flush => {
                let (_, stopped) = self.tell(Work::Flush, &[], Tally::default());
                self.settle(stopped, stop)?;
            }
        }
        Ok(())
    }

    #[inline(never)]
    fn write(&mut self, batch: &Batch, done: &mut usize, units: &mut u64, stop: &AtomicBool) -> Result<(), Halt> {
        let pages = batch.pages.len();
        while *done < pages {
            if *units == 0 {
                return Err(Halt::Spent);
            }
            let most = usize::try_from(*units).unwrap_or(usize::MAX).min(SLICE_PAGES);
            let mut end = pages.min(*done + most);
            if self.joins && batch.has_long_requests() && end < pages {
                end = batch.end_of_request(end - 1);
            }
            let (written, stopped) = self.ask(Work::Rewrite, batch, *done..end);
            debug_assert!(written > 0 || stopped != Stop::Done, "a turn writes a page or tells why not");
            *done += written;
            *units = units.saturating_sub(written as u64);
            self.settle(stopped, stop)?;
            if *done < pages && stop.load(Ordering::Relaxed) {
                return Err(Ended::Interrupted.into());
            }
        }
        Ok(())
    }

    /// Serves a write of which some pages are written in part. The drive reads what they held first.
    #[inline(never)]
    fn write_parts(&mut self, batch: &Batch, done: &mut usize, units: &mut u64, stop: &AtomicBool) -> Result<(), Halt> {
        let parts = batch.parts_present();
        if *done == 0 && *units > 0 {
            let pages: Vec<u32> = parts.iter().map(|part| batch.pages[part.index as usize]).collect();
            self.tell(Work::ReadToModify, &pages, Tally::default());
        }
        let from = *done;
        let served = self.write(batch, done, units, stop);
        let written = parts.iter().filter(|part| (from..*done).contains(&(part.index as usize)));
        let (units_in_part, bytes_around) =
            written.fold((0, 0), |(units, sum), part| (units + 1, sum + u64::from(part.around)));
        self.tell(Work::Rewrite, &[], Tally { units_in_part, bytes_around, ..Tally::default() });
        served
    }

    /// Writes pages without noting them as in use, and gives nothing back. Those that are `in_order` come to an array as one request.
    pub(crate) fn write_unmarked(&mut self, pages: &[u32], in_order: bool, stop: &AtomicBool) -> Result<(), Ended> {
        let mut done = 0;
        while done < pages.len() {
            let (rest, tally) = (&pages[done..], Tally::default());
            let (written, mut stopped) = match self.device.layer_mut::<Space>() {
                // Its map learns nothing of it.
                Some(space) => ask(space.drive_mut(), &mut self.extents, self.unit, Work::Rewrite, rest, tally),
                None if self.joins && in_order => self.ask_joined(Work::Rewrite, [rest].into_iter()),
                None => self.tell(Work::Rewrite, rest, tally),
            };
            done += written;
            while stopped != Stop::Done {
                stopped = match stopped {
                    // A drive that wears out now has no host yet that would give space back.
                    Stop::Wants(_) | Stop::Paused => {
                        if stopped == Stop::Paused {
                            self.pause(stop)?;
                        }
                        match self.device.layer_mut::<Space>() {
                            Some(space) => {
                                let drive = space.drive_mut();
                                Living::go_on(drive, Living::now(drive), stopped)
                            }
                            None => self.device.go_on(stopped),
                        }
                    }
                    _ => self.go_on_unless(stopped, stop)?,
                };
            }
        }
        Ok(())
    }

    fn go_on(&mut self, after: Stop) -> Stop {
        self.device.go_on(after)
    }

    /// Goes on after a pause, unless the run is to end. A drive that is dead ends it.
    fn go_on_unless(&mut self, stopped: Stop, stop: &AtomicBool) -> Result<Stop, Ended> {
        match stopped {
            Stop::Dead(cause) => Err(Ended::Died(self.cause(cause))),
            Stop::Done => Ok(Stop::Done),
            Stop::Paused => {
                self.pause(stop)?;
                Ok(self.go_on(stopped))
            }
            Stop::Wants(_) | Stop::OutOfRange | Stop::Gone => {
                unreachable!("a run asks a device that has power for what it exports, and answers it: {stopped:?}")
            }
        }
    }

    /// Passes on the device's work so far, so that operations do not pile up, and checks whether the run should stop.
    fn pause(&mut self, stop: &AtomicBool) -> Result<(), Ended> {
        self.device.close_own();
        if stop.load(Ordering::Relaxed) { Err(Ended::Interrupted) } else { Ok(()) }
    }

    /// Lets the device finish its work, and answers what it asks meanwhile.
    pub(crate) fn settle(&mut self, mut stopped: Stop, stop: &AtomicBool) -> Result<(), Ended> {
        if stopped == Stop::Done {
            return Ok(());
        }
        if let (Stop::Wants(_), Some(space)) = (stopped, self.device.layer_mut::<Space>()) {
            stopped = space.settle(stopped);
        }
        while stopped != Stop::Done {
            stopped = match stopped {
                // A look gives nothing back, so it is over.
                Stop::Wants(_) => return Err(Ended::Died(EndCause::FootprintDoesNotFit)),
                stopped => self.go_on_unless(stopped, stop)?,
            };
        }
        Ok(())
    }

    /// Lets the device make a step of its own work, if one is due.
    pub(crate) fn work(&mut self, stop: &AtomicBool) -> Result<(), Ended> {
        let Some(stopped) = self.device.work() else { return Ok(()) };
        let settled = self.settle(stopped, stop);
        self.device.close_own();
        settled
    }

    /// Takes the pages out of a trim that were written with bytes, if `spares`. Returns how many there are.
    pub(crate) fn pages_with_bytes(&self, pages: &mut Vec<u32>, spares: bool) -> u64 {
        let drive = self.drive();
        if !drive.keeps_bytes() {
            return 0;
        }
        let holds_bytes = |page: u32| match (&self.device, self.space()) {
            (Below::Bare(drive), _) => drive.holds_bytes(Lpn(page)),
            (_, Some(space)) => space.slot(page).is_some_and(|slot| drive.holds_bytes(Lpn(slot))),
            (Below::Stack(stack), None) => {
                let mut told = Vec::new();
                all_extents(stack, SectorRange::new(Lba(u64::from(page) * self.unit.0), self.unit), &mut told);
                told.iter().any(|extent| extent.state == ExtentState::Data)
            }
        };
        let mut found = 0;
        pages.retain(|page| {
            let is_written = holds_bytes(*page);
            found += u64::from(is_written);
            !is_written || !spares
        });
        found
    }

    /// Archives the drive and what its host knows of its space: writes them to a file, or reads them back.
    pub(crate) fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        let Some(space) = self.device.layer_mut::<Space>() else {
            self.device.archive(archive)?;
            // A workload is at its place for as long as it ages the device.
            let kind = if matches!(self.addresses, Addresses::Wrapping) { 2u8 } else { 0 };
            return archive.same("host", &kind);
        };
        Living::archive(space.drive_mut(), archive)?;
        // A host at rest is as it was before requests could be under way.
        let mut is_under_way = space.is_under_way();
        let mut kind = if is_under_way { 3u8 } else { 1 };
        archive.field("host", &mut kind)?;
        match kind {
            1 => is_under_way = false,
            3 => is_under_way = true,
            other => {
                let (found, wanted) = (other.to_string(), "1 or 3".to_owned());
                return Err(ArchiveError::AnotherDrive { name: "host".to_owned(), found, wanted });
            }
        }
        space.archive_map(archive)?;
        if is_under_way { space.archive_under_way(archive) } else { Ok(()) }
    }
}

impl Recorded for Host {
    fn predicted_units(&self) -> u64 {
        self.device.only().map_or(self.predicted.0, |drive| drive.predicted().host_units)
    }

    #[inline]
    fn drive(&self) -> &Drive {
        self.device.drive()
    }

    fn only(&self) -> Option<&Drive> {
        self.device.only()
    }

    fn drives(&self) -> Vec<&Drive> {
        all_of(self.living()).into_iter().filter(|drive: &&Drive| !drive.is_off()).collect()
    }

    fn when_new(&self) -> u32 {
        self.when_new
    }

    /// To a drive what a file system moves is one more write of its host.
    #[inline]
    fn counters(&self) -> Counters {
        *self.device.counters()
    }

    #[inline]
    fn unit_bytes(&self) -> u64 {
        self.unit.0 * Sectors::SIZE.0
    }

    fn exported(&self) -> u32 {
        match (&self.device, self.space(), self.files()) {
            (Below::Bare(drive), ..) => drive.exported(),
            (_, Some(space), _) => space.map().exported(),
            (_, _, Some(files)) => files.exported(),
            (Below::Stack(stack), ..) => (stack.capacity().0 / self.unit.0) as u32,
        }
    }

    fn trimmed(&self) -> u64 {
        self.space().map_or(0, |space| space.map().trimmed())
    }
}

/// What a host hands batches to.
trait Asks {
    fn take(&mut self, batch: &Asked<'_>) -> Took;

    /// The drive alone, which takes pages as units of its own.
    fn bare(&mut self) -> Option<&mut Drive>;
}

impl Asks for Below {
    #[inline]
    fn bare(&mut self) -> Option<&mut Drive> {
        match self {
            Self::Bare(drive) => Some(drive),
            Self::Stack(_) => None,
        }
    }

    #[inline]
    fn take(&mut self, batch: &Asked<'_>) -> Took {
        self.batch(batch)
    }
}

impl Asks for Drive {
    #[inline]
    fn bare(&mut self) -> Option<&mut Drive> {
        Some(self)
    }

    #[inline]
    fn take(&mut self, batch: &Asked<'_>) -> Took {
        let now = Living::now(self);
        Living::batch(self, now, batch)
    }
}

/// Hands a device a batch of whole units, listed in `extents`. Returns how many of them are done.
#[inline]
fn ask(
    device: &mut impl Asks,
    extents: &mut Vec<SectorRange>,
    unit: Sectors,
    work: Work,
    pages: &[u32],
    tally: Tally,
) -> (usize, Stop) {
    let took = asked(device, extents, unit, work, pages, tally);
    // Nearly every batch is done whole, and a division takes as long as a page.
    let done = if took.stop == Stop::Done { pages.len() } else { (took.done.0 / unit.0) as usize };
    (done, took.stop)
}

/// The same. Returns all that the device says.
#[inline]
fn asked(
    device: &mut impl Asks,
    extents: &mut Vec<SectorRange>,
    unit: Sectors,
    work: Work,
    pages: &[u32],
    tally: Tally,
) -> Took {
    let took = if let Some(drive) = device.bare() {
        let now = Living::now(drive);
        drive.batch_of_units(now, work, Lpn::slice(pages), tally)
    } else {
        extents.clear();
        extents.extend(pages.iter().map(|page| SectorRange::new(Lba(u64::from(*page) * unit.0), unit)));
        device.take(&Asked::new(work, extents).with(tally))
    };
    assert!(took.stop != Stop::OutOfRange, "the workload asks for what the drive exports");
    took
}

/// Why a drive died, as results name it.
pub(crate) fn end_cause(cause: EndOfLife) -> EndCause {
    match cause {
        EndOfLife::SpareExhausted => EndCause::SpareExhausted,
        EndOfLife::NoFreeBlock => EndCause::NoFreeBlock,
        EndOfLife::NoVictim => EndCause::NoVictim,
    }
}
