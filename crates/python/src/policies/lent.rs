//! A view of the engine's, lent to Python for the length of a call.
//!
//! The object in Python outlives the call; what it shows does not. So it has a pointer that is there during the call alone.

use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicPtr, Ordering};

use pyo3::prelude::*;
use pyo3::pyclass::boolean_struct::True;
use pyo3::{PyClass, PyClassInitializer};
use wane_units::SuperblockId;

use super::object::Object;
use crate::error;

/// Where a view of type `V` is, while it is lent.
pub(super) struct Lent<V> {
    at: AtomicPtr<V>,
}

impl<V> Default for Lent<V> {
    fn default() -> Self {
        Self { at: AtomicPtr::new(ptr::null_mut()) }
    }
}

impl<V> Lent<V> {
    /// What `ask` finds in the view.
    pub(super) fn ask<T>(&self, ask: impl FnOnce(&V) -> PyResult<T>) -> PyResult<T> {
        let Some(at) = NonNull::new(self.at.load(Ordering::Relaxed)) else {
            return Err(error::policy(
                "the view is used after the call that it was given to; take out of it what is to be kept",
            ));
        };
        // SAFETY: `lend` set the pointer from a reference that lives until its `call` is over, and takes it back before it ends. Whoever is here
        // is attached to the interpreter, as is `lend` when it takes the pointer back; `ask` neither runs Python nor lets the interpreter go,
        // so that `lend` cannot go on meanwhile, on whatever thread `ask` runs.
        ask(unsafe { at.as_ref() })
    }

    /// What `ask` finds in the view of a block that `has` says is of `whose`; `IndexError` of another one.
    pub(super) fn of<T>(
        &self,
        block: u32,
        whose: &str,
        has: impl FnOnce(&V, SuperblockId) -> bool,
        ask: impl FnOnce(&V, SuperblockId) -> T,
    ) -> PyResult<T> {
        self.ask(|view| {
            let block = SuperblockId(block);
            if has(view, block) {
                Ok(ask(view, block))
            } else {
                Err(error::index(format!("{whose} has no block {block}")))
            }
        })
    }

    /// Lends what is at `view` for the length of `call`, which is attached to the interpreter from its beginning to its end.
    pub(super) fn lend<T>(&self, _py: Python<'_>, view: NonNull<V>, call: impl FnOnce() -> T) -> T {
        struct Return<'a, V>(&'a Lent<V>);
        impl<V> Drop for Return<'_, V> {
            fn drop(&mut self) {
                self.0.at.store(ptr::null_mut(), Ordering::Relaxed);
            }
        }
        self.at.store(view.as_ptr(), Ordering::Relaxed);
        let _return = Return(self);
        call()
    }
}

/// A class of Python that shows views of the engine's.
pub(super) trait Shows: PyClass<Frozen = True> + Sync + Default + Into<PyClassInitializer<Self>> {
    /// What it shows.
    type View<'a>;

    /// Where that is, while it is lent.
    fn lent(&self) -> &Lent<Self::View<'static>>;
}

/// An object of Python in a policy's place, with what shows it the views that it is asked by.
pub(super) struct Asked<C> {
    pub(super) object: Object,
    shown: Option<Py<C>>,
}

impl<C> Clone for Asked<C> {
    fn clone(&self) -> Self {
        // What shows a view belongs to one policy.
        Self { object: self.object.clone(), shown: None }
    }
}

impl<C: Shows> Asked<C> {
    pub(super) fn new(object: Object) -> Self {
        Self { object, shown: None }
    }

    /// Asks the role's question of a view; `None` where the object raised something, now or before.
    pub(super) fn ask<'py>(&mut self, py: Python<'py>, view: &C::View<'_>) -> Option<Bound<'py, PyAny>> {
        let shown = self.shown(py);
        let shown = self.object.answered(shown)?;
        // The lifetime goes into the time of the call: see `Lent`.
        let view = NonNull::from(view).cast();
        shown.get().lent().lend(py, view, || self.object.ask(py, shown.clone().into_any()))
    }

    /// The object that shows a view: the one of the last call, unless somebody has kept that.
    fn shown<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, C>> {
        if let Some(shown) = &self.shown {
            // SAFETY: the pointer is that of an object, of which `shown` holds a reference.
            let references = unsafe { pyo3::ffi::Py_REFCNT(shown.as_ptr()) };
            if references == 1 {
                return Ok(shown.bind(py).clone());
            }
        }
        let shown = Py::new(py, C::default())?;
        self.shown = Some(shown.clone_ref(py));
        Ok(shown.into_bound(py))
    }
}
