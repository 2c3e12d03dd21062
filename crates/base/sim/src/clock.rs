//! Where the instants of a served device come from. A device is given its time; a server has to take it from somewhere.
//!
//! Real time comes in as nanoseconds since the server began, so that nothing here reads a clock.

use std::collections::VecDeque;

use wane_units::{Nanos, SimTime};

/// Gives requests their instants, and says when an instant comes in real time.
pub trait Clock {
    /// The present instant, which never falls. `real` is the time since the server began.
    fn now(&mut self, real: Nanos) -> SimTime;

    /// The instant of a request that came at `real`. No later than [`Clock::now`] then says.
    ///
    /// Default: the present one.
    fn arrival(&mut self, real: Nanos) -> SimTime {
        self.now(real)
    }

    /// Real time since the server began at which an instant comes: nobody is told earlier of what completes then. `None` if
    /// nobody waits.
    fn real(&self, at: SimTime) -> Option<Nanos>;

    /// Goes on from `at`, to which the device's own time led it. Does nothing if that is past.
    fn lead(&mut self, at: SimTime, real: Nanos);
}

/// Time that runs only as requests need it: whoever waits has waited as soon as the state is known.
#[derive(Clone, Copy, Debug, Default)]
pub struct VirtualClock {
    now: SimTime,
}

impl VirtualClock {
    /// A clock at this instant.
    pub const fn starting_at(now: SimTime) -> Self {
        Self { now }
    }
}

impl Clock for VirtualClock {
    fn now(&mut self, _: Nanos) -> SimTime {
        self.now
    }

    fn real(&self, _: SimTime) -> Option<Nanos> {
        None
    }

    fn lead(&mut self, at: SimTime, _: Nanos) {
        self.now = self.now.max(at);
    }
}

/// Time that runs as the real one, or by a factor faster or slower.
#[derive(Clone, Copy, Debug)]
pub struct PacedClock {
    /// An instant, and the real time at which it came.
    base: SimTime,
    since: Nanos,
    /// Nanoseconds of the device in one of the real world.
    speed: f64,
}

impl PacedClock {
    /// Speeds that are allowed. Slower, a second of a drive takes a day; faster, a real nanosecond is a second.
    pub const SPEEDS: [f64; 2] = [1e-5, 1e9];

    /// A clock that is at `at` at the real time `since`.
    ///
    /// # Panics
    /// The speed is not in [`PacedClock::SPEEDS`].
    pub fn new(at: SimTime, since: Nanos, speed: f64) -> Self {
        let [least, most] = Self::SPEEDS;
        assert!((least..=most).contains(&speed), "a speed lies between {least} and {most}, found {speed}");
        Self { base: at, since, speed }
    }

    /// Nanoseconds of the device in one of the real world.
    pub const fn speed(&self) -> f64 {
        self.speed
    }

    fn at(&self, real: Nanos) -> SimTime {
        let passed = real.0.saturating_sub(self.since.0) as f64 * self.speed;
        self.base.saturating_add(Nanos(passed as u64))
    }
}

impl Clock for PacedClock {
    fn now(&mut self, real: Nanos) -> SimTime {
        self.at(real)
    }

    fn real(&self, at: SimTime) -> Option<Nanos> {
        let ahead = at.saturating_since(self.base).0 as f64 / self.speed;
        let mut real = self.since.saturating_add(Nanos(libm::ceil(ahead) as u64));
        // Rounding may lead to just before it.
        while self.at(real) < at && real.0 < u64::MAX {
            real = Nanos(real.0 + 1);
        }
        Some(real)
    }

    fn lead(&mut self, at: SimTime, real: Nanos) {
        if at > self.at(real) {
            (self.base, self.since) = (at, real);
        }
    }
}

/// The instants of requests that were recorded, so that a session can be had again. Nobody waits.
#[derive(Clone, Debug, Default)]
pub struct ReplayClock {
    arrivals: VecDeque<SimTime>,
    now: SimTime,
}

impl ReplayClock {
    /// A clock for requests that came at these instants, which do not fall.
    pub fn new(arrivals: impl IntoIterator<Item = SimTime>) -> Self {
        Self { arrivals: arrivals.into_iter().collect(), now: SimTime::ZERO }
    }
}

impl Clock for ReplayClock {
    /// The instant of the last request.
    fn now(&mut self, _: Nanos) -> SimTime {
        self.now
    }

    /// The next instant that was recorded; after the last one, that one.
    fn arrival(&mut self, _: Nanos) -> SimTime {
        self.now = self.arrivals.pop_front().map_or(self.now, |at| at.max(self.now));
        self.now
    }

    fn real(&self, _: SimTime) -> Option<Nanos> {
        None
    }

    /// Recorded instants come when they come.
    fn lead(&mut self, _: SimTime, _: Nanos) {}
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_virtual_clock_goes_where_it_is_led() {
        let mut clock = VirtualClock::starting_at(SimTime(5));
        assert_eq!((clock.now(Nanos(1 << 40)), clock.real(SimTime(9))), (SimTime(5), None));
        clock.lead(SimTime(9), Nanos(0));
        clock.lead(SimTime(7), Nanos(0));
        assert_eq!(clock.now(Nanos(0)), SimTime(9));
    }

    #[test]
    fn a_paced_clock_goes_on_from_where_the_device_is() {
        let mut clock = PacedClock::new(SimTime(1000), Nanos(50), 10.0);
        assert_eq!((clock.now(Nanos(53)), clock.real(SimTime(1031))), (SimTime(1030), Some(Nanos(54))));
        clock.lead(SimTime(500), Nanos(53));
        assert_eq!(clock.now(Nanos(53)), SimTime(1030));
        clock.lead(SimTime(9000), Nanos(60));
        assert_eq!((clock.now(Nanos(61)), clock.now(Nanos(60))), (SimTime(9010), SimTime(9000)));
    }

    #[test]
    fn a_replay_gives_what_was_recorded() {
        let mut clock = ReplayClock::new([3, 3, 8].map(SimTime));
        let arrivals: Vec<u64> = (0..4).map(|_| clock.arrival(Nanos(0)).0).collect();
        assert_eq!((arrivals, clock.now(Nanos(9))), (vec![3, 3, 8, 8], SimTime(8)));
    }

    proptest! {
        #[test]
        fn an_instant_comes_when_it_is_said_to(base in 0u64..1 << 50, ahead in 0u64..1 << 50, exponent in -4i32..9) {
            let mut clock = PacedClock::new(SimTime(base), Nanos(7), 10f64.powi(exponent));
            let at = SimTime(base + ahead);
            let real = clock.real(at).unwrap();
            prop_assert!(clock.now(real) >= at, "it is not told too early");
            let early = clock.now(Nanos(real.0.saturating_sub(2 + real.0 / (1 << 40))));
            prop_assert!(early <= at, "nor much too late");
        }
    }
}
