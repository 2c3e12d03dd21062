//! Garbage collection, the erase of a block, and its retirement.

use serde::{Deserialize, Serialize};
use wane_nand::Media;
use wane_units::{SuperblockId, prefetch};

use crate::domain::{Domain, Mover};
use crate::engine::{ENTRIES_PER_LINE, EndOfLife, FAR_ENTRIES, Ftl, Outcome};
use crate::giving::DemandCause;
use crate::persist::Event;
use crate::policies::capacity::Demand;
use crate::policies::retirement::{RetireView, RetirementThreshold, Verdict};
use crate::policies::victim::GcView;
use crate::policies::{BlockEvent, EraseCause};

/// Number of victims in a row, for each closed block, that gain nothing before the domain counts as without a victim. A policy gains nothing
/// if it keeps choosing blocks without an invalid page though there are others, or if its victims free no more than padding takes.
const FRUITLESS_PER_BLOCK: u64 = 64;

/// Victims in a row that gained no room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Fruitless {
    pub(crate) victims: u64,
    /// Units of room lost since before the first of them.
    pub(crate) lost: u64,
}

impl Fruitless {
    /// Counts a victim that changed the room from `before` to `after` units. Returns whether there is now more room than before the row.
    fn note(&mut self, before: u64, after: u64) -> bool {
        let wanted = before + self.lost;
        let gained = after > wanted;
        *self = if gained { Self::default() } else { Self { victims: self.victims + 1, lost: wanted - after } };
        gained
    }
}

/// What happened to an erased block.
#[must_use]
pub(crate) enum Recycled {
    /// It is free.
    Free,
    /// It left service, which may stop the caller.
    Retired(Option<Outcome>),
}

impl Recycled {
    /// The outcome that stops the caller, if any.
    pub(crate) fn stop(self) -> Option<Outcome> {
        match self {
            Self::Free => None,
            Self::Retired(stop) => stop,
        }
    }
}

impl<M: Media> Ftl<M> {
    /// Reclaims blocks until every domain has its reserve. Needed only after an [`Outcome::Demand`].
    pub fn reclaim(&mut self) -> Outcome {
        if let Some(death) = self.dead {
            return Outcome::Dead(death);
        }
        self.begin_call();
        self.work.is_paused = false;
        for domain in 0..self.domains.len() {
            match self.reclaim_domain(domain) {
                Outcome::Done => {}
                stop => return stop,
            }
        }
        self.run_pending()
    }

    /// Continues after an [`Outcome::Paused`].
    pub fn resume(&mut self) -> Outcome {
        match self.dead {
            Some(death) => Outcome::Dead(death),
            None if self.work.is_paused => self.reclaim(),
            // The call was interrupted between two host writes.
            None => Outcome::Done,
        }
    }

    /// As [`Ftl::reclaim`], after the host has given up space: a drive that had found no space tries again.
    pub fn look_for_space(&mut self) -> Outcome {
        if matches!(self.dead, Some(EndOfLife::NoFreeBlock | EndOfLife::NoVictim)) {
            self.dead = None;
            self.giving.pressed = false;
        }
        match self.reclaim() {
            Outcome::Done if !self.rescued.is_empty() => self.rewrite_rescued(),
            outcome => outcome,
        }
    }

    /// Collects until the domain has its reserve, and then up to `gc_unforced` free blocks while victims are worth it.
    pub(crate) fn reclaim_domain(&mut self, domain: usize) -> Outcome {
        let mut fruitless = std::mem::take(&mut self.domains[domain].fruitless);
        loop {
            let free = self.domains[domain].free.len() as u32;
            let is_forced = free < self.gc_reserve;
            if !is_forced && free >= self.gc_unforced {
                break;
            }
            if let Some(stop) = self.stop_work() {
                self.domains[domain].fruitless = fruitless;
                return stop;
            }
            let victim = if self.domains[domain].index.gains() { self.choose(domain) } else { None };
            let valid = |victim| self.domains[domain].index.valid(victim);
            if !is_forced && victim.is_none_or(|victim| !self.is_worth(valid(victim))) {
                break;
            }
            let Some(victim) = victim else { return self.no_victim() };
            let valid = valid(victim);
            let in_row = fruitless.victims + u64::from(valid == self.units_per_block);
            if in_row > 0 && self.is_fruitless(domain, in_row) {
                return self.no_victim();
            }
            let room = self.domains[domain].room(self.units_per_block);
            self.prefetch_reverse(victim);
            self.domains[domain].index.open(victim);
            let next = self.prefetch_next(domain);
            match self.relocate(domain, victim, Mover::GarbageCollection) {
                Ok(()) => {}
                // The other dies go on. This one takes no more writes until a trim empties one of its blocks.
                Err(_) if self.domains.len() > 1 => return Outcome::Done,
                Err(death) => {
                    self.dead = Some(death);
                    return Outcome::Dead(death);
                }
            }
            self.counters.gc_victims += 1;
            self.counters.gc_victim_valid_units += u64::from(valid);
            if let Some(next) = next {
                self.domains[domain].index.prefetch_open(next, 1);
            }
            let recycled = self.recycle(domain, victim, EraseCause::GarbageCollection);
            let gained = match recycled {
                Recycled::Free => fruitless.note(room, self.domains[domain].room(self.units_per_block)),
                // A retirement ends the row: the data lie elsewhere, and the number of blocks that can retire is finite.
                Recycled::Retired(_) => {
                    fruitless = Fruitless::default();
                    valid < self.units_per_block
                }
            };
            self.giving.pressed &= !gained;
            let stop = match recycled {
                Recycled::Free if self.leveling => self.level(domain, Some(victim)),
                recycled => recycled.stop(),
            };
            if let Some(stop) = stop {
                return stop;
            }
        }
        // Pad once after all victims, not after each: padding each could use up the space that a nearly full victim freed.
        self.fill_page(domain, Mover::GarbageCollection);
        Outcome::Done
    }

    /// Whether a victim with `valid` valid units is collected unforced: an eighth of it or more is invalid.
    fn is_worth(&self, valid: u32) -> bool {
        8 * u64::from(self.units_per_block - valid) >= u64::from(self.units_per_block)
    }

    /// Whether collection gains nothing after `victims` fruitless victims in a row. It is so after too many of them. In addition, whenever every
    /// closed block could have been chosen, and those that were open meanwhile are closed, all of them are checked for invalid units.
    fn is_fruitless(&self, domain: usize, victims: u64) -> bool {
        debug_assert!(victims > 0, "only a row of victims is fruitless");
        let index = &self.domains[domain].index;
        let closed = index.closed_len();
        if victims > FRUITLESS_PER_BLOCK * u64::from(closed) {
            return true;
        }
        let invalid = |block| index.valid(block) < self.units_per_block;
        victims.is_multiple_of(u64::from(closed) + 2) && !index.closed_blocks().any(invalid)
    }

    /// Prefetches, while a block is copied, what the next two blocks will need. Of the block that is likely to be reclaimed next: its
    /// reverse map, its place in the index and its erase counts. Of the block that is opened next: all that it needs until it is closed.
    fn prefetch_next(&self, domain: usize) -> Option<SuperblockId> {
        let Domain { index, free, .. } = &self.domains[domain];
        if let Some(block) = free.first() {
            prefetch(&self.erase_count, block.index());
            prefetch(&self.retired, block.index());
            index.prefetch_close(block);
        }
        let next = self.domains[domain].index.likely_victim()?;
        index.prefetch_open(next, 0);
        prefetch(&self.erase_count, next.index());
        prefetch(&self.retired, next.index());
        self.media.prefetch(self.layout.member(next, 0));
        if self.map.len() < FAR_ENTRIES {
            self.prefetch_reverse(next);
        }
        Some(next)
    }

    /// Prefetches the reverse map of a block. Many prefetches at once hold up later accesses if each line is far away.
    fn prefetch_reverse(&self, block: SuperblockId) {
        let base = self.layout.unit(block, 0).index();
        for line in (base..base + (self.units_per_block as usize).min(1024)).step_by(ENTRIES_PER_LINE) {
            prefetch(&self.reverse, line);
        }
    }

    /// Handles a domain without a victim. With several dies it is skipped as long as another one has room. A drive of one domain is
    /// dead, unless it can give up capacity.
    fn no_victim(&mut self) -> Outcome {
        if self.domains.len() > 1 {
            return Outcome::Done;
        }
        if !std::mem::replace(&mut self.giving.pressed, true) {
            self.giving.cause = DemandCause::Full;
            let view = self.capacity_view(0);
            match self.capacity.demand(&view) {
                Demand::Keep | Demand::EndOfLife => {}
                demand => return Outcome::Demand(demand),
            }
        }
        self.dead = Some(EndOfLife::NoVictim);
        Outcome::Dead(EndOfLife::NoVictim)
    }

    /// The policy's victim, or greedy's if the policy's answer is not a closed block.
    fn choose(&mut self, domain: usize) -> Option<SuperblockId> {
        self.judge_mode();
        let now = self.counters.host_units_written;
        let state = &mut self.domains[domain];
        state.index.fill_window();
        let (erase_count, host_reads) = (&self.erase_count, &self.host_reads);
        let (mode, free) = (self.mode.mode, state.free.len() as u32);
        let view = GcView { index: &state.index, erase_count, host_reads, mode, free, now };
        let answer = state.victim.choose(&view)?;
        if state.has(answer) && state.index.is_closed(answer) {
            return Some(answer);
        }
        self.counters.policy_refusals += 1;
        let lowest = state.index.lowest().filter(|valid| *valid < self.units_per_block)?;
        state.index.first(lowest)
    }

    /// Erases a block without valid units, and frees it or takes it out of service.
    pub(crate) fn recycle(&mut self, domain: usize, block: SuperblockId, cause: EraseCause) -> Recycled {
        self.erase(domain, block, cause);
        if self.worn_out(block, cause) {
            return Recycled::Retired(self.retire(domain, block));
        }
        self.release(domain, block);
        Recycled::Free
    }

    /// Erases a block without valid units.
    pub(crate) fn erase(&mut self, domain: usize, block: SuperblockId, cause: EraseCause) {
        assert_eq!(self.domains[domain].index.valid(block), 0, "an erase loses no data");
        assert!(!self.domains[domain].index.is_closed(block), "a block leaves the index before it is erased");
        assert!(!self.retired[block.index()], "a retired block is never erased again");
        assert!(self.erase_count[block.index()] < u32::MAX, "a block retires at the last erase that can be counted");
        assert!(self.domains[domain].has(block), "an erase is counted by the domain of its block");
        if !self.is_whole() {
            self.load_block(block);
        }
        self.before_erase(block);
        self.note_erase(block, cause);
        let width = self.layout.width();
        for member in 0..width {
            self.order_erase(cause);
            let erases = self.media.erase(self.layout.member(block, member), cause.task());
            debug_assert_eq!(erases.0, self.erase_count[block.index()] + 1, "firmware and flash count the same erases");
        }
        if let Some(stripes) = &mut self.stripes {
            stripes.pages_erased(self.layout.page_id(block, 0), self.layout.pages_per_superblock());
        }
        self.erase_payload(block);
        self.erase_count[block.index()] += 1;
        if let Some(reads) = self.host_reads.get_mut(block.index()) {
            *reads = 0;
        }
        let state = &mut self.domains[domain];
        match cause {
            EraseCause::GarbageCollection => {
                self.counters.erases_gc += u64::from(width);
                state.gc_erases += 1;
            }
            EraseCause::WearLeveling => {
                self.counters.erases_wear_leveling += u64::from(width);
                state.wear_leveling_erases += 1;
            }
            EraseCause::Scrub => self.counters.erases_scrub += u64::from(width),
            EraseCause::Metadata => self.counters.erases_metadata += u64::from(width),
        }
        state.tell(BlockEvent::Erased(cause), block, self.erase_count[block.index()]);
        self.after_erase(block);
    }

    /// Frees an erased block. A drive that ran out of free blocks during a relocation opens it for the host at once.
    fn release(&mut self, domain: usize, block: SuperblockId) {
        assert!(!self.retired[block.index()], "a retired block does not come back");
        let state = &mut self.domains[domain];
        state.free.push(block, self.erase_count[block.index()]);
        let kept = state.free.len() as u32 + state.index.closed_len() + state.retired;
        assert!(kept <= state.blocks, "no block is free, closed or out of service twice");
        if state.host.is_none() {
            self.domains[domain].host = self.open_next(domain, self.host_stream);
        }
    }

    /// Whether a block that was just erased leaves service.
    pub(crate) fn worn_out(&self, block: SuperblockId, cause: EraseCause) -> bool {
        let members = self.layout.members(block);
        let (mut rber, mut rereads, mut failures) = (0.0f64, 0, 0);
        if M::DETAILED {
            if members.clone().any(|member| self.media.is_unusable(member)) {
                return true;
            }
            for health in members.map(|member| self.media.health(member)) {
                (rber, rereads) = (rber.max(health.fresh_rber), rereads.max(health.fresh_rereads));
            }
            failures = self.failures[block.index()];
        }
        assert!((0.0..=1.0).contains(&rber), "the raw bit error rate of an erased block is a share, found {rber}");
        let erase_count = self.erase_count[block.index()];
        if erase_count == u32::MAX {
            // One more erase could not be counted.
            return true;
        }
        let mode = self.mode.mode;
        let view = RetireView { erase_count, endurance: self.endurance, cause, rber, failures, mode };
        let needs_more = !view.serves_to_rating() && self.read_recovery.is_some_and(|most| rereads > most);
        needs_more || self.retire.verdict(&view) == Verdict::Retire
    }

    /// Changes the threshold at which blocks leave service. It holds from the next erase on; free blocks beyond it leave at once. `None`: the policy
    /// has no threshold of this kind, and nothing was done. If the drive demands capacity, answer the demand, then call [`Ftl::reclaim`].
    pub fn set_retirement_threshold(&mut self, threshold: RetirementThreshold) -> Option<Outcome> {
        if !self.retire.set_threshold(threshold) {
            return None;
        }
        Some(self.retire_worn_free_blocks())
    }

    /// Takes an erased block out of service and asks the capacity policy about it. Returns `Some` if that stops the caller.
    pub(crate) fn retire(&mut self, domain: usize, block: SuperblockId) -> Option<Outcome> {
        assert!(!self.retired[block.index()], "a block retires once");
        self.event(Event::Nvram);
        self.retired_blocks += 1;
        self.retired[block.index()] = true;
        let state = &mut self.domains[domain];
        assert!(!state.index.is_closed(block), "a victim that nobody erases any more would be chosen again and again");
        state.retired += 1;
        assert!(state.retired <= state.blocks, "a domain loses no more blocks than it has");
        state.tell(BlockEvent::Retired, block, self.erase_count[block.index()]);
        let free = state.free.len() as u32;
        self.giving.cause = self.cause_of_retirement(block);
        self.judge_mode();
        let view = self.capacity_view(free);
        let death = match self.capacity.demand(&view) {
            Demand::EndOfLife => EndOfLife::SpareExhausted,
            Demand::Keep if free == 0 && self.domains.len() == 1 => EndOfLife::NoFreeBlock,
            Demand::Keep => return None,
            demand => return Some(Outcome::Demand(demand)),
        };
        self.dead = Some(death);
        Some(Outcome::Dead(death))
    }
}
