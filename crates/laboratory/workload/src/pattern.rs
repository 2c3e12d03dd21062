//! Synthetic patterns: draws addresses by rule, in batches, without floating point in the common loops.
//!
//! Every generator is a pure function of its stream, so a batch's size never changes what is drawn.

use wane_archive::{Archive, ArchiveError};
use wane_sim::Stream;

use crate::source::SHARE_MIN;
use crate::zipf::{Zipf, ZipfTable, threshold};
use crate::{Batch, Drawn, Op, Source, SourceError};

/// The shape of a pattern.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// All pages equally often.
    Uniform,
    /// `r` of the accesses go to the first `h` of the footprint, uniform within both parts.
    HotCold {
        /// Share of the accesses.
        r: f64,
        /// Pages of the hot part, at least 1 and less than the footprint unless `r` is 0 or 1.
        hot_pages: u32,
    },
    /// Zipf's law with exponent theta; rank 1 is the most popular page.
    Zipf {
        /// Theta, 0 and up.
        exponent: f64,
        /// Ranks are spread over the footprint by a fixed permutation.
        scramble: bool,
    },
    /// The same law by a table, with other random draws and several times as fast.
    ZipfTable {
        /// Theta, 0 and up.
        exponent: f64,
        /// Ranks are spread over the footprint by a fixed permutation.
        scramble: bool,
    },
    /// In order, wrapping at the end of the footprint.
    Sequential,
    /// Sequential requests mixed with uniform ones.
    Hybrid {
        /// Share of the sequential ones.
        sequential_share: f64,
    },
    /// The skew of JESD219: 50 % of the accesses on the first 5 % of the pages, 30 % on the next 15 %, 20 % on the
    /// rest. The standard's mix of request sizes is left out: `request_pages` sets one size.
    Jesd219,
}

/// A pattern and its requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PatternConfig {
    /// Which pages.
    pub shape: Shape,
    /// Number of pages touched, from 0 on. At least `request_pages`.
    pub footprint_pages: u32,
    /// Pages of a request, at least 1. A request that would leave the footprint starts earlier.
    pub request_pages: u32,
    /// Share of the requests that read.
    pub read_share: f64,
    /// Share of the requests that trim.
    pub trim_share: f64,
}

impl PatternConfig {
    /// Checks that a source can be built.
    ///
    /// # Errors
    /// The first value that is out of its range.
    pub fn check(&self) -> Result<(), PatternError> {
        let Self { shape, footprint_pages: footprint, request_pages, read_share, trim_share } = *self;
        if !(1..=footprint).contains(&request_pages) {
            return Err(PatternError::Request { footprint, found: request_pages });
        }
        let share = |name, found| (0.0..=1.0).contains(&found).then_some(()).ok_or(PatternError::Share { name, found });
        share("read", read_share)?;
        share("trim", trim_share)?;
        // Shares come from decimal text; their sum may be off by a rounding.
        if read_share + trim_share > 1.0 + 1e-9 {
            return Err(PatternError::Share { name: "read and trim", found: read_share + trim_share });
        }
        match shape {
            Shape::HotCold { r, hot_pages } => {
                share("hot", r)?;
                let fits = hot_pages <= footprint && (hot_pages > 0 || r == 0.0) && (hot_pages < footprint || r == 1.0);
                fits.then_some(()).ok_or(PatternError::HotPages { footprint, found: hot_pages })
            }
            Shape::Zipf { exponent, .. } | Shape::ZipfTable { exponent, .. }
                if !(0.0..f64::INFINITY).contains(&exponent) =>
            {
                Err(PatternError::Exponent { found: exponent })
            }
            Shape::Hybrid { sequential_share } => share("sequential", sequential_share),
            _ => Ok(()),
        }
    }
}

/// Reasons why a pattern is impossible.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PatternError {
    /// A request does not fit the footprint.
    #[error("a request has {found} pages; allowed are 1 to {footprint}, the footprint")]
    Request {
        /// Pages of the footprint.
        footprint: u32,
        /// Pages of a request.
        found: u32,
    },
    /// A share is out of range.
    #[error("the {name} share is {found}; allowed is 0 to 1")]
    Share {
        /// What is shared.
        name: &'static str,
        /// The share.
        found: f64,
    },
    /// A part that gets accesses has no page.
    #[error(
        "{found} of {footprint} pages are hot; a hot and a cold part that get accesses need at least one page each"
    )]
    HotPages {
        /// Pages of the footprint.
        footprint: u32,
        /// Pages of the hot part.
        found: u32,
    },
    /// An exponent is out of range.
    #[error("Zipf's exponent is {found}; a finite number from 0 on is allowed")]
    Exponent {
        /// The exponent.
        found: f64,
    },
}

/// A pattern as a source. It never ends.
#[derive(Clone, Debug)]
pub struct PatternSource {
    config: PatternConfig,
    stream: Stream,
    picker: Picker,
    /// The rest of a request that did not fit the last batch: kind, next page, pages.
    rest: Option<(Op, u32, u32)>,
    /// A request drawn for a batch of another kind.
    drawn: Option<(Op, u32)>,
}

impl PatternSource {
    /// Makes the pattern, which draws from `stream`.
    ///
    /// # Panics
    /// [`PatternConfig::check`] refuses the config. Callers must check it first.
    pub fn new(config: PatternConfig, stream: Stream) -> Self {
        if let Err(refusal) = config.check() {
            panic!("{refusal}");
        }
        Self { picker: Picker::new(&config), config, stream, rest: None, drawn: None }
    }

    #[inline(always)]
    fn draw(&mut self) -> (Op, u32) {
        let Self { config, stream, picker, .. } = self;
        let op = match () {
            () if config.read_share == 0.0 && config.trim_share == 0.0 => Op::Write,
            () => {
                let draw = stream.unit();
                match () {
                    () if draw < config.read_share => Op::Read,
                    () if draw < config.read_share + config.trim_share => Op::Trim,
                    () => Op::Write,
                }
            }
        };
        let last_start = config.footprint_pages - config.request_pages;
        // Only pages of Zipf's ranks may be too far up for a whole request.
        (op, picker.pick(stream, config.request_pages).min(last_start))
    }
}

impl Source for PatternSource {
    fn next(&mut self, batch: &mut Batch, pages_max: usize, requests_max: u64) -> Result<Drawn, SourceError> {
        batch.clear();
        if self.config.request_pages == 1 && requests_max == 1 && pages_max > 0 {
            // A request of one page leaves no rest.
            let (op, page) = self.drawn.take().unwrap_or_else(|| self.draw());
            batch.op = op;
            batch.pages.push(page);
            batch.requests = 1;
            return Ok(Drawn::More);
        }
        batch.requests = 0;
        let one_kind = self.config.read_share == 0.0 && self.config.trim_share == 0.0;
        if self.config.request_pages == 1 && one_kind {
            let count = pages_max.min(usize::try_from(requests_max).unwrap_or(usize::MAX));
            batch.op = Op::Write;
            self.picker.fill(&mut self.stream, &mut batch.pages, count);
            debug_assert!(batch.pages.iter().all(|page| *page < self.config.footprint_pages), "pages of the footprint");
            batch.requests = count as u64;
            return Ok(Drawn::More);
        }
        while batch.pages.len() < pages_max && batch.requests < requests_max {
            let (op, start, pages) = match (self.rest.take(), self.drawn.take()) {
                (Some(rest), _) => rest,
                (None, Some((op, start))) => (op, start, self.config.request_pages),
                (None, None) => {
                    let (op, start) = self.draw();
                    (op, start, self.config.request_pages)
                }
            };
            if !batch.pages.is_empty() && op != batch.op {
                self.drawn = Some((op, start));
                break;
            }
            batch.op = op;
            let fits = pages.min((pages_max - batch.pages.len()) as u32);
            batch.pages.extend(start..start + fits);
            if fits < pages {
                self.rest = Some((op, start + fits, pages - fits));
            } else {
                batch.end_request();
            }
        }
        Ok(Drawn::More)
    }

    fn never_writes(&self) -> bool {
        // As in the check of the config, the shares come from decimal text.
        self.config.read_share + self.config.trim_share >= 1.0 - SHARE_MIN
    }

    fn try_clone(&self) -> Result<Box<dyn Source>, SourceError> {
        Ok(Box::new(self.clone()))
    }

    fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        archive.field("pattern.stream", &mut self.stream)?;
        let mut next = self.picker.next();
        archive.field("pattern.next", &mut next)?;
        self.picker.set_next(next);
        archive.field("pattern.rest", &mut self.rest)?;
        archive.field("pattern.drawn", &mut self.drawn)
    }
}

/// Draws first pages.
#[derive(Clone, Debug)]
enum Picker {
    Uniform {
        pages: u64,
    },
    /// Consecutive parts with the cumulative chance, of 2^32, that the access falls in or before each.
    Parts(Vec<Part>),
    Zipf {
        law: Zipf,
        spread: Option<Spread>,
    },
    ZipfTable {
        law: ZipfTable,
        spread: Option<Spread>,
    },
    Sequential {
        next: u32,
        pages: u32,
    },
    Hybrid {
        sequential: u64,
        next: u32,
        pages: u32,
    },
}

#[derive(Clone, Copy, Debug)]
struct Part {
    below: u64,
    first: u64,
    pages: u64,
}

impl Picker {
    fn new(config: &PatternConfig) -> Self {
        let pages = config.footprint_pages;
        match config.shape {
            Shape::Uniform => Self::Uniform { pages: u64::from(pages) },
            Shape::HotCold { r, hot_pages } => Self::parts(&[(r, hot_pages), (1.0 - r, pages - hot_pages)]),
            Shape::Jesd219 => {
                let (hot, warm) = (pages.div_ceil(20), (pages / 5).saturating_sub(pages.div_ceil(20)));
                Self::parts(&[(0.5, hot), (0.3, warm), (0.2, pages - hot - warm)])
            }
            Shape::Zipf { exponent, scramble } => {
                Self::Zipf { law: Zipf::new(pages, exponent), spread: scramble.then(|| Spread::new(pages)) }
            }
            Shape::ZipfTable { exponent, scramble } => {
                Self::ZipfTable { law: ZipfTable::new(pages, exponent), spread: scramble.then(|| Spread::new(pages)) }
            }
            Shape::Sequential => Self::Sequential { next: 0, pages },
            Shape::Hybrid { sequential_share } => {
                Self::Hybrid { sequential: threshold(sequential_share), next: 0, pages }
            }
        }
    }

    /// Parts of the footprint with their chances. An empty part's chance goes to the next one, or to the last.
    /// Where the next sequential request begins.
    fn next(&self) -> u32 {
        match self {
            Self::Sequential { next, .. } | Self::Hybrid { next, .. } => *next,
            Self::Uniform { .. } | Self::Parts(_) | Self::Zipf { .. } | Self::ZipfTable { .. } => 0,
        }
    }

    fn set_next(&mut self, to: u32) {
        if let Self::Sequential { next, .. } | Self::Hybrid { next, .. } = self {
            *next = to;
        }
    }

    fn parts(parts: &[(f64, u32)]) -> Self {
        let (mut below, mut first) = (0.0, 0u64);
        let mut built: Vec<Part> = Vec::new();
        for (chance, pages) in parts {
            below += chance;
            if *pages > 0 {
                built.push(Part { below: threshold(below), first, pages: u64::from(*pages) });
                first += u64::from(*pages);
            }
        }
        if let Some(last) = built.last_mut() {
            last.below = 1 << 32;
        }
        assert!(!built.is_empty(), "a footprint has a part with a page");
        assert!(
            built.is_sorted_by_key(|part| part.below),
            "the chance to fall in or before a part grows from part to part"
        );
        Self::Parts(built)
    }

    /// Two draws: one for the part, one for the page in it.
    #[inline(always)]
    fn pick_part(parts: &[Part], stream: &mut Stream, request_pages: u32) -> u32 {
        let choice = stream.bits() >> 32;
        let mut part = parts[0];
        for next in &parts[1..] {
            if choice >= part.below {
                part = *next;
            }
        }
        (part.first + slot(stream, part.pages, request_pages)) as u32
    }

    fn pick(&mut self, stream: &mut Stream, request_pages: u32) -> u32 {
        match self {
            Self::Uniform { pages } => slot(stream, *pages, request_pages) as u32,
            Self::Parts(parts) => Self::pick_part(parts, stream, request_pages),
            Self::Zipf { law, spread } => {
                let rank = law.draw(stream);
                spread.as_ref().map_or(rank, |spread| spread.place(rank))
            }
            Self::ZipfTable { law, spread } => {
                let rank = law.draw(stream);
                spread.as_ref().map_or(rank, |spread| spread.place(rank))
            }
            Self::Sequential { next, pages } => step(next, *pages, request_pages),
            Self::Hybrid { sequential, next, pages } => {
                if stream.bits() >> 32 < *sequential {
                    step(next, *pages, request_pages)
                } else {
                    slot(stream, u64::from(*pages), request_pages) as u32
                }
            }
        }
    }

    /// Draws many requests of one page.
    fn fill(&mut self, stream: &mut Stream, out: &mut Vec<u32>, count: usize) {
        match self {
            Self::Uniform { pages } => {
                let pages = *pages;
                out.extend((0..count).map(|_| stream.below(pages) as u32));
            }
            Self::Parts(parts) => match parts[..] {
                [hot, cold] => out.extend((0..count).map(|_| Self::pick_part(&[hot, cold], stream, 1))),
                _ => out.extend((0..count).map(|_| Self::pick_part(parts, stream, 1))),
            },
            _ => out.extend((0..count).map(|_| self.pick(stream, 1))),
        }
    }
}

/// Draws the start of a request within a range of pages: a multiple of its size, so that all pages are accessed equally often. If the
/// range is not a multiple, the last request ends with it.
#[inline(always)]
fn slot(stream: &mut Stream, pages: u64, request_pages: u32) -> u64 {
    if request_pages == 1 {
        return stream.below(pages);
    }
    let request = u64::from(request_pages);
    (stream.below(pages.div_ceil(request)) * request).min(pages.saturating_sub(request))
}

/// The next sequential request. The last one ends with the footprint, then they start over.
fn step(next: &mut u32, pages: u32, request_pages: u32) -> u32 {
    let start = if *next >= pages { 0 } else { (*next).min(pages - request_pages) };
    debug_assert!(start + request_pages <= pages, "a request ends within the footprint");
    *next = start + request_pages;
    start
}

/// A fixed permutation of `0..pages`: four Feistel rounds on the next even power of two, repeated until the result is inside.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spread {
    pages: u64,
    half_bits: u32,
}

impl Spread {
    pub(crate) fn new(pages: u32) -> Self {
        let bits = u64::from(pages).next_power_of_two().trailing_zeros().max(2);
        Self { pages: u64::from(pages), half_bits: bits.div_ceil(2) }
    }

    pub(crate) fn place(&self, rank: u32) -> u32 {
        debug_assert!(u64::from(rank) < self.pages, "beyond the pages the permutation would give some of them twice");
        let mut value = u64::from(rank);
        loop {
            value = self.round_trip(value);
            if value < self.pages {
                return value as u32;
            }
        }
    }

    fn round_trip(&self, value: u64) -> u64 {
        let mask = (1u64 << self.half_bits) - 1;
        let (mut left, mut right) = (value >> self.half_bits, value & mask);
        for round in 1..=4u64 {
            let mixed = (right + round).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 29;
            (left, right) = (right, left ^ (mixed & mask));
        }
        (left << self.half_bits) | right
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wane_sim::Streams;

    fn source(shape: Shape, footprint_pages: u32) -> PatternSource {
        let config = PatternConfig { shape, footprint_pages, request_pages: 1, read_share: 0.0, trim_share: 0.0 };
        PatternSource::new(config, Streams::new(1).stream("workload"))
    }

    fn pages(source: &mut PatternSource, count: usize) -> Vec<u32> {
        let mut batch = Batch::default();
        let mut all = Vec::new();
        while all.len() < count {
            source.next(&mut batch, (count - all.len()).min(1000), u64::MAX).unwrap();
            all.extend_from_slice(&batch.pages);
        }
        all
    }

    const HOT_COLD: Shape = Shape::HotCold { r: 0.9, hot_pages: 100 };
    const ZIPF: Shape = Shape::Zipf { exponent: 1.2, scramble: true };
    const HYBRID: Shape = Shape::Hybrid { sequential_share: 0.5 };
    const SHAPES: [Shape; 6] = [Shape::Uniform, HOT_COLD, ZIPF, Shape::Sequential, HYBRID, Shape::Jesd219];

    #[test]
    fn the_first_pages_never_change() {
        let first = SHAPES.map(|shape| pages(&mut source(shape, 1000), 4));
        assert_eq!(first, GOLDEN);
    }

    const GOLDEN: [[u32; 4]; 6] = [
        [834, 100, 911, 136],
        [10, 222, 32, 41],
        [388, 884, 388, 283],
        [0, 1, 2, 3],
        [100, 136, 326, 415],
        [280, 309, 461, 112],
    ];

    #[test]
    fn batches_do_not_change_what_is_drawn() {
        for shape in SHAPES {
            let whole = pages(&mut source(shape, 777), 3000);
            let mut single = source(shape, 777);
            let mut batch = Batch::default();
            for page in whole {
                single.next(&mut batch, 1, u64::MAX).unwrap();
                assert_eq!(batch.pages, [page]);
                assert!(page < 777);
            }
        }
    }

    #[test]
    fn hot_pages_get_their_share() {
        let n = 100_000;
        let hot = pages(&mut source(HOT_COLD, 1000), n).into_iter().filter(|page| *page < 100).count();
        // r +- 3 sqrt(r (1 - r) / n)
        assert!((hot as f64 / n as f64 - 0.9).abs() < 3.0 * (0.09 / n as f64).sqrt(), "{hot}");
    }

    #[test]
    fn jesd219_skews_in_three_steps() {
        let n = 100_000usize;
        let drawn = pages(&mut source(Shape::Jesd219, 1000), n);
        for (range, share) in [(0..50, 0.5), (50..200, 0.3), (200..1000, 0.2)] {
            let found = drawn.iter().filter(|page| range.contains(*page)).count() as f64 / n as f64;
            assert!((found - share).abs() < 4.0 * (share * (1.0 - share) / n as f64).sqrt(), "{range:?} {found}");
        }
    }

    #[test]
    fn zipf_follows_its_law() {
        let laws = [0.0, 0.5, 1.0, 1.2, 3.0].map(|exponent| {
            [Shape::Zipf { exponent, scramble: false }, Shape::ZipfTable { exponent, scramble: false }]
                .map(|shape| (exponent, shape))
        });
        for (exponent, shape) in laws.into_iter().flatten() {
            let n = 200_000;
            let drawn = pages(&mut source(shape, 50), n);
            let weight: f64 = (1..=50).map(|rank| f64::from(rank).powf(-exponent)).sum();
            for rank in 1..=50u32 {
                let expected = n as f64 * f64::from(rank).powf(-exponent) / weight;
                let found = drawn.iter().filter(|page| **page == rank - 1).count() as f64;
                assert!(
                    (found - expected).abs() < 5.0 * expected.sqrt() + 1.0,
                    "theta {exponent} rank {rank}: {found} {expected}"
                );
            }
        }
    }

    #[test]
    fn zipf_follows_its_law_over_a_million_ranks() {
        // Decades of ranks: their shares are known, and each is met often enough.
        let (ranks, n) = (1_000_000u32, 1_000_000usize);
        let laws = [0.8, 1.0, 1.2].map(|exponent| {
            [Shape::Zipf { exponent, scramble: false }, Shape::ZipfTable { exponent, scramble: false }]
                .map(|shape| (exponent, shape))
        });
        for (exponent, shape) in laws.into_iter().flatten() {
            let drawn = pages(&mut source(shape, ranks), n);
            let weight = |from: u32, to: u32| (from..to).map(|rank| f64::from(rank + 1).powf(-exponent)).sum::<f64>();
            let whole = weight(0, ranks);
            let mut chi_square = 0.0;
            for (from, to) in
                [(0, 1), (1, 10), (10, 100), (100, 1000), (1000, 10_000), (10_000, 100_000), (100_000, ranks)]
            {
                let expected = n as f64 * weight(from, to) / whole;
                let found = drawn.iter().filter(|page| (from..to).contains(*page)).count() as f64;
                chi_square += (found - expected) * (found - expected) / expected;
            }
            // The 99.9 % quantile of chi-square with 6 degrees of freedom.
            assert!(chi_square < 22.5, "theta {exponent}: {chi_square}");
        }
    }

    #[test]
    fn requests_of_many_pages_stay_in_the_footprint() {
        for (shape, request_pages) in SHAPES.into_iter().flat_map(|shape| [2, 7, 500, 1000].map(|pages| (shape, pages)))
        {
            let config = PatternConfig { request_pages, ..source(shape, 1000).config };
            let mut source = PatternSource::new(config, Streams::new(1).stream("workload"));
            let mut batch = Batch::default();
            for _ in 0..300 {
                source.next(&mut batch, 4096, 1).unwrap();
                assert_eq!((batch.pages.len(), batch.requests), (request_pages as usize, 1));
                assert!(
                    batch.pages.is_sorted() && batch.pages.iter().all(|page| *page < 1000),
                    "{shape:?} {request_pages}"
                );
            }
        }
    }

    #[test]
    fn a_pattern_that_cannot_be_is_refused() {
        let good = source(Shape::Uniform, 100).config;
        let shaped = |shape| PatternConfig { shape, ..good };
        let hot_cold = |r, hot_pages| shaped(Shape::HotCold { r, hot_pages });
        for (config, reason) in [
            (PatternConfig { request_pages: 0, ..good }, "a request has 0 pages; allowed are 1 to 100, the footprint"),
            (PatternConfig { request_pages: 101, ..good }, "a request has 101 pages"),
            (PatternConfig { footprint_pages: 0, ..good }, "allowed are 1 to 0"),
            (PatternConfig { read_share: -0.1, ..good }, "the read share is -0.1; allowed is 0 to 1"),
            (PatternConfig { trim_share: f64::NAN, ..good }, "the trim share is NaN"),
            (PatternConfig { read_share: 0.75, trim_share: 0.5, ..good }, "the read and trim share is 1.25"),
            (hot_cold(1.5, 10), "the hot share is 1.5"),
            (hot_cold(0.9, 0), "0 of 100 pages are hot"),
            (hot_cold(0.9, 100), "100 of 100 pages are hot"),
            (hot_cold(1.0, 101), "101 of 100 pages are hot"),
            (shaped(Shape::Zipf { exponent: -1.0, scramble: true }), "Zipf's exponent is -1"),
            (shaped(Shape::Zipf { exponent: f64::INFINITY, scramble: true }), "Zipf's exponent is inf"),
            (shaped(Shape::Hybrid { sequential_share: 2.0 }), "the sequential share is 2"),
        ] {
            let refusal = config.check().unwrap_err().to_string();
            assert!(refusal.contains(reason), "{refusal}");
        }
        for config in
            [good, hot_cold(0.0, 0), hot_cold(1.0, 100), PatternConfig { read_share: 0.7, trim_share: 0.3, ..good }]
        {
            assert_eq!(config.check(), Ok(()));
        }
    }

    #[test]
    fn a_spread_is_a_permutation() {
        for pages in [1u32, 2, 5, 64, 1000, 4097] {
            let spread = Spread::new(pages);
            let mut seen: Vec<u32> = (0..pages).map(|rank| spread.place(rank)).collect();
            seen.sort_unstable();
            assert_eq!(seen, (0..pages).collect::<Vec<_>>());
        }
    }

    #[test]
    fn sequential_requests_wrap_and_stay_whole() {
        let config = PatternConfig {
            shape: Shape::Sequential,
            footprint_pages: 10,
            request_pages: 4,
            read_share: 0.0,
            trim_share: 0.0,
        };
        let mut source = PatternSource::new(config, Streams::new(1).stream("workload"));
        let mut batch = Batch::default();
        source.next(&mut batch, 6, u64::MAX).unwrap();
        assert_eq!((batch.pages.as_slice(), batch.requests), (&[0, 1, 2, 3, 4, 5][..], 1));
        source.next(&mut batch, 100, 2).unwrap();
        assert_eq!((batch.pages.as_slice(), batch.requests), (&[6, 7, 6, 7, 8, 9][..], 2));
    }

    #[test]
    fn kinds_keep_their_shares_and_their_batches() {
        let config =
            PatternConfig { read_share: 0.5, trim_share: 0.1, request_pages: 2, ..source(Shape::Uniform, 100).config };
        let mut source = PatternSource::new(config, Streams::new(1).stream("workload"));
        let (mut batch, mut counts) = (Batch::default(), [0u64; 3]);
        for _ in 0..20_000 {
            source.next(&mut batch, 64, 10).unwrap();
            assert_eq!(batch.pages.len() as u64, 2 * batch.requests);
            counts[batch.op as usize] += batch.requests;
        }
        let total = counts.iter().sum::<u64>() as f64;
        let shares = counts.map(|count| count as f64 / total);
        assert!((shares[0] - 0.5).abs() < 0.02 && (shares[2] - 0.1).abs() < 0.02, "{shares:?}");
    }

    #[test]
    fn requests_of_several_pages_keep_the_shares_and_meet_every_page() {
        let run = |shape, footprint_pages, request_pages: u32| {
            let config = PatternConfig { shape, footprint_pages, request_pages, read_share: 0.0, trim_share: 0.0 };
            let mut source = PatternSource::new(config, wane_sim::Streams::new(4).stream("requests"));
            let mut counts = vec![0u32; footprint_pages as usize];
            pages(&mut source, 200_000).into_iter().for_each(|page| counts[page as usize] += 1);
            counts
        };
        let counts = run(Shape::HotCold { r: 0.9, hot_pages: 100 }, 1000, 64);
        let hot = f64::from(counts[..100].iter().sum::<u32>()) / f64::from(counts.iter().sum::<u32>());
        assert!((hot - 0.9).abs() < 0.02, "{hot}");
        let counts = run(Shape::Uniform, 640, 64);
        assert!(counts.iter().all(|count| count.abs_diff(312) < 100), "{counts:?}");
        for shape in [Shape::Sequential, Shape::Hybrid { sequential_share: 0.5 }, Shape::Jesd219] {
            assert!(run(shape, 1000, 7).iter().all(|count| *count > 0), "{shape:?}");
        }
    }
}
