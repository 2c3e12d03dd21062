//! Runs scenarios (one, several seeds, or a grid) and fills in their results.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use wane_workload::SourceError;

use crate::array::{self, FinishedArray};
use crate::backed::{self, Seen};
use crate::build::{self, PlanError, PolicyOverrides};
use crate::calendar;
use crate::forward;
pub use crate::forward::ForwardError;
use crate::progress::Stopwatch;
use crate::run::{Budget, Finished, Run, Step, Watch};
use crate::{disturb, os};
use wane_ftl::Pooling;
use wane_results::{
    BlocksErased, Calendar, Capacity, Counters, End, EndCause, EndReason, Fingerprints, Flash, Folder, Gc, Host,
    Inputs, LatencyOf, Life, MadeBy, Member, PagesProgrammed, ResultError, RunResult, Scaled, Summary,
    SummaryWriteAmplification, Wear, Window, write_amplification,
};
use wane_scenario::{Pattern, Scenario, Workload};
use wane_units::{Bytes, Sectors};

/// The version in every result.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Share of reads without data from which a result has a warning.
const UNMAPPED_READS_MAX: f64 = 0.01;

/// Reasons why a run gave no result.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionError {
    /// The scenario needs more memory than there is.
    #[error("the run needs about {needed} of memory, but {available} are available; {advice}")]
    Memory {
        /// Estimated need.
        needed: wane_units::Bytes,
        /// Available memory.
        available: wane_units::Bytes,
        /// What takes less.
        advice: &'static str,
    },
    /// The scenario cannot be built.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The trace broke off.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// Its life cannot be fast-forwarded.
    #[error(transparent)]
    Forward(#[from] ForwardError),
    /// A trace has changed since the run was named.
    #[error("a trace was changed while it was being run; run it again")]
    TraceChanged,
    /// The results cannot be written.
    #[error(transparent)]
    Results(#[from] ResultError),
}

/// Refuses a scenario that will not fit in memory.
///
/// # Errors
/// It will not fit.
pub fn check_memory(scenario: &Scenario) -> Result<(), SessionError> {
    check_fit(scenario, build::memory_estimate(scenario))
}

pub(crate) fn check_fit(scenario: &Scenario, needed: wane_units::Bytes) -> Result<(), SessionError> {
    let advice = match () {
        () if scenario.file_system.is_some() => {
            "give a smaller drive.logical-capacity below the file system, or use a larger mapping-unit"
        }
        () if scenario.array.is_some() => SMALLER_ARRAY,
        () => "run it with --scale auto as a smaller drive of the same shape, or use a larger mapping-unit",
    };
    match os::available_memory() {
        Some(available) if needed.0 > available => {
            Err(SessionError::Memory { needed, available: wane_units::Bytes(available), advice })
        }
        _ => Ok(()),
    }
}

/// What an array takes less memory with.
const SMALLER_ARRAY: &str =
    "run it with --scale auto as one of smaller members of the same shapes, or use a larger mapping-unit";

/// Runs a scenario to its end.
///
/// # Errors
/// It needs too much memory, cannot be built, or its trace cannot be read further.
pub fn execute(
    scenario: &Scenario,
    overrides: &PolicyOverrides,
    watch: &mut Watch<'_>,
) -> Result<RunResult, SessionError> {
    let needed = match &scenario.array {
        None => build::memory_estimate(&overrides.checked(scenario).map_err(PlanError::from)?),
        Some(_) => build::memory_estimate(scenario),
    };
    check_fit(scenario, needed)?;
    let stopwatch = Stopwatch::start();
    let run = Run::new(build::plan_with(scenario, overrides, watch.stop)?);
    to_its_end(scenario, overrides, run, &stopwatch, watch)
}

/// Does `work` on its own thread. On the caller's thread, `attend` is called every `interval` until the work is done, with the last reported
/// step (`None` before the first). A caller such as an interpreter can thus handle its signals meanwhile.
///
/// # Panics
/// The work panics.
pub fn attended<T: Send>(
    interval: Duration,
    work: impl FnOnce(&mut dyn FnMut(&Step)) -> T + Send,
    attend: &mut dyn FnMut(Option<&Step>),
) -> T {
    let last: Mutex<Option<Step>> = Mutex::new(None);
    let lock = || last.lock().unwrap_or_else(PoisonError::into_inner);
    let waiting = Mutex::new(Some(work));
    let take =
        || waiting.lock().unwrap_or_else(PoisonError::into_inner).take().expect("one thread alone takes the work");
    std::thread::scope(|scope| {
        let (ending, ended) = mpsc::channel::<()>();
        let run = std::thread::Builder::new().spawn_scoped(scope, move || {
            // Dropped when the work ends in any way, by which the caller notices.
            let _ending = ending;
            take()(&mut |step: &Step| *lock() = Some(*step))
        });
        // A system that starts no thread: the work is done here, unattended.
        let Ok(run) = run else { return take()(&mut |_| {}) };
        while ended.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
            let now = *lock();
            attend(now.as_ref());
        }
        run.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Runs a run at its start to its end, and makes its result.
pub(crate) fn to_its_end(
    scenario: &Scenario,
    overrides: &PolicyOverrides,
    mut run: Run,
    stopwatch: &Stopwatch,
    watch: &mut Watch<'_>,
) -> Result<RunResult, SessionError> {
    let mut measured = Measured::default();
    let Watch { step: on_step, stop } = watch;
    let mut step = |step: &Step| {
        measured.note(stopwatch, step);
        on_step(step);
    };
    let mut watch = Watch { step: &mut step, stop };
    let forwarded = match &scenario.fast_forward {
        Some(spec) => Some(forward::to_its_end(&mut run, spec, &mut watch)?),
        None => run.advance(Budget::WHOLE, &mut watch).map(|_| None)?,
    };
    let finished = run.finish(stop)?;
    let mut result = result(scenario, overrides, &finished, stopwatch, &measured);
    if let Some(array) = finished.array {
        let (FinishedArray { figures, drives }, calendar) = (*array, finished.calendar);
        let of_drive = |(member, finished): &(Scenario, Finished)| {
            self::result(member, overrides, finished, stopwatch, &Measured::default())
        };
        result.drives = drives.iter().map(of_drive).collect();
        result.summary.errors =
            result.drives.iter().filter_map(|drive| drive.summary.errors).reduce(|one, other| one + other);
        let is_whole = figures.interrupted.is_none();
        result.summary.array = Some(figures);
        if is_whole {
            let members: Vec<Scenario> = drives.into_iter().map(|(member, _)| member).collect();
            array::foretell(scenario, &mut result, &members, calendar, stop)?;
        }
    }
    if let Some((told, warning)) = forwarded {
        result.summary.fast_forward = Some(told);
        result.summary.warnings.extend(warning);
    }
    Ok(result)
}

/// When the measured phase began and what was programmed by then.
#[derive(Default)]
pub(crate) struct Measured {
    from_seconds: f64,
    from_programmed: u64,
    programmed: u64,
}

impl Measured {
    fn note(&mut self, stopwatch: &Stopwatch, step: &Step) {
        self.programmed = step.programmed;
        if step.preconditioning {
            self.from_seconds = stopwatch.elapsed().as_secs_f64();
            self.from_programmed = step.programmed;
        }
    }
}

pub(crate) fn result(
    scenario: &Scenario,
    overrides: &PolicyOverrides,
    finished: &Finished,
    stopwatch: &Stopwatch,
    measured: &Measured,
) -> RunResult {
    let device = scenario.host_device();
    let recorded = overrides.recorded(scenario);
    let counters = &finished.counters;
    let of_drive = |units: u64| units as f64 / f64::from(device.logical_units);
    let unit = device.unit.0;
    // Bytes, since a host may write parts of pages.
    let written = counters.host_bytes_written(unit) as f64 / device.logical_bytes() as f64;
    let drive_writes = written + of_drive(finished.predicted_units);
    let observed = finished.measured.as_ref();
    let (life, calendar) = life(scenario, finished, drive_writes);
    let summary = Summary {
        scenario: wane_results::Scenario {
            name: scenario.name.clone(),
            hash: recorded.hash(),
            overrides: overrides.recorded_policies(),
        },
        host: host(counters, unit, written),
        flash: flash(counters, observed),
        write_amplification: SummaryWriteAmplification::new(
            write_amplification(counters, unit),
            write_amplification(&finished.last_drive_write, unit),
        ),
        gc: Gc {
            victims: counters.gc_victims,
            valid_pages_per_victim_mean: (counters.gc_victims > 0)
                .then(|| counters.gc_victim_valid_units as f64 / counters.gc_victims as f64),
        },
        wear: Wear {
            erase_count: finished.wear.quantiles(),
            erase_count_mean_at_start: finished.erase_count_mean_at_start,
            jain_index: finished.wear.jain_index(),
            blocks_retired: finished.wear.retired(),
        },
        capacity: Capacity {
            logical_bytes_initial: device.logical_bytes(),
            logical_bytes_exported: u64::from(finished.exported_units) * device.unit.0,
            physical_bytes_usable: finished.wear.usable_bytes(),
            // What an array has beside its data is mostly copies and parities.
            over_provisioning: scenario.array.is_none().then(|| device.over_provisioning()),
        },
        end: End { reason: finished.reason, cause: finished.cause, at_drive_writes: drive_writes },
        scaled: scaled(scenario),
        file_system: finished.file_system.clone(),
        array: None,
        fast_forward: None,
        life: Some(life),
        latency: observed.and_then(|observed| observed.latency.clone()),
        latency_of: observed.and_then(|observed| LatencyOf::of(&observed.windows, drive_writes)),
        thermal: observed.and_then(|observed| observed.thermal),
        latency_by_gc: observed.and_then(|observed| observed.latency_by_gc.clone()),
        throughput: observed.and_then(|observed| observed.throughput),
        errors: observed.and_then(|observed| observed.errors),
        warnings: warnings(scenario, finished),
        run: speed(scenario, finished, stopwatch, measured),
    };
    RunResult {
        summary,
        timeline: finished.timeline.clone(),
        // Those of an array are in the results of its drives.
        blocks: if scenario.array.is_none() { finished.wear.rows() } else { Vec::new() },
        windows: windows(finished, calendar),
        error_histogram: observed.and_then(|observed| observed.error_histogram.clone()),
        scenario_toml: recorded.to_toml(),
        drives: Vec::new(),
    }
}

/// The life in terms of data sheets, for the drive that the run's drive stands for, and the calendar of the run's own drive writes.
fn life(scenario: &Scenario, finished: &Finished, drive_writes: f64) -> (Life, Option<Calendar>) {
    let is_over = finished.reason == EndReason::EndOfLife;
    let calendar = finished.calendar.or_else(|| calendar::found(scenario, finished));
    let capacity =
        scaled(scenario).map_or_else(|| scenario.host_device().logical_bytes(), |scaled| scaled.from_logical_bytes);
    // A folded trace makes fewer drive writes on the larger drive, in proportion to the capacities. But the larger drive endures as
    // many drive writes as the smaller one.
    let share = if scenario.folds_traces() { scaled(scenario).map_or(1.0, |scaled| scaled.ratio) } else { 1.0 };
    let of_larger = |calendar: Calendar| Calendar {
        drive_writes_per_day: share * calendar.drive_writes_per_day,
        origin: calendar.origin,
    };
    let told = calendar.map(of_larger);
    if is_over {
        (Life::of(drive_writes, capacity, told, is_over), told)
    } else {
        (Life::of(share * drive_writes, capacity, told, is_over), calendar)
    }
}

/// The speed of the run, and other fields that may differ between two runs of the same scenario.
fn speed(scenario: &Scenario, finished: &Finished, stopwatch: &Stopwatch, measured: &Measured) -> wane_results::Run {
    let wall_seconds = stopwatch.elapsed().as_secs_f64();
    let seconds = wall_seconds - measured.from_seconds;
    let rate = (measured.programmed - measured.from_programmed) as f64 / seconds;
    let operations =
        finished.measured.as_ref().map(|observed| observed.operations).filter(|operations| *operations > 0);
    wane_results::Run {
        seed: scenario.seed,
        wall_seconds,
        flash_pages_programmed_per_second: rate.is_finite().then_some(rate),
        flash_operations_per_second: operations.map(|operations| operations as f64 / seconds),
        peak_memory_bytes: os::peak_memory(),
        version: VERSION.to_owned(),
    }
}

/// The larger drive that the scenario's drive stands for, or the larger array.
fn scaled(scenario: &Scenario) -> Option<Scaled> {
    let device = scenario.host_device();
    let (from, to) = (device.scaled_from?.0, device.logical_bytes());
    Some(Scaled { from_logical_bytes: from, ratio: to as f64 / from as f64 })
}

/// The warning that the drive stands for a larger one.
fn scaled_in_words(scenario: &Scenario) -> Option<String> {
    let Scaled { from_logical_bytes, ratio } = scaled(scenario)?;
    let times = 1.0 / ratio;
    let of_traces = match () {
        () if scenario.traces().is_empty() => String::new(),
        () if scenario.folds_traces() => {
            format!(". Requests of a trace are all kept and folded onto it, so that it is written {times:.3} times as often and its drive writes count as many")
        }
        () => ". A trace that ages the drive is sampled: one in a number of address chunks is kept. Timed requests are all kept and folded onto it"
            .to_owned(),
    };
    let sized: Vec<String> =
        scenario.sized_parameters().into_iter().map(|(key, value)| format!("{key} = {value}")).collect();
    let of_policies = match &sized[..] {
        [] => String::new(),
        sized => format!(
            ". Parameters of policies that count blocks, pages or writes were scaled with it: {}",
            sized.join(", ")
        ),
    };
    let what = if scenario.array.is_some() { "an array" } else { "a drive" };
    Some(format!(
        "{what} of {} was run as one of {}, 1/{times:.3} of it. TB written, TBW, years and drive writes a day are those of the larger one; bytes, \
         pages and blocks are those of the smaller{of_policies}{of_traces}",
        Bytes(from_logical_bytes).decimal(),
        Bytes(scenario.host_device().logical_bytes()).decimal(),
    ))
}

/// The windows, with their days if there is a calendar.
fn windows(finished: &Finished, calendar: Option<Calendar>) -> Vec<Window> {
    let mut windows = finished.measured.as_ref().map(|measured| measured.windows.clone()).unwrap_or_default();
    for window in &mut windows {
        window.at_days = calendar.map(|calendar| calendar.days(window.at_drive_writes));
    }
    windows
}

/// The figures of the host's requests: units of `page_bytes`, and `drive_writes` of the device.
fn host(counters: &Counters, page_bytes: u64, drive_writes: f64) -> Host {
    Host {
        pages_written: counters.host_units_written,
        page_bytes,
        bytes_written: counters.host_bytes_written(page_bytes),
        drive_writes,
        pages_read: counters.host_units_read,
        pages_read_unmapped: counters.host_units_read_unmapped,
        pages_trimmed: counters.host_units_trimmed,
        pages_written_in_part: counters.units_written_in_part,
    }
}

/// The figures of flash operations.
fn flash(counters: &Counters, observed: Option<&crate::observer::Measured>) -> Flash {
    Flash {
        reads_buffered: observed.map_or(0, |observed| observed.buffered_reads),
        reads_around: observed.map_or(0, |observed| observed.reads_around),
        pages_programmed: PagesProgrammed {
            host: counters.programmed_host,
            gc: counters.programmed_gc,
            wear_leveling: counters.programmed_wear_leveling,
            file_system: counters.programmed_file_system,
            scrub: counters.programmed_scrub,
            parity: counters.programmed_parity,
            metadata: counters.programmed_metadata,
            padding: counters.programmed_padding,
            total: counters.programmed_total(),
        },
        program_operations: counters.program_operations,
        scrub_checks: counters.scrub_checks,
        stripes_unprotected: counters.stripes_unprotected,
        blocks_erased: BlocksErased {
            gc: counters.erases_gc,
            wear_leveling: counters.erases_wear_leveling,
            scrub: counters.erases_scrub,
            metadata: counters.erases_metadata,
            total: counters.erases_total(),
        },
    }
}

/// What parity arrays without a clock do to requests in order that are smaller than a stripe. Those of a file system come as it makes them.
fn changed_in_part(scenario: &Scenario) -> Option<String> {
    let array = scenario.array.as_ref().filter(|array| array.parities() > 0 && !array.copies_only())?;
    let ages = !scenario.time.is_timed() || scenario.probe.is_some();
    let in_part = |phase: &wane_scenario::Phase| match &phase.workload {
        Workload::Pattern(spec) if matches!(spec.pattern, Pattern::Sequential) => {
            let sectors = |pages: u32| Sectors(u64::from(pages) * array.device.unit.0 / Sectors::SIZE.0);
            let request = sectors(spec.request_units);
            let (changed, least) = (array.changed_by(request, request), array.parity_least());
            (changed.parity > 1.01 * least).then_some((changed.parity, least))
        }
        _ => None,
    };
    let (parity, least) =
        scenario.phases.iter().find_map(in_part).filter(|_| ages && scenario.file_system.is_none())?;
    Some(format!(
        "requests that follow each other change their stripes one after the other: each byte of the host writes {parity:.2} of a parity, and requests of whole \
         stripes (workload.request-size) would write {least:.2}"
    ))
}

fn warnings(scenario: &Scenario, finished: &Finished) -> Vec<String> {
    let mut warnings = Vec::new();
    let counters = &finished.counters;
    let share = counters.host_units_read_unmapped as f64 / counters.host_units_read.max(1) as f64;
    // What members of an array read for each other is not their host's.
    if share > UNMAPPED_READS_MAX && scenario.array.is_none() {
        warnings.push(format!("{:.1} % of the pages read held no data and touched no flash", 100.0 * share));
    }
    // What voids the figures comes first.
    let of_array =
        |note: &String| note.replace("drive writes", "array writes").replace("the drive died", "the array ended");
    let note = |note: &String| if scenario.array.is_some() { of_array(note) } else { note.clone() };
    warnings.splice(0..0, finished.measured.iter().flat_map(|measured| measured.notes.iter().map(note)));
    warnings.extend(scaled_in_words(scenario));
    warnings.extend(scenario.unasked());
    warnings.extend(scenario.without_effect());
    warnings.extend(changed_in_part(scenario));
    warnings.extend(finished.notes.iter().cloned());
    warnings.extend(extrapolation(scenario, finished));
    warnings.extend(
        // Those of an array are told by its drives.
        finished.measured.as_ref().filter(|_| scenario.array.is_none()).and_then(|measured| {
            disturb::countings_differ(scenario, finished.wear.quantiles().mean, measured.oldest.0)
        }),
    );
    warnings.extend(throttled(scenario));
    warnings.extend(forgotten(scenario));
    warnings.extend(unseen(scenario, finished));
    warnings.extend(gathered(scenario, finished));
    warnings.extend(filled_die(scenario, finished));
    if finished.policy_refusals > 0 {
        warnings.push(format!(
            "{} answers of policies named blocks that could not be used; greedy's choice or none took their place",
            finished.policy_refusals
        ));
    }
    // A probe that serves the run's trace has the same to say.
    let mut told = std::collections::BTreeSet::new();
    warnings.retain(|warning| told.insert(warning.clone()));
    warnings
}

/// A warning if a drive died whose blocks were all good.
fn filled_die(scenario: &Scenario, finished: &Finished) -> Option<String> {
    let is_full = finished.cause == Some(EndCause::NoFreeBlock) && finished.wear.retired() == 0;
    (is_full && scenario.ftl.domain == Pooling::Die && scenario.array.is_none()).then(|| {
        "it ended although all of its blocks were good: pages take dies in turn (ftl.domain = \"die\"), and some dies filled up with data that stay, as they do \
         where writes come in the rhythm of the dies; with ftl.domain = \"drive\" the blocks of all dies are one pool"
            .to_owned()
    })
}

/// A warning if writes smaller than a page took no time.
fn gathered(scenario: &Scenario, finished: &Finished) -> Option<String> {
    let writes = finished.measured.as_ref()?.latency.as_ref()?.write.as_ref()?;
    let small = scenario.device.units_per_page > 1 && scenario.time.write_cache.is_none();
    (small && writes.times.p50_ns == 0).then(|| {
        "most writes filled no page and took no time: they wait in the controller's page buffer; give a time.write-cache for their latency"
            .to_owned()
    })
}

/// A warning if probes read data whose time of writing is unknown.
fn forgotten(scenario: &Scenario) -> Option<String> {
    let probe =
        scenario.probe.as_ref().filter(|_| scenario.fast_forward.is_some() && scenario.medium.chip.is_some())?;
    Some(format!(
        "each probe finds all data as written {} days before it (probe.retention) and unread: a fast-forwarded life knows erases, but not \
         when data were written",
        probe.retention_days
    ))
}

/// A warning if a drive's throttling cannot end.
fn throttled(scenario: &Scenario) -> Option<String> {
    let spec = &scenario.medium.thermal;
    let thermal = spec.thermal().filter(|thermal| scenario.time.is_timed() && thermal.stays_throttled())?;
    let idle = thermal.idle_celsius();
    Some(format!(
        "the drive idles at {idle:.1} °C: once throttled it stays throttled, as it never cools below drive.thermal.throttle-below, {}",
        spec.throttle_below
    ))
}

/// A warning if the run ended before a probe was due.
fn unseen(scenario: &Scenario, finished: &Finished) -> Option<String> {
    let wane_scenario::Probe { ages, at_end_of_life, .. } = scenario.probe.as_ref()?;
    let died = finished.reason == EndReason::EndOfLife;
    let of_array = finished.array.as_ref().map(|array| array.figures.probes.len());
    let of_drive = || finished.measured.as_ref().map_or(0, |measured| measured.windows.len());
    let windows = of_array.unwrap_or_else(of_drive);
    let seen = windows - usize::from(*at_end_of_life && died && windows > 0);
    let of_end =
        (*at_end_of_life && !died).then(|| "probe.at-end-of-life: the run ended before the drive died".to_owned());
    let of_ages = ages.told(seen).map(|next| {
        let (missed, of) = (ages.count() - seen, ages.count());
        format!("the run ended before {missed} of {of} probes were due, the next at {next}")
    });
    Some([of_ages, of_end].into_iter().flatten().collect::<Vec<_>>().join("; ")).filter(|told| !told.is_empty())
}

/// A warning if the chip's errors were extrapolated beyond its data.
fn extrapolation(scenario: &Scenario, finished: &Finished) -> Option<String> {
    let chip = scenario.medium.chip.as_ref()?;
    let (reads, days) = finished.measured.as_ref().map_or((0, 0.0), |measured| measured.oldest);
    // The initial state may be gone by the end of the run.
    let initial = &scenario.medium.initial;
    let (reads, days) = (reads.max(initial.reads), initial.retention_days.map_or(days, |(_, most)| days.max(most)));
    let retention = scenario.probe.as_ref().map_or(0.0, |probe| probe.retention_days);
    let erases = finished.wear.quantiles();
    let seen = Seen {
        cycles: (f64::from(erases.min), f64::from(erases.max)),
        days: (days + retention) * scenario.medium.retention.rate(),
        warmth: None,
        reads,
    };
    backed::extrapolated(chip, &seen)
}

/// The outcome of one of several runs.
pub type Outcome = Result<RunResult, SessionError>;

/// Whether runs of another sweep or of other seeds may be deleted from the result folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Others {
    /// They stay, and the folder is refused.
    Kept,
    /// They are deleted once the new results are complete.
    Replaced,
}

/// The folder for the results of several runs. Its members are the scenarios, in order.
pub struct Members {
    folder: Folder,
    named: Vec<Member>,
    /// The name of each scenario.
    names: Vec<String>,
    fingerprints: Mutex<Fingerprints>,
}

impl Members {
    /// Makes the scenarios, each by the name of its folder, the members of `folder`. Results of another command are deleted once the new
    /// results are complete.
    ///
    /// # Errors
    /// The folder cannot be written, or `others` says that runs in it must stay.
    pub fn begin(
        mut folder: Folder,
        origin: MadeBy,
        scenarios: &[(String, &Scenario)],
        others: Others,
        stop: &AtomicBool,
    ) -> Result<Self, ResultError> {
        let (named, fingerprints) = named(scenarios, stop);
        keep(&folder, others, &named)?;
        folder.begin(origin, named.clone())?;
        Ok(Self { folder, named, names: called(scenarios), fingerprints: Mutex::new(fingerprints) })
    }

    /// The same, in a folder that is new or holds exactly these members, so that nothing is deleted. `hashes` are the scenarios' hashes as in their
    /// results, which policies from outside change.
    ///
    /// # Errors
    /// The folder holds something else, or cannot be written.
    pub fn go_on(
        mut folder: Folder,
        origin: MadeBy,
        scenarios: &[(String, &Scenario)],
        hashes: &[String],
        stop: &AtomicBool,
    ) -> Result<Self, ResultError> {
        assert_eq!(scenarios.len(), hashes.len(), "each scenario has its hash");
        let (mut named, fingerprints) = named(scenarios, stop);
        for (member, hash) in named.iter_mut().zip(hashes) {
            member.scenario.clone_from(hash);
        }
        folder.refuse_others(origin, &named)?;
        folder.begin(origin, named.clone())?;
        Ok(Self { folder, named, names: called(scenarios), fingerprints: Mutex::new(fingerprints) })
    }

    /// The finished run of a member, if it is there already under the same name, since reports compare runs by their names.
    pub fn found(&self, number: usize) -> Option<RunResult> {
        self.folder.found(number, VERSION).filter(|run| run.summary.scenario.name == self.names[number])
    }

    /// The folder.
    pub const fn folder(&self) -> &Folder {
        &self.folder
    }

    /// Notes that the user stopped the command before its results were whole.
    pub const fn note_interrupted(&mut self) {
        self.folder.note_interrupted();
    }

    /// Makes the written members and these files the whole content of the folder. Returns the names of the members of an earlier command that
    /// were removed.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn finish(&mut self, files: &[(&str, Vec<u8>)]) -> Result<Vec<String>, ResultError> {
        self.folder.finish(files)
    }

    /// Writes the run of a member and its report.
    ///
    /// # Errors
    /// They cannot be written, or a trace was changed while the scenario ran.
    pub fn write(&self, number: usize, scenario: &Scenario, result: &RunResult) -> Result<(), SessionError> {
        let go = AtomicBool::new(false);
        let mut fingerprints = self.fingerprints.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let inputs = fingerprints.inputs(&scenario.traces(), &go);
        drop(fingerprints);
        if inputs != self.named[number].inputs && self.named[number].inputs != Inputs::Unknown {
            return Err(SessionError::TraceChanged);
        }
        Ok(self.folder.write_member(number, result, &rendered)?)
    }
}

fn called(scenarios: &[(String, &Scenario)]) -> Vec<String> {
    scenarios.iter().map(|(_, scenario)| scenario.name.clone()).collect()
}

/// Scenarios as members, with the fingerprints of their traces.
fn named(scenarios: &[(String, &Scenario)], stop: &AtomicBool) -> (Vec<Member>, Fingerprints) {
    let mut fingerprints = Fingerprints::default();
    let member = |(name, scenario): &(String, &Scenario)| Member {
        folder: name.clone(),
        scenario: scenario.hash(),
        inputs: fingerprints.inputs(&scenario.traces(), stop),
    };
    (scenarios.iter().map(member).collect(), fingerprints)
}

/// Number of these scenarios that run at once: one for each core, and no more than memory allows.
pub fn workers(scenarios: &[Scenario]) -> usize {
    let need = scenarios.iter().map(|scenario| build::memory_estimate(scenario).0).max().unwrap_or(1).max(1);
    let fit = os::available_memory().map_or(usize::MAX, |available| (available / need).max(1) as usize);
    os::cores().min(fit).min(scenarios.len()).max(1)
}

/// Runs scenarios in parallel on all cores, never more at once than memory allows. If a member has a finished result
/// already, it is read instead of run. Results are in the order of the scenarios, and their numbers are the same as if they ran
/// one after the other.
///
/// `each` is called when a scenario is finished, with its number, its result and whether it was read; `step` is called with the progress of a
/// running scenario.
pub fn execute_all(
    scenarios: &[Scenario],
    members: Option<&Members>,
    stop: &Arc<AtomicBool>,
    each: &(dyn Fn(usize, &Outcome, bool) + Sync),
    step: &(dyn Fn(usize, &Step) + Sync),
) -> Vec<Option<Outcome>> {
    let workers = workers(scenarios);
    let next = AtomicUsize::new(0);
    let results: Vec<Mutex<Option<Outcome>>> = scenarios.iter().map(|_| Mutex::new(None)).collect();
    let work = || {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let scenario = scenarios.get(number).filter(|_| !stop.load(Ordering::Relaxed));
            let Some(scenario) = scenario else { return };
            let watch = &mut Watch { step: &mut |now| step(number, now), stop };
            let (outcome, was_there) = execute_member(number, scenario, members, watch);
            each(number, &outcome, was_there);
            *results[number].lock().expect("no holder panics") = Some(outcome);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..workers {
            // If the system starts no thread, the others do its work; the caller's is always there.
            let _ = std::thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    results.into_iter().map(|result| result.into_inner().expect("no holder panics")).collect()
}

fn execute_member(
    number: usize,
    scenario: &Scenario,
    members: Option<&Members>,
    watch: &mut Watch<'_>,
) -> (Outcome, bool) {
    if let Some(result) = members.and_then(|members| members.found(number)) {
        return (Ok(result), true);
    }
    let outcome = execute(scenario, &PolicyOverrides::default(), watch);
    let written = outcome.and_then(|result| {
        members.map_or(Ok(()), |members| members.write(number, scenario, &result))?;
        Ok(result)
    });
    (written, false)
}

/// Refuses the folder of a single run if it holds other runs that must stay.
///
/// # Errors
/// It holds such runs.
pub fn check_loss(folder: &Folder, others: Others) -> Result<(), ResultError> {
    keep(folder, others, &[])
}

fn keep(folder: &Folder, others: Others, members: &[Member]) -> Result<(), ResultError> {
    match others {
        Others::Kept => folder.refuse_loss(members),
        Others::Replaced => Ok(()),
    }
}

/// Replaces what the folder held by a run and its report. Returns the names of results of an earlier command that
/// were removed.
///
/// # Errors
/// They cannot be written; the folder is then unchanged.
pub fn write(folder: &mut Folder, result: &RunResult) -> Result<Vec<String>, ResultError> {
    folder.write(result, Some(&rendered))
}

/// The report of one run.
fn rendered(result: &RunResult) -> String {
    wane_report::render(std::slice::from_ref(result))
}

/// Whether any of several runs was interrupted.
pub fn interrupted(result: &RunResult) -> bool {
    result.is_interrupted()
}
