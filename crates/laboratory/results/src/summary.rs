//! The summary of a run: `summary.json`, and what `wane run --json` prints.
//!
//! Fields are in the order in which they are written. Undefined ratios are null. Only the fields under
//! `run` may differ between two runs of the same scenario.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::life::TERABYTE;
use super::{
    ArrayFigures, EraseCounts, Errors, Latency, LatencyByGc, LatencyOf, Life, Thermal, Throughput, WriteAmplification,
};

/// Part of the warning about errors beyond the data of their model, by which other code finds it.
pub const EXTRAPOLATED: &str = "are extrapolated in";

/// Start of the warning that requests came faster than the drive served them.
pub const OVERLOADED: &str = "the drive does not keep up";

/// A run in numbers. Pages are mapping units. Counts start after preconditioning; `wear` includes it. In a fast-forwarded life,
/// `host`, `flash`, `write_amplification` and `gc` cover the simulated part; `wear`, `capacity`, `end` and `life` cover both parts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Which scenario was run.
    pub scenario: Scenario,
    /// Host requests.
    pub host: Host,
    /// Flash operations.
    pub flash: Flash,
    /// Flash pages programmed per host page.
    pub write_amplification: SummaryWriteAmplification,
    /// Garbage collection.
    pub gc: Gc,
    /// Erase counts over all physical blocks, including retired ones.
    pub wear: Wear,
    /// Capacity of the drive, or of the array.
    pub capacity: Capacity,
    /// How the run ended.
    pub end: End,
    /// The larger drive that the run's scaled drive stands for; absent without scaling.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scaled: Option<Scaled>,
    /// What the file system between workload and drive did; absent if the workload used the drive's addresses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_system: Option<FileSystem>,
    /// What became of the array and its drives; absent of a drive alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub array: Option<ArrayFigures>,
    /// Which part of the life was predicted instead of simulated; absent if all of it was simulated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fast_forward: Option<FastForwarded>,
    /// The amount written, in the terms of data sheets; absent from results of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub life: Option<Life>,
    /// Latencies in a timed run. If only windows are timed, those of the last window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<Latency>,
    /// The part of the drive's life in which `latency` was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_of: Option<LatencyOf>,
    /// Latencies before and after garbage collection began, if it began in the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_by_gc: Option<LatencyByGc>,
    /// Throughput in the same part of the life as `latency`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throughput: Option<Throughput>,
    /// Temperature of the drive in that part, if heat is simulated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thermal: Option<Thermal>,
    /// Figures of error correction, on flash with errors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errors: Option<Errors>,
    /// Warnings for the reader of these numbers.
    pub warnings: Vec<String>,
    /// Fields that may differ between two runs of the same scenario.
    pub run: Run,
}

/// `scenario.*`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scenario {
    /// A name for people: of the scenario file, the experiment or the grid cell.
    pub name: String,
    /// Hash of the resolved scenario, including the policies from outside that replaced its own.
    pub hash: String,
    /// Policies from outside that replaced the scenario's, by the key under `ftl` that chooses their family. Each has
    /// `policy`, its name, and its parameters.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub overrides: BTreeMap<String, BTreeMap<String, serde_json::Value>>,
}

/// `file_system.*`, since counting began
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FileSystem {
    /// How it gives space back.
    pub way: String,
    /// Bytes that programs wrote to files.
    pub bytes_written: u64,
    /// Bytes that programs read from files.
    pub bytes_read: u64,
    /// Bytes of files that reached the drive: what programs wrote without what they overwrote in memory. Null in results of earlier versions.
    #[serde(default)]
    pub bytes_written_back: Option<u64>,
    /// Bytes that the drive got per byte that programs wrote; null without writes.
    pub write_amplification: Option<f64>,
    /// Bytes that its flash programmed per byte that programs wrote: the product of that and the drive's own write amplification. Null without
    /// writes, and in results of earlier versions.
    #[serde(default)]
    pub write_amplification_of_flash: Option<f64>,
    /// Bytes of files that cleaning and giving space back copied.
    pub bytes_moved: u64,
    /// Bytes of nodes, tables and checkpoints. With those written back and those moved they are what the drive got. Null in results of earlier
    /// versions.
    #[serde(default)]
    pub bytes_of_structures: Option<u64>,
    /// Bytes that the drive moved for it by its map alone.
    pub bytes_remapped: u64,
    /// Checkpoints.
    pub checkpoints: u64,
    /// Bytes of the drive that it used when counting began.
    pub size_at_start: u64,
    /// Bytes of the drive that it used at the end.
    pub size_at_end: u64,
    /// Blocks that programs read and that the drive had lost.
    pub blocks_lost: u64,
    /// The drive once wanted it to be smaller than its data let it be.
    pub is_degraded: bool,
}

/// `scaled.*`
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scaled {
    /// Bytes that the larger drive exports when new. TBW are reported for it; bytes, pages and blocks are those of the run.
    pub from_logical_bytes: u64,
    /// Logical capacity of the smaller drive divided by that of the larger one.
    pub ratio: f64,
}

/// `fast_forward.*`: the simulated and the predicted part of the life.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FastForwarded {
    /// The model that predicted erases.
    pub model: String,
    /// The acceleration factor of the scenario.
    pub factor: f64,
    /// The factor that was reached: all drive writes divided by those simulated, including those that were taken back.
    pub factor_reached: f64,
    /// Drive writes of the life that were simulated.
    pub drive_writes_simulated: f64,
    /// Drive writes of the life that were predicted.
    pub drive_writes_predicted: f64,
    /// Flash blocks erased in the simulated part.
    pub blocks_erased_simulated: u64,
    /// Predicted erases of flash blocks.
    pub blocks_erased_predicted: u64,
    /// Periods that were simulated.
    pub periods_simulated: u64,
    /// Predictions that were kept.
    pub predictions: u64,
    /// Predictions that were taken back, since the simulated period after them did not fit.
    pub predictions_taken_back: u64,
    /// Flash pages programmed after predictions that were taken back. They took time but count nowhere else.
    pub pages_programmed_in_vain: u64,
    /// Blocks that were predicted beyond their rated erases and were set to the rated erases. A block with data has one erase more when it
    /// leaves service.
    pub blocks_clamped: u64,
}

/// `host.*`
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// Pages written.
    pub pages_written: u64,
    /// Bytes of a page; 0 in results of earlier versions.
    #[serde(default)]
    pub page_bytes: u64,
    /// Of the pages written, those of which the host wrote only a part: the drive read the rest and wrote the page whole.
    #[serde(default)]
    pub pages_written_in_part: u64,
    /// Bytes that the host wrote. Fewer than the pages hold if some were written in part.
    pub bytes_written: u64,
    /// Bytes written divided by the capacity of the new drive.
    pub drive_writes: f64,
    /// Pages read.
    pub pages_read: u64,
    /// Pages among those read that held no data.
    pub pages_read_unmapped: u64,
    /// Pages trimmed.
    pub pages_trimmed: u64,
}

/// `flash.*`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flash {
    /// Pages programmed, by cause.
    pub pages_programmed: PagesProgrammed,
    /// Program commands. There are fewer than pages if a flash page holds several mapping units.
    pub program_operations: u64,
    /// Blocks erased, by cause.
    pub blocks_erased: BlocksErased,
    /// Pages that scrubbing read to count their errors.
    #[serde(default)]
    pub scrub_checks: u64,
    /// Stripes that got no parity because no die had room for it.
    #[serde(default)]
    pub stripes_unprotected: u64,
    /// Reads of pages that were still being programmed, served from the controller's buffer, in a timed run.
    #[serde(default)]
    pub reads_buffered: u64,
    /// Host reads that were served from the rest of their stripe because their die was collecting, in a timed run.
    #[serde(default)]
    pub reads_around: u64,
}

/// `flash.pages_programmed.*`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PagesProgrammed {
    /// For host writes.
    pub host: u64,
    /// Relocated by garbage collection.
    pub gc: u64,
    /// Relocated by wear leveling.
    pub wear_leveling: u64,
    /// Relocated by the file system when the drive shrank.
    pub file_system: u64,
    /// Relocated by scrubbing.
    #[serde(default)]
    pub scrub: u64,
    /// Parity of stripes.
    #[serde(default)]
    pub parity: u64,
    /// Metadata for recovery: the checkpoint, and the journal of trims.
    #[serde(default)]
    pub metadata: u64,
    /// Units left empty in flash pages that were closed before they were full.
    pub padding: u64,
    /// All of these.
    pub total: u64,
}

/// `flash.blocks_erased.*`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlocksErased {
    /// By garbage collection.
    pub gc: u64,
    /// By wear leveling.
    pub wear_leveling: u64,
    /// By scrubbing.
    #[serde(default)]
    pub scrub: u64,
    /// Of the metadata area.
    #[serde(default)]
    pub metadata: u64,
    /// All of these.
    pub total: u64,
}

/// `write_amplification.*`
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SummaryWriteAmplification {
    /// (host + garbage collection) / host.
    pub gc: Option<f64>,
    /// Wear leveling / host.
    pub wear_leveling: Option<f64>,
    /// Every cause / host.
    pub total: Option<f64>,
    /// Write amplification over the last full drive write, or over the whole run if it was shorter.
    pub last_drive_write: WriteAmplification,
}

impl SummaryWriteAmplification {
    /// Joins the figures of the whole run and of its last drive write.
    pub const fn new(whole: WriteAmplification, last_drive_write: WriteAmplification) -> Self {
        Self { gc: whole.gc, wear_leveling: whole.wear_leveling, total: whole.total, last_drive_write }
    }
}

/// `gc.*`
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Gc {
    /// Number of victims.
    pub victims: u64,
    /// Mean valid pages of a victim; null without victims.
    pub valid_pages_per_victim_mean: Option<f64>,
}

/// `wear.*`
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Wear {
    /// Erases of a block.
    pub erase_count: EraseCounts,
    /// Mean erase count when counting began.
    pub erase_count_mean_at_start: f64,
    /// Jain's fairness index of the erase counts: 1 when all are equal.
    pub jain_index: f64,
    /// Blocks out of service.
    pub blocks_retired: u64,
}

/// `capacity.*`
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Capacity {
    /// Bytes that the new drive exports.
    pub logical_bytes_initial: u64,
    /// Bytes that the drive exports at the end.
    pub logical_bytes_exported: u64,
    /// Bytes of the blocks still in service.
    pub physical_bytes_usable: u64,
    /// Physical / logical capacity of the new drive - 1. The spare factor is 1 - 1 / (1 + this). Absent of an array, and from results of earlier
    /// versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over_provisioning: Option<f64>,
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EndReason {
    /// `until.drive-writes` was reached.
    #[default]
    DriveWrites,
    /// `until.days` was reached.
    Days,
    /// `until.requests` was reached.
    Requests,
    /// The trace ran out.
    TraceEnd,
    /// The drive died.
    EndOfLife,
    /// The simulated clock reached its end, 584 years after the start.
    ClockEnd,
    /// Another drive took its place in an array.
    Replaced,
    /// The array in which it stood came to its end.
    ArrayEnd,
    /// The user stopped the run.
    Interrupted,
}

/// What a drive died of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EndCause {
    /// All spare blocks have retired.
    SpareExhausted,
    /// No free block is left to write to.
    NoFreeBlock,
    /// Garbage collection found no victim, or went on without gaining space.
    NoVictim,
    /// The data in use exceed what the drive still exports.
    FootprintDoesNotFit,
    /// The file system relocated as much as it was allowed to.
    RelocationBound,
}

/// `end.*`
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct End {
    /// Why the run ended.
    pub reason: EndReason,
    /// Why the drive died; null if it did not.
    pub cause: Option<EndCause>,
    /// Drive writes at the end.
    pub at_drive_writes: f64,
}

/// `run.*`: fields that may differ between two runs of the same scenario.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Root of all random streams.
    pub seed: u64,
    /// Seconds of real time that the run took.
    pub wall_seconds: f64,
    /// Flash pages programmed per second of real time, over the measured phase; null if it took no time.
    pub flash_pages_programmed_per_second: Option<f64>,
    /// Flash operations scheduled per second of real time, in a timed run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flash_operations_per_second: Option<f64>,
    /// Most memory that the process held; null if the system does not report it.
    pub peak_memory_bytes: Option<u64>,
    /// Version of the program.
    pub version: String,
}

impl Summary {
    /// The summary as it is saved: indented JSON with a line end.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("a summary holds only strings and numbers");
        text.push('\n');
        text
    }

    /// Bytes that the host wrote in the whole life, including the predicted part, on the drive that the run's drive stands for.
    pub fn bytes_lived(&self) -> f64 {
        let is_part = self.fast_forward.is_some() || self.scaled.is_some();
        match &self.life {
            Some(life) if is_part => life.terabytes_written * TERABYTE,
            None if is_part => self.end.at_drive_writes * self.capacity.logical_bytes_initial as f64,
            _ => self.host.bytes_written as f64,
        }
    }
}

impl EndReason {
    /// The name in `summary.json`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::DriveWrites => "drive-writes",
            Self::Days => "days",
            Self::Requests => "requests",
            Self::TraceEnd => "trace-end",
            Self::EndOfLife => "end-of-life",
            Self::ClockEnd => "clock-end",
            Self::Replaced => "replaced",
            Self::ArrayEnd => "array-end",
            Self::Interrupted => "interrupted",
        }
    }
}

impl EndCause {
    /// The name in `summary.json`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SpareExhausted => "spare-exhausted",
            Self::NoFreeBlock => "no-free-block",
            Self::NoVictim => "no-victim",
            Self::FootprintDoesNotFit => "footprint-does-not-fit",
            Self::RelocationBound => "relocation-bound",
        }
    }
}
