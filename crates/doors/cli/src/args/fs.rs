//! Options of `wane fs`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use wane_units::{Bytes, Ratio};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  A file system in a file, used as root:
    wane fs mkfs disk.img --size '1 GiB'
    mkdir mnt
    wane fs mount disk.img mnt & sleep 1
    cp -a /etc mnt/ && umount mnt
    wane fs fsck disk.img
  One on a drive that ages by what is written:
    wane drive create old.wane --preset tiny --empty
    wane fs mkfs old.wane --segment '256 KiB'
    wane fs cp notes.txt old.wane:/
    wane drive show old.wane
  Without a mount, and without root:
    wane fs cp disk.img:/etc/hosts hosts
    wane fs df disk.img

A file system is in a plain file, on a block device, or on a kept drive, the folder that `wane drive create` makes. It is also on a drive that `wane serve` serves, named by the server's nbd.sock or by the kept drive's folder: requests go by the protocol of network block devices, and sizes and what the drive wants back by the server's ctl.sock beside it. What that protocol lacks does not work there: `--way remap` copies, and without ctl.sock the drive keeps its size, and space that is given back is discarded.")]
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
    /// A file, a block device, a kept drive's folder, or a server's nbd.sock
    pub(crate) what: PathBuf,
    /// Make a new file of this size, such as `1 GiB`. It takes room on the disk as it fills
    #[arg(long, value_name = "SIZE")]
    pub(crate) size: Option<Bytes>,
    /// A block: a power of 2 from `4 KiB` to `64 KiB`. By default 4 KiB, or the drive's mapping unit if that is larger
    #[arg(long, value_name = "SIZE")]
    pub(crate) block_size: Option<Bytes>,
    /// A segment, which a log fills block by block. By default 2 MiB, or less on what is too small for that
    #[arg(long, value_name = "SIZE")]
    pub(crate) segment: Option<Bytes>,
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
    wane fs mount disk.img mnt & sleep 1
    umount mnt
  Only look:
    wane fs mount disk.img mnt --read-only

It ends with `umount` (`fusermount3 -u` where you are not root), Ctrl-C or SIGTERM. What still uses it then keeps it mounted; a second Ctrl-C cuts that off. fsync makes a file durable; what is not synchronized is committed every five seconds. sync(2) promises nothing, since FUSE does not hand it on. The same holds on a kept drive: its journal has what the mount did to it, and is on the disk with each fsync.")]
pub(crate) struct MountArguments {
    /// A file, a block device, a kept drive's folder, or a server's nbd.sock
    pub(crate) what: PathBuf,
    /// The directory on which it is mounted
    pub(crate) dir: PathBuf,
    /// Change nothing
    #[arg(long)]
    pub(crate) read_only: bool,
    /// Do not note when files are read; by default the first read after a change is noted, and one a day
    #[arg(long)]
    pub(crate) no_atime: bool,
    /// Do not discard what becomes free, unless the drive limits how much may hold data
    #[arg(long)]
    pub(crate) no_discard: bool,
    /// How it gives back what its drive wants
    #[arg(long, value_enum, default_value = "surrender")]
    pub(crate) answer: Answer,
    /// Bytes that a resize moves in a second, at most
    #[arg(long, value_name = "SIZE", default_value = "100 MiB")]
    pub(crate) evacuate_rate: Bytes,
    /// Share of time in which a resize lets users wait
    #[arg(long, value_name = "SHARE", default_value = "50 %")]
    pub(crate) evacuate_share: Ratio,
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
    /// A file, a block device, a kept drive's folder, or a server's nbd.sock; of `df` also where one is mounted
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

/// How a mount gives back what its drive wants.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Answer {
    /// Free sections, wherever they lie
    Surrender,
    /// Addresses from the end
    Relocate,
    /// The same, by the drive's map alone
    Remap,
    /// It does not: the drive goes on as well as it can
    No,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  What would it take, and how small can it be?
    wane fs plan disk.img '100 MiB'
    wane fs plan disk.img --minimum
  The same of one that is mounted:
    wane fs plan mnt --minimum
  Do it:
    wane fs resize disk.img '100 MiB'")]
pub(crate) struct PlanArguments {
    /// A file, a block device, a kept drive's folder, a server's nbd.sock, or where one is mounted
    pub(crate) what: PathBuf,
    /// The size that it is to have, its own structures included, such as `100 MiB`
    #[arg(required_unless_present = "minimum")]
    pub(crate) size: Option<Bytes>,
    /// The least size that it can have now
    #[arg(long, conflicts_with = "size")]
    pub(crate) minimum: bool,
    /// How it gives space back; by default surrender on a drive, which can be undone, else relocate
    #[arg(long, value_enum)]
    pub(crate) way: Option<Way>,
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
  While it is mounted, without waiting for the end:
    wane fs resize mnt '100 MiB' --background
    wane fs df mnt
  Slower; later on; not at all:
    wane fs resize mnt --evacuate-rate '10 MiB'
    wane fs resize mnt --pause
    wane fs resize mnt --cancel

The size is an intent that lies on the disk. If the command is stopped, a mount goes on by itself, also after it was killed and mounted again; one that is not mounted goes on with the next resize or mount. From the moment at which it is set, users have no more room than it leaves. A mount's pause and its limits last as long as the mount. Only root and the user who mounted it may resize a mount.")]
#[command(override_usage = "wane fs resize [OPTIONS] <WHAT> [SIZE]")]
#[command(group = clap::ArgGroup::new("does").multiple(true).required(true).args([
    "size", "minimum", "cancel", "pause", "resume", "evacuate_rate", "evacuate_share",
]))]
pub(crate) struct ResizeArguments {
    /// A file, a block device, a kept drive's folder, a server's nbd.sock, or where one is mounted
    pub(crate) what: PathBuf,
    /// The size that it is to have, its own structures included, such as `100 MiB`
    pub(crate) size: Option<Bytes>,
    /// The least size that it can have now
    #[arg(long, conflicts_with = "size")]
    pub(crate) minimum: bool,
    /// How it gives space back; by default surrender on a drive, which can be undone, else relocate
    #[arg(long, value_enum)]
    pub(crate) way: Option<Way>,
    /// Of a mount: do not wait until it is done
    #[arg(long)]
    pub(crate) background: bool,
    /// Take the size back; what was given back by then stays so
    #[arg(long, conflicts_with_all = ["size", "minimum", "background"])]
    pub(crate) cancel: bool,
    /// Of a mount: move nothing for now
    #[arg(long, conflicts_with_all = ["cancel", "resume"])]
    pub(crate) pause: bool,
    /// Of a mount: end the pause
    #[arg(long, conflicts_with = "cancel")]
    pub(crate) resume: bool,
    /// Of a mount: bytes that it moves in a second, at most
    #[arg(long, value_name = "SIZE")]
    pub(crate) evacuate_rate: Option<Bytes>,
    /// Of a mount: share of time in which users wait for it
    #[arg(long, value_name = "SHARE")]
    pub(crate) evacuate_share: Option<Ratio>,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  Out of it, and into it:
    wane fs cp disk.img:/etc/hosts hosts
    wane fs cp hosts disk.img:/etc/
  A directory with all that is in it:
    wane fs cp disk.img:/home backup

Permissions and times are kept, and owners if you are root. Hard links among what is copied stay hard links.")]
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
