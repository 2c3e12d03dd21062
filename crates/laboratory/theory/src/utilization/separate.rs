//! Hot and cold data in blocks of their own.

use super::{Blocks, Mix, Victims, uniform};
use crate::error::{TheoryError, between};

/// A drive that keeps hot and cold data apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Separated {
    /// Pages programmed for each page of the host, from 1 on.
    pub write_amplification: f64,
    /// Write amplification of the hot data alone.
    pub hot: f64,
    /// Write amplification of the cold data alone.
    pub cold: f64,
    /// Share of the spare pages that the hot data get.
    pub hot_spare: f64,
}

/// Two pools, each written uniformly, that divide the spare pages: the hot data get `hot_spare` of them, above 0 and below 1.
/// Source: Desnoyers, "Analytic Models of SSD Write Performance", 2014, §6.
///
/// # Errors
/// As [`super::uniform`] for each pool, or shares that are not above 0 and below 1.
pub fn separated(victims: Victims, blocks: Blocks, mix: Mix, hot_spare: f64) -> Result<Separated, TheoryError> {
    blocks.check(super::PAGES_MAX)?;
    mix.check()?;
    between("the hot share of the pages", mix.hot_pages, 0.0, 1.0)?;
    between("the hot share of the spare pages", hot_spare, 0.0, 1.0)?;
    let pool = |pages: f64, spare: f64| {
        let (data, spare) = (pages * blocks.utilization(), spare * blocks.spare_factor);
        let spare_factor = (spare / (data + spare)).clamp(0.001, 0.999);
        uniform(victims, Blocks { spare_factor, ..blocks }).map(|steady| steady.write_amplification)
    };
    let (hot, cold) = (pool(mix.hot_pages, hot_spare)?, pool(1.0 - mix.hot_pages, 1.0 - hot_spare)?);
    let write_amplification = mix.hot_writes * hot + (1.0 - mix.hot_writes) * cold;
    Ok(Separated { write_amplification, hot, cold, hot_spare })
}

/// [`separated`] with the division of the spare pages that gives the least write amplification, by golden sections.
///
/// # Errors
/// As [`separated`].
pub fn separated_best(victims: Victims, blocks: Blocks, mix: Mix) -> Result<Separated, TheoryError> {
    const GOLDEN: f64 = 0.618_033_988_749_894_8;
    let (mut low, mut high) = (1e-4, 1.0 - 1e-4);
    for _ in 0..32 {
        let (left, right) = (high - GOLDEN * (high - low), low + GOLDEN * (high - low));
        let at = |share| separated(victims, blocks, mix, share).map(|found| found.write_amplification);
        if at(left)? <= at(right)? { high = right } else { low = left }
    }
    separated(victims, blocks, mix, (low + high) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_alike_share_the_spare_pages_alike() {
        let blocks = Blocks { pages: 64, spare_factor: 0.1 };
        let alike = Mix { hot_writes: 0.3, hot_pages: 0.3 };
        let want = uniform(Victims::Greedy, blocks).unwrap().write_amplification;
        let found = separated_best(Victims::Greedy, blocks, alike).unwrap();
        assert!(
            (found.write_amplification / want - 1.0).abs() < 2e-3 && (found.hot_spare - 0.3).abs() < 0.05,
            "{found:?}"
        );
        let halves = separated(Victims::Random, blocks, alike, 0.3).unwrap();
        assert!((halves.write_amplification * 0.1 - 1.0).abs() < 1e-8, "{halves:?}");
    }

    #[test]
    fn the_best_share_is_no_worse_than_others() {
        let blocks = Blocks { pages: 64, spare_factor: 0.1 };
        let mix = Mix { hot_writes: 0.9, hot_pages: 0.1 };
        let best = separated_best(Victims::DChoices(10.0), blocks, mix).unwrap();
        for share in 1..20 {
            let other = separated(Victims::DChoices(10.0), blocks, mix, f64::from(share) / 20.0).unwrap();
            assert!(best.write_amplification <= other.write_amplification + 1e-9, "{best:?} {other:?}");
        }
        let mixed = super::super::hot_cold(Victims::DChoices(10.0), blocks, mix).unwrap();
        assert!(best.write_amplification < 0.7 * mixed.write_amplification, "{best:?} {}", mixed.write_amplification);
        let text = separated(Victims::Greedy, blocks, mix, 1.0).unwrap_err().to_string();
        assert_eq!(text, "the hot share of the spare pages: found 1, allowed is above 0 and below 1");
    }
}
