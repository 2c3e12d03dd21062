//! Writes an archive.

use std::io::Write;
use std::sync::Arc;

use crate::index::{self, Index, Lies};
use crate::reader::LATER_LEAST_BYTES;
use crate::shared::{Place, SHARED_MIN_BYTES};
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
    /// Those of its large tables, and the table that is written.
    index: Index,
    table: Option<index::Table>,
    scratch: Vec<u8>,
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
        let mut writer = Self {
            out,
            file,
            offset: 0,
            known,
            pieces: Pieces::default(),
            index: Index::default(),
            table: None,
            scratch: Vec::new(),
        };
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
    pub fn finish_told(self) -> Result<(W, Pieces), ArchiveError> {
        let (out, pieces, _) = self.finish_indexed()?;
        Ok((out, pieces))
    }

    /// As [`Writer::finish_told`], and also returns the index of its large tables.
    ///
    /// # Errors
    /// The system refuses to write.
    pub fn finish_indexed(mut self) -> Result<(W, Pieces, Index), ArchiveError> {
        self.head("end", Kind::End, 0)?;
        let out = self.out.into_inner().map_err(std::io::IntoInnerError::into_error)?;
        Ok((out, self.pieces, self.index))
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

    fn piece(&mut self, form: Form, bytes: &[u8]) -> Result<(), ArchiveError> {
        debug_assert!(!bytes.is_empty(), "a piece has bytes");
        debug_assert!(bytes.len() <= PIECE_BYTES, "a piece is no longer than what one checksum covers");
        let mut checksum = crc32fast::Hasher::new();
        checksum.update(&[form as u8]);
        checksum.update(bytes);
        let checksum = checksum.finalize();
        self.pieces.note(checksum);
        if form == Form::Plain && bytes.len() >= SHARED_MIN_BYTES {
            if let Some(place) = self.elsewhere(checksum, bytes) {
                self.pieces.add(checksum, bytes.len(), place);
                return self.refer(place, checksum);
            }
            let place = Place { file: self.file, offset: self.offset + 1 };
            self.pieces.add(checksum, bytes.len(), place);
        }
        let lies = match bytes {
            [a, b, c, d] if form == Form::Repeated => Lies::Repeated([*a, *b, *c, *d]),
            _ => Lies::At(self.file, self.offset + 1),
        };
        self.note(checksum, lies);
        self.put(&[form as u8])?;
        self.put(bytes)?;
        self.put(&checksum.to_le_bytes())
    }

    /// Writes a piece of a table.
    fn part(&mut self, piece: &[u8]) -> Result<(), ArchiveError> {
        match repeated(piece) {
            Some(word) => self.piece(Form::Repeated, word),
            None => self.piece(Form::Plain, piece),
        }
    }

    /// Whether a piece that was not read lies in a file to which this one may refer.
    fn has(&self, later: &Later) -> bool {
        self.known.as_ref().is_some_and(|(known, _)| known.has(later.checksum, later.len(), later.place))
    }

    /// Writes a piece that was not read, by its place.
    fn again(&mut self, later: &Later) -> Result<(), ArchiveError> {
        let Later { place, checksum, .. } = *later;
        self.pieces.note(checksum);
        self.pieces.add(checksum, later.len(), place);
        self.refer(place, checksum)
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

    /// Takes note of a piece of the table that is written.
    fn note(&mut self, checksum: u32, lies: Lies) {
        if let Some(table) = &mut self.table {
            table.pieces.push(index::Piece { checksum, lies });
        }
    }

    /// Writes a table of this many bytes by its `pieces`, which are indexed if they are many.
    fn indexed(
        &mut self,
        name: &str,
        length: usize,
        pieces: impl FnOnce(&mut Self) -> Result<(), ArchiveError>,
    ) -> Result<(), ArchiveError> {
        let begin = self.offset;
        self.head(name, Kind::Table, length as u64)?;
        self.table = (length >= LATER_LEAST_BYTES).then(|| index::Table { begin, end: 0, pieces: Vec::new() });
        let written = pieces(self);
        if let Some(table) = self.table.take() {
            self.index.push(index::Table { end: self.offset, ..table });
        }
        written
    }

    fn refer(&mut self, place: Place, checksum: u32) -> Result<(), ArchiveError> {
        self.note(checksum, Lies::at(place));
        let mut record = vec![Form::Elsewhere as u8];
        record.extend_from_slice(&place.file.to_le_bytes());
        record.extend_from_slice(&place.offset.to_le_bytes());
        record.extend_from_slice(&checksum.to_le_bytes());
        debug_assert_eq!(record.len(), 1 + 20, "a reference is as long as readers expect");
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
        bytes.chunks(PIECE_BYTES).try_for_each(|piece| self.piece(Form::Plain, piece))
    }

    fn table_again(&mut self, name: &str, later: &Later) -> Result<bool, ArchiveError> {
        if !self.has(later) {
            return Ok(false);
        }
        self.head(name, Kind::Table, later.len() as u64)?;
        self.again(later)?;
        Ok(true)
    }

    fn table_partly(&mut self, name: &str, bytes: &mut [u8], unread: &[Option<Unread>]) -> Result<(), ArchiveError> {
        assert_eq!(unread.len(), bytes.len().div_ceil(PIECE_BYTES), "each piece is known to be read or not");
        let mut copy = Vec::new();
        self.indexed(name, bytes.len(), |writer| {
            bytes.chunks(PIECE_BYTES).zip(unread).try_for_each(|(piece, unread)| match unread {
                None => writer.part(piece),
                Some(Unread::Repeated(word)) => writer.piece(Form::Repeated, word),
                Some(Unread::At(later)) if writer.has(later) => writer.again(later),
                Some(Unread::At(later)) => {
                    copy.resize(piece.len(), 0);
                    later.read(&mut copy)?;
                    writer.part(&copy)
                }
            })
        })
    }

    fn table(&mut self, name: &str, bytes: &mut [u8]) -> Result<(), ArchiveError> {
        self.indexed(name, bytes.len(), |writer| bytes.chunks(PIECE_BYTES).try_for_each(|piece| writer.part(piece)))
    }
}

/// The word that a piece repeats, if it consists of one.
fn repeated(piece: &[u8]) -> Option<&[u8]> {
    if piece.len() <= WORD || !piece.len().is_multiple_of(WORD) {
        return None;
    }
    (piece[WORD..] == piece[..piece.len() - WORD]).then_some(&piece[..WORD])
}
