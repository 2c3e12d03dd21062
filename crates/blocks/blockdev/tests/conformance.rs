//! Memory, each layer, and stacks of layers are living block devices, and each layer has its effect.

#![allow(clippy::unwrap_used, reason = "a test")]

use wane_blockdev::{
    BlockDevice, Blocking, BusyTime, Delay, Delays, Effect, Entry, Extent, Fault, Fifo, Keep, Kind, Living, NoticeKind,
    Persistence, Ram, RamConfig, Record, Request, RequestId, Resize, SectorRange, Stats, Status, all_extents, drain,
    measured, pass_on, replay,
};
use wane_testkit::conformance;
use wane_units::{Fate, Lba, Nanos, Sectors, SimTime};

type Dyn = Box<dyn Living>;

/// Random sequences for each rule.
const CASES: u32 = 32;
type Make = fn() -> Dyn;

fn range(start: u64, count: u64) -> SectorRange {
    SectorRange::new(Lba(start), Sectors(count))
}

fn config() -> RamConfig {
    RamConfig { latency: Nanos(3_000), ..RamConfig::new(Sectors(400)) }
}

fn ram() -> Ram {
    Ram::with(config()).unwrap()
}

/// Writes and remaps are slow, flushes are not: such delays could break the order of flushes.
fn delays() -> Delays {
    Delays::all(Nanos(10)).with(Kind::Write, Nanos(70_000)).with(Kind::Remap, Nanos(5_000)).with(Kind::Read, Nanos(0))
}

fn faults<D: BlockDevice>(device: D) -> Fault<D> {
    let mut device = Fault::new(device)
        .with_bad(range(20, 3), Persistence::UntilWritten)
        .with_bad(range(24, 1), Persistence::Forever)
        .with_bad(range(40, 9), Persistence::UntilWritten);
    for number in 0..40 {
        let first = Sectors(number * 5 % 17);
        let medium = Effect::MediumError { first };
        let space = Effect::NoSpace { first };
        device = device.with_nth(number * 3, if number % 2 == 0 { medium } else { space });
    }
    device.with_nth_of(Kind::Flush, 1, Effect::MediumError { first: Sectors(0) })
}

/// A device that wears out during one of its first requests.
fn worn_out<D: BlockDevice>(device: D, number: u64) -> Fault<D> {
    Fault::new(device).with_nth(number, Effect::ReadOnly { first: Sectors(number * 3 % 16) })
}

/// A device that is gone from one of its first requests on.
fn gone<D: BlockDevice>(device: D, number: u64) -> Fault<D> {
    Fault::new(device).with_nth(number, Effect::Gone)
}

#[test]
fn devices_that_wear_out_or_go_are_block_devices() {
    for number in [0, 5, 17] {
        let table: [(&str, &dyn Fn() -> Dyn); 6] = [
            ("read-only", &|| Box::new(worn_out(ram(), number))),
            ("gone", &|| Box::new(gone(ram(), number))),
            ("delayed and read-only", &|| Box::new(Stats::new(Delay::new(worn_out(ram(), number), delays())))),
            ("recorded and gone", &|| Box::new(Record::new(Delay::new(gone(ram(), number), delays()), Keep::Bytes, 9))),
            ("faulty, then read-only, then gone", &|| Box::new(gone(worn_out(faults(ram()), number), number + 9))),
            ("gone below faults", &|| Box::new(faults(gone(ram(), number)))),
        ];
        for (name, make) in table {
            conformance::block_device_cases(&format!("{name} from request {number} on"), &|| make(), 48);
        }
        let config = RamConfig { keeps_bytes: false, ..config() };
        let plain =
            || -> Box<dyn BlockDevice> { Box::new(gone(worn_out(Ram::with(config).unwrap(), number), number + 3)) };
        conformance::block_device_cases("without bytes", &plain, 48);
    }
}

#[test]
fn memory_is_a_block_device() {
    conformance::living_device("ram", &|| Box::new(ram()), true, CASES);
    conformance::living_device("ram at once", &|| Box::new(Ram::new(Sectors(1 << 40))), true, CASES);
    for (sector, unit) in [(1, 1), (8, 8), (8, 16), (1, 3), (1, 64)] {
        let config = RamConfig { sector: Sectors(sector), atomic_unit: Sectors(unit), ..config() };
        let name = format!("ram of sector {sector}, unit {unit}");
        conformance::living_device(&name, &|| Box::new(Ram::with(config).unwrap()), true, 64);
    }
}

/// A device that does as little as the rules allow.
fn plain() -> Ram {
    Ram::with(RamConfig { fua: false, remap: false, resize: Resize::Fixed, ..config() }).unwrap()
}

#[test]
fn devices_that_support_less_are_block_devices() {
    conformance::living_device("plain", &|| Box::new(plain()), true, CASES);
    conformance::living_device("faults over plain", &|| Box::new(faults(plain())), true, CASES);
    let config = RamConfig { resize: Resize::Shrink, ..config() };
    conformance::living_device("shrinking", &|| Box::new(Stats::new(Ram::with(config).unwrap())), true, CASES);
    let mut device = Ram::with(config).unwrap();
    let answers = [400, 300, 300, 301].map(|capacity| device.set_capacity(SimTime(0), Sectors(capacity)));
    assert_eq!(answers, [Status::Done, Status::Done, Status::Done, Status::OutOfRange], "capacity never comes back");
}

#[test]
fn a_device_without_bytes_is_a_block_device() {
    let config = RamConfig { keeps_bytes: false, ..config() };
    conformance::living_device("ram without bytes", &|| Box::new(Ram::with(config).unwrap()), true, CASES);
    let faulty = || -> Dyn { Box::new(faults(Ram::with(config).unwrap())) };
    conformance::living_device("faults without bytes", &faulty, true, CASES);
}

#[test]
fn each_layer_and_stacks_of_layers_are_block_devices() {
    let table: [(&str, Make); 11] = [
        ("stats", || Box::new(Stats::new(ram()))),
        ("record", || Box::new(Record::new(ram(), Keep::Bytes, 1_000))),
        ("delay of 0", || Box::new(Delay::new(ram(), Delays::default()))),
        ("delay", || Box::new(Delay::new(ram(), delays()))),
        ("fifo", || Box::new(Fifo::new(ram(), measured::SATA1))),
        ("fifo of faults and delays", || Box::new(Fifo::new(faults(Delay::new(ram(), delays())), measured::NVME0))),
        ("fault without faults", || Box::new(Fault::new(ram()))),
        ("fault", || Box::new(faults(ram()))),
        ("fault of fault", || Box::new(faults(faults(ram())))),
        ("stats, delay, fault", || Box::new(Stats::new(Delay::new(faults(Delay::new(ram(), delays())), delays())))),
        ("boxes of boxes", || {
            let inner: Dyn = Box::new(faults(ram()));
            let middle: Dyn = Box::new(Record::new(inner, Keep::Requests, 3));
            Box::new(Box::new(Stats::new(middle)) as Dyn)
        }),
    ];
    for (name, make) in table {
        conformance::living_device(name, &make, true, CASES);
    }
    let coarse = RamConfig { sector: Sectors(8), atomic_unit: Sectors(16), ..config() };
    conformance::living_device("fault of 4 KiB sectors", &|| Box::new(faults(Ram::with(coarse).unwrap())), true, CASES);
}

/// Submits all requests at once. Returns when each is complete.
fn times(device: &mut dyn BlockDevice, requests: Vec<Request>) -> Vec<(u64, u64)> {
    for request in requests {
        device.submit(SimTime(100), request);
    }
    let mut out = Vec::new();
    drain(device, SimTime(100), &mut out);
    out.iter().map(|done| (done.id.0, done.at.0)).collect()
}

#[test]
fn layers_hand_on_what_they_do_not_change() {
    conformance::layer("stats", &|below| Box::new(Stats::new(below)));
    conformance::layer("delay", &|below| Box::new(Delay::new(below, delays())));
    conformance::layer("fifo", &|below| Box::new(Fifo::new(below, measured::NVME1)));
    conformance::layer("fault", &|below| Box::new(Fault::new(below)));
    conformance::layer("record", &|below| Box::new(Record::new(below, Keep::Bytes, 9)));
    conformance::layer("a box", &|below| Box::new(below));
}

#[test]
fn requests_are_served_one_after_the_other() {
    let mut device = Fifo::new(Ram::new(Sectors(4096)), measured::NVME0);
    let read = |start, count| Request::read(SectorRange::new(Lba(start), Sectors(count)));
    let write = |start| Request::write_without_bytes(SectorRange::new(Lba(start), Sectors(128)));
    // 4 KiB at 0.73 GiB/s take 5,226 ns, 64 KiB at 3.33 GiB/s 18,329 ns, writes of 64 KiB at 1.35 GiB/s 45,211 ns; the latency is 75 or 15 us.
    let found = times(&mut device, vec![read(0, 8), read(0, 128), write(128), read(0, 8), Request::flush()]);
    let (first, second, third, fourth) = (5_226, 23_555, 68_766, 73_992);
    let flush = 100 + third + 15_000;
    let want =
        [(0, 100 + first + 75_000), (2, flush), (4, flush), (1, 100 + second + 75_000), (3, 100 + fourth + 75_000)];
    let mut want = want.to_vec();
    want.sort_by_key(|(id, at)| (*at, *id));
    assert_eq!(found, want);
    // Half way between the sizes the time is half way.
    assert_eq!(measured::NVME0.read.of(Sectors(68)), Nanos(11_777));
    assert_eq!(BusyTime::NONE.of(Sectors(68)), Nanos(0));
}

#[test]
fn delays_reorder_requests_but_never_a_flush() {
    let requests = vec![
        Request::write_without_bytes(range(0, 8)),
        Request::read(range(0, 8)),
        Request::flush(),
        Request::trim(range(8, 8)),
    ];
    let mut device = Delay::new(ram(), delays());
    // Reads take 3,000 ns below and none here, trims 10, writes 70,000; the flush waits for the write.
    let found = times(&mut device, requests);
    assert_eq!(found, [(1, 3_100), (3, 3_110), (0, 73_100), (2, 73_100)]);
}

#[test]
fn statistics_count_what_passed() {
    let table: Vec<Request> = vec![
        Request::write_without_bytes(range(0, 16)),
        Request::write_without_bytes(range(3, 8)),
        Request::write_zeroes(range(0, 8)).with_fua(),
        Request::read(range(20, 8)),
        Request::read(range(399, 2)),
        Request::trim(range(1, 1)),
    ];
    let mut device = Stats::new(faults(ram()));
    for request in table {
        device.submit(SimTime(5), request);
    }
    assert_eq!(device.outstanding(), 6);
    drain(&mut device, SimTime(5), &mut Vec::new());
    assert_eq!((device.outstanding(), device.read_modify_writes()), (0, 3));
    let of = |kind: Kind| {
        let stats = device.of(kind);
        (stats.submitted, stats.done, stats.failed, stats.refused, stats.served.0)
    };
    // Request 0 fails after 0 sectors; request 3, a read, needs no space, but 4 of its sectors are bad.
    assert_eq!(of(Kind::Write), (2, 1, 1, 0, 8));
    assert_eq!(of(Kind::Read), (2, 0, 1, 1, 4));
    assert_eq!(of(Kind::Trim), (1, 1, 0, 0, 1));
    let writes = device.of(Kind::Write);
    assert_eq!((writes.latency_mean_ns(), writes.latency_max), (Some(3_000.0), Nanos(3_000)));
    assert_eq!(writes.latency_counts[12], 2, "3,000 ns lie between 2^11 and 2^12");
}

#[test]
fn statistics_and_memory_count_the_same_read_modify_writes() {
    let mut device = Stats::new(ram());
    for start in 0..40 {
        for count in 0..20 {
            device.submit(SimTime(0), Request::write_zeroes(range(start, count)));
            device.submit(SimTime(0), Request::trim(range(start, count)).with_fua());
        }
    }
    assert_eq!(device.read_modify_writes(), device.device().read_modify_writes());
    assert!(device.read_modify_writes() > 1_000);
}

#[test]
fn a_record_repeats_what_was_asked() {
    for keep in [Keep::Bytes, Keep::Requests] {
        let mut device = Record::new(ram(), keep, 100);
        let requests = [
            (10, Request::write(range(0, 8), vec![7; 4096])),
            (10, Request::write(range(0, 8), vec![7; 4095])),
            (40, Request::remap(range(0, 8), range(16, 8))),
            (40, Request::read(range(16, 8))),
        ];
        for (at, request) in requests {
            device.submit(SimTime(at), request);
        }
        assert!(device.set_capacity(SimTime(50), Sectors(80)).is_done());
        device.submit(SimTime(60), Request::read(range(80, 1)));
        let mut first = Vec::new();
        drain(&mut device, SimTime(60), &mut first);
        let mut again = replay(device.entries(), &mut ram());
        assert_eq!(first.iter().filter(|done| done.status.is_done()).count(), 3);
        if keep == Keep::Requests {
            assert_eq!(again[3].bytes, Some(vec![0; 4096]));
            again[3].bytes = Some(vec![7; 4096]);
        }
        assert_eq!(again, first);
        assert_eq!((device.take_entries().len(), device.entries().len(), device.missed()), (6, 0, 0));
    }
    let mut short = Record::new(ram(), Keep::Requests, 1);
    short.submit(SimTime(0), Request::flush().with_fua());
    short.submit(SimTime(0), Request::flush());
    assert_eq!((short.entries().len(), short.missed()), (1, 1));
    assert!(matches!(&short.entries()[0], Entry::Submit { request, .. } if request.flags.fua));
}

#[test]
fn a_device_that_wears_out_reads_on_and_one_that_is_gone_does_not() {
    let mut device = written();
    device.device_mut().make_read_only();
    let whole = range(0, 8);
    let read_only = Status::ReadOnly(vec![whole]);
    let changes = [
        Request::write(whole, vec![2; 4096]),
        Request::write_zeroes(whole).with_may_unmap(),
        Request::trim(whole).with_fua(),
        Request::remap(range(32, 8), whole),
    ];
    for request in &changes {
        let error = device.perform(request.clone()).unwrap_err();
        assert_eq!((error.status, error.bytes), (read_only.clone(), None), "{request:?}");
    }
    assert_eq!(device.read(whole).unwrap(), vec![1; 4096]);
    device.write(Lba(0), Vec::new()).unwrap();
    device.flush().unwrap();
    assert!(device.set_capacity(Sectors(300)).is_done());
    device.device_mut().make_gone();
    let outstanding = device.submit(Request::read(whole));
    device.device_mut().make_read_only();
    assert_eq!(device.wait(outstanding).status, Status::Gone(vec![whole]), "what is gone does not come back");
    for request in changes.into_iter().chain([Request::read(whole)]) {
        let error = device.perform(request.clone()).unwrap_err();
        assert_eq!((error.status, error.bytes), (Status::Gone(vec![whole]), None), "{request:?}");
    }
    assert_eq!(device.flush().unwrap_err().to_string(), "flush of 0 sectors from 0: gone");
    assert_eq!(device.set_capacity(Sectors(200)), Status::Gone(Vec::new()));
    assert_eq!(device.device().capacity(), Sectors(300));
    assert_eq!(device.read(range(296, 8)).unwrap_err().status, Status::OutOfRange, "it is refused as ever");
}

#[test]
fn requests_around_the_end_of_a_device_take_effect_up_to_it() {
    let first = Sectors(3);
    let inner = written().into_inner().with_nth(1, Effect::ReadOnly { first }).with_nth(4, Effect::Gone);
    let mut device = Blocking::starting_at(Stats::new(inner), SimTime(1_000_000));
    let before = device.submit(Request::write(range(8, 8), vec![3; 4096]));
    assert_eq!(device.write(Lba(0), vec![2; 4096]).unwrap_err().status, Status::ReadOnly(vec![range(3, 5)]));
    assert_eq!(device.write(Lba(0), vec![4; 512]).unwrap_err().status, Status::ReadOnly(vec![range(0, 1)]));
    assert_eq!(device.read(range(0, 8)).unwrap(), [vec![2; 3 * 512], vec![1; 5 * 512]].concat());
    assert!(device.wait(before).status.is_done());
    assert_eq!(device.flush().unwrap_err().status, Status::Gone(Vec::new()));
    assert_eq!(device.read(range(0, 8)).unwrap_err().status, Status::Gone(vec![range(0, 8)]));
    let of = |kind: Kind| {
        let stats = device.device().of(kind);
        (stats.done, stats.failed, stats.refused, stats.served.0)
    };
    assert_eq!([of(Kind::Write), of(Kind::Read), of(Kind::Flush)], [(1, 2, 0, 11), (1, 1, 0, 8), (0, 1, 0, 0)]);
}

/// A device on which sectors 0 to 64 hold ones.
fn written() -> Blocking<Fault<Ram>> {
    let mut device = Blocking::new(ram());
    device.write(Lba(0), vec![1; 64 * 512]).unwrap();
    let now = device.now();
    Blocking::starting_at(Fault::new(device.into_inner()), now)
}

fn medium(failed: &[(u64, u64)]) -> Status {
    Status::MediumError(failed.iter().map(|&(start, count)| range(start, count)).collect())
}

#[test]
fn bad_sectors_are_named_one_by_one_until_they_are_written() {
    let mut device = written();
    for (start, count) in [(9, 2), (11, 1), (14, 1)] {
        device.device_mut().make_bad(range(start, count), Persistence::UntilWritten);
    }
    let error = device.read(range(8, 8)).unwrap_err();
    assert_eq!(error.status, medium(&[(9, 3), (14, 1)]));
    assert_eq!(error.to_string(), "read of 8 sectors from 8: medium error in 3 sectors from 9 and 1 more ranges");
    let bytes = error.bytes.unwrap();
    let good: Vec<bool> = bytes.chunks(512).map(|sector| sector.iter().all(|byte| *byte == 1)).collect();
    assert_eq!(good, [true, false, false, false, true, true, false, true]);
    device.write(Lba(10), vec![2; 512]).unwrap();
    assert_eq!(device.read(range(8, 8)).unwrap_err().status, medium(&[(9, 1), (11, 1), (14, 1)]));
    device.remap(range(8, 8), range(32, 16)).unwrap();
    assert!(device.read(range(8, 8)).is_ok(), "the errors went with the data");
    assert_eq!(device.read(range(32, 8)).unwrap_err().status, medium(&[(33, 1), (35, 1), (38, 1)]));
    device.discard(range(32, 8)).unwrap();
    assert!(device.read(range(32, 8)).is_ok());
}

#[test]
fn writes_stop_at_sectors_that_are_bad_for_ever() {
    let mut device = written();
    device.device_mut().make_bad(range(12, 1), Persistence::Forever);
    let error = device.write(Lba(8), vec![2; 4096]).unwrap_err();
    assert_eq!(error.status, medium(&[(12, 4)]));
    assert_eq!(device.read(range(8, 4)).unwrap(), vec![2; 2048]);
    assert_eq!(device.read(range(13, 3)).unwrap(), vec![1; 1536]);
    assert_eq!(device.read(range(8, 8)).unwrap_err().status, medium(&[(12, 1)]));
    for (source, destination) in [(range(8, 8), range(16, 8)), (range(16, 8), range(8, 8))] {
        let error = device.remap(source, destination).unwrap_err();
        assert_eq!(error.status, Status::MediumError(vec![destination]), "a remap moves all or nothing");
    }
    assert_eq!(device.read(range(16, 8)).unwrap(), vec![1; 4096]);
}

#[test]
fn chosen_requests_end_half_done() {
    let first = Sectors(3);
    // Kind, effect; the status; whether the first sectors and the others have the requested contents.
    let rest = range(3, 5);
    let table = [
        (Kind::Write, Effect::MediumError { first }, Status::MediumError(vec![rest]), [true, false]),
        (Kind::Write, Effect::NoSpace { first }, Status::NoSpace(vec![rest]), [true, false]),
        (Kind::Write, Effect::Torn { first }, Status::Done, [true, false]),
        (Kind::Write, Effect::DROPPED, Status::Done, [false, false]),
        (Kind::WriteZeroes, Effect::NoSpace { first }, Status::NoSpace(vec![rest]), [true, false]),
        (Kind::Trim, Effect::NoSpace { first }, Status::Done, [true, true]),
        (Kind::Trim, Effect::MediumError { first }, Status::MediumError(vec![rest]), [true, false]),
        (Kind::Flush, Effect::MediumError { first }, Status::MediumError(Vec::new()), [false, false]),
        (Kind::Flush, Effect::DROPPED, Status::Done, [false, false]),
        (Kind::Flush, Effect::ReadOnly { first }, Status::ReadOnly(Vec::new()), [false, false]),
        (Kind::Trim, Effect::ReadOnly { first }, Status::ReadOnly(vec![rest]), [true, false]),
        (Kind::Remap, Effect::ReadOnly { first }, Status::ReadOnly(vec![range(0, 8)]), [false, false]),
        (Kind::Remap, Effect::MediumError { first }, Status::MediumError(vec![range(0, 8)]), [false, false]),
        (Kind::Remap, Effect::NoSpace { first }, Status::NoSpace(vec![range(0, 8)]), [false, false]),
        (Kind::Remap, Effect::DROPPED, Status::Done, [false, false]),
    ];
    for (kind, effect, status, [head, tail]) in table {
        let inner = written().into_inner();
        let mut device = Blocking::starting_at(inner.with_nth_of(kind, 0, effect), SimTime(1_000_000));
        let (whole, new) = (range(0, 8), if kind == Kind::Write { 2 } else { 0 });
        let id = device.submit(match kind {
            Kind::Write => Request::write(whole, vec![2; 4096]),
            Kind::WriteZeroes => Request::write_zeroes(whole),
            Kind::Trim => Request::trim(whole),
            Kind::Remap => Request::remap(range(64, 8), whole),
            _ => Request::flush(),
        });
        let done = device.wait(id);
        assert_eq!((done.kind, &done.status), (kind, &status), "{effect:?}");
        let bytes = device.read(whole).unwrap();
        let want = [(head, 3), (tail, 5)].map(|(is_new, sectors)| vec![if is_new { new } else { 1 }; sectors * 512]);
        assert_eq!(bytes, want.concat(), "{kind} with {effect:?}");
    }
}

#[test]
fn chosen_reads_lie_or_name_what_they_lack() {
    let first = Sectors(3);
    let faulty = written().into_inner().with_nth(0, Effect::Torn { first }).with_nth(1, Effect::MediumError { first });
    let mut device = Blocking::starting_at(faulty, SimTime(1_000_000));
    let short = [vec![1; 3 * 512], vec![0; 5 * 512]].concat();
    assert_eq!(device.read(range(0, 8)).unwrap(), short);
    let error = device.read(range(0, 8)).unwrap_err();
    assert_eq!((error.status, error.bytes), (medium(&[(3, 5)]), Some(short)));
    assert_eq!(device.read(range(0, 8)).unwrap(), vec![1; 4096]);
}

#[test]
fn notices_of_layers_and_devices_come_in_order_of_time() {
    let mut device = Delay::new(Fault::new(ram()), delays());
    device.set_capacity(SimTime(10), Sectors(100));
    let mut device = device.into_inner();
    device.announce(SimTime(5), NoticeKind::wanted(Sectors(100)));
    let mut out = Vec::new();
    device.notices(&mut out);
    device.notices(&mut out);
    let told: Vec<_> = out.iter().map(|notice| (notice.at.0, notice.kind)).collect();
    let capacity = Sectors(100);
    assert_eq!(told, [(5, NoticeKind::wanted(capacity)), (10, NoticeKind::CapacityChanged(capacity))]);
}

#[test]
fn blocking_calls_keep_what_others_wait_for() {
    let mut device = Blocking::new(Delay::new(ram(), delays()));
    let slow = device.submit(Request::write_without_bytes(range(0, 8)));
    let quick = [0, 8, 16].map(|start| device.submit(Request::read(range(start, 8))));
    device.flush().unwrap();
    assert_eq!(device.now(), SimTime(73_000));
    assert_eq!(device.wait(slow).at, SimTime(73_000));
    assert_eq!(device.wait(quick[0]).at, SimTime(3_000));
    let kept: Vec<RequestId> = device.take_completions().iter().map(|done| done.id).collect();
    assert_eq!(kept, quick[1..]);
    device.advance(Nanos(1_000));
    assert_eq!(device.now(), SimTime(74_000));
}

#[test]
fn long_trims_and_zeroes_are_parts_with_one_status() {
    const GIB: u64 = 1 << 21;
    let faulty = Fault::new(Ram::new(Sectors(GIB)))
        .with_nth_of(Kind::Trim, 3, Effect::MediumError { first: Sectors(8) })
        .with_nth_of(Kind::Trim, 4, Effect::MediumError { first: Sectors(0) })
        .with_nth_of(Kind::WriteZeroes, 15, Effect::ReadOnly { first: Sectors(0) });
    let mut device = Blocking::new(Stats::new(faulty));
    let part = Request::LONG_PART.0;
    let error = device.discard(range(0, GIB)).unwrap_err();
    let failed = Status::MediumError(vec![range(3 * part + 8, 2 * part - 8)]);
    assert_eq!((error.kind, error.range, error.status), (Kind::Trim, range(0, GIB), failed));
    let error = device.write_zeroes(range(1, GIB - 1)).unwrap_err();
    assert_eq!(error.status, Status::ReadOnly(vec![range(15 * part, part)]));
    let submitted = |kind| device.device().of(kind).submitted;
    assert_eq!((submitted(Kind::Trim), submitted(Kind::WriteZeroes)), (16, 16));
    assert_eq!(device.discard(range(8, GIB)).unwrap_err().status, Status::OutOfRange);
    assert_eq!(device.device().of(Kind::Trim).refused, 1, "what is out of range is not cut, and nothing of it is done");
}

/// A device that gives the state of one sector at a time.
struct Hesitant {
    device: Ram,
}

impl BlockDevice for Hesitant {
    pass_on!(device: features capacity submit next_event_at complete set_capacity mapped_limit set_mapped_limit notices peek);

    fn extents(&self, range: SectorRange, out: &mut Vec<Extent>) {
        self.device.extents(range.first(Sectors(1)), out);
    }
}

#[test]
fn extents_may_come_bit_by_bit() {
    conformance::block_device_cases("hesitant", &|| Box::new(Hesitant { device: ram() }), 24);
    let (mut bit_by_bit, mut at_once) = (Vec::new(), Vec::new());
    let mut device = Blocking::new(ram());
    device.write_zeroes(range(8, 8)).unwrap();
    all_extents(device.device(), range(5, 1_000), &mut at_once);
    all_extents(&Hesitant { device: device.into_inner() }, range(5, 1_000), &mut bit_by_bit);
    assert_eq!((bit_by_bit.len(), at_once.len()), (395, 3));
    let mut joined: Vec<Extent> = Vec::new();
    for extent in bit_by_bit {
        match joined.last_mut().filter(|last| last.state == extent.state) {
            Some(last) => last.range.count += extent.range.count,
            None => joined.push(extent),
        }
    }
    assert_eq!(joined, at_once);
}

#[test]
fn blocking_transfers_of_any_length_are_cut() {
    let mut device = Blocking::new(Stats::new(Ram::new(Sectors(1 << 20))));
    let mut bytes: Vec<u8> = (0..Request::TRANSFER_MAX.0 as usize * 512 * 2 + 1024)
        .map(|place| (place >> 9) as u8 ^ (place >> 25) as u8)
        .collect();
    device.write(Lba(5), bytes.clone()).unwrap();
    let whole = range(5, bytes.len() as u64 / 512);
    assert_eq!(device.read(whole).unwrap(), bytes);
    assert_eq!((device.device().of(Kind::Write).done, device.device().of(Kind::Read).done), (3, 3));
    assert_eq!(device.read(range(7, 0)).unwrap(), Vec::<u8>::new());
    bytes.truncate(1000);
    let error = device.write(Lba(5), bytes).unwrap_err();
    assert!(error.to_string().starts_with("write of 1 sector from 5: the bytes must fill the range"), "{error}");
    assert_eq!(device.read(range(u64::MAX, 5)).unwrap_err().status, Status::OutOfRange);
    device.write_durably(Lba(0), vec![3; 512]).unwrap();
    assert_eq!(device.device().of(Kind::Flush).submitted, 0, "force unit access is enough");
    let mut device = Blocking::new(Stats::new(plain()));
    device.write_durably(Lba(0), vec![3; 512]).unwrap();
    assert_eq!(device.device().of(Kind::Flush).done, 1, "without it, a flush follows");
}

#[test]
fn a_look_shows_what_is_held_and_names_what_is_lost() {
    let faulty = Fault::new(ram()).with_bad(range(12, 2), Persistence::UntilWritten);
    let mut device = Blocking::new(Stats::new(Record::new(faulty, Keep::Requests, 8)));
    device.write(Lba(3), vec![7; 512 * 3]).unwrap();
    let mut bytes = vec![1; 512 * 20];
    assert_eq!(device.device().peek(range(0, 20), &mut bytes), Some(vec![range(12, 2)]));
    assert!(bytes[..3 * 512].iter().chain(&bytes[6 * 512..]).all(|byte| *byte == 0));
    assert!(bytes[3 * 512..6 * 512].iter().all(|byte| *byte == 7));
    assert_eq!((device.device().of(Kind::Read).submitted, device.device().device().entries().len()), (0, 1));
    let blind = Ram::with(RamConfig { keeps_bytes: false, ..config() }).unwrap();
    assert_eq!(blind.peek(range(0, 1), &mut [0; 512]), None, "what keeps no bytes cannot tell");
    let mut off = ram();
    off.power_off(SimTime::ZERO, &mut || Fate::Done);
    assert_eq!(off.peek(range(0, 1), &mut [0; 512]), None, "nor what has no power");
}
