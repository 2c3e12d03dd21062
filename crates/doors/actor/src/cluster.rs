//! Operations of clients and drives on a cluster: find an object's shares, put, get, delete, repair.

mod delete;
mod find;
mod get;
mod put;
mod repair;

use std::sync::Arc;

use axum::http::Method;
use bytes::Bytes;
use futures_util::future::join_all;

pub use get::Got;
pub use put::{Put, PutOptions};

use crate::members::Member;
use crate::peers::Peers;
use crate::share::Version;
use crate::wire::{Forget, Order, Which, to_json};
use crate::{ActorError, RingId};

/// A cluster as known from a list of its members.
#[derive(Clone)]
pub(crate) struct Cluster {
    pub(crate) peers: Arc<Peers>,
}

impl Cluster {
    /// Every drive that can be asked.
    pub(crate) fn present(&self) -> Vec<RingId> {
        self.peers.members().present().map(|(id, _)| id).collect()
    }

    /// Sends the list of members to all drives. Those that do not answer learn it from the first request they see.
    /// Returns the addresses and answers of drives that have another secret.
    pub(crate) async fn spread(&self) -> Result<Vec<String>, ActorError> {
        let members = self.peers.members();
        let body = to_json(&members)?;
        let told = members.present().map(async |(_, member)| {
            (member, self.peers.at(&member.address, Method::PUT, "/v1/members", body.clone()).await)
        });
        let stranger = |(member, answer): (&Member, Result<Bytes, ActorError>)| match answer {
            Err(ActorError::Unauthorized(why)) => Some(format!("{}: {why}", member.address)),
            _ => None,
        };
        Ok(join_all(told).await.into_iter().filter_map(stranger).collect())
    }

    /// Removes shares from all drives that answer.
    async fn forget(&self, object: RingId, version: Version, which: Which, drives: &[RingId]) {
        let request = Forget { object, version, which };
        let told = drives.iter().map(|drive| self.peers.tell::<u64>(*drive, "/v1/forget", &request));
        // Shares that stay are older than the ones that count, and are removed by the next scrub.
        join_all(told).await;
    }

    /// Has drives make blocks; returns the answers, or the drives at which it failed.
    async fn code(&self, orders: Vec<(RingId, Order)>) -> Vec<(Order, Result<Bytes, ActorError>)> {
        let asked = orders.into_iter().map(|(drive, order)| async move {
            let answer = match to_json(&order) {
                Ok(body) => self.peers.ask(drive, Method::POST, "/v1/code", body).await,
                Err(error) => Err(error),
            };
            (order, answer.map_err(|error| blame(drive, error)))
        });
        join_all(asked).await
    }
}

/// Attributes a failure to the drive that should have been able to do the work. An error in the request itself stays as it is.
fn blame(drive: RingId, error: ActorError) -> ActorError {
    match error {
        ActorError::Unreachable { what, drives } if drives.is_empty() => {
            ActorError::Unreachable { what, drives: vec![drive] }
        }
        ActorError::Missing(what) | ActorError::Rotten(what) | ActorError::Full(what) | ActorError::System(what) => {
            ActorError::Unreachable { what: format!("drive {}: {what}", drive.short()), drives: vec![drive] }
        }
        other => other,
    }
}

/// `1 drive`, `2 drives`.
fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
