//! Search for an object's shares: which drives keep which shares of which version.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::http::Method;
use futures_util::future::join_all;
use wane_units::excerpt;

use super::{Cluster, counted};
use crate::share::{Header, Version};
use crate::wire::from_json;
use crate::{ActorError, Members, RingId};

/// Drives to ask first, before the object's code is known.
const FIRST: u16 = 4;

/// What drives report about one version.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    /// The description of one of its shares.
    pub(crate) header: Arc<Header>,
    /// The shares, and a drive that keeps each.
    pub(crate) holders: BTreeMap<u16, RingId>,
}

impl Found {
    /// Whether every share is there.
    pub(crate) fn is_complete(&self) -> bool {
        self.holders.len() == usize::from(self.header.layout.code.shares())
    }

    /// Whether enough shares are there to decode the object.
    fn is_whole(&self) -> bool {
        self.holders.len() >= usize::from(self.header.layout.code.data)
    }
}

/// What drives report about an object.
#[derive(Clone, Debug, Default)]
pub(crate) struct Survey {
    /// Its versions; a deletion is a version without shares.
    pub(crate) versions: BTreeMap<Version, Found>,
    /// Drives that did not answer, with the reasons.
    pub(crate) silent: Vec<String>,
    /// Drives that answered.
    answered: Vec<RingId>,
}

impl Survey {
    fn take(&mut self, drive: RingId, answer: Result<Vec<Header>, ActorError>) {
        match answer {
            Err(error) => self.silent.push(error.to_string()),
            Ok(headers) => {
                self.answered.push(drive);
                for header in headers {
                    let (share, deleted) = (header.share, header.deleted);
                    let version = header.version;
                    let found = self.versions.entry(version);
                    let found = found.or_insert_with(|| Found { header: Arc::new(header), holders: BTreeMap::new() });
                    if !deleted {
                        found.holders.entry(share).or_insert(drive);
                    }
                }
            }
        }
    }

    /// The newest version that counts: a deletion, or one with enough shares left.
    pub(crate) fn newest(&self) -> Option<&Found> {
        self.versions.values().rev().find(|found| found.header.deleted || found.is_whole())
    }

    /// Whether all drives answered and none knows the object.
    pub(crate) fn is_unknown(&self) -> bool {
        self.versions.is_empty() && self.silent.is_empty()
    }

    /// The newest version of all, whether or not it can be decoded.
    pub(crate) fn last_generation(&self) -> u64 {
        self.versions.keys().next_back().map_or(0, |version| version.generation)
    }

    /// The object as it can be read.
    ///
    /// # Errors
    /// There is no such object, or too few of its shares are left.
    pub(crate) fn readable(&self, name: &str) -> Result<&Found, ActorError> {
        let name = excerpt(name);
        let silent = match self.silent.len() {
            0 => String::new(),
            count => format!("; {} did not answer: {}", counted(count, "drive"), self.silent.join("; ")),
        };
        match self.newest() {
            Some(found) if !found.header.deleted => Ok(found),
            Some(_) => Err(ActorError::Missing(format!("there is no object {name}: it was deleted"))),
            None => match self.versions.values().next_back() {
                Some(found) => {
                    let code = found.header.layout.code;
                    let (left, needed) = (found.holders.len(), code.data);
                    Err(ActorError::Lost(format!(
                        "object {name}: {left} of its {code} shares {} left, and {needed} are needed{silent}",
                        if left == 1 { "is" } else { "are" }
                    )))
                }
                None if self.answered.is_empty() => Err(ActorError::Lost(format!("no drive answers{silent}"))),
                None => Err(ActorError::Missing(format!("there is no object {name}{silent}"))),
            },
        }
    }
}

impl Cluster {
    /// Asks some drives what they keep of an object. A drive that does not answer is asked again if the others know another address of it.
    async fn ask_for(&self, object: RingId, drives: &[RingId], survey: &mut Survey) {
        let (target, before) = (format!("/v1/objects/{object}"), self.peers.members());
        let ask = async |drive: RingId| {
            let answer = self.peers.ask(drive, Method::GET, &target, Vec::new()).await;
            (drive, answer.and_then(|text| from_json::<Vec<Header>>(&text)))
        };
        let asked: Vec<_> = drives.iter().map(|drive| ask(*drive)).collect();
        for (drive, answer) in join_all(asked).await {
            let address = |members: &Members| members.drives.get(&drive).map(|member| member.address.clone());
            let has_moved = answer.is_err() && address(&before) != address(&self.peers.members());
            survey.take(drive, if has_moved { ask(drive).await.1 } else { answer });
        }
    }

    /// Asks the drives that should have the object, and all others only if it is not complete there.
    pub(crate) async fn find(&self, name: &str) -> Survey {
        let object = RingId::of_object(name);
        let ring = self.peers.ring();
        let mut survey = Survey::default();
        let first = ring.place(object, FIRST.min(ring.drives().try_into().unwrap_or(FIRST))).unwrap_or_default();
        self.ask_for(object, &first, &mut survey).await;
        let code = survey.versions.values().next_back().map(|found| found.header.layout.code);
        if let Some(placed) = code.and_then(|code| ring.place(object, code.shares()).ok()) {
            let others: Vec<RingId> = placed.into_iter().filter(|drive| !first.contains(drive)).collect();
            self.ask_for(object, &others, &mut survey).await;
            // The newest known version is complete or deleted: no other drive can know a newer one that counts.
            let all = |found: &Found| found.header.deleted || found.is_complete();
            if survey.versions.values().next_back().is_some_and(all) {
                return survey;
            }
        }
        self.find_everywhere(name).await
    }

    /// Asks every drive.
    pub(crate) async fn find_everywhere(&self, name: &str) -> Survey {
        let mut survey = Survey::default();
        self.ask_for(RingId::of_object(name), &self.present(), &mut survey).await;
        survey
    }
}
