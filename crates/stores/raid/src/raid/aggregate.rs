//! How a change takes in the changes of its stripe that wait behind it, so that they are written together: StRAID's two phases (ATC'22).
//!
//! A change reads what it needs; others for its stripe come meanwhile and wait behind it. When it has read, it is frozen: it takes in what waits, reads
//! what that needs in addition, and writes all of it with one set of parities. What comes later waits for the next change. A change is taken in where
//! both together are a rectangle of rows and chunks, and nothing overtakes what it overlaps. Only a stripe of which all is there works so.

use serde::{Deserialize, Serialize};
use wane_blockdev::RequestId;
use wane_units::Sectors;

use super::map::{Block, Rows};
use super::reads::slice_mut;
use super::{Chunk, New, Operation, Raid, Step, Task};

/// What an operation knows of others that it writes with its own.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Joint {
    /// It takes in no others any more.
    is_frozen: bool,
    /// Those that it took in. They end with it.
    joined: Vec<u64>,
}

impl Block {
    fn overlaps(&self, other: &Self) -> bool {
        let rows = self.rows.start < other.rows.end && other.rows.start < self.rows.end;
        rows && self.chunks.start < other.chunks.end && other.chunks.start < self.chunks.end
    }

    /// Both together, if that is a rectangle.
    fn with(&self, other: &Self) -> Option<Self> {
        let rows = self.rows.start.min(other.rows.start)..self.rows.end.max(other.rows.end);
        let chunks = self.chunks.start.min(other.chunks.start)..self.chunks.end.max(other.chunks.end);
        let holds = rows == self.rows && chunks == self.chunks;
        let grows = self.rows == other.rows
            && self.chunks.start <= other.chunks.end
            && other.chunks.start <= self.chunks.end
            || self.chunks == other.chunks && self.rows.start <= other.rows.end && other.rows.start <= self.rows.end;
        (holds || grows).then_some(Self { stripe: self.stripe, rows, chunks })
    }

    /// Bytes of its chunks.
    fn bytes(&self) -> u64 {
        (self.rows.end - self.rows.start) * self.chunks.len() as u64 * Sectors::SIZE.0
    }
}

/// Contents of rows of a chunk, of which parts are known, the later ones on top.
fn laid(rows: &Rows, parts: [(&Rows, Option<New>); 2]) -> New {
    if parts.iter().all(|(_, new)| new.as_ref().is_none_or(|new| new.bytes().is_none())) {
        return New::Blank;
    }
    let mut all = vec![0; (rows.end - rows.start) as usize * 512];
    for (part, new) in parts {
        match new {
            Some(New::Bytes(bytes)) => slice_mut(&mut all, rows, part).copy_from_slice(&bytes),
            Some(_) => slice_mut(&mut all, rows, part).fill(0),
            None => {}
        }
    }
    New::Bytes(all)
}

/// Whether an operation is a write of the host's data, which can be written together with others.
fn is_plain(operation: &Operation) -> bool {
    let is_data = |chunk: &Chunk| matches!(chunk.new, Some(New::Bytes(_) | New::Blank));
    operation.task == Task::Write
        && operation.parent.is_some()
        && operation.chunks[operation.block.chunks.clone()].iter().all(is_data)
}

impl Raid {
    /// Freezes a change that has read what it needs, and lets it take in those that wait behind it. Returns whether it reads more before it goes on.
    pub(super) fn gather(&mut self, id: u64) -> bool {
        if !self.config.path.aggregates() {
            return false;
        }
        let Some(operation) = self.operations.get_mut(&id) else { return false };
        if std::mem::replace(&mut operation.joint.is_frozen, true) || operation.is_whole || !is_plain(operation) {
            return false;
        }
        let (first, has_read) = (operation.block.clone(), operation.chunks.iter().any(|chunk| chunk.is_asked));
        if !has_read || !self.is_sound(first.stripe) {
            return false;
        }
        let joined = self.join_waiting(id, &first);
        joined > 0 && self.read_rest(id, &first, joined)
    }

    /// Whether all of a stripe is there and is as it should be.
    fn is_sound(&self, stripe: u64) -> bool {
        let all = self.map.host(stripe, 0, &(0..self.map.stripe_sectors()));
        let is_there = |position: usize| {
            self.is_writable(stripe, position) && !self.members[self.map.member(stripe, position)].is_full
        };
        self.written.holds(stripe)
            && !self.differs.holds(stripe)
            && !self.lost.touches(all)
            && (0..self.coder.width()).all(is_there)
    }

    /// Takes in what waits behind a change. Returns its bytes.
    fn join_waiting(&mut self, id: u64, first: &Block) -> u64 {
        let behind: Vec<u64> = self.locks.on(first.stripe).skip_while(|other| *other != id).skip(1).collect();
        let mut passed: Vec<Block> = Vec::new();
        let mut bytes = 0;
        for other in behind {
            let Some(waiting) = self.operations.get(&other) else { continue };
            if !matches!(waiting.task, Task::Read | Task::Write) {
                break;
            }
            let block = waiting.block.clone();
            let both = self.union(id, waiting).filter(|_| !passed.iter().any(|passed| passed.overlaps(&block)));
            match both {
                Some(both) => {
                    bytes += block.bytes();
                    self.merge(id, other, both);
                }
                None => {
                    // A unit is written whole: what shares one with a change that came before it would become durable without that.
                    let rows = &block.rows;
                    let whole = rows.start - rows.start % self.unit.0..rows.end.next_multiple_of(self.unit.0);
                    passed.push(Block { rows: whole, ..block });
                }
            }
        }
        bytes
    }

    /// What a change writes together with another, if they can go together.
    fn union(&self, id: u64, waiting: &Operation) -> Option<Block> {
        let operation = self.operations.get(&id)?;
        let both = operation.block.with(&waiting.block)?;
        (is_plain(waiting) && waiting.origin == operation.origin).then_some(both)
    }

    /// Moves the contents of one change into another.
    fn merge(&mut self, id: u64, other: u64, both: Block) {
        let Some(mut waiting) = self.operations.remove(&other) else { return };
        if let Some(operation) = self.operations.get_mut(&id) {
            for chunk in both.chunks.clone() {
                let parts = [
                    (&operation.block.rows, operation.chunks[chunk].new.take()),
                    (&waiting.block.rows, waiting.chunks[chunk].new.take()),
                ];
                operation.chunks[chunk].new = Some(laid(&both.rows, parts));
            }
            operation.block = both;
            operation.joint.joined.push(other);
        }
        self.operations.insert(other, waiting);
    }

    /// Reads what a change needs besides what its first part has read. Returns whether that is anything.
    fn read_rest(&mut self, id: u64, first: &Block, joined: u64) -> bool {
        let Some(operation) = self.operations.get(&id) else { return false };
        let affected = self.affected(operation);
        let others = self.others(operation, &affected);
        let stripe = self.map.stripe_sectors() * Sectors::SIZE.0;
        let makes_anew = others.is_empty() || self.config.path.reconstructs(stripe, first.bytes(), joined);
        let has_more_rows = operation.block.rows != first.rows;
        let chunks = operation.block.chunks.clone();
        let Some(operation) = self.operations.get_mut(&id) else { return false };
        operation.step = Step::Reads;
        for (position, chunk) in operation.chunks.iter_mut().enumerate() {
            let is_changed = chunks.contains(&position) || affected.contains(&position);
            if has_more_rows || makes_anew && is_changed {
                (chunk.is_asked, chunk.old) = (false, None);
            }
        }
        let wanted = if makes_anew { others } else { chunks.chain(affected).collect() };
        let is_new = |position: &usize| !operation.chunks[*position].is_asked;
        let wanted: Vec<usize> = wanted.into_iter().filter(is_new).collect();
        let reads = self.without_cached(id, wanted);
        reads.iter().for_each(|position| self.ask_read(id, *position));
        !reads.is_empty()
    }

    /// Ends what a change took in, as it ended itself.
    pub(super) fn leave_joined(&mut self, id: u64) {
        let Some(operation) = self.operations.get_mut(&id) else { return };
        let (parent, ended) = (operation.parent, operation.ended);
        for other in std::mem::take(&mut operation.joint.joined) {
            let Some(joined) = self.operations.get_mut(&other) else { continue };
            joined.ended = ended;
            let (to, block) = (joined.parent, joined.block.clone());
            self.hand_failures(parent, to, &block);
            self.leave(other);
        }
    }

    /// What failed of a block for one request failed for the other, too.
    fn hand_failures(&mut self, from: Option<RequestId>, to: Option<RequestId>, block: &Block) {
        let Some(open) = from.and_then(|from| self.open.get(&from)) else { return };
        if open.worst.is_done() {
            return;
        }
        let worst = open.worst.clone();
        let hosts = self.map.hosts(block);
        let failed: Vec<_> = hosts.flat_map(|(_, host)| open.failed.within(host).collect::<Vec<_>>()).collect();
        failed.into_iter().for_each(|range| self.fail(to, range, &worst));
    }

    /// Leaves out parities whose old contents the cache has. The change has them then.
    pub(super) fn without_cached(&mut self, id: u64, reads: Vec<usize>) -> Vec<usize> {
        let (data, keeps) = (self.coder.data(), self.features.keeps_bytes);
        if self.config.path.parity_pages() == 0 {
            return reads;
        }
        let mut rest = Vec::new();
        for position in reads {
            let Some(operation) = self.operations.get(&id) else { return rest };
            let (stripe, rows) = (operation.block.stripe, operation.block.rows.clone());
            if position < data || !self.parity_pages.has(stripe, position, &rows) {
                rest.push(position);
                continue;
            }
            let (member, range) = self.map.place(stripe, position, &rows);
            // The cache is one that writes through: the member holds the same.
            let mut bytes = vec![0; if keeps { range.len_bytes() } else { 0 }];
            let known = !keeps
                || self.members[member].device.peek(range, &mut bytes).is_some_and(|unreadable| unreadable.is_empty());
            match self.operations.get_mut(&id) {
                Some(operation) if known => {
                    let chunk = &mut operation.chunks[position];
                    (chunk.is_asked, chunk.old) = (true, keeps.then_some(bytes));
                }
                _ => rest.push(position),
            }
        }
        rest
    }

    /// The cache has the new parities of a change of a part of a stripe.
    pub(super) fn keep_parities(&mut self, operation: &Operation) {
        let most = self.config.path.parity_pages();
        if most == 0 || !operation.chunks.iter().any(|chunk| chunk.is_asked) {
            return;
        }
        for position in self.coder.data()..self.coder.width() {
            if operation.chunks[position].new.is_some() {
                self.parity_pages.insert(operation.block.stripe, position, &operation.block.rows, most);
            }
        }
    }
}
