//! Reads an archive.

use std::io::{ErrorKind, Read};

use crate::shared::Place;
use crate::writer::WORD;
use crate::{Archive, ArchiveError, Form, Kind, MAGIC, Others, PIECE_BYTES, Pieces};

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
    others: Option<Box<dyn Others>>,
    /// Where its pieces lie.
    pieces: Pieces,
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
    pub fn beside(from: R, file: u64, others: Option<Box<dyn Others>>) -> Result<Self, ArchiveError> {
        let last = "its first bytes".to_owned();
        let mut reader = Self { from, last, file, offset: 0, others, pieces: Pieces::default() };
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
            let (name, kind, mut left) = reader.any_head()?;
            reader.last = name;
            while left > 0 {
                let count = left.min(PIECE_BYTES as u64) as usize;
                reader.piece(&mut piece[..count])?;
                left -= count as u64;
            }
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
        let mut checksum = crc32fast::Hasher::new();
        checksum.update(&form);
        match form[0] {
            form if form == Form::Plain as u8 => {
                let place = Place { file: self.file, offset: self.offset };
                self.exactly(bytes)?;
                checksum.update(bytes);
                let checksum = checksum.finalize();
                self.pieces.note(checksum);
                self.pieces.add(checksum, bytes.len(), place);
                self.check(checksum)
            }
            form if form == Form::Elsewhere as u8 => {
                let mut record = [0; 20];
                self.exactly(&mut record)?;
                checksum.update(&record);
                self.check(checksum.finalize())?;
                self.elsewhere(record, bytes)
            }
            form if form == Form::Repeated as u8 => {
                let mut word = [0; WORD];
                self.exactly(&mut word)?;
                checksum.update(&word);
                let checksum = checksum.finalize();
                self.pieces.note(checksum);
                self.check(checksum)?;
                if !bytes.len().is_multiple_of(WORD) {
                    return Err(self.damaged());
                }
                // A memory page that already holds the word is not touched, since it may not be allocated yet.
                for place in bytes.chunks_mut(1 << 12) {
                    if !place.chunks_exact(WORD).all(|held| held == word) {
                        place.chunks_exact_mut(WORD).for_each(|held| held.copy_from_slice(&word));
                    }
                }
                Ok(())
            }
            _ => Err(self.damaged()),
        }
    }
}

impl<R: Read> Reader<R> {
    /// Reads a piece that lies in another file.
    fn elsewhere(&mut self, record: [u8; 20], bytes: &mut [u8]) -> Result<(), ArchiveError> {
        let mut words = record.chunks(8).map(|word| {
            let mut whole = [0; 8];
            whole[..word.len()].copy_from_slice(word);
            u64::from_le_bytes(whole)
        });
        let (file, offset, wanted) =
            (words.next().unwrap_or(0), words.next().unwrap_or(0), words.next().unwrap_or(0) as u32);
        let Some(others) = &mut self.others else { return Err(self.damaged()) };
        let name = format!("{} in {}", self.last, others.name(file));
        others.read_at(file, offset, bytes).map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => ArchiveError::CutShort { name: name.clone() },
            _ => error.into(),
        })?;
        let mut checksum = crc32fast::Hasher::new();
        checksum.update(&[Form::Plain as u8]);
        checksum.update(bytes);
        if checksum.finalize() != wanted {
            return Err(ArchiveError::Damaged { name });
        }
        self.pieces.note(wanted);
        self.pieces.add(wanted, bytes.len(), Place { file, offset });
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

    fn table(&mut self, name: &str, bytes: &mut [u8]) -> Result<(), ArchiveError> {
        let length = self.head(name, Kind::Table)?;
        if length != bytes.len() as u64 {
            let (found, wanted) = (format!("{length} B long"), format!("{} B", bytes.len()));
            return Err(ArchiveError::AnotherDrive { name: name.to_owned(), found, wanted });
        }
        bytes.chunks_mut(PIECE_BYTES).try_for_each(|piece| self.piece(piece))
    }
}
