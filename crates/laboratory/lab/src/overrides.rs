//! Policies from outside the tree, which replace those that a scenario names.
//!
//! Each has a name and its parameters. Results show them in place of the scenario's own policy, and the
//! hash includes them, so that runs of different policies cannot be confused.

use std::collections::BTreeMap;

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

    /// As [`Override::new`], with the parameters that results show. They should include every value that changes what the policy does.
    pub fn with<K: Into<String>, V: Into<toml::Value>>(
        name: impl Into<String>,
        parameters: impl IntoIterator<Item = (K, V)>,
        policy: P,
    ) -> Self {
        let parameters = parameters.into_iter().map(|(key, value)| (key.into(), value.into())).collect();
        Self { name: name.into(), parameters, policy }
    }

    /// The table with which a scenario would choose it.
    fn table(&self) -> toml::Table {
        let mut table = self.parameters.clone();
        table.insert("policy".to_owned(), self.name.as_str().into());
        table
    }
}

/// A policy from outside that does not fit a scenario.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("ftl.{family}: {reason}")]
pub struct OverrideError {
    family: &'static str,
    reason: String,
}

/// Makes all code that must cover every family from one table: the name of a family's policies here, its [`Family`], its trait, its
/// field in [`FtlSettings`], the method there that makes the scenario's own policy, and the list of built-ins.
macro_rules! families {
    ($($(#[$doc:meta])* $field:ident: $family:ident, $policy:ident, $key:ident, $make:ident, $built_ins:ident;)*) => {
        /// Policies from outside the tree, at most one for each family.
        #[derive(Clone, Default)]
        pub struct PolicyOverrides {
            $($(#[$doc])* pub $field: Option<Override<Box<dyn $policy>>>,)*
        }

        /// The policies of one drive.
        pub(crate) struct Policies {
            $(pub(crate) $field: Box<dyn $policy>,)*
        }

        impl Policies {
            /// The policies of a scenario.
            pub(crate) fn of(ftl: &FtlSettings) -> Self {
                Self { $($field: ftl.$make(),)* }
            }
        }

        impl PolicyOverrides {
            /// The policies of a scenario, some replaced by these.
            ///
            /// # Errors
            /// One has the name of a built-in, or needs what the drive lacks.
            pub(crate) fn policies(&self, scenario: &Scenario) -> Result<Policies, OverrideError> {
                let own = Policies::of(&scenario.ftl);
                let place = Place { scenario };
                Ok(Policies {
                    $($field: place.take(Family::$family, &self.$field, own.$field, $built_ins, |policy| policy.needs())?,)*
                })
            }

            /// The tables with which a scenario would choose them.
            fn tables(&self) -> Vec<(Family, toml::Table)> {
                let all = [$((Family::$family, self.$field.as_ref().map(Override::table)),)*];
                all.into_iter().filter_map(|(family, table)| Some((family, table?))).collect()
            }
        }

        /// Where the settings keep a family's choice. The compiler refuses a family without a line.
        fn choice(ftl: &mut FtlSettings, family: Family) -> &mut toml::Table {
            match family {
                $(Family::$family => &mut ftl.$key,)*
            }
        }
    };
}

families! {
    /// Chooses garbage collection's victims.
    victim: Victim, VictimPolicy, gc, victim_policy, VICTIM_POLICIES;
    /// Levels wear.
    wear_leveling: WearLeveling, WearLevelPolicy, wear_leveling, wear_level_policy, WEAR_LEVEL_POLICIES;
    /// Decides how capacity changes as blocks retire.
    capacity: Capacity, CapacityPolicy, capacity, capacity_policy, CAPACITY_POLICIES;
    /// Says which pages protect each other.
    redundancy: Redundancy, RedundancyPolicy, redundancy, redundancy_policy, REDUNDANCY_POLICIES;
    /// Scrubs.
    scrub: Scrub, ScrubPolicy, scrub, scrub_policy, SCRUB_POLICIES;
    /// Says when blocks leave service.
    retire: Retirement, RetirePolicy, retire, retire_policy, RETIRE_POLICIES;
    /// Says which open stream takes data.
    placement: Placement, PlacementPolicy, placement, placement_policy, PLACEMENT_POLICIES;
    /// Says which free block is opened next.
    allocation: Allocation, AllocationPolicy, allocation, allocation_policy, ALLOCATION_POLICIES;
    /// Says when worn blocks are spared.
    mode: Mode, ModePolicy, mode, mode_policy, MODE_POLICIES;
    /// Says how the drive finds its data after a power cut.
    recovery: Recovery, RecoveryPolicy, recovery, recovery_policy, RECOVERY_POLICIES;
}

impl PolicyOverrides {
    /// The scenario as results save it, with the policies that replaced its own. It is for hashing and writing, not for
    /// running.
    pub(crate) fn recorded(&self, scenario: &Scenario) -> Scenario {
        let mut recorded = scenario.clone();
        for (family, table) in self.tables() {
            *choice(&mut recorded.ftl, family) = table;
        }
        recorded
    }

    /// Whether there is no policy.
    pub(crate) fn is_empty(&self) -> bool {
        self.tables().is_empty()
    }

    /// The hash of a scenario that is run with these policies, as in its results.
    pub fn hash_of(&self, scenario: &Scenario) -> String {
        self.recorded(scenario).hash()
    }

    /// The policies as the summary shows them.
    pub(crate) fn recorded_policies(&self) -> BTreeMap<String, BTreeMap<String, serde_json::Value>> {
        let json = |value| serde_json::to_value(value).expect("a value of TOML is one of JSON");
        let parameters = |table: toml::Table| table.into_iter().map(|(key, value)| (key, json(value))).collect();
        self.tables().into_iter().map(|(family, table)| (family.key().to_owned(), parameters(table))).collect()
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
