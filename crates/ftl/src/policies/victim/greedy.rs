//! Greedy: the block with the fewest valid units.

use serde::Deserialize;
use wane_units::SuperblockId;

use super::{BuiltinVictim, GcView, IndexSpec, VictimPolicy};
use crate::policies::{Builtin, Setting};

/// See [`Builtin::PAGE`].
#[derive(Clone, Debug)]
pub struct Greedy {
    tie: Tie,
}

/// Which of equally valid blocks is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Tie {
    /// The one that came first to its number of valid units.
    #[default]
    Oldest,
    /// The one that came last.
    Newest,
}

/// Parameters of [`Greedy`].
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Params {
    tie: Tie,
}

impl Builtin for Greedy {
    const NAME: &'static str = "greedy";
    const SUMMARY: &'static str = "the block with the fewest valid units";
    const EXAMPLE: &'static str = "{ policy = \"greedy\", tie = \"oldest\" }";
    const PAGE: &'static str = "\
Reclaims the closed block with the fewest valid units, so that each erase frees the most space. A block that is
valid throughout is never taken.

| key | default | allowed | meaning |
|---|---|---|---|
| `tie` | `\"oldest\"` | `\"oldest\"`, `\"newest\"` | which of equally valid blocks is taken: the one that came to its number of valid units first, or last |

`tie = \"newest\"` is what the released FTLSim calls \"cost-benefit\".

Source: dissertation (000) ch. 4; the released FTLSim for the tie order.
";
    type Params = Params;
}

impl BuiltinVictim for Greedy {
    fn new(params: &Params, _setting: Setting) -> Self {
        Self { tie: params.tie }
    }
}

impl VictimPolicy for Greedy {
    fn index(&self) -> IndexSpec {
        IndexSpec { lowest_only: true, ..IndexSpec::default() }
    }

    fn choose(&mut self, view: &GcView<'_>) -> Option<SuperblockId> {
        let valid = view.lowest().filter(|valid| *valid < view.units_per_block())?;
        match self.tie {
            Tie::Oldest => view.first(valid),
            Tie::Newest => view.last(valid),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::tests::{closed, view};

    #[test]
    fn the_fewest_valid_units_win_and_the_tie_is_by_entry() {
        let index = closed(4, &[3, 1, 1, 2], Default::default());
        let choose = |tie| Greedy { tie }.choose(&view(&index, &[0; 4], 0));
        assert_eq!(choose(Tie::Oldest), Some(SuperblockId(1)));
        assert_eq!(choose(Tie::Newest), Some(SuperblockId(2)));
    }

    #[test]
    fn a_block_valid_throughout_is_no_victim() {
        let index = closed(4, &[4, 4], Default::default());
        assert_eq!(Greedy { tie: Tie::Oldest }.choose(&view(&index, &[0; 2], 0)), None);
    }
}
