//! A record is known by several of its keys, and what it says and is not read is told.

#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use common::{check, one};
use serde_json::{Value, json};
use wane_smart::Quantity as Q;
use wane_smart::doctor::{Judgement, Verdict, judge};
use wane_smart::{read, read_named};

fn judged(texts: &[&str]) -> Judgement {
    judge(texts.iter().flat_map(|text| read(text.as_bytes()).unwrap()).collect()).unwrap()
}

fn refused(text: &str) -> String {
    let said = read(text.as_bytes()).map(|readings| format!("{readings:#?}")).unwrap_err().to_string();
    assert_eq!(said.lines().count(), 1, "{said}");
    said
}

/// Log 02h of nvme-cli: 3,000 TB by the host.
fn health() -> Value {
    json!({ "critical_warning": 0, "temperature": 300, "avail_spare": 99, "spare_thresh": 5, "percent_used": 40,
        "endurance_grp_critical_warning_summary": 0, "data_units_read": 7, "data_units_written": 5_859_375_000u64,
        "host_read_commands": 1, "host_write_commands": 2, "controller_busy_time": 3, "power_cycles": 4, "power_on_hours": 9000,
        "unsafe_shutdowns": 5, "media_errors": 0, "num_err_log_entries": 6, "warning_temp_time": 0, "critical_comp_time": 0,
        "temperature_sensor_1": 300, "thm_temp1_trans_count": 0, "thm_temp2_trans_count": 0 })
}

/// Log 09h of the same drive.
fn endurance() -> Value {
    json!({ "critical_warning": 0, "endurance_group_features": 0, "avl_spare": 99, "avl_spare_threshold": 5, "percent_used": 40,
        "domain_identifier": 1, "endurance_estimate": 7_000_000, "data_units_read": 1, "data_units_written": 3_000_000,
        "media_units_written": 4_500_000, "host_read_cmds": 1, "host_write_cmds": 2, "media_data_integrity_err": 0,
        "num_err_info_log_entries": 6, "total_end_grp_cap": 7_681_501_126_656u64, "unalloc_end_grp_cap": 0 })
}

/// Lines of a page as nvme-cli prints them for people.
fn lines(heading: &str, page: &Value) -> String {
    let line = |(key, value): (&String, &Value)| format!("{key}\t\t: {value}\n");
    let mut rest = page.as_object().unwrap().clone();
    let first = rest.remove("critical_warning").unwrap();
    format!("{heading}critical_warning\t: {first}\n{}", rest.iter().map(line).collect::<String>())
}

#[test]
fn log_09h_has_units_of_its_own_and_belongs_to_the_record_before_it() {
    let heading = "Endurance Group Log for NVME device:nvme0 Group ID:1\n";
    let text = lines(heading, &endurance()).replace(": 40\n", ": 40%\n").replace("3000000", "3,000,000");
    for page in [endurance().to_string(), text] {
        let reading = one(&page);
        check(&reading, &[(Q::HostWritten, 3e15), (Q::FlashWritten, 4.5e15), (Q::EnduranceEstimate, 7e15)]);
        check(&reading, &[(Q::Spare, 99.0), (Q::SpareThreshold, 5.0), (Q::PercentageUsed, 40.0), (Q::HostWrites, 2.0)]);
        assert_eq!(reading.not_understood, Vec::<String>::new());
        for texts in [vec![health().to_string(), page.clone()], vec![format!("{}\n{}", health(), endurance())]] {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let judgement = judged(&texts);
            assert_eq!(judgement.records.count, 1, "{}", judgement.text());
            assert_eq!(judgement.writes.amplification.life, Some(1.5), "{}", judgement.text());
        }
    }
    // Where one is cut off after keys that both have, those of its own tell.
    let cut = json!({ "percent_used": 40, "data_units_written": 3_000_000, "endurance_group_features": 0 });
    check(&one(&cut.to_string()), &[(Q::HostWritten, 3e15)]);
}

#[test]
fn statistics_of_data_placement_are_bytes() {
    let json = json!({ "hbmw": 3_000_000_000_000_000u64, "mbmw": 3_300_000_000_000_000u64, "mbe": 1 }).to_string();
    let text = "Host Bytes with Metadata Written (HBMW): 3,000,000,000,000,000\n\
                Media Bytes with Metadata Written (MBMW): 3,300,000,000,000,000\nMedia Bytes Erased (MBE): 1\n";
    for page in [json.as_str(), text] {
        check(&one(page), &[(Q::HostWritten, 3e15), (Q::FlashWritten, 3.3e15)]);
        let judgement = judged(&[&health().to_string(), page]);
        assert_eq!(
            (judgement.records.count, judgement.writes.amplification.life),
            (1, Some(1.1)),
            "{}",
            judgement.text()
        );
    }
    // Counted since placement was switched on, they are of other writes than the drive's whole life.
    let young = json!({ "hbmw": 1_000_000_000_000u64, "mbmw": 1_500_000_000_000u64, "mbe": 1 }).to_string();
    let judgement = judged(&[&health().to_string(), &young]);
    assert_eq!((judgement.writes.flash_terabytes, judgement.writes.amplification.life), (None, None));
    assert!(judgement.not_understood.iter().any(|said| said.contains("of other writes")), "{}", judgement.text());
}

#[test]
fn what_shares_keys_with_log_02h_and_is_another_is_refused_by_name() {
    let unit = |id: u32, used: u32| json!({ "muid": id, "domainid": 0, "endgid": 1, "nvmsetid": 0, "cap_adj_fctr": 100, "avl_spare": 100, "percent_used": used, "mucs": 1, "cio": 0 });
    let units = json!({ "nmu": 2, "cchans": 1, "sel_config": 0, "mus_list": [unit(0, 10), unit(1, 70)] });
    let mut event = health();
    for key in ["event_number", "event_type", "event_time_stamp", "event_len"] {
        event[key] = json!(1);
    }
    let events = json!({ "log_id": 13, "total_num_of_events": 1, "power_on_hours": 9000, "power_cycle_count": 4, "sn": "S",
        "list_of_event_entries": [event] });
    for (input, part) in [
        (units.to_string(), "`nvme media-unit-stat-log`"),
        (json!({ "result": units }).to_string(), "`nvme media-unit-stat-log`"),
        (json!([unit(0, 10)]).to_string(), "`nvme media-unit-stat-log`"),
        (events.to_string(), "`nvme persistent-event-log`"),
        (event.to_string(), "`nvme persistent-event-log`"),
        (
            format!("Persistent Event Log for device: nvme0\n{}", lines("Smart Log for NVME device:nvme0\n", &health())),
            "`nvme persistent-event-log`",
        ),
        ("Number of Media Unit Status Descriptors: 1\nMedia Unit Identifier: 0\nAvailable Spare: 100\nPercentage Used: 88\n".to_owned(), "media-unit"),
        // A file system, a disk, and one key alone.
        (json!({ "mount": "/", "used": 3, "percent_used": 61 }).to_string(), "neither smartctl's"),
        (json!({ "temperature": 31, "power_on_hours": 900, "power_cycles": 7 }).to_string(), "neither smartctl's"),
        (json!({ "percent_used": 61 }).to_string(), "neither smartctl's"),
        (json!({ "device": { "name": "sda" }, "endurance": 7 }).to_string(), "neither smartctl's"),
    ] {
        let said = refused(&input);
        assert!(said.contains(part), "{said}");
    }
    // Beside a record they take nothing from it, and it tells that they were there.
    let judgement = judged(&[&format!("{}{units}", health())]);
    assert_eq!((judgement.records.count, judgement.life.wear_percent), (1, Some(40.0)), "{}", judgement.text());
    assert!(judgement.not_understood.iter().any(|said| said.contains("media-unit-stat-log")), "{}", judgement.text());
}

/// An NVMe drive that is all but dead, and says by its critical warning alone that it is well.
fn failing(shape: impl Fn(u64) -> Value) -> Value {
    json!({ "critical_warning": shape(0), "percentage_used": shape(140), "available_spare": shape(2), "available_spare_threshold": shape(5),
        "media_errors": shape(800), "data_units_written": shape(1000), "power_on_hours": shape(70) })
}

#[test]
fn a_known_key_of_another_shape_is_read() {
    let shapes: [fn(u64) -> Value; 6] = [
        |value| json!(value),
        |value| json!({ "value": value }),
        |value| json!({ "n": value, "s": value.to_string() }),
        |value| json!([value]),
        |value| json!(value.to_string()),
        |value| json!({ "value": value.to_string(), "thresh": 0, "status": 0 }),
    ];
    let smartctl = |log: Value| json!({ "smartctl": {}, "smart_status": { "passed": true }, "nvme_smart_health_information_log": log });
    for shape in shapes {
        for record in [failing(shape), smartctl(failing(shape)), json!({ "attributes": failing(shape) })] {
            let reading = one(&record.to_string());
            check(
                &reading,
                &[(Q::PercentageUsed, 140.0), (Q::Spare, 2.0), (Q::SpareThreshold, 5.0), (Q::CriticalWarning, 0.0)],
            );
            check(&reading, &[(Q::MediaErrors, 800.0), (Q::HostWritten, 512e6), (Q::PowerOnHours, 70.0)]);
            let judgement = judge(vec![reading]).unwrap();
            assert_eq!(judgement.verdict, Verdict::Failing, "{}", judgement.text());
        }
    }
    let words = json!({ "critical_warning": "0x00", "percentage_used": "61 %", "available_spare": "100%", "temperature": "41 C",
        "data_units_written": "1.5 TB", "power_on_hours": "1,234 hours" });
    let reading = one(&words.to_string());
    check(&reading, &[(Q::PercentageUsed, 61.0), (Q::Spare, 100.0), (Q::Temperature, 41.0), (Q::HostWritten, 1.5e12)]);
    check(&reading, &[(Q::PowerOnHours, 1234.0)]);
    // Large counts, which smartctl gives beside as text and as bytes.
    let large = json!({ "avail_spare": 100, "percent_used": 1, "data_units_written_s": "1000", "data_units_read": 7, "data_units_read_s": "7",
        "data_units_read_le": [7, 0] });
    let reading = one(&large.to_string());
    check(&reading, &[(Q::HostWritten, 512e6), (Q::HostRead, 7.0 * 512e3)]);
    assert_eq!(reading.not_understood, Vec::<String>::new());
}

#[test]
fn a_drive_whose_values_were_not_read_is_not_called_good() {
    let shapes: [fn(u64) -> Value; 4] =
        [|_| Value::Null, |value| json!([value, value]), |value| json!({ "v": value }), |_| json!("unknown")];
    for shape in shapes {
        let mut log = failing(shape);
        log["critical_warning"] = json!(0);
        let smartctl =
            json!({ "smartctl": {}, "smart_status": { "passed": true }, "nvme_smart_health_information_log": log });
        for record in [log, smartctl] {
            let judgement = judged(&[&record.to_string()]);
            assert!(judgement.verdict != Verdict::Good, "{}", judgement.text());
            for key in ["percentage_used", "available_spare", "media_errors", "data_units_written", "power_on_hours"] {
                let is_told = |said: &&String| said.contains(&format!("NVMe log 02h, {key}: "));
                assert!(judgement.not_understood.iter().any(|said| is_told(&said)), "{key}: {}", judgement.text());
            }
        }
    }
    let whole =
        json!({ "smartctl": {}, "smart_status": { "passed": true }, "nvme_smart_health_information_log": null });
    let table = json!({ "smartctl": {}, "smart_status": { "passed": true }, "endurance_used": { "current_percent": null },
        "ata_smart_attributes": { "table": [{ "id": 5, "name": "R", "value": 100, "raw": {} }, 7] } });
    for record in [whole, table] {
        let judgement = judged(&[&record.to_string()]);
        assert!(judgement.verdict != Verdict::Good && !judgement.not_understood.is_empty(), "{}", judgement.text());
    }
    // An assessment of another shape is read, or is none.
    for (status, want) in
        [(json!("PASSED"), Some(true)), (json!({ "passed": "FAILED!" }), Some(false)), (json!({ "passed": 7 }), None)]
    {
        let record = json!({ "smartctl": {}, "smart_status": status, "power_cycle_count": 3 });
        assert_eq!(one(&record.to_string()).is_passed, want, "{record}");
    }
    // A temperature alone says nothing of a drive's health.
    let warm = json!({ "smartctl": {}, "temperature": { "current": 40 }, "power_cycle_count": 7 });
    assert_eq!(judged(&[&warm.to_string()]).verdict, Verdict::Unknown);
}

#[test]
fn keys_that_nobody_read_are_listed() {
    let mut log = health();
    log["vendor_wear"] = json!(77);
    let mut page = endurance();
    page["vendor_wear"] = json!(77);
    let text = lines("Smart Log for NVME device:nvme0\n", &log);
    for (input, want) in [
        (log.to_string(), "NVMe log 02h, vendor_wear"),
        (text, "NVMe log 02h, vendor_wear"),
        (page.to_string(), "NVMe log 09h, vendor_wear"),
        (json!({ "smartctl": {}, "nvme_smart_health_information_log": log }).to_string(), "NVMe log 02h, vendor_wear"),
        (
            json!({ "physical_media_units_written": 9, "capacitor_health": 100, "vendor_wear": 77 }).to_string(),
            "OCP log C0h, vendor_wear",
        ),
    ] {
        let told = one(&input).not_understood;
        assert!(told.contains(&want.to_owned()), "{told:?}");
    }
}

/// OCP's page as `nvme wdc vs-smart-add-log` prints it, with its counts in objects.
#[test]
fn the_same_page_of_another_plugin_is_read_as_ocps() {
    let wdc = json!({ "physical_media_units_written": 5_000_000_000_000u64, "physical_media_units_read": 2,
        "bad_user_nand_blocks": { "normalized": 60, "raw": 300 }, "bad_system_nand_blocks": { "normalized": 100, "raw": 0 },
        "xor_recovery_count": 9, "uncorrectable_read_error_count": 11, "soft_ecc_error_count": 1,
        "e2e_correction_counts": { "corrected": 1, "detected": 8 }, "system_data_percent_used": 3, "refresh_counts": 4,
        "user_data_erase_counts": { "minimum": 200, "maximum": 250 }, "thermal_status": { "current_status": "unthrottled", "num_events": 6 },
        "pcie_correctable_error_count": 0, "incomplete_shutdowns": 0, "percent_free_blocks": 3, "capacitor_health": 100, "unaligned_io": 0,
        "security_version_number": 0, "total_nuse": 1, "plp_start_count": 9, "endurance_estimate": 9_000_000_000_000u64,
        "log_page_version": 3, "log_page_guid": "0xafd514c97c6f4f9ca4f2bfea2810afc5" });
    let text = "SMART Cloud Attributes :-\n  Physical media units written -\t\t0 5000000000000\n  Bad user nand blocks - Raw\t\t\t300\n  \
                Bad user nand blocks - Normalized\t\t60\n  XOR recovery count\t\t\t\t9\n  Uncorrectable read error count\t\t11\n  \
                End to end detected errors\t\t\t8\n  End to end corrected errors\t\t\t1\n  Max User data erase counts\t\t\t250\n  \
                Min User data erase counts\t\t\t200\n  Number of Thermal throttling events\t\t6\n  Capacitor health\t\t\t\t100\n  \
                Log page version\t\t\t\t3\n  Log page GUID\t\t\t\t\t0xafd514c97c6f4f9ca4f2bfea2810afc5\n  \
                PCIe Link Retraining Count                    4\n";
    for page in [wdc.to_string(), text.to_owned()] {
        let reading = one(&page);
        check(
            &reading,
            &[(Q::FlashWritten, 5e12), (Q::BadBlocksGrown, 300.0), (Q::Spare, 60.0), (Q::UncorrectableReads, 11.0)],
        );
        check(
            &reading,
            &[(Q::EndToEndErrors, 8.0), (Q::EraseCountMin, 200.0), (Q::EraseCountMax, 250.0), (Q::Throttled, 6.0)],
        );
        let unread = |said: &&String| !said.contains("a page of version 3");
        assert_eq!(reading.not_understood.iter().filter(unread).count(), 0, "{:?}", reading.not_understood);
        let judgement = judge(vec![one(&health().to_string()), reading]).unwrap();
        assert_eq!(judgement.verdict, Verdict::Warning, "{}", judgement.text());
    }
    // Pages of WDC's of which only some keys are OCP's.
    let old = json!({ "NAND Bytes Written Hi": 0, "NAND Bytes Written Lo": 9, "Soft ECC Error Count": 1, "Refresh Count": 4, "Percent Free Blocks": 3 });
    assert!(refused(&old.to_string()).contains("WDC"));
    let boot = json!({ "physical_media_units_bytes_tlc": 5_000_000_000_000u64, "bad_user_blocks_raw": 300u64 << 16, "uncorrectable_read_errors": 11,
        "detected_e2e_errors": 8, "min_tlc_user_data_erase_count": 200, "max_tlc_user_data_erase_count": 250, "num_of_trim_commands": 1 });
    let reading = one(&boot.to_string());
    check(
        &reading,
        &[(Q::FlashWritten, 5e12), (Q::BadBlocksGrown, 300.0), (Q::EraseCountMax, 250.0), (Q::EndToEndErrors, 8.0)],
    );
    assert_eq!(reading.not_understood, ["WDC log C0h, num_of_trim_commands"]);
}

#[test]
fn scrutinys_answers_are_its_drives_records() {
    let row =
        |value: i64, threshold: i64| json!({ "attribute_id": "x", "value": value, "thresh": threshold, "status": 0 });
    let answer = |attributes: Value, protocol: &str, status: u32| {
        json!({ "data": { "device": { "wwn": "0x5000", "device_name": "nvme0", "model_name": "A DRIVE", "serial_number": "S9", "firmware": "F",
            "capacity": 1_000, "device_protocol": protocol },
            "smart_results": [{ "date": "2026-03-01T00:00:00Z", "device_protocol": protocol, "temp": 44, "power_on_hours": 500,
                "power_cycle_count": 7, "attrs": attributes, "Status": status }] }, "success": true })
    };
    let nvme = json!({ "available_spare": row(3, 10), "percentage_used": row(120, 100), "critical_warning": row(0, 0), "media_errors": row(9, 0),
        "data_units_written": row(1000, -1) });
    let reading = one(&answer(nvme, "NVMe", 3).to_string());
    check(
        &reading,
        &[
            (Q::Spare, 3.0),
            (Q::SpareThreshold, 10.0),
            (Q::PercentageUsed, 120.0),
            (Q::MediaErrors, 9.0),
            (Q::HostWritten, 512e6),
        ],
    );
    assert_eq!(
        (reading.serial.as_deref(), reading.is_passed, reading.unix_seconds),
        (Some("S9"), Some(false), Some(1_772_323_200))
    );
    let ata = json!({ "5": { "attribute_id": 5, "value": 98, "worst": 98, "thresh": 10, "raw_value": 40, "raw_string": "40", "when_failed": "" } });
    let reading = one(&answer(ata, "ATA", 0).to_string());
    check(&reading, &[(Q::Reallocated, 40.0), (Q::PowerOnHours, 500.0), (Q::Temperature, 44.0)]);
    assert_eq!(reading.is_passed, Some(true));
    let scsi = json!({ "scsi_grown_defect_list": row(4, 0), "read_total_uncorrected_errors": row(2, 0), "read_total_errors_corrected": row(5, -1) });
    check(&one(&answer(scsi, "SCSI", 0).to_string()), &[(Q::Reallocated, 4.0), (Q::MediaErrors, 2.0)]);
    let summary = json!({ "data": { "summary": { "0x5000": { "device": { "model_name": "A", "serial_number": "S" },
        "smart": { "collector_date": "2026-03-01T00:00:00Z", "temp": 44, "power_on_hours": 500 } } } } });
    assert!(refused(&summary.to_string()).contains("scrutiny's summary"));
}

#[test]
fn smartds_log_of_an_nvme_drive_says_what_its_page_says() {
    let line = "2026-05-04 03:02:01;\tcritical-warning;4;\ttemperature;45;\tavailable-spare;9;\tavailable-spare-threshold;10;\tpercentage-used;88;\
                \tdata-units-read;7;\tdata-units-written;1000;\thost-reads;1;\thost-writes;2;\tcontroller-busy-time;3;\tpower-cycles;4;\
                \tpower-on-hours;500;\tunsafe-shutdowns;5;\tmedia-errors;6;\tnum-err-log-entries;7;\n";
    for (file, model) in [
        ("/var/lib/smartmontools/attrlog.A_DRIVE_1TB-S9.nvme.csv", "A DRIVE 1TB"),
        ("/logs/host1-A_DRIVE_1TB-S9-n1.nvme.csv", "A DRIVE 1TB"),
        ("smart.A_DRIVE_1TB-S9.nvme.csv", "A DRIVE 1TB"),
    ] {
        let readings = read_named(file, line.as_bytes()).unwrap();
        let reading = &readings[0];
        assert_eq!((reading.model.as_deref(), reading.serial.as_deref()), (Some(model), Some("S9")), "{file}");
        check(
            reading,
            &[
                (Q::CriticalWarning, 4.0),
                (Q::Spare, 9.0),
                (Q::PercentageUsed, 88.0),
                (Q::HostWritten, 512e6),
                (Q::MediaErrors, 6.0),
            ],
        );
        check(reading, &[(Q::Temperature, 45.0), (Q::PowerOnHours, 500.0)]);
        assert_eq!(reading.not_understood, ["the time zone of the log, taken for UTC"]);
        let judgement = judge(readings.clone()).unwrap();
        assert_eq!(judgement.verdict, Verdict::Failing, "{}", judgement.text());
    }
}
