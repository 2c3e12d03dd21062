//! The plan of a run.

use wane_blockdev::{Living, find};
use wane_results::{Calendar, EndReason};
use wane_sim::Stream;
use wane_ssd::Drive;
use wane_units::Sectors;
use wane_workload::Source;

use crate::array::Lanes;
use crate::observer::ObserverSpec;

/// Everything a run needs.
pub struct Plan {
    /// The drive, new, or the drives, and what lies between them and the workload.
    pub device: Planned,
    /// What is recorded of each drive of an array, and what its operator does; `None` for a drive alone.
    pub lanes: Option<Box<Lanes>>,
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
    /// A stack of devices.
    Stack {
        /// The uppermost one.
        stack: Box<dyn Living>,
        /// Sectors of a unit.
        unit: Sectors,
        /// Units that the host of the new stack has: those of its drive or of its array.
        units: u32,
    },
}

impl Planned {
    /// The drive, or the first of an array.
    ///
    /// # Panics
    /// Never: a stack stands on drives.
    pub fn drive(&self) -> &Drive {
        match self {
            Self::Drive(drive) => drive,
            Self::Stack { stack, .. } => find(stack.as_ref()).expect("a stack stands on drives"),
        }
    }

    /// Returns the device.
    pub(crate) fn into_living(self) -> Box<dyn Living> {
        match self {
            Self::Drive(drive) => drive,
            Self::Stack { stack, .. } => stack,
        }
    }

    /// Returns the drive.
    ///
    /// # Panics
    /// It is a stack.
    pub fn into_drive(self) -> Drive {
        match self {
            Self::Drive(drive) => *drive,
            Self::Stack { .. } => panic!("the plan of a drive alone"),
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
