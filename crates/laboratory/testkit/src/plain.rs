//! A plain, slow flash drive with page mapping, as a reference for the engine. It is written from the algorithm specification and
//! uses nothing of `ftl`.
//!
//! It scans all blocks for each victim and each wear-leveling decision, keeps each block's pages as a list, and takes exact
//! minima. It knows one erase unit (the block), one frontier for host and relocated pages, a first-in-first-out queue of free
//! blocks, and no time. Its dice are its own too, so that a fault in the engine's generators would show.
//! Sources: the released FTLSim and the dissertation (000) ch. 3 and 4, as the specification reads them; the study of the
//! mean-field model (003) for choices among drawn blocks.

mod dice;
mod levelers;
mod traffic;
mod victims;

pub use dice::Dice;
pub use levelers::Leveler;
pub use traffic::HotCold;
pub use victims::{Tie, Victim};

use std::collections::VecDeque;

/// No page, or no place.
const NONE: usize = usize::MAX;

/// Parameters of a drive.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Blocks that the host sees.
    pub logical_blocks: usize,
    /// Pages of a block.
    pub pages: usize,
    /// Physical blocks without the reserve.
    pub rated_blocks: usize,
    /// Free blocks that garbage collection restores after each host write.
    pub reserve: usize,
    /// Rated erases of a block: the scale of progressive wear leveling.
    pub endurance: u32,
    /// Whether a block leaves service when it reaches its endurance.
    pub retires: bool,
    /// The garbage collector's choice.
    pub victim: Victim,
    /// The wear leveler; inactive until [`Drive::start_counting`].
    pub leveler: Leveler,
    /// Seed of the drive's own dice, which draw victims and pools.
    pub seed: u64,
}

impl Setup {
    /// Parameters of a greedy drive without wear leveling that never retires a block and has a reserve of 7. It has
    /// `logical_blocks` / (1 - spare) physical blocks, rounded down, plus the reserve.
    pub fn new(logical_blocks: usize, pages: usize, spare_percent: usize) -> Self {
        Self {
            logical_blocks,
            pages,
            rated_blocks: logical_blocks * 100 / (100 - spare_percent),
            reserve: 7,
            endurance: 500,
            retires: false,
            victim: Victim::Greedy(Tie::Oldest),
            leveler: Leveler::None,
            seed: 1,
        }
    }

    /// Pages that the host sees.
    pub const fn logical_pages(&self) -> usize {
        self.logical_blocks * self.pages
    }
}

/// Why a drive takes no more writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Death {
    /// As many blocks have left service as there were spare ones.
    SpareUsedUp,
    /// No free block is left.
    NoFreeBlock,
    /// No closed block holds an invalid page.
    NoVictim,
}

/// Counts since [`Drive::start_counting`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Pages that the host wrote.
    pub host: u64,
    /// Pages that garbage collection moved.
    pub collected: u64,
    /// Pages that wear leveling moved.
    pub leveled: u64,
    /// Erases by garbage collection.
    pub erases_collecting: u64,
    /// Erases by wear leveling.
    pub erases_leveling: u64,
}

impl Counts {
    /// (host + garbage collection) / host.
    pub fn amplification(&self) -> f64 {
        (self.host + self.collected) as f64 / self.host as f64
    }

    /// Wear leveling / host.
    pub fn leveling(&self) -> f64 {
        self.leveled as f64 / self.host as f64
    }
}

/// What a block is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    Free,
    Frontier,
    /// Full, and in none of the other uses.
    Closed,
    Retired,
    /// A victim while its pages are moved.
    Emptied,
}

#[derive(Clone, Debug)]
struct Block {
    used: Use,
    erases: u32,
    valid: usize,
    /// Logical page in each page; `NONE` if it is invalid or unwritten.
    pages: Vec<usize>,
    /// Pages programmed since the last erase.
    written: usize,
    /// When it reached its valid count among closed blocks.
    entered: u64,
    /// When it closed.
    closed: u64,
    /// Whether it is in the window of windowed greedy.
    in_window: bool,
    /// Number of host writes when a page of it was last programmed.
    written_at: u64,
    /// Number of erases of the drive when wear leveling last moved data into it.
    leveled_at: u64,
    /// Erases since it changed pools in dual pool.
    effective: u32,
    /// Whether it belongs to dual pool's hot pool.
    hot: bool,
}

/// The drive.
#[derive(Clone, Debug)]
pub struct Drive {
    setup: Setup,
    blocks: Vec<Block>,
    /// Where each logical page lies: block and page.
    map: Vec<(usize, usize)>,
    free: VecDeque<usize>,
    frontier: usize,
    counts: Counts,
    /// Erases by garbage collection in the whole life.
    erase_total: u64,
    /// Host writes in the whole life.
    clock: u64,
    /// Counter that orders closings and entries.
    moment: u64,
    leveling: bool,
    /// Whether anything that dual pool looks at has changed since its last look.
    unsettled: bool,
    dice: Dice,
    death: Option<Death>,
}

impl Drive {
    /// Makes a new drive. Block 0 is written first; the others are free in their order.
    pub fn new(setup: Setup) -> Self {
        assert!(setup.logical_blocks < setup.rated_blocks, "a drive has spare blocks, or nothing could be collected");
        let mut dice = Dice::new(setup.seed);
        let blocks = setup.rated_blocks + setup.reserve;
        let block = |hot| Block {
            used: Use::Free,
            erases: 0,
            valid: 0,
            pages: vec![NONE; setup.pages],
            written: 0,
            entered: 0,
            closed: 0,
            in_window: false,
            written_at: 0,
            leveled_at: 0,
            effective: 0,
            hot,
        };
        let mut blocks: Vec<Block> = (0..blocks).map(|_| block(dice.below(2) == 0)).collect();
        blocks[0].used = Use::Frontier;
        Self {
            map: vec![(NONE, NONE); setup.logical_pages()],
            free: (1..blocks.len()).collect(),
            blocks,
            frontier: 0,
            counts: Counts::default(),
            erase_total: 0,
            clock: 0,
            moment: 0,
            leveling: false,
            unsettled: true,
            dice,
            death: None,
            setup,
        }
    }

    /// Fills the logical pages once in order, then writes `random_drive_writes` drive writes uniformly at random, and starts
    /// counting.
    ///
    /// # Errors
    /// The drive died.
    pub fn precondition(&mut self, random_drive_writes: u64, dice: &mut Dice) -> Result<(), Death> {
        let pages = self.setup.logical_pages();
        (0..pages).try_for_each(|page| self.write(page))?;
        (0..random_drive_writes * pages as u64).try_for_each(|_| self.write(dice.below(pages as u64) as usize))?;
        self.start_counting();
        Ok(())
    }

    /// Starts counting and wear leveling. Erase counts and data stay.
    pub fn start_counting(&mut self) {
        self.counts = Counts::default();
        self.leveling = true;
    }

    /// Writes a logical page for the host.
    ///
    /// # Errors
    /// The drive is dead, or died of this write.
    pub fn write(&mut self, page: usize) -> Result<(), Death> {
        if let Some(death) = self.death {
            return Err(death);
        }
        let done = self.serve(page);
        self.death = done.err();
        done
    }

    fn serve(&mut self, page: usize) -> Result<(), Death> {
        self.counts.host += 1;
        self.clock += 1;
        self.program(page)?;
        while self.free.len() < self.setup.reserve {
            self.collect()?;
        }
        if self.leveling {
            self.level_after_write()?;
        }
        Ok(())
    }

    /// The counts.
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    /// Erases of each block, in order of block id.
    pub fn erases(&self) -> Vec<u32> {
        self.blocks.iter().map(|block| block.erases).collect()
    }

    /// Valid pages of each block, in order of block id.
    pub fn valid(&self) -> Vec<usize> {
        self.blocks.iter().map(|block| block.valid).collect()
    }

    /// Blocks out of service.
    pub fn retired(&self) -> usize {
        self.blocks.iter().filter(|block| block.used == Use::Retired).count()
    }

    /// Closed blocks.
    fn closed(&self) -> impl Iterator<Item = usize> {
        (0..self.blocks.len()).filter(|id| self.blocks[*id].used == Use::Closed)
    }

    fn program(&mut self, page: usize) -> Result<(), Death> {
        if self.frontier == NONE {
            return Err(Death::NoFreeBlock);
        }
        self.invalidate(page);
        let id = self.frontier;
        let block = &mut self.blocks[id];
        assert_eq!(block.used, Use::Frontier, "data go to the frontier");
        assert_eq!(block.pages[block.written], NONE, "a page is programmed once between two erases");
        block.pages[block.written] = page;
        self.map[page] = (id, block.written);
        block.written += 1;
        block.valid += 1;
        block.written_at = self.clock;
        if block.written == self.setup.pages {
            self.close(id);
            self.frontier = self.take_free().unwrap_or(NONE);
            if self.frontier != NONE {
                self.blocks[self.frontier].used = Use::Frontier;
            }
        }
        Ok(())
    }

    fn invalidate(&mut self, page: usize) {
        let (id, place) = self.map[page];
        if id == NONE {
            return;
        }
        assert_eq!(self.blocks[id].pages[place], page, "the map leads to the page that it replaces");
        self.blocks[id].pages[place] = NONE;
        self.blocks[id].valid -= 1;
        if self.blocks[id].used == Use::Closed {
            self.blocks[id].entered = self.next_moment();
        }
    }

    fn next_moment(&mut self) -> u64 {
        self.moment += 1;
        self.moment
    }

    fn take_free(&mut self) -> Option<usize> {
        self.free.pop_front()
    }

    /// Closes a full block: from now on garbage collection may choose it.
    fn close(&mut self, id: usize) {
        let moment = self.next_moment();
        let block = &mut self.blocks[id];
        assert_eq!(block.written, block.pages.len(), "a block that closes is full");
        (block.used, block.entered, block.closed) = (Use::Closed, moment, moment);
        block.in_window = false;
        self.unsettled = true;
    }

    fn collect(&mut self) -> Result<(), Death> {
        let victim = self.choose().ok_or(Death::NoVictim)?;
        self.blocks[victim].used = Use::Emptied;
        for place in 0..self.setup.pages {
            let page = self.blocks[victim].pages[place];
            if page != NONE {
                self.program(page)?;
                self.counts.collected += 1;
            }
        }
        self.counts.erases_collecting += 1;
        self.erase_total += 1;
        let stays = self.erase(victim)?;
        self.blocks[victim].effective += 1;
        if stays && self.leveling {
            self.level_after_erase(victim)?;
        }
        Ok(())
    }

    /// Erases an empty block and puts it at the end of the free queue, or out of service. Returns whether it stays in service.
    fn erase(&mut self, id: usize) -> Result<bool, Death> {
        let endurance = self.setup.endurance;
        let block = &mut self.blocks[id];
        assert_eq!(block.valid, 0, "an erased block holds no data");
        assert_eq!(block.used, Use::Emptied, "a block is emptied before it is erased");
        block.pages.fill(NONE);
        block.written = 0;
        block.erases += 1;
        self.unsettled = true;
        if !self.setup.retires || self.blocks[id].erases < endurance {
            self.blocks[id].used = Use::Free;
            self.free.push_back(id);
            return Ok(true);
        }
        self.blocks[id].used = Use::Retired;
        if self.retired() >= self.setup.rated_blocks - self.setup.logical_blocks {
            return Err(Death::SpareUsedUp);
        }
        if self.free.is_empty() {
            return Err(Death::NoFreeBlock);
        }
        Ok(false)
    }

    /// Moves a closed block's data into an erased one, page by page to the same places. Returns the number of pages. The caller
    /// has taken the erased block out of the free queue, and it is closed here.
    fn move_data(&mut self, from: usize, to: usize) -> u64 {
        assert_eq!(self.blocks[from].used, Use::Closed, "wear leveling moves the data of closed blocks");
        assert_eq!(self.blocks[to].valid, 0, "data move into an erased block");
        self.blocks[to].pages = std::mem::replace(&mut self.blocks[from].pages, vec![NONE; self.setup.pages]);
        self.blocks[to].valid = std::mem::take(&mut self.blocks[from].valid);
        self.blocks[to].written = self.setup.pages;
        self.blocks[to].written_at = self.clock;
        for place in 0..self.setup.pages {
            let page = self.blocks[to].pages[place];
            if page != NONE {
                self.map[page] = (to, place);
            }
        }
        self.close(to);
        self.blocks[from].used = Use::Emptied;
        self.blocks[to].valid as u64
    }

    /// Checks the invariants between two writes.
    ///
    /// # Panics
    /// An invariant does not hold.
    pub fn check(&self) {
        let mapped = self.map.iter().filter(|(id, _)| *id != NONE).count();
        let valid: usize = self.blocks.iter().map(|block| block.valid).sum();
        assert_eq!(valid, mapped, "each mapped page is valid once");
        for (page, (id, place)) in self.map.iter().enumerate().filter(|(_, (id, _))| *id != NONE) {
            assert_eq!(self.blocks[*id].pages[*place], page, "the map leads to the page");
        }
        for (id, block) in self.blocks.iter().enumerate() {
            let held = block.pages.iter().filter(|page| **page != NONE).count();
            assert_eq!(held, block.valid, "block {id} counts its valid pages");
        }
        let frontier = usize::from(self.frontier != NONE);
        let known = self.free.len() + frontier + self.closed().count() + self.retired();
        assert_eq!(known, self.blocks.len(), "each block is used for one thing");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2 logical blocks of 4 pages, 4 physical blocks with a reserve of 1.
    fn tiny() -> Drive {
        Drive::new(Setup { rated_blocks: 3, reserve: 1, ..Setup::new(2, 4, 10) })
    }

    /// Worked out by hand: host pages, pages programmed, erases and valid pages of the four blocks.
    #[test]
    fn traces_worked_out_by_hand() {
        type Case = (&'static [usize], u64, u64, [u32; 4], [usize; 4]);
        let cases: [Case; 4] = [
            (&[0, 0, 0, 0], 12, 13, [0, 0, 1, 0], [3, 4, 0, 1]),
            (&[0, 0, 0, 0, 1, 2, 3], 15, 16, [1, 0, 1, 0], [0, 4, 0, 4]),
            // Blocks 0 and 1 tie at two valid pages: the one that reached two first is taken.
            (&[0, 4, 1, 5, 2, 6], 14, 17, [1, 1, 0, 0], [1, 0, 4, 3]),
            // The same, but block 1 reaches two first, although it closed later.
            (&[4, 0, 5, 1], 12, 14, [0, 1, 0, 0], [2, 0, 4, 2]),
        ];
        for (writes, host, programmed, erases, valid) in cases {
            let mut drive = tiny();
            (0..8).chain(writes.iter().copied()).for_each(|page| drive.write(page).expect("it lives"));
            drive.check();
            let counts = drive.counts();
            assert_eq!((counts.host, counts.host + counts.collected), (host, programmed), "{writes:?}");
            assert_eq!((drive.erases(), drive.valid()), (erases.to_vec(), valid.to_vec()), "{writes:?}");
        }
    }

    /// The reference values of the specification, from another model of the same drive: within 2 %.
    #[test]
    fn greedy_comes_to_its_anchors() {
        for (pages, want) in [(32, 4.53), (64, 4.85)] {
            let setup = Setup::new(1024, pages, 10);
            let all = setup.logical_pages() as u64;
            let (mut drive, mut dice) = (Drive::new(setup), Dice::new(5));
            drive.precondition(3, &mut dice).expect("it lives");
            (0..3 * all).for_each(|_| drive.write(dice.below(all) as usize).expect("it lives"));
            drive.check();
            let found = drive.counts().amplification();
            assert!((found / want - 1.0).abs() < 0.02, "{pages} pages a block: {found} for {want}");
        }
    }

    #[test]
    fn every_policy_keeps_the_drive_whole() {
        let victims = [
            Victim::Greedy(Tie::Oldest),
            Victim::Greedy(Tie::Newest),
            Victim::Greedy(Tie::LeastWorn),
            Victim::Greedy(Tie::MostWorn),
            Victim::Random,
            Victim::Choices(2.5),
            Victim::Fifo,
            Victim::Windowed(20),
            Victim::Lfs,
            Victim::Kawaguchi,
        ];
        let levelers = [
            Leveler::None,
            Leveler::Swap(3),
            Leveler::Obp { threshold: 2, protection: 8 },
            Leveler::DualPool(3),
            Leveler::Progressive { percent: 10 },
            Leveler::Variance(0.9),
        ];
        let greedy = victims[0];
        let all = victims.map(|victim| (victim, Leveler::None)).into_iter().chain(levelers.map(|one| (greedy, one)));
        for (victim, leveler) in all {
            let setup = Setup { victim, leveler, endurance: 60, retires: true, ..Setup::new(64, 16, 20) };
            let traffic = HotCold::new(setup.logical_pages(), 0.9, 0.1, 1.0);
            let (mut drive, mut dice) = (Drive::new(setup), Dice::new(3));
            drive.precondition(1, &mut dice).expect("it lives");
            let mut wrote = 0;
            while drive.write(traffic.draw(&mut dice)).is_ok() {
                wrote += 1;
                assert!(wrote < 1 << 20, "{victim:?} {leveler:?}: every drive dies");
                if wrote % 1024 == 0 {
                    drive.check();
                }
            }
            assert!(drive.retired() > 0, "{victim:?} {leveler:?}: it died of wear");
            assert_eq!(drive.counts().leveled > 0, leveler != Leveler::None, "{victim:?} {leveler:?}");
        }
    }
}
