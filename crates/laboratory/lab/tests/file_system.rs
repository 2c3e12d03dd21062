//! The file system on drives that wear out: one that keeps its capacity, and one that gives it back.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use wane_blockdev::{BlockDevice, Blocking};
use wane_fs::{Direct, FileKind, FormatConfig, Moment, MountConfig, NewFile, ROOT, Volume, Way, format};
use wane_lab::build;
use wane_scenario::{Scenario, Sources};
use wane_sim::Streams;
use wane_ssd::Drive;

/// A drive whose blocks wear out at different times: they begin with different wear.
const DRIVE: &str = "[drive]\nlogical-capacity = \"32 MiB\"\nspare-factor = 0.12\npages-per-block = 32\nendurance = 60\n\
                     initial = { erase-count = 25, erase-count-spread = 0.4 }\n\
                     [workload]\npattern = \"uniform\"\n[until]\nend-of-life = true\n";

fn drive(capacity: &str) -> Drive {
    let set = if capacity.is_empty() { Vec::new() } else { vec![format!("ftl.capacity={capacity}")] };
    let scenario = Scenario::resolve(&Sources { file: Some(("drive.toml", DRIVE)), set: &set, preset: None }).unwrap();
    let mut drive = build::bare_drive(&scenario).unwrap();
    drive.keep_bytes().unwrap();
    drive
}

/// What became of a file system: bytes that its user wrote, its last size, and what moved for that.
#[derive(Debug)]
struct Life {
    written: u64,
    size: u64,
    capacity: u64,
    remapped: u64,
}

/// Writes to the file system until it takes no more.
fn lived(drive: Drive, way: Way) -> Life {
    let config = FormatConfig { segment_bytes: 128 << 10, ..FormatConfig::new([1; 16], [2, 3]) };
    let port = Direct::new(Blocking::new(drive), 4096);
    let port = format(port, &config, Moment::default(), (0, 0)).unwrap();
    let mut volume = Volume::mount(port, &MountConfig::new(1)).unwrap();
    let now = Moment { seconds: 1, nanos: 0 };
    let new = NewFile { kind: FileKind::File, permissions: 0o644, uid: 0, gid: 0, rdev: 0 };
    let mut stream = Streams::new(3).stream("files");
    let files: Vec<u32> = (0..8_u32)
        .map(|number| {
            let ino = volume.make(ROOT, &[b'a' + number as u8], &new, now).unwrap().ino;
            volume.write(ino, 0, &vec![number as u8 + 1; 1 << 20], now).unwrap();
            ino
        })
        .collect();
    let mut written = 8 << 20;
    loop {
        let ino = files[stream.below(4) as usize];
        let at = stream.below(256) * 4096;
        if volume.write(ino, at, &[7; 4096], now).is_err() || volume.attend(way, 64).is_err() {
            break;
        }
        written += 4096;
        if stream.below(2_000) == 0 && volume.sync().is_err() {
            break;
        }
        assert!(written < 40 << 30, "it ends");
    }
    // The files that were never written again are as they were, as far as they can be reached.
    for (number, ino) in files.iter().enumerate().skip(4) {
        let read = volume.read(*ino, 0, 1 << 20).unwrap();
        assert!(read.iter().all(|byte| *byte == number as u8 + 1), "file {number}");
    }
    let size = volume.size();
    let remapped = volume.counted().remapped;
    let capacity = volume.port().device().device().capacity().0 * 512;
    Life { written, size, capacity, remapped }
}

#[test]
fn a_drive_that_gives_space_back_outlives_one_that_does_not() {
    let fixed = lived(drive(""), Way::Surrender);
    let graceful = "{ policy = \"variant\", shrink = \"graceful\", keep = \"spare\" }";
    let lives = Way::ALL.map(|way| (way, lived(drive(graceful), way)));
    for (way, variant) in &lives {
        assert!(variant.written > fixed.written * 11 / 10, "{way:?}: {variant:?} {fixed:?}");
        assert!(variant.size < fixed.size, "{way:?}: {variant:?}");
    }
    // Only the tail takes addresses with it; and the drive moves data by its map.
    assert!(lives[1].1.capacity < fixed.capacity && lives[2].1.remapped > 0, "{lives:?}");
}
