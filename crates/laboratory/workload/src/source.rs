//! The interface between workloads and drives.

use serde::{Deserialize, Serialize};
use wane_archive::{Archive, ArchiveError};

use crate::Op;

/// Page accesses of one kind, in order. The drive's page is one mapping unit.
#[derive(Clone, Debug)]
pub struct Batch {
    /// The operation on every page.
    pub op: Op,
    /// The logical pages. Empty for a flush.
    pub pages: Vec<u32>,
    /// The pages that requests read or write only in part, in rising order of their places.
    pub parts: Vec<Part>,
    /// Number of requests that this batch completes.
    pub requests: u64,
    /// Where in `pages` each of its requests ends, if requests may have several pages. The last one may go on in the next batch. If it is empty, all pages
    /// are of one request, or each is one by itself if there are several.
    pub ends: Vec<u32>,
    /// Arrival of its first request in nanoseconds since the source's start; 0 if the source has no times. It never goes
    /// back: a looped trace continues from its end.
    pub at: u64,
    /// How many requests back the one is that must be done before this one arrives: 1 is the one before it, 0 is none. It is only set in a
    /// batch of a single request, and only used by timed runs.
    pub after: u64,
    /// Beginnings and ends of operations, which consist of requests, in order since the last request. They are complete only in a batch of a single
    /// request, and only used by timed runs.
    pub milestones: Vec<Milestone>,
}

impl Default for Batch {
    fn default() -> Self {
        Self {
            op: Op::Write,
            pages: Vec::new(),
            parts: Vec::new(),
            requests: 0,
            ends: Vec::new(),
            at: 0,
            after: 0,
            milestones: Vec::new(),
        }
    }
}

impl Batch {
    /// Takes all pages out of it.
    #[inline(always)]
    pub fn clear(&mut self) {
        self.pages.clear();
        self.parts.clear();
        self.ends.clear();
    }

    /// Notes that a request ends with the last page so far.
    pub fn end_request(&mut self) {
        self.requests += 1;
        self.ends.push(self.pages.len() as u32);
    }

    /// Whether its last request goes on in the next batch.
    pub fn is_open(&self) -> bool {
        let is_done = self.requests > 0;
        let end = self.ends.last().map_or(if is_done { self.pages.len() } else { 0 }, |end| *end as usize);
        end < self.pages.len()
    }

    /// Puts the next batch of the same operation behind it.
    pub fn append(&mut self, next: &Self) {
        let before = self.pages.len() as u32;
        let moved = |part: &Part| Part { index: part.index + before, ..*part };
        self.pages.extend_from_slice(&next.pages);
        self.parts.extend(next.parts.iter().map(moved));
        self.ends.extend(next.ends.iter().map(|end| end + before));
        self.requests += next.requests;
    }

    /// Whether a request may have several of its pages.
    pub const fn has_long_requests(&self) -> bool {
        !self.ends.is_empty() || self.requests <= 1
    }

    /// The end of the request that a place of a page belongs to, or the end of the pages.
    pub fn end_of_request(&self, place: usize) -> usize {
        let next = self.ends.partition_point(|end| *end as usize <= place);
        self.ends.get(next).map_or(self.pages.len(), |end| self.pages.len().min(*end as usize))
    }

    /// The pages from one place to another, those of each request by themselves.
    pub fn pieces(&self, places: std::ops::Range<usize>) -> impl Iterator<Item = &[u32]> {
        let mut at = places.start;
        let mut next = self.ends.partition_point(|end| *end as usize <= at);
        std::iter::from_fn(move || {
            if at >= places.end {
                return None;
            }
            // Requests of no pages end where the one before them does.
            while self.ends.get(next).is_some_and(|end| *end as usize <= at) {
                next += 1;
            }
            let end = match self.ends.get(next) {
                Some(end) => places.end.min(*end as usize),
                None if self.has_long_requests() => places.end,
                None => at + 1,
            };
            Some(&self.pages[std::mem::replace(&mut at, end)..end])
        })
    }

    /// The parts whose pages are still in the batch: a caller may have cut off its last pages.
    pub fn parts_present(&self) -> &[Part] {
        let end = self.parts.partition_point(|part| (part.index as usize) < self.pages.len());
        &self.parts[..end]
    }

    /// Bytes of its pages that its requests neither read nor write.
    pub fn bytes_around(&self) -> u64 {
        self.parts_present().iter().map(|part| u64::from(part.around)).sum()
    }
}

/// A page of a batch of which a request reads or writes only a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Its place in [`Batch::pages`].
    pub index: u32,
    /// Bytes of the page that the request leaves alone.
    pub around: u32,
}

/// The operation of a client of a key-value store, by YCSB's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum OperationKind {
    /// A lookup of a key.
    Read,
    /// A put of an existing record.
    Update,
    /// A put of a new record.
    Insert,
    /// A read of records in the order of keys.
    Scan,
    /// A lookup followed by a put of the same key.
    ReadModifyWrite,
}

impl OperationKind {
    /// All kinds, each at the index of its number.
    pub const ALL: [Self; 5] = [Self::Read, Self::Update, Self::Insert, Self::Scan, Self::ReadModifyWrite];
}

/// The beginning or end of an operation among the requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Milestone {
    /// A client begins an operation, with the batch's request.
    Begins {
        /// Number of the client.
        client: u32,
    },
    /// All requests of the client's operation were given. It is done when two requests are done: its own last one, and one of others.
    Ends {
        /// Number of the client.
        client: u32,
        /// The kind of the operation.
        kind: OperationKind,
        /// How many requests back, from the batch's, these two are: 1 is the one before it; 0 means none.
        after: [u64; 2],
    },
}

/// Whether a source continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drawn {
    /// The batch holds something.
    More,
    /// The source is at its end and the batch is empty.
    End,
}

/// A smaller share of the requests counts as none. It would occur once in a trillion requests, and rounding leaves such a
/// share when decimal shares are subtracted from 1.
pub const SHARE_MIN: f64 = 1e-12;

/// A trace that cannot be read further.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
#[non_exhaustive]
pub struct SourceError(pub String);

impl SourceError {
    /// Makes the error with this sentence.
    pub fn new(sentence: impl Into<String>) -> Self {
        Self(sentence.into())
    }
}

/// The pace at which a trace writes, by its own times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    /// Bytes that it writes. If its addresses are sampled, the sample's share of all bytes.
    pub bytes_written: f64,
    /// Nanoseconds from its first request to its last; more than 0.
    pub over_ns: u64,
}

/// A source of requests for a drive.
pub trait Source: Send {
    /// Replaces `batch` by the next accesses: at most `pages_max` pages (at least one), and at most `requests_max`
    /// completed requests. A request longer than `pages_max` continues in the next batch. A batch is empty of
    /// pages only if it is a flush, a trim of no whole page, or the end.
    ///
    /// # Errors
    /// The trace behind the source is damaged or its file cannot be read.
    fn next(&mut self, batch: &mut Batch, pages_max: usize, requests_max: u64) -> Result<Drawn, SourceError>;

    /// Makes an independent source that continues from the same place.
    ///
    /// # Errors
    /// It cannot be read twice: a stream, or a trace that is read straight from its file.
    fn try_clone(&self) -> Result<Box<dyn Source>, SourceError>;

    /// Archives its place: writes it to a file, or reads it back into a new source of the same workload, which then gives the same requests.
    ///
    /// # Errors
    /// As [`Archive`]; or it cannot be saved, or its trace has changed.
    fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        let _ = archive;
        Err(ArchiveError::Unsaved("this workload comes from outside and does not implement `archive`".to_owned()))
    }

    /// The share of it that is drawn, between 0 and 1, if it ends by itself and the share is known. For progress reports only.
    fn share_drawn(&self) -> Option<f64> {
        None
    }

    /// Whether it is known to continue for ever without a write.
    fn never_writes(&self) -> bool {
        false
    }

    /// A sentence that names it and says that its requests have no time of arrival; `None` if they have.
    fn timeless(&self) -> Option<String> {
        None
    }

    /// The pace at which it writes by its own times, over one round or, if it is read only once, as far as it was read. `None` if it has no
    /// times, or if all are the same.
    fn pace(&self) -> Option<Pace> {
        None
    }

    /// A sentence that the times read so far are too coarse to be replayed; `None` if they are not, or there are none.
    fn coarse_times(&self) -> Option<String> {
        None
    }

    /// Notes for the reader of the results on what was read so far, in sentences.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_the_pages_of_each_request() {
        let of = |batch: &Batch, places| batch.pieces(places).map(<[u32]>::to_vec).collect::<Vec<_>>();
        let mut batch = Batch { pages: vec![7, 8, 9], ..Batch::default() };
        assert_eq!((of(&batch, 0..3), batch.is_open()), (vec![vec![7, 8, 9]], true), "parts of one request");
        batch.requests = 3;
        assert_eq!((of(&batch, 0..3), batch.is_open()), (vec![vec![7], vec![8], vec![9]], false), "a page each");
        assert!(!batch.has_long_requests());
        let mut batch = Batch { pages: vec![7, 8], ..Batch::default() };
        batch.end_request();
        // A trim of no whole page.
        batch.end_request();
        batch.pages.push(9);
        assert!(batch.is_open() && batch.has_long_requests());
        let mut rest = Batch { pages: vec![10], ..Batch::default() };
        rest.end_request();
        batch.append(&rest);
        assert_eq!((batch.requests, &batch.ends[..], batch.is_open()), (3, &[2, 2, 4][..], false));
        assert_eq!(of(&batch, 0..4), [[7, 8], [9, 10]]);
        assert_eq!(of(&batch, 1..3), [[8], [9]]);
        assert_eq!((batch.end_of_request(0), batch.end_of_request(2)), (2, 4));
    }
}
