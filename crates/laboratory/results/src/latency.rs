//! Latencies of requests and figures of error correction, over a run and in each of its windows.

use std::ops::{Add, Sub};

use serde::{Deserialize, Serialize};

/// `latency.*`
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Latencies of reads that touched flash or its buffer; null without such reads.
    pub read: Option<LatencyFigures>,
    /// Latencies of writes.
    pub write: Option<LatencyFigures>,
    /// Latencies of a key-value store's operations; left out if only requests were timed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operations: Option<OperationLatency>,
}

/// `latency.operations.*`: latencies of the operations of a key-value store's clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OperationLatency {
    /// All kinds together.
    pub all: OperationFigures,
    /// Lookups of a key. Each kind is null if there were none.
    pub read: Option<OperationFigures>,
    /// Puts of existing records.
    pub update: Option<OperationFigures>,
    /// Puts of new records.
    pub insert: Option<OperationFigures>,
    /// Scans.
    pub scan: Option<OperationFigures>,
    /// Lookups followed by a put of the same key.
    pub read_modify_write: Option<OperationFigures>,
}

impl OperationLatency {
    /// The kinds that occurred, with words for a reader.
    pub fn named(&self) -> Vec<(&'static str, OperationFigures)> {
        let kinds = [
            ("reads", self.read),
            ("updates", self.update),
            ("inserts", self.insert),
            ("scans", self.scan),
            ("read-modify-writes", self.read_modify_write),
        ];
        kinds.into_iter().filter_map(|(name, figures)| Some((name, figures?))).collect()
    }
}

/// `latency.operations.read.*` and the like, in nanoseconds from the arrival of an operation's first request until the last request that it
/// waits for is done; 0 for an operation that waits for none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OperationFigures {
    /// How long operations took.
    #[serde(flatten)]
    pub times: LatencyDistribution,
    /// Operations done per second.
    pub per_second: f64,
}

/// `latency.read.*` and `latency.write.*`, in nanoseconds from arrival to completion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LatencyFigures {
    /// How long requests took.
    #[serde(flatten)]
    pub times: LatencyDistribution,
    /// How the time of a request's last finished page is divided.
    pub breakdown_ns: BreakdownMeans,
}

/// A distribution of durations, in nanoseconds. Percentiles are nearest-rank within three significant digits; mean and maximum are exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LatencyDistribution {
    /// Number of durations.
    pub count: u64,
    /// Mean.
    pub mean_ns: f64,
    /// Median.
    pub p50_ns: u64,
    /// 75th percentile.
    pub p75_ns: u64,
    /// 90th percentile.
    pub p90_ns: u64,
    /// 95th percentile.
    pub p95_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// 99.9th percentile.
    pub p999_ns: u64,
    /// 99.99th percentile.
    pub p9999_ns: u64,
    /// Longest.
    pub max_ns: u64,
}

/// `latency.*.breakdown_ns.*`: means over the requests, which add up to the mean latency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BreakdownMeans {
    /// Waiting while the die or the channel worked for other host requests.
    pub behind_host: f64,
    /// Waiting behind garbage collection.
    pub behind_gc: f64,
    /// Waiting behind scrubbing.
    pub behind_scrub: f64,
    /// Waiting behind wear leveling.
    pub behind_wear_leveling: f64,
    /// Sensing the page the first time.
    pub sensing: f64,
    /// Sensing it again.
    pub rereads: f64,
    /// Reading the rest of its stripe.
    pub recovery: f64,
    /// Transfer on the channel.
    pub transfer: f64,
    /// Time at the firmware's processors, including queueing.
    pub thinking: f64,
    /// Programming.
    pub programming: f64,
    /// Waiting for room in the write cache, and its latency.
    pub cache: f64,
    /// Waiting for operations that must come first, and being suspended.
    pub dependencies: f64,
    /// Time on the link to the host, including waiting for it; 0 in results of earlier versions.
    #[serde(default)]
    pub link: f64,
}

impl BreakdownMeans {
    /// The parts with words for a reader, in the order in which a report stacks them.
    pub const fn named(&self) -> [(&'static str, f64); 13] {
        [
            ("sensing", self.sensing),
            ("re-reads", self.rereads),
            ("recovery", self.recovery),
            ("transfer", self.transfer),
            ("behind the host", self.behind_host),
            ("behind garbage collection", self.behind_gc),
            ("behind scrubbing", self.behind_scrub),
            ("behind wear leveling", self.behind_wear_leveling),
            ("processors", self.thinking),
            ("programming", self.programming),
            ("write cache", self.cache),
            ("dependencies", self.dependencies),
            ("link", self.link),
        ]
    }
}

/// `throughput.*`
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Throughput {
    /// Throughput of reads.
    pub read: OpThroughput,
    /// Throughput of writes.
    pub write: OpThroughput,
}

/// `throughput.read.*` and `throughput.write.*`, over simulated time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OpThroughput {
    /// Requests a second.
    pub iops: f64,
    /// Bytes a second.
    pub bytes_per_second: f64,
}

/// `errors.*`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Errors {
    /// Codewords that error correction checked, including those of re-reads.
    pub codewords_checked: u64,
    /// Wrong bits in the codewords of first reads.
    pub raw_bit_errors: u64,
    /// Page reads that needed a re-read.
    pub reads_retried: u64,
    /// Re-reads.
    pub retries: u64,
    /// Page reads for the host for which errors are drawn.
    #[serde(default)]
    pub host_page_reads: u64,
    /// Re-reads for the host.
    #[serde(default)]
    pub host_retries: u64,
    /// Other page reads for which errors are drawn: for relocation, scrubbing and reconstruction.
    #[serde(default)]
    pub background_page_reads: u64,
    /// Re-reads for relocation, scrubbing and reconstruction.
    #[serde(default)]
    pub background_retries: u64,
    /// Pages that redundancy could recover.
    pub recoveries: u64,
    /// Pages that redundancy could not recover.
    pub recovery_failures: u64,
    /// Lost pages that the host tried to read.
    pub uncorrectable: u64,
    /// Pages that were lost when they were relocated.
    pub uncorrectable_relocated: u64,
}

impl Errors {
    /// Re-reads for each page read for the host; `None` without such reads.
    pub fn host_retry_rate(&self) -> Option<f64> {
        (self.host_page_reads > 0).then(|| self.host_retries as f64 / self.host_page_reads as f64)
    }

    /// Re-reads for each page read for relocation, scrubbing and reconstruction; `None` without such reads.
    pub fn background_retry_rate(&self) -> Option<f64> {
        (self.background_page_reads > 0).then(|| self.background_retries as f64 / self.background_page_reads as f64)
    }

    const fn values(self) -> [u64; 12] {
        [
            self.codewords_checked,
            self.raw_bit_errors,
            self.reads_retried,
            self.retries,
            self.host_page_reads,
            self.host_retries,
            self.background_page_reads,
            self.background_retries,
            self.recoveries,
            self.recovery_failures,
            self.uncorrectable,
            self.uncorrectable_relocated,
        ]
    }

    const fn of(values: [u64; 12]) -> Self {
        let [
            checked,
            bits,
            reads,
            retries,
            host_reads,
            host,
            background_reads,
            background,
            given_back,
            failures,
            lost,
            moved,
        ] = values;
        Self {
            codewords_checked: checked,
            raw_bit_errors: bits,
            reads_retried: reads,
            retries,
            host_page_reads: host_reads,
            host_retries: host,
            background_page_reads: background_reads,
            background_retries: background,
            recoveries: given_back,
            recovery_failures: failures,
            uncorrectable: lost,
            uncorrectable_relocated: moved,
        }
    }
}

impl Sub for Errors {
    type Output = Self;

    /// The counts between `earlier` and `self`.
    fn sub(self, earlier: Self) -> Self {
        let (now, before) = (self.values(), earlier.values());
        assert!(
            now.iter().zip(before).all(|(now, before)| *now >= before),
            "counts only grow: {now:?} after {before:?}"
        );
        Self::of(std::array::from_fn(|index| now[index] - before[index]))
    }
}

impl Add for Errors {
    type Output = Self;

    /// Those of two drives.
    fn add(self, other: Self) -> Self {
        let (one, other) = (self.values(), other.values());
        Self::of(std::array::from_fn(|index| one[index] + other[index]))
    }
}

/// The kind of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WindowKind {
    /// A part of a timed run.
    Run,
    /// A probe: a timed copy of the drive.
    Probe,
}

/// `thermal.*`: the temperature of a drive.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Thermal {
    /// Degrees Celsius at the end.
    pub celsius_end: f64,
    /// Mean over time, in degrees Celsius.
    pub celsius_mean: f64,
    /// Watts that it dissipated on average.
    pub watts_mean: f64,
    /// Share of the time that it was throttled.
    pub throttled_share: f64,
}

/// One window of `latency.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Window {
    /// Its kind.
    pub kind: WindowKind,
    /// Index of the scenario's phase in which its requests came; 0 of probes.
    #[serde(default, skip_serializing_if = "is_first")]
    pub phase: u32,
    /// Drive writes at its start.
    pub at_drive_writes: f64,
    /// Days of the calendar at its start; null without a calendar.
    #[serde(default)]
    pub at_days: Option<f64>,
    /// Mean erase count at its start.
    pub erase_count_mean: f64,
    /// Share of the rated wear that was used at its start; only of probes by wear and before the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub life_used: Option<f64>,
    /// Simulated seconds that it lasted.
    pub seconds: f64,
    /// Latencies of its requests.
    pub latency: Latency,
    /// Throughput.
    pub throughput: Throughput,
    /// Figures of error correction; null on flash without errors.
    pub errors: Option<Errors>,
    /// Temperature of the drive; absent if heat is not simulated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thermal: Option<Thermal>,
    /// Points of the distribution of read latencies: nanoseconds, and the share of reads that took no longer.
    pub read_cdf: Vec<(u64, f64)>,
    /// Points of the distribution of write latencies.
    pub write_cdf: Vec<(u64, f64)>,
}

/// Whether a phase is the only one as far as is known, of which files say nothing.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_first(phase: &u32) -> bool {
    *phase == 0
}

impl Window {
    /// Reads and writes that were done.
    pub fn requests(&self) -> u64 {
        [self.latency.read, self.latency.write].into_iter().flatten().map(|of| of.times.count).sum()
    }
}
