//! Pieces that an archive does not hold itself, since they lie in a file that was written before. Unchanged pieces are not written
//! again, and files with a common past share its bytes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::index::{Base, Index, Lies, List, Piece, Table};
use crate::reader::LATER_LEAST_BYTES;
use crate::writer::WORD;
use crate::{ArchiveError, Form};

/// Shortest shared piece. Shorter ones are not worth a search in another file.
pub(crate) const SHARED_MIN_BYTES: usize = 4096;

/// Other files that an archive refers to, by number.
pub trait Others: fmt::Debug + Send + Sync {
    /// Reads bytes of one of the files.
    ///
    /// # Errors
    /// There is no such file, it is too short, or the operating system reports an error.
    fn read_at(&self, file: u64, offset: u64, bytes: &mut [u8]) -> io::Result<()>;

    /// Name of a file for messages.
    fn name(&self, file: u64) -> String;
}

/// Where a piece lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Place {
    pub(crate) file: u64,
    /// Offset of its first byte.
    pub(crate) offset: u64,
}

/// A piece that lies in a file, and is read and verified when it is needed.
#[derive(Clone, Debug)]
pub struct Later {
    pub(crate) files: Arc<dyn Others>,
    pub(crate) place: Place,
    pub(crate) length: u32,
    pub(crate) checksum: u32,
    /// The field that it belongs to, for messages.
    pub(crate) name: String,
}

impl Later {
    /// Its length in bytes.
    pub const fn len(&self) -> usize {
        self.length as usize
    }

    /// Whether it has no bytes.
    pub const fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Reads it into `bytes`, which are as long, and verifies it.
    ///
    /// # Errors
    /// The file is gone, cut short or damaged.
    pub fn read(&self, bytes: &mut [u8]) -> Result<(), ArchiveError> {
        let Place { file, offset } = self.place;
        self.files.read_at(file, offset, bytes).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => ArchiveError::CutShort { name: self.whole_name() },
            _ => error.into(),
        })?;
        let is_right = plain_checksum(bytes) == self.checksum;
        if is_right { Ok(()) } else { Err(ArchiveError::Damaged { name: self.whole_name() }) }
    }

    /// Field and file, for messages.
    pub(crate) fn whole_name(&self) -> String {
        format!("{} in {}", self.name, self.files.name(self.place.file))
    }
}

/// The checksum of a piece that is written as it is.
pub(crate) fn plain_checksum(bytes: &[u8]) -> u32 {
    let mut checksum = crc32fast::Hasher::new();
    checksum.update(&[Form::Plain as u8]);
    checksum.update(bytes);
    checksum.finalize()
}

/// That of a piece that repeats a word.
pub(crate) fn repeated_checksum(word: [u8; WORD]) -> u32 {
    let mut checksum = crc32fast::Hasher::new();
    checksum.update(&[Form::Repeated as u8]);
    checksum.update(&word);
    checksum.finalize()
}

/// Where the pieces of an archive lie, by their content, and those of its large tables, by their position.
#[derive(Clone, Debug, Default)]
pub struct Pieces {
    /// By checksum and length. If both are equal, the bytes are compared.
    places: BTreeMap<(u32, u32), BTreeSet<Place>>,
    bytes: BTreeMap<u64, u64>,
    digest: crc32fast::Hasher,
    index: Index,
    /// The large table whose pieces come.
    table: Option<Table>,
}

impl Pieces {
    /// CRC-32 of the checksums of all records and pieces, in order. For an archive that was read or written to its end it identifies
    /// the archive.
    pub fn digest(&self) -> u32 {
        self.digest.clone().finalize()
    }

    /// The index of its large tables as the bytes of a file; `None` if it is not worth one.
    pub fn index_bytes(&self) -> Option<Vec<u8>> {
        self.index.bytes(self.digest())
    }

    pub(crate) const fn index(&self) -> &Index {
        &self.index
    }

    /// Takes note of a table of this length, whose record begins there.
    pub(crate) fn begin_table(&mut self, begin: u64, length: usize) {
        self.table = (length >= LATER_LEAST_BYTES).then(|| Table { begin, end: 0, pieces: Vec::new() });
    }

    /// Takes note of the end of that table.
    pub(crate) fn end_table(&mut self, end: u64) {
        if let Some(table) = self.table.take() {
            self.index.push(Table { end, ..table });
        }
    }

    /// Takes note of the next piece, of `length` bytes.
    pub(crate) fn push(&mut self, piece: Piece, length: usize) {
        self.note(piece.checksum);
        if let Base::At(place) = piece.base() {
            self.add(piece.checksum, length, place);
        }
        if let Lies::Changed(_, List { place, length, checksum }) = piece.lies {
            self.note(checksum);
            self.add(checksum, length as usize, place);
        }
        if let Some(table) = &mut self.table {
            table.pieces.push(piece);
        }
    }

    /// Adds a checksum to the digest.
    pub(crate) fn note(&mut self, checksum: u32) {
        self.digest.update(&checksum.to_le_bytes());
    }

    fn add(&mut self, checksum: u32, length: usize, place: Place) {
        debug_assert!(length <= crate::PIECE_BYTES, "a piece is no longer than what one checksum covers");
        if length >= SHARED_MIN_BYTES && self.places.entry((checksum, length as u32)).or_default().insert(place) {
            *self.bytes.entry(place.file).or_default() += length as u64;
        }
    }

    pub(crate) fn find(&self, checksum: u32, length: usize) -> impl Iterator<Item = Place> + '_ {
        self.places.get(&(checksum, length as u32)).into_iter().flatten().copied()
    }

    /// Whether a piece is known to lie at a place.
    pub(crate) fn has(&self, checksum: u32, length: usize, place: Place) -> bool {
        self.places.get(&(checksum, length as u32)).is_some_and(|places| places.contains(&place))
    }

    /// Files in which pieces lie, each with the number of bytes of its pieces.
    pub fn files(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.bytes.iter().map(|(file, bytes)| (*file, *bytes))
    }

    /// Forgets the pieces of a file, so that their content is written again.
    pub fn forget(&mut self, file: u64) {
        self.bytes.remove(&file);
        self.places.retain(|_, places| {
            places.retain(|place| place.file != file);
            !places.is_empty()
        });
    }
}
