//! Sweeps: the points of a grid, where their results go, and how far they are. Python decides what runs a point: threads of this process
//! (`Sweep::run`), or other processes, which receive a [`Job`] and send its result back. Only the process of the sweep writes results.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::types::PyDict;
use wane_cli::{GivenAxis, Grid, Swept, UnderWay, check_stdin, seeds_from};
use wane_lab::build::PolicyOverrides;
use wane_lab::run::Step;
use wane_lab::session::{self, Members, VERSION};
use wane_results::MadeBy;

use crate::attend::{ATTENDED_EVERY, Telling, attended};
use crate::error;
use crate::result::RunResult;
use crate::run::{Ends, Given, claim, overridden, written};
use crate::table::Columns;

/// Name of the grid in messages.
const GRID: &str = "grid";

/// A point as sent to other processes: version; a file's name and text, or a table as TOML; folder of relative traces; preset; values that override
/// it; scale; the values of the point; its name.
pub(crate) type Job = (
    String,
    Option<(String, String)>,
    Option<String>,
    PathBuf,
    Option<String>,
    Vec<String>,
    Option<String>,
    Vec<String>,
    String,
);

/// The points of a grid.
#[pyclass(frozen, module = "wane._wane")]
pub(crate) struct Sweep {
    given: Given,
    swept: Swept,
    /// The values of each point.
    sets: Vec<Vec<String>>,
    /// Assignments that stand for policies in Python, which scenarios do not know.
    own: Vec<String>,
    scenarios: Vec<wane_scenario::Scenario>,
    state: Mutex<State>,
}

struct State {
    members: Option<Members>,
    /// Name of each point's scenario in its results.
    hashes: Vec<String>,
    results: Vec<Option<wane_results::RunResult>>,
    under_way: UnderWay,
}

/// Resolves all points of a grid. An axis is a text `KEY=V1,V2,...`, or keys and, at each place, a value for each key. `own` lists the policies in
/// Python among the values: a role, and the table that stands for the policy. Returns the sweep, and sentences on values given more than once.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "they are those of the function in Python")]
pub(crate) fn plan_sweep(
    path: Option<PathBuf>,
    table: Option<Bound<'_, PyDict>>,
    preset: Option<&str>,
    set: Vec<(String, Bound<'_, PyAny>)>,
    scale: Option<&str>,
    axes: Vec<Bound<'_, PyAny>>,
    seeds: Option<u32>,
    own: Vec<(String, Bound<'_, PyAny>)>,
) -> PyResult<(Sweep, Vec<String>)> {
    error::guarded(|| {
        let given = Given::new(path.as_deref(), table.as_ref(), preset, &set, scale)?;
        let axes = || axes.iter().map(axis).collect::<PyResult<Vec<GivenAxis>>>();
        let grid = |seeds| Grid::given(GRID, axes()?, seeds).map_err(error::scenario_sentence);
        // The first point stands for all: without its values the scenario may lack keys that the grid sets.
        let unseeded = grid(None)?;
        let told = |(role, table): &(String, Bound<'_, PyAny>)| Ok(format!("{role}={}", written(table)?));
        let own = own.iter().map(told).collect::<PyResult<Vec<String>>>()?;
        let base = given.resolve(&known(&unseeded.assignments(&unseeded.row(0)), &own), Ends::AsItSays)?;
        let seeds = seeds.map(|count| seeds_from("seeds", base.seed, count)).transpose();
        let seeds = seeds.map_err(error::scenario_sentence)?;
        let count = seeds.as_ref().map(Vec::len);
        let grid = grid(seeds)?;
        let swept = Swept::new(&grid, count);
        let sets: Vec<Vec<String>> = grid.rows().map(|row| grid.assignments(&row)).collect();
        let named = |set: &Vec<String>| {
            let mut scenario = given.resolve(&known(set, &own), Ends::AsItSays)?;
            scenario.name = set.join(" ");
            Ok(scenario)
        };
        let scenarios = sets.iter().map(named).collect::<PyResult<Vec<wane_scenario::Scenario>>>()?;
        // Other processes have another stdin, and a sweep that is begun again would find stdin empty.
        for scenario in &scenarios {
            check_stdin(scenario, scenarios.len(), 1).map_err(error::scenario_sentence)?;
        }
        let state = State {
            members: None,
            hashes: Vec::new(),
            results: scenarios.iter().map(|_| None).collect(),
            under_way: UnderWay::new(&scenarios, true),
        };
        let sweep = Sweep { given, swept, sets, own, scenarios, state: Mutex::new(state) };
        Ok((sweep, grid.repeated()))
    })
}

/// Returns those values of a point that a scenario knows.
fn known(set: &[String], own: &[String]) -> Vec<String> {
    set.iter().filter(|assignment| !own.contains(assignment)).cloned().collect()
}

fn axis(given: &Bound<'_, PyAny>) -> PyResult<GivenAxis> {
    if let Ok(text) = given.extract::<String>() {
        return Ok(GivenAxis::Text(text));
    }
    let (keys, places): (Vec<String>, Vec<Vec<Bound<'_, PyAny>>>) = given.extract()?;
    let values = |place: &Vec<Bound<'_, PyAny>>| place.iter().map(written).collect::<PyResult<Vec<String>>>();
    Ok(GivenAxis::Places(keys, places.iter().map(values).collect::<PyResult<Vec<_>>>()?))
}

impl Sweep {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Sweep {
    /// Names a point by its values, for people.
    fn name(&self, point: usize) -> &str {
        &self.scenarios[point].name
    }

    fn __len__(&self) -> usize {
        self.scenarios.len()
    }

    /// Number of points that run at once on this machine.
    fn workers(&self) -> usize {
        session::workers(&self.scenarios)
    }

    /// Numbers of the policies in Python that a point has.
    fn own(&self, point: usize) -> Vec<usize> {
        let place = |assignment: &String| self.own.iter().position(|own| own == assignment);
        self.sets[point].iter().filter_map(place).collect()
    }

    /// Claims the folder of the results. `policies` are the sets of policies that points have, `of_point` the number of each point's set. With
    /// `bar`, progress is shown as by the command.
    fn begin(
        &self,
        py: Python<'_>,
        out: Option<PathBuf>,
        policies: Vec<Bound<'_, PyDict>>,
        of_point: Vec<usize>,
        bar: bool,
    ) -> PyResult<()> {
        error::guarded(|| {
            let overrides = policies.iter().map(|policies| Ok(overridden(Some(policies))?.1));
            let overrides = overrides.collect::<PyResult<Vec<PolicyOverrides>>>()?;
            assert_eq!(of_point.len(), self.scenarios.len(), "each point has its policies");
            let folder = claim(out.as_deref())?;
            let named: Vec<_> =
                self.scenarios.iter().enumerate().map(|(point, scenario)| (point.to_string(), scenario)).collect();
            let hash = |(scenario, of): (&wane_scenario::Scenario, &usize)| overrides[*of].hash_of(scenario);
            let hashes: Vec<String> = self.scenarios.iter().zip(&of_point).map(hash).collect();
            let never = AtomicBool::new(false);
            let members = py.detach(|| {
                folder.map(|folder| Members::go_on(folder, MadeBy::Sweep, &named, &hashes, &never)).transpose()
            });
            let members = members.map_err(|error| error::results(&error))?;
            let mut state = self.state();
            (state.members, state.hashes) = (members, hashes);
            state.under_way = UnderWay::new(&self.scenarios, !bar);
            Ok(())
        })
    }

    /// Returns the points whose results are not in the folder; reads those that are.
    fn waiting(&self, py: Python<'_>) -> PyResult<Vec<usize>> {
        error::guarded(|| {
            Ok(py.detach(|| {
                let State { members, results, under_way, .. } = &mut *self.state();
                let mut waiting = Vec::new();
                for (point, result) in results.iter_mut().enumerate() {
                    *result = members.as_ref().and_then(|members| members.found(point));
                    match result {
                        Some(result) => under_way.finished(point, Ok(result), true),
                        None => waiting.push(point),
                    }
                }
                waiting
            }))
        })
    }

    /// Runs the points that are not in the folder on threads of this process. `attend` is called with (finished points, points, share of all work
    /// done); if it raises, the runs end. Returns the first point that failed, and why.
    fn run(&self, py: Python<'_>, attend: Option<Py<PyAny>>) -> PyResult<Option<(usize, PyErr)>> {
        error::guarded(|| {
            let stop = Arc::new(AtomicBool::new(false));
            let mut raised = None;
            let failed = py.detach(|| {
                let State { members, results, under_way, .. } = &mut *self.state();
                let under_way = Mutex::new(under_way);
                let lock = || under_way.lock().unwrap_or_else(PoisonError::into_inner);
                let each = |point: usize, outcome: &session::Outcome, was_there: bool| {
                    lock().finished(
                        point,
                        outcome.as_ref().map_err(|error| error as &dyn std::fmt::Display),
                        was_there,
                    );
                };
                let step = |point: usize, step: &Step| lock().step(point, step);
                let outcomes = session::attended(
                    ATTENDED_EVERY,
                    |_| session::execute_all(&self.scenarios, members.as_ref(), &stop, &each, &step),
                    &mut |_| {
                        let done = lock().done();
                        Python::attach(|py| look_up(py, attend.as_ref(), done, &stop, &mut raised));
                    },
                );
                let mut failed = None;
                for (point, outcome) in outcomes.into_iter().enumerate() {
                    match outcome {
                        Some(Ok(result)) => results[point] = Some(result),
                        Some(Err(error)) => failed = failed.or_else(|| Some((point, error::session(&error)))),
                        None => {}
                    }
                }
                failed
            });
            match raised {
                Some(error) => Err(error),
                None => Ok(failed),
            }
        })
    }

    /// Makes the job that sends a point to another process.
    fn job(&self, point: usize) -> Job {
        let given = &self.given;
        let table = given.table.as_ref().map(toml::Table::to_string);
        let folder = std::path::absolute(&given.folder).unwrap_or_else(|_| given.folder.clone());
        let (version, set) = (VERSION.to_owned(), given.set.clone());
        (
            version,
            given.file.clone(),
            table,
            folder,
            given.preset.clone(),
            set,
            given.scale.clone(),
            known(&self.sets[point], &self.own),
            self.scenarios[point].name.clone(),
        )
    }

    /// Writes the result of a point that another process ran.
    fn take(&self, py: Python<'_>, point: usize, result: &RunResult) -> PyResult<()> {
        error::guarded(|| {
            let result = result.result().clone();
            let State { members, hashes, results, under_way } = &mut *self.state();
            let (found, wanted) = (&result.summary.scenario.hash, &hashes[point]);
            if found != wanted {
                return Err(error::sentence_of(format!(
                    "the process that ran it made another scenario of it ({found} instead of {wanted}); give all of them the same \
                     version of wane, and policies the same names and parameters"
                )));
            }
            let written = py.detach(|| {
                members.as_ref().map_or(Ok(()), |members| members.write(point, &self.scenarios[point], &result))
            });
            written.map_err(|error| error::session(&error))?;
            under_way.finished(point, Ok(&result), false);
            results[point] = Some(result);
            Ok(())
        })
    }

    /// Notes that a point failed, and why.
    fn fail(&self, point: usize, sentence: &str) {
        self.state().under_way.finished(point, Err(&sentence), false);
    }

    /// Notes how far a point is that another process runs.
    fn step(&self, point: usize, preconditioning: bool, phase: usize, drive_writes: f64, done: Option<f64>) {
        let step = Step { preconditioning, phase, drive_writes, predicted: 0.0, done, programmed: 0 };
        self.state().under_way.step(point, &step);
    }

    /// Number of finished points, number of points, and share of all work that is done.
    fn done(&self) -> (usize, usize, f64) {
        self.state().under_way.done()
    }

    /// Writes the files beside the results, if there are results, and releases the folder.
    fn finish(&self, py: Python<'_>) -> PyResult<()> {
        error::guarded(|| {
            py.detach(|| {
                let State { members, results, under_way, .. } = &mut *self.state();
                under_way.end();
                match members.take().filter(|_| results.iter().any(Option::is_some)) {
                    Some(mut members) => {
                        if results.iter().flatten().any(wane_lab::session::interrupted) {
                            members.note_interrupted();
                        }
                        members.finish(&self.swept.files(results)).map(drop)
                    }
                    None => Ok(()),
                }
            })
            .map_err(|error| error::results(&error))
        })
    }

    /// The swept keys.
    fn keys(&self) -> Vec<String> {
        self.swept.all_keys().to_vec()
    }

    /// Returns a table with a row for each run: values of the keys, and figures.
    fn columns(&self, py: Python<'_>) -> PyResult<Columns> {
        error::guarded(|| Ok(Columns::new(py.detach(|| self.swept.columns(&self.state().results)))))
    }

    /// The table that the command prints.
    fn in_words(&self, py: Python<'_>) -> PyResult<String> {
        let printed = || wane_units::printable(&self.swept.in_words(&self.state().results)).into_owned();
        error::guarded(|| Ok(py.detach(printed)))
    }

    /// The page `report.html`.
    fn report(&self, py: Python<'_>) -> PyResult<String> {
        error::guarded(|| {
            Ok(py.detach(|| {
                let results: Vec<_> = self.state().results.iter().flatten().cloned().collect();
                wane_report::render(&results)
            }))
        })
    }

    /// The result of a point, if it has one.
    fn result(&self, point: usize) -> Option<RunResult> {
        self.state().results.get(point)?.clone().map(RunResult::new)
    }
}

/// Lets the interpreter handle signals that have come, and reports how far a sweep is.
fn look_up(
    py: Python<'_>,
    attend: Option<&Py<PyAny>>,
    done: (usize, usize, f64),
    stop: &AtomicBool,
    raised: &mut Option<PyErr>,
) {
    let attend = attend.filter(|_| raised.is_none());
    let heard = py.check_signals().and_then(|()| attend.map_or(Ok(()), |attend| attend.call1(py, done).map(drop)));
    if let Err(error) = heard {
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        // The first is what ended the work.
        raised.get_or_insert(error);
    }
}

/// Runs a point that another process sent. `attend` is called as for a run.
#[pyfunction]
pub(crate) fn run_job(
    py: Python<'_>,
    job: Job,
    policies: Option<Bound<'_, PyDict>>,
    attend: Option<Py<PyAny>>,
) -> PyResult<RunResult> {
    error::guarded(|| {
        let (version, file, table, folder, preset, set, scale, point, name) = job;
        if version != VERSION {
            return Err(error::sentence_of(format!(
                "the sweep was begun by wane {version}, and a process that runs a point of it has wane {VERSION}; give both the same"
            )));
        }
        let table = table.map(|table| table.parse::<toml::Table>()).transpose().map_err(error::scenario_sentence)?;
        let given = Given { file, table, folder, preset, set, scale };
        let mut scenario = given.resolve(&point, Ends::AsItSays)?;
        scenario.name = name;
        let stop = Arc::new(AtomicBool::new(false));
        let telling = Telling::new(&scenario.name, false, attend);
        let (who, overrides) = overridden(policies.as_ref())?;
        let scenario = &scenario;
        let (ran, raised) = attended(py, who, &stop, telling, move |watch| {
            session::execute(scenario, &overrides, watch).map_err(|error| error::session(&error))
        });
        match raised {
            Some(error) => Err(error),
            None => Ok(RunResult::new(ran?)),
        }
    })
}
