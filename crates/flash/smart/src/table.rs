//! A drive's health for people, as `smartctl -H -A` prints it.

use std::fmt::Write as _;

use crate::{HealthLog, HealthRecord};

/// Columns of names.
const NAME_COLUMNS: usize = 35;

/// Log 02h in smartctl's words, and after it the values that this log has no place for.
pub fn table(record: &HealthRecord) -> String {
    let log = HealthLog::of(record);
    let verdict = if log.critical_warning == 0 { "PASSED" } else { "FAILED!" };
    let mut text = format!("SMART overall-health self-assessment test result: {verdict}\n");
    for bit in warnings(log.critical_warning) {
        let _ = writeln!(text, "- {bit}");
    }
    let data = |units: u128| format!("{} [{}]", grouped(units), size(units.saturating_mul(512_000)));
    let bytes = |bytes: u64| format!("{} [{}]", grouped(bytes), size(u128::from(bytes)));
    section(
        &mut text,
        "SMART/Health Information (NVMe Log 0x02)",
        &[
            ("Critical Warning", format!("0x{:02x}", log.critical_warning)),
            ("Temperature", format!("{} Celsius", record.whole_celsius())),
            ("Available Spare", format!("{}%", log.available_spare)),
            ("Available Spare Threshold", format!("{}%", log.available_spare_threshold)),
            ("Percentage Used", format!("{}%", log.percentage_used)),
            ("Data Units Read", data(log.data_units_read)),
            ("Data Units Written", data(log.data_units_written)),
            ("Host Read Commands", grouped(log.host_read_commands)),
            ("Host Write Commands", grouped(log.host_write_commands)),
            ("Controller Busy Time", grouped(log.controller_busy_time)),
            ("Power Cycles", grouped(log.power_cycles)),
            ("Power On Hours", grouped(log.power_on_hours)),
            ("Unsafe Shutdowns", grouped(log.unsafe_shutdowns)),
            ("Media and Data Integrity Errors", grouped(log.media_and_data_integrity_errors)),
            ("Error Information Log Entries", grouped(log.error_information_log_entries)),
            ("Warning  Comp. Temperature Time", grouped(log.warning_composite_temperature_time)),
            ("Critical Comp. Temperature Time", grouped(log.critical_composite_temperature_time)),
        ],
    );
    let erases = format!("{} / {:.1} / {}", record.erase_count_min, record.erase_count_mean, record.erase_count_max);
    section(
        &mut text,
        "Flash, which log 0x02 does not report",
        &[
            ("Bytes Programmed", bytes(record.flash_bytes_programmed)),
            ("Bytes Read", bytes(record.flash_bytes_read)),
            ("Write Amplification", record.write_amplification().map_or("-".to_owned(), |found| format!("{found:.3}"))),
            ("Erases, Least / Mean / Most", erases),
            ("Bad Blocks, Factory / Grown", format!("{} / {}", record.blocks_bad_factory, record.blocks_bad_grown)),
            (
                "Most Re-reads of a Host Read",
                record.rereads_max.map_or("not limited".to_owned(), |most| most.to_string()),
            ),
            ("Reads Corrected / Uncorrectable", format!("{} / {}", record.reads_corrected, record.reads_uncorrectable)),
            ("Energy of the Flash", format!("{:.3} Wh", record.flash_energy_watt_hours())),
        ],
    );
    text
}

fn section(text: &mut String, title: &str, lines: &[(&str, String)]) {
    let _ = writeln!(text, "\n{title}");
    for (name, value) in lines {
        let _ = writeln!(text, "{:<NAME_COLUMNS$} {value}", format!("{name}:"));
    }
}

/// Meanings of the critical warning's bits, in smartctl's words.
fn warnings(bits: u8) -> impl Iterator<Item = &'static str> {
    let meanings = [
        (0, "available spare has fallen below threshold"),
        (2, "device reliability has been degraded"),
        (3, "media has been placed in read only mode"),
    ];
    meanings.into_iter().filter(move |(bit, _)| bits >> bit & 1 == 1).map(|(_, meaning)| meaning)
}

/// A number with a comma between thousands.
fn grouped(value: impl Into<u128>) -> String {
    let digits = value.into().to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Three digits and a decimal unit, truncated as in smartctl: "1.06 TB".
fn size(bytes: u128) -> String {
    const UNITS: [&str; 7] = ["B", "KB", "MB", "GB", "TB", "PB", "EB"];
    let mut index = 0;
    let mut unit = 1u128;
    while index + 1 < UNITS.len() && bytes >= 1000 * unit {
        unit *= 1000;
        index += 1;
    }
    debug_assert!(bytes < 1000 * unit || index + 1 == UNITS.len(), "a size has three digits or the largest unit");
    let (whole, thousandths) = (bytes / unit, bytes % unit * 1000 / unit);
    let number = match whole {
        _ if index == 0 => whole.to_string(),
        0..10 => format!("{whole}.{:02}", thousandths / 10),
        10..100 => format!("{whole}.{:01}", thousandths / 100),
        _ => whole.to_string(),
    };
    format!("{number} {}", UNITS[index])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_smartctl_does() {
        // From smartctl's output of an ADATA IM2P33F3.
        assert_eq!(grouped(4_731_158u32), "4,731,158");
        assert_eq!(size(4_731_158 * 512_000), "2.42 TB");
        assert_eq!(size(7_069_809 * 512_000), "3.61 TB");
        assert_eq!(size(128_035_676_160), "128 GB");
        assert_eq!([0u8, 7].map(grouped), ["0", "7"]);
        assert_eq!(grouped(u128::MAX), "340,282,366,920,938,463,463,374,607,431,768,211,455");
        for (bytes, want) in [(0, "0 B"), (999, "999 B"), (1000, "1.00 KB"), (512_000, "512 KB"), (99_950, "99.9 KB")] {
            assert_eq!(size(bytes), want);
        }
        assert!(size(u128::MAX).ends_with(" EB"));
    }

    #[test]
    fn a_table_says_what_is_wrong_and_what_log_02h_leaves_out() {
        let record = HealthRecord {
            host_bytes_written: 1_000_000,
            flash_bytes_programmed: 2_500_000,
            available_spare_percent: 9.9,
            is_read_only: true,
            ..HealthRecord::default()
        };
        let text = table(&record);
        for line in [
            "SMART overall-health self-assessment test result: FAILED!\n- available spare has fallen below threshold\n- media has been placed",
            "Critical Warning:                   0x09\n",
            "Available Spare:                    9%\n",
            "Data Units Written:                 2 [1.02 MB]\n",
            "Write Amplification:                2.500\n",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
        assert!(!text.contains("degraded"), "{text}");
    }
}
