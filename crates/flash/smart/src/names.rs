//! What the names of smartctl's database say of an attribute. They are built of the same words, so that a name is read word by word:
//! what moved it, to or from where, and in which unit.

use crate::Quantity as Q;

const MIB: f64 = (1u64 << 20) as f64;
const GIB: f64 = (1u64 << 30) as f64;
const SECTOR: f64 = 512.0;

/// Words of units, and their bytes.
const UNITS: [(&str, f64); 9] = [
    ("32mib", 32.0 * MIB),
    ("mib", MIB),
    ("gib", GIB),
    ("1gib", GIB),
    ("gb", 1e9),
    ("lba", SECTOR),
    ("lbas", SECTOR),
    ("sector", SECTOR),
    ("sectors", SECTOR),
];

const WRITTEN: [&str; 6] = ["write", "writes", "written", "wts", "prog", "prg"];
/// One is misspelt in the database of smartmontools 7.3.
const READ: [&str; 4] = ["read", "reads", "reades", "rds"];
const FLASH: [&str; 7] = ["nand", "flash", "flsh", "media", "tlc", "slc", "qlc"];

/// Words of flash that is a part of the drive's.
const PARTS: [&str; 3] = ["tlc", "slc", "qlc"];

/// Words of names that are of a part of a number, of errors, or of erases.
const OTHERS: [&str; 9] = ["exp", "high", "low", "error", "errors", "uncorrectable", "unc", "erased", "retry"];

/// smartctl's names for any drive, whose units differ.
const ANY: [&str; 2] = ["total_lbas_written", "total_lbas_read"];

/// A name without a word of its direction.
const NAND_GB: &str = "lifetime_nand_gb";

/// Words of spare blocks, of the system's area and of capacitors, whose remains are not the drive's life.
const NO_LIFE: [&str; 8] = ["spare", "spares", "blk", "block", "blocks", "sys", "energy", "spi"];

/// Names of what smartctl calls wear on any drive.
pub(crate) const ANY_WEAR: [&str; 2] = ["wear_leveling_count", "media_wearout_indicator"];

/// Percent of the rated erases, in hundredths in the low word of the raw value.
pub(crate) const EITHER_WAY: &str = "perc_write/erase_count";

/// Bytes that an attribute counts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Moved {
    pub(crate) quantity: Q,
    /// Bytes of its unit.
    pub(crate) unit: f64,
    /// Whether it is of a part of the flash, so that others are to be added.
    pub(crate) is_part: bool,
}

/// What a percentage is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Percent {
    /// Of the life that is left.
    Left,
    /// Of the life that is used.
    Used,
}

fn words(name: &str) -> Vec<&str> {
    name.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect()
}

/// The bytes that a name says an attribute counts; `None` if it says no unit. The name is in lower case.
pub(crate) fn moved(name: &str) -> Option<Moved> {
    let words = words(name);
    let has = |known: &[&str]| words.iter().any(|word| known.contains(word));
    if ANY.contains(&name) || has(&OTHERS) {
        return None;
    }
    let (_, unit) = *UNITS.iter().find(|(unit, _)| words.contains(unit))?;
    let is_flash = has(&FLASH);
    let quantity = match (has(&WRITTEN) || name == NAND_GB, has(&READ)) {
        (true, false) if is_flash => Q::FlashWritten,
        (true, false) => Q::HostWritten,
        (false, true) if is_flash => Q::FlashRead,
        (false, true) => Q::HostRead,
        _ => return None,
    };
    Some(Moved { quantity, unit, is_part: has(&PARTS) })
}

/// What a name says of erases; `None` if it says nothing of them, or of failures, or of a part of the flash.
pub(crate) fn erases(name: &str) -> Option<Q> {
    let is_erase = ["erase_c", "_pe_c", "w/e_c", "erase_cycle", "block-erase", "flash_blk_erases"];
    let is_other = ["fail", "slc", "perc", "max/", "/max", "/avg"];
    if !is_erase.iter().any(|part| name.contains(part)) || is_other.iter().any(|part| name.contains(part)) {
        return None;
    }
    if name.contains("rated") || name.contains("spec") {
        return Some(Q::EraseCountRated);
    }
    let starts = [
        ("max", Q::EraseCountMax),
        ("min", Q::EraseCountMin),
        ("av", Q::EraseCountMean),
        ("total", Q::EraseCountTotal),
    ];
    starts.iter().find(|(start, _)| name.starts_with(start)).map(|(_, quantity)| *quantity)
}

/// Whether a name says that an attribute is what is left or used of the drive's life.
pub(crate) fn life(name: &str) -> Option<Percent> {
    let words = words(name);
    let is_life = words.iter().any(|word| word.contains("life") || *word == "rated");
    let has = |parts: [&str; 2]| words.iter().any(|word| parts.iter().any(|part| word.contains(part)));
    if ANY_WEAR.contains(&name) {
        return Some(Percent::Left);
    }
    if !is_life || words.iter().any(|word| NO_LIFE.contains(word)) {
        return None;
    }
    if has(["left", "remain"]) { Some(Percent::Left) } else { has(["used", "used"]).then_some(Percent::Used) }
}

/// Whether a name says that the raw value is a percentage too.
pub(crate) fn is_percent(name: &str) -> bool {
    ["perc", "pct", "%"].iter().any(|part| name.contains(part)) && !name.contains("0.01")
}
