//! What Linux's tools print of block requests: blkparse, tracefs and perf, biosnoop.

use super::super::events::{Event, Kinds};
use super::super::losses::Told;
use super::{Line, Passed, Special, Words, decimal, device, flush, request, whole};
use crate::Op;
use crate::trace::SECTOR;

/// What a RWBS field names: an `F` for a flush before it, the operation, and flags.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operation {
    Moves(Op),
    Special(Special),
    ZoneReset,
    /// What older kernels print of every operation that they have no letter for: appends, zeroes, commands to zones, and what is passed through.
    Unnamed,
    /// Nothing that moves or frees data.
    Nothing,
}

impl Operation {
    fn of(rwbs: &[u8]) -> Self {
        let (flushes, rest) = match rwbs {
            [b'F', rest @ ..] => (true, rest),
            rest => (false, rest),
        };
        match rest {
            [b'R', ..] => Self::Moves(Op::Read),
            [b'W', b'Z', ..] => Self::Special(Special::Zeroes),
            [b'Z', b'A', ..] => Self::Special(Special::Append),
            [b'Z', b'R', ..] => Self::ZoneReset,
            [b'W', ..] => Self::Moves(Op::Write),
            [b'D', ..] => Self::Moves(Op::Trim),
            _ if flushes => Self::Moves(Op::Flush),
            [b'N', ..] => Self::Unnamed,
            _ => Self::Nothing,
        }
    }
}

fn is_rwbs(word: &[u8]) -> bool {
    (1..=8).contains(&word.len()) && word.iter().all(u8::is_ascii_uppercase)
}

/// The line of an operation with an extent. A flush has none, and its sector may then be the highest number.
fn moved(at: Option<u64>, device: u64, rwbs: &[u8], unit: u64, [sector, length]: [u64; 2]) -> Line {
    let (op, special) = match Operation::of(rwbs) {
        Operation::Moves(Op::Flush) => return flush(at, device),
        Operation::Moves(op) => (op, None),
        Operation::Special(Special::Zeroes) => (Op::Trim, Some(Special::Zeroes)),
        Operation::Special(Special::Append) => (Op::Write, Some(Special::Append)),
        Operation::ZoneReset => return Line::Passed(Passed::ZoneReset),
        Operation::Unnamed if length > 0 => return Line::Unnamed(length.saturating_mul(unit)),
        // Commands that are passed through are not synchronous in this sense.
        Operation::Unnamed if rwbs == b"NS" => return Line::Passed(Passed::ZoneCommand),
        Operation::Unnamed | Operation::Nothing => return Line::Ignored,
    };
    let line = match sector.checked_mul(SECTOR).zip(length.checked_mul(unit)) {
        _ if length == 0 && rwbs.starts_with(b"F") => return flush(at, device),
        _ if length == 0 => return request(at, device, op, 1, [0, 0]),
        Some(extent) => request(at, device, op, 1, extent.into()),
        None => Line::Beyond,
    };
    match (line, special) {
        (Line::Request(arrival), Some(special)) => Line::Special(special, arrival),
        (line, _) => line,
    }
}

/// What an event of kind `event` is worth if events of some kinds count. What the others say is not checked.
fn counted(parsed: Option<Line>, event: Event, kinds: Kinds) -> Line {
    match parsed {
        Some(Line::Special(Special::Append, _)) if event == kinds.appends => parsed.unwrap_or(Line::Bad),
        Some(Line::Special(Special::Append, _)) if event == kinds.event => Line::Passed(Passed::AppendIssued),
        _ if event == kinds.event => parsed.unwrap_or(Line::Bad),
        Some(Line::Request(arrival)) if event == Event::Requeue => Line::Requeued(None, arrival),
        Some(Line::Special(special, arrival)) if event == Event::Requeue => Line::Requeued(Some(special), arrival),
        Some(Line::Request(arrival) | Line::Special(_, arrival)) => Line::Left(event, arrival.request.length),
        Some(_) => Line::Ignored,
        None => Line::Strange,
    }
}

/// Actions of blkparse that tell of no whole request.
const ACTIONS: &[&[u8]] =
    &[b"A", b"B", b"F", b"G", b"I", b"M", b"P", b"S", b"T", b"U", b"UT", b"X", b"ZP", b"ZUP", b"a", b"d", b"m"];

/// How lines begin that blkparse and blktrace print beside the events.
const BESIDES: &[&[u8]] = &[
    b"#",
    b"===",
    b"CPU",
    b"Total",
    b"Read",
    b"Write",
    b"PC ",
    b"IO unplugs:",
    b"Timer unplugs:",
    b"Throughput (",
    b"Events (",
    b"Skips:",
    b"Input file",
    b"You have",
    b"Trace started",
];

/// A line of blkparse's text that is no event: of the summary after the events, or of blktrace's messages.
fn beside_blkparse(line: &[u8]) -> Line {
    match Told::summed(line).or_else(|| Told::lost(line)) {
        Some(told) => Line::Told(told),
        None if BESIDES.iter().any(|start| line.starts_with(start)) => Line::Ignored,
        None => Line::Strange,
    }
}

pub(super) fn blkparse(line: &[u8], kinds: Kinds) -> Line {
    let mut words = Words(line);
    let Some(name) = words.next().filter(|word| is_device(word)) else { return beside_blkparse(line) };
    let device = device(name);
    let head = (|| {
        whole(words.next()?)?;
        whole(words.next()?)?;
        let at = decimal(words.next()?, 9)?;
        whole(words.next()?)?;
        Some((at, words.next()?))
    })();
    let Some((at, action)) = head else { return Line::Bad };
    let Some(event) = Event::of_action(action) else {
        return if ACTIONS.contains(&action) { Line::Ignored } else { Line::Strange };
    };
    let parsed = (|| {
        let rwbs = words.next()?;
        let sector = match words.next() {
            // Without an extent it is a flush, or moves nothing.
            Some([b'[', ..]) | None if rwbs.starts_with(b"F") => return Some(flush(Some(at), device)),
            // As blkparse prints a reset of a zone, if the events have no word for it.
            Some([b'[', ..]) if rwbs.starts_with(b"W") => return Some(request(Some(at), device, Op::Write, 1, [0, 0])),
            Some([b'[', ..]) => return Some(Line::Ignored),
            sector => whole(sector?)?,
        };
        if Operation::of(rwbs) == Operation::Nothing {
            return Some(Line::Ignored);
        }
        match words.next()? {
            b"+" => Some(moved(Some(at), device, rwbs, SECTOR, [sector, whole(words.next()?)?])),
            // A pass-through command, which has its bytes in place of the extent.
            [b'(' | b'[', ..] => Some(Line::Ignored),
            _ => None,
        }
    })();
    counted(parsed, event, kinds)
}

/// `MAJOR,MINOR`.
fn is_device(word: &[u8]) -> bool {
    let comma = word.iter().position(|byte| *byte == b',');
    comma.is_some_and(|at| whole(&word[..at]).is_some() && whole(&word[at + 1..]).is_some())
}

/// Whether a line of blkparse's text is an event.
pub(crate) fn is_blkparse_event(line: &[u8]) -> bool {
    let mut words = Words(line);
    let is_one = words.next().is_some_and(is_device);
    is_one && words.nth(4).is_some_and(|action| action.len() == 1)
}

/// A tracepoint in a line: its kind, and the text before and after it.
fn tracepoint(line: &[u8]) -> Option<(Event, &[u8], &[u8])> {
    let mut from = 0;
    loop {
        let at = from + line[from..].windows(6).position(|bytes| bytes == b"block_")?;
        if let Some((event, rest)) = Event::of_tracepoint(&line[at..])
            && let [b':' | b'(', ..] = rest
        {
            return Some((event, &line[..at], rest));
        }
        from = at + 6;
    }
}

/// Whether a line of the kernel's text is a request's event.
pub(crate) fn is_kernel_event(line: &[u8]) -> bool {
    tracepoint(line).is_some_and(|(_, before, after)| {
        trace_time(before).is_some() && (after.starts_with(b"(") || printed_fields(Some(0), &after[1..]).is_some())
    })
}

/// Whether a completion ends in an error: `[ERROR]`, or `error: ERROR` among named fields.
pub(crate) fn has_failed(line: &[u8]) -> bool {
    let line = line.trim_ascii_end();
    let error = match line.strip_suffix(b"]") {
        Some(rest) => rest.rsplit(|byte| *byte == b'[').next(),
        None => {
            let at = line.windows(6).position(|bytes| bytes == b"error:");
            at.and_then(|at| line[at + 6..].split(|byte| matches!(byte, b',' | b')')).next())
        }
    };
    let error = error.unwrap_or_default().trim_ascii();
    whole(error.strip_prefix(b"-").unwrap_or(error)).is_some_and(|error| error > 0)
}

/// A line without a request's event: another event, its stack, or what the trace says of itself.
fn beside_ftrace(line: &[u8]) -> Line {
    if let Some(told) = Told::overwritten(line) {
        return Line::Told(told);
    }
    let mut words = Words(line);
    let first = words.next().unwrap_or_default();
    let is_time = |word: &[u8]| decimal(word, 9).is_some();
    let is_lost_record = line.windows(16).any(|bytes| bytes == b"PERF_RECORD_LOST");
    // Times have a colon after them, but in perf's list of calls; those of latencies have a unit.
    let has_time = first.contains(&b'.') && is_time(first)
        || Words(line).any(|word| word.strip_suffix(b":").is_some_and(is_time))
        || words.any(|word| word[0].is_ascii_digit() && word.windows(2).any(|bytes| bytes == b"us"));
    if has_time && !is_lost_record || line.starts_with(b"#") {
        return Line::Ignored;
    }
    if let Some(told) = Told::lost(line) {
        return Line::Told(told);
    }
    let is_address = first.len() >= 4 && first.iter().all(u8::is_ascii_hexdigit);
    let starts: [&[u8]; 7] = [b"=>", b"<", b"CPU", b"cpus=", b"version", b"trace-cmd", b"--"];
    match starts.iter().any(|start| line.starts_with(start)) || is_address || line.contains(&b'|') {
        true => Line::Ignored,
        false => Line::Strange,
    }
}

/// A line of tracefs, trace-cmd, `perf script` or `perf trace`. Other lines belong to other events.
pub(super) fn ftrace(line: &[u8], kinds: Kinds) -> Line {
    let Some((event, before, after)) = tracepoint(line) else { return beside_ftrace(line) };
    let at = trace_time(before);
    let parsed = match after {
        [b'(', fields @ ..] => named_fields(at, fields),
        _ => printed_fields(at, &after[1..]),
    };
    counted(parsed, event, kinds)
}

/// The time before a tracepoint: seconds and a colon, or at the start of the line `perf trace`'s milliseconds.
fn trace_time(before: &[u8]) -> Option<u64> {
    let has_point = |word: &&[u8]| word.contains(&b'.');
    let stamp = Words(before).filter_map(|word| word.strip_suffix(b":")).filter(has_point);
    match stamp.filter_map(|word| decimal(word, 9)).last() {
        Some(at) => Some(at),
        None => Words(before).next().filter(has_point).and_then(|word| decimal(word, 6)),
    }
}

/// `MAJOR,MINOR RWBS [BYTES] [(COMMAND)] SECTOR + SECTORS`. The bytes are those of a pass-through command on older kernels.
fn printed_fields(at: Option<u64>, text: &[u8]) -> Option<Line> {
    let mut words = Words(text);
    let device = device(words.next().filter(|word| is_device(word))?);
    let rwbs = words.next().filter(|word| is_rwbs(word))?;
    let mut before = words.next()?;
    loop {
        let word = words.next()?;
        if word == b"+" {
            let extent = [whole(before)?, whole(words.next()?)?];
            return Some(moved(Some(at?), device, rwbs, SECTOR, extent));
        }
        before = word;
    }
}

/// `dev: NUMBER, sector: NUMBER, nr_sector: NUMBER, rwbs: "RWBS"`, as newer versions of `perf trace` print. Zeros are left out.
fn named_fields(at: Option<u64>, text: &[u8]) -> Option<Line> {
    let value = |name: &str| {
        let fields = text.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
        let mut values = fields.filter_map(|field| field.strip_prefix(name.as_bytes())?.strip_prefix(b":"));
        values.next().map(|value| value.trim_ascii().strip_suffix(b")").unwrap_or(value).trim_ascii())
    };
    let number = |name: &str| value(name).map_or(Some(0), whole);
    let rwbs = value("rwbs")?.strip_prefix(b"\"")?.strip_suffix(b"\"").filter(|word| is_rwbs(word))?;
    Some(moved(Some(at?), number("dev")?, rwbs, SECTOR, [number("sector")?, number("nr_sector")?]))
}

/// A line of biosnoop: TIME COMM PID [DISK] T SECTOR BYTES [QUE(ms)] [P] LAT(ms). The command may hold blanks, so the fields after it are
/// found from the end. Lines that do not begin with a time are the tool's other messages.
pub(super) fn biosnoop(line: &[u8]) -> Option<Line> {
    if !line[0].is_ascii_digit() {
        let is_message = [b"TIME" as &[u8], b"Tracing", b"#", b"^C"].iter().any(|start| line.starts_with(start));
        let told = Told::lost(line).map(Line::Told);
        return told.or(Some(if is_message { Line::Ignored } else { Line::Strange }));
    }
    let mut words = Words(line);
    let at = Some(time_of_day(words.next()?)?);
    let is_fraction = |word: &[u8]| {
        let value = word.strip_prefix(b"-").unwrap_or(word);
        value.contains(&b'.') && decimal(value, 6).is_some()
    };
    let mut words = words.backward();
    words.next().filter(|latency| is_fraction(latency))?;
    // The time in the queue and the pattern (random or sequential) are printed on request.
    let length = words.find(|word| !is_fraction(word) && !is_rwbs(word) && *word != b"?")?;
    let extent = [words.next()?, length].map(whole);
    let kind = words.next().filter(|word| is_rwbs(word))?;
    let disk = words.next()?;
    let [Some(sector), Some(bytes)] = extent else { return None };
    if whole(disk).is_some() || disk == b"<unknown>" {
        // A command that moves no data has no disk, so that the word before its type is the process.
        return Some(Line::Passed(Passed::Diskless));
    }
    whole(words.next()?)?;
    words.next()?;
    Some(moved(at, device(disk), kind, 1, [sector, bytes]))
}

/// Seconds, or the time of day, in nanoseconds.
fn time_of_day(word: &[u8]) -> Option<u64> {
    let mut parts = word.split(|byte| *byte == b':');
    let first = parts.next()?;
    let (Some(minutes), Some(seconds)) = (parts.next(), parts.next()) else { return decimal(word, 9) };
    let minutes = whole(first)?.checked_mul(60)?.checked_add(whole(minutes)?)?;
    minutes.checked_mul(60_000_000_000)?.checked_add(decimal(seconds, 9)?).filter(|_| parts.next().is_none())
}
