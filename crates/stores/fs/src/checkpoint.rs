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
/// It has the sum of the SIT. Versions before did not write it.
const SUMMED: u32 = 2;

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
    /// The sum of the SIT, if it has one.
    pub(crate) sum: Option<u32>,
    pub(crate) heads: Vec<Head>,
    pub(crate) sit_live: Vec<u8>,
    pub(crate) nat_live: Vec<u8>,
    pub(crate) orphans: Vec<Ino>,
    pub(crate) nat_journal: BTreeMap<u32, NatEntry>,
    pub(crate) sit_journal: BTreeMap<u32, Vec<u8>>,
    /// Whether the owners of the logs' blocks end where it ends.
    pub(crate) is_of_length: bool,
}

/// A byte of bits: bit i of byte j is entry 8 j + i.
fn bits(entries: &[u8]) -> Vec<u8> {
    let byte = |chunk: &[u8]| chunk.iter().enumerate().fold(0, |byte, (place, bit)| byte | ((bit & 1) << place));
    entries.chunks(8).map(byte).collect()
}

fn entries(bits: &[u8], count: usize) -> Vec<u8> {
    (0..count).map(|place| bits[place / 8] >> (place % 8) & 1).collect()
}

/// A journal: how many entries, and each with its number, in rising order.
fn journal<T>(input: &mut Reader<'_>, mut entry: impl FnMut(&mut Reader<'_>) -> Option<T>) -> Option<BTreeMap<u32, T>> {
    let mut all = BTreeMap::new();
    for _ in 0..input.u16()? {
        let number = input.u32()?;
        if all.last_key_value().is_some_and(|(last, _)| *last >= number) {
            return None;
        }
        all.insert(number, entry(input)?);
    }
    Some(all)
}

impl Pack {
    /// As a stream of bytes: numbers of 8, 4, 4, 4, 4 bytes, the heads, bits of live copies, orphans, both journals, summaries.
    fn bytes(&self) -> Vec<u8> {
        let mut out = Writer::default();
        out.u64(self.version);
        out.u64(self.seal_version);
        out.u64(self.charged);
        let clean = if self.is_clean { CLEAN } else { 0 };
        out.u32(clean | if self.sum.is_some() { SUMMED } else { 0 });
        out.u32(self.node_count);
        out.u32(self.next_nid);
        out.u32(self.generation);
        out.u32(self.first_chained);
        self.space.put(&mut out, self.sum.unwrap_or(0));
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

    /// The same from bytes; `None` if they make none. Its numbers may be any: [`Pack::impossible`] tells.
    fn of(geometry: &Geometry, bytes: &[u8]) -> Option<Self> {
        let mut input = Reader::new(bytes);
        let (version, seal_version, charged, flags) = (input.u64()?, input.u64()?, input.u64()?, input.u32()?);
        let (node_count, next_nid, generation, first_chained) =
            (input.u32()?, input.u32()?, input.u32()?, input.u32()?);
        let (space, sum) = Given::get(&mut input)?;
        let mut heads = Vec::new();
        for _ in Log::ALL {
            let (segment, next) = (input.u32()?, input.u32()?);
            heads.push(Head { segment, next, owners: Vec::new() });
        }
        let (sit, nat) = (geometry.sit_blocks as usize, geometry.nat_blocks as usize);
        let sit_live = entries(input.take(sit.div_ceil(8))?, sit);
        let nat_live = entries(input.take(nat.div_ceil(8))?, nat);
        let count = input.u32()?;
        let orphans = (0..count).map(|_| input.u32()).collect::<Option<Vec<_>>>()?;
        let nat_journal = journal(&mut input, |input| Some(NatEntry { at: input.u32()?, ino: input.u32()? }))?;
        let sit_journal = journal(&mut input, |input| input.take(geometry.sit_entry()).map(<[u8]>::to_vec))?;
        for head in &mut heads {
            let mut owner = || Some(Owner { nid: input.u32()?, slot: input.u16()? });
            head.owners.extend((0..head.next).map_while(|_| owner()));
        }
        let is_of_length = input.is_over() && heads.iter().all(|head| head.owners.len() == head.next as usize);
        Some(Self {
            version,
            seal_version,
            is_clean: flags & CLEAN != 0,
            charged,
            node_count,
            next_nid,
            generation,
            first_chained,
            space,
            sum: (flags & SUMMED != 0).then_some(sum),
            heads,
            sit_live,
            nat_live,
            orphans,
            nat_journal,
            sit_journal,
            is_of_length,
        })
    }

    /// Writes it, and makes it durable. Returns what its footer says.
    fn write(&self, geometry: &Geometry, port: &mut impl Port, pack: u32) -> Result<Footer, Fault> {
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
        let footer = Footer { crc: crc32c::crc32c(&bytes), length: bytes.len() as u32 };
        let mut block = footer.block(geometry);
        let at = geometry.pack(pack) + blocks;
        let seal = Seal { ino: blocks, ..Seal::new(BlockKind::Checkpoint, FOOTER, self.version) };
        seal.close(&mut block, at);
        port.write(at, &block, Use::Meta)?;
        port.flush(Barrier::Footer)?;
        Ok(footer)
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

    /// Whether a checkpoint without a footer held once: nodes of its version are written only after its footer is durable.
    fn was_followed(geometry: &Geometry, port: &mut impl Port, pack: u32) -> Option<u64> {
        let (bytes, _, version) = Self::stream(geometry, port, pack)?;
        let pack =
            Self::of(geometry, &bytes).filter(|pack| pack.version == version && pack.impossible(geometry).is_none())?;
        let mut block = vec![0; geometry.block];
        let heads = Log::ALL.into_iter().zip(&pack.heads).filter(|(log, _)| log.is_of_nodes());
        let is_followed = heads.into_iter().any(|(_, head)| {
            let at = geometry.main() + head.segment * geometry.segment + head.next;
            let seal = port.read(at, &mut block).ok().and_then(|()| Seal::open(&block, at));
            seal.is_some_and(|seal| seal.kind.is_node() && seal.version == pack.seal_version)
        });
        is_followed.then_some(version)
    }

    /// The stream of a pack and what follows it to the end of its last block, with its number of blocks and its version; `None` if blocks are missing.
    fn stream(geometry: &Geometry, port: &mut impl Port, pack: u32) -> Option<(Vec<u8>, u32, u64)> {
        let (first, mut block) = (geometry.pack(pack), vec![0; geometry.block]);
        let (mut bytes, mut known, mut number) = (Vec::new(), None, 0);
        loop {
            port.read(first + number, &mut block).ok()?;
            let seal = Seal::open(&block, first + number).filter(|seal| seal.kind == BlockKind::Checkpoint)?;
            let (blocks, version) = *known.get_or_insert((seal.ino, seal.version));
            let fits = seal.version == version && seal.ino == blocks && seal.owner == number;
            if !fits || blocks >= geometry.pack_blocks() {
                return None;
            }
            bytes.extend_from_slice(&block[..geometry.block - SEAL]);
            number += 1;
            if number >= blocks {
                return Some((bytes, blocks, version));
            }
        }
    }

    /// Reads a pack.
    fn read(geometry: &Geometry, port: &mut impl Port, pack: u32, note: Option<&Note>) -> Read {
        let Some((mut bytes, blocks, version)) = Self::stream(geometry, port, pack) else { return Read::Torn };
        let (at, mut block) = (geometry.pack(pack) + blocks, vec![0; geometry.block]);
        let seal = port.read(at, &mut block).ok().and_then(|()| Seal::open(&block, at));
        let is_footer = |seal: &Seal| {
            seal.kind == BlockKind::Checkpoint && (seal.owner, seal.ino, seal.version) == (FOOTER, blocks, version)
        };
        let own = seal.filter(is_footer).map(|_| Footer::read(&block));
        let noted = note.filter(|note| (note.pack, note.version) == (pack, version)).map(|note| note.footer);
        let Some(footer) = own.or(noted).filter(|footer| footer.fits(&bytes)) else { return Read::Torn };
        bytes.truncate(footer.length as usize);
        // Versions share a number with the mount's.
        let is_of_seal = |pack: &Self| pack.version == version && version < u64::from(u32::MAX);
        match Self::of(geometry, &bytes) {
            None => Read::Impossible(version, "its parts are longer than it".to_owned()),
            Some(pack) if !is_of_seal(&pack) => {
                Read::Impossible(version, format!("it says version {}, and its blocks {version}", pack.version))
            }
            Some(pack) => match pack.impossible(geometry) {
                Some(why) => Read::Impossible(version, why),
                None => Read::Whole(Box::new(pack), footer, own.is_some()),
            },
        }
    }

    /// The newest pack that holds, and what is wrong with it or with one that is newer.
    ///
    /// # Errors
    /// None holds.
    pub(crate) fn newest(geometry: &Geometry, port: &mut impl Port) -> Result<Newest, FormatError> {
        let note = Note::read(geometry, port);
        let mut packs = [0, 1].map(|pack| Self::read(geometry, port, pack, note.as_ref()));
        let versions =
            [0, 1].map(|pack| if let Read::Whole(pack, ..) = &packs[pack] { Some(pack.version) } else { None });
        let number = usize::from(versions[1] > versions[0]);
        let other = std::mem::replace(&mut packs[1 - number], Read::Torn);
        let (pack, footer, has_footer) = match std::mem::replace(&mut packs[number], Read::Torn) {
            Read::Whole(pack, footer, has_footer) => (pack, footer, has_footer),
            torn => {
                let why = [torn, other].into_iter().find_map(Read::why);
                return Err(why.map_or(FormatError::Checkpoint, |(_, why)| FormatError::Contradiction(why)));
            }
        };
        let (number, version) = (number as u32, pack.version);
        let mut newest =
            Newest { number, pack: *pack, lost: None, lacks_footer: !has_footer, contradictions: Vec::new() };
        let is_newer = |than: &u64| *than > version;
        newest.lost = match (other.why(), versions[1 - number as usize]) {
            (Some((newer, why)), _) if is_newer(&newer) => Some(Lost { version: newer, why: Some(why) }),
            (_, Some(before)) if before + 1 != version => {
                newest.contradictions.push(format!("its version is {version}, and that of the one before {before}"));
                None
            }
            _ => {
                let was = Self::was_whole(geometry, port, 1 - number)
                    .max(Self::was_followed(geometry, port, 1 - number))
                    .max(note.as_ref().map(|note| note.version));
                was.filter(is_newer).map(|version| Lost { version, why: None })
            }
        };
        if let Some(note) = note.filter(|note| note.version == version && (note.pack, note.footer) != (number, footer))
        {
            newest.contradictions.push(format!(
                "its checksum is {:#010x}, and {:#010x} was noted as it was unmounted",
                footer.crc, note.footer.crc
            ));
        }
        Ok(newest)
    }
}

/// What a footer says of the stream of its pack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Footer {
    crc: u32,
    length: u32,
}

impl Footer {
    fn read(block: &[u8]) -> Self {
        Self { crc: u32_at(block, 0), length: u32_at(block, 4) }
    }

    fn block(self, geometry: &Geometry) -> Vec<u8> {
        let mut block = vec![0; geometry.block];
        put_u32(&mut block, 0, self.crc);
        put_u32(&mut block, 4, self.length);
        block
    }

    fn fits(self, bytes: &[u8]) -> bool {
        bytes.get(..self.length as usize).is_some_and(|stream| crc32c::crc32c(stream) == self.crc)
    }
}

/// What an unmount notes, apart from both packs, once its checkpoint is durable: a pack without a footer was torn by a power cut, unless it was
/// durable before. Then it was damaged, and the note stands for its footer.
struct Note {
    version: u64,
    pack: u32,
    footer: Footer,
}

impl Note {
    /// Where the identity of the file system lies in it: one that was here before may have left a note.
    const UUID: usize = 8;

    fn write(&self, geometry: &Geometry, port: &mut impl Port) -> Result<(), Fault> {
        let (at, mut block) = (geometry.unmount_note(), self.footer.block(geometry));
        block[Self::UUID..Self::UUID + 16].copy_from_slice(&geometry.uuid);
        Seal::new(BlockKind::Unmount, self.pack, self.version).close(&mut block, at);
        port.write(at, &block, Use::Meta)?;
        port.flush(Barrier::Footer)
    }

    fn read(geometry: &Geometry, port: &mut impl Port) -> Option<Self> {
        let (at, mut block) = (geometry.unmount_note(), vec![0; geometry.block]);
        port.read(at, &mut block).ok()?;
        let seal = Seal::open(&block, at).filter(|seal| seal.kind == BlockKind::Unmount)?;
        let is_own = block[Self::UUID..Self::UUID + 16] == geometry.uuid;
        is_own.then(|| Self { version: seal.version, pack: seal.owner, footer: Footer::read(&block) })
    }
}

/// What is read of a pack.
enum Read {
    /// It is not whole.
    Torn,
    /// It is, with this version, and cannot be used.
    Impossible(u64, String),
    /// It holds. Whether its footer is there.
    Whole(Box<Pack>, Footer, bool),
}

impl Read {
    fn why(self) -> Option<(u64, String)> {
        if let Self::Impossible(version, why) = self { Some((version, why)) } else { None }
    }
}

/// A checkpoint that was durable and cannot be used.
pub(crate) struct Lost {
    pub(crate) version: u64,
    /// Why, if it is whole.
    pub(crate) why: Option<String>,
}

/// The newest checkpoint that holds.
pub(crate) struct Newest {
    /// The pack in which it lies.
    pub(crate) number: u32,
    pub(crate) pack: Pack,
    /// One that was newer.
    pub(crate) lost: Option<Lost>,
    /// The note of the unmount stands for its footer.
    pub(crate) lacks_footer: bool,
    /// What contradicts it.
    pub(crate) contradictions: Vec<String>,
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
        if self.version >= u64::from(u32::MAX) {
            return Err(Fault::ReadOnly);
        }
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
            sum: Some(self.segments.sum),
            heads: self.segments.heads.clone(),
            sit_live: self.segments.live.clone(),
            nat_live: self.nat.live.clone(),
            orphans: self.orphans.iter().take(ORPHANS_LEAST).copied().collect(),
            nat_journal: self.nat.journal.clone(),
            sit_journal: self.segments.journal.iter().map(entry).collect(),
            is_of_length: true,
        };
        let footer = pack.write(&self.geometry, &mut self.port, self.pack)?;
        // The first checkpoint has none before it that could be taken for it.
        if why == Why::Unmount && self.version > 1 {
            let note = Note { version: self.version, pack: self.pack, footer };
            note.write(&self.geometry, &mut self.port)?;
        }
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
        self.trim_sections(sections)
    }

    fn trim_sections(&mut self, sections: &[u32]) -> Result<(), Fault> {
        for run in sections.chunk_by(|one, next| one + 1 == *next) {
            let at = self.geometry.main() + run[0] * self.geometry.section();
            self.port.trim(at, run.len() as u32 * self.geometry.section())?;
        }
        Ok(())
    }

    /// Discards all blocks in which the file system has nothing, those behind its last section too. A device with a limit counts them, whoever wrote
    /// them.
    pub(crate) fn discard_all_else(&mut self) -> Result<(), Fault> {
        let (main, section) = (self.geometry.main(), self.geometry.section());
        let mut free = self.segments.all_free();
        free.retain(|free| self.port.holds_of_others(main + free * section, u64::from(section)));
        self.trim_sections(&free)?;
        let end = main + self.segments.end * section;
        let behind = self.port.blocks().saturating_sub(u64::from(end));
        let is_own = self.segments.end == self.geometry.sections && behind > 0;
        if is_own && self.port.holds_of_others(end, behind) {
            self.port.trim(end, u32::try_from(behind).unwrap_or(u32::MAX))?;
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
