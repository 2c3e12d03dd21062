//! REMAP: data get another address, and nothing is written.

use wane_nand::Media;
use wane_units::Lpn;

use crate::engine::{Ftl, UNMAPPED};

/// A REMAP that is refused. Nothing of it was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RemapError {
    /// It reaches beyond what is exported.
    #[error("units {first} to {last} are not all exported: the drive exports {exported}")]
    OutOfRange {
        /// The first unit of the range.
        first: u64,
        /// Its last unit.
        last: u64,
        /// Units exported now.
        exported: u32,
    },
    /// Source and destination share units.
    #[error("the source, units {from} to {from_last}, and the destination, units {to} to {to_last}, overlap")]
    Overlap {
        /// First unit of the source.
        from: u64,
        /// Its last unit.
        from_last: u64,
        /// First unit of the destination.
        to: u64,
        /// Its last unit.
        to_last: u64,
    },
    /// The destination is shorter than the source.
    #[error("the destination has {to_units} units and the source {from_units}; it needs at least as many")]
    Short {
        /// Units of the destination.
        to_units: u32,
        /// Units of the source.
        from_units: u32,
    },
}

impl<M: Media> Ftl<M> {
    /// Gives the data of `from_units` units from `from` on the addresses from `to` on, in order. What the destination held is gone, and so is the
    /// source; a source unit that holds nothing leaves its destination without data, and so do the `to_units` beyond the source's. Returns how
    /// many units with data moved.
    ///
    /// Source: REMAP of the capacity-variant SSD (001, section 3.1.3). Its artifact leaks what the destination held.
    ///
    /// # Errors
    /// A range is not exported, the two overlap, or the destination is the shorter one.
    pub fn remap(&mut self, to: Lpn, from: Lpn, to_units: u32, from_units: u32) -> Result<u32, RemapError> {
        self.check_remap(to, from, to_units, from_units)?;
        let mut moved = 0;
        for offset in 0..from_units {
            let (source, target) = (from.0 + offset, to.0 + offset);
            self.unmap(target);
            self.lost.remove(&target);
            let unit = std::mem::replace(&mut self.map[source as usize], UNMAPPED);
            if unit == UNMAPPED {
                continue;
            }
            debug_assert_eq!(self.reverse[unit as usize], source, "the reverse map leads back to the source");
            self.map[target as usize] = unit;
            self.reverse[unit as usize] = target;
            if self.lost.remove(&source) {
                self.lost.insert(target);
            }
            moved += 1;
        }
        for beyond in to.0 + from_units..to.0 + to_units {
            self.unmap(beyond);
            self.lost.remove(&beyond);
        }
        self.counters.host_units_remapped += u64::from(moved);
        self.gave_up();
        Ok(moved)
    }

    fn check_remap(&self, to: Lpn, from: Lpn, to_units: u32, from_units: u32) -> Result<(), RemapError> {
        if to_units < from_units {
            return Err(RemapError::Short { to_units, from_units });
        }
        let range = |first: Lpn, units: u32| (u64::from(first.0), u64::from(first.0) + u64::from(units));
        let ((to, to_end), (from, from_end)) = (range(to, to_units), range(from, from_units));
        for (first, end) in [(to, to_end), (from, from_end)] {
            if end > u64::from(self.exported) {
                return Err(RemapError::OutOfRange { first, last: end.max(first + 1) - 1, exported: self.exported });
            }
        }
        if from_units > 0 && from < to_end && to < from_end {
            return Err(RemapError::Overlap { from, from_last: from_end - 1, to, to_last: to_end - 1 });
        }
        Ok(())
    }
}
