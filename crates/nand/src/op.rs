//! What a medium is asked and what it did: the list of flash operations that a scheduler turns into time.

use serde::{Deserialize, Serialize};
use wane_units::BlockId;

/// On whose behalf flash works: the classes that a scheduler tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Task {
    /// The host's requests, the file system's relocations and reconstruction for a host read among them.
    Host,
    /// Garbage collection.
    GarbageCollection,
    /// Scrubbing and refresh.
    Scrub,
    /// Wear leveling.
    WearLeveling,
}

impl Task {
    /// Every task, in the order of the enum.
    pub const ALL: [Self; 4] = [Self::Host, Self::GarbageCollection, Self::Scrub, Self::WearLeveling];
}

/// A page that is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRead {
    /// Its block.
    pub block: BlockId,
    /// Its number in the block.
    pub page: u32,
    /// Bytes of user data wanted of it.
    pub bytes: u32,
    /// For whom.
    pub task: Task,
    /// What for.
    pub purpose: Purpose,
    /// Fewer re-reads than error correction would try, where the firmware has another way to the data.
    pub rereads_max: Option<u32>,
}

/// What a page is read for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To hand out its data.
    Serve,
    /// To see how well it still reads; its data go nowhere.
    Check,
    /// To program its data again into this block.
    Relocate(BlockId),
    /// To reconstruct another page of its stripe, whose read came just before.
    Recover,
    /// To go around the host's read just before it: this page and those of the same purpose behind it give that one's data, too. It
    /// has no part in state. A scheduler takes either the one or the others.
    Instead,
}

/// How a read ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadOutcome {
    /// Error correction succeeded, after so many re-reads.
    Corrected {
        /// Senses beyond the first.
        rereads: u32,
    },
    /// It did not, not even after the last re-read.
    Uncorrectable,
}

/// What is known of a block's condition, the data that it holds at its worst.
///
/// All zero where the medium has no errors.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Health {
    /// Bit errors to expect in a codeword that is read now: what only a simulator knows.
    pub expected_errors: f64,
    /// The same just after a program.
    pub fresh_errors: f64,
    /// RBER just after a program.
    pub fresh_rber: f64,
    /// Reads since the erase, re-reads included.
    pub reads: u32,
    /// Re-reads since the erase.
    pub rereads: u32,
    /// Days since its oldest page was programmed.
    pub age_days: f64,
}

/// What the flash was busy with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpKind {
    /// Sensing a page, once and `rereads` times more, then moving `bytes` out.
    Read(Purpose),
    /// Moving `bytes` in, then programming a page.
    Program,
    /// Erasing a block.
    Erase,
    /// None: the data were still in the controller's page buffer and only had to be handed out.
    Buffered,
    /// None: the next program or erase of the list waits for more than its place in it says.
    Barrier(Barrier),
}

/// What a program or an erase waits for besides, all of it that came before: what a power cut must not find the other way round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Barrier {
    /// Every program.
    Programs,
    /// Every erase.
    Erases,
    /// Every program and every erase.
    Changes,
}

/// One flash operation, as state went through it. Its place in a list is its place in the history of the drive.
///
/// What it waits for follows from the lists so far:
/// - a program, for the relocation reads into its block since that block's last program, for the erase of its block, and
///   for the earlier programs of its block;
/// - an erase, for its task's relocation reads since the erase before it and for the programs of what they read, for these
///   empty its block. It waits neither for a page of parity nor for one that is filled up with padding after an earlier erase:
///   none of the data of its block lies there;
/// - a recovery read, for the last read of another purpose before it;
/// - the reads that go around another one happen in its place, or do not;
/// - a read of a page whose program has not ended is served from the controller's buffer;
/// - a program or an erase behind an [`OpKind::Barrier`], for what that says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlashOp {
    /// What is done.
    pub kind: OpKind,
    /// For whom.
    pub task: Task,
    /// Where. For [`OpKind::Buffered`] and [`OpKind::Barrier`] the block means nothing.
    pub block: BlockId,
    /// Page in the block; 0 for an erase.
    pub page: u32,
    /// Bytes that cross the channel.
    pub bytes: u32,
    /// Senses of a read beyond the first.
    pub rereads: u32,
}
