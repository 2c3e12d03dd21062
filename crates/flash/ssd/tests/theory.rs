//! The schedulers against queueing theory, and Little's law on every run.

#![allow(clippy::unwrap_used, reason = "a test")]

use wane_nand::{FlashOp, OpKind, Purpose, Task};
use wane_sim::{Stream, Streams};
use wane_ssd::{
    Command, CommandKind, Completion, EventScheduler, Latencies, Processors, Scheduler, SchedulerConfig, Timeline,
    Timing,
};
use wane_testkit::queueing::{Load, ReadModel};
use wane_theory::queueing::{closed_loop_throughput, md1_wait, mdc_wait, read_ceilings};
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
    while let Some(completion) = scheduler.next_completion(u64::MAX).copied() {
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
        assert!((iops / 108_000.0 - 1.0).abs() < 0.02, "{iops}");
        assert!((mean / 148_000.0 - 1.0).abs() < 0.02, "{mean}");
    }
}

/// Mean of the latencies and its standard error, from the means of 50 batches: neighbors are correlated.
fn mean_and_error(latencies: &[u64]) -> (f64, f64) {
    let size = latencies.len() / 50;
    let means: Vec<f64> =
        latencies.chunks_exact(size).map(|batch| batch.iter().sum::<u64>() as f64 / size as f64).collect();
    let mean = means.iter().sum::<f64>() / means.len() as f64;
    let squares: f64 = means.iter().map(|batch| (batch - mean) * (batch - mean)).sum();
    (mean, libm::sqrt(squares / (means.len() * (means.len() - 1)) as f64))
}

/// Reads at random dies, with Poisson arrivals of this rate per ns; returns the latencies.
fn open_loop(scheduler: &mut Scheduler, geometry: &Geometry, rate: f64, reads: u64) -> Vec<u64> {
    let streams = Streams::new(2);
    let (mut places, mut arrivals) = (streams.stream("reads"), streams.stream("arrivals"));
    let (mut all, mut latencies, mut time) = (Vec::new(), Latencies::new(), 0.0);
    for token in 0..reads {
        time -= libm::log1p(-arrivals.unit()) / rate;
        let at = time as u64;
        while let Some(completion) = scheduler.next_completion(at).copied() {
            check_parts(&completion);
            latencies.record(&completion);
            all.push(completion.latency_ns());
        }
        let die = places.below(u64::from(geometry.dies())) as u32;
        scheduler.submit(at, command(token), &[read(die, &mut places)]);
    }
    while let Some(completion) = scheduler.next_completion(u64::MAX).copied() {
        latencies.record(&completion);
        all.push(completion.latency_ns());
    }
    little(scheduler, &latencies);
    assert_eq!(all.len() as u64, reads);
    all
}

/// The mean lies within four standard errors, and the error is small enough to mean something.
fn check_mean(case: &str, latencies: &[u64], want: f64) {
    let (mean, error) = mean_and_error(latencies);
    assert!(error < 0.02 * want, "{case}: {error} of {want} is too coarse");
    assert!((mean - want).abs() < 4.0 * error, "{case}: {mean} +- {error} for {want}");
}

#[test]
fn reads_at_random_dies_are_queues_of_their_own() {
    let geometry = geometry(4, 2);
    let service = 75_000.0;
    for load in [0.2, 0.5, 0.8] {
        for mut scheduler in both(&geometry, &timing(75_000, None), SchedulerConfig::default()) {
            let rate = load / service;
            let found = open_loop(&mut scheduler, &geometry, rate * 8.0, 400_000);
            check_mean(&format!("load {load}"), &found, service + md1_wait(rate, service));
        }
    }
}

#[test]
fn processors_alone_are_a_queue_with_several_servers() {
    let geometry = geometry(4, 2);
    let think = 10_000.0;
    for (count, load) in [(1, 0.5), (1, 0.8), (2, 0.5), (2, 0.8), (8, 0.7), (8, 0.9)] {
        let processors = Some(Processors { count, think_ns: 10_000 });
        let config = SchedulerConfig { processors, ..SchedulerConfig::default() };
        for mut scheduler in both(&geometry, &timing(0, None), config) {
            let rate = f64::from(count) * load / think;
            let found = open_loop(&mut scheduler, &geometry, rate, 400_000);
            check_mean(&format!("{count} at {load}"), &found, think + mdc_wait(rate, think, count));
        }
    }
}

#[test]
fn a_deep_closed_loop_reaches_the_ceiling_of_what_binds() {
    // Channels, dies on each, sensing and transfer in ns. First the dies bind, then the channel.
    for (channels, dies, sense, rate) in [(4, 2, 75_000, 4_096_000_000u64), (1, 16, 75_000, 409_600_000)] {
        let geometry = geometry(channels, dies);
        let timing = timing(sense, Some(rate));
        let transfer = timing.transfer_ns(4096) as f64;
        let (by_dies, by_channels) = read_ceilings(channels * dies, channels, sense as f64, transfer);
        for mut scheduler in both(&geometry, &timing, SchedulerConfig::default()) {
            let (latencies, end) = closed_loop(&mut scheduler, &geometry, 256, 200_000);
            let found = latencies.reads.count() as f64 / end as f64;
            let ceiling = by_dies.min(by_channels);
            assert!((0.94..=1.0).contains(&(found / ceiling)), "{channels} x {dies}: {found} of {ceiling}");
            let dies = f64::from(channels * dies);
            let demands = vec![(sense as f64 + transfer) / dies; dies as usize];
            let (_, most) = closed_loop_throughput(&demands, 256.0);
            assert!(found <= most, "{found} above {most}");
        }
    }
}

#[test]
fn a_shallow_closed_loop_lies_between_the_bounds() {
    let geometry = geometry(4, 2);
    for depth in [1, 2, 4, 8, 32] {
        for mut scheduler in both(&geometry, &timing(75_000, None), SchedulerConfig::default()) {
            let (latencies, end) = closed_loop(&mut scheduler, &geometry, depth, 50_000);
            let found = latencies.reads.count() as f64 / end as f64;
            let (least, most) = closed_loop_throughput(&[75_000.0 / 8.0; 8], depth as f64);
            assert!(found >= least && found <= most * (1.0 + 1e-9), "{depth}: {least} {found} {most}");
        }
    }
}

/// The reads of a scheduler: when each came and when it was done.
fn reads_of(scheduler: &mut Scheduler, load: &Load, dies: &[usize]) -> Vec<(u64, u64)> {
    let mut times = vec![(0, 0); dies.len()];
    let mut stream = Streams::new(2).stream("pages");
    let mut submit = |scheduler: &mut Scheduler, at: u64, number: usize| {
        scheduler.submit(at, command(number as u64), &[read(dies[number] as u32, &mut stream)]);
    };
    let mut note = |done: Completion| {
        times[done.token as usize] = (done.submitted_at, done.at);
        done.at
    };
    match load {
        Load::Closed(depth) => {
            (0..*depth).for_each(|number| submit(scheduler, 0, number));
            let mut next = *depth;
            while let Some(done) = scheduler.next_completion(u64::MAX).copied() {
                let at = note(done);
                if next < dies.len() {
                    submit(scheduler, at, next);
                    next += 1;
                }
            }
        }
        Load::Open(arrivals) => {
            for (number, at) in arrivals.iter().enumerate() {
                while let Some(done) = scheduler.next_completion(*at).copied() {
                    note(done);
                }
                submit(scheduler, *at, number);
            }
            while let Some(done) = scheduler.next_completion(u64::MAX).copied() {
                note(done);
            }
        }
    }
    times
}

/// Mean latency and reads a nanosecond.
fn figures(times: &[(u64, u64)]) -> (f64, f64) {
    let latency = times.iter().map(|(came, done)| done - came).sum::<u64>() as f64 / times.len() as f64;
    let last = times.iter().map(|(_, done)| *done).max().expect("reads");
    (latency, times.len() as f64 / last as f64)
}

/// Queue depths 1 to 64 and Poisson arrivals at 30 to 85 % of what the drive can do, where channels bind and where dies do:
/// both schedulers are within half a percent of a simulator that shares nothing with them.
#[test]
fn reads_are_as_fast_as_a_plain_queueing_simulator_says() {
    const READS: usize = 30_000;
    // (name, channels, dies a channel, ns to sense, bytes a second, reads a second of what binds)
    let drives = [
        ("channel-bound", 4, 4, 40_000, 200_000_000, 4.0 / 20.48e-6),
        ("die-bound", 4, 2, 60_000, 1_200_000_000, 8.0 / 63.4e-6),
    ];
    for (name, channels, per_channel, sense_ns, rate, ceiling) in drives {
        let geometry = geometry(channels, per_channel);
        let timing = timing(sense_ns, Some(rate));
        let model = ReadModel { channels: channels as usize, sense_ns, transfer_ns: timing.transfer_ns(4096) };
        let mut stream = Streams::new(11).stream(name);
        let dies: Vec<usize> = (0..READS).map(|_| stream.below(u64::from(geometry.dies())) as usize).collect();
        let closed = [1, 2, 4, 8, 16, 32, 64].map(|depth| (format!("QD{depth}"), Load::Closed(depth)));
        let open = [0.3, 0.55, 0.7, 0.85].map(|share| {
            let mut at = 0.0;
            let gap_ns = 1e9 / (share * ceiling);
            let times = (0..READS).map(|_| {
                at += stream.exponential() * gap_ns;
                at as u64
            });
            (format!("{share} of the ceiling"), Load::Open(times.collect()))
        });
        for (load_name, load) in closed.into_iter().chain(open) {
            let (latency, rate) = figures(&model.run(&load, &dies));
            for (scheduler, kind) in
                both(&geometry, &timing, SchedulerConfig::default()).iter_mut().zip(["event", "timeline"])
            {
                let (found, found_rate) = figures(&reads_of(scheduler, &load, &dies));
                let off = (found / latency - 1.0).abs().max((found_rate / rate - 1.0).abs());
                assert!(
                    off < 0.005,
                    "{name}, {load_name}, {kind}: {found} ns against {latency}, {found_rate} against {rate}"
                );
            }
        }
    }
}
