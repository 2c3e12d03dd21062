//! The errors of this crate.

/// An input without a result: what was found, and what is allowed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FleetError {
    /// A number outside its range.
    #[error("{what}: found {found}, allowed is {allowed}")]
    OutOfRange {
        /// What the number is.
        what: &'static str,
        /// The number.
        found: f64,
        /// The range in words.
        allowed: String,
    },
    /// An unknown name.
    #[error("{what}: found \"{}\", allowed are {allowed}{hint}", wane_units::excerpt(found))]
    Unknown {
        /// What is named.
        what: &'static str,
        /// The name.
        found: String,
        /// All names.
        allowed: String,
        /// What was probably meant, or nothing.
        hint: String,
    },
    /// Measurements for which a statistic cannot be computed.
    #[error("{what}: found {found}, needed {needed}")]
    Unfit {
        /// What they are.
        what: &'static str,
        /// What is wrong with them.
        found: String,
        /// What is needed, with its verb.
        needed: &'static str,
    },
}

/// Refuses a number that is not from `least` to `most`.
pub(crate) fn within(what: &'static str, found: f64, least: f64, most: f64) -> Result<f64, FleetError> {
    if (least..=most).contains(&found) {
        return Ok(found);
    }
    let allowed = if most < f64::MAX { format!("{least} to {most}") } else { format!("a number from {least} on") };
    Err(FleetError::OutOfRange { what, found, allowed })
}

/// Refuses a number that is not above 0 or not finite.
pub(crate) fn positive(what: &'static str, found: f64) -> Result<f64, FleetError> {
    if found > 0.0 && found < f64::INFINITY {
        return Ok(found);
    }
    Err(FleetError::OutOfRange { what, found, allowed: "a number above 0".into() })
}
