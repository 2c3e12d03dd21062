//! Policies in a scenario: families, their place in the schema, their tables as objects, which say what they need, and every
//! built-in in a list.

use schemars::{Schema, SchemaGenerator, json_schema};
use toml::{Table, Value};
use wane_ftl::policies::capacity::{CAPACITY_POLICIES, CapacityPolicy};
use wane_ftl::policies::redundancy::{REDUNDANCY_POLICIES, RedundancyPolicy};
use wane_ftl::policies::retirement::{RETIRE_POLICIES, RetirePolicy};
use wane_ftl::policies::scrub::{SCRUB_POLICIES, ScrubPolicy};
use wane_ftl::policies::victim::{VICTIM_POLICIES, VictimPolicy};
use wane_ftl::policies::wear_leveling::{WEAR_LEVEL_POLICIES, WearLevelPolicy};
use wane_ftl::policies::{Entry, Needs, find, names};
use wane_units::{did_you_mean, excerpt};

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
}

impl Family {
    /// The key under `[ftl]`.
    pub fn key(self) -> &'static str {
        match self {
            Family::Victim => "gc",
            Family::WearLeveling => "wear-leveling",
            Family::Capacity => "capacity",
            Family::Redundancy => "redundancy",
            Family::Scrub => "scrub",
            Family::Retirement => "retire",
        }
    }

    /// Every family, in the order in which lists show them.
    pub const ALL: [Self; 6] =
        [Self::Victim, Self::WearLeveling, Self::Capacity, Self::Redundancy, Self::Scrub, Self::Retirement];

    /// The family that a key of `[ftl]` chooses from.
    pub fn of_key(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|family| family.key() == key)
    }

    /// The table that chooses a policy with its defaults.
    pub(super) fn chosen(self, name: &str) -> Table {
        Table::from_iter([("policy".to_owned(), Value::from(name))])
    }

    /// A policy's name, or a table with it and its parameters.
    fn schema(self) -> Schema {
        let names = self.names();
        json_schema!({
            "x-policy": self.key(),
            "anyOf": [
                { "enum": names },
                { "type": "object", "properties": { "policy": { "enum": names } } },
            ]
        })
    }

    /// Names of its policies.
    pub fn names(self) -> Vec<&'static str> {
        match self {
            Family::Victim => names(VICTIM_POLICIES),
            Family::WearLeveling => names(WEAR_LEVEL_POLICIES),
            Family::Capacity => names(CAPACITY_POLICIES),
            Family::Redundancy => names(REDUNDANCY_POLICIES),
            Family::Scrub => names(SCRUB_POLICIES),
            Family::Retirement => names(RETIRE_POLICIES),
        }
    }
}

macro_rules! schemas {
    ($($key:ident: $family:ident),*) => {
        $(
            pub(super) fn $key(_: &mut SchemaGenerator) -> Schema {
                Family::$family.schema()
            }
        )*
    };
}

// What fields of policies name in `#[schemars(schema_with = ...)]`.
schemas!(gc: Victim, wear_leveling: WearLeveling, capacity: Capacity, redundancy: Redundancy, scrub: Scrub, retire: Retirement);

/// The policy of a table, whose `policy` names an entry of the family.
///
/// # Errors
/// There is no such policy, or its parameters are not what it takes.
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

/// A policy's table that is refused.
#[derive(Clone, Debug)]
pub struct RefusedPolicy {
    /// The parameter at fault, where it is one.
    pub key: Option<String>,
    /// One sentence.
    pub message: String,
}

impl FtlSettings {
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

    /// What each policy needs to have any effect, with its family and its name.
    pub(super) fn needs(&self) -> [(Family, &str, Needs); 6] {
        fn name(policy: &Table) -> &str {
            policy.get("policy").and_then(Value::as_str).unwrap_or_default()
        }
        [
            (Family::Victim, name(&self.gc), self.victim_policy().needs()),
            (Family::WearLeveling, name(&self.wear_leveling), self.wear_level_policy().needs()),
            (Family::Capacity, name(&self.capacity), self.capacity_policy().needs()),
            (Family::Redundancy, name(&self.redundancy), self.redundancy_policy().needs()),
            (Family::Scrub, name(&self.scrub), self.scrub_policy().needs()),
            (Family::Retirement, name(&self.retire), self.retire_policy().needs()),
        ]
    }
}

impl Scenario {
    /// What of a policy's needs the drive lacks, as the end of "it goes by ...".
    pub fn lacking(&self, needs: Needs) -> Option<&'static str> {
        lacking(needs, &self.device, &self.medium, &self.time)
    }
}

/// See [`Scenario::lacking`].
pub(super) fn lacking(needs: Needs, device: &Device, medium: &Medium, time: &Time) -> Option<&'static str> {
    let passes = time.is_timed() || time.drive_writes_per_day.is_some();
    match () {
        () if needs.errors && medium.chip.is_none() => Some("errors, of which there are none without a drive.chip"),
        () if needs.time && !passes => {
            Some("time, of which none passes; give time.drive-writes-per-day or a time.scheduler")
        }
        () if needs.endurance && device.endurance.is_none() => {
            Some("the rated endurance, but drive.endurance is \"none\"")
        }
        () => None,
    }
}

/// A policy that the scenario's resolution has accepted.
fn accepted<T>(table: &Table, family: &[Entry<T>]) -> T {
    parse_policy(table, family)
        .unwrap_or_else(|refused| unreachable!("resolved scenarios hold valid policies: {}", refused.message))
}

/// A policy as lists show it.
#[derive(Clone, Debug)]
pub struct PolicyInfo {
    /// Where it is chosen.
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
    fn info<T: ?Sized>(
        family: Family,
        entries: &'static [Entry<Box<T>>],
        needs: fn(&T) -> Needs,
    ) -> impl Iterator<Item = PolicyInfo> {
        entries.iter().map(move |entry| PolicyInfo {
            family,
            name: entry.name(),
            summary: entry.summary(),
            page: entry.page(),
            example: entry.example(),
            needs: needs(&*entry.parse(Table::new()).expect("defaults are valid")),
        })
    }
    let victims = info(Family::Victim, VICTIM_POLICIES, |policy| policy.needs());
    let levelers = info(Family::WearLeveling, WEAR_LEVEL_POLICIES, |policy| policy.needs());
    let capacities = info(Family::Capacity, CAPACITY_POLICIES, |policy| policy.needs());
    let redundancies = info(Family::Redundancy, REDUNDANCY_POLICIES, |policy| policy.needs());
    let scrubbers = info(Family::Scrub, SCRUB_POLICIES, |policy| policy.needs());
    let retirements = info(Family::Retirement, RETIRE_POLICIES, |policy| policy.needs());
    victims.chain(levelers).chain(capacities).chain(redundancies).chain(scrubbers).chain(retirements).collect()
}
