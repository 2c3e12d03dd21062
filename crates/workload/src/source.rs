//! The seam between workloads and drives.

use serde::{Deserialize, Serialize};
use wane_archive::{Archive, ArchiveError};

use crate::Op;

/// Page accesses of one kind, in order. The drive's page is one mapping unit.
#[derive(Clone, Debug)]
pub struct Batch {
    /// What is done to every page.
    pub op: Op,
    /// The logical pages. Empty for a flush.
    pub pages: Vec<u32>,
    /// Requests that this batch completes.
    pub requests: u64,
    /// Arrival of its first request in nanoseconds since the source's start; 0 where the source has no times. It never goes
    /// back: a looped trace goes on where it ended.
    pub at: u64,
    /// How many requests back the one lies that must be done before this one comes: 1 is the one before it, 0 is none. Told of a
    /// batch of a single request; only a timed run heeds it.
    pub after: u64,
    /// Beginnings and ends of operations above requests, in order, since the request before. Told whole of a batch of a single request;
    /// only a timed run heeds them.
    pub milestones: Vec<Milestone>,
}

impl Default for Batch {
    fn default() -> Self {
        Self { op: Op::Write, pages: Vec::new(), requests: 0, at: 0, after: 0, milestones: Vec::new() }
    }
}

/// What a client of a key-value store asks for, in the words of YCSB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum OperationKind {
    /// A lookup of a key.
    Read,
    /// A put of a record that is there.
    Update,
    /// A put of a new record.
    Insert,
    /// Records in the order of keys.
    Scan,
    /// A lookup followed by a put of the same key.
    ReadModifyWrite,
}

impl OperationKind {
    /// All of them, each at its own number.
    pub const ALL: [Self; 5] = [Self::Read, Self::Update, Self::Insert, Self::Scan, Self::ReadModifyWrite];
}

/// Where an operation begins or ends among the requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Milestone {
    /// A client begins an operation, with the batch's request.
    Begins {
        /// Which of the clients.
        client: u32,
    },
    /// All that the client's operation asks for was given. It is done when two requests are: its own last one, and one of others.
    Ends {
        /// Which of the clients.
        client: u32,
        /// What it was.
        kind: OperationKind,
        /// How many requests back, from the batch's, they lie: 1 is the one before it; 0 where there is none.
        after: [u64; 2],
    },
}

/// Whether a source goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The batch holds something.
    More,
    /// The source is at its end and the batch is empty.
    End,
}

/// A smaller share of the requests counts as none: it would come up once in a trillion requests, and what remains of 1
/// when decimal shares are taken from it is a rounding.
pub const SHARE_MIN: f64 = 1e-12;

/// A trace that cannot be read further.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
#[non_exhaustive]
pub struct SourceError(pub String);

impl SourceError {
    /// The error that one sentence tells.
    pub fn new(sentence: impl Into<String>) -> Self {
        Self(sentence.into())
    }
}

/// How fast a trace writes, by its own times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    /// Pages that it writes; of a trace of which addresses are sampled, its share of all.
    pub pages_written: f64,
    /// Nanoseconds from its first request to its last; more than 0.
    pub over_ns: u64,
}

/// Gives a drive its work.
pub trait Source: Send {
    /// Replaces `batch` by the next accesses: at most `pages_max` pages (at least one), at most `requests_max`
    /// completed requests. A request longer than `pages_max` continues in the next batch. A batch is only empty of
    /// pages when it is a flush, a trim of no whole page, or the end.
    ///
    /// # Errors
    /// The trace behind the source is damaged or its file cannot be read.
    fn next(&mut self, batch: &mut Batch, pages_max: usize, requests_max: u64) -> Result<Progress, SourceError>;

    /// Another source that goes on from the same place, by itself.
    ///
    /// # Errors
    /// It cannot be read twice: a stream, or a trace that is read straight from its file.
    fn try_clone(&self) -> Result<Box<dyn Source>, SourceError>;

    /// Where it stands, to a file or back into a new source of the same workload, which then gives what this one would have given.
    ///
    /// # Errors
    /// As of [`Archive`]; it cannot be saved, or its trace is another one by now.
    fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        let _ = archive;
        Err(ArchiveError::Unsaved("this workload comes from outside and does not implement `archive`".to_owned()))
    }

    /// How much of it is drawn, between 0 and 1, where it ends by itself and that is known: for progress alone.
    fn share_drawn(&self) -> Option<f64> {
        None
    }

    /// Whether it is known to go on for ever without a write.
    fn never_writes(&self) -> bool {
        false
    }

    /// What it is called and that its requests have no time of arrival, in a sentence; `None` where they have.
    fn timeless(&self) -> Option<String> {
        None
    }

    /// How fast it writes by its own times: once over, or, where it is read once, as far as it was read. `None` where it has no
    /// times, or where all it has come at the same one.
    fn pace(&self) -> Option<Pace> {
        None
    }

    /// That the times of what was read so far are too coarse to be replayed, in a sentence; `None` where they are not, or there are none.
    fn coarse_times(&self) -> Option<String> {
        None
    }

    /// What a reader of the results should know of what was read so far, in sentences.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}
