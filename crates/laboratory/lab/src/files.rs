//! A log-structured file system on a drive, whose files a workload writes: the addresses of the workload lie in its files, one after the other. What
//! the drive asks for, the file system gives back.
//!
//! No contents exist: the structures of the file system are in memory, and the drive is told what is read and written.

use wane_blockdev::{Batch, Blocking, Living, SectorRange, Stop, Took, Work};
use wane_fs::{
    Allocate, Attended, Counted, Direct, FileKind, FsError, Moment, MountConfig, NewFile, ROOT, Volume, Way, format,
};
use wane_results::{Counters, EndCause, FileSystem};
use wane_scenario::FileSystemSpec;
use wane_ssd::Drive;
use wane_units::{Bytes, EndOfLife, Lba, Sectors};

/// Blocks that a step towards a target moves about.
const STEP: u64 = 64;
/// Blocks that the workload writes between two looks at what the drive wants.
const BLOCKS_PER_LOOK: u32 = 64;
/// All happens at one moment: a life without time.
const NOW: Moment = Moment { seconds: 0, nanos: 0 };

/// What programs did with the files.
#[derive(Clone, Copy, Default)]
struct Used {
    written: u64,
    read: u64,
    lost: u64,
    /// Units that the drive's host had written, and units that its flash had programmed.
    at_drive: u64,
    programmed: u64,
    counted: Counted,
}

/// See the head of this file.
#[derive(Clone)]
pub struct Files {
    volume: Volume<Direct<Drive>>,
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
}

impl Files {
    /// Makes an empty file system on a new drive.
    ///
    /// # Errors
    /// The drive does not take it: one sentence.
    pub(crate) fn new(drive: Drive, spec: &FileSystemSpec) -> Result<Self, String> {
        let unit = Sectors(spec.device.unit.0 / Sectors::SIZE.0);
        let now = Living::now(&drive);
        let port = Direct::hollow(Blocking::starting_at(drive, now), spec.device.unit.0 as usize);
        let port = format(port, &spec.format(), NOW, (0, 0)).map_err(|why| why.to_string())?;
        let mount = MountConfig { cache_blocks: 0, ..MountConfig::new(1) };
        let mut volume = Volume::mount(port, &mount).map_err(|why| why.to_string())?;
        let new = NewFile { kind: FileKind::File, permissions: 0o644, uid: 0, gid: 0, rdev: 0 };
        let make = |number: u32| volume.make(ROOT, format!("{number}").as_bytes(), &new, NOW).map(|made| made.ino);
        let files = (0..spec.settings.files).map(make).collect::<Result<Vec<u32>, FsError>>();
        let files = files.map_err(|why| why.to_string())?;
        let blocks = spec.device.logical_units;
        Ok(Self {
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
        })
    }

    pub(crate) fn drive(&self) -> &Drive {
        self.volume.port().device().device()
    }

    pub(crate) fn drive_mut(&mut self) -> &mut Drive {
        self.volume.port_mut().device_mut().device_mut()
    }

    pub(crate) fn into_drive(self) -> Drive {
        self.volume.into_port().into_inner().into_inner()
    }

    /// Addresses of the workload: blocks of all files.
    pub(crate) const fn blocks(&self) -> u32 {
        self.blocks
    }

    /// Units of the drive that the file system may use now.
    pub(crate) fn exported(&self) -> u32 {
        let units = self.volume.size() / (self.unit.0 * Sectors::SIZE.0);
        u32::try_from(units).unwrap_or(u32::MAX).min(self.drive().exported())
    }

    /// Why it takes no more writes.
    pub(crate) const fn cause(&self) -> Option<EndCause> {
        self.cause
    }

    /// The drive's counters, with what the file system moved as what it is to the drive: writes of its host.
    pub(crate) fn counters(&self) -> Counters {
        let counters = *self.drive().counters();
        let moved = counters.programmed_file_system;
        Counters {
            host_units_written: counters.host_units_written + moved,
            programmed_host: counters.programmed_host + moved,
            programmed_file_system: 0,
            ..counters
        }
    }

    fn used_now(&self) -> Used {
        let counters = self.counters();
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
    pub(crate) fn batch(&mut self, batch: &Batch<'_>) -> Took {
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

    fn write(&mut self, extent: SectorRange, done: &mut Sectors) -> Result<(), FsError> {
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

    /// Answers what the drive wants.
    fn attend(&mut self) -> Result<(), FsError> {
        let attended = self.volume.attend(self.way, STEP)?;
        self.is_degraded |= matches!(attended, Attended::Degraded { .. });
        Ok(())
    }

    /// It takes no more: what became of it.
    fn stopped(&mut self, error: FsError) -> Stop {
        let ended = self.drive().end_of_life();
        self.cause = Some(match (error, ended) {
            (_, Some(cause)) if self.volume.size() == self.size_at_start.0 => crate::host::end_cause(cause),
            _ => EndCause::FootprintDoesNotFit,
        });
        Stop::Dead(ended.unwrap_or(EndOfLife::NoFreeBlock))
    }
}
