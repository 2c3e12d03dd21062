//! NVMe's log page 09h.

use crate::assumed::{AVAILABLE_SPARE_THRESHOLD_PERCENT, ERROR_LOG_ENTRIES};
use crate::{HealthRecord, LogError};

/// Bits that this page shares with log 02h: spare, reliability, read-only. The temperature bit belongs to the controller.
const WARNINGS: u8 = 0b1101;

/// Bytes of a unit of this page, which is not that of log 02h.
const UNIT_BYTES: u64 = 1_000_000_000;

log_page! {
    /// Endurance Group Information (09h) of the NVM Express Base Specification. A drive is one group.
    EnduranceGroupLog {
        /// Bits: 0 spare low, 2 reliability degraded, 3 read-only.
        critical_warning: u8 = 0..1,
        /// Bit 0: the group is rotational.
        endurance_group_features: u8 = 1..2,
        /// Percent, 0 to 100.
        available_spare: u8 = 3..4,
        /// Percent.
        available_spare_threshold: u8 = 4..5,
        /// Percent of the rated life, which may pass 100; 255 for all above 254.
        percentage_used: u8 = 5..6,
        /// The domain of the group.
        domain_identifier: u16 = 6..8,
        /// Billions of bytes that may be written over the life at a write amplification of 1, rounded up; 0 if it is not
        /// reported.
        endurance_estimate: u128 = 32..48,
        /// Billions of bytes, rounded up.
        data_units_read: u128 = 48..64,
        /// Billions of bytes that the host wrote, rounded up.
        data_units_written: u128 = 64..80,
        /// Billions of bytes that were programmed for any cause, rounded up.
        media_units_written: u128 = 80..96,
        /// Commands.
        host_read_commands: u128 = 96..112,
        /// Commands.
        host_write_commands: u128 = 112..128,
        /// Number of times that data could not be read correctly.
        media_and_data_integrity_errors: u128 = 128..144,
        /// Entries of the error log over the drive's life.
        error_information_log_entries: u128 = 144..160,
        /// Bytes.
        total_endurance_group_capacity: u128 = 160..176,
        /// Bytes that belong to no namespace.
        unallocated_endurance_group_capacity: u128 = 176..192,
    }
}

impl EnduranceGroupLog {
    /// The page of a drive with this health record.
    pub fn of(record: &HealthRecord) -> Self {
        let units = |bytes: u64| u128::from(bytes.div_ceil(UNIT_BYTES));
        Self {
            critical_warning: record.critical_warning() & WARNINGS,
            available_spare: record.available_spare(),
            available_spare_threshold: AVAILABLE_SPARE_THRESHOLD_PERCENT,
            percentage_used: record.percentage_used(),
            endurance_estimate: units(record.endurance_estimate_bytes.unwrap_or(0)),
            data_units_read: units(record.host_bytes_read),
            data_units_written: units(record.host_bytes_written),
            media_units_written: units(record.flash_bytes_programmed),
            host_read_commands: record.host_reads.into(),
            host_write_commands: record.host_writes.into(),
            media_and_data_integrity_errors: record.media_errors.into(),
            error_information_log_entries: ERROR_LOG_ENTRIES.into(),
            total_endurance_group_capacity: record.capacity_bytes.into(),
            ..Self::default()
        }
    }

    /// Decodes the page.
    ///
    /// # Errors
    /// The number of bytes is not that of a page.
    pub fn decode(bytes: &[u8]) -> Result<Self, LogError> {
        Self::read(bytes)
    }
}
