//! The scenario: one TOML file that says everything about a run.
//!
//! Layers (preset, file, `--set`) are parsed with their places, checked against the table of [`keys`], laid over each
//! other and resolved to plain typed data. Built objects never sit here; `lab` makes them.

mod device;
mod effect;
mod error;
pub mod keys;
mod layer;
mod medium;
mod phase;
mod policies;
mod presets;
mod time;
mod values;
mod workload;

use std::path::{Path, PathBuf};

use toml::{Table, Value};
use wane_ftl::policies::capacity::CAPACITY_POLICIES;
use wane_ftl::policies::redundancy::REDUNDANCY_POLICIES;
use wane_ftl::policies::retirement::RETIRE_POLICIES;
use wane_ftl::policies::scrub::SCRUB_POLICIES;
use wane_ftl::policies::victim::VICTIM_POLICIES;
use wane_ftl::policies::wear_leveling::WEAR_LEVEL_POLICIES;
use wane_ftl::policies::{Entry, names};
use wane_ftl::{EraseGroup, Frontiers, Pooling};
use wane_units::{Fnv, Ratio, did_you_mean, excerpt};
use wane_workload::Arrival;

pub use device::Device;
pub use error::ScenarioError;
pub use medium::ERASES_INITIAL_MAX;
pub use medium::{ChipSpec, Draws, EccSpec, FaultSpec, Initial, Medium, TimingSpec, Variation};
pub use phase::{Phase, Until};
pub use policies::{PolicyInfo, RefusedPolicy, parse_policy, policies};
pub use presets::{PRESETS, Preset};
pub use time::{Collection, Order, Probe, Scheduler, Suspend, Time};
pub use workload::{Pattern, PatternSpec, TraceSpec, Workload};

use device::Grouping;
use error::Refusal;
use layer::{Layer, merge};
use values::{number, ratio};
use workload::{Paths, Space};

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
    /// What its flash is made of.
    pub medium: Medium,
    /// The firmware.
    pub ftl: FtlSettings,
    /// What happens before counting.
    pub precondition: Precondition,
    /// What happens then, in order.
    pub phases: Vec<Phase>,
    /// The clock.
    pub time: Time,
    /// Timed windows of an untimed life.
    pub probe: Option<Probe>,
}

/// `[ftl]`, resolved. Policies are tables with `policy` and their parameters, checked.
#[derive(Clone, Debug, PartialEq)]
pub struct FtlSettings {
    /// Garbage collection's policy.
    pub gc: Table,
    /// The wear leveler.
    pub wear_leveling: Table,
    /// The capacity policy.
    pub capacity: Table,
    /// Which pages protect each other.
    pub redundancy: Table,
    /// The scrubber.
    pub scrub: Table,
    /// When blocks retire.
    pub retire: Table,
    /// Block or superblock.
    pub unit: EraseGroup,
    /// Drive or die.
    pub domain: Pooling,
    /// One frontier or two.
    pub frontiers: Frontiers,
}

/// `[precondition]`, resolved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Precondition {
    /// Share of the logical pages written first.
    pub fill: Ratio,
    /// Sequential drive writes, the fill included.
    pub sequential_drive_writes: u32,
    /// Uniform random drive writes after that.
    pub random_drive_writes: f64,
}

/// Where a scenario comes from.
#[derive(Clone, Debug, Default)]
pub struct Sources<'a> {
    /// A preset that takes the place of the file's.
    pub preset: Option<&'a str>,
    /// The file's name and text.
    pub file: Option<(&'a str, &'a str)>,
    /// `KEY=VALUE` assignments, later ones on top.
    pub set: &'a [String],
}

impl Scenario {
    /// Reads and resolves a scenario.
    ///
    /// # Errors
    /// The first thing that is wrong with it.
    pub fn resolve(sources: &Sources<'_>) -> Result<Self, ScenarioError> {
        let mut layers = Vec::new();
        if let Some((name, text)) = sources.file {
            layers.push(Layer::parse(name, text)?);
        }
        for assignment in sources.set {
            layers.push(Layer::set(assignment)?);
        }
        let mut set = Table::new();
        for layer in &layers {
            merge(&mut set, &layer.table).map_err(|(key, message)| layer.error(&key, message))?;
        }
        let named = set.get("drive").and_then(|drive| drive.get("preset")).and_then(Value::as_str);
        let by_set = layers.iter().skip(usize::from(sources.file.is_some())).any(|layer| layer.holds("drive.preset"));
        let asked = sources.preset.filter(|_| !by_set);
        let preset_name = asked.or(named).unwrap_or(presets::NONE.name).to_owned();
        let preset = presets::find(&preset_name).ok_or_else(|| {
            let known: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
            let hint = did_you_mean(&preset_name, &known);
            let allowed = known.join(", ");
            let message = format!("found \"{}\", allowed are {allowed}, none{}", excerpt(&preset_name), hint);
            match asked {
                Some(_) => ScenarioError::elsewhere("--preset", message),
                None => at(&layers, "drive.preset", message),
            }
        })?;
        let inherited = Layer::parse(preset.name, preset.text)?.table;
        let mut merged = inherited.clone();
        merge(&mut merged, &set).map_err(|(key, message)| at(&layers, &key, message))?;
        let resolver = Resolver { layers: &layers, set: &set, inherited: &inherited, merged: &merged };
        let mut scenario = resolver.resolve(preset_name)?;
        if scenario.name.is_empty() {
            let stem = sources.file.and_then(|(name, _)| Path::new(name).file_stem());
            scenario.name = stem.map_or_else(|| scenario.preset.clone(), |stem| stem.to_string_lossy().into_owned());
        }
        Ok(scenario)
    }

    /// The resolved scenario as TOML, which resolves to itself.
    ///
    /// Every key of the tables of an untimed scenario with its value. Arrivals, `[time]`, `chip`, `cell` and the tables
    /// inside `[drive]` are written, each whole, only where they differ from what the preset brings, or, in timed runs,
    /// from the defaults: what a scenario does not speak of stays out of it.
    pub fn to_toml(&self) -> String {
        let mut top = self.table(Paths::Resolved);
        top.insert("name".to_owned(), Value::from(self.name.as_str()));
        toml::to_string(&top).expect("a table of plain values is TOML")
    }

    /// A hash of everything that decides the results, as 16 hexadecimal digits. Names are left out, and traces count by
    /// their paths as written, so that the hash is the same on every machine. Of untimed runs, what only a scheduler
    /// heeds is left out.
    pub fn hash(&self) -> String {
        let mut top = self.table(Paths::AsWritten);
        if let Some(Value::Table(drive)) = top.get_mut("drive") {
            drive.remove("preset");
        }
        let text = toml::to_string(&top).expect("a table of plain values is TOML");
        Fnv::of(text.as_bytes()).hex()
    }

    /// Makes relative trace paths relative to the folder of the scenario's file, and absolute, so that the resolved
    /// scenario can be run from anywhere.
    pub fn relative_to(&mut self, folder: &Path) {
        fn walk(workload: &mut Workload, folder: &Path) {
            match workload {
                Workload::Trace(trace) if trace.path.is_relative() && trace.path != Path::new("-") => {
                    let joined = folder.join(&trace.path);
                    trace.path = std::path::absolute(&joined).unwrap_or(joined);
                }
                Workload::Mix(parts) => parts.iter_mut().for_each(|(_, part)| walk(part, folder)),
                Workload::Trace(_) | Workload::Pattern(_) | Workload::Standin(_) => {}
            }
        }
        self.phases.iter_mut().for_each(|phase| walk(&mut phase.workload, folder));
        self.probe.iter_mut().for_each(|probe| walk(&mut probe.workload, folder));
    }

    /// The traces that it reads, as often as it reads them; `-` is stdin.
    pub fn traces(&self) -> Vec<&Path> {
        fn collect<'a>(workload: &'a Workload, found: &mut Vec<&'a Path>) {
            match workload {
                Workload::Trace(trace) => found.push(&trace.path),
                Workload::Mix(parts) => parts.iter().for_each(|(_, part)| collect(part, found)),
                Workload::Pattern(_) | Workload::Standin(_) => {}
            }
        }
        let mut found = Vec::new();
        self.phases.iter().for_each(|phase| collect(&phase.workload, &mut found));
        self.probe.iter().for_each(|probe| collect(&probe.workload, &mut found));
        found
    }

    fn space(&self) -> Space {
        Space { logical_units: self.device.logical_units, unit: self.device.unit }
    }

    fn table(&self, paths: Paths) -> Table {
        let mut top = Table::new();
        top.insert("seed".to_owned(), Value::from(self.seed as i64));
        let mut drive = self.drive_table();
        drive.extend(self.medium_entries(paths));
        top.insert("drive".to_owned(), Value::Table(drive));
        top.insert("ftl".to_owned(), Value::Table(self.ftl_table()));
        let precondition = [
            ("fill", Value::from(self.precondition.fill.get())),
            ("sequential-drive-writes", Value::from(i64::from(self.precondition.sequential_drive_writes))),
            ("random-drive-writes", Value::from(self.precondition.random_drive_writes)),
        ];
        top.insert("precondition".to_owned(), Value::Table(named(precondition)));
        let tables = |phase: &Phase| {
            let mut workload = phase.workload.to_table(self.space(), paths);
            if self.writes_arrival(phase.arrival, paths) {
                workload.insert("arrival".to_owned(), time::arrival_value(phase.arrival));
            }
            named([("workload", Value::Table(workload)), ("until", Value::Table(phase.until.to_table()))])
        };
        if let [phase] = &self.phases[..] {
            top.extend(tables(phase));
        } else {
            let phases = self.phases.iter().map(|phase| Value::Table(tables(phase)));
            top.insert("phase".to_owned(), Value::Array(phases.collect()));
        }
        top.extend(self.time_table(paths).map(|time| ("time".to_owned(), Value::Table(time))));
        let probe = self.probe.as_ref().map(|probe| probe.table(self.space(), paths));
        top.extend(probe.map(|probe| ("probe".to_owned(), Value::Table(probe))));
        top
    }

    fn writes_arrival(&self, arrival: Arrival, paths: Paths) -> bool {
        match paths {
            Paths::AsWritten => self.time.is_timed(),
            Paths::Resolved => self.time.is_timed() || arrival != Arrival::default(),
        }
    }

    /// What of the medium is written: see [`Self::to_toml`] and [`Self::hash`].
    fn medium_entries(&self, paths: Paths) -> Vec<(String, Value)> {
        let timed = self.time.is_timed();
        let (preset, default) = (presets::medium(&self.preset), Medium::default());
        let entries = self.medium.entries().into_iter().zip(preset.entries()).zip(default.entries());
        let written = entries.filter(|(((name, own), (_, below)), (_, default))| {
            // A cell brings other times than the defaults, which may be those that are meant.
            let of_cell = |below: Option<wane_nand::CellKind>| *name == "timing" && self.medium.cell != below;
            match paths {
                Paths::AsWritten => (own != default || of_cell(None)) && (timed || *name != "timing"),
                Paths::Resolved => own != below || of_cell(preset.cell) || (own != default && timed),
            }
        });
        written.map(|((entry, _), _)| (entry.0.to_owned(), entry.1)).collect()
    }

    fn time_table(&self, paths: Paths) -> Option<Table> {
        let timed = self.time.is_timed();
        let (own, below) = (self.time.table(), presets::time(&self.preset).table());
        let differs = own != Time::default().table();
        match paths {
            Paths::AsWritten if timed => Some(own),
            // All that an untimed run heeds.
            Paths::AsWritten => {
                let calendar = own.into_iter().filter(|(key, _)| key == "drive-writes-per-day");
                Some(calendar.collect()).filter(|_| self.time.drive_writes_per_day.is_some())
            }
            Paths::Resolved => {
                // Arrivals stand without a scheduler only where there is none on purpose.
                let arrivals = self.phases.iter().any(|phase| phase.arrival != Arrival::default());
                (own != below || (differs && timed) || (arrivals && !timed)).then_some(own)
            }
        }
    }

    fn drive_table(&self) -> Table {
        let (device, shape) = (&self.device, &self.device.geometry);
        let endurance = device.endurance.map_or(Value::from("none"), |count| Value::from(i64::from(count)));
        named([
            ("preset", Value::from(self.preset.as_str())),
            ("logical-capacity", values::size(device.logical_bytes())),
            ("spare-factor", Value::from(device.spare_factor)),
            ("channels", Value::from(i64::from(shape.channels()))),
            ("dies-per-channel", Value::from(i64::from(shape.dies_per_channel()))),
            ("planes-per-die", Value::from(i64::from(shape.planes_per_die()))),
            ("blocks-per-plane", Value::from(i64::from(shape.blocks_per_plane()))),
            ("pages-per-block", Value::from(i64::from(shape.pages_per_block()))),
            ("page-size", values::size(shape.page_size().0)),
            ("mapping-unit", values::size(device.unit.0)),
            ("endurance", endurance),
        ])
    }

    fn ftl_table(&self) -> Table {
        let ftl = &self.ftl;
        let mut table = named([
            ("gc", Value::Table(ftl.gc.clone())),
            ("wear-leveling", Value::Table(ftl.wear_leveling.clone())),
            ("capacity", Value::Table(ftl.capacity.clone())),
            ("gc-reserve", Value::from(i64::from(self.device.gc_reserve))),
            ("retire", shortened(&ftl.retire)),
            ("unit", Value::from(UNIT[ftl.unit as usize])),
            ("domain", Value::from(DOMAIN[ftl.domain as usize])),
            ("frontiers", Value::from(FRONTIERS[ftl.frontiers as usize])),
        ]);
        // Drives without them keep the hash that they had before there were any.
        let mut below = presets::find(&self.preset).and_then(|preset| preset.text.parse::<Table>().ok());
        let below = below.as_mut().and_then(|preset| preset.remove("ftl"));
        for (key, policy) in [("redundancy", &ftl.redundancy), ("scrub", &ftl.scrub)] {
            let inherited = below.as_ref().is_some_and(|ftl| ftl.get(key).is_some());
            if inherited || policy.get("policy").and_then(Value::as_str) != Some("none") {
                table.insert(key.to_owned(), Value::Table(policy.clone()));
            }
        }
        table
    }
}

// The names of each choice, in the order of its enum.
const UNIT: [&str; 2] = ["block", "superblock"];
const DOMAIN: [&str; 2] = ["drive", "die"];
const FRONTIERS: [&str; 2] = ["one", "separate"];

/// Whether blocks may leave service.
fn retires(device: &Device, ftl: &FtlSettings) -> bool {
    ftl.retire_policy().retires(device.endurance)
}

/// A policy without parameters as its name alone.
fn shortened(policy: &Table) -> Value {
    match policy.get("policy") {
        Some(name) if policy.len() == 1 => name.clone(),
        _ => Value::Table(policy.clone()),
    }
}

fn named<const N: usize>(entries: [(&str, Value); N]) -> Table {
    entries.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// An error at a key, in the topmost layer that has it, or else the nearest table around it.
fn at(layers: &[Layer], key: &str, message: String) -> ScenarioError {
    let mut place = key;
    loop {
        if let Some(layer) = layers.iter().rev().find(|layer| layer.holds(place)) {
            return layer.error(key, message);
        }
        match place.rsplit_once('.') {
            Some((parent, _)) => place = parent,
            None => break,
        }
    }
    match layers.first() {
        Some(layer) => layer.error(key, message),
        None => ScenarioError { key: key.to_owned(), ..ScenarioError::elsewhere("the scenario", message) },
    }
}

struct Resolver<'a> {
    layers: &'a [Layer],
    set: &'a Table,
    inherited: &'a Table,
    merged: &'a Table,
}

impl Resolver<'_> {
    fn error(&self, key: &str, message: String) -> ScenarioError {
        at(self.layers, key, message)
    }

    fn section<'t>(table: &'t Table, name: &str) -> Option<&'t Table> {
        table.get(name).and_then(Value::as_table)
    }

    fn resolve(&self, preset: String) -> Result<Scenario, ScenarioError> {
        let empty = Table::new();
        let ftl_table = Self::section(self.merged, "ftl").unwrap_or(&empty);
        let ftl = self.ftl(ftl_table)?;
        let gc_reserve = ftl_table.get("gc-reserve").and_then(Value::as_integer).unwrap_or(7) as u32;
        let scrubs = ftl.scrub_policy().acts();
        let frontiers = if ftl.frontiers == Frontiers::One { 1 } else { 2 + u32::from(scrubs) };
        let grouping = Grouping { unit: ftl.unit, domain: ftl.domain, frontiers, gc_reserve };
        let set = Self::section(self.set, "drive").unwrap_or(&empty);
        let inherited = Self::section(self.inherited, "drive").unwrap_or(&empty);
        let device = device::device(set, inherited, grouping).map_err(|(key, message)| self.error(key, message))?;
        self.check_reserve(&device, &ftl)?;
        let space = Space { logical_units: device.logical_units, unit: device.unit };
        let refuse = |(key, message): Refusal| self.error(&key, message);
        let drive = Self::section(self.merged, "drive").unwrap_or(&empty);
        let medium = Medium::of(drive).map_err(refuse)?;
        medium.check(set, device.unit).map_err(refuse)?;
        let time = Time::of(Self::section(self.merged, "time").unwrap_or(&empty));
        time.check(Self::section(self.set, "time").unwrap_or(&empty)).map_err(refuse)?;
        self.check_needs(&device, &ftl, &medium, &time)?;
        let phases = self.phases(space, &device, &ftl)?;
        let probe = self.probe(space, &time, &phases)?;
        let scenario = Scenario {
            seed: self.merged.get("seed").and_then(Value::as_integer).unwrap_or(1) as u64,
            name: self.merged.get("name").and_then(Value::as_str).unwrap_or_default().to_owned(),
            preset,
            device,
            precondition: self.precondition()?,
            phases,
            ftl,
            medium,
            time,
            probe,
        };
        Ok(scenario)
    }

    fn ftl(&self, table: &Table) -> Result<FtlSettings, ScenarioError> {
        let choice = |key: &str, names: &[&str]| {
            let written = table.get(key).and_then(Value::as_str);
            written.and_then(|word| names.iter().position(|name| *name == word)).unwrap_or(0)
        };
        Ok(FtlSettings {
            gc: self.policy(table, "gc", "greedy", VICTIM_POLICIES)?,
            wear_leveling: self.policy(table, "wear-leveling", "none", WEAR_LEVEL_POLICIES)?,
            capacity: self.policy(table, "capacity", "fixed", CAPACITY_POLICIES)?,
            redundancy: self.policy(table, "redundancy", "none", REDUNDANCY_POLICIES)?,
            scrub: self.policy(table, "scrub", "none", SCRUB_POLICIES)?,
            retire: self.policy(table, "retire", "at-endurance", RETIRE_POLICIES)?,
            unit: [EraseGroup::Block, EraseGroup::Superblock][choice("unit", &UNIT)],
            domain: [Pooling::Drive, Pooling::Die][choice("domain", &DOMAIN)],
            frontiers: [Frontiers::One, Frontiers::Separate][choice("frontiers", &FRONTIERS)],
        })
    }

    /// A policy's table, its name known and its parameters accepted.
    fn policy<T>(&self, ftl: &Table, key: &str, default: &str, family: &[Entry<T>]) -> Result<Table, ScenarioError> {
        let path = format!("ftl.{key}");
        let mut table = ftl.get(key).and_then(Value::as_table).cloned().unwrap_or_default();
        match table.get("policy") {
            None => drop(table.insert("policy".to_owned(), Value::from(default))),
            Some(Value::String(_)) => {}
            Some(other) => {
                let message =
                    format!("found {}, expected a name, one of {}", layer::shown(other), names(family).join(", "));
                return Err(self.error(&format!("{path}.policy"), message));
            }
        }
        parse_policy(&table, family).map_err(|refused| {
            let place = refused.key.as_ref().map_or(path.clone(), |name| format!("{path}.{name}"));
            self.error(&place, refused.message)
        })?;
        Ok(table)
    }

    fn check_reserve(&self, device: &Device, ftl: &FtlSettings) -> Result<(), ScenarioError> {
        let needs = ftl.needs();
        if let Some((_, name, _)) = needs.iter().find(|(_, _, needs)| needs.endurance && device.endurance.is_none()) {
            let message = format!("is \"none\", but {name} follows the rated endurance");
            return Err(self.error("drive.endurance", message));
        }
        let retires = retires(device, ftl);
        let swaps = needs.iter().any(|(_, _, needs)| needs.free_blocks > 1);
        if device.gc_reserve < 2 && (retires || swaps || ftl.frontiers == Frontiers::Separate) {
            let message =
                "found 1; at least 2 are needed where blocks can retire or swap their data, and with separate \
                           frontiers"
                    .to_owned();
            return Err(self.error("ftl.gc-reserve", message));
        }
        Ok(())
    }

    /// Whether the mean block would retire at its first erase.
    fn starts_worn_out(&self, device: &Device, ftl: &FtlSettings, medium: &Medium) -> bool {
        let retires_at = ftl.retire_policy().retires_at(device.endurance);
        retires_at.is_some_and(|at| medium.initial.erase_count.is_some_and(|count| count >= at))
    }

    /// Refuses policies that would never act, for want of errors or of time, and a drive that is lost before it starts.
    fn check_needs(
        &self,
        device: &Device,
        ftl: &FtlSettings,
        medium: &Medium,
        time: &Time,
    ) -> Result<(), ScenarioError> {
        for (family, name, needs) in ftl.needs() {
            if let Some(lacking) = policies::lacking(needs, device, medium, time) {
                return Err(self.error(&format!("ftl.{}", family.key()), format!("{name} goes by {lacking}")));
            }
        }
        let (key, message) = match () {
            () if medium.faults.lost_die.is_some_and(|die| die >= device.geometry.dies()) => {
                let found = medium.faults.lost_die.unwrap_or_default();
                let dies = device.geometry.dies();
                let (allowed, noun) =
                    if dies == 1 { ("0".to_owned(), "die") } else { (format!("0 to {}", dies - 1), "dies") };
                (
                    "drive.faults.lost-die",
                    format!("found {found}; the drive has {dies} {noun}, so that {allowed} is allowed"),
                )
            }
            () if self.starts_worn_out(device, ftl, medium) => {
                let advice = "raise drive.endurance, or set it to \"none\"";
                let found = medium.initial.erase_count.unwrap_or_default();
                let rated = device.endurance.unwrap_or_default();
                (
                    "drive.initial.erase-count",
                    format!("found {found}, but blocks retire at {rated} P/E cycles; {advice}"),
                )
            }
            () => return Ok(()),
        };
        Err(self.error(key, message))
    }

    fn precondition(&self) -> Result<Precondition, ScenarioError> {
        let empty = Table::new();
        let set = Self::section(self.set, "precondition").unwrap_or(&empty);
        let set_fill = set.get("fill").and_then(ratio);
        // A drive that is not filled has not seen the drive writes of a preset either.
        let partly = set_fill.is_some_and(|fill| fill != Ratio::ONE);
        let table = if partly { set } else { Self::section(self.merged, "precondition").unwrap_or(&empty) };
        let written = table.get("sequential-drive-writes").and_then(Value::as_integer);
        let fill = table.get("fill").and_then(ratio);
        let sequential = written.unwrap_or(i64::from(fill.is_none_or(|fill| fill == Ratio::ONE))) as u32;
        let fill = fill.unwrap_or(if sequential == 0 { Ratio::ZERO } else { Ratio::ONE });
        if fill != Ratio::ONE && sequential > 0 {
            let message =
                format!("found {sequential}, which fill the drive, but fill is {fill}; leave one of them out");
            return Err(self.error("precondition.sequential-drive-writes", message));
        }
        let random_drive_writes = table.get("random-drive-writes").and_then(number).unwrap_or(0.0);
        Ok(Precondition { fill, sequential_drive_writes: sequential, random_drive_writes })
    }

    fn phases(&self, space: Space, device: &Device, ftl: &FtlSettings) -> Result<Vec<Phase>, ScenarioError> {
        let listed = self.merged.get("phase").and_then(Value::as_array);
        let tables: Vec<(String, &Table)> = match listed {
            Some(phases) => {
                (0..).zip(phases).filter_map(|(n, phase)| Some((format!("phase.{n}."), phase.as_table()?))).collect()
            }
            None => vec![(String::new(), self.merged)],
        };
        if tables.is_empty() {
            return Err(self.error("phase", "is empty; at least one phase is needed".to_owned()));
        }
        let empty = Table::new();
        let mut phases = Vec::new();
        for (prefix, table) in tables {
            let part = |name: &str| Self::section(table, name).unwrap_or(&empty);
            let (workload, arrival) = self.workload(part("workload"), space, &format!("{prefix}workload"))?;
            let until = phase::until(part("until"));
            let dies = until.end_of_life && retires(device, ftl);
            self.check_end(&workload, until, dies, &format!("{prefix}until"))?;
            phases.push(Phase { workload, arrival, until });
        }
        Ok(phases)
    }

    /// A workload and its arrivals, at a path.
    fn workload(&self, table: &Table, space: Space, path: &str) -> Result<(Workload, Arrival), ScenarioError> {
        let refuse = |(key, message): Refusal| self.error(&format!("{path}.{key}"), message);
        let workload = workload::workload(table, space, false).map_err(refuse)?;
        self.check_names(&workload, path)?;
        let arrival = time::arrival(table, &workload).map_err(refuse)?;
        let untimed = Self::section(self.merged, "time").is_none_or(|time| !time.contains_key("scheduler"));
        if table.contains_key("arrival") && untimed {
            let message = "has no effect on an untimed run; give time.scheduler = \"event\" or \"timeline\"";
            return Err(self.error(&format!("{path}.arrival"), message.to_owned()));
        }
        Ok((workload, arrival))
    }

    fn probe(&self, space: Space, time: &Time, phases: &[Phase]) -> Result<Option<Probe>, ScenarioError> {
        let Some(table) = Self::section(self.merged, "probe") else { return Ok(None) };
        if !time.is_timed() {
            let message = "needs a clock; give time.scheduler = \"event\" or \"timeline\"";
            return Err(self.error("probe", message.to_owned()));
        }
        let last = phases.last().expect("a scenario has a phase");
        let written = Self::section(table, "workload");
        let keeps = written.is_none_or(|table| table.keys().all(|key| key == "arrival"));
        let path = "probe.workload";
        let (workload, arrival) = match written {
            None => (last.workload.clone(), last.arrival),
            Some(own) if keeps => {
                let arrival = time::arrival(own, &last.workload);
                let arrival = arrival.map_err(|(key, message)| self.error(&format!("{path}.{key}"), message))?;
                (last.workload.clone(), if own.is_empty() { last.arrival } else { arrival })
            }
            Some(own) => self.workload(own, space, path)?,
        };
        let probe = Probe::of(table, workload, arrival).map_err(|(key, message)| self.error(&key, message))?;
        Ok(Some(probe))
    }

    /// Refuses a phase that would never end.
    fn check_end(&self, workload: &Workload, until: Until, dies: bool, path: &str) -> Result<(), ScenarioError> {
        if workload.ends() || until.requests.is_some() {
            return Ok(());
        }
        let message = match (until.drive_writes, until.end_of_life) {
            (None, false) => "the run would never end; give drive-writes, requests or end-of-life = true",
            (None, true) if !dies => {
                "end-of-life alone never comes: no block retires (see drive.endurance and ftl.retire)"
            }
            _ if !workload.writes() => "the run would never end, because its workload writes nothing; give requests",
            _ => return Ok(()),
        };
        Err(self.error(path, message.to_owned()))
    }

    /// Stand-ins and trace formats are named; the names are looked up here, not while running.
    fn check_names(&self, workload: &Workload, path: &str) -> Result<(), ScenarioError> {
        match workload {
            Workload::Standin(name) => {
                workload::check_standin(name).map_err(|message| self.error(&format!("{path}.standin"), message))
            }
            Workload::Trace(TraceSpec { format: Some(format), .. }) => {
                workload::check_format(format).map_err(|message| self.error(&format!("{path}.format"), message))
            }
            Workload::Mix(parts) => (0..)
                .zip(parts)
                .try_for_each(|(n, (_, part)): (usize, _)| self.check_names(part, &format!("{path}.mix.{n}"))),
            Workload::Trace(_) | Workload::Pattern(_) => Ok(()),
        }
    }
}

/// Reads any bytes as a scenario: what the fuzzer calls.
#[doc(hidden)]
pub fn resolve_bytes(bytes: &[u8]) -> Result<Scenario, ScenarioError> {
    let text = String::from_utf8_lossy(bytes);
    Scenario::resolve(&Sources { file: Some(("fuzz.toml", &text)), ..Sources::default() })
}

/// The folder that relative traces of a scenario file are relative to.
pub fn folder_of(file: &Path) -> PathBuf {
    file.parent().map(Path::to_path_buf).unwrap_or_default()
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod timed_tests;
