//! What one record says against itself, and how severe one record is by published limits.

#![allow(clippy::unwrap_used, reason = "tests")]

use serde_json::{Value, json};
use wane_smart::Quantity as Q;
use wane_smart::doctor::{Judgement, Verdict, judge};
use wane_smart::{Reading, read};

fn one(text: &str) -> Reading {
    let mut readings = read(text.as_bytes()).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!(readings.len(), 1, "{readings:#?}");
    readings.remove(0)
}

fn check(judgement: &Judgement, rule: &str, verdict: Verdict, part: &str) {
    let finding = judgement.findings.iter().find(|finding| finding.rule == rule);
    let finding = finding.unwrap_or_else(|| panic!("no {rule}: {judgement:#?}"));
    assert!(finding.verdict == verdict && finding.reason.contains(part), "{rule}: {finding:?}, wanted {part:?}");
}

fn has(judgement: &Judgement, rule: &str) -> bool {
    judgement.findings.iter().any(|finding| finding.rule == rule)
}

/// A SATA drive in smartctl's text: rows of number, name, normalized value, threshold and raw value, and other lines.
fn sata(model: &str, family: &str, rows: &[(u8, &str, u8, u8, &str)], lines: &str) -> Reading {
    let mut text = format!(
        "=== START OF INFORMATION SECTION ===\nModel Family: {family}\nDevice Model: {model}\nSerial Number: S1\n\
         User Capacity: 1,000,204,886,016 bytes [1.00 TB]\nRotation Rate: Solid State Device\n\
         SMART overall-health self-assessment test result: PASSED\n"
    );
    for (id, name, value, threshold, raw) in rows {
        text += &format!("{id:3} {name} -O--CK {value:03} {value:03} {threshold:03} - {raw}\n");
    }
    one(&(text + lines))
}

fn judged(reading: Reading) -> Judgement {
    judge(vec![reading]).unwrap()
}

#[test]
fn wear_that_falls_on_some_drives_of_a_family_is_read_either_way() {
    let wear = |value, raw: &str, mean: &str| {
        let rows = [
            (9, "Power_On_Hours", 100, 0, "1044"),
            (173, "Average_PE_Cycles_TLC", 100, 5, mean),
            (230, "W", value, 0, raw),
        ];
        let reading =
            sata("WD Blue SA510 2.5 1000GB", "WD Blue / Red / Green SSDs", &rows, "241 H ----CK 253 253 000 - 5744\n");
        let without = sata("WD Blue SA510 2.5 1000GB", "", &rows, "");
        assert_eq!(reading.get(Q::PercentageUsed), without.get(Q::PercentageUsed));
        reading.get(Q::PercentageUsed)
    };
    // The raw value as one number, in hex, and as three words.
    for raw in ["270583988287", "0x003f001a003f", "63 26 63"] {
        assert_eq!(wear(100, raw, "4"), Some(0.63), "{raw}");
    }
    assert_eq!(wear(82, "0x075e0000075e", "116"), Some(18.86), "falls from 100");
    assert_eq!(wear(19, "0x075e0000075e", "116"), Some(19.0), "rises from 1, and its raw value is not used");
    assert_eq!(wear(2, "0x0156020a020a", "21"), Some(2.0), "its raw value has another scale");
    // Neither way fits, and it is told.
    let rows = [(230, "W", 50, 0, "0x000000000001"), (9, "Power_On_Hours", 100, 0, "10")];
    let reading = sata("WD Blue SA510 2.5 1000GB", "", &rows, "");
    assert_eq!(reading.get(Q::PercentageUsed), None);
    assert_eq!(reading.not_understood, ["attribute 230 (W): value 50, raw \"0x000000000001\""]);
}

#[test]
fn wear_that_erases_or_writes_contradict_is_not_believed() {
    // A drive of which the table has the wrong direction.
    let rows = [(177, "Wear_Leveling_Count", 0, 0, "4"), (241, "Total_LBAs_Written", 99, 0, "1000")];
    let worn = judged(sata("Samsung SSD 870 EVO 1TB", "Samsung based SSDs", &rows, ""));
    assert_eq!(worn.life.wear_percent, None);
    check(
        &worn,
        "contradictions",
        Verdict::Notice,
        "wear of 100 % by attribute 177 is not believed: each block was erased 4 times",
    );
    assert!(!has(&worn, "wear") && worn.life.basis.contains("not believed"), "{}", worn.text());
    let rows = [(231, "SSD_Life_Left", 0, 0, "0"), (241, "Host_Writes_GiB", 99, 0, "1000")];
    let worn = judged(sata("NONAME", "", &rows, ""));
    check(&worn, "contradictions", Verdict::Notice, "the drive was written 1.07 times over");
    // Worn out and believed: erases as of cells of four bits, and amplified writes.
    for rows in [
        &[(177, "Wear_Leveling_Count", 1, 0, "300")][..],
        &[(177, "Wear_Leveling_Count", 90, 0, "60000")],
        &[(177, "Wear_Leveling_Count", 99, 0, "4")],
    ] {
        let reading = sata("Samsung SSD 870 EVO 1TB", "Samsung based SSDs", rows, "");
        assert_eq!(reading.get(Q::PercentageUsed), Some(100.0 - f64::from(rows[0].2)), "{reading:#?}");
    }
    let dead = sata(
        "KINGSTON SA400S37480G",
        "Phison Driven SSDs",
        &[(231, "SSD_Life_Left", 0, 0, "0"), (241, "L", 100, 0, "164000")],
        "",
    );
    assert_eq!(dead.get(Q::PercentageUsed), Some(100.0));
}

#[test]
fn standard_keys_go_before_vendors_attributes() {
    let ata = |used: u32, spare: u32| {
        json!({
            "smartctl": {}, "device": { "protocol": "ATA" }, "model_name": "KINGSTON SV300S37A240G", "serial_number": "S1",
            "model_family": "SandForce Driven SSDs", "rotation_rate": 0, "smart_status": { "passed": true },
            "endurance_used": { "current_percent": used }, "power_on_time": { "hours": 35825, "minutes": 2 },
            "spare_available": { "current_percent": spare, "threshold_percent": 3 },
            "ata_smart_attributes": { "table": [{ "id": 231, "name": "SSD_Life_Left", "value": 95, "thresh": 11, "raw": { "value": 1, "string": "1" } }] },
        })
    };
    let judgement = judged(one(&ata(5, 100).to_string()));
    check(&judgement, "wear", Verdict::Good, "5 % of the rated wear is used (endurance_used.current_percent)");
    check(&judgement, "spare", Verdict::Good, "100 % of the spare is left, the threshold is 3 %");
    assert!(!has(&judgement, "contradictions"), "{}", judgement.text());
    let judgement = judged(one(&ata(97, 4).to_string()));
    check(&judgement, "wear", Verdict::Notice, "97 %");
    check(&judgement, "spare", Verdict::Warning, "4 % of the spare is left, the threshold is 3 %");
    check(
        &judgement,
        "contradictions",
        Verdict::Notice,
        "percentage_used_percent is 97 by endurance_used.current_percent, and 5 by attribute 231",
    );
    for (protocol, log) in [("NVMe", "nvme_smart_health_information_log"), ("SCSI", "scsi_error_counter_log")] {
        let other = json!({ "smartctl": {}, "device": { "protocol": protocol }, "endurance_used": { "current_percent": 7 },
            "spare_available": { "current_percent": 90, "threshold_percent": 5 }, log: {} });
        let reading = one(&other.to_string());
        assert_eq!(
            [Q::PercentageUsed, Q::Spare, Q::SpareThreshold].map(|key| reading.get(key)),
            [Some(7.0), Some(90.0), Some(5.0)]
        );
    }
}

#[test]
fn wear_that_stands_in_an_attribute_of_a_drive_in_no_family_is_found() {
    for (id, name, value, raw, want) in [
        (177, "Wear_Leveling_Count", 88, "900", Some(12.0)),
        (233, "Media_Wearout_Indicator", 97, "0", Some(3.0)),
        (231, "SSD_Life_Left", 0, "0", Some(100.0)),
        // smartctl's default name on a drive that counts something else, and a count that was never made.
        (233, "Media_Wearout_Indicator", 0, "38250", None),
        (177, "Wear_Leveling_Count", 0, "0", None),
        (233, "Media_Wearout_Indicator", 253, "0", None),
    ] {
        let reading = sata("NONAME", "", &[(id, name, value, 0, raw), (9, "Power_On_Hours", 100, 0, "10")], "");
        assert_eq!(reading.get(Q::PercentageUsed), want, "{name} {value} {raw}");
        let is_told = reading.not_understood.contains(&format!("attribute {id} ({name})"));
        assert_eq!(is_told, want.is_none(), "{:?}", reading.not_understood);
    }
}

#[test]
fn an_attribute_of_several_numbers_is_not_its_first() {
    let reading = sata(
        "NONAME",
        "",
        &[(5, "R", 100, 10, "0 0 24"), (187, "U", 100, 0, "3 0 7"), (194, "T", 100, 0, "24 (Min/Max 18/47)")],
        "",
    );
    assert_eq!(
        [Q::Reallocated, Q::MediaErrors, Q::Temperature].map(|key| reading.get(key)),
        [Some(24.0), None, Some(24.0)]
    );
    assert_eq!(reading.not_understood, ["attribute 187 (U): value 100, raw \"3 0 7\""]);
}

#[test]
fn device_statistics_attributes_and_the_error_log_are_held_to_each_other() {
    let lines = "0x01  0x010  4   5000  ---  Power-on Hours\n0x04  0x008  4      0  ---  Number of Reported Uncorrectable Errors\n";
    let rows =
        [(9, "Power_On_Hours", 100, 0, "9000"), (187, "Reported_Uncorrect", 100, 0, "784"), (5, "R", 100, 10, "0")];
    let judgement = judged(sata("NONAME", "", &rows, lines));
    check(&judgement, "media-errors", Verdict::Warning, "media errors: 784 over the life");
    check(
        &judgement,
        "contradictions",
        Verdict::Notice,
        "power_on_hours is 5000 by device statistics, page 01h offset 010h, and 9000 by attribute 9",
    );
    check(
        &judgement,
        "contradictions",
        Verdict::Notice,
        "media_errors is 0 by device statistics, page 04h offset 008h, and 784 by attribute 187",
    );
    let log = "ATA Error Count: 98 (device log contains only the most recent five errors)\n  40 51 08 00 00 00 00  Error: UNC at LBA = 0x0\n";
    let judgement = judged(sata("NONAME", "", &[(187, "Reported_Uncorrect", 100, 0, "0")], log));
    check(&judgement, "error-log", Verdict::Notice, "logged errors: 98 over the life");
    check(
        &judgement,
        "contradictions",
        Verdict::Notice,
        "the error log has 1 reads that could not be corrected, and attribute 187 counts none",
    );
    let json = json!({ "smartctl": {}, "device": { "protocol": "ATA" }, "smart_status": { "passed": true }, "ata_smart_error_log": {
        "summary": { "count": 98, "table": [{ "error_description": "Error: UNC at LBA = 0x0" }] } } });
    let reading = one(&json.to_string());
    assert_eq!((reading.get(Q::ErrorLogEntries), reading.logged_uncorrectable), (Some(98.0), 1));
    check(&judged(reading), "error-log", Verdict::Notice, "98");
    assert!(
        !has(&judged(one(&nvme(&json!({ "num_err_log_entries": 98 })).to_string())), "error-log"),
        "NVMe logs harmless commands"
    );
}

/// smartctl's JSON of an NVMe drive with these values changed.
fn nvme(changed: &Value) -> Value {
    let mut log = json!({ "critical_warning": 0, "temperature": 28, "available_spare": 100, "available_spare_threshold": 10,
        "percentage_used": 3, "data_units_read": 1_000_000, "power_on_hours": 21_000, "media_errors": 0 });
    for (key, value) in changed.as_object().unwrap() {
        log[key] = value.clone();
    }
    let passed = log["critical_warning"] == 0;
    json!({ "smartctl": {}, "device": { "protocol": "NVMe" }, "serial_number": "S1", "model_name": "A",
        "smart_status": { "passed": passed }, "nvme_smart_health_information_log": log })
}

#[test]
fn reliability_that_is_degraded_by_the_rating_alone_is_a_plan() {
    let of = |changed: Value| judged(one(&nvme(&changed).to_string()));
    let rated = of(json!({ "critical_warning": 4, "percentage_used": 100 }));
    check(
        &rated,
        "assessment",
        Verdict::Warning,
        "at 100 % of its rated wear, with no media error and 100 % of its spare",
    );
    assert_eq!(rated.verdict, Verdict::Warning);
    for changed in [
        json!({ "critical_warning": 4, "percentage_used": 99 }),
        json!({ "critical_warning": 4, "percentage_used": 100, "media_errors": 1 }),
        json!({ "critical_warning": 4, "percentage_used": 100, "available_spare": 12 }),
        json!({ "critical_warning": 12, "percentage_used": 100 }),
    ] {
        check(
            &of(changed),
            "assessment",
            Verdict::Failing,
            "the drive's own assessment is that it fails: reliability degraded",
        );
    }
}

#[test]
fn what_fails_has_no_forecast() {
    let of = |changed: Value| judged(one(&nvme(&changed).to_string()));
    assert!(of(json!({})).life.power_on_hours_left.is_some());
    for changed in [json!({ "critical_warning": 8 }), json!({ "available_spare": 9 })] {
        let judgement = of(changed);
        assert_eq!((&judgement.life.end, &judgement.life.power_on_hours_left), (&None, &None));
        assert!(judgement.text().contains("end of rated life    none: the drive fails"), "{}", judgement.text());
        assert!(!has(&judgement, "end-of-life"));
    }
    let mut failed = nvme(&json!({}));
    failed["smart_status"]["passed"] = json!(false);
    assert_eq!(judged(one(&failed.to_string())).life.power_on_hours_left, None);
}

#[test]
fn many_errors_in_one_record_are_judged_by_published_limits() {
    // 1,000,000 units are 4.1 x 10^12 bits: not one error is allowed. 2.5 x 10^12 units allow 10,240.
    for (errors, units, verdict, part) in [
        (7, 1_000_000u64, Verdict::Notice, "media errors: 7 over the life; an earlier record"),
        (
            536,
            1_000_000,
            Verdict::Warning,
            "media errors: 536 over the life, where its reads allow 1; an earlier record",
        ),
        (536, 2_500_000_000_000, Verdict::Notice, "536 over the life; an earlier record"),
    ] {
        let judgement = judged(one(&nvme(&json!({ "media_errors": errors, "data_units_read": units })).to_string()));
        check(&judgement, "media-errors", verdict, part);
    }
    let judgement = judged(one(&nvme(&json!({ "media_errors": 536 })).to_string()));
    let finding = judgement.findings.iter().find(|finding| finding.rule == "media-errors").unwrap();
    assert!(finding.source.starts_with("JESD218"), "{finding:?}");
    for (defects, verdict) in [(3, Verdict::Notice), (260, Verdict::Warning)] {
        let scsi = json!({ "smartctl": {}, "device": { "protocol": "SCSI" }, "rotation_rate": 0, "smart_status": { "passed": true },
            "scsi_grown_defect_list": defects });
        check(&judged(one(&scsi.to_string())), "retired", verdict, "over the life");
    }
    // Its vendor's own normalized value calls the same count small.
    check(&judged(sata("NONAME", "", &[(5, "R", 100, 10, "260")], "")), "retired", Verdict::Notice, "260");
    check(&judged(sata("NONAME", "", &[(5, "R", 60, 10, "260")], "")), "retired", Verdict::Warning, "260");
}

#[test]
fn totals_that_no_drive_reaches_are_no_totals() {
    let of = |changed: Value| one(&nvme(&changed).to_string());
    for (key, quantity) in [
        ("data_units_written", Q::HostWritten),
        ("host_writes", Q::HostWrites),
        ("power_on_hours", Q::PowerOnHours),
        ("media_errors", Q::MediaErrors),
        ("power_cycles", Q::PowerCycles),
    ] {
        let huge =
            nvme(&json!({ key: 0 })).to_string().replace(&format!("\"{key}\":0"), &format!("\"{key}\":{}", u128::MAX));
        let reading = one(&huge);
        assert_eq!(reading.get(quantity), None, "{key}");
        assert!(
            reading.not_understood.iter().any(|said| said.contains("is not possible")),
            "{:?}",
            reading.not_understood
        );
    }
    assert_eq!(of(json!({ "media_errors": 0xFFFF_FFFFu32 })).get(Q::MediaErrors), None, "all ones");
    let judgement = judged(of(json!({ "data_units_written": 1_000_000_000_000u64, "power_on_hours": 10 })));
    check(&judgement, "contradictions", Verdict::Notice, "in 11 hours under power is more than a drive can move");
    let judgement = judged(of(json!({ "power_on_hours": 10, "critical_comp_time": 1000 })));
    check(
        &judgement,
        "contradictions",
        Verdict::Notice,
        "temperature_critical_minutes of 1000 is more than its 11 hours",
    );
    let mut passed = nvme(&json!({ "critical_warning": 4 }));
    passed["smart_status"]["passed"] = json!(true);
    check(
        &judged(one(&passed.to_string())),
        "contradictions",
        Verdict::Notice,
        "is PASSED, and the critical warning is 0x04",
    );
}
