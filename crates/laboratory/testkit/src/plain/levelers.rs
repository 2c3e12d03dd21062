//! When the plain drive moves cold data into worn blocks. Each rule is a scan of all blocks.
//!
//! Wear leveling moves a block's valid pages to the same places of another block. Its erases wear blocks, but they are not among
//! the drive's erases that the rules count, as in the released FTLSim.

use super::{Death, Drive, Use};

/// The wear leveler.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Leveler {
    /// None.
    None,
    /// Exchanges the data of the most and the least worn closed block if their erase counts differ by more than this.
    Swap(u32),
    /// Old block protection.
    Obp {
        /// Erases by which a block must exceed the least worn one.
        threshold: u32,
        /// Number of the drive's erases for which such a block is then left alone.
        protection: u64,
    },
    /// Dual pool, with its threshold.
    DualPool(u32),
    /// Progressive wear leveling, with the share of the endurance at which it begins.
    Progressive {
        /// In percent.
        percent: u32,
    },
    /// Moves the least worn block's data if Jain's index of the erase counts is at most this.
    Variance(f64),
}

impl Drive {
    /// The least worn closed block; of equals, the one with the lower id.
    fn coldest(&self) -> Option<usize> {
        self.closed().min_by_key(|id| self.blocks[*id].erases)
    }

    /// Levels wear after an erase by garbage collection. `erased` is the last block of the free queue.
    pub(super) fn level_after_erase(&mut self, erased: usize) -> Result<(), Death> {
        match self.setup.leveler {
            Leveler::None | Leveler::DualPool(_) => Ok(()),
            Leveler::Swap(threshold) => self.swap_extremes(threshold),
            Leveler::Obp { threshold, protection } => {
                let Some(cold) = self.coldest() else { return Ok(()) };
                let above = self.blocks[erased].erases.saturating_sub(self.blocks[cold].erases);
                let since = self.erase_total - self.blocks[erased].leveled_at;
                if above > threshold && since > protection && self.blocks[cold].valid > 0 {
                    self.blocks[erased].leveled_at = self.erase_total;
                    self.move_into(cold, erased)?;
                }
                Ok(())
            }
            Leveler::Progressive { percent } => {
                let Some(cold) = self.coldest() else { return Ok(()) };
                let above = i64::from(self.blocks[erased].erases) > self.threshold(percent);
                if above && self.blocks[cold].valid > 0 { self.move_into(cold, erased) } else { Ok(()) }
            }
            Leveler::Variance(least) => self.even_out(least),
        }
    }

    /// The threshold of progressive wear leveling. It starts `percent` of the endurance above the mean and falls to the mean when
    /// that reaches the endurance. All divisions are whole.
    fn threshold(&self, percent: u32) -> i64 {
        let endurance = i64::from(self.setup.endurance);
        let start = endurance * i64::from(percent) / 100;
        let mean = (self.erase_total / self.setup.rated_blocks as u64) as i64;
        mean * (endurance - start) / endurance + start
    }

    fn erase_leveling(&mut self, id: usize) -> Result<bool, Death> {
        self.counts.erases_leveling += 1;
        self.erase(id)
    }

    /// Moves a closed block's data into a free one. The emptied block becomes the last of the free queue.
    fn move_into(&mut self, from: usize, to: usize) -> Result<(), Death> {
        self.free.retain(|id| *id != to);
        self.counts.leveled += self.move_data(from, to);
        self.erase_leveling(from).map(|_| ())
    }

    /// Hot-cold swap: the old block's data go to a spare block, and the young block's data into the old one.
    fn swap_extremes(&mut self, threshold: u32) -> Result<(), Death> {
        let Some(young) = self.coldest() else { return Ok(()) };
        let most = self.closed().map(|id| self.blocks[id].erases).max().expect("a block is closed");
        let old = self.closed().find(|id| self.blocks[*id].erases == most).expect("a block is the most worn");
        if most - self.blocks[young].erases <= threshold || self.free.len() < 2 {
            return Ok(());
        }
        self.exchange(old, young)
    }

    /// Moves the data of `old` to the next free block and those of `young` into `old`. `young` becomes free.
    fn exchange(&mut self, old: usize, young: usize) -> Result<(), Death> {
        let spare = self.take_free().expect("the caller looked for two free blocks");
        self.counts.leveled += self.move_data(old, spare);
        if !self.erase_leveling(old)? {
            // This very erase wore the block out: the young block keeps its data.
            return Ok(());
        }
        self.free.retain(|id| *id != old);
        self.counts.leveled += self.move_data(young, old);
        self.erase_leveling(young).map(|_| ())
    }

    /// Moves the least worn block's data into the most worn free block until the erase counts are even enough.
    fn even_out(&mut self, least: f64) -> Result<(), Death> {
        for _ in 0..self.blocks.len() {
            let (mut sum, mut squares) = (0.0, 0.0);
            for block in &self.blocks {
                let erases = f64::from(block.erases);
                sum += erases;
                squares += erases * erases;
            }
            if squares == 0.0 || sum * sum / (self.blocks.len() as f64 * squares) > least {
                break;
            }
            let Some(cold) = self.coldest() else { break };
            let worn = self.free.iter().copied().max_by_key(|id| (self.blocks[*id].erases, usize::MAX - id));
            let Some(worn) = worn.filter(|_| self.free.len() > 1) else { break };
            // The specification is silent here. A move without data, or into a block that is not more worn, evens nothing out.
            if self.blocks[cold].valid == 0 || self.blocks[cold].erases >= self.blocks[worn].erases {
                break;
            }
            self.move_into(cold, worn)?;
        }
        Ok(())
    }

    /// Levels wear after each host write: dual pool's three steps, each at most once.
    pub(super) fn level_after_write(&mut self) -> Result<(), Death> {
        let Leveler::DualPool(threshold) = self.setup.leveler else { return Ok(()) };
        // Nothing that the steps look at changes between two closings or erases, and they are slow.
        if !std::mem::take(&mut self.unsettled) {
            return Ok(());
        }
        let swapped = self.swap_pools(threshold)?;
        let warmed = self.resize_cold(threshold);
        let cooled = self.resize_hot(threshold);
        self.unsettled |= swapped || warmed || cooled;
        Ok(())
    }

    /// Lets the most worn hot block and the least worn cold one change pools and data.
    fn swap_pools(&mut self, threshold: u32) -> Result<bool, Death> {
        let hot = |id: &usize| self.blocks[*id].hot;
        let worn = self.closed().filter(hot).max_by_key(|id| (self.blocks[*id].erases, usize::MAX - id));
        let fresh = self.closed().filter(|id| !hot(id)).min_by_key(|id| self.blocks[*id].erases);
        let (Some(worn), Some(fresh)) = (worn, fresh) else { return Ok(false) };
        let apart = self.blocks[worn].erases.saturating_sub(self.blocks[fresh].erases);
        if apart <= threshold || self.free.len() < 2 {
            return Ok(false);
        }
        (self.blocks[worn].hot, self.blocks[fresh].hot) = (false, true);
        (self.blocks[worn].effective, self.blocks[fresh].effective) = (0, 0);
        self.exchange(worn, fresh)?;
        Ok(true)
    }

    /// Makes the cold block hot that was erased most since it changed pools.
    fn resize_cold(&mut self, threshold: u32) -> bool {
        let effective = |id: &usize| self.blocks[*id].effective;
        let most = self.pool(false).max_by_key(|id| (effective(id), usize::MAX - id));
        let least = self.pool(true).map(|id| effective(&id)).min();
        let (Some(most), Some(least)) = (most, least) else { return false };
        let moves = self.blocks[most].effective.saturating_sub(least) > threshold;
        self.blocks[most].hot |= moves;
        moves
    }

    /// Makes the least worn hot block cold.
    fn resize_hot(&mut self, threshold: u32) -> bool {
        let most = self.pool(true).map(|id| self.blocks[id].erases).max();
        let least = self.pool(true).min_by_key(|id| self.blocks[*id].erases);
        let (Some(most), Some(least)) = (most, least) else { return false };
        let moves = most - self.blocks[least].erases > 2 * threshold;
        self.blocks[least].hot &= !moves;
        moves
    }

    /// The blocks of a pool that are in service, in any use.
    fn pool(&self, hot: bool) -> impl Iterator<Item = usize> {
        (0..self.blocks.len()).filter(move |id| self.blocks[*id].hot == hot && self.blocks[*id].used != Use::Retired)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plain::Setup;

    /// A drive whose block 0 is closed with 3 valid pages and `cold` erases, and whose block 1 was just erased for the
    /// `erased`-th time.
    fn drive(leveler: Leveler, cold: u32, erased: u32) -> Drive {
        let mut drive = Drive::new(Setup { leveler, rated_blocks: 100, ..Setup::new(8, 4, 50) });
        let block = &mut drive.blocks[0];
        (block.used, block.valid, block.written, block.erases) = (Use::Closed, 3, 4, cold);
        (0..3).for_each(|page| {
            drive.blocks[0].pages[page] = page;
            drive.map[page] = (0, page);
        });
        drive.blocks[1].erases = erased;
        drive.free.retain(|id| *id != 1);
        drive.free.push_back(1);
        drive
    }

    fn moves(drive: &mut Drive) -> bool {
        drive.level_after_erase(1).expect("it lives");
        let moved = drive.counts().leveled == 3;
        assert_eq!(drive.counts().erases_leveling, u64::from(moved));
        moved
    }

    #[test]
    fn old_blocks_are_protected_for_a_while() {
        let obp = Leveler::Obp { threshold: 4, protection: 8 };
        for (cold, erased, total, want) in
            [(5, 10, 100, false), (5, 10, 101, false), (5, 10, 102, true), (6, 10, 102, false)]
        {
            let mut drive = drive(obp, cold, erased);
            (drive.erase_total, drive.blocks[1].leveled_at) = (total, 93);
            assert_eq!(moves(&mut drive), want, "{cold} {erased} {total}");
        }
    }

    #[test]
    fn the_progressive_threshold_closes_in_on_the_mean() {
        for (percent, mean, want) in [(50, 348, 424), (75, 434, 483), (10, 0, 50)] {
            let mut drive = drive(Leveler::Progressive { percent }, 0, want as u32);
            drive.erase_total = mean * 100 + 99;
            assert_eq!(drive.threshold(percent), want);
            assert!(!moves(&mut drive), "at the threshold");
            drive.blocks[1].erases += 1;
            assert!(moves(&mut drive), "above");
            assert_eq!((drive.blocks[0].erases, drive.blocks[1].valid, drive.map[2]), (1, 3, (1, 2)));
            assert_eq!((drive.blocks[1].used, drive.free.back()), (Use::Closed, Some(&0)));
        }
    }

    #[test]
    fn pools_swap_above_their_threshold() {
        for (hot, cold, want) in [(20, 14, true), (20, 15, false)] {
            let mut drive = drive(Leveler::DualPool(5), cold, 0);
            drive.blocks.iter_mut().for_each(|block| (block.hot, block.effective) = (false, 3));
            let worn = &mut drive.blocks[2];
            (worn.used, worn.valid, worn.written, worn.erases, worn.hot) = (Use::Closed, 0, 4, hot, true);
            drive.free.retain(|id| *id != 2);
            drive.level_after_write().expect("it lives");
            assert_eq!(drive.counts().leveled == 3, want);
            assert_eq!(drive.blocks[2].erases - hot, u32::from(want));
            if want {
                assert_eq!((drive.blocks[0].erases, drive.free.back()), (cold + 1, Some(&0)));
                assert!(drive.blocks[0].hot && !drive.blocks[2].hot && drive.blocks[0].effective == 0);
                assert_eq!((drive.blocks[3].used, drive.blocks[2].valid), (Use::Closed, 3), "block 3 was the spare");
            }
        }
    }

    #[test]
    fn evening_out_goes_on_until_it_is_even() {
        let mut drive = drive(Leveler::Variance(0.44), 0, 40);
        drive.blocks.iter_mut().skip(2).for_each(|block| block.erases = 3);
        drive.blocks.iter_mut().skip(2).take(8).for_each(|block| {
            (block.used, block.written, block.valid, block.erases) = (Use::Closed, 4, 1, 1);
        });
        drive.free.retain(|id| drive.blocks[*id].used == Use::Free);
        let jain = |drive: &Drive| {
            let erases = drive.erases();
            let sum: f64 = erases.iter().map(|count| f64::from(*count)).sum();
            let squares: f64 = erases.iter().map(|count| f64::from(*count) * f64::from(*count)).sum();
            sum * sum / (erases.len() as f64 * squares)
        };
        assert!(jain(&drive) < 0.434);
        drive.level_after_erase(1).expect("it lives");
        assert!(jain(&drive) > 0.44 && drive.counts().erases_leveling > 1, "{:?}", drive.counts());
    }
}
