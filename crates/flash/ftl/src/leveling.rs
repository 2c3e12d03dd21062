//! Carries out the moves that a wear leveler plans.

use wane_nand::{Media, Task};
use wane_units::SuperblockId;

use crate::counters::{Cause, CountPrograms};
use crate::engine::{Ftl, Outcome};
use crate::policies::wear_leveling::{Action, WearView};
use crate::policies::{BlockEvent, EraseCause};
use crate::relocate::Target;

impl<M: Media> Ftl<M> {
    /// Asks the leveler and makes the move that it plans. This is done once, or until it plans nothing if it tests again after each
    /// move. Returns `Some` if a block retired and that stops the caller.
    pub(crate) fn level(&mut self, domain: usize, erased: Option<SuperblockId>) -> Option<Outcome> {
        // A policy from outside may never stop: its other moves wait for the next host write.
        let moves_max = if self.domains[domain].leveler.tests_again() { self.domains[domain].blocks } else { 1 };
        for number in 0..moves_max {
            let action = self.planned(domain, if number == 0 { erased } else { None })?;
            let stop = match action {
                Action::Refill { from, into } => self.refill(domain, from, into),
                Action::Exchange { hot, cold } => self.exchange(domain, hot, cold),
            };
            if stop.is_some() {
                return stop;
            }
        }
        None
    }

    /// The action that the leveler plans now, if it is allowed.
    fn planned(&mut self, domain: usize, erased: Option<SuperblockId>) -> Option<Action> {
        let mode = self.mode();
        let state = &mut self.domains[domain];
        if state.free.is_empty() {
            // Every action needs a free block.
            return None;
        }
        let index = &state.index;
        let view = WearView {
            first: state.first,
            blocks: state.blocks,
            erased,
            erase_count: &self.erase_count,
            valid: index,
            gc_erases: state.gc_erases,
            wear_leveling_erases: state.wear_leveling_erases,
            host_writes: self.counters.host_units_written,
            free: state.free.len() as u32,
            mode,
        };
        let action = state.leveler.plan(&view);
        state.leveling_due = action.is_some();
        let action = action?;
        if !self.allowed(domain, action) {
            self.counters.policy_refusals += 1;
            self.domains[domain].leveling_due = false;
            return None;
        }
        Some(action)
    }

    fn allowed(&self, domain: usize, action: Action) -> bool {
        let state = &self.domains[domain];
        let closed = |block| state.has(block) && state.index.is_closed(block);
        match action {
            Action::Refill { from, into } => closed(from) && state.has(into) && self.is_free(into),
            Action::Exchange { hot, cold } => closed(hot) && closed(cold) && hot != cold && state.free.len() > 1,
        }
    }

    fn is_free(&self, block: SuperblockId) -> bool {
        self.domain_of(block).free.contains(block, self.erase_count[block.index()])
    }

    /// Moves a closed block's data into a free block.
    fn refill(&mut self, domain: usize, from: SuperblockId, into: SuperblockId) -> Option<Outcome> {
        let state = &mut self.domains[domain];
        state.free.remove(into, self.erase_count[into.index()]);
        state.tell(BlockEvent::Opened, into, self.erase_count[into.index()]);
        self.note_opened(into, None);
        self.domains[domain].index.open(from);
        self.copy_whole(domain, from, into);
        self.recycle(domain, from, EraseCause::WearLeveling).stop()
    }

    /// Moves a cold block's data into a hot, much worn block.
    fn exchange(&mut self, domain: usize, hot: SuperblockId, cold: SuperblockId) -> Option<Outcome> {
        let spare = self.open_block(domain, None).expect("checked: a block is free");
        self.domains[domain].index.open(hot);
        self.copy_whole(domain, hot, spare);
        self.erase(domain, hot, EraseCause::WearLeveling);
        if self.worn_out(hot, EraseCause::WearLeveling) {
            // The block cannot take the cold data any more; that stays where it is.
            return self.retire(domain, hot);
        }
        self.domains[domain].tell(BlockEvent::Opened, hot, self.erase_count[hot.index()]);
        self.note_opened(hot, None);
        self.domains[domain].index.open(cold);
        self.copy_whole(domain, cold, hot);
        self.recycle(domain, cold, EraseCause::WearLeveling).stop()
    }

    /// Copies every valid unit of a block that left the index into an erased block, pads the last page and closes the latter.
    fn copy_whole(&mut self, domain: usize, from: SuperblockId, into: SuperblockId) {
        assert_ne!(from, into, "a block that is about to be erased takes none of its own units");
        assert_eq!(self.domains[domain].index.valid(into), 0, "a whole block is copied into one that holds nothing");
        assert!(!self.retired[into.index()], "no data go to a block out of service");
        let count = self.gather(from);
        self.empty(domain, from);
        let target = Target { block: into, next: 0, task: Task::WearLeveling };
        self.append(domain, from, target, 0, count);
        self.counters.programmed(Cause::WearLeveling, u64::from(count));
        let per_page = self.layout.units_per_page();
        let padding = count.next_multiple_of(per_page) - count;
        if padding > 0 {
            self.pad(into, count, padding, Task::WearLeveling);
        }
        let now = self.counters.host_units_written;
        let erases = self.erase_count[into.index()];
        self.domains[domain].close(into, now, erases);
    }
}
