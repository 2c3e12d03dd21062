//! A life in the terms of data sheets: TBW, DWPD and years.
//!
//! As in JESD218, a drive's endurance is the amount that its host may write. The units are those of data sheets: a terabyte is 10^12
//! bytes and a year has 365 days.

use serde::{Deserialize, Serialize};
use wane_units::DAYS_PER_YEAR;

/// Years over which DWPD is reported: the usual warranty.
pub const WARRANTY_YEARS: f64 = 5.0;

/// Bytes of a terabyte.
pub(super) const TERABYTE: f64 = 1e12;

/// Where the calendar of a run comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CalendarOrigin {
    /// `time.drive-writes-per-day`.
    Scenario,
    /// The workload's trace, by its own times.
    Trace,
    /// The clock of a timed run that ends by `until.days`.
    Clock,
}

/// The pace at which a drive is written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calendar {
    /// Drive writes per day; more than 0.
    pub drive_writes_per_day: f64,
    /// The source of this pace.
    pub origin: CalendarOrigin,
}

impl Calendar {
    /// Days in which `drive_writes` drive writes are made.
    pub fn days(&self, drive_writes: f64) -> f64 {
        drive_writes / self.drive_writes_per_day
    }
}

/// `life.*`: what the host wrote from the end of preconditioning to the end of the run. Years are null without a calendar; DWPD is also null
/// if the drive did not reach its end of life.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Life {
    /// Terabytes that the host wrote, 10^12 bytes each. If the drive reached its end of life, these are its TBW.
    pub terabytes_written: f64,
    /// Drive writes per day.
    pub drive_writes_per_day: Option<f64>,
    /// The source of this pace.
    pub calendar: Option<CalendarOrigin>,
    /// Drive writes / drive writes per day.
    pub days: Option<f64>,
    /// Days / 365.
    pub years: Option<f64>,
    /// TBW / (capacity in TB x 365 x warranty years): the drive writes per day that would wear the drive out exactly at the end of the warranty.
    pub dwpd: Option<f64>,
    /// The warranty for which DWPD is reported, in years.
    pub warranty_years: f64,
}

impl Life {
    /// The life of a drive of `capacity_bytes` after `drive_writes` drive writes. `is_over` says whether it reached its end of life.
    pub fn of(drive_writes: f64, capacity_bytes: u64, calendar: Option<Calendar>, is_over: bool) -> Self {
        let passes = |calendar: &Calendar| calendar.drive_writes_per_day > 0.0;
        debug_assert!(calendar.as_ref().is_none_or(passes), "a drive that is not written never ages by its calendar");
        let days = calendar.map(|calendar| calendar.days(drive_writes));
        Self {
            terabytes_written: drive_writes * capacity_bytes as f64 / TERABYTE,
            drive_writes_per_day: calendar.map(|calendar| calendar.drive_writes_per_day),
            calendar: calendar.map(|calendar| calendar.origin),
            days,
            years: days.map(|days| days / DAYS_PER_YEAR),
            dwpd: days.filter(|_| is_over).map(|_| drive_writes / (DAYS_PER_YEAR * WARRANTY_YEARS)),
            warranty_years: WARRANTY_YEARS,
        }
    }

    /// The calendar of the run.
    pub fn calendar(&self) -> Option<Calendar> {
        let (drive_writes_per_day, origin) = self.drive_writes_per_day.zip(self.calendar)?;
        Some(Calendar { drive_writes_per_day, origin })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A drive of 3.84 TB with 7,008 TBW is one of 1 DWPD over five years; written at twice that it lasts half as long.
    #[test]
    fn tbw_dwpd_and_years_are_those_of_data_sheets() {
        let capacity = 3_840_000_000_000;
        let calendar = Some(Calendar { drive_writes_per_day: 2.0, origin: CalendarOrigin::Scenario });
        let life = Life::of(1825.0, capacity, calendar, true);
        assert_eq!((life.terabytes_written, life.dwpd, life.years), (7008.0, Some(1.0), Some(2.5)));
        assert_eq!((life.days, life.warranty_years, life.calendar()), (Some(912.5), 5.0, calendar));
        let alive = Life::of(1825.0, capacity, calendar, false);
        assert_eq!((alive.dwpd, alive.years), (None, Some(2.5)));
        let timeless = Life::of(1825.0, capacity, None, true);
        assert_eq!((timeless.terabytes_written, timeless.dwpd, timeless.years), (7008.0, None, None));
    }
}
