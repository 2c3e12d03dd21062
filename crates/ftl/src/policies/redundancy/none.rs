//! No redundancy.

use serde::Deserialize;
use wane_nand::Task;

use super::{BuiltinRedundancy, RedundancyMaker, RedundancyPolicy};
use crate::policies::{Builtin, ParameterError};

/// See [`Builtin::PAGE`].
#[derive(Clone, Debug)]
pub struct NoRedundancy;

/// Parameters of [`NoRedundancy`]: none.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {}

impl Builtin for NoRedundancy {
    const NAME: &'static str = "none";
    const SUMMARY: &'static str = "no page protects another";
    const EXAMPLE: &'static str = "{ policy = \"none\" }";
    const PAGE: &'static str = "\
A page that error correction gives up is uncorrectable.
";
    type Params = Params;
}

impl BuiltinRedundancy for NoRedundancy {
    fn new(_params: &Params) -> Self {
        Self
    }
}

impl RedundancyPolicy for NoRedundancy {
    fn data_pages(&self) -> u32 {
        1
    }

    fn protects(&self, _task: Task) -> bool {
        false
    }
}

/// Makes nothing, so that the mechanism keeps no stripes.
pub(super) fn parse(table: toml::Table) -> Result<RedundancyMaker, ParameterError> {
    NoRedundancy::params(table)?;
    Ok(Box::new(|| None))
}
