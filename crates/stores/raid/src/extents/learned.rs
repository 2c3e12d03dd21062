//! The learned index of dissertation 000 §6.4.4, beside which [`GroupTable`](super::GroupTable) is measured. Arrays do not use it.
//!
//! The chunks of an array, parities included, are numbered stripe by stripe. Within a group of tiles, the chunks that have the same place in a stripe and
//! the same rotation lie on one member, and their offsets there are a linear function of their numbers: `offset = K * chunk + I`. Here K is
//! 1/n, stored as n, and the sum is taken before the division, so that no answer is ever wrong: `offset = (chunk + I) / n`.

use super::{Group, Slot};

/// Bytes of a segment in a flat list: its first chunk, its length, K and I.
pub const FLAT: usize = 14;
/// Bytes of a leaf in a tree: K and I.
pub const LEAF: usize = 6;
/// Bytes of an inner node: its first chunk and its first leaf; and of the first chunk of a leaf that was split.
const NODE: usize = 8;
const KEY: usize = 4;

/// A linear model of the chunks from `start` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Leaf {
    start: u32,
    /// The member, and what the sum is divided by.
    member: u8,
    divisor: u8,
    intercept: i32,
}

impl Leaf {
    #[inline]
    const fn slot(self, chunk: u32) -> Slot {
        let offset = (chunk as i64 + self.intercept as i64) / self.divisor as i64;
        Slot { member: self.member as u16, slot: offset as u32 }
    }
}

/// An exact learned index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Learned {
    width: u32,
    /// The first chunk of each group.
    starts: Vec<u32>,
    /// Leaves by class, in rising order of their starts. A class is a place in a stripe under a rotation, in a group.
    classes: Vec<Vec<Leaf>>,
}

impl Learned {
    /// An index of the stripes of groups, each of which has `tiles` stripes. Parities, of which there are `parities`, rotate as in md's left-symmetric
    /// layout.
    ///
    /// # Panics
    /// There are more than 256 members, or more than 2^31 chunks.
    pub fn new(groups: &[Group], width: usize, parities: usize) -> Self {
        let members = groups.iter().flat_map(|group| &group.members).max().map_or(0, |last| usize::from(*last) + 1);
        let mut used = vec![0u64; members];
        let (mut starts, mut classes) = (Vec::new(), Vec::new());
        let mut start = 0u64;
        for group in groups {
            starts.push(u32::try_from(start).expect("at most 2^31 chunks"));
            for class in 0..width * width {
                let member = group.members[position(class / width, class % width, width, parities)];
                // The first chunk of the class has the number `start + class`, and lies in row `class / width` of the group.
                let first = used[usize::from(member)] + (class / width) as u64;
                let intercept = (first * width as u64) as i64 - (start + class as u64) as i64;
                classes.push(vec![Leaf {
                    start: (start + class as u64) as u32,
                    member: u8::try_from(member).expect("at most 256 members"),
                    divisor: width as u8,
                    intercept: i32::try_from(intercept).expect("at most 2^31 chunks"),
                }]);
            }
            group.members.iter().for_each(|member| used[usize::from(*member)] += group.tiles);
            start += group.tiles * width as u64;
        }
        Self { width: width as u32, starts, classes }
    }

    /// The slot of a chunk.
    ///
    /// # Panics
    /// The index is empty.
    #[inline]
    pub fn find(&self, chunk: u32) -> Slot {
        let leaves = &self.classes[self.class(chunk)];
        let leaf = match leaves.len() {
            1 => 0,
            _ => leaves.partition_point(|leaf| leaf.start <= chunk) - 1,
        };
        leaves[leaf].slot(chunk)
    }

    /// Puts a chunk on another slot: its leaf becomes up to three.
    pub fn place(&mut self, chunk: u32, slot: Slot) {
        let (class, stride) = (self.class(chunk), self.width * self.width);
        let leaves = &mut self.classes[class];
        let old = leaves.partition_point(|leaf| leaf.start <= chunk) - 1;
        let was = leaves[old];
        // The rest of the leaf goes on behind the chunk, unless another leaf begins there.
        if leaves.get(old + 1).is_none_or(|next| next.start != chunk + stride) {
            leaves.insert(old + 1, Leaf { start: chunk + stride, ..was });
        }
        let own = Leaf {
            start: chunk,
            member: slot.member as u8,
            divisor: 1,
            intercept: (i64::from(slot.slot) - i64::from(chunk)) as i32,
        };
        if was.start == chunk {
            leaves[old] = own;
        } else {
            leaves.insert(old + 1, own);
        }
        merge(leaves, old.saturating_sub(1), stride);
    }

    fn class(&self, chunk: u32) -> usize {
        let group = self.starts.partition_point(|start| *start <= chunk) - 1;
        let classes = self.width * self.width;
        group * classes as usize + ((chunk - self.starts[group]) % classes) as usize
    }

    /// Number of leaves.
    pub fn leaves(&self) -> usize {
        self.classes.iter().map(Vec::len).sum()
    }

    /// Bytes as a flat list of segments.
    pub fn flat_bytes(&self) -> usize {
        self.leaves() * FLAT
    }

    /// Bytes as a tree: leaves, a node for each group, and the first chunk of each leaf that a split made.
    pub fn tree_bytes(&self) -> usize {
        self.leaves() * LEAF + self.starts.len() * NODE + (self.leaves() - self.classes.len()) * KEY
    }
}

/// Joins leaves that say the same of each other's chunks, five from number `from` on, and those before that then say the same.
fn merge(leaves: &mut Vec<Leaf>, from: usize, stride: u32) {
    let mut at = from;
    while at + 1 < leaves.len().min(from + 5) {
        let (one, next) = (leaves[at], leaves[at + 1]);
        let beyond = leaves.get(at + 2).map_or(u32::MAX, |leaf| leaf.start);
        let is_one_chunk = |leaf: Leaf, end: u32| end - leaf.start <= stride;
        if is_one_chunk(next, beyond) && one.slot(next.start) == next.slot(next.start)
            || (one.member, one.divisor, one.intercept) == (next.member, next.divisor, next.intercept)
        {
            leaves.remove(at + 1);
        } else if is_one_chunk(one, next.start) && next.slot(one.start) == one.slot(one.start) {
            leaves[at + 1].start = one.start;
            leaves.remove(at);
            at = at.saturating_sub(1);
        } else {
            at += 1;
        }
    }
}

/// The position that has chunk `place` of a stripe, parities last, in md's left-symmetric layout. `row` is the stripe's number in its group.
#[inline]
const fn position(row: usize, place: usize, width: usize, parities: usize) -> usize {
    (width - 1 - row % width + parities + place) % width
}

#[cfg(test)]
mod tests {
    use super::super::{ExtentTable, GroupTable};
    use super::*;
    use crate::placement::peel::tests::random;
    use crate::placement::tests::{one, some, two};
    use crate::placement::{Placement, UNEQUAL};

    /// The slot of each chunk, by the extent table.
    fn slots(groups: &[Group], width: usize, parities: usize) -> Vec<Slot> {
        let table = ExtentTable::of_groups(groups, width);
        let mut slots = Vec::new();
        let mut stripe = 0;
        for group in groups {
            for row in 0..group.tiles as usize {
                let of = |place| table.tile(stripe)[position(row, place, width, parities)];
                slots.extend((0..width).map(of));
                stripe += 1;
            }
        }
        slots
    }

    #[test]
    fn the_learned_index_is_exact_before_and_after_moves() {
        let mut next = random(59);
        for _ in 0..200 {
            let width = 2 + next(4) as usize;
            let groups = UNEQUAL.groups(&some(&mut next, width, 40), width).unwrap();
            let mut want = slots(&groups, width, 1);
            let whole = want.clone();
            let mut index = Learned::new(&groups, width, 1);
            let unmoved = index.clone();
            for _ in 0..30 {
                let chunk = next(want.len() as u64) as usize;
                let slot = match next(3) {
                    0 => whole[chunk],
                    _ => Slot { member: next(9) as u16, slot: next(99) as u32 },
                };
                want[chunk] = slot;
                index.place(chunk as u32, slot);
                let found = (0..want.len() as u32).map(|chunk| index.find(chunk)).collect::<Vec<Slot>>();
                assert_eq!(found, want);
            }
            assert!(index.leaves() <= unmoved.leaves() + 60, "a move makes two leaves at most");
            (0..want.len()).for_each(|chunk| index.place(chunk as u32, whole[chunk]));
            assert_eq!(index.leaves(), unmoved.leaves(), "what lies where it lay needs no leaf of its own");
        }
    }

    #[test]
    fn the_table_of_groups_is_smaller_than_the_learned_index() {
        for (sites, width, parities, bytes) in [(one(), 3, 1, [756, 372, 138]), (two(), 6, 2, [3528, 1568, 266])] {
            let groups = UNEQUAL.groups(&sites, width).unwrap();
            let learned = Learned::new(&groups, width, parities);
            let table = GroupTable::new(&ExtentTable::of_groups(&groups, width));
            assert_eq!([learned.flat_bytes(), learned.tree_bytes(), table.bytes()], bytes);
        }
    }
}
