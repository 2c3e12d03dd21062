//! Old block protection: a worn block takes cold data, and is then left alone for a while.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wane_units::SuperblockId;

use super::hot_cold_swap::{heard_closed, resync_closed};
use super::order::CountOrder;
use super::{Action, WearLevelPolicy, WearView};
use crate::policies::state::remembered_by_serde;
use crate::policies::{BlockEvent, Builtin, ProjectedWear, Setting};

/// See [`OldBlockProtectionParams`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OldBlockProtection {
    params: OldBlockProtectionParams,
    first: SuperblockId,
    closed: CountOrder,
    /// By block: the number of erases by garbage collection when it last took cold data.
    last: Vec<u64>,
}

/// A worn block takes cold data and is protected for a while.
///
/// Old block protection. When garbage collection erases a block that has over `threshold` more erases than the least worn
/// closed block, the cold data of the latter move into it, unless the block took cold data within the last `protection`
/// erases.
///
/// `protection` counts the erases of the whole drive, not the block's own. On a large drive the protection is over in
/// microseconds, which is the likely cause of the anomaly in the dissertation's Fig. 17. It is kept as published.
///
/// Source: dissertation (000) §4.2.2; the rule of the released FTLSim.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct OldBlockProtectionParams {
    /// Difference of erases to the least worn closed block above which a block counts as old.
    #[schemars(extend("x-unit" = "erases"))]
    pub threshold: u32,
    /// Number of the whole drive's erases by garbage collection for which a block that took cold data is left alone.
    #[schemars(range(max = i64::MAX as u64), extend("x-unit" = "erases", "x-scales" = "capacity"))]
    pub protection: u64,
}

impl Default for OldBlockProtectionParams {
    fn default() -> Self {
        Self { threshold: 4, protection: 8 }
    }
}

impl Builtin for OldBlockProtection {
    const NAME: &'static str = "obp";
    type Params = OldBlockProtectionParams;

    fn build(params: OldBlockProtectionParams) -> Self {
        Self { params, first: SuperblockId(0), closed: CountOrder::default(), last: Vec::new() }
    }
}

impl WearLevelPolicy for OldBlockProtection {
    remembered_by_serde!();

    fn begin(&mut self, setting: Setting) {
        self.first = setting.first;
        self.last = vec![0; setting.blocks as usize];
    }

    fn plan(&mut self, view: &WearView<'_>) -> Option<Action> {
        let into = view.erased()?;
        let (from, least) = self.closed.least()?;
        let last = &mut self.last[(into.0 - self.first.0) as usize];
        let old = view.erase_count(into).saturating_sub(least) > self.params.threshold;
        let protected = view.gc_erases() - *last <= self.params.protection;
        if !old || protected || view.valid(from) == 0 {
            return None;
        }
        *last = view.gc_erases();
        Some(Action::Refill { from, into })
    }

    fn heard(&mut self, event: BlockEvent, block: SuperblockId, erase_count: u32) {
        heard_closed(&mut self.closed, event, block, erase_count);
    }

    fn resync(&mut self, wear: &ProjectedWear<'_>) {
        resync_closed(&mut self.closed, wear);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{begun, close, setting, view};
    use super::*;

    #[test]
    fn an_old_block_waits_out_its_protection() {
        // (erases of the block, valid units of the cold one, erases of the drive) -> moves
        let table =
            [(10, 3, 100, false), (10, 3, 101, false), (10, 3, 102, true), (9, 3, 102, false), (10, 0, 102, false)];
        for (erases, valid, gc_erases, moves) in table {
            let mut policy: OldBlockProtection = begun(Default::default(), setting(2));
            close(&mut policy, &[5]);
            policy.last[1] = 93;
            let counts = [5, erases];
            let valid = |_| valid;
            let view = WearView { gc_erases, ..view(Some(1), &counts, &valid) };
            let want = Action::Refill { from: SuperblockId(0), into: SuperblockId(1) };
            assert_eq!(policy.plan(&view), moves.then_some(want), "{erases} {gc_erases}");
            assert_eq!(policy.last[1], if moves { gc_erases } else { 93 });
        }
    }
}
