//! Data with checksums: what a device lost, damaged or mixed up is an error, and never other bytes.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

mod bed;

use std::collections::BTreeSet;

use bed::cuts::{Cuts, Image};
use bed::{Bed, Step, Taste, step};
use wane_fs::{DataChecksums, FileKind, FormatConfig, Ino, Mode, Moment, MountConfig, Progress, Volume, Way, format};
use wane_sim::{Stream, Streams};

const CHECKED: FormatConfig = FormatConfig {
    segment_bytes: 64 << 10,
    data_checksums: DataChecksums::Crc32c,
    ..FormatConfig::new([7; 16], [1, 2])
};
const LARGE: FormatConfig = FormatConfig { block_bytes: 16384, segment_bytes: 256 << 10, ..CHECKED };
const TASTE: Taste = Taste { write_max: 40_000, size_max: 300_000, names: 40 };

fn fresh(config: &FormatConfig, blocks: usize, stream: Stream) -> Cuts {
    let port = Cuts::new(Image::new(config.block_bytes as usize, blocks), 0..0, stream);
    format(port, config, Moment::default(), (0, 0)).unwrap()
}

/// An aged image, what its files hold, and which of its blocks are data.
fn aged(seed: u64, config: &FormatConfig) -> (Image, Bed<Cuts>, Vec<u32>) {
    let streams = Streams::new(seed);
    let mut stream = streams.stream("fs.checksums");
    let port = fresh(config, 1500, streams.stream("cuts"));
    let mut bed = Bed::new(Volume::mount(port, &MountConfig::new(1)).unwrap());
    for _ in 0..400 {
        let next = step(&bed.tree, TASTE, &mut stream);
        bed.call(&next);
    }
    bed.volume.sync().unwrap();
    let structures = bed.volume.port().structures.clone();
    let data = bed.volume.blocks_in_use().unwrap().difference(&structures).copied().collect();
    (bed.volume.port().durable().clone(), bed, data)
}

/// Damages data in a way that a device has.
fn damage(image: &mut Image, data: &[u32], stream: &mut Stream) {
    for _ in 0..=stream.below(4) {
        let at = bed::pick(data, stream) as usize;
        let other = bed::pick(data, stream) as usize;
        let mut bytes = image.blocks[at].as_ref().unwrap().to_vec();
        match stream.below(4) {
            0 => bytes.fill(0),
            1 => bytes = image.blocks[other].as_ref().unwrap().to_vec(),
            2 => {
                let half = image.size / 2 * stream.below(2) as usize;
                bytes[half..half + image.size / 2].fill(0xFF);
            }
            _ => {
                let place = stream.below(image.size as u64) as usize;
                bytes[place] ^= 1 << stream.below(8);
            }
        }
        image.blocks[at] = Some(bytes.into());
    }
}

/// Reads all files in parts, each of which is right or an error. Returns the files with errors.
fn read_all(volume: &mut Volume<Cuts>, known: &Bed<Cuts>) -> BTreeSet<Ino> {
    let mut failed = BTreeSet::new();
    for (id, ino) in &known.inos {
        let leaf = &known.tree.files[id];
        match leaf.kind {
            Some(FileKind::File) => {
                for from in (0..leaf.data.len()).step_by(3000) {
                    let wanted = &leaf.data[from..(from + 3000).min(leaf.data.len())];
                    match volume.read(*ino, from as u64, wanted.len()) {
                        Ok(bytes) => {
                            assert!(wanted.starts_with(&bytes), "file {ino} reads other bytes at {from}");
                            if bytes.len() < wanted.len() {
                                failed.insert(*ino);
                            }
                        }
                        Err(_) => drop(failed.insert(*ino)),
                    }
                }
            }
            Some(FileKind::Symlink) => match volume.read_link(*ino) {
                Ok(target) => assert_eq!(target, leaf.data, "link {ino}"),
                Err(_) => drop(failed.insert(*ino)),
            },
            _ => {}
        }
    }
    failed
}

#[test]
fn damaged_data_are_an_error_and_never_other_bytes() {
    let images: u64 = std::env::var("WANE_FS_IMAGES").ok().and_then(|given| given.parse().ok()).unwrap_or(200);
    let mut found = 0;
    for (seed, config) in [(0, &CHECKED), (1, &CHECKED), (2, &LARGE)] {
        let (image, known, data) = aged(seed, config);
        let mut stream = Streams::new(seed).stream("fs.damaged");
        for number in 0..images / 3 {
            let mut damaged = image.clone();
            damage(&mut damaged, &data, &mut stream);
            let port = |image: &Image| Cuts::new(image.clone(), 0..0, Streams::new(seed).stream("cuts"));
            let config = MountConfig { mode: Mode::ReadOnly, ..MountConfig::new(5) };
            let mut volume = Volume::mount(port(&damaged), &config).unwrap();
            let failed = read_all(&mut volume, &known);
            let scrubbed = volume.scrub().unwrap();
            assert_eq!(volume.check().unwrap(), []);
            // A block may be exchanged for one with the same bytes; every file that fails has its sentence.
            let told =
                scrubbed.findings.iter().map(|finding| finding.to_string().split(':').next().unwrap().to_owned());
            assert_eq!(told.collect::<BTreeSet<_>>().len(), failed.len(), "{number}: {:?}", scrubbed.findings);
            assert_eq!(failed.is_empty(), volume.counted().mismatched == 0);
            found += u64::from(!failed.is_empty());
            if number % 8 > 0 {
                continue;
            }
            // What was lost stays so when it is moved, and what is moved stays what it was.
            let mut volume = Volume::mount(port(&damaged), &MountConfig::new(6)).unwrap();
            let way = bed::pick(&Way::ALL, &mut stream);
            volume.port_mut().refuses_remap = number % 16 == 0;
            volume.set_target(volume.least(), way).unwrap();
            assert_eq!(volume.evacuate(u64::MAX >> 1).unwrap(), Progress::Done, "{way:?}");
            let mut volume = Volume::mount(volume.unmount().map_err(|(_, error)| error).unwrap(), &config).unwrap();
            assert_eq!(read_all(&mut volume, &known), failed, "{way:?}");
            assert_eq!(volume.check().unwrap(), []);
        }
    }
    assert!(found > images / 2, "{found}");
}

/// Blocks in the range that is given back cannot be read: the shrink goes on, they are counted, and stay errors.
#[test]
fn lost_blocks_do_not_stop_a_shrink() {
    for (way, refuses_remap) in [(Way::Relocate, false), (Way::Surrender, false), (Way::Remap, true)] {
        for config in [&CHECKED, &FormatConfig { data_checksums: DataChecksums::None, ..CHECKED }] {
            let port = fresh(config, 1500, Streams::new(1).stream("cuts"));
            let mut bed = Bed::new(Volume::mount(port, &MountConfig::new(1)).unwrap());
            for (name, id, bytes) in [(b"one", 1, 1_600_000), (b"two", 2, 700_000)] {
                bed.call(&Step::Make(0, name.to_vec(), FileKind::File));
                bed.call(&Step::Write(id, 0, vec![id as u8; bytes]));
            }
            bed.call(&Step::Unlink(0, b"one".to_vec()));
            bed.call(&Step::Sync);
            let structures = bed.volume.port().structures.clone();
            let data: Vec<u32> = bed.volume.blocks_in_use().unwrap().difference(&structures).copied().collect();
            let lost: BTreeSet<u32> = data.iter().rev().step_by(9).copied().collect();
            let count = lost.len() as u64;
            // Nothing is in memory any more.
            let mut volume = Volume::mount(bed.volume.into_port(), &MountConfig::new(2)).unwrap();
            (volume.port_mut().lost, volume.port_mut().refuses_remap) = (lost, refuses_remap);
            assert_eq!(volume.scrub().unwrap().findings.len() as u64, count);
            volume.set_target(volume.least(), way).unwrap();
            assert_eq!(volume.evacuate(u64::MAX >> 1).unwrap(), Progress::Done, "{way:?}");
            assert!(way == Way::Surrender || volume.counted().lost > count / 2, "{way:?} {}", volume.counted().lost);
            volume.port_mut().lost.clear();
            let lost = volume.counted().lost;
            let mut volume = Volume::mount(volume.into_port(), &MountConfig::new(3)).unwrap();
            let wrong = (0..700_000_u64).step_by(4096).filter(|at| volume.read(bed.inos[&2], *at, 4096).is_err());
            assert_eq!(wrong.count() as u64, lost, "{way:?}");
            assert_eq!(volume.check().unwrap(), []);
        }
    }
}
