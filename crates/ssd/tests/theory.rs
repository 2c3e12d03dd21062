//! The schedulers against queueing theory, and Little's law on every run.

#![allow(clippy::unwrap_used, reason = "a test")]

use wane_nand::{FlashOp, OpKind, Purpose, Task};
use wane_sim::{Stream, Streams};
use wane_ssd::{
    Command, CommandKind, Completion, EventScheduler, Latencies, Scheduler, SchedulerConfig, Timeline, Timing,
};
use wane_units::{BlockId, Bytes, Geometry};

const BLOCKS_PER_DIE: u32 = 64;
const PAGES: u32 = 256;

fn geometry(channels: u32, dies: u32) -> Geometry {
    Geometry::new(channels, dies, 1, BLOCKS_PER_DIE, PAGES, Bytes(4096)).unwrap()
}

fn timing(read_ns: u64, channel: Option<u64>) -> Timing {
    Timing { read_ns: vec![read_ns], program_ns: vec![750_000], erase_ns: 3_800_000, channel_bytes_per_second: channel }
}

fn read(die: u32, stream: &mut Stream) -> FlashOp {
    let block = die * BLOCKS_PER_DIE + stream.below(u64::from(BLOCKS_PER_DIE)) as u32;
    FlashOp {
        kind: OpKind::Read(Purpose::Serve),
        task: Task::Host,
        block: BlockId(block),
        page: stream.below(u64::from(PAGES)) as u32,
        bytes: 4096,
        rereads: 0,
    }
}

fn both(geometry: &Geometry, timing: &Timing, config: SchedulerConfig) -> [Scheduler; 2] {
    [
        Scheduler::Event(Box::new(EventScheduler::new(geometry, timing.clone(), config).unwrap())),
        Scheduler::Timeline(Box::new(Timeline::new(geometry, timing.clone(), config).unwrap())),
    ]
}

fn command(token: u64) -> Command {
    Command { token, kind: CommandKind::Read, bytes: 4096 }
}

/// Random reads with `depth` outstanding; returns the latencies and the time taken.
fn closed_loop(scheduler: &mut Scheduler, geometry: &Geometry, depth: u64, reads: u64) -> (Latencies, u64) {
    let mut stream = Streams::new(1).stream("reads");
    let mut latencies = Latencies::new();
    let mut issue = |scheduler: &mut Scheduler, at: u64, token: u64| {
        let die = stream.below(u64::from(geometry.dies())) as u32;
        scheduler.submit(at, command(token), &[read(die, &mut stream)]);
    };
    for token in 0..depth {
        issue(scheduler, 0, token);
    }
    let mut issued = depth;
    while let Some(completion) = scheduler.next_completion(u64::MAX) {
        check_parts(&completion);
        latencies.record(&completion);
        if issued < reads {
            issue(scheduler, completion.at, issued);
            issued += 1;
        }
    }
    little(scheduler, &latencies);
    (latencies, scheduler.now())
}

fn check_parts(completion: &Completion) {
    assert_eq!(completion.breakdown.total_ns(), completion.latency_ns(), "{completion:?}");
}

/// The integral of the outstanding commands is the sum of the latencies.
fn little(scheduler: &Scheduler, latencies: &Latencies) {
    assert_eq!(scheduler.outstanding(), 0);
    assert_eq!(scheduler.outstanding_time_ns(), latencies.reads.sum_ns() + latencies.writes.sum_ns());
}

#[test]
fn a_closed_loop_of_sixteen_reads_like_the_first_come_model() {
    let geometry = geometry(8, 2);
    for mut scheduler in both(&geometry, &timing(75_000, Some(333_000_000)), SchedulerConfig::default()) {
        let (latencies, end) = closed_loop(&mut scheduler, &geometry, 16, 400_000);
        let iops = latencies.reads.count() as f64 / (end as f64 / 1e9);
        let mean = latencies.reads.mean_ns();
        println!("{iops} {mean}");
        assert!((iops / 108_000.0 - 1.0).abs() < 0.02, "{iops}");
        assert!((mean / 148_000.0 - 1.0).abs() < 0.02, "{mean}");
    }
}
