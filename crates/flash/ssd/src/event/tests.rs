//! Random drives: nothing stalls, every dependency holds, dies do one thing at a time, and collections hold back what they
//! should. The rules are derived by brute force from the lists, not from the scheduler.

use proptest::prelude::*;
use wane_nand::{OpKind, Purpose};
use wane_sim::{Stream, Streams};
use wane_units::{BlockId, Bytes};

use super::*;
use crate::command::CommandKind;
use crate::config::{Link, MultiPlane, Processors, Suspend, WriteCache};
use crate::node::Kind;

/// An operation that is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Logged {
    sequence: u64,
    kind: Kind,
    die: u32,
    plane: u32,
    /// Meaningless for reads served from the buffer.
    start: u64,
    end: u64,
}

impl EventScheduler {
    pub(super) fn log_operation(&mut self, id: u32) {
        let node = &self.nodes[id];
        let on_flash = node.block < self.geometry.blocks();
        let plane = if on_flash { self.geometry.plane_of(BlockId(node.block)).0 } else { 0 };
        self.log.push(Logged {
            sequence: node.sequence,
            kind: node.kind,
            die: node.die,
            plane,
            start: node.started,
            end: self.now,
        });
    }
}

const PAGES: u32 = 4;

pub(crate) fn geometry() -> Geometry {
    Geometry::new(2, 2, 2, 3, PAGES, Bytes(4096)).unwrap()
}

#[derive(Clone, Copy)]
enum Began {
    /// A read of one page of this block. Only an erase of the block may follow.
    Read(u32),
    /// Relocation reads into a page of this block: its program, for the same task.
    Page(Task, u32),
}

/// Firmware that obeys the rules of flash and no others.
pub(crate) struct Firmware {
    stream: Stream,
    fill: Vec<u32>,
    /// What one command began and a later one continues.
    began: Option<Began>,
    pub(crate) ops: Vec<FlashOp>,
}

impl Firmware {
    pub(crate) fn new(seed: u64) -> Self {
        Self {
            stream: Streams::new(seed).stream("firmware"),
            fill: vec![0; geometry().blocks() as usize],
            began: None,
            ops: Vec::new(),
        }
    }

    fn below(&mut self, bound: u32) -> u32 {
        self.stream.below(u64::from(bound)) as u32
    }

    fn push(&mut self, kind: OpKind, task: Task, block: u32, page: u32) {
        let rereads = if matches!(kind, OpKind::Read(_)) && self.stream.chance(0.2) { self.below(4) } else { 0 };
        let bytes = 1024 * (1 + self.below(4));
        self.ops.push(FlashOp { kind, task, block: BlockId(block), page, bytes, rereads });
    }

    fn block(&mut self, wanted: impl Fn(u32) -> bool) -> Option<u32> {
        let first = self.below(self.fill.len() as u32);
        (0..self.fill.len() as u32)
            .map(|step| (first + step) % self.fill.len() as u32)
            .find(|block| wanted(self.fill[*block as usize]))
    }

    fn program(&mut self, task: Task, block: u32) {
        self.push(OpKind::Program, task, block, self.fill[block as usize]);
        self.fill[block as usize] += 1;
    }

    fn read(&mut self, task: Task, purpose: Purpose) {
        let Some(block) = self.block(|fill| fill > 0) else { return };
        let page = self.below(self.fill[block as usize]);
        self.push(OpKind::Read(purpose), task, block, page);
        if self.stream.chance(0.15) {
            for _ in 0..1 + self.below(3) {
                if let Some(block) = self.block(|fill| fill > 0) {
                    let page = self.below(self.fill[block as usize]);
                    self.push(OpKind::Read(Purpose::Recover), task, block, page);
                }
            }
        }
    }

    /// Moves some pages of a block elsewhere and, mostly, erases it. Some pages stay in the controller.
    fn collect(&mut self, task: Task) {
        let Some(victim) = self.block(|fill| fill > 0) else { return };
        for page in 0..self.fill[victim as usize] {
            let target = self.block(|fill| fill < PAGES).filter(|target| *target != victim);
            let Some(target) = target.filter(|_| self.stream.chance(0.6)) else { continue };
            self.push(OpKind::Read(Purpose::Relocate(BlockId(target))), task, victim, page);
            if self.stream.chance(0.2) {
                self.read(task, Purpose::Relocate(BlockId(target)));
            }
            if self.stream.chance(0.8) {
                self.program(task, target);
            }
        }
        if self.stream.chance(0.9) {
            self.push(OpKind::Erase, task, victim, 0);
            self.fill[victim as usize] = 0;
        }
    }

    /// A page of parity, whose data lie in pages that were programmed before.
    fn protect(&mut self, task: Task) {
        if let Some(block) = self.block(|fill| fill < PAGES) {
            self.program(task, block);
        }
    }

    /// Relocation reads, for which a later command's program waits.
    fn gather(&mut self) {
        let Some(target) = self.block(|fill| fill < PAGES) else { return };
        let task = Task::ALL[1 + self.below(3) as usize];
        for _ in 0..1 + self.below(2) {
            self.read(task, Purpose::Relocate(BlockId(target)));
        }
        self.began = Some(Began::Page(task, target));
    }

    fn go_on(&mut self, began: Began) {
        match began {
            Began::Read(block) => {
                let task = Task::ALL[1 + self.below(3) as usize];
                self.push(OpKind::Erase, task, block, 0);
                self.fill[block as usize] = 0;
            }
            Began::Page(task, target) if self.fill[target as usize] < PAGES => self.program(task, target),
            Began::Page(..) => {}
        }
    }

    pub(crate) fn command(&mut self, token: u64) -> Command {
        self.ops.clear();
        let kind = match self.below(10) {
            0..4 => CommandKind::Read,
            4..8 => CommandKind::Write,
            8 => CommandKind::Trim,
            _ => CommandKind::Flush,
        };
        if let Some(began) = self.began.take() {
            self.go_on(began);
        }
        for _ in 0..self.below(4) {
            match kind {
                CommandKind::Read => self.read(Task::Host, Purpose::Serve),
                CommandKind::Write => {
                    if let Some(block) = self.block(|fill| fill < PAGES) {
                        self.program(Task::Host, block);
                    }
                }
                _ => {}
            }
            if self.stream.chance(0.3) {
                let task = Task::ALL[1 + self.below(3) as usize];
                self.collect(task);
                if self.stream.chance(0.2) {
                    self.protect(task);
                }
            }
            if self.stream.chance(0.05) {
                self.push(OpKind::Buffered, Task::Host, u32::MAX, 0);
            }
        }
        if let [FlashOp { kind: OpKind::Read(Purpose::Serve), block, .. }] = self.ops[..] {
            self.began = self.stream.chance(0.5).then_some(Began::Read(block.0));
        } else if self.stream.chance(0.2) {
            self.gather();
        }
        Command { token, kind, bytes: 1024 * u64::from(self.below(8)) }
    }
}

/// What was submitted: the operation, when, and in which list.
type History = Vec<(FlashOp, u64, usize)>;

fn timing(stream: &mut Stream) -> Timing {
    let mut times = |bound: u64| (0..1 + stream.below(3)).map(|_| stream.below(bound)).collect::<Vec<_>>();
    let (read_ns, program_ns) = (times(60), times(400));
    let erase_ns = stream.below(2000);
    let channel = stream.chance(0.8).then(|| 20_000_000 + stream.below(1_000_000_000));
    Timing { read_ns, program_ns, erase_ns, channel_bytes_per_second: channel }
}

fn run(seed: u64, config: SchedulerConfig, commands: u64) -> (EventScheduler, History, Vec<Completion>) {
    let mut stream = Streams::new(seed).stream("run");
    let mut scheduler = EventScheduler::new(&geometry(), timing(&mut stream), config).unwrap();
    let mut firmware = Firmware::new(seed);
    let (mut history, mut done, mut at) = (History::new(), Vec::new(), 0);
    for token in 0..commands {
        at += if stream.chance(0.3) { 0 } else { stream.below(600) };
        if stream.chance(0.7) {
            done.extend(std::iter::from_fn(|| scheduler.next_completion(at).copied()));
        }
        let command = firmware.command(token);
        history.extend(firmware.ops.iter().map(|op| (*op, at, token as usize)));
        scheduler.submit(at, command, &firmware.ops);
    }
    done.extend(std::iter::from_fn(|| scheduler.next_completion(u64::MAX).copied()));
    (scheduler, history, done)
}

fn configs() -> impl Strategy<Value = SchedulerConfig> {
    let orders = prop_oneof![Just(Order::FirstCome), Just(Order::Priority)];
    let reads = prop_oneof![Just(ReadPriority::No), Just(ReadPriority::Yes)];
    let suspends = prop_oneof![Just(Suspend::None), Just(Suspend::Program), Just(Suspend::Erase), Just(Suspend::Both)];
    let modes = [Collection::Foreground, Collection::Background, Collection::Preemptible, Collection::Rotating];
    let collections = (prop::sample::select(modes.to_vec()), prop::option::of(1..3u32));
    let planes = prop_oneof![Just(MultiPlane::Off), Just(MultiPlane::On)];
    let caches =
        prop::option::of((1..20_000u64, 0..50u64).prop_map(|(bytes, latency_ns)| WriteCache { bytes, latency_ns }));
    let processors = prop::option::of((1..4u32, 0..30u64).prop_map(|(count, think_ns)| Processors { count, think_ns }));
    let links = prop::option::of((prop::option::of(1_000_000..100_000_000_000u64), 1..200u64))
        .prop_map(|link| link.map(|(bytes_per_second, command_ns)| Link { bytes_per_second, command_ns }));
    (orders, reads, suspends, 0..40u64, collections, planes, caches, (processors, links)).prop_map(
        |(
            order,
            read_priority,
            suspend,
            suspend_ns,
            (collection, group_dies),
            multi_plane,
            write_cache,
            (processors, link),
        )| {
            SchedulerConfig {
                order,
                read_priority,
                suspend,
                suspend_ns,
                collection,
                group_dies,
                multi_plane,
                write_cache,
                processors,
                link,
            }
        },
    )
}

/// Each operation's log entry, by sequence.
fn by_sequence(scheduler: &EventScheduler, history: &History) -> Vec<Logged> {
    let mut log = scheduler.log.clone();
    log.sort_by_key(|entry| entry.sequence);
    assert_eq!(log.len(), history.len(), "every operation ends");
    assert!(log.iter().zip(0..).all(|(entry, sequence)| entry.sequence == sequence));
    log
}

/// Whether a page takes data of the block that its task empties: the last relocation read into its block since the program
/// before it is the task's, and comes after the task's last erase.
fn takes_relocated(history: &History, program: usize) -> bool {
    let FlashOp { block, task, .. } = history[program].0;
    let mut before = history[..program].iter().rev().map(|(op, _, _)| op);
    let last = before.find(|op| match op.kind {
        OpKind::Program => op.block == block,
        OpKind::Erase => op.task == task,
        kind => kind == OpKind::Read(Purpose::Relocate(block)),
    });
    last.is_some_and(|op| matches!(op.kind, OpKind::Read(_)) && op.task == task)
}

/// Operations that `index` has to wait for, by the rules of [`FlashOp`].
fn waits_for(history: &History, log: &[Logged], index: usize) -> Vec<usize> {
    let op = history[index].0;
    let before = || (0..index).rev();
    let of = |other: usize| history[other].0;
    let changes = |other: &usize| matches!(of(*other).kind, OpKind::Program | OpKind::Erase);
    let relocates = |other: &usize, block: BlockId| of(*other).kind == OpKind::Read(Purpose::Relocate(block));
    match op.kind {
        OpKind::Program => {
            let previous = before().find(|other| of(*other).kind == OpKind::Program && of(*other).block == op.block);
            let reads = before().filter(|other| relocates(other, op.block) && Some(*other) > previous);
            let changed = before().filter(|other| changes(other) && of(*other).block == op.block);
            reads.chain(changed).collect()
        }
        OpKind::Erase => {
            let own = |other: &usize| of(*other).task == op.task;
            let moves = |other: &usize| match of(*other).kind {
                OpKind::Program => takes_relocated(history, *other),
                kind => matches!(kind, OpKind::Read(Purpose::Relocate(_))),
            };
            // The erases of one victim, however many, wait for the same relocations.
            let job = before()
                .filter(own)
                .filter(|other| moves(other) || of(*other).kind == OpKind::Erase)
                .skip_while(|other| of(*other).kind == OpKind::Erase)
                .take_while(|other| of(*other).kind != OpKind::Erase);
            let block = before()
                .filter(|other| of(*other).block == op.block && (changes(other) || log[*other].kind == Kind::Read));
            job.chain(block).collect()
        }
        OpKind::Read(Purpose::Recover) => before()
            .find(|other| matches!(of(*other).kind, OpKind::Read(purpose) if purpose != Purpose::Recover))
            .into_iter()
            .collect(),
        OpKind::Read(_) | OpKind::Buffered | OpKind::Barrier(_) => Vec::new(),
    }
}

fn check_dependencies(history: &History, log: &[Logged]) {
    for index in 0..history.len() {
        let (entry, (op, at, list)) = (log[index], history[index]);
        for other in waits_for(history, log, index) {
            let begins = if entry.kind == Kind::Buffered { entry.end } else { entry.start };
            assert!(log[other].end <= begins, "{index} {op:?} {entry:?} waits for {other} {:?}", log[other]);
        }
        assert!(entry.end >= at && (entry.kind == Kind::Buffered || entry.start >= at));
        if matches!(op.kind, OpKind::Read(_)) {
            let same = |other: &usize| history[*other].0.block == op.block;
            let program = (0..index)
                .rev()
                .filter(same)
                .find(|other| history[*other].0.kind == OpKind::Program && history[*other].0.page == op.page);
            let program = program.expect("it was programmed");
            // Nothing ends within a list, not even an operation that takes no time.
            let flying = log[program].end > at || history[program].2 == list;
            assert_eq!(entry.kind == Kind::Buffered, flying, "{index} {op:?}");
        }
    }
}

fn check_dies(config: &SchedulerConfig, history: &History, log: &[Logged]) {
    for (one, first) in log.iter().enumerate() {
        for (other, second) in log.iter().enumerate().skip(one + 1) {
            let buffered = first.kind == Kind::Buffered || second.kind == Kind::Buffered;
            let apart = first.end <= second.start || second.end <= first.start;
            if buffered || first.die != second.die || apart {
                continue;
            }
            let together = config.multi_plane == MultiPlane::On
                && (first.kind, first.start) == (second.kind, second.start)
                && first.plane != second.plane;
            let inside = |outer: &Logged, inner: &Logged, index: usize| {
                let kinds = match config.suspend {
                    Suspend::None => false,
                    Suspend::Program => outer.kind == Kind::Program,
                    Suspend::Erase => outer.kind == Kind::Erase,
                    Suspend::Both => outer.kind != Kind::Read,
                };
                let within = outer.start <= inner.start && inner.end <= outer.end;
                kinds && within && inner.kind == Kind::Read && history[index].0.task == Task::Host
            };
            let suspended = inside(first, second, other) || inside(second, first, one);
            assert!(together || suspended, "{first:?} and {second:?} share die {}", first.die);
        }
    }
}

/// Jobs of garbage collection: the operations of one list up to the erases, without parity.
fn jobs(history: &History) -> Vec<Vec<usize>> {
    let mut jobs: Vec<Vec<usize>> = Vec::new();
    for (index, (op, _, list)) in history.iter().enumerate() {
        let is_parity = op.kind == OpKind::Program && !takes_relocated(history, index);
        if op.task != Task::GarbageCollection || is_parity {
            continue;
        }
        let continues = jobs.last().and_then(|job| job.last()).is_some_and(|last| {
            let erases = op.kind == OpKind::Erase && *last + 1 == index;
            history[*last].2 == *list && (history[*last].0.kind != OpKind::Erase || erases)
        });
        if continues {
            jobs.last_mut().expect("it continues").push(index);
        } else {
            jobs.push(vec![index]);
        }
    }
    jobs
}

fn check_collections(config: &SchedulerConfig, history: &History, log: &[Logged]) {
    for job in jobs(history) {
        let last = *job.last().expect("a job has operations");
        for die in 0..geometry().dies() {
            let here: Vec<&Logged> = job
                .iter()
                .map(|index| &log[*index])
                .filter(|entry| entry.die == die && entry.kind != Kind::Buffered)
                .collect();
            let held = match config.collection {
                Collection::Foreground if here.iter().any(|entry| entry.kind != Kind::Program) => {
                    (0, job.iter().map(|index| log[*index].end).max().expect("a job has operations"))
                }
                Collection::Background if !here.is_empty() => (
                    here.iter().map(|entry| entry.start).min().expect("not empty") + 1,
                    here.iter().map(|entry| entry.end).max().expect("not empty"),
                ),
                _ => continue,
            };
            // A job without an erase is complete when its list ends.
            let open = history[last].0.kind != OpKind::Erase;
            for (later, entry) in log.iter().enumerate().skip(last + 1) {
                if open && history[later].2 == history[last].2 {
                    continue;
                }
                let exempt =
                    config.collection == Collection::Foreground && history[later].0.task == Task::GarbageCollection;
                if entry.die == die && entry.kind != Kind::Buffered && !exempt {
                    let free = entry.start < held.0 || entry.start >= held.1;
                    // A job that waits for nothing any more at its first instant lets others start in the same instant.
                    assert!(free, "{later} {entry:?} starts while {job:?} holds die {die}: {held:?}");
                }
            }
        }
    }
}

fn check_commands(config: &SchedulerConfig, history: &History, log: &[Logged], done: &[Completion], commands: u64) {
    assert_eq!(done.len() as u64, commands, "every command completes");
    assert!(done.windows(2).all(|pair| (pair[0].at, pair[0].token) < (pair[1].at, pair[1].token)), "in order");
    for completion in done {
        assert_eq!(completion.breakdown.total_ns(), completion.latency_ns(), "{completion:?}");
        let host = |entry: &&(usize, &(FlashOp, u64, usize))| {
            entry.1.2 as u64 == completion.token && entry.1.0.task == Task::Host
        };
        let mine = history.iter().enumerate().filter(|entry| host(&entry)).map(|(index, _)| log[index].end).max();
        let earlier = |entry: &&(usize, &(FlashOp, u64, usize))| {
            entry.1.2 as u64 <= completion.token && entry.1.0.kind == OpKind::Program
        };
        let programs =
            history.iter().enumerate().filter(|entry| earlier(&entry)).map(|(index, _)| log[index].end).max();
        let want = match (completion.kind, config.write_cache) {
            (CommandKind::Trim, _) => completion.submitted_at,
            (CommandKind::Flush, _) => mine.max(programs).unwrap_or(0).max(completion.submitted_at),
            (CommandKind::Write, Some(_)) => continue,
            (_, cache) => mine.unwrap_or(completion.submitted_at + cache.map_or(0, |cache| cache.latency_ns)),
        };
        assert_eq!(completion.at - completion.breakdown.link_ns, want, "{completion:?}");
    }
    let Some(link) = config.link else { return };
    let crossing: Vec<_> = done.iter().filter(|done| done.kind != CommandKind::Trim).collect();
    let alone = |done: &Completion| link.crossing_ns(done.bytes);
    assert!(crossing.iter().all(|done| done.breakdown.link_ns >= alone(done)), "each has its time on the link");
    let follows = |pair: &[&Completion]| pair[1].at - pair[0].at >= alone(pair[1]);
    assert!(crossing.windows(2).all(follows), "one after the other");
}

fn check(seed: u64, config: SchedulerConfig) {
    const COMMANDS: u64 = 80;
    let (scheduler, history, done) = run(seed, config, COMMANDS);
    let log = by_sequence(&scheduler, &history);
    check_commands(&config, &history, &log, &done, COMMANDS);
    check_dependencies(&history, &log);
    check_dies(&config, &history, &log);
    check_collections(&config, &history, &log);
    let latencies: u128 = done.iter().map(|completion| u128::from(completion.latency_ns())).sum();
    assert_eq!(scheduler.outstanding_time_ns(), latencies, "Little's law");
    let alive = [scheduler.nodes.live(), scheduler.commands.live()];
    assert_eq!((alive, scheduler.graph.live()), ([0; 2], [0; 3]), "nothing is left behind");
    assert!(scheduler.graph.epochs_live() <= CLASSES);
    let (again, _, done_again) = run(seed, config, COMMANDS);
    assert!(again.log == scheduler.log && done_again == done, "the same input gives the same output");
}

/// Reads of all classes at one die, Poisson; the mean wait of each class with its standard error.
fn waits_by_class(order: Order, rates: [f64; CLASSES], reads: u64) -> [(f64, f64); CLASSES] {
    const SENSE: u64 = 50_000;
    let config = SchedulerConfig { order, collection: Collection::Preemptible, ..SchedulerConfig::default() };
    // The page type tells the class of a read.
    let read_ns = vec![SENSE, 2 * SENSE, 3 * SENSE, SENSE / 2];
    let timing = Timing { read_ns, program_ns: vec![1], erase_ns: 1, channel_bytes_per_second: None };
    let shape = Geometry::new(1, 1, 1, 1, 4, Bytes(4096)).unwrap();
    let mut scheduler = EventScheduler::new(&shape, timing, config).unwrap();
    let mut stream = Streams::new(4).stream("classes");
    let total: f64 = rates.iter().sum();
    let (mut time, mut submitted) = (0.0, Vec::new());
    for token in 0..reads {
        time -= libm::log1p(-stream.unit()) / total;
        let mut draw = stream.unit() * total;
        let class = rates.iter().position(|rate| {
            draw -= rate;
            draw < 0.0
        });
        let class = class.unwrap_or(0);
        let op = FlashOp {
            kind: OpKind::Read(Purpose::Serve),
            task: Task::ALL[class],
            block: BlockId(0),
            page: class as u32,
            bytes: 4096,
            rereads: 0,
        };
        submitted.push((time as u64, class));
        scheduler.submit(time as u64, Command { token, kind: CommandKind::Read, bytes: 4096 }, &[op]);
        while scheduler.next_completion(time as u64).is_some() {}
    }
    while scheduler.next_completion(u64::MAX).is_some() {}
    let mut waits: [Vec<f64>; CLASSES] = Default::default();
    for entry in &scheduler.log {
        let (at, class) = submitted[entry.sequence as usize];
        waits[class].push((entry.start - at) as f64);
    }
    waits.map(|waits| mean_and_error(&waits))
}

/// From the means of 50 batches: neighbors are correlated.
fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let size = values.len() / 50;
    let means: Vec<f64> = values.chunks_exact(size).map(|batch| batch.iter().sum::<f64>() / size as f64).collect();
    let mean = means.iter().sum::<f64>() / 50.0;
    let squares: f64 = means.iter().map(|batch| (batch - mean) * (batch - mean)).sum();
    (mean, libm::sqrt(squares / (50.0 * 49.0)))
}

#[test]
fn classes_wait_as_cobham_says_and_alike_when_first_come() {
    use wane_theory::queueing::{Class, cobham_waits};
    let rates = [4e-6, 2e-6, 1e-6, 4e-6];
    let services = [50_000.0, 100_000.0, 150_000.0, 25_000.0];
    let classes: [Class; CLASSES] = std::array::from_fn(|class| Class::fixed(rates[class], services[class]));
    let by_priority = cobham_waits(&classes);
    let total: f64 = rates.iter().sum();
    let mean =
        |power: fn(f64) -> f64| (0..CLASSES).map(|class| rates[class] * power(services[class])).sum::<f64>() / total;
    let all = Class { rate: total, service: mean(|s| s), service_squared: mean(|s| s * s) };
    let alike = vec![cobham_waits(&[all])[0]; CLASSES];
    for (order, wants) in [(Order::Priority, by_priority), (Order::FirstCome, alike)] {
        for ((wait, error), want) in waits_by_class(order, rates, 600_000).into_iter().zip(wants) {
            assert!(error < 0.04 * want, "{order:?}: {error} of {want} is too coarse");
            assert!((wait - want).abs() < 4.0 * error, "{order:?}: {wait} +- {error} for {want}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_firmware_does_everything_ends_in_order(seed in any::<u64>(), config in configs()) {
        check(seed, config);
    }
}
