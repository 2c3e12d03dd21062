//! What people have of their drives beside smartctl's output: each is read, or refused by its name with what would help.

#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use common::{check, one};
use serde_json::json;
use wane_smart::Quantity as Q;
use wane_smart::doctor::{Judgement, Verdict, judge};
use wane_smart::{Protocol, Source, latest_first, read};

fn judged(text: &str) -> Judgement {
    judge(vec![one(text)]).unwrap()
}

const CRYSTAL: &str = "----------------------------------------------------------------------------
CrystalDiskInfo 9.3.2 (C) 2008-2024 hiyohiyo
----------------------------------------------------------------------------
    OS : Windows 11 [10.0 Build 22631] (x64)
  Date : 2024/06/30 22:12:17

-- Disk List ---------------------------------------------------------------
 (01) KINGSTON SA400S37240G : 240.0 GB [0/0/0, pd1]
 (02) A DRIVE : 512.1 GB [1/0/0, sq]
----------------------------------------------------------------------------
 (01) KINGSTON SA400S37240G
----------------------------------------------------------------------------
           Model : KINGSTON SA400S37240G
        Firmware : SBFKB1H5
   Serial Number : S1
       Interface : Serial ATA
   Rotation Rate : ---- (SSD)
  Power On Hours : 4089 hours
     Temperature : 33 C (91 F)
   Health Status : Good (86 %)

-- S.M.A.R.T. --------------------------------------------------------------
ID Cur Wor Thr RawValues(6) Attribute Name
05 100 100 _10 000000000003 Retired Block Count
09 100 100 __0 000000000FF9 Power-On Hours
E7 _14 _86 __0 000000000056 SSD Life Left
E9 100 100 __0 000000000010 Flash Writes
F1 100 100 __0 00000000000A Host Writes
F4 100 100 __0 000000000083 Average Erase Count

-- IDENTIFY_DEVICE ---------------------------------------------------------
000: 0440 3FFF
----------------------------------------------------------------------------
 (02) A DRIVE
----------------------------------------------------------------------------
           Model : A DRIVE
        Firmware : F2
   Serial Number : S2
       Interface : NVM Express
  Power On Hours : 12210 hours
     Temperature : 41 C (105 F)
   Health Status : Caution (0 %)

-- S.M.A.R.T. --------------------------------------------------------------
ID RawValues(6) Attribute Name
01 000000000000 Critical Warning
02 00000000013A Composite Temperature
03 000000000064 Available Spare
04 000000000032 Available Spare Threshold
05 000000000069 Percentage Used
06 0000000003E8 Data Units Read
07 0000000007D0 Data Units Written
0C 000000002FB2 Power On Hours
0D 000000000131 Unsafe Shutdowns
0E 000000000000 Media and Data Integrity Errors
0F 000000000211 Number of Error Information Log Entries
";

#[test]
fn crystaldiskinfos_text_is_its_drives_records() {
    let utf_16: Vec<u8> = [0xFF, 0xFE].into_iter().chain(CRYSTAL.encode_utf16().flat_map(u16::to_le_bytes)).collect();
    for bytes in [CRYSTAL.as_bytes().to_vec(), CRYSTAL.replace('\n', "\r\n").into_bytes(), utf_16] {
        let readings = read(&bytes).unwrap();
        let [sata, nvme] = &readings[..] else { panic!("{readings:#?}") };
        let gib = 1_073_741_824.0;
        check(
            sata,
            &[(Q::PercentageUsed, 14.0), (Q::PowerOnHours, 4089.0), (Q::Reallocated, 3.0), (Q::Temperature, 33.0)],
        );
        check(sata, &[(Q::HostWritten, 10.0 * gib), (Q::FlashWritten, 16.0 * gib), (Q::EraseCountMean, 131.0)]);
        assert_eq!(
            (sata.serial.as_deref(), sata.protocol, sata.source),
            (Some("S1"), Some(Protocol::Ata), Source::CrystalDiskInfo)
        );
        check(
            nvme,
            &[(Q::PercentageUsed, 105.0), (Q::Spare, 100.0), (Q::SpareThreshold, 50.0), (Q::PowerOnHours, 12_210.0)],
        );
        check(
            nvme,
            &[(Q::HostWritten, 1024e6), (Q::Temperature, 41.0), (Q::MediaErrors, 0.0), (Q::ErrorLogEntries, 529.0)],
        );
        assert_eq!((nvme.serial.as_deref(), nvme.unix_seconds), (Some("S2"), Some(1_719_785_537)));
        assert_eq!(nvme.not_understood, ["the time zone of the text, taken for UTC"]);
        let judgement = judge(vec![nvme.clone()]).unwrap();
        assert_eq!(judgement.verdict, Verdict::Warning, "{}", judgement.text());
    }
    let bad = CRYSTAL.replace("Health Status : Good (86 %)", "Health Status : Bad (0 %)");
    assert_eq!(read(bad.as_bytes()).unwrap()[0].is_passed, Some(false));
}

#[test]
fn windows_counters_are_a_record() {
    let counters = json!({ "DeviceId": "0", "Temperature": 41, "TemperatureMax": 84, "Wear": 93, "PowerOnHours": 12210,
        "ReadErrorsUncorrected": 2, "WriteErrorsUncorrected": null, "ReadErrorsTotal": null, "WriteLatencyMax": 1330 });
    let list = "\r\nDeviceId               : 0\r\nFlushLatencyMax        : \r\nPowerOnHours           : 12210\r\nReadErrorsTotal        : \r\n\
                ReadErrorsUncorrected  : 2\r\nTemperature            : 41\r\nTemperatureMax         : 84\r\nWear                   : 93\r\n\
                PSComputerName         : \r\n";
    for text in [counters.to_string(), list.to_owned(), json!([counters]).to_string()] {
        let reading = one(&text);
        check(
            &reading,
            &[
                (Q::PercentageUsed, 93.0),
                (Q::PowerOnHours, 12_210.0),
                (Q::Temperature, 41.0),
                (Q::UncorrectableReads, 2.0),
            ],
        );
        assert_eq!((reading.source, reading.protocol), (Source::Windows, None));
        assert_eq!((reading.not_understood.len(), reading.unread.len()), (0, 0), "{reading:#?}");
        assert_eq!(judge(vec![reading]).unwrap().verdict, Verdict::Notice);
    }
    // Two drives are two.
    let two = format!("{list}{}", list.replace(": 0\r", ": 1\r"));
    let readings = read(two.as_bytes()).unwrap();
    assert_eq!(readings.len(), 2, "{readings:#?}");
    assert!(judge(latest_first(readings)).unwrap_err().to_string().contains("devices \"disk 1\" and \"disk 0\""));
}

#[test]
fn an_emmc_device_tells_tenths_of_its_life() {
    let extcsd = |a: &str, b: &str, end: &str| {
        format!(
            "=============================================\n  Extended CSD rev 1.8 (MMC 5.1)\n=============================================\n\
             eMMC Firmware Version: 0x6\neMMC Life Time Estimation A [EXT_CSD_DEVICE_LIFE_TIME_EST_TYP_A]: {a}\n\
             eMMC Life Time Estimation B [EXT_CSD_DEVICE_LIFE_TIME_EST_TYP_B]: {b}\neMMC Pre EOL information [EXT_CSD_PRE_EOL_INFO]: {end}\n"
        )
    };
    for (text, used, verdict) in [
        (extcsd("0x0b", "0x02", "0x03"), 105.0, Verdict::Failing),
        (extcsd("0x01", "0x0b", "0x01"), 105.0, Verdict::Warning),
        (extcsd("0x02", "0x03", "0x02"), 25.0, Verdict::Warning),
        (extcsd("0x01", "0x00", "0x01"), 5.0, Verdict::Good),
        ("0x0b 0x02\n".to_owned(), 105.0, Verdict::Warning),
        ("0x01 0x02\n".to_owned(), 15.0, Verdict::Good),
    ] {
        let judgement = judged(&text);
        assert_eq!((judgement.life.wear_percent, judgement.verdict), (Some(used), verdict), "{}", judgement.text());
        assert_eq!(judgement.life.wear_step_percent, Some(10.0));
    }
    for text in ["0x0c 0x02", "0x00 0x00 0x01", "11 2"] {
        assert!(read(text.as_bytes()).is_err(), "{text}");
    }
}

/// Proxmox VE's answers hold smartctl's text, or rows of its table.
#[test]
fn proxmoxs_answers_are_read_as_smartctls() {
    let text = "\nSMART/Health Information (NVMe Log 0x02)\nCritical Warning:                   0x00\nAvailable Spare:                    100%\n\
                Percentage Used:                    61%\nData Units Written:                 2,000 [1.02 GB]\nPower On Hours:                     21,835\n";
    let nvme = json!({ "data": { "health": "PASSED", "type": "text", "text": text, "wearout": 39 } });
    check(&one(&nvme.to_string()), &[(Q::PercentageUsed, 61.0), (Q::HostWritten, 1024e6), (Q::PowerOnHours, 21_835.0)]);
    let row = |id: &str, name: &str, value: &str, raw: &str| json!({ "fail": "-", "flags": "PO--CK", "id": id, "name": name, "normalized": 1, "raw": raw, "threshold": "010", "value": value, "worst": value });
    let rows = [row("  5", "Reallocated_Sector_Ct", "098", "24"), row("177", "Wear_Leveling_Count", "063", "742")];
    let ata = json!({ "data": { "health": "FAILED!", "type": "ata", "attributes": rows, "wearout": 63 } });
    let reading = one(&ata.to_string());
    check(&reading, &[(Q::Reallocated, 24.0), (Q::PercentageUsed, 37.0)]);
    assert_eq!(
        (reading.is_passed, reading.attributes[0].threshold, reading.attributes[0].is_prefailure),
        (Some(false), Some(10), true)
    );
    let list = json!({ "data": [{ "devpath": "/dev/nvme0n1", "wearout": 39, "health": "PASSED", "model": "A", "serial": "S" }] });
    assert!(read(list.to_string().as_bytes()).unwrap_err().to_string().contains("list of devices"));
}

#[test]
fn cephs_records_have_intels_page_and_the_reason_of_a_failed_scrape() {
    let sample = |seconds: i64, host: u32| {
        json!({ "device": { "name": "/dev/nvme0n1", "protocol": "NVMe" }, "serial_number": "S1", "model_name": "INTEL A", "local_time": { "time_t": seconds },
            "nvme_smart_health_information_log": { "critical_warning": 0, "percentage_used": 4, "available_spare": 100, "media_errors": 0,
                "data_units_written": u64::from(host) * 65_536 },
            "nvme_vendor": "intel", "nvme_smart_health_information_add_log": { "Intel Smart log": "nvme0", "Device stats": {
                "nand_bytes_written": { "normalized": 100, "raw": 2 * host * 1000 }, "host_bytes_written": { "normalized": 100, "raw": host * 1000 },
                "wear_leveling": { "normalized": 95, "raw": { "avg": 120, "max": 140, "min": 90 } } } },
            "smart_status": { "passed": true }, "smartctl": { "version": [7, 2] } })
    };
    let failed = json!({ "dev": "/dev/nvme0n1", "error": "smartctl failed", "nvme_vendor": "intel", "smartctl_error_code": -22,
        "smartctl_output": "smartctl returned an error (137): stderr:\nsudo: exit status: 137\nstdout:\n" });
    let metrics =
        json!({ "20260901": sample(1_788_000_000, 1000), "20261001": failed, "20261101": sample(1_793_000_000, 2000) });
    let readings = read(metrics.to_string().as_bytes()).unwrap();
    assert_eq!(readings.len(), 2);
    let judgement = judge(readings).unwrap();
    let ratios = &judgement.writes.amplification;
    assert_eq!(
        (ratios.life.map(f64::round), ratios.window.map(f64::round)),
        (Some(2.0), Some(2.0)),
        "{}",
        judgement.text()
    );
    assert!(
        judgement.not_understood.iter().any(|said| said.contains("smartctl returned an error (137)")),
        "{}",
        judgement.text()
    );
    let alone = read(json!({ "20261001": failed }).to_string().as_bytes()).unwrap_err().to_string();
    assert_eq!(alone, "smartctl could not ask the drive: smartctl returned an error (137)");
}

#[test]
fn what_is_not_read_is_refused_with_what_would_help() {
    let storcli = json!({ "Controllers": [{ "Command Status": { "Status": "Success" }, "Response Data": { "Drive /c0/e252/s1": [{ "DID": 9 }] } }] });
    let smartctl = |part: &str| format!("smartctl 7.3 2022-02-28 r5338\nCopyright (C) 2002-22\n\n{part}\n");
    for (input, parts) in [
        ("Adapter #0\n\nEnclosure Device ID: 252\nDevice Id: 14\nPredictive Failure Count: 1\nFirmware state: Online\n".to_owned(), ["MegaCli", "-d megaraid,N"]),
        (storcli.to_string(), ["storcli", "-d megaraid,N"]),
        ("HPE Smart Array P408i-a SR Gen10 in Slot 0\n\n   physicaldrive 1I:1:1\n      Usage remaining: 7.20%\n".to_owned(), ["ssacli", "-d cciss,N"]),
        ("/dev/md0:\n        Raid Level : raid1\n      Raid Devices : 2\n".to_owned(), ["mdadm", "on each of its drives"]),
        ("  pool: tank\n state: ONLINE\n  scan: scrub repaired 0B\n".to_owned(), ["zpool", "on each of its drives"]),
        (json!({ "blockdevices": [{ "name": "sda", "maj:min": "8:0", "mountpoints": [null] }] }).to_string(), ["lsblk", "smartctl -x --json"]),
        (json!({ "date": "2026", "device": "/dev/mmcblk0", "signature": "0x9 0x41", "Remaining life": 10, "success": true }).to_string(), ["sdmon", "memory card"]),
        (smartctl("SCT Status Version:                  3\nCurrent Temperature:                    78 Celsius"), ["has nothing of the drive's health", "run it with -x"]),
        (smartctl("SMART Self-test log structure revision number 1\nNo self-tests have been logged."), ["has nothing of the drive's health", "run it with -x"]),
        (smartctl("Rd look-ahead is: Enabled\nWrite cache is:   Enabled"), ["has nothing of the drive's health", "run it with -x"]),
        (smartctl("Smartctl open device: /dev/sda failed: Permission denied"), ["could not ask the drive", "Permission denied"]),
    ] {
        let said = read(input.as_bytes()).map(|readings| format!("{readings:#?}")).unwrap_err().to_string();
        assert!(parts.iter().all(|part| said.contains(part)) && said.lines().count() == 1, "{said}, wanted {parts:?}");
    }
    // The log of errors alone is one of a drive.
    let judgement = judged(&smartctl(
        "SMART Error Log Version: 1\nATA Error Count: 43 (device log contains only the most recent five errors)",
    ));
    assert_eq!(judgement.verdict, Verdict::Notice, "{}", judgement.text());
}
