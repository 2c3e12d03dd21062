//! Why a page is programmed, and which counter counts it.

use wane_nand::Media;
use wane_units::Counters;

use crate::engine::Ftl;

/// Why a page is programmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The host wrote it.
    Host,
    /// Garbage collection relocated it.
    GarbageCollection,
    /// Wear leveling relocated it.
    WearLeveling,
    /// The file system relocated it out of given-up space.
    FileSystem,
    /// Scrubbing relocated it.
    Scrub,
    /// It protects other pages.
    Parity,
    /// It holds part of the map, or trims, for a recovery.
    Metadata,
}

/// Counts units programmed.
pub(crate) trait CountPrograms {
    /// Adds `units` programmed units for this cause.
    fn programmed(&mut self, cause: Cause, units: u64);
}

impl CountPrograms for Counters {
    #[inline(always)]
    fn programmed(&mut self, cause: Cause, units: u64) {
        *match cause {
            Cause::Host => &mut self.programmed_host,
            Cause::GarbageCollection => &mut self.programmed_gc,
            Cause::WearLeveling => &mut self.programmed_wear_leveling,
            Cause::FileSystem => &mut self.programmed_file_system,
            Cause::Scrub => &mut self.programmed_scrub,
            Cause::Parity => &mut self.programmed_parity,
            Cause::Metadata => &mut self.programmed_metadata,
        } += units;
    }
}

impl<M: Media> Ftl<M> {
    /// Counts reads of units that the host knows to hold nothing.
    pub fn read_unmapped(&mut self, units: u64) {
        self.counters.host_units_read += units;
        self.counters.host_units_read_unmapped += units;
    }

    /// Counts units that the host wrote in part, and the bytes of them that it did not write.
    pub fn count_written_in_part(&mut self, units: u64, bytes_around: u64) {
        self.counters.units_written_in_part += units;
        self.counters.bytes_written_around += bytes_around;
    }

    /// Counts bytes of units read that the host did not ask for.
    pub fn count_read_around(&mut self, bytes: u64) {
        self.counters.bytes_read_around += bytes;
    }
}
