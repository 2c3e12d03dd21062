//! Why a text or an object has no drive's record: each cause by its own name, and what else would have one.

use serde_json::Value;
use wane_units::excerpt;

use super::ReadError;
use super::lines::is_version;
use super::pages::plain;

/// Beginnings of lines, and what they say of the drive.
const CAUSES: [(&str, &str); 6] = [
    ("SMART support is: Unavailable", "it says that the drive has no SMART"),
    ("SMART support is: Disabled", "SMART is off; `smartctl -s on` switches it on"),
    ("Device is in STANDBY", "the drive slept, and smartctl did not wake it"),
    ("Device is in SLEEP", "the drive slept, and smartctl did not wake it"),
    ("=== START OF ", "smartctl was not asked for it, or its output is cut off; run it with -x"),
    ("NVMe status:", "nvme could not ask the drive"),
];

/// Beginnings of parts of smartctl's output that have no health, and are printed alone where it is asked for them.
const PARTS: [&str; 16] = [
    "SCT ",
    "SMART Error Log",
    "SMART Extended Comprehensive Error Log",
    "SMART Extended Self-test Log",
    "SMART Self-test log",
    "SMART Selective",
    "Self-test Log",
    "Error Information (NVMe",
    "General SMART Values",
    "General Purpose Log",
    "SATA Phy Event",
    "Device Statistics",
    "Pending Defects",
    "Rd look-ahead is",
    "Write cache is",
    "AAM ",
];

const HEALTH: &str = "give its JSON (`-o json`), or the output of `nvme smart-log`";
const SMART_LOG: &str = "give the output of `nvme smart-log`";
const MEGARAID: &str = "run `smartctl -x --json -d megaraid,N /dev/sda` on the drive, with its device id as N";
const CCISS: &str = "run `smartctl -x --json -d cciss,N /dev/sda` on the drive, with its number from 0 as N";
const DIRECT: &str = "run `smartctl -x --json` on each of its drives";
const PCI: &str = "run `smartctl -x --json` on the drive as the kernel sees it";
const EVENTS: &str = "the output of `nvme persistent-event-log`, of past events";
const UNITS: &str = "the output of `nvme media-unit-stat-log`, of parts of the drive";
const OLD_WDC: &str = "a page of `nvme wdc vs-smart-add-log` that only WDC describes";
const OCP: &str = "give the JSON of `nvme ocp smart-add-log`";
const MEGA: &str = "a RAID controller's list of drives, as of MegaCli, storcli or perccli";

/// Texts of other tools: parts of lines that are all in it, what it is, and what to do.
const TEXTS: [(&[&str], &str, &str); 13] = [
    (&["Additional Smart Log for NVM"], "the output of `nvme intel smart-log-add`", HEALTH),
    (&["Error Log Entries for device"], "the output of `nvme error-log`", HEALTH),
    (&["NVME Identify Controller"], "the output of `nvme id-ctrl`", HEALTH),
    (&["Persistent Event Log for device"], EVENTS, SMART_LOG),
    (&["Number of Media Unit Status Descriptors"], UNITS, SMART_LOG),
    (&["Enclosure Device ID:", "Firmware state:"], MEGA, MEGARAID),
    (&["EID:Slt", "DID "], MEGA, MEGARAID),
    (&["physicaldrive "], "a RAID controller's list of drives, as of ssacli", CCISS),
    (&["Reported Channel,Device", "Reported Location"], "a RAID controller's list of drives, as of arcconf", DIRECT),
    (&["Device is a Hard disk", "SAS Address"], "a controller's list of drives, as of sas3ircu", PCI),
    (&["Raid Level :", "Raid Devices :"], "the output of `mdadm --detail`", DIRECT),
    (&["pool:", "state:", "scan:"], "the output of `zpool status`", DIRECT),
    (&["ATA device, with non-removable media", "Configuration:"], "the output of `hdparm -I`", PCI),
];

/// Objects of other tools: keys that are all in it, what it is, and what to do.
const OBJECTS: [(&[&str], &str, &str); 14] = [
    (&["list_of_event_entries"], EVENTS, SMART_LOG),
    (&["event_type", "event_time_stamp"], EVENTS, SMART_LOG),
    (&["mus_list"], UNITS, SMART_LOG),
    (&["muid", "cap_adj_fctr"], UNITS, SMART_LOG),
    (&["media_unit_identifier", "capacity_adjustment_factor"], UNITS, SMART_LOG),
    (&["nand_bytes_written_hi", "nand_bytes_written_lo"], OLD_WDC, OCP),
    (&["lifetime_nand_writes", "lifetime_user_writes"], OLD_WDC, OCP),
    (&["nand_writes_tlc_bytes"], OLD_WDC, OCP),
    (&["command_status", "response_data"], MEGA, MEGARAID),
    (&["collector_date", "temp"], "scrutiny's summary", "give its `/api/device/{wwn}/details`"),
    (&["signature", "success", "date"], "sdmon's output about a memory card", "what it says is the card's own"),
    (&["mountpoints", "maj_min"], "the output of `lsblk`", PCI),
    (&["mountpoint", "maj_min"], "the output of `lsblk`", PCI),
    (&["fio_version", "jobs"], "fio's result", PCI),
];

/// Lines of what smartctl said that a message quotes.
const SAID_LINES: usize = 2;

/// What an object's keys, in the tables' form, say that it is, if that is known and not read.
pub(super) fn by_keys(has: impl Fn(&str) -> bool) -> Option<ReadError> {
    let found = OBJECTS.iter().find(|(keys, ..)| keys.iter().all(|key| has(key)));
    found.map(|(_, what, help)| ReadError::Foreign { what, help })
}

/// What an object is that is known and has no record.
pub(super) fn of_object(value: &Value) -> Option<ReadError> {
    // Ceph stores what its scrape said.
    if let Some(said) = value.get("smartctl_output").or_else(|| value.get("error")).and_then(Value::as_str) {
        let said = said.lines().next().unwrap_or_default().trim_end_matches(": stderr:");
        if value.get("smartctl_error_code").is_some() && !said.is_empty() {
            return Some(ReadError::Smartctl(excerpt(said).to_string()));
        }
    }
    let is_list = ["devices", "Devices"].iter().any(|key| value.get(key).is_some_and(Value::is_array));
    if (is_list && value.get("smartctl").is_none())
        || (value.get("devpath").is_some() && value.get("wearout").is_some())
    {
        return Some(ReadError::Devices);
    }
    let keys: Vec<String> = value.as_object().into_iter().flatten().map(|(key, _)| plain(key)).collect();
    by_keys(|wanted| keys.iter().any(|key| key == wanted))
}

/// What a text is that has records of the past, which are not the drive's state.
pub(super) fn of_events(lines: &[&str]) -> Option<ReadError> {
    let is_one = lines.iter().any(|line| line.starts_with("Persistent Event Log for device"));
    is_one.then_some(ReadError::Foreign { what: EVENTS, help: SMART_LOG })
}

pub(super) fn of_text(lines: &[&str]) -> ReadError {
    let has = |part: &&str| lines.iter().any(|line| line.contains(part));
    if let Some((_, what, help)) = TEXTS.iter().find(|(parts, ..)| parts.iter().all(&has)) {
        return ReadError::Foreign { what, help };
    }
    if !lines.is_empty() && lines.iter().filter(|line| !line.is_empty()).all(|line| is_scanned(line)) {
        return ReadError::Devices;
    }
    let normal = |line: &&str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let plain: Vec<String> = lines.iter().map(normal).collect();
    let cause = CAUSES.iter().find(|(start, _)| plain.iter().any(|line| line.starts_with(start)));
    // A log may have its own lines before: the time, the machine's name.
    let mut rest = lines.iter().skip_while(|line| !is_version(line));
    let is_smartctl = rest.next().is_some();
    let said: Vec<&str> =
        rest.copied().filter(|line| !line.is_empty() && !is_version(line) && !line.starts_with("Copyright")).collect();
    let usage = said.iter().all(|line| line.starts_with("Usage:") || line.starts_with("Use smartctl"));
    let is_part = said.iter().any(|line| PARTS.iter().any(|start| line.starts_with(start)));
    match cause {
        Some((_, cause)) => ReadError::NoHealth((*cause).to_owned()),
        None if !is_smartctl => ReadError::Unknown,
        None if said.is_empty() || usage => ReadError::NoHealth("smartctl printed its name and no more".to_owned()),
        None if said.iter().any(|line| is_scanned(line)) => ReadError::Devices,
        None if is_part => {
            ReadError::NoHealth("smartctl was asked for another part of it alone; run it with -x".to_owned())
        }
        None => ReadError::Smartctl(excerpt(&said[..said.len().min(SAID_LINES)].join("; ")).to_string()),
    }
}

/// Whether a line is of `smartctl --scan`: "/dev/sda -d sat # /dev/sda [SAT], ATA device".
fn is_scanned(line: &str) -> bool {
    let mut words = line.trim_start_matches(['#', ' ']).split_whitespace();
    words.next().is_some_and(|device| device.starts_with("/dev/")) && words.next() == Some("-d")
}
