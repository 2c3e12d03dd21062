//! Two temperatures in one open block: the mean-field model whose blocks have two counts, of hot and of cold valid pages.
//!
//! A block closes with k pages, h of them hot, by a distribution q. Then it only loses pages, hot ones at one rate and cold ones
//! at another, until it is the victim. The victim's valid pages and then host pages, which are hot with the chance of the mix,
//! fill the next block: this gives q again. Two things are unknown: q, and the number of host pages that a victim gains, which
//! sets both rates. For a given q, one falling sweep over the states balances them, and the gain follows from the sums of the hot
//! and cold valid pages. q is iterated to rest with Anderson's acceleration. Source: Van Houdt, "Performance of garbage
//! collection algorithms for flash-based solid state drives with hot/cold data", 2013.

use super::{AllOf, Blocks, SteadyState, Victims};
use crate::error::{TheoryError, between, within};
use crate::roots::{falling_root, falling_root_within};

mod anderson;

use anderson::Anderson;

/// Two temperatures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mix {
    /// Share of the writes that go to hot pages, 0 to 1.
    pub hot_writes: f64,
    /// Share of the logical pages that are hot, above 0 and below 1.
    pub hot_pages: f64,
}

impl Mix {
    pub(crate) fn check(&self) -> Result<(), TheoryError> {
        within("the hot share of the writes", self.hot_writes, 0.0, 1.0)?;
        between("the hot share of the pages", self.hot_pages, 0.0, 1.0)
    }
}

/// Most pages of a block: the number of states is half of their square.
pub const HOT_COLD_PAGES_MAX: u32 = 1024;
/// Least share of the writes of each temperature.
const WRITES_MIN: f64 = 0.001;
/// Most rounds of the iteration. `MOVED_MAX`: the most that q may move in the last round.
const ROUNDS_MAX: usize = 2000;
const ACCELERATED: usize = 200;
const MOVED_MAX: f64 = 1e-9;

/// The steady state under two temperatures, hot and cold data mixed in the open block. Writes to each are uniform.
///
/// Exact in the limit of many blocks and of much time. A drive comes to rest after its cold pages were written a few times, so
/// the colder temperature must have at least a thousandth of the writes. For pages that are never written see
/// [`Blocks::beside_rest`].
///
/// # Errors
/// More than 1,024 pages a block or fewer than 2, a spare factor outside 0.001 to 0.999, shares out of range, d below 1, or an
/// iteration that does not come to rest.
pub fn hot_cold(victims: Victims, blocks: Blocks, mix: Mix) -> Result<SteadyState, TheoryError> {
    blocks.check(HOT_COLD_PAGES_MAX)?;
    within("pages of a block", f64::from(blocks.pages), 2.0, f64::from(HOT_COLD_PAGES_MAX))?;
    mix.check()?;
    within("the hot share of the writes", mix.hot_writes, WRITES_MIN, 1.0 - WRITES_MIN)?;
    let choice = match victims {
        Victims::Random => Choice::Of(AllOf::new(1.0)),
        Victims::DChoices(d) => {
            within("d", d, 1.0, f64::MAX)?;
            Choice::Of(AllOf::new(d))
        }
        Victims::Greedy => Choice::Emptiest,
    };
    Model::new(choice, blocks, mix).solve()
}

/// How the victim is chosen by the number of valid pages.
#[derive(Clone, Copy, Debug)]
enum Choice {
    Of(AllOf),
    Emptiest,
}

struct Model {
    choice: Choice,
    pages: usize,
    /// Mean valid pages of a block, hot and cold.
    valid: [f64; 2],
    /// Chance that a host page is hot.
    hot: f64,
    /// Chances of 0 to n hot pages among n host pages, row by row.
    binomial: Vec<f64>,
}

/// Start of row n in a triangle of rows of n + 1 numbers.
fn row(n: usize) -> usize {
    n * (n + 1) / 2
}

/// The unknowns for a given q.
#[derive(Clone, Copy, Debug)]
struct Balance {
    /// Logarithm of the number of host pages that a victim gains.
    log_gain: f64,
    /// q is weighted by e^(tilt x hot pages).
    tilt: f64,
}

/// Result of one falling sweep.
struct Swept {
    /// Shares of the blocks with 0 to k valid pages.
    shares: Vec<f64>,
    /// Chances that a victim has n valid pages, i of them hot; a triangle.
    victims: Vec<f64>,
    /// Mean valid pages of a block, hot and cold.
    valid: [f64; 2],
}

impl Model {
    fn new(choice: Choice, blocks: Blocks, mix: Mix) -> Self {
        let pages = blocks.pages as usize;
        let valid = blocks.utilization() * pages as f64;
        let mut binomial = vec![0.0; row(pages + 1)];
        binomial[0] = 1.0;
        for n in 0..pages {
            let (from, to) = (row(n), row(n + 1));
            for hot in 0..=n {
                let share = binomial[from + hot];
                binomial[to + hot] += share * (1.0 - mix.hot_writes);
                binomial[to + hot + 1] += share * mix.hot_writes;
            }
        }
        let chances: f64 = binomial[row(pages)..].iter().sum();
        assert!((chances - 1.0).abs() < 1e-9, "the chances of 0 to k hot pages add up to 1, found {chances}");
        let valid = [valid * mix.hot_pages, valid * (1.0 - mix.hot_pages)];
        Self { choice, pages, valid, hot: mix.hot_writes, binomial }
    }

    fn solve(&self) -> Result<SteadyState, TheoryError> {
        let all = self.valid[0] + self.valid[1];
        // Closed blocks start with the shares of the data.
        let mut q: Vec<f64> = (0..=self.pages).map(|hot| pmf(self.pages, hot, self.valid[0] / all)).collect();
        let mut anderson = Anderson::new();
        // First all valid pages together add up; Newton's steps continue from there.
        let excess = |log_gain: f64| self.sweep(Balance { log_gain, tilt: 0.0 }, &q).valid.iter().sum::<f64>() - all;
        // A victim gains no more than a block's pages, up to rounding if it holds none.
        let top = libm::log(self.pages as f64) + 0.1;
        let log_gain = falling_root_within(excess, top - 12.0, top, 1e-6);
        let mut balance = Balance { log_gain, tilt: 0.0 };
        let mut moved = 1.0f64;
        for round in 0..ROUNDS_MAX {
            let enough = (1e-3 * moved).clamp(1e-12, 1e-3);
            let (at, swept, off) = self.balanced(balance, &q, enough);
            balance = at;
            let next = self.closing(&swept);
            moved = next.iter().zip(&q).map(|(next, now)| (next - now).abs()).sum();
            if moved.max(balance.tilt.abs()).max(off) < MOVED_MAX {
                return Ok(self.steady(swept));
            }
            // If few pages are copied, plain steps come to rest at once, while mixing them may circle.
            q = if round < ACCELERATED { anderson.next(&q, next) } else { next };
        }
        Err(TheoryError::NoFixedPoint { reason: format!("{ROUNDS_MAX} rounds did not bring the open blocks to rest") })
    }

    /// Finds, by Newton's method, the gain and the tilt of q with which hot and cold valid pages add up. Returns them with their
    /// sweep and the remaining relative error.
    ///
    /// Without the tilt only the sum of all valid pages would be right in each round, and hot and cold pages would find their
    /// shares as slowly as cold pages are written. The tilt ends at 0, because once q is at rest as many hot pages enter the
    /// blocks as leave them.
    fn balanced(&self, start: Balance, q: &[f64], enough: f64) -> (Balance, Swept, f64) {
        const DELTA: f64 = 1e-6;
        let excess = |swept: &Swept| [swept.valid[0] / self.valid[0] - 1.0, swept.valid[1] / self.valid[1] - 1.0];
        let size = |excess: [f64; 2]| excess[0].abs() + excess[1].abs();
        let (mut at, mut swept) = (start, self.sweep(start, q));
        for _ in 0..40 {
            let now = excess(&swept);
            if size(now) < enough {
                break;
            }
            let gained = excess(&self.sweep(Balance { log_gain: at.log_gain + DELTA, ..at }, q));
            let tilted = excess(&self.sweep(Balance { tilt: at.tilt + DELTA, ..at }, q));
            let (a, b) = ((gained[0] - now[0]) / DELTA, (tilted[0] - now[0]) / DELTA);
            let (c, d) = ((gained[1] - now[1]) / DELTA, (tilted[1] - now[1]) / DELTA);
            let determinant = a * d - b * c;
            let mut step = [(d * now[0] - b * now[1]) / determinant, (a * now[1] - c * now[0]) / determinant];
            if !step[0].is_finite() || !step[1].is_finite() {
                break;
            }
            // If a step leads away, a shorter one does not.
            for _ in 0..12 {
                let next = Balance {
                    log_gain: at.log_gain - step[0].clamp(-0.5, 0.5),
                    tilt: at.tilt - step[1].clamp(-0.5, 0.5),
                };
                let there = self.sweep(next, q);
                if size(excess(&there)) < size(now) {
                    (at, swept) = (next, there);
                    break;
                }
                step = [step[0] / 4.0, step[1] / 4.0];
            }
            if size(excess(&swept)) >= size(now) {
                break;
            }
        }
        let off = size(excess(&swept));
        (at, swept, off)
    }

    /// Balances all states for a victim's gain of host pages and a tilted distribution of hot pages at closing.
    fn sweep(&self, balance: Balance, q: &[f64]) -> Swept {
        let pages = self.pages;
        let gain = libm::exp(balance.log_gain);
        // Rate at which one page is invalidated between two victims, times the number of blocks.
        let rates = [gain * self.hot / self.valid[0], gain * (1.0 - self.hot) / self.valid[1]];
        let mut swept = Swept { shares: vec![0.0; pages + 1], victims: vec![0.0; row(pages + 1)], valid: [0.0; 2] };
        let mut inflow = tilted(q, balance.tilt);
        let mut below = vec![0.0; pages];
        let mut above = 0.0;
        for level in (0..=pages).rev() {
            debug_assert_eq!(inflow.len(), level + 1, "of n valid pages 0 to n are hot");
            let falling = |hot: usize| rates[0] * hot as f64 + rates[1] * (level - hot) as f64;
            let (share, leaving) = match self.choice {
                Choice::Of(all_of) => drawn(all_of, &inflow, &falling, above),
                Choice::Emptiest => emptiest(&inflow, &falling, above),
            };
            let share = if level == 0 { 1.0 - above } else { share };
            let victims = &mut swept.victims[row(level)..=row(level) + level];
            below[..level].fill(0.0);
            for (hot, inflow) in inflow.iter().enumerate() {
                let rate = falling(hot);
                let at = if level == 0 || leaving.is_infinite() { 0.0 } else { inflow / (rate + leaving) };
                victims[hot] = inflow - at * rate;
                swept.valid[0] += at * hot as f64;
                swept.valid[1] += at * (level - hot) as f64;
                if hot > 0 {
                    below[hot - 1] += at * rates[0] * hot as f64;
                }
                if hot < level {
                    below[hot] += at * rates[1] * (level - hot) as f64;
                }
            }
            swept.shares[level] = share;
            above = f64::min(above + share, 1.0);
            std::mem::swap(&mut inflow, &mut below);
            inflow.truncate(level);
        }
        swept
    }

    /// Distribution of hot pages in the blocks that close, which are filled by victims' pages and then host pages.
    fn closing(&self, swept: &Swept) -> Vec<f64> {
        let mut q = vec![0.0; self.pages + 1];
        for level in 0..=self.pages {
            let victims = &swept.victims[row(level)..=row(level) + level];
            if victims.iter().sum::<f64>() < 1e-15 {
                continue;
            }
            let fill = self.pages - level;
            let binomial = &self.binomial[row(fill)..=row(fill) + fill];
            for (hot, chance) in victims.iter().enumerate().filter(|(_, chance)| **chance > 1e-18) {
                q[hot..].iter_mut().zip(binomial).for_each(|(q, host)| *q += chance * host);
            }
        }
        let sum: f64 = q.iter().sum();
        q.iter_mut().for_each(|share| *share /= sum);
        q
    }

    fn steady(&self, swept: Swept) -> SteadyState {
        let mut chances: Vec<f64> =
            (0..=self.pages).map(|level| swept.victims[row(level)..=row(level) + level].iter().sum()).collect();
        let sum: f64 = chances.iter().sum();
        chances.iter_mut().for_each(|chance| *chance /= sum);
        SteadyState::of(swept.shares, chances, None)
    }
}

/// q weighted by e^(tilt x place), around its middle.
fn tilted(q: &[f64], tilt: f64) -> Vec<f64> {
    let middle: f64 = q.iter().enumerate().map(|(hot, share)| hot as f64 * share).sum();
    let weigh = |(hot, share): (usize, &f64)| share * libm::exp((tilt * (hot as f64 - middle)).min(600.0));
    let mut weighted: Vec<f64> = q.iter().enumerate().map(weigh).collect();
    let sum: f64 = weighted.iter().sum();
    weighted.iter_mut().for_each(|share| *share /= sum);
    weighted
}

/// Share of blocks at a level and the rate at which they are victims, for the emptiest of several drawn. The share m solves m =
/// sum inflow / (falling + leaving(m)), where leaving(m) = ((above + m)^d - above^d) / m.
fn drawn(all_of: AllOf, inflow: &[f64], falling: &impl Fn(usize) -> f64, above: f64) -> (f64, f64) {
    let (base, slope) = all_of.at(above);
    let leaving = |share: f64| {
        if share < 1e-12 { slope } else { (all_of.at((above + share).min(1.0)).0 - base) / share }
    };
    let held = |leaving: f64| stay(inflow, falling, leaving);
    // The more blocks there are, the faster they leave. None leaving gives the upper bound, and the rate at that bound gives the
    // lower one.
    let most = held(0.0).min(1.0 - above).max(0.0);
    let least = held(leaving(most)).min(most);
    let share = falling_root_within(|share| held(leaving(share)) - share, least, most, 1e-14 + 1e-13 * most);
    (share, leaving(share))
}

/// The same for the emptiest of all: no block leaves while the levels above do not hold all blocks.
fn emptiest(inflow: &[f64], falling: &impl Fn(usize) -> f64, above: f64) -> (f64, f64) {
    let rest = 1.0 - above;
    if rest <= 1e-14 {
        return (0.0, f64::INFINITY);
    }
    let most = stay(inflow, falling, 0.0);
    if most <= rest {
        return (most, 0.0);
    }
    // In the logarithm, because the rate may have any size.
    let leaving = libm::exp(falling_root(|log| stay(inflow, falling, libm::exp(log)) - rest, -40.0, 40.0));
    (rest, leaving)
}

/// Share of blocks at a level, where each stays until it falls or leaves.
fn stay(inflow: &[f64], falling: &impl Fn(usize) -> f64, leaving: f64) -> f64 {
    inflow
        .iter()
        .enumerate()
        .map(|(hot, inflow)| if *inflow > 1e-250 { inflow / (falling(hot) + leaving) } else { 0.0 })
        .sum()
}

/// Binomial chance of `count` of `trials`.
fn pmf(trials: usize, count: usize, chance: f64) -> f64 {
    let (n, i) = (trials as f64, count as f64);
    let log = libm::lgamma(n + 1.0) - libm::lgamma(i + 1.0) - libm::lgamma(n - i + 1.0);
    libm::exp(log + i * libm::log(chance) + (n - i) * libm::log1p(-chance))
}

#[cfg(test)]
mod tests {
    use super::super::uniform;
    use super::*;

    fn amplification(victims: Victims, pages: u32, spare_factor: f64, hot_writes: f64, hot_pages: f64) -> f64 {
        let found = hot_cold(victims, Blocks { pages, spare_factor }, Mix { hot_writes, hot_pages }).unwrap();
        let sums = [found.occupancy.iter().sum::<f64>(), found.victims.iter().sum()];
        assert!(sums.iter().all(|sum| (sum - 1.0).abs() < 1e-6), "{victims:?} {pages} {spare_factor} {sums:?}");
        found.write_amplification
    }

    #[test]
    fn temperatures_alike_are_uniform() {
        for victims in [Victims::Random, Victims::DChoices(2.0), Victims::DChoices(5.5), Victims::Greedy] {
            for (pages, spare) in [(3, 0.3), (16, 0.07), (64, 0.1), (64, 0.4)] {
                let want = uniform(victims, Blocks { pages, spare_factor: spare }).unwrap().write_amplification;
                for share in [0.1, 0.5] {
                    let found = amplification(victims, pages, spare, share, share);
                    assert!((found / want - 1.0).abs() < 1e-6, "{victims:?} {pages} {spare}: {found} for {want}");
                }
            }
        }
    }

    #[test]
    fn random_victims_do_not_see_temperatures() {
        for (hot_writes, hot_pages) in [(0.9, 0.1), (0.5, 0.01), (0.999, 0.3), (0.1, 0.9)] {
            let found = amplification(Victims::Random, 32, 0.1, hot_writes, hot_pages);
            assert!((found * 0.1 - 1.0).abs() < 1e-6, "{found}");
        }
    }

    #[test]
    fn names_of_the_temperatures_do_not_matter() {
        for victims in [Victims::DChoices(3.0), Victims::Greedy] {
            let (one, other) =
                (amplification(victims, 32, 0.1, 0.8, 0.2), amplification(victims, 32, 0.1, 1.0 - 0.8, 0.8));
            assert!((one / other - 1.0).abs() < 1e-6, "{one} {other}");
        }
    }

    #[test]
    fn greedy_is_the_limit_of_many_choices() {
        let (greedy, many) = (
            amplification(Victims::Greedy, 32, 0.1, 0.8, 0.2),
            amplification(Victims::DChoices(1e5), 32, 0.1, 0.8, 0.2),
        );
        assert!((many / greedy - 1.0).abs() < 2e-3 && many > greedy, "{many} {greedy}");
    }

    #[test]
    fn ample_spare_pages_leave_nothing_to_copy() {
        for (spare, hot_writes, hot_pages) in [(0.48, 0.7018, 0.2982), (0.6, 0.9, 0.1), (0.99, 0.7862, 0.2138)] {
            for victims in [Victims::Greedy, Victims::DChoices(3.0)] {
                let found = amplification(victims, 64, spare, hot_writes, hot_pages);
                let random = 1.0 / spare;
                assert!((1.0..random).contains(&found), "{victims:?} {spare} {found}");
            }
        }
    }

    #[test]
    fn shares_that_are_none_are_refused_in_words() {
        let text = |hot_writes, hot_pages| {
            let mix = Mix { hot_writes, hot_pages };
            hot_cold(Victims::Greedy, Blocks { pages: 4, spare_factor: 0.1 }, mix).unwrap_err().to_string()
        };
        assert_eq!(text(1.5, 0.1), "the hot share of the writes: found 1.5, allowed is 0 to 1");
        assert_eq!(text(1.0, 0.1), "the hot share of the writes: found 1, allowed is 0.001 to 0.999");
        assert_eq!(text(0.5, 1.0), "the hot share of the pages: found 1, allowed is above 0 and below 1");
    }
}
