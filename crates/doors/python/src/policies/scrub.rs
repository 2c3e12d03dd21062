//! Scrub policies in Python.

use pyo3::prelude::*;
use wane_ftl::policies::Setting;
use wane_ftl::policies::scrub::{Action, ScrubPolicy, ScrubView as View};
use wane_units::SuperblockId;

use super::lent::{Asked, Lent, Shows};
use super::object::{Object, Role};
use crate::result::array;

pub(super) const ROLE: Role = Role { key: "ftl.scrub", method: "next", signature: "next(view)" };

const ALLOWED: &str = "Relocate or Check of a block of the drive, or None";

/// The condition of the drive's blocks: see `wane.policies.ScrubView`.
#[pyclass(frozen, module = "wane._wane")]
#[derive(Default)]
pub(crate) struct ScrubView {
    view: Lent<View<'static>>,
}

/// See `wane.policies.Health`: expected and fresh errors, fresh RBER, reads, re-reads, days.
type Health = (f64, f64, f64, u32, u32, f64);

impl Shows for ScrubView {
    type View<'a> = View<'a>;

    fn lent(&self) -> &Lent<View<'static>> {
        &self.view
    }
}

impl ScrubView {
    fn of<T>(&self, block: u32, ask: impl FnOnce(&View<'static>, SuperblockId) -> T) -> PyResult<T> {
        self.view.of(block, "the drive", |view, block| block.0 < view.blocks(), ask)
    }
}

#[pymethods]
impl ScrubView {
    /// Number of blocks of the drive, which are numbered from 0.
    fn blocks(&self) -> PyResult<u32> {
        self.view.ask(|view| Ok(view.blocks()))
    }

    /// Blocks that the host has read since the last call, of shape `(n,)`, some more than once; a copy.
    fn touched<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let blocks: Vec<u32> = self.view.ask(|view| Ok(view.touched().map(|block| block.0).collect()))?;
        array(py, blocks)
    }

    /// Valid pages of a block that can be relocated now; `None` if it cannot.
    fn valid(&self, block: u32) -> PyResult<Option<u32>> {
        self.of(block, View::valid)
    }

    /// The condition of a block.
    fn health<'py>(&self, py: Python<'py>, block: u32) -> PyResult<Bound<'py, PyAny>> {
        let health: Health = self.of(block, |view, block| {
            let health = view.health(block);
            let (errors, fresh, rber) = (health.expected_errors, health.fresh_errors, health.fresh_rber);
            (errors, fresh, rber, health.reads, health.rereads, health.age_days)
        })?;
        py.import("wane.policies")?.getattr("Health")?.call1(health)
    }

    /// Days since the drive was new.
    fn now_days(&self) -> PyResult<f64> {
        self.view.ask(|view| Ok(view.now_days()))
    }
}

/// A scrub policy that asks a Python object.
#[derive(Clone)]
pub(super) struct Scrubbers {
    asked: Asked<ScrubView>,
}

impl Scrubbers {
    pub(super) fn new(object: Object) -> Self {
        Self { asked: Asked::new(object) }
    }

    /// Reads the step from an answer: a `Relocate` or a `Check`, which are tuples of one block.
    fn action(&self, view: &View<'_>, answer: &Bound<'_, PyAny>) -> PyResult<Action> {
        let kind = answer.get_type().name()?;
        let Ok((block,)) = answer.extract::<(u32,)>() else { return Err(self.asked.object.mistyped(answer, ALLOWED)) };
        if block >= view.blocks() {
            return Err(self.asked.object.refused(format!("block {block}, which the drive does not have"), ALLOWED));
        }
        match kind.to_str()? {
            "Relocate" => Ok(Action::Relocate(SuperblockId(block))),
            "Check" => Ok(Action::Check(SuperblockId(block))),
            _ => Err(self.asked.object.mistyped(answer, ALLOWED)),
        }
    }
}

impl ScrubPolicy for Scrubbers {
    fn begin(&mut self, setting: Setting) {
        self.asked.object.begin(setting);
    }

    fn next(&mut self, view: &View<'_>) -> Option<Action> {
        Python::attach(|py| {
            let answer = self.asked.ask(py, view)?;
            if answer.is_none() { None } else { self.asked.object.answered(self.action(view, &answer)) }
        })
    }

    fn checked(&mut self, block: SuperblockId, rereads: Option<u32>) {
        Python::attach(|py| drop(self.asked.object.call(py, "checked", (block.0, rereads))));
    }
}
