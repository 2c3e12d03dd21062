//! How evenly counts are spread: Jain's index.
//!
//! Source: R. Jain, D. Chiu and W. Hawe, DEC-TR-301, 1984.

/// Jain's index of counts: (sum x)^2 / (n sum x^2), from 1/n (one has all) to 1 (all equal, or all 0).
pub fn jain_index(counts: &[u32]) -> f64 {
    // Exact: 2^32 blocks of 2^32 erases are 2^96.
    let sum = counts.iter().map(|count| u128::from(*count)).sum();
    let squares = counts.iter().map(|count| u128::from(*count).pow(2)).sum();
    jain_index_of_sums(counts.len() as u64, sum, squares)
}

/// Jain's index of `count` numbers from their sum and the sum of their squares; 1 if all are 0.
pub fn jain_index_of_sums(count: u64, sum: u128, squares: u128) -> f64 {
    // By Cauchy and Schwarz. Other sums are a caller's mistake.
    debug_assert!(
        sum.checked_mul(sum).is_none_or(|square| square <= squares.saturating_mul(u128::from(count))),
        "(sum x)^2 is at most n sum x^2"
    );
    if squares == 0 { 1.0 } else { sum as f64 * sum as f64 / (count as f64 * squares as f64) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_runs_from_one_block_to_all() {
        for (counts, want) in [
            (&[7, 7, 7, 7][..], 1.0),
            (&[8, 0, 0, 0], 0.25),
            (&[1, 3], 0.8),
            (&[1, 2, 3], 36.0 / 42.0),
            (&[0, 0], 1.0),
            (&[], 1.0),
        ] {
            assert_eq!(jain_index(counts), want, "{counts:?}");
        }
        assert!((jain_index(&[u32::MAX; 5]) - 1.0).abs() < 1e-12, "large sums do not overflow");
    }
}
