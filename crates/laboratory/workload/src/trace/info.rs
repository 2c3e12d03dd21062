//! The figures of a trace.

use std::collections::BTreeMap;

use serde::Serialize;

use wane_units::Nanos;

use super::spans::Spans;
use super::{Reader, TraceError};
use crate::{Op, Request};

/// Bytes of a page. Footprint and hotness are counted in pages.
const PAGE: u64 = 4096;

/// Pages of a chunk, whose counts are stored together. It is small, since a trace may touch single pages.
const CHUNK_PAGES: u64 = 64;

/// The figures of a trace, as `wane trace info --json` prints them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Info {
    /// The format's name.
    pub format: String,
    /// The figures.
    #[serde(flatten)]
    pub figures: Figures,
    /// What was assumed, and what was unusual.
    pub notes: Vec<String>,
}

/// The figures of a trace's requests.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figures {
    /// Reads, writes and trims.
    pub requests: u64,
    /// Requests that read.
    pub reads: u64,
    /// Requests that write.
    pub writes: u64,
    /// Requests that trim.
    pub trims: u64,
    /// Flushes.
    pub flushes: u64,
    /// Bytes read.
    pub bytes_read: u64,
    /// Bytes written.
    pub bytes_written: u64,
    /// Bytes of the 4 KiB pages that are read or written.
    pub footprint_bytes: u64,
    /// Bytes of the pages that are written.
    pub footprint_written_bytes: u64,
    /// Mean bytes of a read or write; null if there are none.
    pub request_bytes_mean: Option<f64>,
    /// Skew of the writes, or of the reads in a trace without writes; null if there are neither.
    pub hotness: Option<Hotness>,
    /// Share of the reads and writes that start where the previous one of the same kind ended.
    pub sequential_share: Option<f64>,
    /// The figures of the reads alone; null if there are none.
    pub of_reads: Option<OneWay>,
    /// The figures of the writes alone; null if there are none.
    pub of_writes: Option<OneWay>,
    /// Mean time between requests; null if the trace has no times.
    pub interarrival_ns_mean: Option<f64>,
    /// Nanoseconds from the start to the last request; null if the trace has no times.
    pub duration_ns: Option<u64>,
    /// Bytes written per day at this pace; null if the trace has no times.
    pub bytes_written_per_day: Option<f64>,
}

/// The figures of the requests in one direction: the columns by which the dissertation (000, Table 4) and Kim et al. (004, Table 4) tell their traces.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct OneWay {
    /// Bytes of the pages that they touch.
    pub footprint_bytes: u64,
    /// Mean bytes of a request.
    pub request_bytes_mean: f64,
    /// Share of them that start where the previous one ended.
    pub sequential_share: f64,
    /// Their skew.
    pub hotness: Option<Hotness>,
    /// Share of the accesses that go to the hottest fifth of the pages that they touch.
    pub top_fifth_share: f64,
}

/// The point at which the hottest share h of the touched pages receives a share r = 1 - h of the accesses.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Hotness {
    /// Share of the accesses.
    pub r: f64,
    /// Share of the pages.
    pub h: f64,
}

/// Counts of reads and of writes of the pages of a chunk.
#[derive(Clone, Debug)]
enum Counts {
    /// The same for each page, since large requests cover whole chunks.
    Alike([u32; 2]),
    /// Page by page.
    Each(Box<[[u32; 2]; CHUNK_PAGES as usize]>),
}

impl Default for Counts {
    fn default() -> Self {
        Self::Alike([0; 2])
    }
}

impl Counts {
    /// The counts page by page.
    fn each(&mut self) -> &mut [[u32; 2]; CHUNK_PAGES as usize] {
        if let Self::Alike(counts) = *self {
            *self = Self::Each(Box::new([counts; CHUNK_PAGES as usize]));
        }
        match self {
            Self::Each(counts) => counts,
            Self::Alike(_) => unreachable!("they were spread over the pages just now"),
        }
    }

    /// Counts an access of every page.
    fn touch_all(&mut self, kind: usize) {
        let add = |counts: &mut [u32; 2]| counts[kind] = counts[kind].saturating_add(1);
        match self {
            Self::Alike(counts) => add(counts),
            Self::Each(counts) => counts.iter_mut().for_each(add),
        }
    }
}

/// Counts of reads and of writes of every page that is touched, by chunks.
#[derive(Clone, Debug, Default)]
struct Heat(Spans<Counts>);

/// Sums up requests. Memory grows with the footprint or with the number of requests, whichever is smaller.
#[derive(Clone, Debug, Default)]
pub struct Measure {
    counts: [u64; 4],
    bytes: [u64; 2],
    ends: [Option<u64>; 2],
    sequential: [u64; 2],
    last_at: u64,
    heat: Heat,
}

impl Measure {
    /// Counts a request.
    pub fn push(&mut self, request: &Request) {
        self.counts[request.op as usize] += 1;
        self.last_at = self.last_at.max(request.at);
        let kind = match request.op {
            Op::Read => 0,
            Op::Write => 1,
            Op::Trim | Op::Flush => return,
        };
        self.bytes[kind] = self.bytes[kind].saturating_add(request.length);
        self.sequential[kind] += u64::from(self.ends[kind] == Some(request.offset));
        self.ends[kind] = request.offset.checked_add(request.length);
        self.heat.touch(request, kind);
    }

    /// The figures of what was counted.
    pub fn finish(&self) -> Figures {
        let [reads, writes, trims, flushes] = self.counts;
        let moved = reads + writes;
        let per_moved = |sum: u64| (moved > 0).then(|| sum as f64 / moved as f64);
        let arrivals = moved + trims + flushes;
        let (touched, written) = self.heat.pages();
        Figures {
            requests: moved + trims,
            reads,
            writes,
            trims,
            flushes,
            bytes_read: self.bytes[0],
            bytes_written: self.bytes[1],
            footprint_bytes: touched.saturating_mul(PAGE),
            footprint_written_bytes: written.saturating_mul(PAGE),
            request_bytes_mean: per_moved(self.bytes[0].saturating_add(self.bytes[1])),
            hotness: hotness(&self.heat.ranked(usize::from(writes > 0))),
            sequential_share: per_moved(self.sequential[0] + self.sequential[1]),
            of_reads: self.one_way(0),
            of_writes: self.one_way(1),
            duration_ns: (self.last_at > 0).then_some(self.last_at),
            bytes_written_per_day: (self.last_at > 0)
                .then(|| self.bytes[1] as f64 / (self.last_at as f64 / Nanos::DAY.0 as f64)),
            interarrival_ns_mean: (self.last_at > 0).then(|| self.last_at as f64 / (arrivals - 1).max(1) as f64),
        }
    }
}

impl Measure {
    /// The figures of the reads (0) or the writes (1).
    fn one_way(&self, kind: usize) -> Option<OneWay> {
        let requests = self.counts[kind];
        let ranked = self.heat.ranked(kind);
        (requests > 0).then(|| OneWay {
            footprint_bytes: ranked.values().sum::<u64>().saturating_mul(PAGE),
            request_bytes_mean: self.bytes[kind] as f64 / requests as f64,
            sequential_share: self.sequential[kind] as f64 / requests as f64,
            hotness: hotness(&ranked),
            top_fifth_share: share_of_hottest(&ranked, 0.2),
        })
    }
}

impl Heat {
    fn touch(&mut self, request: &Request, kind: usize) {
        let first = request.offset / PAGE;
        let end = request.offset.saturating_add(request.length).div_ceil(PAGE);
        // Chunks that are covered whole are from `whole` up to `tail`.
        let (whole, tail) = (first.div_ceil(CHUNK_PAGES), end / CHUNK_PAGES);
        if whole > tail {
            return self.touch_part(tail, first..end, kind);
        }
        self.touch_part(whole.saturating_sub(1), first..whole * CHUNK_PAGES, kind);
        self.0.change(whole, tail, |counts| counts.touch_all(kind));
        self.touch_part(tail, tail * CHUNK_PAGES..end, kind);
    }

    /// Counts an access of some pages of one chunk.
    fn touch_part(&mut self, chunk: u64, pages: std::ops::Range<u64>, kind: usize) {
        if pages.is_empty() {
            return;
        }
        let base = chunk * CHUNK_PAGES;
        self.0.change(chunk, chunk + 1, |counts| {
            for count in &mut counts.each()[(pages.start - base) as usize..(pages.end - base) as usize] {
                count[kind] = count[kind].saturating_add(1);
            }
        });
    }

    /// The counts of touched pages, each with the number of pages that have it.
    fn counts(&self) -> impl Iterator<Item = ([u32; 2], u64)> {
        let of_stretch = |(_, chunks, counts): (u64, u64, &Counts)| {
            let (alike, each) = match counts {
                Counts::Alike(counts) => (Some((*counts, chunks * CHUNK_PAGES)), None),
                Counts::Each(counts) => (None, Some(counts.map(|counts| (counts, chunks)))),
            };
            alike.into_iter().chain(each.into_iter().flatten())
        };
        self.0.iter().flat_map(of_stretch).filter(|(counts, _)| counts[0] > 0 || counts[1] > 0)
    }

    /// Pages touched, and pages written.
    fn pages(&self) -> (u64, u64) {
        self.counts().fold((0, 0), |(touched, written), (counts, pages)| {
            (touched + pages, if counts[1] > 0 { written + pages } else { written })
        })
    }

    /// How many pages there are of each number of reads (0) or of writes (1), of those with any.
    fn ranked(&self, kind: usize) -> BTreeMap<u32, u64> {
        let mut pages_by_count = BTreeMap::<u32, u64>::new();
        for (counts, pages) in self.counts().filter(|(counts, _)| counts[kind] > 0) {
            *pages_by_count.entry(counts[kind]).or_default() += pages;
        }
        pages_by_count
    }
}

fn accesses(count: u32, pages: u64) -> u128 {
    u128::from(count) * u128::from(pages)
}

fn all_accesses(pages_by_count: &BTreeMap<u32, u64>) -> u128 {
    pages_by_count.iter().map(|(count, pages)| accesses(*count, *pages)).sum()
}

fn hotness(pages_by_count: &BTreeMap<u32, u64>) -> Option<Hotness> {
    let (all, total) = (pages_by_count.values().sum::<u64>(), all_accesses(pages_by_count));
    let (mut rank, mut sum) = (0u64, 0u128);
    for (count, pages) in pages_by_count.iter().rev().map(|(count, pages)| (*count, *pages)) {
        let at = |more: u64| Hotness {
            r: (sum + accesses(count, more)) as f64 / total as f64,
            h: (rank + more) as f64 / all as f64,
        };
        let is_there = |more: u64| at(more).r + at(more).h >= 1.0;
        if is_there(pages) {
            // Both shares grow with each page, so the first page that reaches the point is found by bisection.
            let (mut least, mut most) = (1, pages);
            while least < most {
                let middle = least + (most - least) / 2;
                if is_there(middle) { most = middle } else { least = middle + 1 }
            }
            let found = at(least);
            debug_assert!(found.r <= 1.0, "the hottest pages take a share of the accesses, found {}", found.r);
            debug_assert!(found.h <= 1.0, "the hottest pages are a share of all, found {}", found.h);
            return Some(found);
        }
        (rank, sum) = (rank + pages, sum + accesses(count, pages));
    }
    None
}

/// Share of the accesses that go to the hottest `share` of the pages. A page that is partly among them counts in part.
fn share_of_hottest(pages_by_count: &BTreeMap<u32, u64>, share: f64) -> f64 {
    let mut left = share * pages_by_count.values().sum::<u64>() as f64;
    let mut sum = 0.0;
    for (count, pages) in pages_by_count.iter().rev() {
        let taken = left.min(*pages as f64);
        sum += taken * f64::from(*count);
        left -= taken;
    }
    sum / (all_accesses(pages_by_count) as f64).max(1.0)
}

/// Reads a trace to its end and computes its figures.
///
/// # Errors
/// The first thing in it that does not parse.
pub fn info(mut reader: Reader) -> Result<Info, TraceError> {
    let mut measure = Measure::default();
    for request in &mut reader {
        measure.push(&request?);
    }
    let figures = measure.finish();
    if figures.requests + figures.flushes == 0 {
        let notes = reader.notes();
        let why = if notes.is_empty() { String::new() } else { format!(": {}", notes.join("; ")) };
        return Err(TraceError::Unusable {
            name: reader.name().to_owned(),
            reason: format!("it holds no request{why}"),
        });
    }
    let notes = reader.notes().into_iter().chain(reader.coarse_times().filter(|_| !reader.is_timeless()));
    Ok(Info { format: reader.format().name().to_owned(), figures, notes: notes.collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Footprint, footprint written and hotness, computed from a table with one row for each page.
    fn by_page(requests: &[Request]) -> (u64, u64, Option<Hotness>) {
        let mut table = BTreeMap::<u64, [u32; 2]>::new();
        for request in requests {
            for page in request.offset / PAGE..(request.offset + request.length).div_ceil(PAGE) {
                table.entry(page).or_default()[usize::from(request.op == Op::Write)] += 1;
            }
        }
        let mut writes: Vec<u32> = table.values().map(|counts| counts[1]).filter(|count| *count > 0).collect();
        writes.sort_unstable_by(|a, b| b.cmp(a));
        let total: u64 = writes.iter().map(|count| u64::from(*count)).sum();
        let mut sum = 0;
        let hotness = (1u64..).zip(&writes).find_map(|(rank, count)| {
            sum += u64::from(*count);
            let (r, h) = (sum as f64 / total as f64, rank as f64 / writes.len() as f64);
            (r + h >= 1.0).then_some(Hotness { r, h })
        });
        (table.len() as u64 * PAGE, writes.len() as u64 * PAGE, hotness)
    }

    #[test]
    fn stretches_give_the_figures_of_single_pages() {
        let mut stream = wane_sim::Streams::new(6).stream("info");
        for round in 0..300 {
            let requests: Vec<Request> = (0..=stream.below(60))
                .map(|_| {
                    let op = if stream.chance(0.3) { Op::Read } else { Op::Write };
                    let most = [4096, 40_000, 3_000_000][stream.below(3) as usize];
                    Request { at: 0, op, offset: stream.below(4_000_000), length: 1 + stream.below(most) }
                })
                .chain([Request { at: 0, op: Op::Write, offset: 0, length: 1 }])
                .collect();
            let mut measure = Measure::default();
            requests.iter().for_each(|request| measure.push(request));
            let figures = measure.finish();
            let found = (figures.footprint_bytes, figures.footprint_written_bytes, figures.hotness);
            assert_eq!(found, by_page(&requests), "round {round}");
        }
    }

    #[test]
    fn memory_follows_the_requests_where_they_are_large() {
        let mut measure = Measure::default();
        for number in 0..1000u64 {
            let offset = number * (5 << 30) + 4096;
            measure.push(&Request { at: 0, op: Op::Write, offset, length: 4 << 30 });
        }
        assert_eq!(measure.finish().footprint_written_bytes, 1000 * (4 << 30));
        // A part of a chunk at both ends of each request, and what lies between.
        assert!(measure.heat.0.len() <= 3000, "{} stretches", measure.heat.0.len());
    }
}
