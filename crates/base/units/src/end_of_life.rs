//! How a device ends, and what a power cut makes of the operations that it met.

use serde::{Deserialize, Serialize};

/// Why a device takes no more writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EndOfLife {
    /// A fixed drive's spare blocks are used up.
    SpareExhausted,
    /// No block is free for the next write.
    NoFreeBlock,
    /// No block holds an invalid page to reclaim, or reclaiming gains nothing however long it goes on.
    NoVictim,
}

/// What happened to a program or an erase at a power cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fate {
    /// It had ended.
    Done,
    /// It was under way. The page or block that it worked on cannot be read.
    Torn,
    /// It had not begun.
    Undone,
}
