//! Transition rates estimated from a run or a trace.

use super::Rates;
use crate::error::TheoryError;

/// Estimates [`Rates`] from the moves of single blocks: the mean over requests of \[a block moved i to j\] / n_i (003, equation
/// 8), times the number of blocks. Constant work a request.
///
/// A request that comes while no block is in state i says nothing about moves from there: the paper's fraction is 0 / 0. The mean
/// leaves such requests out; counting them as 0 would make rare states look slower than they are.
///
/// A request is one page programmed or one invalidated, so a host write that replaces data is two.
#[derive(Clone, Debug)]
pub struct RateEstimator {
    /// Blocks by valid pages.
    blocks: Vec<u64>,
    up: Vec<f64>,
    down: Vec<f64>,
    requests: u64,
    /// For each state, the sum over requests of the number of blocks in it, up to the request in `summed`.
    seen: Vec<f64>,
    /// For each state, the number of those requests that came while a block was in it.
    occupied: Vec<u64>,
    summed: Vec<u64>,
}

impl RateEstimator {
    /// Makes an estimator for blocks of k pages, of which `blocks[i]` now hold i valid pages, i = 0 to k.
    ///
    /// # Errors
    /// Fewer than two states, or no block.
    pub fn new(blocks: Vec<u64>) -> Result<Self, TheoryError> {
        if blocks.len() < 2 {
            let allowed = "2 or more, for 0 to k valid pages".to_owned();
            return Err(TheoryError::Length { what: "counts of blocks", found: blocks.len(), allowed });
        }
        crate::error::within("blocks", blocks.iter().sum::<u64>() as f64, 1.0, f64::MAX)?;
        let states = blocks.len();
        Ok(Self {
            blocks,
            up: vec![0.0; states - 1],
            down: vec![0.0; states - 1],
            requests: 0,
            seen: vec![0.0; states],
            occupied: vec![0; states],
            summed: vec![0; states],
        })
    }

    /// Records that a request programmed a page of a block that held `valid` valid pages.
    ///
    /// Panics if no block held `valid` pages, or if `valid` is all of them.
    pub fn programmed(&mut self, valid: u32) {
        let from = valid as usize;
        self.up[from] += 1.0 / self.blocks[from] as f64;
        self.move_block(from, from + 1);
        self.requests += 1;
    }

    /// Records that a request invalidated a page of a block that held `valid` valid pages.
    ///
    /// Panics if no block held `valid` pages, or if `valid` is 0.
    pub fn invalidated(&mut self, valid: u32) {
        let from = valid as usize;
        self.down[from - 1] += 1.0 / self.blocks[from] as f64;
        self.move_block(from, from - 1);
        self.requests += 1;
    }

    /// Records that between two requests a block went from `from` to `to` valid pages. This is garbage collection, which is no
    /// request.
    ///
    /// Panics if no block held `from` pages.
    pub fn collected(&mut self, from: u32, to: u32) {
        self.move_after(from as usize, to as usize, self.requests);
    }

    fn move_block(&mut self, from: usize, to: usize) {
        self.move_after(from, to, self.requests + 1);
    }

    /// Moves a block after the first `requests` requests have seen it in its old state.
    fn move_after(&mut self, from: usize, to: usize, requests: u64) {
        assert!(self.blocks[from] > 0, "a block that moves from {from} valid pages held as many");
        for state in [from, to] {
            self.sum_up(state, requests);
        }
        self.blocks[from] -= 1;
        self.blocks[to] += 1;
    }

    fn sum_up(&mut self, state: usize, now: u64) {
        debug_assert!(self.summed[state] <= now, "requests are summed up in their order");
        let requests = now - self.summed[state];
        self.seen[state] += self.blocks[state] as f64 * requests as f64;
        self.occupied[state] += if self.blocks[state] > 0 { requests } else { 0 };
        self.summed[state] = now;
    }

    /// Requests so far.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// Blocks by valid pages, 0 to k, at present.
    pub fn blocks(&self) -> &[u64] {
        &self.blocks
    }

    /// The estimated rates.
    ///
    /// # Errors
    /// No request was seen.
    pub fn rates(&self) -> Result<Rates, TheoryError> {
        crate::error::within("requests that rates are estimated from", self.requests as f64, 1.0, f64::MAX)?;
        let all = self.blocks.iter().sum::<u64>() as f64;
        let scaled = |sums: &[f64], first: usize| {
            let rate = |(place, sum): (usize, &f64)| {
                let state = first + place;
                let since = self.requests - self.summed[state];
                let occupied = self.occupied[state] + if self.blocks[state] > 0 { since } else { 0 };
                if *sum > 0.0 { sum * all / occupied as f64 } else { 0.0 }
            };
            sums.iter().enumerate().map(rate).collect()
        };
        Rates::new(scaled(&self.up, 0), scaled(&self.down, 1))
    }

    /// Shares of the blocks by valid pages, 0 to k, averaged over the requests.
    ///
    /// # Errors
    /// No request was seen.
    pub fn occupancy(&self) -> Result<Vec<f64>, TheoryError> {
        crate::error::within("requests that shares are estimated from", self.requests as f64, 1.0, f64::MAX)?;
        let all = self.blocks.iter().sum::<u64>() as f64 * self.requests as f64;
        let states = self.seen.iter().zip(&self.blocks).zip(&self.summed);
        // The sums include the request that moved the block. The state after the last request has not been seen by any request.
        let seen =
            states.map(|((seen, blocks), summed)| seen + *blocks as f64 * (self.requests as f64 - *summed as f64));
        Ok(seen.map(|seen| seen / all).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::occupancy::total_variation;

    #[test]
    fn rates_are_the_means_of_the_definition() {
        // 3 blocks of 2 pages with 0, 2 and 2 valid ones; four requests by hand.
        let mut estimator = RateEstimator::new(vec![1, 0, 2]).unwrap();
        assert!(estimator.rates().is_err() && estimator.occupancy().is_err());
        estimator.invalidated(2);
        estimator.programmed(0);
        estimator.invalidated(1);
        estimator.programmed(1);
        // Blocks before each request: (1,0,2), (1,1,1), (0,2,1), (1,1,1). One is empty, then half full, in three of four.
        let rates = estimator.rates().unwrap();
        assert_eq!(rates.up(), [1.0, 1.0]);
        assert_eq!(rates.down(), [0.5, 0.5 * 3.0 / 4.0]);
        assert_eq!((estimator.blocks(), estimator.requests()), ([1u64, 0, 2].as_slice(), 4));
        let want = [3.0 / 12.0, 4.0 / 12.0, 5.0 / 12.0];
        let found = estimator.occupancy().unwrap();
        assert!(found.iter().zip(want).all(|(found, want)| (found - want).abs() < 1e-15), "{found:?}");
        // Collection is no request: the next request sees its result.
        estimator.collected(0, 1);
        estimator.invalidated(1);
        assert_eq!((estimator.requests(), estimator.blocks()), (5, [1u64, 0, 2].as_slice()));
        let found = estimator.occupancy().unwrap();
        let want = [3.0 / 15.0, 5.0 / 15.0, 7.0 / 15.0];
        assert!(found.iter().zip(want).all(|(found, want)| (found - want).abs() < 1e-15), "{found:?}");
    }

    #[test]
    fn uniform_requests_are_recognized() {
        // 500 blocks of 8 pages; a request flips a random page. A fixed linear congruence will do for chance.
        let (blocks, pages) = (500usize, 8u32);
        let mut valid = vec![pages; blocks];
        let mut start = vec![0; 9];
        start[8] = blocks as u64;
        let mut estimator = RateEstimator::new(start).unwrap();
        let mut state = 1u64;
        for _ in 0..2_000_000 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let block = (state >> 33) as usize % blocks;
            let page = (state >> 20) as u32 % pages;
            if page < valid[block] {
                estimator.invalidated(valid[block]);
                valid[block] -= 1;
            } else {
                estimator.programmed(valid[block]);
                valid[block] += 1;
            }
        }
        let (rates, uniform) = (estimator.rates().unwrap(), Rates::uniform(pages).unwrap());
        for (found, want) in rates.up().iter().zip(uniform.up()).chain(rates.down().iter().zip(uniform.down())) {
            assert!((found / want - 1.0).abs() < 0.03, "{found} for {want}");
        }
        let found = total_variation(&estimator.occupancy().unwrap(), &rates.fixed_point().unwrap()).unwrap();
        assert!(found < 0.005, "{found}");
    }
}
