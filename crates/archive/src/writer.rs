//! Writes an archive.

use std::io::Write;

use crate::{Archive, ArchiveError, Form, Kind, MAGIC, PIECE_BYTES};

/// Bytes of the word that a repeated piece consists of.
pub(crate) const WORD: usize = 4;

/// Writes state, to anything. Writes are large, so that nothing needs to buffer them but for short fields.
#[derive(Debug)]
pub struct Writer<W: Write> {
    out: std::io::BufWriter<W>,
}

impl<W: Write> Writer<W> {
    /// Begins an archive.
    ///
    /// # Errors
    /// The system refuses to write.
    pub fn new(out: W) -> Result<Self, ArchiveError> {
        let mut out = std::io::BufWriter::with_capacity(1 << 16, out);
        out.write_all(&MAGIC)?;
        Ok(Self { out })
    }

    /// Ends the archive and hands its file back.
    ///
    /// # Errors
    /// The system refuses to write.
    pub fn finish(mut self) -> Result<W, ArchiveError> {
        self.head("end", Kind::End, 0)?;
        let out = self.out.into_inner().map_err(std::io::IntoInnerError::into_error)?;
        Ok(out)
    }

    fn head(&mut self, name: &str, kind: Kind, length: u64) -> Result<(), ArchiveError> {
        let count = u8::try_from(name.len()).expect("names of fields are short");
        let mut head = Vec::with_capacity(name.len() + 14);
        head.push(count);
        head.extend_from_slice(name.as_bytes());
        head.push(kind as u8);
        head.extend_from_slice(&length.to_le_bytes());
        head.extend_from_slice(&crc32fast::hash(&head).to_le_bytes());
        Ok(self.out.write_all(&head)?)
    }

    fn piece(&mut self, form: Form, bytes: &[u8]) -> Result<(), ArchiveError> {
        let mut checksum = crc32fast::Hasher::new();
        checksum.update(&[form as u8]);
        checksum.update(bytes);
        self.out.write_all(&[form as u8])?;
        self.out.write_all(bytes)?;
        Ok(self.out.write_all(&checksum.finalize().to_le_bytes())?)
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

    fn table(&mut self, name: &str, bytes: &mut [u8]) -> Result<(), ArchiveError> {
        self.head(name, Kind::Table, bytes.len() as u64)?;
        for piece in bytes.chunks(PIECE_BYTES) {
            match repeated(piece) {
                Some(word) => self.piece(Form::Repeated, word)?,
                None => self.piece(Form::Plain, piece)?,
            }
        }
        Ok(())
    }
}

/// The word that a piece consists of, over and over.
fn repeated(piece: &[u8]) -> Option<&[u8]> {
    if piece.len() <= WORD || !piece.len().is_multiple_of(WORD) {
        return None;
    }
    (piece[WORD..] == piece[..piece.len() - WORD]).then_some(&piece[..WORD])
}
