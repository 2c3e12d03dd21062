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

/// smartctl 7.5's own key is attribute 5's normalized value on ATA drives, whatever is left in reserve: see findings/.
#[test]
fn what_is_left_in_reserve_goes_before_what_smartctl_makes_of_reallocated_sectors() {
    let ata = |model: &str, family: &str, rows: &[(u8, &str, u8, u8, u64)]| {
        let spare = json!({ "current_percent": 100, "threshold_percent": 3 });
        let names = [("model_name", model.into()), ("model_family", family.into()), ("spare_available", spare)];
        judged(one(&unknown(rows, &names)))
    };
    for (model, family, rows, verdict, part) in [
        (
            "INTEL SSDSC2KB480G7",
            "Intel S4510/S4610/S4500/S4600 Series SSDs",
            &[(5, "Reallocated_Sector_Ct", 100, 0, 0), (232, "Available_Reservd_Space", 10, 10, 0)][..],
            Verdict::Warning,
            "10 % of the spare is left, the threshold is 10 %",
        ),
        (
            "EXAMPLE SSD",
            "",
            &[
                (5, "Reallocated_Sector_Ct", 100, 0, 0),
                (170, "Available_Reservd_Space", 14, 10, 0),
                (180, "Unused_Rsvd_Blk_Cnt_Tot", 90, 0, 5),
            ],
            Verdict::Warning,
            "14 % of the spare is left, the threshold is 10 %",
        ),
        // What says nothing of the reserve, or more of it, changes nothing.
        (
            "EXAMPLE SSD",
            "",
            &[
                (5, "Reallocated_Sector_Ct", 100, 0, 0),
                (179, "Used_Rsvd_Blk_Cnt_Tot", 100, 10, 0),
                (231, "SSD_Life_Left", 40, 0, 40),
            ],
            Verdict::Good,
            "100 % of the spare is left, the threshold is 3 %",
        ),
    ] {
        check(&ata(model, family, rows), "spare", verdict, part);
    }
}

/// A record of a SATA drive with these attributes (number, name, value, threshold, raw) that no database knows.
fn unknown(rows: &[(u8, &str, u8, u8, u64)], more: &[(&str, Value)]) -> String {
    let rows = rows.iter().map(|(id, name, value, thresh, raw)| {
        json!({ "id": id, "name": name, "value": value, "thresh": thresh, "raw": { "value": raw, "string": raw.to_string() } })
    });
    let mut record = json!({
        "smartctl": {}, "device": { "protocol": "ATA" }, "model_name": "EXAMPLE SSD", "in_smartctl_database": false, "rotation_rate": 0,
        "serial_number": "S1", "smart_status": { "passed": true }, "user_capacity": { "bytes": 512_000_000_000u64 },
        "power_on_time": { "hours": 20_000 }, "ata_smart_attributes": { "table": rows.collect::<Vec<_>>() },
    });
    more.iter().for_each(|(key, value)| record[*key] = value.clone());
    record.to_string()
}

#[test]
fn an_attribute_at_its_threshold_is_told_where_no_column_says_so() {
    for (value, thresh, verdict) in
        [(3, 10, Verdict::Warning), (10, 10, Verdict::Warning), (11, 10, Verdict::Good), (0, 0, Verdict::Good)]
    {
        let judgement = judged(one(&unknown(&[(232, "Available_Reservd_Space", value, thresh, 0)], &[])));
        let found = judgement.findings.iter().find(|finding| finding.rule == "thresholds").unwrap();
        assert_eq!(found.verdict, verdict, "{value} of {thresh}: {}", found.reason);
    }
}

#[test]
fn a_default_name_tells_no_wear_whatever_its_raw_value() {
    for raw in [0, 900] {
        let judgement = judged(one(&unknown(
            &[(177, "Wear_Leveling_Count", 100, 0, raw), (5, "Reallocated_Sector_Ct", 100, 10, 0)],
            &[],
        )));
        check(&judgement, "unread", Verdict::Notice, "percentage_used_percent");
    }
}

#[test]
fn a_failed_test_of_itself_is_a_warning() {
    let status = |passed: bool| json!({ "standard": { "table": [{ "status": { "passed": passed, "string": "Completed: read failure" } }] } });
    let rows = [(5, "Reallocated_Sector_Ct", 100, 10, 0)];
    let judgement = judged(one(&unknown(&rows, &[("ata_smart_self_test_log", status(false))])));
    check(&judgement, "self-test", Verdict::Warning, "failed: Completed: read failure");
    assert!(!has(&judged(one(&unknown(&rows, &[("ata_smart_self_test_log", status(true))]))), "self-test"));
    let table = json!({ "table": [{ "self_test_result": { "value": 7, "string": "Completed: failed segments" } }] });
    check(
        &judged(one(&unknown(&rows, &[("nvme_self_test_log", table)]))),
        "self-test",
        Verdict::Warning,
        "failed segments",
    );
}

#[test]
fn shapes_of_an_assessment_and_of_a_table_are_read() {
    let rows = [(5, "Reallocated_Sector_Ct", 1, 10, 4000)];
    let judgement = judged(one(&unknown(&rows, &[("smart_status", json!({ "passed": 0 }))])));
    assert_eq!(judgement.verdict, Verdict::Failing, "{}", judgement.text());
    let row = json!({ "5": { "id": 5, "name": "Reallocated_Sector_Ct", "value": 1, "thresh": 10, "raw": { "value": 4000, "string": "4000" } } });
    let judgement = judged(one(&unknown(&[], &[("ata_smart_attributes", json!({ "table": row }))])));
    assert!(judgement.verdict >= Verdict::Warning, "{}", judgement.text());
}

#[test]
fn drives_of_one_serial_number_and_other_capacities_are_two() {
    let of = |bytes: u64, seconds: u64| {
        let more = [("user_capacity", json!({ "bytes": bytes })), ("local_time", json!({ "time_t": seconds }))];
        one(&unknown(&[(5, "Reallocated_Sector_Ct", 100, 10, 0)], &more))
    };
    let judgement = judge(vec![of(2_000_000_000_000, 1_700_086_400), of(1_000_000_000_000, 1_700_000_000)]).unwrap();
    check(&judgement, "two-drives", Verdict::Notice, "a capacity of 1000 GB and one of 2000 GB");
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
        let is_told =
            reading.not_understood.contains(&format!("attribute {id} ({name}): value {value}, raw \"{raw}\""));
        assert_eq!(is_told, want.is_none(), "{:?}", reading.not_understood);
    }
}

/// smartctl's names for any drive say nothing of one that its database does not have.
#[test]
fn a_default_name_at_its_first_value_says_nothing() {
    let named = |family: &str, rows: &[(u8, &str, u8, u8, &str)]| sata("NONAME", family, rows, "");
    for (id, name, raw) in [
        (177, "Wear_Leveling_Count", "4"),
        (233, "Media_Wearout_Indicator", "602110"),
        (177, "Wear_Leveling_Count", "0x0004"),
    ] {
        let rows = [
            (id, name, 100, 50, raw),
            (9, "Power_On_Hours", 100, 0, "41216"),
            (231, "Unknown_SSD_Attribute", 7, 0, "7"),
        ];
        let reading = named("", &rows);
        assert_eq!(reading.get(Q::PercentageUsed), None, "{reading:#?}");
        let judgement = judged(reading);
        check(&judgement, "unread", Verdict::Notice, "percentage_used_percent was reported and could not be read");
        // Of a drive that it has, and where the value fell, the name is believed.
        assert_eq!(named("Others based SSDs", &rows).get(Q::PercentageUsed), Some(0.0));
        assert_eq!(named("", &[(id, name, 88, 50, raw)]).get(Q::PercentageUsed), Some(12.0));
    }
    let json = |is_known: bool| {
        json!({ "smartctl": {}, "smart_status": { "passed": true }, "in_smartctl_database": is_known, "model_family": "F", "ata_smart_attributes": {
            "table": [{ "id": 177, "name": "Wear_Leveling_Count", "value": 100, "raw": { "value": 4, "string": "4" } }] } })
    };
    assert_eq!([false, true].map(|known| one(&json(known).to_string()).get(Q::PercentageUsed)), [None, Some(0.0)]);
}

#[test]
fn of_several_attributes_the_worst_that_is_believed_counts() {
    let wear = |rows: &[(u8, &str, u8, u8, &str)]| {
        let reading = sata("NONAME", "Others based SSDs", rows, "");
        (reading.get(Q::PercentageUsed), judged(reading))
    };
    let (used, judgement) = wear(&[
        (177, "Wear_Leveling_Count", 99, 0, "60"),
        (231, "SSD_Life_Left", 12, 0, "12"),
        (233, "Media_Wearout_Indicator", 97, 0, "0"),
    ]);
    assert_eq!(used, Some(88.0));
    check(
        &judgement,
        "wear",
        Verdict::Notice,
        "88 % of the rated wear is used (attribute 231 (SSD_Life_Left), normalized)",
    );
    check(
        &judgement,
        "contradictions",
        Verdict::Notice,
        "percentage_used_percent is 88 by attribute 231 (SSD_Life_Left), normalized, and 1 by attribute 177",
    );
    // A drive whose blocks were erased 62 times at most has not used 97 %.
    let (used, judgement) = wear(&[
        (169, "Max_Erase_Count", 96, 0, "62"),
        (177, "Wear_Leveling_Count", 98, 0, "49"),
        (233, "Media_Wearout_Indicator", 3, 0, "9"),
    ]);
    assert_eq!(used, Some(2.0));
    check(
        &judgement,
        "contradictions",
        Verdict::Notice,
        "wear of 97 % by attribute 233 (Media_Wearout_Indicator), normalized is not believed: no block was",
    );
    // The raw value is the percentage where the normalized one stays.
    let (used, _) = wear(&[(169, "Remaining_Lifetime_Perc", 100, 0, "31")]);
    assert_eq!(used, Some(69.0));
    let (used, _) = wear(&[(173, "Drive_Life_Used%", 100, 0, "31")]);
    assert_eq!(used, Some(31.0));
    // A standard goes before all of them, and it is told if they do not agree.
    let lines = "0x07  0x008  1      3  ---  Percentage Used Endurance Indicator\n";
    let judgement = judged(sata("NONAME", "Others based SSDs", &[(231, "SSD_Life_Left", 12, 0, "12")], lines));
    check(&judgement, "contradictions", Verdict::Notice, "percentage_used_percent is 3 by device statistics");
}

#[test]
fn parts_of_the_flash_are_added_and_a_total_is_not() {
    let flash = |family: &str, rows: &[(u8, &str, u8, u8, &str)]| sata("NONAME", family, rows, "").get(Q::FlashWritten);
    let unit = 33_554_432.0;
    let both = [(245, "TLC_Writes_32MiB", 100, 0, "5"), (246, "SLC_Writes_32MiB", 100, 0, "7")];
    assert_eq!(flash("Others based SSDs", &both), Some(12.0 * unit));
    assert_eq!(flash("Silicon Motion based SSDs", &both), Some(12.0 * unit));
    assert_eq!(flash("Silicon Motion based SSDs", &both[..1]), Some(5.0 * unit));
    let total = [(233, "Total_NAND_Writes_GiB", 100, 0, "9"), (249, "TLC_NAND_GB_Writes", 100, 0, "4")];
    assert_eq!(flash("Marvell based SanDisk SSDs", &total), Some(9.0 * 1_073_741_824.0));
    // A count whose power of two stands elsewhere is no count.
    let scaled = [(235, "Flash_LBAs_Written", 100, 0, "9"), (237, "Flash_LBAs_Written_Exp", 100, 0, "4")];
    assert_eq!(flash("Swissbit X-7x Family SATA SSD", &scaled), None);
}

/// Numbers of which some drives have another count, by their names.
#[test]
fn a_name_of_another_count_goes_before_what_most_drives_count() {
    for (id, name, quantity) in [
        (190, "Drive_Temp_Warning", Q::Temperature),
        (190, "SATA_Error_Ct", Q::Temperature),
        (197, "Not_In_Use", Q::Pending),
        (197, "ECC_Error_Count", Q::Pending),
        (184, "Factory_Bad_Block_Count", Q::EndToEndErrors),
        (194, "Proprietary_194", Q::Temperature),
    ] {
        let reading = sata("NONAME", "Others based SSDs", &[(id, name, 100, 0, "30")], "");
        assert_eq!(reading.get(quantity), None, "{name}");
        let told: &[String] = if name == "Not_In_Use" { &[] } else { &[format!("attribute {id} ({name})")] };
        assert_eq!(reading.not_understood, told);
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
