//! Patrol: reads a page of every block in turn and relocates what reads badly.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wane_units::SuperblockId;

use super::{Action, ScrubPolicy, ScrubView};
use crate::policies::state::remembered_by_serde;
use crate::policies::{Builtin, Needs};

/// See [`PatrolParams`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Patrol {
    period_days: f64,
    rereads: u32,
    /// When the patrol began.
    since: Option<f64>,
    /// Blocks that the patrol has passed.
    passed: u64,
    bad: Option<SuperblockId>,
}

/// Reads a page of every block in turn and relocates what reads badly.
///
/// Once in each period the patrol reads the first valid page of every closed block. It relocates the block if that page needed
/// at least `rereads` re-reads or was uncorrectable. The patrol's own reads take time and disturb. It needs time to pass: a timed
/// run, or `time.drive-writes-per-day`.
///
/// Source: Kim et al., FAST 2019 (004) §3.3, after Amvrosiadis et al., DSN 2012.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct PatrolParams {
    /// Period in which every block is visited once.
    #[schemars(extend("exclusiveMinimum" = 0, "x-unit" = "days"))]
    pub period_days: f64,
    /// Number of re-reads of the page at which its block is relocated.
    #[schemars(range(min = 1))]
    pub rereads: u32,
}

impl Default for PatrolParams {
    fn default() -> Self {
        Self { period_days: 30.0, rereads: 1 }
    }
}

impl Builtin for Patrol {
    const NAME: &'static str = "patrol";
    type Params = PatrolParams;

    fn build(params: PatrolParams) -> Self {
        Self { period_days: params.period_days, rereads: params.rereads, since: None, passed: 0, bad: None }
    }
}

impl ScrubPolicy for Patrol {
    remembered_by_serde!();

    fn next(&mut self, view: &ScrubView<'_>) -> Option<Action> {
        if let Some(block) = self.bad.take().filter(|block| view.valid(*block).is_some()) {
            return Some(Action::Relocate(block));
        }
        let since = *self.since.get_or_insert(view.now_days());
        debug_assert!(since <= view.now_days(), "the patrol began in the past");
        let due = ((view.now_days() - since) / self.period_days * f64::from(view.blocks())) as u64;
        // Blocks with nothing to read are skipped at once, at most all of the drive.
        for _ in 0..view.blocks() {
            if self.passed >= due {
                return None;
            }
            let block = SuperblockId((self.passed % u64::from(view.blocks())) as u32);
            self.passed += 1;
            if view.valid(block).is_some() {
                return Some(Action::Check(block));
            }
        }
        None
    }

    fn checked(&mut self, block: SuperblockId, rereads: Option<u32>) {
        self.bad = rereads.is_none_or(|rereads| rereads >= self.rereads).then_some(block);
    }

    fn needs(&self) -> Needs {
        Needs { time: true, ..Needs::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ask, errors};
    use super::*;

    #[test]
    fn every_block_is_checked_once_a_period_and_bad_ones_move() {
        let mut patrol = Patrol::build(PatrolParams { period_days: 4.0, rereads: 2 });
        let health = [errors(0.0); 4];
        assert_eq!(ask(&mut patrol, &[], &health, 100.0), None);
        let mut checked = Vec::new();
        for day in 1..=8 {
            match ask(&mut patrol, &[], &health, 100.0 + f64::from(day)) {
                Some(Action::Check(block)) => checked.push(block.0),
                other => panic!("day {day}: {other:?}"),
            }
        }
        assert_eq!(checked, [0, 1, 2, 3, 0, 1, 2, 3]);
        for (rereads, want) in [(Some(1), None), (Some(2), Some(2)), (None, Some(2))] {
            patrol.checked(SuperblockId(2), rereads);
            assert_eq!(ask(&mut patrol, &[], &health, 108.0), want.map(|block| Action::Relocate(SuperblockId(block))));
        }
    }
}
