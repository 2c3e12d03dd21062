//! A file system without contents, as lives use it.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use wane_blockdev::{Blocking, Ram};
use wane_fs::{Direct, FileKind, FormatConfig, Moment, MountConfig, NewFile, ROOT, Volume, format};
use wane_sim::Streams;
use wane_units::Sectors;

const NOW: Moment = Moment { seconds: 0, nanos: 0 };
const BLOCKS: u32 = 1024;

#[test]
fn names_are_kept_while_data_without_contents_move() {
    let port = Direct::hollow(Blocking::new(Ram::new(Sectors((4 << 30) / 512))), 4096);
    let config = FormatConfig { ..FormatConfig::new([0; 16], [0, 0]) };
    let port = format(port, &config, NOW, (0, 0)).unwrap();
    let mut volume = Volume::mount(port, &MountConfig::new(1)).unwrap();
    let new = NewFile { kind: FileKind::File, permissions: 0o644, uid: 0, gid: 0, rdev: 0 };
    let count = volume.space().free as u32 * 9 / 10 / BLOCKS;
    let mut files: Vec<(u32, u32)> = (0..count)
        .map(|name| {
            let ino = volume.make(ROOT, name.to_string().as_bytes(), &new, NOW).unwrap().ino;
            assert_eq!(volume.overwrite(ino, 0..BLOCKS, NOW), Ok(BLOCKS));
            (name, ino)
        })
        .collect();
    let mut stream = Streams::new(5).stream("hollow");
    for _ in 0..200_000 {
        let (_, ino) = files[stream.below(files.len() as u64) as usize];
        let at = stream.below(u64::from(BLOCKS)) as u32;
        assert_eq!(volume.overwrite(ino, at..at + 1, NOW), Ok(1));
    }
    assert!(volume.counted().cleaned > 0, "{:?}", volume.counted());
    while let Some((name, ino)) = files.pop() {
        assert_eq!(volume.read_blocks(ino, 0..BLOCKS), Ok(Vec::new()));
        assert_eq!(volume.unlink(ROOT, name.to_string().as_bytes(), NOW), Ok(()), "{name}");
    }
    assert_eq!(volume.check(), Ok(Vec::new()));
}
