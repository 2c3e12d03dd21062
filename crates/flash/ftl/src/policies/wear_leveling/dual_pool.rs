//! Dual pool: worn blocks hold cold data in one pool, little worn ones hot data in the other.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wane_units::{BlockState, SuperblockId};

use super::order::CountOrder;
use super::{Action, WearLevelPolicy, WearView};
use crate::policies::state::remembered_by_serde;
use crate::policies::{BlockEvent, Builtin, EraseCause, Needs, ProjectedWear, Setting};

const COLD: usize = 0;
const HOT: usize = 1;

/// See [`DualPoolParams`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DualPool {
    threshold: u32,
    first: SuperblockId,
    blocks: Vec<Block>,
    /// The closed blocks of the cold and the hot pool by erases.
    closed: [CountOrder; 2],
    /// The blocks of the hot pool by erases.
    hot: [CountOrder; 1],
    /// The blocks of the cold and the hot pool by effective erases.
    effective: [CountOrder; 2],
    /// The pools are resized once for each host write since leveling began. This is the clock of the last resize.
    resized_at: Option<u64>,
    /// A swap was made, but not yet the resizes that follow it.
    swapped: bool,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Block {
    hot: bool,
    closed: bool,
    retired: bool,
    erases: u32,
    /// Erases by garbage collection since the block last changed pools by a swap.
    effective: u32,
}

/// Which of two orders holds a block, and the block's count there.
type Entry = Option<(usize, u32)>;

/// A block's entries in `closed`, `hot` and `effective`.
fn entries(block: Block) -> [Entry; 3] {
    let pool = usize::from(block.hot);
    [
        (block.closed && !block.retired).then_some((pool, block.erases)),
        (block.hot && !block.retired).then_some((0, block.erases)),
        (!block.retired).then_some((pool, block.effective)),
    ]
}

fn shift(orders: &mut [CountOrder], id: SuperblockId, before: Entry, after: Entry) {
    if before == after {
        return;
    }
    if let Some((order, count)) = before {
        orders[order].remove(id, count);
    }
    if let Some((order, count)) = after {
        orders[order].insert(id, count);
    }
}

/// A hot and a cold pool that trade data when their wear drifts apart.
///
/// Every block belongs to the hot or the cold pool, at first by a fair coin. For each host write:
///
/// 1. *Swap*: if the most worn closed block of the hot pool has over `threshold` more erases than the least worn closed block
///    of the cold pool, the worn one takes the cold data, and both change pools.
/// 2. *Resize the cold pool*: if the most effective erases of a block in the cold pool are over `threshold` more than the fewest
///    in the hot pool, that cold block becomes hot.
/// 3. *Resize the hot pool*: if the erases within the hot pool span more than 2 x `threshold`, its least worn block becomes
///    cold.
///
/// Effective erases are the erases by garbage collection since the block's last swap. Resizes move no data.
///
/// The mechanism asks the policy only after an erase, so the steps of the host writes since then are made up for at that time.
/// A condition that becomes true only because a block closed waits for the next erase. A swap needs two free blocks.
///
/// Source: dissertation (000) §4.2.2 (DP); the released FTLSim; L.-P. Chang, 2007, for the idea.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct DualPoolParams {
    /// Difference of erases between the pools above which they trade.
    #[schemars(extend("x-unit" = "erases"))]
    pub threshold: u32,
}

impl Default for DualPoolParams {
    fn default() -> Self {
        Self { threshold: 5 }
    }
}

impl Builtin for DualPool {
    const NAME: &'static str = "dual-pool";
    type Params = DualPoolParams;

    fn build(params: DualPoolParams) -> Self {
        Self {
            threshold: params.threshold,
            first: SuperblockId(0),
            blocks: Vec::new(),
            closed: Default::default(),
            hot: Default::default(),
            effective: Default::default(),
            resized_at: None,
            swapped: false,
        }
    }
}

impl DualPool {
    /// Mean erase counts of the hot and of the cold pool; 0 for an empty one.
    pub fn erase_count_means(&self) -> (f64, f64) {
        let mean = |hot: bool| {
            let pool = self.blocks.iter().filter(|block| block.hot == hot && !block.retired);
            let (sum, count) = pool.fold((0.0, 0u32), |(sum, count), block| (sum + f64::from(block.erases), count + 1));
            sum / f64::from(count.max(1))
        };
        (mean(true), mean(false))
    }

    /// Changes a block and updates the orders.
    fn change(&mut self, id: SuperblockId, change: impl FnOnce(&mut Block)) {
        let block = &mut self.blocks[(id.0 - self.first.0) as usize];
        let before = entries(*block);
        change(block);
        let after = entries(*block);
        self.enter(id, before, after);
        debug_assert_eq!(self.hot[0].len(), self.effective[HOT].len(), "both orders hold the blocks of the hot pool");
    }

    fn enter(&mut self, id: SuperblockId, before: [Entry; 3], after: [Entry; 3]) {
        shift(&mut self.closed, id, before[0], after[0]);
        shift(&mut self.hot, id, before[1], after[1]);
        shift(&mut self.effective, id, before[2], after[2]);
    }

    fn swap(&mut self) -> Option<Action> {
        let ((hot, most), (cold, least)) = (self.closed[HOT].most()?, self.closed[COLD].least()?);
        (most.saturating_sub(least) > self.threshold).then_some(Action::Exchange { hot, cold })
    }

    /// Resizes each pool once. Returns the block that became hot and the one that became cold.
    fn resize(&mut self) -> (Option<SuperblockId>, Option<SuperblockId>) {
        let heated = self.resize_cold();
        let cooled = self.resize_hot();
        (heated, cooled)
    }

    fn resize_cold(&mut self) -> Option<SuperblockId> {
        let ((most, high), (_, low)) = (self.effective[COLD].most()?, self.effective[HOT].least()?);
        if high.saturating_sub(low) <= self.threshold {
            return None;
        }
        self.change(most, |block| block.hot = true);
        Some(most)
    }

    fn resize_hot(&mut self) -> Option<SuperblockId> {
        let ((_, high), (least, low)) = (self.hot[0].most()?, self.hot[0].least()?);
        if u64::from(high - low) <= 2 * u64::from(self.threshold) {
            return None;
        }
        self.change(least, |block| block.hot = false);
        Some(least)
    }

    /// Makes the resizes of one host write. Returns `false` if they moved no block, or one block there and back: the next
    /// writes would do the same.
    fn round(&mut self) -> bool {
        let (heated, cooled) = self.resize();
        heated != cooled
    }
}

impl WearLevelPolicy for DualPool {
    remembered_by_serde!();

    fn begin(&mut self, setting: Setting) {
        assert!(self.blocks.is_empty(), "a policy begins once");
        self.first = setting.first;
        let mut stream = setting.stream.clone();
        for block in setting.superblocks() {
            let hot = stream.bits() >> 63 == 1;
            let new = Block { hot, closed: false, retired: false, erases: 0, effective: 0 };
            self.blocks.push(new);
            self.enter(block, [None; 3], entries(new));
        }
    }

    /// Erase counts change only at erases, so each erase makes up for the host writes before it: a swap if it is due, then
    /// the resizes.
    fn plan(&mut self, view: &WearView<'_>) -> Option<Action> {
        let now = view.host_writes();
        let mut at = self.resized_at.unwrap_or(now.saturating_sub(1));
        if std::mem::take(&mut self.swapped) {
            self.round();
            at = now.min(at + 1);
        }
        let action = loop {
            if let Some(action) = self.swap().filter(|_| view.free() > 1) {
                break Some(action);
            }
            if at >= now {
                break None;
            }
            at = if self.round() { at + 1 } else { now };
        };
        self.resized_at = Some(at);
        if let Some(Action::Exchange { hot, cold }) = action {
            self.change(hot, |block| (block.hot, block.effective) = (false, 0));
            self.change(cold, |block| (block.hot, block.effective) = (true, 0));
            self.swapped = true;
        }
        action
    }

    fn heard(&mut self, event: BlockEvent, block: SuperblockId, erase_count: u32) {
        match event {
            BlockEvent::Opened => {}
            BlockEvent::Closed => self.change(block, |block| block.closed = true),
            BlockEvent::Erased(cause) => self.change(block, |block| {
                block.closed = false;
                block.erases = erase_count;
                block.effective += u32::from(cause == EraseCause::GarbageCollection);
            }),
            BlockEvent::Retired => self.change(block, |block| block.retired = true),
        }
    }

    fn needs(&self) -> Needs {
        Needs { free_blocks: 2, ..Needs::default() }
    }

    /// A projection does not say what erased the blocks, so effective erases stay as they are.
    fn resync(&mut self, wear: &ProjectedWear<'_>) {
        for (id, erases, state) in wear.blocks() {
            self.change(id, |block| {
                block.erases = erases;
                block.closed = state == BlockState::Closed;
                block.retired = state == BlockState::Retired;
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{begun, setting, view};
    use super::*;

    /// Blocks that are closed, with (hot, erases, effective erases) each.
    fn pools(blocks: &[(bool, u32, u32)]) -> DualPool {
        let mut policy: DualPool = begun(DualPoolParams::default(), setting(blocks.len() as u32));
        for (id, (hot, erases, effective)) in (0..).map(SuperblockId).zip(blocks) {
            policy.change(id, |block| {
                *block = Block { hot: *hot, closed: true, retired: false, erases: *erases, effective: *effective };
            });
        }
        policy
    }

    #[test]
    fn pools_swap_beyond_the_threshold() {
        for (cold, swaps) in [(14, true), (15, false)] {
            let mut policy = pools(&[(true, 20, 3), (false, cold, 3)]);
            let want = Action::Exchange { hot: SuperblockId(0), cold: SuperblockId(1) };
            let (counts, valid) = ([20, cold], |_| 1);
            let last_free = WearView { free: 1, ..view(None, &counts, &valid) };
            assert_eq!(policy.plan(&last_free), None, "a swap leaves a block free");
            assert_eq!(policy.plan(&view(None, &counts, &valid)), swaps.then_some(want));
            assert_eq!((policy.blocks[0].hot, policy.blocks[1].hot), (!swaps, swaps));
            assert_eq!(policy.blocks[0].effective, if swaps { 0 } else { 3 });
        }
    }

    #[test]
    fn pools_resize_beyond_the_threshold() {
        assert_eq!(pools(&[(true, 9, 4), (false, 9, 9)]).resize(), (None, None));
        assert_eq!(pools(&[(true, 9, 4), (false, 9, 10)]).resize(), (Some(SuperblockId(1)), None));
        assert_eq!(pools(&[(true, 10, 4), (true, 0, 4)]).resize(), (None, None));
        assert_eq!(pools(&[(true, 11, 4), (true, 0, 4)]).resize(), (None, Some(SuperblockId(1))));
    }

    #[test]
    fn a_block_that_goes_there_and_back_ends_the_catching_up() {
        // Block 1 is heated by its effective erases and cooled by its few erases, round after round.
        let mut policy = pools(&[(true, 20, 0), (false, 9, 9)]);
        policy.resized_at = Some(0);
        let view = WearView { host_writes: u64::MAX, free: 1, ..view(None, &[20, 9], &|_| 1) };
        assert_eq!(policy.plan(&view), None);
        assert!(!policy.blocks[1].hot && policy.resized_at == Some(u64::MAX));
    }

    #[test]
    fn retired_blocks_leave_their_pool() {
        let mut policy = pools(&[(true, 20, 3), (false, 14, 3)]);
        policy.heard(BlockEvent::Retired, SuperblockId(0), 20);
        assert_eq!(policy.plan(&view(None, &[20, 14], &|_| 1)), None);
    }
}
