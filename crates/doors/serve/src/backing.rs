//! What a file system lies on: a file or a block device of the system, a kept drive, or a drive that is served.
//!
//! [`Backing::open`] finds out which of these a path names. [`mounted`] makes the file system on it a [`Volume`] of this process, without a mount of
//! the kernel, and [`unmounted`] ends both. Calls block, and what they do is done when they return. Nothing is printed here: what a user should know,
//! [`Backing::dropped`] says of a drive and [`Volume::notes`] of a file system, in sentences.
//!
//! ```no_run
//! use std::path::Path;
//!
//! use wane_fs::Trims;
//! use wane_serve::backing::{Access, Backing, Closing, mounted, unmounted};
//!
//! let volume = mounted(Backing::open(Path::new("disk.img"), Access::Read)?, Trims::Never)?;
//! println!("{} blocks are free", volume.space().free);
//! unmounted(volume, Closing::Looked)?;
//! # Ok::<(), wane_serve::backing::BackingError>(())
//! ```

mod error;
mod served;

use std::ops::{Deref, DerefMut};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use wane_blockdev::{BlockDevice, Blocking, Living, SectorRange, pass_on};
use wane_fs::{Direct, FormatError, Mode, MountConfig, Trims, Volume, find_block_bytes};
use wane_image::{Image, ImageError};
use wane_lab::kept::{Attached, Keeps, Kept, check_whole};
use wane_shelf::MANIFEST;
use wane_units::{Lba, Sectors, excerpt_path};

pub use error::BackingError;
pub use served::ServedDrive;
pub use wane_image::{Access, RemoteError};

/// Bytes of a sector.
const SECTOR: u64 = Sectors::SIZE.0;

/// The attribute by which a mount of wane is known: only there has a directory one of this name. The crate `fuse` says what it tells.
const ATTRIBUTE_OF_MOUNTS: &str = "wane.space";

/// See the head of this file. As a block device it has the sectors of what it is, and takes no modelled time.
///
/// While it lasts nobody else gets it; only a file or a block device may be read by several. If it is dropped and not closed, a kept drive is left as
/// by a process that is killed: what was flushed is there.
pub struct Backing {
    /// Its path, as messages quote it.
    shown: String,
    access: Access,
    device: Device,
    dropped: Option<String>,
}

/// The device itself, which knows how it is closed.
enum Device {
    /// A file or a block device.
    Image(Image),
    /// A kept drive.
    Drive(Box<Attached>),
    /// A drive that is served.
    Served(Box<ServedDrive>),
}

impl Deref for Device {
    type Target = dyn BlockDevice;

    fn deref(&self) -> &Self::Target {
        match self {
            Self::Image(image) => image,
            Self::Drive(drive) => drive.as_ref(),
            Self::Served(drive) => drive.as_ref(),
        }
    }
}

impl DerefMut for Device {
    fn deref_mut(&mut self) -> &mut Self::Target {
        match self {
            Self::Image(image) => image,
            Self::Drive(drive) => drive.as_mut(),
            Self::Served(drive) => drive.as_mut(),
        }
    }
}

/// What becomes of a kept drive in the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Closing {
    /// It was only looked at, and stays as it was.
    Looked,
    /// It is kept, with this note of what was done.
    Changed(String),
}

impl Backing {
    /// Opens what is there: the file or block device of that name, the drive that a folder keeps, or, if it is served, the drive of its server; a
    /// server's socket is the drive that it gives to clients that name none.
    ///
    /// # Errors
    /// Nothing is there, somebody else uses it, it is where a file system is mounted, or a folder without a drive.
    pub fn open(path: &Path, access: Access) -> Result<Self, BackingError> {
        let shown = excerpt_path(path);
        let of_image = |error| BackingError::Image(excerpt_path(path), error);
        let kind = std::fs::metadata(path).map_err(|error| of_image(error.into()))?.file_type();
        let served = if kind.is_socket() { Some(ServedDrive::at_socket(path)) } else { ServedDrive::of_folder(path) };
        if let Some(served) = served {
            let drive = served.map_err(|error| BackingError::Served(excerpt_path(path), error))?;
            return Ok(Self { shown, access, device: Device::Served(Box::new(drive)), dropped: None });
        }
        if !kind.is_dir() {
            let image = Image::open(path, access).map_err(of_image)?;
            return Ok(Self { shown, access, device: Device::Image(image), dropped: None });
        }
        if is_mount(path) {
            return Err(BackingError::Mount(shown));
        }
        if !path.join(MANIFEST).is_file() {
            return Err(BackingError::NoDrive(shown));
        }
        check_whole(path, "used by a file system")?;
        let kept = Kept::open_late(path)?;
        let dropped = kept.dropped();
        let keeps = if access == Access::Write { Keeps::All } else { Keeps::Nothing };
        match Attached::new(kept, keeps) {
            Ok(drive) => Ok(Self { shown, access, device: Device::Drive(Box::new(drive)), dropped }),
            Err(error) => Err(BackingError::Kept { error: Box::new(error), dropped }),
        }
    }

    /// Makes a new file of `bytes` bytes, to be written. It takes no room on the disk yet.
    ///
    /// # Errors
    /// There is a file of that name, or it cannot be made so large. Then a part of it may be there.
    pub fn create(path: &Path, bytes: u64) -> Result<Self, BackingError> {
        let shown = excerpt_path(path);
        match Image::create(path, bytes) {
            Ok(image) => Ok(Self { shown, access: Access::Write, device: Device::Image(image), dropped: None }),
            Err(ImageError::Io(error)) => Err(BackingError::Unmade(shown, error)),
            Err(error) => Err(BackingError::Image(shown, error)),
        }
    }

    /// Whether it is a plain file or a block device.
    pub const fn is_file(&self) -> bool {
        matches!(self.device, Device::Image(_))
    }

    /// A sentence if opening a kept drive cut off whole records of its journal: see [`Kept::dropped`].
    pub fn dropped(&self) -> Option<&str> {
        self.dropped.as_deref()
    }

    /// A copy of a kept drive, on which something can be tried; `None` of what is no drive of this process.
    pub fn rehearsal(&self) -> Option<Box<dyn Living>> {
        match &self.device {
            Device::Drive(drive) => Some(drive.rehearsal()),
            Device::Image(_) | Device::Served(_) => None,
        }
    }

    /// Ends its use. Of a kept drive what was done is kept, if it was opened to be written and `how` says so; nothing else has to be done.
    ///
    /// # Errors
    /// The drive cannot be kept. What was flushed before is still there.
    pub fn close(self, how: Closing) -> Result<(), BackingError> {
        match (self.device, how) {
            (Device::Drive(drive), Closing::Changed(note)) => Ok(drive.close(note)?),
            _ => Ok(()),
        }
    }
}

impl BlockDevice for Backing {
    pass_on!(device: features capacity submit next_event_at complete set_capacity mapped_limit set_mapped_limit);
    pass_on!(device: notices extents peek);
}

/// The file system of a backing, mounted.
pub type Mounted = Volume<Direct<Backing>>;

/// Whether a file system of wane is mounted on this directory. What it lies on is then in use.
pub fn is_mount(path: &Path) -> bool {
    // Without room for the answer the system tells its size, which is enough.
    let mut no_room: [u8; 0] = [];
    path.is_dir() && rustix::fs::getxattr(path, ATTRIBUTE_OF_MOUNTS, &mut no_room).is_ok()
}

/// A number that no earlier mount had, as good as surely: [`MountConfig::nonce`].
///
/// # Errors
/// The system gives no random numbers.
pub fn nonce() -> Result<u32, BackingError> {
    getrandom::u32().map_err(|error| BackingError::Random(error.to_string()))
}

/// Reads bytes of a device from byte `at` on, whole sectors. Returns whether that worked; if not, `bytes` stay as they were.
pub fn read_at<D: BlockDevice>(device: &mut Blocking<D>, at: u64, bytes: &mut [u8]) -> bool {
    let range = SectorRange::new(Lba(at / SECTOR), Sectors(bytes.len() as u64 / SECTOR));
    let read = device.read(range);
    if let Ok(read) = &read {
        bytes.copy_from_slice(read);
    }
    read.is_ok()
}

/// Bytes of a block of the file system on a device.
///
/// # Errors
/// There is none, or the device cannot be read.
pub fn block_bytes_of<D: BlockDevice>(device: &mut Blocking<D>) -> Result<usize, FormatError> {
    let capacity = device.device().capacity().0 * SECTOR;
    find_block_bytes(capacity, |at, bytes| read_at(device, at, bytes))
}

/// Mounts the file system of a backing: to be read if it was opened for that, to be read and written otherwise. Of what is damaged and can be used
/// all the same, [`Volume::notes`] tells.
///
/// # Errors
/// There is none, or it cannot be mounted. If the cause of [`BackingError::Format`] [is damage](FormatError::is_damage), there is one, of which so
/// much is damaged that nothing of it can be looked at.
pub fn mounted(backing: Backing, trims: Trims) -> Result<Mounted, BackingError> {
    let shown = backing.shown.clone();
    let mode = if backing.access == Access::Write { Mode::ReadWrite } else { Mode::ReadOnly };
    let mut device = Blocking::new(backing);
    let config = MountConfig { mode, trims, ..MountConfig::new(nonce()?) };
    let volume = block_bytes_of(&mut device).and_then(|block| Volume::mount(Direct::new(device, block), &config));
    volume.map_err(|error| BackingError::Format(shown, error))
}

/// Returns a file system whose counts can be relied on, such as those of its free blocks.
///
/// # Errors
/// It is [in doubt](Volume::is_doubtful), and was left as it is.
pub fn trusted(volume: Mounted) -> Result<Mounted, BackingError> {
    if !volume.is_doubtful() {
        return Ok(volume);
    }
    let backing = volume.into_port().into_inner().into_inner();
    let shown = backing.shown.clone();
    backing.close(Closing::Looked)?;
    Err(BackingError::Doubtful(shown))
}

/// Unmounts a file system, and closes what it lies on. What was done to it is durable then.
///
/// # Errors
/// The device failed, or the drive cannot be kept.
pub fn unmounted(volume: Mounted, how: Closing) -> Result<(), BackingError> {
    match volume.unmount() {
        Ok(port) => port.into_inner().into_inner().close(how),
        Err((port, error)) => {
            let backing = port.into_inner().into_inner();
            let shown = backing.shown.clone();
            // What a drive that failed went through is kept, too.
            backing.close(how)?;
            Err(BackingError::NotUnmounted(shown, error))
        }
    }
}
