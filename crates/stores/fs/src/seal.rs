//! How a block of metadata says what it is: its last 32 bytes, with a checksum.
//!
//! The checksum covers the block, its address, and all that the seal says. A torn block, one that was written to another place, and one of an
//! earlier life of the place look alike: absent.

use crate::le::{put_u16, put_u32, put_u64, u16_at, u32_at, u64_at};
use crate::port::Addr;

/// Bytes of a seal.
pub(crate) const SEAL: usize = 32;

/// What a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockKind {
    Super = 1,
    Checkpoint,
    Nat,
    Sit,
    Summary,
    Inode,
    /// Pointers to data.
    Direct,
    /// Numbers of nodes.
    Indirect,
    Attributes,
    Directory,
    /// What is noted of the last checkpoint as a file system is unmounted.
    Unmount,
}

impl BlockKind {
    const ALL: [Self; 11] = [
        Self::Super,
        Self::Checkpoint,
        Self::Nat,
        Self::Sit,
        Self::Summary,
        Self::Inode,
        Self::Direct,
        Self::Indirect,
        Self::Attributes,
        Self::Directory,
        Self::Unmount,
    ];

    fn of(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u8 == number)
    }

    pub(crate) const fn is_node(self) -> bool {
        matches!(self, Self::Inode | Self::Direct | Self::Indirect | Self::Attributes)
    }
}

/// What a seal says.
///
/// | offset | bytes | |
/// |---|---|---|
/// | 0 | 4 | CRC-32C of the block with this field as 0, and then of its address, 8 bytes |
/// | 4 | 1 | kind |
/// | 5 | 1 | marks |
/// | 6 | 2 | 0 |
/// | 8 | 4 | owner: the number of the node, the directory's inode, the segment, or the number of the block in its area |
/// | 12 | 4 | inode to which a node belongs |
/// | 16 | 4 | first block of the file that a node or a directory's block is about |
/// | 20 | 4 | of a node: where the next one of its log will lie |
/// | 24 | 8 | version: that of the checkpoint to come, mixed with the number of the mount |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seal {
    pub(crate) kind: BlockKind,
    pub(crate) marks: u8,
    pub(crate) owner: u32,
    pub(crate) ino: u32,
    pub(crate) first: u32,
    pub(crate) next: Addr,
    pub(crate) version: u64,
}

/// A node that an fsync wrote.
pub(crate) const MARK_FSYNC: u8 = 1;
/// The last node of an fsync.
pub(crate) const MARK_LAST: u8 = 2;
/// The inode is new since the checkpoint, and has a name to recover.
pub(crate) const MARK_NAME: u8 = 4;

impl Seal {
    pub(crate) const fn new(kind: BlockKind, owner: u32, version: u64) -> Self {
        Self { kind, marks: 0, owner, ino: 0, first: 0, next: 0, version }
    }

    /// Seals a block for an address.
    pub(crate) fn close(&self, block: &mut [u8], at: Addr) {
        let from = block.len() - SEAL;
        let seal = &mut block[from..];
        put_u32(seal, 0, 0);
        (seal[4], seal[5]) = (self.kind as u8, self.marks);
        put_u16(seal, 6, 0);
        put_u32(seal, 8, self.owner);
        put_u32(seal, 12, self.ino);
        put_u32(seal, 16, self.first);
        put_u32(seal, 20, self.next);
        put_u64(seal, 24, self.version);
        let crc = checksum(block, at);
        put_u32(block, from, crc);
    }

    /// What the seal of a block says that lies at an address; `None` if the checksum does not fit.
    pub(crate) fn open(block: &[u8], at: Addr) -> Option<Self> {
        let from = block.len() - SEAL;
        let seal = &block[from..];
        let kind = BlockKind::of(seal[4])?;
        if u16_at(seal, 6) != 0 || u32_at(seal, 0) != checksum(block, at) {
            return None;
        }
        Some(Self {
            kind,
            marks: seal[5],
            owner: u32_at(seal, 8),
            ino: u32_at(seal, 12),
            first: u32_at(seal, 16),
            next: u32_at(seal, 20),
            version: u64_at(seal, 24),
        })
    }
}

/// The checksum of a block at an address, as if the field that holds it were 0.
fn checksum(block: &[u8], at: Addr) -> u32 {
    let from = block.len() - SEAL;
    let crc = crc32c::crc32c(&block[..from]);
    let crc = crc32c::crc32c_append(crc, &[0; 4]);
    let crc = crc32c::crc32c_append(crc, &block[from + 4..]);
    crc32c::crc32c_append(crc, &u64::from(at).to_le_bytes())
}
