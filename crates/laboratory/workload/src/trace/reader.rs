//! Reads the requests of a trace one by one.

use std::io::{BufRead, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::binary::{self, Record, Vscsi};
use super::compact::{self, Next, State};
use super::detect::{BYTE_ORDER_MARK, detect, event, has_waits};
use super::events::Events;
use super::input::{FileRead, Input};
use super::text::{Line, Passed, Rules};
use super::{Arrival, Format, Options, PLACE, TraceError};
use crate::{Op, Request};
use wane_units::Nanos;

/// Times in steps of less than 1 ms are fine enough for latencies.
const FINE_NS: u64 = 1_000_000;

/// Share of requests with the time of the one before, above which coarse times are reported.
const SHARED_MIN: f64 = 0.01;

/// Longest line of a trace.
const LINE_BYTES_MAX: usize = 1 << 20;

/// Longest gap between two times: 30 days. A longer one is taken for a fault of the recorder.
const GAP_MAX: u64 = 30 * 86_400 * 1_000_000_000;

/// Reads a trace. Iterates over its requests; the first error ends it.
pub struct Reader {
    name: String,
    bytes: Box<dyn BufRead + Send>,
    read: Option<Arc<FileRead>>,
    rules: Rules,
    vscsi: Vscsi,
    skip_bad_lines: bool,
    line: Vec<u8>,
    /// Number of lines or records read.
    number: u64,
    state: State,
    clock: Clock,
    days: Days,
    /// Sum of the waits of an iolog so far, in nanoseconds, and whether it holds any.
    waited: u64,
    has_waits: bool,
    steps: Steps,
    device: Option<u64>,
    over: bool,
    counts: Counts,
    stop: Arc<AtomicBool>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    bad_lines: u64,
    /// Lines and records that are passed over, by [`Passed::ALL`].
    passed: [u64; Passed::ALL.len()],
    empty: u64,
    events: Events,
    /// Number of requests to other devices than the first one's.
    elsewhere: u64,
}

/// Turns a recorder's times into times since the first request that never run backwards.
#[derive(Clone, Copy, Debug, Default)]
struct Clock {
    /// A recorder's time and ours at the same moment.
    base: Option<(u64, u64)>,
    last: u64,
    /// The time before, if it was far off. A single such time is a fault; two in a row start a new count.
    far: Option<u64>,
    odd: u64,
}

impl Clock {
    fn time(&mut self, at: Option<u64>) -> u64 {
        let Some(at) = at else { return self.last };
        let (theirs, ours) = *self.base.get_or_insert((at, 0));
        let far = self.far.take();
        let since = at.checked_sub(theirs).and_then(|passed| ours.checked_add(passed));
        match since {
            Some(since) if since >= self.last && since - self.last <= GAP_MAX => self.last = since,
            _ => {
                self.odd += 1;
                let now = theirs.saturating_add(self.last - ours);
                if far.is_some_and(|far| far.abs_diff(at) <= GAP_MAX) {
                    self.base = Some((at, self.last));
                } else if now.abs_diff(at) > GAP_MAX {
                    self.far = Some(at);
                }
            }
        }
        self.last
    }
}

/// Turns the time of day into a time that goes on at midnight. Times that go on anyway stay as they are.
#[derive(Clone, Copy, Debug, Default)]
struct Days {
    last: u64,
    passed: u64,
}

impl Days {
    fn time(&mut self, at: u64) -> u64 {
        // Requests come a little out of order, but never by half a day.
        if self.last.saturating_sub(at) > Nanos::DAY.0 / 2 {
            self.passed += Nanos::DAY.0;
        }
        self.last = at;
        self.passed.saturating_add(at)
    }
}

/// The resolution of the times of requests.
#[derive(Clone, Copy, Debug, Default)]
struct Steps {
    /// The greatest step of which all times are multiples; 0 if all are the same.
    step_ns: u64,
    last_ns: u64,
    requests: u64,
    /// Number of requests with the time of the one before.
    shared: u64,
}

impl Steps {
    fn add(&mut self, at: u64) {
        self.shared += u64::from(self.requests > 0 && at == self.last_ns);
        self.requests += 1;
        self.last_ns = at;
        // Euclid's algorithm. Nearly always the step stays the same, which one division shows.
        let (mut step, mut rest) = (at, self.step_ns);
        while rest > 0 {
            (step, rest) = (rest, step % rest);
        }
        self.step_ns = step;
    }

    /// A sentence with the step and the number of requests that share a time, if rounding would decide the latencies.
    fn told(&self) -> Option<String> {
        let is_coarse = self.step_ns >= FINE_NS && self.shared as f64 > SHARED_MIN * self.requests as f64;
        is_coarse.then(|| {
            let step = match self.step_ns {
                step if step % Nanos::SECOND.0 == 0 => "whole seconds".to_owned(),
                step => format!("multiples of {}", Nanos(step)),
            };
            format!(
                "its times are {step}, and {} of {} requests have the time of the one before: replayed by them (arrival = \"trace\") they come in \
                 bursts that were not recorded, and latencies are those of the bursts",
                self.shared, self.requests
            )
        })
    }
}

impl Reader {
    /// Opens the trace at `path`; `-` is stdin.
    ///
    /// # Errors
    /// It cannot be read, or no format fits.
    pub fn open(path: &Path, options: &Options) -> Result<Self, TraceError> {
        Self::open_stopped_by(path, options, Arc::default())
    }

    /// As [`Reader::open`], with the flag of [`Reader::stopped_by`], which also stops waiting for the first bytes.
    ///
    /// # Errors
    /// As [`Reader::open`].
    pub fn open_stopped_by(path: &Path, options: &Options, stop: Arc<AtomicBool>) -> Result<Self, TraceError> {
        Self::new(Input::open(path, &stop)?, options, stop)
    }

    /// Reads a trace from any bytes. Messages call it `name`.
    ///
    /// # Errors
    /// As [`Reader::open`].
    pub fn from_read(name: &str, bytes: Box<dyn Read + Send>, options: &Options) -> Result<Self, TraceError> {
        Self::new(Input::from_read(name, bytes)?, options, Arc::default())
    }

    pub(super) fn new(mut input: Input, options: &Options, stop: Arc<AtomicBool>) -> Result<Self, TraceError> {
        let unusable = |reason: &str| TraceError::Unusable { name: input.name.clone(), reason: reason.to_owned() };
        if input.head.is_empty() {
            return Err(unusable("it is empty"));
        }
        let format = options.format.or_else(|| detect(&input.head));
        let format = format.ok_or_else(|| {
            let names: Vec<&str> = Format::ALL.iter().map(|format| format.name()).collect();
            unusable(&format!(
                "its content fits no known trace format; name one (--format, in a scenario workload.format): {}",
                names.join(", ")
            ))
        })?;
        let mut state = State::START;
        if format == Format::Compact {
            let magic = compact::read_magic(&mut state, &mut input.bytes);
            if !magic.map_err(|source| TraceError::Unreadable { name: input.name.clone(), source })? {
                return Err(unusable("it does not start as a wane-compact trace"));
            }
        }
        Ok(Self {
            vscsi: binary::vscsi_layout(&input.head).unwrap_or(binary::VSCSI_1),
            rules: Rules { format, assume: options.assume, event: event(format, &input.head) },
            has_waits: has_waits(format, &input.head),
            name: input.name,
            bytes: input.bytes,
            read: input.read,
            skip_bad_lines: options.skip_bad_lines,
            line: Vec::new(),
            number: 0,
            state,
            clock: Clock::default(),
            days: Days::default(),
            waited: 0,
            steps: Steps::default(),
            device: None,
            over: false,
            counts: Counts::default(),
            stop,
        })
    }

    /// Sets a stop flag. Once it is true, the trace ends with [`TraceError::Interrupted`].
    #[must_use]
    pub fn stopped_by(self, stop: Arc<AtomicBool>) -> Self {
        Self { stop, ..self }
    }

    /// Whether its requests have no time of arrival. An iolog of version 2 has times if its first bytes, or what was read so far, hold a wait.
    pub fn is_timeless(&self) -> bool {
        self.format().is_timeless() || (self.format() == Format::FioIolog2 && !self.has_waits)
    }

    /// A sentence that names it and says that its requests have no time of arrival; `None` if they have.
    pub fn timeless(&self) -> Option<String> {
        let format = self.format();
        let but = if format == Format::FioIolog2 { " without a wait" } else { "" };
        let told = || format!("{}: requests of format {format}{but} have no time of arrival", self.name);
        self.is_timeless().then(told)
    }

    /// The format.
    pub fn format(&self) -> Format {
        self.rules.format
    }

    /// The share of its file that is read, between 0 and 1; `None` if that is not known.
    pub fn share_read(&self) -> Option<f64> {
        self.read.as_ref().map(|read| read.share())
    }

    /// The file, as messages name it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What was assumed, and what was unusual so far, in sentences.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.rules.format == Format::Lis {
            let op = if self.rules.assume.op == Op::Read { "reads" } else { "writes" };
            notes.push(format!(
                "the format has no direction and no unit: read as {op} of {}-byte blocks (see --assume)",
                self.rules.assume.block_bytes
            ));
        }
        if self.rules.format == Format::OracleGeneral {
            let op = if self.rules.assume.op == Op::Read { "reads" } else { "writes" };
            notes.push(format!(
                "the format is a cache's and has no direction and no addresses: read as {op} of objects that begin at their number times {} \
                 bytes (see --assume)",
                binary::object_bytes(self.rules.assume)
            ));
        }
        if self.rules.format == Format::Biosnoop {
            notes.push("its times are those of completions".to_owned());
        }
        if matches!(self.rules.format, Format::Blkparse | Format::Blktrace | Format::Ftrace) {
            notes.push(self.counts.events.told(self.rules.event));
        }
        let mut count = |count: u64, what: &str| {
            if count > 0 {
                notes.push(format!("{count} {what}"));
            }
        };
        count(self.clock.odd, "timestamps jump backwards or by more than 30 days; the one before is used");
        count(self.counts.bad_lines, "lines that do not parse were skipped");
        for ((_, what), passed) in Passed::ALL.iter().zip(self.counts.passed) {
            count(passed, what);
        }
        count(self.counts.empty, "requests of no length were skipped");
        count(
            self.counts.elsewhere,
            "requests go to other devices than the first one does; all share one address space",
        );
        notes
    }

    /// A sentence that the times so far are too coarse to be replayed; `None` if they are not.
    pub fn coarse_times(&self) -> Option<String> {
        self.steps.told()
    }

    /// The next request, `None` at the end.
    fn read(&mut self) -> Result<Option<Request>, TraceError> {
        loop {
            // Checked here, since there may be gigabytes of lines without a request.
            if self.stop.load(Ordering::Relaxed) {
                return Err(TraceError::Interrupted { name: self.name.clone() });
            }
            let arrival = match self.rules.format {
                Format::Compact => match self.read_compact()? {
                    Some(request) => Arrival { at: Some(request.at), device: 0, request },
                    None => return Ok(None),
                },
                format if format.is_binary() => match self.read_record()? {
                    Record::End => return Ok(None),
                    Record::Bad(reason) => {
                        return Err(TraceError::Record { name: self.name.clone(), record: self.number, reason });
                    }
                    record => match self.counted_record(&record) {
                        Some(arrival) => arrival,
                        None => continue,
                    },
                },
                _ => match self.read_line()? {
                    None => return Ok(None),
                    Some(line) => match self.counted_line(line)? {
                        Some(arrival) => arrival,
                        None => continue,
                    },
                },
            };
            let Arrival { at, device, mut request } = arrival;
            request.at = self.clock.time(at);
            self.counts.elsewhere += u64::from(*self.device.get_or_insert(device) != device);
            if request.length == 0 && request.op != Op::Flush {
                self.counts.empty += 1;
                continue;
            }
            self.steps.add(request.at);
            return Ok(Some(request));
        }
    }

    /// The request of a record, which is counted either way.
    fn counted_record(&mut self, record: &Record) -> Option<Arrival> {
        match *record {
            Record::Request(arrival) => {
                self.counts.events.add(self.rules.event, arrival.request.length);
                return Some(arrival);
            }
            Record::Left(event, bytes) => self.counts.events.add(event, bytes),
            Record::Command => self.counts.passed[Passed::Command as usize] += 1,
            Record::Ignored | Record::End | Record::Bad(_) => {}
        }
        None
    }

    /// The request of a line, which is counted either way.
    fn counted_line(&mut self, line: Line) -> Result<Option<Arrival>, TraceError> {
        match line {
            Line::Request(arrival) => {
                self.counts.events.add(self.rules.event, arrival.request.length);
                let at = match self.rules.format {
                    Format::FioIolog2 => Some(self.waited),
                    Format::Biosnoop => arrival.at.map(|at| self.days.time(at)),
                    _ => arrival.at,
                };
                return Ok(Some(Arrival { at, ..arrival }));
            }
            Line::Left(event, bytes) => self.counts.events.add(event, bytes),
            Line::Wait(nanos) => {
                self.waited = self.waited.saturating_add(nanos);
                self.has_waits = true;
            }
            Line::Passed(reason) => self.counts.passed[reason as usize] += 1,
            Line::Ignored => {}
            Line::Bad => self.bad_line(self.rules.format.summary())?,
            Line::Beyond => self.bad_line(PLACE)?,
        }
        Ok(None)
    }

    fn read_record(&mut self) -> Result<Record, TraceError> {
        self.number += 1;
        let record = match self.rules.format {
            Format::Vscsi => binary::vscsi(&mut self.bytes, self.vscsi),
            Format::OracleGeneral => binary::oracle(&mut self.bytes, self.rules.assume),
            _ => binary::blktrace(&mut self.bytes, self.rules.event),
        };
        record.map_err(|source| TraceError::Unreadable { name: self.name.clone(), source })
    }

    fn read_compact(&mut self) -> Result<Option<Request>, TraceError> {
        self.number += 1;
        let next = compact::read_record(&mut self.state, &mut self.bytes);
        let bad = |reason: &str| TraceError::Record {
            name: self.name.clone(),
            record: self.number,
            reason: reason.to_owned(),
        };
        match next.map_err(|source| TraceError::Unreadable { name: self.name.clone(), source })? {
            Next::Request(request) => Ok(Some(request)),
            Next::End => Ok(None),
            Next::Nothing => Err(bad("the end of the file is cut off")),
            Next::Bad(reason) => Err(bad(reason)),
        }
    }

    fn read_line(&mut self) -> Result<Option<Line>, TraceError> {
        self.line.clear();
        let mut limited = (&mut self.bytes).take(LINE_BYTES_MAX as u64);
        let read = limited.read_until(b'\n', &mut self.line);
        let read = read.map_err(|source| TraceError::Unreadable { name: self.name.clone(), source })?;
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        if read == LINE_BYTES_MAX && !self.line.ends_with(b"\n") {
            let reason =
                format!("line {} has more than {LINE_BYTES_MAX} bytes: this is no trace of lines", self.number);
            return Err(TraceError::Unusable { name: self.name.clone(), reason });
        }
        let line =
            if self.number == 1 { self.line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&self.line) } else { &self.line };
        Ok(Some(self.rules.parse(line, self.number)))
    }

    fn bad_line(&mut self, expected: &'static str) -> Result<(), TraceError> {
        self.counts.bad_lines += 1;
        if self.skip_bad_lines {
            return Ok(());
        }
        let text = String::from_utf8_lossy(self.line.trim_ascii());
        let mut found: String = text.chars().filter(|letter| !letter.is_control()).take(60).collect();
        if found.len() < text.len() {
            found.push_str("...");
        }
        Err(TraceError::Line { name: self.name.clone(), line: self.number, found, expected })
    }
}

impl Iterator for Reader {
    type Item = Result<Request, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.over {
            return None;
        }
        let next = self.read().map_err(|error| error.unless_stopped(&self.stop)).transpose();
        self.over = !matches!(next, Some(Ok(_)));
        next
    }
}
