//! A Python object in a policy's place: which drive has it, how it is copied, and how it is asked.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::prelude::*;
use wane_ftl::policies::{BlockEvent, EraseCause, Mode, Setting};
use wane_units::SuperblockId;

use super::trouble;
use crate::error;

/// A role, with the method by which its policies are asked.
#[derive(Clone, Copy, Debug)]
pub(super) struct Role {
    /// Its key, such as `ftl.gc`.
    pub(super) key: &'static str,
    /// The method that an object of the role must have, and its signature.
    pub(super) method: &'static str,
    pub(super) signature: &'static str,
}

thread_local! {
    static ASKED: Cell<bool> = const { Cell::new(false) };
}

/// Whether objects were asked on this thread since the last call of this function.
pub(crate) fn were_asked() -> bool {
    ASKED.replace(false)
}

/// An object with the method of a role.
///
/// The first drive that begins with it uses the object itself, so that its user sees what it counts. Every further domain, and every copy of a
/// drive that has begun, uses a deep copy.
pub(super) struct Object {
    role: Role,
    object: Py<PyAny>,
    /// The bound methods, looked up once.
    ask: Py<PyAny>,
    heard: Option<Py<PyAny>>,
    has_begun: bool,
    is_taken: Arc<AtomicBool>,
}

impl Object {
    /// Checks an object for a role and takes it.
    pub(super) fn new(role: Role, object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let ask = object.getattr_opt(role.method)?.filter(|method| method.is_callable());
        let is_class = object.is_instance_of::<pyo3::types::PyType>();
        let Some(ask) = ask.filter(|_| !is_class) else {
            let found = if is_class {
                format!("the class {}, where an object of it is needed", object.getattr("__name__")?)
            } else {
                format!("an object of type {} without the method {}", object.get_type().name()?, role.signature)
            };
            return Err(error::scenario_sentence(format!("policies: {}: found {found}", role.key)));
        };
        let heard = object.getattr_opt("heard")?.map(Bound::unbind);
        let object = object.clone().unbind();
        Ok(Self { role, object, ask: ask.unbind(), heard, has_begun: false, is_taken: Arc::default() })
    }

    pub(super) fn role(&self) -> Role {
        self.role
    }

    pub(super) fn bind<'py>(&self, py: Python<'py>) -> &Bound<'py, PyAny> {
        self.object.bind(py)
    }

    /// Begins a drive with the object: calls its method `begin`, if it has one.
    pub(super) fn begin(&mut self, mut setting: Setting) {
        Python::attach(|py| {
            self.has_begun = true;
            if self.is_taken.swap(true, Ordering::Relaxed) {
                self.copy_deeply(py);
            }
            let told = (|| {
                let Some(begin) = self.object.bind(py).getattr_opt("begin")? else { return Ok(()) };
                let kind = py.import("wane.policies")?.getattr("Setting")?;
                let seed = setting.stream.bits();
                let Setting { first, blocks, units_per_block, endurance, rated_blocks, .. } = setting;
                begin.call1((kind.call1((first.0, blocks, units_per_block, endurance, rated_blocks, seed))?,)).map(drop)
            })();
            told.unwrap_or_else(trouble::raise);
        });
    }

    /// Asks the role's question; `None` if the object raised something, now or before.
    pub(super) fn ask<'py>(&self, py: Python<'py>, view: Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
        if trouble::is_raised() {
            return None;
        }
        ASKED.set(true);
        self.ask.bind(py).call1((view,)).map_err(trouble::raise).ok()
    }

    /// Calls a method that the object may have.
    pub(super) fn call<'py, A>(&self, py: Python<'py>, method: &str, arguments: A) -> Option<Bound<'py, PyAny>>
    where
        A: pyo3::call::PyCallArgs<'py>,
    {
        let method = self.object.bind(py).getattr_opt(method).map_err(trouble::raise).ok()??;
        method.call1(arguments).map_err(trouble::raise).ok()
    }

    /// Tells the object what happened to a block, if it has the method.
    pub(super) fn hear(&self, event: BlockEvent, block: SuperblockId, erase_count: u32) {
        let Some(heard) = self.heard.as_ref().filter(|_| !trouble::is_raised()) else { return };
        let event = match event {
            BlockEvent::Opened => "opened",
            BlockEvent::Closed => "closed",
            BlockEvent::Erased(_) => "erased",
            BlockEvent::Retired => "retired",
        };
        Python::attach(|py| {
            heard.bind(py).call1((event, block.0, erase_count)).map_or_else(trouble::raise, drop);
        });
    }

    /// Returns `taken` of an answer, or raises its refusal.
    pub(super) fn answered<T>(&self, taken: PyResult<T>) -> Option<T> {
        taken.map_err(trouble::raise).ok()
    }

    /// Makes the error for an answer that the role does not allow.
    pub(super) fn refused(&self, found: impl std::fmt::Display, allowed: &str) -> PyErr {
        self.refused_of(self.role.signature, found, allowed)
    }

    /// Makes the error for an answer of another type.
    pub(super) fn mistyped(&self, answer: &Bound<'_, PyAny>, allowed: &str) -> PyErr {
        self.refused(object_of_type(answer), allowed)
    }

    /// Makes the error for an answer of another of its methods.
    pub(super) fn refused_of(&self, signature: &str, found: impl std::fmt::Display, allowed: &str) -> PyErr {
        error::policy(format!("{}: {signature} answered {found}, allowed is {allowed}", self.role.key))
    }

    fn copy_deeply(&mut self, py: Python<'_>) {
        let copied = (|| {
            let copy = py.import("copy")?.call_method1("deepcopy", (self.object.bind(py),))?;
            Self::new(self.role, &copy)
        })();
        match copied {
            Ok(Self { object, ask, heard, .. }) => (self.object, self.ask, self.heard) = (object, ask, heard),
            Err(error) => trouble::raise(error),
        }
    }
}

impl Clone for Object {
    fn clone(&self) -> Self {
        Python::attach(|py| {
            let mut copy = Self {
                role: self.role,
                object: self.object.clone_ref(py),
                ask: self.ask.clone_ref(py),
                heard: self.heard.as_ref().map(|heard| heard.clone_ref(py)),
                has_begun: self.has_begun,
                is_taken: Arc::clone(&self.is_taken),
            };
            if self.has_begun {
                copy.copy_deeply(py);
            }
            copy
        })
    }
}

/// Describes an answer of a wrong type, for messages.
pub(super) fn object_of_type(answer: &Bound<'_, PyAny>) -> String {
    let kind = answer.get_type().name().map_or_else(|_| "unknown".to_owned(), |name| name.to_string());
    format!("an object of type {kind}")
}

/// The name of a mode in views.
pub(super) fn mode_name(mode: Mode) -> &'static str {
    match mode {
        Mode::Normal => "normal",
        Mode::Degraded => "degraded",
    }
}

/// The name of a cause in views.
pub(super) fn cause_name(cause: EraseCause) -> &'static str {
    match cause {
        EraseCause::GarbageCollection => "garbage-collection",
        EraseCause::WearLeveling => "wear-leveling",
        EraseCause::Scrub => "scrub",
        EraseCause::Metadata => "metadata",
    }
}

/// Reads an answer that is a block's number.
pub(super) fn block(answer: &Bound<'_, PyAny>) -> Option<SuperblockId> {
    answer.extract::<u32>().ok().map(SuperblockId)
}
