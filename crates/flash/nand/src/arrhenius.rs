//! How temperature scales what leaks from a cell: Arrhenius' law.

/// Boltzmann's constant in electronvolts a kelvin (CODATA 2018, exact to these digits).
pub const BOLTZMANN: f64 = 8.617_333_262e-5;

/// The activation energy of charge loss that JESD218 uses, in electronvolts.
///
/// With it the standard's bakes agree with what they represent: 96 h at 66 °C and 500 h at 52 °C are three months at 40 °C (enterprise) or a
/// year at 30 °C (client). It is a convention: S. Hetzler ("Flash temperature testing and modeling", 2014) measured drives that follow no
/// single energy.
pub const ACTIVATION_ENERGY: f64 = 1.1;

/// 0 °C in kelvin.
const ZERO_CELSIUS: f64 = 273.15;

/// Factor by which data age faster at `celsius` than at `reference_celsius`: e^(E/k (1/T_ref - 1/T)), with the activation energy E in
/// electronvolts.
pub fn acceleration(celsius: f64, reference_celsius: f64, activation_energy: f64) -> f64 {
    let (hot, reference) = (celsius + ZERO_CELSIUS, reference_celsius + ZERO_CELSIUS);
    debug_assert!(hot > 0.0 && reference > 0.0, "nothing is colder than 0 K");
    libm::exp(activation_energy / BOLTZMANN * (1.0 / reference - 1.0 / hot))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bakes_of_jesd218_stand_for_a_year_at_30_degrees() {
        for (hours, celsius) in [(96.0, 66.0), (500.0, 52.0)] {
            let days = hours / 24.0 * acceleration(celsius, 30.0, ACTIVATION_ENERGY);
            assert!((330.0..400.0).contains(&days), "{hours} h at {celsius} °C: {days}");
        }
        assert_eq!(acceleration(30.0, 30.0, ACTIVATION_ENERGY), 1.0);
    }
}
