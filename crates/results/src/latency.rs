//! What requests took and what error correction saw: over a run, and in each window of it.

use std::ops::Sub;

use serde::{Deserialize, Serialize};

/// `latency.*`
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Of reads that touched flash or its buffer; null where there were none.
    pub read: Option<LatencyFigures>,
    /// Of writes.
    pub write: Option<LatencyFigures>,
    /// Of a key-value store's operations; left out where nothing but requests was timed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operations: Option<OperationLatency>,
}

/// `latency.operations.*`: of what clients of a key-value store asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OperationLatency {
    /// Of all kinds together.
    pub all: OperationFigures,
    /// Lookups of a key; null where there were none, as of all kinds.
    pub read: Option<OperationFigures>,
    /// Puts of records that are there.
    pub update: Option<OperationFigures>,
    /// Puts of new records.
    pub insert: Option<OperationFigures>,
    /// Scans.
    pub scan: Option<OperationFigures>,
    /// Lookups followed by a put of the same key.
    pub read_modify_write: Option<OperationFigures>,
}

impl OperationLatency {
    /// The kinds with words for a reader, as far as there were any.
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

/// `latency.operations.read.*` and the like, in nanoseconds from the arrival of an operation's first request until the last one that it
/// waits for is done; 0 of one that waits for none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OperationFigures {
    /// How long operations took.
    #[serde(flatten)]
    pub times: LatencyDistribution,
    /// Operations that were done, each second.
    pub per_second: f64,
}

/// `latency.read.*` and `latency.write.*`, in nanoseconds from arrival to completion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LatencyFigures {
    /// How long requests took.
    #[serde(flatten)]
    pub times: LatencyDistribution,
    /// Where the time went, of the page that finished last.
    pub breakdown_ns: BreakdownMeans,
}

/// How long things took, in nanoseconds. Percentiles are nearest-rank within three significant digits; mean and maximum are exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LatencyDistribution {
    /// How many there were.
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

/// `latency.*.breakdown_ns.*`: means over the requests. They add up to the mean latency.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BreakdownMeans {
    /// Waiting while the die or the channel worked for the host.
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
    /// On the channel.
    pub transfer: f64,
    /// At the firmware's processors, queueing included.
    pub thinking: f64,
    /// Programming.
    pub programming: f64,
    /// Waiting for room in the write cache, and its latency.
    pub cache: f64,
    /// Waiting for operations that must come before, and being suspended.
    pub dependencies: f64,
    /// On the link to the host, waiting for it included; 0 in results that an earlier version wrote.
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
    /// Of reads.
    pub read: OpThroughput,
    /// Of writes.
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
    /// Codewords that error correction looked at, those of re-reads included.
    pub codewords_checked: u64,
    /// Wrong bits in the codewords of first reads.
    pub raw_bit_errors: u64,
    /// Page reads that were read again.
    pub reads_retried: u64,
    /// Re-reads.
    pub retries: u64,
    /// Page reads that serve the host, where errors are drawn.
    #[serde(default)]
    pub host_page_reads: u64,
    /// Re-reads for the host.
    #[serde(default)]
    pub host_retries: u64,
    /// Other page reads where errors are drawn: for relocation, scrubbing and reconstruction.
    #[serde(default)]
    pub background_page_reads: u64,
    /// Re-reads for relocation, scrubbing and reconstruction.
    #[serde(default)]
    pub background_retries: u64,
    /// Pages that redundancy gave back.
    pub recoveries: u64,
    /// Pages that redundancy could not give back.
    pub recovery_failures: u64,
    /// Pages that the host asked for and that were lost.
    pub uncorrectable: u64,
    /// Pages that were lost when they were to be relocated.
    pub uncorrectable_relocated: u64,
}

impl Errors {
    /// Re-reads for each page read for the host; without such reads, none.
    pub fn host_retry_rate(&self) -> Option<f64> {
        (self.host_page_reads > 0).then(|| self.host_retries as f64 / self.host_page_reads as f64)
    }

    /// Re-reads for each page read for relocation, scrubbing and reconstruction; without such reads, none.
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
}

impl Sub for Errors {
    type Output = Self;

    /// What was counted between `earlier` and `self`.
    fn sub(self, earlier: Self) -> Self {
        let (now, before) = (self.values(), earlier.values());
        assert!(
            now.iter().zip(before).all(|(now, before)| *now >= before),
            "counts only grow: {now:?} after {before:?}"
        );
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
        ] = std::array::from_fn(|index| now[index] - before[index]);
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

/// What a window is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WindowKind {
    /// A stretch of a timed run.
    Run,
    /// A probe: a copy of the drive, looked at closely.
    Probe,
}

/// `thermal.*`: how warm a drive was.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Thermal {
    /// Degrees Celsius at the end.
    pub celsius_end: f64,
    /// The mean over the time.
    pub celsius_mean: f64,
    /// Watts that it dissipated on average.
    pub watts_mean: f64,
    /// Share of the time that it was throttled.
    pub throttled_share: f64,
}

/// One window of `latency.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Window {
    /// What it is of.
    pub kind: WindowKind,
    /// Drive writes at its start.
    pub at_drive_writes: f64,
    /// The same in days of the calendar; null without one.
    #[serde(default)]
    pub at_days: Option<f64>,
    /// Mean erase count at its start.
    pub erase_count_mean: f64,
    /// Simulated seconds that it lasted.
    pub seconds: f64,
    /// What requests took.
    pub latency: Latency,
    /// What was served.
    pub throughput: Throughput,
    /// What error correction saw; null on flash without errors.
    pub errors: Option<Errors>,
    /// How warm the drive was; absent where it has no heat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thermal: Option<Thermal>,
    /// Points of the distribution of read latencies: nanoseconds, and the share of the reads that took no longer.
    pub read_cdf: Vec<(u64, f64)>,
    /// The same of writes.
    pub write_cdf: Vec<(u64, f64)>,
}

impl Window {
    /// Reads and writes that were done.
    pub fn requests(&self) -> u64 {
        [self.latency.read, self.latency.write].into_iter().flatten().map(|of| of.times.count).sum()
    }
}
