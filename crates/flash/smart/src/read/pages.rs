//! Pages of NVMe drives, as nvme-cli prints them in JSON and in text: one table of what their keys mean.
//!
//! A page is known by several of its keys, and of those pages that share keys with it is the one that knows most of them. Keys are
//! compared in one form, since the same page has "Data Units Written", `data_units_written`, and `{"user": {"raw": 3}}` for
//! `user_raw`. A key that its page does not know is listed.

use std::borrow::Cow;

use serde_json::{Value, json};
use wane_units::excerpt;

use super::{field, ocp};
use crate::numbers::number;
use crate::reading::{Protocol, Source};
use crate::{LogError, Quantity as Q, Reading};

/// Bytes of a data unit of log 02h.
pub(super) const DATA_UNIT_BYTES: f64 = 512_000.0;

/// Bytes of a unit of log 09h.
const BILLION: f64 = 1e9;

/// Bytes of the counts of writes on Intel's page: as of Intel's attributes 241 to 243 on SATA, whose names in smartmontools'
/// drivedb.h say so.
const INTEL_BYTES: f64 = (32u64 << 20) as f64;

/// nvme-cli 3 prints the raw counts of WDC's page without the shift by 16 bits that parts them from the normalized ones.
const UNSHIFTED: f64 = 1.0 / 65536.0;

/// Names of a key in the tools and their versions, and what it means; `None` if it is understood and not used.
type Key = (&'static [&'static str], Option<(Q, f64)>);

const fn told(names: &'static [&'static str], quantity: Q, unit: f64) -> Key {
    (names, Some((quantity, unit)))
}

/// What a page is read as.
pub(super) struct Page {
    pub(super) source: Source,
    /// Begins the source of each value.
    name: &'static str,
    /// Keys of which it has at least one.
    needs: &'static [&'static str],
    keys: &'static [Key],
}

/// Fewest keys by which a page is known.
const KEYS_LEAST: usize = 2;

/// Ends of keys beside a count that is too large for a number: its digits, and its bytes.
const EXACT: [&str; 2] = ["_s", "_le"];

/// Ends of keys of normalized values, which are not used.
const NORMALIZED: &str = "_normalized";

/// Key of the warnings, and their bits in the object that some versions print.
const WARNING: &str = "critical_warning";
const WARNINGS: [(&str, u32); 6] = [
    ("available_spare", 0),
    ("temp_threshold", 1),
    ("reliability_degraded", 2),
    ("ro", 3),
    ("vmbu_failed", 4),
    ("pmr_ro", 5),
];

/// Log 02h.
pub(super) const HEALTH: Page = Page {
    source: Source::NvmeJson,
    name: "NVMe log 02h",
    needs: &[
        "avail_spare",
        "available_spare",
        "percent_used",
        "percentage_used",
        "data_units_written",
        "media_errors",
        "unsafe_shutdowns",
    ],
    keys: &[
        told(&[WARNING], Q::CriticalWarning, 1.0),
        told(&["temperature", "composite_temperature"], Q::Temperature, 1.0),
        told(&["avail_spare", "available_spare"], Q::Spare, 1.0),
        told(&["spare_thresh", "available_spare_threshold"], Q::SpareThreshold, 1.0),
        told(&["percent_used", "percentage_used"], Q::PercentageUsed, 1.0),
        told(&["data_units_read"], Q::HostRead, DATA_UNIT_BYTES),
        told(&["data_units_written"], Q::HostWritten, DATA_UNIT_BYTES),
        told(&["host_read_commands", "host_reads"], Q::HostReads, 1.0),
        told(&["host_write_commands", "host_writes"], Q::HostWrites, 1.0),
        told(&["power_cycles"], Q::PowerCycles, 1.0),
        told(&["power_on_hours"], Q::PowerOnHours, 1.0),
        told(&["unsafe_shutdowns"], Q::UnsafeShutdowns, 1.0),
        told(&["media_errors", "media_and_data_integrity_errors"], Q::MediaErrors, 1.0),
        told(
            &[
                "num_err_log_entries",
                "error_information_log_entries",
                "number_of_error_information_log_entries",
                "error_log_entries",
            ],
            Q::ErrorLogEntries,
            1.0,
        ),
        told(
            &["warning_temp_time", "warning_temperature_time", "warning_comp_temperature_time"],
            Q::MinutesWarning,
            1.0,
        ),
        told(
            &[
                "critical_comp_time",
                "critical_composite_temperature_time",
                "critical_comp_temperature_time",
                "critical_temperature_time",
            ],
            Q::MinutesCritical,
            1.0,
        ),
        told(&["thm_temp1_trans_count", "thermal_management_t1_trans_count"], Q::Throttled, 1.0),
        (&["nsid", "controller_busy_time", "temperature_sensors"], None),
        (&["endurance_grp_critical_warning_summary", "endurance_group_critical_warning_summary"], None),
        (&["thm_temp2_trans_count", "thermal_management_t2_trans_count", "thm_temp1_total_time"], None),
        (&["thm_temp2_total_time", "thermal_management_t1_total_time", "thermal_management_t2_total_time"], None),
        (&["op_lifetime_energy_consumed", "operational_lifetime_energy_consumed"], None),
        (&["interval_power_measurement", "interval_power_measurement_type"], None),
        // The bits of the warning, in text.
        (&["available_spare_0", "temp_threshold_1", "nvm_subsystem_reliability_2", "read_only_3"], None),
        (&["volatile_mem_backup_failed_4", "persistent_mem_ro_5"], None),
    ],
};

const ENDURANCE: Page = Page {
    source: Source::EndurancePage,
    name: "NVMe log 09h",
    needs: &["avl_spare", "media_units_written", "endurance_group_features", "total_end_grp_cap", "host_write_cmds"],
    keys: &[
        told(&[WARNING], Q::CriticalWarning, 1.0),
        told(&["avl_spare", "available_spare"], Q::Spare, 1.0),
        told(&["avl_spare_threshold", "available_spare_threshold"], Q::SpareThreshold, 1.0),
        told(&["percent_used", "percentage_used"], Q::PercentageUsed, 1.0),
        told(&["endurance_estimate"], Q::EnduranceEstimate, BILLION),
        told(&["data_units_read"], Q::HostRead, BILLION),
        told(&["data_units_written"], Q::HostWritten, BILLION),
        told(&["media_units_written"], Q::FlashWritten, BILLION),
        told(&["host_read_cmds"], Q::HostReads, 1.0),
        told(&["host_write_cmds"], Q::HostWrites, 1.0),
        told(&["media_data_integrity_err"], Q::MediaErrors, 1.0),
        told(&["num_err_info_log_entries"], Q::ErrorLogEntries, 1.0),
        (&["endurance_group_features", "domain_identifier", "total_end_grp_cap", "unalloc_end_grp_cap"], None),
    ],
};

const FDP: Page = Page {
    source: Source::FdpPage,
    name: "FDP statistics",
    needs: &["mbmw", "media_bytes_with_metadata_written_mbmw"],
    keys: &[
        told(&["hbmw", "host_bytes_with_metadata_written_hbmw"], Q::HostWritten, 1.0),
        told(&["mbmw", "media_bytes_with_metadata_written_mbmw"], Q::FlashWritten, 1.0),
        (&["mbe", "media_bytes_erased_mbe"], None),
    ],
};

const INTEL: Page = Page {
    source: Source::IntelPage,
    name: "Intel's additional page",
    needs: &["nand_bytes_written_raw", "wear_leveling_raw_avg", "wear_leveling_count_avg", "program_fail_count_raw"],
    keys: &[
        told(&["program_fail_count_raw"], Q::ProgramFails, 1.0),
        told(&["erase_fail_count_raw"], Q::EraseFails, 1.0),
        told(&["wear_leveling_raw_min", "wear_leveling_count_min"], Q::EraseCountMin, 1.0),
        told(&["wear_leveling_raw_max", "wear_leveling_count_max"], Q::EraseCountMax, 1.0),
        told(&["wear_leveling_raw_avg", "wear_leveling_count_avg"], Q::EraseCountMean, 1.0),
        told(&["end_to_end_error_detection_count_raw", "e2e_error_detect_count_raw"], Q::EndToEndErrors, 1.0),
        told(&["crc_error_count_raw"], Q::LinkErrors, 1.0),
        told(
            &["thermal_throttle_status_raw_count", "thermal_throttle_status_raw_cnt", "thermal_throttle_status_count"],
            Q::Throttled,
            1.0,
        ),
        told(&["nand_bytes_written_raw"], Q::FlashWritten, INTEL_BYTES),
        told(&["host_bytes_written_raw"], Q::HostWritten, INTEL_BYTES),
        (&["thermal_throttle_status_raw_pct", "thermal_throttle_status_percentage", "timed_workload_timer_raw"], None),
        (&["timed_workload_media_wear_raw", "timed_workload_host_reads_raw", "retry_buffer_overflow_count_raw"], None),
        (&["pll_lock_loss_count_raw"], None),
    ],
};

/// WDC's page C0h of Open Compute's boot drives, as of `nvme wdc vs-smart-add-log`.
const BOOT: Page = Page {
    source: Source::OcpPage,
    name: "WDC log C0h",
    needs: &["physical_media_units_bytes_tlc"],
    keys: &[
        told(&["physical_media_units_bytes_tlc"], Q::FlashWritten, 1.0),
        told(&["bad_user_blocks_raw"], Q::BadBlocksGrown, UNSHIFTED),
        told(&["xor_recovery_count"], Q::Recoveries, 1.0),
        told(&["uncorrectable_read_errors"], Q::UncorrectableReads, 1.0),
        told(&["detected_e2e_errors"], Q::EndToEndErrors, 1.0),
        told(&["min_tlc_user_data_erase_count"], Q::EraseCountMin, 1.0),
        told(&["max_tlc_user_data_erase_count"], Q::EraseCountMax, 1.0),
        told(&["avg_tlc_user_data_erase_count"], Q::EraseCountMean, 1.0),
        told(&["program_fail_count_raw"], Q::ProgramFails, UNSHIFTED),
        told(&["erase_fail_count_raw"], Q::EraseFails, UNSHIFTED),
        told(&["pcie_correctable_errors"], Q::LinkErrors, 1.0),
        told(&["read_refresh_count"], Q::Refreshed, 1.0),
        told(&["endurance_est_bytes"], Q::EnduranceEstimate, 1.0),
    ],
};

/// Windows' `Get-StorageReliabilityCounter`, of drives of any protocol.
const WINDOWS: Page = Page {
    source: Source::Windows,
    name: "Windows",
    needs: &["readerrorsuncorrected", "readerrorstotal", "wear"],
    keys: &[
        told(&["wear"], Q::PercentageUsed, 1.0),
        told(&["temperature"], Q::Temperature, 1.0),
        told(&["poweronhours"], Q::PowerOnHours, 1.0),
        told(&["readerrorsuncorrected"], Q::UncorrectableReads, 1.0),
        told(&["writeerrorsuncorrected"], Q::MediaErrors, 1.0),
        (&["deviceid", "objectid", "uniqueid", "passthroughclass", "passthroughids", "passthroughnamespace"], None),
        (&["passthroughserver", "cimclass", "ciminstanceproperties", "cimsystemproperties", "pscomputername"], None),
        (&["temperaturemax", "manufacturedate", "flushlatencymax", "readlatencymax", "writelatencymax"], None),
        (&["loadunloadcyclecount", "loadunloadcyclecountmax", "startstopcyclecount", "startstopcyclecountmax"], None),
        (&["readerrorscorrected", "readerrorstotal", "writeerrorscorrected", "writeerrorstotal"], None),
    ],
};

/// OCP's page, whose keys are those of its bytes.
const OCP: Page = Page { source: Source::OcpPage, name: "OCP log C0h", needs: &[ocp::FIRST], keys: &[] };

const PAGES: [&Page; 7] = [&HEALTH, &ENDURANCE, &OCP, &INTEL, &FDP, &BOOT, &WINDOWS];

/// A page's keys in one form, and their values.
pub(super) type Fields<'a> = Vec<(String, Cow<'a, Value>)>;

/// A key in the form in which the tables have it.
pub(super) fn plain(key: &str) -> String {
    let parts = key.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("_").to_ascii_lowercase()
}

/// The fields of an object, those of inner objects behind the keys of these.
pub(super) fn fields(value: &Value) -> Fields<'_> {
    let mut found = Vec::new();
    for (key, value) in value.get("Device stats").unwrap_or(value).as_object().into_iter().flatten() {
        add(&plain(key), value, &mut found);
    }
    found
}

fn add<'a>(key: &str, value: &'a Value, found: &mut Fields<'a>) {
    match value.as_object() {
        Some(flags) if key == WARNING && number(value).is_none() => {
            let is_set = |flag: &Value| flag.as_bool() == Some(true) || number(flag) == Some(1.0);
            let bits =
                WARNINGS.iter().filter(|(name, _)| flags.get(*name).is_some_and(is_set)).map(|(_, bit)| 1 << bit);
            let is_known = WARNINGS.iter().any(|(name, _)| flags.contains_key(*name));
            let bits = json!(bits.sum::<u32>());
            found.push((key.to_owned(), if is_known { Cow::Owned(bits) } else { Cow::Borrowed(value) }));
        }
        Some(inner) if number(value).is_none() && !inner.is_empty() && !is_known(key) => {
            inner.iter().for_each(|(name, value)| add(&format!("{key}_{}", plain(name)), value, found));
        }
        _ => found.push((key.to_owned(), Cow::Borrowed(value))),
    }
}

/// The page of these fields, by its keys; `None` if they are of none.
pub(super) fn page_of(fields: &Fields<'_>) -> Option<&'static Page> {
    let count = |page: &Page| fields.iter().filter(|(key, _)| page.knows(key)).count();
    let has = |page: &Page| page.needs.iter().any(|need| fields.iter().any(|(key, _)| key == need));
    let told = PAGES.into_iter().filter(|page| has(page)).map(|page| (count(page), page));
    // Of two that know as many, the one that stands first.
    let most = told.reduce(|one, other| if other.0 > one.0 { other } else { one });
    most.filter(|(count, _)| *count >= KEYS_LEAST).map(|(_, page)| page)
}

/// Whether a page has a key.
pub(super) fn is_known(key: &str) -> bool {
    PAGES.into_iter().any(|page| page.knows(key))
}

impl Page {
    fn meaning(&self, key: &str) -> Option<Option<(Q, f64)>> {
        self.keys.iter().find(|(names, _)| names.contains(&key)).map(|(_, meaning)| *meaning)
    }

    fn knows(&self, key: &str) -> bool {
        if self.keys.is_empty() { ocp::field(key).is_some() } else { self.meaning(key).is_some() }
    }

    /// The reading of fields that are of this page.
    ///
    /// # Errors
    /// It is a page C0h, and not OCP's.
    pub(super) fn read(&self, fields: &Fields<'_>, is_corrected_first: bool) -> Result<Reading, LogError> {
        if self.keys.is_empty() {
            return ocp::of_fields(fields, is_corrected_first);
        }
        let mut reading = Reading::new(self.source);
        if self.source == Source::Windows {
            let id = fields.iter().find(|(key, _)| key == "deviceid").map(|(_, id)| id.to_string());
            reading.device = id.map(|id| format!("disk {}", id.trim_matches('"')));
        } else {
            reading.protocol = Some(Protocol::Nvme);
            reading.is_rotating = Some(false);
        }
        self.add(&mut reading, fields);
        if self.source == Source::NvmeJson {
            reading.is_passed = reading.get(Q::CriticalWarning).map(|bits| bits == 0.0);
        }
        Ok(reading)
    }

    /// Adds what the fields say to a reading, and lists those that are not known.
    pub(super) fn add(&self, reading: &mut Reading, fields: &Fields<'_>) {
        // Firmware of Intel's that does not count erases has zeros for all of them.
        let is_erases = |key: &str| self.source == Source::IntelPage && key.starts_with("wear_leveling");
        let is_blank = fields
            .iter()
            .filter(|(key, _)| is_erases(key) && !key.ends_with(NORMALIZED))
            .all(|(_, value)| **value == 0);
        // nvme-cli's JSON also has what Intel's page does not, as zeros with a normalized zero.
        let is_absent = |key: &str| {
            let name = key.split_once("_raw").map(|(name, _)| name);
            let is_its = |other: &str| other.strip_suffix(NORMALIZED).is_some_and(|other| Some(other) == name);
            self.source == Source::IntelPage && fields.iter().any(|(other, value)| is_its(other) && **value == 0)
        };
        for (key, value) in fields {
            let exact = EXACT.iter().find_map(|end| key.strip_suffix(end));
            let from = format!("{}, {key}", self.name);
            match (self.meaning(key), exact.and_then(|key| self.meaning(key))) {
                _ if is_blank && is_erases(key) => {}
                _ if **value == 0 && is_absent(key) => {}
                // Windows has a key for what the drive does not tell.
                _ if self.source == Source::Windows && value.is_null() => {}
                (Some(Some((quantity, unit))), _) => field::take(reading, quantity, unit, value, &from),
                (Some(None), _) => {}
                // Its digits, where the number itself was left out or not read.
                (None, Some(Some((quantity, unit)))) if reading.get(quantity).is_none() && !value.is_array() => {
                    field::take(reading, quantity, unit, value, &from);
                }
                (None, Some(_)) => {}
                (None, None) if key.ends_with(NORMALIZED) || key.starts_with("temperature_sensor_") => {}
                (None, None) => reading.not_understood.push(excerpt(&from).to_string()),
            }
        }
        let known = &reading.known;
        reading.unread.retain(|quantity| !known.contains_key(quantity));
    }
}
