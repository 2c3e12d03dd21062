//! Makes a fleet from its file: models with their drives, and each drive's place, work and fate.

use std::path::Path;

use jiff::civil::Date;
use wane_lab::build;
use wane_nand::ErrorConfig;
use wane_scenario::{Document, Given, Scenario, ScenarioError, Sources, ThermalSpec, endless, folder_of};
use wane_sim::{Stream, Streams};
use wane_units::{Fnv, did_you_mean};

use crate::draw::{between, weighted};
use crate::folder::FORMAT;
use crate::hazards::{self, Fate};
use crate::power::{self, Outage};
use crate::settings::{
    AttributeSet, DRIVES_MAX, FleetSettings, MediumKind, ModelSettings, WorkloadSettings, json_schema,
};
use crate::{TwinError, expected};

/// Least mapping units and blocks of a drive: below these its write amplification is not realistic.
pub const UNITS_MIN: u32 = 16_384;
/// See [`UNITS_MIN`].
pub const BLOCKS_MIN: u32 = 256;

/// Most characters of a name.
const NAME_MAX: usize = 100;

/// Bound on the failures that one failure brings on average, which must stay below 1.
const COMPANIONS_MAX: f64 = 0.9;

/// A fleet that can be simulated.
pub struct Fleet {
    pub(crate) settings: FleetSettings,
    pub(crate) models: Vec<Model>,
    pub(crate) slots: Vec<Slot>,
    pub(crate) fates: Vec<Option<Fate>>,
    /// Outages of each node.
    pub(crate) outages: Vec<Vec<Outage>>,
    /// Temperature of each rack, in degrees above or below the fleet's mean.
    pub(crate) rack_celsius: Vec<f64>,
    pub(crate) streams: Streams,
    pub(crate) start: Date,
    hash: String,
}

/// Drives of one model.
pub(crate) struct Model {
    pub(crate) name: String,
    pub(crate) settings: ModelSettings,
    pub(crate) scenario: Scenario,
    /// Errors of its flash, if it has a chip.
    pub(crate) errors: Option<ErrorConfig>,
    pub(crate) tables: Option<expected::Tables>,
    /// Bytes of the real drive for each simulated byte.
    pub(crate) scale: f64,
    /// Whether each of its batches is bad.
    pub(crate) bad: Vec<bool>,
}

/// A drive of the fleet, before it is simulated.
#[derive(Clone, Debug, PartialEq)]
pub struct Slot {
    /// Its number in the fleet, from 0.
    pub number: u32,
    /// Number of its model, in the order of the file.
    pub model: u32,
    /// The batch of its model that it was made in.
    pub batch: u32,
    /// Number of its firmware in the model's list.
    pub firmware: u32,
    /// Number of its node in the whole fleet.
    pub node: u32,
    /// Number of its rack.
    pub rack: u32,
    /// Its first workload, and drive writes a day under it.
    pub work: Work,
    /// Days under load before the watch begins.
    pub age_days: f64,
    /// Erases that its blocks endure, in multiples of its rated erases.
    pub endurance: f64,
}

/// A drive's work.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Work {
    /// The workload's number.
    pub workload: u32,
    /// Drive writes a day.
    pub dwpd: f64,
}

impl Fleet {
    /// Reads a fleet's file and applies assignments; without a file, starts from the defaults. Scenarios that it names are relative to its folder.
    ///
    /// # Errors
    /// The first error in it.
    pub fn read(file: Option<(&Path, &str)>, set: &[String]) -> Result<Self, TwinError> {
        let name = file.map(|(path, text)| (path.to_string_lossy(), text));
        let given = name.as_ref().map_or(Given::Nothing, |(name, text)| Given::Text(name, text));
        Self::given(given, &file.map(|(path, _)| folder_of(path)).unwrap_or_default(), set)
    }

    /// Reads a fleet's settings from a table instead of a file. Scenarios that it names are relative to `folder`.
    ///
    /// # Errors
    /// The first error in it.
    pub fn of_table(table: toml::Table, folder: &Path, set: &[String]) -> Result<Self, TwinError> {
        Self::given(Given::Table("fleet", table), folder, set)
    }

    fn given(given: Given<'_>, folder: &Path, set: &[String]) -> Result<Self, TwinError> {
        let defaults = toml::Table::try_from(FleetSettings::default()).expect("defaults are TOML");
        let document = Document::read(json_schema(), defaults, given, set, "model.0.count=1000")?;
        Self::of(document.settings()?, &document, folder)
    }

    fn of(mut settings: FleetSettings, document: &Document, folder: &Path) -> Result<Self, TwinError> {
        let refuse = |key: &str, message: String| TwinError::from(document.error(key, message));
        let start: Date = settings.start.parse().map_err(|_| {
            let found = wane_units::excerpt(&settings.start);
            refuse("start", format!("found \"{found}\", expected a day in quotes, such as \"2024-01-01\""))
        })?;
        if !(1970..=2200).contains(&start.year()) {
            return Err(refuse("start", format!("found {start}, expected a day of the years 1970 to 2200")));
        }
        name_workloads(&mut settings.workload);
        check(&settings, document)?;
        let streams = Streams::new(settings.seed);
        let mut models = Vec::new();
        for (number, own) in settings.model.iter().enumerate() {
            let model = model(own, &settings, &format!("model.{number}"), document, folder, streams)?;
            if models.iter().any(|other: &Model| other.name == model.name) {
                let message =
                    format!("found \"{}\" twice; give each [[model]] a name", wane_units::excerpt(&model.name));
                return Err(refuse(&format!("model.{number}.name"), message));
            }
            models.push(model);
        }
        let slots = slots(&settings, streams);
        let (nodes, racks) = (most(&slots, |slot| slot.node), most(&slots, |slot| slot.rack));
        let fates = hazards::fates(&settings, &models, &slots, streams);
        let outages = (0..nodes).map(|node| power::outages(&settings, node, streams)).collect();
        let mut heat = streams.stream("racks");
        let rack_celsius = (0..racks).map(|_| settings.place.celsius_sigma * heat.normal()).collect();
        let hash = hash_of(&settings, &models);
        assert_eq!(fates.len(), slots.len(), "each drive has its fate, or none");
        Ok(Self { settings, models, slots, fates, outages, rack_celsius, streams, start, hash })
    }

    /// The settings, with every default.
    pub fn settings(&self) -> &FleetSettings {
        &self.settings
    }

    /// Its drives.
    pub fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// What each drive would die of apart from wear, by its number.
    pub fn fates(&self) -> &[Option<Fate>] {
        &self.fates
    }

    /// A hash of all that determines its bytes, including the version of this crate, as 16 hexadecimal digits.
    pub fn hash(&self) -> &str {
        &self.hash
    }

    /// A drive's serial number, which no other fleet uses.
    pub fn serial(&self, number: u32) -> String {
        format!("SIM{}{number:07}", &self.hash[..8])
    }

    /// A node's or a rack's name, which no other fleet uses.
    pub(crate) fn place(&self, kind: char, number: u32) -> String {
        format!("{}-{kind}{number:05}", &self.hash[..8])
    }

    /// Most rows that it can have, which is when no drive dies or is switched off.
    pub fn rows_max(&self) -> u64 {
        let a_day = match self.settings.records {
            crate::Cadence::Hourly => 24,
            crate::Cadence::Daily => 1,
        };
        u64::from(self.settings.days) * a_day * self.slots.len() as u64
    }

    /// Names of the models, their numbers of drives, and the factor by which the simulated drives are smaller than the real ones.
    pub fn models(&self) -> impl Iterator<Item = (&str, u32, f64)> {
        self.models.iter().map(|model| (model.name.as_str(), model.settings.count, model.scale))
    }

    /// A random stream of a drive.
    pub(crate) fn stream(&self, number: u32, what: &str) -> Stream {
        self.streams.stream(&format!("drive.{number}.{what}"))
    }
}

fn most(slots: &[Slot], of: impl Fn(&Slot) -> u32) -> u32 {
    slots.iter().map(of).max().map_or(0, |most| most + 1)
}

fn name_workloads(workloads: &mut [WorkloadSettings]) {
    for workload in workloads.iter_mut().filter(|workload| workload.name.is_empty()) {
        workload.name = workload.pattern.name().to_owned();
    }
}

/// Checks names, which appear in columns of tables and in sentences.
fn check_names(settings: &FleetSettings, document: &Document) -> Result<(), ScenarioError> {
    let mut names = Vec::new();
    for (number, model) in settings.model.iter().enumerate() {
        names.extend(model.name.iter().map(|name| (format!("model.{number}.name"), name)));
        names.extend(model.firmwares.iter().map(|name| (format!("model.{number}.firmwares"), name)));
    }
    let workloads = settings.workload.iter().enumerate();
    names.extend(workloads.map(|(number, workload)| (format!("workload.{number}.name"), &workload.name)));
    for (key, name) in names {
        if name.trim().is_empty() || name.chars().count() > NAME_MAX || name.chars().any(char::is_control) {
            let found = wane_units::excerpt(name);
            let message = format!("found \"{found}\", expected a name of 1 to {NAME_MAX} characters in one line");
            return Err(document.error(&key, message));
        }
    }
    Ok(())
}

/// Checks that least, mean and most rise; of two that contradict each other, refuses the one that was given.
fn check_pace(work: &WorkloadSettings, key: &str, document: &Document) -> Result<(), ScenarioError> {
    let paces = [("least", work.dwpd_least), ("mean", work.dwpd_mean), ("most", work.dwpd_most)];
    let refuse = |name: &str, message: String| Err(document.error(&format!("{key}.dwpd-{name}"), message));
    if work.dwpd_most == 0.0 {
        return refuse("most", "found 0, expected more".to_owned());
    }
    for (one, other) in [(0, 2), (0, 1), (1, 2)] {
        let ((low, least), (high, most)) = (paces[one], paces[other]);
        if least <= most {
            continue;
        }
        if document.holds(&format!("{key}.dwpd-{low}")) {
            return refuse(low, format!("found {least}, which is above dwpd-{high}, {most}"));
        }
        return refuse(high, format!("found {most}, which is below dwpd-{low}, {least}"));
    }
    Ok(())
}

/// Checks that involve several keys.
fn check(settings: &FleetSettings, document: &Document) -> Result<(), ScenarioError> {
    check_names(settings, document)?;
    let drives: u64 = settings.model.iter().map(|model| u64::from(model.count)).sum();
    if drives > u64::from(DRIVES_MAX) {
        return Err(document.error("model", format!("found {drives} drives, a fleet has at most {DRIVES_MAX}")));
    }
    for (number, model) in settings.model.iter().enumerate() {
        if model.age_least > model.age_most {
            let message = format!("found {}, which is above age-most, {}", model.age_least, model.age_most);
            return Err(document.error(&format!("model.{number}.age-least"), message));
        }
    }
    for (number, work) in settings.workload.iter().enumerate() {
        check_pace(work, &format!("workload.{number}"), document)?;
    }
    if settings.workload.iter().map(|workload| workload.share).sum::<f64>() <= 0.0 {
        return Err(document.error("workload.0.share", "found no share above 0; one workload must have one".to_owned()));
    }
    let hazards = &settings.hazards;
    let companions = [hazards.node_minutes, hazards.rack_minutes, hazards.rack_days, hazards.node_later];
    let sum: f64 = companions.iter().map(|chance| chance.get()).sum();
    if sum > COMPANIONS_MAX {
        let message = format!(
            "found node-minutes, rack-minutes, rack-days and node-later of {:.0} % together, at most {:.0} % are allowed: each failure would \
             bring another, without end",
            100.0 * sum,
            100.0 * COMPANIONS_MAX
        );
        return Err(document.error("hazards.node-minutes", message));
    }
    Ok(())
}

/// The default drive of models: 256 MiB in 292 blocks of 64 pages, and four more for garbage collection.
fn own_drive(over_provisioning: f64) -> String {
    format!(
        "[drive]\nlogical-capacity = \"256 MiB\"\nover-provisioning = {over_provisioning}\npage-size = \"16 KiB\"\npages-per-block = 64\n\
         chip = \"tlc-72l-2018\"\n[drive.ecc]\nstrength = 75\nrereads-max = 10\ndetail = \"pages\"\n[drive.initial]\nerase-count = 0\n\
         erase-count-spread = 0.02\n[ftl]\nfrontiers = \"separate\"\ngc-reserve = 4\n[workload]\npattern = \"uniform\"\n[until]\nend-of-life = true\n"
    )
}

fn model(
    own: &ModelSettings,
    settings: &FleetSettings,
    key: &str,
    document: &Document,
    folder: &Path,
    streams: Streams,
) -> Result<Model, TwinError> {
    let refuse = |name: &str, message: String| TwinError::from(document.error(&format!("{key}.{name}"), message));
    let scenario = match &own.drive {
        Some(_) if own.over_provisioning.is_some() => {
            return Err(refuse("over-provisioning", "stands beside drive, whose scenario says it".to_owned()));
        }
        Some(name) => {
            let path = folder.join(name);
            let text = std::fs::read_to_string(&path)
                .map_err(|error| refuse("drive", format!("{}: {error}", wane_units::excerpt_path(&path))))?;
            let sources = Sources { file: Some((&path.to_string_lossy(), &text)), ..Sources::default() };
            endless(&[], |options| Scenario::resolve_with(&sources, options))?
        }
        None => {
            let text = own_drive(own.over_provisioning.map_or(0.14, |share| share.get()));
            Scenario::resolve(&Sources { file: Some((key, &text)), ..Sources::default() })
                .map_err(|error| refuse("over-provisioning", error.message))?
        }
    };
    fits(&scenario, settings.medium).map_err(|message| refuse("drive", message))?;
    let simulated = f64::from(scenario.device.logical_units) * scenario.device.unit.0 as f64;
    let scale = own.capacity.0 as f64 / simulated;
    if scale < 1.0 {
        let message = format!("found {}, less than the {simulated} B that are simulated", own.capacity);
        return Err(refuse("capacity", message));
    }
    let errors = build::errors(&scenario);
    let name = own.name.clone().unwrap_or_else(|| format!("SIM-{:?}", own.attributes));
    let mut stream = streams.stream(&format!("{key}.batches"));
    let bad = (0..own.batches).map(|_| stream.chance(settings.hazards.bad_batches.get())).collect();
    let tables = errors.as_ref().map(|errors| expected::Tables::new(errors, scenario.device.geometry.page_size().0));
    Ok(Model { name, settings: own.clone(), scenario, errors, tables, scale, bad })
}

/// Checks that a scenario's drive can be one of a fleet.
fn fits(scenario: &Scenario, medium: MediumKind) -> Result<(), String> {
    let device = &scenario.device;
    let blocks = device.geometry.blocks();
    if device.logical_units < UNITS_MIN || blocks < BLOCKS_MIN {
        return Err(format!(
            "has {} mapping units in {blocks} blocks, a drive of a fleet has at least {UNITS_MIN} in {BLOCKS_MIN}",
            device.logical_units
        ));
    }
    if device.units_per_page != 1 {
        return Err("has pages of several mapping units; attributes of a fleet count pages, so that drive.mapping-unit must be the page".into());
    }
    if device.endurance.is_none() {
        return Err("has drive.endurance = \"none\", and drives of a fleet wear".to_owned());
    }
    let ftl = &scenario.ftl;
    for (key, found, wanted) in [
        ("capacity", ftl.capacity.name(), "fixed"),
        ("scrub", ftl.scrub.name(), "none"),
        ("redundancy", ftl.redundancy.name(), "none"),
        ("recovery", ftl.recovery.name(), "none"),
        ("retire", ftl.retire.name(), "at-endurance"),
    ] {
        if found != wanted {
            let hint = did_you_mean(found, &[wanted]);
            return Err(format!("has ftl.{key} = \"{found}\", drives of a fleet have \"{wanted}\"{hint}"));
        }
    }
    if scenario.medium.thermal != ThermalSpec::default() {
        return Err("has drive.thermal, and drives of a fleet are as warm as [place] says".to_owned());
    }
    if let Some(celsius) = scenario.medium.retention.celsius {
        return Err(format!(
            "has drive.retention.celsius = {celsius}, and drives of a fleet are as warm as [place] says"
        ));
    }
    if medium == MediumKind::Expected
        && scenario.medium.chip.is_some()
        && scenario.medium.variation != Default::default()
    {
        return Err("has drive.variation, which is simulated with medium = \"full\" alone".to_owned());
    }
    Ok(())
}

/// Places the drives, in the order of their models: a node has one model, and racks mix models.
fn slots(settings: &FleetSettings, streams: Streams) -> Vec<Slot> {
    let a_node = settings.place.drives_per_node;
    let nodes: u32 = settings.model.iter().map(|model| model.count.div_ceil(a_node)).sum();
    let mut places: Vec<u32> = (0..nodes).collect();
    let mut shuffle = streams.stream("places");
    for last in (1..places.len()).rev() {
        places.swap(last, shuffle.below(last as u64 + 1) as usize);
    }
    let (mut slots, mut first_node) = (Vec::new(), 0);
    for (model, own) in settings.model.iter().enumerate() {
        for place in 0..own.count {
            let number = slots.len() as u32;
            let node = places[(first_node + place / a_node) as usize];
            let mut stream = streams.stream(&format!("drive.{number}"));
            let batch = (u64::from(place) * u64::from(own.batches) / u64::from(own.count)) as u32;
            debug_assert!(batch < own.batches, "a drive is of one of its model's batches");
            let firmwares = own.firmwares.len() as u64;
            slots.push(Slot {
                number,
                model: model as u32,
                batch,
                firmware: (u64::from(batch) * firmwares / u64::from(own.batches)) as u32,
                node,
                rack: node / settings.place.nodes_per_rack,
                work: work(settings, &mut stream),
                age_days: own.age_least + (own.age_most - own.age_least) * stream.unit(),
                endurance: stream.lognormal(own.endurance, own.endurance_sigma),
            });
        }
        first_node += own.count.div_ceil(a_node);
    }
    assert_eq!(first_node, nodes, "the models' nodes are all nodes");
    slots
}

/// Draws a drive's work.
pub(crate) fn work(settings: &FleetSettings, stream: &mut Stream) -> Work {
    let workload = weighted(stream, settings.workload.iter().map(|workload| workload.share));
    let WorkloadSettings { dwpd_least, dwpd_mean, dwpd_most, .. } = settings.workload[workload];
    Work { workload: workload as u32, dwpd: between(stream, dwpd_least, dwpd_mean, dwpd_most) }
}

fn hash_of(settings: &FleetSettings, models: &[Model]) -> String {
    let mut hash = Fnv::of(env!("CARGO_PKG_VERSION").as_bytes());
    hash.add(&FORMAT.to_le_bytes());
    // Drives are hashed by their settings, not by the places of their files.
    let mut settings = settings.clone();
    settings.model.iter_mut().for_each(|model| model.drive = None);
    hash.add(serde_json::to_string(&settings).expect("settings are plain values").as_bytes());
    for model in models {
        hash.add(model.scenario.hash().as_bytes());
    }
    hash.hex()
}

impl AttributeSet {
    /// Its letter.
    pub const fn letter(self) -> char {
        match self {
            Self::A => 'A',
            Self::B => 'B',
        }
    }
}
