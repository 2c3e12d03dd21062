//! A drive that is a server: it keeps shares, makes blocks of others, and looks after what it keeps.

mod moved;
mod routes;
mod upkeep;

use std::future::IntoFuture;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::http::Method;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use wane_units::Bytes;

use crate::auth::{Guard, Secret};
use crate::cluster::Cluster;
use crate::peers::Peers;
use crate::store::{Key, Medium, Store};
use crate::{ActorError, Limits, Members, RingId, Standing, Status, auth, check_address, clock};
use moved::Counted;

/// How long requests that are under way have to end, once the server is asked to.
const END_SECONDS: u64 = 5;

/// For how long, and how often, a drive that starts looks for the one that it is to join.
const JOIN_SECONDS: u64 = 10;
const JOIN_MILLIS: u64 = 200;

/// How often the flag that asks the server to end is looked at, in milliseconds.
const LOOK_MILLIS: u64 = 50;

/// Blocks that are made at once, for each processor.
const ORDERS_PER_PROCESSOR: usize = 2;

/// How a drive is served.
pub struct ServerConfig {
    /// Its folder.
    pub folder: PathBuf,
    /// Where it listens, such as `127.0.0.1:0`, whose port the system chooses.
    pub listen: String,
    /// Where others reach it, as the list of members tells; where it listens without. Needed where it listens on all addresses (`0.0.0.0`, `[::]`).
    pub announce: Option<String>,
    /// Its id, if it is new and not to draw one.
    pub id: Option<RingId>,
    /// A drive of the cluster that it is to join, which is waited for some seconds; a new drive without makes a cluster of its own.
    pub join: Option<String>,
    /// Points on the ring of each drive, of a new cluster.
    pub points: u16,
    /// The file of the secret. Without, it listens on the loopback interface alone.
    pub secret: Option<PathBuf>,
    /// Seconds between two looks at what has to be moved or repaired, at least 1.
    pub upkeep_seconds: u64,
    /// A simulated drive that wears by what is written.
    pub medium: Option<Box<dyn Medium>>,
    /// What limits the process.
    pub limits: Limits,
}

/// What all requests to a drive share.
struct Node {
    store: Store,
    cluster: Cluster,
    guard: Option<Guard>,
    counted: Counted,
    /// One for each block that may be made now: its bytes are in memory meanwhile.
    orders: Semaphore,
    address: String,
    /// Tells this start of the drive from any other process that serves a folder with its id.
    start: u64,
    /// Its folder keeps shares or notes of deletions, and the list of members is gone: it gets its cluster's.
    is_lost: bool,
    limits: Limits,
    /// Shares may lie where they do not belong.
    is_moving: AtomicBool,
}

impl Node {
    /// Whether the drive has the memory for cells of so many bytes: several are received and coded at a time.
    fn check_memory(&self, cell: u32) -> Result<(), ActorError> {
        let most = self.limits.cell_max();
        if u64::from(cell) <= most {
            return Ok(());
        }
        let (me, cell, most) = (self.store.id().short(), Bytes(cell.into()), Bytes(most));
        Err(ActorError::Invalid(format!("drive {me} has memory for cells of at most {most}, found {cell} (--cell)")))
    }

    fn peers(&self) -> &Peers {
        &self.cluster.peers
    }

    /// Does work with files in a thread of its own, so that the others' requests go on.
    async fn disk<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Store) -> Result<T, ActorError> + Send + 'static,
    ) -> Result<T, ActorError> {
        let node = Arc::clone(self);
        let done = tokio::task::spawn_blocking(move || work(&node.store)).await;
        done.unwrap_or_else(|error| Err(ActorError::System(format!("internal error: {error}"))))
    }

    fn status(&self) -> Status {
        let (shares, deleted) = self.store.counts();
        let members = self.peers().members();
        Status {
            id: self.store.id(),
            address: self.address.clone(),
            process: std::process::id(),
            start: self.start,
            version: members.version(),
            members,
            shares,
            deleted,
            being_written: self.store.being_written() as u64,
            owed: self.store.owed(),
            is_moving: self.is_moving.load(Ordering::Relaxed),
            moved: self.counted.read(),
            limits: self.limits.facts(),
            simulated: self.store.medium().map(|medium| medium.facts()),
        }
    }

    /// Takes over what another list knows, keeps it, and has shares moved.
    async fn learn(self: &Arc<Self>, members: &Members) -> Result<bool, ActorError> {
        let changed = self.peers().learn(members)?;
        if changed {
            self.keep_members().await?;
        }
        Ok(changed)
    }

    async fn keep_members(self: &Arc<Self>) -> Result<(), ActorError> {
        self.is_moving.store(true, Ordering::Relaxed);
        let members = self.peers().members();
        self.disk(move |store| store.keep_members(&members)).await
    }

    /// Takes the list of the cluster of which a drive is at `address`, and is on it from now on.
    async fn join(self: &Arc<Self>, address: &str) -> Result<Vec<String>, ActorError> {
        let theirs: Members = Members::parse(&self.peers().at(address, Method::GET, "/v1/members", Vec::new()).await?)?;
        let (ours, me) = (self.peers().members(), self.store.id());
        self.check_alone(&theirs).await?;
        if theirs.cluster != ours.cluster {
            let may = if self.is_lost {
                theirs.drives.contains_key(&me)
            } else {
                !ours.on_ring().any(|id| id != me) && self.store.counts() == (0, 0)
            };
            if !may {
                return Err(ActorError::Invalid(self.refuse_cluster(&ours, &theirs)));
            }
            self.peers().adopt(theirs);
        } else {
            self.peers().learn(&theirs)?;
        }
        self.peers().change(|members| members.set(me, Standing::In, &self.address))?;
        self.keep_members().await?;
        self.cluster.spread().await
    }

    fn refuse_cluster(&self, ours: &Members, theirs: &Members) -> String {
        let (me, from, to) = (self.store.id().short(), ours.cluster.short(), theirs.cluster.short());
        if self.is_lost {
            let kept = self.store.kept_in_words();
            return format!(
                "drive {me} keeps {kept}, and cluster {to} does not know this drive: what it keeps belongs to another cluster"
            );
        }
        format!(
            "drive {me} belongs to cluster {from}, with others or with shares, and cannot join cluster {to}: a new folder can"
        )
    }

    /// One process serves a drive: of a copied folder the first that is served stays, and the copy is refused.
    async fn check_alone(&self, members: &Members) -> Result<(), ActorError> {
        let me = self.store.id();
        let Some(member) = members.drives.get(&me).filter(|member| member.address != self.address) else {
            return Ok(());
        };
        let Ok(text) = self.peers().at(&member.address, Method::GET, "/v1/status", Vec::new()).await else {
            return Ok(());
        };
        let there: Result<Status, ActorError> = crate::wire::from_json(&text);
        if there.is_ok_and(|there| there.id == me && there.start != self.start) {
            return Err(ActorError::Invalid(format!(
                "drive {} is served at {} already, from another folder with its id: a copy of a folder is no second drive; a new folder is",
                me.short(),
                member.address
            )));
        }
        Ok(())
    }
}

/// Where a share's cell is read and written: `/v1/cells/OBJECT/VERSION/SHARE/STRIPE/BYTES`.
pub(crate) fn cell_target(key: &Key, stripe: u64, cell_here: u32) -> String {
    format!("/v1/cells/{}/{}/{}/{stripe}/{cell_here}", key.object, key.version, key.share)
}

/// The same of one of its blocks, with the block's number behind.
fn block_target(key: &Key, stripe: u64, cell_here: u32, block: u16) -> String {
    format!("/v1/blocks/{}/{}/{}/{stripe}/{cell_here}/{block}", key.object, key.version, key.share)
}

/// Serves a drive until `stop` is set. `ready` is told how it stands once it answers, and what drives of its list say that have another secret.
///
/// # Errors
/// The folder is in use or no drive's, the address is not the loopback's and there is no secret, the cluster cannot be joined, or the system refuses.
pub fn serve(
    config: ServerConfig,
    stop: &AtomicBool,
    ready: impl FnOnce(&Status, &[String]),
) -> Result<(), ActorError> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| ActorError::System(format!("no threads can be started: {error}")))?;
    let served = runtime.block_on(run(config, stop, ready));
    runtime.shutdown_timeout(Duration::from_secs(END_SECONDS));
    served
}

fn check_listen(config: &ServerConfig) -> Result<SocketAddr, ActorError> {
    let address = check_address(&config.listen)?;
    if !address.ip().is_loopback() && config.secret.is_none() {
        return Err(ActorError::Invalid(format!(
            "{address} can be reached from elsewhere: a drive listens there with a secret alone (--secret-file), or on 127.0.0.1 without"
        )));
    }
    if address.ip().is_unspecified() && config.announce.is_none() {
        return Err(ActorError::Invalid(format!(
            "{address} is no address at which others reach the drive: --announce IP:PORT tells them which is"
        )));
    }
    if let Some(announce) = &config.announce
        && check_address(announce)?.ip().is_unspecified()
    {
        return Err(ActorError::Invalid(format!("--announce {announce}: others cannot reach that address")));
    }
    if config.upkeep_seconds == 0 {
        return Err(ActorError::Invalid(
            "0 s between two looks at what is to be repaired: 1 s or more is allowed".to_owned(),
        ));
    }
    Ok(address)
}

/// The list that a drive begins with: its own, or a new cluster's.
fn own_list(store: &Store, points: u16) -> Result<Members, ActorError> {
    store.members()?.map_or_else(|| Members::new(RingId::random()?, points), Ok)
}

/// The list that a drive begins with that joins others, and whether it needs its cluster's, as its own is gone or damaged and it keeps something.
fn list_to_join(store: &Store, points: u16) -> Result<(Members, bool), ActorError> {
    match own_list(store, points) {
        Err(ActorError::Invalid(_)) => Ok((Members::new(RingId::random()?, points)?, store.counts() != (0, 0))),
        other => Ok((other?, false)),
    }
}

/// Where others reach a drive: what it announces, with the port that it got where that says 0.
fn reached_at(announce: Option<&str>, bound: SocketAddr) -> Result<String, ActorError> {
    let mut address = announce.map_or(Ok(bound), check_address)?;
    if address.port() == 0 {
        address.set_port(bound.port());
    }
    Ok(address.to_string())
}

async fn run(
    config: ServerConfig,
    stop: &AtomicBool,
    ready: impl FnOnce(&Status, &[String]),
) -> Result<(), ActorError> {
    let listen = check_listen(&config)?;
    let secret = || config.secret.as_deref().map(Secret::read).transpose();
    let guard = secret()?.map(Guard::new);
    let mut store = Store::open(&config.folder, config.id)?;
    if config.secret.is_none() {
        store.check_open()?;
    }
    if let Some(medium) = config.medium {
        store.wear(medium)?;
    }
    let refused = |error: std::io::Error| ActorError::System(format!("{listen} cannot be listened on: {error}"));
    let listener = TcpListener::bind(listen).await.map_err(refused)?;
    let address = reached_at(config.announce.as_deref(), listener.local_addr().map_err(refused)?)?;
    let (members, is_lost) = match config.join {
        Some(_) => list_to_join(&store, config.points)?,
        None => (own_list(&store, config.points)?, false),
    };
    let peers = Arc::new(Peers::new(members, Some(store.id()), secret()?));
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let node = Arc::new(Node {
        store,
        cluster: Cluster { peers },
        guard,
        counted: Counted::default(),
        orders: Semaphore::new(processors * ORDERS_PER_PROCESSOR),
        address,
        start: auth::random()?,
        is_lost,
        limits: config.limits,
        is_moving: AtomicBool::new(true),
    });
    let (end, mut is_ended) = tokio::sync::watch::channel(false);
    let is_upkeep_ended = is_ended.clone();
    let service = axum::serve(listener, routes::router(&node)).with_graceful_shutdown(async move {
        // An error says that the sender is gone: the server ends too.
        let _ = is_ended.wait_for(|ended| *ended).await;
    });
    let served = tokio::spawn(service.into_future());
    let strangers = take_place(&node, config.join.as_deref()).await?;
    if node.guard.is_some() {
        // Only now: a start that failed leaves a folder as it was.
        node.disk(Store::note_secret).await?;
    }
    ready(&node.status(), &strangers);
    let (looked_after, every) = (Arc::clone(&node), Duration::from_secs(config.upkeep_seconds));
    apart(async move || upkeep::run(&looked_after, every, is_upkeep_ended).await);
    while !stop.load(Ordering::Relaxed) && !served.is_finished() {
        tokio::time::sleep(Duration::from_millis(LOOK_MILLIS)).await;
    }
    let _ = end.send(true);
    let ended = tokio::time::timeout(Duration::from_secs(END_SECONDS), served).await;
    node.store.medium().map_or(Ok(()), |mut medium| medium.save())?;
    match ended {
        Ok(Ok(Err(error))) => Err(ActorError::System(format!("the server ended: {error}"))),
        // A request that does not end is cut off: what it was to write was not acknowledged.
        _ => Ok(()),
    }
}

/// Does work that asks many drives in a thread of its own, which waits for them.
fn apart<T: Send + 'static>(work: impl AsyncFnOnce() -> T + Send + 'static) -> tokio::task::JoinHandle<T> {
    let runtime = tokio::runtime::Handle::current();
    tokio::task::spawn_blocking(move || runtime.block_on(work()))
}

/// Joins, and waits a little for a drive that is only about to listen.
async fn join_in_time(node: &Arc<Node>, address: &str) -> Result<Vec<String>, ActorError> {
    let begun = clock::now();
    loop {
        match node.join(address).await {
            Err(ActorError::Unreachable { .. }) if begun.elapsed() < Duration::from_secs(JOIN_SECONDS) => {
                tokio::time::sleep(Duration::from_millis(JOIN_MILLIS)).await;
            }
            other => return other,
        }
    }
}

/// A drive that starts stands on the list with its present address. Gives what drives of the list say that have another secret.
async fn take_place(node: &Arc<Node>, join: Option<&str>) -> Result<Vec<String>, ActorError> {
    if let Some(address) = join {
        return join_in_time(node, address).await;
    }
    node.check_alone(&node.peers().members()).await?;
    let (me, members) = (node.store.id(), node.peers().members());
    let standing = members.drives.get(&me).map_or(Standing::In, |member| member.standing);
    if standing == Standing::Gone {
        return Err(ActorError::Invalid(format!(
            "drive {} has left its cluster: it is served again with --join",
            me.short()
        )));
    }
    node.peers().change(|members| members.set(me, standing, &node.address))?;
    node.keep_members().await?;
    node.cluster.spread().await
}
