//! How a timed drive waits for its next request: until a time, until there is room, or until another one is done.

use std::sync::atomic::AtomicBool;

use wane_blockdev::RequestId;

use crate::{Completion, Drive};

impl Drive {
    /// Lets time run until `at`, in nanoseconds, when a request comes. See [`crate::Clock::arrive_at`].
    #[inline]
    pub fn arrive_at(&mut self, at: u64, stop: &AtomicBool, each: &mut impl FnMut(&Completion)) {
        let Some(clock) = &mut self.clock else { return };
        clock.arrive_at(at, stop, each);
        self.follow_clock();
    }

    /// Lets time run until fewer than `depth` requests are outstanding, when the next one comes. See [`crate::Clock::arrive_below`].
    #[inline]
    pub fn arrive_below(&mut self, depth: u64, stop: &AtomicBool, each: &mut impl FnMut(&Completion)) {
        let Some(clock) = &mut self.clock else { return };
        clock.arrive_below(depth, stop, each);
        self.follow_clock();
    }

    /// As [`Drive::arrive_below`], but no further than `until`. Returns whether the request came.
    pub fn arrive_below_until(
        &mut self,
        depth: u64,
        until: u64,
        stop: &AtomicBool,
        each: &mut impl FnMut(&Completion),
    ) -> bool {
        let Some(clock) = &mut self.clock else { return true };
        let came = clock.arrive_below_until(depth, until, stop, each);
        self.follow_clock();
        came
    }

    /// Lets time run until a committed request is done, but no further than `until`. The request's completion must not have been
    /// handed out yet. Returns whether it is done.
    pub fn arrive_after(
        &mut self,
        request: RequestId,
        until: u64,
        stop: &AtomicBool,
        each: &mut impl FnMut(&Completion),
    ) -> bool {
        let Some(clock) = &mut self.clock else { return true };
        let is_done = clock.arrive_after(request.0, until, stop, each);
        self.follow_clock();
        is_done
    }
}
