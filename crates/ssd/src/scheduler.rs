//! Either scheduler behind one name.

use wane_nand::{FlashOp, Task};

use crate::command::{Command, Completion};
use crate::event::EventScheduler;
use crate::node::Utilization;
use crate::timeline::Timeline;

/// What turns lists of flash operations into time.
#[derive(Clone, Debug)]
pub enum Scheduler {
    /// By events: classes, suspension, planes, collection modes.
    Event(Box<EventScheduler>),
    /// By placing each operation when it is submitted: several times faster, and plain.
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
