//! A garbage-collection policy from outside the tree: youngest greedy.
//!
//! Of the blocks with the fewest valid units it takes the least worn, so that reclaiming also levels wear. The index keeps the
//! buckets in that order because the policy asks for it. Run it with `cargo run -p own-policy`.

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
        view.bucket_head(valid)
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
        let closed = |valid, erase_count| ClosedBlock { valid, erase_count, ..ClosedBlock::default() };
        // (closed blocks of 4 units, the victim)
        let table = [
            (vec![closed(3, 0), closed(1, 7), closed(1, 5), closed(2, 0)], Some(2)),
            (vec![closed(4, 0), closed(4, 9)], None),
            (vec![], None),
        ];
        for (blocks, victim) in table {
            let table = GcTable::new(4, YoungestGreedy.index(), &blocks)?;
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
