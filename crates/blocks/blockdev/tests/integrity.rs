//! Checksums: a layer with them is a living block device, finds what its device returns wrong, and never what is right.

#![allow(clippy::unwrap_used, reason = "a test")]

use wane_blockdev::{
    Batch, BlockDevice, Completion, Delay, Delays, Effect, Fault, Integrity, IntegrityError, Kind, Living, Passing,
    Persistence, Ram, RamConfig, Request, Resize, SectorRange, Status, Work, carry_out, drain,
};
use wane_sim::Stream;
use wane_testkit::crash::{DeviceTally, Devices};
use wane_testkit::{Volatile, conformance};
use wane_units::{Fate, Lba, Nanos, Sectors, SimTime};

type Dyn = Box<dyn Living>;
/// Random sequences for each rule.
const CASES: u32 = 32;

fn range(start: u64, count: u64) -> SectorRange {
    SectorRange::new(Lba(start), Sectors(count))
}

fn config() -> RamConfig {
    RamConfig { latency: Nanos(3_000), ..RamConfig::new(Sectors(480)) }
}

fn ram() -> Ram {
    Ram::with(config()).unwrap()
}

/// Checksums that are written often.
fn checked<D: Living>(device: D) -> Integrity<D> {
    Integrity::new(device).unwrap().cleaning_every(Nanos(20_000))
}

/// Writes that take long, flushes that do not, and errors in between.
fn faulty<D: BlockDevice>(device: D) -> Fault<D> {
    let mut device = Fault::new(device)
        .with_bad(range(60, 3), Persistence::UntilWritten)
        .with_bad(range(72, 1), Persistence::Forever);
    for number in 0..40 {
        let first = Sectors(number * 8 % 24);
        let effect = if number % 2 == 0 { Effect::MediumError { first } } else { Effect::NoSpace { first } };
        device = device.with_nth(number * 3 + 1, effect);
    }
    device
}

#[test]
fn checksums_are_a_living_block_device() {
    let delays = Delays::all(Nanos(10)).with(Kind::Write, Nanos(70_000)).with(Kind::Read, Nanos(0));
    let no_fua = RamConfig { fua: false, ..config() };
    let fixed = RamConfig { resize: Resize::Fixed, ..config() };
    let coarse = RamConfig { atomic_unit: Sectors(16), ..config() };
    let hollow = RamConfig { keeps_bytes: false, ..config() };
    let table: [(&str, &dyn Fn() -> Dyn); 6] = [
        ("at once", &|| Box::new(checked(Ram::new(Sectors(1 << 30))))),
        ("delayed", &|| Box::new(checked(Delay::new(ram(), delays)))),
        ("without force unit access", &|| Box::new(checked(Ram::with(no_fua).unwrap()))),
        ("of fixed size", &|| Box::new(checked(Ram::with(fixed).unwrap()))),
        ("of large units", &|| Box::new(checked(Ram::with(coarse).unwrap()))),
        ("without bytes", &|| Box::new(checked(Ram::with(hollow).unwrap()))),
    ];
    for (name, make) in table {
        conformance::living_device(&format!("checksums {name}"), &|| make(), true, CASES);
    }
}

#[test]
fn checksums_over_what_errs_are_a_living_block_device() {
    let table: [(&str, &dyn Fn() -> Dyn); 4] = [
        ("errors", &|| Box::new(checked(faulty(ram())))),
        ("wear", &|| Box::new(checked(Fault::new(ram()).with_nth(5, Effect::ReadOnly { first: Sectors(8) })))),
        ("what goes", &|| Box::new(checked(Fault::new(ram()).with_nth(9, Effect::Gone)))),
        ("a cache", &|| Box::new(checked(Volatile::memory(Sectors(480))))),
    ];
    for (name, make) in table {
        conformance::living_device(&format!("checksums over {name}"), &|| make(), false, CASES);
    }
}

#[test]
fn checksums_hand_on_what_they_do_not_change() {
    conformance::layer("integrity", &|device| Box::new(Integrity::new(device).unwrap()));
}

/// The end of one request.
fn ended(device: &mut dyn Living, request: Request) -> Completion {
    let now = device.now();
    let id = device.submit(now, request);
    let mut out = Vec::new();
    drain(device, now, &mut out);
    out.into_iter().find(|end| end.id == id).unwrap()
}

fn cut(device: &mut dyn Living) {
    let now = device.now();
    device.power_off(now, &mut || Fate::Undone);
    device.power_on(now).unwrap();
}

/// Writes 3 blocks; the first sector of the host.
fn written<D: Living>(device: &mut Integrity<D>) -> u64 {
    assert!(ended(device, Request::write(range(0, 24), vec![5; 12288])).status.is_done());
    device.device().capacity().0 - device.capacity().0
}

#[test]
fn wrong_bytes_are_found_and_never_returned() {
    let mut device = Integrity::new(Fault::new(ram())).unwrap();
    let first = written(&mut device);
    device.device_mut().make_rotten(range(first + 9, 1));
    let read = ended(&mut device, Request::read(range(0, 24)));
    assert_eq!(read.status, Status::MediumError(vec![range(8, 8)]));
    let mut want = vec![5; 12288];
    want[4096..8192].fill(0);
    assert!(read.bytes.as_ref() == Some(&want), "the wrong block has no bytes, the others have theirs");
    let mut bytes = vec![1; 12288];
    assert_eq!(device.peek(range(0, 24), &mut bytes), Some(vec![range(8, 8)]));
    assert!(bytes == want, "a look does not show them either");
    assert_eq!(ended(&mut device, Request::read(range(8, 8))).status, Status::MediumError(vec![range(8, 8)]));
    assert_eq!((device.mismatches().found, device.mismatches().rewritten), (Sectors(8), Sectors(0)), "found once");
    ended(&mut device, Request::write(range(8, 8), vec![6; 4096]));
    assert_eq!(ended(&mut device, Request::read(range(0, 24))).status, Status::Done, "what is written again is right");
    assert_eq!(device.mismatches().rewritten, Sectors(8));
}

#[test]
fn writes_that_are_lost_or_go_elsewhere_are_found() {
    // Writes of the device: the mark, the three blocks, and the next one.
    let next_write = 2;
    for (effect, wrong) in [
        (Effect::DROPPED, vec![range(8, 8)]),
        (Effect::Torn { first: Sectors(1) }, vec![range(8, 8)]),
        (Effect::Misdirected { to: Lba(16 + 16) }, vec![range(8, 16)]),
        (Effect::Misdirected { to: Lba(16 + 40) }, vec![range(8, 8), range(40, 8)]),
    ] {
        let mut device = Integrity::new(Fault::new(ram()).with_nth_of(Kind::Write, next_write, effect)).unwrap();
        assert_eq!(written(&mut device), 16);
        assert!(ended(&mut device, Request::write(range(8, 8), vec![9; 4096])).status.is_done(), "{effect:?} is a lie");
        let read = ended(&mut device, Request::read(range(0, 64)));
        assert_eq!(read.status, Status::MediumError(wrong), "{effect:?}");
    }
    // Without checksums nobody sees it.
    let mut bare = Fault::new(ram()).with_nth(0, Effect::Misdirected { to: Lba(16) });
    assert!(ended(&mut bare, Request::write(range(8, 8), vec![9; 4096])).status.is_done());
    let read = ended(&mut bare, Request::read(range(8, 16)));
    assert!(read.status.is_done() && read.bytes.unwrap() == [vec![0; 4096], vec![9; 4096]].concat());
}

#[test]
fn checksums_that_were_written_outlive_a_power_cut_and_others_are_made_anew() {
    let mut device = Integrity::new(Fault::new(ram())).unwrap();
    let first = written(&mut device);
    assert_eq!(device.marked_regions(), 1);
    let now = device.now();
    device.pass(now, Passing::Days(1.0));
    assert_eq!(device.marked_regions(), 0, "a rest writes them");
    cut(&mut device);
    assert_eq!(device.mismatches().remade, Sectors(0));
    device.device_mut().make_rotten(range(first, 1));
    assert_eq!(ended(&mut device, Request::read(range(0, 24))).status, Status::MediumError(vec![range(0, 8)]));
    // The same of a region that is marked: what is wrong then counts as right.
    ended(&mut device, Request::write(range(8, 8), vec![9; 4096]));
    assert_eq!(device.marked_regions(), 1);
    cut(&mut device);
    assert_eq!(device.mismatches().remade, Sectors(24));
    assert!(ended(&mut device, Request::read(range(0, 24))).status.is_done());
    device.device_mut().make_rotten(range(first + 16, 1));
    assert_eq!(ended(&mut device, Request::read(range(0, 24))).status, Status::MediumError(vec![range(16, 8)]));
}

#[test]
fn what_was_never_written_is_checked_too() {
    let mut device = Integrity::new(Fault::new(ram())).unwrap();
    let first = written(&mut device);
    ended(&mut device, Request::trim(range(8, 8)));
    assert!(ended(&mut device, Request::read(range(0, 64))).status.is_done());
    [8, 40].iter().for_each(|sector| device.device_mut().make_rotten(range(first + sector, 1)));
    let read = ended(&mut device, Request::read(range(0, 64)));
    assert_eq!(read.status, Status::MediumError(vec![range(8, 8), range(40, 8)]));
}

#[test]
fn sectors_are_whole_blocks_and_capacity_only_falls() {
    let mut device = Integrity::new(ram()).unwrap();
    assert_eq!((device.features().sector, device.capacity()), (Sectors(8), Sectors(464)));
    assert!(ended(&mut device, Request::write(range(1, 1), vec![1; 512])).status.is_refusal(), "half a block");
    ended(&mut device, Request::write(range(400, 24), vec![1; 12288]));
    assert_eq!(device.set_capacity(SimTime(1 << 40), Sectors(408)), Status::Done);
    assert_eq!(device.device().capacity(), Sectors(424));
    assert_eq!(device.set_capacity(SimTime(1 << 40), Sectors(464)), Status::OutOfRange);
    assert!(ended(&mut device, Request::read(range(400, 8))).status.is_done());
    let small = |capacity, unit| {
        let config = RamConfig { atomic_unit: Sectors(unit), ..RamConfig::new(Sectors(capacity)) };
        Integrity::new(Ram::with(config).unwrap()).map(|device| device.capacity())
    };
    assert_eq!(small(480, 4), Err(IntegrityError::Unit(Sectors(4))));
    assert_eq!(small(16, 8), Err(IntegrityError::Capacity(Sectors(16), Sectors(16))));
    assert_eq!(small(24, 8), Ok(Sectors(8)));
}

/// What reaches a device without bytes, and how long marks last there.
#[test]
fn a_device_without_bytes_takes_the_same_writes() {
    let hollow = Ram::with(RamConfig { keeps_bytes: false, ..RamConfig::new(Sectors(1 << 16)) }).unwrap();
    let counted = wane_blockdev::Stats::new(hollow);
    let mut device = Integrity::new(counted).unwrap();
    for sector in [0, 8, 8192, 0] {
        ended(&mut device, Request::write_without_bytes(range(sector, 8)));
    }
    let writes = |device: &Integrity<wane_blockdev::Stats<Ram>>| device.device().of(Kind::Write).submitted;
    assert_eq!(writes(&device), 4 + 2, "one mark for each of two regions");
    let list = [range(0, 8), range(8192 * 2, 8)];
    carry_out(&mut device, SimTime(0), &Batch::new(Work::Write, &list));
    assert_eq!(device.marked_regions(), 3);
    device.pass(SimTime(0), Passing::Days(1.0));
    assert_eq!(device.marked_regions(), 0);
}

/// Power cuts after each step: no read is found wrong, and what was durable is there.
#[test]
fn power_cuts_leave_checksums_that_fit() {
    let make = |stream: &mut Stream| -> Dyn {
        let delays = Delays::all(Nanos([0, 2_000, 150_000][stream.below(3) as usize]));
        let device = Delay::new(Volatile::memory(Sectors(1200)), delays);
        Box::new(Integrity::new(device).unwrap().cleaning_every(Nanos(1_000 << stream.below(9))))
    };
    let devices = Devices {
        disturb: &|device, at, stream| {
            let rest = if stream.below(2) == 0 { Nanos(1_000_000) } else { Nanos(0) };
            device.pass(at, Passing::Idle(rest));
        },
        steps: 120,
        each_of: 6,
        recovery: Nanos(1_000_000),
        ..Devices::new(&make)
    };
    let mut tally = DeviceTally::default();
    for seed in 0..8 {
        tally += devices.explore(seed).unwrap_or_else(|what| panic!("{what}"));
    }
    assert!(tally.cuts > 4_000 && tally.twice > 500 && tally.complete > 100, "{tally:?}");
}
