//! Policies as values: a resolved scenario holds each with the table that chose it.

use std::fmt;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use toml::{Table, Value};
use wane_ftl::policies::{Entry, ParameterError, find, names};
use wane_units::{did_you_mean, excerpt};

/// A policy, with the table that chose it. The policy has not begun: each drive gets a copy. Two are equal if their tables are.
#[derive(Clone, Serialize)]
#[serde(transparent)]
pub struct Chosen<P> {
    table: Table,
    #[serde(skip)]
    policy: P,
}

impl<P> Chosen<P> {
    /// A policy from outside the tree, with the table that is written for it.
    pub fn new(table: Table, policy: P) -> Self {
        Self { table, policy }
    }

    /// Makes the policy of a table, whose `policy` names an entry of the family.
    ///
    /// # Errors
    /// There is no such policy, or it does not take the parameters.
    pub(super) fn of(table: Table, family: &[Entry<P>]) -> Result<Self, RefusedPolicy> {
        let mut parameters = table.clone();
        parameters.remove("policy");
        let name = name_in(&table);
        let Some(entry) = find(family, name) else {
            let known = names(family);
            let hint = did_you_mean(name, &known);
            let message = format!("unknown policy \"{}\", allowed are {}{hint}", excerpt(name), known.join(", "));
            return Err(RefusedPolicy { key: None, message });
        };
        let refused = |error: ParameterError| RefusedPolicy { message: error.to_string(), key: error.key };
        let policy = entry.parse(parameters).map_err(refused)?;
        Ok(Self { table, policy })
    }

    /// A family's entry with its defaults.
    pub(super) fn by_name(name: &str, family: &[Entry<P>]) -> Self {
        let table = Table::from_iter([("policy".to_owned(), Value::from(name))]);
        Self::of(table, family).expect("the family has the entry, whose defaults are valid")
    }

    /// The table, with the policy's name and the parameters that the scenario writes.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// The policy's name.
    pub fn name(&self) -> &str {
        name_in(&self.table)
    }

    /// The policy.
    pub fn policy(&self) -> &P {
        &self.policy
    }
}

/// A table does not say of which family it is, so that the resolver makes policies itself; serde reads `[ftl]` without them.
impl<'de, P> Deserialize<'de> for Chosen<P> {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Err(D::Error::custom("the resolver makes policies"))
    }
}

impl<P> fmt::Debug for Chosen<P> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.table.fmt(formatter)
    }
}

impl<P> PartialEq for Chosen<P> {
    fn eq(&self, other: &Self) -> bool {
        self.table == other.table
    }
}

/// The name in a policy's table; empty if there is none.
pub(super) fn name_in(table: &Table) -> &str {
    table.get("policy").and_then(Value::as_str).unwrap_or_default()
}

/// The refusal of a policy's table.
#[derive(Debug)]
pub(super) struct RefusedPolicy {
    /// The parameter at fault, if there is one.
    pub(super) key: Option<String>,
    /// What is wrong, in one sentence.
    pub(super) message: String,
}
