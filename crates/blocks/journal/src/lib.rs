//! A device is a function of its inputs. This crate keeps them: records in segments, files of a folder, from which a device is replayed onto
//! its last checkpoint.
//!
//! A record has a number, an instant of the device's time, and an [`Input`]. It begins with a mark, which nobody can make who does not know the
//! journal's secret, so that neither a record of another place nor any bytes of a client are a record. The head of a segment has the secret, and
//! names the device, the segment's number, the number of its first record, and the digest of all records before it.
//!
//! **What a crash leaves.** Each record says up to which one all were on the disk when it was written. A bad record at or below the highest
//! such number is damage, and the journal is refused. A bad record above it is the torn tail: it is cut off with all behind it. Cutting removes
//! nothing. The next segment begins with the number of the first record that was cut off, and a later segment replaces what earlier ones have
//! from its first record on. So bytes of the tail, which a crash may bring back, mean nothing. Whoever opens a journal begins a
//! segment. It gets its name once all that it repeats is on the disk, since its writer may be killed before.
//!
//! **What fails.** The room for a record is there before it is accepted ([`Journal::make_room`]). After a write or a sync that failed
//! nothing is known of the disk, and the journal takes nothing more.

mod input;
mod journal;
mod keyed;
mod read;
mod salted;
mod segment;
mod syncing;

pub use input::{Input, InputError};
pub use journal::{Journal, JournalConfig};
pub use read::{Opened, name, segment_of};
pub use segment::{Lineage, Place, Record};
pub use syncing::Syncing;

use std::io;

/// Why a journal is refused, or takes nothing more.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// Something that was on the disk is not there any more.
    #[error("{file} is damaged at byte {offset}: record {number} was on the disk, and is not there any more")]
    Damaged {
        /// The segment's file.
        file: String,
        /// Where.
        offset: u64,
        /// The record.
        number: u64,
    },
    /// A segment of another device.
    #[error("{file} belongs to another drive, or to another time of this one")]
    Stranger {
        /// The segment's file.
        file: String,
    },
    /// A segment that must be there is not.
    #[error("{file}, from which the drive goes on, is missing or damaged")]
    Missing {
        /// The segment's file.
        file: String,
    },
    /// A record is whole, and means nothing.
    #[error("{file}: record {number} {error}")]
    Meaningless {
        /// The segment's file.
        file: String,
        /// The record.
        number: u64,
        /// Why.
        error: InputError,
    },
    /// There is no room for a record. Nothing was done, and the journal goes on.
    #[error("there is no room for the journal: {0}")]
    NoRoom(io::Error),
    /// A write or a sync failed.
    #[error("the journal cannot be written: {0}")]
    Unwritten(io::Error),
    /// It failed before, so that nothing is known of the disk.
    #[error("the journal failed before, and takes nothing more")]
    Broken,
    /// The system refuses to read it.
    #[error("{file} cannot be read: {error}")]
    Unread {
        /// The segment's file.
        file: String,
        /// Why.
        error: io::Error,
    },
}
