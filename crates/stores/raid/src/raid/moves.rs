//! How the tiles of an array come to lie elsewhere: when members shrink, grow, come, or are to leave.
//!
//! A plan says which tiles stay and what moves ([`retarget`]). First the host gives up the last tiles, if some do not fit. Then one slot after the other
//! moves, stripe by stripe: what is copied already is written to both places from then on. When all of a slot is copied the members flush, a record says
//! where the slot lies now, and its old place is free. A power cut before that leaves the old place in force, and one after it the new one.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use wane_blockdev::{
    AnsweredBy, BlockDevice as _, Living, Notice, NoticeKind, Origin, Request, SectorRange, Status, WantedCause,
    check_capacity,
};
use wane_units::{Lba, Sectors, SimTime};

use super::map::Rows;
use super::member::{Joins, Known, Member};
use super::meta::Record;
use super::{Operation, Raid, Task};
use crate::bits::Bits;
use crate::extents::{Move, Rebalance, Slot, Target, retarget};
use crate::layout::LayoutError;
use crate::placement::Site;

/// Whether an array follows members that offer less.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Following {
    /// It does not: a member that wants space back goes on without.
    #[default]
    Never,
    /// It asks its host for capacity, moves tiles, and gives the member what it wants.
    Members,
}

/// A slot that is being moved.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Moving {
    step: Move,
    /// Stripes of the tile that are not copied, by their number in it.
    todo: Bits,
    /// All is copied, and the record is on its way.
    is_committing: bool,
}

/// What is to move.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Moves {
    /// Slots that each member is to have; empty if nothing is planned.
    target: Vec<u32>,
    plan: VecDeque<Move>,
    moving: Option<Moving>,
    /// Slots of tiles that come at the end.
    added: Vec<Slot>,
    /// Tiles that stay. The host has to give up the others first.
    kept: u64,
    /// Sectors that have been copied.
    moved: u64,
}

/// What a new target of an array's members costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retargeted {
    /// Sectors that the array has in the end.
    pub capacity: Sectors,
    /// Slots that move to another member.
    pub across: u64,
    /// Slots that move within a member.
    pub within: u64,
    /// Sectors that are written for that.
    pub written: Sectors,
}

impl Moves {
    /// What was under way is no more; it is planned again.
    pub(super) fn cut(&mut self) {
        *self = Self { moved: self.moved, ..Self::default() };
    }

    /// Slots that members are to have.
    pub(super) fn target(&self) -> &[u32] {
        &self.target
    }
}

impl Raid {
    /// Whether tiles are being moved, or wait for the host.
    pub fn is_moving(&self) -> bool {
        !self.moves.target.is_empty()
    }

    /// Sectors of members that moves have written so far.
    pub const fn sectors_moved(&self) -> Sectors {
        Sectors(self.moves.moved)
    }

    /// Slots that each member has.
    pub fn slots(&self) -> impl Iterator<Item = u32> + '_ {
        self.members.iter().map(|member| member.slots)
    }

    /// Sectors of a slot.
    pub const fn slot_sectors(&self) -> Sectors {
        Sectors(self.map.slot_sectors())
    }

    /// The sector of each member at which its slots begin.
    pub const fn data_offset(&self) -> Sectors {
        Sectors(self.map.offset)
    }

    /// Lets members have other numbers of slots. The host gives up capacity first, if it has to: a notice says how much. Tiles that free slots make come
    /// at the end, and the host may take them ([`wane_blockdev::BlockDevice::set_capacity`]); with [`Rebalance::ForCapacity`] others move for more.
    ///
    /// # Errors
    /// Too few members would have room for a stripe. Nothing has changed then.
    ///
    /// # Panics
    /// `at` lies before an instant that the device was given earlier.
    pub fn retarget(&mut self, at: SimTime, slots: &[u32], rebalance: Rebalance) -> Result<Retargeted, LayoutError> {
        if !self.is_off {
            self.catch_up(at);
        }
        self.plan_moves(slots, u64::MAX, rebalance)
    }

    /// Plans for N tiles at most.
    fn plan_moves(&mut self, slots: &[u32], tiles: u64, rebalance: Rebalance) -> Result<Retargeted, LayoutError> {
        let sites: Vec<Site> = slots.iter().map(|slots| Site { slots: u64::from(*slots), speed: 1.0 }).collect();
        let exposure: Vec<f64> = self.members.iter().map(|member| member.life_used()).collect();
        let target = Target { sites: &sites, tiles, rebalance, exposure: &exposure };
        let plan = retarget(&self.map.table, &target)?;
        let (across, within) = (plan.across(), plan.within());
        let slot = self.map.slot_sectors();
        let retargeted = Retargeted {
            capacity: Sectors(plan.tiles() * self.map.tile * self.map.stripe_sectors()),
            across,
            within,
            written: Sectors((across + within) * slot),
        };
        for (member, slots) in self.members.iter_mut().zip(slots) {
            // From now on nothing is put where the member will have nothing.
            member.doomed_from = *slots;
            // One that left and is to have something again belongs to the array.
            if member.is_retired && *slots > 0 {
                (member.is_retired, member.joins) = (false, Joins::Newly);
                self.commits.must_raise = true;
                self.commits.wants_checkpoint = true;
            }
        }
        // A slot that is being moved goes on if the plan has it, too; otherwise the copy is given up.
        let is_planned = |moving: &Moving| plan.moves.contains(&moving.step);
        if !self.moves.moving.as_ref().is_some_and(is_planned) {
            self.moves.moving = None;
        }
        let under_way = self.moves.moving.as_ref().map(|moving| moving.step);
        self.moves.plan = plan.moves.iter().copied().filter(|step| Some(*step) != under_way).collect();
        self.moves.target = slots.to_vec();
        self.moves.added = plan.added;
        self.moves.kept = plan.kept;
        let kept = self.kept_sectors();
        if self.capacity > kept {
            let (cause, by) = (WantedCause::Wear, AnsweredBy::Capacity);
            self.tell(NoticeKind::CapacityWanted { to: kept, cause, writes_left: Sectors::ZERO, by });
        }
        self.begin_moves();
        Ok(retargeted)
    }

    /// Sectors of the tiles that stay.
    fn kept_sectors(&self) -> Sectors {
        Sectors(self.moves.kept * self.map.tile * self.map.stripe_sectors())
    }

    /// Goes on with what was planned before a power cut.
    pub(super) fn move_on(&mut self, target: &[u32]) {
        for member in self.members.iter_mut() {
            member.doomed_from = member.slots;
        }
        if !target.is_empty() {
            // A plan that was made once can be made again, as long as as many members have room.
            let _ = self.plan_moves(target, self.map.table.len(), Rebalance::Never);
        }
    }

    /// An operation is over, which the first move may have waited for.
    pub(super) fn go_on_moving(&mut self) {
        if !self.moves.target.is_empty() && self.moves.moving.is_none() {
            self.begin_moves();
        }
    }

    /// Begins to move when the host has given up what does not stay.
    fn begin_moves(&mut self) {
        if self.moves.target.is_empty() || self.capacity > self.kept_sectors() || self.is_off {
            return;
        }
        if self.moves.kept < self.map.table.len() {
            let from = self.moves.kept * self.map.tile;
            let is_busy = self.operations.values().any(|operation| operation.block.stripe >= from);
            let is_recorded = self.commits.records.iter().any(|record| matches!(record, Record::Tiles(_)));
            if is_busy || is_recorded {
                return;
            }
            // Its stripes hold nothing any more: no operation comes there, and the record says so.
            self.commits.records.push(Record::Tiles(self.moves.kept));
            return self.commit_if_due();
        }
        if self.moves.moving.is_none() {
            self.next_move();
        }
    }

    /// Begins with the next slot.
    fn next_move(&mut self) {
        while let Some(step) = self.moves.plan.pop_front() {
            let is_there = self.map.table.tile(step.tile)[usize::from(step.position)] == step.from;
            if is_there {
                let mut todo = Bits::new(self.map.tile);
                todo.insert(0..self.map.tile);
                self.moves.moving = Some(Moving { step, todo, is_committing: false });
                return;
            }
        }
        self.end_moves();
    }

    /// All slots lie where they are to lie.
    fn end_moves(&mut self) {
        let target = std::mem::take(&mut self.moves.target);
        if target.is_empty() {
            return;
        }
        let added = std::mem::take(&mut self.moves.added);
        if !added.is_empty() {
            self.add_tiles(&added);
        }
        for (member, slots) in target.into_iter().enumerate() {
            let gives_back = slots < self.members[member].slots;
            self.members[member].slots = slots;
            let takes_back = self.members[member].device.features().resize != wane_blockdev::Resize::Fixed;
            if gives_back && takes_back && self.members[member].is_present() && slots > 0 {
                let end = Sectors(self.map.offset + u64::from(slots) * self.map.slot_sectors());
                let now = self.now;
                // A member that wants more back than that will say so again.
                let _ = self.members[member].device.set_capacity(now, end);
            }
            if slots == 0 && !self.members[member].is_retired {
                self.members[member].is_retired = true;
                self.must_raise();
            }
        }
        self.map.set_starts();
        self.servers.resize(self.map.groups().max(1), self.now);
        self.want_checkpoint();
    }

    /// Tiles come at the end. They hold nothing.
    fn add_tiles(&mut self, slots: &[Slot]) {
        slots.chunks(self.config.width).for_each(|tile| self.map.table.push(tile));
        let (stripes, tiles) = (self.map.stripes(), self.map.table.len());
        for bits in [&mut self.written, &mut self.zeroed, &mut self.differs] {
            bits.widen(stripes);
        }
        self.members.iter_mut().for_each(|member| member.stale.widen(stripes));
        self.commits.widen(stripes, tiles);
        self.look_again();
        let unsure = std::mem::replace(&mut self.unsure, crate::mirror::Unsure::new(stripes));
        unsure.ranges(None).into_iter().for_each(|range| self.unsure.change(&range));
    }

    /// Adds a member. Nothing lies on it until the array is given a target that uses it ([`Raid::retarget`]).
    ///
    /// # Errors
    /// Its units do not fit, it has no room for a slot, or it belongs to another array.
    ///
    /// # Panics
    /// As of [`Raid::retarget`].
    pub fn add(&mut self, at: SimTime, device: Box<dyn Living>) -> Result<usize, LayoutError> {
        let features = device.features();
        let (unit, sector) = (features.atomic_unit.0, features.sector.0);
        if !self.unit.0.is_multiple_of(unit) || sector > self.features.sector.0 {
            return Err(LayoutError::Units(self.unit.0, unit));
        }
        let slots = device.capacity().0.saturating_sub(self.map.offset) / self.map.slot_sectors();
        if slots == 0 {
            return Err(LayoutError::Small(device.capacity().0, self.map.offset + self.map.slot_sectors()));
        }
        self.check_new(self.members.len(), &*device)?;
        if !self.is_off {
            self.catch_up(at.max(self.now));
        }
        let mut member = Member::new(device, Known::new(0, self.map.stripes()));
        (member.doomed_from, member.joins, member.is_blank) = (0, Joins::Newly, true);
        self.members.push(member);
        if !self.is_off {
            self.catch_up(self.members.latest(self.now));
        }
        self.must_raise();
        self.want_checkpoint();
        Ok(self.members.len() - 1)
    }

    /// Most slots that a member could have.
    pub fn slots_of_device(&self, member: usize) -> u32 {
        let capacity = self.members[member].device.capacity().0;
        u32::try_from(capacity.saturating_sub(self.map.offset) / self.map.slot_sectors()).unwrap_or(u32::MAX)
    }

    /// Members say what they want.
    pub(super) fn hear_members(&mut self) {
        let mut heard: Vec<Notice> = Vec::new();
        let mut wanted: Vec<(usize, Sectors)> = Vec::new();
        for (number, member) in self.members.iter_mut().enumerate() {
            heard.clear();
            member.device.notices(&mut heard);
            for notice in &heard {
                if let NoticeKind::CapacityWanted { to, .. } = notice.kind {
                    wanted.push((number, to));
                }
            }
        }
        if wanted.is_empty() || self.config.following == Following::Never || self.is_off {
            return;
        }
        let mut slots: Vec<u32> =
            if self.moves.target.is_empty() { self.slots().collect() } else { self.moves.target.clone() };
        slots.resize(self.members.len(), 0);
        let before = slots.clone();
        for (member, to) in wanted {
            let fit = to.0.saturating_sub(self.map.offset) / self.map.slot_sectors();
            slots[member] = slots[member].min(fit as u32);
        }
        // Without a plan the member stays as it is, and refuses what it cannot take.
        let tiles = self.map.table.len();
        if slots != before && self.plan_moves(&slots, tiles, Rebalance::Never).is_err() {
            for (member, slots) in self.members.iter_mut().zip(before) {
                member.doomed_from = slots;
            }
        }
    }

    /// The host gives capacity back, or takes it.
    pub(super) fn change_capacity(&mut self, at: SimTime, wanted: Sectors) -> Status {
        if self.is_off {
            return if self.features.resize == wane_blockdev::Resize::Fixed {
                Status::Unsupported(wane_blockdev::Unsupported::Kind)
            } else {
                Status::Gone(Vec::new())
            };
        }
        self.catch_up(at);
        let most = self.map.capacity().max(self.capacity);
        if let Err(status) = check_capacity(&self.features, self.capacity, most, wanted) {
            return status;
        }
        let is_planned = !self.moves.target.is_empty() && wanted > self.kept_sectors().max(self.capacity);
        if is_planned {
            return Status::NoSpace(Vec::new());
        }
        if wanted == self.capacity {
            return Status::Done;
        }
        if wanted < self.capacity {
            let range = SectorRange::between(Lba(wanted.0), Lba(self.capacity.0));
            let parts = self.change_parts(None, &Request::trim(range));
            parts.into_iter().for_each(|operation| self.enter(operation));
        }
        self.capacity = wanted;
        self.commits.records.push(Record::Capacity(wanted.0));
        self.tell(NoticeKind::CapacityChanged(wanted));
        self.begin_ready();
        self.begin_moves();
        Status::Done
    }

    /// A record of moves is durable.
    pub(super) fn note_record(&mut self, record: &Record) {
        match record {
            Record::Tiles(tiles) => {
                let from = tiles * self.map.tile;
                let all = self.map.stripes();
                self.map.table.truncate(*tiles);
                for bits in [&mut self.written, &mut self.zeroed, &mut self.differs, &mut self.commits.fresh] {
                    bits.remove(from..all);
                }
                self.members.iter_mut().for_each(|member| member.stale.remove(from..all));
                self.begin_moves();
            }
            Record::Placed { tile, column, member, slot } => {
                let new = Slot { member: *member, slot: *slot };
                let old = self.map.table.tile(*tile)[usize::from(*column)];
                self.map.table.place(*tile, usize::from(*column), new);
                let stripes = tile * self.map.tile..(tile + 1) * self.map.tile;
                // What holds nothing was not copied, and other tiles may have lain there.
                self.zeroed.remove(stripes.clone());
                if old.member != new.member {
                    self.members[usize::from(old.member)].stale.remove(stripes);
                }
                self.moves.moving = None;
                self.next_move();
            }
            _ => {}
        }
    }

    /// The stripe that is to be copied next; `None` if nothing is moving or all of it is copied.
    pub(super) fn next_to_move(&mut self) -> Option<(u64, Task)> {
        let moving = self.moves.moving.as_ref()?;
        let step = moving.step;
        if !self.members[usize::from(step.to.member)].is_online() {
            // It cannot be written.
            self.give_moves_up();
            return None;
        }
        let next = moving.todo.next(0..self.map.tile).map(|run| step.tile * self.map.tile + run.start);
        if let Some(stripe) = next {
            return Some((stripe, Task::Move));
        }
        self.commit_move();
        None
    }

    /// Whether a slot is being moved, and not all of it is copied and recorded.
    pub(super) fn has_to_move(&self) -> bool {
        self.moves.moving.as_ref().is_some_and(|moving| !moving.is_committing)
    }

    fn commit_move(&mut self) {
        let Some(moving) = &mut self.moves.moving else { return };
        if std::mem::replace(&mut moving.is_committing, true) {
            return;
        }
        let Move { tile, position, to, .. } = moving.step;
        self.commits.records.push(Record::Placed { tile, column: position, member: to.member, slot: to.slot });
        self.commit_if_due();
    }

    /// The slot to which a position of a stripe is being moved, if it is.
    fn moving_slot(&self, stripe: u64, position: usize) -> Option<Slot> {
        let moving = self.moves.moving.as_ref()?;
        let is_it = stripe / self.map.tile == moving.step.tile
            && self.map.slot(stripe, position).0 == usize::from(moving.step.position);
        is_it.then_some(moving.step.to)
    }

    /// Whether a part of a tile is being moved to a member.
    pub(super) fn moves_to(&self, tile: u64, member: usize) -> bool {
        let is_it = |moving: &Moving| moving.step.tile == tile && usize::from(moving.step.to.member) == member;
        self.moves.moving.as_ref().is_some_and(is_it)
    }

    /// A member may have forgotten what was moved to it: it stays where it is, unless its record is on its way. That is written after members flushed, and
    /// what they were given since is stale.
    pub(super) fn forget_move_to(&mut self, member: usize) {
        let is_it = |moving: &Moving| usize::from(moving.step.to.member) == member;
        if !self.moves.moving.as_ref().is_some_and(is_it) || self.commits.is_entering_placed() {
            return;
        }
        let before = self.commits.records.len().min(self.commits.recording);
        let is_placed = |record: &Record| matches!(record, Record::Placed { .. });
        self.commits.recording -= self.commits.records[..before].iter().filter(|record| is_placed(record)).count();
        self.commits.records.retain(|record| !is_placed(record));
        self.give_moves_up();
    }

    /// Nothing more is moved: another plan is needed.
    fn give_moves_up(&mut self) {
        self.moves.moving = None;
        self.moves.target.clear();
        self.moves.plan.clear();
    }

    /// Whether a stripe that holds nothing is zeros on all members. In a place to which it is being moved there may be anything.
    pub(super) fn is_zeroed(&self, stripe: u64) -> bool {
        self.zeroed.holds(stripe) && !self.moves_tile(stripe)
    }

    /// Whether a part of the tile of a stripe is being moved.
    pub(super) fn moves_tile(&self, stripe: u64) -> bool {
        self.moves.moving.as_ref().is_some_and(|moving| moving.step.tile == stripe / self.map.tile)
    }

    /// Where rows of a position are written, too, since they were copied there already.
    pub(super) fn twin(&self, stripe: u64, position: usize, rows: &Rows) -> Option<(usize, SectorRange)> {
        let slot = self.moving_slot(stripe, position)?;
        let is_copied = self.moves.moving.as_ref().is_some_and(|moving| !moving.todo.holds(stripe % self.map.tile));
        is_copied.then(|| (usize::from(slot.member), self.map.in_slot(slot, stripe, rows)))
    }

    /// The position of a stripe that is being moved.
    pub(super) fn moving_position(&self, stripe: u64) -> Option<usize> {
        (0..self.coder.width()).find(|position| self.moving_slot(stripe, *position).is_some())
    }

    /// Where the copy of a stripe goes.
    pub(super) fn moving_place(&self, stripe: u64, position: usize, rows: &Rows) -> Option<(usize, SectorRange)> {
        let slot = self.moving_slot(stripe, position)?;
        Some((usize::from(slot.member), self.map.in_slot(slot, stripe, rows)))
    }

    /// A stripe lies in both places, or does not.
    pub(super) fn note_copied(&mut self, stripe: u64, is_copied: bool) {
        let rows = self.map.chunk;
        if let Some(moving) = &mut self.moves.moving
            && stripe / self.map.tile == moving.step.tile
        {
            let number = stripe % self.map.tile;
            if is_copied {
                moving.todo.remove(number..number + 1);
                self.moves.moved += rows;
            } else {
                moving.todo.insert_one(number);
            }
        }
    }

    /// The operation that copies a stripe.
    pub(super) fn begin_copy(&mut self, id: u64) {
        let Some(operation) = self.operations.get(&id) else { return };
        let stripe = operation.block.stripe;
        let Some(position) = self.moving_position(stripe) else { return self.leave(id) };
        if !self.written.holds(stripe) {
            self.note_copied(stripe, true);
            return self.leave(id);
        }
        if self.is_usable(stripe, position) {
            return self.ask_read(id, position);
        }
        self.read_whole(id);
    }

    /// Work of its own on a stripe.
    pub(super) fn own_operation(&self, stripe: u64, task: Task) -> Operation {
        self.operation(None, self.map.whole_stripe(stripe), task, Origin::ArrayRepair)
    }
}
