//! Fixed capacity: the drive is dead when it can no longer hold what it promised.

use serde::Deserialize;

use super::{BuiltinCapacity, CapacityPolicy, CapacityView, Demand};
use crate::policies::Builtin;

/// See [`Builtin::PAGE`].
#[derive(Clone, Debug)]
pub struct Fixed;

/// [`Fixed`] takes none.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Params {}

impl Builtin for Fixed {
    const NAME: &'static str = "fixed";
    const SUMMARY: &'static str = "dead when the spare blocks are used up";
    const EXAMPLE: &'static str = "{ policy = \"fixed\" }";
    const PAGE: &'static str = "\
The drive exports its initial logical capacity until its spare blocks are used up (`retired-blocks >= T - U`), and then it is
dead (`end.cause = \"spare-exhausted\"`).

Source: dissertation (000) ch. 4.
";
    type Params = Params;
}

impl BuiltinCapacity for Fixed {
    fn new(_params: &Params) -> Self {
        Self
    }
}

impl CapacityPolicy for Fixed {
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
