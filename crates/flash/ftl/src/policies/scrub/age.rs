//! Refresh: relocates data that were written too long ago.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Action, Round, ScrubPolicy, ScrubView};
use crate::policies::state::remembered_by_serde;
use crate::policies::{Builtin, Needs};

/// See [`AgeParams`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Age {
    days: f64,
    round: Round,
}

/// Refresh: relocates data that reach a given age.
///
/// A block is relocated once its oldest page was programmed `days` ago, whatever its errors. The policy checks blocks in turn,
/// eight at a time. It needs time to pass: a timed run, or `time.drive-writes-per-day`.
///
/// Source: Kim et al., FAST 2019 (004) §3.3, after Luo et al., MSST 2015.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct AgeParams {
    /// Age of the oldest page at which a block is relocated.
    #[schemars(extend("exclusiveMinimum" = 0, "x-unit" = "days"))]
    pub days: f64,
}

impl Default for AgeParams {
    fn default() -> Self {
        Self { days: 30.0 }
    }
}

impl Builtin for Age {
    const NAME: &'static str = "age";
    type Params = AgeParams;

    fn build(params: AgeParams) -> Self {
        Self { days: params.days, round: Round::default() }
    }
}

impl ScrubPolicy for Age {
    remembered_by_serde!();

    fn next(&mut self, view: &ScrubView<'_>) -> Option<Action> {
        let old = |block: &_| view.valid(*block).is_some() && view.health(*block).age_days >= self.days;
        self.round.step(view.blocks()).find(old).map(Action::Relocate)
    }

    fn needs(&self) -> Needs {
        Needs { time: true, ..Needs::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::ask;
    use super::*;
    use wane_nand::Health;
    use wane_units::SuperblockId;

    #[test]
    fn only_data_of_that_age_are_refreshed() {
        for (days, want) in [([1.0, 29.9, 0.0], None), ([1.0, 30.0, 99.0], Some(Action::Relocate(SuperblockId(1))))] {
            let health = days.map(|age_days| Health { age_days, ..Health::default() });
            let mut policy = Age::build(AgeParams::default());
            assert_eq!(ask(&mut policy, &[], &health, 0.0), want, "{days:?}");
        }
    }
}
