//! What a drive says of its own health, in the terms of SMART and of the NVMe health log.

use wane_ftl::EndOfLife;

use crate::Drive;

/// Plain data: a picture of the drive at one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Smart {
    /// Bytes exported when new.
    pub capacity_initial_bytes: u64,
    /// Bytes exported now.
    pub capacity_bytes: u64,
    /// Bytes that the host wrote.
    pub host_bytes_written: u64,
    /// Bytes that the host read.
    pub host_bytes_read: u64,
    /// Bytes programmed into flash for any cause.
    pub flash_bytes_programmed: u64,
    /// Flash blocks erased since the drive was new, for any cause.
    pub blocks_erased: u64,
    /// Least erases of a flash block.
    pub erase_count_min: u32,
    /// Mean.
    pub erase_count_mean: f64,
    /// Most.
    pub erase_count_max: u32,
    /// Used part of the rated wear, in percent, beyond 100 where the drive outlives it; none where no block ever retires.
    pub percentage_used: Option<f64>,
    /// Flash blocks out of service.
    pub blocks_retired: u32,
    /// Host reads that failed.
    pub media_errors: u64,
    /// Pages that redundancy inside the drive gave back.
    pub recoveries: u64,
    /// Days since the flash was new.
    pub day: f64,
    /// Why the drive takes no more writes.
    pub end_of_life: Option<EndOfLife>,
}

impl Smart {
    /// Bytes programmed for each that the host wrote; none before it wrote any. Relocation by a file system counts as work of
    /// the flash, as the drive cannot tell whose it is.
    pub fn write_amplification(&self) -> Option<f64> {
        (self.host_bytes_written > 0).then(|| self.flash_bytes_programmed as f64 / self.host_bytes_written as f64)
    }
}

impl Drive {
    /// How the drive fares.
    pub fn smart(&self) -> Smart {
        let (counters, unit) = (self.counters(), u64::from(self.unit_bytes()));
        let counts = self.erase_counts();
        let sum: f64 = counts.iter().map(|count| f64::from(*count)).sum();
        Smart {
            capacity_initial_bytes: u64::from(self.logical_initial()) * unit,
            capacity_bytes: u64::from(self.exported()) * unit,
            host_bytes_written: counters.host_units_written * unit,
            host_bytes_read: counters.host_units_read * unit,
            flash_bytes_programmed: counters.programmed_total() * unit,
            blocks_erased: counters.erases_total(),
            erase_count_min: counts.iter().copied().min().unwrap_or(0),
            erase_count_mean: sum / counts.len() as f64,
            erase_count_max: counts.iter().copied().max().unwrap_or(0),
            percentage_used: self.life_used().map(|used| 100.0 * used),
            blocks_retired: self.retired_blocks() * self.layout().width(),
            media_errors: counters.host_reads_uncorrectable,
            recoveries: counters.recoveries,
            day: self.day(),
            end_of_life: self.end_of_life(),
        }
    }
}
