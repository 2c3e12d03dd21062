//! How a timed drive waits for its next request: until a time, until there is room, or until another one is done.

use std::sync::atomic::AtomicBool;

use wane_blockdev::{Served, Until};
use wane_units::SimTime;

use crate::Drive;

impl Drive {
    /// What [`wane_blockdev::Timed::run`] does, compiled for the caller's `each`: a run makes a call of it for each request.
    #[inline]
    pub fn run_until(&mut self, until: Until, stop: &AtomicBool, each: &mut impl FnMut(&Served)) -> bool {
        let Some(clock) = &mut self.clock else { return true };
        let front = &mut self.front;
        let mut hand_out = |served: &Served| {
            if !front.settle(served) {
                each(served);
            }
        };
        let came = match until {
            Until::At(at) => {
                clock.arrive_at(at.0, stop, &mut hand_out);
                true
            }
            Until::Below(depth, SimTime::MAX) => {
                clock.arrive_below(depth, stop, &mut hand_out);
                true
            }
            Until::Below(depth, by) => clock.arrive_below_until(depth, by.0, stop, &mut hand_out),
            Until::Done(request, by) => clock.arrive_after(request.0, by.0, stop, &mut hand_out),
            Until::Idle => {
                clock.drain(stop, &mut hand_out);
                return true;
            }
        };
        self.front.now = self.front.now.max(SimTime(clock.now_ns()));
        self.follow_clock();
        came
    }
}
