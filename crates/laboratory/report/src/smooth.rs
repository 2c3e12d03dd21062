//! Curves that are smoothed, and the range of their values before.

use super::chart::Point;

/// Fewest points that are smoothed: of fewer each is worth seeing.
const POINTS_MIN: usize = 60;
/// The stretch that is averaged, as a part of the whole.
const STRETCH: f64 = 1.0 / 40.0;

/// A smoothed curve.
pub(super) struct Smooth {
    /// The means of a stretch around each point.
    pub(super) points: Vec<Point>,
    /// Least and greatest within that stretch.
    pub(super) range: Vec<(f64, f64, f64)>,
}

/// A curve by its means over a fortieth of its length; `None` of one that has few points.
pub(super) fn smooth(points: &[Point]) -> Option<Smooth> {
    let (first, last) = (points.first()?, points.last()?);
    if points.len() < POINTS_MIN || last.0 <= first.0 {
        return None;
    }
    debug_assert!(
        points.is_sorted_by(|one, next| one.0 <= next.0),
        "the stretch around a point moves to the right alone"
    );
    let reach = STRETCH * (last.0 - first.0) / 2.0;
    let (mut from, mut to) = (0, 0);
    let mut smooth = Smooth { points: Vec::with_capacity(points.len()), range: Vec::with_capacity(points.len()) };
    for (x, _) in points {
        while points[from].0 < x - reach {
            from += 1;
        }
        while to < points.len() && points[to].0 <= x + reach {
            to += 1;
        }
        let within = || points[from..to].iter().map(|point| point.1);
        let mean = within().sum::<f64>() / (to - from) as f64;
        smooth.points.push((*x, mean));
        let (low, high) = (within().fold(mean, f64::min), within().fold(mean, f64::max));
        smooth.range.push((*x, low, high));
    }
    Some(smooth)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_goes_into_the_range_and_the_trend_stays() {
        let noisy = |at: i32| (f64::from(at), f64::from(at) / 100.0 + if at % 2 == 0 { 1.0 } else { -1.0 });
        let points: Vec<Point> = (0..400).map(noisy).collect();
        let Smooth { points: line, range } = smooth(&points).unwrap();
        assert_eq!((line.len(), line[0].0, line[399].0), (400, 0.0, 399.0));
        for at in 0..400 {
            assert!((line[at].1 - at as f64 / 100.0).abs() < 0.3, "{at}: {:?}", line[at]);
            assert!(range[at].2 - range[at].1 > 1.9, "{at}: {:?}", range[at]);
        }
        assert!(smooth(&points[..POINTS_MIN - 1]).is_none());
    }
}
