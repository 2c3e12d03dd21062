//! How close predicted wear is to the wear of a full run.
//!
//! Every function takes two vectors of erase counts by block id, of the same blocks: predicted first, real second.

use crate::AgingError;

/// Checks that both vectors are of the same blocks.
fn same(predicted: &[u32], real: &[u32]) -> Result<(), AgingError> {
    let (found, wanted) = (predicted.len(), real.len());
    match () {
        () if found != wanted => Err(AgingError::Lengths { found, wanted }),
        () if wanted == 0 => Err(AgingError::TooFew { what: "blocks", found: 0, least: 1 }),
        () => Ok(()),
    }
}

/// 1 - mean over the blocks of |predicted - real| / real, block by block (dissertation 000, §3.4.1: "the mean difference in erase
/// counts across all blocks relative to their real values"). Blocks that were never erased in the full run are left out; if all
/// blocks are, the result is 1. It is below zero if predictions are off by more than the real counts.
///
/// # Errors
/// The vectors are not of the same blocks.
pub fn id_matched(predicted: &[u32], real: &[u32]) -> Result<f64, AgingError> {
    same(predicted, real)?;
    Ok(mean_accuracy(predicted.iter().zip(real).map(|(predicted, real)| (f64::from(*predicted), f64::from(*real)))))
}

fn mean_accuracy(pairs: impl Iterator<Item = (f64, f64)>) -> f64 {
    let (mut sum, mut blocks) = (0.0, 0.0f64);
    for (predicted, real) in pairs.filter(|(_, real)| *real > 0.0) {
        sum += (predicted - real).abs() / real;
        blocks += 1.0;
    }
    1.0 - sum / blocks.max(1.0)
}

fn sorted(counts: &[u32]) -> Vec<u32> {
    let mut sorted = counts.to_vec();
    sorted.sort_unstable();
    sorted
}

/// As [`id_matched`], of the sorted vectors: it does not matter which block has which wear.
///
/// # Errors
/// The vectors are not of the same blocks.
pub fn rank_matched(predicted: &[u32], real: &[u32]) -> Result<f64, AgingError> {
    id_matched(&sorted(predicted), &sorted(real))
}

/// 1 - sum of |predicted - real| / sum of real, block by block. Blocks that are worn more weigh more.
///
/// # Errors
/// The vectors are not of the same blocks.
pub fn summed(predicted: &[u32], real: &[u32]) -> Result<f64, AgingError> {
    same(predicted, real)?;
    let off: u64 = predicted.iter().zip(real).map(|(predicted, real)| u64::from(predicted.abs_diff(*real))).sum();
    let all: u64 = real.iter().map(|real| u64::from(*real)).sum();
    Ok(1.0 - off as f64 / all.max(1) as f64)
}

/// Wasserstein-1 distance of the two distributions, in erases: the mean difference of their quantiles. With equally many blocks
/// the quantiles are the sorted vectors.
///
/// # Errors
/// One of them has no blocks.
pub fn wasserstein(predicted: &[u32], real: &[u32]) -> Result<f64, AgingError> {
    for counts in [predicted, real] {
        same(counts, counts)?;
    }
    let (predicted, real) = (sorted(predicted), sorted(real));
    let (ours, theirs) = (predicted.len() as u128, real.len() as u128);
    // In parts of 1 / (ours * theirs): each block holds as many parts as the other vector has blocks.
    let (mut off, mut at, mut block, mut other) = (0_u128, 0_u128, 0_usize, 0_usize);
    while at < ours * theirs {
        let next = ((block as u128 + 1) * theirs).min((other as u128 + 1) * ours);
        off += (next - at) * u128::from(predicted[block].abs_diff(real[other]));
        at = next;
        block += usize::from(at == (block as u128 + 1) * theirs);
        other += usize::from(at == (other as u128 + 1) * ours);
    }
    Ok(off as f64 / (ours * theirs) as f64)
}

/// [`id_matched`] of the prediction that every block has the mean: a null that any forecast should beat. [`rank_matched`] would
/// be the same, because all predictions are equal.
///
/// # Errors
/// There are no blocks.
pub fn of_the_mean(real: &[u32]) -> Result<f64, AgingError> {
    same(real, real)?;
    let mean = real.iter().map(|real| f64::from(*real)).sum::<f64>() / real.len() as f64;
    Ok(mean_accuracy(real.iter().map(|real| (mean, f64::from(*real)))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accuracies_follow_their_definitions() {
        // Two blocks changed places, which does not change the ranks.
        let (predicted, real) = ([10, 20, 5, 0], [20, 10, 5, 0]);
        assert_eq!(id_matched(&predicted, &real).unwrap(), 1.0 - (0.5 + 1.0 + 0.0) / 3.0);
        assert_eq!(rank_matched(&predicted, &real).unwrap(), 1.0);
        assert_eq!(summed(&predicted, &real).unwrap(), 1.0 - 20.0 / 35.0);
        assert_eq!(wasserstein(&predicted, &real).unwrap(), 0.0);
        assert_eq!(wasserstein(&[1, 2, 3, 10], &[1, 2, 3, 4]).unwrap(), 1.5);
        // Different numbers of blocks: the lower half is 1 off; of the upper half, a third is 0 off and two thirds are 2 off.
        assert!((wasserstein(&[4, 2], &[3, 3, 3, 4, 6, 6]).unwrap() - (0.5 + 2.0 / 3.0)).abs() < 1e-12);
        assert_eq!(wasserstein(&[5, 5, 1, 1], &[1, 5]).unwrap(), 0.0);
        // The mean is 8.75.
        let want = 1.0 - (11.25 / 20.0 + 1.25 / 10.0 + 3.75 / 5.0) / 3.0;
        assert!((of_the_mean(&real).unwrap() - want).abs() < 1e-12);
    }

    #[test]
    fn what_was_never_erased_is_left_out() {
        assert_eq!(id_matched(&[7, 3], &[0, 3]).unwrap(), 1.0);
        assert_eq!(id_matched(&[0, 0], &[0, 0]).unwrap(), 1.0);
        assert_eq!(summed(&[0], &[0]).unwrap(), 1.0);
    }

    #[test]
    fn other_blocks_are_refused() {
        assert_eq!(id_matched(&[1], &[1, 2]), Err(AgingError::Lengths { found: 1, wanted: 2 }));
        assert!(wasserstein(&[], &[1, 2]).is_err());
        let error = of_the_mean(&[]).unwrap_err().to_string();
        assert_eq!(error, "found 0 blocks; at least 1 are needed");
    }
}
