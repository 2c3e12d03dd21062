//! The graph in a file.

use wane_archive::{Archive, ArchiveError};

use super::{Block, Graph};
use crate::saved;
use crate::slab::NONE;

impl Graph {
    /// Saves what waits for what, or reads it into the new graph of a scheduler of the same drive. Between two calls of the
    /// scheduler all news were taken up, and no list of operations is open.
    pub(crate) fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        debug_assert!(!self.has_news(), "news are taken up in the call that makes them");
        debug_assert_eq!(self.open_job, NONE, "the end of a list closes its job");
        archive.field("graph.links", &mut self.links)?;
        archive.field("graph.parts", &mut self.parts)?;
        archive.field("graph.breakdowns", &mut self.breakdowns)?;
        self.groups.archive(archive, "graph.groups")?;
        self.epochs.archive(archive, "graph.epochs")?;
        self.recoveries.archive(archive, "graph.recoveries")?;
        self.jobs.archive(archive, "graph.jobs")?;
        self.archive_blocks(archive)?;
        saved::table(archive, "graph.dies", &mut self.dies, |_, _| {})?;
        archive.optional("graph.cache", &mut self.cache, |cache, archive| cache.archive(archive))?;
        archive.field("graph.flushes", &mut self.flushes)?;
        archive.field("graph.unacknowledged", &mut self.unacknowledged)?;
        archive.field("graph.erases", &mut self.erases)?;
        archive.field("graph.barrier", &mut self.barrier)?;
        archive.field("graph.changes", &mut self.changes)?;
        archive.optional("graph.turns", &mut self.turns, |turns, archive| turns.archive(archive))?;
        archive.field("graph.reads-around", &mut self.reads_around)?;
        archive.field("graph.last-read", &mut self.last_read)?;
        archive.field("graph.filling", &mut self.filling)?;
        archive.field("graph.collections", &mut self.collections)
    }

    /// Only the blocks on which something came are in the file: a drive has millions.
    fn archive_blocks(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        const NAME: &str = "graph.blocks";
        let numbered = (0u32..).zip(&self.blocks);
        let mut used: Vec<(u32, Block)> = numbered
            .filter(|(_, block)| **block != Block::NEW)
            .map(|(number, block)| (number, block.clone()))
            .collect();
        archive.field(NAME, &mut used)?;
        if archive.is_reading() {
            self.blocks.fill(Block::NEW);
            for (number, block) in used {
                let own = self.blocks.get_mut(number as usize);
                *own.ok_or_else(|| ArchiveError::Damaged { name: NAME.to_owned() })? = block;
            }
        }
        Ok(())
    }
}
