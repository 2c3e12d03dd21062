//! The write path of a host whose processors cost nothing: fewest reads, and rows that do not overlap do not wait for each other.

use std::ops::Range;

use wane_units::Nanos;

use super::{Server, WritePath};

/// See the head of this file.
pub static DIRECT: Direct = Direct;

/// See [`DIRECT`].
#[derive(Debug)]
pub struct Direct;

impl WritePath for Direct {
    fn name(&self) -> &'static str {
        "direct"
    }

    fn locks_stripes(&self) -> bool {
        false
    }

    fn service(&self, _bytes: Range<u64>) -> Nanos {
        Nanos::ZERO
    }

    fn server(&self) -> Server {
        Server::OfChange
    }
}
