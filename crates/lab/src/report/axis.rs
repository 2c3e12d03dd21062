//! Axes: where the ticks stand and how they are written.

use super::numbers::grouped;

/// One direction of a chart: the values it spans and its ticks.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Axis {
    pub(super) min: f64,
    pub(super) max: f64,
    step: f64,
}

impl Axis {
    /// An axis from `min` to `max` with about `target` ticks, widened to end on ticks.
    pub(super) fn rounded(min: f64, max: f64, target: usize) -> Self {
        let exact = Self::exact(min, max, target);
        let step = exact.step;
        // A value a rounding error above a tick should not open another step.
        let slack = 1e-9;
        let (low, high) = ((exact.min / step + slack).floor(), (exact.max / step - slack).ceil());
        Self { min: low * step, max: high * step, step }
    }

    /// An axis that spans exactly `min` to `max`.
    pub(super) fn exact(min: f64, max: f64, target: usize) -> Self {
        let max = if max > min { max } else { min + 1.0 };
        Self { min, max, step: step((max - min) / target.max(1) as f64) }
    }

    /// The ticks, in order: multiples of 1, 2 or 5 times a power of ten.
    pub(super) fn ticks(&self) -> Vec<f64> {
        let slack = 1e-9;
        let (first, last) = ((self.min / self.step - slack).ceil(), (self.max / self.step + slack).floor());
        (first as i64..=last as i64).map(|index| index as f64 * self.step).collect()
    }

    /// A tick as text, with as many decimals as the step needs.
    pub(super) fn text(&self, tick: f64) -> String {
        let decimals = (-self.step.log10().floor()).max(0.0) as usize;
        grouped(tick, decimals)
    }

    /// Where `value` lies, 0 at the low end and 1 at the high end, held within.
    pub(super) fn place(&self, value: f64) -> f64 {
        ((value - self.min) / (self.max - self.min)).clamp(0.0, 1.0)
    }
}

/// The least of 1, 2, 5, 10, ... that is not below `raw`.
pub(super) fn step(raw: f64) -> f64 {
    let power = 10f64.powf(raw.max(1e-12).log10().floor());
    let lead = raw / power;
    let nice = [1.0, 2.0, 5.0, 10.0].into_iter().find(|nice| lead <= nice * (1.0 + 1e-9)).unwrap_or(10.0);
    nice * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_multiples_of_one_two_or_five() {
        let table: [(f64, f64, usize, &[&str]); 6] = [
            (0.0, 100.0, 5, &["0", "20", "40", "60", "80", "100"]),
            (0.0, 34.2, 6, &["0", "10", "20", "30", "40"]),
            (0.0, 0.93, 5, &["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
            (480.0, 500.0, 4, &["480", "485", "490", "495", "500"]),
            (0.0, 12_000.0, 4, &["0", "5,000", "10,000", "15,000"]),
            (7.0, 7.0, 4, &["7.0", "7.5", "8.0"]),
        ];
        for (min, max, target, expected) in table {
            let axis = Axis::rounded(min, max, target);
            let found: Vec<String> = axis.ticks().into_iter().map(|tick| axis.text(tick)).collect();
            assert_eq!(found, expected, "{min} to {max}");
            assert!(axis.min <= min && axis.max >= max);
        }
    }

    #[test]
    fn an_exact_axis_keeps_its_ends_and_its_ticks_inside() {
        let axis = Axis::exact(0.0, 34.2, 6);
        assert_eq!(axis.ticks(), [0.0, 10.0, 20.0, 30.0]);
        assert_eq!((axis.place(0.0), axis.place(34.2), axis.place(99.0)), (0.0, 1.0, 1.0));
    }
}
