//! What became of an array and of each drive that was a member, beside the figures of its host. The drives' own results are runs of their own.

use serde::{Deserialize, Serialize};

use crate::{End, Forecast, LatencyDistribution, Run, RunResult, Scenario, Summary, Throughput};

/// `array.*`
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ArrayFigures {
    /// `mirror`, `stripe`, `linear` or `raid`.
    pub layout: String,
    /// What the user stopped before it was whole; absent if nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupted: Option<Unfinished>,
    /// The drives, by their place and then by their time.
    pub drives: Vec<ArrayDrive>,
    /// Array writes at which the first drive took no more writes; null if none did.
    pub first_death_at: Option<f64>,
    /// Which drive that was; of several, the one with the lowest place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_to_die: Option<String>,
    /// Array writes at which the last drive that stood then took no more writes; null if one still does.
    pub last_death_at: Option<f64>,
    /// Array writes at the end during which some data had less redundancy than they should; 0 where there is none.
    pub writes_degraded: f64,
    /// Bytes of the array that cannot be read at its end.
    pub bytes_lost: u64,
    /// Bytes that one drive had lost and got back from others.
    pub bytes_repaired: u64,
    /// Bytes that were written on a drive that was new, or had missed them.
    pub bytes_copied: u64,
    /// How fast copies of it answered at some of its ages, in order; empty without `[probe]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub probes: Vec<ArrayProbe>,
    /// What is expected of many arrays like it; absent without `[forecast]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forecast: Option<Forecast>,
}

/// `probes.*`: how fast a copy of the array answered its host, and how fast its drives answered the array.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArrayProbe {
    /// Array writes so far.
    pub at_array_writes: f64,
    /// Days of service so far, where there is a calendar.
    pub at_days: Option<f64>,
    /// Share of the rated erases that is used of the drive that is worn most.
    pub life_used: Option<f64>,
    /// Simulated seconds from the first request to the last answer.
    pub seconds: f64,
    /// What the host got.
    pub throughput: Throughput,
    /// Requests of the host that failed in some of their sectors.
    pub failed: u64,
    /// Latencies that the host sees.
    pub host: ArrayLatency,
    /// Latencies of the drives that were asked for something, by place. Requests of the array's own are left out.
    pub drives: Vec<ArrayDriveLatency>,
}

/// `probes.*.host` and `probes.*.drives.*.latency`
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ArrayLatency {
    /// Of reads; null if there were none.
    pub read: Option<LatencyDistribution>,
    /// Of writes; null if there were none.
    pub write: Option<LatencyDistribution>,
}

/// `probes.*.drives.*`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArrayDriveLatency {
    /// Its place, from 0.
    pub place: u32,
    /// The folder of its own results, if they are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// Its latencies.
    pub latency: ArrayLatency,
    /// Share of the time of the host's requests which waited for it last; absent in results of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waited_for: Option<f64>,
}

/// `array.json` of versions before an array had a summary as a drive has.
#[derive(Deserialize)]
struct Formerly {
    scenario: Scenario,
    capacity_bytes: u64,
    #[serde(default)]
    capacity_bytes_at_end: Option<u64>,
    bytes_written: u64,
    end: End,
    #[serde(flatten)]
    array: ArrayFigures,
    #[serde(default)]
    warnings: Vec<String>,
    run: FormerRun,
}

#[derive(Deserialize)]
struct FormerRun {
    seed: u64,
    wall_seconds: f64,
    version: String,
}

/// The result of an array of a version before this one, whose scenario is `scenario_toml`.
pub(crate) fn of_former(text: &str, scenario_toml: String) -> Result<RunResult, serde_json::Error> {
    let Formerly { scenario, capacity_bytes, capacity_bytes_at_end, bytes_written, end, array, warnings, run } =
        serde_json::from_str(text)?;
    let FormerRun { seed, wall_seconds, version } = run;
    let mut summary = Summary { scenario, end, array: Some(array), warnings, ..Summary::default() };
    summary.host.bytes_written = bytes_written;
    summary.capacity.logical_bytes_initial = capacity_bytes;
    summary.capacity.logical_bytes_exported = capacity_bytes_at_end.unwrap_or(capacity_bytes);
    summary.run = Run { seed, wall_seconds, version, ..Run::default() };
    Ok(RunResult {
        summary,
        timeline: Vec::new(),
        blocks: Vec::new(),
        windows: Vec::new(),
        error_histogram: None,
        scenario_toml,
        drives: Vec::new(),
    })
}

/// A drive of an array.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArrayDrive {
    /// The folder of its own results.
    pub run: String,
    /// Its place, from 0.
    pub place: u32,
    /// What it is at the end.
    pub state: DriveState,
    /// Array writes at which it came; 0 for the first drive of a place.
    pub came_at: f64,
    /// Array writes at which it took no more writes, or was replaced; null if neither.
    pub ended_at: Option<f64>,
    /// Share of its rated erases that is used.
    pub life_used: Option<f64>,
    /// Mean erases of a block.
    pub erase_count_mean: f64,
    /// Bytes that the array wrote on it.
    pub bytes_written: u64,
    /// Its answers to what the host asked in a timed run; absent in any other. Requests of the array's own are left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<ArrayLatency>,
    /// Share of the time of the host's requests which waited for it last; absent in a run without time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waited_for: Option<f64>,
}

/// What of an array's results the user stopped. What comes after it is missing, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unfinished {
    /// Its life.
    Life,
    /// The last of its probes.
    Probe,
    /// The forecast.
    Forecast,
}

/// What a drive of an array is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DriveState {
    /// It reads and writes.
    Online,
    /// It reads, and takes no writes any more.
    ReadOnly,
    /// Nothing of it can be reached.
    Gone,
    /// Another drive has its place.
    Replaced,
}

impl ArrayFigures {
    /// Whether it has data more than once, or parities.
    pub fn is_redundant(&self) -> bool {
        matches!(self.layout.as_str(), "mirror" | "raid")
    }

    /// Share of the array's life between the first and the last death: 0 if all drives died at once. `None` if not all of them died.
    pub fn between_deaths(&self) -> Option<f64> {
        let (first, last) = (self.first_death_at?, self.last_death_at?);
        (last > 0.0).then(|| (last - first) / last)
    }
}
