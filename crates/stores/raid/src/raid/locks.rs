//! Which operations may work on a stripe: in the order in which they came, those that disturb each other one after the other.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use super::map::Rows;

/// What an operation needs of a stripe.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Need {
    pub(super) rows: Rows,
    /// It changes them.
    pub(super) is_change: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Hold {
    operation: u64,
    need: Need,
    is_running: bool,
}

/// Operations on stripes, the first that came first.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Locks {
    stripes: BTreeMap<u64, VecDeque<Hold>>,
}

impl Need {
    fn disturbs(&self, other: &Self) -> bool {
        (self.is_change || other.is_change) && self.rows.start < other.rows.end && other.rows.start < self.rows.end
    }
}

impl Locks {
    /// Puts an operation behind those that came before. Returns whether it may start at once.
    pub(super) fn enter(&mut self, stripe: u64, operation: u64, need: Need) -> bool {
        let holds = self.stripes.entry(stripe).or_default();
        let is_running = !holds.iter().any(|hold| hold.need.disturbs(&need));
        holds.push_back(Hold { operation, need, is_running });
        is_running
    }

    /// An operation is over. Appends those that may start now.
    pub(super) fn leave(&mut self, stripe: u64, operation: u64, start: &mut VecDeque<u64>) {
        let Some(holds) = self.stripes.get_mut(&stripe) else { return };
        holds.retain(|hold| hold.operation != operation);
        if holds.is_empty() {
            self.stripes.remove(&stripe);
            return;
        }
        for place in 0..holds.len() {
            if !holds[place].is_running && !holds.range(..place).any(|hold| hold.need.disturbs(&holds[place].need)) {
                holds[place].is_running = true;
                start.push_back(holds[place].operation);
            }
        }
    }

    /// The operations on a stripe, in order.
    pub(super) fn on(&self, stripe: u64) -> impl Iterator<Item = u64> + '_ {
        self.stripes.get(&stripe).into_iter().flatten().map(|hold| hold.operation)
    }

    pub(super) fn is_busy(&self, stripe: u64) -> bool {
        self.stripes.contains_key(&stripe)
    }

    pub(super) fn clear(&mut self) {
        self.stripes.clear();
    }
}
