//! The write path of StRAID (ATC'22): the writer that locks a stripe does all of the work itself, and no two stripes share anything.

use wane_units::Nanos;

use super::{Server, WritePath};

/// See the head of this file.
pub static STRAID: Straid = Straid;

/// Nanoseconds of its worker for a change (`ARRAYS.md` 4.3).
const WORKER: u64 = 8_000;

/// See [`STRAID`].
#[derive(Debug)]
pub struct Straid;

impl WritePath for Straid {
    fn name(&self) -> &'static str {
        "straid"
    }

    fn locks_stripes(&self) -> bool {
        true
    }

    fn service(&self, _rows: u64) -> Nanos {
        Nanos(WORKER)
    }

    fn server(&self) -> Server {
        Server::OfChange
    }
}
