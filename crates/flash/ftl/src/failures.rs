//! What the firmware does when flash fails: it empties a block whose program failed at once. It does the same with a block that the host
//! takes out of service.

use wane_nand::{Media, Task};
use wane_units::{BlockState, SuperblockId};

use crate::domain::{Frontier, Mover};
use crate::engine::{Ftl, Outcome};
use crate::policies::EraseCause;

/// Why a block cannot be taken out of service.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnretiredError {
    /// There is no such block.
    #[error("there is no block {0}")]
    NoSuchBlock(u32),
    /// It is already out of service.
    #[error("block {0} is out of service already")]
    Retired(u32),
    /// It belongs to the metadata area, or a power cut left it half erased.
    #[error("block {0} belongs to the firmware's own area")]
    Taken(u32),
    /// There is no room elsewhere for its data.
    #[error("block {0} holds data, and no free block is left for them")]
    NoRoom(u32),
}

impl<M: Media> Ftl<M> {
    /// Takes a block out of service as if it had turned bad: its data are relocated, and it is erased for the last time. If the drive demands
    /// capacity, answer the demand, then call [`Ftl::reclaim`].
    ///
    /// # Errors
    /// The block cannot be taken out. Only the places of data have changed.
    pub fn retire_block(&mut self, block: SuperblockId) -> Result<Outcome, UnretiredError> {
        if let Some(death) = self.dead {
            return Ok(Outcome::Dead(death));
        }
        if block.0 >= self.layout.blocks() {
            return Err(UnretiredError::NoSuchBlock(block.0));
        }
        self.begin_call();
        let domain = self.layout.domain(block);
        match self.state(block) {
            BlockState::Retired => return Err(UnretiredError::Retired(block.0)),
            BlockState::Free => {
                self.domains[domain].free.remove(block, self.erase_count[block.index()]);
                return Ok(self.retired_or_on(domain, block));
            }
            BlockState::Open => self.close_early(domain, block),
            BlockState::Closed => {}
        }
        if !self.domains[domain].index.is_closed(block) {
            return Err(UnretiredError::Taken(block.0));
        }
        if self.domains[domain].free.is_empty() {
            return Err(UnretiredError::NoRoom(block.0));
        }
        self.domains[domain].index.open(block);
        if self.relocate(domain, block, Mover::GarbageCollection).is_err() {
            return Err(UnretiredError::NoRoom(block.0));
        }
        self.fill_page(domain, Mover::GarbageCollection);
        self.erase(domain, block, EraseCause::GarbageCollection);
        Ok(self.retired_or_on(domain, block))
    }

    /// Retires an erased block and collects until the reserve is restored.
    pub(crate) fn retired_or_on(&mut self, domain: usize, block: SuperblockId) -> Outcome {
        if let Some(stop) = self.retire(domain, block) {
            return stop;
        }
        match self.reclaim_domain(domain) {
            Outcome::Done => self.run_pending(),
            stop => stop,
        }
    }

    /// Empties blocks whose program failed. The controller still has the data of the failed page, so no data are lost.
    pub(crate) fn drain_failed_blocks(&mut self) -> Outcome {
        loop {
            let Some(flash) = self.media.next_failed() else { return Outcome::Done };
            self.work.pages_fail = true;
            let block = self.layout.holder(flash);
            self.failures[block.index()] = self.failures[block.index()].saturating_add(1);
            let domain = self.layout.domain(block);
            self.close_early(domain, block);
            // Without a free block the failed block waits until garbage collection takes and retires it.
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

    /// Closes a block that is being written. Its last page is padded, and its stream goes on in another block.
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
