//! What can be asked of `wane doctor`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  A drive of this machine:
    smartctl -x --json /dev/nvme0 | wane doctor -
  Now, and a month ago: errors by their rate, end of life:
    wane doctor now.json october.json
  With the pages that OCP drives have besides:
    nvme get-log /dev/nvme0 --log-id=0xc0 \\
      --log-len=512 --raw-binary >now.c0
    wane doctor now.json now.c0
  Every hour, silent until a verdict changes:
    smartctl -x --json /dev/nvme0 |
      wane doctor - --watch nvme0.state
  For Prometheus's node exporter, and for Ceph:
    wane doctor now.json --format prometheus >nvme0.prom
    wane doctor now.json then.json --format ceph | sh

Input:
  `smartctl --json` and smartctl's text (-a, -x), many in a
  file too; `nvme smart-log -o json`; the 512 bytes of
  OCP's log page C0h, which add to the record before them.

Verdicts are good, notice (worth knowing), warning (plan to act) and failing (act now). Whatever they are, the exit code is 0; it is 2 where the \
input is no record of a drive. What a drive did not tell is missing, and never zero.")]
pub(crate) struct DoctorArguments {
    /// What a tool told of the drive, the latest first; `-` reads stdin
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// What is printed
    #[arg(long, value_enum, default_value_t = Form::Text)]
    pub(crate) format: Form,
    /// Print as JSON
    #[arg(long, conflicts_with = "format")]
    pub(crate) json: bool,
    /// Print nothing unless a verdict differs from the one kept in this file, and keep the new ones there
    #[arg(long, value_name = "STATE")]
    pub(crate) watch: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// Words for people
    Text,
    /// Every verdict and value, with stable keys
    Json,
    /// Prometheus's text format
    Prometheus,
    /// A command that tells Ceph the life expectancy
    Ceph,
}
