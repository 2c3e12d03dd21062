//! The figures of a trace.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Reader, TraceError};
use crate::{Op, Request};

/// Bytes of the pages in which footprint and hotness are counted.
const PAGE: u64 = 4096;

/// Pages of a stretch that keeps its counts together: few, for a trace may touch one page here and there.
const CHUNK_PAGES: u64 = 64;

/// The figures of a trace, as `wane trace info --json` prints them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Info {
    /// The format's name.
    pub format: String,
    /// The figures.
    #[serde(flatten)]
    pub figures: Figures,
    /// What was assumed, and what was odd.
    pub notes: Vec<String>,
}

/// What requests add up to.
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
    /// Mean bytes of a read or write; null without any.
    pub request_bytes_mean: Option<f64>,
    /// How skewed the writes are, or the reads of a trace without writes; null without either.
    pub hotness: Option<Hotness>,
    /// Share of the reads and writes that start where the previous one of the same kind ended.
    pub sequential_share: Option<f64>,
    /// Mean time between requests; null where the trace has no times.
    pub interarrival_ns_mean: Option<f64>,
}

/// The point where the hottest share h of the pages touched receives the share r = 1 - h of the accesses.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Hotness {
    /// Share of the accesses.
    pub r: f64,
    /// Share of the pages.
    pub h: f64,
}

/// Counts of reads and of writes of every page that is touched.
#[derive(Clone, Debug, Default)]
struct Heat(BTreeMap<u64, Box<[[u32; 2]]>>);

/// Adds requests up. Memory grows with the footprint.
#[derive(Clone, Debug, Default)]
pub struct Measure {
    counts: [u64; 4],
    bytes: [u64; 2],
    ends: [Option<u64>; 2],
    sequential: u64,
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
        self.sequential += u64::from(self.ends[kind] == Some(request.offset));
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
            footprint_bytes: touched * PAGE,
            footprint_written_bytes: written * PAGE,
            request_bytes_mean: per_moved(self.bytes[0].saturating_add(self.bytes[1])),
            hotness: self.heat.hotness(usize::from(writes > 0)),
            sequential_share: per_moved(self.sequential),
            interarrival_ns_mean: (self.last_at > 0).then(|| self.last_at as f64 / (arrivals - 1).max(1) as f64),
        }
    }
}

impl Heat {
    fn touch(&mut self, request: &Request, kind: usize) {
        let mut page = request.offset / PAGE;
        let end = request.offset.saturating_add(request.length).div_ceil(PAGE);
        while page < end {
            let chunk = page / CHUNK_PAGES;
            let counts = self.0.entry(chunk).or_insert_with(|| vec![[0; 2]; CHUNK_PAGES as usize].into());
            let until = end.min((chunk + 1) * CHUNK_PAGES);
            for within in page % CHUNK_PAGES..page % CHUNK_PAGES + (until - page) {
                let count = &mut counts[within as usize][kind];
                *count = count.saturating_add(1);
            }
            page = until;
        }
    }

    fn counts(&self) -> impl Iterator<Item = &[u32; 2]> {
        self.0.values().flatten().filter(|counts| counts[0] > 0 || counts[1] > 0)
    }

    /// Pages touched, and pages written.
    fn pages(&self) -> (u64, u64) {
        (self.counts().count() as u64, self.counts().filter(|counts| counts[1] > 0).count() as u64)
    }

    fn hotness(&self, kind: usize) -> Option<Hotness> {
        let mut counts: Vec<u32> = self.counts().map(|counts| counts[kind]).filter(|count| *count > 0).collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let total: u64 = counts.iter().map(|count| u64::from(*count)).sum();
        let mut sum = 0;
        for (rank, count) in (1u64..).zip(&counts) {
            sum += u64::from(*count);
            let (r, h) = (sum as f64 / total as f64, rank as f64 / counts.len() as f64);
            if r + h >= 1.0 {
                return Some(Hotness { r, h });
            }
        }
        None
    }
}

/// Reads a trace to its end and adds it up.
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
        return Err(TraceError::Unusable { name: reader.name().to_owned(), reason: "it holds no request".to_owned() });
    }
    Ok(Info { format: reader.format().name().to_owned(), figures, notes: reader.notes() })
}
