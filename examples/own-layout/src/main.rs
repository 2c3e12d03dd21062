//! An array layout of one's own: a stripe over members of unequal sizes.
//!
//! Run it with `cargo run -p own-layout`.

use wane_blockdev::{BlockDevice, Living, Ram};
use wane_raid::{Layout, LayoutError, Piece, Spread, Stripe};
use wane_units::{Lba, Sectors};

// ANCHOR: layout
/// Chunks on all members in turns. Once the smallest is full, the others take turns alone, and so on: no member's space is wasted.
#[derive(Clone, Debug)]
pub struct Zones {
    chunk: u64,
    zones: Vec<Zone>,
}

/// Chunks that lie on the same members.
#[derive(Clone, Debug)]
struct Zone {
    /// Its first chunk in the array, and the first on each of its members.
    first: u64,
    row: u64,
    members: Vec<usize>,
}

impl Zones {
    /// Zones with chunks of `chunk` sectors.
    pub const fn new(chunk: Sectors) -> Self {
        Self { chunk: chunk.0, zones: Vec::new() }
    }
}
// ANCHOR_END: layout

// ANCHOR: impl
impl Layout for Zones {
    fn capacity(&mut self, members: &[Sectors], unit: Sectors) -> Result<Sectors, LayoutError> {
        if self.chunk == 0 || !self.chunk.is_multiple_of(unit.0) {
            return Err(LayoutError::Chunk(self.chunk, unit.0));
        }
        let rows: Vec<u64> = members.iter().map(|member| member.0 / self.chunk).collect();
        let (mut row, mut first) = (0, 0);
        self.zones.clear();
        // The next zone ends where the smallest member does that has room left.
        while let Some(end) = rows.iter().copied().filter(|rows| *rows > row).min() {
            let members: Vec<usize> = (0..rows.len()).filter(|member| rows[*member] > row).collect();
            let chunks = (end - row) * members.len() as u64;
            self.zones.push(Zone { first, row, members });
            (row, first) = (end, first + chunks);
        }
        match first {
            0 => Err(LayoutError::Small(members.iter().map(|member| member.0).max().unwrap_or(0), self.chunk)),
            chunks => Ok(Sectors(chunks * self.chunk)),
        }
    }

    fn find(&self, sector: Lba) -> Piece {
        let (chunk, within) = (sector.0 / self.chunk, sector.0 % self.chunk);
        let zone = &self.zones[self.zones.partition_point(|zone| zone.first <= chunk) - 1];
        let (number, width) = (chunk - zone.first, zone.members.len() as u64);
        let start = (zone.row + number / width) * self.chunk + within;
        Piece {
            member: zone.members[(number % width) as usize],
            start: Lba(start),
            count: Sectors(self.chunk - within),
        }
    }
}
// ANCHOR_END: impl

/// Members in memory, of 4, 1 and 2 MiB.
fn members() -> Vec<Box<dyn Living>> {
    [8192, 2048, 4096].map(|sectors| Box::new(Ram::new(Sectors(sectors))) as Box<dyn Living>).into()
}

fn main() -> Result<(), LayoutError> {
    // ANCHOR: use
    let zones = Spread::new(Zones::new(Sectors(128)), members())?;
    let stripe = Spread::new(Stripe::new(Sectors(128)), members())?;
    println!("zones:  {} KiB", zones.capacity().0 / 2);
    println!("stripe: {} KiB", stripe.capacity().0 / 2);
    // ANCHOR_END: use
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use wane_testkit::conformance;

    // ANCHOR: test
    #[test]
    fn no_place_is_taken_twice_and_none_is_left_out() {
        let mut layout = Zones::new(Sectors(8));
        assert_eq!(layout.capacity(&[Sectors(35), Sectors(8), Sectors(16)], Sectors(1)), Ok(Sectors(56)));
        let mut places: Vec<(usize, u64)> =
            (0..56).map(|sector| layout.find(Lba(sector))).map(|piece| (piece.member, piece.start.0)).collect();
        places.sort_unstable();
        let all = [(0, 32), (1, 8), (2, 16)];
        let want: Vec<(usize, u64)> =
            all.into_iter().flat_map(|(member, count)| (0..count).map(move |sector| (member, sector))).collect();
        assert_eq!(places, want);
    }

    #[test]
    fn it_makes_a_living_device() {
        let array = || -> Box<dyn Living> {
            Box::new(Spread::new(Zones::new(Sectors(16)), members()).expect("chunks that fit"))
        };
        conformance::living_device("zones", &array, true, 32);
    }
    // ANCHOR_END: test
}
