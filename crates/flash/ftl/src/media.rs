//! Puts another medium under the same firmware. The tables are moved, not copied.

use wane_nand::Media;
use wane_units::{BlockId, SuperblockId};

use crate::engine::Ftl;

impl<M: Media> Ftl<M> {
    /// Puts the same firmware over another medium, which `change` makes from the present one. Both have the same geometry and the
    /// same erase counts.
    ///
    /// # Panics
    /// The geometries differ, or a failed page of the old medium was not dealt with.
    pub fn over<N: Media<Tag = M::Tag>>(self, change: impl FnOnce(M) -> N) -> Ftl<N> {
        let geometry = *self.media.geometry();
        let media = change(self.media);
        assert_eq!(geometry, *media.geometry(), "a drive keeps its geometry");
        let mut failures = self.failures;
        if N::DETAILED {
            failures.resize(self.layout.blocks() as usize, 0);
        }
        Ftl {
            media,
            failures,
            layout: self.layout,
            units_per_block: self.units_per_block,
            locator: self.locator,
            map: self.map,
            reverse: self.reverse,
            unreadable: self.unreadable,
            erase_count: self.erase_count,
            erases_initial: self.erases_initial,
            worn_before: self.worn_before,
            retired: self.retired,
            domains: self.domains,
            turn: self.turn,
            turns: self.turns,
            gc_reserve: self.gc_reserve,
            gc_unforced: self.gc_unforced,
            rated_blocks: self.rated_blocks,
            endurance: self.endurance,
            retire: self.retire,
            placement: self.placement,
            stream_count: self.stream_count,
            host_stream: self.host_stream,
            hint: self.hint,
            capacity: self.capacity,
            logical_initial: self.logical_initial,
            exported: self.exported,
            counters: self.counters,
            leveling: self.leveling,
            mode: self.mode,
            host_reads: self.host_reads,
            scrub: self.scrub,
            stripes: self.stripes,
            lost: self.lost,
            unread: self.unread,
            read_recovery: self.read_recovery,
            work: self.work,
            touched: self.touched,
            retired_blocks: self.retired_blocks,
            dead: self.dead,
            giving: self.giving,
            scratch: self.scratch,
            payload: self.payload,
            tags: self.tags,
            tags_written: self.tags_written,
            origins: self.origins,
            persist: self.persist,
            rescued: self.rescued,
            capture: None,
            // Nothing is in flight on a drive that changes its medium.
            flight: None,
        }
    }

    /// Flash blocks with pages that can still be programmed, each with the first such page: blocks that are free or being written.
    pub fn unprogrammed(&self) -> Vec<(BlockId, u32)> {
        let mut found = Vec::new();
        let width = self.layout.width();
        for domain in &self.domains {
            let free = domain.free.iter().map(|block| (block, 0));
            for (block, unit) in free.chain(domain.open().map(|open| (open.block, open.next))) {
                let page = self.layout.page_in_block(unit);
                let rows = |member: u32| page.saturating_sub(member).div_ceil(width);
                found.extend((0..width).map(|member| (self.layout.member(block, member), rows(member))));
            }
        }
        if let Some(persist) = &self.persist
            && let Some((block, page)) = persist.area.next()
            && page < self.layout.pages_per_superblock()
        {
            let rows = |member: u32| page.saturating_sub(member).div_ceil(width);
            found.extend((0..width).map(|member| (self.layout.member(block, member), rows(member))));
        }
        // A flash block may be full before the firmware block that it is a member of.
        let pages = self.media.geometry().pages_per_block();
        found.retain(|(_, first)| *first < pages);
        found
    }

    /// Mapped units of blocks whose data are expected to need more re-reads, even just after a program, than a host read may take; 0 without a
    /// limit.
    pub fn units_beyond_recovery(&self) -> u64 {
        let Some(most) = self.read_recovery.filter(|_| M::DETAILED) else { return 0 };
        let needs_more = |block: &SuperblockId| {
            self.layout.members(*block).any(|member| self.media.health(member).fresh_rereads > most)
        };
        let serving = self.layout.superblocks().filter(|block| !self.retired[block.index()]);
        serving.filter(needs_more).map(|block| u64::from(self.valid(block))).sum()
    }
}
