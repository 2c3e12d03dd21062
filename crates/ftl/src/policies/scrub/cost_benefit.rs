//! Cost-benefit scrubbing: relocates what was re-read often for the data it holds.

use serde::Deserialize;
use wane_units::SuperblockId;

use super::{Action, BuiltinScrub, ScrubPolicy, ScrubView};
use crate::policies::{Builtin, Setting};

/// See [`Builtin::PAGE`].
#[derive(Clone, Debug)]
pub struct CostBenefit {
    score: f64,
    /// Blocks beyond the score when they were last read.
    found: Vec<SuperblockId>,
}

/// Parameters of [`CostBenefit`].
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Params {
    score: f64,
}

impl Default for Params {
    fn default() -> Self {
        Self { score: 1.0 }
    }
}

impl Builtin for CostBenefit {
    const NAME: &'static str = "cost-benefit";
    const SUMMARY: &'static str = "relocates what was re-read often for the data it holds";
    const EXAMPLE: &'static str = "{ policy = \"cost-benefit\", score = 1.0 }";
    const PAGE: &'static str = "\
The scrubber of holistic reliability management. A block's benefit is what relocation is likely to save, its re-reads
since its erase; its cost is what relocation moves, its valid units. Beyond a benefit per cost of `score` the best block
is relocated. Both are counters that a drive can keep.

| key | default | allowed | meaning |
|---|---|---|---|
| `score` | `1` | 0 and up | re-reads per valid unit beyond which a block is relocated |

Source: Kim et al., FAST 2019 (004) §5; the paper names benefit and cost, that the score is their quotient and the
threshold 1 is ours.
";
    type Params = Params;

    fn check(params: &Params) -> Result<(), String> {
        if !(params.score >= 0.0 && params.score.is_finite()) {
            return Err(format!("`score` is {}; 0 and up is allowed", params.score));
        }
        Ok(())
    }
}

impl BuiltinScrub for CostBenefit {
    fn new(params: &Params, _setting: Setting) -> Self {
        Self { score: params.score, found: Vec::new() }
    }
}

impl CostBenefit {
    fn score(view: &ScrubView<'_>, block: SuperblockId) -> f64 {
        view.valid(block).map_or(0.0, |valid| f64::from(view.health(block).rereads) / f64::from(valid))
    }
}

impl ScrubPolicy for CostBenefit {
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
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ask, setting};
    use super::*;
    use wane_nand::Health;

    #[test]
    fn the_best_score_beyond_the_threshold_goes_first() {
        let relocate = |block| Some(Action::Relocate(SuperblockId(block)));
        // Eight valid units each: (re-reads, answer)
        for (rereads, want) in [([8, 0, 3, 8], None), ([9, 20, 30, 0], relocate(2)), ([0, 9, 0, 0], relocate(1))] {
            let health = rereads.map(|rereads| Health { rereads, ..Health::default() });
            let mut policy = CostBenefit::new(&Params::default(), setting());
            assert_eq!(ask(&mut policy, &[0, 1, 2, 3], &health, 0.0), want, "{rereads:?}");
        }
    }
}
