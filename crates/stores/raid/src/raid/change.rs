//! How a parity array changes contents: which old contents it reads, what it makes of them, and who is written.

use wane_blockdev::{Completion, Kind, Origin, Request, SectorRange, Status};
use wane_units::SimTime;

use super::away::First;
use super::map::Block;
use super::map::Rows;
use super::reads::{Parts, slice, slice_mut};
use super::recorded::Recorded;
use super::undo::Undo;
use super::{Child, Chunk, LostParities, New, Operation, Raid, Step, Task};
use crate::code::add_scaled;
use crate::members::MemberState;

/// How new parities are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    /// From old parities and what changes of the data.
    Modify,
    /// From all data.
    Reconstruct,
    /// One of what that needs is missing.
    Whole,
}

impl New {
    /// The request that writes it.
    pub(super) fn request(self, range: SectorRange) -> Request {
        match self {
            Self::Bytes(bytes) => Request::write(range, bytes),
            Self::Blank => Request::write_without_bytes(range),
            Self::Zeroes { may_unmap: true } => Request::write_zeroes(range).with_may_unmap(),
            Self::Zeroes { may_unmap: false } => Request::write_zeroes(range),
            Self::Trim => Request::trim(range),
        }
    }

    /// Its bytes; `None` if they are zeros.
    pub(super) fn bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            Self::Blank | Self::Zeroes { .. } | Self::Trim => None,
        }
    }
}

impl Raid {
    /// Parities that change with the chunks of an operation, by position.
    fn parities_of(&self, operation: &Operation) -> impl Iterator<Item = usize> + '_ {
        let written = operation.block.chunks.clone();
        let changes = move |parity: &usize| written.clone().any(|chunk| self.coder.coefficient(*parity, chunk) != 0);
        (0..self.coder.parities()).filter(changes).map(|parity| self.coder.data() + parity)
    }

    /// Members that do not get what is theirs of a change.
    pub(super) fn missing(&self, operation: &Operation) -> Vec<usize> {
        let stripe = operation.block.stripe;
        let positions = operation.block.chunks.clone().chain(self.parities_of(operation));
        // A member that came back while the change was prepared has no part in it.
        let has_none = |position: &usize| operation.chunks[*position].new.is_none();
        let missing = positions.filter(|position| has_none(position) || !self.is_writable(stripe, *position));
        missing.map(|position| self.map.member(stripe, position)).collect()
    }

    /// Whether a member that came back since a change was prepared has no part in it, although it could have.
    pub(super) fn leaves_out(&self, operation: &Operation) -> bool {
        let stripe = operation.block.stripe;
        let is_left_out =
            |position: usize| operation.chunks[position].new.is_none() && self.is_writable(stripe, position);
        operation.task == Task::Write && self.parities_of(operation).any(is_left_out)
    }

    /// A change is prepared anew. Were it carried out without a member that is back, others could be lost before that one has been given its part.
    pub(super) fn prepare_again(&mut self, id: u64) {
        let Some(operation) = self.operations.get_mut(&id) else { return };
        for (position, chunk) in operation.chunks.iter_mut().enumerate() {
            let new = chunk.new.take().filter(|_| operation.block.chunks.contains(&position));
            *chunk = Chunk { new, ..Chunk::default() };
        }
        (operation.step, operation.is_whole, operation.entry) = (Step::Waits, false, None);
        operation.repairs.clear();
        self.ready.push_back(id);
    }

    /// Parities that change. Those of members that are missing are left out.
    pub(super) fn affected(&self, operation: &Operation) -> Vec<usize> {
        self.parities_of(operation).filter(|position| self.is_usable(operation.block.stripe, *position)).collect()
    }

    /// Parities that decide how a change reads.
    fn counted(&self, operation: &Operation) -> Vec<usize> {
        match self.config.path.lost_parities() {
            LostParities::Spare => self.affected(operation),
            LostParities::Count => self.parities_of(operation).collect(),
        }
    }

    /// Data chunks that are not written and belong to these parities.
    pub(super) fn others(&self, operation: &Operation, affected: &[usize]) -> Vec<usize> {
        let belongs = |chunk: &usize| {
            affected.iter().any(|parity| self.coder.coefficient(parity - self.coder.data(), *chunk) != 0)
        };
        (0..self.coder.data()).filter(|chunk| !operation.block.chunks.contains(chunk)).filter(belongs).collect()
    }

    /// Reads what a change needs.
    pub(super) fn begin_change(&mut self, id: u64) {
        let Some(stripe) = self.operations.get(&id).map(|operation| operation.block.stripe) else { return };
        if self.hold(id, stripe) {
            return;
        }
        let Some(operation) = self.operations.get(&id) else { return };
        if let Some(task) = self.comes_first(operation) {
            return self.begin_first_of(id, task);
        }
        if let Some(why) = self.refusal(operation) {
            return self.refuse(id, &why);
        }
        if !self.written.holds(stripe) {
            return self.begin_first(id);
        }
        let Some(operation) = self.operations.get(&id) else { return };
        let affected = self.affected(operation);
        let others = self.others(operation, &self.counted(operation));
        let (method, reads) = self.method(operation, &affected, &others);
        match method {
            Method::Whole => self.read_whole(id),
            _ => {
                if let Some(operation) = self.operations.get_mut(&id) {
                    operation.step = Step::Reads;
                }
                let reads = self.without_cached(id, reads);
                reads.iter().for_each(|position| self.ask_read(id, *position));
                if reads.is_empty() {
                    self.was_prepared(id);
                }
            }
        }
    }

    /// Why a change cannot be kept: nothing of it is done then.
    pub(super) fn refusal(&self, operation: &Operation) -> Option<Status> {
        let stripe = operation.block.stripe;
        let is_first = !self.written.holds(stripe);
        let is_changed = |position: &usize| {
            is_first
                || operation.block.chunks.contains(position)
                || self.parities_of(operation).any(|of| of == *position)
        };
        let member = |position: &usize| &self.members[self.map.member(stripe, *position)];
        if (0..self.coder.width()).any(|position| is_changed(&position) && member(&position).is_full) {
            return Some(Status::NoSpace(Vec::new()));
        }
        let stays = |position: &usize| {
            let member = member(position);
            (is_first || !member.stale.holds(stripe))
                && if is_changed(position) { member.is_online() } else { member.is_present() }
        };
        let have: Vec<usize> = (0..self.coder.width()).filter(stays).collect();
        if self.coder.width() - have.len() <= self.config.code.tolerates() {
            return None;
        }
        let chunks: Vec<usize> = operation.block.chunks.clone().collect();
        if self.coder.solve(&chunks, &have).is_some() && !self.takes_along(stripe, &chunks, &have) {
            return None;
        }
        let is_worn_out = (0..self.coder.width()).any(|position| member(&position).state == MemberState::ReadOnly);
        Some(if is_worn_out { Status::ReadOnly(Vec::new()) } else { Status::MediumError(Vec::new()) })
    }

    /// Ends a change of which nothing was done.
    fn refuse(&mut self, id: u64, why: &Status) {
        let Some(operation) = self.operations.get_mut(&id) else { return };
        operation.ended = self.now;
        let (block, parent) = (operation.block.clone(), operation.parent);
        for chunk in block.chunks {
            let host = self.map.host(block.stripe, chunk, &block.rows);
            self.fail(parent, host, why);
        }
        self.leave(id);
    }

    /// How new parities are made, and what is read for that.
    fn method(&self, operation: &Operation, affected: &[usize], others: &[usize]) -> (Method, Vec<usize>) {
        let stripe = operation.block.stripe;
        let written: Vec<usize> = operation.block.chunks.clone().collect();
        let are_usable = |positions: &[usize]| positions.iter().all(|position| self.is_usable(stripe, *position));
        // Where parities may not fit, they are made from all data. Of what is lost they have zeros, whatever a member says that it holds.
        let is_lost = |(_, host): (usize, SectorRange)| self.lost.touches(host);
        let has_lost = !self.lost.is_empty() && self.map.hosts(&operation.block).any(is_lost);
        let fits = !has_lost && !self.differs.holds(stripe);
        let may_modify = are_usable(&written) && are_usable(&self.counted(operation)) && fits;
        let may_reconstruct = are_usable(others);
        let modifies = self.config.path.modifies(written.len() + affected.len(), others.len());
        match (may_modify, may_reconstruct) {
            (true, _) if modifies || !may_reconstruct => (Method::Modify, [&written[..], affected].concat()),
            (_, true) => (Method::Reconstruct, others.to_vec()),
            _ => (Method::Whole, Vec::new()),
        }
    }

    /// The first write to a stripe, whose other contents are zeros.
    fn begin_first(&mut self, id: u64) {
        let Some(stripe) = self.operations.get(&id).map(|operation| operation.block.stripe) else { return };
        let must_fill = !self.is_zeroed(stripe);
        let Some(operation) = self.operations.get_mut(&id) else { return };
        let all = 0..self.map.chunk;
        if must_fill && operation.block.rows != all {
            // Members may hold anything there, so that all of it is written.
            let rows = std::mem::replace(&mut operation.block.rows, all.clone());
            for chunk in &mut operation.chunks {
                if let Some(New::Bytes(bytes)) = &mut chunk.new {
                    let mut wide = vec![0; all.end as usize * 512];
                    slice_mut(&mut wide, &all, &rows).copy_from_slice(bytes);
                    *bytes = wide;
                }
            }
        }
        for position in 0..self.coder.data() {
            let Some(operation) = self.operations.get_mut(&id) else { return };
            let chunk = &mut operation.chunks[position];
            if must_fill && chunk.new.is_none() {
                chunk.new = Some(New::Zeroes { may_unmap: true });
            }
        }
        self.written.insert_one(stripe);
        self.note_first(stripe);
        self.zeroed.remove(stripe..stripe + 1);
        self.differs.remove(stripe..stripe + 1);
        // What was lost of it before it was discarded is no longer.
        self.encode(id);
        self.serve(id, Step::After);
    }

    /// Makes parities of which all data are zeros or new.
    fn encode(&mut self, id: u64) {
        let Some(mut operation) = self.operations.remove(&id) else { return };
        let length = (operation.block.rows.end - operation.block.rows.start) as usize * 512;
        for parity in 0..self.coder.parities() {
            let sources = (0..self.coder.data()).filter(|chunk| self.coder.coefficient(parity, *chunk) != 0);
            let sources: Vec<usize> = sources.filter(|chunk| operation.chunks[*chunk].new.is_some()).collect();
            if sources.is_empty() {
                continue;
            }
            let mut bytes: Option<Vec<u8>> = None;
            for chunk in sources.iter().filter(|_| self.features.keeps_bytes) {
                if let Some(new) = operation.chunks[*chunk].new.as_ref().and_then(New::bytes) {
                    let sum = bytes.get_or_insert_with(|| vec![0; length]);
                    add_scaled(sum, self.coder.coefficient(parity, *chunk), new);
                }
            }
            let is_empty =
                |chunk: &usize| matches!(operation.chunks[*chunk].new, Some(New::Zeroes { may_unmap: true }));
            let blank = if sources.iter().all(is_empty) { New::Zeroes { may_unmap: true } } else { New::Blank };
            operation.chunks[self.coder.data() + parity].new = Some(bytes.map_or(blank, New::Bytes));
        }
        self.operations.insert(id, operation);
    }

    /// What a change needs was read.
    pub(super) fn was_prepared(&mut self, id: u64) {
        if self.gather(id) {
            return;
        }
        let Some(mut operation) = self.operations.remove(&id) else { return };
        if !matches!(operation.task, Task::Write) {
            self.prepare_own(&mut operation);
            self.operations.insert(id, operation);
            return self.write(id);
        }
        // A parity whose member came back meanwhile is made if what it needs was read. If not, the member misses the change.
        let affected = self.affected(&operation);
        if operation.is_whole {
            self.make_whole(&mut operation, &affected);
        } else if operation.chunks[operation.block.chunks.start].is_asked {
            let was_read = |parity: &usize| operation.chunks[*parity].is_asked;
            let affected: Vec<usize> = affected.into_iter().filter(was_read).collect();
            self.make_modified(&mut operation, &affected);
        } else {
            let is_asked = |chunk: usize| operation.chunks[chunk].is_asked;
            let was_read = |parity: &usize| self.others(&operation, &[*parity]).into_iter().all(is_asked);
            let affected: Vec<usize> = affected.into_iter().filter(was_read).collect();
            self.make_reconstructed(&mut operation, &affected);
        }
        self.keep_parities(&operation);
        self.operations.insert(id, operation);
        self.serve(id, Step::After);
    }

    /// New parities from the old ones.
    fn make_modified(&self, operation: &mut Operation, affected: &[usize]) {
        // A change that may have to be taken back needs what was there.
        let stripe = operation.block.stripe;
        let is_sound = (0..self.coder.width()).all(|position| self.is_usable(stripe, position));
        for parity in affected {
            let old = &mut operation.chunks[*parity].old;
            let mut sum = if is_sound { old.take() } else { old.clone() };
            for chunk in operation.block.chunks.clone() {
                let factor = self.coder.coefficient(parity - self.coder.data(), chunk);
                let Chunk { old, new, .. } = &operation.chunks[chunk];
                let both = [old.as_deref(), new.as_ref().and_then(New::bytes)];
                if let Some(sum) = &mut sum {
                    both.into_iter().flatten().for_each(|bytes| add_scaled(sum, factor, bytes));
                }
            }
            operation.chunks[*parity].new = Some(sum.map_or(New::Blank, New::Bytes));
        }
    }

    /// New parities from all data.
    fn make_reconstructed(&self, operation: &mut Operation, affected: &[usize]) {
        let length = (operation.block.rows.end - operation.block.rows.start) as usize * 512;
        if self.features.keeps_bytes && affected.len() == self.coder.parities() {
            return self.make_all(operation, length);
        }
        for parity in affected {
            let mut sum = self.features.keeps_bytes.then(|| vec![0; length]);
            for (number, chunk) in operation.chunks[..self.coder.data()].iter().enumerate() {
                let factor = self.coder.coefficient(parity - self.coder.data(), number);
                let bytes = if operation.block.chunks.contains(&number) {
                    chunk.new.as_ref().and_then(New::bytes)
                } else {
                    chunk.old.as_deref()
                };
                if let (Some(sum), Some(bytes)) = (&mut sum, bytes) {
                    add_scaled(sum, factor, bytes);
                }
            }
            operation.chunks[*parity].new = Some(sum.map_or(New::Blank, New::Bytes));
        }
    }

    /// All parities from all data, each byte of which is read once.
    fn make_all(&self, operation: &mut Operation, length: usize) {
        let written = operation.block.chunks.clone();
        let of = |number: usize| {
            let Chunk { new, old, .. } = &operation.chunks[number];
            if written.contains(&number) { new.as_ref().and_then(New::bytes) } else { old.as_deref() }
        };
        let is_blank = (0..self.coder.data()).any(|number| of(number).is_none());
        let zeros = vec![0; if is_blank { length } else { 0 }];
        let data: Vec<&[u8]> = (0..self.coder.data()).map(|number| of(number).unwrap_or(&zeros)).collect();
        let mut parities: Vec<Vec<u8>> = vec![vec![0; length]; self.coder.parities()];
        self.coder.encode(&data, &mut parities.iter_mut().map(Vec::as_mut_slice).collect::<Vec<_>>());
        for (parity, bytes) in parities.into_iter().enumerate() {
            operation.chunks[self.coder.data() + parity].new = Some(New::Bytes(bytes));
        }
    }

    /// New parities where something was missing: first the data that are not written come back, as far as they can.
    pub(super) fn make_whole(&mut self, operation: &mut Operation, affected: &[usize]) {
        let rows = operation.block.rows.clone();
        let stripe = operation.block.stripe;
        let mut known: Vec<(usize, Parts)> = Vec::new();
        for chunk in self.others(operation, affected) {
            known.push((chunk, self.recovered(operation, chunk)));
        }
        self.plan_repairs(operation, &known);
        for (chunk, parts) in known {
            let mut all = vec![0; (rows.end - rows.start) as usize * 512];
            for (part, bytes) in parts {
                match bytes {
                    Some(bytes) if self.features.keeps_bytes => {
                        slice_mut(&mut all, &rows, &part).copy_from_slice(&bytes);
                    }
                    Some(_) => {}
                    // Parity has zeros for it, and nobody is told that these are its contents.
                    None => self.lose_rows(stripe, chunk, &part),
                }
            }
            operation.chunks[chunk].old = Some(all).filter(|_| self.features.keeps_bytes);
        }
        self.make_reconstructed(operation, affected);
    }

    /// Rows of a chunk are lost, and parity has zeros for them. A member that comes back with something else there does not have the chunk.
    fn lose_rows(&mut self, stripe: u64, chunk: usize, rows: &Rows) {
        self.lost.insert(self.map.host(stripe, chunk, rows));
        if !self.is_usable(stripe, chunk) {
            self.spoil(self.map.member(stripe, chunk), stripe);
        }
    }

    /// What is made equal on a stripe does not become so where a member cannot be written; and a member that is away may come back with something else.
    fn spoil_unequal(&mut self, stripe: u64) {
        for position in 0..self.coder.width() {
            let is_made = position >= self.coder.data() && !self.is_writable(stripe, position);
            if is_made || !self.is_usable(stripe, position) {
                self.spoil(self.map.member(stripe, position), stripe);
            }
        }
    }

    /// Members get what is new.
    pub(super) fn write(&mut self, id: u64) {
        let is_write = |operation: &&Operation| operation.task == Task::Write;
        let missing = self.operations.get(&id).filter(is_write).map(|operation| self.missing(operation));
        let is_discard = |operation: &&Operation| operation.task == Task::Unwrite;
        if let Some(stripe) = self.operations.get(&id).filter(is_discard).map(|operation| operation.block.stripe) {
            self.empty(stripe);
        }
        let Some(operation) = self.operations.get_mut(&id) else { return };
        operation.step = Step::Writes;
        operation.waits = 1;
        let mut news: Vec<(usize, New)> = Vec::new();
        for (position, chunk) in operation.chunks.iter_mut().enumerate() {
            news.extend(chunk.new.take().map(|new| (position, new)));
        }
        let repairs = std::mem::take(&mut operation.repairs);
        let block = operation.block.clone();
        self.unsure.change(&(block.stripe..block.stripe + 1));
        for (_, host) in self.map.hosts(&block) {
            if self.lost.within(host).next().is_some() {
                operation.undo = Undo::Cannot;
            }
            self.lost.remove(host);
        }
        let is_resync = operation.task == Task::Resync;
        missing.into_iter().flatten().for_each(|member| self.spoil(member, block.stripe));
        if is_resync {
            self.spoil_unequal(block.stripe);
        }
        for (position, new) in news {
            self.write_position(id, position, new);
        }
        for (position, rows, bytes) in repairs {
            let (member, range) = self.map.place(block.stripe, position, &rows);
            self.ask_write(id, member, bytes.map_or(New::Blank, New::Bytes), range, Child::Repair { operation: id });
        }
        self.part_is_written(id);
    }

    /// A position gets what is new, where it lies and where it is being moved.
    fn write_position(&mut self, id: u64, position: usize, new: New) {
        let Some(operation) = self.operations.get(&id) else { return };
        let (stripe, rows) = (operation.block.stripe, operation.block.rows.clone());
        let task = operation.task.clone();
        let (member, range) = self.map.place(stripe, position, &rows);
        let own = Child::Write { operation: id, position };
        if task == Task::Move {
            let Some((member, range)) = self.moving_place(stripe, position, &rows) else { return };
            if self.members[member].is_online() {
                self.ask_write(id, member, new, range, own);
            }
            return;
        }
        if task == Task::Write && !self.members[member].is_online() {
            self.spoil(member, stripe);
        }
        if let Some((twin, there)) = self.twin(stripe, position, &rows) {
            self.ask_write(id, twin, new.clone(), there, Child::Twin { operation: id, stripe });
        }
        let is_taken = match task {
            Task::Rebuild => self.members[member].is_online(),
            _ => self.is_writable(stripe, position),
        };
        if is_taken {
            self.ask_write(id, member, new, range, own);
        }
    }

    /// Asks a member to write for an operation.
    pub(super) fn ask_write(&mut self, id: u64, member: usize, new: New, range: SectorRange, child: Child) {
        let Some(operation) = self.operations.get_mut(&id) else { return };
        operation.waits += 1;
        let mut origin = operation.origin;
        match child {
            Child::Write { position, .. } => {
                operation.chunks[position].was_written = true;
                if operation.parent.is_some() && position >= self.coder.data() {
                    origin = Origin::ArrayParity;
                }
            }
            _ => origin = Origin::ArrayRepair,
        }
        self.ask(member, new.request(range).with_origin(origin), child);
    }

    /// A member answers a write; of which position, if it is no repair.
    pub(super) fn was_written(&mut self, id: u64, position: Option<usize>, completion: &Completion) {
        let Some(operation) = self.operations.get_mut(&id) else { return };
        operation.ended = operation.ended.max(completion.at);
        if let Some(position) = position
            && !completion.status.is_done()
        {
            operation.chunks[position].refused = Some(completion.status.clone());
        }
        if operation.undo == Undo::UnderWay && !completion.status.is_done() {
            operation.undo = Undo::Failed;
        }
        self.part_is_written(id);
    }

    pub(super) fn part_is_written(&mut self, id: u64) {
        let Some(operation) = self.operations.get_mut(&id) else { return };
        operation.waits = operation.waits.saturating_sub(1);
        if operation.waits > 0 {
            return;
        }
        operation.ended = operation.ended.max(self.now);
        let (undo, is_refused) = (operation.undo, operation.chunks.iter().any(|chunk| chunk.refused.is_some()));
        if undo == Undo::Not && self.begin_undo(id) {
            return;
        }
        if undo == Undo::UnderWay {
            self.end_undo(id);
        } else {
            if is_refused {
                self.judge_refused(id);
            }
            self.check_kept(id);
        }
        if let Some(operation) = self.operations.remove(&id) {
            self.end_own(&operation);
            self.operations.insert(id, operation);
        }
        self.go_on_or_leave(id);
    }

    /// Members refused what they were to write. They do not have it; the others tell what it is.
    fn judge_refused(&mut self, id: u64) {
        let Some(operation) = self.operations.get(&id) else { return };
        let stripe = operation.block.stripe;
        // Whatever members hold of a stripe that was discarded, it is zeros.
        if matches!(operation.task, Task::Rebuild | Task::Move | Task::Unwrite) {
            return;
        }
        let refused: Vec<(usize, Status)> = operation
            .chunks
            .iter()
            .enumerate()
            .filter_map(|(position, chunk)| Some((position, chunk.refused.clone()?)))
            .collect();
        for (position, status) in refused {
            let member = self.map.member(stripe, position);
            if matches!(status, Status::NoSpace(_)) {
                self.members[member].is_full = true;
            }
            self.spoil(member, stripe);
        }
    }

    /// Of what was to be written, names what no members determine now.
    fn check_kept(&mut self, id: u64) {
        let Some(operation) = self.operations.get(&id) else { return };
        let stripe = operation.block.stripe;
        let width = self.coder.width();
        let (have, missing): (Vec<usize>, Vec<usize>) =
            (0..width).partition(|position| self.is_usable(stripe, *position));
        if missing.len() <= self.config.code.tolerates() || operation.task != Task::Write {
            return;
        }
        let (block, parent) = (operation.block.clone(), operation.parent);
        let refused: Vec<Option<Status>> = operation.chunks.iter().map(|chunk| chunk.refused.clone()).collect();
        let data = self.coder.data();
        for chunk in missing.into_iter().filter(|position| *position < data) {
            if self.coder.solve(&[chunk], &have).is_some() {
                continue;
            }
            if block.chunks.contains(&chunk) {
                let host = self.map.host(stripe, chunk, &block.rows);
                let why = refused[chunk].clone().unwrap_or_else(|| self.why_missing(stripe, chunk));
                self.fail(parent, host, &why);
            }
        }
        let is_refused = |position: &usize| refused[*position].is_some();
        let members = (0..width).filter(is_refused).map(|position| self.map.member(stripe, position));
        let members: Vec<usize> = members.collect();
        if !self.confine_refused(&block, &members) {
            self.spoil_refused(stripe, &members);
        }
    }

    /// The failure of a write to a position that no member takes.
    fn why_missing(&self, stripe: u64, position: usize) -> Status {
        match self.members[self.map.member(stripe, position)].state {
            MemberState::ReadOnly => Status::ReadOnly(Vec::new()),
            _ => Status::MediumError(Vec::new()),
        }
    }

    /// Discards a stripe as a whole.
    pub(super) fn begin_unwrite(&mut self, id: u64) {
        let Some(operation) = self.operations.get(&id) else { return };
        let stripe = operation.block.stripe;
        if self.hold(id, stripe) {
            return;
        }
        let Some(operation) = self.operations.get_mut(&id) else { return };
        if !self.written.holds(stripe) {
            operation.ended = self.now;
            return self.leave(id);
        }
        operation.chunks.iter_mut().for_each(|chunk| chunk.new = Some(New::Trim));
        self.log(id);
    }

    /// A stripe holds nothing from now on. Before its record is durable a power cut leaves what it held, and a checkpoint must know of that.
    fn empty(&mut self, stripe: u64) {
        self.written.remove(stripe..stripe + 1);
        self.differs.remove(stripe..stripe + 1);
        self.lost.remove(self.map.host(stripe, 0, &(0..self.map.stripe_sectors())));
        for member in self.members.iter_mut() {
            // What was discarded makes room.
            member.is_full = false;
            member.stale.remove(stripe..stripe + 1);
        }
    }

    /// A stripe was discarded. Its members hold zeros there if all of them did it; until they flush, those that lose their power may hold anything.
    pub(super) fn end_unwrite(&mut self, operation: &Operation) {
        let is_done = |chunk: &Chunk| chunk.was_written && chunk.refused.is_none();
        if self.reads_zeros && operation.chunks.iter().all(is_done) {
            self.zeroed.insert_one(operation.block.stripe);
        }
    }

    /// The operations of a change of the host.
    pub(super) fn change_parts(
        &mut self,
        parent: Option<wane_blockdev::RequestId>,
        request: &Request,
    ) -> Vec<Operation> {
        let blocks = self.map.blocks(request.range);
        let whole = (0..self.map.chunk, 0..self.coder.data());
        let is_whole = |rows: &Rows, chunks: &std::ops::Range<usize>| (rows, chunks) == (&whole.0, &whole.1);
        let mut operations = Vec::new();
        for block in blocks {
            let mut operation = self.operation(parent, block, Task::Write, request.origin);
            if request.kind == Kind::Trim && is_whole(&operation.block.rows, &operation.block.chunks) {
                operation.task = Task::Unwrite;
                operations.push(operation);
                continue;
            }
            for (chunk, host) in self.map.hosts(&operation.block.clone()) {
                let new = match (&request.bytes, request.kind) {
                    (Some(bytes), Kind::Write) => {
                        let rows = request.range.start.0..request.range.start.0 + request.range.count.0;
                        let part = host.start.0..host.start.0 + host.count.0;
                        New::Bytes(slice(bytes, &rows, &part).to_vec())
                    }
                    (None, Kind::Write) => New::Blank,
                    (_, Kind::Trim) => New::Zeroes { may_unmap: true },
                    _ => New::Zeroes { may_unmap: request.flags.may_unmap },
                };
                operation.chunks[chunk].new = Some(new);
            }
            operations.push(operation);
        }
        operations
    }

    /// Work that has not begun.
    pub(super) fn operation(
        &self,
        parent: Option<wane_blockdev::RequestId>,
        block: Block,
        task: Task,
        origin: Origin,
    ) -> Operation {
        let chunks = vec![Chunk::default(); self.coder.width()];
        Operation { parent, task, ended: self.now, ..Operation::new(block, chunks, origin) }
    }
}

impl Operation {
    /// A write that has not begun.
    pub(super) fn new(block: Block, chunks: Vec<Chunk>, origin: Origin) -> Self {
        Self {
            parent: None,
            block,
            task: Task::Write,
            step: Step::Waits,
            waits: 0,
            origin,
            chunks,
            is_whole: false,
            repairs: Vec::new(),
            entry: None,
            recorded: Recorded::Tile,
            joint: super::aggregate::Joint::default(),
            undo: Undo::Not,
            first: First::Not,
            ended: SimTime::ZERO,
        }
    }
}
