//! OCP's log page C0h, as `nvme get-log --log-id=0xc0 --log-len=512 --raw-binary` writes it.

use crate::reading::{Protocol, Source};
use crate::{LogError, OcpLog, Quantity as Q, Reading};

/// A field's value; `None` if it is all ones, which mark a field that is not reported: OCP Datacenter NVMe SSD Specification 2.7,
/// section 4.8.6.
fn told(value: u128, bytes: u32) -> Option<f64> {
    debug_assert!((1..=16).contains(&bytes), "a number takes 1 to 16 bytes of its page");
    let ones = u128::MAX >> (128 - 8 * bytes);
    debug_assert!(value <= ones, "a number was read from as many bytes as are asked for");
    (value != ones).then_some(value as f64)
}

pub(super) fn ocp(bytes: &[u8]) -> Result<Reading, LogError> {
    Ok(reading_of(&OcpLog::decode(bytes)?))
}

pub(super) fn reading_of(log: &OcpLog) -> Reading {
    let mut reading = Reading::new(Source::OcpPage);
    reading.protocol = Some(Protocol::Nvme);
    reading.is_rotating = Some(false);
    let fields: [(Q, &str, Option<f64>); 13] = [
        (Q::FlashWritten, "physical_media_units_written", told(log.physical_media_units_written, 16)),
        (Q::FlashRead, "physical_media_units_read", told(log.physical_media_units_read, 16)),
        (Q::BadBlocksGrown, "bad_user_nand_blocks_raw", told(log.bad_user_nand_blocks_raw.into(), 6)),
        (Q::Spare, "bad_user_nand_blocks_normalized", told(log.bad_user_nand_blocks_normalized.into(), 2)),
        (Q::Recoveries, "xor_recovery_count", told(log.xor_recovery_count.into(), 8)),
        (Q::UncorrectableReads, "uncorrectable_read_error_count", told(log.uncorrectable_read_error_count.into(), 8)),
        (Q::EndToEndErrors, "end_to_end_detected_errors", told(log.end_to_end_detected_errors.into(), 4)),
        (Q::Refreshed, "refresh_count", told(log.refresh_count.into(), 7)),
        (Q::EraseCountMax, "max_user_data_erase_count", told(log.max_user_data_erase_count.into(), 4)),
        (Q::EraseCountMin, "min_user_data_erase_count", told(log.min_user_data_erase_count.into(), 4)),
        (Q::Throttled, "thermal_throttling_event_count", told(log.thermal_throttling_event_count.into(), 1)),
        (Q::LinkErrors, "pcie_correctable_error_count", told(log.pcie_correctable_error_count.into(), 8)),
        (Q::CapacitorHealth, "capacitor_health", told(log.capacitor_health.into(), 2)),
    ];
    let endurance = Some(log.endurance_estimate).filter(|estimate| *estimate > 0);
    // Fields with the page version that introduced them. On older pages they are reserved, and zero.
    let later: [(u16, Q, &str, Option<f64>); 5] = [
        (2, Q::EnduranceEstimate, "endurance_estimate", endurance.and_then(|estimate| told(estimate, 16))),
        (3, Q::Resets, "pcie_link_retraining_count", told(log.pcie_link_retraining_count.into(), 8)),
        (4, Q::DiesOffline, "media_dies_offline", told(log.media_dies_offline.into(), 2)),
        (5, Q::EraseCountMean, "nand_average_erase_count", told(log.nand_average_erase_count.into(), 8)),
        (5, Q::Timeouts, "command_timeouts", told(log.command_timeouts.into(), 4)),
    ];
    for (quantity, name, value) in fields {
        reading.know(quantity, value, &format!("OCP log C0h, {name}"));
    }
    for (since, quantity, name, value) in later {
        if log.log_page_version >= since {
            reading.know(quantity, value, &format!("OCP log C0h, {name}"));
        } else {
            reading.not_understood.push(format!("OCP log C0h, {name}: a page of version {}", log.log_page_version));
        }
    }
    reading
}
