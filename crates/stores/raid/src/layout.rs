//! Where the sectors of an array lie.

use wane_blockdev::SectorRange;
use wane_units::{Lba, Sectors};

/// Consecutive sectors of an array that lie together on a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The member.
    pub member: usize,
    /// The first of them on it.
    pub start: Lba,
    /// How many follow each other there, from the one that was asked for.
    pub count: Sectors,
}

/// Puts each sector of an array on one member. Sectors of the array that rise lie on rising sectors of each member.
pub trait Layout: Clone + Send + 'static {
    /// Sectors of an array on members of these capacities, which are multiples of `unit`.
    ///
    /// # Errors
    /// They make no array.
    fn capacity(&mut self, members: &[Sectors], unit: Sectors) -> Result<Sectors, LayoutError>;

    /// Where a sector below the capacity lies.
    fn find(&self, sector: Lba) -> Piece;
}

/// What lies on a member of a stretch of an array.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Portion {
    /// The member.
    pub member: usize,
    /// Sectors of data for each sector of the stretch.
    pub data: f64,
    /// Sectors of parities, or of further copies, for each sector of the stretch.
    pub parity: f64,
}

/// Sectors of an array that lie on the same members in the same proportions.
#[derive(Clone, Debug, PartialEq)]
pub struct Stretch {
    /// The sectors of the array.
    pub range: SectorRange,
    /// What of them lies on which members.
    pub on: Vec<Portion>,
}

/// Why members make no array.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LayoutError {
    /// There are none.
    #[error("an array has one member at least")]
    NoMember,
    /// Their units do not fit together.
    #[error("members have units of {0} and {1} sectors; each is to be a multiple of the smaller one")]
    Units(u64, u64),
    /// A chunk is no multiple of their unit.
    #[error("a chunk has {0} sectors, and a multiple of the largest unit of a member, {1} sectors, above 0 is allowed")]
    Chunk(u64, u64),
    /// A member is too small for a chunk or a unit.
    #[error("a member of {0} sectors is smaller than a chunk of {1}")]
    Small(u64, u64),
    /// A member has no room for what an array with parities has on it at least.
    #[error(
        "a member has {0} sectors, and a part of a tile, the ring and the tables of the array take {1}; smaller chunks take less"
    )]
    Room(u64, u64),
    /// Copies and members do not fit.
    #[error("{0} copies on {1} members; an array with copies has 2 of them at least, and a member for each")]
    Copies(usize, usize),
    /// A code has no stripes of this width.
    #[error("the code {0} has no stripes of {1} chunks")]
    Width(&'static str, usize),
    /// Shares of parities do not fit the columns.
    #[error("{0} shares of parities for stripes of {1} chunks; one for each is allowed, and not all of them 0")]
    Shares(usize, usize),
    /// A journal of partial parities needs one parity.
    #[error(
        "the journal ppl is for the code xor, and the array has the code {0}; the journals full and none are for all codes"
    )]
    PartialParity(&'static str),
    /// A device is a member of an array already.
    #[error("member {0} belongs to array {1:016x}; a device that holds nothing is allowed")]
    Belongs(usize, u64),
    /// A placement finds no place for tiles.
    #[error(transparent)]
    Placement(#[from] crate::placement::PlacementError),
    /// A new member has less room than is used of the old one.
    #[error("the new member has {0} sectors, and the array uses {1} of the one that it replaces")]
    Smaller(u64, u64),
}

/// One member after the other. They may differ in size.
#[derive(Clone, Debug, Default)]
pub struct Linear {
    /// Where each member ends.
    ends: Vec<u64>,
}

impl Layout for Linear {
    fn capacity(&mut self, members: &[Sectors], unit: Sectors) -> Result<Sectors, LayoutError> {
        let mut end = 0;
        self.ends = members
            .iter()
            .map(|member| {
                end += member.0 - member.0 % unit.0;
                end
            })
            .collect();
        Ok(Sectors(end))
    }

    fn find(&self, sector: Lba) -> Piece {
        let member = self.ends.partition_point(|end| *end <= sector.0);
        let begin = member.checked_sub(1).map_or(0, |before| self.ends[before]);
        Piece { member, start: Lba(sector.0 - begin), count: Sectors(self.ends[member] - sector.0) }
    }
}

/// Chunks on all members in turns. Each member gives as many chunks as the smallest has.
#[derive(Clone, Debug)]
pub struct Stripe {
    chunk: Sectors,
    members: u64,
}

impl Stripe {
    /// Stripes with chunks of `chunk` sectors.
    pub const fn new(chunk: Sectors) -> Self {
        Self { chunk, members: 0 }
    }
}

impl Layout for Stripe {
    fn capacity(&mut self, members: &[Sectors], unit: Sectors) -> Result<Sectors, LayoutError> {
        let chunk = self.chunk.0;
        if chunk == 0 || !chunk.is_multiple_of(unit.0) {
            return Err(LayoutError::Chunk(chunk, unit.0));
        }
        self.members = members.len() as u64;
        let least = members.iter().map(|member| member.0).min().ok_or(LayoutError::NoMember)?;
        match least / chunk {
            0 => Err(LayoutError::Small(least, chunk)),
            chunks => Ok(Sectors(chunks * chunk * self.members)),
        }
    }

    fn find(&self, sector: Lba) -> Piece {
        let (number, within) = (sector.0 / self.chunk.0, sector.0 % self.chunk.0);
        let start = Lba(number / self.members * self.chunk.0 + within);
        Piece { member: (number % self.members) as usize, start, count: Sectors(self.chunk.0 - within) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The members and sectors of the first sectors of an array.
    fn places(layout: &impl Layout, count: u64) -> Vec<(usize, u64)> {
        (0..count).map(|sector| layout.find(Lba(sector))).map(|piece| (piece.member, piece.start.0)).collect()
    }

    #[test]
    fn each_sector_lies_on_one_place() {
        let mut linear = Linear::default();
        assert_eq!(linear.capacity(&[Sectors(2), Sectors(0), Sectors(3)], Sectors(1)), Ok(Sectors(5)));
        assert_eq!(places(&linear, 5), [(0, 0), (0, 1), (2, 0), (2, 1), (2, 2)]);
        assert_eq!(linear.find(Lba(3)).count, Sectors(2));
        // What is no whole unit of a member is left out.
        assert_eq!(linear.capacity(&[Sectors(15), Sectors(8)], Sectors(8)), Ok(Sectors(16)));
        let mut stripe = Stripe::new(Sectors(2));
        assert_eq!(stripe.capacity(&[Sectors(5), Sectors(4)], Sectors(1)), Ok(Sectors(8)));
        assert_eq!(places(&stripe, 8), [(0, 0), (0, 1), (1, 0), (1, 1), (0, 2), (0, 3), (1, 2), (1, 3)]);
        assert_eq!(stripe.find(Lba(5)).count, Sectors(1));
    }

    #[test]
    fn members_that_make_no_stripe_are_told_why() {
        let capacity = |chunk, members: &[Sectors], unit| Stripe::new(Sectors(chunk)).capacity(members, Sectors(unit));
        assert_eq!(capacity(0, &[Sectors(8)], 8), Err(LayoutError::Chunk(0, 8)));
        assert_eq!(capacity(12, &[Sectors(80)], 8), Err(LayoutError::Chunk(12, 8)));
        assert_eq!(capacity(16, &[Sectors(80), Sectors(8)], 8), Err(LayoutError::Small(8, 16)));
        assert_eq!(capacity(8, &[], 8), Err(LayoutError::NoMember));
    }
}
