//! OCP's log page C0h as printed by `nvme ocp smart-add-log -o json`. It is converted to the page's bytes and then read like
//! these.

use serde_json::Value;

use super::pages::reading_of;
use crate::page::Guid;
use crate::{LogError, OCP_GUID, OcpLog, PAGE_BYTES, Reading};

/// Keys in the first and second form of nvme-cli's output (`--output-format-version`), and the field of the page.
const FIELDS: [(&str, &str, &str); 20] = [
    ("Physical media units written", "physical_media_units_written", "physical_media_units_written"),
    ("Physical media units read", "physical_media_units_read", "physical_media_units_read"),
    ("Bad user nand blocks - Raw", "bad_user_nand_blocks_raw", "bad_user_nand_blocks_raw"),
    ("Bad user nand blocks - Normalized", "bad_user_nand_blocks_normalized", "bad_user_nand_blocks_normalized"),
    ("XOR recovery count", "xor_recovery_count", "xor_recovery_count"),
    ("Uncorrectable read error count", "uncorrectable_read_errors", "uncorrectable_read_error_count"),
    ("Soft ecc error count", "soft_ecc_error_count", "soft_ecc_error_count"),
    ("End to end detected errors", "end_to_end_detected_errors", "end_to_end_detected_errors"),
    ("Refresh counts", "refresh_count", "refresh_count"),
    ("Max User data erase counts", "max_user_data_erase_count", "max_user_data_erase_count"),
    ("Min User data erase counts", "min_user_data_erase_count", "min_user_data_erase_count"),
    ("Number of Thermal throttling events", "thermal_throttling_events", "thermal_throttling_event_count"),
    ("PCIe correctable error count", "pcie_correctable_errors", "pcie_correctable_error_count"),
    ("Capacitor health", "capacitor_health", "capacitor_health"),
    ("Endurance estimate", "endurance_estimate", "endurance_estimate"),
    ("Log page version", "log_page_version", "log_page_version"),
    ("PCIe Link Retraining Count", "pcie_link_retraining_count", "pcie_link_retraining_count"),
    ("Media dies offline", "media_dies_offline", "media_dies_offline"),
    ("Nand avg erase count", "nand_avg_erase_count", "nand_average_erase_count"),
    ("Command timeouts", "command_timeouts", "command_timeouts"),
];

/// The GUID's key in both forms.
const GUID_KEYS: [&str; 2] = ["Log page GUID", "log_page_guid"];

pub(super) fn is_one(value: &Value) -> bool {
    let (old, new, _) = FIELDS[0];
    value.get(old).is_some() || value.get(new).is_some()
}

/// # Errors
/// The page has another GUID than OCP's, and therefore other fields.
pub(super) fn reading(value: &Value) -> Result<Reading, LogError> {
    if let Some(found) = GUID_KEYS.iter().find_map(|key| guid(value.get(key)?)).filter(|found| !is_ocp(*found)) {
        return Err(LogError::Guid { found: Guid(found), want: OCP_GUID });
    }
    // All ones mark a field that is not reported.
    let mut page = [0xFF; PAGE_BYTES];
    let mut strange = Vec::new();
    let mut put = |field: &str, number: u128| -> bool {
        let found = OcpLog::LAYOUT.iter().find(|(name, ..)| *name == field);
        let (_, first, behind) = *found.expect("a field of the page");
        let (bytes, place) = (number.to_le_bytes(), &mut page[first..behind]);
        let fits = bytes[place.len()..].iter().all(|byte| *byte == 0);
        if fits {
            place.copy_from_slice(&bytes[..place.len()]);
        }
        fits
    };
    put("log_page_guid", OCP_GUID.0);
    for (old, new, field) in FIELDS {
        let Some(told) = value.get(old).or_else(|| value.get(new)) else { continue };
        if !whole(told).is_some_and(|number| put(field, number)) {
            strange.push(format!("OCP log C0h, {field}: {told} is not possible"));
        }
    }
    let mut reading = reading_of(&OcpLog::decode(&page).expect("it has OCP's GUID"));
    reading.not_understood.extend(strange);
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

/// A count: a number, a text, or two halves of 64 bits.
fn whole(value: &Value) -> Option<u128> {
    match value {
        Value::Number(number) => match number.as_u64() {
            Some(number) => Some(number.into()),
            None => number.as_f64().filter(|number| *number >= 0.0).map(|number| number as u128),
        },
        Value::String(text) => text.replace(',', "").trim().parse().ok(),
        Value::Object(halves) => {
            let half = |name: &str| halves.get(name).and_then(Value::as_u64).map(u128::from);
            Some(half("hi")? << 64 | half("lo")?)
        }
        _ => None,
    }
}
