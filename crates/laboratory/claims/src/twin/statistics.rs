//! The statistics that chapter 4 of 002 applies to records: rank correlation, a line through all points, k-means.
//!
//! The code is our own, since crates with k-means use random generators of their own and a claim's figures must be the same bytes on every machine.
//! Python's `wane.fleet.analyses` does the same with scikit-learn.

use wane_sim::{Stream, Streams};

/// Number of starts of k-means, of which the best is kept, and the most rounds of one.
const RESTARTS: usize = 20;
const ROUNDS_MAX: usize = 100;

/// Spearman's rank correlation: Pearson's of the ranks. Equal values share the mean of their ranks. `None` if one of the two is constant.
pub(super) fn spearman(one: &[f64], other: &[f64]) -> Option<f64> {
    assert_eq!(one.len(), other.len(), "attributes of the same records are correlated");
    let (one, other) = (ranks(one), ranks(other));
    let mean = (one.len() as f64 + 1.0) / 2.0;
    let (mut both, mut first, mut second) = (0.0, 0.0, 0.0);
    for (one, other) in one.iter().zip(&other) {
        both += (one - mean) * (other - mean);
        first += (one - mean) * (one - mean);
        second += (other - mean) * (other - mean);
    }
    (first > 0.0 && second > 0.0).then(|| both / (first * second).sqrt())
}

fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|one, other| values[*one].total_cmp(&values[*other]));
    let mut ranks = vec![0.0; values.len()];
    let mut from = 0;
    while from < order.len() {
        let same = order[from..].iter().take_while(|at| values[**at] == values[order[from]]).count();
        let rank = from as f64 + (same as f64 + 1.0) / 2.0;
        order[from..from + same].iter().for_each(|at| ranks[*at] = rank);
        debug_assert!(same > 0, "a value that is no number has no rank");
        from += same;
    }
    debug_assert_eq!(
        ranks.iter().sum::<f64>(),
        (values.len() * (values.len() + 1)) as f64 / 2.0,
        "ranks are given once each"
    );
    ranks
}

/// The slope of `y` on `x` by least squares.
pub(super) fn slope(x: &[f64], y: &[f64]) -> f64 {
    assert_eq!(x.len(), y.len(), "a line goes through points, each with both coordinates");
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (middle, level) = (mean(x), mean(y));
    let (mut both, mut square) = (0.0, 0.0);
    for (x, y) in x.iter().zip(y) {
        both += (x - middle) * (y - level);
        square += (x - middle) * (x - middle);
    }
    both / square
}

/// Points assigned to groups.
pub(super) struct Clusters {
    /// Group of each point. Groups are numbered from 0 by the sum of their center's coordinates.
    pub(super) labels: Vec<usize>,
    /// The mean distance of a point to its center.
    pub(super) distortion: f64,
}

/// K-means with k-means++ starts, the best of 20.
pub(super) fn clusters(points: &[Vec<f64>], count: usize, name: &str) -> Clusters {
    assert!((1..=points.len()).contains(&count), "each of {count} groups of {} points has one", points.len());
    let mut stream = Streams::new(1).stream(name);
    let runs = (0..RESTARTS).map(|_| run(points, count, &mut stream));
    let best = runs.min_by(|one, other| one.1.total_cmp(&other.1)).expect("there are restarts");
    let mut order: Vec<usize> = (0..best.0.len()).collect();
    let sum = |center: &[f64]| center.iter().sum::<f64>();
    order.sort_by(|one, other| sum(&best.0[*one]).total_cmp(&sum(&best.0[*other])));
    let centers: Vec<Vec<f64>> = order.into_iter().map(|at| best.0[at].clone()).collect();
    let found: Vec<(usize, f64)> = points.iter().map(|point| nearest(point, &centers)).collect();
    let distortion = found.iter().map(|(_, square)| square.sqrt()).sum::<f64>() / points.len() as f64;
    Clusters { labels: found.into_iter().map(|(label, _)| label).collect(), distortion }
}

/// Centers of one start, and the sum of squared distances to them.
fn run(points: &[Vec<f64>], count: usize, stream: &mut Stream) -> (Vec<Vec<f64>>, f64) {
    let mut centers = vec![points[stream.below(points.len() as u64) as usize].clone()];
    while centers.len() < count {
        let squares: Vec<f64> = points.iter().map(|point| nearest(point, &centers).1).collect();
        let mut left = stream.unit() * squares.iter().sum::<f64>();
        let next = squares.iter().position(|square| {
            left -= square;
            left < 0.0
        });
        centers.push(points[next.unwrap_or(0)].clone());
    }
    let mut total = f64::INFINITY;
    for _ in 0..ROUNDS_MAX {
        let mut sums = vec![(vec![0.0; points[0].len()], 0.0); count];
        let mut found = 0.0;
        for point in points {
            let (label, square) = nearest(point, &centers);
            found += square;
            sums[label].1 += 1.0;
            sums[label].0.iter_mut().zip(point).for_each(|(sum, value)| *sum += value);
        }
        for (center, (sum, members)) in centers.iter_mut().zip(&sums).filter(|(_, (_, members))| *members > 0.0) {
            center.iter_mut().zip(sum).for_each(|(center, sum)| *center = sum / members);
        }
        if total - found <= 1e-12 * found {
            return (centers, found);
        }
        debug_assert!(found <= total, "a round of k-means never takes points farther from their centers");
        total = found;
    }
    (centers, total)
}

/// The nearest center, and the squared distance to it.
fn nearest(point: &[f64], centers: &[Vec<f64>]) -> (usize, f64) {
    let mut best = (0, f64::INFINITY);
    for (label, center) in centers.iter().enumerate() {
        debug_assert_eq!(point.len(), center.len(), "a center is a point among points");
        let square: f64 = point.iter().zip(center).map(|(one, other)| (one - other) * (one - other)).sum();
        if square < best.1 {
            best = (label, square);
        }
    }
    best
}

/// The number of groups, from 1 on, at which the curve of distortions lies farthest below the chord from its first to its last point (Satopää et al.,
/// "Finding a 'Kneedle' in a Haystack", 2011).
pub(super) fn elbow(distortions: &[f64]) -> usize {
    assert!(distortions.len() >= 2, "a chord goes from one point to another");
    let (first, last) = (distortions[0], distortions[distortions.len() - 1]);
    let chord = |at: usize| first + (last - first) * at as f64 / (distortions.len() - 1) as f64;
    let below = |at: &usize| chord(*at) - distortions[*at];
    1 + (0..distortions.len()).max_by(|one, other| below(one).total_cmp(&below(other))).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_of_equal_values_are_their_mean() {
        assert_eq!(ranks(&[3.0, 1.0, 3.0, 2.0]), [3.5, 1.0, 3.5, 2.0]);
        assert_eq!(spearman(&[1.0, 2.0, 3.0], &[1.0, 8.0, 27.0]), Some(1.0));
        assert_eq!(spearman(&[1.0, 2.0, 3.0], &[9.0, 9.0, 9.0]), None);
        // 1 - 6 sum d^2 / (n (n^2 - 1)) = 1 - 24 / 120.
        let found = spearman(&[1.0, 2.0, 3.0, 4.0, 5.0], &[2.0, 1.0, 4.0, 3.0, 5.0]);
        assert!((found.unwrap_or(0.0) - 0.8).abs() < 1e-12, "{found:?}");
    }

    #[test]
    fn heaps_are_found_and_numbered_by_their_centers() {
        let points: Vec<Vec<f64>> =
            (0..90).map(|at| vec![f64::from(2 - at % 3) * 10.0 + f64::from(at / 3) * 0.01, 0.0]).collect();
        let found = clusters(&points, 3, "heaps");
        assert!(found.labels.iter().enumerate().all(|(at, label)| *label == 2 - at % 3), "{:?}", found.labels);
        let distortions: Vec<f64> = (1..=6).map(|count| clusters(&points, count, "heaps").distortion).collect();
        assert_eq!(elbow(&distortions), 3, "{distortions:?}");
    }

    #[test]
    fn a_line_is_found() {
        assert!((slope(&[1.0, 2.0, 4.0], &[5.0, 7.0, 11.0]) - 2.0).abs() < 1e-12);
    }
}
