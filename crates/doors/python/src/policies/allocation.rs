//! Allocation policies in Python.

use pyo3::prelude::*;
use wane_ftl::policies::Setting;
use wane_ftl::policies::allocation::{AllocationPolicy, FreeOrder, FreeView as View};
use wane_units::SuperblockId;

use super::lent::{Asked, Lent, Shows};
use super::object::{self, Object, Role};
use crate::error;
use crate::result::array;

pub(super) const ROLE: Role = Role { key: "ftl.allocation", method: "choose", signature: "choose(view)" };

/// The free blocks of a domain: see `wane.policies.FreeView`.
#[pyclass(frozen, module = "wane._wane")]
#[derive(Default)]
pub(crate) struct FreeView {
    view: Lent<View<'static>>,
}

impl Shows for FreeView {
    type View<'a> = View<'a>;

    fn lent(&self) -> &Lent<View<'static>> {
        &self.view
    }
}

impl FreeView {
    fn of<T>(&self, block: u32, ask: impl FnOnce(&View<'static>, SuperblockId) -> T) -> PyResult<T> {
        self.view.of(block, "the drive", View::has, ask)
    }
}

#[pymethods]
impl FreeView {
    /// The drive's mode.
    fn mode(&self) -> PyResult<&'static str> {
        self.view.ask(|view| Ok(object::mode_name(view.mode())))
    }

    /// The stream that the block is for; `None` if wear leveling takes a spare block.
    fn stream(&self) -> PyResult<Option<u32>> {
        self.view.ask(|view| Ok(view.stream().map(|stream| stream.0)))
    }

    /// Pages that the host wrote so far.
    fn now(&self) -> PyResult<u64> {
        self.view.ask(|view| Ok(view.now()))
    }

    /// Number of free blocks, at least 1.
    fn count(&self) -> PyResult<u32> {
        self.view.ask(|view| Ok(view.count()))
    }

    /// The first free block in the declared order.
    fn first(&self) -> PyResult<u32> {
        self.view.ask(|view| Ok(view.first().0))
    }

    /// The last free block in the declared order.
    fn last(&self) -> PyResult<u32> {
        self.view.ask(|view| Ok(view.last().0))
    }

    /// Whether the block is free.
    fn is_free(&self, block: u32) -> PyResult<bool> {
        self.view.ask(|view| Ok(view.is_free(SuperblockId(block))))
    }

    /// Erases of a block.
    fn erase_count(&self, block: u32) -> PyResult<u32> {
        self.of(block, View::erase_count)
    }

    /// Programs of a block that failed so far.
    fn failures(&self, block: u32) -> PyResult<u32> {
        self.of(block, View::failures)
    }

    /// The free blocks in the declared order, of shape `(count,)`; a copy. A new drive has very many.
    fn blocks<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let blocks: Vec<u32> = self.view.ask(|view| Ok(view.blocks().map(|block| block.0).collect()))?;
        array(py, blocks)
    }
}

/// An allocation policy that asks a Python object.
#[derive(Clone)]
pub(super) struct Allocations {
    asked: Asked<FreeView>,
    order: FreeOrder,
}

impl Allocations {
    pub(super) fn new(object: Object, py: Python<'_>) -> PyResult<Self> {
        let order = match object.bind(py).getattr_opt("order")? {
            None => FreeOrder::default(),
            Some(method) => match method.call0()?.extract::<String>()?.as_str() {
                "freed" => FreeOrder::Freed,
                "wear" => FreeOrder::Wear,
                other => {
                    let sentence =
                        format!("policies: ftl.allocation: order(): found {other:?}, allowed are freed, wear");
                    return Err(error::scenario_sentence(sentence));
                }
            },
        };
        Ok(Self { asked: Asked::new(object), order })
    }

    fn asked(&mut self, view: &View<'_>) -> Option<SuperblockId> {
        Python::attach(|py| {
            let answer = self.asked.ask(py, view)?;
            object::block(&answer)
                .filter(|block| [view.first(), view.last()].contains(block) || view.is_free(*block))
                .or_else(|| {
                    self.asked.object.answered(Err(match answer.extract::<i64>() {
                        Ok(found) => {
                            self.asked.object.refused(format!("block {found}, which is not free"), "a free block")
                        }
                        Err(_) => self.asked.object.mistyped(&answer, "the number of a free block"),
                    }))
                })
        })
    }
}

impl AllocationPolicy for Allocations {
    fn begin(&mut self, setting: Setting) {
        self.asked.object.begin(setting);
    }

    fn order(&self) -> FreeOrder {
        self.order
    }

    fn choose(&mut self, view: &View<'_>) -> SuperblockId {
        self.asked(view).unwrap_or_else(|| view.first())
    }
}
