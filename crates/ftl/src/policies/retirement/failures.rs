//! A block leaves service when programs of it fail.

use serde::Deserialize;

use super::{BuiltinRetire, RetirePolicy, RetireView, Verdict, retire_if};
use crate::policies::Builtin;

/// See [`Builtin::PAGE`].
#[derive(Clone, Debug)]
pub struct Failures {
    programs: u32,
}

/// Parameters of [`Failures`].
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Params {
    programs: u32,
}

impl Default for Params {
    fn default() -> Self {
        Self { programs: 1 }
    }
}

impl Builtin for Failures {
    const NAME: &'static str = "failures";
    const SUMMARY: &'static str = "a block leaves service when programs of it fail, whatever its wear";
    const EXAMPLE: &'static str = "{ policy = \"failures\", programs = 1 }";
    const PAGE: &'static str = "\
A block whose program failed is emptied at once; at its erase it leaves service if that was the last failure it was
allowed. Wear alone retires nothing, so without `drive.faults` no block ever leaves service.

| key | default | allowed | meaning |
|---|---|---|---|
| `programs` | `1` | 1 and up | failed programs at which a block leaves service |

Source: grown bad blocks as drives report them (002) §4.1.
";
    type Params = Params;

    fn check(params: &Params) -> Result<(), String> {
        if params.programs > 0 {
            return Ok(());
        }
        Err("`programs` is 0; 1 and up is allowed".to_owned())
    }
}

impl BuiltinRetire for Failures {
    fn new(params: &Params) -> Self {
        Self { programs: params.programs }
    }
}

impl RetirePolicy for Failures {
    fn verdict(&self, view: &RetireView) -> Verdict {
        retire_if(view.failures >= self.programs)
    }

    fn retires_at(&self, _rated: Option<u32>) -> Option<u32> {
        None
    }

    fn retires(&self, _rated: Option<u32>) -> bool {
        true
    }
}
