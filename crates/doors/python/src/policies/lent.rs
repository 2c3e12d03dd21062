//! A view of the engine, lent to Python for the length of a call.
//!
//! The Python object outlives the call, but the view does not. So the object has a pointer that is set only during the call.

use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicPtr, Ordering};

use pyo3::prelude::*;
use pyo3::pyclass::boolean_struct::True;
use pyo3::{PyClass, PyClassInitializer};
use wane_units::SuperblockId;

use super::object::Object;
use crate::error;

/// Pointer to a view of type `V`, while it is lent.
pub(super) struct Lent<V> {
    at: AtomicPtr<V>,
}

impl<V> Default for Lent<V> {
    fn default() -> Self {
        Self { at: AtomicPtr::new(ptr::null_mut()) }
    }
}

impl<V> Lent<V> {
    /// Returns `ask` of the view.
    pub(super) fn ask<T>(&self, ask: impl FnOnce(&V) -> PyResult<T>) -> PyResult<T> {
        let Some(at) = NonNull::new(self.at.load(Ordering::Relaxed)) else {
            return Err(error::policy(
                "the view is used after the call to which it was given; take what is needed later out of it during the call",
            ));
        };
        // SAFETY: `lend` set the pointer from a reference that lives until its `call` is over, and takes it back before it ends. This thread
        // is attached to the interpreter, as is `lend` when it takes the pointer back. `ask` neither runs Python nor detaches from the
        // interpreter, so that `lend` cannot go on meanwhile, on whatever thread `ask` runs.
        ask(unsafe { at.as_ref() })
    }

    /// Returns `ask` of the view for a block for which `has` holds; raises `IndexError` for others, with `whose` in the message.
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

    /// Lends `view` for the length of `call`, which is attached to the interpreter from its beginning to its end.
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

/// A Python class that shows views of the engine.
pub(super) trait Shows: PyClass<Frozen = True> + Sync + Default + Into<PyClassInitializer<Self>> {
    /// The type of the view.
    type View<'a>;

    /// The pointer to the view, while it is lent.
    fn lent(&self) -> &Lent<Self::View<'static>>;
}

/// A Python object in a policy's place, with the object that shows it the views.
pub(super) struct Asked<C> {
    pub(super) object: Object,
    shown: Option<Py<C>>,
}

impl<C> Clone for Asked<C> {
    fn clone(&self) -> Self {
        // The object that shows a view belongs to one policy.
        Self { object: self.object.clone(), shown: None }
    }
}

impl<C: Shows> Asked<C> {
    pub(super) fn new(object: Object) -> Self {
        Self { object, shown: None }
    }

    /// Asks the role's question with a view; `None` if the object raised something, now or before.
    pub(super) fn ask<'py>(&mut self, py: Python<'py>, view: &C::View<'_>) -> Option<Bound<'py, PyAny>> {
        let shown = self.shown(py);
        let shown = self.object.answered(shown)?;
        // The lifetime is that of the call: see `Lent`.
        let view = NonNull::from(view).cast();
        shown.get().lent().lend(py, view, || self.object.ask(py, shown.clone().into_any()))
    }

    /// Returns the object that shows a view: that of the last call, unless Python code has kept it.
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
