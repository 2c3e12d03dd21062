//! `wane drive`: drives that are kept in folders.

mod compare;
mod data;
mod faults;
mod list;
mod replay;
mod show;
mod smart;
mod tend;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::json;
use toml::{Table, Value};
use wane_ftl::policies::Mode;
use wane_lab::estimate::aging_seconds;
use wane_lab::held::Act;
use wane_lab::kept::{Aged, Kept, KeptError, Reached, Target, WrittenBytes, check_whole};
use wane_lab::progress::Stopwatch;
use wane_lab::run::{Step, Watch};
use wane_scenario::{FastForward, Pattern, Scenario, Sources, endless, folder_of};
use wane_shelf::ShelfError;
use wane_units::{Sectors, excerpt_path};
use wane_workload::lsm::Operations;
use wane_workload::standin;

use crate::args::drive::{
    AgeArguments, Asked, CreateArguments, DriveArguments, DriveCommand, ForkArguments, KeptDrive, ProbeArguments,
    Purpose, WaitArguments,
};
use crate::output::{Failure, line, print, print_json, read_text, tell, unknown};
use crate::progress::{Progress, stop_flag};
use crate::{DIFFERS, DONE, INTERRUPTED};
#[cfg(target_os = "linux")]
pub(crate) use data::exact;

pub(crate) fn drive(arguments: &DriveArguments) -> Result<i32, Failure> {
    match &arguments.command {
        DriveCommand::Create(arguments) => create(arguments),
        DriveCommand::Age(arguments) => age(arguments),
        DriveCommand::Show(arguments) => show(arguments),
        DriveCommand::Smart(arguments) => smart::smart(arguments),
        DriveCommand::Fork(arguments) => fork(arguments),
        DriveCommand::Check(arguments) => faults::check(arguments),
        DriveCommand::Retire(arguments) => faults::retire(arguments),
        DriveCommand::Require(arguments) => faults::require(arguments),
        DriveCommand::Inject(arguments) => faults::inject(arguments),
        DriveCommand::Wait(arguments) => wait(arguments),
        DriveCommand::Probe(arguments) => probe(arguments),
        DriveCommand::List(arguments) => list::list(arguments),
        DriveCommand::Compare(arguments) => compare::compare(arguments),
        DriveCommand::Write(arguments) => data::write(arguments),
        DriveCommand::Read(arguments) => data::read(arguments),
        DriveCommand::Trim(arguments) => data::trim(arguments),
        DriveCommand::PowerCut(arguments) => data::power_cut(arguments),
        DriveCommand::Status(arguments) => Ok(tend::status(arguments)),
        DriveCommand::TakeOut(arguments) => tend::take_out(arguments),
        DriveCommand::PutBack(arguments) => tend::put_back(arguments),
        DriveCommand::Replace(arguments) => tend::replace(arguments),
        DriveCommand::Scrub(arguments) => tend::scrub(arguments),
        DriveCommand::Replay(arguments) => replay::replay(arguments),
    }
}

impl From<KeptError> for Failure {
    fn from(error: KeptError) -> Self {
        match error {
            KeptError::Scenario(error) => error.into(),
            KeptError::Interrupted => Self::Interrupted(KeptError::Interrupted.to_string()),
            KeptError::Shelf(ShelfError::Busy(name, _)) if wane_serve::Note::control_of(Path::new(&name)).is_ok() => {
                Self::wrong(format!(
                    "{name} is served; `wane ctl {name} status`, smart and fork look at it, and withdraw ends that"
                ))
            }
            other => Self::wrong(other),
        }
    }
}

/// After this time of aging the drive is saved on the way.
const SAVE_EVERY: Duration = Duration::from_secs(120);

/// Least share of a drive that holds data when aging begins, without a warning.
const FILLED_LEAST: f64 = 0.5;

/// Requests in the scenario of a drive that ages. They do not count: aging ends at its target.
const UNCOUNTED: u64 = 1;

fn create(arguments: &CreateArguments) -> Result<i32, Failure> {
    if arguments.scenario.is_none() && arguments.preset.is_none() && arguments.set.is_empty() {
        let sentence = "create needs a drive, such as `wane drive create d.wane --preset tiny`, a scenario file, or keys \
                        that define one; `wane presets` lists the drives to start from";
        return Err(Failure::wrong(sentence));
    }
    let file = arguments.scenario.as_deref().map(read_text).transpose()?;
    let seed = arguments.seed.map(|seed| ("--seed", format!("seed={seed}")));
    let capacity = arguments
        .capacity
        .as_ref()
        .map(|size| ("--capacity", format!("drive.logical-capacity={}", Value::from(size.trim()))));
    let sources = Sources {
        preset: arguments.preset.as_deref(),
        file: file.as_ref().map(|(name, text)| (name.as_str(), text.as_str())),
        set: &arguments.set,
    };
    let mut options: Vec<(&str, String)> = seed.into_iter().chain(capacity).collect();
    if arguments.purpose == Some(Purpose::Serve) {
        options = super::fit::fitted(&sources, options)?;
    }
    let mut scenario = endless(&options, |options| Scenario::resolve_with(&sources, options))?;
    scenario.relative_to(&arguments.scenario.as_deref().map(folder_of).unwrap_or_default());
    if let Some(scale) = arguments.scale {
        scenario = scenario.scaled(scale).map_err(|error| Failure::wrong(format!("--scale {error}")))?;
    }
    if arguments.workload.is_some() {
        scenario = reworked(&scenario, arguments.workload.as_deref(), &[], UNCOUNTED, false)?;
    }
    for told in scenario.unasked() {
        tell(&format!("wane: {told}"));
    }
    // Keys that have an effect only with a clock may get one from `drive probe`.
    let of_clock = |told: &str| {
        told.starts_with("time.")
            || told.starts_with("drive.timing ")
            || told.starts_with("array.") && told.contains("the run is untimed")
    };
    for told in scenario.without_effect().iter().filter(|told| !of_clock(told)) {
        tell(&format!("wane: {told}"));
    }
    if scenario.forecast.is_some() {
        tell("wane: [forecast] is made by `wane run` alone; the array that is kept has none");
    }
    if arguments.dry_run {
        return foretold(scenario, arguments);
    }
    let stop = stop_flag();
    let begun = begun(arguments, &scenario);
    let mut kept = if let Some(kept) = begun {
        kept
    } else if arguments.empty {
        Kept::create(&arguments.drive, &scenario, &stop)?
    } else {
        preconditioned(&scenario, arguments, &stop)?
    };
    if arguments.purpose == Some(Purpose::Serve) {
        kept.keep_bytes()?;
    }
    let code = made(kept, arguments, &stop)?;
    if arguments.purpose == Some(Purpose::Serve) && code == DONE && !arguments.json {
        let mut text = String::new();
        line(&mut text, "to use it", &format!("wane serve {}", excerpt_path(&arguments.drive)));
        print(&text)?;
    }
    Ok(code)
}

/// The drive, if the same command made it and it was only aged since: a command that was stopped goes on.
fn begun(arguments: &CreateArguments, scenario: &Scenario) -> Option<Kept> {
    arguments.until?;
    let kept = Kept::open(&arguments.drive).ok()?;
    let is_same = kept.scenario().to_toml() == scenario.to_toml();
    let is_aged_alone = kept
        .history()
        .iter()
        .all(|line| ["created of ", "aged from ", "aging from "].iter().any(|word| line.starts_with(word)));
    if !is_same || !is_aged_alone {
        return None;
    }
    tell(&format!(
        "wane: {}: was made by such a command already, which is gone on with",
        excerpt_path(&arguments.drive)
    ));
    Some(kept)
}

/// Ages a drive that was just made, if that is asked for, and reports it.
fn made(kept: Kept, arguments: &CreateArguments, stop: &Arc<AtomicBool>) -> Result<i32, Failure> {
    let Some(target) = arguments.until else {
        answer(arguments.json, &kept, &arguments.drive, "created")?;
        return Ok(DONE);
    };
    let how = Aging {
        target,
        fast_forward: arguments.fast_forward,
        written: WrittenBytes::Stay,
        trim_all_but: None,
        as_json: arguments.json,
        is_quiet: arguments.quiet,
    };
    age_new(kept, &arguments.drive, &how, stop)
}

/// Ages a drive that was just made. One that is not aged as asked is not left behind.
fn age_new(mut kept: Kept, path: &Path, how: &Aging, stop: &Arc<AtomicBool>) -> Result<i32, Failure> {
    match age_and_note(&mut kept, path, how, stop) {
        Ok(lived) => report_aging(&kept, path, how, &lived),
        Err(error) => {
            drop(kept);
            let _ = std::fs::remove_dir_all(path);
            Err(error)
        }
    }
}

/// Memory and time that making a drive takes; nothing is made.
fn foretold(mut scenario: Scenario, arguments: &CreateArguments) -> Result<i32, Failure> {
    if arguments.drive.symlink_metadata().is_ok() {
        let path = excerpt_path(&arguments.drive);
        return Err(Failure::wrong(format!("{path} is there already; give another name, or remove it")));
    }
    if arguments.empty {
        scenario.precondition = unwritten();
    }
    scenario.fast_forward = forwarded(arguments.fast_forward);
    print(&super::dry_run::of_kept(&scenario, arguments.until, 0.0, 0.0))?;
    Ok(DONE)
}

/// Makes a drive that is preconditioned as a run is.
fn preconditioned(scenario: &Scenario, arguments: &CreateArguments, stop: &Arc<AtomicBool>) -> Result<Kept, Failure> {
    let path = excerpt_path(&arguments.drive);
    let mut progress = Progress::new(&path, arguments.quiet);
    let watch = &mut Watch { step: &mut |step: &Step| progress.step(step), stop };
    let made = Kept::create_preconditioned(&arguments.drive, scenario, SAVE_EVERY, watch);
    progress.finish();
    made.map_err(|error| match error {
        KeptError::Interrupted => Failure::Interrupted(format!(
            "{path}: stopped while it was preconditioned; nothing is left of the drive, and --empty makes one at once"
        )),
        KeptError::DiedNew(_) => Failure::wrong(format!("{path}: {error}, and --empty leaves it out")),
        error => error.into(),
    })
}

/// Returns the drive's scenario, with another workload if one is given.
fn reworked(
    scenario: &Scenario,
    workload: Option<&str>,
    set: &[String],
    requests: u64,
    timed: bool,
) -> Result<Scenario, Failure> {
    let (table, folder) = match workload {
        None => (None, None),
        Some(name) => {
            let (table, folder) = workload_table(name)?;
            (Some(table), folder)
        }
    };
    let mut reworked = scenario.reworked(table, requests, set, timed)?;
    if let Some(folder) = folder {
        reworked.relative_to(&folder);
    } else if workload.is_some() || !set.is_empty() {
        reworked.relative_to(Path::new(""));
    }
    Ok(reworked)
}

/// Returns the workload that a name or a file stands for, and the folder to which its traces are relative.
pub(crate) fn workload_table(given: &str) -> Result<(Table, Option<std::path::PathBuf>), Failure> {
    let one = |key: &str, value: &str| Table::from_iter([(key.to_owned(), Value::from(value))]);
    let path = Path::new(given);
    if path.extension().is_some_and(|extension| extension == "toml") {
        let (name, text) = read_text(path)?;
        let whole: Table =
            text.parse().map_err(|error: toml::de::Error| Failure::wrong(format!("{name}: {}", error.message())))?;
        let Some(Value::Table(workload)) = whole.get("workload") else {
            return Err(Failure::wrong(format!("{name}: has no [workload] table, with which the drive would be aged")));
        };
        return Ok((workload.clone(), Some(folder_of(path))));
    }
    if path.is_file() {
        let mut table = one("trace", given);
        table.insert("loop".to_owned(), Value::from(true));
        return Ok((table, Some(std::path::PathBuf::new())));
    }
    if Pattern::NAMES.contains(&given) {
        return Ok((one("pattern", given), None));
    }
    if standin::names().any(|name| name == given) {
        return Ok((one("standin", given), None));
    }
    if Operations::YCSB.contains(&given) {
        return Ok((one("lsm", given), None));
    }
    let known: Vec<&str> =
        Pattern::NAMES.iter().copied().chain(standin::names()).chain(Operations::YCSB.iter().copied()).collect();
    Err(unknown("workload", given, &known))
}

/// Opens a drive for a command.
fn open(path: &Path) -> Result<Kept, Failure> {
    let kept = Kept::open(path)?;
    tell_dropped(&kept);
    Ok(kept)
}

/// Says what was acknowledged and is not there.
pub(crate) fn tell_dropped(kept: &Kept) {
    if let Some(dropped) = kept.dropped() {
        tell(&format!("wane: {dropped}"));
    }
}

/// Opens a drive for a command that touches few of its bytes.
fn open_late(path: &Path) -> Result<Kept, Failure> {
    let kept = Kept::open_late(path)?;
    tell_dropped(&kept);
    Ok(kept)
}

/// What is done to one drive is not done to an array.
fn one(kept: &Kept, path: &Path, done: &'static str) -> Result<(), Failure> {
    if kept.is_array() && kept.focus().is_none() {
        return Err(Failure::wrong(KeptError::At(excerpt_path(path), Box::new(KeptError::OneDrive(done)))));
    }
    Ok(())
}

fn age(arguments: &AgeArguments) -> Result<i32, Failure> {
    let stop = stop_flag();
    check_whole(&arguments.drive, "aged")?;
    let mut kept = open(&arguments.drive)?;
    if arguments.workload.is_some() || !arguments.set.is_empty() {
        let scenario = reworked(kept.scenario(), arguments.workload.as_deref(), &arguments.set, UNCOUNTED, false)?;
        kept.set_workload(scenario, &stop)?;
    }
    if arguments.dry_run {
        let mut asked = kept.scenario().clone();
        asked.precondition = unwritten();
        asked.fast_forward = forwarded(arguments.fast_forward);
        let used = kept.life_used().unwrap_or(0.0);
        if matches!(arguments.until, Target::Days(_) | Target::DaysLeft(_))
            && kept.drive_writes_per_day(&stop)?.is_none()
        {
            return Err(KeptError::NoPace.into());
        }
        print(&super::dry_run::of_kept(&asked, Some(arguments.until), kept.drive_writes(), used))?;
        return Ok(DONE);
    }
    // What only aging wrote would take the room of its host, who set a limit.
    let is_limited = kept.is_limited();
    let before = if arguments.trim_after || is_limited { Some(kept.mapped()?) } else { None };
    if is_limited && !arguments.trim_after {
        let limit = kept.device().mapped_limit().0 * Sectors::SIZE.0;
        tell(&format!(
            "wane: {}: may hold {} at once (its mapped limit), so that what only this aging writes is trimmed afterwards",
            excerpt_path(&arguments.drive),
            data::exact(limit)
        ));
    }
    let how = Aging {
        target: arguments.until,
        fast_forward: arguments.fast_forward,
        written: if arguments.trim_data { WrittenBytes::AreTrimmed } else { WrittenBytes::Stay },
        trim_all_but: before,
        as_json: arguments.json,
        is_quiet: arguments.quiet,
    };
    age_to(&mut kept, &arguments.drive, &how, &stop)
}

/// How a life is fast-forwarded by a factor.
fn forwarded(factor: Option<f64>) -> Option<FastForward> {
    factor.map(|factor| FastForward { factor, ..FastForward::default() })
}

/// No preconditioning.
fn unwritten() -> wane_scenario::Precondition {
    wane_scenario::Precondition { fill: wane_units::Ratio::ZERO, sequential_drive_writes: 0, random_drive_writes: 0.0 }
}

/// How a drive is aged.
struct Aging {
    target: Target,
    /// The factor by which it is fast-forwarded.
    fast_forward: Option<f64>,
    /// The fate of data on the drive that the workload trims.
    written: WrittenBytes,
    /// Units that stay mapped; all others are trimmed afterwards.
    trim_all_but: Option<Vec<bool>>,
    as_json: bool,
    is_quiet: bool,
}

/// What became of written data of which the workload trimmed `units` units, in words; `None` if it trimmed none.
fn trimmed_data(kept: &Kept, written: WrittenBytes, units: u64) -> Option<String> {
    let bytes = units * u64::from(kept.unit_bytes());
    let size = data::exact(bytes);
    Some(match written {
        _ if bytes == 0 => return None,
        WrittenBytes::Stay => {
            format!(
                "the workload trimmed {size} of data that were written to the drive; they stay (--trim-data would trim them)"
            )
        }
        WrittenBytes::AreTrimmed => {
            format!("the workload trimmed {size} of data that were written to the drive; they are gone")
        }
    })
}

/// How aging went.
struct Way {
    reached: Reached,
    /// Whether the drive was saved on the way, with a note that the last one replaces.
    is_saved: bool,
    /// Units of written data that the workload trimmed.
    trimmed_units: u64,
}

/// Ages an open drive, and saves it every few minutes, so that a killed command leaves most of its work.
fn age_and_save(kept: &mut Kept, path: &Path, how: &Aging, by: &str, stop: &Arc<AtomicBool>) -> Result<Way, Failure> {
    // A distance before the end is found anew in each call, by a whole life.
    let saves = !matches!(how.target, Target::DriveWritesLeft(_) | Target::DaysLeft(_));
    let before = kept.drive_writes();
    kept.fast_forward(how.fast_forward)?;
    let mut progress = Progress::new(&excerpt_path(path), how.is_quiet);
    let mut way = Way { reached: Reached::Interrupted, is_saved: false, trimmed_units: 0 };
    loop {
        let mut since_saved = None;
        let reached = kept.age(how.target, how.written, stop, &mut |aged: &Aged| {
            let Aged { drive_writes, done, programmed } = *aged;
            progress.step(&Step { preconditioning: false, phase: 0, drive_writes, predicted: 0.0, done, programmed });
            !saves || since_saved.get_or_insert_with(Stopwatch::start).elapsed() < SAVE_EVERY
        });
        way.trimmed_units += kept.written_trimmed();
        way.reached = match reached {
            Ok(Reached::Interrupted) if !stop.load(Ordering::Relaxed) => {
                let writes = kept.drive_writes();
                let note = format!("aging from {before:.2} drive writes by {by}, saved on the way at {writes:.2}");
                kept.save_on_the_way(note, !way.is_saved)?;
                way.is_saved = true;
                continue;
            }
            Ok(Reached::Already) if way.is_saved => Reached::Target,
            Ok(reached) => reached,
            Err(error) => {
                progress.finish();
                return Err(error.into());
            }
        };
        progress.finish();
        return Ok(way);
    }
}

/// What became of a drive that was aged and saved.
struct Lived {
    reached: Reached,
    /// Drive writes since then, and the seconds that they took.
    drive_writes: f64,
    seconds: f64,
    /// Share of the drive that held data when aging began.
    filled: f64,
    /// Units of written data that the workload trimmed.
    trimmed_units: u64,
    /// Whether what was trimmed afterwards may come back after a power cut.
    is_undurable: bool,
}

/// Ages an open drive, saves it, and reports what became of it.
fn age_to(kept: &mut Kept, path: &Path, how: &Aging, stop: &Arc<AtomicBool>) -> Result<i32, Failure> {
    let lived = age_and_note(kept, path, how, stop)?;
    report_aging(kept, path, how, &lived)
}

/// Drives whose aging is never long.
const SMALL_BYTES: u64 = 4 << 30;

/// Says how long aging will take, if it is long.
fn tell_time(kept: &Kept, path: &Path, how: &Aging) {
    if how.is_quiet || kept.scenario().host_device().logical_bytes() < SMALL_BYTES || kept.cause().is_some() {
        return;
    }
    let mut asked = kept.scenario().clone();
    asked.precondition = unwritten();
    asked.fast_forward = forwarded(how.fast_forward);
    let used = kept.life_used().unwrap_or(0.0);
    let seconds = aging_seconds(&asked, Some(how.target), kept.drive_writes(), used);
    if let Some(seconds) = seconds.filter(|seconds| *seconds > TOLD_SECONDS) {
        let (path, time) = (excerpt_path(path), super::dry_run::time(seconds));
        tell(&format!(
            "wane: {path}: aging takes about {time}; Ctrl-C saves it, and the same command goes on from there"
        ));
    }
}

/// Aging that takes less is not announced.
const TOLD_SECONDS: f64 = 10.0;

/// Ages an open drive, and saves it.
fn age_and_note(kept: &mut Kept, path: &Path, how: &Aging, stop: &Arc<AtomicBool>) -> Result<Lived, Failure> {
    tell_time(kept, path, how);
    if kept.journal_stays() {
        tell(&format!(
            "wane: {}: aging saves it, which ends the journal that --keep-journal kept; a fork keeps it",
            excerpt_path(path)
        ));
    }
    let (before, predicted) = (kept.drive_writes(), kept.drive_writes_predicted());
    let filled = kept.share_filled();
    let stopwatch = Stopwatch::start();
    let by = show::workload(kept.scenario());
    let Way { reached, is_saved, trimmed_units } = age_and_save(kept, path, how, &by, stop)?;
    let seconds = stopwatch.elapsed().as_secs_f64();
    let mut is_undurable = false;
    if kept.drive_writes() > before {
        let trimmed = how.trim_all_but.as_ref().map(|held| kept.give_back(held));
        if trimmed.is_some() {
            is_undurable = !kept.flush()?;
        }
        let but = if trimmed.is_some() { ", and trimmed what that alone had written" } else { "" };
        let data = trimmed_data(kept, how.written, trimmed_units).map_or(String::new(), |words| format!("; {words}"));
        let predicted = kept.drive_writes_predicted() - predicted;
        let of_them = if predicted > 0.0 { format!(", of which {predicted:.2} were predicted") } else { String::new() };
        let writes = kept.drive_writes();
        let what = if kept.is_array() { "array" } else { "drive" };
        let note = format!("aged from {before:.2} to {writes:.2} {what} writes by {by}{of_them}{but}{data}");
        kept.save_on_the_way(note, !is_saved)?;
    }
    let drive_writes = kept.drive_writes() - before;
    Ok(Lived { reached, drive_writes, seconds, filled, trimmed_units, is_undurable })
}

/// Reports what became of a drive that was aged.
fn report_aging(kept: &Kept, path: &Path, how: &Aging, lived: &Lived) -> Result<i32, Failure> {
    let &Lived { reached, drive_writes, seconds, filled, trimmed_units, is_undurable } = lived;
    let words = match reached {
        Reached::Target => "aged".to_owned(),
        Reached::Already => "had reached that age already".to_owned(),
        Reached::Died(cause) if drive_writes > 0.0 => format!("died ({})", cause.name()),
        Reached::Died(cause) => format!("is dead ({}) and ages no more", cause.name()),
        Reached::WorkloadEnd => "aged until its workload ended".to_owned(),
        Reached::Interrupted => "was stopped; aging it again goes on from here".to_owned(),
    };
    answer(how.as_json, kept, path, &words)?;
    for words in trimmed_data(kept, how.written, trimmed_units).into_iter().chain(kept.notes()) {
        tell(&format!("warning: {words}"));
    }
    if is_undurable {
        tell(&format!("warning: {UNDURABLE}"));
    }
    if filled < FILLED_LEAST && drive_writes > 0.0 {
        tell(&format!(
            "warning: when aging began, {:.0} % of the drive held data: until it is full, garbage collection costs less than on a drive in use",
            100.0 * filled
        ));
    }
    if !how.as_json && drive_writes > 0.0 {
        let mut text = String::new();
        let what = if kept.is_array() { "array" } else { "drive" };
        line(&mut text, "speed", &format!("{drive_writes:.2} {what} writes in {seconds:.1} s"));
        print(&text)?;
    }
    let is_missed = matches!(reached, Reached::Died(_)) && how.target != Target::EndOfLife;
    Ok(match reached {
        Reached::Interrupted => INTERRUPTED,
        Reached::WorkloadEnd => DIFFERS,
        _ if is_missed => DIFFERS,
        _ => DONE,
    })
}

/// What is said of a dead drive whose last trims are only in its memory.
const UNDURABLE: &str =
    "the drive is dead and programs nothing any more, so what was trimmed comes back if its power is cut";

/// Prints the answer of a command that changed a drive.
fn answer(as_json: bool, kept: &Kept, path: &Path, words: &str) -> Result<(), Failure> {
    if as_json {
        return print_json(&show::facts(kept, path));
    }
    print(&format!("{}: {words}\n{}", excerpt_path(path), show::short(kept)))?;
    warn(kept);
    Ok(())
}

/// Says which of a drive's answers no measurement backs.
fn warn(kept: &Kept) {
    kept.caveats().iter().for_each(|sentence| tell(&format!("warning: {sentence}")));
}

fn show(arguments: &KeptDrive) -> Result<i32, Failure> {
    let kept = open_late(&arguments.drive)?;
    let facts = show::facts(&kept, &arguments.drive);
    if arguments.json {
        print_json(&facts)?;
    } else {
        print(&show::words(&kept, &facts))?;
    }
    Ok(DONE)
}

fn fork(arguments: &ForkArguments) -> Result<i32, Failure> {
    Kept::fork(&arguments.drive, &arguments.to)?;
    let (from, to) = (excerpt_path(&arguments.drive), excerpt_path(&arguments.to));
    if arguments.json {
        let (to, from) = (arguments.to.display().to_string(), arguments.drive.display().to_string());
        print_json(&json!({ "drive": to, "forked_from": from }))?;
    } else {
        print(&format!("{to}: forked from {from}\n"))?;
    }
    Ok(DONE)
}

fn wait(arguments: &WaitArguments) -> Result<i32, Failure> {
    check_whole(&arguments.drive, "left without power")?;
    let mut kept = open_late(&arguments.drive)?;
    kept.act(&Act::Wait(arguments.days, arguments.celsius))?;
    let mut days = format!("{} day{}", arguments.days, if arguments.days == 1.0 { "" } else { "s" });
    if let Some(celsius) = arguments.celsius {
        days = format!("{days} at {celsius} °C");
    }
    kept.keep(format!("left without power for {days}"))?;
    answer(arguments.json, &kept, &arguments.drive, &format!("lay for {days}"))?;
    Ok(DONE)
}

impl Asked {
    /// The scenario of a look at this drive: without a workload half reads and half writes at random addresses.
    fn of(&self, kept: &Kept) -> Result<Scenario, Failure> {
        let mut set = Vec::new();
        if self.workload.is_none() {
            set.push("workload.read-share=0.5".to_owned());
        }
        set.extend(self.set.iter().cloned());
        let given = self.workload.as_deref().unwrap_or("uniform");
        reworked(&kept.scenario_of_drive(), Some(given), &set, self.requests, true)
    }
}

/// What to say of a dead drive that is asked for writes.
fn takes_no_writes(kept: &Kept, asked: &Scenario, path: &Path) -> Option<String> {
    let cause = kept.cause().filter(|_| asked.phases[0].workload.writes())?;
    let (path, cause) = (excerpt_path(path), cause.name());
    let advice = "ask it for reads, such as by --set workload.read-share=1";
    Some(format!("{path}: is dead ({cause}) and takes no writes any more; {advice}"))
}

/// Probes an array: what its host sees, and what its drives do.
fn probe_array(
    kept: Kept,
    scenario: &Scenario,
    arguments: &ProbeArguments,
    stop: &Arc<AtomicBool>,
) -> Result<i32, Failure> {
    let path = excerpt_path(&arguments.drive);
    let (probe, notes) = kept.look_at_array(scenario, stop)?;
    if arguments.json {
        print_json(&probe)?;
    } else {
        let requests = wane_report::counted_of(arguments.asked.requests as f64, "request");
        let mut text = format!("{path}: {requests} of {}\n", show::workload(scenario));
        text += &super::array::probed(&probe);
        notes.iter().for_each(|note| line(&mut text, "warning", note));
        print(&text)?;
    }
    Ok(if stop.load(Ordering::Relaxed) { INTERRUPTED } else { DONE })
}

fn probe(arguments: &ProbeArguments) -> Result<i32, Failure> {
    let stop = stop_flag();
    let kept = open(&arguments.drive)?;
    let scenario = arguments.asked.of(&kept)?;
    if let Some(sentence) = takes_no_writes(&kept, &scenario, &arguments.drive) {
        return Err(Failure::wrong(sentence));
    }
    if kept.is_array() && kept.focus().is_none() {
        return probe_array(kept, &scenario, arguments, &stop);
    }
    let is_degraded = kept.drive().mode() == Mode::Degraded;
    let mut progress = Progress::new(&excerpt_path(&arguments.drive), arguments.quiet);
    let mut step = |step: &Step| progress.step(step);
    let result = kept.look(&scenario, &mut Watch { step: &mut step, stop: &stop });
    progress.finish();
    let result = result?;
    if arguments.json {
        print(&result.summary.to_json())?;
    } else {
        let mode = if is_degraded { ", degraded" } else { "" };
        let asked = show::workload(&scenario);
        let path = excerpt_path(&arguments.drive);
        let requests = wane_report::counted_of(arguments.asked.requests as f64, "request");
        print(&super::timed::with_warnings(&result, format!("{path}: {requests} of {asked}{mode}\n")))?;
    }
    Ok(if stop.load(Ordering::Relaxed) { INTERRUPTED } else { DONE })
}
