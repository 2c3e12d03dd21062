//! The effect of temperature on retention: Arrhenius' law.

use wane_nand::arrhenius;

use crate::FleetError;
use crate::error::{positive, within};

pub use wane_nand::arrhenius::{ACTIVATION_ENERGY, BOLTZMANN};

fn celsius_of(what: &'static str, celsius: f64) -> Result<f64, FleetError> {
    within(what, celsius, -55.0, 150.0)
}

/// Factor by which data age faster at `celsius` than at `reference_celsius`: e^(E/k (1/T_ref - 1/T)).
///
/// Both are temperatures of the flash, from -55 to 150 °C. `activation_energy` is in electronvolts, above 0 and up to 3; use [`ACTIVATION_ENERGY`] if
/// nothing better is known.
///
/// # Errors
///
/// [`FleetError::OutOfRange`].
pub fn acceleration(celsius: f64, reference_celsius: f64, activation_energy: f64) -> Result<f64, FleetError> {
    let hot = celsius_of("the temperature in °C", celsius)?;
    let reference = celsius_of("the reference temperature in °C", reference_celsius)?;
    if !(activation_energy > 0.0 && activation_energy <= 3.0) {
        let allowed = "above 0 and up to 3".to_owned();
        return Err(FleetError::OutOfRange { what: "the activation energy in eV", found: activation_energy, allowed });
    }
    Ok(arrhenius::acceleration(hot, reference, activation_energy))
}

/// Retention time at `celsius` of data that last `time` at `reference_celsius`, in the unit of `time`; see [`acceleration`].
///
/// # Errors
///
/// [`FleetError::OutOfRange`].
pub fn retention(time: f64, reference_celsius: f64, celsius: f64, activation_energy: f64) -> Result<f64, FleetError> {
    let time = positive("the retention time", time)?;
    let faster = acceleration(celsius, reference_celsius, activation_energy)?;
    assert!(faster > 0.0, "data age at any temperature");
    Ok(time / faster)
}
