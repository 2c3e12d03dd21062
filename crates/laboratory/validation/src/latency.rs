//! Latencies and rates of reads by both schedulers, compared with a plain queueing simulator and with queues of known mean.

use wane_nand::{FlashOp, OpKind, Purpose, Task};
use wane_sim::{Stream, Streams};
use wane_ssd::{Command, CommandKind, EventScheduler, Scheduler, SchedulerConfig, Timeline, Timing};
use wane_testkit::queueing::{Load, ReadModel};
use wane_units::{BlockId, Bytes, Geometry};

use super::{Extent, Job, Part, Row};

const BLOCKS_PER_DIE: u32 = 16;
const PAGES: u32 = 64;
const PAGE_BYTES: u32 = 4096;

/// Queue depths, and Poisson loads in percent of the bottleneck's rate.
pub(crate) const DEPTHS: [usize; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 256];
pub(crate) const LOADS: [usize; 6] = [30, 45, 55, 70, 85, 95];

/// The grid of loads.
pub(crate) fn part() -> Part {
    Part {
        id: "latency",
        title: "Reads without collection",
        compared: "mean latency and rate of random 4 KiB reads by `event` and `timeline`, at queue depths of 1 to 256 and under Poisson \
                   arrivals of 30 to 95 % of the bottleneck's rate, where channels are the bottleneck (4 channels of 4 dies, 40 us to \
                   sense, 200 MB/s) and where dies are (4 channels of 2 dies, 60 us, 1,200 MB/s)",
        reference: "the plain queueing simulator of `testkit`, which serves the same reads at the same times",
        seeds: "1 to 3, 30,000 reads each; a row is the mean over the seeds, and its error is that of the difference between seeds",
        tolerance: "0.5 %",
        note: "",
        takes: "5 seconds",
        jobs,
    }
}

/// Queues whose means are known.
pub(crate) fn queues() -> Part {
    Part {
        id: "queues",
        title: "Queues whose means are known",
        compared: "mean latency of Poisson reads by `event` and `timeline` on one die (75 us, transfers that take no time) and on one \
                   channel of 16 dies (reads that take no time to sense, 20 us to move)",
        reference: "service + load x service / (2 (1 - load)), Pollaczek and Khinchine's M/D/1",
        seeds: "1 to 8, 60,000 reads each, in the quick part 20,000; the standard error is over the seeds",
        tolerance: "2 %",
        note: "",
        takes: "5 seconds",
        jobs: queue_jobs,
    }
}

/// A drive that only reads.
#[derive(Clone, Copy)]
struct Reader {
    name: &'static str,
    channels: u32,
    dies: u32,
    sense_ns: u64,
    rate: Option<u64>,
}

const CHANNEL_BOUND: Reader =
    Reader { name: "channel-bound", channels: 4, dies: 4, sense_ns: 40_000, rate: Some(200_000_000) };
const DIE_BOUND: Reader =
    Reader { name: "die-bound", channels: 4, dies: 2, sense_ns: 60_000, rate: Some(1_200_000_000) };
const ONE_DIE: Reader = Reader { name: "one die", channels: 1, dies: 1, sense_ns: 75_000, rate: None };
const ONE_CHANNEL: Reader = Reader { name: "one channel", channels: 1, dies: 16, sense_ns: 0, rate: Some(204_800_000) };

impl Reader {
    fn geometry(&self) -> Geometry {
        Geometry::new(self.channels, self.dies, 1, BLOCKS_PER_DIE, PAGES, Bytes(u64::from(PAGE_BYTES)))
            .expect("a small drive has a geometry")
    }

    fn timing(&self) -> Timing {
        let (program_ns, erase_ns) = (vec![500_000], 5_000_000);
        Timing { read_ns: vec![self.sense_ns], program_ns, erase_ns, channel_bytes_per_second: self.rate }
    }

    fn model(&self) -> ReadModel {
        let transfer_ns = self.timing().transfer_ns(PAGE_BYTES);
        ReadModel { channels: self.channels as usize, sense_ns: self.sense_ns, transfer_ns }
    }

    /// The most reads a nanosecond: what all dies or all channels can do.
    fn ceiling(&self) -> f64 {
        let ReadModel { sense_ns, transfer_ns, .. } = self.model();
        let by_dies = f64::from(self.channels * self.dies) / (sense_ns + transfer_ns) as f64;
        let by_channels = f64::from(self.channels) / transfer_ns as f64;
        by_dies.min(by_channels)
    }

    fn schedulers(&self) -> [(&'static str, Scheduler); 2] {
        let (geometry, config) = (self.geometry(), SchedulerConfig::default);
        let fits = "a small drive can be scheduled";
        [
            ("event", Scheduler::Event(Box::new(EventScheduler::new(&geometry, self.timing(), config()).expect(fits)))),
            ("timeline", Scheduler::Timeline(Box::new(Timeline::new(&geometry, self.timing(), config()).expect(fits)))),
        ]
    }

    /// Reads at random dies. They come at a share of the ceiling, or `depth` of them are outstanding.
    fn reads(&self, arrival: Arrival, count: usize, seed: u64) -> (Load, Vec<usize>) {
        let mut stream = Streams::new(seed).stream(self.name);
        let dies = u64::from(self.channels * self.dies);
        let places = (0..count).map(|_| stream.below(dies) as usize).collect();
        let load = match arrival {
            Arrival::Depth(depth) => Load::Closed(depth),
            Arrival::Percent(percent) => {
                let gap_ns = 1.0 / (percent as f64 / 100.0 * self.ceiling());
                let mut at = 0.0;
                let mut next = || {
                    at += stream.exponential() * gap_ns;
                    at as u64
                };
                Load::Open((0..count).map(|_| next()).collect())
            }
        };
        (load, places)
    }
}

#[derive(Clone, Copy)]
enum Arrival {
    Depth(usize),
    Percent(usize),
}

impl Arrival {
    fn name(self) -> String {
        match self {
            Self::Depth(depth) => format!("queue depth {depth}"),
            Self::Percent(percent) => format!("Poisson, {percent} %"),
        }
    }
}

/// When each read came and when it was done.
fn served(scheduler: &mut Scheduler, load: &Load, dies: &[usize], stream: &mut Stream) -> Vec<(u64, u64)> {
    let mut times = vec![(0, 0); dies.len()];
    let mut submit = |scheduler: &mut Scheduler, at: u64, number: usize| {
        let block = dies[number] as u32 * BLOCKS_PER_DIE + stream.below(u64::from(BLOCKS_PER_DIE)) as u32;
        let read = FlashOp {
            kind: OpKind::Read(Purpose::Serve),
            task: Task::Host,
            block: BlockId(block),
            page: stream.below(u64::from(PAGES)) as u32,
            bytes: PAGE_BYTES,
            rereads: 0,
        };
        let command = Command { token: number as u64, kind: CommandKind::Read, bytes: u64::from(PAGE_BYTES) };
        scheduler.submit(at, command, &[read]);
    };
    let mut arrivals: Box<dyn Iterator<Item = u64>> = match load {
        Load::Closed(_) => Box::new(std::iter::empty()),
        Load::Open(times) => Box::new(times.iter().copied()),
    };
    let (mut next, depth) = match load {
        Load::Closed(depth) => (*depth, *depth),
        Load::Open(_) => (0, 0),
    };
    (0..depth).for_each(|number| submit(scheduler, 0, number));
    loop {
        let arrival = arrivals.next();
        while let Some(done) = scheduler.next_completion(arrival.unwrap_or(u64::MAX)).copied() {
            times[done.token as usize] = (done.submitted_at, done.at);
            if depth > 0 && next < dies.len() {
                submit(scheduler, done.at, next);
                next += 1;
            }
        }
        let Some(at) = arrival else { return times };
        submit(scheduler, at, next);
        next += 1;
    }
}

/// Mean latency in microseconds and thousand reads a second.
fn figures(times: &[(u64, u64)]) -> [f64; 2] {
    let latency = times.iter().map(|(came, done)| done - came).sum::<u64>() as f64 / times.len() as f64;
    let last = times.iter().map(|(_, done)| *done).max().expect("a read was served");
    [latency / 1e3, times.len() as f64 / last as f64 * 1e6]
}

/// A row of runs that use the same reads as the reference.
fn paired(cell: String, figure: &'static str, pairs: &[(f64, f64)], share: f64) -> Row {
    let count = pairs.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>() / count;
    let (ours, reference) = (mean(|pair| pair.0), mean(|pair| pair.1));
    let squares: f64 = pairs.iter().map(|(one, other)| (one - other - ours + reference).powi(2)).sum();
    let error = (squares / (count * (count - 1.0))).sqrt();
    Row { cell, figure, ours, reference, error: Some(error), allowed: share * reference }
}

fn jobs(extent: Extent) -> Vec<Job> {
    let arrivals: Vec<Arrival> = match extent {
        Extent::Quick => vec![Arrival::Depth(1), Arrival::Depth(16), Arrival::Percent(70), Arrival::Percent(85)],
        Extent::Full => DEPTHS.into_iter().map(Arrival::Depth).chain(LOADS.into_iter().map(Arrival::Percent)).collect(),
    };
    let reads = if extent == Extent::Quick { 10_000 } else { 30_000 };
    let mut jobs: Vec<Job> = Vec::new();
    for reader in [CHANNEL_BOUND, DIE_BOUND] {
        for arrival in &arrivals {
            let arrival = *arrival;
            jobs.push(Box::new(move || against_model(&reader, arrival, reads)));
        }
    }
    jobs
}

fn against_model(reader: &Reader, arrival: Arrival, count: usize) -> Vec<Row> {
    let mut pairs = [const { [const { Vec::new() }; 2] }; 2];
    for seed in 1..=3 {
        let (load, dies) = reader.reads(arrival, count, seed);
        let reference = figures(&reader.model().run(&load, &dies));
        for (pairs, (_, mut scheduler)) in pairs.iter_mut().zip(reader.schedulers()) {
            let mut pages = Streams::new(seed).stream("pages");
            let ours = figures(&served(&mut scheduler, &load, &dies, &mut pages));
            for (pairs, pair) in pairs.iter_mut().zip(ours.into_iter().zip(reference)) {
                pairs.push(pair);
            }
        }
    }
    let names = ["event", "timeline"].into_iter();
    let rows = names.zip(&pairs).flat_map(|(name, pairs)| {
        let cell = format!("{}; {}; {name}", reader.name, arrival.name());
        let figures = ["mean latency, us", "thousand reads a second"].into_iter();
        figures.zip(pairs).map(move |(figure, pairs)| paired(cell.clone(), figure, pairs, 0.005))
    });
    rows.collect()
}

fn queue_jobs(extent: Extent) -> Vec<Job> {
    let reads = if extent == Extent::Quick { 20_000 } else { 60_000 };
    let mut jobs: Vec<Job> = Vec::new();
    for reader in [ONE_DIE, ONE_CHANNEL] {
        for percent in [30, 50, 70] {
            jobs.push(Box::new(move || against_queue(&reader, percent, reads)));
        }
    }
    jobs
}

fn against_queue(reader: &Reader, percent: usize, count: usize) -> Vec<Row> {
    let service = 1.0 / reader.ceiling() / 1e3;
    let load = percent as f64 / 100.0;
    let want = service + load * service / (2.0 * (1.0 - load));
    let mut means = [const { Vec::new() }; 2];
    for seed in 1..=8 {
        let (reads, dies) = reader.reads(Arrival::Percent(percent), count, seed);
        for (means, (_, mut scheduler)) in means.iter_mut().zip(reader.schedulers()) {
            let mut pages = Streams::new(seed).stream("pages");
            means.push((figures(&served(&mut scheduler, &reads, &dies, &mut pages))[0], want));
        }
    }
    let rows = ["event", "timeline"].into_iter().zip(&means);
    rows.map(|(name, means)| {
        let cell = format!("{}; load {percent} %; {name}", reader.name);
        paired(cell, "mean latency, us", means, 0.02)
    })
    .collect()
}
