//! Why a volume cannot be mounted or unmounted.

use std::io;

/// See the head of this file. The caller names the directory.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MountError {
    /// The directory cannot be had.
    #[error("cannot be mounted on: {0}")]
    Point(io::Error),
    /// It is no directory.
    #[error("is no directory, and only on one a file system can be mounted")]
    NotDirectory,
    /// Something is mounted there.
    #[error("has a file system mounted on it already")]
    Taken,
    /// What was mounted there died.
    #[error("has a mount whose process died; `fusermount3 -u` or, as root, `umount` of it removes that")]
    Stale,
    /// The kernel has no FUSE.
    #[error("cannot be mounted on: this system has no /dev/fuse; `modprobe fuse` as root may bring it")]
    NoFuse,
    /// FUSE's device cannot be used.
    #[error("cannot be mounted on: /dev/fuse cannot be opened: {0}")]
    Device(io::Error),
    /// The system refuses.
    #[error("cannot be mounted on: {0}")]
    Refused(io::Error),
    /// Somebody uses it.
    #[error("is in use")]
    Busy,
}
