//! What a parity array knows of its members.

use serde::{Deserialize, Serialize};
use wane_blockdev::{Archive, ArchiveError, Living};
use wane_units::Counters;

use crate::bits::Bits;
use crate::mirror::MemberState;

/// Whether a member is about to belong to the array.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Joins {
    /// It does, or does not.
    #[default]
    Not,
    /// It belonged to it, or takes the place of one that did.
    Again,
    /// It is new, and nothing lies on it.
    Newly,
    /// It has a superblock of its own, and the next ones count it. Until these are durable it is none without which the array comes back.
    Next,
}

/// A member and what is known of it.
#[derive(Clone)]
pub(super) struct Member {
    pub(super) device: Box<dyn Living>,
    pub(super) state: MemberState,
    /// It was taken out, and is not switched on with the others.
    pub(super) is_out: bool,
    /// It has left the array: nothing lies on it.
    pub(super) is_retired: bool,
    /// It came, or came back, and has no superblock of the present generation yet. Those of the others do not count it before it has one.
    pub(super) joins: Joins,
    /// The place of the checkpoint to which its superblock points.
    pub(super) place: u64,
    /// It was put in the place of another one, and has no superblock yet.
    pub(super) is_blank: bool,
    /// It refused a write for want of space, and takes no more of the host's until that is over.
    pub(super) is_full: bool,
    /// Stripes of which it does not have the present contents.
    pub(super) stale: Bits,
    /// Slots that it has.
    pub(super) slots: u32,
    /// Slots from this number on are not handed out: the member wants them back.
    pub(super) doomed_from: u32,
    /// What it counted when it had power last.
    pub(super) counted: Counters,
    /// Requests to it that are not complete.
    pub(super) queue: u32,
}

/// The part of it that is saved.
#[derive(Serialize, Deserialize)]
struct Saved {
    state: MemberState,
    is_out: bool,
    is_retired: bool,
    is_blank: bool,
    joins: Joins,
    place: u64,
    is_full: bool,
    stale: Bits,
    slots: u32,
    doomed_from: u32,
    queue: u32,
}

impl Member {
    pub(super) fn new(device: Box<dyn Living>, slots: u32, stripes: u64) -> Self {
        Self {
            device,
            state: MemberState::Online,
            is_out: false,
            is_retired: false,
            joins: Joins::Not,
            place: 1,
            is_blank: false,
            is_full: false,
            stale: Bits::new(stripes),
            slots,
            doomed_from: slots,
            counted: Counters::default(),
            queue: 0,
        }
    }

    pub(super) fn is_online(&self) -> bool {
        self.state == MemberState::Online
    }

    pub(super) fn is_present(&self) -> bool {
        self.state != MemberState::Absent
    }

    /// The condition that superblocks tell of it.
    pub(super) fn told_state(&self) -> MemberState {
        if matches!(self.joins, Joins::Not | Joins::Next) { self.state } else { MemberState::Absent }
    }

    /// Whether nothing of the array lies on it, and superblocks tell so.
    pub(super) fn is_left_out(&self) -> bool {
        self.is_retired || self.joins == Joins::Newly
    }

    /// Share of its rated wear that is used.
    pub(super) fn life_used(&self) -> f64 {
        let mut health = Vec::new();
        self.device.health(&mut health);
        health.iter().filter_map(|health| health.life_used).fold(0.0, f64::max)
    }

    /// Whether all that it should have is there.
    pub(super) const fn is_whole(&self) -> bool {
        let is_counted = matches!(self.joins, Joins::Not);
        self.is_retired || matches!(self.state, MemberState::Online) && self.stale.is_empty() && is_counted
    }

    /// It has power again.
    pub(super) fn come_back(&mut self) {
        let is_worn_out = self.device.end_of_life().is_some();
        self.state = if is_worn_out { MemberState::ReadOnly } else { MemberState::Online };
    }

    pub(super) fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        let Self { state, is_out, is_retired, is_blank, joins, place, is_full, slots, doomed_from, queue, .. } = *self;
        let mut saved = Saved {
            state,
            is_out,
            is_retired,
            is_blank,
            joins,
            place,
            is_full,
            stale: self.stale.clone(),
            slots,
            doomed_from,
            queue,
        };
        archive.field("raid.member", &mut saved)?;
        let Saved { state, is_out, is_retired, is_blank, joins, place, is_full, stale, slots, doomed_from, queue } =
            saved;
        (self.state, self.is_out, self.is_full, self.stale) = (state, is_out, is_full, stale);
        (self.slots, self.doomed_from, self.queue) = (slots, doomed_from, queue);
        (self.is_retired, self.is_blank, self.joins, self.place) = (is_retired, is_blank, joins, place);
        let mut counted: Vec<u64> = self.counted.values().collect();
        archive.list("raid.member.counted", &mut counted)?;
        self.counted = Counters::from_values(counted);
        self.device.archive(archive)
    }
}
