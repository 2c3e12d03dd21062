//! Write paths: how a change of a part of a stripe reads, computes and writes, and what of a processor it takes.

mod direct;
mod md;
mod straid;

use std::fmt;
use std::ops::Range;

use wane_units::Nanos;

pub use direct::DIRECT;
pub use md::MD;
pub use straid::STRAID;

/// Which processor works on a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Server {
    /// One for each group of stripes on the same members, as each md device has its own. Changes wait for each other there.
    OfGroup,
    /// One for each change. Nothing is shared.
    OfChange,
}

/// What becomes of reads whose only use is a parity that no member takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LostParities {
    /// They are spared.
    Spare,
    /// They are made: a lost parity counts as one that cannot be read, so that all chunks are read that are not written.
    Count,
}

/// How changes are carried out. Each write path has a file, and a line in [`PATHS`].
pub trait WritePath: fmt::Debug + Send + Sync {
    /// Its name in settings and answers.
    fn name(&self) -> &'static str;

    /// Whether old data and old parity are read (read-modify-write), where that takes `modify` reads, and reading the chunks that are not written
    /// (reconstruct-write) takes `reconstruct`.
    fn modifies(&self, modify: usize, reconstruct: usize) -> bool {
        modify < reconstruct
    }

    /// What it reads for parities that are lost.
    fn lost_parities(&self) -> LostParities {
        LostParities::Spare
    }

    /// Whether changes of other rows of a stripe wait for each other, too.
    fn locks_stripes(&self) -> bool;

    /// Time of a processor for a change of these bytes of each chunk. Half of it is taken before the reads, half after.
    fn service(&self, bytes: Range<u64>) -> Nanos;

    /// Which processor that is.
    fn server(&self) -> Server;

    /// Whether a change that has read what it needs takes in those of its stripe that wait behind it, and writes them with its own.
    fn aggregates(&self) -> bool {
        false
    }

    /// Whether such a change reads the chunks that are not written, of `stripe` bytes of data. `first` bytes are its own, whose old data it has read;
    /// `joined` are those that it took in. The default is StRAID's rule: it does if it then has fewer chunks left to read.
    fn reconstructs(&self, stripe: u64, first: u64, joined: u64) -> bool {
        joined > stripe.saturating_sub(first) / 2
    }

    /// Pages of 4 KiB of parity that it has at hand, so that it does not read them.
    fn parity_pages(&self) -> usize {
        0
    }
}

/// All write paths.
pub static PATHS: [&dyn WritePath; 3] = [&DIRECT, &MD, &STRAID];

/// The write path of a name.
pub fn path(name: &str) -> Option<&'static dyn WritePath> {
    PATHS.into_iter().find(|path| path.name() == name)
}
