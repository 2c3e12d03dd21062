//! Reads of a medium and the list of its flash operations, which a scheduler turns into time.

use serde::{Deserialize, Serialize};
use wane_units::BlockId;

/// The task that flash works for. Schedulers distinguish these classes.
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
    /// Bytes of user data to read.
    pub bytes: u32,
    /// The task that needs the data.
    pub task: Task,
    /// Purpose of the read.
    pub purpose: Purpose,
    /// Most re-reads, if fewer than error correction would try because the firmware can get the data in another way.
    pub rereads_max: Option<u32>,
}

/// What a page is read for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Purpose {
    /// To return its data.
    Serve,
    /// To see how well it still reads; its data are not used.
    Check,
    /// To program its data again into this block.
    Relocate(BlockId),
    /// To reconstruct another page of its stripe, whose read came just before.
    Recover,
    /// To go around the host's read just before it: this page and the following ones of the same purpose also give that read's data. It
    /// does not affect state. A scheduler performs either that read or these.
    Instead,
}

/// How a read ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadOutcome {
    /// Error correction succeeded.
    Corrected {
        /// Senses beyond the first.
        rereads: u32,
    },
    /// Error correction failed, even after the last re-read.
    Uncorrectable,
}

/// Condition of a block, by the worst of its data.
///
/// All zero if the medium has no errors.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Health {
    /// Expected bit errors in a codeword that is read now, which only a simulator knows.
    pub expected_errors: f64,
    /// Expected bit errors in a codeword just after a program.
    pub fresh_errors: f64,
    /// RBER just after a program.
    pub fresh_rber: f64,
    /// Re-reads that data are expected to need just after a program; `u32::MAX` if error correction gives up before.
    pub fresh_rereads: u32,
    /// Reads since the erase, re-reads included.
    pub reads: u32,
    /// Re-reads since the erase.
    pub rereads: u32,
    /// Days since its oldest page was programmed.
    pub age_days: f64,
}

/// Kind of a flash operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OpKind {
    /// Sensing a page, once and `rereads` times more, then moving `bytes` out.
    Read(Purpose),
    /// Moving `bytes` in, then programming a page.
    Program,
    /// Erasing a block.
    Erase,
    /// No operation: the data were still in the controller's page buffer and only had to be returned.
    Buffered,
    /// No operation: the next program or erase in the list waits for more than its place says.
    Barrier(Barrier),
}

/// Earlier operations that a program or an erase also waits for, since a power cut must not find them in the other order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Barrier {
    /// All earlier programs.
    Programs,
    /// All earlier erases.
    Erases,
    /// All earlier programs and erases.
    Changes,
}

/// One flash operation, at the time at which it changed state. Its place in a list is its place in the history of the drive.
///
/// The lists so far determine what it waits for:
/// - A program waits for the relocation reads into its block since that block's last program, for the erase of its block, and
///   for the earlier programs of its block.
/// - An erase waits for its task's relocation reads since the previous erase and for the programs of what they read, since these
///   empty its block. It waits neither for a page of parity nor for one that is padded after an earlier erase, since none of the
///   data of its block lies there.
/// - A recovery read waits for the last read of another purpose before it.
/// - Reads that go around another read either replace it or do not happen.
/// - A read of a page whose program has not ended is served from the controller's buffer.
/// - A program or an erase after an [`OpKind::Barrier`] also waits for what that names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlashOp {
    /// Its kind.
    pub kind: OpKind,
    /// The task that it serves.
    pub task: Task,
    /// Its block. Without meaning for [`OpKind::Buffered`] and [`OpKind::Barrier`].
    pub block: BlockId,
    /// Page in the block; 0 for an erase.
    pub page: u32,
    /// Bytes that cross the channel.
    pub bytes: u32,
    /// Senses of a read beyond the first.
    pub rereads: u32,
}
