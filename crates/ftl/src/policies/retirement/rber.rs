//! A block leaves service when its raw bit errors grow too many.

use serde::Deserialize;

use super::{BuiltinRetire, RetirePolicy, RetireView, Verdict, retire_if};
use crate::policies::Builtin;

/// See [`Builtin::PAGE`].
#[derive(Clone, Debug)]
pub struct Rber {
    threshold: f64,
}

/// Parameters of [`Rber`].
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Params {
    threshold: f64,
}

impl Default for Params {
    fn default() -> Self {
        Self { threshold: 0.05 }
    }
}

impl Builtin for Rber {
    const NAME: &'static str = "rber";
    const SUMMARY: &'static str = "a block leaves service when its RBER reaches a threshold";
    const EXAMPLE: &'static str = "{ policy = \"rber\", threshold = 0.05 }";
    const PAGE: &'static str = "\
A block leaves service at the erase after which a page just programmed would read with so many raw bit errors, or after a
program of it failed. Blocks that wear faster than others leave earlier, and none leaves because of a rating. It needs
`drive.chip`.

| key | default | allowed | meaning |
|---|---|---|---|
| `threshold` | `0.05` | above 0, up to 1 | RBER of fresh data at which a block leaves service |

Source: capacity-variant SSDs (001), which map blocks out at an RBER of 5 %.
";
    type Params = Params;

    fn check(params: &Params) -> Result<(), String> {
        if params.threshold > 0.0 && params.threshold <= 1.0 {
            return Ok(());
        }
        Err(format!("`threshold` is {}; above 0 and up to 1 is allowed", params.threshold))
    }
}

impl BuiltinRetire for Rber {
    fn new(params: &Params) -> Self {
        Self { threshold: params.threshold }
    }
}

impl RetirePolicy for Rber {
    fn verdict(&self, view: &RetireView) -> Verdict {
        retire_if(view.rber >= self.threshold || view.failures > 0)
    }

    fn retires_at(&self, _rated: Option<u32>) -> Option<u32> {
        None
    }

    fn retires(&self, _rated: Option<u32>) -> bool {
        true
    }
}
