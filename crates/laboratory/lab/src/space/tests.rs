use wane_archive::{Reader, Writer};
use wane_blockdev::{Blocking, carry_out, drain};
use wane_scenario::{Scenario, Sources};
use wane_sim::Streams;
use wane_testkit::conformance;
use wane_units::Nanos;

use super::*;
use crate::build::bare_drive;

/// A small drive that may shrink, below the map of its host.
fn space(shrink: &str, is_timed: bool, endurance: u32) -> Space {
    let time = if is_timed { "[time]\nscheduler = \"event\"\n" } else { "" };
    let text = format!(
        "[drive]\nlogical-capacity = \"512 KiB\"\nspare-factor = \"40 %\"\npages-per-block = 4\nendurance = {endurance}\n\
         [ftl]\nrecovery = \"full-scan\"\ncapacity = {{ policy = \"variant\", {shrink} }}\n{time}[until]\ndrive-writes = 1\n"
    );
    let scenario = Scenario::resolve(&Sources { file: Some(("space.toml", &text)), ..Sources::default() }).unwrap();
    let mut drive = bare_drive(&scenario).unwrap();
    drive.keep_bytes().unwrap();
    drive.set_leveling(true);
    let capacity = drive.capacity_policy();
    let bound = capacity.relocation_bound().map(|bytes| bytes.0 / u64::from(drive.unit_bytes()));
    let map = HostSpace::new(drive.logical_initial(), bound, capacity.method());
    Space::new(drive, map)
}

const WAYS: [&str; 4] = [
    "shrink = \"lazy\"",
    "shrink = \"graceful\"",
    "shrink = \"graceful\", method = \"remap\"",
    "shrink = \"graceful\", method = \"non-contiguous\"",
];

fn page(number: u64) -> SectorRange {
    SectorRange::new(Lba(8 * number), Sectors(8))
}

fn bytes(number: u64, version: u64) -> Vec<u8> {
    (0..4096u64).map(|at| (at * 7 + number * 31 + version) as u8).collect()
}

#[test]
fn a_look_finds_pages_where_the_map_put_them() {
    for way in WAYS {
        let mut device = Blocking::new(space(way, false, 1000));
        device.write(Lba(8), bytes(1, 3)).unwrap();
        device.device_mut().give_back(Wanted::AtMost(Sectors(64)));
        let mut seen = vec![1; 3 * 4096];
        assert_eq!(device.device().peek(SectorRange::new(Lba(0), Sectors(24)), &mut seen), Some(Vec::new()), "{way}");
        assert!(seen[4096..8192] == bytes(1, 3) && seen[..4096].iter().all(|byte| *byte == 0), "{way}");
    }
}

#[test]
fn a_drive_with_its_map_is_a_living_device() {
    for is_timed in [false, true] {
        let make = || -> Box<dyn Living> { Box::new(space("shrink = \"graceful\"", is_timed, 1000)) };
        conformance::living_device("a drive that may shrink", &make, !is_timed, 4);
    }
}

/// A host writes until there is no room, and reads at each address what it wrote last, wherever the map put it.
#[test]
fn addresses_stay_and_keep_their_contents_while_the_drive_shrinks() {
    for (way, is_timed) in WAYS.into_iter().flat_map(|way| [(way, false), (way, true)]) {
        let mut device = space(way, is_timed, 30);
        let capacity = device.capacity();
        let pages = capacity.0 / 8;
        let mut stream = Streams::new(5).stream("space");
        let mut held: BTreeMap<u64, u64> = BTreeMap::new();
        let mut refused = false;
        for version in 0..60 * pages {
            let number = stream.below(pages * 6 / 10);
            let now = Living::now(&device);
            let mut host = Blocking::starting_at(&mut device, now);
            if stream.chance(0.05) {
                host.discard(page(number)).unwrap();
                held.remove(&number);
            } else {
                match host.write(page(number).start, bytes(number, version)) {
                    Ok(()) => _ = held.insert(number, version),
                    Err(error) => {
                        assert!(matches!(error.status, Status::NoSpace(_) | Status::ReadOnly(_)), "{way}: {error}");
                        refused = true;
                        break;
                    }
                }
            }
        }
        assert!(refused, "{way} {is_timed}: its life ends");
        assert!(device.map().exported() < device.drive().logical_initial(), "{way} {is_timed}: it shrank");
        assert_eq!(device.capacity(), capacity, "no address is given up");
        device.drive().check().unwrap();
        // A save and a power cut change nothing of it.
        let mut writer = Writer::new(Vec::new()).unwrap();
        Living::archive(&mut device, &mut writer).unwrap();
        let saved = writer.finish().unwrap();
        let mut again = space(way, is_timed, 30);
        let mut reader = Reader::new(saved.as_slice()).unwrap();
        Living::archive(&mut again, &mut reader).unwrap();
        reader.finish().unwrap();
        let now = Living::now(&again);
        again.power_off(now, &mut || Fate::Undone);
        Living::power_on(&mut again, now).unwrap();
        for device in [&mut device, &mut again] {
            for (number, version) in &held {
                let now = Living::now(device);
                let read = Blocking::starting_at(&mut *device, now).read(page(*number));
                assert!(read.as_ref().is_ok_and(|read| *read == bytes(*number, *version)), "{way}: {number}");
            }
            let mut told = Vec::new();
            all_extents(device, SectorRange::new(Lba(0), capacity), &mut told);
            let state =
                |number: u64| told.iter().find(|extent| extent.range.overlaps(page(number))).map(|one| one.state);
            for number in 0..pages {
                let is_held = held.contains_key(&number);
                assert_eq!(state(number) == Some(ExtentState::Data), is_held, "{way}: {number}");
            }
        }
    }
}

/// A write that needs more pages than there is room for is refused for these alone; what is overwritten takes no room, and what is trimmed
/// gives it back.
#[test]
fn a_write_that_finds_no_room_is_one_without_space() {
    let mut device = space("shrink = \"graceful\"", true, 1000);
    let capacity = device.capacity();
    let mut host = Blocking::new(&mut device);
    host.write(Lba(0), [bytes(0, 1), bytes(1, 1)].concat()).unwrap();
    // The drive's host gives it half of its space.
    let half = Sectors(capacity.0 / 2);
    let device = host.into_inner();
    device.give_back(Wanted::AtMost(half));
    assert_eq!((device.capacity(), device.drive().exported()), (capacity, device.map().exported()));
    let pages = capacity.0 / 8;
    let room = u64::from(device.map().exported());
    assert!(room < pages && room >= pages / 2);
    let now = Living::now(device);
    let mut host = Blocking::starting_at(&mut *device, now);
    for number in 2..room {
        // At the end of the addresses, where the drive has nothing any more.
        host.write(page(pages - number).start, bytes(number, 2)).unwrap();
    }
    let two = SectorRange::new(Lba(0), Sectors(24));
    let error = host.perform(Request::write(two, [bytes(0, 3), bytes(1, 3), bytes(2, 3)].concat())).unwrap_err();
    assert_eq!(error.status, Status::NoSpace(vec![page(2)]));
    assert_eq!(host.read(two).unwrap(), [bytes(0, 3), bytes(1, 3), vec![0; 4096]].concat());
    host.discard(page(pages - 2)).unwrap();
    host.write(page(2).start, bytes(2, 4)).unwrap();
    assert_eq!(host.read(page(2)).unwrap(), bytes(2, 4));
    // Fewer addresses are given up by the host alone.
    assert_eq!(host.set_capacity(Sectors(capacity.0 - 24)), Status::Done);
    assert_eq!(host.perform(Request::read(page(pages - 1))).unwrap_err().status, Status::OutOfRange);
    let one = [page(3)];
    let batch = Batch::new(Work::Rewrite, &one);
    let now = host.now();
    let took = carry_out(&mut **host.device_mut(), now, &batch);
    // The page that was given up left its room.
    assert_eq!((took.done, took.stop), (Sectors(8), Stop::Done));
    let end = host.now().saturating_add(Nanos(1));
    drain(&mut **host.device_mut(), end, &mut Vec::new());
}
