//! A trace as a drive's work: pages instead of bytes, looped if wanted.

use std::collections::BTreeMap;
use std::io::{BufReader, Seek, SeekFrom};

use tempfile::SpooledTempFile;

use super::compact::{Encoder, Next, State, read_record};
use super::{Format, Reader, TraceError};
use crate::{Batch, Op, Progress, Request, Source, SourceError};

/// A decoded trace stays in memory up to here and goes to a temporary file beyond.
const SPOOL_BYTES: usize = 64 << 20;

/// How a trace meets a drive.
#[derive(Clone, Copy, Debug)]
pub struct Replay {
    /// Bytes of a logical page.
    pub page_bytes: u64,
    /// Logical pages of the drive.
    pub logical_pages: u32,
    /// Rank among the touched pages, in address order; else the page modulo the logical pages.
    pub compact: bool,
    /// Start over at the end.
    pub looped: bool,
}

/// A trace as a [`Source`].
pub struct TraceSource {
    replay: Replay,
    requests: Requests,
    ranks: Option<Ranks>,
    /// The request that is being handed out: its arrival, kind, next page and end, modulo not yet taken.
    rest: Option<(u64, Op, u64, u64)>,
    /// Arrival of the last request, and what is added to those of the present round.
    last_at: u64,
    round_at: u64,
    name: String,
    /// Whether there was a read or write yet.
    moved: bool,
    /// Decoded whole, it holds no write.
    writeless: bool,
    /// Its format, if that has no times.
    timeless: Option<Format>,
    /// What the reader noted of a trace that is decoded whole.
    notes: Vec<String>,
}

enum Requests {
    /// Straight from the file: read once.
    Once(Box<Reader>),
    /// Decoded once, replayed from there.
    Spooled { bytes: Box<BufReader<SpooledTempFile>>, state: State },
}

impl TraceSource {
    /// The trace of `reader` on a drive.
    ///
    /// # Errors
    /// The trace does not parse, holds no read or write, or touches more pages than the drive has.
    pub fn new(reader: Reader, replay: Replay) -> Result<Self, TraceError> {
        let name = reader.name().to_owned();
        let timeless = reader.format().is_timeless().then(|| reader.format());
        let unusable = |reason: String| TraceError::Unusable { name: name.clone(), reason };
        if replay.logical_pages == 0 || replay.page_bytes == 0 {
            return Err(unusable("it cannot be replayed on a drive without pages".to_owned()));
        }
        if !replay.looped && !replay.compact {
            return Ok(Self {
                replay,
                requests: Requests::Once(Box::new(reader)),
                ranks: None,
                rest: None,
                last_at: 0,
                round_at: 0,
                name,
                moved: false,
                writeless: false,
                timeless,
                notes: Vec::new(),
            });
        }
        let unreadable = |source| TraceError::Unreadable { name: format!("{name}: its decoded copy"), source };
        let mut spool = std::io::BufWriter::new(SpooledTempFile::new(SPOOL_BYTES));
        let mut encoder = Encoder::new();
        let mut touched = Touched::default();
        let (mut moved, mut writeless) = (0u64, true);
        let mut reader = reader;
        for request in reader.by_ref() {
            let request = request?;
            writeless &= request.op != Op::Write;
            encoder.request(&request, &mut spool).map_err(unreadable)?;
            if matches!(request.op, Op::Read | Op::Write) {
                moved += 1;
                if replay.compact {
                    let (first, end) = pages(&request, replay.page_bytes);
                    touched.add(first, end);
                }
            }
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
        let mut spool = spool.into_inner().map_err(|error| unreadable(error.into_error()))?;
        spool.seek(SeekFrom::Start(0)).map_err(unreadable)?;
        let requests =
            Requests::Spooled { bytes: Box::new(BufReader::with_capacity(1 << 16, spool)), state: State::START };
        Ok(Self {
            replay,
            requests,
            ranks,
            rest: None,
            last_at: 0,
            round_at: 0,
            name,
            moved: true,
            writeless,
            timeless,
            notes: reader.notes(),
        })
    }

    fn next_request(&mut self) -> Result<Option<Request>, SourceError> {
        match &mut self.requests {
            Requests::Once(reader) => reader.next().transpose().map_err(|error| SourceError(error.to_string())),
            Requests::Spooled { bytes, state } => {
                let failed = |error: std::io::Error| {
                    SourceError(format!("{}: its decoded copy cannot be read: {error}", self.name))
                };
                for _ in 0..2 {
                    match read_record(state, bytes).map_err(failed)? {
                        Next::Request(request) => return Ok(Some(request)),
                        Next::Nothing | Next::End if !self.replay.looped => return Ok(None),
                        Next::Nothing | Next::End => {
                            bytes.seek(SeekFrom::Start(0)).map_err(failed)?;
                            *state = State::START;
                            self.round_at = self.last_at;
                        }
                        Next::Bad(reason) => {
                            return Err(SourceError(format!("{}: its decoded copy is damaged: {reason}", self.name)));
                        }
                    }
                }
                Ok(None)
            }
        }
    }

    fn take(&mut self) -> Result<Option<(u64, Op, u64, u64)>, SourceError> {
        if let Some(rest) = self.rest.take() {
            return Ok(Some(rest));
        }
        let Some(request) = self.next_request()? else { return Ok(None) };
        let (first, end) = pages(&request, self.replay.page_bytes);
        // An odd timestamp that goes back counts as the one before it.
        let at = self.round_at.saturating_add(request.at).max(self.last_at);
        self.last_at = at;
        self.moved |= matches!(request.op, Op::Read | Op::Write);
        Ok(Some(match &self.ranks {
            // Ranks are in address order, so that what is touched of a stretch is a stretch.
            Some(ranks) => (at, request.op, ranks.below(first), ranks.below(end)),
            // Pages that come up again in one trim are gone already.
            None if request.op == Op::Trim => (at, Op::Trim, first, end.min(first.saturating_add(self.logical()))),
            None => (at, request.op, first, end),
        }))
    }

    fn logical(&self) -> u64 {
        u64::from(self.replay.logical_pages)
    }
}

/// What is wrong with a trace that gives a drive nothing to do.
const NOTHING: &str = "it holds no read or write";

/// Pages of a request: all that reads and writes touch, all that trims cover whole.
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
    fn next(&mut self, batch: &mut Batch, pages_max: usize, requests_max: u64) -> Result<Progress, SourceError> {
        batch.pages.clear();
        batch.requests = 0;
        while batch.pages.len() < pages_max && batch.requests < requests_max {
            let Some((at, op, first, end)) = self.take()? else { break };
            let started = !batch.pages.is_empty() || batch.requests > 0;
            if started && op != batch.op {
                self.rest = Some((at, op, first, end));
                break;
            }
            if !started {
                batch.at = at;
            }
            batch.op = op;
            let until = end.min(first.saturating_add((pages_max - batch.pages.len()) as u64));
            let logical = self.logical();
            batch.pages.extend((first..until).map(|page| (page % logical) as u32));
            if until < end {
                self.rest = Some((at, op, until, end));
            } else {
                batch.requests += 1;
            }
        }
        let nothing = batch.pages.is_empty() && batch.requests == 0 && self.rest.is_none();
        if nothing && !self.moved {
            return Err(SourceError(format!("{}: {NOTHING}", self.name)));
        }
        Ok(if nothing { Progress::End } else { Progress::More })
    }

    fn timeless(&self) -> Option<String> {
        self.timeless.map(|format| format!("{}: requests of format {format} have no time of arrival", self.name))
    }

    fn never_writes(&self) -> bool {
        self.writeless && self.replay.looped
    }

    fn notes(&self) -> Vec<String> {
        let notes = match &self.requests {
            Requests::Once(reader) => reader.notes(),
            Requests::Spooled { .. } => self.notes.clone(),
        };
        notes.into_iter().map(|note| format!("{}: {note}", self.name)).collect()
    }
}

/// Which pages are touched: a bit each, in stretches.
#[derive(Debug, Default)]
struct Touched(BTreeMap<u64, u64>);

impl Touched {
    fn add(&mut self, first: u64, end: u64) {
        for word in first / 64..end.div_ceil(64) {
            let from = first.max(word * 64) - word * 64;
            let to = end.min((word + 1) * 64) - word * 64;
            *self.0.entry(word).or_default() |= (u64::MAX >> (64 - (to - from))) << from;
        }
    }

    fn ranks(self) -> Ranks {
        let mut total = 0;
        let mut words = Vec::with_capacity(self.0.len());
        for (word, bits) in self.0 {
            words.push((word, bits, total));
            total += u64::from(bits.count_ones());
        }
        Ranks { words, total }
    }
}

/// How many touched pages lie below any page: for each word of 64 its bits and the touched pages before it.
#[derive(Debug)]
struct Ranks {
    words: Vec<(u64, u64, u64)>,
    total: u64,
}

impl Ranks {
    fn below(&self, page: u64) -> u64 {
        let at = self.words.partition_point(|(word, _, _)| *word < page / 64);
        match self.words.get(at) {
            Some((word, bits, before)) if *word == page / 64 => {
                before + u64::from((bits & ((1 << (page % 64)) - 1)).count_ones())
            }
            Some((_, _, before)) => *before,
            None => self.total,
        }
    }
}
