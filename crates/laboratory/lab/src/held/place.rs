//! The workload of a held drive: opened at its place, on what there is of the drive.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use wane_archive::{ArchiveError, Reader, Writer};
use wane_results::{Fingerprints, Inputs};
use wane_scenario::Scenario;
use wane_sim::Streams;

use super::{Held, KeptError, workload};
use crate::calendar;
use crate::run::Phase;
use crate::sources::Opener;

/// The contents of the traces of a scenario's workload.
fn contents(scenario: &Scenario, stop: &AtomicBool) -> Inputs {
    Fingerprints::default().inputs(&scenario.traces(), stop)
}

/// Makes the workload of a scenario on `units` units of its device, as workload `number` since the drive was new, and its drive writes per day.
fn phase(
    scenario: &Scenario,
    number: u32,
    units: u32,
    stop: &Arc<AtomicBool>,
) -> Result<(Phase, Option<f64>), KeptError> {
    if scenario.traces().iter().any(|path| *path == Path::new("-")) {
        return Err(KeptError::Stdin);
    }
    let mut opener = Opener::new(*scenario.host_device(), Streams::new(scenario.seed), Arc::clone(stop));
    let source = opener.source_on_the_rest(workload(scenario)?, units, &format!("workload.{number}"))?;
    let calendar = calendar::calendar(scenario, &mut opener)?;
    if stop.load(Ordering::Relaxed) {
        // A workload that could not be opened completely would give no requests.
        return Err(KeptError::Interrupted);
    }
    let phase = Phase { source, units_max: None, days_max: None, requests_max: None };
    Ok((phase, calendar.map(|calendar| calendar.drive_writes_per_day)))
}

impl Held {
    /// Gives it the workload and the calendar of this scenario, which must have the same drive. An unchanged workload continues at its place, unless
    /// its trace was changed.
    ///
    /// # Errors
    /// The scenario has several phases, or a workload that cannot be opened or never writes. The drive then keeps its workload.
    pub fn set_workload(&mut self, scenario: Scenario, stop: &Arc<AtomicBool>) -> Result<(), KeptError> {
        let is_same = workload(&scenario)? == workload(&self.scenario)?;
        if is_same && (self.place.is_empty() || contents(&scenario, stop) == self.traces) {
            if scenario.time != self.scenario.time {
                // The calendar is read when the workload is opened.
                self.close_workload()?;
                self.begin_days();
            }
            self.scenario = scenario;
            return Ok(());
        }
        assert_eq!(
            scenario.host_device(),
            self.scenario.host_device(),
            "a workload is all that changes of a drive's scenario"
        );
        let (units, rest) = self.units_left()?;
        let (phase, per_day) = phase(&scenario, self.workloads + 1, units, stop)?;
        if phase.source.never_writes() {
            return Err(KeptError::Writeless);
        }
        (self.per_day, self.traces) = (per_day, contents(&scenario, stop));
        self.run.take_workload(Some(phase));
        // What was learned of the other workload does not hold.
        self.forward = None;
        (self.place, self.rest) = (Vec::new(), rest);
        self.workloads += 1;
        self.begin_days();
        self.scenario = scenario;
        Ok(())
    }

    /// Units of the device that a workload may use now, and the same as it is kept.
    pub(super) fn units_left(&self) -> Result<(u32, u32), KeptError> {
        let units = self.run.usable().count();
        if units == 0 {
            return Err(KeptError::NothingLeft(self.device().capacity().min(self.device().mapped_limit())));
        }
        Ok((units, if units == self.pages_when_new() { 0 } else { units }))
    }

    /// Opens the workload at its place, if it is not open. On a device that became smaller or larger it begins anew.
    pub(crate) fn open_workload(&mut self, stop: &Arc<AtomicBool>) -> Result<(), KeptError> {
        let (units, rest) = self.units_left()?;
        if rest != self.rest {
            self.run.take_workload(None);
            // What was learned on another device does not hold.
            self.forward = None;
            (self.place, self.rest) = (Vec::new(), rest);
        }
        if self.run.workload().is_some() {
            return Ok(());
        }
        let (mut phase, per_day) = phase(&self.scenario, self.workloads, units, stop)?;
        let traces = contents(&self.scenario, stop);
        if !self.place.is_empty() {
            if traces != self.traces {
                return Err(KeptError::TraceChanged);
            }
            let place = |phase: &mut Phase, place: &[u8]| {
                let mut reader = Reader::new(place)?;
                phase.source.archive(&mut reader)?;
                reader.finish()
            };
            place(&mut phase, &self.place).map_err(|error| KeptError::Place(error.to_string()))?;
        }
        (self.per_day, self.traces) = (per_day, traces);
        self.run.take_workload(Some(phase));
        Ok(())
    }

    /// Saves the place in the workload.
    pub(super) fn note_place(&mut self) -> Result<(), ArchiveError> {
        if let Some(source) = self.run.workload() {
            let mut writer = Writer::new(Vec::new())?;
            source.archive(&mut writer)?;
            self.place = writer.finish()?;
        }
        Ok(())
    }

    /// Closes the workload. It will be opened again at the same place.
    pub(super) fn close_workload(&mut self) -> Result<(), KeptError> {
        self.note_place().map_err(|error| KeptError::Place(error.to_string()))?;
        self.run.take_workload(None);
        Ok(())
    }
}
