//! The client's side, as far as one needs it that makes one request after the other: simple replies, no contexts.
//!
//! [`hello`] answers a server's greeting and asks for an export; [`Chosen::take`] reads what the server says of it, until requests may follow.
//! [`Frame::bytes`] writes one, and [`answer`] reads the head of its answer.

use crate::frame::{Action, FRAME_BYTES, Frame};
use crate::handshake::{
    Block, FIXED_NEWSTYLE, GO, GREETING, GREETING_BYTES, INFO_BLOCK_SIZE, INFO_EXPORT, INFO_NAME, NO_ZEROES, OPTION,
    OPTION_MAX, OPTION_REPLY, READ_ONLY, REP_ACK, REP_INFO, SEND_FLUSH, SEND_FUA, SEND_TRIM, SEND_WRITE_ZEROES, length,
};
use crate::reply::{Errno, SIMPLE_MAGIC};
use crate::take::Take;

/// Bytes of the head of what a server says of an option.
pub const OPTION_HEAD_BYTES: usize = 20;
/// Bytes of the head of an answer. The data of a read that went well follow.
pub const ANSWER_BYTES: usize = 16;

/// A server that does not keep to the protocol, or that refuses.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Stranger {
    /// It does not begin as a server of this protocol does.
    #[error("is no server of the network block device protocol in its fixed newstyle")]
    NoServer,
    /// It refuses the export.
    #[error("refuses: {0}")]
    Refused(String),
    /// It says something that makes no sense there.
    #[error("says something that makes no sense in {0}")]
    Nonsense(&'static str),
}

/// What a server says of an export.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chosen {
    /// Its name, if the server says so.
    pub name: Option<String>,
    /// Bytes.
    pub size: u64,
    /// It takes no writes.
    pub is_read_only: bool,
    /// It takes FLUSH.
    pub flushes: bool,
    /// It takes force unit access.
    pub fua: bool,
    /// It takes TRIM.
    pub trims: bool,
    /// It takes WRITE_ZEROES.
    pub zeroes: bool,
    /// Sizes of requests, if it says so.
    pub block: Option<Block>,
}

/// What follows a part of what a server says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Another part.
    More,
    /// Requests.
    Requests,
}

/// What a client sends after a server's greeting, to use the export of a name; the empty name is the server's default.
///
/// # Errors
/// It is no server, or the name is too long.
pub fn hello(greeting: &[u8; GREETING_BYTES], name: &str) -> Result<Vec<u8>, Stranger> {
    let mut from = Take(greeting);
    let is_ours = from.u64() == Some(GREETING) && from.u64() == Some(OPTION);
    if !is_ours || from.u16().is_none_or(|flags| flags & FIXED_NEWSTYLE == 0) {
        return Err(Stranger::NoServer);
    }
    if name.len() > OPTION_MAX as usize / 2 {
        return Err(Stranger::Refused("the export's name is too long".to_owned()));
    }
    let flags = u32::from(FIXED_NEWSTYLE | NO_ZEROES);
    let wanted = [2_u16, INFO_NAME, INFO_BLOCK_SIZE].map(u16::to_be_bytes).concat();
    let data = [&length(name.as_bytes())[..], name.as_bytes(), &wanted].concat();
    Ok([&flags.to_be_bytes()[..], &OPTION.to_be_bytes(), &GO.to_be_bytes(), &length(&data), &data].concat())
}

/// The kind of what a server says of an option, and how many bytes of it follow.
///
/// # Errors
/// It makes no sense.
pub fn option_head(bytes: &[u8; OPTION_HEAD_BYTES]) -> Result<(u32, usize), Stranger> {
    let mut from = Take(bytes);
    let is_ours = from.u64() == Some(OPTION_REPLY) && from.u32() == Some(GO);
    match from.u32().zip(from.u32()) {
        Some((kind, length)) if is_ours && length <= OPTION_MAX => Ok((kind, length as usize)),
        _ => Err(Stranger::Nonsense("the handshake")),
    }
}

impl Chosen {
    /// Takes a part of what a server says.
    ///
    /// # Errors
    /// It refuses, or it makes no sense.
    pub fn take(&mut self, kind: u32, data: &[u8]) -> Result<Next, Stranger> {
        let nonsense = || Stranger::Nonsense("the handshake");
        let mut from = Take(data);
        match kind {
            REP_ACK if self.size > 0 => return Ok(Next::Requests),
            REP_INFO => match from.u16().ok_or_else(nonsense)? {
                INFO_EXPORT => {
                    let (size, flags) = from.u64().zip(from.u16()).ok_or_else(nonsense)?;
                    let has = |flag: u16| flags & flag != 0;
                    *self = Self {
                        size,
                        is_read_only: has(READ_ONLY),
                        flushes: has(SEND_FLUSH),
                        fua: has(SEND_FUA),
                        trims: has(SEND_TRIM),
                        zeroes: has(SEND_WRITE_ZEROES),
                        block: self.block,
                        name: self.name.take(),
                    };
                }
                INFO_NAME => self.name = Some(String::from_utf8_lossy(from.0).into_owned()),
                INFO_BLOCK_SIZE => {
                    let least = from.u32().zip(from.u32()).zip(from.u32());
                    let ((least, preferred), most) = least.ok_or_else(nonsense)?;
                    self.block = Some(Block { least, preferred, most });
                }
                _ => {}
            },
            kind if kind >> 31 == 1 => {
                let told: String = String::from_utf8_lossy(data).chars().filter(|sign| !sign.is_control()).collect();
                return Err(Stranger::Refused(if told.is_empty() { "without a reason".to_owned() } else { told }));
            }
            _ => return Err(nonsense()),
        }
        Ok(Next::More)
    }
}

impl Frame {
    /// Writes it, as a client does. The data of a write follow it. Flags other than `fua` are left out.
    pub fn bytes(&self) -> [u8; FRAME_BYTES] {
        let number: u16 = match self.action {
            Action::Read { .. } => 0,
            Action::Write => 1,
            Action::Disconnect | Action::Unknown => 2,
            Action::Flush => 3,
            Action::Trim => 4,
            Action::Cache => 5,
            Action::WriteZeroes { .. } => 6,
            Action::BlockStatus { .. } => 7,
        };
        let mut bytes = [0; FRAME_BYTES];
        bytes[..4].copy_from_slice(&crate::frame::MAGIC.to_be_bytes());
        bytes[4..6].copy_from_slice(&u16::from(self.fua).to_be_bytes());
        bytes[6..8].copy_from_slice(&number.to_be_bytes());
        bytes[8..16].copy_from_slice(&self.cookie.to_be_bytes());
        bytes[16..24].copy_from_slice(&self.offset.to_be_bytes());
        bytes[24..].copy_from_slice(&self.length.to_be_bytes());
        bytes
    }
}

/// The request that an answer is of, and how that ended. An error of an unknown number is EIO.
///
/// # Errors
/// It makes no sense.
pub fn answer(bytes: &[u8; ANSWER_BYTES]) -> Result<(u64, Result<(), Errno>), Stranger> {
    let mut from = Take(bytes);
    let is_ours = from.u32() == Some(SIMPLE_MAGIC);
    match from.u32().zip(from.u64()) {
        Some((0, cookie)) if is_ours => Ok((cookie, Ok(()))),
        Some((number, cookie)) if is_ours => {
            let known = Errno::ALL.into_iter().find(|errno| *errno as u32 == number);
            Ok((cookie, Err(known.unwrap_or(Errno::Io))))
        }
        _ => Err(Stranger::Nonsense("an answer")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Export, Handshake, Out, Reply, Turn};

    fn export() -> Export {
        Export {
            name: "old".to_owned(),
            is_default: true,
            description: "a worn drive".to_owned(),
            size: 1 << 30,
            is_read_only: false,
            block: Block { least: 512, preferred: 4096, most: 32 << 20 },
        }
    }

    /// What a server says to a client that asks for an export.
    fn told(name: &str) -> Vec<u8> {
        let (mut server, mut out) = (Handshake::default(), Vec::new());
        let sent = hello(&Handshake::greeting(), name).unwrap();
        let (taken, _) = server.feed(&sent, &[export()], &mut out).unwrap();
        assert_eq!(taken, sent.len());
        out
    }

    /// Reads it to its end.
    fn read(mut told: &[u8]) -> Result<Chosen, Stranger> {
        let mut chosen = Chosen::default();
        loop {
            let (head, rest) = told.split_first_chunk().ok_or(Stranger::Nonsense("a test"))?;
            let (kind, length) = option_head(head)?;
            let (data, rest) = rest.split_at(length);
            if chosen.take(kind, data)? == Next::Requests {
                assert!(rest.is_empty());
                return Ok(chosen);
            }
            told = rest;
        }
    }

    #[test]
    fn a_client_and_a_server_understand_each_other() {
        for name in ["", "old"] {
            let chosen = read(&told(name)).unwrap();
            assert_eq!((chosen.size, chosen.block), (1 << 30, Some(export().block)));
            assert_eq!(chosen.name.as_deref(), Some("old"));
            assert!(chosen.flushes && chosen.fua && chosen.trims && chosen.zeroes && !chosen.is_read_only);
        }
        assert_eq!(read(&told("none")), Err(Stranger::Refused("no export has this name".to_owned())));
        assert_eq!(hello(&[0; GREETING_BYTES], ""), Err(Stranger::NoServer));
        let mut server = Handshake::default();
        let sent = hello(&Handshake::greeting(), "old").unwrap();
        let (_, turn) = server.feed(&sent, &[export()], &mut Vec::new()).unwrap();
        assert!(matches!(turn, Turn::Ready(session) if !session.structured));
    }

    #[test]
    fn requests_and_answers_are_read_as_they_were_written() {
        let actions = [Action::Read { whole: false }, Action::Write, Action::Flush, Action::Trim, Action::Disconnect];
        for (number, action) in actions.into_iter().enumerate() {
            let frame = Frame { action, fua: number % 2 == 1, cookie: 7 + number as u64, offset: 1 << 40, length: 512 };
            assert_eq!(Frame::parse(&frame.bytes()), Ok(frame));
        }
        for errno in Errno::ALL {
            let mut out = Out::default();
            Reply::Ended(Err(errno)).write(9, false, &mut out);
            let mut bytes = [0; ANSWER_BYTES];
            let mut at = 0;
            for piece in out.slices() {
                bytes[at..at + piece.len()].copy_from_slice(&piece);
                at += piece.len();
            }
            assert_eq!(answer(&bytes), Ok((9, Err(errno))));
        }
        assert_eq!(answer(&[7; ANSWER_BYTES]), Err(Stranger::Nonsense("an answer")));
    }
}
