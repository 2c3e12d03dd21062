//! Answers, as a server sends them.

use std::collections::VecDeque;
use std::io::IoSlice;
use std::ops::Range;

pub(crate) const SIMPLE_MAGIC: u32 = 0x6744_6698;
const CHUNK_MAGIC: u32 = 0x668e_33ef;

const CHUNK_DONE: u16 = 1;
const CHUNK_NONE: u16 = 0;
const CHUNK_DATA: u16 = 1;
const CHUNK_STATUS: u16 = 5;
const CHUNK_ERROR: u16 = (1 << 15) + 1;
const CHUNK_ERROR_OFFSET: u16 = (1 << 15) + 2;

/// Data up to this length are copied, so that many answers are one piece of memory.
const COPIED_MAX: usize = 16 << 10;
/// A piece to which no more is added.
const PIECE_BYTES: usize = 64 << 10;

/// The errors of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Errno {
    /// EPERM: the device is worn out and takes no more writes.
    NotPermitted = 1,
    /// EIO: the data are lost.
    Io = 5,
    /// EINVAL: the request makes no sense here.
    Invalid = 22,
    /// ENOSPC: there is no room, or the write lies beyond the end.
    NoSpace = 28,
    /// EOVERFLOW: more than one chunk holds.
    Overflow = 75,
    /// ENOTSUP: it would not be faster.
    NotSupported = 95,
    /// ESHUTDOWN: the device has no power, or the server ends.
    Shutdown = 108,
}

impl Errno {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::NotPermitted,
        Self::Io,
        Self::Invalid,
        Self::NoSpace,
        Self::Overflow,
        Self::NotSupported,
        Self::Shutdown,
    ];

    /// The name of the system's error.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NotPermitted => "EPERM",
            Self::Io => "EIO",
            Self::Invalid => "EINVAL",
            Self::NoSpace => "ENOSPC",
            Self::Overflow => "EOVERFLOW",
            Self::NotSupported => "ENOTSUP",
            Self::Shutdown => "ESHUTDOWN",
        }
    }
}

/// Bytes of a request that failed, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Why.
    pub errno: Errno,
    /// Where on the export, in rising order.
    pub bytes: Vec<Range<u64>>,
}

/// A stretch of bytes in one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Bytes.
    pub length: u32,
    /// As the context has it.
    pub flags: u32,
}

/// The answer to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// As asked, or not at all.
    Ended(Result<(), Errno>),
    /// A read, or a question for the state of bytes, that was not done at all.
    Refused(Errno),
    /// The data of a read, from `offset` on, in pieces that follow each other.
    Data {
        /// First byte.
        offset: u64,
        /// The data.
        pieces: Vec<Vec<u8>>,
        /// One chunk was asked for.
        whole: bool,
        /// What could not be read.
        failed: Option<Failure>,
    },
    /// The state of bytes, by the number of each context.
    Status(Vec<(u32, Vec<Span>)>),
}

impl Reply {
    /// How it ended: `None` if well.
    pub fn errno(&self) -> Option<Errno> {
        match self {
            Self::Ended(ended) => ended.err(),
            Self::Refused(errno) => Some(*errno),
            Self::Data { failed, .. } => failed.as_ref().map(|failed| failed.errno),
            Self::Status(_) => None,
        }
    }

    /// Writes it, to a client with which structured replies were agreed upon or not.
    pub fn write(self, cookie: u64, structured: bool, out: &mut Out) {
        match self {
            Self::Ended(ended) => simple(cookie, ended.err(), out),
            // A simple answer to these would break the agreement.
            Self::Refused(errno) if structured => error(cookie, CHUNK_DONE, errno, out),
            Self::Refused(errno) => simple(cookie, Some(errno), out),
            Self::Data { pieces, failed, .. } if !structured => {
                // Data follow a simple reply only if all of them are there.
                simple(cookie, failed.as_ref().map(|failed| failed.errno), out);
                if failed.is_none() {
                    pieces.into_iter().for_each(|piece| out.data(piece));
                }
            }
            Self::Data { offset, pieces, whole, failed: None } => chunks(cookie, offset, pieces, whole, out),
            Self::Data { offset, pieces, whole, failed: Some(failed) } => {
                lossy(cookie, offset, &pieces, whole, &failed, out);
            }
            Self::Status(contexts) => {
                let last = contexts.len();
                for (number, (context, spans)) in contexts.into_iter().enumerate() {
                    let flags = if number + 1 == last { CHUNK_DONE } else { 0 };
                    chunk(cookie, flags, CHUNK_STATUS, 4 + 8 * spans.len(), out);
                    out.head(&context.to_be_bytes());
                    for span in spans {
                        out.head(&span.length.to_be_bytes());
                        out.head(&span.flags.to_be_bytes());
                    }
                }
            }
        }
    }
}

fn simple(cookie: u64, errno: Option<Errno>, out: &mut Out) {
    out.head(&SIMPLE_MAGIC.to_be_bytes());
    out.head(&errno.map_or(0, |errno| errno as u32).to_be_bytes());
    out.head(&cookie.to_be_bytes());
}

fn chunk(cookie: u64, flags: u16, kind: u16, length: usize, out: &mut Out) {
    out.head(&CHUNK_MAGIC.to_be_bytes());
    out.head(&flags.to_be_bytes());
    out.head(&kind.to_be_bytes());
    out.head(&cookie.to_be_bytes());
    out.head(&u32::try_from(length).expect("a chunk is no longer than a transfer").to_be_bytes());
}

fn error(cookie: u64, flags: u16, errno: Errno, out: &mut Out) {
    chunk(cookie, flags, CHUNK_ERROR, 6, out);
    out.head(&(errno as u32).to_be_bytes());
    out.head(&0u16.to_be_bytes());
}

/// All data of a read: a chunk for each piece, or one for all.
fn chunks(cookie: u64, mut offset: u64, pieces: Vec<Vec<u8>>, whole: bool, out: &mut Out) {
    let all: usize = pieces.iter().map(Vec::len).sum();
    let last = pieces.len();
    if all == 0 {
        return chunk(cookie, CHUNK_DONE, CHUNK_NONE, 0, out);
    }
    if whole {
        chunk(cookie, CHUNK_DONE, CHUNK_DATA, 8 + all, out);
        out.head(&offset.to_be_bytes());
    }
    for (number, piece) in pieces.into_iter().enumerate() {
        if !whole {
            let flags = if number + 1 == last { CHUNK_DONE } else { 0 };
            chunk(cookie, flags, CHUNK_DATA, 8 + piece.len(), out);
            out.head(&offset.to_be_bytes());
        }
        offset += piece.len() as u64;
        out.data(piece);
    }
}

/// The data of a read that are there, and an error for each stretch that is not.
fn lossy(cookie: u64, offset: u64, pieces: &[Vec<u8>], whole: bool, failed: &Failure, out: &mut Out) {
    let mut at = offset;
    for piece in pieces {
        let end = at + piece.len() as u64;
        let mut from = at;
        let within = failed.bytes.iter().map(|bytes| bytes.start.clamp(at, end)..bytes.end.clamp(at, end));
        for gap in within.filter(|gap| !gap.is_empty()).chain(std::iter::once(end..end)) {
            // One chunk at most may have data if one was asked for, so then none has.
            if from < gap.start && !whole {
                let data = &piece[(from - at) as usize..(gap.start - at) as usize];
                chunk(cookie, 0, CHUNK_DATA, 8 + data.len(), out);
                out.head(&from.to_be_bytes());
                out.copy(data);
            }
            from = gap.end;
        }
        at = end;
    }
    let errno = (failed.errno as u32).to_be_bytes();
    if failed.bytes.is_empty() {
        error(cookie, 0, failed.errno, out);
    }
    for bytes in &failed.bytes {
        chunk(cookie, 0, CHUNK_ERROR_OFFSET, 14, out);
        out.head(&errno);
        out.head(&0u16.to_be_bytes());
        out.head(&bytes.start.to_be_bytes());
    }
    chunk(cookie, CHUNK_DONE, CHUNK_NONE, 0, out);
}

/// Bytes on their way to a client. Many short answers are one piece; long data are not copied.
#[derive(Debug, Default)]
pub struct Out {
    pieces: VecDeque<Vec<u8>>,
    /// Whether more may be added to the last piece.
    is_open: bool,
    /// Bytes of the first piece that are sent.
    sent: usize,
    length: usize,
    /// Memory of long pieces that are sent, which may be used again.
    spent: Vec<Vec<u8>>,
}

impl Out {
    /// Bytes that are not sent.
    pub const fn len(&self) -> usize {
        self.length
    }

    /// Whether all is sent.
    pub const fn is_empty(&self) -> bool {
        self.length == 0
    }

    fn head(&mut self, bytes: &[u8]) {
        self.copy(bytes);
    }

    fn copy(&mut self, bytes: &[u8]) {
        self.length += bytes.len();
        let has_room = |last: &&mut Vec<u8>| last.len() + bytes.len() <= PIECE_BYTES;
        match self.pieces.back_mut().filter(|_| self.is_open).filter(has_room) {
            Some(last) => last.extend_from_slice(bytes),
            None => self.pieces.push_back(bytes.to_vec()),
        }
        self.is_open = true;
    }

    fn data(&mut self, bytes: Vec<u8>) {
        if bytes.len() <= COPIED_MAX {
            return self.copy(&bytes);
        }
        self.length += bytes.len();
        self.pieces.push_back(bytes);
        self.is_open = false;
    }

    /// Adds what a handshake answers.
    pub fn raw(&mut self, bytes: &[u8]) {
        self.copy(bytes);
    }

    /// Adds all of another one behind it.
    pub fn append(&mut self, other: &mut Self) {
        debug_assert_eq!(other.sent, 0, "what is added was not begun");
        self.length += std::mem::take(&mut other.length);
        self.is_open = other.is_open || (self.is_open && other.pieces.is_empty());
        self.pieces.append(&mut other.pieces);
    }

    /// What is sent next.
    pub fn slices(&self) -> impl Iterator<Item = IoSlice<'_>> {
        let begun = self.sent;
        self.pieces
            .iter()
            .enumerate()
            .map(move |(number, piece)| IoSlice::new(if number == 0 { &piece[begun..] } else { piece }))
    }

    /// Notes that `count` bytes are sent.
    ///
    /// # Panics
    /// Fewer bytes wait to be sent.
    pub fn advance(&mut self, mut count: usize) {
        self.length -= count;
        while count > 0 {
            let left = self.pieces[0].len() - self.sent;
            if count < left {
                self.sent += count;
                return;
            }
            count -= left;
            self.sent = 0;
            self.spent.extend(self.pieces.pop_front().filter(|piece| piece.len() > COPIED_MAX));
        }
    }

    /// Hands out the memory of long pieces that are sent.
    pub fn spent(&mut self) -> impl Iterator<Item = Vec<u8>> {
        self.spent.drain(..)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(reply: Reply, structured: bool) -> Vec<u8> {
        let mut out = Out::default();
        reply.write(9, structured, &mut out);
        let all: Vec<u8> = out.slices().flat_map(|slice| slice.to_vec()).collect();
        assert_eq!(all.len(), out.len());
        all
    }

    /// Chunks as (flags, kind, payload).
    fn parsed(mut bytes: &[u8]) -> Vec<(u16, u16, Vec<u8>)> {
        let mut chunks = Vec::new();
        while !bytes.is_empty() {
            assert_eq!((&bytes[..4], &bytes[8..16]), (&CHUNK_MAGIC.to_be_bytes()[..], &9u64.to_be_bytes()[..]));
            let number = |at: usize| u16::from_be_bytes(bytes[at..at + 2].try_into().unwrap());
            let length = u32::from_be_bytes(bytes[16..20].try_into().unwrap()) as usize;
            chunks.push((number(4), number(6), bytes[20..20 + length].to_vec()));
            bytes = &bytes[20 + length..];
        }
        chunks
    }

    fn data(pieces: &[&[u8]], whole: bool, failed: &[Range<u64>]) -> Reply {
        let failed = (!failed.is_empty()).then(|| Failure { errno: Errno::Io, bytes: failed.to_vec() });
        Reply::Data { offset: 100, pieces: pieces.iter().map(|piece| piece.to_vec()).collect(), whole, failed }
    }

    #[test]
    fn simple_replies_have_all_data_or_none() {
        let head = |errno: u32| [&SIMPLE_MAGIC.to_be_bytes()[..], &errno.to_be_bytes(), &9u64.to_be_bytes()].concat();
        assert_eq!(bytes(Reply::Ended(Err(Errno::NoSpace)), true), head(28));
        assert_eq!(bytes(data(&[b"abc", b"de"], false, &[]), false), [&head(0)[..], b"abcde"].concat());
        let lost = 101..102;
        assert_eq!(bytes(data(&[b"abc", b"de"], false, std::slice::from_ref(&lost)), false), head(5));
        assert_eq!(bytes(Reply::Refused(Errno::Invalid), false), head(22));
    }

    #[test]
    fn a_read_is_answered_in_chunks_whatever_becomes_of_it() {
        let refused = parsed(&bytes(Reply::Refused(Errno::Invalid), true));
        assert_eq!(refused, [(CHUNK_DONE, CHUNK_ERROR, vec![0, 0, 0, 22, 0, 0])]);
        for whole in [false, true] {
            assert_eq!(parsed(&bytes(data(&[], whole, &[]), true)), [(CHUNK_DONE, CHUNK_NONE, Vec::new())]);
        }
    }

    #[test]
    fn an_error_is_told_at_its_bytes_alone() {
        let at = |offset: u64, data: &[u8]| [&offset.to_be_bytes()[..], data].concat();
        let error = |offset: u64| [&5u32.to_be_bytes()[..], &[0, 0], &offset.to_be_bytes()].concat();
        let found = parsed(&bytes(data(&[b"abcde", b"fgh"], false, &[101..103, 104..106]), true));
        let want = [
            (0, CHUNK_DATA, at(100, b"a")),
            (0, CHUNK_DATA, at(103, b"d")),
            (0, CHUNK_DATA, at(106, b"gh")),
            (0, CHUNK_ERROR_OFFSET, error(101)),
            (0, CHUNK_ERROR_OFFSET, error(104)),
            (CHUNK_DONE, CHUNK_NONE, Vec::new()),
        ];
        assert_eq!(found, want);
        // A single chunk cannot leave anything out.
        let whole = parsed(&bytes(data(&[b"abcde"], true, std::slice::from_ref(&(101..103))), true));
        assert_eq!(whole, [(0, CHUNK_ERROR_OFFSET, error(101)), (CHUNK_DONE, CHUNK_NONE, Vec::new())]);
    }

    #[test]
    fn data_come_in_one_chunk_if_asked() {
        let found = parsed(&bytes(data(&[b"abc", b"de"], true, &[]), true));
        assert_eq!(found, [(CHUNK_DONE, CHUNK_DATA, [&100u64.to_be_bytes()[..], b"abcde"].concat())]);
        let parts = parsed(&bytes(data(&[b"abc", b"de"], false, &[]), true));
        assert_eq!(parts.iter().map(|(flags, ..)| *flags).collect::<Vec<_>>(), [0, CHUNK_DONE]);
        assert_eq!(parts[1].2, [&103u64.to_be_bytes()[..], b"de"].concat());
    }

    #[test]
    fn what_is_sent_in_part_goes_on_there() {
        let long = vec![7; COPIED_MAX + 1];
        let mut out = Out::default();
        data(&[b"abc", &long, b"xyz"], false, &[]).write(9, false, &mut out);
        let all: Vec<u8> = out.slices().flat_map(|slice| slice.to_vec()).collect();
        assert_eq!(out.slices().count(), 3, "short data lie with the head, long data by themselves");
        let mut sent = Vec::new();
        for step in [1, 17, 3, COPIED_MAX, usize::MAX] {
            let next: Vec<u8> = out.slices().flat_map(|slice| slice.to_vec()).take(step).collect();
            out.advance(next.len());
            sent.extend(next);
        }
        assert_eq!((sent, out.is_empty()), (all, true));
        assert_eq!(out.spent().map(|piece| piece.len()).collect::<Vec<_>>(), [COPIED_MAX + 1]);
    }

    #[test]
    fn each_context_has_one_chunk() {
        let span = |length, flags| Span { length, flags };
        let found =
            parsed(&bytes(Reply::Status(vec![(1, vec![span(512, 3), span(512, 0)]), (2, vec![span(9, 8)])]), true));
        assert_eq!((found[0].0, found[0].1, found[0].2.len()), (0, CHUNK_STATUS, 20));
        assert_eq!((found[1].0, &found[1].2[..]), (CHUNK_DONE, &[0, 0, 0, 2, 0, 0, 0, 9, 0, 0, 0, 8][..]));
    }
}
