//! Maps that are read from a drive's file when they are first needed.
//!
//! A drive that is opened to be looked at, or for a request or two, needs few entries of its maps. Each call touches what it needs; a relocation, which
//! may need any of them, and whatever knows of stripes or of power cuts, reads the rest first. Aged drives have whole maps: [`Ftl::load`] comes before.
//!
//! A piece that is damaged stops the call before anything changed, as far as it can, and [`Ftl::unreadable`] has the sentence from then on. Nothing
//! that the drive did since may be kept.

use std::ops::Range;

use wane_archive::ArchiveError;
use wane_nand::Media;
use wane_units::{Lpn, SuperblockId};

use crate::engine::{Ftl, UNMAPPED};
use crate::persist::{Area, Persist};

impl<M: Media> Ftl<M> {
    /// Whether all of its maps was read.
    #[inline(always)]
    pub fn is_whole(&self) -> bool {
        let is_persist_whole = |persist: &Persist| persist.oob.is_whole();
        self.map.is_whole() && self.reverse.is_whole() && self.persist.as_deref().is_none_or(is_persist_whole)
    }

    /// Reads what of its maps was not read yet.
    ///
    /// # Errors
    /// A piece is damaged, or its file is gone.
    pub fn load(&mut self) -> Result<(), ArchiveError> {
        self.map.load()?;
        self.reverse.load()?;
        self.persist.as_mut().map_or(Ok(()), |persist| persist.oob.load())
    }

    /// The sentence of the first piece that could not be read when it was needed. What the drive did since means nothing.
    pub fn unreadable(&self) -> Option<&str> {
        self.unreadable.get().map(String::as_str)
    }

    /// Takes note of a piece that could not be read. Returns whether all went well.
    fn note_read(&self, read: Result<(), ArchiveError>) -> bool {
        // The first one is the cause of all that follows.
        read.map_err(|error| self.unreadable.get_or_init(|| error.to_string()).len()).is_ok()
    }

    /// Reads what of its maps was not read yet, for a call that may need any of it.
    #[cold]
    pub(crate) fn load_for_call(&mut self) -> bool {
        let read = self.load();
        self.note_read(read)
    }

    /// Reads the entries of the map of these units.
    #[cold]
    pub(crate) fn load_to_read(&mut self, units: &[u32]) -> bool {
        if self.stripes.is_some() {
            return self.load_for_call();
        }
        let read = units.iter().try_for_each(|unit| self.map.touch(*unit as usize..*unit as usize + 1));
        self.note_read(read)
    }

    /// Reads what a change of these units needs before a block is full: their entries, and those of the open blocks.
    #[cold]
    pub(crate) fn load_to_write(&mut self, units: &[u32]) -> bool {
        let area = self.persist.as_ref().map(|persist| &persist.area);
        if self.stripes.is_some() || area.is_some_and(Area::keeps_content) {
            return self.load_for_call();
        }
        let written = area.and_then(Area::next).map(|(block, _)| block);
        let open = self.domains.iter().flat_map(|domain| domain.open().map(|open| open.block));
        let open: Vec<SuperblockId> = open.chain(written).collect();
        self.load_to_read(units) && open.into_iter().all(|block| self.load_block(block))
    }

    /// Reads these entries of the map.
    #[cold]
    pub(crate) fn load_units(&mut self, units: Range<u32>) -> bool {
        let read = self.map.touch(units.start as usize..units.end as usize);
        self.note_read(read)
    }

    /// Reads what the maps, and out-of-band data, have of a block.
    #[cold]
    pub(crate) fn load_block(&mut self, block: SuperblockId) -> bool {
        let first = self.layout.unit(block, 0).index();
        let mut read = self.reverse.touch(first..first + self.units_per_block as usize);
        if let Some(persist) = &mut self.persist {
            read = read.and_then(|()| persist.oob.touch(block));
        }
        self.note_read(read)
    }

    /// An entry of the map, whether it was read or not.
    #[inline(always)]
    pub(crate) fn entry(&self, logical: Lpn) -> u32 {
        if self.map.is_whole() { self.map[logical.index()] } else { self.peek(logical) }
    }

    #[cold]
    fn peek(&self, logical: Lpn) -> u32 {
        let found = self.map.peek(logical.index());
        found.unwrap_or_else(|error| {
            self.note_read(Err(error));
            UNMAPPED
        })
    }
}
