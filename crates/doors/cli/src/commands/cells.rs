//! Several runs at once: their progress, their outcomes, and their folder.

use std::fmt::Write as _;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use wane_lab::run::Step;
use wane_lab::session::{self, Members};
use wane_results::{EndReason, MadeBy, RunResult};
use wane_scenario::Scenario;
use wane_units::excerpt;

use super::run::{claim, others, tell_removed, tell_replaced};
use crate::args::RunArguments;
use crate::output::{Failure, tell};
use crate::progress::{Progress, stop_flag};
use crate::{DONE, INTERRUPTED};

/// Outcome of several runs.
pub(super) struct Finished {
    /// In the order of the cells; `None` if a cell has no result.
    pub(super) results: Vec<Option<RunResult>>,
    pub(super) code: i32,
    /// The first of the cells that failed, and why.
    pub(super) failure: Option<Failure>,
}

/// Makes the files that lie beside several runs from their results.
pub(super) type FilesOf<'a> = &'a dyn Fn(&[Option<RunResult>]) -> Vec<(&'static str, Vec<u8>)>;

/// Runs cells in parallel, reports each, and keeps the results, even if some cells fail.
pub(super) fn run_cells(
    cells: &[(String, Scenario)],
    origin: MadeBy,
    arguments: &RunArguments,
    files: FilesOf<'_>,
) -> Result<Finished, Failure> {
    let stop = stop_flag();
    let folder = claim(arguments)?;
    let scenarios: Vec<Scenario> = cells.iter().map(|(_, scenario)| scenario.clone()).collect();
    let named: Vec<(String, &Scenario)> = cells.iter().map(|(name, scenario)| (name.clone(), scenario)).collect();
    let members = folder.map(|folder| Members::begin(folder, origin, &named, others(arguments), &stop));
    let mut members = members.transpose().map_err(Failure::wrong)?;
    let outcomes = execute_cells(&scenarios, members.as_ref(), &stop, arguments.quiet);
    let finished = finished(&scenarios, outcomes);
    if let Some(members) = members.as_mut().filter(|_| finished.results.iter().any(Option::is_some)) {
        let hashes: Vec<String> = scenarios.iter().map(Scenario::hash).collect();
        let other = members.folder().other_run(&hashes);
        if finished.code == INTERRUPTED {
            members.note_interrupted();
        }
        let removed = members.finish(&files(&finished.results)).map_err(Failure::wrong)?;
        tell_replaced(members.folder(), other);
        tell_removed(members.folder(), &removed);
    }
    Ok(finished)
}

/// Progress of several runs.
pub struct UnderWay {
    progress: Progress,
    quiet: bool,
    finished: usize,
    /// Finished runs that were read from the folder instead of run.
    there: usize,
    names: Vec<String>,
    phases: Vec<f64>,
    /// Share of each run that is done, and the sum of the shares.
    shares: Vec<f64>,
    sum: f64,
    /// Whether each run's drive is being preconditioned.
    preconditioned: Vec<bool>,
}

impl UnderWay {
    /// Starts with no run done; silent with `quiet`.
    pub fn new(scenarios: &[Scenario], quiet: bool) -> Self {
        Self {
            progress: Progress::new("sweep", quiet),
            quiet,
            finished: 0,
            there: 0,
            names: scenarios.iter().map(|scenario| scenario.name.clone()).collect(),
            phases: scenarios.iter().map(|scenario| scenario.phases.len().max(1) as f64).collect(),
            shares: vec![0.0; scenarios.len()],
            sum: 0.0,
            preconditioned: vec![false; scenarios.len()],
        }
    }

    /// Notes that a run is done, failed, or `was_there` already.
    pub fn finished(&mut self, number: usize, outcome: Result<&RunResult, &dyn std::fmt::Display>, was_there: bool) {
        self.finished += 1;
        assert!(self.finished <= self.names.len(), "each run finishes once");
        self.there += usize::from(was_there);
        self.preconditioned[number] = false;
        self.set(number, 1.0);
        let what = match outcome {
            Ok(_) if was_there => "was there".to_owned(),
            Ok(result) if session::interrupted(result) => {
                self.progress.interrupt();
                "interrupted".to_owned()
            }
            Ok(result) => format!("{:.1} drive writes", result.summary.end.at_drive_writes),
            Err(error) => error.to_string(),
        };
        let told = format!("{}: {what}", excerpt(&self.names[number]));
        self.progress.say(self.finished, self.names.len(), &told);
    }

    /// Notes that a run has reached this step.
    pub fn step(&mut self, number: usize, step: &Step) {
        // The time of preconditioning says nothing about the time of the rest.
        self.preconditioned[number] = step.preconditioning;
        if let Some(done) = step.done.filter(|_| !step.preconditioning) {
            self.set(number, (step.phase as f64 + done.min(1.0)) / self.phases[number]);
        }
        self.tell();
    }

    /// Number of finished runs, number of all runs, and the share of all work that is done, 0 to 1.
    pub fn done(&self) -> (usize, usize, f64) {
        (self.finished, self.names.len(), (self.sum / self.names.len() as f64).clamp(0.0, 1.0))
    }

    /// Ends the progress, and reports how many runs were there already.
    pub fn end(&self) {
        self.progress.finish();
        if self.there > 0 && !self.quiet {
            tell(&format!("wane: {} of {} runs were there already", self.there, self.names.len()));
        }
    }

    fn tell(&mut self) {
        if !self.progress.is_due() {
            return;
        }
        let preconditioned = self.preconditioned.iter().filter(|is_it| **is_it).count();
        let mut what = format!("{} of {} runs are done", self.finished, self.names.len());
        if preconditioned > 0 {
            let _ = write!(what, ", {preconditioned} are preconditioned");
        }
        let (.., share) = self.done();
        self.progress.under_way(&what, share);
    }

    fn set(&mut self, number: usize, share: f64) {
        debug_assert!((0.0..=1.0).contains(&share), "a share of run {number} is done: {share}");
        self.sum += share - self.shares[number];
        self.shares[number] = share;
    }
}

fn execute_cells(
    scenarios: &[Scenario],
    members: Option<&Members>,
    stop: &Arc<AtomicBool>,
    quiet: bool,
) -> Vec<Option<session::Outcome>> {
    let under_way = Mutex::new(UnderWay::new(scenarios, quiet));
    let lock = || under_way.lock().expect("no holder panics");
    let each = |number: usize, outcome: &session::Outcome, was_there: bool| {
        lock().finished(number, outcome.as_ref().map_err(|error| error as &dyn std::fmt::Display), was_there);
    };
    let outcomes = session::execute_all(scenarios, members, stop, &each, &|number, step| lock().step(number, step));
    lock().end();
    outcomes
}

fn finished(scenarios: &[Scenario], outcomes: Vec<Option<session::Outcome>>) -> Finished {
    assert_eq!(scenarios.len(), outcomes.len(), "each cell has its outcome; what lacks one would go in silence");
    let mut results = Vec::new();
    let (mut code, mut failure) = (DONE, None);
    for (scenario, outcome) in scenarios.iter().zip(outcomes) {
        match outcome {
            Some(Ok(result)) => {
                if result.summary.end.reason == EndReason::Interrupted {
                    code = INTERRUPTED;
                }
                results.push(Some(result));
            }
            Some(Err(error)) => {
                failure = failure.or_else(|| Some(Failure::wrong(format!("{}: {error}", excerpt(&scenario.name)))));
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
