//! Blocks stay in service.

use serde::Deserialize;

use super::{BuiltinRetire, RetirePolicy, RetireView, Verdict};
use crate::policies::Builtin;

/// See [`Builtin::PAGE`].
#[derive(Clone, Debug)]
pub struct Never;

/// Parameters of [`Never`]: none.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {}

impl Builtin for Never {
    const NAME: &'static str = "never";
    const SUMMARY: &'static str = "blocks stay in service, however worn";
    const EXAMPLE: &'static str = "{ policy = \"never\" }";
    const PAGE: &'static str = "\
A block stays in service whatever its wear, its errors and its failures, but for one whose erase failed.
";
    type Params = Params;
}

impl BuiltinRetire for Never {
    fn new(_params: &Params) -> Self {
        Self
    }
}

impl RetirePolicy for Never {
    fn verdict(&self, _view: &RetireView) -> Verdict {
        Verdict::Keep
    }

    fn retires_at(&self, _rated: Option<u32>) -> Option<u32> {
        None
    }
}
