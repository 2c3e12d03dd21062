//! Real time: where the server reads the clock, and nowhere else.

#![allow(clippy::disallowed_methods, reason = "this module is where the real clock is read")]

use std::time::{Duration, Instant};

use wane_units::Nanos;

/// Real time since the server began.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RealTime {
    begun: Instant,
}

impl RealTime {
    pub(crate) fn begin() -> Self {
        Self { begun: Instant::now() }
    }

    pub(crate) fn now(self) -> Nanos {
        Nanos(u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }
}

/// The duration, as the system has it.
pub(crate) const fn duration(time: Nanos) -> Duration {
    Duration::from_nanos(time.0)
}

/// Has the kernel wake the calling thread as exactly as it can: by default it may be 50 us late on purpose. Best effort.
pub(crate) fn wake_exactly() {
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
}
