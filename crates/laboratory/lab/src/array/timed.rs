//! How fast an array answers its host: requests with times, on a copy of it.
//!
//! A run ages its array by batches, which take no time. A look hands the copy the same requests one by one, as a host would, so that a read
//! goes to the member with the shortest queue, and a write is done with its last copy.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use wane_archive::{Archive, ArchiveError};
use wane_blockdev::{
    Batch as Asked, BlockDevice, Breakdown, Completion, Kind, Living, Op, Request, RequestId, SectorRange, Served,
    Stop, Timed, Took, Until, Work, all_of, each_of, live_on, pass_on,
};
use wane_raid::{MemberTime, as_array};
use wane_results::{ArrayDriveLatency, ArrayLatency, ArrayProbe};
use wane_sim::Stream;
use wane_ssd::{CLOCK_MAX_NS, ClockSpec, Drive, Histogram};
use wane_units::{Sectors, SimTime};
use wane_workload::{Arrival, Source, SourceError};

use crate::ahead::Ahead;
use crate::host::{Ended, Halt, Host};
use crate::run::cannot_go_on;
use crate::timed::{Requests, TimedSpec, times};

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

/// An array whose batches are submitted as requests. They take the time that they take there; those between two calls of [`Timed::close`] are
/// one request of the host. It is for a copy that is dropped: what it writes has no bytes, or zeros.
struct Queued {
    array: Box<dyn Living>,
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
    failed: u64,
    told: Vec<MemberTime>,
    members: Vec<[Histogram; 2]>,
}

impl Queued {
    fn new(mut array: Box<dyn Living>) -> Self {
        let mut members = 0;
        array.as_ref().members(&mut |_| members += 1);
        if let Some(array) = as_array(array.as_mut()) {
            array.keep_times(true);
        }
        Self {
            at: array.now(),
            keeps_bytes: array.features().keeps_bytes,
            array,
            is_over: false,
            next: 0,
            parts: BTreeMap::new(),
            open: BTreeMap::new(),
            out: Vec::new(),
            failed: 0,
            told: Vec::new(),
            members: vec![[Histogram::new(), Histogram::new()]; members],
        }
    }

    /// When anything next happens.
    fn next_at(&self) -> Option<SimTime> {
        self.array.next_event_at().map(|next| next.max(self.array.now()))
    }

    /// Lets time run to an instant, and hands out what is done then.
    fn step(&mut self, to: SimTime, each: &mut dyn FnMut(&Served)) {
        let mut out = std::mem::take(&mut self.out);
        self.array.complete(to, &mut out);
        for completion in out.drain(..) {
            self.note(&completion, each);
        }
        self.out = out;
        if let Some(array) = as_array(self.array.as_mut()) {
            array.take_times(&mut self.told);
        }
        for MemberTime { member, kind, took } in self.told.drain(..) {
            match kind {
                Kind::Read => self.members[member][0].record(took.0),
                Kind::Write | Kind::WriteZeroes => self.members[member][1].record(took.0),
                Kind::Trim | Kind::Flush | Kind::Remap => {}
            }
        }
    }

    /// A part of a request is complete.
    fn note(&mut self, completion: &Completion, each: &mut dyn FnMut(&Served)) {
        let Some(token) = self.parts.remove(&completion.id) else { return };
        let Some(open) = self.open.get_mut(&token) else { return };
        open.waits -= 1;
        open.is_failed |= !completion.status.is_done();
        if open.waits > 0 {
            return;
        }
        let Open { op, bytes, at: submitted_at, is_failed, .. } = *open;
        self.open.remove(&token);
        self.failed += u64::from(is_failed);
        self.at = self.at.max(self.array.now());
        // Above the drives nobody knows where the time went, and nobody is told.
        let breakdown = Breakdown { link_ns: completion.at.0 - submitted_at.0, ..Breakdown::default() };
        each(&Served { token, kind: op, bytes, submitted_at: submitted_at.0, at: completion.at.0, breakdown });
    }

    /// Lets time run until `is_there`, by `by` at the latest. Returns whether it is.
    fn run_until(
        &mut self,
        by: SimTime,
        stop: &AtomicBool,
        each: &mut dyn FnMut(&Served),
        is_there: impl Fn(&Self) -> bool,
    ) -> bool {
        while !is_there(self) {
            if stop.load(Ordering::Relaxed) {
                return true;
            }
            match self.next_at() {
                Some(next) if next <= by => self.step(next, each),
                Some(_) => return false,
                None => return true,
            }
        }
        self.at <= by
    }

    fn submit(&mut self, request: Request) {
        let id = self.array.submit(self.array.now(), request);
        self.parts.insert(id, self.next);
        let (op, bytes, at) = (Op::Read, 0, self.at);
        self.open.entry(self.next).or_insert(Open { op, bytes, at, waits: 0, is_failed: false }).waits += 1;
    }
}

impl BlockDevice for Queued {
    pass_on!(array: features capacity submit next_event_at complete set_capacity mapped_limit set_mapped_limit notices extents peek);
}

impl Living for Queued {
    live_on!(array: now go_on work pass prefetch counters members power_off power_on);

    fn batch(&mut self, _at: SimTime, batch: &Asked<'_>) -> Took {
        let is_write = matches!(batch.work, Work::Write | Work::Rewrite);
        if let Some(cause) = self.array.end_of_life().filter(|_| is_write) {
            return Took::new(Sectors::ZERO, Stop::Dead(cause));
        }
        let done = batch.extents.iter().fold(Sectors::ZERO, |sum, extent| sum + extent.count);
        if batch.work == Work::Flush {
            self.submit(Request::flush());
        }
        for range in joined(batch.extents) {
            self.submit(match batch.work {
                Work::Read | Work::ReadToModify => Request::read(range),
                Work::Write | Work::Rewrite if self.keeps_bytes => Request::write(range, vec![0; range.len_bytes()]),
                Work::Write | Work::Rewrite => Request::write_without_bytes(range),
                Work::Trim => Request::trim(range),
                Work::Flush => unreachable!("a flush has no extents"),
            });
        }
        Took::new(done, Stop::Done)
    }

    fn is_off(&self) -> bool {
        self.array.is_off()
    }

    fn end_of_life(&self) -> Option<wane_units::EndOfLife> {
        self.array.end_of_life()
    }

    fn timed(&mut self) -> Option<&mut dyn Timed> {
        Some(self)
    }

    fn another(&self) -> Box<dyn Living> {
        unreachable!("a look is made once")
    }

    fn archive(&mut self, _archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        Err(ArchiveError::Unsaved("a look at an array is not kept".to_owned()))
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
                if at > self.array.now() && !stop.load(Ordering::Relaxed) {
                    self.step(at, each);
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
        let open = self.open.get_mut(&self.next)?;
        (open.op, open.bytes) = (op, bytes);
        self.next += 1;
        Some(RequestId(self.next - 1))
    }

    fn close_own(&mut self) {
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

/// What an array is asked in a look.
pub(crate) struct Look {
    pub(crate) time: TimedSpec,
    /// The clock of each drive.
    pub(crate) clocks: Vec<ClockSpec>,
    pub(crate) source: Box<dyn Source>,
    pub(crate) arrivals: (Arrival, Stream),
    pub(crate) requests: u64,
    /// Days that pass before.
    pub(crate) days: f64,
}

/// What it answered.
pub(crate) struct Looked {
    pub(crate) probe: ArrayProbe,
    /// Sentences on the requests.
    pub(crate) notes: Vec<String>,
}

impl Look {
    /// Looks at a copy of an array, whose unit is of `unit` sectors. Its drives have power, or have none for good.
    ///
    /// # Errors
    /// The trace is damaged.
    pub(crate) fn at(
        mut self,
        mut array: Box<dyn Living>,
        unit: Sectors,
        stop: &AtomicBool,
    ) -> Result<Looked, SourceError> {
        start_clocks(array.as_mut(), &self.clocks);
        if self.days > 0.0 {
            array.pass(array.now(), wane_blockdev::Passing::Days(self.days));
        }
        let on = all_of::<Drive>(array.as_ref()).into_iter().filter(|drive| !drive.is_off());
        let life_used = on.filter_map(Drive::life_used).reduce(f64::max);
        let queued = Queued::new(array);
        let from = queued.at.0;
        let mut requests = Requests::above(&self.time, self.arrivals, from);
        let mut host = Host::wrapping(Box::new(queued), unit);
        let mut ahead = Ahead::default();
        let (mut served, mut ended) = (0, None);
        while served < self.requests && ended.is_none() {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            let Some(batch) = ahead.front(self.source.as_mut(), &host)? else { break };
            requests.arrive(host.device(), batch, u64::MAX, stop);
            ended = cannot_go_on(&mut host, stop);
            if ended.is_some() {
                break;
            }
            let outcome = host.serve(batch, &mut 0, &mut { u64::MAX }, stop);
            requests.submit(host.device(), batch);
            served += batch.requests;
            ahead.pop();
            if let Err(Halt::Ended(why)) = outcome {
                ended = Some(why);
            } else if let Err(why) = host.work(stop) {
                ended = Some(why);
            }
        }
        let above = requests.finish_above(host.device(), from, stop);
        let mut notes = self.source.notes();
        notes.extend(above.overload);
        if let Some(Ended::Died(_)) = ended {
            notes.push(format!("the array ended in its probe: {served} of {} requests were served", self.requests));
        }
        let queued: &dyn std::any::Any = host.living();
        let queued = queued.downcast_ref::<Queued>().expect("the host stands on it");
        let of = |[read, write]: &[Histogram; 2]| ArrayLatency { read: times_of(read), write: times_of(write) };
        let drives = queued.members.iter().enumerate();
        let probe = ArrayProbe {
            at_array_writes: 0.0,
            at_days: None,
            life_used,
            seconds: above.seconds,
            throughput: above.throughput,
            failed: queued.failed,
            host: ArrayLatency { read: times_of(&above.reads), write: times_of(&above.writes) },
            drives: drives
                .filter(|(_, [read, write])| read.count() + write.count() > 0)
                .map(|(place, both)| ArrayDriveLatency { place: place as u32, run: None, latency: of(both) })
                .collect(),
        };
        Ok(Looked { probe, notes })
    }
}

fn times_of(histogram: &Histogram) -> Option<wane_results::LatencyDistribution> {
    (histogram.count() > 0).then(|| times(histogram))
}

/// Starts a clock on each drive that has power, at the instant of the array.
fn start_clocks(array: &mut dyn Living, clocks: &[ClockSpec]) {
    let now = array.now();
    let mut place = 0;
    array.members_mut(&mut |member| {
        each_of::<Drive>(member, &mut |drive| {
            if !drive.is_off() {
                drive.keep_detail(true);
                drive.start_clock(&clocks[place]).expect("the clock was checked when the drive was planned");
                // It begins at 0.
                let mut unheard = Vec::new();
                drive.complete(now.max(Living::now(drive)), &mut unheard);
            }
        });
        place += 1;
    });
}
