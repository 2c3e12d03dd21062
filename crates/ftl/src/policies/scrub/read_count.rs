//! Read reclaim: relocates a block after so many reads.

use serde::Deserialize;
use wane_units::SuperblockId;

use super::{Action, BuiltinScrub, ScrubPolicy, ScrubView};
use crate::policies::{Builtin, Setting};

/// See [`Builtin::PAGE`].
#[derive(Clone, Debug)]
pub struct ReadCount {
    reads: u32,
    due: Vec<SuperblockId>,
}

/// Parameters of [`ReadCount`].
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Params {
    reads: u32,
}

impl Default for Params {
    fn default() -> Self {
        Self { reads: 10_000 }
    }
}

impl Builtin for ReadCount {
    const NAME: &'static str = "read-count";
    const SUMMARY: &'static str = "relocates a block after so many reads";
    const EXAMPLE: &'static str = "{ policy = \"read-count\", reads = 10000 }";
    const PAGE: &'static str = "\
Read reclaim: a block that was read so often since its erase, re-reads included, is relocated. The counter is one every
drive can keep; it knows nothing of wear.

| key | default | allowed | meaning |
|---|---|---|---|
| `reads` | `10000` | 1 and up | reads of a block at which it is relocated |

Source: Kim et al., FAST 2019 (004) §3.3, after Ha et al., IEEE TCAD 35(7), 2016.
";
    type Params = Params;

    fn check(params: &Params) -> Result<(), String> {
        if params.reads == 0 {
            return Err("`reads` is 0; 1 and up is allowed".to_owned());
        }
        Ok(())
    }
}

impl BuiltinScrub for ReadCount {
    fn new(params: &Params, _setting: Setting) -> Self {
        Self { reads: params.reads, due: Vec::new() }
    }
}

impl ScrubPolicy for ReadCount {
    fn next(&mut self, view: &ScrubView<'_>) -> Option<Action> {
        for block in view.touched() {
            if view.health(block).reads >= self.reads && !self.due.contains(&block) {
                self.due.push(block);
            }
        }
        while !self.due.is_empty() {
            // Oldest first; the list is as long as what one relocation's time brings.
            let block = self.due.remove(0);
            if view.valid(block).is_some() && view.health(block).reads >= self.reads {
                return Some(Action::Relocate(block));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ask, setting};
    use super::*;
    use wane_nand::Health;

    #[test]
    fn the_reads_must_reach_the_limit_and_the_block_be_read() {
        let health = [9, 10, 50, 60].map(|reads| Health { reads, ..Health::default() });
        let mut policy = ReadCount::new(&Params { reads: 10 }, setting());
        let answers: Vec<_> = [&[0, 1, 2][..], &[], &[]].map(|touched| ask(&mut policy, touched, &health, 0.0)).into();
        let relocate = |block| Some(Action::Relocate(SuperblockId(block)));
        assert_eq!(answers, [relocate(1), relocate(2), None]);
    }
}
