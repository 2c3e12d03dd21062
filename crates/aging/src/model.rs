//! How the next erase counts of blocks follow from those of the periods before.
//!
//! One file each: [`lines`] has the regressions of single blocks, [`groups`] those of groups, [`reconstructed`] the baselines that the
//! dissertation compares with and describes in words only.

mod groups;
mod lines;
mod reconstructed;

use dyn_clone::DynClone;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Period;

/// Fewest and most periods that a model looks back on, where it is told how many.
pub const WINDOW_LEAST: usize = 2;
/// See [`WINDOW_LEAST`].
pub const WINDOW_MOST: usize = 1000;

/// Groups of blocks by their wear, where a model has groups.
const GROUPS: usize = 16;

/// Predicts how often blocks are erased.
pub trait Model: DynClone + std::fmt::Debug + Send + Sync {
    /// Periods that it wants to see before its first prediction.
    fn needs(&self) -> usize {
        2
    }

    /// Hears of a period that was simulated.
    fn observe(&mut self, period: &Period);

    /// Erases of each block so many periods after the latest observed one, by block id. `now` are the erase counts at its end, those
    /// of [`Period::after`], or more where something was predicted since. Not rounded, and not held to what a block may be:
    /// [`crate::Projector`] does that. Without an observation, what is now.
    fn predict(&self, now: &[u32], ahead: f64) -> Vec<f64>;
}

dyn_clone::clone_trait_object!(Model);

/// The models, by the words of a scenario.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ModelKind {
    /// A line for each block through its last two observations.
    #[default]
    TwoPoint,
    /// A line for each block, least squares over the window.
    LeastSquares,
    /// A line for each block, with the median of all slopes in the window.
    TheilSen,
    /// A skew-normal distribution of all blocks, moved as sixteen groups of them move.
    SkewNormal,
    /// Each rank of wear grows as it grew over the window, whatever the distribution.
    Ranks,
    /// DEVS, a model chosen for each block at the beginning and kept.
    Devs,
    /// CML, a line for each block through everything since the beginning.
    Cml,
}

impl ModelKind {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::TwoPoint, Self::LeastSquares, Self::TheilSen, Self::SkewNormal, Self::Ranks, Self::Devs, Self::Cml];

    /// The word in scenarios and results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::TwoPoint => "two-point",
            Self::LeastSquares => "least-squares",
            Self::TheilSen => "theil-sen",
            Self::SkewNormal => "skew-normal",
            Self::Ranks => "ranks",
            Self::Devs => "devs",
            Self::Cml => "cml",
        }
    }

    /// Whether it looks back on a window of periods.
    pub const fn has_window(self) -> bool {
        matches!(self, Self::LeastSquares | Self::TheilSen | Self::Ranks)
    }

    /// The model, which has seen nothing. `window` is how many periods it looks back on, where it has a window.
    pub fn build(self, window: usize) -> Box<dyn Model> {
        let window = window.clamp(WINDOW_LEAST, WINDOW_MOST);
        match self {
            Self::TwoPoint => Box::new(lines::TwoPoint::default()),
            Self::LeastSquares => Box::new(lines::LeastSquares::new(window)),
            Self::TheilSen => Box::new(lines::TheilSen::new(window)),
            Self::SkewNormal => Box::new(groups::SkewNormalGroups::default()),
            Self::Ranks => Box::new(groups::Ranks::new(window)),
            Self::Devs => Box::new(reconstructed::Devs::default()),
            Self::Cml => Box::new(reconstructed::Cml::default()),
        }
    }
}

#[cfg(test)]
mod tests;
