//! Connections to a drive: how many there are at a time, and how long each may do nothing.
//!
//! A drive answers its cluster also while others connect and send nothing, or half a request. Such a connection is closed after some seconds. If there
//! are too many connections, a new one takes the place of the one that has done nothing for the longest time.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::Router;
use futures_util::future::{Either, select};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;

use crate::{Limits, clock};

/// Time for a request's head, and for the next request to begin on a connection that is kept open.
const HEAD: Duration = Duration::from_secs(10);

/// Time for a client to take in an answer. Those that ask give up after a minute too.
const QUIET: Duration = Duration::from_secs(60);

/// How often connections that do nothing are looked for.
const LOOK: Duration = Duration::from_secs(5);

/// Pause after the system refused a connection, such as for want of files.
const PAUSE: Duration = Duration::from_millis(50);

/// Bytes of a request's head at most, and of a body that are read at once.
const BUFFER_BYTES: usize = 1 << 16;

/// Connections at a time: at most, and at least, also with few files.
const CONNECTIONS_MAX: usize = 1024;
const CONNECTIONS_MIN: usize = 8;

/// Memory that a limited drive has for each connection.
const CONNECTION_BYTES: u64 = 4 * BUFFER_BYTES as u64;

/// A connection.
pub(super) struct Connection {
    state: Mutex<State>,
    close: Notify,
}

struct State {
    /// Whether a whole request is there and has no answer yet. Such a connection is never closed.
    is_working: bool,
    /// When it last did something.
    since: Instant,
}

/// A request that is being worked on until this is dropped.
pub(super) struct Working<'a>(&'a Connection);

impl Connection {
    fn new() -> Self {
        Self { state: Mutex::new(State { is_working: false, since: clock::now() }), close: Notify::new() }
    }

    fn locked(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, is_working: bool) {
        *self.locked() = State { is_working, since: clock::now() };
    }

    /// Notes that bytes of a request came.
    pub(super) fn heard(&self) {
        self.locked().since = clock::now();
    }

    /// Notes that a request is whole.
    pub(super) fn work(&self) -> Working<'_> {
        self.set(true);
        Working(self)
    }

    /// Since when nothing was done; `None` while a request is worked on.
    fn idle_since(&self) -> Option<Instant> {
        let state = self.locked();
        (!state.is_working).then_some(state.since)
    }
}

impl Drop for Working<'_> {
    fn drop(&mut self) {
        self.0.set(false);
    }
}

/// All connections of a drive.
pub(super) struct Connections {
    most: usize,
    all: Mutex<(u64, BTreeMap<u64, Arc<Connection>>)>,
}

impl Connections {
    /// As many as the process has files and memory for, with files left for shares and for requests to other drives.
    pub(super) fn within(limits: Limits) -> Self {
        let by_memory = limits.memory.map_or(u64::MAX, |bytes| bytes / CONNECTION_BYTES);
        let most = (files() / 2).min(by_memory).min(CONNECTIONS_MAX as u64) as usize;
        Self::of(most.max(CONNECTIONS_MIN))
    }

    fn of(most: usize) -> Self {
        Self { most, all: Mutex::default() }
    }

    /// Adds a connection. If there are too many, the one that has been idle for the longest time is closed; `None` if all are worked for.
    fn enter(&self) -> Option<(u64, Arc<Connection>)> {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        if all.1.len() >= self.most {
            let idle = all.1.iter().filter_map(|(number, one)| Some((one.idle_since()?, *number)));
            let (_, number) = idle.min()?;
            if let Some(closed) = all.1.remove(&number) {
                closed.close.notify_one();
            }
        }
        all.0 += 1;
        let (number, connection) = (all.0, Arc::new(Connection::new()));
        all.1.insert(number, Arc::clone(&connection));
        assert!(all.1.len() <= self.most, "a new connection takes the place of another");
        Some((number, connection))
    }

    fn leave(&self, number: u64) {
        self.all.lock().unwrap_or_else(PoisonError::into_inner).1.remove(&number);
    }
}

/// How many files the process may have open.
#[cfg(unix)]
fn files() -> u64 {
    rustix::process::getrlimit(rustix::process::Resource::Nofile).current.unwrap_or(u64::MAX)
}

#[cfg(not(unix))]
fn files() -> u64 {
    u64::MAX
}

/// Serves connections until `is_ended`, and then until their requests are answered.
pub(super) async fn serve(
    listener: TcpListener,
    router: Router,
    connections: Connections,
    is_ended: watch::Receiver<bool>,
) {
    let (connections, mut tasks) = (Arc::new(connections), JoinSet::new());
    let mut end = pin!(ended(is_ended.clone()));
    loop {
        while tasks.try_join_next().is_some() {}
        let stream = match select(pin!(listener.accept()), end.as_mut()).await {
            Either::Left((Ok((stream, _)), _)) => stream,
            Either::Left((Err(_), _)) => {
                tokio::time::sleep(PAUSE).await;
                continue;
            }
            Either::Right(_) => break,
        };
        let Some((number, connection)) = connections.enter() else { continue };
        let (router, is_ended, connections) = (router.clone(), is_ended.clone(), Arc::clone(&connections));
        tasks.spawn(async move {
            one(stream, router, &connection, is_ended).await;
            connections.leave(number);
        });
    }
    while tasks.join_next().await.is_some() {}
}

/// Returns when the server is to end, or its end cannot be heard of any more.
async fn ended(mut is_ended: watch::Receiver<bool>) {
    let _ = is_ended.wait_for(|ended| *ended).await;
}

/// Serves one connection.
async fn one(stream: TcpStream, router: Router, connection: &Arc<Connection>, is_ended: watch::Receiver<bool>) {
    // Without it small answers may wait; that is no reason to refuse.
    let _ = stream.set_nodelay(true);
    let service = TowerToHyperService::new(router);
    let service = service_fn(|mut request: hyper::Request<Incoming>| {
        connection.heard();
        request.extensions_mut().insert(Arc::clone(connection));
        service.call(request)
    });
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD).max_buf_size(BUFFER_BYTES);
    let mut served = pin!(http.serve_connection(TokioIo::new(stream), service));
    let closed = pin!(closed(connection));
    let ended = pin!(ended(is_ended));
    if let Either::Right((Either::Right(_), _)) = select(served.as_mut(), select(closed, ended)).await {
        served.as_mut().graceful_shutdown();
        let _ = served.await;
    }
}

/// Returns when a connection is to be closed: it has to make place, or did nothing for too long.
async fn closed(connection: &Connection) {
    while tokio::time::timeout(LOOK, connection.close.notified()).await.is_err() {
        if connection.idle_since().is_some_and(|since| clock::now().saturating_duration_since(since) >= QUIET) {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn a_new_connection_takes_the_place_of_the_one_that_was_idle_the_longest() {
        let connections = Connections::of(2);
        let (_, first) = connections.enter().unwrap();
        let (_, second) = connections.enter().unwrap();
        let working = first.work();
        let (third_number, third) = connections.enter().unwrap();
        assert!(second.close.notified().now_or_never().is_some(), "the only idle one");
        assert!(first.close.notified().now_or_never().is_none());
        let other = third.work();
        assert!(connections.enter().is_none(), "both are worked for");
        drop((working, other));
        first.heard();
        let (_, _fourth) = connections.enter().unwrap();
        assert!(third.close.notified().now_or_never().is_some(), "idle since before the first was heard");
        connections.leave(third_number);
        assert_eq!(connections.all.lock().unwrap().1.len(), 2);
    }

    #[test]
    fn half_a_request_s_head_is_waited_for_ten_seconds() {
        use tokio::io::{AsyncReadExt, AsyncWriteExt};
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        let waited = runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let (_end, is_ended) = watch::channel(false);
            tokio::spawn(serve(listener, Router::new(), Connections::of(8), is_ended));
            let mut stream = TcpStream::connect(address).await.unwrap();
            stream.write_all(b"GET /v1/status HTTP/1.1\r\nHo").await.unwrap();
            let begun = tokio::time::Instant::now();
            let mut answer = Vec::new();
            let _ = tokio::time::timeout(10 * HEAD, stream.read_to_end(&mut answer)).await.expect("it is closed");
            begun.elapsed()
        });
        assert!((HEAD..2 * HEAD).contains(&waited), "{waited:?}");
    }

    #[test]
    fn a_drive_with_little_memory_has_fewer_connections() {
        let of = |memory: Option<u64>| Connections::within(Limits { processors: None, memory }).most;
        assert!((CONNECTIONS_MIN..=CONNECTIONS_MAX).contains(&of(None)));
        assert!(of(Some(48 << 20)) <= 192);
    }
}
