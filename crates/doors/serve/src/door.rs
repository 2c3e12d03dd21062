//! Letting clients in.

use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use wane_units::Nanos;

use crate::ServeError;
use crate::client::{Client, Socket};
use crate::connection::{self, Shared};
use crate::threads::start;

/// Most clients at a time.
const CLIENTS_MAX: usize = 64;

/// Between two looks at whether it is to end.
const LOOK: Nanos = Nanos(Nanos::SECOND.0 / 20);

/// See the head of this file.
pub(crate) struct Door {
    unix: UnixListener,
    tcp: Option<TcpListener>,
    shared: Arc<Shared>,
    /// Also those that have not chosen a drive yet.
    clients: Vec<Arc<Client>>,
    numbered: u64,
}

impl Door {
    /// A door at a socket, and at an address besides.
    ///
    /// # Errors
    /// The system refuses.
    pub(crate) fn new(unix: UnixListener, tcp: Option<TcpListener>, shared: Arc<Shared>) -> Result<Self, ServeError> {
        let refused = |error: std::io::Error| ServeError::System("a socket".to_owned(), error.to_string());
        unix.set_nonblocking(true).map_err(refused)?;
        tcp.as_ref().map(|tcp| tcp.set_nonblocking(true)).transpose().map_err(refused)?;
        Ok(Self { unix, tcp, shared, clients: Vec::new(), numbered: 0 })
    }

    /// Lets clients in until it is to end.
    pub(crate) fn stand_open(mut self, is_over: &AtomicBool) {
        while !is_over.load(Ordering::SeqCst) {
            self.look();
        }
        for client in self.clients {
            client.leave();
            client.socket.end();
        }
    }

    /// Waits a little for clients, and lets in who comes.
    fn look(&mut self) {
        let mut doors = vec![PollFd::new(&self.unix, PollFlags::IN)];
        doors.extend(self.tcp.as_ref().map(|tcp| PollFd::new(tcp, PollFlags::IN)));
        let wait = Timespec { tv_sec: 0, tv_nsec: LOOK.0 as _ };
        if poll(&mut doors, Some(&wait)).is_err() {
            std::thread::sleep(Duration::from_millis(1));
        }
        self.clients.retain(|client| !client.is_gone());
        while let Ok((stream, _)) = self.unix.accept() {
            self.admit(Socket::Unix(stream));
        }
        while let Some(Ok((stream, _))) = self.tcp.as_ref().map(TcpListener::accept) {
            self.admit(Socket::Tcp(stream));
        }
    }

    fn admit(&mut self, socket: Socket) {
        self.clients.retain(|client| !client.is_gone());
        if self.clients.len() >= CLIENTS_MAX {
            (self.shared.tell)(&format!("a client is turned away: {CLIENTS_MAX} are served at a time"));
            return socket.end();
        }
        self.numbered += 1;
        let Ok(client) = socket.prepare().and_then(|()| Client::new(self.numbered, socket, self.shared.pool.clone()))
        else {
            return;
        };
        let client = Arc::new(client);
        let (served, shared) = (Arc::clone(&client), Arc::clone(&self.shared));
        if start("wane-client", move || connection::serve(&served, &shared)).is_ok() {
            self.clients.push(client);
        }
    }
}
