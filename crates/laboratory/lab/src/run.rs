//! One run: a drive is preconditioned, then serves its phases and is watched until the run ends.
//!
//! A run has a host, which serves batches and answers what the device asks; a record of what is counted and measured, and for an array a lane for
//! each drive, with a record of its own; and a life, which knows phases, ends and budgets. It is single-threaded and reads no real clock; the caller measures time. A [`Plan`]
//! has no names that are still to be resolved. A run can be stepped ([`Run::advance`]), inspected, changed between steps, and cloned.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use wane_ssd::Drive;
use wane_workload::SourceError;

mod finish;
mod forward;
mod kept;
mod life;
mod plan;

pub use finish::Finished;
pub use kept::WrittenBytes;
pub(crate) use life::{BATCH_PAGES, cannot_go_on};
pub use plan::{Phase, Plan, Planned, Precondition, Stretch};

use crate::array::Lanes;
use crate::host::{Ended, Host};
use crate::observer::Observer;
use crate::record::{Record, Recorded};
use life::{Life, Stage};
use wane_results::{Counters, EndCause};

/// The progress of a run, which its watcher gets after every batch.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Whether it is still preconditioning.
    pub preconditioning: bool,
    /// Number of the phase, from 0.
    pub phase: usize,
    /// Drive writes since preconditioning, including predicted ones.
    pub drive_writes: f64,
    /// Drive writes that were predicted instead of simulated.
    pub predicted: f64,
    /// Share of the phase that is done, if it has a length. For a drive that runs until it dies, the share of its rated
    /// erases that is used.
    pub done: Option<f64>,
    /// Flash units programmed since the drive was new.
    pub programmed: u64,
}

/// Watches a run and may stop it.
pub struct Watch<'a> {
    /// Called after every batch.
    pub step: &'a mut dyn FnMut(&Step),
    /// Once true, the run ends as interrupted.
    pub stop: &'a Arc<AtomicBool>,
}

impl Watch<'_> {
    /// Whether the run is to end.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// How far a run may go. The step ends exactly at the limit that is reached first. However a run is stepped, its results are the
/// same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Mapping units that the host writes, those of preconditioning included.
    pub units: u64,
    /// Requests.
    pub requests: u64,
    /// The simulated time, in nanoseconds since counting started, up to which requests arrive.
    pub until_ns: u64,
}

impl Budget {
    /// No bound.
    pub const WHOLE: Self = Self { units: u64::MAX, requests: u64::MAX, until_ns: u64::MAX };

    /// A limit of `units` mapping units written by the host.
    pub const fn units(units: u64) -> Self {
        Self { units, ..Self::WHOLE }
    }

    /// A limit of `requests` requests.
    pub const fn requests(requests: u64) -> Self {
        Self { requests, ..Self::WHOLE }
    }

    /// Requests up to this time, in nanoseconds since counting started; a run without a clock has no time and is not bounded.
    pub const fn until_ns(until_ns: u64) -> Self {
        Self { until_ns, ..Self::WHOLE }
    }
}

/// How a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The budget is spent.
    Paused,
    /// The run is over: [`Run::finish`] has its results.
    Over,
}

/// A run that can be stepped. See the head of this file.
pub struct Run {
    host: Host,
    /// Of what the host does; of a drive alone, also of the drive.
    record: Record,
    /// Of each drive of an array.
    lanes: Option<Box<Lanes>>,
    life: Life,
}

impl Run {
    /// Makes a run at its start.
    pub fn new(plan: Plan) -> Self {
        Self::with(plan, Host::of)
    }

    /// Makes a run in which the host of a drive alone is made so.
    fn with(plan: Plan, of_drive: impl FnOnce(Drive) -> Host) -> Self {
        let Plan { device, lanes, observer, calendar, young_below, precondition, phases } = plan;
        let host = match device {
            Planned::Drive(drive) => of_drive(*drive),
            Planned::Stack { stack, unit, units } => Host::of_stack(stack, unit, units),
        };
        let observer = observer.map(|spec| Box::new(Observer::new(*spec)));
        let record = Record::new(young_below, observer).with_course(host.logical_units());
        let lanes = lanes.map(|lanes| Box::new(lanes.begun(precondition.units(host.addresses()))));
        let mut run = Self { host, record, lanes, life: Life::new(calendar, precondition, phases) };
        if let Some(lanes) = &mut run.lanes {
            lanes.begin(&mut run.host);
        }
        run
    }

    /// The drive; of an array, the first that has power.
    pub fn drive(&self) -> &Drive {
        self.host.drive()
    }

    /// Whether counting has not started.
    pub fn is_preconditioning(&self) -> bool {
        matches!(self.life.stage, Stage::Precondition { .. })
    }

    /// The drive, for changes between two steps. What it does then counts in the run.
    ///
    /// # Panics
    /// It is an array.
    pub fn drive_mut(&mut self) -> &mut Drive {
        self.host.drive_mut()
    }

    /// Makes an independent copy.
    ///
    /// # Errors
    /// A source cannot be read twice: a trace that is read straight from its file or from stdin.
    pub fn try_clone(&self) -> Result<Self, SourceError> {
        Ok(Self {
            host: self.host.clone(),
            record: self.record.another(),
            lanes: self.lanes.as_ref().map(|lanes| Box::new(lanes.another())),
            life: self.life.try_clone()?,
        })
    }

    /// Advances until the budget is spent or the run is over.
    ///
    /// # Errors
    /// A trace cannot be read further.
    pub fn advance(&mut self, mut budget: Budget, watch: &mut Watch<'_>) -> Result<Progress, SourceError> {
        let Self { host, record, lanes, life } = self;
        let Some(lanes) = lanes else { return life.advance(host, record, &mut budget, watch) };
        loop {
            let progress = lanes.step(&mut budget, |part| life.advance(host, record, part, watch))?;
            let Some(progress) = progress else { return Ok(Progress::Paused) };
            let present = life.last_phase().map(|number| life.present(number));
            lanes.look(host, record, present.as_ref(), progress, watch)?;
            if progress == Progress::Over {
                return Ok(progress);
            }
            if lanes.are_over() {
                // Nothing is left that could refuse the next write.
                life.over(Ended::Died(EndCause::SpareExhausted));
                return Ok(Progress::Over);
            }
        }
    }

    /// The counters since counting started.
    pub(crate) fn counters(&self) -> Counters {
        self.record.counters(&self.host)
    }

    /// Whole units that the bytes written by the host since counting started would fill.
    pub(crate) fn written(&self) -> u64 {
        self.record.written(&self.host)
    }
}
