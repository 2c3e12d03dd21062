//! A wear leveler from outside the tree: cold data move under worn blocks.
//!
//! When garbage collection has just freed a block that is much more worn than the least worn closed block, the data of the least
//! worn block move into it. Run it with `cargo run -p own-policy --bin leveler`.

use std::collections::BTreeSet;

use own_policy::life;
use wane_ftl::policies::BlockEvent;
use wane_ftl::policies::wear_leveling::{Action, WearLevelPolicy, WearView};
use wane_lab::build::{Override, PolicyOverrides};
use wane_units::SuperblockId;

// ANCHOR: policy
#[derive(Clone)]
struct ColdUnderWorn {
    /// Erases by which the freed block must be ahead.
    lead: u32,
    /// The closed blocks by erase count, updated from events, so that no decision scans the drive.
    closed: BTreeSet<(u32, SuperblockId)>,
}

impl WearLevelPolicy for ColdUnderWorn {
    fn plan(&mut self, view: &WearView<'_>) -> Option<Action> {
        let into = view.erased()?;
        let &(least, from) = self.closed.first()?;
        let due = view.erase_count(into) > least + self.lead && view.valid(from) > 0;
        due.then_some(Action::Refill { from, into })
    }

    fn heard(&mut self, event: BlockEvent, block: SuperblockId, erase_count: u32) {
        match event {
            BlockEvent::Closed => {
                self.closed.insert((erase_count, block));
            }
            // The count is the one after the erase; the block was closed with one less.
            BlockEvent::Erased(_) => {
                self.closed.remove(&(erase_count - 1, block));
            }
            BlockEvent::Opened | BlockEvent::Retired => {}
        }
    }
}
// ANCHOR_END: policy

/// Four fifths of the data are written once and then stay, in blocks that nothing else would ever erase.
const SCENARIO: &str = "
[drive]
preset = 'tiny'
[ftl]
retire = 'never'
[workload]
pattern = 'uniform'
footprint = '20 %'
[until]
drive-writes = 40
";

// ANCHOR: hand-in
fn own() -> PolicyOverrides {
    let policy = ColdUnderWorn { lead: 8, closed: BTreeSet::new() };
    PolicyOverrides {
        wear_leveling: Some(Override::with("cold-under-worn", [("lead", policy.lead)], Box::new(policy))),
        ..PolicyOverrides::default()
    }
}
// ANCHOR_END: hand-in

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for (name, overrides) in [("no wear leveling", PolicyOverrides::default()), ("cold under worn", own())] {
        let summary = life(SCENARIO, &overrides)?;
        let (moved, wear) = (summary.write_amplification.wear_leveling.unwrap_or(0.0), summary.wear.erase_count);
        println!("{name:<16} moves {moved:.3} a host page, erases {:.1} +- {:.2}", wear.mean, wear.sd);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use wane_ftl::policies::EraseCause;
    use wane_ftl::policies::wear_leveling::WearTable;

    // ANCHOR: test
    #[test]
    fn the_spread_of_wear_shrinks_and_no_answer_is_refused() -> Result<(), Box<dyn std::error::Error>> {
        let (without, own) = (life(SCENARIO, &PolicyOverrides::default())?, life(SCENARIO, &own())?);
        let (wide, narrow) = (without.wear.erase_count.sd, own.wear.erase_count.sd);
        assert!(narrow < wide / 2.0, "{narrow} against {wide}");
        assert!(own.flash.blocks_erased.wear_leveling > 0);
        assert!(own.warnings.is_empty(), "{:?}", own.warnings);
        Ok(())
    }

    #[test]
    fn cold_data_move_under_a_block_that_is_far_ahead() {
        // Block 0 closed with 2 erases; block 1 was just freed. (its erases, valid units of block 0, whether they move)
        for (erases, valid, moves) in [(10, 4, false), (11, 4, true), (11, 0, false)] {
            let mut policy = ColdUnderWorn { lead: 8, closed: BTreeSet::new() };
            policy.heard(BlockEvent::Closed, SuperblockId(0), 2);
            let table = WearTable { erase_count: vec![2, erases], valid: vec![valid], ..WearTable::default() };
            let action = policy.plan(&table.view(Some(SuperblockId(1))));
            let want = Action::Refill { from: SuperblockId(0), into: SuperblockId(1) };
            assert_eq!(action, moves.then_some(want), "{erases} erases, {valid} valid");
        }
    }

    #[test]
    fn an_erased_block_is_no_longer_a_source() {
        let mut policy = ColdUnderWorn { lead: 8, closed: BTreeSet::new() };
        policy.heard(BlockEvent::Closed, SuperblockId(3), 7);
        assert_eq!(policy.closed.first(), Some(&(7, SuperblockId(3))));
        policy.heard(BlockEvent::Erased(EraseCause::WearLeveling), SuperblockId(3), 8);
        assert!(policy.closed.is_empty());
    }
    // ANCHOR_END: test
}
