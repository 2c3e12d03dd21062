//! The scenario: one TOML file that says everything about a run.
//!
//! Layers (preset, file, `--set`) are parsed with the places of their keys, checked against the schema of the settings ([`json_schema`]),
//! merged and resolved to plain typed data. `lab` builds the objects of a run from that data.

mod array;
mod check;
mod chosen;
mod device;
mod document;
mod effect;
mod error;
mod file_system;
mod forecast;
mod formerly;
mod forward;
mod keys;
mod layer;
mod manual;
mod medium;
mod phase;
mod policies;
mod presets;
mod resolved;
mod resolver;
mod retention;
mod rework;
mod scale;
mod schema;
mod settings;
mod synonyms;
mod thermal;
mod time;
mod unasked;
mod values;
mod workload;
mod written;

use std::path::{Path, PathBuf};

use toml::{Table, Value};
use wane_units::{Ratio, did_you_mean, excerpt};

pub use array::{ArrayLayout, ArrayRing, ArraySettings, ArraySpec, LastWord, MemberSettings};
pub use chosen::Chosen;
pub use device::{Device, Told};
pub use document::{Document, Given};
pub use error::ScenarioError;
pub use file_system::{FileSystemSettings, FileSystemSpec};
pub use forecast::{AlternativeName, ForecastSettings, UberSource};
pub use formerly::as_kept_formerly;
pub use forward::FastForward;
pub use keys::{Key, keys};
pub use manual::{manual, manual_of, manual_sections};
pub use medium::ERASES_INITIAL_MAX;
pub use medium::{ChipSpec, EccSpec, FaultSpec, Initial, Medium, TimingSpec, Variation};
pub use phase::{Phase, Until};
pub use policies::{Family, PolicyInfo, policies};
pub use presets::{PRESETS, Preset};
pub use retention::RetentionSpec;
pub use scale::Scale;
pub use schema::{in_field_order, json_schema, schema_of};
pub use settings::{FtlSettings, SEED_MAX};
pub use synonyms::{over_provisioning_of, plain_key, spare_of};
pub use thermal::ThermalSpec;
pub use time::{Ages, PaceWord, Probe, Scheduler, Time, WritesPerDay};
pub use wane_ssd::{Collection, Order, Suspend};
pub use workload::{LsmSpec, Pattern, PatternSpec, StandinSpec, TraceSpec, Workload};

use layer::{Layer, merge};
use resolver::{Resolver, at};

/// A resolved scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// Root of all random streams.
    pub seed: u64,
    /// A name for people.
    pub name: String,
    /// The preset it started from.
    pub preset: String,
    /// The drive.
    pub device: Device,
    /// Its flash, apart from its size.
    pub medium: Medium,
    /// The firmware.
    pub ftl: FtlSettings,
    /// What happens before counting starts.
    pub precondition: Precondition,
    /// The phases that are counted, in order.
    pub phases: Vec<Phase>,
    /// The clock.
    pub time: Time,
    /// Timed windows of an untimed life.
    pub probe: Option<Probe>,
    /// Which part of the life is predicted; `None` if all of it is simulated.
    pub fast_forward: Option<FastForward>,
    /// The array that its workload writes; `None` if that is the one drive.
    pub array: Option<ArraySpec>,
    /// The file system between workload and drive; `None` if the workload uses the drive's addresses.
    pub file_system: Option<FileSystemSpec>,
    /// What is asked about many arrays like this one; `None`: nothing.
    pub forecast: Option<ForecastSettings>,
}

/// `[precondition]`, resolved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Precondition {
    /// Share of the logical pages written first.
    pub fill: Ratio,
    /// Sequential drive writes, the fill included.
    pub sequential_drive_writes: u32,
    /// Uniform random drive writes after the sequential ones.
    pub random_drive_writes: f64,
}

/// Where a scenario comes from.
#[derive(Clone, Debug, Default)]
pub struct Sources<'a> {
    /// A preset that replaces the file's.
    pub preset: Option<&'a str>,
    /// The file's name and text.
    pub file: Option<(&'a str, &'a str)>,
    /// `KEY=VALUE` assignments, later ones on top.
    pub set: &'a [String],
}

/// The source that an error names for the end that [`endless`] adds.
const OF_END: &str = "--until";

/// Ends to try for a scenario that has none. The second is an age, which a scenario with probes at ages needs.
const ENDS: [&str; 2] = ["until.requests=1", "until.drive-writes=1e9"];

/// Resolves a scenario that may lack an end, since it only describes a drive. `resolve` calls [`Scenario::resolve_with`] or
/// [`Scenario::of_table`] with the options that it is given.
///
/// # Errors
/// The first thing that is wrong with it, except its end.
pub fn endless(
    options: &[(&str, String)],
    resolve: impl Fn(&[(&str, String)]) -> Result<Scenario, ScenarioError>,
) -> Result<Scenario, ScenarioError> {
    // Whether a life can be fast-forwarded also depends on how it ends.
    let of_end = |key: &str| matches!(key.split('.').next(), Some("until" | "fast-forward"));
    let ends = |error: &ScenarioError| error.source_name == OF_END || of_end(&error.key);
    let mut resolved = resolve(options);
    for end in ENDS {
        let Err(first) = resolved else { break };
        if !ends(&first) {
            return Err(first);
        }
        let mut options = options.to_vec();
        options.push((OF_END, end.to_owned()));
        resolved = resolve(&options).map_err(|error| if ends(&error) { first } else { error });
    }
    resolved
}

impl Scenario {
    /// Its drives: the members of the array, or the one drive, each as a scenario of that drive alone.
    pub fn members(&self) -> &[Self] {
        self.array.as_ref().map_or(std::slice::from_ref(self), |array| &array.members)
    }

    /// The same with another seed, and with the seeds that its drives draw from that.
    #[must_use]
    pub fn with_seed(&self, seed: u64) -> Self {
        let scenario = self.clone();
        Self { seed, array: scenario.array.map(|array| array.with_seed(seed)), ..scenario }
    }

    /// What its host sees: the drive, or the array as a drive.
    pub fn host_device(&self) -> &Device {
        self.array.as_ref().map_or(&self.device, |array| &array.device)
    }

    /// What its workload addresses: the same, or the files of a file system on it as a drive.
    pub fn workload_device(&self) -> &Device {
        self.file_system.as_ref().map_or_else(|| self.host_device(), |files| &files.device)
    }

    /// Reads and resolves a scenario.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub fn resolve(sources: &Sources<'_>) -> Result<Self, ScenarioError> {
        Self::resolve_with(sources, &[])
    }

    /// As [`Self::resolve`], with assignments of other options on top. Each comes with the option that an error names:
    /// `("--sweep", "ftl.gc=fifo")`.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub fn resolve_with(sources: &Sources<'_>, options: &[(&str, String)]) -> Result<Self, ScenarioError> {
        let file = sources.file.map(|(name, text)| Layer::parse(name, text)).transpose()?;
        let set = sources.set.iter().map(|assignment| ("--set", assignment.clone()));
        let options: Vec<(&str, String)> = set.chain(options.iter().cloned()).collect();
        Self::of_layers(file, sources.file.map(|(name, _)| name), sources.preset, &options)
    }

    /// As [`Self::resolve_with`], for a table that was never a text. Errors call it `name`.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub fn of_table(
        name: &str,
        table: Table,
        preset: Option<&str>,
        options: &[(&str, String)],
    ) -> Result<Self, ScenarioError> {
        Self::of_layers(Some(Layer::of_table(name, table)?), None, preset, options)
    }

    /// Resolves a file or table, with a preset that replaces its own and assignments on top. If it has no name, it gets one from `path`.
    fn of_layers(
        file: Option<Layer>,
        path: Option<&str>,
        preset: Option<&str>,
        options: &[(&str, String)],
    ) -> Result<Self, ScenarioError> {
        let files = usize::from(file.is_some());
        let mut layers: Vec<Layer> = file.into_iter().collect();
        for (option, assignment) in options {
            layers.push(Layer::set(option, assignment)?);
        }
        let mut set = Table::new();
        for layer in &layers {
            merge(&mut set, &layer.table).map_err(|(key, message)| layer.error(&key, message))?;
        }
        let named = set.get("drive").and_then(|drive| drive.get("preset")).and_then(Value::as_str);
        let by_set = layers.iter().skip(files).any(|layer| layer.holds("drive.preset"));
        let asked = preset.filter(|_| !by_set);
        let preset_name = asked.or(named).unwrap_or(presets::NONE.name).to_owned();
        let preset = presets::find(&preset_name).ok_or_else(|| {
            // A preset that a layer names is checked already.
            let known = presets::names();
            let (found, allowed, hint) = (excerpt(&preset_name), known.join(", "), did_you_mean(&preset_name, &known));
            ScenarioError::elsewhere("--preset", format!("found \"{found}\", allowed are {allowed}{hint}"))
        })?;
        let inherited = Layer::parse(preset.name, preset.text)?.table;
        let mut merged = inherited.clone();
        merge(&mut merged, &set).map_err(|(key, message)| at(&layers, &key, message))?;
        let resolver = Resolver { layers: &layers, set: &set, inherited: &inherited, merged: &merged };
        let mut scenario = resolver.resolve(preset_name)?;
        if scenario.name.is_empty() {
            let stem = path.and_then(|path| Path::new(path).file_stem());
            scenario.name = stem.map_or_else(|| scenario.preset.clone(), |stem| stem.to_string_lossy().into_owned());
        }
        Ok(scenario)
    }

    /// Makes trace paths absolute; relative ones are relative to the folder of the scenario's file. The resolved scenario can then be run from
    /// anywhere.
    pub fn relative_to(&mut self, folder: &Path) {
        fn walk(workload: &mut Workload, folder: &Path) {
            match workload {
                Workload::Trace(trace) if trace.path.is_relative() && trace.path != Path::new("-") => {
                    let joined = folder.join(&trace.path);
                    trace.path = std::path::absolute(&joined).unwrap_or(joined);
                }
                Workload::Mix(parts) => parts.iter_mut().for_each(|(_, part)| walk(part, folder)),
                Workload::Trace(_) | Workload::Pattern(_) | Workload::Standin(_) | Workload::Lsm(_) => {}
            }
        }
        self.phases.iter_mut().for_each(|phase| walk(&mut phase.workload, folder));
        self.probe.iter_mut().for_each(|probe| walk(&mut probe.workload, folder));
    }

    /// The traces that it reads; one that is read twice is listed twice. `-` is stdin.
    pub fn traces(&self) -> Vec<&Path> {
        fn collect<'a>(workload: &'a Workload, found: &mut Vec<&'a Path>) {
            match workload {
                Workload::Trace(trace) => found.push(&trace.path),
                Workload::Mix(parts) => parts.iter().for_each(|(_, part)| collect(part, found)),
                Workload::Pattern(_) | Workload::Standin(_) | Workload::Lsm(_) => {}
            }
        }
        let mut found = Vec::new();
        self.phases.iter().for_each(|phase| collect(&phase.workload, &mut found));
        self.probe.iter().for_each(|probe| collect(&probe.workload, &mut found));
        found
    }
}

/// Reads any bytes as a scenario, for the fuzzer.
#[doc(hidden)]
pub fn resolve_bytes(bytes: &[u8]) -> Result<Scenario, ScenarioError> {
    let text = String::from_utf8_lossy(bytes);
    Scenario::resolve(&Sources { file: Some(("fuzz.toml", &text)), ..Sources::default() })
}

/// The folder that relative trace paths of a scenario file start from.
pub fn folder_of(file: &Path) -> PathBuf {
    file.parent().map(Path::to_path_buf).unwrap_or_default()
}

#[cfg(test)]
mod array_tests;
#[cfg(test)]
mod schema_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod timed_tests;
