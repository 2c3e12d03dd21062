//! Options of `wane doctor`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  A drive of this machine:
    smartctl -x --json /dev/nvme0 | wane doctor -
  Now and a month ago, for error rates and end of life:
    wane doctor now.json october.json
  With the additional log page of OCP drives:
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
  `smartctl --json` and smartctl's text (-a, -x, -A),
  also several in a file; `nvme smart-log`, text or JSON,
  and its pages of OCP, Intel, log 09h and data placement,
  which add to the record before them; smartd's attrlog;
  metrics of smartctl_exporter, node_exporter and telegraf;
  scrutiny's and Proxmox's answers. The manual lists all.

Verdicts are good, notice (worth knowing), warning (plan to act) and failing (act now). The exit code is 0 whatever the verdicts; of several drives \
it is 1 if a file is no record of a drive, which a sentence says; and it is 2 if nothing could be judged. A value that the drive did not report is \
missing, never zero.")]
pub(crate) struct DoctorArguments {
    /// Output of these tools about the drive, the latest first, or folders of it; `-` reads stdin. Records of several drives are told apart by
    /// serial number and World Wide Name, and give a line for each drive, the worst and most urgent first
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Format of the output
    #[arg(long, value_enum, default_value_t = Form::Text)]
    pub(crate) format: Form,
    /// Print as JSON
    #[arg(long, conflicts_with = "format")]
    pub(crate) json: bool,
    /// Tell drives apart by their serial numbers, or by the files, where these are blanked out
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = NameBy::Serial)]
    pub(crate) name_by: NameBy,
    /// Print nothing unless a verdict differs from the one kept in this file, and keep the new ones there
    #[arg(long, value_name = "STATE")]
    pub(crate) watch: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum NameBy {
    /// Records with one serial number are one drive's
    Serial,
    /// Records in one file are one drive's
    File,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// Text for people
    Text,
    /// Every verdict and value, with stable keys
    Json,
    /// Prometheus's text format
    Prometheus,
    /// A command that tells Ceph the life expectancy
    Ceph,
}
