//! A file system in virtual time: actors call it, and what a call leaves to be done takes time on a device.
//!
//! A call changes all state of the file system at its start, in the order of instants and, at one instant, of actors. Then the stages of its plan are
//! carried out one after the other, beside those of other actors. A call that makes a checkpoint waits for all that change something, and until it is
//! done no other begins: what the checkpoint frees could be written before it is trimmed. A mount does the same by its lock.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use wane_blockdev::{BlockDevice, Completion, Request, RequestId, Status};
use wane_fs::{Fault, Planned, Stages, Step, Volume};
use wane_units::{Nanos, SimTime};

mod actors;

pub use actors::{Latencies, RandomWriter, SequentialReader, Shrinker};

/// A file system whose calls leave plans.
pub type PlannedVolume<D> = Volume<Planned<D>>;

/// What calls cost beside what the device does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Costs {
    /// Time of a call.
    pub call: Nanos,
    /// Time to copy 4 KiB between a program and the cache.
    pub copy: Nanos,
    /// Most requests at the device at once.
    pub depth: usize,
}

impl Default for Costs {
    /// 2 us a call and 0.4 us a copy, as a mount was measured; 128 requests.
    fn default() -> Self {
        Self { call: Nanos(2_000), copy: Nanos(400), depth: 128 }
    }
}

/// What an actor did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Call {
    /// Bytes that were copied between it and the cache.
    pub copied: u64,
    /// Time until its next call, once this one is done.
    pub pause: Nanos,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// When it was asked for.
    pub asked_at: SimTime,
    /// When it was done.
    pub at: SimTime,
    /// Requests to the device.
    pub requests: u64,
    /// Whether a request failed.
    pub has_failed: bool,
}

impl Ended {
    /// How long it took, waiting included.
    pub fn latency(&self) -> Nanos {
        Nanos(self.at.0 - self.asked_at.0)
    }
}

/// Calls a file system, one call after the other.
pub trait Actor<D: BlockDevice> {
    /// Whether its next call changes something.
    fn changes(&self) -> bool;

    /// Makes its next call; `None` if it makes no more.
    fn call(&mut self, volume: &mut PlannedVolume<D>, at: SimTime) -> Option<Call>;

    /// Its call is done.
    fn ended(&mut self, ended: Ended);
}

/// How long actors call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// Until all of them are over.
    AllAreOver,
    /// Until the first of them is.
    FirstIsOver,
}

/// A call that is under way.
struct Current {
    asked_at: SimTime,
    call: Call,
    stages: VecDeque<wane_fs::Stage>,
    /// When the next stage may begin; `None` while one is under way.
    next_at: Option<SimTime>,
    /// Requests of the present stage that are not done.
    waits: usize,
    /// Whether it changes something.
    changes: bool,
    /// It makes a checkpoint, which waits for other calls.
    is_held: bool,
    requests: u64,
    has_failed: bool,
}

enum State {
    /// It makes its next call at this instant.
    Ready(SimTime),
    Busy(Box<Current>),
    Over,
}

/// See the head of this file.
pub struct Stack<D> {
    volume: PlannedVolume<D>,
    costs: Costs,
    now: SimTime,
    /// Requests that the device has, and whose they are.
    open: BTreeMap<RequestId, usize>,
    /// Requests that wait for their turn.
    waiting: VecDeque<(usize, Request)>,
    /// Actors whose checkpoint is on its way.
    frozen_by: BTreeSet<usize>,
}

impl<D: BlockDevice> Stack<D> {
    /// A file system whose device has run up to `now`.
    pub fn new(volume: PlannedVolume<D>, costs: Costs, now: SimTime) -> Self {
        let (open, waiting, frozen_by) = (BTreeMap::new(), VecDeque::new(), BTreeSet::new());
        Self { volume, costs, now, open, waiting, frozen_by }
    }

    /// The file system.
    pub const fn volume(&self) -> &PlannedVolume<D> {
        &self.volume
    }

    /// The file system, to be changed without time. What a call leaves to be done belongs to the next call of an actor.
    pub const fn volume_mut(&mut self) -> &mut PlannedVolume<D> {
        &mut self.volume
    }

    /// How far time has come.
    pub const fn now(&self) -> SimTime {
        self.now
    }

    /// Lets time pass without calls.
    pub fn pass(&mut self, time: Nanos) {
        self.now = self.now.saturating_add(time);
        let mut done = Vec::new();
        self.volume.port_mut().device_mut().complete(self.now, &mut done);
        debug_assert!(done.is_empty(), "no request is under way between two runs");
    }

    /// Lets actors call. In the end nothing is under way.
    pub fn run(&mut self, actors: &mut [&mut dyn Actor<D>], until: Until) {
        let mut states: Vec<State> = actors.iter().map(|_| State::Ready(self.now)).collect();
        let mut ends = false;
        while let Some(at) = self.next_at(&states, actors, ends) {
            debug_assert!(at >= self.now, "time does not fall");
            self.now = at;
            let mut done = Vec::new();
            self.volume.port_mut().device_mut().complete(at, &mut done);
            done.iter().for_each(|completion| self.settle(completion, &mut states));
            for (since, number) in ready(&states, at) {
                let actor = &mut actors[number];
                let waits = actor.changes() && self.is_frozen();
                if !ends && !waits {
                    states[number] = self.begin(number, *actor, since);
                }
            }
            for (number, actor) in actors.iter_mut().enumerate() {
                self.advance(number, *actor, &mut states[number]);
            }
            release_held(&mut states, self.now);
            ends = ends || (until == Until::FirstIsOver && matches!(states.first(), Some(State::Over)));
            self.submit_waiting();
        }
    }

    fn is_frozen(&self) -> bool {
        !self.frozen_by.is_empty()
    }

    /// The next instant at which something happens.
    fn next_at(&self, states: &[State], actors: &[&mut dyn Actor<D>], ends: bool) -> Option<SimTime> {
        let own = states.iter().zip(actors).filter_map(|(state, actor)| match state {
            State::Ready(_) if ends || (actor.changes() && self.is_frozen()) => None,
            State::Ready(at) => Some((*at).max(self.now)),
            State::Busy(current) => current.next_at,
            State::Over => None,
        });
        let device = (!self.open.is_empty()).then(|| self.volume.port().device().next_event_at()).flatten();
        own.chain(device.map(|at| at.max(self.now))).min()
    }

    /// Makes a call.
    fn begin(&mut self, number: usize, actor: &mut dyn Actor<D>, asked_at: SimTime) -> State {
        let changes = actor.changes();
        let Some(call) = actor.call(&mut self.volume, self.now) else { return State::Over };
        let stages: Stages = self.volume.port_mut().take_plan();
        let freezes = stages.iter().any(|stage| stage.is_of_checkpoint);
        if freezes {
            self.frozen_by.insert(number);
        }
        let copies = call.copied.div_ceil(4096);
        let work = Nanos(self.costs.call.0 + copies * self.costs.copy.0);
        State::Busy(Box::new(Current {
            asked_at,
            call,
            stages: stages.into(),
            next_at: Some(self.now.saturating_add(work)),
            waits: 0,
            changes,
            is_held: freezes,
            requests: 0,
            has_failed: false,
        }))
    }

    /// Begins stages of a call as far as their time has come, or ends it.
    fn advance(&mut self, number: usize, actor: &mut dyn Actor<D>, state: &mut State) {
        loop {
            let State::Busy(current) = state else { return };
            if current.waits > 0 || current.next_at.is_none_or(|at| at > self.now) {
                return;
            }
            if current.is_held {
                current.next_at = None;
                return;
            }
            let Some(stage) = current.stages.pop_front() else {
                self.frozen_by.remove(&number);
                let (asked_at, requests, has_failed) = (current.asked_at, current.requests, current.has_failed);
                let pause = current.call.pause;
                *state = State::Ready(self.now.saturating_add(pause));
                return actor.ended(Ended { asked_at, at: self.now, requests, has_failed });
            };
            for step in stage.steps {
                match step {
                    Step::Request(request) => {
                        current.waits += 1;
                        current.requests += 1;
                        self.waiting.push_back((number, request));
                    }
                    Step::MappedLimit(limit) => {
                        let (now, device) = (self.now, self.volume.port_mut().device_mut());
                        current.has_failed |= !device.set_mapped_limit(now, limit).is_done();
                    }
                    Step::Capacity(capacity) => {
                        let (now, device) = (self.now, self.volume.port_mut().device_mut());
                        current.has_failed |= !device.set_capacity(now, capacity).is_done();
                    }
                }
            }
            if current.waits > 0 {
                current.next_at = None;
            }
        }
    }

    /// Hands the device as many requests as it may have.
    fn submit_waiting(&mut self) {
        while self.open.len() < self.costs.depth
            && let Some((number, request)) = self.waiting.pop_front()
        {
            let id = self.volume.port_mut().device_mut().submit(self.now, request);
            self.open.insert(id, number);
        }
    }

    /// Takes note of what the device has done.
    fn settle(&mut self, completion: &Completion, states: &mut [State]) {
        let Some(number) = self.open.remove(&completion.id) else { return };
        let State::Busy(current) = &mut states[number] else { return };
        current.waits -= 1;
        if !completion.status.is_done() {
            current.has_failed = true;
            if completion.kind.changes_contents() {
                self.volume.note_failure(match &completion.status {
                    Status::NoSpace(_) => Fault::NoSpace,
                    Status::ReadOnly(_) => Fault::ReadOnly,
                    Status::Gone(_) => Fault::Gone,
                    _ => Fault::Medium,
                });
            }
        }
        if current.waits == 0 {
            current.next_at = Some(self.now);
        }
    }
}

/// Actors whose next call is due: the one that waits longest first.
fn ready(states: &[State], at: SimTime) -> Vec<(SimTime, usize)> {
    let due = states.iter().enumerate().filter_map(|(number, state)| match state {
        State::Ready(since) if *since <= at => Some((*since, number)),
        _ => None,
    });
    let mut due: Vec<(SimTime, usize)> = due.collect();
    due.sort_unstable();
    due
}

/// Lets a call go on whose checkpoint waited for others, once no other changes anything.
fn release_held(states: &mut [State], now: SimTime) {
    let busy = |state: &&mut State| matches!(state, State::Busy(current) if current.changes && !current.is_held);
    if states.iter_mut().filter(busy).count() > 0 {
        return;
    }
    // Calls that came at one instant may both make one: they take turns.
    let held = states.iter_mut().find_map(|state| match state {
        State::Busy(current) if current.is_held && current.next_at.is_none() => Some(current),
        _ => None,
    });
    if let Some(current) = held {
        current.is_held = false;
        current.next_at = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use wane_blockdev::{Blocking, Delay, Delays, Ram};
    use wane_fs::{Direct, FileKind, FormatConfig, Moment, MountConfig, NewFile, ROOT, format};
    use wane_units::Sectors;

    use super::*;

    const NOW: Moment = Moment { seconds: 0, nanos: 0 };
    const BLOCK: usize = 4096;

    /// Overwrites one block after the other, and makes every fourth durable.
    struct Writer {
        ino: u32,
        left: u32,
        ends: Vec<Ended>,
    }

    impl<D: BlockDevice> Actor<D> for Writer {
        fn changes(&self) -> bool {
            true
        }

        fn call(&mut self, volume: &mut PlannedVolume<D>, _at: SimTime) -> Option<Call> {
            self.left = self.left.checked_sub(1)?;
            let block = self.left % 64;
            volume.overwrite(self.ino, block..block + 1, NOW).unwrap();
            if self.left.is_multiple_of(4) {
                volume.fsync(self.ino).unwrap();
            }
            Some(Call { copied: 4096, pause: Nanos(0) })
        }

        fn ended(&mut self, ended: Ended) {
            self.ends.push(ended);
        }
    }

    /// Makes checkpoints.
    struct Syncer(u32, Vec<Ended>);

    impl<D: BlockDevice> Actor<D> for Syncer {
        fn changes(&self) -> bool {
            true
        }

        fn call(&mut self, volume: &mut PlannedVolume<D>, _at: SimTime) -> Option<Call> {
            self.0 = self.0.checked_sub(1)?;
            volume.sync().unwrap();
            Some(Call { copied: 0, pause: Nanos(50_000) })
        }

        fn ended(&mut self, ended: Ended) {
            self.1.push(ended);
        }
    }

    fn stack(writers: u32) -> (Stack<Delay<Ram>>, Vec<u32>) {
        let device = Delay::new(Ram::new(Sectors(1 << 16)), Delays::all(Nanos(100_000)));
        let port = Direct::hollow(Blocking::new(device), BLOCK);
        let config = FormatConfig { segment_bytes: 64 << 10, ..FormatConfig::new([0; 16], [0, 0]) };
        let mut volume = Volume::mount(format(port, &config, NOW, (0, 0)).unwrap(), &MountConfig::new(1)).unwrap();
        let new = NewFile { kind: FileKind::File, permissions: 0o644, uid: 0, gid: 0, rdev: 0 };
        let files = (0..writers).map(|number| volume.make(ROOT, number.to_string().as_bytes(), &new, NOW).unwrap().ino);
        let files: Vec<u32> = files.collect();
        volume.sync().unwrap();
        let now = volume.port().device().now();
        let volume = volume.on(|port| Planned::after(port, 512 << 10).unwrap());
        (Stack::new(volume, Costs::default(), now), files)
    }

    fn written(threads: u32) -> (u64, Nanos, f64) {
        let (mut stack, files) = stack(threads);
        let start = stack.now();
        let writer = |ino: &u32| Writer { ino: *ino, left: 800 / threads, ends: Vec::new() };
        let mut writers: Vec<Writer> = files.iter().map(writer).collect();
        let mut actors: Vec<&mut dyn Actor<_>> = writers.iter_mut().map(|writer| writer as &mut dyn Actor<_>).collect();
        stack.run(&mut actors, Until::AllAreOver);
        let took = Nanos(stack.now().0 - start.0);
        let ends = || writers.iter().flat_map(|writer| &writer.ends);
        assert!(ends().all(|ended| !ended.has_failed));
        let latencies: u64 = ends().map(|ended| ended.latency().0).sum();
        (ends().count() as u64, took, latencies as f64 / took.0 as f64)
    }

    #[test]
    fn calls_of_one_and_of_eight_threads_are_as_many_and_little_s_law_holds() {
        let (one, alone, busy_one) = written(1);
        let (eight, together, busy_eight) = written(8);
        assert_eq!((one, eight), (800, 800));
        // A thread makes its next call at once, so that N calls are under way on average.
        assert!((busy_one - 1.0).abs() < 1e-9, "{busy_one}");
        assert!((7.0..=8.0).contains(&busy_eight), "{busy_eight}");
        assert!(together < alone, "waiting for the device overlaps: {together:?} {alone:?}");
    }

    #[test]
    fn a_call_costs_time_even_if_the_device_has_nothing_to_do() {
        let (mut stack, files) = stack(1);
        let start = stack.now();
        let mut writer = Writer { ino: files[0], left: 3, ends: Vec::new() };
        writer.left = 4;
        stack.run(&mut [&mut writer], Until::AllAreOver);
        let latency = |number: usize| writer.ends[number].latency().0;
        // Three blocks into the cache, and one that is made durable.
        assert_eq!([latency(0), latency(1), latency(2)], [2_400; 3]);
        assert!(latency(3) > 100_000 && stack.now().0 - start.0 > 100_000);
    }

    #[test]
    fn calls_that_change_something_wait_for_a_checkpoint() {
        let (mut stack, files) = stack(1);
        let mut writer = Writer { ino: files[0], left: 4_001, ends: Vec::new() };
        let mut syncer = Syncer(20, Vec::new());
        stack.run(&mut [&mut syncer, &mut writer], Until::FirstIsOver);
        let cached = writer.ends.iter().filter(|ended| ended.requests == 0);
        let stalled = cached.filter(|ended| ended.latency().0 > 100_000).count();
        assert!(stalled > 0, "some of them came while one was on its way");
        assert_eq!(syncer.1.len(), 20);
    }
}
