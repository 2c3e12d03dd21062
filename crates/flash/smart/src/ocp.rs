//! OCP's log page C0h.

use crate::assumed::{CAPACITOR_PERCENT, DIE_FAILURE_TOLERANCE, LINK_EVENTS, TEMPERATURE_CELSIUS, UNWORN_PERCENT};
use crate::page::{Guid, Text};
use crate::record::percent;
use crate::{HealthRecord, LogError};

/// The GUID that distinguishes this page from the C0h pages of vendors.
pub const OCP_GUID: Guid = Guid(0xAFD5_14C9_7C6F_4F9C_A4F2_BFEA_2810_AFC5);

/// Version of the page's layout in this file.
const LOG_PAGE_VERSION: u16 = 6;

/// The specification of this layout: major and minor version.
const SPECIFICATION: (u8, u16) = (2, 7);

/// Label of the firmware.
const BUILD_LABEL: &str = "simulated by wane";

log_page! {
    /// SMART / Health Information Extended (C0h): OCP Datacenter NVMe SSD Specification 2.7, section 4.8.6, log page version 6.
    OcpLog {
        /// Bytes programmed for any cause.
        physical_media_units_written: u128 = 0..16,
        /// Bytes read for any cause.
        physical_media_units_read: u128 = 16..32,
        /// Blocks that left service since the factory.
        bad_user_nand_blocks_raw: u64 = 32..38,
        /// Percent of the spare blocks that are left.
        bad_user_nand_blocks_normalized: u16 = 38..40,
        /// Blocks of the system area that left service.
        bad_system_nand_blocks_raw: u64 = 40..46,
        /// Percent of the system area's spare blocks that are left.
        bad_system_nand_blocks_normalized: u16 = 46..48,
        /// Pages that were to be reconstructed by parity.
        xor_recovery_count: u64 = 48..56,
        /// Reads that could not be corrected in any way.
        uncorrectable_read_error_count: u64 = 56..64,
        /// Reads that needed more than the first correction.
        soft_ecc_error_count: u64 = 64..72,
        /// Errors that end-to-end protection found.
        end_to_end_detected_errors: u32 = 72..76,
        /// Of these, corrected.
        end_to_end_corrected_errors: u32 = 76..80,
        /// Percent of the system area's life.
        system_data_percent_used: u8 = 80..81,
        /// Blocks that were refreshed.
        refresh_count: u64 = 81..88,
        /// Erases of the most worn block.
        max_user_data_erase_count: u32 = 88..92,
        /// Erases of the least worn block.
        min_user_data_erase_count: u32 = 92..96,
        /// Times that the drive began to throttle.
        thermal_throttling_event_count: u8 = 96..97,
        /// Whether it throttles now, and how.
        thermal_throttling_current_status: u8 = 97..98,
        /// Errata version of the OCP specification.
        dssd_errata_version: u8 = 98..99,
        /// Of the OCP specification.
        dssd_point_version: u16 = 99..101,
        /// Of the OCP specification.
        dssd_minor_version: u16 = 101..103,
        /// Of the OCP specification.
        dssd_major_version: u8 = 103..104,
        /// Errors that the link corrected.
        pcie_correctable_error_count: u64 = 104..112,
        /// Losses of power that lost data.
        incomplete_shutdowns: u32 = 112..116,
        /// Percent of the spare blocks that are erased.
        percent_free_blocks: u8 = 120..121,
        /// Percent of a new one's energy.
        capacitor_health: u16 = 128..130,
        /// Of NVMe.
        nvme_base_errata_version: u8 = 130..131,
        /// Of NVMe.
        nvme_command_set_errata_version: u8 = 131..132,
        /// Of NVMe.
        nvme_over_pcie_errata_version: u8 = 132..133,
        /// Of NVMe.
        nvme_mi_errata_version: u8 = 133..134,
        /// Writes that begin within a unit of the drive.
        unaligned_io: u64 = 136..144,
        /// Of the firmware.
        security_version_number: u64 = 144..152,
        /// Logical blocks that hold data.
        total_namespace_utilization: u64 = 152..160,
        /// Times that the capacitors were needed.
        plp_start_count: u128 = 160..176,
        /// Bytes that may be written over the life.
        endurance_estimate: u128 = 176..192,
        /// Times that the link trained anew.
        pcie_link_retraining_count: u64 = 192..200,
        /// Changes of the power state.
        power_state_change_count: u64 = 200..208,
        /// The oldest firmware that it takes.
        lowest_permitted_firmware_revision: u64 = 208..216,
        /// Dies.
        total_media_dies: u16 = 216..218,
        /// Dies that may fail.
        total_die_failure_tolerance: u16 = 218..220,
        /// Dies that failed.
        media_dies_offline: u16 = 220..222,
        /// Degrees Celsius.
        max_temperature_recorded: u8 = 222..223,
        /// Of the casing.
        form_factor: u8 = 223..224,
        /// Mean erases of a block.
        nand_average_erase_count: u64 = 224..232,
        /// Commands that took too long.
        command_timeouts: u32 = 232..236,
        /// Programs of the system area that failed.
        system_area_program_fail_count_raw: u32 = 236..240,
        /// Percent of those allowed that are left.
        system_area_program_fail_count_normalized: u8 = 240..241,
        /// Reads of the system area that could not be corrected in any way.
        system_area_uncorrectable_read_count_raw: u32 = 244..248,
        /// Percent of those allowed that are left.
        system_area_uncorrectable_read_count_normalized: u8 = 248..249,
        /// Erases of the system area that failed.
        system_area_erase_fail_count_raw: u32 = 252..256,
        /// Percent of those allowed that are left.
        system_area_erase_fail_count_normalized: u8 = 256..257,
        /// Watts.
        max_peak_power_capability: u16 = 260..262,
        /// Watts.
        current_average_power: u16 = 262..264,
        /// Whole kilowatt-hours. Here, of the flash alone.
        lifetime_power_consumed: u64 = 264..270,
        /// Of the firmware.
        dssd_firmware_revision: Text<8> = 270..278,
        /// Of the firmware.
        dssd_firmware_build_uuid: Guid = 278..294,
        /// Of the firmware.
        dssd_firmware_build_label: Text<64> = 294..358,
        /// Blocks of dies in use that left service since the factory.
        dies_in_use_bad_nand_blocks_raw: u64 = 358..364,
        /// Percent of the spare blocks of these dies that are left.
        dies_in_use_bad_nand_blocks_normalized: u16 = 364..366,
        /// Of this layout.
        log_page_version: u16 = 494..496,
        /// The GUID that distinguishes the page from a vendor's.
        log_page_guid: Guid = 496..512,
    }
}

impl OcpLog {
    /// The page of a drive with this health record.
    pub fn of(record: &HealthRecord) -> Self {
        let spare = u16::from(record.available_spare());
        let bad = u64::from(record.blocks_bad_grown);
        let dies = |count: u32| u16::try_from(count).unwrap_or(u16::MAX);
        Self {
            physical_media_units_written: record.flash_bytes_programmed.into(),
            physical_media_units_read: record.flash_bytes_read.into(),
            bad_user_nand_blocks_raw: bad,
            bad_user_nand_blocks_normalized: spare,
            bad_system_nand_blocks_normalized: UNWORN_PERCENT.into(),
            xor_recovery_count: record.recoveries,
            uncorrectable_read_error_count: record.reads_uncorrectable,
            soft_ecc_error_count: record.reads_corrected,
            refresh_count: record.blocks_refreshed,
            max_user_data_erase_count: record.erase_count_max,
            min_user_data_erase_count: record.erase_count_min,
            dssd_minor_version: SPECIFICATION.1,
            dssd_major_version: SPECIFICATION.0,
            pcie_correctable_error_count: LINK_EVENTS,
            percent_free_blocks: percent(record.free_blocks_percent).min(100),
            capacitor_health: CAPACITOR_PERCENT,
            total_namespace_utilization: record.mapped_bytes / record.logical_block_bytes.max(1),
            // A power cut that the capacitors cover loses nothing.
            plp_start_count: record.unsafe_shutdowns.into(),
            endurance_estimate: record.endurance_estimate_bytes.unwrap_or(0).into(),
            total_media_dies: dies(record.dies),
            total_die_failure_tolerance: DIE_FAILURE_TOLERANCE,
            media_dies_offline: dies(record.dies_offline),
            max_temperature_recorded: percent(record.celsius_max.unwrap_or(f64::from(TEMPERATURE_CELSIUS)).round()),
            nand_average_erase_count: record.erase_count_mean.round() as u64,
            system_area_program_fail_count_normalized: UNWORN_PERCENT,
            system_area_uncorrectable_read_count_normalized: UNWORN_PERCENT,
            system_area_erase_fail_count_normalized: UNWORN_PERCENT,
            lifetime_power_consumed: (record.flash_energy_watt_hours() / 1000.0) as u64,
            dssd_firmware_revision: Text::of(env!("CARGO_PKG_VERSION")),
            dssd_firmware_build_label: Text::of(BUILD_LABEL),
            dies_in_use_bad_nand_blocks_raw: bad,
            dies_in_use_bad_nand_blocks_normalized: spare,
            log_page_version: LOG_PAGE_VERSION,
            log_page_guid: OCP_GUID,
            ..Self::default()
        }
    }

    /// Decodes the page. Of later versions the fields known here are read.
    ///
    /// # Errors
    /// The number of bytes is not that of a page, or the page is not OCP's.
    pub fn decode(bytes: &[u8]) -> Result<Self, LogError> {
        let log = Self::read(bytes)?;
        if log.log_page_guid != OCP_GUID {
            return Err(LogError::Guid { found: log.log_page_guid, want: OCP_GUID });
        }
        Ok(log)
    }
}
