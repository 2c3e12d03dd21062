//! Options of `wane drive`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use clap_complete::{ArgValueCandidates, ArgValueCompleter};
use wane_lab::kept::{FACTOR_MOST, Target};
use wane_nand::REREADS_BOUND;
use wane_scenario::Scale;
use wane_smart::LogId;
use wane_units::{Bytes, Nanos};

use crate::complete;

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  A typical QLC drive in mid-life:
    wane drive create qlc.wane --preset qlc-client-2t \\
      --capacity '64 GiB'
    wane drive age qlc.wane --until wear='50 %'
  Its state, and how fast it answers now:
    wane drive show qlc.wane
    wane drive probe qlc.wane
  What its log pages say, and its health for a dashboard:
    wane drive smart qlc.wane --log c0h
    wane drive smart qlc.wane --json
  Two futures of one past:
    wane drive fork qlc.wane hot.wane
    wane drive age hot.wane --until drive-writes=900 \\
      --workload zipf
  What does a program do when data are gone?
    wane drive inject qlc.wane --fault medium-error \\
      --at '1 MiB' --length '64 KiB'
    wane drive check qlc.wane --data
  Age it to its end of life:
    wane drive age qlc.wane --until end-of-life
  A mirror, one of its drives, and a new one for it:
    wane drive create m.wane --preset tiny \\
      --set array.layout=mirror
    wane drive show m.wane/1
    wane drive replace m.wane/1
  How safe are the data of an array, and what to do?
    wane drive status m.wane")]
pub(crate) struct DriveArguments {
    #[command(subcommand)]
    pub(crate) command: DriveCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DriveCommand {
    /// Make a new drive, a folder, from a preset, a scenario or keys. It is preconditioned as a run is, unless --empty
    Create(CreateArguments),
    /// Age a drive at full speed; if stopped, the next command goes on from there
    Age(AgeArguments),
    /// Show a drive's state
    Show(KeptDrive),
    /// Show a drive's health, as smartctl and NVMe log pages do
    Smart(SmartArguments),
    /// Copy a drive as it is now; the copy shares its files
    Fork(ForkArguments),
    /// Verify a drive's files and every invariant of its firmware; with --data, also that its data read as they were written
    Check(CheckArguments),
    /// Let a drive lie without power: its data age
    Wait(WaitArguments),
    /// Measure how fast a copy of a drive answers now; the drive stays as it is
    Probe(ProbeArguments),
    /// List the drives in a folder: their age, wear and what was done to them
    List(ListArguments),
    /// Compare drives: their state, and how fast copies of them answer the same requests now
    Compare(CompareArguments),
    /// Write a file's bytes to a drive
    Write(WriteArguments),
    /// Read bytes of a drive into a file; unreadable bytes are reported, and zeros in the file
    Read(ReadArguments),
    /// Tell a drive that bytes are not needed any more
    Trim(TrimArguments),
    /// Retire blocks, as if they had turned bad
    Retire(RetireArguments),
    /// Require that no read takes more re-reads, as NVMe's read recovery level does: blocks that need more retire
    Require(RequireArguments),
    /// Make data unreadable, or flip their bits silently, until a host or aging writes them again
    Inject(InjectArguments),
    /// Cut a drive's power and restore it; ftl.recovery says how it recovers
    PowerCut(PowerCutArguments),
    /// Tell in a line how safe an array's data are and what to do; exits as `mdadm --detail --test`: 0 whole, 1 degraded, 2 failed, 4 no answer
    Status(KeptDrive),
    /// Take a drive out of an array, as in `mirror.wane/1`: its power goes off
    TakeOut(LoseArguments),
    /// Put a drive back that was taken out; it is given what was written meanwhile
    PutBack(KeptDrive),
    /// Put a new drive in the place of an array's drive; it is given all that was there
    Replace(LoseArguments),
    /// Read and compare all that an array holds, with its copies or parities, and repair what a drive lost
    Scrub(KeptDrive),
    /// Do again what was done to a drive since it was saved, at the same modelled times, and look at it then; its folder stays as it is
    Replay(ReplayArguments),
}

impl DriveCommand {
    /// Whether it has a stop flag, and keeps what it did by then.
    pub(crate) const fn can_be_stopped(&self) -> bool {
        matches!(self, Self::Create(_) | Self::Age(_) | Self::Probe(_) | Self::Compare(_))
    }
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  Keep all that a session does, and look at it again:
    wane serve old.wane --keep-journal
    wane drive replay old.wane --log requests.csv
  The drive as it was 3.2 s after its clock began:
    wane drive replay old.wane --until '3.2 s' \\
      --to then.wane
    wane drive check then.wane --data

A drive has a journal while it is served, after its server was killed or served it with --keep-journal, after `wane drive write` and other commands, and in a fork that `wane ctl fork` made. A save ends it.")]
pub(crate) struct ReplayArguments {
    /// The drive's folder
    pub(crate) drive: PathBuf,
    /// Stop at this instant of the drive's clock
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<Nanos>,
    /// Write a line for each request into this file: when it came and ended by the model, and how
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,
    /// Keep the drive as it is then, as a new one in this folder
    #[arg(long, value_name = "DRIVE")]
    pub(crate) to: Option<PathBuf>,
    /// Overwrite the log
    #[arg(long)]
    pub(crate) force: bool,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct CreateArguments {
    /// The folder of the new drive
    pub(crate) drive: PathBuf,
    /// A scenario file: its drive, and its workload to age by
    pub(crate) scenario: Option<PathBuf>,
    /// Start from this preset instead of the file's
    #[arg(long, add = ArgValueCandidates::new(complete::presets))]
    pub(crate) preset: Option<String>,
    /// Override a key, such as `drive.endurance=1000`
    #[arg(long = "set", value_name = "KEY=VALUE", add = ArgValueCompleter::new(complete::assignment))]
    pub(crate) set: Vec<String>,
    /// Capacity that it exports when new, such as `1 TiB`: drive.logical-capacity, with as many blocks as that takes
    #[arg(long, value_name = "SIZE")]
    pub(crate) capacity: Option<String>,
    /// Make it a smaller drive of the same shape: `auto` for as small as is faithful, or a ratio of its blocks such as `1/4`
    #[arg(long, value_name = "RATIO", conflicts_with = "capacity")]
    pub(crate) scale: Option<Scale>,
    /// Give it what its use needs and its preset lacks; `serve`: a clock, a chip with errors and their correction, recovery after power cuts
    #[arg(long = "for", value_name = "USE")]
    pub(crate) purpose: Option<Purpose>,
    /// Root of all random streams, instead of the scenario's
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Workload that ages it: the name of a pattern or stand-in, a scenario file, whose [workload] is used, or a trace, which is looped
    #[arg(long, value_name = "NAME|FILE", add = ArgValueCandidates::new(complete::workloads))]
    pub(crate) workload: Option<String>,
    /// Leave it as new flash, which holds nothing, instead of preconditioning it as `wane run` does ([precondition])
    #[arg(long)]
    pub(crate) empty: bool,
    /// Age it at once, as `wane drive age --until` does
    #[arg(long, value_name = "TARGET", value_parser = target)]
    pub(crate) until: Option<Target>,
    /// Simulate one drive write in FACTOR, about, and predict the wear of the others, such as 10: much faster, and less exact
    #[arg(long, value_name = "FACTOR", value_parser = factor, requires = "until")]
    pub(crate) fast_forward: Option<f64>,
    /// Print the memory and the time that it takes, and do nothing
    #[arg(long, conflicts_with = "json")]
    pub(crate) dry_run: bool,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Show no progress
    #[arg(long)]
    pub(crate) quiet: bool,
}

/// What a drive is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Purpose {
    /// To be served by `wane serve`
    Serve,
}

#[derive(Args, Debug)]
pub(crate) struct AgeArguments {
    /// The drive's folder
    pub(crate) drive: PathBuf,
    /// Age to reach: `drive-writes=200` since it was new, `wear='75 %'` of its rated erases, `years=3` or `days=90` at the pace of
    /// time.drive-writes-per-day, `end-of-life`, or a distance before it, `drive-writes-left=1` or `days-left=1`
    #[arg(long, value_name = "TARGET", value_parser = target)]
    pub(crate) until: Target,
    /// Simulate one drive write in FACTOR, about, and predict the wear of the others, such as 10: much faster, and less exact
    #[arg(long, value_name = "FACTOR", value_parser = factor)]
    pub(crate) fast_forward: Option<f64>,
    /// Print the memory and the time that it takes, and do nothing
    #[arg(long, conflicts_with = "json")]
    pub(crate) dry_run: bool,
    /// Workload that ages it from now on: the name of a pattern or stand-in, a scenario file, whose [workload] is used, or a trace, which
    /// is looped. By default the last workload goes on where it stopped
    #[arg(long, value_name = "NAME|FILE", add = ArgValueCandidates::new(complete::workloads))]
    pub(crate) workload: Option<String>,
    /// Override a key of the workload or of time, such as `workload.exponent=0.9`
    #[arg(long = "set", value_name = "KEY=VALUE", add = ArgValueCompleter::new(complete::assignment))]
    pub(crate) set: Vec<String>,
    /// Afterwards trim what only aging has written, so that the drive holds what it held before
    #[arg(long)]
    pub(crate) trim_after: bool,
    /// Let the workload's trims also remove data that were written to the drive, as by `wane drive write`. By default these data stay
    #[arg(long)]
    pub(crate) trim_data: bool,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Show no progress
    #[arg(long)]
    pub(crate) quiet: bool,
}

/// Options of a command that needs only a drive.
#[derive(Args, Debug)]
pub(crate) struct KeptDrive {
    /// The drive's folder
    pub(crate) drive: PathBuf,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct SmartArguments {
    /// The drive's folder
    pub(crate) drive: PathBuf,
    /// Print this log page, field by field: 02h (SMART / Health Information), 09h (Endurance Group), c0h (OCP's extended health) or cah (what the host
    /// requires)
    #[arg(long, value_name = "PAGE", value_parser = str::parse::<LogId>, add = ArgValueCandidates::new(complete::log_pages))]
    pub(crate) log: Option<LogId>,
    /// Write the log page's 512 bytes to this file
    #[arg(long, value_name = "FILE", requires = "log")]
    pub(crate) raw: Option<PathBuf>,
    /// Overwrite a file that is there
    #[arg(long, requires = "raw")]
    pub(crate) force: bool,
    /// Print as JSON: what `smartctl --json` prints of an NVMe drive, or with --log the page's fields
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct ForkArguments {
    /// The drive's folder
    pub(crate) drive: PathBuf,
    /// The folder of the new drive
    pub(crate) to: PathBuf,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct WaitArguments {
    /// The drive's folder
    pub(crate) drive: PathBuf,
    /// Days to wait
    #[arg(long, value_name = "DAYS", value_parser = days)]
    pub(crate) days: f64,
    /// Temperature: data age by Arrhenius' law, as drive.retention says [default: that of drive.retention]
    #[arg(long, value_name = "CELSIUS", value_parser = celsius, allow_negative_numbers = true)]
    pub(crate) celsius: Option<f64>,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// The requests of a look at a drive.
#[derive(Args, Debug)]
pub(crate) struct Asked {
    /// Requests that a drive serves
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub(crate) requests: u64,
    /// Workload, as for `wane drive age`; by default half reads and half writes at random addresses
    #[arg(long, value_name = "NAME|FILE", add = ArgValueCandidates::new(complete::workloads))]
    pub(crate) workload: Option<String>,
    /// Override a key of the workload or of time, such as `workload.arrival.queue-depth=16`
    #[arg(long = "set", value_name = "KEY=VALUE", add = ArgValueCompleter::new(complete::assignment))]
    pub(crate) set: Vec<String>,
}

#[derive(Args, Debug)]
pub(crate) struct ProbeArguments {
    /// The drive's folder
    pub(crate) drive: PathBuf,
    #[command(flatten)]
    pub(crate) asked: Asked,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Show no progress
    #[arg(long)]
    pub(crate) quiet: bool,
}

#[derive(Args, Debug)]
pub(crate) struct ListArguments {
    /// The folder whose drives are listed
    #[arg(default_value = ".")]
    pub(crate) folder: PathBuf,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct CompareArguments {
    /// The drives' folders
    #[arg(required = true, num_args = 2..)]
    pub(crate) drives: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) asked: Asked,
    /// Also write a page with the latencies side by side
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Replace FILE although wane did not write it
    #[arg(long)]
    pub(crate) force: bool,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Show no progress
    #[arg(long)]
    pub(crate) quiet: bool,
}

#[derive(Args, Debug)]
pub(crate) struct WriteArguments {
    /// The drive's folder
    pub(crate) drive: PathBuf,
    /// File whose bytes are written
    pub(crate) file: PathBuf,
    /// Where they go, in bytes from the drive's beginning, such as `1 MiB`
    #[arg(long, value_name = "SIZE", default_value = "0 B")]
    pub(crate) at: Bytes,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct ReadArguments {
    /// The drive's folder
    pub(crate) drive: PathBuf,
    /// File to write them to
    pub(crate) out: PathBuf,
    /// Where to begin, in bytes from the drive's beginning, such as `1 MiB` or `4096 B`
    #[arg(long, value_name = "SIZE", default_value = "0 B")]
    pub(crate) at: Bytes,
    /// Number of bytes; by default all up to the drive's end
    #[arg(long, value_name = "SIZE")]
    pub(crate) length: Option<Bytes>,
    /// Overwrite a file that wane did not write
    #[arg(long)]
    pub(crate) force: bool,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct TrimArguments {
    /// The drive's folder
    pub(crate) drive: PathBuf,
    /// Where to begin, in bytes from the drive's beginning, such as `1 MiB` or `4096 B`
    #[arg(long, value_name = "SIZE", default_value = "0 B")]
    pub(crate) at: Bytes,
    /// Number of bytes
    #[arg(long, value_name = "SIZE")]
    pub(crate) length: Bytes,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct CheckArguments {
    /// The drive's folder
    pub(crate) drive: PathBuf,
    /// Read all its data, on a copy, and report what does not read as it was written, and why
    #[arg(long)]
    pub(crate) data: bool,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Which blocks come first.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Worn {
    /// The most worn
    Most,
    /// The least worn
    Least,
}

#[derive(Args, Debug)]
pub(crate) struct RetireArguments {
    /// The drive's folder
    pub(crate) drive: PathBuf,
    /// Number of blocks
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) blocks: u32,
    /// Retire the most or the least worn blocks
    #[arg(long, value_name = "WHICH", value_enum, default_value_t = Worn::Most)]
    pub(crate) worn: Worn,
    /// Retire the block with this number, instead of --blocks and --worn; may be repeated
    #[arg(long, value_name = "NUMBER", conflicts_with_all = ["blocks", "worn"])]
    pub(crate) block: Vec<u32>,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct RequireArguments {
    /// The drive's folder
    pub(crate) drive: PathBuf,
    /// Most re-reads of a host read: a number, or `none` for as many as error correction allows. Blocks whose data are expected to need more just
    /// after a program retire: free ones at once, others at their next erase
    #[arg(long, value_name = "N", value_parser = rereads)]
    pub(crate) rereads: Rereads,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// A limit of re-reads; `None`: as many as error correction allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rereads(pub(crate) Option<u32>);

fn rereads(text: &str) -> Result<Rereads, String> {
    if text == "none" {
        return Ok(Rereads(None));
    }
    let most = text.parse().ok().filter(|most| *most <= REREADS_BOUND);
    most.map(|most| Rereads(Some(most))).ok_or_else(|| format!("none, or 0 to {REREADS_BOUND} are allowed"))
}

/// A fault that is injected into data.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Fault {
    /// Reads fail until the data are written or trimmed
    MediumError,
    /// Reads return flipped bits without an error
    FlippedBits,
}

impl Fault {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::MediumError => "medium-error",
            Self::FlippedBits => "flipped-bits",
        }
    }
}

#[derive(Args, Debug)]
pub(crate) struct InjectArguments {
    /// The drive's folder
    pub(crate) drive: PathBuf,
    /// What to do to the data
    #[arg(long, value_enum)]
    pub(crate) fault: Fault,
    /// Where to begin, in bytes from the drive's beginning, such as `1 MiB` or `4096 B`
    #[arg(long, value_name = "SIZE", default_value = "0 B")]
    pub(crate) at: Bytes,
    /// Number of bytes: a multiple of the drive's mapping unit, as is --at; by default one unit
    #[arg(long, value_name = "SIZE")]
    pub(crate) length: Option<Bytes>,
    /// flipped-bits: bits to flip in each mapping unit, in addition to those already flipped [default: 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(crate) bits: Option<u32>,
    /// flipped-bits: root of the random stream that chooses them [default: 1]
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct PowerCutArguments {
    /// The drive's folder
    pub(crate) drive: PathBuf,
    /// Root of the random stream that decides the outcome of operations that flash was at work on
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Drives of an array that are lost in the same instant, by their numbers: they are taken out while the power is off
    #[arg(long, value_name = "N", value_delimiter = ',')]
    pub(crate) take_out: Vec<u32>,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct LoseArguments {
    /// A drive of an array: the array's folder and the drive's number, as in `mirror.wane/1`
    pub(crate) drive: PathBuf,
    /// Although it has the only copy of some data, which are lost
    #[arg(long)]
    pub(crate) force: bool,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

fn target(text: &str) -> Result<Target, String> {
    text.parse()
}

pub(super) fn factor(text: &str) -> Result<f64, String> {
    let factor = text.trim().parse::<f64>().ok().filter(|factor| (1.0..=FACTOR_MOST).contains(factor));
    factor.ok_or_else(|| format!("a factor from 1 to {FACTOR_MOST} is allowed"))
}

/// The most days that a drive may lie, as in scenarios.
const DAYS_MAX: f64 = 1e6;

fn celsius(text: &str) -> Result<f64, String> {
    let celsius = text.trim().parse::<f64>().ok().filter(|celsius| (-55.0..=150.0).contains(celsius));
    celsius.ok_or_else(|| "-55 to 150 degrees Celsius are allowed".to_owned())
}

fn days(text: &str) -> Result<f64, String> {
    let days = text.trim().parse::<f64>().ok().filter(|days| *days > 0.0 && *days <= DAYS_MAX);
    days.ok_or_else(|| format!("a number of days above 0 and up to {DAYS_MAX} is allowed"))
}
