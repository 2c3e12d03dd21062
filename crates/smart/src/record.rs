//! What is known of a drive's health, as plain data.

use serde::{Deserialize, Serialize};

use crate::assumed::{AVAILABLE_SPARE_THRESHOLD_PERCENT, TEMPERATURE_CELSIUS};

/// A picture of a drive at one moment. Counts are since it was new.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HealthRecord {
    /// Bytes exported when new.
    pub capacity_initial_bytes: u64,
    /// Bytes exported now.
    pub capacity_bytes: u64,
    /// Bytes of a logical block, which is a sector of the drive.
    pub logical_block_bytes: u64,
    /// Bytes of these that hold data of the host.
    pub mapped_bytes: u64,
    /// Bytes that the host read, those that held nothing included.
    pub host_bytes_read: u64,
    /// Bytes that the host wrote.
    pub host_bytes_written: u64,
    /// Read commands of the host. A drive that ages is handed mapping units and no commands: each unit counts as a command of its own.
    pub host_reads: u64,
    /// Write commands of the host, counted likewise.
    pub host_writes: u64,
    /// Host reads that failed.
    pub media_errors: u64,
    /// Bytes read from flash for any cause: mapped units that the host read, units that were relocated, and pages that were scrubbed. Re-reads
    /// and reads of a stripe's other members are not among them.
    pub flash_bytes_read: u64,
    /// Bytes programmed into flash for any cause.
    pub flash_bytes_programmed: u64,
    /// Page reads behind `flash_bytes_read`. Each mapping unit counts as one, so that they are an upper bound where several units of a page are
    /// read at once.
    pub flash_pages_read: u64,
    /// Flash pages programmed.
    pub flash_pages_programmed: u64,
    /// Flash blocks erased.
    pub flash_blocks_erased: u64,
    /// Least erases of a flash block.
    pub erase_count_min: u32,
    /// Mean.
    pub erase_count_mean: f64,
    /// Most.
    pub erase_count_max: u32,
    /// Flash blocks that were bad from the factory, with those that left service with them.
    pub blocks_bad_factory: u32,
    /// Flash blocks that left service since.
    pub blocks_bad_grown: u32,
    /// Flash blocks erased because their data were refreshed.
    pub blocks_refreshed: u64,
    /// Percentage of the rated wear that is used, beyond 100 where the drive outlives it; none where no block ever retires.
    pub percentage_used: Option<f64>,
    /// Percentage of the spare blocks of a new drive that are left: blocks in service beyond what the exported capacity takes.
    pub available_spare_percent: f64,
    /// Percentage of the present spare blocks that are erased and ready, at most 100.
    pub free_blocks_percent: f64,
    /// Bytes that the flash is rated to take, all blocks to their rated erases; none where no block ever retires.
    pub endurance_estimate_bytes: Option<u64>,
    /// Whether data were lost inside the drive, so that what it holds cannot be relied on.
    pub is_unreliable: bool,
    /// Whether it takes no more writes.
    pub is_read_only: bool,
    /// Page reads that needed re-reads and were corrected.
    pub reads_corrected: u64,
    /// Page reads that no re-read, correction or redundancy helped, for the host and for relocations.
    pub reads_uncorrectable: u64,
    /// Pages that redundancy inside the drive was asked to give back, whether it could or not.
    pub recoveries: u64,
    /// Degrees Celsius of a drive that has heat of its own; of others [`crate::assumed`] has them.
    #[serde(default)]
    pub celsius: Option<f64>,
    /// The most of them since its clock began.
    #[serde(default)]
    pub celsius_max: Option<f64>,
    /// How often it was throttled for its heat since then.
    #[serde(default)]
    pub throttles: u32,
    /// Seconds that it was.
    #[serde(default)]
    pub throttled_seconds: f64,
    /// Dies of the drive.
    pub dies: u32,
    /// Dies that are lost.
    pub dies_offline: u32,
    /// Days since the drive was new.
    pub day: f64,
    /// Hours of these under power.
    pub power_on_hours: f64,
    /// How often it was switched on.
    pub power_cycles: u64,
    /// How often power failed without a word.
    pub unsafe_shutdowns: u64,
    /// Energy of the flash's reads, programs and erases, in joules: see [`crate::energy`]. Controller, DRAM and idle time are not in it.
    pub flash_energy_joules: f64,
}

impl HealthRecord {
    /// Bytes programmed for each that the host wrote; none before it wrote any. Relocation by a file system counts as work of
    /// the flash, as the drive cannot tell whose it is.
    pub fn write_amplification(&self) -> Option<f64> {
        (self.host_bytes_written > 0).then(|| self.flash_bytes_programmed as f64 / self.host_bytes_written as f64)
    }

    /// Bits of NVMe's critical warning: 0 spare below its threshold, 2 reliability degraded, 3 read-only.
    pub fn critical_warning(&self) -> u8 {
        let low = self.available_spare() < AVAILABLE_SPARE_THRESHOLD_PERCENT;
        u8::from(low) | u8::from(self.is_unreliable) << 2 | u8::from(self.is_read_only) << 3
    }

    /// Whole percent of spare, 0 to 100, rounded down.
    pub fn available_spare(&self) -> u8 {
        percent(self.available_spare_percent).min(100)
    }

    /// Whole percent of rated wear, rounded down: 100 is reached when all of it is used, more than 254 is told as 255. 0 where nothing
    /// is rated.
    pub fn percentage_used(&self) -> u8 {
        percent(self.percentage_used.unwrap_or(0.0))
    }

    /// Whole degrees Celsius, rounded.
    pub fn whole_celsius(&self) -> i16 {
        self.celsius.map_or(TEMPERATURE_CELSIUS.into(), |celsius| celsius.round() as i16)
    }

    /// Whole hours under power.
    pub fn power_on_hours(&self) -> u64 {
        self.power_on_hours as u64
    }

    /// Energy of the flash in watt-hours.
    pub fn flash_energy_watt_hours(&self) -> f64 {
        self.flash_energy_joules / crate::energy::JOULES_PER_WATT_HOUR
    }
}

/// Rounded down; 255 for all that does not fit, as a cast saturates.
pub(crate) fn percent(value: f64) -> u8 {
    value as u8
}
