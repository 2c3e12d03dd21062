//! Errors of a configuration of the flash.

/// A field with a value that no flash can have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key} is {found}; {wanted}")]
pub struct NandConfigError {
    /// The field, as a scenario writes it.
    pub key: &'static str,
    found: String,
    wanted: &'static str,
}

impl NandConfigError {
    /// Makes the error for `key` with the value `found`. `wanted` says which values are allowed.
    pub(crate) fn new(key: &'static str, found: &impl ToString, wanted: &'static str) -> Self {
        Self { key, found: found.to_string(), wanted }
    }
}

/// Refuses a value that is not a probability.
pub(crate) fn check_probability(key: &'static str, value: f64) -> Result<(), NandConfigError> {
    if (0.0..=1.0).contains(&value) {
        return Ok(());
    }
    Err(NandConfigError::new(key, &value, "a probability lies between 0 and 1"))
}
