//! What a file system lies on, as the commands of `wane fs` open it.

use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use wane_blockdev::{
    BlockDevice, Blocking, Completion, Extent, Features, Living, Notice, Request, RequestId, SectorRange, Status,
};
use wane_fs::{Direct, FormatError, Mode, MountConfig, Trims, Volume, find_block_bytes};
use wane_image::{Access, Image};
use wane_lab::kept::{Attached, Keeps, Kept, check_whole};
use wane_shelf::MANIFEST;
use wane_units::{Lba, Sectors, SimTime, excerpt_path};

use super::online::Online;
use super::served::{self, ServedDrive};
use crate::output::{Failure, tell};

/// A device, which knows how it is closed.
pub(super) enum Backing {
    /// A file or a block device.
    Image(Image),
    /// A kept drive.
    Drive(Box<Attached>),
    /// A drive that is served.
    Served(Box<ServedDrive>),
}

/// What becomes of a kept drive in the end.
pub(super) enum Closing {
    /// It was only looked at, and stays as it was.
    Looked,
    /// It is kept, with this note of what was done.
    Changed(String),
}

/// Where the path of a thing that is no file system leads: one sentence about it.
fn refused(path: &Path, sentence: impl std::fmt::Display) -> Failure {
    Failure::wrong(format!("{}: {sentence}", excerpt_path(path)))
}

impl Backing {
    /// Opens what is there.
    pub(super) fn open(path: &Path, access: Access) -> Result<Self, Failure> {
        let found = std::fs::metadata(path).map_err(|error| refused(path, format!("cannot be opened: {error}")))?;
        let kind = found.file_type();
        let served = if kind.is_socket() { Some(ServedDrive::at_socket(path)) } else { ServedDrive::of_folder(path) };
        if let Some(served) = served {
            let served = served.map_err(|error| refused(path, served::sentence(&error)))?;
            return Ok(Self::Served(Box::new(served)));
        }
        if !kind.is_dir() {
            return Image::open(path, access).map(Self::Image).map_err(|error| refused(path, error));
        }
        if Online::at(path).is_some() {
            let sentence = "a file system of wane is mounted there; this command takes what that lies on";
            return Err(refused(path, sentence));
        }
        if !path.join(MANIFEST).is_file() {
            return Err(refused(path, format!("is a folder, but no drive: it has no {MANIFEST}")));
        }
        check_whole(path, "used by a file system")?;
        let kept = Kept::open_late(path)?;
        if let Some(dropped) = kept.dropped() {
            tell(&format!("wane: {dropped}"));
        }
        let keeps = if access == Access::Write { Keeps::All } else { Keeps::Nothing };
        Ok(Self::Drive(Box::new(Attached::new(kept, keeps)?)))
    }

    /// Makes a new file.
    pub(super) fn create(path: &Path, bytes: u64) -> Result<Self, Failure> {
        Image::create(path, bytes).map(Self::Image).map_err(|error| match error {
            wane_image::ImageError::Io(error) => crate::output::unwritable(path, &error),
            other => refused(path, other),
        })
    }

    fn device(&self) -> &dyn BlockDevice {
        match self {
            Self::Image(image) => image,
            Self::Drive(drive) => drive.as_ref(),
            Self::Served(drive) => drive.as_ref(),
        }
    }

    fn device_mut(&mut self) -> &mut dyn BlockDevice {
        match self {
            Self::Image(image) => image,
            Self::Drive(drive) => drive.as_mut(),
            Self::Served(drive) => drive.as_mut(),
        }
    }

    /// Whether it is a plain file or a block device.
    pub(super) const fn is_file(&self) -> bool {
        matches!(self, Self::Image(_))
    }

    /// A copy of a kept drive, on which something can be tried; `None` of what is no drive of this process.
    pub(super) fn rehearsal(&self) -> Option<Box<dyn Living>> {
        match self {
            Self::Drive(drive) => Some(drive.rehearsal()),
            Self::Image(_) | Self::Served(_) => None,
        }
    }

    /// What is said at the end of a command.
    pub(super) fn close(self, how: Closing) -> Result<(), Failure> {
        match (self, how) {
            (Self::Drive(drive), Closing::Changed(note)) => Ok(drive.close(note)?),
            _ => Ok(()),
        }
    }
}

impl BlockDevice for Backing {
    fn features(&self) -> Features {
        self.device().features()
    }

    fn capacity(&self) -> Sectors {
        self.device().capacity()
    }

    fn submit(&mut self, at: SimTime, request: Request) -> RequestId {
        self.device_mut().submit(at, request)
    }

    fn next_event_at(&self) -> Option<SimTime> {
        self.device().next_event_at()
    }

    fn complete(&mut self, until: SimTime, out: &mut Vec<Completion>) {
        self.device_mut().complete(until, out);
    }

    fn set_capacity(&mut self, at: SimTime, capacity: Sectors) -> Status {
        self.device_mut().set_capacity(at, capacity)
    }

    fn mapped_limit(&self) -> Sectors {
        self.device().mapped_limit()
    }

    fn set_mapped_limit(&mut self, at: SimTime, limit: Sectors) -> Status {
        self.device_mut().set_mapped_limit(at, limit)
    }

    fn extents(&self, range: SectorRange, out: &mut Vec<Extent>) {
        self.device().extents(range, out);
    }

    fn notices(&mut self, out: &mut Vec<Notice>) {
        self.device_mut().notices(out);
    }
}

/// The file system of a backing, mounted.
pub(super) type Mounted = Volume<Direct<Backing>>;

/// A number that no earlier mount had, as good as surely.
pub(super) fn nonce() -> Result<u32, Failure> {
    getrandom::u32().map_err(|error| Failure::wrong(format!("the system gives no random numbers: {error}")))
}

/// Reads bytes of a device, and says whether that worked.
pub(super) fn read_at(device: &mut Blocking<Backing>, at: u64, bytes: &mut [u8]) -> bool {
    let range = SectorRange::new(Lba(at / Sectors::SIZE.0), Sectors(bytes.len() as u64 / Sectors::SIZE.0));
    let read = device.read(range);
    if let Ok(read) = &read {
        bytes.copy_from_slice(read);
    }
    read.is_ok()
}

/// Bytes of a block of the file system on a device.
pub(super) fn block_bytes_of(device: &mut Blocking<Backing>) -> Result<usize, FormatError> {
    let capacity = device.device().capacity().0 * Sectors::SIZE.0;
    find_block_bytes(capacity, |at, bytes| read_at(device, at, bytes))
}

/// Opens and mounts the file system of a path. One of which so much is damaged that it cannot be mounted is an answer, too.
pub(super) fn mounted_if_whole(path: &Path, mode: Mode, trims: Trims) -> Result<Result<Mounted, FormatError>, Failure> {
    let access = if mode == Mode::ReadWrite { Access::Write } else { Access::Read };
    let mut device = Blocking::new(Backing::open(path, access)?);
    let config = MountConfig { mode, trims, ..MountConfig::new(nonce()?) };
    let volume = block_bytes_of(&mut device).and_then(|block| Volume::mount(Direct::new(device, block), &config));
    match volume {
        Err(error) if !error.is_damage() => Err(refused(path, error)),
        other => Ok(other),
    }
}

/// Opens and mounts the file system of a path.
pub(super) fn mounted(path: &Path, mode: Mode, trims: Trims) -> Result<Mounted, Failure> {
    let volume = mounted_if_whole(path, mode, trims)?.map_err(|error| refused(path, error))?;
    for note in volume.notes() {
        tell(&format!("wane: {}: {note}", excerpt_path(path)));
    }
    Ok(volume)
}

/// The same for a command that rests on its counts: it is refused where they are in doubt.
pub(super) fn trusted(path: &Path, mode: Mode, trims: Trims) -> Result<Mounted, Failure> {
    let volume = mounted(path, mode, trims)?;
    if volume.is_doubtful() {
        volume.into_port().into_inner().into_inner().close(Closing::Looked)?;
        return Err(refused(path, "is damaged, so that nothing is planned or changed; `wane fs fsck` tells more"));
    }
    Ok(volume)
}

/// Unmounts a file system, and closes what it lies on.
pub(super) fn unmounted(path: &Path, volume: Mounted, how: Closing) -> Result<(), Failure> {
    match volume.unmount() {
        Ok(port) => port.into_inner().into_inner().close(how),
        Err((port, error)) => {
            // What a drive that failed went through is kept, too.
            port.into_inner().into_inner().close(how)?;
            let sentence = format!("could not be unmounted: {error}; what was not synchronized may be lost");
            Err(refused(path, sentence))
        }
    }
}
