//! The write path of Linux md (raid456): stripe heads of a page a member, and one thread an array that works on them.
//!
//! The rule of md 5.15 (`handle_stripe_dirtying`) with `rmw_level` 1: read-modify-write where it takes fewer reads. A page of a failed member counts
//! as more than any number of reads, that of a parity too: then the chunks that are not written are read for nothing. The time
//! of the thread is fitted: it makes three NVMe drives as fast as the dissertation measured them (000 Fig. 63).

use std::ops::Range;

use wane_units::Nanos;

use super::{LostParities, Server, WritePath};

/// See the head of this file.
pub static MD: Md = Md;

/// Bytes that a stripe head has of each member.
const PAGE: u64 = 4096;
/// Nanoseconds of `raid5d` for a stripe head.
const STRIPE_HEAD: u64 = 7_600;

/// See [`MD`].
#[derive(Debug)]
pub struct Md;

impl WritePath for Md {
    fn name(&self) -> &'static str {
        "md"
    }

    fn lost_parities(&self) -> LostParities {
        LostParities::Count
    }

    fn locks_stripes(&self) -> bool {
        false
    }

    fn service(&self, bytes: Range<u64>) -> Nanos {
        let heads = bytes.end.div_ceil(PAGE) - bytes.start / PAGE;
        Nanos(heads * STRIPE_HEAD)
    }

    fn server(&self) -> Server {
        Server::OfGroup
    }
}
