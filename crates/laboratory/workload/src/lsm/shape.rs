//! The sizes of a tree's levels, and the ages of the versions in them.
//!
//! A level holds the newest versions of the keys whose last put was within a certain time, counted in puts: the memtable has the last
//! ones, level 0 those before, and so on. If key k is put with chance p(k), then T puts have D(T) = sum of 1 - (1 - p(k))^T different
//! keys, and a share D'(T) of all puts is of keys that were not put in the T puts before. Both are computed with e^(-p T). The end of a
//! level follows from D and its size. The share of what enters a level that is new to it follows from D' at both its ends. This is Che's
//! approximation of a cache (Che, Tung and Wang, 2002), with levels as caches.

use super::LsmConfig;

/// The popularity of keys for puts.
#[derive(Clone, Debug)]
pub(super) struct Popularity {
    /// Groups of keys: their number, and the chance that a put is of one key of the group.
    parts: Vec<(f64, f64)>,
}

/// Ranks below this are not grouped.
const RANKS_APART: f64 = 64.0;
/// First rank after a group of higher ranks, divided by the first rank in it.
const PART_GROWTH: f64 = 1.05;

impl Popularity {
    /// All keys equally often.
    pub(super) fn uniform(keys: f64) -> Self {
        Self { parts: vec![(keys, 1.0 / keys)] }
    }

    /// By Zipf's law.
    pub(super) fn zipf(keys: f64, exponent: f64) -> Self {
        let (mut parts, mut from) = (Vec::new(), 1.0_f64);
        while from <= keys {
            let until = if from < RANKS_APART { from + 1.0 } else { libm::floor(from * PART_GROWTH) };
            let until = until.min(libm::floor(keys) + 1.0);
            let middle = 0.5 * (from + until - 1.0);
            parts.push((until - from, libm::exp(-exponent * libm::log(middle))));
            from = until;
        }
        let sum: f64 = parts.iter().map(|(count, weight)| count * weight).sum();
        parts.iter_mut().for_each(|(_, weight)| *weight /= sum);
        Self { parts }
    }

    /// The chance that a put is of the key of this rank, from 0, under Zipf's law.
    pub(super) fn chance(&self, rank: u32, exponent: f64) -> f64 {
        self.parts[0].1 * libm::exp(-exponent * libm::log(f64::from(rank) + 1.0))
    }

    /// Number of different keys in `puts` puts.
    pub(super) fn distinct(&self, puts: f64) -> f64 {
        self.parts.iter().map(|(count, chance)| -count * libm::expm1(-chance * puts)).sum()
    }

    /// Share of the puts whose key was not put in the `puts` puts before.
    pub(super) fn fresh(&self, puts: f64) -> f64 {
        self.parts.iter().map(|(count, chance)| count * chance * libm::exp(-chance * puts)).sum()
    }

    /// Number of puts with `distinct` different keys, which must be fewer than all keys.
    pub(super) fn puts_for(&self, distinct: f64) -> f64 {
        let (mut low, mut high) = (0.0, distinct.max(1.0));
        for _ in 0..1000 {
            if self.distinct(high) >= distinct {
                break;
            }
            (low, high) = (high, 2.0 * high);
        }
        for _ in 0..100 {
            let middle = 0.5 * (low + high);
            if self.distinct(middle) < distinct { low = middle } else { high = middle }
        }
        high
    }
}

/// A tree in its steady state.
#[derive(Clone, Debug)]
pub(super) struct Shape {
    /// Records of a full memtable.
    pub(super) memtable_records: u64,
    /// Bytes of each level, from level 1 on. The last level holds every record.
    pub(super) targets: Vec<u64>,
    /// For each level but the last, how many puts beyond level 0 it reaches back.
    pub(super) reaches: Vec<f64>,
    /// Share of a full memtable that a flush writes, since its keys repeat.
    pub(super) flushed: f64,
    /// For each level from level 1 on, the share of what enters it whose key it does not hold.
    pub(super) kept: Vec<f64>,
}

impl Shape {
    pub(super) fn new(config: &LsmConfig, popularity: &Popularity) -> Self {
        let records = |bytes: u64| bytes as f64 / config.record_bytes as f64;
        let memtable_records = (config.memtable_bytes / config.record_bytes).max(1);
        let mut targets = vec![config.data_bytes];
        while targets[0] > config.level_base_bytes {
            targets.insert(0, (targets[0] / u64::from(config.fan_out)).max(1));
        }
        let memtable = memtable_records as f64;
        let flushed = (popularity.distinct(memtable) / memtable).min(1.0);
        // On average the memtable is half full, and level 0 as well.
        let before = memtable * (0.5 + 0.5 * f64::from(config.level0_tables));
        let (mut reaches, mut kept, mut flow, mut above) = (Vec::new(), Vec::new(), flushed, 0.0);
        for target in &targets[..targets.len() - 1] {
            above += records(*target);
            let reach = popularity.puts_for(above);
            let leaves = popularity.fresh(before + reach).min(flow);
            kept.push(if flow > 0.0 { leaves / flow } else { 0.0 });
            (flow, reaches) = (leaves, [reaches, vec![reach]].concat());
        }
        // The last level holds every key already.
        kept.push(0.0);
        Self { memtable_records, targets, reaches, flushed, kept }
    }

    /// Bytes written to tables for each byte put, by flushes and into each level from level 1 on. By the formula for leveled
    /// compaction, data that leave a level are merged with data of the next level in the ratio of their sizes. `density` is the density of the
    /// next level relative to the leaving data where they meet; it is 1 if keys leave in no order.
    pub(super) fn written(&self, config: &LsmConfig, density: f64) -> Vec<f64> {
        let of_level0 = self.flushed * f64::from(config.level0_tables) * config.memtable_bytes as f64;
        let mut written =
            vec![self.flushed, self.flushed * self.kept[0] + self.flushed * self.targets[0] as f64 / of_level0];
        let mut flow = self.flushed * self.kept[0];
        for (level, kept) in self.kept.iter().enumerate().skip(1) {
            let ratio = self.targets[level] as f64 / self.targets[level - 1] as f64;
            written.push(flow * (kept + density * ratio));
            flow *= kept;
        }
        written
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_keys_are_counted_as_they_are_drawn() {
        let uniform = Popularity::uniform(1000.0);
        // 1000 (1 - e^-1) and e^-1.
        assert!((uniform.distinct(1000.0) - 632.12).abs() < 0.01);
        assert!((uniform.fresh(1000.0) - 0.36788).abs() < 1e-5);
        assert!((uniform.puts_for(632.12) - 1000.0).abs() < 0.1);
        // Against the sum over each rank.
        let keys = 100_000;
        let weights: Vec<f64> = (1..=keys).map(|rank| f64::from(rank).powf(-0.99)).collect();
        let sum: f64 = weights.iter().sum();
        let zipf = Popularity::zipf(f64::from(keys), 0.99);
        for puts in [10.0, 1e3, 1e5, 1e7] {
            let distinct: f64 = weights.iter().map(|weight| 1.0 - (-weight / sum * puts).exp()).sum();
            let fresh: f64 = weights.iter().map(|weight| weight / sum * (-weight / sum * puts).exp()).sum();
            let (found, found_fresh) = (zipf.distinct(puts), zipf.fresh(puts));
            assert!((found / distinct - 1.0).abs() < 1e-3, "{puts}: {found} and {distinct}");
            assert!((found_fresh - fresh).abs() < 1e-3, "{puts}: {found_fresh} and {fresh}");
        }
        assert!((zipf.chance(9, 0.99) - weights[9] / sum).abs() < 1e-5);
    }
}
