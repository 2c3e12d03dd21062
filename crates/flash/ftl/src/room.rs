//! Room for data: how many of a drive's blocks can hold host data, and what takes the others.
//!
//! Both the firmware and a scenario check a drive against it, so that both refuse the same drives.

use std::fmt;
use std::num::NonZeroU32;

/// A full drive's firmware blocks, by their use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// All blocks.
    pub blocks: u64,
    /// Mapping units of a block.
    pub units_per_block: u64,
    /// Blocks that garbage collection keeps free, of all domains.
    pub reserve: u64,
    /// Blocks that are open for writing, of all domains.
    pub open: u64,
    /// Blocks that are bad from the start.
    pub bad: u64,
    /// Most blocks of the metadata area.
    pub metadata: u64,
    /// Mapping units that padding may take of each block: see [`Room::padding`].
    pub padding: u64,
    /// Data pages for each page of parity, if all host data are striped.
    pub data_pages: Option<u64>,
}

impl Room {
    /// Blocks that hold neither data nor parity.
    pub fn blocks_kept(&self) -> u64 {
        self.reserve + self.open + self.bad + self.metadata
    }

    /// Units of each block that padding may take on a drive whose buffers do not survive a power cut. Before an erase the open page, or the open
    /// wordlines, of each open block are padded. `units`: units of that page, or of the pages of those wordlines ([`Room::wordline`]). A victim
    /// with no more invalid units than this would free nothing.
    pub fn padding(units: u32, open: u64) -> u64 {
        if units == 1 { 0 } else { u64::from(units - 1) * open + u64::from(units) }
    }

    /// Number of consecutive pages of a firmware block that fill a wordline of each of its `width` members. `shared` pages of a flash block share
    /// a wordline; 1 if no pages share one.
    pub fn wordline(shared: NonZeroU32, width: u32, pages_per_block: u32) -> u32 {
        if shared == NonZeroU32::MIN { 1 } else { shared.get().saturating_mul(width).min(pages_per_block) }
    }

    /// Units of a block without padding.
    fn units_left(&self) -> u64 {
        self.units_per_block.saturating_sub(self.padding)
    }

    /// The largest number of logical units that fit.
    pub fn units_max(&self) -> u64 {
        let usable = self.blocks.saturating_sub(self.blocks_kept()) * self.units_left();
        self.data_pages.map_or(usable, |data| usable * data / (data + 1))
    }

    /// The smallest number of blocks in which `logical_units` units fit, with the same reserve, open blocks and bad blocks.
    pub fn blocks_needed(&self, logical_units: u64) -> u64 {
        let written = self.data_pages.map_or(logical_units, |data| (logical_units * (data + 1)).div_ceil(data));
        written.div_ceil(self.units_left().max(1)) + self.blocks_kept()
    }

    /// Returns `self` or `other`, whichever holds less.
    pub fn tighter(self, other: Self) -> Self {
        if other.units_max() < self.units_max() { other } else { self }
    }

    /// Blocks that parity fills, rounded up.
    fn parity(&self) -> u64 {
        let usable = self.blocks.saturating_sub(self.blocks_kept()) * self.units_left();
        (usable - self.units_max()).div_ceil(self.units_per_block)
    }
}

/// Such as "1024 blocks, of which garbage collection keeps 7 free and 2 are open for writing".
impl fmt::Display for Room {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is = |count: u64| if count == 1 { "is" } else { "are" };
        let mut uses = vec![format!("garbage collection keeps {} free", self.reserve)];
        uses.push(format!("{} {} open for writing", self.open, is(self.open)));
        if self.bad > 0 {
            uses.push(format!("{} {} bad", self.bad, is(self.bad)));
        }
        if self.metadata > 0 {
            let are = if self.metadata == 1 { "is" } else { "are" };
            uses.push(format!("{} {are} for what recovery needs", self.metadata));
        }
        if self.padding > 0 {
            let (taken, all) = (self.padding.min(self.units_per_block), self.units_per_block);
            uses.push(format!("padding may take {taken} of the {all} mapping units of each"));
        }
        if let Some(data) = self.data_pages {
            uses.push(format!("parity takes {} (1 page for {data} of data)", self.parity()));
        }
        let last = uses.pop().unwrap_or_default();
        let blocks = if self.blocks == 1 { "block" } else { "blocks" };
        write!(f, "{} {blocks}, of which {} and {last}", self.blocks, uses.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: Room = Room {
        blocks: 100,
        units_per_block: 64,
        reserve: 7,
        open: 2,
        bad: 0,
        metadata: 0,
        padding: 0,
        data_pages: None,
    };

    #[test]
    fn what_fits_needs_the_blocks_that_there_are_and_a_unit_more_does_not() {
        let table = [
            (ROOM, 91 * 64),
            (Room { bad: 1, ..ROOM }, 90 * 64),
            (Room { metadata: 3, ..ROOM }, 88 * 64),
            (Room { padding: 14, ..ROOM }, 91 * 50),
            // 91 * 64 * 15 / 16 is 5460 units.
            (Room { data_pages: Some(15), ..ROOM }, 5460),
            (Room { data_pages: Some(2), ..ROOM }, 3882),
        ];
        for (room, fits) in table {
            assert_eq!(room.units_max(), fits, "{room}");
            assert_eq!(room.blocks_needed(fits), room.blocks, "{room}");
            assert!(room.blocks_needed(fits + 1) > room.blocks, "{room}");
        }
        assert_eq!(Room { blocks: 5, ..ROOM }.units_max(), 0, "less than is kept");
        assert_eq!((Room::padding(1, 4), Room::padding(8, 2)), (0, 22));
        assert_eq!(Room { padding: 70, ..ROOM }.units_max(), 0, "padding takes all of a block");
    }

    #[test]
    fn a_room_says_what_takes_its_blocks() {
        let striped = Room { bad: 1, data_pages: Some(15), open: 1, ..ROOM };
        assert_eq!(
            striped.to_string(),
            "100 blocks, of which garbage collection keeps 7 free, 1 is open for writing, 1 is bad and parity takes 6 (1 page for 15 of \
             data)"
        );
        assert_eq!(ROOM.to_string(), "100 blocks, of which garbage collection keeps 7 free and 2 are open for writing");
    }
}
