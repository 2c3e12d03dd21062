//! Fsyncs: what a program wants durable is written with its nodes, in a chain that a mount follows (roll-forward).

use std::collections::{BTreeMap, BTreeSet};

use crate::checkpoint::{Pack, Why};
use crate::data::Pointer;
use crate::error::{Answer, FsError};
use crate::geometry::DataChecksums;
use crate::inode::{BLOCKS, BODY, FLAG_INLINE, FileKind, Ino, Inode, InodeMut, LINKS, NIDS, ROOT, nid_at};
use crate::le::{put_u32, put_u64, u32_at};
use crate::map::{LEVELS, Missing, Slot};
use crate::nat::{NOT_WRITTEN, NatEntry};
use crate::nodes::Node;
use crate::port::{Addr, Barrier, Port};
use crate::seal::{BlockKind, MARK_FSYNC, MARK_LAST, MARK_NAME, Seal};
use crate::segments::{Head, Log, Owner, read_summary, write_summary};
use crate::volume::{Damaged, Mode, Volume};

/// Directories above a file that are looked at. A damaged one may lie in itself.
const DEPTH_MAX: u32 = 1024;

/// A node of the chain.
struct Found {
    seal: Seal,
    bytes: Vec<u8>,
}

/// The nodes that were written after a checkpoint, each of which says where the next one lies.
pub(crate) struct Chain {
    nodes: Vec<Found>,
    /// The sections in which they lie.
    places: BTreeSet<u32>,
    /// Where the next one would lie.
    end: Addr,
}

impl<P: Port> Volume<P> {
    /// Makes a file durable, with all its names.
    ///
    /// # Errors
    /// The device failed, or lost some of it.
    pub fn fsync(&mut self, ino: Ino) -> Answer<()> {
        match self.mode {
            Mode::ReadOnly => return Ok(()),
            Mode::Failed => return Err(FsError::Io),
            Mode::ReadWrite => {}
        }
        let attr = self.attr(ino)?;
        // The last checkpoint does not have this mount's number yet, by which a roll-forward knows its nodes.
        let is_first = self.counted.checkpoints == 0;
        let is_entangled = is_first || self.entangled.contains(&ino) || (attr.links > 0 && self.has_new_path(ino)?);
        if attr.kind != FileKind::File || attr.links > 1 || is_entangled {
            return if self.has_changed { self.checkpoint(Why::Sync) } else { self.flush(Barrier::Nodes) };
        }
        self.balance()?;
        self.write_back(Some(ino))?;
        let mut nodes: Vec<u32> = self.dirty.iter().copied().filter(|nid| self.is_of(*nid, ino)).collect();
        if nodes.is_empty() {
            return self.flush(Barrier::Nodes);
        }
        if self.geometry.data_checksums == DataChecksums::None {
            // No node may say where data lie that are not there. Where data have checksums, a mount finds that out.
            self.flush(Barrier::Data)?;
        }
        nodes.retain(|nid| *nid != ino);
        nodes.push(ino);
        let name = if self.newborn.contains(&ino) { MARK_NAME } else { 0 };
        for nid in nodes {
            let marks = MARK_FSYNC | if nid == ino { MARK_LAST | name } else { 0 };
            let wrote = self.write_node(nid, marks);
            wrote.map_err(|fault| self.fail(fault))?;
        }
        self.flush(Barrier::Nodes)
    }

    /// Whether a directory above a file is new since the checkpoint, or was renamed. A roll-forward knows neither.
    fn has_new_path(&mut self, ino: Ino) -> Answer<bool> {
        let mut at = self.parent_of(ino)?;
        for _ in 0..DEPTH_MAX {
            if self.newborn.contains(&at) || self.entangled.contains(&at) {
                return Ok(true);
            }
            if at == ROOT {
                return Ok(false);
            }
            // Where the device lost one, all is written.
            let Ok(above) = self.parent_of(at) else { return Ok(true) };
            at = above;
        }
        Ok(true)
    }

    fn flush(&mut self, barrier: Barrier) -> Answer<()> {
        self.port.flush(barrier).map_err(|fault| self.fail(fault))
    }

    /// Whether a node is the inode of a file or points at its data.
    fn is_of(&self, nid: u32, ino: Ino) -> bool {
        let is_pointing = |node: &Node| matches!(node.kind, BlockKind::Inode | BlockKind::Direct);
        self.nodes.get(nid).is_some_and(|node| node.ino == ino && is_pointing(node))
    }

    /// Does again what was made durable after the checkpoint. Returns whether there was anything.
    pub(crate) fn roll_forward(&mut self, chain: Chain, mode: Mode) -> Answer<bool> {
        let Chain { nodes: mut chain, places, .. } = chain;
        if places.is_empty() {
            return Ok(false);
        }
        self.drop_torn(&mut chain);
        let mut groups: BTreeMap<Ino, Vec<Found>> = BTreeMap::new();
        let mut whole: Vec<(Ino, Vec<Found>)> = Vec::new();
        for found in chain {
            let Seal { marks, ino, .. } = found.seal;
            if marks & MARK_FSYNC == 0 || ino == 0 || ino >= self.geometry.nodes() {
                continue;
            }
            groups.entry(ino).or_default().push(found);
            if marks & MARK_LAST != 0
                && let Some(group) = groups.remove(&ino)
            {
                whole.push((ino, group));
            }
        }
        // What is made anew for one file takes no number of another that is still to come.
        whole.iter().for_each(|(ino, _)| self.nat.keep(*ino));
        let mut owners = BTreeMap::new();
        for (ino, group) in whole {
            self.recover(ino, &group, &mut owners)?;
        }
        if mode == Mode::ReadWrite {
            self.end_logs(&places, owners)?;
        }
        Ok(true)
    }

    /// The nodes that were written after the checkpoint whose seals have a version.
    pub(crate) fn chain(&mut self, version: u64) -> Chain {
        let head = &self.segments.heads[Log::WarmNode as usize];
        let mut at: Addr = self.geometry.main() + head.segment * self.geometry.segment + head.next;
        let (mut nodes, mut places) = (Vec::new(), BTreeSet::new());
        let mut seen = BTreeSet::new();
        while self.geometry.is_main(at) && seen.insert(at) {
            let mut bytes = vec![0; self.geometry.block];
            if self.port.read(at, &mut bytes).is_err() {
                break;
            }
            let is_next = |seal: &Seal| seal.kind.is_node() && seal.version == version;
            let Some(seal) = Seal::open(&bytes, at).filter(is_next) else { break };
            places.insert((at - self.geometry.main()) / self.geometry.section());
            nodes.push(Found { seal, bytes });
            at = seal.next;
        }
        Chain { nodes, places, end: at }
    }

    /// What must have been durable after a checkpoint, and is not there. A cut of the power leaves chains that end early, too: that something was
    /// durable is known where something lies behind that was written only after a flush.
    pub(crate) fn missing_after(&mut self, chain: &Chain, pack: &Pack) -> Option<Damaged> {
        let (version, end) = (pack.seal_version, chain.end);
        // Nodes of the same mount and a later version are written once its checkpoint is durable. Other mounts have other numbers.
        let newer = self.seal_at(end).map(|seal| seal.version).filter(|newer| *newer as u32 == version as u32);
        if let Some(newer) = newer.map(|newer| newer >> 32).filter(|newer| *newer > pack.version) {
            return Some(Damaged::Checkpoint(newer, pack.version, None));
        }
        // The fsync to which the last node of the chain belongs, if it goes on.
        let is_open = |seal: &Seal| seal.marks & MARK_FSYNC != 0 && seal.marks & MARK_LAST == 0;
        let open = chain.nodes.last().map(|found| found.seal).filter(is_open).map(|seal| seal.ino);
        let (section, main) = (self.geometry.section(), self.geometry.main());
        let behind = main + (end.saturating_sub(main) / section + 1) * section;
        let mut has_ended = false;
        for at in end + 1..behind {
            let Some(seal) = self.seal_at(at).filter(|seal| seal.version == version) else { continue };
            if has_ended || open.is_some_and(|ino| ino != seal.ino) {
                return Some(Damaged::Synchronized(end, pack.version));
            }
            has_ended = seal.marks & MARK_LAST != 0;
        }
        None
    }

    /// Where data have checksums, an fsync writes its nodes without waiting for its data: if it did not end, any of them may be missing. That can be
    /// the last one of the chain alone, since each ends with a flush before another node is written. It is left out if data of its own are missing.
    fn drop_torn(&mut self, chain: &mut Vec<Found>) {
        if self.geometry.data_checksums == DataChecksums::None {
            return;
        }
        let before = &chain[..chain.len().saturating_sub(1)];
        let from = before.iter().rposition(|found| found.seal.marks & MARK_LAST != 0).map_or(0, |last| last + 1);
        let ino = chain[from].seal.ino;
        let is_of = |found: &&Found| found.seal.ino == ino && found.seal.marks & MARK_FSYNC != 0;
        let pointers = |found: &Found| self.pointers_in(found);
        let earlier: BTreeSet<Addr> =
            chain[..from].iter().filter(is_of).flat_map(pointers).map(|(_, pointer)| pointer.at).collect();
        let mut bytes = vec![0; self.geometry.block];
        let torn = (from..chain.len()).find(|place| {
            let found = &chain[*place];
            found.seal.marks & MARK_FSYNC != 0
                && self.pointers_in(found).into_iter().any(|(slot, pointer)| {
                    let is_own = pointer.is_block() && self.is_new(pointer) && !earlier.contains(&pointer.at);
                    let owner = (found.seal.ino, found.seal.first.saturating_add(slot));
                    is_own && self.read_data(owner, pointer, &mut bytes).is_err()
                })
        });
        chain.truncate(torn.unwrap_or(chain.len()));
    }

    /// Recovers a file from the nodes of one fsync.
    fn recover(&mut self, ino: Ino, group: &[Found], owners: &mut BTreeMap<Addr, Owner>) -> Answer<()> {
        let Some(last) = group.last().filter(|last| last.seal.kind == BlockKind::Inode) else { return Ok(()) };
        let is_known = self.nat.get(&self.geometry, &mut self.port, ino)?.at != 0;
        if !is_known {
            if last.seal.marks & MARK_NAME == 0 {
                return Ok(());
            }
            self.adopt(ino, last)?;
        }
        let (is_inline, size) = (Inode(&last.bytes).has(FLAG_INLINE), Inode(&last.bytes).size());
        self.take_inode(ino, last, owners)?;
        if !is_inline {
            self.cut_off(ino, size.div_ceil(self.geometry.block as u64))?;
        }
        for found in group {
            if found.seal.kind == BlockKind::Direct {
                let first = found.seal.first;
                let Some(slot) = self.slot(ino, first, Missing::Make)? else { continue };
                for (place, to) in self.pointers_in(found) {
                    self.take_pointer(Slot { slot: place, ..slot }, to, owners)?;
                }
            }
        }
        let blocks = self.blocks_of(ino)?;
        put_u64(&mut self.node_mut(ino)?.bytes, BLOCKS, blocks);
        if !is_known {
            self.name_again(ino)?;
        }
        self.counted.recovered += 1;
        Ok(())
    }

    /// A file that the checkpoint does not know.
    fn adopt(&mut self, ino: Ino, found: &Found) -> Answer<()> {
        self.nat.set(&self.geometry, &mut self.port, ino, NatEntry { at: NOT_WRITTEN, ino })?;
        let mut bytes = vec![0; self.geometry.block].into_boxed_slice();
        // Its pointers are taken one by one.
        bytes[..BODY].copy_from_slice(&found.bytes[..BODY]);
        self.nodes.insert(ino, Node { bytes, kind: BlockKind::Inode, ino, first: 0, is_dirty: true });
        self.dirty.insert(ino);
        self.charged = self.charged.saturating_add(1);
        self.node_count = self.node_count.saturating_add(1);
        self.generation = self.generation.max(u32_at(&found.bytes, crate::inode::GENERATION));
        Ok(())
    }

    /// Takes attributes, pointers and inline data of an inode. The nodes below it stay those of the checkpoint.
    fn take_inode(&mut self, ino: Ino, found: &Found, owners: &mut BTreeMap<Addr, Owner>) -> Answer<()> {
        let from = found.bytes.as_slice();
        let (block, is_inline) = (self.geometry.block, Inode(from).has(FLAG_INLINE));
        let was_inline = self.inode(ino)?.has(FLAG_INLINE);
        let body_end = nid_at(block, NIDS);
        if is_inline && !was_inline {
            self.cut_off(ino, 0)?;
        }
        let node = self.node_mut(ino)?;
        let attributes = u32_at(&node.bytes, crate::inode::ATTRIBUTES);
        node.bytes[..BODY].copy_from_slice(&from[..BODY]);
        put_u32(&mut node.bytes, crate::inode::ATTRIBUTES, attributes);
        if is_inline {
            node.bytes[BODY..body_end].copy_from_slice(&from[BODY..body_end]);
            return Ok(());
        }
        if was_inline {
            node.bytes[BODY..body_end].fill(0);
        }
        for (slot, to) in self.pointers_in(found) {
            self.take_pointer(Slot { nid: ino, slot }, to, owners)?;
        }
        Ok(())
    }

    /// Sets a pointer to where data lie that the checkpoint does not know.
    fn take_pointer(&mut self, slot: Slot, to: Pointer, owners: &mut BTreeMap<Addr, Owner>) -> Answer<()> {
        let before = self.pointer(slot)?;
        if before == to {
            return Ok(());
        }
        if before.is_charged() {
            self.charged = self.charged.saturating_sub(1);
            if before.is_block() {
                self.segments.note_unused(&self.geometry, before.at);
                owners.remove(&before.at);
            }
        }
        let is_sound = !to.is_block() || self.is_new(to);
        let to = if is_sound { to } else { Pointer::LOST };
        if to.is_charged() {
            self.charged = self.charged.saturating_add(1);
            if to.is_block() {
                self.segments.note_used(&self.geometry, to.at);
                owners.insert(to.at, Owner { nid: slot.nid, slot: slot.slot as u16 });
            }
        }
        self.set_pointer(slot, to)
    }

    /// Whether a pointer leads to a block that was written after the checkpoint.
    fn is_new(&self, to: Pointer) -> bool {
        self.geometry.is_main(to.at) && !self.segments.is_used(&self.geometry, to.at)
    }

    /// The pointers to data in a node of the chain.
    fn pointers_in(&self, found: &Found) -> Vec<(u32, Pointer)> {
        let (from, count) = match found.seal.kind {
            BlockKind::Inode if Inode(&found.bytes).has(FLAG_INLINE) => (BODY, 0),
            BlockKind::Inode => (BODY, self.geometry.inode_pointers()),
            BlockKind::Direct => (0, self.geometry.node_pointers()),
            _ => (0, 0),
        };
        let each = self.geometry.pointer();
        (0..count).map(|slot| (slot, Pointer::read(&found.bytes[from..], slot, each))).collect()
    }

    /// Blocks that a file has, its nodes included.
    pub(crate) fn blocks_of(&mut self, ino: Ino) -> Answer<u64> {
        let block = self.geometry.block;
        let attributes = u64::from(u32_at(&self.node(ino)?.bytes, crate::inode::ATTRIBUTES) != 0);
        if self.inode(ino)?.has(FLAG_INLINE) {
            return Ok(1 + attributes);
        }
        let mut count = 1 + attributes;
        for slot in 0..self.geometry.inode_pointers() {
            count += u64::from(self.pointer(Slot { nid: ino, slot })?.is_charged());
        }
        for (place, level) in LEVELS.into_iter().enumerate() {
            let nid = u32_at(&self.node(ino)?.bytes, nid_at(block, place));
            if nid != 0 {
                count += self.blocks_below(nid, level)?;
            }
        }
        Ok(count)
    }

    fn blocks_below(&mut self, nid: u32, level: u32) -> Answer<u64> {
        let is_direct = level == 0;
        if (self.node(nid)?.kind == BlockKind::Direct) != is_direct {
            return Err(FsError::Io);
        }
        let mut count = 1;
        if is_direct {
            for slot in 0..self.geometry.node_pointers() {
                count += u64::from(self.pointer(Slot { nid, slot })?.is_charged());
            }
            return Ok(count);
        }
        for place in 0..self.geometry.node_children() {
            let child = u32_at(&self.node(nid)?.bytes, 4 * place as usize);
            count += if child == 0 { 0 } else { self.blocks_below(child, level - 1)? };
        }
        Ok(count)
    }

    /// Gives a recovered file its name, in a directory of the checkpoint.
    fn name_again(&mut self, ino: Ino) -> Answer<()> {
        let inode = self.inode(ino)?;
        let (parent, name, kind) = (inode.parent(), inode.name().to_vec(), inode.kind().ok_or(FsError::Io)?);
        let is_there = self.directory(parent).is_ok();
        if !is_there || self.find(parent, &name)?.is_some() {
            // It can be reached by nobody.
            return self.free_file(ino);
        }
        InodeMut(&mut self.node_mut(ino)?.bytes).set_u32(LINKS, 1);
        let gap = self.gap_for(parent, &name)?;
        self.add_name(parent, &name, &gap, ino, kind)
    }

    /// Ends the logs of the checkpoint, notes who owns what was recovered, and begins new ones where nothing of the chain lies: if the power fails
    /// now, all of it is needed again.
    fn end_logs(&mut self, places: &BTreeSet<u32>, owners: BTreeMap<Addr, Owner>) -> Answer<()> {
        let version = self.seal_version;
        let mut by_segment: BTreeMap<u32, Vec<(u32, Owner)>> = BTreeMap::new();
        for (at, owner) in owners {
            let (segment, place) = self.geometry.place(at);
            by_segment.entry(segment).or_default().push((place, owner));
        }
        for head in &mut self.segments.heads {
            head.owners.resize(self.geometry.segment as usize, Owner::default());
            for (place, owner) in by_segment.remove(&head.segment).into_iter().flatten() {
                head.owners[place as usize] = owner;
            }
        }
        for (segment, recovered) in by_segment {
            let read = read_summary(&self.geometry, &mut self.port, segment);
            let mut owners = read.unwrap_or_else(|_| vec![Owner::default(); self.geometry.segment as usize]);
            for (place, owner) in recovered {
                owners[place as usize] = owner;
            }
            let head = Head { segment, next: self.geometry.segment, owners };
            write_summary(&self.geometry, &mut self.port, &head, version)?;
            self.segments.note_log(segment, Log::WarmData);
        }
        self.segments.keep_off(places);
        self.segments.begin_logs(&self.geometry, &mut self.port, version)?;
        Ok(())
    }
}
