//! The drive behind Python's `wane.Drive`: each Python call becomes a call of [`Held`], one at a time.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pythonize::{depythonize, pythonize};
use serde::Serialize;
use wane_lab::held::{Held, KeptError, MemberFacts, Reached, Target, WrittenBytes};
use wane_lab::run::{Step, Watch};
use wane_results::{Counters, EndCause, block_columns};

use crate::attend::{Policies, Telling, attended};
use crate::error;
use crate::policies::trouble;
use crate::result::{RunResult, array};
use crate::run::{Scenario, assignments, overridden};
use crate::table::Columns;

/// Pages handled between two looks at signals: some 20 ms.
const PAGES_AT_ONCE: usize = 1 << 16;

/// Names and values of whole numbers.
type Named = Vec<(&'static str, u64)>;

/// A workload from Python: a name or a file, or a table.
type Workload<'py> = (Option<String>, Option<Bound<'py, PyDict>>);

/// See `wane.Drive`.
#[pyclass(frozen, module = "wane._wane")]
pub(crate) struct Drive {
    held: Mutex<Held>,
    stop: Arc<AtomicBool>,
    policies: Policies,
    name: String,
}

impl Drive {
    /// Returns the drive, unless another call uses it.
    fn held(&self) -> PyResult<MutexGuard<'_, Held>> {
        self.held.try_lock().map_err(|refused| match refused {
            TryLockError::WouldBlock => error::sentence_of(
                "the drive is at work in another call, by another thread or by one of its policies; it takes one call at a time",
            ),
            TryLockError::Poisoned(_) => error::internal("the drive is broken by an earlier error inside wane"),
        })
    }

    /// Returns the drive, unless it is an array of which none is looked at.
    fn one(&self) -> PyResult<MutexGuard<'_, Held>> {
        let held = self.held()?;
        if held.is_array() && held.focus().is_none() {
            return Err(error::sentence_of("this is an array of drives; member(N) looks at one of them"));
        }
        Ok(held)
    }

    /// Does `work` on the drive for as long as it takes.
    fn work<T: Send>(
        &self,
        py: Python<'_>,
        telling: Telling,
        work: impl FnOnce(&mut Held, &mut Watch<'_>) -> PyResult<T> + Send,
    ) -> PyResult<T> {
        error::guarded(|| {
            let mut held = self.held()?;
            self.stop.store(false, Ordering::Relaxed);
            let held = &mut *held;
            let (done, raised) = attended(py, self.policies, &self.stop, telling, |watch| work(held, watch));
            match raised {
                Some(error) => Err(error),
                None => done,
            }
        })
    }

    /// Calls `ask` with one part of the pages after another, and handles signals in between.
    fn ask<T: Send>(
        &self,
        py: Python<'_>,
        pages: &[u32],
        mut ask: impl FnMut(&mut Held, &[u32], &AtomicBool) -> T + Send,
        mut each: impl FnMut(T),
    ) -> PyResult<()> {
        error::guarded(|| {
            let mut held = self.held()?;
            let most = held.pages();
            if let Some(page) = pages.iter().find(|page| **page >= most) {
                return Err(error::index(format!("page {page}: the drive has {most} pages, 0 to {}", most - 1)));
            }
            for part in pages.chunks(PAGES_AT_ONCE) {
                py.check_signals()?;
                let held = &mut *held;
                each(asked(py, self.policies, &self.stop, || Ok(ask(held, part, &self.stop)))?);
            }
            py.check_signals()
        })
    }

    /// Returns `tell` of the drive, during which a policy may be asked.
    fn told<T>(&self, tell: impl FnOnce(&Held) -> T) -> PyResult<T> {
        error::guarded(|| {
            let held = self.held()?;
            let (told, raised) = trouble::heard(&self.stop, || tell(&held));
            raised.map_or(Ok(told), Err)
        })
    }

    fn scenario_of(&self, held: &Held, asked: &Asked<'_>) -> PyResult<wane_scenario::Scenario> {
        let (name, table) = &asked.workload;
        let (table, folder) = match (name, table) {
            (Some(name), _) => {
                let (table, folder) = wane_cli::read_workload(name).map_err(error::scenario_sentence)?;
                (Some(table), folder.unwrap_or_default())
            }
            (None, Some(table)) => {
                let table = depythonize(table).map_err(|error| error::scenario_sentence(&error))?;
                (Some(table), Path::new("").to_owned())
            }
            (None, None) => (None, Path::new("").to_owned()),
        };
        let is_new = table.is_some() || !asked.set.is_empty();
        let scenario = held.scenario().reworked(table, asked.requests, &asked.set, asked.timed);
        let mut scenario = scenario.map_err(|error| error::scenario(&error))?;
        if is_new {
            scenario.relative_to(&folder);
        }
        Ok(scenario)
    }
}

/// A drive of an array, as Python gets it.
#[derive(Serialize)]
struct Member {
    member: usize,
    new: u32,
    state: &'static str,
    life_used: Option<f64>,
    stale_bytes: u64,
    capacity_bytes: u64,
}

/// A workload for a drive, with its number of requests.
struct Asked<'py> {
    workload: Workload<'py>,
    set: Vec<String>,
    requests: u64,
    timed: bool,
}

#[pymethods]
impl Drive {
    #[new]
    fn new(py: Python<'_>, scenario: &Scenario, policies: Option<Bound<'_, PyDict>>) -> PyResult<Self> {
        let scenario = &scenario.scenario;
        error::guarded(|| {
            let (policies, overrides) = overridden(policies.as_ref())?;
            if overrides.scrub.is_some() {
                return Err(error::scenario_sentence(
                    "policies: ftl.scrub: a drive that is aged step by step does not scrub; a policy for it works in wane.run",
                ));
            }
            let stop = Arc::default();
            let held = asked(py, policies, &stop, move || {
                let held = Held::new(scenario, overrides).map_err(|error| error::held(&error))?;
                // A wrong answer of a retirement policy is reported now, not at the first use of it.
                let _ = held.drive().life_used();
                Ok(held)
            })?;
            Ok(Self { held: Mutex::new(held), stop, policies, name: scenario.name.clone() })
        })
    }

    /// Makes an independent copy.
    fn fork(&self, py: Python<'_>) -> PyResult<Self> {
        error::guarded(|| {
            let mut held = self.held()?;
            let held = &mut *held;
            let copy = asked(py, self.policies, &self.stop, || held.try_clone().map_err(|error| error::held(&error)))?;
            Ok(Self { held: Mutex::new(copy), stop: Arc::default(), policies: self.policies, name: self.name.clone() })
        })
    }

    /// Becomes a copy of another drive.
    fn restore(&self, py: Python<'_>, from: &Self) -> PyResult<()> {
        if self.policies != from.policies {
            return Err(error::sentence_of(
                "a snapshot of a drive with policies in Python can be restored only by such a drive, and one without only by a drive without; its fork() makes a new drive",
            ));
        }
        let copy = from.fork(py)?;
        let copy = copy.held.into_inner().map_err(|_| error::internal("a copy was broken"))?;
        *self.held()? = copy;
        Ok(())
    }

    /// Preconditions the drive as the scenario says. Returns the cause if it dies meanwhile.
    fn precondition(&self, py: Python<'_>, bar: bool, attend: Option<Py<PyAny>>) -> PyResult<Option<&'static str>> {
        self.work(py, Telling::new(&self.name, bar, attend), |held, watch| {
            if let Some(cause) = held.cause() {
                return Err(dead(cause, "precondition a new one, or a snapshot of it from before"));
            }
            held.precondition(watch).map_err(|error| error::held(&error))?;
            Ok(held.cause().map(|cause| cause.name()))
        })
    }

    /// Ages the drive by a workload to a target: "drive-writes" (`amount` more of them), "wear", "end-of-life". Returns why it stopped.
    #[expect(clippy::too_many_arguments, reason = "the signature of Python's method")]
    fn run(
        &self,
        py: Python<'_>,
        workload: Option<String>,
        table: Option<Bound<'_, PyDict>>,
        target: &str,
        amount: f64,
        fast_forward: Option<f64>,
        bar: bool,
        attend: Option<Py<PyAny>>,
    ) -> PyResult<&'static str> {
        let is_new = workload.is_some() || table.is_some();
        let asked = Asked { workload: (workload, table), set: Vec::new(), requests: 1, timed: false };
        let scenario = is_new.then(|| error::guarded(|| self.scenario_of(&*self.held()?, &asked))).transpose()?;
        self.work(py, Telling::new(&self.name, bar, attend), |held, watch| {
            if let Some(scenario) = scenario {
                held.set_workload(scenario, watch.stop).map_err(|error| error::held(&error))?;
            }
            let target = match target {
                "drive-writes" => Target::DriveWrites(held.drive_writes() + amount),
                "wear" => Target::Wear(amount),
                _ => Target::EndOfLife,
            };
            held.fast_forward(fast_forward).map_err(|error| error::held(&error))?;
            let Watch { step, stop } = watch;
            let reached = held.age(target, WrittenBytes::Stay, stop, &mut |aged| {
                let (drive_writes, done, programmed) = (aged.drive_writes, aged.done, aged.programmed);
                step(&Step { preconditioning: false, phase: 0, drive_writes, predicted: 0.0, done, programmed });
                true
            });
            Ok(match reached.map_err(|error| error::held(&error))? {
                Reached::Target | Reached::Already => "target",
                Reached::Died(_) => "end-of-life",
                Reached::WorkloadEnd => "trace-end",
                Reached::Interrupted => "interrupted",
            })
        })
    }

    /// Measures how a copy of the drive answers `requests` requests, in time.
    #[expect(clippy::too_many_arguments, reason = "the signature of Python's method")]
    fn probe(
        &self,
        py: Python<'_>,
        workload: Option<String>,
        table: Option<Bound<'_, PyDict>>,
        set: Vec<(String, Bound<'_, PyAny>)>,
        requests: u64,
        bar: bool,
        attend: Option<Py<PyAny>>,
    ) -> PyResult<RunResult> {
        let set = assignments(&set)?;
        let asked = Asked { workload: (workload, table), set, requests, timed: true };
        let scenario = error::guarded(|| self.scenario_of(&*self.held()?, &asked))?;
        self.work(py, Telling::new(&self.name, bar, attend), |held, watch| {
            if let Some(cause) = held.cause().filter(|_| scenario.phases[0].workload.writes()) {
                return Err(dead(cause, "ask it for reads, such as by \"workload.read-share\": 1"));
            }
            let copy = held.try_clone().map_err(|error| error::held(&error))?;
            copy.look(&scenario, watch).map(RunResult::new).map_err(|error| error::held(&error))
        })
    }

    /// Measures how a copy of an array answers `requests` requests, in time, and how its drives do.
    fn probe_array<'py>(
        &self,
        py: Python<'py>,
        workload: Option<String>,
        table: Option<Bound<'_, PyDict>>,
        set: Vec<(String, Bound<'_, PyAny>)>,
        requests: u64,
    ) -> PyResult<Bound<'py, PyAny>> {
        let set = assignments(&set)?;
        let asked = Asked { workload: (workload, table), set, requests, timed: true };
        let scenario = error::guarded(|| self.scenario_of(&*self.held()?, &asked))?;
        let probe = self.work(py, Telling::new(&self.name, false, None), |held, watch| {
            if let Some(cause) = held.cause().filter(|_| scenario.phases[0].workload.writes()) {
                return Err(dead(cause, "ask it for reads, such as by \"workload.read-share\": 1"));
            }
            let copy = held.try_clone().map_err(|error| error::held(&error))?;
            let (probe, _) = copy.look_at_array(&scenario, watch.stop).map_err(|error| error::held(&error))?;
            Ok(probe)
        })?;
        error::guarded(|| Ok(pythonize(py, &probe)?))
    }

    /// Writes pages. Returns how many the drive took.
    fn write(&self, py: Python<'_>, pages: PyReadonlyArray1<'_, u32>) -> PyResult<u64> {
        let before = self.held()?.counters().host_units_written;
        self.ask(py, &values(&pages), Held::write, |()| ())?;
        Ok(self.held()?.counters().host_units_written - before)
    }

    /// Trims pages.
    fn trim(&self, py: Python<'_>, pages: PyReadonlyArray1<'_, u32>) -> PyResult<()> {
        self.ask(py, &values(&pages), Held::trim, |()| ())
    }

    /// Reads pages. Returns those that could not be read.
    fn read<'py>(&self, py: Python<'py>, pages: PyReadonlyArray1<'py, u32>) -> PyResult<Bound<'py, PyAny>> {
        let mut unread = Vec::new();
        self.ask(py, &values(&pages), |held, part, _| held.read(part), |mut failed| unread.append(&mut failed))?;
        array(py, unread)
    }

    /// Lets days pass without power, at `celsius` or at the usual temperature.
    #[pyo3(signature = (days, celsius))]
    fn wait(&self, days: f64, celsius: Option<f64>) -> PyResult<()> {
        if !(days.is_finite() && days >= 0.0) {
            return Err(error::value(format!("days: found {days}, allowed is 0 and more")));
        }
        if let Some(celsius) = celsius.filter(|celsius| !(-55.0..=150.0).contains(celsius)) {
            return Err(error::value(format!("celsius: found {celsius}, allowed is -55 to 150")));
        }
        error::guarded(|| self.held()?.wait(days, celsius).map_err(|error| error::held(&error)))
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn scenario_toml(&self) -> PyResult<String> {
        Ok(self.held()?.scenario().to_toml())
    }

    fn pages(&self) -> PyResult<u32> {
        Ok(self.held()?.pages())
    }

    fn page_bytes(&self) -> PyResult<u32> {
        Ok(self.held()?.unit_bytes())
    }

    fn drive_writes(&self) -> PyResult<f64> {
        Ok(self.held()?.drive_writes())
    }

    fn day(&self) -> PyResult<f64> {
        Ok(self.held()?.day())
    }

    fn life_used(&self) -> PyResult<Option<f64>> {
        self.told(Held::life_used)
    }

    /// Cause of its death.
    fn end_of_life(&self) -> PyResult<Option<&'static str>> {
        Ok(self.held()?.cause().map(|cause| cause.name()))
    }

    fn counters(&self) -> PyResult<Named> {
        let counters = self.held()?.counters();
        Ok(Counters::NAMES.iter().copied().zip(counters.values()).collect())
    }

    fn write_amplification(&self) -> PyResult<Option<f64>> {
        let held = self.held()?;
        Ok(wane_results::write_amplification(&held.counters(), u64::from(held.unit_bytes())).total)
    }

    /// The columns of `blocks.parquet`, now.
    fn blocks(&self) -> PyResult<Columns> {
        error::guarded(|| Ok(Columns::new(block_columns(&self.one()?.wear().rows()))))
    }

    fn erase_counts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let counts = self.one()?.drive().erase_counts().to_vec();
        array(py, counts)
    }

    /// The drives of an array, as it knows them; empty for one drive.
    fn members<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let of_member = |member: &MemberFacts| Member {
            member: member.place,
            new: member.number,
            state: member.state.name(),
            life_used: member.life_used,
            stale_bytes: member.stale_bytes,
            capacity_bytes: member.capacity_bytes,
        };
        let members: Vec<Member> = self.held()?.members().iter().map(of_member).collect();
        Ok(pythonize(py, &members)?)
    }

    /// How safe an array's data are: its condition, and a sentence with what to do. `None` for one drive, and without power.
    fn standing(&self) -> PyResult<Option<(&'static str, String)>> {
        Ok(self.held()?.standing().map(|standing| (standing.condition.name(), standing.told)))
    }

    /// A copy of which a drive of the array is looked at.
    fn member(&self, py: Python<'_>, place: usize) -> PyResult<Self> {
        let copy = self.fork(py)?;
        error::guarded(|| copy.held()?.set_focus(Some(place)).map_err(|error| error::held(&error)))?;
        Ok(copy)
    }

    /// Does something with a drive of an array: "take-out", "put-back", "replace" or "scrub". All is copied before it returns.
    fn tend(&self, py: Python<'_>, what: &str, place: usize, force: bool) -> PyResult<()> {
        error::guarded(|| {
            let mut held = self.held()?;
            let held = &mut *held;
            asked(py, self.policies, &self.stop, || {
                let told = |error: KeptError| error::held(&error);
                if matches!(what, "take-out" | "replace") && !force {
                    held.check_copies(place).map_err(told)?;
                }
                // What was written is on the drive that is pulled.
                held.flush().map_err(told)?;
                match what {
                    "take-out" => held.take_out(place),
                    "put-back" => held.put_back(place),
                    "replace" => held.replace(place),
                    _ => held.scrub(),
                }
                .map_err(told)?;
                if what != "take-out" {
                    held.copy_all().map_err(told)?;
                    // It counts once that is durable.
                    held.flush().map_err(told)?;
                }
                Ok(())
            })
        })
    }

    /// Drive writes since each block closed.
    fn ages<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let held = self.one()?;
        let pages = f64::from(held.drive().logical_initial());
        let ages = held.units_since_closed();
        drop(held);
        array(py, ages.into_iter().map(|units| units.map_or(f64::NAN, |units| units as f64 / pages)).collect())
    }

    fn smart<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        drop(self.one()?);
        let record = self.told(|held| held.drive().health_record())?;
        error::guarded(|| Ok(pythonize(py, &record)?))
    }

    /// Returns the first invariant that does not hold.
    fn check(&self) -> PyResult<Option<String>> {
        error::guarded(|| Ok(self.held()?.check().err()))
    }
}

/// Says that the drive takes no writes, and what to do instead.
fn dead(cause: EndCause, instead: &str) -> PyErr {
    error::sentence_of(format!("the drive is dead ({}) and takes no writes any more; {instead}", cause.name()))
}

/// Returns the result of short work, or raises what a policy raised in it.
fn asked<T: Send>(
    py: Python<'_>,
    policies: Policies,
    stop: &Arc<AtomicBool>,
    work: impl FnOnce() -> PyResult<T> + Send,
) -> PyResult<T> {
    // Clears what stopped the call before.
    stop.store(false, Ordering::Relaxed);
    match policies {
        Policies::Native => py.detach(work),
        Policies::Python => {
            let (done, raised) = trouble::heard(stop, work);
            raised.map_or(done, Err)
        }
    }
}

/// Copies the values of an array with any strides.
fn values(array: &PyReadonlyArray1<'_, u32>) -> Vec<u32> {
    array.as_array().iter().copied().collect()
}
