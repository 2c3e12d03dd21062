//! Wear levelers watched from outside, for what a result does not keep, such as which block took which move.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use wane_ftl::policies::wear_leveling::{Action, DualPool, OldBlockProtection, WearLevelPolicy, WearView};
use wane_ftl::policies::{BlockEvent, Builtin, Setting};
use wane_units::SuperblockId;

use wane_lab::build::{Override, PolicyOverrides};
use wane_lab::run::Watch;
use wane_lab::session;
use wane_scenario::Scenario;

/// Old block protection that notes when each block took data, and how worn each is.
#[derive(Clone)]
struct WatchedProtection {
    policy: OldBlockProtection,
    noted: Arc<Mutex<Noted>>,
}

#[derive(Default)]
struct Noted {
    moves: BTreeMap<SuperblockId, Vec<u64>>,
    erases: BTreeMap<SuperblockId, u32>,
}

impl WearLevelPolicy for WatchedProtection {
    fn begin(&mut self, setting: Setting) {
        self.policy.begin(setting);
    }

    fn plan(&mut self, view: &WearView<'_>) -> Option<Action> {
        let action = self.policy.plan(view);
        if let Some(Action::Refill { into, .. }) = action {
            let mut noted = self.noted.lock().expect("no holder panics");
            noted.moves.entry(into).or_default().push(view.gc_erases());
        }
        action
    }

    fn heard(&mut self, event: BlockEvent, block: SuperblockId, erase_count: u32) {
        if let BlockEvent::Erased(_) = event {
            self.noted.lock().expect("no holder panics").erases.insert(block, erase_count);
        }
        self.policy.heard(event, block, erase_count);
    }
}

/// Runs a scenario with old block protection. Returns the drive's erases between one move and the next into the block
/// that is most worn at the end.
pub(super) fn intervals_of_oldest(scenario: &Scenario, stop: &Arc<AtomicBool>) -> Vec<u64> {
    let noted = Arc::new(Mutex::new(Noted::default()));
    let policy = built_in::<OldBlockProtection>(scenario);
    execute(scenario, Box::new(WatchedProtection { policy, noted: Arc::clone(&noted) }), stop);
    let noted = noted.lock().expect("no holder panics");
    let oldest = noted.erases.iter().max_by_key(|(_, erases)| **erases).map(|(block, _)| *block);
    let times = oldest.and_then(|block| noted.moves.get(&block)).map(Vec::as_slice).unwrap_or_default();
    debug_assert!(times.is_sorted(), "moves are noted as they come");
    times.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

/// Mean erase counts of the two pools.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pools {
    pub(super) hot_mean: f64,
    pub(super) cold_mean: f64,
}

/// A dual pool that stores its pools' means when it is dropped, if a drive used it.
#[derive(Clone)]
struct WatchedPools {
    policy: DualPool,
    has_begun: bool,
    pools: Arc<Mutex<Pools>>,
}

impl WearLevelPolicy for WatchedPools {
    fn begin(&mut self, setting: Setting) {
        self.has_begun = true;
        self.policy.begin(setting);
    }

    fn plan(&mut self, view: &WearView<'_>) -> Option<Action> {
        self.policy.plan(view)
    }

    fn heard(&mut self, event: BlockEvent, block: SuperblockId, erase_count: u32) {
        self.policy.heard(event, block, erase_count);
    }
}

impl Drop for WatchedPools {
    fn drop(&mut self) {
        // The run clones its policies. The original is dropped after the clones and knows no block.
        if !self.has_begun {
            return;
        }
        let (hot_mean, cold_mean) = self.policy.erase_count_means();
        *self.pools.lock().expect("no holder panics") = Pools { hot_mean, cold_mean };
    }
}

/// Runs a scenario with a dual pool. Returns the mean erase counts of its pools at the end.
pub(super) fn pools_of_dual_pool(scenario: &Scenario, stop: &Arc<AtomicBool>) -> Pools {
    let pools = Arc::new(Mutex::new(Pools::default()));
    let policy = built_in::<DualPool>(scenario);
    execute(scenario, Box::new(WatchedPools { policy, has_begun: false, pools: Arc::clone(&pools) }), stop);
    let pools = pools.lock().expect("no holder panics");
    *pools
}

/// Builds the scenario's wear leveler, which must be a `P`.
fn built_in<P: Builtin>(scenario: &Scenario) -> P {
    let mut table = scenario.ftl.wear_leveling.table().clone();
    table.remove("policy");
    P::read(table).unwrap_or_else(|error| unreachable!("resolved scenarios hold valid policies: {error}"))
}

fn execute(scenario: &Scenario, policy: Box<dyn WearLevelPolicy>, stop: &Arc<AtomicBool>) {
    let overrides =
        PolicyOverrides { wear_leveling: Some(Override::new("watched", policy)), ..PolicyOverrides::default() };
    let mut watch = Watch { step: &mut |_| {}, stop };
    session::execute(scenario, &overrides, &mut watch).unwrap_or_else(|error| unreachable!("a synthetic run: {error}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small(leveler: &str) -> Scenario {
        let text = format!(
            "[drive]\npreset = 'ftlsim-256g'\nlogical-capacity = '64 MiB'\n[ftl]\nretire = 'never'\nwear-leveling = {leveler}\n\
             [workload]\npattern = 'hot-cold'\nr = 0.9\nh = 0.1\n[until]\ndrive-writes = 20\n"
        );
        crate::scenario("watched", &text)
    }

    #[test]
    fn a_watched_wear_leveler_tells_what_it_did_in_the_run() {
        let Pools { hot_mean, cold_mean } =
            pools_of_dual_pool(&small("{ policy = 'dual-pool', threshold = 5 }"), &Arc::default());
        assert!(hot_mean > 10.0 && cold_mean > 10.0, "after 20 drive writes: {hot_mean}, {cold_mean}");
        let intervals =
            intervals_of_oldest(&small("{ policy = 'obp', threshold = 2, protection = 8 }"), &Arc::default());
        assert!(intervals.len() > 2, "{intervals:?}");
    }
}
