//! A run of a drive that is kept: it has no preconditioning and no end of its own, counts from the drive's beginning, and is saved
//! between two steps.

use std::sync::atomic::{AtomicBool, Ordering};

use wane_archive::{Archive, ArchiveError};
use wane_ftl::UnretiredError;
use wane_results::EndCause;
use wane_ssd::Drive;
use wane_units::SuperblockId;
use wane_workload::{Batch, Op, Source, SourceError};

use crate::host::Host;

use super::{Budget, Ended, Phase, Plan, Precondition, Progress, Run, Stage, Stop, Watch};

impl Run {
    /// A run that keeps its drive, without a workload so far.
    pub(crate) fn of_kept(drive: Drive, unit_bytes: u64) -> Self {
        let precondition = Precondition::none();
        let (observer, calendar, young_below) = (None, None, None);
        let plan = Plan { drive, observer, unit_bytes, calendar, young_below, precondition, phases: Vec::new() };
        let mut run = Self::new(plan);
        run.drive.set_leveling(true);
        // No timeline, no window of the last drive write.
        (run.stage, run.row_due, run.window_due) = (Stage::Phase(0), u64::MAX, u64::MAX);
        run
    }

    /// A look at a drive that is not kept afterwards: a run of this plan whose host gives nothing back.
    pub(crate) fn of_look(plan: Plan) -> Self {
        Self { host: Host::Wrapping, ..Self::new(plan) }
    }

    /// The same run with what `change` makes of its drive.
    ///
    /// # Errors
    /// `change` fails; drive and run are gone.
    pub(crate) fn change_drive<E>(self, change: impl FnOnce(Drive) -> Result<Drive, E>) -> Result<Self, E> {
        Ok(Self { drive: change(self.drive)?, ..self })
    }

    /// Takes a block out of service, and answers what its drive demands for it. The run may be over then.
    ///
    /// # Errors
    /// The block cannot be taken out.
    pub(crate) fn retire_block(&mut self, block: SuperblockId) -> Result<(), UnretiredError> {
        let outcome = self.drive.retire_block(block)?;
        if let Err(ended) = self.settle(outcome, &AtomicBool::new(false)) {
            (self.end, self.stage) = (Some(ended), Stage::Over);
        }
        self.drive.commit_background();
        Ok(())
    }

    /// Ages the drive as its precondition says; from then on it is counted. Where it is stopped, or the drive dies, that is as far as it came.
    /// `look_units` are written between two looks at the flag.
    ///
    /// # Errors
    /// None: nothing is read.
    pub(crate) fn precondition_kept(
        &mut self,
        precondition: Precondition,
        look_units: u64,
        watch: &mut Watch<'_>,
    ) -> Result<(), SourceError> {
        let workload = std::mem::take(&mut self.phases);
        self.drive.set_leveling(false);
        (self.precondition, self.stage) = (precondition, Stage::Precondition { done: 0 });
        let ended = loop {
            match self.advance(Budget::units(look_units), watch) {
                Ok(Progress::Paused) => {}
                ended => break ended,
            }
        };
        (self.row_due, self.window_due, self.phases) = (u64::MAX, u64::MAX, workload);
        self.stage = Stage::Phase(0);
        self.in_phase = super::InPhase::default();
        match self.end {
            Some(Ended::Died(_)) => self.stage = Stage::Over,
            _ => self.end = None,
        }
        ended.map(drop)
    }

    /// Asks the drive for these pages, by its host, and scrubs where it does. The drive may die of it. `stop` is looked at each `look_pages`;
    /// parts of so many come to the same as all at once.
    pub(crate) fn ask(&mut self, op: Op, pages: &[u32], look_pages: usize, stop: &AtomicBool) {
        // What was begun is ended, so that the drive is whole.
        let go = AtomicBool::new(false);
        let mut served = Ok(());
        for part in pages.chunks(look_pages) {
            let mut batch = Batch { op, pages: part.to_vec(), requests: 1, ..Batch::default() };
            served = self.serve(&mut batch, &mut 0, &mut { Budget::WHOLE }, &go);
            if served.is_err() || stop.load(Ordering::Relaxed) {
                break;
            }
        }
        if served.is_ok() && self.drive.scrubs() {
            served = self.scrub(&go).map_err(Stop::from);
        }
        if let Err(Stop::Ended(ended)) = served {
            (self.end, self.stage) = (Some(ended), Stage::Over);
        }
    }

    /// Where the pages of the host lie on the drive; `None` of one whose space was given up.
    pub(crate) fn unit_of(&self, page: u32) -> Option<u32> {
        let mut unit = vec![page];
        self.host.find(&mut unit);
        unit.first().copied()
    }

    /// The drive, of which nothing else is wanted.
    pub(crate) fn into_drive(self) -> Drive {
        self.drive
    }

    /// Takes a workload, or gives up the one that it has; a run that was over because of its workload goes on.
    pub(crate) fn take_workload(&mut self, phase: Option<Phase>) {
        self.phases = phase.into_iter().collect();
        (self.stage, self.end) = (Stage::Phase(0), None);
        self.in_phase = super::InPhase::default();
    }

    /// Whether its workload is known to go on for ever without a write.
    pub(crate) fn never_writes(&self) -> bool {
        self.phases.iter().all(|phase| phase.source.never_writes())
    }

    /// What its drive died of; of a drive that still lives, that its data do not fit any more.
    pub(crate) fn died_of(&self) -> Option<EndCause> {
        match self.end {
            Some(Ended::Died(cause)) => Some(cause),
            _ => self.drive.end_of_life().map(|cause| self.host.cause(cause)),
        }
    }

    /// The workload that it has.
    pub(crate) fn workload(&mut self) -> Option<&mut dyn Source> {
        self.phases.first_mut().map(|phase| phase.source.as_mut() as &mut dyn Source)
    }

    /// The drive and its host, to a file or back into a new run of the same kind.
    ///
    /// # Errors
    /// As of [`Archive`]; the drive cannot be saved.
    pub(crate) fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        self.drive.archive(archive)?;
        self.host.archive(archive)
    }
}
