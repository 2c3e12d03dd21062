//! An image of each released format is read as it was written.
//!
//! The images lie packed in `images/`. `cargo test -p wane-fs --test formats -- --ignored` makes those of this version anew, in the folder that
//! `WANE_FS_IMAGES_TO` names; an image that was released is never replaced.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use std::path::PathBuf;

use wane_blockdev::{Blocking, Ram};
use wane_fs::{
    DataChecksums, Direct, FileKind, FormatConfig, FsError, Ino, Mode, Moment, MountConfig, NewFile, ROOT,
    SetAttribute, Volume, format,
};
use wane_units::{Lba, Sectors};

const BLOCK: usize = 4096;
const BYTES: usize = 4 << 20;
const IMAGES: [(&str, DataChecksums); 3] =
    [("1.0", DataChecksums::None), ("1.1", DataChecksums::None), ("1.1-checksums", DataChecksums::Crc32c)];
const NOW: Moment = Moment { seconds: 1_700_000_000, nanos: 123 };

type Ports = Direct<Ram>;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/images")
}

/// Blocks that are not zero: the number of each (4 bytes), and runs until it is full. A run is its length (2 bytes) and that many bytes, or, if the
/// length's highest bit is set, one byte that repeats.
fn pack(image: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for (number, block) in image.chunks(BLOCK).enumerate().filter(|(_, block)| block.iter().any(|byte| *byte != 0)) {
        out.extend((number as u32).to_le_bytes());
        let runs: Vec<&[u8]> = block.chunk_by(|one, next| one == next).collect();
        for group in runs.chunk_by(|one, next| one.len() < 5 && next.len() < 5) {
            let bytes = group.concat();
            if group.len() == 1 && bytes.len() >= 5 {
                out.extend((0x8000 | bytes.len() as u16).to_le_bytes());
                out.push(bytes[0]);
            } else {
                out.extend((bytes.len() as u16).to_le_bytes());
                out.extend(bytes);
            }
        }
    }
    out
}

fn unpack(mut packed: &[u8]) -> Vec<u8> {
    let mut image = vec![0; BYTES];
    let mut take = |count: usize| {
        let (taken, rest) = packed.split_at_checked(count)?;
        packed = rest;
        Some(taken.to_vec())
    };
    while let Some(number) = take(4) {
        let at = u32::from_le_bytes(number.try_into().unwrap()) as usize * BLOCK;
        let mut place = at;
        while place < at + BLOCK {
            let length = u16::from_le_bytes(take(2).unwrap().try_into().unwrap());
            let bytes = match length & 0x8000 {
                0 => take(length.into()).unwrap(),
                _ => take(1).unwrap().repeat((length & 0x7FFF).into()),
            };
            image[place..place + bytes.len()].copy_from_slice(&bytes);
            place += bytes.len();
        }
    }
    image
}

fn pattern(length: usize, mark: u8) -> Vec<u8> {
    (0..length).map(|at| mark.wrapping_add((at / 700) as u8)).collect()
}

const fn new(kind: FileKind, permissions: u16) -> NewFile {
    NewFile { kind, permissions, uid: 7, gid: 8, rdev: 0 }
}

/// Makes what the images hold. Two files are synchronized after the last checkpoint, and it is not unmounted.
fn fill(volume: &mut Volume<Ports>) -> Result<(), FsError> {
    let deep = volume.make(ROOT, b"deep", &new(FileKind::Directory, 0o750), NOW)?.ino;
    for number in 0..50_u8 {
        let name = format!("{number}-{}", "n".repeat(usize::from(number) * 4));
        let file = volume.make(deep, name.as_bytes(), &new(FileKind::File, 0o600), NOW)?.ino;
        volume.write(file, 0, name.as_bytes(), NOW)?;
    }
    let long = volume.make(deep, b"long", &new(FileKind::File, 0o644), NOW)?.ino;
    // By each of the five numbers in its inode.
    for (number, at) in [0_u64, 5_000_000, 9_000_000, 1_000_000_000, 1_000_000_000_000].into_iter().enumerate() {
        volume.write(long, at, &pattern(6_000, number as u8), NOW)?;
    }
    volume.link(long, ROOT, b"other name", NOW)?;
    volume.set_attribute(long, b"user.note", b"kept", SetAttribute::Any, NOW)?;
    volume.set_attribute(long, b"user.long", &[5; 900], SetAttribute::Any, NOW)?;
    volume.make_symlink(ROOT, b"symlink", b"deep/long", &new(FileKind::Symlink, 0o777), NOW)?;
    volume.make_symlink(ROOT, b"far", &[b'f'; 3_900], &new(FileKind::Symlink, 0o777), NOW)?;
    let gone = volume.make(ROOT, b"gone", &new(FileKind::File, 0o644), NOW)?.ino;
    volume.write(gone, 0, &pattern(9_000, 77), NOW)?;
    volume.sync()?;
    volume.unlink(ROOT, b"gone", NOW)?;
    volume.sync()?;
    for name in [b"synced".as_slice(), b"synced too"] {
        let synced = volume.make(ROOT, name, &new(FileKind::File, 0o644), NOW)?.ino;
        volume.write(synced, 0, &pattern(9_000, 40), NOW)?;
        volume.fsync(synced)?;
    }
    Ok(())
}

/// Holds what a mount finds against what was put in.
fn hold(volume: &mut Volume<Ports>) -> Result<(), FsError> {
    assert_eq!(volume.check()?, []);
    let deep = volume.lookup(ROOT, b"deep")?;
    assert_eq!(volume.read_dir(deep, 0, 1_000)?.len(), 2 + 51);
    for number in [0_u8, 1, 20, 49] {
        let name = format!("{number}-{}", "n".repeat(usize::from(number) * 4));
        let file = volume.lookup(deep, name.as_bytes())?;
        assert_eq!(volume.read(file, 0, 1_000)?, name.as_bytes());
    }
    let long = volume.lookup(deep, b"long")?;
    assert_eq!(volume.lookup(ROOT, b"other name")?, long);
    let attr = volume.attr(long)?;
    assert_eq!((attr.size, attr.links, attr.permissions), (1_000_000_006_000, 2, 0o644));
    assert_eq!((attr.uid, attr.gid, attr.modified, attr.born), (7, 8, NOW, NOW));
    for (number, at) in [0_u64, 5_000_000, 9_000_000, 1_000_000_000, 1_000_000_000_000].into_iter().enumerate() {
        assert_eq!(volume.read(long, at, 6_000)?, pattern(6_000, number as u8));
        assert_eq!(volume.read(long, at + 20_000, 10).unwrap_or_default(), vec![0; if number < 4 { 10 } else { 0 }]);
    }
    assert_eq!(volume.attribute(long, b"user.note")?, b"kept");
    assert_eq!(volume.attribute(long, b"user.long")?, [5; 900]);
    let link =
        |volume: &mut Volume<Ports>, name: &[u8]| volume.lookup(ROOT, name).and_then(|ino: Ino| volume.read_link(ino));
    assert_eq!(link(volume, b"symlink")?, b"deep/long");
    assert_eq!(link(volume, b"far")?, [b'f'; 3_900]);
    assert_eq!(volume.lookup(ROOT, b"gone"), Err(FsError::NotFound));
    for name in [b"synced".as_slice(), b"synced too"] {
        let synced = volume.lookup(ROOT, name)?;
        assert_eq!(volume.read(synced, 0, 10_000)?, pattern(9_000, 40));
    }
    Ok(())
}

#[test]
fn an_image_of_each_format_is_read_as_it_was_written() {
    for (name, checksums) in IMAGES {
        let packed = std::fs::read(folder().join(format!("format-{name}.bin"))).unwrap();
        assert!(packed.len() < 20_000, "{name} has {} bytes", packed.len());
        let image = unpack(&packed);
        assert_eq!(pack(&image), packed);
        for mode in [Mode::ReadOnly, Mode::ReadWrite] {
            let mut device = Blocking::new(Ram::new(Sectors(BYTES as u64 / 512)));
            device.write(Lba(0), image.clone()).unwrap();
            let mut volume =
                Volume::mount(Direct::new(device, BLOCK), &MountConfig { mode, ..MountConfig::new(9) }).unwrap();
            assert_eq!(volume.layout().data_checksums, checksums, "{name}");
            assert!(volume.counted().recovered > 0, "{name}");
            hold(&mut volume).unwrap_or_else(|error| panic!("{name}: {error}"));
            // It goes on.
            if mode == Mode::ReadWrite {
                let file = volume.lookup(ROOT, b"synced").unwrap();
                volume.write(file, 9_000, &[1; 50_000], NOW).unwrap();
                let port = volume.unmount().map_err(|(_, error)| error).unwrap();
                let mut volume = Volume::mount(port, &MountConfig::new(10)).unwrap();
                assert_eq!((volume.check().unwrap(), volume.attr(file).unwrap().size), (vec![], 59_000));
            }
        }
    }
}

#[test]
#[ignore = "makes the images of this version"]
fn images_are_made() {
    let to = PathBuf::from(std::env::var_os("WANE_FS_IMAGES_TO").unwrap());
    for (name, data_checksums) in IMAGES {
        let config = FormatConfig { segment_bytes: 64 << 10, data_checksums, ..FormatConfig::new([7; 16], [1, 2]) };
        let port = Direct::new(Blocking::new(Ram::new(Sectors(BYTES as u64 / 512))), BLOCK);
        let port = format(port, &config, NOW, (7, 8)).unwrap();
        let mut volume = Volume::mount(port, &MountConfig::new(1)).unwrap();
        fill(&mut volume).unwrap();
        let mut device = volume.into_port().into_inner();
        let image = device.read(wane_blockdev::SectorRange::new(Lba(0), Sectors(BYTES as u64 / 512))).unwrap();
        std::fs::write(to.join(format!("format-{name}.bin")), pack(&image)).unwrap();
    }
}
