//! Segments of the main area: which of their blocks are in use (the segment information table, SIT), the six logs that fill them, and who owns
//! each block (summaries).

use std::collections::{BTreeMap, BTreeSet};

use crate::geometry::{Geometry, JOURNAL_MAX, SUMMARY_ENTRY};
use crate::layout::SegmentStates;
use crate::le::{put_u16, put_u32, u16_at, u32_at};
use crate::port::{Addr, Fault, Port, Use};
use crate::seal::{BlockKind, Seal};

/// The logs, by how long what they take is expected to live.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Log {
    /// Nodes of directories.
    HotNode,
    /// Inodes and direct nodes of files: what an fsync writes.
    WarmNode,
    /// Indirect nodes.
    ColdNode,
    /// Directories.
    HotData,
    /// Data of programs.
    WarmData,
    /// Data that was moved.
    ColdData,
}

impl Log {
    pub(crate) const ALL: [Self; 6] =
        [Self::HotNode, Self::WarmNode, Self::ColdNode, Self::HotData, Self::WarmData, Self::ColdData];

    pub(crate) const fn is_of_nodes(self) -> bool {
        matches!(self, Self::HotNode | Self::WarmNode | Self::ColdNode)
    }
}

/// Who owns a block: a node, and which of its pointers points there. Of a node's block, the node itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Owner {
    pub(crate) nid: u32,
    pub(crate) slot: u16,
}

impl Owner {
    /// As a sentence has it.
    pub(crate) fn describe(self) -> String {
        if self.nid == 0 { "nobody's".to_owned() } else { format!("place {} of node {}", self.slot, self.nid) }
    }
}

/// Where a log writes next.
#[derive(Clone, Debug)]
pub(crate) struct Head {
    pub(crate) segment: u32,
    pub(crate) next: u32,
    pub(crate) owners: Vec<Owner>,
}

/// See the head of this file.
#[derive(Clone)]
pub(crate) struct Segments {
    segment: u32,
    per_section: u32,
    words: usize,
    /// Blocks in use of each segment.
    used: Vec<u16>,
    /// The log that filled each.
    log: Vec<u8>,
    /// Blocks in use, a bit each.
    now: Vec<u64>,
    /// The same, in the last checkpoint that is durable.
    durable: Vec<u64>,
    /// Blocks in use of each section.
    of_section: Vec<u32>,
    /// Sections of which nothing is in use, now and in the checkpoint.
    free: BTreeSet<u32>,
    /// Segments that changed since the checkpoint.
    changed: BTreeSet<u32>,
    /// Sections that lost blocks since the checkpoint and may be free after the next.
    touched: BTreeSet<u32>,
    pub(crate) live: Vec<u8>,
    pub(crate) journal: BTreeSet<u32>,
    pub(crate) heads: Vec<Head>,
    /// Sections of the main area that are there: those from here on were given back with their addresses.
    pub(crate) end: u32,
    /// New sections are taken below this one as long as there are some. Those from here on are to become free.
    pub(crate) bound: u32,
    /// Most sections that may hold something.
    pub(crate) cap: u32,
    /// While space is given back: sections beyond which the volume does not grow any more, so that writers do not take what was cleaned for it.
    pub(crate) ceiling: u32,
    /// Sections that cannot be cleaned, since the device lost who owns their blocks.
    stuck: BTreeSet<u32>,
    /// The sum of the table as the last checkpoint has it: a checksum of each segment of which blocks are in use, added up.
    pub(crate) sum: u32,
}

/// The part of a segment in the sum of the table.
fn sum_of(segment: u32, words: &[u64]) -> u32 {
    if words.iter().all(|word| *word == 0) {
        return 0;
    }
    let crc = crc32c::crc32c(&segment.to_le_bytes());
    words.iter().fold(crc, |crc, word| crc32c::crc32c_append(crc, &word.to_le_bytes()))
}

impl Segments {
    /// All segments are free, and the logs have no heads.
    pub(crate) fn new(geometry: &Geometry) -> Self {
        let segments = geometry.main_segments() as usize;
        let words = (geometry.segment as usize).div_ceil(64);
        Self {
            segment: geometry.segment,
            per_section: geometry.section_segments,
            words,
            used: vec![0; segments],
            log: vec![0; segments],
            now: vec![0; segments * words],
            durable: vec![0; segments * words],
            of_section: vec![0; geometry.sections as usize],
            free: (0..geometry.sections).collect(),
            changed: BTreeSet::new(),
            touched: BTreeSet::new(),
            live: vec![0; geometry.sit_blocks as usize],
            journal: BTreeSet::new(),
            heads: Vec::new(),
            end: geometry.sections,
            bound: geometry.sections,
            cap: geometry.sections,
            ceiling: u32::MAX,
            stuck: BTreeSet::new(),
            sum: 0,
        }
    }

    fn words_of(&self, segment: u32) -> std::ops::Range<usize> {
        segment as usize * self.words..(segment as usize + 1) * self.words
    }

    fn bit(&self, segment: u32, place: u32) -> (usize, u64) {
        (segment as usize * self.words + place as usize / 64, 1 << (place % 64))
    }

    /// Whether a block is in use.
    pub(crate) fn is_used(&self, geometry: &Geometry, at: Addr) -> bool {
        if !geometry.is_main(at) {
            return false;
        }
        let (segment, place) = geometry.place(at);
        let (word, bit) = self.bit(segment, place);
        self.now[word] & bit != 0
    }

    /// Whether it is, and was in the last checkpoint.
    pub(crate) fn is_durable(&self, geometry: &Geometry, at: Addr) -> bool {
        let (segment, place) = geometry.place(at);
        let (word, bit) = self.bit(segment, place);
        self.now[word] & self.durable[word] & bit != 0
    }

    /// The first block of a segment from a place on that is in use.
    pub(crate) fn used_from(&self, segment: u32, place: u32) -> Option<u32> {
        (place..self.segment).find(|place| {
            let (word, bit) = self.bit(segment, *place);
            self.now[word] & bit != 0
        })
    }

    /// Blocks of nodes that are in use.
    pub(crate) fn nodes_used(&self) -> u64 {
        let all = self.used.iter().enumerate();
        all.filter(|(segment, _)| self.log_of(*segment as u32).is_of_nodes()).map(|(_, used)| u64::from(*used)).sum()
    }

    /// A place for each block, in which [`Segments::claim`] notes those that were claimed.
    pub(crate) fn unclaimed(&self) -> Vec<u64> {
        vec![0; self.now.len()]
    }

    /// Claims a block for a node. Whether a node can be there: it is in use, in a segment of nodes, and nobody claimed it.
    pub(crate) fn claim(&self, geometry: &Geometry, claimed: &mut [u64], at: Addr) -> bool {
        if !self.is_used(geometry, at) {
            return false;
        }
        let (segment, place) = geometry.place(at);
        let (word, bit) = self.bit(segment, place);
        let is_first = claimed[word] & bit == 0;
        claimed[word] |= bit;
        is_first && self.log_of(segment).is_of_nodes()
    }

    pub(crate) fn note_used(&mut self, geometry: &Geometry, at: Addr) {
        let (segment, place) = geometry.place(at);
        let (word, bit) = self.bit(segment, place);
        // A damaged structure may say so twice. The check tells.
        if self.now[word] & bit != 0 {
            return;
        }
        self.now[word] |= bit;
        self.used[segment as usize] += 1;
        let section = segment / self.per_section;
        self.of_section[section as usize] += 1;
        self.free.remove(&section);
        self.changed.insert(segment);
    }

    pub(crate) fn note_unused(&mut self, geometry: &Geometry, at: Addr) {
        if !geometry.is_main(at) {
            return;
        }
        let (segment, place) = geometry.place(at);
        let (word, bit) = self.bit(segment, place);
        if self.now[word] & bit == 0 {
            return;
        }
        self.now[word] &= !bit;
        self.used[segment as usize] -= 1;
        let section = segment / self.per_section;
        self.of_section[section as usize] -= 1;
        self.changed.insert(segment);
        self.touched.insert(section);
    }

    /// Blocks in use.
    pub(crate) fn used(&self) -> u64 {
        self.of_section.iter().map(|used| u64::from(*used)).sum()
    }

    /// The sections that are free.
    pub(crate) fn all_free(&self) -> Vec<u32> {
        self.free.iter().copied().collect()
    }

    /// Sections that can be taken at once.
    pub(crate) fn free_sections(&self) -> u32 {
        (self.free.len() as u32).min(self.cap.min(self.ceiling).saturating_sub(self.taken_sections()))
    }

    /// Of these, sections that are not to become free.
    pub(crate) fn free_below(&self, bound: u32) -> u32 {
        (self.free.range(..bound).count() as u32).min(self.free_sections())
    }

    /// Sections that hold something, or did at the last checkpoint, or are open.
    pub(crate) fn taken_sections(&self) -> u32 {
        self.end.saturating_sub(self.free.len() as u32)
    }

    /// Blocks in use of a section.
    pub(crate) fn used_of(&self, section: u32) -> u32 {
        self.of_section[section as usize]
    }

    /// Sections from one on that are not free.
    pub(crate) fn taken_from(&self, bound: u32) -> Vec<u32> {
        (bound..self.end).filter(|section| !self.free.contains(section)).collect()
    }

    /// Ends the main area after `end` sections. Sections that it gains are free.
    pub(crate) fn set_end(&mut self, end: u32) {
        self.free.split_off(&end);
        self.free.extend(self.end..end);
        self.end = end;
        self.bound = end;
    }

    /// Segments by state.
    pub(crate) fn states(&self) -> SegmentStates {
        let mut states = SegmentStates::default();
        let there = self.end * self.per_section;
        for (segment, used) in self.used.iter().enumerate().take(there as usize) {
            let section = segment as u32 / self.per_section;
            let state = match () {
                () if self.is_open(section) => &mut states.open,
                () if self.free.contains(&section) => &mut states.free,
                () if u32::from(*used) == self.segment => &mut states.full,
                () => &mut states.partly,
            };
            *state += 1;
        }
        states
    }

    pub(crate) fn is_open(&self, section: u32) -> bool {
        self.heads.iter().any(|head| head.segment / self.per_section == section)
    }

    /// The log that filled a segment.
    pub(crate) fn log_of(&self, segment: u32) -> Log {
        Log::ALL[usize::from(self.log[segment as usize]).min(5)]
    }

    /// The section below `bound` that costs least to clean: it has most blocks that are not in use.
    pub(crate) fn victim(&self, bound: u32) -> Option<u32> {
        // What is not better than the best so far, which is almost all, costs a comparison.
        let (mut least, mut best) = (self.section(), None);
        for (section, used) in (0..bound.min(self.end)).zip(&self.of_section) {
            if (1..least).contains(used) && !self.is_open(section) && !self.stuck.contains(&section) {
                (least, best) = (*used, Some(section));
            }
        }
        best
    }

    /// A section cannot be cleaned.
    pub(crate) fn note_stuck(&mut self, section: u32) {
        self.stuck.insert(section);
    }

    /// Whether it cannot be cleaned.
    pub(crate) fn is_stuck(&self, section: u32) -> bool {
        self.stuck.contains(&section)
    }

    /// Blocks of a section.
    pub(crate) const fn section(&self) -> u32 {
        self.segment * self.per_section
    }

    /// Blocks of a section that are in use.
    pub(crate) fn used_blocks(&self, geometry: &Geometry, section: u32) -> Vec<Addr> {
        let first = section * self.per_section;
        let mut all = Vec::new();
        for segment in first..first + self.per_section {
            for place in 0..self.segment {
                let (word, bit) = self.bit(segment, place);
                if self.now[word] & bit != 0 {
                    all.push(geometry.main() + segment * self.segment + place);
                }
            }
        }
        all
    }

    /// Takes the next block of a log.
    ///
    /// # Errors
    /// No section is free, or a summary cannot be written.
    pub(crate) fn take(
        &mut self,
        geometry: &Geometry,
        port: &mut impl Port,
        log: Log,
        owner: Owner,
        version: u64,
    ) -> Result<Addr, Fault> {
        if self.heads[log as usize].next == self.segment {
            self.advance(geometry, port, log, version)?;
        }
        let head = &mut self.heads[log as usize];
        let at = geometry.main() + head.segment * self.segment + head.next;
        head.next += 1;
        head.owners.push(owner);
        self.note_used(geometry, at);
        Ok(at)
    }

    /// Where the next block of a log will lie, if it is known.
    pub(crate) fn next_of(
        &mut self,
        geometry: &Geometry,
        port: &mut impl Port,
        log: Log,
        version: u64,
    ) -> Result<Addr, Fault> {
        if self.heads[log as usize].next == self.segment {
            self.advance(geometry, port, log, version)?;
        }
        let head = &self.heads[log as usize];
        Ok(geometry.main() + head.segment * self.segment + head.next)
    }

    /// Ends the segment of a log, and begins the next.
    fn advance(&mut self, geometry: &Geometry, port: &mut impl Port, log: Log, version: u64) -> Result<(), Fault> {
        let head = &self.heads[log as usize];
        write_summary(geometry, port, head, version)?;
        let next = head.segment + 1;
        let segment = if next.is_multiple_of(self.per_section) { self.take_section()? } else { next };
        self.heads[log as usize] = Head { segment, next: 0, owners: Vec::new() };
        self.log[segment as usize] = log as u8;
        self.changed.insert(segment);
        Ok(())
    }

    /// Takes a free section, the first one. Returns its first segment.
    fn take_section(&mut self) -> Result<u32, Fault> {
        if self.free_sections() == 0 {
            return Err(Fault::NoSpace);
        }
        let section = *self.free.first().ok_or(Fault::NoSpace)?;
        self.free.remove(&section);
        Ok(section * self.per_section)
    }

    /// Sections that are not taken before the next checkpoint.
    pub(crate) fn keep_off(&mut self, sections: &BTreeSet<u32>) {
        for section in sections {
            self.free.remove(section);
            self.touched.insert(*section);
        }
    }

    /// Notes what fills a segment.
    pub(crate) fn note_log(&mut self, segment: u32, log: Log) {
        self.log[segment as usize] = log as u8;
        self.changed.insert(segment);
    }

    /// Gives each log a section of its own, and ends those that it had.
    pub(crate) fn begin_logs(&mut self, geometry: &Geometry, port: &mut impl Port, version: u64) -> Result<(), Fault> {
        for head in std::mem::take(&mut self.heads) {
            write_summary(geometry, port, &head, version)?;
            self.touched.insert(head.segment / self.per_section);
        }
        for log in Log::ALL {
            let segment = self.take_section()?;
            self.log[segment as usize] = log as u8;
            self.changed.insert(segment);
            self.heads.push(Head { segment, next: 0, owners: Vec::new() });
        }
        Ok(())
    }

    /// Takes a free section below `bound` that no log fills.
    pub(crate) fn reserve_below(&mut self, bound: u32) -> Option<u32> {
        let section = self.free.range(..bound).next().copied().filter(|_| self.free_sections() > 0)?;
        self.reserve(section);
        Some(section)
    }

    /// A section is not free from now on. If nothing gets into it, it is again after a checkpoint.
    pub(crate) fn reserve(&mut self, section: u32) {
        self.free.remove(&section);
        self.touched.insert(section);
    }

    /// Moves the logs out of the sections from `bound` on.
    ///
    /// # Errors
    /// There is no free section, or a summary cannot be written.
    pub(crate) fn leave(
        &mut self,
        geometry: &Geometry,
        port: &mut impl Port,
        bound: u32,
        version: u64,
    ) -> Result<(), Fault> {
        for log in Log::ALL {
            let head = &self.heads[log as usize];
            let section = head.segment / self.per_section;
            if section < bound {
                continue;
            }
            write_summary(geometry, port, head, version)?;
            let segment = self.take_section()?;
            self.heads[log as usize] = Head { segment, next: 0, owners: Vec::new() };
            self.log[segment as usize] = log as u8;
            self.changed.insert(segment);
            self.touched.insert(section);
        }
        Ok(())
    }

    /// Who owns the blocks of a segment.
    pub(crate) fn owners(&self, geometry: &Geometry, port: &mut impl Port, segment: u32) -> Result<Vec<Owner>, Fault> {
        if let Some(head) = self.heads.iter().find(|head| head.segment == segment) {
            return Ok(head.owners.clone());
        }
        read_summary(geometry, port, segment)
    }

    /// Writes what changed, for a checkpoint: into its journal if it is little, otherwise into the copies that do not hold.
    pub(crate) fn write(&mut self, geometry: &Geometry, port: &mut impl Port, version: u64) -> Result<(), Fault> {
        for segment in &self.changed {
            let range = self.words_of(*segment);
            self.sum = self.sum.wrapping_sub(sum_of(*segment, &self.durable[range.clone()]));
            self.sum = self.sum.wrapping_add(sum_of(*segment, &self.now[range]));
        }
        self.journal.extend(&self.changed);
        self.changed.clear();
        if self.journal.len() <= JOURNAL_MAX {
            return Ok(());
        }
        let per_block = geometry.sit_entries();
        let blocks: BTreeSet<u32> = self.journal.iter().map(|segment| segment / per_block).collect();
        for block in blocks {
            let mut bytes = vec![0; geometry.block];
            let first = block * per_block;
            for segment in first..(first + per_block).min(self.used.len() as u32) {
                let at = (segment - first) as usize * geometry.sit_entry();
                let entry = self.entry(segment);
                bytes[at..at + entry.len()].copy_from_slice(&entry);
            }
            let copy = 1 - self.live[block as usize];
            let at = geometry.sit(block, u32::from(copy));
            Seal::new(BlockKind::Sit, block, version).close(&mut bytes, at);
            port.write(at, &bytes, Use::Meta)?;
            self.live[block as usize] = copy;
        }
        self.journal.clear();
        Ok(())
    }

    /// The entry of a segment: blocks in use (2 bytes), log (1), state (1), 0 (4), a bit for each block.
    pub(crate) fn entry(&self, segment: u32) -> Vec<u8> {
        let mut entry = vec![0; 8 + self.segment.div_ceil(8) as usize];
        put_u16(&mut entry, 0, self.used[segment as usize]);
        entry[2] = self.log[segment as usize];
        let words = &self.now[self.words_of(segment)];
        let bytes = words.iter().flat_map(|word| word.to_le_bytes());
        entry[8..].iter_mut().zip(bytes).for_each(|(byte, bits)| *byte = bits);
        entry
    }

    /// Sets a segment by its entry.
    pub(crate) fn set_entry(&mut self, segment: u32, entry: &[u8]) {
        self.log[segment as usize] = entry[2];
        let range = self.words_of(segment);
        let words = &mut self.now[range];
        for (word, bytes) in words.iter_mut().zip(entry[8..].chunks(8)) {
            let mut raw = [0; 8];
            raw[..bytes.len()].copy_from_slice(bytes);
            *word = u64::from_le_bytes(raw);
        }
    }

    /// Reads the table, with the journal of a checkpoint. Counts anew what is in use.
    pub(crate) fn read(
        &mut self,
        geometry: &Geometry,
        port: &mut impl Port,
        journal: &BTreeMap<u32, Vec<u8>>,
    ) -> Result<(), Fault> {
        let per_block = geometry.sit_entries();
        let mut bytes = vec![0; geometry.block];
        for block in 0..geometry.sit_blocks {
            let at = geometry.sit(block, u32::from(self.live[block as usize]));
            port.read(at, &mut bytes)?;
            let is_there =
                Seal::open(&bytes, at).is_some_and(|seal| seal.kind == BlockKind::Sit && seal.owner == block);
            if !is_there {
                if bytes.iter().any(|byte| *byte != 0) {
                    return Err(Fault::Medium);
                }
                continue;
            }
            let first = block * per_block;
            for segment in first..(first + per_block).min(self.used.len() as u32) {
                let from = (segment - first) as usize * geometry.sit_entry();
                self.set_entry(segment, &bytes[from..from + geometry.sit_entry()]);
            }
        }
        for (segment, entry) in journal {
            self.set_entry(*segment, entry);
            self.journal.insert(*segment);
        }
        self.count();
        Ok(())
    }

    /// Counts what is in use.
    fn count(&mut self) {
        self.of_section.fill(0);
        self.sum = 0;
        for segment in 0..self.used.len() as u32 {
            let words = &self.now[self.words_of(segment)];
            let used: u32 = words.iter().map(|word| word.count_ones()).sum();
            self.sum = self.sum.wrapping_add(sum_of(segment, words));
            self.used[segment as usize] = used as u16;
            self.of_section[(segment / self.per_section) as usize] += used;
        }
        self.durable.clone_from(&self.now);
        self.find_free();
    }

    /// Finds the sections that are free.
    pub(crate) fn find_free(&mut self) {
        let all = 0..self.end;
        self.free = all.filter(|section| self.of_section[*section as usize] == 0 && !self.is_open(*section)).collect();
    }

    /// A checkpoint is durable. What it does not use can be taken. Returns the sections that became free.
    pub(crate) fn settled(&mut self, since: &BTreeSet<u32>) -> Vec<u32> {
        for segment in since {
            let range = self.words_of(*segment);
            self.durable[range.clone()].copy_from_slice(&self.now[range]);
        }
        let mut freed = Vec::new();
        for section in std::mem::take(&mut self.touched) {
            let is_free = section < self.end && self.of_section[section as usize] == 0 && !self.is_open(section);
            if is_free && self.free.insert(section) {
                freed.push(section);
            }
        }
        freed
    }

    /// Segments that changed since the checkpoint.
    pub(crate) fn changed(&self) -> BTreeSet<u32> {
        self.changed.clone()
    }
}

/// Writes the summary of a segment that ends.
pub(crate) fn write_summary(geometry: &Geometry, port: &mut impl Port, head: &Head, version: u64) -> Result<(), Fault> {
    let mut bytes = vec![0; geometry.block];
    for (place, owner) in head.owners.iter().enumerate() {
        put_u32(&mut bytes, place * SUMMARY_ENTRY, owner.nid);
        put_u16(&mut bytes, place * SUMMARY_ENTRY + 4, owner.slot);
    }
    let at = geometry.summary(head.segment);
    Seal::new(BlockKind::Summary, head.segment, version).close(&mut bytes, at);
    port.write(at, &bytes, Use::Meta)
}

/// Reads the summary of a segment.
pub(crate) fn read_summary(geometry: &Geometry, port: &mut impl Port, segment: u32) -> Result<Vec<Owner>, Fault> {
    let (mut bytes, at) = (vec![0; geometry.block], geometry.summary(segment));
    port.read(at, &mut bytes)?;
    if Seal::open(&bytes, at).is_none_or(|seal| seal.kind != BlockKind::Summary || seal.owner != segment) {
        return Err(Fault::Medium);
    }
    let owner = |place: usize| Owner { nid: u32_at(&bytes, place), slot: u16_at(&bytes, place + 4) };
    Ok((0..geometry.segment as usize).map(|place| owner(place * SUMMARY_ENTRY)).collect())
}
