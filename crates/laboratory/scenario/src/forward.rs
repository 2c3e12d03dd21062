//! Fast-forward as plain data: which part of a life is predicted instead of simulated, and how.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wane_aging::{FACTOR_MOST, ModelKind, WINDOW_LEAST, WINDOW_MOST};
use wane_ftl::Worn;

use super::schema::in_field_order;

/// Most predictions between two fits.
const REFIT_MOST: u32 = 1000;

/// Predicts part of an untimed life instead of simulating it. Simulated and predicted periods alternate: erase counts are predicted from the
/// simulated periods and given to the drive. Drive writes and days also count in predicted periods; requests and traces do not advance there.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[schemars(transform = in_field_order::<Self>)]
pub struct FastForward {
    /// The acceleration factor: all drive writes divided by those that are simulated. At 1 everything is simulated, at 2 every second period.
    /// Above 2 several periods are predicted at once, and accuracy falls (000, section 3.4.2).
    #[schemars(range(min = 1.0, max = FACTOR_MOST))]
    pub factor: f64,
    /// Drive writes of a period: one iteration of the workload.
    #[schemars(range(min = 1e-3, max = 1e6))]
    pub period: f64,
    /// How erases are predicted.
    pub model: ModelKind,
    /// Number of past periods that `least-squares`, `theil-sen` and `ranks` use. Needs one of these models.
    #[schemars(range(min = WINDOW_LEAST, max = WINDOW_MOST))]
    pub window: u32,
    /// Number of predictions after which `devs` is fitted to its latest periods again; 0: never. Needs that model.
    #[schemars(range(max = REFIT_MOST))]
    pub refit: u32,
    /// Whether predictions adapt to the write amplification of the periods. If a period is an outlier, the prediction before it is undone and
    /// the next ones are shorter; otherwise each prediction is half as long again as the one before, up to `factor-most`. Near the end of
    /// life each prediction wears out at most half of the spare blocks.
    pub adaptive: bool,
    /// The largest acceleration factor of an adaptive life. Needs `adaptive`.
    #[schemars(range(min = 1.0, max = FACTOR_MOST))]
    pub factor_most: f64,
    /// What happens to a free block that is predicted to be worn out.
    pub worn: Worn,
}

impl Default for FastForward {
    fn default() -> Self {
        Self {
            factor: 2.0,
            period: 1.0,
            model: ModelKind::default(),
            window: 8,
            refit: 2,
            adaptive: false,
            factor_most: 20.0,
            worn: Worn::default(),
        }
    }
}
