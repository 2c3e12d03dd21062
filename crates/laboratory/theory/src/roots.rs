//! The root of a falling function.

/// The root of a continuous function that falls from above 0 at `low` to below 0 at `high`, within 10^-13 of the larger end.
/// Returns an end if the function does not change its sign.
pub(crate) fn falling_root(f: impl FnMut(f64) -> f64, low: f64, high: f64) -> f64 {
    falling_root_within(f, low, high, 1e-13 * low.abs().max(high.abs()))
}

/// The same within a given distance.
///
/// The Illinois method: a secant whose kept end counts half, so that it always closes in; Dowell and Jarratt, 1971.
pub(crate) fn falling_root_within(mut f: impl FnMut(f64) -> f64, low: f64, high: f64, precise: f64) -> f64 {
    debug_assert!(low <= high, "a function is looked at from {low} on, up to {high}");
    let (mut a, mut b) = (low, high);
    let (mut at_a, mut at_b) = (f(a), f(b));
    if at_a <= 0.0 {
        return a;
    }
    if at_b >= 0.0 {
        return b;
    }
    for step in 0..200 {
        if b - a <= precise {
            break;
        }
        let secant = a + (b - a) * (at_a / (at_a - at_b));
        // If secants creep along a steep end, or an end is infinite, halving is safer.
        let is_inside = secant > a && secant < b;
        let middle = if is_inside && step % 8 != 7 { secant } else { a + (b - a) / 2.0 };
        let at = f(middle);
        if at == 0.0 {
            return middle;
        }
        if at > 0.0 {
            (a, at_a) = (middle, at);
            at_b /= 2.0;
        } else {
            (b, at_b) = (middle, at);
            at_a /= 2.0;
        }
    }
    a + (b - a) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    type Case = (fn(f64) -> f64, f64, f64, f64);

    #[test]
    fn roots_of_tame_and_steep_functions_are_found() {
        let cases: [Case; 4] = [
            (|x| 1.0 - x, 0.0, 3.0, 1.0),
            (|x| 0.25 - x * x, 0.0, 2.0, 0.5),
            (|x| libm::exp(-40.0 * x) - 1e-9, 0.0, 1.0, libm::log(1e9) / 40.0),
            (|x| -libm::tanh(1e6 * (x - 0.3)), 0.0, 1.0, 0.3),
        ];
        for (number, (f, low, high, want)) in cases.into_iter().enumerate() {
            let found = falling_root(f, low, high);
            assert!((found - want).abs() < 1e-11, "{number}: {found} for {want}");
        }
        assert_eq!((falling_root(|_| -1.0, 2.0, 3.0), falling_root(|_| 1.0, 2.0, 3.0)), (2.0, 3.0));
    }
}
