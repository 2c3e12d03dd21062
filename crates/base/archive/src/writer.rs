//! Writes an archive.

use std::io::Write;
use std::sync::Arc;

use crate::changes::list_changes;
use crate::index::{Base, Lies, List, Piece};
use crate::record;
use crate::shared::{Place, SHARED_MIN_BYTES, plain_checksum, repeated_checksum};
use crate::{Archive, ArchiveError, Form, Kind, Later, MAGIC, Others, PIECE_BYTES, Pieces, Unread};

/// Bytes of the word that a piece repeats.
pub(crate) const WORD: usize = 4;

/// Writes state to any [`Write`]. Writes are large, so only short fields gain from a buffer.
#[derive(Debug)]
pub struct Writer<W: Write> {
    out: std::io::BufWriter<W>,
    /// Number of the file that is written, and the bytes written to it so far.
    file: u64,
    offset: u64,
    /// Pieces that need not be written again, and the files in which they lie.
    known: Option<(Pieces, Arc<dyn Others>)>,
    /// Where its pieces lie.
    pieces: Pieces,
    /// Number of the known large table behind the last one that was like one of this archive.
    next: usize,
    scratch: Vec<u8>,
    changes: Vec<u8>,
}

impl<W: Write> Writer<W> {
    /// Begins an archive.
    ///
    /// # Errors
    /// The system refuses to write.
    pub fn new(out: W) -> Result<Self, ArchiveError> {
        Self::beside(out, 0, None)
    }

    /// Begins an archive in file number `file`. It need not hold `known` pieces, which lie in other files.
    ///
    /// # Errors
    /// The system refuses to write.
    pub fn beside(out: W, file: u64, known: Option<(Pieces, Arc<dyn Others>)>) -> Result<Self, ArchiveError> {
        let out = std::io::BufWriter::with_capacity(1 << 16, out);
        let (pieces, scratch, changes) = (Pieces::default(), Vec::new(), Vec::new());
        let mut writer = Self { out, file, offset: 0, known, pieces, next: 0, scratch, changes };
        writer.put(&MAGIC)?;
        Ok(writer)
    }

    /// Ends the archive and returns its file.
    ///
    /// # Errors
    /// The system refuses to write.
    pub fn finish(self) -> Result<W, ArchiveError> {
        Ok(self.finish_told()?.0)
    }

    /// As [`Writer::finish`], and also returns where the archive's pieces lie.
    ///
    /// # Errors
    /// The system refuses to write.
    pub fn finish_told(mut self) -> Result<(W, Pieces), ArchiveError> {
        self.head("end", Kind::End, 0)?;
        let out = self.out.into_inner().map_err(std::io::IntoInnerError::into_error)?;
        Ok((out, self.pieces))
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), ArchiveError> {
        self.offset += bytes.len() as u64;
        Ok(self.out.write_all(bytes)?)
    }

    fn head(&mut self, name: &str, kind: Kind, length: u64) -> Result<(), ArchiveError> {
        let count = u8::try_from(name.len()).expect("names of fields are short");
        let mut head = Vec::with_capacity(name.len() + 14);
        head.push(count);
        head.extend_from_slice(name.as_bytes());
        head.push(kind as u8);
        head.extend_from_slice(&length.to_le_bytes());
        let checksum = crc32fast::hash(&head);
        head.extend_from_slice(&checksum.to_le_bytes());
        debug_assert_eq!(head.len(), name.len() + 14, "a head is as long as readers expect");
        self.pieces.note(checksum);
        self.put(&head)
    }

    /// Writes a piece as it is, or by its place if that is known.
    fn plain(&mut self, bytes: &[u8], was: Option<Piece>) -> Result<(), ArchiveError> {
        debug_assert!(!bytes.is_empty(), "a piece has bytes");
        debug_assert!(bytes.len() <= PIECE_BYTES, "a piece is no longer than what one checksum covers");
        let checksum = plain_checksum(bytes);
        if bytes.len() >= SHARED_MIN_BYTES {
            if let Some(place) = self.elsewhere(checksum, bytes) {
                return self.refer(place, checksum, bytes.len());
            }
            if let Some(base) = was.filter(|was| self.list(was, bytes)) {
                let changes = std::mem::take(&mut self.changes);
                let written = self.changed(base, bytes.len(), &changes);
                self.changes = changes;
                return written;
            }
        }
        self.pieces.push(Piece { checksum, lies: Lies::At(self.file, self.offset + 1) }, bytes.len());
        self.put(&[Form::Plain as u8])?;
        self.put(bytes)?;
        self.put(&checksum.to_le_bytes())
    }

    /// Writes a piece of a table, which was this one before.
    fn part(&mut self, piece: &[u8], was: Option<Piece>) -> Result<(), ArchiveError> {
        match repeated(piece) {
            Some(word) => self.repeat(word, piece.len()),
            None => self.plain(piece, was),
        }
    }

    /// Writes a piece of `length` bytes that repeats a word.
    fn repeat(&mut self, word: [u8; WORD], length: usize) -> Result<(), ArchiveError> {
        let checksum = repeated_checksum(word);
        self.pieces.push(Piece { checksum, lies: Lies::Repeated(word) }, length);
        self.put(&[Form::Repeated as u8])?;
        self.put(&word)?;
        self.put(&checksum.to_le_bytes())
    }

    /// Lists what of a piece differs from what was there before. Returns false if all of it did, or that cannot be referred to.
    fn list(&mut self, was: &Piece, bytes: &[u8]) -> bool {
        let Some((known, others)) = &self.known else { return false };
        let mut old = std::mem::take(&mut self.scratch);
        old.resize(PIECE_BYTES.max(bytes.len()), 0);
        let base = &mut old[..bytes.len()];
        let is_there = match was.base() {
            Base::Repeated(word) => {
                crate::reader::repeat(word, base);
                bytes.len().is_multiple_of(WORD)
            }
            // A damaged base would make the piece unreadable, of which all is at hand.
            Base::At(place) => {
                known.has(was.checksum, bytes.len(), place)
                    && others.read_at(place.file, place.offset, base).is_ok()
                    && plain_checksum(base) == was.checksum
            }
        };
        let is_short = is_there && list_changes(base, bytes, &mut self.changes);
        self.scratch = old;
        is_short
    }

    /// Whether bytes that were not read lie in a file to which this one may refer.
    fn has(&self, later: &Later) -> bool {
        self.known.as_ref().is_some_and(|(known, _)| known.has(later.checksum, later.len(), later.place))
    }

    /// Writes a piece of `length` bytes that was not read, by its place. Returns false, and writes nothing, if this one may not refer to that.
    fn again(&mut self, unread: &Unread, length: usize) -> Result<bool, ArchiveError> {
        match unread {
            Unread::Repeated(word) => self.repeat(*word, length)?,
            Unread::At(later) if self.has(later) => self.refer(later.place, later.checksum, length)?,
            Unread::At(_) => return Ok(false),
            Unread::Changed(base, list) => {
                let (base, checksum) = match &**base {
                    Unread::Repeated(word) => (Base::Repeated(*word), repeated_checksum(*word)),
                    Unread::At(later) if self.has(later) => (Base::At(later.place), later.checksum),
                    Unread::At(_) | Unread::Changed(..) => return Ok(false),
                };
                let place = List { place: list.place, length: list.length, checksum: list.checksum };
                let piece = Piece { checksum, lies: Lies::Changed(base, place) };
                if self.has(list) {
                    self.record(piece, length)?;
                } else {
                    let mut changes = vec![0; list.len()];
                    list.read(&mut changes)?;
                    self.changed(piece, length, &changes)?;
                }
            }
        }
        Ok(true)
    }

    /// Where exactly these bytes already lie in another file.
    fn elsewhere(&mut self, checksum: u32, bytes: &[u8]) -> Option<Place> {
        let (known, others) = self.known.as_mut()?;
        self.scratch.resize(PIECE_BYTES.max(bytes.len()), 0);
        let found = &mut self.scratch[..bytes.len()];
        known
            .find(checksum, bytes.len())
            .find(|place| others.read_at(place.file, place.offset, found).is_ok() && *found == *bytes)
    }

    /// Writes a table of this many bytes by its `pieces`, each with what it was before.
    fn pieces(
        &mut self,
        name: &str,
        length: usize,
        mut piece: impl FnMut(&mut Self, usize, Option<Piece>) -> Result<(), ArchiveError>,
    ) -> Result<(), ArchiveError> {
        let begin = self.offset;
        self.head(name, Kind::Table, length as u64)?;
        self.pieces.begin_table(begin, length);
        let count = length.div_ceil(PIECE_BYTES);
        let mut was = Vec::new();
        // Of a table in one piece there are many, and little is saved.
        if let Some((known, _)) = self.known.as_ref().filter(|_| count > 1)
            && let Some((number, table)) = known.index().like(self.next, count)
        {
            self.next = number + 1;
            was.clone_from(&table.pieces);
        }
        for number in 0..count {
            piece(self, number, was.get(number).copied())?;
        }
        self.pieces.end_table(self.offset);
        Ok(())
    }

    fn refer(&mut self, place: Place, checksum: u32, length: usize) -> Result<(), ArchiveError> {
        self.record(Piece { checksum, lies: Lies::At(place.file, place.offset) }, length)
    }

    /// Writes a piece of `length` bytes as what it was before, and this list of changes.
    fn changed(&mut self, was: Piece, length: usize, changes: &[u8]) -> Result<(), ArchiveError> {
        let place = Place { file: self.file, offset: self.offset + record::TO_LIST };
        let list = List { place, length: changes.len() as u32, checksum: plain_checksum(changes) };
        self.record(Piece { checksum: was.checksum, lies: Lies::Changed(was.base(), list) }, length)?;
        debug_assert_eq!(self.offset, place.offset, "the list follows its record");
        self.put(changes)
    }

    /// Writes the record of a piece that lies in another file, in whole or in part.
    fn record(&mut self, piece: Piece, length: usize) -> Result<(), ArchiveError> {
        self.pieces.push(piece, length);
        let record = record::encode(&piece);
        let own = crc32fast::hash(&record);
        self.put(&record)?;
        self.put(&own.to_le_bytes())
    }
}

impl<W: Write> Archive for Writer<W> {
    fn is_reading(&self) -> bool {
        false
    }

    fn value(&mut self, name: &str, bytes: &mut Vec<u8>) -> Result<(), ArchiveError> {
        self.head(name, Kind::Value, bytes.len() as u64)?;
        bytes.chunks(PIECE_BYTES).try_for_each(|piece| self.plain(piece, None))
    }

    fn table_again(&mut self, name: &str, later: &Later) -> Result<bool, ArchiveError> {
        if !self.has(later) {
            return Ok(false);
        }
        self.head(name, Kind::Table, later.len() as u64)?;
        self.refer(later.place, later.checksum, later.len())?;
        Ok(true)
    }

    fn table_partly(&mut self, name: &str, bytes: &mut [u8], unread: &[Option<Unread>]) -> Result<(), ArchiveError> {
        assert_eq!(unread.len(), bytes.len().div_ceil(PIECE_BYTES), "each piece is known to be read or not");
        let mut copy = Vec::new();
        self.pieces(name, bytes.len(), |writer, number, was| {
            let piece = &bytes[number * PIECE_BYTES..bytes.len().min((number + 1) * PIECE_BYTES)];
            let Some(unread) = &unread[number] else { return writer.part(piece, was) };
            if writer.again(unread, piece.len())? {
                return Ok(());
            }
            copy.resize(piece.len(), 0);
            unread.read(&mut copy)?;
            writer.part(&copy, was)
        })
    }

    fn table(&mut self, name: &str, bytes: &mut [u8]) -> Result<(), ArchiveError> {
        self.pieces(name, bytes.len(), |writer, number, was| {
            writer.part(&bytes[number * PIECE_BYTES..bytes.len().min((number + 1) * PIECE_BYTES)], was)
        })
    }
}

/// The word that a piece repeats, if it consists of one.
fn repeated(piece: &[u8]) -> Option<[u8; WORD]> {
    if piece.len() <= WORD || !piece.len().is_multiple_of(WORD) {
        return None;
    }
    let word = *piece.first_chunk::<WORD>()?;
    (piece[WORD..] == piece[..piece.len() - WORD]).then_some(word)
}
