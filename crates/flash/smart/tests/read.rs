//! Reads the output of other tools about drives, including real ones if WANE_TEST_DATA is set.

#![allow(clippy::unwrap_used, reason = "tests")]

mod data;

use wane_smart::Quantity as Q;
use wane_smart::{HealthRecord, Identity, OcpLog, Protocol, Reading, Source, read, smartctl};

fn one(bytes: &[u8]) -> Reading {
    let mut readings = read(bytes).unwrap();
    assert_eq!(readings.len(), 1);
    readings.remove(0)
}

fn check(reading: &Reading, wanted: &[(Q, f64)]) {
    for (quantity, want) in wanted {
        assert_eq!(reading.get(*quantity), Some(*want), "{} of {:?}", quantity.key(), reading.model);
    }
}

fn record() -> HealthRecord {
    HealthRecord {
        capacity_initial_bytes: 1 << 30,
        capacity_bytes: 1 << 30,
        logical_block_bytes: 4096,
        host_bytes_read: 12_288_000,
        host_bytes_written: 1_024_000_000,
        flash_bytes_programmed: 3_000_000_001,
        erase_count_min: 3,
        erase_count_mean: 11.1 / 3.0,
        erase_count_max: 9,
        percentage_used: Some(100.0 / 3.0),
        available_spare_percent: 250.0 / 3.0,
        media_errors: 2,
        power_on_hours: 1.0 / 3.0,
        power_cycles: 4,
        day: 0.1,
        ..HealthRecord::default()
    }
}

#[test]
fn a_simulated_drive_read_back_is_the_same() {
    let (record, identity) = (record(), Identity::simulated("a", "tiny", 1, ""));
    let printed = smartctl(&record, &identity, "d.wane", &["wane"]);
    let back = one(serde_json::to_string_pretty(&printed).unwrap().as_bytes());
    assert_eq!(back.simulated.as_ref(), Some(&record), "to the last bit");
    let direct = Reading::of(&record, &identity);
    // The log also has the commands of the error log and minutes of heat, all of them constant.
    for (quantity, known) in &direct.known {
        assert_eq!(back.get(*quantity), Some(known.value), "{}", quantity.key());
    }
    assert_eq!((&back.model, &back.serial, &back.firmware), (&direct.model, &direct.serial, &direct.firmware));
    assert_eq!(
        (back.unix_seconds, back.is_passed, back.protocol),
        (direct.unix_seconds, direct.is_passed, direct.protocol)
    );
    assert_eq!(back.not_understood, Vec::<String>::new());
    // The output of real tools about it agrees, up to the units of the page.
    let mut bare = printed;
    bare.as_object_mut().unwrap().remove("wane");
    let bare = one(bare.to_string().as_bytes());
    assert_eq!(bare.simulated, None);
    assert_eq!(bare.get(Q::FlashWritten), None, "log 02h has no writes of the flash");
    check(
        &bare,
        &[(Q::HostWritten, 1_024_000_000.0), (Q::HostRead, 12_288_000.0), (Q::PercentageUsed, 33.0), (Q::Spare, 83.0)],
    );
    check(&bare, &[(Q::MediaErrors, 2.0), (Q::PowerCycles, 4.0), (Q::PowerOnHours, 0.0)]);
    let page = one(&OcpLog::of(&record).encode());
    check(
        &page,
        &[(Q::FlashWritten, 3_000_000_001.0), (Q::EraseCountMax, 9.0), (Q::EraseCountMin, 3.0), (Q::DiesOffline, 0.0)],
    );
    assert_eq!(page.source, Source::OcpPage);
}

#[test]
fn what_gzip_packed_is_read_as_what_was_packed() {
    use std::io::Write as _;
    let text = br#"{"avail_spare": 97, "percent_used": 12}"#;
    let packed = |text: &[u8]| {
        let mut to = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        to.write_all(text).unwrap();
        to.finish().unwrap()
    };
    let whole = packed(text);
    assert_eq!(read(&whole).unwrap(), read(text).unwrap());
    assert_eq!(read(&[&whole[..], &whole].concat()).unwrap().len(), 2, "as logs that were packed and joined");
    let cut = read(&whole[..whole.len() - 9]).unwrap_err().to_string();
    assert!(cut.starts_with("is cut off or damaged: "), "{cut}");
    let large = read(&packed(&vec![b' '; (64 << 20) + 1])).unwrap_err().to_string();
    assert_eq!(large, "has more than 64 MiB when it is unpacked, allowed are at most 64 MiB of records");
}

/// Other vendors have their own pages C0h. nvme-cli prints the GUID as a text, or as a number in old versions.
#[test]
fn an_ocp_page_in_json_is_held_to_its_guid() {
    for (guid, is_ocp) in [
        (r#""0xafd514c97c6f4f9ca4f2bfea2810afc5""#, true),
        (r#""AFD514C97C6F4F9CA4F2BFEA2810AFC5""#, true),
        ("2.3372128010479164e38", true),
        (r#""0x1""#, false),
        ("7", false),
    ] {
        for key in ["Log page GUID", "log_page_guid"] {
            let told =
                read(format!("{{\"Physical media units written\":{{\"hi\":0,\"lo\":9}},\"{key}\":{guid}}}").as_bytes());
            let refused = |error: &wane_smart::ReadError| error.to_string().contains("and OCP's is 0xafd5");
            assert!(if is_ocp { told.is_ok() } else { told.as_ref().is_err_and(refused) }, "{key} {guid}: {told:?}");
        }
    }
}

/// Output of nvme-cli's `json_smart_log`: 1.x, 2.x with its object of warnings, and large counts as text.
#[test]
fn nvme_clis_keys_old_and_new_are_read() {
    let old = r#"{"critical_warning":4,"temperature":318,"avail_spare":97,"spare_thresh":10,"percent_used":12,"data_units_read":1000,
        "data_units_written":2000,"host_read_commands":30,"host_write_commands":40,"controller_busy_time":5,"power_cycles":6,
        "power_on_hours":700,"unsafe_shutdowns":8,"media_errors":9,"num_err_log_entries":10,"warning_temp_time":11,
        "critical_comp_time":12,"thm_temp1_trans_count":13,"temperature_sensor_1":318}"#;
    let new = r#"{"critical_warning":{"value":4,"available_spare":0,"temp_threshold":0,"reliability_degraded":1,"ro":0,"vmbu_failed":0,
        "pmr_ro":0},"temperature":318,"available_spare":97,"available_spare_threshold":10,"percentage_used":12,
        "endurance_grp_critical_warning_summary":0,"data_units_read":"1000","data_units_written":"2,000","host_reads":30,
        "host_writes":40,"controller_busy_time":5,"power_cycles":6,"power_on_hours":700,"unsafe_shutdowns":8,"media_errors":9,
        "num_err_log_entries":10,"warning_temp_time":11,"critical_comp_time":12,"thm_temp1_trans_count":13}"#;
    let flags = new.replace("\"value\":4,", "");
    for text in [old, new, &flags] {
        let reading = one(text.as_bytes());
        check(
            &reading,
            &[(Q::CriticalWarning, 4.0), (Q::Temperature, 45.0), (Q::Spare, 97.0), (Q::SpareThreshold, 10.0)],
        );
        check(
            &reading,
            &[(Q::PercentageUsed, 12.0), (Q::HostRead, 512e6), (Q::HostWritten, 1024e6), (Q::HostReads, 30.0)],
        );
        check(
            &reading,
            &[(Q::HostWrites, 40.0), (Q::PowerCycles, 6.0), (Q::PowerOnHours, 700.0), (Q::UnsafeShutdowns, 8.0)],
        );
        check(
            &reading,
            &[(Q::MediaErrors, 9.0), (Q::ErrorLogEntries, 10.0), (Q::MinutesWarning, 11.0), (Q::MinutesCritical, 12.0)],
        );
        check(&reading, &[(Q::Throttled, 13.0)]);
        assert_eq!(
            (reading.source, reading.protocol, reading.is_passed),
            (Source::NvmeJson, Some(Protocol::Nvme), Some(false))
        );
    }
    assert_eq!(one(br#"{"avail_spare":97,"power_cycles":6}"#).known.len(), 2, "missing is missing");
}

/// A page built by the offsets of OCP's table, and not by ours.
#[test]
fn an_ocp_page_of_each_version_is_read_as_far_as_it_goes() {
    let mut page = [0u8; 512];
    page[0..8].copy_from_slice(&5_000_000_000_000u64.to_le_bytes());
    page[32..38].copy_from_slice(&[7, 0, 0, 0, 0, 0]);
    page[38..40].copy_from_slice(&[96, 0]);
    page[56] = 2;
    page[88] = 200;
    page[92] = 150;
    page[104..112].copy_from_slice(&[0xFF; 8]);
    page[176..184].copy_from_slice(&9_000_000_000_000u64.to_le_bytes());
    page[192] = 3;
    page[220] = 1;
    page[224] = 175;
    page[232] = 6;
    page[496..512].copy_from_slice(&[
        0xC5, 0xAF, 0x10, 0x28, 0xEA, 0xBF, 0xF2, 0xA4, 0x9C, 0x4F, 0x6F, 0x7C, 0xC9, 0x14, 0xD5, 0xAF,
    ]);
    for (version, known) in [(1, 0), (2, 1), (3, 2), (4, 3), (5, 5), (6, 5)] {
        page[494] = version;
        let reading = one(&page);
        check(
            &reading,
            &[(Q::FlashWritten, 5e12), (Q::BadBlocksGrown, 7.0), (Q::Spare, 96.0), (Q::UncorrectableReads, 2.0)],
        );
        check(&reading, &[(Q::EraseCountMax, 200.0), (Q::EraseCountMin, 150.0)]);
        assert_eq!(reading.get(Q::LinkErrors), None, "all ones is not told");
        let later = [
            (Q::EnduranceEstimate, 9e12),
            (Q::Resets, 3.0),
            (Q::DiesOffline, 1.0),
            (Q::EraseCountMean, 175.0),
            (Q::Timeouts, 6.0),
        ];
        for (at, (quantity, want)) in later.into_iter().enumerate() {
            assert_eq!(reading.get(quantity), (at < known).then_some(want), "version {version}: {}", quantity.key());
        }
        assert_eq!(reading.not_understood.len(), later.len() - known, "{:?}", reading.not_understood);
    }
    page[500] ^= 1;
    assert!(read(&page).unwrap_err().to_string().contains("OCP's is"));
}

/// Output of nvme-cli's `json_smart_extended_log` in its two forms, for a page of version 3 without some fields.
#[test]
fn the_json_of_an_ocp_page_is_read_as_the_page_is() {
    let old = r#"{"Physical media units written":{"hi":0,"lo":5000000000000},"Physical media units read":{"hi":1,"lo":2},
        "Bad user nand blocks - Raw":7,"Bad user nand blocks - Normalized":96,"XOR recovery count":1,"Uncorrectable read error count":2,
        "Soft ecc error count":3,"Refresh counts":4,"Max User data erase counts":200,"Min User data erase counts":150,
        "Number of Thermal throttling events":5,"PCIe correctable error count":18446744073709551615,"Capacitor health":100,
        "Endurance estimate":9000000000000,"Log page version":3,"Log page GUID":"0xafd514c97c6f4f9ca4f2bfea2810afc5",
        "PCIe Link Retraining Count":3,"Power State Change Count":9}"#;
    let new = r#"{"physical_media_units_written":{"hi":0,"lo":5000000000000},"physical_media_units_read":{"hi":1,"lo":2},
        "bad_user_nand_blocks_raw":7,"bad_user_nand_blocks_normalized":96,"xor_recovery_count":1,"uncorrectable_read_errors":2,
        "soft_ecc_error_count":3,"refresh_count":4,"max_user_data_erase_count":200,"min_user_data_erase_count":150,
        "thermal_throttling_events":5,"pcie_correctable_errors":18446744073709551615,"capacitor_health":100,
        "endurance_estimate":"9,000,000,000,000","log_page_version":3,"pcie_link_retraining_count":3}"#;
    for text in [old, new] {
        let reading = one(text.as_bytes());
        check(
            &reading,
            &[(Q::FlashWritten, 5e12), (Q::FlashRead, 2f64.powi(64)), (Q::BadBlocksGrown, 7.0), (Q::Spare, 96.0)],
        );
        check(
            &reading,
            &[(Q::Recoveries, 1.0), (Q::UncorrectableReads, 2.0), (Q::Refreshed, 4.0), (Q::Throttled, 5.0)],
        );
        check(&reading, &[(Q::EraseCountMax, 200.0), (Q::EraseCountMin, 150.0), (Q::CapacitorHealth, 100.0)]);
        check(&reading, &[(Q::EnduranceEstimate, 9e12), (Q::Resets, 3.0)]);
        for quantity in [Q::LinkErrors, Q::EndToEndErrors, Q::DiesOffline, Q::EraseCountMean, Q::Timeouts] {
            assert_eq!(reading.get(quantity), None, "{}: all ones, or missing", quantity.key());
        }
        assert_eq!(reading.source, Source::OcpPage);
    }
    let strange = one(br#"{"physical_media_units_written":{"hi":-1,"lo":3},"capacitor_health":70000,"refresh_count":-2,"xor_recovery_count":1}"#);
    assert_eq!((strange.known.len(), strange.not_understood.len()), (1, 3), "{strange:?}");
}

#[test]
fn what_no_drive_can_have_is_named_and_not_taken() {
    let told =
        r#"{"avail_spare": 255, "percent_used": 1e20, "temperature": 65535, "media_errors": -4, "power_cycles": 7}"#;
    let reading = one(told.as_bytes());
    for quantity in [Q::Spare, Q::PercentageUsed, Q::Temperature, Q::MediaErrors] {
        assert_eq!(reading.get(quantity), None, "{quantity:?}");
    }
    assert_eq!(reading.get(Q::PowerCycles), Some(7.0));
    assert_eq!(reading.not_understood.len(), 4, "{:?}", reading.not_understood);
    assert!(reading.not_understood.contains(&"NVMe log 02h, avail_spare: 255 is not possible".to_owned()));
    // 268 Kelvin.
    let cold = one(br#"{"avail_spare": 100, "temperature": 268}"#);
    assert_eq!(cold.get(Q::Temperature), Some(-5.0));
}

#[test]
fn what_is_no_drive_is_refused_with_one_sentence() {
    let table: [(&[u8], &str); 11] = [
        (b"", "is empty"),
        (b" \n", "is empty"),
        (b"hello", "is not of a drive"),
        (b"We ran smartctl on all of them.\nsmartctl said nothing.", "is not of a drive"),
        (&[0xFF; 511], "is not of a drive"),
        (b"{\"device\": {", "is no whole JSON"),
        (b"{\"a\": 1}", "neither smartctl's"),
        (b"[]", "is empty"),
        (
            br#"{"smartctl":{"messages":[{"string":"Smartctl open device: /dev/sdz failed: No such device"}]}}"#,
            "/dev/sdz failed",
        ),
        (
            b"Wed Nov 25 UTC\nhost7\nsmartctl 7.2 2020\nSmartctl open device: /dev/sda failed: Permission denied\n",
            "drive: Smartctl open device: /dev/sda",
        ),
        (b"smartctl 7.2 2020\nCopyright (C) 2002-20\n\nSmartctl open device: /dev/sdz failed\n", "/dev/sdz failed"),
    ];
    for (bytes, part) in table {
        let sentence = read(bytes).unwrap_err().to_string();
        assert!(sentence.contains(part) && sentence.lines().count() == 1, "{sentence}");
    }
}

#[test]
fn all_of_a_collection_of_drives_is_read() {
    let Some(drives) = data::collection() else { return };
    assert_eq!(drives.len(), 92);
    let mut of = [0; 3];
    for (name, bytes) in &drives {
        let reading = one(bytes);
        assert!(reading.is_passed.is_some() && reading.model.is_some(), "{name}");
        assert!(reading.get(Q::Temperature).is_some_and(|celsius| (10.0..50.0).contains(&celsius)), "{name}");
        of[reading.protocol.unwrap() as usize] += 1;
        if reading.protocol == Some(Protocol::Nvme) {
            for quantity in [Q::PercentageUsed, Q::Spare, Q::HostWritten, Q::MediaErrors, Q::PowerOnHours] {
                assert!(reading.get(quantity).is_some(), "{name}: {}", quantity.key());
            }
        } else if reading.is_rotating == Some(false) {
            for quantity in [Q::PercentageUsed, Q::HostWritten] {
                assert!(reading.get(quantity).is_some(), "{name}: {}", quantity.key());
            }
            assert!(reading.not_understood.len() < 5, "{name}: {:?}", reading.not_understood);
        } else {
            assert_eq!(reading.get(Q::PercentageUsed), None, "{name}: disks do not wear");
        }
    }
    assert_eq!(of, [58, 30, 4], "ATA, NVMe, SCSI");
}

#[test]
fn text_says_what_json_would() {
    let Some(text) = data::file("smart/smartctl_text_nvme_IM2P33F3.txt") else { return };
    let reading = one(&text);
    check(&reading, &[(Q::CriticalWarning, 0.0), (Q::Temperature, 28.0), (Q::Spare, 100.0), (Q::SpareThreshold, 50.0)]);
    check(
        &reading,
        &[(Q::PercentageUsed, 1.0), (Q::HostRead, 4_731_158.0 * 512e3), (Q::HostWritten, 7_069_809.0 * 512e3)],
    );
    check(&reading, &[(Q::PowerOnHours, 257.0), (Q::UnsafeShutdowns, 184.0), (Q::MinutesWarning, 0.0)]);
    check(&reading, &[(Q::TemperatureWarning, 83.0), (Q::TemperatureCritical, 85.0), (Q::Capacity, 128_035_676_160.0)]);
    assert_eq!(reading.serial, None, "\"--\" is no serial");
    assert_eq!(reading.unix_seconds, Some(1_612_433_809), "2021-02-04 07:16:49 -03");
    let reading = one(&data::file("smart/smartctl_text_sata_MZ7KH240.txt").unwrap());
    check(&reading, &[(Q::HostWritten, 27_854_589_665.0 * 512.0), (Q::FlashWritten, 29_820_682_304.0 * 512.0)]);
    check(
        &reading,
        &[(Q::PercentageUsed, 0.0), (Q::EraseCountMean, 62.0), (Q::Resets, 2.0), (Q::PowerOnHours, 5464.0)],
    );
    let amplification = reading.get(Q::FlashWritten).unwrap() / reading.get(Q::HostWritten).unwrap();
    assert_eq!(format!("{amplification:.4}"), "1.0706");
    assert_eq!(reading.not_understood, Vec::<String>::new());
}

#[test]
fn months_of_dumps_in_one_file_are_read() {
    for (name, count) in [("A", 291), ("E", 476), ("J", 224)] {
        let Some(text) = data::log(name) else { return };
        let readings = read(&text).unwrap();
        assert_eq!(readings.len(), count, "{name}");
        assert!(readings.iter().all(|reading| reading.serial == readings[0].serial && reading.unix_seconds.is_some()));
    }
}
