//! The time of an array, or of what lies below a file system. The host hands in batches, and a file system makes requests, as to any device; once time is
//! kept, these are parts of one request of the host, which is done with the last of them. So a read goes to the member with the shortest queue. A write is
//! done with its last copy. A program waits until its file system has written the blocks of its request.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use wane_archive::{Archive, ArchiveError};
use wane_blockdev::{
    Batch as Asked, BlockDevice, Breakdown, Completion, Kind, Living, Op, Request, RequestId, SectorRange, Served,
    Status, Stop, Timed, Took, Until, Work, live_on, pass_on,
};
use wane_raid::{MemberTime, Raid, as_array};
use wane_results::{ArrayDriveLatency, ArrayLatency, ArrayProbe, LatencyFigures};
use wane_ssd::{CLOCK_MAX_NS, Drive, Histogram};
use wane_units::{EndOfLife, Sectors, SimTime};

use crate::timed::{self, times};

/// A request of the host that is under way.
#[derive(Clone)]
struct Open {
    op: Op,
    bytes: u64,
    at: SimTime,
    /// Requests to the array that are not complete.
    waits: usize,
    is_failed: bool,
}

/// How long a member took for what the host asked, and how long the host waited for it.
#[derive(Clone, Debug, Default)]
pub(crate) struct MemberLatency {
    pub(crate) reads: Histogram,
    pub(crate) writes: Histogram,
    /// Time of requests of the host that waited for it last, in nanoseconds. What waited for several is divided among them.
    pub(crate) waited_for_ns: u128,
}

impl MemberLatency {
    fn was_asked(&self) -> bool {
        self.reads.count() + self.writes.count() > 0
    }

    /// Its answers to what the host asked.
    pub(crate) fn summarize(&self) -> ArrayLatency {
        let of = |histogram: &Histogram| (histogram.count() > 0).then(|| times(histogram));
        ArrayLatency { read: of(&self.reads), write: of(&self.writes) }
    }

    /// Share of the time that requests of the host took which waited for it last.
    pub(crate) fn share_of(&self, all: u128) -> Option<f64> {
        (all > 0).then(|| self.waited_for_ns as f64 / all as f64)
    }
}

/// A device whose batches and requests, once its time is kept, are parts of its host's requests: those between two calls of [`Timed::close`] are one. They
/// take the time that they take there, and are answered at once, as far as is known then: a failed write is told to the next one. What is written has no
/// bytes, or zeros.
#[derive(Clone)]
pub(crate) struct Queued {
    device: Box<dyn Living>,
    /// Whether time is kept. Until then all is handed on as it comes.
    is_on: bool,
    keeps_bytes: bool,
    /// When the last request of the host came.
    at: SimTime,
    is_over: bool,
    /// The number of the host's next request.
    next: u64,
    /// Requests to the array, each with the host's of which it is a part.
    parts: BTreeMap<RequestId, u64>,
    open: BTreeMap<u64, Open>,
    out: Vec<Completion>,
    /// Answers to requests that were submitted, whose parts may be under way.
    answers: Vec<Completion>,
    /// Requests of the host that are done, and wait to be handed out.
    ready: Vec<Served>,
    /// When the last request was done.
    last: SimTime,
    /// Why a write failed that was answered before.
    fault: Option<Status>,
    failed: u64,
    told: Vec<MemberTime>,
    members: Vec<MemberLatency>,
}

impl Queued {
    /// A device whose time is not kept yet.
    pub(crate) fn new(device: Box<dyn Living>) -> Self {
        Self {
            is_on: false,
            keeps_bytes: false,
            at: device.now(),
            device,
            is_over: false,
            next: 0,
            parts: BTreeMap::new(),
            open: BTreeMap::new(),
            out: Vec::new(),
            answers: Vec::new(),
            ready: Vec::new(),
            last: SimTime::ZERO,
            fault: None,
            failed: 0,
            told: Vec::new(),
            members: Vec::new(),
        }
    }

    /// Keeps time from now on. Its drives have clocks.
    pub(crate) fn keep_time(&mut self) {
        let mut members = 0;
        self.device.as_ref().members(&mut |_| members += 1);
        if let Some(array) = as_array(self.device.as_mut()) {
            array.keep_times(true);
        }
        (self.is_on, self.at, self.keeps_bytes) = (true, self.device.now(), self.device.features().keeps_bytes);
        self.members = vec![MemberLatency::default(); members];
    }

    /// Whether its time is kept.
    pub(crate) const fn keeps_time(&self) -> bool {
        self.is_on
    }

    /// The device.
    pub(crate) fn below(&self) -> &dyn Living {
        self.device.as_ref()
    }

    /// The same, to be changed.
    pub(crate) fn below_mut(&mut self) -> &mut dyn Living {
        self.device.as_mut()
    }

    /// Takes what is known of the member in a place, where another comes.
    pub(crate) fn take_member(&mut self, place: usize) -> MemberLatency {
        std::mem::take(&mut self.members[place])
    }

    /// Requests of the host that failed in some of their sectors.
    pub(crate) const fn failed(&self) -> u64 {
        self.failed
    }

    /// The figures of a probe after N array writes. `life_used` is the share of its rated wear that the most worn drive had used.
    pub(crate) fn probe(&self, at_array_writes: f64, life_used: Option<f64>, timed: &timed::Timed) -> ArrayProbe {
        let of_host = |figures: &Option<LatencyFigures>| figures.as_ref().map(|figures| figures.times);
        let waited: u128 = self.members.iter().map(|member| member.waited_for_ns).sum();
        let drives = self.members.iter().enumerate();
        ArrayProbe {
            at_array_writes,
            at_days: None,
            life_used,
            seconds: timed.elapsed_ns as f64 / 1e9,
            throughput: timed.throughput,
            failed: self.failed,
            host: ArrayLatency { read: of_host(&timed.latency.read), write: of_host(&timed.latency.write) },
            drives: drives
                .filter(|(_, member)| member.was_asked())
                .map(|(place, member)| ArrayDriveLatency {
                    place: place as u32,
                    run: None,
                    latency: member.summarize(),
                    waited_for: member.share_of(waited),
                })
                .collect(),
        }
    }

    /// When anything next happens.
    fn next_at(&self) -> Option<SimTime> {
        self.device.next_event_at().map(|next| next.max(self.device.now()))
    }

    /// Lets time run to an instant, and notes what is done then: it is handed out next.
    fn step(&mut self, to: SimTime) {
        let mut out = std::mem::take(&mut self.out);
        self.device.complete(to, &mut out);
        out.sort_by_key(|completion| completion.at);
        if let Some(array) = as_array(self.device.as_mut()) {
            array.take_times(&mut self.told);
        }
        for completion in out.drain(..) {
            self.note(&completion);
        }
        self.out = out;
        for MemberTime { member, kind, took, .. } in self.told.drain(..) {
            match kind {
                // One that found nothing took no time, and is none.
                Kind::Read if took.0 == 0 => {}
                Kind::Read => self.members[member].reads.record(took.0),
                Kind::Write | Kind::WriteZeroes => self.members[member].writes.record(took.0),
                Kind::Trim | Kind::Flush | Kind::Remap => {}
            }
        }
    }

    /// A part of a request is complete.
    fn note(&mut self, completion: &Completion) {
        let Some(token) = self.parts.remove(&completion.id) else { return };
        let Some(open) = self.open.get_mut(&token) else { return };
        open.waits -= 1;
        open.is_failed |= !completion.status.is_done();
        if completion.status.is_failure() && completion.kind.changes_contents() {
            self.fault = Some(completion.status.clone());
        }
        if open.waits > 0 {
            return;
        }
        let Open { op, bytes, at: submitted_at, is_failed, .. } = *open;
        self.open.remove(&token);
        self.failed += u64::from(is_failed);
        self.at = self.at.max(self.device.now());
        // What failed may be known at an instant before that of others that were heard of first.
        let at = completion.at.max(self.last).max(submitted_at);
        self.last = at;
        let took = at.0 - submitted_at.0;
        // The last that it waited for are those that answered at the same instant.
        let last = || self.told.iter().filter(|told| told.of == completion.id);
        let count = last().count() as u128;
        for told in last() {
            self.members[told.member].waited_for_ns += u128::from(took) / count;
        }
        let breakdown = self.breakdown(completion.id, took);
        self.ready.push(Served { token, kind: op, bytes, submitted_at: submitted_at.0, at: at.0, breakdown });
    }

    /// Hands out the requests that are done.
    fn hand_out(&mut self, each: &mut dyn FnMut(&Served)) {
        self.ready.drain(..).for_each(|served| each(&served));
    }

    /// Lets a parity array make durable what was written, as hosts do now and then: what was never flushed needs no record of its changes. No request of the
    /// host waits for it.
    pub(crate) fn flush(&mut self) {
        let device: &dyn Any = self.device.as_ref();
        if self.is_on && device.is::<Raid>() {
            self.device.submit(self.device.now(), Request::flush());
        }
    }

    /// Where the time of a request went that took so long, by its part that ended last, and by the request to a member that answered last. What came
    /// before that was submitted, or a device between array and drive took, counts as waiting for operations that must come first.
    fn breakdown(&self, part: RequestId, took: u64) -> Breakdown {
        let device: &dyn Any = self.device.as_ref();
        let of_drive = match device.downcast_ref::<Drive>() {
            Some(drive) => drive.breakdown(part),
            None => self.told.iter().find(|told| told.of == part).and_then(|told| {
                let mut members: Vec<&dyn Any> = Vec::new();
                self.device.as_ref().members(&mut |member| members.push(member));
                members.get(told.member)?.downcast_ref::<Drive>()?.breakdown(told.id)
            }),
        };
        let known = of_drive.filter(|of_drive| of_drive.total_ns() <= took).unwrap_or_default();
        Breakdown { dependency_ns: known.dependency_ns + took - known.total_ns(), ..known }
    }

    /// Lets time run until `is_there`, by `by` at the latest. Returns whether it is.
    fn run_until(
        &mut self,
        by: SimTime,
        stop: &AtomicBool,
        each: &mut dyn FnMut(&Served),
        is_there: impl Fn(&Self) -> bool,
    ) -> bool {
        self.hand_out(each);
        while !is_there(self) {
            if stop.load(Ordering::Relaxed) {
                return true;
            }
            match self.next_at() {
                Some(next) if next <= by => {
                    self.step(next);
                    self.hand_out(each);
                }
                Some(_) => return false,
                None => return true,
            }
        }
        self.at <= by
    }

    /// Makes a request to the device a part of the host's.
    fn ask(&mut self, request: Request) -> RequestId {
        let id = self.device.submit(self.device.now(), request);
        self.parts.insert(id, self.next);
        let (op, bytes, at) = (Op::Read, 0, self.at);
        self.open.entry(self.next).or_insert(Open { op, bytes, at, waits: 0, is_failed: false }).waits += 1;
        id
    }
}

impl BlockDevice for Queued {
    pass_on!(device: features capacity mapped_limit notices extents peek);

    fn submit(&mut self, at: SimTime, request: Request) -> RequestId {
        if !self.is_on {
            return self.device.submit(at, request);
        }
        let (kind, range) = (request.kind, request.range);
        let id = self.ask(request);
        let told = if kind.changes_contents() { self.fault.take() } else { None };
        let (status, at) = (told.unwrap_or(Status::Done), self.device.now());
        self.answers.push(Completion { id, submitted_at: at, at, kind, range, status, bytes: None });
        id
    }

    fn next_event_at(&self) -> Option<SimTime> {
        match self.is_on {
            false => self.device.next_event_at(),
            true => self.answers.first().map(|answer| answer.at),
        }
    }

    fn complete(&mut self, until: SimTime, out: &mut Vec<Completion>) {
        match self.is_on {
            false => self.device.complete(until, out),
            true => out.append(&mut self.answers),
        }
    }

    fn set_capacity(&mut self, at: SimTime, capacity: Sectors) -> Status {
        self.device.set_capacity(at.max(self.device.now()), capacity)
    }

    fn set_mapped_limit(&mut self, at: SimTime, limit: Sectors) -> Status {
        self.device.set_mapped_limit(at.max(self.device.now()), limit)
    }
}

impl Living for Queued {
    live_on!(device: now go_on work pass prefetch counters power_off power_on);

    fn batch(&mut self, at: SimTime, batch: &Asked<'_>) -> Took {
        if !self.is_on {
            return self.device.batch(at, batch);
        }
        let is_write = matches!(batch.work, Work::Write | Work::Rewrite);
        let refused = matches!(self.fault, Some(Status::ReadOnly(_) | Status::NoSpace(_)));
        let ended = self.device.end_of_life().or(refused.then_some(EndOfLife::SpareExhausted));
        if let Some(cause) = ended.filter(|_| is_write) {
            return Took::new(Sectors::ZERO, Stop::Dead(cause));
        }
        let done = batch.extents.iter().fold(Sectors::ZERO, |sum, extent| sum + extent.count);
        if batch.work == Work::Flush {
            self.ask(Request::flush());
        }
        for range in joined(batch.extents) {
            self.ask(match batch.work {
                Work::Read | Work::ReadToModify => Request::read(range),
                Work::Write | Work::Rewrite if self.keeps_bytes => Request::write(range, vec![0; range.len_bytes()]),
                Work::Write | Work::Rewrite => Request::write_without_bytes(range),
                Work::Trim => Request::trim(range),
                Work::Flush => unreachable!("a flush has no extents"),
            });
        }
        Took::new(done, Stop::Done)
    }

    fn members<'a>(&'a self, each: &mut dyn FnMut(&'a dyn Living)) {
        each(self.device.as_ref());
    }

    fn members_mut(&mut self, each: &mut dyn FnMut(&mut dyn Living)) {
        each(self.device.as_mut());
    }

    fn is_off(&self) -> bool {
        self.device.is_off()
    }

    fn end_of_life(&self) -> Option<EndOfLife> {
        self.device.end_of_life()
    }

    fn timed(&mut self) -> Option<&mut dyn Timed> {
        if self.is_on { Some(self) } else { None }
    }

    fn another(&self) -> Box<dyn Living> {
        Box::new(self.clone())
    }

    fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        if self.is_on {
            return Err(ArchiveError::Unsaved("a run is not kept while its array keeps time".to_owned()));
        }
        self.device.archive(archive)
    }
}

impl Timed for Queued {
    fn run(&mut self, until: Until, stop: &AtomicBool, each: &mut dyn FnMut(&Served)) -> bool {
        match until {
            Until::At(at) if at.0 > CLOCK_MAX_NS => {
                self.is_over = true;
                true
            }
            Until::At(at) => {
                self.run_until(at, stop, each, |_| false);
                if at > self.device.now() && !stop.load(Ordering::Relaxed) {
                    self.step(at);
                    self.hand_out(each);
                }
                self.at = self.at.max(at);
                true
            }
            Until::Below(depth, by) => self.run_until(by, stop, each, |queued| (queued.open.len() as u64) < depth),
            Until::Done(id, by) => self.run_until(by, stop, each, |queued| !queued.open.contains_key(&id.0)),
            Until::Idle => self.run_until(SimTime::MAX, stop, each, |queued| queued.open.is_empty()),
        }
    }

    fn close(&mut self, op: Op, bytes: u64) -> Option<RequestId> {
        let token = self.next;
        let open = self.open.get_mut(&token)?;
        (open.op, open.bytes) = (op, bytes);
        self.next += 1;
        if op == Op::Read {
            // One that found nothing is over now, and was none.
            self.step(self.device.now());
            let found_nothing = |served: &Served| served.token == token && served.latency_ns() == 0;
            if let Some(place) = self.ready.iter().position(found_nothing) {
                self.ready.remove(place);
                return None;
            }
        }
        Some(RequestId(token))
    }

    fn close_own(&mut self) {
        if let Some(time) = self.device.timed() {
            time.close_own();
        }
        self.open.remove(&self.next);
        self.next += 1;
    }

    fn is_over(&self) -> bool {
        self.is_over
    }

    fn at(&self) -> SimTime {
        self.at
    }
}

/// Extents that continue each other become one.
fn joined(extents: &[SectorRange]) -> Vec<SectorRange> {
    let mut all: Vec<SectorRange> = Vec::new();
    for extent in extents.iter().filter(|extent| !extent.is_empty()) {
        match all.last_mut() {
            Some(last) if last.start.0 + last.count.0 == extent.start.0 => last.count += extent.count,
            _ => all.push(*extent),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use wane_blockdev::{Delay, Delays, Ram};
    use wane_testkit::conformance;
    use wane_units::Nanos;

    use super::*;

    fn memory() -> Box<dyn Living> {
        Box::new(Delay::new(Ram::new(Sectors(4096)), Delays::all(Nanos(2_000))))
    }

    /// Until it keeps time it hands on all that comes. From then on it answers at once, which no block device may.
    #[test]
    fn a_device_whose_time_is_not_kept_yet_is_one_below_a_layer() {
        conformance::layer("time that is not kept", &|device| Box::new(Queued::new(device)));
        conformance::living_device("time that is not kept", &|| Box::new(Queued::new(memory())), true, 24);
    }
}
