//! Requests to a drive. Each passes [`check`] first, and most then need the same list of members on both sides.

use std::str::FromStr;
use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Path, Request, State};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post, put};
use bytes::Bytes;
use futures_util::future::join_all;

use super::budget::Claim;
use super::checks::{check, header};
use super::moved::add;
use super::{Node, apart, block_target, upkeep};
use crate::layout::{block_range, check_cell};
use crate::share::{Header, Version};
use crate::store::{Key, Plan, Store};
use crate::wire::{
    BODY_MAX, CRC, FROM, Forget, Join, MEMBERS, Named, Order, Refusal, Seal, Which, from_json, tag, to_json,
};
use crate::{ActorError, Members, RingId, codec};

type Node_ = State<Arc<Node>>;
type Answer = Result<Reply, Refused>;

/// The body of an answer.
struct Reply(Bytes);

/// A refusal, sent as JSON.
pub(super) struct Refused(pub(super) ActorError);

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
    (status, Reply(body.into())).into_response()
}

fn json(value: &impl serde::Serialize) -> Answer {
    Ok(Reply(to_json(value)?.into()))
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
    node.check_here()?;
    node.check_memory(plan.cell)?;
    json(&node.disk(move |store| store.stage(plan)).await?)
}

async fn read_cell(State(node): Node_, Path(path): CellPath, headers: HeaderMap) -> Answer {
    let (key, stripe, cell) = cell_of_path([&path.0, &path.1, &path.2, &path.3, &path.4])?;
    let claim = node.answers.claim(cell as usize).await?;
    let bytes = node.disk(move |store| upkeep::cell(store, &key, stripe, cell)).await?;
    let count = if is_drive(&headers) { &node.counted.handed_out } else { &node.counted.cells_out };
    add(count, bytes.len());
    Ok(Reply(claim.hold(bytes)))
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
    // Of the cell's size at most, whatever the code is.
    let claim = node.answers.claim(cell as usize).await?;
    let bytes = node.disk(move |store| store.read_block(&key, stripe, cell, block)).await?;
    add(&node.counted.sources_out, bytes.len());
    Ok(Reply(claim.hold(bytes)))
}

async fn write_block(State(node): Node_, Path(path): BlockPath, body: Bytes) -> Answer {
    let (key, stripe, cell) = cell_of_path([&path.0, &path.1, &path.2, &path.3, &path.4])?;
    let block = part(&path.5, "block")?;
    add(&node.counted.made_in, body.len());
    json(&node.disk(move |store| store.write(&key, stripe, cell, Some(block), &body)).await?)
}

/// Makes a block of some shares from the same block of N others, and sends it on or back. What is in memory meanwhile does not grow with the number
/// of shares to make: those for other drives are made and sent some at a time.
async fn code(State(node): Node_, body: Bytes) -> Answer {
    let order = from_json::<Order>(&body)?.checked()?;
    drop(body);
    let (here, away) = order.wanted.iter().partition::<Vec<_>, _>(|(_, drive)| drive.is_none());
    let (block, at_once) = (order.block_bytes(), node.limits.made_max());
    let answered = block * here.len();
    if answered > BODY_MAX {
        return Err(ActorError::Invalid(format!(
            "an order for an answer of {answered} B: at most {BODY_MAX} B are allowed"
        ))
        .into());
    }
    let group = (at_once / block.max(1)).max(1);
    let made = (block * group.min(away.len())).max(answered);
    let needed = block * order.sources.len() + made + codec::work_bytes(order.code, block);
    let claim = node.orders.claim(needed).await?;
    let fetched = join_all(order.sources.iter().map(|(share, drive)| fetch(&node, &order, *share, *drive))).await;
    let sources = Arc::new(gathered(fetched)?);
    debug_assert_eq!(sources.len(), order.sources.len(), "each source was fetched");
    for wanted in away.chunks(group) {
        let shares = wanted.iter().map(|(share, _)| *share).collect();
        let made = make(&node, &order, &sources, shares).await?;
        let sending = wanted.iter().zip(made).filter_map(|((share, drive), block)| Some((*share, (*drive)?, block)));
        let sending = sending.map(|(share, drive, block)| send(&node, &order, share, drive, block));
        gathered(join_all(sending).await)?;
    }
    let answer = make(&node, &order, &sources, here.iter().map(|(share, _)| *share).collect()).await?.concat();
    add(&node.counted.decoded_out, answer.len());
    Ok(reply_with(claim, answer))
}

/// An answer that counts against the memory of orders until it is sent.
fn reply_with(claim: Claim, answer: Vec<u8>) -> Reply {
    if answer.is_empty() { Reply(Bytes::new()) } else { Reply(claim.hold(answer)) }
}

/// Makes a block of each of these shares.
async fn make(
    node: &Arc<Node>,
    order: &Order,
    sources: &Arc<Vec<Bytes>>,
    wanted: Vec<u16>,
) -> Result<Vec<Vec<u8>>, ActorError> {
    if wanted.is_empty() {
        return Ok(Vec::new());
    }
    let (code, numbers, sources) = (order.code, order.sources.clone(), Arc::clone(sources));
    let made = node.disk(move |_| {
        let sources: Vec<(u16, &[u8])> =
            numbers.iter().zip(&*sources).map(|((share, _), held)| (*share, &held[..])).collect();
        codec::make(code, &sources, &wanted)
    });
    let made = made.await?;
    add(&node.counted.blocks_coded, made.len());
    Ok(made)
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
    node.check_here()?;
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
