//! Rules about counts of errors: by their growth, and by published limits where one record has to do.

use super::history::{Clock, History};
use super::rules::finding;
use super::told::{count, one_digit};
use super::{Finding, Verdict};
use crate::reading::Protocol;
use crate::{Quantity as Q, Reading};

const OWN: &str = "wane: a count that stands still is history, one that grows is a sign";
const UBER: &str =
    "JESD218, UBER of client drives: one uncorrectable error in 10^15 bits read; from ten errors on by wane";
const DISKS: &str =
    "Pinheiro et al., FAST 2007, section 3.5: after its first such error a disk is far likelier to fail";
const CHIPS: &str =
    "Schroeder et al., FAST 2016, section 6: bad blocks are a few on most drives, and hundreds where a chip fails";
const LOGGED: &str =
    "smartctl(8), exit status, bit 6, and smartd.conf(5), -l error: logged errors are a sign, more so if they grow";

/// Bits read for each uncorrectable error that is allowed, and errors that are too few to say anything.
const BITS_PER_ERROR: f64 = 1e15;
const ERRORS_MIN: f64 = 10.0;

/// Blocks or sectors gone bad from which on they are many.
const BAD_MANY: f64 = 100.0;

/// Normalized value from which on a vendor calls its count of bad blocks small.
const NORMALIZED_FINE: u8 = 90;

/// Counters of one kind of trouble.
pub(super) struct Counters {
    rule: &'static str,
    of: &'static [(Q, &'static str)],
    /// The verdict if one of them grows.
    grows: Verdict,
}

pub(super) const COUNTERS: [Counters; 5] = [
    Counters {
        rule: "media-errors",
        of: &[
            (Q::MediaErrors, "media errors"),
            (Q::UncorrectableReads, "uncorrectable reads"),
            (Q::EndToEndErrors, "end-to-end errors"),
        ],
        grows: Verdict::Warning,
    },
    Counters {
        rule: "retired",
        of: &[
            (Q::Reallocated, "reallocated sectors"),
            (Q::BadBlocksGrown, "blocks gone bad"),
            (Q::ProgramFails, "failed programs"),
            (Q::EraseFails, "failed erases"),
        ],
        grows: Verdict::Notice,
    },
    Counters {
        rule: "resets",
        of: &[(Q::Resets, "resets"), (Q::Timeouts, "command timeouts")],
        grows: Verdict::Warning,
    },
    Counters { rule: "link", of: &[(Q::LinkErrors, "link errors")], grows: Verdict::Notice },
    // Of ATA drives. NVMe drives also log harmless commands.
    Counters { rule: "error-log", of: &[(Q::ErrorLogEntries, "logged errors")], grows: Verdict::Warning },
];

/// The time between the records, in words.
fn since(history: &History) -> String {
    match (history.clock, history.days()) {
        (Clock::Calendar, Some(days)) => format!("in {} days", one_digit(days)),
        (Clock::PowerOn, Some(days)) => format!("in {} hours under power", count(days * 24.0)),
        _ => "between the records".to_owned(),
    }
}

pub(super) fn counted(history: &History, counters: &Counters) -> Option<Finding> {
    let last = history.state();
    let is_log = counters.of[0].0 == Q::ErrorLogEntries;
    if is_log && last.protocol != Some(Protocol::Ata) {
        return None;
    }
    let mut worst = None;
    let mut reasons = Vec::new();
    for (quantity, words) in counters.of {
        let Some(total) = last.get(*quantity) else { continue };
        let rate = history.rate(*quantity);
        let mut source = if is_log { LOGGED } else { OWN };
        let (verdict, reason) = match rate {
            _ if total == 0.0 => (Verdict::Good, format!("no {words}")),
            None => {
                let (verdict, more, by) = alone(last, *quantity, total);
                source = by.unwrap_or(source);
                let told = format!("{words}: {} over the life{more}", count(total));
                (verdict, format!("{told}; an earlier record shows whether they grow"))
            }
            Some(rate) if rate.increase == 0.0 => {
                (Verdict::Good, format!("{words}: {} over the life, none of them {}", count(total), since(history)))
            }
            Some(rate) => {
                let per_day = rate.per_day.map_or_else(String::new, |per_day| format!(", {per_day:.3} a day"));
                let grown = format!(
                    "{words}: {} more {}{per_day}, {} over the life",
                    count(rate.increase),
                    since(history),
                    count(total)
                );
                // Disks that begin to replace sectors continue to do so; flash retires blocks as it ages.
                let is_disk = *quantity == Q::Reallocated && last.is_rotating == Some(true);
                (if is_disk { Verdict::Warning } else { counters.grows }, grown + faster(history, *quantity))
            }
        };
        worst = worst.max(Some(verdict));
        reasons.push((verdict, reason, source));
    }
    let worst = worst?;
    // Only the reasons of the worst verdict are listed.
    let told: Vec<_> = reasons.into_iter().filter(|(verdict, ..)| *verdict == worst).collect();
    let source = told.first().map_or(OWN, |(.., source)| source);
    let reason = told.into_iter().map(|(_, reason, _)| reason).collect::<Vec<_>>().join("; ");
    finding(counters.rule, worst, reason, source)
}

/// The verdict on a count of which only one record is known, what is said of it, and the limit's source.
fn alone(drive: &Reading, quantity: Q, total: f64) -> (Verdict, String, Option<&'static str>) {
    let is_disk = drive.is_rotating == Some(true);
    match quantity {
        Q::MediaErrors | Q::UncorrectableReads if is_disk => (Verdict::Warning, String::new(), Some(DISKS)),
        Q::MediaErrors | Q::UncorrectableReads if total >= ERRORS_MIN => {
            let allowed = drive.get(Q::HostRead).map(|bytes| 8.0 * bytes / BITS_PER_ERROR);
            if allowed.is_some_and(|allowed| total <= allowed) {
                return (Verdict::Notice, String::new(), None);
            }
            let more = allowed
                .map_or_else(String::new, |allowed| format!(", where its reads allow {}", count(allowed.ceil())));
            (Verdict::Warning, more, Some(UBER))
        }
        Q::Reallocated | Q::BadBlocksGrown if total >= BAD_MANY && !is_fine(drive, quantity) => {
            (Verdict::Warning, String::new(), Some(CHIPS))
        }
        _ => (Verdict::Notice, String::new(), None),
    }
}

/// Whether the vendor's own normalized value says that a count is small for this drive.
fn is_fine(drive: &Reading, quantity: Q) -> bool {
    let from = drive.known.get(&quantity).map_or("", |known| &known.from);
    let row = drive.attributes.iter().find(|row| from == format!("attribute {}", row.id));
    row.is_some_and(|row| row.threshold.unwrap_or(0) > 0 && row.value.unwrap_or(0) >= NORMALIZED_FINE)
}

/// Whether the second half of the time has at least twice as many as the first, and at least three.
fn faster(history: &History, quantity: Q) -> &'static str {
    let told: Vec<(f64, f64)> =
        history.readings().iter().filter_map(|reading| Some((history.day(reading)?, reading.get(quantity)?))).collect();
    let (Some(first), Some(last)) = (told.first(), told.last()) else { return "" };
    let middle = (first.0 + last.0) / 2.0;
    let Some(half) = told.iter().rev().find(|(day, _)| *day <= middle) else { return "" };
    let (early, late) = (half.1 - first.1, last.1 - half.1);
    if told.len() >= 4 && late >= 3.0 && late >= 2.0 * early { ", and faster than before" } else { "" }
}
