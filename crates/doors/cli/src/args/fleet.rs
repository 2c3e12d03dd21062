//! Options of `wane fleet`.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Args, Debug)]
#[command(
    arg_required_else_help = true,
    override_usage = "wane fleet <VERB> ...",
    after_help = "\
Examples:
  Daily files, tickets or smartctl's output in a folder:
    wane fleet ingest drives.fleet logs/
  Query it in SQL:
    wane fleet query drives.fleet \\
      'SELECT model, count(*) FROM days GROUP BY model'
  One page: an overview, and what to replace:
    wane fleet report drives.fleet --out fleet.html
  Simulate a fleet, with the truth about its drives:
    wane fleet simulate fleet.toml --out twin
  Options of a verb:
    wane fleet ingest --help

This command itself has only `simulate`. The other verbs (ingest, query, analyze, predict, replace, judge, report, claims) belong to the Python \
package `wane`, which `python3` runs, or the interpreter that WANE_PYTHON names; the package's own command `wane` has all verbs. Without the package \
the other verbs do nothing, and the exit code is 2."
)]
pub(crate) struct FleetArguments {
    #[command(subcommand)]
    pub(crate) verb: FleetVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum FleetVerb {
    /// Simulate a fleet: its drives' hourly records, and what became of each drive
    Simulate(SimulateArguments),
    /// The package's verbs and their options
    #[command(external_subcommand)]
    Package(Vec<OsString>),
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  wane fleet simulate --example > fleet.toml
  wane fleet simulate fleet.toml --dry-run
  wane fleet simulate fleet.toml --out twin
  wane fleet ingest drives.fleet twin
  A fleet in two parts, on two machines:
    wane fleet simulate fleet.toml --drives 0..512 \\
      --out part1
    wane fleet simulate fleet.toml --drives 512..1000 \\
      --out part2

An interrupted simulation goes on with the same command. The same file and seed give the same bytes, however many threads or machines there are.")]
pub(crate) struct SimulateArguments {
    /// The fleet's file; without it, all settings are the defaults
    #[arg(value_name = "FLEET.toml")]
    pub(crate) file: Option<PathBuf>,
    /// Write records and truth into this folder
    #[arg(long, value_name = "DIR", required_unless_present_any = ["dry_run", "example", "schema"])]
    pub(crate) out: Option<PathBuf>,
    /// Set a key, such as `days=90` or `model.0.count=1000`; may be repeated
    #[arg(long, value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// Simulate only these drives, such as `0..512`; the end is excluded
    #[arg(long, value_name = "FIRST..END")]
    pub(crate) drives: Option<String>,
    /// Drives to simulate at a time; by default one a core
    #[arg(long, value_name = "N")]
    pub(crate) threads: Option<NonZeroUsize>,
    /// Begin anew, and remove what another simulation wrote there
    #[arg(long)]
    pub(crate) force: bool,
    /// Print all settings and what follows from them, and simulate nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print a fleet's file to start from
    #[arg(long, conflicts_with_all = ["file", "dry_run", "out"])]
    pub(crate) example: bool,
    /// Print the JSON schema of the file: every key, its meaning, range and default
    #[arg(long, conflicts_with_all = ["file", "dry_run", "out", "example"])]
    pub(crate) schema: bool,
    /// Print the outcome as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Show no progress
    #[arg(long)]
    pub(crate) quiet: bool,
}
