//! wane's compact format: a few bytes for each request.
//!
//! The file is the magic `WANETRC1`, then records, then a byte 0xff, the number of records as 8 bytes and the FNV-1a hash
//! of everything before it as 8 bytes, both little-endian. A record is a byte with the op (0 read, 1 write, 2 trim, 3
//! flush), then as LEB128 varints the time since the last record in nanoseconds and, except for flushes, the offset as a
//! zigzag difference from the end of the last request, and the length, both in bytes.

use std::io::{self, BufRead, Write};

use wane_units::Fnv;

use super::has_place;
use crate::{Op, Request};

/// The first bytes of a file.
pub(super) const MAGIC: &[u8; 8] = b"WANETRC1";

/// The byte after the last record.
const END: u8 = 0xff;

const OPS: [Op; 4] = [Op::Read, Op::Write, Op::Trim, Op::Flush];

/// What the next record is relative to.
#[derive(Clone, Copy, Debug)]
pub(super) struct State {
    at: u64,
    end: u64,
    records: u64,
    hash: Fnv,
}

impl State {
    pub(super) const START: Self = Self { at: 0, end: 0, records: 0, hash: Fnv::EMPTY };
}

/// Writes records.
pub(super) struct Encoder {
    state: State,
    buffer: Vec<u8>,
}

impl Encoder {
    pub(super) fn new() -> Self {
        Self { state: State::START, buffer: Vec::new() }
    }

    pub(super) fn start(&mut self, out: &mut dyn Write) -> io::Result<()> {
        self.state.hash.add(MAGIC);
        out.write_all(MAGIC)
    }

    pub(super) fn request(&mut self, request: &Request, out: &mut dyn Write) -> io::Result<()> {
        self.buffer.clear();
        let op = OPS.iter().position(|op| *op == request.op).expect("every op is listed");
        self.buffer.push(op as u8);
        varint(&mut self.buffer, request.at.saturating_sub(self.state.at));
        self.state.at = self.state.at.max(request.at);
        if request.op != Op::Flush {
            let difference = request.offset.wrapping_sub(self.state.end) as i64;
            varint(&mut self.buffer, ((difference << 1) ^ (difference >> 63)) as u64);
            varint(&mut self.buffer, request.length);
            self.state.end = request.offset.wrapping_add(request.length);
        }
        self.state.records += 1;
        self.state.hash.add(&self.buffer);
        out.write_all(&self.buffer)
    }

    pub(super) fn finish(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let mut tail = vec![END];
        tail.extend(self.state.records.to_le_bytes());
        self.state.hash.add(&tail);
        tail.extend(self.state.hash.get().to_le_bytes());
        out.write_all(&tail)
    }
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// The next item of the file.
pub(super) enum Next {
    Request(Request),
    /// The end record, which is right.
    End,
    /// The end of the bytes, without an end record.
    Nothing,
    Bad(&'static str),
}

/// Reads the magic.
pub(super) fn read_magic(state: &mut State, bytes: &mut dyn BufRead) -> io::Result<bool> {
    let mut magic = [0; 8];
    let read = bytes.read_exact(&mut magic);
    state.hash.add(&magic);
    match read {
        Ok(()) => Ok(&magic == MAGIC),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

/// Reads one record.
pub(super) fn read_record(state: &mut State, bytes: &mut dyn BufRead) -> io::Result<Next> {
    let Some(kind) = byte(state, bytes)? else { return Ok(Next::Nothing) };
    if kind == END {
        return read_end(state, bytes);
    }
    let Some(op) = OPS.get(usize::from(kind)).copied() else { return Ok(Next::Bad("its kind is unknown")) };
    let Some(since) = read_varint(state, bytes)? else { return Ok(Next::Bad("it is cut off")) };
    state.at = state.at.saturating_add(since);
    state.records += 1;
    if op == Op::Flush {
        return Ok(Next::Request(Request { at: state.at, op, offset: 0, length: 0 }));
    }
    let (Some(zigzag), Some(length)) = (read_varint(state, bytes)?, read_varint(state, bytes)?) else {
        return Ok(Next::Bad("it is cut off"));
    };
    let difference = (zigzag >> 1) as i64 ^ -((zigzag & 1) as i64);
    let offset = state.end.wrapping_add(difference as u64);
    if !has_place(op, offset, length) {
        return Ok(Next::Bad("its address or length is more than a request can have"));
    }
    state.end = offset + length;
    Ok(Next::Request(Request { at: state.at, op, offset, length }))
}

fn read_end(state: &mut State, bytes: &mut dyn BufRead) -> io::Result<Next> {
    let mut numbers = [0u64; 2];
    for (place, number) in numbers.iter_mut().enumerate() {
        for shift in 0..8 {
            let hash = state.hash;
            let Some(next) = byte(state, bytes)? else { return Ok(Next::Bad("the end of the file is cut off")) };
            *number |= u64::from(next) << (8 * shift);
            if place == 1 {
                state.hash = hash;
            }
        }
    }
    let right = numbers[0] == state.records && numbers[1] == state.hash.get();
    Ok(match right {
        true if byte(state, bytes)?.is_none() => Next::End,
        true => Next::Bad("bytes follow the end of the trace"),
        false => Next::Bad("the checksum differs: the file is damaged"),
    })
}

fn byte(state: &mut State, bytes: &mut dyn BufRead) -> io::Result<Option<u8>> {
    let next = loop {
        match bytes.fill_buf() {
            Ok(buffer) => break buffer.first().copied(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    };
    if let Some(next) = next {
        bytes.consume(1);
        state.hash.add(&[next]);
    }
    Ok(next)
}

fn read_varint(state: &mut State, bytes: &mut dyn BufRead) -> io::Result<Option<u64>> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let Some(next) = byte(state, bytes)? else { return Ok(None) };
        value |= u64::from(next & 0x7f) << shift;
        if next & 0x80 == 0 {
            return Ok(Some(value));
        }
    }
    Ok(None)
}
