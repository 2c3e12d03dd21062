//! A drive's own heat: what its operations dissipate warms it above its surroundings, and if it is too warm it slows down.
//!
//! One thermal resistance and one time constant: dT/dt = (ambient + power x resistance - T) / time constant. The throttle has hysteresis and makes each
//! array operation and transfer that begins take longer, in which it dissipates no more. Source of the threshold: 002, section 6.2.3 (66 °C).

use serde::{Deserialize, Serialize};
use wane_archive::{Archive, ArchiveError};

/// Parameters of a drive's heat.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thermal {
    /// Temperature around the drive, in °C.
    pub ambient: f64,
    /// Temperature at time 0, in °C; `None`: that of an idle drive.
    pub initial: Option<f64>,
    /// Power that the drive always dissipates, in W.
    pub idle_watts: f64,
    /// Power of each die that senses, programs or erases, in W.
    pub die_watts: f64,
    /// Power of each channel that moves data, in W.
    pub channel_watts: f64,
    /// Thermal resistance from the drive to its surroundings, in K/W.
    pub resistance: f64,
    /// Time in which the difference to a new temperature falls to 1/e, in ns. At least a microsecond.
    pub time_constant_ns: u64,
    /// Protects the drive from heat; `None`: nothing does.
    pub throttle: Option<Throttle>,
}

impl Thermal {
    /// The temperature that an idle drive reaches, in °C.
    pub fn idle_celsius(&self) -> f64 {
        self.ambient + self.idle_watts * self.resistance
    }

    /// Whether a drive that was throttled once stays throttled, even if it does nothing.
    pub fn stays_throttled(&self) -> bool {
        self.throttle.is_some_and(|throttle| self.idle_celsius() >= throttle.below)
    }
}

/// When and by how much a drive slows down.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Throttle {
    /// Throttling begins at this temperature, in °C.
    pub above: f64,
    /// Throttling ends at this temperature, in °C, which is no higher.
    pub below: f64,
    /// Factor by which operations and transfers take longer, from 1 on.
    pub stretch: f64,
}

/// A drive's temperature, now and so far.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeatReading {
    /// Now, in °C.
    pub celsius: f64,
    /// The warmest so far.
    pub celsius_max: f64,
    /// The integral of its temperature over the time so far, in °C s.
    pub celsius_seconds: f64,
    /// What was dissipated so far, in J.
    pub joules: f64,
    /// Number of times that it was throttled.
    pub throttles: u32,
    /// Time for which it was throttled, in ns.
    pub throttled_ns: u64,
    /// Time of the reading, in ns.
    pub at_ns: u64,
}

/// Steps in a time constant. The temperature is off by less than 1/`STEPS` of its change in a time constant.
const STEPS: u64 = 256;

/// A drive's temperature while time runs.
#[derive(Clone, Debug)]
pub(crate) struct Heat {
    spec: Thermal,
    /// Time over which power counts as constant.
    step_ns: u64,
    reading: HeatReading,
    /// Dissipated by operations that began since the reading, in J.
    since: f64,
    is_throttled: bool,
}

impl Heat {
    pub(crate) fn new(spec: Thermal) -> Self {
        let celsius = spec.initial.unwrap_or_else(|| spec.idle_celsius());
        let reading = HeatReading {
            celsius,
            celsius_max: celsius,
            celsius_seconds: 0.0,
            joules: 0.0,
            throttles: 0,
            throttled_ns: 0,
            at_ns: 0,
        };
        let mut heat =
            Self { spec, step_ns: (spec.time_constant_ns / STEPS).max(1), reading, since: 0.0, is_throttled: false };
        heat.judge();
        heat
    }

    /// Factor by which an operation that begins now takes longer; `None` while not throttled. The operation dissipates no more
    /// energy for it: its die or channel waits in between.
    #[inline]
    pub(crate) fn stretch(&mut self, now: u64) -> Option<f64> {
        if now >= self.reading.at_ns + self.step_ns {
            self.advance(now);
        }
        self.spec.throttle.filter(|_| self.is_throttled).map(|throttle| throttle.stretch)
    }

    /// A die begins to sense, program or erase, for `ns`.
    #[inline]
    pub(crate) fn die_works(&mut self, ns: u64) {
        self.since += self.spec.die_watts * seconds(ns);
    }

    /// A channel begins to move data, for `ns`.
    #[inline]
    pub(crate) fn channel_works(&mut self, ns: u64) {
        self.since += self.spec.channel_watts * seconds(ns);
    }

    /// The temperature at `now`, no earlier than the last time asked for.
    pub(crate) fn reading(&self, now: u64) -> HeatReading {
        let mut then = self.clone();
        then.advance(now);
        then.reading
    }

    /// Saves or reads the heat as of the reading. What operations have dissipated since is saved with the schedule, which runs them.
    pub(crate) fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        archive.field("clock.heat", &mut self.reading)?;
        archive.field("clock.is-throttled", &mut self.is_throttled)
    }

    /// Saves or reads what operations have dissipated since the reading.
    pub(crate) fn archive_since(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        archive.field("heat.since", &mut self.since)
    }

    /// Whether the reading is all that there is to save: no operation began since.
    pub(crate) fn is_settled(&self) -> bool {
        self.since == 0.0
    }

    /// Advances to `now`. The energy of operations that began since the last step is dissipated within one step. After that the
    /// drive idles, in steps from one switch of the throttle to the next.
    pub(crate) fn advance(&mut self, now: u64) {
        while self.reading.at_ns < now {
            let work = std::mem::take(&mut self.since);
            let left = now - self.reading.at_ns;
            let wanted = if work > 0.0 { self.step_ns } else { self.until_turn().max(self.step_ns) };
            self.step(wanted.min(left), work);
        }
    }

    /// Time that an idle drive takes until the throttle begins or ends, in ns.
    fn until_turn(&self) -> u64 {
        let Thermal { time_constant_ns, throttle, .. } = self.spec;
        let Some(throttle) = throttle else { return u64::MAX };
        let bound = if self.is_throttled { throttle.below } else { throttle.above };
        let target = self.spec.idle_celsius();
        // Above 1 if the bound lies on the way. Infinite if the way only approaches the bound and never crosses it.
        let way = (self.reading.celsius - target) / (bound - target);
        if way > 1.0 && way.is_finite() { (libm::log(way) * time_constant_ns as f64) as u64 + 1 } else { u64::MAX }
    }

    fn step(&mut self, ns: u64, work: f64) {
        let Thermal { ambient, idle_watts, resistance, time_constant_ns, .. } = self.spec;
        let (span, constant) = (seconds(ns), seconds(time_constant_ns));
        let watts = idle_watts + work / span;
        let (from, target) = (self.reading.celsius, ambient + watts * resistance);
        let rest = libm::exp(-span / constant);
        let reading = &mut self.reading;
        reading.celsius = target + (from - target) * rest;
        reading.celsius_max = reading.celsius_max.max(reading.celsius);
        reading.celsius_seconds += target * span + (from - target) * constant * (1.0 - rest);
        reading.joules += watts * span;
        reading.throttled_ns += if self.is_throttled { ns } else { 0 };
        reading.at_ns += ns;
        self.judge();
    }

    fn judge(&mut self) {
        if let Some(throttle) = self.spec.throttle {
            let bound = if self.is_throttled { throttle.below } else { throttle.above };
            let is_throttled = self.reading.celsius > bound;
            self.reading.throttles += u32::from(is_throttled && !self.is_throttled);
            self.is_throttled = is_throttled;
        }
    }
}

/// A time of an operation, stretched.
#[inline]
pub(crate) fn stretched(ns: u64, stretch: f64) -> u64 {
    (ns as f64 * stretch) as u64
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn spec(throttle: Option<Throttle>) -> Thermal {
        Thermal {
            ambient: 25.0,
            initial: None,
            idle_watts: 1.0,
            die_watts: 2.0,
            channel_watts: 0.5,
            resistance: 5.0,
            time_constant_ns: 10 * SECOND,
            throttle,
        }
    }

    /// Keeps `dies` dies at work until `until`, in operations of a millisecond.
    fn work(heat: &mut Heat, dies: u64, from: u64, until: u64) {
        for at in (from..until).step_by(1_000_000) {
            for _ in 0..dies {
                assert_eq!(heat.stretch(at), None);
                heat.die_works(1_000_000);
            }
        }
    }

    #[test]
    fn a_drive_at_work_warms_up_by_its_time_constant_and_cools_down_again() {
        let mut heat = Heat::new(spec(None));
        assert_eq!(heat.reading(0).celsius, 30.0);
        assert_eq!(heat.reading(100 * SECOND).celsius, 30.0);
        work(&mut heat, 2, 0, 10 * SECOND);
        let warm = heat.reading(10 * SECOND);
        // 1 W and 4 W over 5 K/W: from 30 to 50 °C, but for 1/e.
        assert!((warm.celsius - (50.0 - 20.0 / std::f64::consts::E)).abs() < 0.05, "{warm:?}");
        assert!((warm.joules - 50.0).abs() < 0.1, "{warm:?}");
        let cool = heat.reading(20 * SECOND);
        assert!((cool.celsius - (30.0 + (warm.celsius - 30.0) / std::f64::consts::E)).abs() < 0.05, "{cool:?}");
        assert_eq!(cool.celsius_max, warm.celsius_max);
        // The mean lies between both ends, and what is dissipated is what warmed it.
        let mean = (cool.celsius_seconds - warm.celsius_seconds) / 10.0;
        assert!(mean > cool.celsius && mean < warm.celsius, "{mean}");
    }

    #[test]
    fn a_throttle_begins_above_and_ends_below() {
        let throttle = Throttle { above: 45.0, below: 40.0, stretch: 4.0 };
        let mut heat = Heat::new(spec(Some(throttle)));
        let (mut begun, mut ended) = (None, None);
        for at in (0..60 * SECOND).step_by(1_000_000) {
            let is_throttled = heat.stretch(at).is_some();
            if begun.is_none() && is_throttled {
                begun = Some(heat.reading.celsius);
            }
            if begun.is_some() && ended.is_none() && !is_throttled {
                ended = Some(heat.reading.celsius);
            }
            // Throttled to a quarter of the work.
            heat.die_works(if is_throttled { 500_000 } else { 2_000_000 });
        }
        let (begun, ended) = (begun.unwrap(), ended.unwrap());
        assert!((45.0..45.2).contains(&begun) && (39.8..=40.0).contains(&ended), "{begun} {ended}");
        let reading = heat.reading(60 * SECOND);
        assert!(reading.celsius_max < 45.2 && reading.throttled_ns > 10 * SECOND, "{reading:?}");
    }

    #[test]
    fn a_drive_that_idles_at_the_end_of_its_throttle_stays_throttled() {
        // 25 °C and 5 K of 1 W: it cools towards 30 °C and never below.
        let throttle = Throttle { above: 45.0, below: 30.0, stretch: 4.0 };
        let warm = Thermal { initial: Some(50.0), ..spec(Some(throttle)) };
        let mut heat = Heat::new(warm);
        assert_eq!(heat.stretch(100 * SECOND), Some(4.0));
        assert!(warm.stays_throttled() && !spec(Some(Throttle { below: 30.5, ..throttle })).stays_throttled());
    }

    #[test]
    fn an_idle_drive_stops_being_throttled_when_it_is_cool() {
        let throttle = Throttle { above: 45.0, below: 40.0, stretch: 4.0 };
        let mut heat = Heat::new(Thermal { initial: Some(50.0), ..spec(Some(throttle)) });
        assert_eq!(heat.stretch(0), Some(4.0));
        // From 50 to 40 °C on the way to 30: ln 2 of a time constant.
        let wanted = 10.0 * std::f64::consts::LN_2;
        let throttled = heat.reading(100 * SECOND).throttled_ns as f64 / 1e9;
        assert!((throttled - wanted).abs() < 0.05, "{throttled}");
        assert_eq!(heat.stretch(100 * SECOND), None);
        // The surroundings are too warm for an idle drive: it is throttled from when it gets there.
        let mut heat = Heat::new(Thermal { ambient: 60.0, initial: Some(25.0), ..spec(Some(throttle)) });
        // From 25 to 45 °C on the way to 65.
        let year = 365 * 86_400 * SECOND;
        let free = (year - heat.reading(year).throttled_ns) as f64 / 1e9;
        assert!((free - wanted).abs() < 0.05, "{free}");
        assert_eq!(heat.stretch(year), Some(4.0));
    }
}
