//! Either scheduler behind one name.

use wane_nand::{FlashOp, Task};

use crate::command::{Command, Completion};
use crate::event::EventScheduler;
use crate::node::{CLASSES, Usage};
use crate::timeline::Timeline;

/// What turns lists of flash operations into time.
#[derive(Clone, Debug)]
pub enum Scheduler {
    /// By events: classes, suspension, planes, collection modes.
    Event(Box<EventScheduler>),
    /// By placing each operation when it is submitted: several times faster, and plain.
    Timeline(Box<Timeline>),
}

/// For how long dies and channels were held.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Utilization {
    /// Share of the dies' time so far that they were held, 0 to 1.
    pub dies: f64,
    /// The same of the channels.
    pub channels: f64,
    /// Time that dies were held, summed over dies, by [`wane_nand::Task`], ns.
    pub die_held_ns: [u64; CLASSES],
    /// The same of the channels.
    pub channel_held_ns: [u64; CLASSES],
}

impl Utilization {
    pub(crate) fn of<'a>(
        now: u64,
        dies: impl Iterator<Item = &'a Usage>,
        channels: impl Iterator<Item = &'a Usage>,
    ) -> Self {
        let (dies, die_held_ns) = held(now, dies);
        let (channels, channel_held_ns) = held(now, channels);
        Self { dies, channels, die_held_ns, channel_held_ns }
    }
}

fn held<'a>(now: u64, usages: impl Iterator<Item = &'a Usage>) -> (f64, [u64; CLASSES]) {
    let (mut count, mut sums) = (0u64, [0; CLASSES]);
    for usage in usages {
        count += 1;
        for (sum, held) in sums.iter_mut().zip(usage.held_at(now)) {
            *sum += held;
        }
    }
    let whole = count as f64 * now as f64;
    let share = if whole > 0.0 { sums.iter().sum::<u64>() as f64 / whole } else { 0.0 };
    (share, sums)
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
    pub fn next_completion(&mut self, until: u64) -> Option<Completion> {
        either!(self, scheduler => scheduler.next_completion(until))
    }

    /// Time of the last event or submission, ns.
    pub fn now(&self) -> u64 {
        either!(self, scheduler => scheduler.now())
    }

    /// Operations of a task that are not done; of the timeline, whether there are any.
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

    /// Reads served from the controller's buffer.
    pub fn buffered_reads(&self) -> u64 {
        either!(self, scheduler => scheduler.buffered_reads())
    }

    /// For how long dies and channels were held so far.
    pub fn utilization(&self) -> Utilization {
        either!(self, scheduler => scheduler.utilization())
    }

    /// Records that were ever alive at once: what memory grows with.
    pub fn slots(&self) -> usize {
        either!(self, scheduler => scheduler.slots())
    }
}
