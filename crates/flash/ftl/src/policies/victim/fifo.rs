//! First in, first out: the block that closed longest ago.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wane_units::SuperblockId;

use super::{GcView, IndexSpec, Roster, VictimPolicy};
use crate::policies::Builtin;
use crate::policies::state::remembered_by_serde;

/// See [`FifoParams`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Fifo;

/// The block that closed longest ago.
///
/// Reclaims blocks in the order in which they closed, however much of them is valid, as a circular log does. The
/// literature also calls it LRU cleaning. Under uniform writes its write amplification has a closed form,
/// alpha / (alpha + W0(-alpha e^-alpha)), alpha = physical / logical pages.
///
/// Source: the released FTLSim (`lru` pool); P. Desnoyers, "Analytic Models of SSD Write Performance", 2014.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct FifoParams {}

impl Builtin for Fifo {
    const NAME: &'static str = "fifo";
    type Params = FifoParams;

    fn build(_params: FifoParams) -> Self {
        Self
    }
}

impl VictimPolicy for Fifo {
    remembered_by_serde!();

    fn index(&self) -> IndexSpec {
        IndexSpec { lowest_only: true, roster: Roster::ByAge, ..IndexSpec::default() }
    }

    fn choose(&mut self, view: &GcView<'_>) -> Option<SuperblockId> {
        view.oldest()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::tests::{closed, view};

    #[test]
    fn the_first_closed_goes_first_whatever_it_holds() {
        let mut index = closed(4, &[4, 0, 1], Default::default());
        assert_eq!(Fifo.choose(&view(&index, &[0; 3], 9)), Some(SuperblockId(0)));
        index.open(SuperblockId(0));
        assert_eq!(Fifo.choose(&view(&index, &[0; 3], 9)), Some(SuperblockId(1)));
    }
}
