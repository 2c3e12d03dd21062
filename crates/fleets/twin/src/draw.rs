//! Random draws for several parts of a fleet, from named streams.

use wane_sim::Stream;

/// Draws a number from `least` to `most` by an exponential law cut off at both ends, with mean `mean`. It is uniform if the mean lies in the middle,
/// and equals the mean if that is one of the ends.
pub(crate) fn between(stream: &mut Stream, least: f64, mean: f64, most: f64) -> f64 {
    assert!(least <= mean, "a mean is no less than the least");
    assert!(mean <= most, "a mean is no more than the most");
    let draw = stream.unit();
    let (width, wanted) = (most - least, mean - least);
    if width <= 0.0 || wanted <= 0.0 || wanted >= width {
        return mean;
    }
    let rate = rate_of(wanted / width);
    // The inverse of the law's cumulative distribution on 0 to 1.
    let share = if rate.abs() < 1e-9 { draw } else { -libm::log1p(draw * libm::expm1(-rate)) / rate };
    least + width * share.clamp(0.0, 1.0)
}

/// Returns the rate of an exponential law on 0 to 1 with this mean, which lies between 0 and 1.
fn rate_of(mean: f64) -> f64 {
    assert!((0.0..1.0).contains(&mean), "the mean of a law on 0 to 1 lies on it, found {mean}");
    let mean_at = |rate: f64| if rate.abs() < 1e-6 { 0.5 - rate / 12.0 } else { 1.0 / rate - 1.0 / libm::expm1(rate) };
    let (mut low, mut high) = (-500.0, 500.0);
    // The mean falls with the rate.
    for _ in 0..80 {
        let middle = (low + high) / 2.0;
        if mean_at(middle) > mean { low = middle } else { high = middle }
    }
    (low + high) / 2.0
}

/// Draws a place in a list of weights, of which none is negative and at least one is above 0.
pub(crate) fn weighted(stream: &mut Stream, weights: impl Iterator<Item = f64> + Clone) -> usize {
    let all = weights.clone().sum::<f64>();
    assert!(all > 0.0, "something has a weight");
    let mut left = stream.unit() * all;
    let mut last = 0;
    for (place, weight) in weights.enumerate() {
        if weight > 0.0 {
            last = place;
            if left < weight {
                return place;
            }
            left -= weight;
        }
    }
    last
}

/// Draws the moments of a Poisson process of this rate, in order, from `from` up to `to`.
pub(crate) fn moments(stream: &mut Stream, rate: f64, from: f64, to: f64) -> Vec<f64> {
    let mut found = Vec::new();
    if rate <= 0.0 {
        return found;
    }
    assert!(to.is_finite(), "a process has a last moment where its time ends");
    let mut at = from + stream.exponential() / rate;
    while at < to {
        found.push(at);
        at += stream.exponential() / rate;
    }
    found
}

#[cfg(test)]
mod tests {
    use wane_sim::Streams;

    use super::*;

    #[test]
    fn draws_keep_their_mean_and_their_ends() {
        let mut stream = Streams::new(1).stream("test");
        for (least, mean, most) in [(0.1, 0.5, 3.0), (0.0, 0.5, 1.0), (1.0, 2.9, 3.0), (0.5, 0.5, 0.5), (0.1, 0.1, 3.0)]
        {
            let drawn: Vec<f64> = (0..100_000).map(|_| between(&mut stream, least, mean, most)).collect();
            let found = drawn.iter().sum::<f64>() / drawn.len() as f64;
            assert!((found - mean).abs() < 0.01 * most, "{least} {mean} {most}: {found}");
            assert!(drawn.iter().all(|value| (least..=most).contains(value)), "{least} {mean} {most}");
        }
    }

    #[test]
    fn weights_are_how_often_a_place_is_drawn() {
        let mut stream = Streams::new(2).stream("test");
        let mut counts = [0; 3];
        (0..30_000).for_each(|_| counts[weighted(&mut stream, [1.0, 0.0, 2.0].into_iter())] += 1);
        assert_eq!(counts[1], 0);
        assert!((9_500..10_500).contains(&counts[0]), "{counts:?}");
    }

    #[test]
    fn events_come_at_their_rate() {
        let mut stream = Streams::new(3).stream("test");
        let found = moments(&mut stream, 2.0, 10.0, 5_010.0);
        assert!((9_700..10_300).contains(&found.len()), "{}", found.len());
        assert!(found.is_sorted() && found[0] >= 10.0);
    }
}
