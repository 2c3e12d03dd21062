//! Pieces that an archive does not hold itself, since they lie in a file that was written before. Unchanged pieces are not written
//! again, and files with a common past share its bytes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;
use std::sync::Arc;

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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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
        let name = || format!("{} in {}", self.name, self.files.name(file));
        self.files.read_at(file, offset, bytes).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => ArchiveError::CutShort { name: name() },
            _ => error.into(),
        })?;
        if plain_checksum(bytes) == self.checksum { Ok(()) } else { Err(ArchiveError::Damaged { name: name() }) }
    }
}

/// The checksum of a piece that is written as it is.
pub(crate) fn plain_checksum(bytes: &[u8]) -> u32 {
    let mut checksum = crc32fast::Hasher::new();
    checksum.update(&[Form::Plain as u8]);
    checksum.update(bytes);
    checksum.finalize()
}

/// Where the pieces of an archive lie, by their content.
#[derive(Clone, Debug, Default)]
pub struct Pieces {
    /// By checksum and length. If both are equal, the bytes are compared.
    places: BTreeMap<(u32, u32), BTreeSet<Place>>,
    bytes: BTreeMap<u64, u64>,
    digest: crc32fast::Hasher,
}

impl Pieces {
    /// CRC-32 of the checksums of all records and pieces, in order. For an archive that was read or written to its end it identifies
    /// the archive.
    pub fn digest(&self) -> u32 {
        self.digest.clone().finalize()
    }

    /// Adds a checksum to the digest.
    pub(crate) fn note(&mut self, checksum: u32) {
        self.digest.update(&checksum.to_le_bytes());
    }

    pub(crate) fn add(&mut self, checksum: u32, length: usize, place: Place) {
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
