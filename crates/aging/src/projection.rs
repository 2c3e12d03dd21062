//! From what a model predicts to erase counts that a drive can take.

/// Erase counts that a drive is to take, and what was done to what the model said.
#[derive(Clone, Debug, PartialEq)]
pub struct Projected {
    /// Erases of each block, by block id; never fewer than it has.
    pub erase_counts: Vec<u32>,
    /// Blocks that were predicted to pass the rated erases, and stand at them.
    pub clamped: u64,
    /// Erases that are predicted in all.
    pub erases: u64,
}

/// Rounds what a model predicts, half up, so that no block loses an erase and none passes the `rated` ones (dissertation 000, §3.3.1,
/// and its released code, which takes the lesser of prediction and endurance). A block that is past its rated erases already stays
/// where it is.
///
/// # Panics
/// `predicted` has not one value for each block.
pub fn project(now: &[u32], predicted: &[f64], rated: Option<u32>) -> Projected {
    assert_eq!(now.len(), predicted.len(), "a model predicts every block");
    let mut projected = Projected { erase_counts: Vec::with_capacity(now.len()), clamped: 0, erases: 0 };
    // The last erase that can be counted is left to the drive.
    let most = rated.unwrap_or(u32::MAX - 1);
    for (now, predicted) in now.iter().zip(predicted) {
        let rounded = (predicted + 0.5).floor().clamp(0.0, f64::from(u32::MAX - 1)) as u32;
        let count = rounded.min(most).max(*now);
        projected.clamped += u64::from(rounded > most && count > *now);
        projected.erases += u64::from(count - now);
        projected.erase_counts.push(count);
    }
    projected
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_rounded_half_up_clamped_and_never_fall() {
        // (now, predicted, rated, wanted, clamped)
        for (now, predicted, rated, want, clamped) in [
            (14, 18.0, None, 18, 0),
            (14, 18.0, Some(16), 16, 1),
            (14, 16.0, Some(16), 16, 0),
            (14, 14.5, None, 15, 0),
            (14, 14.49, None, 14, 0),
            (14, 2.0, None, 14, 0),
            (17, 20.0, Some(16), 17, 0),
            (3, f64::INFINITY, None, u32::MAX - 1, 0),
            (3, f64::NAN, None, 3, 0),
        ] {
            let found = project(&[now], &[predicted], rated);
            assert_eq!((found.erase_counts[0], found.clamped), (want, clamped), "{now} {predicted} {rated:?}");
            assert_eq!(found.erases, u64::from(want - now));
        }
    }
}
