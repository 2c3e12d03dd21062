//! A client: its socket, what is on its way to it, and what it asked.

use std::io::{self, IoSlice, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::event::{EventfdFlags, eventfd};
use wane_nbd::{Contexts, Frame, Out};
use wane_units::Nanos;

use crate::pool::Pool;

/// A connected socket, which never blocks.
pub(crate) enum Socket {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Socket {
    pub(crate) fn prepare(&self) -> io::Result<()> {
        match self {
            Self::Unix(stream) => stream.set_nonblocking(true),
            Self::Tcp(stream) => {
                stream.set_nodelay(true)?;
                stream.set_nonblocking(true)
            }
        }
    }

    fn write_vectored(&self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Self::Unix(stream) => { stream }.write_vectored(slices),
            Self::Tcp(stream) => { stream }.write_vectored(slices),
        }
    }

    /// Ends the connection in both directions.
    pub(crate) fn end(&self) {
        let _ = match self {
            Self::Unix(stream) => stream.shutdown(Shutdown::Both),
            Self::Tcp(stream) => stream.shutdown(Shutdown::Both),
        };
    }
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Unix(stream) => stream.as_fd(),
            Self::Tcp(stream) => stream.as_fd(),
        }
    }
}

/// A request of a client.
pub(crate) struct Asked {
    pub(crate) client: Arc<Client>,
    pub(crate) frame: Frame,
    /// Of a write.
    pub(crate) data: Vec<u8>,
    pub(crate) contexts: Contexts,
    /// When it came.
    pub(crate) arrived: Nanos,
}

/// A connection, of which its own thread reads, and to which the drive's thread writes.
pub(crate) struct Client {
    /// Its number, from 1.
    pub(crate) number: u64,
    pub(crate) socket: Socket,
    /// What waits for the socket.
    out: Mutex<Out>,
    /// Memory of requests that are not answered, and of answers that are not sent.
    held: AtomicU64,
    /// Whether its thread waits until less is held.
    is_full: AtomicBool,
    is_gone: AtomicBool,
    /// Whether answers are structured.
    is_structured: AtomicBool,
    wake: OwnedFd,
    /// Where the memory of long answers comes from.
    pool: Pool,
}

/// What a request holds besides its data.
const REQUEST_BYTES: u64 = 512;

/// Memory that the requests of a client may hold: the longest transfer, and some more. One request is always taken.
const HELD_MAX: u64 = 40 << 20;

impl Client {
    pub(crate) fn new(number: u64, socket: Socket, pool: Pool) -> io::Result<Self> {
        let wake = eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?;
        Ok(Self {
            number,
            socket,
            out: Mutex::default(),
            held: AtomicU64::new(0),
            is_full: AtomicBool::new(false),
            is_gone: AtomicBool::new(false),
            is_structured: AtomicBool::new(false),
            wake,
            pool,
        })
    }

    pub(crate) fn out(&self) -> MutexGuard<'_, Out> {
        self.out.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn wake_fd(&self) -> BorrowedFd<'_> {
        self.wake.as_fd()
    }

    /// Forgets that it was woken.
    pub(crate) fn awoke(&self) {
        let _ = rustix::io::read(&self.wake, &mut [0u8; 8]);
    }

    fn rouse(&self) {
        let _ = rustix::io::write(&self.wake, &1u64.to_ne_bytes());
    }

    pub(crate) fn agree(&self, structured: bool) {
        self.is_structured.store(structured, Ordering::Relaxed);
    }

    pub(crate) fn is_structured(&self) -> bool {
        self.is_structured.load(Ordering::Relaxed)
    }

    /// Memory that a request holds until it is answered: its data, or those of its answer.
    pub(crate) fn weight(frame: &Frame) -> u64 {
        let data = match frame.action {
            wane_nbd::Action::Read { .. } => u64::from(frame.length.min(wane_nbd::TRANSFER_MAX)),
            _ => frame.data() as u64,
        };
        REQUEST_BYTES + data
    }

    pub(crate) fn hold(&self, weight: u64) {
        self.held.fetch_add(weight, Ordering::SeqCst);
    }

    /// Whether another request may be read now. If not, its thread is woken when that changes.
    pub(crate) fn may_read(&self) -> bool {
        let has_room = || self.held.load(Ordering::SeqCst) + (self.out().len() as u64) < HELD_MAX;
        if has_room() {
            return true;
        }
        self.is_full.store(true, Ordering::SeqCst);
        // It may have become less before that was known.
        has_room()
    }

    /// Requests that hold so much are answered by `answers`, which are sent as far as the socket takes them.
    pub(crate) fn answer(&self, answers: &mut Out, weight: u64) {
        if !self.is_gone() {
            let mut out = self.out();
            let was_empty = out.is_empty();
            out.append(answers);
            if was_empty {
                self.send(&mut out);
                if !out.is_empty() {
                    self.rouse();
                }
            }
        }
        self.held.fetch_sub(weight, Ordering::SeqCst);
        if self.is_full.swap(false, Ordering::SeqCst) {
            self.rouse();
        }
    }

    /// Sends what the socket takes.
    pub(crate) fn send(&self, out: &mut Out) {
        const SLICES: usize = 64;
        while !out.is_empty() {
            let mut slices = [IoSlice::new(&[]); SLICES];
            let mut used = 0;
            for (slot, slice) in slices.iter_mut().zip(out.slices()) {
                *slot = slice;
                used += 1;
            }
            match self.socket.write_vectored(&slices[..used]) {
                Ok(0) => return self.leave(),
                Ok(sent) => {
                    out.advance(sent);
                    out.spent().for_each(|buffer| self.pool.give(buffer));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return self.leave(),
            }
        }
    }

    /// Notes that it takes no answers any more.
    pub(crate) fn leave(&self) {
        self.is_gone.store(true, Ordering::SeqCst);
        self.rouse();
    }

    pub(crate) fn is_gone(&self) -> bool {
        self.is_gone.load(Ordering::SeqCst)
    }

    /// Whether nothing of it is under way.
    pub(crate) fn is_idle(&self) -> bool {
        self.held.load(Ordering::SeqCst) == 0 && self.out().is_empty()
    }
}
