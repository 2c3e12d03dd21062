//! A blocking client of a cluster, for callers without an async runtime: each call returns when its work is done.

use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::http::Method;
use futures_util::future::join_all;
use tokio::runtime::Runtime;

use crate::auth::Secret;
use crate::cluster::{Cluster, Got, Put, PutOptions};
use crate::peers::Peers;
use crate::wire::{Join, from_json, to_json};
use crate::{ActorError, Members, Repaired, RingId, Scrubbed, Standing, Status, clock};

/// Milliseconds between two looks at a drive that the client waits for.
const LOOK_MILLIS: u64 = 100;

/// The state of a cluster after a drive has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left {
    /// The drive that left.
    pub id: RingId,
    /// Drives that are still on the ring.
    pub drives: usize,
    /// Drives that their objects need: the most shares N + K of any object. With fewer drives the objects can be read, but not made whole.
    pub widest: u16,
}

/// How a drive leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leave {
    /// Once it has handed on its shares.
    InOrder,
    /// At once, because it is lost. Refused if it answers.
    Lost,
    /// At once, even if it answers.
    LostWhateverItSays,
}

/// How long a scrub waits for shares that are on the move.
const REST: Duration = Duration::from_secs(10);

/// See the head of this file.
pub struct Client {
    runtime: Runtime,
    cluster: Cluster,
}

impl Client {
    /// Connects to a cluster of which `addresses` name drives; the first drive that answers supplies the list of the others.
    ///
    /// # Errors
    /// None of them answers, or the secret is another.
    pub fn connect(addresses: &[String], secret: Option<&Path>) -> Result<Self, ActorError> {
        Self::connect_within(addresses, secret, Duration::ZERO)
    }

    /// Does the same as [`Client::connect`], and waits for drives that do not listen yet.
    ///
    /// # Errors
    /// None of them answers in time, or the secret is another.
    pub fn connect_within(addresses: &[String], secret: Option<&Path>, wait: Duration) -> Result<Self, ActorError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| ActorError::System(format!("no connections can be made: {error}")))?;
        let nobody = Members::new(RingId::of("nobody", &[]), 1)?;
        let peers = Arc::new(Peers::new(nobody, None, secret.map(Secret::read).transpose()?));
        let mut last = ActorError::Invalid("no address of a drive is given".to_owned());
        let begun = clock::now();
        loop {
            for address in addresses {
                match runtime.block_on(peers.at(address, Method::GET, "/v1/members", Vec::new())) {
                    Ok(text) => match Members::parse(&text)?.placed(address) {
                        Ok(members) => {
                            peers.adopt(members);
                            return Ok(Self { runtime, cluster: Cluster { peers } });
                        }
                        Err(error) => last = error,
                    },
                    Err(error) => last = error,
                }
            }
            if !matches!(last, ActorError::Unreachable { .. }) || begun.elapsed() >= wait {
                return Err(last);
            }
            runtime.block_on(async { tokio::time::sleep(Duration::from_millis(LOOK_MILLIS)).await });
        }
    }

    /// The list of members as it is known now.
    pub fn members(&self) -> Members {
        self.cluster.peers.members()
    }

    /// Waits until `drives` drives are on the list, since some may be about to join. Returns without an error even if they do not come.
    pub fn await_drives(&self, drives: u16, wait: Duration) {
        if self.members().on_ring().count() >= usize::from(drives) {
            return;
        }
        let _ = self.wait(wait, |statuses| {
            for status in statuses {
                let _ = self.cluster.peers.learn(&status.members);
            }
            self.members().on_ring().count() >= usize::from(drives)
        });
    }

    /// The drives that the shares of an object belong to.
    ///
    /// # Errors
    /// There are fewer drives than shares.
    pub fn place(&self, name: &str, shares: u16) -> Result<Vec<RingId>, ActorError> {
        self.cluster.peers.ring().place(RingId::of_object(name), shares)
    }

    /// Puts the bytes of `input`, a stripe at a time. Returns when all shares, or a quorum of them, are on disks.
    ///
    /// # Errors
    /// The options make no sense, the input cannot be read, or too few drives are there. Nothing was put then.
    pub fn put(&self, name: &str, input: &mut dyn Read, options: PutOptions) -> Result<Put, ActorError> {
        self.runtime.block_on(self.cluster.put(name, input, options))
    }

    /// Reads an object into `output`. After an error, discard what was written there.
    ///
    /// # Errors
    /// There is no such object, or too few of its shares are left.
    pub fn get(&self, name: &str, output: &mut dyn Write) -> Result<Got, ActorError> {
        self.runtime.block_on(self.cluster.get(name, output))
    }

    /// Deletes an object.
    ///
    /// # Errors
    /// There is no such object, or too many drives are missing, so that it could come back.
    pub fn delete(&self, name: &str) -> Result<(), ActorError> {
        self.runtime.block_on(self.cluster.delete(name))
    }

    /// Makes the missing shares of an object anew.
    ///
    /// # Errors
    /// There is no such object, too few of its shares are left, or a drive that should keep one does not answer.
    pub fn repair(&self, name: &str) -> Result<Repaired, ActorError> {
        self.runtime.block_on(self.cluster.repair(name))
    }

    /// Scrubs every drive, one after the other. First waits some seconds for shares that are on the move.
    pub fn scrub(&self) -> Vec<(RingId, Result<Scrubbed, ActorError>)> {
        // If shares are still on the move, the drives report which repairs that prevents.
        let _ = self.wait(REST, |statuses| statuses.iter().all(|status| !status.is_moving));
        let scrub = |drive: RingId| (drive, self.runtime.block_on(self.cluster.scrub(drive)));
        self.cluster.present().into_iter().map(scrub).collect()
    }

    /// State of each drive.
    pub fn statuses(&self) -> Vec<(RingId, Result<Status, ActorError>)> {
        self.runtime.block_on(self.cluster.statuses())
    }

    /// Names of all objects of which some drive keeps a share.
    ///
    /// # Errors
    /// No drive answers.
    pub fn list(&self) -> Result<Vec<String>, ActorError> {
        let (mut names, mut failed, mut answered) = (std::collections::BTreeSet::new(), None, false);
        let peers = &self.cluster.peers;
        let asked = self.cluster.present().into_iter();
        let asked = asked.map(|drive| peers.ask(drive, Method::GET, "/v1/objects", Vec::new()));
        for answer in self.runtime.block_on(join_all(asked)) {
            match answer.and_then(|text| from_json::<Vec<String>>(&text)) {
                Ok(found) => {
                    answered = true;
                    names.extend(found);
                }
                Err(error) => failed = Some(error),
            }
        }
        match failed {
            Some(error) if !answered => Err(error),
            _ => Ok(names.into_iter().collect()),
        }
    }

    /// Has the drive that is served at `address`, and keeps nothing, join the cluster. With `wait`, returns when shares are where they belong.
    ///
    /// # Errors
    /// It does not answer, or belongs to another cluster.
    pub fn join(&self, address: &str, wait: Option<Duration>) -> Result<Status, ActorError> {
        let members = self.members();
        let (_, known) =
            members.present().next().ok_or_else(|| ActorError::Lost("the cluster has no drive".to_owned()))?;
        let request = to_json(&Join { address: known.address.clone() })?;
        let answer = self.runtime.block_on(self.cluster.peers.at(address, Method::POST, "/v1/join", request))?;
        let status: Status = from_json(&answer)?;
        self.cluster.peers.learn(&status.members)?;
        wait.map_or(Ok(()), |wait| self.wait(wait, |statuses| statuses.iter().all(|status| !status.is_moving)))?;
        Ok(status)
    }

    /// Has a drive leave the cluster. It hands on its shares first. A lost drive is removed at once, and scrubs make its shares anew.
    ///
    /// # Errors
    /// There is no such drive, too few would be left for its shares, it is called lost and answers, or it has not handed on all shares in
    /// time; then it is still leaving.
    pub fn leave(&self, drive: &str, how: Leave, wait: Duration) -> Result<Left, ActorError> {
        let members = self.members();
        let id = members.find(drive)?;
        let address = members.drives[&id].address.clone();
        match how {
            Leave::InOrder => {
                self.check_leaving(id)?;
                self.stand(id, Standing::Leaving, &address)?;
                let is_empty = |status: &Status| (status.shares, status.deleted, status.being_written) == (0, 0, 0);
                let waited =
                    self.wait(wait, |statuses| statuses.iter().find(|status| status.id == id).is_some_and(is_empty));
                waited
                    .map_err(|error| ActorError::Lost(format!("{error}; `wane actor join {address}` has it stay")))?;
            }
            Leave::Lost => {
                let mut answering =
                    self.statuses().into_iter().filter(|(drive, status)| *drive == id && status.is_ok());
                if answering.next().is_some() {
                    return Err(ActorError::Invalid(format!(
                        "drive {} at {address} is not lost, it answers: it hands on what it keeps without --lost; --force gives it up nevertheless",
                        id.short()
                    )));
                }
            }
            Leave::LostWhateverItSays => {}
        }
        self.stand(id, Standing::Gone, &address)?;
        let peers = &self.cluster.peers;
        let asked = self.cluster.present().into_iter();
        let asked = asked.map(|drive| peers.ask(drive, Method::GET, "/v1/widest", Vec::new()));
        let answers = self.runtime.block_on(join_all(asked)).into_iter();
        let widest = answers.filter_map(|answer| from_json::<u16>(&answer.ok()?).ok()).max().unwrap_or(0);
        Ok(Left { id, drives: self.members().on_ring().count(), widest })
    }

    /// Checks that enough drives stay for the objects of which this drive keeps shares.
    fn check_leaving(&self, id: RingId) -> Result<(), ActorError> {
        let asked = self.cluster.peers.ask(id, Method::GET, "/v1/widest", Vec::new());
        let needed: u16 = from_json(&self.runtime.block_on(asked)?)?;
        let left = self.members().on_ring().filter(|other| *other != id).count();
        if left >= usize::from(needed) {
            return Ok(());
        }
        let drive = id.short();
        Err(ActorError::Lost(format!(
            "drive {drive} cannot hand on what it keeps: objects on it need {needed} drives, and {left} would be left; have another drive join first"
        )))
    }

    fn stand(&self, id: RingId, standing: Standing, address: &str) -> Result<(), ActorError> {
        // Changes the newest list: a change to an older one would lose against it.
        let statuses = self.statuses();
        for status in statuses.into_iter().filter_map(|(_, status)| status.ok()) {
            self.cluster.peers.learn(&status.members)?;
        }
        self.cluster.peers.change(|members| members.set(id, standing, address))?;
        // Also tells the drive itself, which may no longer be on the list.
        let told = to_json(&self.members())?;
        let _ = self.runtime.block_on(self.cluster.peers.at(address, Method::PUT, "/v1/members", told));
        // Drives with another secret do not matter here.
        self.runtime.block_on(self.cluster.spread()).map(drop)
    }

    /// Polls all drives that answer until `is_done` holds for their states.
    fn wait(&self, wait: Duration, is_done: impl Fn(&[Status]) -> bool) -> Result<(), ActorError> {
        let begun = clock::now();
        loop {
            let statuses: Vec<Status> = self.statuses().into_iter().filter_map(|(_, status)| status.ok()).collect();
            if is_done(&statuses) {
                return Ok(());
            }
            if begun.elapsed() >= wait {
                break;
            }
            self.runtime.block_on(async { tokio::time::sleep(Duration::from_millis(LOOK_MILLIS)).await });
        }
        let seconds = wait.as_secs();
        Err(ActorError::Lost(format!(
            "shares are still on the move after {seconds} s; they go on, and `wane actor status` tells how far they are"
        )))
    }
}
