//! Settings of a fleet's file, as serde structs. Each field documents its key; checks and messages are made from the structs' schema.

use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use wane_scenario::{in_field_order, schema_of};
use wane_units::{Bytes, Ratio};

/// Most drives of a fleet, for which the tables in memory are made.
pub(crate) const DRIVES_MAX: u32 = 1_000_000;

static SCHEMA: LazyLock<Json> = LazyLock::new(|| schema_of::<FleetSettings>("wane fleet"));

/// The JSON schema (2020-12) of a fleet's file.
pub fn json_schema() -> &'static Json {
    &SCHEMA
}

/// A fleet. Every key has a default, so that a file names only keys that differ from it.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[schemars(transform = in_field_order::<Self>)]
pub struct FleetSettings {
    /// Root of all random streams. The same file and seed give the same bytes.
    #[schemars(range(min = 0, max = wane_scenario::SEED_MAX))]
    pub seed: u64,
    /// Days for which the fleet is watched.
    #[schemars(range(min = 1, max = 3650))]
    pub days: u32,
    /// How often each drive reports a record.
    pub records: Cadence,
    /// First day, as `2024-01-01`.
    #[schemars(extend("x-allowed" = "a day in quotes, such as \"2024-01-01\""))]
    pub start: String,
    /// How the drives' flash is simulated.
    pub medium: MediumKind,
    /// How many times a year a drive's work changes: its workload and its pace.
    #[schemars(range(min = 0.0, max = 365.0))]
    pub changes_a_year: f64,
    /// Places of the drives: nodes, racks and their temperatures.
    pub place: PlaceSettings,
    /// Drives, model by model.
    #[schemars(length(min = 1), extend("x-allowed" = "one or more `[[model]]` tables"))]
    pub model: Vec<ModelSettings>,
    /// Workloads of the drives.
    #[schemars(length(min = 1), extend("x-allowed" = "one or more `[[workload]]` tables"))]
    pub workload: Vec<WorkloadSettings>,
    /// When the drives lose power.
    pub power: PowerSettings,
    /// What drives die of apart from wear.
    pub hazards: HazardSettings,
}

impl Default for FleetSettings {
    fn default() -> Self {
        let work = |name: &str, pattern, share: f64| WorkloadSettings {
            name: name.to_owned(),
            pattern,
            share,
            ..WorkloadSettings::default()
        };
        Self {
            seed: 1,
            days: 365,
            records: Cadence::Hourly,
            start: "2024-01-01".to_owned(),
            medium: MediumKind::Expected,
            changes_a_year: 1.0,
            place: PlaceSettings::default(),
            model: vec![ModelSettings::default()],
            workload: vec![
                work("database", PatternKind::Zipf, 0.4),
                work("cache", PatternKind::HotCold, 0.3),
                work("log", PatternKind::Sequential, 0.1),
                work("objects", PatternKind::Uniform, 0.2),
            ],
            power: PowerSettings::default(),
            hazards: HazardSettings::default(),
        }
    }
}

/// How often a drive reports a record.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cadence {
    /// At the end of each hour in which it had power.
    #[default]
    Hourly,
    /// At the end of the last hour of each day in which it had power.
    Daily,
}

/// How the flash is simulated. Map, wear and writes are the same with both.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MediumKind {
    /// Flash counts and wears; once a day its errors are those that the model of raw bit errors expects.
    #[default]
    Expected,
    /// Each page is read and has its own errors; some ten times slower.
    Full,
}

/// Where the drives stand. Failures come together on nodes and in racks.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[schemars(transform = in_field_order::<Self>)]
pub struct PlaceSettings {
    /// Drives of a node, all of one model.
    #[schemars(range(min = 1, max = 1000))]
    pub drives_per_node: u32,
    /// Nodes of a rack.
    #[schemars(range(min = 1, max = 1000))]
    pub nodes_per_rack: u32,
    /// Mean temperature of an idle drive, in degrees Celsius.
    #[schemars(range(min = 0.0, max = 70.0))]
    pub celsius: f64,
    /// Standard deviation of the racks' temperatures around it, in degrees.
    #[schemars(range(min = 0.0, max = 20.0))]
    pub celsius_sigma: f64,
    /// Swing of the temperature over a year, from its mean to its peak at midsummer, in degrees.
    #[schemars(range(min = 0.0, max = 20.0))]
    pub season: f64,
}

impl Default for PlaceSettings {
    fn default() -> Self {
        Self { drives_per_node: 12, nodes_per_rack: 8, celsius: 33.0, celsius_sigma: 2.0, season: 2.0 }
    }
}

/// Drives of one model.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[schemars(transform = in_field_order::<Self>)]
pub struct ModelSettings {
    /// The model's name; by default `SIM-` and its set of attributes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "SIM- and its attributes"))]
    pub name: Option<String>,
    /// Number of drives.
    #[schemars(range(min = 1, max = DRIVES_MAX))]
    pub count: u32,
    /// Attributes that its drives report.
    pub attributes: AttributeSet,
    /// A scenario file whose `[drive]` and `[ftl]` the model has, relative to this file. By default a drive is 16,384 pages of 16 KiB in blocks of
    /// 64, with the chip `tlc-72l-2018`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "none"))]
    pub drive: Option<String>,
    /// Capacity of the real drive that the simulated one stands for. Bytes, pages and sectors are reported for the real drive, blocks and erases are
    /// those simulated.
    #[schemars(extend("x-least" = Bytes(1 << 20), "x-most" = Bytes(1 << 50)))]
    pub capacity: Bytes,
    /// Flash beyond the capacity, as data sheets state it. Not allowed together with `drive`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-default" = "14 %"))]
    pub over_provisioning: Option<Ratio>,
    /// Rated erases, relative to which a drive reports its life.
    #[schemars(range(min = 10, max = 1_000_000))]
    pub rated_erases: u32,
    /// Mean erases that a drive's blocks endure, in multiples of its rated erases.
    #[schemars(range(min = 0.1, max = 100.0))]
    pub endurance: f64,
    /// Spread of that between drives: standard deviation of the logarithm.
    #[schemars(range(min = 0.0, max = 2.0))]
    pub endurance_sigma: f64,
    /// Number of batches in which the model was made, of equal size, one after the other.
    #[schemars(range(min = 1, max = 1000))]
    pub batches: u32,
    /// Firmwares, from the first batches' to the last ones'.
    #[schemars(length(min = 1, max = 100), extend("x-allowed" = "a list of 1 to 100 names, such as [\"1.0\", \"1.1\"]"))]
    pub firmwares: Vec<String>,
    /// Age of the youngest drive when the watch begins, in days under load.
    #[schemars(range(min = 0.0, max = 7300.0))]
    pub age_least: f64,
    /// Age of the oldest drive, in days under load; ages between the two are equally likely.
    #[schemars(range(min = 0.0, max = 7300.0))]
    pub age_most: f64,
    /// Share of its hours that a drive counts as power-on hours: some drives do not count hours asleep.
    pub hours_counted: Ratio,
}

impl Default for ModelSettings {
    fn default() -> Self {
        Self {
            name: None,
            count: 100,
            attributes: AttributeSet::A,
            drive: None,
            capacity: Bytes(960_000_000_000),
            over_provisioning: None,
            rated_erases: 3000,
            endurance: 1.5,
            endurance_sigma: 0.1,
            batches: 4,
            firmwares: vec!["1.0".to_owned(), "1.1".to_owned()],
            age_least: 0.0,
            age_most: 365.0,
            hours_counted: Ratio::ONE,
        }
    }
}

/// The attributes that a model reports, after the two models of 002, table 3.1.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq, Serialize)]
pub enum AttributeSet {
    /// Erases, percent of write and erase, gigabytes written to flash.
    #[default]
    A,
    /// Life left, host sectors, flash pages by host and by firmware.
    B,
}

/// A workload of drives.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[schemars(transform = in_field_order::<Self>)]
pub struct WorkloadSettings {
    /// The workload's name; by default its pattern's.
    #[schemars(extend("x-default" = "its pattern's"))]
    pub name: String,
    /// Which pages are written.
    pub pattern: PatternKind,
    /// Its weight among the workloads.
    #[schemars(range(min = 0.0, max = 1e6))]
    pub share: f64,
    /// Drive writes a day of the drive that is written least.
    #[schemars(range(min = 0.0, max = 100.0))]
    pub dwpd_least: f64,
    /// Mean drive writes a day of the drives. Between least and most they follow an exponential law with this mean.
    #[schemars(range(min = 0.0, max = 100.0))]
    pub dwpd_mean: f64,
    /// Drive writes a day of the drive that is written most.
    #[schemars(range(min = 0.0, max = 100.0))]
    pub dwpd_most: f64,
    /// Bytes read for each byte written. Reads go to all data equally.
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub reads_per_write: f64,
    /// Bytes of a request. It begins at any multiple of 4 KiB, so that the pages at its ends are written in part: with pages of 16 KiB, requests of
    /// 256 KiB fill 30.6 of 32 sectors on average.
    #[schemars(extend("x-least" = Bytes(4096), "x-most" = Bytes(16 << 20)))]
    pub request_size: Bytes,
    /// Swing of the load over a day, from its mean to its peak, as a share of the mean.
    pub daily_swing: Ratio,
    /// `zipf`: the exponent.
    #[schemars(range(min = 0.0, max = 10.0))]
    pub exponent: f64,
    /// `hot-cold`: share of the writes that go to hot pages.
    pub r: Ratio,
    /// `hot-cold`: share of the pages that are hot.
    pub h: Ratio,
}

impl Default for WorkloadSettings {
    fn default() -> Self {
        Self {
            name: String::new(),
            pattern: PatternKind::Zipf,
            share: 1.0,
            dwpd_least: 0.1,
            dwpd_mean: 0.5,
            dwpd_most: 3.0,
            reads_per_write: 1.5,
            request_size: Bytes(256 << 10),
            daily_swing: Ratio::new(0.5).unwrap_or(Ratio::ONE),
            exponent: 0.9,
            r: Ratio::new(0.8).unwrap_or(Ratio::ONE),
            h: Ratio::new(0.2).unwrap_or(Ratio::ONE),
        }
    }
}

/// Which pages a workload writes.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PatternKind {
    /// All equally often.
    Uniform,
    /// Hot pages more often than cold ones.
    HotCold,
    /// By Zipf's law.
    #[default]
    Zipf,
    /// In order, again and again.
    Sequential,
    /// The skew of JESD219.
    Jesd219,
}

impl PatternKind {
    /// Its name in the file.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::HotCold => "hot-cold",
            Self::Zipf => "zipf",
            Self::Sequential => "sequential",
            Self::Jesd219 => "jesd219",
        }
    }
}

/// How nodes lose power, all drives of a node together.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[schemars(transform = in_field_order::<Self>)]
pub struct PowerSettings {
    /// How many times a year a node is switched off.
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub cycles_a_year: f64,
    /// Mean hours that a node stays off.
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub hours_off: f64,
    /// Share of the outages that are unplanned.
    pub unexpected: Ratio,
}

impl Default for PowerSettings {
    fn default() -> Self {
        Self { cycles_a_year: 10.0, hours_off: 2.0, unexpected: Ratio::new(0.1).unwrap_or(Ratio::ONE) }
    }
}

/// What drives die of apart from wear, which the simulation of each drive decides.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[schemars(transform = in_field_order::<Self>)]
pub struct HazardSettings {
    /// Share of new drives that die of a factory flaw.
    pub infant: Ratio,
    /// Mean age at which flawed drives die, in days.
    #[schemars(range(min = 1.0, max = 3650.0))]
    pub infant_days: f64,
    /// Share of the drives that die at random in a year.
    pub random: Ratio,
    /// Share of the batches that are bad.
    pub bad_batches: Ratio,
    /// Factor by which a drive of a bad batch dies more often than at random.
    #[schemars(range(min = 1.0, max = 1000.0))]
    pub bad_batch_factor: f64,
    /// Chance that a failure makes another drive of its node fail within 30 minutes.
    pub node_minutes: Ratio,
    /// Chance that a failure makes a drive of another node of its rack fail within 30 minutes.
    pub rack_minutes: Ratio,
    /// Chance that another failure follows in its rack within 30 days.
    pub rack_days: Ratio,
    /// Chance that another failure follows on its node within a year.
    pub node_later: Ratio,
    /// Share of the drives that show signs before they die of a cause other than wear.
    pub warned: Ratio,
    /// Mean days for which they show signs.
    #[schemars(range(min = 0.1, max = 365.0))]
    pub warning_days: f64,
    /// Blocks that go bad in a year on a healthy drive.
    #[schemars(range(min = 0.0, max = 100.0))]
    pub bad_blocks_a_year: f64,
}

impl Default for HazardSettings {
    fn default() -> Self {
        let share = |value: f64| Ratio::new(value).unwrap_or_default();
        Self {
            infant: share(0.01),
            infant_days: 60.0,
            random: share(0.005),
            bad_batches: share(0.1),
            bad_batch_factor: 4.0,
            node_minutes: share(0.07),
            rack_minutes: share(0.035),
            rack_days: share(0.27),
            node_later: share(0.18),
            warned: share(0.5),
            warning_days: 14.0,
            bad_blocks_a_year: 0.1,
        }
    }
}
