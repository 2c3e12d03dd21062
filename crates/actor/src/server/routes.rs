//! Requests to a drive. Each passes [`check`] first: its body's checksum, the signature where there is a secret, and the list of members.

use std::str::FromStr;
use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{DefaultBodyLimit, Path, Request, State};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post, put};
use bytes::Bytes;
use futures_util::future::join_all;
use http_body_util::{BodyExt, Limited};

use super::moved::add;
use super::{Node, apart, block_target, upkeep};
use crate::layout::{block_range, check_cell};
use crate::share::{Header, Version};
use crate::store::{Key, Plan, Store};
use crate::wire::{
    AUTHORIZATION, BODY_MAX, CRC, FROM, Forget, Join, MEMBERS, Named, Order, Refusal, Seal, Which, from_json, tag,
    to_json,
};
use crate::{ActorError, Members, RingId, codec};

type Node_ = State<Arc<Node>>;
type Answer = Result<Reply, Refused>;

/// The body of an answer.
struct Reply(Vec<u8>);

/// A refusal, sent as JSON.
struct Refused(ActorError);

impl From<ActorError> for Refused {
    fn from(error: ActorError) -> Self {
        Self(error)
    }
}

impl IntoResponse for Reply {
    fn into_response(self) -> Response {
        ([(CRC, format!("{:08x}", crc32fast::hash(&self.0)))], self.0).into_response()
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let drives = match &self.0 {
            ActorError::Unreachable { drives, .. } => drives.clone(),
            _ => Vec::new(),
        };
        refusal(&self.0, drives, None)
    }
}

fn refusal(error: &ActorError, drives: Vec<RingId>, members: Option<Members>) -> Response {
    let status = StatusCode::from_u16(error.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let body = to_json(&Refusal { error: error.to_string(), drives, members }).unwrap_or_default();
    (status, Reply(body)).into_response()
}

fn json(value: &impl serde::Serialize) -> Answer {
    Ok(Reply(to_json(value)?))
}

/// Routes of all requests to a drive.
pub(super) fn router(node: &Arc<Node>) -> Router {
    let checked = Router::new()
        .route("/v1/stage", post(stage))
        .route("/v1/cells/{object}/{version}/{share}/{stripe}/{cell}", get(read_cell).put(write_cell))
        .route("/v1/blocks/{object}/{version}/{share}/{stripe}/{cell}/{block}", get(read_block).put(write_block))
        .route("/v1/code", post(code))
        .route("/v1/seal", post(seal))
        .route("/v1/abort", post(abort))
        .route("/v1/bury", post(bury))
        .route("/v1/forget", post(forget))
        .route("/v1/owe", post(owe))
        .route("/v1/widest", get(widest))
        .route("/v1/objects", get(objects))
        .route("/v1/objects/{object}", get(held))
        .route("/v1/scrub", post(scrub))
        .route("/v1/repair", post(repair))
        .layer(middleware::from_fn_with_state(Arc::clone(node), same_members));
    let open = Router::new()
        .route("/v1/status", get(status))
        .route("/v1/members", put(learn).get(members))
        .route("/v1/join", post(join));
    checked
        .merge(open)
        .fallback(async |method: Method| Refused(ActorError::Invalid(format!("no such request: {method}"))))
        .layer(middleware::from_fn_with_state(Arc::clone(node), check))
        // The handlers check what is allowed: a cell has up to 8 MiB.
        .layer(DefaultBodyLimit::disable())
        .with_state(Arc::clone(node))
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// Checks that a request is whole, and that its sender knows the secret.
async fn check(State(node): Node_, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let body = match Limited::new(body, BODY_MAX).collect().await {
        Ok(body) => body.to_bytes(),
        Err(error) => return Refused(ActorError::Invalid(format!("the request's body: {error}"))).into_response(),
    };
    if header(&parts.headers, CRC).is_some_and(|sum| sum != format!("{:08x}", crc32fast::hash(&body))) {
        return Refused(ActorError::Invalid("the request's body does not have its checksum".to_owned()))
            .into_response();
    }
    if let Some(guard) = &node.guard {
        let target = parts.uri.path_and_query().map_or("/", |target| target.as_str());
        let signature = header(&parts.headers, AUTHORIZATION);
        if let Err(error) = guard.check(signature, parts.method.as_str(), target, &body) {
            return Refused(error).into_response();
        }
    }
    if let Some(drive) = header(&parts.headers, FROM) {
        node.peers().heard(drive);
    }
    next.run(Request::from_parts(parts, Body::from(body))).await
}

/// Checks that both sides have the same list of members. A sender with another list gets this drive's.
async fn same_members(State(node): Node_, request: Request, next: Next) -> Response {
    let ours = node.peers().members();
    let theirs = header(request.headers(), MEMBERS).unwrap_or("none");
    if theirs == tag(&ours) {
        return next.run(request).await;
    }
    let version = theirs.split(':').next().unwrap_or_default().to_owned();
    let told = format!(
        "the request goes by version {version} of the list of members, and this drive has version {}",
        ours.version()
    );
    refusal(&ActorError::Stale(told), Vec::new(), Some(ours))
}

/// A part of a request's path.
fn part<T: FromStr>(text: &str, what: &str) -> Result<T, ActorError> {
    text.parse().map_err(|_| ActorError::Invalid(format!("\"{}\" is no {what}", wane_units::excerpt(text))))
}

/// Reads a cell's path: share, stripe and bytes.
fn cell_of_path([object, version, share, stripe, cell]: [&str; 5]) -> Result<(Key, u64, u32), ActorError> {
    let key = Key { object: object.parse()?, version: version.parse::<Version>()?, share: part(share, "share")? };
    Ok((key, part(stripe, "stripe")?, check_cell(part(cell, "cell")?)?))
}

type CellPath = Path<(String, String, String, String, String)>;
type BlockPath = Path<(String, String, String, String, String, String)>;

fn is_drive(headers: &HeaderMap) -> bool {
    headers.contains_key(FROM)
}

async fn status(State(node): Node_) -> Answer {
    json(&node.status())
}

async fn members(State(node): Node_) -> Answer {
    json(&node.peers().members())
}

async fn learn(State(node): Node_, body: Bytes) -> Answer {
    json(&node.learn(&Members::parse(&body)?).await?)
}

async fn join(State(node): Node_, body: Bytes) -> Answer {
    let Join { address } = from_json(&body)?;
    let joining = Arc::clone(&node);
    wait_for(apart(async move || joining.join(&address).await)).await?;
    json(&node.status())
}

async fn stage(State(node): Node_, body: Bytes) -> Answer {
    let plan: Plan = from_json(&body)?;
    node.check_memory(plan.cell)?;
    json(&node.disk(move |store| store.stage(plan)).await?)
}

async fn read_cell(State(node): Node_, Path(path): CellPath, headers: HeaderMap) -> Answer {
    let (key, stripe, cell) = cell_of_path([&path.0, &path.1, &path.2, &path.3, &path.4])?;
    let bytes = node.disk(move |store| upkeep::cell(store, &key, stripe, cell)).await?;
    let count = if is_drive(&headers) { &node.counted.handed_out } else { &node.counted.cells_out };
    add(count, bytes.len());
    Ok(Reply(bytes))
}

async fn write_cell(State(node): Node_, Path(path): CellPath, headers: HeaderMap, body: Bytes) -> Answer {
    let (key, stripe, cell) = cell_of_path([&path.0, &path.1, &path.2, &path.3, &path.4])?;
    let count = if is_drive(&headers) { &node.counted.handed_in } else { &node.counted.cells_in };
    add(count, body.len());
    json(&node.disk(move |store| store.write(&key, stripe, cell, None, &body)).await?)
}

async fn read_block(State(node): Node_, Path(path): BlockPath) -> Answer {
    let (key, stripe, cell) = cell_of_path([&path.0, &path.1, &path.2, &path.3, &path.4])?;
    let block = part(&path.5, "block")?;
    let bytes = node.disk(move |store| store.read_block(&key, stripe, cell, block)).await?;
    add(&node.counted.sources_out, bytes.len());
    Ok(Reply(bytes))
}

async fn write_block(State(node): Node_, Path(path): BlockPath, body: Bytes) -> Answer {
    let (key, stripe, cell) = cell_of_path([&path.0, &path.1, &path.2, &path.3, &path.4])?;
    let block = part(&path.5, "block")?;
    add(&node.counted.made_in, body.len());
    json(&node.disk(move |store| store.write(&key, stripe, cell, Some(block), &body)).await?)
}

/// Makes a block of some shares from the same block of N others, and sends it on or back.
async fn code(State(node): Node_, body: Bytes) -> Answer {
    let order: Order = from_json(&body)?;
    order.code.checked()?;
    check_cell(order.cell_here)?;
    if order.block >= order.code.data || order.sources.len() != usize::from(order.code.data) {
        return Err(ActorError::Invalid(format!("no order of the code {}", order.code)).into());
    }
    // Limits the number at once to what memory holds.
    let _permit = node.orders.acquire().await.map_err(|error| ActorError::System(error.to_string()))?;
    let fetched = join_all(order.sources.iter().map(|(share, drive)| fetch(&node, &order, *share, *drive))).await;
    let sources = gathered(fetched)?;
    debug_assert_eq!(sources.len(), order.sources.len(), "each source was fetched");
    let made = {
        let (order, sources) = (order.clone(), sources);
        node.disk(move |_| {
            let sources: Vec<(u16, &[u8])> =
                order.sources.iter().zip(&sources).map(|((share, _), held)| (*share, &held[..])).collect();
            let wanted: Vec<u16> = order.wanted.iter().map(|(share, _)| *share).collect();
            codec::make(order.code, &sources, &wanted)
        })
        .await?
    };
    debug_assert_eq!(made.len(), order.wanted.len(), "each share that is wanted was made");
    add(&node.counted.blocks_coded, made.len());
    let mut answer = Vec::new();
    let mut sending = Vec::new();
    for ((share, drive), block) in order.wanted.iter().zip(made) {
        match drive {
            None => answer.extend_from_slice(&block),
            Some(drive) => sending.push(send(&node, &order, *share, *drive, block)),
        }
    }
    gathered(join_all(sending).await)?;
    add(&node.counted.decoded_out, answer.len());
    Ok(Reply(answer))
}

/// Returns all results, or one error that names every drive that failed.
fn gathered<T>(results: Vec<Result<T, ActorError>>) -> Result<Vec<T>, ActorError> {
    let (mut done, mut failed, mut said) = (Vec::new(), Vec::new(), None);
    for result in results {
        match result {
            Ok(one) => done.push(one),
            Err(ActorError::Unreachable { what, drives }) => {
                failed.extend(drives);
                said.get_or_insert(what);
            }
            Err(error) => return Err(error),
        }
    }
    match said {
        None => Ok(done),
        Some(what) => Err(ActorError::Unreachable { what, drives: failed }),
    }
}

/// Turns a failure at another drive into an error that names that drive.
fn at(drive: RingId, error: ActorError) -> ActorError {
    match error {
        ActorError::Unreachable { .. } | ActorError::Stale(_) | ActorError::Unauthorized(_) | ActorError::Moving(_) => {
            error
        }
        other => ActorError::Unreachable { what: format!("drive {}: {other}", drive.short()), drives: vec![drive] },
    }
}

async fn fetch(node: &Arc<Node>, order: &Order, share: u16, drive: RingId) -> Result<Bytes, ActorError> {
    let (key, stripe, cell, block) = (order.key(share), order.stripe, order.cell_here, order.block);
    if drive == node.store.id() {
        let read = node.disk(move |store| store.read_block(&key, stripe, cell, block)).await;
        return read.map(Bytes::from).map_err(|error| at(drive, error));
    }
    let target = block_target(&key, stripe, cell, block);
    let read = node.peers().ask(drive, Method::GET, &target, Vec::new()).await.map_err(|error| at(drive, error))?;
    let wanted = block_range(cell, order.code, block).len();
    if read.len() != wanted {
        let what = format!("{} B came for a block of {wanted} B", read.len());
        return Err(at(drive, ActorError::Invalid(what)));
    }
    add(&node.counted.sources_in, read.len());
    Ok(read)
}

async fn send(node: &Arc<Node>, order: &Order, share: u16, drive: RingId, block: Vec<u8>) -> Result<(), ActorError> {
    let (key, stripe, cell, number) = (order.key(share), order.stripe, order.cell_here, order.block);
    debug_assert_eq!(block.len(), block_range(cell, order.code, number).len());
    if drive == node.store.id() {
        let written = node.disk(move |store| store.write(&key, stripe, cell, Some(number), &block)).await;
        return written.map_err(|error| at(drive, error));
    }
    let bytes = block.len();
    let sent = node.peers().ask(drive, Method::PUT, &block_target(&key, stripe, cell, number), block).await;
    add(&node.counted.made_out, bytes);
    sent.map(drop).map_err(|error| at(drive, error))
}

async fn seal(State(node): Node_, body: Bytes) -> Answer {
    let Seal { key, size, object_sha256, on_the_move } = from_json(&body)?;
    json(&node.disk(move |store| store.seal(&key, size, &object_sha256, on_the_move)).await?)
}

async fn abort(State(node): Node_, body: Bytes) -> Answer {
    let key: Key = from_json(&body)?;
    json(&node.disk(move |store| store.abort(&key)).await?)
}

async fn bury(State(node): Node_, body: Bytes) -> Answer {
    let header: Header = from_json(&body)?;
    if !header.deleted {
        return Err(ActorError::Invalid("a note of a deletion that says of no deletion".to_owned()).into());
    }
    json(&node.disk(move |store| store.bury(&header)).await?)
}

async fn forget(State(node): Node_, body: Bytes) -> Answer {
    let Forget { object, version, which } = from_json(&body)?;
    let is_meant = move |found: Version, _| match which {
        Which::Before => found < version,
        Which::This => found == version,
    };
    json(&node.disk(move |store| store.forget(object, is_meant)).await?)
}

async fn owe(State(node): Node_, body: Bytes) -> Answer {
    let Named { name } = from_json(&body)?;
    json(&node.disk(move |store| store.owe(&name)).await?)
}

/// The names of all objects that the drive keeps shares of.
async fn objects(State(node): Node_) -> Answer {
    json(&node.disk(upkeep::names).await?)
}

/// Most shares of any object of which one is kept here; 0 without objects.
async fn widest(State(node): Node_) -> Answer {
    json(&node.disk(Store::widest).await?)
}

async fn held(State(node): Node_, Path(object): Path<String>) -> Answer {
    let object: RingId = object.parse()?;
    let held = node.disk(move |store| store.held(object)).await?;
    let headers: Vec<&Header> = held.iter().map(|header| &**header).collect();
    json(&headers)
}

async fn scrub(State(node): Node_) -> Answer {
    json(&wait_for(apart(async move || upkeep::scrub(&node).await)).await?)
}

async fn repair(State(node): Node_, body: Bytes) -> Answer {
    let Named { name } = from_json(&body)?;
    json(&wait_for(apart(async move || upkeep::repair(&node, &name).await)).await?)
}

async fn wait_for<T>(work: tokio::task::JoinHandle<Result<T, ActorError>>) -> Result<T, ActorError> {
    work.await.unwrap_or_else(|error| Err(ActorError::System(format!("internal error: {error}"))))
}
