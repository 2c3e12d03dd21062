//! Windowed greedy: greedy among the blocks that closed longest ago.

use serde::Deserialize;
use wane_units::SuperblockId;

use super::{BuiltinVictim, GcView, IndexSpec, VictimPolicy};
use crate::policies::{Builtin, Setting};

/// See [`Builtin::PAGE`].
#[derive(Clone, Debug)]
pub struct WindowedGreedy {
    window: u32,
}

/// Parameters of [`WindowedGreedy`].
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Params {
    window: u32,
}

impl Default for Params {
    fn default() -> Self {
        Self { window: 500 }
    }
}

impl Builtin for WindowedGreedy {
    const NAME: &'static str = "windowed-greedy";
    const SUMMARY: &'static str = "the fewest valid units among the oldest closed blocks";
    const EXAMPLE: &'static str = "{ policy = \"windowed-greedy\", window = 500 }";
    const PAGE: &'static str = "\
Greedy over a window of the blocks that closed longest ago; younger blocks wait. If the whole window holds at most one
invalid unit, the oldest block outside it is reclaimed.

| key | default | allowed | meaning |
|---|---|---|---|
| `window` | `500` | 1 and up | blocks in the window; as large as the drive, it is `greedy` |

Source: X.-Y. Hu et al., \"Write Amplification Analysis in Flash-Based Solid State Drives\", 2009.
";
    type Params = Params;

    fn check(params: &Params) -> Result<(), String> {
        if params.window > 0 { Ok(()) } else { Err("`window` is 0; 1 and up is allowed".to_owned()) }
    }
}

impl BuiltinVictim for WindowedGreedy {
    fn new(params: &Params, _setting: Setting) -> Self {
        Self { window: params.window }
    }
}

impl VictimPolicy for WindowedGreedy {
    fn index(&self) -> IndexSpec {
        IndexSpec { window: Some(self.window), ..IndexSpec::default() }
    }

    fn choose(&mut self, view: &GcView<'_>) -> Option<SuperblockId> {
        let waiting = view.oldest_waiting().filter(|_| view.invalid_in_window() <= 1);
        let least =
            || view.lowest().filter(|valid| *valid < view.units_per_block()).and_then(|valid| view.first(valid));
        waiting.or_else(least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::tests::{closed, view};

    #[test]
    fn only_the_oldest_compete() {
        let table: [(u32, &[u32], Option<u32>); 4] =
            [(2, &[2, 1, 0], Some(1)), (3, &[2, 1, 0], Some(2)), (2, &[4, 3, 2], Some(2)), (4, &[4, 4], None)];
        for (window, valid, want) in table {
            let mut policy = WindowedGreedy { window };
            let index = closed(4, valid, policy.index());
            let chosen = policy.choose(&view(&index, &vec![0; valid.len()], 9));
            assert_eq!(chosen, want.map(SuperblockId), "window {window} over {valid:?}");
        }
    }
}
