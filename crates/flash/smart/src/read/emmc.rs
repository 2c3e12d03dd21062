//! What an eMMC device tells of its wear: `mmc extcsd read`, and Linux's file `life_time`. JEDEC JESD84-B51, sections 7.4.30 to
//! 7.4.32: tenths of the life of both kinds of cells, and how much of the reserve is used.

use crate::reading::Source;
use crate::{Quantity as Q, Reading};

/// Parts of the lines of `mmc extcsd read`.
const LIVES: [&str; 2] = ["[EXT_CSD_DEVICE_LIFE_TIME_EST_TYP_A]", "[EXT_CSD_DEVICE_LIFE_TIME_EST_TYP_B]"];
const RESERVE: &str = "[EXT_CSD_PRE_EOL_INFO]";

/// Greatest tenth: past the rated life.
const TENTH_MAX: u8 = 0x0B;

/// Percent of a tenth, and of its middle.
pub(crate) const TENTH: f64 = 10.0;

/// Percent of the reserve that are left where the device warns, and from which on it calls for a replacement.
const RESERVE_LEFT: f64 = 20.0;
const RESERVE_LEAST: f64 = 10.0;

/// The reading of such a text; `None` if it is none.
pub(super) fn reading(lines: &[&str]) -> Option<Reading> {
    let hex = |word: &str| u8::from_str_radix(word.trim().strip_prefix("0x")?, 16).ok();
    let value = |part: &str| hex(lines.iter().find(|line| line.contains(part))?.rsplit_once(':')?.1);
    let told = match lines {
        [line] => {
            let words: Vec<&str> = line.split_whitespace().collect();
            if words.len() != LIVES.len() || !words.iter().all(|word| word.len() == 4) {
                return None;
            }
            [hex(words[0])?, hex(words[1])?].map(Some)
        }
        _ => LIVES.map(value),
    };
    let most = told.into_iter().flatten().max().filter(|tenth| *tenth <= TENTH_MAX)?;
    let mut reading = Reading::new(Source::Emmc);
    reading.is_rotating = Some(false);
    // 0 is not told.
    let used = (most > 0).then(|| TENTH * (f64::from(most) - 0.5));
    reading.know(Q::PercentageUsed, used, "eMMC life time, of the cells that wore most, in tenths");
    match value(RESERVE) {
        Some(1) => reading.is_passed = Some(true),
        Some(2) => {
            reading.know(Q::Spare, Some(RESERVE_LEFT), "eMMC pre-EOL information, \"warning\"");
            reading.know(Q::SpareThreshold, Some(RESERVE_LEAST), "eMMC pre-EOL information");
        }
        Some(3) => reading.is_passed = Some(false),
        _ => {}
    }
    Some(reading)
}
