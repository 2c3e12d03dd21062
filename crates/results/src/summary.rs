//! The summary of a run: `summary.json`, and what `wane run --json` prints.
//!
//! Fields stand in the order in which they are written. Ratios are null where they are undefined. Everything under
//! `run` may differ between two runs of the same scenario; nothing else may.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::life::TERABYTE;
use super::{EraseCounts, Errors, Latency, LatencyByGc, LatencyOf, Life, Thermal, Throughput, WriteAmplification};

/// What the warning says of errors beyond the data of their model, by which others know it.
pub const EXTRAPOLATED: &str = "are extrapolated in";

/// A run in numbers. Pages are mapping units; counts start after preconditioning, `wear` includes it. Of a life that was fast-forwarded,
/// `host`, `flash`, `write_amplification` and `gc` are of what was simulated; `wear`, `capacity`, `end` and `life` are of both.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Which scenario was run.
    pub scenario: Scenario,
    /// What the host did.
    pub host: Host,
    /// What the flash did.
    pub flash: Flash,
    /// Flash pages programmed per host page.
    pub write_amplification: SummaryWriteAmplification,
    /// Garbage collection.
    pub gc: Gc,
    /// Erase counts over all physical blocks, retired ones included.
    pub wear: Wear,
    /// What the drive holds.
    pub capacity: Capacity,
    /// How the run ended.
    pub end: End,
    /// The drive that the run's smaller one stands for; absent where it stands for itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scaled: Option<Scaled>,
    /// Which part of the life was predicted instead of simulated; absent where all of it was simulated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fast_forward: Option<FastForwarded>,
    /// What was written in the words of data sheets; absent from results of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub life: Option<Life>,
    /// What requests took, in a timed run; of its last window where only windows are timed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<Latency>,
    /// Of which part of the drive's life that is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_of: Option<LatencyOf>,
    /// Where garbage collection began in the run, what requests took before and since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_by_gc: Option<LatencyByGc>,
    /// What was served in that time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throughput: Option<Throughput>,
    /// How warm the drive was meanwhile, where it has heat of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thermal: Option<Thermal>,
    /// What error correction saw, on flash that errs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errors: Option<Errors>,
    /// What the reader of these numbers should know.
    pub warnings: Vec<String>,
    /// What may differ between two runs of the same scenario.
    pub run: Run,
}

/// `scenario.*`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scenario {
    /// A name for people: of the scenario file, the experiment or the grid cell.
    pub name: String,
    /// Hash of the resolved scenario, with the policies from outside that took the place of its own.
    pub hash: String,
    /// Policies from outside that took the place of the scenario's, by the key under `ftl` that chooses their family: each with
    /// `policy`, its name, and its parameters.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub overrides: BTreeMap<String, BTreeMap<String, serde_json::Value>>,
}

/// `scaled.*`
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scaled {
    /// Bytes that the larger drive exports when new. TBW are told for it; bytes, pages and blocks are those of the run.
    pub from_logical_bytes: u64,
    /// The smaller drive's logical capacity over the larger one's.
    pub ratio: f64,
}

/// `fast_forward.*`: what was simulated and what was predicted, apart.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FastForwarded {
    /// How erases were predicted.
    pub model: String,
    /// The acceleration factor that was asked for.
    pub factor: f64,
    /// The one that came of it: drive writes over those that were simulated, taken-back ones among them.
    pub factor_reached: f64,
    /// Drive writes of the life that were simulated.
    pub drive_writes_simulated: f64,
    /// Drive writes of the life that were predicted.
    pub drive_writes_predicted: f64,
    /// Flash blocks erased in the life that was simulated.
    pub blocks_erased_simulated: u64,
    /// Erases of flash blocks that were predicted.
    pub blocks_erased_predicted: u64,
    /// Periods that were simulated.
    pub periods_simulated: u64,
    /// Predictions that hold.
    pub predictions: u64,
    /// Predictions that were taken back, since what followed was not what they went by.
    pub predictions_taken_back: u64,
    /// Flash pages programmed after predictions that were taken back: they cost time and count nowhere else.
    pub pages_programmed_in_vain: u64,
    /// Blocks that were predicted beyond their rated erases and were given those alone. One that holds data takes one erase more when it
    /// leaves service.
    pub blocks_clamped: u64,
}

/// `host.*`
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// Pages written.
    pub pages_written: u64,
    /// Bytes written.
    pub bytes_written: u64,
    /// Pages written over the logical pages of the new drive.
    pub drive_writes: f64,
    /// Pages read.
    pub pages_read: u64,
    /// Pages among those read that held no data.
    pub pages_read_unmapped: u64,
    /// Pages given up.
    pub pages_trimmed: u64,
}

/// `flash.*`
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flash {
    /// Pages programmed, by cause.
    pub pages_programmed: PagesProgrammed,
    /// Program commands: fewer than pages where a flash page holds several mapping units.
    pub program_operations: u64,
    /// Blocks erased, by cause.
    pub blocks_erased: BlocksErased,
    /// Pages that scrubbing read to see how they fare.
    #[serde(default)]
    pub scrub_checks: u64,
    /// Stripes that got no parity because no die had room for it.
    #[serde(default)]
    pub stripes_unprotected: u64,
    /// Reads of pages that were still being programmed, served from the controller's buffer; of a timed run.
    #[serde(default)]
    pub reads_buffered: u64,
    /// Reads of the host that went to the rest of their stripe, as their die collected; of a timed run.
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
    /// What a recovery needs: the checkpoint, and the journal of trims.
    #[serde(default)]
    pub metadata: u64,
    /// Left empty in flash pages that were closed before they were full.
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
    /// The same over the last full drive write, or over the whole run where it was shorter.
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
    /// Blocks chosen.
    pub victims: u64,
    /// Valid pages in a chosen block; null without victims.
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
    /// Physical / logical capacity of the new drive - 1; the spare factor is 1 - 1 / (1 + this). Absent in results of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub over_provisioning: Option<f64>,
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EndReason {
    /// The drive writes asked for were made.
    DriveWrites,
    /// The days asked for are over.
    Days,
    /// The requests asked for were served.
    Requests,
    /// The trace ran out.
    TraceEnd,
    /// The drive died.
    EndOfLife,
    /// The simulated clock came to its end, 584 years after the start.
    ClockEnd,
    /// The user stopped the run.
    Interrupted,
}

/// What a drive died of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EndCause {
    /// As many blocks retired as the drive had to spare.
    SpareExhausted,
    /// Nothing left to write to.
    NoFreeBlock,
    /// Nothing that garbage collection could reclaim, or it went on and gained nothing.
    NoVictim,
    /// The data in use exceed what the drive still exports.
    FootprintDoesNotFit,
    /// The file system relocated as much as it was allowed to.
    RelocationBound,
}

/// `end.*`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct End {
    /// Why the run ended.
    pub reason: EndReason,
    /// What the drive died of; null when it lives.
    pub cause: Option<EndCause>,
    /// Drive writes at the end.
    pub at_drive_writes: f64,
}

/// `run.*`: what may differ between two runs of the same scenario.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Root of all random streams.
    pub seed: u64,
    /// Seconds that the run took.
    pub wall_seconds: f64,
    /// Flash pages programmed a second, over the measured phase; null when it took no time.
    pub flash_pages_programmed_per_second: Option<f64>,
    /// Flash operations scheduled a second, in a timed run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flash_operations_per_second: Option<f64>,
    /// Most memory that the process held; null where the system does not tell.
    pub peak_memory_bytes: Option<u64>,
    /// Version of the program.
    pub version: String,
}

impl Summary {
    /// The summary as it is kept: indented JSON with a line end.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("a summary holds only strings and numbers");
        text.push('\n');
        text
    }

    /// Bytes that the host wrote in the life that the run is of: with those that were predicted, and on the drive that the run's stands for.
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
