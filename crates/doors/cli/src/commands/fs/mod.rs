//! `wane fs`: the file system, in a file, on a block device or on a kept drive.

mod backing;
mod copy;
mod look;
mod mkfs;
mod mount;
mod online;
mod resize;
mod served;

use crate::args::fs::{FsArguments, FsCommand};
use crate::output::Failure;

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
