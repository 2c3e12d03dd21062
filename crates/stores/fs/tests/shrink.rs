//! Space is given back while the volume is used.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

mod bed;

use bed::cuts::{Cuts, Image};
use bed::{Bed, Taste, step};
use wane_blockdev::{BlockDevice, Blocking, Ram};
use wane_fs::{
    Attended, Direct, FileKind, FormatConfig, Moment, MountConfig, NewFile, Port, Progress, ROOT, Refusal, Trims,
    Volume, Wanted, Way, format,
};
use wane_sim::{Stream, Streams};
use wane_units::Sectors;

const SMALL: FormatConfig = FormatConfig { segment_bytes: 64 << 10, ..FormatConfig::new([7; 16], [1, 2]) };
const TASTE: Taste = Taste { write_max: 30_000, size_max: 200_000, names: 80 };
const SECTION: u64 = 64 << 10;

type Ports = Direct<Ram>;

/// An aged volume.
fn aged(seed: u64, config: &FormatConfig, bytes: u64, steps: u64) -> (Bed<Ports>, Stream) {
    let mut stream = Streams::new(seed).stream("fs.shrink");
    let port = Direct::new(Blocking::new(Ram::new(Sectors(bytes / 512))), config.block_bytes as usize);
    let port = format(port, config, Moment::default(), (0, 0)).unwrap();
    let mut bed = Bed::new(Volume::mount(port, &MountConfig::new(1)).unwrap());
    for _ in 0..steps {
        let next = step(&bed.tree, TASTE, &mut stream);
        bed.call(&next);
    }
    (bed, stream)
}

fn remounted(bed: Bed<Ports>, nonce: u32) -> Bed<Ports> {
    let Bed { volume, tree, inos, now, full } = bed;
    let port = volume.unmount().map_err(|(_, error)| error).unwrap();
    Bed { volume: Volume::mount(port, &MountConfig::new(nonce)).unwrap(), tree, inos, now, full }
}

/// Evacuates to the end.
fn all(bed: &mut Bed<Ports>) {
    assert_eq!(bed.volume.evacuate(u64::MAX >> 1).unwrap(), Progress::Done);
}

#[test]
fn the_least_size_is_exact() {
    for (seed, way) in (0..12).flat_map(|seed| Way::ALL.map(|way| (seed, way))) {
        let (mut bed, mut stream) = aged(seed, &SMALL, 8 << 20, 100 + 60 * seed);
        let least = bed.volume.least();
        assert_eq!(bed.volume.plan(least - SECTION, way), Err(Refusal::TooSmall { asked: least - SECTION, least }));
        assert!(bed.volume.set_target(least - 1, way).is_err());
        let plan = bed.volume.plan(least, way).unwrap();
        bed.volume.set_target(least, way).unwrap();
        all(&mut bed);
        assert_eq!((bed.volume.size(), bed.volume.target(), plan.bytes), (least, None, least));
        // The device was told: it holds no more, or has no more addresses.
        let device = bed.volume.port().device().device();
        let told = if way == Way::Surrender { device.mapped_limit() } else { device.capacity() };
        assert_eq!(told.0 * 512, least, "{way:?}");
        bed.compare();
        // It goes on at that size, and takes what is given up.
        for _ in 0..200 {
            let next = step(&bed.tree, TASTE, &mut stream);
            bed.call(&next);
        }
        bed.compare();
        let mut bed = remounted(bed, 9);
        assert_eq!(bed.volume.size(), least, "{way:?}");
        bed.compare();
    }
}

#[test]
fn sizes_go_both_ways_while_the_volume_is_used() {
    for seed in 0..4 {
        let (mut bed, mut stream) = aged(seed, &SMALL, 8 << 20, 200);
        let whole = bed.volume.size();
        let mut reached = 0;
        for number in 0..60 {
            let least = bed.volume.least();
            let bytes = least + stream.below(whole - least + 1);
            let way = bed::pick(&Way::ALL, &mut stream);
            match bed.volume.set_target(bytes, way) {
                Ok(()) => {}
                // A device that gave addresses back may not have them again.
                Err(Refusal::TooLarge { .. }) => continue,
                Err(other) => panic!("{other}"),
            }
            for _ in 0..40 {
                let next = step(&bed.tree, TASTE, &mut stream);
                bed.call(&next);
                if bed.volume.evacuate(8).unwrap() == Progress::Done {
                    reached += 1;
                    break;
                }
            }
            if number % 8 == 0 {
                bed.compare();
                bed = remounted(bed, number as u32 + 2);
            }
        }
        bed.compare();
        assert!(reached > 30, "{reached}");
    }
}

#[test]
fn a_writer_that_is_faster_than_the_steps_does_not_keep_a_target_out_of_reach() {
    for way in Way::ALL {
        let (mut bed, mut stream) = aged(5, &SMALL, 12 << 20, 0);
        let volume = &mut bed.volume;
        let file = NewFile { kind: FileKind::File, permissions: 0o600, uid: 0, gid: 0, rdev: 0 };
        let made = volume.make(ROOT, b"written all the time", &file, Moment::default()).unwrap();
        let pages = 1200;
        for page in 0..pages {
            volume.write(made.ino, page << 12, &[1; 4096], Moment::default()).unwrap();
        }
        for number in 0..4000 {
            volume.write(made.ino, stream.below(pages) << 12, &[2; 4096], Moment::default()).unwrap();
            if number % 32 == 0 {
                volume.fsync(made.ino).unwrap();
            }
        }
        volume.sync().unwrap();
        volume.set_target(volume.least() + 14 * SECTION, way).unwrap();
        let mut steps = 0;
        while volume.evacuate(1).unwrap() != Progress::Done {
            steps += 1;
            assert!(steps < 300, "{way:?}: {} sections are in the way", volume.in_the_way_now());
            // Two sections between two steps of one.
            for _ in 0..32 {
                let page = stream.below(pages);
                volume.write(made.ino, page << 12, &[steps as u8; 4096], Moment::default()).unwrap();
            }
            volume.fsync(made.ino).unwrap();
        }
        assert!(steps > 3, "{way:?}: {steps}");
    }
}

#[test]
fn what_leaves_the_tail_is_not_written_there_any_more() {
    let (mut bed, _) = aged(3, &SMALL, 16 << 20, 900);
    let half = bed.volume.least() + 20 * SECTION;
    let before = bed.volume.counted();
    let plan = bed.volume.plan(half, Way::Relocate).unwrap();
    bed.volume.set_target(half, Way::Relocate).unwrap();
    // A target survives a mount, and is reached after it.
    let mut bed = remounted(bed, 5);
    assert_eq!(bed.volume.target(), Some((half, Way::Relocate)));
    all(&mut bed);
    assert_eq!(bed.volume.size(), half);
    let capacity = bed.volume.port().device().device();
    assert_eq!(capacity.capacity().0 * 512, half, "the device is as large as the file system");
    bed.compare();
    let moved = (bed.volume.counted().moved - before.moved.min(bed.volume.counted().moved)) * 4096;
    assert!(moved <= plan.moved + 40 * SECTION, "{moved} {}", plan.moved);
}

/// The device moves data by its map: what the file system writes is structures.
#[test]
fn a_device_that_remaps_is_written_less() {
    let (mut bed, _) = aged(3, &SMALL, 16 << 20, 0);
    for (name, id) in [(b"one", 1), (b"two", 2)] {
        bed.call(&bed::Step::Make(0, name.to_vec(), wane_fs::FileKind::File));
        bed.call(&bed::Step::Write(id, 0, vec![id as u8; 5 << 20]));
    }
    bed.call(&bed::Step::Sync);
    bed.call(&bed::Step::Unlink(0, b"one".to_vec()));
    bed.call(&bed::Step::Sync);
    let bytes = bed.volume.least() + 20 * SECTION;
    let before = bed.volume.counted();
    bed.volume.set_target(bytes, Way::Remap).unwrap();
    all(&mut bed);
    bed.compare();
    let after = bed.volume.counted();
    assert!(after.remapped > 4 * (after.moved - before.moved), "{before:?} {after:?}");
    remounted(bed, 8).compare();
}

#[test]
fn users_have_no_more_room_than_the_target_leaves() {
    let (mut bed, _) = aged(1, &SMALL, 8 << 20, 100);
    let (room, least) = (bed.volume.space().free, bed.volume.least());
    let plan = bed.volume.plan(least + 4 * SECTION, Way::Surrender).unwrap();
    bed.volume.set_target(least + 4 * SECTION, Way::Surrender).unwrap();
    let left = bed.volume.space().free;
    assert!(left < room && left * 4096 == plan.room, "{left} of {room}");
    bed.volume.cancel_target().unwrap();
    assert_eq!(bed.volume.space().free, room);
    assert_eq!(bed.volume.evacuate(1).unwrap(), Progress::Done);
}

/// A device that wants more than there is to give gets what there is, and the rest when files are removed.
#[test]
fn a_demand_that_cannot_be_met_is_told_and_remembered() {
    let port = Cuts::new(Image::new(4096, 2000), 0..0, Streams::new(1).stream("cuts"));
    let port = format(port, &SMALL, Moment::default(), (0, 0)).unwrap();
    let mut bed = Bed::new(Volume::mount(port, &MountConfig::new(1)).unwrap());
    bed.call(&bed::Step::Make(0, b"large".to_vec(), wane_fs::FileKind::File));
    bed.call(&bed::Step::Write(1, 0, vec![1; 4_000_000]));
    assert_eq!(bed.volume.attend(Way::Surrender, 64).unwrap(), Attended::Nothing);
    let (least, wanted) = (bed.volume.least(), bed.volume.least() - 8 * SECTION);
    bed.volume.port_mut().wants = Some(Wanted { blocks: wanted / 4096, writes_left: 0 });
    for _ in 0..200 {
        assert_eq!(bed.volume.attend(Way::Surrender, 64).unwrap(), Attended::Degraded { wanted, least });
    }
    assert_eq!((bed.volume.size(), bed.volume.port().limit() * 4096), (least, least));
    bed.call(&bed::Step::Truncate(1, 2_000_000));
    while bed.volume.attend(Way::Surrender, 64).unwrap() != Attended::Nothing {}
    assert_eq!((bed.volume.size(), bed.volume.port().limit() * 4096), (wanted, wanted));
    bed.compare();
}

/// Fills what there is room for, and makes that durable.
fn filled(bed: &mut Bed<Ports>) {
    bed.call(&bed::Step::Make(0, b"large".to_vec(), FileKind::File));
    let room = bed.volume.space().free as usize * 4096 / 10 * 9;
    let id = *bed.inos.keys().max().unwrap();
    bed.call(&bed::Step::Write(id, 0, vec![3; room]));
    bed.call(&bed::Step::Sync);
    assert_eq!(
        (bed.volume.mode(), bed.full),
        (wane_fs::Mode::ReadWrite, 0),
        "a part of the room that is told can be written"
    );
    bed.compare();
}

/// Writes all blocks of a device that hold nothing yet, from its end on, as far as it lets.
fn written_by_others(port: Ports) -> Ports {
    let mut blocking = port.into_inner();
    let blocks = blocking.device().capacity().0 / 8;
    for block in (0..blocks).rev() {
        let range = wane_blockdev::SectorRange::new(wane_units::Lba(block * 8), Sectors(8));
        let mut told = Vec::new();
        wane_blockdev::all_extents(blocking.device(), range, &mut told);
        if told.iter().all(|extent| extent.state == wane_blockdev::ExtentState::Hole) {
            // Beyond the limit there is no space.
            let _ = blocking.write(range.start, vec![9; range.len_bytes()]);
        }
    }
    Direct::new(blocking, 4096)
}

/// A device counts all that it holds against its limit. A file system counts its own blocks.
#[test]
fn what_others_wrote_to_a_limited_device_takes_no_room() {
    let (mut bed, _) = aged(2, &SMALL, 8 << 20, 200);
    let bytes = bed.volume.least() + 20 * SECTION;
    bed.volume.set_target(bytes, Way::Surrender).unwrap();
    all(&mut bed);
    let Bed { volume, tree, inos, now, full } = bed;
    let port = written_by_others(volume.unmount().map_err(|(_, error)| error).unwrap());
    let volume = Volume::mount(port, &MountConfig::new(5)).unwrap();
    let mut bed = Bed { volume, tree, inos, now, full };
    bed.compare();
    filled(&mut bed);
    // It is made anew there, too.
    let port = written_by_others(bed.volume.unmount().map_err(|(_, error)| error).unwrap());
    let port = format(port, &SMALL, Moment::default(), (0, 0)).unwrap();
    filled(&mut Bed::new(Volume::mount(port, &MountConfig::new(6)).unwrap()));
}

/// A volume that discards nothing, and one on a device that others had written before, get smaller as any other.
#[test]
fn a_volume_that_gets_smaller_gives_back_what_it_never_discarded() {
    for (trims, is_dirty) in [(Trims::Never, false), (Trims::AtOnce, true), (Trims::Never, true)] {
        let mut port = Direct::new(Blocking::new(Ram::new(Sectors((8 << 20) / 512))), 4096);
        if is_dirty {
            port = written_by_others(port);
        }
        let port = format(port, &SMALL, Moment::default(), (0, 0)).unwrap();
        let mut bed = Bed::new(Volume::mount(port, &MountConfig { trims, ..MountConfig::new(1) }).unwrap());
        bed.call(&bed::Step::Make(0, b"gone".to_vec(), FileKind::File));
        bed.call(&bed::Step::Write(1, 0, vec![1; 5 << 20]));
        bed.call(&bed::Step::Sync);
        bed.call(&bed::Step::Unlink(0, b"gone".to_vec()));
        bed.call(&bed::Step::Sync);
        let bytes = bed.volume.least() + 30 * SECTION;
        bed.volume.set_target(bytes, Way::Surrender).unwrap();
        all(&mut bed);
        assert_eq!(bed.volume.port().device().device().mapped_limit().0 * 512, bytes, "{trims:?} {is_dirty}");
        filled(&mut bed);
        bed.call(&bed::Step::Unlink(0, b"large".to_vec()));
        bed.call(&bed::Step::Sync);
        filled(&mut bed);
    }
}
