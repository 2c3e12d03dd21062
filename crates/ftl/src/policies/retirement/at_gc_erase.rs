//! As the released FTLSim: only the erases of garbage collection are checked.

use serde::Deserialize;

use super::{BuiltinRetire, RetirePolicy, RetireView, Verdict, retire_if};
use crate::policies::{Builtin, EraseCause};

/// See [`Builtin::PAGE`].
#[derive(Clone, Debug)]
pub struct AtGcErase;

/// Parameters of [`AtGcErase`]: none.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {}

impl Builtin for AtGcErase {
    const NAME: &'static str = "at-gc-erase";
    const SUMMARY: &'static str = "as at-endurance, but only erases by garbage collection are checked";
    const EXAMPLE: &'static str = "{ policy = \"at-gc-erase\" }";
    const PAGE: &'static str = "\
As `at-endurance`, but only the erases of garbage collection are checked, as the released FTLSim does: a block that wear
leveling erases may outlive its rating.

Source: released code of the dissertation (000).
";
    type Params = Params;
}

impl BuiltinRetire for AtGcErase {
    fn new(_params: &Params) -> Self {
        Self
    }
}

impl RetirePolicy for AtGcErase {
    fn verdict(&self, view: &RetireView) -> Verdict {
        retire_if((view.is_rated_out() || view.failures > 0) && view.cause == EraseCause::GarbageCollection)
    }

    fn retires_at(&self, rated: Option<u32>) -> Option<u32> {
        rated
    }
}
