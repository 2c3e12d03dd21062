//! The control socket's server. It runs in a thread of its own, and hands each request to the thread that owns the drive.

use std::convert::Infallible;
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::{Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use serde_json::{Value, json};
use tokio::sync::{broadcast, oneshot, watch};

use super::order::{Asks, Order};
use crate::inbox::Mail;
use crate::metrics;
use crate::outlets::{Outlet, Outlets};

/// Most bytes of a request's body.
const BODY_MAX: usize = 64 << 10;

/// Time for the last answers to be sent.
const GRACE: Duration = Duration::from_millis(500);

/// Serves control until `end` comes.
///
/// # Errors
/// The system refuses the runtime.
pub(crate) fn serve(listener: UnixListener, outlets: Outlets, end: oneshot::Receiver<()>) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async move {
        listener.set_nonblocking(true)?;
        let listener = tokio::net::UnixListener::from_std(listener)?;
        let routes = Router::new()
            .route("/v1/events", get(events))
            .route("/v1/{name}", any(ask))
            .route("/metrics", get(scrape))
            .fallback(|| async { refused(StatusCode::NOT_FOUND, "control lies below /v1/, beside /metrics") })
            .layer(DefaultBodyLimit::max(BODY_MAX))
            .with_state(outlets);
        let (tell, mut told) = watch::channel(false);
        let served = axum::serve(listener, routes).with_graceful_shutdown(async move {
            let _ = told.wait_for(|ends| *ends).await;
        });
        tokio::select! {
            served = async { served.await } => served,
            () = async {
                let _ = end.await;
                let _ = tell.send(true);
                // What was answered is sent; who listens to events would stay for ever.
                tokio::time::sleep(GRACE).await;
            } => Ok(()),
        }
    })
}

fn refused(status: StatusCode, why: impl Into<String>) -> Response {
    answer(status, &json!({ "error": why.into() }))
}

fn answer(status: StatusCode, body: &Value) -> Response {
    (status, [(header::CONTENT_TYPE, "application/json")], format!("{body}\n")).into_response()
}

async fn scrape(State(outlets): State<Outlets>) -> Response {
    ([(header::CONTENT_TYPE, metrics::CONTENT_TYPE)], metrics::scrape(&outlets).await).into_response()
}

/// The drive that is meant if none is named.
fn first(outlets: &Outlets) -> Arc<Outlet> {
    outlets.of(None).expect("a server has a drive from the start")
}

async fn ask(State(outlets): State<Outlets>, method: Method, Path(name): Path<String>, body: Bytes) -> Response {
    let outlet = first(&outlets);
    let busy = &outlet.busy;
    let changes = method == Method::POST;
    if !changes && method != Method::GET {
        return refused(StatusCode::METHOD_NOT_ALLOWED, format!("found {method}, and GET and POST are allowed"));
    }
    // While the drive ages, its thread answers nobody.
    match (name.as_str(), changes) {
        ("status", false) => {
            if let Some(doing) = busy.told() {
                return answer(StatusCode::OK, &json!({ "busy": doing }));
            }
        }
        ("cancel", true) if busy.cancel() => return answer(StatusCode::OK, &json!({ "cancelled": true })),
        ("cancel", true) => return refused(StatusCode::CONFLICT, "cancel: the drive does nothing that takes long"),
        ("stop", true) => {
            busy.cancel();
        }
        _ => {}
    }
    let asks = match Asks::of(&name, changes, &body) {
        Ok(asks) => asks,
        Err((is_unknown, told)) => {
            let status = if is_unknown { StatusCode::NOT_FOUND } else { StatusCode::BAD_REQUEST };
            return refused(status, told);
        }
    };
    let (to, from) = oneshot::channel();
    outlet.inbox.leave(Mail::Order(Order { asks, answer: to }));
    match from.await {
        Ok(Ok(told)) => answer(StatusCode::OK, &told),
        Ok(Err(told)) => refused(StatusCode::CONFLICT, told),
        Err(_) => refused(StatusCode::SERVICE_UNAVAILABLE, "the server ends"),
    }
}

/// Events as they come, a line of JSON each.
async fn events(State(outlets): State<Outlets>) -> Response {
    let (to, from) = oneshot::channel();
    let (ended, _) = oneshot::channel();
    let asks = Asks::Listen(to);
    first(&outlets).inbox.leave(Mail::Order(Order { asks, answer: ended }));
    let Ok(events) = from.await else { return refused(StatusCode::SERVICE_UNAVAILABLE, "the server ends") };
    let lines = futures_util::stream::unfold(events, |mut events| async move {
        let line = match events.recv().await {
            Ok(event) => format!("{event}\n"),
            Err(broadcast::error::RecvError::Lagged(missed)) => {
                format!("{}\n", json!({ "event": "missed", "events": missed }))
            }
            Err(broadcast::error::RecvError::Closed) => return None,
        };
        Some((Ok::<_, Infallible>(line), events))
    });
    ([(header::CONTENT_TYPE, "application/x-ndjson")], Body::from_stream(lines)).into_response()
}
