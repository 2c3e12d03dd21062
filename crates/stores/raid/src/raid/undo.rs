//! How a change is taken back that a member refused, where it would take other data along.
//!
//! A stripe lacks as many members as its code tolerates, and one more takes no writes from a change on: it still has what the stripe held. What the other
//! members were given of the change no longer fits that, and chunks of members that are missing follow from all of them. So these get back what
//! they held, which the change has read, and the host is told that nothing of its change was done.

use serde::{Deserialize, Serialize};
use wane_blockdev::{SectorRange, Status};

use super::map::{Block, Rows};
use super::reads::slice;
use super::{Child, New, Operation, Raid, Task};
use crate::members::MemberState;

/// Whether a change is taken back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Undo {
    /// It is not.
    #[default]
    Not,
    /// What it did cannot be undone: what it wrote over is not known.
    Cannot,
    /// Members are getting back what they held.
    UnderWay,
    /// One of them refused that.
    Failed,
}

impl Raid {
    /// Whether a change that only these positions have in the end makes chunks of its stripe unknown that are known now, besides some of which that
    /// need not be asked.
    pub(super) fn takes_along(&self, stripe: u64, besides: &[usize], left: &[usize]) -> bool {
        if !self.written.holds(stripe) || !self.trusts_parity(stripe) {
            return false;
        }
        let now: Vec<usize> = (0..self.coder.width()).filter(|position| self.is_usable(stripe, *position)).collect();
        let is_known = |chunk: usize, have: &[usize]| self.coder.solve(&[chunk], have).is_some();
        let mut others = (0..self.coder.data()).filter(|chunk| !besides.contains(chunk));
        others.any(|chunk| is_known(chunk, &now) && !is_known(chunk, left))
    }

    /// Rows of which a change was refused. Members keep there what they had. `None` if several positions refused different ones.
    fn refused_rows(&self, operation: &Operation) -> Option<Vec<Rows>> {
        let Block { stripe, rows, .. } = &operation.block;
        let mut all: Option<Vec<Rows>> = None;
        for (position, chunk) in operation.chunks.iter().enumerate() {
            let Some(status) = &chunk.refused else { continue };
            let (_, asked) = self.map.place(*stripe, position, rows);
            let within = |range: &SectorRange| {
                let start = rows.start + range.start.0.saturating_sub(asked.start.0);
                start..start + range.count.0
            };
            let mut of: Vec<Rows> = status.failed().iter().map(within).collect();
            if of.is_empty() {
                of.push(rows.clone());
            }
            if all.as_ref().is_some_and(|all| *all != of) {
                return None;
            }
            all = Some(of);
        }
        all
    }

    /// Positions that have a change, each with what it held before; `None` if that is not known of one.
    fn before(&self, operation: &Operation) -> Option<Vec<(usize, New)>> {
        let taken = |chunk: &&(usize, &super::Chunk)| chunk.1.was_written && chunk.1.refused.is_none();
        let chunks: Vec<(usize, &super::Chunk)> = operation.chunks.iter().enumerate().collect();
        let old = |(position, chunk): &(usize, &super::Chunk)| {
            let is_read = chunk.is_asked && !chunk.is_late && chunk.bad.is_empty();
            let new = match (self.features.keeps_bytes, &chunk.old) {
                (false, _) => Some(New::Blank),
                (true, old) => old.clone().map(New::Bytes),
            };
            new.filter(|_| is_read).map(|new| (*position, new))
        };
        chunks.iter().filter(taken).map(old).collect()
    }

    /// Begins to take back a change that a member refused, if it takes other data along. Returns whether there is something to wait for.
    pub(super) fn begin_undo(&mut self, id: u64) -> bool {
        let Some(operation) = self.operations.get(&id) else { return false };
        let stripe = operation.block.stripe;
        let is_refused = operation.chunks.iter().any(|chunk| chunk.refused.is_some());
        if operation.task != Task::Write || operation.undo != Undo::Not || !is_refused || self.moves_tile(stripe) {
            return false;
        }
        // What refused it still has what it held.
        let refused: Vec<usize> =
            (0..self.coder.width()).filter(|position| operation.chunks[*position].refused.is_some()).collect();
        let has_it =
            |position: &usize| self.is_usable(stripe, *position) && operation.chunks[*position].refused.is_none();
        let left: Vec<usize> = (0..self.coder.width()).filter(has_it).collect();
        if !self.takes_along(stripe, &refused, &left) {
            return false;
        }
        let (Some(before), Some(refused)) = (self.before(operation), self.refused_rows(operation)) else {
            return false;
        };
        let all = operation.block.rows.clone();
        if let Some(operation) = self.operations.get_mut(&id) {
            operation.undo = Undo::UnderWay;
            operation.waits = 1;
        }
        for (position, old) in before {
            for rows in &refused {
                let (member, range) = self.map.place(stripe, position, rows);
                let old = match &old {
                    New::Bytes(bytes) => New::Bytes(slice(bytes, &all, rows).to_vec()),
                    other => other.clone(),
                };
                self.ask_write(id, member, old, range, Child::Repair { operation: id });
            }
        }
        self.part_is_written(id);
        true
    }

    /// What members refused could not be taken back. If as many others are missing as the code tolerates, what these would have follows from the rest,
    /// whatever that is: their rows are lost, and nothing else of the stripe. Returns whether it is so.
    pub(super) fn confine_refused(&mut self, block: &Block, refused: &[usize]) -> bool {
        let stripe = block.stripe;
        let is_left = |position: &usize| {
            let member = self.map.member(stripe, *position);
            self.is_usable(stripe, *position) || refused.contains(&member) && self.members[member].is_present()
        };
        let missing: Vec<usize> = (0..self.coder.width()).filter(|position| !is_left(position)).collect();
        let is_exact = missing.len() == self.config.code.tolerates() && !self.coder.has_copies();
        if refused.is_empty() || !is_exact || !self.trusts_parity(stripe) {
            return false;
        }
        refused.iter().for_each(|member| self.members[*member].stale.remove(stripe..stripe + 1));
        for chunk in missing.into_iter().filter(|position| *position < self.coder.data()) {
            self.lost.insert(self.map.host(stripe, chunk, &block.rows));
        }
        self.want_checkpoint();
        true
    }

    /// Ends a change that was taken back: nothing of it was done in the rows that were refused.
    pub(super) fn end_undo(&mut self, id: u64) {
        let Some(operation) = self.operations.get(&id) else { return };
        let (block, parent) = (operation.block.clone(), operation.parent);
        let all = self.refused_rows(operation).unwrap_or_default();
        let refused: Vec<(usize, Status)> = operation
            .chunks
            .iter()
            .enumerate()
            .filter_map(|(position, chunk)| Some((position, chunk.refused.clone()?)))
            .collect();
        for (position, status) in &refused {
            let member = self.map.member(block.stripe, *position);
            if matches!(status, Status::NoSpace(_)) {
                self.members[member].is_full = true;
            }
        }
        let is_worn_out = |(position, _): &(usize, Status)| {
            self.members[self.map.member(block.stripe, *position)].state == MemberState::ReadOnly
        };
        let why = match refused.iter().find(|refused| is_worn_out(refused)) {
            Some(_) => Status::ReadOnly(Vec::new()),
            None => refused.first().map_or(Status::ReadOnly(Vec::new()), |(_, status)| status.clone()),
        };
        for rows in all {
            for chunk in block.chunks.clone() {
                self.fail(parent, self.map.host(block.stripe, chunk, &rows), &why);
            }
        }
    }
}
