//! The node address table (NAT): where each node lies. Each of its blocks is there twice; the checkpoint says which copy holds.

use std::collections::{BTreeMap, BTreeSet};

use crate::geometry::{Geometry, JOURNAL_MAX, NAT_ENTRY};
use crate::le::{put_u32, u32_at};
use crate::port::{Addr, Fault, Port, Use};
use crate::seal::{BlockKind, Seal};

/// An entry: where a node lies, and the inode to which it belongs. Address 0: there is no such node. [`NOT_WRITTEN`]: it is in memory alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct NatEntry {
    pub(crate) at: Addr,
    pub(crate) ino: u32,
}

/// The address of a block that was promised and not written yet.
pub(crate) const NOT_WRITTEN: Addr = u32::MAX - 1;

/// See the head of this file. Blocks are read when they are needed.
#[derive(Clone)]
pub(crate) struct Nat {
    blocks: Vec<Option<Box<[NatEntry]>>>,
    /// Which copy of each block holds.
    pub(crate) live: Vec<u8>,
    /// Entries that the checkpoint has instead.
    pub(crate) journal: BTreeMap<u32, NatEntry>,
    changed: BTreeSet<u32>,
    /// Where the search for a free number goes on.
    pub(crate) next: u32,
    /// Numbers that became free since the checkpoint. A roll-forward could mistake a new node for the old one.
    freed: BTreeSet<u32>,
    /// Numbers that are free, and found.
    found: BTreeSet<u32>,
}

impl Nat {
    pub(crate) fn new(geometry: &Geometry) -> Self {
        Self {
            blocks: vec![None; geometry.nat_blocks as usize],
            live: vec![0; geometry.nat_blocks as usize],
            journal: BTreeMap::new(),
            changed: BTreeSet::new(),
            next: 1,
            freed: BTreeSet::new(),
            found: BTreeSet::new(),
        }
    }

    fn load(&mut self, geometry: &Geometry, port: &mut impl Port, block: u32) -> Result<&mut [NatEntry], Fault> {
        if self.blocks[block as usize].is_none() {
            self.blocks[block as usize] = Some(self.read(geometry, port, block)?);
        }
        Ok(self.blocks[block as usize].as_mut().map(AsMut::as_mut).unwrap_or_default())
    }

    /// The entries of a block as the last checkpoint has them. They are not kept.
    pub(crate) fn read(&self, geometry: &Geometry, port: &mut impl Port, block: u32) -> Result<Box<[NatEntry]>, Fault> {
        let at = geometry.nat(block, u32::from(self.live[block as usize]));
        let mut bytes = vec![0; geometry.block];
        port.read(at, &mut bytes)?;
        let seal = Seal::open(&bytes, at).filter(|seal| seal.kind == BlockKind::Nat && seal.owner == block);
        let per_block = geometry.nat_entries();
        let mut entries = vec![NatEntry::default(); per_block as usize];
        match seal {
            Some(_) => entries.iter_mut().enumerate().for_each(|(place, entry)| {
                let at = place * NAT_ENTRY;
                *entry = NatEntry { at: u32_at(&bytes, at), ino: u32_at(&bytes, at + 4) };
            }),
            // A copy that was never written is all zeros.
            None if bytes.iter().all(|byte| *byte == 0) => {}
            None => return Err(Fault::Medium),
        }
        let first = block * per_block;
        for (nid, entry) in self.journal.range(first..first + per_block) {
            entries[(nid - first) as usize] = *entry;
        }
        Ok(entries.into_boxed_slice())
    }

    pub(crate) fn get(&mut self, geometry: &Geometry, port: &mut impl Port, nid: u32) -> Result<NatEntry, Fault> {
        if nid == 0 || nid >= geometry.nodes() {
            return Ok(NatEntry::default());
        }
        let per_block = geometry.nat_entries();
        Ok(self.load(geometry, port, nid / per_block)?[(nid % per_block) as usize])
    }

    pub(crate) fn set(
        &mut self,
        geometry: &Geometry,
        port: &mut impl Port,
        nid: u32,
        entry: NatEntry,
    ) -> Result<(), Fault> {
        let per_block = geometry.nat_entries();
        let slot = &mut self.load(geometry, port, nid / per_block)?[(nid % per_block) as usize];
        let before = std::mem::replace(slot, entry);
        // A node that was never written left nothing behind.
        if before.at != 0 && before.at != NOT_WRITTEN && entry.at == 0 {
            self.freed.insert(nid);
        }
        self.changed.insert(nid);
        Ok(())
    }

    /// Finds free numbers, which then can be taken. Returns whether it found `count`.
    pub(crate) fn find_free(&mut self, geometry: &Geometry, port: &mut impl Port, count: usize) -> Result<bool, Fault> {
        let all = geometry.nodes();
        for _ in 0..all {
            if self.found.len() >= count {
                return Ok(true);
            }
            let nid = if self.next < all { self.next.max(1) } else { 1 };
            self.next = if nid + 1 >= all { 1 } else { nid + 1 };
            if self.get(geometry, port, nid)?.at == 0 && !self.freed.contains(&nid) {
                self.found.insert(nid);
            }
        }
        Ok(self.found.len() >= count)
    }

    /// Takes a free number; `None` if there is none.
    pub(crate) fn take(&mut self, geometry: &Geometry, port: &mut impl Port) -> Result<Option<u32>, Fault> {
        self.find_free(geometry, port, 1)?;
        Ok(self.found.pop_first())
    }

    /// Nothing else takes this number before the next checkpoint.
    pub(crate) fn keep(&mut self, nid: u32) {
        self.found.remove(&nid);
        self.freed.insert(nid);
    }

    /// Whether the next checkpoint makes numbers free.
    pub(crate) fn has_freed(&self) -> bool {
        !self.freed.is_empty()
    }

    /// Writes what changed, for a checkpoint: into the journal if it is little, otherwise into the copies that do not hold.
    pub(crate) fn write(&mut self, geometry: &Geometry, port: &mut impl Port, version: u64) -> Result<(), Fault> {
        let mut all: BTreeSet<u32> = self.journal.keys().copied().collect();
        all.extend(&self.changed);
        self.changed.clear();
        if all.len() <= JOURNAL_MAX {
            for nid in all {
                let entry = self.get(geometry, port, nid)?;
                self.journal.insert(nid, entry);
            }
            return Ok(());
        }
        let per_block = geometry.nat_entries();
        let blocks: BTreeSet<u32> = all.iter().map(|nid| nid / per_block).collect();
        for block in blocks {
            let mut bytes = vec![0; geometry.block];
            for (place, entry) in self.load(geometry, port, block)?.iter().enumerate() {
                put_u32(&mut bytes, place * NAT_ENTRY, entry.at);
                put_u32(&mut bytes, place * NAT_ENTRY + 4, entry.ino);
            }
            let copy = 1 - self.live[block as usize];
            let at = geometry.nat(block, u32::from(copy));
            Seal::new(BlockKind::Nat, block, version).close(&mut bytes, at);
            port.write(at, &bytes, Use::Meta)?;
            self.live[block as usize] = copy;
        }
        self.journal.clear();
        Ok(())
    }

    /// A checkpoint is durable.
    pub(crate) fn settled(&mut self) {
        self.freed.clear();
    }
}
