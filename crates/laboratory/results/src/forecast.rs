//! `array.forecast` of a summary: what is expected of many arrays like the one that was simulated.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// `forecast.*`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Forecast {
    /// Arrays of the plan, and as many of each alternative.
    pub arrays: u64,
    /// Members of the plan, its redundancy, and how it is looked after, in a sentence.
    pub plan: String,
    /// Sentences on what the figures stand on.
    pub assumptions: Vec<String>,
    /// The UBER that the forecast reads with, against wear: of the member with the highest at each. Empty in results from before it was told.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uber: Vec<UberAtWear>,
    /// Share of the data, in the mean, that one failed member more than the code stands takes; 1: all. Null in results from before it was told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_beyond_code: Option<f64>,
    /// What the plan leads to.
    pub planned: Outlook,
    /// What else could be done, each with the same random numbers as the plan.
    pub alternatives: Vec<Alternative>,
}

/// `forecast.uber.*`
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct UberAtWear {
    /// Share of the rated erases.
    pub wear: f64,
    /// Unreadable bit errors per bit read. Those of a chip below 1e-30 are told as 1e-30.
    pub uber: f64,
}

/// `forecast.alternatives.*`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Alternative {
    /// Its name in the scenario.
    pub name: String,
    /// What it is, in words.
    pub told: String,
    /// What it leads to.
    pub outlook: Outlook,
}

/// `forecast.planned` and `forecast.alternatives.*.outlook`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outlook {
    /// When the first member fails: quantiles.
    pub first_failure: Vec<FirstFailure>,
    /// What is expected after each of the years.
    pub years: Vec<OutlookYear>,
}

/// When the first member has failed in a share of the arrays.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FirstFailure {
    /// Share of the arrays.
    pub share: f64,
    /// Years; null: after the last of the years.
    pub years: Option<f64>,
    /// Lower end of its interval of 95 %, by order statistics; null: after the last of the years.
    pub low: Option<f64>,
    /// Upper end, likewise.
    pub high: Option<f64>,
}

/// A mean and its interval of 95 %.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// The mean.
    pub mean: f64,
    /// Lower end, by the normal distribution of the mean.
    pub low: f64,
    /// Upper end. Where no array came near a loss, what that number of arrays misses with 5 %.
    pub high: f64,
}

/// Figures after some years.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OutlookFigures {
    /// Chance that any sector is lost.
    pub any_lost: Interval,
    /// Chance that more members have failed at once than the code stands; `lost_beyond_code` says what that takes.
    pub array_lost: Interval,
    /// Bytes lost, a TB of data and a year.
    pub bytes_lost_per_tb_year: Interval,
    /// Days with a member fewer than planned.
    pub days_degraded: Interval,
    /// Chance that a member has failed.
    pub member_failed: Interval,
    /// Drives put in for others.
    pub drives_replaced: Interval,
}

/// What is expected after some years.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutlookYear {
    /// Years.
    pub years: f64,
    /// The figures.
    pub figures: OutlookFigures,
    /// The same figures minus those of the plan, array by array; null for the plan itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changes: Option<OutlookFigures>,
    /// Chance of a lost sector by the cause of the last step: `wear-out`, `chance`, `shock`, `unreadable`, `latent`. Their sum is `any_lost`.
    pub loss_causes: BTreeMap<String, f64>,
    /// Chance of a failed member by the cause of the first.
    pub first_causes: BTreeMap<String, f64>,
}
