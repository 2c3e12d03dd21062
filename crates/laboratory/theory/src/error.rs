//! Errors of the models.

/// A question that a model cannot answer: what was found, and what is allowed.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum TheoryError {
    /// A number outside of its range.
    #[error("{what}: found {found}, allowed is {allowed}")]
    OutOfRange {
        /// Name of the number.
        what: &'static str,
        /// The number.
        found: f64,
        /// The range in words.
        allowed: String,
    },
    /// Tables whose lengths do not fit each other.
    #[error("{what}: found {found} values, allowed are {allowed}")]
    Length {
        /// Name of the table.
        what: &'static str,
        /// Number of values found.
        found: usize,
        /// Allowed number of values.
        allowed: String,
    },
    /// Shares or chances that do not add up to 1.
    #[error("{what} add up to {found}, allowed is 1 within 0.000001")]
    NotNormalized {
        /// Name of the terms.
        what: &'static str,
        /// Their sum.
        found: f64,
    },
    /// Transition rates that have no unique fixed point.
    #[error("the transition rates have no unique fixed point: {reason}")]
    NoFixedPoint {
        /// The reason.
        reason: String,
    },
    /// A queue that is too full for the model.
    #[error("the {what} is busy {found:.3} of the time, allowed is up to {allowed}: beyond, waits are not predicted")]
    Overload {
        /// The station.
        what: &'static str,
        /// Its load.
        found: f64,
        /// The most that is predicted.
        allowed: f64,
    },
}

/// Checks that a number lies between two bounds, the bounds included.
pub(crate) fn within(what: &'static str, found: f64, least: f64, most: f64) -> Result<(), TheoryError> {
    if (least..=most).contains(&found) {
        return Ok(());
    }
    let allowed = if most < f64::MAX { format!("{least} to {most}") } else { format!("a number from {least} on") };
    Err(TheoryError::OutOfRange { what, found, allowed })
}

/// Checks that shares of blocks are a distribution over 0 to k valid pages, with k at least 1.
pub(crate) fn distribution(what: &'static str, shares: &[f64]) -> Result<(), TheoryError> {
    if shares.len() < 2 {
        return Err(TheoryError::Length {
            what,
            found: shares.len(),
            allowed: "2 or more, for 0 to k valid pages".into(),
        });
    }
    if let Some(found) = shares.iter().find(|share| !share.is_finite() || **share < 0.0) {
        return Err(TheoryError::OutOfRange { what, found: *found, allowed: "0 to 1".into() });
    }
    let found: f64 = shares.iter().sum();
    if (found - 1.0).abs() > 1e-6 {
        return Err(TheoryError::NotNormalized { what, found });
    }
    Ok(())
}

/// Checks that a number lies strictly between two bounds.
pub(crate) fn between(what: &'static str, found: f64, above: f64, below: f64) -> Result<(), TheoryError> {
    if found > above && found < below {
        return Ok(());
    }
    Err(TheoryError::OutOfRange { what, found, allowed: format!("above {above} and below {below}") })
}
