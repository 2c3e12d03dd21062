//! Ways to give space back: what the mechanism asks them, what they see, and their list.
//!
//! A way changes nothing. It answers what is in the way of a target, which section is emptied next and how, and what is given; the mechanism in
//! `shrink.rs` checks each answer and does the work, so that a way can be wrong about what is cheap, but not lose anything.

use super::{relocate, remap, surrender};
use crate::clean::MARGIN;
use crate::segments::{Log, Segments};

/// A way to give space back.
pub(super) trait WayPolicy: Sync {
    /// Its name in commands.
    fn name(&self) -> &'static str;

    /// What it gives, of which the device is told.
    fn gives(&self) -> Gives;

    /// Sections that have to become free until the target is reached.
    fn in_the_way(&self, view: &SpaceView<'_>) -> u32;

    /// What is done next.
    fn next(&self, view: &SpaceView<'_>) -> Next;

    /// Blocks that move until the target is reached, as far as that can be said.
    fn moves(&self, view: &SpaceView<'_>) -> u64;
}

/// What is given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gives {
    /// Sections at any address: the device is told how many blocks may hold something, a limit that may rise again.
    Sections,
    /// Addresses from the end on: the device is told its capacity. New sections are taken below the new end from the start.
    Tail,
}

/// What is done next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// A section is emptied. One that holds nothing, is open, or cannot be cleaned is refused, and the target is stuck.
    Empty(u32, How),
    /// The logs leave the sections from the target on, and the way is asked once more.
    MoveLogs,
    /// There is nothing that can be done.
    Nothing,
}

/// How a section is emptied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// What is in use in it is read and written elsewhere.
    Clean,
    /// The device moves the data from the target on by its map; what it cannot move so is cleaned.
    Remap,
}

/// Where the logs are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Logs {
    /// They may be in sections that are to go.
    Anywhere,
    /// They left those.
    Below,
}

/// What a way sees: the sections of the main area, and the target.
pub(super) struct SpaceView<'a> {
    pub(super) segments: &'a Segments,
    pub(super) sections: u32,
    pub(super) needed: u32,
    pub(super) logs: Logs,
}

impl SpaceView<'_> {
    /// Sections that there are to be.
    pub(super) const fn target(&self) -> u32 {
        self.sections
    }

    /// Where the logs are.
    pub(super) const fn logs(&self) -> Logs {
        self.logs
    }

    /// Free sections that must be left, to write what is in memory.
    pub(super) const fn needed(&self) -> u32 {
        self.needed
    }

    /// Sections that hold something, or did at the last checkpoint, or are open.
    pub(super) fn taken(&self) -> u32 {
        self.segments.taken_sections()
    }

    /// The same, of those from the target on, in rising order.
    pub(super) fn taken_from_target(&self) -> Vec<u32> {
        self.segments.taken_from(self.sections)
    }

    /// Whether enough sections below the target are free.
    pub(super) fn has_room_below(&self) -> bool {
        self.segments.free_below(self.sections) >= self.needed
    }

    /// The section below `bound` that costs least to clean.
    pub(super) fn victim(&self, bound: u32) -> Option<u32> {
        self.segments.victim(bound)
    }

    /// Whether a section holds something, is not open, and nothing is known that keeps it from being emptied.
    pub(super) fn can_be_emptied(&self, section: u32) -> bool {
        let segments = self.segments;
        let is_there = section < segments.end && segments.used_of(section) > 0;
        is_there && !segments.is_open(section) && !segments.is_stuck(section)
    }

    /// Blocks in use in the sections from the target on.
    pub(super) fn used_from_target(&self) -> u64 {
        (self.sections..self.segments.end).map(|section| u64::from(self.segments.used_of(section))).sum()
    }

    /// Blocks that cleaning moves until as many sections as the target has hold all.
    pub(super) fn moved_to_hold(&self) -> u64 {
        let section = self.segments.section();
        let mut used: Vec<u32> = (0..self.segments.end)
            .filter(|place| !self.segments.is_open(*place))
            .map(|place| self.segments.used_of(place))
            .filter(|used| *used > 0)
            .collect();
        used.sort_unstable();
        let mut taken = used.len() as u32 + Log::ALL.len() as u32;
        let wanted = self.sections.saturating_sub(Log::ALL.len() as u32 + MARGIN);
        let (mut moved, mut filling) = (0, 0);
        for blocks in used {
            if taken <= wanted || blocks == section {
                break;
            }
            moved += u64::from(blocks);
            filling += blocks;
            taken = taken - 1 + filling / section;
            filling %= section;
        }
        moved
    }
}

/// Makes of the list below the public enum, and what leads from it to the policies.
macro_rules! ways {
    ($($(#[$doc:meta])* $way:ident = $number:literal: $policy:expr,)*) => {
        /// How space is given back. Numbers are those of checkpoints, and never change.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, serde::Serialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum Way {
            $($(#[$doc])* $way = $number,)*
        }

        impl Way {
            /// All of them.
            pub const ALL: [Self; [$($number),*].len()] = [$(Self::$way),*];

            pub(super) fn policy(self) -> &'static dyn WayPolicy {
                match self {
                    $(Self::$way => &$policy,)*
                }
            }
        }
    };
}

// Every way. A new one is a file and a line here.
ways! {
    /// Sections that are free, wherever they lie: the file system then holds less at once, at any address. Little moves.
    Surrender = 0: surrender::Surrender,
    /// The addresses from the new end on: whatever lies there moves below it.
    Relocate = 1: relocate::Relocate,
    /// The same; the device moves data by its map alone (REMAP), and only structures are written.
    Remap = 2: remap::Remap,
}

impl Way {
    /// Its name in commands.
    pub fn name(self) -> &'static str {
        self.policy().name()
    }

    /// The way of a number in a checkpoint.
    pub(super) fn of_number(number: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|way| *way as u32 == number)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use serde::Deserialize;
    use serde::de::IntoDeserializer;
    use serde::de::value::{Error, StrDeserializer};

    use super::*;
    use crate::geometry::{FormatConfig, Geometry};
    use crate::port::Addr;

    /// Sections of a small file system, of which some have this many blocks in use. No log is open.
    pub(crate) fn segments(used: &[u32]) -> Segments {
        let config = FormatConfig::new([1; 16], [2, 3]);
        let (geometry, _) = Geometry::new(&config, (128 << 20) / 4096).expect("it is large enough");
        let mut segments = Segments::new(&geometry);
        segments.set_end(used.len() as Addr);
        for (section, used) in used.iter().enumerate() {
            let first = geometry.main() + section as Addr * geometry.section();
            (first..first + used).for_each(|at| segments.note_used(&geometry, at));
        }
        segments
    }

    #[test]
    fn each_way_has_one_name_and_one_number() {
        for way in Way::ALL {
            let name: StrDeserializer<'_, Error> = way.name().into_deserializer();
            assert_eq!(Way::deserialize(name), Ok(way));
            assert_eq!(Way::of_number(way as u32), Some(way));
        }
        assert_eq!(Way::of_number(Way::ALL.len() as u32), None);
        // What lies on disks.
        assert_eq!([Way::Surrender as u32, Way::Relocate as u32, Way::Remap as u32], [0, 1, 2]);
    }
}
