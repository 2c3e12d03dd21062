//! Times, kinds and attributes between the file system and the kernel.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fuser::{Errno, FileAttr, FileType, INodeNo, TimeOrNow};
use wane_fs::{Attr, FileKind, FsError, Ino, Moment};

/// Nanoseconds of a second.
const NANOS: u32 = 1_000_000_000;

/// The time of the system.
#[expect(clippy::disallowed_methods, reason = "files have the times of the system on which they are used")]
pub fn now() -> Moment {
    SystemTime::now().into()
}

/// Measures how long something takes.
pub(crate) struct Stopwatch(std::time::Instant);

impl Stopwatch {
    #[expect(clippy::disallowed_methods, reason = "a mount's own work is limited to a share of real time")]
    pub(crate) fn start() -> Self {
        Self(std::time::Instant::now())
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

/// The time that a call asks to be set. Of a time before 1970 the kernel counts the fraction up from the second, and the crate `fuser` takes it off
/// once more: it is put back.
pub(crate) fn asked(time: TimeOrNow, now: Moment) -> Moment {
    match time {
        TimeOrNow::SpecificTime(time) => match UNIX_EPOCH.duration_since(time) {
            Ok(before) if before > Duration::ZERO => {
                Moment { seconds: -before.as_secs().cast_signed(), nanos: before.subsec_nanos() }
            }
            _ => time.into(),
        },
        TimeOrNow::Now => now,
    }
}

fn system_time(moment: Moment) -> SystemTime {
    let Moment { seconds, nanos } = moment;
    let whole = Duration::from_secs(seconds.unsigned_abs());
    let at = if seconds < 0 { UNIX_EPOCH.checked_sub(whole) } else { UNIX_EPOCH.checked_add(whole) };
    at.and_then(|at| at.checked_add(Duration::from_nanos(u64::from(nanos.min(NANOS - 1))))).unwrap_or(UNIX_EPOCH)
}

pub(crate) fn file_type(kind: FileKind) -> FileType {
    match kind {
        FileKind::File => FileType::RegularFile,
        FileKind::Directory => FileType::Directory,
        FileKind::Symlink => FileType::Symlink,
        FileKind::Fifo => FileType::NamedPipe,
        FileKind::Socket => FileType::Socket,
        FileKind::CharDevice => FileType::CharDevice,
        FileKind::BlockDevice => FileType::BlockDevice,
    }
}

pub(crate) fn attributes(attr: &Attr, block_bytes: u32) -> FileAttr {
    FileAttr {
        ino: INodeNo(u64::from(attr.ino)),
        size: attr.size,
        blocks: attr.sectors,
        atime: system_time(attr.accessed),
        mtime: system_time(attr.modified),
        ctime: system_time(attr.changed),
        crtime: system_time(attr.born),
        kind: file_type(attr.kind),
        perm: attr.permissions,
        nlink: attr.links,
        uid: attr.uid,
        gid: attr.gid,
        rdev: attr.rdev,
        blksize: block_bytes,
        flags: 0,
    }
}

/// What tells the kernel that there is none, so that it need not ask again soon.
pub(crate) fn none() -> FileAttr {
    let epoch = Moment::default();
    let attr = Attr {
        ino: 0,
        kind: FileKind::File,
        permissions: 0,
        links: 0,
        uid: 0,
        gid: 0,
        rdev: 0,
        size: 0,
        sectors: 0,
        accessed: epoch,
        modified: epoch,
        changed: epoch,
        born: epoch,
        generation: 0,
    };
    attributes(&attr, 0)
}

/// The number of an inode, of those that the kernel knows from here.
pub(crate) fn ino(number: INodeNo) -> Result<Ino, FsError> {
    Ino::try_from(number.0).map_err(|_| FsError::NotFound)
}

pub(crate) fn errno(error: FsError) -> Errno {
    Errno::from_i32(error.errno())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_stay_what_they_are_on_both_sides_of_1970() {
        for (seconds, nanos) in [(0, 0), (0, 1), (1, 999_999_999), (-1, 0), (-1, 1), (-2, 999_999_999), (1 << 40, 5)] {
            let moment = Moment { seconds, nanos };
            assert_eq!(Moment::from(system_time(moment)), moment);
        }
        // No time that the disk holds ends the mount.
        for seconds in [i64::MIN, i64::MAX] {
            system_time(Moment { seconds, nanos: u32::MAX });
        }
    }
}
