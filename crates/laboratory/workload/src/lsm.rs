//! A key-value store as a workload: the I/O of a log-structured merge tree (LSM-tree) with leveled compaction.
//!
//! Records are not kept. The level that holds a key's newest version is drawn by how often the key is put (`shape`). Tables are
//! ranges of keys with a size and extents on the drive (`tree`, `ranges`). The output are reads, writes and trims of the
//! drive's units (`source`). The book's page on key-value stores has the whole model, its sources, and what it leaves out.
//!
//! Sources: O'Neil et al., The Log-Structured Merge-Tree, 1996; RocksDB's documented defaults; Cooper et al., Benchmarking Cloud Serving
//! Systems with YCSB, 2010.

mod operations;
mod ranges;
mod shape;
mod source;
#[cfg(test)]
mod tests;
mod tree;

pub use operations::{Keys, Operations};
pub use source::LsmSource;

use shape::{Popularity, Shape};
use wane_units::Bytes;

/// How the log of puts is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Log {
    /// It is written in large pieces that no client waits for. This is RocksDB's default, which loses the last puts if the machine crashes.
    #[default]
    Buffered,
    /// Each put writes the units that its record touches and flushes them.
    Synced,
    /// There is no log.
    Off,
}

/// When the units of deleted files are trimmed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Discard {
    /// At once.
    #[default]
    Now,
    /// After the second flush that follows. Units that are written again before are not trimmed.
    Delayed,
    /// One extent per operation, while there is no flush or compaction. Units that are written again before are not trimmed.
    Idle,
    /// Never.
    Never,
}

/// Where a new file lies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Files {
    /// In the lowest free extent that holds it.
    #[default]
    Lowest,
    /// In the next free extent that holds it after the last file, around the whole space, as a log-structured file system does.
    Around,
}

/// How the tables get onto the drive before the first operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Load {
    /// The space is trimmed and the tables are written.
    #[default]
    Write,
    /// The tables count as written, as on a drive that was filled.
    Assumed,
}

/// A store.
#[derive(Clone, Debug, PartialEq)]
pub struct LsmConfig {
    /// Number of units of the drive that it may use, from 0 on.
    pub units: u32,
    /// Bytes of a unit.
    pub unit_bytes: u64,
    /// Bytes of one version of all records, which is the size of the last level.
    pub data_bytes: u64,
    /// Bytes of a key and its value.
    pub record_bytes: u64,
    /// Bytes of the puts that are gathered in memory.
    pub memtable_bytes: u64,
    /// Largest table.
    pub table_bytes: u64,
    /// Largest size of level 1.
    pub level_base_bytes: u64,
    /// Size of a level divided by the size of the one above it.
    pub fan_out: u32,
    /// Number of tables in level 0 at which they are merged into level 1.
    pub level0_tables: u32,
    /// Bytes that a lookup reads from a table.
    pub block_bytes: u64,
    /// Share of the lookups that a table's filter lets pass although the table does not hold the key.
    pub false_positive: f64,
    /// Share of the blocks that are found in memory; less than 1.
    pub cache_hits: f64,
    /// Number of clients, each with one operation at a time.
    pub clients: u32,
    /// How the log is written.
    pub log: Log,
    /// Where new files lie.
    pub files: Files,
    /// When freed units are trimmed.
    pub discard: Discard,
    /// How the tables get onto the drive.
    pub load: Load,
    /// What the clients do.
    pub operations: Operations,
}

/// Reasons why a store is impossible.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum LsmError {
    /// A size is out of range.
    #[error("{name} is {}; {} to {} are allowed", Bytes(*found), Bytes(*least), Bytes(*most))]
    Size {
        /// What has this size.
        name: &'static str,
        /// The size.
        found: u64,
        /// The least that is allowed.
        least: u64,
        /// The most.
        most: u64,
    },
    /// A count is out of range.
    #[error("{name} is {found}; {least} to {most} are allowed")]
    Count {
        /// What it is about.
        name: &'static str,
        /// The count.
        found: u32,
        /// The least that is allowed.
        least: u32,
        /// The most.
        most: u32,
    },
    /// A share is out of range.
    #[error("{name} is {found}; {allowed}")]
    Share {
        /// What it is about.
        name: &'static str,
        /// The share.
        found: f64,
        /// What is allowed.
        allowed: &'static str,
    },
    /// The data exceed the space while tables are merged.
    #[error("the store needs up to {} for {} of records, and has {}", Bytes(*needed), Bytes(*data), Bytes(*found))]
    Space {
        /// Bytes of records.
        data: u64,
        /// Bytes that they may need.
        needed: u64,
        /// Bytes of the space.
        found: u64,
    },
}

/// Most tables of level 0, divided by the number at which they are merged. Above it puts wait for a merge. A guess: RocksDB, which merges at 4,
/// slows puts down at 20 and stops them at 36, which this store avoids by pacing.
const LEVEL0_STOP: u64 = 2;

/// Most records, so that a rank fits 32 bits.
const RECORDS_MAX: u64 = u32::MAX as u64;

impl LsmConfig {
    /// Checks that a source can be built.
    ///
    /// # Errors
    /// The first value that is out of its range.
    pub fn check(&self) -> Result<(), LsmError> {
        let unit = self.unit_bytes;
        let large = 1 << 40;
        for (name, found, least, most) in [
            ("a record", self.record_bytes, 1, self.memtable_bytes),
            ("the memtable", self.memtable_bytes, unit, large),
            ("a table", self.table_bytes, unit.max(self.record_bytes), large),
            ("level 1", self.level_base_bytes, unit, large),
            ("a block", self.block_bytes, 1, self.table_bytes),
            ("the data", self.data_bytes, self.table_bytes, self.record_bytes.saturating_mul(RECORDS_MAX)),
        ] {
            if !(least..=most).contains(&found) {
                return Err(LsmError::Size { name, found, least, most });
            }
        }
        for (name, found, least, most) in [
            ("the fan-out", self.fan_out, 2, 100),
            ("the number of tables in level 0", self.level0_tables, 1, 100),
            ("the number of clients", self.clients, 1, 1024),
        ] {
            if !(least..=most).contains(&found) {
                return Err(LsmError::Count { name, found, least, most });
            }
        }
        if !(0.0..=1.0).contains(&self.false_positive) {
            let (name, allowed) = ("the rate of false positives", "0 to 1 is allowed");
            return Err(LsmError::Share { name, found: self.false_positive, allowed });
        }
        if !(0.0..1.0).contains(&self.cache_hits) {
            let (name, allowed) = ("the share of blocks found in memory", "0 to less than 1 is allowed");
            return Err(LsmError::Share { name, found: self.cache_hits, allowed });
        }
        self.operations.check()?;
        let (needed, found) = (self.space(), u64::from(self.units) * unit);
        if needed > found {
            return Err(LsmError::Space { data: self.data_bytes, needed, found });
        }
        Ok(())
    }

    /// The popularity of keys for puts.
    fn popularity(&self) -> Popularity {
        let records = (self.data_bytes / self.record_bytes) as f64;
        match self.operations.keys {
            Keys::Zipf { exponent } => Popularity::zipf(records, exponent),
            // A new record replaces an old one at any place in the order of keys.
            Keys::Uniform | Keys::Latest { .. } => Popularity::uniform(records),
        }
    }

    /// Most bytes that the store takes: all levels, level 0 when puts wait, two logs, and the results of one merge in addition to its inputs.
    /// A level above the last may be twice its target plus the data from level 0. A merge between levels meets one and a half times the
    /// data that the fan-out says.
    fn space(&self) -> u64 {
        let shape = Shape::new(self, &Popularity::uniform((self.data_bytes / self.record_bytes).max(1) as f64));
        let upper: u64 = shape.targets[..shape.targets.len() - 1].iter().sum();
        let level0 = (LEVEL0_STOP * u64::from(self.level0_tables) + 1) * self.memtable_bytes;
        let from_level0 = level0 + 2 * shape.targets[0];
        let between = (u64::from(self.fan_out) + 4) * 3 * self.table_bytes / 2;
        let merge = if shape.targets.len() == 1 { from_level0 } else { from_level0.max(between) };
        let tables = (self.data_bytes + 2 * upper) / self.table_bytes + u64::from(self.level0_tables) + 8;
        self.data_bytes + 2 * upper + 2 * level0 + 2 * self.memtable_bytes + merge + 2 * tables * self.unit_bytes
    }
}
