//! Blocks by the rank of their wear. A block keeps its rank while it is predicted; of two with as many erases the lower id comes first.

use std::collections::VecDeque;

use super::{GROUPS, Model};
use crate::Period;
use crate::skew_normal::SkewNormal;

/// Blocks by their erases, and by id where these are equal.
fn by_wear(counts: &[u32]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..counts.len()).collect();
    order.sort_by_key(|block| (counts[*block], *block));
    order
}

/// The group variant of the dissertation (000, §3.3.2): sixteen groups of blocks by quantiles of their wear, a two-point line for the
/// mean of each; the distribution of all blocks is skew-normal, fitted to where the groups move it; each block gets the quantile of
/// its rank, F^-1((rank - 0.5) / N).
///
/// How parameters follow from groups is not published. Here each block is moved as the mean of its group, and the distribution is fitted
/// to the moved blocks, so that the spread inside of groups is not lost. Where all blocks have one count nothing is fitted.
#[derive(Clone, Debug, Default)]
pub(super) struct SkewNormalGroups {
    last: Option<Period>,
}

impl Model for SkewNormalGroups {
    fn observe(&mut self, period: &Period) {
        self.last = Some(period.clone());
    }

    fn predict(&self, now: &[u32], ahead: f64) -> Vec<f64> {
        let order = by_wear(now);
        let mut moved: Vec<f64> = now.iter().map(|count| f64::from(*count)).collect();
        let Some(last) = &self.last else { return moved };
        let size = order.len().div_ceil(GROUPS).max(1);
        for group in order.chunks(size) {
            let growth = group.iter().map(|block| last.rate(*block)).sum::<f64>() / group.len() as f64;
            group.iter().for_each(|block| moved[*block] += ahead * growth);
        }
        let Ok(fit) = SkewNormal::fit(&moved) else { return moved };
        let count = order.len() as f64;
        for (rank, block) in order.into_iter().enumerate() {
            moved[block] = fit.quantile((rank as f64 + 0.5) / count);
        }
        moved
    }
}

/// Each rank of wear grows as it grew over the window, whatever the distribution. Ours.
///
/// Which of the blocks in rotation is erased next is chance, and a line through one block's few erases carries that chance on for as
/// long as it predicts. Ranks part what goes on from what does not. G, the growth of the sorted counts, is M, the growth of the blocks
/// that stood at a rank when a period began, and a rest D. M is what a kind of blocks does: to rotate, to hold data that nobody writes,
/// to be held back or hurried by wear leveling. D is what sorting adds, the spread by chance: its variance grows with time, so that its
/// width grows as the root of time. With V the variance of all counts and V' its growth, the spread is t' = V / V' periods old, and
/// h periods ahead stand at now + h M + 2 t' (sqrt(1 + h / t') - 1) D. Where the variance does not grow, as under wear leveling,
/// M and D are G.
#[derive(Clone, Debug)]
pub(super) struct Ranks {
    seen: VecDeque<Growth>,
    window: usize,
}

/// How ranks grew in a period.
#[derive(Clone, Debug)]
struct Growth {
    span: f64,
    /// Of the sorted counts.
    sorted: Vec<f64>,
    /// Of the blocks that had the rank when it began.
    of_blocks: Vec<f64>,
    /// Of the variance of all counts.
    variance: f64,
}

impl Growth {
    fn of(period: &Period) -> Self {
        let order = by_wear(&period.before);
        let erases = |block: &usize| f64::from(period.after[*block] - period.before[*block]);
        let mut after = period.after.clone();
        after.sort_unstable();
        let grown = |(after, block): (&u32, &usize)| f64::from(*after) - f64::from(period.before[*block]);
        Self {
            span: period.span,
            sorted: after.iter().zip(&order).map(grown).collect(),
            of_blocks: order.iter().map(erases).collect(),
            variance: variance(&period.after) - variance(&period.before),
        }
    }
}

fn variance(counts: &[u32]) -> f64 {
    let count = counts.len().max(1) as f64;
    let mean = counts.iter().map(|value| f64::from(*value)).sum::<f64>() / count;
    counts.iter().map(|value| (f64::from(*value) - mean).powi(2)).sum::<f64>() / count
}

/// Growth of each rank for a period of life.
fn rates<'a>(blocks: usize, growths: impl Iterator<Item = (f64, &'a Vec<f64>)>) -> Vec<f64> {
    let (mut rates, mut spans) = (vec![0.0; blocks], 0.0);
    for (span, growth) in growths {
        spans += span;
        rates.iter_mut().zip(growth).for_each(|(rate, growth)| *rate += growth);
    }
    rates.iter_mut().for_each(|rate| *rate /= spans);
    smoothed(&rates)
}

impl Ranks {
    pub(super) fn new(window: usize) -> Self {
        Self { seen: VecDeque::new(), window }
    }

    /// Periods of D that come to the spread after so many periods.
    fn spread(&self, now: &[u32], ahead: f64) -> f64 {
        let span: f64 = self.seen.iter().map(|growth| growth.span).sum();
        let growth = self.seen.iter().map(|growth| growth.variance).sum::<f64>() / span;
        let age = variance(now) / growth;
        if growth > 0.0 && age > 0.0 { 2.0 * age * ((1.0 + ahead / age).sqrt() - 1.0) } else { ahead }
    }
}

/// Ranks on each side over which growth is smoothed: one in so many of all.
const NEIGHBORS: usize = 256;

/// The mean over the neighbors of each place.
fn smoothed(values: &[f64]) -> Vec<f64> {
    let reach = values.len() / NEIGHBORS;
    let mut sums = vec![0.0];
    for value in values {
        sums.push(sums[sums.len() - 1] + value);
    }
    (0..values.len())
        .map(|place| {
            let (from, to) = (place.saturating_sub(reach), (place + reach + 1).min(values.len()));
            (sums[to] - sums[from]) / (to - from) as f64
        })
        .collect()
}

impl Model for Ranks {
    fn observe(&mut self, period: &Period) {
        if self.seen.len() == self.window {
            self.seen.pop_front();
        }
        self.seen.push_back(Growth::of(period));
    }

    fn predict(&self, now: &[u32], ahead: f64) -> Vec<f64> {
        let mut predicted: Vec<f64> = now.iter().map(|count| f64::from(*count)).collect();
        if self.seen.is_empty() {
            return predicted;
        }
        let sorted = rates(now.len(), self.seen.iter().map(|growth| (growth.span, &growth.sorted)));
        // What a block is shows in its wear only after a while.
        let later = self.seen.iter().skip(self.seen.len() / 2);
        let of_blocks = rates(now.len(), later.map(|growth| (growth.span, &growth.of_blocks)));
        let spread = self.spread(now, ahead);
        for (rank, block) in by_wear(now).into_iter().enumerate() {
            predicted[block] += ahead * of_blocks[rank] + spread * (sorted[rank] - of_blocks[rank]);
        }
        predicted
    }
}
