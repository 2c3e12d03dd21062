//! What an fsync made durable comes back after a cut, whatever else was done since the checkpoint.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

mod bed;

use bed::cuts::{Cuts, Image};
use wane_fs::{
    Allocate, DataChecksums, FileKind, FormatConfig, Ino, Moment, MountConfig, NewFile, ROOT, Volume, format,
};
use wane_sim::Streams;

const SMALL: FormatConfig = FormatConfig { segment_bytes: 64 << 10, ..FormatConfig::new([7; 16], [1, 2]) };
/// The same, with checksums of data.
const CHECKED: FormatConfig = FormatConfig { data_checksums: DataChecksums::Crc32c, ..SMALL };
const NOW: Moment = Moment { seconds: 5, nanos: 0 };

fn mounted(image: &Image, nonce: u32) -> Volume<Cuts> {
    let port = Cuts::new(image.clone(), 32..64, Streams::new(9).stream("cuts"));
    Volume::mount(port, &MountConfig::new(nonce)).unwrap()
}

/// A volume that made its first checkpoint, so that an fsync is none.
fn fresh(config: &FormatConfig, blocks: usize) -> Volume<Cuts> {
    let port = Cuts::new(Image::new(4096, blocks), 0..0, Streams::new(1).stream("cuts"));
    let mut volume = mounted(format(port, config, Moment::default(), (0, 0)).unwrap().durable(), 1);
    volume.make(ROOT, b"first", &new(), NOW).unwrap();
    volume.sync().unwrap();
    volume
}

const fn new() -> NewFile {
    NewFile { kind: FileKind::File, permissions: 0o644, uid: 0, gid: 0, rdev: 0 }
}

/// The same volume after a cut. It must have been no checkpoint that kept it.
fn cut(volume: &Volume<Cuts>, checkpoints: u64) -> Volume<Cuts> {
    assert_eq!(volume.counted().checkpoints, checkpoints, "no checkpoint was made");
    let mut volume = mounted(volume.port().durable(), 2);
    assert_eq!(volume.check().unwrap(), []);
    volume
}

fn read(volume: &mut Volume<Cuts>, name: &[u8], at: u64, length: usize) -> Vec<u8> {
    let ino = volume.lookup(ROOT, name).unwrap();
    volume.read(ino, at, length).unwrap()
}

/// The first has nodes beside its inode, which are made anew, and must not take the number of the second.
#[test]
fn new_files_with_nodes_come_back_together() {
    for config in [&SMALL, &CHECKED] {
        let mut volume = fresh(config, 1_500);
        let checkpoints = volume.counted().checkpoints;
        let files: Vec<Ino> =
            (0..5_u8).map(|number| volume.make(ROOT, &[b'a' + number], &new(), NOW).unwrap().ino).collect();
        for (number, ino) in (1..).zip(&files) {
            for at in [0, 5_000_000, 9_000_000_000] {
                volume.write(*ino, at, &[number; 9_000], NOW).unwrap();
            }
            volume.fsync(*ino).unwrap();
        }
        let mut volume = cut(&volume, checkpoints);
        for number in 1..=5_u8 {
            for at in [0, 5_000_000, 9_000_000_000] {
                assert_eq!(read(&mut volume, &[b'a' + number - 1], at, 9_000), vec![number; 9_000]);
            }
        }
    }
}

/// What a removal gave was used before a checkpoint: a cut brings the removed file back, and both are there.
#[test]
fn a_file_in_the_room_of_a_removed_one_comes_back() {
    for config in [&SMALL, &CHECKED] {
        let mut volume = fresh(config, 900);
        let large = volume.make(ROOT, b"large", &new(), NOW).unwrap().ino;
        // All that there is is promised, and next to nothing written: no call has to make room.
        let mut blocks = 0;
        while volume.space().free > 0 {
            let part = volume.space().free.div_ceil(2);
            volume.allocate(large, blocks * 4096, part * 4096, Allocate::Grow, NOW).unwrap();
            blocks += part;
        }
        volume.sync().unwrap();
        let checkpoints = volume.counted().checkpoints;
        volume.truncate(large, 0, NOW).unwrap();
        let small = volume.make(ROOT, b"small", &new(), NOW).unwrap().ino;
        volume.write(small, 0, &[4; 9_000], NOW).unwrap();
        volume.write(small, 5_000_000, &[5; 9_000], NOW).unwrap();
        volume.allocate(small, 6_000_000, 9_000, Allocate::KeepSize, NOW).unwrap();
        volume.fsync(small).unwrap();
        let mut volume = cut(&volume, checkpoints);
        assert_eq!(read(&mut volume, b"small", 0, 9_000), [4; 9_000]);
        assert_eq!(read(&mut volume, b"small", 5_000_000, 9_000), [5; 9_000]);
        let large = volume.lookup(ROOT, b"large").unwrap();
        assert_eq!(volume.attr(large).unwrap().size, blocks * 4096);
    }
}
