//! A view of the engine's, lent to Python for the length of a call.
//!
//! The object in Python outlives the call; what it shows does not. So it has a pointer that is there during the call alone.

use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicPtr, Ordering};

use pyo3::prelude::*;
use pyo3::{PyClass, PyClassInitializer};

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

/// The object that shows a view: the one of the last call, unless somebody has kept that.
pub(super) fn object<'py, C>(py: Python<'py>, kept: &mut Option<Py<C>>) -> PyResult<Bound<'py, C>>
where
    C: PyClass + Default + Into<PyClassInitializer<C>>,
{
    if let Some(object) = kept {
        // SAFETY: the pointer is that of an object, of which `kept` holds a reference.
        let references = unsafe { pyo3::ffi::Py_REFCNT(object.as_ptr()) };
        if references == 1 {
            return Ok(object.bind(py).clone());
        }
    }
    let object = Py::new(py, C::default())?;
    *kept = Some(object.clone_ref(py));
    Ok(object.into_bound(py))
}
