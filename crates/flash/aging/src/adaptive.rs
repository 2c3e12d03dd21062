//! Whether a life continues as before, by its write amplification (dissertation 000, §3.5.1, which leaves it as future work).

use std::collections::VecDeque;

use crate::regression::least_squares;

/// Periods that are remembered.
const REMEMBERED: usize = 16;

/// Fewest periods that show what is usual.
const LEAST: usize = 4;

/// Standard deviations from the mean beyond which a period is an outlier.
const DEVIATIONS: f64 = 3.0;

/// Interquartile ranges beyond the quartiles at which a period is an outlier (Tukey's fences).
const FENCES: f64 = 1.5;

/// Share of the mean within which no period is an outlier, however alike the others are: such a small change of the amplification
/// changes a prediction little.
const TOLERATED: f64 = 0.05;

/// Standard errors within which a slope counts as zero.
const SLOPE_ERRORS: f64 = 2.0;

/// How a period compares with those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// Too few periods are known.
    Unknown,
    /// It is like the others.
    Usual,
    /// It is unlike the others: something changed.
    Outlier,
}

/// Detects periods whose write amplification is an outlier: more than three standard deviations from the mean of the periods
/// before, outside Tukey's fences, and off by more than 5 % of the mean.
#[derive(Clone, Debug, Default)]
pub struct Detector {
    seen: VecDeque<f64>,
}

impl Detector {
    /// Judges a period by its write amplification, and remembers it. After an outlier only that period is remembered: those
    /// before it belong to another life.
    pub fn judge(&mut self, write_amplification: f64) -> Judgement {
        let judgement = self.look(write_amplification);
        if judgement == Judgement::Outlier {
            self.seen.clear();
        }
        self.learn(write_amplification);
        judgement
    }

    /// Remembers a period without judging it, for periods whose change of write amplification is explained. The period is usual,
    /// once enough are known.
    pub fn learn(&mut self, write_amplification: f64) -> Judgement {
        let judgement = if self.seen.len() < LEAST { Judgement::Unknown } else { Judgement::Usual };
        if self.seen.len() == REMEMBERED {
            self.seen.pop_front();
        }
        self.seen.push_back(write_amplification);
        debug_assert!(self.seen.len() <= REMEMBERED, "older periods are forgotten");
        judgement
    }

    /// Whether the memory of periods is full.
    pub fn is_full(&self) -> bool {
        self.seen.len() == REMEMBERED
    }

    /// Relative change of the write amplification a period, from the least-squares line through the remembered periods. It is 0
    /// if the slope is within two standard errors of none, or if too few periods are known.
    pub fn drift(&self) -> f64 {
        let count = self.seen.len();
        if count < LEAST {
            return 0.0;
        }
        let points: Vec<(f64, f64)> = self.seen.iter().enumerate().map(|(time, seen)| (time as f64, *seen)).collect();
        let (start, slope) = least_squares(&points);
        let rest: f64 = points.iter().map(|(time, seen)| (seen - start - slope * time).powi(2)).sum();
        let (mean_time, mean) = ((count as f64 - 1.0) / 2.0, self.seen.iter().sum::<f64>() / count as f64);
        let spread: f64 = points.iter().map(|(time, _)| (time - mean_time).powi(2)).sum();
        let error = (rest / (count as f64 - 2.0) / spread).sqrt();
        if slope.abs() <= SLOPE_ERRORS * error { 0.0 } else { (slope / mean).abs() }
    }

    fn look(&self, found: f64) -> Judgement {
        if self.seen.len() < LEAST {
            return Judgement::Unknown;
        }
        let count = self.seen.len() as f64;
        let mean = self.seen.iter().sum::<f64>() / count;
        let deviation = (self.seen.iter().map(|seen| (seen - mean).powi(2)).sum::<f64>() / (count - 1.0)).sqrt();
        let mut sorted: Vec<f64> = self.seen.iter().copied().collect();
        sorted.sort_by(f64::total_cmp);
        let quartile = |share: f64| {
            let place = share * (count - 1.0);
            let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
            below + (above - below) * place.fract()
        };
        let (first, third) = (quartile(0.25), quartile(0.75));
        let beyond = FENCES * (third - first);
        let is_out = (found - mean).abs() > (DEVIATIONS * deviation).max(TOLERATED * mean)
            && !(first - beyond..=third + beyond).contains(&found);
        if is_out { Judgement::Outlier } else { Judgement::Usual }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_phase_is_an_outlier_and_noise_is_none() {
        let mut detector = Detector::default();
        let noise = [2.0, 2.01, 1.99, 2.02, 1.98, 2.0, 2.03];
        let judged: Vec<Judgement> = noise.iter().map(|value| detector.judge(*value)).collect();
        assert!(judged[..4].iter().all(|judgement| *judgement == Judgement::Unknown), "{judged:?}");
        assert!(judged[4..].iter().all(|judgement| *judgement == Judgement::Usual), "{judged:?}");
        assert_eq!(detector.judge(3.0), Judgement::Outlier);
        // The new phase is learned anew.
        assert_eq!([3.0, 3.01, 2.99, 3.0].map(|value| detector.judge(value))[3], Judgement::Usual);
        assert_eq!(detector.judge(2.0), Judgement::Outlier);
    }

    #[test]
    fn a_drift_is_told_from_noise() {
        let drift = |values: &[f64]| {
            let mut detector = Detector::default();
            for value in values {
                detector.learn(*value);
            }
            detector.drift()
        };
        assert_eq!((drift(&[2.0, 2.1]), drift(&[2.0, 2.1, 1.95, 2.05, 2.0, 2.05])), (0.0, 0.0));
        assert!((drift(&[2.0, 2.1, 2.2, 2.3, 2.4]) - 0.1 / 2.2).abs() < 1e-9);
        assert!((drift(&[5.0, 4.0, 3.2, 2.7, 2.3]) - 0.2).abs() < 0.05, "a transient that dies away");
    }

    #[test]
    fn alike_periods_leave_room_for_a_twentieth() {
        let mut detector = Detector::default();
        for _ in 0..8 {
            detector.judge(4.0);
        }
        assert_eq!(detector.clone().judge(4.19), Judgement::Usual);
        assert_eq!(detector.judge(4.21), Judgement::Outlier);
    }
}
