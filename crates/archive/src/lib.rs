//! How state is written to a file and read back.
//!
//! What has a state names its fields once, in one function that serves both ways:
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
//! Everything written has a checksum. A table's bytes go from the file straight to where they belong, and its stretches of one
//! repeated word take no room in the file, nor memory where the table holds that word already.
//!
//! An archive may lie beside others that were written before ([`Writer::beside`], [`Reader::beside`]): pieces that one of them holds
//! are not written again.
//!
//! What fails while it is read is left half changed, and is not to be used.

mod reader;
mod shared;
mod writer;

use std::io;

use bytemuck::Pod;
use serde::Serialize;
use serde::de::DeserializeOwned;

pub use reader::Reader;
pub use shared::{Others, Pieces};
pub use writer::Writer;

/// The first bytes of every archive; the last two are the version of its form.
const MAGIC: [u8; 8] = *b"wanest01";

/// Bytes under one checksum at most. A piece stays in the second-level cache between its copy and its checksum.
const PIECE_BYTES: usize = 1 << 18;

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
    /// As it is.
    Plain = 1,
    /// It is this one word of four bytes, over and over.
    Repeated = 2,
    /// It lies in another file: the file's number, the place in it, and the checksum of what is there.
    Elsewhere = 3,
}

/// Why state could not be written or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// The system's word.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Its first bytes are not those of an archive.
    #[error("it does not begin as the state of a drive does")]
    NotAnArchive,
    /// It is of a form that this version does not know.
    #[error("its form is \"{found}\"; this version of wane reads \"{known}\"")]
    Version {
        /// What it says.
        found: String,
        /// What can be read.
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
    /// A field's value has a form that nobody wrote.
    #[error("its \"{name}\" has a form that is not known: {reason}")]
    Malformed {
        /// The field.
        name: String,
        /// What the decoder says.
        reason: String,
    },
}

/// State on its way to a file, or back.
pub trait Archive {
    /// Whether fields take what is in the archive; else it takes what they hold.
    fn is_reading(&self) -> bool;

    /// A value of any length.
    ///
    /// # Errors
    /// The archive is damaged, of another drive, or the system refuses.
    fn value(&mut self, name: &str, bytes: &mut Vec<u8>) -> Result<(), ArchiveError>;

    /// The bytes of a table, whose length both sides know.
    ///
    /// # Errors
    /// As of [`Archive::value`].
    fn table(&mut self, name: &str, bytes: &mut [u8]) -> Result<(), ArchiveError>;
}

impl dyn Archive + '_ {
    /// A value that serde can write.
    ///
    /// # Errors
    /// As of [`Archive::value`].
    pub fn field<T: Serialize + DeserializeOwned>(&mut self, name: &str, value: &mut T) -> Result<(), ArchiveError> {
        let malformed =
            |error: postcard::Error| ArchiveError::Malformed { name: name.to_owned(), reason: error.to_string() };
        if self.is_reading() {
            let mut bytes = Vec::new();
            self.value(name, &mut bytes)?;
            let (found, rest) = postcard::take_from_bytes(&bytes).map_err(malformed)?;
            if !rest.is_empty() {
                return Err(malformed(postcard::Error::SerdeDeCustom));
            }
            *value = found;
            return Ok(());
        }
        self.value(name, &mut postcard::to_allocvec(value).map_err(malformed)?)
    }

    /// A value that is the same on both sides: of an archive that is read it says whether it is this drive's.
    ///
    /// # Errors
    /// It is another one; else as of [`Archive::value`].
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

    /// A table of plain numbers, whose length both sides know.
    ///
    /// # Errors
    /// As of [`Archive::value`].
    pub fn fixed<T: Pod>(&mut self, name: &str, table: &mut [T]) -> Result<(), ArchiveError> {
        // Numbers lie in the file as a little-endian machine has them.
        if cfg!(target_endian = "big") && size_of::<T>() > 1 {
            return Err(ArchiveError::Unsaved("a drive can only be saved on a little-endian machine".to_owned()));
        }
        self.table(name, bytemuck::cast_slice_mut(table))
    }

    /// A table of plain numbers, whose length is in the archive.
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

    /// A part that one side may lack: whether it is there must be the same.
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
