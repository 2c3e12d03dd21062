//! Random: any closed block, with equal chances.

use serde::Deserialize;
use wane_sim::Stream;
use wane_units::SuperblockId;

use super::{BuiltinVictim, GcView, IndexSpec, VictimPolicy};
use crate::policies::{Builtin, Setting};

/// See [`Builtin::PAGE`].
#[derive(Clone, Debug)]
pub struct Random {
    stream: Stream,
}

/// [`Random`] takes none.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {}

impl Builtin for Random {
    const NAME: &'static str = "random";
    const SUMMARY: &'static str = "any closed block, with equal chances";
    const EXAMPLE: &'static str = "{ policy = \"random\" }";
    const PAGE: &'static str = "\
Reclaims a closed block drawn uniformly. A block that is valid throughout may be drawn too; reclaiming it gains
nothing but levels wear. Its write amplification is alpha / (alpha - 1) under any workload, alpha = physical / logical
pages.

Source: mean-field study (003) §2.
";
    type Params = Params;
}

impl BuiltinVictim for Random {
    fn new(_params: &Params, setting: Setting) -> Self {
        Self { stream: setting.stream }
    }
}

impl VictimPolicy for Random {
    fn index(&self) -> IndexSpec {
        IndexSpec { lowest_only: true, ..IndexSpec::default() }
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
