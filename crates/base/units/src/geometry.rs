//! The shape of a drive's flash. Only here one kind of id is converted to another.

use crate::{AnyDivisor, BlockId, Bytes, ChannelId, DieId, PlaneId, Ppn};

/// Channels x dies x planes x blocks x pages. Block ids run die by die, plane by plane within a die; die ids run
/// channel first (die 0 on channel 0, die 1 on channel 1, ...).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    channels: u32,
    dies_per_channel: u32,
    planes_per_die: u32,
    blocks_per_plane: u32,
    pages_per_block: u32,
    page_size: Bytes,
    /// Divides by the blocks of a die, since every operation needs the die of its block.
    by_die: AnyDivisor,
}

/// Why a geometry was refused.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum GeometryError {
    /// One of the counts is zero.
    #[error("{0} is 0; at least 1 is needed")]
    Zero(&'static str),
    /// More pages than a 32-bit page number can name.
    #[error("the geometry has {pages} physical pages; at most {max} can be addressed: use larger pages", max = u32::MAX - 1)]
    TooManyPages {
        /// Pages asked for.
        pages: u128,
    },
}

impl Geometry {
    /// A geometry of `channels` x `dies_per_channel` x `planes_per_die` x `blocks_per_plane` x `pages_per_block`.
    ///
    /// # Errors
    /// A count or the page size is zero, or the pages do not fit a [`Ppn`].
    pub fn new(
        channels: u32,
        dies_per_channel: u32,
        planes_per_die: u32,
        blocks_per_plane: u32,
        pages_per_block: u32,
        page_size: Bytes,
    ) -> Result<Self, GeometryError> {
        let counts = [
            ("channels", u64::from(channels)),
            ("dies-per-channel", u64::from(dies_per_channel)),
            ("planes-per-die", u64::from(planes_per_die)),
            ("blocks-per-plane", u64::from(blocks_per_plane)),
            ("pages-per-block", u64::from(pages_per_block)),
            ("page-size", page_size.0),
        ];
        if let Some((name, _)) = counts.iter().find(|(_, count)| *count == 0) {
            return Err(GeometryError::Zero(name));
        }
        let pages = counts[..5].iter().fold(1u128, |product, (_, count)| product.saturating_mul(u128::from(*count)));
        if pages > u128::from(u32::MAX - 1) {
            return Err(GeometryError::TooManyPages { pages });
        }
        let by_die = AnyDivisor::new(planes_per_die * blocks_per_plane);
        Ok(Self { channels, dies_per_channel, planes_per_die, blocks_per_plane, pages_per_block, page_size, by_die })
    }

    /// A single plane of `blocks` blocks: the flat device of most published simulators.
    ///
    /// # Errors
    /// As [`Geometry::new`].
    pub fn flat(blocks: u32, pages_per_block: u32, page_size: Bytes) -> Result<Self, GeometryError> {
        Self::new(1, 1, 1, blocks, pages_per_block, page_size)
    }

    /// Channels of the drive.
    pub const fn channels(&self) -> u32 {
        self.channels
    }

    /// Dies on each channel.
    pub const fn dies_per_channel(&self) -> u32 {
        self.dies_per_channel
    }

    /// Planes of each die.
    pub const fn planes_per_die(&self) -> u32 {
        self.planes_per_die
    }

    /// Blocks of each plane.
    pub const fn blocks_per_plane(&self) -> u32 {
        self.blocks_per_plane
    }

    /// Pages of each block.
    #[inline(always)]
    pub const fn pages_per_block(&self) -> u32 {
        self.pages_per_block
    }

    /// Bytes of user data in a page.
    pub const fn page_size(&self) -> Bytes {
        self.page_size
    }

    /// Dies of the drive.
    pub const fn dies(&self) -> u32 {
        self.channels * self.dies_per_channel
    }

    /// Blocks of one die.
    pub const fn blocks_per_die(&self) -> u32 {
        self.planes_per_die * self.blocks_per_plane
    }

    /// Blocks of the drive.
    pub const fn blocks(&self) -> u32 {
        self.dies() * self.blocks_per_die()
    }

    /// Pages of the drive.
    pub const fn pages(&self) -> u32 {
        self.blocks() * self.pages_per_block
    }

    /// Bytes of one block.
    pub const fn block_size(&self) -> Bytes {
        Bytes(self.page_size.0 * self.pages_per_block as u64)
    }

    /// Bytes of the whole flash.
    pub const fn capacity(&self) -> Bytes {
        Bytes(self.block_size().0 * self.blocks() as u64)
    }

    /// The page at `page` of `block`.
    #[inline(always)]
    pub const fn page(&self, block: BlockId, page: u32) -> Ppn {
        debug_assert!(page < self.pages_per_block, "a block has no page beyond its last");
        Ppn(block.0 * self.pages_per_block + page)
    }

    /// The block that holds `page`.
    #[inline(always)]
    pub const fn block_of(&self, page: Ppn) -> BlockId {
        debug_assert!(page.0 < self.pages(), "a page lies in a block of the drive");
        BlockId(page.0 / self.pages_per_block)
    }

    /// The index of `page` in its block.
    #[inline(always)]
    pub const fn page_in_block(&self, page: Ppn) -> u32 {
        page.0 % self.pages_per_block
    }

    /// The die of `block`.
    #[inline]
    pub const fn die_of(&self, block: BlockId) -> DieId {
        debug_assert!(block.0 < self.blocks(), "a block lies on a die of the drive");
        DieId(self.by_die.divide(block.0))
    }

    /// The plane of `block`, numbered within its die.
    pub const fn plane_of(&self, block: BlockId) -> PlaneId {
        debug_assert!(block.0 < self.blocks(), "a block lies on a plane of the drive");
        PlaneId(block.0 % self.blocks_per_die() / self.blocks_per_plane)
    }

    /// The channel of `die`.
    pub const fn channel_of(&self, die: DieId) -> ChannelId {
        debug_assert!(die.0 < self.dies(), "a channel has dies of the drive");
        ChannelId(die.0 % self.channels)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_has_one_place() {
        let shape = Geometry::new(2, 3, 2, 5, 7, Bytes(4096)).unwrap();
        assert_eq!(shape.pages(), 2 * 3 * 2 * 5 * 7);
        for raw in 0..shape.pages() {
            let (block, page) = (shape.block_of(Ppn(raw)), shape.page_in_block(Ppn(raw)));
            assert_eq!(shape.page(block, page), Ppn(raw));
            let die = shape.die_of(block);
            assert!(die.0 < shape.dies());
            assert!(shape.plane_of(block).0 < shape.planes_per_die());
            assert_eq!(shape.channel_of(die).0, die.0 % 2);
        }
    }

    #[test]
    fn a_geometry_that_cannot_be_addressed_is_refused() {
        assert_eq!(Geometry::flat(0, 4, Bytes(4096)), Err(GeometryError::Zero("blocks-per-plane")));
        let huge = Geometry::flat(1 << 24, 256, Bytes(4096));
        assert_eq!(huge, Err(GeometryError::TooManyPages { pages: 1 << 32 }));
        assert!(Geometry::flat((1 << 24) - 1, 256, Bytes(4096)).is_ok());
    }
}
