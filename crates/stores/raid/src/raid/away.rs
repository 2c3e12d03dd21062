//! What a parity array takes for lost when a member is away, and what a change waits for until its stripe can be relied on.
//!
//! A member whose power went may have forgotten all that it acknowledged and did not flush: writes, and discards as well. Of a stripe that is written it
//! lacks its part then. Of one that holds nothing it no longer holds zeros, so that the first write there writes all of the stripe.
//!
//! Where parities may not fit since a power cut, what a member had that is away follows from nothing. That part is lost, and the member does not have
//! what stands there from then on, zeros; the parities are made anew of the rest.

use serde::{Deserialize, Serialize};
use wane_blockdev::Origin;

use super::map::Block;
use super::{Chunk, Operation, Raid, Step, Task};

/// What a change does before it begins.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) enum First {
    /// Nothing so far.
    #[default]
    Not,
    /// Its stripe is made good, and then it goes on with these.
    Waits(Box<Waiting>),
    /// That was done.
    Done,
}

/// A change that has not begun.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Waiting {
    pub(super) block: Block,
    pub(super) chunks: Vec<Chunk>,
    origin: Origin,
}

impl First {
    /// Whether a change waits.
    pub(super) const fn waits(&self) -> bool {
        matches!(self, Self::Waits(_))
    }
}

impl Operation {
    /// The block and the chunks of a change, also of one that waits until its stripe is made good.
    pub(super) fn asked(&self) -> (&Block, &[Chunk]) {
        match &self.first {
            First::Waits(waiting) => (&waiting.block, &waiting.chunks),
            First::Not | First::Done => (&self.block, &self.chunks),
        }
    }
}

impl Raid {
    /// A member may have forgotten what it did not flush.
    pub(super) fn forget(&mut self, member: usize) {
        for stripes in self.unsure.ranges(None) {
            self.forget_on(member, stripes);
        }
        self.forget_parts_of(member);
        self.forget_move_to(member);
        self.give_up_on(member);
    }

    /// It may have forgotten what it was given of these stripes, as far as it has a part of them.
    fn forget_on(&mut self, member: usize, stripes: std::ops::Range<u64>) {
        let (mut at, end) = (stripes.start, stripes.end.min(self.map.stripes()));
        while at < end {
            let tile = at / self.map.tile;
            let part = at..end.min((tile + 1) * self.map.tile);
            at = part.end;
            if !self.is_on(tile, member) && !self.moves_to(tile, member) {
                continue;
            }
            self.zeroed.remove(part.clone());
            let mut from = part.start;
            while let Some(run) = self.written.next(from..part.end) {
                from = run.end;
                self.members[member].stale.insert(run);
            }
        }
    }

    /// Whether a member has a part of a tile.
    fn is_on(&self, tile: u64, member: usize) -> bool {
        self.map.table.tile(tile).iter().any(|slot| usize::from(slot.member) == member)
    }

    /// Of what is under way it may have forgotten its part before the others have done theirs: it did not discard it, and was not given it back.
    fn forget_parts_of(&mut self, member: usize) {
        let map = &self.map;
        let is_it = |operation: &&mut Operation| matches!(operation.task, Task::Unwrite | Task::Rebuild);
        for operation in self.operations.values_mut().filter(is_it) {
            let stripe = operation.block.stripe;
            for (position, chunk) in operation.chunks.iter_mut().enumerate() {
                chunk.was_written &= map.member(stripe, position) != member;
            }
        }
    }

    /// What a member had of stripes whose parities may not fit is lost.
    fn give_up_on(&mut self, member: usize) {
        let mut at = 0;
        while let Some(run) = self.differs.next(at..self.map.stripes()) {
            at = run.end;
            run.filter(|stripe| self.is_on(stripe / self.map.tile, member))
                .collect::<Vec<_>>()
                .into_iter()
                .for_each(|stripe| self.give_up_unknown(stripe));
        }
    }

    /// The same of all members that are away, or lack their part.
    pub(super) fn give_up_all(&mut self) {
        for member in 0..self.members.len() {
            self.give_up_on(member);
        }
    }

    /// Where parities may not fit and some part is missing, what cannot be known is lost. Parities are stale, and are made anew of the rest.
    pub(super) fn give_up_unknown(&mut self, stripe: u64) {
        if !self.differs.holds(stripe) || self.coder.has_copies() {
            return;
        }
        let width = self.coder.width();
        let missing: Vec<usize> = (0..width).filter(|position| !self.is_usable(stripe, *position)).collect();
        if missing.is_empty() {
            return;
        }
        self.differs.remove(stripe..stripe + 1);
        for chunk in missing.iter().filter(|position| **position < self.coder.data()) {
            self.lost.insert(self.map.host(stripe, *chunk, &(0..self.map.chunk)));
        }
        for position in missing.into_iter().chain(self.coder.data()..width) {
            let member = self.map.member(stripe, position);
            self.members[member].stale.insert_one(stripe);
        }
        self.own_again(stripe);
        self.commits.wants_checkpoint = true;
    }

    /// Whether all that is missing of the data of a stripe is known to be lost, so that its parities can be made with zeros for that.
    pub(super) fn is_given_up(&self, stripe: u64) -> bool {
        let missing = (0..self.coder.data()).filter(|chunk| !self.is_usable(stripe, *chunk));
        let is_lost = |chunk: usize| {
            let host = self.map.host(stripe, chunk, &(0..self.map.chunk));
            self.lost.within(host).eq([host])
        };
        let known: Vec<bool> = missing.map(is_lost).collect();
        !known.is_empty() && known.into_iter().all(|is_lost| is_lost)
    }

    /// What is done with the stripe of a change before that begins.
    pub(super) fn comes_first(&self, operation: &Operation) -> Option<Task> {
        let stripe = operation.block.stripe;
        if !matches!(operation.first, First::Not) || !self.written.holds(stripe) {
            return None;
        }
        if self.differs.holds(stripe) && !self.coder.has_copies() {
            return Some(Task::Resync);
        }
        let parities = self.coder.data()..self.coder.width();
        let can_be_made = |position: usize| {
            let member = &self.members[self.map.member(stripe, position)];
            member.is_online() && member.stale.holds(stripe)
        };
        let is_due = parities.into_iter().any(can_be_made) && self.is_given_up(stripe);
        (is_due && self.refusal(operation).is_some()).then_some(Task::Rebuild)
    }

    /// The stripe of a change is made good, and then it goes on.
    pub(super) fn begin_first_of(&mut self, id: u64, task: Task) {
        let Some(operation) = self.operations.get_mut(&id) else { return };
        let own = self.map.whole_stripe(operation.block.stripe);
        let chunks = vec![Chunk::default(); operation.chunks.len()];
        let waiting = Waiting {
            block: std::mem::replace(&mut operation.block, own),
            chunks: std::mem::replace(&mut operation.chunks, chunks),
            origin: std::mem::replace(&mut operation.origin, Origin::ArrayRepair),
        };
        (operation.first, operation.task) = (First::Waits(Box::new(waiting)), task);
        self.begin_own(id);
    }

    /// An operation is over, unless a change waited for it.
    pub(super) fn go_on_or_leave(&mut self, id: u64) {
        let Some(operation) = self.operations.get_mut(&id) else { return };
        let First::Waits(waiting) = std::mem::take(&mut operation.first) else {
            return self.leave(id);
        };
        let Waiting { block, chunks, origin } = *waiting;
        *operation = Operation {
            parent: operation.parent,
            task: Task::Write,
            step: Step::Before,
            first: First::Done,
            ended: operation.ended,
            ..Operation::new(block, chunks, origin)
        };
        self.begin_change(id);
    }
}
