//! A layer that makes requests take longer, with one delay for each kind.

use wane_archive::{Archive, ArchiveError};
use wane_units::{Fate, Nanos, SimTime};

use crate::{BlockDevice, Completion, CompletionQueue, Kind, Living, live_on, pass_on};

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

    /// Holds back what the device below completes up to `until`.
    fn hold(&mut self, until: SimTime) {
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
    }
}

impl<D: BlockDevice> BlockDevice for Delay<D> {
    pass_on!(device: features capacity submit set_capacity mapped_limit set_mapped_limit notices extents peek);

    fn next_event_at(&self) -> Option<SimTime> {
        let below = self.device.next_event_at().map(|at| at.saturating_add(self.delays.least()));
        match (self.held.next_at(), below) {
            (Some(held), Some(below)) => Some(held.min(below)),
            (held, below) => held.or(below),
        }
    }

    fn complete(&mut self, until: SimTime, out: &mut Vec<Completion>) {
        self.hold(until);
        self.held.pop_until(until, out);
    }
}

impl<D: Living> Living for Delay<D> {
    live_on!(device: now batch go_on work pass prefetch counters members power_on);

    fn power_off(&mut self, at: SimTime, fate: &mut dyn FnMut() -> Fate) {
        self.device.power_off(at, fate);
        self.hold(at);
        self.held.cut_off(at);
        self.changes_done_at = self.changes_done_at.min(at);
    }

    fn another(&self) -> Box<dyn Living> {
        Box::new(Delay {
            device: self.device.another(),
            delays: self.delays,
            held: self.held.clone(),
            changes_done_at: self.changes_done_at,
            passing: self.passing.clone(),
        })
    }

    fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        self.held.archive(archive)?;
        archive.field("delay.changes-done-at", &mut self.changes_done_at)?;
        self.device.archive(archive)
    }
}
