//! Names of attributes in smartmontools' database of drives, if the machine or WANE_TEST_DATA has it: each name of wear, of erases and
//! of bytes is read as what it says. Names that only another version has are told.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::BTreeSet;
use std::path::Path;

use wane_smart::Quantity as Q;
use wane_smart::attributes::{Take, family, meaning};
use wane_smart::{Reading, read};

/// What a name says.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Says {
    /// A quantity in this unit.
    Counts(Q, f64),
    /// Percent of the life that are left, or used.
    Left,
    Used,
    /// Nothing of these, or no unit.
    Else,
}

use Says::{Counts, Else, Left, Used};

const GIB: f64 = 1_073_741_824.0;
const MIB: f64 = 1_048_576.0;
const LBA: f64 = 512.0;

/// Read by hand from the database; a name is of one line alone.
const NAMES: &[(Says, &str)] = &[
    (Counts(Q::HostWritten, 32.0 * MIB), "Host_Writes_32MiB"),
    (Counts(Q::HostWritten, MIB), "Host_Writes_MiB"),
    (Counts(Q::HostWritten, GIB), "Host_Writes_GiB Lifetime_Writes_GiB Total_Writes_GiB"),
    (Counts(Q::HostWritten, 1e9), "Lifetime_Wts_Frm_Hst_GB Total_Writes_GB"),
    (
        Counts(Q::HostWritten, LBA),
        "Device_Sectors_Written Sectors_Written_to_SSD Total_Host_LBA_Written Write_Sectors_Tot_Ct",
    ),
    (Counts(Q::HostRead, 32.0 * MIB), "Host_Reads_32MiB"),
    (Counts(Q::HostRead, MIB), "Host_Reads_MiB"),
    (Counts(Q::HostRead, GIB), "Host_Reads_GiB Host_Reades_GiB Lifetime_Reads_GiB Total_Reads_GiB"),
    (Counts(Q::HostRead, 1e9), "Lifetime_Rds_Frm_Hst_GB Total_Reads_GB"),
    (Counts(Q::HostRead, LBA), "Sectors_Read_from_SSD Total_Host_LBA_Read Read_Sectors_Tot_Ct"),
    (Counts(Q::FlashWritten, 32.0 * MIB), "Flash_Writes_32MiB NAND_Writes_32MiB TLC_Writes_32MiB SLC_Writes_32MiB"),
    (
        Counts(Q::FlashWritten, GIB),
        "Flash_Writes_GiB NAND_Writes_1GiB NAND_Writes_GiB NAND_GiB_Written Total_NAND_Writes_GiB Total_NAND_Prog_Ct_GiB Lifetime_NAND_Prg_GiB",
    ),
    (
        Counts(Q::FlashWritten, 1e9),
        "NAND_GB_Written_TLC NAND_GB_Written_SLC TLC_NAND_GB_Writes Lifetime_Wts_To_Flsh_GB Lifetime_Nand_Gb",
    ),
    (
        Counts(Q::FlashWritten, LBA),
        "Flash_Writes_LBAs Flash_LBAs_Written Flash_Writes_Sectors NAND_Write_Sector_Cnt Sectors_Written_to_NAND Nand_Sectors_Written",
    ),
    (Counts(Q::FlashRead, 32.0 * MIB), "Flash_Reads_32MiB"),
    (Counts(Q::FlashRead, GIB), "Total_NAND_Read_Ct_GiB"),
    (
        Counts(Q::FlashRead, LBA),
        "Flash_Reads_LBAs NAND_Read_Sector_Cnt NAND_Reads_Sectors Nand_Sectors_Read Sectors_Read_from_NAND",
    ),
    (
        Counts(Q::EraseCountMean, 1.0),
        "Ave_Block-Erase_Count Average_Block-Erase_Ct Average_Erase_Count Average_PE_Count Average_PE_Cycles Average_PE_Cycles_TLC \
         Avg_Block-Erase_Count Avg_Erase_Cnt Avg_Erase_Count Avg_Program/Erase_Ct Avg_Write/Erase_Count",
    ),
    (
        Counts(Q::EraseCountMax, 1.0),
        "Max_Erase_Cnt Max_Erase_Count Max_PE_Cycles Maximum_Erase_Count Maximum_Erase_Cycle Maximum_PE_Cycles_TLC",
    ),
    (
        Counts(Q::EraseCountMin, 1.0),
        "Min_Erase_Cnt Min_Erase_Count Min_PE_Cycles Min_W/E_Cycle Minimum_Erase_Count Minimum_PE_Cycles_TLC Mininum_Erase_Count",
    ),
    (Counts(Q::EraseCountRated, 1.0), "Max_Erase_Count_of_Spec Max_PE_Count_Spec Max_Rated_PE_Count Rated_Erase_Count"),
    (Counts(Q::EraseCountTotal, 1.0), "Total_Erase_Count Total_Flash_Blk_Erases Total_Write/Erase_Count"),
    (
        Left,
        "DriveLife_Remaining% Drive_Life_Remaining% Life_Remaining_Percent Lifetime_Left Lifetime_Remaining% Media_Wearout_Indicator \
         PCT_Life_Remaining Perc_Rated_Life_Remain Percent_Life_Remaining Percent_Lifetime_Remain Remaining_Life Remaining_Lifetime_Perc \
         SSD_LifeLeft(0.01%) SSD_Life_Left SSD_Life_Left_Perc SSD_Remaining_Life_Perc Wear_Leveling_Count",
    ),
    (Used, "DriveLife_Used% Drive_Life_Used% Perc_Rated_Life_Used Percent_Life_Used Percent_Lifetime_Used"),
    // Without a unit, a part of a number, several numbers in one, of a part of the flash, or of something else.
    (
        Else,
        "Host_Writes NAND_Writes Lifetime_Writes Lifetime_Nand_Writes Total_Media_Writes Total_NAND_Written Number_Of_Write_Ct \
         Total_LBAs_Written Total_LBAs_Read Total_LBAs_Written_High Total_LBAs_Written_Low Total_LBAs_Read_High Total_LBAs_Read_Low \
         Flash_Writes_LBAs_High Flash_Writes_LBAs_Low Flash_LBAs_Written_Exp Host_LBA_Write_Exp Host_LBA_Read_Exp Write_Commands_Tot_Ct \
         Avg/Max_Erase_Count Erase_Count_Max/Avg Max/Avg/Min_Erase_Count Max/Avg/Min_Erase_Ct MaxAvgErase_Ct Erase_Count_0_AVG_MAX \
         Erase_Cycles_Avg_Max_Mn Wear_Delta_Avg_Max_Min Wear_Range_Delta Erase_Cnt Erase_Count Block_Erase_Count Later_Bad_Blk_Inf_R/W/E \
         Average_SLC_Erase_Ct Max_SLC_Erase_Ct Min_SLC_Erase_Ct Total_SLC_Erase_Ct SLC_Avg_Erase_Count SLC_Max_Erase_Count \
         SLC_Min_Erase_Count SLC_Avg_Erase_Cnt SLC_Max_Erase_Cnt SLC_Min_Erase_Cnt Avg_Erase_Count_pSLC Rated_Erase_Count_pSLC Perc_Write/Erase_Count Perc_Write/Erase_Ct_BC \
         Added_Bad_Flash_Blk_Ct Capacitor_Health Capacitor_Life Data_Log_Write_Count Device_Capacity_LBAs Drv_Life_Protect_Status \
         E2E_ErrCnt_SATA-Flash End_of_Life Endurance_Limit_Met Error_Bits_Flash_Tot_Ct Flash_GB_Erased Flash_ID Halt_System/Flash_ID Head_Health \
         Head_Health_Score Health_Check_Timer High_Fly_Writes Life_Curve_Status Lifetime_Die_Failure_Ct Lifetime_PS3_Exit_Ct \
         Lifetime_PS4_Entry_Ct Lifetime_Retried_Blk_Ct Lifetime_UECC_Ct Lifetime_Write_AmpFctr MAMR_Health_Monitor Min_Spares_Remain_Perc \
         NAND_Master NAND_Reads_with_Retry NAND_Temperature NOR_Health Offline_UErr_Media_Scan Power_Fail_Health Realloc_Flash_Blocks_Ct \
         Reallocate_NAND_Blk_Cnt Remaining_Energy_Storg Remaining_Spare_Blocks Reserve_Blk_Remaining SPI_Test_Remaining SSD_Health \
         SSD_Health_Flags SSD_Write_Protect_Mode Spare_Blk_Cnt_Left Spare_Blk_Count_Left Spare_Block_Remaining Spare_Blocks_Remaining Spares_Remaining \
         Spares_Remaining_Perc SuperCap_Health Sys_Percent_Life_Remain Thermal_Sensor_Health Timed_Workld_Media_Wear \
         Tot_NAND_Rd_Plane_Cnt_H Tot_NAND_Rd_Plane_Cnt_L Total_Unc_NAND_Reads Uncorrectable_Sectors Unused_Reserve_NAND_Blk \
         Unused_Rsvd_Blk_Cnt_Tot Unused_Rsvd_Blk_Ct_Chip Used_Rsrvd_Blk_Cnt_Tot Used_Rsrvd_Blk_Cnt_Wrst Used_Rsvd_Blk_Cnt_Chip \
         Used_Rsvd_Blk_Cnt_Tot User_Capacity_LBAs Workld_Media_Wear_Indic Write_AmpFctr Write_Ampflication Write_Error_Rate Write_Head \
         Write_Protect_Detail Write_Protect_Mode Write_Throttling",
    ),
];

/// Parts of names that may be of wear, erases or bytes.
const PARTS: [&str; 27] = [
    "writ", "wrt", "wts", "wear", "life", "left", "remain", "used", "nand", "flash", "flsh", "prog_ct", "prg",
    "media_w", "lba", "erase_c", "erase_cy", "pe_c", "w/e", "p/e", "spec", "rated", "sectors", "gib", "mib", "_gb",
    "health",
];

fn says(name: &str) -> Option<Says> {
    NAMES.iter().find(|(_, names)| names.split_whitespace().any(|known| known == name)).map(|(says, _)| *says)
}

/// A drive of a family with one attribute.
fn drive(named: &str, id: u8, name: &str, value: u8, raw: u32) -> Reading {
    let text = format!(
        "=== START OF INFORMATION SECTION ===\nModel Family: {named}\nDevice Model: X\n9 Power_On_Hours 0x32 100 100 0 Old_age Always - 9\n\
         {id:3} {name} 0x0032 {value:03} {value:03} 000 Old_age Always - {raw}\n"
    );
    read(text.as_bytes()).unwrap().remove(0)
}

/// What is wrong with the reading of an attribute; `None` if it is read as its name says, or nobody knows what that says.
fn wrong(named: &str, id: u8, name: &str) -> Option<String> {
    let says = says(name)?;
    let (value, raw) = if says == Used { (60, 40) } else { (60, 60) };
    let reading = drive(named, id, name, value, raw);
    let own = family(&reading).and_then(|family| meaning(family, id));
    let wear = reading.get(Q::PercentageUsed);
    let moved = [Q::HostWritten, Q::HostRead, Q::FlashWritten, Q::FlashRead];
    match (says, own) {
        // The database gives names to what a table leaves out, as it is told elsewhere.
        (_, Some(None)) => None,
        (_, Some(Some(Take::EitherWay))) => None,
        // A count of erases, whose normalized value is not used.
        (Left, Some(Some(Take::Raw(_)))) => wear.map(|wear| format!("is {wear} percent used")),
        (Counts(quantity, unit), own) => {
            let want = Some(f64::from(raw) * unit);
            // A part of the flash alone is not all of it.
            let is_part = own.is_some() && name.ends_with("_SLC") && reading.get(quantity).is_none();
            (reading.get(quantity) != want && !is_part)
                .then(|| format!("is {:?} and not {want:?} of {}", reading.get(quantity), quantity.key()))
        }
        (Left | Used, _) => (wear != Some(40.0)).then(|| format!("is {wear:?} percent used, and not 40")),
        (Else, None) => {
            let taken: Vec<&str> = moved
                .iter()
                .filter(|quantity| reading.get(**quantity).is_some())
                .map(|quantity| quantity.key())
                .collect();
            (wear.is_some() || !taken.is_empty()).then(|| format!("is taken for {taken:?} or wear of {wear:?}"))
        }
        (Else, Some(Some(_))) => None,
    }
}

/// The database's text; without one it reports that the test is skipped.
fn database() -> Option<String> {
    let data = std::env::var_os("WANE_TEST_DATA").map(|folder| Path::new(&folder).join("smart/drivedb.h"));
    let places = ["/var/lib/smartmontools/drivedb/drivedb.h", "/usr/share/smartmontools/drivedb.h"].map(Into::into);
    let found = data.into_iter().chain(places).find_map(|place| std::fs::read(place).ok());
    if found.is_none() {
        wane_testkit::skipped(
            "smartmontools' drivedb.h is neither on this machine nor in WANE_TEST_DATA's folder smart",
        );
    }
    found.map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// The entries of the database: lists of texts in C, each with its family first and its options last.
fn entries(database: &str) -> Vec<Vec<String>> {
    let (mut found, mut entry, mut rest) = (Vec::new(), vec![String::new()], database);
    while let Some(first) = rest.chars().next() {
        let end = |part: &str| rest.find(part).unwrap_or(rest.len());
        let taken = match first {
            '/' if rest.starts_with("//") => end("\n"),
            '/' if rest.starts_with("/*") => (end("*/") + 2).min(rest.len()),
            '"' => {
                let text = &rest[1..];
                let at = text
                    .match_indices('"')
                    .find(|(at, _)| !text[..*at].ends_with('\\'))
                    .map_or(text.len(), |(at, _)| at);
                entry.last_mut().unwrap().push_str(&text[..at]);
                at + 2
            }
            '{' => {
                entry = vec![String::new()];
                1
            }
            ',' => {
                entry.push(String::new());
                1
            }
            '}' => {
                found.push(std::mem::take(&mut entry));
                1
            }
            _ => first.len_utf8(),
        };
        rest = &rest[taken.min(rest.len())..];
    }
    found.retain(|entry| entry.len() >= 5);
    found
}

#[test]
fn every_name_of_the_database_is_read_as_it_says() {
    let Some(database) = database() else { return };
    let (mut families, mut names, mut faults) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    let mut unread = BTreeSet::new();
    let entries = entries(&database);
    assert!(entries.len() > 300, "{} entries", entries.len());
    for entry in &entries {
        for option in entry[4].split("-v ").skip(1) {
            let mut parts = option.split_whitespace().next().unwrap_or_default().split(',');
            let (Some(Ok(id)), _, Some(name)) = (parts.next().map(str::parse::<u8>), parts.next(), parts.next()) else {
                continue;
            };
            let plain = name.to_ascii_lowercase();
            if says(name).is_none() && !PARTS.iter().any(|part| plain.contains(part)) {
                continue;
            }
            families.insert(&entry[0]);
            names.insert(name.to_owned());
            if says(name).is_none() {
                unread.insert(name.to_owned());
            }
            faults.extend(wrong(&entry[0], id, name).map(|fault| format!("{}: {id} {name} {fault}", entry[0])));
        }
    }
    println!(
        "{} entries, {} families with {} names of wear, erases and bytes",
        entries.len(),
        families.len(),
        names.len()
    );
    assert!(faults.is_empty(), "{faults:#?}");
    // Databases of other versions, which machines have, have other names.
    if !unread.is_empty() {
        wane_testkit::skipped(&format!("names of this database that nobody has read by hand: {unread:?}"));
    }
    assert!(unread.len() < names.len() / 10, "most names were read by hand");
}

/// The same without the database, of which a name of each kind is here.
#[test]
fn names_are_read_as_they_say() {
    let faults: Vec<String> = NAMES
        .iter()
        .flat_map(|(_, names)| names.split_whitespace())
        .filter_map(|name| wrong("Others", 239, name).map(|fault| format!("{name} {fault}")))
        .collect();
    assert!(faults.is_empty(), "{faults:#?}");
}
