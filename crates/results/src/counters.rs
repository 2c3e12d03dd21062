//! What is counted while a drive is used, and the write amplification that follows from it.

use std::ops::Sub;

use serde::{Deserialize, Serialize};

/// Counts since the end of preconditioning. A unit is a mapping unit: the page, unless the drive maps finer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Units that the host wrote.
    pub host_units_written: u64,
    /// Units that the host read.
    pub host_units_read: u64,
    /// Units among those read that held no data, so that no flash was touched.
    pub host_units_read_unmapped: u64,
    /// Units that the host gave up.
    pub host_units_trimmed: u64,
    /// Units programmed for host writes.
    pub programmed_host: u64,
    /// Units that garbage collection relocated.
    pub programmed_gc: u64,
    /// Units that wear leveling relocated.
    pub programmed_wear_leveling: u64,
    /// Units that the file system relocated when the drive shrank.
    pub programmed_file_system: u64,
    /// Units that scrubbing relocated.
    pub programmed_scrub: u64,
    /// Units of parity.
    pub programmed_parity: u64,
    /// Units programmed empty, because a page had to be closed before it was full.
    pub programmed_padding: u64,
    /// Program commands: one a flash page.
    pub program_operations: u64,
    /// Blocks that garbage collection erased.
    pub erases_gc: u64,
    /// Blocks that wear leveling erased.
    pub erases_wear_leveling: u64,
    /// Blocks that scrubbing erased.
    pub erases_scrub: u64,
    /// Blocks that garbage collection chose.
    pub gc_victims: u64,
    /// Valid units that those blocks held when chosen.
    pub gc_victim_valid_units: u64,
}

impl Counters {
    /// Units programmed, whatever the cause.
    pub const fn programmed(&self) -> u64 {
        self.programmed_host
            + self.programmed_gc
            + self.programmed_wear_leveling
            + self.programmed_file_system
            + self.programmed_scrub
            + self.programmed_parity
            + self.programmed_padding
    }

    /// Names and values in the order of the timeline's columns.
    pub(crate) const fn named(&self) -> [(&'static str, u64); 17] {
        [
            ("host_pages_written", self.host_units_written),
            ("host_pages_read", self.host_units_read),
            ("host_pages_read_unmapped", self.host_units_read_unmapped),
            ("host_pages_trimmed", self.host_units_trimmed),
            ("pages_programmed_host", self.programmed_host),
            ("pages_programmed_gc", self.programmed_gc),
            ("pages_programmed_wear_leveling", self.programmed_wear_leveling),
            ("pages_programmed_file_system", self.programmed_file_system),
            ("pages_programmed_scrub", self.programmed_scrub),
            ("pages_programmed_parity", self.programmed_parity),
            ("pages_programmed_padding", self.programmed_padding),
            ("program_operations", self.program_operations),
            ("blocks_erased_gc", self.erases_gc),
            ("blocks_erased_wear_leveling", self.erases_wear_leveling),
            ("blocks_erased_scrub", self.erases_scrub),
            ("gc_victims", self.gc_victims),
            ("gc_victim_valid_pages", self.gc_victim_valid_units),
        ]
    }

    /// The inverse of [`Counters::named`].
    pub(crate) const fn from_values(values: [u64; 17]) -> Self {
        Self {
            host_units_written: values[0],
            host_units_read: values[1],
            host_units_read_unmapped: values[2],
            host_units_trimmed: values[3],
            programmed_host: values[4],
            programmed_gc: values[5],
            programmed_wear_leveling: values[6],
            programmed_file_system: values[7],
            programmed_scrub: values[8],
            programmed_parity: values[9],
            programmed_padding: values[10],
            program_operations: values[11],
            erases_gc: values[12],
            erases_wear_leveling: values[13],
            erases_scrub: values[14],
            gc_victims: values[15],
            gc_victim_valid_units: values[16],
        }
    }
}

impl Sub for Counters {
    type Output = Self;

    /// What was counted between `earlier` and `self`. `earlier` must not be later.
    fn sub(self, earlier: Self) -> Self {
        let (now, before) = (self.named(), earlier.named());
        Self::from_values(std::array::from_fn(|index| now[index].1 - before[index].1))
    }
}

/// Units programmed per host unit, by cause. Null where the host wrote nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WriteAmplification {
    /// (host + garbage collection) / host: starts at 1.
    pub gc: Option<f64>,
    /// Wear leveling / host: starts at 0.
    pub wear_leveling: Option<f64>,
    /// Every cause / host, padding and the file system's relocations included.
    pub total: Option<f64>,
}

/// The write amplification of what `counters` counted.
pub fn write_amplification(counters: &Counters) -> WriteAmplification {
    let per_host = |units: u64| (counters.programmed_host > 0).then(|| units as f64 / counters.programmed_host as f64);
    WriteAmplification {
        gc: per_host(counters.programmed_host + counters.programmed_gc),
        wear_leveling: per_host(counters.programmed_wear_leveling),
        total: per_host(counters.programmed()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn write_amplification_counts_each_cause_once() {
        let none = WriteAmplification::default();
        let table = [
            // host, gc, wear leveling, file system, padding -> gc, wear leveling, total
            ([0, 0, 0, 0, 0], none),
            ([0, 5, 0, 0, 0], none),
            ([10, 0, 0, 0, 0], some(1.0, 0.0, 1.0)),
            ([10, 5, 0, 0, 0], some(1.5, 0.0, 1.5)),
            ([10, 5, 2, 1, 4], some(1.5, 0.2, 2.2)),
        ];
        for (programmed, expected) in table {
            let counters = Counters {
                programmed_host: programmed[0],
                programmed_gc: programmed[1],
                programmed_wear_leveling: programmed[2],
                programmed_file_system: programmed[3],
                programmed_padding: programmed[4],
                ..Counters::default()
            };
            assert_eq!(write_amplification(&counters), expected, "{programmed:?}");
        }
    }

    fn some(gc: f64, wear_leveling: f64, total: f64) -> WriteAmplification {
        WriteAmplification { gc: Some(gc), wear_leveling: Some(wear_leveling), total: Some(total) }
    }

    #[test]
    fn a_difference_takes_every_counter_apart() {
        let later = Counters::from_values(std::array::from_fn(|index| 100 + 3 * index as u64));
        let earlier = Counters::from_values(std::array::from_fn(|index| 90 + index as u64));
        let expected = Counters::from_values(std::array::from_fn(|index| 10 + 2 * index as u64));
        assert_eq!(later - earlier, expected);
    }
}
