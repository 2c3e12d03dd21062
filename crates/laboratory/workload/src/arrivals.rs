//! Arrivals of requests at a timed drive.

use wane_sim::Stream;

/// When requests arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// In a closed loop with this number of requests at a time.
    QueueDepth(u32),
    /// Exponential gaps with this mean in nanoseconds.
    Poisson(u64),
    /// Normal gaps. Those below 0 count as 0, so that their mean is [`normal_gap_mean`].
    Normal {
        /// Mean in nanoseconds, before gaps below 0 count as 0.
        mean_ns: u64,
        /// Standard deviation in nanoseconds, likewise.
        sd_ns: u64,
    },
    /// At the times of the workload's trace.
    Trace,
}

impl Default for Arrival {
    fn default() -> Self {
        Self::QueueDepth(1)
    }
}

/// Times of arrival, in nanoseconds; they never go back.
#[derive(Clone, Debug)]
pub struct Arrivals {
    kind: Arrival,
    /// Factor of the times between a trace's requests.
    scale: f64,
    /// The last arrival in nanoseconds, as a real number so that rounding errors do not add up.
    at: f64,
    start: u64,
    stream: Stream,
}

/// When the next request arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// At this time.
    At(u64),
    /// As soon as fewer than this many requests are outstanding.
    Below(u64),
}

impl Arrivals {
    /// Makes arrivals from `start` on, in nanoseconds. `scale` is the factor of the times between a trace's requests; `stream` draws
    /// random gaps.
    pub fn new(kind: Arrival, scale: f64, start: u64, stream: Stream) -> Self {
        debug_assert!(scale >= 0.0, "a negative factor would turn time around, found {scale}");
        Self { kind, scale, at: start as f64, start, stream }
    }

    /// Returns when the next request arrives. `trace_at` is its time in its trace.
    #[inline]
    pub fn next(&mut self, trace_at: u64) -> Next {
        let before = self.at;
        match self.kind {
            Arrival::QueueDepth(depth) => return Next::Below(u64::from(depth)),
            Arrival::Poisson(mean) => self.at += self.stream.exponential() * mean as f64,
            // Gaps below 0 count as 0.
            Arrival::Normal { mean_ns, sd_ns } => {
                self.at += (mean_ns as f64 + self.stream.normal() * sd_ns as f64).max(0.0);
            }
            Arrival::Trace => self.at = self.start as f64 + trace_at as f64 * self.scale,
        }
        debug_assert!(before <= self.at, "times of arrival never go back from {before} to {}", self.at);
        Next::At(self.at as u64)
    }
}

/// Mean gap of [`Arrival::Normal`] as drawn, in nanoseconds: the mean of max(0, X), where X is normal with mean m and
/// standard deviation s. It is m F(m / s) + s f(m / s), with the distribution F and the density f of the standard normal.
pub fn normal_gap_mean(mean_ns: u64, sd_ns: u64) -> f64 {
    let (mean, sd) = (mean_ns as f64, sd_ns as f64);
    if sd_ns == 0 {
        return mean;
    }
    let z = mean / sd;
    let positive = 0.5 * libm::erfc(-z / std::f64::consts::SQRT_2);
    let density = libm::exp(-0.5 * z * z) / libm::sqrt(std::f64::consts::TAU);
    let gap = mean * positive + sd * density;
    debug_assert!(gap >= mean * (1.0 - 1e-9), "gaps that are cut off at 0 have no smaller mean");
    gap
}

#[cfg(test)]
mod tests {
    use super::*;
    use wane_sim::Streams;

    fn times(kind: Arrival, count: u64) -> Vec<u64> {
        let mut arrivals = Arrivals::new(kind, 0.5, 1000, Streams::new(1).stream("arrivals"));
        let time = |n: u64| match arrivals.next(n * 100) {
            Next::At(at) => at,
            Next::Below(_) => panic!("an open arrival has a time"),
        };
        (0..count).map(time).collect()
    }

    #[test]
    fn open_arrivals_come_at_their_rate() {
        let kinds = [(Arrival::Poisson(500), 500.0, 500.0), (Arrival::Normal { mean_ns: 500, sd_ns: 50 }, 500.0, 50.0)];
        for (kind, mean, sd) in kinds {
            let times = times(kind, 40_001);
            let gaps: Vec<f64> = times.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
            let found = gaps.iter().sum::<f64>() / gaps.len() as f64;
            let variance = gaps.iter().map(|gap| (gap - found) * (gap - found)).sum::<f64>() / gaps.len() as f64;
            // Four standard errors.
            assert!((found - mean).abs() < 4.0 * sd / 200.0, "{kind:?}: {found}");
            assert!((variance.sqrt() / sd - 1.0).abs() < 0.03, "{kind:?}: {variance}");
        }
    }

    #[test]
    fn the_mean_normal_gap_is_that_of_the_gaps_drawn() {
        for (mean_ns, sd_ns) in [(500, 0), (5_000, 500), (500, 500), (500, 2_000), (0, 2_000)] {
            let times = times(Arrival::Normal { mean_ns, sd_ns }, 40_001);
            let found = (times[40_000] - times[0]) as f64 / 40_000.0;
            // Four standard errors, and the rounding of both ends.
            let tolerance = 4.0 * sd_ns as f64 / 200.0 + 1e-3;
            let want = normal_gap_mean(mean_ns, sd_ns);
            assert!((found - want).abs() < tolerance, "mean {mean_ns}, sd {sd_ns}: found {found}, want {want}");
        }
    }

    #[test]
    fn a_trace_keeps_its_times_scaled() {
        assert_eq!(times(Arrival::Trace, 4), [1000, 1050, 1100, 1150]);
    }

    #[test]
    fn a_closed_loop_waits_for_room() {
        let mut arrivals = Arrivals::new(Arrival::QueueDepth(16), 1.0, 0, Streams::new(1).stream("arrivals"));
        assert!(matches!(arrivals.next(7), Next::Below(16)));
    }
}
