//! NVMe's log page 02h.

use crate::assumed::{
    AVAILABLE_SPARE_THRESHOLD_PERCENT, CONTROLLER_BUSY_MINUTES, ERROR_LOG_ENTRIES, OVERHEATED_MINUTES,
};
use crate::{HealthRecord, LogError};

/// 0 degrees Celsius, in whole Kelvin as NVMe counts.
const ZERO_CELSIUS_KELVIN: u16 = 273;

/// Bytes of a data unit: 1000 times 512.
const DATA_UNIT_BYTES: u64 = 512_000;

log_page! {
    /// SMART / Health Information (02h) of the NVM Express Base Specification. Energy and power were added in its later versions.
    HealthLog {
        /// Bits: 0 spare low, 1 temperature, 2 reliability degraded, 3 read-only, 4 backup of volatile memory failed, 5 PMR unreliable.
        critical_warning: u8 = 0..1,
        /// Kelvin.
        composite_temperature: u16 = 1..3,
        /// Percent, 0 to 100.
        available_spare: u8 = 3..4,
        /// Percent.
        available_spare_threshold: u8 = 4..5,
        /// Percent of the rated life, which may pass 100; 255 for all above 254.
        percentage_used: u8 = 5..6,
        /// Warning bits of all endurance groups together.
        endurance_group_critical_warning_summary: u8 = 6..7,
        /// Thousands of 512 bytes, rounded up.
        data_units_read: u128 = 32..48,
        /// Thousands of 512 bytes, rounded up.
        data_units_written: u128 = 48..64,
        /// Commands.
        host_read_commands: u128 = 64..80,
        /// Commands.
        host_write_commands: u128 = 80..96,
        /// Minutes.
        controller_busy_time: u128 = 96..112,
        /// Number of times that it was switched on.
        power_cycles: u128 = 112..128,
        /// Hours.
        power_on_hours: u128 = 128..144,
        /// Losses of power without a shutdown.
        unsafe_shutdowns: u128 = 144..160,
        /// Number of times that data could not be read correctly.
        media_and_data_integrity_errors: u128 = 160..176,
        /// Entries of the error log over the drive's life.
        error_information_log_entries: u128 = 176..192,
        /// Minutes.
        warning_composite_temperature_time: u32 = 192..196,
        /// Minutes.
        critical_composite_temperature_time: u32 = 196..200,
        /// Kelvin; 0 for a missing sensor.
        temperature_sensors: [u16; 8] = 200..216,
        /// Times that the drive began to throttle.
        thermal_management_temperature_1_transitions: u32 = 216..220,
        /// Times that the drive began to throttle hard.
        thermal_management_temperature_2_transitions: u32 = 220..224,
        /// Seconds.
        thermal_management_temperature_1_time: u32 = 224..228,
        /// Seconds.
        thermal_management_temperature_2_time: u32 = 228..232,
        /// Watt-hours since it was made, rounded up; 0 if it is not reported. Here, of the flash alone.
        operational_lifetime_energy_consumed: u64 = 232..240,
        /// Power of the last second, with its scale; 0 if it is not reported.
        interval_power_measurement: u32 = 240..244,
    }
}

impl HealthLog {
    /// The page of a drive with this health record.
    pub fn of(record: &HealthRecord) -> Self {
        let temperature = ZERO_CELSIUS_KELVIN.saturating_add_signed(record.whole_celsius());
        let mut temperature_sensors = [0; 8];
        temperature_sensors[0] = temperature;
        Self {
            critical_warning: record.critical_warning(),
            composite_temperature: temperature,
            available_spare: record.available_spare(),
            available_spare_threshold: AVAILABLE_SPARE_THRESHOLD_PERCENT,
            percentage_used: record.percentage_used(),
            // The whole drive is one group.
            endurance_group_critical_warning_summary: record.critical_warning(),
            data_units_read: data_units(record.host_bytes_read).into(),
            data_units_written: data_units(record.host_bytes_written).into(),
            host_read_commands: record.host_reads.into(),
            host_write_commands: record.host_writes.into(),
            controller_busy_time: CONTROLLER_BUSY_MINUTES.into(),
            power_cycles: record.power_cycles.into(),
            power_on_hours: record.power_on_hours().into(),
            unsafe_shutdowns: record.unsafe_shutdowns.into(),
            media_and_data_integrity_errors: record.media_errors.into(),
            error_information_log_entries: ERROR_LOG_ENTRIES.into(),
            warning_composite_temperature_time: OVERHEATED_MINUTES,
            critical_composite_temperature_time: OVERHEATED_MINUTES,
            temperature_sensors,
            thermal_management_temperature_1_transitions: record.throttles,
            thermal_management_temperature_1_time: record.throttled_seconds as u32,
            operational_lifetime_energy_consumed: record.flash_energy_watt_hours().ceil() as u64,
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

/// Units of 1,000 times 512 bytes, rounded up: 1 byte is 1 unit.
pub(crate) fn data_units(bytes: u64) -> u64 {
    bytes.div_ceil(DATA_UNIT_BYTES)
}
