//! A client's thread: the handshake, then requests, which it hands to the thread that owns the drive.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use wane_nbd::{Action, Export, FRAME_BYTES, Frame, Handshake, Session, Turn, Violation};
use wane_units::{Nanos, excerpt};

use crate::client::{Asked, Client, Socket};
use crate::inbox::{Inbox, Mail};
use crate::outlets::Outlets;
use crate::pool::Pool;
use crate::real::RealTime;

/// Bytes that are read at once.
const READ_BYTES: usize = 256 << 10;

/// Seconds in which a handshake has to end.
const HANDSHAKE_SECONDS: u64 = 10;

/// Number of violations that are told; further ones are only counted, so that a client cannot fill a log.
const TOLD_MAX: u64 = 20;

/// What all threads of a server share.
pub(crate) struct Shared {
    pub(crate) outlets: Outlets,
    pub(crate) real: RealTime,
    /// Memory for the data of reads.
    pub(crate) pool: Pool,
    /// Connections that broke the protocol.
    pub(crate) violations: AtomicU64,
    /// Says what goes wrong.
    pub(crate) tell: Box<dyn Fn(&str) + Send + Sync>,
}

impl Shared {
    /// What a server that serves nothing yet shares. `tell` says what goes wrong.
    pub(crate) fn new(tell: Box<dyn Fn(&str) + Send + Sync>) -> Self {
        let (outlets, pool) = (Outlets::default(), Pool::default());
        Self { outlets, real: RealTime::begin(), pool, violations: AtomicU64::new(0), tell }
    }
}

/// Why a connection ends.
enum Ended {
    /// The client has left, or the server ends.
    Left,
    Broke(Violation),
    Slow,
}

impl From<io::Error> for Ended {
    fn from(_: io::Error) -> Self {
        Self::Left
    }
}

impl From<Violation> for Ended {
    fn from(violation: Violation) -> Self {
        Self::Broke(violation)
    }
}

/// Serves a client until it leaves.
pub(crate) fn serve(client: &Arc<Client>, shared: &Shared) {
    let mut connection = Connection { client, shared, input: Vec::new(), taken: 0 };
    let ended = connection.shake_hands().and_then(|chosen| match chosen {
        Some((session, inbox)) => connection.requests(session, &inbox),
        None => Ok(()),
    });
    let why = match ended {
        Err(Ended::Broke(violation)) => Some(violation.to_string()),
        Err(Ended::Slow) => Some(format!("no export was chosen within {HANDSHAKE_SECONDS} s")),
        Ok(()) | Err(Ended::Left) => None,
    };
    if let Some(why) = why {
        let before = shared.violations.fetch_add(1, Ordering::Relaxed);
        if before < TOLD_MAX {
            (shared.tell)(&format!("client {}: {}; its connection is closed", client.number, excerpt(&why)));
        } else if before == TOLD_MAX {
            (shared.tell)("more clients break the protocol; from now on they are only counted");
        }
    }
    client.leave();
    client.socket.end();
}

/// How many of the requests that are there were taken.
enum Taken {
    All,
    /// The next one waits for memory.
    Some,
    /// The client says that it has no more.
    Over,
}

/// Reads what is there into what is left of `into`, as far as it was allocated, without writing there first. Returns whether anything came.
fn received(socket: &Socket, into: &mut Vec<u8>) -> io::Result<bool> {
    loop {
        match rustix::io::read(socket, spare_capacity(into)) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(_) => return Ok(true),
            Err(Errno::AGAIN) => return Ok(false),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

struct Connection<'a> {
    client: &'a Arc<Client>,
    shared: &'a Shared,
    /// What came; the first `taken` bytes are dealt with.
    input: Vec<u8>,
    taken: usize,
}

impl Connection<'_> {
    fn rest(&self) -> &[u8] {
        &self.input[self.taken..]
    }

    fn take(&mut self, count: usize) {
        self.taken += count;
        if self.taken == self.input.len() {
            self.input.clear();
            self.taken = 0;
        }
    }

    /// Reads what is there. Returns whether anything was.
    fn read(&mut self) -> io::Result<bool> {
        if self.taken > 0 {
            self.input.drain(..self.taken);
            self.taken = 0;
        }
        self.input.reserve(READ_BYTES);
        received(&self.client.socket, &mut self.input)
    }

    /// Sleeps until the socket or the drive's thread has something for it, or `most` has passed. Sends what the socket takes.
    fn wait(&mut self, wants_input: bool, most: Option<Nanos>) -> Result<(), Ended> {
        let has_output = !self.client.out().is_empty();
        let mut flags = PollFlags::empty();
        flags.set(PollFlags::IN, wants_input);
        flags.set(PollFlags::OUT, has_output);
        let wake = self.client.wake_fd();
        let mut both = [PollFd::new(&self.client.socket, flags), PollFd::from_borrowed_fd(wake, PollFlags::IN)];
        let most = most.map(|most| Timespec {
            tv_sec: (most.0 / Nanos::SECOND.0) as i64,
            tv_nsec: (most.0 % Nanos::SECOND.0) as _,
        });
        match poll(&mut both, most.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(io::Error::from(error).into()),
        }
        if !both[1].revents().is_empty() {
            self.client.awoke();
        }
        if both[0].revents().intersects(PollFlags::ERR | PollFlags::NVAL) {
            return Err(Ended::Left);
        }
        // Without a wish to read, a hang-up would be told again and again.
        if both[0].revents().contains(PollFlags::HUP) && !wants_input {
            return Err(Ended::Left);
        }
        let mut out = self.client.out();
        self.client.send(&mut out);
        drop(out);
        if self.client.is_gone() { Err(Ended::Left) } else { Ok(()) }
    }

    /// The handshake. Returns what was agreed upon, and where requests go.
    fn shake_hands(&mut self) -> Result<Option<(Session, Arc<Inbox>)>, Ended> {
        let until = self.shared.real.now().saturating_add(Nanos(HANDSHAKE_SECONDS * Nanos::SECOND.0));
        self.send(&Handshake::greeting());
        let mut handshake = Handshake::default();
        loop {
            let mut answers = Vec::new();
            let outlets = self.shared.outlets.all();
            let exports: Vec<Export> = outlets.iter().map(|outlet| outlet.export()).collect();
            let fed = handshake.feed(self.rest(), &exports, &mut answers);
            // What it is told next is of a drive that it uses, or of none.
            if let Ok((_, Turn::Ready(session))) = fed
                && !outlets[session.export].join(self.client)
            {
                return Err(Ended::Left);
            }
            self.send(&answers);
            let (taken, turn) = fed?;
            self.take(taken);
            match turn {
                Turn::Ready(session) => {
                    self.client.agree(session.structured);
                    return Ok(Some((session, Arc::clone(&outlets[session.export].inbox))));
                }
                Turn::Over => return Ok(None),
                Turn::More => {}
            }
            let left = until.0.saturating_sub(self.shared.real.now().0);
            if left == 0 {
                return Err(Ended::Slow);
            }
            // Who asks and does not read the answers gets no more of them.
            let may_read = self.client.out().len() < READ_BYTES;
            if !may_read || !self.read()? {
                self.wait(may_read, Some(Nanos(left)))?;
            }
        }
    }

    fn send(&self, bytes: &[u8]) {
        let mut out = self.client.out();
        out.raw(bytes);
        self.client.send(&mut out);
    }

    fn requests(&mut self, session: Session, inbox: &Inbox) -> Result<(), Ended> {
        let mut batch = Vec::new();
        loop {
            let taken = self.batch(session, &mut batch)?;
            if !batch.is_empty() {
                inbox.leave(Mail::Asked(std::mem::take(&mut batch)));
            }
            match taken {
                Taken::Over => break,
                Taken::All => {
                    if !self.read()? {
                        self.wait(true, None)?;
                    }
                }
                // What is there waits until answers have left.
                Taken::Some if self.client.may_read() => {}
                Taken::Some => self.wait(false, None)?,
            }
        }
        // It waits for nothing, but what it asked for is carried out, and answered.
        while !self.client.is_idle() {
            self.client.may_read();
            self.wait(false, Some(Nanos(Nanos::SECOND.0 / 10)))?;
        }
        Ok(())
    }

    /// Takes the requests that are there whole, as long as what is under way holds little memory.
    fn batch(&mut self, session: Session, batch: &mut Vec<Asked>) -> Result<Taken, Ended> {
        let arrived = self.shared.real.now();
        while let Some(head) = self.rest().first_chunk::<FRAME_BYTES>() {
            let frame = Frame::parse(head)?;
            if frame.action == Action::Disconnect {
                return Ok(Taken::Over);
            }
            if !self.client.may_read() {
                return Ok(Taken::Some);
            }
            let data = match frame.data() {
                0 => Vec::new(),
                length => match self.data(length, !batch.is_empty())? {
                    Some(data) => data,
                    None => break,
                },
            };
            if frame.data() == 0 {
                self.take(FRAME_BYTES);
            }
            self.client.hold(Client::weight(&frame));
            batch.push(Asked { client: Arc::clone(self.client), frame, data, contexts: session.contexts, arrived });
        }
        Ok(Taken::All)
    }

    /// The data of the write whose head is next. `None` if they are not all there, and requests before it wait.
    fn data(&mut self, length: usize, others_wait: bool) -> Result<Option<Vec<u8>>, Ended> {
        let there = self.rest().len() - FRAME_BYTES;
        if there < length && others_wait {
            return Ok(None);
        }
        let taken = there.min(length);
        let mut data = Vec::with_capacity(length);
        data.extend_from_slice(&self.rest()[FRAME_BYTES..FRAME_BYTES + taken]);
        self.take(FRAME_BYTES + taken);
        while data.len() < length {
            if !received(&self.client.socket, &mut data)? {
                self.wait(true, None)?;
            }
        }
        Ok(Some(data))
    }
}
