//! Patrol: reads a page of every block in turn and relocates what reads badly.

use serde::Deserialize;
use wane_units::SuperblockId;

use super::{Action, BuiltinScrub, ScrubPolicy, ScrubView};
use crate::policies::{Builtin, Setting};

/// See [`Builtin::PAGE`].
#[derive(Clone, Debug)]
pub struct Patrol {
    period_days: f64,
    rereads: u32,
    /// When the patrol began.
    since: Option<f64>,
    /// Blocks that the patrol has passed.
    passed: u64,
    bad: Option<SuperblockId>,
}

/// Parameters of [`Patrol`].
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Params {
    period_days: f64,
    rereads: u32,
}

impl Default for Params {
    fn default() -> Self {
        Self { period_days: 30.0, rereads: 1 }
    }
}

impl Builtin for Patrol {
    const NAME: &'static str = "patrol";
    const SUMMARY: &'static str = "reads a page of every block in turn and relocates what reads badly";
    const EXAMPLE: &'static str = "{ policy = \"patrol\", period-days = 30 }";
    const PAGE: &'static str = "\
Walks over the drive once in a period, reads the first valid page of every closed block, and relocates the block when
that page needed re-reads or was uncorrectable. The patrol's own reads take time and disturb. It needs time to pass: a
timed run, or `time.drive-writes-per-day`.

| key | default | allowed | meaning |
|---|---|---|---|
| `period-days` | `30` | above 0 | days in which every block is visited once |
| `rereads` | `1` | 1 and up | re-reads of the page from which on its block is relocated |

Source: Kim et al., FAST 2019 (004) §3.3, after Amvrosiadis et al., DSN 2012.
";
    type Params = Params;

    fn check(params: &Params) -> Result<(), String> {
        if !(params.period_days > 0.0 && params.period_days.is_finite()) {
            return Err(format!("`period-days` is {}; a number above 0 is allowed", params.period_days));
        }
        if params.rereads == 0 {
            return Err("`rereads` is 0; 1 and up is allowed".to_owned());
        }
        Ok(())
    }
}

impl BuiltinScrub for Patrol {
    fn new(params: &Params, _setting: Setting) -> Self {
        Self { period_days: params.period_days, rereads: params.rereads, since: None, passed: 0, bad: None }
    }
}

impl ScrubPolicy for Patrol {
    fn next(&mut self, view: &ScrubView<'_>) -> Option<Action> {
        if let Some(block) = self.bad.take().filter(|block| view.valid(*block).is_some()) {
            return Some(Action::Relocate(block));
        }
        let since = *self.since.get_or_insert(view.now_days());
        let due = ((view.now_days() - since) / self.period_days * f64::from(view.blocks())) as u64;
        // Blocks with nothing to read are passed by at once, a round of them at most.
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
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ask, errors, setting};
    use super::*;

    #[test]
    fn every_block_is_checked_once_a_period_and_bad_ones_move() {
        let mut patrol = Patrol::new(&Params { period_days: 4.0, rereads: 2 }, setting());
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
