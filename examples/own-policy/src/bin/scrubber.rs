//! A scrubber from outside the tree: a block whose pages needed re-reads is relocated.
//!
//! Re-reads are what a drive sees of its errors without knowing their model. Run it with
//! `cargo run -p own-policy --bin scrubber`.

use own_policy::life;
use wane_ftl::policies::scrub::{Action, ScrubPolicy, ScrubView};
use wane_lab::build::{Override, PolicyOverrides};

// ANCHOR: policy
#[derive(Clone)]
struct AfterRereads {
    /// Re-reads of a block since its erase at which it is relocated.
    rereads: u32,
}

impl ScrubPolicy for AfterRereads {
    fn next(&mut self, view: &ScrubView<'_>) -> Option<Action> {
        // Only reads cause re-reads, so that only blocks read since the last call can be due.
        view.touched()
            .find(|block| view.health(*block).rereads >= self.rereads && view.valid(*block).is_some())
            .map(Action::Relocate)
    }
}
// ANCHOR_END: policy

/// Worn flash whose data are months old and need re-reads; fresh data hardly do.
const SCENARIO: &str = "
[drive]
preset = 'tiny'
chip = 'tlc-72l-2018'
endurance = 'none'
[drive.ecc]
strength = 75
[drive.initial]
erase-count = 3500
retention = ['90 days', '180 days']
[ftl]
scrub = 'read-count'
[workload]
pattern = 'uniform'
read-share = '98 %'
[until]
drive-writes = 0.5
";

// ANCHOR: hand-in
fn own() -> PolicyOverrides {
    PolicyOverrides {
        scrub: Some(Override::with("after-rereads", [("rereads", 16)], Box::new(AfterRereads { rereads: 16 }))),
        ..PolicyOverrides::default()
    }
}
// ANCHOR_END: hand-in

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for (name, overrides) in [("read-count", PolicyOverrides::default()), ("after re-reads", own())] {
        let summary = life(SCENARIO, &overrides)?;
        let rereads = summary.errors.as_ref().map_or(0, |errors| errors.retries);
        println!("{name:<16} re-reads {rereads}, pages moved {}", summary.flash.pages_programmed.scrub);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use wane_ftl::policies::scrub::{Health, ScrubTable};
    use wane_results::Summary;
    use wane_units::SuperblockId;

    // ANCHOR: test
    #[test]
    fn only_blocks_that_were_read_and_hold_data_move() {
        let health = |rereads| Health { rereads, ..Health::default() };
        let blocks = vec![(Some(8), health(15)), (None, health(99)), (Some(8), health(16)), (Some(8), health(99))];
        // (blocks that were read, the one that moves)
        for (touched, moves) in [(&[0, 1, 2][..], Some(2)), (&[0, 1], None), (&[], None)] {
            let table = ScrubTable { blocks: blocks.clone(), touched: SuperblockId::slice(touched).to_vec() };
            let action = AfterRereads { rereads: 16 }.next(&table.view(0.0));
            assert_eq!(action, moves.map(|block| Action::Relocate(SuperblockId(block))), "{touched:?}");
        }
    }

    #[test]
    fn relocation_lowers_re_reads_and_no_answer_is_refused() -> Result<(), Box<dyn std::error::Error>> {
        let (read_count, own) = (life(SCENARIO, &PolicyOverrides::default())?, life(SCENARIO, &own())?);
        assert!(own.flash.blocks_erased.scrub > read_count.flash.blocks_erased.scrub);
        let rereads = |summary: &Summary| summary.errors.as_ref().map_or(0, |errors| errors.retries);
        assert!(rereads(&own) * 4 < rereads(&read_count) * 3, "{} of {}", rereads(&own), rereads(&read_count));
        assert!(own.warnings.is_empty(), "{:?}", own.warnings);
        Ok(())
    }
    // ANCHOR_END: test
}
