//! Other tools give a drive's values in units of their own, which change with their versions.

#![allow(clippy::unwrap_used, reason = "tests")]

mod common;

use common::one;
use serde_json::{Value, json};
use wane_smart::Quantity as Q;
use wane_smart::{Protocol, Reading, Source, read};

fn check(reading: &Reading, wanted: &[(Q, f64)]) {
    for (quantity, want) in wanted {
        let got = reading.get(*quantity).unwrap_or_else(|| panic!("no {}: {reading:#?}", quantity.key()));
        assert!((got - want).abs() <= 1e-9 * want.abs(), "{} is {got}, not {want}: {reading:#?}", quantity.key());
    }
}

/// Metrics of smartctl_exporter of an NVMe drive that moved these bytes, with blocks of this size.
fn exporter(read: f64, written: f64, block: u32, more: &str) -> String {
    format!(
        "smartctl_device{{device=\"nvme0\",protocol=\"NVMe\",interface=\"nvme\",model_name=\"A\",scsi_model_name=\"\"}} 1\n\
         smartctl_device_percentage_used{{device=\"nvme0\"}} 3\nsmartctl_device_bytes_read{{device=\"nvme0\"}} {read:e}\n\
         smartctl_device_bytes_written{{device=\"nvme0\"}} {written:e}\n\
         smartctl_device_block_size{{blocks_type=\"logical\",device=\"nvme0\"}} {block}\n{more}"
    )
}

/// smartctl_exporter multiplied data units by 1,024 blocks until 0.9.1, by 1,000 blocks until 0.12.0, and then by 512,000.
#[test]
fn bytes_of_the_exporter_are_those_of_its_version() {
    let built = "smartctl_exporter_build_info{version=\"0.14.0\"} 1\n";
    let (read, written) = (1_000_003.0, 2_000_003.0);
    for (block, factor, more, note) in [
        (512, 512_000.0, built, false),
        (4096, 512_000.0, built, false),
        (0, 512_000.0, built, false),
        // Without the version, by what divides the bytes.
        (512, 512_000.0, "", false),
        (4096, 512_000.0, "", false),
        (0, 512_000.0, "", false),
        (4096, 4_096_000.0, "", true),
        (512, 524_288.0, "", false),
        (4096, 4_194_304.0, "", false),
    ] {
        let reading = one(&exporter(read * factor, written * factor, block, more));
        check(&reading, &[(Q::HostRead, read * 512e3), (Q::HostWritten, written * 512e3)]);
        let said = reading.not_understood.iter().any(|said| said.contains("0.10 to 0.12"));
        assert_eq!(said, note, "{block} {factor}: {:?}", reading.not_understood);
    }
    let strange = one(&exporter(7.0, 11.0, 4096, ""));
    assert_eq!(strange.get(Q::HostWritten), None, "of no version");
    assert!(strange.not_understood.iter().any(|said| said.contains("of no version")), "{:?}", strange.not_understood);
}

#[test]
fn a_sas_drives_bytes_and_name_are_found() {
    let text = "smartctl_device{device=\"sda\",protocol=\"SCSI\",interface=\"scsi\",model_name=\"unknown\",scsi_model_name=\"A SAS DRIVE\",serial_number=\"S\"} 1\n\
                smartctl_device_bytes_written{device=\"sda\"} 9.7311e+13\nsmartctl_device_bytes_read{device=\"sda\"} 1e+12\n\
                smartctl_scsi_grown_defect_list{device=\"sda\"} 3\nsmartctl_write_total_uncorrected_errors{device=\"sda\"} 2\n\
                smartctl_read_errors_corrected_by_eccfast{device=\"sda\"} 9\nsmartctl_device_wear{device=\"sda\"} 9\n";
    let reading = one(text);
    check(&reading, &[(Q::HostWritten, 97.311e12), (Q::HostRead, 1e12), (Q::Reallocated, 3.0), (Q::MediaErrors, 2.0)]);
    assert_eq!((reading.model.as_deref(), reading.protocol), (Some("A SAS DRIVE"), Some(Protocol::Scsi)));
    assert_eq!(reading.not_understood, ["metric device_wear"]);
}

/// node_exporter's scripts: ratios and units of the log, and attributes by number or by name alone.
#[test]
fn node_exporters_scripts_have_their_own_units() {
    let nvme = "nvme_device_info{device=\"nvme0n1\",model=\"A DRIVE\",firmware=\"F\",serial=\"S1\"} 1.0\n\
                nvme_available_spare_ratio{device=\"nvme0n1\"} 0.99\nnvme_available_spare_threshold_ratio{device=\"nvme0n1\"} 0.1\n\
                nvme_percentage_used_ratio{device=\"nvme0n1\"} 0.61\nnvme_critical_warning{device=\"nvme0n1\"} 0.0\n\
                nvme_data_units_written_total{device=\"nvme0n1\"} 1000000.0\nnvme_media_errors_total{device=\"nvme0n1\"} 4.0\n\
                nvme_power_on_hours_total{device=\"nvme0n1\"} 700.0\nnvme_temperature_celsius{device=\"nvme0n1\"} 41.0\n\
                nvme_physical_size_bytes{device=\"nvme0n1\"} 1e+10\nnvme_controller_busy_time_seconds{device=\"nvme0n1\"} 7.0\n\
                nvme_sector_size_bytes{device=\"nvme0n1\"} 512.0\n";
    let reading = one(nvme);
    check(&reading, &[(Q::Spare, 99.0), (Q::SpareThreshold, 10.0), (Q::PercentageUsed, 61.0), (Q::HostWritten, 512e9)]);
    check(&reading, &[(Q::MediaErrors, 4.0), (Q::PowerOnHours, 700.0), (Q::Temperature, 41.0), (Q::Capacity, 1e10)]);
    assert_eq!(
        (reading.serial.as_deref(), reading.source, reading.is_passed),
        (Some("S1"), Source::NodeExporter, Some(true))
    );
    assert_eq!(reading.not_understood, Vec::<String>::new());
    let script = one(&nvme.replace("nvme_critical_warning{", "nvme_critical_warning_total{"));
    check(&script, &[(Q::CriticalWarning, 0.0), (Q::PercentageUsed, 61.0)]);
    let sh = "smartmon_device_info{disk=\"/dev/sda\",type=\"sat\",device_model=\"CT500MX500SSD1\",serial_number=\"S2\",model_family=\"Crucial/Micron Client SSDs\"} 1\n\
              smartmon_device_smart_healthy{disk=\"/dev/sda\",type=\"sat\"} 1\n\
              smartmon_percent_lifetime_remain_value{disk=\"/dev/sda\",type=\"sat\",smart_id=\"202\"} 70\n\
              smartmon_percent_lifetime_remain_raw_value{disk=\"/dev/sda\",type=\"sat\",smart_id=\"202\"} 3.000000e+01\n\
              smartmon_reallocated_sector_ct_raw_value{disk=\"/dev/sda\",type=\"sat\",smart_id=\"5\"} 8.000000e+00\n\
              smartmon_total_lbas_written_raw_value{disk=\"/dev/sda\",type=\"sat\",smart_id=\"246\"} 2.000000e+09\n";
    let reading = one(sh);
    check(&reading, &[(Q::PercentageUsed, 30.0), (Q::Reallocated, 8.0), (Q::HostWritten, 1024e9)]);
    assert_eq!((reading.serial.as_deref(), reading.is_passed), (Some("S2"), Some(true)));
    let py = "smartmon_device_info{device=\"/dev/sdb\",disk=\"0\",device_model=\"X\",serial_number=\"S3\"} 1.0\n\
              smartmon_device_smart_healthy{device=\"/dev/sdb\",disk=\"0\"} 0.0\n\
              smartmon_attr_value{device=\"/dev/sdb\",disk=\"0\",name=\"reallocated_sector_ct\"} 90.0\n\
              smartmon_attr_raw_value{device=\"/dev/sdb\",disk=\"0\",name=\"reallocated_sector_ct\"} 9.0\n\
              smartmon_attr_raw_value{device=\"/dev/sdb\",disk=\"0\",name=\"host_writes_32mib\"} 10.0\n\
              smartmon_attr_raw_value{device=\"/dev/sdb\",disk=\"0\",name=\"lifetime_writes_gib\"} 11.0\n";
    let reading = one(py);
    check(&reading, &[(Q::Reallocated, 9.0), (Q::HostWritten, 10.0 * 33_554_432.0)]);
    assert_eq!((reading.serial.as_deref(), reading.is_passed), (Some("S3"), Some(false)));
}

#[test]
fn telegrafs_lines_and_metrics_are_a_history() {
    let drive = "device=nvme0,host=h,model=A\\ DRIVE,serial_no=S1,capacity=10000000000";
    let at = |seconds: u64, used: u32, units: u32| {
        format!(
            "smart_device,{drive} health_ok=true,temp_c=41i,power_on_hours=700i,percentage_used={used}i,available_spare=100i,\
             available_spare_threshold=10i,critical_warning=0i,media_errors=3i,exit_status=0i {seconds}000000000\n\
             smart_attribute,{drive},name=Data_Units_Written raw_value={units}i {seconds}000000000\n\
             smart_attribute,{drive},name=Percentage_Used raw_value={used}i {seconds}000000000\n"
        )
    };
    let readings =
        read(format!("{}{}", at(1_700_000_000, 10, 1_000_000), at(1_700_086_400, 11, 2_000_000)).as_bytes()).unwrap();
    assert_eq!(readings.len(), 2, "{readings:#?}");
    check(
        &readings[1],
        &[(Q::PercentageUsed, 11.0), (Q::HostWritten, 1024e9), (Q::Spare, 100.0), (Q::MediaErrors, 3.0)],
    );
    check(
        &readings[1],
        &[(Q::Temperature, 41.0), (Q::Capacity, 1e10), (Q::SpareThreshold, 10.0), (Q::CriticalWarning, 0.0)],
    );
    assert_eq!((readings[1].model.as_deref(), readings[1].serial.as_deref()), (Some("A DRIVE"), Some("S1")));
    assert_eq!(
        (readings[1].unix_seconds, readings[1].is_passed, readings[1].source),
        (Some(1_700_086_400), Some(true), Source::Telegraf)
    );
    assert_eq!(readings[1].not_understood, Vec::<String>::new());
    let sata = "smart_attribute,device=sda,serial_no=S2,model=CT500MX500SSD1,id=202,name=Percent_Lifetime_Remain,flags=----CK,fail=- \
                value=70i,worst=70i,threshold=1i,raw_value=30i,exit_status=0i 1700000000000000000\n\
                smart_attribute,device=sda,serial_no=S2,id=246,name=Total_LBAs_Written,flags=-O--CK,fail=- value=100i,raw_value=2000000000i 1700000000000000000\n\
                smart_device,device=sda,serial_no=S2 reallocated_sectors_count=8i,percent_lifetime_remain=70i 1700000000000000000\n";
    let metrics = "smart_attribute_value{device=\"sda\",serial_no=\"S2\",model=\"CT500MX500SSD1\",id=\"202\",name=\"Percent_Lifetime_Remain\",flags=\"----CK\"} 70\n\
                   smart_attribute_raw_value{device=\"sda\",id=\"202\",name=\"Percent_Lifetime_Remain\",flags=\"----CK\"} 30\n\
                   smart_attribute_raw_value{device=\"sda\",id=\"246\",name=\"Total_LBAs_Written\",flags=\"-O--CK\"} 2e+09\n\
                   smart_device_reallocated_sectors_count{device=\"sda\"} 8\n";
    for text in [sata, metrics] {
        let reading = one(text);
        check(&reading, &[(Q::PercentageUsed, 30.0), (Q::HostWritten, 1024e9), (Q::Reallocated, 8.0)]);
        assert_eq!(reading.serial.as_deref(), Some("S2"));
    }
}

/// OCP's page in JSON, with its keys in an order.
fn ocp(keys: &[(&str, Value)]) -> String {
    let told: Vec<String> = keys.iter().map(|(key, value)| format!("{}:{value}", json!(key))).collect();
    format!("{{{}}}", told.join(","))
}

/// nvme-cli 2.0 to 2.3 has the two counts under each other's keys. 2.4 to 2.10 still have its name of the errata, and are right.
#[test]
fn end_to_end_errors_are_those_of_the_version() {
    let (detected, corrected) = ("End to end detected errors", "End to end corrected errors");
    let start = || {
        vec![("Physical media units written", json!({ "hi": 0, "lo": 9 })), ("Bad user nand blocks - Raw", json!(1))]
    };
    let with = |rest: &[(&'static str, Value)]| ocp(&start().into_iter().chain(rest.to_vec()).collect::<Vec<_>>());
    let (errata, changes) = ("NVMe Errata Version", "Power State Change Count");
    for (version, text) in [
        ("2.3", with(&[(corrected, json!(900)), (detected, json!(0)), ("PLP start count", json!("5")), ("Log page version", json!(3)), (errata, json!(0))])),
        ("2.1, of a page of version 2", with(&[(corrected, json!(900)), (detected, json!(0)), ("PLP start count", json!(5))])),
        ("2.4", with(&[(detected, json!(900)), (corrected, json!(0)), ("PLP start count", json!(5)), (errata, json!(0)), (changes, json!(7))])),
        ("2.13", with(&[(detected, json!(900)), (corrected, json!(0)), ("PLP start count", json!(5))])),
        (
            "2.13, with its keys sorted",
            ocp(&[("Bad user nand blocks - Raw", json!(1)), (corrected, json!(0)), (detected, json!(900)), ("PLP start count", json!(5)),
                ("Physical media units written", json!({ "hi": 0, "lo": 9 }))]),
        ),
        (
            "2.3, with its keys sorted",
            ocp(&[("Bad user nand blocks - Raw", json!(1)), (corrected, json!(900)), (detected, json!(0)), ("PLP start count", json!("5")),
                ("Physical media units written", json!({ "hi": 0, "lo": 9 }))]),
        ),
        (
            "2.3, text",
            "SMART Cloud Attributes :-\n  Physical media units written -\t\t0 9\n  End to end corrected errors\t\t900\n  End to end detected errors\t\t0\n".to_owned(),
        ),
        (
            "2.13, text",
            "SMART Cloud Attributes :-\n  Physical media units written -\t\t0 9\n  End to end detected errors\t\t900\n  End to end corrected errors\t\t0\n  \
             PLP start count\t\t\t\t5\n".to_owned(),
        ),
    ] {
        let reading = one(&text);
        assert_eq!(reading.get(Q::EndToEndErrors), Some(900.0), "{version}: {reading:#?}");
    }
}

#[test]
fn counts_that_became_negative_are_what_they_were() {
    let text = r#"{"Physical media units written":{"hi":0,"lo":9},"Max User data erase counts":-2147483648,"Min User data erase counts":-1,
        "PCIe correctable error count":-1,"Bad user nand blocks - Raw":3}"#;
    let reading = one(text);
    assert_eq!(reading.get(Q::EraseCountMin), None, "all ones are not reported");
    assert!(
        reading
            .not_understood
            .iter()
            .any(|said| said.contains("max_user_data_erase_count: 2147483648 is not possible")),
        "{reading:#?}"
    );
    assert_eq!((reading.get(Q::LinkErrors), reading.get(Q::BadBlocksGrown)), (None, Some(3.0)));
    let less = one(&text.replace("-2147483648", "400000"));
    assert_eq!(less.get(Q::EraseCountMax), Some(400_000.0));
}
