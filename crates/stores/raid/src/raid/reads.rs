//! How a parity array reads: from the member that has the chunk, and where that has lost rows, from the others by the code.

use wane_blockdev::{Completion, Origin, RangeSet, Request, SectorRange, Status};
use wane_units::{Lba, Sectors};

use super::map::Rows;
use super::{Child, Chunk, New, Operation, Raid, Step, Task, Timer};
use crate::code::add_scaled;

/// Parts of the rows of a position, each with its contents if these are known: empty if the array keeps none.
pub(super) type Parts = Vec<(Rows, Option<Vec<u8>>)>;

/// Rows that a member lost, of those that it was asked for.
pub(super) fn failed_rows(rows: &Rows, asked: SectorRange, status: &Status) -> Vec<Rows> {
    let within = |range: &SectorRange| {
        let start = rows.start + range.start.0.saturating_sub(asked.start.0);
        start..start + range.count.0
    };
    match status {
        Status::Done => Vec::new(),
        Status::MediumError(failed) => failed.iter().map(within).collect(),
        _ => vec![rows.clone()],
    }
}

/// Bytes of some rows within those of more.
pub(super) fn slice<'a>(bytes: &'a [u8], all: &Rows, rows: &Rows) -> &'a [u8] {
    let at = |row: u64| (row - all.start) as usize * 512;
    &bytes[at(rows.start)..at(rows.end)]
}

/// The same, to be changed.
pub(super) fn slice_mut<'a>(bytes: &'a mut [u8], all: &Rows, rows: &Rows) -> &'a mut [u8] {
    let at = |row: u64| (row - all.start) as usize * 512;
    &mut bytes[at(rows.start)..at(rows.end)]
}

/// Cuts rows where any of these lists begins or ends.
fn cut(rows: &Rows, lists: &[Chunk]) -> Vec<Rows> {
    let mut cuts: Vec<u64> = vec![rows.start, rows.end];
    for bad in lists.iter().flat_map(|chunk| &chunk.bad) {
        cuts.extend([bad.start, bad.end]);
    }
    cuts.sort_unstable();
    cuts.dedup();
    cuts.windows(2).map(|pair| pair[0]..pair[1]).collect()
}

impl Chunk {
    /// Whether rows of it were read.
    fn has(&self, rows: &Rows) -> bool {
        self.is_asked && !self.is_late && !self.bad.iter().any(|bad| bad.start < rows.end && rows.start < bad.end)
    }
}

impl Raid {
    /// Asks a member for the rows of a position.
    pub(super) fn ask_read(&mut self, id: u64, position: usize) {
        let Some(operation) = self.operations.get_mut(&id) else { return };
        operation.chunks[position].is_asked = true;
        operation.waits += 1;
        let (stripe, rows, origin) = (operation.block.stripe, operation.block.rows.clone(), operation.origin);
        let (member, range) = self.map.place(stripe, position, &rows);
        let request = Request::read(range).with_origin(origin);
        self.ask(member, request, Child::Read { operation: id, position });
    }

    pub(super) fn begin_read(&mut self, id: u64) {
        let Some(operation) = self.operations.get_mut(&id) else { return };
        operation.step = Step::Reads;
        let (stripe, chunk) = (operation.block.stripe, operation.block.chunks.start);
        operation.chunks = vec![Chunk::default(); self.coder.width()];
        if !self.written.holds(stripe) {
            operation.ended = self.now;
            return self.leave(id);
        }
        match self.best(stripe, chunk) {
            Some(position) => {
                self.ask_read(id, position);
                if let Some(patience) = self.config.read_around {
                    let turn = self.new_id();
                    self.tasks.insert((self.now.saturating_add(patience), turn), Timer::Late(id, position));
                }
            }
            None => self.read_enough(id),
        }
    }

    /// Reads as many other positions as determine a chunk whose own member lacks it. The rest is read if one of these fails.
    fn read_enough(&mut self, id: u64) {
        let Some(operation) = self.operations.get(&id) else { return };
        let (stripe, chunk, data) = (operation.block.stripe, operation.block.chunks.start, self.coder.data());
        let is_other = |position: &usize| *position != chunk && self.is_usable(stripe, *position);
        let others: Vec<usize> = (0..self.coder.width()).filter(is_other).collect();
        let mut few = (data.min(others.len())..=others.len()).map(|count| &others[..count]);
        match few.find(|few| self.trusts_parity(stripe) && self.coder.solve(&[chunk], few).is_some()) {
            Some(few) => {
                if let Some(operation) = self.operations.get_mut(&id) {
                    operation.is_whole = true;
                }
                few.iter().for_each(|position| self.ask_read(id, *position));
            }
            None => self.read_whole(id),
        }
    }

    /// Whether a member is read only where the others have no copy.
    pub(super) fn is_spared(&self, member: usize) -> bool {
        self.coder.has_copies() && self.config.write_mostly.contains(&member)
    }

    /// The position from which a chunk is read: itself, or a copy of it.
    pub(super) fn best(&self, stripe: u64, chunk: usize) -> Option<usize> {
        if !self.coder.has_copies() {
            return Some(chunk).filter(|chunk| self.is_usable(stripe, *chunk));
        }
        let parities = (0..self.coder.parities()).filter(|parity| self.coder.coefficient(*parity, chunk) == 1);
        let copies = std::iter::once(chunk).chain(parities.map(|parity| self.coder.data() + parity));
        let mut usable = copies.filter(|position| self.is_usable(stripe, *position));
        if self.differs.holds(stripe) {
            return usable.next();
        }
        usable.min_by_key(|position| {
            let member = self.map.member(stripe, *position);
            (self.is_spared(member), self.members[member].queue)
        })
    }

    /// Reads every position that was not asked yet. What is missing follows from them.
    pub(super) fn read_whole(&mut self, id: u64) {
        let Some(operation) = self.operations.get_mut(&id) else { return };
        operation.is_whole = true;
        operation.step = Step::Reads;
        let stripe = operation.block.stripe;
        let asked: Vec<bool> = operation.chunks.iter().map(|chunk| chunk.is_asked).collect();
        let rest: Vec<usize> =
            (0..asked.len()).filter(|position| !asked[*position] && self.is_usable(stripe, *position)).collect();
        rest.iter().for_each(|position| self.ask_read(id, *position));
        if self.operations.get(&id).is_some_and(|operation| operation.waits == 0) {
            self.all_read(id);
        }
    }

    /// A position did not answer in time: the others are read, if they make what it has.
    pub(super) fn read_around(&mut self, id: u64, position: usize) {
        let Some(operation) = self.operations.get(&id) else { return };
        let stripe = operation.block.stripe;
        let is_waiting = operation.step == Step::Reads && !operation.is_whole && operation.waits == 1;
        let usable = |other: &usize| *other != position && self.is_usable(stripe, *other);
        let others: Vec<usize> = (0..self.coder.width()).filter(usable).collect();
        let is_made = self.coder.solve(&[position], &others).is_some() && self.trusts_parity(stripe);
        if !is_waiting || !is_made {
            return;
        }
        let Some(operation) = self.operations.get_mut(&id) else { return };
        operation.waits -= 1;
        operation.chunks[position].is_late = true;
        self.own.repairs.read_around += 1;
        self.read_whole(id);
    }

    /// A member answers a read.
    pub(super) fn was_read(&mut self, id: u64, position: usize, completion: Completion) {
        let Some(operation) = self.operations.get_mut(&id) else { return };
        let rows = operation.block.rows.clone();
        let chunk = &mut operation.chunks[position];
        if std::mem::take(&mut chunk.is_late) {
            // What the others make may be there first, and is the same.
            operation.waits += 1;
        }
        chunk.bad = failed_rows(&rows, completion.range, &completion.status);
        chunk.old = completion.bytes;
        operation.waits -= 1;
        operation.ended = operation.ended.max(completion.at);
        if operation.waits == 0 {
            self.all_read(id);
        }
    }

    /// All members answered that were asked.
    fn all_read(&mut self, id: u64) {
        let Some(operation) = self.operations.get(&id) else { return };
        let has_failed = operation.chunks.iter().any(|chunk| !chunk.bad.is_empty());
        let is_left =
            |position: usize| !operation.chunks[position].is_asked && self.is_usable(operation.block.stripe, position);
        let is_change = operation.task != Task::Read;
        let has_more = operation.is_whole && (has_failed || is_change) && (0..self.coder.width()).any(is_left);
        // What a member has that came back meanwhile is not lost.
        if has_failed && !operation.is_whole || has_more {
            return self.read_whole(id);
        }
        match operation.task {
            Task::Read => self.end_read(id),
            _ => self.was_prepared(id),
        }
    }

    /// Whether missing contents may be made from parity: not while that may not fit.
    pub(super) fn trusts_parity(&self, stripe: u64) -> bool {
        self.coder.has_copies() || !self.differs.holds(stripe)
    }

    /// The rows of a position that were read or can be made: for each part of them, the contents if the array keeps any, or `None` if they are lost.
    pub(super) fn recovered(&self, operation: &Operation, position: usize) -> Parts {
        let rows = &operation.block.rows;
        let keeps = self.features.keeps_bytes;
        let chunks = &operation.chunks;
        let mut parts = Vec::new();
        for part in cut(rows, chunks) {
            let of = |number: usize| chunks[number].old.as_ref().map(|bytes| slice(bytes, rows, &part));
            let have: Vec<usize> = (0..chunks.len()).filter(|number| chunks[*number].has(&part)).collect();
            if have.contains(&position) {
                let bytes = of(position).map_or_else(Vec::new, <[u8]>::to_vec);
                parts.push((part, Some(bytes)));
                continue;
            }
            let sums = self.coder.solve(&[position], &have).filter(|_| self.trusts_parity(operation.block.stripe));
            let made = sums.map(|sums| {
                let mut made = vec![0; if keeps { (part.end - part.start) as usize * 512 } else { 0 }];
                for (from, factor) in sums.iter().flatten().filter(|_| keeps) {
                    if let Some(bytes) = of(*from) {
                        add_scaled(&mut made, *factor, bytes);
                    }
                }
                made
            });
            parts.push((part, made));
        }
        parts
    }

    /// Hands a chunk to the host.
    fn end_read(&mut self, id: u64) {
        let Some(mut operation) = self.operations.remove(&id) else { return };
        let (block, chunk) = (operation.block.clone(), operation.block.chunks.start);
        let plain = operation.chunks.iter().position(|chunk| chunk.is_asked && chunk.bad.is_empty());
        let parts = match plain {
            // The chunk itself, or a copy of it.
            Some(position) if !operation.is_whole && !operation.chunks[position].is_late => {
                vec![(block.rows.clone(), Some(operation.chunks[position].old.take().unwrap_or_default()))]
            }
            _ => self.recovered(&operation, chunk),
        };
        let mut unread = RangeSet::new();
        for (rows, bytes) in &parts {
            let host = self.map.host(block.stripe, chunk, rows);
            match bytes {
                Some(bytes) => self.hand_out(operation.parent, host, bytes),
                None => unread.insert(host),
            }
        }
        let host = self.map.host(block.stripe, chunk, &block.rows);
        let lost: Vec<SectorRange> = self.lost.within(host).chain(unread.within(host)).collect();
        for range in lost {
            self.wipe(operation.parent, range);
            self.fail(operation.parent, range, &Status::MediumError(Vec::new()));
        }
        self.plan_repairs(&mut operation, &[(chunk, parts)]);
        let (parent, ended) = (operation.parent.take(), operation.ended);
        self.operations.insert(id, operation);
        if let Some(parent) = parent {
            self.settle_part(parent, ended);
        }
        self.repair(id);
    }

    /// Puts bytes into those of a read.
    fn hand_out(&mut self, parent: Option<wane_blockdev::RequestId>, host: SectorRange, bytes: &[u8]) {
        let Some(open) = parent.and_then(|parent| self.open.get_mut(&parent)) else { return };
        if let Some(all) = &mut open.bytes
            && !bytes.is_empty()
        {
            let to = SectorRange::between(open.range.start, host.start).len_bytes();
            all[to..to + bytes.len()].copy_from_slice(bytes);
        }
    }

    /// Sectors that failed have no bytes.
    fn wipe(&mut self, parent: Option<wane_blockdev::RequestId>, host: SectorRange) {
        let zeros = vec![0; if self.features.keeps_bytes { host.len_bytes() } else { 0 }];
        self.hand_out(parent, host, &zeros);
    }

    /// Notes rows that members lost and that are known again: they are written to the same sectors.
    pub(super) fn plan_repairs(&self, operation: &mut Operation, known: &[(usize, Parts)]) {
        let stripe = operation.block.stripe;
        for (position, parts) in known {
            if operation.chunks[*position].bad.is_empty() || !self.is_writable(stripe, *position) {
                continue;
            }
            for (rows, bytes) in parts {
                if let Some(bytes) = bytes
                    && !operation.chunks[*position].has(rows)
                    && operation.chunks[*position].is_asked
                {
                    let bytes = Some(bytes.clone()).filter(|_| self.features.keeps_bytes);
                    operation.repairs.push((*position, rows.clone(), bytes));
                }
            }
        }
    }

    /// Writes what is to be repaired; the operation ends with that.
    pub(super) fn repair(&mut self, id: u64) {
        let Some(operation) = self.operations.get_mut(&id) else { return };
        operation.step = Step::Writes;
        let repairs = std::mem::take(&mut operation.repairs);
        let stripe = operation.block.stripe;
        operation.waits = repairs.len() as u32;
        let is_over = repairs.is_empty();
        if !is_over {
            self.unsure.change(&(stripe..stripe + 1));
        }
        for (position, rows, bytes) in repairs {
            let (member, range) = self.map.place(stripe, position, &rows);
            let range = SectorRange::new(Lba(range.start.0), Sectors(range.count.0));
            let new = bytes.map_or(New::Blank, New::Bytes);
            let request = new.request(range).with_origin(Origin::ArrayRepair);
            self.ask(member, request, Child::Repair { operation: id });
        }
        if is_over {
            self.leave(id);
        }
    }
}
