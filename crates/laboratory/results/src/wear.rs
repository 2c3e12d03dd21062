//! The wear of a drive's blocks at one moment: erase counts, their quantiles and their evenness.

use serde::{Deserialize, Serialize};
use wane_units::{BlockId, BlockState, Geometry};

/// A copy of the state of a drive's physical blocks at one moment, in order of block id, or of those of several drives, one drive after the other.
///
/// The three tables have one entry for each block.
#[derive(Clone, Debug, PartialEq)]
pub struct WearSnapshot {
    /// Of the one drive; blocks of several have no rows.
    geometry: Option<Geometry>,
    /// Bytes of the blocks in service.
    usable_bytes: u64,
    erase_counts: Vec<u32>,
    valid_units: Vec<u32>,
    states: Vec<BlockState>,
}

/// One row of `blocks.parquet`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockRow {
    /// Block id.
    pub block: u32,
    /// Channel of its die.
    pub channel: u32,
    /// Its die.
    pub die: u32,
    /// Its plane, numbered within the die.
    pub plane: u32,
    /// Erases.
    pub erase_count: u32,
    /// Mapping units that hold current data.
    pub valid_units: u32,
    /// Its state.
    pub state: BlockState,
}

impl WearSnapshot {
    /// A snapshot of all blocks of `geometry`.
    ///
    /// # Panics
    /// A table does not have one entry for each block of the geometry.
    pub fn new(geometry: Geometry, erase_counts: Vec<u32>, valid_units: Vec<u32>, states: Vec<BlockState>) -> Self {
        let blocks = geometry.blocks() as usize;
        assert_eq!(erase_counts.len(), blocks, "an erase count a block");
        assert_eq!(valid_units.len(), blocks, "a valid count a block");
        assert_eq!(states.len(), blocks, "a state a block");
        let usable = states.iter().filter(|state| **state != BlockState::Retired).count() as u64;
        let usable_bytes = usable * geometry.block_size().0;
        Self { geometry: Some(geometry), usable_bytes, erase_counts, valid_units, states }
    }

    /// The snapshot of all blocks of several drives.
    pub fn of_drives(drives: impl IntoIterator<Item = Self>) -> Self {
        let mut drives = drives.into_iter();
        let nothing = || Self {
            geometry: None,
            usable_bytes: 0,
            erase_counts: Vec::new(),
            valid_units: Vec::new(),
            states: Vec::new(),
        };
        let first = drives.next().unwrap_or_else(nothing);
        drives.fold(first, |mut all, mut drive| {
            all.geometry = None;
            all.usable_bytes += drive.usable_bytes;
            all.erase_counts.append(&mut drive.erase_counts);
            all.valid_units.append(&mut drive.valid_units);
            all.states.append(&mut drive.states);
            all
        })
    }

    /// Bytes of the blocks in service.
    pub const fn usable_bytes(&self) -> u64 {
        self.usable_bytes
    }

    /// Erases of each block.
    pub fn erase_counts(&self) -> &[u32] {
        &self.erase_counts
    }

    /// Quantiles, mean and deviation of the erase counts.
    pub fn quantiles(&self) -> EraseCounts {
        EraseCounts::of(&self.erase_counts)
    }

    /// Jain's index of the erase counts.
    pub fn jain_index(&self) -> f64 {
        wane_units::jain_index(&self.erase_counts)
    }

    /// Blocks out of service.
    pub fn retired(&self) -> u64 {
        self.states.iter().filter(|state| **state == BlockState::Retired).count() as u64
    }

    /// The rows of `blocks.parquet`; of several drives none, since their own results have them.
    pub fn rows(&self) -> Vec<BlockRow> {
        let Some(geometry) = &self.geometry else { return Vec::new() };
        (0..geometry.blocks())
            .map(|block| {
                let die = geometry.die_of(BlockId(block));
                BlockRow {
                    block,
                    channel: geometry.channel_of(die).0,
                    die: die.0,
                    plane: geometry.plane_of(BlockId(block)).0,
                    erase_count: self.erase_counts[block as usize],
                    valid_units: self.valid_units[block as usize],
                    state: self.states[block as usize],
                }
            })
            .collect()
    }
}

/// Erase counts of all physical blocks in ten figures: nearest-rank percentiles, mean, population deviation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EraseCounts {
    /// Least.
    pub min: u32,
    /// 1st percentile.
    pub p1: u32,
    /// 10th percentile.
    pub p10: u32,
    /// Median.
    pub p50: u32,
    /// 90th percentile.
    pub p90: u32,
    /// 95th percentile.
    pub p95: u32,
    /// 99th percentile.
    pub p99: u32,
    /// Most.
    pub max: u32,
    /// Mean.
    pub mean: f64,
    /// Standard deviation of the population.
    pub sd: f64,
}

impl EraseCounts {
    /// Computes the figures of `counts`, in time proportional to their number. All are 0 without blocks.
    pub fn of(counts: &[u32]) -> Self {
        let Some((&min, &max)) = counts.iter().min().zip(counts.iter().max()) else { return Self::default() };
        let ranked = Ranked::new(counts, min, max);
        let blocks = counts.len() as f64;
        let sum: u64 = counts.iter().map(|count| u64::from(*count)).sum();
        let mean = sum as f64 / blocks;
        let variance = counts.iter().map(|count| (f64::from(*count) - mean).powi(2)).sum::<f64>() / blocks;
        let [p1, p10, p50, p90, p95, p99] = [1, 10, 50, 90, 95, 99].map(|percent| ranked.percentile(percent));
        debug_assert!(f64::from(min) <= mean && mean <= f64::from(max), "a mean lies between the extremes");
        let counts = Self { min, p1, p10, p50, p90, p95, p99, max, mean, sd: variance.sqrt() };
        assert!(counts.named().is_sorted_by_key(|(_, count)| *count), "a higher percentile is no lower count");
        counts
    }

    /// A nearest-rank percentile of `counts`, which must not be empty.
    ///
    /// # Panics
    /// `percent` is above 100.
    pub fn percentile(counts: &[u32], percent: u64) -> u32 {
        assert!(percent <= 100, "no value is the {percent}th percentile");
        let range = counts.iter().min().zip(counts.iter().max());
        range.map_or(0, |(&min, &max)| Ranked::new(counts, min, max).percentile(percent))
    }

    /// The inverse of [`EraseCounts::named`]; mean and deviation are given separately.
    pub(crate) const fn from_values(values: [u32; 8], mean: f64, sd: f64) -> Self {
        let [min, p1, p10, p50, p90, p95, p99, max] = values;
        Self { min, p1, p10, p50, p90, p95, p99, max, mean, sd }
    }

    /// Least, percentiles and most with their names, in the order of the columns.
    pub(crate) const fn named(&self) -> [(&'static str, u32); 8] {
        [
            ("min", self.min),
            ("p1", self.p1),
            ("p10", self.p10),
            ("p50", self.p50),
            ("p90", self.p90),
            ("p95", self.p95),
            ("p99", self.p99),
            ("max", self.max),
        ]
    }
}

/// Counts in a form from which percentiles can be read.
enum Ranked {
    /// Number of blocks at each count, from the least count on.
    Histogram { min: u32, blocks_at: Vec<u32>, blocks: u64 },
    /// The sorted counts, if they are so far apart that a histogram would be larger.
    Sorted(Vec<u32>),
}

impl Ranked {
    fn new(counts: &[u32], min: u32, max: u32) -> Self {
        let span = (max - min) as usize;
        if span > 4 * counts.len() + (1 << 16) {
            let mut sorted = counts.to_vec();
            sorted.sort_unstable();
            return Self::Sorted(sorted);
        }
        let mut blocks_at = vec![0; span + 1];
        for count in counts {
            blocks_at[(count - min) as usize] += 1;
        }
        Self::Histogram { min, blocks_at, blocks: counts.len() as u64 }
    }

    /// The count of rank ceil(percent / 100 x n).
    fn percentile(&self, percent: u64) -> u32 {
        match self {
            Self::Sorted(sorted) => sorted[rank(percent, sorted.len() as u64) as usize - 1],
            Self::Histogram { min, blocks_at, blocks } => {
                let wanted = rank(percent, *blocks);
                let mut seen = 0;
                let above = blocks_at.iter().position(|at| {
                    seen += u64::from(*at);
                    seen >= wanted
                });
                min + above.expect("the last bucket completes every rank") as u32
            }
        }
    }
}

fn rank(percent: u64, blocks: u64) -> u64 {
    let rank = (percent * blocks).div_ceil(100).max(1);
    debug_assert!(rank <= blocks, "a rank is that of one of the blocks");
    rank
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_nearest_rank() {
        let table: [(&str, Vec<u32>, [u32; 8]); 6] = [
            ("none", vec![], [0; 8]),
            ("one", vec![7], [7; 8]),
            ("two", vec![9, 3], [3, 3, 3, 3, 9, 9, 9, 9]),
            ("1 to 100", (1..=100).rev().collect(), [1, 1, 10, 50, 90, 95, 99, 100]),
            ("1 to 101", (1..=101).collect(), [1, 2, 11, 51, 91, 96, 100, 101]),
            (
                "far apart",
                vec![0, 4_000_000_000, 5],
                [0, 0, 0, 5, 4_000_000_000, 4_000_000_000, 4_000_000_000, 4_000_000_000],
            ),
        ];
        for (name, counts, expected) in table {
            assert_eq!(EraseCounts::of(&counts).named().map(|(_, value)| value), expected, "{name}");
        }
    }

    #[test]
    fn deviation_is_of_the_population() {
        let figures = EraseCounts::of(&[2, 4, 4, 4, 5, 5, 7, 9]);
        assert_eq!((figures.mean, figures.sd), (5.0, 2.0));
    }

    #[test]
    fn rows_name_each_block_with_its_place() {
        let geometry = Geometry::new(2, 1, 2, 2, 4, wane_units::Bytes(4096)).unwrap();
        let mut states = vec![BlockState::Closed; 8];
        states[5] = BlockState::Retired;
        let snapshot = WearSnapshot::new(geometry, (0..8).collect(), vec![3; 8], states);
        assert_eq!(snapshot.retired(), 1);
        let row = snapshot.rows()[6];
        assert_eq!((row.block, row.channel, row.die, row.plane, row.erase_count), (6, 1, 1, 1, 6));
        assert_eq!(snapshot.rows()[5].state, BlockState::Retired);
    }
}
