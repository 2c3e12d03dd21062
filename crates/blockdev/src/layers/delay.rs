//! A layer that makes requests take longer, with one delay for each kind.

use wane_units::{Nanos, SimTime};

use crate::{BlockDevice, Completion, CompletionQueue, Kind, pass_on};

/// How much longer requests take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delays {
    by_kind: [Nanos; Kind::ALL.len()],
}

impl Delays {
    /// The same for every kind.
    pub const fn all(delay: Nanos) -> Self {
        Self { by_kind: [delay; Kind::ALL.len()] }
    }

    /// Another delay for one kind.
    #[must_use]
    pub const fn with(mut self, kind: Kind, delay: Nanos) -> Self {
        self.by_kind[kind as usize] = delay;
        self
    }

    /// The delay of a kind.
    pub const fn of(&self, kind: Kind) -> Nanos {
        self.by_kind[kind as usize]
    }

    fn least(&self) -> Nanos {
        self.by_kind.into_iter().min().unwrap_or_default()
    }
}

/// Completes requests later than the device below does.
///
/// Flushes keep their rule: a flush is held back until all changes of contents that the device below completed before it are
/// complete here too.
#[derive(Clone, Debug)]
pub struct Delay<D> {
    device: D,
    delays: Delays,
    held: CompletionQueue,
    /// The last time at which a change of contents that the device below completed completes here.
    changes_done_at: SimTime,
    passing: Vec<Completion>,
}

impl<D: BlockDevice> Delay<D> {
    /// Wraps a device.
    pub fn new(device: D, delays: Delays) -> Self {
        Self { device, delays, held: CompletionQueue::new(), changes_done_at: SimTime::ZERO, passing: Vec::new() }
    }

    /// The device below.
    pub const fn device(&self) -> &D {
        &self.device
    }

    /// Returns the device below. Completions that are held back are lost.
    pub fn into_inner(self) -> D {
        self.device
    }
}

impl<D: BlockDevice> BlockDevice for Delay<D> {
    pass_on!(device: features capacity submit set_capacity notices extents);

    fn next_event_at(&self) -> Option<SimTime> {
        let below = self.device.next_event_at().map(|at| at.saturating_add(self.delays.least()));
        match (self.held.next_at(), below) {
            (Some(held), Some(below)) => Some(held.min(below)),
            (held, below) => held.or(below),
        }
    }

    fn complete(&mut self, until: SimTime, out: &mut Vec<Completion>) {
        self.device.complete(until, &mut self.passing);
        for mut completion in self.passing.drain(..) {
            completion.at = completion.at.saturating_add(self.delays.of(completion.kind));
            if completion.kind == Kind::Flush {
                completion.at = completion.at.max(self.changes_done_at);
            } else if completion.kind.changes_contents() {
                self.changes_done_at = self.changes_done_at.max(completion.at);
            }
            self.held.push(completion);
        }
        self.held.pop_until(until, out);
    }
}
