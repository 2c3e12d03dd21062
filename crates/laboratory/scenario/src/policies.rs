//! Policies in a scenario: their families, their schemas, the choice of one by its table, what they need to have any effect, and a list of all
//! built-ins.

use std::sync::LazyLock;

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Value as Json, json};
use toml::{Table, Value};
use wane_ftl::Pooling;
use wane_ftl::policies::allocation::ALLOCATION_POLICIES;
use wane_ftl::policies::capacity::CAPACITY_POLICIES;
use wane_ftl::policies::mode::MODE_POLICIES;
use wane_ftl::policies::placement::PLACEMENT_POLICIES;
use wane_ftl::policies::recovery::RECOVERY_POLICIES;
use wane_ftl::policies::redundancy::REDUNDANCY_POLICIES;
use wane_ftl::policies::retirement::RETIRE_POLICIES;
use wane_ftl::policies::scrub::SCRUB_POLICIES;
use wane_ftl::policies::victim::VICTIM_POLICIES;
use wane_ftl::policies::wear_leveling::WEAR_LEVEL_POLICIES;
use wane_ftl::policies::{Entry, Needs};
use wane_nand::Task;
use wane_units::{Bytes, did_you_mean, excerpt};

use super::chosen::{Chosen, RefusedPolicy, name_in};
use super::device::Stripes;
use super::values::number;
use super::{Device, FtlSettings, Medium, Scenario, Time};

/// A family of policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// `ftl.gc`
    Victim,
    /// `ftl.wear-leveling`
    WearLeveling,
    /// `ftl.capacity`
    Capacity,
    /// `ftl.redundancy`
    Redundancy,
    /// `ftl.scrub`
    Scrub,
    /// `ftl.retire`
    Retirement,
    /// `ftl.placement`
    Placement,
    /// `ftl.allocation`
    Allocation,
    /// `ftl.mode`
    Mode,
    /// `ftl.recovery`
    Recovery,
}

/// The entry of a family in [`FAMILIES`].
struct FamilyLine {
    family: Family,
    /// Its key under `[ftl]`.
    key: &'static str,
    /// Its policies.
    list: &'static dyn PolicyList,
}

/// Makes a line of a family, its key, its field in [`FtlSettings`] and its built-ins.
macro_rules! line {
    ($family:ident, $key:literal, $field:ident, $entries:ident) => {
        FamilyLine {
            family: Family::$family,
            key: $key,
            list: &Policies {
                entries: $entries,
                needs: |policy| policy.needs(),
                chosen: |ftl| &ftl.$field,
                chosen_mut: |ftl| &mut ftl.$field,
            },
        }
    };
}

/// Every family, in the order in which lists show them. All code that iterates over the families uses this list. A new family needs a
/// variant of [`Family`], a line here, and a field in [`FtlSettings`].
static FAMILIES: [FamilyLine; 10] = [
    line!(Victim, "gc", gc, VICTIM_POLICIES),
    line!(WearLeveling, "wear-leveling", wear_leveling, WEAR_LEVEL_POLICIES),
    line!(Capacity, "capacity", capacity, CAPACITY_POLICIES),
    line!(Redundancy, "redundancy", redundancy, REDUNDANCY_POLICIES),
    line!(Scrub, "scrub", scrub, SCRUB_POLICIES),
    line!(Retirement, "retire", retire, RETIRE_POLICIES),
    line!(Placement, "placement", placement, PLACEMENT_POLICIES),
    line!(Allocation, "allocation", allocation, ALLOCATION_POLICIES),
    line!(Mode, "mode", mode, MODE_POLICIES),
    line!(Recovery, "recovery", recovery, RECOVERY_POLICIES),
];

/// The list of a family's policies, whatever their type.
trait PolicyList: Sync {
    /// Its entries as schema and defaults need them.
    fn built_ins(&self) -> Vec<BuiltIn>;

    /// Its entries as lists show them.
    fn infos(&self, family: Family) -> Vec<PolicyInfo>;

    /// The table that chose a policy.
    fn table<'a>(&self, ftl: &'a FtlSettings) -> &'a Table;

    /// What a chosen policy needs.
    fn needs(&self, ftl: &FtlSettings) -> Needs;

    /// See [`Family::choose`].
    fn choose(&self, ftl: &mut FtlSettings, table: Table) -> Result<(), RefusedPolicy>;
}

/// The built-ins of a family whose policies are of type `P`, and where settings have the chosen one.
struct Policies<P: 'static> {
    entries: &'static [Entry<P>],
    needs: fn(&P) -> Needs,
    chosen: fn(&FtlSettings) -> &Chosen<P>,
    chosen_mut: fn(&mut FtlSettings) -> &mut Chosen<P>,
}

impl<P> PolicyList for Policies<P> {
    fn built_ins(&self) -> Vec<BuiltIn> {
        let built_in = |entry: &Entry<P>| BuiltIn {
            name: entry.name(),
            summary: entry.summary(),
            defaults: entry.defaults(),
            parameters: entry.schema(),
        };
        self.entries.iter().map(built_in).collect()
    }

    fn infos(&self, family: Family) -> Vec<PolicyInfo> {
        let info = |entry: &Entry<P>| PolicyInfo {
            family,
            name: entry.name(),
            summary: entry.summary(),
            page: entry.page(),
            example: entry.example(),
            needs: (self.needs)(&entry.parse(Table::new()).expect("defaults are valid")),
        };
        self.entries.iter().map(info).collect()
    }

    fn table<'a>(&self, ftl: &'a FtlSettings) -> &'a Table {
        (self.chosen)(ftl).table()
    }

    fn needs(&self, ftl: &FtlSettings) -> Needs {
        (self.needs)((self.chosen)(ftl).policy())
    }

    fn choose(&self, ftl: &mut FtlSettings, table: Table) -> Result<(), RefusedPolicy> {
        *(self.chosen_mut)(ftl) = Chosen::of(table, self.entries)?;
        Ok(())
    }
}

impl Family {
    /// Every family, in the order in which lists show them.
    pub fn all() -> impl Iterator<Item = Self> {
        FAMILIES.iter().map(|line| line.family)
    }

    /// The key under `[ftl]`.
    pub fn key(self) -> &'static str {
        self.line().key
    }

    fn line(self) -> &'static FamilyLine {
        let mut lines = FAMILIES.iter();
        lines.find(|line| line.family == self).expect("FAMILIES has a line for every family")
    }

    /// Gives settings the policy of a table.
    ///
    /// # Errors
    /// There is no such policy, or it does not take the parameters.
    pub(super) fn choose(self, ftl: &mut FtlSettings, table: Table) -> Result<(), RefusedPolicy> {
        self.line().list.choose(ftl, table)
    }

    /// The family that belongs to a key of `[ftl]`.
    pub fn of_key(key: &str) -> Option<Self> {
        Self::all().find(|family| family.key() == key)
    }

    /// The schema of its key: a policy's name, or a table with the name and the parameters.
    fn schema(self) -> Schema {
        let default = FtlSettings::default();
        let own = name_in(default.table(self));
        let tables: Vec<Json> = self.built_ins().iter().map(|policy| policy.schema(policy.name == own)).collect();
        json_schema!({ "x-policy": self.key(), "anyOf": [{ "enum": self.names() }, { "oneOf": tables }] })
    }

    /// Names of its policies.
    pub fn names(self) -> Vec<&'static str> {
        self.built_ins().iter().map(|policy| policy.name).collect()
    }

    /// Parameters of its policies: the policy, the parameter and its schema.
    pub(super) fn parameters(self) -> Vec<(&'static str, &'static str, &'static Json)> {
        let of = |policy: &'static BuiltIn| {
            let keys = policy.parameters.get("properties").and_then(Json::as_object);
            keys.into_iter().flatten().map(|(name, schema)| (policy.name, name.as_str(), schema))
        };
        self.built_ins().iter().flat_map(of).collect()
    }

    /// The parameters in a policy's table that count what a larger drive has more of: each with what it is in proportion to, and its value.
    pub(super) fn sized(self, table: &Table) -> impl Iterator<Item = (String, &'static str, Value)> {
        let (chosen, table) = (name_in(table).to_owned(), table.clone());
        self.parameters().into_iter().filter(move |(policy, ..)| *policy == chosen).filter_map(
            move |(_, name, schema)| {
                let scales = schema.get("x-scales").and_then(Json::as_str)?;
                let value = table.get(name)?;
                // A share means the same on every drive, and 0 is off.
                let is_counted = value.as_integer().is_some_and(|count| count > 0)
                    || value.as_str().is_some_and(|text| text.parse::<Bytes>().is_ok_and(|bytes| bytes.0 > 0));
                is_counted.then(|| (name.to_owned(), scales, value.clone()))
            },
        )
    }

    fn built_ins(self) -> &'static [BuiltIn] {
        let of_family = BUILT_INS.iter().find(|(family, _)| *family == self);
        &of_family.expect("BUILT_INS is made of FAMILIES, which has every family").1
    }

    /// Adds the parameters that a policy's table leaves to their defaults, and their names under [`DEFAULTS`].
    pub(super) fn complete(self, policy: &mut Table) {
        let Some(built_in) = self.of_table(policy) else { return };
        let left = built_in.defaults.iter().filter(|(name, _)| !policy.contains_key(*name));
        let left: Vec<(String, Value)> = left.map(|(name, value)| (name.clone(), value.clone())).collect();
        if !left.is_empty() {
            let names = left.iter().map(|(name, _)| Value::from(name.as_str()));
            policy.insert(DEFAULTS.to_owned(), Value::Array(names.collect()));
            policy.extend(left);
        }
    }

    /// Undoes [`Self::complete`]: removes the parameters that [`DEFAULTS`] names, if they still have their defaults. A parameter that was
    /// changed since, or whose default is another now, stays. The table must name its policy.
    ///
    /// # Errors
    /// A name in the list is no parameter of the policy; one sentence.
    pub(super) fn forget_defaults(self, policy: &mut Table) -> Result<(), String> {
        let Some(built_in) = self.of_table(policy) else { return Ok(()) };
        let Some(Value::Array(names)) = policy.remove(DEFAULTS) else { return Ok(()) };
        for name in names.iter().filter_map(Value::as_str) {
            built_in.check_is_parameter(name)?;
            if policy.get(name).zip(built_in.defaults.get(name)).is_some_and(|(own, default)| same(own, default)) {
                policy.remove(name);
            }
        }
        Ok(())
    }

    /// The built-in that a table names.
    fn of_table(self, policy: &Table) -> Option<&'static BuiltIn> {
        let name = name_in(policy);
        self.built_ins().iter().find(|policy| policy.name == name)
    }
}

/// The key of a policy's table that names the parameters which the scenario did not write. They stay out of the hash, so that a resolved
/// scenario, which shows them, has the same hash as the scenario that it came from.
pub(super) const DEFAULTS: &str = "defaults";

/// The member of a JSON schema that says what a key needs beside it: `relocation-bound`, for example, needs graceful shrinking.
const DEPENDENT: &str = "dependentSchemas";

/// Whether two values are equal, as numbers if they are numbers.
fn same(one: &Value, other: &Value) -> bool {
    one == other || number(one).zip(number(other)).is_some_and(|(one, other)| one == other)
}

/// An entry of a family's list, whatever type of policy it builds.
struct BuiltIn {
    name: &'static str,
    summary: String,
    defaults: Table,
    parameters: Schema,
}

impl BuiltIn {
    /// Refuses a name that is no parameter of this policy, with one sentence.
    fn check_is_parameter(&self, name: &str) -> Result<(), String> {
        let keys = self.parameters.get("properties").and_then(Json::as_object);
        let known: Vec<&str> = keys.into_iter().flatten().map(|(key, _)| key.as_str()).collect();
        if known.contains(&name) {
            return Ok(());
        }
        let allowed = match &known[..] {
            [] => "it takes none".to_owned(),
            known => format!("allowed are {}{}", known.join(", "), did_you_mean(name, known)),
        };
        Err(format!("found \"{}\", which is no parameter of policy \"{}\"; {allowed}", excerpt(name), self.name))
    }

    /// The schema of a table that chooses this policy. A table of the family's default policy need not name it.
    fn schema(&self, is_default: bool) -> Json {
        let own = self.parameters.get("properties").and_then(Json::as_object);
        let mut keys = own.cloned().unwrap_or_default();
        if !keys.is_empty() {
            let listed = json!({
                "type": "array", "items": { "enum": keys.keys().collect::<Vec<_>>() },
                "description": "Parameters that were not written; resolved scenarios have it."
            });
            keys.insert(DEFAULTS.to_owned(), listed);
        }
        keys.insert("policy".to_owned(), json!({ "const": self.name, "description": self.summary }));
        let required: &[&str] = if is_default { &[] } else { &["policy"] };
        let mut schema = json!({
            "type": "object", "description": self.summary, "properties": keys, "required": required,
            "additionalProperties": false
        });
        if let Some(needs) = self.parameters.get(DEPENDENT) {
            schema[DEPENDENT] = needs.clone();
        }
        schema
    }
}

/// Every built-in by its family.
static BUILT_INS: LazyLock<Vec<(Family, Vec<BuiltIn>)>> = LazyLock::new(|| {
    let of_line = |line: &FamilyLine| {
        let built_ins = line.list.built_ins();
        let mut names: Vec<&str> = built_ins.iter().map(|policy| policy.name).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "the second of two namesakes could not be chosen");
        (line.family, built_ins)
    };
    FAMILIES.iter().map(of_line).collect()
});

/// The empty schema that fields of policies name in `#[schemars(schema_with = ...)]`; [`with_policies`] fills it in.
pub(super) fn of_family(_: &mut SchemaGenerator) -> Schema {
    json_schema!({})
}

/// Gives the fields of policies their schemas; for `#[schemars(transform = ...)]` of [`FtlSettings`].
pub(super) fn with_policies(schema: &mut Schema) {
    let Some(Json::Object(keys)) = schema.get_mut("properties") else { return };
    for family in Family::all() {
        let field = keys.get_mut(family.key()).and_then(Json::as_object_mut);
        let field = field.expect("each family's key is a field of FtlSettings");
        for (name, member) in family.schema().to_value().as_object().into_iter().flatten() {
            field.insert(name.clone(), member.clone());
        }
    }
}

impl FtlSettings {
    /// The table that chose a family's policy.
    pub(super) fn table(&self, family: Family) -> &Table {
        family.line().list.table(self)
    }

    /// Number of streams that a domain keeps open.
    pub(super) fn streams(&self) -> u32 {
        let tasks = [Task::Host, Task::GarbageCollection].into_iter();
        let tasks: Vec<Task> = tasks.chain(self.scrub.policy().acts().then_some(Task::Scrub)).collect();
        self.placement.policy().streams(&tasks)
    }

    /// The stripes, if every host write joins one.
    pub(super) fn stripes(&self) -> Option<Stripes> {
        let policy = Some(self.redundancy.policy()).filter(|policy| policy.acts() && policy.protects(Task::Host))?;
        let streams = self.placement.policy().streams(&[Task::Host, Task::GarbageCollection]);
        Some(Stripes { data_pages: policy.data_pages(), streams })
    }

    /// What each policy needs to have any effect, with its family and its name.
    pub(super) fn needs(&self) -> impl Iterator<Item = (Family, &str, Needs)> {
        FAMILIES.iter().map(|line| (line.family, name_in(line.list.table(self)), line.list.needs(self)))
    }
}

impl Scenario {
    /// The first of the needs of a family's policy that the drive lacks, as the end of "it goes by ...".
    pub fn lacking(&self, family: Family) -> Option<String> {
        lacking(family.line().list.needs(&self.ftl), &self.device, &self.ftl, &self.medium, &self.time)
    }
}

/// See [`Scenario::lacking`].
pub(super) fn lacking(
    needs: Needs,
    device: &Device,
    ftl: &FtlSettings,
    medium: &Medium,
    time: &Time,
) -> Option<String> {
    let domains = match ftl.domain {
        Pooling::Die => device.geometry.dies(),
        Pooling::Drive => 1,
    };
    let blocks = device.blocks / domains;
    if let Some(most) = needs.blocks_max.filter(|most| blocks > *most) {
        return Some(format!(
            "a look at each block of a domain for every victim: at most {most} are allowed, and this drive's has {blocks}; make them fewer with \
             larger blocks or, on several dies, with ftl.domain = \"die\" or ftl.unit = \"superblock\""
        ));
    }
    let passes = time.is_timed() || time.drive_writes_per_day.is_some();
    let lacking = match () {
        () if needs.errors && medium.chip.is_none() => Some("errors, of which there are none without a drive.chip"),
        () if needs.time && !passes => {
            Some("time, of which none passes; give time.drive-writes-per-day or a time.scheduler")
        }
        () if needs.endurance && device.endurance.is_none() => {
            Some("the rated endurance, but drive.endurance is \"none\"")
        }
        () => None,
    };
    lacking.map(str::to_owned)
}

/// A policy as lists show it.
#[derive(Clone, Debug)]
pub struct PolicyInfo {
    /// Its family.
    pub family: Family,
    /// Its name.
    pub name: &'static str,
    /// One line of help.
    pub summary: String,
    /// Its page, in Markdown.
    pub page: String,
    /// A table that chooses it.
    pub example: String,
    /// What it needs to have any effect.
    pub needs: Needs,
}

/// Every built-in policy.
pub fn policies() -> Vec<PolicyInfo> {
    FAMILIES.iter().flat_map(|line| line.list.infos(line.family)).collect()
}
