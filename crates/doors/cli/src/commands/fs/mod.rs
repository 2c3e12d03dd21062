//! `wane fs`: the file system, in a file, on a block device or on a kept drive.

mod copy;
mod look;
mod mkfs;
mod mount;
mod online;
mod resize;

use std::path::Path;

use wane_fs::Trims;
use wane_serve::backing::{self, Access, Backing, BackingError, Mounted};
use wane_units::excerpt_path;

use crate::args::fs::{FsArguments, FsCommand};
use crate::output::{Failure, tell};

pub(crate) fn fs(arguments: &FsArguments) -> Result<i32, Failure> {
    match &arguments.command {
        FsCommand::Mkfs(arguments) => mkfs::mkfs(arguments),
        FsCommand::Mount(arguments) => mount::mount(arguments),
        FsCommand::Fsck(arguments) => look::fsck(arguments),
        FsCommand::Df(arguments) => look::df(arguments),
        FsCommand::Dump(arguments) => look::dump(arguments),
        FsCommand::Plan(arguments) => resize::plan(arguments),
        FsCommand::Resize(arguments) => resize::resize(arguments),
        FsCommand::Cp(arguments) => copy::cp(arguments),
    }
}

impl From<BackingError> for Failure {
    fn from(error: BackingError) -> Self {
        match error {
            BackingError::Kept { error, .. } => (*error).into(),
            other => Self::wrong(other),
        }
    }
}

/// Opens what a file system lies on. What was dropped of a drive's journal is told, even if the drive then cannot be used.
fn opened(path: &Path, access: Access) -> Result<Backing, Failure> {
    let opened = Backing::open(path, access);
    let dropped = match &opened {
        Ok(backing) => backing.dropped(),
        Err(error) => error.dropped(),
    };
    if let Some(dropped) = dropped {
        tell(&format!("wane: {dropped}"));
    }
    Ok(opened?)
}

/// Opens and mounts the file system of a path, and tells what its user should know.
fn mounted(path: &Path, access: Access, trims: Trims) -> Result<Mounted, Failure> {
    let volume = backing::mounted(opened(path, access)?, trims)?;
    for note in volume.notes() {
        tell(&format!("wane: {}: {note}", excerpt_path(path)));
    }
    Ok(volume)
}

/// The same for a command that rests on its counts: it is refused where they are in doubt.
fn trusted(path: &Path, access: Access, trims: Trims) -> Result<Mounted, Failure> {
    Ok(backing::trusted(mounted(path, access, trims)?)?)
}
