//! When each page was programmed, in four bytes.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use wane_archive::{Archive, ArchiveError};

const SECONDS_PER_DAY: f64 = 86_400.0;
/// Days before day 0 that the first stamp stands for. 2^32 seconds then reach 116 years past day 0.
const DAYS_BEFORE: f64 = 7300.0;
/// How far back stamps reach at least after the origin has moved: 68 years, far beyond any measurement of a chip.
const REACH_SECONDS: f64 = (1u64 << 31) as f64;

/// A whole second for each page, counted from an origin that moves with the days.
#[derive(Clone, Debug)]
pub(super) struct Stamps {
    seconds: Vec<u32>,
    /// The day at which second 0 begins.
    origin: f64,
}

/// The stamps of some pages as they were.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct StampsPast {
    seconds: Vec<u32>,
    origin: f64,
}

impl Stamps {
    /// Stamps of pages that were all programmed on day 0.
    pub(super) fn new(pages: usize) -> Self {
        let mut stamps = Self { seconds: vec![0; pages], origin: -DAYS_BEFORE };
        stamps.set(0..pages, 0.0);
        stamps
    }

    /// Notes that these pages are programmed on a day. A day before the origin counts as the origin.
    #[inline]
    pub(super) fn set(&mut self, pages: Range<usize>, day: f64) {
        let mut second = libm::round((day - self.origin) * SECONDS_PER_DAY);
        if second > f64::from(u32::MAX) {
            self.follow(second - REACH_SECONDS);
            second = libm::round((day - self.origin) * SECONDS_PER_DAY);
        }
        self.seconds[pages].fill(second as u32);
    }

    /// Days from the program of a page to `now`; negative if `now` is earlier.
    #[inline]
    pub(super) fn days_since(&self, page: usize, now: f64) -> f64 {
        now - (f64::from(self.seconds[page]) * (1.0 / SECONDS_PER_DAY) + self.origin)
    }

    pub(super) fn past(&self, pages: Range<usize>) -> StampsPast {
        StampsPast { seconds: self.seconds[pages].to_vec(), origin: self.origin }
    }

    /// Restores the past stamps of these pages.
    pub(super) fn restore(&mut self, pages: Range<usize>, past: &StampsPast) {
        let later = libm::round((self.origin - past.origin) * SECONDS_PER_DAY);
        for (second, past) in self.seconds[pages].iter_mut().zip(&past.seconds) {
            *second = (f64::from(*past) - later) as u32;
        }
    }

    /// Moves the origin by whole seconds. Pages programmed before the new origin count as programmed on it.
    #[cold]
    fn follow(&mut self, seconds: f64) {
        let seconds = libm::floor(seconds);
        self.origin += seconds / SECONDS_PER_DAY;
        let by = seconds as u32;
        self.seconds.iter_mut().for_each(|second| *second = second.saturating_sub(by));
    }

    pub(super) fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        archive.field("cells.origin", &mut self.origin)?;
        archive.fixed("cells.programmed", &mut self.seconds)
    }

    pub(super) fn table_bytes(&self) -> usize {
        size_of_val(&self.seconds[..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_as_old_as_it_is_however_late_it_was_programmed() {
        let mut stamps = Stamps::new(3);
        stamps.set(1..2, 40_000.0);
        let past = stamps.past(0..2);
        for day in [40_000.5, 60_000.0, 1e6, 1e9] {
            stamps.set(0..1, day);
            assert!((stamps.days_since(0, day + 30.0) - 30.0).abs() < 1e-4, "{day}");
            if day < 64_000.0 {
                assert!((stamps.days_since(1, day) - (day - 40_000.0)).abs() < 1e-4, "{day}");
            }
            // The others are no younger than they were, and as old as the stamps reach.
            assert!(stamps.days_since(2, day) >= day.min(24_855.0), "{day}: {}", stamps.days_since(2, day));
        }
        stamps.set(0..2, 60_000.0);
        stamps.restore(0..2, &past);
        assert!(stamps.days_since(1, 1e9) >= 24_855.0);
        let mut near = Stamps::new(2);
        near.set(0..1, 42_000.0);
        let past = near.past(0..1);
        near.set(1..2, 43_000.0);
        near.set(0..1, 43_000.0);
        near.restore(0..1, &past);
        assert!((near.days_since(0, 43_000.0) - 1000.0).abs() < 1e-4, "{}", near.days_since(0, 43_000.0));
    }
}
