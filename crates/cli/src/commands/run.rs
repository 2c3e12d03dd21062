//! `wane run`: one scenario, several seeds, or a grid.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use wane_lab::build::{self, Outside};
use wane_lab::report;
use wane_lab::results::{EndReason, Folder, GRID_LEAVES, GridCell, RunResult, Statistics, Summary, grid_csv};
use wane_lab::run::Watch;
use wane_lab::scenario::{Scenario, Sources, folder_of};
use wane_lab::session::{self, Cell};

use super::timed;
use crate::args::RunArguments;
use crate::output::{Failure, line, pretty, print, read_text, tell};
use crate::progress::{Progress, stop_flag};
use crate::{DONE, INTERRUPTED};

/// Flash pages programmed a second that an estimate of the time reckons with.
const PAGES_PER_SECOND: f64 = 6e7;
/// The same where operations are placed in time or flash errs.
const DETAILED_PAGES_PER_SECOND: f64 = 1e6;

pub(crate) fn run(arguments: &RunArguments) -> Result<i32, Failure> {
    let file = read_scenario(arguments.scenario.as_deref())?;
    let resolve = |more: &[String]| resolve(arguments, file.as_ref(), more);
    let grid = grid(&arguments.sweep)?;
    // The first cell stands for all: without its values the scenario may lack what the sweep gives it.
    let first: Vec<String> = grid.iter().map(|axis| format!("{}={}", axis.key, axis.values[0])).collect();
    let base = resolve(&first)?;
    if arguments.dry_run {
        let cells = cells_of(&grid);
        let cells: Result<Vec<Scenario>, Failure> = cells.iter().map(|row| resolve(&assignments(&grid, row))).collect();
        return dry_run(&base, &cells?);
    }
    let own = usize::from(arguments.scenario.as_deref() == Some(Path::new("-")));
    let runs = cells_of(&grid).len() * arguments.seeds.unwrap_or(1) as usize;
    let traces = base.traces().iter().filter(|path| **path == Path::new("-")).count();
    if traces > 0 && traces * runs + own > 1 {
        let sentence = "workload.trace: \"-\" is stdin, which can be read only once; name a file to use it in several runs or places";
        return Err(Failure::wrong(sentence));
    }
    if let Some(out) = &arguments.out {
        // An unusable folder is told before hours of work, not after.
        Folder::create(out).map_err(Failure::wrong)?;
    }
    match (grid.is_empty(), arguments.seeds) {
        (true, None) => single(&base, arguments),
        (true, Some(seeds)) => several_seeds(&base, seeds, arguments),
        (false, None) => sweep(&grid, arguments, &resolve),
        (false, Some(_)) if grid.iter().any(|axis| axis.key == "seed") => {
            Err(Failure::wrong("--seeds stands beside --sweep seed=...; give one of them"))
        }
        (false, Some(seeds)) => {
            let numbers = (0..u64::from(seeds)).map(|offset| (base.seed + offset).to_string());
            let seeds = Axis { key: "seed".to_owned(), values: numbers.collect() };
            let grid: Vec<Axis> = grid.into_iter().chain([seeds]).collect();
            sweep(&grid, arguments, &resolve)
        }
    }
}

/// The scenario's name and text.
fn read_scenario(path: Option<&Path>) -> Result<Option<(String, String)>, Failure> {
    path.map(read_text).transpose()
}

fn resolve(arguments: &RunArguments, file: Option<&(String, String)>, more: &[String]) -> Result<Scenario, Failure> {
    let seed = arguments.seed.map(|seed| format!("seed={seed}"));
    let set: Vec<String> = arguments.set.iter().chain(&seed).chain(more).cloned().collect();
    let sources = Sources {
        preset: arguments.preset.as_deref(),
        file: file.map(|(name, text)| (name.as_str(), text.as_str())),
        set: &set,
    };
    let mut scenario = Scenario::resolve(&sources)?;
    scenario.relative_to(&arguments.scenario.as_deref().map(folder_of).unwrap_or_default());
    Ok(scenario)
}

/// Seconds that a run is likely to take; `None` where a trace decides.
fn seconds_estimate(scenario: &Scenario) -> Option<f64> {
    let detailed = scenario.time.is_timed() || scenario.medium.chip.is_some();
    let rate = if detailed { DETAILED_PAGES_PER_SECOND } else { PAGES_PER_SECOND };
    build::programs_estimate(scenario).map(|pages| pages / rate)
}

fn dry_run(scenario: &Scenario, cells: &[Scenario]) -> Result<i32, Failure> {
    let traces = cells.iter().chain([scenario]).flat_map(Scenario::traces);
    for path in traces.filter(|path| *path != Path::new("-")) {
        std::fs::File::open(path)
            .map_err(|error| Failure::wrong(format!("{}: cannot be read: {error}", path.display())))?;
    }
    let device = &scenario.device;
    let mut text = scenario.to_toml();
    let _ = writeln!(text, "\n# scenario hash: {}", scenario.hash());
    let _ = writeln!(
        text,
        "# geometry: {} flash blocks of {} pages of {}, {} in all; {} firmware blocks, {} of them beside the reserve",
        device.geometry.blocks(),
        device.geometry.pages_per_block(),
        device.geometry.page_size(),
        device.geometry.capacity(),
        device.blocks,
        device.rated_blocks
    );
    let _ = writeln!(text, "# logical pages: {} of {}", device.logical_units, device.unit);
    let _ = writeln!(text, "# memory: about {}", build::memory_estimate(scenario));
    match build::programs_estimate(scenario).zip(seconds_estimate(scenario)) {
        Some((pages, seconds)) => {
            let _ = writeln!(
                text,
                "# time: about {seconds:.1} s for {:.2} billion flash pages at {:.0} million a second",
                pages / 1e9,
                pages / seconds / 1e6
            );
        }
        None => text.push_str("# time: as long as the trace\n"),
    }
    text.push_str(&timed::clock(scenario));
    for warning in scenario.without_effect() {
        let _ = writeln!(text, "# warning: {warning}");
    }
    if cells.len() > 1 {
        let all: Option<f64> = cells.iter().map(seconds_estimate).sum();
        let time = all.map_or(String::new(), |seconds| format!(", about {seconds:.1} s on one core in all"));
        let _ = writeln!(text, "# cells of the sweep: {}{time}; this is the first", cells.len());
    }
    session::check_memory(scenario).map_err(Failure::wrong)?;
    for cell in cells.iter().chain([scenario]) {
        build::check_ends(cell).map_err(Failure::wrong)?;
    }
    // Probes open their traces, and stdin is left to the run.
    if !scenario.traces().contains(&Path::new("-")) {
        build::check_drive(scenario).map_err(Failure::wrong)?;
    }
    print(&text)?;
    Ok(DONE)
}

fn single(scenario: &Scenario, arguments: &RunArguments) -> Result<i32, Failure> {
    let stop = stop_flag();
    let result = watched(scenario, arguments.quiet, &stop)?;
    if let Some(out) = &arguments.out {
        session::write(out, &result).map_err(Failure::wrong)?;
    }
    show(&result, arguments)?;
    Ok(if session::interrupted(&result) { INTERRUPTED } else { DONE })
}

/// Runs a scenario with its progress shown.
pub(crate) fn watched(scenario: &Scenario, quiet: bool, stop: &Arc<AtomicBool>) -> Result<RunResult, Failure> {
    let mut progress = Progress::new(&scenario.name, quiet);
    let mut step = |step: &wane_lab::run::Step| progress.step(step);
    let result = session::execute(scenario, Outside::default(), &mut Watch { step: &mut step, stop });
    progress.finish();
    result.map_err(Failure::wrong)
}

fn show(result: &RunResult, arguments: &RunArguments) -> Result<(), Failure> {
    if arguments.json {
        return print(&result.summary.to_json());
    }
    let mut text = words(&result.summary) + &timed::words(result);
    for warning in &result.summary.warnings {
        line(&mut text, "warning", warning);
    }
    if let Some(out) = &arguments.out {
        line(&mut text, "report", &out.join("report.html").display().to_string());
    }
    print(&text)
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
        "host writes",
        format!("{} pages, {}", summary.host.pages_written, wane_units::Bytes(summary.host.bytes_written)),
    );
    line(
        "amplification",
        format!(
            "{} in all, {} by garbage collection, {} by wear leveling{}",
            number(amplification.total),
            number(amplification.gc),
            number(amplification.wear_leveling),
            kept_alive(summary)
        ),
    );
    line(
        "erases a block",
        format!("mean {:.1}, sd {:.1}, least {}, median {}, most {}", wear.mean, wear.sd, wear.min, wear.p50, wear.max),
    );
    line("blocks retired", summary.wear.blocks_retired.to_string());
    line(
        "capacity",
        format!(
            "{} of {} exported",
            wane_units::Bytes(summary.capacity.logical_bytes_exported),
            wane_units::Bytes(summary.capacity.logical_bytes_initial)
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

/// What scrubbing and parity add to the write amplification; nothing where there is neither.
fn kept_alive(summary: &Summary) -> String {
    let pages = &summary.flash.pages_programmed;
    let share = |pages: u64| pages as f64 / summary.host.pages_written.max(1) as f64;
    [(pages.scrub, "scrubbing"), (pages.parity, "parity")]
        .into_iter()
        .filter(|(pages, _)| *pages > 0)
        .map(|(pages, what)| format!(", {:.3} by {what}", share(pages)))
        .collect()
}

fn several_seeds(base: &Scenario, seeds: u32, arguments: &RunArguments) -> Result<i32, Failure> {
    let scenarios = (0..u64::from(seeds)).map(|offset| {
        let mut scenario = base.clone();
        scenario.seed = base.seed + offset;
        scenario
    });
    let folder = |scenario: &Scenario| arguments.out.as_ref().map(|out| out.join(format!("seed-{}", scenario.seed)));
    let cells: Vec<Cell> = scenarios.map(|scenario| Cell { folder: folder(&scenario), scenario }).collect();
    let Finished { results, code, failure } = run_cells(&cells, arguments.quiet);
    if let Some(failure) = failure {
        return Err(failure);
    }
    let present: Vec<RunResult> = results.into_iter().flatten().collect();
    let summaries: Vec<Summary> = present.iter().map(|result| result.summary.clone()).collect();
    let statistics = Statistics::of(&summaries);
    if let Some(out) = &arguments.out {
        let folder = Folder::create(out).map_err(Failure::wrong)?;
        folder.write_statistics(&statistics.to_json()).map_err(Failure::wrong)?;
        folder.write_report(&report::render(&present)).map_err(Failure::wrong)?;
    }
    if arguments.json {
        print(&statistics.to_json())?;
    } else {
        print(&interval_words(&statistics))?;
    }
    Ok(code)
}

/// The figures that matter, as mean and interval.
fn interval_words(statistics: &Statistics) -> String {
    let mut text = format!("{} seeds: mean and 95 % interval\n", statistics.runs());
    for leaf in GRID_LEAVES {
        let value = leaf.split('.').try_fold(statistics.json(), |value, part| value.get(part));
        let figure = |name: &str| value.and_then(|value| value.get(name)).and_then(serde_json::Value::as_f64);
        if let (Some(mean), Some(low), Some(high)) = (figure("mean"), figure("low"), figure("high")) {
            let [mean, low, high] = [mean, low, high].map(figure_text);
            let _ = writeln!(text, "{leaf:<50} {mean:>16} {low:>16} .. {high}");
        }
    }
    text
}

/// A number for people: large ones are whole.
fn figure_text(value: f64) -> String {
    if value.abs() >= 1e5 { format!("{value:.0}") } else { format!("{value:.4}") }
}

/// One swept key.
struct Axis {
    key: String,
    values: Vec<String>,
}

fn grid(sweeps: &[String]) -> Result<Vec<Axis>, Failure> {
    let axis = |sweep: &String| {
        let parsed = sweep.split_once('=').map(|(key, values)| (key.trim(), split_values(values)));
        match parsed {
            Some((key, values)) if !key.is_empty() && values.iter().all(|value| !value.is_empty()) => {
                Ok(Axis { key: key.to_owned(), values })
            }
            _ => Err(Failure::wrong(format!("--sweep {sweep}: expected KEY=V1,V2,..., such as ftl.gc.d=1,2,4,8"))),
        }
    };
    let axes = sweeps.iter().map(axis).collect::<Result<Vec<Axis>, Failure>>()?;
    for (number, axis) in axes.iter().enumerate() {
        if axes[..number].iter().any(|earlier| earlier.key == axis.key) {
            return Err(Failure::wrong(format!(
                "--sweep {}: the key is swept twice; give all its values at once",
                axis.key
            )));
        }
    }
    Ok(axes)
}

/// Splits at commas outside quotes, brackets and braces, so that a value may be a table.
fn split_values(text: &str) -> Vec<String> {
    let (mut values, mut value) = (Vec::new(), String::new());
    let (mut depth, mut quote) = (0i32, None);
    for letter in text.chars() {
        match letter {
            ',' if depth == 0 && quote.is_none() => {
                values.push(std::mem::take(&mut value).trim().to_owned());
                continue;
            }
            '"' | '\'' if quote == Some(letter) => quote = None,
            '"' | '\'' if quote.is_none() => quote = Some(letter),
            '[' | '{' if quote.is_none() => depth += 1,
            ']' | '}' if quote.is_none() => depth -= 1,
            _ => {}
        }
        value.push(letter);
    }
    values.push(value.trim().to_owned());
    values
}

/// The values of a grid's cells, the last key changing fastest.
fn cells_of(grid: &[Axis]) -> Vec<Vec<String>> {
    grid.iter().fold(vec![Vec::new()], |rows, axis| {
        let extend = |row: &Vec<String>| {
            axis.values
                .iter()
                .map(|value| row.iter().cloned().chain([value.clone()]).collect())
                .collect::<Vec<Vec<String>>>()
        };
        rows.iter().flat_map(extend).collect()
    })
}

/// What sets a cell apart, as `--set` takes it.
fn assignments(grid: &[Axis], row: &[String]) -> Vec<String> {
    grid.iter().zip(row).map(|(axis, value)| format!("{}={value}", axis.key)).collect()
}

fn sweep(
    grid: &[Axis],
    arguments: &RunArguments,
    resolve: &dyn Fn(&[String]) -> Result<Scenario, Failure>,
) -> Result<i32, Failure> {
    let keys: Vec<String> = grid.iter().map(|axis| axis.key.clone()).collect();
    let rows = cells_of(grid);
    let mut cells = Vec::new();
    for (number, row) in rows.iter().enumerate() {
        let set = assignments(grid, row);
        let mut scenario = resolve(&set)?;
        scenario.name = set.join(" ");
        cells.push(Cell { scenario, folder: arguments.out.as_ref().map(|out| out.join(number.to_string())) });
    }
    let Finished { results, code, failure } = run_cells(&cells, arguments.quiet);
    let table: Vec<GridCell<'_>> = rows
        .iter()
        .zip(&results)
        .map(|(values, result)| GridCell { values, summary: result.as_ref().map(|result| &result.summary) })
        .collect();
    let csv = grid_csv(&keys, GRID_LEAVES, &table);
    if let Some(out) = &arguments.out {
        let folder = Folder::create(out).map_err(Failure::wrong)?;
        folder.write_grid(&csv).map_err(Failure::wrong)?;
        let present: Vec<RunResult> = results.iter().flatten().cloned().collect();
        folder.write_report(&report::render(&present)).map_err(Failure::wrong)?;
    }
    if let Some(failure) = failure {
        return Err(failure);
    }
    if arguments.json {
        let summaries: Vec<Option<&Summary>> =
            results.iter().map(|result| result.as_ref().map(|result| &result.summary)).collect();
        print(&pretty(&summaries)?)?;
    } else {
        print(&csv)?;
    }
    Ok(code)
}

/// What several runs came to.
struct Finished {
    /// In the order of the cells; `None` where there is no result.
    results: Vec<Option<RunResult>>,
    code: i32,
    /// The first of the cells that failed, and why.
    failure: Option<Failure>,
}

/// Runs cells in parallel and tells of each.
fn run_cells(cells: &[Cell], quiet: bool) -> Finished {
    let stop = stop_flag();
    let progress = Mutex::new((Progress::new("sweep", quiet), 0usize));
    let there = AtomicUsize::new(0);
    let each = |number: usize, outcome: &session::Outcome, was_there: bool| {
        let mut shown = progress.lock().expect("no holder panics");
        shown.1 += 1;
        there.fetch_add(usize::from(was_there), Ordering::Relaxed);
        let what = match outcome {
            Ok(_) if was_there => "was there".to_owned(),
            Ok(result) if session::interrupted(result) => "interrupted".to_owned(),
            Ok(result) => format!("{:.1} drive writes", result.summary.end.at_drive_writes),
            Err(error) => error.to_string(),
        };
        let finished = shown.1;
        shown.0.say(finished, cells.len(), &format!("{}: {what}", cells[number].scenario.name));
    };
    let outcomes = session::execute_all(cells, &stop, &each);
    progress.lock().expect("no holder panics").0.finish();
    let there = there.into_inner();
    if there > 0 && !quiet {
        tell(&format!("wane: {there} of {} runs were there already", cells.len()));
    }
    let mut results = Vec::new();
    let (mut code, mut failure) = (DONE, None);
    for (cell, outcome) in cells.iter().zip(outcomes) {
        match outcome {
            Some(Ok(result)) => {
                if result.summary.end.reason == EndReason::Interrupted {
                    code = INTERRUPTED;
                }
                results.push(Some(result));
            }
            Some(Err(error)) => {
                failure = failure.or_else(|| Some(Failure::wrong(format!("{}: {error}", cell.scenario.name))));
                results.push(None);
            }
            None => {
                code = INTERRUPTED;
                results.push(None);
            }
        }
    }
    Finished { results, code, failure }
}

/// The folder of one of the demo's runs.
pub(crate) fn subfolder(out: &Path, name: &str) -> PathBuf {
    out.join(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn swept_values_may_be_tables() {
        assert_eq!(split_values("1, 2,4"), ["1", "2", "4"]);
        assert_eq!(split_values("{ a = 1, b = 2 },'x,y'"), ["{ a = 1, b = 2 }", "'x,y'"]);
    }

    #[test]
    fn the_last_key_changes_fastest() {
        let axis = |key: &str, values: &[&str]| Axis {
            key: key.into(),
            values: values.iter().map(|v| (*v).to_owned()).collect(),
        };
        let cells = cells_of(&[axis("a", &["1", "2"]), axis("b", &["x", "y"])]);
        assert_eq!(cells, [["1", "x"], ["1", "y"], ["2", "x"], ["2", "y"]]);
    }
}
