//! Latencies as numbers: percentiles from a high-dynamic-range histogram, exact sums, and what the time went to.

use hdrhistogram::Histogram as Buckets;

use crate::command::{Breakdown, BreakdownTotals, CommandKind, Completion};

/// Percentiles in reports.
pub const PERCENTILES: [f64; 7] = [50.0, 75.0, 90.0, 95.0, 99.0, 99.9, 99.99];

/// Latencies of one kind of command. Buckets are three significant digits wide; count, sum and extremes are exact.
#[derive(Clone, Debug)]
pub struct Histogram {
    buckets: Buckets<u64>,
    sum_ns: u128,
    min_ns: u64,
    max_ns: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl Histogram {
    /// Makes an empty histogram.
    pub fn new() -> Self {
        let buckets = Buckets::new(3).expect("three digits are allowed");
        Self { buckets, sum_ns: 0, min_ns: u64::MAX, max_ns: 0 }
    }

    /// Counts one latency.
    pub fn record(&mut self, latency_ns: u64) {
        self.buckets.record(latency_ns).expect("it grows to any u64");
        self.sum_ns += u128::from(latency_ns);
        self.min_ns = self.min_ns.min(latency_ns);
        self.max_ns = self.max_ns.max(latency_ns);
    }

    /// Number of latencies.
    pub fn count(&self) -> u64 {
        self.buckets.len()
    }

    /// Sum of the latencies, exact.
    pub fn sum_ns(&self) -> u128 {
        self.sum_ns
    }

    /// Mean of the latencies, exact up to the division; 0 without any.
    pub fn mean_ns(&self) -> f64 {
        if self.count() == 0 { 0.0 } else { self.sum_ns as f64 / self.count() as f64 }
    }

    /// The shortest latency; 0 without any.
    pub fn min_ns(&self) -> u64 {
        if self.count() == 0 { 0 } else { self.min_ns }
    }

    /// The longest latency; 0 without any.
    pub fn max_ns(&self) -> u64 {
        self.max_ns
    }

    /// The latency that `percent` percent of them do not exceed, within 0.1 % and never above the longest; 0 without any.
    pub fn percentile_ns(&self, percent: f64) -> u64 {
        if self.count() == 0 {
            return 0;
        }
        debug_assert!((0.0..=100.0).contains(&percent), "a percentile is a share of all, found {percent}");
        self.buckets.value_at_quantile(percent / 100.0).clamp(self.min_ns, self.max_ns)
    }

    /// The cumulative distribution: each latency with the share that does not exceed it.
    pub fn points(&self) -> Vec<(u64, f64)> {
        let (mut seen, count) = (0, self.count() as f64);
        let point = |value: hdrhistogram::iterators::IterationValue<u64>| {
            seen += value.count_since_last_iteration();
            (value.value_iterated_to().min(self.max_ns), seen as f64 / count)
        };
        let points = self.buckets.iter_recorded().map(point).collect();
        assert_eq!(seen, self.count(), "the shares add up to all latencies");
        points
    }

    /// Adds the latencies of another histogram.
    pub fn merge(&mut self, other: &Self) {
        self.buckets.add(&other.buckets).expect("it grows to what the other one holds");
        self.sum_ns += other.sum_ns;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }
}

/// Breakdowns added up.
#[derive(Clone, Copy, Debug, Default)]
pub struct BreakdownSum {
    earlier: BreakdownTotals,
    /// The latest breakdowns, added in narrow words.
    recent: Breakdown,
    /// Upper bound of each part of these.
    recent_total_ns: u64,
}

impl BreakdownSum {
    /// Adds one command's breakdown, whose parts add up to `total_ns`.
    #[inline]
    pub fn add(&mut self, breakdown: &Breakdown, total_ns: u64) {
        debug_assert_eq!(breakdown.total_ns(), total_ns, "the parts of a latency add up to it");
        self.recent_total_ns = match self.recent_total_ns.checked_add(total_ns) {
            Some(total) => total,
            None => {
                (self.earlier, self.recent) = (self.totals(), Breakdown::default());
                total_ns
            }
        };
        self.recent.add(breakdown);
    }

    /// Adds another sum.
    pub fn merge(&mut self, other: &Self) {
        self.earlier.merge(&other.totals());
    }

    /// The sums.
    pub fn totals(&self) -> BreakdownTotals {
        let mut totals = self.earlier;
        totals.add(&self.recent);
        totals
    }
}

/// Latencies of the host's reads and writes, and where their time went.
#[derive(Clone, Debug, Default)]
pub struct Latencies {
    /// Latencies of reads.
    pub reads: Histogram,
    /// Latencies of writes.
    pub writes: Histogram,
    /// Where the time of reads went.
    pub read_breakdown: BreakdownSum,
    /// Where the time of writes went.
    pub write_breakdown: BreakdownSum,
    /// Bytes read.
    pub bytes_read: u64,
    /// Bytes written.
    pub bytes_written: u64,
    /// Latencies of operations above requests, by the number that the caller gave their kind. Empty if none was recorded.
    pub operations: Vec<Histogram>,
}

impl Latencies {
    /// Makes an empty record.
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts a command. Trims and flushes are left out.
    pub fn record(&mut self, completion: &Completion) {
        match completion.kind {
            CommandKind::Read => {
                self.reads.record(completion.latency_ns());
                self.read_breakdown.add(&completion.breakdown, completion.latency_ns());
                self.bytes_read += completion.bytes;
            }
            CommandKind::Write => {
                self.writes.record(completion.latency_ns());
                self.write_breakdown.add(&completion.breakdown, completion.latency_ns());
                self.bytes_written += completion.bytes;
            }
            CommandKind::Trim | CommandKind::Flush | CommandKind::ProtectedFlush => {}
        }
    }

    /// Counts an operation of a kind.
    pub fn record_operation(&mut self, kind: usize, latency_ns: u64) {
        if self.operations.len() <= kind {
            self.operations.resize_with(kind + 1, Histogram::new);
        }
        self.operations[kind].record(latency_ns);
    }

    /// Adds the commands and operations of another record.
    pub fn merge(&mut self, other: &Self) {
        self.reads.merge(&other.reads);
        self.writes.merge(&other.writes);
        self.read_breakdown.merge(&other.read_breakdown);
        self.write_breakdown.merge(&other.write_breakdown);
        self.bytes_read += other.bytes_read;
        self.bytes_written += other.bytes_written;
        if self.operations.len() < other.operations.len() {
            self.operations.resize_with(other.operations.len(), Histogram::new);
        }
        self.operations.iter_mut().zip(&other.operations).for_each(|(ours, theirs)| ours.merge(theirs));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_within_a_thousandth_and_sums_exact() {
        let mut stream = wane_sim::Streams::new(11).stream("latency");
        let (mut whole, mut parts) = (Histogram::new(), [Histogram::new(), Histogram::new()]);
        let mut plain: Vec<u64> = Vec::new();
        for index in 0..50_000usize {
            let digits = 10 + stream.below(25);
            let latency = 1000 + stream.below(1 << digits);
            whole.record(latency);
            parts[index % 2].record(latency);
            plain.push(latency);
        }
        plain.sort_unstable();
        let [mut merged, other] = parts;
        merged.merge(&other);
        for histogram in [&whole, &merged] {
            assert_eq!(histogram.sum_ns(), plain.iter().map(|value| u128::from(*value)).sum());
            assert_eq!((histogram.count(), histogram.max_ns()), (50_000, plain[49_999]));
            assert_eq!(histogram.min_ns(), plain[0]);
            for percent in PERCENTILES {
                let rank = (percent / 100.0 * 50_000.0).ceil() as usize - 1;
                let (found, want) = (histogram.percentile_ns(percent) as f64, plain[rank] as f64);
                assert!((found / want - 1.0).abs() <= 1e-3, "p{percent}: {found} for {want}");
            }
        }
    }

    #[test]
    fn points_rise_to_one() {
        let mut histogram = Histogram::new();
        for latency in [10, 10, 20, 5000] {
            histogram.record(latency);
        }
        assert_eq!(histogram.points(), [(10, 0.5), (20, 0.75), (5000, 1.0)]);
    }

    #[test]
    fn sums_of_parts_outgrow_a_word() {
        let mut sum = BreakdownSum::default();
        let breakdown = Breakdown { gc_ns: u64::MAX / 3, sensing_ns: 7, ..Breakdown::default() };
        for _ in 0..10 {
            sum.add(&breakdown, breakdown.total_ns());
        }
        let mut twice = sum;
        twice.merge(&sum);
        let parts = twice.totals().parts();
        assert_eq!((parts[1], parts[4]), (("gc", 20 * u128::from(u64::MAX / 3)), ("sensing", 140)));
    }

    #[test]
    fn nothing_recorded_reads_as_zero() {
        let empty = Histogram::new();
        assert_eq!((empty.mean_ns(), empty.percentile_ns(99.0), empty.min_ns(), empty.max_ns()), (0.0, 0, 0, 0));
        assert!(empty.points().is_empty());
    }
}
