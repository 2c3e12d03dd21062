//! Fixed capacity: the drive is dead when it can no longer hold its initial logical capacity.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CapacityPolicy, CapacityView, Demand};
use crate::policies::Builtin;
use crate::policies::state::remembered_by_serde;

/// See [`FixedParams`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Fixed;

/// Dead when the spare blocks are used up.
///
/// The drive exports its initial logical capacity until its spare blocks are used up (`retired-blocks >= T - U`), and then it is
/// dead (`end.cause = "spare-exhausted"`).
///
/// Source: dissertation (000) ch. 4.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct FixedParams {}

impl Builtin for Fixed {
    const NAME: &'static str = "fixed";
    type Params = FixedParams;

    fn build(_params: FixedParams) -> Self {
        Self
    }
}

impl CapacityPolicy for Fixed {
    remembered_by_serde!();

    fn demand(&mut self, view: &CapacityView) -> Demand {
        if view.spare_exhausted() { Demand::EndOfLife } else { Demand::Keep }
    }

    fn may_shrink(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::view;
    use super::*;

    #[test]
    fn the_drive_dies_with_its_last_spare_block() {
        assert_eq!(Fixed.demand(&view(1, 100)), Demand::Keep);
        assert_eq!(Fixed.demand(&view(2, 100)), Demand::EndOfLife);
    }
}
