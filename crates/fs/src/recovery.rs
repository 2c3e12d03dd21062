//! Fsyncs: what a program wants durable is written with its nodes, in a chain that a mount follows (roll-forward).

use std::collections::{BTreeMap, BTreeSet};

use crate::checkpoint::Why;
use crate::error::{Answer, FsError};
use crate::inode::{BLOCKS, BODY, FLAG_INLINE, FileKind, Ino, Inode, InodeMut, LINKS, NIDS, inode_pointers, nid_at};
use crate::le::{put_u32, put_u64, u32_at};
use crate::map::{LOST, Missing, Slot, node_pointers};
use crate::nat::{NOT_WRITTEN, NatEntry};
use crate::port::{Addr, Port};
use crate::seal::{BlockKind, MARK_FSYNC, MARK_LAST, MARK_NAME, Seal};
use crate::segments::{Head, Log, Owner, read_summary, write_summary};
use crate::volume::{Mode, Node, Volume};

/// A node of the chain.
struct Found {
    seal: Seal,
    bytes: Vec<u8>,
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
        let parent = self.parent_of(ino)?;
        // A mount follows no chain behind a checkpoint that says that nothing comes after it.
        let is_after_unmount = self.was_clean && self.counted.checkpoints == 0;
        let is_entangled = is_after_unmount || self.entangled.contains(&ino) || self.newborn.contains(&parent);
        if attr.kind != FileKind::File || attr.links > 1 || is_entangled {
            return if self.has_changed { self.checkpoint(Why::Sync) } else { self.flush() };
        }
        self.balance()?;
        self.write_back(Some(ino))?;
        let mut nodes: Vec<u32> = self.dirty.iter().copied().filter(|nid| self.is_of(*nid, ino)).collect();
        if nodes.is_empty() {
            return self.flush();
        }
        // No node may say where data lie that are not there.
        self.flush()?;
        nodes.retain(|nid| *nid != ino);
        nodes.push(ino);
        let name = if self.newborn.contains(&ino) { MARK_NAME } else { 0 };
        for nid in nodes {
            let marks = MARK_FSYNC | if nid == ino { MARK_LAST | name } else { 0 };
            let wrote = self.write_node(nid, marks);
            wrote.map_err(|fault| self.fail(fault))?;
        }
        self.flush()
    }

    fn flush(&mut self) -> Answer<()> {
        self.port.flush().map_err(|fault| self.fail(fault))
    }

    /// Whether a node is the inode of a file or points at its data.
    fn is_of(&self, nid: u32, ino: Ino) -> bool {
        let is_pointing = |node: &Node| matches!(node.kind, BlockKind::Inode | BlockKind::Direct);
        self.nodes.get(&nid).is_some_and(|node| node.ino == ino && is_pointing(node))
    }

    /// Does again what was made durable after the checkpoint. Returns whether there was anything.
    pub(crate) fn roll_forward(&mut self, version: u64, mode: Mode) -> Answer<bool> {
        let (chain, places) = self.chain(version);
        if places.is_empty() {
            return Ok(false);
        }
        let mut groups: BTreeMap<Ino, Vec<Found>> = BTreeMap::new();
        let mut whole: Vec<(Ino, Vec<Found>)> = Vec::new();
        for found in chain {
            let Seal { marks, ino, .. } = found.seal;
            if marks & MARK_FSYNC == 0 {
                continue;
            }
            groups.entry(ino).or_default().push(found);
            if marks & MARK_LAST != 0
                && let Some(group) = groups.remove(&ino)
            {
                whole.push((ino, group));
            }
        }
        let mut owners = BTreeMap::new();
        for (ino, group) in whole {
            self.recover(ino, &group, &mut owners)?;
        }
        if mode == Mode::ReadWrite {
            self.end_logs(&places, owners)?;
        }
        Ok(true)
    }

    /// The nodes that were written after the checkpoint, and the sections in which they lie.
    fn chain(&mut self, version: u64) -> (Vec<Found>, BTreeSet<u32>) {
        let head = &self.segments.heads[Log::WarmNode as usize];
        let mut at: Addr = self.geometry.main() + head.segment * self.geometry.segment + head.next;
        let (mut chain, mut places) = (Vec::new(), BTreeSet::new());
        let mut seen = BTreeSet::new();
        while self.geometry.is_main(at) && seen.insert(at) {
            let mut bytes = vec![0; self.geometry.block];
            if self.port.read(at, &mut bytes).is_err() {
                break;
            }
            let is_next = |seal: &Seal| seal.kind.is_node() && seal.version == version;
            let Some(seal) = Seal::open(&bytes, at).filter(is_next) else { break };
            places.insert((at - self.geometry.main()) / self.geometry.section());
            chain.push(Found { seal, bytes });
            at = seal.next;
        }
        (chain, places)
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
        self.take_inode(ino, &last.bytes, owners)?;
        if !is_inline {
            self.cut_off(ino, size.div_ceil(self.geometry.block as u64))?;
        }
        for found in group {
            if found.seal.kind == BlockKind::Direct {
                let first = found.seal.first;
                let Some(slot) = self.slot(ino, first, Missing::Make)? else { continue };
                for place in 0..node_pointers(self.geometry.block) {
                    let to = u32_at(&found.bytes, 4 * place as usize);
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
        self.nodes.insert(ino, Node { bytes, kind: BlockKind::Inode, ino, first: 0 });
        self.dirty.insert(ino);
        self.charged += 1;
        self.node_count += 1;
        self.generation = self.generation.max(u32_at(&found.bytes, crate::inode::GENERATION));
        Ok(())
    }

    /// Takes attributes, pointers and inline data of an inode. The nodes below it stay those of the checkpoint.
    fn take_inode(&mut self, ino: Ino, from: &[u8], owners: &mut BTreeMap<Addr, Owner>) -> Answer<()> {
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
        for slot in 0..inode_pointers(block) {
            let to = u32_at(from, BODY + 4 * slot as usize);
            self.take_pointer(Slot { nid: ino, slot }, to, owners)?;
        }
        Ok(())
    }

    /// Sets a pointer to where data lie that the checkpoint does not know.
    fn take_pointer(&mut self, slot: Slot, to: Addr, owners: &mut BTreeMap<Addr, Owner>) -> Answer<()> {
        let before = self.pointer(slot)?;
        if before == to {
            return Ok(());
        }
        if before != 0 && before != LOST {
            self.charged -= 1;
            if before != NOT_WRITTEN {
                self.segments.note_unused(&self.geometry, before);
                owners.remove(&before);
            }
        }
        let is_block = to != 0 && to != LOST && to != NOT_WRITTEN;
        let is_sound = !is_block || (self.geometry.is_main(to) && !self.segments.is_used(&self.geometry, to));
        let to = if is_sound { to } else { LOST };
        if to != 0 && to != LOST {
            self.charged += 1;
            if to != NOT_WRITTEN {
                self.segments.note_used(&self.geometry, to);
                owners.insert(to, Owner { nid: slot.nid, slot: slot.slot as u16 });
            }
        }
        self.set_pointer(slot, to)
    }

    /// Blocks that a file has, its nodes included.
    pub(crate) fn blocks_of(&mut self, ino: Ino) -> Answer<u64> {
        let block = self.geometry.block;
        let attributes = u64::from(u32_at(&self.node(ino)?.bytes, crate::inode::ATTRIBUTES) != 0);
        if self.inode(ino)?.has(FLAG_INLINE) {
            return Ok(1 + attributes);
        }
        let mut count = 1 + attributes;
        for slot in 0..inode_pointers(block) {
            let at = self.pointer(Slot { nid: ino, slot })?;
            count += u64::from(at != 0 && at != LOST);
        }
        for place in 0..NIDS {
            let nid = u32_at(&self.node(ino)?.bytes, nid_at(block, place));
            if nid != 0 {
                count += self.blocks_below(nid)?;
            }
        }
        Ok(count)
    }

    fn blocks_below(&mut self, nid: u32) -> Answer<u64> {
        let is_direct = self.node(nid)?.kind == BlockKind::Direct;
        let mut count = 1;
        for place in 0..node_pointers(self.geometry.block) {
            let child = u32_at(&self.node(nid)?.bytes, 4 * place as usize);
            count += match (child, is_direct) {
                (0 | LOST, true) | (0, false) => 0,
                (_, true) => 1,
                (child, false) => self.blocks_below(child)?,
            };
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
        self.add_name(parent, &name, ino, kind)
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
