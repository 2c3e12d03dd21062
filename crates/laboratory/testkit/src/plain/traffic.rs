//! Writes with a hot and a cold part: the traffic of the plain drive's host.

use super::Dice;

/// A share r of the writes goes to the first share h of the footprint, the other writes to the rest, each uniformly.
#[derive(Clone, Copy, Debug)]
pub struct HotCold {
    hot_share: f64,
    hot: u64,
    footprint: u64,
}

impl HotCold {
    /// Makes writes to the first `footprint` of `logical_pages` pages. The shares are between 0 and 1.
    pub fn new(logical_pages: usize, hot_share: f64, hot_part: f64, footprint: f64) -> Self {
        // A product such as 0.1 x 20 must not fall below the whole number that is meant.
        let part = |share: f64, of: f64| (share * of + 1e-9) as u64;
        let footprint = part(footprint, logical_pages as f64);
        Self { hot_share, hot: part(hot_part, footprint as f64), footprint }
    }

    /// The next page to be written.
    pub fn draw(&self, dice: &mut Dice) -> usize {
        let page = if dice.unit() < self.hot_share {
            dice.below(self.hot)
        } else {
            self.hot + dice.below(self.footprint - self.hot)
        };
        page as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hot_part_gets_its_share_and_nothing_lies_beyond_the_footprint() {
        let (traffic, mut dice) = (HotCold::new(10_000, 0.9, 0.1, 0.2), Dice::new(1));
        let pages: Vec<usize> = (0..100_000).map(|_| traffic.draw(&mut dice)).collect();
        assert!(pages.iter().all(|page| *page < 2000));
        let hot = pages.iter().filter(|page| **page < 200).count() as f64 / 1e5;
        assert!((hot - 0.9).abs() < 0.003, "{hot}");
    }
}
