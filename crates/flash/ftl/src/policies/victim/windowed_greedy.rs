//! Windowed greedy: greedy among the blocks that closed longest ago.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wane_registry::ShareOrCount;
use wane_units::{Ratio, SuperblockId};

use super::{GcView, IndexSpec, Roster, VictimPolicy};
use crate::policies::Builtin;
use crate::policies::state::remembered_by_serde;

/// See [`WindowedGreedyParams`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WindowedGreedy {
    window: ShareOrCount,
}

/// The fewest valid units among the oldest closed blocks.
///
/// Greedy over a window of the blocks that closed longest ago; younger blocks wait. If the whole window holds at most one
/// invalid unit, the oldest block outside it is reclaimed. This is the published rule. It never gains the last invalid unit of
/// a window, so a drive with hardly any spare may end earlier than with other policies.
///
/// Source: X.-Y. Hu et al., "Write Amplification Analysis in Flash-Based Solid State Drives", 2009.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct WindowedGreedyParams {
    /// Blocks in the window: a share of the domain's blocks, or a count. The source has 500 of about 24,700 blocks, the default. A count
    /// means another share on a drive of another size. With a window as large as the drive the policy is `greedy`, except for ties: a
    /// block's place among equals counts from its entry into the window.
    #[schemars(extend("x-scales" = "blocks"))]
    pub window: ShareOrCount,
}

impl Default for WindowedGreedyParams {
    fn default() -> Self {
        Self { window: ShareOrCount::Share(Ratio::new(0.02).expect("a constant from 0 to 1")) }
    }
}

impl Builtin for WindowedGreedy {
    const NAME: &'static str = "windowed-greedy";
    type Params = WindowedGreedyParams;

    fn build(params: WindowedGreedyParams) -> Self {
        Self { window: params.window }
    }
}

impl VictimPolicy for WindowedGreedy {
    remembered_by_serde!();

    fn index(&self) -> IndexSpec {
        IndexSpec { window: Some(self.window), roster: Roster::Nothing, ..IndexSpec::default() }
    }

    fn choose(&mut self, view: &GcView<'_>) -> Option<SuperblockId> {
        let waiting = view.oldest_waiting().filter(|_| view.invalid_in_window() <= 1);
        let least =
            || view.lowest().filter(|valid| *valid < view.units_per_block()).and_then(|valid| view.bucket_head(valid));
        waiting.or_else(least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::tests::{closed, view};

    #[test]
    fn only_the_oldest_compete() {
        let table: [(u32, &[u32], Option<u32>); 4] =
            [(2, &[2, 1, 0], Some(1)), (3, &[2, 1, 0], Some(2)), (2, &[4, 3, 2], Some(2)), (4, &[4, 4], None)];
        for (window, valid, want) in table {
            let mut policy = WindowedGreedy { window: ShareOrCount::Count(window) };
            let index = closed(4, valid, policy.index());
            let chosen = policy.choose(&view(&index, &vec![0; valid.len()], 9));
            assert_eq!(chosen, want.map(SuperblockId), "window {window} over {valid:?}");
        }
    }
}
