//! What an array counts of its host itself, since its members count more than the host asked for.

use wane_blockdev::Kind;
use wane_units::{Counters, Sectors};

/// Counts a request of `sectors` that touches some units of `unit` sectors, of which `whole` lie in it as a whole.
#[inline]
pub(crate) fn count(host: &mut Counters, kind: Kind, sectors: Sectors, unit: Sectors, (touched, whole): (u64, u64)) {
    let around = if touched == whole { 0 } else { (touched * unit.0 - sectors.0) * Sectors::SIZE.0 };
    match kind {
        Kind::Read => {
            host.host_units_read += touched;
            host.bytes_read_around += around;
        }
        Kind::Write | Kind::WriteZeroes => {
            host.host_units_written += touched;
            host.units_written_in_part += touched - whole;
            host.bytes_written_around += around;
        }
        Kind::Trim => host.host_units_trimmed += whole,
        Kind::Flush | Kind::Remap => {}
    }
}

/// What members counted together, with the host's own units instead of theirs.
pub(crate) const fn instead(members: Counters, host: &Counters) -> Counters {
    Counters {
        host_units_written: host.host_units_written,
        host_units_read: host.host_units_read,
        host_units_trimmed: host.host_units_trimmed,
        units_written_in_part: host.units_written_in_part,
        bytes_written_around: host.bytes_written_around,
        bytes_read_around: host.bytes_read_around,
        ..members
    }
}
