//! Formats of lines. Parsing works on bytes and allocates nothing.

use super::{Assume, Format, SECTOR};
use crate::{Op, Request};

/// What a line holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// A request; its time is absolute, in nanoseconds, `None` where the format has none.
    Request(Option<u64>, Request),
    /// Nothing to replay: a header, another event, a summary.
    Ignored,
    /// It should parse and does not.
    Bad,
}

/// How lines are read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub(super) format: Format,
    pub(super) assume: Assume,
    /// The event of blkparse that counts: `D`, or `Q` where there are none.
    pub(super) event: u8,
}

impl Rules {
    /// Reads one line, without its end.
    pub(super) fn parse(&self, line: &[u8], number: u64) -> Line {
        let line = line.trim_ascii();
        if line.is_empty() {
            return Line::Ignored;
        }
        let parsed = match self.format {
            Format::Mqsim | Format::Ssdsim => mqsim(line),
            Format::CloudphysicsCsv if number == 1 && line.starts_with(b"version") => return Line::Ignored,
            Format::CloudphysicsCsv => cloudphysics(line),
            Format::Blkparse => return blkparse(line, self.event),
            Format::Fiu => fiu(line),
            Format::Lis => lis(line, self.assume),
            Format::FioIolog2 => return fio(line, Timed::No),
            Format::FioIolog3 => return fio(line, Timed::Yes),
            // A header line is common in published copies of these.
            Format::Msr | Format::Spc | Format::Alibaba | Format::Tencent if number == 1 && is_header(line) => return Line::Ignored,
            Format::Msr => msr(line),
            Format::Spc => spc(line),
            Format::Alibaba => alibaba(line),
            Format::Tencent => tencent(line),
            Format::Compact | Format::Vscsi | Format::Blktrace => None,
        };
        parsed.unwrap_or(Line::Bad)
    }
}

/// A request, unless its bytes leave the 64-bit address space.
fn request(at: Option<u64>, op: Op, offset: Option<u64>, length: Option<u64>) -> Option<Line> {
    let (offset, length) = (offset?, length?);
    offset.checked_add(length)?;
    Some(Line::Request(at, Request { at: 0, op, offset, length }))
}

fn is_header(line: &[u8]) -> bool {
    line[0].is_ascii_alphabetic()
}

/// Fields between runs of blanks.
struct Words<'a>(&'a [u8]);

impl<'a> Iterator for Words<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let start = self.0.iter().position(|byte| !byte.is_ascii_whitespace())?;
        let rest = &self.0[start..];
        let end = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
        self.0 = &rest[end..];
        Some(&rest[..end])
    }
}

fn cells(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|byte| *byte == b',').map(<[u8]>::trim_ascii)
}

/// A whole number in decimal.
fn whole(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0u64, |value, byte| {
        let digit = byte.wrapping_sub(b'0');
        (digit < 10).then(|| value.checked_mul(10)?.checked_add(u64::from(digit))).flatten()
    })
}

/// Seconds with a fraction, in nanoseconds; digits beyond them are dropped.
fn seconds(text: &[u8]) -> Option<u64> {
    let (whole_part, fraction) = match text.iter().position(|byte| *byte == b'.') {
        Some(point) => (&text[..point], &text[point + 1..]),
        None => (text, &b""[..]),
    };
    let mut nanos = 0;
    for digit in 0..9 {
        let byte = fraction.get(digit).copied().unwrap_or(b'0');
        if !byte.is_ascii_digit() {
            return None;
        }
        nanos = nanos * 10 + u64::from(byte - b'0');
    }
    fraction.iter().all(u8::is_ascii_digit).then_some(())?;
    whole(whole_part)?.checked_mul(1_000_000_000)?.checked_add(nanos)
}

fn sectors(text: &[u8]) -> Option<u64> {
    whole(text)?.checked_mul(SECTOR)
}

fn mqsim(line: &[u8]) -> Option<Line> {
    let mut words = Words(line);
    let at = whole(words.next()?)?;
    whole(words.next()?)?;
    let (offset, length) = (sectors(words.next()?), sectors(words.next()?));
    let op = match words.next()? {
        b"0" => Op::Write,
        b"1" => Op::Read,
        _ => return None,
    };
    if words.next().is_some() {
        return None;
    }
    request(Some(at), op, offset, length)
}

/// SCSI opcodes of 6, 10, 12 and 16 bytes; WRITE SAME and UNMAP trim.
pub(super) fn scsi(opcode: u64) -> Option<Op> {
    match opcode {
        0x08 | 0x28 | 0xa8 | 0x88 => Some(Op::Read),
        0x0a | 0x2a | 0xaa | 0x8a => Some(Op::Write),
        0x41 | 0x42 | 0x93 => Some(Op::Trim),
        0x35 | 0x91 => Some(Op::Flush),
        _ => None,
    }
}

fn cloudphysics(line: &[u8]) -> Option<Line> {
    let mut cells = cells(line);
    whole(cells.next()?)?;
    let at = seconds(cells.next()?)?;
    let opcode = u64::from_str_radix(std::str::from_utf8(cells.next()?).ok()?, 16).ok()?;
    let (length, offset) = (whole(cells.next()?), sectors(cells.next()?));
    request(Some(at), scsi(opcode)?, offset, length)
}

fn blkparse(line: &[u8], event: u8) -> Line {
    // What is no event at all belongs to the summary behind the events.
    let mut words = Words(line);
    let is_device = |word: &[u8]| word.split(|byte| *byte == b',').filter(|part| whole(part).is_some()).count() == 2;
    if !words.next().is_some_and(is_device) {
        return Line::Ignored;
    }
    let parsed = (|| {
        whole(words.next()?)?;
        whole(words.next()?)?;
        let at = seconds(words.next()?)?;
        whole(words.next()?)?;
        let action = words.next()?;
        if action != [event] {
            return Some(Line::Ignored);
        }
        let rwbs = words.next()?;
        let op = match rwbs {
            [b'D', ..] => Op::Trim,
            _ if rwbs.contains(&b'W') => Op::Write,
            _ if rwbs.contains(&b'R') => Op::Read,
            [b'F', ..] => Op::Flush,
            _ => return Some(Line::Ignored),
        };
        let Some(first) = words.next() else { return Some(Line::Request(Some(at), Request { at: 0, op: Op::Flush, offset: 0, length: 0 })) };
        if first.first() == Some(&b'[') && op == Op::Flush {
            return Some(Line::Request(Some(at), Request { at: 0, op, offset: 0, length: 0 }));
        }
        let offset = sectors(first);
        if words.next()? != b"+" {
            return None;
        }
        request(Some(at), op, offset, sectors(words.next()?))
    })();
    parsed.unwrap_or(Line::Bad)
}

/// The action of a line of blkparse's text, if it is an event.
pub(super) fn blkparse_action(line: &[u8]) -> Option<u8> {
    let mut words = Words(line);
    let device = words.next()?;
    let parts = device.split(|byte| *byte == b',').filter(|part| whole(part).is_some()).count();
    if parts != 2 {
        return None;
    }
    match words.nth(4)? {
        [action] => Some(*action),
        _ => None,
    }
}

fn fiu(line: &[u8]) -> Option<Line> {
    let mut words = Words(line);
    let at = whole(words.next()?)?;
    whole(words.next()?)?;
    words.next()?;
    let (offset, length) = (sectors(words.next()?), sectors(words.next()?));
    let op = direction(words.next()?)?;
    whole(words.next()?)?;
    whole(words.next()?)?;
    request(Some(at), op, offset, length)
}

fn direction(word: &[u8]) -> Option<Op> {
    match word {
        b"R" | b"r" | b"Read" | b"read" => Some(Op::Read),
        b"W" | b"w" | b"Write" | b"write" => Some(Op::Write),
        _ => None,
    }
}

fn lis(line: &[u8], assume: Assume) -> Option<Line> {
    let mut words = Words(line);
    let blocks = |word: &[u8]| whole(word)?.checked_mul(assume.block_bytes);
    let (offset, length) = (blocks(words.next()?), blocks(words.next()?));
    whole(words.next()?)?;
    whole(words.next()?)?;
    if words.next().is_some() {
        return None;
    }
    request(None, assume.op, offset, length)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Timed {
    No,
    Yes,
}

fn fio(line: &[u8], timed: Timed) -> Line {
    if line.starts_with(b"fio version") {
        return Line::Ignored;
    }
    let parsed = (|| {
        let mut words = Words(line);
        let at = match timed {
            Timed::Yes => Some(whole(words.next()?)?.checked_mul(1_000_000)?),
            Timed::No => None,
        };
        words.next()?;
        let op = match words.next()? {
            b"add" | b"open" | b"close" | b"wait" => return Some(Line::Ignored),
            b"read" => Op::Read,
            b"write" => Op::Write,
            b"trim" => Op::Trim,
            b"sync" | b"datasync" => return Some(Line::Request(at, Request { at: 0, op: Op::Flush, offset: 0, length: 0 })),
            _ => return None,
        };
        request(at, op, whole(words.next()?), whole(words.next()?))
    })();
    parsed.unwrap_or(Line::Bad)
}

fn msr(line: &[u8]) -> Option<Line> {
    let mut cells = cells(line);
    // FILETIME: units of 100 ns.
    let at = whole(cells.next()?)?.checked_mul(100);
    cells.next()?;
    whole(cells.next()?)?;
    let op = direction(cells.next()?)?;
    let (offset, length) = (whole(cells.next()?), whole(cells.next()?));
    // In nanoseconds a FILETIME of today passes 64 bits, so only its low part is kept; differences stay true.
    request(Some(at.unwrap_or(0)), op, offset, length)
}

fn spc(line: &[u8]) -> Option<Line> {
    let mut cells = cells(line);
    whole(cells.next()?)?;
    let (offset, length) = (sectors(cells.next()?), whole(cells.next()?));
    let op = direction(cells.next()?)?;
    request(Some(seconds(cells.next()?)?), op, offset, length)
}

fn alibaba(line: &[u8]) -> Option<Line> {
    let mut cells = cells(line);
    whole(cells.next()?)?;
    let op = direction(cells.next()?)?;
    let (offset, length) = (whole(cells.next()?), whole(cells.next()?));
    request(Some(whole(cells.next()?)?.checked_mul(1000)?), op, offset, length)
}

fn tencent(line: &[u8]) -> Option<Line> {
    let mut cells = cells(line);
    let at = seconds(cells.next()?)?;
    let (offset, length) = (sectors(cells.next()?), sectors(cells.next()?));
    let op = match cells.next()? {
        b"0" => Op::Read,
        b"1" => Op::Write,
        _ => return None,
    };
    whole(cells.next()?)?;
    request(Some(at), op, offset, length)
}
