//! The conformance suite finds broken devices: one for each rule, and the suite's message for it.

#![allow(clippy::unwrap_used, reason = "a test")]

use std::sync::atomic::{AtomicU64, Ordering};

use wane_blockdev::{
    BlockDevice, Completion, CompletionQueue, Effect, Extent, ExtentState, Fault, Features, Kind, Notice, Ram,
    RamConfig, Request, RequestId, SectorRange, Status, pass_on,
};
use wane_testkit::conformance::try_block_device;
use wane_units::{Nanos, Sectors, SimTime};

/// Which rule is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    RunsTooFar,
    LosesACompletion,
    CompletesTwice,
    BoundTooLate,
    BoundStays,
    NoBound,
    OutOfOrder,
    FallingIds,
    FlushOvertakes,
    DependsOnTheCut,
    NeverTheSame,
    TakesTimeBack,
    NoticesTwice,
    NoticesNothing,
    ExtentsWithGaps,
    ExtentsEnd,
    ExtentsLie,
    KeepsItsCapacity,
    RefusesWhatIsOutstanding,
    RefusesEmptyRanges,
    EndsWrapAround,
    NamesForeignSectors,
    NamesNoSectors,
    ReadsAreReadOnly,
    IsGoneInPart,
    IsGoneAndWrites,
    BytesForWrites,
    ShortReads,
    ForgetsFua,
    AnswersAnother,
    LooksAtThePast,
    LooksTooFar,
    LooksFromMemory,
    LosesWhatItReads,
    KeepsItsLimit,
    ForgetsItsLimit,
    LimitNamesNothing,
    LimitBelowData,
}

struct Broken {
    device: Ram,
    how: How,
    held: CompletionQueue,
    last: SimTime,
    ids: u64,
    completed: u64,
}

/// Counts devices over the whole process, as real time would run on.
static DEVICES: AtomicU64 = AtomicU64::new(0);

impl Broken {
    fn new(how: How) -> Self {
        let started = DEVICES.fetch_add(1, Ordering::Relaxed);
        let latency = Nanos(if how == How::NeverTheSame { 3_000 + started } else { 3_000 });
        let config = RamConfig { latency, ..RamConfig::new(Sectors(400)) };
        let device = Ram::with(config).unwrap();
        Self { device, how, held: CompletionQueue::new(), last: SimTime::ZERO, ids: 0, completed: 0 }
    }

    fn spoil(&self, done: &mut Completion, until: SimTime) {
        let read = done.kind == Kind::Read;
        match self.how {
            How::RunsTooFar => done.at += Nanos(1),
            How::DependsOnTheCut => done.at = until.min(SimTime(done.at.0 + 500)),
            How::RefusesWhatIsOutstanding
                if done.status.is_done() && !done.range.lies_within(self.device.capacity()) =>
            {
                done.status = Status::OutOfRange;
            }
            How::RefusesEmptyRanges if done.range.is_empty() => done.status = Status::OutOfRange,
            How::EndsWrapAround if done.range.end().is_none() => done.status = Status::Done,
            How::NamesForeignSectors if read && !done.range.is_empty() && done.status.is_done() => {
                done.status = Status::MediumError(vec![SectorRange::new(done.range.start, Sectors(399))]);
            }
            How::NamesNoSectors if done.status.is_done() => done.status = Status::MediumError(Vec::new()),
            How::ReadsAreReadOnly if read && !done.range.is_empty() && done.status.is_done() => {
                done.status = Status::ReadOnly(vec![done.range]);
            }
            How::IsGoneInPart if done.kind == Kind::Write && done.range.count.0 > 1 && done.status.is_done() => {
                done.status = Status::Gone(vec![done.range.first(Sectors(1))]);
            }
            How::IsGoneAndWrites if done.kind == Kind::Write && !done.range.is_empty() && done.status.is_done() => {
                done.status = Status::Gone(vec![done.range]);
            }
            How::BytesForWrites if done.kind == Kind::Write => done.bytes = Some(Vec::new()),
            How::LimitNamesNothing if matches!(done.status, Status::NoSpace(_)) => done.status = Status::Done,
            How::ShortReads => done.bytes = done.bytes.take().map(|bytes| bytes.get(512..).unwrap_or(&[]).to_vec()),
            How::AnswersAnother => done.range.count.0 ^= 1,
            _ => {}
        }
    }
}

impl BlockDevice for Broken {
    pass_on!(device: capacity);

    fn mapped_limit(&self) -> Sectors {
        if self.how == How::ForgetsItsLimit { self.device.capacity() } else { self.device.mapped_limit() }
    }

    fn set_mapped_limit(&mut self, at: SimTime, limit: Sectors) -> Status {
        match (self.how, self.device.set_mapped_limit(at, limit)) {
            (How::KeepsItsLimit, Status::Done) => self.device.set_mapped_limit(at, self.device.capacity()),
            (How::LimitBelowData, Status::NoSpace(_)) => Status::Done,
            (_, status) => status,
        }
    }

    fn features(&self) -> Features {
        let features = self.device.features();
        Features { fua: self.how != How::ForgetsFua, ..features }
    }

    fn submit(&mut self, at: SimTime, request: Request) -> RequestId {
        let at = if self.how == How::TakesTimeBack { at.max(self.last) } else { at };
        self.last = at;
        let id = self.device.submit(at, request);
        self.ids += 1;
        if self.how == How::FallingIds { RequestId(id.0 ^ 1) } else { id }
    }

    fn next_event_at(&self) -> Option<SimTime> {
        let inner = self.device.next_event_at();
        match self.how {
            How::BoundTooLate => inner.map(|at| at + Nanos(1)),
            How::BoundStays => inner.map(|at| SimTime(at.0.saturating_sub(20_000))),
            How::NoBound => None,
            How::FlushOvertakes => inner.into_iter().chain(self.held.next_at()).min(),
            _ => inner,
        }
    }

    fn complete(&mut self, until: SimTime, out: &mut Vec<Completion>) {
        let until = if self.how == How::TakesTimeBack { until.max(self.last) } else { until };
        self.last = until;
        let first = out.len();
        self.device.complete(until, out);
        for done in &mut out[first..] {
            self.spoil(done, until);
            self.completed += 1;
            if self.how == How::FallingIds {
                done.id.0 ^= 1;
            }
        }
        match self.how {
            How::LosesACompletion if self.completed > 4 && out.len() > first => drop(out.pop()),
            How::CompletesTwice if self.completed > 4 && out.len() > first => {
                let again = out[first].clone();
                out.push(again);
            }
            How::OutOfOrder => out[first..].reverse(),
            How::FlushOvertakes => {
                for mut done in out.drain(first..) {
                    done.at.0 += if done.kind == Kind::Write { 700 } else { 0 };
                    self.held.push(done);
                }
                self.held.pop_until(until, out);
            }
            _ => {}
        }
    }

    fn set_capacity(&mut self, at: SimTime, capacity: Sectors) -> Status {
        if self.how == How::KeepsItsCapacity { Status::Done } else { self.device.set_capacity(at, capacity) }
    }

    fn notices(&mut self, out: &mut Vec<Notice>) {
        match self.how {
            How::NoticesTwice => self.device.clone().notices(out),
            How::NoticesNothing => {}
            _ => self.device.notices(out),
        }
    }

    fn peek(&self, range: SectorRange, bytes: &mut [u8]) -> Option<Vec<SectorRange>> {
        match self.how {
            How::LooksTooFar if !range.lies_within(self.capacity()) => Some(Vec::new()),
            _ if !range.lies_within(self.capacity()) => None,
            How::LooksAtThePast => {
                bytes.fill(0);
                Some(Vec::new())
            }
            How::LooksFromMemory => Some(Vec::new()),
            How::LosesWhatItReads if !range.is_empty() => {
                bytes.fill(0);
                Some(vec![range])
            }
            _ => self.device.peek(range, bytes),
        }
    }

    fn extents(&self, range: SectorRange, out: &mut Vec<Extent>) {
        self.device.extents(range, out);
        match self.how {
            How::ExtentsWithGaps if out.len() > 1 => drop(out.remove(0)),
            How::ExtentsEnd => out.clear(),
            How::ExtentsLie => out.iter_mut().for_each(|extent| extent.state = ExtentState::Zeroes),
            _ => {}
        }
    }
}

#[test]
fn every_broken_rule_is_found() {
    let table = [
        (How::RunsTooFar, "hands out request"),
        (How::LosesACompletion, "is answered by|never completes|outstanding"),
        (How::CompletesTwice, "out of order|twice|were outstanding|is answered by"),
        (How::BoundTooLate, "before the bound"),
        (How::BoundStays, "the bound"),
        (How::NoBound, "is answered by|with 1 requests outstanding"),
        (How::OutOfOrder, "out of order"),
        (How::FallingIds, "ids must rise"),
        (How::FlushOvertakes, "a change before it"),
        (How::DependsOnTheCut, "with the time cut"),
        (How::NeverTheSame, "with the time cut AsGiven"),
        (How::TakesTimeBack, "is taken after"),
        (How::NoticesTwice, "given twice"),
        (How::NoticesNothing, "notices give"),
        (How::ExtentsWithGaps, "follows at|gives the state"),
        (How::ExtentsEnd, "no extent is given|gives the state"),
        (How::ExtentsLie, "is reported as|maps more|in use"),
        (How::KeepsItsCapacity, "capacity"),
        (How::RefusesWhatIsOutstanding, "around a fall of capacity"),
        (How::RefusesEmptyRanges, "ends as OutOfRange"),
        (How::EndsWrapAround, "ends as Done"),
        (How::NamesForeignSectors, "outside its request"),
        (How::NamesNoSectors, "names no sector"),
        (How::ReadsAreReadOnly, "ends as read-only"),
        (How::IsGoneInPart, "does not name the whole request"),
        (How::IsGoneAndWrites, "may hold|is reported as"),
        (How::BytesForWrites, "came back with bytes"),
        (How::ShortReads, "brings"),
        (How::ForgetsFua, "must be refused as Fua"),
        (How::AnswersAnother, "completes as"),
        (How::LooksAtThePast, "a look at sector"),
        (How::LooksTooFar, "goes beyond the capacity"),
        (How::LooksFromMemory, "two looks"),
        (How::LosesWhatItReads, "a look says"),
        (How::KeepsItsLimit, "a mapped limit of 16"),
        (How::ForgetsItsLimit, "a mapped limit of 16"),
        (How::LimitNamesNothing, "within a mapped limit"),
        (How::LimitBelowData, "a mapped limit of 8"),
    ];
    for (how, say) in table {
        found(&format!("{how:?}"), say, &|| Box::new(Broken::new(how)));
    }
}

/// Devices that report as done what they did not do.
#[test]
fn every_lie_is_found() {
    let torn = Effect::Torn { first: Sectors(1) };
    let table = [
        (Kind::Write, torn, "may hold|within a mapped limit"),
        (Kind::Write, Effect::DROPPED, "may hold|within a mapped limit"),
        (Kind::WriteZeroes, torn, "may hold|is reported as|within a mapped limit"),
        (Kind::Trim, torn, "may hold"),
        (Kind::Remap, Effect::DROPPED, "may hold|is reported as"),
        (Kind::Read, torn, "may hold"),
    ];
    for (kind, effect, say) in table {
        let make = || {
            let device = Fault::new(Ram::new(Sectors(400)));
            Box::new((0..30).fold(device, |device, number| device.with_nth_of(kind, number, effect)))
                as Box<dyn BlockDevice>
        };
        found(&format!("{kind} with {effect:?}"), say, &make);
    }
}

fn found(name: &str, say: &str, make: &dyn Fn() -> Box<dyn BlockDevice>) {
    let broken = try_block_device(make, 200).expect_err(name);
    assert!(say.split('|').any(|part| broken.contains(part)), "{name} is found as: {broken}");
}
