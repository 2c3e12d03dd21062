//! Raw bit errors as data: reads measurements, fits the model to them, and writes the model as a preset.
//!
//! The model itself is in `nand`. Fitting is here because it needs linear algebra, which the medium does not.

mod data;
mod fit;
mod preset;
mod solve;

pub use data::{Data, INPUT_MAX, ROWS_MAX, ROWS_MIN, Sample};
pub use fit::{Determined, EXPONENT_MAX, Fit, Parameter, Worst, fit};
pub use preset::Preset;

use wane_nand::rber::Ranges;

/// What is wrong with measurements or with a preset: one sentence that names the file and the place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RberError(String);

/// One sentence for each input with values outside the data of `name`. `values` are those of cycles, days and reads.
pub fn extrapolations(name: &str, ranges: &Ranges, values: [&[f64]; 3]) -> Vec<String> {
    let inputs = ["cycles", "days", "reads"].into_iter().zip([ranges.cycles, ranges.days, ranges.reads]).zip(values);
    let mut told = Vec::new();
    for ((input, (least, most)), values) in inputs {
        let farthest = |value: &f64| (least - value).max(value - most);
        let far = values.iter().copied().max_by(|left, right| farthest(left).total_cmp(&farthest(right)));
        if let Some(far) = far.filter(|far| farthest(far) > 0.0) {
            told.push(format!(
                "{far} {input} lie outside the data of {name}, {least} to {most}: this is extrapolation"
            ));
        }
    }
    told
}

#[cfg(test)]
mod tests;
