//! The addresses from the new end on are given back: what lies there is written anew below it.

use super::way::{Gives, How, Logs, Next, SpaceView, WayPolicy};

/// See the head of this file.
pub(super) struct Relocate;

impl WayPolicy for Relocate {
    fn name(&self) -> &'static str {
        "relocate"
    }

    fn gives(&self) -> Gives {
        Gives::Tail
    }

    fn in_the_way(&self, view: &SpaceView<'_>) -> u32 {
        view.taken_from_target().len() as u32
    }

    fn next(&self, view: &SpaceView<'_>) -> Next {
        // What lies below is brought together, at first wherever there is room.
        if !view.has_room_below()
            && let Some(section) = view.victim(view.target())
        {
            return Next::Empty(section, How::Clean);
        }
        if view.logs() == Logs::Anywhere {
            return Next::MoveLogs;
        }
        let first = view.taken_from_target().into_iter().find(|section| view.can_be_emptied(*section));
        first.map_or(Next::Nothing, |section| Next::Empty(section, How::Clean))
    }

    fn moves(&self, view: &SpaceView<'_>) -> u64 {
        // What lies below may have to be brought together first.
        view.used_from_target() + view.moved_to_hold()
    }
}

#[cfg(test)]
mod tests {
    use super::super::way::tests::segments;
    use super::*;

    #[test]
    fn room_is_made_below_and_then_the_logs_and_the_rest_go() {
        let segments = segments(&[9, 2, 0, 0, 5, 3]);
        let next = |needed, logs| Relocate.next(&SpaceView { segments: &segments, sections: 4, needed, logs });
        assert_eq!(next(3, Logs::Anywhere), Next::Empty(1, How::Clean));
        assert_eq!(next(2, Logs::Anywhere), Next::MoveLogs);
        assert_eq!(next(2, Logs::Below), Next::Empty(4, How::Clean));
    }
}
