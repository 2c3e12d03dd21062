//! How much of its rated wear a drive has used, and when the rest will be used.
//!
//! The forecast uses the growth of the wear itself and no write amplification, so that it includes everything that wears the
//! drive: host, relocation and read disturb. It assumes that the wear grows as between the records. Its interval covers the
//! counter's rounding and, if the growth is at least eight steps of the counter, also the slowest and the fastest quarter of the
//! time.

use serde::Serialize;
use wane_aging::{LogEntry, forecast};

use super::history::{Clock, History};
use super::writes::{TERABYTE, Writes};
use crate::reading::Reading;
use crate::time::{DAY_SECONDS, iso_day};
use crate::{Quantity, Quantity as Q};

/// Steps of the counter from which quarters of the time are distinguished.
const QUARTERS_STEPS_MIN: f64 = 8.0;

/// Days beyond which no end is forecast: a hundred years.
const DAYS_MAX: f64 = 36_525.0;

const RATED: f64 = 100.0;

/// An interval with its expected value. A bound or value that is not known is `None`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Between<T> {
    /// The earliest, or the least.
    pub earliest: Option<T>,
    /// The value if the wear grows as before.
    pub expected: Option<T>,
    /// The latest, or the most.
    pub latest: Option<T>,
}

/// Wear, and the end of life.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Life {
    /// Percent of the rated wear that is used.
    pub wear_percent: Option<f64>,
    /// Step of the wear counter, in percent; 0 for a simulated drive.
    pub wear_step_percent: Option<f64>,
    /// Growth between the records, in percent a year.
    pub wear_percent_per_year: Option<f64>,
    /// Day on which the rated wear will be used, in UTC; needs two records or more with times.
    pub end: Option<Between<String>>,
    /// Hours under power until then. For one record they assume the mean rate of its life.
    pub power_on_hours_left: Option<Between<f64>>,
    /// Terabytes (10^12) that the host can still write until the rated wear is used. This needs records between which the wear
    /// grew twice or more, and that only the host wears the drive; it assumes the workload of the later half of them.
    pub host_terabytes_left: Option<Between<f64>>,
    /// How the end is forecast, or why it is not.
    pub basis: String,
}

impl Life {
    /// A drive that fails has no forecast: wear is not what ends it.
    pub(super) fn of(history: &History, writes: &Writes, is_failing: bool) -> Self {
        let last = history.state();
        let step = step(last);
        let mut life = Self {
            wear_percent: last.get(Q::PercentageUsed),
            wear_step_percent: last.get(Q::PercentageUsed).map(|_| step),
            wear_percent_per_year: None,
            end: None,
            power_on_hours_left: None,
            host_terabytes_left: None,
            basis: String::new(),
        };
        if is_failing {
            life.basis = "the drive fails or is beyond its own limits".to_owned();
            return life;
        }
        let Some(wear) = life.wear_percent else {
            let is_doubted = last.contradictions.iter().any(|said| said.starts_with("wear of "));
            let why = if is_doubted {
                "the wear that the drive reports is not believed"
            } else {
                "the drive does not report its wear"
            };
            life.basis = why.to_owned();
            return life;
        };
        let rate = history.rate_of_gauge(Q::PercentageUsed);
        life.wear_percent_per_year = rate.map(|per_day| per_day * 365.25);
        if wear >= RATED {
            life.basis = "past its rating, which does not say how long a drive outlives it".to_owned();
            return life;
        }
        life.host_terabytes_left = (!writes.is_own(history)).then(|| host_terabytes_left(history)).flatten();
        match history.clock {
            Clock::None => life.by_one(last, wear, step),
            Clock::Calendar | Clock::PowerOn => life.by_many(history, wear, step),
        }
        life
    }

    /// Forecasts at the mean rate of the life, which began unworn.
    fn by_one(&mut self, last: &Reading, wear: f64, step: f64) {
        let Some(hours) = last.get(Q::PowerOnHours).filter(|hours| *hours > 0.0) else {
            self.basis = "one record gives no rate; add an earlier one".to_owned();
            return;
        };
        let days = between(wear, step, &Rates::rounded(wear, step, hours / 24.0));
        self.power_on_hours_left = Some(Between {
            earliest: days.earliest.map(|days| days * 24.0),
            expected: days.expected.map(|days| days * 24.0),
            latest: days.latest.map(|days| days * 24.0),
        });
        self.basis =
            "one record: the mean rate over its hours under power so far; an earlier record would give the present rate"
                .to_owned();
    }

    fn by_many(&mut self, history: &History, wear: f64, step: f64) {
        let Some(rates) = Rates::of(history, step) else {
            self.basis = "only one record reports the wear, or the wear fell".to_owned();
            return;
        };
        let days = between(wear, step, &rates);
        let how = if rates.has_quarters { "its rounding and the slowest and fastest quarter" } else { "its rounding" };
        self.basis = format!("the wear's growth between the records; interval by {how}");
        if history.clock == Clock::PowerOn {
            let hours = |days: Option<f64>| days.map(|days| days * 24.0);
            let (earliest, expected) = (hours(days.earliest), hours(days.expected));
            self.power_on_hours_left = Some(Between { earliest, expected, latest: hours(days.latest) });
            return;
        }
        let now = history.last().unix_seconds.unwrap_or(0);
        let date = |days: Option<f64>| days.map(|days| iso_day(now.saturating_add((days * DAY_SECONDS as f64) as i64)));
        let (earliest, expected) = (date(days.earliest), date(days.expected));
        self.end = Some(Between { earliest, expected, latest: date(days.latest) });
    }
}

impl History {
    /// Growth a day of a gauge over all records with a time that report it. `None` if it fell.
    fn rate_of_gauge(&self, quantity: Quantity) -> Option<f64> {
        self.rate(quantity)?.per_day
    }
}

/// Forecasts by the line through the records at which the wear turned (dissertation 000, section 3.5.2).
fn host_terabytes_left(history: &History) -> Option<Between<f64>> {
    let entry = |reading: &Reading| {
        let (written, used) = (reading.get(Q::HostWritten)?, reading.get(Q::PercentageUsed)?);
        Some(LogEntry { bytes_written: written, percentage_used: used })
    };
    let log: Vec<LogEntry> = history.readings().iter().filter_map(entry).collect();
    let found = forecast(&log).ok().filter(|found| found.bytes_per_percent > 0.0)?;
    let terabytes = |bytes: f64| Some(bytes.max(0.0) / TERABYTE);
    let (earliest, latest) = (terabytes(found.bytes_left_least), terabytes(found.bytes_left_most));
    Some(Between { earliest, expected: terabytes(found.bytes_left), latest })
}

/// Step of the wear counter.
fn step(reading: &Reading) -> f64 {
    if reading.simulated.is_some() {
        return 0.0;
    }
    match reading.get(Q::EraseCountRated) {
        Some(rated) if rated > 0.0 && is_by_erases(reading) => RATED / rated,
        _ => 1.0,
    }
}

/// Whether the wear is computed from mean and rated erases.
pub(super) fn is_by_erases(reading: &Reading) -> bool {
    reading.known.get(&Q::PercentageUsed).is_some_and(|known| known.from.starts_with("mean erase count"))
}

/// Growth of the wear in percent a day.
struct Rates {
    low: f64,
    /// `None` if the counter did not grow by a whole step.
    mean: Option<f64>,
    high: f64,
    has_quarters: bool,
}

impl Rates {
    /// Rates from a growth that is known up to a step.
    fn rounded(growth: f64, step: f64, days: f64) -> Self {
        let mean = (growth >= step && growth > 0.0).then_some(growth / days);
        Self { low: (growth - step).max(0.0) / days, mean, high: (growth + step) / days, has_quarters: false }
    }

    fn of(history: &History, step: f64) -> Option<Self> {
        let told: Vec<(f64, f64)> = history
            .readings()
            .iter()
            .filter_map(|reading| Some((history.day(reading)?, reading.get(Q::PercentageUsed)?)))
            .collect();
        let (first, last) = (told.first()?, told.last()?);
        let (days, growth) = (last.0 - first.0, last.1 - first.1);
        if days <= 0.0 || growth < 0.0 {
            return None;
        }
        let mut rates = Self::rounded(growth, step, days);
        if growth < QUARTERS_STEPS_MIN * step || growth == 0.0 || told.len() < 8 {
            return Some(rates);
        }
        rates.has_quarters = true;
        for quarter in 0..4 {
            let (from, to) = (first.0 + days * f64::from(quarter) / 4.0, first.0 + days * f64::from(quarter + 1) / 4.0);
            let at = |day: f64| told.iter().rev().find(|(when, _)| *when <= day).unwrap_or(first);
            let ((start, before), (end, after)) = (*at(from), *at(to));
            if end > start {
                let rate = (after - before) / (end - start);
                rates.low = rates.low.min(rate.max(0.0));
                rates.high = rates.high.max(rate);
            }
        }
        debug_assert!(rates.low <= rates.high, "the slowest growth is no faster than the fastest");
        Some(rates)
    }
}

/// Days until the rated wear is used.
fn between(wear: f64, step: f64, rates: &Rates) -> Between<f64> {
    let days = |left: f64, rate: f64| Some(left.max(0.0) / rate).filter(|days| days.is_finite() && *days <= DAYS_MAX);
    let found = Between {
        earliest: days(RATED - wear - step, rates.high),
        expected: rates.mean.and_then(|mean| days(RATED - wear, mean)),
        latest: days(RATED - wear + step, rates.low),
    };
    let rise = |one: Option<f64>, next: Option<f64>| one.zip(next).is_none_or(|(one, next)| one <= next);
    debug_assert!(rise(found.earliest, found.expected), "an end is expected no earlier than at the earliest");
    debug_assert!(rise(found.expected, found.latest), "an end is expected no later than at the latest");
    found
}
