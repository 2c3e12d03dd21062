//! What a run observes of an array besides its wear: errors and the age of data on its drives, and how fast copies of it answer.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use wane_blockdev::{Living, all_of, each_of};
use wane_results::{ArrayDrive, ArrayProbe, Calendar, Errors};
use wane_scenario::Scenario;
use wane_sim::Streams;
use wane_ssd::Drive;
use wane_units::Sectors;
use wane_workload::SourceError;

use super::timed::{Look, Looked};
use crate::build::{self, PlanError};
use crate::observer::{self, Due, Measured, ObserverSpec};
use crate::sources::Opener;

/// See the head of this file.
pub(crate) struct Observed {
    spec: ObserverSpec,
    clocks: Vec<wane_ssd::ClockSpec>,
    calendar: Option<Calendar>,
    streams: Streams,
    /// Days of service of the array.
    day: f64,
    next_probe: usize,
    /// The array as it was lately, if it is looked at when it has ended: the older and the newer.
    lately: [Option<Arc<Mutex<Lately>>>; 2],
    /// Units written from which it is kept anew.
    keep_from: u64,
    /// Whether the user stopped it in a probe, or before one that was due.
    pub(super) was_cut: bool,
    probes: Vec<ArrayProbe>,
    pub(super) notes: Vec<String>,
}

/// A copy of an array that may be about to end, with its age in units and in array writes. Copies of the run share it.
struct Lately {
    array: Box<dyn Living>,
    at: (u64, f64),
}

impl Observed {
    /// `None` if nothing is observed.
    ///
    /// # Errors
    /// The workload of the probes cannot be opened, or is none for an array.
    pub(crate) fn new(
        scenario: &Scenario,
        calendar: Option<Calendar>,
        opener: &mut Opener,
    ) -> Result<Option<Self>, PlanError> {
        let Some(spec) = build::observer_of_array(scenario, calendar, opener)? else { return Ok(None) };
        if spec.probe.as_ref().is_some_and(|probe| probe.goes_on.iter().any(|goes_on| *goes_on)) {
            let why = "a probe of an array begins with an empty key-value store and cannot go on with the run's; give another workload";
            return Err(PlanError::Setting("probe.workload".to_owned(), why.to_owned()));
        }
        Ok(Some(Self {
            spec,
            clocks: build::clocks(scenario),
            calendar,
            streams: Streams::new(scenario.seed),
            day: 0.0,
            next_probe: 0,
            lately: [None, None],
            keep_from: 0,
            was_cut: false,
            probes: Vec::new(),
            notes: Vec::new(),
        }))
    }

    /// Makes an independent copy.
    pub(super) fn another(&self) -> Self {
        Self {
            spec: self.spec.another(),
            clocks: self.clocks.clone(),
            calendar: self.calendar,
            streams: self.streams,
            day: self.day,
            next_probe: self.next_probe,
            lately: self.lately.clone(),
            keep_from: self.keep_from,
            was_cut: self.was_cut,
            probes: self.probes.clone(),
            notes: self.notes.clone(),
        }
    }

    /// Returns the probes. Their drives have the names of their results.
    pub(super) fn into_probes(self, told: &[ArrayDrive]) -> Vec<ArrayProbe> {
        let mut probes = self.probes;
        for probe in &mut probes {
            let at = probe.at_array_writes;
            let stood = |place: u32| told.iter().rfind(|drive| drive.place == place && drive.came_at <= at);
            for drive in &mut probe.drives {
                drive.run = stood(drive.place).map(|drive| drive.run.clone());
            }
        }
        probes
    }

    /// Observes a drive from now on, which has the past that its scenario says. Returns the errors that it had so far.
    pub(super) fn start(drive: &mut Drive, scenario: &Scenario) -> Option<Errors> {
        drive.keep_detail(true);
        let initial = &scenario.medium.initial;
        if initial.retention_days.is_some() || initial.reads > 0 {
            let (least, most) = initial.retention_days.unwrap_or_default();
            let mut stream = Streams::new(scenario.seed).stream("retention");
            drive.set_past(|_| (least + (most - least) * stream.unit(), initial.reads));
        }
        observer::errors(drive)
    }

    /// Data of the drives age with the writes of the array.
    pub(super) fn follow(&mut self, array: &mut dyn Living, written: u64) {
        let day = written as f64 * self.spec.days_per_unit;
        let passed = day - std::mem::replace(&mut self.day, day);
        if passed > 0.0 {
            // A drive that came later is younger.
            each_of::<Drive>(array, &mut |drive| {
                if !drive.is_off() {
                    drive.set_day(drive.day() + passed);
                }
            });
        }
    }

    /// What a drive measured since it had these errors.
    pub(super) fn measured(drive: &Drive, at_start: Option<Errors>) -> Measured {
        Measured {
            errors: observer::errors(drive).zip(at_start).map(|(now, before)| now - before),
            error_histogram: drive
                .flash()
                .and_then(wane_nand::Flash::cells)
                .map(|cells| cells.histogram().counts().to_vec()),
            oldest: observer::oldest(drive),
            ..Measured::default()
        }
    }

    /// Whether the next probe is due.
    fn is_due(&self, array: &dyn Living, written: u64) -> bool {
        match self.spec.probe.as_ref().map(|probe| &probe.due) {
            None => false,
            Some(Due::Units(units)) => units.get(self.next_probe).is_some_and(|due| *due <= written),
            Some(Due::Wear(shares)) => shares.get(self.next_probe).is_some_and(|share| {
                let on = all_of::<Drive>(array).into_iter().filter(|drive| !drive.is_off());
                on.filter_map(Drive::life_used).reduce(f64::max).is_some_and(|used| used >= *share)
            }),
        }
    }

    /// Makes the probes that are due. `at` is the array's age in units of `unit` sectors, and in array writes.
    ///
    /// # Errors
    /// The trace of a probe is damaged.
    pub(super) fn probe_if_due(
        &mut self,
        array: &dyn Living,
        unit: Sectors,
        at: (u64, f64),
        stop: &Arc<AtomicBool>,
    ) -> Result<(), SourceError> {
        let made = self.next_probe;
        while self.is_due(array, at.0) {
            if stop.load(Ordering::Relaxed) {
                self.was_cut = true;
                return Ok(());
            }
            self.next_probe += 1;
            if array.end_of_life().is_some() || array.is_off() {
                continue;
            }
            if !self.look_at(array.another(), unit, at.1, stop)? {
                return Ok(());
            }
        }
        if made < self.next_probe {
            // One that ends soon is looked at as it was after its last probe.
            (self.lately, self.keep_from) = ([None, None], 0);
        }
        let looks_back = self.spec.probe.as_ref().is_some_and(|probe| probe.at_end_of_life);
        if looks_back && at.0 >= self.keep_from && array.end_of_life().is_none() {
            let lately = Lately { array: array.another(), at };
            self.lately = [self.lately[1].take(), Some(Arc::new(Mutex::new(lately)))];
            let array_write = array.capacity().0 / unit.0;
            self.keep_from = at.0 + observer::kept_for(at.0, array_write);
        }
        Ok(())
    }

    /// Looks at an array that has ended as it was just before, if that is asked for.
    ///
    /// # Errors
    /// The trace of the probe is damaged.
    pub(super) fn probe_the_dead(&mut self, unit: Sectors, stop: &Arc<AtomicBool>) -> Result<(), SourceError> {
        // The newer one may be about to end at once.
        let Some(lately) = std::mem::take(&mut self.lately).into_iter().flatten().next() else { return Ok(()) };
        if stop.load(Ordering::Relaxed) {
            self.was_cut = true;
            return Ok(());
        }
        let lately = lately.lock().unwrap_or_else(PoisonError::into_inner);
        self.look_at(lately.array.another(), unit, lately.at.1, stop).map(drop)
    }

    /// Hands a copy of the array the requests of a probe. Returns false if the user stopped it, which leaves the probe out.
    fn look_at(
        &mut self,
        copy: Box<dyn Living>,
        unit: Sectors,
        at_array_writes: f64,
        stop: &Arc<AtomicBool>,
    ) -> Result<bool, SourceError> {
        let (Some(probe), Some(time)) = (&mut self.spec.probe, &self.spec.clock) else { return Ok(true) };
        let look = Look {
            time: time.clone(),
            clocks: self.clocks.clone(),
            source: probe.sources.make()?,
            arrivals: (probe.arrival, self.streams.stream(&format!("probe.arrivals.{}", self.probes.len()))),
            requests: probe.requests,
            days: probe.retention_days,
        };
        let Looked { mut probe, notes } = look.at(copy, unit, stop)?;
        if stop.load(Ordering::Relaxed) {
            // It served a part of its requests.
            self.was_cut = true;
            return Ok(false);
        }
        probe.at_array_writes = at_array_writes;
        probe.at_days = self.calendar.map(|calendar| at_array_writes / calendar.drive_writes_per_day);
        self.probes.push(probe);
        self.notes.extend(notes.into_iter().filter(|note| !self.notes.contains(note)).collect::<Vec<_>>());
        Ok(true)
    }
}
