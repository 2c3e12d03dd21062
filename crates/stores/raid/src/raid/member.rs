//! What a parity array knows of its members.

use serde::{Deserialize, Serialize};
use wane_blockdev::{Archive, ArchiveError};

use crate::bits::Bits;
use crate::members::{self, MemberState};

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

/// A member of a parity array.
pub(super) type Member = members::Member<Known>;

/// What a parity array knows of a member. It is saved as it is.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Known {
    /// It has left the array: nothing lies on it.
    pub(super) is_retired: bool,
    /// It was put in the place of another one, and has no superblock yet.
    pub(super) is_blank: bool,
    /// It came, or came back, and has no superblock of the present generation yet. Those of the others do not count it before it has one.
    pub(super) joins: Joins,
    /// The place of the checkpoint to which its superblock points.
    pub(super) place: u64,
    /// It refused a write for want of space, and takes no more of the host's until that is over.
    pub(super) is_full: bool,
    /// Stripes of which it does not have the present contents.
    pub(super) stale: Bits,
    /// Slots that it has.
    pub(super) slots: u32,
    /// Slots from this number on are not handed out: the member wants them back.
    pub(super) doomed_from: u32,
}

impl Known {
    pub(super) fn new(slots: u32, stripes: u64) -> Self {
        Self {
            is_retired: false,
            is_blank: false,
            joins: Joins::Not,
            place: 1,
            is_full: false,
            stale: Bits::new(stripes),
            slots,
            doomed_from: slots,
        }
    }
}

impl Member {
    /// The condition that superblocks tell of it.
    pub(super) fn told_state(&self) -> MemberState {
        if matches!(self.joins, Joins::Not | Joins::Next) { self.state } else { MemberState::Absent }
    }

    /// Whether nothing of the array lies on it, and superblocks tell so.
    pub(super) fn is_left_out(&self) -> bool {
        self.is_retired || self.joins == Joins::Newly
    }

    /// Whether all that it should have is there.
    pub(super) fn is_whole(&self) -> bool {
        self.is_retired || self.is_online() && self.stale.is_empty() && self.joins == Joins::Not
    }

    pub(super) fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        let mut saved = (self.state, self.is_out, self.known.clone(), self.queue);
        archive.field("raid.member", &mut saved)?;
        (self.state, self.is_out, self.known, self.queue) = saved;
        self.archive_device(archive, "raid.member.counted")
    }
}
