//! The control socket's server. It runs in a thread of its own, and hands each request to the thread that owns the drive which it names, by
//! `?drive=NAME`. Those that name none are of the drive that clients get who name none.

use std::convert::Infallible;
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, Path, Query, State};
use axum::http::{Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::{broadcast, oneshot, watch};

use super::busy::Busy;
use super::order::{Answer, Asks, Order};
use crate::inbox::Mail;
use crate::outlets::Outlet;
use crate::server::Crew;
use crate::threads::start;
use crate::{ServeError, metrics};

/// Most bytes of a request's body.
const BODY_MAX: usize = 64 << 10;

/// Between two looks at whether a drive that does not answer is busy.
const LOOK: Duration = Duration::from_millis(50);

/// Time for the last answers to be sent.
const GRACE: Duration = Duration::from_millis(500);

/// Serves control until `end` comes.
///
/// # Errors
/// The system refuses the runtime.
pub(crate) fn serve(listener: UnixListener, crew: Arc<Crew>, end: oneshot::Receiver<()>) -> std::io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async move {
        listener.set_nonblocking(true)?;
        let listener = tokio::net::UnixListener::from_std(listener)?;
        let routes = Router::new()
            .route("/v1/events", get(events))
            .route("/v1/drives", get(list).post(take_in))
            .route("/v1/{name}", any(ask))
            .route("/metrics", get(scrape))
            .fallback(|| async { refused(StatusCode::NOT_FOUND, "control lies below /v1/, beside /metrics") })
            .layer(DefaultBodyLimit::max(BODY_MAX))
            .with_state(crew);
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

async fn scrape(State(crew): State<Arc<Crew>>) -> Response {
    ([(header::CONTENT_TYPE, metrics::CONTENT_TYPE)], metrics::scrape(&crew.shared).await).into_response()
}

/// What a query names.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    drive: Option<String>,
}

/// A query, or why it is none.
type Asked = Result<Query<Wanted>, axum::extract::rejection::QueryRejection>;

/// The drive that a query names.
fn found(crew: &Crew, asked: Asked) -> Result<Arc<Outlet>, (StatusCode, String)> {
    let wrong = |_| (StatusCode::BAD_REQUEST, "found another query, and ?drive=NAME is allowed".to_owned());
    let Query(wanted) = asked.map_err(wrong)?;
    crew.shared.outlets.of(wanted.drive.as_deref()).map_err(|told| (StatusCode::NOT_FOUND, told))
}

/// The drives that are served.
async fn list(State(crew): State<Arc<Crew>>) -> Response {
    let drive = |outlet: &Arc<Outlet>| {
        let folder =
            outlet.folder.as_ref().map(|folder| std::path::absolute(folder).unwrap_or_else(|_| folder.clone()));
        json!({ "drive": outlet.name, "uri": outlet.uri, "folder": folder, "clients": outlet.client_count() })
    };
    let drives: Vec<Value> = crew.shared.outlets.all().iter().map(drive).collect();
    answer(StatusCode::OK, &json!({ "drives": drives }))
}

/// One more drive to serve.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct More {
    path: std::path::PathBuf,
}

async fn take_in(State(crew): State<Arc<Crew>>, body: Bytes) -> Response {
    let path = match serde_json::from_slice::<More>(&body) {
        Ok(More { path }) if path.is_absolute() => path,
        Ok(More { path }) => {
            let found = wane_units::excerpt_path(&path);
            return refused(StatusCode::BAD_REQUEST, format!("drives: found {found}, and an absolute path is allowed"));
        }
        Err(_) => {
            let told = "drives: an object with `path`, an absolute path, is allowed, and nothing else";
            return refused(StatusCode::BAD_REQUEST, told);
        }
    };
    match also(&crew, path).await {
        Ok(served) => answer(StatusCode::OK, &served),
        Err(error) => refused(StatusCode::CONFLICT, error.to_string()),
    }
}

/// Serves one more drive, which may take as long as it takes to open it.
async fn also(crew: &Arc<Crew>, path: std::path::PathBuf) -> Result<Value, ServeError> {
    let (to, mut from) = oneshot::channel();
    let opens = Arc::clone(crew);
    // A thread of its own, for which nobody waits if the server is to end: a drive is whole, however its opening ends.
    start("wane-open", move || {
        let _ = to.send(opens.take_in(&path));
    })?;
    let opened = loop {
        match tokio::time::timeout(LOOK, &mut from).await {
            Ok(opened) => break opened,
            Err(_) if crew.is_over() => return Err(ServeError::Over),
            Err(_) => {}
        }
    };
    let (note, lacks) = opened.map_err(|_| ServeError::Over)??;
    Ok(json!({ "drive": note.name, "uri": note.uri, "lacks": lacks }))
}

async fn ask(
    State(crew): State<Arc<Crew>>,
    method: Method,
    Path(name): Path<String>,
    wanted: Asked,
    body: Bytes,
) -> Response {
    let changes = method == Method::POST;
    if !changes && method != Method::GET {
        return refused(StatusCode::METHOD_NOT_ALLOWED, format!("found {method}, and GET and POST are allowed"));
    }
    let stops = name == "stop" && changes;
    let outlet = match found(&crew, wanted) {
        Ok(outlet) => outlet,
        Err((status, told)) => match crew.shared.outlets.any().filter(|_| stops) {
            // It concerns all drives.
            Some(any) => any,
            None => return refused(status, told),
        },
    };
    let names: Vec<String> = crew.shared.outlets.all().iter().map(|outlet| outlet.name.clone()).collect();
    let busy = &outlet.busy;
    // While the drive ages, its thread answers nobody.
    match (name.as_str(), changes) {
        ("status", false) => {
            if let Some(doing) = busy.told() {
                return answer(StatusCode::OK, &json!({ "busy": doing }));
            }
        }
        ("cancel", true) if busy.cancel() => return answer(StatusCode::OK, &json!({ "cancelled": true })),
        ("cancel", true) => return refused(StatusCode::CONFLICT, "cancel: the drive does nothing that takes long"),
        ("stop", true) => crew.shared.outlets.all().iter().for_each(|outlet| {
            outlet.busy.cancel();
        }),
        ("withdraw", true) => {
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
    let serves = matches!(&asks, Asks::Fork(fork) if fork.serve);
    if let Asks::Fork(fork) = &asks
        && fork.serve
        && let Err(error) = crew.check_name(&fork.name)
    {
        return refused(StatusCode::CONFLICT, format!("fork: {error}"));
    }
    let asks_status = matches!(&asks, Asks::Status);
    let (to, from) = oneshot::channel();
    outlet.inbox.leave(Mail::Order(Order { asks, answer: to }));
    let answered = match asks_status {
        true => answered_or_busy(from, busy).await,
        false => from.await,
    };
    let mut told = match answered {
        Ok(Ok(told)) => told,
        Ok(Err(told)) => return refused(StatusCode::CONFLICT, told),
        Err(_) => return refused(StatusCode::SERVICE_UNAVAILABLE, UNSERVED),
    };
    if serves && let Err(error) = serve_fork(&crew, &mut told).await {
        return refused(StatusCode::CONFLICT, error);
    }
    if stops {
        told["stopped"] = json!(names);
    }
    answer(StatusCode::OK, &told)
}

/// Serves a fork that was made, and tells where in the answer.
async fn serve_fork(crew: &Arc<Crew>, told: &mut Value) -> Result<(), String> {
    let path = told["fork"].as_str().unwrap_or_default().to_owned();
    let served = also(crew, path.clone().into())
        .await
        .map_err(|error| format!("fork: {path} is made, and not served: {error}"))?;
    for key in ["drive", "uri", "lacks"] {
        told[key] = served[key].clone();
    }
    Ok(())
}

/// The answer to who asks how the drive is. It may have begun to age before it saw that.
async fn answered_or_busy(
    mut from: oneshot::Receiver<Answer>,
    busy: &Busy,
) -> Result<Answer, oneshot::error::RecvError> {
    loop {
        if let Ok(answered) = tokio::time::timeout(LOOK, &mut from).await {
            return answered;
        }
        if let Some(doing) = busy.told() {
            return Ok(Ok(json!({ "busy": doing })));
        }
    }
}

/// Said of a drive whose thread has ended.
const UNSERVED: &str = "the drive is served no longer";

/// Events as they come, a line of JSON each.
async fn events(State(crew): State<Arc<Crew>>, wanted: Asked) -> Response {
    let outlet = match found(&crew, wanted) {
        Ok(outlet) => outlet,
        Err((status, told)) => return refused(status, told),
    };
    let (to, from) = oneshot::channel();
    let (ended, _) = oneshot::channel();
    let asks = Asks::Listen(to);
    outlet.inbox.leave(Mail::Order(Order { asks, answer: ended }));
    let Ok(events) = from.await else { return refused(StatusCode::SERVICE_UNAVAILABLE, UNSERVED) };
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_asks_for_the_status_just_before_the_drive_ages_is_told_that_it_does() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let asked = |act: fn(&Busy, oneshot::Sender<Answer>) -> Option<oneshot::Sender<Answer>>| {
            runtime.block_on(async {
                let (busy, (to, from)) = (Busy::default(), oneshot::channel());
                let _unanswered = act(&busy, to);
                answered_or_busy(from, &busy).await
            })
        };
        let found = asked(|busy, to| {
            busy.tell(json!({ "doing": "age" }));
            Some(to)
        });
        assert_eq!(found.unwrap().unwrap(), json!({ "busy": { "doing": "age" } }));
        let found = asked(|_, to| {
            to.send(Ok(json!({ "day": 1 }))).unwrap();
            None
        });
        assert_eq!(found.unwrap().unwrap(), json!({ "day": 1 }));
        assert!(asked(|_, _| None).is_err(), "the drive's thread has ended");
    }
}
