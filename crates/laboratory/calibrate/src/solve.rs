//! Robust least squares for the power law on a logarithmic scale, from many starts.
//!
//! Scales are fitted as logarithms of their terms at the largest inputs, where they depend least on the exponents.
//! Exponents are fitted through a logistic curve that keeps them between 0 and [`EXPONENT_MAX`]. Residuals are differences of ln RBER
//! under the soft L1 loss, so that the influence of an outlier is bounded. The solver is MINPACK's Levenberg-Marquardt
//! with explicit derivatives. For given exponents the scales are a linear problem, which gives the starts.

use levenberg_marquardt::{LeastSquaresProblem, LevenbergMarquardt};
use nalgebra::{DMatrix, DVector, Dyn, Owned};
use wane_sim::Stream;

/// Largest exponent. Published ones are between 0.14 and 3.33.
pub const EXPONENT_MAX: f64 = 6.0;

/// Parameters: four scales, then five exponents.
pub(super) const PARAMETERS: usize = 9;
pub(super) const SCALES: usize = 4;

/// Coordinates of a curve: ln of each term at the centers (minus infinity for none), then the exponents.
pub(super) type Coordinates = [f64; PARAMETERS];

/// A measurement: logarithms of its inputs over the centers (minus infinity for an input of zero) and of its RBER.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    pub(super) cycles: f64,
    pub(super) days: f64,
    pub(super) reads: f64,
    pub(super) rber: f64,
}

/// Which coordinates are fitted; the others keep their values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Shape {
    pub(super) free: [bool; PARAMETERS],
    pub(super) held: Coordinates,
}

impl Shape {
    pub(super) fn free(&self) -> impl Iterator<Item = usize> + '_ {
        (0..PARAMETERS).filter(|index| self.free[*index])
    }

    pub(super) fn freedom(&self) -> usize {
        self.free().count()
    }

    /// Returns `at` with the coordinates that are held at their values.
    fn hold(&self, at: &Coordinates) -> Coordinates {
        std::array::from_fn(|index| if self.free[index] { at[index] } else { self.held[index] })
    }

    fn has_term(&self, scale: usize) -> bool {
        self.free[scale]
    }
}

/// ln RBER of a curve at a point, with its derivatives by the coordinates.
pub(super) fn evaluate(at: &Coordinates, point: &Point) -> (f64, Coordinates) {
    let [floor, wear, retention, disturb, k, m, n, p, q] = *at;
    let terms = [
        libm::exp(floor),
        libm::exp(wear + power(k, point.cycles)),
        libm::exp(retention + power(m, point.cycles) + power(n, point.days)),
        libm::exp(disturb + power(p, point.cycles) + power(q, point.reads)),
    ];
    let sum: f64 = terms.iter().sum();
    if sum >= 1.0 {
        return (0.0, [0.0; PARAMETERS]);
    }
    let sum = sum.max(f64::MIN_POSITIVE);
    let [floor, wear, retention, disturb] = terms.map(|term| term / sum);
    let slope = |share: f64, log: f64| if share > 0.0 && log.is_finite() { share * log } else { 0.0 };
    let slopes = [
        floor,
        wear,
        retention,
        disturb,
        slope(wear, point.cycles),
        slope(retention, point.cycles),
        slope(retention, point.days),
        slope(disturb, point.cycles),
        slope(disturb, point.reads),
    ];
    (libm::log(sum), slopes)
}

/// ln of x^exponent, with 0^0 = 1.
fn power(exponent: f64, log: f64) -> f64 {
    if exponent == 0.0 { 0.0 } else { exponent * log }
}

/// The objective of the solver: twice the soft L1 loss at scale `delta`, summed over the points.
pub(super) fn objective(points: &[Point], at: &Coordinates, delta: f64) -> f64 {
    points.iter().map(|point| softened(evaluate(at, point).0 - point.rber, delta).0.powi(2)).sum()
}

/// A residual whose square is twice its soft L1 loss, with its derivative.
fn softened(residual: f64, delta: f64) -> (f64, f64) {
    debug_assert!(delta > 0.0, "a loss of scale {delta} gives no number for a row that fits exactly");
    let weight = (1.0 + (residual / delta).powi(2)).sqrt();
    (residual * (2.0 / (weight + 1.0)).sqrt(), ((weight + 1.0) / 2.0).sqrt() / weight)
}

struct Problem<'a> {
    points: &'a [Point],
    shape: &'a Shape,
    delta: f64,
    /// The coordinates that the solver changes: the free ones, with exponents before the logistic curve.
    moved: DVector<f64>,
}

impl Problem<'_> {
    fn coordinates(&self) -> Coordinates {
        debug_assert_eq!(self.moved.len(), self.shape.freedom(), "each free coordinate has one number, in order");
        let mut at = self.shape.held;
        for (index, moved) in self.shape.free().zip(self.moved.iter()) {
            at[index] = if index < SCALES { *moved } else { EXPONENT_MAX / (1.0 + libm::exp(-moved)) };
        }
        at
    }
}

fn before_logistic(exponent: f64) -> f64 {
    let inside = exponent.clamp(1e-6, EXPONENT_MAX - 1e-6);
    libm::log(inside / (EXPONENT_MAX - inside))
}

impl LeastSquaresProblem<f64, Dyn, Dyn> for Problem<'_> {
    type ResidualStorage = Owned<f64, Dyn>;
    type JacobianStorage = Owned<f64, Dyn, Dyn>;
    type ParameterStorage = Owned<f64, Dyn>;

    fn set_params(&mut self, moved: &DVector<f64>) {
        self.moved.copy_from(moved);
    }

    fn params(&self) -> DVector<f64> {
        self.moved.clone()
    }

    fn residuals(&self) -> Option<DVector<f64>> {
        let at = self.coordinates();
        let residuals = self.points.iter().map(|point| softened(evaluate(&at, point).0 - point.rber, self.delta).0);
        Some(DVector::from_iterator(self.points.len(), residuals))
    }

    fn jacobian(&self) -> Option<DMatrix<f64>> {
        let at = self.coordinates();
        let mut jacobian = DMatrix::zeros(self.points.len(), self.moved.len());
        for (row, point) in self.points.iter().enumerate() {
            let (log, slopes) = evaluate(&at, point);
            let by_residual = softened(log - point.rber, self.delta).1;
            for (column, index) in self.shape.free().enumerate() {
                let by_moved = if index < SCALES { 1.0 } else { at[index] * (1.0 - at[index] / EXPONENT_MAX) };
                jacobian[(row, column)] = by_residual * slopes[index] * by_moved;
            }
        }
        Some(jacobian)
    }
}

/// Finds the nearest minimum of the objective, starting from `at`.
pub(super) fn descend(points: &[Point], shape: &Shape, at: &Coordinates, delta: f64) -> Coordinates {
    let moved = shape.free().map(|index| if index < SCALES { at[index] } else { before_logistic(at[index]) });
    let moved = DVector::from_iterator(shape.freedom(), moved);
    let problem = Problem { points, shape, delta, moved };
    let (problem, _) = LevenbergMarquardt::new().with_patience(60).minimize(problem);
    let found = problem.coordinates();
    // A solver that went astray must not return a worse point than the start.
    if objective(points, &found, delta) <= objective(points, at, delta) { found } else { *at }
}

/// The best of several descents from random exponents, and of one from `warm`.
pub(super) fn search(
    points: &[Point],
    shape: &Shape,
    warm: Option<&Coordinates>,
    effort: (usize, usize),
    delta: f64,
    stream: &mut Stream,
) -> Coordinates {
    let (draws, descents) = effort;
    let mut starts: Vec<(f64, Coordinates)> = Vec::with_capacity(draws);
    for _ in 0..draws {
        let mut at = shape.held;
        for index in shape.free().filter(|index| *index >= SCALES) {
            at[index] = 0.05 + 3.95 * stream.unit();
        }
        with_best_scales(points, shape, &mut at);
        starts.push((objective(points, &at, delta), at));
    }
    starts.sort_by(|left, right| left.0.total_cmp(&right.0));
    starts.truncate(descents);
    let warm = warm.map(|at| shape.hold(at));
    let found = starts.iter().map(|start| &start.1).chain(&warm).map(|start| descend(points, shape, start, delta));
    let scored = found.map(|at| (objective(points, &at, delta), at));
    scored.min_by(|left, right| left.0.total_cmp(&right.0)).expect("there is a start").1
}

/// Sets the free scales to the best fit by relative error for the given exponents.
fn with_best_scales(points: &[Point], shape: &Shape, at: &mut Coordinates) {
    const REWEIGHTINGS: usize = 3;
    /// Relative errors above this lose weight.
    const LARGE: f64 = 0.3;
    let unit = {
        let mut unit = *at;
        unit[..SCALES].fill(0.0);
        unit
    };
    let [_, _, _, _, k, m, n, p, q] = unit;
    let rows: Vec<[f64; SCALES]> = points
        .iter()
        .map(|point| {
            let logs = [
                0.0,
                power(k, point.cycles),
                power(m, point.cycles) + power(n, point.days),
                power(p, point.cycles) + power(q, point.reads),
            ];
            logs.map(|log| libm::exp(log - point.rber))
        })
        .collect();
    // A saturated row means that the curve is at least 1 there, not that it is 1.
    let saturated = |point: &Point| point.rber > -0.1;
    let usable = points.iter().filter(|point| !saturated(point)).count() > shape.freedom();
    let mut weights: Vec<f64> = points.iter().map(|point| if usable && saturated(point) { 0.0 } else { 1.0 }).collect();
    let mut scales = [0.0; SCALES];
    for _ in 0..REWEIGHTINGS {
        scales = nonnegative(&rows, &weights, shape);
        for (weight, row) in weights.iter_mut().zip(&rows).filter(|(weight, _)| **weight > 0.0) {
            let ratio: f64 = row.iter().zip(&scales).map(|(cell, scale)| cell * scale).sum();
            let error = libm::log(ratio.max(1e-12)).abs();
            // The error in ln, at the weight of a relative one.
            *weight = 1.0 / (1.0 + (error / LARGE).powi(2)) / ratio.max(1.0);
        }
    }
    let lowest = points.iter().map(|point| point.rber).fold(f64::INFINITY, f64::min);
    for index in (0..SCALES).filter(|index| shape.has_term(*index)) {
        // A descent cannot leave a scale of 0.
        at[index] = libm::log(scales[index].max(0.01 * libm::exp(lowest)));
    }
}

/// The nonnegative scales that bring the weighted rows nearest to 1: the best over all sets of terms.
fn nonnegative(rows: &[[f64; SCALES]], weights: &[f64], shape: &Shape) -> [f64; SCALES] {
    let mut gram = [[0.0; SCALES]; SCALES];
    let mut right = [0.0; SCALES];
    for (row, weight) in rows.iter().zip(weights) {
        for i in 0..SCALES {
            right[i] += weight * row[i];
            for j in 0..=i {
                gram[i][j] += weight * row[i] * row[j];
            }
        }
    }
    let mut best = (0.0, [0.0; SCALES]);
    for set in 1u32..(1 << SCALES) {
        let terms: Vec<usize> = (0..SCALES).filter(|index| set & (1 << index) != 0).collect();
        if terms.iter().any(|index| !shape.has_term(*index) || gram[*index][*index] <= 0.0) {
            continue;
        }
        // Columns are scaled to length 1, since their sizes differ by many decades.
        let length = |index: usize| gram[index][index].sqrt();
        let cell = |i: usize, j: usize| {
            let (i, j) = (terms[i.max(j)], terms[i.min(j)]);
            gram[i][j] / (length(i) * length(j)) + if i == j { 1e-12 } else { 0.0 }
        };
        let matrix = DMatrix::from_fn(terms.len(), terms.len(), cell);
        let aim = DVector::from_iterator(terms.len(), terms.iter().map(|index| right[*index] / length(*index)));
        let Some(solved) = matrix.cholesky().map(|factors| factors.solve(&aim)) else { continue };
        let gain = solved.dot(&aim);
        if solved.iter().all(|scale| *scale >= 0.0) && gain > best.0 {
            best = (gain, [0.0; SCALES]);
            for (index, scale) in terms.iter().zip(solved.iter()) {
                best.1[*index] = scale / length(*index);
            }
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_derivatives_are_those_of_the_curve() {
        let at = [-7.0, -4.0, -5.0, -6.0, 2.0, 0.4, 0.8, 1.1, 1.6];
        let step = 1e-6;
        for (cycles, days, reads) in [(0.0, 0.0, 0.0), (-2.0, -1.0, -0.5), (-0.3, f64::NEG_INFINITY, -3.0)] {
            let point = Point { cycles, days, reads, rber: 0.0 };
            let slopes = evaluate(&at, &point).1;
            for index in 0..PARAMETERS {
                let moved = |by: f64| {
                    let mut moved = at;
                    moved[index] += by;
                    evaluate(&moved, &point).0
                };
                let measured = (moved(step) - moved(-step)) / (2.0 * step);
                assert!((measured - slopes[index]).abs() < 1e-7, "{index}: {measured} {}", slopes[index]);
            }
        }
        for residual in [-3.0, -0.01, 0.0, 0.2, 5.0] {
            let measured = (softened(residual + step, 0.1).0 - softened(residual - step, 0.1).0) / (2.0 * step);
            assert!((measured - softened(residual, 0.1).1).abs() < 1e-6, "{residual}");
        }
    }

    #[test]
    fn scales_of_given_exponents_are_found_at_once() {
        let truth = [-7.0, -4.0, -5.0, -6.0, 2.0, 0.4, 0.8, 1.1, 1.6];
        let logs = [f64::NEG_INFINITY, -3.0, -1.0, 0.0];
        let mut points = Vec::new();
        for (cycles, days) in logs.iter().flat_map(|a| logs.iter().map(move |b| (*a, *b))) {
            for reads in logs {
                let point = Point { cycles, days, reads, rber: 0.0 };
                points.push(Point { rber: evaluate(&truth, &point).0, ..point });
            }
        }
        let shape = Shape { free: [true; PARAMETERS], held: [0.0; PARAMETERS] };
        let mut found = truth;
        found[..SCALES].fill(0.0);
        with_best_scales(&points, &shape, &mut found);
        for index in 0..SCALES {
            assert!((found[index] - truth[index]).abs() < 1e-6, "{index}: {} {}", found[index], truth[index]);
        }
    }
}
