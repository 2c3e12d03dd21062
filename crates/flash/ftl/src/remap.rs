//! REMAP: gives data another address without writing them.

use wane_nand::Media;
use wane_units::Lpn;

use crate::engine::{Ftl, UNMAPPED};
use crate::persist::Event;

/// Why a REMAP is refused. Nothing of it was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RemapError {
    /// A range reaches beyond the exported units.
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
    /// The remap log has no room.
    #[error("the remap log holds {entries} entries of at most {entries_max}, and the command needs {needed} more")]
    LogFull {
        /// Entries in it, after cleaning.
        entries: usize,
        /// Entries that fit.
        entries_max: usize,
        /// Entries that the command needs.
        needed: usize,
    },
}

impl<M: Media> Ftl<M> {
    /// Gives the data of `from_units` units from `from` on the addresses from `to` on, in order. The source and the old data of all `to_units`
    /// units of the destination are unmapped. A destination unit whose source holds nothing, or that lies beyond the source's length, stays
    /// without data. Returns the number of units with data that moved.
    ///
    /// After a power cut each unit is wholly before the command or wholly after it: where the destination does not have the data, the source has
    /// what it had, an earlier durable version at least.
    ///
    /// Source: REMAP of the capacity-variant SSD (001, section 3.1.3). Its artifact leaks what the destination held.
    ///
    /// # Errors
    /// A range is not exported, the two overlap, or the destination is the shorter one.
    pub fn remap(&mut self, to: Lpn, from: Lpn, to_units: u32, from_units: u32) -> Result<u32, RemapError> {
        self.check_remap(to, from, to_units, from_units)?;
        if !self.is_whole() && !self.load_for_call() {
            return Ok(0);
        }
        self.log_room(from, from_units)?;
        self.harden_units(from, from_units);
        self.event(Event::Nvram);
        let (mut moved, mut pairs) = (0, Vec::new());
        let sequence = self.persist.as_mut().map_or(0, |persist| persist.oob.take());
        for offset in 0..from_units {
            let (source, target) = (from.0 + offset, to.0 + offset);
            self.unmap(target);
            self.remap_rescued(source, target);
            self.lost.remove(&target);
            let unit = std::mem::replace(&mut self.map[source as usize], UNMAPPED);
            if unit == UNMAPPED {
                self.note_trimmed(target..target + 1, true);
                continue;
            }
            if let Some(persist) = &mut self.persist {
                persist.nvram.remaps.insert(unit, target, sequence);
            }
            debug_assert_eq!(self.reverse[unit as usize], source, "the reverse map leads back to the source");
            self.map[target as usize] = unit;
            self.reverse[unit as usize] = target;
            if self.lost.remove(&source) {
                self.note_lost(target, true);
                self.lost.insert(target);
            }
            moved += 1;
            if self.flight.is_some() {
                pairs.push((source, target));
            }
        }
        if moved > 0 {
            self.note_trimmed(from.0..from.0 + from_units, true);
            self.note_remapped(&pairs, sequence);
        }
        let beyond = to.0 + from_units..to.0 + to_units;
        for unit in beyond.clone() {
            self.unmap(unit);
            self.drop_rescued(|rescued| rescued.0 == unit);
            self.lost.remove(&unit);
        }
        if !beyond.is_empty() {
            self.note_trimmed(beyond, true);
        }
        self.counters.host_units_remapped += u64::from(moved);
        self.gave_up();
        Ok(moved)
    }

    /// Gives another address to a unit that has been in the controller's buffers since a recovery.
    fn remap_rescued(&mut self, source: u32, target: u32) {
        self.drop_rescued(|rescued| rescued.0 == target);
        self.rescued
            .iter_mut()
            .filter(|rescued| rescued.logical.0 == source)
            .for_each(|rescued| rescued.logical = Lpn(target));
    }

    /// Makes room in the remap log for units that will be remapped.
    fn log_room(&mut self, from: Lpn, from_units: u32) -> Result<(), RemapError> {
        let sources = |ftl: &Self| -> Vec<u32> {
            let mapped = Lpn::all(from.0..from.0 + from_units).filter_map(|logical| ftl.lookup(logical));
            mapped.map(|unit| unit.0).collect()
        };
        if self.persist.is_none() || self.make_log_room(sources) {
            return Ok(());
        }
        let needed = sources(self).len();
        let (entries, entries_max) = self.persist.as_ref().map_or((0, 0), |persist| persist.remap_log());
        Err(RemapError::LogFull { entries, entries_max, needed })
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
