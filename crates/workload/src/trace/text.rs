//! Line formats. Parsing works on bytes and allocates nothing.

use wane_units::Fnv;

use super::{Arrival, Assume, Format, SECTOR, has_place};
use crate::{Op, Request};

/// The content of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// A request.
    Request(Arrival),
    /// Nothing to replay: a header, another event, a summary.
    Ignored,
    /// A SCSI command that neither moves nor frees data.
    Command,
    /// A request that does not fit on any drive.
    Beyond,
    /// A line that should parse but does not.
    Bad,
}

/// How lines are read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub(super) format: Format,
    pub(super) assume: Assume,
    /// The event of blkparse that counts: `D`, or `Q` if there are none.
    pub(super) event: u8,
}

impl Rules {
    /// Parses one line, without its line end.
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
            // Published copies of these often have a header line.
            Format::Msr | Format::Spc | Format::Alibaba | Format::Tencent if number == 1 && is_header(line) => {
                return Line::Ignored;
            }
            Format::Msr => msr(line),
            Format::Spc => spc(line),
            Format::Alibaba => alibaba(line),
            Format::Tencent => tencent(line),
            Format::Compact | Format::Vscsi | Format::Blktrace => None,
        };
        parsed.unwrap_or(Line::Bad)
    }
}

/// Makes a request of `offset` and `length` times `unit` bytes.
fn request(at: Option<u64>, device: u64, op: Op, unit: u64, [offset, length]: [u64; 2]) -> Line {
    match (offset.checked_mul(unit), length.checked_mul(unit)) {
        (Some(offset), Some(length)) if has_place(op, offset, length) => {
            Line::Request(Arrival { at, device, request: Request { at: 0, op, offset, length } })
        }
        _ => Line::Beyond,
    }
}

fn flush(at: Option<u64>, device: u64) -> Line {
    Line::Request(Arrival { at, device, request: Request { at: 0, op: Op::Flush, offset: 0, length: 0 } })
}

/// The number that stands for a device name. Numbers are only compared, to tell whether two requests go to one device.
fn device(name: &[u8]) -> u64 {
    Fnv::of(name).get()
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

/// Parses seconds with a fraction into nanoseconds. Further digits are dropped.
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

fn mqsim(line: &[u8]) -> Option<Line> {
    let mut words = Words(line);
    let at = whole(words.next()?)?;
    let device = whole(words.next()?)?;
    let extent = [whole(words.next()?)?, whole(words.next()?)?];
    let op = match words.next()? {
        b"0" => Op::Write,
        b"1" => Op::Read,
        _ => return None,
    };
    words.next().is_none().then(|| request(Some(at), device, op, SECTOR, extent))
}

/// SCSI opcodes of 6, 10, 12 and 16 bytes; WRITE SAME and UNMAP trim.
pub(super) fn scsi(opcode: u32) -> Option<Op> {
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
    // The version of vSCSI, whose records these are. It also distinguishes the format from others of five numbers.
    matches!(whole(cells.next()?)?, 1 | 2).then_some(())?;
    let at = seconds(cells.next()?)?;
    let opcode = u8::from_str_radix(std::str::from_utf8(cells.next()?).ok()?, 16).ok()?;
    let (length, sector) = (whole(cells.next()?)?, whole(cells.next()?)?);
    Some(match (scsi(u32::from(opcode)), sector.checked_mul(SECTOR)) {
        (Some(op), Some(offset)) => request(Some(at), 0, op, 1, [offset, length]),
        (Some(_), None) => Line::Beyond,
        (None, _) => Line::Command,
    })
}

fn blkparse(line: &[u8], event: u8) -> Line {
    // A line that is no event belongs to the summary after the events.
    let mut words = Words(line);
    let Some(name) = words.next().filter(|word| is_device(word)) else { return Line::Ignored };
    let device = device(name);
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
        let sector = match words.next() {
            // Without an extent it is a flush, or moves nothing.
            Some([b'[', ..]) | None if rwbs.starts_with(b"F") => return Some(flush(Some(at), device)),
            Some([b'[', ..]) => return Some(Line::Ignored),
            sector => whole(sector?)?,
        };
        let op = match rwbs {
            [b'D', ..] => Op::Trim,
            _ if rwbs.contains(&b'W') => Op::Write,
            _ if rwbs.contains(&b'R') => Op::Read,
            [b'F', ..] => return Some(flush(Some(at), device)),
            _ => return Some(Line::Ignored),
        };
        match words.next()? {
            b"+" => Some(request(Some(at), device, op, SECTOR, [sector, whole(words.next()?)?])),
            // A pass-through command, which has its bytes in place of the extent.
            [b'(' | b'[', ..] => Some(Line::Ignored),
            _ => None,
        }
    })();
    parsed.unwrap_or(Line::Bad)
}

/// `MAJOR,MINOR`.
fn is_device(word: &[u8]) -> bool {
    let comma = word.iter().position(|byte| *byte == b',');
    comma.is_some_and(|at| whole(&word[..at]).is_some() && whole(&word[at + 1..]).is_some())
}

/// The action of a line of blkparse's text, if it is an event.
pub(super) fn blkparse_action(line: &[u8]) -> Option<u8> {
    let mut words = Words(line);
    words.next().filter(|word| is_device(word))?;
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
    let extent = [whole(words.next()?)?, whole(words.next()?)?];
    let op = direction(words.next()?)?;
    let (major, minor) = (whole(words.next()?)?, whole(words.next()?)?);
    Some(request(Some(at), major << 32 ^ minor, op, SECTOR, extent))
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
    let extent = [whole(words.next()?)?, whole(words.next()?)?];
    whole(words.next()?)?;
    whole(words.next()?)?;
    words.next().is_none().then(|| request(None, 0, assume.op, assume.block_bytes, extent))
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
            Timed::Yes => Some(whole(words.next()?)?.checked_mul(1000)?),
            Timed::No => None,
        };
        let device = device(words.next()?);
        let op = match words.next()? {
            b"add" | b"open" | b"close" | b"wait" => return Some(Line::Ignored),
            b"read" => Op::Read,
            b"write" => Op::Write,
            b"trim" => Op::Trim,
            b"sync" | b"datasync" => return Some(flush(at, device)),
            _ => return None,
        };
        Some(request(at, device, op, 1, [whole(words.next()?)?, whole(words.next()?)?]))
    })();
    parsed.unwrap_or(Line::Bad)
}

fn msr(line: &[u8]) -> Option<Line> {
    let mut cells = cells(line);
    // FILETIME: units of 100 ns.
    let at = whole(cells.next()?)?.checked_mul(100)?;
    let host = device(cells.next()?);
    let disk = whole(cells.next()?)?;
    let op = direction(cells.next()?)?;
    Some(request(Some(at), host ^ disk, op, 1, [whole(cells.next()?)?, whole(cells.next()?)?]))
}

fn spc(line: &[u8]) -> Option<Line> {
    let mut cells = cells(line);
    let unit = whole(cells.next()?)?;
    let (sector, length) = (whole(cells.next()?)?, whole(cells.next()?)?);
    let op = direction(cells.next()?)?;
    let at = Some(seconds(cells.next()?)?);
    let offset = sector.checked_mul(SECTOR);
    Some(offset.map_or(Line::Beyond, |offset| request(at, unit, op, 1, [offset, length])))
}

fn alibaba(line: &[u8]) -> Option<Line> {
    let mut cells = cells(line);
    let device = whole(cells.next()?)?;
    let op = direction(cells.next()?)?;
    let extent = [whole(cells.next()?)?, whole(cells.next()?)?];
    Some(request(Some(whole(cells.next()?)?.checked_mul(1000)?), device, op, 1, extent))
}

fn tencent(line: &[u8]) -> Option<Line> {
    let mut cells = cells(line);
    let at = seconds(cells.next()?)?;
    let extent = [whole(cells.next()?)?, whole(cells.next()?)?];
    let op = match cells.next()? {
        b"0" => Op::Read,
        b"1" => Op::Write,
        _ => return None,
    };
    Some(request(Some(at), whole(cells.next()?)?, op, SECTOR, extent))
}
