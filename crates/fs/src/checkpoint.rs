//! Checkpoints: a state of all structures that is durable at once.
//!
//! Two packs take turns. A pack is a stream of bytes in sealed blocks, and a footer; it holds if all its blocks have one version. The order of a
//! checkpoint: data, nodes, tables and the pack without its footer; flush; the footer; flush.

use std::collections::BTreeMap;

use crate::error::{Answer, FsError};
use crate::geometry::{FormatError, Geometry, ORPHANS_LEAST};
use crate::inode::Ino;
use crate::le::{Reader, Writer, put_u32, u32_at};
use crate::nat::NatEntry;
use crate::port::{Barrier, Fault, Port, Use};
use crate::seal::{BlockKind, SEAL, Seal};
use crate::segments::{Head, Log, Owner};
use crate::shrink::Given;
use crate::volume::{Mode, Trims, Volume};

/// Where the number of the next orphan lies in an inode, of those for which a pack has no room.
pub(crate) const NEXT_ORPHAN: usize = 108;
/// The owner in the seal of a footer.
const FOOTER: u32 = u32::MAX;
/// The file system was unmounted after this checkpoint.
const CLEAN: u32 = 1;

/// What a pack says.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pack {
    pub(crate) version: u64,
    /// The version in seals of what is written after it.
    pub(crate) seal_version: u64,
    pub(crate) is_clean: bool,
    pub(crate) charged: u64,
    pub(crate) node_count: u32,
    pub(crate) next_nid: u32,
    pub(crate) generation: u32,
    pub(crate) first_chained: Ino,
    pub(crate) space: Given,
    pub(crate) heads: Vec<Head>,
    pub(crate) sit_live: Vec<u8>,
    pub(crate) nat_live: Vec<u8>,
    pub(crate) orphans: Vec<Ino>,
    pub(crate) nat_journal: BTreeMap<u32, NatEntry>,
    pub(crate) sit_journal: BTreeMap<u32, Vec<u8>>,
}

/// A byte of bits: bit i of byte j is entry 8 j + i.
fn bits(entries: &[u8]) -> Vec<u8> {
    let byte = |chunk: &[u8]| chunk.iter().enumerate().fold(0, |byte, (place, bit)| byte | ((bit & 1) << place));
    entries.chunks(8).map(byte).collect()
}

fn entries(bits: &[u8], count: usize) -> Vec<u8> {
    (0..count).map(|place| bits[place / 8] >> (place % 8) & 1).collect()
}

impl Pack {
    /// As a stream of bytes: numbers of 8, 4, 4, 4, 4 bytes, the heads, bits of live copies, orphans, both journals, summaries.
    fn bytes(&self) -> Vec<u8> {
        let mut out = Writer::default();
        out.u64(self.version);
        out.u64(self.seal_version);
        out.u64(self.charged);
        out.u32(if self.is_clean { CLEAN } else { 0 });
        out.u32(self.node_count);
        out.u32(self.next_nid);
        out.u32(self.generation);
        out.u32(self.first_chained);
        self.space.put(&mut out);
        for head in &self.heads {
            out.u32(head.segment);
            out.u32(head.next);
        }
        out.bytes(&bits(&self.sit_live));
        out.bytes(&bits(&self.nat_live));
        out.u32(self.orphans.len() as u32);
        self.orphans.iter().for_each(|orphan| out.u32(*orphan));
        out.u16(self.nat_journal.len() as u16);
        for (nid, entry) in &self.nat_journal {
            out.u32(*nid);
            out.u32(entry.at);
            out.u32(entry.ino);
        }
        out.u16(self.sit_journal.len() as u16);
        for (segment, entry) in &self.sit_journal {
            out.u32(*segment);
            out.bytes(entry);
        }
        for owner in self.heads.iter().flat_map(|head| &head.owners) {
            out.u32(owner.nid);
            out.u16(owner.slot);
        }
        out.0
    }

    /// The same from bytes; `None` if they make none.
    fn of(geometry: &Geometry, bytes: &[u8]) -> Option<Self> {
        let mut input = Reader::new(bytes);
        let (version, seal_version, charged) = (input.u64()?, input.u64()?, input.u64()?);
        let is_clean = input.u32()? & CLEAN != 0;
        let (node_count, next_nid, generation, first_chained) =
            (input.u32()?, input.u32()?, input.u32()?, input.u32()?);
        let space = Given::get(&mut input).filter(|space| space.end <= geometry.sections && space.cap <= space.end)?;
        let mut heads = Vec::new();
        for _ in Log::ALL {
            let (segment, next) = (input.u32()?, input.u32()?);
            if segment >= geometry.main_segments() || next > geometry.segment {
                return None;
            }
            heads.push(Head { segment, next, owners: Vec::new() });
        }
        let (sit, nat) = (geometry.sit_blocks as usize, geometry.nat_blocks as usize);
        let sit_live = entries(input.take(sit.div_ceil(8))?, sit);
        let nat_live = entries(input.take(nat.div_ceil(8))?, nat);
        let count = input.u32()?;
        let orphans = (0..count).map(|_| input.u32()).collect::<Option<Vec<_>>>()?;
        let mut nat_journal = BTreeMap::new();
        for _ in 0..input.u16()? {
            let (nid, at, ino) = (input.u32()?, input.u32()?, input.u32()?);
            if nid < geometry.nodes() {
                nat_journal.insert(nid, NatEntry { at, ino });
            }
        }
        let mut sit_journal = BTreeMap::new();
        for _ in 0..input.u16()? {
            let segment = input.u32()?;
            let entry = input.take(geometry.sit_entry())?.to_vec();
            if segment < geometry.main_segments() {
                sit_journal.insert(segment, entry);
            }
        }
        for head in &mut heads {
            for _ in 0..head.next {
                head.owners.push(Owner { nid: input.u32()?, slot: input.u16()? });
            }
        }
        Some(Self {
            version,
            seal_version,
            is_clean,
            charged,
            node_count,
            next_nid,
            generation,
            first_chained,
            space,
            heads,
            sit_live,
            nat_live,
            orphans,
            nat_journal,
            sit_journal,
        })
    }

    /// Writes it, and makes it durable.
    fn write(&self, geometry: &Geometry, port: &mut impl Port, pack: u32) -> Result<(), Fault> {
        let (bytes, room) = (self.bytes(), geometry.block - SEAL);
        let blocks = bytes.len().div_ceil(room) as u32;
        debug_assert!(blocks < geometry.pack_blocks(), "a pack was sized for all that it may hold");
        for (number, part) in bytes.chunks(room).enumerate() {
            let mut block = vec![0; geometry.block];
            block[..part.len()].copy_from_slice(part);
            let seal = Seal { ino: blocks, ..Seal::new(BlockKind::Checkpoint, number as u32, self.version) };
            let at = geometry.pack(pack) + number as u32;
            seal.close(&mut block, at);
            port.write(at, &block, Use::Meta)?;
        }
        port.flush(Barrier::Pack)?;
        let mut footer = vec![0; geometry.block];
        put_u32(&mut footer, 0, crc32c::crc32c(&bytes));
        put_u32(&mut footer, 4, bytes.len() as u32);
        let at = geometry.pack(pack) + blocks;
        let seal = Seal { ino: blocks, ..Seal::new(BlockKind::Checkpoint, FOOTER, self.version) };
        seal.close(&mut footer, at);
        port.write(at, &footer, Use::Meta)?;
        port.flush(Barrier::Footer)
    }

    /// Whether a checkpoint once held in a pack that is not whole now: its footer does not go before the rest.
    fn was_whole(geometry: &Geometry, port: &mut impl Port, pack: u32) -> Option<u64> {
        let (first, mut block) = (geometry.pack(pack), vec![0; geometry.block]);
        (0..geometry.pack_blocks()).find_map(|number| {
            port.read(first + number, &mut block).ok()?;
            let seal = Seal::open(&block, first + number)?;
            (seal.kind == BlockKind::Checkpoint && seal.owner == FOOTER).then_some(seal.version)
        })
    }

    /// Reads a pack; `None` if it is not whole.
    fn read(geometry: &Geometry, port: &mut impl Port, pack: u32) -> Option<Self> {
        let (first, mut block) = (geometry.pack(pack), vec![0; geometry.block]);
        let mut bytes = Vec::new();
        let mut known: Option<(u32, u64)> = None;
        for number in 0..geometry.pack_blocks() {
            port.read(first + number, &mut block).ok()?;
            let seal = Seal::open(&block, first + number).filter(|seal| seal.kind == BlockKind::Checkpoint)?;
            let (blocks, version) = *known.get_or_insert((seal.ino, seal.version));
            if seal.version != version || seal.ino != blocks {
                return None;
            }
            if number < blocks {
                if seal.owner != number {
                    return None;
                }
                bytes.extend_from_slice(&block[..geometry.block - SEAL]);
                continue;
            }
            if seal.owner != FOOTER {
                return None;
            }
            bytes.truncate(u32_at(&block, 4) as usize);
            let pack = Self::of(geometry, &bytes).filter(|_| crc32c::crc32c(&bytes) == u32_at(&block, 0))?;
            // Versions share a number with the mount's.
            return (pack.version == version && version < u64::from(u32::MAX)).then_some(pack);
        }
        None
    }

    /// The newest pack that is whole, which of the two it is, and whether a newer one was damaged.
    ///
    /// # Errors
    /// None is whole.
    pub(crate) fn newest(geometry: &Geometry, port: &mut impl Port) -> Result<(u32, Self, bool), FormatError> {
        let packs = [Self::read(geometry, port, 0), Self::read(geometry, port, 1)];
        let whole = packs.into_iter().enumerate().filter_map(|(number, pack)| Some((number as u32, pack?)));
        let (number, newest) = whole.max_by_key(|(_, pack)| pack.version).ok_or(FormatError::Checkpoint)?;
        let other = Self::was_whole(geometry, port, 1 - number);
        let is_older = other.is_some_and(|version| version > newest.version);
        Ok((number, newest, is_older))
    }
}

/// Why a checkpoint is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// It goes on.
    Sync,
    /// It is unmounted.
    Unmount,
}

impl<P: Port> Volume<P> {
    /// Makes all that was done so far durable.
    ///
    /// # Errors
    /// The device failed. The volume is read-only from then on.
    pub fn sync(&mut self) -> Answer<()> {
        match self.mode {
            Mode::ReadOnly => Ok(()),
            Mode::Failed => Err(FsError::ReadOnly),
            Mode::ReadWrite => self.checkpoint(Why::Sync),
        }
    }

    /// Ends it. What was done is durable then. Returns its port.
    ///
    /// # Errors
    /// The device failed.
    pub fn unmount(mut self) -> Result<P, (P, FsError)> {
        if self.mode == Mode::ReadWrite {
            let orphans: Vec<Ino> = self.orphans.iter().copied().collect();
            self.held.clear();
            let freed = orphans.into_iter().try_for_each(|orphan| self.free_file(orphan));
            if let Err(error) = freed.and_then(|()| self.checkpoint(Why::Unmount)) {
                return Err((self.port, error));
            }
        }
        Ok(self.port)
    }

    pub(crate) fn checkpoint(&mut self, why: Why) -> Answer<()> {
        if !self.has_changed && why == Why::Sync {
            return self.port.flush(Barrier::Footer).map_err(|fault| self.fail(fault));
        }
        self.write_back(None)?;
        let first_chained = self.chain_orphans()?;
        self.try_checkpoint(why, first_chained).map_err(|fault| self.fail(fault))
    }

    fn try_checkpoint(&mut self, why: Why, first_chained: Ino) -> Result<(), Fault> {
        for nid in self.dirty.clone() {
            self.write_node(nid, 0)?;
        }
        let seal = self.seal_version;
        // Where the chain of the next nodes begins must be known.
        self.segments.next_of(&self.geometry, &mut self.port, Log::WarmNode, seal)?;
        let changed = self.segments.changed();
        self.nat.write(&self.geometry, &mut self.port, self.version)?;
        self.segments.write(&self.geometry, &mut self.port, self.version)?;
        let seal_version = self.version << 32 | (self.seal_version & 0xFFFF_FFFF);
        let entry = |segment: &u32| (*segment, self.segments.entry(*segment));
        let pack = Pack {
            version: self.version,
            seal_version,
            is_clean: why == Why::Unmount,
            charged: self.charged,
            node_count: self.node_count,
            next_nid: self.nat.next,
            generation: self.generation,
            first_chained,
            space: Given {
                end: self.segments.end,
                cap: self.segments.cap,
                target: self.target,
                intended: self.intended.clone(),
            },
            heads: self.segments.heads.clone(),
            sit_live: self.segments.live.clone(),
            nat_live: self.nat.live.clone(),
            orphans: self.orphans.iter().take(ORPHANS_LEAST).copied().collect(),
            nat_journal: self.nat.journal.clone(),
            sit_journal: self.segments.journal.iter().map(entry).collect(),
        };
        pack.write(&self.geometry, &mut self.port, self.pack)?;
        self.version += 1;
        self.pack = 1 - self.pack;
        self.seal_version = seal_version;
        self.nat.settled();
        self.entangled.clear();
        self.newborn.clear();
        self.gone_names.clear();
        self.has_changed = false;
        self.counted.checkpoints += 1;
        let freed = self.segments.settled(&changed);
        self.discard(&freed)?;
        Ok(())
    }

    /// Discards sections that are free, in rising order; those that follow each other at once.
    pub(crate) fn discard(&mut self, sections: &[u32]) -> Result<(), Fault> {
        // Where not all of them may hold something, they must hold nothing.
        if self.trims == Trims::Never && self.segments.cap == self.segments.end {
            return Ok(());
        }
        for run in sections.chunk_by(|one, next| one + 1 == *next) {
            let at = self.geometry.main() + run[0] * self.geometry.section();
            self.port.trim(at, run.len() as u32 * self.geometry.section())?;
        }
        Ok(())
    }

    /// Chains those orphans for which a pack has no room, each to the next. Returns the first.
    fn chain_orphans(&mut self) -> Answer<Ino> {
        let chained: Vec<Ino> = self.orphans.iter().skip(ORPHANS_LEAST).copied().collect();
        for (place, orphan) in chained.iter().enumerate() {
            let next = chained.get(place + 1).copied().unwrap_or(0);
            if u32_at(&self.node(*orphan)?.bytes, NEXT_ORPHAN) != next {
                put_u32(&mut self.node_mut(*orphan)?.bytes, NEXT_ORPHAN, next);
            }
        }
        Ok(chained.first().copied().unwrap_or(0))
    }
}
