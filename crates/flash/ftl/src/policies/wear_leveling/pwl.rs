//! Progressive wear leveling: none while the drive is young, more and more towards its rated end.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wane_units::{Ratio, SuperblockId};

use super::hot_cold_swap::{heard_closed, resync_closed};
use super::order::CountOrder;
use super::{Action, WearLevelPolicy, WearView};
use crate::policies::state::remembered_by_serde;
use crate::policies::{BlockEvent, Builtin, Needs, ProjectedWear, Setting};

/// Most blocks of a domain for a policy that looks at all of them after each erase.
const BLOCKS_MAX: u32 = 4096;

/// See [`ProgressiveParams`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Progressive {
    theta: Ratio,
    average: Average,
    endurance: Option<u32>,
    /// theta x endurance.
    initial: u64,
    rated_blocks: u64,
    closed: CountOrder,
}

/// Erases that count in the average.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Average {
    /// Those of garbage collection only.
    #[default]
    GcErases,
    /// All of them.
    AllErases,
    /// Those of the blocks below the rated endurance, over the number of these blocks. The policy then looks at each block, so a
    /// domain may have at most 4,096.
    InService,
}

/// Progressive: dormant while young, busier towards the rated end.
///
/// Progressive wear leveling. When garbage collection erases a block whose erases exceed a threshold, the data of the least
/// worn closed block move into it. The threshold starts at a share of the rated endurance and approaches the average with age:
///
/// ```text
/// init = threshold x endurance
/// avg  = erases / blocks (without the reserve), rounded down
/// thr  = avg x (endurance - init) / endurance + init
/// ```
///
/// thr - avg shrinks to 0 at avg = endurance and is negative beyond it, so that then every erase moves data.
///
/// The policy needs `drive.endurance`; without a rating it never acts.
///
/// Source: dissertation (000) §4.2.2 (PWL); the formula of the released FTLSim; `in-service` is the released code of 001.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ProgressiveParams {
    /// Theta: the share of the endurance up to which a new drive's blocks are not leveled.
    pub threshold: Ratio,
    /// Which erases count in the average; the released code leaves out wear leveling's own.
    pub average: Average,
}

impl Default for ProgressiveParams {
    fn default() -> Self {
        Self { threshold: Ratio::new(0.5).expect("a half is a ratio"), average: Average::GcErases }
    }
}

impl Builtin for Progressive {
    const NAME: &'static str = "pwl";
    type Params = ProgressiveParams;

    fn build(params: ProgressiveParams) -> Self {
        Self {
            theta: params.threshold,
            average: params.average,
            endurance: None,
            initial: 0,
            rated_blocks: 1,
            closed: CountOrder::default(),
        }
    }
}

impl Progressive {
    /// The erase count above which a block takes cold data.
    fn threshold(&self, endurance: u64, average: u64) -> u64 {
        debug_assert!(self.initial <= endurance, "theta is a share of the endurance");
        average * (endurance - self.initial) / endurance + self.initial
    }
}

impl WearLevelPolicy for Progressive {
    remembered_by_serde!();

    fn begin(&mut self, setting: Setting) {
        self.endurance = setting.endurance;
        self.initial = self.theta.floor_of(u64::from(setting.endurance.unwrap_or(0)));
        self.rated_blocks = u64::from(setting.rated_blocks.max(1));
    }

    fn plan(&mut self, view: &WearView<'_>) -> Option<Action> {
        let into = view.erased()?;
        let endurance = u64::from(self.endurance.filter(|endurance| *endurance > 0)?);
        let average = match self.average {
            Average::GcErases => view.gc_erases() / self.rated_blocks,
            Average::AllErases => (view.gc_erases() + view.wear_leveling_erases()) / self.rated_blocks,
            Average::InService => average_below(view, endurance),
        };
        let threshold = self.threshold(endurance, average);
        if u64::from(view.erase_count(into)) <= threshold {
            return None;
        }
        let (from, _) = self.closed.least()?;
        (view.valid(from) > 0).then_some(Action::Refill { from, into })
    }

    fn heard(&mut self, event: BlockEvent, block: SuperblockId, erase_count: u32) {
        heard_closed(&mut self.closed, event, block, erase_count);
    }

    fn needs(&self) -> Needs {
        let blocks_max = (self.average == Average::InService).then_some(BLOCKS_MAX);
        Needs { endurance: true, blocks_max, ..Needs::default() }
    }

    fn resync(&mut self, wear: &ProjectedWear<'_>) {
        resync_closed(&mut self.closed, wear);
    }
}

/// Mean erases, rounded down, of the blocks with fewer than `endurance` erases; 0 if there is none.
fn average_below(view: &WearView<'_>, endurance: u64) -> u64 {
    let counts = view.blocks().map(|block| u64::from(view.erase_count(block)));
    let (blocks, erases) = counts
        .filter(|count| *count < endurance)
        .fold((0, 0), |(blocks, erases): (u64, u64), count| (blocks + 1, erases + count));
    erases.checked_div(blocks).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::super::tests::{begun, close, setting, view};
    use super::*;

    fn policy(threshold: f64) -> Progressive {
        let params = ProgressiveParams { threshold: Ratio::new(threshold).unwrap(), ..ProgressiveParams::default() };
        begun(params, Setting { endurance: Some(500), ..setting(2) })
    }

    #[test]
    fn the_threshold_falls_towards_the_average() {
        // (theta, average) -> threshold
        for (theta, average, want) in
            [(0.5, 348, 424), (0.75, 434, 483), (0.5, 0, 250), (0.5, 500, 500), (0.25, 600, 575)]
        {
            assert_eq!(policy(theta).threshold(500, average), want, "{theta} {average}");
        }
    }

    #[test]
    fn the_threshold_of_the_traditional_drive_of_001() {
        let params = ProgressiveParams { threshold: Ratio::new(0.1).unwrap(), average: Average::InService };
        let policy: Progressive = begun(params, Setting { endurance: Some(300), ..setting(2) });
        for (average, want) in [(0, 30), (150, 165), (270, 273), (300, 300)] {
            assert_eq!(policy.threshold(300, average), want, "{average}");
        }
    }

    #[test]
    fn a_block_at_the_threshold_stays_and_one_beyond_moves() {
        // (erases of the block, erases of two blocks in all, valid units of the cold one) -> moves
        for (erases, all, valid, moves) in
            [(424, 696, 1, false), (425, 696, 1, true), (425, 700, 1, false), (425, 696, 0, false)]
        {
            let mut policy = policy(0.5);
            close(&mut policy, &[0]);
            let counts = [0, erases];
            let valid = |_| valid;
            let view = WearView { gc_erases: all, ..view(Some(1), &counts, &valid) };
            assert_eq!(policy.plan(&view).is_some(), moves, "{erases} {all}");
        }
    }

    #[test]
    fn wear_leveling_erases_count_only_when_asked() {
        let mut policy = policy(0.5);
        close(&mut policy, &[0]);
        let counts = [0, 425];
        let view = WearView { gc_erases: 696, wear_leveling_erases: 4, ..view(Some(1), &counts, &|_| 1) };
        assert!(policy.plan(&view).is_some());
        policy.average = Average::AllErases;
        assert!(policy.plan(&view).is_none());
    }

    #[test]
    fn blocks_out_of_service_are_left_out_of_their_average() {
        // (counts of five blocks on a drive of 300 cycles, the last just erased, theta 10 %) -> moves. The average is 150, the threshold 165.
        for (counts, moves) in [([150, 150, 135, 500, 165], false), ([150, 150, 134, 500, 166], true)] {
            let params = ProgressiveParams { threshold: Ratio::new(0.1).unwrap(), average: Average::InService };
            let mut policy: Progressive = begun(params, Setting { endurance: Some(300), ..setting(5) });
            close(&mut policy, &[150]);
            assert_eq!(policy.plan(&view(Some(4), &counts, &|_| 1)).is_some(), moves, "{counts:?}");
        }
    }

    #[test]
    fn a_drive_without_a_rating_is_left_alone() {
        let mut policy: Progressive = begun(Default::default(), setting(2));
        close(&mut policy, &[0]);
        assert_eq!(policy.plan(&view(Some(1), &[0, 9999], &|_| 1)), None);
    }
}
