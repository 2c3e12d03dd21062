//! Wear levelers watched from outside: what a result does not keep, such as which block took which move.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use wane_ftl::policies::wear_leveling::{
    Action, BuiltinWearLevel, DualPool, OldBlockProtection, WearLevelMaker, WearLevelPolicy, WearView,
};
use wane_ftl::policies::{BlockEvent, Builtin};
use wane_units::SuperblockId;

use wane_lab::build::PolicyOverrides;
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

/// Runs a scenario with old block protection; the drive's erases between one move and the next into the block that is
/// the most worn at the end.
pub(super) fn intervals_of_oldest(scenario: &Scenario) -> Vec<u64> {
    let noted = Arc::new(Mutex::new(Noted::default()));
    let shared = Arc::clone(&noted);
    let params = parameters::<OldBlockProtection>(scenario);
    let maker: WearLevelMaker = Box::new(move |setting| {
        Box::new(WatchedProtection { policy: OldBlockProtection::new(&params, setting), noted: Arc::clone(&shared) })
    });
    execute(scenario, maker);
    let noted = noted.lock().expect("no holder panics");
    let oldest = noted.erases.iter().max_by_key(|(_, erases)| **erases).map(|(block, _)| *block);
    let times = oldest.and_then(|block| noted.moves.get(&block)).map(Vec::as_slice).unwrap_or_default();
    times.windows(2).map(|pair| pair[1] - pair[0]).collect()
}

/// Mean erase counts of the two pools.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pools {
    pub(super) hot_mean: f64,
    pub(super) cold_mean: f64,
}

/// A dual pool that tells its pools when it is dropped.
#[derive(Clone)]
struct WatchedPools {
    policy: DualPool,
    pools: Arc<Mutex<Pools>>,
}

impl WearLevelPolicy for WatchedPools {
    fn plan(&mut self, view: &WearView<'_>) -> Option<Action> {
        self.policy.plan(view)
    }

    fn heard(&mut self, event: BlockEvent, block: SuperblockId, erase_count: u32) {
        self.policy.heard(event, block, erase_count);
    }
}

impl Drop for WatchedPools {
    fn drop(&mut self) {
        let (hot_mean, cold_mean) = self.policy.erase_count_means();
        *self.pools.lock().expect("no holder panics") = Pools { hot_mean, cold_mean };
    }
}

/// Runs a scenario with a dual pool; the mean erase counts of its pools at the end.
pub(super) fn pools_of_dual_pool(scenario: &Scenario) -> Pools {
    let pools = Arc::new(Mutex::new(Pools::default()));
    let told = Arc::clone(&pools);
    let params = parameters::<DualPool>(scenario);
    let maker: WearLevelMaker = Box::new(move |setting| {
        Box::new(WatchedPools { policy: DualPool::new(&params, setting), pools: Arc::clone(&told) })
    });
    execute(scenario, maker);
    let pools = pools.lock().expect("no holder panics");
    *pools
}

fn parameters<P: Builtin>(scenario: &Scenario) -> P::Params {
    let mut table = scenario.ftl.wear_leveling.clone();
    table.remove("policy");
    P::params(table).unwrap_or_else(|error| unreachable!("resolved scenarios hold valid policies: {error}"))
}

fn execute(scenario: &Scenario, maker: WearLevelMaker) {
    let overrides = PolicyOverrides { wear_leveling: Some(maker), ..PolicyOverrides::default() };
    let mut watch = Watch { step: &mut |_| {}, stop: &Arc::default() };
    session::execute(scenario, overrides, &mut watch)
        .unwrap_or_else(|error| unreachable!("a small synthetic run: {error}"));
}
