//! Parity arrays are living devices.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

mod common;

use common::{All, drive, drive_of_16_mib, ended, hollow_drive, members, raid_config, range};
use wane_blockdev::{
    Archive, ArchiveError, Batch, BlockDevice, Delay, Delays, Fault, Kind, Living, Notice, NoticeKind, Ram, Request,
    SectorRange, Stop, Work, carry_out, each_of, live_on, pass_on,
};
use wane_raid::code::{COPIES_2, Code, PQ, PQR, XOR};
use wane_raid::{DIRECT, Following, Journal, MD, MemberState, Raid, RaidConfig, STRAID, UNEQUAL, WritePath};
use wane_sim::Streams;
use wane_testkit::conformance;
use wane_units::{Fate, Lba, Nanos, Sectors};

fn config(code: &'static dyn Code, width: usize, path: &'static dyn WritePath) -> RaidConfig {
    RaidConfig { path, ..raid_config(code, width, &All) }
}

#[test]
fn arrays_of_memory_are_living_devices() {
    let codes: [(&'static dyn Code, usize); 5] = [(&XOR, 3), (&XOR, 5), (&PQ, 6), (&PQR, 5), (&COPIES_2, 4)];
    for (code, width) in codes {
        for path in [&DIRECT as &'static dyn WritePath, &MD, &STRAID] {
            let make = || -> Box<dyn Living> {
                Box::new(
                    Raid::new(config(code, width, path), members([4096; 6]).into_iter().take(width).collect()).unwrap(),
                )
            };
            let name = format!("{} of {width} by {}", code.name(), path.name());
            conformance::living_device(&name, &make, true, if code.tolerates() == 1 { 16 } else { 8 });
        }
    }
    let with_partial_parity = || -> Box<dyn Living> {
        let config = RaidConfig { journal: Journal::Ppl, ..config(&XOR, 4, &DIRECT) };
        Box::new(Raid::new(config, members([4096; 4]).into_iter().collect()).unwrap())
    };
    conformance::living_device("xor of 4 with partial parities", &with_partial_parity, true, 16);
}

#[test]
fn arrays_of_drives_are_living_devices() {
    for is_timed in [false, true] {
        let make = || -> Box<dyn Living> {
            let members = vec![drive(40, is_timed), drive(56, false), drive(40, is_timed)];
            Box::new(Raid::new(config(&XOR, 3, &DIRECT), members).unwrap())
        };
        conformance::living_device("an array of drives", &make, false, 8);
    }
}

/// Two jobs on members of several sizes: hosts that give capacity back, and tiles that move.
#[test]
fn arrays_that_follow_their_members_are_living_devices() {
    let config = |code, width| RaidConfig {
        following: Following::Members,
        placement: &UNEQUAL,
        ..raid_config(code, width, &All)
    };
    let make =
        || -> Box<dyn Living> { Box::new(Raid::new(config(&XOR, 3), members([2048, 4096, 3000, 2500])).unwrap()) };
    conformance::living_device("an array that follows its members", &make, true, 24);
}

fn bytes(value: u8, sectors: u64) -> Vec<u8> {
    vec![value; (sectors * 512) as usize]
}

/// Lets an array do what it does for itself.
fn let_pass(array: &mut Raid, time: Nanos) {
    let until = array.now().saturating_add(time);
    array.complete(until, &mut Vec::new());
}

fn notices(array: &mut Raid) -> Vec<NoticeKind> {
    let mut out = Vec::new();
    array.notices(&mut out);
    out.into_iter().map(|notice| notice.kind).collect()
}

/// All bytes of a member's tiles.
fn contents(array: &Raid, member: usize) -> Vec<u8> {
    let mut found = Vec::new();
    let mut number = 0;
    array.members(&mut |device| {
        if number == member {
            let from = array.data_offset().0;
            let range = SectorRange::between(Lba(from), Lba(device.capacity().0));
            found = vec![0; range.len_bytes()];
            assert_eq!(device.peek(range, &mut found), Some(Vec::new()));
        }
        number += 1;
    });
    found
}

/// A rebuilt member is the lost one, byte for byte: by a spare, and by a device that replaces it.
#[test]
fn a_rebuilt_member_is_the_lost_one_byte_for_byte() {
    let codes: [(&'static dyn Code, usize); 4] = [(&XOR, 4), (&PQ, 5), (&PQR, 6), (&COPIES_2, 4)];
    for (code, width) in codes {
        let config = raid_config(code, width, &All);
        let blank = || -> Box<dyn Living> { Box::new(Fault::new(Ram::new(Sectors(4096)))) };
        let mut array = Raid::new(config, (0..width).map(|_| blank()).collect()).unwrap();
        let mut stream = Streams::new(5).stream("writes");
        for _ in 0..60 {
            let start = stream.below(array.capacity().0 - 40);
            let count = 1 + stream.below(40);
            let value = stream.below(250) as u8;
            assert!(ended(&mut array, Request::write(range(start, count), bytes(value, count))).status.is_done());
        }
        assert!(ended(&mut array, Request::flush()).status.is_done());
        let_pass(&mut array, Nanos(1_000_000));
        let before: Vec<Vec<u8>> = (0..width).map(|member| contents(&array, member)).collect();
        array.add_spare(blank());
        let mut number = 0;
        array.members_mut(&mut |member| {
            if number == 1 {
                each_of::<Fault<Ram>>(member, &mut |fault| fault.make_gone());
            }
            number += 1;
        });
        // The first request that meets it finds that it is gone, and the spare takes its place.
        let all = range(0, array.capacity().0);
        assert!(ended(&mut array, Request::read(all)).status.is_done());
        let_pass(&mut array, Nanos(1_000_000_000));
        assert_eq!((array.spares(), array.sectors_to_rebuild()), (0, Sectors(0)), "{}", code.name());
        let told = notices(&mut array);
        assert_eq!(told, [NoticeKind::MemberLost(1), NoticeKind::Degraded, NoticeKind::Rebuilt]);
        assert!(contents(&array, 1) == before[1], "{}", code.name());
        let now = array.now();
        let _ = array.replace(now, 0, blank()).unwrap();
        let_pass(&mut array, Nanos(1_000_000_000));
        assert!(contents(&array, 0) == before[0], "{}", code.name());
    }
}

/// A device of another array is not taken for a new one: neither in a member's place, nor as a further member or a spare.
#[test]
fn a_member_of_another_array_takes_no_place() {
    let ram = || -> Box<dyn Living> { Box::new(Fault::new(Ram::new(Sectors(4096)))) };
    let make = |uuid| {
        let config = RaidConfig { uuid, ..raid_config(&XOR, 3, &All) };
        let mut array = Raid::new(config, (0..3).map(|_| ram()).collect()).unwrap();
        assert!(ended(&mut array, Request::flush()).status.is_done());
        array
    };
    let (mut ours, mut others) = (make(7), make(9));
    let mut foreign = Vec::new();
    others.members_mut(&mut |member| foreign.push(member.another()));
    let why = "member 1 belongs to array 0000000000000009; a device that holds nothing is allowed";
    let now = ours.now();
    assert_eq!(ours.replace(now, 1, foreign[1].another()).map(|_| ()).unwrap_err().to_string(), why);
    assert_eq!(ours.add(now, foreign[1].another()).unwrap_err().to_string(), why.replace("member 1", "member 3"));
    assert_eq!(ours.state(1), MemberState::Online);
    ours.add_spare(foreign[1].another());
    let mut number = 0;
    ours.members_mut(&mut |member| {
        if number == 0 {
            each_of::<Fault<Ram>>(member, &mut |fault| fault.make_gone());
        }
        number += 1;
    });
    let _ = ended(&mut ours, Request::write(range(0, 64), bytes(1, 64)));
    let_pass(&mut ours, Nanos(1_000_000_000));
    assert_eq!((ours.state(0), ours.spares()), (MemberState::Absent, 1));
}

/// Devices that held something else make an array of zeros: what they held becomes no part of it, nor of its parities.
#[test]
fn an_array_on_devices_that_were_used_begins_as_zeros() {
    let used = |value: u8, is_whole: bool| -> Box<dyn Living> {
        let mut device: Box<dyn Living> = Box::new(Ram::new(Sectors(4096)));
        let all = if is_whole { range(0, 4096) } else { range(3000, 40) };
        let sectors = all.count.0;
        assert!(ended(&mut *device, Request::write(all, bytes(value, sectors))).status.is_done());
        device
    };
    for (code, width, path) in [(&XOR as &'static dyn Code, 4, &DIRECT as &'static dyn WritePath), (&PQ, 5, &MD)] {
        for is_whole in [true, false] {
            let members = (0..width).map(|number| used(1 + number as u8, is_whole)).collect();
            let mut array = Raid::new(config(code, width, path), members).unwrap();
            let mut wanted = bytes(0, array.capacity().0);
            // A sector of each chunk that follows another one that stays as it was.
            for (number, start) in (5..array.capacity().0).step_by(32).enumerate() {
                let value = 100 + number as u8 % 100;
                let end = ended(&mut array, Request::write(range(start, 1), bytes(value, 1)));
                assert!(end.status.is_done());
                wanted[start as usize * 512..][..512].fill(value);
            }
            assert!(ended(&mut array, Request::flush()).status.is_done());
            let all = range(0, array.capacity().0);
            assert!(ended(&mut array, Request::read(all)).bytes.as_ref() == Some(&wanted), "{}", code.name());
            for member in 0..code.tolerates() {
                let now = array.now();
                array.take_out(now, member, &mut || Fate::Done);
            }
            assert!(ended(&mut array, Request::read(all)).bytes.as_ref() == Some(&wanted), "{}", code.name());
        }
    }
}

#[test]
fn members_of_arrays_and_odd_settings_are_refused() {
    let ram = || -> Box<dyn Living> { Box::new(Ram::new(Sectors(4096))) };
    let make = |config: RaidConfig, count: usize| {
        Raid::new(config, (0..count).map(|_| ram()).collect()).map(|_| ()).unwrap_err().to_string()
    };
    let plain = || raid_config(&XOR, 3, &UNEQUAL);
    assert_eq!(make(RaidConfig { width: 1, ..plain() }, 3), "the code xor has no stripes of 1 chunks");
    assert_eq!(make(RaidConfig { code: &PQR, ..plain() }, 3), "the code pqr has no stripes of 3 chunks");
    assert_eq!(make(plain(), 0), "an array has one member at least");
    let why = make(RaidConfig { width: 6, ..plain() }, 4);
    assert!(why.contains('6') && why.contains('4'), "{why}");
    assert_eq!(
        make(RaidConfig { parity_shares: vec![1, 2], ..plain() }, 3),
        "2 shares of parities for stripes of 3 chunks; one for each is allowed, and not all of them 0"
    );
    assert_eq!(
        make(RaidConfig { code: &PQ, journal: Journal::Ppl, ..plain() }, 3),
        "the journal ppl is for the code xor, and the array has the code pq; the journals full and none are for all codes"
    );
    let mut array = Raid::new(RaidConfig { uuid: 0xabc, ..plain() }, vec![ram(), ram(), ram()]).unwrap();
    let _ = ended(&mut array, Request::flush());
    let now = array.now();
    let member = array.replace(now, 2, ram()).unwrap();
    let mut back = member;
    let _ = back.power_on(now);
    let why = Raid::new(plain(), vec![ram(), back, ram()]).map(|_| ()).unwrap_err().to_string();
    assert_eq!(why, "member 1 belongs to array 0000000000000abc; a device that holds nothing is allowed");
}

/// Uneven shares of parity wear the first member most, as single-chunk writes do it.
#[test]
fn uneven_parities_are_written_where_they_lie() {
    let config = RaidConfig {
        parity_shares: vec![40, 15, 15, 15, 15],
        journal: Journal::None,
        slot: Sectors(16 * 20),
        ..raid_config(&XOR, 5, &All)
    };
    let mut array = Raid::new(config, (0..5).map(|_| hollow_drive()).collect()).unwrap();
    let mut stream = Streams::new(3).stream("writes");
    let chunks = array.capacity().0 / 16;
    let all: Vec<SectorRange> = (0..chunks).map(|chunk| range(chunk * 16, 16)).collect();
    let now = array.now();
    assert_eq!(carry_out(&mut array, now, &Batch::new(Work::Write, &all)).stop, Stop::Done);
    let before: Vec<u64> = written(&array);
    let some: Vec<SectorRange> = (0..200_000).map(|_| range(stream.below(chunks) * 16, 16)).collect();
    assert_eq!(carry_out(&mut array, now, &Batch::new(Work::Write, &some)).stop, Stop::Done);
    let wear: Vec<f64> = written(&array).iter().zip(before).map(|(after, before)| (after - before) as f64).collect();
    let others = wear[1..].iter().sum::<f64>() / 4.0;
    // p + (1 - p) / (n - 1) of all writes: 0.55 against 0.3625.
    assert!((wear[0] / others - 0.55 / 0.3625).abs() < 0.01, "{wear:?}");
}

/// Counted by hand for changes of 4 KiB of one chunk: the data and the parity in their places, and on two members an entry. With its head a full one
/// takes three units, one with the partial parity alone two.
#[test]
fn a_partial_parity_takes_less_of_the_ring_than_contents() {
    let members_write = |journal| {
        let config = RaidConfig { journal, ring: Sectors(8 << 10), ..raid_config(&XOR, 5, &All) };
        let mut array = Raid::new(config, (0..5).map(|_| hollow_drive()).collect()).unwrap();
        assert!(ended(&mut array, Request::write_without_bytes(range(0, 32 * 64))).status.is_done());
        assert!(ended(&mut array, Request::flush()).status.is_done());
        let before: u64 = written(&array).iter().sum();
        for number in 0..32 {
            assert!(ended(&mut array, Request::write_without_bytes(range(number * 64, 8))).status.is_done());
        }
        written(&array).iter().sum::<u64>() - before
    };
    assert_eq!(members_write(Journal::Full), 32 * (2 + 2 * 3));
    assert_eq!(members_write(Journal::Ppl), 32 * (2 + 2 * 2));
}

/// What members write for random changes of 4 KiB in batches whose host never flushes: data and parity, and on two members what the ring has of each.
#[test]
fn batches_write_the_journal() {
    let writes_each = |journal| {
        let config = RaidConfig { journal, ring: Sectors(8 << 10), ..raid_config(&XOR, 5, &All) };
        let mut array = Raid::new(config, (0..5).map(|_| hollow_drive()).collect()).unwrap();
        let units = array.capacity().0 / 8;
        let all: Vec<SectorRange> = (0..units).map(|unit| range(unit * 8, 8)).collect();
        let now = array.now();
        assert_eq!(carry_out(&mut array, now, &Batch::new(Work::Write, &all)).stop, Stop::Done);
        let before: u64 = written(&array).iter().sum();
        let mut stream = Streams::new(4).stream("writes");
        for _ in 0..20 {
            let some: Vec<SectorRange> = (0..1_000).map(|_| range(stream.below(units) * 8, 8)).collect();
            assert_eq!(carry_out(&mut array, now, &Batch::new(Work::Write, &some)).stop, Stop::Done);
        }
        (written(&array).iter().sum::<u64>() - before) as f64 / 20_000.0
    };
    let (none, ppl, full) = (writes_each(Journal::None), writes_each(Journal::Ppl), writes_each(Journal::Full));
    // A record has a head of 64 bytes and 8 bytes for each part; checkpoints come each time that half of the ring is full.
    assert!((2.0..2.05).contains(&none), "{none}");
    assert!((4.03..4.3).contains(&ppl), "{ppl}");
    assert!((6.06..6.4).contains(&full), "{full}");
}

/// An array that keeps bytes ages as one that keeps none does, from the first write on and with the same records. What it holds stays, and is there
/// after a power cut, whatever batches did to the ring meanwhile.
#[test]
fn arrays_that_keep_bytes_age_as_those_that_keep_none() {
    for journal in [Journal::None, Journal::Ppl, Journal::Full] {
        let mut arrays = [true, false].map(|keeps_bytes| {
            let config = RaidConfig { journal, ring: Sectors(8 << 10), ..raid_config(&XOR, 5, &All) };
            Raid::new(config, (0..5).map(|_| drive_of_16_mib(keeps_bytes)).collect()).unwrap()
        });
        let wrote = arrays.each_mut().map(|array| {
            let units = array.capacity().0 / 8;
            let (now, mut stream) = (array.now(), Streams::new(4).stream("writes"));
            for _ in 0..10 {
                let some: Vec<SectorRange> = (0..1_000).map(|_| range(stream.below(units) * 8, 8)).collect();
                assert_eq!(carry_out(array, now, &Batch::new(Work::Rewrite, &some)).stop, Stop::Done);
            }
            written(array)
        });
        assert_eq!(wrote[0], wrote[1], "{journal:?}");

        let array = &mut arrays[0];
        let pattern: Vec<u8> = (0..64 * 512).map(|byte| (byte / 512) as u8 + 1).collect();
        let units = array.capacity().0 / 8;
        let mut stream = Streams::new(5).stream("writes");
        for turn in 0..8 {
            // Records of changes that count lie in the ring while batches pass over it.
            let bytes = pattern.iter().map(|byte| byte ^ turn).collect::<Vec<u8>>();
            assert!(ended(array, Request::write(range(64 * u64::from(turn), 64), bytes)).status.is_done());
            assert!(ended(array, Request::write(range(7 * 64 + 8, 8), vec![turn; 8 * 512])).status.is_done());
            assert!(ended(array, Request::flush()).status.is_done());
            let some: Vec<SectorRange> = (0..2_000).map(|_| range(stream.below(units) * 8, 8)).collect();
            let now = array.now();
            assert_eq!(carry_out(array, now, &Batch::new(Work::Rewrite, &some)).stop, Stop::Done);
        }
        let all = Sectors(8 * 64);
        let before = ended(array, Request::read(range(0, all.0))).bytes.unwrap();
        assert_eq!(before[..64 * 512], pattern);
        let now = array.now();
        array.power_off(now, &mut || Fate::Done);
        array.power_on(now).unwrap();
        // Without a journal a power cut and the loss of a member are too much.
        for lost in [None, Some(1)].into_iter().take(if journal == Journal::None { 1 } else { 2 }) {
            let now = array.now();
            if let Some(member) = lost {
                array.take_out(now, member, &mut || Fate::Done);
            }
            assert!(ended(array, Request::read(range(0, all.0))).bytes.unwrap() == before, "{journal:?} {lost:?}");
        }
    }
}

fn written(array: &Raid) -> Vec<u64> {
    let mut all = Vec::new();
    array.members(&mut |member| all.push(member.counters().host_units_written));
    all
}

/// A read of a member that is slow ends as soon as the others have been read.
#[test]
fn slow_members_are_read_around() {
    let member = |latency: u64| -> Box<dyn Living> {
        let delays = Delays::all(Nanos(1_000)).with(Kind::Read, Nanos(latency));
        Box::new(Delay::new(Ram::new(Sectors(4096)), delays))
    };
    let config = RaidConfig { read_around: Some(Nanos(50_000)), ..raid_config(&XOR, 3, &All) };
    let mut array = Raid::new(config, vec![member(10_000_000), member(5_000), member(7_000)]).unwrap();
    let write = Request::write(range(0, 32), [bytes(1, 16), bytes(2, 16)].concat());
    assert!(ended(&mut array, write).status.is_done());
    let slow = ended(&mut array, Request::read(range(0, 16)));
    assert_eq!((slow.bytes, slow.at.0 - slow.submitted_at.0), (Some(bytes(1, 16)), 57_000));
    let quick = ended(&mut array, Request::read(range(16, 16)));
    assert_eq!((quick.bytes, quick.at.0 - quick.submitted_at.0), (Some(bytes(2, 16)), 5_000));
    assert_eq!((array.repairs().read_around, array.state(0)), (1, MemberState::Online));
}

/// A device that wants space back when it is told to.
#[derive(Clone)]
struct Demanding {
    device: Ram,
    wants: Option<Sectors>,
}

impl BlockDevice for Demanding {
    pass_on!(device: features capacity submit next_event_at complete set_capacity mapped_limit set_mapped_limit extents peek);

    fn notices(&mut self, out: &mut Vec<Notice>) {
        self.device.notices(out);
        let at = self.device.now();
        out.extend(self.wants.take().map(|to| Notice { at, kind: NoticeKind::wanted(to) }));
    }
}

impl Living for Demanding {
    live_on!(device: now batch go_on work pass prefetch counters members power_off power_on);

    fn another(&self) -> Box<dyn Living> {
        Box::new(self.clone())
    }

    fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        self.device.archive(archive)
    }
}

/// A member wants space back: the host is asked for the last tiles, then tiles move, then the member gets what it wanted. Nothing else is lost.
#[test]
fn a_member_that_wants_space_gets_it_after_the_host_gave_capacity() {
    let member = || -> Box<dyn Living> { Box::new(Demanding { device: Ram::new(Sectors(2048)), wants: None }) };
    let config = RaidConfig { following: Following::Members, placement: &UNEQUAL, ..raid_config(&XOR, 3, &All) };
    let mut array = Raid::new(config, (0..4).map(|_| member()).collect()).unwrap();
    let before = array.capacity();
    let pattern: Vec<u8> = (0..before.0 * 512).map(|byte| (byte / 512 % 251) as u8).collect();
    assert!(ended(&mut array, Request::write(range(0, before.0), pattern.clone())).status.is_done());
    let half = array.data_offset() + Sectors(array.slot_sectors().0 * u64::from(array.slots().next().unwrap() / 2));
    let mut first = Some(half);
    each_of::<Demanding>(&mut array, &mut |member| member.wants = first.take());
    let told = notices(&mut array);
    let [NoticeKind::CapacityWanted { to, .. }] = told[..] else { panic!("{told:?}") };
    assert!(to < before && to > Sectors(before.0 / 2), "{to} of {before}");
    let_pass(&mut array, Nanos(1_000_000_000));
    assert_eq!((array.is_moving(), array.sectors_moved()), (true, Sectors(0)), "the host comes first");
    let now = array.now();
    assert!(array.set_capacity(now, to).is_done());
    let_pass(&mut array, Nanos(10_000_000_000));
    assert!(!array.is_moving() && array.sectors_moved().0 > 0);
    let mut sizes = Vec::new();
    array.members(&mut |member| sizes.push(member.capacity()));
    assert_eq!(sizes, [half, Sectors(2048), Sectors(2048), Sectors(2048)]);
    let read = ended(&mut array, Request::read(range(0, to.0)));
    assert!(read.bytes.unwrap() == pattern[..to.0 as usize * 512]);
    assert_eq!(array.state(0), MemberState::Online);
    // And each of the others can be lost.
    let now = array.now();
    array.take_out(now, 2, &mut || Fate::Done);
    let read = ended(&mut array, Request::read(range(0, to.0)));
    assert!(read.bytes.unwrap() == pattern[..to.0 as usize * 512]);
}

fn wear_out(array: &mut Raid, which: usize) {
    let mut number = 0;
    array.members_mut(&mut |member| {
        if number == which {
            each_of::<Fault<Ram>>(member, &mut |fault| fault.make_read_only());
        }
        number += 1;
    });
}

/// Members take no more writes, one after the other, and one more than the code tolerates. All of them still read, so what was written is there to the
/// end. A write that is refused is not done. A sector that cannot be read afterwards is one of those, and counted as lost.
#[test]
fn members_that_take_no_more_writes_take_no_data_along() {
    let codes: [(&'static dyn Code, usize); 4] = [(&XOR, 4), (&PQ, 5), (&PQR, 6), (&COPIES_2, 4)];
    let paths = [&DIRECT as &'static dyn WritePath, &MD, &STRAID];
    let mut lost = 0;
    for (seed, (code, width)) in (0..30).flat_map(|seed| codes.map(|code| (seed, code))) {
        let config = RaidConfig { path: paths[seed as usize % 3], ..raid_config(code, width, &All) };
        let blank = || -> Box<dyn Living> { Box::new(Fault::new(Ram::new(Sectors(4096)))) };
        let mut array = Raid::new(config, (0..width).map(|_| blank()).collect()).unwrap();
        let sectors = array.capacity().0.min(400);
        let mut model = vec![(0u8, true); sectors as usize];
        let mut stream = Streams::new(seed).stream("writes");
        let mut refused = 0;
        for step in 0..160u64 {
            if step >= 40 && step % 20 == 0 && step / 20 - 2 <= code.tolerates() as u64 {
                // Nobody knows before it refuses something.
                wear_out(&mut array, (step / 20) as usize % width);
            }
            let count = 1 + stream.below(40);
            let (start, value) = (stream.below(sectors - count), stream.below(250) as u8 + 1);
            let status = ended(&mut array, Request::write(range(start, count), bytes(value, count))).status;
            let mut done = vec![true; count as usize];
            for failed in status.failed() {
                (failed.start.0..failed.start.0 + failed.count.0).for_each(|at| done[(at - start) as usize] = false);
                refused += 1;
            }
            for (at, done) in (start..).zip(done) {
                let was = model[at as usize].0;
                model[at as usize] = if done { (value, true) } else { (was, false) };
            }
        }
        // Two members of a RAID-10 may have no chunk in common.
        assert!(refused > 10 || code.name() == COPIES_2.name(), "{} {seed}", code.name());
        let mut unread = 0;
        for sector in 0..sectors {
            let end = ended(&mut array, Request::read(range(sector, 1)));
            let (value, was_taken) = model[sector as usize];
            assert!(end.status.is_done() || !was_taken, "{} {seed}: {:?}", code.name(), end.status);
            unread += u64::from(!end.status.is_done());
            let is_it = !end.status.is_done() || end.bytes == Some(bytes(value, 1));
            assert!(is_it, "{} {seed}: sector {sector}", code.name());
        }
        // Lost sectors are named, or what too many members lack.
        let named: u64 = array.lost_sectors(range(0, sectors)).iter().map(|range| range.count.0).sum();
        let lacked = array.safety().lost.0;
        assert!(unread == named || lacked > 0 && unread <= named + lacked, "{} {seed}: {unread} {named}", code.name());
        lost += unread;
    }
    assert!(lost < 400, "{lost} of 48,000 sectors: changes that read nothing cannot be taken back");
}
