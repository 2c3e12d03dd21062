//! The text that CrystalDiskInfo saves on Windows: the drives of a machine, each with its names and its table of SMART, whose raw
//! values are hexadecimal. They are turned into smartctl's JSON and read like it.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde_json::{Value, json};

use super::foreign::set;
use super::pages::plain;
use super::{ReadError, smartctl_json};
use crate::Reading;
use crate::reading::Source;

const TOOL: &str = "CrystalDiskInfo ";

/// Heads of the tables of ATA and NVMe drives.
const ATA: &str = "ID Cur Wor Thr RawValues";
const NVME: &str = "ID RawValues";

/// Names that it gives a drive, and their places.
const NAMES: [(&str, &str); 4] = [
    ("Model", "model_name"),
    ("Firmware", "firmware_version"),
    ("Serial Number", "serial_number"),
    ("Power On Hours", "power_on_time/hours"),
];

/// The readings of such a text; `None` if it is none.
pub(super) fn readings(lines: &[&str]) -> Option<Result<Vec<Reading>, ReadError>> {
    lines.iter().find(|line| line.starts_with(TOOL))?;
    let (mut drives, mut seconds, mut table): (Vec<Value>, Option<i64>, &str) = (Vec::new(), None, "");
    for line in lines {
        let pair = line.split_once(" : ").map(|(name, value)| (name.trim(), value.trim()));
        match (pair, drives.last_mut()) {
            (Some(("Date", date)), None) => {
                let date = DateTime::strptime("%Y/%m/%d %H:%M:%S", date).ok();
                seconds = date.and_then(|date| Some(date.to_zoned(TimeZone::UTC).ok()?.timestamp().as_second()));
            }
            (Some(("Model", model)), _) => drives.push(json!({ "smartctl": {}, "model_name": model })),
            (Some((name, value)), Some(drive)) => named(drive, name, value),
            (None, Some(_)) if line.starts_with(ATA) => table = ATA,
            (None, Some(_)) if line.starts_with(NVME) => table = NVME,
            (None, Some(drive)) if !table.is_empty() => table = row(drive, line, table).map_or("", |()| table),
            _ => {}
        }
    }
    let told = drives.iter_mut().map(|drive| {
        set(drive, "local_time/time_t", &json!(seconds));
        let mut reading = smartctl_json::reading(drive)?;
        reading.source = Source::CrystalDiskInfo;
        reading.not_understood.push("the time zone of the text, taken for UTC".to_owned());
        Ok(reading)
    });
    Some(told.collect())
}

fn named(drive: &mut Value, name: &str, value: &str) {
    let place = NAMES.iter().find(|(known, _)| *known == name).map(|(_, place)| *place);
    match (place, name) {
        (Some(place), _) => set(drive, place, &json!(value)),
        (None, "Temperature") => set(drive, "temperature/current", &json!(value)),
        (None, "Interface") if value.starts_with("NVM") => set(drive, "device/protocol", &json!("NVMe")),
        (None, "Interface") if value.contains("ATA") => set(drive, "device/protocol", &json!("ATA")),
        (None, "Rotation Rate") if value.contains("SSD") => set(drive, "rotation_rate", &json!(0)),
        // Its own words for all values together: only those that call a drive bad add to the table.
        (None, "Health Status") if value.starts_with("Bad") => set(drive, "smart_status/passed", &json!(false)),
        _ => {}
    }
}

/// Adds a row of a table; `None` if the line is none.
fn row(drive: &mut Value, line: &str, table: &str) -> Option<()> {
    let hex = |word: &str| u64::from_str_radix(word, 16).ok();
    let mut words = line.split_whitespace();
    let id = words.next().filter(|id| id.len() == 2).and_then(hex)?;
    if table == NVME {
        let raw = words.next().and_then(hex)?;
        let name = plain(&words.collect::<Vec<_>>().join(" "));
        set(drive, &format!("nvme_smart_health_information_log/{name}"), &json!(raw));
        return Some(());
    }
    let [value, worst, threshold] =
        [words.next()?, words.next()?, words.next()?].map(|word| word.trim_start_matches('_').parse::<u8>().ok());
    let raw = words.next().and_then(hex)?;
    // Its names are its own, and say other units than smartctl's.
    let row =
        json!({ "id": id, "name": "", "value": value, "worst": worst, "thresh": threshold, "raw": { "value": raw } });
    let rows = drive.pointer("/ata_smart_attributes/table").and_then(Value::as_array);
    let rows: Vec<Value> = rows.into_iter().flatten().cloned().chain([row]).collect();
    set(drive, "ata_smart_attributes/table", &json!(rows));
    Some(())
}
