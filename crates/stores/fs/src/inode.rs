//! Inodes: what a file is, in a block. All numbers are at fixed places.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::le::{i64_at, put_i64, put_u16, put_u32, put_u64, u16_at, u32_at, u64_at};
use crate::seal::SEAL;

/// The number of an inode: that of its node.
pub type Ino = u32;

/// The root directory.
pub const ROOT: Ino = 1;

/// A moment, as Unix counts it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment {
    /// Seconds since 1970.
    pub seconds: i64,
    /// Nanoseconds, below 10^9.
    pub nanos: u32,
}

impl From<SystemTime> for Moment {
    /// Before 1970 too, nanoseconds count up from the second.
    fn from(time: SystemTime) -> Self {
        match time.duration_since(UNIX_EPOCH) {
            Ok(since) => Self { seconds: since.as_secs().cast_signed(), nanos: since.subsec_nanos() },
            Err(before) => {
                let before = before.duration();
                let (seconds, nanos) = (-before.as_secs().cast_signed(), before.subsec_nanos());
                if nanos == 0 { Self { seconds, nanos } } else { Self { seconds: seconds - 1, nanos: NANOS - nanos } }
            }
        }
    }
}

/// Nanoseconds of a second.
const NANOS: u32 = 1_000_000_000;

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
    /// A named pipe.
    Fifo,
    /// A socket.
    Socket,
    /// A character device.
    CharDevice,
    /// A block device.
    BlockDevice,
}

impl FileKind {
    const ALL: [Self; 7] =
        [Self::File, Self::Directory, Self::Symlink, Self::Fifo, Self::Socket, Self::CharDevice, Self::BlockDevice];

    /// Its bits in a mode.
    pub const fn bits(self) -> u16 {
        match self {
            Self::Fifo => 0o010_000,
            Self::CharDevice => 0o020_000,
            Self::Directory => 0o040_000,
            Self::BlockDevice => 0o060_000,
            Self::File => 0o100_000,
            Self::Symlink => 0o120_000,
            Self::Socket => 0o140_000,
        }
    }

    /// The kind that a mode says.
    pub fn of_mode(mode: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.bits() == mode & 0o170_000)
    }

    pub(crate) fn of_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }
}

/// What `stat` tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attr {
    /// Its number.
    pub ino: Ino,
    /// What it is.
    pub kind: FileKind,
    /// Permissions, with the bits for set-id and sticky.
    pub permissions: u16,
    /// Names of it.
    pub links: u32,
    /// Its owner.
    pub uid: u32,
    /// Its group.
    pub gid: u32,
    /// The device that it stands for.
    pub rdev: u32,
    /// Bytes.
    pub size: u64,
    /// Blocks of 512 bytes that it takes, nodes included.
    pub sectors: u64,
    /// When it was last read, as far as that is noted.
    pub accessed: Moment,
    /// When its data last changed.
    pub modified: Moment,
    /// When its attributes last changed.
    pub changed: Moment,
    /// When it was made.
    pub born: Moment,
    /// How often its number was used before.
    pub generation: u32,
}

// Where an inode's fields lie.
pub(crate) const MODE: usize = 0;
pub(crate) const FLAGS: usize = 2;
pub(crate) const UID: usize = 4;
pub(crate) const GID: usize = 8;
pub(crate) const LINKS: usize = 12;
pub(crate) const SIZE: usize = 16;
pub(crate) const BLOCKS: usize = 24;
const ACCESSED: usize = 32;
const MODIFIED: usize = 44;
const CHANGED: usize = 56;
const BORN: usize = 68;
pub(crate) const GENERATION: usize = 80;
pub(crate) const DEPTH: usize = 84;
pub(crate) const ENTRIES: usize = 88;
pub(crate) const ATTRIBUTES: usize = 92;
pub(crate) const PARENT: usize = 96;
pub(crate) const RDEV: usize = 100;
pub(crate) const NAME_LENGTH: usize = 104;
pub(crate) const NAME: usize = 128;
pub(crate) const INLINE_ATTRIBUTES: usize = 400;
pub(crate) const INLINE_ATTRIBUTES_END: usize = 600;
/// Where pointers, or inline data, begin.
pub(crate) const BODY: usize = 600;

/// The file's data lie in the inode.
pub(crate) const FLAG_INLINE: u16 = 1;
/// The file is read and written rarely: its data go to the cold log.
pub(crate) const FLAG_COLD: u16 = 2;

/// Numbers of nodes at the end of an inode: two direct, two indirect, one double indirect.
pub(crate) const NIDS: usize = 5;

/// Bytes that lie in an inode at most.
pub(crate) const fn inline_max(block: usize) -> usize {
    block - SEAL - BODY
}

/// Where a number of a node lies in an inode.
pub(crate) const fn nid_at(block: usize, place: usize) -> usize {
    block - SEAL - 4 * NIDS + 4 * place
}

/// An inode in a block.
pub(crate) struct Inode<'a>(pub(crate) &'a [u8]);

impl Inode<'_> {
    pub(crate) fn mode(&self) -> u16 {
        u16_at(self.0, MODE)
    }

    pub(crate) fn kind(&self) -> Option<FileKind> {
        FileKind::of_mode(self.mode())
    }

    pub(crate) fn has(&self, flag: u16) -> bool {
        u16_at(self.0, FLAGS) & flag != 0
    }

    pub(crate) fn links(&self) -> u32 {
        u32_at(self.0, LINKS)
    }

    pub(crate) fn size(&self) -> u64 {
        u64_at(self.0, SIZE)
    }

    /// Bytes of data that lie in the inode. A damaged one may say more than fit.
    pub(crate) fn inline_size(&self) -> usize {
        (self.size() as usize).min(inline_max(self.0.len()))
    }

    pub(crate) fn depth(&self) -> u32 {
        u32_at(self.0, DEPTH)
    }

    pub(crate) fn entries(&self) -> u32 {
        u32_at(self.0, ENTRIES)
    }

    pub(crate) fn parent(&self) -> Ino {
        u32_at(self.0, PARENT)
    }

    pub(crate) fn name(&self) -> &[u8] {
        let length = usize::from(u16_at(self.0, NAME_LENGTH)).min(255);
        &self.0[NAME..NAME + length]
    }

    pub(crate) fn attr(&self, ino: Ino) -> Option<Attr> {
        Some(Attr {
            ino,
            kind: self.kind()?,
            permissions: self.mode() & 0o7777,
            links: self.links(),
            uid: u32_at(self.0, UID),
            gid: u32_at(self.0, GID),
            rdev: u32_at(self.0, RDEV),
            size: self.size(),
            sectors: u64_at(self.0, BLOCKS).saturating_mul(self.0.len() as u64 / 512),
            accessed: moment_at(self.0, ACCESSED),
            modified: moment_at(self.0, MODIFIED),
            changed: moment_at(self.0, CHANGED),
            born: moment_at(self.0, BORN),
            generation: u32_at(self.0, GENERATION),
        })
    }
}

fn moment_at(bytes: &[u8], at: usize) -> Moment {
    Moment { seconds: i64_at(bytes, at), nanos: u32_at(bytes, at + 8) }
}

fn put_moment(bytes: &mut [u8], at: usize, moment: Moment) {
    put_i64(bytes, at, moment.seconds);
    put_u32(bytes, at + 8, moment.nanos);
}

/// An inode in a block, to be changed.
pub(crate) struct InodeMut<'a>(pub(crate) &'a mut [u8]);

impl InodeMut<'_> {
    pub(crate) fn set_mode(&mut self, mode: u16) {
        put_u16(self.0, MODE, mode);
    }

    pub(crate) fn set_flag(&mut self, flag: u16, is_on: bool) {
        let flags = u16_at(self.0, FLAGS);
        put_u16(self.0, FLAGS, if is_on { flags | flag } else { flags & !flag });
    }

    pub(crate) fn set_u32(&mut self, at: usize, value: u32) {
        put_u32(self.0, at, value);
    }

    pub(crate) fn set_size(&mut self, size: u64) {
        put_u64(self.0, SIZE, size);
    }

    pub(crate) fn add_blocks(&mut self, count: i64) {
        let blocks = u64_at(self.0, BLOCKS).saturating_add_signed(count);
        put_u64(self.0, BLOCKS, blocks);
    }

    pub(crate) fn set_name(&mut self, parent: Ino, name: &[u8]) {
        put_u32(self.0, PARENT, parent);
        put_u16(self.0, NAME_LENGTH, name.len() as u16);
        self.0[NAME..NAME + 255].fill(0);
        self.0[NAME..NAME + name.len()].copy_from_slice(name);
    }

    pub(crate) fn set_accessed(&mut self, moment: Moment) {
        put_moment(self.0, ACCESSED, moment);
    }

    pub(crate) fn set_modified(&mut self, moment: Moment) {
        put_moment(self.0, MODIFIED, moment);
    }

    pub(crate) fn set_changed(&mut self, moment: Moment) {
        put_moment(self.0, CHANGED, moment);
    }

    pub(crate) fn set_born(&mut self, moment: Moment) {
        put_moment(self.0, BORN, moment);
    }
}
