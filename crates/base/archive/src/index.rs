//! Where the pieces of an archive's tables lie, kept beside it: who reads a table later finds its pieces at once, instead of a head every 256 KiB.
//!
//! An index only saves reading. It counts for the archive whose digest it has, and an archive without one is looked through.

use serde::{Deserialize, Serialize};

use crate::shared::Place;

/// Fewest pieces for which an index is worth its file.
const PIECES_LEAST: usize = 64;

/// See the head of this file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Index {
    /// In the order of the archive.
    tables: Vec<Table>,
}

/// A table, and where its record begins and ends in the archive's own file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Table {
    pub(crate) begin: u64,
    pub(crate) end: u64,
    pub(crate) pieces: Vec<Piece>,
}

/// A piece: its checksum, as the digest has it, and what it is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Piece {
    pub(crate) checksum: u32,
    pub(crate) lies: Lies,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Lies {
    /// File and offset of its bytes.
    At(u64, u64),
    Repeated([u8; 4]),
}

impl Lies {
    pub(crate) const fn at(place: Place) -> Self {
        Self::At(place.file, place.offset)
    }
}

impl Index {
    pub(crate) fn push(&mut self, table: Table) {
        debug_assert!(table.begin < table.end, "a table has a head at least");
        self.tables.push(table);
    }

    /// The table whose record begins there.
    pub(crate) fn table(&self, begin: u64) -> Option<&Table> {
        let found = self.tables.binary_search_by_key(&begin, |table| table.begin);
        found.ok().map(|place| &self.tables[place])
    }

    /// As the bytes of a file, for an archive of this digest; `None` if it is not worth one.
    pub fn bytes(&self, digest: u32) -> Option<Vec<u8>> {
        let pieces: usize = self.tables.iter().map(|table| table.pieces.len()).sum();
        let mut bytes = (pieces >= PIECES_LEAST).then(|| postcard::to_allocvec(&(digest, self)).ok()).flatten()?;
        let checksum = crc32fast::hash(&bytes);
        bytes.extend_from_slice(&checksum.to_le_bytes());
        Some(bytes)
    }

    /// The same from these bytes; `None` if they are damaged, or of another archive.
    pub fn read(bytes: &[u8], digest: u32) -> Option<Self> {
        let (text, checksum) = bytes.split_last_chunk::<4>()?;
        if crc32fast::hash(text) != u32::from_le_bytes(*checksum) {
            return None;
        }
        let (of, index): (u32, Self) = postcard::from_bytes(text).ok()?;
        (of == digest).then_some(index)
    }
}
