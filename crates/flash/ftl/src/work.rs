//! Bounds on the firmware's own work: how much of it one call does, and when a drive that works without gain is dead.
//!
//! Every loop of the firmware moves units in each round, or ends. So the ratio of moved units to requested units (of the host,
//! the file system or the scrubber) bounds all loops together, whatever the policies choose. Both numbers belong to the
//! drive's state and not to a call, so a drive dies at the same write however its requests are batched.

use serde::{Deserialize, Serialize};
use wane_nand::Media;

use crate::engine::{EndOfLife, Ftl, Outcome};
use wane_units::Counters;

/// Units that the firmware moves for itself before it returns to its caller: some tenths of a second where moving is
/// slow.
const CALL_UNITS_MAX: u64 = 1 << 19;

/// Fewest units that are moved before a window ends, so that small drives may have bursts.
const WINDOW_UNITS_MIN: u64 = 1 << 20;

/// Length of the short window, in blocks of moved units: more than consecutive collections move, on all dies.
const SHORT_WINDOW_BLOCKS: u64 = 256;

/// Length of the idle window, in moved contents of the whole flash. If victims are drawn at random and each block has at most one
/// invalid unit, gaining one block moves about ln(units in a block) contents, at most 12.
const IDLE_WINDOW_CONTENTS: u64 = 64;

/// Units that garbage collection may move for each requested unit, in the short and in the long window, if parity or failing pages
/// take what it frees. Otherwise any ratio is allowed: with 0.1 % of spare it is in the hundreds.
const RATIO_MAX: [u64; 2] = [1000, 100];

/// Moved and requested units at some moment.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Mark {
    moved: u64,
    asked: u64,
}

impl Mark {
    /// The present mark. Both counters only grow.
    fn of(counters: &Counters) -> Self {
        Self {
            moved: counters.programmed_gc,
            asked: counters.programmed_host + counters.programmed_file_system + counters.programmed_scrub,
        }
    }
}

/// See the module's documentation.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Work {
    /// The marks at which the short, the long and the idle window began.
    windows: [Mark; 3],
    /// Units that the firmware had programmed for itself when the present call began.
    call_from: u64,
    /// Requested units, and the firmware's own units, when it last paused or when the former grew.
    stretch: (u64, u64),
    /// Whether garbage collection was interrupted.
    pub(crate) is_paused: bool,
    /// Whether a program has failed.
    pub(crate) pages_fail: bool,
}

impl Work {
    /// Whether work gains nothing: a window has ended, and nothing or too little was requested during it.
    fn is_vain(&mut self, now: Mark, units_per_block: u64, units: u64, is_taxed: bool) -> bool {
        let spans = [SHORT_WINDOW_BLOCKS * units_per_block, units, IDLE_WINDOW_CONTENTS * units];
        for (window, since) in self.windows.iter_mut().enumerate() {
            assert!(since.moved <= now.moved, "units that were moved are never taken back");
            assert!(since.asked <= now.asked, "units that were asked for are never taken back");
            let moved = now.moved - since.moved;
            if moved < spans[window].max(WINDOW_UNITS_MIN) {
                continue;
            }
            let asked = now.asked - since.asked;
            *since = now;
            let vain = match RATIO_MAX.get(window) {
                Some(most) => is_taxed && asked.saturating_mul(*most) < moved,
                None => asked == 0,
            };
            if vain {
                return true;
            }
        }
        false
    }
}

impl<M: Media> Ftl<M> {
    /// Begins a call of the host.
    pub(crate) fn begin_call(&mut self) {
        self.work.call_from = self.own_units();
    }

    /// Whether this call has moved as much as one call may.
    pub(crate) fn call_is_over(&self) -> bool {
        self.own_units() - self.work.call_from >= CALL_UNITS_MAX
    }

    /// Called before each victim and each failed block. `Some` ends the calling loop: either the drive is dead, or much work was done
    /// since the last requested unit and the caller gets a pause.
    pub(crate) fn stop_work(&mut self) -> Option<Outcome> {
        let now = Mark::of(&self.counters);
        let units = self.reverse.len() as u64;
        let is_taxed = self.stripes.is_some() || self.work.pages_fail;
        if self.work.is_vain(now, u64::from(self.units_per_block), units, is_taxed) {
            self.dead = Some(EndOfLife::NoVictim);
            return Some(Outcome::Dead(EndOfLife::NoVictim));
        }
        let own = self.own_units();
        let (asked, from) = self.work.stretch;
        if asked != now.asked {
            self.work.stretch = (now.asked, own);
        } else if own - from >= CALL_UNITS_MAX {
            self.work.stretch = (asked, own);
            self.work.is_paused = true;
            return Some(Outcome::Paused);
        }
        None
    }

    /// Units that the firmware programmed for itself.
    fn own_units(&self) -> u64 {
        let counters = &self.counters;
        counters.programmed_total() - counters.programmed_host - counters.programmed_file_system
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_vain_by_ratio_where_pages_fail_and_else_only_without_any_gain() {
        const BLOCK: u64 = 64;
        const FLASH: u64 = 1 << 20;
        // (units moved, units asked for meanwhile, parity or failing pages, vain)
        let table = [
            (WINDOW_UNITS_MIN - 1, 0, true, false),
            (WINDOW_UNITS_MIN, 0, true, true),
            (WINDOW_UNITS_MIN, WINDOW_UNITS_MIN / 100 - 1, true, true),
            (WINDOW_UNITS_MIN, WINDOW_UNITS_MIN / 100 + 1, true, false),
            (WINDOW_UNITS_MIN, 0, false, false),
            (IDLE_WINDOW_CONTENTS * FLASH, 1, false, false),
            (IDLE_WINDOW_CONTENTS * FLASH, 0, false, true),
        ];
        for (moved, asked, is_taxed, vain) in table {
            let mut work = Work::default();
            assert_eq!(work.is_vain(Mark { moved, asked }, BLOCK, FLASH, is_taxed), vain, "{moved} {asked} {is_taxed}");
        }
    }
}
