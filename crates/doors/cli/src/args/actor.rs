//! Options of `wane actor`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use clap_complete::ArgValueCandidates;
use wane_actor::{Code, RingId};
use wane_units::{Bytes, Ratio};

use crate::complete;

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  Six drives on this machine, the first makes the cluster:
    wane actor serve d1 --listen 127.0.0.1:4801 &
    for n in 2 3 4 5 6; do
      wane actor serve d$n --listen 127.0.0.1:480$n \\
        --join 127.0.0.1:4801 &
    done
  Any two of them may be lost:
    wane actor put notes.pdf --code 4+2 \\
      --at 127.0.0.1:4801
    wane actor get notes.pdf --out back.pdf \\
      --at 127.0.0.1:4801
  Look at what is kept, and make anew what is lost:
    wane actor scrub --at 127.0.0.1:4801
  What each drive moved and made:
    wane actor status --at 127.0.0.1:4801

--at names any drives of the cluster; one that answers is enough. WANE_ACTOR_AT names them for all commands.")]
pub(crate) struct ActorArguments {
    #[command(subcommand)]
    pub(crate) command: ActorCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ActorCommand {
    /// Serve a drive: a folder that keeps shares, makes blocks of others, and looks after what it keeps, until Ctrl-C
    Serve(ServeArguments),
    /// Put an object: cut, coded by the drives, and on their disks when the command ends
    Put(PutArguments),
    /// Read an object, also if some drives are lost
    Get(GetArguments),
    /// Delete an object
    Delete(ObjectArguments),
    /// List the objects
    List(ClusterArguments),
    /// Make an object's missing shares anew
    Repair(ObjectArguments),
    /// Have every drive read its shares, and make rotten or missing ones anew
    Scrub(ClusterArguments),
    /// Show each drive's state, what it keeps and what it moved
    Status(ClusterArguments),
    /// Have a new served drive join the cluster
    Join(JoinArguments),
    /// Have a drive hand on its shares and leave
    Leave(LeaveArguments),
    /// Measure what codes cost in drive life: objects are put repeatedly on simulated drives, without servers
    Wear(WearArguments),
}

#[derive(Args, Debug)]
pub(crate) struct ServeArguments {
    /// The drive's folder; made if nothing is there
    pub(crate) folder: PathBuf,
    /// Address to listen on; with port 0 the system chooses one. Any address but loopback needs a secret
    #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:0")]
    pub(crate) listen: String,
    /// Address at which others reach it; by default that of --listen. Needed with a --listen of 0.0.0.0 or [::]
    #[arg(long, value_name = "IP:PORT")]
    pub(crate) announce: Option<String>,
    /// Join the cluster of the drive at this address, waiting up to 10 s for it. Without it, a new drive makes its own cluster
    #[arg(long, value_name = "IP:PORT")]
    pub(crate) join: Option<String>,
    /// The id of a new drive, instead of a random one
    #[arg(long, value_name = "ID")]
    pub(crate) id: Option<RingId>,
    /// Points of each drive on the ring of a new cluster: more points make shares more even; with 1 each drive owns one arc
    #[arg(long, value_name = "N", default_value_t = wane_actor::POINTS_DEFAULT, value_parser = clap::value_parser!(u16).range(1..=i64::from(wane_actor::POINTS_MAX)))]
    pub(crate) points: u16,
    /// The file of the secret that all drives and clients share, readable by its owner alone (`chmod 600`); it signs requests, and is never sent
    #[arg(long, value_name = "FILE")]
    pub(crate) secret_file: Option<PathBuf>,
    /// Processors that the drive may use, such as 0.5; needs control groups (cgroup v2 or v1)
    #[arg(long, value_name = "N")]
    pub(crate) processors: Option<f64>,
    /// Memory that the drive may use, such as `256 MiB`; needs control groups (cgroup v2 or v1)
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<Bytes>,
    /// Seconds between two searches for shares to move or repair
    #[arg(long, value_name = "SECONDS", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) upkeep: u64,
    /// End when stdin ends, such as when the process at its other end does
    #[arg(long)]
    pub(crate) until_stdin_ends: bool,
    /// A simulated drive, made by `wane drive create`, that wears with what is written
    #[arg(long, value_name = "DRIVE")]
    pub(crate) drive: Option<PathBuf>,
    /// Print its state as JSON, in one line, once it answers
    #[arg(long)]
    pub(crate) json: bool,
}

/// How to find a cluster, and how to print the answer.
#[derive(Args, Debug)]
pub(crate) struct ClusterArguments {
    /// Addresses of drives, separated by commas; by default those in WANE_ACTOR_AT
    #[arg(long, value_name = "IP:PORT,...", value_delimiter = ',')]
    pub(crate) at: Vec<String>,
    /// The file of the cluster's secret, readable by its owner alone
    #[arg(long, value_name = "FILE")]
    pub(crate) secret_file: Option<PathBuf>,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct ObjectArguments {
    /// The object's name
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) cluster: ClusterArguments,
}

#[derive(Args, Debug)]
pub(crate) struct PutArguments {
    /// The file; `-` reads stdin
    pub(crate) file: PathBuf,
    /// The object's name; by default the file's
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Shares of data and of parity: any 4 of the 6 shares of `4+2` make the object
    #[arg(long, value_name = "N+K", default_value = "4+2")]
    pub(crate) code: Code,
    /// Bytes of a cell, a multiple of 64 up to 8 MiB, such as `64 KiB` or 65536; N cells are in memory at once
    #[arg(long, value_name = "SIZE", default_value = "1 MiB", value_parser = cell)]
    pub(crate) cell: Bytes,
    /// Shares that must be on disks before the command ends, at least N and K + 1: fewer could bring an older version back. The others are made later
    #[arg(long, value_name = "SHARES")]
    pub(crate) quorum: Option<u16>,
    #[command(flatten)]
    pub(crate) cluster: ClusterArguments,
}

#[derive(Args, Debug)]
pub(crate) struct GetArguments {
    /// The object's name
    pub(crate) name: String,
    /// The file to write; `-` writes to stdout
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// Overwrite a file that is there
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) cluster: ClusterArguments,
}

#[derive(Args, Debug)]
pub(crate) struct JoinArguments {
    /// The address of the drive that is to join
    pub(crate) address: String,
    #[command(flatten)]
    pub(crate) cluster: ClusterArguments,
    /// Seconds to wait until shares are where they belong; 0 does not wait
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    pub(crate) wait: u64,
}

#[derive(Args, Debug)]
pub(crate) struct LeaveArguments {
    /// The drive's id, or its first digits, or its address
    pub(crate) drive: String,
    /// The drive is lost: remove it at once; `wane actor scrub` makes its shares anew. Refused for a drive that answers
    #[arg(long)]
    pub(crate) lost: bool,
    /// Treat the drive as lost even if it answers
    #[arg(long, requires = "lost")]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) cluster: ClusterArguments,
    /// Seconds to wait until its shares are handed on
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    pub(crate) wait: u64,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  What mirrors and codes cost twelve teaching drives:
    wane actor wear --preset tiny \\
      --code 1+0,1+1,4+2,8+2")]
pub(crate) struct WearArguments {
    /// A scenario file, of which only the drive is used
    pub(crate) scenario: Option<PathBuf>,
    /// Start from this preset instead of the file's
    #[arg(long, add = ArgValueCandidates::new(complete::presets))]
    pub(crate) preset: Option<String>,
    /// Override a key, such as `drive.over-provisioning='7 %'`
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Codes to compare, each on its own drives; life is relative to the first code's
    #[arg(long, value_name = "N+K,...", value_delimiter = ',', default_value = "1+0,1+1,1+2,4+2,8+2")]
    pub(crate) code: Vec<Code>,
    /// Number of drives
    #[arg(long, value_name = "N", default_value_t = 12)]
    pub(crate) drives: u16,
    /// Bytes of each object
    #[arg(long, value_name = "SIZE", default_value = "1 MiB")]
    pub(crate) object: Bytes,
    /// Users' data, as a share of the capacity that all drives export
    #[arg(long, value_name = "SHARE", default_value = "25 %")]
    pub(crate) filled: Ratio,
    /// Users' bytes to count, in multiples of the capacity that all drives export; counting begins when each drive has been written over twice
    #[arg(long, value_name = "TIMES", default_value_t = 20.0)]
    pub(crate) writes: f64,
    /// Root of the random streams
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Reads a size with its unit, or a number of bytes.
fn cell(text: &str) -> Result<Bytes, String> {
    text.trim().parse().map(Bytes).or_else(|_| text.parse::<Bytes>().map_err(|error| error.to_string()))
}
