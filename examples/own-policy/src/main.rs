//! A garbage-collection policy from outside the tree: youngest greedy.
//!
//! Of the blocks with the fewest valid units it takes the least worn, so that reclaiming also levels. The index keeps
//! the buckets in that order because the policy asks for it. Run it with `cargo run --release -p own-policy`.

use own_policy::life;
use wane_ftl::policies::victim::{GcView, IndexSpec, Order, VictimPolicy};
use wane_lab::build::{Override, PolicyOverrides};

// ANCHOR: policy
#[derive(Clone)]
struct YoungestGreedy;

impl VictimPolicy for YoungestGreedy {
    fn index(&self) -> IndexSpec {
        IndexSpec { order: Order::Wear, ..IndexSpec::default() }
    }

    fn choose(&mut self, view: &GcView<'_>) -> Option<wane_units::SuperblockId> {
        let valid = view.lowest().filter(|valid| *valid < view.units_per_block())?;
        view.first(valid)
    }
}
// ANCHOR_END: policy

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

fn own() -> PolicyOverrides {
    PolicyOverrides {
        victim: Some(Override::new("youngest-greedy", Box::new(YoungestGreedy))),
        ..PolicyOverrides::default()
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for (name, overrides) in [("greedy", PolicyOverrides::default()), ("youngest greedy", own())] {
        let summary = life(SCENARIO, &overrides)?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use wane_ftl::policies::victim::{ClosedBlock, GcTable};
    use wane_units::SuperblockId;

    // ANCHOR: test
    #[test]
    fn of_the_emptiest_blocks_the_least_worn_is_reclaimed() -> std::io::Result<()> {
        // (valid units and erases of each closed block, the victim) where a block has 4 units
        let table: [(&[(u32, u32)], Option<u32>); 3] =
            [(&[(3, 0), (1, 7), (1, 5), (2, 0)], Some(2)), (&[(4, 0), (4, 9)], None), (&[], None)];
        for (blocks, victim) in table {
            let closed: Vec<ClosedBlock> = blocks
                .iter()
                .map(|(valid, erase_count)| ClosedBlock { valid: *valid, erase_count: *erase_count, closed_at: 0 })
                .collect();
            let table = GcTable::new(4, YoungestGreedy.index(), &closed)?;
            assert_eq!(YoungestGreedy.choose(&table.view(0)), victim.map(SuperblockId), "{blocks:?}");
        }
        Ok(())
    }
    // ANCHOR_END: test

    #[test]
    fn an_outside_policy_runs_and_levels() -> Result<(), Box<dyn std::error::Error>> {
        let (greedy, own) = (life(SCENARIO, &PolicyOverrides::default())?, life(SCENARIO, &own())?);
        assert!(own.wear.erase_count.sd < greedy.wear.erase_count.sd);
        assert!(own.warnings.is_empty(), "{:?}", own.warnings);
        Ok(())
    }
}
