//! The life of one drive, hour by hour: what it writes, what it would report, and how it ends.
//!
//! The engine simulates the drive at full speed. This module adds the calendar, power, temperature and expected errors. All random numbers come from
//! streams named after the drive, so that drives can be simulated in any order and on any machine.

use std::sync::atomic::{AtomicBool, Ordering};

use wane_lab::build;
use wane_scenario::Scenario;
use wane_sim::Stream;
use wane_ssd::{AgeError, Drive};
use wane_units::{DAYS_PER_YEAR, Lpn};
use wane_workload::pattern::{PatternConfig, PatternSource, Shape};
use wane_workload::{Batch, Source};

use crate::attributes::{Attribute, State};
use crate::expected::{Ages, Errors, Moment};
use crate::fleet::{Fleet, Model, Slot, Work, work};
use crate::hazards::{Cause, Event, EventKind, events};
use crate::power::Meter;
use crate::settings::{Cadence, MediumKind, PatternKind, WorkloadSettings};
use crate::{TwinError, attributes};

/// Hours of a day.
pub(crate) const DAY_HOURS: u32 = 24;

/// Degrees by which one drive write a day heats a drive, their maximum, and the standard deviations between drives and between days; all guessed.
const CELSIUS_PER_DWPD: f64 = 3.0;
const CELSIUS_LOAD_MOST: f64 = 9.0;
const CELSIUS_DRIVE_SIGMA: f64 = 1.0;
const CELSIUS_DAY_SIGMA: f64 = 0.5;

/// The hottest day of the year, and the hour of the day with the highest load; both guessed.
const DAY_HOTTEST: f64 = 200.0;
const HOUR_BUSIEST: f64 = 14.0;

/// Standard deviation of the logarithm of the load between days; guessed.
const LOAD_SIGMA: f64 = 0.3;

/// Drive writes before the watch, in which the drive settles under its workload; and the last of them, over which the write amplification of its
/// past is measured. [`Rehearsal`] says how their erases count.
const SETTLED_DRIVE_WRITES: f64 = 3.0;
const MEASURED_DRIVE_WRITES: f64 = 1.0;

/// Largest share of its endurance that a drive has used when the watch begins. A drive that would have used more was replaced in time by a younger
/// one.
const USED_MOST: f64 = 0.9;

/// Pages of a batch.
const BATCH_PAGES: usize = 4096;

const SECTOR_BYTES: u64 = 512;
/// Bytes of which requests' offsets are multiples.
const ALIGNMENT_BYTES: f64 = 4096.0;

/// A drive's records, and what became of it.
pub struct Life {
    /// The hour at whose end each record was taken, in hours since the watch began.
    pub(crate) hours: Vec<u32>,
    /// The attributes that its model reports.
    pub(crate) attributes: Vec<u16>,
    /// Their raw values, a list for each attribute.
    pub(crate) values: Vec<Vec<i64>>,
    /// When and of what it died; `None` if it lives.
    pub(crate) end: Option<End>,
    /// Erases that its blocks endure.
    pub(crate) erases_served: u32,
    /// Erases that its blocks had when the watch began.
    pub(crate) erases_before: u32,
    /// Its age when the watch began, in days under load.
    pub(crate) age_days: f64,
}

impl Life {
    /// The hour at whose end each record was taken, in hours since the watch began.
    pub fn hours(&self) -> &[u32] {
        &self.hours
    }

    /// The raw values of an attribute, one for each record; `None` if its model does not report it.
    pub fn column(&self, attribute: u16) -> Option<&[i64]> {
        self.attributes.binary_search(&attribute).ok().map(|at| self.values[at].as_slice())
    }

    /// Whether it died.
    pub fn has_failed(&self) -> bool {
        self.end.is_some()
    }
}

/// The end of a drive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct End {
    /// Days since the watch began.
    pub(crate) day: f64,
    pub(crate) cause: Cause,
    pub(crate) with: Option<u32>,
    pub(crate) warned: Option<f64>,
}

/// Simulates the life of a drive; `None` if it was stopped.
///
/// # Errors
/// The drive cannot be built.
pub(crate) fn live(fleet: &Fleet, slot: &Slot, stop: &AtomicBool) -> Result<Option<Life>, TwinError> {
    let Some(mut living) = Living::begin(fleet, slot, stop)? else { return Ok(None) };
    let hours = fleet.settings.days * DAY_HOURS;
    let fate = fleet.fates[slot.number as usize].as_ref();
    let dies_at = fate.map_or(f64::INFINITY, |fate| fate.day * f64::from(DAY_HOURS));
    let mut end = None;
    for hour in 0..hours {
        if hour.is_multiple_of(DAY_HOURS) {
            if stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            living.begin_day(hour / DAY_HOURS);
        }
        if let Some(fate) = fate.filter(|_| dies_at < f64::from(hour) + 1.0) {
            // The hour in which it dies has no record.
            end = Some(End { day: fate.day, cause: fate.cause, with: fate.with, warned: fate.warned });
            break;
        }
        let is_alive = living.hour(hour);
        if !is_alive {
            let day = f64::from(hour + 1) / f64::from(DAY_HOURS);
            end = Some(End { day, cause: Cause::WearOut, with: None, warned: None });
            break;
        }
        if (hour + 1).is_multiple_of(DAY_HOURS) {
            living.end_day();
        }
    }
    Ok(Some(living.finish(end)))
}

/// A drive while it is simulated.
struct Living<'a> {
    fleet: &'a Fleet,
    slot: &'a Slot,
    model: &'a Model,
    drive: Drive,
    source: PatternSource,
    batch: Batch,
    work: Work,
    /// Sectors that the host wrote for each page that it programmed.
    sectors_per_page: f64,
    changes: Vec<f64>,
    changed: usize,
    work_stream: Stream,
    load_stream: Stream,
    heat_stream: Stream,
    read_stream: Stream,
    meter: Meter<'a>,
    events: Vec<Event>,
    happened: usize,
    celsius_own: f64,
    /// The present day's load relative to the mean, temperature, and factor by which data age.
    load: f64,
    celsius: f64,
    aging: f64,
    /// Fractions of units and reads that are due.
    units_due: f64,
    reads_due: f64,
    /// Counts before the watch began, and since; in simulated pages.
    before: Past,
    units_begun: u64,
    flash_begun: u64,
    sectors: f64,
    bytes_read: f64,
    hours_on: f64,
    ages: Ages,
    /// Days by which data have aged, and reads of each unit, so far.
    data_day: f64,
    reads_per_unit: f64,
    reads_today: f64,
    errors: Errors,
    today: Errors,
    faults: Faults,
    blocks_reserve_new: u64,
    life: Life,
    attributes: Vec<Attribute>,
}

/// A drive's counters when the watch began.
#[derive(Clone, Debug, Default)]
struct Past {
    pages_host: f64,
    pages_flash: f64,
    hours: f64,
    cycles: u64,
    unexpected: u64,
    age_days: f64,
    /// Erases of each block.
    erases: u32,
    rehearsal: Rehearsal,
}

/// Erases while a drive settled, which are only simulated.
///
/// A used drive counts them as the last erases of its past. A new drive has no such past: it does not report them, and they do not wear it.
#[derive(Clone, Debug, Default, PartialEq)]
struct Rehearsal {
    /// Erases of each block that are not reported.
    untold: Vec<u32>,
    /// Mean of these erases, which is added to the endurance of the blocks.
    mean: u32,
}

impl Rehearsal {
    /// Makes the rehearsal of a drive whose blocks had `used` erases each in its past, and reach `settled` erases when they settle from none. Also
    /// returns the erases with which they must begin to settle, so that their mean is `used` afterwards.
    fn of(settled: &[u32], used: u32) -> (Self, u32) {
        assert!(!settled.is_empty(), "a drive has blocks");
        let sum: u64 = settled.iter().map(|count| u64::from(*count)).sum();
        let mean = sum as f64 / settled.len() as f64;
        let excess = (mean - f64::from(used)).max(0.0);
        let untold = settled.iter().map(|count| libm::round(f64::from(*count) * excess / mean.max(1.0)) as u32);
        let rehearsal = Self { untold: untold.collect(), mean: libm::round(excess) as u32 };
        let mut pairs = rehearsal.untold.iter().zip(settled);
        assert!(pairs.all(|(untold, all)| untold <= all), "no block keeps more erases to itself than it has");
        (rehearsal, libm::round((f64::from(used) - mean).max(0.0)) as u32)
    }
}

/// Counts of what went wrong so far.
#[derive(Clone, Copy, Debug, Default)]
struct Faults {
    programs: u64,
    erases: u64,
    uncorrectable: u64,
    links: u64,
}

impl<'a> Living<'a> {
    fn begin(fleet: &'a Fleet, slot: &'a Slot, stop: &AtomicBool) -> Result<Option<Self>, TwinError> {
        let model = &fleet.models[slot.model as usize];
        let served = (slot.endurance * f64::from(model.settings.rated_erases)).round().max(2.0) as u32;
        let failed = |error: build::PlanError| TwinError::Drive { drive: slot.number, why: error.to_string() };
        let mut scenario = model.scenario.clone();
        scenario.seed = fleet.stream(slot.number, "firmware").bits() >> 1;
        scenario.device.endurance = Some(served);
        scenario.medium.initial.erase_count = Some(0);
        // Settled twice: the first time shows what its past was like, and a drive's erases can be given only when it is new.
        let Some((new, _, waf)) = settled(fleet, slot, &scenario, stop).map_err(failed)? else { return Ok(None) };
        let pages = scenario.device.geometry.capacity().0 as f64 / scenario.device.unit.0 as f64;
        let logical = f64::from(scenario.device.logical_units);
        let lives = slot.work.dwpd * slot.age_days * logical * waf / pages / (USED_MOST * f64::from(served));
        let age_days = if lives > 1.0 { slot.age_days * lives.fract() / lives } else { slot.age_days };
        let used = slot.work.dwpd * age_days * logical * waf / pages;
        let (rehearsal, initial) = Rehearsal::of(new.erase_counts(), used as u32);
        scenario.medium.initial.erase_count = Some(initial);
        scenario.device.endurance = Some(served + rehearsal.mean);
        let Some((drive, source, waf)) = settled(fleet, slot, &scenario, stop).map_err(failed)? else {
            return Ok(None);
        };
        let mut power = fleet.stream(slot.number, "past");
        let off = &fleet.settings.power;
        let cycles = crate::draw::moments(&mut power, off.cycles_a_year / DAYS_PER_YEAR, 0.0, age_days).len() as u64;
        let unexpected = (0..cycles).filter(|_| power.chance(off.unexpected.get())).count() as u64;
        let pages_flash = f64::from(used as u32) * pages;
        let before = Past {
            pages_host: pages_flash / waf.max(1.0),
            pages_flash,
            hours: age_days * f64::from(DAY_HOURS) * model.settings.hours_counted.get(),
            cycles: 1 + cycles,
            unexpected,
            age_days,
            erases: used as u32,
            rehearsal,
        };
        Ok(Some(Self::with(fleet, slot, drive, source, before, served)))
    }

    fn with(
        fleet: &'a Fleet,
        slot: &'a Slot,
        mut drive: Drive,
        source: PatternSource,
        before: Past,
        erases_served: u32,
    ) -> Self {
        let model = &fleet.models[slot.model as usize];
        let settings = &fleet.settings;
        if settings.medium == MediumKind::Full && model.errors.is_some() {
            drive.keep_detail(true);
        }
        let days = f64::from(settings.days);
        let fate = fleet.fates[slot.number as usize].as_ref();
        let stream = |what: &str| fleet.stream(slot.number, what);
        let mut heat_stream = stream("heat");
        let workload = &settings.workload[slot.work.workload as usize];
        let attributes = attributes::of(model.settings.attributes);
        let counters = drive.counters();
        let (units_begun, flash_begun) = (counters.programmed_host, counters.programmed_total());
        let sectors_per_page = sectors_per_page(workload, u64::from(drive.unit_bytes()));
        let first = Moment { units: counters.host_units_written, day: 0.0, reads: 0.0 };
        let mut living = Self {
            fleet,
            slot,
            model,
            source,
            batch: Batch::default(),
            work: slot.work,
            sectors_per_page,
            changes: crate::draw::moments(&mut stream("changes"), settings.changes_a_year / DAYS_PER_YEAR, 0.0, days),
            changed: 0,
            work_stream: stream("work"),
            load_stream: stream("load"),
            celsius_own: CELSIUS_DRIVE_SIGMA * heat_stream.normal(),
            heat_stream,
            read_stream: stream("reads"),
            meter: Meter::new(&fleet.outages[slot.node as usize]),
            events: events(&settings.hazards, days, fate, stream("events")),
            happened: 0,
            load: 1.0,
            celsius: 0.0,
            aging: 1.0,
            units_due: 0.0,
            reads_due: 0.0,
            units_begun,
            flash_begun,
            sectors: before.pages_host * sectors_per_page,
            bytes_read: before.pages_host * sectors_per_page * SECTOR_BYTES as f64 * workload.reads_per_write,
            hours_on: before.hours,
            ages: Ages::from(first),
            data_day: 0.0,
            reads_per_unit: 0.0,
            reads_today: 0.0,
            errors: Errors::default(),
            today: Errors::default(),
            faults: Faults::default(),
            blocks_reserve_new: 0,
            life: Life {
                hours: Vec::new(),
                attributes: attributes.iter().map(|(number, _)| *number).collect(),
                values: vec![Vec::new(); attributes.len()],
                end: None,
                erases_served,
                erases_before: before.erases,
                age_days: before.age_days,
            },
            attributes,
            before,
            drive,
        };
        living.blocks_reserve_new = living.blocks_reserve();
        living
    }

    /// Begins a day: sets its load and temperature, and changes the work if that is due.
    fn begin_day(&mut self, day: u32) {
        while self.changes.get(self.changed).is_some_and(|at| *at < f64::from(day) + 1.0) {
            self.changed += 1;
            self.work = work(&self.fleet.settings, &mut self.work_stream);
            let name = format!("workload.{}", self.changed);
            self.source = source(self.fleet, self.slot, self.work, &self.drive, &name);
            self.sectors_per_page = sectors_per_page(self.workload(), u64::from(self.drive.unit_bytes()));
        }
        self.load = self.load_stream.lognormal(1.0, LOAD_SIGMA);
        let place = &self.fleet.settings.place;
        let of_year = (f64::from(self.fleet.start.day_of_year()) + f64::from(day) - DAY_HOTTEST) / DAYS_PER_YEAR;
        let season = place.season * libm::cos(std::f64::consts::TAU * of_year);
        let own = self.fleet.rack_celsius[self.slot.rack as usize] + self.celsius_own;
        let heat = (CELSIUS_PER_DWPD * self.work.dwpd * self.load).min(CELSIUS_LOAD_MOST);
        let celsius = place.celsius + own + season + heat + CELSIUS_DAY_SIGMA * self.heat_stream.normal();
        self.celsius = celsius.clamp(0.0, 100.0);
        self.aging = self.fleet.models[self.slot.model as usize].scenario.medium.retention.rate_at(self.celsius);
    }

    fn workload(&self) -> &'a WorkloadSettings {
        &self.fleet.settings.workload[self.work.workload as usize]
    }

    /// Simulates an hour: writes, reads, what goes wrong, and a record if the drive has power. Returns whether it lives.
    fn hour(&mut self, hour: u32) -> bool {
        let on = self.meter.pass(hour);
        self.data_day += self.aging / f64::from(DAY_HOURS);
        let of_day = f64::from(hour % DAY_HOURS) + 0.5 - HOUR_BUSIEST;
        let swing =
            self.workload().daily_swing.get() * libm::cos(std::f64::consts::TAU * of_day / f64::from(DAY_HOURS));
        let logical = f64::from(self.drive.logical_initial());
        self.units_due += on * self.work.dwpd * logical / f64::from(DAY_HOURS) * self.load * (1.0 + swing);
        self.hours_on += on * self.model.settings.hours_counted.get();
        let units = self.units_due as u64;
        self.units_due -= units as f64;
        let is_alive = self.write(units);
        let bytes = units as f64 * self.sectors_per_page * SECTOR_BYTES as f64;
        self.sectors += units as f64 * self.sectors_per_page;
        self.read(bytes * self.workload().reads_per_write);
        let now = f64::from(hour + 1) / f64::from(DAY_HOURS);
        while let Some(event) = self.events.get(self.happened).filter(|event| event.day < now) {
            match event.kind {
                EventKind::Program => self.faults.programs += 1,
                EventKind::Erase => self.faults.erases += 1,
                EventKind::Uncorrectable => self.faults.uncorrectable += 1,
                EventKind::Link => self.faults.links += 1,
            }
            self.happened += 1;
        }
        let is_due = match self.fleet.settings.records {
            Cadence::Hourly => true,
            Cadence::Daily => (hour + 1).is_multiple_of(DAY_HOURS),
        };
        if (is_due && on > 0.0) || !is_alive {
            self.record(hour);
        }
        is_alive
    }

    /// Writes `units` pages; returns whether the drive lives.
    fn write(&mut self, units: u64) -> bool {
        let mut left = units;
        while left > 0 {
            let most = BATCH_PAGES.min(usize::try_from(left).unwrap_or(BATCH_PAGES));
            self.source.next(&mut self.batch, most, u64::MAX).expect("a pattern is drawn, and has no file");
            debug_assert!(!self.batch.pages.is_empty(), "a pattern never ends");
            debug_assert!(self.batch.pages.len() <= most, "a batch has no more pages than were asked for");
            left -= self.batch.pages.len() as u64;
            if !write_all(&mut self.drive, &self.batch.pages) {
                return false;
            }
        }
        true
    }

    /// Reads `bytes` bytes of the simulated drive.
    fn read(&mut self, bytes: f64) {
        self.bytes_read += bytes;
        let pages = bytes / f64::from(self.drive.unit_bytes());
        self.reads_today += pages;
        self.reads_per_unit += pages / f64::from(self.drive.logical_initial());
        if !self.drive.is_awake() {
            return;
        }
        self.drive.set_day(self.data_day);
        self.reads_due += pages;
        let mut count = self.reads_due as u64;
        self.reads_due -= count as f64;
        let exported = u64::from(self.drive.exported());
        while count > 0 {
            let most = count.min(BATCH_PAGES as u64);
            self.batch.pages.clear();
            self.batch.pages.extend((0..most).map(|_| self.read_stream.below(exported) as u32));
            self.drive.read_batch(Lpn::slice(&self.batch.pages)).expect("pages below what is exported are");
            count -= most;
        }
    }

    /// Ends a day: counts its errors.
    fn end_day(&mut self) {
        let now =
            Moment { units: self.drive.counters().host_units_written, day: self.data_day, reads: self.reads_per_unit };
        self.ages.push(now);
        let counted = self.drive.flash().and_then(|flash| flash.cells()).map(|cells| cells.counters());
        let sofar = match (counted, &self.model.tables) {
            (Some(seen), Some(tables)) => Errors {
                bits: seen.codewords_read as f64 * tables.codeword_bits(),
                wrong: seen.raw_bit_errors as f64,
                retried: seen.reads_retried as f64,
                uncorrectable: seen.uncorrectable_reads as f64,
            },
            (None, Some(tables)) => {
                let mut sum = self.errors;
                sum.add(&tables.of(&self.drive, &self.ages, self.reads_today));
                sum
            }
            (_, None) => return,
        };
        self.today = Errors {
            bits: sofar.bits - self.errors.bits,
            wrong: sofar.wrong - self.errors.wrong,
            retried: sofar.retried - self.errors.retried,
            uncorrectable: sofar.uncorrectable - self.errors.uncorrectable,
        };
        self.errors = sofar;
        self.reads_today = 0.0;
    }

    fn blocks_reserve(&self) -> u64 {
        let layout = self.drive.layout();
        let taken = self.drive.exported().div_ceil(layout.units_per_block());
        let bad = u64::from(self.drive.retired_blocks()) + self.faults.programs + self.faults.erases;
        u64::from(layout.blocks().saturating_sub(taken)).saturating_sub(bad)
    }

    fn state(&self) -> State {
        let (counters, scale) = (self.drive.counters(), self.model.scale);
        let erases = self.drive.erase_counts();
        debug_assert_eq!(erases.len(), self.before.rehearsal.untold.len(), "what is not told is known of each block");
        let (mut least, mut most, mut sum) = (u32::MAX, 0, 0u64);
        for (count, untold) in erases.iter().zip(&self.before.rehearsal.untold) {
            let count = count.saturating_sub(*untold);
            least = least.min(count);
            most = most.max(count);
            sum += u64::from(count);
        }
        let host = (counters.programmed_host - self.units_begun) as f64;
        let flash = (counters.programmed_total() - self.flash_begun) as f64;
        let blocks_bad = u64::from(self.drive.retired_blocks()) + self.faults.programs + self.faults.erases;
        State {
            power_on_hours: self.hours_on as u64,
            power_cycles: self.before.cycles + self.meter.cycles,
            unexpected_power_losses: self.before.unexpected + self.meter.unexpected,
            celsius: libm::round(self.celsius) as i64,
            erases_least: least,
            erases_mean: sum as f64 / erases.len() as f64,
            erases_most: most,
            erases_rated: f64::from(self.model.settings.rated_erases),
            blocks_bad,
            dies: u64::from(self.drive.geometry().dies()),
            blocks_reserve: self.blocks_reserve(),
            blocks_reserve_new: self.blocks_reserve_new,
            program_fails: self.faults.programs,
            erase_fails: self.faults.erases,
            link_faults: self.faults.links,
            wrong_bits_per_million: if self.today.bits > 0.0 { 1e6 * self.today.wrong / self.today.bits } else { 0.0 },
            pages_retried: scale * self.errors.retried,
            pages_uncorrectable: scale * self.errors.uncorrectable + self.faults.uncorrectable as f64,
            pending: self.faults.uncorrectable,
            host_sectors: scale * self.sectors,
            host_bytes_read: scale * self.bytes_read,
            pages_host: scale * (self.before.pages_host + host),
            pages_ftl: scale * (self.before.pages_flash - self.before.pages_host + flash - host),
            page_bytes: f64::from(self.drive.unit_bytes()),
        }
    }

    fn record(&mut self, hour: u32) {
        let state = self.state();
        self.life.hours.push(hour + 1);
        for ((_, of), values) in self.attributes.iter().zip(&mut self.life.values) {
            values.push(of(&state) as i64);
        }
    }

    fn finish(mut self, end: Option<End>) -> Life {
        self.life.end = end;
        let (hours, values) = (&self.life.hours, &self.life.values);
        assert!(hours.is_sorted_by(|one, next| one < next), "records are taken in the order of their hours");
        assert!(values.iter().all(|values| values.len() == hours.len()), "each attribute has a value a record");
        self.life
    }
}

/// Returns a new drive that was filled and has settled under its first workload, the workload at its present position, and its write amplification
/// since.
fn settled(
    fleet: &Fleet,
    slot: &Slot,
    scenario: &Scenario,
    stop: &AtomicBool,
) -> Result<Option<(Drive, PatternSource, f64)>, build::PlanError> {
    let mut drive = build::bare_drive(scenario)?;
    let logical = drive.logical_initial();
    let mut source = source(fleet, slot, slot.work, &drive, "workload.0");
    let mut batch = Batch::default();
    batch.pages.extend(0..logical);
    let mut lives = write_all(&mut drive, &batch.pages);
    let (mut written, mut begun) = (0u64, None);
    let (all, measured) = (f64::from(logical) * SETTLED_DRIVE_WRITES, f64::from(logical) * MEASURED_DRIVE_WRITES);
    while lives && (written as f64) < all {
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        if begun.is_none() && written as f64 >= all - measured {
            begun = Some((drive.counters().programmed_total(), drive.counters().programmed_host));
        }
        source.next(&mut batch, BATCH_PAGES, u64::MAX).expect("a pattern is drawn, and has no file");
        written += batch.pages.len() as u64;
        lives = write_all(&mut drive, &batch.pages);
    }
    let counters = drive.counters();
    let waf = begun.map_or(1.0, |(flash, host)| {
        (counters.programmed_total() - flash) as f64 / (counters.programmed_host - host).max(1) as f64
    });
    Ok(Some((drive, source, waf)))
}

/// Writes pages; returns whether the drive lives.
fn write_all(drive: &mut Drive, pages: &[u32]) -> bool {
    match drive.age(Lpn::slice(pages)) {
        Ok(()) => true,
        Err(AgeError::Died { .. }) => false,
        Err(AgeError::OutOfRange(refused)) => unreachable!("a fixed drive exports what it did: {refused}"),
        Err(_) => unreachable!("a drive ages or dies"),
    }
}

fn source(fleet: &Fleet, slot: &Slot, work: Work, drive: &Drive, name: &str) -> PatternSource {
    let workload = &fleet.settings.workload[work.workload as usize];
    let footprint = drive.logical_initial();
    let shape = match workload.pattern {
        PatternKind::Uniform => Shape::Uniform,
        PatternKind::HotCold => {
            let hot = workload.h.floor_of(u64::from(footprint)) as u32;
            Shape::HotCold { r: workload.r.get(), hot_pages: hot.clamp(1, footprint - 1) }
        }
        PatternKind::Zipf => Shape::Zipf { exponent: workload.exponent, scramble: true },
        PatternKind::Sequential => Shape::Sequential,
        PatternKind::Jesd219 => Shape::Jesd219,
    };
    let pages = workload.request_size.0.div_ceil(u64::from(drive.unit_bytes())).clamp(1, u64::from(footprint / 2));
    let config = PatternConfig {
        shape,
        footprint_pages: footprint,
        request_pages: pages as u32,
        read_share: 0.0,
        trim_share: 0.0,
    };
    PatternSource::new(config, fleet.stream(slot.number, name))
}

/// Sectors written for each page programmed. Requests begin at any multiple of 4 KiB, so that n steps of 4 KiB touch (n + p - 1) / p pages of p steps
/// on average.
fn sectors_per_page(workload: &WorkloadSettings, page_bytes: u64) -> f64 {
    let whole = page_bytes as f64 / SECTOR_BYTES as f64;
    let (steps, of_page) = (workload.request_size.0 as f64 / ALIGNMENT_BYTES, page_bytes as f64 / ALIGNMENT_BYTES);
    if of_page <= 1.0 { whole } else { whole * steps / (steps + of_page - 1.0) }
}

#[cfg(test)]
mod tests;
