//! Errors of predictions and comparisons.

/// Why nothing can be predicted or compared.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum AgingError {
    /// An acceleration factor outside its range.
    #[error("an acceleration factor of {found}; from 1, which simulates everything, to {most} is allowed")]
    Factor {
        /// What was found.
        found: f64,
        /// The largest.
        most: f64,
    },
    /// Vectors that are not of the same blocks.
    #[error("{found} erase counts are compared with {wanted}; both must be of the same blocks")]
    Lengths {
        /// Number found.
        found: usize,
        /// Number wanted.
        wanted: usize,
    },
    /// Too few values.
    #[error("found {found} {what}; at least {least} are needed")]
    TooFew {
        /// Name of the values.
        what: &'static str,
        /// Number found.
        found: usize,
        /// Number needed.
        least: usize,
    },
    /// All values are the same.
    #[error("every value is {0}; a distribution needs at least two different ones")]
    Constant(f64),
    /// A log that does not go forward.
    #[error("the log has {found} after {before}; both its place in the drive's life and percentage used only grow")]
    Backwards {
        /// The last value.
        found: f64,
        /// The first.
        before: f64,
    },
}
