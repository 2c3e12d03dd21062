//! Requests, as clients send them.

use crate::Violation;
use crate::take::Take;

/// Bytes of a request, without the data of a write.
pub const FRAME_BYTES: usize = 28;

/// Most bytes that a read asks for, and that a write brings: what clients may send without asking, by the protocol's section on block sizes.
pub const TRANSFER_MAX: u32 = 32 << 20;

pub(crate) const MAGIC: u32 = 0x2560_9513;

const FLAG_FUA: u16 = 1;
const FLAG_NO_HOLE: u16 = 1 << 1;
const FLAG_DF: u16 = 1 << 2;
const FLAG_REQ_ONE: u16 = 1 << 3;
const FLAG_FAST_ZERO: u16 = 1 << 4;

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// READ. With `whole` (DF) the answer is one chunk.
    Read {
        /// Do not fragment.
        whole: bool,
    },
    /// WRITE; as many bytes as [`Frame::length`] follow.
    Write,
    /// DISC: the client has no more requests, and waits for no answer.
    Disconnect,
    /// FLUSH.
    Flush,
    /// TRIM.
    Trim,
    /// CACHE: the range will soon be read.
    Cache,
    /// WRITE_ZEROES.
    WriteZeroes {
        /// The range stays allocated.
        no_hole: bool,
        /// It fails unless it is faster than a write.
        fast: bool,
    },
    /// BLOCK_STATUS. With `one` each context has one span.
    BlockStatus {
        /// One span is enough.
        one: bool,
    },
    /// A number or flags that are not spoken here. It has no data, and is answered as invalid.
    Unknown,
}

/// A request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// What it asks for.
    pub action: Action,
    /// Whether it is durable when it is answered. Also set on requests that change nothing.
    pub fua: bool,
    /// The client's number for it, which comes back with the answer.
    pub cookie: u64,
    /// First byte.
    pub offset: u64,
    /// Bytes.
    pub length: u32,
}

impl Frame {
    /// Reads a request.
    ///
    /// # Errors
    /// The client does not keep to the protocol: what follows cannot be understood.
    pub fn parse(bytes: &[u8; FRAME_BYTES]) -> Result<Self, Violation> {
        let mut from = Take(bytes);
        let all_there = "a request has all its numbers";
        let magic = from.u32().expect(all_there);
        if magic != MAGIC {
            return Err(Violation::Magic { place: "a request", found: magic.into(), wanted: MAGIC.into() });
        }
        let (flags, number) = (from.u16().expect(all_there), from.u16().expect(all_there));
        let (cookie, offset) = (from.u64().expect(all_there), from.u64().expect(all_there));
        let length = from.u32().expect(all_there);
        let set = |flag: u16| flags & flag != 0;
        let (action, known) = match number {
            0 => (Action::Read { whole: set(FLAG_DF) }, FLAG_DF),
            1 => (Action::Write, 0),
            2 => (Action::Disconnect, 0),
            3 => (Action::Flush, 0),
            4 => (Action::Trim, 0),
            5 => (Action::Cache, 0),
            6 => {
                let action = Action::WriteZeroes { no_hole: set(FLAG_NO_HOLE), fast: set(FLAG_FAST_ZERO) };
                (action, FLAG_NO_HOLE | FLAG_FAST_ZERO)
            }
            7 => (Action::BlockStatus { one: set(FLAG_REQ_ONE) }, FLAG_REQ_ONE),
            _ => (Action::Unknown, u16::MAX),
        };
        if action == Action::Write && length > TRANSFER_MAX {
            return Err(Violation::LongWrite { found: length, most: TRANSFER_MAX });
        }
        // A write's data follow in any case.
        let is_known = flags & !(known | FLAG_FUA) == 0 || action == Action::Write;
        let action = if is_known { action } else { Action::Unknown };
        Ok(Self { action, fua: set(FLAG_FUA), cookie, offset, length })
    }

    /// Bytes of data that follow.
    pub const fn data(&self) -> usize {
        if matches!(self.action, Action::Write) { self.length as usize } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn frame(flags: u16, number: u16, length: u32) -> [u8; FRAME_BYTES] {
        let mut bytes = Vec::new();
        bytes.extend(MAGIC.to_be_bytes());
        bytes.extend(flags.to_be_bytes());
        bytes.extend(number.to_be_bytes());
        bytes.extend(7u64.to_be_bytes());
        bytes.extend(4096u64.to_be_bytes());
        bytes.extend(length.to_be_bytes());
        bytes.try_into().unwrap()
    }

    #[test]
    fn requests_are_read() {
        let read = Frame::parse(&frame(FLAG_DF, 0, 512)).unwrap();
        assert_eq!(read.action, Action::Read { whole: true });
        assert_eq!((read.cookie, read.offset, read.length, read.data(), read.fua), (7, 4096, 512, 0, false));
        let write = Frame::parse(&frame(FLAG_FUA, 1, 512)).unwrap();
        assert_eq!((write.action, write.fua, write.data()), (Action::Write, true, 512));
        let zeroes = Frame::parse(&frame(FLAG_NO_HOLE | FLAG_FUA, 6, u32::MAX)).unwrap();
        assert_eq!((zeroes.action, zeroes.data()), (Action::WriteZeroes { no_hole: true, fast: false }, 0));
        // Flags of other requests, and numbers that are not known, have no data.
        assert_eq!(Frame::parse(&frame(FLAG_DF, 4, 512)).unwrap().action, Action::Unknown);
        assert_eq!(Frame::parse(&frame(0, 9, 512)).unwrap().action, Action::Unknown);
        // The data of a write follow whatever its flags.
        assert_eq!(Frame::parse(&frame(FLAG_DF, 1, 512)).unwrap().data(), 512);
        let long = Frame::parse(&frame(0, 1, TRANSFER_MAX + 1)).unwrap_err();
        assert_eq!(long.to_string(), "a write: found 33554433 bytes, and 33554432 are allowed");
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_request_or_a_violation(bytes in prop::array::uniform28(any::<u8>()), is_ours in any::<bool>()) {
            let mut bytes = bytes;
            if is_ours {
                bytes[..4].copy_from_slice(&MAGIC.to_be_bytes());
            }
            match Frame::parse(&bytes) {
                Ok(frame) => prop_assert!(frame.data() <= TRANSFER_MAX as usize),
                Err(Violation::Magic { .. }) => prop_assert_ne!(&bytes[..4], &MAGIC.to_be_bytes()),
                Err(other) => {
                    let is_long = matches!(other, Violation::LongWrite { .. });
                    prop_assert!(is_long);
                }
            }
        }
    }
}
