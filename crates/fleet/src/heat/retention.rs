//! How temperature scales retention: Arrhenius' law.

use crate::FleetError;
use crate::error::{positive, within};

/// Boltzmann's constant in electronvolts a kelvin (CODATA 2018, exact to these digits).
pub const BOLTZMANN: f64 = 8.617_333_262e-5;

/// The activation energy of charge loss that JESD218 reckons with, in electronvolts.
///
/// With it the standard's bakes agree with what they stand for: 96 h at 66 °C and 500 h at 52 °C are three months at 40 °C (enterprise) or a
/// year at 30 °C (client). It is a convention: S. Hetzler ("Flash temperature testing and modeling", 2014) measured drives that follow no single energy.
pub const ACTIVATION_ENERGY: f64 = 1.1;

/// What is 0 °C, in kelvin.
const ZERO_CELSIUS: f64 = 273.15;

fn kelvin(what: &'static str, celsius: f64) -> Result<f64, FleetError> {
    Ok(within(what, celsius, -55.0, 150.0)? + ZERO_CELSIUS)
}

/// How many times as fast data age at `celsius` as at `reference_celsius`: e^(E/k (1/T_ref - 1/T)).
///
/// Both are temperatures of the flash from -55 to 150 °C, `activation_energy` is in electronvolts ([`ACTIVATION_ENERGY`] where nothing better is
/// known), above 0 and up to 3.
///
/// # Errors
///
/// [`FleetError::OutOfRange`].
pub fn acceleration(celsius: f64, reference_celsius: f64, activation_energy: f64) -> Result<f64, FleetError> {
    let hot = kelvin("the temperature in °C", celsius)?;
    let reference = kelvin("the reference temperature in °C", reference_celsius)?;
    if !(activation_energy > 0.0 && activation_energy <= 3.0) {
        let allowed = "above 0 and up to 3".to_owned();
        return Err(FleetError::OutOfRange { what: "the activation energy in eV", found: activation_energy, allowed });
    }
    Ok(libm::exp(activation_energy / BOLTZMANN * (1.0 / reference - 1.0 / hot)))
}

/// How long data keep at `celsius` that keep for `time` at `reference_celsius`, in the unit of `time`; see [`acceleration`].
///
/// # Errors
///
/// [`FleetError::OutOfRange`].
pub fn retention(time: f64, reference_celsius: f64, celsius: f64, activation_energy: f64) -> Result<f64, FleetError> {
    Ok(positive("the retention time", time)? / acceleration(celsius, reference_celsius, activation_energy)?)
}
