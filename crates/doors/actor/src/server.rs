//! A drive that is a server: it keeps shares, makes blocks of other shares, and looks after what it keeps.

mod budget;
mod checks;
mod connections;
mod moved;
mod routes;
mod upkeep;

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::http::Method;
use tokio::net::TcpListener;

use wane_units::Bytes;

use crate::auth::{Guard, Secret};
use crate::cluster::Cluster;
use crate::peers::Peers;
use crate::store::{Key, Medium, Store};
use crate::{ActorError, Limits, Members, RingId, Standing, Status, auth, check_address, clock};
use budget::Budget;
use connections::Connections;
use moved::Counted;

/// Time for running requests to finish after the server is asked to end.
const END_SECONDS: u64 = 5;

/// For how long, and how often, a starting drive looks for the drive that it is to join.
const JOIN_SECONDS: u64 = 10;
const JOIN_MILLIS: u64 = 200;

/// Milliseconds between two looks at the flag that ends the server.
const LOOK_MILLIS: u64 = 50;

/// Settings of a drive's server.
pub struct ServerConfig {
    /// Its folder.
    pub folder: PathBuf,
    /// Where it listens, such as `127.0.0.1:0`, whose port the system chooses.
    pub listen: String,
    /// Its address in the list of members; `None`: the address that it listens on. Needed if it listens on all addresses (`0.0.0.0`, `[::]`).
    pub announce: Option<String>,
    /// The id of a new drive; `None`: a random one.
    pub id: Option<RingId>,
    /// Address of a drive of the cluster to join, which the server waits for some seconds. Without it, a new drive makes its own cluster.
    pub join: Option<String>,
    /// Points on the ring of each drive, of a new cluster.
    pub points: u16,
    /// The file of the secret. Without one, the drive listens only on the loopback interface.
    pub secret: Option<PathBuf>,
    /// Seconds between two searches for shares to move or repair, at least 1.
    pub upkeep_seconds: u64,
    /// A simulated drive that wears with what is written.
    pub medium: Option<Box<dyn Medium>>,
    /// Limits of the process.
    pub limits: Limits,
}

/// State of a drive's server, which all requests share.
struct Node {
    store: Store,
    cluster: Cluster,
    guard: Option<Guard>,
    counted: Counted,
    /// Memory for requests' bodies, for answers, and for blocks to make.
    bodies: Budget,
    answers: Budget,
    orders: Budget,
    address: String,
    reached: Reached,
    /// Number of this start, which differs from that of any other process that serves a folder with the same id.
    start: u64,
    /// Whether its folder keeps shares or notes of deletions but no readable list of members; then it takes its cluster's list.
    is_lost: bool,
    limits: Limits,
    /// Whether shares may lie where they do not belong.
    is_moving: AtomicBool,
    /// Why the list of members as it is now is not on the disk, such as that the disk is full.
    unsaved: Mutex<Option<String>>,
}

/// The IP addresses under which a drive answers.
struct Reached {
    own: Vec<IpAddr>,
    /// Whether it listens on all addresses, which it does not know.
    anywhere: bool,
}

impl Reached {
    fn of(listen: SocketAddr, announce: Option<&str>) -> Result<Self, ActorError> {
        let announced = announce.map(check_address).transpose()?;
        let own = [Some(listen), announced].into_iter().flatten().map(|address| address.ip().to_canonical());
        Ok(Self { own: own.collect(), anywhere: listen.ip().is_unspecified() })
    }
}

impl Node {
    /// Checks that the drive has the memory for cells of `cell` bytes, several of which are received and coded at a time.
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

    /// Does work with files in its own thread, so that other requests go on.
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
            unsaved: self.unsaved.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        }
    }

    /// Merges another list of members, keeps the result, and has shares moved.
    async fn learn(self: &Arc<Self>, members: &Members) -> Result<bool, ActorError> {
        let changed = self.peers().learn(members)?;
        if changed {
            self.keep_members().await?;
        }
        Ok(changed)
    }

    async fn keep_members(self: &Arc<Self>) -> Result<(), ActorError> {
        self.is_moving.store(true, Ordering::Relaxed);
        self.save_members().await
    }

    /// Writes the list of members to the disk. A drive whose disk takes nothing serves what it has nevertheless, if an older list of its cluster is
    /// there: after a start it learns the changes anew.
    async fn save_members(self: &Arc<Self>) -> Result<(), ActorError> {
        let members = self.peers().members();
        let cluster = members.cluster;
        let saved = self.disk(move |store| store.keep_members(&members)).await;
        let unsaved = match saved {
            Ok(()) => None,
            Err(error) => {
                let kept = self.disk(Store::members).await;
                if !kept.is_ok_and(|kept| kept.is_some_and(|kept| kept.cluster == cluster)) {
                    return Err(error);
                }
                Some(error.to_string())
            }
        };
        *self.unsaved.lock().unwrap_or_else(PoisonError::into_inner) = unsaved;
        Ok(())
    }

    fn is_unsaved(&self) -> bool {
        self.unsaved.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Where the drive stands in its own list; `None` before it has its place.
    fn standing(&self) -> Option<Standing> {
        self.peers().members().drives.get(&self.store.id()).map(|member| member.standing)
    }

    /// Checks that the drive still belongs to the cluster: after it has left, no share that a put writes to it would count.
    fn check_here(&self) -> Result<(), ActorError> {
        if self.standing() == Some(Standing::Gone) {
            return Err(ActorError::Missing("the drive has left the cluster, and takes no shares".to_owned()));
        }
        Ok(())
    }

    /// Joins the cluster of the drive at `address`: takes its list of members, and adds this drive.
    async fn join(self: &Arc<Self>, address: &str) -> Result<Vec<String>, ActorError> {
        let theirs = self.peers().at(address, Method::GET, "/v1/members", Vec::new()).await?;
        let theirs = Members::parse(&theirs)?.placed(address)?;
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
        if let Err(error) = self.keep_members().await {
            // The disk has still the list of the cluster before.
            self.peers().adopt(ours);
            return Err(error);
        }
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
            "drive {me} belongs to cluster {from}, with others or with shares, and cannot join cluster {to}: use a new folder"
        )
    }

    /// Checks that no other process serves a drive with this id. If a folder was copied, the first one that is served stays, and the copy is refused.
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
                "drive {} is served at {} already, from another folder with its id: a copy of a folder is no second drive; use a new folder",
                me.short(),
                member.address
            )));
        }
        Ok(())
    }
}

/// Path at which a share's cell is read and written: `/v1/cells/OBJECT/VERSION/SHARE/STRIPE/BYTES`.
pub(crate) fn cell_target(key: &Key, stripe: u64, cell_here: u32) -> String {
    format!("/v1/cells/{}/{}/{}/{stripe}/{cell_here}", key.object, key.version, key.share)
}

/// Path of one of the cell's blocks: as the cell's, with the block's number at the end.
fn block_target(key: &Key, stripe: u64, cell_here: u32, block: u16) -> String {
    format!("/v1/blocks/{}/{}/{}/{stripe}/{cell_here}/{block}", key.object, key.version, key.share)
}

/// Serves a drive until `stop` is set. Once the drive answers, calls `ready` with its state and the answers of listed drives that have another
/// secret.
///
/// # Errors
/// The folder is in use or is no drive's, the address is not loopback and there is no secret, the cluster cannot be joined, or the system refuses.
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
            "others cannot reach the drive at {address}: give an address that they can reach by --announce IP:PORT"
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

/// The list that a drive starts with: its own, or a new cluster's.
fn own_list(store: &Store, points: u16) -> Result<Members, ActorError> {
    store.members()?.map_or_else(|| Members::new(RingId::random()?, points), Ok)
}

/// The list with which a joining drive starts, and whether it needs its cluster's because its own is gone or damaged while it keeps something.
fn list_to_join(store: &Store, points: u16) -> Result<(Members, bool), ActorError> {
    match own_list(store, points) {
        Err(ActorError::Invalid(_)) => Ok((Members::new(RingId::random()?, points)?, store.counts() != (0, 0))),
        other => Ok((other?, false)),
    }
}

/// Address at which others reach a drive: the announced one, whose port 0 is replaced by the actual port.
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
    // Read once: it may be a pipe's end.
    let secret = config.secret.as_deref().map(Secret::read).transpose()?;
    let guard = secret.clone().map(Guard::new).transpose()?;
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
    let peers = Arc::new(Peers::new(members, Some(store.id()), secret));
    let reached = Reached::of(listen, config.announce.as_deref())?;
    let [bodies, answers, orders] = config.limits.budgets().map(Budget::new);
    let node = Arc::new(Node {
        store,
        cluster: Cluster { peers },
        guard,
        counted: Counted::default(),
        bodies,
        answers,
        orders,
        address,
        reached,
        start: auth::random()?,
        is_lost,
        limits: config.limits,
        is_moving: AtomicBool::new(true),
        unsaved: Mutex::default(),
    });
    let (end, is_ended) = tokio::sync::watch::channel(false);
    let connections = Connections::within(config.limits);
    let served = tokio::spawn(connections::serve(listener, routes::router(&node), connections, is_ended.clone()));
    let strangers = take_place(&node, config.join.as_deref()).await?;
    if node.guard.is_some() {
        // Only now, since a failed start must leave the folder as it was.
        node.disk(Store::note_secret).await?;
    }
    ready(&node.status(), &strangers);
    let (looked_after, every) = (Arc::clone(&node), Duration::from_secs(config.upkeep_seconds));
    apart(async move || upkeep::run(&looked_after, every, is_ended).await);
    while !stop.load(Ordering::Relaxed) && !served.is_finished() {
        tokio::time::sleep(Duration::from_millis(LOOK_MILLIS)).await;
    }
    let _ = end.send(true);
    let ended = tokio::time::timeout(Duration::from_secs(END_SECONDS), served).await;
    node.store.medium().map_or(Ok(()), |mut medium| medium.save())?;
    match ended {
        Ok(Err(error)) => Err(ActorError::System(format!("the server ended: {error}"))),
        // A request that does not end is cut off: its write was not acknowledged.
        _ => Ok(()),
    }
}

/// Does work that asks many drives in its own thread, which waits for them.
fn apart<T: Send + 'static>(work: impl AsyncFnOnce() -> T + Send + 'static) -> tokio::task::JoinHandle<T> {
    let runtime = tokio::runtime::Handle::current();
    tokio::task::spawn_blocking(move || runtime.block_on(work()))
}

/// Joins, and waits a little for a drive that does not listen yet.
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

/// Sets a starting drive's present address in the list. Returns the answers of listed drives that have another secret.
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
