//! The shapes in which people have the output of smartctl and nvme: each is read as what it was made of.

#![allow(clippy::unwrap_used, reason = "tests")]

use serde_json::{Value, json};
use wane_smart::Quantity as Q;
use wane_smart::doctor::{Verdict, judge};
use wane_smart::{Protocol, Reading, Source, latest_first, read, read_named};

fn one(bytes: &[u8]) -> Reading {
    let mut readings = read(bytes).unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(bytes)));
    assert_eq!(readings.len(), 1, "{readings:#?}");
    readings.remove(0)
}

fn check(reading: &Reading, wanted: &[(Q, f64)]) {
    for (quantity, want) in wanted {
        assert_eq!(reading.get(*quantity), Some(*want), "{} of {reading:#?}", quantity.key());
    }
}

/// An NVMe drive in smartctl's text, with commas between thousands and a point before decimals.
const NVME: &str = "smartctl 7.3 2022-02-28 r5338 [x86_64-w64-mingw32-w10-20H2] (sf-7.3-1)
Copyright (C) 2002-22, Bruce Allen, Christian Franke, www.smartmontools.org

=== START OF INFORMATION SECTION ===
Model Number:                       A DRIVE 1TB
Serial Number:                      TEST0002
Total NVM Capacity:                 1,000,204,886,016 [1.00 TB]
Local Time is:                      Wed Mar 30 13:30:12 2022 UTC

=== START OF SMART DATA SECTION ===
SMART overall-health self-assessment test result: PASSED

SMART/Health Information (NVMe Log 0x02)
Critical Warning:                   0x00
Temperature:                        43 Celsius
Available Spare:                    100%
Available Spare Threshold:          10%
Percentage Used:                    3%
Data Units Read:                    46,291,433 [23.7 TB]
Data Units Written:                 41,327,562 [21.1 TB]
Host Write Commands:                518,902,771
Power Cycles:                       1,322
Power On Hours:                     6,038
Media and Data Integrity Errors:    1,784
";

fn check_nvme(reading: &Reading) {
    check(reading, &[(Q::Capacity, 1_000_204_886_016.0), (Q::PowerOnHours, 6038.0), (Q::PowerCycles, 1322.0)]);
    check(reading, &[(Q::HostWritten, 41_327_562.0 * 512e3), (Q::HostRead, 46_291_433.0 * 512e3)]);
    check(reading, &[(Q::MediaErrors, 1784.0), (Q::HostWrites, 518_902_771.0), (Q::Temperature, 43.0)]);
    assert_eq!(reading.serial.as_deref(), Some("TEST0002"));
    assert_eq!((reading.unix_seconds, reading.is_passed), (Some(1_648_647_012), Some(true)));
    assert_eq!(reading.not_understood, Vec::<String>::new());
}

#[test]
fn numbers_are_whole_in_every_code_page() {
    check_nvme(&one(NVME.as_bytes()));
    let with = |separator: &[u8]| -> Vec<u8> {
        let is_digit = |at: usize| NVME.as_bytes().get(at).is_some_and(u8::is_ascii_digit);
        let parts = NVME.bytes().enumerate().map(|(at, byte)| match byte {
            b',' if is_digit(at - 1) && is_digit(at + 1) => separator.to_vec(),
            byte => vec![byte],
        });
        parts.flatten().collect()
    };
    let spaces: [&[u8]; 9] = [
        b" ",
        b"?",
        b"??",
        b"\xa0",
        b"\xff",
        b"\x9a",
        "\u{a0}".as_bytes(),
        "\u{202f}".as_bytes(),
        "\u{c2}\u{a0}".as_bytes(),
    ];
    for separator in spaces {
        check_nvme(&one(&with(separator)));
    }
}

/// A cut number would hide that errors grow.
#[test]
fn a_number_that_is_not_understood_whole_is_told_and_not_used() {
    for (from, to, quantity) in [
        ("1,784", "1 78", Q::MediaErrors),
        ("41,327,562 [21.1 TB]", "41 [21,1 TB]", Q::HostWritten),
        ("6,038", "6~038", Q::PowerOnHours),
    ] {
        let reading = one(NVME.replace(from, to).as_bytes());
        assert!(reading.not_understood.iter().any(|said| said.contains(to)), "{:?}", reading.not_understood);
        assert_eq!(reading.get(quantity), None, "{quantity:?}");
    }
    let grown = |day: u32, errors: &str| {
        let text = NVME.replace("Mar 30", &format!("Mar {day}")).replace("1,784", errors);
        one(text.as_bytes())
    };
    let judgement = judge(vec![grown(30, "1 784"), grown(10, "1 000")]).unwrap();
    let errors = judgement.findings.iter().find(|finding| finding.rule == "media-errors").unwrap();
    assert!(errors.verdict == Verdict::Warning && errors.reason.contains("784 more"), "{errors:?}");
}

/// A key of JSON with nothing behind it is no drive without wear: nobody calls that good.
#[test]
fn a_key_without_a_value_is_told() {
    for nothing in ["", "-", " ", "not available"] {
        let log = json!({ "percentage_used": nothing, "available_spare": 100, "media_errors": 0 });
        let record = json!({
            "smartctl": {}, "device": { "protocol": "NVMe" }, "smart_status": { "passed": true }, "nvme_smart_health_information_log": log,
        });
        let reading = one(record.to_string().as_bytes());
        assert_eq!(reading.unread, [Q::PercentageUsed], "{nothing:?}: {reading:#?}");
        let judged = judge(vec![reading]).unwrap();
        assert_eq!(judged.verdict, Verdict::Notice, "{nothing:?}: {}", judged.text());
    }
}

#[test]
fn what_others_put_before_each_line_changes_nothing() {
    let forms: [fn(&str) -> String; 5] = [
        |line| format!("    {line}"),
        |line| format!("> {line}"),
        |line| format!("nov 26 10:00:00 host smartd-report[123]: {line}"),
        |line| format!("logs/a.log:{line}"),
        |line| format!("2026-02-23T10:00:00Z {line}"),
    ];
    for form in forms {
        let text: Vec<String> = NVME.lines().map(form).collect();
        check_nvme(&one(text.join("\n").as_bytes()));
    }
    let pasted = format!("root@host:~# smartctl -a /dev/nvme0\n{NVME}root@host:~#");
    check_nvme(&one(pasted.as_bytes()));
}

#[test]
fn output_of_attributes_alone_is_a_drive_without_a_name() {
    let data = &NVME[NVME.find("=== START OF SMART DATA").unwrap()..];
    let version = "smartctl 6.6 2016-05-31 r4324 [x86_64-linux-4.4.35-2-pve] (local build)\n\n";
    for text in [format!("{version}{data}"), data.to_owned(), data[data.find("SMART/Health").unwrap()..].to_owned()] {
        let reading = one(text.as_bytes());
        check(&reading, &[(Q::PercentageUsed, 3.0), (Q::PowerOnHours, 6038.0)]);
        assert_eq!((reading.model, reading.protocol), (None, Some(Protocol::Nvme)));
    }
    let sata = "smartctl 7.4 2023-08-01 r5530 [x86_64-linux-6.8.0] (local build)\n\n=== START OF READ SMART DATA SECTION ===\n\
                ID# ATTRIBUTE_NAME          FLAG     VALUE WORST THRESH TYPE      UPDATED  WHEN_FAILED RAW_VALUE\n\
                5 Reallocated_Sector_Ct   0x0033   100   100   010    Pre-fail  Always       -       24\n\
                197 Current_Pending_Sector  0x0012   100   100   000    Old_age   Always       -       8\n";
    let reading = one(sata.as_bytes());
    check(&reading, &[(Q::Reallocated, 24.0), (Q::Pending, 8.0)]);
    assert_eq!(reading.protocol, Some(Protocol::Ata));
    // Runs of other drives follow, and parts of the same drive.
    assert_eq!(read(format!("{sata}{sata}").as_bytes()).unwrap().len(), 2);
    let parts = format!("{}\n{version}{data}", &NVME[..NVME.find("=== START OF SMART DATA").unwrap()]);
    check_nvme(&one(parts.as_bytes()));
}

const SAS: &str = "smartctl 7.2 2020-12-30 r5155 [x86_64-linux-5.10.0] (local build)

=== START OF INFORMATION SECTION ===
Vendor:               KIOXIA
Product:              KPM6XRUG3T84
Revision:             BA48
User Capacity:        3,840,755,982,336 bytes [3.84 TB]
Logical block size:   512 bytes
Rotation Rate:        Solid State Device
Serial number:        TEST0007
Local Time is:        Fri Feb 14 20:54:53 2025 CET
Temperature Warning:  Disabled or Not Supported

=== START OF READ SMART DATA SECTION ===
SMART Health Status: OK

Percentage used endurance indicator: 97%
Current Drive Temperature:     36 C
Drive Trip Temperature:        70 C

Accumulated power on time, hours:minutes 24755:57
Elements in grown defect list: 412

Error counter log:
           Errors Corrected by           Total   Correction     Gigabytes    Total
               ECC          rereads/    errors   algorithm      processed    uncorrected
           fast | delayed   rewrites  corrected  invocations   [10^9 bytes]  errors
read:          0        0         0         0          0     118702.121           0
write:         0        0         0         0          0      97311.440          37
verify:        0        0         0         0          0        305.998           0

Non-medium error count:        0
";

#[test]
fn a_sas_drive_is_read_from_text_as_from_json() {
    let scsi = json!({
        "smartctl": { "version": [7, 5] }, "device": { "protocol": "SCSI" }, "scsi_model_name": "KIOXIA KPM6XRUG3T84",
        "serial_number": "TEST0007", "rotation_rate": 0, "user_capacity": { "bytes": 3_840_755_982_336u64 },
        "smart_status": { "passed": true }, "endurance_used": { "current_percent": 97 },
        "temperature": { "current": 36, "drive_trip": 70 }, "power_on_time": { "hours": 24755, "minutes": 57 },
        "scsi_grown_defect_list": 412, "scsi_error_counter_log": {
            "read": { "gigabytes_processed": "118702.121", "total_uncorrected_errors": 0 },
            "write": { "gigabytes_processed": "97311,440", "total_uncorrected_errors": 37 } },
    });
    let (of_json, of_text) = (one(scsi.to_string().as_bytes()), one(SAS.as_bytes()));
    for reading in [&of_json, &of_text, &one(SAS.replace(".121", ",121").replace(".440", ",440").as_bytes())] {
        check(reading, &[(Q::PercentageUsed, 97.0), (Q::Temperature, 36.0), (Q::TemperatureCritical, 70.0)]);
        check(reading, &[(Q::PowerOnHours, 24755.95), (Q::Reallocated, 412.0), (Q::MediaErrors, 37.0)]);
        check(
            reading,
            &[(Q::HostWritten, 97_311.44 * 1e9), (Q::HostRead, 118_702.121 * 1e9), (Q::Capacity, 3_840_755_982_336.0)],
        );
        assert_eq!((reading.model.as_deref(), reading.is_rotating), (Some("KIOXIA KPM6XRUG3T84"), Some(false)));
        assert_eq!((reading.protocol, reading.is_passed), (Some(Protocol::Scsi), Some(true)));
        assert_eq!(reading.not_understood, Vec::<String>::new());
    }
    assert!(judge(vec![of_json, of_text]).is_ok(), "they are of one drive");
    let old =
        SAS.replace("Accumulated power on time, hours:minutes 24755:57", "  number of hours powered up = 24755.95");
    check(&one(old.as_bytes()), &[(Q::PowerOnHours, 24755.95)]);
}

#[test]
fn nvme_smart_log_is_read_as_text() {
    let old = "Smart Log for NVME device:/dev/nvme1n1 namespace-id:ffffffff
critical_warning                    : 0x9
temperature                         : 38 C
available_spare                     : 3%
available_spare_threshold           : 10%
percentage_used                     : 27%
data_units_read                     : 27,415,274
data_units_written                  : 2,436,083,299
power_on_hours                      : 14,453
media_errors                        : 0
";
    let new = "Smart Log for NVME device:nvme1n1 namespace-id:ffffffff
critical_warning\t\t\t: 0x9
      Available Spare[0]             : 1
temperature\t\t\t\t: 100 \u{b0}F (311 Kelvin)
available_spare\t\t\t\t: 3%
available_spare_threshold\t\t: 10%
percentage_used\t\t\t\t: 27%
Data Units Read\t\t\t\t: 27415274 (14.04 TB)
Data Units Written\t\t\t: 2436083299 (1.25 PB)
power_on_hours\t\t\t\t: 14453
media_errors\t\t\t\t: 0
";
    for text in [
        old.to_owned(),
        new.to_owned(),
        format!("$ nvme smart-log\n{old}$"),
        old[old.find("crit").unwrap()..].to_owned(),
    ] {
        let reading = one(text.as_bytes());
        check(
            &reading,
            &[(Q::CriticalWarning, 9.0), (Q::Spare, 3.0), (Q::SpareThreshold, 10.0), (Q::PercentageUsed, 27.0)],
        );
        check(
            &reading,
            &[(Q::HostWritten, 2_436_083_299.0 * 512e3), (Q::PowerOnHours, 14_453.0), (Q::Temperature, 38.0)],
        );
        assert_eq!((reading.source, reading.protocol), (Source::NvmeText, Some(Protocol::Nvme)));
        assert_eq!(reading.not_understood, Vec::<String>::new());
        assert_eq!(judge(vec![reading]).unwrap().verdict, Verdict::Failing);
    }
    let both = format!("{old}{}", old.replace("14,453", "14,477"));
    let judgement = judge(latest_first(read(both.as_bytes()).unwrap())).unwrap();
    assert_eq!((judgement.records.count, judgement.known[&Q::PowerOnHours].value), (2, 14_477.0));
}

fn smartctl() -> Value {
    json!({
        "json_format_version": [1, 0], "smartctl": { "version": [7, 3], "exit_status": 0 },
        "device": { "name": "/dev/nvme0", "protocol": "NVMe" }, "model_name": "A: \"DRIVE\"", "serial_number": "007",
        "nvme_smart_health_information_log": { "percentage_used": 3, "media_errors": 0, "temperature_sensors": [40, 41] },
    })
}

/// A value as smartctl prints it with `--json=g` and `--json=y`.
fn assignments(value: &Value, path: &str, lines: &mut String) {
    match value {
        Value::Object(members) => {
            *lines += &format!("{path} = {{}};\n");
            members.iter().for_each(|(key, value)| assignments(value, &format!("{path}.{key}"), lines));
        }
        Value::Array(elements) => {
            *lines += &format!("{path} = [];\n");
            elements.iter().enumerate().for_each(|(at, value)| assignments(value, &format!("{path}[{at}]"), lines));
        }
        value => *lines += &format!("{path} = {value};\n"),
    }
}

#[test]
fn smartctls_other_forms_of_json_say_the_same() {
    let want = one(smartctl().to_string().as_bytes());
    let mut gron = String::new();
    assignments(&smartctl(), "json", &mut gron);
    assert_eq!(one(gron.as_bytes()), want);
    let yaml = "---\njson_format_version:\n  - 1\n  - 0\nsmartctl:\n  version:\n    - 7\n    - 3\n  exit_status: 0\ndevice:\n  \
                name: \"/dev/nvme0\"\n  protocol: \"NVMe\"\nmodel_name: \"A: \\\"DRIVE\\\"\"\nserial_number: \"007\"\n\
                nvme_smart_health_information_log:\n  percentage_used: 3\n  media_errors: 0\n  temperature_sensors:\n    - 40\n    - 41\n";
    assert_eq!(one(yaml.as_bytes()), want);
    assert_eq!(one(yaml.strip_prefix("---\n").unwrap().as_bytes()), want);
    assert_eq!(read(format!("{yaml}{yaml}").as_bytes()).unwrap().len(), 2);
    let cut = read(yaml.replace("\"007\"", "\"007").as_bytes()).unwrap_err().to_string();
    assert!(cut.starts_with("is no whole YAML: ") && cut.lines().count() == 1, "{cut}");
    let bomb = "---\nsmartctl:\n  a: &a [1, 2]\n  b: *a\n";
    assert!(read(bomb.as_bytes()).unwrap_err().to_string().contains("aliases"));
    let quoted: Vec<String> = format!("{:#}", smartctl()).lines().map(|line| format!("> {line}")).collect();
    assert_eq!(one(quoted.join("\n").as_bytes()), want);
    let pasted = format!("root@host:~# smartctl -aj /dev/nvme0\n{:#}", smartctl());
    assert_eq!(one(pasted.as_bytes()), want);
    let behind = one(format!("{:#}\nroot@host:~#", smartctl()).as_bytes());
    assert_eq!(behind.not_understood, ["\"root@host:~#\" behind the JSON"]);
}

#[test]
fn json_may_be_keyed_by_device_or_wrapped() {
    let mut bare = smartctl();
    let members = bare.as_object_mut().unwrap();
    for key in ["smartctl", "device"] {
        assert!(members.remove(key).is_some());
    }
    for (wrapped, device) in [
        (json!({ "sda": bare }), "sda"),
        (json!({ "output": bare }), "output"),
        (json!({ "host": "a", "drives": { "/dev/sda": bare } }), "/dev/sda"),
        (json!({ "time": 5, "disks": [bare] }), "disks"),
        (json!({ "changed": false, "stdout": bare.to_string() }), "stdout"),
    ] {
        let reading = one(wrapped.to_string().as_bytes());
        check(&reading, &[(Q::PercentageUsed, 3.0)]);
        assert_eq!(
            (reading.serial.as_deref(), reading.device.as_deref()),
            (Some("007"), (device != "stdout").then_some(device))
        );
    }
    check_nvme(&one(json!({ "stdout": NVME }).to_string().as_bytes()));
    // Two drives without serial numbers are two, and no history.
    bare.as_object_mut().unwrap().remove("serial_number");
    let two = read(json!({ "sda": bare, "sdb": bare }).to_string().as_bytes()).unwrap();
    let said = judge(two).unwrap_err().to_string();
    assert!(said.contains("two drives, devices \"sda\" and \"sdb\""), "{said}");
    let named = |name: &str| one(json!({ name: bare }).to_string().as_bytes());
    assert!(judge(vec![named("/dev/nvme0"), named("nvme0n1"), named("ng0n1")]).is_ok());
    assert!(judge(vec![named("nvme0n1"), named("nvme1n1")]).is_err());
    assert!(read(b"{\"a\": {\"b\": [1, \"c\"]}}").unwrap_err().to_string().contains("neither smartctl's"));
}

#[test]
fn smartds_log_is_a_history() {
    let ata = "2019-04-26 14:12:34;\t1;100;0;\t5;100;0;\t9;99;11242;\t12;100;153;\t194;216;193274773534;\t241;100;7;\n\
               2019-04-27 14:12:34;\t1;100;0;\t5;100;8;\t9;99;11266;12;100;153;\t194;216;193274773534;\t241;100;7;\n";
    let readings = read(ata.as_bytes()).unwrap();
    assert_eq!(readings.len(), 2);
    check(
        &readings[0],
        &[(Q::Reallocated, 0.0), (Q::PowerOnHours, 11_242.0), (Q::PowerCycles, 153.0), (Q::Temperature, 30.0)],
    );
    check(&readings[1], &[(Q::Reallocated, 8.0), (Q::PowerCycles, 153.0)]);
    assert!(readings[1].not_understood.contains(&"attribute 241".to_owned()), "{:?}", readings[1].not_understood);
    let judgement = judge(latest_first(readings)).unwrap();
    assert_eq!((judgement.records.days, judgement.rates[&Q::Reallocated].increase), (Some(1.0), 8.0));
    // The names are those of the file, by which its family is known.
    let named = read_named("/var/lib/smartmontools/attrlog.WDC_WDS250G2B0A_00SM50-S1.ata.csv", ata.as_bytes()).unwrap();
    assert_eq!((named[0].model.as_deref(), named[0].serial.as_deref()), (Some("WDC WDS250G2B0A 00SM50"), Some("S1")));
    check(&named[0], &[(Q::HostWritten, 7.0 * 1_073_741_824.0)]);
    let other = json!({ "smartctl": {}, "model_name": "WDC WDS250G2B0A-00SM50", "serial_number": "S1", "power_cycle_count": 9 });
    assert!(judge(vec![one(other.to_string().as_bytes()), named[0].clone()]).is_ok(), "they are of one drive");
    // Upper bits count something else: minutes, or the least and the most.
    let packed = one(b"2020-01-02 03:04:05;\t9;60;683071598791665;\t5;100;4295032855;\n");
    check(&packed, &[(Q::PowerOnHours, 35_825.0), (Q::Reallocated, 23.0)]);
    let scsi = "2023-06-14\t06:02:03;\tread-corr-by-ecc-fast;0;\tread-gb-processed;77192.668;\tread-total-unc-errors;1;\t\
                write-gb-processed;229818.534;\twrite-total-unc-errors;2;\tnon-medium-errors;0;\ttemperature;27;";
    let reading = one(scsi.as_bytes());
    check(
        &reading,
        &[(Q::HostRead, 77_192.668e9), (Q::HostWritten, 229_818.534e9), (Q::MediaErrors, 3.0), (Q::Temperature, 27.0)],
    );
    assert_eq!(reading.protocol, Some(Protocol::Scsi));
    let cut = read(format!("{ata}2019-04-28 14:1").as_bytes()).unwrap();
    assert_eq!(cut.len(), 2);
    assert!(cut[1].not_understood.contains(&"a line of the log that is cut off".to_owned()));
    assert!(read(b"2019-04-26 we met; and left").is_err());
}

#[test]
fn metrics_of_the_exporter_are_the_drives_of_a_machine() {
    let text = "# HELP smartctl_device_percentage_used Device write percentage used\n\
                smartctl_device{device=\"nvme0\",protocol=\"NVMe\",model_name=\"A \\\"DRIVE\\\"\",serial_number=\"S1\",firmware_version=\"\"} 1\n\
                smartctl_device_percentage_used{device=\"nvme0\"} 3\n\
                smartctl_device_media_errors{device=\"nvme0\"} 0 1700000000000\n\
                smartctl_device_bytes_written{device=\"nvme0\"} 5.24288e+08\n\
                smartctl_device_block_size{device=\"nvme0\",blocks_type=\"logical\"} 512\n\
                smartctl_device_power_on_seconds{device=\"nvme0\"} 7200\n\
                smartctl_device_temperature{device=\"nvme0\",temperature_type=\"current\"} 41\n\
                smartctl_device_smart_status{device=\"nvme0\"} 0\n\
                smartctl_device_smartctl_exit_status{device=\"nvme0\"} 8\n";
    let reading = one(text.as_bytes());
    check(&reading, &[(Q::PercentageUsed, 3.0), (Q::MediaErrors, 0.0), (Q::PowerOnHours, 2.0), (Q::Temperature, 41.0)]);
    // 1,024 units of 512,000 bytes, as since version 0.13.
    check(&reading, &[(Q::HostWritten, 524.288e6)]);
    assert_eq!((reading.model.as_deref(), reading.serial.as_deref()), (Some("A \"DRIVE\""), Some("S1")));
    assert_eq!(
        (reading.source, reading.is_passed, reading.unix_seconds),
        (Source::Exporter, Some(false), Some(1_700_000_000))
    );
    // A drive without a status has the status zero.
    let silent = one(text.replace("} 8\n", "} 0\n").as_bytes());
    assert_eq!(silent.is_passed, None);
    let sata = "smartctl_device_attribute{attribute_flags_short=\"PO--CK\",attribute_id=\"5\",attribute_name=\"Reallocated_Sector_Ct\",\
                attribute_value_type=\"raw\",device=\"sda\"} 24\n\
                smartctl_device_attribute{attribute_flags_short=\"PO--CK\",attribute_id=\"5\",attribute_name=\"Reallocated_Sector_Ct\",\
                attribute_value_type=\"thresh\",device=\"sda\"} 10\n\
                smartctl_device_bytes_written{device=\"sda\"} 0\nsmartctl_device_power_cycle_count{device=\"sda\"} 7\n";
    let reading = one(sata.as_bytes());
    check(&reading, &[(Q::Reallocated, 24.0), (Q::PowerCycles, 7.0)]);
    assert_eq!((reading.attributes[0].threshold, reading.get(Q::HostWritten)), (Some(10), None));
    let both = read(format!("{text}{sata}").as_bytes()).unwrap();
    assert_eq!(both.len(), 2);
    assert!(judge(both).unwrap_err().to_string().contains("two drives"));
}

#[test]
fn a_log_of_zeros_tells_nothing() {
    let zeros = r#"{"critical_warning":0,"temperature":0,"avail_spare":0,"spare_thresh":0,"percent_used":0,"data_units_read":0,
        "data_units_written":0,"power_cycles":0,"power_on_hours":0,"unsafe_shutdowns":0,"media_errors":0,"num_err_log_entries":0}"#;
    let smartctl = json!({ "smartctl": {}, "smart_status": { "passed": true }, "nvme_smart_health_information_log": {
        "critical_warning": 0, "temperature": -273, "available_spare": 0, "available_spare_threshold": 0, "percentage_used": 0,
        "power_on_hours": 0, "media_errors": 0 } });
    let mut text = NVME[..NVME.find("SMART/Health").unwrap()].to_owned() + "SMART/Health Information (NVMe Log 0x02)\n";
    text += "Critical Warning: 0x00\nTemperature: -273 Celsius\nAvailable Spare: 0%\nPower On Hours: 0\nPercentage Used: 0%\n";
    for input in [zeros.to_owned(), smartctl.to_string(), text] {
        let judgement = judge(vec![one(input.as_bytes())]).unwrap();
        assert_eq!(judgement.verdict, Verdict::Unknown, "{}", judgement.text());
        assert!(judgement.not_understood.iter().any(|said| said.contains("zeros alone")), "{}", judgement.text());
    }
    // A drive without spare that was ever on is no such drive.
    let worn = one(zeros.replace("\"power_on_hours\":0", "\"power_on_hours\":9").as_bytes());
    check(&worn, &[(Q::Spare, 0.0)]);
}

/// smartctl leaves `power_on_time` out where a drive uses the byte above the hours: see findings/.
#[test]
fn hours_that_only_the_attributes_text_has_are_read() {
    for (string, value) in
        [("20000 (0 0 1)", 20_000 | 1 << 24), ("20000 (1 0 0)", 20_000 | 1 << 40), ("20000", 20_000u64)]
    {
        let record = json!({
            "smartctl": {}, "device": { "protocol": "ATA" }, "model_name": "EXAMPLE SSD", "smart_status": { "passed": true },
            "ata_smart_attributes": { "table": [{ "id": 9, "name": "Power_On_Hours", "value": 95, "raw": { "value": value, "string": string } }] },
        });
        assert_eq!(one(record.to_string().as_bytes()).get(Q::PowerOnHours), Some(20_000.0), "{string}");
    }
}

#[test]
fn intels_page_adds_the_writes_to_flash() {
    let page = r#"{ "Intel Smart log" : "nvme0n1", "Device stats" : {
        "program_fail_count" : { "normalized" : 100, "raw" : 1074 },
        "wear_leveling" : { "normalized" : 100, "raw" : { "min" : 3, "max" : 9, "avg" : 5 } },
        "timed_workload_media_wear" : { "normalized" : 100, "raw" : nan },
        "nand_bytes_written" : { "normalized" : 100, "raw" : 3 }, "host_bytes_written" : { "normalized" : 100, "raw" : 2 } } }"#;
    let reading = one(page.as_bytes());
    check(&reading, &[(Q::ProgramFails, 1074.0), (Q::EraseCountMin, 3.0), (Q::EraseCountMean, 5.0)]);
    check(&reading, &[(Q::FlashWritten, 3.0 * 33_554_432.0), (Q::HostWritten, 2.0 * 33_554_432.0)]);
    assert_eq!(reading.not_understood, ["a value that is no number: nan"]);
    let log = one(br#"{"avail_spare": 100, "percent_used": 1, "data_units_written": 100, "power_on_hours": 5}"#);
    let judgement = judge(vec![log, reading]).unwrap();
    assert_eq!((judgement.records.count, judgement.known[&Q::FlashWritten].value), (1, 3.0 * 33_554_432.0));
    // Firmware that counts no erases.
    let blank = page.replace("\"min\" : 3, \"max\" : 9, \"avg\" : 5", "\"min\" : 0, \"max\" : 0, \"avg\" : 0");
    assert_eq!(one(blank.as_bytes()).get(Q::EraseCountMean), None);
    // nvme-cli fills in what the page does not have with zeros, as no drive counts: see findings/.
    let filled = page.replace("\"normalized\" : 100, \"raw\" : 1074", "\"normalized\" : 0, \"raw\" : 0");
    assert_ne!(filled, page);
    assert_eq!(one(filled.as_bytes()).get(Q::ProgramFails), None);
    let none = page.replace("\"raw\" : 1074", "\"raw\" : 0");
    assert_eq!(one(none.as_bytes()).get(Q::ProgramFails), Some(0.0));
    let hot = page.replace("\"wear_leveling\"", "\"thermal_throttle_status\" : { \"normalized\" : 100, \"raw\" : { \"pct\" : 0, \"cnt\" : 4 } }, \"wear_leveling\"");
    assert_eq!(one(hot.as_bytes()).get(Q::Throttled), Some(4.0));
    // A word in a text is no number that is missing.
    assert_eq!(one(br#"{"avail_spare": NaN, "percent_used": 3, "a": "nan \" inf"}"#).get(Q::PercentageUsed), Some(3.0));
}

#[test]
fn a_refusal_names_its_own_cause() {
    let scan = json!({ "smartctl": { "exit_status": 0 }, "devices": [{ "name": "/dev/sda", "type": "sat", "protocol": "ATA" }] });
    let info = &NVME[..NVME.find("=== START OF SMART DATA").unwrap()];
    for (input, part) in [
        (scan.to_string(), "list of devices"),
        ("/dev/sda -d sat # /dev/sda [SAT], ATA device\n/dev/sdb -d scsi # /dev/sdb, SCSI device\n".to_owned(), "list of devices"),
        (json!({ "smartctl": {}, "model_name": "X" }).to_string(), "not asked for it; run it with -x"),
        (json!({ "smartctl": {}, "smart_support": { "available": false } }).to_string(), "the drive has no SMART"),
        (json!({ "smartctl": {}, "smart_support": { "available": true, "enabled": false } }).to_string(), "SMART is off"),
        (info.to_owned(), "not asked for it"),
        (format!("{info}SMART support is:     Unavailable - device lacks SMART capability.\n"), "the drive has no SMART"),
        (format!("{info}SMART support is: Disabled\n"), "SMART is off"),
        ("smartctl 7.2 2020\n\nDevice is in STANDBY mode, exit(2)\n".to_owned(), "the drive slept"),
        (
            "smartctl 7.2 2020\n\n/dev/sda: Unknown USB bridge [0x152d:0xb581 (0x4403)]\nPlease specify device type with -d\n".to_owned(),
            "smartctl could not ask the drive: /dev/sda: Unknown USB bridge [0x152d:0xb581 (0x4403)]; Please specify",
        ),
        ("smartctl 7.2 2020\nCopyright (C) 2002-20\n".to_owned(), "printed its name and no more"),
        ("Additional Smart Log for NVME device:nvme0 namespace-id:ffffffff\nkey : 100% 0\n".to_owned(), "`nvme intel smart-log-add`"),
        ("Temperature: 40\nPower Cycles: 7\n".to_owned(), "is not of a drive"),
    ] {
        let said = read(input.as_bytes()).unwrap_err().to_string();
        assert!(said.contains(part) && said.lines().count() == 1, "{said}, wanted {part}");
        assert!(part.contains("could not ask") || !said.contains("could not ask"), "{said}");
    }
}
