//! Pieces that an archive does not hold itself, as they lie in a file that was written before: what did not change is not written
//! again, and files that share a past share its bytes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io;

/// Shorter pieces are not worth a look into another file.
pub(crate) const SHARED_MIN_BYTES: usize = 4096;

/// Files beside an archive, by number.
pub trait Others: fmt::Debug + Send {
    /// Reads bytes of one of them.
    ///
    /// # Errors
    /// There is no such file, it is shorter, or the system refuses.
    fn read_at(&mut self, file: u64, offset: u64, bytes: &mut [u8]) -> io::Result<()>;

    /// What it is called, for messages.
    fn name(&self, file: u64) -> String;
}

/// Where a piece lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) file: u64,
    /// Of its first byte.
    pub(crate) offset: u64,
}

/// Where the pieces of an archive lie, by what they hold.
#[derive(Clone, Debug, Default)]
pub struct Pieces {
    /// By checksum and length. Pieces that agree in both are told apart by their bytes.
    places: BTreeMap<(u32, u32), BTreeSet<Place>>,
    bytes: BTreeMap<u64, u64>,
    digest: crc32fast::Hasher,
}

impl Pieces {
    /// CRC-32 of the checksums of all records and pieces, in their order: of an archive that was read or written to its end, it tells it from
    /// any other.
    pub fn digest(&self) -> u32 {
        self.digest.clone().finalize()
    }

    /// One more checksum.
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

    /// Files in which pieces lie, and the bytes of these pieces.
    pub fn files(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.bytes.iter().map(|(file, bytes)| (*file, *bytes))
    }

    /// Forgets the pieces of a file: what they hold is written again.
    pub fn forget(&mut self, file: u64) {
        self.bytes.remove(&file);
        self.places.retain(|_, places| {
            places.retain(|place| place.file != file);
            !places.is_empty()
        });
    }
}
