//! Drives that a command uses for long, and that it leaves without an end.

use wane_blockdev::{BlockDevice, Blocking, Status};

use super::journals::{SERVED, at_rest};
use super::*;

fn attached(path: &Path) -> Blocking<Attached> {
    Blocking::new(Attached::new(Kept::open_late(path).unwrap(), Keeps::All).unwrap())
}

/// What a file system does.
fn work(device: &mut Blocking<Attached>, stream: &mut Stream, steps: usize) {
    let units = device.device().capacity().0 / 8;
    for _ in 0..steps {
        let range = SectorRange::new(Lba(8 * stream.below(units - 16)), Sectors(8 * (1 + stream.below(16))));
        let request = match stream.below(20) {
            0..10 => Request::write(range, vec![stream.below(250) as u8 + 1; range.len_bytes()]),
            10..16 => Request::read(range),
            16..18 => Request::trim(range),
            18 => Request::write(range, vec![7; range.len_bytes()]).with_fua(),
            _ => Request::flush(),
        };
        let has_fua = device.device().features().fua;
        if !request.flags.fua || has_fua {
            device.perform(request).unwrap();
        }
    }
}

#[test]
fn a_drive_whose_process_died_after_a_flush_is_bit_by_bit_what_it_was() {
    let place = tempfile::tempdir().unwrap();
    for (number, text) in SERVED.into_iter().enumerate() {
        let path = place.path().join(format!("{number}.wane"));
        drop(Kept::create(&path, &scenario(text), &go()).unwrap());
        let mut stream = Streams::new(number as u64).stream("file system");
        for round in 0..4 {
            let mut device = attached(&path);
            work(&mut device, &mut stream, 150);
            if round == 1 {
                device.device_mut().save_beside().unwrap();
                work(&mut device, &mut stream, 50);
            }
            device.flush().unwrap();
            let mut attached = device.into_inner();
            let was = at_rest(&mut attached.kept);
            drop(attached);
            let mut again = Kept::open(&path).unwrap();
            assert!(again.repeated() > 20, "{text} {round}");
            again.check().unwrap();
            assert!(at_rest(&mut again) == was, "{text} {round}: another drive");
        }
        // One that ends tells what was done, and is the same drive afterwards.
        let mut device = attached(&path);
        work(&mut device, &mut stream, 50);
        device.into_inner().close("worked".to_owned()).unwrap();
        let kept = Kept::open(&path).unwrap();
        assert_eq!(kept.history().last().map(String::as_str), Some("worked"));
        kept.check().unwrap();
    }
}

#[test]
fn what_was_not_flushed_may_be_lost_and_nothing_else() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("a.wane");
    drop(Kept::create(&path, &scenario(SERVED[2]), &go()).unwrap());
    let (first, second) = (SectorRange::new(Lba(0), Sectors(8)), SectorRange::new(Lba(8), Sectors(8)));
    let mut device = attached(&path);
    device.perform(Request::write(first, vec![1; 4096])).unwrap();
    device.flush().unwrap();
    device.perform(Request::write(second, vec![2; 4096])).unwrap();
    drop(device);
    let mut device = attached(&path);
    assert_eq!(device.read(first).unwrap(), [1; 4096]);
    assert_eq!(device.read(second).unwrap(), [0; 4096]);
    // Nothing that only looks leaves a trace.
    drop(device);
    let names = || std::fs::read_dir(&path).unwrap().count();
    let before = names();
    for keeps in [Keeps::All, Keeps::Nothing] {
        let mut device = Blocking::new(Attached::new(Kept::open_late(&path).unwrap(), keeps).unwrap());
        assert_eq!(device.read(first).unwrap(), [1; 4096]);
        drop(device);
        assert_eq!(names(), before, "{keeps:?}");
    }
    // One that keeps nothing takes changes, and forgets them.
    let mut device = Blocking::new(Attached::new(Kept::open_late(&path).unwrap(), Keeps::Nothing).unwrap());
    device.perform(Request::write(first, vec![9; 4096]).with_fua()).unwrap();
    device.into_inner().close("looked".to_owned()).unwrap();
    assert_eq!(attached(&path).read(first).unwrap(), [1; 4096]);
}

#[test]
fn limits_and_capacity_are_there_after_a_kill() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("a.wane");
    drop(Kept::create(&path, &scenario(SERVED[2]), &go()).unwrap());
    let mut device = attached(&path).into_inner();
    let whole = device.capacity();
    let (limit, capacity) = (Sectors(whole.0 / 2), Sectors(whole.0 / 4 * 3));
    assert_eq!(device.set_mapped_limit(SimTime::ZERO, limit), Status::Done);
    assert_eq!(device.set_capacity(SimTime::ZERO, capacity), Status::Done);
    assert!(!device.set_mapped_limit(SimTime::ZERO, whole).is_done(), "it is more than the capacity");
    drop(device);
    let device = attached(&path).into_inner();
    assert_eq!((device.mapped_limit(), device.capacity()), (limit, capacity));
}
