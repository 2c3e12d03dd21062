//! As `relocate`, but the device moves the data by its map alone: only structures are written.

// ANCHOR: policy
use super::relocate::Relocate;
use super::way::{Gives, How, Next, SpaceView, WayPolicy};

/// See the head of this file.
pub(super) struct Remap;

impl WayPolicy for Remap {
    fn name(&self) -> &'static str {
        "remap"
    }

    fn gives(&self) -> Gives {
        Gives::Tail
    }

    fn in_the_way(&self, view: &SpaceView<'_>) -> u32 {
        Relocate.in_the_way(view)
    }

    fn next(&self, view: &SpaceView<'_>) -> Next {
        match Relocate.next(view) {
            // What makes room below is brought together, which a map cannot do.
            Next::Empty(section, _) if section >= view.target() => Next::Empty(section, How::Remap),
            other => other,
        }
    }

    fn moves(&self, view: &SpaceView<'_>) -> u64 {
        Relocate.moves(view)
    }
}
// ANCHOR_END: policy

// ANCHOR: test
#[cfg(test)]
mod tests {
    use super::super::way::{Logs, tests::segments};
    use super::*;

    #[test]
    fn what_lies_above_is_remapped_and_what_makes_room_is_cleaned() {
        let segments = segments(&[9, 2, 0, 0, 5, 3]);
        let next = |needed| Remap.next(&SpaceView { segments: &segments, sections: 4, needed, logs: Logs::Below });
        assert_eq!(next(2), Next::Empty(4, How::Remap));
        assert_eq!(next(3), Next::Empty(1, How::Clean));
    }
}
// ANCHOR_END: test
