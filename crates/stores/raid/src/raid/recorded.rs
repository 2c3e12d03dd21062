//! Which record a change gets before it goes to its place, and how a partial parity is used.
//!
//! The partial parity of a change of one chunk is the sum of the stripe's other chunks of data. After a power cut the parity is that sum and what the
//! chunk holds by then, old or new, sector by sector; the record needs neither. Linux md has the idea, `Documentation/driver-api/md/raid5-ppl.rst`: there a record is
//! the only one of its stripe on the disk. Here several may be. So that an older one does not count, what a stripe's last record brought to its places is
//! flushed before the stripe has another.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use wane_blockdev::{Origin, Request};

use super::commits::Journal;
use super::map::Rows;
use super::meta::{Entry, Record};
use super::{New, Operation, Raid, Task};
use crate::code::add_scaled;

/// What the ring has of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Recorded {
    /// That parities of its tile may not fit.
    Tile,
    /// The sum of the chunks of data that stay as they are.
    PartialParity,
    /// All that members get.
    Contents,
}

impl Raid {
    /// What the ring is to have of a change of a stripe that holds something.
    pub(super) fn recorded(&self, operation: &Operation) -> Recorded {
        let is_bare = self.is_bare(operation);
        match self.config.journal {
            Journal::Ppl if is_bare && self.is_partial(operation) => Recorded::PartialParity,
            // What the ring holds would be carried out again, over what came later.
            Journal::None
                if is_bare
                    && !self.commits.has_stale
                    && !self.commits.entries.iter().any(|entry| entry.has_changes) =>
            {
                Recorded::Tile
            }
            _ => Recorded::Contents,
        }
    }

    /// Whether a change is of a stripe of which nothing is missing.
    fn is_bare(&self, operation: &Operation) -> bool {
        let stripe = operation.block.stripe;
        operation.task == Task::Write
            && !operation.is_whole
            && (0..self.coder.width()).all(|position| self.is_writable(stripe, position))
            && !self.commits.must_raise
            && self.missing(operation).is_empty()
    }

    /// Whether a partial parity says enough: of several chunks, one that is lost with the power could not be told from the others.
    fn is_partial(&self, operation: &Operation) -> bool {
        let block = &operation.block;
        let host = || self.map.host(block.stripe, block.chunks.start, &block.rows);
        block.chunks.len() == 1 && self.lost.within(host()).next().is_none()
    }

    /// The record of a change of one chunk.
    pub(super) fn record_of_partial(&self, operation: &Operation) -> Record {
        let block = &operation.block;
        let (chunk, parity) = (block.chunks.start, self.coder.data());
        let mut partial = Vec::new();
        if self.features.keeps_bytes {
            partial = vec![0; (block.rows.end - block.rows.start) as usize * 512];
            let news = [chunk, parity].map(|position| operation.chunks[position].new.as_ref());
            news.into_iter().flatten().filter_map(New::bytes).for_each(|bytes| add_scaled(&mut partial, 1, bytes));
        }
        Record::PartialParity {
            stripe: block.stripe,
            rows: (block.rows.start, block.rows.end),
            chunk: chunk as u16,
            partial,
        }
    }

    /// Whether a change that waits for its record has to wait for a flush before.
    pub(super) fn awaits_flush(&self) -> bool {
        self.commits.logging.iter().any(|id| self.is_unflushed(*id))
    }

    /// Whether the stripe of a change has a record whose change members have not flushed.
    fn is_unflushed(&self, id: u64) -> bool {
        self.operations.get(&id).is_some_and(|operation| self.commits.unflushed.holds(operation.block.stripe))
    }

    /// Takes the changes out of the queue that the next flush comes before.
    pub(super) fn take_unflushed(&mut self) -> VecDeque<u64> {
        if self.commits.unflushed.is_empty() {
            return VecDeque::new();
        }
        let (later, now) = std::mem::take(&mut self.commits.logging).into_iter().partition(|id| self.is_unflushed(*id));
        self.commits.logging = now;
        later
    }

    /// A member was lost after the record of a change that has not all of its contents: what that member has or does not get would be known from the
    /// parity alone. Has the change recorded with its contents, and returns whether it is so.
    pub(super) fn record_again(&mut self, id: u64) -> bool {
        let Some(operation) = self.operations.get(&id) else { return false };
        let stays = match operation.recorded {
            Recorded::Contents => true,
            Recorded::PartialParity => self.recorded(operation) == Recorded::PartialParity,
            Recorded::Tile => self.is_bare(operation),
        };
        if stays {
            return false;
        }
        let entry = operation.entry;
        self.commits.logging.push_back(id);
        if let Some(entry) = self.commits.entries.iter_mut().find(|placed| Some(placed.number) == entry) {
            entry.open = entry.open.saturating_sub(1);
        }
        true
    }

    /// A change with a record goes to its places.
    pub(super) fn note_unflushed(&mut self, id: u64) {
        if self.config.journal == Journal::Ppl
            && let Some(operation) = self.operations.get(&id)
        {
            self.commits.unflushed.insert_one(operation.block.stripe);
        }
    }

    /// The rows of a record that it still decides. When a stripe got the record of a partial parity, all before it was in its places; so was what that
    /// record brought when the stripe got the next one.
    pub(super) fn rows_that_count(entries: &[Entry], number: usize) -> Vec<Rows> {
        let mut records = entries.iter().flat_map(|entry| &entry.records).skip(number);
        let (stripe, rows, is_partial) = match records.next() {
            Some(Record::Change { stripe, rows, .. }) => (*stripe, *rows, false),
            Some(Record::PartialParity { stripe, rows, .. }) => (*stripe, *rows, true),
            _ => return Vec::new(),
        };
        let all = rows.0..rows.1;
        let later = records.filter_map(|record| match record {
            Record::PartialParity { stripe, rows, .. } => Some((*stripe, *rows)),
            Record::Change { stripe, rows, .. } if is_partial => Some((*stripe, *rows)),
            _ => None,
        });
        later.filter(|(later, _)| *later == stripe).fold(vec![all], |left, (_, (start, end))| {
            let without = |rows: Rows| [rows.start..rows.end.min(start), rows.start.max(end)..rows.end];
            left.into_iter().flat_map(without).filter(|rows| rows.start < rows.end).collect()
        })
    }

    /// Makes the parity of a chunk fit what that holds.
    pub(super) fn replay_partial(&mut self, stripe: u64, rows: &Rows, chunk: usize, partial: &[u8]) {
        let (member, from) = self.map.place(stripe, chunk, rows);
        let (parity, to) = self.map.place(stripe, self.coder.data(), rows);
        let holder = &self.members[member];
        if !holder.is_present() || holder.is_blank || holder.stale.holds(stripe) {
            // The chunk follows from the parity, which is as old or as new as it. Should its member come back, it may have the other.
            return self.members[member].stale.insert_one(stripe);
        }
        if partial.is_empty() {
            return self.write_again(parity, stripe, to, New::Blank);
        }
        let read = Request::read(from).with_origin(Origin::ArrayParity);
        let answer = self.ask_now(member, read).filter(|end| end.status.is_done());
        match answer.and_then(|end| end.bytes) {
            Some(mut bytes) => {
                add_scaled(&mut bytes, 1, partial);
                self.write_again(parity, stripe, to, New::Bytes(bytes));
            }
            // Of rows that cannot be read, the parity says what they held.
            None => {
                let unit = self.unit.0;
                for row in rows.clone().step_by(unit as usize).filter(|_| rows.end - rows.start > unit) {
                    let part = row..(row + unit).min(rows.end);
                    let of = |row: u64| (row - rows.start) as usize * 512;
                    self.replay_partial(stripe, &part, chunk, &partial[of(part.start)..of(part.end)]);
                }
            }
        }
    }
}
