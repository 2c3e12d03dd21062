//! Failures that error correction cannot heal: blocks that are bad from the factory, programs and erases that fail, wordlines
//! and dies that are lost.
//!
//! This module decides what fails; the firmware decides what to do about it. Kim et al. (FAST 2019), section 4.5, state that
//! such faults exist in addition to bit errors and that only redundancy survives a lost die or wordline. They publish no
//! rates, so every rate here is the user's.

use serde::{Deserialize, Serialize};
use wane_archive::{Archive, ArchiveError};
use wane_sim::Stream;
use wane_units::{BlockId, DieId, Geometry};

use crate::config::{NandConfigError, check_probability};

/// Which faults a drive has. The default is none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FaultConfig {
    /// Share of blocks that are bad from the factory, 0 to 1; data sheets allow about 0.02.
    pub factory_bad: f64,
    /// Probability that programming a page fails.
    pub program: FailureRate,
    /// Probability that erasing a block fails.
    pub erase: FailureRate,
    /// Probability, at each erase, that the block permanently loses one of its wordlines.
    pub wordline_loss: f64,
    /// Rate of losses of a die, per drive write. The life of a die is exponentially distributed.
    pub die_loss: f64,
    /// Pages of a wordline: the bits of a cell. Used for losses of wordlines; 0 counts as 1.
    pub pages_per_wordline: u32,
    /// Losses at a given time.
    pub schedule: Vec<Fault>,
}

/// The probability that one operation fails. It changes linearly with the cycles from `new` to `rated`, and continues beyond.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FailureRate {
    /// On a block never erased.
    pub new: f64,
    /// After `rated_cycles`.
    pub rated: f64,
    /// P/E cycles at which the probability is `rated`; 0 keeps it at `new`.
    pub rated_cycles: u32,
}

/// A loss and its time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fault {
    /// When.
    pub when: When,
    /// What.
    pub loss: Loss,
}

/// A time that needs no clock.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum When {
    /// Once the host has written the drive's capacity this often.
    DriveWrites(f64),
    /// Once this many erases were made in the whole drive.
    Erases(u64),
}

/// What is permanently lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Loss {
    /// A die: every page reads uncorrectable, every program and erase fails.
    Die(DieId),
    /// The pages of a wordline of a block.
    Wordline {
        /// The block.
        block: BlockId,
        /// The wordline, counted from the block's first page.
        wordline: u32,
    },
}

/// The faults of a drive that have happened so far.
#[derive(Clone, Debug)]
pub struct Faults {
    geometry: Geometry,
    config: FaultConfig,
    /// Sorted.
    factory_bad: Vec<BlockId>,
    /// Losses that have happened, sorted.
    lost: Vec<Loss>,
    /// Losses caused by erases that [`Faults::due`] has not returned yet.
    unreported: Vec<Loss>,
    /// Scheduled losses still to come.
    pending: Vec<Fault>,
    drive_writes_next: f64,
    erases_next: u64,
    erases: u64,
    /// Erases by block; empty unless a rate depends on them.
    cycles: Vec<u32>,
    stream: Stream,
}

impl FailureRate {
    /// The same probability at any wear.
    pub const fn constant(probability: f64) -> Self {
        Self { new: probability, rated: probability, rated_cycles: 0 }
    }

    /// The probability after `cycles`.
    pub fn at(&self, cycles: u32) -> f64 {
        if self.rated_cycles == 0 {
            return self.new;
        }
        let worn = f64::from(cycles) / f64::from(self.rated_cycles);
        (self.new + (self.rated - self.new) * worn).clamp(0.0, 1.0)
    }

    fn grows(&self) -> bool {
        self.rated_cycles > 0 && self.rated != self.new
    }
}

impl FaultConfig {
    /// Checks every field.
    ///
    /// # Errors
    /// A field lies outside its range, or a scheduled loss names something the drive does not have.
    pub fn check(&self, geometry: &Geometry) -> Result<(), NandConfigError> {
        let probabilities = [
            ("factory-bad", self.factory_bad),
            ("program", self.program.new),
            ("program", self.program.rated),
            ("erase", self.erase.new),
            ("erase", self.erase.rated),
            ("wordline-loss", self.wordline_loss),
        ];
        probabilities.into_iter().try_for_each(|(key, value)| check_probability(key, value))?;
        if !(self.die_loss.is_finite() && self.die_loss >= 0.0) {
            return Err(NandConfigError::new("die-loss", &self.die_loss, "a rate is a number of at least 0"));
        }
        if self.pages_per_wordline > geometry.pages_per_block() {
            let wanted = "a wordline has at most the pages of a block";
            return Err(NandConfigError::new("pages-per-wordline", &self.pages_per_wordline, wanted));
        }
        self.schedule.iter().try_for_each(|fault| self.check_fault(fault, geometry))
    }

    fn check_fault(&self, fault: &Fault, geometry: &Geometry) -> Result<(), NandConfigError> {
        if let When::DriveWrites(writes) = fault.when
            && !(writes.is_finite() && writes >= 0.0)
        {
            return Err(NandConfigError::new("schedule", &writes, "drive writes are a number of at least 0"));
        }
        let (name, index, count) = match fault.loss {
            Loss::Die(die) => ("die", die.0, geometry.dies()),
            Loss::Wordline { block, .. } if block.0 >= geometry.blocks() => ("block", block.0, geometry.blocks()),
            Loss::Wordline { wordline, .. } => ("wordline", wordline, self.wordlines(geometry)),
        };
        if index >= count {
            let found = format!("{name} {index} of {count}");
            return Err(NandConfigError::new("schedule", &found, "a lost part is counted from 0 and exists"));
        }
        Ok(())
    }

    fn wordlines(&self, geometry: &Geometry) -> u32 {
        geometry.pages_per_block().div_ceil(self.pages_per_wordline.max(1))
    }
}

impl Faults {
    /// The faults of a new drive. `config` has passed [`FaultConfig::check`].
    pub fn new(geometry: &Geometry, config: FaultConfig, stream: Stream) -> Self {
        debug_assert_eq!(config.check(geometry), Ok(()), "the config is checked before it is used");
        let mut stream = stream;
        let factory_bad = pick(geometry.blocks(), config.factory_bad, &mut stream);
        let mut pending = config.schedule.clone();
        if config.die_loss > 0.0 {
            pending.extend((0..geometry.dies()).map(|die| Fault {
                when: When::DriveWrites(stream.exponential() / config.die_loss),
                loss: Loss::Die(DieId(die)),
            }));
        }
        let grows = config.program.grows() || config.erase.grows();
        let mut faults = Self {
            geometry: *geometry,
            factory_bad,
            lost: Vec::new(),
            unreported: Vec::new(),
            pending,
            drive_writes_next: 0.0,
            erases_next: 0,
            erases: 0,
            cycles: vec![0; if grows { geometry.blocks() as usize } else { 0 }],
            config,
            stream,
        };
        faults.look_ahead();
        faults
    }

    /// Writes their state to a file, or reads it back into faults of the same drive.
    ///
    /// # Errors
    /// As of [`Archive`].
    pub(crate) fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        archive.same("faults.factory-bad", &self.factory_bad)?;
        archive.field("faults.lost", &mut self.lost)?;
        archive.field("faults.unreported", &mut self.unreported)?;
        archive.field("faults.pending", &mut self.pending)?;
        archive.field("faults.next-writes", &mut self.drive_writes_next)?;
        archive.field("faults.next-erases", &mut self.erases_next)?;
        archive.field("faults.erases", &mut self.erases)?;
        archive.fixed("faults.cycles", &mut self.cycles)?;
        archive.field("faults.stream", &mut self.stream)
    }

    /// Whether a block was bad from the factory.
    pub fn is_factory_bad(&self, block: BlockId) -> bool {
        self.factory_bad.binary_search(&block).is_ok()
    }

    /// Blocks bad from the factory, in ascending order.
    pub fn factory_bad(&self) -> &[BlockId] {
        &self.factory_bad
    }

    /// Gives a block its past erases.
    pub fn age(&mut self, block: BlockId, erase_count: u32) {
        if let Some(cycles) = self.cycles.get_mut(block.index()) {
            *cycles = erase_count;
        }
    }

    /// Whether programming this page fails now. A lost page always fails.
    #[inline]
    pub fn program_fails(&mut self, block: BlockId, page: u32) -> bool {
        if self.page_lost(block, page) {
            return true;
        }
        let probability = self.config.program.at(self.cycles_of(block));
        probability > 0.0 && self.stream.chance(probability)
    }

    /// Counts an erase of a block and returns whether it fails. A block of a lost die always fails. The erase may also lose a
    /// wordline, which [`Self::due`] reports.
    pub fn erase_fails(&mut self, block: BlockId) -> bool {
        let probability = self.config.erase.at(self.cycles_of(block));
        self.erases += 1;
        if let Some(cycles) = self.cycles.get_mut(block.index()) {
            *cycles = cycles.saturating_add(1);
        }
        if self.config.wordline_loss > 0.0 && self.stream.chance(self.config.wordline_loss) {
            let wordlines = u64::from(self.config.wordlines(&self.geometry));
            let loss = Loss::Wordline { block, wordline: self.stream.below(wordlines) as u32 };
            if self.lose(loss) {
                self.unreported.push(loss);
            }
        }
        let dead = self.is_lost(Loss::Die(self.geometry.die_of(block)));
        dead || (probability > 0.0 && self.stream.chance(probability))
    }

    /// Whether a page is lost with its wordline or die, so that no re-read helps.
    #[inline]
    pub fn page_lost(&self, block: BlockId, page: u32) -> bool {
        if self.lost.is_empty() {
            return false;
        }
        let wordline = page / self.config.pages_per_wordline.max(1);
        self.is_lost(Loss::Die(self.geometry.die_of(block))) || self.is_lost(Loss::Wordline { block, wordline })
    }

    /// The next loss that has happened by `drive_writes`, which never falls; `None` once all were reported. Cheap while nothing is due.
    #[inline]
    pub fn due(&mut self, drive_writes: f64) -> Option<Loss> {
        let quiet =
            drive_writes < self.drive_writes_next && self.erases < self.erases_next && self.unreported.is_empty();
        if quiet { None } else { self.next_loss(drive_writes) }
    }

    /// Losses that have happened, dies first.
    pub fn lost(&self) -> &[Loss] {
        &self.lost
    }

    fn next_loss(&mut self, drive_writes: f64) -> Option<Loss> {
        if let Some(loss) = self.unreported.pop() {
            return Some(loss);
        }
        let erases = self.erases;
        let is_due = |fault: &Fault| match fault.when {
            When::DriveWrites(writes) => writes <= drive_writes,
            When::Erases(count) => count <= erases,
        };
        while let Some(position) = self.pending.iter().position(is_due) {
            let fault = self.pending.remove(position);
            self.look_ahead();
            if self.lose(fault.loss) {
                return Some(fault.loss);
            }
        }
        None
    }

    /// Records a loss. Returns whether the part was there before.
    fn lose(&mut self, loss: Loss) -> bool {
        let Err(place) = self.lost.binary_search(&loss) else { return false };
        self.lost.insert(place, loss);
        debug_assert!(self.lost.is_sorted(), "what is lost is found by binary search");
        true
    }

    fn look_ahead(&mut self) {
        (self.drive_writes_next, self.erases_next) = (f64::INFINITY, u64::MAX);
        for fault in &self.pending {
            match fault.when {
                When::DriveWrites(writes) => self.drive_writes_next = self.drive_writes_next.min(writes),
                When::Erases(count) => self.erases_next = self.erases_next.min(count),
            }
        }
    }

    fn is_lost(&self, loss: Loss) -> bool {
        self.lost.binary_search(&loss).is_ok()
    }

    fn cycles_of(&self, block: BlockId) -> u32 {
        self.cycles.get(block.index()).copied().unwrap_or(0)
    }
}

/// Picks `share` of the blocks, rounded to a whole number. Every choice is equally likely: each block is taken with the
/// probability (blocks still wanted) / (blocks left).
fn pick(blocks: u32, share: f64, stream: &mut Stream) -> Vec<BlockId> {
    let mut wanted = u64::from((f64::from(blocks) * share).round() as u32);
    let mut picked = Vec::with_capacity(wanted as usize);
    for block in 0..blocks {
        if wanted == 0 {
            break;
        }
        if stream.below(u64::from(blocks - block)) < wanted {
            picked.push(BlockId(block));
            wanted -= 1;
        }
    }
    assert_eq!(wanted, 0, "as many blocks are bad as their share says");
    picked
}

#[cfg(test)]
mod tests {
    use super::*;
    use wane_sim::Streams;
    use wane_units::Bytes;

    const PAGES: u32 = 12;

    /// 2 channels x 2 dies x 1 plane x 1,000 blocks.
    fn faults(config: FaultConfig) -> Faults {
        let geometry = Geometry::new(2, 2, 1, 1000, PAGES, Bytes(4096)).unwrap();
        assert_eq!(config.check(&geometry), Ok(()));
        Faults::new(&geometry, config, Streams::new(1).stream("faults"))
    }

    /// Checks that `found` is within 4 sigma of the mean of `count` draws of probability `share`.
    fn check(name: &str, found: u32, count: u32, share: f64) {
        let (count, found) = (f64::from(count), f64::from(found));
        let slack = 4.0 * libm::sqrt(count * share * (1.0 - share));
        assert!((found - count * share).abs() <= slack, "{name}: {found} of {count}, {share} expected");
    }

    #[test]
    fn no_faults_draw_nothing_and_hold_nothing() {
        let mut faults = faults(FaultConfig::default());
        let untouched = faults.stream.clone().bits();
        for block in (0..4000).map(BlockId) {
            assert!(!faults.is_factory_bad(block) && !faults.program_fails(block, 3) && !faults.erase_fails(block));
            assert!(!faults.page_lost(block, 0));
        }
        assert_eq!((faults.due(1e9), faults.lost()), (None, &[][..]));
        assert_eq!(faults.stream.bits(), untouched);
        assert_eq!((faults.cycles.capacity(), faults.factory_bad.capacity()), (0, 0));
    }

    #[test]
    fn the_wanted_share_of_blocks_is_bad_from_the_factory() {
        for share in [0.0, 0.002, 0.02, 0.5, 1.0] {
            let faults = faults(FaultConfig { factory_bad: share, ..FaultConfig::default() });
            assert_eq!(faults.factory_bad().len(), (4000.0 * share) as usize);
            assert!(faults.factory_bad().windows(2).all(|pair| pair[0] < pair[1]));
            let bad = (0..4000).filter(|block| faults.is_factory_bad(BlockId(*block))).count();
            assert_eq!(bad, faults.factory_bad().len());
            let first_die = faults.factory_bad().iter().filter(|block| block.0 < 1000).count();
            check("first die", first_die as u32, 1000, share);
        }
    }

    #[test]
    fn operations_fail_as_often_as_wear_says() {
        let rate = FailureRate { new: 0.01, rated: 0.05, rated_cycles: 1000 };
        for (cycles, share) in [(0, 0.01), (500, 0.03), (1000, 0.05), (2000, 0.09), (1_000_000, 1.0)] {
            let mut faults = faults(FaultConfig { program: rate, erase: rate, ..FaultConfig::default() });
            (0..4000).for_each(|block| faults.age(BlockId(block), cycles));
            let programs = (0..48_000).filter(|page| faults.program_fails(BlockId(page / 12), page % 12)).count();
            check("programs", programs as u32, 48_000, share);
            let erases = (0..4000).filter(|block| faults.erase_fails(BlockId(*block))).count();
            check("erases", erases as u32, 4000, share);
        }
        assert_eq!(FailureRate::constant(0.1).at(5000), 0.1);
        assert_eq!(FailureRate { new: 0.1, rated: 0.0, rated_cycles: 10 }.at(100), 0.0);
    }

    #[test]
    fn erases_wear_the_rates_of_their_block() {
        let erase = FailureRate { new: 0.0, rated: 1.0, rated_cycles: 100 };
        let mut faults = faults(FaultConfig { erase, ..FaultConfig::default() });
        let fails = (0..200).filter(|_| faults.erase_fails(BlockId(7))).count();
        // Half of the first hundred on average, and every one after.
        assert!((110..190).contains(&fails), "{fails}");
        assert!((0..50).all(|_| faults.erase_fails(BlockId(7))));
        assert_eq!(faults.cycles_of(BlockId(8)), 0);
    }

    #[test]
    fn scheduled_losses_come_at_their_time_and_stay() {
        let wordline = Loss::Wordline { block: BlockId(5), wordline: 2 };
        let die = Loss::Die(DieId(3));
        let schedule = vec![
            Fault { when: When::Erases(2), loss: wordline },
            Fault { when: When::DriveWrites(1.5), loss: die },
            Fault { when: When::DriveWrites(2.5), loss: die },
        ];
        let mut faults = faults(FaultConfig { pages_per_wordline: 3, schedule, ..FaultConfig::default() });
        assert_eq!(faults.due(1.49), None);
        assert!(!faults.erase_fails(BlockId(3999)));
        assert_eq!(faults.due(1.49), None);
        assert!(!faults.page_lost(BlockId(5), 6) && !faults.page_lost(BlockId(3999), 0));

        assert!(!faults.erase_fails(BlockId(0)));
        assert_eq!((faults.due(1.49), faults.due(1.49)), (Some(wordline), None));
        let lost: Vec<u32> = (0..PAGES).filter(|page| faults.page_lost(BlockId(5), *page)).collect();
        assert_eq!(lost, [6, 7, 8]);
        assert!(faults.program_fails(BlockId(5), 7) && !faults.program_fails(BlockId(5), 9));
        assert!(!faults.erase_fails(BlockId(5)), "the rest of the block still works");
        assert!(faults.page_lost(BlockId(5), 7), "an erase does not heal");

        assert_eq!((faults.due(1.5), faults.due(3.0), faults.lost()), (Some(die), None, &[die, wordline][..]));
        for (block, dead) in [(2999, false), (3000, true), (3999, true)] {
            assert_eq!(faults.page_lost(BlockId(block), 0), dead);
            assert_eq!(faults.program_fails(BlockId(block), 0), dead);
            assert_eq!(faults.erase_fails(BlockId(block)), dead);
        }
    }

    #[test]
    fn random_losses_come_at_their_rate_and_are_told_once() {
        let mut faults = faults(FaultConfig { wordline_loss: 0.01, pages_per_wordline: 3, ..FaultConfig::default() });
        let mut told = Vec::new();
        for block in 0..4000 {
            assert!(!faults.erase_fails(BlockId(block)));
            told.extend(std::iter::from_fn(|| faults.due(0.0)));
        }
        check("wordlines", told.len() as u32, 4000, 0.01);
        assert_eq!(told, faults.lost());
        assert!(
            (0..4).all(|line| told.iter().any(|l| matches!(l, Loss::Wordline { wordline, .. } if *wordline == line)))
        );
    }

    #[test]
    fn dies_live_exponentially() {
        let geometry = Geometry::new(100, 100, 1, 1, PAGES, Bytes(4096)).unwrap();
        let config = FaultConfig { die_loss: 0.001, ..FaultConfig::default() };
        let mut faults = Faults::new(&geometry, config, Streams::new(1).stream("faults"));
        let mut dead = 0;
        for drive_writes in [100.0, 1000.0] {
            dead += std::iter::from_fn(|| faults.due(drive_writes)).count();
            check("dies", dead as u32, 10_000, 1.0 - libm::exp(-0.001 * drive_writes));
        }
        assert_eq!(faults.lost().len(), dead);
    }

    #[test]
    fn the_same_seed_gives_the_same_faults() {
        let config = FaultConfig {
            factory_bad: 0.01,
            program: FailureRate::constant(0.1),
            wordline_loss: 0.1,
            die_loss: 1.0,
            ..FaultConfig::default()
        };
        let geometry = Geometry::new(2, 2, 1, 1000, PAGES, Bytes(4096)).unwrap();
        let run = |seed| {
            let mut faults = Faults::new(&geometry, config.clone(), Streams::new(seed).stream("faults"));
            let programs: Vec<bool> = (0..500).map(|block| faults.program_fails(BlockId(block), 1)).collect();
            let erases: Vec<bool> = (0..500).map(|block| faults.erase_fails(BlockId(block))).collect();
            let losses: Vec<Loss> = std::iter::from_fn(|| faults.due(0.5)).collect();
            (faults.factory_bad().to_vec(), programs, erases, losses)
        };
        assert_eq!(run(1), run(1));
        assert_ne!(run(1), run(2));
    }

    #[test]
    fn faults_that_cannot_be_are_refused_in_one_sentence() {
        let geometry = Geometry::new(2, 2, 1, 1000, PAGES, Bytes(4096)).unwrap();
        let none = FaultConfig::default;
        let at = |when, loss| FaultConfig { schedule: vec![Fault { when, loss }], pages_per_wordline: 3, ..none() };
        let now = When::Erases(0);
        let wordline = |block, wordline| Loss::Wordline { block: BlockId(block), wordline };
        let table = [
            (FaultConfig { factory_bad: 1.5, ..none() }, "factory-bad is 1.5; a probability"),
            (FaultConfig { program: FailureRate::constant(-0.1), ..none() }, "program is -0.1; a probability"),
            (FaultConfig { erase: FailureRate::constant(f64::NAN), ..none() }, "erase is NaN; a probability"),
            (FaultConfig { wordline_loss: 2.0, ..none() }, "wordline-loss is 2; a probability"),
            (FaultConfig { die_loss: -1.0, ..none() }, "die-loss is -1; a rate"),
            (FaultConfig { pages_per_wordline: 13, ..none() }, "pages-per-wordline is 13; a wordline"),
            (at(When::DriveWrites(f64::NAN), wordline(0, 0)), "schedule is NaN; drive writes"),
            (at(now, Loss::Die(DieId(4))), "schedule is die 4 of 4; a lost part"),
            (at(now, wordline(4000, 0)), "schedule is block 4000 of 4000; a lost part"),
            (at(now, wordline(0, 4)), "schedule is wordline 4 of 4; a lost part"),
        ];
        for (config, message) in table {
            let error = config.check(&geometry).unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}");
        }
    }
}
