//! The SMART attributes that drives report: those of 002, table 3.1, in the raw values of Backblaze's columns.
//!
//! The table marks by color which attributes only one of its two models has, and the colors are lost in its text. Here a model has the attributes by
//! which chapter 4 identifies it, and others that drives of its family report: A erases, percent and gigabytes, B life left, sectors and pages.

use crate::settings::AttributeSet;

/// State of a drive at a moment. Bytes, sectors and pages are those of the real drive, blocks and erases those of the simulated one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct State {
    pub(crate) power_on_hours: u64,
    pub(crate) power_cycles: u64,
    pub(crate) unexpected_power_losses: u64,
    pub(crate) celsius: i64,
    pub(crate) erases_least: u32,
    pub(crate) erases_mean: f64,
    pub(crate) erases_most: u32,
    pub(crate) erases_rated: f64,
    pub(crate) blocks_bad: u64,
    pub(crate) dies: u64,
    pub(crate) blocks_reserve: u64,
    pub(crate) blocks_reserve_new: u64,
    pub(crate) program_fails: u64,
    pub(crate) erase_fails: u64,
    pub(crate) link_faults: u64,
    pub(crate) wrong_bits_per_million: f64,
    pub(crate) pages_retried: f64,
    pub(crate) pages_uncorrectable: f64,
    pub(crate) pending: u64,
    pub(crate) host_sectors: f64,
    pub(crate) host_bytes_read: f64,
    pub(crate) pages_host: f64,
    pub(crate) pages_ftl: f64,
    pub(crate) page_bytes: f64,
}

const GB: f64 = 1e9;
const SECTOR_BYTES: f64 = 512.0;

/// An attribute: its number and how its raw value is made.
pub(crate) type Attribute = (u16, fn(&State) -> f64);

const BOTH: [Attribute; 10] = [
    (5, |at| at.blocks_bad as f64),
    (9, |at| at.power_on_hours as f64),
    (12, |at| at.power_cycles as f64),
    (171, |at| at.program_fails as f64),
    (172, |at| at.erase_fails as f64),
    (173, |at| at.erases_mean),
    (174, |at| at.unexpected_power_losses as f64),
    (184, |at| at.pages_retried),
    (187, |at| at.pages_uncorrectable),
    (194, |at| at.celsius as f64),
];

const ONLY_A: [Attribute; 10] = [
    (166, |at| f64::from(at.erases_least)),
    (167, |at| (at.blocks_bad / at.dies.max(1)) as f64),
    (168, |at| f64::from(at.erases_most)),
    (169, |at| at.blocks_bad as f64),
    (212, |at| at.link_faults as f64),
    (230, |at| 100.0 * at.erases_mean / at.erases_rated),
    (232, |at| 100.0 * at.blocks_reserve as f64 / at.blocks_reserve_new.max(1) as f64),
    (233, |at| (at.pages_host + at.pages_ftl) * at.page_bytes / GB),
    (241, |at| at.host_sectors * SECTOR_BYTES / GB),
    (242, |at| at.host_bytes_read / GB),
];

const ONLY_B: [Attribute; 10] = [
    (4, |at| at.wrong_bits_per_million),
    (180, |at| at.blocks_reserve as f64),
    (183, |at| at.link_faults as f64),
    (196, |at| at.blocks_bad as f64),
    (197, |at| at.pending as f64),
    // It stays at 0 while the drive continues to work (002, section 4.3.2).
    (202, |at| (100.0 - (100.0 * at.erases_mean / at.erases_rated).floor()).max(0.0)),
    (206, |at| at.program_fails as f64),
    (246, |at| at.host_sectors),
    (247, |at| at.pages_host),
    (248, |at| at.pages_ftl),
];

/// The attributes of a set, by their numbers.
pub(crate) fn of(set: AttributeSet) -> Vec<Attribute> {
    let own = match set {
        AttributeSet::A => ONLY_A,
        AttributeSet::B => ONLY_B,
    };
    let mut all: Vec<Attribute> = BOTH.into_iter().chain(own).collect();
    all.sort_by_key(|(number, _)| *number);
    assert!(all.is_sorted_by(|one, next| one.0 < next.0), "a set has each attribute once");
    all
}

/// Numbers of the attributes that a model reports, in ascending order.
pub fn numbers(set: AttributeSet) -> Vec<u16> {
    of(set).into_iter().map(|(number, _)| number).collect()
}

/// Numbers of both sets, in ascending order: the columns of every file.
pub fn all_numbers() -> Vec<u16> {
    let mut all = [numbers(AttributeSet::A), numbers(AttributeSet::B)].concat();
    all.sort_unstable();
    all.dedup();
    all
}
