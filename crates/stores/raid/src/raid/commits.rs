//! The state of what makes things durable: see [`super::commit`].

use std::collections::{BTreeSet, VecDeque};

use serde::{Deserialize, Serialize};
use wane_blockdev::{RequestId, Status};

use super::meta::{Checkpoint, Entry, Record, Superblock};
use crate::bits::Bits;

/// Which changes are written to the ring before they go to their places.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Journal {
    /// None, as long as no member is missing. After a power cut parities are made anew where something had changed; a member that is lost at that
    /// moment takes these stripes with it.
    None,
    /// Of changes of one chunk, the sum of those that stay as they are (partial parity); of others all. It is as safe as `Full` and writes less, but
    /// members flush before a stripe is changed again. Needs the code `xor`.
    Ppl,
    /// All that change stripes which hold something. No power cut loses what was durable, nor does one together with the loss of as many members as
    /// the code tolerates.
    #[default]
    Full,
}

/// What a cycle does now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Stage {
    #[default]
    Idle,
    /// Changes of stripes that are to count as written end.
    Drain,
    FlushMembers,
    WriteCheckpoint,
    FlushCheckpoint,
    WriteSuperblocks,
    FlushSuperblocks,
    WriteEntry,
    FlushEntry,
}

/// An entry in the ring.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Placed {
    pub(super) number: u64,
    pub(super) at: u64,
    pub(super) units: u64,
    /// Its changes that are not in their places.
    pub(super) open: u32,
    /// It has new contents of stripes.
    pub(super) has_changes: bool,
}

/// What is durable of an array whose members keep no bytes: it takes the place of what they would hold.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Kept {
    pub(super) superblock: Option<Superblock>,
    pub(super) checkpoint: Checkpoint,
    pub(super) entries: Vec<Entry>,
}

/// A batch of changes. What it does takes no time, of processors neither.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "bool", into = "bool")]
pub(super) enum InBatch {
    /// None is under way.
    No,
    /// Of an array that keeps bytes.
    WithBytes,
    /// Of one that keeps none: it counts as flushed, and so its records are written.
    Hollow,
}

// An array is saved between batches, and was so when this was a flag.
impl From<bool> for InBatch {
    fn from(is_in_batch: bool) -> Self {
        if is_in_batch { Self::Hollow } else { Self::No }
    }
}

impl From<InBatch> for bool {
    fn from(batch: InBatch) -> Self {
        batch != InBatch::No
    }
}

/// The state of what makes things durable.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Commits {
    pub(super) stage: Stage,
    pub(super) waits: u32,
    /// The number of the cycle.
    pub(super) cycle: u64,
    /// The ring has no room for what waits, and its first entry is not in its place.
    pub(super) is_blocked: bool,
    /// Members have flushed in this cycle.
    pub(super) is_flushed: bool,
    /// Its entry is durable.
    pub(super) is_entered: bool,
    /// Nothing waits for members: a batch takes no time.
    pub(super) is_instant: bool,
    /// Flushes whose changes before them are done.
    pub(super) ready: Vec<RequestId>,
    pub(super) flushes: Vec<RequestId>,
    /// How a flush of a member failed in this cycle.
    pub(super) failed: Option<Status>,
    /// Changes that wait for an entry.
    pub(super) logging: VecDeque<u64>,
    /// Units of the ring that batches wrote, and bytes of records that make no unit yet.
    pub(super) turn: u64,
    pub(super) pending: usize,
    /// Whether a batch is under way.
    #[serde(rename = "is_in_batch")]
    pub(super) in_batch: InBatch,
    /// Members that get the present entry.
    pub(super) holders: Vec<usize>,
    /// Changes of the present entry.
    pub(super) entering: Vec<u64>,
    /// Records that wait for an entry, and how many of them the present one has.
    pub(super) records: Vec<Record>,
    pub(super) recording: usize,
    /// Changes that wait until stripes count as written.
    pub(super) held: Vec<u64>,
    /// Stripes that were written since the last flush and held nothing before.
    pub(super) fresh: Bits,
    /// Stripes with a record that members have not flushed, if partial parities are recorded.
    pub(super) unflushed: Bits,
    /// Those of `fresh` that this cycle makes count.
    pub(super) closing: Bits,
    /// Which of these members did not have when this cycle's flush began.
    pub(super) lacking: Vec<Bits>,
    pub(super) with_checkpoint: bool,
    /// Members that have this cycle's checkpoint: a superblock that points to it goes to no other.
    pub(super) having: Vec<usize>,
    pub(super) wants_checkpoint: bool,
    /// How often the array came back.
    pub(super) life: u64,
    /// All members get superblocks of the same generation before it rises, and before anything else is acknowledged.
    pub(super) must_equalize: bool,
    /// A member was lost since the superblocks were written.
    pub(super) must_raise: bool,
    pub(super) entries: VecDeque<Placed>,
    pub(super) head: u64,
    /// Units of the ring that batches wrote since their last checkpoint.
    pub(super) since: u64,
    pub(super) next: u64,
    /// The first entry that the checkpoint of this cycle does not know.
    pub(super) first: u64,
    pub(super) generation: u64,
    pub(super) epoch: u64,
    pub(super) bytes: u64,
    /// Tiles that the ring or the checkpoint says may not fit.
    pub(super) dirty: Bits,
    /// Tiles that changed since the last checkpoint began.
    pub(super) touched: Bits,
    /// Whether the last checkpoint has stripes that members miss.
    pub(super) has_stale: bool,
    /// Members that lack something by the checkpoint of this cycle.
    pub(super) lacks: BTreeSet<usize>,
    /// Members that would lack something if the power went now, although they lack nothing.
    pub(super) lacks_if_cut: BTreeSet<usize>,
    /// What members missed, and which stripes did not fit, when this cycle's checkpoint began.
    pub(super) stale: Vec<Bits>,
    pub(super) differs: Bits,
    pub(super) entry: Option<Entry>,
    pub(super) checkpoint: Checkpoint,
    pub(super) kept: Kept,
    pub(super) is_formatted: bool,
}

impl Commits {
    pub(super) fn new(stripes: u64, tiles: u64) -> Self {
        Self {
            stage: Stage::Idle,
            waits: 0,
            cycle: 0,
            is_blocked: false,
            is_flushed: false,
            is_entered: false,
            is_instant: false,
            ready: Vec::new(),
            flushes: Vec::new(),
            failed: None,
            logging: VecDeque::new(),
            turn: 0,
            pending: 0,
            in_batch: InBatch::No,
            holders: Vec::new(),
            entering: Vec::new(),
            records: Vec::new(),
            recording: 0,
            held: Vec::new(),
            fresh: Bits::new(stripes),
            unflushed: Bits::new(stripes),
            closing: Bits::new(stripes),
            lacking: Vec::new(),
            with_checkpoint: false,
            having: Vec::new(),
            wants_checkpoint: true,
            life: 0,
            must_equalize: false,
            must_raise: false,
            entries: VecDeque::new(),
            head: 0,
            since: 0,
            next: 1,
            first: 1,
            generation: 1,
            epoch: 0,
            bytes: 0,
            dirty: Bits::new(tiles),
            touched: Bits::new(tiles),
            has_stale: false,
            lacks: BTreeSet::new(),
            lacks_if_cut: BTreeSet::new(),
            stale: Vec::new(),
            differs: Bits::new(0),
            entry: None,
            checkpoint: Checkpoint::default(),
            kept: Kept::default(),
            is_formatted: false,
        }
    }

    /// What is under way is no more.
    pub(super) fn cut(&mut self) {
        let kept = std::mem::take(&mut self.kept);
        let lacks_if_cut = std::mem::take(&mut self.lacks_if_cut);
        *self = Self { kept, lacks_if_cut, ..Self::new(0, 0) };
    }

    /// Goes on from a superblock: the next entry gets this number, and the ring is empty.
    pub(super) fn resume(&mut self, superblock: &Superblock, next: u64, stripes: u64, tiles: u64) {
        let kept = std::mem::take(&mut self.kept);
        *self = Self {
            kept,
            generation: superblock.generation,
            life: superblock.life + 1,
            must_equalize: true,
            epoch: superblock.epoch,
            next,
            first: next,
            is_formatted: true,
            ..Self::new(stripes, tiles)
        };
    }

    /// More stripes and tiles.
    pub(super) fn widen(&mut self, stripes: u64, tiles: u64) {
        self.fresh.widen(stripes);
        self.unflushed.widen(stripes);
        self.closing.widen(stripes);
        self.dirty.widen(tiles);
        self.touched.widen(tiles);
    }

    /// The place of N units in the ring, if there is one.
    pub(super) fn room(&self, units: u64, ring: u64) -> Option<u64> {
        let Some(tail) = self.entries.front() else {
            return if self.head + units <= ring { Some(self.head) } else { Some(0).filter(|_| units <= ring) };
        };
        if self.head > tail.at {
            if self.head + units <= ring {
                return Some(self.head);
            }
            return Some(0).filter(|_| units < tail.at);
        }
        Some(self.head).filter(|_| self.head + units < tail.at)
    }

    /// Whether the record of a move is being written.
    pub(super) fn is_entering_placed(&self) -> bool {
        let records = self.entry.iter().flat_map(|entry| &entry.records);
        records.into_iter().any(|record| matches!(record, Record::Placed { .. }))
    }

    /// Units of the ring in use.
    pub(super) fn used(&self) -> u64 {
        self.entries.iter().map(|entry| entry.units).sum()
    }
}
