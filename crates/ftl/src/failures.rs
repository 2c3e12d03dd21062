//! What the firmware does when flash fails: a block whose program failed is emptied at once.

use wane_nand::{Media, Task};
use wane_units::SuperblockId;

use crate::domain::{Frontier, Mover};
use crate::engine::{Ftl, Outcome};
use crate::policies::EraseCause;

impl<M: Media> Ftl<M> {
    /// Empties blocks whose program failed. The controller still has the data of the page in question, so none is lost.
    pub(crate) fn drain_failed_blocks(&mut self) -> Outcome {
        loop {
            let Some(flash) = self.media.next_failed() else { return Outcome::Done };
            self.work.pages_fail = true;
            let block = self.layout.holder(flash);
            self.failures[block.index()] = self.failures[block.index()].saturating_add(1);
            let domain = self.layout.domain(block);
            self.close_early(domain, block);
            // Without a free block it waits until garbage collection takes it; it is retired then.
            if self.domains[domain].free.is_empty() || !self.domains[domain].index.is_closed(block) {
                continue;
            }
            self.domains[domain].index.open(block);
            if self.relocate(domain, block, Mover::GarbageCollection).is_err() {
                continue;
            }
            if let Some(stop) = self.recycle(domain, block, EraseCause::GarbageCollection).stop() {
                return stop;
            }
            match self.reclaim_domain(domain) {
                Outcome::Done => {}
                stop => return stop,
            }
            if let Some(stop) = self.stop_work() {
                return stop;
            }
        }
    }

    /// Closes a block that is being written: its last page is padded, and its frontier moves on.
    pub(crate) fn close_early(&mut self, domain: usize, block: SuperblockId) {
        let state = &self.domains[domain];
        let fills = |frontier: Option<Frontier>| frontier.filter(|open| open.block == block);
        let parked = state.parked.iter().position(|parked| fills(parked.frontier).is_some());
        let (frontier, task) = match parked {
            Some(stream) => (state.parked[stream].frontier, state.parked[stream].task),
            None => (fills(state.host), Task::Host),
        };
        let Some(frontier) = frontier else { return };
        let padding = frontier.next.next_multiple_of(self.layout.units_per_page()) - frontier.next;
        if padding > 0 {
            self.pad(block, frontier.next, padding, task);
        }
        let now = self.counters.host_units_written;
        let erases = self.erase_count[block.index()];
        let state = &mut self.domains[domain];
        state.close(block, now, erases);
        match parked {
            Some(stream) => state.parked[stream].frontier = None,
            None => self.domains[domain].host = self.open_next(domain, self.host_stream),
        }
    }
}
