//! Data leave a section by a change of the device's map: nothing of them is read or written.
//!
//! A remap takes the source away at once, while the last checkpoint still points there. So a checkpoint first says what is intended; then the
//! device remaps; then a checkpoint has the new addresses. A mount that finds an intent goes on with it, block by block: what the source still
//! holds is remapped, and the rest was. A structure says its address in its seal, and is written anew instead.

use std::collections::BTreeSet;

use crate::checkpoint::Why;
use crate::error::{Answer, FsError};
use crate::map::Slot;
use crate::port::{Addr, Barrier, Fault, Port, Use};
use crate::segments::{Head, Log, Owner, write_summary};
use crate::volume::{Mode, Volume};

impl<P: Port> Volume<P> {
    /// Remaps the data of a section to one below the target. Returns false if it must be cleaned instead: it holds structures, the device cannot
    /// remap, or there is no section.
    pub(crate) fn remap_section(&mut self, from: u32) -> Answer<bool> {
        let first = from * self.geometry.section_segments;
        let mut segments = first..first + self.geometry.section_segments;
        let is_data = segments.all(|segment| matches!(self.segments.log_of(segment), Log::WarmData | Log::ColdData));
        let bound = self.segments.bound;
        if !is_data || self.remaps == Remaps::Never || self.owners_of(from).is_err() {
            return Ok(false);
        }
        let Some(to) = self.segments.reserve_below(bound) else { return Ok(false) };
        self.intent = Some((from, to));
        self.has_changed = true;
        self.checkpoint(Why::Sync)?;
        // What was in memory may have left the section with the checkpoint.
        self.segments.reserve(to);
        self.carry_over(from, to, Mode::ReadWrite)?;
        self.intent = None;
        self.checkpoint(Why::Sync)?;
        Ok(true)
    }

    /// Goes on with what the last checkpoint intended.
    pub(crate) fn finish_remap(&mut self, from: u32, to: u32, mode: Mode) -> Answer<()> {
        self.segments.reserve(to);
        self.carry_over(from, to, mode)
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
            if self.pointer(slot_of(owner))?.at != at {
                return Err(FsError::Io);
            }
            all.push((at, owner));
        }
        Ok(all)
    }

    /// Moves the blocks of a section to the same places of another, and their pointers with them.
    fn carry_over(&mut self, from: u32, to: u32, mode: Mode) -> Answer<()> {
        let owners = self.owners_of(from)?;
        let section = self.geometry.section();
        let there = |at: Addr| at - from * section + to * section;
        let mut moved: Vec<(Addr, Owner)> = Vec::new();
        let (mut run, mut lost): (Option<(Addr, u32)>, _) = (None, BTreeSet::new());
        for (at, owner) in owners.iter().copied() {
            // On a device that cannot tell, all of it is still where it was.
            let is_here = self.port.holds(at);
            if mode != Mode::ReadWrite {
                if !is_here {
                    moved.push((at, owner));
                }
                continue;
            }
            if is_here {
                run = match run {
                    Some((first, count)) if first + count == at => Some((first, count + 1)),
                    other => {
                        self.move_run(other, there, &mut lost)?;
                        Some((at, 1))
                    }
                };
            }
            moved.push((at, owner));
        }
        self.move_run(run, there, &mut lost)?;
        moved.retain(|(at, _)| !lost.contains(at));
        if mode == Mode::ReadWrite {
            let flushed = self.port.flush(Barrier::Data);
            flushed.map_err(|fault| self.fail(fault))?;
            self.summarize(to, &moved, there)?;
        }
        for (at, owner) in moved {
            self.segments.note_unused(&self.geometry, at);
            self.segments.note_used(&self.geometry, there(at));
            let slot = slot_of(owner);
            // Its checksum, if it has one, goes with it.
            let pointer = self.pointer(slot)?.moved(there(at));
            self.set_pointer(slot, pointer)?;
            self.counted.remapped += 1;
        }
        for (at, owner) in owners.into_iter().filter(|(at, _)| lost.contains(at)) {
            let ino = self.node(owner.nid)?.ino;
            self.lose(ino, slot_of(owner), at)?;
        }
        Ok(())
    }

    /// Remaps blocks that follow each other, or copies them if the device cannot remap any more. Adds those that are `lost`.
    fn move_run(
        &mut self,
        run: Option<(Addr, u32)>,
        there: impl Fn(Addr) -> Addr,
        lost: &mut BTreeSet<Addr>,
    ) -> Answer<()> {
        let Some((first, count)) = run else { return Ok(()) };
        match self.port.remap(first, there(first), count) {
            Ok(()) => return Ok(()),
            Err(Fault::Gone) => return Err(self.fail(Fault::Gone)),
            Err(_) => self.remaps = Remaps::Never,
        }
        let mut bytes = vec![0; self.geometry.block];
        for at in first..first + count {
            match self.port.read(at, &mut bytes) {
                // A copy that does not match its checksum is as wrong as what it is a copy of.
                Ok(()) => {}
                Err(Fault::Gone) => return Err(self.fail(Fault::Gone)),
                Err(_) => {
                    lost.insert(at);
                    continue;
                }
            }
            let wrote = self.port.write(there(at), &bytes, Use::Move);
            wrote.map_err(|fault| self.fail(fault))?;
        }
        Ok(())
    }

    /// Notes who owns the blocks of the section to which data moved.
    fn summarize(&mut self, to: u32, moved: &[(Addr, Owner)], there: impl Fn(Addr) -> Addr) -> Answer<()> {
        let (each, version) = (self.geometry.section_segments, self.seal_version);
        for segment in to * each..(to + 1) * each {
            let mut owners = vec![Owner::default(); self.geometry.segment as usize];
            for (at, owner) in moved {
                let (of, place) = self.geometry.place(there(*at));
                if of == segment {
                    owners[place as usize] = *owner;
                }
            }
            let head = Head { segment, next: self.geometry.segment, owners };
            let wrote = write_summary(&self.geometry, &mut self.port, &head, version);
            wrote.map_err(|fault| self.fail(fault))?;
            self.segments.note_log(segment, Log::ColdData);
        }
        Ok(())
    }
}

/// The pointer of which a summary tells.
const fn slot_of(owner: Owner) -> Slot {
    Slot { nid: owner.nid, slot: owner.slot as u32 }
}

/// Whether the device remaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Remaps {
    /// As far as is known.
    Yes,
    /// It refused to.
    Never,
}
