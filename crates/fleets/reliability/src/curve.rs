//! Curves through points: what a detailed life measured, as straight lines between its measurements.

use crate::PlanError;

/// A line through points whose x rises.
///
/// Left of the first point it keeps the first value. Right of the last it goes on as between the last two.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// At least one; x rises strictly, and all numbers are finite.
    points: Vec<(f64, f64)>,
}

impl Curve {
    /// The curve through these points.
    ///
    /// # Errors
    /// There is no point, a number is not finite, or x does not rise.
    pub fn new(points: Vec<(f64, f64)>) -> Result<Self, PlanError> {
        let is_finite = points.iter().all(|(x, y)| x.is_finite() && y.is_finite());
        let rises = points.windows(2).all(|pair| pair[0].0 < pair[1].0);
        if points.is_empty() || !is_finite || !rises {
            return Err(PlanError::Curve(points.len()));
        }
        Ok(Self { points })
    }

    /// The same value everywhere.
    pub fn constant(value: f64) -> Self {
        Self { points: vec![(0.0, value)] }
    }

    /// The line from the origin with this slope.
    pub fn slope(slope: f64) -> Self {
        Self { points: vec![(0.0, 0.0), (1.0, slope)] }
    }

    /// Its points.
    pub fn points(&self) -> &[(f64, f64)] {
        &self.points
    }

    /// Whether no value lies below the one before.
    pub fn never_falls(&self) -> bool {
        self.points.windows(2).all(|pair| pair[0].1 <= pair[1].1)
    }

    /// The curve with all values times `factor`.
    pub fn times(&self, factor: f64) -> Self {
        Self { points: self.points.iter().map(|(x, y)| (*x, y * factor)).collect() }
    }

    /// The value at x.
    pub fn at(&self, x: f64) -> f64 {
        let points = &self.points;
        let (first, last) = (points[0], points[points.len() - 1]);
        if x <= first.0 || points.len() == 1 {
            return first.1;
        }
        let right = points.partition_point(|point| point.0 < x).clamp(1, points.len() - 1);
        let (left, right) = (points[right - 1], points[right]);
        if x == last.0 {
            return last.1;
        }
        left.1 + (right.1 - left.1) * ((x - left.0) / (right.0 - left.0))
    }

    /// The first x at which a curve that never falls reaches `y`: infinite if it never does.
    pub fn first_at(&self, y: f64) -> f64 {
        debug_assert!(self.never_falls(), "only a curve that never falls reaches a value once");
        let points = &self.points;
        if y <= points[0].1 {
            return points[0].0;
        }
        if points.len() == 1 {
            return f64::INFINITY;
        }
        let right = points.partition_point(|point| point.1 < y).clamp(1, points.len() - 1);
        let (left, right) = (points[right - 1], points[right]);
        let rise = right.1 - left.1;
        if rise <= 0.0 { f64::INFINITY } else { left.0 + (right.0 - left.0) * ((y - left.1) / rise) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_is_straight_between_points_and_goes_on_behind_them() {
        let curve = Curve::new(vec![(0.0, 1.0), (2.0, 2.0), (3.0, 5.0)]).unwrap();
        for (x, want) in [(-1.0, 1.0), (0.0, 1.0), (1.0, 1.5), (2.0, 2.0), (2.5, 3.5), (3.0, 5.0), (4.0, 8.0)] {
            assert_eq!(curve.at(x), want, "{x}");
        }
        for (y, want) in [(0.5, 0.0), (1.5, 1.0), (2.0, 2.0), (3.5, 2.5), (8.0, 4.0)] {
            assert_eq!(curve.first_at(y), want, "{y}");
        }
        assert_eq!(Curve::constant(3.0).first_at(4.0), f64::INFINITY);
        assert_eq!(Curve::constant(3.0).at(9.0), 3.0);
    }

    #[test]
    fn points_that_make_no_curve_are_refused() {
        for points in [vec![], vec![(0.0, f64::NAN)], vec![(1.0, 0.0), (1.0, 2.0)]] {
            assert!(Curve::new(points).is_err());
        }
    }
}
