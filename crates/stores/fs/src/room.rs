//! Room: blocks and numbers of nodes that users can still have, and what a call takes of them.
//!
//! A call asks for all that it takes before it changes anything, so that one that finds no room changes nothing. What becomes free only with the next
//! checkpoint counts as free: a checkpoint is made before a call is told that there is no room.

use std::collections::BTreeSet;
use std::ops::{Add, Range};

use crate::checkpoint::Why;
use crate::directory::Gap;
use crate::error::{Answer, FsError};
use crate::inode::{FLAG_INLINE, Ino, nid_at};
use crate::le::u32_at;
use crate::map::{LEVELS, Missing, Slot, branch, span};
use crate::pages::Index;
use crate::port::Port;
use crate::volume::{Space, Volume};

/// Blocks beyond those of users that renames alone get: a name that moves may need a block of its new directory, and nodes above that. What becomes
/// free is given to them first.
const BLOCKS_FOR_RENAMES: u64 = 8;
/// Numbers of nodes that renames alone get.
const NUMBERS_FOR_RENAMES: u64 = 4;

/// What a call takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Need {
    /// Blocks, of data and of nodes.
    pub(crate) blocks: u64,
    /// Of these, nodes.
    pub(crate) nodes: u64,
}

impl Need {
    /// One node.
    pub(crate) const NODE: Self = Self { blocks: 1, nodes: 1 };
    /// One block of data.
    pub(crate) const BLOCK: Self = Self { blocks: 1, nodes: 0 };
}

impl Add for Need {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { blocks: self.blocks + other.blocks, nodes: self.nodes + other.nodes }
    }
}

/// Who asks for room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    /// A rename, which leaves as many names as there were.
    Rename,
    /// Any other call.
    Other,
}

impl<P: Port> Volume<P> {
    /// Blocks for users, if N sections may hold something.
    pub(crate) fn user_blocks_of(&self, sections: u32) -> u64 {
        self.geometry.user_blocks_of(sections)
    }

    /// Blocks for users.
    pub(crate) fn user_blocks(&self) -> u64 {
        let target = self.target.map_or(u32::MAX, |target| target.sections);
        self.user_blocks_of(self.segments.cap.min(self.segments.end).min(target))
    }

    /// Blocks that users can still have.
    fn room(&self) -> u64 {
        self.user_blocks().saturating_sub(self.charged)
    }

    /// Numbers that nodes of users can still have.
    fn numbers(&self) -> u64 {
        (u64::from(self.geometry.nodes()) - 1).saturating_sub(u64::from(self.node_count) + NUMBERS_FOR_RENAMES)
    }

    /// What `statfs` tells.
    pub fn space(&self) -> Space {
        let left = self.numbers().min(self.room());
        Space {
            block_bytes: self.geometry.block as u32,
            blocks: self.user_blocks(),
            free: self.room(),
            files: u64::from(self.node_count) + left,
            files_free: left,
            name_max: 255,
        }
    }

    /// Makes sure that there is room for what a call takes, before it changes anything.
    ///
    /// # Errors
    /// There is none, or the device failed.
    pub(crate) fn ask_room(&mut self, need: Need, by: By) -> Answer<()> {
        let (mut blocks, mut numbers) = (self.room(), self.numbers());
        if by == By::Rename {
            // A target would get out of reach.
            let beyond = if self.target.is_none() { BLOCKS_FOR_RENAMES } else { 0 };
            blocks = (self.user_blocks() + beyond).saturating_sub(self.charged);
            numbers = (u64::from(self.geometry.nodes()) - 1).saturating_sub(self.node_count.into());
        }
        if need.blocks > blocks || need.nodes > numbers {
            return Err(FsError::NoSpace);
        }
        let wanted = need.nodes as usize;
        if self.nat.find_free(&self.geometry, &mut self.port, wanted)? {
            return Ok(());
        }
        if self.nat.has_freed() {
            self.checkpoint(Why::Sync)?;
        }
        if self.nat.find_free(&self.geometry, &mut self.port, wanted)? { Ok(()) } else { Err(FsError::NoSpace) }
    }

    /// What a block of a file takes, if it has none: itself, and the nodes above it that are missing.
    pub(crate) fn need_of_block(&mut self, ino: Ino, index: Index) -> Answer<Need> {
        let slot = self.slot(ino, index, Missing::Leave)?;
        let nodes = match slot {
            Some(slot) if self.pointer(slot)?.is_charged() => return Ok(Need::default()),
            Some(_) => 0,
            None => self.missing_above(ino, index)?.len() as u64,
        };
        Ok(Need { blocks: 1 + nodes, nodes })
    }

    /// What a name takes of its directory.
    pub(crate) fn need_of_gap(&mut self, dir: Ino, gap: &Gap) -> Answer<Need> {
        self.need_of_block(dir, gap.block())
    }

    /// What those of a range of blocks of a file take that it has not. The data of one that lie in its inode leave that.
    pub(crate) fn need_of(&mut self, ino: Ino, range: Range<u64>) -> Answer<Need> {
        let inode = self.inode(ino)?;
        let (is_inline, has_data) = (inode.has(FLAG_INLINE), inode.inline_size() > 0);
        let leaves = if is_inline && has_data && !range.contains(&0) { Need::BLOCK } else { Need::default() };
        let (mut need, mut nodes) = (leaves, BTreeSet::new());
        // More than there can be need not be counted.
        let most = self.user_blocks();
        let mut at = range.start;
        while at < range.end && need.blocks + nodes.len() as u64 <= most {
            let index = at as Index;
            let end = self.end_of_pointers(index)?.min(range.end);
            let slot = if is_inline { None } else { self.slot(ino, index, Missing::Leave)? };
            match slot {
                Some(slot) => {
                    for place in 0..(end - at) as u32 {
                        let pointer = self.pointer(Slot { slot: slot.slot + place, ..slot })?;
                        need.blocks += u64::from(!pointer.is_charged());
                    }
                }
                None => {
                    need.blocks += end - at;
                    nodes.extend(if is_inline { self.all_above(index) } else { self.missing_above(ino, index)? });
                }
            }
            at = end;
        }
        let nodes = nodes.len() as u64;
        Ok(need + Need { blocks: nodes, nodes })
    }

    /// The end of the blocks whose pointers lie in the same node as that of a block.
    fn end_of_pointers(&self, index: Index) -> Answer<u64> {
        let own = self.geometry.inode_pointers();
        if index < own {
            return Ok(own.into());
        }
        let (_, rest) = branch(&self.geometry, index).ok_or(FsError::TooLarge)?;
        let pointers = u64::from(self.geometry.node_pointers());
        Ok(u64::from(index) - rest % pointers + pointers)
    }

    /// The nodes above a block that its file has not: the level of each, and its first block.
    fn missing_above(&mut self, ino: Ino, index: Index) -> Answer<Vec<(u32, u64)>> {
        let mut all = self.all_above(index);
        let Some((place, mut rest)) = branch(&self.geometry, index).filter(|_| !all.is_empty()) else { return Ok(all) };
        let (mut above, mut at, mut there) = (ino, nid_at(self.geometry.block, place), 0);
        for level in (0..=LEVELS[place]).rev() {
            let nid = u32_at(&self.node(above)?.bytes, at);
            if nid == 0 {
                break;
            }
            there += 1;
            if level > 0 {
                let below = span(&self.geometry, level - 1);
                (above, at, rest) = (nid, 4 * (rest / below) as usize, rest % below);
            }
        }
        Ok(all.split_off(there))
    }

    /// All nodes above a block, the inode left out, from the highest on.
    fn all_above(&self, index: Index) -> Vec<(u32, u64)> {
        if index < self.geometry.inode_pointers() {
            return Vec::new();
        }
        let Some((place, rest)) = branch(&self.geometry, index) else { return Vec::new() };
        let level = |level| (level, u64::from(index) - rest % span(&self.geometry, level));
        (0..=LEVELS[place]).rev().map(level).collect()
    }
}
