//! Predicts the results of a scenario by theory, without running it.
//!
//! Write amplification is by the mean-field models of `theory::utilization`, drive writes to the end of life by `theory::lifetime`. The models use only
//! the popularity of the workload's pages, not their order or sizes. If a scenario has something that a model lacks, a warning says so.

use wane_ftl::policies::Builtin;
use wane_ftl::policies::victim::{DChoices, DChoicesParams, Draw};
use wane_scenario::{Chosen, Pattern, Scenario, TraceSpec, Workload};
use wane_theory::TheoryError;
use wane_theory::lifetime::{self, Wearing};
use wane_theory::queueing::ReadTimes;
use wane_theory::utilization::{self, Blocks, Class, HOT_COLD_PAGES_MAX, Mix, SteadyState, Victims};
use wane_workload::Op;
use wane_workload::standin::{self, Spread};
use wane_workload::trace::{Reader, TraceError};

use crate::progress::Stopwatch;
use crate::sources::trace_options;

mod holdings;
mod load;
mod members;
mod reads;

use holdings::Holdings;
use load::Load;

pub(crate) use members::given;
pub use members::{MemberPrediction, predict_members};

/// Policies with a model.
pub const PREDICTED: [&str; 4] = ["greedy", "d-choices", "random", "fifo"];

/// Blocks below which a drive differs from the limit of many blocks by more than a percent.
const BLOCKS_MIN: u32 = 512;
/// Time limit for reading a trace, in seconds.
const TRACE_SECONDS: f64 = 10.0;
/// Groups of ranks of Zipf's law.
const RANKS: u32 = 200;
/// Least share of the writes that is assumed for the colder temperature.
const WRITES_MIN: f64 = 0.001;

/// Errors of the model's write amplification over the eleven stand-ins, in percent of the run's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StandinErrors {
    /// The policy, by its name in scenarios.
    pub gc: &'static str,
    /// The least.
    pub lowest: f64,
    /// The median.
    pub median: f64,
    /// The most.
    pub highest: f64,
}

/// Measured on drives of 1 GiB in blocks of 64 pages with a spare factor of 10 %, over 8 drive writes after a sequential one; d-choices with d = 3.
/// `make validate` measures them again and reports differences.
pub const STANDIN_ERRORS: [StandinErrors; 3] = [
    StandinErrors { gc: "greedy", lowest: 0.0, median: 7.0, highest: 165.0 },
    StandinErrors { gc: "d-choices", lowest: 0.0, median: 2.0, highest: 47.0 },
    StandinErrors { gc: "fifo", lowest: -4.0, median: 0.0, highest: 41.0 },
];

/// Reasons why there is no prediction.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PredictError {
    /// There is no model of file systems.
    #[error(
        "[file-system]: there is no model of what a file system writes when it cleans; `wane run` runs it, and without it theory is of its files' \
         pages on the drive"
    )]
    FileSystem,
    /// The policy has no model.
    #[error("ftl.gc: found \"{0}\", allowed are {known}: of others there is no model", known = PREDICTED.join(", "))]
    Policy(String),
    /// The workload has no model.
    #[error("workload: found {0}, allowed are patterns, stand-ins and traces: of others there is no model")]
    Workload(&'static str),
    /// The workload writes nothing.
    #[error("workload: found no write, and without one nothing is amplified")]
    NoWrite,
    /// The trace cannot be read.
    #[error("workload.trace: {0}")]
    Trace(#[from] TraceError),
    /// The model refuses a number.
    #[error(transparent)]
    Theory(#[from] TheoryError),
}

/// The model of a prediction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Model {
    /// All written pages are written equally often.
    Uniform,
    /// Two temperatures.
    TwoTemperatures(Mix),
    /// FIFO, or random victims: any popularity, exactly.
    AnyPopularity,
    /// Two temperatures that stand for another popularity.
    Reduced(Mix),
    /// Pages are written in their order, so that whole blocks become invalid, and nothing is moved.
    InOrder,
}

impl Model {
    /// Its name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::TwoTemperatures(_) => "two-temperatures",
            Self::AnyPopularity => "any-popularity",
            Self::Reduced(_) => "two-class-reduction",
            Self::InOrder => "in-order",
        }
    }
}

/// The prediction for a scenario's first phase.
#[derive(Clone, Debug)]
pub struct Prediction {
    /// The model.
    pub model: Model,
    /// (Host + garbage collection) / host in the steady state.
    pub write_amplification: f64,
    /// Mean valid mapping units of a victim.
    pub valid_pages_per_victim_mean: f64,
    /// Drive writes from the end of preconditioning to the end of life, if blocks retire.
    pub drive_writes: Option<f64>,
    /// Latencies of host reads in ns, if they arrive by a Poisson process in a timed part of the scenario.
    pub reads: Option<ReadTimes>,
    /// Assumptions of the model that do not hold.
    pub warnings: Vec<String>,
}

/// The popularity of pages: how often they are written.
struct Popularity {
    /// Share of the logical pages that is written at all.
    written: f64,
    /// Classes of the written pages, the hottest first.
    classes: Vec<Class>,
    /// Warnings about what the popularity leaves out.
    warnings: Vec<String>,
}

/// The prediction for the first phase of a drive's scenario. Of an array, [`predict_members`] predicts each member.
///
/// # Errors
/// The policy or the workload has no model, or the trace cannot be read.
pub fn predict(scenario: &Scenario) -> Result<Prediction, PredictError> {
    of_load(scenario, &Load::alone(scenario)?)
}

/// The prediction for a drive that is given this load.
fn of_load(scenario: &Scenario, load: &Load) -> Result<Prediction, PredictError> {
    let device = &scenario.device;
    let popularity = &load.popularity;
    let units_per_block = (device.physical_units() / u64::from(device.blocks)) as u32;
    let rated = f64::from(device.rated_blocks) * f64::from(units_per_block);
    let blocks = Blocks { pages: units_per_block, spare_factor: 1.0 - f64::from(device.logical_units) / rated };
    let holdings = Holdings::of(scenario, load.touched);
    let written = holdings.written / holdings.all();
    let name = scenario.ftl.gc.name();
    let (victims, choices) = victims_of(scenario)?;
    let in_order = load.may_be_in_order && is_in_order(scenario, victims, holdings.rest);
    let mut warnings = if in_order { Vec::new() } else { popularity.warnings.clone() };
    let any_popularity = matches!(victims, None | Some(Victims::Random));
    if matches!(scenario.phases[0].workload, Workload::Standin(_) | Workload::Trace(_)) {
        warnings.extend(STANDIN_ERRORS.iter().find(|errors| errors.gc == name).map(off_by));
    }
    warnings.extend(choices.iter().flat_map(unlike_its_mean));
    warnings.extend(departures(scenario, if any_popularity { 1.0 } else { written }, in_order));
    warnings.extend(holdings.warnings(scenario, load.empty_by));
    // Greedy never collects full blocks of data at rest; all other policies do.
    let of_rest = victims == Some(Victims::Greedy);
    let Collected { flash, exported, share } = Collected::of(blocks, holdings, of_rest)?;
    let classes = if of_rest { popularity.classes.clone() } else { with_rest(&popularity.classes, written) };
    let solve = |spare_factor: f64| match in_order {
        true => Ok(Solved::in_order()),
        false => solved(victims, Blocks { spare_factor, ..flash }, &classes, written),
    };
    let Solved { model, write_amplification, steady } = solve(flash.spare_factor)?;
    if model == Model::Uniform && popularity.classes.len() > 1 {
        warnings.push("all pages that are written at all are taken to be written equally often".to_owned());
    }
    if let Model::Reduced(mix) = model {
        warnings.push(reduced(mix));
    }
    let gap = steady.as_ref().and_then(|steady| steady.erase_gap_variance).unwrap_or(0.0);
    let is_smaller =
        matches!(model, Model::TwoTemperatures(_) | Model::Reduced(_)) && units_per_block > HOT_COLD_PAGES_MAX;
    warnings.extend(is_smaller.then(|| smaller_blocks(units_per_block)));
    let pages = f64::from(units_per_block);
    let valid_pages_per_victim_mean = pages * (1.0 - 1.0 / write_amplification);
    let wears = scenario.ftl.retire.name() != "never";
    let drive_writes = match device
        .endurance
        .filter(|_| wears && !choices.as_ref().is_some_and(changes_later) && scenario.phases[0].until.end_of_life)
    {
        Some(endurance) => {
            let filled = (1.0 - flash.spare_factor) / (1.0 - exported);
            let (erases_before, spread_before) = first_erases(scenario, load, victims, blocks)?;
            let (spare_factor, endurance, erase_gap_variance) = (exported, f64::from(endurance), gap);
            let wearing = Wearing { spare_factor, endurance, erase_gap_variance, erases_before, spread_before };
            warnings.extend((4.0 * spread_before > endurance - erases_before).then(unequally_worn));
            let at = |exported: f64| Ok(solve(1.0 - (1.0 - exported) * filled)?.write_amplification);
            if matches!(model, Model::TwoTemperatures(_) | Model::Reduced(_)) {
                warnings.push("blocks are taken to wear alike: with hot and cold data they do not, and a life is some percent shorter".to_owned());
            }
            Some(share * lifetime::drive_writes(wearing, at)?)
        }
        None => None,
    };
    // With smaller blocks the shares of valid units differ from the drive's.
    let of_victims = steady.as_ref().filter(|_| !is_smaller).map(|steady| steady.victims.as_slice());
    let told = reads::predict(scenario, of_victims, matches!(model, Model::Reduced(_)));
    let mut refuse = |reason| warnings.push(format!("reads are not predicted: {reason}"));
    let reads = told.and_then(|told| told.map_err(&mut refuse).ok());
    Ok(Prediction { model, write_amplification, valid_pages_per_victim_mean, drive_writes, reads, warnings })
}

/// How victims are chosen, by the model: `None` in the order in which blocks were filled. With the parameters of d-choices, if that is the policy.
fn victims_of(scenario: &Scenario) -> Result<(Option<Victims>, Option<DChoicesParams>), PredictError> {
    let choices = d_choices(&scenario.ftl.gc);
    let victims = match scenario.ftl.gc.name() {
        "greedy" => Some(Victims::Greedy),
        "d-choices" => Some(Victims::DChoices(choices.as_ref().map_or(2.0, d_when_new))),
        "random" => Some(Victims::Random),
        "fifo" => None,
        other => return Err(PredictError::Policy(other.to_owned())),
    };
    Ok((victims, choices))
}

/// The blocks that garbage collection comes to.
struct Collected {
    /// Their spare factor is by what they hold: what holds nothing is spare space.
    flash: Blocks,
    /// The spare factor by what they export, by which a drive ends, whether that holds something or not.
    exported: f64,
    /// Their share of the logical pages.
    share: f64,
}

impl Collected {
    /// Of all blocks of a drive, or of those beside full ones of data at rest.
    fn of(blocks: Blocks, holdings: Holdings, beside_rest: bool) -> Result<Self, TheoryError> {
        let held = Blocks { spare_factor: holdings.spare_factor(blocks.spare_factor), ..blocks };
        if !beside_rest {
            return Ok(Self { flash: held, exported: blocks.spare_factor, share: 1.0 });
        }
        let share = 1.0 - holdings.rest;
        let flash = held.beside_rest(holdings.written / holdings.all())?;
        Ok(Self { flash, exported: blocks.beside_rest(share)?.spare_factor, share })
    }
}

/// What a model says.
struct Solved {
    model: Model,
    write_amplification: f64,
    /// The steady state behind it, where the model has one.
    steady: Option<SteadyState>,
}

impl Solved {
    fn of(model: Model, steady: SteadyState) -> Self {
        Self { model, write_amplification: steady.write_amplification, steady: Some(steady) }
    }

    const fn in_order() -> Self {
        Self { model: Model::InOrder, write_amplification: 1.0, steady: None }
    }
}

/// Whether victims hold nothing that is valid, since pages are written in their order. Drawn victims may be blocks whose turn comes later, and FIFO's
/// turn comes to data at rest, too.
fn is_in_order(scenario: &Scenario, victims: Option<Victims>, rest: f64) -> bool {
    let Workload::Pattern(spec) = &scenario.phases[0].workload else { return false };
    let collects_invalid = match victims {
        Some(Victims::Greedy) => true,
        None => rest < 1e-9,
        Some(_) => false,
    };
    spec.pattern == Pattern::Sequential && collects_invalid
}

fn solved(victims: Option<Victims>, blocks: Blocks, classes: &[Class], written: f64) -> Result<Solved, TheoryError> {
    let Some(victims) = victims else {
        let write_amplification = utilization::fifo(blocks.spare_factor, classes)?;
        return Ok(Solved { model: Model::AnyPopularity, write_amplification, steady: None });
    };
    if victims == Victims::Random {
        return Ok(Solved::of(Model::AnyPopularity, utilization::uniform(victims, blocks)?));
    }
    if victims != Victims::Greedy && written < 1.0 - 1e-9 {
        return Ok(Solved::of(Model::Uniform, utilization::uniform_beside_rest(victims, blocks, written)?));
    }
    let Some(mix) = utilization::two_temperatures(blocks.spare_factor, classes)? else {
        return Ok(Solved::of(Model::Uniform, utilization::uniform(victims, blocks)?));
    };
    let mix = Mix { hot_writes: mix.hot_writes.clamp(WRITES_MIN, 1.0 - WRITES_MIN), ..mix };
    let steady = utilization::hot_cold(victims, Blocks { pages: blocks.pages.min(HOT_COLD_PAGES_MAX), ..blocks }, mix)?;
    let model = if classes.len() == 2 { Model::TwoTemperatures(mix) } else { Model::Reduced(mix) };
    Ok(Solved::of(model, steady))
}

fn unequally_worn() -> String {
    "blocks begin more unequally worn (drive.initial.erase-count-spread) than is left of their life: much of it is its end, in which few blocks are spare, and \
     the model has that too long by up to a half; where next to none is left, it has none"
        .to_owned()
}

/// The warning that blocks are assumed smaller, since the model of two temperatures has none so large.
fn smaller_blocks(units: u32) -> String {
    format!(
        "a block has {units} mapping units (drive.pages-per-block), and the model of hot and cold data at most {HOT_COLD_PAGES_MAX}, as which it is \
         taken: that lowers write amplification, under uniform writes by less than a percent"
    )
}

fn off_by(errors: &StandinErrors) -> String {
    let StandinErrors { lowest, median, highest, .. } = errors;
    format!(
        "over the eleven stand-ins the model's amplification was off by {lowest:+.0} to {highest:+.0} %, by {median:+.0} % in the median"
    )
}

fn reduced(mix: Mix) -> String {
    format!(
        "the popularity is reduced to two temperatures, {:.1} % of the writes on {:.1} % of the written pages; under Zipf's laws from 0.6 to 1.2 \
         that told amplifications 2 to 4 % too low",
        100.0 * mix.hot_writes,
        100.0 * mix.hot_pages,
    )
}

/// Classes of all pages that hold data, including those that are never written.
fn with_rest(classes: &[Class], written: f64) -> Vec<Class> {
    let own = classes.iter().map(|class| Class { pages: class.pages * written, ..*class });
    let rest = Class { pages: 1.0 - written, writes: 0.0 };
    own.chain(Some(rest).filter(|rest| rest.pages > 1e-9)).collect()
}

/// Erases of blocks when counting begins: their mean, and how far they spread around it.
fn first_erases(
    scenario: &Scenario,
    load: &Load,
    victims: Option<Victims>,
    blocks: Blocks,
) -> Result<(f64, f64), TheoryError> {
    let initial = &scenario.medium.initial;
    match initial.erase_count.map(f64::from) {
        Some(erases) => Ok((erases, erases * initial.erase_count_spread.get())),
        None => Ok((erases_of_precondition(load.touched.before, victims, blocks)?, 0.0)),
    }
}

/// Mean erases of a block by preconditioning: its writes beyond the first fill, amplified like uniform ones.
fn erases_of_precondition(
    (in_order, at_random): (f64, f64),
    victims: Option<Victims>,
    blocks: Blocks,
) -> Result<f64, TheoryError> {
    let uniform = match victims {
        Some(victims) => utilization::uniform(victims, blocks)?.write_amplification,
        None => utilization::fifo(blocks.spare_factor, &[Class { pages: 1.0, writes: 1.0 }])?,
    };
    let logical = 1.0 - blocks.spare_factor;
    // The flash is written once without an erase.
    Ok((logical * (in_order + at_random * uniform) - 1.0).max(0.0))
}

/// Warnings about features of the scenario that the models lack.
fn departures(scenario: &Scenario, written: f64, in_order: bool) -> Vec<String> {
    let (ftl, device) = (&scenario.ftl, &scenario.device);
    let mut told = Vec::new();
    let mut tell = |holds: bool, text: &str| {
        if holds {
            told.push(text.to_owned());
        }
    };
    tell(scenario.phases.len() > 1, "only the first phase is predicted");
    tell(
        !in_order && (ftl.placement.name() != "one" || ftl.frontiers != wane_ftl::Frontiers::One),
        "relocated pages have blocks of their own, which the model does not: with hot and cold data the drive amplifies less",
    );
    tell(ftl.wear_leveling.name() != "none", "wear leveling moves pages and evens out wear: neither is in the model");
    tell(ftl.capacity.name() != "fixed", "the drive gives up capacity; the model ends a life when spare blocks do");
    tell(ftl.redundancy.name() != "none", "parity is not in the model: it is programmed besides");
    tell(ftl.scrub.name() != "none", "scrubbing is not in the model");
    tell(ftl.gc_unforced > 0, "garbage collection begins early, which the model does not: the drive amplifies more");
    tell(
        scenario.medium.faults.factory_bad.get() > 0.0,
        "blocks that are bad from the start (drive.faults.factory-bad) are not in the model: the drive has less to spare, and amplifies more",
    );
    tell(device.blocks < BLOCKS_MIN, "the drive has fewer than 512 blocks, and the model is of many");
    tell(
        written < 1.0,
        "pages that hold data and are never written are taken to lie in full blocks of their own; preconditioning that writes at random leaves them mixed, and the drive amplifies more",
    );
    told
}

/// The parameters of d-choices, if it is the policy.
fn d_choices<P>(gc: &Chosen<P>) -> Option<DChoicesParams> {
    let parameters = gc.table().iter().filter(|(key, _)| !["policy", "defaults"].contains(&key.as_str()));
    let parameters = parameters.map(|(key, value)| (key.clone(), value.clone())).collect();
    (gc.name() == DChoices::NAME).then(|| DChoices::params(parameters).ok())?
}

/// Warnings about what the model of d-choices leaves out.
fn unlike_its_mean(params: &DChoicesParams) -> Vec<String> {
    let mut warnings = Vec::new();
    if changes_later(params) {
        warnings.push(
            "the schedule of d is not in the model: this is of the d of a new drive, and no life is told".to_owned(),
        );
    }
    if params.draw != Draw::Neighbors {
        warnings.push("the model takes d as it is on average in each draw; draws around it cost more".to_owned());
    }
    warnings
}

fn changes_later(params: &DChoicesParams) -> bool {
    params.schedule.iter().any(|(from, _)| from.get() > 0.0)
}

/// The d of a drive without wear.
fn d_when_new(params: &DChoicesParams) -> f64 {
    let scheduled = params.schedule.iter().find(|(from, _)| from.get() <= 0.0);
    scheduled.map_or(params.d, |(_, d)| *d)
}

fn popularity(scenario: &Scenario, workload: &Workload) -> Result<Popularity, PredictError> {
    if scenario.file_system.is_some() {
        return Err(PredictError::FileSystem);
    }
    match workload {
        Workload::Pattern(spec) => {
            if spec.read_share.get() + spec.trim_share.get() >= 1.0 {
                return Err(PredictError::NoWrite);
            }
            let logical = f64::from(scenario.host_device().logical_units);
            let mut found = of_pattern(&spec.pattern, f64::from(spec.footprint_units));
            found.written = f64::from(spec.footprint_units) / logical;
            if spec.request_units > 1 {
                found.warnings.push(sizes());
            }
            Ok(found)
        }
        Workload::Standin(spec) => of_standin(&spec.name),
        Workload::Trace(trace) => of_trace(scenario, trace),
        Workload::Mix(_) => Err(PredictError::Workload("a mix")),
        Workload::Lsm(_) => Err(PredictError::Workload("a key-value store")),
    }
}

fn sizes() -> String {
    "pages that are written together are not in the model: they die together, and the drive amplifies less".to_owned()
}

fn of_pattern(pattern: &Pattern, pages: f64) -> Popularity {
    let class = |pages: f64, writes: f64| Class { pages, writes };
    let mut warnings = Vec::new();
    let classes = match pattern {
        Pattern::Uniform => vec![class(1.0, 1.0)],
        Pattern::HotCold { r, h } => {
            let (r, h) = (r.get(), h.get());
            if h <= 0.0 || h >= 1.0 {
                vec![class(1.0, 1.0)]
            } else {
                hottest_first(vec![class(h, r), class(1.0 - h, 1.0 - r)])
            }
        }
        Pattern::Zipf { exponent, .. } | Pattern::ZipfTable { exponent, .. } => zipf(*exponent, pages),
        Pattern::Jesd219 => vec![class(0.05, 0.5), class(0.15, 0.3), class(0.8, 0.2)],
        Pattern::Sequential | Pattern::Hybrid { .. } => {
            warnings.push("sequential writes are taken as uniform ones: the drive amplifies less".to_owned());
            vec![class(1.0, 1.0)]
        }
    };
    Popularity { written: 1.0, classes, warnings }
}

/// Ranks of Zipf's law in groups that grow with the rank. The sum over a group of more than one rank is by its integral.
fn zipf(exponent: f64, pages: f64) -> Vec<Class> {
    let weight = |from: f64, to: f64| {
        let integral =
            |x: f64| if exponent == 1.0 { libm::log(x) } else { libm::pow(x, 1.0 - exponent) / (1.0 - exponent) };
        integral(to + 0.5) - integral(from - 0.5)
    };
    let mut classes = Vec::new();
    let mut from = 1.0;
    while from <= pages {
        let to = f64::max(from, libm::floor(from * libm::pow(pages, 1.0 / f64::from(RANKS)))).min(pages);
        let writes = if to > from { weight(from, to) } else { libm::pow(from, -exponent) };
        classes.push(Class { pages: (to - from + 1.0) / pages, writes });
        from = to + 1.0;
    }
    normalized(classes)
}

fn normalized(mut classes: Vec<Class>) -> Vec<Class> {
    let (pages, writes) = classes.iter().fold((0.0, 0.0), |sum, class| (sum.0 + class.pages, sum.1 + class.writes));
    classes.iter_mut().for_each(|class| (class.pages, class.writes) = (class.pages / pages, class.writes / writes));
    classes
}

fn hottest_first(mut classes: Vec<Class>) -> Vec<Class> {
    let rate = |class: &Class| class.writes / class.pages;
    classes.sort_by(|one, other| rate(other).total_cmp(&rate(one)));
    classes
}

fn of_standin(name: &str) -> Result<Popularity, PredictError> {
    let found = standin::find(name).or_else(|| standin::find_traffic(name).and_then(|of| standin::find(of.writes)));
    let Some(standin) = found else { return Err(PredictError::Workload("an unknown stand-in")) };
    let classes = match standin.spread {
        Spread::Mixture => vec![
            Class { pages: 1.0 - standin.r, writes: standin.r },
            Class { pages: standin.r, writes: 1.0 - standin.r },
        ],
        Spread::Looped { writes_per_page } => looped(writes_per_page),
    };
    let written = (standin.footprint_gib / 256.0).min(1.0);
    Ok(Popularity { written, classes: hottest_first(classes), warnings: vec![sizes()] })
}

/// Classes of pages that a loop writes 1, 2, ... times by chance, by Poisson's law with this mean, without those that it never writes.
fn looped(mean: f64) -> Vec<Class> {
    let most = (mean + 10.0 * libm::sqrt(mean) + 10.0) as u32;
    let chance = |times: f64| libm::exp(times * libm::log(mean) - mean - libm::lgamma(times + 1.0));
    let classes = (1..=most).rev().map(|times| {
        let (times, chance) = (f64::from(times), chance(f64::from(times)));
        Class { pages: chance, writes: chance * times }
    });
    normalized(classes.filter(|class| class.pages > 1e-9).collect())
}

/// Pages of a trace by how often it writes them.
fn of_trace(scenario: &Scenario, trace: &TraceSpec) -> Result<Popularity, PredictError> {
    let unit = scenario.host_device().unit.0;
    let stopwatch = Stopwatch::start();
    let mut units: Vec<u64> = Vec::new();
    let (mut warnings, mut trims) = (vec![sizes()], false);
    for request in Reader::open(&trace.path, &trace_options(trace))? {
        let request = request?;
        trims |= request.op == Op::Trim;
        if request.op == Op::Write {
            let end = (request.offset + request.length).div_ceil(unit);
            units.extend(request.offset / unit..end);
        }
        if stopwatch.elapsed().as_secs_f64() > TRACE_SECONDS {
            warnings.push(format!("the trace was read for {TRACE_SECONDS} seconds, not to its end"));
            break;
        }
    }
    if units.is_empty() {
        return Err(PredictError::NoWrite);
    }
    if trims {
        warnings.push(
            "the trace's trims are not in the model: they leave the drive emptier, and it amplifies less".to_owned(),
        );
    }
    units.sort_unstable();
    let mut pages_by_writes = std::collections::BTreeMap::<usize, f64>::new();
    for same in units.chunk_by(|one, other| one == other) {
        *pages_by_writes.entry(same.len()).or_default() += 1.0;
    }
    let touched: f64 = pages_by_writes.values().sum();
    let classes =
        pages_by_writes.iter().rev().map(|(writes, pages)| Class { pages: *pages, writes: *pages * *writes as f64 });
    let written = (touched / f64::from(trace.sample) / f64::from(scenario.host_device().logical_units)).min(1.0);
    Ok(Popularity { written, classes: normalized(classes.collect()), warnings })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::PolicyOverrides;
    use crate::run::Watch;
    use crate::session;
    use std::sync::Arc;
    use wane_scenario::Sources;

    fn scenario(text: &str) -> Scenario {
        Scenario::resolve(&Sources { preset: None, file: Some(("test", text)), set: &[] }).unwrap()
    }

    fn drive(gc: &str, workload: &str) -> Scenario {
        scenario(&format!(
            "[drive]\nlogical-capacity = '128 MiB'\npages-per-block = 32\nspare-factor = '10 %'\n[ftl]\ngc = {gc}\n[workload]\n\
             {workload}\n[until]\ndrive-writes = 8\n"
        ))
    }

    fn run(scenario: &Scenario) -> wane_results::Summary {
        let mut watch = Watch { step: &mut |_| {}, stop: &Arc::default() };
        session::execute(scenario, &PolicyOverrides::default(), &mut watch).unwrap().summary
    }

    #[test]
    fn predictions_meet_runs() {
        let zipf = "pattern = 'zipf'\nexponent = 0.8";
        let hot = "pattern = 'hot-cold'\nr = 0.8\nh = 0.2";
        for (gc, workload, model, share) in [
            ("'greedy'", "pattern = 'uniform'", "uniform", 0.015),
            ("{ policy = 'd-choices', d = 2.5 }", "pattern = 'uniform'", "uniform", 0.015),
            ("'greedy'", hot, "two-temperatures", 0.02),
            ("'fifo'", hot, "any-popularity", 0.02),
            ("'fifo'", zipf, "any-popularity", 0.02),
            ("'random'", zipf, "any-popularity", 0.02),
            ("'greedy'", zipf, "two-class-reduction", 0.1),
            ("{ policy = 'd-choices', d = 3 }", "pattern = 'uniform'\nfootprint = '20 %'", "uniform", 0.05),
        ] {
            let scenario = drive(gc, workload);
            let found = predict(&scenario).unwrap();
            assert_eq!(found.model.name(), model, "{gc} {workload}");
            let want = run(&scenario).write_amplification.last_drive_write.gc.unwrap();
            let off = found.write_amplification / want - 1.0;
            println!("{gc} {workload:?}: {:.3} for {want:.3}, {:+.2} %", found.write_amplification, 100.0 * off);
            assert!(off.abs() < share, "{gc} {workload}: {} for {want}", found.write_amplification);
        }
    }

    /// Pages that hold nothing are spare, whether they were never written or are trimmed.
    #[test]
    fn empty_pages_are_spare_space() {
        let drive = |spare: &str, rest: &str| {
            scenario(&format!(
                "[drive]\nlogical-capacity = '128 MiB'\npages-per-block = 32\nspare-factor = '{spare}'\nendurance = 'none'\n{rest}\n\
                 [until]\ndrive-writes = 8\n"
            ))
        };
        let fill = |fill: &str, workload: &str| {
            drive("10 %", &format!("[precondition]\nfill = '{fill}'\n[workload]\npattern = 'uniform'\n{workload}"))
        };
        let lesser = |rest: &str| drive("10 %", &format!("[ftl]\ngc = {rest}"));
        let half = "[precondition]\nfill = '50 %'\n[workload]\npattern = 'uniform'\nfootprint = '50 %'";
        for (scenario, share) in [
            (fill("80 %", "footprint = '80 %'"), 0.015),
            (fill("0 %", "footprint = '70 %'"), 0.015),
            (fill("90 %", "footprint = '60 %'"), 0.03),
            (fill("100 %", "trim-share = '20 %'"), 0.02),
            (fill("100 %", "trim-share = '10 %'\nread-share = '30 %'"), 0.02),
            (fill("80 %", "footprint = '80 %'\ntrim-share = '10 %'"), 0.02),
            // Trims of hot and cold pages mix what is empty, which the model leaves out: it came to 4.0 % less.
            (drive("10 %", "[workload]\npattern = 'hot-cold'\ntrim-share = '20 %'"), 0.045),
            (lesser(&format!("'fifo'\n{half}")), 0.02),
            (lesser(&format!("{{ policy = 'd-choices', d = 3 }}\n{half}")), 0.02),
            (lesser(&format!("'random'\n{half}")), 0.03),
        ] {
            let found = predict(&scenario).unwrap();
            let want = run(&scenario).write_amplification.last_drive_write.gc.unwrap();
            let off = found.write_amplification / want - 1.0;
            println!("{}: {:.3} for {want:.3}, {:+.2} %", scenario.to_toml(), found.write_amplification, 100.0 * off);
            assert!(off.abs() < share, "{}: {} for {want}", scenario.to_toml(), found.write_amplification);
            assert!(found.warnings.iter().any(|told| told.contains("hold no data")), "{:?}", found.warnings);
        }
        // What is empty until it is written is not empty for ever, and pages of before are not empty at all.
        let (late, full) = (predict(&fill("50 %", "")).unwrap(), predict(&fill("100 %", "")).unwrap());
        assert_eq!(late.write_amplification, full.write_amplification);
        assert!(
            late.warnings.iter().any(|told| told.contains("50.0 % of the pages that the workload writes are empty"))
        );
        let cold = predict(&fill("100 %", "footprint = '80 %'")).unwrap();
        assert!(
            cold.write_amplification > 1.7 * predict(&fill("80 %", "footprint = '80 %'")).unwrap().write_amplification
        );
        assert!(cold.warnings.iter().all(|told| !told.contains("hold no data")), "{:?}", cold.warnings);
        // Random writes of preconditioning leave nearly nothing empty.
        let text = "[precondition]\nfill = '80 %'\nrandom-drive-writes = 4\n[workload]\npattern = 'uniform'\nfootprint = '80 %'";
        let filled = predict(&drive("10 %", text)).unwrap().write_amplification;
        assert!((filled / cold.write_amplification - 1.0).abs() < 0.05, "{filled}");
    }

    /// A life ends by what a drive exports; how fast blocks wear depends on what it holds.
    #[test]
    fn lives_of_drives_with_empty_pages_are_predicted() {
        for (gc, rest) in [
            ("'greedy'", "[precondition]\nfill = '60 %'\n[workload]\nfootprint = '60 %'"),
            ("'greedy'", "[precondition]\nfill = '80 %'\n[workload]\nfootprint = '60 %'"),
            ("'greedy'", "[workload]\ntrim-share = '20 %'"),
            ("'greedy'", "[workload]\npattern = 'sequential'\nrequest-size = '256 KiB'"),
            ("'fifo'", "[workload]\npattern = 'sequential'"),
            ("'greedy'", "[workload]\npattern = 'sequential'\nfootprint = '60 %'"),
            ("'fifo'", "[precondition]\nfill = '60 %'\n[workload]\nfootprint = '60 %'"),
        ] {
            let scenario = scenario(&format!(
                "[drive]\nlogical-capacity = '64 MiB'\npages-per-block = 32\nspare-factor = '10 %'\nendurance = 200\n[ftl]\n\
                 gc = {gc}\nretire = 'at-endurance'\n{rest}\n[until]\nend-of-life = true\n"
            ));
            let found = predict(&scenario).unwrap().drive_writes.unwrap();
            let want = run(&scenario).host.drive_writes;
            println!("{gc} {rest:?}: {found:.2} drive writes for {want:.2}, {:+.2} %", 100.0 * (found / want - 1.0));
            assert!((found / want - 1.0).abs() < 0.04, "{gc} {rest:?}: {found} for {want}");
        }
    }

    #[test]
    fn what_is_written_in_order_is_not_moved() {
        for (gc, model, told) in [
            ("'greedy'", "in-order", false),
            ("'fifo'", "in-order", false),
            ("{ policy = 'd-choices', d = 3 }", "uniform", true),
        ] {
            let scenario = drive(gc, "pattern = 'sequential'\nrequest-size = '128 KiB'");
            let found = predict(&scenario).unwrap();
            assert_eq!(found.model.name(), model, "{gc}");
            let is_told = found.warnings.iter().any(|told| told.starts_with("sequential writes"));
            assert_eq!(is_told, told, "{gc}: {:?}", found.warnings);
            let want = run(&scenario).write_amplification.last_drive_write.gc.unwrap();
            assert!(told || (found.write_amplification - want).abs() < 0.01, "{gc}: {want}");
            assert!(found.write_amplification >= want - 0.01, "{gc}: {want}");
        }
    }

    #[test]
    fn hot_and_cold_data_in_blocks_too_large_for_their_model_are_told_of_smaller_ones() {
        let of = |pages: u32| {
            let text = format!(
                "[drive]\nblocks-per-plane = 1024\npages-per-block = {pages}\nspare-factor = '12 %'\n[workload]\npattern = 'hot-cold'\n\
                 [until]\ndrive-writes = 1\n"
            );
            predict(&scenario(&text)).unwrap()
        };
        let (most, larger) = (of(HOT_COLD_PAGES_MAX), of(2 * HOT_COLD_PAGES_MAX));
        let is_told = |found: &Prediction| found.warnings.iter().any(|told| told.contains("drive.pages-per-block"));
        assert_eq!((is_told(&most), is_told(&larger)), (false, true));
        assert!(
            (larger.write_amplification / most.write_amplification - 1.0).abs() < 0.01,
            "{}",
            larger.write_amplification
        );
        let valid = larger.valid_pages_per_victim_mean / most.valid_pages_per_victim_mean;
        assert!((valid - 2.0).abs() < 0.02, "a victim of twice the units has twice the valid ones: {valid}");
    }

    /// A drive of 4 channels whose dies collect by themselves, with a probe after four drive writes. `wane-validation` measures the quality of
    /// predictions.
    fn timed(drive: &str, time: &str, gc: &str, probe: &str) -> Scenario {
        scenario(&format!(
            "[drive]\nchannels = 4\npages-per-block = 32\nspare-factor = '20 %'\nblocks-per-plane = 1024\n{drive}\n[drive.timing]\nread = '60 us'\n\
             program = '600 us'\nerase = '3 ms'\nchannel-rate = '400 MB/s'\n[ftl]\ndomain = 'die'\ngc = {gc}\n[time]\nscheduler = 'event'\n{time}\n\
             [workload]\npattern = 'uniform'\n[probe]\nat-drive-writes = [4]\nuntil = {{ requests = 200_000 }}\nworkload = {{ {probe} }}\n\
             [until]\ndrive-writes = 4\n"
        ))
    }

    #[test]
    fn reads_without_a_model_are_told_with_the_reason() {
        let at = "read-share = 0.7, arrival = { poisson = '1 ms' }";
        for (drive, time, gc, probe, reason) in [
            (
                "",
                "",
                "'greedy'",
                "read-share = 0.7, arrival = { poisson = '20 us' }",
                "of the time, allowed is up to 0.7",
            ),
            ("", "order = 'priority'", "'greedy'", at, "there is a model of time.order"),
            ("", "write-cache = '1 MiB'", "'greedy'", at, "time.write-cache"),
            ("", "", "'fifo'", at, "of victims of this policy only the mean is known"),
            ("", "", "'greedy'", "read-share = 0, arrival = { poisson = '1 ms' }", "nothing is read"),
            ("", "", "'greedy'", "read-share = 0.7, arrival = { queue-depth = 4 }", "there is a model of arrival"),
            (
                "",
                "",
                "'greedy'",
                "pattern = 'zipf', read-share = 0.7, arrival = { poisson = '1 ms' }",
                "what the drive was aged by",
            ),
            ("", "", "'greedy'\nfrontiers = 'separate'", at, "ftl.frontiers"),
            ("", "", "'greedy'\ngc-unforced = 8", at, "ftl.gc-unforced"),
            ("faults.program-failure = 0.001", "", "'greedy'", at, "drive.faults"),
            (
                "page-size = '8 KiB'\nmapping-unit = '4 KiB'",
                "",
                "'greedy'",
                "request-size = '8 KiB', read-share = 0.7, arrival = { poisson = '1 ms' }",
                "of one mapping unit",
            ),
        ] {
            let predicted = predict(&timed(drive, time, gc, probe)).unwrap();
            let told = predicted.warnings.iter().find(|warning| warning.starts_with("reads are not predicted: "));
            assert!(
                predicted.reads.is_none() && told.is_some_and(|told| told.contains(reason)),
                "{reason}: {:?}",
                predicted.warnings
            );
        }
        let untimed = predict(&drive("'greedy'", "pattern = 'uniform'")).unwrap();
        assert!(untimed.reads.is_none() && untimed.warnings.iter().all(|warning| !warning.contains("reads are not")));
    }

    #[test]
    fn lives_are_predicted_to_their_end() {
        for (gc, share) in [("'greedy'", 0.03), ("'random'", 0.05), ("'fifo'", 0.03)] {
            let scenario = scenario(&format!(
                "[drive]\nlogical-capacity = '64 MiB'\npages-per-block = 32\nspare-factor = '10 %'\nendurance = 200\n[ftl]\n\
                 gc = {gc}\nretire = 'at-endurance'\n[workload]\npattern = 'uniform'\n[until]\nend-of-life = true\n"
            ));
            let found = predict(&scenario).unwrap().drive_writes.unwrap();
            let want = run(&scenario).host.drive_writes;
            println!("{gc}: {found:.2} drive writes for {want:.2}, {:+.2} %", 100.0 * (found / want - 1.0));
            assert!((found / want - 1.0).abs() < share, "{gc}: {found} for {want}");
        }
    }

    #[test]
    fn popularities_are_whole() {
        for classes in [zipf(1.2, 100_000.0), zipf(1.0, 50.0), looped(4.0)] {
            let sums = classes.iter().fold((0.0, 0.0), |sum, class| (sum.0 + class.pages, sum.1 + class.writes));
            assert!((sums.0 - 1.0f64).abs() < 1e-9 && (sums.1 - 1.0f64).abs() < 1e-9, "{sums:?}");
            let falls =
                classes.windows(2).all(|pair| pair[0].writes * pair[1].pages >= pair[1].writes * pair[0].pages * 0.99);
            assert!(falls, "the hottest come first");
        }
        // The first of 50 pages by 1 / rank has 1 / H(50) of the writes.
        assert!((zipf(1.0, 50.0)[0].writes - 1.0 / 4.499_205).abs() < 1e-3);
    }

    #[test]
    fn what_has_no_model_is_told_in_words() {
        let found = predict(&drive("'cost-benefit'", "pattern = 'uniform'")).unwrap_err().to_string();
        assert_eq!(
            found,
            "ftl.gc: found \"cost-benefit\", allowed are greedy, d-choices, random, fifo: of others there is no model"
        );
        let found = predict(&drive("'greedy'", "pattern = 'hybrid'")).unwrap();
        assert!(found.warnings.iter().any(|warning| warning.starts_with("sequential writes")), "{:?}", found.warnings);
    }
}
