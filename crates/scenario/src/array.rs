//! Several drives as one device: `[array]`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toml::{Table, Value};
use wane_raid::{Copies, Layout, LayoutError, Linear, ReadPolicy, Stripe};
use wane_sim::Streams;
use wane_units::{Bytes, Ratio, Sectors};

use super::device::Device;
use super::layer::merge;
use super::medium::FaultSpec;
use super::resolver::Resolver;
use super::schema::in_field_order;
use super::settings::{DriveSettings, FtlSettings, SECTOR, SEED_MAX};
use super::workload::Paths;
use super::written::{OrNone, or_none, table_of};
use super::{Scenario, ScenarioError};

/// How the data of an array lie on its members.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ArrayLayout {
    /// Several copies, on members of any sizes.
    #[default]
    Mirror,
    /// Chunks on all members in turns.
    Stripe,
    /// One member after the other.
    Linear,
}

impl ArrayLayout {
    /// The name in a scenario.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Mirror => "mirror",
            Self::Stripe => "stripe",
            Self::Linear => "linear",
        }
    }
}

/// What becomes of a drive that takes no more writes.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LastWord {
    /// It reads on.
    #[default]
    ReadOnly,
    /// Nothing of it can be reached any more.
    Gone,
}

/// Several drives as one device, which the workload writes. Members have the drive of `[drive]`, and what their own tables change. Everything of
/// `[ftl]` holds for all of them. An array gives no space back, so that `ftl.capacity` decides what its members do without their host.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[schemars(transform = in_field_order::<Self>)]
pub struct ArraySettings {
    /// How data lie on the members. A mirror lives on with its last copy; `stripe` and `linear` have one copy, and end with the first
    /// member.
    pub layout: ArrayLayout,
    /// Copies of all data in a mirror. Members may be more than copies, and differ in size: the capacity is the largest D for which the sum of
    /// min(size, D) is `copies` x D. Two copies on 1, 2 and 1 GiB hold 2 GiB, on 1 and 2 GiB 1 GiB.
    #[schemars(range(min = 2, max = 16))]
    pub copies: u32,
    /// Consecutive data on one member of a stripe. A multiple of the mapping unit.
    #[schemars(extend("x-least" = SECTOR, "x-most" = Bytes(1 << 30)))]
    pub chunk: Bytes,
    /// Which copy a mirror reads.
    #[schemars(with = "Reads")]
    pub reads: ReadPolicy,
    /// What becomes of a member that takes no more writes.
    pub at_end_of_life: LastWord,
    /// Share of its rated erases at which a member of a mirror is replaced by a new drive, to which all data are copied; `"none"`: never. A
    /// drive ends when its spare blocks do, some percent before the mean block reaches its rating: a share above that never comes.
    #[serde(with = "or_none")]
    #[schemars(with = "OrNone<Ratio>")]
    pub replace_at: Option<Ratio>,
    /// Most new drives that `replace-at` puts in.
    #[schemars(range(min = 0, max = 1000))]
    pub replacements: u32,
    /// The members, in order; two equal ones if there is no list.
    #[schemars(length(min = 1), extend("x-allowed" = "one or more `[[array.member]]` tables"))]
    pub member: Vec<MemberSettings>,
}

/// See [`ReadPolicy`].
#[derive(JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[expect(dead_code, reason = "its names are the schema of a type of another crate")]
enum Reads {
    /// That of the member with the fewest requests under way. Equal ones take turns by address, each for 128 KiB.
    ShortestQueue,
    /// That of the member that has used least of its rated wear.
    Healthiest,
}

/// Members of an array that are alike.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[schemars(transform = in_field_order::<Self>)]
pub struct MemberSettings {
    /// How many there are. Each draws its own random numbers: faults, errors and first erases differ, and what draws nothing is alike.
    #[schemars(range(min = 1, max = 64))]
    pub count: u32,
    /// What differs from `[drive]`.
    #[schemars(with = "DriveSettings")]
    pub drive: Table,
}

impl Default for ArraySettings {
    fn default() -> Self {
        Self {
            layout: ArrayLayout::default(),
            copies: 2,
            chunk: Bytes(64 << 10),
            reads: ReadPolicy::default(),
            at_end_of_life: LastWord::default(),
            replace_at: None,
            replacements: 1,
            member: vec![MemberSettings { count: 2, ..MemberSettings::default() }],
        }
    }
}

impl Default for MemberSettings {
    fn default() -> Self {
        Self { count: 1, drive: Table::new() }
    }
}

/// A resolved array.
#[derive(Clone, Debug, PartialEq)]
pub struct ArraySpec {
    /// Its settings, as written.
    pub settings: ArraySettings,
    /// Its members, each as a scenario of its drive alone.
    pub members: Vec<Scenario>,
    /// What the workload sees: a drive whose logical units and whose mapping unit are the array's. The rest is the first member's.
    pub device: Device,
}

/// Most members of an array.
const MEMBERS_MAX: usize = 64;

/// The tables that say nothing of a member alone.
const OF_ARRAYS: [&str; 4] = ["array", "probe", "fast-forward", "forecast"];
/// The tables of the workload, which may not fit a member.
const OF_WORKLOADS: [&str; 3] = ["phase", "workload", "until"];

/// Sectors of a device.
fn sectors(bytes: u64) -> Sectors {
    Sectors(bytes / SECTOR.0)
}

/// The capacity of an array of these members.
fn capacity(settings: &ArraySettings, sizes: &[Sectors], unit: Sectors) -> Result<Sectors, LayoutError> {
    match settings.layout {
        ArrayLayout::Mirror => Copies::new(settings.copies as usize).capacity(sizes, unit),
        ArrayLayout::Stripe => Stripe::new(sectors(settings.chunk.0)).capacity(sizes, unit),
        ArrayLayout::Linear => Linear::default().capacity(sizes, unit),
    }
}

impl ArraySpec {
    /// Its settings as TOML. Members whose drive is not that of the scenario have theirs, as a whole.
    pub(super) fn table(&self, paths: Paths) -> Table {
        let mut settings = self.settings.clone();
        let mut first = 0;
        for member in &mut settings.member {
            if !member.drive.is_empty() {
                member.drive = self.members[first].drive_table(paths);
            }
            first += member.count as usize;
        }
        table_of(&settings)
    }
}

impl Resolver<'_> {
    /// Resolves the array; `None` if the scenario has one drive.
    pub(super) fn array(&self, preset: &str, ftl: &FtlSettings) -> Result<Option<ArraySpec>, ScenarioError> {
        const KEY: &str = "array";
        let Some(table) = Self::section(self.merged, KEY) else { return Ok(None) };
        let settings: ArraySettings = self.settings(table, KEY)?;
        let refuse = |key: &str, message: String| Err(self.error(key, message));
        if Self::section(self.merged, "fast-forward").is_some() {
            let why = "predicts the erases of one drive; the lives of an array's members are simulated";
            return refuse("fast-forward", why.to_owned());
        }
        let probe = Self::section(self.merged, "probe");
        if probe.and_then(|probe| probe.get("at-end-of-life")).and_then(Value::as_bool) == Some(true) {
            let why =
                "an array has no copy from before its end so far; give ages (probe.at-wear, probe.at-drive-writes)";
            return refuse("probe.at-end-of-life", why.to_owned());
        }
        let count: usize = settings.member.iter().map(|member| member.count as usize).sum();
        if !(1..=MEMBERS_MAX).contains(&count) {
            return refuse("array.member", format!("found {count} members; 1 to {MEMBERS_MAX} are allowed"));
        }
        if settings.replace_at.is_some() && settings.layout != ArrayLayout::Mirror {
            let layout = settings.layout.name();
            return refuse(
                "array.replace-at",
                format!("needs layout = \"mirror\": a {layout} has one copy of all data"),
            );
        }
        let mut members: Vec<Scenario> = Vec::new();
        for (number, member) in settings.member.iter().enumerate() {
            let scenario = self.member(preset, ftl, number, &member.drive)?;
            members.extend(std::iter::repeat_n(scenario, member.count as usize));
        }
        self.check_members(&members)?;
        let streams = Streams::new(members[0].seed);
        for (number, member) in members.iter_mut().enumerate() {
            member.seed = streams.stream(&format!("array.member.{number}")).below(SEED_MAX);
        }
        let unit = members.iter().map(|member| member.device.unit.0).max().unwrap_or(SECTOR.0);
        if let Some(odd) = members.iter().find(|member| !unit.is_multiple_of(member.device.unit.0)) {
            let why = LayoutError::Units(sectors(unit).0, sectors(odd.device.unit.0).0);
            return refuse("array.member", why.to_string());
        }
        if settings.layout != ArrayLayout::Mirror && members.iter().any(|member| member.device.unit.0 != unit) {
            let message =
                "mapping units differ; members of a mirror may have several, those of a stripe or a linear array one";
            return refuse("array.member", message.to_owned());
        }
        let sizes: Vec<Sectors> = members.iter().map(|member| sectors(member.device.logical_bytes())).collect();
        let capacity = match capacity(&settings, &sizes, sectors(unit)) {
            Ok(capacity) => capacity,
            Err(why) => {
                return refuse(
                    if matches!(why, LayoutError::Chunk(..)) { "array.chunk" } else { KEY },
                    why.to_string(),
                );
            }
        };
        let Ok(logical_units) = u32::try_from(capacity.0 / sectors(unit).0) else {
            return refuse(KEY, format!("has {} of {unit} bytes; at most {} are allowed", capacity.0, u32::MAX));
        };
        let device = Device { logical_units, unit: Bytes(unit), ..members[0].device };
        Ok(Some(ArraySpec { settings, members, device }))
    }

    /// Refuses what a drive in an array would pass over in silence.
    fn check_members(&self, members: &[Scenario]) -> Result<(), ScenarioError> {
        let faults = |test: fn(&FaultSpec) -> bool| members.iter().any(|member| test(&member.medium.faults));
        let (key, why) = match () {
            () if faults(|faults| faults.lost_die.is_some()) => {
                ("drive.faults.lost-die", "dies of an array's drives are not lost so far; leave it out")
            }
            () if faults(|faults| faults.die_loss != FaultSpec::default().die_loss) => {
                ("drive.faults.die-loss", "dies of an array's drives are not lost so far; leave it out")
            }
            () => return Ok(()),
        };
        Err(self.error(key, why.to_owned()))
    }

    /// The scenario of a member's drive.
    fn member(&self, preset: &str, ftl: &FtlSettings, number: usize, drive: &Table) -> Result<Scenario, ScenarioError> {
        let place = format!("array.member.{number}");
        let mut table = self.set.clone();
        OF_ARRAYS.iter().for_each(|name| drop(table.remove(*name)));
        if let Some(time) = table.get_mut("time").and_then(Value::as_table_mut) {
            // The array counts the days.
            time.remove("drive-writes-per-day");
        }
        let over = Table::from_iter([("drive".to_owned(), Value::Table(drive.clone()))]);
        merge(&mut table, &over).map_err(|(key, message)| self.error(&format!("{place}.{key}"), message))?;
        // Another preset brings a drive, and not its firmware.
        let mut firmware = table_of(ftl);
        if ftl.placement == FtlSettings::default().placement {
            // The frontiers say it.
            firmware.remove("placement");
        }
        table.insert("ftl".to_owned(), Value::Table(firmware));
        table.insert("name".to_owned(), Value::from(place.as_str()));
        let own = drive.get("preset").and_then(Value::as_str).unwrap_or(preset);
        // It says what it served, if that is a workload for a drive of its size.
        if let Ok(whole) = Scenario::of_table(&place, table.clone(), Some(own), &[]) {
            return Ok(whole);
        }
        OF_WORKLOADS.iter().for_each(|name| drop(table.remove(*name)));
        let until = Table::from_iter([("drive-writes".to_owned(), Value::from(1))]);
        table.insert("until".to_owned(), Value::Table(until));
        Scenario::of_table(&place, table, Some(own), &[])
            .map_err(|error| self.error(&format!("{place}.{}", error.key), error.message))
    }
}
