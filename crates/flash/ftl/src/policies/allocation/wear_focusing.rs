//! Wear focusing: host data on worn blocks, relocated data on young ones.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wane_units::SuperblockId;

use super::{AllocationPolicy, FreeOrder, FreeView};
use crate::policies::state::remembered_by_serde;
use crate::policies::{Builtin, Mode, StreamId};

/// See [`FocusedBlockParams`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FocusedBlock;

/// The most worn free block for host data, the least worn one for relocated data.
///
/// The first stream, which is the host's, takes the free block with the most erases, so that wear gathers there. Every other stream
/// takes the one with the fewest. A degraded drive does the reverse. Of equally worn blocks the one with the lower id is opened. With
/// one stream for all data (`placement = "one"`) it is the rule of the artifact of 001.
///
/// Source: the capacity-variant SSD (001, sections 3.2.3 and 3.2.4).
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct FocusedBlockParams {}

impl Builtin for FocusedBlock {
    const NAME: &'static str = "wear-focusing";
    type Params = FocusedBlockParams;

    fn build(_params: FocusedBlockParams) -> Self {
        Self
    }
}

impl AllocationPolicy for FocusedBlock {
    remembered_by_serde!();

    fn order(&self) -> FreeOrder {
        FreeOrder::Wear
    }

    fn choose(&mut self, view: &FreeView<'_>) -> SuperblockId {
        // Wear leveling, which names no stream, wants a place for cold data.
        let is_hosts = view.stream().is_none_or(|stream| stream == StreamId(0));
        if is_hosts == (view.mode() == Mode::Normal) { view.last() } else { view.first() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policies::allocation::{FreeBlock, FreeTable};

    #[test]
    fn wear_gathers_where_the_host_writes_until_the_drive_is_degraded() {
        let chosen = |erases: [u32; 3], mode, stream| {
            let free = erases.map(|erase_count| FreeBlock { erase_count, failures: 0 });
            let table = FreeTable::new(FocusedBlock.order(), &free);
            FocusedBlock.choose(&table.view_in(mode, Some(StreamId(stream)), 0)).0
        };
        // The second time no block is young: streams take the youngest and the oldest that there is.
        for erases in [[7, 250, 90], [107, 290, 190]] {
            let found = [(Mode::Normal, 0), (Mode::Normal, 1), (Mode::Degraded, 0), (Mode::Degraded, 1)]
                .map(|(mode, stream)| chosen(erases, mode, stream));
            assert_eq!(found, [1, 0, 0, 1], "{erases:?}");
        }
    }
}
