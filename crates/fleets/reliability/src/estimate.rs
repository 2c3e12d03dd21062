//! Many arrays, and what they say together: means with their intervals, differences between a plan and its alternatives, causes.

use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;
use wane_sim::Streams;
use wane_units::DAYS_PER_YEAR;

use crate::array::Cause;
use crate::life::{Account, Life, Luck, live};
use crate::plan::TB;
use crate::{Plan, PlanError};

/// Arrays that one thread simulates in a row. Sums are made in the order of these groups, whichever thread had them.
const GROUP: u64 = 256;
/// The normal distribution's quantile for an interval of 95 %.
const Z: f64 = 1.959_963_984_540_054;
/// Most arrays.
pub const ARRAYS_MAX: u64 = 10_000_000;
/// Shares of arrays whose first failure is told.
pub const QUANTILES: [f64; 3] = [0.05, 0.5, 0.95];

/// How much is simulated.
#[derive(Clone, Debug, PartialEq)]
pub struct Effort {
    /// Arrays of the plan, and as many of each alternative.
    pub arrays: u64,
    /// Root of all random streams.
    pub seed: u64,
    /// Years at which the arrays are looked at; they rise.
    pub years: Vec<f64>,
    /// Threads. The numbers do not depend on them.
    pub threads: usize,
}

/// A mean of many arrays.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// The interval of 95 %, by the normal distribution of the mean.
    pub low: f64,
    /// See `low`.
    pub high: f64,
}

/// One figure of an array after some years.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Figure {
    /// Chance that any sector is lost.
    AnyLost,
    /// Chance that the array is lost.
    ArrayLost,
    /// Bytes lost, a TB of data and a year.
    BytesPerTbYear,
    /// Days with a member fewer than planned.
    DegradedDays,
    /// Chance that a member has failed.
    MemberFailed,
    /// Drives put in.
    DrivesReplaced,
}

impl Figure {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::AnyLost,
        Self::ArrayLost,
        Self::BytesPerTbYear,
        Self::DegradedDays,
        Self::MemberFailed,
        Self::DrivesReplaced,
    ];

    fn of(self, account: &Account, tb_years: f64) -> f64 {
        match self {
            Self::AnyLost => account.losses.any,
            Self::ArrayLost => account.losses.array,
            Self::BytesPerTbYear => account.losses.bytes / tb_years,
            Self::DegradedDays => account.degraded_days,
            Self::MemberFailed => account.first.iter().sum(),
            Self::DrivesReplaced => account.drives,
        }
    }

    const fn is_chance(self) -> bool {
        matches!(self, Self::AnyLost | Self::ArrayLost | Self::MemberFailed)
    }
}

/// What is expected after some years.
#[derive(Clone, Debug, PartialEq)]
pub struct AtYear {
    /// Years.
    pub years: f64,
    /// Figures, in the order of [`Figure::ALL`].
    pub figures: Vec<Estimate>,
    /// The same figures over those of the plan, array by array: what the alternative changes. Empty for the plan itself.
    pub changes: Vec<Estimate>,
    /// Chances that a sector is lost, by the cause of the last step. Their sum is that of [`Figure::AnyLost`].
    pub loss_causes: Vec<(Cause, f64)>,
    /// Chances that a member has failed, by the cause of the first failure.
    pub first_causes: Vec<(Cause, f64)>,
}

impl AtYear {
    /// A figure.
    pub fn figure(&self, figure: Figure) -> Estimate {
        self.figures[figure as usize]
    }

    /// What an alternative changes of a figure; `None` for the plan itself.
    pub fn change(&self, figure: Figure) -> Option<Estimate> {
        self.changes.get(figure as usize).copied()
    }
}

/// A quantile of the first failure of a member, in years.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FirstFailure {
    /// Share of arrays in which it has come by then.
    pub share: f64,
    /// Years; `None`: after the last year.
    pub years: Option<f64>,
    /// Interval of 95 %, by order statistics: it assumes no distribution.
    pub low: Option<f64>,
    /// See `low`.
    pub high: Option<f64>,
}

/// What a plan leads to.
#[derive(Clone, Debug, PartialEq)]
pub struct Outlook {
    /// At each of the years.
    pub years: Vec<AtYear>,
    /// When the first member fails: quantiles.
    pub first_failure: Vec<FirstFailure>,
}

/// The outlook of a plan and of its alternatives, in their order; `None` if `stop` was set.
///
/// Each array draws from streams of its own, so that the same array has the same drives, batches and shocks under every alternative, and the same numbers
/// come out with any number of threads.
///
/// # Errors
/// A plan cannot be followed, or there are no arrays, no years, or years that do not rise.
pub fn outlooks(plans: &[Plan], effort: &Effort, stop: &AtomicBool) -> Result<Option<Vec<Outlook>>, PlanError> {
    plans.iter().try_for_each(Plan::check)?;
    if !(2..=ARRAYS_MAX).contains(&effort.arrays) {
        return Err(PlanError::Value("arrays", effort.arrays as f64, "2 to 10000000"));
    }
    let rises = effort.years.windows(2).all(|pair| pair[0] < pair[1]);
    let within = |year: &f64| (0.01..=100.0).contains(year);
    if effort.years.is_empty() || !rises || !effort.years.iter().all(within) {
        let found = effort.years.first().copied().unwrap_or(0.0);
        return Err(PlanError::Value("years", found, "a rising list of 0.01 to 100"));
    }
    let groups = effort.arrays.div_ceil(GROUP);
    let work = || {
        (0..groups)
            .into_par_iter()
            .map(|group| (!stop.load(Ordering::Relaxed)).then(|| one_group(plans, effort, group)))
            .collect::<Option<Vec<Vec<Sums>>>>()
    };
    // A pool that cannot be started leaves the work to this thread's.
    let found = match rayon::ThreadPoolBuilder::new().num_threads(effort.threads.max(1)).build() {
        Ok(pool) => pool.install(work),
        Err(_) => work(),
    };
    let Some(found) = found else { return Ok(None) };
    let mut all: Vec<Sums> = plans.iter().map(|_| Sums::new(effort.years.len())).collect();
    for group in found {
        all.iter_mut().zip(group).for_each(|(sum, one)| sum.add(one));
    }
    Ok(Some(all.into_iter().enumerate().map(|(number, sums)| sums.outlook(effort, number > 0)).collect()))
}

/// A sum of values and of their squares.
#[derive(Clone, Copy, Debug, Default)]
struct Moments {
    sum: f64,
    squares: f64,
}

impl Moments {
    fn add(&mut self, value: f64) {
        self.sum += value;
        self.squares += value * value;
    }

    fn merge(&mut self, other: Self) {
        self.sum += other.sum;
        self.squares += other.squares;
    }

    fn estimate(self, count: f64) -> Estimate {
        let mean = self.sum / count;
        let variance = ((self.squares - self.sum * mean) / (count - 1.0)).max(0.0);
        let standard_error = libm::sqrt(variance / count);
        Estimate { mean, standard_error, low: mean - Z * standard_error, high: mean + Z * standard_error }
    }
}

/// Sums at one of the years.
#[derive(Clone, Debug, Default)]
struct YearSums {
    figures: [Moments; Figure::ALL.len()],
    changes: [Moments; Figure::ALL.len()],
    losses: [f64; Cause::ALL.len()],
    first: [f64; 3],
}

impl YearSums {
    /// What sums of chances are divided by to be those of causes: as many as there are arrays, or more where their sum would exceed 1.
    fn losses_over(&self, count: f64) -> f64 {
        self.losses.iter().sum::<f64>().max(count)
    }
}

/// Sums of a plan.
#[derive(Clone, Debug)]
struct Sums {
    years: Vec<YearSums>,
    first: Vec<f64>,
}

fn one_group(plans: &[Plan], effort: &Effort, group: u64) -> Vec<Sums> {
    let streams = Streams::new(effort.seed);
    let mut sums: Vec<Sums> = plans.iter().map(|_| Sums::new(effort.years.len())).collect();
    for number in group * GROUP..((group + 1) * GROUP).min(effort.arrays) {
        let mut luck = Luck::new(streams, number);
        let planned = live(&plans[0], &effort.years, &mut luck);
        sums[0].count(&planned, None, &plans[0], &effort.years);
        for (plan, sums) in plans.iter().zip(&mut sums).skip(1) {
            let life = live(plan, &effort.years, &mut luck);
            sums.count(&life, Some((&planned, &plans[0])), plan, &effort.years);
        }
    }
    sums
}

impl Sums {
    fn new(years: usize) -> Self {
        Self { years: vec![YearSums::default(); years], first: Vec::new() }
    }

    fn count(&mut self, life: &Life, planned: Option<(&Life, &Plan)>, plan: &Plan, years: &[f64]) {
        for (place, (sums, account)) in self.years.iter_mut().zip(&life.accounts).enumerate() {
            let tb_years = |plan: &Plan| plan.data_bytes / TB * years[place];
            for figure in Figure::ALL {
                let value = figure.of(account, tb_years(plan));
                sums.figures[figure as usize].add(value);
                if let Some((other, of)) = planned {
                    sums.changes[figure as usize].add(value - figure.of(&other.accounts[place], tb_years(of)));
                }
            }
            sums.losses.iter_mut().zip(account.losses.causes).for_each(|(sum, one)| *sum += one);
            sums.first.iter_mut().zip(account.first).for_each(|(sum, one)| *sum += one);
        }
        self.first.push(life.first_failure);
    }

    fn add(&mut self, other: Self) {
        for (sums, more) in self.years.iter_mut().zip(other.years) {
            for figure in 0..Figure::ALL.len() {
                sums.figures[figure].merge(more.figures[figure]);
                sums.changes[figure].merge(more.changes[figure]);
            }
            sums.losses.iter_mut().zip(more.losses).for_each(|(sum, one)| *sum += one);
            sums.first.iter_mut().zip(more.first).for_each(|(sum, one)| *sum += one);
        }
        self.first.extend(other.first);
    }

    fn outlook(mut self, effort: &Effort, is_alternative: bool) -> Outlook {
        let count = effort.arrays as f64;
        let at = |(sums, years): (&YearSums, &f64)| AtYear {
            years: *years,
            figures: Figure::ALL.map(|figure| bounded(figure, sums.figures[figure as usize], count)).to_vec(),
            changes: match is_alternative {
                true => sums.changes.iter().map(|change| change.estimate(count)).collect(),
                false => Vec::new(),
            },
            loss_causes: Cause::ALL.into_iter().zip(sums.losses.map(|sum| sum / sums.losses_over(count))).collect(),
            first_causes: Cause::ALL.into_iter().zip(sums.first.map(|sum| sum / count)).collect(),
        };
        let years = self.years.iter().zip(&effort.years).map(at).collect();
        self.first.sort_by(f64::total_cmp);
        Outlook { years, first_failure: QUANTILES.map(|share| first_failure(&self.first, share)).to_vec() }
    }
}

/// A figure's estimate, whose interval leaves out what cannot be.
///
/// If no array of N had a chance of it, the interval ends at about 3 / N. N arrays miss that chance in 5 % of all cases.
fn bounded(figure: Figure, sums: Moments, count: f64) -> Estimate {
    let mut estimate = sums.estimate(count);
    estimate.low = estimate.low.max(0.0);
    if figure.is_chance() {
        // Estimates of windows add up to a chance on average, and to more by luck where nearly all arrays are lost.
        estimate.mean = estimate.mean.min(1.0);
        estimate.low = estimate.low.min(estimate.mean);
        estimate.high = estimate.high.min(1.0);
        if estimate.mean == 0.0 {
            estimate.high = -libm::expm1(libm::log(0.05) / count);
        }
    }
    estimate
}

/// A quantile of sorted days, in years.
fn first_failure(sorted: &[f64], share: f64) -> FirstFailure {
    let count = sorted.len() as f64;
    let slack = Z * libm::sqrt(count * share * (1.0 - share));
    let year = |rank: f64| {
        let day = sorted[(rank.max(1.0) as usize - 1).min(sorted.len() - 1)];
        day.is_finite().then_some(day / DAYS_PER_YEAR)
    };
    let rank = (count * share).ceil();
    FirstFailure {
        share,
        years: year(rank),
        low: year((count * share - slack).floor()),
        high: year((count * share + slack).ceil() + 1.0),
    }
}
