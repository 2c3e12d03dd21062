//! The network block device protocol, as a server speaks it, and as much as a plain client needs ([`client`]): bytes in, bytes out. There is no socket here, no thread and no device.
//!
//! [`Handshake`] takes what a client sends until it has chosen an export, and returns what is sent back. From then on [`Frame::parse`] reads
//! requests, and [`Reply`] writes answers, simple or structured, as the [`Session`] has it.
//!
//! What is spoken: fixed newstyle; the options EXPORT_NAME, ABORT, LIST, INFO, GO, STRUCTURED_REPLY, LIST_META_CONTEXT and SET_META_CONTEXT;
//! every request but RESIZE. What is not: TLS, extended headers.
//!
//! Source: "The NBD protocol", doc/proto.md of NetworkBlockDevice/nbd. Numbers are big-endian.

pub mod client;
mod frame;
mod handshake;
mod reply;
mod take;

pub use frame::{Action, FRAME_BYTES, Frame, TRANSFER_MAX};
pub use handshake::{Block, Context, Contexts, Export, GREETING_BYTES, Handshake, OPTION_MAX, Session, Turn};
pub use reply::{Errno, Failure, Out, Reply, Span};

/// A client that does not keep to the protocol: its connection is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Violation {
    /// A number that frames begin with is another one.
    #[error("{place}: found the magic number {found:#x}, and {wanted:#x} is allowed")]
    Magic {
        /// Of what frame.
        place: &'static str,
        /// What was sent.
        found: u64,
        /// What is allowed.
        wanted: u64,
    },
    /// Flags of the handshake that the server did not offer.
    #[error("the handshake: found client flags {found:#x}, and {wanted:#x} are allowed")]
    ClientFlags {
        /// What was sent.
        found: u32,
        /// What is allowed.
        wanted: u32,
    },
    /// An option that is longer than any that is known.
    #[error("option {option}: found {found} bytes of data, and {most} are allowed")]
    LongOption {
        /// Its number.
        option: u32,
        /// Its length.
        found: u32,
        /// What is allowed.
        most: u32,
    },
    /// More options than any client has to ask for.
    #[error("the handshake: found more than {most} options")]
    ManyOptions {
        /// What is allowed.
        most: u32,
    },
    /// EXPORT_NAME, which no error can answer, with another name.
    #[error("EXPORT_NAME asks for an export that is not there")]
    UnknownExport,
    /// A write of more data than a server takes.
    #[error("a write: found {found} bytes, and {most} are allowed")]
    LongWrite {
        /// Its length.
        found: u32,
        /// What is allowed.
        most: u32,
    },
}
