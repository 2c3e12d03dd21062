//! The command line's options and their help texts.
//!
//! The text after the options has headings that end with a colon. Lines below them are indented and at most 60 columns wide, so that no
//! terminal breaks a command; man pages make sections of them. Prose has no line breaks of its own.

use std::path::PathBuf;

use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use clap_complete::{ArgValueCandidates, ArgValueCompleter};
use wane_scenario::Scale;
use wane_workload::trace::Format;

use crate::complete;

pub(crate) mod actor;
pub(crate) mod array;
pub(crate) mod doctor;
pub(crate) mod drive;
pub(crate) mod fleet;
#[cfg(target_os = "linux")]
pub(crate) mod fs;
pub(crate) mod serve;
pub(crate) mod theory;

/// The page that `wane reproduce --check` reads by default.
pub(crate) const CLAIMS_PAGE: &str = "docs/claims.md";

/// Run a flash store's whole life: how it wears, amplifies writes and shrinks under a workload, with the policy you choose.
#[derive(Debug, Parser)]
#[command(
    name = "wane",
    version,
    after_help = "\
Examples:
  wane run scenario.toml --out out/first
  wane run scenario.toml --sweep ftl.gc.d=1,2,4,8
  wane report out/first
  wane trace info trace.gz
  wane rber --chip tlc-72l-2018 --cycles 5000

Exit codes:
  0    done
  1    a claim differs, or a drive of `wane drive` died
       early or lost data;
       a run whose drive dies ends with 0
  2    usage, scenario, trace, data or folder is wrong
  3    internal
  130  interrupted; results so far are written and marked"
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a scenario: a drive's life, or a grid of lives
    Run(RunArguments),
    /// Make a drive that is kept in a folder, age it, fork it, ask it
    Drive(drive::DriveArguments),
    /// Serve a drive of any age as a live block device, to programs and file systems
    Serve(serve::ServeArguments),
    /// Control a served drive: ask it, age it, break it, cut its power
    Ctl(serve::CtlArguments),
    /// Make, mount, check and copy from file systems, in files and on drives that age
    #[cfg(target_os = "linux")]
    Fs(fs::FsArguments),
    /// Plan arrays of drives that differ in size and speed
    Array(array::ArrayArguments),
    /// Judge a real drive from the output of smartctl or nvme: wear, errors, end of life
    Doctor(doctor::DoctorArguments),
    /// Read, query, judge and simulate the records of a data center's drives
    Fleet(fleet::FleetArguments),
    /// Serve drives that encode: together they cut, code and keep objects, without a manager
    Actor(actor::ActorArguments),
    /// Estimate a scenario's results by theory, without running it
    Estimate(theory::EstimateArguments),
    /// Weigh the cleaning cost of victims against how evenly blocks wear
    Tradeoff(theory::TradeoffArguments),
    /// Run the experiments behind published claims, and compare
    Reproduce(ReproduceArguments),
    /// Age one drive three ways under a recorded database trace, and draw the report
    Demo(DemoArguments),
    /// List the preset drives, or print one
    Presets(PresetsArguments),
    /// List the policies, or show one's page
    Policies(PoliciesArguments),
    /// Look at block traces, convert them, or synthesize stand-ins
    Trace(TraceArguments),
    /// Raw bit errors of a chip, or a model fitted to your own measurements
    Rber(RberArguments),
    /// Draw a report of results, or lay several over each other
    Report(ReportArguments),
    /// Print the manual of the scenario file, in Markdown or as a JSON schema for editors
    Manual(ManualArguments),
    /// Print what a shell needs to complete commands, keys and names
    #[command(after_help = "\
Examples:
  In ~/.bashrc:
    source <(wane completions bash)
  In ~/.zshrc, after compinit:
    source <(wane completions zsh)
  In ~/.config/fish/config.fish:
    wane completions fish | source

The shell asks the `wane` that it finds on its path, and offers what that version takes.")]
    Completions {
        /// Which shell
        shell: clap_complete::Shell,
    },
    /// Print a man page, or write those of all commands
    Man(ManArguments),
    /// Save a served drive up to a place of its journal; its server calls it
    #[command(hide = true)]
    Checkpoint {
        /// The drive's folder
        drive: PathBuf,
        /// The place, as JSON
        up_to: String,
    },
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  Run it and print the summary:
    wane run scenario.toml
  Print what would be run, its memory and time:
    wane run scenario.toml --dry-run
  Run a drive without a file:
    wane run --preset tiny --set until.drive-writes=20
  Run five seeds, with means and 95 % intervals:
    wane run scenario.toml --seeds 5 --out out/s
  Run once for each value of a key:
    wane run scenario.toml --sweep ftl.gc.d=1,2,4,8
  Run a grid of policies and of a range with a unit:
    wane run scenario.toml --sweep ftl.gc=greedy,fifo \\
      --sweep 'drive.over-provisioning=7..28:7 %'
  Let two keys change together:
    wane run scenario.toml \\
      --sweep 'ftl.gc.d=2,4 + ftl.gc-reserve=8,16'")]
pub(crate) struct RunArguments {
    /// The scenario file; `-` reads it from stdin
    pub(crate) scenario: Option<PathBuf>,
    /// Start from this preset instead of the file's
    #[arg(long, add = ArgValueCandidates::new(complete::presets))]
    pub(crate) preset: Option<String>,
    /// Override a key, such as `ftl.gc.policy=d-choices`
    #[arg(long = "set", value_name = "KEY=VALUE", add = ArgValueCompleter::new(complete::assignment))]
    pub(crate) set: Vec<String>,
    /// Run once for each value, such as `ftl.gc.d=1,2,4,8`, or `1..8:1`; several make a grid, keys joined by ` + ` change together
    #[arg(long, value_name = "KEY=V1,V2,...", add = ArgValueCompleter::new(complete::sweep))]
    pub(crate) sweep: Vec<String>,
    /// Run the drive as a smaller one of the same shape: `auto` for as small as is faithful, or a ratio of its blocks such as `1/4`
    #[arg(long, value_name = "RATIO")]
    pub(crate) scale: Option<Scale>,
    /// Root of all random streams, instead of the scenario's
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
    /// Run N seeds, beginning with the scenario's, and print means with their 95 % intervals; with one seed, its figures
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) seeds: Option<u32>,
    /// Write results into this folder; they replace a single run that it holds
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Write a page that shows the first hundreds of steps of garbage collection, page by page, instead of the results. For small drives
    #[arg(long, value_name = "FILE", conflicts_with_all = ["out", "sweep", "seeds", "json", "dry_run"])]
    pub(crate) film: Option<PathBuf>,
    /// Replace runs of another sweep or of other seeds that the folder holds
    #[arg(long, requires = "out")]
    pub(crate) force: bool,
    /// Print the summary as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Print a sweep as CSV: the default into a file or a pipe
    #[arg(long, conflicts_with = "json", requires = "sweep")]
    pub(crate) csv: bool,
    /// Print a sweep as a table for people: the default on a terminal
    #[arg(long, conflicts_with_all = ["json", "csv"], requires = "sweep")]
    pub(crate) table: bool,
    /// Columns of the table: measures, or figures of summary.json such as `wear.erase_count.max`; latencies are those at the last age that all runs
    /// have
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', requires = "sweep", conflicts_with_all = ["json", "csv"])]
    pub(crate) columns: Vec<String>,
    /// Sort the table by one of its columns or a swept key, the best first; `NAME:down` puts the largest first, `NAME:up` the
    /// smallest
    #[arg(long, value_name = "NAME", allow_hyphen_values = true, requires = "sweep", conflicts_with_all = ["json", "csv"])]
    pub(crate) sort: Option<String>,
    /// Show no progress
    #[arg(long)]
    pub(crate) quiet: bool,
    /// Print the resolved scenario, its memory and an estimate of its time, and run nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Args, Debug)]
pub(crate) struct ReproduceArguments {
    /// Claims to run, such as `WL1` or `CV`; by default all. The Python package `wane` measures DC7 and DC8: see `wane fleet --help`
    #[arg(add = ArgValueCandidates::new(complete::claim_ids))]
    pub(crate) ids: Vec<String>,
    /// List the claims: id, class and source
    #[arg(long, conflicts_with_all = ["every_seed", "check", "write", "figures", "runs", "traces", "full_size", "json"])]
    pub(crate) list: bool,
    /// Compare every verdict, figure and note with a page, by default docs/claims.md, and exit
    /// with 1 where one differs
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = CLAIMS_PAGE)]
    pub(crate) check: Option<PathBuf>,
    /// Run every claim with five seeds, not only fragile ones
    #[arg(long)]
    pub(crate) every_seed: bool,
    /// Write the page of claims; on an existing page these claims are renewed and the others stay
    #[arg(long, value_name = "FILE")]
    pub(crate) write: Option<PathBuf>,
    /// Draw each claim's runs as a page into this folder
    #[arg(long, value_name = "DIR")]
    pub(crate) figures: Option<PathBuf>,
    /// Keep each finished run in this folder, and take from it those that an ended command of this very program left: the same command goes on
    /// where it was
    #[arg(long, value_name = "DIR")]
    pub(crate) runs: Option<PathBuf>,
    /// Run claims with stand-ins also on the published traces: files of this folder that are named as the stand-ins, such as dap-ds.csv.gz
    #[arg(long, value_name = "DIR", conflicts_with = "check")]
    pub(crate) traces: Option<PathBuf>,
    /// Run WL1 to WL10 also on the paper's drive of 256 GiB, which takes hours, and 0.8 GB of memory a core
    #[arg(long)]
    pub(crate) full_size: bool,
    /// Overwrite a file that wane did not write; an existing page then keeps only these claims
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
pub(crate) struct DemoArguments {
    /// Write the three results and the report into this folder
    #[arg(long, value_name = "DIR", default_value = "out/demo")]
    pub(crate) out: PathBuf,
    /// Show no progress
    #[arg(long)]
    pub(crate) quiet: bool,
}

#[derive(Args, Debug)]
pub(crate) struct PresetsArguments {
    /// Print this preset's TOML
    #[arg(add = ArgValueCandidates::new(complete::presets))]
    pub(crate) name: Option<String>,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wane manual array
  wane manual drive.ecc
  wane manual --schema > scenario.schema.json

Editors that read schemas of TOML files, such as those with taplo, complete a scenario whose first line is \
`#:schema ./scenario.schema.json`.")]
pub(crate) struct ManualArguments {
    /// Print one section alone, such as `array` or `drive.ecc`; `top` has the keys above all tables
    #[arg(value_name = "SECTION", conflicts_with = "schema", add = ArgValueCandidates::new(complete::sections))]
    pub(crate) section: Option<String>,
    /// Print the JSON schema of the scenario file, with which editors complete and check it
    #[arg(long)]
    pub(crate) schema: bool,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wane man run | man -l -
  wane man --out ~/.local/share/man/man1")]
pub(crate) struct ManArguments {
    /// The command, such as `trace info`; by default `wane` itself
    #[arg(value_name = "COMMAND", add = ArgValueCandidates::new(complete::commands))]
    pub(crate) of: Vec<String>,
    /// Write a page for every command into this folder
    #[arg(long, value_name = "DIR", conflicts_with = "of")]
    pub(crate) out: Option<PathBuf>,
    /// Overwrite a file that wane did not write
    #[arg(long, requires = "out")]
    pub(crate) force: bool,
}

#[derive(Args, Debug)]
pub(crate) struct PoliciesArguments {
    /// Print this policy's page and a minimal scenario
    #[arg(add = ArgValueCandidates::new(complete::policies))]
    pub(crate) name: Option<String>,
    /// Print all pages as one Markdown document
    #[arg(long)]
    pub(crate) pages: bool,
}

#[derive(Args, Debug)]
pub(crate) struct TraceArguments {
    #[command(subcommand)]
    pub(crate) command: TraceCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TraceCommand {
    /// Measure a trace: requests, bytes, footprint, hotness, sequentiality, duration
    Info {
        /// The trace; `-` reads stdin
        file: PathBuf,
        /// Capacity of the drive that it would be written to, such as `3.84 TB`; prints its drive writes a day
        #[arg(long, value_name = "SIZE")]
        capacity: Option<String>,
        /// Print as JSON
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        reading: Reading,
    },
    /// Write a trace as fio iolog or in wane's compact form
    Convert {
        /// The trace; `-` reads stdin
        file: PathBuf,
        /// Where to write; `-` writes to stdout
        target: PathBuf,
        /// Format to write; by default the extension chooses, `.iolog` or `.wane` for compact; a name without one gets compact
        #[arg(long, value_enum)]
        to: Option<Target>,
        /// Overwrite a file that wane did not write
        #[arg(long)]
        force: bool,
        #[command(flatten)]
        reading: Reading,
    },
    /// List the formats of traces, with what a line of each holds
    Formats,
    /// Write a stand-in for a published trace
    Synthesize {
        /// The stand-in, such as `rad-be`; `list` lists them
        #[arg(add = ArgValueCandidates::new(complete::standins))]
        standin: String,
        /// Where to write; `-` writes to stdout
        #[arg(default_value = "-")]
        target: PathBuf,
        /// Capacity of the drive that it is scaled to
        #[arg(long, default_value = "8 GiB")]
        capacity: String,
        /// Number of requests
        #[arg(long, default_value_t = 100_000)]
        requests: u64,
        /// Root of the random stream
        #[arg(long, default_value_t = 1)]
        seed: u64,
        /// Format to write; by default the extension chooses, `.iolog` or `.wane` for compact; a name without one gets an fio iolog
        #[arg(long, value_enum)]
        to: Option<Target>,
        /// Overwrite a file that wane did not write
        #[arg(long)]
        force: bool,
    },
}

fn format_help() -> String {
    let names: Vec<&str> = Format::ALL.iter().map(|format| format.name()).collect();
    format!("The trace's format; by default found from its content: {}", names.join(", "))
}

/// How a trace is read.
#[derive(Args, Debug)]
pub(crate) struct Reading {
    #[arg(long, help = format_help(), add = ArgValueCandidates::new(complete::formats))]
    pub(crate) format: Option<String>,
    /// Direction and unit, for a trace that has none, such as `read,4KiB`; or what a 1 stands for, if directions are numbers, such as `1=write`
    #[arg(long, value_name = "OP,SIZE|1=OP")]
    pub(crate) assume: Option<String>,
    /// Count lines that do not parse instead of stopping
    #[arg(long)]
    pub(crate) skip_bad_lines: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Target {
    /// fio iolog, text
    Iolog,
    /// wane's compact binary form
    Compact,
}

/// Formats that `--figures` writes.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
pub(crate) enum FigureFormat {
    /// Scalable, text as outlines
    Svg,
    /// Scalable, fonts embedded
    Pdf,
    /// 600 dots an inch
    Png,
}

#[derive(Args, Debug)]
pub(crate) struct ReportArguments {
    /// Result folders
    #[arg(required = true)]
    pub(crate) results: Vec<PathBuf>,
    /// Write the page to this file
    #[arg(long, value_name = "FILE", default_value = "report.html")]
    pub(crate) out: PathBuf,
    /// Write each picture into this folder as well, as wide as a column (85 mm) and as a page (178 mm) of a paper, with the
    /// values behind it as CSV
    #[arg(long, value_name = "DIR")]
    pub(crate) figures: Option<PathBuf>,
    /// Format of the pictures
    #[arg(long, value_name = "FORMAT", requires = "figures", default_value = "pdf")]
    pub(crate) format: FigureFormat,
    /// Overwrite a file that wane did not write
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Args, Debug)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  List the chips and their parameters:
    wane rber --list
  One number:
    wane rber --chip tlc-72l-2018 --cycles 5000
  Curves as a page:
    wane rber --chip tlc-72l-2018 --cycles 0..10000:500 \\
      --days 0,30,365 --plot rber.html
  Fit the model to measurements, and use it:
    wane rber fit data.csv --out mine.toml
    wane rber --params mine.toml --cycles 3000 --json"
)]
pub(crate) struct RberArguments {
    #[command(subcommand)]
    pub(crate) command: Option<RberCommand>,
    /// A published chip, such as `tlc-72l-2018`; `--list` lists them
    #[arg(long, value_name = "NAME", conflicts_with = "params", add = ArgValueCandidates::new(complete::chips))]
    pub(crate) chip: Option<String>,
    /// A preset that `wane rber fit` wrote, instead of a chip
    #[arg(long, value_name = "FILE")]
    pub(crate) params: Option<PathBuf>,
    /// P/E cycles: a number, a list `0,1000,5000`, or a range `0..10000:500`
    #[arg(long, value_name = "C", allow_hyphen_values = true)]
    pub(crate) cycles: Option<String>,
    /// Days since the page was programmed, likewise
    #[arg(long, value_name = "D", default_value = "0", allow_hyphen_values = true)]
    pub(crate) days: String,
    /// Reads of the block since its erase, likewise
    #[arg(long, value_name = "N", default_value = "0", allow_hyphen_values = true)]
    pub(crate) reads: String,
    /// Draw the curves into this page: over the input with the most values, one for each combination of the others
    #[arg(long, value_name = "FILE")]
    pub(crate) plot: Option<PathBuf>,
    /// Overwrite a file that wane did not write
    #[arg(long)]
    pub(crate) force: bool,
    /// List the chips, their parameters and where they come from
    #[arg(long)]
    pub(crate) list: bool,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RberCommand {
    /// Fit the model to measurements: CSV with the columns cycles, days, reads and rber
    #[command(after_help = "\
A header names the columns, in any order; others are skipped, lines with # are comments. A row is one measurement: the share \
of bits that read wrong after these P/E cycles, days since programming and reads of the block.

The loss of the residuals of ln RBER is soft L1, so that outliers hardly matter. Scales are not negative, exponents lie \
between 0 and 6. A term that does not lower the Bayesian information criterion is left out. A parameter is not identifiable \
where its input does not vary, where its term is left out, or where its 95 % interval spans more than a factor of 10,000 (a \
scale) or more than 2 (an exponent).")]
    Fit(FitArguments),
}

#[derive(Args, Debug)]
pub(crate) struct FitArguments {
    /// The measurements; `-` reads stdin
    pub(crate) data: PathBuf,
    /// Write the fitted preset into this file
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Overwrite a file that wane did not write
    #[arg(long)]
    pub(crate) force: bool,
    /// Root of the random starts
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Returns the command with all its options; completions and man pages are made from it.
pub fn command() -> clap::Command {
    Arguments::command()
}
