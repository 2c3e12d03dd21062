//! The FTL's invariants, checked from outside by tests.

use wane_nand::Media;
use wane_units::{BlockState, UnitId};

use crate::engine::{Ftl, UNMAPPED};
use crate::persist::metadata_blocks;
use crate::policies::Mode;
use crate::stripes::StripeId;

impl<M: Media> Ftl<M> {
    /// Checks every invariant. For tests: it costs a pass over all units.
    ///
    /// # Errors
    /// The first invariant that does not hold, with its numbers.
    pub fn check(&self) -> Result<(), String> {
        if !self.is_whole() {
            return Err("its maps are not read to their end".to_owned());
        }
        let mut mapped = 0u64;
        for (logical, unit) in (0u32..).zip(self.map.iter().copied()) {
            if unit == UNMAPPED {
                continue;
            }
            mapped += 1;
            expect(
                false,
                (self.exported..self.logical_initial).contains(&logical),
                "mapped data in space that was given up",
            )?;
            expect(logical, self.reverse[unit as usize], "reverse map of a mapped unit")?;
            expect(true, self.is_valid(UnitId(unit)), "validity of a mapped unit")?;
        }
        let bits = |block| self.domain_of(block).index.bits(block).iter().map(|word| u64::from(word.count_ones()));
        let valid: u64 = self.layout.superblocks().flat_map(bits).sum();
        expect(mapped, valid, "mapped units and validity bits")?;
        self.check_payload()?;
        let counted: u64 = self.domains.iter().map(|domain| domain.index.valid_total()).sum();
        expect(mapped, counted, "mapped units and the sum of valid counts")?;
        let mut tally = [0u32; 4];
        for block in self.layout.superblocks() {
            let state = self.state(block);
            tally[state as usize] += 1;
            if state == BlockState::Retired {
                expect(0, self.valid(block), "valid units of a retired block")?;
            }
            expect(bits(block).sum::<u64>(), u64::from(self.valid(block)), "a block's validity bits and its count")?;
            for member in self.layout.members(block) {
                let flash = self.media.erase_count(member);
                expect(self.erase_count[block.index()], flash.0, "a block's erases and its flash's")?;
            }
        }
        let free: usize = self.domains.iter().map(|domain| domain.free.len()).sum();
        expect(free as u32, tally[BlockState::Free as usize], "the free lists and the free blocks")?;
        let closed: u32 = self.domains.iter().map(|domain| domain.index.closed_len()).sum();
        expect(closed, tally[BlockState::Closed as usize], "the victim index and the closed blocks")?;
        expect(self.retired_blocks, tally[BlockState::Retired as usize], "retired blocks")?;
        let erases = self.erases_total() - self.erases_initial;
        let caused = self.counters.erases_total();
        expect(caused, erases * u64::from(self.layout.width()), "erases by cause and by block")?;
        for logical in &self.lost {
            expect(true, self.map[*logical as usize] != UNMAPPED, "a lost unit is mapped")?;
        }
        expect(self.mode() == Mode::Degraded, self.trigger().is_some(), "a degraded drive and its trigger")?;
        self.check_stripes()?;
        self.check_persistence()?;
        self.check_free_blocks()
    }

    /// Erases of all firmware blocks, including those before this firmware was built.
    pub(crate) fn erases_total(&self) -> u64 {
        self.erase_count.iter().map(|count| u64::from(*count)).sum()
    }

    fn check_free_blocks(&self) -> Result<(), String> {
        for domain in &self.domains {
            for block in domain.free.iter() {
                expect(0, domain.index.valid(block), "valid pages of a free block")?;
            }
        }
        Ok(())
    }

    fn check_persistence(&self) -> Result<(), String> {
        let Some(persist) = &self.persist else { return Ok(()) };
        for (unit, ..) in persist.nvram.remaps.iter() {
            let (block, within) = self.layout.locate(UnitId(unit));
            expect(
                true,
                within < persist.accepted[block.index()],
                "a unit with an entry of the remap log was written",
            )?;
        }
        for block in self.layout.superblocks() {
            let is_free = self.state(block) == BlockState::Free;
            let is_empty = persist.oob.programmed(block) == 0;
            expect(false, is_free && !is_empty, "a free block with programmed pages")?;
        }
        let pages = self.layout.pages_per_superblock();
        let page_bytes = self.unit_bytes() * self.layout.units_per_page();
        let logical = u64::from(self.logical_initial);
        let most = metadata_blocks(persist.area.kind(), logical, page_bytes, pages);
        expect(false, persist.area.ring.len() as u64 > most, "more blocks of the metadata area than were set aside")
    }

    fn check_stripes(&self) -> Result<(), String> {
        let Some(stripes) = &self.stripes else { return Ok(()) };
        let (pages, live) = stripes.tally();
        let mut counted = vec![0; live.len()];
        let per_page = self.layout.units_per_page();
        for (page, stripe) in pages {
            let units = self.layout.units_of(page);
            let data = |unit: &UnitId| self.is_valid(*unit) && self.reverse[unit.index()] < self.logical_initial;
            let live = units.clone().filter(data).count() as u32;
            counted[stripe.index()] += live;
            // A page that holds data and parity may have lost the data.
            let mut units = units;
            let parity = per_page == 1 && live == 0 && units.any(|unit| self.is_valid(unit));
            expect(false, parity, "parity in a stripe of its own")?;
            expect(true, stripes.members(stripe).any(|member| member == page), "a page and its stripe's members")?;
            let die = self.layout.die_of_page(page);
            let group = |die| stripes.group_of(die);
            let is_near = |member: crate::config::PageId| group(self.layout.die_of_page(member)) == group(die);
            expect(true, stripes.members(stripe).all(is_near), "the dies of a stripe are of one group")?;
        }
        self.check_parity(&live)?;
        for (stripe, (live, counted)) in live.into_iter().zip(counted).enumerate() {
            expect(live, counted, &format!("valid units that stripe {stripe} counts and has"))?;
        }
        Ok(())
    }

    /// Checks that flash holds each stripe that protects something, since a power cut leaves only that: its pages are programmed, and its parity
    /// is either still in the controller or whole on flash and newer than its pages.
    fn check_parity(&self, live: &[u32]) -> Result<(), String> {
        let (Some(stripes), Some(persist)) = (&self.stripes, &self.persist) else { return Ok(()) };
        let is_live = |stripe: &StripeId| live[stripe.index()] > 0;
        for stripe in (0..live.len() as u32).map(StripeId).filter(is_live) {
            let mut newest = 0;
            for page in stripes.members(stripe) {
                let Some(number) = persist.oob.number(page) else {
                    return Err(format!("page {} is in stripe {} and was never programmed", page.0, stripe.0));
                };
                newest = newest.max(number);
            }
            for logical in self.parity_units(stripe).filter(|_| !stripes.is_held(stripe)) {
                let Some(unit) = self.lookup(logical) else {
                    return Err(format!("stripe {} protects data and has no parity", stripe.0));
                };
                // Parity that is being relocated lies in a buffer.
                let number = persist.oob.number(self.layout.page_of(unit)).unwrap_or(u64::MAX);
                expect(true, number > newest, "parity and the pages that it was made of, by age")?;
            }
        }
        Ok(())
    }

    fn is_valid(&self, unit: UnitId) -> bool {
        let (block, within) = self.layout.locate(unit);
        self.domain_of(block).index.is_valid(block, within)
    }
}

fn expect<T: PartialEq + std::fmt::Debug + Copy>(want: T, found: T, what: &str) -> Result<(), String> {
    if want == found { Ok(()) } else { Err(format!("{what}: {want:?} and {found:?} should be equal")) }
}
