//! How the plain drive chooses the closed block that it empties next. Each rule is a scan of all closed blocks.

use std::cmp::Reverse;

use super::{Drive, NONE};

/// Which of several equally empty blocks greedy takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tie {
    /// The one that reached its valid count first.
    Oldest,
    /// The one that reached it last.
    Newest,
    /// The one with the fewest erases, then the lower id.
    LeastWorn,
    /// The one with the most erases, then the lower id.
    MostWorn,
}

/// The garbage collector's rule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Victim {
    /// The block with the fewest valid pages.
    Greedy(Tie),
    /// Any closed block.
    Random,
    /// The block with the fewest valid pages among this number of drawn blocks. The fraction is the chance to draw one more.
    Choices(f64),
    /// The block that closed first.
    Fifo,
    /// The block with the fewest valid pages among this number of blocks that closed first.
    Windowed(usize),
    /// The block with the largest (1 - u) age / (1 + u), of the log-structured file system.
    Lfs,
    /// The block with the least u / ((1 - u) age), by Kawaguchi.
    Kawaguchi,
}

impl Drive {
    /// Chooses the victim; `None` if no closed block holds an invalid page.
    pub(super) fn choose(&mut self) -> Option<usize> {
        let pages = self.setup.pages;
        if self.closed().all(|id| self.blocks[id].valid == pages) {
            return None;
        }
        let emptiest = |id: &usize| (self.blocks[*id].valid, self.blocks[*id].entered);
        match self.setup.victim {
            Victim::Greedy(Tie::Oldest) => self.closed().min_by_key(emptiest),
            Victim::Greedy(Tie::Newest) => {
                self.closed().min_by_key(|id| (self.blocks[*id].valid, u64::MAX - self.blocks[*id].entered))
            }
            Victim::Greedy(Tie::LeastWorn) => {
                self.closed().min_by_key(|id| (self.blocks[*id].valid, self.blocks[*id].erases, *id))
            }
            Victim::Greedy(Tie::MostWorn) => {
                self.closed().min_by_key(|id| (self.blocks[*id].valid, Reverse(self.blocks[*id].erases), *id))
            }
            Victim::Fifo => self.closed().min_by_key(|id| self.blocks[*id].closed),
            Victim::Windowed(size) => self.in_window(size),
            // Utilization as valid pages over all pages, so that both are ratios of whole numbers.
            Victim::Lfs => self.best(|valid, age| ((pages - valid) as u128 * age, (pages + valid) as u128)),
            Victim::Kawaguchi => self.best(|valid, age| ((pages - valid) as u128 * age, valid as u128)),
            Victim::Random => self.drawn(1),
            Victim::Choices(choices) => {
                let whole = choices.floor();
                let fewer = self.dice.unit() < whole + 1.0 - choices;
                self.drawn(whole as usize + usize::from(!fewer))
            }
        }
    }

    /// Chooses from a window. Blocks join it in the order in which they closed, until it is full. Joining counts as reaching
    /// their valid count.
    fn in_window(&mut self, size: usize) -> Option<usize> {
        let mut waiting: Vec<usize> = self.closed().filter(|id| !self.blocks[*id].in_window).collect();
        waiting.sort_by_key(|id| self.blocks[*id].closed);
        let room = size - self.closed().filter(|id| self.blocks[*id].in_window).count();
        let outside = waiting.split_off(room.min(waiting.len()));
        for id in waiting {
            self.blocks[id].in_window = true;
            self.blocks[id].entered = self.next_moment();
        }
        let window = || self.closed().filter(|id| self.blocks[*id].in_window);
        let invalid: usize = window().map(|id| self.setup.pages - self.blocks[id].valid).sum();
        if invalid <= 1 && !outside.is_empty() {
            return outside.first().copied();
        }
        window().min_by_key(|id| (self.blocks[*id].valid, self.blocks[*id].entered))
    }

    /// The closed block for which the rule's ratio of valid pages and age is largest; of equals, the one with the lower id. An
    /// empty block goes first, of several the oldest; a full one is never chosen.
    fn best(&self, rule: impl Fn(usize, u128) -> (u128, u128)) -> Option<usize> {
        let empty = self.closed().filter(|id| self.blocks[*id].valid == 0);
        if let Some(id) = empty.min_by_key(|id| (self.blocks[*id].written_at, *id)) {
            return Some(id);
        }
        let mut best = ((0, 1), NONE);
        for id in self.closed().filter(|id| self.blocks[*id].valid < self.setup.pages) {
            let block = &self.blocks[id];
            let age = (self.clock - block.written_at).max(1);
            let score = rule(block.valid, u128::from(age));
            // score > best, as fractions.
            if score.0 * best.0.1 > best.0.0 * score.1 {
                best = (score, id);
            }
        }
        (best.1 != NONE).then_some(best.1)
    }

    /// The emptiest of `count` closed blocks, drawn without putting back; of equals, the first drawn.
    fn drawn(&mut self, count: usize) -> Option<usize> {
        let mut left: Vec<usize> = self.closed().collect();
        let mut best: Option<usize> = None;
        for _ in 0..count.min(left.len()) {
            let id = left.swap_remove(self.dice.below(left.len() as u64) as usize);
            if best.is_none_or(|best| self.blocks[id].valid < self.blocks[best].valid) {
                best = Some(id);
            }
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plain::{Setup, Use};

    /// A drive with blocks 0 to 3, which have 3, 1, 1 and 2 valid pages of 4. They closed and reached their counts in that order.
    fn closed(victim: Victim) -> Drive {
        let mut drive = Drive::new(Setup { victim, ..Setup::new(8, 4, 50) });
        for (id, valid) in [3, 1, 1, 2].into_iter().enumerate() {
            let block = &mut drive.blocks[id];
            (block.used, block.valid, block.written) = (Use::Closed, valid, 4);
            (block.entered, block.closed, block.written_at) = (id as u64, id as u64, 10 * id as u64);
            block.erases = 10 - id as u32;
        }
        drive.clock = 100;
        drive
    }

    #[test]
    fn rules_choose_as_worked_out_by_hand() {
        let cases = [
            (Victim::Greedy(Tie::Oldest), 1),
            (Victim::Greedy(Tie::Newest), 2),
            (Victim::Greedy(Tie::LeastWorn), 2),
            (Victim::Greedy(Tie::MostWorn), 1),
            (Victim::Fifo, 0),
            // A window with one invalid page: the choice is as that of the oldest block outside.
            (Victim::Windowed(1), 1),
            (Victim::Windowed(2), 1),
            (Victim::Windowed(3), 1),
            // 0.25 x 100 / 1.75 = 14.3; 0.75 x 90 / 1.25 = 54; 0.75 x 80 / 1.25 = 48; 0.5 x 70 / 1.5 = 23.3.
            (Victim::Lfs, 1),
            (Victim::Kawaguchi, 1),
            // As many choices as blocks.
            (Victim::Choices(9.0), 1),
        ];
        for (victim, want) in cases {
            let mut drive = closed(victim);
            let found = drive.choose().map(|id| drive.blocks[id].valid);
            assert_eq!(found, Some(drive.blocks[want].valid), "{victim:?}");
            if !matches!(victim, Victim::Choices(_)) {
                assert_eq!(drive.choose(), Some(want), "{victim:?}");
            }
        }
    }

    /// Sampling from blocks of 64 pages, each valid with chance 1/2: the mean of the specification's table, within 1 %.
    #[test]
    fn choices_cost_what_the_specification_says() {
        for (choices, want) in [(1.0, 32.0), (1.5, 30.874), (2.0, 29.748), (5.0, 27.359)] {
            let mut drive = Drive::new(Setup { victim: Victim::Choices(choices), ..Setup::new(2000, 64, 10) });
            let mut sum = 0;
            for _ in 0..40 {
                for id in 0..2000 {
                    let valid = drive.dice.bits().count_ones() as usize;
                    (drive.blocks[id].used, drive.blocks[id].valid) = (Use::Closed, valid);
                }
                for _ in 0..100 {
                    let id = drive.choose().expect("a block");
                    sum += drive.blocks[id].valid;
                }
            }
            let mean = sum as f64 / 4000.0;
            assert!((mean / want - 1.0).abs() < 0.01, "{choices}: {mean} for {want}");
        }
    }
}
