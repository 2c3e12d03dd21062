//! A garbage-collection policy from outside the tree: youngest greedy.
//!
//! Of the blocks with the fewest valid units it takes the least worn, so that reclaiming also levels. The index keeps
//! the buckets in that order because the policy asks for it. Run it with `cargo run --release -p own-policy`.

use std::sync::Arc;

use wane_ftl::policies::victim::{GcView, IndexSpec, Order, VictimPolicy};
use wane_lab::build::Outside;
use wane_lab::run::Watch;
use wane_lab::session;
use wane_results::Summary;
use wane_scenario::{Scenario, Sources};

#[derive(Clone)]
struct YoungestGreedy;

impl VictimPolicy for YoungestGreedy {
    fn index(&self) -> IndexSpec {
        IndexSpec { order: Order::Wear, window: None }
    }

    fn choose(&mut self, view: &GcView<'_>) -> Option<wane_units::BlockId> {
        let valid = view.lowest().filter(|valid| *valid < view.units_per_block())?;
        view.first(valid)
    }
}

const SCENARIO: &str = "
[drive]
preset = 'tiny'
[ftl]
retire = 'never'
[workload]
pattern = 'hot-cold'
[until]
drive-writes = 40
";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let scenario = Scenario::resolve(&Sources { file: Some(("own-policy", SCENARIO)), ..Sources::default() })?;
    let own = Outside { victim: Some(Box::new(|_| Box::new(YoungestGreedy))), ..Outside::default() };
    for (name, outside) in [("greedy", Outside::default()), ("youngest greedy", own)] {
        let summary = life(&scenario, outside)?;
        let wear = summary.wear.erase_count;
        println!(
            "{name:<16} amplification {:.3}, erases {:.1} +- {:.2}",
            summary.write_amplification.total.unwrap_or(1.0),
            wear.mean,
            wear.sd
        );
    }
    Ok(())
}

fn life(scenario: &Scenario, outside: Outside) -> Result<Summary, session::SessionError> {
    let mut watch = Watch { step: &mut |_| {}, stop: &Arc::default() };
    Ok(session::execute(scenario, outside, &mut watch)?.summary)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outside_policy_runs_and_levels() -> Result<(), Box<dyn std::error::Error>> {
        let scenario = Scenario::resolve(&Sources { file: Some(("own-policy", SCENARIO)), ..Sources::default() })?;
        let greedy = life(&scenario, Outside::default())?;
        let own =
            life(&scenario, Outside { victim: Some(Box::new(|_| Box::new(YoungestGreedy))), ..Outside::default() })?;
        assert!(own.wear.erase_count.sd < greedy.wear.erase_count.sd);
        assert!(own.warnings.is_empty(), "{:?}", own.warnings);
        Ok(())
    }
}
