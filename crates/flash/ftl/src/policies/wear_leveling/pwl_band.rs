//! Progressive wear leveling of a degraded drive's blocks that are about to retire, as in the released code of 001.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wane_units::{Ratio, SuperblockId};

use super::pwl::{Average, Progressive, ProgressiveParams};
use super::{Action, WearLevelPolicy, WearView};
use crate::policies::mode::Mode;
use crate::policies::state::remembered_by_serde;
use crate::policies::{BlockEvent, Builtin, Needs, ProjectedWear, Setting};

/// See [`ProgressiveBandParams`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ProgressiveBand {
    leveler: Progressive,
    /// Bounds of the erases of a block that may take cold data, both excluded.
    above: u32,
    below: u32,
}

/// Progressive wear leveling of a degraded drive, for blocks a few erases below retirement.
///
/// A normal drive is not leveled. On a degraded drive a block that garbage collection erased takes the data of the least worn closed
/// block if its erases lie in the band
///
/// ```text
/// retired-at - width < erases < retired-at
/// ```
///
/// and above the threshold of `pwl` with `average = "in-service"`. So before a block would retire, it rests with data that hardly
/// change. Above the band blocks are used up to the rated endurance without leveling. The paper has no such rule.
///
/// The policy needs `drive.endurance`; without a rating it never acts.
///
/// Source: the released code of 001. Its text (section 3.2.4) only says that blocks are used more evenly.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ProgressiveBandParams {
    /// Erases at which a normal drive retires a block; the released code uses 290 of 300.
    pub retired_at: u32,
    /// Width of the band, in erases below `retired-at`.
    #[schemars(range(min = 2))]
    pub width: u32,
    /// Theta of `pwl`: the share of the endurance up to which a new drive's blocks are not leveled.
    pub threshold: Ratio,
}

impl Default for ProgressiveBandParams {
    fn default() -> Self {
        let threshold = Ratio::new(0.1).expect("a tenth is a ratio");
        Self { retired_at: 290, width: 5, threshold }
    }
}

impl Builtin for ProgressiveBand {
    const NAME: &'static str = "pwl-band";
    type Params = ProgressiveBandParams;

    fn build(params: ProgressiveBandParams) -> Self {
        let ProgressiveBandParams { retired_at, width, threshold } = params;
        Self {
            leveler: Progressive::build(ProgressiveParams { threshold, average: Average::InService }),
            above: retired_at.saturating_sub(width),
            below: retired_at,
        }
    }
}

impl WearLevelPolicy for ProgressiveBand {
    remembered_by_serde!();

    fn begin(&mut self, setting: Setting) {
        self.leveler.begin(setting);
    }

    fn plan(&mut self, view: &WearView<'_>) -> Option<Action> {
        let erases = view.erase_count(view.erased()?);
        if view.mode() == Mode::Normal || !(self.above + 1..self.below).contains(&erases) {
            return None;
        }
        self.leveler.plan(view)
    }

    fn heard(&mut self, event: BlockEvent, block: SuperblockId, erase_count: u32) {
        self.leveler.heard(event, block, erase_count);
    }

    fn needs(&self) -> Needs {
        self.leveler.needs()
    }

    fn resync(&mut self, wear: &ProjectedWear<'_>) {
        self.leveler.resync(wear);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{begun, close, setting, view};
    use super::*;

    #[test]
    fn a_degraded_drive_rests_blocks_that_are_about_to_retire() {
        // (mode, erases of the block that was erased) -> moves. The others have 100: the average is 132, the threshold 148.
        for (mode, erases, moves) in [
            (Mode::Degraded, 285, false),
            (Mode::Degraded, 286, true),
            (Mode::Degraded, 289, true),
            (Mode::Degraded, 290, false),
            (Mode::Degraded, 296, false),
            (Mode::Normal, 288, false),
        ] {
            let params = ProgressiveBandParams::default();
            let mut policy: ProgressiveBand = begun(params, Setting { endurance: Some(300), ..setting(6) });
            close(&mut policy, &[100]);
            let counts = [100, 100, 100, 100, 100, erases];
            let seen = WearView { mode, ..view(Some(5), &counts, &|_| 1) };
            let action = Action::Refill { from: SuperblockId(0), into: SuperblockId(5) };
            assert_eq!(policy.plan(&seen), moves.then_some(action), "{mode:?} {erases}");
        }
    }

    #[test]
    fn a_band_below_the_threshold_moves_nothing() {
        let params = ProgressiveBandParams { retired_at: 148, ..ProgressiveBandParams::default() };
        // The average is 140, the threshold 156.
        let mut policy: ProgressiveBand = begun(params, Setting { endurance: Some(300), ..setting(2) });
        close(&mut policy, &[134]);
        let seen = WearView { mode: Mode::Degraded, ..view(Some(1), &[134, 146], &|_| 1) };
        assert_eq!(policy.plan(&seen), None);
    }
}
