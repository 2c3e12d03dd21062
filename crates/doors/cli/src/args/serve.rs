//! Options of `wane serve` and `wane ctl`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use clap_complete::{ArgValueCandidates, ArgValueCompleter};
use wane_lab::kept::Target;
use wane_serve::{Durability, Speed};
use wane_units::{Bytes, Nanos};

use crate::complete;

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  An aged drive, and what clients see of it:
    wane drive create old.wane --for serve \\
      --preset qlc-client-2t --capacity '64 GiB' \\
      --until wear='75 %'
    wane serve old.wane &
    wane ctl old.wane status
  A file system on it, as root in another terminal, with
  the address that serve prints:
    mkdir nbd && nbdfuse nbd \"$uri\" &
    loop=$(losetup -f --show nbd/nbd)
    mkfs.ext4 -q $loop && mount -o discard $loop /mnt
  And back:
    umount /mnt && losetup -d $loop && fusermount3 -u nbd
    wane ctl old.wane stop
  A page for the browser, and metrics for Prometheus:
    wane serve old.wane --page 8080
  Three drives by one server, and one more beside them:
    wane serve a.wane b.wane c.wane &
    wane ctl a.wane serve d.wane
    wane ctl a.wane drives
  A new drive for a test, as fast as it goes:
    wane serve --preset tiny --speed max \\
      --run 'nbdinfo \"$uri\"'

Clients speak the network block device protocol: nbdinfo, nbdcopy, nbdfuse, fio, qemu. Kept drives are saved when the server ends by Ctrl-C, SIGTERM, `wane ctl stop` or the end of --run.")]
pub(crate) struct ServeArguments {
    /// The folders of drives; clients choose one by the name of its folder, and get the first if they name none. Without a folder --preset makes a
    /// drive for the session
    #[arg(value_name = "DRIVE")]
    pub(crate) drives: Vec<PathBuf>,
    /// Make a drive of this preset for the session, fit to be served, which is gone afterwards
    #[arg(long, conflicts_with = "drives", add = ArgValueCandidates::new(complete::presets))]
    pub(crate) preset: Option<String>,
    /// Override a key of that drive, such as `drive.endurance=1000`
    #[arg(long = "set", value_name = "KEY=VALUE", requires = "preset", add = ArgValueCompleter::new(complete::assignment))]
    pub(crate) set: Vec<String>,
    /// Capacity that it exports, such as `1 GiB`
    #[arg(long, value_name = "SIZE", requires = "preset")]
    pub(crate) capacity: Option<String>,
    /// Age it first, as `wane drive age --until` does
    #[arg(long, value_name = "TARGET", requires = "preset")]
    pub(crate) age: Option<Target>,
    /// Predict most of that, as `wane drive age --fast-forward` does
    #[arg(long, value_name = "FACTOR", requires = "age", value_parser = super::drive::factor)]
    pub(crate) fast_forward: Option<f64>,
    /// How fast its time runs: `1x` as a real drive's, `10x`, `0.1x`, or `max`: answered as soon as the state is known
    #[arg(long, value_name = "SPEED", default_value = "1x")]
    pub(crate) speed: Speed,
    /// Time before each answer in which the server does not sleep, so as to be exact; it takes a core
    #[arg(long, value_name = "TIME", default_value = "0 ns", value_parser = spin)]
    pub(crate) spin: Nanos,
    /// Most memory for the bytes that are written, of all drives together; a write beyond it finds no space. By default half of what is free
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<Bytes>,
    /// Listen on this port of 127.0.0.1 too, or on this address of the loopback interface; 0 lets the system choose
    #[arg(long, value_name = "PORT", value_parser = wane_serve::address)]
    pub(crate) port: Option<SocketAddr>,
    /// Show a live page at this port of 127.0.0.1, or at this address of the loopback interface; 0 lets the system choose. `/metrics` beside it is
    /// for Prometheus
    #[arg(long, value_name = "PORT", value_parser = wane_serve::address)]
    pub(crate) page: Option<SocketAddr>,
    /// What an answer survives, of drives that are kept: `process`, that this server is killed; `host`, that this machine dies, once it is flushed,
    /// at the speed of its disk; `none`
    #[arg(long, value_name = "WHAT", default_value = "process")]
    pub(crate) durability: Durability,
    /// Do not save kept drives: all that is done to them stays in their journals, for `wane drive replay`. The next server goes on from there
    #[arg(long, conflicts_with = "preset")]
    pub(crate) keep_journal: bool,
    /// The directory of its sockets, which only you can enter; made if it is missing. By default a new one for temporary files
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// Write a line for each request into this file, with its modelled time and its lag; for a server of one drive
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,
    /// Run this command by `sh -c` once all is served, with the address of the first drive in $uri and the path of its socket in $socket; then end, with the
    /// command's exit code
    #[arg(long, value_name = "COMMAND")]
    pub(crate) run: Option<String>,
    /// End when stdin ends, and so with the process that started it
    #[arg(long)]
    pub(crate) until_stdin_ends: bool,
    /// Print where it is served as JSON, in one line
    #[arg(long)]
    pub(crate) json: bool,
    /// Show no progress
    #[arg(long)]
    pub(crate) quiet: bool,
}

/// Longest time that is spun.
const SPIN_MAX: Nanos = Nanos(Nanos::SECOND.0 / 100);

fn spin(text: &str) -> Result<Nanos, String> {
    let time = text.parse::<Nanos>().map_err(|error| error.to_string())?;
    if time <= SPIN_MAX { Ok(time) } else { Err(format!("up to {SPIN_MAX} is allowed")) }
}

fn positive(text: &str) -> Result<f64, String> {
    let number = text.trim().parse::<f64>().ok().filter(|number| *number > 0.0 && number.is_finite());
    number.ok_or_else(|| "a number above 0 is allowed".to_owned())
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  What is under way, and how late answers are:
    wane ctl old.wane status
    wane ctl old.wane latency
  Its health, judged as that of a real drive:
    wane ctl old.wane smart | wane doctor -
  Age it further, while its file system is mounted:
    wane ctl old.wane age --until wear='80 %'
  Three reads that fail, and a slow disk:
    wane ctl old.wane inject error --kind read --count 3
    wane ctl old.wane inject slow --by '20 ms'
    wane ctl old.wane clear-faults
  The power fails, and comes back:
    wane ctl old.wane power-cut
    wane ctl old.wane power-on
  A drive of a mirror is pulled, and replaced:
    wane ctl mirror.wane take-out 1
    wane ctl mirror.wane replace 1

Answers are JSON, that of latency with --json. The same requests can be sent by HTTP to the socket ctl.sock: curl --unix-socket ctl.sock http://wane/v1/status")]
pub(crate) struct CtlArguments {
    /// The folder of a served drive; or the directory of its sockets or the socket itself, for the first drive of a server
    pub(crate) drive: PathBuf,
    #[command(subcommand)]
    pub(crate) command: CtlCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CtlCommand {
    /// Show what it is, its age, and what is under way
    Status {
        /// Tell instead in a line how safe an array's data are and what to do; exit as `wane drive status`
        #[arg(long)]
        test: bool,
    },
    /// Print its health as smartctl's JSON, for `wane doctor`
    Smart,
    /// Show what requests took by the model, and by how much later they were answered (lag)
    Latency {
        /// Start anew afterwards
        #[arg(long)]
        clear: bool,
        /// Print JSON instead of a table
        #[arg(long)]
        json: bool,
    },
    /// Print its metrics in the text format of Prometheus
    Metrics,
    /// Age it at full speed while its clients wait; their data stay, and what only aging wrote is trimmed
    Age {
        /// As of `wane drive age --until`
        #[arg(long, value_name = "TARGET", required_unless_present = "days")]
        until: Option<String>,
        /// Let N days pass instead, without writes
        #[arg(long, value_name = "N", conflicts_with = "until", value_parser = positive)]
        days: Option<f64>,
        /// Predict most of it, as `wane drive age --fast-forward` does
        #[arg(long, value_name = "FACTOR", conflicts_with = "days", value_parser = super::drive::factor)]
        fast_forward: Option<f64>,
        /// Refuse if it would take longer, by an estimate
        #[arg(long, value_name = "TIME", default_value = "60 s")]
        most: String,
    },
    /// End the aging that is under way; what it did stays
    Cancel,
    /// Let time pass without requests, for the drive's own work
    Rest {
        /// Such as `10 s`
        time: String,
    },
    /// Change a setting
    Set {
        /// How fast its time runs
        #[arg(long)]
        speed: Option<String>,
        /// Erases at which blocks leave service, or an RBER below 1
        #[arg(long, value_name = "ERASES|RBER", value_parser = positive)]
        retirement_threshold: Option<f64>,
        /// Spare worn blocks, or no longer
        #[arg(long, value_name = "true|false")]
        degraded: Option<bool>,
        /// Most re-reads of a read, or `none`
        #[arg(long, value_name = "N")]
        read_recovery: Option<String>,
        /// Capacity, which only falls; what lies above it is lost
        #[arg(long, value_name = "SIZE")]
        capacity: Option<String>,
        /// Most bytes that may hold data at once; may rise again
        #[arg(long, value_name = "SIZE")]
        mapped_limit: Option<String>,
    },
    /// Let something break
    Inject {
        /// What breaks
        fault: FaultArgument,
        /// First byte; without it the whole drive
        #[arg(long, value_name = "PLACE", requires = "length")]
        at: Option<String>,
        /// Bytes
        #[arg(long, value_name = "SIZE", requires = "at")]
        length: Option<String>,
        /// The die that is lost
        #[arg(long, value_name = "N")]
        die: Option<u32>,
        /// The drive of an array whose data are lost
        #[arg(long, value_name = "N")]
        member: Option<u32>,
        /// Only these kinds of requests
        #[arg(long = "kind", value_name = "KIND")]
        kinds: Vec<KindArgument>,
        /// The fault ends after N requests, or N units
        #[arg(long, value_name = "N")]
        count: Option<u64>,
        /// Only this share of requests, or of units
        #[arg(long, value_name = "SHARE")]
        rate: Option<String>,
        /// Root of the random stream that draws them
        #[arg(long, value_name = "N", default_value_t = 1)]
        seed: u64,
        /// By how much requests are slower
        #[arg(long, value_name = "TIME")]
        by: Option<String>,
    },
    /// List what breaks, and how many requests met it
    Faults,
    /// End a fault, or all; requests that are stuck end with an error
    ClearFaults {
        /// Its number
        #[arg(long, value_name = "N")]
        fault: Option<u64>,
    },
    /// Cut its power: requests under way fail, and so do all until power-on
    PowerCut {
        /// Tear every operation that the flash is at work on; by default the seed decides
        #[arg(long)]
        torn: bool,
        /// Root of the random stream that decides
        #[arg(long, value_name = "N", default_value_t = 1)]
        seed: u64,
        /// Drives of an array that are lost in the same instant, by their numbers: they stay out when the power is back
        #[arg(long, value_name = "N", value_delimiter = ',')]
        take_out: Vec<u32>,
    },
    /// Give it power; it recovers first
    PowerOn,
    /// Take a drive out of an array: its power goes off
    TakeOut {
        /// Its number
        member: u32,
        /// Although it has the only copy of some data, which are lost
        #[arg(long)]
        force: bool,
    },
    /// Put a drive back that was taken out; it is given what was written meanwhile, beside the clients
    PutBack {
        /// Its number
        member: u32,
    },
    /// Put a new drive in the place of an array's drive; it is given all that was there, beside the clients
    Replace {
        /// Its number
        member: u32,
        /// Although it has the only copy of some data, which are lost
        #[arg(long)]
        force: bool,
    },
    /// Read and compare all that an array holds, with its copies or parities, beside the clients
    Scrub,
    /// Print events as they come, a line of JSON each: blocks that retire, capacity that it wants, its end, its heat, drives that an array lost
    Events {
        /// End after N events
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
        count: Option<u64>,
    },
    /// Save it now, as at a clean end; its clients wait
    Save,
    /// Save it now in another process, while it is served
    Checkpoint,
    /// Make a drive of what it is now, which goes its own way; requests under way end there unanswered
    Fork {
        /// Its folder, beside the drive's unless the path is absolute
        name: PathBuf,
        /// Serve it too
        #[arg(long)]
        serve: bool,
    },
    /// List the drives of its server, and where they are served
    Drives,
    /// Serve one more drive beside it, by the same server
    Serve {
        /// The folder of that drive
        other: PathBuf,
    },
    /// Save it, cut its clients off, and serve it no longer; the other drives of its server go on, and without any it ends
    Withdraw,
    /// End the server; all its kept drives are saved
    Stop,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum FaultArgument {
    /// Data that cannot be read until they are written again
    Lost,
    /// All data on a die
    Die,
    /// Sectors that neither take data nor give them
    Region,
    /// Requests that fail
    Error,
    /// Requests that take longer
    Slow,
    /// Requests that are never answered
    Stuck,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum KindArgument {
    Read,
    Write,
    WriteZeroes,
    Trim,
    Flush,
}
