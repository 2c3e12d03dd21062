//! Anderson's acceleration of a fixed-point iteration over shares.

/// Number of steps that are remembered.
const DEPTH: usize = 6;

/// Mixes the last steps so that the residual is smallest: D. G. Anderson, "Iterative procedures for nonlinear integral
/// equations", 1965, in the form of differences, by normal equations.
pub(super) struct Anderson {
    /// Differences of residuals and of images of successive steps.
    residuals: Vec<Vec<f64>>,
    images: Vec<Vec<f64>>,
    last: Option<(Vec<f64>, Vec<f64>)>,
    /// The residual's size at the last step.
    size: f64,
}

impl Anderson {
    pub(super) fn new() -> Self {
        Self { residuals: Vec::new(), images: Vec::new(), last: None, size: f64::INFINITY }
    }

    /// The next shares, from the present ones and their image.
    pub(super) fn next(&mut self, now: &[f64], image: Vec<f64>) -> Vec<f64> {
        debug_assert_eq!(image.len(), now.len(), "each share has its image");
        let residual: Vec<f64> = image.iter().zip(now).map(|(image, now)| image - now).collect();
        let size: f64 = residual.iter().map(|part| part * part).sum();
        if size > 4.0 * self.size {
            // The step was too long: begin anew.
            self.residuals.clear();
            self.images.clear();
            self.last = None;
        }
        self.size = size;
        if let Some((last_residual, last_image)) = &self.last {
            if self.residuals.len() == DEPTH {
                self.residuals.remove(0);
                self.images.remove(0);
            }
            let less = |one: &[f64], other: &[f64]| one.iter().zip(other).map(|(one, other)| one - other).collect();
            self.residuals.push(less(&residual, last_residual));
            self.images.push(less(&image, last_image));
        }
        let weights = self.weights(&residual);
        let mut next = image.clone();
        for (weight, images) in weights.iter().zip(&self.images) {
            next.iter_mut().zip(images).for_each(|(next, image)| *next -= weight * image);
        }
        self.last = Some((residual, image));
        // Shares stay at least 0 and add up to 1.
        next.iter_mut().for_each(|share| *share = share.max(0.0));
        let sum: f64 = next.iter().sum();
        next.iter_mut().for_each(|share| *share /= sum);
        next
    }

    /// Weights for the least squares of the residual by its differences, with pivots. Differences that add nothing get no weight.
    fn weights(&self, residual: &[f64]) -> Vec<f64> {
        let count = self.residuals.len();
        let dot = |one: &[f64], other: &[f64]| one.iter().zip(other).map(|(one, other)| one * other).sum::<f64>();
        let mut matrix: Vec<Vec<f64>> = self
            .residuals
            .iter()
            .map(|one| {
                let products = self.residuals.iter().map(|other| dot(one, other));
                products.chain([dot(one, residual)]).collect()
            })
            .collect();
        let largest = matrix.iter().enumerate().map(|(place, line)| line[place]).fold(0.0, f64::max);
        matrix.iter_mut().enumerate().for_each(|(place, line)| line[place] += 1e-12 * largest);
        for column in 0..count {
            let (done, rest) = matrix.split_at_mut(column + 1);
            let pivot = &done[column];
            if pivot[column] <= 1e-300 {
                return vec![0.0; count];
            }
            for line in rest {
                let factor = line[column] / pivot[column];
                line.iter_mut().zip(pivot).for_each(|(value, pivot)| *value -= factor * pivot);
            }
        }
        let mut weights = vec![0.0; count];
        for line in (0..count).rev() {
            let known: f64 = (line + 1..count).map(|place| matrix[line][place] * weights[place]).sum();
            weights[line] = (matrix[line][count] - known) / matrix[line][line];
        }
        weights
    }
}
