//! d-choices, the randomized greedy algorithm: the best of a few blocks drawn at random.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wane_sim::{Stream, Streams};
use wane_units::SuperblockId;

use super::{GcView, IndexSpec, VictimPolicy};
use crate::policies::state::remembered_by_serde;
use crate::policies::{Builtin, Setting};

/// See [`DChoicesParams`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DChoices {
    d: f64,
    stream: Stream,
    #[serde(skip)]
    drawn: Vec<u32>,
    /// The draw that each position was last in. Both serve one draw at a time, so they are not saved.
    #[serde(skip)]
    seen: Vec<u64>,
    #[serde(skip)]
    draws: u64,
}

/// The fewest valid units among d blocks drawn at random.
///
/// Draws `d` different closed blocks and reclaims the one with the fewest valid units; the first drawn of equals. With
/// `d = 1` it is `random`, with `d` as large as the drive `greedy`: one number trades write amplification against even
/// wear.
///
/// Source: mean-field study (003) §5 (RGA).
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct DChoicesParams {
    /// Blocks drawn. A fraction mixes its neighbors: with `d = 2.5` half of the draws take 2 blocks, half 3.
    #[schemars(range(min = 1, max = D_MAX))]
    pub d: f64,
}

impl Default for DChoicesParams {
    fn default() -> Self {
        Self { d: 2.0 }
    }
}

/// Above this a draw costs more than it tells.
const D_MAX: u32 = 4096;

impl Builtin for DChoices {
    const NAME: &'static str = "d-choices";
    type Params = DChoicesParams;

    fn build(params: DChoicesParams) -> Self {
        Self { d: params.d, stream: Streams::new(0).stream("gc"), drawn: Vec::new(), seen: Vec::new(), draws: 0 }
    }
}

impl DChoices {
    /// How many blocks this draw takes.
    fn samples(&mut self) -> u32 {
        let floor = self.d as u32;
        let fraction = self.d - f64::from(floor);
        floor + u32::from(fraction > 0.0 && self.stream.chance(fraction))
    }

    /// Draws `samples` different positions below `population`, each order of them as likely as any other.
    fn draw(&mut self, population: u32, samples: u32) {
        debug_assert!(samples <= population, "more positions than there are would be sought for ever");
        self.drawn.clear();
        if 2 * samples > population {
            // Most positions are drawn: shuffle the first of all.
            self.drawn.extend(0..population);
            for place in 0..samples {
                let other = place + self.stream.below(u64::from(population - place)) as u32;
                self.drawn.swap(place as usize, other as usize);
            }
            self.drawn.truncate(samples as usize);
            return;
        }
        if self.seen.len() < population as usize {
            self.seen.resize(population as usize, 0);
        }
        self.draws += 1;
        while self.drawn.len() < samples as usize {
            let candidate = self.stream.below(u64::from(population)) as u32;
            let seen = &mut self.seen[candidate as usize];
            if std::mem::replace(seen, self.draws) != self.draws {
                self.drawn.push(candidate);
            }
        }
    }
}

impl VictimPolicy for DChoices {
    remembered_by_serde!();

    fn begin(&mut self, setting: Setting) {
        self.stream = setting.stream;
    }

    fn index(&self) -> IndexSpec {
        IndexSpec { lowest_only: true, ..IndexSpec::default() }
    }

    fn choose(&mut self, view: &GcView<'_>) -> Option<SuperblockId> {
        let population = view.closed_len();
        let samples = self.samples().min(population);
        self.draw(population, samples);
        let blocks = self.drawn.iter().map(|position| view.closed(*position));
        blocks.min_by_key(|block| view.valid(*block))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::tests::{closed, view};

    fn policy(d: f64) -> DChoices {
        DChoices { d, stream: wane_sim::Streams::new(5).stream("gc"), drawn: Vec::new(), seen: Vec::new(), draws: 0 }
    }

    #[test]
    fn all_blocks_drawn_is_greedy_and_fewer_than_d_are_enough() {
        let index = closed(4, &[3, 1, 2], Default::default());
        for d in [3.0, 4.0, 1000.0] {
            assert_eq!(policy(d).choose(&view(&index, &[0; 3], 0)), Some(SuperblockId(1)));
        }
        let empty = closed(4, &[], Default::default());
        assert_eq!(policy(2.0).choose(&view(&empty, &[], 0)), None);
    }

    #[test]
    fn draws_never_repeat_a_block() {
        let mut policy = policy(1.0);
        let (mut seen, mut first) = ([0u32; 6], [0u32; 6]);
        for round in 0..6000 {
            // Both ways to draw: few of many, and most.
            policy.draw(6, if round % 2 == 0 { 2 } else { 4 });
            first[policy.drawn[0] as usize] += 1;
            let mut drawn = policy.drawn.clone();
            drawn.sort_unstable();
            drawn.dedup();
            assert_eq!(drawn.len(), if round % 2 == 0 { 2 } else { 4 });
            drawn.iter().for_each(|position| seen[*position as usize] += 1);
        }
        assert!(seen.iter().all(|count| count.abs_diff(3000) < 200), "{seen:?}");
        assert!(first.iter().all(|count| count.abs_diff(1000) < 130), "{first:?}");
    }

    #[test]
    fn a_fraction_mixes_its_neighbors() {
        let mut policy = policy(2.25);
        let threes = (0..40_000).filter(|_| policy.samples() == 3).count() as u32;
        assert!(threes.abs_diff(10_000) < 433, "{threes}");
    }

    #[test]
    fn two_choices_match_the_mean_of_two_binomials() {
        // Valid units of 20000 blocks drawn from binomial(64, 1/2); the mean of the smaller of two is 29.7429.
        let mut stream = wane_sim::Streams::new(2).stream("state");
        let valid: Vec<u32> = (0..20_000).map(|_| stream.bits().count_ones()).collect();
        let index = closed(64, &valid, Default::default());
        let erases = vec![0; valid.len()];
        let mut policy = policy(2.0);
        let draws = 200_000;
        let sum: u64 =
            (0..draws).map(|_| u64::from(index.valid(policy.choose(&view(&index, &erases, 0)).unwrap()))).sum();
        let mean = sum as f64 / f64::from(draws);
        assert!((mean / 29.7429 - 1.0).abs() < 0.01, "{mean}");
    }
}
