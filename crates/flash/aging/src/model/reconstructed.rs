//! DEVS and CML, with which the dissertation (000, ch. 3) compares, reconstructed from its words: their code is not released.

use super::Model;
use crate::regression::least_squares;
use crate::{History, Period};

/// Number of periods from which DEVS chooses, and to which it is fitted.
const CHOSEN_FROM: usize = 4;

/// A candidate fitted to a block: its erases as a polynomial of the periods since the fit.
#[derive(Clone, Copy, Debug, Default)]
struct Fitted {
    linear: f64,
    quadratic: f64,
}

/// DEVS, a reconstruction: it "considers multiple model candidates and selects the best one for prediction. This model, however,
/// is not always updated before each prediction stage". For each block it chooses one of the last value, a line, a parabola, and
/// a line through the three latest values, by the error of one step ahead over the first four periods. The choice is kept. Its
/// coefficients are fitted to the latest four periods before the first of each `refit` prediction stages, or never again if that
/// is 0. As for all models, the time of a fit is simulated time.
#[derive(Clone, Debug)]
pub(super) struct Devs {
    refit: u32,
    latest: History,
    /// For each block the place of its candidate in [`CANDIDATES`]; empty until it chose.
    candidates: Vec<usize>,
    /// The latest fit, and when it was made, in periods of life.
    fitted: Vec<Fitted>,
    since: f64,
    /// Periods of life at the end of the latest observed one.
    now: f64,
    /// Prediction stages since the choice.
    stages: u32,
}

/// The candidates, in the order in which equal ones are chosen.
const CANDIDATES: [fn(&[f64]) -> Fitted; 4] = [
    |_| Fitted::default(),
    |values| Fitted { linear: slope(values), quadratic: 0.0 },
    parabola,
    |values| Fitted { linear: slope(&values[values.len().saturating_sub(3)..]), quadratic: 0.0 },
];

/// Slope of the line of least squares through values one period apart.
fn slope(values: &[f64]) -> f64 {
    let points: Vec<(f64, f64)> = values.iter().enumerate().map(|(time, value)| (time as f64, *value)).collect();
    least_squares(&points).1
}

/// The parabola of least squares through values one period apart, as growth from the latest value. With fewer than three values
/// it is a line.
fn parabola(values: &[f64]) -> Fitted {
    let count = values.len();
    if count < 3 {
        return Fitted { linear: slope(values), quadratic: 0.0 };
    }
    // About the middle odd moments vanish, so that line and parabola separate.
    let middle = (count as f64 - 1.0) / 2.0;
    let at = |time: usize| time as f64 - middle;
    let sum =
        |of: &dyn Fn(f64, f64) -> f64| values.iter().enumerate().map(|(time, value)| of(at(time), *value)).sum::<f64>();
    let (second, fourth) = (sum(&|x, _| x * x), sum(&|x, _| x.powi(4)));
    let (total, weighed) = (sum(&|_, y| y), sum(&|x, y| x * x * y));
    let quadratic = (count as f64 * weighed - second * total) / (count as f64 * fourth - second * second);
    let linear = sum(&|x, y| x * y) / second;
    Fitted { linear: linear + 2.0 * quadratic * middle, quadratic }
}

impl Fitted {
    fn growth(self, from: f64, to: f64) -> f64 {
        let at = |time: f64| self.linear * time + self.quadratic * time * time;
        at(to) - at(from)
    }
}

/// The place of the candidate whose steps over these values had the smallest error.
fn chosen(values: &[f64]) -> usize {
    let error = |candidate: fn(&[f64]) -> Fitted| -> f64 {
        let step = |known: usize| {
            let (before, next) = (&values[..known], values[known]);
            (before[known - 1] + candidate(before).growth(0.0, 1.0) - next).abs()
        };
        (2..values.len()).map(step).sum()
    };
    let mut best = (f64::INFINITY, 0);
    for (place, candidate) in CANDIDATES.into_iter().enumerate() {
        let found = error(candidate);
        if found < best.0 - 1e-9 {
            best = (found, place);
        }
    }
    best.1
}

impl Devs {
    /// Without observations. The coefficients are fitted anew every `refit` prediction stages; 0: never.
    pub(super) fn new(refit: u32) -> Self {
        Self {
            refit,
            latest: History::new(CHOSEN_FROM),
            candidates: Vec::new(),
            fitted: Vec::new(),
            since: 0.0,
            now: 0.0,
            stages: 0,
        }
    }

    /// Simulated erases of a block at the ends of the latest periods, from 0 at the start of the first.
    fn values(&self, block: usize) -> Vec<f64> {
        let mut erases = 0.0;
        let ends = self.latest.periods().map(|period| {
            erases += period.rate(block);
            erases
        });
        std::iter::once(0.0).chain(ends).collect()
    }
}

impl Model for Devs {
    fn needs(&self) -> usize {
        CHOSEN_FROM
    }

    fn observe(&mut self, period: &Period) {
        let has_chosen = !self.candidates.is_empty();
        // What lies between two observed periods was predicted.
        self.stages += u32::from(has_chosen && period.from > self.now + 1e-9);
        self.now = period.from + period.span;
        self.latest.push(period.clone()).expect("periods are of one drive");
        let is_due = self.refit > 0 && self.stages.is_multiple_of(self.refit);
        if self.latest.periods().len() < CHOSEN_FROM || has_chosen && !is_due {
            return;
        }
        let blocks = period.after.len();
        if !has_chosen {
            self.candidates = (0..blocks).map(|block| chosen(&self.values(block))).collect();
        }
        let fitted = |(block, place): (usize, &usize)| CANDIDATES[*place](&self.values(block));
        self.fitted = self.candidates.iter().enumerate().map(fitted).collect();
        self.since = self.now;
    }

    fn predict(&self, now: &[u32], ahead: f64) -> Vec<f64> {
        let counts = now.iter().map(|count| f64::from(*count));
        if self.fitted.is_empty() {
            return counts.collect();
        }
        assert_eq!(self.fitted.len(), now.len(), "blocks that are predicted are those that were observed");
        let from = self.now - self.since;
        counts.zip(&self.fitted).map(|(count, fitted)| count + fitted.growth(from, from + ahead)).collect()
    }
}

/// CML, a reconstruction: it "continuously incorporates the latest data to update its model". It is a line of least squares for
/// each block over all periods since the beginning: old periods never lose weight. Its erases are only those that were simulated,
/// since a projection is never taken for an observation. Its line gives the erases themselves and not their growth, so that it
/// falls behind a drive that was projected.
#[derive(Clone, Debug, Default)]
pub(super) struct Cml {
    /// Sums over the points: of 1, times, and squares of times.
    times: [f64; 3],
    /// For each block: simulated erases, sum over the points of erases, and of erases times times.
    blocks: Vec<[f64; 3]>,
    now: f64,
}

impl Cml {
    fn add(&mut self, time: f64) {
        for (sum, value) in self.times.iter_mut().zip([1.0, time, time * time]) {
            *sum += value;
        }
        for [simulated, sum, by_time] in &mut self.blocks {
            *sum += *simulated;
            *by_time += *simulated * time;
        }
    }
}

impl Model for Cml {
    fn observe(&mut self, period: &Period) {
        if self.blocks.is_empty() {
            self.blocks = period.before.iter().map(|count| [f64::from(*count), 0.0, 0.0]).collect();
            self.add(period.from);
        }
        assert_eq!(self.blocks.len(), period.after.len(), "all periods are of the same blocks");
        for ([simulated, ..], (before, after)) in self.blocks.iter_mut().zip(period.before.iter().zip(&period.after)) {
            *simulated += f64::from(after - before);
        }
        self.now = period.from + period.span;
        self.add(self.now);
    }

    fn predict(&self, now: &[u32], ahead: f64) -> Vec<f64> {
        let [count, times, squares] = self.times;
        let at = self.now + ahead;
        let spread = count * squares - times * times;
        let of = |[simulated, sum, by_time]: &[f64; 3]| {
            if spread <= 0.0 {
                return *simulated;
            }
            let slope = (count * by_time - times * sum) / spread;
            (sum - slope * times) / count + slope * at
        };
        if self.blocks.is_empty() {
            now.iter().map(|count| f64::from(*count)).collect()
        } else {
            self.blocks.iter().map(of).collect()
        }
    }
}
