//! Where the pieces of an archive's tables lie, by their position. Who writes the next archive finds there what each piece was, and who reads a table
//! later finds its pieces at once, instead of a head every 256 KiB, if the index was kept beside the archive.
//!
//! A kept index only saves reading. It counts for the archive whose digest it has, and an archive without one is looked through.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::shared::{Later, Place};
use crate::{Others, PIECE_BYTES, Unread};

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

/// A piece: a checksum, that of its bytes or of those that changed, and where it lies.
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
    /// What it was before, and a list of the words that changed.
    Changed(Base, List),
}

/// Where all of an earlier piece lies.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Base {
    At(Place),
    Repeated([u8; 4]),
}

impl Base {
    pub(crate) const fn lies(self) -> Lies {
        match self {
            Self::At(Place { file, offset }) => Lies::At(file, offset),
            Self::Repeated(word) => Lies::Repeated(word),
        }
    }
}

/// A list of changes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct List {
    pub(crate) place: Place,
    pub(crate) length: u32,
    pub(crate) checksum: u32,
}

impl Piece {
    /// The earlier piece that all of it, or what did not change of it, is.
    pub(crate) const fn base(&self) -> Base {
        match self.lies {
            Lies::At(file, offset) => Base::At(Place { file, offset }),
            Lies::Repeated(word) => Base::Repeated(word),
            Lies::Changed(base, _) => base,
        }
    }

    /// The same for who reads it later, as a piece of `length` bytes of the field `name`.
    pub(crate) fn unread(&self, length: usize, files: &Arc<dyn Others>, name: &str) -> Unread {
        let later = |place, length, checksum| {
            let (files, name) = (Arc::clone(files), name.to_owned());
            Later { files, place, length, checksum, name }
        };
        let base = match self.base() {
            Base::At(place) => Unread::At(later(place, length as u32, self.checksum)),
            Base::Repeated(word) => Unread::Repeated(word),
        };
        match self.lies {
            Lies::Changed(_, list) => Unread::Changed(Box::new(base), later(list.place, list.length, list.checksum)),
            _ => base,
        }
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

    /// The first table from number `from` on that has this many pieces, and its number.
    pub(crate) fn like(&self, from: usize, pieces: usize) -> Option<(usize, &Table)> {
        let mut tables = self.tables.iter().enumerate().skip(from);
        tables.find(|(_, table)| table.pieces.len() == pieces)
    }

    /// As the bytes of a file, for an archive of this digest; `None` if it is not worth one.
    pub(crate) fn bytes(&self, digest: u32) -> Option<Vec<u8>> {
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
        let lists = index.tables.iter().flat_map(|table| &table.pieces).filter_map(|piece| match piece.lies {
            Lies::Changed(_, list) => Some(list.length as usize),
            _ => None,
        });
        // wane writes no list that is longer than a piece, and a reader takes as much memory as the index says.
        let is_ours = of == digest && lists.max().is_none_or(|longest| longest <= PIECE_BYTES);
        is_ours.then_some(index)
    }
}
