//! What Linux's tools print of block requests: blkparse, tracefs and perf, biosnoop.

use super::super::events::Event;
use super::{Line, Passed, Words, decimal, device, flush, request, whole};
use crate::Op;
use crate::trace::SECTOR;

/// The operation that a RWBS field names: an `F` for a flush before it, the operation, and flags. `None` if it moves nothing.
fn operation(rwbs: &[u8]) -> Option<Op> {
    let (flushes, rest) = match rwbs {
        [b'F', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    match rest {
        [b'R', ..] => Some(Op::Read),
        // Appending to a zone writes.
        [b'W', ..] | [b'Z', b'A', ..] => Some(Op::Write),
        [b'D', ..] => Some(Op::Trim),
        _ => flushes.then_some(Op::Flush),
    }
}

fn is_rwbs(word: &[u8]) -> bool {
    (1..=8).contains(&word.len()) && word.iter().all(u8::is_ascii_uppercase)
}

/// The line of an operation with an extent. A flush has none, and its sector may then be the highest number.
fn moved(at: Option<u64>, device: u64, rwbs: &[u8], unit: u64, [sector, length]: [u64; 2]) -> Line {
    match operation(rwbs) {
        Some(Op::Flush) => flush(at, device),
        Some(_) if length == 0 && rwbs.starts_with(b"F") => flush(at, device),
        Some(op) if length == 0 => request(at, device, op, 1, [0, 0]),
        Some(op) => sector
            .checked_mul(SECTOR)
            .zip(length.checked_mul(unit))
            .map_or(Line::Beyond, |(offset, length)| request(at, device, op, 1, [offset, length])),
        None => Line::Ignored,
    }
}

/// What an event of kind `event` is worth if events of kind `counted` count. What the others say is not checked.
fn counted(parsed: Option<Line>, event: Event, counted: Event) -> Line {
    match parsed {
        _ if event == counted => parsed.unwrap_or(Line::Bad),
        Some(Line::Request(arrival)) => Line::Left(event, arrival.request.length),
        _ => Line::Ignored,
    }
}

pub(super) fn blkparse(line: &[u8], counts: Event) -> Line {
    // A line that is no event belongs to the summary after the events.
    let mut words = Words(line);
    let Some(name) = words.next().filter(|word| is_device(word)) else { return Line::Ignored };
    let device = device(name);
    let head = (|| {
        whole(words.next()?)?;
        whole(words.next()?)?;
        let at = decimal(words.next()?, 9)?;
        whole(words.next()?)?;
        Some((at, words.next()?))
    })();
    let Some((at, action)) = head else { return Line::Bad };
    let Some(event) = Event::of_action(action) else { return Line::Ignored };
    let parsed = (|| {
        let rwbs = words.next()?;
        let sector = match words.next() {
            // Without an extent it is a flush, or moves nothing.
            Some([b'[', ..]) | None if rwbs.starts_with(b"F") => return Some(flush(Some(at), device)),
            Some([b'[', ..]) => return Some(Line::Ignored),
            sector => whole(sector?)?,
        };
        if operation(rwbs).is_none() {
            return Some(Line::Ignored);
        }
        match words.next()? {
            b"+" => Some(moved(Some(at), device, rwbs, SECTOR, [sector, whole(words.next()?)?])),
            // A pass-through command, which has its bytes in place of the extent.
            [b'(' | b'[', ..] => Some(Line::Ignored),
            _ => None,
        }
    })();
    counted(parsed, event, counts)
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

/// A line of tracefs, trace-cmd, `perf script` or `perf trace`. Other lines belong to other events.
pub(super) fn ftrace(line: &[u8], counts: Event) -> Line {
    let Some((event, before, after)) = tracepoint(line) else { return Line::Ignored };
    let at = trace_time(before);
    let parsed = match after {
        [b'(', fields @ ..] => named_fields(at, fields),
        _ => printed_fields(at, &after[1..]),
    };
    counted(parsed, event, counts)
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
        return Some(Line::Ignored);
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
