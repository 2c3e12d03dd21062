//! Wear focusing: much invalid space, an aged block and much read data first.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wane_units::{Ratio, SuperblockId};

use super::{GcView, IndexSpec, Roster, VictimPolicy};
use crate::policies::state::remembered_by_serde;
use crate::policies::{Builtin, Mode, Needs, Setting};

/// Most blocks of a domain, since the policy looks at all closed ones for each victim.
const BLOCKS_MAX: u32 = 4096;

/// See [`WearFocusingParams`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WearFocusing {
    params: WearFocusingParams,
    /// Rated P/E cycles.
    endurance: u32,
}

/// Much invalid space, an aged block and much read data first.
///
/// Reclaims the closed block with the highest score: `invalidity` x (invalid / all units) + `aging` x (erases / endurance) + `reads` x (units that the
/// host read from it / the most that it read from any block). So worn blocks wear on, and data that are read often leave them. A degraded drive
/// spares worn blocks: its score is `degraded-invalidity` x (invalid / all units) + `degraded-youth` x (1 - erases / endurance). A fully valid
/// block is never taken. Of equal scores the more worn block is taken, or the less worn one on a degraded drive; then the lower id. While fewer
/// than `low-pool` blocks are free, the least worn of the blocks that are more than half invalid is taken, if there is one. The policy looks at
/// all closed blocks, so a domain may have at most 4,096.
///
/// Source: the capacity-variant SSD (001, section 3.2.3, equation 1) and, for the low pool, its released code. The degraded weights are ours:
/// the paper's first two weights over their sum.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct WearFocusingParams {
    /// Weight of the share of invalid units.
    pub invalidity: Ratio,
    /// Weight of the wear.
    pub aging: Ratio,
    /// Weight of the reads.
    pub reads: Ratio,
    /// Weight of the share of invalid units on a degraded drive.
    pub degraded_invalidity: Ratio,
    /// Weight of the remaining endurance on a degraded drive.
    pub degraded_youth: Ratio,
    /// Number of free blocks of a domain below which the least worn of the blocks that are more than half invalid is taken.
    #[schemars(extend("x-scales" = "reserve"))]
    pub low_pool: u32,
}

impl Default for WearFocusingParams {
    fn default() -> Self {
        let ratio = |value| Ratio::new(value).expect("a constant from 0 to 1");
        Self {
            invalidity: ratio(0.4),
            aging: ratio(0.3),
            reads: ratio(0.3),
            degraded_invalidity: ratio(0.57),
            degraded_youth: ratio(0.43),
            low_pool: 5,
        }
    }
}

impl Builtin for WearFocusing {
    const NAME: &'static str = "wear-focusing";
    type Params = WearFocusingParams;

    fn build(params: WearFocusingParams) -> Self {
        Self { params, endurance: u32::MAX }
    }
}

impl WearFocusing {
    /// Score of a block. `reads_max` is the most that the host read from any block.
    fn score(&self, view: &GcView<'_>, block: SuperblockId, reads_max: u32) -> f64 {
        let units = f64::from(view.units_per_block());
        let invalid = 1.0 - f64::from(view.valid(block)) / units;
        let worn = f64::from(view.erase_count(block)) / f64::from(self.endurance);
        match view.mode() {
            Mode::Normal => {
                let read = f64::from(view.host_reads(block)) / f64::from(reads_max.max(1));
                self.params.invalidity.get() * invalid + self.params.aging.get() * worn + self.params.reads.get() * read
            }
            Mode::Degraded => {
                self.params.degraded_invalidity.get() * invalid + self.params.degraded_youth.get() * (1.0 - worn)
            }
        }
    }
}

impl VictimPolicy for WearFocusing {
    remembered_by_serde!();

    fn begin(&mut self, setting: Setting) {
        self.endurance = setting.endurance.unwrap_or(u32::MAX);
    }

    fn index(&self) -> IndexSpec {
        IndexSpec { reads: true, roster: Roster::ByPosition, ..IndexSpec::default() }
    }

    fn choose(&mut self, view: &GcView<'_>) -> Option<SuperblockId> {
        if view.free() < self.params.low_pool
            && let Some(block) = least_worn_half_invalid(view)
        {
            return Some(block);
        }
        let reads_max = view.host_reads_max();
        let worthy = view.blocks().filter(|block| view.valid(*block) < view.units_per_block());
        worthy.max_by(|one, other| {
            let by_score = self.score(view, *one, reads_max).total_cmp(&self.score(view, *other, reads_max));
            let by_wear = view.erase_count(*one).cmp(&view.erase_count(*other));
            let by_wear = if view.mode() == Mode::Normal { by_wear } else { by_wear.reverse() };
            by_score.then(by_wear).then(other.cmp(one))
        })
    }

    fn needs(&self) -> Needs {
        Needs { endurance: true, blocks_max: Some(BLOCKS_MAX), ..Needs::default() }
    }
}

/// The least worn of the blocks that are more than half invalid; of several the one with the lowest id.
fn least_worn_half_invalid(view: &GcView<'_>) -> Option<SuperblockId> {
    let half_invalid = view.blocks().filter(|block| 2 * view.valid(*block) < view.units_per_block());
    half_invalid.min_by_key(|block| (view.erase_count(*block), *block))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policies::victim::{ClosedBlock, GcTable};

    fn chosen(mode: Mode, blocks: &[(u32, u32, u32)]) -> Option<u32> {
        chosen_of(mode, 20, blocks)
    }

    /// The choice among blocks of 100 units on a drive of 300 cycles, by valid units, erases and reads.
    fn chosen_of(mode: Mode, free: u32, blocks: &[(u32, u32, u32)]) -> Option<u32> {
        let mut policy = WearFocusing { endurance: 300, ..WearFocusing::build(WearFocusingParams::default()) };
        let closed: Vec<ClosedBlock> = blocks
            .iter()
            .map(|&(valid, erase_count, host_reads)| ClosedBlock { valid, erase_count, closed_at: 0, host_reads })
            .collect();
        let table = GcTable::new(100, policy.index(), &closed).unwrap();
        policy.choose(&table.view_in(mode, free, 0)).map(|block| block.0)
    }

    #[test]
    fn an_aged_block_that_is_read_goes_before_one_with_more_invalid_units() {
        // Scores 0.46 and 0.38 beside the block that is read most, which is valid throughout.
        assert_eq!(chosen(Mode::Normal, &[(25, 100, 20), (10, 20, 0), (100, 0, 100)]), Some(0));
        // Without the reads it is 0.40 against 0.38, and with less wear the other way round.
        assert_eq!(chosen(Mode::Normal, &[(25, 100, 0), (10, 20, 0)]), Some(0));
        assert_eq!(chosen(Mode::Normal, &[(25, 70, 0), (10, 20, 0)]), Some(1));
    }

    #[test]
    fn a_degraded_drive_takes_young_blocks_and_looks_at_no_reads() {
        assert_eq!(chosen(Mode::Degraded, &[(25, 100, 100), (25, 20, 0)]), Some(1));
        assert_eq!(chosen(Mode::Normal, &[(25, 100, 100), (25, 20, 0)]), Some(0));
    }

    #[test]
    fn ties_go_by_wear_and_then_by_id_and_full_blocks_are_never_taken() {
        assert_eq!(chosen(Mode::Normal, &[(50, 10, 0), (50, 10, 0)]), Some(0));
        assert_eq!(chosen(Mode::Normal, &[(100, 299, 50), (99, 0, 0)]), Some(1));
        assert_eq!(chosen(Mode::Normal, &[(100, 299, 50)]), None);
        assert_eq!(chosen(Mode::Degraded, &[]), None);
    }

    #[test]
    fn a_low_pool_takes_the_least_worn_block_that_is_half_invalid() {
        let blocks = [(10, 200, 90), (49, 30, 0), (50, 0, 0)];
        assert_eq!(chosen_of(Mode::Normal, 5, &blocks), Some(0));
        assert_eq!(chosen_of(Mode::Normal, 4, &blocks), Some(1));
        assert_eq!(chosen_of(Mode::Degraded, 4, &blocks), Some(1));
        assert_eq!(chosen_of(Mode::Normal, 4, &blocks[2..]), Some(0), "the score decides where no block is");
    }
}
