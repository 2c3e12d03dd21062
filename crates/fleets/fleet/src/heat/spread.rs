//! The spread of replays, recovered from printed means and p-values.
//!
//! 002 shows the spread of its 100 replays only in box plots (figures 6.3 to 6.6). It is contained in the p-values: two means and a p-value of the pooled
//! test determine one pooled variance. Four temperatures give six pairs for four variances, which are therefore overdetermined; [`Spread::mismatch`]
//! says how well the four explain all six. This is our derivation; the paper has no such numbers.

use nalgebra::{Matrix4, Vector4};

use super::{Load, Model, Op, PAIRS, replay_p_values, replayed, statistic_of};
use crate::FleetError;
use crate::error::{positive, within};

/// Replays at each temperature (002, section 6.3.2).
pub const REPLAYS: u32 = 100;

/// Standard deviations of a load's throughput at the four temperatures of the replays.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// In MB/s, at 25, 35, 45 and 50 °C; `None` for one that is too small beside the others to be recovered.
    pub deviations: [Option<f64>; 4],
    /// The largest relative difference between a pair's pooled variance and that of the four deviations.
    pub mismatch: f64,
}

impl Spread {
    /// Whether the values at 50 °C spread wider than at each of the other temperatures.
    pub fn is_widest_when_hot(&self) -> bool {
        let [.., hot] = self.deviations;
        let hot = hot.unwrap_or(0.0);
        self.deviations[..3].iter().all(|cooler| cooler.unwrap_or(0.0) < hot)
    }
}

/// The pooled standard deviation of two samples of `count` values each, from their means and the p-value of their pooled t-test.
///
/// # Errors
///
/// [`FleetError::OutOfRange`] for a p-value below 1e-300 or from 1 on, means that are not numbers, or fewer than two values.
pub fn pooled_deviation(mean: f64, other_mean: f64, p: f64, count: u32) -> Result<f64, FleetError> {
    positive("the difference of the means", (mean - other_mean).abs())?;
    let count = within("the measurements of a sample", f64::from(count), 2.0, f64::MAX)?;
    let statistic = positive("the t of the p-value", statistic_of(p, 2.0 * count - 2.0)?)?;
    Ok((mean - other_mean).abs() / statistic * (count / 2.0).sqrt())
}

/// The spread of a load's replays in one direction, from the printed p-values.
///
/// It minimizes the squares of the relative errors of the six pooled variances. `None` if the load has no replays in this direction, or if means are
/// printed too coarsely to differ.
pub fn spread(model: Model, load: Load, op: Op) -> Option<Spread> {
    let (means, p_values) = (replayed(model, load, op)?, replay_p_values(model, load, op)?);
    let (mut left, mut right) = (Matrix4::<f64>::zeros(), Vector4::<f64>::zeros());
    let mut pooled = Vec::with_capacity(PAIRS.len());
    for ((i, j), p) in PAIRS.into_iter().zip(p_values) {
        let Ok(deviation) = pooled_deviation(means[i], means[j], p, REPLAYS) else { continue };
        let variance = deviation * deviation;
        pooled.push((i, j, variance));
        // (v_i + v_j) / 2 divided by the pooled variance should be 1.
        let weight = 0.5 / variance;
        for row in [i, j] {
            right[row] += weight;
            for column in [i, j] {
                left[(row, column)] += weight * weight;
            }
        }
    }
    if pooled.len() < PAIRS.len() {
        return None;
    }
    // Rows and columns are scaled to a diagonal of 1, since variances differ by factors of a thousand.
    assert!(left.diagonal().iter().all(|diagonal| *diagonal > 0.0), "each temperature is in a pair");
    let scale = left.diagonal().map(|diagonal| 1.0 / diagonal.sqrt());
    let scaled = Matrix4::from_fn(|row, column| left[(row, column)] * scale[row] * scale[column]);
    let found = scaled.lu().solve(&right.component_mul(&scale))?.component_mul(&scale);
    let off = |&(i, j, variance): &(usize, usize, f64)| (0.5 * (found[i] + found[j]) / variance - 1.0).abs();
    let mismatch = pooled.iter().map(off).fold(0.0, f64::max);
    // A variance is reported only if it is above the rounding of the printed numbers, relative to the largest pair that it is in.
    let told = |row: usize| {
        let largest = pooled.iter().filter(|(i, j, _)| *i == row || *j == row).map(|pair| pair.2).fold(0.0, f64::max);
        (found[row] > 0.0 && found[row] > TOLD_MIN * largest).then(|| found[row].sqrt())
    };
    Some(Spread { deviations: std::array::from_fn(told), mismatch })
}

/// A variance below this share of the largest pair that it is in is lost in the rounding of p-values of three digits.
const TOLD_MIN: f64 = 1e-4;
