//! `wane serve`: a drive as a live block device.

use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;
use toml::Value;
use wane_lab::held::Held;
use wane_lab::kept::{KeptError, WrittenBytes};
use wane_lab::run::{Step, Watch};
use wane_scenario::{Scenario, Sources, endless};
use wane_serve::{Durability, Note, ServeConfig, ServeError, Served, Session, What};
use wane_units::{Bytes, excerpt_path};

use crate::args::serve::ServeArguments;
use crate::output::{Failure, print, tell};
use crate::progress::{Progress, end_with_stdin, stop_flag};
use crate::{DONE, INTERNAL, WRONG};

impl From<ServeError> for Failure {
    fn from(error: ServeError) -> Self {
        match error {
            ServeError::Kept(error) => (*error).into(),
            other => Self::wrong(other),
        }
    }
}

pub(crate) fn serve(arguments: &ServeArguments) -> Result<i32, Failure> {
    let stop = stop_flag();
    if arguments.until_stdin_ends {
        end_with_stdin(&stop);
    }
    let memory = arguments.memory.unwrap_or_else(|| Bytes(wane_lab::os::available_memory().unwrap_or(1 << 30) / 2));
    let config = ServeConfig {
        speed: arguments.speed,
        spin: arguments.spin,
        memory,
        directory: arguments.dir.clone(),
        address: arguments.port,
        page: arguments.page,
        log: arguments.log.clone(),
        durability: arguments.durability,
        keep_journal: arguments.keep_journal,
        lacks: super::fit::lacks,
        checkpointer: std::env::current_exe().ok(),
    };
    // Before drives are opened, or made, which may take long.
    let doors = wane_serve::listen(&config)?;
    let drives = drives(arguments, &stop)?;
    let mut child = None;
    let began = |notes: &[Note]| {
        // The process that started it may not read stdout.
        let _ = print(&told(notes, arguments));
        child = arguments.run.as_deref().zip(notes.first()).map(|(command, note)| run(command, note, &stop));
    };
    let Session { served, failed } =
        wane_serve::serve(doors, drives, &config, &stop, began, |sentence| tell(&format!("wane: {sentence}")))?;
    after(&served, memory, arguments);
    match child {
        _ if failed.iter().any(|error| matches!(error, ServeError::Bug(..))) => Ok(INTERNAL),
        _ if !failed.is_empty() => Ok(WRONG),
        None => Ok(DONE),
        Some(Err(error)) => Err(Failure::wrong(format!("--run: {error}"))),
        Some(Ok(running)) => Ok(running.join().unwrap_or(1)),
    }
}

/// The drives that are to be served.
fn drives(arguments: &ServeArguments, stop: &Arc<AtomicBool>) -> Result<Vec<What>, Failure> {
    let paths = &arguments.drives;
    match (&**paths, &arguments.preset) {
        ([], Some(preset)) => Ok(vec![What::Scratch(Box::new(scratch(arguments, preset, stop)?), preset.clone())]),
        ([], None) => {
            let sentence = "which drive? give the folder of one, as `wane drive create old.wane --for serve --preset tiny` makes it, \
                            or --preset for one that is gone afterwards; `wane presets` lists them";
            Err(Failure::wrong(sentence))
        }
        _ if arguments.log.is_some() && paths.len() > 1 => {
            let sentence = "--log: a log is of one drive; give the drive that is to be logged a server of its own";
            Err(Failure::wrong(sentence))
        }
        _ => {
            if let Some(path) = given_twice(paths) {
                return Err(Failure::wrong(format!("{}: is given twice; once is allowed", excerpt_path(path))));
            }
            paths.iter().map(|path| kept(path, arguments)).collect()
        }
    }
}

/// A folder that two paths lead to.
fn given_twice(paths: &[PathBuf]) -> Option<&Path> {
    let real = |path: &PathBuf| std::fs::canonicalize(path).ok();
    let of_earlier = |number: usize, path| paths[..number].iter().filter_map(real).any(|earlier| earlier == path);
    let is_again = |(number, path): &(usize, &PathBuf)| real(path).is_some_and(|path| of_earlier(*number, path));
    paths.iter().enumerate().find(is_again).map(|(_, path)| path.as_path())
}

/// The kept drive that is to be served.
fn kept(path: &Path, arguments: &ServeArguments) -> Result<What, Failure> {
    if arguments.keep_journal && arguments.durability == Durability::None {
        return Err(Failure::wrong(
            "--keep-journal: there is no journal with --durability none; leave out one of them",
        ));
    }
    let for_presets = [
        ("--set", !arguments.set.is_empty()),
        ("--capacity", arguments.capacity.is_some()),
        ("--age", arguments.age.is_some()),
    ];
    if let Some((option, _)) = for_presets.iter().find(|(_, is_given)| *is_given) {
        let sentence = "is for a drive that --preset makes; a kept drive is as `wane drive create` made it and `wane drive age` aged it";
        return Err(Failure::wrong(format!("{option}: {sentence}")));
    }
    let note = Note::of(path);
    let kept = wane_serve::open(path)?;
    if kept.journal_stays() && !arguments.keep_journal {
        tell(&format!(
            "wane: {}: its journal was kept for `wane drive replay`, and ends when the drive is saved",
            excerpt_path(path)
        ));
    }
    if let Some(note) = note.filter(|note| note.loses && !arguments.quiet) {
        tell(&format!(
            "wane: {}: its last server, process {}, was killed and kept no journal: what it did after its last save is lost",
            excerpt_path(path),
            note.pid
        ));
    }
    super::drive::tell_dropped(&kept);
    if kept.repeated() > 0 && !arguments.quiet {
        let (name, records) = (excerpt_path(path), kept.repeated());
        tell(&format!(
            "wane: {name}: what was done since it was saved, {records} records of its journal, was done again"
        ));
    }
    for lack in super::fit::lacks(kept.scenario()).into_iter().chain(kept.caveats()) {
        tell(&format!("wane: {}: {lack}", excerpt_path(path)));
    }
    Ok(What::Kept(Box::new(kept), path.to_owned()))
}

/// Saves a served drive beside its server, which calls this.
pub(crate) fn checkpoint(drive: &Path, up_to: &str) -> Result<i32, Failure> {
    let up_to = serde_json::from_str(up_to).map_err(|error| {
        Failure::wrong(format!("checkpoint: found no place of a journal: {error}; a server calls it, and nobody else"))
    })?;
    wane_serve::checkpoint(drive, &up_to)?;
    Ok(DONE)
}

/// Says what is to be known of a session that is over.
fn after(served: &[Served], memory: Bytes, arguments: &ServeArguments) {
    for drive in served {
        let Served { name, is_kept, requests, refused_for_memory, log_failed } = drive;
        if arguments.preset.is_none() && !arguments.quiet && *is_kept {
            let kept = if arguments.keep_journal { "not saved, and all of it is in its journal" } else { "saved" };
            tell(&format!("wane: {name}: {kept}; it served {requests} requests"));
        }
        if *refused_for_memory > 0 {
            tell(&format!(
                "wane: {name}: {refused_for_memory} writes found no space, as more than {memory} (--memory) would have been kept"
            ));
        }
        if let Some(why) = log_failed {
            tell(&format!("wane: --log is not whole: {why}"));
        }
    }
}

/// Where drives are served, and how they are used.
fn told(notes: &[Note], arguments: &ServeArguments) -> String {
    let Some(note) = notes.first() else { return String::new() };
    if arguments.json {
        let drives: Vec<_> = notes.iter().map(|note| json!({ "drive": note.name, "uri": note.uri })).collect();
        let facts = json!({
            "uri": note.uri, "socket": note.socket, "control": note.control, "pid": note.pid, "address": note.address,
            "page": note.page, "drives": drives,
        });
        return format!("{facts}\n");
    }
    if arguments.run.is_some() {
        return String::new();
    }
    let control = arguments.drives.first().map(PathBuf::as_path).or(note.control.parent()).unwrap_or(Path::new("."));
    let mut text: String = notes.iter().map(|note| format!("{}\n", note.uri)).collect();
    let (uri, control) = (&note.uri, excerpt_path(control));
    let page = note.page.as_ref().map(|page| format!("{page}    # its live page, for a browser"));
    let lines = [
        format!("nbdinfo '{uri}'"),
        format!("mkdir -p nbd && nbdfuse nbd '{uri}' &    # then losetup, mkfs and mount nbd/nbd"),
        format!("wane ctl {control} status"),
    ];
    for line in page.into_iter().chain(lines) {
        text += &format!("  {line}\n");
    }
    text
}

/// Runs a command beside the server, and ends the server with it.
fn run(command: &str, note: &Note, stop: &Arc<AtomicBool>) -> std::io::Result<std::thread::JoinHandle<i32>> {
    let child = Command::new("sh")
        .args(["-c", command])
        .env("uri", &note.uri)
        .env("socket", &note.socket)
        .env("control", &note.control)
        .spawn();
    let mut child: Child = child.inspect_err(|_| stop.store(true, Ordering::Relaxed))?;
    let stop = Arc::clone(stop);
    #[expect(clippy::disallowed_methods, reason = "it waits for a process, and no result depends on when")]
    let waiting = std::thread::spawn(move || {
        let code = child.wait().ok().and_then(|status| status.code()).unwrap_or(1);
        stop.store(true, Ordering::Relaxed);
        code
    });
    Ok(waiting)
}

/// Makes a drive for the session.
fn scratch(arguments: &ServeArguments, preset: &str, stop: &Arc<AtomicBool>) -> Result<Held, Failure> {
    let sources = Sources { preset: Some(preset), set: &arguments.set, ..Sources::default() };
    let capacity = arguments.capacity.as_ref();
    let capacity = capacity.map(|size| ("--capacity", format!("drive.logical-capacity={}", Value::from(size.trim()))));
    let options: Vec<(&str, String)> = capacity.into_iter().collect();
    let options = super::fit::fitted(&sources, options)?;
    let scenario = endless(&options, |options| Scenario::resolve_with(&sources, options))?;
    let mut held = Held::new(&scenario, wane_lab::overrides::PolicyOverrides::default())?;
    if let Some(target) = arguments.age {
        let mut progress = Progress::new(preset, arguments.quiet);
        let watch = &mut Watch { step: &mut |step: &Step| progress.step(step), stop };
        held.precondition(watch)?;
        held.fast_forward(arguments.fast_forward)?;
        let aged = held.age(target, WrittenBytes::Stay, stop, &mut |aged| {
            let (drive_writes, done, programmed) = (aged.drive_writes, aged.done, aged.programmed);
            progress.step(&Step { preconditioning: false, phase: 0, drive_writes, predicted: 0.0, done, programmed });
            true
        });
        progress.finish();
        aged?;
        // Nobody's data are on it.
        held.give_back(&[]);
        held.flush()?;
    }
    if stop.load(Ordering::Relaxed) {
        return Err(KeptError::Interrupted.into());
    }
    Ok(held)
}
