//! What is refused, in a sentence.

/// Why nothing can be predicted or compared.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum AgingError {
    /// No acceleration factor.
    #[error("an acceleration factor of {found}; from 1, which simulates everything, to {most} is allowed")]
    Factor {
        /// What was found.
        found: f64,
        /// The largest.
        most: f64,
    },
    /// Vectors that are not of the same blocks.
    #[error("{found} erase counts are held against {wanted}; both must be of the same blocks")]
    Lengths {
        /// How many were found.
        found: usize,
        /// How many there should be.
        wanted: usize,
    },
    /// Too little to go by.
    #[error("{found} of {what} were found; at least {least} are needed")]
    TooFew {
        /// What is counted.
        what: &'static str,
        /// How many were found.
        found: usize,
        /// How many are needed.
        least: usize,
    },
    /// All values are one.
    #[error("every value is {0}; a distribution needs at least two different ones")]
    Constant(f64),
    /// A log that does not go forward.
    #[error("entry {entry} of the log has {found} after {before}; both host writes and percentage used only grow")]
    Backwards {
        /// Which entry, from 0.
        entry: usize,
        /// What it has.
        found: f64,
        /// What the one before it has.
        before: f64,
    },
    /// A log that shows no wear.
    #[error(
        "percentage used stays at {0} % over the whole log; its slope, and so what is left, needs at least one step"
    )]
    NoStep(f64),
}
