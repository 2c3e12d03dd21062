//! A table of what ATA attributes mean, for each family of drives.
//!
//! The same number means different things on different drives, and smartctl's names depend on its version: one drive's
//! "Total_LBAs_Written" was in GiB, and its name changed to "Host_Writes_GiB" within a year of logs. So an attribute is
//! understood by its number and the drive's family, or by a name that states its unit. Otherwise it is listed as not understood.
//!
//! A family is one entry of [`FAMILIES`] and one row of the test in `tests/attributes.rs`.

use wane_units::excerpt;

use crate::names::{self, Percent};
use crate::reading::{Known, Protocol};
use crate::{Attribute, Quantity, Reading, consistency};

const MIB_32: f64 = (32u64 << 20) as f64;
const GIB: f64 = (1u64 << 30) as f64;
const GB: f64 = 1e9;
const SECTOR: f64 = 512.0;

/// The value of an attribute that is used, and how.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Take {
    /// The raw value, in units of this many of the quantity's units.
    Raw(f64),
    /// The low 16 bits of the raw value, whose upper bits count something else.
    Low16,
    /// Percent used: 100 less the raw value.
    RawLeft,
    /// The normalized value.
    Normalized,
    /// Percent used: 100 less the normalized value.
    NormalizedLeft,
    /// Percent used: the normalized value, which rises on some of a family's drives and falls on others. The low word of the raw
    /// value, in hundredths of a percent, says which.
    EitherWay,
}

impl Take {
    fn of(self, attribute: &Attribute) -> Option<f64> {
        let normalized = attribute.value.map(f64::from);
        match self {
            Self::Raw(unit) => attribute.number().map(|raw| raw * unit),
            Self::Low16 => match attribute.raw_bits {
                Some(bits) => Some((bits & 0xFFFF) as f64),
                // smartctl prints the three words from the highest down.
                None => attribute.raw.split_whitespace().last()?.parse::<u64>().ok().map(|raw| (raw & 0xFFFF) as f64),
            },
            Self::RawLeft => attribute.number().map(|raw| (100.0 - raw).max(0.0)),
            Self::Normalized => normalized,
            Self::NormalizedLeft => normalized.map(|value| (100.0 - value).max(0.0)),
            Self::EitherWay => either_way(normalized?, (attribute.raw_bits? & 0xFFFF) as f64 / 100.0),
        }
    }
}

/// Points by which the raw percentage and the normalized one may differ.
const NEAR_POINTS: f64 = 25.0;

/// Percent used by a normalized value that rises or falls, and by the percentage of the raw value. Where it rises, the raw value is
/// on some drives of another scale; where it falls, the raw value is finer. `None` if they do not fit.
fn either_way(normalized: f64, raw: f64) -> Option<f64> {
    let falling = (100.0 - normalized).max(0.0);
    let (rises_by, falls_by) = ((normalized - raw).abs(), (falling - raw).abs());
    if rises_by <= falls_by {
        return (rises_by <= NEAR_POINTS || (normalized >= 100.0 && raw > 100.0)).then_some(normalized);
    }
    // Past its rating, the normalized value stays at its end.
    (falls_by <= NEAR_POINTS || (falling >= 99.0 && raw > 100.0)).then_some(raw)
}

/// A raw value of 48 bits as smartctl prints it, of attributes whose upper bits it leaves out on most drives (drivedb.h,
/// "DEFAULT").
pub(crate) fn decoded(id: u8, bits: u64) -> String {
    let shown = match id {
        // The upper words count something else.
        5 | 196 => bits & 0xFFFF,
        9 | 240 => bits & 0xFF_FFFF,
        // The upper words are the least and the most.
        190 | 194 => bits & 0xFF,
        _ => bits,
    };
    shown.to_string()
}

/// The meaning of an attribute: a quantity and how to take it, or `None` if it is not used.
type Rule = (u8, Option<(Quantity, Take)>);

const fn told(id: u8, quantity: Quantity, take: Take) -> Rule {
    (id, Some((quantity, take)))
}

const fn count(id: u8, quantity: Quantity) -> Rule {
    (id, Some((quantity, Take::Raw(1.0))))
}

/// An attribute that is understood, but reported elsewhere or not used here.
const fn unused(id: u8) -> Rule {
    (id, None)
}

/// Drives whose attributes have the same meaning.
#[derive(Debug)]
pub struct Family {
    /// Its name.
    pub name: &'static str,
    /// Beginnings of model names, for drives that are not in smartctl's database; behind a star, what also is in the name.
    pub models: &'static [&'static str],
    /// Parts of the names that smartctl gives the family. Without any, smartctl names it as other drives that differ, and its models
    /// go before that name.
    pub families: &'static [&'static str],
    /// Meanings of its attributes. They take precedence over those that all drives share.
    rules: &'static [Rule],
    /// Source of these meanings.
    pub source: &'static str,
}

use Quantity as Q;
use Take::{EitherWay, Low16, Normalized, NormalizedLeft, Raw, RawLeft};

/// The meaning of a number on most drives. 241 and 242 are left out: their units differ.
const COMMON: &[Rule] = &[
    unused(1),
    unused(2),
    unused(3),
    unused(4),
    count(5, Q::Reallocated),
    unused(7),
    unused(8),
    count(9, Q::PowerOnHours),
    unused(10),
    unused(11),
    count(12, Q::PowerCycles),
    count(184, Q::EndToEndErrors),
    count(187, Q::MediaErrors),
    told(188, Q::Timeouts, Low16),
    // After 190: a drive that has both reports the air there.
    count(194, Q::Temperature),
    count(190, Q::Temperature),
    // Heads and spindles of disks: neither wear of flash nor errors.
    unused(189),
    unused(191),
    unused(192),
    unused(193),
    unused(195),
    unused(196),
    count(197, Q::Pending),
    count(198, Q::OfflineUncorrectable),
    count(199, Q::LinkErrors),
    unused(200),
    unused(240),
];

/// All known families.
pub const FAMILIES: &[Family] = &[
    Family {
        name: "Silicon Motion",
        models: &["ADATA SP550", "TS32GMTS400", "KINGSTON SKC600"],
        // Not those on USB, whose 245 counts erases.
        families: &["SiliconMotion based SSDs", "Silicon Motion based SSDs", "Silicon Motion based OEM SSDs"],
        rules: &[
            count(160, Q::MediaErrors),
            count(161, Q::SpareBlocks),
            count(163, Q::BadBlocksFactory),
            count(164, Q::EraseCountTotal),
            count(165, Q::EraseCountMax),
            count(166, Q::EraseCountMin),
            count(167, Q::EraseCountMean),
            count(168, Q::EraseCountRated),
            told(169, Q::PercentageUsed, RawLeft),
            unused(175),
            unused(176),
            unused(177),
            told(231, Q::PercentageUsed, RawLeft),
            count(178, Q::BadBlocksGrown),
            count(181, Q::ProgramFails),
            count(182, Q::EraseFails),
            count(192, Q::UnsafeShutdowns),
            told(232, Q::Spare, Raw(1.0)),
            told(241, Q::HostWritten, Raw(MIB_32)),
            told(242, Q::HostRead, Raw(MIB_32)),
            // On two drives it is a fixed multiple of attribute 164: the firmware computes it from erases.
            told(245, Q::FlashWritten, Raw(MIB_32)),
        ],
        source: "smartmontools drivedb.h, \"Silicon Motion based SSDs\"",
    },
    Family {
        name: "WD Blue and Green",
        models: &["WDC  WDS", "WDC WDS", "WD Blue SA510"],
        families: &["WD Blue and Green SSDs", "WD Blue / Red / Green SSDs"],
        rules: &[
            // Not what smartctl calls it, "Block_Erase_Count": 214,827,940 at a mean of 21.
            unused(165),
            count(166, Q::EraseCountMin),
            unused(167),
            count(168, Q::EraseCountMax),
            // Factory bad blocks and grown ones together.
            unused(169),
            count(170, Q::BadBlocksGrown),
            count(171, Q::ProgramFails),
            count(172, Q::EraseFails),
            count(173, Q::EraseCountMean),
            count(174, Q::UnsafeShutdowns),
            // Counts up, from 1 on a new drive, on WDS...B0A; down, from 100, on SA510 and newer WD Green (smartmontools, issue
            // 642).
            told(230, Q::PercentageUsed, EitherWay),
            told(232, Q::Spare, Normalized),
            // TLC, and the pseudo-SLC below: both are writes to flash.
            told(233, Q::FlashWritten, Raw(GB)),
            told(234, Q::FlashWritten, Raw(GB)),
            told(241, Q::HostWritten, Raw(GIB)),
            told(242, Q::HostRead, Raw(GIB)),
            unused(244),
        ],
        source: "smartmontools drivedb.h, \"WD Blue / Red / Green SSDs\"",
    },
    Family {
        name: "Micron and Crucial",
        models: &["Micron_", "MTFD", "Crucial_CT", "CT"],
        families: &["Micron", "Crucial"],
        rules: &[
            unused(170),
            count(171, Q::ProgramFails),
            count(172, Q::EraseFails),
            count(173, Q::EraseCountMean),
            count(174, Q::UnsafeShutdowns),
            count(180, Q::SpareBlocks),
            unused(183),
            // The raw value counts up on some firmware and down on others; the normalized one falls on all.
            told(202, Q::PercentageUsed, NormalizedLeft),
            unused(206),
            count(210, Q::Recoveries),
            unused(211),
            unused(212),
            told(246, Q::HostWritten, Raw(SECTOR)),
            count(247, Q::PagesForHost),
            count(248, Q::PagesInBackground),
        ],
        source: "smartmontools drivedb.h, \"Crucial/Micron Client SSDs\"; Micron TN-FD-23",
    },
    Family {
        name: "Samsung SATA",
        models: &["SAMSUNG MZ7", "Samsung SSD 8", "Samsung SSD 7", "SAMSUNG MZ"],
        families: &["Samsung based SSDs"],
        rules: &[
            count(177, Q::EraseCountMean),
            told(177, Q::PercentageUsed, NormalizedLeft),
            unused(179),
            count(180, Q::SpareBlocks),
            count(181, Q::ProgramFails),
            count(182, Q::EraseFails),
            count(183, Q::BadBlocksGrown),
            unused(202),
            count(235, Q::UnsafeShutdowns),
            told(241, Q::HostWritten, Raw(SECTOR)),
            told(242, Q::HostRead, Raw(SECTOR)),
            unused(243),
            count(244, Q::Throttled),
            unused(245),
            unused(246),
            unused(247),
            told(251, Q::FlashWritten, Raw(SECTOR)),
        ],
        source: "smartmontools drivedb.h, \"Samsung based SSDs\"",
    },
    Family {
        name: "Dell-certified Intel",
        // Without the maker's name, with which Intel's own drives begin.
        models: &["SSDSC2BB", "SSDSCKJB", "SSDSC2KB", "SSDSCKKB"],
        families: &["Dell Certified Intel"],
        rules: &[
            unused(13),
            unused(170),
            count(174, Q::UnsafeShutdowns),
            unused(179),
            count(180, Q::SpareBlocks),
            count(181, Q::ProgramFails),
            count(182, Q::EraseFails),
            count(195, Q::MediaErrors),
            unused(201),
            unused(202),
            unused(225),
            unused(226),
            unused(227),
            unused(228),
            told(232, Q::Spare, Normalized),
            unused(233),
            unused(234),
            told(241, Q::HostWritten, Raw(MIB_32)),
            told(242, Q::HostRead, Raw(MIB_32)),
            told(245, Q::PercentageUsed, RawLeft),
        ],
        source: "smartmontools drivedb.h, \"Dell Certified Intel S3520 Series SSDs\"",
    },
    Family {
        name: "Intel data center SATA",
        models: &[
            "INTEL SSDSC2BB",
            "INTEL SSDSC2BA",
            "INTEL SSDSC2BX",
            "INTEL SSDSC2BP",
            "INTEL SSDSC2K",
            "INTEL SSDSCKK",
            "SOLIDIGM SSDSC",
        ],
        families: &["Intel 730 and DC", "Intel S4510/S4610", "Intel/Solidigm S46x0/S45x0"],
        rules: &[
            unused(170),
            count(171, Q::ProgramFails),
            count(172, Q::EraseFails),
            count(174, Q::UnsafeShutdowns),
            unused(175),
            unused(183),
            unused(225),
            unused(226),
            unused(227),
            unused(228),
            told(232, Q::Spare, Normalized),
            told(233, Q::PercentageUsed, NormalizedLeft),
            unused(234),
            unused(235),
            told(241, Q::HostWritten, Raw(MIB_32)),
            told(242, Q::HostRead, Raw(MIB_32)),
            told(243, Q::FlashWritten, Raw(MIB_32)),
        ],
        source: "smartmontools drivedb.h, \"Intel 730 and DC S35x0/3610/3700 Series SSDs\"",
    },
    Family {
        name: "Kingston UV400 and UV500",
        models: &["KINGSTON SUV400", "KINGSTON SUV500"],
        families: &["Kingston SSDNow UV400/500"],
        rules: &[
            unused(100),
            unused(101),
            unused(170),
            count(171, Q::ProgramFails),
            count(172, Q::EraseFails),
            count(174, Q::UnsafeShutdowns),
            unused(175),
            unused(176),
            told(177, Q::PercentageUsed, NormalizedLeft),
            unused(178),
            count(180, Q::SpareBlocks),
            unused(183),
            unused(201),
            unused(204),
            told(231, Q::PercentageUsed, NormalizedLeft),
            // They stand at 100 on worn drives too.
            unused(233),
            unused(234),
            told(241, Q::HostWritten, Raw(GIB)),
            told(242, Q::HostRead, Raw(GIB)),
            unused(250),
        ],
        source: "smartmontools drivedb.h, \"Kingston SSDNow UV400/500\"",
    },
    Family {
        name: "SK hynix SE5031 and SE5110",
        models: &["HFS*FEH-", "HFS*H2X069N", "SK HYNIX SE5110", "SK HYNIX SE5031"],
        families: &[],
        rules: &[
            count(171, Q::ProgramFails),
            count(172, Q::EraseFails),
            count(173, Q::EraseCountMax),
            count(174, Q::UnsafeShutdowns),
            unused(175),
            unused(176),
            // Whether the rating is reached.
            unused(177),
            unused(178),
            unused(179),
            unused(180),
            unused(181),
            unused(182),
            unused(183),
            unused(201),
            unused(202),
            unused(204),
            told(231, Q::PercentageUsed, NormalizedLeft),
            unused(234),
            told(235, Q::HostWritten, Raw(GIB)),
            // Older databases call it the host's.
            told(241, Q::FlashWritten, Raw(GIB)),
            told(242, Q::HostRead, Raw(GIB)),
            told(245, Q::PercentageUsed, NormalizedLeft),
            unused(250),
        ],
        source: "smartmontools drivedb.h, \"SK hynix SATA SSDs\" of the models HFS...FEH",
    },
    Family {
        name: "Phison",
        models: &["KINGSTON SKC400", "KINGSTON SUV300", "KINGSTON SA400", "PNY CS900"],
        families: &["Phison Driven SSDs", "Phison Driven OEM SSDs"],
        rules: &[
            unused(168),
            unused(170),
            unused(173),
            unused(175),
            count(192, Q::UnsafeShutdowns),
            unused(197),
            unused(218),
            told(231, Q::PercentageUsed, RawLeft),
            told(233, Q::FlashWritten, Raw(GIB)),
            told(241, Q::HostWritten, Raw(GIB)),
            told(242, Q::HostRead, Raw(GIB)),
            count(244, Q::EraseCountMean),
            count(245, Q::EraseCountMax),
            unused(246),
        ],
        source: "smartmontools drivedb.h, \"Phison Driven SSDs\"",
    },
];

/// Parts of names that show that an attribute does not have its usual meaning: on Barefoot drives 198 and 199 are what the host
/// read and wrote.
const OTHERWISE: [&str; 12] = [
    "Host_",
    "Read_Sectors",
    "Write_Sectors",
    "Initial_Bad_Block",
    "Factory_Bad_Block",
    "Read_Failure_Blk",
    "Total_Unc_Read",
    "ECC_Error_Count",
    "Proprietary_",
    "Unknown_JMF",
    "Drive_Temp_Warning",
    "SATA_Error_Ct",
];

/// The name of a number that a drive lists and does not count.
const IDLE: &str = "Not_In_Use";

fn is_otherwise(attribute: &Attribute) -> bool {
    OTHERWISE.iter().any(|part| attribute.name.contains(part))
}

/// Whether a text contains a part at the start of a word: "JMicron" does not contain "Micron" so.
fn has_word(text: &str, part: &str) -> bool {
    text.match_indices(part).any(|(at, _)| !text[..at].ends_with(char::is_alphanumeric))
}

/// The family of a drive; `None` if it is not known. If smartctl names a family, only that counts: makers give models of several
/// families similar names.
pub fn family(reading: &Reading) -> Option<&'static Family> {
    let model = reading.model.as_deref().unwrap_or_default();
    let is_model = |family: &&Family| family.models.iter().any(|pattern| has_pattern(model, pattern));
    let alone = FAMILIES.iter().filter(|family| family.families.is_empty()).find(is_model);
    let found = match reading.family.as_deref().filter(|named| !named.is_empty()) {
        _ if alone.is_some() => alone,
        Some(named) => FAMILIES.iter().find(|family| family.families.iter().any(|part| has_word(named, part))),
        None => FAMILIES.iter().find(is_model),
    };
    // A disk of a maker that also makes flash drives belongs to none of these, and neither does what is no ATA drive.
    let is_ata = !matches!(reading.protocol, Some(Protocol::Nvme | Protocol::Scsi));
    found.filter(|_| reading.is_rotating != Some(true) && is_ata)
}

/// How a family's table takes an attribute: `None` if it has none of this number, and inside if the number is not used.
pub fn meaning(family: &Family, id: u8) -> Option<Option<Take>> {
    family.rules.iter().find(|(known, _)| *known == id).map(|(_, rule)| rule.map(|(_, take)| take))
}

/// Whether a model begins with a pattern, and has what is behind its star.
fn has_pattern(model: &str, pattern: &str) -> bool {
    let (start, inner) = pattern.split_once('*').unwrap_or((pattern, ""));
    model.starts_with(start) && model.contains(inner)
}

/// Adds what the attributes of a reading mean, and lists those that are not understood.
pub(crate) fn understand(reading: &mut Reading) {
    let own = family(reading).map_or(&[][..], |family| family.rules);
    let all = std::mem::take(&mut reading.attributes);
    let attributes: Vec<Attribute> = all.iter().filter(|attribute| attribute.name != IDLE).cloned().collect();
    let is_own = |id: u8| own.iter().any(|(known, _)| *known == id);
    let mut wear = Vec::new();
    // Several attributes of a family with the same quantity are parts of it, but of wear each tells all.
    for (at, (id, rule)) in own.iter().enumerate() {
        let Some((quantity, take)) = rule else { continue };
        let is_first = !own[..at].iter().any(|(_, other)| other.is_some_and(|(other, _)| other == *quantity));
        if *quantity == Q::PercentageUsed {
            let found = attributes.iter().find(|attribute| attribute.id == *id);
            let value = found.and_then(|found| taken(reading, *quantity, *take, found));
            wear.extend(value.map(|value| Known { value, from: format!("attribute {id}") }));
        } else if is_first {
            sum(reading, &attributes, own, *quantity, *id);
        }
    }
    for (id, rule) in COMMON.iter().filter(|(id, _)| !is_own(*id)) {
        let found = attributes.iter().find(|attribute| attribute.id == *id);
        if let (Some((quantity, take)), Some(attribute)) = (rule, found.filter(|found| !is_otherwise(found))) {
            let value = taken(reading, *quantity, *take, attribute);
            reading.know(*quantity, value, &format!("attribute {id}"));
        }
    }
    by_names(reading, &attributes, own, &mut wear);
    reserve(reading, &attributes, own);
    reading.attributes = all;
    derive(reading, &mut wear);
    decide(reading, wear);
}

/// Parts of names of attributes that count the blocks in reserve, and have what is left of them as their normalized value.
const RESERVE: [&str; 2] = ["reserv", "rsvd"];

/// Takes the least of what is in reserve. smartctl's own key is the normalized value of attribute 5 on an ATA drive, reallocated sectors (7.5
/// looks at no other), which can stand at 100 with nothing left in reserve.
fn reserve(reading: &mut Reading, attributes: &[Attribute], own: &[Rule]) {
    let Some(known) = reading.known.get(&Q::Spare).filter(|known| known.from.starts_with("spare_available")) else {
        return;
    };
    let left = |attribute: &Attribute| {
        let name = attribute.name.to_ascii_lowercase();
        match own.iter().find(|(id, _)| *id == attribute.id) {
            Some((_, rule)) => rule.filter(|(told, _)| *told == Q::Spare).and_then(|(_, take)| take.of(attribute)),
            None if RESERVE.iter().any(|part| name.contains(part)) => attribute.value.map(f64::from),
            None => None,
        }
    };
    let found = attributes.iter().filter_map(|attribute| Some((left(attribute)?, attribute)));
    let least = found.filter(|(left, _)| *left > 0.0).min_by(|one, other| one.0.total_cmp(&other.0));
    let Some((left, attribute)) = least else { return };
    if left < known.value {
        let from = format!("{}, normalized", in_words(attribute));
        let threshold = attribute.threshold.filter(|least| *least > 0).map(f64::from);
        for (quantity, value) in [(Q::Spare, Some(left)), (Q::SpareThreshold, threshold)] {
            if let Some(value) = value {
                reading.known.insert(quantity, Known { value, from: from.clone() });
            }
        }
    }
}

/// Adds what the attributes that no table has by their numbers say by their names.
fn by_names(reading: &mut Reading, attributes: &[Attribute], own: &[Rule], wear: &mut Vec<Known>) {
    let is_own = |id: u8| own.iter().any(|(known, _)| *known == id);
    let mut parts: Vec<(Quantity, f64, String)> = Vec::new();
    for attribute in attributes.iter().filter(|attribute| !is_own(attribute.id)) {
        let (name, from) = (attribute.name.to_ascii_lowercase(), in_words(attribute));
        // A number whose power of two stands elsewhere.
        let power = attributes.iter().find(|other| other.name.to_ascii_lowercase() == format!("{name}_exp"));
        let is_scaled = power.is_some_and(|power| power.number() != Some(0.0));
        if let Some(moved) = names::moved(&name).filter(|_| !is_scaled) {
            match (attribute.number().map(|raw| raw * moved.unit), moved.is_part) {
                (Some(bytes), true) => parts.push((moved.quantity, bytes, attribute.id.to_string())),
                (Some(bytes), false) => reading.know(moved.quantity, Some(bytes), &from),
                (None, _) => reading.refuse(moved.quantity, format!("{from}: raw \"{}\"", excerpt(&attribute.raw))),
            }
        } else if let Some(quantity) = names::erases(&name).filter(|_| reading.is_rotating != Some(true)) {
            match attribute.number() {
                Some(count) => reading.know(quantity, Some(count), &from),
                None => reading.not_understood.push(from),
            }
        } else if let Some(used) = used(reading, attribute, &name) {
            wear.extend(used.map(|value| Known { value, from: format!("{from}{}", how(attribute, &name)) }));
        } else if is_otherwise(attribute) || !COMMON.iter().any(|(id, _)| *id == attribute.id) {
            reading.not_understood.push(from);
        }
    }
    for quantity in [Q::FlashWritten, Q::FlashRead] {
        let of: Vec<_> = parts.iter().filter(|(of, ..)| *of == quantity).collect();
        let bytes: f64 = of.iter().map(|(_, bytes, _)| bytes).sum();
        let ids: Vec<&str> = of.iter().map(|(.., id)| id.as_str()).collect();
        // A family's own part, by its number: the flash of three bits beside that of one.
        match reading.known.get_mut(&quantity) {
            Some(known) if !own.is_empty() && known.from.starts_with("attribute") && !ids.is_empty() => {
                known.value += bytes;
                known.from = format!("{} + {}", known.from.replacen("attribute ", "attributes ", 1), ids.join(" + "));
            }
            _ if ids.is_empty() => {}
            _ => reading.know(quantity, Some(bytes), &format!("attributes {}", ids.join(" + "))),
        }
    }
}

/// Percent used by an attribute whose name says that it is of the drive's life; `None` if it does not, and inside if it says nothing.
fn used(reading: &mut Reading, attribute: &Attribute, name: &str) -> Option<Option<f64>> {
    if reading.is_rotating == Some(true) {
        return None;
    }
    if name == names::EITHER_WAY {
        return Some(taken(reading, Q::PercentageUsed, EitherWay, attribute));
    }
    let percent = names::life(name)?;
    let found = match percent {
        Percent::Left => life_left(attribute, name, reading.is_default_named).map(|left| 100.0 - left),
        Percent::Used => attribute.number().filter(|used| (0.0..=255.0).contains(used)),
    };
    if found.is_none() {
        let normalized = attribute.value.map_or_else(String::new, |value| format!("value {value}, "));
        let said = format!("{}: {normalized}raw \"{}\"", in_words(attribute), excerpt(&attribute.raw));
        reading.refuse(Q::PercentageUsed, said);
    }
    Some(found)
}

/// Which value of an attribute tells the wear.
fn how(attribute: &Attribute, name: &str) -> &'static str {
    match names::life(name) {
        Some(Percent::Left) if raw_left(attribute, name).is_none() => ", normalized",
        _ => "",
    }
}

/// Takes the worst of the wear that several attributes tell and that nothing contradicts.
fn decide(reading: &mut Reading, mut wear: Vec<Known>) {
    wear.retain(|known| {
        let is_possible = Q::PercentageUsed.allows(known.value);
        if !is_possible {
            reading.refuse(Q::PercentageUsed, format!("{}: {} is not possible", known.from, known.value));
        }
        is_possible
    });
    // Of equal ones the first in the table.
    wear.sort_by(|one, other| other.value.total_cmp(&one.value));
    for known in wear {
        match consistency::doubt(reading, &known) {
            Some(why) => reading.contradictions.push(why),
            None => believe(reading, known),
        }
    }
}

/// Takes wear that an attribute tells: the worst counts, also where a standard tells less of it.
fn believe(reading: &mut Reading, known: Known) {
    match reading.known.get(&Q::PercentageUsed) {
        Some(standard) if known.value > standard.value + FINER_POINTS && standard.value < 100.0 => {
            let (less, from) = (standard.value, &standard.from);
            let said = format!("percentage_used_percent is {less} by {from}, and {} by {}", known.value, known.from);
            reading.contradictions.push(said);
            reading.known.insert(Q::PercentageUsed, known);
        }
        _ => reading.know(Q::PercentageUsed, Some(known.value), &known.from),
    }
}

/// An attribute in words.
fn in_words(attribute: &Attribute) -> String {
    let Attribute { id, name, .. } = attribute;
    if name.is_empty() { format!("attribute {id}") } else { format!("attribute {id} ({name})") }
}

/// The value of an attribute; one that cannot be understood is listed.
fn taken(reading: &mut Reading, quantity: Quantity, take: Take, attribute: &Attribute) -> Option<f64> {
    let value = take.of(attribute);
    if value.is_none() {
        let normalized = attribute.value.map_or_else(String::new, |value| format!("value {value}, "));
        let said = format!("{}: {normalized}raw \"{}\"", in_words(attribute), excerpt(&attribute.raw));
        reading.refuse(quantity, said);
    }
    value
}

/// Percent of the drive's life that is left by an attribute whose name says that it is. A normalized value of zero beside a raw value
/// is of an attribute with another meaning, which smartctl's default names call so; a count of erases of zero was never counted.
/// smartctl's names for any drive say nothing where the normalized value is still what it was at first.
fn life_left(attribute: &Attribute, name: &str, is_default_named: bool) -> Option<f64> {
    let left = f64::from(attribute.value.filter(|left| *left <= 100)?);
    let is_count = name.ends_with("count");
    let is_any = is_default_named && names::ANY_WEAR.contains(&name) && left == 100.0;
    let is_believed = left > 0.0 || (!is_count && attribute.number() == Some(0.0));
    (is_believed && !is_any).then(|| raw_left(attribute, name).unwrap_or(left))
}

/// The percentage in the raw value, where the normalized one stays at 100. On Micron's attribute 202 it is what is used.
fn raw_left(attribute: &Attribute, name: &str) -> Option<f64> {
    let raw = attribute.number().filter(|raw| (1.0..100.0).contains(raw))?;
    (names::is_percent(name) && attribute.value == Some(100) && attribute.id != 202).then_some(raw)
}

/// Adds a quantity that is the sum of several of a family's attributes.
fn sum(reading: &mut Reading, attributes: &[Attribute], own: &[Rule], quantity: Quantity, first: u8) {
    let mut total = None;
    let mut from = Vec::new();
    for (id, rule) in own {
        let Some((_, take)) = rule.filter(|(told, _)| *told == quantity) else { continue };
        let found = attributes.iter().find(|attribute| attribute.id == *id);
        let value = found.and_then(|found| taken(reading, quantity, take, found));
        if let Some(value) = value {
            total = Some(total.unwrap_or(0.0) + value);
            from.push(id.to_string());
        } else if *id == first {
            return;
        }
    }
    let plural = if from.len() == 1 { "attribute" } else { "attributes" };
    reading.know(quantity, total, &format!("{plural} {}", from.join(" + ")));
}

/// Points by which a percentage that the drive rounds may differ from one that is computed.
const FINER_POINTS: f64 = 5.0;

/// Adds quantities that follow from others.
fn derive(reading: &mut Reading, wear: &mut Vec<Known>) {
    rate(reading, wear);
    let pages = (reading.get(Q::PagesForHost), reading.get(Q::PagesInBackground), reading.get(Q::HostWritten));
    if let (Some(host), Some(background), Some(written)) = pages
        && (host > 0.0 || background == 0.0)
    {
        let factor = if host > 0.0 { (host + background) / host } else { 1.0 };
        reading.know(Q::FlashWritten, Some(written * factor), "attributes 246 x (247 + 248) / 247");
    }
}

/// Adds the wear by mean and rated erases, which is finer than whole percent, and goes beyond 100.
fn rate(reading: &mut Reading, wear: &mut Vec<Known>) {
    let (Some(mean), Some(rated)) = (reading.get(Q::EraseCountMean), reading.get(Q::EraseCountRated)) else { return };
    if rated <= 0.0 {
        return;
    }
    let finer = 100.0 * mean / rated;
    // What the drive itself reports by a standard stands, if the two do not agree.
    if let Some(own) = reading.known.get(&Q::PercentageUsed)
        && own.value < 100.0
        && (own.value - finer).abs() > FINER_POINTS
    {
        let said = format!("the wear is {} % by {}, and {finer:.1} % by mean and rated erases", own.value, own.from);
        reading.contradictions.push(said);
        return;
    }
    reading.known.remove(&Q::PercentageUsed);
    wear.retain(|known| {
        known.value > 100.0_f64.max(finer) || (known.value < 100.0 && (known.value - finer).abs() > FINER_POINTS)
    });
    wear.push(Known { value: finer, from: format!("mean erase count of {mean:.0} of {rated:.0} rated cycles") });
}
