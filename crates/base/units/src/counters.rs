//! The counters of a drive, declared in one list. The firmware adds to them; results name and keep them. A unit is a mapping unit: the
//! page, unless the drive maps smaller units.

use std::ops::Sub;

/// Declares the counters once: their fields, and from the same list their names in results, their values in order, and the
/// difference of two.
macro_rules! counters {
    ($($(#[$doc:meta])* $field:ident = $name:literal,)*) => {
        /// Monotone counters since the drive was new.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        pub struct Counters {
            $($(#[$doc])* pub $field: u64,)*
        }

        impl Counters {
            /// The name of each counter in results, where a mapping unit is called a page. In the order of the fields.
            pub const NAMES: &'static [&'static str] = &[$($name),*];

            /// The value of each counter, in the order of [`Counters::NAMES`].
            pub fn values(&self) -> impl Iterator<Item = u64> {
                [$(self.$field),*].into_iter()
            }

            /// The inverse of [`Counters::values`]: counters without a value are 0.
            pub fn from_values(values: impl IntoIterator<Item = u64>) -> Self {
                let mut values = values.into_iter();
                Self { $($field: values.next().unwrap_or(0)),* }
            }
        }
    };
}

counters! {
    /// Units written by the host.
    host_units_written = "host_pages_written",
    /// Units read by the host, unmapped ones included.
    host_units_read = "host_pages_read",
    /// Of these, units that held nothing.
    host_units_read_unmapped = "host_pages_read_unmapped",
    /// Mapped units that the host trimmed.
    host_units_trimmed = "host_pages_trimmed",
    /// Mapped units that the host gave another address.
    host_units_remapped = "host_pages_remapped",
    /// Units programmed for the host.
    programmed_host = "pages_programmed_host",
    /// Units relocated by garbage collection.
    programmed_gc = "pages_programmed_gc",
    /// Units relocated by wear leveling.
    programmed_wear_leveling = "pages_programmed_wear_leveling",
    /// Units relocated by the file system.
    programmed_file_system = "pages_programmed_file_system",
    /// Units relocated by scrubbing.
    programmed_scrub = "pages_programmed_scrub",
    /// Units of parity, programmed for the first time or relocated with the block they lie in.
    programmed_parity = "pages_programmed_parity",
    /// Units of pages that hold parts of the map, or trims, for a recovery.
    programmed_metadata = "pages_programmed_metadata",
    /// Units of padding in pages that closed before they were full.
    programmed_padding = "pages_programmed_padding",
    /// Flash pages programmed.
    program_operations = "program_operations",
    /// Flash blocks erased by garbage collection.
    erases_gc = "blocks_erased_gc",
    /// Flash blocks erased by wear leveling.
    erases_wear_leveling = "blocks_erased_wear_leveling",
    /// Flash blocks erased by scrubbing.
    erases_scrub = "blocks_erased_scrub",
    /// Flash blocks of the metadata area that were erased.
    erases_metadata = "blocks_erased_metadata",
    /// Pages that scrubbing read to check their condition.
    scrub_checks = "scrub_checks",
    /// Pages that error correction could not correct and redundancy reconstructed.
    recoveries = "recoveries",
    /// Pages that redundancy could not reconstruct either, because another page of the stripe failed.
    recovery_failures = "recovery_failures",
    /// Host reads of a page that was lost.
    host_reads_uncorrectable = "host_reads_uncorrectable",
    /// Relocation reads of a page that was lost.
    relocation_reads_uncorrectable = "relocation_reads_uncorrectable",
    /// Stripes that got no parity because no die had room for it.
    stripes_unprotected = "stripes_unprotected",
    /// Blocks that garbage collection reclaimed.
    gc_victims = "gc_victims",
    /// Valid units in these blocks.
    gc_victim_valid_units = "gc_victim_valid_pages",
    /// Answers of policies that the mechanism refused.
    policy_refusals = "policy_refusals",
    /// Units that the host wrote only in part. The drive reads what such a unit held, and writes it whole.
    units_written_in_part = "host_pages_written_in_part",
    /// Units that were read so that they could be written whole.
    units_read_to_modify = "host_pages_read_to_modify",
    /// Bytes of the units written by the host that it did not write: the rest of those written in part.
    bytes_written_around = "host_bytes_written_around",
    /// Bytes of the units read by the host that it did not ask for.
    bytes_read_around = "host_bytes_read_around",
}

impl Sub for Counters {
    type Output = Self;

    /// The counts between `earlier` and `self`.
    ///
    /// # Panics
    /// `earlier` is later.
    fn sub(self, earlier: Self) -> Self {
        let between = |(now, before): (u64, u64)| now.checked_sub(before).expect("counters only grow");
        Self::from_values(self.values().zip(earlier.values()).map(between))
    }
}

impl Counters {
    /// Each counter's name in results and its value.
    pub fn named(&self) -> impl Iterator<Item = (&'static str, u64)> {
        Self::NAMES.iter().copied().zip(self.values())
    }

    /// Flash blocks erased for any cause.
    pub fn erases_total(&self) -> u64 {
        self.erases_gc + self.erases_wear_leveling + self.erases_scrub + self.erases_metadata
    }

    /// Bytes that the host wrote, with units of `unit_bytes`.
    pub const fn host_bytes_written(&self, unit_bytes: u64) -> u64 {
        (self.host_units_written * unit_bytes).saturating_sub(self.bytes_written_around)
    }

    /// Bytes that the host read, with units of `unit_bytes`.
    pub const fn host_bytes_read(&self, unit_bytes: u64) -> u64 {
        (self.host_units_read * unit_bytes).saturating_sub(self.bytes_read_around)
    }

    /// Whole units that the host's written bytes would fill: the measure of drive writes.
    #[inline(always)]
    pub const fn host_units_filled(&self, unit_bytes: u64) -> u64 {
        match self.bytes_written_around {
            0 => self.host_units_written,
            around => self.host_units_written.saturating_sub(around.div_ceil(unit_bytes)),
        }
    }

    /// Units programmed for any cause.
    pub fn programmed_total(&self) -> u64 {
        self.programmed_host
            + self.programmed_gc
            + self.programmed_wear_leveling
            + self.programmed_file_system
            + self.programmed_scrub
            + self.programmed_parity
            + self.programmed_metadata
            + self.programmed_padding
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn values_names_and_differences_follow_the_declaration() {
        let count = Counters::NAMES.len() as u64;
        let later = Counters::from_values((0..count).map(|index| 100 + 3 * index));
        let earlier = Counters::from_values((0..count).map(|index| 90 + index));
        assert_eq!(
            (later - earlier).values().collect::<Vec<_>>(),
            (0..count).map(|index| 10 + 2 * index).collect::<Vec<_>>()
        );
        assert_eq!(Counters::NAMES.iter().collect::<BTreeSet<_>>().len() as u64, count, "names differ");
        let counters = Counters { scrub_checks: 7, policy_refusals: 9, ..Counters::default() };
        let counted: Vec<_> = counters.named().filter(|(_, value)| *value > 0).collect();
        assert_eq!(counted, [("scrub_checks", 7), ("policy_refusals", 9)]);
    }
}
