//! Policies from outside the tree, which take the place of those that a scenario names.
//!
//! Each comes with a name and its parameters. They stand in the results where the scenario's own policy would stand and
//! count in the hash, so that no two runs of different policies pass for one.

use std::collections::BTreeMap;

use wane_ftl::policies::allocation::{ALLOCATION_POLICIES, AllocationPolicy};
use wane_ftl::policies::capacity::{CAPACITY_POLICIES, CapacityPolicy};
use wane_ftl::policies::placement::{PLACEMENT_POLICIES, PlacementPolicy};
use wane_ftl::policies::redundancy::{REDUNDANCY_POLICIES, RedundancyPolicy};
use wane_ftl::policies::retirement::{RETIRE_POLICIES, RetirePolicy};
use wane_ftl::policies::scrub::{SCRUB_POLICIES, ScrubPolicy};
use wane_ftl::policies::victim::{VICTIM_POLICIES, VictimPolicy};
use wane_ftl::policies::wear_leveling::{WEAR_LEVEL_POLICIES, WearLevelPolicy};
use wane_ftl::policies::{Entry, Needs, names};
use wane_scenario::{Family, FtlSettings, Scenario};
use wane_units::excerpt;

/// A policy from outside, as results name it.
#[derive(Clone)]
pub struct Override<P> {
    name: String,
    parameters: toml::Table,
    policy: P,
}

impl<P> Override<P> {
    /// A policy under a name that no built-in of its family has.
    pub fn new(name: impl Into<String>, policy: P) -> Self {
        Self { name: name.into(), parameters: toml::Table::new(), policy }
    }

    /// As [`Override::new`], with the parameters that results name: every value that changes what the policy does.
    pub fn with<K: Into<String>, V: Into<toml::Value>>(
        name: impl Into<String>,
        parameters: impl IntoIterator<Item = (K, V)>,
        policy: P,
    ) -> Self {
        let parameters = parameters.into_iter().map(|(key, value)| (key.into(), value.into())).collect();
        Self { name: name.into(), parameters, policy }
    }

    /// As a scenario would choose it.
    fn table(&self) -> toml::Table {
        let mut table = self.parameters.clone();
        table.insert("policy".to_owned(), self.name.as_str().into());
        table
    }
}

/// Policies from outside the tree, one a family at most.
#[derive(Clone, Default)]
pub struct PolicyOverrides {
    /// Chooses garbage collection's victims.
    pub victim: Option<Override<Box<dyn VictimPolicy>>>,
    /// Levels wear.
    pub wear_leveling: Option<Override<Box<dyn WearLevelPolicy>>>,
    /// Answers retired blocks.
    pub capacity: Option<Override<Box<dyn CapacityPolicy>>>,
    /// Says which pages protect each other.
    pub redundancy: Option<Override<Box<dyn RedundancyPolicy>>>,
    /// Scrubs.
    pub scrub: Option<Override<Box<dyn ScrubPolicy>>>,
    /// Says when blocks leave service.
    pub retire: Option<Override<Box<dyn RetirePolicy>>>,
    /// Says which open stream takes data.
    pub placement: Option<Override<Box<dyn PlacementPolicy>>>,
    /// Says which free block is opened next.
    pub allocation: Option<Override<Box<dyn AllocationPolicy>>>,
}

/// A policy from outside that a scenario cannot take.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("ftl.{family}: {reason}")]
pub struct OverrideError {
    family: &'static str,
    reason: String,
}

/// The policies of one drive.
pub(crate) struct Policies {
    pub(crate) victim: Box<dyn VictimPolicy>,
    pub(crate) wear_leveling: Box<dyn WearLevelPolicy>,
    pub(crate) capacity: Box<dyn CapacityPolicy>,
    pub(crate) redundancy: Box<dyn RedundancyPolicy>,
    pub(crate) scrub: Box<dyn ScrubPolicy>,
    pub(crate) retire: Box<dyn RetirePolicy>,
    pub(crate) placement: Box<dyn PlacementPolicy>,
    pub(crate) allocation: Box<dyn AllocationPolicy>,
}

impl Policies {
    /// Those of a scenario.
    pub(crate) fn of(ftl: &FtlSettings) -> Self {
        Self {
            victim: ftl.victim_policy(),
            wear_leveling: ftl.wear_level_policy(),
            capacity: ftl.capacity_policy(),
            redundancy: ftl.redundancy_policy(),
            scrub: ftl.scrub_policy(),
            retire: ftl.retire_policy(),
            placement: ftl.placement_policy(),
            allocation: ftl.allocation_policy(),
        }
    }
}

impl PolicyOverrides {
    /// The policies of a scenario, with these in place of some.
    ///
    /// # Errors
    /// One has the name of a built-in, or needs what the drive lacks.
    pub(crate) fn policies(&self, scenario: &Scenario) -> Result<Policies, OverrideError> {
        let own = Policies::of(&scenario.ftl);
        let place = Place { scenario };
        Ok(Policies {
            victim: place.take(Family::Victim, &self.victim, own.victim, VICTIM_POLICIES, |policy| policy.needs())?,
            wear_leveling: place.take(
                Family::WearLeveling,
                &self.wear_leveling,
                own.wear_leveling,
                WEAR_LEVEL_POLICIES,
                |policy| policy.needs(),
            )?,
            capacity: place
                .take(Family::Capacity, &self.capacity, own.capacity, CAPACITY_POLICIES, |policy| policy.needs())?,
            redundancy: place.take(
                Family::Redundancy,
                &self.redundancy,
                own.redundancy,
                REDUNDANCY_POLICIES,
                |policy| policy.needs(),
            )?,
            scrub: place.take(Family::Scrub, &self.scrub, own.scrub, SCRUB_POLICIES, |policy| policy.needs())?,
            retire: place
                .take(Family::Retirement, &self.retire, own.retire, RETIRE_POLICIES, |policy| policy.needs())?,
            placement: place
                .take(Family::Placement, &self.placement, own.placement, PLACEMENT_POLICIES, |policy| policy.needs())?,
            allocation: place.take(
                Family::Allocation,
                &self.allocation,
                own.allocation,
                ALLOCATION_POLICIES,
                |policy| policy.needs(),
            )?,
        })
    }

    /// The scenario as results keep it: with what took the place of its policies. It is to be hashed and written, not to be
    /// run.
    pub(crate) fn recorded(&self, scenario: &Scenario) -> Scenario {
        let mut recorded = scenario.clone();
        for (family, table) in self.tables() {
            let ftl = &mut recorded.ftl;
            *match family {
                Family::Victim => &mut ftl.gc,
                Family::WearLeveling => &mut ftl.wear_leveling,
                Family::Capacity => &mut ftl.capacity,
                Family::Redundancy => &mut ftl.redundancy,
                Family::Scrub => &mut ftl.scrub,
                Family::Retirement => &mut ftl.retire,
                Family::Placement => &mut ftl.placement,
                Family::Allocation => &mut ftl.allocation,
            } = table;
        }
        recorded
    }

    /// As the summary names them.
    pub(crate) fn recorded_policies(&self) -> BTreeMap<String, BTreeMap<String, serde_json::Value>> {
        let json = |value| serde_json::to_value(value).expect("a value of TOML is one of JSON");
        let parameters = |table: toml::Table| table.into_iter().map(|(key, value)| (key, json(value))).collect();
        self.tables().into_iter().map(|(family, table)| (family.key().to_owned(), parameters(table))).collect()
    }

    /// Each as a scenario would choose it.
    fn tables(&self) -> Vec<(Family, toml::Table)> {
        let all = [
            (Family::Victim, self.victim.as_ref().map(Override::table)),
            (Family::WearLeveling, self.wear_leveling.as_ref().map(Override::table)),
            (Family::Capacity, self.capacity.as_ref().map(Override::table)),
            (Family::Redundancy, self.redundancy.as_ref().map(Override::table)),
            (Family::Scrub, self.scrub.as_ref().map(Override::table)),
            (Family::Retirement, self.retire.as_ref().map(Override::table)),
            (Family::Placement, self.placement.as_ref().map(Override::table)),
            (Family::Allocation, self.allocation.as_ref().map(Override::table)),
        ];
        all.into_iter().filter_map(|(family, table)| Some((family, table?))).collect()
    }
}

/// The scenario whose policies are replaced.
struct Place<'a> {
    scenario: &'a Scenario,
}

impl Place<'_> {
    fn take<P: Clone>(
        &self,
        family: Family,
        outside: &Option<Override<P>>,
        own: P,
        built_in: &[Entry<P>],
        needs: fn(&P) -> Needs,
    ) -> Result<P, OverrideError> {
        let Some(Override { name, policy, .. }) = outside else { return Ok(own) };
        if names(built_in).contains(&name.as_str()) {
            let reason = format!("\"{name}\" is a built-in's name; a policy from outside needs another one");
            return Err(OverrideError { family: family.key(), reason });
        }
        match self.scenario.lacking(needs(policy)) {
            Some(lacking) => {
                let reason = format!("\"{}\" goes by {lacking}", excerpt(name));
                Err(OverrideError { family: family.key(), reason })
            }
            None => Ok(policy.clone()),
        }
    }
}
