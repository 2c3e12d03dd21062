//! Python objects in the places of policies: turns a dict of them into [`PolicyOverrides`], and each question of the engine into a call.
//!
//! The engine asks on the thread that called it, which keeps the interpreter's lock (see `attend.rs`). A view is lent for the length of a call
//! (`lent.rs`); its arrays are copies. If an object raises or gives a wrong answer, the run stops and raises the same exception (`trouble.rs`).

mod allocation;
mod lent;
mod object;
mod retirement;
mod scrub;
pub(crate) mod trouble;
mod victim;
mod wear_leveling;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use pythonize::depythonize;
use wane_lab::build::{Override, PolicyOverrides};

use crate::error;
use object::{Object, Role};

pub(crate) use object::were_asked;

pub(crate) use allocation::FreeView;
pub(crate) use scrub::ScrubView;
pub(crate) use victim::GcView;
pub(crate) use wear_leveling::WearView;

/// The roles that an object can have.
const ROLES: [Role; 5] = [victim::ROLE, allocation::ROLE, wear_leveling::ROLE, scrub::ROLE, retirement::ROLE];

/// The roles' keys in a scenario.
pub(crate) const KEYS: [&str; 5] = {
    let [victim, allocation, wear_leveling, scrub, retirement] = ROLES;
    [victim.key, allocation.key, wear_leveling.key, scrub.key, retirement.key]
};

/// Reads a dict from a role's key to an object.
pub(crate) fn overrides(policies: &Bound<'_, PyDict>) -> PyResult<PolicyOverrides> {
    let py = policies.py();
    let mut overrides = PolicyOverrides::default();
    for (key, object) in policies {
        let key: String = key.extract()?;
        let Some(role) = ROLES.into_iter().find(|role| role.key == key) else {
            let allowed = KEYS.join(", ");
            return Err(error::scenario_sentence(format!("policies: found the role {key:?}, allowed are {allowed}")));
        };
        let (name, parameters) = (name(&object)?, parameters(&key, &object)?);
        let object = Object::new(role, &object)?;
        match object.role().key {
            "ftl.gc" => overrides.victim = Some(named(name, parameters, Box::new(victim::Victims::new(object, py)?))),
            "ftl.allocation" => {
                let policy = allocation::Allocations::new(object, py)?;
                overrides.allocation = Some(named(name, parameters, Box::new(policy)));
            }
            "ftl.wear-leveling" => {
                let policy = wear_leveling::Levelers::new(object, py)?;
                overrides.wear_leveling = Some(named(name, parameters, Box::new(policy)));
            }
            "ftl.scrub" => overrides.scrub = Some(named(name, parameters, Box::new(scrub::Scrubbers::new(object)))),
            _ => overrides.retire = Some(named(name, parameters, Box::new(retirement::Retirements::new(object)))),
        }
    }
    Ok(overrides)
}

fn named<P>(name: String, parameters: toml::Table, policy: P) -> Override<P> {
    Override::with(name, parameters, policy)
}

/// Returns the policy's name in results: its attribute `name`, or the name of its class.
fn name(object: &Bound<'_, PyAny>) -> PyResult<String> {
    match object.getattr_opt("name")?.and_then(|name| name.extract::<String>().ok()) {
        Some(name) => Ok(name),
        None => Ok(object.get_type().name()?.to_string()),
    }
}

/// Converts a value to one that a scenario can hold.
fn plain<'py>(role: &str, value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let plain = value.py().import("wane._plain")?.getattr("plain")?;
    plain.call1((value, format!("{role}.parameters"), 0, "policies"))
}

/// Returns the policy's parameters in results: its attribute `parameters`, a dict of plain values.
fn parameters(role: &str, object: &Bound<'_, PyAny>) -> PyResult<toml::Table> {
    match object.getattr_opt("parameters")? {
        // NumPy's scalars become Python's own, as in a scenario.
        Some(table) => depythonize(&plain(role, &table)?).map_err(|error| {
            error::scenario_sentence(format!("policies: parameters of a policy are a dict of plain values: {error}"))
        }),
        None => Ok(toml::Table::new()),
    }
}
