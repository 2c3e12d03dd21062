//! Write amplification of drives by their spare factor: mean-field models with utilization.
//!
//! Unlike the occupancy model these take into account how full a drive is. There are many blocks, closed blocks hold all data,
//! and a victim's valid pages and then host pages fill the next block (one open block). From then on the valid pages of a block
//! only fall: pages are invalidated one by one until the block is the victim. Sources: B. Van Houdt, "A mean field model for a
//! class of garbage collection algorithms in flash-based solid state drives", SIGMETRICS 2013, and "Performance of garbage
//! collection algorithms for flash-based solid state drives with hot/cold data", Performance Evaluation 2013; FIFO after P.
//! Desnoyers, "Analytic Models of SSD Write Performance", ACM TOS 2014. Here the models have one unknown, the host pages that a
//! victim gains, which is balanced by a falling sweep over the states; no differential equation is integrated.

use crate::error::{TheoryError, within};
use crate::roots::falling_root;

mod fifo;
mod hot_cold;
mod popularity;
mod separate;

pub use fifo::{Class, fifo};
pub use hot_cold::{HOT_COLD_PAGES_MAX, Mix, hot_cold};
pub use popularity::two_temperatures;
pub use separate::{Separated, separated, separated_best};

/// How the victim is chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Victims {
    /// Any, with equal chances.
    Random,
    /// The emptiest of this number of drawn blocks, from 1 on. A fraction mixes its two neighbors.
    DChoices(f64),
    /// The emptiest of all.
    Greedy,
}

/// The flash of a model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Blocks {
    /// Pages of a block, 1 or more.
    pub pages: u32,
    /// (Physical - logical) / physical pages, without the reserve of garbage collection; above 0 and below 1.
    pub spare_factor: f64,
}

impl Blocks {
    /// Checks the ranges.
    pub(crate) fn check(&self, pages_max: u32) -> Result<(), TheoryError> {
        within("pages of a block", f64::from(self.pages), 1.0, f64::from(pages_max))?;
        within("the spare factor", self.spare_factor, 0.001, 0.999)
    }

    /// The blocks that are left for the written share of the logical pages, above 0 to 1, while the other pages are never
    /// written.
    ///
    /// The other pages lie in full blocks of their own, where greedy leaves them, and the written pages have all spare pages.
    /// This is the case on a drive that was filled in order. Data at rest that are mixed with others stay partly so, and cost
    /// more. Random choices come back to full blocks, so that d-choices cost more too: for them this is a lower bound.
    ///
    /// # Errors
    /// The share or the spare factor is out of range.
    pub fn beside_rest(self, written: f64) -> Result<Self, TheoryError> {
        self.check(PAGES_MAX)?;
        within("the written share of the pages", written, 1e-6, 1.0)?;
        let resting = self.utilization() * (1.0 - written);
        assert!(resting < 1.0, "data at rest leave room for those that are written");
        Ok(Self { spare_factor: (self.spare_factor / (1.0 - resting)).min(0.999), ..self })
    }

    /// Share of the physical pages that are valid.
    pub(crate) fn utilization(&self) -> f64 {
        1.0 - self.spare_factor
    }
}

/// Most pages of a block under uniform writes.
const PAGES_MAX: u32 = 16_384;

/// The steady state of a drive.
#[derive(Clone, Debug, PartialEq)]
pub struct SteadyState {
    /// Pages programmed for each page of the host, from 1 on.
    pub write_amplification: f64,
    /// Mean valid pages of a victim.
    pub cleaning_cost: f64,
    /// Shares of the closed blocks with 0 to k valid pages, at the time a victim is chosen.
    pub occupancy: Vec<f64>,
    /// Chances that a victim has 0 to k valid pages.
    pub victims: Vec<f64>,
    /// Variance of the time between two erases of a block, over its squared mean: 0 if blocks take turns, 1 if chance alone
    /// decides. `None` with two temperatures, where a block's times depend on what it holds.
    pub erase_gap_variance: Option<f64>,
}

impl SteadyState {
    /// Makes a steady state from the shares of the levels and the chances of victims.
    fn of(occupancy: Vec<f64>, victims: Vec<f64>, erase_gap_variance: Option<f64>) -> Self {
        assert_eq!(victims.len(), occupancy.len(), "victims have as many valid pages as blocks, 0 to k");
        let pages = occupancy.len() as f64 - 1.0;
        let cleaning_cost: f64 = victims.iter().enumerate().map(|(valid, chance)| valid as f64 * chance).sum();
        let write_amplification = pages / (pages - cleaning_cost);
        Self { write_amplification, cleaning_cost, occupancy, victims, erase_gap_variance }
    }
}

/// T^d, where a fractional d mixes its neighbors: the chance that all of d drawn blocks belong to a share T.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AllOf {
    whole: f64,
    part: f64,
}

impl AllOf {
    pub(crate) fn new(d: f64) -> Self {
        assert!(d >= 1.0, "a victim is one of at least one block, found {d}");
        let whole = libm::floor(d);
        Self { whole, part: d - whole }
    }

    /// The chance, and its derivative with respect to the share.
    pub(crate) fn at(self, share: f64) -> (f64, f64) {
        if share <= 0.0 {
            return (0.0, if self.whole <= 1.0 { 1.0 - self.part } else { 0.0 });
        }
        let below = libm::pow(share, self.whole - 1.0);
        let (one, two) = (1.0 - self.part, self.part);
        let chance = below * share * (one + two * share);
        let slope = below * (one * self.whole + two * (self.whole + 1.0) * share);
        (chance, slope)
    }
}

/// The steady state under uniform writes.
///
/// With the share m_n of blocks at n valid pages, T_n of those at n or more, and the chance y that one page is invalidated
/// between two victims (times the blocks): y n m_n = 1 - T_n^d, from n = k down, because every block that comes to n leaves it
/// downwards or as a victim. y follows from the sum of the valid pages. Greedy is the limit of large d: y n m_n = 1 down to a
/// threshold.
///
/// # Errors
/// More than 16,384 pages a block or none, a spare factor outside 0.001 to 0.999, or d below 1.
pub fn uniform(victims: Victims, blocks: Blocks) -> Result<SteadyState, TheoryError> {
    uniform_beside_rest(victims, blocks, 1.0)
}

/// The steady state under uniform writes to a share of the pages, above 0 to 1, while the others lie in full blocks of their own.
///
/// Greedy leaves those blocks alone, as [`Blocks::beside_rest`]. Drawn victims include them and gain nothing: they stand above
/// all levels, and T_k counts them. The cost of data at rest depends on history: a page that lies among written ones stays there,
/// because its victims are filled up by the host. This model is the drive that was filled in order and then written to.
///
/// # Errors
/// As [`uniform`], or the share is out of range.
pub fn uniform_beside_rest(victims: Victims, blocks: Blocks, written: f64) -> Result<SteadyState, TheoryError> {
    let beside = blocks.beside_rest(written)?;
    let resting = blocks.utilization() * (1.0 - written);
    let d = match victims {
        Victims::Random => 1.0,
        Victims::DChoices(d) => d,
        Victims::Greedy => {
            let mut steady = greedy_uniform(beside);
            steady.occupancy.iter_mut().for_each(|share| *share *= 1.0 - resting);
            steady.occupancy[blocks.pages as usize] += resting;
            return Ok(steady);
        }
    };
    within("d", d, 1.0, f64::MAX)?;
    let (pages, all_of) = (blocks.pages as usize, AllOf::new(d));
    let valid = blocks.utilization() * pages as f64;
    let excess = |log: f64| {
        let shares = falling_shares(pages, all_of, libm::exp(log), resting);
        pages_of(&shares) - valid
    };
    // At most one invalidation a page and victim. A block is emptied by at least 10^-12 of a page a victim.
    let fastest = libm::log(1.0 / (blocks.utilization() - resting));
    let y = libm::exp(falling_root(excess, libm::log(1e-12), fastest + 1e-9));
    let shares = falling_shares(pages, all_of, y, resting);
    let mut above = 0.0;
    let mut chances = vec![0.0; pages + 1];
    let mut leaving = vec![0.0; pages + 1];
    for (level, share) in shares.iter().enumerate().rev() {
        chances[level] = all_of.at(above + share).0 - all_of.at(above).0;
        leaving[level] = if *share > 0.0 { chances[level] / share } else { f64::INFINITY };
        above += share;
    }
    let gap = gap_variance(&leaving, y);
    Ok(SteadyState::of(shares, chances, Some(gap)))
}

/// The shares for an invalidation rate, 0 to k valid pages, with a share at rest among the full blocks. They add up to 1.
fn falling_shares(pages: usize, all_of: AllOf, y: f64, resting: f64) -> Vec<f64> {
    debug_assert!(y > 0.0, "pages that are written are invalidated");
    let mut shares = vec![0.0; pages + 1];
    let mut above = resting;
    for level in (1..=pages).rev() {
        let rate = y * level as f64;
        // rate m + (above + m)^d = 1 is convex and rises: Newton's steps from the right never cross the root.
        let mut share = f64::min(1.0 - above, (1.0 - all_of.at(above).0) / rate);
        for _ in 0..100 {
            let (chance, slope) = all_of.at(above + share);
            let step = (rate * share + chance - 1.0) / (rate + slope);
            if step <= 1e-16 {
                break;
            }
            share = f64::max(share - step, 0.0);
        }
        shares[level] = share;
        above = f64::min(above + share, 1.0);
    }
    shares[pages] += resting;
    shares[0] = 1.0 - above;
    shares
}

/// The steady state of greedy. There is no victim above the threshold g, so that y n m_n = 1 there. All other blocks are at g,
/// and a block that comes to g - 1 is the next victim.
fn greedy_uniform(blocks: Blocks) -> SteadyState {
    let pages = blocks.pages as usize;
    let valid = blocks.utilization() * pages as f64;
    let mut shares = vec![0.0; pages + 1];
    let mut chances = vec![0.0; pages + 1];
    // Over the blocks above the threshold: number of levels, and the sum of 1 / n.
    let (mut levels, mut inverse) = (0.0, 0.0);
    for threshold in (0..=pages).rev() {
        let g = threshold as f64;
        // g m_g + levels / y = valid and m_g + inverse / y = 1.
        let mean_life = (valid - g) / (levels - g * inverse);
        let rest = 1.0 - inverse * mean_life;
        let fits = threshold == 0 || rest * g <= mean_life * (1.0 + 1e-12);
        if mean_life > 0.0 && mean_life.is_finite() && rest >= -1e-12 && fits {
            let y = 1.0 / mean_life;
            shares[threshold] = rest.max(0.0);
            let above = shares.iter_mut().enumerate().skip(threshold + 1);
            above.for_each(|(level, share)| *share = mean_life / level as f64);
            let falling = y * g * shares[threshold];
            chances[threshold] = 1.0 - falling;
            if threshold > 0 {
                chances[threshold - 1] = falling;
            }
            let mut leaving = vec![0.0; pages + 1];
            leaving[..threshold].fill(f64::INFINITY);
            leaving[threshold] = if rest > 0.0 { chances[threshold] / rest } else { f64::INFINITY };
            let gap = gap_variance(&leaving, y);
            return SteadyState::of(shares, chances, Some(gap));
        }
        levels += 1.0;
        inverse += 1.0 / g.max(1.0);
    }
    unreachable!("valid pages between 0 and all of them have a threshold")
}

/// Mean number of valid pages of a block.
fn pages_of(shares: &[f64]) -> f64 {
    shares.iter().enumerate().map(|(valid, share)| valid as f64 * share).sum()
}

/// Squared variation of the time from when a block is full to its erase. A block stays at each level for an exponential time. It
/// leaves as a victim at the rate `leaving`, or falls by one at `y` times the level.
fn gap_variance(leaving: &[f64], y: f64) -> f64 {
    // Mean and mean square of the remaining time, from level 0 up.
    let (mut mean, mut square) = (0.0, 0.0);
    for (level, victim) in leaving.iter().enumerate() {
        let falling = y * level as f64;
        let rate = falling + victim;
        if !rate.is_finite() || rate <= 0.0 {
            (mean, square) = (0.0, 0.0);
            continue;
        }
        let down = falling / rate;
        // A stay of mean 1 / rate, then with chance `down` the remaining time one level below.
        square = 2.0 / (rate * rate) + down * (2.0 * mean / rate + square);
        mean = 1.0 / rate + down * mean;
    }
    if mean > 0.0 { (square / (mean * mean) - 1.0).max(0.0) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(pages: u32, spare_factor: f64) -> Blocks {
        Blocks { pages, spare_factor }
    }

    #[test]
    fn random_victims_have_their_closed_form() {
        for (pages, spare) in [(1, 0.3), (32, 0.05), (64, 0.1), (1024, 0.4), (256, 0.9)] {
            let found = uniform(Victims::Random, blocks(pages, spare)).unwrap();
            assert!((found.write_amplification * spare - 1.0).abs() < 1e-8, "{pages} {spare} {found:?}");
            assert!((found.erase_gap_variance.unwrap() - 1.0).abs() < 1e-8, "{:?}", found.erase_gap_variance);
        }
    }

    #[test]
    fn shares_and_chances_are_whole() {
        for victims in [Victims::Random, Victims::DChoices(1.5), Victims::DChoices(10.0), Victims::Greedy] {
            for (pages, spare) in [(1, 0.5), (2, 0.3), (32, 0.05), (64, 0.1), (256, 0.4), (64, 0.9), (1024, 0.07)] {
                let found = uniform(victims, blocks(pages, spare)).unwrap();
                let sums = [found.occupancy.iter().sum::<f64>(), found.victims.iter().sum()];
                assert!(sums.iter().all(|sum| (sum - 1.0).abs() < 1e-9), "{victims:?} {pages} {spare} {sums:?}");
                let valid = pages_of(&found.occupancy) / f64::from(pages);
                assert!((valid - (1.0 - spare)).abs() < 1e-9, "{victims:?} {pages} {spare} {valid}");
                assert!(found.occupancy.iter().chain(&found.victims).all(|share| *share >= 0.0));
                assert!(found.write_amplification >= 1.0);
            }
        }
    }

    #[test]
    fn more_choices_come_to_greedy() {
        for (pages, spare) in [(16, 0.1), (64, 0.2)] {
            let amplification = |victims| uniform(victims, blocks(pages, spare)).unwrap().write_amplification;
            let greedy = amplification(Victims::Greedy);
            let mut last = f64::INFINITY;
            for d in [1.0, 1.5, 2.0, 3.0, 10.0, 100.0, 10_000.0, 1e6] {
                let found = amplification(Victims::DChoices(d));
                assert!(found < last && found > greedy, "{d}: {found} from {last}, greedy {greedy}");
                last = found;
            }
            assert!((last / greedy - 1.0).abs() < 1e-3, "{last} {greedy}");
        }
    }

    #[test]
    fn greedy_meets_the_table_of_a_separate_model() {
        // A small drive of 1024 logical blocks, whose finite size is in the table.
        for (pages, want) in crate::GREEDY_UNIFORM {
            let found = uniform(Victims::Greedy, blocks(pages, 0.1)).unwrap().write_amplification;
            assert!((found / want - 1.0).abs() < 0.01, "{pages}: {found} for {want}");
        }
        // Blocks of many pages: FIFO's closed form (Desnoyers).
        let found = uniform(Victims::Greedy, blocks(16_384, 0.1)).unwrap().write_amplification;
        assert!((found / crate::lru_write_amplification(1.0 / 0.9) - 1.0).abs() < 1e-3, "{found}");
    }

    #[test]
    fn blocks_of_one_page_are_solved_by_hand() {
        // A victim is full with the chance that all drawn blocks are: WAF = 1 / (1 - (1 - s)^d).
        for d in [1.0, 2.0, 5.0] {
            let found = uniform(Victims::DChoices(d), blocks(1, 0.25)).unwrap().write_amplification;
            assert!((found - 1.0 / (1.0 - 0.75f64.powf(d))).abs() < 1e-9, "{d} {found}");
        }
        assert!((uniform(Victims::Greedy, blocks(1, 0.25)).unwrap().write_amplification - 1.0).abs() < 1e-12);
    }

    #[test]
    fn data_at_rest_leave_their_spare_pages_to_others() {
        let found = blocks(64, 0.1).beside_rest(0.5).unwrap();
        assert!((found.spare_factor - 0.1 / 0.55).abs() < 1e-12, "{found:?}");
        assert_eq!(blocks(64, 0.1).beside_rest(1.0).unwrap(), blocks(64, 0.1));
        assert!(blocks(64, 0.1).beside_rest(0.0).is_err());
        // Random victims do not distinguish data at rest; many choices leave them alone.
        let amplification = |victims| uniform_beside_rest(victims, blocks(64, 0.1), 0.2).unwrap().write_amplification;
        assert!((amplification(Victims::Random) - 10.0).abs() < 1e-6, "{}", amplification(Victims::Random));
        let (many, greedy) = (amplification(Victims::DChoices(1e5)), amplification(Victims::Greedy));
        assert!((many / greedy - 1.0).abs() < 0.01, "{many} {greedy}");
    }

    #[test]
    fn blocks_that_are_none_are_refused_in_words() {
        let text = |victims, blocks| uniform(victims, blocks).unwrap_err().to_string();
        assert_eq!(text(Victims::Greedy, blocks(64, 1.0)), "the spare factor: found 1, allowed is 0.001 to 0.999");
        assert_eq!(text(Victims::Greedy, blocks(0, 0.1)), "pages of a block: found 0, allowed is 1 to 16384");
        assert_eq!(text(Victims::DChoices(0.0), blocks(64, 0.1)), "d: found 0, allowed is a number from 1 on");
    }
}
