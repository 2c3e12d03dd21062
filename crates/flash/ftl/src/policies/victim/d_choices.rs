//! d-choices, the randomized greedy algorithm: the best of a few blocks drawn at random.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wane_sim::{Stream, Streams};
use wane_units::{Ratio, SuperblockId};

use super::{GcView, IndexSpec, Roster, VictimPolicy};
use crate::policies::state::remembered_by_serde;
use crate::policies::{BlockEvent, Builtin, Needs, ProjectedWear, Setting};

/// See [`DChoicesParams`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DChoices {
    params: DChoicesParams,
    /// Erases of the domain's blocks, and their rated erases. Counted only with a schedule.
    erases: u64,
    rated: Option<u64>,
    stream: Stream,
    #[serde(skip)]
    drawn: Vec<u32>,
    /// Number of the last draw that each position was in. Like `drawn` it serves one draw at a time, so neither is saved.
    #[serde(skip)]
    seen: Vec<u64>,
    #[serde(skip)]
    draws: u64,
}

/// The fewest valid units among d blocks drawn at random.
///
/// Draws `d` different closed blocks and reclaims the one with the fewest valid units; of equals the first one drawn. With
/// `d = 1` the policy is `random`, with `d` as large as the drive it is `greedy`. So one number trades write amplification against
/// even wear. `d` may change with the wear of the drive, and the number of blocks may vary from draw to draw.
///
/// Source: mean-field study (003) §4 and §5 (RGA).
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct DChoicesParams {
    /// Number of blocks drawn, on average.
    #[schemars(range(min = 1, max = D_MAX))]
    pub d: f64,
    /// How the number of blocks varies from draw to draw.
    pub draw: Draw,
    /// Pairs of wear and `d`, such as `[["0 %", 8], ["70 %", 2]]`. Wear is a share of the rated erases; from there on the pair's `d` holds.
    /// The wear must rise from pair to pair. A schedule needs `drive.endurance`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub schedule: Vec<(Ratio, f64)>,
}

/// Distribution of the number of blocks in a draw; `d` is its mean (003 §4.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Draw {
    /// `d` blocks. A fractional `d` mixes its neighbors: with `d = 2.5` half of the draws take 2 blocks, half 3.
    #[default]
    Neighbors,
    /// From 1 to 2 d - 1 blocks, all numbers equally likely.
    Uniform,
    /// 1 or more blocks, each with a chance of 1 / d to be the last: mostly few, sometimes many.
    Geometric,
}

impl Default for DChoicesParams {
    fn default() -> Self {
        Self { d: 2.0, draw: Draw::Neighbors, schedule: Vec::new() }
    }
}

/// Largest `d`. A larger draw costs more than it gains.
const D_MAX: u32 = 4096;

impl Builtin for DChoices {
    const NAME: &'static str = "d-choices";
    type Params = DChoicesParams;

    fn check(params: &DChoicesParams) -> Result<(), String> {
        let mut before = None;
        for (from, d) in &params.schedule {
            if !(1.0..=f64::from(D_MAX)).contains(d) {
                return Err(format!("`schedule`: found d = {d}, allowed are 1 to {D_MAX}"));
            }
            if before.is_some_and(|before| *from <= before) {
                return Err(format!("`schedule`: found {from} after {}, but wear must rise", before.unwrap_or(*from)));
            }
            before = Some(*from);
        }
        Ok(())
    }

    fn build(params: DChoicesParams) -> Self {
        Self {
            params,
            erases: 0,
            rated: None,
            stream: Streams::new(0).stream("gc"),
            drawn: Vec::new(),
            seen: Vec::new(),
            draws: 0,
        }
    }
}

impl DChoices {
    /// Mean number of blocks in a draw at the present wear.
    fn d(&self) -> f64 {
        let reached = |from: &Ratio| self.rated.is_some_and(|rated| self.erases as f64 >= from.get() * rated as f64);
        let last = self.params.schedule.iter().rfind(|(from, _)| reached(from));
        last.map_or(self.params.d, |(_, d)| *d)
    }

    /// Draws the number of blocks of the next draw.
    fn samples(&mut self) -> u32 {
        let d = self.d();
        if self.params.draw == Draw::Geometric && d > 1.0 {
            let beyond = libm::floor(libm::log(1.0 - self.stream.unit()) / libm::log(1.0 - 1.0 / d));
            return 1 + beyond as u32;
        }
        let floor = d as u32;
        let fraction = d - f64::from(floor);
        let mean = floor + u32::from(fraction > 0.0 && self.stream.chance(fraction));
        match self.params.draw {
            Draw::Uniform => 1 + self.stream.below(u64::from(2 * mean - 1)) as u32,
            Draw::Neighbors | Draw::Geometric => mean,
        }
    }

    /// Draws `samples` different positions below `population`. Every sequence of them is equally likely.
    fn draw(&mut self, population: u32, samples: u32) {
        debug_assert!(samples <= population, "more positions than there are would be sought for ever");
        self.drawn.clear();
        if 2 * samples > population {
            // More than half of the positions are drawn: shuffle all, and keep the first.
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
        self.rated = setting.endurance.map(|endurance| u64::from(endurance) * u64::from(setting.blocks));
        self.stream = setting.stream;
    }

    fn heard(&mut self, event: BlockEvent, _block: SuperblockId, _erase_count: u32) {
        self.erases += u64::from(matches!(event, BlockEvent::Erased(_)));
    }

    fn resync(&mut self, wear: &ProjectedWear<'_>) {
        self.erases = wear.erase_count.iter().copied().map(u64::from).sum();
    }

    fn needs(&self) -> Needs {
        Needs { endurance: !self.params.schedule.is_empty(), ..Needs::default() }
    }

    fn index(&self) -> IndexSpec {
        IndexSpec { lowest_only: true, roster: Roster::ByPosition, ..IndexSpec::default() }
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
        of(DChoicesParams { d, ..DChoicesParams::default() })
    }

    fn of(params: DChoicesParams) -> DChoices {
        DChoices { stream: wane_sim::Streams::new(5).stream("gc"), ..DChoices::build(params) }
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
    fn draws_around_a_mean_keep_it_and_spread_as_they_should() {
        // Variances: of a mix of two neighbors; m (m - 1) / 3 for a uniform one around m, plus that of the mix; d (d - 1).
        for (draw, mean, variance) in [
            (Draw::Neighbors, 3.5, 0.25),
            (Draw::Uniform, 3.0, 2.0),
            (Draw::Uniform, 3.5, 3.25),
            (Draw::Geometric, 3.5, 8.75),
            (Draw::Geometric, 1.0, 0.0),
        ] {
            let mut policy = of(DChoicesParams { d: mean, draw, ..DChoicesParams::default() });
            let drawn: Vec<f64> = (0..200_000).map(|_| f64::from(policy.samples())).collect();
            let found = drawn.iter().sum::<f64>() / drawn.len() as f64;
            let spread = drawn.iter().map(|drawn| (drawn - mean).powi(2)).sum::<f64>() / drawn.len() as f64;
            assert!(drawn.iter().all(|drawn| *drawn >= 1.0));
            assert!(
                (found - mean).abs() < 0.03 && (spread - variance).abs() < 0.2,
                "{draw:?} {mean}: {found} {spread}"
            );
        }
    }

    #[test]
    fn a_schedule_follows_the_mean_erase_count() {
        let schedule = vec![(Ratio::new(0.1).unwrap(), 8.0), (Ratio::new(0.7).unwrap(), 2.0)];
        let mut policy = of(DChoicesParams { d: 3.0, schedule, ..DChoicesParams::default() });
        let stream = wane_sim::Streams::new(5).stream("gc");
        let first = SuperblockId(0);
        policy.begin(Setting { first, blocks: 10, units_per_block: 4, endurance: Some(10), rated_blocks: 9, stream });
        assert_eq!(policy.d(), 3.0);
        let erased = BlockEvent::Erased(crate::policies::EraseCause::GarbageCollection);
        let wear = |erases: u32, policy: &mut DChoices| (0..erases).for_each(|_| policy.heard(erased, first, 1));
        for (erases, d) in [(9, 3.0), (1, 8.0), (59, 8.0), (1, 2.0)] {
            wear(erases, &mut policy);
            assert_eq!(policy.d(), d);
        }
        let states = [wane_units::BlockState::Free; 10];
        policy.resync(&ProjectedWear { first, erase_count: &[5; 10], states: &states });
        assert_eq!(policy.d(), 8.0);
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
