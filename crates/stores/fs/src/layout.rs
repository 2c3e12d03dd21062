//! What a mounted file system tells of its own structures, for tools that look at them.

use crate::geometry::{DataChecksums, Geometry, SUPER_SEGMENTS};
use crate::inode::Ino;
use crate::port::{Addr, Port};
use crate::segments::Log;
use crate::volume::{Damaged, Volume};

/// An area of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Area {
    /// What is in it.
    pub name: &'static str,
    /// Its first block.
    pub first: Addr,
    /// Its blocks.
    pub blocks: u32,
}

/// Where one of the logs writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogHead {
    /// What it takes.
    pub name: &'static str,
    /// Its segment of the main area.
    pub segment: u32,
    /// Blocks of that which are written.
    pub written: u32,
}

/// How segments of the main area are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SegmentStates {
    /// Nothing in them is in use, now and in the last checkpoint.
    pub free: u32,
    /// Their section is one to which a log writes.
    pub open: u32,
    /// All their blocks are in use.
    pub full: u32,
    /// Some of their blocks are in use, or those of their section.
    pub partly: u32,
}

/// See the head of this file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Identity of the file system.
    pub uuid: [u8; 16],
    /// Whether the first superblock is damaged, and the second was taken.
    pub lacks_first_superblock: bool,
    /// Bytes of a block.
    pub block_bytes: u32,
    /// Blocks of a segment.
    pub segment_blocks: u32,
    /// Segments of a section.
    pub section_segments: u32,
    /// Sections of the main area.
    pub sections: u32,
    /// Blocks of the main area that no user gets.
    pub reserved_blocks: u32,
    /// The size to which it can grow, in bytes of the device.
    pub greatest_bytes: u64,
    /// Whether data have checksums.
    pub data_checksums: DataChecksums,
    /// All areas, in order.
    pub areas: Vec<Area>,
    /// Version of the next checkpoint.
    pub next_version: u64,
    /// Whether it was unmounted after the last checkpoint.
    pub was_clean: bool,
    /// Blocks of the main area in use.
    pub used_blocks: u64,
    /// Nodes, inodes among them.
    pub nodes: u32,
    /// Files without a name that are in use, or were when it was used last.
    pub orphans: Vec<Ino>,
    /// The logs.
    pub logs: Vec<LogHead>,
    /// Segments by state.
    pub segments: SegmentStates,
}

impl Geometry {
    fn areas(&self) -> Vec<Area> {
        let segments = [
            ("superblocks", SUPER_SEGMENTS),
            ("checkpoints", 2 * self.pack_segments),
            ("segment information", self.sit_segments),
            ("node addresses", self.nat_segments),
            ("summaries", self.summary_segments),
            ("main", self.main_segments()),
        ];
        let mut first = 0;
        let area = |(name, segments): (&'static str, u32)| {
            let area = Area { name, first, blocks: segments * self.segment };
            first += area.blocks;
            area
        };
        segments.into_iter().map(area).collect()
    }
}

impl Log {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::HotNode => "hot nodes",
            Self::WarmNode => "warm nodes",
            Self::ColdNode => "cold nodes",
            Self::HotData => "hot data",
            Self::WarmData => "warm data",
            Self::ColdData => "cold data",
        }
    }
}

impl<P: Port> Volume<P> {
    /// What it knows of its own structures.
    pub fn layout(&self) -> Layout {
        let geometry = &self.geometry;
        let heads = Log::ALL.into_iter().zip(&self.segments.heads);
        Layout {
            uuid: geometry.uuid,
            lacks_first_superblock: self.damaged.contains(&Damaged::Superblock),
            block_bytes: geometry.block as u32,
            segment_blocks: geometry.segment,
            section_segments: geometry.section_segments,
            sections: geometry.sections,
            reserved_blocks: geometry.reserved,
            greatest_bytes: self.greatest(),
            data_checksums: geometry.data_checksums,
            areas: geometry.areas(),
            next_version: self.version,
            was_clean: self.was_clean,
            used_blocks: self.segments.used(),
            nodes: self.node_count,
            orphans: self.orphans.iter().copied().collect(),
            logs: heads
                .map(|(log, head)| LogHead { name: log.name(), segment: head.segment, written: head.next })
                .collect(),
            segments: self.segments.states(),
        }
    }
}
