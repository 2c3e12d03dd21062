//! Binary formats: blktrace events, vSCSI records, and libCacheSim's oracleGeneral.

use std::io::{BufRead, Read};

use super::events::{Event, Events};
use super::text::scsi;
use super::{Arrival, Assume, PLACE, SECTOR, has_place};
use crate::{Op, Request};

/// The content of a record, like `text::Line`. A bad record says why, and ends the trace.
pub(super) enum Record {
    Request(Arrival),
    Left(Event, u64),
    Ignored,
    Command,
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

/// Bytes of a blktrace event before its payload.
const BLKTRACE_BYTES: usize = 48;

/// The first word of a blktrace event, version 7, less the version byte.
const BLKTRACE_MAGIC: u32 = 0x6561_7400;

const TC_READ: u32 = 1;
const TC_WRITE: u32 = 1 << 1;
const TC_FLUSH: u32 = 1 << 2;
const TC_PASSED_THROUGH: u32 = 1 << 9;
const TC_NOTIFY: u32 = 1 << 10;
const TC_DISCARD: u32 = 1 << 13;
const TA_QUEUE: u32 = 1;
const TA_ISSUE: u32 = 7;
const TA_COMPLETE: u32 = 8;
/// The bits of the action itself. The next higher bit says that the payload names a control group.
const TA_BITS: u32 = 0xff;

fn word(bytes: &[u8], at: usize) -> u32 {
    bytes[at..at + 4].iter().rev().fold(0, |value, byte| value << 8 | u32::from(*byte))
}

fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from(word(bytes, at)) | u64::from(word(bytes, at + 4)) << 32
}

pub(super) fn looks_like_blktrace(head: &[u8]) -> bool {
    head.len() >= BLKTRACE_BYTES && word(head, 0) & 0xffff_ff00 == BLKTRACE_MAGIC
}

/// The events in the head.
pub(super) fn blktrace_events(head: &[u8]) -> Events {
    let (mut events, mut rest) = (Events::default(), head);
    loop {
        match blktrace(&mut rest, Event::Issue) {
            Ok(Record::Request(arrival)) => events.add(Event::Issue, arrival.request.length),
            Ok(Record::Left(event, bytes)) => events.add(event, bytes),
            Ok(Record::Ignored | Record::Command) => {}
            Ok(Record::Bad(_) | Record::End) | Err(_) => return events,
        }
    }
}

/// The layout with which nearly all opcodes are known.
pub(super) fn vscsi_layout(head: &[u8]) -> Option<Vscsi> {
    [VSCSI_1, VSCSI_2].into_iter().find(|layout| {
        let records = head.chunks_exact(layout.bytes).take(64);
        let count = records.len();
        let known = records.filter(|record| scsi(word(record, layout.opcode) & 0xffff).is_some()).count();
        count > 0 && known * 10 >= count * 9
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
        Some(offset) => {
            Record::Request(Arrival { at: Some(at), device, request: Request { at: 0, op, offset, length } })
        }
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
            None => Record::Command,
        },
    })
}

/// Reads one blktrace event. Only events of kind `counted` count.
pub(super) fn blktrace(bytes: &mut dyn BufRead, counted: Event) -> std::io::Result<Record> {
    let mut record = [0; BLKTRACE_BYTES];
    filled!(bytes, &mut record);
    if word(&record, 0) & 0xffff_ff00 != BLKTRACE_MAGIC {
        return Ok(Record::Bad("it does not start with blktrace's magic number".to_owned()));
    }
    let payload = u64::from(u16::from_le_bytes([record[46], record[47]]));
    if std::io::copy(&mut bytes.take(payload), &mut std::io::sink())? < payload {
        return Ok(Record::Bad("its payload is cut off".to_owned()));
    }
    let (action, category) = (word(&record, 28) & TA_BITS, word(&record, 28) >> 16);
    let event = match action {
        TA_ISSUE => Event::Issue,
        TA_QUEUE => Event::Queue,
        TA_COMPLETE => Event::Complete,
        _ => return Ok(Record::Ignored),
    };
    if category & (TC_NOTIFY | TC_PASSED_THROUGH) != 0 {
        return Ok(Record::Ignored);
    }
    let length = u64::from(word(&record, 24));
    let op = match () {
        () if category & TC_DISCARD != 0 => Op::Trim,
        () if category & TC_WRITE != 0 && (length > 0 || category & TC_FLUSH == 0) => Op::Write,
        () if category & TC_FLUSH != 0 => Op::Flush,
        () if category & TC_READ != 0 => Op::Read,
        () => return Ok(Record::Ignored),
    };
    if event != counted {
        return Ok(if op == Op::Flush { Record::Ignored } else { Record::Left(event, length) });
    }
    // The sector of a flush may be the highest number.
    let sector = if op == Op::Flush { 0 } else { long(&record, 16) };
    Ok(checked(long(&record, 8), u64::from(word(&record, 36)), op, sector, length))
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
    Ok(Record::Request(Arrival { at: Some(at), device: 0, request }))
}
