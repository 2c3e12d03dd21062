//! What arrays tell of their safety is what reads then find.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

mod common;

use common::{drive, ended, members, raid_config};
use wane_blockdev::{Batch, BlockDevice as _, Living, Passing, Request, SectorRange, Stop, Work};
use wane_raid::code::{COPIES_2, COPIES_3, Code, PQ, PQR, XOR};
use wane_raid::{MemberState, Mirror, MirrorConfig, Raid, RaidConfig, Redundant, Safety, UNEQUAL, redundant_of};
use wane_sim::{Stream, Streams};
use wane_units::{Fate, Lba, Nanos, Sectors};

/// Sectors that reads of a copy do not find.
fn unread(array: &dyn Redundant) -> u64 {
    let mut copy = array.another();
    let capacity = copy.capacity().0;
    let mut lost = 0;
    for start in (0..capacity).step_by(64) {
        let range = SectorRange::new(Lba(start), Sectors(64.min(capacity - start)));
        let failed = ended(&mut *copy, Request::read(range)).status.failed().to_vec();
        lost += failed.iter().map(|range| range.count.0).sum::<u64>();
    }
    lost
}

fn write(array: &mut dyn Redundant, stream: &mut Stream, times: u64) {
    for _ in 0..times {
        let range =
            SectorRange::new(Lba(8 * stream.below(array.capacity().0 / 8 - 4)), Sectors(8 + 8 * stream.below(3)));
        let bytes = vec![stream.below(250) as u8 + 1; range.len_bytes()];
        let _ = ended(array, Request::write(range, bytes));
    }
}

fn out(array: &mut dyn Redundant, member: usize) {
    let now = array.now();
    array.take_out(now, member, &mut || Fate::Done);
}

/// Writes, takes members out and puts them back, and compares after each step.
fn check(array: &mut dyn Redundant, count: u64, tolerates: usize, seed: u64) {
    let mut stream = Streams::new(seed).stream("test");
    write(array, &mut stream, 60);
    assert_eq!(array.safety(), Safety { spare: tolerates, lost: Sectors::ZERO }, "{seed}");
    for step in 0..12 {
        let member = stream.below(count) as usize;
        if array.state(member) == MemberState::Absent {
            let now = array.now();
            array.put_back(now, member).unwrap();
        } else {
            let (before, alone) = (array.safety().lost.0, array.only_on(member).0);
            out(array, member);
            assert_eq!(before + alone, array.safety().lost.0, "{seed} {step}: what goes with member {member}");
        }
        // A read is exact where no member lacks a part of what it wrote: that is unknown to nobody but reads.
        assert_eq!(array.safety().lost.0, unread(array), "{seed} {step}");
        let spare = array.safety().spare;
        assert!(spare <= tolerates);
        if array.safety().lost > Sectors::ZERO {
            break;
        }
        write(array, &mut stream, 5);
        if stream.chance(0.5) {
            let now = array.now();
            array.pass(now, Passing::Idle(Nanos::SECOND));
        }
    }
}

#[test]
fn a_raid_tells_what_reads_find() {
    let codes: [(&'static dyn Code, usize, usize); 5] =
        [(&XOR, 3, 5), (&XOR, 4, 4), (&PQ, 5, 6), (&PQR, 5, 5), (&COPIES_2, 4, 5)];
    for (number, (code, width, count)) in codes.into_iter().enumerate() {
        for seed in 0..6 {
            let sizes = members([2048, 2048, 3072, 2048, 4096, 2048]).into_iter().take(count).collect();
            let mut array = Raid::new(raid_config(code, width, &UNEQUAL), sizes).unwrap();
            check(&mut array, count as u64, code.tolerates(), 10 * number as u64 + seed);
        }
    }
}

#[test]
fn a_mirror_tells_what_reads_find() {
    for (copies, count) in [(2, 3), (3, 4)] {
        for seed in 0..6 {
            let sizes = members([1024, 1024, 2048, 1024]).into_iter().take(count).collect();
            let mut array = Mirror::new(MirrorConfig { copies, ..MirrorConfig::default() }, sizes).unwrap();
            check(&mut array, count as u64, copies - 1, 100 + seed);
        }
    }
}

/// Two copies on four members, in pairs: what counts is whether both of a pair are gone.
#[test]
fn two_drives_of_different_pairs_lose_nothing() {
    let mut array = Raid::new(raid_config(&COPIES_2, 2, &UNEQUAL), members([2048; 4]).into_iter().collect()).unwrap();
    write(&mut array, &mut Streams::new(1).stream("test"), 60);
    let pairs = array.table().groups();
    let pair: Vec<usize> = pairs[0].members.iter().map(|member| usize::from(*member)).collect();
    let others: Vec<usize> = (0..4).filter(|member| !pair.contains(member)).collect();
    out(&mut array, pair[0]);
    assert_eq!((array.safety().spare, array.safety().lost), (0, Sectors::ZERO));
    let is_pair =
        pairs.iter().all(|group| group.members == pairs[0].members || !group.members.contains(&pairs[0].members[0]));
    assert_eq!(array.only_on(others[0]) == Sectors::ZERO, is_pair, "{pairs:?}");
    assert!(array.only_on(pair[1]) > Sectors::ZERO);
    let seen: &dyn Living = &array;
    assert!(redundant_of(seen).is_some());
}

/// Units that each member has read.
fn reads(array: &dyn Redundant) -> Vec<u64> {
    let mut all = Vec::new();
    array.members(&mut |member| all.push(if member.is_off() { 0 } else { member.counters().host_units_read }));
    all
}

/// Reads all, by requests and in a batch. Returns the units that each member read for that.
fn reads_of_all(array: &mut dyn Redundant) -> Vec<u64> {
    let before = reads(array);
    let ranges: Vec<SectorRange> =
        (0..array.capacity().0 / 8).map(|unit| SectorRange::new(Lba(8 * unit), Sectors(8))).collect();
    for range in &ranges {
        assert!(ended(array, Request::read(*range)).status.is_done());
    }
    let now = array.now();
    let took = array.batch(now, &Batch::new(Work::Read, &ranges));
    assert_eq!((took.stop, took.unread), (Stop::Done, Vec::new()));
    reads(array).iter().zip(before).map(|(after, before)| after - before).collect()
}

/// A member that is written mostly is read where nothing else has what it has, and only there: not by reads, nor by the rebuild of another one.
#[test]
fn a_member_that_is_written_mostly_is_read_when_the_others_are_out() {
    let drives = |count: usize| (0..count).map(|_| drive(96, false)).collect::<Vec<_>>();
    let mirror = |copies: usize| {
        let config = MirrorConfig { copies, write_mostly: vec![0], ..MirrorConfig::default() };
        Box::new(Mirror::new(config, drives(copies)).unwrap())
    };
    let raid = |code: &'static dyn Code, width: usize| {
        let config = RaidConfig { write_mostly: vec![0], ..raid_config(code, width, &UNEQUAL) };
        Box::new(Raid::new(config, drives(width)).unwrap())
    };
    let arrays: [Box<dyn Redundant>; 4] = [mirror(2), mirror(3), raid(&COPIES_2, 2), raid(&COPIES_3, 3)];
    for mut array in arrays {
        let array = &mut *array;
        let units = array.capacity().0 / 8;
        for unit in 0..units {
            let bytes = vec![unit as u8; 8 * 512];
            let range = SectorRange::new(Lba(8 * unit), Sectors(8));
            assert!(ended(array, Request::write(range, bytes)).status.is_done());
        }
        let told = reads_of_all(array);
        assert_eq!((told[0], told.iter().sum::<u64>()), (0, 2 * units), "{told:?}");
        if told.len() == 3 {
            out(array, 1);
            write(array, &mut Streams::new(3).stream("test"), 20);
            let (before, now) = (reads(array)[0], array.now());
            array.put_back(now, 1).unwrap();
            while array.to_copy() > Sectors::ZERO {
                let now = array.now();
                array.pass(now, Passing::Idle(Nanos::SECOND));
            }
            assert_eq!(reads(array)[0], before, "the third one has it");
        }
        (1..told.len()).for_each(|member| out(array, member));
        let told = reads_of_all(array);
        assert_eq!(told[0], 2 * units, "{told:?}");
    }
}

/// A member that is taken out while the power of all is off takes the array along in time: what comes next may come at once.
#[test]
fn a_member_can_be_taken_out_without_power() {
    let mirror = Mirror::new(MirrorConfig::default(), members([1024, 1024])).unwrap();
    let config = raid_config(&XOR, 3, &UNEQUAL);
    let raid = Raid::new(config, members([2048, 2048, 2048])).unwrap();
    let arrays: [Box<dyn Redundant>; 2] = [Box::new(mirror), Box::new(raid)];
    for mut array in arrays {
        write(&mut *array, &mut Streams::new(1).stream("test"), 3);
        assert!(ended(&mut *array, Request::flush()).status.is_done());
        let off = array.now();
        array.power_off(off, &mut || Fate::Done);
        let later = off.saturating_add(Nanos::SECOND);
        array.take_out(later, 1, &mut || Fate::Done);
        assert_eq!(array.now(), later);
        array.power_on(array.now()).unwrap();
        assert_eq!((array.state(0), array.state(1)), (MemberState::Online, MemberState::Absent));
    }
}
