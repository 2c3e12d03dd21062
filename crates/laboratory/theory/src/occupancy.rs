//! The occupancy model: the share of the blocks that holds each number of valid pages, from the rates at which requests move a
//! block up or down.
//!
//! The state of a block of k pages is its number of valid pages, 0 to k. A request either programs a page, and its block goes up
//! by one, or invalidates a page, and its block goes down by one. Garbage collection swaps a block for a clean one and changes no
//! shares. Time is counted in requests a block. Source: mean-field study (003) §2. For most workloads the result is an
//! approximation, because rates are taken to depend on the state alone. Utilization is no parameter; it follows from the rates.

use crate::error::{TheoryError, distribution, within};

mod estimator;

pub use estimator::RateEstimator;

/// Shares of the blocks that hold i of `pages` valid pages, i = 0 to `pages`: binomial(`pages`, 1/2).
///
/// The fixed point under uniform requests (003, Theorem 1). Utilization is no parameter: it is a half, so this does not describe
/// fuller drives. `pages` from 1 on; above 1,074 the rarest states are 0.
pub fn half_full_occupancy(pages: u32) -> Vec<f64> {
    assert!(pages > 0, "a block has a page");
    let k = f64::from(pages);
    if pages <= 1000 {
        // 2^-k is exact, and so is every share whose numerator a float holds.
        let mut shares = vec![libm::exp2(-k)];
        for valid in 0..pages {
            let next = shares[valid as usize] * (f64::from(pages - valid) / f64::from(valid + 1));
            shares.push(next);
        }
        return shares;
    }
    let log = |i: f64| libm::lgamma(k + 1.0) - libm::lgamma(i + 1.0) - libm::lgamma(k - i + 1.0);
    normalized((0..=pages).map(|valid| log(f64::from(valid))).collect())
}

/// How often requests move a block of each state, in moves a request a block (the paper's rescaled p).
#[derive(Clone, Debug, PartialEq)]
pub struct Rates {
    /// From i to i + 1, i = 0 to k - 1.
    up: Vec<f64>,
    /// From i + 1 to i, i = 0 to k - 1.
    down: Vec<f64>,
}

impl Rates {
    /// Makes rates: `up[i]` from i to i + 1 valid pages and `down[i]` from i + 1 to i, i = 0 to k - 1.
    ///
    /// # Errors
    /// The two differ in length or are empty, or a rate is negative or not a number.
    pub fn new(up: Vec<f64>, down: Vec<f64>) -> Result<Self, TheoryError> {
        if up.is_empty() || up.len() != down.len() {
            let allowed = format!("one for each of the {} rates up, and at least 1", up.len());
            return Err(TheoryError::Length { what: "rates down", found: down.len(), allowed });
        }
        for rate in up.iter().chain(&down) {
            within("a transition rate", *rate, 0.0, f64::MAX)?;
        }
        Ok(Self { up, down })
    }

    /// The rates of uniform requests to blocks of `pages`: a block with i valid pages goes down at i / k and up at 1 - i / k.
    ///
    /// # Errors
    /// `pages` is 0.
    pub fn uniform(pages: u32) -> Result<Self, TheoryError> {
        within("pages of a block", f64::from(pages), 1.0, f64::MAX)?;
        let share = |valid: u32| f64::from(valid) / f64::from(pages);
        Self::new((0..pages).map(|valid| share(pages - valid)).collect(), (1..=pages).map(share).collect())
    }

    /// Pages of a block.
    pub fn pages(&self) -> u32 {
        self.up.len() as u32
    }

    /// From i to i + 1 valid pages, i = 0 to k - 1.
    pub fn up(&self) -> &[f64] {
        &self.up
    }

    /// From i + 1 to i valid pages, i = 0 to k - 1.
    pub fn down(&self) -> &[f64] {
        &self.down
    }

    /// Shares of the blocks by valid pages, k + 1 of them, that the rates do not change (003, Theorem 4).
    ///
    /// pi\[i+1\] = pi\[i\] up\[i\] / down\[i\], in logarithms, so that no product leaves a float's range. States that are never
    /// entered or left have share 0, and so has a state that is left for good.
    ///
    /// # Errors
    /// All rates are 0, or the rates separate several groups of states, so that the shares depend on the start.
    pub fn fixed_point(&self) -> Result<Vec<f64>, TheoryError> {
        let (first, last) = self.recurrent()?;
        Ok(self.at_rest(first, last))
    }

    /// Shares of the blocks by valid pages, k + 1 of them, in the long run from `start`. This is [`Rates::fixed_point`] where
    /// that exists. Where the rates separate groups of states, each group gets the share of the blocks that are in it or move
    /// into it.
    ///
    /// A real drive has separate groups: no request reaches its free blocks, which hold nothing valid.
    ///
    /// # Errors
    /// `start` is not a distribution over 0 to k valid pages.
    pub fn fixed_point_from(&self, start: &[f64]) -> Result<Vec<f64>, TheoryError> {
        self.check_start(start)?;
        let mut shares = vec![0.0; start.len()];
        let groups = self.groups();
        // Blocks that leave a group for good: first upwards from below, then downwards from above.
        let mut held: Vec<f64> = groups.iter().map(|(first, last)| start[*first..=*last].iter().sum()).collect();
        let ends: Vec<(bool, bool)> = groups.iter().map(|(first, last)| self.leaks(*first, *last)).collect();
        for place in 0..groups.len() {
            if let (_, true) = ends[place] {
                // Blocks from below enter at the first state; those that were there leave by chance.
                let share = self.share_upwards(groups[place], start, held[place]);
                held[place + 1] += share;
                held[place] -= share;
            }
        }
        for place in (0..groups.len()).rev() {
            if let (true, _) = ends[place] {
                held[place - 1] += held[place];
                held[place] = 0.0;
            }
        }
        for ((first, last), held) in groups.into_iter().zip(held).filter(|(_, held)| *held > 0.0) {
            shares.iter_mut().zip(self.at_rest(first, last)).for_each(|(share, rest)| *share += held * rest);
        }
        Ok(shares)
    }

    /// Share of the blocks of a group that leave upwards, if the group leaks there: all, unless it also leaks downwards.
    fn share_upwards(&self, (first, last): (usize, usize), start: &[f64], held: f64) -> f64 {
        if !self.leaks(first, last).0 {
            return held;
        }
        // A birth-and-death chain between two ends: the chances follow from its scale function.
        let mut steps = vec![1.0];
        for state in first..=last {
            let step = steps[state - first] * self.down[state - 1] / self.up[state];
            steps.push(step);
        }
        let whole: f64 = steps.iter().sum();
        let chance = |state: usize| steps[..=state - first].iter().sum::<f64>() / whole;
        let own: f64 = (first..=last).map(|state| start[state] * chance(state)).sum();
        let entered = held - start[first..=last].iter().sum::<f64>();
        own + entered.max(0.0) * chance(first)
    }

    /// The final shares of the blocks within one group of states.
    fn at_rest(&self, first: usize, last: usize) -> Vec<f64> {
        let mut log = vec![f64::NEG_INFINITY; self.up.len() + 1];
        log[first] = 0.0;
        for state in first..last {
            log[state + 1] = log[state] + libm::log(self.up[state]) - libm::log(self.down[state]);
        }
        normalized(log)
    }

    /// Whether blocks can leave a group downwards, and upwards.
    fn leaks(&self, first: usize, last: usize) -> (bool, bool) {
        (first > 0 && self.down[first - 1] > 0.0, last < self.up.len() && self.up[last] > 0.0)
    }

    /// First and last states of the groups within which blocks go to and fro, from 0 valid pages up.
    fn groups(&self) -> Vec<(usize, usize)> {
        let k = self.up.len();
        let mut groups = Vec::new();
        let mut first = 0;
        for state in 0..=k {
            if state == k || self.up[state] <= 0.0 || self.down[state] <= 0.0 {
                groups.push((first, state));
                first = state + 1;
            }
        }
        groups
    }

    /// The one group of states in which blocks end.
    fn recurrent(&self) -> Result<(usize, usize), TheoryError> {
        let k = self.up.len();
        let is_end = |(first, last): &(usize, usize)| {
            let entered = (*last < k && self.down[*last] > 0.0) || (*first > 0 && self.up[*first - 1] > 0.0);
            self.leaks(*first, *last) == (false, false) && (entered || first < last)
        };
        let groups: Vec<(usize, usize)> = self.groups().into_iter().filter(is_end).collect();
        let no = |reason: String| Err(TheoryError::NoFixedPoint { reason });
        match groups.as_slice() {
            [group] => Ok(*group),
            [] => no("all of them are 0".into()),
            [(_, one), (other, _), ..] => {
                no(format!("blocks with up to {one} valid pages and those with {other} or more stay apart"))
            }
        }
    }

    fn check_start(&self, start: &[f64]) -> Result<(), TheoryError> {
        distribution("shares of the blocks", start)?;
        if start.len() != self.up.len() + 1 {
            let allowed = format!("{}, for 0 to {} valid pages", self.up.len() + 1, self.up.len());
            return Err(TheoryError::Length { what: "shares of the blocks", found: start.len(), allowed });
        }
        Ok(())
    }

    /// How fast each of the k + 1 shares changes: the right-hand side of equations (5) and (9) of 003. The changes add up to 0.
    pub fn derivative(&self, shares: &[f64]) -> Vec<f64> {
        assert_eq!(shares.len(), self.up.len() + 1, "there is a share for 0 to k valid pages");
        let mut change = vec![0.0; shares.len()];
        for (state, (up, down)) in self.up.iter().zip(&self.down).enumerate() {
            let flow = up * shares[state] - down * shares[state + 1];
            change[state] -= flow;
            change[state + 1] += flow;
        }
        change
    }

    /// The shares after `requests_per_block` requests a block, starting from `start`.
    ///
    /// The equations are linear, so they are solved by uniformization: a Poisson mixture of the steps of a chain. This is exact
    /// within 10^-12 for any time, without a step size. The cost grows with `requests_per_block` times the largest rate.
    ///
    /// # Errors
    /// `start` is not a distribution over 0 to k valid pages, or the time is negative or not a number.
    pub fn after(&self, start: &[f64], requests_per_block: f64) -> Result<Vec<f64>, TheoryError> {
        self.check_start(start)?;
        within("requests a block", requests_per_block, 0.0, 1e9)?;
        // Beyond this mean, e^-mean and with it the mixture's weights lose digits.
        const MEAN_MAX: f64 = 32.0;
        let leaving = |state: usize| {
            self.up.get(state).copied().unwrap_or(0.0) + state.checked_sub(1).map_or(0.0, |below| self.down[below])
        };
        let fastest = (0..start.len()).map(leaving).fold(0.0, f64::max);
        let steps = libm::ceil(fastest * requests_per_block / MEAN_MAX).max(1.0);
        let mean = fastest * requests_per_block / steps;
        let mut shares = start.to_vec();
        for _ in 0..steps as u64 {
            shares = self.poisson_mixture(&shares, mean, fastest);
        }
        Ok(shares)
    }

    /// One stretch of the uniformized chain, with `mean` steps on average.
    fn poisson_mixture(&self, start: &[f64], mean: f64, fastest: f64) -> Vec<f64> {
        let mut weight = libm::exp(-mean);
        let mut state = start.to_vec();
        let mut mixed: Vec<f64> = state.iter().map(|share| weight * share).collect();
        let mut rest = 1.0 - weight;
        let mut step = 0.0;
        while rest > 1e-15 && step < 1000.0 {
            step += 1.0;
            weight *= mean / step;
            rest -= weight;
            let change = self.derivative(&state);
            for ((share, change), sum) in state.iter_mut().zip(change).zip(&mut mixed) {
                *share = (*share + change / fastest).max(0.0);
                *sum += weight * *share;
            }
        }
        let sum: f64 = mixed.iter().sum();
        mixed.iter_mut().for_each(|share| *share /= sum);
        mixed
    }
}

/// Half of the sum of absolute differences of two distributions: 0 if they are equal, 1 if they have nothing in common.
///
/// # Errors
/// One is not a distribution, or they differ in length.
pub fn total_variation(one: &[f64], other: &[f64]) -> Result<f64, TheoryError> {
    distribution("shares of the blocks", one)?;
    distribution("shares of the blocks", other)?;
    if one.len() != other.len() {
        return Err(TheoryError::Length {
            what: "shares of the blocks",
            found: other.len(),
            allowed: one.len().to_string(),
        });
    }
    Ok(one.iter().zip(other).map(|(one, other)| (one - other).abs()).sum::<f64>() / 2.0)
}

/// Shares from logarithms that are known up to a common term.
fn normalized(log: Vec<f64>) -> Vec<f64> {
    let most = log.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    assert!(most.is_finite(), "some state has a share of the blocks");
    let mut shares: Vec<f64> = log.into_iter().map(|log| libm::exp(log - most)).collect();
    let sum: f64 = shares.iter().sum();
    shares.iter_mut().for_each(|share| *share /= sum);
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: &[f64], want: &[f64], by: f64) {
        assert_eq!(found.len(), want.len());
        for (place, (found, want)) in found.iter().zip(want).enumerate() {
            assert!((found - want).abs() <= by, "{place}: {found} for {want}");
        }
    }

    #[test]
    fn half_full_blocks_are_binomial() {
        assert_eq!(half_full_occupancy(2), [0.25, 0.5, 0.25]);
        assert_eq!(half_full_occupancy(4), [0.0625, 0.25, 0.375, 0.25, 0.0625]);
        for pages in [64, 256, 1000, 1024, 4096] {
            let sum: f64 = half_full_occupancy(pages).iter().sum();
            assert!((sum - 1.0).abs() < 1e-12, "{pages} {sum}");
        }
        // Both formulas agree where they meet.
        let ratio = half_full_occupancy(1001)[500] / half_full_occupancy(1000)[500];
        assert!((ratio - 1001.0 / 501.0 / 2.0).abs() < 1e-9, "{ratio}");
    }

    #[test]
    fn uniform_requests_lead_to_the_binomial() {
        for pages in [1, 2, 16, 64, 256] {
            let rates = Rates::uniform(pages).unwrap();
            near(&rates.fixed_point().unwrap(), &half_full_occupancy(pages), 1e-13);
        }
    }

    #[test]
    fn the_fixed_point_is_the_products_of_the_paper() {
        // Theorem 4 by its products: pi_k = 1 / (1 + sum over i of prod down / prod up).
        let (up, down) = (vec![0.3, 1.7, 0.2, 2.5, 0.9], vec![1.1, 0.4, 0.8, 0.05, 3.0]);
        let k = up.len();
        let ratio = |from: usize| down[from..k].iter().product::<f64>() / up[from..k].iter().product::<f64>();
        let top = 1.0 / (1.0 + (0..k).map(ratio).sum::<f64>());
        let want: Vec<f64> = (0..k).map(|from| top * ratio(from)).chain([top]).collect();
        let rates = Rates::new(up.clone(), down.clone()).unwrap();
        let found = rates.fixed_point().unwrap();
        near(&found, &want, 1e-15);
        near(&rates.derivative(&found), &vec![0.0; k + 1], 1e-15);
    }

    #[test]
    fn unvisited_states_have_no_share() {
        // Only 2 to 4 valid pages of 6 are ever seen; 5 is left for good.
        let rates = Rates::new(vec![0.0, 0.0, 1.0, 2.0, 0.0, 0.0], vec![0.0, 0.0, 2.0, 1.0, 0.5, 0.0]).unwrap();
        near(&rates.fixed_point().unwrap(), &[0.0, 0.0, 0.5, 0.25, 0.5, 0.0, 0.0].map(|share| share / 1.25), 1e-15);
        // All blocks end full.
        let rates = Rates::new(vec![1.0, 1.0], vec![0.0, 0.0]).unwrap();
        assert_eq!(rates.fixed_point().unwrap(), [0.0, 0.0, 1.0]);
        let none = Rates::new(vec![0.0, 0.0], vec![0.0, 0.0]).unwrap().fixed_point().unwrap_err();
        assert_eq!(none.to_string(), "the transition rates have no unique fixed point: all of them are 0");
        let apart = Rates::new(vec![1.0, 0.0, 1.0], vec![1.0, 0.0, 1.0]).unwrap().fixed_point().unwrap_err();
        assert!(apart.to_string().ends_with("blocks with up to 1 valid pages and those with 2 or more stay apart"));
    }

    #[test]
    fn groups_that_are_apart_keep_their_blocks() {
        // 0 alone; 1 and 2; 3, which leaks down and up; 4, which is left upwards; 5.
        let (up, down) = (vec![0.0, 1.0, 0.0, 0.5, 2.0], vec![0.0, 3.0, 1.5, 0.0, 0.0]);
        let rates = Rates::new(up, down).unwrap();
        let start = [0.1, 0.2, 0.1, 0.4, 0.1, 0.1];
        let found = rates.fixed_point_from(&start).unwrap();
        // A quarter of the blocks in 3 leave upwards.
        let (low, high) = (0.3 + 0.3, 0.1 + 0.1 + 0.1);
        near(&found, &[0.1, 0.75 * low, 0.25 * low, 0.0, 0.0, high], 1e-12);
        near(&rates.after(&start, 200.0).unwrap(), &found, 1e-9);
        let uniform = Rates::uniform(4).unwrap();
        near(&uniform.fixed_point_from(&[1.0, 0.0, 0.0, 0.0, 0.0]).unwrap(), &half_full_occupancy(4), 1e-15);
    }

    #[test]
    fn blocks_come_to_the_fixed_point_in_forty_requests_a_page() {
        let rates = Rates::uniform(16).unwrap();
        let mut full = vec![0.0; 17];
        full[16] = 1.0;
        let found = rates.after(&full, 640.0).unwrap();
        let off: f64 = found.iter().zip(half_full_occupancy(16)).map(|(one, other)| (one - other).abs()).sum();
        assert!(off < 1e-6, "{off}");
        // On the way: pages are independent, so full blocks are binomial with chance (1 + e^(-2 t / k)) / 2.
        let (time, chance) = (5.0, (1.0 + libm::exp(-10.0 / 16.0)) / 2.0);
        let found = rates.after(&full, time).unwrap();
        let want =
            |i: i32| half_full_occupancy(16)[i as usize] * 65536.0 * chance.powi(i) * (1.0 - chance).powi(16 - i);
        near(&found, &(0..=16).map(want).collect::<Vec<_>>(), 1e-12);
        near(&rates.after(&full, 0.0).unwrap(), &full, 0.0);
    }

    #[test]
    fn a_general_workload_moves_as_small_steps_do() {
        let rates = Rates::new(vec![0.3, 1.7, 0.2], vec![1.1, 0.4, 0.8]).unwrap();
        let start = [0.1, 0.2, 0.3, 0.4];
        let mut shares = start.to_vec();
        let steps = 200_000;
        for _ in 0..steps {
            let change = rates.derivative(&shares);
            let time = 3.0 / f64::from(steps);
            shares.iter_mut().zip(change).for_each(|(share, change)| *share += time * change);
        }
        near(&rates.after(&start, 3.0).unwrap(), &shares, 1e-5);
    }

    #[test]
    fn bad_rates_are_refused_in_words() {
        let text = |result: Result<Rates, TheoryError>| result.unwrap_err().to_string();
        assert_eq!(
            text(Rates::new(vec![1.0], vec![])),
            "rates down: found 0 values, allowed are one for each of the 1 rates up, and at least 1"
        );
        assert!(text(Rates::new(vec![f64::NAN], vec![1.0])).starts_with("a transition rate: found NaN"));
        let rates = Rates::uniform(2).unwrap();
        let error = rates.after(&[0.5, 0.5, 0.5], 1.0).unwrap_err().to_string();
        assert_eq!(error, "shares of the blocks add up to 1.5, allowed is 1 within 0.000001");
        assert!(rates.after(&[0.5, 0.5], 1.0).is_err() && rates.after(&[1.0, 0.0, 0.0], -1.0).is_err());
    }
}
