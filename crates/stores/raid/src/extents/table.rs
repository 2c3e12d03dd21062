//! An extent table in few bytes: runs of tiles, and what was moved out of them.

use super::{ExtentTable, Group, Slot};

/// An extent table as runs of tiles whose slots follow each other on the same members.
///
/// A run has 8 bytes for its first tile and 5 for each position: a byte for the member, four for the slot of the first tile. Every answer is exact. A
/// position that was moved out of its run is an exception of 16 bytes; a table that is made anew makes runs of such positions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupTable {
    width: usize,
    /// The first tile of each run.
    starts: Vec<u64>,
    /// The member of each position, run after run.
    members: Vec<u8>,
    /// The slot of each position of the first tile, run after run.
    slots: Vec<u32>,
    /// Positions that lie elsewhere, by `tile * width + position`.
    moved: Vec<(u64, Slot)>,
}

impl GroupTable {
    /// The same tiles in few bytes.
    ///
    /// # Panics
    /// A member's number is above 255.
    pub fn new(table: &ExtentTable) -> Self {
        let mut new = Self {
            width: table.width(),
            starts: Vec::new(),
            members: Vec::new(),
            slots: Vec::new(),
            moved: Vec::new(),
        };
        for tile in 0..table.len() {
            let slots = table.tile(tile);
            let follows = new.starts.last().is_some_and(|start| {
                let run = new.starts.len() - 1;
                slots.iter().enumerate().all(|(position, slot)| new.of_run(run, tile - start, position) == *slot)
            });
            if !follows {
                new.push(tile, slots.iter().copied());
            }
        }
        new
    }

    /// The table of [`ExtentTable::of_groups`] without making that one first.
    ///
    /// # Panics
    /// A member's number is above 255, or a slot's above 2^32.
    pub fn of_groups(groups: &[Group], width: usize) -> Self {
        let members = groups.iter().flat_map(|group| &group.members).max().map_or(0, |last| usize::from(*last) + 1);
        let (mut new, mut used, mut tile) = (Self::empty(width), vec![0u64; members], 0);
        for group in groups {
            let slot = |member: &u16| {
                let slot = u32::try_from(used[usize::from(*member)]).expect("at most 2^32 slots");
                Slot { member: *member, slot }
            };
            new.push(tile, group.members.iter().map(slot));
            group.members.iter().for_each(|member| used[usize::from(*member)] += group.tiles);
            tile += group.tiles;
        }
        new
    }

    const fn empty(width: usize) -> Self {
        Self { width, starts: Vec::new(), members: Vec::new(), slots: Vec::new(), moved: Vec::new() }
    }

    /// Adds a run whose first tile has these slots.
    fn push(&mut self, tile: u64, slots: impl Iterator<Item = Slot>) {
        self.starts.push(tile);
        for slot in slots {
            self.members.push(u8::try_from(slot.member).expect("at most 256 members"));
            self.slots.push(slot.slot);
        }
    }

    /// The slot of a tile's position. A tile beyond the last one has slots beyond the last ones.
    ///
    /// # Panics
    /// The table has no tile.
    #[inline]
    pub fn find(&self, tile: u64, position: usize) -> Slot {
        if !self.moved.is_empty() {
            let key = self.key(tile, position);
            if let Ok(place) = self.moved.binary_search_by_key(&key, |moved| moved.0) {
                return self.moved[place].1;
            }
        }
        self.unmoved(tile, position)
    }

    /// Puts a position of a tile on another slot.
    pub fn place(&mut self, tile: u64, position: usize, slot: Slot) {
        let key = self.key(tile, position);
        let is_back = self.unmoved(tile, position) == slot;
        match self.moved.binary_search_by_key(&key, |moved| moved.0) {
            Ok(place) if is_back => _ = self.moved.remove(place),
            Ok(place) => self.moved[place].1 = slot,
            Err(_) if is_back => {}
            Err(place) => self.moved.insert(place, (key, slot)),
        }
    }

    /// Number of runs.
    pub const fn runs(&self) -> usize {
        self.starts.len()
    }

    /// Bytes of the runs.
    pub fn bytes(&self) -> usize {
        size_of_val(&self.starts[..]) + size_of_val(&self.members[..]) + size_of_val(&self.slots[..])
    }

    /// Bytes of what was moved out of runs.
    pub fn moved_bytes(&self) -> usize {
        size_of_val(&self.moved[..])
    }

    fn key(&self, tile: u64, position: usize) -> u64 {
        tile * self.width as u64 + position as u64
    }

    #[inline]
    fn unmoved(&self, tile: u64, position: usize) -> Slot {
        let run = self.starts.partition_point(|start| *start <= tile) - 1;
        self.of_run(run, tile - self.starts[run], position)
    }

    #[inline]
    fn of_run(&self, run: usize, row: u64, position: usize) -> Slot {
        let place = run * self.width + position;
        Slot { member: u16::from(self.members[place]), slot: self.slots[place].wrapping_add(row as u32) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placement::peel::tests::random;
    use crate::placement::tests::{one, some, two};
    use crate::placement::{Placement, Site, UNEQUAL};

    fn table(sites: &[Site], width: usize) -> ExtentTable {
        ExtentTable::of_groups(&UNEQUAL.groups(sites, width).unwrap(), width)
    }

    fn is_same(short: &GroupTable, table: &ExtentTable) -> bool {
        (0..table.len()).all(|tile| (0..table.width()).all(|p| short.find(tile, p) == table.tile(tile)[p]))
    }

    #[test]
    fn a_short_table_says_what_the_long_one_says() {
        let mut next = random(83);
        for _ in 0..200 {
            let width = 1 + next(5) as usize;
            let sites = some(&mut next, width, 30);
            let mut table = table(&sites, width);
            assert_eq!(GroupTable::of_groups(&table.groups(), width), GroupTable::new(&table));
            let mut short = GroupTable::new(&table);
            let bytes = short.bytes();
            assert!(is_same(&short, &table));
            let whole = table.clone();
            for _ in 0..20 {
                let (tile, position) = (next(table.len()), next(width as u64) as usize);
                let slot = match next(4) {
                    0 => whole.tile(tile)[position],
                    _ => Slot { member: next(9) as u16, slot: next(99) as u32 },
                };
                table.place(tile, position, slot);
                short.place(tile, position, slot);
                assert!(is_same(&short, &table));
            }
            let differing = (0..table.len()).flat_map(|tile| table.tile(tile).iter().zip(whole.tile(tile)));
            let moved = differing.filter(|(now, before)| now != before).count();
            assert_eq!((short.bytes(), short.moved_bytes()), (bytes, 16 * moved), "what is back costs nothing");
            assert!(is_same(&GroupTable::new(&table), &table));
        }
    }

    /// The learned index of dissertation 000 Table 10 has 1,328 and 14,288. The tables have as many bytes whatever a slot is.
    #[test]
    fn the_tables_of_the_papers_arrays_have_138_and_266_bytes() {
        for (sites, width, runs, bytes) in [(one(), 3, 6, 138), (two(), 6, 7, 266)] {
            let short = GroupTable::new(&table(&sites, width));
            assert_eq!((short.runs(), short.bytes(), short.moved_bytes()), (runs, bytes, 0));
        }
    }
}
