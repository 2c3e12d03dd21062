//! Detects the format of a trace by its first bytes.

use std::collections::{BTreeMap, BTreeSet};

use super::binary::{blktrace_lines, looks_like_blktrace, looks_like_oracle, vscsi_layout};
use super::compact::MAGIC;
use super::events::{Event, Events, Kinds};
use super::numbers::Columns;
use super::text::{Line, Passed, Rules, Special, is_blkparse_event, is_kernel_event};
use super::{Arrival, Assume, Format};
use crate::Op;

/// Number of lines that are tried.
const LINES_TRIED: usize = 50;

/// The mark that some editors put before the first line.
pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Line formats that are found by trying, the more specific before the more general. Iologs are not among them, since they
/// name their format, nor is SSDsim, whose columns are MQSim's.
const TEXTS: &[Format] = &[
    Format::Blkparse,
    Format::Ftrace,
    Format::Etw,
    Format::Biosnoop,
    Format::Systor,
    Format::CloudphysicsCsv,
    Format::Msr,
    Format::Spc,
    Format::Alibaba,
    Format::Tencent,
    Format::Fiu,
    Format::Disksim,
    Format::Mqsim,
    Format::Lis,
];

/// Detects the format of a trace that starts with `head`.
pub(super) fn detect(head: &[u8]) -> Option<Format> {
    let text = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head);
    match () {
        () if head.starts_with(MAGIC) => return Some(Format::Compact),
        () if looks_like_blktrace(head) => return Some(Format::Blktrace),
        () => {}
    }
    if let Some(format) = iolog(text) {
        return Some(format);
    }
    if !head.contains(&0) {
        return text_format(head);
    }
    match vscsi_layout(head) {
        Some(_) => Some(Format::Vscsi),
        None => looks_like_oracle(head).then_some(Format::OracleGeneral),
    }
}

/// The version of an iolog by its first line.
fn iolog(text: &[u8]) -> Option<Format> {
    match () {
        () if text.starts_with(b"fio version 3 iolog") => Some(Format::FioIolog3),
        () if text.starts_with(b"fio version 2 iolog") => Some(Format::FioIolog2),
        () => None,
    }
}

/// The format that a single line shows without doubt.
pub(super) fn shown_by(line: &[u8]) -> Option<Format> {
    let headed =
        || [Format::Etw, Format::Systor, Format::Biosnoop].into_iter().find(|format| is_header_of(*format, line));
    let blkparse = || is_blkparse_event(line).then_some(Format::Blkparse);
    let kernel = || is_kernel_event(line).then_some(Format::Ftrace);
    iolog(line).or_else(headed).or_else(blkparse).or_else(kernel)
}

/// The format of a file of lines.
fn text_format(head: &[u8]) -> Option<Format> {
    let columns = Columns::of(lines(head));
    let is_other = columns.as_ref().is_some_and(|columns| columns.certainly().is_some());
    let could_be = |format: Format| columns.as_ref().is_none_or(|columns| !is_other && columns.could_be(format));
    TEXTS.iter().copied().find(|format| could_be(*format) && fits(*format, head))
}

/// What files begin with that are taken for traces, and what they are.
const SIGNS: &[(&[u8], &str)] = &[
    (b"\"fio version\"", "it holds fio's results, and the requests are in write_iolog"),
    (b"avg-cpu", "it holds averages of iostat, and the requests are in what blktrace records"),
    (b"Histogram: ", "it holds histograms of vscsiStats, of which traces of commands are read"),
    (b"DISK    COMM", "it is what bpftrace's biosnoop.bt prints, without sectors; bcc's biosnoop prints them"),
    (b" io_uring_", "its events are io_uring's, which name no sectors; block_rq_issue and block_rq_complete do"),
    (
        b"\"Time of Day\"",
        "it holds calls that Process Monitor saw, without sectors; xperf's text of DiskRead and DiskWrite is read",
    ),
    (b"pwrite64(", "it holds calls that strace saw, without sectors; what blktrace records has them"),
    (b"PERFILE2", "it is perf's own file, whose block events `perf script` prints"),
    (b"\x17\x08Dtracing", "it is trace-cmd's own file, whose block events `trace-cmd report` prints"),
];

/// Bytes in which a sign is looked for.
const SIGNED: usize = 4096;

/// What a file that fits no format is, as the end of a sentence; `None` if that is not known.
pub(super) fn otherwise(head: &[u8]) -> Option<String> {
    let start = &head[..head.len().min(SIGNED)];
    let is_there = |sign: &[u8]| start.windows(sign.len()).any(|bytes| bytes == sign);
    if let Some((_, told)) = SIGNS.iter().find(|(sign, _)| is_there(sign)) {
        return Some((*told).to_owned());
    }
    let columns = Columns::of(lines(head)).filter(|_| !head.contains(&0));
    let certainly = columns.as_ref().and_then(Columns::certainly).map(str::to_owned);
    let perhaps = || columns.as_ref().and_then(Columns::perhaps).map(str::to_owned);
    certainly.or_else(|| nearly(head)).or_else(perhaps)
}

/// Whether what a format takes for sectors may be bytes.
pub(super) fn is_in_bytes(format: Format, head: &[u8]) -> bool {
    format.one().is_some() && Columns::of(lines(head)).is_some_and(|columns| columns.is_in_bytes(format))
}

/// Says which format a file would fit with other separators, or without the lines above its first number.
fn nearly(head: &[u8]) -> Option<String> {
    let is_data = |line: &&[u8]| line.trim_ascii_start().first().is_some_and(u8::is_ascii_digit);
    let body: Vec<&[u8]> = lines(head).skip_while(|line| !is_data(line)).collect();
    let has_header = body.len() < lines(head).count();
    let plain = body.join(&b"\n"[..]);
    if let Some(format) = has_header.then(|| text_format(&plain)).flatten() {
        return Some(format!(
            "its lines are those of {format} but for the lines above its first number: leave them out"
        ));
    }
    [("commas", b','), ("blanks", b' ')].into_iter().find_map(|(name, between)| {
        let joined = body.iter().map(|line| {
            let cells = line.split(|byte| matches!(byte, b',' | b';' | b'|') || byte.is_ascii_whitespace());
            cells.filter(|cell| !cell.is_empty()).collect::<Vec<_>>().join(&between)
        });
        let joined = joined.collect::<Vec<_>>().join(&b"\n"[..]);
        let format = text_format(&joined).filter(|format| !is_in_bytes(*format, &joined))?;
        Some(format!(
            "its lines would be those of {format} with {name} alone between the cells and no header: {}",
            format.summary()
        ))
    })
}

/// Whether the head's lines fit a format: some hold requests, and none is bad.
fn fits(format: Format, head: &[u8]) -> bool {
    let rules = Rules { format, assume: Assume::default(), kinds: kinds(format, head) };
    if lines(head).next().is_some_and(|line| is_header_of(format, line)) {
        return true;
    }
    let is_there = |holds: fn(&[u8]) -> bool| lines(head).any(holds);
    let mark = match format {
        // A trace of the kernel may begin with many lines of other events.
        Format::Ftrace => {
            return lines(head).any(is_kernel_event);
        }
        Format::Blkparse => lines(head).take(LINES_TRIED).any(is_blkparse_event),
        // Without a fraction the columns are MQSim's.
        Format::Disksim if !is_there(|line| line.contains(&b'.')) => return false,
        _ => false,
    };
    let (mut requests, mut commands) = (0, 0);
    for (number, line) in (1..).zip(lines(head).take(LINES_TRIED)) {
        match rules.parse(line, number) {
            Line::Request(_) | Line::Special(..) => requests += 1,
            Line::Passed(Passed::Command) => commands += 1,
            Line::Left(..) | Line::Requeued(..) | Line::Wait(_) => {}
            Line::Ignored | Line::Passed(_) | Line::Unnamed(_) | Line::Told(_) | Line::Strange => {}
            // A line may be damaged. That must not reject the format, since `skip_bad_lines` may skip the line.
            Line::Bad | Line::Beyond if requests > 10 => {}
            Line::Bad | Line::Beyond => return false,
        }
    }
    // Any number of two digits is an opcode, and few of them move data.
    (requests > 0 && requests >= commands) || mark
}

/// Whether a first line is one that only this format begins with, so that bad lines are no reason to doubt it.
fn is_header_of(format: Format, line: &[u8]) -> bool {
    let line = line.trim_ascii();
    match format {
        Format::Etw => line == b"BeginHeader",
        Format::Systor => line == b"Timestamp,Response,IOType,LUN,Offset,Size",
        Format::Biosnoop => {
            let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
            words.next().is_some_and(|word| word.starts_with(b"TIME"))
                && [b"COMM" as &[u8], b"PID", b"DISK", b"T", b"SECTOR", b"BYTES"].into_iter().eq(words.take(6))
        }
        _ => false,
    }
}

/// Whole lines of the head. If there is a single one, it may be cut.
fn lines(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    let head = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head);
    let end = head.iter().rposition(|byte| *byte == b'\n').unwrap_or(head.len());
    head[..end].split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty())
}

/// The lines or records of the head, as they read if events of some kinds count.
fn events_of(format: Format, head: &[u8], kinds: Kinds) -> Vec<Line> {
    let rules = Rules { format, assume: Assume::default(), kinds };
    match format {
        Format::Blkparse | Format::Ftrace => lines(head).map(|line| rules.parse(line, 1)).collect(),
        _ => blktrace_lines(head, kinds),
    }
}

/// The kinds of events that count, by the events in the head.
pub(super) fn kinds(format: Format, head: &[u8]) -> Kinds {
    if !matches!(format, Format::Blkparse | Format::Ftrace | Format::Blktrace) {
        return Kinds::all(Event::Issue);
    }
    let [issued, completed] = [Event::Issue, Event::Complete].map(|event| events_of(format, head, Kinds::all(event)));
    let mut events = Events::default();
    for line in &issued {
        match line {
            Line::Request(arrival) | Line::Special(_, arrival) => events.add(Event::Issue, arrival.request.length),
            Line::Left(event, bytes) => events.add(*event, *bytes),
            _ => {}
        }
    }
    // Requests that the kernel does not name count nowhere, but are told by one kind of event alone.
    if Event::ALL.into_iter().all(|event| events.count(event) == 0) {
        for (event, lines) in [(Event::Issue, &issued), (Event::Complete, &completed)] {
            lines.iter().filter(|line| matches!(line, Line::Unnamed(_))).for_each(|_| events.add(event, 0));
        }
    }
    let event = events.counted();
    let appends = |lines: &[Line]| lines.iter().any(|line| matches!(line, Line::Special(Special::Append, _)));
    if event == Event::Issue && moves(&issued, &completed) {
        return Kinds { moves: true, ..Kinds::all(Event::Complete) };
    }
    let is_issued_alone = appends(&issued) && !appends(&completed);
    Kinds { appends: if is_issued_alone { event } else { Event::Complete }, ..Kinds::all(event) }
}

/// Fewest writes that must have moved for that to be no accident.
const MOVED_MIN: usize = 8;

/// Whether many writes were issued to few sectors and completed at others, as appends to zones do that are recorded as plain writes.
fn moves(issued: &[Line], completed: &[Line]) -> bool {
    let writes = |lines: &[Line]| -> Vec<(u64, u64, u64)> {
        let extent = |Arrival { device, request, .. }: &Arrival| (*device, request.offset, request.length);
        let write = |line: &Line| match line {
            Line::Request(arrival) if arrival.request.op == Op::Write && arrival.request.length > 0 => {
                Some(extent(arrival))
            }
            _ => None,
        };
        lines.iter().filter_map(write).collect()
    };
    let mut open = BTreeMap::<(u64, u64, u64), usize>::new();
    writes(issued).into_iter().for_each(|extent| *open.entry(extent).or_default() += 1);
    let elsewhere = writes(completed).into_iter().filter(|extent| match open.get_mut(extent) {
        Some(count) if *count > 0 => {
            *count -= 1;
            false
        }
        _ => true,
    });
    let elsewhere = elsewhere.count();
    open.retain(|_, count| *count > 0);
    let starts: BTreeSet<(u64, u64)> = open.keys().map(|(device, offset, _)| (*device, *offset)).collect();
    let left: usize = open.values().sum();
    elsewhere >= MOVED_MIN && left >= MOVED_MIN && starts.len() * 4 <= left
}

/// Whether the head of an iolog of version 2 holds a wait, so that its requests have times.
pub(super) fn has_waits(format: Format, head: &[u8]) -> bool {
    let rules = Rules { format, assume: Assume::default(), kinds: Kinds::all(Event::Issue) };
    format == Format::FioIolog2 && lines(head).any(|line| matches!(rules.parse(line, 1), Line::Wait(_)))
}
