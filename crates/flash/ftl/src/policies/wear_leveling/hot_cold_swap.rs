//! Hot-cold swap: the most and the least worn block exchange their data.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wane_units::{BlockState, SuperblockId};

use super::order::CountOrder;
use super::{Action, WearLevelPolicy, WearView};
use crate::policies::state::remembered_by_serde;
use crate::policies::{BlockEvent, Builtin, Needs, ProjectedWear};

/// See [`HotColdSwapParams`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HotColdSwap {
    threshold: u32,
    closed: CountOrder,
}

/// The most and the least worn block exchange their data.
///
/// After an erase, if the erase counts of the closed blocks span more than the threshold, the most worn closed block takes the
/// data of the least worn one. The worn block is not remembered, so it may be chosen again at once. This is the known flaw of
/// the scheme, kept on purpose.
///
/// Source: dissertation (000) §4.2.2.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct HotColdSwapParams {
    /// Difference of erases between the most and the least worn closed block above which they swap.
    #[schemars(extend("x-unit" = "erases"))]
    pub threshold: u32,
}

impl Default for HotColdSwapParams {
    fn default() -> Self {
        Self { threshold: 5 }
    }
}

impl Builtin for HotColdSwap {
    const NAME: &'static str = "hot-cold-swap";
    type Params = HotColdSwapParams;

    fn build(params: HotColdSwapParams) -> Self {
        Self { threshold: params.threshold, closed: CountOrder::default() }
    }
}

impl WearLevelPolicy for HotColdSwap {
    remembered_by_serde!();

    fn plan(&mut self, view: &WearView<'_>) -> Option<Action> {
        // One swap per erase. The mechanism asks again before host writes, but this policy acts only after an erase.
        view.erased().filter(|_| view.free() > 1)?;
        let ((hot, most), (cold, least)) = (self.closed.most()?, self.closed.least()?);
        (most - least > self.threshold).then_some(Action::Exchange { hot, cold })
    }

    fn heard(&mut self, event: BlockEvent, block: SuperblockId, erase_count: u32) {
        heard_closed(&mut self.closed, event, block, erase_count);
    }

    fn needs(&self) -> Needs {
        Needs { free_blocks: 2, ..Needs::default() }
    }

    fn resync(&mut self, wear: &ProjectedWear<'_>) {
        resync_closed(&mut self.closed, wear);
    }
}

/// Keeps `closed` in order of erase count. An erased block was closed just before.
pub(super) fn heard_closed(closed: &mut CountOrder, event: BlockEvent, block: SuperblockId, erase_count: u32) {
    match event {
        BlockEvent::Closed => closed.insert(block, erase_count),
        BlockEvent::Erased(_) => {
            debug_assert!(erase_count > 0, "the count is the one after the erase");
            closed.remove(block, erase_count - 1);
        }
        BlockEvent::Opened | BlockEvent::Retired => {}
    }
}

/// Rebuilds that order after erase counts were projected.
pub(super) fn resync_closed(closed: &mut CountOrder, wear: &ProjectedWear<'_>) {
    *closed = CountOrder::default();
    let blocks = wear.blocks().filter(|(_, _, state)| *state == BlockState::Closed);
    blocks.for_each(|(block, erases, _)| closed.insert(block, erases));
}

#[cfg(test)]
mod tests {
    use super::super::tests::{close, view};
    use super::*;

    #[test]
    fn the_span_must_pass_the_threshold() {
        for (counts, want) in [([9, 4], None), ([10, 4], Some((0, 1)))] {
            let mut policy = HotColdSwap { threshold: 5, closed: CountOrder::default() };
            close(&mut policy, &counts);
            let action = policy.plan(&view(Some(7), &counts, &|_| 1));
            assert_eq!(
                action,
                want.map(|(hot, cold)| Action::Exchange { hot: SuperblockId(hot), cold: SuperblockId(cold) })
            );
        }
    }
}
