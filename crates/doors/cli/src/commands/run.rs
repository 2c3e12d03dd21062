//! `wane run`: one scenario, several seeds, or a grid.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use wane_lab::build::{self, PolicyOverrides};
use wane_lab::run::Watch;
use wane_lab::session::{self, Others};
use wane_nand::Task;
use wane_report::{self as report, counted, plain};
use wane_results::{
    Common, Folder, MadeBy, REPORT, RunResult, STATISTICS, Statistics, Summary, leaves_of, seeds_made_no_difference,
    whole_runs,
};
use wane_scenario::{SEED_MAX, Scale, Scenario, Sources, folder_of};
use wane_units::{excerpt, excerpt_path};

use super::array;
use super::cells::{Finished, run_cells};
use super::dry_run;
use super::film;
use super::grid::Grid;
use super::sweep::sweep;
use super::timed;
use crate::args::RunArguments;
use crate::output::{Failure, line, print, still_toml, tell};
use crate::progress::{Progress, remove_at_exit, stop_flag};
use crate::{DONE, INTERRUPTED};

/// Most bytes of maps of a drive that a dry run makes to check it; of a larger drive it checks a smaller copy.
const LOOKED_AT_BYTES_MAX: u64 = 1 << 30;

/// Message of `wane run` without anything to run.
const NOTHING_TO_RUN: &str = "run needs a scenario, such as `wane run scenario.toml`, or keys that make one, such as \
    `wane run --preset tiny --set until.drive-writes=20`; `wane manual` lists the keys";

pub(crate) fn run(arguments: &RunArguments) -> Result<i32, Failure> {
    if arguments.scenario.is_none()
        && arguments.preset.is_none()
        && arguments.set.is_empty()
        && arguments.sweep.is_empty()
    {
        return Err(Failure::wrong(NOTHING_TO_RUN));
    }
    let file = read_scenario(arguments.scenario.as_deref())?;
    let resolve = |more: &[String]| resolve(arguments, file.as_ref(), more);
    let mut grid = Grid::parse(&arguments.sweep)?;
    for repeated in grid.repeated() {
        tell(&format!("wane: {repeated}"));
    }
    // The first cell stands for all: without its values the scenario may lack keys that the sweep sets.
    let base = resolve(&grid.assignments(&grid.row(0)))?;
    let seeds =
        arguments.seeds.map(|count| seeds_from("--seeds", base.seed, count)).transpose().map_err(Failure::wrong)?;
    let is_sweep = !grid.axes.is_empty();
    if let Some(seeds) = seeds.clone().filter(|_| is_sweep) {
        grid.add_seeds(seeds)?;
    }
    let own = usize::from(arguments.scenario.as_deref() == Some(Path::new("-")));
    let runs = if is_sweep { grid.cells } else { seeds.as_ref().map_or(1, Vec::len) };
    check_stdin(&base, runs, own).map_err(Failure::wrong)?;
    if base.array.is_some() && arguments.film.is_some() {
        return Err(Failure::wrong("--film: the scenario is an array; a film shows the blocks of one drive"));
    }
    if arguments.dry_run {
        let cells = grid.rows().map(|row| resolve(&grid.assignments(&row)));
        return dry_run(&base, &cells.collect::<Result<Vec<Scenario>, Failure>>()?, seeds.as_deref());
    }
    if let Some(path) = &arguments.film {
        return film::run(&base, path, &stop_flag());
    }
    match &seeds {
        _ if is_sweep => sweep(&grid, seeds.as_ref().map_or(1, Vec::len), arguments, &resolve),
        None => single(&base, arguments),
        Some(seeds) => several_seeds(&base, seeds, arguments),
    }
}

/// Claims the result folder, so that an unusable one is reported before hours of work, not after.
pub(super) fn claim(arguments: &RunArguments) -> Result<Option<Folder>, Failure> {
    let claimed = arguments.out.as_deref().map(Folder::claim).transpose().map_err(Failure::wrong)?;
    if let Some(folder) = &claimed {
        remove_at_exit(&folder.traces());
    }
    Ok(claimed)
}

/// Whether runs of another sweep or of other seeds are kept or replaced.
pub(super) const fn others(arguments: &RunArguments) -> Others {
    if arguments.force { Others::Replaced } else { Others::Kept }
}

/// Reports that a run of another scenario was removed from the folder.
pub(super) fn tell_replaced(folder: &Folder, other: Option<String>) {
    if let Some(name) = other {
        let (name, place) = (excerpt(&name), excerpt_path(folder.path()));
        tell(&format!("wane: replaced an earlier run of another scenario, {name}, in {place}"));
    }
}

/// Reports which results of an earlier command were removed.
pub(crate) fn tell_removed(folder: &Folder, removed: &[String]) {
    if let Some(told) = removed_in_words(folder, removed) {
        tell(&format!("wane: {told}"));
    }
}

/// Says which results of an earlier command were removed from a folder; `None` if none were.
pub fn removed_in_words(folder: &Folder, removed: &[String]) -> Option<String> {
    let names = removed.join(", ");
    let what = if removed.len() == 1 { "a result" } else { "results" };
    let place = excerpt_path(folder.path());
    (!removed.is_empty()).then(|| format!("removed {what} of an earlier command from {place}: {}", excerpt(&names)))
}

/// Refuses a trace from stdin that `runs` runs would read more than once. `own` counts what else is read from stdin.
///
/// # Errors
/// It would be read more than once; one sentence.
pub fn check_stdin(scenario: &Scenario, runs: usize, own: usize) -> Result<(), &'static str> {
    let traces = scenario.traces().iter().filter(|path| **path == Path::new("-")).count();
    if traces > 0 && traces * runs + own > 1 {
        return Err(
            "workload.trace: \"-\" is stdin, which can be read only once; name a file to use it in several runs or places",
        );
    }
    Ok(())
}

/// Returns `count` seeds from `first` on. Messages name `option`, which asked for them.
///
/// # Errors
/// They exceed the largest seed, or there are none; one sentence.
pub fn seeds_from(option: &str, first: u64, count: u32) -> Result<Vec<u64>, String> {
    let last = count.checked_sub(1).ok_or_else(|| format!("{option}: found 0, allowed is 1 or more"))?;
    match first.checked_add(u64::from(last)).filter(|last| *last <= SEED_MAX) {
        Some(last) => Ok((first..=last).collect()),
        None => Err(format!("{option} {count}: from seed {first} on they exceed {SEED_MAX}, the largest")),
    }
}

/// Seeds from [`seeds_from`], for people.
fn named_seeds(seeds: &[u64]) -> String {
    match seeds {
        [only] => format!("1, seed {only}"),
        [first, .., last] => format!("{}, from {first} to {last}; this is the first", seeds.len()),
        [] => "none".to_owned(),
    }
}

/// The scenario's name and text.
fn read_scenario(path: Option<&Path>) -> Result<Option<(String, String)>, Failure> {
    path.map(crate::output::read_scenario).transpose()
}

fn resolve(arguments: &RunArguments, file: Option<&(String, String)>, more: &[String]) -> Result<Scenario, Failure> {
    let seed = arguments.seed.map(|seed| ("--seed", format!("seed={seed}")));
    let swept = more.iter().map(|assignment| ("--sweep", assignment.clone()));
    let options: Vec<(&str, String)> = seed.into_iter().chain(swept).collect();
    let sources = Sources {
        preset: arguments.preset.as_deref(),
        file: file.map(|(name, text)| (name.as_str(), text.as_str())),
        set: &arguments.set,
    };
    let mut scenario = Scenario::resolve_with(&sources, &options)?;
    scenario.relative_to(&arguments.scenario.as_deref().map(folder_of).unwrap_or_default());
    match arguments.scale {
        Some(scale) => scenario.scaled(scale).map_err(|error| Failure::wrong(format!("--scale {error}"))),
        None => Ok(scenario),
    }
}

fn dry_run(scenario: &Scenario, cells: &[Scenario], seeds: Option<&[u64]>) -> Result<i32, Failure> {
    let traces = cells.iter().chain([scenario]).flat_map(Scenario::traces);
    for path in traces.filter(|path| !is_read_once(path)) {
        std::fs::File::open(path).map_err(|error| {
            Failure::wrong(format!("workload.trace: {}: cannot be read: {error}", excerpt_path(path)))
        })?;
    }
    for cell in cells.iter().chain([scenario]) {
        build::check_ends(cell).map_err(Failure::wrong)?;
    }
    // Probes open their traces; a trace that can be read only once is left to the run.
    if !scenario.traces().into_iter().any(is_read_once) {
        for cell in cells.iter().chain([scenario]) {
            build::check_times(cell).map_err(Failure::wrong)?;
        }
        scenario.members().iter().try_for_each(check_drive)?;
    }
    let mut text = still_toml(&scenario.to_toml());
    let _ = writeln!(text, "\n# scenario hash: {}", scenario.hash());
    text.push_str(&scenario.array.as_ref().map_or_else(|| described(scenario), array::described));
    text.push_str(&memory(scenario));
    let seeds = seeds.map(|seeds| (named_seeds(seeds), seeds.len()));
    let told = dry_run::lines(scenario, cells, seeds) + &timed::clock(scenario);
    text.push_str(&if scenario.array.is_some() { told.replace("drive write", "array write") } else { told });
    for warning in scenario.unasked().into_iter().chain(scenario.without_effect()) {
        let _ = writeln!(text, "# warning: {warning}");
    }
    print(&text)?;
    Ok(DONE)
}

/// What a dry run says of a drive, in comments.
fn described(scenario: &Scenario) -> String {
    let (device, mut text) = (&scenario.device, String::new());
    let _ = writeln!(
        text,
        "# geometry: {} flash blocks of {} pages of {}, {} in all; {} firmware blocks, {} of them outside the reserve",
        device.geometry.blocks(),
        device.geometry.pages_per_block(),
        device.geometry.page_size(),
        device.geometry.capacity(),
        device.blocks,
        device.rated_blocks
    );
    let _ = writeln!(text, "# logical pages: {} of {}", device.logical_units, device.unit);
    let _ = writeln!(text, "# spare: {}", device.spare_in_words());
    text + &parity(scenario)
}

/// Refuses a drive that cannot be built. One with gigabytes of maps is not made for a check: its smaller copy has the same parts.
fn check_drive(drive: &Scenario) -> Result<(), Failure> {
    let is_large = build::memory_estimate(drive).0 > LOOKED_AT_BYTES_MAX;
    let looked_at = if is_large { drive.scaled(Scale::Auto).ok() } else { None };
    let is_too_large = is_large && looked_at.is_none() && session::check_memory(drive).is_err();
    if is_too_large {
        return Ok(());
    }
    build::check_drive(looked_at.as_ref().unwrap_or(drive)).map_err(Failure::wrong)
}

/// Says how much memory a run takes, and why it would be refused if that is more than there is.
fn memory(scenario: &Scenario) -> String {
    let refused = session::check_memory(scenario).err().map(|why| format!("# warning: a run is refused: {why}\n"));
    format!("# memory: about {}\n{}", build::memory_estimate(scenario), refused.unwrap_or_default())
}

/// Says how much of the drive parity takes, and how much spare space it leaves; empty without redundancy.
fn parity(scenario: &Scenario) -> String {
    let policy = scenario.ftl.redundancy.policy();
    if !policy.acts() {
        return String::new();
    }
    let device = &scenario.device;
    let data = f64::from(policy.data_pages());
    let share = 100.0 / (data + 1.0);
    let logical = f64::from(device.logical_units);
    let spare = 100.0 * (1.0 - logical * (1.0 + 1.0 / data) / device.physical_units() as f64);
    let (of, takes, when) = if policy.protects(Task::Host) {
        ("data", "takes", "full and freshly written")
    } else {
        ("relocated data", "takes at most", "full, with all data relocated")
    };
    format!(
        "# parity: 1 page for {data} of {of} {takes} {share:.2} % of what is programmed; {when}, the drive has {spare:.2} % of its flash left \
         to spare\n"
    )
}

/// Whether a trace is stdin or a pipe: opening it may wait, and its content can be read only once.
fn is_read_once(trace: &Path) -> bool {
    trace == Path::new("-") || trace.metadata().is_ok_and(|found| !found.is_file() && !found.is_dir())
}

fn single(scenario: &Scenario, arguments: &RunArguments) -> Result<i32, Failure> {
    let stop = stop_flag();
    let mut folder = claim(arguments)?;
    if let Some(folder) = &folder {
        session::check_loss(folder, others(arguments)).map_err(Failure::wrong)?;
    }
    let result = watched(scenario, arguments.quiet, &stop)?;
    if let Some(folder) = &mut folder {
        let other = folder.other_run(&[scenario.hash()]);
        tell_replaced(folder, other);
        let removed = session::write(folder, &result).map_err(Failure::wrong)?;
        tell_removed(folder, &removed);
    }
    show(&result, arguments)?;
    Ok(if session::interrupted(&result) { INTERRUPTED } else { DONE })
}

/// Runs a scenario with its progress shown.
pub(crate) fn watched(scenario: &Scenario, quiet: bool, stop: &Arc<AtomicBool>) -> Result<RunResult, Failure> {
    let mut progress = Progress::new(&scenario.name, quiet);
    let mut step = |step: &wane_lab::run::Step| progress.step(step);
    let result = session::execute(scenario, &PolicyOverrides::default(), &mut Watch { step: &mut step, stop });
    progress.finish();
    result.map_err(Failure::wrong)
}

fn show(result: &RunResult, arguments: &RunArguments) -> Result<(), Failure> {
    if arguments.json {
        return print(&result.summary.to_json());
    }
    let mut text = in_words(result);
    if let Some(out) = &arguments.out {
        line(&mut text, "report", &out.join("report.html").display().to_string());
    }
    print(&text)
}

/// A run for people, a line a figure, as `wane run` prints it.
pub fn in_words(result: &RunResult) -> String {
    array::in_words(result).unwrap_or_else(|| timed::with_warnings(result, words(&result.summary)))
}

/// A summary for people.
fn words(summary: &Summary) -> String {
    let mut text = String::new();
    let number = |value: Option<f64>| value.map_or_else(|| "none".to_owned(), |value| format!("{value:.3}"));
    let cause = summary.end.cause.map(|cause| format!(" ({})", cause.name())).unwrap_or_default();
    let amplification = &summary.write_amplification;
    let wear = &summary.wear.erase_count;
    let mut line = |name: &str, value: String| line(&mut text, name, &value);
    line("scenario", format!("{} ({})", summary.scenario.name, summary.scenario.hash));
    line("end", format!("{}{cause} after {:.2} drive writes", summary.end.reason.name(), summary.end.at_drive_writes));
    line(
        "data written",
        format!(
            "{} ({} pages)",
            plain(&report::written_in_words(std::iter::once(summary))),
            summary.host.pages_written
        ),
    );
    of_files(summary).into_iter().for_each(|(name, value)| line(name, value));
    if let Some(forward) = &summary.fast_forward {
        line("fast-forward", report::forward_in_words(forward));
    }
    if let Some(told) = super::life::words(summary) {
        line("life", told);
    }
    if let Some(told) = report::worn_out_in_part(summary) {
        line("wear", plain(&told));
    }
    let told = match amplification.total {
        None => "none: the host wrote nothing".to_owned(),
        total => format!(
            "{} in all{}, {} by garbage collection, {} by wear leveling{}",
            number(total),
            if summary.file_system.is_some() { " of what the drive got" } else { "" },
            number(amplification.gc),
            number(amplification.wear_leveling),
            kept_alive(summary)
        ),
    };
    line("write amplification", told + &of_parts(summary));
    line(
        "erases of a block",
        format!("mean {:.1}, sd {:.1}, least {}, median {}, most {}", wear.mean, wear.sd, wear.min, wear.p50, wear.max),
    );
    line("blocks retired", summary.wear.blocks_retired.to_string());
    line(
        "exported at the end",
        format!(
            "{} of {}{}",
            wane_units::Bytes(summary.capacity.logical_bytes_exported),
            wane_units::Bytes(summary.capacity.logical_bytes_initial),
            summary.capacity.over_provisioning.map_or_else(String::new, |surplus| format!(
                "; over-provisioning {:.2} %, spare factor {:.2} %, with the reserve of garbage collection",
                100.0 * surplus,
                100.0 * wane_scenario::spare_of(surplus)
            ))
        ),
    );
    let millions = |rate: Option<f64>| number(rate.map(|rate| rate / 1e6));
    let (pages, operations) = (summary.run.flash_pages_programmed_per_second, summary.run.flash_operations_per_second);
    let timed = operations.map_or_else(String::new, |_| format!(", {} million operations", millions(operations)));
    line(
        "speed",
        format!("{:.1} s, {} million flash pages{timed} a second", summary.run.wall_seconds, millions(pages)),
    );
    text
}

/// What programs did with the files of a file system, if there is one.
fn of_files(summary: &Summary) -> Vec<(&'static str, String)> {
    let Some(files) = &summary.file_system else { return Vec::new() };
    let ratio = |value: Option<f64>| value.map_or_else(|| "none".to_owned(), |value| format!("{value:.3}"));
    let decimal = |bytes: u64| wane_units::Bytes(bytes).decimal();
    let reached = files.bytes_written_back.map_or_else(String::new, |bytes| {
        // Where time is kept, each write goes to the drive.
        if bytes >= files.bytes_written {
            return String::new();
        }
        format!(", of which {} reached the drive, the rest being overwritten in memory", decimal(bytes))
    });
    let written = format!(
        "{}{reached}; the drive got {} times as much, and its flash {}",
        decimal(files.bytes_written),
        ratio(files.write_amplification),
        ratio(files.write_amplification_of_flash)
    );
    vec![("written to files", written), ("file system", files_in_words(files))]
}

/// What a file system did to fit its drive.
fn files_in_words(files: &wane_results::FileSystem) -> String {
    let bytes = |bytes: u64| wane_units::Bytes(bytes).decimal();
    let remapped = match files.bytes_remapped {
        0 => String::new(),
        remapped => format!(", {} remapped", bytes(remapped)),
    };
    let structures = files.bytes_of_structures;
    let structures = structures.map_or_else(String::new, |written| format!(", {} of structures", bytes(written)));
    let way = if files.size_at_end < files.size_at_start { format!(", by {}", files.way) } else { String::new() };
    format!(
        "has {} of {} at the end{way}; {} moved{structures}{remapped}{}{}",
        wane_units::Bytes(files.size_at_end),
        wane_units::Bytes(files.size_at_start),
        bytes(files.bytes_moved),
        if files.is_degraded { "; its data kept it from becoming as small as the drive wanted" } else { "" },
        match files.blocks_lost {
            0 => String::new(),
            lost => format!("; {lost} blocks that programs read were lost"),
        }
    )
}

/// Says which part of the write amplification comes from pages that the host wrote only in part; empty if it wrote whole ones.
fn of_parts(summary: &Summary) -> String {
    let host = &summary.host;
    if host.pages_written_in_part == 0 || host.bytes_written == 0 {
        return String::new();
    }
    let of_parts = host.pages_written as f64 * host.page_bytes as f64 / host.bytes_written as f64;
    let rest = summary.write_amplification.total.unwrap_or(0.0) / of_parts;
    format!("; of bytes: {of_parts:.3} by pages that the host wrote only in part, times {rest:.3} by all else")
}

/// Says what scrubbing and parity add to the write amplification; empty without both.
fn kept_alive(summary: &Summary) -> String {
    let pages = &summary.flash.pages_programmed;
    let share = |pages: u64| pages as f64 / summary.host.pages_written.max(1) as f64;
    [(pages.scrub, "scrubbing"), (pages.parity, "parity")]
        .into_iter()
        .filter(|(pages, _)| *pages > 0)
        .map(|(pages, what)| format!(", {:.3} by {what}", share(pages)))
        .collect()
}

fn several_seeds(base: &Scenario, seeds: &[u64], arguments: &RunArguments) -> Result<i32, Failure> {
    let cells: Vec<(String, Scenario)> =
        seeds.iter().map(|seed| (format!("seed-{seed}"), base.with_seed(*seed))).collect();
    let files = |results: &[Option<RunResult>]| {
        let present: Vec<RunResult> = results.iter().flatten().cloned().collect();
        let statistics = statistics_of(results).to_json();
        vec![(STATISTICS, statistics.into_bytes()), (REPORT, report::render(&present).into_bytes())]
    };
    let Finished { results, code, failure } = run_cells(&cells, MadeBy::Seeds, arguments, &files)?;
    if let Some(failure) = failure {
        return Err(failure);
    }
    tell_ages(&results);
    let statistics = statistics_of(&results);
    let present: Vec<RunResult> = results.iter().flatten().cloned().collect();
    let in_words = || interval_words(&statistics, &results) + &report::warned(&present);
    print(&if arguments.json { statistics.to_json() } else { in_words() })?;
    Ok(code)
}

fn statistics_of(results: &[Option<RunResult>]) -> Statistics {
    let runs = whole_runs(results.iter().flatten().collect(), |result| &result.summary);
    let common = Common::of(runs.iter().copied());
    let summaries: Vec<Summary> = runs.iter().map(|result| result.summary_at(common)).collect();
    Statistics::of(&summaries)
}

/// The figures that matter, as mean and interval; of a single run, as they are.
fn interval_words(statistics: &Statistics, results: &[Option<RunResult>]) -> String {
    let whole = whole_runs(results.iter().flatten().collect(), |result| &result.summary);
    let is_one = seeds_made_no_difference(&whole);
    let mut text = match statistics.runs() {
        1 => "1 seed: its figures; an interval needs at least 2 seeds\n".to_owned(),
        runs if is_one => {
            format!("{runs} seeds with the same results: what they draw makes no difference here\n")
        }
        runs => format!("{runs} seeds: mean and 95 % interval\n"),
    };
    let stopped = results.iter().flatten().filter(|result| session::interrupted(result)).count();
    let missing = results.iter().filter(|result| result.is_none()).count();
    let told = match stopped {
        0 => String::new(),
        all if all + missing == results.len() => "; these are figures up to the interruption".to_owned(),
        some => format!("; {some} that had begun are left out"),
    };
    if stopped + missing > 0 {
        debug_assert!(
            stopped + missing <= results.len(),
            "a seed that was stopped has a result, and one that is missing none"
        );
        let _ = writeln!(
            text,
            "interrupted: {} of {} seeds came to their end{told}",
            results.len() - stopped - missing,
            results.len()
        );
    }
    for leaf in leaves_of(results.iter().flatten()) {
        let value = leaf.split('.').try_fold(statistics.json(), |value, part| value.get(part));
        let figure = |name: &str| value.and_then(|value| value.get(name)).and_then(serde_json::Value::as_f64);
        debug_assert!(
            figure("low").zip(figure("high")).is_none_or(|(low, high)| low <= high),
            "{leaf}: an interval begins below where it ends"
        );
        let Some(mean) = figure("mean").map(figure_text) else { continue };
        let _ = match figure("low").zip(figure("high")).filter(|_| !is_one) {
            Some((low, high)) => {
                writeln!(text, "{leaf:<50} {mean:>16} {:>16} .. {}", figure_text(low), figure_text(high))
            }
            // Only one run has the figure.
            None => writeln!(text, "{leaf:<50} {mean:>16}"),
        };
    }
    text
}

/// Formats a number for people: large ones and counts are whole, small ones have three significant digits.
fn figure_text(value: f64) -> String {
    match value.abs() {
        size if size >= 1e5 || value.fract() == 0.0 => format!("{value:.0}"),
        size if size >= 0.1 => format!("{value:.4}"),
        _ => plain(&counted(value)),
    }
}

/// Reports which runs lack the age at which latencies are compared.
pub(super) fn tell_ages(results: &[Option<RunResult>]) {
    let present: Vec<RunResult> = results.iter().flatten().cloned().collect();
    if let Some(note) = report::ages_note(&present) {
        tell(&format!("wane: {note}"));
    }
}
