//! What can be asked of `wane fleet`.

use std::ffi::OsString;

use clap::Args;

#[derive(Args, Debug)]
#[command(after_help = "\
Examples:
  Daily files, tickets or smartctl's output in a folder:
    wane fleet ingest drives.fleet logs/
  Ask it in SQL:
    wane fleet query drives.fleet \\
      'SELECT model, count(*) FROM days GROUP BY model'
  One page: at a glance, and what to replace:
    wane fleet report drives.fleet --out fleet.html
  What each verb takes:
    wane fleet ingest --help

The verbs are those of the Python package `wane`, which is asked by `python3`, or by what WANE_PYTHON names; the package's own command `wane` has them \
at once. Without the package nothing is done, and the exit code is 2.")]
pub(crate) struct FleetArguments {
    /// The verb and what it takes: `ingest`, `query`, `analyze`, `predict`, `replace`, `report`
    #[arg(value_name = "VERB", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) words: Vec<OsString>,
}
