//! Where the chunks of a parity array lie: stripes, their positions, and the sectors of members.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use wane_blockdev::SectorRange;
use wane_units::{Lba, Sectors};

use crate::extents::{ExtentTable, Slot};

/// Rows of a stripe: sectors within each of its chunks.
pub(super) type Rows = Range<u64>;

/// A part of a host's request that lies in one stripe: the same rows of chunks that follow each other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Block {
    pub(super) stripe: u64,
    pub(super) rows: Rows,
    pub(super) chunks: Range<usize>,
}

/// The places of a stripe.
#[derive(Clone, Copy, Debug)]
pub(super) struct Places<'a> {
    /// By column.
    slots: &'a [Slot],
    /// The column of the first parity.
    first: usize,
    data: usize,
    /// The first sector of the stripe in the first slot of a member, and the sectors of a slot.
    start: u64,
    slot: u64,
}

impl Places<'_> {
    /// Where rows of a position lie.
    #[inline]
    pub(super) fn of(&self, position: usize, rows: &Rows) -> (usize, SectorRange) {
        let width = self.slots.len();
        let from_parity = if position < self.data { position + width - self.data } else { position - self.data };
        let column = self.first + from_parity;
        let Slot { member, slot } = self.slots[if column < width { column } else { column - width }];
        let start = self.start + u64::from(slot) * self.slot + rows.start;
        (usize::from(member), SectorRange::new(Lba(start), Sectors(rows.end - rows.start)))
    }
}

/// The addresses of an array.
#[derive(Clone, Debug)]
pub(super) struct Map {
    /// Sectors of a chunk.
    pub(super) chunk: u64,
    /// Data chunks of a stripe.
    pub(super) data: u64,
    /// Chunks of a stripe.
    pub(super) width: u64,
    /// Stripes of a tile.
    pub(super) tile: u64,
    /// The sector of each member at which its slots begin.
    pub(super) offset: u64,
    /// The column of the first parity of each stripe, by its number in the array; it repeats. So uneven shares come out right where tiles are shorter.
    pub(super) parity_columns: Vec<u64>,
    pub(super) table: ExtentTable,
    /// The first tile of each group of tiles on the same members.
    pub(super) starts: Vec<u64>,
}

impl Map {
    /// The same, with the groups of its table.
    pub(super) fn with_starts(mut self) -> Self {
        self.set_starts();
        self
    }

    /// Finds the groups of its table.
    pub(super) fn set_starts(&mut self) {
        let mut start = 0;
        let starts = self.table.groups().into_iter().map(|group| {
            start += group.tiles;
            start - group.tiles
        });
        self.starts = starts.collect();
    }

    /// Number of groups of tiles on the same members.
    pub(super) const fn groups(&self) -> usize {
        self.starts.len()
    }

    /// The group of a stripe.
    pub(super) fn group(&self, stripe: u64) -> usize {
        self.starts.partition_point(|start| *start <= stripe / self.tile) - 1
    }

    /// Sectors of the array.
    pub(super) fn capacity(&self) -> Sectors {
        Sectors(self.table.len() * self.tile * self.data * self.chunk)
    }

    /// Number of stripes.
    pub(super) fn stripes(&self) -> u64 {
        self.table.len() * self.tile
    }

    /// Sectors of a slot.
    pub(super) const fn slot_sectors(&self) -> u64 {
        self.tile * self.chunk
    }

    /// Data sectors of a stripe.
    pub(super) const fn stripe_sectors(&self) -> u64 {
        self.data * self.chunk
    }

    /// The column of a tile in which a position of a stripe lies. Positions are data chunks, and after them parities.
    fn column(&self, stripe: u64, position: usize) -> usize {
        let parities = self.width - self.data;
        let first = self.parity_columns[(stripe % self.parity_columns.len() as u64) as usize];
        let from_parity = match (position as u64).checked_sub(self.data) {
            Some(parity) => parity,
            None => parities + position as u64,
        };
        ((first + from_parity) % self.width) as usize
    }

    /// The column of a position of a stripe, and the slot there.
    pub(super) fn slot(&self, stripe: u64, position: usize) -> (usize, Slot) {
        let column = self.column(stripe, position);
        (column, self.table.tile(stripe / self.tile)[column])
    }

    /// The places of a stripe: what its positions have in common is found once.
    pub(super) fn places(&self, stripe: u64) -> Places<'_> {
        let (tile, in_tile) = (stripe / self.tile, stripe % self.tile);
        let columns = &self.parity_columns;
        Places {
            slots: self.table.tile(tile),
            first: columns[(stripe % columns.len() as u64) as usize] as usize,
            data: self.data as usize,
            start: self.offset + in_tile * self.chunk,
            slot: self.slot_sectors(),
        }
    }

    /// A range as one block, if it lies in one chunk.
    pub(super) fn single(&self, range: SectorRange) -> Option<Block> {
        let (start, end) = (range.start.0, range.start.0 + range.count.0);
        let number = start / self.chunk;
        if end > (number + 1) * self.chunk || range.is_empty() {
            return None;
        }
        let (stripe, chunk) = (number / self.data, (number % self.data) as usize);
        let first = number * self.chunk;
        Some(Block { stripe, rows: start - first..end - first, chunks: chunk..chunk + 1 })
    }

    /// What lies on a sector of a member: the stripe, the position, and the row. `None` if that is no part of a tile.
    pub(super) fn what_is_at(&self, member: usize, sector: Lba) -> Option<(u64, usize, u64)> {
        let within = sector.0.checked_sub(self.offset)?;
        let (slot, row) = (within / self.slot_sectors(), within % self.slot_sectors());
        let (tile, column, _) = self.table.on(member as u16).find(|(_, _, number)| u64::from(*number) == slot)?;
        let stripe = tile * self.tile + row / self.chunk;
        let position = (0..self.width as usize).find(|position| self.slot(stripe, *position).0 == column)?;
        Some((stripe, position, row % self.chunk))
    }

    /// The member of a position of a stripe.
    pub(super) fn member(&self, stripe: u64, position: usize) -> usize {
        usize::from(self.slot(stripe, position).1.member)
    }

    /// Where rows of a position of a stripe lie: the member, and the sectors there.
    pub(super) fn place(&self, stripe: u64, position: usize, rows: &Rows) -> (usize, SectorRange) {
        let slot = self.slot(stripe, position).1;
        (usize::from(slot.member), self.in_slot(slot, stripe, rows))
    }

    /// Where rows of a stripe lie in a slot of its tile.
    pub(super) fn in_slot(&self, slot: Slot, stripe: u64, rows: &Rows) -> SectorRange {
        let start = self.offset + u64::from(slot.slot) * self.slot_sectors() + stripe % self.tile * self.chunk;
        SectorRange::new(Lba(start + rows.start), Sectors(rows.end - rows.start))
    }

    /// The sectors of the array that are rows of a data chunk.
    pub(super) const fn host(&self, stripe: u64, chunk: usize, rows: &Rows) -> SectorRange {
        let start = stripe * self.stripe_sectors() + chunk as u64 * self.chunk + rows.start;
        SectorRange::new(Lba(start), Sectors(rows.end - rows.start))
    }

    /// A range in parts that are rectangles of rows and chunks. The host's order is that of stripes alone.
    pub(super) fn blocks(&self, range: SectorRange) -> Vec<Block> {
        blocks(range, self.chunk, self.data)
    }

    /// A block that is a whole stripe, for work of the array's own.
    pub(super) const fn whole_stripe(&self, stripe: u64) -> Block {
        Block { stripe, rows: 0..self.chunk, chunks: 0..0 }
    }

    /// The pieces of a block in the order of chunks, each with its sectors of the array.
    pub(super) fn hosts<'a>(&'a self, block: &'a Block) -> impl Iterator<Item = (usize, SectorRange)> + 'a {
        block.chunks.clone().map(|chunk| (chunk, self.host(block.stripe, chunk, &block.rows)))
    }
}

/// The parts of a range in stripes of `data` chunks of `chunk` sectors.
pub(super) fn blocks(range: SectorRange, chunk: u64, data: u64) -> Vec<Block> {
    let in_stripe = chunk * data;
    let mut blocks = Vec::new();
    let end = range.start.0 + range.count.0;
    let mut at = range.start.0;
    while at < end {
        let stripe = at / in_stripe;
        let begin = stripe * in_stripe;
        let to = end.min(begin + in_stripe);
        let (first, last) = (at - begin, to - 1 - begin);
        let (first_chunk, last_chunk) = ((first / chunk) as usize, (last / chunk) as usize);
        let (from, until) = (first % chunk, last % chunk + 1);
        if first_chunk == last_chunk {
            blocks.push(Block { stripe, rows: from..until, chunks: first_chunk..first_chunk + 1 });
        } else {
            // Rows from `from` on lie in the first chunk, those before `until` in the last, all in those between.
            let cuts = [0, from.min(until), from.max(until), chunk];
            for rows in cuts.windows(2).map(|cut| cut[0]..cut[1]).filter(|rows| !rows.is_empty()) {
                let start = if rows.start >= from { first_chunk } else { first_chunk + 1 };
                let end = if rows.end <= until { last_chunk + 1 } else { last_chunk };
                if start < end {
                    blocks.push(Block { stripe, rows, chunks: start..end });
                }
            }
        }
        at = to;
    }
    blocks
}

/// The columns of the first parity as md's left-symmetric layout has them: the last, and each stripe one before.
pub(super) fn left_symmetric(width: u64) -> Vec<u64> {
    (0..width).map(|stripe| width - 1 - stripe).collect()
}

/// The columns of the first parity so that each column has its share of them, as evenly in time as can be.
pub(super) fn uneven(shares: &[u32]) -> Vec<u64> {
    let gcd = shares.iter().fold(0u64, |gcd, share| {
        let (mut one, mut other) = (gcd, u64::from(*share));
        while other > 0 {
            (one, other) = (other, one % other);
        }
        one
    });
    let shares: Vec<i64> = shares.iter().map(|share| (u64::from(*share) / gcd.max(1)) as i64).collect();
    let all: i64 = shares.iter().sum();
    let mut credit = vec![0i64; shares.len()];
    let turn = |_| {
        credit.iter_mut().zip(&shares).for_each(|(credit, share)| *credit += share);
        let most = (0..credit.len()).rev().max_by_key(|column| credit[*column]).unwrap_or(0);
        credit[most] -= all;
        most as u64
    };
    (0..all).map(turn).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extents::Group;

    fn map(width: u64, parities: u64, tile: u64) -> Map {
        let group = Group { members: (0..width as u16).collect(), tiles: 3 };
        Map {
            chunk: 8,
            data: width - parities,
            width,
            tile,
            offset: 100,
            parity_columns: left_symmetric(width),
            table: ExtentTable::of_groups(&[group], width as usize),
            starts: vec![0],
        }
    }

    /// As `Documentation/md` and the tables of mdadm have it.
    #[test]
    fn chunks_lie_as_mds_left_symmetric_layout_has_them() {
        let columns = |map: &Map, stripe| {
            (0..map.width as usize).map(|position| map.slot(stripe, position).0).collect::<Vec<_>>()
        };
        let raid5 = map(5, 1, 5);
        assert_eq!(columns(&raid5, 0), [0, 1, 2, 3, 4]);
        assert_eq!(columns(&raid5, 1), [4, 0, 1, 2, 3]);
        assert_eq!(columns(&raid5, 4), [1, 2, 3, 4, 0]);
        assert_eq!(columns(&raid5, 5), columns(&raid5, 0));
        let raid6 = map(6, 2, 6);
        assert_eq!(columns(&raid6, 0), [1, 2, 3, 4, 5, 0]);
        assert_eq!(columns(&raid6, 1), [0, 1, 2, 3, 4, 5]);
        assert_eq!(columns(&raid6, 2), [5, 0, 1, 2, 3, 4]);
        assert_eq!(raid5.place(6, 0, &(2..5)), (4, SectorRange::new(Lba(100 + 40 + 8 + 2), Sectors(3))));
    }

    #[test]
    fn columns_have_their_shares_of_parities() {
        let columns = uneven(&[40, 15, 15, 15, 15]);
        let count = |column| columns.iter().filter(|one| **one == column).count();
        assert_eq!((columns.len(), (0..5).map(count).collect::<Vec<_>>()), (20, vec![8, 3, 3, 3, 3]));
        // Not all of them together.
        assert!(columns.windows(3).all(|three| three != [0, 0, 0]), "{columns:?}");
        assert_eq!(uneven(&[7, 7]).len(), 2);
    }

    /// Also where a tile has fewer stripes than a turn of the shares.
    #[test]
    fn uneven_shares_hold_across_tiles() {
        let map = Map { parity_columns: uneven(&[40, 15, 15, 15, 15]), ..map(5, 1, 5) };
        let parities = (0..map.stripes()).filter(|stripe| map.member(*stripe, 4) == 0).count();
        assert_eq!((map.stripes(), parities), (15, 6));
        for stripe in 0..map.stripes() {
            for position in 0..5 {
                let (member, range) = map.place(stripe, position, &(3..7));
                assert_eq!(map.places(stripe).of(position, &(3..7)), (member, range));
                assert_eq!(map.what_is_at(member, range.start), Some((stripe, position, 3)));
            }
        }
    }

    #[test]
    fn ways_to_find_a_place_agree() {
        let map = map(6, 2, 6);
        for stripe in 0..map.stripes() {
            for position in 0..6 {
                let (member, range) = map.place(stripe, position, &(3..7));
                assert_eq!(map.places(stripe).of(position, &(3..7)), (member, range));
                assert_eq!(map.what_is_at(member, range.start), Some((stripe, position, 3)));
            }
        }
        assert_eq!(map.what_is_at(0, Lba(99)), None);
        for start in 0..40 {
            for count in 1..20 {
                let range = SectorRange::new(Lba(start), Sectors(count));
                let blocks = map.blocks(range);
                let is_one = start / 8 == (start + count - 1) / 8;
                assert_eq!(map.single(range), is_one.then(|| blocks[0].clone()));
            }
        }
    }

    /// Every sector of a range is in one block, and no other is.
    #[test]
    fn blocks_cover_a_range_once() {
        let map = map(5, 1, 5);
        for start in 0..70 {
            for count in 1..90 {
                let range = SectorRange::new(Lba(start), Sectors(count));
                let blocks = map.blocks(range);
                let mut sectors: Vec<u64> = blocks
                    .iter()
                    .flat_map(|block| map.hosts(block).map(|host| host.1).collect::<Vec<_>>())
                    .flat_map(|host| host.start.0..host.start.0 + host.count.0)
                    .collect();
                sectors.sort_unstable();
                assert_eq!(sectors, (start..start + count).collect::<Vec<_>>());
                assert!(blocks.iter().all(|block| !block.chunks.is_empty() && block.rows.end <= 8));
            }
        }
    }
}
