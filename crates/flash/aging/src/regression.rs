//! Lines through points (x, y).

/// The line of least squares, as intercept and slope; level if all points have the same x.
pub(crate) fn least_squares(points: &[(f64, f64)]) -> (f64, f64) {
    let count = points.len().max(1) as f64;
    let mean = points.iter().fold((0.0, 0.0), |sum, point| (sum.0 + point.0 / count, sum.1 + point.1 / count));
    let (mut spread, mut together) = (0.0, 0.0);
    for (x, y) in points {
        spread += (x - mean.0).powi(2);
        together += (x - mean.0) * (y - mean.1);
    }
    let slope = if spread > 0.0 { together / spread } else { 0.0 };
    (mean.1 - slope * mean.0, slope)
}

/// The median of the slopes between all pairs of points (Theil 1950, Sen 1968). Up to 29 % of the points may be arbitrarily
/// wrong.
pub(crate) fn theil_sen(points: &[(f64, f64)]) -> f64 {
    let mut slopes = Vec::with_capacity(points.len() * points.len().saturating_sub(1) / 2);
    for (place, one) in points.iter().enumerate() {
        slopes.extend(points[place + 1..].iter().map(|other| (other.1 - one.1) / (other.0 - one.0)));
    }
    median(&mut slopes)
}

/// The median; of an even number, the mean of the two in the middle.
fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values {
        [] => 0.0,
        values if values.len().is_multiple_of(2) => 0.5 * (values[middle - 1] + values[middle]),
        values => values[middle],
    }
}
