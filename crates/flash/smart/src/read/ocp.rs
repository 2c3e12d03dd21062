//! OCP's log page C0h: its 512 bytes as `nvme get-log --log-id=0xc0 --log-len=512 --raw-binary` writes them, and what nvme-cli
//! prints of them, with OCP's plugin (two forms of JSON, and text) and with WDC's. What is printed is converted to the page's bytes
//! and then read like these.

use serde_json::Value;
use wane_units::excerpt;

use super::pages::Fields;
use crate::page::Guid;
use crate::reading::{Protocol, Source};
use crate::{LogError, OCP_GUID, OcpLog, PAGE_BYTES, Quantity as Q, Reading};

/// The first field of the page, without which it is none.
pub(super) const FIRST: &str = "physical_media_units_written";

const DETECTED: &str = "end_to_end_detected_errors";
const CORRECTED: &str = "end_to_end_corrected_errors";
const VERSION: &str = "log_page_version";

/// Fields that are used, their quantities, and the version of the page that introduced them. On older pages they are reserved, and
/// zero.
const USED: [(&str, Q, u128); 18] = [
    (FIRST, Q::FlashWritten, 0),
    ("physical_media_units_read", Q::FlashRead, 0),
    ("bad_user_nand_blocks_raw", Q::BadBlocksGrown, 0),
    ("bad_user_nand_blocks_normalized", Q::Spare, 0),
    ("xor_recovery_count", Q::Recoveries, 0),
    ("uncorrectable_read_error_count", Q::UncorrectableReads, 0),
    (DETECTED, Q::EndToEndErrors, 0),
    ("refresh_count", Q::Refreshed, 0),
    ("max_user_data_erase_count", Q::EraseCountMax, 0),
    ("min_user_data_erase_count", Q::EraseCountMin, 0),
    ("thermal_throttling_event_count", Q::Throttled, 0),
    ("pcie_correctable_error_count", Q::LinkErrors, 0),
    ("capacitor_health", Q::CapacitorHealth, 0),
    ("endurance_estimate", Q::EnduranceEstimate, 2),
    ("pcie_link_retraining_count", Q::Resets, 3),
    ("media_dies_offline", Q::DiesOffline, 4),
    ("nand_average_erase_count", Q::EraseCountMean, 5),
    ("command_timeouts", Q::Timeouts, 5),
];

/// Keys that nvme-cli gives to fields that have another name in the page. "noralized" is how it writes it.
const NAMES: [(&str, &[&str]); 28] = [
    ("uncorrectable_read_error_count", &["uncorrectable_read_errors"]),
    (DETECTED, &["e2e_correction_counts_detected", "end_to_end_correction_counts_detected"]),
    (CORRECTED, &["e2e_correction_counts_corrected", "end_to_end_correction_counts_corrected"]),
    ("refresh_count", &["refresh_counts"]),
    ("max_user_data_erase_count", &["max_user_data_erase_counts", "user_data_erase_counts_maximum"]),
    ("min_user_data_erase_count", &["min_user_data_erase_counts", "user_data_erase_counts_minimum"]),
    ("thermal_throttling_event_count", &["number_of_thermal_throttling_events", "thermal_throttling_events"]),
    ("thermal_throttling_event_count", &["thermal_status_num_events", "thermal_throttling_status_number_of_events"]),
    ("thermal_throttling_current_status", &["current_throttling_status", "thermal_status_current_status"]),
    ("thermal_throttling_current_status", &["thermal_throttling_status_current_status"]),
    ("pcie_correctable_error_count", &["pcie_correctable_errors"]),
    ("nand_average_erase_count", &["nand_avg_erase_count"]),
    ("system_data_percent_used", &["system_data_used"]),
    ("percent_free_blocks", &["free_blocks"]),
    ("unaligned_io", &["unaligned_i_o"]),
    ("total_namespace_utilization", &["nuse_namespace_utilization", "total_nuse"]),
    ("dssd_errata_version", &["errata_version_field", "dssd_specific_ver_errata_ver", "errata_version"]),
    ("dssd_point_version", &["point_version_field", "dssd_specific_ver_point_ver", "point_version"]),
    ("dssd_minor_version", &["minor_version_field", "dssd_specific_ver_minor_ver", "minor_version"]),
    ("dssd_major_version", &["major_version_field", "dssd_specific_ver_major_ver", "nvme_major_version"]),
    ("nvme_base_errata_version", &["nvme_errata_version"]),
    ("nvme_command_set_errata_version", &["nvme_cmd_set_errata_version"]),
    (
        "lowest_permitted_firmware_revision",
        &["lowest_permitted_fw_revision", "lowest_permitted_fw_rev", "hardware_revision"],
    ),
    ("current_average_power", &["current_max_avg_power"]),
    ("dies_in_use_bad_nand_blocks_raw", &["die_use_badnandblock_raw", "die_in_use_badnandblock_raw"]),
    ("dies_in_use_bad_nand_blocks_normalized", &["die_use_badnandblock_normal", "die_in_use_badnandblock_normal"]),
    (
        "system_area_program_fail_count_raw",
        &["sys_area_program_fail_count_raw", "sys_area_program_fail_count_noralized"],
    ),
    (
        "system_area_erase_fail_count_raw",
        &[
            "sys_area_erase_fail_count_raw",
            "sys_area_erase_fail_count_noralized",
            "sys_area_uncorrectable_read_count_raw",
            "sys_area_uncorrectable_read_count_noralized",
        ],
    ),
];

/// A field's name in the page, its first byte, and the first byte after it, by a key of nvme-cli's.
pub(super) fn field(key: &str) -> Option<(&'static str, usize, usize)> {
    let name = NAMES.iter().find(|(_, keys)| keys.contains(&key)).map_or(key, |(name, _)| name);
    OcpLog::LAYOUT.iter().find(|(field, ..)| *field == name).copied()
}

/// The reading of the page's bytes.
///
/// # Errors
/// They are no page, or have another GUID than OCP's.
pub(super) fn read_page(bytes: &[u8]) -> Result<Reading, LogError> {
    // Refuses what is no page.
    OcpLog::decode(bytes)?;
    let value = |name: &str| -> Option<u128> {
        let (_, first, behind) = field(name)?;
        let mut wide = [0; 16];
        wide[..behind - first].copy_from_slice(&bytes[first..behind]);
        // All ones mark a field that is not reported: OCP Datacenter NVMe SSD Specification 2.7, section 4.8.6.
        bytes[first..behind].iter().any(|byte| *byte != 0xFF).then_some(u128::from_le_bytes(wide))
    };
    let mut reading = Reading::new(Source::OcpPage);
    reading.protocol = Some(Protocol::Nvme);
    reading.is_rotating = Some(false);
    let version = value(VERSION).unwrap_or(u128::from(u16::MAX));
    for (name, quantity, since) in USED {
        // An estimate of zero is none.
        let told = value(name).filter(|value| quantity != Q::EnduranceEstimate || *value > 0);
        if version >= since {
            reading.know(quantity, told.map(|value| value as f64), &format!("OCP log C0h, {name}"));
        } else {
            reading.not_understood.push(format!("OCP log C0h, {name}: a page of version {version}"));
        }
    }
    Ok(reading)
}

/// The reading of what nvme-cli printed of the page. `is_corrected_first`: in the order of its keys.
///
/// # Errors
/// The page has another GUID than OCP's, and therefore other fields.
pub(super) fn of_fields(fields: &Fields<'_>, is_corrected_first: bool) -> Result<Reading, LogError> {
    let get = |key: &str| fields.iter().find(|(name, _)| name == key).map(|(_, value)| value.as_ref());
    if let Some(found) = get("log_page_guid").and_then(guid).filter(|found| !is_ocp(*found)) {
        return Err(LogError::Guid { found: Guid(found), want: OCP_GUID });
    }
    // nvme-cli 2.0 to 2.3 has the counts of end-to-end errors under each other's keys, in the order of the page. It does not print the
    // changes of the power state, and 2.2 and 2.3 print counts of 16 bytes as texts.
    let is_text = |key: &str| get(key).is_some_and(Value::is_string);
    let is_without = get("nvme_errata_version").is_some() && get("power_state_change_count").is_none();
    let is_swapped = is_corrected_first || is_without || (is_text("plp_start_count") && !is_text(DETECTED));
    let mut page = [0xFF; PAGE_BYTES];
    page[PAGE_BYTES - 16..].copy_from_slice(&OCP_GUID.0.to_le_bytes());
    let (mut strange, mut unknown) = (Vec::new(), Vec::new());
    for (key, value) in fields {
        let Some(found) = field(key) else {
            unknown.push(format!("OCP log C0h, {key}"));
            continue;
        };
        let (name, first, behind) = match key.as_str() {
            DETECTED if is_swapped => continue,
            CORRECTED if is_swapped => field(DETECTED).unwrap_or(found),
            _ => found,
        };
        let used = USED.iter().find(|(used, ..)| *used == name).map(|(_, quantity, _)| *quantity);
        if used.is_none() && name != VERSION {
            continue;
        }
        let place = &mut page[first..behind];
        let bytes = whole(value, 8 * place.len()).map(u128::to_le_bytes);
        match bytes.filter(|bytes| bytes[place.len()..].iter().all(|byte| *byte == 0)) {
            Some(bytes) => place.copy_from_slice(&bytes[..place.len()]),
            None => {
                strange.push((used, format!("OCP log C0h, {name}: {} is not possible", excerpt(&value.to_string()))));
            }
        }
    }
    let mut reading = read_page(&page)?;
    for (quantity, said) in strange {
        match quantity {
            Some(quantity) => reading.refuse(quantity, said),
            None => reading.not_understood.push(said),
        }
    }
    reading.not_understood.extend(unknown);
    Ok(reading)
}

/// A GUID as nvme-cli prints it: a text of hexadecimal digits, or in old versions a number with 53 exact bits.
fn guid(value: &Value) -> Option<u128> {
    match value {
        Value::String(text) => u128::from_str_radix(text.trim().trim_start_matches("0x"), 16).ok(),
        Value::Number(number) => number.as_f64().map(|number| number as u128),
        _ => None,
    }
}

fn is_ocp(guid: u128) -> bool {
    guid == OCP_GUID.0 || guid == OCP_GUID.0 as f64 as u128
}

/// A count of this many bits: a number, which nvme-cli 2.3 prints as negative from half of its range on, a text, or two halves of
/// 64 bits.
fn whole(value: &Value, bits: usize) -> Option<u128> {
    match value {
        Value::Number(number) => match (number.as_u64(), number.as_i64()) {
            (Some(number), _) => Some(number.into()),
            (None, Some(negative)) if matches!(bits, 32 | 64) => {
                u128::try_from(i128::from(negative) + (1i128 << bits)).ok()
            }
            _ => number.as_f64().filter(|number| *number >= 0.0).map(|number| number as u128),
        },
        Value::String(text) => {
            let plain = text.replace([',', '%'], "");
            match plain.split_whitespace().collect::<Vec<_>>()[..] {
                [one] => one
                    .strip_prefix("0x")
                    .map_or_else(|| one.parse().ok(), |digits| u128::from_str_radix(digits, 16).ok()),
                // Text has the upper half first.
                [high, low] => {
                    Some(high.parse::<u128>().ok()?.checked_mul(1 << 64)? + low.parse::<u64>().ok().map(u128::from)?)
                }
                _ => None,
            }
        }
        Value::Object(halves) if halves.contains_key("hi") => {
            let half = |name: &str| halves.get(name).and_then(Value::as_u64).map(u128::from);
            Some(half("hi")? << 64 | half("lo")?)
        }
        Value::Object(wrapped) => whole(wrapped.get("value").or_else(|| wrapped.get("n"))?, bits),
        _ => None,
    }
}
