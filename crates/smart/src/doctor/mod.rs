//! Judges a drive by what was told of it: one record, or several of different days.
//!
//! Each [`Finding`] is one rule's verdict with its reason and the rule's source. Counts of errors are judged by whether they grow: a drive that
//! lost a sector three years ago is not ill for ever. What was not told gives no finding, and is never taken for zero.

mod history;
mod life;
mod rules;
mod told;
mod writes;

use std::collections::BTreeMap;

use serde::Serialize;

use crate::reading::{Known, Protocol, Reading};
use crate::{Quantity, attributes};
use history::History;
pub use history::{Clock, Rate};
pub use life::{Between, Life};
pub use writes::{Amplification, Writes};

/// The version of [`Judgement`] as JSON: it changes when a key changes its meaning or goes.
pub const FORMAT: u32 = 1;

/// How a drive is, or one side of it; the worse the greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Nothing that a rule asks for was told.
    Unknown,
    /// As it should be.
    Good,
    /// Worth knowing, and nothing to do.
    Notice,
    /// Plan to act.
    Warning,
    /// Act now.
    Failing,
}

impl Verdict {
    /// All of them, the best last but one.
    pub const ALL: [Self; 5] = [Self::Unknown, Self::Good, Self::Notice, Self::Warning, Self::Failing];

    /// Its word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Good => "good",
            Self::Notice => "notice",
            Self::Warning => "warning",
            Self::Failing => "failing",
        }
    }
}

/// What a rule found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// The rule's name.
    pub rule: &'static str,
    /// Its verdict.
    pub verdict: Verdict,
    /// Why.
    pub reason: String,
    /// Where the rule comes from.
    pub source: &'static str,
}

/// Which drive.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Drive {
    /// Its model.
    pub model: Option<String>,
    /// Its serial number.
    pub serial: Option<String>,
    /// Its firmware.
    pub firmware: Option<String>,
    /// How it is spoken to.
    pub protocol: Option<Protocol>,
    /// The family by whose table its attributes were understood.
    pub family: Option<&'static str>,
    /// Whether wane simulates it.
    pub is_simulated: bool,
}

/// The records that were judged.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Records {
    /// How many.
    pub count: usize,
    /// Day of the first, in UTC, if told.
    pub first: Option<String>,
    /// Day of the last.
    pub last: Option<String>,
    /// Days between them, by the calendar, or by the hours under power where no time was told.
    pub days: Option<f64>,
    /// What these days are counted by.
    pub clock: Clock,
}

/// All that can be said of a drive. As JSON it is what `wane doctor --json` prints.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judgement {
    /// [`FORMAT`].
    pub format: u32,
    /// Which drive.
    pub drive: Drive,
    /// Of which records.
    pub records: Records,
    /// The worst of the findings.
    pub verdict: Verdict,
    /// What the rules found.
    pub findings: Vec<Finding>,
    /// Writes of host and flash.
    pub writes: Writes,
    /// Wear and the end of life.
    pub life: Life,
    /// How counters grew from the first record to the last.
    pub rates: BTreeMap<Quantity, Rate>,
    /// What the last record told.
    pub known: BTreeMap<Quantity, Known>,
    /// What was told and is not understood.
    pub not_understood: Vec<String>,
}

/// Why records cannot be judged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DoctorError {
    /// None was given.
    #[error("no record of a drive is given, at least one is needed")]
    None,
    /// Of more drives than one.
    #[error("the records are of two drives, {what} \"{one}\" and \"{other}\"; give those of one")]
    TwoDrives {
        /// What tells them apart.
        what: &'static str,
        /// The one's.
        one: String,
        /// The other's.
        other: String,
    },
}

/// Judges the records of one drive, in any order.
///
/// A page of OCP has no time: it belongs to the record before it, or to the first.
///
/// # Errors
/// There is none, or they are of more than one drive.
pub fn judge(readings: Vec<Reading>) -> Result<Judgement, DoctorError> {
    let history = History::of(readings)?;
    let last = history.last();
    let writes = Writes::of(&history);
    let life = Life::of(&history, &writes);
    let findings = rules::findings(&history, &writes, &life);
    let worst = findings.iter().map(|finding| finding.verdict).max();
    debug_assert_eq!(worst, findings.first().map(|finding| finding.verdict), "the worst finding is told first");
    Ok(Judgement {
        format: FORMAT,
        drive: Drive {
            model: last.model.clone(),
            serial: last.serial.clone(),
            firmware: last.firmware.clone(),
            protocol: last.protocol,
            family: attributes::family(last).map(|family| family.name),
            is_simulated: last.simulated.is_some(),
        },
        records: history.records(),
        verdict: worst.unwrap_or(Verdict::Unknown),
        findings,
        writes,
        life,
        rates: history.rates(),
        known: last.known.clone(),
        not_understood: last.not_understood.clone(),
    })
}
