//! Options of `wane array`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use wane_units::Bytes;

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  What do my drives give, and at which width?
    wane array plan --member a=894GiB --member b=447GiB \\
      --member c=447GiB")]
pub(crate) struct ArrayArguments {
    #[command(subcommand)]
    pub(crate) command: ArrayCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ArrayCommand {
    /// Tell what drives of any sizes and speeds give as one array: capacity, stranded space, speed; nothing is written
    Plan(PlanArguments),
}

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  Every width that works, and the one with the most data:
    wane array plan --member a=2TB --member b=2TB \\
      --member c=4TB --code xor
  Drives from a file, stripes of six, two of them parity:
    wane array plan drives.toml --code pq --width 6
  The first 200 GiB of data on fast drives only:
    wane array plan drives.toml --fast '200 GiB'

The file has a table for each drive; speed and class may be left out:
  [[member]]
  name = \"nvme0\"
  size = \"894 GiB\"
  speed = \"3330 MiB/s\"
  class = \"fast\"

A speed is what a drive reads in sequence. Without classes, drives count as fast that read at least half as fast as the fastest one.")]
pub(crate) struct PlanArguments {
    /// A TOML file with the drives; `-` reads stdin
    pub(crate) drives: Option<PathBuf>,
    /// A drive, as name=size, with @speed and :fast or :slow behind it, such as `nvme0=894GiB@3330MiB/s:fast`
    #[arg(long = "member", value_name = "DRIVE")]
    pub(crate) members: Vec<String>,
    /// How data survive: copies-2, copies-3, xor (one parity), pq (two), pqr (three)
    #[arg(long, value_name = "CODE", default_value = "xor")]
    pub(crate) code: String,
    /// Chunks of a stripe, parities included, each on another drive. By default the width with the most data
    #[arg(long, value_name = "N")]
    pub(crate) width: Option<usize>,
    /// Which drives a tile lies on: unequal (as many tiles as fit), equal (the smallest drive decides), manual (by hand, in groups)
    #[arg(long, value_name = "NAME", default_value = "unequal")]
    pub(crate) placement: String,
    /// Put this much data, from the start of the array, on fast drives only, even if that costs capacity
    #[arg(long, value_name = "SIZE")]
    pub(crate) fast: Option<Bytes>,
    /// What a tile takes of each of its drives
    #[arg(long, value_name = "SIZE", default_value = "64 MiB")]
    pub(crate) tile: Bytes,
    /// Print as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
