//! The oracle: knows the expected number of errors of every block.

use std::collections::BinaryHeap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wane_units::SuperblockId;

use super::{Action, Round, ScrubPolicy, ScrubView};
use crate::policies::state::remembered_by_serde;
use crate::policies::{Builtin, Needs, Setting};

/// See [`OracleParams`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Oracle {
    threshold: f64,
    min_gain: f64,
    round: Round,
    /// Blocks beyond the threshold when they were checked, the worst on top. Unit: a thousandth of an error.
    found: BinaryHeap<(u64, u32)>,
    queued: Vec<bool>,
}

/// Relocates blocks with more expected errors than a threshold, worst first.
///
/// The oracle knows the expected bit errors in a codeword of every block (codeword bits times RBER of its oldest page). It
/// relocates blocks beyond the threshold, the worst first, until none is left. No real drive can know this, so the policy bounds
/// what scrubbing can gain. Blocks that were read are checked the next time the policy is asked. All blocks are checked in
/// turn, eight at a time, to find those that only age.
///
/// If the threshold is below the expected errors of freshly written data, the oracle relocates forever, as published. With
/// `min-gain` it leaves a block alone if rewriting it would save fewer errors than that.
///
/// Source: Kim et al., FAST 2019 (004) §4.3; `min-gain` is ours.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct OracleParams {
    /// Expected bit errors of a codeword above which its block is relocated.
    #[schemars(extend("exclusiveMinimum" = 0))]
    pub threshold: f64,
    /// Least expected errors that relocation must save.
    #[schemars(range(min = 0))]
    pub min_gain: f64,
}

impl Default for OracleParams {
    fn default() -> Self {
        Self { threshold: 75.0, min_gain: 0.0 }
    }
}

impl Builtin for Oracle {
    const NAME: &'static str = "oracle";
    type Params = OracleParams;

    fn build(params: OracleParams) -> Self {
        Self {
            threshold: params.threshold,
            min_gain: params.min_gain,
            round: Round::default(),
            found: BinaryHeap::new(),
            queued: Vec::new(),
        }
    }
}

impl Oracle {
    /// Expected errors of a block, or `None` if it is not worth relocating.
    fn worth(&self, view: &ScrubView<'_>, block: SuperblockId) -> Option<f64> {
        view.valid(block)?;
        let health = view.health(block);
        let gain = health.expected_errors - health.fresh_errors;
        debug_assert!(!gain.is_nan(), "errors that are no number would never be too many");
        (health.expected_errors > self.threshold && gain >= self.min_gain).then_some(health.expected_errors)
    }

    fn look(&mut self, view: &ScrubView<'_>, block: SuperblockId) {
        if self.queued[block.index()] {
            return;
        }
        if let Some(errors) = self.worth(view, block) {
            self.queued[block.index()] = true;
            self.found.push(((errors * 1e3) as u64, block.0));
        }
    }
}

impl ScrubPolicy for Oracle {
    remembered_by_serde!();

    fn begin(&mut self, setting: Setting) {
        self.queued = vec![false; setting.blocks as usize];
    }

    fn next(&mut self, view: &ScrubView<'_>) -> Option<Action> {
        for block in view.touched() {
            self.look(view, block);
        }
        for block in self.round.step(view.blocks()) {
            self.look(view, block);
        }
        while let Some((_, block)) = self.found.pop() {
            let block = SuperblockId(block);
            self.queued[block.index()] = false;
            // It may have been reclaimed meanwhile.
            if self.worth(view, block).is_some() {
                return Some(Action::Relocate(block));
            }
        }
        None
    }

    fn needs(&self) -> Needs {
        Needs { errors: true, ..Needs::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ask, errors, setting};
    use super::*;

    #[test]
    fn the_worst_block_beyond_the_threshold_goes_first() {
        let relocate = |block| Some(Action::Relocate(SuperblockId(block)));
        // (expected errors, least gain, first answer, second answer when that block was cured)
        let table = [
            ([75.0, 74.0, 3.0, 0.0], 0.0, None, None),
            ([80.0, 90.0, 3.0, 76.0], 0.0, relocate(1), relocate(0)),
            ([80.0, 90.0, 3.0, 76.0], 75.0, relocate(1), None),
        ];
        for (expected, min_gain, first, second) in table {
            let mut oracle = Oracle::build(OracleParams { threshold: 75.0, min_gain });
            oracle.begin(setting());
            let mut health = expected.map(errors);
            assert_eq!(ask(&mut oracle, &[], &health, 0.0), first, "{expected:?}");
            health[1] = errors(10.0);
            assert_eq!(ask(&mut oracle, &[0, 1], &health, 0.0), second, "{expected:?} then");
        }
    }
}
