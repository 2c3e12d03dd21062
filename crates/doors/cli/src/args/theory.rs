//! Options of the commands of theory: `wane estimate` and `wane tradeoff`.

use std::path::PathBuf;

use clap::Args;
use clap_complete::{ArgValueCandidates, ArgValueCompleter};

use crate::complete;

/// The scenario that theory answers for.
#[derive(Args, Debug)]
pub(crate) struct Asked {
    /// The scenario file; `-` reads it from stdin
    pub(crate) scenario: Option<PathBuf>,
    /// Start from this preset instead of the file's
    #[arg(long, add = ArgValueCandidates::new(complete::presets))]
    pub(crate) preset: Option<String>,
    /// Override a key, such as `ftl.gc.policy=d-choices`
    #[arg(long = "set", value_name = "KEY=VALUE", add = ArgValueCompleter::new(complete::assignment))]
    pub(crate) set: Vec<String>,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  Estimate a scenario's results, within milliseconds:
    wane estimate scenario.toml
  Compare the estimate with a run:
    wane estimate scenario.toml --run
  Without a file:
    wane estimate --preset tiny --set ftl.gc=fifo \\
      --set until.drive-writes=10

There are models of greedy, d-choices, random and fifo under patterns, stand-ins and traces. A warning names each part of the scenario that \
its model lacks.")]
pub(crate) struct EstimateArguments {
    #[command(flatten)]
    pub(crate) asked: Asked,
    /// Also run the scenario, and print model and run side by side
    #[arg(long)]
    pub(crate) run: bool,
    /// Print as JSON, with the keys of `wane run --json`
    #[arg(long)]
    pub(crate) json: bool,
    /// Show no progress
    #[arg(long)]
    pub(crate) quiet: bool,
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  Uniform requests to blocks of 64 pages:
    wane tradeoff
  The blocks of a scenario's drive, as it runs:
    wane tradeoff scenario.toml --plot tradeoff.html
  The d that halves the cost of random victims:
    wane tradeoff --cost 16

Without a scenario, blocks are half full: uniform requests leave them so in the occupancy model, which has no utilization. With one, its \
drive is run for --drive-writes and its blocks are counted.")]
pub(crate) struct TradeoffArguments {
    #[command(flatten)]
    pub(crate) asked: Asked,
    /// Pages of a block, without a scenario
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) pages: u32,
    /// Blocks drawn by d-choices, such as `2,5,10`; fractions mix their neighbors
    #[arg(long, value_name = "D,...", value_delimiter = ',', default_value = "1,1.5,2,3,5,10,20,50,100")]
    pub(crate) d: Vec<f64>,
    /// Say which d has this cleaning cost, in valid pages of a victim
    #[arg(long, value_name = "PAGES")]
    pub(crate) cost: Option<f64>,
    /// Say which d has this wear leveling, above 0 and up to 1
    #[arg(long, value_name = "INDEX")]
    pub(crate) wear_leveling: Option<f64>,
    /// Drive writes over which the blocks of a scenario's drive are counted
    #[arg(long, value_name = "N", default_value_t = 2.0)]
    pub(crate) drive_writes: f64,
    /// Draw the curve and the policies into this page
    #[arg(long, value_name = "FILE")]
    pub(crate) plot: Option<PathBuf>,
    /// Overwrite a file that wane did not write
    #[arg(long)]
    pub(crate) force: bool,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
