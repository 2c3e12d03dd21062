//! Giving space back while programs run: what is in the way moves in short steps, by a thread of its own.
//!
//! A step has the volume, and users' calls wait for it, so that it cleans one section. Between two steps the thread pauses, by two limits: bytes that move
//! in a second, and the share of time that steps take. The thread also asks the volume to answer what its device wants back.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use wane_fs::{Attended, FsError, Mode, Port, Progress, Volume, Way};

use crate::convert::Stopwatch;
use crate::shared::Shared;

/// Blocks that a step moves at least: whatever a section holds.
const STEP: u64 = 1;
/// Blocks that a step moves where the device waits for its space.
const STEP_WANTED: u64 = 512;
/// Time between two looks if there is nothing to do.
const IDLE: Duration = Duration::from_secs(1);
/// After so long a step that could not move anything is tried again.
const AGAIN: Duration = Duration::from_millis(500);
/// Longest pause between two steps.
const PAUSE_MOST: Duration = Duration::from_secs(10);

/// How fast space is given back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    /// Bytes that move in a second, at most.
    pub bytes_per_second: u64,
    /// Share of time in which something moves and users' calls wait, above 0 and up to 1.
    pub share: f64,
}

impl Default for Pace {
    fn default() -> Self {
        Self { bytes_per_second: 100 << 20, share: 0.5 }
    }
}

impl Pace {
    /// How long to pause after a step.
    fn pause(self, moved: u64, took: Duration) -> Duration {
        let by_rate = moved as f64 / self.bytes_per_second.max(1) as f64 - took.as_secs_f64();
        let by_share = took.as_secs_f64() * (1.0 / self.share.clamp(0.001, 1.0) - 1.0);
        Duration::from_secs_f64(by_rate.max(by_share).clamp(0.0, PAUSE_MOST.as_secs_f64()))
    }
}

/// What the mount is doing about space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doing {
    /// Nothing is to be given back.
    Nothing,
    /// It moves what is in the way.
    Moving,
    /// What is left cannot be moved now; it is tried again.
    Stuck,
    /// A step failed; it is tried again unless the device is gone.
    Failed(FsError),
}

impl Doing {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Nothing => "none",
            Self::Moving => "running",
            Self::Stuck => "stuck",
            Self::Failed(_) => "failed",
        }
    }
}

/// What is known of it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct State {
    pub(crate) pace: Pace,
    /// How the device's demands are answered; `None`: they are not.
    pub(crate) answer: Option<Way>,
    pub(crate) is_paused: bool,
    pub(crate) doing: Doing,
    /// Sections that were in the way when the target was first seen, and that target.
    pub(crate) began: Option<(u64, u32)>,
    /// What the device wants and cannot have: bytes, and the least that there can be.
    pub(crate) degraded: Option<(u64, u64)>,
    pub(crate) steps: u64,
    pub(crate) stepping: Duration,
    pub(crate) longest: Duration,
    has_ended: bool,
}

/// See the head of this file.
pub(crate) struct Evacuation {
    state: Mutex<State>,
    woken: Condvar,
}

impl Evacuation {
    pub(crate) fn new(pace: Pace, answer: Option<Way>) -> Self {
        let state = State {
            pace,
            answer,
            is_paused: false,
            doing: Doing::Nothing,
            began: None,
            degraded: None,
            steps: 0,
            stepping: Duration::ZERO,
            longest: Duration::ZERO,
            has_ended: false,
        };
        Self { state: Mutex::new(state), woken: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is known now.
    pub(crate) fn state(&self) -> State {
        *self.lock()
    }

    /// Changes it, and lets the thread look at once.
    pub(crate) fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.lock());
        self.woken.notify_all();
    }

    /// Something may be to be done.
    pub(crate) fn wake(&self) {
        self.woken.notify_all();
    }

    pub(crate) fn end(&self) {
        self.change(|state| state.has_ended = true);
    }

    /// Waits, and returns what is known then; `None` once the mount ends.
    fn sleep(&self, pause: Duration) -> Option<State> {
        let mut state = self.lock();
        if !state.has_ended && !pause.is_zero() {
            state = self.woken.wait_timeout(state, pause).unwrap_or_else(PoisonError::into_inner).0;
        }
        (!state.has_ended).then_some(*state)
    }
}

/// What a step came to.
struct Stepped {
    doing: Doing,
    moved: u64,
    degraded: Option<(u64, u64)>,
    began: Option<(u64, u32)>,
}

/// Makes one step.
fn step<P: Port>(volume: &mut Volume<P>, state: &State) -> Stepped {
    let in_the_way = volume.in_the_way_now();
    let began = volume.target().map(|(bytes, _)| match state.began {
        Some((of, sections)) if of == bytes => (bytes, sections.max(in_the_way)),
        _ => (bytes, in_the_way),
    });
    let mut stepped = Stepped { doing: Doing::Nothing, moved: 0, degraded: None, began };
    if volume.mode() != Mode::ReadWrite || state.is_paused {
        stepped.degraded = state.degraded;
        return stepped;
    }
    let count = |volume: &Volume<P>| volume.counted().moved + volume.counted().remapped;
    let before = count(volume);
    let outcome = match state.answer {
        Some(way) => volume.attend(way, if volume.target().is_some() { STEP } else { STEP_WANTED }),
        None => volume.evacuate(STEP).map(|progress| match progress {
            Progress::Done => Attended::Nothing,
            Progress::More(left) | Progress::Stuck(left) => Attended::Moving(left),
        }),
    };
    stepped.moved = (count(volume) - before) * u64::from(volume.space().block_bytes);
    stepped.doing = match outcome {
        Err(error) => Doing::Failed(error),
        Ok(attended) => {
            if let Attended::Degraded { wanted, least } = attended {
                stepped.degraded = Some((wanted, least));
            }
            match volume.target() {
                None => Doing::Nothing,
                Some(_) if stepped.moved == 0 && volume.in_the_way_now() >= in_the_way => Doing::Stuck,
                Some(_) => Doing::Moving,
            }
        }
    };
    stepped
}

/// Gives space back until the mount ends.
pub(crate) fn give_back<P: Port>(shared: &Shared<P>) {
    let evacuation = &shared.evacuation;
    let mut pause = Duration::ZERO;
    while let Some(state) = evacuation.sleep(pause) {
        let stopwatch = Stopwatch::start();
        let Ok(stepped) = shared.ask(|volume| Ok(step(volume, &state))) else { return };
        let took = stopwatch.elapsed();
        let has_worked = stepped.moved > 0;
        let is_new = stepped.degraded.is_some() && stepped.degraded != state.degraded;
        if let Some((wanted, least)) = stepped.degraded.filter(|_| is_new) {
            shared.tell(&format!("the drive wants it to have {wanted} bytes, and {least} bytes are the least"));
        }
        pause = match stepped.doing {
            Doing::Nothing => IDLE,
            Doing::Moving => stepped.moved_pause(state.pace, took),
            Doing::Stuck | Doing::Failed(_) => AGAIN,
        };
        let mut now = evacuation.lock();
        (now.doing, now.degraded, now.began) = (stepped.doing, stepped.degraded, stepped.began);
        if has_worked {
            (now.steps, now.stepping, now.longest) = (now.steps + 1, now.stepping + took, now.longest.max(took));
        }
    }
}

impl Stepped {
    fn moved_pause(&self, pace: Pace, took: Duration) -> Duration {
        pace.pause(self.moved, took)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_keep_both_limits() {
        let ms = Duration::from_millis;
        let pause = |bytes_per_second, share, moved, took| Pace { bytes_per_second, share }.pause(moved, took);
        // 10 MiB at 100 MiB/s take 100 ms, of which the step took 20.
        assert_eq!(pause(100 << 20, 1.0, 10 << 20, ms(20)), ms(80));
        // Half of the time.
        assert_eq!(pause(u64::MAX, 0.5, 10 << 20, ms(20)), ms(20));
        assert_eq!(pause(u64::MAX, 1.0, 10 << 20, ms(20)), Duration::ZERO);
        // No pause is without an end.
        assert_eq!(pause(1, 1.0, 10 << 20, ms(20)), PAUSE_MOST);
    }
}
