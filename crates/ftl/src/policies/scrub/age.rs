//! Refresh: relocates data that have lain too long.

use serde::Deserialize;

use super::{Action, BuiltinScrub, Round, ScrubPolicy, ScrubView};
use crate::policies::{Builtin, Setting};

/// See [`Builtin::PAGE`].
#[derive(Clone, Debug)]
pub struct Age {
    days: f64,
    round: Round,
}

/// Parameters of [`Age`].
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Params {
    days: f64,
}

impl Default for Params {
    fn default() -> Self {
        Self { days: 30.0 }
    }
}

impl Builtin for Age {
    const NAME: &'static str = "age";
    const SUMMARY: &'static str = "refresh: relocates data written so many days ago";
    const EXAMPLE: &'static str = "{ policy = \"age\", days = 30 }";
    const PAGE: &'static str = "\
Refresh: a block whose oldest page was programmed so many days ago is relocated, whatever its errors. Blocks are looked
at eight at a time, in turn. It needs time to pass: a timed run, or `time.drive-writes-per-day`.

| key | default | allowed | meaning |
|---|---|---|---|
| `days` | `30` | above 0 | age of the oldest page at which a block is relocated |

Source: Kim et al., FAST 2019 (004) §3.3, after Luo et al., MSST 2015.
";
    type Params = Params;

    fn check(params: &Params) -> Result<(), String> {
        if !(params.days > 0.0 && params.days.is_finite()) {
            return Err(format!("`days` is {}; a number above 0 is allowed", params.days));
        }
        Ok(())
    }
}

impl BuiltinScrub for Age {
    fn new(params: &Params, _setting: Setting) -> Self {
        Self { days: params.days, round: Round::default() }
    }
}

impl ScrubPolicy for Age {
    fn next(&mut self, view: &ScrubView<'_>) -> Option<Action> {
        let old = |block: &_| view.valid(*block).is_some() && view.health(*block).age_days >= self.days;
        self.round.step(view.blocks()).find(old).map(Action::Relocate)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ask, setting};
    use super::*;
    use wane_nand::Health;
    use wane_units::SuperblockId;

    #[test]
    fn only_data_of_that_age_are_refreshed() {
        for (days, want) in [([1.0, 29.9, 0.0], None), ([1.0, 30.0, 99.0], Some(Action::Relocate(SuperblockId(1))))] {
            let health = days.map(|age_days| Health { age_days, ..Health::default() });
            let mut policy = Age::new(&Params::default(), setting());
            assert_eq!(ask(&mut policy, &[], &health, 0.0), want, "{days:?}");
        }
    }
}
