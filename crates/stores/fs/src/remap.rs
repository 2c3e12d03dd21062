//! Data leave a section by a change of the device's map: nothing of them is read or written.
//!
//! A remap takes the source away at once, while the last checkpoint still points there. So the owners of what is to come into a section are first
//! written into its summary, and a checkpoint says that the section is *intended*; then the device remaps; then a checkpoint has the new addresses. A mount that
//! finds an intended section goes on with it, block by block: where the owner's pointer leads to a block that still holds something, that is
//! remapped, and the rest was. A structure says its address in its seal, and is written anew instead.

use std::collections::BTreeSet;

use crate::checkpoint::Why;
use crate::error::{Answer, FsError};
use crate::map::Slot;
use crate::port::{Addr, Barrier, Fault, Port, Use};
use crate::segments::{Head, Log, Owner, write_summary};
use crate::volume::{Mode, Volume};

/// Most sections that one checkpoint intends.
pub(crate) const INTENDED_MAX: usize = 64;

/// A block that is to be remapped, and where to.
#[derive(Clone, Copy)]
struct Pair {
    from: Addr,
    to: Addr,
    owner: Owner,
}

impl Pair {
    const fn slot(&self) -> Slot {
        Slot { nid: self.owner.nid, slot: self.owner.slot as u32 }
    }
}

impl<P: Port> Volume<P> {
    /// Remaps about `blocks` blocks of data from the sections from `bound` on to free sections below it, one after the other. Returns how many; none
    /// if what is left there must be cleaned instead, since it is of structures, or the device cannot remap, or there is no free section.
    pub(crate) fn remap_from(&mut self, bound: u32, blocks: u64) -> Answer<u64> {
        if self.remaps == Remaps::Never {
            return Ok(0);
        }
        // What waits in memory has left its section then.
        self.write_back(None)?;
        let leaving = self.data_from(bound, blocks)?;
        let section = self.geometry.section();
        let mut intended = Vec::new();
        for _ in leaving.chunks(section as usize).take(INTENDED_MAX) {
            if self.segments.free_below(bound) <= self.needed() {
                break;
            }
            let Some(to) = self.segments.reserve_below(bound) else { break };
            intended.push(to);
        }
        for (part, to) in leaving.chunks(section as usize).zip(&intended) {
            self.summarize(*to, part)?;
        }
        if intended.is_empty() {
            return Ok(0);
        }
        self.intended = intended.clone();
        self.has_changed = true;
        self.checkpoint(Why::Sync)?;
        intended.iter().for_each(|to| self.segments.reserve(*to));
        let before = self.counted.remapped;
        self.carry_over(&intended, Mode::ReadWrite)?;
        self.intended.clear();
        self.checkpoint(Why::Sync)?;
        Ok(self.counted.remapped - before)
    }

    /// Goes on with what the last checkpoint intended.
    pub(crate) fn finish_remap(&mut self, intended: &[u32], mode: Mode) -> Answer<()> {
        intended.iter().for_each(|to| self.segments.reserve(*to));
        self.carry_over(intended, mode)
    }

    /// Who owns the data in the sections from `bound` on, in order, until there are about N `blocks`.
    fn data_from(&mut self, bound: u32, blocks: u64) -> Answer<Vec<(Addr, Owner)>> {
        let mut all = Vec::new();
        for section in self.segments.taken_from(bound) {
            if all.len() as u64 >= blocks || all.len() >= INTENDED_MAX * self.geometry.section() as usize {
                break;
            }
            let first = section * self.geometry.section_segments;
            let mut segments = first..first + self.geometry.section_segments;
            let is_data =
                segments.all(|segment| matches!(self.segments.log_of(segment), Log::WarmData | Log::ColdData));
            if !is_data || self.segments.is_open(section) || self.segments.is_stuck(section) {
                continue;
            }
            // One of which something is lost is cleaned.
            if let Ok(mut owned) = self.owners_of(section) {
                all.append(&mut owned);
            }
        }
        Ok(all)
    }

    /// Who owns the blocks of a section that are in use, in order.
    fn owners_of(&mut self, section: u32) -> Answer<Vec<(Addr, Owner)>> {
        let (mut all, mut known): (_, Option<(u32, Vec<Owner>)>) = (Vec::new(), None);
        for at in self.segments.used_blocks(&self.geometry, section) {
            let (segment, place) = self.geometry.place(at);
            if known.as_ref().is_none_or(|(of, _)| *of != segment) {
                known = Some((segment, self.segments.owners(&self.geometry, &mut self.port, segment)?));
            }
            let owner = known.as_ref().map(|(_, owners)| owners[place as usize]).unwrap_or_default();
            if self.pointer(Slot { nid: owner.nid, slot: u32::from(owner.slot) })?.at != at {
                return Err(FsError::Io);
            }
            all.push((at, owner));
        }
        Ok(all)
    }

    /// What is to come into a section, as its summary says.
    fn pairs_of(&mut self, to: u32) -> Answer<Vec<Pair>> {
        let (each, mut pairs) = (self.geometry.section_segments, Vec::new());
        for segment in to * each..(to + 1) * each {
            let owners = self.segments.owners(&self.geometry, &mut self.port, segment)?;
            let first = self.geometry.main() + segment * self.geometry.segment;
            for (to, owner) in (first..).zip(owners).filter(|(_, owner)| owner.nid != 0) {
                let pair = Pair { from: 0, to, owner };
                let from = self.pointer(pair.slot())?.at;
                if !self.geometry.is_main(from) || from == to {
                    return Err(FsError::Io);
                }
                pairs.push(Pair { from, ..pair });
            }
        }
        Ok(pairs)
    }

    /// Moves what is to come into sections there, and the pointers with it.
    fn carry_over(&mut self, intended: &[u32], mode: Mode) -> Answer<()> {
        let mut pairs = Vec::new();
        for to in intended {
            pairs.append(&mut self.pairs_of(*to)?);
        }
        // One block cannot go to two places: that is no summary of what is to come.
        let sources: BTreeSet<Addr> = pairs.iter().map(|pair| pair.from).collect();
        if sources.len() < pairs.len() {
            return Err(FsError::Io);
        }
        // On a device that cannot tell, all of it is still where it was.
        let is_here: Vec<bool> = pairs.iter().map(|pair| self.port.holds(pair.from)).collect();
        let mut lost = BTreeSet::new();
        if mode == Mode::ReadWrite {
            let mut run: Option<(Addr, Addr, u32)> = None;
            for (pair, _) in pairs.iter().zip(&is_here).filter(|(_, is_here)| **is_here) {
                run = match run {
                    Some((from, to, count)) if (from + count, to + count) == (pair.from, pair.to) => {
                        Some((from, to, count + 1))
                    }
                    other => {
                        self.move_run(other, &mut lost)?;
                        Some((pair.from, pair.to, 1))
                    }
                };
            }
            self.move_run(run, &mut lost)?;
            let flushed = self.port.flush(Barrier::Data);
            flushed.map_err(|fault| self.fail(fault))?;
        }
        for (pair, is_here) in pairs.into_iter().zip(is_here) {
            // A mount that changes nothing finds each block where it is.
            if mode != Mode::ReadWrite && is_here {
                continue;
            }
            if lost.contains(&pair.from) {
                let ino = self.node(pair.owner.nid)?.ino;
                self.lose(ino, pair.slot(), pair.from)?;
                continue;
            }
            self.segments.note_unused(&self.geometry, pair.from);
            self.segments.note_used(&self.geometry, pair.to);
            let pointer = self.pointer(pair.slot())?;
            self.set_pointer(pair.slot(), pointer.moved(pair.to))?;
            self.counted.remapped += 1;
        }
        Ok(())
    }

    /// Remaps blocks that follow each other, or copies them if the device cannot remap any more. Adds those that are `lost`.
    fn move_run(&mut self, run: Option<(Addr, Addr, u32)>, lost: &mut BTreeSet<Addr>) -> Answer<()> {
        let Some((from, to, count)) = run else { return Ok(()) };
        match self.port.remap(from, to, count) {
            Ok(()) => return Ok(()),
            Err(Fault::Gone) => return Err(self.fail(Fault::Gone)),
            Err(_) => self.remaps = Remaps::Never,
        }
        let mut bytes = vec![0; self.geometry.block];
        for number in 0..count {
            match self.port.read_data(from + number, &mut bytes) {
                // A copy that does not match its checksum is as wrong as what it is a copy of.
                Ok(()) => {}
                Err(Fault::Gone) => return Err(self.fail(Fault::Gone)),
                Err(_) => {
                    lost.insert(from + number);
                    continue;
                }
            }
            let wrote = self.port.write(to + number, &bytes, Use::Move);
            wrote.map_err(|fault| self.fail(fault))?;
        }
        Ok(())
    }

    /// Notes who will own the blocks of a section.
    fn summarize(&mut self, to: u32, coming: &[(Addr, Owner)]) -> Answer<()> {
        let (each, version) = (self.geometry.section_segments, self.seal_version);
        let mut owners = coming.iter().map(|(_, owner)| *owner);
        for segment in to * each..(to + 1) * each {
            let blocks = self.geometry.segment;
            let owners: Vec<Owner> = (0..blocks).map(|_| owners.next().unwrap_or_default()).collect();
            let head = Head { segment, next: blocks, owners };
            let wrote = write_summary(&self.geometry, &mut self.port, &head, version);
            wrote.map_err(|fault| self.fail(fault))?;
            self.segments.note_log(segment, Log::ColdData);
        }
        Ok(())
    }
}

/// Whether the device remaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Remaps {
    /// As far as is known.
    Yes,
    /// It refused to.
    Never,
}
