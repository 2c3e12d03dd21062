//! Writes state to a file and reads it back.
//!
//! A type with state names its fields once, in one function that both writes and reads:
//!
//! ```
//! use wane_archive::{Archive, ArchiveError, Reader, Writer};
//!
//! #[derive(Default, PartialEq, Debug)]
//! struct Odometer { distance: u64, trips: Vec<u32> }
//!
//! impl Odometer {
//!     fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
//!         archive.field("distance", &mut self.distance)?;
//!         archive.list("trips", &mut self.trips)
//!     }
//! }
//!
//! let mut driven = Odometer { distance: 12, trips: vec![5, 7] };
//! let mut writer = Writer::new(Vec::new())?;
//! driven.archive(&mut writer)?;
//! let bytes = writer.finish()?;
//!
//! let mut parked = Odometer::default();
//! let mut reader = Reader::new(bytes.as_slice())?;
//! parked.archive(&mut reader)?;
//! reader.finish()?;
//! assert_eq!(driven, parked);
//! # Ok::<(), ArchiveError>(())
//! ```
//!
//! Everything written has a checksum. A table's bytes go from the file straight to their place. A piece of one repeated word takes no
//! room in the file, and no memory if the table already holds that word.
//!
//! Tables may be read later: a [`Reader::late`] hands out their places, and each is verified when it is read.
//!
//! An archive may refer to others that were written before ([`Writer::beside`], [`Reader::beside`]). Pieces that one of them holds
//! are not written again, and one of which a few words changed is written as a list of them.
//!
//! A value whose reading fails is left half changed and must not be used.

mod changes;
mod index;
mod reader;
mod record;
mod shared;
mod writer;

use std::io;

use bytemuck::Pod;
use serde::Serialize;
use serde::de::DeserializeOwned;

pub use index::Index;
pub use reader::Reader;
pub use shared::{Later, Others, Pieces};
pub use writer::Writer;

/// The first bytes of every archive. The last two are the version of its format.
const MAGIC: [u8; 8] = *b"wanest01";

/// Most bytes under one checksum, and bytes of each piece of a table but the last. A piece stays in the second-level cache between its copy and its checksum.
pub const PIECE_BYTES: usize = 1 << 18;

/// What follows a record's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Kind {
    /// A value in the `postcard` format.
    Value = 1,
    /// Bytes, in pieces.
    Table = 2,
    /// Nothing: the archive ends.
    End = 3,
}

/// How a piece of a table is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Form {
    /// Its bytes as they are.
    Plain = 1,
    /// One word of four bytes that the whole piece repeats.
    Repeated = 2,
    /// A reference to another file: the file's number, the place in it, and the checksum of the bytes there.
    Elsewhere = 3,
    /// What it was before, which lies in another file or repeats a word, and a list of the words that changed, which follows or lies in another file.
    Changed = 4,
}

/// Why state could not be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// An error of the operating system.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Its first bytes are not those of an archive.
    #[error("it does not begin as the state of a drive does")]
    NotAnArchive,
    /// Its format is unknown to this version.
    #[error("its format is \"{found}\"; this version of wane reads \"{known}\"")]
    Version {
        /// The format that it names.
        found: String,
        /// The format that can be read.
        known: String,
    },
    /// It ends early.
    #[error("it is cut short in \"{name}\"")]
    CutShort {
        /// The field that was read.
        name: String,
    },
    /// A checksum does not agree.
    #[error("it is damaged in \"{name}\"")]
    Damaged {
        /// The field that was read, or the one before.
        name: String,
    },
    /// There is more after its end.
    #[error("it goes on after its end")]
    TooLong,
    /// It holds another field: the archive is of another version, or of another kind of drive.
    #[error("it holds \"{found}\" where \"{wanted}\" belongs")]
    AnotherField {
        /// What is there.
        found: String,
        /// What was wanted.
        wanted: String,
    },
    /// A field is that of another drive.
    #[error("its \"{name}\" is {found}, and this drive's is {wanted}")]
    AnotherDrive {
        /// The field.
        name: String,
        /// What is there.
        found: String,
        /// What this drive has.
        wanted: String,
    },
    /// What belongs to the drive cannot be saved.
    #[error("{0}")]
    Unsaved(String),
    /// A field's value cannot be decoded.
    #[error("its \"{name}\" cannot be decoded: {reason}")]
    Malformed {
        /// The field.
        name: String,
        /// The decoder's message.
        reason: String,
    },
}

/// Writes state to a file, or reads it back.
pub trait Archive {
    /// Whether fields are read from the archive. Otherwise they are written to it.
    fn is_reading(&self) -> bool;

    /// Writes or reads a value of any length.
    ///
    /// # Errors
    /// The archive is damaged or of another drive, or the operating system reports an error.
    fn value(&mut self, name: &str, bytes: &mut Vec<u8>) -> Result<(), ArchiveError>;

    /// Writes or reads the bytes of a table whose length both sides know.
    ///
    /// # Errors
    /// As of [`Archive::value`].
    fn table(&mut self, name: &str, bytes: &mut [u8]) -> Result<(), ArchiveError>;

    /// Reads the place of a table of `length` bytes instead of the table, if the archive can be read later ([`Reader::late`]) and has the table in
    /// one piece.
    ///
    /// # Errors
    /// As of [`Archive::value`].
    fn table_later(&mut self, _name: &str, _length: usize) -> Result<Found, ArchiveError> {
        Ok(Found::Unread)
    }

    /// Reads where the pieces of a table of `length` bytes lie, [`PIECE_BYTES`] each but for the last, instead of the table. `None`: nothing was read,
    /// and the table is to be read at once.
    ///
    /// # Errors
    /// As of [`Archive::value`].
    fn pieces_later(&mut self, _name: &str, _length: usize) -> Result<Option<Vec<Unread>>, ArchiveError> {
        Ok(None)
    }

    /// Writes a table of which some pieces were never read: those that `unread` has are written by their places. What `bytes` have there means
    /// nothing.
    ///
    /// # Errors
    /// As of [`Archive::value`]; a piece that must be copied is damaged; the archive is one that is read.
    fn table_partly(&mut self, _name: &str, _bytes: &mut [u8], _unread: &[Option<Unread>]) -> Result<(), ArchiveError> {
        Err(ArchiveError::Unsaved("a table that was not read cannot be written here".to_owned()))
    }

    /// Writes a table that was never read, by its place. Returns false, and writes nothing, if the archive cannot refer to that.
    ///
    /// # Errors
    /// As of [`Archive::value`].
    fn table_again(&mut self, _name: &str, _later: &Later) -> Result<bool, ArchiveError> {
        Ok(false)
    }
}

/// A piece of a table that was not read.
#[derive(Clone, Debug)]
pub enum Unread {
    /// It lies there.
    At(Later),
    /// It repeats this word.
    Repeated([u8; 4]),
    /// It is what another one is, but for a list of words.
    Changed(Box<Unread>, Later),
}

impl Unread {
    /// Reads it into `bytes`, which are as long, and verifies it.
    ///
    /// # Errors
    /// The file is gone, cut short or damaged.
    pub fn read(&self, bytes: &mut [u8]) -> Result<(), ArchiveError> {
        match self {
            Self::At(later) => later.read(bytes)?,
            Self::Repeated(word) => reader::repeat(*word, bytes),
            Self::Changed(base, list) => {
                base.read(bytes)?;
                let mut changes = vec![0; list.len()];
                list.read(&mut changes)?;
                let damaged = || ArchiveError::Damaged { name: list.whole_name() };
                changes::apply_changes(&changes, bytes).ok_or_else(damaged)?;
            }
        }
        Ok(())
    }
}

/// What [`Archive::table_later`] found.
#[derive(Debug)]
pub enum Found {
    /// The table lies there.
    Later(Later),
    /// The whole table repeats this word.
    Repeated([u8; 4]),
    /// Nothing was read: the table is to be read at once.
    Unread,
}

impl dyn Archive + '_ {
    /// Writes or reads a value that serde can write.
    ///
    /// # Errors
    /// As of [`Archive::value`].
    pub fn field<T: Serialize + DeserializeOwned>(&mut self, name: &str, value: &mut T) -> Result<(), ArchiveError> {
        self.grown_by(0, name, value)
    }

    /// As `field`, for a value whose last `fields` fields are numbers that older archives may lack. Those are read as 0.
    ///
    /// # Errors
    /// As of [`Archive::value`].
    pub fn grown_by<T: Serialize + DeserializeOwned>(
        &mut self,
        fields: usize,
        name: &str,
        value: &mut T,
    ) -> Result<(), ArchiveError> {
        let malformed =
            |error: postcard::Error| ArchiveError::Malformed { name: name.to_owned(), reason: error.to_string() };
        if !self.is_reading() {
            return self.value(name, &mut postcard::to_allocvec(value).map_err(malformed)?);
        }
        let mut bytes = Vec::new();
        self.value(name, &mut bytes)?;
        // The format has a byte of 0 for a number that is 0.
        bytes.resize(bytes.len() + fields, 0);
        let (found, rest) = postcard::take_from_bytes(&bytes).map_err(malformed)?;
        if rest.len() > fields {
            return Err(malformed(postcard::Error::SerdeDeCustom));
        }
        *value = found;
        Ok(())
    }

    /// Writes a value that must be the same on both sides. When reading, checks that the archive has the same one, so that it belongs to this
    /// drive.
    ///
    /// # Errors
    /// The archive has another value; otherwise as of [`Archive::value`].
    pub fn same<T>(&mut self, name: &str, value: &T) -> Result<(), ArchiveError>
    where
        T: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug + Clone,
    {
        let mut found = value.clone();
        self.field(name, &mut found)?;
        if found == *value {
            return Ok(());
        }
        let (found, wanted) = (format!("{found:?}"), format!("{value:?}"));
        Err(ArchiveError::AnotherDrive { name: name.to_owned(), found, wanted })
    }

    /// Writes or reads a table of plain numbers whose length both sides know.
    ///
    /// # Errors
    /// As of [`Archive::value`].
    pub fn fixed<T: Pod>(&mut self, name: &str, table: &mut [T]) -> Result<(), ArchiveError> {
        // Numbers are little-endian in the file.
        if cfg!(target_endian = "big") && size_of::<T>() > 1 {
            return Err(ArchiveError::Unsaved("a drive can only be saved on a little-endian machine".to_owned()));
        }
        self.table(name, bytemuck::cast_slice_mut(table))
    }

    /// Writes or reads a table of plain numbers whose length is in the archive.
    ///
    /// # Errors
    /// As of [`Archive::value`].
    pub fn list<T: Pod>(&mut self, name: &str, list: &mut Vec<T>) -> Result<(), ArchiveError> {
        let mut length = list.len() as u64;
        self.field(name, &mut length)?;
        let too_long = |_| ArchiveError::Malformed { name: name.to_owned(), reason: format!("{length} entries") };
        if self.is_reading() {
            let length = usize::try_from(length).map_err(too_long)?;
            list.clear();
            list.try_reserve_exact(length).map_err(|error| io::Error::new(io::ErrorKind::OutOfMemory, error))?;
            list.resize(length, T::zeroed());
        }
        self.fixed(name, list)
    }

    /// Writes or reads a part that may be absent. Either both sides or neither must have it.
    ///
    /// # Errors
    /// As of `part`, or only one side has it.
    pub fn optional<T>(
        &mut self,
        name: &str,
        value: &mut Option<T>,
        part: impl FnOnce(&mut T, &mut dyn Archive) -> Result<(), ArchiveError>,
    ) -> Result<(), ArchiveError> {
        self.same(name, &value.is_some())?;
        match value {
            Some(value) => part(value, self),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
