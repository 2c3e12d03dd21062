//! Wear levelers in Python.

use pyo3::prelude::*;
use wane_ftl::policies::wear_leveling::{Action, WearLevelPolicy, WearView as View};
use wane_ftl::policies::{BlockEvent, Setting};
use wane_units::SuperblockId;

use super::lent::{Asked, Lent, Shows};
use super::object::{self, Object, Role};
use crate::result::array;

pub(super) const ROLE: Role = Role { key: "ftl.wear-leveling", method: "plan", signature: "plan(view)" };

const ALLOWED: &str = "Refill or Exchange of blocks of its domain, or None";

/// A domain's blocks: see `wane.policies.WearView`.
#[pyclass(frozen, module = "wane._wane")]
#[derive(Default)]
pub(crate) struct WearView {
    view: Lent<View<'static>>,
}

type Array<'py> = PyResult<Bound<'py, PyAny>>;

/// Whether a block belongs to the domain.
fn has(view: &View<'_>, block: SuperblockId) -> bool {
    let mut blocks = view.blocks();
    let (first, last) = (blocks.next(), view.blocks().next_back());
    first.is_some_and(|first| first <= block) && last.is_some_and(|last| block <= last)
}

impl Shows for WearView {
    type View<'a> = View<'a>;

    fn lent(&self) -> &Lent<View<'static>> {
        &self.view
    }
}

impl WearView {
    fn of<T>(&self, block: u32, ask: impl FnOnce(&View<'static>, SuperblockId) -> T) -> PyResult<T> {
        self.view.of(block, "the domain", has, ask)
    }

    fn each<'py>(&self, py: Python<'py>, of: impl Fn(&View<'static>, SuperblockId) -> u32) -> Array<'py> {
        let values: Vec<u32> = self.view.ask(|view| Ok(view.blocks().map(|block| of(view, block)).collect()))?;
        array(py, values)
    }
}

#[pymethods]
impl WearView {
    /// The drive's mode.
    fn mode(&self) -> PyResult<&'static str> {
        self.view.ask(|view| Ok(object::mode_name(view.mode())))
    }

    /// The block that garbage collection just erased and freed; `None` before a host write.
    fn erased(&self) -> PyResult<Option<u32>> {
        self.view.ask(|view| Ok(view.erased().map(|block| block.0)))
    }

    /// Erases of a block of the domain; raises `IndexError` for others.
    fn erase_count(&self, block: u32) -> PyResult<u32> {
        self.of(block, View::erase_count)
    }

    /// Valid pages of a block of the domain.
    fn valid(&self, block: u32) -> PyResult<u32> {
        self.of(block, View::valid)
    }

    /// Erases by garbage collection in this domain since it was new, including preconditioning.
    fn gc_erases(&self) -> PyResult<u64> {
        self.view.ask(|view| Ok(view.gc_erases()))
    }

    /// Erases by wear leveling in this domain.
    fn wear_leveling_erases(&self) -> PyResult<u64> {
        self.view.ask(|view| Ok(view.wear_leveling_erases()))
    }

    /// Pages that the host wrote since the drive was new.
    fn host_writes(&self) -> PyResult<u64> {
        self.view.ask(|view| Ok(view.host_writes()))
    }

    /// Free blocks of the domain.
    fn free(&self) -> PyResult<u32> {
        self.view.ask(|view| Ok(view.free()))
    }

    /// The blocks of the domain, of shape `(blocks,)`; a copy.
    fn blocks<'py>(&self, py: Python<'py>) -> Array<'py> {
        self.each(py, |_, block| block.0)
    }

    /// Erases of each block, of the same shape; a copy.
    fn erase_counts<'py>(&self, py: Python<'py>) -> Array<'py> {
        self.each(py, View::erase_count)
    }

    /// Valid pages of each block, likewise.
    fn valid_counts<'py>(&self, py: Python<'py>) -> Array<'py> {
        self.each(py, View::valid)
    }
}

/// A wear leveler that asks a Python object.
#[derive(Clone)]
pub(super) struct Levelers {
    asked: Asked<WearView>,
    tests_again: bool,
}

impl Levelers {
    pub(super) fn new(object: Object, py: Python<'_>) -> PyResult<Self> {
        let tests_again = match object.bind(py).getattr_opt("tests_again")? {
            Some(method) => method.call0()?.extract()?,
            None => false,
        };
        Ok(Self { asked: Asked::new(object), tests_again })
    }

    /// Reads the move from an answer: a `Refill` or an `Exchange`, which are pairs of blocks.
    fn action(&self, view: &View<'_>, answer: &Bound<'_, PyAny>) -> PyResult<Action> {
        let kind = answer.get_type().name()?;
        let Ok((one, other)) = answer.extract::<(u32, u32)>() else {
            return Err(self.asked.object.mistyped(answer, ALLOWED));
        };
        let (one, other) = (SuperblockId(one), SuperblockId(other));
        if let Some(block) = [one, other].into_iter().find(|block| !has(view, *block)) {
            return Err(self.asked.object.refused(format!("block {block}, which the domain does not have"), ALLOWED));
        }
        match kind.to_str()? {
            "Refill" => Ok(Action::Refill { from: one, into: other }),
            "Exchange" => Ok(Action::Exchange { hot: one, cold: other }),
            _ => Err(self.asked.object.mistyped(answer, ALLOWED)),
        }
    }
}

impl WearLevelPolicy for Levelers {
    fn begin(&mut self, setting: Setting) {
        self.asked.object.begin(setting);
    }

    fn plan(&mut self, view: &View<'_>) -> Option<Action> {
        Python::attach(|py| {
            let answer = self.asked.ask(py, view)?;
            if answer.is_none() { None } else { self.asked.object.answered(self.action(view, &answer)) }
        })
    }

    fn heard(&mut self, event: BlockEvent, block: SuperblockId, erase_count: u32) {
        self.asked.object.hear(event, block, erase_count);
    }

    fn tests_again(&self) -> bool {
        self.tests_again
    }
}
