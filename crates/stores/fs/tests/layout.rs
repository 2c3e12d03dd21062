//! What a file system tells of its structures, and how it is found where its beginning is damaged.

#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use wane_blockdev::{Blocking, Ram};
use wane_fs::{
    Direct, FileKind, FormatConfig, FormatError, Moment, MountConfig, NewFile, ROOT, Volume, find_block_bytes, format,
};
use wane_units::{Lba, Sectors};

const BYTES: u64 = 32 << 20;

fn made(block: u32, segment: u32) -> Blocking<Ram> {
    let config = FormatConfig { block_bytes: block, segment_bytes: segment, ..FormatConfig::new([7; 16], [1, 2]) };
    let port = Direct::new(Blocking::new(Ram::new(Sectors(BYTES / 512))), block as usize);
    format(port, &config, Moment::default(), (0, 0)).unwrap().into_inner()
}

fn found(device: &mut Blocking<Ram>) -> Result<usize, FormatError> {
    find_block_bytes(BYTES, |at, bytes| {
        let range = wane_blockdev::SectorRange::new(Lba(at / 512), Sectors(bytes.len() as u64 / 512));
        bytes.copy_from_slice(&device.read(range).unwrap());
        true
    })
}

#[test]
fn a_file_system_is_found_by_either_superblock() {
    for (block, segment) in [(4096, 64 << 10), (4096, 100 << 12), (16384, 256 << 10)] {
        let mut device = made(block, segment);
        assert_eq!(found(&mut device), Ok(block as usize));
        device.write(Lba(0), vec![0; 4096]).unwrap();
        assert_eq!(found(&mut device), Ok(block as usize), "{segment}");
        let volume = Volume::mount(Direct::new(device, block as usize), &MountConfig::new(1)).unwrap();
        assert!(volume.layout().lacks_first_superblock);
        assert_eq!(volume.notes().collect::<Vec<_>>(), ["the first superblock is damaged; the second one is used"]);
    }
    let mut other = made(4096, 64 << 10);
    let mut f2fs = vec![0; 4096];
    f2fs[0x400..0x404].copy_from_slice(&0xF2F5_2010_u32.to_le_bytes());
    other.write(Lba(0), f2fs).unwrap();
    assert_eq!(found(&mut other), Err(FormatError::Other(Some("F2FS".to_owned()))));
    assert_eq!(found(&mut Blocking::new(Ram::new(Sectors(BYTES / 512)))), Err(FormatError::Other(None)));
    assert_eq!(find_block_bytes(100, |_, _| true), Err(FormatError::Other(None)));
}

#[test]
fn the_layout_adds_up() {
    let port = Direct::new(made(4096, 64 << 10), 4096);
    let mut volume = Volume::mount(port, &MountConfig::new(1)).unwrap();
    let fresh = volume.layout();
    assert!(fresh.was_clean && !fresh.lacks_first_superblock && fresh.orphans.is_empty());
    let new = NewFile { kind: FileKind::File, permissions: 0o600, uid: 0, gid: 0, rdev: 0 };
    let made = volume.make(ROOT, b"held", &new, Moment::default()).unwrap();
    volume.write(made.ino, 0, &[1; 200_000], Moment::default()).unwrap();
    volume.hold(made.ino);
    volume.unlink(ROOT, b"held", Moment::default()).unwrap();
    volume.sync().unwrap();
    let layout = volume.layout();
    assert_eq!(layout.orphans, [made.ino]);
    assert!(layout.used_blocks > fresh.used_blocks && layout.next_version > fresh.next_version);
    let states = layout.segments;
    assert_eq!(states.free + states.open + states.full + states.partly, layout.sections * layout.section_segments);
    assert_eq!(states.open, 6 * layout.section_segments);
    for pair in layout.areas.windows(2) {
        assert_eq!(pair[0].first + pair[0].blocks, pair[1].first);
    }
    let main = layout.areas.last().unwrap();
    assert_eq!(main.blocks, layout.sections * layout.section_segments * layout.segment_blocks);
    assert_eq!(layout.logs.len(), 6);
}

#[test]
fn reading_a_file_is_no_change_of_it() {
    let mut volume = Volume::mount(Direct::new(made(4096, 64 << 10), 4096), &MountConfig::new(1)).unwrap();
    let now = Moment { seconds: 9, nanos: 1 };
    let before = volume.attr(ROOT).unwrap();
    volume.set_accessed(ROOT, now).unwrap();
    let after = volume.attr(ROOT).unwrap();
    assert_eq!((after.accessed, after.changed, after.modified), (now, before.changed, before.modified));
}

#[test]
fn what_is_synchronized_first_after_an_unmount_survives_a_cut() {
    let mut port = Direct::new(made(4096, 64 << 10), 4096);
    let new = NewFile { kind: FileKind::File, permissions: 0o600, uid: 0, gid: 0, rdev: 0 };
    for round in 0..3_u8 {
        let mut volume = Volume::mount(port, &MountConfig::new(2 * u32::from(round) + 1)).unwrap();
        let name = [b'a' + round];
        let file = volume.make(ROOT, &name, &new, Moment::default()).unwrap();
        volume.write(file.ino, 0, &[round; 9000], Moment::default()).unwrap();
        volume.fsync(file.ino).unwrap();
        // The power is cut.
        let mut volume = Volume::mount(volume.into_port(), &MountConfig::new(2 * u32::from(round) + 2)).unwrap();
        let found = volume.lookup(ROOT, &name).unwrap();
        assert_eq!(volume.read(found, 0, 9000).unwrap(), [round; 9000]);
        port = volume.unmount().map_err(|(_, error)| error).unwrap();
    }
}
