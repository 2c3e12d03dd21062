//! The edges of space: full volumes, least sizes, and cuts while space is given back.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

mod bed;

use std::collections::BTreeMap;

use bed::cuts::{Cuts, Cutting, Image};
use bed::{Bed, Step, Taste, Tree, compare, step};
use wane_blockdev::{Blocking, Ram};
use wane_fs::{
    Attended, DataChecksums, Direct, FileKind, FormatConfig, FsError, Ino, Mode, Moment, MountConfig, Progress,
    Refusal, Volume, Wanted, Way, format,
};
use wane_sim::Streams;
use wane_units::{Bytes, Sectors};

const SMALL: FormatConfig = FormatConfig { segment_bytes: 64 << 10, ..FormatConfig::new([7; 16], [1, 2]) };
/// The same, with checksums of data.
const CHECKED: FormatConfig = FormatConfig { data_checksums: DataChecksums::Crc32c, ..SMALL };
const LARGE: FormatConfig = FormatConfig { block_bytes: 16384, segment_bytes: 256 << 10, ..SMALL };
const PACKS: std::ops::Range<u32> = 32..64;
const NOW: Moment = Moment { seconds: 5, nanos: 0 };

fn fresh(config: &FormatConfig, blocks: usize) -> Bed<Cuts> {
    let port = Cuts::new(Image::new(config.block_bytes as usize, blocks), 0..0, Streams::new(1).stream("cuts"));
    let image = format(port, config, Moment::default(), (0, 0)).unwrap().durable().clone();
    Bed::new(mounted(&image, 1))
}

fn mounted(image: &Image, nonce: u32) -> Volume<Cuts> {
    let port = Cuts::new(image.clone(), PACKS, Streams::new(nonce.into()).stream("cuts"));
    Volume::mount(port, &MountConfig::new(nonce)).unwrap()
}

/// A volume whose data lie at the end, with room before them.
fn with_a_tail(config: &FormatConfig) -> Bed<Cuts> {
    let mut bed = fresh(config, 1500);
    for (name, id, bytes) in [(b"one", 1, 1_600_000), (b"two", 2, 700_000)] {
        bed.call(&Step::Make(0, name.to_vec(), FileKind::File));
        bed.call(&Step::Write(id, 0, vec![id as u8; bytes]));
    }
    bed.call(&Step::Unlink(0, b"one".to_vec()));
    bed.call(&Step::Sync);
    bed
}

/// Images that cuts could have left while a volume gave space back, at each unit of each flush.
fn cut_while_it_shrinks(bed: &mut Bed<Cuts>, way: Way) -> Vec<Image> {
    bed.volume.port_mut().cutting = Some(Cutting { each_of: 0, some: 2, every: 1, shrinks: true, without: None });
    bed.volume.port_mut().cuts_each = true;
    let target = bed.volume.least() + (256 << 10);
    bed.volume.set_target(target, way).unwrap();
    assert_eq!(bed.volume.evacuate(u64::MAX >> 1).unwrap(), Progress::Done);
    std::mem::take(&mut bed.volume.port_mut().left)
}

fn looks_like(volume: &mut Volume<Cuts>, tree: &Tree) {
    assert_eq!(volume.check().unwrap(), []);
    compare(volume, tree).unwrap();
}

#[test]
fn a_remap_that_is_cut_at_any_unit_is_finished() {
    for config in [&SMALL, &CHECKED] {
        let mut bed = with_a_tail(config);
        let left = cut_while_it_shrinks(&mut bed, Way::Remap);
        assert!(bed.volume.counted().remapped > 100 && left.len() > 1_000, "{}", left.len());
        let mut finished = 0;
        for (number, image) in left.iter().enumerate() {
            let port = Cuts::new(image.clone(), PACKS, Streams::new(9).stream("cuts"));
            let mut volume = Volume::mount(port, &MountConfig { mode: Mode::ReadOnly, ..MountConfig::new(2) }).unwrap();
            looks_like(&mut volume, &bed.tree);
            finished += u64::from(volume.counted().remapped > 0);
            if number % 16 > 0 {
                continue;
            }
            // And cut again while that is made good.
            let mut port = Cuts::new(image.clone(), PACKS, Streams::new(9).stream("cuts"));
            port.cutting = Some(Cutting { each_of: 0, some: 2, every: 1, shrinks: true, without: None });
            port.cuts_each = true;
            let mut volume = Volume::mount(port, &MountConfig::new(3)).unwrap();
            looks_like(&mut volume, &bed.tree);
            for image in std::mem::take(&mut volume.port_mut().left).iter().step_by(7) {
                looks_like(&mut mounted(image, 4), &bed.tree);
            }
        }
        assert!(finished > 100, "{finished}");
    }
}

/// The device refuses more than it was told: whatever a cut leaves, the next mount keeps to it, until it is full.
#[test]
fn a_surrender_that_is_cut_is_kept_to() {
    let mut bed = with_a_tail(&SMALL);
    let left = cut_while_it_shrinks(&mut bed, Way::Surrender);
    let mut limited = 0;
    for image in left.iter().step_by(5) {
        let mut volume = mounted(image, 2);
        limited += u64::from(image.limit() < 1500);
        looks_like(&mut volume, &bed.tree);
        let ino = volume.make(1, b"more", &new_file(), NOW).unwrap().ino;
        let mut at = 0;
        while let Ok(count) = volume.write(ino, at, &[5; 40_000], NOW) {
            at += count as u64;
        }
        volume.sync().unwrap();
        assert_eq!((volume.check().unwrap(), volume.mode()), (vec![], Mode::ReadWrite));
    }
    assert!(limited > 0, "{} images", left.len());
}

const fn new_file() -> wane_fs::NewFile {
    wane_fs::NewFile { kind: FileKind::File, permissions: 0o644, uid: 0, gid: 0, rdev: 0 }
}

/// What frees space, or changes what there is, works however full a volume is.
#[test]
fn what_frees_space_works_at_every_level_of_fullness() {
    for config in [&SMALL, &CHECKED, &LARGE] {
        let block = u64::from(config.block_bytes);
        let mut bed = fresh(config, 900);
        let mut ino_of: BTreeMap<&str, Ino> = BTreeMap::new();
        for (name, blocks) in [("big", 20), ("small", 1), ("mid", 7)] {
            let ino = bed.volume.make(1, name.as_bytes(), &new_file(), NOW).unwrap().ino;
            bed.volume.write(ino, 0, &vec![6; (blocks * block) as usize], NOW).unwrap();
            ino_of.insert(name, ino);
        }
        let (big, mut end) = (ino_of["big"], 20 * block);
        let (mut levels, mut last) = (0, u64::MAX);
        loop {
            let free = bed.volume.space().free;
            if free <= 40 && free != last {
                (levels, last) = (levels + 1, free);
                bed.volume.sync().unwrap();
                let image = bed.volume.port().durable().clone();
                free_at(&image, &ino_of, (block, end), free);
            }
            match bed.volume.write(big, end, &vec![9; block as usize], NOW) {
                Ok(count) => end += count as u64,
                Err(error) => {
                    assert_eq!((error, bed.volume.space().free), (FsError::NoSpace, free));
                    break;
                }
            }
        }
        assert!(levels > 30, "{levels}");
        assert_eq!(bed.volume.make(1, b"new", &new_file(), NOW), Err(FsError::NoSpace));
    }
}

/// Each of these on a copy of a volume that has `free` blocks.
fn free_at(image: &Image, ino_of: &BTreeMap<&str, Ino>, (block, end): (u64, u64), free: u64) {
    let (big, mid) = (ino_of["big"], ino_of["mid"]);
    type Act<'a> = (&'a str, &'a dyn Fn(&mut Volume<Cuts>) -> Result<(), FsError>);
    let piece = vec![8; 3 * block as usize + 100];
    let acts: [Act<'_>; 8] = [
        ("unlink", &|volume| volume.unlink(1, b"small", NOW)),
        ("unlink the largest", &|volume| volume.unlink(1, b"big", NOW)),
        ("truncate", &|volume| volume.truncate(big, 0, NOW)),
        ("truncate in a block", &|volume| volume.truncate(big, end - block - 100, NOW)),
        ("punch", &|volume| volume.allocate(mid, 100, 3 * block, wane_fs::Allocate::PunchHole, NOW)),
        ("overwrite and fsync", &|volume| {
            let written = volume.write(mid, 50, &piece, NOW)?;
            assert_eq!(written, piece.len());
            volume.fsync(mid)
        }),
        ("rename", &|volume| volume.rename((1, b"small"), (1, b"mid"), wane_fs::Rename::Replace, NOW)),
        ("shrink", &|volume| {
            let least = volume.least();
            volume.set_target(least, Way::Relocate).map_err(|_| FsError::Invalid)?;
            assert_eq!(volume.evacuate(u64::MAX >> 1)?, Progress::Done);
            assert_eq!(volume.size(), least);
            Ok(())
        }),
    ];
    for (name, act) in acts {
        let mut volume = mounted(image, 3);
        act(&mut volume).unwrap_or_else(|error| panic!("{name} with {free} blocks free: {error}"));
        volume.sync().unwrap();
        assert_eq!((volume.check().unwrap(), volume.mode()), (vec![], Mode::ReadWrite), "{name} with {free} free");
    }
}

/// A device that takes no more writes before it needs space, or cannot tell, is answered in steps that always end.
#[test]
fn a_demand_with_no_writes_left_is_met() {
    for writes_left in [0, 1, 500] {
        let mut bed = with_a_tail(&SMALL);
        let wanted = bed.volume.least() + (256 << 10);
        bed.volume.port_mut().wants = Some(Wanted { blocks: wanted / 4096, writes_left });
        let mut steps = 0;
        while bed.volume.attend(Way::Relocate, 8).unwrap() != Attended::Nothing {
            steps += 1;
            assert!(steps < 200, "{writes_left}");
        }
        assert_eq!(writes_left == 1, steps == 0, "an urgent demand is met at once, and others in steps");
        assert_eq!(bed.volume.size(), wanted);
        bed.compare();
    }
}

/// What calls reserve is what is written for them in the end, or more where fallocate promised it: the room that users have left is never less than
/// it says.
#[test]
fn a_call_reserves_the_blocks_that_it_writes() {
    let taste = Taste { write_max: 30_000, size_max: 300_000, names: 30 };
    for (seed, config) in [(0, &SMALL), (1, &CHECKED), (2, &LARGE), (3, &CHECKED)] {
        let mut stream = Streams::new(seed).stream("fs.audit");
        let mut bed = fresh(config, 1500);
        let has_promises = seed % 2 == 0;
        for number in 0..1_500 {
            let next = step(&bed.tree, taste, &mut stream);
            if matches!(next, Step::Allocate(..)) && !has_promises {
                continue;
            }
            bed.call(&next);
            let reserved = |bed: &Bed<Cuts>| bed.volume.space().blocks - bed.volume.space().free;
            let before = reserved(&bed);
            bed.volume.sync().unwrap();
            let (after, used) = (reserved(&bed), bed.volume.layout().used_blocks);
            assert_eq!(before, after, "{seed}/{number}: writing reserves nothing, {next:?}");
            assert!(used == after || (has_promises && used < after), "{seed}/{number}: {used} {after} {next:?}");
        }
    }
}

/// Aged images of all kinds: a shrink to the least size succeeds, and a section less is refused.
#[test]
fn the_least_size_of_aged_volumes_is_exact() {
    let images: u64 = std::env::var("WANE_FS_IMAGES").ok().and_then(|given| given.parse().ok()).unwrap_or(90);
    let sections = FormatConfig { section_segments: 2, ..CHECKED };
    let checked = FormatConfig { data_checksums: DataChecksums::Crc32c, ..LARGE };
    let kinds: [(&FormatConfig, u64); 5] =
        [(&SMALL, 8 << 20), (&LARGE, 32 << 20), (&CHECKED, 8 << 20), (&checked, 32 << 20), (&sections, 12 << 20)];
    for seed in 0..images {
        let (config, bytes) = kinds[(seed % 5) as usize];
        let mut stream = Streams::new(seed).stream("fs.least");
        let port = Direct::new(Blocking::new(Ram::new(Sectors(bytes / 512))), config.block_bytes as usize);
        let port = format(port, config, Moment::default(), (0, 0)).unwrap();
        let mut bed = Bed::new(Volume::mount(port, &MountConfig::new(1)).unwrap());
        let large = u64::from(config.block_bytes) / 4096;
        let taste = Taste { write_max: large * 30_000, size_max: large * 200_000, names: 60 };
        for _ in 0..40 + stream.below(400) {
            let next = step(&bed.tree, taste, &mut stream);
            bed.call(&next);
        }
        let section = u64::from(config.segment_bytes * config.section_segments);
        let (way, least) = (bed::pick(&Way::ALL, &mut stream), bed.volume.least());
        let refused = bed.volume.set_target(least - section, way);
        assert_eq!(refused, Err(Refusal::TooSmall { asked: least - section, least }), "{seed}");
        bed.volume.set_target(least, way).unwrap();
        assert_eq!(bed.volume.evacuate(u64::MAX >> 1).unwrap(), Progress::Done, "{seed} {way:?}");
        assert_eq!(bed.volume.size(), least, "{seed}");
        bed.compare();
    }
}

/// A device that was made larger: the file system grows up to the size for which its tables were made, whenever the power is cut, and shrinks again.
#[test]
fn a_volume_grows_to_its_greatest_size() {
    for config in [&SMALL, &CHECKED] {
        let config = FormatConfig { greatest_bytes: Some(16 << 20), ..config.clone() };
        let mut bed = fresh(&config, 1024);
        assert!(bed.volume.size() <= 4 << 20 && bed.volume.greatest() > 15 << 20, "{}", bed.volume.greatest());
        let (least, most) = (bed.volume.size(), bed.volume.greatest());
        bed.call(&Step::Make(0, b"file".to_vec(), FileKind::File));
        bed.call(&Step::Write(1, 0, vec![1; 3 << 20]));
        assert_eq!(bed.full, 1, "it is full");
        // The device is as it was.
        assert_eq!(
            bed.volume.set_target(8 << 20, Way::Relocate).map_err(|why| why.to_string()),
            Err(format!("cannot have 8 MiB; the largest size is {}", Bytes(least).exactly()))
        );
        bed.volume.sync().unwrap();
        let before = bed;
        let device = before.volume.port().durable().grown(4096);
        let mut bed = Bed { volume: mounted(&device, 2), ..before };
        assert_eq!(bed.volume.size(), least);
        let asked = most + (1 << 20);
        assert_eq!(bed.volume.set_target(asked, Way::Relocate), Err(Refusal::TooLarge { asked, most }));
        bed.volume.port_mut().cutting = Some(Cutting { each_of: 4, some: 8, every: 1, shrinks: true, without: None });
        bed.volume.set_target(most, Way::Relocate).unwrap();
        assert_eq!((bed.volume.size(), bed.volume.target()), (most, None));
        for image in std::mem::take(&mut bed.volume.port_mut().left) {
            let mut volume = mounted(&image, 3);
            assert!([least, most].contains(&volume.size()));
            looks_like(&mut volume, &bed.tree);
        }
        bed.volume.port_mut().cutting = None;
        bed.call(&Step::Write(1, 3 << 20, vec![2; 8 << 20]));
        assert_eq!(bed.full, 1, "it has room");
        bed.compare();
        bed.call(&Step::Truncate(1, 1_000));
        bed.volume.set_target(least, Way::Relocate).unwrap();
        assert_eq!(bed.volume.evacuate(u64::MAX >> 1).unwrap(), Progress::Done);
        assert_eq!(bed.volume.size(), least);
        bed.compare();
    }
}
