//! Replays a trace on a drive: in pages instead of bytes, and looped if wanted.

use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::sync::{Arc, Mutex};

use serde::{Deserialize, Serialize};
use tempfile::SpooledTempFile;
use wane_archive::{Archive, ArchiveError};
use wane_units::Bytes;

use super::compact::{Encoder, Next, State, read_record};
use super::spans::Spans;
use super::{Reader, TraceError};
use crate::{Batch, Drawn, Op, Pace, Part, Request, Source, SourceError};

/// Largest decoded trace that stays in memory. Larger ones go to a temporary file.
const SPOOL_BYTES: usize = 64 << 20;

/// Most requests of a decoded trace that are held in the drive's pages, 40 bytes each. Longer traces are decoded again in each round.
const HELD_MAX: u64 = 1 << 20;

/// How a trace is replayed on a drive.
#[derive(Clone, Copy, Debug)]
pub struct Replay {
    /// Bytes of a logical page.
    pub page_bytes: u64,
    /// Logical pages of the drive.
    pub logical_pages: u32,
    /// Whether a page becomes its rank among the touched pages, in address order, instead of its number modulo the logical pages.
    pub compact: bool,
    /// Whether it starts over at the end.
    pub looped: bool,
    /// One in `sample` chunks of [`CHUNK_BYTES`] of the addresses is kept, and the kept ones are moved together. At least 1.
    pub sample: u32,
}

/// Size of the chunks of addresses that sampling keeps or leaves out: large enough for the requests of most traces, small enough
/// that even a small footprint has many.
pub const CHUNK_BYTES: u64 = 64 << 10;

impl Replay {
    /// Number of kept pages below `page`.
    fn kept_below(&self, page: u64) -> u64 {
        if self.sample <= 1 {
            return page;
        }
        let chunk = (CHUNK_BYTES / self.page_bytes).max(1);
        let round = chunk * u64::from(self.sample);
        page / round * chunk + (page % round).min(chunk)
    }

    /// The kept pages of a request: all that a read or write touches, or all that a trim covers whole.
    fn pages(&self, request: &Request) -> (u64, u64) {
        let (first, end) = pages(request, self.page_bytes);
        debug_assert!(first <= end, "a request ends no earlier than it begins");
        (self.kept_below(first), self.kept_below(end))
    }

    /// Bytes of the first and of the last kept page that a read or write leaves alone. A page that is both counts as the first.
    fn around(&self, request: &Request) -> [u32; 2] {
        if !matches!(request.op, Op::Read | Op::Write) {
            return [0, 0];
        }
        let (first, end) = pages(request, self.page_bytes);
        let before = request.offset % self.page_bytes;
        let after = match (request.offset + request.length) % self.page_bytes {
            0 => 0,
            within => self.page_bytes - within,
        };
        let is_kept = |page: u64| self.kept_below(page) < self.kept_below(page + 1);
        let around = |page: u64, bytes: u64| if is_kept(page) { bytes as u32 } else { 0 };
        match end - first {
            1 => [around(first, before + after), 0],
            _ => [around(first, before), around(end - 1, after)],
        }
    }

    /// Whether the whole request is left out.
    fn leaves_out(&self, request: &Request) -> bool {
        let (first, end) = self.pages(request);
        self.sample > 1 && first == end && request.op != Op::Flush
    }
}

/// Sums up a trace.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    bytes_written: u64,
    last_at: u64,
    /// Of reads and writes, which are kept.
    reads: Rounded,
    writes: Rounded,
    /// The end of the kept addresses, and how many reads and writes reach beyond the drive's.
    end: u64,
    beyond: u64,
}

/// Requests that begin or end within a page.
#[derive(Clone, Copy, Debug, Default)]
struct Rounded {
    requests: u64,
    requests_all: u64,
    bytes: u64,
    bytes_all: u64,
    /// Bytes of the pages that all of them touch.
    bytes_of_pages: u64,
}

impl Rounded {
    fn add(&mut self, bytes: u64, bytes_of_pages: u64) {
        self.requests_all += 1;
        self.bytes_all += bytes;
        self.bytes_of_pages += bytes_of_pages;
        if bytes < bytes_of_pages {
            self.requests += 1;
            self.bytes += bytes;
        }
    }

    /// What `verb` says they do, with their numbers; `None` if all have whole pages.
    fn told(&self, verb: &str, page_bytes: u64) -> Option<String> {
        (self.requests > 0).then(|| {
            format!(
                "{} of {} {verb} begin or end within a page (mapping unit) of {}: in one round of the trace, of {} in the pages that all {verb} touch, the host asked for {}",
                self.requests,
                self.requests_all,
                Bytes(page_bytes),
                Bytes(self.bytes_of_pages).decimal(),
                Bytes(self.bytes_all).decimal(),
            )
        })
    }
}

impl Tally {
    /// Counts a request, whether it is kept or not.
    fn add(&mut self, request: &Request, replay: &Replay) {
        self.last_at = self.last_at.max(request.at);
        if request.op == Op::Write {
            self.bytes_written += request.length;
        }
        let (first, end) = replay.pages(request);
        if !matches!(request.op, Op::Read | Op::Write) || first == end {
            return;
        }
        let rounded = if request.op == Op::Read { &mut self.reads } else { &mut self.writes };
        let of_pages = (end - first) * replay.page_bytes;
        let around: u64 = replay.around(request).map(u64::from).iter().sum();
        rounded.add(of_pages - around, of_pages);
        self.end = self.end.max(end);
        self.beyond += u64::from(end > u64::from(replay.logical_pages));
    }

    fn pace(self, sample: u32) -> Option<Pace> {
        let bytes_written = self.bytes_written as f64 / f64::from(sample.max(1));
        (self.last_at > 0).then_some(Pace { bytes_written, over_ns: self.last_at })
    }

    /// How the drive sees other requests than the trace has, in sentences.
    fn notes(&self, replay: &Replay) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some(told) = self.writes.told("writes", replay.page_bytes) {
            notes.push(format!("{told}; each page written in part was read, completed and written whole"));
        }
        notes.extend(self.reads.told("reads", replay.page_bytes));
        if self.beyond > 0 && !replay.compact {
            notes.push(format!(
                "its addresses reach {}, the drive has {}: {} of {} reads and writes were folded onto it, each page modulo the drive's pages \
                 (see workload.remap)",
                Bytes(self.end.saturating_mul(replay.page_bytes)).decimal(),
                Bytes(u64::from(replay.logical_pages) * replay.page_bytes).decimal(),
                self.beyond,
                self.reads.requests_all + self.writes.requests_all,
            ));
        }
        notes
    }
}

/// The pace at which a trace writes on a drive, by its own times; `None` if it has no times, or all are the same.
///
/// # Errors
/// The trace does not parse.
pub fn pace(reader: Reader, replay: Replay) -> Result<Option<Pace>, TraceError> {
    let mut tally = Tally::default();
    for request in reader {
        tally.add(&request?, &replay);
    }
    // Without times all requests come at once, which is no pace.
    Ok(tally.pace(replay.sample))
}

/// A trace as a [`Source`].
pub struct TraceSource {
    replay: Replay,
    requests: Requests,
    ranks: Option<Arc<Ranks>>,
    /// The rest of the request that is being given out, with its time of arrival.
    rest: Option<Met>,
    /// Arrival of the last request, and the time that is added to those of the present round.
    last_at: u64,
    round_at: u64,
    /// Number of requests taken in the present round.
    met: u64,
    name: String,
    /// Whether there was a read or write yet.
    moved: bool,
    /// Whether the trace is decoded whole and holds no write.
    writeless: bool,
    /// A sentence that its format has no times.
    timeless: Option<String>,
    /// Notes of the reader on a trace that is decoded whole.
    notes: Vec<String>,
    /// The reader's note on the times of such a trace.
    coarse_times: Option<String>,
    /// The tally of the whole trace if it is decoded, otherwise of what was read so far.
    tally: Tally,
}

enum Requests {
    /// Read once, directly from the file.
    Once(Box<Reader>),
    /// Decoded once, and replayed from the decoded copy.
    Spooled { bytes: Box<BufReader<Cursor>>, state: State },
    /// Decoded once, and held in the drive's pages, for a short trace.
    Held { all: Arc<[Met]>, next: usize },
}

/// A request for the drive: its time in the trace, and its pages from `first` up to `end`, before the modulo.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Met {
    at: u64,
    op: Op,
    first: u64,
    end: u64,
    /// Bytes of the first and of the last page that it leaves alone.
    around: [u32; 2],
}

/// A place in a decoded trace. All sources of the trace share the decoded copy.
struct Cursor {
    spool: Arc<Mutex<SpooledTempFile>>,
    at: u64,
}

impl Cursor {
    fn start(spool: Arc<Mutex<SpooledTempFile>>) -> Box<BufReader<Self>> {
        Self { spool, at: 0 }.buffered()
    }

    fn buffered(self) -> Box<BufReader<Self>> {
        Box::new(BufReader::with_capacity(1 << 16, self))
    }
}

impl Read for Cursor {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut spool = self.spool.lock().expect("no holder panics");
        spool.seek(SeekFrom::Start(self.at))?;
        let read = spool.read(buffer)?;
        self.at += read as u64;
        Ok(read)
    }
}

impl Seek for Cursor {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let SeekFrom::Start(at) = to else { return Err(io::ErrorKind::Unsupported.into()) };
        self.at = at;
        Ok(at)
    }
}

impl TraceSource {
    /// Makes the source that replays the trace of `reader` on a drive.
    ///
    /// # Errors
    /// The trace does not parse, holds no read or write, or touches more pages than the drive has.
    pub fn new(reader: Reader, replay: Replay) -> Result<Self, TraceError> {
        Self::holding(reader, replay, HELD_MAX)
    }

    /// The same, with decoded traces of up to `held_max` requests held.
    pub(super) fn holding(reader: Reader, replay: Replay, held_max: u64) -> Result<Self, TraceError> {
        let name = reader.name().to_owned();
        let unusable = |reason: String| TraceError::Unusable { name: name.clone(), reason };
        if replay.logical_pages == 0 || replay.page_bytes == 0 {
            return Err(unusable("it cannot be replayed on a drive without pages".to_owned()));
        }
        if !replay.looped && !replay.compact {
            return Ok(Self::once(reader, replay));
        }
        let uncopied = |source| TraceError::Uncopied { name: name.clone(), source };
        let mut spool = std::io::BufWriter::new(SpooledTempFile::new(SPOOL_BYTES));
        let mut encoder = Encoder::new();
        let mut touched = Touched::default();
        let (mut kept, mut moved, mut writeless) = (0u64, 0u64, true);
        let (mut reader, mut tally) = (reader, Tally::default());
        for request in reader.by_ref() {
            let request = request?;
            tally.add(&request, &replay);
            if replay.leaves_out(&request) {
                continue;
            }
            kept += 1;
            writeless &= request.op != Op::Write;
            encoder.request(&request, &mut spool).map_err(uncopied)?;
            if matches!(request.op, Op::Read | Op::Write) {
                moved += 1;
                if replay.compact {
                    let (first, end) = replay.pages(&request);
                    touched.add(first, end);
                }
            }
        }
        if moved == 0 && replay.sample > 1 && tally.last_at > 0 {
            return Err(unusable(format!("no read or write is left of it: one chunk in {} is kept", replay.sample)));
        }
        if moved == 0 {
            return Err(unusable(NOTHING.to_owned()));
        }
        let ranks = replay.compact.then(|| touched.ranks());
        if let Some(ranks) = &ranks
            && ranks.total > u64::from(replay.logical_pages)
        {
            let reason = format!("it touches {} pages, but the drive has {}", ranks.total, replay.logical_pages);
            return Err(unusable(reason));
        }
        let spool = spool.into_inner().map_err(|error| uncopied(error.into_error()))?;
        let bytes = Cursor::start(Arc::new(Mutex::new(spool)));
        let source = Self {
            replay,
            requests: Requests::Spooled { bytes, state: State::START },
            ranks: ranks.map(Arc::new),
            rest: None,
            last_at: 0,
            round_at: 0,
            met: 0,
            name,
            moved: true,
            writeless,
            timeless: reader.timeless(),
            notes: reader.notes(),
            coarse_times: reader.coarse_times(),
            tally,
        };
        if kept > held_max {
            return Ok(source);
        }
        let name = source.name.clone();
        source.held(kept as usize).map_err(|error| TraceError::Unusable { name, reason: error.to_string() })
    }

    /// The same source with all requests held in the drive's pages. They are decoded here, once for all rounds.
    fn held(mut self, count: usize) -> Result<Self, SourceError> {
        let mut all = Vec::with_capacity(count);
        for _ in 0..count {
            all.push(self.next_met()?.expect("the spool has as many requests as were written to it"));
        }
        self.requests = Requests::Held { all: all.into(), next: 0 };
        Ok(self)
    }

    /// Makes a source that reads a trace once, directly from its file.
    fn once(reader: Reader, replay: Replay) -> Self {
        Self {
            name: reader.name().to_owned(),
            timeless: reader.timeless(),
            replay,
            requests: Requests::Once(Box::new(reader)),
            ranks: None,
            rest: None,
            last_at: 0,
            round_at: 0,
            met: 0,
            moved: false,
            writeless: false,
            notes: Vec::new(),
            coarse_times: None,
            tally: Tally::default(),
        }
    }

    /// Makes another source of the same trace, from its start on; `None` if it is read directly from its file. Both use
    /// the same decoded copy.
    pub fn restarted(&self) -> Option<Self> {
        let requests = match &self.requests {
            Requests::Once(_) => return None,
            Requests::Spooled { bytes, .. } => {
                Requests::Spooled { bytes: Cursor::start(Arc::clone(&bytes.get_ref().spool)), state: State::START }
            }
            Requests::Held { all, .. } => Requests::Held { all: Arc::clone(all), next: 0 },
        };
        Some(Self { rest: None, last_at: 0, round_at: 0, met: 0, moved: true, ..self.with(requests) })
    }

    /// A copy of the source, with `requests` in place of its own.
    fn with(&self, requests: Requests) -> Self {
        Self {
            replay: self.replay,
            requests,
            ranks: self.ranks.clone(),
            rest: self.rest,
            last_at: self.last_at,
            round_at: self.round_at,
            met: self.met,
            name: self.name.clone(),
            moved: self.moved,
            writeless: self.writeless,
            timeless: self.timeless.clone(),
            notes: self.notes.clone(),
            coarse_times: self.coarse_times.clone(),
            tally: self.tally,
        }
    }

    /// Begins the next round, with times after those of this one.
    fn begin_round(&mut self) {
        // Requests that a sample leaves out still take their time.
        let whole = self.round_at.saturating_add(self.tally.last_at);
        self.round_at = if self.replay.sample > 1 { whole } else { self.last_at };
        self.met = 0;
    }

    /// The next request of a trace that is not held, including those that are left out.
    fn next_request(&mut self) -> Result<Option<Request>, SourceError> {
        let (bytes, state) = match &mut self.requests {
            Requests::Once(reader) => {
                return match reader.next().transpose() {
                    // The caller that set the flag ends the run and needs no more requests.
                    Err(TraceError::Interrupted { .. }) => {
                        self.moved = true;
                        Ok(None)
                    }
                    next => next.map_err(|error| SourceError(error.to_string())),
                };
            }
            Requests::Spooled { bytes, state } => (bytes, state),
            Requests::Held { .. } => unreachable!("held requests are not decoded"),
        };
        let failed =
            |error: std::io::Error| SourceError(format!("{}: its decoded copy cannot be read: {error}", self.name));
        match read_record(state, bytes).map_err(failed)? {
            Next::Request(request) => Ok(Some(request)),
            Next::Nothing | Next::End if !self.replay.looped => Ok(None),
            Next::Nothing | Next::End => {
                bytes.seek(SeekFrom::Start(0)).map_err(failed)?;
                *state = State::START;
                let first = read_record(state, bytes).map_err(failed)?;
                self.begin_round();
                match first {
                    Next::Request(request) => Ok(Some(request)),
                    Next::Nothing | Next::End => Ok(None),
                    Next::Bad(reason) => Err(self.damaged(reason)),
                }
            }
            Next::Bad(reason) => Err(self.damaged(reason)),
        }
    }

    fn damaged(&self, reason: &str) -> SourceError {
        SourceError(format!("{}: its decoded copy is damaged: {reason}", self.name))
    }

    /// The next request for the drive.
    fn next_met(&mut self) -> Result<Option<Met>, SourceError> {
        if let Requests::Held { all, next } = &mut self.requests {
            if let Some(met) = all.get(*next) {
                *next += 1;
                return Ok(Some(*met));
            }
            if !self.replay.looped {
                return Ok(None);
            }
            let first = all[0];
            *next = 1;
            self.begin_round();
            return Ok(Some(first));
        }
        let request = loop {
            let Some(request) = self.next_request()? else { return Ok(None) };
            if let Requests::Once(_) = self.requests {
                self.tally.add(&request, &self.replay);
            }
            if !self.replay.leaves_out(&request) {
                break request;
            }
        };
        let (first, end) = self.replay.pages(&request);
        let (first, end) = match &self.ranks {
            // Ranks are in address order, so that the touched pages of a range are a range of ranks.
            Some(ranks) => (ranks.below(first), ranks.below(end)),
            // Pages that occur again in one trim are trimmed already.
            None if request.op == Op::Trim => (first, end.min(first.saturating_add(self.logical()))),
            None => (first, end),
        };
        Ok(Some(Met { at: request.at, op: request.op, first, end, around: self.replay.around(&request) }))
    }

    fn take(&mut self) -> Result<Option<Met>, SourceError> {
        if let Some(rest) = self.rest.take() {
            return Ok(Some(rest));
        }
        let Some(met) = self.next_met()? else { return Ok(None) };
        self.met += 1;
        // A timestamp that goes back counts as the one before it.
        let at = self.round_at.saturating_add(met.at).max(self.last_at);
        self.last_at = at;
        self.moved |= matches!(met.op, Op::Read | Op::Write);
        Ok(Some(Met { at, ..met }))
    }

    fn logical(&self) -> u64 {
        u64::from(self.replay.logical_pages)
    }
}

/// Adds the pages from `first` up to `end`, each modulo the logical pages. A trim may have millions of pages, for which a division
/// each would take longer than the drive itself. It therefore divides once for each range that does not wrap.
fn add_modulo(pages: &mut Vec<u32>, first: u64, end: u64, logical: u32) {
    let mut next = first;
    while next < end {
        let from = (next % u64::from(logical)) as u32;
        let count = (end - next).min(u64::from(logical - from));
        debug_assert!(count > 0, "a stretch that does not wrap has a page, so that the loop ends");
        pages.extend(from..from + count as u32);
        next += count;
    }
}

/// The message about a trace without work for a drive.
const NOTHING: &str = "it holds no read or write";

/// The pages of a request: all that a read or write touches, or all that a trim covers whole.
fn pages(request: &Request, page_bytes: u64) -> (u64, u64) {
    let end = request.offset + request.length;
    match request.op {
        Op::Read | Op::Write => (request.offset / page_bytes, end.div_ceil(page_bytes)),
        Op::Trim => {
            let first = request.offset.div_ceil(page_bytes);
            (first, (end / page_bytes).max(first))
        }
        Op::Flush => (0, 0),
    }
}

impl Source for TraceSource {
    fn next(&mut self, batch: &mut Batch, pages_max: usize, requests_max: u64) -> Result<Drawn, SourceError> {
        batch.clear();
        batch.requests = 0;
        while batch.pages.len() < pages_max && batch.requests < requests_max {
            let Some(met) = self.take()? else { break };
            let Met { at, op, first, end, .. } = met;
            let started = !batch.pages.is_empty() || batch.requests > 0;
            if started && op != batch.op {
                self.rest = Some(met);
                break;
            }
            if !started {
                batch.at = at;
            }
            batch.op = op;
            let until = end.min(first.saturating_add((pages_max - batch.pages.len()) as u64));
            let index = batch.pages.len() as u32;
            add_modulo(&mut batch.pages, first, until, self.replay.logical_pages);
            let mut around = met.around;
            if around != [0, 0] && first < until {
                if around[0] > 0 {
                    batch.parts.push(Part { index, around: around[0] });
                    around[0] = 0;
                }
                if around[1] > 0 && until == end {
                    batch.parts.push(Part { index: batch.pages.len() as u32 - 1, around: around[1] });
                }
            }
            if until < end {
                self.rest = Some(Met { first: until, around, ..met });
            } else {
                batch.end_request();
            }
        }
        let nothing = batch.pages.is_empty() && batch.requests == 0 && self.rest.is_none();
        if nothing && !self.moved {
            return Err(SourceError(format!("{}: {NOTHING}", self.name)));
        }
        Ok(if nothing { Drawn::End } else { Drawn::More })
    }

    fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        let mut met = self.met;
        archive.field("trace.met", &mut met)?;
        if archive.is_reading() {
            // A new round sets it to 0.
            self.met = met;
            for number in 0..met {
                let next = self.next_met().map_err(|error| ArchiveError::Unsaved(error.to_string()))?;
                if next.is_none() || self.met == 0 {
                    let reason = format!("{}: it ends after {number} requests, and {met} of it were used", self.name);
                    return Err(ArchiveError::Unsaved(reason));
                }
            }
        }
        self.met = met;
        archive.grown_by(2, "trace.rest", &mut self.rest)?;
        archive.field("trace.last-at", &mut self.last_at)?;
        archive.field("trace.round-at", &mut self.round_at)?;
        archive.field("trace.moved", &mut self.moved)
    }

    fn share_drawn(&self) -> Option<f64> {
        match &self.requests {
            _ if self.replay.looped => None,
            Requests::Once(reader) => reader.share_read(),
            Requests::Held { all, next } => Some(*next as f64 / all.len().max(1) as f64),
            Requests::Spooled { .. } => None,
        }
    }

    fn timeless(&self) -> Option<String> {
        self.timeless.clone()
    }

    fn pace(&self) -> Option<Pace> {
        self.tally.pace(self.replay.sample).filter(|_| self.timeless.is_none())
    }

    fn never_writes(&self) -> bool {
        self.writeless && self.replay.looped
    }

    fn coarse_times(&self) -> Option<String> {
        let told = match &self.requests {
            Requests::Once(reader) => reader.coarse_times(),
            Requests::Spooled { .. } | Requests::Held { .. } => self.coarse_times.clone(),
        };
        told.map(|told| format!("{}: {told}", self.name))
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = match &self.requests {
            Requests::Once(reader) => reader.notes(),
            Requests::Spooled { .. } | Requests::Held { .. } => self.notes.clone(),
        };
        notes.extend(self.tally.notes(&self.replay));
        notes.into_iter().map(|note| format!("{}: {note}", self.name)).collect()
    }

    fn try_clone(&self) -> Result<Box<dyn Source>, SourceError> {
        let requests = match &self.requests {
            Requests::Once(_) => {
                let why =
                    "a trace that is read once cannot be read a second time; with loop = true it is decoded first";
                return Err(SourceError(format!("{}: {why}", self.name)));
            }
            Requests::Spooled { bytes, state } => {
                let cursor = bytes.get_ref();
                let place = Cursor { spool: Arc::clone(&cursor.spool), at: cursor.at - bytes.buffer().len() as u64 };
                Requests::Spooled { bytes: place.buffered(), state: *state }
            }
            Requests::Held { all, next } => Requests::Held { all: Arc::clone(all), next: *next },
        };
        Ok(Box::new(self.with(requests)))
    }
}

/// The touched pages: one bit each, in words of 64 pages.
#[derive(Debug, Default)]
struct Touched(Spans<u64>);

impl Touched {
    fn add(&mut self, first: u64, end: u64) {
        // Words that are covered whole are from `whole` up to `tail`.
        let (whole, tail) = (first.div_ceil(64), end / 64);
        if whole > tail {
            return self.add_part(tail, first % 64, end % 64);
        }
        if !first.is_multiple_of(64) {
            self.add_part(whole - 1, first % 64, 64);
        }
        self.0.change(whole, tail, |bits| *bits = u64::MAX);
        self.add_part(tail, 0, end % 64);
    }

    /// Adds the pages of one word from bit `from` up to bit `to`.
    fn add_part(&mut self, word: u64, from: u64, to: u64) {
        if from < to {
            self.0.change(word, word + 1, |bits| *bits |= (u64::MAX >> (64 - (to - from))) << from);
        }
    }

    fn ranks(self) -> Ranks {
        let mut total = 0;
        let mut runs = Vec::with_capacity(self.0.len());
        for (first, words, bits) in self.0.iter() {
            runs.push(WordRun { first, words, bits: *bits, before: total });
            total += words * u64::from(bits.count_ones());
        }
        let follows = |pair: &[WordRun]| pair[0].first + pair[0].words <= pair[1].first;
        assert!(runs.windows(2).all(follows), "runs stand in the order of addresses, by which a page's rank is found");
        Ranks { runs, total }
    }
}

/// Successive words with the same touched pages.
#[derive(Debug)]
struct WordRun {
    first: u64,
    words: u64,
    bits: u64,
    /// Number of touched pages below the first word.
    before: u64,
}

/// Ranks of pages: the number of touched pages below any page.
#[derive(Debug)]
struct Ranks {
    runs: Vec<WordRun>,
    total: u64,
}

impl Ranks {
    fn below(&self, page: u64) -> u64 {
        let word = page / 64;
        let at = self.runs.partition_point(|stretch| stretch.first + stretch.words <= word);
        match self.runs.get(at) {
            Some(WordRun { first, bits, before, .. }) if *first <= word => {
                let below = bits & ((1 << (page % 64)) - 1);
                before + (word - first) * u64::from(bits.count_ones()) + u64::from(below.count_ones())
            }
            Some(WordRun { before, .. }) => *before,
            None => self.total,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_count_the_touched_pages_below() {
        let mut stream = wane_sim::Streams::new(8).stream("ranks");
        for round in 0..300 {
            let (mut touched, mut plain) = (Touched::default(), vec![false; 1000]);
            for _ in 0..stream.below(12) {
                let first = stream.below(1000);
                let most = if stream.chance(0.5) { 4 } else { 1001 - first };
                let end = (first + stream.below(most)).min(1000);
                touched.add(first, end);
                plain[first as usize..end as usize].fill(true);
            }
            let ranks = touched.ranks();
            for page in 0..1000 {
                let below = plain[..page].iter().filter(|touched| **touched).count() as u64;
                assert_eq!(ranks.below(page as u64), below, "round {round}, page {page}");
            }
            assert_eq!(ranks.total, plain.iter().filter(|touched| **touched).count() as u64, "round {round}");
        }
    }

    #[test]
    fn stretches_of_pages_are_the_pages_modulo_the_logical_ones() {
        for (first, end, logical) in
            [(0, 0, 3), (5, 6, 1), (0, 9, 4), (7, 30, 10), (9, 11, 10), (10, 20, 10), (3, 8, 100)]
        {
            let mut pages = vec![99];
            add_modulo(&mut pages, first, end, logical);
            let want: Vec<u32> =
                [99].into_iter().chain((first..end).map(|page| (page % u64::from(logical)) as u32)).collect();
            assert_eq!(pages, want, "{first} to {end} of {logical}");
        }
    }

    #[test]
    fn gigabytes_that_are_touched_take_a_few_entries() {
        let mut touched = Touched::default();
        for number in 0..100u64 {
            touched.add(number * (1 << 24) + 5, number * (1 << 24) + 5 + (1 << 23));
        }
        assert!(touched.0.len() <= 300, "{} runs", touched.0.len());
        assert_eq!(touched.ranks().total, 100 << 23);
    }
}
