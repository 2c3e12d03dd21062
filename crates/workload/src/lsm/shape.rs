//! How large the levels of a tree are, and how old what lies in them.
//!
//! A level holds the newest versions of those keys that were last put within a certain time, counted in puts: the memtable the last
//! ones, level 0 those before, and so on. If key k is put with chance p(k), then of T puts D(T) = sum of 1 - (1 - p(k))^T keys are
//! different, and a share D'(T) of all puts is of keys that were not put for T puts before. Both are taken with e^(-p T). Where a
//! level ends follows from D and its size; how much of what enters a level is new to it, from D' at both its ends. It is Che's
//! approximation of a cache (Che, Tung and Wang, 2002), with levels for caches.

use super::LsmConfig;

/// How often keys are put.
#[derive(Clone, Debug)]
pub(super) struct Popularity {
    /// Keys, and the chance that a put is of one of them.
    parts: Vec<(f64, f64)>,
}

/// Ranks are taken one by one up to this one, and then in parts that each end this factor further on.
const RANKS_APART: f64 = 64.0;
const PART_GROWTH: f64 = 1.05;

impl Popularity {
    /// All keys alike.
    pub(super) fn uniform(keys: f64) -> Self {
        Self { parts: vec![(keys, 1.0 / keys)] }
    }

    /// Zipf's law.
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

    /// The chance of a put for the key of this rank, from 0, where Zipf's law holds.
    pub(super) fn chance(&self, rank: u32, exponent: f64) -> f64 {
        self.parts[0].1 * libm::exp(-exponent * libm::log(f64::from(rank) + 1.0))
    }

    /// Different keys of so many puts.
    pub(super) fn distinct(&self, puts: f64) -> f64 {
        self.parts.iter().map(|(count, chance)| -count * libm::expm1(-chance * puts)).sum()
    }

    /// The share of puts whose key was not put for so many puts before.
    pub(super) fn fresh(&self, puts: f64) -> f64 {
        self.parts.iter().map(|(count, chance)| count * chance * libm::exp(-chance * puts)).sum()
    }

    /// The puts of which so many keys are different: fewer than all keys.
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
    /// Bytes that each level holds, from level 1 on; the last one holds every record.
    pub(super) targets: Vec<u64>,
    /// Puts back to which each level but the last reaches beyond level 0.
    pub(super) reaches: Vec<f64>,
    /// Share of a full memtable that a flush writes: its different keys.
    pub(super) flushed: f64,
    /// Share of what enters a level, from level 1 on, whose key it does not hold.
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
        // Half a memtable, and level 0 between empty and full.
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

    /// Bytes written to tables for each byte put, by flushes and into each level from level 1 on, by the formula for leveled
    /// compaction: what leaves a level is merged with so many times as much of the next as that is larger. `density` is how full the
    /// next level is, against what leaves, where they meet: 1 where keys leave in no order.
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
