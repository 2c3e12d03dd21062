//! Reads the bytes of a trace from a file, a pipe or stdin, and unpacks them.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, ErrorKind, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use wane_units::excerpt_path;

use super::TraceError;

/// Number of bytes that are inspected to find compression and format.
pub(super) const HEAD_BYTES: usize = 64 << 10;

/// A trace's unpacked bytes, with the first of them read in advance.
pub(super) struct Input {
    pub(super) name: String,
    pub(super) head: Vec<u8>,
    pub(super) bytes: Box<dyn BufRead + Send>,
    /// How far the file is read; `None` for a pipe.
    pub(super) read: Option<Arc<FileRead>>,
}

/// How much of a file is read, in packed bytes.
#[derive(Debug)]
pub(super) struct FileRead {
    read: AtomicU64,
    all: u64,
}

impl FileRead {
    /// The share that is read.
    pub(super) fn share(&self) -> f64 {
        self.read.load(Ordering::Relaxed) as f64 / self.all.max(1) as f64
    }
}

/// A file that counts the bytes read from it.
struct Counted {
    file: File,
    read: Arc<FileRead>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.read.read.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

impl Input {
    /// Opens the file at `path`; `-` is stdin. Once `stop` is true, it no longer waits for bytes.
    pub(super) fn open(path: &Path, stop: &Arc<AtomicBool>) -> Result<Self, TraceError> {
        if path == Path::new("-") {
            return Self::awaited("stdin", || Ok(Box::new(io::stdin())), stop);
        }
        let (name, path) = (excerpt_path(path), path.to_owned());
        if path.is_file() {
            let opened = File::open(path).and_then(|file| Ok((file.metadata()?.len(), file)));
            let (all, file) = opened.map_err(|source| TraceError::Unreadable { name: name.clone(), source })?;
            let read = Arc::new(FileRead { read: AtomicU64::new(0), all });
            let input = Self::from_read(&name, Box::new(Counted { file, read: Arc::clone(&read) }))?;
            return Ok(Self { read: Some(read), ..input });
        }
        Self::awaited(&name, move || Ok(Box::new(File::open(path)?)), stop)
    }

    /// Opens bytes whose source may make its reader wait, in `open` or in any read.
    pub(super) fn awaited(
        name: &str,
        open: impl FnOnce() -> io::Result<Box<dyn Read>> + Send + 'static,
        stop: &Arc<AtomicBool>,
    ) -> Result<Self, TraceError> {
        let bytes =
            Awaited::start(open, stop).map_err(|source| TraceError::Unreadable { name: name.to_owned(), source });
        Self::from_read(name, Box::new(bytes?)).map_err(|error| error.unless_stopped(stop))
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
        Ok(Self { name: name.to_owned(), head, bytes: Box::new(bytes), read: None })
    }
}

/// Reads the first `count` bytes, or fewer at the end.
fn take_head(bytes: &mut dyn Read, count: usize) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    bytes.take(count as u64).read_to_end(&mut head)?;
    Ok(head)
}

/// Interval at which a waiting reader checks the stop flag.
const LOOK: Duration = Duration::from_millis(50);

/// Bytes that a separate thread reads. The system cannot interrupt opening or reading a pipe without a
/// writer, so the thread waits there, and the reader waits for the thread. A thread that waits for ever ends with the process.
struct Awaited {
    pieces: Receiver<io::Result<Vec<u8>>>,
    piece: Cursor<Vec<u8>>,
    is_over: bool,
    stop: Arc<AtomicBool>,
}

impl Awaited {
    fn start(
        open: impl FnOnce() -> io::Result<Box<dyn Read>> + Send + 'static,
        stop: &Arc<AtomicBool>,
    ) -> io::Result<Self> {
        // One piece is read ahead.
        let (sender, pieces) = sync_channel(1);
        #[expect(
            clippy::disallowed_methods,
            reason = "waits for bytes and hands them on in order; results do not depend on it"
        )]
        thread::Builder::new().name("trace".to_owned()).spawn(move || send_pieces(open, &sender))?;
        Ok(Self { pieces, piece: Cursor::default(), is_over: false, stop: Arc::clone(stop) })
    }

    /// The next bytes; empty at the end.
    fn next_piece(&self) -> io::Result<Vec<u8>> {
        loop {
            match self.pieces.recv_timeout(LOOK) {
                Ok(piece) => return piece,
                Err(RecvTimeoutError::Timeout) if self.stop.load(Ordering::Relaxed) => {
                    // Not `Interrupted`, since `read_to_end` would try again.
                    return Err(io::Error::other("reading was interrupted"));
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(io::Error::other("its reading thread ended early")),
            }
        }
    }
}

impl Read for Awaited {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.piece.position() == self.piece.get_ref().len() as u64 && !self.is_over {
            self.piece = Cursor::new(self.next_piece()?);
            self.is_over = self.piece.get_ref().is_empty();
        }
        self.piece.read(buffer)
    }
}

/// Sends bytes as they are read, then an empty piece or the error that ended them. Ends early if the receiver is gone.
fn send_pieces(open: impl FnOnce() -> io::Result<Box<dyn Read>>, sender: &SyncSender<io::Result<Vec<u8>>>) {
    let mut bytes = match open() {
        Ok(bytes) => bytes,
        Err(error) => return drop(sender.send(Err(error))),
    };
    loop {
        let mut piece = vec![0; HEAD_BYTES];
        let read = match bytes.read(&mut piece) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            read => read,
        };
        let goes_on = matches!(read, Ok(count) if count > 0);
        let piece = read.map(|count| {
            piece.truncate(count);
            piece
        });
        if sender.send(piece).is_err() || !goes_on {
            return;
        }
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests of waiting")]
mod tests {
    use super::super::{Options, Reader};
    use super::*;
    use std::io::Write;

    fn stopped(after: Duration) -> Arc<AtomicBool> {
        let stop = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&stop);
        thread::spawn(move || {
            thread::sleep(after);
            flag.store(true, Ordering::Relaxed);
        });
        stop
    }

    #[test]
    fn waiting_for_bytes_ends_once_the_flag_is_set() {
        let stop = stopped(Duration::from_millis(200));
        let options = Options::default();
        // No bytes at all; part of the first line; or more requests than the head holds.
        let lines: String = (0..20_000).map(|number| format!("{number} 0 {} 8 0\n", 8 * number)).collect();
        for text in ["", "1 0 1", &lines] {
            let (pipe, mut writer) = io::pipe().unwrap();
            let text = text.as_bytes().to_vec();
            // It keeps its end open.
            let writing = thread::spawn(move || writer.write_all(&text).map(|()| writer));
            let input = Input::awaited("t", || Ok(Box::new(pipe)), &stop);
            let end = match input.and_then(|input| Reader::new(input, &options, Arc::clone(&stop))) {
                Ok(mut reader) => reader.find_map(Result::err),
                Err(error) => Some(error),
            };
            assert!(matches!(end, Some(TraceError::Interrupted { .. })), "{end:?}");
            drop(writing);
        }
    }

    #[test]
    fn awaited_bytes_come_whole_and_end_with_their_source() {
        let text: String = (0..50_000).map(|number| format!("{number} 0 {} 8 0\n", 8 * number)).collect();
        let read = |open: Box<dyn FnOnce() -> io::Result<Box<dyn Read>> + Send>| -> Result<usize, TraceError> {
            let stop = Arc::default();
            let input = Input::awaited("t", open, &stop)?;
            let requests: Result<Vec<_>, _> = Reader::new(input, &Options::default(), stop)?.collect();
            requests.map(|requests| requests.len())
        };
        let bytes = text.clone().into_bytes();
        assert_eq!(read(Box::new(|| Ok(Box::new(Cursor::new(bytes))))).unwrap(), 50_000);
        let error = read(Box::new(|| Err(ErrorKind::PermissionDenied.into()))).unwrap_err();
        assert_eq!(error.to_string(), "t: cannot be read: permission denied");
        let broken = Cursor::new(text.into_bytes()).chain(Broken);
        let error = read(Box::new(|| Ok(Box::new(broken)))).unwrap_err();
        assert_eq!(error.to_string(), "t: cannot be read: it broke");
    }

    struct Broken;

    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::Error::other("it broke"))
        }
    }
}
