//! Binary formats: blktrace events and vSCSI records.

use std::io::{BufRead, Read};

use super::text::scsi;
use super::SECTOR;
use crate::{Op, Request};

/// What a record holds: as `text::Line`, but a bad one says why and ends the trace.
pub(super) enum Record {
    Request(Option<u64>, Request),
    Ignored,
    Bad(String),
    End,
}

/// Bytes of a vSCSI version 1 record.
const VSCSI_BYTES: usize = 32;

/// Bytes of a blktrace event before its payload.
const BLKTRACE_BYTES: usize = 48;

/// The first word of a blktrace event, version 7, less the version byte.
const BLKTRACE_MAGIC: u32 = 0x6561_7400;

const TC_READ: u32 = 1;
const TC_WRITE: u32 = 1 << 1;
const TC_FLUSH: u32 = 1 << 2;
const TC_NOTIFY: u32 = 1 << 10;
const TC_DISCARD: u32 = 1 << 13;
const TA_QUEUE: u32 = 1;
const TA_ISSUE: u32 = 7;

fn word(bytes: &[u8], at: usize) -> u32 {
    bytes[at..at + 4].iter().rev().fold(0, |value, byte| value << 8 | u32::from(*byte))
}

fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from(word(bytes, at)) | u64::from(word(bytes, at + 4)) << 32
}

pub(super) fn looks_like_blktrace(head: &[u8]) -> bool {
    head.len() >= BLKTRACE_BYTES && word(head, 0) & 0xffff_ff00 == BLKTRACE_MAGIC
}

/// Whether the head holds an issue event.
pub(super) fn blktrace_event(head: &[u8]) -> bool {
    let mut rest = head;
    while rest.len() >= BLKTRACE_BYTES && looks_like_blktrace(rest) {
        let action = word(rest, 28);
        if action & 0xffff == TA_ISSUE && (action >> 16) & TC_NOTIFY == 0 {
            return true;
        }
        let payload = usize::from(u16::from_le_bytes([rest[46], rest[47]]));
        rest = rest.get(BLKTRACE_BYTES + payload..).unwrap_or_default();
    }
    false
}

/// Records of version 1 whose opcodes are known and whose times do not jump.
pub(super) fn looks_like_vscsi(head: &[u8]) -> bool {
    let records = head.chunks_exact(VSCSI_BYTES).take(64);
    let count = records.len();
    let known = records.filter(|record| scsi(u64::from(record[12])).is_some() && record[13] == 0).count();
    count > 0 && known * 10 >= count * 9
}

/// Fills `buffer`; false at the end of the trace.
fn fill(bytes: &mut dyn BufRead, buffer: &mut [u8]) -> std::io::Result<Result<bool, String>> {
    let mut filled = 0;
    while filled < buffer.len() {
        match bytes.read(&mut buffer[filled..])? {
            0 if filled == 0 => return Ok(Ok(false)),
            0 => return Ok(Err(format!("cut off after {filled} of {} bytes", buffer.len()))),
            read => filled += read,
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

fn checked(at: u64, op: Op, offset: Option<u64>, length: u64) -> Record {
    match offset.filter(|offset| offset.checked_add(length).is_some()) {
        Some(offset) => Record::Request(Some(at), Request { at: 0, op, offset, length }),
        None => Record::Bad("its address passes 64 bits".to_owned()),
    }
}

/// {u32 serial, u32 bytes, u32 segments, u16 opcode, u16 version, u64 sector, u64 microseconds}, little-endian.
pub(super) fn vscsi(bytes: &mut dyn BufRead) -> std::io::Result<Record> {
    let mut record = [0; VSCSI_BYTES];
    filled!(bytes, &mut record);
    let opcode = u64::from(word(&record, 12) & 0xffff);
    let at = long(&record, 24).saturating_mul(1000);
    Ok(match scsi(opcode) {
        Some(op) => checked(at, op, long(&record, 16).checked_mul(SECTOR), u64::from(word(&record, 4))),
        None => Record::Bad(format!("its SCSI opcode is {opcode:#x}, expected a read, write, unmap or flush")),
    })
}

/// One blktrace event; the one that counts is `event`.
pub(super) fn blktrace(bytes: &mut dyn BufRead, event: u8) -> std::io::Result<Record> {
    let mut record = [0; BLKTRACE_BYTES];
    filled!(bytes, &mut record);
    if word(&record, 0) & 0xffff_ff00 != BLKTRACE_MAGIC {
        return Ok(Record::Bad("it does not start with blktrace's magic number".to_owned()));
    }
    let payload = u64::from(u16::from_le_bytes([record[46], record[47]]));
    if std::io::copy(&mut bytes.take(payload), &mut std::io::sink())? < payload {
        return Ok(Record::Bad("its payload is cut off".to_owned()));
    }
    let (action, category) = (word(&record, 28) & 0xffff, word(&record, 28) >> 16);
    let wanted = if event == b'D' { TA_ISSUE } else { TA_QUEUE };
    if category & TC_NOTIFY != 0 || action != wanted {
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
    Ok(checked(long(&record, 8), op, long(&record, 16).checked_mul(SECTOR), length))
}
