//! Cost-benefit: weighs the space gained and the age of the valid data against the cost of moving them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wane_units::SuperblockId;

use super::{GcView, IndexSpec, Order, Roster, VictimPolicy};
use crate::policies::Builtin;
use crate::policies::state::remembered_by_serde;

/// See [`CostBenefitParams`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CostBenefit {
    form: Form,
}

/// A published formula.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// Maximizes (1 - u) age / (1 + u).
    #[default]
    Lfs,
    /// Minimizes u / ((1 - u) age).
    Kawaguchi,
}

/// Much invalid space and old data first.
///
/// Weighs a block's invalid share and its age. Old data are unlikely to become invalid soon, so moving them is worth
/// more. u is the valid share, age the host pages written since the block closed (at least 1). Of equal scores the lower
/// block id is taken. A fully valid block is never taken.
///
/// The policy needs the blocks of equal u in closing order and looks at one block for each u, so it costs more than greedy.
///
/// Source: M. Rosenblum and J. Ousterhout, "The Design and Implementation of a Log-Structured File System", 1992; A.
/// Kawaguchi et al., "A Flash-Memory Based File System", 1995.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct CostBenefitParams {
    /// The formula that scores blocks.
    pub form: Form,
}

impl Builtin for CostBenefit {
    const NAME: &'static str = "cost-benefit";
    type Params = CostBenefitParams;

    fn build(params: CostBenefitParams) -> Self {
        Self { form: params.form }
    }
}

impl CostBenefit {
    /// Score of a block: the larger, the better.
    fn score(&self, valid: u32, units: u32, age: u64) -> f64 {
        debug_assert!(valid <= units, "a block has no more valid units than units");
        let (valid, invalid, age) = (f64::from(valid), f64::from(units - valid), age.max(1) as f64);
        match self.form {
            Form::Lfs => invalid * age / (f64::from(units) + valid),
            Form::Kawaguchi if valid == 0.0 => f64::INFINITY,
            Form::Kawaguchi => invalid * age / valid,
        }
    }
}

impl VictimPolicy for CostBenefit {
    remembered_by_serde!();

    fn index(&self) -> IndexSpec {
        IndexSpec { order: Order::Closing, roster: Roster::ByAge, ..IndexSpec::default() }
    }

    /// With equal u the oldest block scores best, so only the first of each bucket is scored. A score falls as u rises, in floating
    /// point too, so the search ends at the first u where even the drive's oldest block would lose.
    fn choose(&mut self, view: &GcView<'_>) -> Option<SuperblockId> {
        if let Some(empty) = view.bucket_head(0) {
            return Some(empty);
        }
        let units = view.units_per_block();
        let age_max = view.now() - view.oldest().map_or(0, |oldest| view.closed_at(oldest));
        let mut best: Option<(f64, SuperblockId)> = None;
        let mut bucket = view.next_bucket(1);
        while let Some(valid) = bucket.filter(|valid| *valid < units) {
            if best.is_some_and(|(highest, _)| self.score(valid, units, age_max) < highest) {
                break;
            }
            let block = view.bucket_head(valid)?;
            let score = self.score(valid, units, view.now() - view.closed_at(block));
            debug_assert!(score >= 0.0, "a score that is no number would never be the best");
            if best.is_none_or(|(highest, holder)| score > highest || (score == highest && block < holder)) {
                best = Some((score, block));
            }
            bucket = view.next_bucket(valid + 1);
        }
        best.map(|(_, block)| block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::tests::{closed, view};

    fn choose(form: Form, valid: &[u32], now: u64) -> Option<SuperblockId> {
        choose_of(form, 4, valid, now)
    }

    fn choose_of(form: Form, units: u32, valid: &[u32], now: u64) -> Option<SuperblockId> {
        let mut policy = CostBenefit { form };
        let index = closed(units, valid, policy.index());
        policy.choose(&view(&index, &vec![0; valid.len()], now))
    }

    #[test]
    fn age_outweighs_validity_when_it_is_large() {
        // Blocks close at clock 1, 2, 3. Scores by LFS at clock 11: 1 x 10 / 7, 2 x 9 / 6, 3 x 8 / 5.
        assert_eq!(choose(Form::Lfs, &[3, 2, 1], 11), Some(SuperblockId(2)));
        // At clock 3 the newest has age 0, which counts as 1: 1 x 2 / 7, 2 x 1 / 6, 3 x 1 / 5.
        assert_eq!(choose(Form::Lfs, &[3, 2, 1], 3), Some(SuperblockId(2)));
        // 2 x 100 / 6 against 3 x 1 / 5.
        assert_eq!(choose(Form::Lfs, &[2, 4, 4, 1], 101), Some(SuperblockId(3)));
        assert_eq!(choose(Form::Lfs, &[2, 4, 4, 1], 4), Some(SuperblockId(0)));
        assert_eq!(choose(Form::Kawaguchi, &[2, 4, 4, 1], 4), Some(SuperblockId(0)));
    }

    #[test]
    fn the_search_ends_early_without_missing_the_best() {
        let mut stream = wane_sim::Streams::new(4).stream("cost-benefit");
        for form in [Form::Lfs, Form::Kawaguchi] {
            let mut taken = [0; 2];
            for _ in 0..3000 {
                // Blocks close at clock 1 to 24.
                let valid: Vec<u32> = (0..24).map(|_| 1 + stream.below(8) as u32).collect();
                let now = 24 + (1 << stream.below(5));
                let policy = CostBenefit { form };
                let score = |block: u32| policy.score(valid[block as usize], 8, now - u64::from(block) - 1);
                let reclaimable = (0..24).filter(|block| valid[*block as usize] < 8);
                let best = reclaimable.reduce(|best, block| if score(block) > score(best) { block } else { best });
                assert_eq!(choose_of(form, 8, &valid, now), best.map(SuperblockId), "{form:?} of {valid:?} at {now}");
                let least = valid.iter().min();
                taken[usize::from(best.map(|block| &valid[block as usize]) == least)] += 1;
            }
            assert!(taken.iter().all(|count| *count > 100), "the best has the fewest valid units or not: {taken:?}");
        }
    }

    #[test]
    fn an_empty_block_goes_first_and_a_full_one_never() {
        for form in [Form::Lfs, Form::Kawaguchi] {
            assert_eq!(choose(form, &[1, 0, 0], 1000), Some(SuperblockId(1)));
            assert_eq!(choose(form, &[4, 4], 1000), None);
        }
    }
}
