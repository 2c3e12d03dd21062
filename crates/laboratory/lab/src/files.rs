//! A log-structured file system on a device, whose files a workload writes: the addresses of the workload lie in its files, one after the other. What
//! the device asks for, the file system gives back.
//!
//! No contents exist: the structures of the file system are in memory, and the device is told what is read and written.

use std::any::Any;

use wane_archive::{Archive, ArchiveError};
use wane_blockdev::{
    Batch, BlockDevice, Blocking, Completion, CompletionQueue, Features, Kind, Living, Passing, PowerError, Recovered,
    Request, RequestId, Resize, SectorRange, Status, Stop, Timed, Took, Unsupported, Work, all_of,
};
use wane_fs::{
    Allocate, Attended, Counted, Direct, FileKind, FsError, Moment, MountConfig, NewFile, ROOT, Volume, Way, format,
};
use wane_raid::redundant_of;
use wane_results::{Counters, EndCause, FileSystem};
use wane_scenario::FileSystemSpec;
use wane_ssd::Drive;
use wane_units::{Bytes, EndOfLife, Fate, Lba, Sectors, SimTime};

use crate::queued::Queued;

/// Blocks that a step towards a target moves about.
const STEP: u64 = 64;
/// Blocks that the workload writes between two looks at what the device wants.
const BLOCKS_PER_LOOK: u32 = 64;
/// All happens at one moment: a life without time.
const NOW: Moment = Moment { seconds: 0, nanos: 0 };

/// What programs did with the files.
#[derive(Clone, Copy, Default)]
struct Used {
    written: u64,
    read: u64,
    lost: u64,
    /// Units that the device's host had written, and units that flash had programmed.
    at_drive: u64,
    programmed: u64,
    counted: Counted,
}

/// See the head of this file.
#[derive(Clone)]
pub(crate) struct Files {
    volume: Volume<Direct<Box<dyn Living>>>,
    files: Vec<u32>,
    /// Blocks of a file.
    each: u32,
    /// Blocks of all files.
    blocks: u32,
    unit: Sectors,
    way: Way,
    size_at_start: Bytes,
    used: Used,
    /// The same when counting began.
    before: Used,
    since_look: u32,
    is_degraded: bool,
    /// Why it takes no more writes.
    cause: Option<EndCause>,
    /// What its host counts.
    counted: Counters,
    next_id: u64,
    ended: CompletionQueue,
}

impl Files {
    /// Makes an empty file system on a new device.
    ///
    /// # Errors
    /// The device does not take it: one sentence.
    pub(crate) fn new(device: Box<dyn Living>, spec: &FileSystemSpec) -> Result<Self, String> {
        let unit = Sectors(spec.device.unit.0 / Sectors::SIZE.0);
        let now = device.now();
        let port = Direct::hollow(Blocking::starting_at(device, now), spec.device.unit.0 as usize);
        let port = format(port, &spec.format(), NOW, (0, 0)).map_err(|why| why.to_string())?;
        let mut volume = Volume::mount(port, &Self::mounted()).map_err(|why| why.to_string())?;
        let new = NewFile { kind: FileKind::File, permissions: 0o644, uid: 0, gid: 0, rdev: 0 };
        let make = |number: u32| volume.make(ROOT, format!("{number}").as_bytes(), &new, NOW).map(|made| made.ino);
        let files = (0..spec.settings.files).map(make).collect::<Result<Vec<u32>, FsError>>();
        let files = files.map_err(|why| why.to_string())?;
        let blocks = spec.device.logical_units;
        let mut made = Self {
            size_at_start: Bytes(volume.size()),
            volume,
            each: blocks.div_ceil(files.len() as u32),
            files,
            blocks,
            unit,
            way: spec.settings.way,
            used: Used::default(),
            before: Used::default(),
            since_look: 0,
            is_degraded: false,
            cause: None,
            counted: Counters::default(),
            next_id: 0,
            ended: CompletionQueue::new(),
        };
        made.count();
        Ok(made)
    }

    fn mounted() -> MountConfig {
        MountConfig { cache_blocks: 0, ..MountConfig::new(1) }
    }

    /// The device on which it stands.
    pub(crate) fn below(&self) -> &dyn Living {
        self.volume.port().device().device().as_ref()
    }

    /// The same, to be changed.
    pub(crate) fn below_mut(&mut self) -> &mut dyn Living {
        self.volume.port_mut().device_mut().device_mut().as_mut()
    }

    /// Addresses of the workload: blocks of all files.
    pub(crate) const fn blocks(&self) -> u32 {
        self.blocks
    }

    /// Units of the device that the file system may use now.
    pub(crate) fn exported(&self) -> u32 {
        let (own, below) =
            (self.volume.size() / (self.unit.0 * Sectors::SIZE.0), self.below().capacity().0 / self.unit.0);
        u32::try_from(own.min(below)).unwrap_or(u32::MAX)
    }

    /// Why it takes no more writes.
    pub(crate) const fn cause(&self) -> Option<EndCause> {
        self.cause
    }

    /// Takes note of what the device counted. What the file system moved is to the device what it is: writes of its host.
    fn count(&mut self) {
        let counters = *self.below().counters();
        let moved = counters.programmed_file_system;
        // An array of copies or parities counts what comes to it, whatever it is for; others count what their members do.
        let below: &dyn Any = self.below();
        let array = below.downcast_ref::<Queued>().map_or(self.below(), Queued::below);
        let own = if redundant_of(array).is_some() { 0 } else { moved };
        self.counted = Counters {
            host_units_written: counters.host_units_written + own,
            programmed_host: counters.programmed_host + moved,
            programmed_file_system: 0,
            ..counters
        };
    }

    fn used_now(&self) -> Used {
        let counters = self.counted;
        let (at_drive, programmed) = (counters.host_units_written, counters.programmed_total());
        Used { at_drive, programmed, counted: self.volume.counted(), ..self.used }
    }

    /// Counts from now on.
    pub(crate) fn start(&mut self) {
        self.before = self.used_now();
        self.size_at_start = Bytes(self.volume.size());
    }

    /// What it did since counting began.
    pub(crate) fn told(&self) -> FileSystem {
        let (now, before, unit) = (self.used_now(), self.before, self.unit.0 * Sectors::SIZE.0);
        let written = now.written - before.written;
        let per_written = |units: u64| (written > 0).then(|| units as f64 / written as f64);
        let (at_drive, data) = (now.at_drive - before.at_drive, now.counted.data - before.counted.data);
        let copied = now.counted.copied - before.counted.copied;
        FileSystem {
            way: self.way.name().to_owned(),
            bytes_written: written * unit,
            bytes_read: (now.read - before.read) * unit,
            bytes_written_back: Some(data * unit),
            write_amplification: per_written(at_drive),
            write_amplification_of_flash: per_written(now.programmed - before.programmed),
            bytes_moved: copied * unit,
            bytes_of_structures: Some(at_drive.saturating_sub(data + copied) * unit),
            bytes_remapped: (now.counted.remapped - before.counted.remapped) * unit,
            checkpoints: now.counted.checkpoints - before.counted.checkpoints,
            size_at_start: self.size_at_start.0,
            size_at_end: self.volume.size(),
            blocks_lost: now.lost - before.lost,
            is_degraded: self.is_degraded,
        }
    }

    /// Parts of files that sectors of the workload are, in order, with the places of the files.
    fn parts(&self, extent: SectorRange) -> Vec<(usize, std::ops::Range<u32>)> {
        let end = (extent.start.0 + extent.count.0).div_ceil(self.unit.0);
        let (mut at, end) = ((extent.start.0 / self.unit.0) as u32, end.min(u64::from(self.blocks)) as u32);
        let mut parts = Vec::new();
        while at < end {
            let (file, first) = (at / self.each, at % self.each);
            let count = (self.each - first).min(end - at);
            parts.push((file as usize, first..first + count));
            at += count;
        }
        parts
    }

    /// Carries out a batch of the workload.
    fn carry_out(&mut self, batch: &Batch<'_>) -> Took {
        let (mut done, mut unread) = (Sectors::ZERO, Vec::new());
        let mut stop = Stop::Done;
        for extent in batch.extents {
            let did = match batch.work {
                Work::Write | Work::Rewrite => self.write(*extent, &mut done),
                Work::Read | Work::ReadToModify => {
                    done += extent.count;
                    self.read(batch.work, *extent, &mut unread)
                }
                Work::Trim => {
                    done += extent.count;
                    self.trim(*extent)
                }
                Work::Flush => Ok(()),
            };
            if let Err(error) = did {
                stop = self.stopped(error);
                break;
            }
        }
        if batch.work == Work::Flush
            && let Err(error) = self.volume.sync()
        {
            stop = self.stopped(error);
        }
        Took { done, stop, unread }
    }

    /// Writes a part of its files. Without time, blocks wait in memory for the next checkpoint; where time is kept, a request is a direct one, which is
    /// done when its blocks are written.
    fn write(&mut self, extent: SectorRange, done: &mut Sectors) -> Result<(), FsError> {
        let is_direct = self.timed().is_some();
        for (file, blocks) in self.parts(extent) {
            let mut at = blocks.start;
            while at < blocks.end {
                let to = blocks.end.min(at + (BLOCKS_PER_LOOK - self.since_look));
                let wrote = self.volume.overwrite(self.files[file], at..to, NOW)?;
                self.used.written += u64::from(wrote);
                *done += Sectors(u64::from(wrote) * self.unit.0);
                self.since_look += wrote;
                at += wrote;
                if self.since_look >= BLOCKS_PER_LOOK {
                    self.since_look = 0;
                    self.attend()?;
                }
            }
            if is_direct {
                self.volume.write_through(self.files[file])?;
            }
        }
        Ok(())
    }

    fn read(&mut self, work: Work, extent: SectorRange, unread: &mut Vec<SectorRange>) -> Result<(), FsError> {
        for (file, blocks) in self.parts(extent) {
            if work == Work::Read {
                self.used.read += u64::from(blocks.end - blocks.start);
            }
            let lost = self.volume.read_blocks(self.files[file], blocks)?;
            self.used.lost += lost.len() as u64;
            let first = file as u64 * u64::from(self.each);
            let sectors = |block: &u32| SectorRange::new(Lba((first + u64::from(*block)) * self.unit.0), self.unit);
            unread.extend(lost.iter().map(sectors));
        }
        Ok(())
    }

    fn trim(&mut self, extent: SectorRange) -> Result<(), FsError> {
        let unit = self.unit.0 * Sectors::SIZE.0;
        for (file, blocks) in self.parts(extent) {
            let (from, bytes) = (u64::from(blocks.start) * unit, u64::from(blocks.end - blocks.start) * unit);
            self.volume.allocate(self.files[file], from, bytes, Allocate::PunchHole, NOW)?;
        }
        Ok(())
    }

    /// Answers what the device wants.
    fn attend(&mut self) -> Result<(), FsError> {
        let attended = self.volume.attend(self.way, STEP)?;
        self.is_degraded |= matches!(attended, Attended::Degraded { .. });
        Ok(())
    }

    /// It takes no more: what became of it.
    fn stopped(&mut self, error: FsError) -> Stop {
        let ended = match &all_of::<Drive>(self.below())[..] {
            // One that is full for good is dead to its only host.
            [drive] => drive.end_of_life(),
            _ => self.below().end_of_life(),
        };
        self.cause = Some(match (error, ended) {
            (_, Some(cause)) if self.volume.size() == self.size_at_start.0 => crate::host::end_cause(cause),
            _ => EndCause::FootprintDoesNotFit,
        });
        Stop::Dead(ended.unwrap_or(EndOfLife::NoFreeBlock))
    }

    /// Carries out a request. Returns how it ended.
    fn perform(&mut self, at: SimTime, kind: Kind, range: SectorRange) -> Status {
        let work = match kind {
            Kind::Read => Work::Read,
            Kind::Write | Kind::WriteZeroes => Work::Write,
            Kind::Trim => Work::Trim,
            Kind::Flush => Work::Flush,
            Kind::Remap => return Status::Unsupported(Unsupported::Kind),
        };
        let extents = if range.is_empty() { Vec::new() } else { vec![range] };
        match self.batch(at, &Batch::new(work, &extents)) {
            Took { stop: Stop::Done, unread, .. } if unread.is_empty() => Status::Done,
            Took { stop: Stop::Done, unread, .. } => Status::MediumError(unread),
            Took { done, .. } => Status::NoSpace(vec![range.without_first(done.min(range.count))]),
        }
    }
}

/// Its sectors are those of its files. Requests are carried out when they come, without contents.
impl BlockDevice for Files {
    fn features(&self) -> Features {
        Features {
            sector: self.unit.min(Sectors(8)),
            atomic_unit: self.unit,
            keeps_bytes: false,
            trim_reads_zeros: true,
            fua: false,
            remap: false,
            resize: Resize::Fixed,
            mapped_limit: false,
        }
    }

    fn capacity(&self) -> Sectors {
        Sectors(u64::from(self.blocks) * self.unit.0)
    }

    fn submit(&mut self, at: SimTime, request: Request) -> RequestId {
        let id = RequestId(self.next_id);
        self.next_id += 1;
        let Request { kind, range, .. } = request;
        let refused = request.check(&self.features(), self.capacity()).err();
        let gone = || Status::all_gone(range);
        let told = refused.or_else(|| self.below().is_off().then(gone));
        let status = told.unwrap_or_else(|| self.perform(at, kind, range));
        let at = at.max(self.now());
        self.ended.push(Completion { id, submitted_at: at, at, kind, range, status, bytes: None });
        id
    }

    fn next_event_at(&self) -> Option<SimTime> {
        self.ended.next_at()
    }

    fn complete(&mut self, until: SimTime, out: &mut Vec<Completion>) {
        let mut own = Vec::new();
        self.below_mut().complete(until, &mut own);
        debug_assert!(own.is_empty(), "the file system waits for each of its requests");
        self.ended.pop_until(until, out);
    }
}

impl Living for Files {
    fn now(&self) -> SimTime {
        self.below().now()
    }

    fn batch(&mut self, _at: SimTime, batch: &Batch<'_>) -> Took {
        let mut took = self.carry_out(batch);
        if self.timed().is_some()
            && let Err(fault) = self.volume.port_mut().settle()
        {
            took.stop = self.stopped(fault.into());
        }
        self.count();
        took
    }

    fn go_on(&mut self, at: SimTime, after: Stop) -> Stop {
        let stop = self.below_mut().go_on(at, after);
        self.count();
        stop
    }

    fn work(&mut self, at: SimTime) -> Option<Stop> {
        let stop = self.below_mut().work(at);
        self.count();
        stop
    }

    fn pass(&mut self, at: SimTime, time: Passing) -> SimTime {
        let end = self.below_mut().pass(at, time);
        self.count();
        end
    }

    fn counters(&self) -> &Counters {
        &self.counted
    }

    fn members<'a>(&'a self, each: &mut dyn FnMut(&'a dyn Living)) {
        each(self.below());
    }

    fn members_mut(&mut self, each: &mut dyn FnMut(&mut dyn Living)) {
        each(self.below_mut());
        self.count();
    }

    fn end_of_life(&self) -> Option<EndOfLife> {
        self.cause.map(|_| self.below().end_of_life().unwrap_or(EndOfLife::NoFreeBlock))
    }

    fn timed(&mut self) -> Option<&mut dyn Timed> {
        self.below_mut().timed()
    }

    fn power_off(&mut self, at: SimTime, fate: &mut dyn FnMut() -> Fate) {
        self.below_mut().power_off(at, fate);
    }

    /// It is mounted again, from the structures that were written.
    fn power_on(&mut self, at: SimTime) -> Result<Recovered, PowerError> {
        let recovered = self.below_mut().power_on(at)?;
        let port = self.volume.port().clone();
        self.volume = Volume::mount(port, &Self::mounted()).map_err(|why| PowerError::Lost(why.to_string()))?;
        self.count();
        Ok(recovered)
    }

    fn another(&self) -> Box<dyn Living> {
        Box::new(self.clone())
    }

    fn archive(&mut self, _archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        Err(ArchiveError::Unsaved("the file system of a run is not kept".to_owned()))
    }
}
