//! Greedy: the block with the fewest valid units.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wane_units::SuperblockId;

use super::{GcView, IndexSpec, Order, Roster, VictimPolicy};
use crate::policies::state::remembered_by_serde;
use crate::policies::{Builtin, Mode};

/// See [`GreedyParams`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Greedy {
    tie: Tie,
}

/// Which of equally valid blocks is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Tie {
    /// The one that reached its number of valid units first.
    #[default]
    Oldest,
    /// The one that reached it last.
    Newest,
    /// The one with the fewest erases, then the one with the lowest id.
    LeastWorn,
    /// The one with the most erases, or with the fewest on a degraded drive, then the one with the lowest id.
    MostWorn,
}

/// The block with the fewest valid units.
///
/// Reclaims the closed block with the fewest valid units, so that each erase frees the most space. A fully valid block is
/// never taken.
///
/// The released FTLSim calls `tie = "newest"` "cost-benefit". In the artifact of 001, `tie = "least-worn"` is the traditional drive and
/// `tie = "most-worn"` the capacity-variant one, whose paper has `wear-focusing`. On a degraded drive `most-worn` looks at all blocks.
///
/// Source: dissertation (000) ch. 4; the released FTLSim and the artifact of 001 for the tie order.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct GreedyParams {
    /// Which of equally valid blocks is taken.
    pub tie: Tie,
}

impl Builtin for Greedy {
    const NAME: &'static str = "greedy";
    type Params = GreedyParams;

    fn build(params: GreedyParams) -> Self {
        Self { tie: params.tie }
    }
}

impl VictimPolicy for Greedy {
    remembered_by_serde!();

    fn index(&self) -> IndexSpec {
        let order = match self.tie {
            Tie::Oldest | Tie::Newest => Order::Entry,
            Tie::LeastWorn => Order::Wear,
            Tie::MostWorn => Order::MostWorn,
        };
        IndexSpec { lowest_only: order == Order::Entry, order, roster: Roster::Nothing, ..IndexSpec::default() }
    }

    fn choose(&mut self, view: &GcView<'_>) -> Option<SuperblockId> {
        let valid = view.lowest().filter(|valid| *valid < view.units_per_block())?;
        match self.tie {
            Tie::MostWorn if view.mode() == Mode::Degraded => {
                let equals = view.blocks().filter(|block| view.valid(*block) == valid);
                equals.min_by_key(|block| (view.erase_count(*block), *block))
            }
            Tie::Oldest | Tie::LeastWorn | Tie::MostWorn => view.bucket_head(valid),
            Tie::Newest => view.bucket_tail(valid),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::tests::{closed, view};
    use crate::policies::victim::{ClosedBlock, GcTable};

    #[test]
    fn the_fewest_valid_units_win_and_the_tie_is_by_entry() {
        let index = closed(4, &[3, 1, 1, 2], Default::default());
        let choose = |tie| Greedy { tie }.choose(&view(&index, &[0; 4], 0));
        assert_eq!(choose(Tie::Oldest), Some(SuperblockId(1)));
        assert_eq!(choose(Tie::Newest), Some(SuperblockId(2)));
        // (tie, mode, erases, choice)
        for (tie, mode, erase_count, want) in [
            (Tie::LeastWorn, Mode::Normal, [0, 7, 6, 0], 2),
            (Tie::LeastWorn, Mode::Normal, [0, 6, 6, 0], 1),
            (Tie::MostWorn, Mode::Normal, [9, 6, 7, 9], 2),
            (Tie::MostWorn, Mode::Normal, [9, 6, 6, 9], 1),
            (Tie::MostWorn, Mode::Degraded, [0, 7, 6, 0], 2),
            (Tie::MostWorn, Mode::Degraded, [0, 6, 6, 0], 1),
        ] {
            let mut greedy = Greedy { tie };
            let block = |(valid, erase_count)| ClosedBlock { valid, erase_count, ..ClosedBlock::default() };
            let closed: Vec<ClosedBlock> = [3, 1, 1, 2].into_iter().zip(erase_count).map(block).collect();
            let table = GcTable::new(4, greedy.index(), &closed).unwrap();
            assert_eq!(greedy.choose(&table.view_in(mode, 16, 0)), Some(SuperblockId(want)), "{tie:?} {erase_count:?}");
        }
    }

    #[test]
    fn a_block_valid_throughout_is_no_victim() {
        let index = closed(4, &[4, 4], Default::default());
        assert_eq!(Greedy { tie: Tie::Oldest }.choose(&view(&index, &[0; 2], 0)), None);
    }
}
