//! Log pages compared with the places that the specifications give, and records with their pages.

#![allow(missing_docs, reason = "tests")]

use wane_smart::{
    EnduranceGroupLog, Guid, HealthLog, HealthRecord, LogError, LogId, LogPage, OCP_GUID, OcpLog, PAGE_BYTES,
    REQUIREMENT_GUID, RequirementLog, Text,
};

/// Widths of neighboring fields; gaps are negative. Taken from nvme-cli's structs, not from the pages' declarations.
const HEALTH: &[i32] =
    &[1, 2, 1, 1, 1, 1, -25, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, 4, 4, 16, 4, 4, 4, 4, 8, 4, -268];
const ENDURANCE_GROUP: &[i32] = &[1, 1, -1, 1, 1, 1, 2, -24, 16, 16, 16, 16, 16, 16, 16, 16, 16, 16, -320];
const OCP: &[i32] = &[
    16, 16, 6, 2, 6, 2, 8, 8, 8, 4, 4, 1, 7, 4, 4, 1, 1, 1, 2, 2, 1, 8, 4, -4, 1, -7, 2, 1, 1, 1, 1, -2, 8, 8, 8, 16,
    16, 8, 8, 8, 2, 2, 2, 1, 1, 8, 4, 4, 1, -3, 4, 1, -3, 4, 1, -3, 2, 2, 6, 8, 16, 64, 6, 2, -128, 2, 16,
];

fn check_layout(layout: &[(&str, usize, usize)], widths: &[i32]) {
    let mut fields = layout.iter();
    let mut at = 0;
    for width in widths {
        let end = at + width.unsigned_abs() as usize;
        if *width > 0 {
            let (name, first, behind) = fields.next().expect("a field for each place");
            assert_eq!((*first, *behind), (at, end), "{name}");
        }
        at = end;
    }
    assert_eq!(fields.next(), None);
    assert_eq!(at, PAGE_BYTES);
}

#[test]
fn fields_lie_where_the_specifications_say() {
    check_layout(HealthLog::LAYOUT, HEALTH);
    check_layout(EnduranceGroupLog::LAYOUT, ENDURANCE_GROUP);
    check_layout(OcpLog::LAYOUT, OCP);
}

/// Bytes of which each differs from its neighbors.
fn pattern() -> [u8; PAGE_BYTES] {
    std::array::from_fn(|index| (index * 7 + index / 256 + 1) as u8)
}

#[test]
fn each_field_is_read_from_its_bytes_and_written_back_to_them() {
    for id in LogId::ALL {
        let layout = match id {
            LogId::Health => HealthLog::LAYOUT,
            LogId::EnduranceGroup => EnduranceGroupLog::LAYOUT,
            LogId::Ocp => OcpLog::LAYOUT,
            LogId::Requirement => RequirementLog::LAYOUT,
        };
        let mut bytes = pattern();
        if id == LogId::Ocp {
            bytes[496..].copy_from_slice(&OCP_GUID.0.to_le_bytes());
        }
        if id == LogId::Requirement {
            bytes[496..].copy_from_slice(&REQUIREMENT_GUID.0.to_le_bytes());
        }
        let page = LogPage::decode(id, &bytes).expect("a page");
        let written = page.encode();
        let names: Vec<&str> = page.fields().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, layout.iter().map(|(name, ..)| *name).collect::<Vec<&str>>());
        let mut is_field = [false; PAGE_BYTES];
        for (name, first, behind) in layout {
            assert_eq!(written[*first..*behind], bytes[*first..*behind], "{name}");
            is_field[*first..*behind].fill(true);
            // Changing a field's first byte changes only this field.
            let mut changed = bytes;
            changed[*first] ^= 0x80;
            let Ok(other) = LogPage::decode(id, &changed) else { continue };
            let differ: Vec<&str> = (page.fields().into_iter().zip(other.fields()))
                .filter(|(one, two)| one != two)
                .map(|((name, _), _)| name)
                .collect();
            assert_eq!(differ, [*name]);
        }
        let reserved = written.iter().zip(is_field).filter(|(_, is_field)| !is_field);
        assert!(reserved.map(|(byte, _)| *byte).all(|byte| byte == 0), "{id:?}: what is reserved is zero");
        assert_eq!(LogPage::decode(id, &written), Ok(page));
    }
}

/// A record with another number in each field.
fn record() -> HealthRecord {
    HealthRecord {
        capacity_initial_bytes: 900_000_000_000,
        capacity_bytes: 800_000_000_000,
        logical_block_bytes: 512,
        mapped_bytes: 512 * 33,
        host_bytes_read: 512_000 * 3 + 1,
        host_bytes_written: 512_000 * 5,
        host_reads: 6,
        host_writes: 7,
        media_errors: 8,
        flash_bytes_read: 9,
        flash_bytes_programmed: 10_000_000_001,
        flash_pages_read: 11,
        flash_pages_programmed: 12,
        flash_blocks_erased: 13,
        erase_count_min: 14,
        erase_count_mean: 15.5,
        erase_count_max: 17,
        blocks_bad_factory: 18,
        blocks_bad_grown: 19,
        blocks_refreshed: 20,
        rereads_max: Some(2),
        percentage_used: Some(21.9),
        available_spare_percent: 22.9,
        free_blocks_percent: 23.9,
        endurance_estimate_bytes: Some(24_000_000_001),
        is_unreliable: false,
        is_read_only: false,
        reads_corrected: 25,
        reads_uncorrectable: 26,
        recoveries: 27,
        dies: 28,
        dies_offline: 29,
        day: 30.0,
        power_on_hours: 31.9,
        power_cycles: 32,
        unsafe_shutdowns: 34,
        celsius: Some(51.4),
        celsius_max: Some(67.6),
        throttles: 35,
        throttled_seconds: 36.9,
        flash_energy_joules: 3600.0 * 35_000.5,
    }
}

#[test]
fn log_cah_tells_what_the_host_requires_and_what_it_cost() {
    let page = RequirementLog::of(&record());
    assert_eq!((page.rereads_max, page.blocks_retired), (2, 19));
    assert_eq!((page.capacity_initial, page.capacity), (900_000_000_000, 800_000_000_000));
    assert_eq!(RequirementLog::decode(&page.encode()), Ok(page.clone()));
    let free = RequirementLog::of(&HealthRecord { rereads_max: None, ..record() });
    assert_eq!(free.encode()[..4], [0xff; 4]);
    let foreign = RequirementLog { log_page_guid: OCP_GUID, ..page };
    let error = RequirementLog::decode(&foreign.encode()).expect_err("another's page");
    assert_eq!(error, LogError::Foreign { found: OCP_GUID, want: REQUIREMENT_GUID });
}

#[test]
fn log_02h_tells_the_record() {
    let bytes = HealthLog::of(&record()).encode();
    let at = |first: usize, width: usize| {
        bytes[first..first + width].iter().rev().fold(0u128, |value, byte| value << 8 | u128::from(*byte))
    };
    for (first, width, want) in [
        (0, 1, 0),
        (1, 2, 273 + 51),
        (3, 1, 22),
        (4, 1, 10),
        (5, 1, 21),
        (32, 16, 4),
        (48, 16, 5),
        (64, 16, 6),
        (80, 16, 7),
        (96, 16, 0),
        (112, 16, 32),
        (128, 16, 31),
        (144, 16, 34),
        (160, 16, 8),
        (176, 16, 0),
        (200, 2, 273 + 51),
        (216, 4, 35),
        (224, 4, 36),
        (202, 14, 0),
        (232, 8, 35_001),
        (240, 4, 0),
    ] {
        assert_eq!(at(first, width), want, "byte {first}");
    }
}

#[test]
fn log_09h_counts_in_billions_of_bytes() {
    let log = EnduranceGroupLog::of(&record());
    assert_eq!(
        (log.endurance_estimate, log.data_units_read, log.data_units_written, log.media_units_written),
        (25, 1, 1, 11)
    );
    assert_eq!((log.host_read_commands, log.host_write_commands, log.media_and_data_integrity_errors), (6, 7, 8));
    assert_eq!((log.available_spare, log.available_spare_threshold, log.percentage_used), (22, 10, 21));
    assert_eq!((log.total_endurance_group_capacity, log.unallocated_endurance_group_capacity), (800_000_000_000, 0));
}

#[test]
fn log_c0h_counts_in_bytes_and_names_its_layout() {
    let log = OcpLog::of(&record());
    assert_eq!((log.physical_media_units_written, log.physical_media_units_read), (10_000_000_001, 9));
    assert_eq!((log.bad_user_nand_blocks_raw, log.bad_user_nand_blocks_normalized), (19, 22));
    assert_eq!((log.xor_recovery_count, log.uncorrectable_read_error_count, log.soft_ecc_error_count), (27, 26, 25));
    assert_eq!((log.refresh_count, log.percent_free_blocks, log.total_namespace_utilization), (20, 23, 33));
    let erases = (log.min_user_data_erase_count, log.nand_average_erase_count, log.max_user_data_erase_count);
    assert_eq!(erases, (14, 16, 17));
    assert_eq!((log.endurance_estimate, log.lifetime_power_consumed, log.plp_start_count), (24_000_000_001, 35, 34));
    assert_eq!((log.total_media_dies, log.media_dies_offline), (28, 29));
    assert_eq!((log.dssd_major_version, log.dssd_minor_version, log.log_page_version), (2, 7, 6));
    // The bytes that nvme-cli compares.
    let guid = [0xC5, 0xAF, 0x10, 0x28, 0xEA, 0xBF, 0xF2, 0xA4, 0x9C, 0x4F, 0x6F, 0x7C, 0xC9, 0x14, 0xD5, 0xAF];
    assert_eq!(log.encode()[496..], guid);
    assert_eq!(log.dssd_firmware_build_label.to_string(), "simulated by wane");
}

#[test]
fn values_saturate_and_never_wrap() {
    let most = HealthRecord {
        percentage_used: Some(254.9),
        available_spare_percent: 100.5,
        host_bytes_written: u64::MAX,
        blocks_refreshed: u64::MAX,
        dies: 70_000,
        flash_energy_joules: f64::MAX,
        ..record()
    };
    let log = HealthLog::of(&most);
    assert_eq!((log.percentage_used, log.available_spare), (254, 100));
    assert_eq!(log.data_units_written, u128::from(u64::MAX.div_ceil(512_000)));
    assert_eq!(log.operational_lifetime_energy_consumed, u64::MAX);
    for (used, want) in [(99.99, 99), (100.0, 100), (255.0, 255), (256.0, 255), (1e9, 255), (f64::NAN, 0)] {
        assert_eq!(HealthRecord { percentage_used: Some(used), ..record() }.percentage_used(), want, "{used}");
    }
    assert_eq!(HealthRecord { percentage_used: None, ..record() }.percentage_used(), 0);
    let ocp = OcpLog::of(&most);
    assert_eq!(ocp.total_media_dies, u16::MAX);
    let bytes = ocp.encode();
    assert_eq!(bytes[81..88], [0xff; 7], "more than 56 bits hold is all that they hold");
    assert_eq!(bytes[88], 17, "and the next field is as it was");
    assert_eq!(bytes[264..270], [0xff; 6]);
    let wide = OcpLog { bad_user_nand_blocks_raw: (1 << 48) - 1, refresh_count: 1 << 56, ..ocp };
    let read = OcpLog::decode(&wide.encode()).expect("a page");
    assert_eq!((read.bad_user_nand_blocks_raw, read.refresh_count), ((1 << 48) - 1, (1 << 56) - 1));
    let all = HealthLog { data_units_read: u128::MAX, ..HealthLog::default() };
    assert_eq!(HealthLog::decode(&all.encode()), Ok(all));
}

#[test]
fn warnings_are_bits_0_2_and_3() {
    let of = |spare: f64, is_unreliable: bool, is_read_only: bool| {
        let record = HealthRecord { available_spare_percent: spare, is_unreliable, is_read_only, ..record() };
        assert_eq!(HealthLog::of(&record).critical_warning, EnduranceGroupLog::of(&record).critical_warning);
        record.critical_warning()
    };
    assert_eq!((of(10.0, false, false), of(9.99, false, false), of(0.0, false, false)), (0, 1, 1));
    assert_eq!((of(50.0, true, false), of(50.0, false, true), of(0.0, true, true)), (4, 8, 13));
}

#[test]
fn what_is_no_page_is_refused_in_a_sentence() {
    assert_eq!(HealthLog::decode(&[0; 511]), Err(LogError::Length(511)));
    let said = EnduranceGroupLog::decode(&[]).map_err(|error| error.to_string());
    assert_eq!(said, Err("a log page has 512 bytes, found 0".to_owned()));
    let said = OcpLog::decode(&[0; PAGE_BYTES]).map_err(|error| error.to_string());
    let want =
        "log page c0h has the GUID 0x00000000000000000000000000000000, and OCP's is 0xafd514c97c6f4f9ca4f2bfea2810afc5";
    assert_eq!(said, Err(want.to_owned()));
    assert_eq!("C0H".parse(), Ok(LogId::Ocp));
    assert_eq!("03h".parse::<LogId>(), Err("02h, 09h, c0h, cah are allowed".to_owned()));
    assert_eq!(Text::<4>::of("a\u{e4}b").to_string(), "a?b");
    assert_eq!(Guid(1).to_string().len(), 34);
}

#[test]
fn a_record_is_written_and_read_back() {
    let text = serde_json::to_string(&record()).expect("numbers");
    assert_eq!(serde_json::from_str::<HealthRecord>(&text).expect("a record"), record());
    let twice = serde_json::from_str::<HealthRecord>(&text.replacen('{', "{\"spare\":1,", 1));
    assert!(twice.is_err_and(|error| error.to_string().contains("unknown field `spare`")));
}
