//! Scrubbing: relocates blocks before they have too many errors.

use wane_nand::{Health, Media, PageRead, Purpose, ReadOutcome, Task};
use wane_units::SuperblockId;

use crate::domain::Mover;
use crate::engine::{Ftl, Outcome};
use crate::policies::EraseCause;
use crate::policies::scrub::{Action, Condition, ScrubView};

/// Days after which data in a block that is still being written counts as old.
const OPEN_DAYS_MAX: f64 = 1.0;

/// Most reads that are remembered for the policy. If there are more, it hears of the oldest.
const TOUCHED_MAX: usize = 4096;

impl<M: Media> Ftl<M> {
    /// Whether a scrub policy is at work.
    pub fn scrubs(&self) -> bool {
        self.scrub.is_some()
    }

    /// Notes that a block was read for the host.
    #[inline]
    pub(crate) fn touch(&mut self, block: SuperblockId) {
        if self.scrub.is_some() && self.touched.len() < TOUCHED_MAX && self.touched.last() != Some(&block) {
            self.touched.push(block);
        }
    }

    /// Asks the scrub policy once and does what it says. `None` if there was nothing to do or no room to do it.
    pub fn scrub(&mut self) -> Option<Outcome> {
        if self.dead.is_some() {
            return None;
        }
        self.begin_call();
        let mut policy = self.scrub.take()?;
        let action = policy.next(&ScrubView {
            blocks: self.layout.blocks(),
            touched: &self.touched,
            condition: self,
            now_days: self.media.now_days(),
        });
        self.touched.clear();
        let outcome = match action {
            None => None,
            Some(Action::Relocate(block) | Action::Check(block)) if self.relocatable(block).is_none() => {
                self.counters.policy_refusals += 1;
                None
            }
            Some(Action::Relocate(block)) => self.relocate_due(block),
            Some(Action::Check(block)) => {
                policy.checked(block, self.check_page(block));
                Some(Outcome::Done)
            }
        };
        self.scrub = Some(policy);
        outcome
    }

    /// Whether the data in an open block are old, or were read as often as the block has pages. Otherwise data that are read much
    /// but written little could stay in a block that never fills. Closing early wastes pages, which this many reads justify.
    fn is_stale(&self, block: SuperblockId) -> bool {
        let health = self.worst_health(block);
        health.reads >= self.media.geometry().pages_per_block() || health.age_days >= OPEN_DAYS_MAX
    }

    /// The condition of a firmware block: that of its worst member.
    fn worst_health(&self, block: SuperblockId) -> Health {
        let members = (0..self.layout.width()).map(|member| self.media.health(self.layout.member(block, member)));
        let worst = members.reduce(|a, b| Health {
            expected_errors: a.expected_errors.max(b.expected_errors),
            fresh_errors: a.fresh_errors.max(b.fresh_errors),
            fresh_rber: a.fresh_rber.max(b.fresh_rber),
            fresh_rereads: a.fresh_rereads.max(b.fresh_rereads),
            reads: a.reads.max(b.reads),
            rereads: a.rereads.saturating_add(b.rereads),
            age_days: a.age_days.max(b.age_days),
        });
        let worst = worst.unwrap_or_default();
        debug_assert!(worst.age_days >= 0.0, "data are never younger than the present day");
        debug_assert!(worst.expected_errors >= 0.0, "a number of errors is no less than none");
        worst
    }

    /// Moves a block's data to the scrub stream and frees the block.
    fn relocate_due(&mut self, block: SuperblockId) -> Option<Outcome> {
        let domain = self.layout.domain(block);
        let valid = self.relocatable(block)?;
        let stream = self.place_run(domain, block, Task::Scrub, valid);
        let state = &self.domains[domain];
        // Data that do not fit the open block need a free one. The emptied block replaces it.
        let room = match self.frontier(domain, stream) {
            Some(frontier) if frontier.block != block => self.units_per_block - frontier.next,
            _ => 0,
        };
        // If the host's own block is closed, the host continues in a free one.
        let host = usize::from(state.host.is_some_and(|frontier| frontier.block == block));
        if state.free.len() < usize::from(room < valid) + host {
            return None;
        }
        self.close_early(domain, block);
        self.domains[domain].index.open(block);
        if self.relocate_to(domain, block, Mover::Scrub, Some(stream)).is_err() {
            return None;
        }
        self.fill_page(domain, Mover::Scrub);
        Some(match self.recycle(domain, block, EraseCause::Scrub).stop() {
            Some(stop) => stop,
            None => match self.reclaim_domain(domain) {
                Outcome::Done => self.run_pending(),
                stop => stop,
            },
        })
    }

    /// Reads the first valid page of a block. Returns its re-reads; `None` if it is uncorrectable.
    fn check_page(&mut self, block: SuperblockId) -> Option<u32> {
        let unit = self.domains[self.layout.domain(block)].index.valid_units(block).next();
        let unit = unit.expect("a block to check holds valid units");
        let (flash, page) = self.layout.place(block, unit);
        let bytes = self.media.geometry().page_size().0 as u32;
        self.counters.scrub_checks += 1;
        let read =
            PageRead { block: flash, page, bytes, task: Task::Scrub, purpose: Purpose::Check, rereads_max: None };
        match self.media.read(read) {
            ReadOutcome::Corrected { rereads } => Some(rereads),
            ReadOutcome::Uncorrectable => None,
        }
    }
}

impl<M: Media> Condition for Ftl<M> {
    /// Valid units of a block that holds some; `None` if it is being written and its data are still fresh.
    fn relocatable(&self, block: SuperblockId) -> Option<u32> {
        let index = &self.domains.get(self.layout.domain(block))?.index;
        let valid = index.valid(block);
        (valid > 0 && (index.is_closed(block) || self.is_stale(block))).then_some(valid)
    }

    fn health(&self, block: SuperblockId) -> Health {
        self.worst_health(block)
    }
}
