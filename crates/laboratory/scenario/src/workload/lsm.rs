//! A key-value store as plain data: its keys in a scenario, and the store that they make on a drive.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wane_units::{Bytes, Ratio};
use wane_workload::lsm::{self, Keys, LsmConfig, Operations};

use super::Space;
use crate::error::Refusal;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
/// The value of `lsm` by which a scenario writes its own shares of operations.
const MIXED: &str = "mixed";
const SIZE_MAX: Bytes = Bytes(1 << 40);

/// Keys that only `mixed` has. Another value of `lsm` does not take them over.
pub(super) const MIXED_KEYS: [&str; 5] = ["gets", "scans", "read-modify-writes", "scan-records", "skew"];

/// A key-value store and its operations.
#[derive(Clone, Debug, PartialEq)]
pub struct LsmSpec {
    pub(super) settings: LsmSettings,
    /// What the clients do.
    pub operations: Operations,
}

/// The keys of a key-value store.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, rename_all = "kebab-case")]
pub(super) struct LsmSettings {
    /// A key-value store on an LSM-tree with leveled compaction. The value says what its clients do: a core workload of YCSB, or `mixed` with
    /// the shares below.
    #[schemars(extend("x-default" = "none", "enum" = names()))]
    lsm: String,
    /// Share of the logical capacity that one version of all records takes. The rest is for older versions, logs and compaction.
    data: Ratio,
    /// Size of a record: a key and its value. YCSB's records have ten fields of 100 bytes.
    #[schemars(extend("x-least" = Bytes(1), "x-most" = SIZE_MAX))]
    record_size: Bytes,
    /// Size of the puts that are gathered in memory before a flush (RocksDB: `write_buffer_size`).
    #[schemars(extend("x-least" = Bytes(1), "x-most" = SIZE_MAX))]
    memtable: Bytes,
    /// Largest size of a table (RocksDB: `target_file_size_base`).
    #[schemars(extend("x-least" = Bytes(1), "x-most" = SIZE_MAX))]
    table_size: Bytes,
    /// Largest size of level 1 (RocksDB: `max_bytes_for_level_base`). The last level holds all records; each level above it is smaller than the
    /// next one by the fan-out.
    #[schemars(extend("x-least" = Bytes(1), "x-most" = SIZE_MAX))]
    level_base: Bytes,
    /// Size of a level divided by the size of the one above it (RocksDB: `max_bytes_for_level_multiplier`).
    #[schemars(range(min = 2, max = 100))]
    fan_out: u32,
    /// Number of flushed tables at which they are merged into level 1 (RocksDB: `level0_file_num_compaction_trigger`).
    #[schemars(range(min = 1, max = 100))]
    level0_tables: u32,
    /// Size of the block that a lookup reads from a table (RocksDB: `block_size`).
    #[schemars(extend("x-least" = Bytes(1), "x-most" = SIZE_MAX))]
    block_size: Bytes,
    /// Share of the lookups that a table's filter lets pass although the table does not hold the key; 1 % is that of ten bits a key.
    false_positives: Ratio,
    /// Share of the blocks that are found in memory; less than 100 %. The store does not simulate a cache, so you must guess this.
    cache_hits: Ratio,
    /// Number of clients, each with one operation at a time.
    #[schemars(range(min = 1, max = 1024))]
    clients: u32,
    /// How the log of puts is written.
    log: Log,
    /// Where new files lie.
    extents: Files,
    /// When the units of deleted files are trimmed.
    discard: Discard,
    /// How the tables get onto the drive before the first operation.
    load: Load,
    /// `mixed`: share of the operations that look a key up. The rest of all shares is puts.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "0 %"))]
    gets: Option<Ratio>,
    /// `mixed`: share of the operations that read successive records from a key on.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "0 %"))]
    scans: Option<Ratio>,
    /// `mixed`: share of the operations that look a key up and put it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "0 %"))]
    read_modify_writes: Option<Ratio>,
    /// `mixed`: records of the longest scan.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 1_000_000), extend("x-default" = 100))]
    scan_records: Option<u32>,
    /// `mixed`: the exponent of Zipf's law by which keys are chosen; 0 is uniform.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0.0, max = 10.0), extend("x-default" = 0.99))]
    skew: Option<f64>,
}

impl Default for LsmSettings {
    fn default() -> Self {
        let ratio = |share| Ratio::new(share).expect("a default lies between 0 and 1");
        Self {
            lsm: String::new(),
            data: ratio(0.5),
            record_size: Bytes(KIB),
            memtable: Bytes(64 * MIB),
            table_size: Bytes(64 * MIB),
            level_base: Bytes(256 * MIB),
            fan_out: 10,
            level0_tables: 4,
            block_size: Bytes(4 * KIB),
            false_positives: ratio(0.01),
            cache_hits: Ratio::ZERO,
            clients: 1,
            log: Log::Buffered,
            extents: Files::Lowest,
            discard: Discard::Now,
            load: Load::Write,
            gets: None,
            scans: None,
            read_modify_writes: None,
            scan_records: None,
            skew: None,
        }
    }
}

fn names() -> Vec<&'static str> {
    Operations::YCSB.into_iter().chain([MIXED]).collect()
}

/// How the log of puts is written.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Log {
    /// In pieces of 1 MiB that no client waits for, as RocksDB does by default.
    Buffered,
    /// Each put writes the units of its record and flushes them.
    Synced,
    /// There is no log.
    Off,
}

/// Where new files lie.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Files {
    /// In the lowest free extent that holds them.
    Lowest,
    /// In the next free extent after the last file, around the whole space, as a log-structured file system does. Units that are not
    /// trimmed then fill the drive.
    Around,
}

/// When the units of deleted files are trimmed.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Discard {
    /// At once.
    Now,
    /// After the second flush that follows, unless they are written again before.
    Delayed,
    /// One extent per operation while nothing is flushed or compacted, unless they are written again before.
    Idle,
    /// Never.
    Never,
}

/// How the tables get onto the drive before the first operation.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Load {
    /// Requests of the run trim the whole drive and write the tables.
    Write,
    /// The tables count as written, for a drive that preconditioning has filled.
    Assumed,
}

impl LsmSpec {
    /// Makes the store that the settings describe, if there is room for it.
    pub(super) fn new(settings: LsmSettings, space: Space) -> Result<Self, Refusal> {
        let operations = settings.operations()?;
        let spec = Self { settings, operations };
        let config = spec.config(space.logical_units, space.unit);
        config.check().map_err(|error| (spec.settings.at_fault(&error).to_owned(), spec.told(&error, &config)))?;
        Ok(spec)
    }

    /// The store's config on a drive of `logical_units` units of `unit` bytes.
    pub fn config(&self, logical_units: u32, unit: Bytes) -> LsmConfig {
        let settings = &self.settings;
        LsmConfig {
            units: logical_units,
            unit_bytes: unit.0,
            data_bytes: settings.data.floor_of(u64::from(logical_units) * unit.0),
            record_bytes: settings.record_size.0,
            memtable_bytes: settings.memtable.0,
            table_bytes: settings.table_size.0,
            level_base_bytes: settings.level_base.0,
            fan_out: settings.fan_out,
            level0_tables: settings.level0_tables,
            block_bytes: settings.block_size.0,
            false_positive: settings.false_positives.get(),
            cache_hits: settings.cache_hits.get(),
            clients: settings.clients,
            log: match settings.log {
                Log::Buffered => lsm::Log::Buffered,
                Log::Synced => lsm::Log::Synced,
                Log::Off => lsm::Log::Off,
            },
            files: match settings.extents {
                Files::Lowest => lsm::Files::Lowest,
                Files::Around => lsm::Files::Around,
            },
            discard: match settings.discard {
                Discard::Now => lsm::Discard::Now,
                Discard::Delayed => lsm::Discard::Delayed,
                Discard::Idle => lsm::Discard::Idle,
                Discard::Never => lsm::Discard::Never,
            },
            load: match settings.load {
                Load::Write => lsm::Load::Write,
                Load::Assumed => lsm::Load::Assumed,
            },
            operations: self.operations,
        }
    }

    /// Scales memtable, tables and level 1 by `share`, so that the tree keeps its levels. If they then fill too few units for the store to fit,
    /// the data shrink until it fits.
    pub(crate) fn scale(&mut self, share: f64, logical_units: u32, unit: Bytes) {
        let settings = &mut self.settings;
        let least = unit.max(settings.record_size);
        for size in [&mut settings.memtable, &mut settings.table_size, &mut settings.level_base] {
            *size = Bytes((size.0 as f64 * share).round() as u64).max(least);
        }
        settings.block_size = settings.block_size.min(settings.table_size);
        // A hundred steps, each a tenth less, bring any data to almost nothing.
        for _ in 0..100 {
            let config = self.config(logical_units, unit);
            if !matches!(config.check(), Err(lsm::LsmError::Space { .. })) {
                return;
            }
            let data = 0.9 * self.settings.data.get();
            self.settings.data = Ratio::new(data).expect("a part of a ratio is one");
        }
    }

    /// The message of an error, with what would fit.
    fn told(&self, error: &lsm::LsmError, config: &LsmConfig) -> String {
        let lsm::LsmError::Space { needed, found, .. } = error else { return error.to_string() };
        let fits = |percent: &u32| {
            let data_bytes = u64::from(*percent) * found / 100;
            LsmConfig { data_bytes, ..config.clone() }.check().is_ok()
        };
        let advice = match (1..100).rev().find(fits) {
            Some(percent) => format!("up to {percent} % fit"),
            None => "give it a smaller memtable, smaller tables or a larger drive".to_owned(),
        };
        let (data, needed, found) = (self.settings.data, Bytes(*needed), Bytes(*found));
        format!(
            "{data} of records may take up to {needed} while they are compacted, and the drive exports {found}; {advice}"
        )
    }
}

impl LsmSettings {
    fn operations(&self) -> Result<Operations, Refusal> {
        let given = [self.gets, self.scans, self.read_modify_writes].map(|share| share.is_some());
        let given = given.into_iter().chain([self.scan_records.is_some(), self.skew.is_some()]);
        if let Some(operations) = Operations::ycsb(&self.lsm) {
            return match MIXED_KEYS.into_iter().zip(given).find(|(_, is_given)| *is_given) {
                Some((key, _)) => {
                    let message = format!(
                        "does not belong to lsm = \"{}\", which fixes it; lsm = \"{MIXED}\" takes it",
                        self.lsm
                    );
                    Err((key.to_owned(), message))
                }
                None => Ok(operations),
            };
        }
        let share = |ratio: Option<Ratio>| ratio.map_or(0.0, Ratio::get);
        let exponent = self.skew.unwrap_or(0.99);
        let operations = Operations {
            gets: share(self.gets),
            scans: share(self.scans),
            read_modify_writes: share(self.read_modify_writes),
            scan_records: self.scan_records.unwrap_or(100),
            keys: if exponent > 0.0 { Keys::Zipf { exponent } } else { Keys::Uniform },
        };
        let sum = operations.gets + operations.scans + operations.read_modify_writes;
        if sum > 1.0 + 1e-9 {
            let percent = (sum * 1e4).round() / 100.0;
            let message =
                format!("together with scans and read-modify-writes they are {percent} %; up to 100 % is allowed");
            return Err(("gets".to_owned(), message));
        }
        Ok(operations)
    }

    /// The key that an error is about.
    fn at_fault(&self, error: &lsm::LsmError) -> &'static str {
        match error {
            lsm::LsmError::Size { name, .. }
            | lsm::LsmError::Count { name, .. }
            | lsm::LsmError::Share { name, .. } => match *name {
                "a record" => "record-size",
                "the memtable" => "memtable",
                "a table" => "table-size",
                "level 1" => "level-base",
                "a block" => "block-size",
                "the share of blocks found in memory" => "cache-hits",
                "the data" => "data",
                _ => "lsm",
            },
            _ => "data",
        }
    }
}
