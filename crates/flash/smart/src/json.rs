//! Output of `smartctl --json` for an NVMe drive.

use serde_json::{Value, json};

use crate::assumed::{DAY_0_UNIX_SECONDS, NAMESPACES, NVME_VERSION, SMARTCTL_VERSION, VENDOR};
use crate::time::{DAY_SECONDS, asctime};
use crate::{HealthLog, HealthRecord, Identity};

/// smartctl's exit status if the drive's own assessment fails.
const EXIT_FAILING: u64 = 8;

/// The object that smartctl 7.3 prints for `--info --health --attributes` of an NVMe drive named `device`; `words` is the command
/// line. The whole record is added under `wane`.
pub fn smartctl(record: &HealthRecord, identity: &Identity, device: &str, words: &[&str]) -> Value {
    let (log, warning) = (HealthLog::of(record), record.critical_warning());
    let temperature = record.whole_celsius();
    let seconds = DAY_0_UNIX_SECONDS.saturating_add((record.day * DAY_SECONDS as f64) as i64);
    let block_bytes = record.logical_block_bytes;
    let sized = |bytes: u64| json!({ "blocks": bytes / block_bytes.max(1), "bytes": bytes });
    json!({
        "json_format_version": [1, 0],
        "smartctl": {
            "version": SMARTCTL_VERSION,
            "platform_info": "simulated",
            "build_info": concat!("(wane ", env!("CARGO_PKG_VERSION"), ")"),
            "argv": words,
            "exit_status": if warning == 0 { 0 } else { EXIT_FAILING },
        },
        "local_time": { "time_t": seconds, "asctime": asctime(seconds) },
        "device": { "name": device, "info_name": device, "type": "nvme", "protocol": "NVMe" },
        "model_name": identity.model,
        "serial_number": identity.serial,
        "firmware_version": identity.firmware,
        "nvme_pci_vendor": { "id": VENDOR, "subsystem_id": VENDOR },
        "nvme_ieee_oui_identifier": VENDOR,
        "nvme_total_capacity": record.capacity_bytes,
        "nvme_unallocated_capacity": 0,
        "nvme_controller_id": VENDOR,
        "nvme_version": { "string": NVME_VERSION.0, "value": NVME_VERSION.1 },
        "nvme_number_of_namespaces": NAMESPACES,
        "nvme_namespaces": [{
            "id": NAMESPACES,
            "size": sized(record.capacity_bytes),
            "capacity": sized(record.capacity_bytes),
            "utilization": sized(record.mapped_bytes),
            "formatted_lba_size": block_bytes,
        }],
        "user_capacity": sized(record.capacity_bytes),
        "logical_block_size": block_bytes,
        "smart_support": { "available": true, "enabled": true },
        "smart_status": { "passed": warning == 0, "nvme": { "value": warning } },
        "nvme_smart_health_information_log": attributes(&log, temperature),
        "temperature": { "current": temperature },
        "power_cycle_count": record.power_cycles,
        "power_on_time": { "hours": record.power_on_hours() },
        "wane": { "is_simulated": true, "record": record },
    })
}

/// Log 02h under smartctl's keys.
fn attributes(log: &HealthLog, celsius: i16) -> Value {
    let counted = |value: u128| u64::try_from(value).unwrap_or(u64::MAX);
    json!({
        "critical_warning": log.critical_warning,
        "temperature": celsius,
        "available_spare": log.available_spare,
        "available_spare_threshold": log.available_spare_threshold,
        "percentage_used": log.percentage_used,
        "data_units_read": counted(log.data_units_read),
        "data_units_written": counted(log.data_units_written),
        "host_reads": counted(log.host_read_commands),
        "host_writes": counted(log.host_write_commands),
        "controller_busy_time": counted(log.controller_busy_time),
        "power_cycles": counted(log.power_cycles),
        "power_on_hours": counted(log.power_on_hours),
        "unsafe_shutdowns": counted(log.unsafe_shutdowns),
        "media_errors": counted(log.media_and_data_integrity_errors),
        "num_err_log_entries": counted(log.error_information_log_entries),
        "warning_temp_time": log.warning_composite_temperature_time,
        "critical_comp_time": log.critical_composite_temperature_time,
        "temperature_sensors": [celsius],
    })
}
