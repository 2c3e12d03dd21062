//! The heat of a drive: `[drive.thermal]`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wane_ssd::{Thermal, Throttle};
use wane_units::Nanos;

use super::error::Refusal;
use super::schema::in_field_order;
use super::time::{Scheduler, Time};
use super::written::{OrNone, or_none};

/// The drive's own heat, under the event scheduler. Its temperature tends to the ambient one plus power times resistance, with one time
/// constant. A drive that is too warm takes longer for each operation and transfer.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[schemars(transform = in_field_order::<Self>)]
pub struct ThermalSpec {
    /// Temperature around the drive, in degrees Celsius; `"none"`: heat is not simulated.
    #[serde(with = "or_none")]
    #[schemars(with = "OrNone<f64>", extend("minimum" = -55, "maximum" = 150))]
    pub ambient: Option<f64>,
    /// Temperature of the drive when its clock starts, in degrees Celsius; `"none"`: the one that it has after idling for long.
    #[serde(with = "or_none")]
    #[schemars(with = "OrNone<f64>", extend("minimum" = -55, "maximum" = 150))]
    pub initial: Option<f64>,
    /// Watts that the drive always dissipates.
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub idle_power: f64,
    /// Additional watts of each die that senses, programs or erases.
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub die_power: f64,
    /// Additional watts of each channel that moves data, including its share of the controller's power.
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub channel_power: f64,
    /// Thermal resistance: kelvins above the ambient temperature for each watt.
    #[schemars(range(min = 0.0, max = 1000.0))]
    pub resistance: f64,
    /// Time after which 1/e of the way to a new temperature is left.
    #[schemars(extend("x-least" = Nanos(1_000_000), "x-most" = Nanos::DAY))]
    pub time_constant: Nanos,
    /// Temperature at which the drive starts to throttle, in degrees Celsius; `"none"`: it never throttles. 66 is the threshold of NVMe drives
    /// in 002, section 6.2.3.
    #[serde(with = "or_none")]
    #[schemars(with = "OrNone<f64>", extend("minimum" = -55, "maximum" = 150))]
    pub throttle_above: Option<f64>,
    /// Temperature at which it stops throttling, in degrees Celsius; at most `throttle-above`.
    #[schemars(range(min = -55.0, max = 150.0))]
    pub throttle_below: f64,
    /// Factor by which operations and transfers take longer while the drive throttles.
    #[schemars(range(min = 1.0, max = 1000.0))]
    pub throttle_stretch: f64,
}

impl Default for ThermalSpec {
    fn default() -> Self {
        Self {
            ambient: None,
            initial: None,
            idle_power: 1.0,
            die_power: wane_ssd::DIE_WATTS,
            channel_power: 0.5,
            resistance: 10.0,
            time_constant: Nanos(60 * Nanos::SECOND.0),
            throttle_above: Some(66.0),
            throttle_below: 63.0,
            throttle_stretch: 4.0,
        }
    }
}

impl ThermalSpec {
    /// The heat model for the drive's clock; `None` if heat is not simulated.
    pub fn thermal(&self) -> Option<Thermal> {
        Some(Thermal {
            ambient: self.ambient?,
            initial: self.initial,
            idle_watts: self.idle_power,
            die_watts: self.die_power,
            channel_watts: self.channel_power,
            resistance: self.resistance,
            time_constant_ns: self.time_constant.0,
            throttle: self.throttle_above.map(|above| Throttle {
                above,
                below: self.throttle_below,
                stretch: self.throttle_stretch,
            }),
        })
    }

    /// Refuses keys that contradict each other.
    pub(super) fn check(&self, time: &Time) -> Result<(), Refusal> {
        let Some(ambient) = self.ambient else { return Ok(()) };
        let refuse = |key: &str, message: String| Err((format!("drive.thermal.{key}"), message));
        if time.scheduler == Scheduler::Timeline {
            let message = format!(
                "found {ambient}, which needs scheduler = \"event\": the timeline's operations do not depend on heat"
            );
            return refuse("ambient", message);
        }
        match self.throttle_above {
            Some(above) if self.throttle_below > above => {
                let below = self.throttle_below;
                let message =
                    format!("found {below}, allowed is at most drive.thermal.throttle-above, which is {above}");
                refuse("throttle-below", message)
            }
            _ => Ok(()),
        }
    }
}
