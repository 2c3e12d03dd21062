//! How warm data lie: `[drive.retention]`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wane_nand::arrhenius::{ACTIVATION_ENERGY, acceleration};

use super::schema::in_field_order;
use super::written::{OrNone, or_none};

/// How fast data age: by Arrhenius' law with the temperature that they lie at. With a `chip` only.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[schemars(transform = in_field_order::<Self>)]
pub struct RetentionSpec {
    /// Degrees Celsius that data lie at; `"none"`: those of `reference`.
    #[serde(with = "or_none")]
    #[schemars(with = "OrNone<f64>", extend("minimum" = -55, "maximum" = 150))]
    pub celsius: Option<f64>,
    /// Degrees Celsius that the days of the chip's errors are at. Its data do not tell them; JESD218 asks 40 of enterprise drives without power and 30 of
    /// clients'.
    #[schemars(range(min = -55.0, max = 150.0))]
    pub reference: f64,
    /// Electronvolts in Arrhenius' law; the default is JESD218's.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 3))]
    pub activation_energy: f64,
}

impl Default for RetentionSpec {
    fn default() -> Self {
        Self { celsius: None, reference: 40.0, activation_energy: ACTIVATION_ENERGY }
    }
}

impl RetentionSpec {
    /// How many times as fast data age as the chip's days say.
    pub fn rate(&self) -> f64 {
        self.celsius.map_or(1.0, |celsius| acceleration(celsius, self.reference, self.activation_energy))
    }

    /// How many times as fast data age at `celsius` as where they usually lie.
    pub fn rate_at(&self, celsius: f64) -> f64 {
        acceleration(celsius, self.celsius.unwrap_or(self.reference), self.activation_energy)
    }
}
