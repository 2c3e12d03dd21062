//! How much of its rated wear a drive has used, and when the rest will be used.
//!
//! The forecast uses the growth of the wear itself and no write amplification, so that it includes everything that wears the
//! drive: host, relocation and read disturb. It assumes that the wear grows as between the records. Its interval covers the
//! counter's rounding and, if the growth is at least eight steps of the counter, also the slowest and the fastest quarter; what is
//! expected then goes on as in the later half. Days, hours and bytes are forecast alike, so that they agree.

use serde::Serialize;
use wane_aging::{Forecast, LogEntry, forecast};

use super::history::{Clock, History};
use super::writes::{TERABYTE, Writes};
use crate::read::emmc::TENTH;
use crate::reading::{Reading, Source};
use crate::time::{DAY_SECONDS, iso_day};
use crate::{Quantity, Quantity as Q};

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
    /// Day on which the spare will be at its threshold, in UTC; needs two records or more with times, between which it fell.
    pub spare_end: Option<Between<String>>,
    /// Hours under power until the rated wear is used. For one record they assume the mean rate of its life.
    pub power_on_hours_left: Option<Between<f64>>,
    /// Terabytes (10^12) that the host can still write until the rated wear is used, if only the host wears the drive. For one record
    /// they assume the mean rate of its life.
    pub host_terabytes_left: Option<Between<f64>>,
    /// How the end is forecast, or why it is not.
    pub basis: String,
}

impl Life {
    /// A drive that fails has no forecast: wear is not what ends it.
    pub(super) fn forecast(history: &History, writes: &Writes, is_failing: bool) -> Self {
        let last = history.state();
        let step = step(last);
        let mut life = Self {
            wear_percent: last.get(Q::PercentageUsed),
            wear_step_percent: last.get(Q::PercentageUsed).map(|_| step),
            wear_percent_per_year: None,
            end: None,
            spare_end: None,
            power_on_hours_left: None,
            host_terabytes_left: None,
            basis: String::new(),
        };
        if is_failing {
            life.basis = "the drive fails or is beyond its own limits".to_owned();
            return life;
        }
        let has_dates = history.clock == Clock::Calendar;
        life.spare_end = spare_forecast(history).filter(|_| has_dates).map(|found| days_from(history, &found));
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
        life.host_terabytes_left =
            (!writes.is_own(history)).then(|| host_terabytes_left(history, wear, step)).flatten();
        match history.clock {
            Clock::None => life.by_one(last, wear, step),
            Clock::Calendar | Clock::PowerOn => life.by_many(history, step),
        }
        life
    }

    /// Forecasts at the mean rate of the life, which began unworn.
    fn by_one(&mut self, last: &Reading, wear: f64, step: f64) {
        let hours = last.get(Q::PowerOnHours);
        let Some(found) = hours.and_then(|hours| forecast(&[NEW, entry(hours, wear)], step).ok()) else {
            self.basis = "one record gives no rate; add an earlier one".to_owned();
            return;
        };
        self.power_on_hours_left = Some(between(&found, |hours| Some(hours).filter(|hours| *hours <= 24.0 * DAYS_MAX)));
        self.basis =
            "one record: the mean rate over its hours under power so far; an earlier record would give the present rate"
                .to_owned();
    }

    fn by_many(&mut self, history: &History, step: f64) {
        let told = history
            .readings()
            .iter()
            .filter_map(|reading| Some(entry(history.day(reading)?, reading.get(Q::PercentageUsed)?)));
        let Ok(found) = forecast(&told.collect::<Vec<_>>(), step) else {
            self.basis = "only one record reports the wear, or the wear fell".to_owned();
            return;
        };
        let how = if found.has_quarters { "its rounding and the slowest and fastest quarter" } else { "its rounding" };
        self.basis = format!("the wear's growth between the records; interval by {how}");
        if history.clock == Clock::PowerOn {
            self.power_on_hours_left = Some(between(&found, |days| Some(known(days)? * 24.0)));
            return;
        }
        self.end = Some(days_from(history, &found));
    }
}

/// Days that are not too far away.
fn known(days: f64) -> Option<f64> {
    Some(days).filter(|days| *days <= DAYS_MAX)
}

/// A forecast in days as days of the calendar after the last record.
fn days_from(history: &History, found: &Forecast) -> Between<String> {
    let now = history.last().unix_seconds.unwrap_or(0);
    between(found, |days| Some(iso_day(now.saturating_add((known(days)? * DAY_SECONDS as f64) as i64))))
}

/// When the spare will be at its threshold, in days: its fall is a wear that ends there. `None` if it did not fall, or is there already.
pub(super) fn spare_forecast(history: &History) -> Option<Forecast> {
    let limit = history.state().get(Q::SpareThreshold).unwrap_or(0.0);
    let whole = RATED - limit;
    let used = |spare: f64| RATED * (RATED - spare) / whole;
    let told = history.readings().iter();
    let log: Vec<LogEntry> =
        told.filter_map(|reading| Some(entry(history.day(reading)?, used(reading.get(Q::Spare)?)))).collect();
    let (first, last) = (log.first()?.percentage_used, log.last()?.percentage_used);
    let is_falling = whole > 0.0 && first < last && last < RATED;
    forecast(&log, RATED / whole).ok().filter(|_| is_falling)
}

/// A new drive.
const NEW: LogEntry = LogEntry { at: 0.0, percentage_used: 0.0 };

const fn entry(at: f64, percentage_used: f64) -> LogEntry {
    LogEntry { at, percentage_used }
}

/// A forecast's interval in another form.
fn between<T>(found: &Forecast, form: impl Fn(f64) -> Option<T>) -> Between<T> {
    Between {
        earliest: found.left_least.and_then(&form),
        expected: found.left.and_then(&form),
        latest: found.left_most.and_then(&form),
    }
}

impl History {
    /// Growth a day of a gauge over all records with a time that report it. `None` if it fell.
    fn rate_of_gauge(&self, quantity: Quantity) -> Option<f64> {
        self.rate(quantity)?.per_day
    }
}

/// Forecasts what the host can still write, from all records or from the life until the only one.
fn host_terabytes_left(history: &History, wear: f64, step: f64) -> Option<Between<f64>> {
    let told = |reading: &Reading| Some(entry(reading.get(Q::HostWritten)?, reading.get(Q::PercentageUsed)?));
    let mut log: Vec<LogEntry> = history.readings().iter().filter_map(told).collect();
    if log.len() < 2 || history.clock == Clock::None {
        log = vec![NEW, entry(history.state().get(Q::HostWritten)?, wear)];
    }
    let found = forecast(&log, step).ok()?;
    found.left?;
    Some(between(&found, |bytes| Some(bytes / TERABYTE)))
}

/// Step of the wear counter.
fn step(reading: &Reading) -> f64 {
    if reading.simulated.is_some() {
        return 0.0;
    }
    if reading.source == Source::Emmc {
        return TENTH;
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
