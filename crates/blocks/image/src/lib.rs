//! A file or a block device of the operating system, as a block device.
//!
//! [`Image`] is what a command opens when a user names a file or a device. It takes no modelled time: the real device takes its own, and each
//! request is done when its call returns. Nobody else writes it meanwhile: it is locked, so that two commands that open one image do not
//! destroy it. [`Remote`] is a device that a server has.

#![cfg(unix)]

#[cfg(target_os = "linux")]
mod remote;

#[cfg(target_os = "linux")]
pub use remote::{Remote, RemoteError};

use std::collections::VecDeque;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{FileExt, FileTypeExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{FallocateFlags, SeekFrom};
use wane_blockdev::{
    BlockDevice, Completion, Extent, ExtentState, Features, Kind, Notice, NoticeKind, Request, RequestId, Resize,
    SectorRange, Status, check_capacity,
};
use wane_units::{Lba, Sectors, SimTime};

/// What an image is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// To look at it. Others may look at it too.
    Read,
    /// To change it. Nobody else has it open.
    Write,
}

/// Why an image cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImageError {
    /// Somebody else has it.
    #[error("is in use: it is mounted, or another command has it open")]
    Busy,
    /// It is neither a file nor a block device.
    #[error("is neither a plain file nor a block device")]
    Kind,
    /// The system refuses.
    #[error("cannot be opened: {0}")]
    Io(#[from] io::Error),
}

/// Bytes of a sector.
const SECTOR: u64 = Sectors::SIZE.0;
/// Sectors of the unit in which the host writes: a page of the system.
const UNIT: Sectors = Sectors(8);

/// See the head of this file.
#[derive(Debug)]
pub struct Image {
    file: File,
    /// A file may become shorter, and as long as it was.
    is_file: bool,
    most: Sectors,
    capacity: Sectors,
    notices: Vec<Notice>,
    now: SimTime,
    next: u64,
    done: VecDeque<Completion>,
    /// Whether discards reach the device. Where they do not, what is discarded stays as it was.
    discards: bool,
}

impl Image {
    /// Opens an image.
    ///
    /// # Errors
    /// It is not there, in use, or no file and no block device.
    pub fn open(path: &Path, access: Access) -> Result<Self, ImageError> {
        let kind = std::fs::metadata(path)?.file_type();
        if !kind.is_file() && !kind.is_block_device() {
            return Err(ImageError::Kind);
        }
        let mut options = OpenOptions::new();
        options.read(true).write(access == Access::Write);
        if kind.is_block_device() && access == Access::Write {
            // The kernel refuses a device that it has mounted itself.
            options.custom_flags(rustix::fs::OFlags::EXCL.bits().cast_signed());
        }
        let file = options.open(path).map_err(|error| match error.kind() {
            io::ErrorKind::ResourceBusy => ImageError::Busy,
            _ => ImageError::Io(error),
        })?;
        Self::of(file, access)
    }

    /// Makes a new file of `bytes` bytes. It takes no room on the disk yet.
    ///
    /// # Errors
    /// There is a file of that name, or it cannot be made.
    pub fn create(path: &Path, bytes: u64) -> Result<Self, ImageError> {
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(path)?;
        file.set_len(bytes)?;
        Self::of(file, Access::Write)
    }

    fn of(mut file: File, access: Access) -> Result<Self, ImageError> {
        let locked = if access == Access::Write { file.try_lock() } else { file.try_lock_shared() };
        locked.map_err(|error| match error {
            TryLockError::WouldBlock => ImageError::Busy,
            TryLockError::Error(error) => ImageError::Io(error),
        })?;
        // A device has no length, but an end.
        let bytes = io::Seek::seek(&mut file, io::SeekFrom::End(0))?;
        let capacity = Sectors(bytes / SECTOR / UNIT.0 * UNIT.0);
        let is_file = file.metadata()?.is_file();
        let (now, done, notices) = (SimTime::ZERO, VecDeque::new(), Vec::new());
        Ok(Self { file, is_file, most: capacity, capacity, notices, now, next: 0, done, discards: true })
    }

    /// Carries out a request that passed the check.
    fn perform(&mut self, request: &mut Request) -> io::Result<Option<Vec<u8>>> {
        let (at, length) = (request.range.start.0 * SECTOR, request.range.count.0 * SECTOR);
        match request.kind {
            Kind::Read => {
                let mut bytes = request.bytes.take().unwrap_or_default();
                bytes.resize(length as usize, 0);
                self.file.read_exact_at(&mut bytes, at)?;
                return Ok(Some(bytes));
            }
            Kind::Write => match &request.bytes {
                Some(bytes) => self.file.write_all_at(bytes, at)?,
                None => self.zero(at, length)?,
            },
            Kind::WriteZeroes => self.zero(at, length)?,
            Kind::Trim => self.discard(at, length)?,
            Kind::Flush => self.file.sync_data()?,
            Kind::Remap => {}
        }
        if request.flags.fua && request.kind.changes_contents() {
            self.file.sync_data()?;
        }
        Ok(None)
    }

    fn zero(&self, mut at: u64, length: u64) -> io::Result<()> {
        let zeros = vec![0; length.min(1 << 20) as usize];
        let end = at + length;
        while at < end {
            let part = (end - at).min(zeros.len() as u64);
            self.file.write_all_at(&zeros[..part as usize], at)?;
            at += part;
        }
        Ok(())
    }

    /// Gives the room back that a range takes on the disk.
    fn discard(&mut self, at: u64, length: u64) -> io::Result<()> {
        // The system refuses to discard nothing.
        if !self.discards || length == 0 {
            return Ok(());
        }
        let how = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        match rustix::fs::fallocate(&self.file, how, at, length) {
            Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => {
                self.discards = false;
                Ok(())
            }
            done => Ok(done?),
        }
    }
}

/// How a request ended that the system refused; a flush has no range.
fn refused(error: &io::Error, range: Option<SectorRange>) -> Status {
    let ranges = range.into_iter().collect();
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Status::NoSpace(ranges),
        // A write to what was opened to be read, too.
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => Status::ReadOnly(ranges),
        _ if error.raw_os_error() == Some(rustix::io::Errno::BADF.raw_os_error()) => Status::ReadOnly(ranges),
        _ if error.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error()) => Status::Gone(ranges),
        _ => Status::MediumError(ranges),
    }
}

impl BlockDevice for Image {
    fn features(&self) -> Features {
        Features {
            sector: Sectors(1),
            atomic_unit: UNIT,
            keeps_bytes: true,
            trim_reads_zeros: false,
            fua: true,
            remap: false,
            resize: if self.is_file { Resize::Both } else { Resize::Fixed },
            mapped_limit: false,
        }
    }

    fn capacity(&self) -> Sectors {
        self.capacity
    }

    fn submit(&mut self, at: SimTime, mut request: Request) -> RequestId {
        assert!(at >= self.now, "time went back from {} to {at}", self.now);
        self.now = at;
        let id = RequestId(self.next);
        self.next += 1;
        let range = request.range;
        let (status, bytes) = match request.check(&self.features(), self.capacity) {
            Err(status) => (status, None),
            Ok(()) => match self.perform(&mut request) {
                Ok(bytes) => (Status::Done, bytes),
                Err(error) if request.kind == Kind::Flush => (refused(&error, None), None),
                Err(error) => {
                    // What could not be read is zeros.
                    let zeros = (request.kind == Kind::Read).then(|| vec![0; range.len_bytes()]);
                    (refused(&error, Some(range)), zeros)
                }
            },
        };
        let Request { kind, range, .. } = request;
        self.done.push_back(Completion { id, submitted_at: at, at, kind, range, status, bytes });
        id
    }

    fn set_capacity(&mut self, at: SimTime, capacity: Sectors) -> Status {
        assert!(at >= self.now, "time went back from {} to {at}", self.now);
        self.now = at;
        if let Err(status) = check_capacity(&self.features(), self.capacity, self.most, capacity) {
            return status;
        }
        match self.file.set_len(capacity.0 * SECTOR) {
            Ok(()) => {
                if capacity != self.capacity {
                    self.notices.push(Notice { at, kind: NoticeKind::CapacityChanged(capacity) });
                }
                self.capacity = capacity;
                Status::Done
            }
            Err(error) => refused(&error, None),
        }
    }

    fn notices(&mut self, out: &mut Vec<Notice>) {
        out.append(&mut self.notices);
    }

    /// The first extent of the range, as the system tells it of the file. Where it cannot, all is data.
    fn extents(&self, range: SectorRange, out: &mut Vec<Extent>) {
        let range = range.intersection(SectorRange::new(Lba(0), self.capacity));
        if range.is_empty() {
            return;
        }
        let from = range.start.0 * SECTOR;
        let end = from + range.count.0 * SECTOR;
        let data = match rustix::fs::seek(&self.file, SeekFrom::Data(from)) {
            Err(rustix::io::Errno::NXIO) => end,
            found => found.unwrap_or(from),
        };
        // A hole is of whole sectors.
        let hole = Sectors(data.min(end) / SECTOR - range.start.0);
        let (count, state) = if hole > Sectors::ZERO {
            (hole, ExtentState::Hole)
        } else {
            let hole = rustix::fs::seek(&self.file, SeekFrom::Hole(data)).unwrap_or(end).min(end);
            (Sectors(hole.div_ceil(SECTOR) - range.start.0), ExtentState::Data)
        };
        out.push(Extent { range: range.first(count), state });
    }

    fn next_event_at(&self) -> Option<SimTime> {
        self.done.front().map(|first| first.at)
    }

    fn complete(&mut self, until: SimTime, out: &mut Vec<Completion>) {
        assert!(until >= self.now, "time went back from {} to {until}", self.now);
        self.now = until;
        out.extend(self.done.drain(..));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

    use wane_blockdev::{Blocking, all_extents};

    use super::*;

    #[test]
    fn what_is_written_is_read_after_it_is_opened_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("image");
        let mut device = Blocking::new(Image::create(&path, 1 << 20).unwrap());
        assert_eq!(device.device().capacity(), Sectors(2048));
        device.write(Lba(8), vec![7; 4096]).unwrap();
        device.write_durably(Lba(16), vec![8; 512]).unwrap();
        device.flush().unwrap();
        drop(device);
        let mut device = Blocking::new(Image::open(&path, Access::Write).unwrap());
        assert_eq!(
            device.read(SectorRange::new(Lba(8), Sectors(9))).unwrap(),
            [[7; 4096].as_slice(), &[8; 512]].concat()
        );
        device.discard(SectorRange::new(Lba(8), Sectors(8))).unwrap();
        let read = device.read(SectorRange::new(Lba(8), Sectors(8))).unwrap();
        assert!(read == [0; 4096] || read == [7; 4096]);
        let beyond = device.read(SectorRange::new(Lba(2048), Sectors(8)));
        assert_eq!(beyond.unwrap_err().status, Status::OutOfRange);
    }

    #[test]
    fn what_was_never_written_is_told_as_a_hole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("image");
        let mut device = Blocking::new(Image::create(&path, 1 << 40).unwrap());
        let told = |device: &Blocking<Image>| {
            let mut told = Vec::new();
            all_extents(device.device(), SectorRange::new(Lba(0), Sectors(1 << 31)), &mut told);
            told.iter().map(|extent| (extent.range.start.0, extent.range.count.0, extent.state)).collect::<Vec<_>>()
        };
        assert_eq!(told(&device), [(0, 1 << 31, ExtentState::Hole)]);
        for at in [1 << 20, 1 << 30] {
            device.write(Lba(at), vec![7; 4096]).unwrap();
        }
        let told = told(&device);
        let data: Vec<u64> =
            told.iter().filter(|(_, _, state)| *state == ExtentState::Data).map(|(start, ..)| *start).collect();
        // The system may tell more than was written, and not less.
        assert_eq!(data, [1 << 20, 1 << 30], "{told:?}");
        assert_eq!(told.iter().map(|(_, count, _)| count).sum::<u64>(), 1 << 31);
    }

    #[test]
    fn an_image_has_one_writer_or_many_readers() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("image");
        let writer = Image::create(&path, 1 << 20).unwrap();
        for access in [Access::Read, Access::Write] {
            assert!(matches!(Image::open(&path, access), Err(ImageError::Busy)), "{access:?}");
        }
        drop(writer);
        let mut readers = [(); 2].map(|()| Blocking::new(Image::open(&path, Access::Read).unwrap()));
        assert!(matches!(Image::open(&path, Access::Write), Err(ImageError::Busy)));
        let refused = readers[0].write(Lba(0), vec![1; 4096]).unwrap_err();
        assert!(matches!(refused.status, Status::ReadOnly(_)), "{refused}");
    }

    #[test]
    fn what_is_no_image_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(Image::open(folder.path(), Access::Read), Err(ImageError::Kind)));
        assert!(matches!(Image::open(&folder.path().join("none"), Access::Read), Err(ImageError::Io(_))));
        assert!(matches!(Image::open(Path::new("/dev/null"), Access::Read), Err(ImageError::Kind)));
    }
}
