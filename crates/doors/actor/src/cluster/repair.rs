//! Repair: makes lost shares anew, and moves shares to the drives that own them.

use std::collections::BTreeMap;

use axum::http::Method;
use bytes::Bytes;
use futures_util::future::join_all;

use super::find::Found;
use super::{Cluster, blame};
use crate::share::Header;
use crate::store::{Key, Plan};
use crate::wire::{Order, Repaired, Seal, Which};
use crate::{ActorError, RingId};

impl Cluster {
    /// Makes the missing shares of an object anew. As for the parities of a put, each of N drives makes its byte range of them. Older
    /// versions are removed, and so are notes of a deletion that every drive heard of.
    pub(crate) async fn repair(&self, name: &str) -> Result<Repaired, ActorError> {
        let survey = self.find_everywhere(name).await;
        let object = RingId::of_object(name);
        if let Some(found) = survey.newest().filter(|found| found.header.deleted) {
            self.forget(object, found.header.version, Which::Before, &self.present()).await;
            if survey.silent.is_empty() && survey.versions.len() == 1 {
                self.forget(object, found.header.version, Which::This, &self.present()).await;
            }
            return Ok(Repaired::default());
        }
        let found = survey.readable(name)?;
        let layout = found.header.layout;
        let placed = self.peers.ring().place(object, layout.code.shares())?;
        let lost = (0..).zip(&placed).filter(|(share, _)| !found.holders.contains_key(share));
        let lost: BTreeMap<u16, RingId> = lost.map(|(share, drive)| (share, *drive)).collect();
        let repaired = if lost.is_empty() { Repaired::default() } else { self.remake(found, lost).await? };
        self.forget(object, found.header.version, Which::Before, &self.present()).await;
        Ok(repaired)
    }

    /// Makes those lost shares anew whose drives accept them; the others wait until their drives are back.
    async fn remake(&self, found: &Found, lost: BTreeMap<u16, RingId>) -> Result<Repaired, ActorError> {
        let header = &found.header;
        let (layout, code) = (header.layout, header.layout.code);
        let plan =
            |share: u16| Plan { name: header.name.clone(), version: header.version, share, code, cell: layout.cell };
        let mut staged: BTreeMap<u16, RingId> = BTreeMap::new();
        let mut refused = Vec::new();
        for (share, drive) in lost {
            match self.peers.tell::<()>(drive, "/v1/stage", &plan(share)).await {
                Ok(()) => drop(staged.insert(share, drive)),
                Err(error) => refused.push(blame(drive, error)),
            }
        }
        if staged.is_empty() {
            return refused.into_iter().next().map_or_else(|| Ok(Repaired::default()), Err);
        }
        let sources: Vec<(u16, RingId)> =
            found.holders.iter().take(usize::from(code.data)).map(|(share, drive)| (*share, *drive)).collect();
        assert_eq!(sources.len(), usize::from(code.data), "an object that can be read has N shares to make others of");
        let wanted: Vec<(u16, Option<RingId>)> = staged.iter().map(|(share, drive)| (*share, Some(*drive))).collect();
        for stripe in 0..layout.stripes() {
            let order = |block: u16| Order {
                object: header.object(),
                version: header.version,
                code,
                stripe,
                cell_here: layout.cell_bytes(stripe),
                block,
                sources: sources.clone(),
                wanted: wanted.clone(),
            };
            let orders = (0..code.data).map(|block| (sources[usize::from(block)].1, order(block))).collect();
            for (_, made) in self.code(orders).await {
                made?;
            }
        }
        for (share, drive) in &staged {
            let key = plan(*share).key();
            self.end(*drive, key, header, false).await?;
        }
        Ok(Repaired { shares: staged.into_keys().collect(), unmade: refused.iter().map(ToString::to_string).collect() })
    }

    async fn end(&self, drive: RingId, key: Key, header: &Header, on_the_move: bool) -> Result<(), ActorError> {
        let seal = Seal { key, size: header.layout.size, object_sha256: header.object_sha256.clone(), on_the_move };
        self.peers.tell::<()>(drive, "/v1/seal", &seal).await.map_err(|error| blame(drive, error))
    }

    /// Hands a share on to its owner, cell by cell; `read` reads a cell. A note of a deletion is handed on as it is.
    pub(crate) async fn hand_on(
        &self,
        header: &Header,
        owner: RingId,
        read: impl AsyncFn(u64) -> Result<Vec<u8>, ActorError>,
    ) -> Result<(), ActorError> {
        if header.deleted {
            return self.peers.tell::<()>(owner, "/v1/bury", header).await;
        }
        let Header { name, version, share, layout, .. } = header.clone();
        let plan = Plan { name, version, share, code: layout.code, cell: layout.cell };
        self.peers.tell::<()>(owner, "/v1/stage", &plan).await?;
        for stripe in 0..layout.stripes() {
            let target = crate::server::cell_target(&plan.key(), stripe, layout.cell_bytes(stripe));
            self.peers.ask(owner, Method::PUT, &target, Bytes::from(read(stripe).await?)).await?;
        }
        self.end(owner, plan.key(), header, true).await
    }

    /// Whether a drive keeps a share, or knows of the deletion.
    pub(crate) async fn keeps(&self, drive: RingId, header: &Header) -> Result<bool, ActorError> {
        let target = format!("/v1/objects/{}", header.object());
        let text = self.peers.ask(drive, Method::GET, &target, Vec::new()).await?;
        let held: Vec<Header> = crate::wire::from_json(&text)?;
        let same = |other: &Header| (other.version, other.deleted) == (header.version, header.deleted);
        Ok(held.iter().any(|other| same(other) && (header.deleted || other.share == header.share)))
    }

    /// Scrubs a drive.
    pub(crate) async fn scrub(&self, drive: RingId) -> Result<crate::Scrubbed, ActorError> {
        self.peers.tell(drive, "/v1/scrub", &()).await
    }

    /// States of the drives that answer, and why others do not.
    pub(crate) async fn statuses(&self) -> Vec<(RingId, Result<crate::Status, ActorError>)> {
        let members = self.peers.members();
        let asked = members.present().map(|(id, member)| {
            let address = member.address.clone();
            async move {
                let text = self.peers.at(&address, Method::GET, "/v1/status", Vec::new()).await;
                (id, text.and_then(|text| crate::wire::from_json(&text)))
            }
        });
        join_all(asked).await
    }
}
