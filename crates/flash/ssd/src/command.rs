//! Host commands.

pub use wane_blockdev::{Breakdown, BreakdownTotals, Op as CommandKind, Served as Completion};

/// A host command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    /// The caller's number for the command, which the completion returns.
    pub token: u64,
    /// Kind of the command.
    pub kind: CommandKind,
    /// Bytes of user data.
    pub bytes: u64,
}
