//! Bounds on the firmware's own work: how much of it one call does, and when a drive that works without gain is dead.
//!
//! Every loop of the firmware moves units before it comes round again, or ends. So units moved against units that somebody
//! asked for (the host, the file system or the scrubber) bound all of them together, whatever the policies choose. What is
//! compared belongs to the drive's state and never to a call, so a drive dies at the same write however its requests
//! are batched.

use serde::{Deserialize, Serialize};
use wane_nand::Media;

use crate::engine::{EndOfLife, Ftl, Outcome};
use wane_units::Counters;

/// Units that the firmware moves on its own account before it hands back to its caller: some tenths of a second where
/// moving is slow.
const CALL_UNITS_MAX: u64 = 1 << 19;

/// Units that are moved at least before a window ends, so that small drives may have bursts.
const WINDOW_UNITS_MIN: u64 = 1 << 20;

/// Blocks whose units make up the short window: more than collections in a row take, on all dies.
const SHORT_WINDOW_BLOCKS: u64 = 256;

/// Flash contents that make up the idle window. Collecting one block from a drive whose last invalid units lie one in a block
/// moves about ln(units in a block) contents, 12 at most, where victims are drawn at random.
const IDLE_WINDOW_CONTENTS: u64 = 64;

/// Units that garbage collection may move for one that was asked for, in the short and in the long window, where parity or
/// failing pages take what it frees. Elsewhere any ratio may be wanted: that of a drive with 0.1 % of spare is in the hundreds.
const RATIO_MAX: [u64; 2] = [1000, 100];

/// Where work and gain stood when something began.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Mark {
    moved: u64,
    asked: u64,
}

impl Mark {
    /// Both counters only grow.
    fn of(counters: &Counters) -> Self {
        Self {
            moved: counters.programmed_gc,
            asked: counters.programmed_host + counters.programmed_file_system + counters.programmed_scrub,
        }
    }
}

/// See the module's text.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Work {
    /// Beginnings of the short, the long and the idle window.
    windows: [Mark; 3],
    /// Units of the firmware's own when the present call began.
    call_from: u64,
    /// Units asked for, and the firmware's own, when it last handed back in the middle or the former grew.
    stretch: (u64, u64),
    /// Garbage collection was left in the middle.
    pub(crate) is_paused: bool,
    /// A program has failed.
    pub(crate) pages_fail: bool,
}

impl Work {
    /// Whether work goes on without gain: a window of it is over, and nothing or too little was asked for meanwhile.
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
    /// A call of the host begins.
    pub(crate) fn begin_call(&mut self) {
        self.work.call_from = self.own_units();
    }

    /// Whether this call has done its share.
    pub(crate) fn call_is_over(&self) -> bool {
        self.own_units() - self.work.call_from >= CALL_UNITS_MAX
    }

    /// Asked before each victim and each failed block. `Some` ends the loop that asks: the drive is dead, or the caller gets to
    /// look around in the middle of much work that no one unit of the host explains.
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

    /// Units programmed for nobody outside.
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
