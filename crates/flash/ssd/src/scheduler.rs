//! One type for both schedulers.

use wane_archive::{Archive, ArchiveError};
use wane_nand::{FlashOp, Task};

use crate::command::{Command, Completion};
use crate::config::CLOCK_MAX_NS;
use crate::depend::Progress;
use crate::event::EventScheduler;
use crate::node::Utilization;
use crate::thermal::{Heat, HeatReading};
use crate::timeline::Timeline;

/// What turns lists of flash operations into time.
#[derive(Clone, Debug)]
pub enum Scheduler {
    /// By events: classes, suspension, planes, collection modes.
    Event(Box<EventScheduler>),
    /// Places each operation when it asks for its channel: faster, but with fewer features.
    Timeline(Box<Timeline>),
}

macro_rules! either {
    ($self:ident, $scheduler:ident => $call:expr) => {
        match $self {
            Scheduler::Event($scheduler) => $call,
            Scheduler::Timeline($scheduler) => $call,
        }
    };
}

impl Scheduler {
    /// As [`EventScheduler::submit`].
    #[inline]
    pub fn submit(&mut self, at: u64, command: Command, ops: &[FlashOp]) {
        either!(self, scheduler => scheduler.submit(at, command, ops));
    }

    /// As [`EventScheduler::next_completion`].
    #[inline]
    pub fn next_completion(&mut self, until: u64) -> Option<&Completion> {
        either!(self, scheduler => scheduler.next_completion(until))
    }

    /// Runs the drive up to `until`, but for a bounded time only, and hands out nothing. Returns whether it must be called again
    /// before [`Self::next_completion`] answers without a delay. It changes no result.
    pub fn work(&mut self, until: u64) -> bool {
        either!(self, scheduler => scheduler.work(until))
    }

    /// Whether a list of `ops` operations that is submitted at `at` will surely be done by [`crate::CLOCK_MAX_NS`], after
    /// everything submitted before. `operation_ns` is from [`crate::operation_ns_bound`].
    #[inline]
    pub fn fits(&self, at: u64, ops: usize, operation_ns: u64) -> bool {
        // Plus one: a command without flash operations may still take the latency of the write cache.
        let (from, ahead) = match self {
            // Operations that are not done count as if they ran one after the other.
            Self::Event(scheduler) => (at, scheduler.operations_pending() + scheduler.outstanding()),
            Self::Timeline(scheduler) => {
                (at.max(scheduler.busy_until()), scheduler.operations_pending() + scheduler.outstanding())
            }
        };
        let more = operation_ns.checked_mul((ahead + 1).saturating_add(ops as u64));
        more.and_then(|more| more.checked_add(from)).is_some_and(|end| end <= CLOCK_MAX_NS)
    }

    /// An upper bound of the time, in ns, that the link needs until this command and all that are not done have crossed it.
    #[inline]
    pub fn link_ns(&self, command: &Command) -> u64 {
        match self {
            Self::Event(scheduler) => scheduler.link_ns(command),
            Self::Timeline(_) => 0,
        }
    }

    /// A lower bound of the time of the next completion; `None` if no command is outstanding.
    pub fn next_at(&self) -> Option<u64> {
        either!(self, scheduler => scheduler.next_at())
    }

    /// A bound of when anything next happens on the flash, for the host or not; `None` while it is idle.
    pub fn next_work_at(&self) -> Option<u64> {
        either!(self, scheduler => scheduler.next_work_at())
    }

    /// Reports that nothing came until `at`, and that everything that completed by then was handed out.
    pub fn pass_to(&mut self, at: u64) {
        match self {
            // Its events have moved its time.
            Self::Event(_) => {}
            Self::Timeline(scheduler) => scheduler.pass_to(at),
        }
    }

    /// Time of the last event or submission, ns.
    pub fn now(&self) -> u64 {
        either!(self, scheduler => scheduler.now())
    }

    /// Number of operations of a task that are not done. The timeline only says whether there are any.
    pub fn outstanding_of(&self, task: Task) -> u64 {
        either!(self, scheduler => scheduler.outstanding_of(task))
    }

    /// Commands that are not done.
    pub fn outstanding(&self) -> u64 {
        either!(self, scheduler => scheduler.outstanding())
    }

    /// As [`EventScheduler::outstanding_time_ns`].
    pub fn outstanding_time_ns(&self) -> u128 {
        either!(self, scheduler => scheduler.outstanding_time_ns())
    }

    /// Flash operations executed; the timeline counts them when they are placed.
    pub fn operations(&self) -> u64 {
        either!(self, scheduler => scheduler.operations())
    }

    /// Number of host reads that went to the rest of their stripe because their die collected.
    pub fn reads_around(&self) -> u64 {
        either!(self, scheduler => scheduler.reads_around())
    }

    /// Reads served from the controller's buffer.
    pub fn buffered_reads(&self) -> u64 {
        either!(self, scheduler => scheduler.buffered_reads())
    }

    /// How long dies and channels were held so far.
    pub fn utilization(&self) -> Utilization {
        either!(self, scheduler => scheduler.utilization())
    }

    /// The temperature of the drive at `now`, up to which it ran; `None` if it has no heat.
    pub fn heat(&self, now: u64) -> Option<HeatReading> {
        Some(self.heat_kept()?.reading(now))
    }

    pub(crate) fn heat_kept(&self) -> Option<&Heat> {
        match self {
            Self::Event(scheduler) => scheduler.heat(),
            Self::Timeline(_) => None,
        }
    }

    pub(crate) fn heat_mut(&mut self) -> Option<&mut Heat> {
        match self {
            Self::Event(scheduler) => scheduler.heat_mut(),
            Self::Timeline(_) => None,
        }
    }

    /// Sets the heat to that which another schedule left.
    pub(crate) fn keep_heat(&mut self, heat: Option<Heat>) {
        if let (Self::Event(scheduler), Some(heat)) = (self, heat) {
            scheduler.set_heat(heat);
        }
    }

    /// Tracks programs and erases from now on, as a power cut needs it. Must be called before the first one is submitted.
    pub fn track_changes(&mut self) {
        either!(self, scheduler => scheduler.graph_mut().track_changes());
    }

    /// Counts `count` programs and erases as done that are not submitted.
    pub fn skip_changes(&mut self, count: usize) {
        either!(self, scheduler => scheduler.graph_mut().skip_changes(count));
    }

    /// Erases a block without an operation.
    pub(crate) fn skip_erase(&mut self, block: wane_units::BlockId) {
        either!(self, scheduler => scheduler.graph_mut().skip_erase(block));
    }

    /// Forgets the programs and erases that are done at `now`, the time up to which the scheduler ran, up to the first one that
    /// is not done. Returns how many of all submitted are forgotten.
    pub fn settle_changes(&mut self, now: u64) -> u64 {
        either!(self, scheduler => scheduler.graph_mut().settle_changes(now))
    }

    /// Programs and erases that were submitted or skipped so far.
    pub fn changes_seen(&self) -> u64 {
        either!(self, scheduler => scheduler.graph().changes_seen())
    }

    /// Lets all flash operations end, for the host or not. Returns when the last one ended, ns.
    pub fn run_out(&mut self) -> u64 {
        either!(self, scheduler => scheduler.run_out())
    }

    /// How far the programs and erases that were not forgotten are at `now`, in the order of submission.
    pub fn progress(&self, now: u64) -> Vec<Progress> {
        either!(self, scheduler => scheduler.graph().progress(now))
    }

    /// Whether nothing came to it yet, so that every new scheduler of the drive is equal.
    pub(crate) fn is_new(&self) -> bool {
        either!(self, scheduler => scheduler.is_new())
    }

    /// Saves the schedule, or reads it into a new scheduler of the same drive. The reading of its heat is saved by the clock.
    pub(crate) fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        archive.same("schedule.by-events", &matches!(self, Self::Event(_)))?;
        either!(self, scheduler => scheduler.archive(archive))
    }

    /// Number of records that were ever alive at once, with which memory grows.
    pub fn slots(&self) -> usize {
        either!(self, scheduler => scheduler.slots())
    }
}

#[cfg(test)]
mod tests {
    use wane_nand::OpKind;
    use wane_units::{BlockId, Bytes, Geometry};

    use super::*;
    use crate::config::{SchedulerConfig, Timing, operation_ns_bound};
    use crate::{CommandKind, EventScheduler, Timeline};

    #[test]
    fn operations_fit_until_they_could_end_beyond_the_clock() {
        let geometry = Geometry::new(1, 1, 1, 4, 16, Bytes(4096)).unwrap();
        let second = 1_000_000_000;
        let timing = Timing {
            read_ns: vec![second],
            program_ns: vec![second],
            erase_ns: 1000 * second,
            channel_bytes_per_second: None,
        };
        let config = SchedulerConfig::default();
        let bound = operation_ns_bound(&timing, &config, 4096, 2);
        assert_eq!(bound, 1000 * second);
        let event = EventScheduler::new(&geometry, timing.clone(), config).unwrap();
        let timeline = Timeline::new(&geometry, timing, config).unwrap();
        for mut scheduler in [Scheduler::Event(Box::new(event)), Scheduler::Timeline(Box::new(timeline))] {
            assert!(scheduler.fits(0, 1000, bound));
            // Five operations, and one more for what the command itself may take.
            let last = CLOCK_MAX_NS - 6 * bound;
            assert!(scheduler.fits(last, 5, bound) && !scheduler.fits(last + 1, 5, bound));
            assert!(!scheduler.fits(CLOCK_MAX_NS, usize::MAX, bound));
            let erase =
                FlashOp { kind: OpKind::Erase, task: Task::Host, block: BlockId(0), page: 0, bytes: 0, rereads: 0 };
            scheduler.submit(last, Command { token: 1, kind: CommandKind::Write, bytes: 0 }, &[erase; 5]);
            assert!(!scheduler.fits(last, 5, bound), "what was submitted before counts");
            while scheduler.work(u64::MAX) {}
            let end = last + 5 * bound;
            assert_eq!(scheduler.next_completion(u64::MAX).map(|completion| completion.at), Some(end));
        }
    }
}
