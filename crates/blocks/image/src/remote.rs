//! A device that a server of the network block device protocol has, at a Unix socket of this machine.
//!
//! Requests are made one after the other. What the protocol lacks is missing here: remaps, limits, changes of the capacity, and what the device tells
//! by itself.

use std::collections::VecDeque;
use std::io::{self, Read, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::Path;

use wane_blockdev::{
    BlockDevice, Completion, Features, Kind, Request, RequestId, Resize, SectorRange, Status, Unsupported,
};
use wane_nbd::client::{self, ANSWER_BYTES, Chosen, Next, OPTION_HEAD_BYTES, Stranger};
use wane_nbd::{Action, Errno, Frame, GREETING_BYTES};
use wane_units::{Bytes, Sectors, SimTime};

/// Why a served device cannot be had.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RemoteError {
    /// Somebody else has it.
    #[error("is in use: it is mounted, or another command has it open")]
    Busy,
    /// It is no server, or refuses.
    #[error("{0}")]
    Stranger(#[from] Stranger),
    /// It has no size, or requests of which no block can be made.
    #[error("serves {size} in requests of {1} B at least, and no file system fits that", size = Bytes(*.0))]
    Size(u64, u32),
    /// The system refuses, or the server ended.
    #[error("cannot be used: {0}")]
    Io(#[from] io::Error),
}

/// Bytes of a sector.
const SECTOR: u64 = Sectors::SIZE.0;
/// Most bytes of a request, where a server says nothing of it.
const MOST: u32 = 32 << 20;

/// See the head of this file.
#[derive(Debug)]
pub struct Remote {
    stream: UnixStream,
    chosen: Chosen,
    unit: Sectors,
    capacity: Sectors,
    cookie: u64,
    next: u64,
    done: VecDeque<Completion>,
    /// The connection broke: nobody knows what a late answer would be of.
    is_gone: bool,
    /// Held as long as it is used. It has a name that nobody else can have meanwhile.
    _lock: UnixListener,
}

impl Remote {
    /// Uses the export of a name; the empty one is that of clients that name none. Others of this machine are kept out as long as it lasts.
    ///
    /// # Errors
    /// Nobody serves it there, or somebody else uses it.
    pub fn open(socket: &Path, name: &str) -> Result<Self, RemoteError> {
        let found = std::fs::metadata(socket)?;
        let mut stream = UnixStream::connect(socket)?;
        let chosen = shake_hands(&mut stream, name)?;
        // The kernel takes the name back when the process ends, however that ends.
        let export = chosen.name.as_deref().unwrap_or(name);
        let of_lock = format!("wane-fs-{}-{}-{export}", found.dev(), found.ino());
        let address = SocketAddr::from_abstract_name(&of_lock.as_bytes()[..of_lock.len().min(100)])?;
        let lock = UnixListener::bind_addr(&address).map_err(|error| match error.kind() {
            io::ErrorKind::AddrInUse => RemoteError::Busy,
            _ => RemoteError::Io(error),
        })?;
        let least = chosen.block.map_or(512, |block| block.least);
        let unit = Sectors(u64::from(chosen.block.map_or(4096, |block| block.preferred)).div_ceil(SECTOR).max(8));
        let capacity = Sectors(chosen.size / SECTOR / unit.0 * unit.0);
        let is_fine = u64::from(least) <= SECTOR && unit.0.is_power_of_two() && capacity.0 > 0 && chosen.flushes;
        if !is_fine {
            return Err(RemoteError::Size(chosen.size, least));
        }
        let done = VecDeque::new();
        Ok(Self { stream, chosen, unit, capacity, cookie: 0, next: 0, done, is_gone: false, _lock: lock })
    }

    /// The server was told that the device has fewer sectors from now on.
    pub fn shrink_to(&mut self, capacity: Sectors) {
        self.capacity = self.capacity.min(capacity);
    }

    /// Carries out a request that passed the check.
    fn perform(&mut self, request: &mut Request) -> Result<Option<Vec<u8>>, Status> {
        let range = request.range;
        let action = match request.kind {
            Kind::Read => Action::Read { whole: false },
            Kind::Write if request.bytes.is_some() => Action::Write,
            Kind::Write | Kind::WriteZeroes if self.chosen.zeroes => Action::WriteZeroes { no_hole: true, fast: false },
            Kind::Write | Kind::WriteZeroes => Action::Write,
            Kind::Trim if self.chosen.trims => Action::Trim,
            // A hint that nobody takes.
            Kind::Trim => return Ok(None),
            Kind::Flush => Action::Flush,
            Kind::Remap => return Err(Status::Unsupported(Unsupported::Kind)),
        };
        let most = u64::from(self.chosen.block.map_or(MOST, |block| block.most).min(MOST)) / SECTOR * SECTOR;
        let (mut at, mut left) = (range.start.0 * SECTOR, range.count.0 * SECTOR);
        let mut given = if action == Action::Write {
            request.bytes.take().unwrap_or_else(|| vec![0; range.len_bytes()])
        } else {
            Vec::new()
        };
        let mut read = Vec::new();
        let fua = request.flags.fua && request.kind.changes_contents();
        loop {
            let length = if action == Action::Flush { 0 } else { left.min(most) };
            let frame = Frame { action, fua, cookie: self.cookie, offset: at, length: length as u32 };
            self.cookie += 1;
            let rest = given.split_off((length as usize).min(given.len()));
            self.ask(&frame, &std::mem::replace(&mut given, rest), &mut read, range)?;
            (at, left) = (at + length, left - length);
            if left == 0 || length == 0 {
                return Ok((request.kind == Kind::Read).then_some(read));
            }
        }
    }

    /// Makes one request, and waits for its answer. What it reads is added.
    fn ask(&mut self, frame: &Frame, data: &[u8], read: &mut Vec<u8>, range: SectorRange) -> Result<(), Status> {
        let asked = self.exchange(frame, data, read);
        asked.unwrap_or(Err(Errno::Shutdown)).map_err(|errno| {
            self.is_gone |= errno == Errno::Shutdown;
            let ranges = if frame.action == Action::Flush { Vec::new() } else { vec![range] };
            match errno {
                Errno::NoSpace => Status::NoSpace(ranges),
                Errno::NotPermitted => Status::ReadOnly(ranges),
                Errno::Shutdown => Status::Gone(ranges),
                _ => Status::MediumError(ranges),
            }
        })
    }

    fn exchange(&mut self, frame: &Frame, data: &[u8], read: &mut Vec<u8>) -> Result<Result<(), Errno>, RemoteError> {
        self.stream.write_all(&frame.bytes())?;
        self.stream.write_all(data)?;
        let mut head = [0; ANSWER_BYTES];
        self.stream.read_exact(&mut head)?;
        let (cookie, ended) = client::answer(&head)?;
        if cookie != frame.cookie {
            return Err(Stranger::Nonsense("an answer").into());
        }
        if ended.is_ok() && matches!(frame.action, Action::Read { .. }) {
            let from = read.len();
            read.resize(from + frame.length as usize, 0);
            self.stream.read_exact(&mut read[from..])?;
        }
        Ok(ended)
    }
}

/// Asks for an export.
fn shake_hands(stream: &mut UnixStream, name: &str) -> Result<Chosen, RemoteError> {
    let mut greeting = [0; GREETING_BYTES];
    stream.read_exact(&mut greeting)?;
    stream.write_all(&client::hello(&greeting, name)?)?;
    let mut chosen = Chosen::default();
    loop {
        let mut head = [0; OPTION_HEAD_BYTES];
        stream.read_exact(&mut head)?;
        let (kind, length) = client::option_head(&head)?;
        let mut data = vec![0; length];
        stream.read_exact(&mut data)?;
        if chosen.take(kind, &data)? == Next::Requests {
            return Ok(chosen);
        }
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        let frame = Frame { action: Action::Disconnect, fua: false, cookie: self.cookie, offset: 0, length: 0 };
        let _ = self.stream.write_all(&frame.bytes());
    }
}

impl BlockDevice for Remote {
    fn features(&self) -> Features {
        Features {
            sector: Sectors(1),
            atomic_unit: self.unit,
            keeps_bytes: true,
            trim_reads_zeros: false,
            fua: self.chosen.fua,
            remap: false,
            resize: Resize::Fixed,
            mapped_limit: false,
        }
    }

    fn capacity(&self) -> Sectors {
        self.capacity
    }

    fn submit(&mut self, at: SimTime, mut request: Request) -> RequestId {
        let id = RequestId(self.next);
        self.next += 1;
        let (kind, range) = (request.kind, request.range);
        let ended = match request.check(&self.features(), self.capacity) {
            Err(status) => Err(status),
            Ok(()) if self.is_gone => Err(Status::all_gone(range)),
            Ok(()) => self.perform(&mut request),
        };
        let (status, bytes) = match ended {
            Ok(bytes) => (Status::Done, bytes),
            // What could not be read is zeros.
            Err(status @ Status::MediumError(_)) if kind == Kind::Read => (status, Some(vec![0; range.len_bytes()])),
            Err(status) => (status, None),
        };
        self.done.push_back(Completion { id, submitted_at: at, at, kind, range, status, bytes });
        id
    }

    fn next_event_at(&self) -> Option<SimTime> {
        self.done.front().map(|first| first.at)
    }

    fn complete(&mut self, _until: SimTime, out: &mut Vec<Completion>) {
        out.extend(self.done.drain(..));
    }
}
