//! The write path of StRAID (ATC'22): the writer that locks a stripe does all of the work itself, and no two stripes share anything.
//!
//! A change of a part of a stripe reads its old data and old parities, and these not where the cache has them. What comes for the stripe meanwhile goes
//! with it. If that is more than half of what the first change leaves of the stripe, the rest of the stripe is read (reconstruct-write), otherwise
//! the old data of what joined. A lone change is a read-modify-write, even where a reconstruct-write would take fewer reads.

use std::ops::Range;

use wane_units::Nanos;

use super::{Server, WritePath};

/// See the head of this file.
pub static STRAID: Straid = Straid;

/// Nanoseconds of its worker for a change. Fitted: it makes three NVMe drives as fast as dissertation 000 Fig. 63 has them.
const WORKER: u64 = 8_000;
/// Pages of parity in the cache of the published code: 256 MiB.
const PARITY_PAGES: usize = 65_536;

/// See [`STRAID`].
#[derive(Debug)]
pub struct Straid;

impl WritePath for Straid {
    fn name(&self) -> &'static str {
        "straid"
    }

    fn modifies(&self, _modify: usize, reconstruct: usize) -> bool {
        reconstruct > 0
    }

    fn locks_stripes(&self) -> bool {
        true
    }

    fn service(&self, _bytes: Range<u64>) -> Nanos {
        Nanos(WORKER)
    }

    fn server(&self) -> Server {
        Server::OfChange
    }

    fn aggregates(&self) -> bool {
        true
    }

    fn parity_pages(&self) -> usize {
        PARITY_PAGES
    }
}
