//! Policies in a scenario: their families, their schemas, the objects that their tables make, what they need to have any effect, and a list
//! of all built-ins.

use std::sync::LazyLock;

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Value as Json, json};
use toml::{Table, Value};
use wane_ftl::Pooling;
use wane_ftl::policies::allocation::{ALLOCATION_POLICIES, AllocationPolicy};
use wane_ftl::policies::capacity::{CAPACITY_POLICIES, CapacityPolicy};
use wane_ftl::policies::mode::{MODE_POLICIES, ModePolicy};
use wane_ftl::policies::placement::{PLACEMENT_POLICIES, PlacementPolicy};
use wane_ftl::policies::recovery::{RECOVERY_POLICIES, RecoveryPolicy};
use wane_ftl::policies::redundancy::{REDUNDANCY_POLICIES, RedundancyPolicy};
use wane_ftl::policies::retirement::{RETIRE_POLICIES, RetirePolicy};
use wane_ftl::policies::scrub::{SCRUB_POLICIES, ScrubPolicy};
use wane_ftl::policies::victim::{VICTIM_POLICIES, VictimPolicy};
use wane_ftl::policies::wear_leveling::{WEAR_LEVEL_POLICIES, WearLevelPolicy};
use wane_ftl::policies::{Entry, Needs, find, names};
use wane_nand::Task;
use wane_units::{Bytes, did_you_mean, excerpt};

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
    /// Returns the table that chooses its policy.
    table: fn(&FtlSettings) -> &Table,
    table_mut: fn(&mut FtlSettings) -> &mut Table,
    /// Its policies.
    list: &'static dyn PolicyList,
}

/// Every family, in the order in which lists show them. All code that iterates over the families uses this list. A new family needs a
/// variant of [`Family`], a line here, and in [`FtlSettings`] a field and a method that makes its policy.
static FAMILIES: [FamilyLine; 10] = [
    FamilyLine {
        family: Family::Victim,
        key: "gc",
        table: |ftl| &ftl.gc,
        table_mut: |ftl| &mut ftl.gc,
        list: &Policies { entries: VICTIM_POLICIES, needs: |policy| policy.needs() },
    },
    FamilyLine {
        family: Family::WearLeveling,
        key: "wear-leveling",
        table: |ftl| &ftl.wear_leveling,
        table_mut: |ftl| &mut ftl.wear_leveling,
        list: &Policies { entries: WEAR_LEVEL_POLICIES, needs: |policy| policy.needs() },
    },
    FamilyLine {
        family: Family::Capacity,
        key: "capacity",
        table: |ftl| &ftl.capacity,
        table_mut: |ftl| &mut ftl.capacity,
        list: &Policies { entries: CAPACITY_POLICIES, needs: |policy| policy.needs() },
    },
    FamilyLine {
        family: Family::Redundancy,
        key: "redundancy",
        table: |ftl| &ftl.redundancy,
        table_mut: |ftl| &mut ftl.redundancy,
        list: &Policies { entries: REDUNDANCY_POLICIES, needs: |policy| policy.needs() },
    },
    FamilyLine {
        family: Family::Scrub,
        key: "scrub",
        table: |ftl| &ftl.scrub,
        table_mut: |ftl| &mut ftl.scrub,
        list: &Policies { entries: SCRUB_POLICIES, needs: |policy| policy.needs() },
    },
    FamilyLine {
        family: Family::Retirement,
        key: "retire",
        table: |ftl| &ftl.retire,
        table_mut: |ftl| &mut ftl.retire,
        list: &Policies { entries: RETIRE_POLICIES, needs: |policy| policy.needs() },
    },
    FamilyLine {
        family: Family::Placement,
        key: "placement",
        table: |ftl| &ftl.placement,
        table_mut: |ftl| &mut ftl.placement,
        list: &Policies { entries: PLACEMENT_POLICIES, needs: |policy| policy.needs() },
    },
    FamilyLine {
        family: Family::Allocation,
        key: "allocation",
        table: |ftl| &ftl.allocation,
        table_mut: |ftl| &mut ftl.allocation,
        list: &Policies { entries: ALLOCATION_POLICIES, needs: |policy| policy.needs() },
    },
    FamilyLine {
        family: Family::Mode,
        key: "mode",
        table: |ftl| &ftl.mode,
        table_mut: |ftl| &mut ftl.mode,
        list: &Policies { entries: MODE_POLICIES, needs: |policy| policy.needs() },
    },
    FamilyLine {
        family: Family::Recovery,
        key: "recovery",
        table: |ftl| &ftl.recovery,
        table_mut: |ftl| &mut ftl.recovery,
        list: &Policies { entries: RECOVERY_POLICIES, needs: |policy| policy.needs() },
    },
];

/// The list of a family's policies, whatever their type.
trait PolicyList: Sync {
    /// Its entries as schema and defaults need them.
    fn built_ins(&self) -> Vec<BuiltIn>;

    /// Its entries as lists show them.
    fn infos(&self, family: Family) -> Vec<PolicyInfo>;

    /// What the policy of a table needs; refuses the tables that [`parse_policy`] refuses.
    fn needs(&self, table: &Table) -> Result<Needs, RefusedPolicy>;
}

/// The built-ins of a family whose policies are of type `T`.
struct Policies<T: ?Sized + 'static> {
    entries: &'static [Entry<Box<T>>],
    needs: fn(&T) -> Needs,
}

impl<T: ?Sized> PolicyList for Policies<T> {
    fn built_ins(&self) -> Vec<BuiltIn> {
        let built_in = |entry: &Entry<Box<T>>| BuiltIn {
            name: entry.name(),
            summary: entry.summary(),
            defaults: entry.defaults(),
            parameters: entry.schema(),
        };
        self.entries.iter().map(built_in).collect()
    }

    fn infos(&self, family: Family) -> Vec<PolicyInfo> {
        let info = |entry: &Entry<Box<T>>| PolicyInfo {
            family,
            name: entry.name(),
            summary: entry.summary(),
            page: entry.page(),
            example: entry.example(),
            needs: (self.needs)(&*entry.parse(Table::new()).expect("defaults are valid")),
        };
        self.entries.iter().map(info).collect()
    }

    fn needs(&self, table: &Table) -> Result<Needs, RefusedPolicy> {
        parse_policy(table, self.entries).map(|policy| (self.needs)(&*policy))
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

    /// What the policy of a table needs to have any effect.
    ///
    /// # Errors
    /// There is no such policy, or it does not take the parameters.
    pub(super) fn needs(self, table: &Table) -> Result<Needs, RefusedPolicy> {
        self.line().list.needs(table)
    }

    /// The family that belongs to a key of `[ftl]`.
    pub fn of_key(key: &str) -> Option<Self> {
        Self::all().find(|family| family.key() == key)
    }

    /// The schema of its key: a policy's name, or a table with the name and the parameters.
    fn schema(self) -> Schema {
        let own = FtlSettings::chosen_by_default(self);
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
        let chosen = table.get("policy").and_then(Value::as_str).unwrap_or_default().to_owned();
        let table = table.clone();
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
        let name = policy.get("policy").and_then(Value::as_str)?;
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

/// Makes the policy of a table, whose `policy` names an entry of the family.
///
/// # Errors
/// There is no such policy, or it does not take the parameters.
pub fn parse_policy<T>(table: &Table, family: &[Entry<T>]) -> Result<T, RefusedPolicy> {
    let mut parameters = table.clone();
    let name = parameters.remove("policy").and_then(|name| name.as_str().map(str::to_owned)).unwrap_or_default();
    let Some(entry) = find(family, &name) else {
        let known = names(family);
        let hint = did_you_mean(&name, &known);
        let message = format!("unknown policy \"{}\", allowed are {}{hint}", excerpt(&name), known.join(", "));
        return Err(RefusedPolicy { key: None, message });
    };
    entry.parse(parameters).map_err(|error| RefusedPolicy { message: error.to_string(), key: error.key })
}

/// The refusal of a policy's table.
#[derive(Clone, Debug)]
pub struct RefusedPolicy {
    /// The parameter at fault, if there is one.
    pub key: Option<String>,
    /// What is wrong, in one sentence.
    pub message: String,
}

impl FtlSettings {
    /// The table that chooses a family's policy.
    pub(super) fn policy(&self, family: Family) -> &Table {
        (family.line().table)(self)
    }

    /// The table that chooses a family's policy, mutable.
    pub(super) fn policy_mut(&mut self, family: Family) -> &mut Table {
        (family.line().table_mut)(self)
    }

    /// The name of a family's default policy.
    fn chosen_by_default(family: Family) -> String {
        let default = Self::default();
        let name = default.policy(family).get("policy").and_then(Value::as_str);
        name.expect("each family has a default policy").to_owned()
    }

    /// The policy that says when blocks retire.
    pub fn retire_policy(&self) -> Box<dyn RetirePolicy> {
        accepted(&self.retire, RETIRE_POLICIES)
    }

    /// The scrubber.
    pub fn scrub_policy(&self) -> Box<dyn ScrubPolicy> {
        accepted(&self.scrub, SCRUB_POLICIES)
    }

    /// The policy that chooses garbage collection's victims.
    pub fn victim_policy(&self) -> Box<dyn VictimPolicy> {
        accepted(&self.gc, VICTIM_POLICIES)
    }

    /// The wear leveler.
    pub fn wear_level_policy(&self) -> Box<dyn WearLevelPolicy> {
        accepted(&self.wear_leveling, WEAR_LEVEL_POLICIES)
    }

    /// The policy that says which pages protect each other.
    pub fn redundancy_policy(&self) -> Box<dyn RedundancyPolicy> {
        accepted(&self.redundancy, REDUNDANCY_POLICIES)
    }

    /// The capacity policy.
    pub fn capacity_policy(&self) -> Box<dyn CapacityPolicy> {
        accepted(&self.capacity, CAPACITY_POLICIES)
    }

    /// The policy that says which open stream takes data. If `placement` is the default, [`FtlSettings::frontiers`] decides.
    pub fn placement_policy(&self) -> Box<dyn PlacementPolicy> {
        let is_default = self.placement == Self::default().placement;
        if is_default { self.frontiers.placement() } else { accepted(&self.placement, PLACEMENT_POLICIES) }
    }

    /// The policy that says which free block is opened next.
    pub fn allocation_policy(&self) -> Box<dyn AllocationPolicy> {
        accepted(&self.allocation, ALLOCATION_POLICIES)
    }

    /// The policy that says when worn blocks are spared.
    pub fn mode_policy(&self) -> Box<dyn ModePolicy> {
        accepted(&self.mode, MODE_POLICIES)
    }

    /// The policy that says how the drive finds its data after a power cut.
    pub fn recovery_policy(&self) -> Box<dyn RecoveryPolicy> {
        accepted(&self.recovery, RECOVERY_POLICIES)
    }

    /// Number of streams that a domain keeps open.
    pub(super) fn streams(&self) -> u32 {
        let tasks = [Task::Host, Task::GarbageCollection].into_iter();
        let tasks: Vec<Task> = tasks.chain(self.scrub_policy().acts().then_some(Task::Scrub)).collect();
        self.placement_policy().streams(&tasks)
    }

    /// The stripes, if every host write joins one.
    pub(super) fn stripes(&self) -> Option<Stripes> {
        let policy = Some(self.redundancy_policy()).filter(|policy| policy.acts() && policy.protects(Task::Host))?;
        let streams = self.placement_policy().streams(&[Task::Host, Task::GarbageCollection]);
        Some(Stripes { data_pages: policy.data_pages(), streams })
    }

    /// What each policy needs to have any effect, with its family and its name.
    pub(super) fn needs(&self) -> impl Iterator<Item = (Family, &str, Needs)> {
        Family::all().map(|family| {
            let table = self.policy(family);
            let name = table.get("policy").and_then(Value::as_str).unwrap_or_default();
            (family, name, taken(family.needs(table)))
        })
    }
}

impl Scenario {
    /// The first of a policy's needs that the drive lacks, as the end of "it goes by ...".
    pub fn lacking(&self, needs: Needs) -> Option<String> {
        lacking(needs, &self.device, &self.ftl, &self.medium, &self.time)
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

/// Makes a policy that the scenario's resolution has accepted.
fn accepted<T>(table: &Table, family: &[Entry<T>]) -> T {
    taken(parse_policy(table, family))
}

/// Unwraps what was made of a policy's table. A resolved scenario holds only valid tables.
fn taken<T>(made: Result<T, RefusedPolicy>) -> T {
    made.unwrap_or_else(|refused| unreachable!("resolved scenarios hold valid policies: {}", refused.message))
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
