//! What stands in the place of a member of which an array was given no device.

use wane_blockdev::{
    Archive, ArchiveError, Batch, BlockDevice, Completion, CompletionQueue, Features, Kind, Living, Passing,
    PowerError, Recovered, Request, RequestId, SectorRange, Status, Stop, Took,
};
use wane_units::{Counters, Fate, Sectors, SimTime};

/// A device that is not there: it has no power, and does not get any.
#[derive(Clone, Debug)]
pub(super) struct Missing {
    member: usize,
    capacity: Sectors,
    features: Features,
    now: SimTime,
    next_id: u64,
    ended: CompletionQueue,
    counters: Counters,
}

impl Missing {
    pub(super) fn new(member: usize, capacity: Sectors, features: Features, now: SimTime) -> Self {
        let (ended, counters) = (CompletionQueue::new(), Counters::default());
        Self { member, capacity, features, now, next_id: 0, ended, counters }
    }

    fn come_to(&mut self, at: SimTime) {
        assert!(at >= self.now, "time falls from {:?} to {at:?}", self.now);
        self.now = at;
    }
}

impl BlockDevice for Missing {
    fn features(&self) -> Features {
        self.features
    }

    fn capacity(&self) -> Sectors {
        self.capacity
    }

    fn submit(&mut self, at: SimTime, request: Request) -> RequestId {
        self.come_to(at);
        let id = RequestId(self.next_id);
        self.next_id += 1;
        let Request { kind, range, .. } = request;
        let status = Status::all_gone(if kind == Kind::Flush { SectorRange::EMPTY } else { range });
        self.ended.push(Completion { id, submitted_at: at, at, kind, range, status, bytes: None });
        id
    }

    fn next_event_at(&self) -> Option<SimTime> {
        self.ended.next_at()
    }

    fn complete(&mut self, until: SimTime, out: &mut Vec<Completion>) {
        self.come_to(until);
        self.ended.pop_until(until, out);
    }
}

impl Living for Missing {
    fn now(&self) -> SimTime {
        self.now
    }

    fn batch(&mut self, at: SimTime, _: &Batch<'_>) -> Took {
        self.come_to(at);
        Took::new(Sectors::ZERO, Stop::Gone)
    }

    fn go_on(&mut self, at: SimTime, _: Stop) -> Stop {
        self.come_to(at);
        Stop::Gone
    }

    fn pass(&mut self, at: SimTime, time: Passing) -> SimTime {
        self.come_to(at);
        if let Passing::Idle(time) = time {
            self.now = at.saturating_add(time);
        }
        self.now
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn is_off(&self) -> bool {
        true
    }

    fn power_off(&mut self, at: SimTime, _: &mut dyn FnMut() -> Fate) {
        self.come_to(at);
    }

    fn power_on(&mut self, at: SimTime) -> Result<Recovered, PowerError> {
        self.come_to(at);
        Err(PowerError::Lost(format!("no device is there for member {}", self.member)))
    }

    fn another(&self) -> Box<dyn Living> {
        Box::new(self.clone())
    }

    fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        archive.same("missing.member", &self.member)?;
        archive.field("missing.now", &mut self.now)?;
        archive.field("missing.next-id", &mut self.next_id)?;
        self.ended.archive(archive)
    }
}
