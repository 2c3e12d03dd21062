//! The temperature that data age at: `[drive.retention]`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wane_nand::arrhenius::{ACTIVATION_ENERGY, acceleration};

use super::schema::in_field_order;
use super::written::{OrNone, or_none};

/// How fast data age, by their temperature and Arrhenius' law. Has an effect only with a `chip`.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[schemars(transform = in_field_order::<Self>)]
pub struct RetentionSpec {
    /// Temperature of the data, in degrees Celsius; `"none"`: that of `reference`.
    #[serde(with = "or_none")]
    #[schemars(with = "OrNone<f64>", extend("minimum" = -55, "maximum" = 150))]
    pub celsius: Option<f64>,
    /// Temperature that the days of the chip's errors refer to, in degrees Celsius. The chip's data do not state it. For drives without
    /// power JESD218 requires 40 of enterprise drives and 30 of client drives.
    #[schemars(range(min = -55.0, max = 150.0))]
    pub reference: f64,
    /// Activation energy in Arrhenius' law, in electronvolts; the default is JESD218's.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 3))]
    pub activation_energy: f64,
}

impl Default for RetentionSpec {
    fn default() -> Self {
        Self { celsius: None, reference: 40.0, activation_energy: ACTIVATION_ENERGY }
    }
}

impl RetentionSpec {
    /// Factor by which data age faster than at the chip's reference temperature.
    pub fn rate(&self) -> f64 {
        self.celsius.map_or(1.0, |celsius| acceleration(celsius, self.reference, self.activation_energy))
    }

    /// Factor by which data age faster at `celsius` than at their usual temperature.
    pub fn rate_at(&self, celsius: f64) -> f64 {
        acceleration(celsius, self.celsius.unwrap_or(self.reference), self.activation_energy)
    }
}
