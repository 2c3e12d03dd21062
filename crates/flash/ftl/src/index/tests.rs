//! Tests of the index by hand, and of its forms against each other.

use super::*;
use crate::policies::Mode;
use crate::policies::victim::GcView;

/// Blocks 0, 1, 2, ... with these valid counts, closed in order at clock 1, 2, 3, ....
pub(crate) fn closed(units_per_block: u32, valid: &[u32], spec: IndexSpec) -> VictimIndex {
    let mut index = VictimIndex::new(SuperblockId(0), valid.len() as u32, units_per_block, spec).expect("memory");
    for (block, valid) in (0..).zip(valid) {
        index.add_valid(SuperblockId(block), 0, *valid);
        index.close(SuperblockId(block), u64::from(block) + 1, 0);
    }
    index.fill_window();
    index
}

/// Makes the last valid unit of a block invalid.
pub(crate) fn lose_one(index: &mut VictimIndex, block: SuperblockId) {
    let last = index.valid_units(block).last().expect("a valid unit to lose");
    index.invalidate(block, last);
}

pub(crate) fn view<'a>(index: &'a VictimIndex, erase_count: &'a [u32], now: u64) -> GcView<'a> {
    GcView { index, erase_count, host_reads: &[], mode: Mode::Normal, free: 16, now }
}

#[test]
fn entry_order_follows_the_last_move() {
    let mut index = closed(4, &[3, 2, 3], IndexSpec::default());
    lose_one(&mut index, SuperblockId(2));
    lose_one(&mut index, SuperblockId(0));
    assert_eq!((index.first(2), index.last(2)), (Some(SuperblockId(1)), Some(SuperblockId(0))));
    index.open(SuperblockId(1));
    assert_eq!(index.first(2), Some(SuperblockId(2)));
    assert_eq!(index.lowest(), Some(2));
}

#[test]
fn keyed_orders_ignore_the_time_of_entry() {
    let spec = IndexSpec { order: Order::Closing, ..IndexSpec::default() };
    let mut index = closed(8, &[5, 4, 4], spec);
    lose_one(&mut index, SuperblockId(0));
    assert_eq!(index.first(4), Some(SuperblockId(0)));
    index.open(SuperblockId(0));
    assert_eq!(index.first(4), Some(SuperblockId(1)));
    let mut wear = VictimIndex::new(SuperblockId(0), 2, 4, IndexSpec { order: Order::Wear, ..IndexSpec::default() })
        .expect("memory");
    wear.close(SuperblockId(0), 1, 9);
    wear.close(SuperblockId(1), 2, 3);
    assert_eq!(wear.first(0), Some(SuperblockId(1)));
}

#[test]
fn the_most_worn_block_comes_first_also_after_wear_was_projected() {
    let spec = IndexSpec { order: Order::MostWorn, roster: Roster::Nothing, ..IndexSpec::default() };
    let mut index = VictimIndex::new(SuperblockId(0), 3, 4, spec).expect("memory");
    for (block, erases) in [(0, 3), (1, 9), (2, 9)] {
        index.close(SuperblockId(block), 1, erases);
    }
    assert_eq!((index.first(0), index.last(0)), (Some(SuperblockId(1)), None));
    index.open(SuperblockId(1));
    assert_eq!(index.first(0), Some(SuperblockId(2)));
    index.resync(&[20, 9, 19]);
    assert_eq!(index.first(0), Some(SuperblockId(0)));
}

#[test]
fn a_window_holds_the_oldest_blocks() {
    let mut index = closed(4, &[4, 3, 1], IndexSpec { window: Some(ShareOrCount::Count(2)), ..IndexSpec::default() });
    assert_eq!((index.lowest(), index.oldest_waiting()), (Some(3), Some(SuperblockId(2))));
    assert_eq!(index.invalid_in_window(), 1);
    index.open(SuperblockId(1));
    index.fill_window();
    assert_eq!((index.lowest(), index.oldest_waiting()), (Some(1), None));
}

#[test]
fn the_likely_victim_may_still_wait_for_the_window() {
    let spec = IndexSpec { window: Some(ShareOrCount::Count(2)), roster: Roster::Nothing, ..IndexSpec::default() };
    let mut index = closed(4, &[4, 3, 1], spec);
    assert_eq!(index.likely_victim(), Some(SuperblockId(1)));
    index.open(SuperblockId(1));
    assert_eq!(index.likely_victim(), Some(SuperblockId(2)));
    let by_age = closed(4, &[4, 3, 1], IndexSpec { roster: Roster::ByAge, ..IndexSpec::default() });
    assert_eq!(by_age.likely_victim(), Some(SuperblockId(0)));
}

/// What a policy can ask of all closed blocks.
fn asked(index: &VictimIndex) -> (Option<SuperblockId>, Option<SuperblockId>, Vec<SuperblockId>) {
    let mut closed: Vec<SuperblockId> = index.closed_blocks().collect();
    let by_position: Vec<SuperblockId> = (0..index.closed_len()).map(|position| index.closed(position)).collect();
    assert_eq!(by_position, closed, "positions are those of the list");
    closed.sort_unstable();
    (index.oldest(), index.oldest_waiting(), closed)
}

#[test]
fn whatever_the_roster_answers_are_the_same() {
    let orders = [Order::Closing, Order::Wear, Order::MostWorn].map(|order| (order, None));
    for (order, window) in [(Order::Entry, None), (Order::Entry, Some(9))].into_iter().chain(orders) {
        let rosters = [Roster::Full, Roster::ByPosition, Roster::ByAge, Roster::Nothing];
        let mut stream = wane_sim::Streams::new(8).stream("roster");
        let spec =
            |roster| IndexSpec { order, window: window.map(ShareOrCount::Count), roster, ..IndexSpec::default() };
        let mut indices = rosters.map(|roster| closed(16, &[16; 40], spec(roster)));
        for now in 41..4000u64 {
            let block = SuperblockId(stream.below(40) as u32);
            let opens = stream.chance(0.1);
            for index in &mut indices {
                match (index.is_closed(block), index.valid(block)) {
                    (true, valid) if valid == 0 || opens => index.open(block),
                    (true, _) => lose_one(index, block),
                    (false, _) => {
                        index.clear(block);
                        index.add_valid(block, 0, 16);
                        // Several close at the same clock.
                        index.close(block, now / 9 * 9, 0);
                    }
                }
                index.fill_window();
            }
            let [full, others @ ..] = &indices;
            for other in others {
                assert_eq!(asked(other), asked(full));
                assert_eq!((other.closed_len(), other.lowest()), (full.closed_len(), full.lowest()));
            }
        }
        // Files of other versions, which kept other lists.
        let [full, .., nothing] = &mut indices;
        for (written, roster) in [(full.clone(), Roster::Nothing), (nothing.clone(), Roster::Full)] {
            let mut again = VictimIndex::new(SuperblockId(0), 40, 16, spec(roster)).unwrap();
            read_back(written, &mut again);
            let mut like = nothing.clone();
            for block in (0..40).map(SuperblockId) {
                assert_eq!(asked(&again), asked(&like));
                for index in [&mut again, &mut like] {
                    if index.is_closed(block) {
                        index.open(block);
                    } else {
                        index.close(block, 5000, 0);
                    }
                    index.fill_window();
                }
            }
        }
    }
}

/// Writes an index to a file and reads it into another one of the same number of blocks.
fn read_back(mut written: VictimIndex, into: &mut VictimIndex) {
    let mut writer = wane_archive::Writer::new(Vec::new()).unwrap();
    written.archive(&mut writer).unwrap();
    let bytes = writer.finish().unwrap();
    let mut reader = wane_archive::Reader::new(bytes.as_slice()).unwrap();
    into.archive(&mut reader).unwrap();
    reader.finish().unwrap();
}

#[test]
fn random_moves_keep_every_structure_true() {
    for order in [Order::Entry, Order::Closing, Order::Wear, Order::MostWorn] {
        let mut stream = wane_sim::Streams::new(3).stream("index");
        let mut index = closed(16, &[16; 40], IndexSpec { order, ..IndexSpec::default() });
        for now in 0..20_000u64 {
            let block = SuperblockId(stream.below(40) as u32);
            match (index.is_closed(block), index.valid(block)) {
                (true, 0) => index.open(block),
                (true, _) if stream.chance(0.02) => index.open(block),
                (true, _) => lose_one(&mut index, block),
                (false, _) => {
                    index.clear(block);
                    index.add_valid(block, 0, 16);
                    index.close(block, now / 7, now as u32 % 5);
                }
            }
            let want = (0..40).map(SuperblockId).filter(|block| index.is_closed(*block));
            assert_eq!(index.lowest(), want.map(|block| index.valid(block)).min());
            if let Some(valid) = index.lowest() {
                let first = index.first(valid).unwrap();
                assert!(index.is_closed(first) && index.valid(first) == valid);
            }
            let oldest = (0..40)
                .filter(|b| index.is_closed(SuperblockId(*b)))
                .min_by_key(|b| index.closings[*b as usize].sequence);
            assert_eq!(index.oldest(), oldest.map(SuperblockId));
        }
    }
}
