//! The page's server, in a thread of its own.

use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::Query;
use axum::http::{HeaderValue, Method, Request, Response, StatusCode, header};
use futures_util::stream::{self, StreamExt};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use serde::Deserialize;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use super::host::Hosts;
use super::hub::drives;
use crate::connection::Shared;
use crate::metrics;
use crate::outlets::Outlet;

/// The page.
const PAGE: &str = include_str!("page.html");

/// The page loads nothing from elsewhere, and asks nobody else.
const POLICY: &str =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; img-src data:";

/// Most viewers at a time, and connections, of which each viewer has one.
const VIEWERS_MAX: usize = 16;
const CONNECTIONS_MAX: usize = 64;

/// Time for a request's head, and for the next one on a connection that is kept open.
const HEAD: Duration = Duration::from_secs(3);

/// Bytes of a head at most, and of an answer that wait for the socket.
const BUFFER_BYTES: usize = 64 << 10;

/// Pause after the system refused a connection, such as for want of files.
const PAUSE: Duration = Duration::from_millis(50);

/// Between two ticks of a drive whose thread is busy.
const TICK: Duration = Duration::from_secs(1);

/// What requests can reach.
pub(crate) struct Site {
    shared: Arc<Shared>,
    hosts: Hosts,
    viewers: Arc<Semaphore>,
}

impl Site {
    /// The page at an address.
    pub(crate) fn new(address: SocketAddr, shared: Arc<Shared>) -> Self {
        Self { shared, hosts: Hosts::of(address), viewers: Arc::new(Semaphore::new(VIEWERS_MAX)) }
    }
}

/// Serves the page until `end` comes.
///
/// # Errors
/// The system refuses the runtime.
pub(crate) fn serve(listener: TcpListener, site: Site, end: oneshot::Receiver<()>) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let site = Arc::new(site);
    runtime.block_on(async move {
        listener.set_nonblocking(true)?;
        let listener = tokio::net::TcpListener::from_std(listener)?;
        tokio::select! {
            never = accept(listener, Arc::clone(&site)) => match never {},
            never = tell_of_busy(&site) => match never {},
            _ = end => Ok(()),
        }
    })
}

async fn accept(listener: tokio::net::TcpListener, site: Arc<Site>) -> Infallible {
    let connections = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let place = Arc::clone(&connections).acquire_owned().await.expect("it is never closed");
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let _ = stream.set_nodelay(true);
        let site = Arc::clone(&site);
        tokio::spawn(async move {
            let answer = service_fn(|request| {
                let site = Arc::clone(&site);
                async move { Ok::<_, Infallible>(site.answer(&request).await) }
            });
            let mut http = http1::Builder::new();
            http.timer(TokioTimer::new()).header_read_timeout(HEAD).max_buf_size(BUFFER_BYTES);
            let _ = http.serve_connection(TokioIo::new(stream), answer).await;
            drop(place);
        });
    }
}

/// While a drive ages, or is saved, its thread tells nothing.
async fn tell_of_busy(site: &Site) -> Infallible {
    loop {
        tokio::time::sleep(TICK).await;
        for outlet in site.shared.outlets.all() {
            if let Some(doing) = outlet.doing() {
                outlet.hub.tell_busy(&doing, site.shared.real.now());
            }
        }
    }
}

fn answer(status: StatusCode, kind: &'static str, body: impl Into<Body>) -> Response<Body> {
    let mut answer = Response::new(body.into());
    *answer.status_mut() = status;
    for (name, value) in [
        (header::CONTENT_TYPE, kind),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CACHE_CONTROL, "no-store"),
    ] {
        answer.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    answer
}

fn refused(status: StatusCode, why: impl Into<String>) -> Response<Body> {
    answer(status, "text/plain; charset=utf-8", format!("{}\n", why.into()))
}

/// What a query asks for.
#[derive(Default, Deserialize)]
struct Wanted {
    /// Without it that of clients who name none, or the first that is there.
    drive: Option<String>,
}

impl Site {
    async fn answer<B>(&self, request: &Request<B>) -> Response<Body> {
        if let Err(why) = self.hosts.check(request.headers()) {
            return refused(StatusCode::FORBIDDEN, why);
        }
        if request.method() != Method::GET {
            let why = format!("found {}, and GET is allowed: the page only shows", request.method());
            return refused(StatusCode::METHOD_NOT_ALLOWED, why);
        }
        let Ok(Query(Wanted { drive })) = Query::try_from_uri(request.uri()) else {
            return refused(StatusCode::BAD_REQUEST, "found another query, and ?drive=NAME is allowed");
        };
        let outlets = &self.shared.outlets;
        let outlet = match &drive {
            Some(name) => outlets.of(Some(name)),
            // It only shows, so that it may be another one than before.
            None => outlets.of(None).or_else(|told| outlets.any().ok_or(told)),
        };
        match (request.uri().path(), outlet) {
            ("/metrics", _) => answer(StatusCode::OK, metrics::CONTENT_TYPE, metrics::scrape(&self.shared).await),
            ("/" | "/events", Err(why)) => refused(StatusCode::NOT_FOUND, why),
            ("/", _) => answer(StatusCode::OK, "text/html; charset=utf-8", PAGE),
            ("/events", Ok(outlet)) => match Arc::clone(&self.viewers).try_acquire_owned() {
                Ok(place) => events(&outlet, &self.shared, place),
                Err(_) => {
                    let why = format!("{VIEWERS_MAX} viewers watch already, and no more are allowed");
                    refused(StatusCode::SERVICE_UNAVAILABLE, why)
                }
            },
            _ => refused(StatusCode::NOT_FOUND, "/, /events and /metrics are here"),
        }
    }
}

/// Events until the viewer leaves. The first one names all drives of the server.
fn events(outlet: &Outlet, shared: &Shared, place: OwnedSemaphorePermit) -> Response<Body> {
    let (first, viewer) = outlet.hub.come();
    let all = shared.outlets.all();
    let names: Vec<&str> = all.iter().map(|outlet| outlet.name.as_str()).collect();
    let first = std::iter::once(drives(&names)).chain(first);
    let later = stream::unfold((viewer, place), |(mut viewer, place)| async move {
        let event = viewer.next().await?;
        Some((event, (viewer, place)))
    });
    let all = stream::iter(first).chain(later).map(Ok::<Bytes, Infallible>);
    answer(StatusCode::OK, "text/event-stream", Body::from_stream(all))
}
