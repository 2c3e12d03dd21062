//! Flash operations scheduled a second on one core.
//!
//! `cargo bench -p wane-ssd` prints one JSON object a line, with a hash of every completion: each scheduler on random reads at
//! several queue depths over 16 dies, and on writes of four programs and four relocations each. Arguments after `--` choose cases
//! by a part of their name.

#![allow(clippy::disallowed_methods, reason = "a bench reads the clock")]
#![allow(missing_docs, reason = "a program")]

use std::time::Instant;

use wane_nand::{FlashOp, OpKind, Purpose, Task};
use wane_sim::{Stream, Streams};
use wane_ssd::{Collection, Command, CommandKind, EventScheduler, Order, Scheduler, SchedulerConfig, Timeline, Timing};
use wane_units::{BlockId, Bytes, Geometry};

const RUNS: usize = 5;
const DIES: u32 = 16;
const BLOCKS_PER_DIE: u32 = 512;
const PAGES: u32 = 256;

#[derive(Clone, Copy)]
enum Load {
    Reads,
    Mix,
}

struct Case {
    name: &'static str,
    load: Load,
    depth: u64,
    order: Order,
}

const CASES: [Case; 5] = [
    Case { name: "reads-qd16", load: Load::Reads, depth: 16, order: Order::FirstCome },
    Case { name: "reads-qd64", load: Load::Reads, depth: 64, order: Order::FirstCome },
    Case { name: "mix-qd16", load: Load::Mix, depth: 16, order: Order::FirstCome },
    Case { name: "mix-qd64", load: Load::Mix, depth: 64, order: Order::FirstCome },
    Case { name: "mix-priority-qd16", load: Load::Mix, depth: 16, order: Order::Priority },
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // The test suite runs benches too, without `--bench`.
    let operations = if arguments.iter().any(|argument| argument == "--bench") { 10_000_000 } else { 20_000 };
    let wanted: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with("--")).collect();
    for case in &CASES {
        for kind in ["event", "timeline"] {
            let name = format!("{kind}-{}", case.name);
            let plain = case.order == Order::FirstCome;
            if (wanted.is_empty() || wanted.iter().any(|part| name.contains(part.as_str())))
                && (plain || kind == "event")
            {
                measure(&name, case, kind, operations);
            }
        }
    }
}

fn measure(name: &str, case: &Case, kind: &str, operations: u64) {
    let mut rates = Vec::new();
    let mut hash = 0;
    for _ in 0..RUNS {
        let mut scheduler = build(case, kind);
        let mut source = Source::new(case.load);
        let start = Instant::now();
        hash = drive(&mut scheduler, &mut source, case.depth, operations);
        rates.push(scheduler.operations() as f64 / start.elapsed().as_secs_f64());
    }
    rates.sort_by(f64::total_cmp);
    println!(
        "{{\"case\":\"{name}\",\"flash_operations_per_second\":{:.0},\"slowest\":{:.0},\"fastest\":{:.0},\
         \"hash\":\"{hash:016x}\"}}",
        rates[RUNS / 2],
        rates[0],
        rates[RUNS - 1]
    );
}

fn build(case: &Case, kind: &str) -> Scheduler {
    let geometry = Geometry::new(8, DIES / 8, 1, BLOCKS_PER_DIE, PAGES, Bytes(4096)).expect("a small drive");
    let timing = Timing {
        read_ns: vec![75_000],
        program_ns: vec![750_000],
        erase_ns: 3_800_000,
        channel_bytes_per_second: Some(333_000_000),
    };
    let collection = if case.order == Order::Priority { Collection::Preemptible } else { Collection::Foreground };
    let config = SchedulerConfig { order: case.order, collection, ..SchedulerConfig::default() };
    match kind {
        "event" => Scheduler::Event(Box::new(EventScheduler::new(&geometry, timing, config).expect("valid"))),
        _ => Scheduler::Timeline(Box::new(Timeline::new(&geometry, timing, config).expect("valid"))),
    }
}

/// Makes lists as firmware would, with almost no work of its own.
struct Source {
    load: Load,
    stream: Stream,
    /// Host and relocation block of each die, each with its next page.
    open: Vec<[(u32, u32); 2]>,
    die: u32,
    ops: Vec<FlashOp>,
}

impl Source {
    fn new(load: Load) -> Self {
        let open = (0..DIES).map(|die| [(die * BLOCKS_PER_DIE, 0), (die * BLOCKS_PER_DIE + 1, 0)]).collect();
        Self { load, stream: Streams::new(1).stream("bench"), open, die: 0, ops: Vec::new() }
    }

    fn next(&mut self) -> CommandKind {
        self.ops.clear();
        match self.load {
            Load::Reads => {
                let page = self.stream.below(u64::from(DIES * BLOCKS_PER_DIE * PAGES)) as u32;
                self.push(OpKind::Read(Purpose::Serve), Task::Host, page / PAGES, page % PAGES);
                CommandKind::Read
            }
            Load::Mix => {
                for _ in 0..4 {
                    self.die = (self.die + 1) % DIES;
                    self.program(Task::Host, 0);
                    let victim = self.die * BLOCKS_PER_DIE + 100 + self.stream.below(200) as u32;
                    let target = BlockId(self.open[self.die as usize][1].0);
                    let page = self.stream.below(u64::from(PAGES)) as u32;
                    self.push(OpKind::Read(Purpose::Relocate(target)), Task::GarbageCollection, victim, page);
                    self.program(Task::GarbageCollection, 1);
                }
                CommandKind::Write
            }
        }
    }

    fn push(&mut self, kind: OpKind, task: Task, block: u32, page: u32) {
        self.ops.push(FlashOp { kind, task, block: BlockId(block), page, bytes: 4096, rereads: 0 });
    }

    fn program(&mut self, task: Task, which: usize) {
        let die = self.die as usize;
        let (block, page) = self.open[die][which];
        self.push(OpKind::Program, task, block, page);
        self.open[die][which].1 = page + 1;
        if page + 1 == PAGES {
            // The two streams of a die take turns in its first blocks; each is erased before it is written again.
            let next = self.die * BLOCKS_PER_DIE + (block % BLOCKS_PER_DIE + 2) % 32;
            self.push(OpKind::Erase, Task::GarbageCollection, next, 0);
            self.open[die][which] = (next, 0);
        }
    }
}

/// Keeps `depth` commands outstanding until `operations` were made. Returns a hash of all completions.
fn drive(scheduler: &mut Scheduler, source: &mut Source, depth: u64, operations: u64) -> u64 {
    let (mut token, mut made, mut hash) = (0, 0, 0u64);
    let mut issue = |scheduler: &mut Scheduler, at: u64, made: &mut u64| {
        let kind = source.next();
        *made += source.ops.len() as u64;
        scheduler.submit(at, Command { token, kind, bytes: 4096 }, &source.ops);
        token += 1;
    };
    for _ in 0..depth {
        issue(scheduler, 0, &mut made);
    }
    while let Some(completion) = scheduler.next_completion(u64::MAX).copied() {
        hash = (hash ^ completion.token ^ completion.at.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        if made < operations {
            issue(scheduler, completion.at, &mut made);
        }
    }
    hash
}
