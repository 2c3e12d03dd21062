//! Policies from outside the tree, which replace those that a scenario names.
//!
//! Each has a name and its parameters. Results show them in place of the scenario's own policy, and the
//! hash includes them, so that runs of different policies cannot be confused.

use std::collections::BTreeMap;

use wane_ftl::policies::allocation::AllocationPolicy;
use wane_ftl::policies::capacity::CapacityPolicy;
use wane_ftl::policies::mode::ModePolicy;
use wane_ftl::policies::placement::PlacementPolicy;
use wane_ftl::policies::recovery::RecoveryPolicy;
use wane_ftl::policies::redundancy::RedundancyPolicy;
use wane_ftl::policies::retirement::RetirePolicy;
use wane_ftl::policies::scrub::ScrubPolicy;
use wane_ftl::policies::victim::VictimPolicy;
use wane_ftl::policies::wear_leveling::WearLevelPolicy;
use wane_scenario::{Chosen, Family, Scenario};
use wane_units::excerpt;

/// A policy from outside, as results name it.
#[derive(Clone)]
pub struct Override<P>(Chosen<P>);

impl<P> Override<P> {
    /// A policy under a name that no built-in of its family has.
    pub fn new(name: impl Into<String>, policy: P) -> Self {
        Self::with(name, [] as [(String, toml::Value); 0], policy)
    }

    /// As [`Override::new`], with the parameters that results show. They should include every value that changes what the policy does.
    pub fn with<K: Into<String>, V: Into<toml::Value>>(
        name: impl Into<String>,
        parameters: impl IntoIterator<Item = (K, V)>,
        policy: P,
    ) -> Self {
        let mut table: toml::Table = parameters.into_iter().map(|(key, value)| (key.into(), value.into())).collect();
        table.insert("policy".to_owned(), name.into().into());
        Self(Chosen::new(table, policy))
    }
}

/// A policy from outside that does not fit a scenario.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("ftl.{family}: {reason}")]
pub struct OverrideError {
    family: &'static str,
    reason: String,
}

/// Makes all code that must cover every family from one table: the name of a family's policies here, its [`Family`], its trait, and its field
/// in [`wane_scenario::FtlSettings`].
macro_rules! families {
    ($($(#[$doc:meta])* $field:ident: $family:ident, $policy:ident, $key:ident;)*) => {
        /// Policies from outside the tree, at most one for each family.
        #[derive(Clone, Default)]
        pub struct PolicyOverrides {
            $($(#[$doc])* pub $field: Option<Override<Box<dyn $policy>>>,)*
        }

        impl PolicyOverrides {
            /// The scenario with these policies in the places of its own, as results save it.
            pub(crate) fn recorded(&self, scenario: &Scenario) -> Scenario {
                let mut recorded = scenario.clone();
                $(if let Some(Override(chosen)) = &self.$field {
                    recorded.ftl.$key = chosen.clone();
                })*
                recorded
            }

            /// The policy of a family, as results name it. The compiler refuses a family without a line.
            fn of(&self, family: Family) -> Option<(&str, &toml::Table)> {
                match family {
                    $(Family::$family => self.$field.as_ref().map(|Override(chosen)| (chosen.name(), chosen.table())),)*
                }
            }
        }
    };
}

families! {
    /// Chooses garbage collection's victims.
    victim: Victim, VictimPolicy, gc;
    /// Levels wear.
    wear_leveling: WearLeveling, WearLevelPolicy, wear_leveling;
    /// Decides how capacity changes as blocks retire.
    capacity: Capacity, CapacityPolicy, capacity;
    /// Says which pages protect each other.
    redundancy: Redundancy, RedundancyPolicy, redundancy;
    /// Scrubs.
    scrub: Scrub, ScrubPolicy, scrub;
    /// Says when blocks leave service.
    retire: Retirement, RetirePolicy, retire;
    /// Says which open stream takes data.
    placement: Placement, PlacementPolicy, placement;
    /// Says which free block is opened next.
    allocation: Allocation, AllocationPolicy, allocation;
    /// Says when worn blocks are spared.
    mode: Mode, ModePolicy, mode;
    /// Says how the drive finds its data after a power cut.
    recovery: Recovery, RecoveryPolicy, recovery;
}

impl PolicyOverrides {
    /// The scenario with these policies in the places of its own, for running.
    ///
    /// # Errors
    /// One has the name of a built-in, or needs what the drive lacks.
    pub(crate) fn checked(&self, scenario: &Scenario) -> Result<Scenario, OverrideError> {
        let replaced = self.recorded(scenario);
        for (family, (name, _)) in self.all() {
            let refused = |reason| Err(OverrideError { family: family.key(), reason });
            if family.names().contains(&name) {
                return refused(format!("\"{name}\" is a built-in's name; a policy from outside needs another one"));
            }
            if let Some(lacking) = replaced.lacking(family) {
                return refused(format!("\"{}\" goes by {lacking}", excerpt(name)));
            }
        }
        Ok(replaced)
    }

    fn all(&self) -> impl Iterator<Item = (Family, (&str, &toml::Table))> {
        Family::all().filter_map(|family| Some((family, self.of(family)?)))
    }

    /// Whether there is no policy.
    pub(crate) fn is_empty(&self) -> bool {
        self.all().next().is_none()
    }

    /// The hash of a scenario that is run with these policies, as in its results.
    pub fn hash_of(&self, scenario: &Scenario) -> String {
        self.recorded(scenario).hash()
    }

    /// The policies as the summary shows them.
    pub(crate) fn recorded_policies(&self) -> BTreeMap<String, BTreeMap<String, serde_json::Value>> {
        let json = |value: &toml::Value| serde_json::to_value(value).expect("a value of TOML is one of JSON");
        let parameters = |table: &toml::Table| table.iter().map(|(key, value)| (key.clone(), json(value))).collect();
        self.all().map(|(family, (_, table))| (family.key().to_owned(), parameters(table))).collect()
    }
}
