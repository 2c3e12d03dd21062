//! Judges a drive by its records: one, or several of different days.
//!
//! Each [`Finding`] is one rule's verdict with its reason and the rule's source. Counts of errors are judged by whether they
//! grow: a sector lost three years ago does not make a drive ill for ever. A value that was not reported gives no finding, and is
//! never taken for zero.

mod counts;
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

/// Version of [`Judgement`] as JSON. It changes when a key changes its meaning or is removed.
pub const FORMAT: u32 = 1;

/// The condition of a drive, or one aspect of it; the worse the greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Nothing was reported that a rule needs.
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
    /// All verdicts; the best is the second.
    pub const ALL: [Self; 5] = [Self::Unknown, Self::Good, Self::Notice, Self::Warning, Self::Failing];

    /// Its name in JSON and text.
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

/// Identity of the drive.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Drive {
    /// Its model.
    pub model: Option<String>,
    /// Its serial number.
    pub serial: Option<String>,
    /// Its firmware.
    pub firmware: Option<String>,
    /// Its protocol.
    pub protocol: Option<Protocol>,
    /// The family by whose table its attributes were understood.
    pub family: Option<&'static str>,
    /// Whether wane simulates it.
    pub is_simulated: bool,
}

/// The records that were judged.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Records {
    /// Number of records.
    pub count: usize,
    /// Day of the first, in UTC, if reported.
    pub first: Option<String>,
    /// Day of the last.
    pub last: Option<String>,
    /// Days between them: by the calendar, or by the hours under power if no time was reported.
    pub days: Option<f64>,
    /// How these days were counted.
    pub clock: Clock,
}

/// The judgement of a drive. As JSON it is what `wane doctor --json` prints.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judgement {
    /// [`FORMAT`].
    pub format: u32,
    /// Identity of the drive.
    pub drive: Drive,
    /// The records that were judged.
    pub records: Records,
    /// The worst of the findings.
    pub verdict: Verdict,
    /// Findings of the rules.
    pub findings: Vec<Finding>,
    /// Writes of host and flash.
    pub writes: Writes,
    /// Wear and the end of life.
    pub life: Life,
    /// How counters grew from the first record to the last.
    pub rates: BTreeMap<Quantity, Rate>,
    /// Quantities that the last record reports.
    pub known: BTreeMap<Quantity, Known>,
    /// Values that were reported and are not understood.
    pub not_understood: Vec<String>,
}

/// Why records cannot be judged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DoctorError {
    /// No record was given.
    #[error("no record of a drive is given, at least one is needed")]
    None,
    /// The records are of more than one drive.
    #[error("the records are of two drives, {what} \"{one}\" and \"{other}\"; give those of one")]
    TwoDrives {
        /// The name in which they differ.
        what: &'static str,
        /// Its value in one record.
        one: String,
        /// Its value in the other.
        other: String,
    },
}

/// Judges the records of one drive, in any order.
///
/// A page of OCP has no time: it belongs to the record before it, or otherwise to the first.
///
/// # Errors
/// There is no record, or they are of more than one drive.
pub fn judge(readings: Vec<Reading>) -> Result<Judgement, DoctorError> {
    let history = History::of(readings)?;
    let last = history.last();
    let writes = Writes::sum(&history);
    let life = Life::forecast(&history, &writes, rules::is_failing(&history));
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
        verdict: worst.filter(|worst| *worst > Verdict::Good || is_told(history.state())).unwrap_or(Verdict::Unknown),
        findings,
        writes,
        life,
        rates: history.rates(),
        known: last.known.clone(),
        not_understood: last.not_understood.clone(),
    })
}

/// Whether a drive reports enough to be called good: an assessment, or its wear, spare or errors. Its temperature alone is not.
fn is_told(drive: &Reading) -> bool {
    let is_rated = drive.attributes.iter().any(|row| row.threshold.is_some_and(|threshold| threshold > 0));
    is_rated || drive.is_passed.is_some() || drive.known.keys().any(|quantity| quantity.is_weighty())
}
