//! The records of a drive in order, and how its counters grew.

use std::collections::BTreeMap;

use serde::Serialize;
use wane_units::excerpt;

use super::told::count;
use super::{DoctorError, Records};
use crate::quantity::Kind;
use crate::reading::Reading;
use crate::time::{DAY_SECONDS, iso_day};
use crate::{Quantity, Quantity as Q};

/// How the time between records is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Clock {
    /// By the times of the records.
    Calendar,
    /// By hours under power: the records have no times, or all the same.
    PowerOn,
    /// Not at all, as with one record.
    None,
}

/// How a counter grew.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Rate {
    /// From the first record to the last.
    pub increase: f64,
    /// A day, if the time between the two is known.
    pub per_day: Option<f64>,
}

/// The share by which a counter may fall, since some drives report an older count: one reported 508,341 GiB of reads and a second
/// later 508,340.
const WOBBLE: f64 = 1e-3;

/// Share and bytes by which a page's count of the host's writes may differ from that of its record: both are rounded, and read one
/// after the other.
const WRITES_APART: f64 = 0.1;
const WRITES_APART_BYTES: f64 = 1e10;

/// Records from the earliest to the latest; at least one.
pub(super) struct History {
    readings: Vec<Reading>,
    /// The last record, completed with quantities that only earlier ones report.
    state: Reading,
    /// Quantities that only earlier records report.
    earlier: Vec<Quantity>,
    pub(super) clock: Clock,
    /// What says that the records are of several drives with one serial number, of which only the last is kept.
    pub(super) impossible: Option<String>,
}

/// Hours by which a drive's count may grow more than the calendar does: both are rounded, and a text may have another time zone. Less
/// where the machine has another name for the drive.
const HOURS_APART: f64 = 36.0;
const HOURS_APART_DEVICES: f64 = 2.0;
const HOURS_FAST: f64 = 1.05;

/// Share by which capacities of one drive may differ: a name space that was made smaller is still of its drive, but not half of it.
const CAPACITY_APART: f64 = 0.5;

/// What two records say that no drive does, in words: hours under power that grow faster than the calendar, or fall.
fn impossible(one: &Reading, next: &Reading) -> Option<String> {
    let (before, after) = (one.get(Q::Capacity), next.get(Q::Capacity));
    if let (Some(before), Some(after)) = (before, after)
        && (before - after).abs() > CAPACITY_APART * before
    {
        return Some(format!("a capacity of {:.0} GB and one of {:.0} GB", before / 1e9, after / 1e9));
    }
    let hours = next.get(Q::PowerOnHours)? - one.get(Q::PowerOnHours)?;
    let passed = (next.unix_seconds? - one.unix_seconds?) as f64 / 3600.0;
    let is_other = one.device.as_deref().map(device) != next.device.as_deref().map(device);
    let allowed = if is_other { HOURS_APART_DEVICES } else { HOURS_APART };
    // A count that falls was reset, unless the machine has both drives.
    let is_less = is_other && passed < HOURS_APART && hours < -allowed;
    let is_more = hours > HOURS_FAST * passed + allowed && one.simulated.is_none();
    (is_more || is_less).then(|| format!("{} hours under power more in {passed:.1} hours", count(hours)))
}

impl History {
    pub(super) fn of(given: Vec<Reading>) -> Result<Self, DoctorError> {
        let mut readings = with_pages(given);
        same(&readings, "serial numbers", |reading| reading.serial.as_deref(), plain)?;
        same(&readings, "models", |reading| reading.model.as_deref(), plain)?;
        same(&readings, "World Wide Names", |reading| reading.wwn.as_deref(), str::to_owned)?;
        // A serial number tells more than a machine's name for a drive, which may change.
        let is_nameless = readings.iter().any(|reading| reading.serial.is_none());
        same(&readings, "devices", |reading| reading.device.as_deref().filter(|_| is_nameless), device)?;
        // The latest record is given first; records without a time keep that order.
        readings.reverse();
        let timed = readings.iter().all(|reading| reading.unix_seconds.is_some());
        let counted = readings.iter().all(|reading| reading.get(Q::PowerOnHours).is_some());
        if counted {
            let hours = |reading: &Reading| reading.get(Q::PowerOnHours).unwrap_or(0.0);
            readings.sort_by(|one, other| hours(one).total_cmp(&hours(other)));
        }
        if timed {
            readings.sort_by_key(|reading| reading.unix_seconds);
        }
        let impossible = readings.windows(2).rev().find_map(|pair| impossible(&pair[0], &pair[1]).filter(|_| timed));
        if impossible.is_some() {
            // The earlier ones are of another drive.
            readings.drain(..readings.len() - 1);
        }
        let (Some(first), Some(last)) = (readings.first(), readings.last()) else { return Err(DoctorError::None) };
        let clock = if timed && first.unix_seconds < last.unix_seconds {
            Clock::Calendar
        } else if counted && first.get(Q::PowerOnHours) < last.get(Q::PowerOnHours) {
            Clock::PowerOn
        } else {
            Clock::None
        };
        let (state, earlier) = state(&readings);
        let history = Self { readings, state, earlier, clock, impossible };
        let day = |reading: &Reading| history.day(reading);
        debug_assert!(history.readings.is_sorted_by_key(day), "records stand in the order of their clock");
        Ok(history)
    }

    pub(super) fn readings(&self) -> &[Reading] {
        &self.readings
    }

    pub(super) fn first(&self) -> &Reading {
        &self.readings[0]
    }

    pub(super) fn last(&self) -> &Reading {
        &self.readings[self.readings.len() - 1]
    }

    /// The state of the drive: the last record, and what it lacks, for instance because it was cut off, from earlier records.
    pub(super) fn state(&self) -> &Reading {
        &self.state
    }

    /// Quantities that the last record does not report, and the day of the last record that did.
    pub(super) fn earlier(&self) -> impl Iterator<Item = (Quantity, Option<String>)> + '_ {
        let told = |quantity| self.readings.iter().rev().find(move |reading| reading.get(quantity).is_some());
        let day = move |quantity| told(quantity)?.unix_seconds.map(iso_day);
        self.earlier.iter().map(move |quantity| (*quantity, day(*quantity)))
    }

    /// When a record was made, in days of the clock.
    pub(super) fn day(&self, reading: &Reading) -> Option<f64> {
        match self.clock {
            Clock::Calendar => reading.unix_seconds.map(|seconds| seconds as f64 / DAY_SECONDS as f64),
            Clock::PowerOn => reading.get(Q::PowerOnHours).map(|hours| hours / 24.0),
            Clock::None => None,
        }
    }

    /// Days from the first record to the last.
    pub(super) fn days(&self) -> Option<f64> {
        Some(self.day(self.last())? - self.day(self.first())?)
    }

    pub(super) fn records(&self) -> Records {
        let day = |reading: &Reading| reading.unix_seconds.map(iso_day);
        let (first, last) = (day(self.first()), day(self.last()));
        Records { count: self.readings.len(), first, last, days: self.days(), clock: self.clock }
    }

    /// How a counter grew from the first record that reports it to the last. `None` for one record, or if it fell.
    pub(super) fn rate(&self, quantity: Quantity) -> Option<Rate> {
        let mut telling = self.readings.iter().filter(|reading| reading.get(quantity).is_some());
        let (first, last) = (telling.next()?, telling.next_back()?);
        let increase = last.get(quantity)? - first.get(quantity)?;
        let days = self.day(last).zip(self.day(first)).map(|(last, first)| last - first);
        let per_day = days.filter(|days| *days > 0.0).map(|days| increase / days);
        (increase >= 0.0).then_some(Rate { increase, per_day })
    }

    pub(super) fn rates(&self) -> BTreeMap<Quantity, Rate> {
        let counters = Quantity::ALL.iter().filter(|quantity| quantity.kind() == Kind::Counter);
        counters.filter_map(|quantity| Some((*quantity, self.rate(*quantity)?))).collect()
    }

    /// Counters that fell by more than [`WOBBLE`], with their values before and after.
    pub(super) fn fallen(&self) -> Vec<(Quantity, f64, f64)> {
        let mut fallen = Vec::new();
        for quantity in Quantity::ALL.iter().filter(|quantity| quantity.kind() == Kind::Counter) {
            let told: Vec<f64> = self.readings.iter().filter_map(|reading| reading.get(*quantity)).collect();
            let fall = told.windows(2).find(|pair| pair[1] < pair[0] * (1.0 - WOBBLE));
            fallen.extend(fall.map(|pair| (*quantity, pair[0], pair[1])));
        }
        fallen
    }
}

/// The last record, completed with the quantities and attributes that only earlier ones report, and the list of these quantities.
fn state(readings: &[Reading]) -> (Reading, Vec<Quantity>) {
    let mut state = readings[readings.len() - 1].clone();
    let mut earlier = Vec::new();
    for reading in readings.iter().rev().skip(1) {
        for (quantity, known) in &reading.known {
            if !state.known.contains_key(quantity) {
                state.known.insert(*quantity, known.clone());
                earlier.push(*quantity);
            }
        }
        for attribute in &reading.attributes {
            if state.attributes.iter().all(|there| there.id != attribute.id) {
                state.attributes.push(attribute.clone());
            }
        }
    }
    (state, earlier)
}

/// Merges pages, such as OCP's, which have neither time nor hours, into the record after which they were given.
fn with_pages(given: Vec<Reading>) -> Vec<Reading> {
    let (mut readings, mut early): (Vec<Reading>, Vec<Reading>) = (Vec::new(), Vec::new());
    for reading in given {
        if !reading.source.is_page() {
            readings.push(reading);
        } else if let Some(before) = readings.last_mut() {
            add(before, reading);
        } else {
            early.push(reading);
        }
    }
    let Some(first) = readings.first_mut() else { return early };
    early.into_iter().for_each(|page| add(first, page));
    readings
}

fn add(reading: &mut Reading, mut page: Reading) {
    // A page may count since it was switched on, and then its writes to flash do not belong to all of the host's.
    let told = |reading: &Reading| reading.known.get(&Q::HostWritten).cloned();
    if let (Some(own), Some(of_page)) = (told(reading), told(&page))
        && (own.value - of_page.value).abs() > (WRITES_APART * own.value.max(of_page.value)).max(WRITES_APART_BYTES)
        && page.known.remove(&Q::FlashWritten).is_some()
    {
        page.not_understood.push(format!(
            "writes to flash beside {} of {:.0} bytes, where {} has {:.0}: they are of other writes",
            of_page.from, of_page.value, own.from, own.value
        ));
    }
    for (quantity, known) in page.known {
        reading.known.entry(quantity).or_insert(known);
    }
    reading.not_understood.extend(page.not_understood);
    reading.unread.extend(page.unread);
    let known = &reading.known;
    reading.unread.retain(|quantity| !known.contains_key(quantity));
}

/// Checks that all records have the same name, in a form in which names of one drive are equal.
fn same(
    readings: &[Reading],
    what: &'static str,
    name: impl Fn(&Reading) -> Option<&str>,
    form: fn(&str) -> String,
) -> Result<(), DoctorError> {
    let mut names = readings.iter().filter_map(&name);
    let Some(one) = names.next() else { return Ok(()) };
    match names.find(|other| *other != one && form(other) != form(one)) {
        Some(other) => {
            Err(DoctorError::TwoDrives { what, one: excerpt(one).to_string(), other: excerpt(other).to_string() })
        }
        None => Ok(()),
    }
}

/// A name as smartd writes it, with underscores for other signs.
fn plain(name: &str) -> String {
    name.replace(|letter: char| !letter.is_alphanumeric(), "_")
}

/// A device without its folder; of NVMe the controller's number, since /dev/nvme0, nvme0n1 and ng0n1 are one drive.
fn device(name: &str) -> String {
    let name = name.strip_prefix("/dev/").unwrap_or(name);
    let Some(rest) = name.strip_prefix("nvme").or_else(|| name.strip_prefix("ng")) else { return name.to_owned() };
    let number: String = rest.chars().take_while(char::is_ascii_digit).collect();
    format!("nvme{number}")
}
