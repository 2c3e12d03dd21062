//! Detects the format of a trace by its first bytes.

use super::binary::{blktrace_events, looks_like_blktrace, looks_like_oracle, vscsi_layout};
use super::compact::MAGIC;
use super::events::{Event, Events};
use super::text::{Line, Rules, is_blkparse_event};
use super::{Assume, Format};

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
        () if text.starts_with(b"fio version 3 iolog") => return Some(Format::FioIolog3),
        () if text.starts_with(b"fio version 2 iolog") => return Some(Format::FioIolog2),
        () => {}
    }
    if !head.contains(&0) {
        return TEXTS.iter().copied().find(|format| fits(*format, head));
    }
    match vscsi_layout(head) {
        Some(_) => Some(Format::Vscsi),
        None => looks_like_oracle(head).then_some(Format::OracleGeneral),
    }
}

/// Whether the head's lines fit a format: some hold requests, and none is bad.
fn fits(format: Format, head: &[u8]) -> bool {
    let rules = Rules { format, assume: Assume::default(), event: event(format, head) };
    if lines(head).next().is_some_and(|line| is_header_of(format, line)) {
        return true;
    }
    let is_there = |holds: fn(&[u8]) -> bool| lines(head).any(holds);
    let mark = match format {
        // A trace of the kernel may begin with many lines of other events.
        Format::Ftrace => return lines(head).any(|line| matches!(rules.parse(line, 1), Line::Request(_))),
        Format::Blkparse => lines(head).take(LINES_TRIED).any(is_blkparse_event),
        // Without a fraction the columns are MQSim's.
        Format::Disksim if !is_there(|line| line.contains(&b'.')) => return false,
        _ => false,
    };
    let mut requests = 0;
    for (number, line) in (1..).zip(lines(head).take(LINES_TRIED)) {
        match rules.parse(line, number) {
            Line::Request(_) => requests += 1,
            Line::Left(..) | Line::Wait(_) | Line::Ignored | Line::Passed(_) => {}
            // A line may be damaged. That must not reject the format, since `skip_bad_lines` may skip the line.
            Line::Bad | Line::Beyond if requests > 10 => {}
            Line::Bad | Line::Beyond => return false,
        }
    }
    requests > 0 || mark
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

/// The kind of events that counts, by the events in the head.
pub(super) fn event(format: Format, head: &[u8]) -> Event {
    let mut events = Events::default();
    match format {
        Format::Blkparse | Format::Ftrace => {
            let rules = Rules { format, assume: Assume::default(), event: Event::Issue };
            for line in lines(head) {
                match rules.parse(line, 1) {
                    Line::Request(arrival) => events.add(Event::Issue, arrival.request.length),
                    Line::Left(event, bytes) => events.add(event, bytes),
                    _ => {}
                }
            }
        }
        Format::Blktrace => events = blktrace_events(head),
        _ => {}
    }
    events.counted()
}

/// Whether the head of an iolog of version 2 holds a wait, so that its requests have times.
pub(super) fn has_waits(format: Format, head: &[u8]) -> bool {
    let rules = Rules { format, assume: Assume::default(), event: Event::Issue };
    format == Format::FioIolog2 && lines(head).any(|line| matches!(rules.parse(line, 1), Line::Wait(_)))
}
