//! A block leaves service at its rated P/E cycles.

use serde::Deserialize;

use super::{BuiltinRetire, RetirePolicy, RetireView, Verdict, retire_if};
use crate::policies::Builtin;

/// See [`Builtin::PAGE`].
#[derive(Clone, Debug)]
pub struct AtEndurance;

/// Parameters of [`AtEndurance`]: none.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {}

impl Builtin for AtEndurance {
    const NAME: &'static str = "at-endurance";
    const SUMMARY: &'static str = "a block leaves service at its rated P/E cycles";
    const EXAMPLE: &'static str = "{ policy = \"at-endurance\" }";
    const PAGE: &'static str = "\
A block leaves service at the erase that brings it to the rated endurance, or after a program of it failed.

Source: dissertation (000) §4.4.
";
    type Params = Params;
}

impl BuiltinRetire for AtEndurance {
    fn new(_params: &Params) -> Self {
        Self
    }
}

impl RetirePolicy for AtEndurance {
    fn verdict(&self, view: &RetireView) -> Verdict {
        retire_if(view.is_rated_out() || view.failures > 0)
    }

    fn retires_at(&self, rated: Option<u32>) -> Option<u32> {
        rated
    }
}
