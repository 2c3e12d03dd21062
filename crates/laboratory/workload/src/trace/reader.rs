//! Reads the requests of a trace one by one.

use std::io::{BufRead, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::binary::{self, Record, Vscsi};
use super::compact::{self, Next, State};
use super::detect::{BYTE_ORDER_MARK, detect, has_waits, is_in_bytes, kinds, otherwise, shown_by};
use super::events::{Event, Events};
use super::input::{FileRead, Input};
use super::losses::Losses;
use super::processors::Processors;
use super::text::{Line, Passed, Rules, Special, has_failed};
use super::{Arrival, Format, Options, PLACE, SECTOR, TraceError};
use crate::{Op, Request};
use wane_units::Nanos;

/// Times in steps of less than 1 ms are fine enough for latencies.
const FINE_NS: u64 = 1_000_000;

/// Share of requests with the time of the one before, above which coarse times are reported.
const SHARED_MIN: f64 = 0.01;

/// Nanoseconds of a unit of FILETIME, which counts from 1601.
const FILETIME_NS: u64 = 100;

/// Seconds since 1970 of the years from 1990 to 2065.
const UNIX_SECONDS: std::ops::Range<u64> = 631_152_000..2_998_000_000;

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
    /// Whether the format was found by numbers alone, without names of columns.
    is_guessed: bool,
    /// Whether what the format takes for sectors may be bytes.
    is_in_bytes: bool,
    vscsi: Vscsi,
    skip_bad_lines: bool,
    line: Vec<u8>,
    /// Number of lines or records read.
    number: u64,
    state: State,
    clock: Clock,
    days: Days,
    /// The latest instant until which an iolog has waited, in nanoseconds since it began, and whether it holds any wait.
    waited: u64,
    has_waits: bool,
    steps: Steps,
    device: Option<u64>,
    over: bool,
    counts: Counts,
    processors: Processors,
    losses: Losses,
    /// Device and offset of the last appends to zones, since the kernel may tell of one twice.
    appends: [(u64, u64); APPENDS_KEPT],
    stop: Arc<AtomicBool>,
}

/// Number of appends that may complete between two events of one.
const APPENDS_KEPT: usize = 16;

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    bad_lines: u64,
    /// Lines and records that are passed over, by [`Passed::ALL`].
    passed: [u64; Passed::ALL.len()],
    /// Requests of which the kernel does not say what they do, and their bytes.
    unnamed: [u64; 2],
    /// Zeroes that count as trims, and their bytes.
    zeroes: [u64; 2],
    appends: usize,
    empty: u64,
    /// Requests of less than a sector where lengths are bytes beside sectors.
    short: u64,
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
            let more = otherwise(&input.head)
                .unwrap_or_else(|| format!("name one (--format, in a scenario workload.format): {}", names.join(", ")));
            unusable(&format!("its content fits no known trace format; {more}"))
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
            rules: Rules { format, assume: options.assume, kinds: kinds(format, &input.head) },
            is_in_bytes: is_in_bytes(format, &input.head),
            is_guessed: options.format.is_none() && input.head[0].is_ascii_digit(),
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
            processors: Processors::default(),
            losses: Losses::default(),
            appends: [(u64::MAX, u64::MAX); APPENDS_KEPT],
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
        let mut notes: Vec<String> = self.assumed().into_iter().collect();
        if self.is_in_bytes {
            notes.push(
                "all sectors and their numbers are multiples of 512: if they are bytes, divide them by it".to_owned(),
            );
        }
        notes.extend(self.unlikely_times());
        if self.rules.format == Format::Biosnoop {
            notes.push("its times are those of completions".to_owned());
        }
        if matches!(self.rules.format, Format::Blkparse | Format::Blktrace | Format::Ftrace) {
            notes.push(self.counts.events.told(self.rules.kinds.event));
        }
        if self.rules.kinds.moves {
            let why = "writes complete at other sectors than they are issued to, as appends to zones do: completions count, which name the sectors";
            notes.push(why.to_owned());
        }
        notes.extend(self.processors.told());
        self.tell_special(&mut notes);
        notes.extend(self.losses.describe(self.rules.kinds.event, self.events_read()));
        let mut count = |count: u64, what: &str| {
            if count > 0 && !what.is_empty() {
                notes.push(format!("{count} {what}"));
            }
        };
        count(self.clock.odd, "timestamps jump backwards or by more than 30 days; the one before is used");
        count(self.counts.bad_lines, "lines that do not parse were skipped");
        for ((_, what), passed) in Passed::ALL.iter().zip(self.counts.passed) {
            count(passed, what);
        }
        count(self.counts.short, "requests are shorter than a sector: if lengths are sectors, multiply them by 512");
        count(self.counts.empty, "requests of no length were skipped");
        count(
            self.counts.elsewhere,
            "requests go to other devices than the first one does; all share one address space",
        );
        notes
    }

    /// Number of events of the kind that counts, with those that were passed over.
    fn events_read(&self) -> u64 {
        let Counts { events, passed, unnamed, .. } = self.counts;
        events.count(self.rules.kinds.event) + passed.iter().sum::<u64>() + unnamed[0]
    }

    /// A sentence that times of FILETIME would be those of Unix in another unit; `None` if they would not.
    fn unlikely_times(&self) -> Option<String> {
        let (nanos, _) = self.clock.base.filter(|_| self.rules.format == Format::Msr)?;
        let time = nanos / FILETIME_NS;
        let units = [("seconds", Nanos::SECOND.0), ("milliseconds", 1_000_000), ("microseconds", 1_000)];
        let (unit, each) =
            units.into_iter().find(|(_, each)| UNIX_SECONDS.contains(&(time / (Nanos::SECOND.0 / each))))?;
        Some(format!(
            "times as {time} are of the year 1601 as FILETIME, and of these days as Unix {unit}: then they pass {} times as fast as they should",
            each / FILETIME_NS
        ))
    }

    /// What the format leaves open, and how it is read.
    fn assumed(&self) -> Option<String> {
        let Rules { format, assume, .. } = self.rules;
        let word = |op| if op == Op::Read { "read" } else { "write" };
        let turn = |one| word(if one == Op::Read { Op::Write } else { Op::Read });
        Some(match (format, assume.one.or(format.one())) {
            (Format::Lis, _) => format!(
                "the format has no direction and no unit: read as {}s of {}-byte blocks (see --assume)",
                word(assume.op),
                assume.block_bytes
            ),
            (Format::OracleGeneral, _) => format!(
                "the format is a cache's and has no direction and no addresses: read as {}s of objects that begin at their number times {} bytes \
                 (see --assume)",
                word(assume.op),
                binary::object_bytes(assume)
            ),
            (Format::CloudphysicsCsv, _) if self.is_guessed => {
                format!("columns of numbers, read as {}", format.summary())
            }
            (_, Some(one)) if format.one().is_some() => format!(
                "columns of numbers, read as {}: 1 is a {}{} (--assume 1={turn}, in a scenario assume-one = \"{turn}\", turns it){}",
                format.columns(),
                word(one),
                if assume.one.is_some() { ", as was assumed" } else { "" },
                // What has a fraction was found as DiskSim's.
                if format == Format::Mqsim && self.is_guessed {
                    "; without fractions those of disksim are the same, but in milliseconds (--format)"
                } else {
                    ""
                },
                turn = turn(one)
            ),
            (_, Some(one)) => {
                format!("that 1 is a {} was assumed without effect: format {format} has no such numbers", word(one))
            }
            (_, None) => return None,
        })
    }

    /// Appends to zones, zeroes, and what the kernel does not name.
    fn tell_special(&self, notes: &mut Vec<String>) {
        let Counts { unnamed, zeroes, appends, passed, .. } = self.counts;
        if unnamed[0] > 0 {
            notes.push(format!(
                "{} requests of {} bytes were passed over, of which this kernel does not say whether they append to zones or write zeroes (N)",
                unnamed[0], unnamed[1]
            ));
        }
        if zeroes[0] > 0 {
            let [count, bytes] = zeroes;
            notes.push(format!(
                "{count} requests for zeroes, {bytes} bytes, count as trims, as `wane serve` treats them"
            ));
        }
        let issued = passed[Passed::AppendIssued as usize];
        if appends > 0 && self.rules.kinds.appends == Event::Complete {
            notes.push(format!("{appends} appends to zones count at their completion, which names the sector"));
        } else if appends > 0 {
            notes.push(format!(
                "{appends} appends to zones count at the start of the zone, since no completion names the sector"
            ));
        }
        if issued > appends as u64 {
            notes.push(format!(
                "{} appends to zones were passed over, since no completion names their sector",
                issued - appends as u64
            ));
        }
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
                    Record::Line(line) => match self.counted_line(line)? {
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
            let is_short = self.rules.format == Format::Spc && (1..SECTOR).contains(&request.length);
            self.counts.short += u64::from(is_short);
            self.steps.add(request.at);
            return Ok(Some(request));
        }
    }

    /// The request of a line or record, which is counted either way.
    fn counted_line(&mut self, line: Line) -> Result<Option<Arrival>, TraceError> {
        if !self.rules.format.is_binary() && self.is_completion(line) {
            self.losses.failed += u64::from(has_failed(&self.line));
        }
        if self.is_issued_again(line) {
            return Ok(None);
        }
        if let Line::Special(special, arrival) = line
            && self.is_told_again(special, &arrival)
        {
            return Ok(None);
        }
        match line {
            Line::Request(arrival) | Line::Special(_, arrival) => {
                self.counts.events.add(self.rules.kinds.event, arrival.request.length);
                let at = match self.rules.format {
                    Format::FioIolog2 => Some(self.waited),
                    Format::Biosnoop => arrival.at.map(|at| self.days.time(at)),
                    _ => arrival.at,
                };
                return Ok(Some(Arrival { at, ..arrival }));
            }
            Line::Left(event, bytes) => self.counts.events.add(event, bytes),
            Line::Wait(nanos) => {
                self.waited = self.waited.max(nanos);
                self.has_waits = true;
            }
            Line::Passed(reason) => {
                // A word of another format may stand where an iolog has its action.
                if reason == Passed::Action && !self.skip_bad_lines {
                    self.refuse_other_format()?;
                }
                self.counts.passed[reason as usize] += 1;
            }
            Line::Unnamed(bytes) => add(&mut self.counts.unnamed, bytes),
            Line::Requeued(Some(Special::Append), _) if self.rules.kinds.appends == Event::Complete => {
                // It is passed over once more as it is issued again.
                let passed = &mut self.counts.passed[Passed::AppendIssued as usize];
                *passed = passed.saturating_sub(1);
            }
            Line::Requeued(_, arrival) if self.rules.kinds.event == Event::Issue => self.losses.requeue(&arrival),
            Line::Requeued(..) | Line::Ignored => {}
            Line::Told(told) => self.losses.tell(told),
            Line::Strange => self.strange_line()?,
            Line::Bad => self.bad_line(self.rules.format.summary())?,
            Line::Beyond => self.bad_line(PLACE)?,
        }
        Ok(None)
    }

    /// Whether a line tells that the device answered a request.
    fn is_completion(&self, line: Line) -> bool {
        let kinds = self.rules.kinds;
        Event::Complete
            == match line {
                Line::Left(event, _) => event,
                Line::Special(Special::Append, _) => kinds.appends,
                Line::Request(_) | Line::Special(..) => kinds.event,
                _ => return false,
            }
    }

    /// Whether a line is the issue of a request that was issued before and requeued.
    fn is_issued_again(&mut self, line: Line) -> bool {
        match line {
            Line::Special(Special::Append, _) if self.rules.kinds.appends == Event::Complete => false,
            Line::Request(arrival) | Line::Special(_, arrival) => self.losses.is_again(&arrival),
            _ => false,
        }
    }

    /// Counts a special request. Returns whether it is one that was counted before.
    fn is_told_again(&mut self, special: Special, Arrival { device, request, .. }: &Arrival) -> bool {
        if special == Special::Zeroes {
            add(&mut self.counts.zeroes, request.length);
            return false;
        }
        // At the start of its zone an append looks like another one.
        let is_again = self.rules.kinds.appends == Event::Complete && self.appends.contains(&(*device, request.offset));
        if !is_again {
            self.appends[self.counts.appends % APPENDS_KEPT] = (*device, request.offset);
            self.counts.appends += 1;
        }
        is_again
    }

    fn read_record(&mut self) -> Result<Record, TraceError> {
        self.number += 1;
        let record = match self.rules.format {
            Format::Vscsi => binary::vscsi(&mut self.bytes, self.vscsi),
            Format::OracleGeneral => binary::oracle(&mut self.bytes, self.rules.assume),
            _ => binary::blktrace(&mut self.bytes, self.rules.kinds, &mut self.processors, &mut self.losses.failed),
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
        self.refuse_other_format()?;
        let found = shortened(&self.line);
        Err(TraceError::Line { name: self.name.clone(), line: self.number, found, expected })
    }

    fn strange_line(&mut self) -> Result<(), TraceError> {
        if !self.skip_bad_lines {
            self.refuse_other_format()?;
        }
        self.losses.pass(self.number, || shortened(&self.line));
        Ok(())
    }

    /// Refuses a line that another format's trace begins with, since what follows it would be lost.
    fn refuse_other_format(&self) -> Result<(), TraceError> {
        let format = self.format();
        match shown_by(self.line.trim_ascii()).filter(|shown| *shown != format) {
            Some(shown) => Err(TraceError::Unusable {
                name: self.name.clone(),
                reason: format!(
                    "line {} is one of format {shown}, and the trace is one of format {format}: found '{}'; give each a file of its own",
                    self.number,
                    shortened(&self.line)
                ),
            }),
            None => Ok(()),
        }
    }
}

/// The start of a line, as messages show it.
fn shortened(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line.trim_ascii());
    let mut found: String = text.chars().filter(|letter| !letter.is_control()).take(60).collect();
    if found.len() < text.len() {
        found.push_str("...");
    }
    found
}

/// Adds a request of `bytes` to their number and sum.
fn add([count, sum]: &mut [u64; 2], bytes: u64) {
    *count += 1;
    *sum = sum.saturating_add(bytes);
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
