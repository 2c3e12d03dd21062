//! What a file system lies on, opened and mounted as a library does.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a test may fail by panicking")]

use std::fs;
use std::path::Path;

use wane_blockdev::Blocking;
use wane_fs::{Direct, FileKind, FormatConfig, FormatError, Mode, Moment, NewFile, ROOT, Trims, format};
use wane_image::ImageError;
use wane_serve::backing::{
    Access, Backing, BackingError, Closing, RemoteError, block_bytes_of, is_mount, mounted, unmounted,
};

const NOW: Moment = Moment { seconds: 1, nanos: 0 };

/// An empty file system in a new file of 32 MiB.
fn make(path: &Path) {
    let device = Blocking::new(Backing::create(path, 32 << 20).unwrap());
    let config = FormatConfig { segment_bytes: 256 << 10, ..FormatConfig::new([7; 16], [1, 2]) };
    let port = format(Direct::new(device, 4096), &config, NOW, (0, 0)).unwrap();
    port.into_inner().into_inner().close(Closing::Looked).unwrap();
}

fn refused(path: &Path) -> BackingError {
    Backing::open(path, Access::Read).err().unwrap()
}

#[test]
fn what_is_written_through_one_mount_is_read_through_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("disk.img");
    make(&path);
    let contents: Vec<u8> = (0..100_000_u32).map(|byte| (byte % 251) as u8).collect();
    let new = NewFile { kind: FileKind::File, permissions: 0o644, uid: 0, gid: 0, rdev: 0 };
    let mut volume = mounted(Backing::open(&path, Access::Write).unwrap(), Trims::AtOnce).unwrap();
    assert!(matches!(refused(&path), BackingError::Image(_, ImageError::Busy)));
    let ino = volume.make(ROOT, b"note", &new, NOW).unwrap().ino;
    let mut at = 0;
    while at < contents.len() {
        at += volume.write(ino, at as u64, &contents[at..], NOW).unwrap();
    }
    assert!(volume.port().device().device().is_file() && volume.port().device().device().dropped().is_none());
    unmounted(volume, Closing::Changed("a note was written".to_owned())).unwrap();
    let mut volume = mounted(Backing::open(&path, Access::Read).unwrap(), Trims::Never).unwrap();
    assert_eq!((volume.mode(), volume.notes().count()), (Mode::ReadOnly, 0));
    let ino = volume.lookup(ROOT, b"note").unwrap();
    assert_eq!(volume.read(ino, 0, contents.len()).unwrap(), contents);
    unmounted(volume, Closing::Looked).unwrap();
}

#[test]
fn what_is_no_backing_is_a_typed_error_in_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let (nowhere, taken) = (folder.path().join("nowhere"), folder.path().join("taken"));
    fs::write(&taken, vec![0; 1 << 20]).unwrap();
    assert!(!is_mount(folder.path()));
    let error = refused(folder.path());
    assert!(matches!(error, BackingError::NoDrive(_)), "{error:?}");
    assert!(error.to_string().ends_with(": is a folder, but no drive: it has no drive.json"), "{error}");
    let error = refused(&nowhere);
    assert!(matches!(error, BackingError::Image(_, ImageError::Io(_))), "{error:?}");
    assert!(error.to_string().ends_with("nowhere: cannot be opened: No such file or directory (os error 2)"));
    let error = Backing::create(&taken, 1 << 20).err().unwrap();
    assert!(matches!(error, BackingError::Unmade(..)), "{error:?}");
    assert!(error.to_string().ends_with("taken: cannot be written: File exists (os error 17)"), "{error}");
    let error = BackingError::Served("d.wane".to_owned(), RemoteError::Size(1 << 20, 4096));
    assert_eq!(error.to_string(), "d.wane: serves 1 MiB in requests of 4096 B at least, and no file system fits that");
    let error = mounted(Backing::open(&taken, Access::Read).unwrap(), Trims::Never).err().unwrap();
    assert!(matches!(error, BackingError::Format(_, FormatError::Other(None))), "{error:?}");
}

#[test]
fn a_file_system_whose_checkpoints_are_damaged_is_told_from_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("disk.img");
    make(&path);
    let mut bytes = fs::read(&path).unwrap();
    // All behind the superblock.
    bytes[4096..].fill(0);
    fs::write(&path, bytes).unwrap();
    let mut device = Blocking::new(Backing::open(&path, Access::Read).unwrap());
    assert_eq!(block_bytes_of(&mut device), Ok(4096));
    let error = mounted(device.into_inner(), Trims::Never).err().unwrap();
    assert!(matches!(&error, BackingError::Format(_, cause) if cause.is_damage()), "{error:?}");
}
