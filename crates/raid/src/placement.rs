//! Placements: on which members each tile of an array lies.

use crate::extents::Group;

/// A member as a placement sees it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Site {
    /// Slots that it offers.
    pub slots: u64,
    /// Bytes a second that it reads in sequence; of members that are equally fast the one that comes first goes first.
    pub speed: f64,
}

/// Why members make no tiles.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlacementError {
    /// There are fewer members than a stripe is wide.
    #[error("a stripe of {width} chunks needs {width} members, found {found}; the largest that works has {found}")]
    Width {
        /// Chunks of a stripe.
        width: usize,
        /// Members that have room.
        found: usize,
    },
}

/// Chooses members for tiles. Each placement has a file.
pub trait Placement: std::fmt::Debug + Send + Sync {
    /// Its name in settings and answers.
    fn name(&self) -> &'static str;

    /// Groups of tiles of `width` slots on members, fastest first.
    ///
    /// # Errors
    /// There are too few members.
    fn groups(&self, sites: &[Site], width: usize) -> Result<Vec<Group>, PlacementError>;
}
