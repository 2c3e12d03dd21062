//! No scrubbing.

use serde::Deserialize;

use super::{Action, BuiltinScrub, ScrubMaker, ScrubPolicy, ScrubView};
use crate::policies::{Builtin, ParameterError, Setting};

/// See [`Builtin::PAGE`].
#[derive(Clone, Debug)]
pub struct NoScrub;

/// Parameters of [`NoScrub`]: none.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {}

impl Builtin for NoScrub {
    const NAME: &'static str = "none";
    const SUMMARY: &'static str = "no scrubbing";
    const EXAMPLE: &'static str = "{ policy = \"none\" }";
    const PAGE: &'static str = "\
Errors are corrected when data are read, and nothing is relocated before.
";
    type Params = Params;
}

impl BuiltinScrub for NoScrub {
    fn new(_params: &Params, _setting: Setting) -> Self {
        Self
    }
}

impl ScrubPolicy for NoScrub {
    fn next(&mut self, _view: &ScrubView<'_>) -> Option<Action> {
        None
    }
}

/// Makes nothing, so that the mechanism does not even note what is read.
pub(super) fn parse(table: toml::Table) -> Result<ScrubMaker, ParameterError> {
    NoScrub::params(table)?;
    Ok(Box::new(|_| None))
}
