//! Retirement policies in Python.

use pyo3::prelude::*;
use pyo3::types::PyInt;
use wane_ftl::policies::retirement::{RetirePolicy, RetireView, Verdict};

use super::object::{self, Object, Role};

pub(super) const ROLE: Role = Role { key: "ftl.retire", method: "verdict", signature: "verdict(view)" };

/// A retirement policy that asks a Python object. It has no state of a drive, so that all copies of a drive share the object.
#[derive(Clone)]
pub(super) struct Retirements {
    object: Object,
}

impl Retirements {
    pub(super) const fn new(object: Object) -> Self {
        Self { object }
    }

    /// Reads the erases from an answer of `retires_at`.
    fn erases(&self, answer: &Bound<'_, PyAny>) -> PyResult<Option<u32>> {
        if answer.is_none() {
            return Ok(None);
        }
        match answer.extract::<u32>() {
            // Blocks that retire at 0 erases have no share of life used.
            Ok(erases) if erases > 0 => Ok(Some(erases)),
            _ => {
                let number = answer.is_instance_of::<PyInt>().then(|| answer.str()).transpose()?;
                let found = number.map_or_else(|| object::object_of_type(answer), |number| number.to_string());
                let allowed = format!("a whole number from 1 to {}, or None", u32::MAX);
                Err(self.object.refused_of("retires_at(rated)", found, &allowed))
            }
        }
    }

    fn asked(&self, view: &RetireView) -> Option<bool> {
        Python::attach(|py| {
            let RetireView { erase_count, endurance, cause, rber, failures, mode } = *view;
            let (cause, mode) = (object::cause_name(cause), object::mode_name(mode));
            let shown = py.import("wane.policies").and_then(|module| module.getattr("RetireView"));
            let shown = shown.and_then(|kind| kind.call1((erase_count, endurance, cause, rber, failures, mode)));
            let answer = self.object.ask(py, self.object.answered(shown)?)?;
            let retires = answer.extract::<bool>();
            let allowed = "True where the block leaves service, or False";
            self.object.answered(retires.map_err(|_| self.object.mistyped(&answer, allowed)))
        })
    }
}

impl RetirePolicy for Retirements {
    fn verdict(&self, view: &RetireView) -> Verdict {
        if self.asked(view).unwrap_or(false) { Verdict::Retire } else { Verdict::Keep }
    }

    fn retires_at(&self, rated: Option<u32>) -> Option<u32> {
        Python::attach(|py| {
            let answer = self.object.call(py, "retires_at", (rated,))?;
            self.object.answered(self.erases(&answer)).flatten()
        })
    }

    fn retires(&self, _rated: Option<u32>) -> bool {
        true
    }
}
