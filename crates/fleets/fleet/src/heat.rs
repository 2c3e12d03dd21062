//! The effect of heat on drives: 002, chapter 6, two models under fio and under eight Hadoop loads at 25 to 50 °C around the drive.
//!
//! The tables are the paper's, with their misprints ([`MISPRINTS`]). Computed values are kept apart from printed ones: losses
//! ([`recomputed`]), values between temperatures ([`Basis`]), and the spread of the replays, which the paper shows only in pictures ([`spread`]).

mod lookup;
mod misprints;
mod retention;
mod significance;
mod spread;
mod tables;

pub use lookup::{AMBIENT_MAX, AMBIENT_MIN, Basis, HeldOut, Reading, held_out, loss, performance, throughput};
pub use misprints::{MISPRINTS, Misprint};
pub use retention::{ACTIVATION_ENERGY, BOLTZMANN, acceleration, retention};
pub use significance::{Sample, TTest, Variances, statistic_of, t_test, two_sided_p};
pub use spread::{REPLAYS, Spread, pooled_deviation, spread};
pub use tables::{
    FIO_CELSIUS, PAIRS, REPLAY_CELSIUS, measured, printed_degradation, printed_p_value, replay_p_values, replayed,
};

use crate::FleetError;
use crate::error::positive;
use crate::named::{Named, named};

/// A model of drives (002, table 6.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Model {
    /// 512 GB, firmware 004c.
    A,
    /// 118 GB, firmware k4110440; see [`MISPRINTS`] of table 6.1.
    B,
}

named!(Model, "model", A = "a", B = "b");

/// A job of fio (002, section 6.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Benchmark {
    /// Sequential writes of zeros.
    WriteZero,
    /// Sequential reads of zeros.
    ReadZero,
    /// Sequential writes of random data.
    WriteRandomData,
    /// Sequential reads of random data.
    ReadRandomData,
    /// Reads at random.
    RandomRead,
    /// Writes at random.
    RandomWrite,
}

named!(
    Benchmark,
    "benchmark",
    WriteZero = "write-zero",
    ReadZero = "read-zero",
    WriteRandomData = "write-random-data",
    ReadRandomData = "read-random-data",
    RandomRead = "random-read",
    RandomWrite = "random-write"
);

/// A figure of fio.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Metric {
    /// MB/s; less is worse.
    Throughput,
    /// Operations a second; less is worse.
    Iops,
    /// Microseconds; more is worse.
    Latency,
}

named!(Metric, "metric", Throughput = "throughput", Iops = "iops", Latency = "latency");

/// A Hadoop benchmark whose recorded requests were replayed (002, section 6.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Load {
    /// Counts words; reads.
    Wordcount,
    /// Sorts records; writes.
    Sort,
    /// HDFS reads.
    DfsioeRead,
    /// HDFS writes.
    DfsioeWrite,
    /// Classifies; writes.
    Bayes,
    /// Clusters; writes.
    Kmeans,
    /// Indexes pages; reads and writes.
    Nutchindexing,
    /// Ranks pages; writes only.
    Pagerank,
}

named!(
    Load,
    "load",
    Wordcount = "wordcount",
    Sort = "sort",
    DfsioeRead = "dfsioe-read",
    DfsioeWrite = "dfsioe-write",
    Bayes = "bayes",
    Kmeans = "kmeans",
    Nutchindexing = "nutchindexing",
    Pagerank = "pagerank"
);

impl Load {
    /// The direction in which it moves more bytes. For Nutchindexing, which moves many in both, reads.
    pub const fn main(self) -> Op {
        match self {
            Self::Wordcount | Self::DfsioeRead | Self::Nutchindexing => Op::Read,
            _ => Op::Write,
        }
    }
}

/// A direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Op {
    /// From the drive.
    Read,
    /// To the drive.
    Write,
}

named!(Op, "direction", Read = "read", Write = "write");

/// How much worse a metric is in the heat, in percent of its value in the cold; negative if it is better (002, section 6.3.1.1).
///
/// (cold - hot) / cold for throughput and IOPS, (hot - cold) / cold for latency.
///
/// # Errors
///
/// [`FleetError::OutOfRange`] if a value is not above 0.
pub fn degradation(metric: Metric, cold: f64, hot: f64) -> Result<f64, FleetError> {
    let (cold, hot) = (positive("the value in the cold", cold)?, positive("the value in the heat", hot)?);
    Ok(percent(metric, cold, hot))
}

fn percent(metric: Metric, cold: f64, hot: f64) -> f64 {
    let lost = 100.0 * (cold - hot) / cold;
    if metric == Metric::Latency { -lost } else { lost }
}

/// Largest difference from the printed degradation that counts as agreement, in percentage points.
pub const POINTS_MAX: f64 = 0.02;

/// Largest rounding error of a number printed with two decimals.
const ROUNDING: f64 = 0.005;

/// A degradation from 25 °C that the paper prints, computed again from its raw tables.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Recomputed {
    /// The drives.
    pub model: Model,
    /// The job.
    pub benchmark: Benchmark,
    /// The metric.
    pub metric: Metric,
    /// The temperature that is compared with 25 °C.
    pub celsius: f64,
    /// The degradation from the raw tables, in percent.
    pub percent: f64,
    /// The least and the most degradation of all values that round to those printed in the raw tables.
    pub range: (f64, f64),
    /// The degradation that tables 6.6 and 6.7 print.
    pub printed: f64,
}

impl Recomputed {
    /// The printed degradation less ours, in percentage points.
    pub fn off(&self) -> f64 {
        self.printed - self.percent
    }

    /// Whether the two agree within [`POINTS_MAX`].
    pub fn agrees(&self) -> bool {
        // The slack is far above the floating-point error of a sum of two decimals.
        self.off().abs() <= POINTS_MAX + 1e-9
    }

    /// Whether rounding of the raw tables and of the percentage can explain the difference.
    pub fn is_rounding(&self) -> bool {
        (self.range.0 - ROUNDING..=self.range.1 + ROUNDING).contains(&self.printed)
    }
}

/// The 72 degradations of tables 6.6 and 6.7, computed again from tables 6.4 and 6.5, in the tables' order.
pub fn recomputed() -> Vec<Recomputed> {
    let mut all = Vec::with_capacity(72);
    for &model in Model::ALL {
        for &benchmark in Benchmark::ALL {
            for &metric in Metric::ALL {
                let [cold, warm, hot] = measured(model, benchmark, metric);
                let printed = printed_degradation(model, benchmark, metric);
                for (value, celsius, printed) in [(warm, 35.0, printed[0]), (hot, 50.0, printed[1])] {
                    let ends = [
                        percent(metric, cold - ROUNDING, value + ROUNDING),
                        percent(metric, cold + ROUNDING, value - ROUNDING),
                    ];
                    let range = (ends[0].min(ends[1]), ends[0].max(ends[1]));
                    let percent = percent(metric, cold, value);
                    assert!((range.0..=range.1).contains(&percent), "rounding moves a percentage either way");
                    all.push(Recomputed { model, benchmark, metric, celsius, percent, range, printed });
                }
            }
        }
    }
    all
}

#[cfg(test)]
mod tests;
