//! Where things lie on the device: areas of whole segments, found from a few numbers of the superblock.

use crate::inode::{BODY, NIDS};
use crate::le::{put_u16, put_u32, put_u64, u16_at, u32_at, u64_at};
use crate::port::Addr;
use crate::seal::{BlockKind, SEAL, Seal};

/// The first bytes of a superblock.
pub(crate) const MAGIC: [u8; 8] = *b"waneCVFS";
/// Version of the format. Another major one cannot be read.
pub(crate) const MAJOR: u16 = 1;
pub(crate) const MINOR: u16 = 1;
/// The incompatible feature: pointers to data carry checksums of them.
const FEATURE_DATA_CHECKSUMS: u32 = 1;

/// Segments at the start, each with a superblock in its first block.
pub(crate) const SUPER_SEGMENTS: u32 = 2;
/// Bytes of an entry of the NAT.
pub(crate) const NAT_ENTRY: usize = 8;
/// Bytes of an entry of a summary.
pub(crate) const SUMMARY_ENTRY: usize = 6;
/// Most entries of a journal in a checkpoint, of each kind.
pub(crate) const JOURNAL_MAX: usize = 128;
/// Bytes of a checkpoint beside what grows with the device.
const PACK_BYTES: usize = 4096;
/// Orphans for which each checkpoint has room at least.
pub(crate) const ORPHANS_LEAST: usize = 4096;

/// Why there is no file system on a device.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FormatError {
    /// It has another one, or none.
    #[error("holds no file system of wane{}", .0.as_ref().map(|other| format!(", but {other}")).unwrap_or_default())]
    Other(Option<String>),
    /// A newer wane made it.
    #[error("has format {0}.{1}; this wane reads formats up to {MAJOR}")]
    Newer(u16, u16),
    /// It has features that this wane does not know.
    #[error("has features that this wane does not know: {0:#x}")]
    Features(u32),
    /// Sizes do not fit.
    #[error("{0}")]
    Size(String),
    /// Both superblocks are damaged.
    #[error("both superblocks are damaged")]
    Superblock,
    /// No checkpoint is whole.
    #[error("both checkpoints are damaged")]
    Checkpoint,
    /// No checkpoint can be used: a number of the newest one cannot be.
    #[error("the checkpoint contradicts itself: {0}")]
    Contradiction(String),
    /// A structure that is needed to mount is lost.
    #[error("{0} is lost or damaged")]
    Lost(&'static str),
    /// The device cannot be read.
    #[error("the device cannot be read")]
    Device,
}

impl FormatError {
    /// Whether there is a file system of wane, and what is damaged of it is the reason.
    pub const fn is_damage(&self) -> bool {
        matches!(self, Self::Superblock | Self::Checkpoint | Self::Contradiction(_) | Self::Lost(_))
    }
}

/// Whether data of programs have checksums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataChecksums {
    /// None: what the device returns is what a program gets.
    None,
    /// CRC-32C in each pointer, over the block, its inode and its place in the file. A block that is lost, damaged or another one is an error.
    Crc32c,
}

/// How a file system is made.
#[derive(Clone, Debug)]
pub struct FormatConfig {
    /// Bytes of a block, a power of 2 from 4096 to 65536, no smaller than the device's atomic unit.
    pub block_bytes: u32,
    /// Bytes of a segment.
    pub segment_bytes: u32,
    /// Segments of a section, the unit in which space is given back.
    pub section_segments: u32,
    /// Share of the main area that no user gets, beside what cleaning needs in any case.
    pub reserve: f64,
    /// Bytes up to which the device may grow later; `None`: it stays. Tables and summaries of 0.3 % of it are set aside.
    pub greatest_bytes: Option<u64>,
    /// Whether data have checksums. Pointers then take 8 bytes instead of 4.
    pub data_checksums: DataChecksums,
    /// Identity of the file system.
    pub uuid: [u8; 16],
    /// Key of the hash of names.
    pub hash_key: [u64; 2],
}

impl FormatConfig {
    /// Blocks of 4 KiB, segments of 2 MiB, a section each, 3 % reserved, no checksums of data.
    pub const fn new(uuid: [u8; 16], hash_key: [u64; 2]) -> Self {
        Self {
            block_bytes: 4096,
            segment_bytes: 2 << 20,
            section_segments: 1,
            reserve: 0.03,
            greatest_bytes: None,
            data_checksums: DataChecksums::None,
            uuid,
            hash_key,
        }
    }
}

/// See the head of this file. All areas are in blocks.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Geometry {
    pub(crate) block: usize,
    /// Blocks of a segment.
    pub(crate) segment: u32,
    pub(crate) section_segments: u32,
    /// Segments of each pack of checkpoints.
    pub(crate) pack_segments: u32,
    /// Blocks of one copy of the SIT.
    pub(crate) sit_blocks: u32,
    /// Segments of both copies.
    pub(crate) sit_segments: u32,
    /// Blocks of one copy of the NAT.
    pub(crate) nat_blocks: u32,
    pub(crate) nat_segments: u32,
    pub(crate) summary_segments: u32,
    /// Sections of the main area.
    pub(crate) sections: u32,
    /// Blocks that no user gets.
    pub(crate) reserved: u32,
    pub(crate) data_checksums: DataChecksums,
    pub(crate) uuid: [u8; 16],
    pub(crate) hash_key: [u64; 2],
}

impl FormatConfig {
    /// Blocks of data that `files` files of equal size can have in a new file system on a device of `blocks` blocks, if they have no other names than
    /// in its root.
    ///
    /// # Errors
    /// The sizes do not fit, or the device is too small.
    pub fn data_blocks(&self, blocks: u64, files: u32) -> Result<u64, FormatError> {
        let (geometry, sections) = Geometry::new(self, blocks)?;
        let users = geometry.user_blocks_of(sections);
        // Each file has its inode, and may begin one more of each of the five nodes below it than it fills; a block of the root names 32.
        let files = u64::from(files);
        let beside = 8 + files * (1 + crate::inode::NIDS as u64) + files / 32;
        let pointers = u64::from(geometry.node_pointers());
        Ok(users.saturating_sub(beside) * (pointers - 1) / pointers)
    }
}

impl Geometry {
    /// Blocks for users, if N sections may hold something.
    pub(crate) fn user_blocks_of(&self, sections: u32) -> u64 {
        let (section, all) = (u64::from(self.section()), u64::from(self.sections));
        let cleaning = u64::from(self.logs_and_cleaning()) * section;
        // What is reserved beside is a share of what there is.
        let share = (u64::from(self.reserved) - cleaning) * u64::from(sections) / all.max(1);
        (u64::from(sections) * section).saturating_sub(cleaning + share)
    }

    /// The layout on a device of `blocks` blocks, and how many of its sections there are at first.
    ///
    /// # Errors
    /// The sizes do not fit, or the device is too small.
    pub(crate) fn new(config: &FormatConfig, blocks: u64) -> Result<(Self, u32), FormatError> {
        let size = |text: String| Err(FormatError::Size(text));
        let block = config.block_bytes;
        if !block.is_power_of_two() || !(4096..=65536).contains(&block) {
            return size(format!("a block has {block} bytes; a power of 2 from 4096 to 65536 is allowed"));
        }
        let most = (block as usize - SEAL) / SUMMARY_ENTRY;
        let segment = config.segment_bytes / block;
        if !config.segment_bytes.is_multiple_of(block) || !(16..=most as u32).contains(&segment) {
            return size(format!(
                "a segment has {} bytes; 16 to {most} blocks of {block} are allowed",
                config.segment_bytes
            ));
        }
        if config.section_segments == 0 || !(0.0..0.9).contains(&config.reserve) {
            return size("a section has one segment at least, and less than 0.9 is reserved".to_owned());
        }
        let device = blocks * u64::from(block);
        let greatest = config.greatest_bytes.unwrap_or(device);
        if greatest < device {
            return size(format!("the device has {device} bytes, more than the {greatest} to which it may grow"));
        }
        let (there, blocks) = (blocks, greatest / u64::from(block));
        if blocks > u64::from(u32::MAX - 16) {
            return size(format!(
                "the device has {blocks} blocks of {block} bytes at its greatest; at most {} are used",
                u32::MAX - 16
            ));
        }
        let segments = (blocks / u64::from(segment)) as u32;
        let mut geometry = Self {
            block: block as usize,
            segment,
            section_segments: config.section_segments,
            pack_segments: 0,
            sit_blocks: 0,
            sit_segments: 0,
            nat_blocks: 0,
            nat_segments: 0,
            summary_segments: 0,
            sections: 0,
            reserved: 0,
            data_checksums: config.data_checksums,
            uuid: config.uuid,
            hash_key: config.hash_key,
        };
        geometry.size_areas(segments);
        let least = geometry.logs_and_cleaning() * 2;
        let before = geometry.main_segment();
        geometry.sections = segments.saturating_sub(before) / config.section_segments;
        let segments = (there / u64::from(segment)) as u32;
        let sections = segments.saturating_sub(before) / config.section_segments;
        if sections < least {
            let bytes = u64::from(before + least * config.section_segments) * u64::from(config.segment_bytes);
            return size(format!("the device has {device} bytes; with these segments {bytes} are needed at least"));
        }
        let main = f64::from(geometry.main_blocks());
        geometry.reserved = geometry.logs_and_cleaning() * geometry.section() + (config.reserve * main) as u32;
        Ok((geometry, sections))
    }

    /// Sizes the areas before the main one for a device of `segments` segments.
    fn size_areas(&mut self, segments: u32) {
        let per_segment = |blocks: u32| blocks.div_ceil(self.segment);
        let sit_blocks = segments.div_ceil(self.sit_entries());
        let nodes = (u64::from(segments) * u64::from(self.segment) / 4).max(256) as u32;
        let nat_blocks = nodes.div_ceil(self.nat_entries());
        let bitmaps = (sit_blocks.div_ceil(8) + nat_blocks.div_ceil(8)) as usize;
        let summaries = 6 * self.segment as usize * SUMMARY_ENTRY;
        let journals = JOURNAL_MAX * (4 + NAT_ENTRY) + JOURNAL_MAX * (4 + self.sit_entry());
        let pack = PACK_BYTES + bitmaps + summaries + journals + 4 * ORPHANS_LEAST;
        let pack_blocks = pack.div_ceil(self.block - SEAL) as u32 + 1;
        let found =
            (per_segment(pack_blocks), per_segment(2 * sit_blocks), per_segment(2 * nat_blocks), per_segment(segments));
        (self.pack_segments, self.sit_segments, self.nat_segments, self.summary_segments) = found;
        (self.sit_blocks, self.nat_blocks) = (sit_blocks, nat_blocks);
    }

    /// Sections that cleaning needs: each log may hold one open and take one, and two are for what is moved.
    pub(crate) const fn logs_and_cleaning(&self) -> u32 {
        2 * 6 + 2
    }

    /// Bytes of a pointer to data: an address, and a checksum if data have them.
    pub(crate) const fn pointer(&self) -> usize {
        match self.data_checksums {
            DataChecksums::None => 4,
            DataChecksums::Crc32c => 8,
        }
    }

    /// Pointers to data in an inode.
    pub(crate) const fn inode_pointers(&self) -> u32 {
        ((self.block - SEAL - 4 * NIDS - BODY) / self.pointer()) as u32
    }

    /// Pointers to data in a direct node.
    pub(crate) const fn node_pointers(&self) -> u32 {
        ((self.block - SEAL) / self.pointer()) as u32
    }

    /// Numbers of nodes in an indirect node.
    pub(crate) const fn node_children(&self) -> u32 {
        ((self.block - SEAL) / 4) as u32
    }

    /// Bytes of an entry of the SIT.
    pub(crate) const fn sit_entry(&self) -> usize {
        8 + self.segment.div_ceil(8) as usize
    }

    pub(crate) const fn sit_entries(&self) -> u32 {
        ((self.block - SEAL) / self.sit_entry()) as u32
    }

    pub(crate) const fn nat_entries(&self) -> u32 {
        ((self.block - SEAL) / NAT_ENTRY) as u32
    }

    /// Numbers that nodes can have; 0 is none.
    pub(crate) const fn nodes(&self) -> u32 {
        self.nat_blocks * self.nat_entries()
    }

    /// Blocks of a section.
    pub(crate) const fn section(&self) -> u32 {
        self.segment * self.section_segments
    }

    pub(crate) const fn main_blocks(&self) -> u32 {
        self.sections * self.section()
    }

    pub(crate) const fn main_segments(&self) -> u32 {
        self.sections * self.section_segments
    }

    /// The first segment of the main area.
    pub(crate) const fn main_segment(&self) -> u32 {
        SUPER_SEGMENTS + 2 * self.pack_segments + self.sit_segments + self.nat_segments + self.summary_segments
    }

    /// The first block of a pack of checkpoints, 0 or 1.
    pub(crate) const fn pack(&self, pack: u32) -> Addr {
        (SUPER_SEGMENTS + pack * self.pack_segments) * self.segment
    }

    /// Where an unmount notes its checkpoint: behind the second superblock, apart from both packs.
    pub(crate) const fn unmount_note(&self) -> Addr {
        self.segment + 1
    }

    pub(crate) const fn pack_blocks(&self) -> u32 {
        self.pack_segments * self.segment
    }

    /// A block of a copy of the SIT.
    pub(crate) const fn sit(&self, block: u32, copy: u32) -> Addr {
        (SUPER_SEGMENTS + 2 * self.pack_segments) * self.segment + copy * self.sit_blocks + block
    }

    /// A block of a copy of the NAT.
    pub(crate) const fn nat(&self, block: u32, copy: u32) -> Addr {
        (SUPER_SEGMENTS + 2 * self.pack_segments + self.sit_segments) * self.segment + copy * self.nat_blocks + block
    }

    /// The summary of a segment of the main area.
    pub(crate) const fn summary(&self, segment: u32) -> Addr {
        (self.main_segment() - self.summary_segments) * self.segment + segment
    }

    /// The first block of the main area.
    pub(crate) const fn main(&self) -> Addr {
        self.main_segment() * self.segment
    }

    /// The end of the main area.
    pub(crate) const fn end(&self) -> Addr {
        self.main() + self.main_blocks()
    }

    /// The segment of the main area in which a block lies, and its place there.
    pub(crate) const fn place(&self, at: Addr) -> (u32, u32) {
        ((at - self.main()) / self.segment, (at - self.main()) % self.segment)
    }

    /// Whether an address is one of the main area.
    pub(crate) const fn is_main(&self, at: Addr) -> bool {
        at >= self.main() && at < self.end()
    }

    /// The superblock, for the copy at an address.
    ///
    /// | offset | bytes | |
    /// |---|---|---|
    /// | 0 | 8 | `waneCVFS` |
    /// | 8 | 2, 2 | major and minor version |
    /// | 12 | 4, 4, 4 | features: compatible, compatible if only read, incompatible (1: data have checksums) |
    /// | 24 | 16 | uuid |
    /// | 40 | 8, 8 | key of the hash of names |
    /// | 56 | 4 each | bytes of a block, blocks of a segment, segments of a section, sections |
    /// | 72 | 4 each | segments of a pack, of the SIT, of the NAT, of the summaries |
    /// | 88 | 4 each | blocks of a copy of the SIT and of the NAT, reserved blocks |
    pub(crate) fn superblock(&self, at: Addr) -> Vec<u8> {
        let mut block = vec![0; self.block];
        block[..8].copy_from_slice(&MAGIC);
        put_u16(&mut block, 8, MAJOR);
        put_u16(&mut block, 10, MINOR);
        put_u32(&mut block, 20, self.features());
        block[24..40].copy_from_slice(&self.uuid);
        put_u64(&mut block, 40, self.hash_key[0]);
        put_u64(&mut block, 48, self.hash_key[1]);
        let numbers = [
            self.block as u32,
            self.segment,
            self.section_segments,
            self.sections,
            self.pack_segments,
            self.sit_segments,
            self.nat_segments,
            self.summary_segments,
            self.sit_blocks,
            self.nat_blocks,
            self.reserved,
        ];
        numbers.iter().enumerate().for_each(|(place, number)| put_u32(&mut block, 56 + 4 * place, *number));
        Seal::new(BlockKind::Super, 0, 0).close(&mut block, at);
        block
    }

    /// Reads a superblock that lies at an address. The block's length need not be the right one yet.
    ///
    /// # Errors
    /// It is none, or a newer one.
    pub(crate) fn read(block: &[u8], at: Addr) -> Result<Self, FormatError> {
        if block[..8] != MAGIC {
            return Err(FormatError::Other(other(block)));
        }
        if u16_at(block, 8) > MAJOR {
            return Err(FormatError::Newer(u16_at(block, 8), u16_at(block, 10)));
        }
        let numbers: Vec<u32> = (0..11).map(|place| u32_at(block, 56 + 4 * place)).collect();
        if numbers[0] as usize != block.len() || Seal::open(block, at).is_none_or(|seal| seal.kind != BlockKind::Super)
        {
            return Err(FormatError::Superblock);
        }
        let features = u32_at(block, 20);
        if features & !FEATURE_DATA_CHECKSUMS != 0 {
            return Err(FormatError::Features(features & !FEATURE_DATA_CHECKSUMS));
        }
        let has_checksums = features & FEATURE_DATA_CHECKSUMS != 0;
        let mut uuid = [0; 16];
        uuid.copy_from_slice(&block[24..40]);
        let geometry = Self {
            block: numbers[0] as usize,
            segment: numbers[1],
            section_segments: numbers[2],
            sections: numbers[3],
            pack_segments: numbers[4],
            sit_segments: numbers[5],
            nat_segments: numbers[6],
            summary_segments: numbers[7],
            sit_blocks: numbers[8],
            nat_blocks: numbers[9],
            reserved: numbers[10],
            data_checksums: if has_checksums { DataChecksums::Crc32c } else { DataChecksums::None },
            uuid,
            hash_key: [u64_at(block, 40), u64_at(block, 48)],
        };
        if geometry.is_sound() { Ok(geometry) } else { Err(FormatError::Superblock) }
    }

    /// Features without which it cannot be read.
    const fn features(&self) -> u32 {
        match self.data_checksums {
            DataChecksums::None => 0,
            DataChecksums::Crc32c => FEATURE_DATA_CHECKSUMS,
        }
    }

    /// Whether the areas hold what they are to hold.
    fn is_sound(&self) -> bool {
        let most = ((self.block - SEAL) / SUMMARY_ENTRY) as u64;
        let (segment, sections) = (u64::from(self.segment), u64::from(self.sections));
        let parts = [
            2 * self.pack_segments as u64,
            self.sit_segments.into(),
            self.nat_segments.into(),
            self.summary_segments.into(),
        ];
        let before: u64 = u64::from(SUPER_SEGMENTS) + parts.iter().sum::<u64>();
        let main = sections.saturating_mul(self.section_segments.into());
        let fits = before.saturating_add(main).saturating_mul(segment) <= u64::from(u32::MAX - 16);
        let section = segment * u64::from(self.section_segments);
        let cleaning = u64::from(self.logs_and_cleaning()) * section;
        (16..=most).contains(&segment)
            && self.section_segments > 0
            && self.pack_segments > 0
            && self.nat_blocks > 0
            && fits
            && 2 * u64::from(self.sit_blocks) <= u64::from(self.sit_segments) * segment
            && 2 * u64::from(self.nat_blocks) <= u64::from(self.nat_segments) * segment
            && main <= u64::from(self.summary_segments) * segment
            && main <= u64::from(self.sit_blocks) * u64::from(self.sit_entries())
            && (cleaning..main * segment).contains(&self.reserved.into())
    }

    /// Bytes of a block, of what may be a superblock.
    pub(crate) fn block_bytes(first: &[u8]) -> Option<usize> {
        let bytes = u32_at(first, 56);
        (first[..8] == MAGIC && bytes.is_power_of_two() && (4096..=65536).contains(&bytes)).then_some(bytes as usize)
    }
}

/// Where btrfs has its superblock.
pub(crate) const BTRFS_AT: u64 = 64 << 10;

/// Whether a block at [`BTRFS_AT`] is the superblock of btrfs.
pub(crate) fn is_btrfs(block: &[u8]) -> bool {
    block.get(0x40..0x48) == Some(b"_BHRfS_M")
}

/// The name of another file system whose first block this is.
pub(crate) fn other(block: &[u8]) -> Option<String> {
    let is = |at: usize, bytes: &[u8]| block.get(at..at + bytes.len()) == Some(bytes);
    let name = match () {
        () if is(0x400, &0xF2F5_2010_u32.to_le_bytes()) => "F2FS",
        () if is(0x438, &[0x53, 0xEF]) => "ext2, ext3 or ext4",
        () if is(0, b"XFSB") => "XFS",
        () if is(3, b"NTFS    ") => "NTFS",
        () if is(0x52, b"FAT32") || is(0x36, b"FAT1") => "FAT",
        () if is(0, b"LUKS\xba\xbe") => "a LUKS volume",
        () if is(0xFF6, b"SWAPSPACE2") => "a swap area",
        () if is(0x200, b"LABELONE") => "an LVM volume",
        () if is(0x200, b"EFI PART") => "a partition table",
        () => return None,
    };
    Some(name.to_owned())
}
