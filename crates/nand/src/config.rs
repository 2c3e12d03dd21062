//! Why a description of the flash was refused.

/// A field whose value no flash can have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key} is {found}; {wanted}")]
pub struct NandConfigError {
    /// The field, as it is written in a scenario.
    pub key: &'static str,
    found: String,
    wanted: &'static str,
}

impl NandConfigError {
    /// `key` has the value `found`; `wanted` says which are allowed.
    pub(crate) fn new(key: &'static str, found: &impl ToString, wanted: &'static str) -> Self {
        Self { key, found: found.to_string(), wanted }
    }
}

/// Refuses a value that is no probability.
pub(crate) fn check_probability(key: &'static str, value: f64) -> Result<(), NandConfigError> {
    if (0.0..=1.0).contains(&value) {
        return Ok(());
    }
    Err(NandConfigError::new(key, &value, "a probability lies between 0 and 1"))
}
