//! Holds the values of one record to each other: what cannot be true together is said, and wear that its own drive contradicts is
//! not believed.

use crate::reading::Known;
use crate::{Quantity as Q, Reading};

/// Least and most erases that any flash is rated for: ten times less than cells of four bits, ten times more than cells of one.
const RATED_MIN: f64 = 100.0;
const RATED_MAX: f64 = 1e6;

/// Least drive writes of its host that wear any drive out, by the same measure: with each write amplified a hundredfold for wear
/// that is on its way, and tenfold where a drive says that it is all but worn out.
const DRIVE_WRITES_MIN: f64 = 1.0;
const DRIVE_WRITES_WORN_MIN: f64 = 10.0;
const WORN_PERCENT: f64 = 80.0;

/// Percent from which on wear is held to erases and writes; below it, rounding is much of it.
const HELD_PERCENT: f64 = 10.0;

/// Bytes a second that no drive moves: four times PCIe 5 with four lanes.
const BYTES_PER_SECOND_MAX: f64 = 64e9;

const HOUR_SECONDS: f64 = 3600.0;
const HOUR_MINUTES: f64 = 60.0;

/// Zero Kelvin, which a log that was not filled has as its temperature.
const ZERO_KELVIN: [f64; 2] = [0.0, -273.0];

/// Checks a record that was read.
pub(crate) fn check(reading: &mut Reading) {
    let known = &reading.known;
    reading.unread.retain(|quantity| !known.contains_key(quantity));
    if reading.simulated.is_some() || reading.source.is_page() {
        return;
    }
    if is_blank(reading) {
        reading.known.retain(|quantity, _| *quantity == Q::Capacity);
        reading.is_passed = None;
        reading.unread.clear();
        reading.not_understood.push("a log of zeros alone, as of virtual drives: it tells nothing".to_owned());
        return;
    }
    wear(reading);
    totals(reading);
    assessment(reading);
    let logged = reading.logged_uncorrectable;
    if let Some(errors) = reading.known.get(&Q::MediaErrors).filter(|known| known.value == 0.0 && logged > 0) {
        let said =
            format!("the error log has {logged} reads that could not be corrected, and {} counts none", errors.from);
        reading.contradictions.push(said);
    }
}

/// Whether a drive filled nothing of its log: no spare, no hours, no heat, and nothing else.
fn is_blank(reading: &Reading) -> bool {
    let is_zero =
        |quantity: &Q, value: f64| value == 0.0 || (*quantity == Q::Temperature && ZERO_KELVIN.contains(&value));
    let values = reading.known.iter().filter(|(quantity, _)| **quantity != Q::Capacity);
    let has = |quantity| reading.get(quantity).is_some();
    let rows_are_zero = reading.attributes.iter().all(|row| row.value.unwrap_or(0) == 0 && row.number() == Some(0.0));
    let is_log = has(Q::Spare) && has(Q::PowerOnHours) || !reading.attributes.is_empty();
    is_log && rows_are_zero && values.into_iter().all(|(quantity, known)| is_zero(quantity, known.value))
}

/// Takes wear away that erases or the host's writes contradict.
fn wear(reading: &mut Reading) {
    let used = reading.known.get(&Q::PercentageUsed).cloned();
    if let Some(why) = used.and_then(|used| doubt(reading, &used)) {
        reading.known.remove(&Q::PercentageUsed);
        reading.contradictions.push(why);
    }
}

/// Why a drive's wear is not believed: its mean or most erases or the host's writes contradict it.
pub(crate) fn doubt(reading: &Reading, used: &Known) -> Option<String> {
    let written = reading.get(Q::HostWritten).map(|host| host.max(reading.get(Q::FlashWritten).unwrap_or(0.0)));
    let writes = written.zip(reading.get(Q::Capacity).filter(|bytes| *bytes > 0.0));
    let writes = writes.map(|(written, capacity)| written / capacity);
    let writes_min = if used.value >= WORN_PERCENT { DRIVE_WRITES_WORN_MIN } else { DRIVE_WRITES_MIN };
    let is_flash = reading.is_rotating != Some(true);
    let mean = reading.get(Q::EraseCountMean).filter(|_| is_flash);
    let most = reading.get(Q::EraseCountMax).filter(|_| is_flash && mean.is_none());
    // Erases for all of the wear, if it goes on so.
    let rated = |erases: f64, used: f64| 100.0 * erases / used;
    let is_held = used.value >= HELD_PERCENT;
    let why = match (mean, most, writes) {
        (Some(mean), ..) if is_held && rated(mean, used.value) < RATED_MIN => {
            format!("each block was erased {mean} times")
        }
        (Some(mean), ..) if rated(mean, used.value + 1.0) > RATED_MAX => format!("each block was erased {mean} times"),
        (None, Some(most), _) if is_held && rated(most, used.value) < RATED_MIN => {
            format!("no block was erased more than {most} times")
        }
        (None, _, Some(writes)) if is_held && rated(writes, used.value) < writes_min => {
            format!("the drive was written {writes:.2} times over")
        }
        _ => return None,
    };
    Some(format!("wear of {} % by {} is not believed: {why}", used.value, used.from))
}

/// Totals that no drive reaches in its hours, and counts that are out of order.
fn totals(reading: &mut Reading) {
    let mut said = Vec::new();
    if let Some(hours) = reading.get(Q::PowerOnHours) {
        // A count of hours is rounded down.
        let hours = hours + 1.0;
        for quantity in [Q::HostWritten, Q::HostRead, Q::FlashWritten] {
            let Some(bytes) =
                reading.get(quantity).filter(|bytes| *bytes > hours * HOUR_SECONDS * BYTES_PER_SECOND_MAX)
            else {
                continue;
            };
            said.push(format!(
                "{} of {bytes:.0} in {hours:.0} hours under power is more than a drive can move",
                quantity.key()
            ));
        }
        for quantity in [Q::MinutesWarning, Q::MinutesCritical] {
            if let Some(minutes) = reading.get(quantity).filter(|minutes| *minutes > (hours + 1.0) * HOUR_MINUTES) {
                said.push(format!("{} of {minutes:.0} is more than its {hours:.0} hours under power", quantity.key()));
            }
        }
    }
    for (less, more) in [
        (Q::EraseCountMin, Q::EraseCountMean),
        (Q::EraseCountMean, Q::EraseCountMax),
        (Q::EraseCountMin, Q::EraseCountMax),
    ] {
        if let Some((one, other)) = reading.get(less).zip(reading.get(more)).filter(|(one, other)| one > other) {
            said.push(format!("{} is {one}, and {} is {other}", less.key(), more.key()));
        }
    }
    reading.contradictions.extend(said);
}

/// An assessment that the drive's own values contradict.
fn assessment(reading: &mut Reading) {
    let Some(bits) = reading.get(Q::CriticalWarning) else { return };
    if reading.is_passed == Some(true) && bits > 0.0 {
        reading
            .contradictions
            .push(format!("the assessment is PASSED, and the critical warning is {:#04x}", bits as u64));
    }
}
