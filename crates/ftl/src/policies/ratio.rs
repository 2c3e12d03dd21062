//! A ratio as scenarios write it, `0.5` or `"50 %"`, in a policy's parameters.

use serde::de::Error;
use serde::{Deserialize, Deserializer};
use wane_units::Ratio;

#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Number(f64),
    Text(String),
}

/// For `#[serde(deserialize_with = "ratio")]`.
pub(crate) fn ratio<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Ratio, D::Error> {
    let wanted = "expected a ratio between 0 and 1, such as 0.5 or \"50 %\"";
    let written = Written::deserialize(deserializer).map_err(|_| D::Error::custom(wanted))?;
    match written {
        Written::Number(number) => {
            Ratio::new(number).ok_or_else(|| D::Error::custom(format!("found {number}, {wanted}")))
        }
        Written::Text(text) => text.parse().map_err(D::Error::custom),
    }
}
