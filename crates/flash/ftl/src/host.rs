//! The host's commands: write, read, trim.

use wane_nand::{Barrier, Media, PageRead, Purpose, ReadOutcome, Task};
use wane_units::{Lpn, SuperblockId, UnitId, prefetch, prefetch_far};

use crate::config::{Layout, UnitLocator};
use crate::counters::{Cause, CountPrograms};
use crate::domain::{Domain, Frontier};
use crate::engine::{EndOfLife, FAR_ENTRIES, Ftl, Origin, OutOfRange, Outcome, UNMAPPED};
use crate::index::{Lists, VictimIndex};
use crate::persist::Event;
use crate::policies::Mode;
use crate::redundancy::UnderWay;
use crate::stripes::Stripes;

mod turns;

pub(crate) use turns::Turn;

/// Distance, in units, at which the map entry of a write, read or trim is prefetched; half of it for the row of the block that loses a
/// unit. A write takes 4 ns, so 48 of them take 190 ns, and memory answers in 150 ns: 16 were too few.
const AHEAD: usize = 96;

/// Number of map entries that are prefetched at once, before a request comes.
const ASKED_AT_ONCE: usize = 32;

/// Number of units of a trim that are checked together.
const TRIMMED_AT_ONCE: usize = 64;

impl<M: Media> Ftl<M> {
    /// Writes logical units in order. Returns how many were written and how the call ended. If one of them is not below
    /// [`Ftl::exported`], none is written.
    pub fn write(&mut self, units: &[Lpn]) -> (usize, Outcome) {
        let (done, outcome) = self.write_for(bytemuck::cast_slice(units), Cause::Host);
        self.forget_rescued(&units[..done]);
        (done, outcome)
    }

    /// Forgets those of these written or trimmed units that have been in the controller's buffers since a recovery.
    #[inline]
    fn forget_rescued(&mut self, units: &[Lpn]) {
        if !self.rescued.is_empty() {
            self.drop_rescued(|rescued| units.contains(&rescued));
        }
    }

    /// Drops the units at these addresses from the buffers.
    pub(crate) fn drop_rescued(&mut self, is_gone: impl Fn(Lpn) -> bool) {
        let payload = &mut self.payload;
        self.rescued.retain(|rescued| {
            let is_kept = !is_gone(rescued.logical);
            if let (false, Some(payload)) = (is_kept, payload.as_mut()) {
                payload.give_up(&[rescued.payload]);
            }
            is_kept
        });
    }

    /// As [`Ftl::write`], with a tag for each unit, which the medium keeps.
    ///
    /// # Panics
    /// The numbers of tags and units differ.
    pub fn write_tagged(&mut self, units: &[Lpn], tags: &[M::Tag]) -> (usize, Outcome) {
        assert_eq!(units.len(), tags.len(), "each unit has a tag");
        self.tags_written.extend_from_slice(tags);
        let end = self.write(units);
        self.tags_written.clear();
        end
    }

    /// The tag of a logical unit's data; the default if the unit is not mapped.
    pub fn tag(&self, unit: Lpn) -> M::Tag {
        let Some(found) = self.lookup(unit) else {
            let buffered = self.rescued.iter().find(|buffered| buffered.logical == unit);
            return buffered.map(|buffered| buffered.tag).unwrap_or_default();
        };
        let (block, within) = self.layout.locate(found);
        if self.is_buffered(block, within) {
            return self.tags.get(found.index()).copied().unwrap_or_default();
        }
        let (flash, page) = self.layout.place(block, within);
        self.media.tag(flash, page, within % self.layout.units_per_page())
    }

    /// As [`Ftl::write`], counted for `origin`. `hint` is the stream that the host suggests to the placement policy.
    pub fn write_from(&mut self, origin: Origin, hint: Option<u16>, units: &[Lpn]) -> (usize, Outcome) {
        let cause = match origin {
            Origin::Host => Cause::Host,
            Origin::FileSystemMove => Cause::FileSystem,
        };
        self.hint = hint;
        let end = self.write_for(bytemuck::cast_slice(units), cause);
        self.hint = None;
        self.forget_rescued(&units[..end.0]);
        end
    }

    /// Makes a unit's data lost, as NVMe's Write Uncorrectable does: reads of it fail until it is written or trimmed. A unit
    /// that holds nothing is left alone. A host calls this when it moves data that it could not read.
    ///
    /// # Errors
    /// The unit is not exported.
    pub fn write_uncorrectable(&mut self, unit: Lpn) -> Result<(), OutOfRange> {
        self.check_range(&[unit.0])?;
        if self.entry(unit) != UNMAPPED {
            self.note_lost(unit.0, false);
            self.lost.insert(unit.0);
        }
        Ok(())
    }

    /// Refuses units that are not exported. With stripes the map continues beyond the exported units with parity.
    #[inline]
    fn check_range(&self, units: &[u32]) -> Result<(), OutOfRange> {
        // The maximum of a batch takes a few vector instructions; a branch for each page would take more.
        match units.iter().copied().max() {
            Some(unit) if unit >= self.exported => Err(OutOfRange { unit: Lpn(unit), exported: self.exported }),
            _ => Ok(()),
        }
    }

    pub(crate) fn write_for(&mut self, units: &[u32], cause: Cause) -> (usize, Outcome) {
        if let Err(refused) = self.check_range(units) {
            return (0, Outcome::OutOfRange(refused));
        }
        let mut done = 0;
        if let Some(death) = self.dead {
            return (0, Outcome::Dead(death));
        }
        if !self.is_whole() && !self.load_to_write(units) {
            return (0, Outcome::Dead(EndOfLife::NoVictim));
        }
        self.begin_call();
        if self.stream_count > 1
            && let Some(stop) = self.place_request(units, cause)
        {
            return (0, stop);
        }
        while done < units.len() {
            if self.call_is_over() {
                return (done, Outcome::Paused);
            }
            if !M::DETAILED && self.domains.len() > 1 {
                done += self.write_across(units, done, cause);
                if done == units.len() {
                    break;
                }
            }
            let Some(domain) = self.next_domain() else {
                let full = self.domains.iter().any(|domain| domain.host.is_none());
                let death = if full { EndOfLife::NoFreeBlock } else { EndOfLife::NoVictim };
                self.dead = Some(death);
                return (done, Outcome::Dead(death));
            };
            let mut one_write = false;
            if self.leveling && self.domains[domain].leveling_due {
                one_write = true;
                if let Some(stop) = self.level_before_write(domain) {
                    return (done, stop);
                }
            }
            let Some(frontier) = self.domains[domain].host else {
                self.dead = Some(EndOfLife::NoFreeBlock);
                return (done, Outcome::Dead(EndOfLife::NoFreeBlock));
            };
            let room = (self.units_per_block - frontier.next) as usize;
            let run_max = if one_write { 1 } else { self.run_max(frontier) };
            let run = room.min(units.len() - done).min(run_max);
            debug_assert!(run > 0, "a turn writes a unit at least, so that the loop ends");
            if !self.lost.is_empty() {
                self.forget_loss(&units[done..done + run]);
            }
            self.write_run(domain, frontier, units, done, run, cause);
            done += run;
            let page_is_full = (frontier.next + run as u32).is_multiple_of(self.layout.units_per_page());
            if !page_is_full {
                self.turn = domain as u32;
            }
            if run == room {
                match self.next_host_block(domain) {
                    Outcome::Done => {}
                    stop => return (done, stop),
                }
            }
            // Only a programmed page can make anything due, so it does not matter how the host splits its requests.
            if (M::DETAILED || self.stripes.is_some()) && (page_is_full || one_write) {
                match self.run_pending() {
                    Outcome::Done => {}
                    stop => return (done, stop),
                }
            }
        }
        (done, Outcome::Done)
    }

    /// Marks units that the host has written or trimmed as no longer lost.
    #[cold]
    fn forget_loss(&mut self, units: &[u32]) {
        for unit in units {
            self.lost.remove(unit);
        }
    }

    /// Asks the leveler before a host write, and reclaims what its moves used up.
    fn level_before_write(&mut self, domain: usize) -> Option<Outcome> {
        let stop = self.level(domain, None);
        if stop.is_some() || self.domains[domain].free.len() as u32 >= self.gc_reserve {
            return stop;
        }
        match self.reclaim_domain(domain) {
            Outcome::Done => None,
            stop => Some(stop),
        }
    }

    /// Does what is due after pages were programmed: writes parity of full stripes, and empties blocks whose program failed.
    pub(crate) fn run_pending(&mut self) -> Outcome {
        match self.write_pending_parity() {
            Outcome::Done if M::DETAILED => self.drain_failed_blocks(),
            outcome => outcome,
        }
    }

    /// Most units that go to one frontier in a row. With several dies or stripes, or if pages may fail, this is the rest of its
    /// page.
    fn run_max(&self, frontier: Frontier) -> usize {
        if self.domains.len() == 1 && self.stripes.is_none() && !M::DETAILED {
            usize::MAX
        } else {
            ((self.layout.page_in_block(frontier.next) + 1) * self.layout.units_per_page() - frontier.next) as usize
        }
    }

    /// The domain that takes the next host page. Dies without room are skipped; `None` if no die has room.
    fn next_domain(&mut self) -> Option<usize> {
        if self.domains.len() == 1 {
            return Some(0);
        }
        for _ in 0..self.domains.len() {
            let turn = self.turn as usize;
            self.turn = if turn + 1 == self.domains.len() { 0 } else { self.turn + 1 };
            if self.has_room(turn) {
                return Some(turn);
            }
        }
        None
    }

    /// Whether a domain takes host pages. One that garbage collection cannot refill takes them only while a block beyond its reserve is free.
    fn has_room(&self, domain: usize) -> bool {
        let domain = &self.domains[domain];
        domain.host.is_some() && (domain.free.len() as u32 >= self.gc_reserve || domain.index.reclaimable())
    }

    /// Writes `run` units that fit the frontier.
    fn write_run(&mut self, domain: usize, frontier: Frontier, units: &[u32], done: usize, run: usize, cause: Cause) {
        debug_assert!(frontier.next as usize + run <= self.units_per_block as usize, "the run fits its block");
        debug_assert!(!self.retired[frontier.block.index()], "nothing is written to a retired block");
        let base = self.layout.unit(frontier.block, frontier.next).0;
        let Domain { index, host, .. } = &mut self.domains[domain];
        *host = Some(Frontier { next: frontier.next + run as u32, ..frontier });
        index.add_valid(frontier.block, frontier.next, run as u32);
        self.reverse[base as usize..][..run].copy_from_slice(&units[done..done + run]);
        if self.stripes.is_some() {
            self.overwrite_striped(units, done, run, base);
        } else if self.domains.len() == 1 {
            self.overwrite_in_one_domain(units, done, run, base);
        } else {
            let mut replaced = InDomains { domains: &mut self.domains, layout: &self.layout, locator: self.locator };
            overwrite(&mut self.map, units, done, run, base, &mut replaced, prefetch);
        }
        self.tag_written(base, done, run);
        self.place_payload(base, done, run);
        self.program(frontier.block, frontier.next, run as u32, Task::Host);
        self.counters.programmed(cause, run as u64);
        if cause == Cause::Host {
            self.counters.host_units_written += run as u64;
        }
    }

    /// As [`overwrite`] on a drive of one domain.
    #[inline(always)]
    fn overwrite_in_one_domain(&mut self, units: &[u32], done: usize, run: usize, base: u32) {
        let (index, locator) = (&mut self.domains[0].index, self.locator);
        if let Some(lists) = index.lists() {
            let mut replaced = InLists { lists, locator };
            if self.map.len() >= FAR_ENTRIES {
                overwrite_far(&mut self.map, units, done, run, base, &mut replaced);
            } else {
                overwrite(&mut self.map, units, done, run, base, &mut replaced, prefetch);
            }
            replaced.lists.finish();
        } else {
            let mut replaced = InKeys { index, locator };
            overwrite(&mut self.map, units, done, run, base, &mut replaced, prefetch);
        }
    }

    /// As [`overwrite`], for replaced units that may leave a stripe. Out of line, so that drives without stripes do not carry it.
    #[inline(never)]
    fn overwrite_striped(&mut self, units: &[u32], done: usize, run: usize, base: u32) {
        let Some(stripes) = &mut self.stripes else { return };
        let domains = InDomains { domains: &mut self.domains, layout: &self.layout, locator: self.locator };
        let mut replaced = InStripes { domains, stripes };
        overwrite(&mut self.map, units, done, run, base, &mut replaced, prefetch);
    }

    /// Closes the full host frontier, opens the next one and reclaims.
    pub(crate) fn next_host_block(&mut self, domain: usize) -> Outcome {
        let now = self.counters.host_units_written;
        let state = &mut self.domains[domain];
        let full = state.host.take().expect("the frontier that was just filled");
        debug_assert_eq!(
            full.next, self.units_per_block,
            "units that are not written yet would be lost with their block"
        );
        state.close(full.block, now, self.erase_count[full.block.index()]);
        self.judge_mode();
        self.domains[domain].host = self.open_next(domain, self.host_stream);
        match self.reclaim_domain(domain) {
            Outcome::Done if self.domains.len() == 1 && self.domains[0].host.is_none() => {
                self.dead = Some(EndOfLife::NoFreeBlock);
                Outcome::Dead(EndOfLife::NoFreeBlock)
            }
            Outcome::Done => self.keep(),
            outcome => outcome,
        }
    }

    /// Prefetches the map entries of logical units that will soon be read or written.
    pub fn prefetch(&self, units: &[Lpn]) {
        for unit in units.iter().take(ASKED_AT_ONCE) {
            prefetch(&self.map, unit.index());
        }
    }

    /// Reads logical units. Units that hold nothing touch no flash.
    ///
    /// # Errors
    /// One of them is not exported; nothing is read.
    pub fn read(&mut self, units: &[Lpn]) -> Result<(), OutOfRange> {
        let units: &[u32] = bytemuck::cast_slice(units);
        self.unread.clear();
        self.check_range(units)?;
        self.counters.host_units_read += units.len() as u64;
        self.read_units(units);
        Ok(())
    }

    /// Reads units that the host will write only in part, so that they can be written whole. A unit that holds nothing
    /// touches no flash.
    ///
    /// # Errors
    /// One of them is not exported; nothing is read.
    pub fn read_to_modify(&mut self, units: &[Lpn]) -> Result<(), OutOfRange> {
        let units: &[u32] = bytemuck::cast_slice(units);
        self.unread.clear();
        self.check_range(units)?;
        let unmapped = self.counters.host_units_read_unmapped;
        self.read_units(units);
        let empty = self.counters.host_units_read_unmapped - unmapped;
        self.counters.units_read_to_modify += units.len() as u64 - empty;
        // The host asked for none of them.
        self.counters.host_units_read_unmapped = unmapped;
        Ok(())
    }

    fn read_units(&mut self, units: &[u32]) {
        if !self.is_whole() && !self.load_to_read(units) {
            return;
        }
        let mut position = 0;
        while position < units.len() {
            if let Some(ahead) = units.get(position + AHEAD) {
                prefetch(&self.map, *ahead as usize);
            }
            let first = position;
            let unit = self.map[units[position] as usize];
            position += 1;
            if unit == UNMAPPED {
                self.read_unmapped_unit(units[first]);
                continue;
            }
            let unit = UnitId(unit);
            let (block, within) = self.locator.locate(unit);
            if self.is_buffered(block, within) {
                let bytes = self.unit_bytes();
                self.media.read_buffered(bytes, Task::Host);
                self.count_reads(block, 1);
                self.note_unread(&units[first..position], false);
                continue;
            }
            let more = if M::DETAILED { self.neighbors(unit, &units[position..]) } else { 0 };
            position += more;
            self.count_reads(block, 1 + more as u32);
            let (flash, page) = self.layout.place(block, within);
            let bytes = (1 + more as u32) * self.unit_bytes();
            let (task, purpose) = (Task::Host, Purpose::Serve);
            // The lower limit if there are two.
            let rereads_max = self.rereads_max(unit).into_iter().chain(self.read_recovery).min();
            let outcome = self.media.read(PageRead { block: flash, page, bytes, task, purpose, rereads_max });
            if let ReadOutcome::Corrected { rereads } = outcome
                && self.stripes.as_ref().is_some_and(|stripes| stripes.reads_around)
            {
                self.offer_instead(unit, bytes, rereads);
            }
            // A unit whose relocated data were lost cannot be rebuilt: parity protects the data as programmed. Any other page
            // that cannot be corrected is rebuilt from its stripe.
            let is_gone = !self.any_lost(&units[first..position])
                && outcome == ReadOutcome::Uncorrectable
                && !self.reconstruct(&[unit], task, &UnderWay::default());
            self.note_unread(&units[first..position], is_gone);
            self.touch(block);
        }
    }

    /// Reads a unit that no page holds.
    fn read_unmapped_unit(&mut self, logical: u32) {
        match self.rescued.iter().find(|rescued| rescued.logical.0 == logical) {
            None => self.counters.host_units_read_unmapped += 1,
            Some(rescued) => {
                let (is_lost, bytes) = (rescued.is_lost, self.unit_bytes());
                self.media.read_buffered(bytes, Task::Host);
                self.note_unread(&[logical], is_lost);
            }
        }
    }

    /// Limits the re-reads of each host read, as NVMe's read recovery level does; `None`: as many as error correction allows. On flash with errors,
    /// blocks whose data are expected to need more just after a program leave service at their next erase, and free ones at once; blocks of a
    /// degraded drive serve up to the rated endurance. If the drive demands capacity, answer the demand, then call [`Ftl::reclaim`].
    pub fn set_read_recovery(&mut self, rereads_max: Option<u32>) -> Outcome {
        self.read_recovery = rereads_max;
        if M::DETAILED && rereads_max.is_some() { self.retire_worn_free_blocks() } else { Outcome::Done }
    }

    /// Most re-reads of a host read; `None`: as many as error correction allows.
    pub fn read_recovery(&self) -> Option<u32> {
        self.read_recovery
    }

    /// Counts units that the host read from a block, if a policy needs them.
    #[inline]
    fn count_reads(&mut self, block: SuperblockId, units: u32) {
        if let Some(reads) = self.host_reads.get_mut(block.index()) {
            *reads = reads.saturating_add(units);
        }
    }

    /// Counts a failed read of units of one page: all of them if `is_gone`, otherwise those that were lost before.
    #[inline]
    fn note_unread(&mut self, units: &[u32], is_gone: bool) {
        debug_assert!(!units.is_empty(), "a read that failed was one of a unit");
        if is_gone {
            self.unread.extend_from_slice(units);
        } else if self.any_lost(units) {
            let lost = units.iter().filter(|unit| self.lost.contains(unit));
            self.unread.extend(lost);
        } else {
            return;
        }
        self.counters.host_reads_uncorrectable += 1;
    }

    /// The units that the last [`Ftl::read`] could not return, in its order.
    pub fn unread(&self) -> &[Lpn] {
        Lpn::slice(&self.unread)
    }

    #[inline]
    fn any_lost(&self, units: &[u32]) -> bool {
        !self.lost.is_empty() && units.iter().any(|unit| self.lost.contains(unit))
    }

    /// How many of the next logical units lie in the same flash page as `unit`.
    fn neighbors(&self, unit: UnitId, next: &[u32]) -> usize {
        let page = self.layout.page_of(unit);
        let beside = |logical: &&u32| {
            let other = self.map[**logical as usize];
            other != UNMAPPED && self.layout.page_of(UnitId(other)) == page
        };
        if self.layout.units_per_page() == 1 { 0 } else { next.iter().take_while(beside).count() }
    }

    /// Whether a unit still waits in the controller for the rest of its page.
    #[inline(always)]
    pub(crate) fn is_buffered(&self, block: SuperblockId, within: u32) -> bool {
        self.layout.units_per_page() > 1 && self.is_in_an_open_page(block, within)
    }

    fn is_in_an_open_page(&self, block: SuperblockId, within: u32) -> bool {
        let page = |within| self.layout.page_in_block(within);
        let domain = self.domain_of(block);
        domain.open().any(|frontier| frontier.block == block && page(within) >= page(frontier.next))
    }

    /// Forgets logical units. Unmapped ones are left alone.
    ///
    /// # Errors
    /// One of them is not exported; nothing is forgotten.
    pub fn trim(&mut self, units: &[Lpn]) -> Result<(), OutOfRange> {
        let units: &[u32] = bytemuck::cast_slice(units);
        self.check_range(units)?;
        if !self.is_whole() && !self.load_to_write(units) {
            return Ok(());
        }
        if !self.lost.is_empty() {
            self.forget_loss(units);
        }
        self.forget_rescued(Lpn::slice(units));
        for (number, some) in units.chunks(TRIMMED_AT_ONCE).enumerate() {
            if self.is_unmapped_run(some) {
                continue;
            }
            let start = number * TRIMMED_AT_ONCE;
            for (position, unit) in (start..).zip(some) {
                if let Some(ahead) = units.get(position + AHEAD) {
                    prefetch(&self.map, *ahead as usize);
                }
                self.trim_unit(*unit);
            }
            self.keep_what_was_given_up();
        }
        self.gave_up();
        Ok(())
    }

    /// Acts on data that the host has given up: parity of empty stripes is dropped, and a degraded drive may recover.
    pub(crate) fn gave_up(&mut self) {
        self.drop_emptied();
        self.mode.has_freed = true;
        if self.mode.mode == Mode::Degraded {
            self.judge_mode();
        }
        self.keep_what_was_given_up();
    }

    /// Whether these units are consecutive and none is mapped. A host that discards a whole drive names millions of them. Both
    /// tests are vector instructions, unlike the loop over single units.
    fn is_unmapped_run(&self, pages: &[u32]) -> bool {
        let first = pages.first().copied().unwrap_or(0);
        let in_a_row =
            (0..).zip(pages).fold(true, |so_far, (number, page)| so_far & (page.wrapping_sub(number) == first));
        let entries = || &self.map[first as usize..first as usize + pages.len()];
        in_a_row && entries().iter().fold(true, |so_far, unit| so_far & (*unit == UNMAPPED))
    }

    fn trim_unit(&mut self, logical: u32) {
        if self.unmap(logical) {
            self.counters.host_units_trimmed += 1;
            self.note_trimmed(logical..logical + 1, false);
        }
    }

    /// Unmaps a unit. Returns whether it was mapped.
    pub(crate) fn unmap(&mut self, logical: u32) -> bool {
        let unit = std::mem::replace(&mut self.map[logical as usize], UNMAPPED);
        if unit == UNMAPPED {
            return false;
        }
        let (block, within) = self.locator.locate(UnitId(unit));
        self.domains[self.layout.domain(block)].index.invalidate(block, within);
        if let Some(stripes) = &mut self.stripes {
            stripes.unit_gone(self.layout.page_of(UnitId(unit)));
        }
        true
    }

    /// Lowers the exported capacity. The caller has trimmed every unit at or above it.
    pub fn shrink_to(&mut self, exported: u32) {
        assert!(exported <= self.exported, "a drive shrinks, it never grows back");
        let mut given_up = self.map[exported as usize..self.exported as usize].iter();
        debug_assert!(
            !self.map.is_whole() || given_up.all(|unit| *unit == UNMAPPED),
            "what is given up was trimmed, or it would take space for ever"
        );
        self.event(Event::Nvram);
        self.exported = exported;
    }

    /// Notes the tags of units that the host writes from `base` on.
    #[inline(always)]
    fn tag_written(&mut self, base: u32, done: usize, run: usize) {
        if size_of::<M::Tag>() > 0 {
            let tags = &mut self.tags[base as usize..][..run];
            match self.tags_written.get(done..done + run) {
                Some(written) => tags.copy_from_slice(written),
                None => tags.fill(M::Tag::default()),
            }
        }
    }

    /// Programs the pages that a run of units fills, and adds them to stripes.
    pub(crate) fn program(&mut self, block: SuperblockId, first_unit: u32, units: u32, task: Task) {
        self.program_pages(block, first_unit, units, task);
        if self.stripes.is_some() {
            let page = |within| self.layout.page_in_block(within);
            self.join_stripes(block, page(first_unit)..page(first_unit + units), task);
        }
    }

    /// Range of the tags of a block's pages; empty if the medium keeps none.
    #[inline(always)]
    fn tags_of(&self, block: SuperblockId, pages: std::ops::Range<u32>) -> std::ops::Range<usize> {
        if size_of::<M::Tag>() == 0 {
            return 0..0;
        }
        let first = |page| self.layout.first_unit(self.layout.page_id(block, page)).index();
        first(pages.start)..first(pages.end)
    }

    pub(crate) fn program_pages(&mut self, block: SuperblockId, first_unit: u32, units: u32, task: Task) {
        let page = |within| self.layout.page_in_block(within);
        let (from, to) = (page(first_unit), page(first_unit + units));
        debug_assert!(to <= self.layout.pages_per_superblock(), "a block is programmed up to its last page");
        self.counters.program_operations += u64::from(to - from);
        if self.persist.is_some() {
            self.program_stamped(block, from..to, first_unit + units, task);
        } else {
            self.program_media(block, from..to, task);
        }
    }

    /// Lets the medium program pages of a block.
    #[inline(always)]
    pub(crate) fn program_media(&mut self, block: SuperblockId, pages: std::ops::Range<u32>, task: Task) {
        let width = self.layout.width();
        if width == 1 {
            let member = self.layout.member(block, 0);
            let tags = self.tags.get(self.tags_of(block, pages.clone())).unwrap_or_default();
            self.media.program(member, pages.start, pages.end - pages.start, task, tags);
            return;
        }
        for page in pages {
            if page < width && self.persist.is_some() {
                // All members are erased before one is programmed. Otherwise power may fail while one member is erased and another programmed.
                self.media.barrier(Barrier::Erases);
            }
            let tags = self.tags.get(self.tags_of(block, page..page + 1)).unwrap_or_default();
            self.media.program(self.layout.member(block, page % width), page / width, 1, task, tags);
        }
    }
}

/// Receiver of the units that writes replace.
trait Replaced {
    /// Prefetches for a unit that will be replaced [`AHEAD`] / 2 writes from now. `position` counts the writes.
    fn prefetch(&mut self, position: usize, unit: u32);

    /// Makes a replaced unit invalid.
    fn invalidate(&mut self, unit: u32);
}

/// The replaced units of a drive of one domain that keeps its blocks in lists.
struct InLists<'a> {
    lists: Lists<'a>,
    locator: UnitLocator,
}

impl Replaced for InLists<'_> {
    #[inline(always)]
    fn prefetch(&mut self, _position: usize, unit: u32) {
        let (block, within) = self.locator.locate(UnitId(unit));
        self.lists.prefetch(block, within);
    }

    #[inline(always)]
    fn invalidate(&mut self, unit: u32) {
        let (block, within) = self.locator.locate(UnitId(unit));
        self.lists.invalidate(block, within);
    }
}

/// The replaced units of a drive of one domain that does not keep its blocks in lists.
struct InKeys<'a> {
    index: &'a mut VictimIndex,
    locator: UnitLocator,
}

impl Replaced for InKeys<'_> {
    #[inline(always)]
    fn prefetch(&mut self, _position: usize, unit: u32) {
        let (block, within) = self.locator.locate(UnitId(unit));
        self.index.prefetch_unit(block, within);
    }

    #[inline(always)]
    fn invalidate(&mut self, unit: u32) {
        let (block, within) = self.locator.locate(UnitId(unit));
        self.index.invalidate(block, within);
    }
}

/// The replaced units of a drive of several domains.
struct InDomains<'a> {
    domains: &'a mut [Domain],
    layout: &'a Layout,
    locator: UnitLocator,
}

impl Replaced for InDomains<'_> {
    #[inline(always)]
    fn prefetch(&mut self, _position: usize, unit: u32) {
        let (block, within) = self.locator.locate(UnitId(unit));
        self.domains[self.layout.domain(block)].index.prefetch_unit(block, within);
    }

    #[inline(always)]
    fn invalidate(&mut self, unit: u32) {
        let (block, within) = self.locator.locate(UnitId(unit));
        self.domains[self.layout.domain(block)].index.invalidate(block, within);
    }
}

/// The replaced units of a drive with stripes.
struct InStripes<'a> {
    domains: InDomains<'a>,
    stripes: &'a mut Stripes,
}

impl Replaced for InStripes<'_> {
    #[inline(always)]
    fn prefetch(&mut self, position: usize, unit: u32) {
        self.domains.prefetch(position, unit);
        self.stripes.prefetch_unit(position, self.domains.layout.page_of(UnitId(unit)));
    }

    #[inline(always)]
    fn invalidate(&mut self, unit: u32) {
        self.domains.invalidate(unit);
        self.stripes.unit_gone(self.domains.layout.page_of(UnitId(unit)));
    }
}

/// Points `run` map entries from `units[done]` on to `base..` and invalidates what they replace. Entries are prefetched well
/// ahead, even beyond the end of the run, since the next run follows at once.
#[inline(always)]
fn overwrite(
    map: &mut [u32],
    units: &[u32],
    done: usize,
    run: usize,
    base: u32,
    replaced: &mut impl Replaced,
    ask: impl Fn(&[u32], usize),
) {
    let steady = units.len().saturating_sub(done + AHEAD).min(run);
    if steady > 0 {
        let windows = units[done..done + steady + AHEAD].windows(AHEAD + 1);
        for ((window, unit), position) in windows.zip(base..).zip(done..) {
            ask(map, window[AHEAD] as usize);
            announce(map, window[AHEAD / 2], position, replaced);
            replace(map, window[0], unit, replaced);
        }
    }
    // The end of the batch: nothing is prefetched beyond it.
    for (position, unit) in (done + steady..done + run).zip(base + steady as u32..) {
        if let Some(near) = units.get(position + AHEAD / 2) {
            announce(map, *near, position, replaced);
        }
        replace(map, units[position], unit, replaced);
    }
}

/// As [`overwrite`], on a map that no cache holds. Out of line, so that small drives do not carry it. Drives of several domains and
/// those without lists prefetch in one step.
#[inline(never)]
fn overwrite_far(map: &mut [u32], units: &[u32], done: usize, run: usize, base: u32, replaced: &mut InLists<'_>) {
    overwrite(map, units, done, run, base, replaced, prefetch_far);
}

/// Prefetches what replacing a logical unit's data will touch.
#[inline(always)]
fn announce(map: &[u32], logical: u32, position: usize, replaced: &mut impl Replaced) {
    let old = map[logical as usize];
    if old != UNMAPPED {
        replaced.prefetch(position, old);
    }
}

#[inline(always)]
fn replace(map: &mut [u32], logical: u32, unit: u32, replaced: &mut impl Replaced) {
    let old = std::mem::replace(&mut map[logical as usize], unit);
    debug_assert_ne!(old, unit, "a unit is written to another place than the one that it has");
    if old != UNMAPPED {
        replaced.invalidate(old);
    }
}
