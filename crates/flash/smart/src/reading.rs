//! A tool's report about a drive at one moment: known in parts.
//!
//! A [`HealthRecord`] and a [`Reading`] differ in what may be missing. The record is of a simulated drive, which knows everything
//! about itself. A reading has only the quantities that were reported. A missing quantity is not in it, and is never zero.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::assumed::{AVAILABLE_SPARE_THRESHOLD_PERCENT, DAY_0_UNIX_SECONDS};
use crate::numbers::amount;
use crate::time::DAY_SECONDS;
use crate::{HealthRecord, Identity, Quantity};

/// Format from which a reading was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Source {
    /// `smartctl --json`.
    SmartctlJson,
    /// smartctl's text.
    SmartctlText,
    /// `nvme smart-log -o json`.
    NvmeJson,
    /// `nvme smart-log`'s text.
    NvmeText,
    /// smartd's log of attributes.
    Attrlog,
    /// Metrics of Prometheus's smartctl_exporter.
    Exporter,
    /// Metrics of node_exporter's scripts.
    NodeExporter,
    /// Metrics of telegraf.
    Telegraf,
    /// The text that CrystalDiskInfo saves.
    CrystalDiskInfo,
    /// Windows' `Get-StorageReliabilityCounter`.
    Windows,
    /// `mmc extcsd read`, or Linux's `life_time` of an eMMC device.
    Emmc,
    /// `nvme intel smart-log-add -o json`.
    IntelPage,
    /// NVMe's log page 09h, as of `nvme endurance-log`.
    EndurancePage,
    /// Statistics of NVMe's flexible data placement, as of `nvme fdp stats`.
    FdpPage,
    /// OCP's log page C0h, as its 512 bytes or as `nvme ocp smart-add-log -o json`.
    OcpPage,
    /// A simulated drive itself.
    Simulated,
}

impl Source {
    /// Whether it is a page that lacks the drive's names and the time, and adds to the record given before it.
    pub const fn is_page(self) -> bool {
        matches!(self, Self::OcpPage | Self::IntelPage | Self::EndurancePage | Self::FdpPage)
    }
}

/// Protocol of the drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// ATA, on SATA.
    Ata,
    /// NVM Express.
    Nvme,
    /// SCSI, on SAS.
    Scsi,
}

/// A value and its source.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Known {
    /// The value, in the quantity's unit.
    pub value: f64,
    /// The field, attribute or formula that it comes from.
    pub from: String,
}

/// When an attribute was at or below its threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Failed {
    /// Now.
    Now,
    /// In the past, but not now.
    Past,
}

/// An ATA attribute as reported.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Attribute {
    /// Its number.
    pub id: u8,
    /// smartctl's name, which depends on the drive and on smartctl's version.
    pub name: String,
    /// Normalized value, which falls toward the threshold.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<u8>,
    /// Least normalized value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worst: Option<u8>,
    /// Normalized value at which it fails.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threshold: Option<u8>,
    /// Whether it predicts a failure, and not only age.
    pub is_prefailure: bool,
    /// Whether it fails or failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<Failed>,
    /// The raw value as smartctl prints it.
    pub raw: String,
    /// Its 48 bits, if reported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub raw_bits: Option<u64>,
}

impl Attribute {
    /// Whether it is at its threshold, or was: as the tool says, or else by its values, as smartctl has it. A threshold of 0 is none, and values from 254
    /// on are none.
    pub fn failed(&self) -> Option<Failed> {
        let threshold = self.threshold.filter(|threshold| *threshold > 0);
        let is_at = |value: Option<u8>| {
            threshold.zip(value).is_some_and(|(threshold, value)| (1..=253).contains(&value) && value <= threshold)
        };
        let by_values = if is_at(self.value) { Some(Failed::Now) } else { is_at(self.worst).then_some(Failed::Past) };
        self.failed.or(by_values)
    }

    /// The first number of the raw value, as decoded by smartctl: "24 (Min/Max 18/47)" is 24, and "0x0156" 342. `None` if it is
    /// several numbers, each of another meaning.
    pub fn number(&self) -> Option<f64> {
        let words: Vec<&str> = self.raw.split_whitespace().collect();
        let numbers: Option<Vec<u64>> = words.iter().map(|word| word.parse().ok()).collect();
        if let Some((last, before)) = numbers.as_deref().and_then(<[u64]>::split_last) {
            return before.iter().all(|number| *number == 0).then_some(*last as f64);
        }
        amount(words.first()?).filter(|told| !told.is_cut()).map(|told| told.value)
    }
}

/// Hexadecimal digits of a World Wide Name.
const WWN_DIGITS: usize = 16;

/// A World Wide Name in one form; `None` if a text is none, or if a part of it was taken out.
pub(crate) fn world_wide_name(text: &str) -> Option<String> {
    let plain = text.trim().trim_start_matches("0x").replace(' ', "").to_ascii_lowercase();
    (plain.len() == WWN_DIGITS && plain.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(plain)
}

/// A report about a drive at one moment.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reading {
    /// Its format.
    pub source: Source,
    /// The drive's protocol, if reported.
    pub protocol: Option<Protocol>,
    /// Whether the drive has rotating disks, if reported.
    pub is_rotating: Option<bool>,
    /// Its model.
    pub model: Option<String>,
    /// The family that smartctl's database puts it in.
    pub family: Option<String>,
    /// Its serial number.
    pub serial: Option<String>,
    /// Its World Wide Name, in hexadecimal digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wwn: Option<String>,
    /// The machine's name for it, which tells drives apart that have no serial number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Its firmware.
    pub firmware: Option<String>,
    /// Time of the report, in seconds of the Unix clock.
    pub unix_seconds: Option<i64>,
    /// The drive's own assessment.
    pub is_passed: Option<bool>,
    /// The known quantities.
    pub known: BTreeMap<Quantity, Known>,
    /// The ATA attributes, as reported.
    pub attributes: Vec<Attribute>,
    /// Whether smartctl's database does not have the drive, so that its attributes have smartctl's names for any drive.
    #[serde(skip)]
    pub is_default_named: bool,
    /// Reported values that are not understood, by name.
    pub not_understood: Vec<String>,
    /// Quantities that were reported, and of which no report could be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<Quantity>,
    /// Values that contradict each other, in words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub contradictions: Vec<String>,
    /// Entries of ATA's error log, of those that are kept, that are of data that could not be read.
    #[serde(skip)]
    pub logged_uncorrectable: u32,
    /// How the drive's last test of itself failed, in smartctl's words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_test: Option<String>,
    /// The whole record, if the drive is simulated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub simulated: Option<HealthRecord>,
}

impl Reading {
    /// Makes a reading without any quantity.
    pub fn new(source: Source) -> Self {
        Self {
            source,
            protocol: None,
            is_rotating: None,
            model: None,
            family: None,
            serial: None,
            wwn: None,
            device: None,
            firmware: None,
            unix_seconds: None,
            is_passed: None,
            known: BTreeMap::new(),
            attributes: Vec::new(),
            is_default_named: false,
            failed_test: None,
            not_understood: Vec::new(),
            unread: Vec::new(),
            contradictions: Vec::new(),
            logged_uncorrectable: 0,
            simulated: None,
        }
    }

    /// A quantity's value, if it is known.
    pub fn get(&self, quantity: Quantity) -> Option<f64> {
        self.known.get(&quantity).map(|known| known.value)
    }

    /// Adds a value, unless a better source gave the quantity before. Of two counts of errors that differ the greater stays. A value
    /// that no drive can have is listed as not understood, and two that cannot both be right as a contradiction.
    pub fn know(&mut self, quantity: Quantity, value: Option<f64>, from: &str) {
        let Some(value) = value else { return };
        if !quantity.allows(value) {
            self.refuse(quantity, format!("{from}: {value} is not possible"));
            return;
        }
        let new = Known { value, from: from.to_owned() };
        let Some(before) = self.known.get(&quantity).cloned() else {
            self.known.insert(quantity, new);
            return;
        };
        // A simulated drive knows its state more exactly than its pages do.
        if self.simulated.is_none() && quantity.disagrees(before.value, value) {
            let key = quantity.key();
            self.contradictions.push(format!("{key} is {} by {}, and {value} by {from}", before.value, before.from));
            if quantity.is_error() && value > before.value {
                self.known.insert(quantity, new);
            }
        }
    }

    /// Lists a quantity's report that could not be read.
    pub(crate) fn refuse(&mut self, quantity: Quantity, said: String) {
        self.not_understood.push(said);
        if !self.unread.contains(&quantity) {
            self.unread.push(quantity);
        }
    }

    /// Whether anything of the drive's health is known.
    pub fn tells_health(&self) -> bool {
        self.is_passed.is_some() || self.known.keys().any(|quantity| *quantity != Quantity::Capacity)
    }

    /// The reading of a simulated drive. Reading its smartctl JSON back gives the same.
    pub fn of(record: &HealthRecord, identity: &Identity) -> Self {
        let mut reading = Self::new(Source::Simulated);
        reading.protocol = Some(Protocol::Nvme);
        reading.model = Some(identity.model.clone());
        reading.serial = Some(identity.serial.clone());
        reading.firmware = Some(identity.firmware.clone());
        let seconds = (record.day * DAY_SECONDS as f64) as i64;
        reading.unix_seconds = Some(DAY_0_UNIX_SECONDS.saturating_add(seconds));
        reading.is_passed = Some(record.critical_warning() == 0);
        reading.know_all_of(record);
        reading
    }

    /// Adds all quantities of a simulated drive.
    pub(crate) fn know_all_of(&mut self, record: &HealthRecord) {
        let whole = |value: u64| Some(value as f64);
        let known: [(Quantity, Option<f64>); 27] = [
            (Quantity::PercentageUsed, record.percentage_used),
            (Quantity::EraseCountMin, Some(f64::from(record.erase_count_min))),
            (Quantity::EraseCountMean, Some(record.erase_count_mean)),
            (Quantity::EraseCountMax, Some(f64::from(record.erase_count_max))),
            (Quantity::EraseCountTotal, whole(record.flash_blocks_erased)),
            (Quantity::HostWritten, whole(record.host_bytes_written)),
            (Quantity::HostRead, whole(record.host_bytes_read)),
            (Quantity::FlashWritten, whole(record.flash_bytes_programmed)),
            (Quantity::FlashRead, whole(record.flash_bytes_read)),
            (Quantity::HostWrites, whole(record.host_writes)),
            (Quantity::HostReads, whole(record.host_reads)),
            (Quantity::EnduranceEstimate, record.endurance_estimate_bytes.and_then(whole)),
            (Quantity::Spare, Some(record.available_spare_percent)),
            (Quantity::SpareThreshold, Some(f64::from(AVAILABLE_SPARE_THRESHOLD_PERCENT))),
            (Quantity::BadBlocksFactory, Some(f64::from(record.blocks_bad_factory))),
            (Quantity::BadBlocksGrown, Some(f64::from(record.blocks_bad_grown))),
            (Quantity::MediaErrors, whole(record.media_errors)),
            (Quantity::UncorrectableReads, whole(record.reads_uncorrectable)),
            (Quantity::Recoveries, whole(record.recoveries)),
            (Quantity::Refreshed, whole(record.blocks_refreshed)),
            (Quantity::Temperature, Some(f64::from(record.whole_celsius()))),
            (Quantity::PowerOnHours, Some(record.power_on_hours)),
            (Quantity::PowerCycles, whole(record.power_cycles)),
            (Quantity::UnsafeShutdowns, whole(record.unsafe_shutdowns)),
            (Quantity::CriticalWarning, Some(f64::from(record.critical_warning()))),
            (Quantity::DiesOffline, Some(f64::from(record.dies_offline))),
            (Quantity::Capacity, whole(record.capacity_bytes)),
        ];
        for (quantity, value) in known {
            self.know(quantity, value, "the simulated drive");
        }
        self.simulated = Some(record.clone());
    }
}
