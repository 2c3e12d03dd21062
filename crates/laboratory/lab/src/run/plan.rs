//! The plan of a run.

use wane_results::{Calendar, EndReason};
use wane_sim::Stream;
use wane_ssd::Drive;
use wane_workload::Source;

use crate::files::Files;
use crate::observer::ObserverSpec;

/// Everything a run needs.
pub struct Plan {
    /// The drive, new, and what lies between it and the workload.
    pub device: Planned,
    /// What is observed besides its aging; `None` for a drive that only ages.
    pub observer: Option<Box<ObserverSpec>>,
    /// The pace at which the drive is written, if the scenario has one.
    pub calendar: Option<Calendar>,
    /// Erases at which a block is no longer young, if known.
    pub young_below: Option<u32>,
    /// What happens before counting starts.
    pub precondition: Precondition,
    /// The phases that are counted, in order. There is at least one.
    pub phases: Vec<Phase>,
}

/// What a plan's workload writes.
pub enum Planned {
    /// A drive.
    Drive(Box<Drive>),
    /// Files on a drive.
    Files(Box<Files>),
}

impl Planned {
    /// The drive.
    pub fn drive(&self) -> &Drive {
        match self {
            Self::Drive(drive) => drive,
            Self::Files(files) => files.drive(),
        }
    }

    /// Returns the drive and drops the rest.
    pub fn into_drive(self) -> Drive {
        match self {
            Self::Drive(drive) => *drive,
            Self::Files(files) => files.into_drive(),
        }
    }
}

/// What happens to a drive before counting starts. Wear leveling is off meanwhile.
#[derive(Clone)]
pub struct Precondition {
    /// Logical units written first, sequentially from 0 on.
    pub fill_units: u32,
    /// Whole sequential drive writes after that.
    pub sequential_drive_writes: u32,
    /// Units of uniform random writes after that.
    pub random_units: u64,
    /// Draws the random writes.
    pub stream: Stream,
}

impl Precondition {
    /// Units that it writes, on a device of `logical` units.
    pub(crate) fn units(&self, logical: u32) -> u64 {
        u64::from(self.fill_units) + u64::from(self.sequential_drive_writes) * u64::from(logical) + self.random_units
    }

    /// Draws what the first `done` units drew, so that it goes on behind them on a drive of `logical` units.
    pub(crate) fn skip(&mut self, done: u64, logical: u64) {
        let in_order = u64::from(self.fill_units) + u64::from(self.sequential_drive_writes) * logical;
        for _ in in_order..done {
            self.stream.below(logical);
        }
    }

    /// No preconditioning.
    pub fn none() -> Self {
        let stream = wane_sim::Streams::new(0).stream("nothing");
        Self { fill_units: 0, sequential_drive_writes: 0, random_units: 0, stream }
    }
}

/// One phase of a run.
pub struct Phase {
    /// Where its requests come from.
    pub source: Box<dyn Source>,
    /// It ends after this many host units written.
    pub units_max: Option<u64>,
    /// It ends after this much of the calendar.
    pub days_max: Option<Stretch>,
    /// It ends after this many requests.
    pub requests_max: Option<u64>,
}

/// A time span in the units that a run counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stretch {
    /// In host units, by the calendar's units per day.
    Units(u64),
    /// In nanoseconds of the run's clock.
    Ns(u64),
}

impl Phase {
    /// Host units after which it ends, by its drive writes or its days, and the reason.
    pub(super) fn units_max(&self) -> (Option<u64>, EndReason) {
        match (self.units_max, self.days_max) {
            (units, Some(Stretch::Units(days))) if units.is_none_or(|units| days < units) => {
                (Some(days), EndReason::Days)
            }
            (units, _) => (units, EndReason::DriveWrites),
        }
    }
}
