//! Meanings of vendors' attributes: a row for each family.

#![allow(clippy::unwrap_used, reason = "tests")]

use wane_smart::Quantity as Q;
use wane_smart::attributes::{FAMILIES, family};
use wane_smart::{Reading, read};

/// Rows of a table of attributes: number, normalized value, raw value.
fn drive(model: &str, named: &str, rows: &[(u8, u8, &str)]) -> Reading {
    let mut text =
        format!("{}\nModel Family: {named}\nDevice Model: {model}\n", "=== START OF INFORMATION SECTION ===");
    for (id, value, raw) in rows {
        text += &format!("{id:3} Unknown_Attribute 0x0032 {value:03} {value:03} 000 Old_age Always - {raw}\n");
    }
    read(text.as_bytes()).unwrap().remove(0)
}

/// A family's name, a model, rows of the table, and their quantities.
type Row = (&'static str, &'static str, &'static [(u8, u8, &'static str)], &'static [(Q, f64)]);

const ROWS: &[Row] = &[
    (
        "Silicon Motion",
        "ADATA SP550",
        &[(167, 100, "1181"), (168, 100, "1000"), (169, 100, "0"), (241, 100, "2"), (245, 100, "3"), (232, 100, "90")],
        &[
            (Q::PercentageUsed, 118.1),
            (Q::HostWritten, 67_108_864.0),
            (Q::FlashWritten, 100_663_296.0),
            (Q::Spare, 90.0),
        ],
    ),
    (
        "WD Blue and Green",
        "WDC  WDS250G2B0A-00SM50",
        &[
            (173, 100, "21"),
            (230, 2, "0x0156020a020a"),
            (232, 99, "100"),
            (233, 100, "5428"),
            (234, 100, "5514"),
            (241, 253, "983"),
        ],
        &[(Q::EraseCountMean, 21.0), (Q::PercentageUsed, 2.0), (Q::Spare, 99.0), (Q::FlashWritten, 10_942e9)],
    ),
    (
        "Micron and Crucial",
        "CT120BX500SSD1",
        &[(202, 99, "99"), (246, 100, "320"), (247, 100, "10"), (248, 100, "5")],
        &[(Q::PercentageUsed, 1.0), (Q::HostWritten, 163_840.0), (Q::FlashWritten, 245_760.0)],
    ),
    (
        "Samsung SATA",
        "SAMSUNG MZ7KH240HAHQ-00005",
        &[(177, 97, "62"), (241, 99, "1000"), (251, 100, "2000"), (194, 76, "24 (Min/Max 18/47)"), (190, 76, "30")],
        &[(Q::PercentageUsed, 3.0), (Q::EraseCountMean, 62.0), (Q::FlashWritten, 1_024_000.0), (Q::Temperature, 24.0)],
    ),
    (
        "Dell-certified Intel",
        "SSDSCKJB240G7R",
        &[(195, 100, "4"), (233, 100, "77"), (241, 100, "1"), (245, 100, "98")],
        &[(Q::PercentageUsed, 2.0), (Q::HostWritten, 33_554_432.0), (Q::MediaErrors, 4.0)],
    ),
    (
        "Intel data center SATA",
        "INTEL SSDSC2BB240G4",
        &[(232, 98, "0"), (233, 22, "0"), (241, 100, "1"), (243, 100, "2")],
        &[(Q::PercentageUsed, 78.0), (Q::Spare, 98.0), (Q::FlashWritten, 67_108_864.0)],
    ),
    (
        "Kingston UV400 and UV500",
        "KINGSTON SUV500MS480G",
        &[(177, 91, "900"), (231, 90, "0"), (233, 100, "25000"), (241, 100, "3"), (242, 100, "1")],
        &[(Q::PercentageUsed, 10.0), (Q::HostWritten, 3.0 * 1_073_741_824.0)],
    ),
    (
        "SK hynix SE5031 and SE5110",
        "HFS960G32FEH-BA10A",
        &[(173, 100, "400"), (231, 60, "60"), (235, 100, "1"), (241, 100, "3"), (245, 70, "70")],
        &[(Q::PercentageUsed, 40.0), (Q::HostWritten, 1_073_741_824.0), (Q::FlashWritten, 3.0 * 1_073_741_824.0)],
    ),
    (
        "Phison",
        "KINGSTON SKC400S371T",
        &[(231, 100, "74"), (233, 100, "2"), (241, 100, "1"), (244, 100, "808")],
        &[(Q::PercentageUsed, 26.0), (Q::FlashWritten, 2_147_483_648.0), (Q::EraseCountMean, 808.0)],
    ),
];

#[test]
fn each_family_is_known_by_its_model_and_told_by_its_attributes() {
    assert_eq!(ROWS.len(), FAMILIES.len(), "a row for each family");
    for (name, model, rows, wanted) in ROWS {
        let reading = drive(model, "", rows);
        assert_eq!(family(&reading).map(|family| family.name), Some(*name));
        for (quantity, want) in *wanted {
            let got = reading.get(*quantity).unwrap_or_else(|| panic!("{name}: {} is not told", quantity.key()));
            assert!((got - want).abs() < 1e-9 * want.max(1.0), "{name}: {} is {got}, not {want}", quantity.key());
        }
        assert_eq!(reading.not_understood, Vec::<String>::new(), "{name}");
        for of_the_database in FAMILIES.iter().find(|family| family.name == *name).unwrap().families {
            assert_eq!(family(&drive("", of_the_database, rows)).map(|family| family.name), Some(*name));
        }
    }
}

#[test]
fn what_no_family_explains_is_named_and_not_guessed() {
    let reading = drive("NONAME 1TB", "", &[(241, 100, "5"), (173, 100, "7"), (5, 100, "3"), (188, 100, "4 4 7")]);
    assert_eq!((reading.get(Q::HostWritten), reading.get(Q::EraseCountMean)), (None, None));
    assert_eq!((reading.get(Q::Reallocated), reading.get(Q::Timeouts)), (Some(3.0), Some(7.0)));
    assert_eq!(reading.not_understood, ["attribute 241 (Unknown_Attribute)", "attribute 173 (Unknown_Attribute)"]);
    assert_eq!(reading.attributes.len(), 4, "raw values are kept beside");
    let text = "=== START OF INFORMATION SECTION ===\nDevice Model: NONAME\n241 Host_Writes_GiB 0x0032 100 100 000 Old_age Always - 5\n";
    assert_eq!(
        read(text.as_bytes()).unwrap()[0].get(Q::HostWritten),
        Some(5.0 * 1_073_741_824.0),
        "its name says its unit"
    );
}

#[test]
fn a_family_is_the_one_that_smartctl_names() {
    let of = |model: &str, named: &str| {
        let reading = drive(model, named, &[(9, 100, "10")]);
        family(&reading).map(|family| family.name)
    };
    for (model, named, wanted) in [
        // Names of smartmontools' database of version 7.5.
        ("TOSHIBA THNS064GE2BBDC", "JMicron based SSDs", None),
        ("KINGSTON SUV400S37120G", "Kingston SSDNow UV400/500", Some("Kingston UV400 and UV500")),
        ("KINGSTON SUV500MS120G", "", Some("Kingston UV400 and UV500")),
        ("KINGSTON SKC600MS1024G", "", Some("Silicon Motion")),
        ("A DRIVE", "Silicon Motion based USB SSDs", None),
        // smartctl has one name for several of SK hynix's tables.
        ("HFS480G32FEH-7410A", "SK hynix SATA SSDs", Some("SK hynix SE5031 and SE5110")),
        ("SK HYNIX SE5110 480GB ZIRCON LITE 3DTLC", "", Some("SK hynix SE5031 and SE5110")),
        ("SK hynix SC311 SATA 256GB", "SK hynix SATA SSDs", None),
        ("KINGSTON SUV300S37A120G", "", Some("Phison")),
        ("INTEL SSDSC2MH120A2", "Intel 510 Series SSDs", None),
        ("INTEL SSDSC2BB240G4", "Intel 730 and DC S35x0/3610/3700 Series SSDs", Some("Intel data center SATA")),
        ("SOLIDIGM SSDSC2KB480GZR", "Intel/Solidigm S46x0/S45x0 Series SSDs", Some("Intel data center SATA")),
        ("SSDSC2KB480G8R", "", Some("Dell-certified Intel")),
        ("CT240BX200SSD1", "Silicon Motion based SSDs", Some("Silicon Motion")),
        ("Hoodisk SSD", "Phison Driven OEM SSDs", Some("Phison")),
    ] {
        assert_eq!(of(model, named), wanted, "{model}, {named}");
    }
}

#[test]
fn a_name_that_says_otherwise_goes_before_the_number() {
    let text = "=== START OF INFORMATION SECTION ===\nModel Family: Indilinx Barefoot 3 based SSDs\nDevice Model: OCZ-VERTEX460\n\
                198 Host_Reads_GiB 0x0012 100 100 000 Old_age Always - 4000\n199 Host_Writes_GiB 0x0012 100 100 000 Old_age Always - 5000\n\
                184 Initial_Bad_Block_Count 0x0012 100 100 000 Old_age Always - 20\n";
    let reading = read(text.as_bytes()).unwrap().remove(0);
    assert_eq!(
        (reading.get(Q::OfflineUncorrectable), reading.get(Q::LinkErrors), reading.get(Q::EndToEndErrors)),
        (None, None, None)
    );
    assert_eq!(reading.get(Q::HostWritten), Some(5000.0 * f64::from(1u32 << 30)));
    assert_eq!(reading.not_understood, ["attribute 184 (Initial_Bad_Block_Count)"]);
}

#[test]
fn an_nvme_drive_is_of_no_family_of_attributes() {
    let text = "=== START OF INFORMATION SECTION ===\nModel Number: SAMSUNG MZQL21T9HCJR-00A07\n=== START OF SMART DATA SECTION ===\n\
                SMART/Health Information (NVMe Log 0x02)\nPercentage Used: 3%\nCritical Warning: 0x00\n";
    let reading = read(text.as_bytes()).unwrap().remove(0);
    assert_eq!(family(&reading).map(|family| family.name), None);
}
