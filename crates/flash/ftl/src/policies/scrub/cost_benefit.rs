//! Cost-benefit scrubbing: relocates blocks with many re-reads per valid unit.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wane_units::SuperblockId;

use super::{Action, ScrubPolicy, ScrubView};
use crate::policies::state::remembered_by_serde;
use crate::policies::{Builtin, Needs};

/// See [`CostBenefitParams`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CostBenefit {
    score: f64,
    /// Blocks whose score was above the threshold when they were last read.
    found: Vec<SuperblockId>,
}

/// Relocates blocks with many re-reads per valid unit.
///
/// The scrubber of holistic reliability management. A block's benefit is the work that relocation is likely to save: its
/// re-reads since its erase. Its cost is the data that relocation moves: its valid units. The block with the highest
/// benefit / cost is relocated if that is above `score`. A drive can keep both counters.
///
/// Source: Kim et al., FAST 2019 (004) §5. The paper names benefit and cost; their quotient as the score and the threshold of
/// 1 are ours.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct CostBenefitParams {
    /// Re-reads per valid unit above which a block is relocated.
    #[schemars(range(min = 0))]
    pub score: f64,
}

impl Default for CostBenefitParams {
    fn default() -> Self {
        Self { score: 1.0 }
    }
}

impl Builtin for CostBenefit {
    const NAME: &'static str = "cost-benefit";
    type Params = CostBenefitParams;

    fn build(params: CostBenefitParams) -> Self {
        Self { score: params.score, found: Vec::new() }
    }
}

impl CostBenefit {
    fn score(view: &ScrubView<'_>, block: SuperblockId) -> f64 {
        view.valid(block).map_or(0.0, |valid| f64::from(view.health(block).rereads) / f64::from(valid))
    }
}

impl ScrubPolicy for CostBenefit {
    remembered_by_serde!();

    fn next(&mut self, view: &ScrubView<'_>) -> Option<Action> {
        for block in view.touched() {
            if Self::score(view, block) > self.score && !self.found.contains(&block) {
                self.found.push(block);
            }
        }
        self.found.retain(|block| Self::score(view, *block) > self.score);
        let best = |a: &&SuperblockId, b: &&SuperblockId| Self::score(view, **a).total_cmp(&Self::score(view, **b));
        self.found.iter().max_by(best).map(|block| Action::Relocate(*block))
    }

    fn needs(&self) -> Needs {
        Needs { errors: true, ..Needs::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::ask;
    use super::*;
    use wane_nand::Health;

    #[test]
    fn the_best_score_beyond_the_threshold_goes_first() {
        let relocate = |block| Some(Action::Relocate(SuperblockId(block)));
        // Eight valid units each: (re-reads, answer)
        for (rereads, want) in [([8, 0, 3, 8], None), ([9, 20, 30, 0], relocate(2)), ([0, 9, 0, 0], relocate(1))] {
            let health = rereads.map(|rereads| Health { rereads, ..Health::default() });
            let mut policy = CostBenefit::build(CostBenefitParams::default());
            assert_eq!(ask(&mut policy, &[0, 1, 2, 3], &health, 0.0), want, "{rereads:?}");
        }
    }
}
