//! A client of a few lines, by the oldest handshake and with simple answers.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;

pub(crate) const READ: u16 = 0;
pub(crate) const WRITE: u16 = 1;
pub(crate) const FLUSH: u16 = 3;
pub(crate) const TRIM: u16 = 4;

pub(crate) trait Wire: Read + Write {}

impl<T: Read + Write> Wire for T {}

pub(crate) struct Client {
    wire: Box<dyn Wire>,
    pub(crate) size: u64,
    pub(crate) flags: u16,
}

impl Client {
    pub(crate) fn new(socket: &Path) -> Self {
        Self::of(socket, "").unwrap()
    }

    /// A client of the drive of this name; `None` if there is none.
    pub(crate) fn of(socket: &Path, name: &str) -> Option<Self> {
        Self::over(Box::new(UnixStream::connect(socket).unwrap()), name)
    }

    pub(crate) fn tcp(address: &str) -> Self {
        Self::over(Box::new(TcpStream::connect(address).unwrap()), "").unwrap()
    }

    fn over(mut wire: Box<dyn Wire>, name: &str) -> Option<Self> {
        wire.read_exact(&mut [0; 18]).unwrap();
        wire.write_all(&hello(name)).unwrap();
        let mut export = [0; 10];
        wire.read_exact(&mut export).ok()?;
        let size = u64::from_be_bytes(export[..8].try_into().unwrap());
        Some(Self { wire, size, flags: u16::from_be_bytes(export[8..].try_into().unwrap()) })
    }

    /// Asks for something without data in its answer, and waits for its error; `None` if the server is gone.
    pub(crate) fn try_ask(&mut self, kind: u16, offset: u64, length: u32, data: &[u8]) -> Option<u32> {
        self.wire.write_all(&frame(kind, offset, length)).ok()?;
        if kind == WRITE {
            self.wire.write_all(&data[..length as usize]).ok()?;
        }
        let mut head = [0; 16];
        self.wire.read_exact(&mut head).ok()?;
        Some(u32::from_be_bytes(head[4..8].try_into().unwrap()))
    }

    /// Asks for something, and waits for its error and its data.
    pub(crate) fn ask(&mut self, kind: u16, offset: u64, length: u32, data: &[u8]) -> (u32, Vec<u8>) {
        self.wire.write_all(&frame(kind, offset, length)).unwrap();
        if kind == WRITE {
            self.wire.write_all(&data[..length as usize]).unwrap();
        }
        let mut head = [0; 16];
        self.wire.read_exact(&mut head).unwrap();
        assert_eq!((&head[..4], head[15]), (&0x6744_6698u32.to_be_bytes()[..], 9));
        let errno = u32::from_be_bytes(head[4..8].try_into().unwrap());
        let mut data = vec![0; if kind == READ && errno == 0 { length as usize } else { 0 }];
        self.wire.read_exact(&mut data).unwrap();
        (errno, data)
    }
}

/// The client's flags, and the option that chooses the export.
pub(crate) fn hello(name: &str) -> Vec<u8> {
    let length = name.len() as u32;
    [&3u32.to_be_bytes()[..], b"IHAVEOPT", &1u32.to_be_bytes(), &length.to_be_bytes(), name.as_bytes()].concat()
}

/// A request without its data.
pub(crate) fn frame(kind: u16, offset: u64, length: u32) -> Vec<u8> {
    let (cookie, magic) = (9u64, 0x2560_9513u32);
    [
        &magic.to_be_bytes()[..],
        &0u16.to_be_bytes(),
        &kind.to_be_bytes(),
        &cookie.to_be_bytes(),
        &offset.to_be_bytes(),
        &length.to_be_bytes(),
    ]
    .concat()
}
