//! Options of `wane fs`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use wane_units::{Bytes, Ratio};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  A file system in a file, used as root:
    wane fs mkfs disk.img --size '1 GiB'
    mkdir mnt && wane fs mount disk.img mnt &
    cp -a /etc mnt/ && umount mnt
    wane fs fsck disk.img
  One on a drive that ages by what is written:
    wane drive create old.wane --preset tiny --empty
    wane fs mkfs old.wane
    wane fs cp notes.txt old.wane:/
    wane drive show old.wane
  Without a mount, and without root:
    wane fs cp disk.img:/etc/hosts hosts
    wane fs df disk.img

A file system is in a plain file, on a block device or on a kept drive, the folder that `wane drive create` makes.")]
pub(crate) struct FsArguments {
    #[command(subcommand)]
    pub(crate) command: FsCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum FsCommand {
    /// Make an empty file system in a file, on a block device or on a kept drive
    Mkfs(MkfsArguments),
    /// Mount a file system on a directory, until it is unmounted or Ctrl-C is pressed
    Mount(MountArguments),
    /// Check all structures of a file system, without a change; exit code 1 if something does not hold
    Fsck(FsckArguments),
    /// Show how much room a file system has
    Df(LookArguments),
    /// Show a file system's structures: areas, checkpoint, logs, segments by state
    Dump(LookArguments),
    /// Tell what it would take to make a file system smaller, and how small it can be; nothing changes
    Plan(PlanArguments),
    /// Make a file system smaller or larger; what lies in the way is moved
    Resize(ResizeArguments),
    /// Copy files and directories out of a file system, or into it, without a mount
    Cp(CpArguments),
}

#[derive(Args, Debug)]
pub(crate) struct MkfsArguments {
    /// A file, a block device, or a kept drive's folder
    pub(crate) what: PathBuf,
    /// Make a new file of this size, such as `1 GiB`. It takes room on the disk as it fills
    #[arg(long, value_name = "SIZE")]
    pub(crate) size: Option<Bytes>,
    /// A block: a power of 2 from `4 KiB` to `64 KiB`. By default 4 KiB, or the drive's mapping unit if that is larger
    #[arg(long, value_name = "SIZE")]
    pub(crate) block_size: Option<Bytes>,
    /// A segment, which a log fills block by block
    #[arg(long, value_name = "SIZE", default_value = "2 MiB")]
    pub(crate) segment: Bytes,
    /// Segments of a section, which is cleaned and discarded as a whole
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    pub(crate) section: u32,
    /// Share that no user gets, beside what cleaning needs in any case: more of it makes cleaning cheaper
    #[arg(long, value_name = "SHARE", default_value = "3 %")]
    pub(crate) reserve: Ratio,
    /// Let it grow to this size later: tables for 0.3 % of it are set aside
    #[arg(long, value_name = "SIZE")]
    pub(crate) greatest: Option<Bytes>,
    /// Keep checksums of data: what a drive loses or mixes up is then an error, and never other bytes
    #[arg(long)]
    pub(crate) data_checksums: bool,
    /// Lose what it holds
    #[arg(long)]
    pub(crate) force: bool,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  Mount it, and unmount it when done:
    wane fs mount disk.img mnt &
    umount mnt
  Only look:
    wane fs mount disk.img mnt --read-only

It ends with `umount` (`fusermount3 -u` where you are not root), Ctrl-C or SIGTERM. What still uses it then keeps it mounted; a second Ctrl-C cuts that off. fsync makes a file durable; what is not synchronized is committed every five seconds. sync(2) promises nothing, since FUSE does not hand it on. A kept drive is saved when the mount ends: if it is killed, nothing of it happened.")]
pub(crate) struct MountArguments {
    /// A file, a block device, or a kept drive's folder
    pub(crate) what: PathBuf,
    /// The directory on which it is mounted
    pub(crate) dir: PathBuf,
    /// Change nothing
    #[arg(long)]
    pub(crate) read_only: bool,
    /// Do not note when files are read; by default the first read after a change is noted, and one a day
    #[arg(long)]
    pub(crate) no_atime: bool,
    /// Do not discard what becomes free
    #[arg(long)]
    pub(crate) no_discard: bool,
    /// Print nothing but warnings
    #[arg(long)]
    pub(crate) quiet: bool,
}

#[derive(Args, Debug)]
pub(crate) struct FsckArguments {
    #[command(flatten)]
    pub(crate) look: LookArguments,
    /// Read all data too, and name the files of which some are lost or, with checksums, wrong
    #[arg(long)]
    pub(crate) data: bool,
}

#[derive(Args, Debug)]
pub(crate) struct LookArguments {
    /// A file, a block device, or a kept drive's folder
    pub(crate) what: PathBuf,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// How a file system gives space back.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Way {
    /// Free sections, wherever they lie: it holds less at once, at any address
    Surrender,
    /// Addresses from the end: what lies there is moved, and a file gets shorter
    Relocate,
    /// The same on a device that can move data by its map alone; others copy
    Remap,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  What would it take, and how small can it be?
    wane fs plan disk.img '100 MiB'
    wane fs plan disk.img --minimum
  Do it:
    wane fs resize disk.img '100 MiB'")]
pub(crate) struct PlanArguments {
    /// A file, a block device, or a kept drive's folder
    pub(crate) what: PathBuf,
    /// The size that it is to have, its own structures included, such as `100 MiB`
    #[arg(required_unless_present = "minimum")]
    pub(crate) size: Option<Bytes>,
    /// The least size that it can have now
    #[arg(long, conflicts_with = "size")]
    pub(crate) minimum: bool,
    /// How it gives space back
    #[arg(long, value_enum, default_value = "relocate")]
    pub(crate) way: Way,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  Make it smaller; the file gets as short:
    wane fs resize disk.img '100 MiB'
  As small as it can be:
    wane fs resize disk.img --minimum

If it is stopped or killed, what is on it stays as it is, and the next resize goes on.")]
pub(crate) struct ResizeArguments {
    #[command(flatten)]
    pub(crate) plan: PlanArguments,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  Out of it, and into it:
    wane fs cp disk.img:/etc/hosts hosts
    wane fs cp hosts disk.img:/etc/
  A directory with all that is in it:
    wane fs cp disk.img:/home backup

Permissions and times are kept, and owners if you are root. Hard links become files of their own.")]
pub(crate) struct CpArguments {
    /// A path, or WHAT:/PATH of one in a file system
    pub(crate) from: PathBuf,
    /// A path, or WHAT:/PATH; in a directory that is there, what is copied keeps its name
    pub(crate) to: PathBuf,
    /// Overwrite files that are there
    #[arg(long)]
    pub(crate) force: bool,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
