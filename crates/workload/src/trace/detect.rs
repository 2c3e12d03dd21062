//! Detects the format of a trace by its first bytes.

use super::binary::{blktrace_event, looks_like_blktrace, vscsi_layout};
use super::compact::MAGIC;
use super::text::{Line, Rules, blkparse_action};
use super::{Assume, Format};

/// Number of lines that are tried.
const LINES_TRIED: usize = 50;

/// The mark that some editors put before the first line.
pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Line formats that are found by trying, the more specific before the more general. Iologs are not among them, since they
/// name their format, nor is SSDsim, whose columns are MQSim's.
const TEXTS: &[Format] = &[
    Format::Blkparse,
    Format::CloudphysicsCsv,
    Format::Msr,
    Format::Spc,
    Format::Alibaba,
    Format::Tencent,
    Format::Fiu,
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
    vscsi_layout(head).map(|_| Format::Vscsi)
}

/// Whether the head's lines fit a format: some hold requests, and none is bad.
fn fits(format: Format, head: &[u8]) -> bool {
    let rules = Rules { format, assume: Assume::default(), event: event(format, head) };
    let mut requests = 0;
    for (number, line) in (1..).zip(lines(head).take(LINES_TRIED)) {
        match rules.parse(line, number) {
            Line::Request(_) => requests += 1,
            Line::Ignored | Line::Command => {}
            // A line may be damaged. That must not reject the format, since `skip_bad_lines` may skip the line.
            Line::Bad | Line::Beyond if requests > 10 => {}
            Line::Bad | Line::Beyond => return false,
        }
    }
    let events =
        format == Format::Blkparse && lines(head).take(LINES_TRIED).any(|line| blkparse_action(line).is_some());
    requests > 0 || events
}

/// Whole lines of the head. If there is a single one, it may be cut.
fn lines(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    let head = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(head);
    let end = head.iter().rposition(|byte| *byte == b'\n').unwrap_or(head.len());
    head[..end].split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty())
}

/// The event that counts: issue (`D`), or queue (`Q`) if the head has no issue.
pub(super) fn event(format: Format, head: &[u8]) -> u8 {
    let issued = match format {
        Format::Blkparse => lines(head).any(|line| blkparse_action(line) == Some(b'D')),
        Format::Blktrace => blktrace_event(head),
        _ => true,
    };
    if issued { b'D' } else { b'Q' }
}
