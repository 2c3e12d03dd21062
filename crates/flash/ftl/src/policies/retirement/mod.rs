//! When a block leaves service.

mod at_endurance;
mod at_erases;
mod at_gc_erase;
mod failures;
mod never;
mod rber;

pub use at_endurance::{AtEndurance, AtEnduranceParams};
pub use at_erases::{AtErases, AtErasesParams};
pub use at_gc_erase::{AtGcErase, AtGcEraseParams};
pub use failures::{Failures, FailuresParams};
pub use never::{Never, NeverParams};
pub use rber::{Rber, RberParams};

use dyn_clone::DynClone;

use super::{Builtin, Entry, EraseCause, Mode, Needs};
use crate::policies::state::remembers;

/// Decides whether a block that was just erased leaves service. A block whose erase failed leaves service in any case.
pub trait RetirePolicy: Send + Sync + DynClone {
    /// Whether the block stays in service.
    fn verdict(&self, view: &RetireView) -> Verdict;

    /// The erase count at which blocks leave service, if it is known. `rated` is the drive's endurance.
    fn retires_at(&self, rated: Option<u32>) -> Option<u32>;

    /// Whether blocks may leave service at all.
    fn retires(&self, rated: Option<u32>) -> bool {
        self.retires_at(rated).is_some()
    }

    /// What the policy needs in order to have an effect.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// Changes the threshold of a running drive. Returns whether the policy has a threshold of this kind.
    fn set_threshold(&mut self, _threshold: RetirementThreshold) -> bool {
        false
    }

    remembers!();
}

dyn_clone::clone_trait_object!(RetirePolicy);

/// When a block leaves service.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RetirementThreshold {
    /// At this number of erases.
    Erases(u32),
    /// At this RBER of data just programmed.
    Rber(f64),
}

/// A policy's decision on a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It stays in service.
    Keep,
    /// It leaves service.
    Retire,
}

/// What a retirement policy sees.
#[derive(Clone, Copy, Debug)]
pub struct RetireView {
    /// Erases of the block, this one included.
    pub erase_count: u32,
    /// Rated P/E cycles; `None` when the drive has no rating.
    pub endurance: Option<u32>,
    /// Why it was erased.
    pub cause: EraseCause,
    /// Its RBER just after a program; 0 on flash without errors.
    pub rber: f64,
    /// Its failed programs so far.
    pub failures: u32,
    /// The drive's mode.
    pub mode: Mode,
}

impl RetireView {
    fn is_rated_out(&self) -> bool {
        self.endurance.is_some_and(|endurance| self.erase_count >= endurance)
    }

    /// Whether blocks serve up to the rated endurance, whatever their threshold. They do on a degraded drive with a rating.
    pub(crate) fn serves_to_rating(&self) -> bool {
        self.mode == Mode::Degraded && self.endurance.is_some()
    }
}

fn retire_if(condition: bool) -> Verdict {
    if condition { Verdict::Retire } else { Verdict::Keep }
}

/// Every retirement policy. A new one is a file and a line here.
pub const RETIRE_POLICIES: &[Entry<Box<dyn RetirePolicy>>] = &[
    entry::<AtEndurance>(),
    entry::<AtErases>(),
    entry::<AtGcErase>(),
    entry::<Rber>(),
    entry::<Failures>(),
    entry::<Never>(),
];

const fn entry<P: Builtin + RetirePolicy + 'static>() -> Entry<Box<dyn RetirePolicy>> {
    Entry::of::<P>(|table| Ok(Box::new(P::read(table)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_policy_goes_by_its_own_sign() {
        use EraseCause::{GarbageCollection as Gc, WearLeveling};
        let view = |erase_count, cause, rber, failures| RetireView {
            erase_count,
            endurance: Some(100),
            cause,
            rber,
            failures,
            mode: Mode::Normal,
        };
        let degraded = |view: RetireView| RetireView { mode: Mode::Degraded, ..view };
        let unrated = |view: RetireView| RetireView { endurance: None, ..view };
        // The view, then which policies retire the block: at-endurance, 90 erases, at-gc-erase, RBER of 5 %, two failures, never.
        let table = [
            (view(89, Gc, 0.04, 0), [false, false, false, false, false, false]),
            (view(90, Gc, 0.04, 0), [false, true, false, false, false, false]),
            (view(100, Gc, 0.0, 0), [true, true, true, false, false, false]),
            (view(100, WearLeveling, 0.0, 0), [true, true, false, false, false, false]),
            (view(1, Gc, 0.05, 0), [false, false, false, true, false, false]),
            (view(1, Gc, 0.0, 1), [true, true, true, true, false, false]),
            (view(1, Gc, 0.0, 2), [true, true, true, true, true, false]),
            (degraded(view(99, Gc, 0.06, 0)), [false; 6]),
            (degraded(view(100, Gc, 0.06, 0)), [true, true, true, true, false, false]),
            (degraded(unrated(view(99, Gc, 0.06, 0))), [false, true, false, true, false, false]),
            (unrated(view(1000, Gc, 0.0, 0)), [false, true, false, false, false, false]),
        ];
        let policies: Vec<Box<dyn RetirePolicy>> = RETIRE_POLICIES
            .iter()
            .map(|entry| {
                let parameters = match entry.name() {
                    "failures" => "programs = 2",
                    "at-erases" => "erases = 90",
                    _ => "",
                };
                entry.parse(parameters.parse().unwrap()).unwrap()
            })
            .collect();
        for (view, want) in table {
            let found: Vec<bool> = policies.iter().map(|policy| policy.verdict(&view) == Verdict::Retire).collect();
            assert_eq!(found, want, "{view:?}");
        }
    }

    #[test]
    fn thresholds_out_of_range_are_refused() {
        let refused = [
            ("rber", "threshold = 0"),
            ("rber", "threshold = 1.5"),
            ("failures", "programs = 0"),
            ("at-erases", "erases = 0"),
        ];
        for (name, parameters) in refused {
            let entry = RETIRE_POLICIES.iter().find(|entry| entry.name() == name).unwrap();
            assert!(entry.parse(parameters.parse().unwrap()).is_err(), "{name} {parameters}");
        }
    }
}
