//! Virtual time: `SimTime` is an instant, `Nanos` a duration. Only meaningful sums compile.
//!
//! Instant - instant = duration, instant + duration = instant. Two instants cannot be added:
//!
//! ```compile_fail
//! let sum = wane_units::SimTime(1) + wane_units::SimTime(2);
//! ```
//!
//! Operators panic in every build when a result lies below 0 or above 2^64 - 1 ns (584 years), so that time never wraps
//! around. Callers that can meet the end of time use the `checked_` and `saturating_` methods.

use std::fmt;
use std::ops::{Add, AddAssign, Mul, Sub};

use crate::Nanos;

/// An instant of virtual time: nanoseconds from the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct SimTime(pub u64);

impl SimTime {
    /// The start of the run.
    pub const ZERO: Self = Self(0);
    /// The last instant, 584 years after the start.
    pub const MAX: Self = Self(u64::MAX);

    /// The instant `duration` later, if there is one.
    pub const fn checked_add(self, duration: Nanos) -> Option<Self> {
        match self.0.checked_add(duration.0) {
            Some(at) => Some(Self(at)),
            None => None,
        }
    }

    /// The instant `duration` later, at most [`Self::MAX`].
    #[must_use]
    pub const fn saturating_add(self, duration: Nanos) -> Self {
        Self(self.0.saturating_add(duration.0))
    }

    /// The time since `earlier`, if that is not later than this instant.
    pub const fn checked_since(self, earlier: Self) -> Option<Nanos> {
        match self.0.checked_sub(earlier.0) {
            Some(duration) => Some(Nanos(duration)),
            None => None,
        }
    }

    /// The time since `earlier`; 0 if that is later than this instant.
    pub const fn saturating_since(self, earlier: Self) -> Nanos {
        Nanos(self.0.saturating_sub(earlier.0))
    }
}

impl fmt::Display for SimTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Nanos(self.0).fmt(f)
    }
}

impl Add<Nanos> for SimTime {
    type Output = Self;

    /// # Panics
    /// The result lies beyond [`SimTime::MAX`].
    fn add(self, duration: Nanos) -> Self {
        self.checked_add(duration).expect("an instant lies within 584 years of the start")
    }
}

impl AddAssign<Nanos> for SimTime {
    /// # Panics
    /// The result lies beyond [`SimTime::MAX`].
    fn add_assign(&mut self, duration: Nanos) {
        *self = *self + duration;
    }
}

impl Sub for SimTime {
    type Output = Nanos;

    /// # Panics
    /// `earlier` is later than this instant.
    fn sub(self, earlier: Self) -> Nanos {
        self.checked_since(earlier).expect("a duration runs from the earlier instant to the later")
    }
}

impl Nanos {
    /// No time.
    pub const ZERO: Self = Self(0);

    /// The sum, if it is below 584 years.
    pub const fn checked_add(self, other: Self) -> Option<Self> {
        match self.0.checked_add(other.0) {
            Some(sum) => Some(Self(sum)),
            None => None,
        }
    }

    /// The sum, at most 2^64 - 1 ns.
    #[must_use]
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Add for Nanos {
    type Output = Self;

    /// # Panics
    /// The sum exceeds 2^64 - 1 ns.
    fn add(self, other: Self) -> Self {
        self.checked_add(other).expect("a duration is below 584 years")
    }
}

impl AddAssign for Nanos {
    /// # Panics
    /// The sum exceeds 2^64 - 1 ns.
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Nanos {
    type Output = Self;

    /// # Panics
    /// `other` is longer.
    fn sub(self, other: Self) -> Self {
        Self(self.0.checked_sub(other.0).expect("a duration is not negative"))
    }
}

impl Mul<u64> for Nanos {
    type Output = Self;

    /// # Panics
    /// The product exceeds 2^64 - 1 ns.
    fn mul(self, count: u64) -> Self {
        Self(self.0.checked_mul(count).expect("a duration is below 584 years"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_and_durations_add_up() {
        let (start, step) = (SimTime(1_000), Nanos(75));
        assert_eq!((start + step) - start, step);
        assert_eq!(step * 3 - step, step + step);
        let mut clock = start;
        clock += step;
        assert_eq!((clock, clock.to_string().as_str()), (SimTime(1_075), "1.075 us"));
    }

    #[test]
    fn the_end_of_time_is_told_or_kept() {
        assert_eq!(SimTime::MAX.checked_add(Nanos(1)), None);
        assert_eq!(SimTime::MAX.saturating_add(Nanos(1)), SimTime::MAX);
        assert_eq!(SimTime(3).checked_since(SimTime(4)), None);
        assert_eq!(SimTime(3).saturating_since(SimTime(4)), Nanos::ZERO);
        assert_eq!(Nanos(u64::MAX).checked_add(Nanos(1)), None);
        assert_eq!(Nanos(u64::MAX).saturating_add(Nanos(1)), Nanos(u64::MAX));
    }

    #[test]
    fn no_operator_wraps_around() {
        let cases: [fn() -> Nanos; 5] = [
            || (SimTime::MAX + Nanos(1)).saturating_since(SimTime::ZERO),
            || SimTime(1) - SimTime(2),
            || Nanos(u64::MAX) + Nanos(1),
            || Nanos(1) - Nanos(2),
            || Nanos(1 << 63) * 2,
        ];
        for (number, case) in cases.into_iter().enumerate() {
            assert!(std::panic::catch_unwind(case).is_err(), "case {number}");
        }
    }
}
