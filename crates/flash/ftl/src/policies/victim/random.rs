//! Random: any closed block, with equal chances.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wane_sim::{Stream, Streams};
use wane_units::SuperblockId;

use super::{GcView, IndexSpec, Roster, VictimPolicy};
use crate::policies::state::remembered_by_serde;
use crate::policies::{Builtin, Setting};

/// See [`RandomParams`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Random {
    stream: Stream,
}

/// Any closed block, with equal chances.
///
/// Reclaims a closed block drawn uniformly. It may draw a fully valid block; reclaiming that gains no space but levels
/// wear. The policy's write amplification is alpha / (alpha - 1) under any workload, alpha = physical / logical pages.
///
/// Source: mean-field study (003) §2.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct RandomParams {}

impl Builtin for Random {
    const NAME: &'static str = "random";
    type Params = RandomParams;

    fn build(_params: RandomParams) -> Self {
        Self { stream: Streams::new(0).stream("gc") }
    }
}

impl VictimPolicy for Random {
    remembered_by_serde!();

    fn begin(&mut self, setting: Setting) {
        self.stream = setting.stream;
    }

    fn index(&self) -> IndexSpec {
        IndexSpec { lowest_only: true, roster: Roster::ByPosition, ..IndexSpec::default() }
    }

    fn choose(&mut self, view: &GcView<'_>) -> Option<SuperblockId> {
        let closed = view.closed_len();
        (closed > 0).then(|| view.closed(self.stream.below(u64::from(closed)) as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::tests::{closed, view};

    #[test]
    fn every_closed_block_is_drawn_alike() {
        let index = closed(4, &[4, 0, 1, 2], Default::default());
        let mut random = Random { stream: wane_sim::Streams::new(1).stream("gc") };
        let mut drawn = [0u32; 4];
        for _ in 0..40_000 {
            drawn[random.choose(&view(&index, &[0; 4], 0)).unwrap().index()] += 1;
        }
        // 5 sigma of a binomial(40000, 1/4).
        assert!(drawn.iter().all(|count| count.abs_diff(10_000) < 433), "{drawn:?}");
    }
}
