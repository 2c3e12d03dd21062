//! Why a text has no drive's record: each cause by its own name.

use wane_units::excerpt;

use super::ReadError;
use super::lines::is_version;

/// Beginnings of lines, and what they say of the drive.
const CAUSES: [(&str, &str); 6] = [
    ("SMART support is: Unavailable", "it says that the drive has no SMART"),
    ("SMART support is: Disabled", "SMART is off; `smartctl -s on` switches it on"),
    ("Device is in STANDBY", "the drive slept, and smartctl did not wake it"),
    ("Device is in SLEEP", "the drive slept, and smartctl did not wake it"),
    ("=== START OF ", "smartctl was not asked for it, or its output is cut off; run it with -x"),
    ("NVMe status:", "nvme could not ask the drive"),
];

/// Outputs of nvme-cli that are not read, by their first words.
const OTHER_NVME: [(&str, &str); 4] = [
    ("Additional Smart Log for NVME", "nvme intel smart-log-add"),
    ("SMART Cloud Attributes", "nvme ocp smart-add-log"),
    ("Error Log Entries for device", "nvme error-log"),
    ("NVME Identify Controller", "nvme id-ctrl"),
];

/// Lines of what smartctl said that a message quotes.
const SAID_LINES: usize = 2;

pub(super) fn of_text(lines: &[&str]) -> ReadError {
    if let Some((_, command)) = OTHER_NVME.iter().find(|(start, _)| lines.iter().any(|line| line.starts_with(start))) {
        return ReadError::OtherNvme((*command).to_owned());
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
    match cause {
        Some((_, cause)) => ReadError::NoHealth((*cause).to_owned()),
        None if !is_smartctl => ReadError::Unknown,
        None if said.is_empty() || usage => ReadError::NoHealth("smartctl printed its name and no more".to_owned()),
        None if said.iter().any(|line| is_scanned(line)) => ReadError::Devices,
        None => ReadError::Smartctl(excerpt(&said[..said.len().min(SAID_LINES)].join("; ")).to_string()),
    }
}

/// Whether a line is of `smartctl --scan`: "/dev/sda -d sat # /dev/sda [SAT], ATA device".
fn is_scanned(line: &str) -> bool {
    let mut words = line.trim_start_matches(['#', ' ']).split_whitespace();
    words.next().is_some_and(|device| device.starts_with("/dev/")) && words.next() == Some("-d")
}
