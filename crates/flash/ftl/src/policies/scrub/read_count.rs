//! Read reclaim: relocates a block after a number of reads.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wane_units::SuperblockId;

use super::{Action, ScrubPolicy, ScrubView};
use crate::policies::Builtin;
use crate::policies::state::remembered_by_serde;

/// See [`ReadCountParams`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ReadCount {
    reads: u32,
    due: Vec<SuperblockId>,
}

/// Relocates a block after a number of reads.
///
/// Read reclaim: a block is relocated after `reads` reads since its erase, re-reads included. Every drive can keep such a
/// counter. It ignores wear.
///
/// Source: Kim et al., FAST 2019 (004) §3.3, after Ha et al., IEEE TCAD 35(7), 2016.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ReadCountParams {
    /// Number of reads of a block at which it is relocated.
    #[schemars(range(min = 1))]
    pub reads: u32,
}

impl Default for ReadCountParams {
    fn default() -> Self {
        Self { reads: 10_000 }
    }
}

impl Builtin for ReadCount {
    const NAME: &'static str = "read-count";
    type Params = ReadCountParams;

    fn build(params: ReadCountParams) -> Self {
        Self { reads: params.reads, due: Vec::new() }
    }
}

impl ScrubPolicy for ReadCount {
    remembered_by_serde!();

    fn next(&mut self, view: &ScrubView<'_>) -> Option<Action> {
        for block in view.touched() {
            if view.health(block).reads >= self.reads && !self.due.contains(&block) {
                self.due.push(block);
            }
        }
        while !self.due.is_empty() {
            // Oldest first. The list is short: it grows only during one relocation.
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
    use super::super::tests::ask;
    use super::*;
    use wane_nand::Health;

    #[test]
    fn the_reads_must_reach_the_limit_and_the_block_be_read() {
        let health = [9, 10, 50, 60].map(|reads| Health { reads, ..Health::default() });
        let mut policy = ReadCount::build(ReadCountParams { reads: 10 });
        let answers: Vec<_> = [&[0, 1, 2][..], &[], &[]].map(|touched| ask(&mut policy, touched, &health, 0.0)).into();
        let relocate = |block| Some(Action::Relocate(SuperblockId(block)));
        assert_eq!(answers, [relocate(1), relocate(2), None]);
    }
}
