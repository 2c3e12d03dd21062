//! Arrays come back from their devices alone, in any order.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

mod common;

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use common::{All, ended, forgetful, hollow_drive, raid_config, range};
use wane_blockdev::{
    Archive, ArchiveError, BlockDevice, Delay, Delays, Living, Notice, NoticeKind, PowerError, Ram, Recovered, Request,
    RequestId, live_on, pass_on,
};
use wane_raid::code::{COPIES_2, Code, PQ, XOR};
use wane_raid::{AssembleError, Following, Journal, MemberState, Raid, RaidConfig, Rebalance, UNEQUAL};
use wane_sim::{Stream, Streams};
use wane_testkit::Volatile;
use wane_testkit::crash::{DeviceTally, Devices};
use wane_units::{Fate, Nanos, Sectors, SimTime};

/// An array that is taken apart when its power goes, and assembled of its devices, in another order, when that comes back.
#[derive(Clone)]
struct Assembled {
    array: Raid,
    stream: Stream,
}

impl BlockDevice for Assembled {
    pass_on!(array: features capacity submit next_event_at complete set_capacity mapped_limit set_mapped_limit notices extents peek);
}

impl Living for Assembled {
    live_on!(array: now batch go_on pass counters timed power_off);

    fn members<'a>(&'a self, each: &mut dyn FnMut(&'a dyn Living)) {
        self.array.members(each);
    }

    fn members_mut(&mut self, each: &mut dyn FnMut(&mut dyn Living)) {
        self.array.members_mut(each);
    }

    fn is_off(&self) -> bool {
        self.array.is_off()
    }

    fn power_on(&mut self, at: SimTime) -> Result<Recovered, PowerError> {
        // Requests that were cut off have numbers that the array which comes next gives again.
        self.array.complete(at, &mut Vec::new());
        let mut devices = Vec::new();
        self.array.members(&mut |device| devices.push(device.another()));
        // One that was out when the power went may be there again.
        let is_given = |member: usize, stream: &mut Stream| {
            self.array.state(member) != MemberState::Absent || stream.below(2) == 0
        };
        let given: Vec<bool> = (0..devices.len()).map(|member| is_given(member, &mut self.stream)).collect();
        let mut given = given.into_iter();
        devices.retain(|_| given.next().unwrap());
        // Placeholders of members that were missing before are no devices.
        devices.retain(|device| device.clone().power_on(at).is_ok());
        let mut devices = shuffled(devices, &mut self.stream);
        let policy = self.array.config().policy();
        let copies = |devices: &[Box<dyn Living>]| devices.iter().map(|device| device.another()).collect();
        self.array = loop {
            match Raid::assemble(policy.clone(), copies(&devices)) {
                // It had come in the place of another one, and nothing was on it yet.
                Err(AssembleError::NoSuperblock(number)) => _ = devices.remove(number),
                made => break made.map_err(|why| PowerError::Lost(why.to_string()))?,
            }
        };
        if self.array.now() < at {
            self.array.complete(at, &mut Vec::new());
        }
        Ok(Recovered { took: Nanos(self.array.now().0 - at.0) })
    }

    fn another(&self) -> Box<dyn Living> {
        Box::new(self.clone())
    }

    fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        self.array.archive(archive)
    }
}

/// Power cuts at random instants, with each outcome of what was not durable: what devices alone make again is what was durable.
#[test]
fn devices_make_the_array_again_after_every_cut() {
    let make = |stream: &mut Stream| -> Box<dyn Living> {
        let (code, width) = [(&XOR as &'static dyn Code, 3), (&PQ, 4), (&COPIES_2, 4)][stream.below(3) as usize];
        let member = |number: usize| -> Box<dyn Living> {
            Box::new(Delay::new(Volatile::memory(Sectors(1200)), Delays::all(Nanos(1_000 * number as u64))))
        };
        let array = Raid::new(raid_config(code, width, &All), (0..width).map(member).collect()).unwrap();
        let stream = Streams::new(stream.bits()).stream("order");
        let mut array: Box<dyn Living> = Box::new(Assembled { array, stream });
        assert!(ended(&mut *array, Request::flush()).status.is_done());
        array
    };
    let disturb = |device: &mut dyn Living, at: SimTime, stream: &mut Stream| {
        let any: &mut dyn Any = device;
        let array = &mut any.downcast_mut::<Assembled>().unwrap().array;
        let width = array.config().width;
        match (0..width).find(|member| array.state(*member) == MemberState::Absent) {
            Some(member) => {
                let new = Delay::new(Volatile::memory(Sectors(1200)), Delays::all(Nanos(500)));
                let _ = array.replace(at, member, Box::new(new)).unwrap();
            }
            None if !array.is_at_work() => {
                array.take_out(at, stream.below(width as u64) as usize, &mut || Fate::Undone);
            }
            None => {}
        }
    };
    let mut tally = DeviceTally::default();
    for seed in 0..3 {
        let devices = Devices { disturb: &disturb, recovery: Nanos(50_000_000), ..Devices::new(&make) };
        tally += devices.explore(seed).unwrap_or_else(|what| panic!("{what}"));
    }
    assert!(tally.cuts > 300 && tally.twice > 50, "{tally:?}");
}

/// Sectors of a member.
const SECTORS: u64 = 2400;

/// A device that counts the requests which would change it, in a place that outlives it.
#[derive(Clone)]
struct Watched {
    device: Delay<Volatile<Ram>>,
    changes: Arc<AtomicU64>,
}

impl BlockDevice for Watched {
    pass_on!(device: features capacity next_event_at complete set_capacity mapped_limit set_mapped_limit notices extents peek);

    fn submit(&mut self, at: SimTime, request: Request) -> RequestId {
        if request.kind.changes_contents() {
            self.changes.fetch_add(1, Ordering::Relaxed);
        }
        self.device.submit(at, request)
    }
}

impl Living for Watched {
    live_on!(device: now batch go_on pass counters members timed power_off power_on);

    fn another(&self) -> Box<dyn Living> {
        Box::new(self.clone())
    }

    fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        self.device.archive(archive)
    }
}

/// Changes of a test's devices.
type Changes = Arc<AtomicU64>;

fn device(changes: &Changes) -> Box<dyn Living> {
    let delays = Delays::all(Nanos(1_000));
    let device = Delay::new(Volatile::memory(Sectors(SECTORS)), delays);
    Box::new(Watched { device, changes: Arc::clone(changes) })
}

/// Random changes; with `is_durable` each ends before the next, and all are flushed.
fn write(array: &mut Raid, stream: &mut Stream, is_durable: bool) {
    for _ in 0..30 {
        let start = stream.below(array.capacity().0 - 80);
        let count = 1 + stream.below(80);
        let bytes = (0..count * 512).map(|_| stream.below(256) as u8).collect();
        let request = Request::write(range(start, count), bytes);
        if is_durable {
            assert!(ended(array, request).status.is_done());
        } else {
            let now = array.now();
            array.submit(now, request);
        }
    }
    if is_durable {
        assert!(ended(array, Request::flush()).status.is_done());
    }
}

fn contents(array: &mut Raid) -> Vec<u8> {
    let all = range(0, array.capacity().0);
    let end = ended(array, Request::read(all));
    assert!(end.status.is_done(), "{:?}", end.status);
    end.bytes.unwrap()
}

fn let_pass(array: &mut Raid) {
    let until = array.now().saturating_add(Nanos(1_000_000_000));
    array.complete(until, &mut Vec::new());
}

/// Switches an array off, and takes its devices apart.
fn taken_apart(array: &mut Raid, stream: &mut Stream) -> Vec<Box<dyn Living>> {
    let now = array.now();
    array.power_off(now, &mut || if stream.below(2) == 0 { Fate::Done } else { Fate::Undone });
    let mut devices = Vec::new();
    array.members(&mut |device| devices.push(device.another()));
    devices
}

fn shuffled(mut devices: Vec<Box<dyn Living>>, stream: &mut Stream) -> Vec<Box<dyn Living>> {
    for last in (1..devices.len()).rev() {
        devices.swap(last, stream.below(last as u64 + 1) as usize);
    }
    devices
}

/// What goes wrong with these devices. None of them is changed.
fn refused(config: &RaidConfig, changes: &Changes, devices: Vec<Box<dyn Living>>) -> String {
    let before = changes.load(Ordering::Relaxed);
    let why = Raid::assemble(config.policy(), devices).map(|_| ()).unwrap_err();
    assert_eq!(changes.load(Ordering::Relaxed), before, "{why}");
    why.to_string()
}

fn kinds() -> Vec<RaidConfig> {
    let codes: [(&'static dyn Code, usize); 3] = [(&XOR, 4), (&PQ, 5), (&COPIES_2, 4)];
    let plain = codes.map(|(code, width)| raid_config(code, width, &All));
    let uneven = RaidConfig { parity_shares: vec![3, 1, 1, 1], ..raid_config(&XOR, 4, &All) };
    let bare = RaidConfig { journal: Journal::None, ..raid_config(&PQ, 5, &All) };
    plain.into_iter().chain([uneven, bare]).collect()
}

fn made(config: &RaidConfig, changes: &Changes) -> Raid {
    Raid::new(config.clone(), (0..config.width).map(|_| device(changes)).collect()).unwrap()
}

/// What comes back from devices alone is what comes back with the power, after a clean end as after a cut.
#[test]
fn devices_in_any_order_make_the_array_again() {
    let changes = Changes::default();
    for config in kinds() {
        for (seed, is_clean) in [(1, true), (2, false), (3, false), (4, false)] {
            let mut stream = Streams::new(seed).stream("assemble");
            let mut array = made(&config, &changes);
            write(&mut array, &mut stream, true);
            let durable = contents(&mut array);
            if is_clean {
                let_pass(&mut array);
            } else {
                write(&mut array, &mut stream, false);
                let until = array.now().saturating_add(Nanos(2_000 + stream.below(30_000)));
                array.complete(until, &mut Vec::new());
            }
            let devices = taken_apart(&mut array, &mut stream);
            let mut again = Raid::assemble(config.policy(), shuffled(devices, &mut stream)).unwrap();
            let now = array.now();
            array.power_on(now).unwrap();
            assert_eq!((again.capacity(), again.table()), (array.capacity(), array.table()));
            let (code, shares) = (again.config().code.name(), again.config().parity_shares.clone());
            assert_eq!((code, shares), (config.code.name(), config.parity_shares.clone()));
            let found = contents(&mut again);
            assert!(found == contents(&mut array), "{} {seed}", config.code.name());
            assert!(!is_clean || found == durable, "{} {seed}", config.code.name());
            assert!((0..config.width).all(|member| again.state(member) == MemberState::Online));
            // It works on, and comes back the next time.
            write(&mut again, &mut stream, true);
            let found = contents(&mut again);
            let devices = taken_apart(&mut again, &mut stream);
            let mut third = Raid::assemble(config.policy(), shuffled(devices, &mut stream)).unwrap();
            assert!(contents(&mut third) == found, "{} {seed}", config.code.name());
        }
    }
}

/// Without as many devices as the code tolerates, an array goes on; a new device in their place gets what belongs there.
#[test]
fn missing_members_are_absent_until_others_take_their_places() {
    let changes = Changes::default();
    // Without a journal a member that is missing after a cut takes with it what its parities were to make.
    for config in kinds().into_iter().filter(|config| config.journal == Journal::Full) {
        for has_spares in [false, true] {
            let mut stream = Streams::new(7).stream("assemble");
            let mut array = made(&config, &changes);
            write(&mut array, &mut stream, true);
            let_pass(&mut array);
            let missing = config.code.tolerates();
            let devices = taken_apart(&mut array, &mut stream).split_off(missing);
            let mut array = Raid::assemble(config.policy(), shuffled(devices, &mut stream)).unwrap();
            let mut told = Vec::new();
            array.notices(&mut told);
            assert!(told.iter().any(|notice: &Notice| notice.kind == NoticeKind::Degraded), "{told:?}");
            assert!((0..missing).all(|member| array.state(member) == MemberState::Absent));
            assert_eq!(array.safety().spare, 0);
            write(&mut array, &mut stream, true);
            let found = contents(&mut array);
            // It comes back with the power as it is, too.
            let now = array.now();
            array.power_off(now, &mut || Fate::Undone);
            array.power_on(now).unwrap();
            assert!(contents(&mut array) == found);
            for member in 0..missing {
                if has_spares {
                    array.add_spare(device(&changes));
                } else {
                    let now = array.now();
                    let old = array.replace(now, member, device(&changes)).unwrap();
                    assert!(old.is_off() && old.capacity().0 > SECTORS / 2);
                }
            }
            let_pass(&mut array);
            assert_eq!((array.spares(), array.sectors_to_rebuild()), (0, Sectors(0)));
            // The new ones have all: others may be missing now.
            let mut devices = taken_apart(&mut array, &mut stream);
            devices.truncate(config.width - missing);
            let mut again = Raid::assemble(config.policy(), shuffled(devices, &mut stream)).unwrap();
            assert!(contents(&mut again) == found, "{}", config.code.name());
        }
    }
}

/// A member that was out while others were written is known by its age, and gets what it missed.
#[test]
fn a_member_of_earlier_gets_what_it_missed() {
    let changes = Changes::default();
    let config = raid_config(&XOR, 4, &All);
    let mut stream = Streams::new(9).stream("assemble");
    let mut array = made(&config, &changes);
    write(&mut array, &mut stream, true);
    let_pass(&mut array);
    let now = array.now();
    array.take_out(now, 2, &mut || Fate::Done);
    write(&mut array, &mut stream, true);
    let found = contents(&mut array);
    let devices = taken_apart(&mut array, &mut stream);
    let mut again = Raid::assemble(config.policy(), shuffled(devices, &mut stream)).unwrap();
    assert!(again.sectors_to_rebuild() > Sectors(0));
    assert!(contents(&mut again) == found);
    let_pass(&mut again);
    assert_eq!(again.sectors_to_rebuild(), Sectors(0));
    let mut devices = taken_apart(&mut again, &mut stream);
    devices.remove(0);
    assert!(contents(&mut Raid::assemble(config.policy(), devices).unwrap()) == found);
}

/// Tiles lie where they were moved, not where they would lie on devices of these sizes.
#[test]
fn tiles_are_found_where_they_were_moved() {
    let config = RaidConfig { following: Following::Members, ..raid_config(&XOR, 3, &UNEQUAL) };
    let changes = Changes::default();
    let mut stream = Streams::new(3).stream("assemble");
    let mut array = Raid::new(config.clone(), (0..5).map(|_| device(&changes)).collect()).unwrap();
    write(&mut array, &mut stream, true);
    let slots: Vec<u32> = (0..5).map(|member| if member == 1 { 0 } else { array.slots_of_device(member) }).collect();
    let now = array.now();
    let told = array.retarget(now, &slots, Rebalance::ForCapacity).unwrap();
    let now = array.now();
    assert!(array.set_capacity(now, told.capacity).is_done());
    let_pass(&mut array);
    assert!(!array.is_moving() && array.table().on(1).count() == 0);
    assert!(ended(&mut array, Request::flush()).status.is_done());
    let (found, table) = (contents(&mut array), array.table().clone());
    let mut devices = taken_apart(&mut array, &mut stream);
    devices.remove(1);
    let mut again = Raid::assemble(config.policy(), shuffled(devices, &mut stream)).unwrap();
    assert_eq!(again.table(), &table);
    assert!(contents(&mut again) == found);
}

/// Writes bytes to a device that is not in use.
fn put(device: &mut dyn Living, start: u64, bytes: Vec<u8>) {
    if device.is_off() {
        let now = device.now();
        device.power_on(now).unwrap();
    }
    let count = bytes.len() as u64 / 512;
    assert!(ended(device, Request::write(range(start, count), bytes)).status.is_done());
}

/// The first bytes of a device.
fn head(device: &mut dyn Living, sectors: u64) -> Vec<u8> {
    if device.is_off() {
        let now = device.now();
        device.power_on(now).unwrap();
    }
    ended(device, Request::read(range(0, sectors))).bytes.unwrap()
}

#[test]
fn devices_that_make_no_array_are_refused_and_not_changed() {
    let changes = Changes::default();
    let config = raid_config(&XOR, 4, &All);
    let mut stream = Streams::new(5).stream("assemble");
    let mut devices_of = |config: &RaidConfig| {
        let mut array = made(config, &changes);
        write(&mut array, &mut stream, true);
        let_pass(&mut array);
        taken_apart(&mut array, &mut stream)
    };
    let (ours, others) = (devices_of(&config), devices_of(&RaidConfig { uuid: 9, ..config.clone() }));
    let with = |number: usize, device: Box<dyn Living>| {
        let mut all: Vec<Box<dyn Living>> = ours.iter().map(|device| device.another()).collect();
        all[number] = device;
        all
    };
    let refused = |devices| refused(&config, &changes, devices);
    assert_eq!(refused(Vec::new()), "an array has one member at least");
    assert_eq!(
        refused(with(1, device(&changes))),
        "device 1 has no superblock of an array; a member of an array is allowed"
    );
    assert_eq!(
        refused(with(2, others[2].another())),
        "device 2 belongs to array 0000000000000009, and device 0 to array 0000000000000007; devices of one array are allowed"
    );
    assert_eq!(
        refused(with(3, ours[1].another())),
        "devices 1 and 3 both are member 1 of array 0000000000000007; one device for each member is allowed"
    );
    assert_eq!(
        refused(with(0, hollow_drive())),
        "device 0 keeps no contents, and so does not say of which array it is; a device that keeps them is allowed"
    );
    let mut off = forgetful(40);
    let now = off.now();
    off.power_off(now, &mut || Fate::Done);
    let why = refused(with(0, off));
    assert!(why.starts_with("device 0 does not come on: the device keeps nothing"), "{why}");
    let mut few = with(0, ours[0].another());
    few.truncate(2);
    assert_eq!(
        refused(few),
        "array 0000000000000007 cannot go on: 2 members of generation 1 come back, and 3 are needed"
    );
    let mut small: Box<dyn Living> = Box::new(Ram::new(Sectors(SECTORS / 2)));
    put(&mut *small, 0, head(&mut *ours[3].another(), SECTORS / 2));
    let why = refused(with(3, small));
    assert!(why.starts_with("device 3 has 1200 sectors, and the array uses "), "{why}");
    assert!(why.ends_with(" of it as member 3"), "{why}");
}

/// A superblock that rotted counts no more; the other one does. What is whole and of another version is told apart from that.
#[test]
fn either_superblock_will_do() {
    let changes = Changes::default();
    let config = raid_config(&XOR, 4, &All);
    let mut stream = Streams::new(6).stream("assemble");
    let mut array = made(&config, &changes);
    write(&mut array, &mut stream, true);
    let found = contents(&mut array);
    let devices = taken_apart(&mut array, &mut stream);
    let altered = |alter: &dyn Fn(&mut Vec<u8>)| {
        let mut all: Vec<Box<dyn Living>> = devices.iter().map(|device| device.another()).collect();
        for device in &mut all {
            let mut bytes = head(&mut **device, 16);
            alter(&mut bytes);
            put(&mut **device, 0, bytes);
        }
        all
    };
    for copy in [0, 1] {
        let all = altered(&|bytes| bytes[copy * 4096 + 40] ^= 1);
        assert!(contents(&mut Raid::assemble(config.policy(), all).unwrap()) == found, "copy {copy}");
    }
    let all = altered(&|bytes| (bytes[40], bytes[4096 + 40]) = (bytes[40] ^ 1, bytes[4096 + 40] ^ 1));
    assert_eq!(refused(&config, &changes, all), AssembleError::NoSuperblock(0).to_string());
    let all = altered(&|bytes| {
        for block in bytes.chunks_exact_mut(4096) {
            let at = block.windows(4).position(|word| word == b"\x03xor").unwrap();
            block[at + 1..at + 4].copy_from_slice(b"ldp");
            let length = u64::from_le_bytes(block[16..24].try_into().unwrap()) as usize;
            let crc = crc32c::crc32c(&block[32..32 + length]);
            block[24..28].copy_from_slice(&crc.to_le_bytes());
            let crc = crc32c::crc32c(&block[..28]);
            block[28..32].copy_from_slice(&crc.to_le_bytes());
        }
    });
    assert_eq!(
        refused(&config, &changes, all),
        "array 0000000000000007 has the code ldp; copies-2, copies-3, xor, pq, pqr are allowed"
    );
}
