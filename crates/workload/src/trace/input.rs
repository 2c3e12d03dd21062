//! Bytes of a trace: from a file or stdin, unpacked.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::Path;

use super::TraceError;

/// Bytes looked at to find compression and format.
pub(super) const HEAD_BYTES: usize = 64 << 10;

/// A trace's unpacked bytes, with the first of them at hand.
pub(super) struct Input {
    pub(super) name: String,
    pub(super) head: Vec<u8>,
    pub(super) bytes: Box<dyn BufRead + Send>,
}

impl Input {
    /// The file at `path`; `-` is stdin.
    pub(super) fn open(path: &Path) -> Result<Self, TraceError> {
        if path == Path::new("-") {
            return Self::from_read("stdin", Box::new(io::stdin()));
        }
        let name = path.display().to_string();
        match File::open(path) {
            Ok(file) => Self::from_read(&name, Box::new(file)),
            Err(source) => Err(TraceError::Unreadable { name, source }),
        }
    }

    pub(super) fn from_read(name: &str, mut packed: Box<dyn Read + Send>) -> Result<Self, TraceError> {
        let unreadable = |source| TraceError::Unreadable { name: name.to_owned(), source };
        let magic = take_head(&mut packed, 4).map_err(unreadable)?;
        let packed = BufReader::with_capacity(HEAD_BYTES, Cursor::new(magic.clone()).chain(packed));
        let mut bytes: Box<dyn Read + Send> = match magic[..] {
            [0x1f, 0x8b, ..] => Box::new(flate2::bufread::MultiGzDecoder::new(packed)),
            [0x28, 0xb5, 0x2f, 0xfd] => Box::new(zstd::Decoder::with_buffer(packed).map_err(unreadable)?),
            [b'B', b'Z', b'h', _] => Box::new(bzip2::bufread::MultiBzDecoder::new(packed)),
            _ => Box::new(packed),
        };
        let head = take_head(&mut bytes, HEAD_BYTES).map_err(unreadable)?;
        let bytes = BufReader::with_capacity(HEAD_BYTES, Cursor::new(head.clone()).chain(bytes));
        Ok(Self { name: name.to_owned(), head, bytes: Box::new(bytes) })
    }
}

/// The first bytes, fewer than asked at the end.
fn take_head(bytes: &mut dyn Read, count: usize) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    bytes.take(count as u64).read_to_end(&mut head)?;
    Ok(head)
}
