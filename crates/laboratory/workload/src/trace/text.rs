//! Line formats. Parsing works on bytes and allocates nothing.

mod linux;

use wane_units::Fnv;

use super::events::{Event, Kinds};
use super::losses::Told;
use super::{Arrival, Assume, Format, SECTOR, has_place};
use crate::{Op, Request};

pub(super) use linux::{has_failed, is_blkparse_event, is_kernel_event};

/// The content of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// A request.
    Request(Arrival),
    /// A request that a note should count besides.
    Special(Special, Arrival),
    /// A request that does not count, since events of another kind do, and its bytes.
    Left(Event, u64),
    /// A request that goes back to the queue, from which it is issued again.
    Requeued(Option<Special>, Arrival),
    /// Nanoseconds since a replay began before which no request goes on.
    Wait(u64),
    /// Nothing to replay: a header, another event, a summary.
    Ignored,
    /// Nothing that can be replayed, but counted.
    Passed(Passed),
    /// A request of this many bytes, of which the kernel that printed it does not say what it does.
    Unnamed(u64),
    /// What the trace says of itself.
    Told(Told),
    /// Neither of the format nor among what its tools print besides.
    Strange,
    /// A request that does not fit on any drive.
    Beyond,
    /// A line that should parse but does not.
    Bad,
}

/// Reasons why a line is passed over and counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Passed {
    /// A SCSI command that neither moves nor frees data.
    Command,
    /// A request that goes to no disk.
    Diskless,
    /// A request that neither reads nor writes, since nothing was answered.
    Undirected,
    /// An action of an iolog that fio passes over too.
    Action,
    /// A reset of a zone, or of all.
    ZoneReset,
    /// A command to a zone of which the kernel that printed it names neither the kind nor the zone.
    ZoneCommand,
    /// An append to a zone at its issue, of which the completion counts.
    AppendIssued,
}

impl Passed {
    /// Every reason, in the order of its number, with what it counts.
    pub(super) const ALL: [(Self, &'static str); 7] = [
        (Self::Command, "SCSI commands that move no data were skipped"),
        (Self::Diskless, "requests of no disk were skipped"),
        (Self::Undirected, "requests that neither read nor write were skipped"),
        (Self::Action, "lines with actions that are not replayed were passed over, as fio does"),
        (Self::ZoneReset, "zone resets were passed over, since no event tells how large a zone is"),
        (
            Self::ZoneCommand,
            "commands to zones, such as resets, were passed over, since this kernel names neither kind nor zone",
        ),
        // Told beside the appends that completed.
        (Self::AppendIssued, ""),
    ];
}

/// Requests that are not what their event says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Special {
    /// An append to a zone.
    Append,
    /// Zeroes, which a drive may deallocate, so that it is a trim.
    Zeroes,
}

/// How lines are read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub(super) format: Format,
    pub(super) assume: Assume,
    pub(super) kinds: Kinds,
}

impl Rules {
    /// Parses one line, without its line end.
    pub(super) fn parse(&self, line: &[u8], number: u64) -> Line {
        let line = line.trim_ascii();
        if line.is_empty() {
            return Line::Ignored;
        }
        let parsed = match self.format {
            Format::Mqsim | Format::Ssdsim => self.mqsim(line),
            Format::CloudphysicsCsv if number == 1 && line.starts_with(b"version") => return Line::Ignored,
            Format::CloudphysicsCsv => cloudphysics(line),
            Format::Blkparse => return linux::blkparse(line, self.kinds),
            Format::Ftrace => return linux::ftrace(line, self.kinds),
            Format::Biosnoop => linux::biosnoop(line),
            Format::Disksim => self.disksim(line),
            Format::Etw => etw(line),
            // Files of several hours are often joined, each with its header.
            Format::Systor if line.starts_with(b"Timestamp") => return Line::Ignored,
            Format::Systor => systor(line),
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
            Format::Tencent => self.tencent(line),
            Format::Compact | Format::Vscsi | Format::Blktrace | Format::OracleGeneral => None,
        };
        parsed.unwrap_or(Line::Bad)
    }

    /// The direction that a cell of 0 or 1 names.
    fn direction(&self, cell: &[u8]) -> Option<Op> {
        matches!(cell, b"0" | b"1").then(|| self.assume.direction(self.format, cell == b"1"))
    }

    fn mqsim(&self, line: &[u8]) -> Option<Line> {
        let mut words = Words(line);
        let at = whole(words.next()?)?;
        let device = whole(words.next()?)?;
        let extent = [whole(words.next()?)?, whole(words.next()?)?];
        let op = self.direction(words.next()?)?;
        words.next().is_none().then(|| request(Some(at), device, op, SECTOR, extent))
    }

    fn disksim(&self, line: &[u8]) -> Option<Line> {
        let mut words = Words(line);
        let at = decimal(words.next()?, 6)?;
        let device = whole(words.next()?)?;
        let extent = [whole(words.next()?)?, whole(words.next()?)?];
        // Hexadecimal; the lowest bit says that it is a read.
        let flags = u32::from_str_radix(std::str::from_utf8(words.next()?).ok()?, 16).ok()?;
        let op = self.assume.direction(self.format, flags & 1 == 1);
        words.next().is_none().then(|| request(Some(at), device, op, SECTOR, extent))
    }

    fn tencent(&self, line: &[u8]) -> Option<Line> {
        if line.contains(&b' ') {
            return None;
        }
        let mut cells = cells(line);
        let at = seconds(cells.next()?)?;
        let extent = [whole(cells.next()?)?, whole(cells.next()?)?];
        let op = self.direction(cells.next()?)?;
        let volume = whole(cells.next()?)?;
        cells.next().is_none().then(|| request(Some(at), volume, op, SECTOR, extent))
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
pub(super) struct Words<'a>(pub(super) &'a [u8]);

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

impl<'a> Words<'a> {
    /// The rest of the fields, the last one first.
    fn backward(self) -> impl Iterator<Item = &'a [u8]> {
        self.0.rsplit(u8::is_ascii_whitespace).filter(|word| !word.is_empty())
    }
}

fn cells(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|byte| *byte == b',').map(<[u8]>::trim_ascii)
}

/// A whole number in decimal.
pub(super) fn whole(text: &[u8]) -> Option<u64> {
    if text.is_empty() {
        return None;
    }
    text.iter().try_fold(0u64, |value, byte| {
        let digit = byte.wrapping_sub(b'0');
        (digit < 10).then(|| value.checked_mul(10)?.checked_add(u64::from(digit))).flatten()
    })
}

/// A number of hexadecimal digits after `0x`.
fn hexadecimal(text: &[u8]) -> Option<u64> {
    let digits = text.strip_prefix(b"0x").or_else(|| text.strip_prefix(b"0X"))?;
    u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// Parses a number with a fraction as a whole number of its `digits`th decimal places. Further digits are dropped.
fn decimal(text: &[u8], digits: u32) -> Option<u64> {
    let (whole_part, fraction) = match text.iter().position(|byte| *byte == b'.') {
        Some(point) => (&text[..point], &text[point + 1..]),
        None => (text, &b""[..]),
    };
    fraction.iter().all(u8::is_ascii_digit).then_some(())?;
    let places = (0..digits as usize).map(|place| fraction.get(place).copied().unwrap_or(b'0'));
    let least = places.fold(0, |value, byte| value * 10 + u64::from(byte - b'0'));
    whole(whole_part)?.checked_mul(10u64.pow(digits))?.checked_add(least)
}

/// Seconds with a fraction, in nanoseconds.
fn seconds(text: &[u8]) -> Option<u64> {
    decimal(text, 9)
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
    cells.next().is_none().then_some(())?;
    Some(match (scsi(u32::from(opcode)), sector.checked_mul(SECTOR)) {
        (Some(op), Some(offset)) => request(Some(at), 0, op, 1, [offset, length]),
        (Some(_), None) => Line::Beyond,
        (None, _) => Line::Passed(Passed::Command),
    })
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
    let own: &[u8] = if timed == Timed::Yes { b"fio version 3 iolog" } else { b"fio version 2 iolog" };
    if line.starts_with(b"fio version") {
        return if line.starts_with(own) { Line::Ignored } else { Line::Strange };
    }
    let parsed = (|| {
        let mut words = Words(line);
        let at = match timed {
            Timed::Yes => Some(whole(words.next()?)?.checked_mul(1000)?),
            Timed::No => None,
        };
        let device = device(words.next()?);
        let op = match words.next()? {
            b"add" | b"open" | b"close" => return Some(Line::Ignored),
            b"wait" if timed == Timed::No => return Some(wait(whole(words.next()?)?)),
            b"read" => Op::Read,
            b"write" => Op::Write,
            b"trim" => Op::Trim,
            b"sync" | b"datasync" | b"syncfs" => return Some(flush(at, device)),
            action if is_action(action) => return Some(Line::Passed(Passed::Action)),
            _ => return None,
        };
        Some(request(at, device, op, 1, [whole(words.next()?)?, whole(words.next()?)?]))
    })();
    parsed.unwrap_or(Line::Bad)
}

/// Milliseconds since fio began: so it takes them (3.25 to 3.41), while its manual has microseconds after the wait before.
fn wait(millis: u64) -> Line {
    millis.checked_mul(1_000_000).map_or(Line::Bad, Line::Wait)
}

/// Whether a word may name an action, rather than be a number in the wrong column.
fn is_action(word: &[u8]) -> bool {
    word.iter().all(|byte| byte.is_ascii_alphabetic() || *byte == b'_')
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

fn systor(line: &[u8]) -> Option<Line> {
    let mut cells = cells(line);
    let at = Some(seconds(cells.next()?)?);
    let response = cells.next()?;
    (response.is_empty() || seconds(response).is_some()).then_some(())?;
    let kind = cells.next()?;
    let device = whole(cells.next()?)?;
    let extent = [whole(cells.next()?)?, whole(cells.next()?)?];
    // The kind comes with the response, and is blank if there was none.
    let op = if kind.is_empty() { None } else { Some(direction(kind)?) };
    cells.next().is_none().then(|| match op {
        Some(op) => request(at, device, op, 1, extent),
        None => Line::Passed(Passed::Undirected),
    })
}

/// A line of xperf's text. Lines of other events, and the columns between `BeginHeader` and `EndHeader`, are ignored.
fn etw(line: &[u8]) -> Option<Line> {
    let mut cells = cells(line);
    let op = match cells.next()? {
        b"DiskRead" => Op::Read,
        b"DiskWrite" => Op::Write,
        b"DiskFlush" => Op::Flush,
        b"BeginHeader" | b"EndHeader" => return Some(Line::Ignored),
        // Every event has its time in the second column.
        name if name == line && !line.starts_with(b"OS Version") => return Some(Line::Strange),
        name => return name.first().is_some_and(u8::is_ascii_alphabetic).then_some(Line::Ignored),
    };
    let time = cells.next()?;
    if time == b"TimeStamp" {
        return Some(Line::Ignored);
    }
    let at = Some(whole(time)?.checked_mul(1000)?);
    // The process and its thread, and in newer versions the processor, come before the address of the request in the system.
    cells.find(|cell| hexadecimal(cell).is_some())?;
    if op == Op::Flush {
        cells.next()?;
        return Some(flush(at, whole(cells.next()?)?));
    }
    let extent = [hexadecimal(cells.next()?)?, hexadecimal(cells.next()?)?];
    cells.next()?;
    Some(request(at, whole(cells.next()?)?, op, 1, extent))
}
