//! Where a chunk of an array lies: the table of groups beside the learned index of dissertation 000 §6.4.4.
//!
//! `cargo bench -p wane-raid --bench index` prints one JSON object a line for each of the paper's two configurations, whose chunks have 64 KiB in groups of
//! whole GiB: bytes, nanoseconds of a look-up of a random chunk, and nanoseconds of an update, which moves one chunk elsewhere; first of an array of which
//! nothing was moved, then of one of which 4,096 chunks were. The paper has 1,328 and 14,288 bytes, 72 and 76 ns, 145 and 183 ns. Then it prints how long
//! placements and plans take (the paper's solver: 0.09 and 20.48 s). Each figure is the best of several runs.

#![allow(clippy::disallowed_methods, reason = "a bench reads the clock")]
#![allow(missing_docs, reason = "a program")]

use std::time::Instant;

use wane_raid::extents::learned::Learned;
use wane_raid::{ExtentTable, GroupTable, Placement, Rebalance, Site, Slot, Target, UNEQUAL, retarget};
use wane_sim::{Stream, Streams};

const RUNS: usize = 5;
const LOOK_UPS: usize = 1 << 20;
const UPDATES: usize = 4096;
/// Chunks of 64 KiB in a GiB.
const CHUNKS: u64 = 16_384;
/// Tiles of 64 MiB in a GiB.
const TILES: u64 = 16;

/// Members by their GiB and their speed in GiB/s, of which the first ones are NVMe.
type Members = [(u64, f64)];

fn sites(members: &Members, unit: u64) -> Vec<Site> {
    members.iter().map(|(gib, speed)| Site { slots: gib * unit, speed: *speed }).collect()
}

/// The best of several runs, in nanoseconds a call.
fn best(calls: usize, mut run: impl FnMut()) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..RUNS {
        let start = Instant::now();
        run();
        best = best.min(start.elapsed().as_secs_f64() * 1e9 / calls as f64);
    }
    best
}

/// The slot of a chunk by the table: a division and a remainder, a search, and the rotation.
#[inline]
fn look_up(table: &GroupTable, chunk: u32, width: u32, parities: u32) -> Slot {
    let (stripe, place) = (chunk / width, chunk % width);
    table.find(u64::from(stripe), ((width - 1 - stripe % width + parities + place) % width) as usize)
}

fn sum(slots: impl Iterator<Item = Slot>) -> u64 {
    slots.fold(0, |sum: u64, slot| sum.wrapping_mul(31).wrapping_add(u64::from(slot.slot) + u64::from(slot.member)))
}

fn index(name: &str, members: &Members, width: usize, parities: usize, stream: &mut Stream) {
    let mut groups = UNEQUAL.groups(&sites(members, 1), width).expect("as many members as a stripe is wide");
    groups.iter_mut().for_each(|group| group.tiles *= CHUNKS);
    let (mut table, mut learned) = (GroupTable::of_groups(&groups, width), Learned::new(&groups, width, parities));
    let stripes: u64 = groups.iter().map(|group| group.tiles).sum();
    let count = stripes * width as u64;
    let chunks: Vec<u32> = (0..LOOK_UPS).map(|_| stream.below(count) as u32).collect();
    let moved: Vec<(u32, Slot)> =
        (0..UPDATES as u32).map(|number| (stream.below(count) as u32, Slot { member: 0, slot: number * 7 })).collect();
    let (wide, shift) = (width as u32, parities as u32);
    for state in ["unmoved", "moved"] {
        let (mut by_table, mut by_model) = (0, 0);
        let of_table = best(LOOK_UPS, || {
            by_table = sum(chunks.iter().map(|chunk| look_up(&table, *chunk, wide, shift)));
        });
        let of_model = best(LOOK_UPS, || by_model = sum(chunks.iter().map(|chunk| learned.find(*chunk))));
        // The rotations differ where a group begins within a turn, so the sums need not be equal.
        println!(
            "{{\"config\":\"{name}\",\"state\":\"{state}\",\"table-bytes\":{},\"moved-bytes\":{},\"flat-bytes\":{},\"tree-bytes\":{},\"table-ns\":\
             {of_table:.1},\"learned-ns\":{of_model:.1},\"hash\":\"{by_table:016x}{by_model:016x}\"}}",
            table.bytes(),
            table.moved_bytes(),
            learned.flat_bytes(),
            learned.tree_bytes(),
        );
        if state == "unmoved" {
            let (before, model_before) = (table.clone(), learned.clone());
            let of_table = best(UPDATES, || {
                table = before.clone();
                moved
                    .iter()
                    .for_each(|(chunk, slot)| table.place(u64::from(chunk / wide), (chunk % wide) as usize, *slot));
            });
            let of_model = best(UPDATES, || {
                learned = model_before.clone();
                moved.iter().for_each(|(chunk, slot)| learned.place(*chunk, *slot));
            });
            println!("{{\"config\":\"{name}\",\"table-update-ns\":{of_table:.0},\"learned-update-ns\":{of_model:.0}}}");
        }
    }
}

fn plans(name: &str, members: &Members, width: usize) {
    let chunks = sites(members, CHUNKS);
    let place = best(1, || assert!(!UNEQUAL.groups(&chunks, width).expect("enough members").is_empty()));
    let mut new = sites(members, TILES);
    let table = ExtentTable::of_groups(&UNEQUAL.groups(&new, width).expect("enough members"), width);
    new[0].slots -= new[0].slots / 10;
    let mut moves = 0;
    let plan = best(1, || {
        let target = Target { sites: &new, tiles: u64::MAX, rebalance: Rebalance::Never, exposure: &[] };
        moves = retarget(&table, &target).expect("enough members").moves.len();
    });
    println!(
        "{{\"config\":\"{name}\",\"placement-us\":{:.1},\"tiles\":{},\"plan-us\":{:.0},\"moves\":{moves}}}",
        place / 1e3,
        table.len(),
        plan / 1e3
    );
}

fn main() {
    let mut stream = Streams::new(1).stream("bench");
    let one: &Members = &[(150, 3.33), (120, 3.33), (100, 3.33), (80, 0.48), (60, 0.48), (20, 0.48)];
    let mut two = vec![(894, 3.33); 4];
    two.extend([(2969, 3.33), (894, 2.58), (447, 0.48), (447, 0.48), (447, 0.48), (1740, 0.48)]);
    for (name, members, width, parities) in [("2+1", one, 3, 1), ("4+2", &two[..], 6, 2)] {
        index(name, members, width, parities, &mut stream);
        plans(name, members, width);
    }
}
