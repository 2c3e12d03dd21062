//! Binary formats: blktrace events, vSCSI records, and libCacheSim's oracleGeneral.

use std::io::{BufRead, Read};

use super::events::{Event, Kinds};
use super::processors::Processors;
use super::text::{Line, Passed, Special, scsi};
use super::{Arrival, Assume, PLACE, SECTOR, has_place};
use crate::{Op, Request};

/// The content of a record. A bad record says why, and ends the trace.
pub(super) enum Record {
    Line(Line),
    Bad(String),
    End,
}

/// The offsets of the fields in a vSCSI record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Vscsi {
    bytes: usize,
    length: usize,
    opcode: usize,
    sector: usize,
    micros: usize,
}

/// {u32 serial, u32 bytes, u32 segments, u16 opcode, u16 version, u64 sector, u64 microseconds}, little-endian.
pub(super) const VSCSI_1: Vscsi = Vscsi { bytes: 32, length: 4, opcode: 12, sector: 16, micros: 24 };

/// {u16 opcode, u16 version, u32 serial, u32 bytes, u32 segments, u64 sector, u64 microseconds, u64 response}.
const VSCSI_2: Vscsi = Vscsi { bytes: 40, length: 8, opcode: 0, sector: 16, micros: 24 };

/// Bytes of the shorter kind of blktrace event, before its payload.
const BLKTRACE_BYTES: usize = 48;

/// Bytes of an event of version 8, which Linux writes since 6.19 if it is asked to.
const BLKTRACE_8_BYTES: usize = 64;

/// The first word of a blktrace event less the version byte.
const BLKTRACE_MAGIC: u32 = 0x6561_7400;

const TC_READ: u64 = 1;
const TC_WRITE: u64 = 1 << 1;
const TC_FLUSH: u64 = 1 << 2;
const TC_PASSED_THROUGH: u64 = 1 << 9;
const TC_NOTIFY: u64 = 1 << 10;
const TC_DISCARD: u64 = 1 << 13;
// These exist since version 8.
const TC_ZONE_APPEND: u64 = 1 << 16;
const TC_ZONE_RESETS: u64 = 1 << 17 | 1 << 18;
const TC_ZONE_STATES: u64 = 1 << 19 | 1 << 20 | 1 << 21;
const TC_ZEROES: u64 = 1 << 22;
const TA_QUEUE: u64 = 1;
const TA_REQUEUE: u64 = 6;
const TA_ISSUE: u64 = 7;
const TA_COMPLETE: u64 = 8;
/// The bits of the action itself. The next higher bit says that the payload names a control group.
const TA_BITS: u64 = 0xff;

fn word(bytes: &[u8], at: usize) -> u32 {
    bytes[at..at + 4].iter().rev().fold(0, |value, byte| value << 8 | u32::from(*byte))
}

fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from(word(bytes, at)) | u64::from(word(bytes, at + 4)) << 32
}

pub(super) fn looks_like_blktrace(head: &[u8]) -> bool {
    head.len() >= BLKTRACE_BYTES && word(head, 0) & 0xffff_ff00 == BLKTRACE_MAGIC
}

/// The events in the head, as they read if events of some kinds count.
pub(super) fn blktrace_lines(head: &[u8], kinds: Kinds) -> Vec<Line> {
    let (mut lines, mut rest) = (Vec::new(), head);
    while let Ok(Record::Line(line)) = blktrace(&mut rest, kinds, &mut Processors::default(), &mut 0) {
        lines.push(line);
    }
    lines
}

/// The layout with which nearly all opcodes are known.
pub(super) fn vscsi_layout(head: &[u8]) -> Option<Vscsi> {
    [VSCSI_1, VSCSI_2].into_iter().find(|layout| {
        let records = head.chunks_exact(layout.bytes).take(64);
        let count = records.len();
        let known = records.clone().filter(|record| scsi(word(record, layout.opcode) & 0xffff).is_some()).count();
        let times: Vec<u64> = records.map(|record| long(record, layout.micros)).collect();
        let backward = times.windows(2).filter(|pair| pair[1] < pair[0]).count();
        count > 0 && known * 10 >= count * 9 && backward * 10 <= count
    })
}

/// Fills `buffer`; false at the end of the trace.
fn fill(bytes: &mut dyn BufRead, buffer: &mut [u8]) -> std::io::Result<Result<bool, String>> {
    let mut filled = 0;
    while filled < buffer.len() {
        match bytes.read(&mut buffer[filled..]) {
            Ok(0) if filled == 0 => return Ok(Ok(false)),
            Ok(0) => return Ok(Err(format!("it is cut off after {filled} of {} bytes", buffer.len()))),
            Ok(read) => filled += read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Ok(true))
}

macro_rules! filled {
    ($bytes:expr, $buffer:expr) => {
        match fill($bytes, $buffer)? {
            Ok(true) => {}
            Ok(false) => return Ok(Record::End),
            Err(reason) => return Ok(Record::Bad(reason)),
        }
    };
}

fn checked(at: u64, device: u64, op: Op, sector: u64, length: u64) -> Record {
    match sector.checked_mul(SECTOR).filter(|offset| has_place(op, *offset, length)) {
        Some(offset) => Record::Line(Line::Request(Arrival {
            at: Some(at),
            device,
            request: Request { at: 0, op, offset, length },
        })),
        None => Record::Bad(format!("found {length} bytes at sector {sector}, expected {PLACE}")),
    }
}

/// Reads one vSCSI record.
pub(super) fn vscsi(bytes: &mut dyn BufRead, layout: Vscsi) -> std::io::Result<Record> {
    let mut space = [0; VSCSI_2.bytes];
    let record = &mut space[..layout.bytes];
    filled!(bytes, record);
    let at = long(record, layout.micros).saturating_mul(1000);
    Ok(match word(record, layout.opcode) & 0xffff {
        opcode if opcode > 0xff => Record::Bad(format!("found SCSI opcode {opcode:#x}, expected at most 0xff")),
        opcode => match scsi(opcode) {
            Some(op) => checked(at, 0, op, long(record, layout.sector), u64::from(word(record, layout.length))),
            None => Record::Line(Line::Passed(Passed::Command)),
        },
    })
}

/// Reads one blktrace event. Only events of some kinds count; requests that the device answers by an error are counted in `failed` besides.
pub(super) fn blktrace(
    bytes: &mut dyn BufRead,
    kinds: Kinds,
    processors: &mut Processors,
    failed: &mut u64,
) -> std::io::Result<Record> {
    let mut record = [0; BLKTRACE_8_BYTES];
    filled!(bytes, &mut record[..BLKTRACE_BYTES]);
    if word(&record, 0) & 0xffff_ff00 != BLKTRACE_MAGIC {
        return Ok(Record::Bad("it does not start with blktrace's magic number".to_owned()));
    }
    // (device, processor, bytes of the payload)
    let (device, processor, payload) = match record[0] {
        ..8 => (36, 40, 46),
        8 => {
            if fill(bytes, &mut record[BLKTRACE_BYTES..])? != Ok(true) {
                return Ok(Record::Bad(format!("it is cut off before its {BLKTRACE_8_BYTES} bytes")));
            }
            (40, 44, 50)
        }
        version => return Ok(Record::Bad(format!("its version is {version}, and versions up to 8 are known"))),
    };
    let has_error = record[payload - 2..payload] != [0; 2];
    let payload = u64::from(u16::from_le_bytes([record[payload], record[payload + 1]]));
    if std::io::copy(&mut bytes.take(payload), &mut std::io::sink())? < payload {
        return Ok(Record::Bad("its payload is cut off".to_owned()));
    }
    let at = long(&record, 8);
    processors.add(word(&record, processor), at);
    let what = if record[0] == 8 { long(&record, 32) } else { u64::from(word(&record, 28)) };
    let event = match what & TA_BITS {
        TA_ISSUE => Event::Issue,
        TA_QUEUE => Event::Queue,
        TA_COMPLETE => Event::Complete,
        TA_REQUEUE => Event::Requeue,
        _ => return Ok(Record::Line(Line::Ignored)),
    };
    let length = u64::from(word(&record, 24));
    let (op, special) = match operation(what >> 16, length) {
        Ok(operation) => operation,
        Err(line) => return Ok(Record::Line(if event == kinds.event { line } else { Line::Ignored })),
    };
    let device = u64::from(word(&record, device));
    // The sector of a flush may be the highest number.
    let sector = if op == Op::Flush { 0 } else { long(&record, 16) };
    if event == Event::Requeue {
        return Ok(match checked(at, device, op, sector, length) {
            Record::Line(Line::Request(arrival)) => Record::Line(Line::Requeued(special, arrival)),
            _ => Record::Line(Line::Ignored),
        });
    }
    *failed += u64::from(event == Event::Complete && has_error);
    let counts = if special == Some(Special::Append) { kinds.appends } else { kinds.event };
    if event != counts {
        return Ok(Record::Line(match op {
            Op::Flush => Line::Ignored,
            _ if event == kinds.event => Line::Passed(Passed::AppendIssued),
            _ => Line::Left(event, length),
        }));
    }
    Ok(match (checked(at, device, op, sector, length), special) {
        (Record::Line(Line::Request(arrival)), Some(special)) => Record::Line(Line::Special(special, arrival)),
        (record, _) => record,
    })
}

/// What an event of some categories does, or the line that it is if it moves and frees nothing.
fn operation(category: u64, length: u64) -> Result<(Op, Option<Special>), Line> {
    match () {
        () if category & (TC_NOTIFY | TC_PASSED_THROUGH | TC_ZONE_STATES) != 0 => Err(Line::Ignored),
        () if category & TC_ZONE_RESETS != 0 => Err(Line::Passed(Passed::ZoneReset)),
        () if category & TC_DISCARD != 0 => Ok((Op::Trim, None)),
        () if category & TC_ZEROES != 0 => Ok((Op::Trim, Some(Special::Zeroes))),
        () if category & TC_ZONE_APPEND != 0 => Ok((Op::Write, Some(Special::Append))),
        () if category & TC_WRITE != 0 && (length > 0 || category & TC_FLUSH == 0) => Ok((Op::Write, None)),
        () if category & TC_FLUSH != 0 => Ok((Op::Flush, None)),
        () if category & TC_READ != 0 => Ok((Op::Read, None)),
        () => Err(Line::Ignored),
    }
}

/// Bytes of a record of oracleGeneral: {u32 seconds, u64 object, u32 bytes, i64 next access}, packed, little-endian.
const ORACLE_BYTES: usize = 24;

/// Smallest distance of two objects. Objects of a page or less share none.
const OBJECT_BYTES_MIN: u64 = 4096;

/// Objects lie below this address. Their numbers may be hashes of 64 bits.
const OBJECTS_END: u64 = 1 << 62;

/// Most requests that a trace may hold by its numbers of next accesses.
const ACCESSES_MAX: u64 = 1 << 40;

/// The distance of objects whose numbers follow each other.
pub(super) fn object_bytes(assume: Assume) -> u64 {
    assume.block_bytes.max(OBJECT_BYTES_MIN)
}

/// Whether the head holds records of oracleGeneral: times that never go back, and next accesses that come later, or never.
pub(super) fn looks_like_oracle(head: &[u8]) -> bool {
    let records = head.chunks_exact(ORACLE_BYTES).take(64);
    let count = records.len();
    let mut last = 0;
    let fit = (1u64..).zip(records).all(|(number, record)| {
        let (seconds, next) = (word(record, 0), long(record, 16));
        let goes_on = seconds >= last;
        last = seconds;
        // "Never" is -1, in some files -2 or the highest number.
        let is_never = [-1, -2, i64::MAX].contains(&(next as i64));
        goes_on && word(record, 12) > 0 && (is_never || (number..ACCESSES_MAX).contains(&next))
    });
    count > 0 && fit && (count == 64 || head.len().is_multiple_of(ORACLE_BYTES))
}

/// Reads one record of oracleGeneral as a request of `assume`.
pub(super) fn oracle(bytes: &mut dyn BufRead, assume: Assume) -> std::io::Result<Record> {
    let mut record = [0; ORACLE_BYTES];
    filled!(bytes, &mut record);
    let unit = object_bytes(assume);
    let offset = long(&record, 4) % (OBJECTS_END / unit).max(1) * unit;
    let (at, length) = (u64::from(word(&record, 0)) * 1_000_000_000, u64::from(word(&record, 12)));
    let request = Request { at: 0, op: assume.op, offset, length };
    Ok(Record::Line(Line::Request(Arrival { at: Some(at), device: 0, request })))
}
