//! Reads an archive.

use std::io::{BufReader, ErrorKind, Read, Seek};
use std::sync::Arc;

use crate::changes::apply_changes;
use crate::index::{Base, Index, Lies, List, Piece};
use crate::record;
use crate::shared::{Place, plain_checksum};
use crate::writer::WORD;
use crate::{Archive, ArchiveError, Form, Found, Kind, MAGIC, Others, PIECE_BYTES, Pieces, Unread};

/// Shortest table of which pieces are read later. A shorter one is read sooner than it is found.
pub(crate) const LATER_LEAST_BYTES: usize = 1 << 14;

/// Reads state that a [`crate::Writer`] wrote. Reads are large except for short fields, which a buffer makes cheap.
#[derive(Debug)]
pub struct Reader<R: Read> {
    from: R,
    /// The field that was read last, for messages.
    last: String,
    /// Number of the file that is read, and the bytes read of it so far.
    file: u64,
    offset: u64,
    /// Other files in which pieces may lie.
    others: Option<Arc<dyn Others>>,
    /// Where its pieces lie.
    pieces: Pieces,
    /// Leaves bytes out. Without it every table is read at once.
    skip: Option<fn(&mut R, i64) -> std::io::Result<()>>,
    /// Where the pieces of its large tables lie, if that is known.
    index: Option<Index>,
}

impl<R: Read + Seek> Reader<BufReader<R>> {
    /// As [`Reader::beside`], for a file of which tables may be read later ([`Archive::table_later`]). `others` have the file itself, too.
    ///
    /// # Errors
    /// As of [`Reader::beside`].
    pub fn late(from: BufReader<R>, file: u64, others: Arc<dyn Others>) -> Result<Self, ArchiveError> {
        let mut reader = Self::beside(from, file, Some(others))?;
        reader.skip = Some(BufReader::seek_relative);
        Ok(reader)
    }

    /// Lets it find the pieces of its large tables by an index of the archive.
    pub fn indexed(mut self, index: Option<Index>) -> Self {
        self.index = index;
        self
    }

    /// Finds where the pieces of an archive with any content lie, without reading and verifying them.
    ///
    /// # Errors
    /// It is not an archive, damaged in what was read, or cut short.
    pub fn skim(mut self) -> Result<Pieces, ArchiveError> {
        let mut small = Vec::new();
        loop {
            let begin = self.offset;
            let (name, kind, mut left) = self.any_head()?;
            self.last = name;
            if kind == Kind::Table as u8 {
                if self.by_index(begin, left as usize)?.is_some() {
                    continue;
                }
                self.pieces.begin_table(begin, left as usize);
            }
            while left > 0 {
                let length = left.min(PIECE_BYTES as u64) as usize;
                left -= length as u64;
                if self.piece_later(length)?.is_none() {
                    small.resize(length, 0);
                    self.piece(&mut small)?;
                }
            }
            self.pieces.end_table(self.offset);
            if kind == Kind::End as u8 {
                return Ok(self.pieces);
            }
        }
    }
}

impl<R: Read> Reader<R> {
    /// Begins to read an archive.
    ///
    /// # Errors
    /// It is not an archive, or of an unknown version.
    pub fn new(from: R) -> Result<Self, ArchiveError> {
        Self::beside(from, 0, None)
    }

    /// Begins to read the archive in file number `file`. Some of its pieces may lie in `others`.
    ///
    /// # Errors
    /// It is not an archive, or of an unknown version.
    pub fn beside(from: R, file: u64, others: Option<Arc<dyn Others>>) -> Result<Self, ArchiveError> {
        let last = "its first bytes".to_owned();
        let mut reader =
            Self { from, last, file, offset: 0, others, pieces: Pieces::default(), skip: None, index: None };
        let mut magic = [0; MAGIC.len()];
        reader.exactly(&mut magic).map_err(|error| match error {
            ArchiveError::CutShort { .. } => ArchiveError::NotAnArchive,
            other => other,
        })?;
        let text = |bytes: &[u8]| bytes.escape_ascii().to_string();
        let named = MAGIC.len() - 2;
        if magic[..named] != MAGIC[..named] {
            return Err(ArchiveError::NotAnArchive);
        }
        if magic != MAGIC {
            return Err(ArchiveError::Version { found: text(&magic[named..]), known: text(&MAGIC[named..]) });
        }
        Ok(reader)
    }

    /// Reads the archive's end, which must also be the end of its file.
    ///
    /// # Errors
    /// There is something else.
    pub fn finish(self) -> Result<(), ArchiveError> {
        self.finish_told().map(|_| ())
    }

    /// As [`Reader::finish`], but returns where the archive's pieces lie.
    ///
    /// # Errors
    /// There is something else.
    pub fn finish_told(mut self) -> Result<Pieces, ArchiveError> {
        self.head("end", Kind::End)?;
        match self.from.read(&mut [0])? {
            0 => Ok(self.pieces),
            _ => Err(ArchiveError::TooLong),
        }
    }

    /// Reads an archive with any content to its end and verifies every checksum. Returns where its pieces lie.
    ///
    /// # Errors
    /// It is not an archive, damaged, or cut short.
    pub fn verify(self) -> Result<Pieces, ArchiveError> {
        let mut reader = self;
        let mut piece = vec![0; PIECE_BYTES];
        loop {
            let begin = reader.offset;
            let (name, kind, mut left) = reader.any_head()?;
            reader.last = name;
            if kind == Kind::Table as u8 {
                reader.pieces.begin_table(begin, left as usize);
            }
            while left > 0 {
                let count = left.min(PIECE_BYTES as u64) as usize;
                reader.piece(&mut piece[..count])?;
                left -= count as u64;
            }
            reader.pieces.end_table(reader.offset);
            if kind == Kind::End as u8 {
                return match reader.from.read(&mut [0])? {
                    0 => Ok(reader.pieces),
                    _ => Err(ArchiveError::TooLong),
                };
            }
        }
    }

    fn exactly(&mut self, bytes: &mut [u8]) -> Result<(), ArchiveError> {
        self.from.read_exact(bytes).map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => ArchiveError::CutShort { name: self.last.clone() },
            _ => error.into(),
        })?;
        self.offset += bytes.len() as u64;
        Ok(())
    }

    fn damaged(&self) -> ArchiveError {
        ArchiveError::Damaged { name: self.last.clone() }
    }

    fn check(&mut self, checksum: u32) -> Result<(), ArchiveError> {
        let mut written = [0; 4];
        self.exactly(&mut written)?;
        if u32::from_le_bytes(written) == checksum { Ok(()) } else { Err(self.damaged()) }
    }

    /// Reads the head of the next record: name, kind and length.
    fn any_head(&mut self) -> Result<(String, u8, u64), ArchiveError> {
        let mut head = vec![0];
        self.exactly(&mut head)?;
        let count = usize::from(head[0]);
        head.resize(1 + count + 1 + 8, 0);
        self.exactly(&mut head[1..])?;
        let checksum = crc32fast::hash(&head);
        self.check(checksum)?;
        self.pieces.note(checksum);
        let mut length = [0; 8];
        length.copy_from_slice(&head[count + 2..]);
        let name = String::from_utf8_lossy(&head[1..=count]).into_owned();
        Ok((name, head[1 + count], u64::from_le_bytes(length)))
    }

    /// Reads the head of a record, which must have this name and kind. Returns its length.
    fn head(&mut self, name: &str, kind: Kind) -> Result<u64, ArchiveError> {
        let (found, found_kind, length) = self.any_head()?;
        if found != name || found_kind != kind as u8 {
            return Err(ArchiveError::AnotherField { found, wanted: name.to_owned() });
        }
        self.last = found;
        Ok(length)
    }

    /// Reads one piece to its place.
    fn piece(&mut self, bytes: &mut [u8]) -> Result<(), ArchiveError> {
        debug_assert!(!bytes.is_empty(), "a piece has bytes");
        debug_assert!(bytes.len() <= PIECE_BYTES, "a piece is no longer than what one checksum covers");
        let mut form = [0];
        self.exactly(&mut form)?;
        if form[0] == Form::Plain as u8 {
            let lies = Lies::At(self.file, self.offset);
            self.exactly(bytes)?;
            let checksum = plain_checksum(bytes);
            self.pieces.push(Piece { checksum, lies }, bytes.len());
            return self.check(checksum);
        }
        let piece = self.record(form[0])?;
        self.pieces.push(piece, bytes.len());
        match piece.lies {
            Lies::Repeated(word) => {
                if !bytes.len().is_multiple_of(WORD) {
                    return Err(self.damaged());
                }
                repeat(word, bytes);
                Ok(())
            }
            Lies::Changed(_, list) if self.follows(&list) => {
                let mut changes = vec![0; list.length as usize];
                self.exactly(&mut changes)?;
                if plain_checksum(&changes) != list.checksum {
                    return Err(self.damaged());
                }
                let base = Piece { lies: piece.base().lies(), ..piece };
                self.unread(&base, bytes.len())?.read(bytes)?;
                apply_changes(&changes, bytes).ok_or_else(|| self.damaged())
            }
            _ => self.unread(&piece, bytes.len())?.read(bytes),
        }
    }

    /// Whether a list of changes comes next.
    fn follows(&self, list: &List) -> bool {
        list.place == Place { file: self.file, offset: self.offset }
    }

    /// A piece that lies in another file, for who reads it later.
    fn unread(&self, piece: &Piece, length: usize) -> Result<Unread, ArchiveError> {
        let whole_words = length.is_multiple_of(WORD) || matches!(piece.lies, Lies::At(..));
        match (&self.others, piece.base()) {
            _ if !whole_words => Err(self.damaged()),
            (Some(files), _) => Ok(piece.unread(length, files, &self.last)),
            (None, Base::Repeated(word)) if matches!(piece.lies, Lies::Repeated(_)) => Ok(Unread::Repeated(word)),
            (None, _) => Err(self.damaged()),
        }
    }
}

/// Fills `bytes` with a word. A memory page that already holds it is not touched, since it may not be allocated yet.
pub(crate) fn repeat(word: [u8; WORD], bytes: &mut [u8]) {
    for place in bytes.chunks_mut(1 << 12) {
        if !place.chunks_exact(WORD).all(|held| held == word) {
            place.chunks_exact_mut(WORD).for_each(|held| held.copy_from_slice(&word));
        }
    }
}

impl<R: Read> Reader<R> {
    /// Reads the rest of a piece of this form that has no bytes of its own, but for a list of changes.
    fn record(&mut self, form: u8) -> Result<Piece, ArchiveError> {
        let mut record = vec![form];
        record.resize(
            1 + match form {
                form if form == Form::Repeated as u8 => WORD,
                form if form == Form::Elsewhere as u8 => record::ELSEWHERE,
                form if form == Form::Changed as u8 => record::CHANGED,
                _ => return Err(self.damaged()),
            },
            0,
        );
        self.exactly(&mut record[1..])?;
        let checksum = crc32fast::hash(&record);
        self.check(checksum)?;
        match record[1..].first_chunk::<WORD>() {
            Some(word) if form == Form::Repeated as u8 => Ok(Piece { checksum, lies: Lies::Repeated(*word) }),
            _ => record::decode(&record[1..]).ok_or_else(|| self.damaged()),
        }
    }

    /// Reads the head of a table that must have this length.
    fn table_head(&mut self, name: &str, wanted: usize) -> Result<(), ArchiveError> {
        let length = self.head(name, Kind::Table)?;
        if length == wanted as u64 {
            return Ok(());
        }
        let (found, wanted) = (format!("{length} B long"), format!("{wanted} B"));
        Err(ArchiveError::AnotherDrive { name: name.to_owned(), found, wanted })
    }

    /// The pieces of a table of `length` bytes whose record begins there and whose head was read, if the index has them.
    fn by_index(&mut self, begin: u64, length: usize) -> Result<Option<Vec<Unread>>, ArchiveError> {
        let (Some(skip), Some(files)) = (self.skip, self.others.clone()) else { return Ok(None) };
        let Some(index) = self.index.take() else { return Ok(None) };
        let table = index.table(begin).filter(|table| table.pieces.len() == length.div_ceil(PIECE_BYTES));
        let mut unread = table.map(|table| Vec::with_capacity(table.pieces.len()));
        if let (Some(table), Some(unread)) = (table, &mut unread) {
            self.pieces.begin_table(begin, length);
            for (number, piece) in table.pieces.iter().enumerate() {
                let length = PIECE_BYTES.min(length - number * PIECE_BYTES);
                self.pieces.push(*piece, length);
                unread.push(piece.unread(length, &files, &self.last));
            }
            let left = table.end.checked_sub(self.offset).ok_or_else(|| self.damaged())?;
            skip(&mut self.from, left as i64)?;
            self.offset = table.end;
            self.pieces.end_table(table.end);
        }
        self.index = Some(index);
        Ok(unread)
    }

    /// Finds the place of a piece, and leaves its bytes out. `None`: nothing was read, and the piece is to be read at once.
    fn piece_later(&mut self, length: usize) -> Result<Option<Unread>, ArchiveError> {
        let Some(skip) = self.skip else { return Ok(None) };
        let mut form = [0];
        self.exactly(&mut form)?;
        let piece = if form[0] == Form::Plain as u8 {
            let lies = Lies::At(self.file, self.offset);
            self.leave_out(skip, length)?;
            let mut checksum = [0; 4];
            self.exactly(&mut checksum)?;
            Piece { checksum: u32::from_le_bytes(checksum), lies }
        } else {
            let piece = self.record(form[0])?;
            if let Lies::Changed(_, list) = piece.lies
                && self.follows(&list)
            {
                self.leave_out(skip, list.length as usize)?;
            }
            piece
        };
        self.pieces.push(piece, length);
        self.unread(&piece, length).map(Some)
    }

    fn leave_out(&mut self, skip: fn(&mut R, i64) -> std::io::Result<()>, length: usize) -> Result<(), ArchiveError> {
        skip(&mut self.from, length as i64)?;
        self.offset += length as u64;
        Ok(())
    }
}

impl<R: Read> Archive for Reader<R> {
    fn is_reading(&self) -> bool {
        true
    }

    fn value(&mut self, name: &str, bytes: &mut Vec<u8>) -> Result<(), ArchiveError> {
        let mut left = self.head(name, Kind::Value)?;
        bytes.clear();
        // Allocates as much as was found, not as much as the file claims.
        while left > 0 {
            let (from, count) = (bytes.len(), left.min(PIECE_BYTES as u64) as usize);
            bytes.resize(from + count, 0);
            self.piece(&mut bytes[from..])?;
            left -= count as u64;
        }
        Ok(())
    }

    fn table_later(&mut self, name: &str, length: usize) -> Result<Found, ArchiveError> {
        if self.skip.is_none() || length == 0 || length > PIECE_BYTES {
            return Ok(Found::Unread);
        }
        let begin = self.offset;
        self.table_head(name, length)?;
        self.pieces.begin_table(begin, length);
        let found = self.piece_later(length)?;
        self.pieces.end_table(self.offset);
        match found {
            Some(Unread::At(later)) => Ok(Found::Later(later)),
            Some(Unread::Repeated(word)) => Ok(Found::Repeated(word)),
            // Nobody writes a table of one piece as what changed of it.
            _ => Err(self.damaged()),
        }
    }

    fn pieces_later(&mut self, name: &str, length: usize) -> Result<Option<Vec<Unread>>, ArchiveError> {
        if self.skip.is_none() || length < LATER_LEAST_BYTES || !length.is_multiple_of(WORD) {
            return Ok(None);
        }
        let begin = self.offset;
        self.table_head(name, length)?;
        if let Some(pieces) = self.by_index(begin, length)? {
            return Ok(Some(pieces));
        }
        self.pieces.begin_table(begin, length);
        let mut pieces = Vec::with_capacity(length.div_ceil(PIECE_BYTES));
        let mut left = length;
        while left > 0 {
            let count = left.min(PIECE_BYTES);
            pieces.push(self.piece_later(count)?.ok_or_else(|| self.damaged())?);
            left -= count;
        }
        self.pieces.end_table(self.offset);
        Ok(Some(pieces))
    }

    fn table(&mut self, name: &str, bytes: &mut [u8]) -> Result<(), ArchiveError> {
        let begin = self.offset;
        self.table_head(name, bytes.len())?;
        self.pieces.begin_table(begin, bytes.len());
        bytes.chunks_mut(PIECE_BYTES).try_for_each(|piece| self.piece(piece))?;
        self.pieces.end_table(self.offset);
        Ok(())
    }
}
