//! The drives of an array in a run: a lane for each, which records what its drive does, and their operator.
//!
//! Between two steps the run looks at the drives. What the operator does then (a drive that died goes, one that is worn is replaced) falls on multiples of
//! a step, and so does the instant of which results speak.

use wane_blockdev::{Batch, Living, SectorRange, Stop, Work, each_of, find};
use wane_raid::{Following, Redundant, redundant_of};
use wane_results::{ArrayDrive, ArrayFigures, Calendar, Counters, DriveState, EndReason, Errors, Unfinished};
use wane_scenario::{ArrayLayout, Initial, LastWord, Scenario};
use wane_sim::Streams;
use wane_ssd::Drive;
use wane_units::{Bytes, EndOfLife, Lba, Sectors};
use wane_workload::SourceError;

use crate::build;
use crate::host::{Host, end_cause};
use crate::observer::{self, Measured, Past, Present};
use crate::queued::MemberLatency;
use crate::record::{Record, Recorded, wear};
use crate::run::{Budget, Finished, Progress, Watch};

pub(crate) use drives::{Assembly, Checked, Copying, Drives, Due, copy_all};
pub(crate) use forecast::foretell;

mod drives;
mod forecast;

/// Steps of an array write.
const STEPS: u64 = 256;

/// A drive that stands in the array, or stood in it.
struct Lane {
    place: usize,
    scenario: Scenario,
    /// The record of what it does; `None` once it is finished.
    record: Option<Record>,
    finished: Option<Finished>,
    /// Errors that it had seen when counting started.
    errors: Option<Errors>,
    /// How it answered what the host asked, where time is kept.
    latency: MemberLatency,
    told: ArrayDrive,
}

/// See the head of this file.
pub struct Lanes {
    drives: Drives,
    lanes: Vec<Lane>,
    /// Whether errors and the age of data are observed on each drive.
    observes: bool,
    calendar: Option<Calendar>,
    /// Units from the first on beyond which no phase touches anything.
    used: u32,
    /// Units to the next look.
    left: u64,
    /// Whether counting has started.
    counts: bool,
    /// Array writes during which a drive that came lacked something, up to the last look at that many array writes.
    copied_for: (f64, f64),
}

/// What became of an array and its drives.
#[derive(Clone, Debug)]
pub struct FinishedArray {
    /// The array.
    pub figures: ArrayFigures,
    /// Its drives, in the order of the figures: each with the scenario that makes it.
    pub drives: Vec<(Scenario, Finished)>,
}

impl Lanes {
    /// Makes the lanes of a new array whose phases touch its first `used` units.
    pub(crate) const fn new(drives: Drives, observes: bool, calendar: Option<Calendar>, used: u32) -> Self {
        Self { drives, lanes: Vec::new(), observes, calendar, used, left: 0, counts: false, copied_for: (0.0, 0.0) }
    }

    /// Starts counting after N units.
    pub(crate) fn begun(self, units: u64) -> Self {
        Self { left: units, ..self }
    }

    /// Makes an independent copy.
    pub(crate) fn another(&self) -> Self {
        let lane = |lane: &Lane| Lane {
            place: lane.place,
            scenario: lane.scenario.clone(),
            record: lane.record.as_ref().map(Record::another),
            finished: lane.finished.clone(),
            errors: lane.errors,
            latency: lane.latency.clone(),
            told: lane.told.clone(),
        };
        Self {
            drives: self.drives.clone(),
            lanes: self.lanes.iter().map(lane).collect(),
            observes: self.observes,
            calendar: self.calendar,
            used: self.used,
            left: self.left,
            counts: self.counts,
            copied_for: self.copied_for,
        }
    }

    /// Gives each drive its lane.
    pub(crate) fn begin(&mut self, host: &mut Host) {
        for place in 0..self.drives.spec().members.len() {
            self.note_new(host, place, 0.0);
        }
    }

    /// A number that grows when a drive comes, or takes no more writes.
    pub(crate) fn changes(&self) -> usize {
        self.lanes.len() + self.lanes.iter().filter(|lane| lane.told.ended_at.is_some()).count()
    }

    /// Share of its rated wear at which a drive is replaced; `None` if none is any more.
    pub(crate) fn replaced_at(&self) -> Option<f64> {
        self.drives.replaced_at()
    }

    /// Takes a row of each drive's life.
    pub(crate) fn sample(&mut self, host: &mut Host) {
        let under_files = host.files().is_some();
        for lane in &mut self.lanes {
            let Some(mut record) = lane.record.take() else { continue };
            let _ = on_drive(host.array(), lane.place, |drive| record.sample(&Member { drive, under_files }, 0));
            lane.record = Some(record);
        }
    }

    /// Whether none of the drives takes any more writes.
    pub(crate) fn are_over(&self) -> bool {
        self.lanes.iter().all(|lane| lane.told.ended_at.is_some())
    }

    /// Advances the run to the next look, or as far as the budget reaches. Returns how that ended; `None` if no look is due.
    pub(crate) fn step<E>(
        &mut self,
        budget: &mut Budget,
        advance: impl FnOnce(&mut Budget) -> Result<Progress, E>,
    ) -> Result<Option<Progress>, E> {
        let most = budget.units.min(self.left);
        let mut part = Budget { units: most, ..*budget };
        let progress = advance(&mut part)?;
        let done = most - part.units;
        self.left -= done;
        (budget.units, budget.requests) = (budget.units - done, part.requests);
        Ok((progress == Progress::Over || self.left == 0).then_some(progress))
    }

    /// Looks at the drives: lets data age, gives members the space that they want back, takes the rows that are due, notes deaths, replaces what is
    /// worn, and makes the probes that are due.
    ///
    /// # Errors
    /// The trace of a probe is damaged.
    pub(crate) fn look(
        &mut self,
        host: &mut Host,
        record: &mut Record,
        present: Option<&Present<'_>>,
        progress: Progress,
        watch: &Watch<'_>,
    ) -> Result<(), SourceError> {
        self.left = (u64::from(host.logical_units()) / STEPS).max(1);
        if !std::mem::replace(&mut self.counts, true) {
            // The drives' results begin where the array's do.
            (0..self.lanes.len()).for_each(|number| self.count(host, number));
            probe(host, record, present, watch)?;
            if progress == Progress::Paused {
                return Ok(());
            }
        }
        self.tend(host, record);
        probe(host, record, present, watch)
    }

    /// Notes that a drive stands in a place from now on, `at` array writes.
    fn note_new(&mut self, host: &mut Host, place: usize, at: f64) {
        let number = self.drives.number(place);
        let name = match number {
            0 => format!("drive-{place}"),
            _ => format!("drive-{place}-new-{number}"),
        };
        let scenario = Scenario { name: name.replace('-', " "), ..self.drives.scenario(place) };
        let told = ArrayDrive {
            run: name,
            place: place as u32,
            state: DriveState::Online,
            came_at: at,
            ended_at: None,
            life_used: None,
            erase_count_mean: 0.0,
            bytes_written: 0,
            latency: None,
            waited_for: None,
        };
        self.lanes.push(Lane {
            place,
            scenario,
            record: None,
            finished: None,
            errors: None,
            latency: MemberLatency::default(),
            told,
        });
        self.count(host, self.lanes.len() - 1);
    }

    /// Counts what a drive does from now on.
    fn count(&mut self, host: &mut Host, number: usize) {
        let (observes, under_files) = (self.observes, host.files().is_some());
        let lane = &mut self.lanes[number];
        let scenario = &lane.scenario;
        let mut record = Record::new(build::young_below(scenario), None).with_course(scenario.device.logical_units);
        let mut errors = None;
        change_drive(host.array(), lane.place, &mut |drive| {
            if observes {
                let Initial { retention_days, reads, .. } = scenario.medium.initial;
                drive.keep_detail(true);
                observer::set_past(drive, Past { retention_days, reads }, || {
                    Streams::new(scenario.seed).stream("retention")
                });
                errors = observer::errors(drive);
            }
            record.start_of(&Member { drive, under_files });
        });
        (lane.record, lane.errors) = (Some(record), errors);
    }

    fn tend(&mut self, host: &mut Host, record: &mut Record) {
        let at = record.lived(host) as f64 / f64::from(host.logical_units());
        if self.drives.spec().settings.following == Following::Members
            && (host.files().is_some() || host.give_back(self.used))
            && host.array_time().is_none()
        {
            // Moving takes hours where a life takes years.
            drives::move_all(host.array());
        }
        let (copied, last) = self.copied_for;
        let lacks = redundant_of(host.array()).is_some_and(|array| array.to_copy() > Sectors::ZERO);
        self.copied_for = (copied + if lacks { at - last } else { 0.0 }, at);
        let under_files = host.files().is_some();
        if let Some(queued) = host.array_time_mut().filter(|_| !under_files) {
            queued.flush();
        }
        for lane in &mut self.lanes {
            let Some(mut record) = lane.record.take() else { continue };
            let _ = on_drive(host.array(), lane.place, |drive| {
                let member = Member { drive, under_files };
                let written = record.written(&member);
                record.sample_if_due(&member, written, 0);
            });
            lane.record = Some(record);
        }
        while let Some(due) = self.drives.dead(host.array()) {
            self.see_to(host, record, due, at);
        }
        if let Some(due) = self.drives.worn(host.array()) {
            self.see_to(host, record, due, at);
        }
    }

    /// Ends the record of a drive that is dead or worn, and does what is due.
    fn see_to(&mut self, host: &mut Host, record: &mut Record, due: Due, at: f64) {
        let place = due.place();
        let stands = |lane: &Lane| lane.place == place && lane.told.ended_at.is_none();
        if let Some(number) = self.lanes.iter().position(stands) {
            let (state, reason, cause) = match due {
                Due::Dead(_, cause) if self.drives.spec().settings.at_end_of_life == LastWord::Gone => {
                    (DriveState::Gone, EndReason::EndOfLife, Some(cause))
                }
                Due::Dead(_, cause) => (DriveState::ReadOnly, EndReason::EndOfLife, Some(cause)),
                Due::Worn(_) => (DriveState::Replaced, EndReason::Replaced, None),
            };
            self.finish_lane(host, number, reason, cause);
            let told = &mut self.lanes[number].told;
            (told.state, told.ended_at) = (state, Some(at));
        }
        let seen = on_drive(host.array(), place, observer::errors).flatten();
        let copying = if host.array_time().is_some() { Copying::InItsTime } else { Copying::AtOnce };
        let new = self.drives.see_to(host.array(), due, copying);
        let new = new.expect("a new drive is one of the scenario's, which were built before");
        let is_off = on_drive(host.array(), place, Drive::is_off).unwrap_or(true);
        if let Some(observer) = record.observer.as_mut().filter(|_| new.is_some() || is_off) {
            observer.note_gone(seen);
        }
        if let Some(place) = new {
            self.note_latency(host, place);
            self.note_new(host, place, at);
        }
    }

    /// A sentence on what drives that came still lack, if anything.
    pub(crate) fn missing(&self, host: &mut Host) -> Option<String> {
        let has_come = self.lanes.iter().any(|lane| lane.told.came_at > 0.0);
        let lacks = redundant_of(host.array()).filter(|_| has_come)?.to_copy();
        (lacks > Sectors::ZERO).then(|| {
            let bytes = Bytes(lacks.0 * Sectors::SIZE.0).decimal();
            format!("drives that came lack {bytes} of what belongs on them when the run ends (array.rebuild-rate)")
        })
    }

    /// What is known of a place's answers is of the drive that came there last.
    fn note_latency(&mut self, host: &mut Host, place: usize) {
        let stood = self.lanes.iter_mut().rfind(|lane| lane.place == place);
        let known = host.array_time_mut().map(|queued| queued.take_member(place));
        if let (Some(lane), Some(known)) = (stood, known) {
            lane.latency = known;
        }
    }

    /// Makes the figures of a drive, which stands in its place no longer, or takes no more writes.
    fn finish_lane(&mut self, host: &mut Host, number: usize, reason: EndReason, cause: Option<EndOfLife>) {
        let device = self.drives.spec().device;
        let (calendar, observes, lane) = (self.calendar, self.observes, &mut self.lanes[number]);
        let Some(mut record) = lane.record.take() else { return };
        let is_alike = lane.scenario.device.logical_bytes() == device.logical_bytes();
        let (errors, under_files) = (lane.errors, host.files().is_some());
        let finished = on_drive(host.array(), lane.place, |drive| {
            let member = Member { drive, under_files };
            record.sample(&member, 0);
            let counters = record.counters(&member);
            let before = record.before_last(&counters, u64::from(drive.logical_initial()));
            let finished = Finished {
                counters,
                last_drive_write: counters - before,
                wear: wear(&[drive]),
                erase_count_mean_at_start: record.mean_at_start(),
                reason,
                cause: cause.map(end_cause),
                exported_units: drive.exported(),
                policy_refusals: drive.counters().policy_refusals,
                notes: Vec::new(),
                // A day of the array is a day of each drive that is as large.
                calendar: calendar.filter(|_| is_alike),
                pace: None,
                measured: observes.then(|| Measured::of_member(drive, errors)),
                predicted_units: record.predicted(&member),
                file_system: None,
                array: None,
                timeline: record.into_rows(),
            };
            (finished, drive.life_used())
        });
        let Some((finished, used)) = finished else { return };
        lane.told.life_used = used;
        lane.told.erase_count_mean = finished.wear.quantiles().mean;
        let unit = lane.scenario.device.unit.0;
        lane.told.bytes_written = finished.counters.host_bytes_written(unit) + finished.predicted_units * unit;
        lane.finished = Some(finished);
    }

    /// Bytes that went with drives that are gone, where there is one copy; `None` where there is more.
    fn lost_with_drives(&self) -> Option<u64> {
        let gone = || self.lanes.iter().filter(|lane| lane.told.state == DriveState::Gone);
        let spec = self.drives.spec();
        match spec.settings.layout {
            ArrayLayout::Mirror | ArrayLayout::Raid => None,
            // A chunk of everything lies on each.
            ArrayLayout::Stripe => gone().next().map(|_| spec.device.logical_bytes()),
            ArrayLayout::Linear => gone().next().map(|_| gone().map(|lane| lane.scenario.device.logical_bytes()).sum()),
        }
    }

    /// Makes the figures of the array, whose run ended for this reason after `at` array writes. What its probes told is theirs.
    pub(crate) fn finish(
        mut self,
        host: &mut Host,
        reason: EndReason,
        at: f64,
        measured: Option<&mut Measured>,
    ) -> FinishedArray {
        let of_drives = if reason == EndReason::EndOfLife { EndReason::ArrayEnd } else { reason };
        (0..self.lanes.len()).for_each(|number| self.finish_lane(host, number, of_drives, None));
        let repairs = redundant_of(host.array()).map(Redundant::repairs).unwrap_or_default();
        let bytes_lost = self.lost_with_drives().unwrap_or_else(|| lost(host.array()));
        (0..self.drives.spec().members.len()).for_each(|place| self.note_latency(host, place));
        let waited: u128 = self.lanes.iter().map(|lane| lane.latency.waited_for_ns).sum();
        for lane in self.lanes.iter_mut().filter(|_| waited > 0) {
            let told = Some(lane.latency.summarize()).filter(|told| told.read.is_some() || told.write.is_some());
            (lane.told.latency, lane.told.waited_for) = (told, lane.latency.share_of(waited));
        }
        self.lanes.sort_by(|one, other| {
            (one.told.place, one.told.came_at).partial_cmp(&(other.told.place, other.told.came_at)).expect("numbers")
        });
        let told: Vec<ArrayDrive> = self.lanes.iter().map(|lane| lane.told.clone()).collect();
        let died = |drive: &&ArrayDrive| matches!(drive.state, DriveState::ReadOnly | DriveState::Gone);
        let deaths = || told.iter().filter(died).filter_map(|drive| drive.ended_at);
        let first =
            told.iter().filter(died).min_by(|one, other| one.ended_at.partial_cmp(&other.ended_at).expect("numbers"));
        // A spare came in the place of some.
        let is_left =
            |drive: &&ArrayDrive| told.iter().all(|next| next.place != drive.place || next.came_at <= drive.came_at);
        let left = told.iter().filter(died).filter(is_left).filter_map(|drive| drive.ended_at).reduce(f64::min);
        let layout = self.drives.spec().settings.layout;
        let stand = told.iter().any(|drive| drive.state == DriveState::Online);
        let (mut probes, was_cut) =
            measured.map(|measured| (std::mem::take(&mut measured.probes), measured.was_cut)).unwrap_or_default();
        for probe in &mut probes {
            let at = probe.at_array_writes;
            probe.at_days = self.calendar.map(|calendar| at / calendar.drive_writes_per_day);
            for drive in &mut probe.drives {
                let stood = told.iter().rfind(|told| told.place == drive.place && told.came_at <= at);
                drive.run = stood.map(|told| told.run.clone());
            }
        }
        let interrupted = match reason {
            _ if was_cut => Some(Unfinished::Probe),
            EndReason::Interrupted => Some(Unfinished::Life),
            _ => None,
        };
        let figures = ArrayFigures {
            layout: layout.name().to_owned(),
            interrupted,
            first_death_at: deaths().reduce(f64::min),
            first_to_die: first.map(|drive| drive.run.clone()),
            last_death_at: deaths().reduce(f64::max).filter(|_| !stand),
            writes_degraded: left
                .filter(|_| layout.is_redundant())
                .map_or(0.0, |first| at - first)
                .max(self.copied_for.0),
            bytes_lost,
            bytes_repaired: repairs.repaired.0 * Sectors::SIZE.0,
            bytes_copied: repairs.copied.0 * Sectors::SIZE.0,
            probes,
            forecast: None,
            drives: told,
        };
        let drives = self.lanes.into_iter().filter_map(|lane| Some((lane.scenario, lane.finished?))).collect();
        FinishedArray { figures, drives }
    }
}

/// Lets data age, and makes the probes that are due.
fn probe(
    host: &mut Host,
    record: &mut Record,
    present: Option<&Present<'_>>,
    watch: &Watch<'_>,
) -> Result<(), SourceError> {
    let written = record.written(host);
    let Some(observer) = &mut record.observer else { return Ok(()) };
    observer.follow(host, written);
    observer.probe_if_due(host, present, written, watch.stop)
}

/// A drive of an array, to whose host what a file system moves is one more write.
pub(crate) struct Member<'a> {
    pub(crate) drive: &'a Drive,
    pub(crate) under_files: bool,
}

impl Recorded for Member<'_> {
    fn predicted_units(&self) -> u64 {
        self.drive.predicted().host_units
    }

    fn drive(&self) -> &Drive {
        self.drive
    }

    fn only(&self) -> Option<&Drive> {
        Some(self.drive)
    }

    fn drives(&self) -> Vec<&Drive> {
        vec![self.drive]
    }

    fn when_new(&self) -> u32 {
        self.drive.logical_initial()
    }

    fn counters(&self) -> Counters {
        let counters = *self.drive.counters();
        let moved = if self.under_files { counters.programmed_file_system } else { 0 };
        Counters {
            host_units_written: counters.host_units_written + moved,
            programmed_host: counters.programmed_host + moved,
            programmed_file_system: counters.programmed_file_system - moved,
            ..counters
        }
    }

    fn unit_bytes(&self) -> u64 {
        u64::from(self.drive.unit_bytes())
    }

    fn exported(&self) -> u32 {
        self.drive.exported()
    }

    fn trimmed(&self) -> u64 {
        0
    }
}

/// Looks at the drive of a place.
fn on_drive<T>(array: &dyn Living, place: usize, look: impl FnOnce(&Drive) -> T) -> Option<T> {
    let mut members: Vec<&dyn Living> = Vec::new();
    array.members(&mut |member| members.push(member));
    find::<Drive>(*members.get(place)?).map(look)
}

/// Changes settings of the drive of a place.
fn change_drive(array: &mut dyn Living, place: usize, change: &mut dyn FnMut(&mut Drive)) {
    let mut next = 0;
    array.members_mut(&mut |member| {
        if next == place {
            each_of::<Drive>(member, &mut |drive| change(drive));
        }
        next += 1;
    });
}

/// Bytes of an array that cannot be read any more.
fn lost(array: &mut dyn Living) -> u64 {
    const BATCH: u64 = 1 << 20;
    let (capacity, now) = (array.capacity().0, array.now());
    let mut lost = Sectors::ZERO;
    let mut at = 0;
    while at < capacity {
        let range = SectorRange::new(Lba(at), Sectors(BATCH.min(capacity - at)));
        let mut took = array.batch(now, &Batch::new(Work::Read, &[range]));
        while took.stop == Stop::Paused {
            took.stop = array.go_on(now, Stop::Paused);
        }
        match took.stop {
            Stop::Gone => return capacity * Sectors::SIZE.0,
            _ => lost = took.unread.iter().fold(lost, |sum, range| sum + range.count),
        }
        at += range.count.0;
    }
    lost.0 * Sectors::SIZE.0
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use wane_results::{CalendarOrigin, RunResult};
    use wane_scenario::Sources;

    use crate::build::PolicyOverrides;
    use crate::session;

    use super::*;

    const ARRAY: &str = "[drive]\nlogical-capacity = \"4 MiB\"\nspare-factor = 0.2\npages-per-block = 16\nendurance = 40\nchip = \"tlc-72l-2018\"\n\
                         [time]\ndrive-writes-per-day = 1\nscheduler = \"event\"\n[probe]\nat-drive-writes = [1, 2]\nuntil = { requests = 2_000 }\n\
                         [array]\nlayout = \"mirror\"\n[[array.member]]\ncount = 2\n[forecast]\narrays = 100\n[until]\ndrive-writes = 2\n";

    /// The array as it is when `stop` is set at a step after this many array writes.
    fn lived(until: f64) -> RunResult {
        let stop = Arc::new(AtomicBool::new(false));
        let mut step = |step: &crate::run::Step| stop.store(step.drive_writes >= until, Ordering::Relaxed);
        let mut watch = Watch { step: &mut step, stop: &stop };
        session::execute(&scenario(), &PolicyOverrides::default(), &mut watch).unwrap()
    }

    fn scenario() -> Scenario {
        Scenario::resolve(&Sources { file: Some(("a.toml", ARRAY)), ..Sources::default() }).unwrap()
    }

    #[test]
    fn what_was_stopped_says_which_stage() {
        let mut whole = lived(f64::INFINITY);
        let array = |result: &RunResult| result.summary.array.clone().unwrap();
        let told = array(&whole);
        assert_eq!((told.interrupted, told.probes.len(), told.forecast.is_some()), (None, 2, true));
        let stopped = lived(0.5);
        let told = array(&stopped);
        assert_eq!((told.interrupted, stopped.summary.end.reason), (Some(Unfinished::Life), EndReason::Interrupted));
        assert_eq!((told.probes.len(), told.forecast), (0, None));
        // In its forecast, its life is whole.
        let (scenario, end) = (scenario(), whole.summary.end.clone());
        let members = scenario.members();
        let calendar = Calendar { drive_writes_per_day: 1.0, origin: CalendarOrigin::Scenario };
        foretell(&scenario, &mut whole, members, Some(calendar), &AtomicBool::new(true)).unwrap();
        let told = array(&whole);
        assert_eq!((told.interrupted, told.forecast), (Some(Unfinished::Forecast), None));
        assert!(whole.is_interrupted() && whole.summary.end == end);
    }
}
