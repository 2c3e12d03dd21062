//! Where the blocks of a file lie: pointers in its inode, and in a tree of nodes below it.
//!
//! An inode has pointers of its own, two direct nodes, two indirect ones and a double indirect one, in this order. Nodes refer to each other by
//! number, so that a node that moves changes none above it.

use crate::data::Pointer;
use crate::error::{Answer, FsError};
use crate::geometry::Geometry;
use crate::inode::{BODY, Ino, NIDS, nid_at};
use crate::le::{put_u32, u32_at};
use crate::nat::NOT_WRITTEN;
use crate::pages::Index;
use crate::port::{Addr, Port};
use crate::room::{By, Need};
use crate::seal::BlockKind;
use crate::volume::Volume;

/// The pointer of a block that is lost.
pub(crate) const LOST: Addr = u32::MAX;
/// Levels of nodes below each of the five numbers in an inode.
pub(crate) const LEVELS: [u32; NIDS] = [0, 0, 1, 1, 2];
/// Most blocks of a file that a number of a block tells.
const INDEX_MAX: u64 = u32::MAX as u64 - 1;

/// A pointer: the node in which it lies, and which one it is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) nid: u32,
    pub(crate) slot: u32,
}

/// Whether nodes are made that are missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    Make,
    Leave,
}

/// Blocks of a file below a node of this level.
pub(crate) fn span(geometry: &Geometry, level: u32) -> u64 {
    u64::from(geometry.node_pointers()) * u64::from(geometry.node_children()).pow(level)
}

/// The number in an inode below which a block lies, and its place below it.
pub(crate) fn branch(geometry: &Geometry, index: Index) -> Option<(usize, u64)> {
    let mut rest = u64::from(index) - u64::from(geometry.inode_pointers());
    for (place, level) in LEVELS.into_iter().enumerate() {
        if rest < span(geometry, level) {
            return Some((place, rest));
        }
        rest -= span(geometry, level);
    }
    None
}

/// The first block of a file below a number in its inode.
fn start_of(geometry: &Geometry, place: usize) -> u64 {
    let before: u64 = LEVELS[..place].iter().map(|level| span(geometry, *level)).sum();
    u64::from(geometry.inode_pointers()) + before
}

/// Most blocks of a file: those to which pointers lead, and a number of 32 bits tells.
pub(crate) fn index_max(geometry: &Geometry) -> u64 {
    start_of(geometry, NIDS).min(INDEX_MAX)
}

impl<P: Port> Volume<P> {
    /// Where the pointer of a block lies; `None` if nodes above it are missing and stay so.
    pub(crate) fn slot(&mut self, ino: Ino, index: Index, missing: Missing) -> Answer<Option<Slot>> {
        let block = self.geometry.block;
        if index < self.geometry.inode_pointers() {
            self.inode(ino)?;
            return Ok(Some(Slot { nid: ino, slot: index }));
        }
        let Some((place, mut rest)) = branch(&self.geometry, index) else { return Err(FsError::TooLarge) };
        let (mut level, mut above, mut at) = (LEVELS[place], ino, nid_at(block, place));
        loop {
            let first = (u64::from(index) - rest) as u32;
            let mut nid = u32_at(&self.node(above)?.bytes, at);
            if nid == 0 {
                if missing == Missing::Leave {
                    return Ok(None);
                }
                let kind = if level == 0 { BlockKind::Direct } else { BlockKind::Indirect };
                nid = self.make_node(kind, Some(ino), first)?;
                put_u32(&mut self.node_mut(above)?.bytes, at, nid);
            }
            self.check_node(nid, ino, if level == 0 { BlockKind::Direct } else { BlockKind::Indirect })?;
            if level == 0 {
                return Ok(Some(Slot { nid, slot: rest as u32 }));
            }
            level -= 1;
            let below = span(&self.geometry, level);
            (above, at, rest) = (nid, 4 * (rest / below) as usize, rest % below);
        }
    }

    /// Refuses a node that is not what is expected: the device lost what was.
    pub(crate) fn check_node(&mut self, nid: u32, ino: Ino, kind: BlockKind) -> Answer<()> {
        let node = self.node(nid).map_err(|error| if error == FsError::NotFound { FsError::Io } else { error })?;
        if node.kind == kind && node.ino == ino { Ok(()) } else { Err(FsError::Io) }
    }

    /// Of nodes of a kind: where their pointers begin, how many there are, and bytes of each.
    const fn pointers_of(geometry: &Geometry, kind: BlockKind) -> (usize, u32, usize) {
        match kind {
            BlockKind::Inode => (BODY, geometry.inode_pointers(), geometry.pointer()),
            _ => (0, geometry.node_pointers(), geometry.pointer()),
        }
    }

    /// A pointer.
    pub(crate) fn pointer(&mut self, slot: Slot) -> Answer<Pointer> {
        let kind = self.node(slot.nid)?.kind;
        let (from, count, each) = Self::pointers_of(&self.geometry, kind);
        // A damaged summary may say anything.
        if slot.slot >= count {
            return Err(FsError::Io);
        }
        let node = self.nodes.get(slot.nid).ok_or(FsError::Io)?;
        Ok(Pointer::read(&node.bytes[from..], slot.slot, each))
    }

    /// Changes a pointer.
    pub(crate) fn set_pointer(&mut self, slot: Slot, to: Pointer) -> Answer<()> {
        let kind = self.node(slot.nid)?.kind;
        let (from, count, each) = Self::pointers_of(&self.geometry, kind);
        if slot.slot >= count {
            return Err(FsError::Io);
        }
        to.put(&mut self.node_mut(slot.nid)?.bytes[from..], slot.slot, each);
        Ok(())
    }

    /// The pointer of a block of a file; address 0 if it has none.
    pub(crate) fn lies_at(&mut self, ino: Ino, index: Index) -> Answer<Pointer> {
        match self.slot(ino, index, Missing::Leave)? {
            Some(slot) => self.pointer(slot),
            None => Ok(Pointer::HOLE),
        }
    }

    /// Promises a block of a file a place, if it has none.
    ///
    /// # Errors
    /// There is no room. Then nothing changed.
    pub(crate) fn promise(&mut self, ino: Ino, index: Index) -> Answer<()> {
        let need = self.need_of_block(ino, index)?;
        if need == Need::default() {
            return Ok(());
        }
        self.ask_room(need, By::Other)?;
        self.give_place(ino, index)
    }

    /// The same where there is room for it.
    pub(crate) fn give_place(&mut self, ino: Ino, index: Index) -> Answer<()> {
        let slot = self.slot(ino, index, Missing::Make)?.ok_or(FsError::TooLarge)?;
        if self.pointer(slot)?.is_charged() {
            return Ok(());
        }
        self.charged = self.charged.saturating_add(1);
        self.add_blocks(ino, 1)?;
        self.set_pointer(slot, Pointer::NOT_WRITTEN)
    }

    /// Gives up what a pointer points at.
    fn give_up(&mut self, ino: Ino, at: Addr) -> Answer<()> {
        if at == 0 || at == LOST {
            return Ok(());
        }
        if at != NOT_WRITTEN {
            self.segments.note_unused(&self.geometry, at);
        }
        self.charged = self.charged.saturating_sub(1);
        self.has_changed = true;
        self.add_blocks(ino, -1)
    }

    /// Gives up a block of a file.
    pub(crate) fn punch(&mut self, ino: Ino, index: Index) -> Answer<()> {
        self.pages.drop(ino, index);
        let Some(slot) = self.slot(ino, index, Missing::Leave)? else { return Ok(()) };
        let at = self.pointer(slot)?.at;
        if at != 0 {
            self.set_pointer(slot, Pointer::HOLE)?;
            self.give_up(ino, at)?;
        }
        Ok(())
    }

    /// The first block from an index on that has a pointer; `None` if none has.
    pub(crate) fn next_mapped(&mut self, ino: Ino, from: u64) -> Answer<Option<u64>> {
        let block = self.geometry.block;
        let own = u64::from(self.geometry.inode_pointers());
        for index in from..own {
            if self.pointer(Slot { nid: ino, slot: index as u32 })?.at != 0 {
                return Ok(Some(index));
            }
        }
        for (place, level) in LEVELS.into_iter().enumerate() {
            let start = start_of(&self.geometry, place);
            let end = start + span(&self.geometry, level);
            let nid = u32_at(&self.node(ino)?.bytes, nid_at(block, place));
            if from >= end || nid == 0 {
                continue;
            }
            if let Some(found) = self.next_below(nid, level, start, from.max(start))? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Of a node of a level: blocks of the file below each of its children, its children, and bytes of what leads to each.
    fn fan(&self, level: u32) -> (u64, u32, usize) {
        match level {
            0 => (1, self.geometry.node_pointers(), self.geometry.pointer()),
            level => (span(&self.geometry, level - 1), self.geometry.node_children(), 4),
        }
    }

    fn next_below(&mut self, nid: u32, level: u32, start: u64, from: u64) -> Answer<Option<u64>> {
        let (each, fan, bytes) = self.fan(level);
        for place in ((from - start) / each) as u32..fan {
            let child = u32_at(&self.node(nid)?.bytes, bytes * place as usize);
            let first = start + u64::from(place) * each;
            match (child, level) {
                (0, _) => {}
                (_, 0) => return Ok(Some(first)),
                (child, _) => {
                    if let Some(found) = self.next_below(child, level - 1, first, from.max(first))? {
                        return Ok(Some(found));
                    }
                }
            }
        }
        Ok(None)
    }

    /// Gives up all blocks of a file from an index on, and the nodes that are not needed any more.
    pub(crate) fn cut_off(&mut self, ino: Ino, from: u64) -> Answer<()> {
        self.pages.drop_from(ino, from.min(u64::from(Index::MAX)) as Index);
        let block = self.geometry.block;
        for index in from..u64::from(self.geometry.inode_pointers()) {
            let slot = Slot { nid: ino, slot: index as u32 };
            let at = self.pointer(slot)?.at;
            if at != 0 {
                self.set_pointer(slot, Pointer::HOLE)?;
                self.give_up(ino, at)?;
            }
        }
        for (place, level) in LEVELS.into_iter().enumerate() {
            let start = start_of(&self.geometry, place);
            let nid = u32_at(&self.node(ino)?.bytes, nid_at(block, place));
            if nid == 0 || from >= start + span(&self.geometry, level) {
                continue;
            }
            if self.cut_below(ino, nid, level, start, from)? {
                put_u32(&mut self.node_mut(ino)?.bytes, nid_at(block, place), 0);
            }
        }
        Ok(())
    }

    /// The same below a node. Returns whether it is gone.
    fn cut_below(&mut self, ino: Ino, nid: u32, level: u32, start: u64, from: u64) -> Answer<bool> {
        let (each, fan, bytes) = self.fan(level);
        let kind = if level == 0 { BlockKind::Direct } else { BlockKind::Indirect };
        self.check_node(nid, ino, kind)?;
        for place in (from.saturating_sub(start) / each) as u32..fan {
            let at = bytes * place as usize;
            let child = u32_at(&self.node(nid)?.bytes, at);
            let first = start + u64::from(place) * each;
            if child == 0 {
                continue;
            }
            let is_gone = if level == 0 {
                self.give_up(ino, child)?;
                true
            } else {
                self.cut_below(ino, child, level - 1, first, from)?
            };
            if is_gone {
                self.node_mut(nid)?.bytes[at..at + bytes].fill(0);
            }
        }
        if from > start {
            return Ok(false);
        }
        self.drop_node(nid)?;
        Ok(true)
    }
}
