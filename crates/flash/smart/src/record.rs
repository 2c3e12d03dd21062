//! A drive's health, as plain data.

use serde::{Deserialize, Serialize};

use crate::assumed::{AVAILABLE_SPARE_THRESHOLD_PERCENT, TEMPERATURE_CELSIUS};

/// The state of a drive at one moment. Counts are since it was new.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HealthRecord {
    /// Bytes exported when new.
    pub capacity_initial_bytes: u64,
    /// Bytes exported now.
    pub capacity_bytes: u64,
    /// Bytes of a logical block, which is a sector of the drive.
    pub logical_block_bytes: u64,
    /// Of these, bytes that hold data of the host.
    pub mapped_bytes: u64,
    /// Bytes that the host read, including those that held nothing.
    pub host_bytes_read: u64,
    /// Bytes that the host wrote.
    pub host_bytes_written: u64,
    /// Read commands of the host. A drive that ages gets mapping units instead of commands: each unit counts as a command.
    pub host_reads: u64,
    /// Write commands of the host, counted in the same way.
    pub host_writes: u64,
    /// Host reads that failed.
    pub media_errors: u64,
    /// Bytes read from flash for any cause: mapped units that the host read, units that were relocated, and pages that were
    /// scrubbed. Re-reads and reads of a stripe's other members are not included.
    pub flash_bytes_read: u64,
    /// Bytes programmed into flash for any cause.
    pub flash_bytes_programmed: u64,
    /// Page reads for `flash_bytes_read`. Each mapping unit counts as one, so that the number is an upper bound if several units
    /// of a page are read at once.
    pub flash_pages_read: u64,
    /// Flash pages programmed.
    pub flash_pages_programmed: u64,
    /// Flash blocks erased.
    pub flash_blocks_erased: u64,
    /// Least erases of a flash block.
    pub erase_count_min: u32,
    /// Mean erases of a flash block.
    pub erase_count_mean: f64,
    /// Most erases of a flash block.
    pub erase_count_max: u32,
    /// Flash blocks that were bad from the factory, including those that left service because of them.
    pub blocks_bad_factory: u32,
    /// Flash blocks that left service later.
    pub blocks_bad_grown: u32,
    /// Flash blocks erased because their data were refreshed.
    pub blocks_refreshed: u64,
    /// Most re-reads of a host read, beyond which blocks retire; `None`: as many as error correction allows.
    #[serde(default)]
    pub rereads_max: Option<u32>,
    /// Percentage of the rated wear that is used, beyond 100 if the drive outlives it; `None` if no block ever retires.
    pub percentage_used: Option<f64>,
    /// Percentage of the spare blocks of a new drive that are left: blocks in service beyond what the exported capacity takes.
    pub available_spare_percent: f64,
    /// Percentage of the present spare blocks that are erased and ready, at most 100.
    pub free_blocks_percent: f64,
    /// Bytes that the flash is rated for, with all blocks at their rated erases; `None` if no block ever retires.
    pub endurance_estimate_bytes: Option<u64>,
    /// Whether data were lost inside the drive, so that its contents are unreliable.
    pub is_unreliable: bool,
    /// Whether it takes no more writes.
    pub is_read_only: bool,
    /// Page reads that needed re-reads and were corrected.
    pub reads_corrected: u64,
    /// Page reads, for the host and for relocations, that no re-read, correction or redundancy could correct.
    pub reads_uncorrectable: u64,
    /// Pages that redundancy inside the drive was to reconstruct, whether it could or not.
    pub recoveries: u64,
    /// Degrees Celsius of a drive with heat of its own; for others see [`crate::assumed`].
    #[serde(default)]
    pub celsius: Option<f64>,
    /// Highest temperature since its clock began.
    #[serde(default)]
    pub celsius_max: Option<f64>,
    /// Number of times that it was throttled for its heat since its clock began.
    #[serde(default)]
    pub throttles: u32,
    /// Seconds for which it was throttled.
    #[serde(default)]
    pub throttled_seconds: f64,
    /// Dies of the drive.
    pub dies: u32,
    /// Dies that are lost.
    pub dies_offline: u32,
    /// Days since the drive was new.
    pub day: f64,
    /// Of these days, hours under power.
    pub power_on_hours: f64,
    /// Number of times that it was switched on.
    pub power_cycles: u64,
    /// Number of times that power failed without notice.
    pub unsafe_shutdowns: u64,
    /// Energy of the flash's reads, programs and erases, in joules: see [`crate::energy`]. Controller, DRAM and idle time are not
    /// included.
    pub flash_energy_joules: f64,
}

impl HealthRecord {
    /// Bytes programmed for each byte that the host wrote; `None` before it wrote any. Relocation by a file system counts as
    /// work of the flash, not as writes of the host.
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

    /// Whole percent of rated wear, rounded down: 100 when all of it is used, 255 for more than 254. 0 if nothing is rated.
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

/// Rounded down; 255 for all larger values, as a cast saturates.
pub(crate) fn percent(value: f64) -> u8 {
    value as u8
}
