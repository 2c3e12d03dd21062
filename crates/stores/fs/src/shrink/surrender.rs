//! Sections are given back wherever they lie: those that cost least to empty go first, and whatever is free counts.

use super::way::{Gives, How, Next, SpaceView, WayPolicy};

/// See the head of this file.
pub(super) struct Surrender;

impl WayPolicy for Surrender {
    fn name(&self) -> &'static str {
        "surrender"
    }

    fn gives(&self) -> Gives {
        Gives::Sections
    }

    fn in_the_way(&self, view: &SpaceView<'_>) -> u32 {
        (view.taken() + view.needed()).saturating_sub(view.target())
    }

    fn next(&self, view: &SpaceView<'_>) -> Next {
        view.victim(u32::MAX).map_or(Next::Nothing, |section| Next::Empty(section, How::Clean))
    }

    fn moves(&self, view: &SpaceView<'_>) -> u64 {
        view.moved_to_hold()
    }
}

#[cfg(test)]
mod tests {
    use super::super::way::{Logs, tests::segments};
    use super::*;

    #[test]
    fn the_section_that_costs_least_goes_wherever_it_lies() {
        let segments = segments(&[9, 2, 0, 5]);
        let view = SpaceView { segments: &segments, sections: 3, needed: 1, logs: Logs::Anywhere };
        assert_eq!(Surrender.next(&view), Next::Empty(1, How::Clean));
        assert_eq!(Surrender.in_the_way(&view), 1);
    }
}
