//! Draws the requests of a stand-in.

use std::sync::Arc;

use wane_archive::{Archive, ArchiveError};
use wane_sim::Stream;

use super::{DRIVE_GIB, HOT_PART, Layout, PAGES_MIN, Spread, Standin, TRAFFIC_GIB, TrafficStandin, find};
use crate::{Batch, Drawn, Op, Request, Source, SourceError};

/// A stand-in on a drive. As a [`Source`] it never ends; as an iterator it gives requests.
#[derive(Clone, Debug)]
pub struct StandinSource {
    stream: Stream,
    op: Op,
    page_bytes: u64,
    /// Number of pages of the footprint. The first `bottom` of them lie from address 0 on.
    footprint: u32,
    bottom: u32,
    logical: u32,
    draws: Draws,
    /// The extents of a scattered footprint; `None` if it is packed.
    extents: Option<Extents>,
    sequential_share: f64,
    /// ln of the chance that a request continues for another page.
    log_more: f64,
    /// End of the last request, where the next sequential one starts.
    cursor: u32,
    /// First page and end of the range that the run stays in.
    stretch: (u32, u32),
    /// The rest of a request that did not fit a batch.
    rest: Option<(u32, u32)>,
}

/// How places are drawn.
#[derive(Clone, Debug)]
enum Draws {
    /// From the footprint, whose first `hot` pages take a share `r` of the jumps.
    Mixture { hot: u32, r: f64 },
    /// From a finite trace in a loop.
    Looped(Loop),
}

/// A finite uniform trace. It is drawn again in every loop, from the same stream, so that it need not be stored.
///
/// A finite number of uniform writes leaves out some pages of their range. The footprint is the touched pages. They are
/// contiguous, in the order of the range, so that a run in the range is also a run in the footprint.
#[derive(Clone, Debug)]
struct Loop {
    /// Number of pages that are drawn from. The first `split` of them are at the bottom of the address space.
    range: u32,
    split: u32,
    /// Number of pages of one loop, and how many of them are left.
    pages: u64,
    left: u64,
    /// The stream at the start of a loop.
    first: Stream,
    touched: Arc<Touched>,
}

/// The pages of a range that a loop touches.
#[derive(Debug, Default)]
struct Touched {
    /// One bit a page.
    words: Vec<u64>,
    /// Number of touched pages before each word.
    before: Vec<u32>,
}

impl Touched {
    fn nothing(range: u32) -> Self {
        Self { words: vec![0; range as usize / 64 + 1], before: Vec::new() }
    }

    fn mark(&mut self, start: u32, pages: u32) {
        for page in start..start + pages {
            self.words[page as usize / 64] |= 1 << (page % 64);
        }
    }

    /// Prepares [`Self::rank`] after pages were marked.
    fn count(&mut self) {
        let mut sum = 0;
        let before = |word: &u64| {
            let before = sum;
            sum += word.count_ones();
            before
        };
        self.before = self.words.iter().map(before).collect();
    }

    /// Number of touched pages below `page`.
    fn rank(&self, page: u32) -> u32 {
        let (word, bit) = (page as usize / 64, page % 64);
        self.before[word] + (self.words[word] & ((1 << bit) - 1)).count_ones()
    }
}

/// A footprint in extents of equal length, with equal gaps between them.
#[derive(Clone, Copy, Debug)]
struct Extents {
    pages: u32,
    /// Number of gaps between extents, one less than the number of extents.
    gaps: u32,
    /// Number of pages of the address space outside the footprint.
    free: u32,
}

impl Extents {
    fn new(footprint: u32, logical: u32, pages: u32) -> Self {
        Self { pages, gaps: footprint.div_ceil(pages) - 1, free: logical - footprint }
    }

    /// The address of a page of the footprint. The free space is divided evenly among the gaps before its extent.
    fn address(self, index: u32) -> u32 {
        let gaps_before = u64::from(index / self.pages);
        index + (u64::from(self.free) * gaps_before).checked_div(u64::from(self.gaps)).unwrap_or(0) as u32
    }
}

/// Share of a range's pages that uniform writes leave out if they write `writes_per_page` (above 1) pages for each
/// page that they touch. It is exp(-k), where k, the writes per page of the range, solves k / (1 - exp(-k)) = `writes_per_page`.
fn left_out(writes_per_page: f64) -> f64 {
    // The right side's slope is below 1 everywhere, so that the iteration converges.
    let mut each = writes_per_page;
    for _ in 0..200 {
        each = writes_per_page * (1.0 - libm::exp(-each));
    }
    let share = libm::exp(-each);
    debug_assert!((0.0..1.0).contains(&share), "some pages are touched and some are left out, found {share}");
    share
}

impl StandinSource {
    /// Makes the packed stand-in on a drive of `logical` pages of `page_bytes`. From 65,536 pages on its measured figures are the
    /// published ones; on smaller drives some footprints are shorter than a run.
    ///
    /// # Panics
    /// The drive has fewer than [`PAGES_MIN`] pages. Callers must check it first.
    pub fn new(standin: &Standin, logical: u32, page_bytes: u64, stream: Stream) -> Self {
        let scale = f64::from(logical) / DRIVE_GIB;
        let footprint = (standin.footprint_gib * scale).round() as u32;
        let mean_pages = (standin.write_kib * 1024.0 / page_bytes as f64).max(1.0);
        let mut source = Self::unspread(Op::Write, footprint, logical, page_bytes, mean_pages, stream);
        source.sequential_share = standin.sequential_share;
        let tail = ((standin.tail_gib * scale).round() as u32).clamp(1, source.footprint / 2);
        match standin.spread {
            Spread::Mixture => {
                let hot = (f64::from(source.footprint) * (1.0 - standin.r)).round() as u32;
                source.mix(hot.clamp(1, source.footprint - tail), standin.r);
                source.bottom = source.footprint - tail;
            }
            Spread::Looped { writes_per_page } => source.repeat(writes_per_page, tail),
        }
        source
    }

    /// Makes the stand-in with another layout.
    ///
    /// # Panics
    /// As [`Self::new`].
    pub fn laid_out(standin: &Standin, layout: Layout, logical: u32, page_bytes: u64, stream: Stream) -> Self {
        let mut source = Self::new(standin, logical, page_bytes, stream);
        if layout == Layout::Scattered {
            let run_pages = standin.write_kib * 1024.0 / page_bytes as f64 / (1.0 - standin.sequential_share);
            source.extents = Some(Extents::new(source.footprint, logical, run_pages.round().max(1.0) as u32));
        }
        source
    }

    /// Makes the reads or the writes of a stand-in with both, on a drive of `logical` pages of `page_bytes`.
    pub(super) fn traffic(standin: &TrafficStandin, op: Op, logical: u32, page_bytes: u64, stream: Stream) -> Self {
        let traffic = if op == Op::Read { &standin.read } else { &standin.write };
        let footprint = (traffic.footprint_gib / TRAFFIC_GIB * f64::from(logical)).round() as u32;
        let mean_pages = (standin.request_kib() * 1024.0 / page_bytes as f64).max(1.0);
        let mut source = Self::unspread(op, footprint, logical, page_bytes, mean_pages, stream);
        source.sequential_share = find(standin.writes).map_or(0.0, |writes| writes.sequential_share);
        let hot = (f64::from(source.footprint) * HOT_PART).round() as u32;
        source.mix(hot.clamp(1, source.footprint - 1), traffic.hotness);
        source
    }

    /// Makes a source without runs and with a single part, the whole footprint.
    fn unspread(op: Op, footprint: u32, logical: u32, page_bytes: u64, mean_pages: f64, stream: Stream) -> Self {
        assert!(logical >= PAGES_MIN, "a stand-in needs at least {PAGES_MIN} pages");
        let footprint = footprint.clamp(2, logical);
        Self {
            stream,
            op,
            page_bytes,
            footprint,
            bottom: footprint,
            logical,
            draws: Draws::Mixture { hot: footprint, r: 1.0 },
            extents: None,
            sequential_share: 0.0,
            log_more: if mean_pages > 1.0 { libm::log(1.0 - 1.0 / mean_pages) } else { f64::NEG_INFINITY },
            cursor: 0,
            stretch: (0, footprint),
            rest: None,
        }
    }

    fn mix(&mut self, hot: u32, r: f64) {
        assert!(0 < hot && hot < self.footprint, "{hot} of {} pages are hot: both parts have one", self.footprint);
        self.draws = Draws::Mixture { hot, r };
        self.stretch = (0, hot);
    }

    /// Turns it into a loop of `writes_per_page` writes for each page of the footprint. About `tail` of its pages are at the top.
    fn repeat(&mut self, writes_per_page: f64, tail: u32) {
        let wanted = f64::from(self.footprint);
        let pages = ((writes_per_page * wanted) as u64).max(1);
        // The drive may be smaller than the range that gives the published footprint: 1.3 % for LM-TBE.
        let range = ((wanted / (1.0 - left_out(writes_per_page))).round() as u32).clamp(2, self.logical);
        let split = range - ((f64::from(tail) / wanted * f64::from(range)) as u32).clamp(1, range / 2);
        let first = self.stream.clone();
        self.draws =
            Draws::Looped(Loop { range, split, pages, left: pages, first: first.clone(), touched: Arc::default() });
        self.stretch = (0, split);
        let mut touched = Touched::nothing(range);
        let mut drawn = 0;
        while drawn < pages {
            let (start, size) = self.place();
            touched.mark(start, size);
            drawn += u64::from(size);
        }
        touched.count();
        (self.footprint, self.bottom) = (touched.rank(range), touched.rank(split));
        assert!(self.footprint <= self.logical, "a loop touches no more pages than there are");
        (self.stream, self.cursor, self.stretch) = (first.clone(), 0, (0, split));
        self.draws = Draws::Looped(Loop { range, split, pages, left: pages, first, touched: Arc::new(touched) });
    }

    /// Number of pages that the stand-in touches.
    pub fn footprint_pages(&self) -> u32 {
        self.footprint
    }

    /// Draws a geometric number of pages, at least 1.
    fn size(&mut self) -> u32 {
        let draw = 1.0 - self.stream.unit();
        let more = libm::floor(libm::log(draw) / self.log_more);
        1 + more.clamp(0.0, 1e6) as u32
    }

    /// Draws the next request as an index into the footprint and a count.
    fn draw(&mut self) -> (u32, u32) {
        let Draws::Looped(turn) = &mut self.draws else { return self.place() };
        if turn.left == 0 {
            turn.left = turn.pages;
            (self.stream, self.cursor, self.stretch) = (turn.first.clone(), 0, (0, turn.split));
        }
        let (start, size) = self.place();
        let Draws::Looped(turn) = &mut self.draws else { unreachable!("a loop stays one") };
        turn.left = turn.left.saturating_sub(u64::from(size));
        (turn.touched.rank(start), size)
    }

    /// Draws the next request within the pages that are drawn from.
    fn place(&mut self) -> (u32, u32) {
        let size = self.size();
        let start = if self.stream.chance(self.sequential_share) {
            let (first, end) = self.stretch;
            // A run that reaches the end of its range starts over in it, so that the parts keep their shares.
            if self.cursor.saturating_add(size) <= end { self.cursor } else { first }
        } else {
            self.jump()
        };
        self.stretch = self.stretch_of(start);
        let (first, end) = self.stretch;
        let size = size.min(end - first);
        let start = start.min(end - size);
        debug_assert!(size > 0, "a request has a page");
        debug_assert!(start >= first, "a request lies in one stretch");
        self.cursor = start + size;
        (start, size)
    }

    /// Draws a page of the hot part with chance r, otherwise of the cold part, or any page of a loop's range. It is never the page where the last
    /// request ended, which in a small part would add to the sequential share.
    fn jump(&mut self) -> u32 {
        let (first, end) = match self.draws {
            Draws::Mixture { hot, r } => {
                if self.stream.chance(r) {
                    (0, hot)
                } else {
                    (hot, self.footprint)
                }
            }
            Draws::Looped(Loop { range, .. }) => (0, range),
        };
        let barred = end - first > 1 && (first..end).contains(&self.cursor);
        let start = first + self.stream.below(u64::from(end - first - u32::from(barred))) as u32;
        start + u32::from(barred && start >= self.cursor)
    }

    /// First page and end of the contiguous range of one part that holds `index`. The hot part, less than half of the
    /// footprint, is at the bottom; the cold one fills the rest of the bottom and the tail.
    fn stretch_of(&self, index: u32) -> (u32, u32) {
        match self.draws {
            Draws::Mixture { hot, .. } if index < hot => (0, hot),
            Draws::Mixture { hot, .. } if index < self.bottom => (hot, self.bottom),
            Draws::Mixture { .. } => (self.bottom, self.footprint),
            Draws::Looped(Loop { split, .. }) if index < split => (0, split),
            Draws::Looped(Loop { range, split, .. }) => (split, range),
        }
    }

    /// The address of a page of the footprint.
    fn page(&self, index: u32) -> u32 {
        debug_assert!(index < self.footprint, "page {index} is one of the footprint's {}", self.footprint);
        match self.extents {
            Some(extents) => extents.address(index),
            None if index < self.bottom => index,
            None => self.logical - self.footprint + index,
        }
    }

    /// Number of pages of the footprint from `index` on that are certainly contiguous, for a request that starts there.
    fn contiguous_from(&self, index: u32) -> u32 {
        self.extents.map_or(u32::MAX, |extents| extents.pages - index % extents.pages)
    }

    /// The addresses of `count` pages of the footprint from `start` on, all of one request.
    fn put(&self, pages: &mut Vec<u32>, start: u32, count: u32) {
        if self.extents.is_some() {
            pages.extend((start..start + count).map(|index| self.page(index)));
        } else {
            let first = self.page(start);
            pages.extend(first..first + count);
        }
    }
}

impl Source for StandinSource {
    fn next(&mut self, batch: &mut Batch, pages_max: usize, requests_max: u64) -> Result<Drawn, SourceError> {
        batch.clear();
        batch.op = self.op;
        batch.requests = 0;
        while batch.pages.len() < pages_max && batch.requests < requests_max {
            let (start, pages) = self.rest.take().unwrap_or_else(|| self.draw());
            let fits = pages.min((pages_max - batch.pages.len()) as u32);
            self.put(&mut batch.pages, start, fits);
            if fits < pages {
                self.rest = Some((start + fits, pages - fits));
            } else {
                batch.end_request();
            }
        }
        Ok(Drawn::More)
    }

    fn never_writes(&self) -> bool {
        self.op != Op::Write
    }

    fn try_clone(&self) -> Result<Box<dyn Source>, SourceError> {
        Ok(Box::new(self.clone()))
    }

    fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        archive.field("standin.stream", &mut self.stream)?;
        archive.field("standin.cursor", &mut self.cursor)?;
        archive.field("standin.stretch", &mut self.stretch)?;
        archive.field("standin.rest", &mut self.rest)?;
        let mut left = if let Draws::Looped(turn) = &self.draws { turn.left } else { 0 };
        archive.field("standin.left", &mut left)?;
        if let Draws::Looped(turn) = &mut self.draws {
            turn.left = left;
        }
        Ok(())
    }
}

impl Iterator for StandinSource {
    type Item = Request;

    fn next(&mut self) -> Option<Request> {
        let (start, pages) = self.rest.take().unwrap_or_else(|| self.draw());
        let fits = pages.min(self.contiguous_from(start));
        if fits < pages {
            self.rest = Some((start + fits, pages - fits));
        }
        let bytes = |pages: u32| u64::from(pages) * self.page_bytes;
        let pages = fits;
        Some(Request { at: 0, op: self.op, offset: bytes(self.page(start)), length: bytes(pages) })
    }
}

#[cfg(test)]
mod tests;
