//! Retirement policies in Python.

use pyo3::prelude::*;
use wane_ftl::policies::retirement::{RetirePolicy, RetireView, Verdict};

use super::object::{self, Object, Role};
use super::trouble;

pub(super) const ROLE: Role = Role { key: "ftl.retire", method: "verdict", signature: "verdict(view)" };

/// A retirement policy whose answers an object gives. It begins with no drive, so that all copies of a drive share the object.
#[derive(Clone)]
pub(super) struct Retirements {
    object: Object,
}

impl Retirements {
    pub(super) const fn new(object: Object) -> Self {
        Self { object }
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
            answer.extract::<Option<u32>>().map_err(trouble::raise).ok().flatten()
        })
    }

    fn retires(&self, _rated: Option<u32>) -> bool {
        true
    }
}
