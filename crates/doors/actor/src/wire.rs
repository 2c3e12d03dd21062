//! The wire format: HTTP/1.1, with JSON for facts and plain bytes for blocks. The book's chapter lists the requests.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::layout::{CELL_MAX, Code, block_range, check_cell};
use crate::share::Version;
use crate::store::Key;
use crate::{ActorError, Members, RingId};

/// The version and the digest of the sender's list of members, such as `6:0a1b2c3d`.
pub(crate) const MEMBERS: &str = "wane-members";
/// The id of the drive that asks; clients send none.
pub(crate) const FROM: &str = "wane-from";
/// CRC-32 of the body, in hexadecimal digits.
pub(crate) const CRC: &str = "wane-crc32";
/// The signature, made with the secret; see [`crate::auth`].
pub(crate) const AUTHORIZATION: &str = "authorization";

/// The challenge for the next signature, in every answer of a drive that has a secret.
pub(crate) const CHALLENGE: &str = "wane-challenge";

/// Bytes of a body, at most: a list of all drives.
pub(crate) const BODY_MAX: usize = 16 << 20;
/// Bytes of a request, at most, that is neither a cell nor a list of drives: an order names each share and its drive.
const REQUEST_MAX: usize = 64 << 10;

/// Whether a request's body is a cell or a block of it.
fn is_bytes(path: &str) -> bool {
    path.starts_with("/v1/cells/") || path.starts_with("/v1/blocks/")
}

/// Bytes of a request's body, at most.
pub(crate) fn body_max(path: &str) -> usize {
    match path {
        _ if is_bytes(path) => CELL_MAX as usize,
        "/v1/members" => BODY_MAX,
        _ => REQUEST_MAX,
    }
}

/// What a request's body is.
pub(crate) fn content_type(path: &str) -> &'static str {
    if is_bytes(path) { "application/octet-stream" } else { "application/json" }
}

/// Tag of a list of members on the wire, by which lists are compared.
pub(crate) fn tag(members: &Members) -> String {
    format!("{}:{}", members.version(), members.digest())
}

/// Why a request was refused.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Refusal {
    /// One sentence.
    pub(crate) error: String,
    /// Drives at which it failed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) drives: Vec<RingId>,
    /// The list of the drive that refuses, where the lists differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) members: Option<Members>,
}

/// Work for a drive: make a block of some shares from the same block of N others.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Order {
    /// The object and the put.
    pub(crate) object: RingId,
    pub(crate) version: Version,
    pub(crate) code: Code,
    /// The place: a stripe, the bytes of its cells (`cell_here`), and a block of them.
    pub(crate) stripe: u64,
    pub(crate) cell_here: u32,
    pub(crate) block: u16,
    /// N shares, and the drives that have them.
    pub(crate) sources: Vec<(u16, RingId)>,
    /// The shares to make, and the drives to send them to; with `None` the block is the answer.
    pub(crate) wanted: Vec<(u16, Option<RingId>)>,
}

impl Order {
    /// Checks that the order makes sense. A share is made once, however often a request could name it.
    pub(crate) fn checked(self) -> Result<Self, ActorError> {
        let code = self.code.checked()?;
        check_cell(self.cell_here)?;
        let wrong = |what: String| Err(ActorError::Invalid(format!("no order of the code {code}: {what}")));
        if self.block >= code.data {
            return wrong(format!("block {}, and cells have {}", self.block, code.data));
        }
        if self.sources.len() != usize::from(code.data) {
            return wrong(format!("{} sources, and {} are needed", self.sources.len(), code.data));
        }
        let sources = self.sources.iter().map(|(share, _)| *share);
        let wanted = self.wanted.iter().map(|(share, _)| *share);
        for (mut shares, what) in [(sources.collect::<Vec<u16>>(), "a source"), (wanted.collect(), "wanted")] {
            if let Some(share) = shares.iter().find(|share| **share >= code.shares()) {
                return wrong(format!("share {share} is {what}, and its shares are 0 to {}", code.shares() - 1));
            }
            shares.sort_unstable();
            if let Some(twice) = shares.windows(2).find(|pair| pair[0] == pair[1]) {
                return wrong(format!("share {} is {what} twice", twice[0]));
            }
        }
        Ok(self)
    }

    /// Bytes of the block that the order is for.
    pub(crate) fn block_bytes(&self) -> usize {
        block_range(self.cell_here, self.code, self.block).len()
    }

    pub(crate) fn key(&self, share: u16) -> Key {
        Key { object: self.object, version: self.version, share }
    }
}

/// The end of writing a share.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Seal {
    pub(crate) key: Key,
    pub(crate) size: u64,
    pub(crate) object_sha256: String,
    /// Whether another drive hands on this share, so that other shares of the object move too.
    pub(crate) on_the_move: bool,
}

/// Shares to remove: those before a version, or those of the version alone.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Forget {
    pub(crate) object: RingId,
    pub(crate) version: Version,
    pub(crate) which: Which,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Which {
    Before,
    This,
}

/// An object by its name.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Named {
    pub(crate) name: String,
}

/// A drive of the cluster to join.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Join {
    pub(crate) address: String,
}

/// Bytes that a drive moved since it was started, bodies alone, and what it coded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moved {
    /// Cells that clients sent.
    pub cells_in: u64,
    /// Cells that clients read.
    pub cells_out: u64,
    /// Blocks that this drive fetched from others to code.
    pub sources_in: u64,
    /// Blocks that others fetched from this one.
    pub sources_out: u64,
    /// Blocks made elsewhere for shares of this drive.
    pub made_in: u64,
    /// Blocks that this drive made for shares of others.
    pub made_out: u64,
    /// Blocks that this drive made for clients: decoding.
    pub decoded_out: u64,
    /// Cells of shares that came from drives which do not own them any more.
    pub handed_in: u64,
    /// Cells of shares that went to drives which own them now.
    pub handed_out: u64,
    /// Blocks that this drive made.
    pub blocks_coded: u64,
}

/// State of a drive.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Status {
    /// Its id.
    pub id: RingId,
    /// Its address.
    pub address: String,
    /// Its process.
    pub process: u32,
    /// A random number of this start of its server.
    #[serde(default)]
    pub start: u64,
    /// Its list of members.
    pub members: Members,
    /// That list's version.
    pub version: u64,
    /// Shares that it keeps.
    pub shares: u64,
    /// Objects that it knows to be deleted.
    pub deleted: u64,
    /// Shares that are being written to it.
    pub being_written: u64,
    /// Objects that it knows to have fewer shares than they should have.
    pub owed: Vec<String>,
    /// Whether shares wait to move to other drives.
    pub is_moving: bool,
    /// Bytes that it moved.
    pub moved: Moved,
    /// Its limits, as the system enforces them; `None` without limits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limits: Option<serde_json::Value>,
    /// The simulated drive beneath, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulated: Option<serde_json::Value>,
    /// Why its list of members is not on its disk as it is now, such as that the disk is full; `None` if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsaved: Option<String>,
}

/// Result of a scrub of a drive.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scrubbed {
    /// Shares that read as they were written.
    pub shares: u64,
    /// Shares whose checksums were wrong, or that could not be read; they lie in `rotten` now.
    pub rotten: u64,
    /// Shares whose files were gone.
    #[serde(default)]
    pub gone: u64,
    /// Shares that were made anew.
    pub repaired: u64,
    /// Objects that could not be repaired, each with the reason.
    pub unrepaired: Vec<String>,
}

/// Result of a repair.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repaired {
    /// Shares that were made anew, by their numbers.
    pub shares: Vec<u16>,
    /// Why others could not be, such as that their drives do not answer.
    #[serde(default)]
    pub unmade: Vec<String>,
}

pub(crate) fn to_json(value: &impl Serialize) -> Result<Vec<u8>, ActorError> {
    serde_json::to_vec(value).map_err(|error| ActorError::System(error.to_string()))
}

pub(crate) fn from_json<T: DeserializeOwned>(text: &[u8]) -> Result<T, ActorError> {
    serde_json::from_slice(text).map_err(|error| ActorError::Invalid(format!("no such request or answer: {error}")))
}

impl ActorError {
    /// The HTTP status that stands for it; [`ActorError::from_status`] is the way back.
    pub(crate) const fn status(&self) -> u16 {
        match self {
            Self::Invalid(_) => 400,
            Self::Unauthorized(_) => 401,
            Self::Missing(_) => 404,
            Self::Stale(_) => 409,
            Self::Rotten(_) => 410,
            Self::Lost(_) => 422,
            Self::Moving(_) => 423,
            Self::System(_) => 500,
            Self::Unreachable { .. } => 502,
            Self::Full(_) => 507,
        }
    }

    /// The error that an HTTP status and a sentence stand for.
    pub(crate) fn from_status(status: u16, what: String, drives: Vec<RingId>) -> Self {
        match status {
            400 | 405 | 413 => Self::Invalid(what),
            401 => Self::Unauthorized(what),
            404 => Self::Missing(what),
            409 => Self::Stale(what),
            410 => Self::Rotten(what),
            422 => Self::Lost(what),
            423 => Self::Moving(what),
            502 => Self::Unreachable { what, drives },
            507 => Self::Full(what),
            _ => Self::System(what),
        }
    }
}
