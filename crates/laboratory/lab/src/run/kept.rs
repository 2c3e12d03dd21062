//! The run of a kept drive. It has no preconditioning and no end of its own, counts from the start of the drive, and is saved
//! between two steps.

use std::sync::atomic::{AtomicBool, Ordering};

use wane_archive::{Archive, ArchiveError};
use wane_blockdev::{Living, SectorRange};
use wane_ftl::{Outcome, UnretiredError};
use wane_results::{Counters, EndCause};
use wane_ssd::Drive;
use wane_units::{Sectors, SuperblockId};
use wane_workload::{Batch, Op, Source, SourceError};

use super::life::{InPhase, Life, Stage};
use super::{Budget, Phase, Plan, Precondition, Progress, Run, Watch};
use crate::host::{Addresses, Ended, Halt, Host};
use crate::record::{Record, Recorded};
use crate::usable::Usable;

/// The fate of bytes that were written to a drive ([`Drive::write_bytes`]) when the workload that ages it trims them. Its writes never
/// change them: they write the same bytes again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WrittenBytes {
    /// The trim leaves them alone.
    #[default]
    Stay,
    /// The trim removes them.
    AreTrimmed,
}

impl Run {
    /// Puts another array in its place, which is as large.
    pub(crate) fn set_stack(&mut self, array: Box<dyn Living>) {
        self.host.set_stack(array);
    }

    /// See [`Host::predicted`].
    pub(crate) const fn predicted_of_array(&self) -> (u64, u64) {
        self.host.predicted()
    }

    /// See [`Host::predicted_mut`].
    pub(crate) const fn predicted_of_array_mut(&mut self) -> &mut (u64, u64) {
        self.host.predicted_mut()
    }

    /// What it stands on.
    pub(crate) fn device(&self) -> &dyn Living {
        self.host.living()
    }

    /// The same, to be changed.
    pub(crate) fn device_mut(&mut self) -> &mut dyn Living {
        self.host.living_mut()
    }

    /// Pages that its host's map may still take into use; `None` without a map.
    pub(crate) fn room(&self) -> Option<u32> {
        self.host.room()
    }

    /// What its workload may use of the device.
    pub(crate) fn usable(&self) -> Usable {
        self.host.usable()
    }

    /// Whether it stands on one drive whose addresses it uses as they are.
    pub(crate) fn is_bare(&self) -> bool {
        self.host.is_bare()
    }

    /// Logical units of the device when it was new.
    pub(crate) fn logical_units(&self) -> u32 {
        self.host.logical_units()
    }

    /// Sectors of a unit of the device.
    pub(crate) const fn unit(&self) -> Sectors {
        self.host.unit()
    }

    /// Share of its rated erases that is used; of several drives, the largest.
    pub(crate) fn life_used(&self) -> Option<f64> {
        self.host.life_used()
    }

    /// Sectors that the last batch of reads found lost.
    pub(crate) fn unread(&self) -> &[SectorRange] {
        self.host.unread()
    }

    /// Makes the run of a kept array, without a workload so far. Wear leveling of its drives is on.
    pub(crate) fn of_kept_array(array: Box<dyn Living>, unit: Sectors) -> Self {
        let mut life = Life::new(None, Precondition::none(), Vec::new());
        life.stage = Stage::Phase(0);
        let units = (array.capacity().0 / unit.0) as u32;
        Self { host: Host::of_stack(array, unit, units), record: Record::new(None, None), lanes: None, life }
    }

    /// Makes the run of a kept drive, without a workload so far.
    pub(crate) fn of_kept(drive: Drive) -> Self {
        let mut host = Host::of(drive);
        host.drive_mut().set_leveling(true);
        let mut life = Life::new(None, Precondition::none(), Vec::new());
        life.stage = Stage::Phase(0);
        // Its life is not told.
        Self { host, record: Record::new(None, None), lanes: None, life }
    }

    /// From now on the workload ages the drive, and written bytes that it trims have this fate.
    pub(crate) fn begin_aging(&mut self, written: WrittenBytes) {
        self.life.written_bytes = Some((written, 0));
    }

    /// The workload that ages it has as many addresses as there are usable units, and stays on these.
    pub(crate) fn stay_within(&mut self, usable: Usable) {
        self.host.stay_within(Some(usable));
    }

    /// From now on requests are those of the drive's user, which trim what they name. Returns the number of units with written
    /// bytes that the workload trimmed.
    pub(crate) fn end_aging(&mut self) -> u64 {
        self.host.stay_within(None);
        self.life.written_bytes.take().map_or(0, |(_, units)| units)
    }

    /// Makes a run of this plan to look at a drive that is not kept afterwards, of which the workload uses this. Its host gives nothing back.
    pub(crate) fn of_look(plan: Plan, usable: Usable) -> Self {
        let mut run = Self::with(plan, |drive| Host::new(drive, Addresses::Direct));
        run.host.stay_within(Some(usable));
        run
    }

    /// The counters at which counting started.
    pub(crate) fn counted_from(&self) -> Counters {
        self.record.counted_from()
    }

    /// Counts from these counters on.
    pub(crate) fn count_from(&mut self, zero: Counters) {
        self.record.count_from(zero);
    }

    /// Notes on the requests of its workload so far.
    pub(crate) fn workload_notes(&self) -> Vec<String> {
        self.life.phases.iter().flat_map(|phase| phase.source.notes()).collect()
    }

    /// Takes a block out of service, and answers the drive's demands. The run may be over then.
    ///
    /// # Errors
    /// The block cannot be taken out.
    pub(crate) fn retire_block(&mut self, block: SuperblockId) -> Result<(), UnretiredError> {
        let outcome = self.host.drive_mut().retire_block(block)?;
        self.settle(outcome);
        Ok(())
    }

    /// Limits the re-reads of host reads, and answers the drive's demands, as of blocks that retire for it. The run may be over then.
    pub(crate) fn set_read_recovery(&mut self, rereads_max: Option<u32>) {
        let outcome = self.host.drive_mut().set_read_recovery(rereads_max);
        self.settle(outcome);
    }

    /// Answers what a setting made the drive ask.
    fn settle(&mut self, outcome: Outcome) {
        let stopped = self.host.drive().stop_of(outcome);
        if let Err(ended) = self.host.settle(stopped, &AtomicBool::new(false)) {
            self.life.over(ended);
        }
        self.host.device().close_own();
    }

    /// Preconditions the drive, from unit `done` on; counting starts afterwards. It ends early if it is stopped or the drive dies, and when
    /// `pause` says so, which is asked every `look_units` units. Returns the units that are done then; `None` if it is over.
    ///
    /// # Errors
    /// None: nothing is read.
    pub(crate) fn precondition_kept(
        &mut self,
        (mut precondition, done): (Precondition, u64),
        look_units: u64,
        pause: &mut dyn FnMut() -> bool,
        watch: &mut Watch<'_>,
    ) -> Result<Option<u64>, SourceError> {
        let workload = std::mem::take(&mut self.life.phases);
        if let Some(drive) = self.host.device().one_drive() {
            drive.set_leveling(false);
        }
        precondition.skip(done, u64::from(self.host.logical_units()));
        (self.life.precondition, self.life.stage) = (precondition, Stage::Precondition { done });
        let mut is_paused = false;
        let ended = loop {
            match self.advance(Budget::units(look_units), watch) {
                Ok(Progress::Paused) if pause() => {
                    is_paused = true;
                    break Ok(());
                }
                Ok(Progress::Paused) => {}
                ended => break ended.map(drop),
            }
        };
        let left = match self.life.stage {
            Stage::Precondition { done } if is_paused => Some(done),
            _ => None,
        };
        self.life.phases = workload;
        self.life.stage = Stage::Phase(0);
        self.life.in_phase = InPhase::default();
        match self.life.end {
            Some(Ended::Died(_)) => self.life.stage = Stage::Over,
            _ => self.life.end = None,
        }
        ended.map(|()| left)
    }

    /// Sends requests for these pages through the host, and scrubs if the drive does. The drive may die. `stop` is checked every `look_pages`
    /// pages, which does not change the result.
    pub(crate) fn ask(&mut self, op: Op, pages: &[u32], look_pages: usize, stop: &AtomicBool) {
        // Work that was begun is finished, so that the drive is consistent.
        let go = AtomicBool::new(false);
        let mut served = Ok(());
        for part in pages.chunks(look_pages) {
            let mut batch = Batch { op, pages: part.to_vec(), requests: 1, ..Batch::default() };
            served = self.host.serve(&mut batch, &mut 0, &mut { u64::MAX }, &go);
            if served.is_err() || stop.load(Ordering::Relaxed) {
                break;
            }
        }
        if served.is_ok() {
            served = self.host.work(&go).map_err(Halt::from);
        }
        if let Err(Halt::Ended(ended)) = served {
            self.life.over(ended);
        }
    }

    /// The drive's unit of a page of the host; `None` if its space was given up.
    pub(crate) fn unit_of(&self, page: u32) -> Option<u32> {
        self.host.unit_of(page)
    }

    /// Returns the drive and drops the rest.
    pub(crate) fn into_drive(self) -> Drive {
        self.host.into_drive()
    }

    /// Sets or removes the workload. A run that was over because of its workload can continue.
    pub(crate) fn take_workload(&mut self, phase: Option<Phase>) {
        self.life.phases = phase.into_iter().collect();
        (self.life.stage, self.life.end) = (Stage::Phase(0), None);
        self.life.in_phase = InPhase::default();
    }

    /// Whether its workload is known to continue for ever without a write.
    pub(crate) fn never_writes(&self) -> bool {
        self.life.phases.iter().all(|phase| phase.source.never_writes())
    }

    /// Why the run's drive died. For a drive that is still alive, the cause is that its data no longer fit.
    pub(crate) fn died_of(&self) -> Option<EndCause> {
        match self.life.end {
            Some(Ended::Died(cause)) => Some(cause),
            _ => self.host.end_of_life(),
        }
    }

    /// Its workload.
    pub(crate) fn workload(&mut self) -> Option<&mut dyn Source> {
        self.life.phases.first_mut().map(|phase| phase.source.as_mut() as &mut dyn Source)
    }

    /// Archives the drive and its host: writes them to a file, or reads them back into a new run of the same kind. No time passes.
    ///
    /// # Errors
    /// As of [`Archive`]; the drive cannot be saved.
    pub(crate) fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        self.host.archive(archive)
    }
}
