//! Drives of any age as live block devices: one state, two clocks.
//!
//! [`serve`] gives kept drives, or one made for the session, to clients of the network block device protocol, until it is told to end; then
//! kept drives are saved. A drive that fails is served no longer, and the others are. Requests take the time that the drive's model gives them, or none ([`Speed`]).
//!
//! Each drive and its clock (`engine`) belong to one thread (`live`), which others reach by its `outlets`; each client has a thread that reads its
//! requests; one answers control ([`Control`]), and one shows the live page (`page`). Only `real` reads the real clock.
//!
//! What pacing misses is measured: the **lag**, by which an answer is later than the model says, beside every latency.
//!
//! # How a request goes
//!
//! `door` lets clients in. A `connection` takes bytes through `nbd`, which says which drive its client chose, and leaves requests in that drive's `inbox`.
//! `live` hands them to `engine`, which gives each its instant, cuts long ones into parts, and says what is to be answered and when it has to be called again.
//! Real time comes to it as numbers, so that its tests need neither sockets nor sleep. Answers go straight to the sockets, those of a round together; what
//! a socket does not take, its client's thread sends. What must not meet requests (`age`, `rest`, `save`) waits until nothing is under way.
//!
//! Calls and acts are in the drive's journal before any answer leaves, unless `--durability none` says otherwise. `checkpoint` says when the drive is to be
//! saved, and runs the command once more, which does it in a process of its own. `show` makes what a drive shows of itself on that drive's thread.
//!
//! # What a file system lies on
//!
//! `backing` opens it, on Linux: a file, a block device, a kept drive, or a drive that a server has, of which it is a client.

#[cfg(target_os = "linux")]
pub mod backing;
mod checkpoint;
mod client;
mod connection;
mod control;
mod door;
mod durability;
mod engine;
mod events;
mod inbox;
mod live;
mod log;
mod measure;
mod memory;
mod metrics;
mod outlets;
mod page;
mod place;
mod pool;
mod real;
mod server;
mod shelf;
mod show;
mod speed;
mod syncer;
mod tally;
mod threads;

pub use checkpoint::{UpTo, checkpoint};
pub use control::{Control, ControlError};
pub use durability::Durability;
pub use engine::Failure;
pub use place::{Note, address};
pub use server::{Doors, ServeConfig, Served, Session, What, listen, open, serve};
pub use speed::Speed;

use wane_lab::kept::KeptError;
use wane_units::Bytes;

impl From<KeptError> for ServeError {
    fn from(error: KeptError) -> Self {
        Self::Kept(Box::new(error))
    }
}

/// Why a drive is not served, or not to its end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The drive cannot be opened, built or saved.
    #[error("{0}")]
    Kept(Box<KeptError>),
    /// Another server listens there.
    #[error("{0} is in use by process {1}; end it, or give another --dir")]
    InUse(String, i32),
    /// A port that somebody else listens at.
    #[error("{0} is in use by another program; give another port, or 0, for which the system chooses one")]
    PortInUse(String),
    /// Something else is where the socket would be.
    #[error("{0} is there already and is no socket; give another --dir, or remove it")]
    NoSocket(String),
    /// Others could enter the directory of the sockets.
    #[error(
        "{0}: has mode {1:o}, and only a directory of your own that others cannot enter, of mode 700, takes the sockets"
    )]
    Open(String, u32),
    /// An address that others can reach.
    #[error("{0}: a drive serves this machine alone, as nobody is asked who they are; 127.0.0.1 and [::1] are allowed")]
    Address(String),
    /// The system refuses.
    #[error("{0}: {1}")]
    System(String, String),
    /// The journal failed. What was acknowledged is in it, and nothing else was.
    #[error("{0}: {1}; what was acknowledged is there when it is served again")]
    Journal(String, Failure),
    /// An error inside wane ended its thread. The last is what became of what it was asked.
    #[error("{0} is served no longer: an error inside wane, which is told above, ended it; {1}")]
    Bug(String, &'static str),
    /// Its own file is damaged.
    #[error("{0}: {1}; nobody was answered any more, and what was acknowledged before is in its journal")]
    Damaged(String, Failure),
    /// The journal finds no room.
    #[error("{0}; free some, or serve the drive with --durability none, which saves it only at a clean end")]
    NoRoom(Box<KeptError>),
    /// It has no journal that could be forked.
    #[error("{0}: only a kept drive with a journal is forked while it is served, one without --durability none")]
    NoFork(String),
    /// The log cannot be written.
    #[error("{0} cannot be written: {1}")]
    Log(String, String),
    /// The bytes that drives keep already are more than they may keep.
    #[error("--memory {1}: with this drive {0} are kept already; as much, or more, is allowed")]
    Memory(Bytes, Bytes),
    /// It has a server.
    #[error("{0} is served already, by process {1} at {2}; `wane ctl {0} withdraw` ends that")]
    Already(String, u32, String),
    /// Two drives of one name.
    #[error(
        "two drives would be served as {0}, by which clients choose one; rename the folder of one, or give it a server of its own"
    )]
    Named(String),
    /// Too many drives.
    #[error("{0} drives are served, and no more are allowed")]
    Many(usize),
    /// The server is about to end.
    #[error("the server ends")]
    Over,
    /// Nothing is served there.
    #[error("{0}: is not served; `wane serve` serves a drive")]
    Unserved(String),
    /// There is nothing.
    #[error("{0}: there is no such drive, and no such socket")]
    Unfound(String),
    /// Its server was killed.
    #[error(
        "{0}: is not served any more: its server, process {1}, has ended without a word; `wane serve` serves it again"
    )]
    Dead(String, u32),
}
