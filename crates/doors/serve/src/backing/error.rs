//! Why there is nothing on which a file system could lie, or no file system to mount.

use std::io;

use wane_fs::{FormatError, FsError};
use wane_image::{ImageError, RemoteError};
use wane_lab::kept::KeptError;
use wane_shelf::MANIFEST;
use wane_units::why_unwritten;

/// See the head of this file. The first part of most is the path, as messages quote it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BackingError {
    /// A file or a block device cannot be opened, or nothing is there.
    #[error("{0}: {1}")]
    Image(String, ImageError),
    /// A new file cannot be made.
    #[error("{0}: cannot be written: {why}", why = why_unwritten(.1))]
    Unmade(String, io::Error),
    /// The server of a drive refuses, or none answers.
    #[error("{0}: {1}")]
    Served(String, RemoteError),
    /// It is where a file system is mounted, and not what that lies on.
    #[error("{0}: a file system of wane is mounted there; this command takes what that lies on")]
    Mount(String),
    /// A folder that keeps no drive.
    #[error("{0}: is a folder, but no drive: it has no {MANIFEST}")]
    NoDrive(String),
    /// A kept drive cannot be opened, used or kept.
    #[error("{error}")]
    Kept {
        /// Why.
        error: Box<KeptError>,
        /// A sentence of [`Kept::dropped`](wane_lab::kept::Kept::dropped), if it was opened before that failed.
        dropped: Option<String>,
    },
    /// There is no file system that could be mounted.
    #[error("{0}: {1}")]
    Format(String, FormatError),
    /// What is counted in the file system cannot be relied on.
    #[error("{0}: is damaged, so that nothing is planned or changed; `wane fs fsck` tells more")]
    Doubtful(String),
    /// What was done last may not be durable.
    #[error("{0}: could not be unmounted: {1}; what was not synchronized may be lost")]
    NotUnmounted(String, FsError),
    /// A mount needs a number that no other had.
    #[error("the system gives no random numbers: {0}")]
    Random(String),
}

impl BackingError {
    /// What [`Backing::dropped`](super::Backing::dropped) would say, if a kept drive was opened and could then not be used: both are worth
    /// knowing.
    pub fn dropped(&self) -> Option<&str> {
        match self {
            Self::Kept { dropped, .. } => dropped.as_deref(),
            _ => None,
        }
    }
}

impl From<KeptError> for BackingError {
    fn from(error: KeptError) -> Self {
        Self::Kept { error: Box::new(error), dropped: None }
    }
}
