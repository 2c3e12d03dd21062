//! The extent table: which slots of which members each tile of an array has.
//!
//! Members are cut into slots of equal size. A tile of an array has `width` slots, each on another member. Stripes lie within tiles, so that a tile can
//! be moved without another one.

mod flow;
pub mod learned;
mod retarget;
mod table;

use serde::{Deserialize, Serialize};

pub use retarget::{Move, Plan, Rebalance, Target, retarget};
pub use table::GroupTable;

/// A slot of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Slot {
    /// The member.
    pub member: u16,
    /// The number of the slot on it, from 0.
    pub slot: u32,
}

/// Tiles that follow each other and lie on the same members, in the order of their positions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// The member of each position.
    pub members: Vec<u16>,
    /// How many tiles.
    pub tiles: u64,
}

/// The slots of all tiles.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExtentTable {
    width: usize,
    /// Slot after slot, tile after tile.
    slots: Vec<Slot>,
}

impl ExtentTable {
    /// Tiles of these groups, one after the other, on the first free slots of each member.
    ///
    /// # Panics
    /// A group has another number of members than `width`.
    pub fn of_groups(groups: &[Group], width: usize) -> Self {
        let members = groups.iter().flat_map(|group| &group.members).map(|member| usize::from(*member) + 1).max();
        let mut next = vec![0u32; members.unwrap_or(0)];
        let mut slots = Vec::new();
        for group in groups {
            assert_eq!(group.members.len(), width, "a tile has a slot for each position");
            for _ in 0..group.tiles {
                for member in &group.members {
                    let slot = &mut next[usize::from(*member)];
                    slots.push(Slot { member: *member, slot: *slot });
                    *slot += 1;
                }
            }
        }
        Self { width, slots }
    }

    /// Slots of a tile.
    pub const fn width(&self) -> usize {
        self.width
    }

    /// Number of tiles.
    pub fn len(&self) -> u64 {
        (self.slots.len() / self.width) as u64
    }

    /// The highest number of a member that has a slot in use; 0 if there is none.
    pub fn last_member(&self) -> u16 {
        self.slots.iter().map(|slot| slot.member).max().unwrap_or(0)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// The slots of a tile, by position.
    ///
    /// # Panics
    /// There is no such tile.
    #[inline]
    pub fn tile(&self, tile: u64) -> &[Slot] {
        let first = tile as usize * self.width;
        &self.slots[first..first + self.width]
    }

    /// Puts a position of a tile on another slot.
    pub fn place(&mut self, tile: u64, position: usize, slot: Slot) {
        self.slots[tile as usize * self.width + position] = slot;
    }

    /// Takes the tiles from `tiles` on away.
    pub fn truncate(&mut self, tiles: u64) {
        self.slots.truncate(tiles as usize * self.width);
    }

    /// Appends a tile.
    ///
    /// # Panics
    /// It has another number of slots than `width`.
    pub fn push(&mut self, slots: &[Slot]) {
        assert_eq!(slots.len(), self.width, "a tile has a slot for each position");
        self.slots.extend_from_slice(slots);
    }

    /// Tiles that follow each other on the same members, together.
    pub fn groups(&self) -> Vec<Group> {
        let mut groups: Vec<Group> = Vec::new();
        for tile in self.slots.chunks(self.width) {
            let members: Vec<u16> = tile.iter().map(|slot| slot.member).collect();
            match groups.last_mut() {
                Some(group) if group.members == members => group.tiles += 1,
                _ => groups.push(Group { members, tiles: 1 }),
            }
        }
        groups
    }

    /// Whether a member has a slot in use.
    pub fn uses(&self, slot: Slot) -> bool {
        self.slots.contains(&slot)
    }

    /// Tiles on a member, with the position and slot there.
    pub fn on(&self, member: u16) -> impl Iterator<Item = (u64, usize, u32)> + '_ {
        let of = self.slots.iter().enumerate().filter(move |(_, slot)| slot.member == member);
        of.map(|(number, slot)| ((number / self.width) as u64, number % self.width, slot.slot))
    }
}
