//! What a unit of a device may hold after a power cut.

use std::collections::{BTreeMap, BTreeSet};

/// Contents of a unit: a version, or nothing.
pub(crate) type Held = Option<u64>;

/// Possible contents of each unit, with the number of the command that wrote them, from the last durable one on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Histories(BTreeMap<u64, Vec<(u64, Held)>>, BTreeSet<u64>);

impl Histories {
    /// All of these is durable.
    pub(crate) fn of(held: impl IntoIterator<Item = (u64, Held)>) -> Self {
        Self(held.into_iter().map(|(unit, held)| (unit, vec![(0, held)])).collect(), BTreeSet::new())
    }

    pub(crate) fn set(&mut self, unit: u64, number: u64, held: Held) {
        self.0.entry(unit).or_insert_with(|| vec![(0, None)]).push((number, held));
    }

    /// A unit holds this, whatever happens.
    pub(crate) fn known(&mut self, unit: u64, held: Held) {
        self.0.insert(unit, vec![(0, held)]);
    }

    pub(crate) fn now(&self, unit: u64) -> Held {
        self.0.get(&unit).and_then(|history| history.last()?.1)
    }

    pub(crate) fn may_hold(&self, unit: u64, held: Held) -> bool {
        match self.0.get(&unit) {
            Some(history) => history.iter().any(|(_, known)| *known == held),
            None => held.is_none(),
        }
    }

    /// Whether units that follow each other from `first` on may hold this after some command, all together.
    pub(crate) fn may_hold_together(&self, first: u64, held: &[Held]) -> bool {
        let histories: Vec<Option<&Vec<(u64, Held)>>> = (first..).take(held.len()).map(|unit| self.get(unit)).collect();
        let after = |number: u64, history: Option<&Vec<(u64, Held)>>| {
            let known = history?.iter().rev().find(|(of, _)| *of <= number).or(history?.first())?;
            known.1
        };
        let mut numbers: Vec<u64> =
            histories.iter().flatten().flat_map(|history| history.iter().map(|one| one.0)).collect();
        numbers.push(0);
        numbers.iter().any(|number| histories.iter().zip(held).all(|(history, held)| after(*number, *history) == *held))
    }

    /// Makes durable what the commands up to `number` did to a unit.
    pub(crate) fn durable(&mut self, unit: u64, number: u64) {
        let Some(history) = self.0.get_mut(&unit) else { return };
        let kept = history.iter().rposition(|(of, _)| *of <= number && !self.1.contains(of)).unwrap_or(0);
        history.drain(..kept);
    }

    /// Of what this command did to units nobody knows whether it happened.
    pub(crate) fn doubt(&mut self, number: u64) {
        self.1.insert(number);
    }

    /// Whether a command is one of which nobody knows that.
    pub(crate) fn is_doubtful(&self, number: u64) -> bool {
        self.1.contains(&number)
    }

    /// A command did nothing to a unit.
    pub(crate) fn undo(&mut self, unit: u64, number: u64) {
        if let Some(history) = self.0.get_mut(&unit) {
            history.retain(|(of, _)| *of != number || *of == 0);
        }
    }

    pub(crate) fn get(&self, unit: u64) -> Option<&Vec<(u64, Held)>> {
        self.0.get(&unit)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, &Vec<(u64, Held)>)> {
        self.0.iter().map(|(unit, history)| (*unit, history))
    }
}
