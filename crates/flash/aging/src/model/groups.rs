//! Blocks by the rank of their wear. A block keeps its rank while it is predicted. Of blocks with equal erases the one with the
//! lower id comes first.

use std::collections::VecDeque;

use super::{GROUPS, Model};
use crate::skew_normal::SkewNormal;
use crate::{History, Period};

/// Block numbers sorted by erases, and by id where these are equal.
fn by_wear(counts: &[u32]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..counts.len()).collect();
    order.sort_by_key(|block| (counts[*block], *block));
    order
}

/// The group variant of the dissertation (000, §3.3.2). Sixteen groups of blocks, by quantiles of their wear, move on a two-point
/// line through the mean of each. The distribution of all blocks is skew-normal, fitted to where the groups move it. Each block
/// gets the quantile of its rank, F^-1((rank - 0.5) / N).
///
/// It is not published how the parameters follow from the groups. Here each block moves like the mean of its group, and the
/// distribution is fitted to the moved blocks, so that the spread within groups is not lost. If all blocks have the same count,
/// nothing is fitted.
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
/// Chance decides which block in rotation is erased next, and a line through one block's few erases extrapolates that chance.
/// Ranks separate what continues from chance. G, the growth of the sorted counts, is split into M, the growth of the blocks that
/// had a rank some periods ago, and a rest D.
///
/// M is the lasting behavior of a kind of blocks: to rotate, to hold data that are never written, to be held back or hurried by
/// wear leveling. It is measured over the later half of the window, by the ranks at its start, so that passing behavior, such as
/// to hold cold data until they are collected, is over.
///
/// D is what sorting adds, the spread by chance. Its variance grows with time, so that its width grows as the root of time. With
/// V the variance of all counts and V' its growth, the spread is t' = V / V' periods old. The prediction for h periods ahead is
/// now + h M + 2 t' (sqrt(1 + h / t') - 1) D, or now + h G if the variance does not grow, as under wear leveling.
#[derive(Clone, Debug)]
pub(super) struct Ranks {
    seen: History,
    /// For each period: growth of the sorted counts, and variances at both ends.
    sorted: VecDeque<Sorted>,
}

#[derive(Clone, Debug)]
struct Sorted {
    growth: Vec<f64>,
    variances: [f64; 2],
}

impl Sorted {
    fn of(period: &Period) -> Self {
        debug_assert_eq!(period.before.len(), period.after.len(), "a period ends with the blocks that it began with");
        let (mut before, mut after) = (period.before.clone(), period.after.clone());
        before.sort_unstable();
        after.sort_unstable();
        let growth = before.iter().zip(&after).map(|(before, after)| f64::from(after - before)).collect();
        Self { growth, variances: [variance(&before), variance(&after)] }
    }
}

fn variance(counts: &[u32]) -> f64 {
    let count = counts.len().max(1) as f64;
    let mean = counts.iter().map(|value| f64::from(*value)).sum::<f64>() / count;
    counts.iter().map(|value| (f64::from(*value) - mean).powi(2)).sum::<f64>() / count
}

impl Ranks {
    pub(super) fn new(window: usize) -> Self {
        Self { seen: History::new(window), sorted: VecDeque::new() }
    }

    fn span(&self, from: usize) -> f64 {
        self.seen.periods().skip(from).map(|period| period.span).sum()
    }

    /// Growth a period that sorting adds to the growth of the blocks, at the present width of the spread: a spread that is twice
    /// as wide grows half as fast.
    fn of_sorting(&self, now: &[u32], of_blocks: &[f64]) -> Vec<f64> {
        let (mut rates, span, width) = (vec![0.0; now.len()], self.span(0), variance(now).sqrt());
        for (period, Sorted { growth, variances: [before, after] }) in self.seen.periods().zip(&self.sorted) {
            let was = (0.5 * (before + after)).sqrt();
            let share = if width > 0.0 { (was / width).min(1.0) } else { 1.0 } / span;
            for ((rate, grown), of_block) in rates.iter_mut().zip(growth).zip(of_blocks) {
                *rate += share * (grown - period.span * of_block);
            }
        }
        smoothed(&rates)
    }

    /// Growth a period of the blocks that had each rank at the start of the window's later half.
    fn of_blocks(&self, blocks: usize) -> Vec<f64> {
        let half = self.seen.periods().len() / 2;
        let span = self.span(half);
        let mut erases = vec![0.0; blocks];
        for period in self.seen.periods().skip(half) {
            let grown = period.before.iter().zip(&period.after).map(|(before, after)| f64::from(after - before));
            erases.iter_mut().zip(grown).for_each(|(erases, grown)| *erases += grown / span);
        }
        let order = self.seen.periods().nth(half).map_or_else(Vec::new, |first| by_wear(&first.before));
        smoothed(&order.into_iter().map(|block| erases[block]).collect::<Vec<f64>>())
    }

    /// Number of periods of D that are added to the spread after `ahead` periods.
    fn spread(&self, now: &[u32], ahead: f64) -> f64 {
        let grown: f64 = self.sorted.iter().map(|sorted| sorted.variances[1] - sorted.variances[0]).sum();
        let growth = grown / self.span(0);
        let age = variance(now) / growth;
        if growth > 0.0 && age > 0.0 { 2.0 * age * ((1.0 + ahead / age).sqrt() - 1.0) } else { ahead }
    }
}

/// Growth is smoothed over 1/`NEIGHBORS` of all ranks on each side.
const NEIGHBORS: usize = 256;

/// The mean over the neighbors of each value.
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
        self.seen.push(period.clone()).expect("periods are of one drive");
        self.sorted.push_back(Sorted::of(period));
        if self.sorted.len() > self.seen.periods().len() {
            self.sorted.pop_front();
        }
        debug_assert_eq!(
            self.sorted.len(),
            self.seen.periods().len(),
            "each period that is kept has its sorted counts"
        );
    }

    fn predict(&self, now: &[u32], ahead: f64) -> Vec<f64> {
        let mut predicted: Vec<f64> = now.iter().map(|count| f64::from(*count)).collect();
        if self.seen.last().is_none() {
            return predicted;
        }
        let blocks = self.of_blocks(now.len());
        assert_eq!(blocks.len(), now.len(), "blocks that are predicted are those that were observed");
        let (sorting, spread) = (self.of_sorting(now, &blocks), self.spread(now, ahead));
        for (rank, block) in by_wear(now).into_iter().enumerate() {
            predicted[block] += ahead * blocks[rank] + spread * sorting[rank];
        }
        predicted
    }
}
