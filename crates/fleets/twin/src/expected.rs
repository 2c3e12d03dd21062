//! Expected errors of a drive's reads on a day, from the model of raw bit errors for each block instead of each page.
//!
//! A block's wear is that of the drive. The age of its data follows from when it was filled, and its reads since from how the host's reads spread
//! over valid pages. A page whose codewords cannot be corrected is sensed again, by the same rule as [`wane_nand::Ecc`]'s independent draws. The
//! model leaves out that re-reads disturb, and that the pages of a block are not filled at once.

use wane_nand::{Ecc, ErrorConfig, REREADS_BOUND, TailTable};
use wane_ssd::Drive;
use wane_units::BlockState;

/// Expected counts of page reads.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Errors {
    /// Bits read.
    pub(crate) bits: f64,
    /// Wrong bits of these at the first sense.
    pub(crate) wrong: f64,
    /// Pages that were sensed again.
    pub(crate) retried: f64,
    /// Pages that could not be corrected.
    pub(crate) uncorrectable: f64,
}

impl Errors {
    pub(crate) fn add(&mut self, other: &Self) {
        self.bits += other.bits;
        self.wrong += other.wrong;
        self.retried += other.retried;
        self.uncorrectable += other.uncorrectable;
    }
}

/// Tables for the errors of blocks, made once for each model.
#[derive(Clone, Debug)]
pub(crate) struct Tables {
    config: ErrorConfig,
    /// `None` if all errors are corrected.
    tail: Option<TailTable>,
    codewords: f64,
    page_bits: f64,
}

impl Tables {
    pub(crate) fn new(config: &ErrorConfig, page_bytes: u64) -> Self {
        let Ecc { codeword_bytes, strength, .. } = config.ecc;
        Self {
            config: *config,
            tail: strength.map(|strength| TailTable::new(8 * codeword_bytes, strength)),
            codewords: page_bytes as f64 / f64::from(codeword_bytes),
            page_bits: 8.0 * page_bytes as f64,
        }
    }

    /// Bits of a codeword.
    pub(crate) fn codeword_bits(&self) -> f64 {
        8.0 * f64::from(self.config.ecc.codeword_bytes)
    }

    /// Returns the chances that a page of this RBER is sensed again, and that it cannot be corrected.
    fn page(&self, rber: f64) -> (f64, f64) {
        let Some(tail) = &self.tail else { return (0.0, 0.0) };
        let any = |codeword: f64| -libm::expm1(self.codewords * libm::log1p(-codeword.min(1.0 - 1e-15)));
        let fails = tail.at(rber);
        if fails == 0.0 {
            return (0.0, 0.0);
        }
        let (mut left, mut scaled) = (fails, rber);
        for _ in 0..self.config.ecc.rereads_max.unwrap_or(REREADS_BOUND) {
            scaled /= self.config.ecc.scale;
            left *= tail.at(scaled);
            if left < 1e-18 {
                return (any(fails), 0.0);
            }
        }
        (any(fails), any(left))
    }

    /// Returns the expected errors of `reads` page reads, spread over all mapped pages.
    pub(crate) fn of(&self, drive: &Drive, ages: &Ages, reads: f64) -> Errors {
        let (layout, full) = (drive.layout(), f64::from(drive.layout().units_per_block()));
        let erases = drive.superblock_erase_counts();
        let (mut errors, mut mapped) = (Errors::default(), 0.0);
        for block in layout.superblocks() {
            let valid = f64::from(drive.valid(block));
            if valid == 0.0 || drive.state(block) == BlockState::Retired {
                continue;
            }
            mapped += valid;
            let closed = drive.closed_at(block).map_or(ages.now(), |units| ages.of(units));
            // A block that lost valid pages had more to read before: the mean over an exponential decline.
            let mean = if valid < full { (full - valid) / libm::log(full / valid) } else { full };
            let disturbs = mean * (ages.now().reads - closed.reads).max(0.0);
            let days = (ages.now().day - closed.day).max(0.0);
            let rber = self.config.model.rber(f64::from(erases[block.0 as usize]), days, disturbs);
            let (retried, uncorrectable) = self.page(rber);
            errors.wrong += valid * rber * self.page_bits;
            errors.retried += valid * retried;
            errors.uncorrectable += valid * uncorrectable;
        }
        if mapped == 0.0 {
            return Errors::default();
        }
        let share = reads / mapped;
        Errors {
            bits: reads * self.page_bits,
            wrong: share * errors.wrong,
            retried: share * errors.retried,
            uncorrectable: share * errors.uncorrectable,
        }
    }
}

/// A moment of a drive's life.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Moment {
    /// Units that the host had written by then.
    pub(crate) units: u64,
    /// Days by which data had aged, at the reference temperature.
    pub(crate) day: f64,
    /// Reads of each mapped unit by then.
    pub(crate) reads: f64,
}

/// Moments of a drive's life, one a day; between two moments all values grow evenly.
#[derive(Clone, Debug)]
pub(crate) struct Ages(Vec<Moment>);

impl Ages {
    pub(crate) fn from(first: Moment) -> Self {
        Self(vec![first])
    }

    pub(crate) fn push(&mut self, moment: Moment) {
        debug_assert!(self.now().units <= moment.units, "moments of a life come in their order");
        self.0.push(moment);
    }

    pub(crate) fn now(&self) -> Moment {
        self.0.last().copied().unwrap_or_default()
    }

    /// Returns the moment at which the host had written `units` units.
    fn of(&self, units: u64) -> Moment {
        let after = self.0.partition_point(|moment| moment.units < units);
        let (Some(before), Some(next)) = (after.checked_sub(1).and_then(|at| self.0.get(at)), self.0.get(after)) else {
            return self.0.get(after).copied().unwrap_or_else(|| self.now());
        };
        let share = (units - before.units) as f64 / (next.units - before.units).max(1) as f64;
        Moment {
            units,
            day: before.day + share * (next.day - before.day),
            reads: before.reads + share * (next.reads - before.reads),
        }
    }
}
