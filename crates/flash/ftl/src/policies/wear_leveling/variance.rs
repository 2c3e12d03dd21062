//! Variance-based: moves cold data when the erase counts are uneven.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wane_units::{BlockState, Ratio, SuperblockId, jain_index_of_sums};

use super::hot_cold_swap::{heard_closed, resync_closed};
use super::order::CountOrder;
use super::{Action, WearLevelPolicy, WearView};
use crate::policies::state::remembered_by_serde;
use crate::policies::{BlockEvent, Builtin, ProjectedWear, Setting};

/// See [`VarianceParams`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Variance {
    threshold: f64,
    blocks: u64,
    /// Sum and sum of squares of all erase counts.
    sum: u64,
    squares: u64,
    closed: CountOrder,
    free: CountOrder,
}

/// Moves cold data when erase counts are uneven.
///
/// Measures how even the erase counts are by Jain's index (sum)^2 / (N x sum of squares). It is 1 when all blocks are equally
/// worn, and 1/N when one block has all the wear. At or below the threshold, the data of the least worn closed block move into
/// the most worn free block.
///
/// Source: the static wear leveling of SimpleSSD 3 (dissertation 000, Table 1, names it variance-based).
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct VarianceParams {
    /// Evenness at or below which data move.
    pub threshold: Ratio,
}

impl Default for VarianceParams {
    fn default() -> Self {
        Self { threshold: Ratio::new(0.7).expect("0.7 is a ratio") }
    }
}

impl Builtin for Variance {
    const NAME: &'static str = "variance";
    type Params = VarianceParams;

    fn build(params: VarianceParams) -> Self {
        Self {
            threshold: params.threshold.get(),
            blocks: 0,
            sum: 0,
            squares: 0,
            closed: CountOrder::default(),
            free: CountOrder::default(),
        }
    }
}

impl Variance {
    /// Jain's index of the erase counts; 1 while no block was erased.
    fn evenness(&self) -> f64 {
        jain_index_of_sums(self.blocks, self.sum.into(), self.squares.into())
    }
}

impl WearLevelPolicy for Variance {
    remembered_by_serde!();

    fn begin(&mut self, setting: Setting) {
        assert_eq!(self.blocks, 0, "a policy begins once");
        self.blocks = u64::from(setting.blocks);
        setting.superblocks().for_each(|block| self.free.insert(block, 0));
    }

    fn plan(&mut self, view: &WearView<'_>) -> Option<Action> {
        let evenness = self.evenness();
        debug_assert!((0.0..=1.0).contains(&evenness), "Jain's index is a share, found {evenness}");
        if evenness > self.threshold {
            return None;
        }
        let ((from, least), (into, most)) = (self.closed.least()?, self.free.most()?);
        (least < most && view.valid(from) > 0).then_some(Action::Refill { from, into })
    }

    /// The evenness after a move decides whether another one follows.
    fn tests_again(&self) -> bool {
        true
    }

    fn heard(&mut self, event: BlockEvent, block: SuperblockId, erase_count: u32) {
        heard_closed(&mut self.closed, event, block, erase_count);
        match event {
            BlockEvent::Erased(_) => {
                self.sum += 1;
                // n^2 - (n - 1)^2
                self.squares += 2 * u64::from(erase_count) - 1;
                self.free.insert(block, erase_count);
            }
            BlockEvent::Opened | BlockEvent::Retired => self.free.remove(block, erase_count),
            BlockEvent::Closed => {}
        }
    }

    fn resync(&mut self, wear: &ProjectedWear<'_>) {
        resync_closed(&mut self.closed, wear);
        self.free = CountOrder::default();
        (self.sum, self.squares) = (0, 0);
        for (block, erases, state) in wear.blocks() {
            self.sum += u64::from(erases);
            self.squares += u64::from(erases) * u64::from(erases);
            if state == BlockState::Free {
                self.free.insert(block, erases);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{begun, close, setting, view};
    use super::*;
    use crate::policies::EraseCause;

    /// A policy that heard of these erase counts, all blocks free.
    fn erased(counts: &[u32], threshold: f64) -> Variance {
        let params = VarianceParams { threshold: Ratio::new(threshold).unwrap() };
        let mut policy: Variance = begun(params, setting(counts.len() as u32));
        for (block, count) in (0..).map(SuperblockId).zip(counts) {
            for erases in 1..=*count {
                policy.heard(BlockEvent::Opened, block, erases - 1);
                policy.heard(BlockEvent::Closed, block, erases - 1);
                policy.heard(BlockEvent::Erased(EraseCause::GarbageCollection), block, erases);
            }
        }
        policy
    }

    #[test]
    fn evenness_is_jains_index() {
        for (counts, want) in [(&[1, 1, 1, 1][..], 1.0), (&[4, 0, 0, 0], 0.25), (&[3, 1], 0.8), (&[0, 0], 1.0)] {
            assert_eq!(erased(counts, 0.5).evenness(), want, "{counts:?}");
        }
    }

    #[test]
    fn cold_data_goes_to_the_most_worn_free_block_at_the_threshold() {
        let counts = [0, 3, 1];
        // (3 + 1)^2 / (3 x 10)
        for (threshold, moves) in [(16.0 / 30.0, true), (0.5, false)] {
            let mut policy = erased(&counts, threshold);
            policy.heard(BlockEvent::Opened, SuperblockId(0), 0);
            close(&mut policy, &[0]);
            let want = Action::Refill { from: SuperblockId(0), into: SuperblockId(1) };
            assert_eq!(policy.plan(&view(Some(1), &counts, &|_| 1)), moves.then_some(want));
        }
    }
}
