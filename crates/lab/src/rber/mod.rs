//! Raw bit errors as data: measurements read, the model fitted to them, presets that carry it.
//!
//! The model itself is `nand`'s. Fitting lives here because it needs linear algebra, which the medium does not.

mod data;
mod fit;
mod preset;
mod solve;

pub use data::{Data, ROWS_MAX, ROWS_MIN, Sample};
pub use fit::{Determined, EXPONENT_MAX, Fit, Parameter, Worst, fit};
pub use preset::Preset;

/// What is wrong with measurements or with a preset: one sentence that names the file and the place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RberError(String);

/// The known name that a misspelt one is nearest to, as the end of a sentence; empty where none is near.
pub fn did_you_mean(name: &str, known: &[&str]) -> String {
    crate::scenario::nearest(name, known).map(|near| format!("; did you mean \"{near}\"?")).unwrap_or_default()
}

#[cfg(test)]
mod tests;
