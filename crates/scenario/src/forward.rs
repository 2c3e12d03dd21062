//! Fast-forward as plain data: which part of a life is predicted, and how.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wane_aging::{FACTOR_MOST, ModelKind, WINDOW_LEAST, WINDOW_MOST};
use wane_ftl::Worn;

use super::schema::in_field_order;

/// Part of an untimed life is predicted instead of simulated: periods are simulated, erase counts of what follows are predicted of them and
/// given to the drive, and so on to the end. Drive writes and days go on through what is predicted, requests and traces wait meanwhile.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[schemars(transform = in_field_order::<Self>)]
pub struct FastForward {
    /// The acceleration factor: drive writes over those that are simulated. At 1 everything is simulated, at 2 every second period; from
    /// above 2 on several periods are predicted at once, and accuracy falls (000, section 3.4.2).
    #[schemars(range(min = 1.0, max = FACTOR_MOST))]
    pub factor: f64,
    /// Drive writes of a period: one iteration of the workload.
    #[schemars(range(min = 1e-3, max = 1e6))]
    pub period: f64,
    /// How erases are predicted.
    pub model: ModelKind,
    /// Periods that `least-squares`, `theil-sen` and `ranks` look back on. With one of these.
    #[schemars(range(min = WINDOW_LEAST, max = WINDOW_MOST))]
    pub window: u32,
    /// Goes by the write amplification of the periods: where one is an outlier, the prediction before it is taken back and the next ones
    /// wait; while none is, each predicts half as much again as the one before, up to `factor-most`. Near its end of life a drive is
    /// predicted in steps that bring half of its spare blocks to their end at most.
    pub adaptive: bool,
    /// The largest acceleration factor of an adaptive life. With `adaptive`.
    #[schemars(range(min = 1.0, max = FACTOR_MOST))]
    pub factor_most: f64,
    /// What becomes of a free block that is predicted to be worn out.
    pub worn: Worn,
}

impl Default for FastForward {
    fn default() -> Self {
        Self {
            factor: 2.0,
            period: 1.0,
            model: ModelKind::default(),
            window: 8,
            adaptive: false,
            factor_most: 20.0,
            worn: Worn::default(),
        }
    }
}
