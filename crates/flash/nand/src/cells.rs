//! The errors of a drive's flash: the history of each block, how many bits of a page are wrong because of it, and how often the
//! page has to be sensed until its codewords are corrected.
//!
//! The errors follow [`RberModel`], their correction [`Ecc`]. The firmware handles uncorrectable pages, and the scheduler the
//! cost of a sense. Binomial errors and re-reads that disturb are from Kim et al. (FAST 2019), sections 3.2 and 4 and note 2.

mod stamps;

use std::collections::BTreeSet;

use bytemuck::{Pod, Zeroable};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wane_archive::{Archive, ArchiveError};
use wane_sim::{Binomial, Stream};
use wane_units::{BlockId, Geometry};

use crate::config::NandConfigError;
use crate::ecc::{Draws, Ecc, REREADS_BOUND, SCALE_UNBOUNDED_MIN, Sensing};
use crate::flash::Relocations;
use crate::power::PowerTable;
use crate::rber::{RberModel, Terms};
use crate::tail::TailTable;

use stamps::{Stamps, StampsPast};

/// What errors the flash has and how they are corrected.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ErrorConfig {
    /// RBER by cycles, days and reads.
    pub model: RberModel,
    /// Error correction.
    pub ecc: Ecc,
    /// Spread between blocks: standard deviation of the logarithm of a factor of mean 1 on the RBER; 0 to 2, default 0.
    pub block_sigma: f64,
    /// Spread between the layers of a block, the same in all blocks; 0 to 2, default 0.
    pub layer_sigma: f64,
    /// Number of layers that the pages of a block lie on, in order; default 1.
    pub layers: u32,
    /// Whether retention counts from a page's own program or from its block's first one; matters only to a model with retention.
    pub page_time: PageTime,
    /// Whether reads are counted even if the model does not need them.
    pub read_counts: ReadCounts,
    /// Which codewords of a read error correction checks.
    pub checks: ChecksPerRead,
    /// Whether the errors of each checked codeword are drawn, or only the outcome for the page.
    pub detail: Detail,
    /// Whether relocation reads have errors while the drive ages without time; default trusted. If time is kept they always have.
    pub relocations: Relocations,
    /// What the host gets from a page that cannot be corrected.
    pub uncorrectable: Uncorrectable,
}

/// What a chip's fit counts as reads in read disturb. Kim et al. (FAST 2019) do not say. In their simulation of blocks of 256 pages an hour of
/// re-reads is felt (figure 5), as it can be only if each read of a block counts. How many pages the blocks of the measured chips have is not published.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DisturbCount {
    /// Each read of any page of a block, as in the paper's own simulation, and of a larger block than theirs a share: a block that is read once from
    /// end to end has at most the 256 that theirs has. For a chip of the scenario's own, whose data were counted where they were measured, as
    /// [`Self::ByBlock`].
    AsFitted,
    /// Each read of any page of the block, however many it has. A block of 2,112 pages that is read once from end to end has 2,112.
    #[default]
    ByBlock,
    /// The mean reads of the block's pages: a block that is read once from end to end has one.
    ByPage,
}

impl DisturbCount {
    /// Its name in a scenario.
    pub const fn name(self) -> &'static str {
        match self {
            Self::AsFitted => "as-fitted",
            Self::ByBlock => "by-block",
            Self::ByPage => "by-page",
        }
    }

    /// The share of a read for which each read of a block of `pages` pages counts, of a fit that was used with blocks of `fitted` pages.
    pub fn share(self, pages: u32, fitted: Option<u32>) -> f64 {
        debug_assert!(pages > 0, "a block has pages");
        match self {
            Self::AsFitted => fitted.map_or(1.0, |fitted| f64::from(fitted.min(pages)) / f64::from(pages)),
            Self::ByBlock => 1.0,
            Self::ByPage => 1.0 / f64::from(pages),
        }
    }
}

/// What the host gets from a page with more errors than can be corrected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Uncorrectable {
    /// A medium error, and no data.
    #[default]
    MediumError,
    /// Its data with wrong bits and no error, as from a decoder that miscorrects in a drive without end-to-end checksums.
    FlippedBits,
}

/// Which codewords of a read error correction checks. Kim et al. (FAST 2019) do not say. On worn flash it decides the cost of a read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ChecksPerRead {
    /// All that hold data of the read, as in controllers. The worst of them decides how often the page is sensed.
    #[default]
    EveryCodeword,
    /// One, which decides for the whole read, as in simulators that draw once per read. Reads then fail less often than all their
    /// codewords together would.
    OneCodeword,
}

/// How closely errors are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Detail {
    /// The errors of each codeword: the reference.
    #[default]
    Codewords,
    /// The number of codewords that fail and, independently, the wrong bits of the page. Each has the right distribution, and re-reads and
    /// uncorrectable pages are distributed as with [`Detail::Codewords`]. But a page with many wrong bits does not fail more often because of
    /// them, and the histogram stays empty. About two and a half times as fast. It makes a difference only with [`Draws::Independent`].
    Pages,
}

/// Whether the age of data is kept by page or by block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageTime {
    /// Each page; 4 bytes a page, whole seconds.
    PerPage,
    /// Each block, from its first program since the erase on: later pages look older than they are. 8 bytes a block.
    PerBlock,
}

/// When reads and re-reads are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadCounts {
    /// Only if the model has read disturb; otherwise [`Cells::reads`] and [`Cells::rereads`] stay 0.
    AsNeeded,
    /// Always, since policies ask for them. 8 bytes a block.
    Always,
}

/// How a page read ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageOutcome {
    /// Senses beyond the first.
    pub rereads: u32,
    /// Whether every codeword was corrected in the end.
    pub correctable: bool,
    /// Wrong bits in all codewords at the first sense.
    pub raw_bit_errors: u64,
}

/// Counts since the flash was new.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorCounters {
    /// Codewords read: each once, at the first sense. The measured RBER is `raw_bit_errors` over their bits.
    pub codewords_read: u64,
    /// Checks by the decoder: the first of every codeword, and one more at every re-read for those that still fail.
    pub codewords_checked: u64,
    /// Wrong bits at the first sense.
    pub raw_bit_errors: u64,
    /// Page reads.
    pub page_reads: u64,
    /// Page reads with at least one re-read.
    pub reads_retried: u64,
    /// Senses beyond the first.
    pub retries: u64,
    /// Page reads for the host, as reported by [`Cells::served_host`].
    pub host_page_reads: u64,
    /// Senses beyond the first for the host.
    pub host_retries: u64,
    /// Page reads that ended uncorrectable.
    pub uncorrectable_reads: u64,
}

/// Number of codewords by their wrong bits at the first check: figure 5 of FAST 2019, as counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorHistogram {
    counts: [u64; Self::OVERFLOW + 1],
}

impl ErrorHistogram {
    /// The bin of all codewords with more than 255 wrong bits.
    pub const OVERFLOW: usize = 256;

    /// Codewords by wrong bits: 0 to 255, then all others.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    #[inline]
    fn add(&mut self, errors: u64, codewords: u64) {
        self.counts[errors.min(Self::OVERFLOW as u64) as usize] += codewords;
    }
}

/// State of all blocks, as far as the errors need it.
#[derive(Clone, Debug)]
pub struct Cells {
    config: ErrorConfig,
    pages_per_block: u32,
    /// floor + wear, with the block's factor.
    base: Vec<f64>,
    retention: Option<Retention>,
    disturb: Option<Disturb>,
    /// Empty without disturb, unless wanted.
    counts: Vec<Counts>,
    /// Empty without spread between blocks.
    block_factors: Vec<f32>,
    /// Empty without spread between layers.
    layer_factors: Vec<f64>,
    /// Empty unless re-reads come from the table.
    cycles: Vec<u32>,
    /// Errors of the codewords that still fail, while a page is read.
    failing: Vec<u32>,
    /// How often a codeword fails, if pages are drawn as a whole.
    tails: Option<TailTable>,
    stream: Stream,
    counters: ErrorCounters,
    histogram: ErrorHistogram,
}

#[derive(Clone, Debug)]
struct Retention {
    powers: PowerTable,
    scale: Vec<f64>,
    written: Written,
}

#[derive(Clone, Debug)]
enum Written {
    /// Day of each block's first program since its erase.
    Blocks(Vec<f64>),
    /// When each page was programmed.
    Pages(Stamps),
}

#[derive(Clone, Debug)]
struct Disturb {
    powers: PowerTable,
    scale: Vec<f64>,
}

/// A block as it was before an erase.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct CellsPast {
    counts: Option<Counts>,
    written: WrittenPast,
}

/// When its pages were programmed.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum WrittenPast {
    Nowhere,
    Block(f64),
    Pages(StampsPast),
}

#[derive(Clone, Copy, Debug, Default, Pod, Zeroable, Serialize, Deserialize)]
#[repr(C)]
struct Counts {
    reads: u32,
    rereads: u32,
}

/// Most bytes of a codeword, so that a [`Binomial`] can draw its wrong bits.
const CODEWORD_BYTES_MAX: u32 = Binomial::TRIALS_MAX / 8;
/// Largest spread. Above it a lognormal factor of mean 1 is almost always near 0.
const SIGMA_MAX: f64 = 2.0;

impl ErrorConfig {
    /// Errors of `model`, corrected by `ecc`; the same for all blocks and layers.
    pub fn new(model: RberModel, ecc: Ecc) -> Self {
        Self {
            model,
            ecc,
            block_sigma: 0.0,
            layer_sigma: 0.0,
            layers: 1,
            page_time: PageTime::PerPage,
            read_counts: ReadCounts::AsNeeded,
            checks: ChecksPerRead::default(),
            detail: Detail::default(),
            relocations: Relocations::Trusted,
            uncorrectable: Uncorrectable::default(),
        }
    }

    /// Checks every field.
    ///
    /// # Errors
    /// A field lies outside its range; the message names it.
    pub fn check(&self, geometry: &Geometry) -> Result<(), NandConfigError> {
        let refuse = |key, found: f64, wanted| Err(NandConfigError::new(key, &found, wanted));
        for (name, value) in RberModel::NAMES.into_iter().zip(self.model.parameters()) {
            if !(value.is_finite() && value >= 0.0) {
                return refuse(name, value, "a parameter of the RBER is a number of at least 0");
            }
        }
        let ecc = &self.ecc;
        if ecc.codeword_bytes == 0 || ecc.codeword_bytes > CODEWORD_BYTES_MAX {
            let wanted = "a codeword has 1 B to 131072 B";
            return refuse("codeword-bytes", f64::from(ecc.codeword_bytes), wanted);
        }
        if !(ecc.scale.is_finite() && ecc.scale >= 1.0) {
            return refuse("scale", ecc.scale, "a re-read divides the RBER by at least 1");
        }
        let endless = ecc.sensing == Sensing::Hard && ecc.rereads_max.is_none();
        if endless && ecc.scale < SCALE_UNBOUNDED_MIN {
            let wanted = "with a scale below 1.1 re-reads need a limit: set rereads-max";
            return refuse("scale", ecc.scale, wanted);
        }
        for (key, sigma) in [("block-sigma", self.block_sigma), ("layer-sigma", self.layer_sigma)] {
            if !(0.0..=SIGMA_MAX).contains(&sigma) {
                return refuse(key, sigma, "a spread lies between 0 and 2");
            }
        }
        if self.layers == 0 || self.layers > geometry.pages_per_block() {
            let wanted = "a block has at least one layer and at most one for each page";
            return refuse("layers", f64::from(self.layers), wanted);
        }
        Ok(())
    }
}

impl Cells {
    /// New flash. `config` has passed [`ErrorConfig::check`].
    pub fn new(geometry: &Geometry, config: ErrorConfig, stream: Stream) -> Self {
        debug_assert_eq!(config.check(geometry), Ok(()), "the config is checked before it is used");
        let (blocks, mut stream) = (geometry.blocks() as usize, stream);
        let mut factors = |count: usize, sigma: f64| -> Vec<f64> {
            if sigma == 0.0 { Vec::new() } else { (0..count).map(|_| stream.lognormal(1.0, sigma)).collect() }
        };
        let block_factors = factors(blocks, config.block_sigma).into_iter().map(|factor| factor as f32).collect();
        let layer_factors = factors(config.layers as usize, config.layer_sigma);
        let model = &config.model;
        let retention = (model.beta > 0.0).then(|| Retention {
            powers: PowerTable::new(model.n),
            scale: vec![0.0; blocks],
            written: match config.page_time {
                PageTime::PerBlock => Written::Blocks(vec![0.0; blocks]),
                PageTime::PerPage => Written::Pages(Stamps::new(geometry.pages() as usize)),
            },
        });
        let disturb =
            (model.gamma > 0.0).then(|| Disturb { powers: PowerTable::new(model.q), scale: vec![0.0; blocks] });
        let counted = disturb.is_some() || config.read_counts == ReadCounts::Always;
        let mut cells = Self {
            config,
            pages_per_block: geometry.pages_per_block(),
            base: vec![0.0; blocks],
            retention,
            disturb,
            counts: vec![Counts::default(); if counted { blocks } else { 0 }],
            block_factors,
            layer_factors,
            cycles: if config.ecc.draws == Draws::Table { vec![0; blocks] } else { Vec::new() },
            failing: Vec::new(),
            tails: (config.detail == Detail::Pages).then(|| {
                let bits = config.ecc.codeword_bits();
                TailTable::new(bits, config.ecc.strength.unwrap_or(bits))
            }),
            stream,
            counters: ErrorCounters::default(),
            histogram: ErrorHistogram { counts: [0; ErrorHistogram::OVERFLOW + 1] },
        };
        let terms = cells.config.model.terms(0.0, 1.0, 1.0);
        (0..blocks).for_each(|block| cells.wear(block, &terms));
        cells
    }

    /// Writes their state to a file, or reads it back into cells of the same kind.
    ///
    /// # Errors
    /// As of [`Archive`].
    pub(crate) fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        archive.fixed("cells.base", &mut self.base)?;
        archive.same("cells.retain", &self.retention.is_some())?;
        if let Some(retention) = &mut self.retention {
            archive.fixed("cells.retention", &mut retention.scale)?;
            match &mut retention.written {
                Written::Blocks(days) => archive.fixed("cells.written", days)?,
                Written::Pages(stamps) => stamps.archive(archive)?,
            }
        }
        archive.same("cells.disturbed", &self.disturb.is_some())?;
        if let Some(disturb) = &mut self.disturb {
            archive.fixed("cells.disturb", &mut disturb.scale)?;
        }
        archive.fixed("cells.reads", &mut self.counts)?;
        archive.fixed("cells.blocks", &mut self.block_factors)?;
        archive.fixed("cells.layers", &mut self.layer_factors)?;
        archive.fixed("cells.erases", &mut self.cycles)?;
        archive.field("cells.stream", &mut self.stream)?;
        archive.field("cells.counters", &mut self.counters)?;
        archive.fixed("cells.histogram", &mut self.histogram.counts)
    }

    /// Notes that `count` pages of a block were programmed from page `first` on, at `now_days`.
    #[inline]
    pub fn program(&mut self, block: BlockId, first: u32, count: u32, now_days: f64) {
        let Some(retention) = &mut self.retention else { return };
        match &mut retention.written {
            Written::Blocks(days) if first == 0 => days[block.index()] = now_days,
            Written::Blocks(_) => {}
            Written::Pages(stamps) => {
                debug_assert!(
                    first + count <= self.pages_per_block,
                    "pages beyond the last would be those of the next block"
                );
                let start = block.index() * self.pages_per_block as usize + first as usize;
                stamps.set(start..start + count as usize, now_days);
            }
        }
    }

    /// Notes that a block was erased for the `erase_count`th time. Its reads and re-reads are forgotten.
    pub fn erase(&mut self, block: BlockId, erase_count: u32) {
        let block = block.index();
        // At one day and one read the powers are 1, which leaves the block's coefficients of retention and disturb.
        let terms = self.config.model.terms(f64::from(erase_count), 1.0, 1.0);
        self.wear(block, &terms);
        if let Some(counts) = self.counts.get_mut(block) {
            *counts = Counts::default();
        }
        if let Some(cycles) = self.cycles.get_mut(block) {
            *cycles = erase_count;
        }
    }

    /// What an erase and the programs after it remove from a block.
    pub(crate) fn past(&self, block: BlockId) -> CellsPast {
        let written = match self.retention.as_ref().map(|retention| &retention.written) {
            None => WrittenPast::Nowhere,
            Some(Written::Blocks(days)) => WrittenPast::Block(days[block.index()]),
            Some(Written::Pages(stamps)) => WrittenPast::Pages(stamps.past(self.pages_of(block))),
        };
        CellsPast { counts: self.counts.get(block.index()).copied(), written }
    }

    /// Undoes an erase: the block has been erased `erase_count` times and holds its old data.
    pub(crate) fn unerase(&mut self, block: BlockId, erase_count: u32, past: CellsPast) {
        self.erase(block, erase_count);
        let CellsPast { counts, written } = past;
        if let (Some(present), Some(counts)) = (self.counts.get_mut(block.index()), counts) {
            *present = counts;
        }
        let pages = self.pages_of(block);
        match (self.retention.as_mut().map(|retention| &mut retention.written), written) {
            (Some(Written::Blocks(days)), WrittenPast::Block(day)) => days[block.index()] = day,
            (Some(Written::Pages(stamps)), WrittenPast::Pages(past)) => stamps.restore(pages, &past),
            _ => {}
        }
    }

    fn pages_of(&self, block: BlockId) -> std::ops::Range<usize> {
        let first = block.index() * self.pages_per_block as usize;
        first..first + self.pages_per_block as usize
    }

    fn wear(&mut self, block: usize, terms: &Terms) {
        let factor = self.block_factors.get(block).map_or(1.0, |factor| f64::from(*factor));
        debug_assert!(factor >= 0.0, "a block of a negative factor would have fewer errors than none");
        self.base[block] = (terms.floor + terms.wear) * factor;
        if let Some(retention) = &mut self.retention {
            retention.scale[block] = terms.retention * factor;
        }
        if let Some(disturb) = &mut self.disturb {
            disturb.scale[block] = terms.disturb * factor;
        }
    }

    /// Gives a block a past: all its pages were written `written_days_ago` days before day 0 (after it if negative), and `reads` reads
    /// followed.
    pub fn age(&mut self, block: BlockId, written_days_ago: f64, reads: u32) {
        self.program(block, 0, self.pages_per_block, -written_days_ago);
        if let Some(counts) = self.counts.get_mut(block.index()) {
            counts.reads = reads;
        }
    }

    /// As [`Self::read`], with at most `rereads_max` re-reads, even if error correction would allow more.
    pub fn read_within(
        &mut self,
        block: BlockId,
        page: u32,
        bytes: u32,
        now_days: f64,
        rereads_max: Option<u32>,
    ) -> PageOutcome {
        let Some(limit) = rereads_max else { return self.read(block, page, bytes, now_days) };
        let kept = self.config.ecc.rereads_max;
        self.config.ecc.rereads_max = Some(kept.map_or(limit, |kept| kept.min(limit)));
        let outcome = self.read(block, page, bytes, now_days);
        self.config.ecc.rereads_max = kept;
        outcome
    }

    /// Number of re-reads after which an uncorrectable page is given up; 0 if error correction has no limit.
    pub fn rereads_of_uncorrectable(&self, rereads_max: Option<u32>) -> u32 {
        [self.config.ecc.rereads_max, rereads_max].into_iter().flatten().min().unwrap_or(0)
    }

    /// Counts a read with this outcome as the host's.
    pub fn served_host(&mut self, outcome: &PageOutcome) {
        self.counters.host_page_reads += 1;
        debug_assert!(self.counters.host_page_reads <= self.counters.page_reads, "a page is served after it was read");
        self.counters.host_retries += u64::from(outcome.rereads);
    }

    /// Reads `bytes` of a page at `now_days`. The codewords that [`ChecksPerRead`] names are checked, and the page is sensed again
    /// until each was corrected once or the limit is reached. Each sense meets the disturb of the earlier ones.
    pub fn read(&mut self, block: BlockId, page: u32, bytes: u32, now_days: f64) -> PageOutcome {
        let codewords = match self.config.checks {
            ChecksPerRead::EveryCodeword => self.config.ecc.codewords(bytes),
            ChecksPerRead::OneCodeword => 1,
        };
        let outcome = match self.config.ecc.draws {
            Draws::Expected | Draws::Table => self.read_expected(block, page, codewords, now_days),
            Draws::Independent if self.tails.is_some() => self.read_whole(block, page, codewords, now_days),
            Draws::Independent | Draws::Sticky => self.read_drawn(block, page, codewords, now_days),
        };
        let bits = u64::from(codewords) * u64::from(self.config.ecc.codeword_bits());
        debug_assert!(outcome.raw_bit_errors <= bits, "no more bits are wrong than were read");
        if let Some(counts) = self.counts.get_mut(block.index()) {
            counts.rereads = counts.rereads.saturating_add(outcome.rereads);
        }
        let counters = &mut self.counters;
        counters.codewords_read += u64::from(codewords);
        counters.raw_bit_errors += outcome.raw_bit_errors;
        counters.page_reads += 1;
        counters.reads_retried += u64::from(outcome.rereads > 0);
        counters.retries += u64::from(outcome.rereads);
        counters.uncorrectable_reads += u64::from(!outcome.correctable);
        outcome
    }

    fn read_expected(&mut self, block: BlockId, page: u32, codewords: u32, now_days: f64) -> PageOutcome {
        let ecc = self.config.ecc;
        let rber = self.rber(block, page, now_days);
        self.sense(block, 1);
        let errors = (f64::from(ecc.codeword_bits()) * rber) as u64;
        self.histogram.add(errors, u64::from(codewords));
        let expected = match ecc.draws {
            Draws::Table => ecc.attempts_by_table(self.cycles[block.index()]),
            _ => ecc.attempts_expected(rber),
        };
        self.counters.codewords_checked += u64::from(codewords) * u64::from(1 + expected.attempts);
        PageOutcome {
            rereads: expected.rereads,
            correctable: expected.corrected,
            raw_bit_errors: errors * u64::from(codewords),
        }
    }

    fn read_drawn(&mut self, block: BlockId, page: u32, codewords: u32, now_days: f64) -> PageOutcome {
        let ecc = self.config.ecc;
        let rber = self.rber(block, page, now_days);
        self.sense(block, 1);
        let mut binomial = Binomial::new(ecc.codeword_bits(), rber);
        let mut raw_bit_errors = 0;
        self.failing.clear();
        for _ in 0..codewords {
            let errors = binomial.draw(&mut self.stream);
            raw_bit_errors += u64::from(errors);
            self.histogram.add(u64::from(errors), 1);
            if !ecc.corrects(u64::from(errors)) {
                self.failing.push(errors);
            }
        }
        self.counters.codewords_checked += u64::from(codewords);
        let rereads = if self.failing.is_empty() { 0 } else { self.reread(block, page, now_days) };
        PageOutcome { rereads, correctable: self.failing.is_empty(), raw_bit_errors }
    }

    /// Senses a page again until no codeword fails; returns the senses.
    fn reread(&mut self, block: BlockId, page: u32, now_days: f64) -> u32 {
        let ecc = self.config.ecc;
        let (mut attempts, mut rereads, mut divisor) = (0, 0, 1.0);
        while !self.failing.is_empty() {
            let Some(attempt) = ecc.next_attempt(attempts, rereads) else { break };
            attempts += 1;
            rereads += attempt.senses;
            divisor *= attempt.divisor;
            self.counters.codewords_checked += self.failing.len() as u64;
            let rber = self.rber(block, page, now_days) / divisor;
            self.sense(block, attempt.senses);
            let (stream, bits) = (&mut self.stream, ecc.codeword_bits());
            let mut binomial = Binomial::new(bits, rber);
            self.failing.retain_mut(|errors| {
                *errors = match ecc.draws {
                    Draws::Sticky => Binomial::new(*errors, 1.0 / attempt.divisor).draw(stream),
                    _ => binomial.draw(stream),
                };
                !ecc.corrects(u64::from(*errors))
            });
        }
        rereads
    }

    /// As [`Self::read_drawn`], but without drawing the errors of each codeword. Each codeword that failed so far fails again with the
    /// probability that its errors exceed the strength.
    fn read_whole(&mut self, block: BlockId, page: u32, codewords: u32, now_days: f64) -> PageOutcome {
        let ecc = self.config.ecc;
        let rber = self.rber(block, page, now_days);
        self.sense(block, 1);
        let raw_bit_errors = self.draw_many(u64::from(codewords) * u64::from(ecc.codeword_bits()), rber);
        let mut failing = self.draw_failing(codewords, rber);
        self.counters.codewords_checked += u64::from(codewords);
        let (mut attempts, mut rereads, mut divisor) = (0, 0, 1.0);
        while failing > 0 {
            let Some(attempt) = ecc.next_attempt(attempts, rereads) else { break };
            attempts += 1;
            rereads += attempt.senses;
            divisor *= attempt.divisor;
            self.counters.codewords_checked += u64::from(failing);
            let rber = self.rber(block, page, now_days) / divisor;
            self.sense(block, attempt.senses);
            failing = self.draw_failing(failing, rber);
        }
        PageOutcome { rereads, correctable: failing == 0, raw_bit_errors }
    }

    #[inline]
    fn draw_failing(&mut self, codewords: u32, rber: f64) -> u32 {
        let share = self.tails.as_ref().map_or(0.0, |tails| tails.at(rber));
        Binomial::new(codewords, share).draw(&mut self.stream)
    }

    /// Draws the wrong bits of a page, which may have more bits than a [`Binomial`] has trials.
    #[inline]
    fn draw_many(&mut self, bits: u64, rber: f64) -> u64 {
        let (mut left, mut errors) = (bits, 0);
        while left > 0 {
            let part = left.min(u64::from(Binomial::TRIALS_MAX));
            errors += u64::from(Binomial::new(part as u32, rber).draw(&mut self.stream));
            left -= part;
        }
        errors
    }

    #[inline]
    fn sense(&mut self, block: BlockId, senses: u32) {
        if let Some(counts) = self.counts.get_mut(block.index()) {
            counts.reads = counts.reads.saturating_add(senses);
        }
    }

    /// The share of bits of a page that read wrong at `now_days`.
    #[inline]
    pub fn rber(&self, block: BlockId, page: u32, now_days: f64) -> f64 {
        let index = block.index();
        let mut rber = self.base[index];
        if let Some(retention) = &self.retention {
            let days = match &retention.written {
                Written::Blocks(days) => now_days - days[index],
                Written::Pages(stamps) => {
                    stamps.days_since(index * self.pages_per_block as usize + page as usize, now_days)
                }
            };
            rber += retention.scale[index] * retention.powers.at(days.max(0.0));
        }
        if let Some(disturb) = &self.disturb {
            rber += disturb.scale[index] * disturb.powers.at(f64::from(self.counts[index].reads));
        }
        if !self.layer_factors.is_empty() {
            rber *= self.layer_factors[self.layer(page)];
        }
        rber.min(1.0)
    }

    /// Returns the wrong bits in `bytes` of a page that could not be corrected, counted from the first bit, in rising order. They are the wrong
    /// bits of each codeword that has more of them than can be corrected after the last re-read, and of at least one codeword.
    pub fn wrong_bits(&self, block: BlockId, page: u32, bytes: u32, now_days: f64, stream: &mut Stream) -> Vec<u32> {
        let ecc = &self.config.ecc;
        let (codewords, bits) = (ecc.codewords(bytes), ecc.codeword_bits().min(8 * bytes));
        let strength = ecc.strength.unwrap_or(0);
        let rereads = ecc.rereads_max.unwrap_or(0).min(REREADS_BOUND);
        let rber = self.rber(block, page, now_days) / ecc.scale.powi(rereads as i32);
        let mut errors = Binomial::new(bits, rber);
        let mut counts: Vec<u32> = (0..codewords).map(|_| errors.draw(stream)).collect();
        if counts.iter().all(|count| *count <= strength) {
            counts[stream.below(u64::from(codewords)) as usize] = (strength + 1).min(bits);
        }
        let mut wrong = BTreeSet::new();
        for (codeword, count) in (0..).zip(counts).filter(|(_, count)| *count > strength) {
            let first: u32 = codeword * bits;
            let wanted = wrong.len() + count as usize;
            while wrong.len() < wanted {
                wrong.insert(first + stream.below(u64::from(bits)) as u32);
            }
        }
        wrong.into_iter().filter(|bit| *bit < 8 * bytes).collect()
    }

    fn layer(&self, page: u32) -> usize {
        debug_assert!(page < self.pages_per_block, "a page beyond the last lies in no layer");
        (u64::from(page) * u64::from(self.config.layers) / u64::from(self.pages_per_block)) as usize
    }

    /// Expected wrong bits in a codeword of a page at `now_days`, which a scrubber would have to know (FAST 2019, section 4.3).
    #[inline]
    pub fn expected_errors(&self, block: BlockId, page: u32, now_days: f64) -> f64 {
        f64::from(self.config.ecc.codeword_bits()) * self.rber(block, page, now_days)
    }

    /// Days at `now_days` since the first page of a block was programmed; `None` if errors do not grow with age.
    pub fn data_age(&self, block: BlockId, now_days: f64) -> Option<f64> {
        let since = match &self.retention.as_ref()?.written {
            Written::Blocks(days) => now_days - days[block.index()],
            Written::Pages(stamps) => stamps.days_since(block.index() * self.pages_per_block as usize, now_days),
        };
        Some(since.max(0.0))
    }

    /// The share of bits of a block that read wrong just after a program.
    pub fn fresh_rber(&self, block: BlockId) -> f64 {
        self.base[block.index()].min(1.0)
    }

    /// Re-reads that data of a block are expected to need just after a program; `u32::MAX` if error correction gives up before.
    pub fn fresh_rereads(&self, block: BlockId) -> u32 {
        let ecc = self.config.ecc;
        let expected = match ecc.draws {
            Draws::Table => ecc.attempts_by_table(self.cycles[block.index()]),
            Draws::Independent | Draws::Sticky | Draws::Expected => ecc.attempts_expected(self.fresh_rber(block)),
        };
        if expected.corrected { expected.rereads } else { u32::MAX }
    }

    /// Expected wrong bits in a codeword of a block just after a program.
    pub fn fresh_errors(&self, block: BlockId) -> f64 {
        f64::from(self.config.ecc.codeword_bits()) * self.base[block.index()].min(1.0)
    }

    /// Senses of a block since its erase or since [`Cells::age`], which sets them; 0 if they are not counted.
    pub fn reads(&self, block: BlockId) -> u32 {
        self.counts.get(block.index()).map_or(0, |counts| counts.reads)
    }

    /// Senses beyond the first of each read of a block, since its erase; 0 if they are not counted.
    pub fn rereads(&self, block: BlockId) -> u32 {
        self.counts.get(block.index()).map_or(0, |counts| counts.rereads)
    }

    /// The config it was built from.
    pub fn config(&self) -> &ErrorConfig {
        &self.config
    }

    /// The counts so far.
    pub fn counters(&self) -> ErrorCounters {
        self.counters
    }

    /// Wrong bits by codeword, so far.
    pub fn histogram(&self) -> &ErrorHistogram {
        &self.histogram
    }

    /// Bytes of the tables that grow with the flash.
    pub fn table_bytes(&self) -> usize {
        let retention = self.retention.as_ref().map_or(0, |retention| {
            size_of_val(&retention.scale[..])
                + match &retention.written {
                    Written::Blocks(days) => size_of_val(&days[..]),
                    Written::Pages(stamps) => stamps.table_bytes(),
                }
        });
        let disturb = self.disturb.as_ref().map_or(0, |disturb| size_of_val(&disturb.scale[..]));
        size_of_val(&self.base[..])
            + retention
            + disturb
            + size_of_val(&self.counts[..])
            + size_of_val(&self.block_factors[..])
            + size_of_val(&self.layer_factors[..])
            + size_of_val(&self.cycles[..])
    }
}

#[cfg(test)]
mod tests;
