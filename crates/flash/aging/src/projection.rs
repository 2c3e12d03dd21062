//! Projection: from a model's predictions to erase counts that a drive can take.

/// Erase counts for a drive, and how they differ from the prediction.
#[derive(Clone, Debug, PartialEq)]
pub struct Projected {
    /// Erases of each block, by block id; never fewer than it has.
    pub erase_counts: Vec<u32>,
    /// Blocks that were predicted to exceed the rated erases, and are set to these.
    pub clamped: u64,
    /// Predicted erases of all blocks.
    pub erases: u64,
}

/// Makes whole erase counts of predictions, projection after projection. It keeps each block's rounding remainder for the next
/// projection; otherwise periods that bring a block less than half an erase would never wear it.
#[derive(Clone, Debug, Default)]
pub struct Projector {
    /// By block id, in erases, between -0.5 and 0.5.
    left_over: Vec<f64>,
}

impl Projector {
    /// Rounds each block's prediction plus its remainder, half up, so that no block loses an erase and none exceeds the `rated`
    /// ones (dissertation 000, §3.3.1, and its released code, which takes the lesser of prediction and endurance). A block that
    /// is already past its rated erases keeps its count.
    ///
    /// # Panics
    /// `predicted` does not have one value for each block.
    pub fn project(&mut self, now: &[u32], predicted: &[f64], rated: Option<u32>) -> Projected {
        assert_eq!(now.len(), predicted.len(), "a model predicts every block");
        self.left_over.resize(now.len(), 0.0);
        let mut projected = Projected { erase_counts: Vec::with_capacity(now.len()), clamped: 0, erases: 0 };
        // The last erase that can be counted is left to the drive.
        let most = rated.unwrap_or(u32::MAX - 1);
        for ((now, predicted), left_over) in now.iter().zip(predicted).zip(&mut self.left_over) {
            let predicted = predicted + *left_over;
            let rounded = (predicted + 0.5).floor().clamp(0.0, f64::from(u32::MAX - 1)) as u32;
            let count = rounded.min(most).max(*now);
            let rest = predicted - f64::from(count);
            *left_over = if rest.is_finite() { rest.clamp(-0.5, 0.5) } else { 0.0 };
            projected.clamped += u64::from(rounded > most && count > *now);
            projected.erases += u64::from(count - now);
            projected.erase_counts.push(count);
        }
        projected
    }
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
            let found = Projector::default().project(&[now], &[predicted], rated);
            assert_eq!((found.erase_counts[0], found.clamped), (want, clamped), "{now} {predicted} {rated:?}");
            assert_eq!(found.erases, u64::from(want - now));
        }
    }

    #[test]
    fn what_rounding_leaves_over_is_projected_later() {
        // One block wears 0.2 erases a projection, another 0.75, and the third none.
        let (rates, mut counts, mut projector) = ([0.2, 0.75, 0.0], vec![7, 7, 7], Projector::default());
        for _ in 0..20 {
            let predicted: Vec<f64> = counts.iter().zip(rates).map(|(count, rate)| f64::from(*count) + rate).collect();
            counts = projector.project(&counts, &predicted, None).erase_counts;
        }
        assert_eq!(counts, [11, 22, 7]);
    }

    #[test]
    fn no_more_is_left_over_than_half_an_erase() {
        // Raised to the present 14, clamped to the rated 17, or not a number.
        for (predicted, want) in [(-9.0, 15), (40.0, 16), (f64::INFINITY, 15), (f64::NAN, 15)] {
            let mut projector = Projector::default();
            projector.project(&[14], &[predicted], Some(17));
            assert_eq!(projector.project(&[14], &[15.1], Some(17)).erase_counts, [want], "{predicted}");
        }
    }
}
