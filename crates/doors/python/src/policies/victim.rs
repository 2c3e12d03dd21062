//! Victim policies in Python.

use pyo3::prelude::*;
use wane_ftl::policies::victim::{GcView as View, IndexSpec, Order, VictimPolicy};
use wane_ftl::policies::{BlockEvent, Setting, ShareOrCount};
use wane_units::SuperblockId;

use super::lent::{Asked, Lent, Shows};
use super::object::{self, Object, Role};
use crate::error;
use crate::result::array;

pub(super) const ROLE: Role = Role { key: "ftl.gc", method: "choose", signature: "choose(view)" };

/// The closed blocks of a domain: see `wane.policies.GcView`.
#[pyclass(frozen, module = "wane._wane")]
#[derive(Default)]
pub(crate) struct GcView {
    view: Lent<View<'static>>,
}

type Number = PyResult<Option<u32>>;
type Array<'py> = PyResult<Bound<'py, PyAny>>;

impl Shows for GcView {
    type View<'a> = View<'a>;

    fn lent(&self) -> &Lent<View<'static>> {
        &self.view
    }
}

impl GcView {
    fn of<T>(&self, block: u32, ask: impl FnOnce(&View<'static>, SuperblockId) -> T) -> PyResult<T> {
        self.view.of(block, "the domain", View::has, ask)
    }

    fn closed_one<T>(&self, block: u32, ask: impl FnOnce(&View<'static>, SuperblockId) -> T) -> PyResult<T> {
        self.view.ask(|view| {
            let block = SuperblockId(block);
            if view.is_closed(block) {
                Ok(ask(view, block))
            } else {
                Err(error::index(format!("block {block} is not closed")))
            }
        })
    }

    fn bucket(&self, valid: u32, ask: impl FnOnce(&View<'static>) -> Option<SuperblockId>) -> Number {
        self.view.ask(|view| {
            let most = view.units_per_block();
            if valid > most {
                return Err(error::index(format!("a bucket of {valid} valid pages: a block has {most}")));
            }
            Ok(ask(view).map(|block| block.0))
        })
    }

    fn each<'py, T: numpy::Element>(
        &self,
        py: Python<'py>,
        of: impl Fn(&View<'static>, SuperblockId) -> T,
    ) -> Array<'py> {
        // Taken out whole before Python runs again.
        let values: Vec<T> = self.view.ask(|view| Ok(view.blocks().map(|block| of(view, block)).collect()))?;
        array(py, values)
    }
}

#[pymethods]
impl GcView {
    /// The drive's mode: `"normal"`, or `"degraded"` when space has become short.
    fn mode(&self) -> PyResult<&'static str> {
        self.view.ask(|view| Ok(object::mode_name(view.mode())))
    }

    /// Free blocks of the domain.
    fn free(&self) -> PyResult<u32> {
        self.view.ask(|view| Ok(view.free()))
    }

    /// Pages that the host read of a block since its erase; 0 unless `IndexSpec(reads=True)`.
    fn host_reads(&self, block: u32) -> PyResult<u32> {
        self.of(block, View::host_reads)
    }

    /// The most host reads of any block; scans all blocks.
    fn host_reads_max(&self) -> PyResult<u32> {
        self.view.ask(|view| Ok(view.host_reads_max()))
    }

    /// Pages that the host wrote so far: the logical clock.
    fn now(&self) -> PyResult<u64> {
        self.view.ask(|view| Ok(view.now()))
    }

    /// Pages in a block.
    fn units_per_block(&self) -> PyResult<u32> {
        self.view.ask(|view| Ok(view.units_per_block()))
    }

    /// Whether the block belongs to the domain.
    fn has(&self, block: u32) -> PyResult<bool> {
        self.view.ask(|view| Ok(view.has(SuperblockId(block))))
    }

    /// Whether the block is closed, so that it can be the victim.
    fn is_closed(&self, block: u32) -> PyResult<bool> {
        self.view.ask(|view| Ok(view.is_closed(SuperblockId(block))))
    }

    /// Valid pages of a block of the domain; raises `IndexError` for others.
    fn valid(&self, block: u32) -> PyResult<u32> {
        self.of(block, View::valid)
    }

    /// Erases of a block of the domain.
    fn erase_count(&self, block: u32) -> PyResult<u32> {
        self.of(block, View::erase_count)
    }

    /// The clock when a closed block was last written; raises `IndexError` for blocks that are not closed.
    fn closed_at(&self, block: u32) -> PyResult<u64> {
        self.closed_one(block, View::closed_at)
    }

    /// The lowest number of valid pages of any block in a bucket; `None` without such a block.
    fn lowest(&self) -> Number {
        self.view.ask(|view| Ok(view.lowest()))
    }

    /// The lowest number of valid pages, from `valid` up, of any block in a bucket; `None` without such a block.
    fn next_bucket(&self, valid: u32) -> Number {
        self.view.ask(|view| Ok(if valid > view.units_per_block() { None } else { view.next_bucket(valid) }))
    }

    /// The first block, in the order of `IndexSpec`, of the bucket with `valid` valid pages; `None` if it is empty.
    fn bucket_head(&self, valid: u32) -> Number {
        self.bucket(valid, |view| view.bucket_head(valid))
    }

    /// The block that entered the bucket last; kept only for the order `"entry"`.
    fn bucket_tail(&self, valid: u32) -> Number {
        self.bucket(valid, |view| view.bucket_tail(valid))
    }

    /// Number of closed blocks.
    fn closed_len(&self) -> PyResult<u32> {
        self.view.ask(|view| Ok(view.closed_len()))
    }

    /// The closed block at a position, from 0, in an arbitrary but repeatable order; for uniform draws.
    fn closed(&self, position: u32) -> PyResult<u32> {
        self.view.ask(|view| {
            let most = view.closed_len();
            if position >= most {
                return Err(error::index(format!("position {position}: {most} blocks are closed")));
            }
            Ok(view.closed(position).0)
        })
    }

    /// The block that closed longest ago.
    fn oldest(&self) -> Number {
        self.view.ask(|view| Ok(view.oldest().map(|block| block.0)))
    }

    /// Invalid pages in the blocks of the window; without a window, in all closed blocks.
    fn invalid_in_window(&self) -> PyResult<u64> {
        self.view.ask(|view| Ok(view.invalid_in_window()))
    }

    /// The oldest closed block outside the window.
    fn oldest_waiting(&self) -> Number {
        self.view.ask(|view| Ok(view.oldest_waiting().map(|block| block.0)))
    }

    /// The closed blocks, of shape `(closed_len,)`, in the order of `closed`; a copy.
    fn blocks<'py>(&self, py: Python<'py>) -> Array<'py> {
        self.each(py, |_, block| block.0)
    }

    /// Valid pages of each closed block, of the same shape and order as `blocks`; a copy.
    fn valid_counts<'py>(&self, py: Python<'py>) -> Array<'py> {
        self.each(py, View::valid)
    }

    /// Erases of each closed block, likewise.
    fn erase_counts<'py>(&self, py: Python<'py>) -> Array<'py> {
        self.each(py, View::erase_count)
    }

    /// `closed_at` of each closed block, likewise.
    fn closing_times<'py>(&self, py: Python<'py>) -> Array<'py> {
        self.each(py, View::closed_at)
    }
}

/// A victim policy that asks a Python object.
#[derive(Clone)]
pub(super) struct Victims {
    asked: Asked<GcView>,
    index: IndexSpec,
}

impl Victims {
    pub(super) fn new(object: Object, py: Python<'_>) -> PyResult<Self> {
        let index = index(object.bind(py))?;
        Ok(Self { asked: Asked::new(object), index })
    }

    fn asked(&mut self, view: &View<'_>) -> Option<Option<SuperblockId>> {
        Python::attach(|py| {
            let answer = self.asked.ask(py, view)?;
            if answer.is_none() {
                return Some(None);
            }
            let taken = object::block(&answer).filter(|block| view.is_closed(*block));
            taken.map(Some).or_else(|| {
                self.asked.object.answered(Err(match answer.extract::<i64>() {
                    Ok(found) => {
                        let allowed = "a closed block of its view, or None where none is worth it";
                        self.asked.object.refused(format!("block {found}, which cannot be collected"), allowed)
                    }
                    Err(_) => self.asked.object.mistyped(&answer, "the number of a closed block, or None"),
                }))
            })
        })
    }
}

impl VictimPolicy for Victims {
    fn begin(&mut self, setting: Setting) {
        self.asked.object.begin(setting);
    }

    fn index(&self) -> IndexSpec {
        self.index
    }

    fn choose(&mut self, view: &View<'_>) -> Option<SuperblockId> {
        // The exception stops the run. Until it stops, the drive goes on with greedy's victims, so that it stays whole.
        self.asked(view).unwrap_or_else(|| {
            let lowest = view.lowest().filter(|valid| *valid < view.units_per_block())?;
            view.bucket_head(lowest)
        })
    }

    fn heard(&mut self, event: BlockEvent, block: SuperblockId, erase_count: u32) {
        self.asked.object.hear(event, block, erase_count);
    }
}

/// Reads what the object asks the engine to keep for it: the `IndexSpec` of its method `index`.
fn index(object: &Bound<'_, PyAny>) -> PyResult<IndexSpec> {
    let Some(method) = object.getattr_opt("index")? else { return Ok(IndexSpec::default()) };
    let given = method.call0()?;
    let order: String = given.getattr("order")?.extract()?;
    let order = match order.as_str() {
        "entry" => Order::Entry,
        "closing" => Order::Closing,
        "wear" => Order::Wear,
        "most-worn" => Order::MostWorn,
        other => {
            let sentence = format!(
                "policies: ftl.gc: index(): found order {other:?}, allowed are entry, closing, wear, most-worn"
            );
            return Err(error::scenario_sentence(sentence));
        }
    };
    Ok(IndexSpec {
        order,
        window: given.getattr("window")?.extract::<Option<u32>>()?.map(ShareOrCount::Count),
        lowest_only: given.getattr("lowest_only")?.extract()?,
        reads: given.getattr("reads")?.extract()?,
        // Calling Python for a victim takes longer than keeping the lists of closed blocks.
        ..IndexSpec::default()
    })
}
