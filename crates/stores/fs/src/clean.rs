//! Cleaning: sections become free as what is still in use in them is moved.

use crate::checkpoint::Why;
use crate::error::{Answer, FsError};
use crate::inode::FileKind;
use crate::map::Slot;
use crate::port::{Addr, Port, Use};
use crate::segments::{Log, Owner};
use crate::volume::Volume;

/// Sections beside what is needed to write all that is in memory, so that what one call adds fits too.
pub(crate) const MARGIN: u32 = 4;

impl<P: Port> Volume<P> {
    /// Sections that writing all that is in memory may take.
    pub(crate) fn sections_to_write(&self) -> u32 {
        // A block that is written changes a node at most.
        let blocks = 2 * self.pages.dirty_count() + self.dirty.len();
        blocks.div_ceil(self.geometry.section() as usize) as u32 + Log::ALL.len() as u32
    }

    fn is_crowded(&self) -> bool {
        self.segments.free_sections() < self.sections_to_write() + MARGIN
    }

    /// Whether another section that is cleaned could leave too little to write what is in memory.
    pub(crate) fn is_tight(&self) -> bool {
        self.segments.free_sections() < self.sections_to_write() + 2
    }

    /// Most blocks that may wait to be written.
    fn dirty_max(&self) -> usize {
        (self.segments.end * self.geometry.section() / 50).clamp(64, 1 << 14) as usize
    }

    /// Makes sure that all that is in memory can be written, and a call's worth more: writes it, and cleans, as far as needed.
    ///
    /// # Errors
    /// The device failed.
    pub(crate) fn balance(&mut self) -> Answer<()> {
        if self.pages.dirty_count() + self.dirty.len() > self.dirty_max() {
            self.checkpoint(Why::Sync)?;
        }
        if !self.is_crowded() {
            return Ok(());
        }
        self.checkpoint(Why::Sync)?;
        // A checkpoint frees what several sections were cleaned for.
        let ahead = (self.segments.end / 64).min(16);
        let mut rounds = 4 * self.segments.end + 64;
        while self.segments.free_sections() < self.sections_to_write() + MARGIN + ahead && rounds > 0 {
            let mut cleaned = 0;
            while cleaned <= ahead && (cleaned == 0 || !self.is_tight()) {
                let Some(section) = self.segments.victim(u32::MAX) else { break };
                self.clean(section)?;
                (cleaned, rounds) = (cleaned + 1, rounds.saturating_sub(1));
            }
            if cleaned == 0 {
                break;
            }
            self.checkpoint(Why::Sync)?;
        }
        if self.segments.free_sections() < self.sections_to_write() { Err(FsError::NoSpace) } else { Ok(()) }
    }

    /// Moves what is in use in a section. It is free after the next checkpoint.
    pub(crate) fn clean(&mut self, section: u32) -> Answer<()> {
        let mut owners: Option<(u32, Vec<Owner>)> = None;
        for at in self.segments.used_blocks(&self.geometry, section) {
            let (segment, place) = self.geometry.place(at);
            if owners.as_ref().is_none_or(|(known, _)| *known != segment) {
                let Ok(read) = self.segments.owners(&self.geometry, &mut self.port, segment) else {
                    self.segments.note_stuck(section);
                    return Ok(());
                };
                owners = Some((segment, read));
            }
            let owner = owners.as_ref().map(|(_, list)| list[place as usize]).unwrap_or_default();
            let moved = if self.segments.log_of(segment).is_of_nodes() {
                self.move_node(at, owner)
            } else {
                self.move_data(at, owner)
            };
            match moved {
                Ok(()) => self.counted.moved += 1,
                Err(FsError::Io | FsError::NotFound) if self.mode == crate::volume::Mode::ReadWrite => {
                    self.segments.note_stuck(section);
                }
                Err(error) => return Err(error),
            }
        }
        self.counted.cleaned += 1;
        Ok(())
    }

    /// A node is written anew by the next checkpoint.
    fn move_node(&mut self, at: Addr, owner: Owner) -> Answer<()> {
        let entry = self.nat.get(&self.geometry, &mut self.port, owner.nid)?;
        if entry.at != at {
            return Err(FsError::Io);
        }
        self.node_mut(owner.nid)?;
        Ok(())
    }

    fn move_data(&mut self, at: Addr, owner: Owner) -> Answer<()> {
        let slot = Slot { nid: owner.nid, slot: u32::from(owner.slot) };
        let pointer = self.pointer(slot)?;
        if pointer.at != at {
            return Err(FsError::Io);
        }
        let node = self.node(owner.nid)?;
        let (ino, index) = (node.ino, node.first.checked_add(slot.slot).ok_or(FsError::Io)?);
        let is_directory = self.inode(ino)?.kind() == Some(FileKind::Directory);
        if is_directory || self.pages.is_dirty(ino, index) {
            if !self.pages.is_dirty(ino, index) {
                let page: Box<[u8]> = if is_directory {
                    self.dir_page(ino, index)?.ok_or(FsError::Io)?.into()
                } else {
                    self.page(ino, index)?.into()
                };
                self.pages.change(ino, index, || page);
            }
            return self.write_out(ino, index);
        }
        let mut bytes = vec![0; self.geometry.block];
        if self.read_data((ino, index), pointer, &mut bytes).is_err() {
            return self.lose(ino, slot, at);
        }
        let version = self.seal_version;
        let taken = self.segments.take(&self.geometry, &mut self.port, Log::ColdData, owner, version);
        let to = taken.map_err(|fault| self.fail(fault))?;
        let wrote = self.port.write(to, &bytes, Use::Move);
        wrote.map_err(|fault| self.fail(fault))?;
        self.counted.copied += 1;
        self.segments.note_unused(&self.geometry, at);
        self.set_pointer(slot, pointer.moved(to))
    }
}
