//! The real clock: how long a run has taken, and how long it still will. Of a result only `run.*` depends on it.

#![allow(clippy::disallowed_methods, reason = "this module is where the real clock is read")]

use std::time::{Duration, Instant};

/// Measures real time since it was made.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch {
    start: Instant,
}

impl Stopwatch {
    /// Starts now.
    pub fn start() -> Self {
        Self { start: Instant::now() }
    }

    /// Time since the start.
    pub fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    /// Time left if `done` of the whole, between 0 and 1, took the time so far.
    pub fn left(&self, done: f64) -> Option<Duration> {
        let seconds = self.elapsed().as_secs_f64() * (1.0 - done) / done;
        (done > 0.0).then(|| Duration::try_from_secs_f64(seconds).ok()).flatten()
    }
}

/// Lets one call through in every interval.
#[derive(Clone, Copy, Debug)]
pub struct Throttle {
    interval: Duration,
    last: Option<Instant>,
}

impl Throttle {
    /// Makes a throttle that lets the first call through at once.
    pub const fn new(interval: Duration) -> Self {
        Self { interval, last: None }
    }

    /// Whether the interval has passed. If so, a new one starts.
    pub fn ready(&mut self) -> bool {
        let now = Instant::now();
        let ready = self.last.is_none_or(|last| now - last >= self.interval);
        if ready {
            self.last = Some(now);
        }
        ready
    }
}
