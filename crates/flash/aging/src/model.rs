//! Models: how the next erase counts of blocks follow from those of earlier periods.
//!
//! Each file has one kind: [`lines`] has the regressions of single blocks, [`groups`] those of groups, [`reconstructed`] the
//! baselines that the dissertation compares with and describes only in words.

mod groups;
mod lines;
mod reconstructed;

use dyn_clone::DynClone;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Period;

/// Fewest periods in the window of a model that has one.
pub const WINDOW_LEAST: usize = 2;
/// Most periods in such a window.
pub const WINDOW_MOST: usize = 1000;

/// Number of groups of blocks by their wear, for models with groups.
const GROUPS: usize = 16;

/// Predicts how often blocks are erased.
pub trait Model: DynClone + std::fmt::Debug + Send + Sync {
    /// Number of periods that the model needs before its first prediction.
    fn needs(&self) -> usize {
        2
    }

    /// Records a period that was simulated.
    fn observe(&mut self, period: &Period);

    /// Predicts the erases of each block, by block id, `ahead` periods after the latest observed one. `now` are the erase counts
    /// at that time: those of [`Period::after`], or more if something was predicted since. The result is not rounded and not
    /// limited to what a block may have: [`crate::Projector`] does that. Without an observation it is `now`.
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
    /// DEVS, a model chosen for each block at the beginning, and fitted to its latest periods now and then.
    Devs,
    /// CML, a line for each block through everything since the beginning.
    Cml,
}

impl ModelKind {
    /// All models.
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

    /// Whether the model uses a window of periods.
    pub const fn has_window(self) -> bool {
        matches!(self, Self::LeastSquares | Self::TheilSen | Self::Ranks)
    }

    /// Whether the model is fitted anew only before some prediction stages.
    pub const fn has_refit(self) -> bool {
        matches!(self, Self::Devs)
    }

    /// Builds the model without observations. `window` is the number of periods in its window, if it has one; `refit` the number
    /// of prediction stages between two fits, 0 for a model that keeps its first, if it is one that is not always fitted.
    pub fn build(self, window: usize, refit: u32) -> Box<dyn Model> {
        let window = window.clamp(WINDOW_LEAST, WINDOW_MOST);
        match self {
            Self::TwoPoint => Box::new(lines::TwoPoint::default()),
            Self::LeastSquares => Box::new(lines::LeastSquares::new(window)),
            Self::TheilSen => Box::new(lines::TheilSen::new(window)),
            Self::SkewNormal => Box::new(groups::SkewNormalGroups::default()),
            Self::Ranks => Box::new(groups::Ranks::new(window)),
            Self::Devs => Box::new(reconstructed::Devs::new(refit)),
            Self::Cml => Box::new(reconstructed::Cml::default()),
        }
    }
}

#[cfg(test)]
mod tests;
