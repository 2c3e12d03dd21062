//! Reading an object, stripe by stripe. The drives decode the lost cells of a stripe, each of them a byte range.

use std::collections::BTreeMap;
use std::io::Write;

use axum::http::Method;
use bytes::Bytes;
use futures_util::future::join_all;
use sha2::{Digest, Sha256};
use wane_units::excerpt;

use super::find::Found;
use super::{Cluster, blame};
use crate::layout::block_range;
use crate::store::{Key, hex};
use crate::wire::Order;
use crate::{ActorError, Layout, RingId};

/// Result of reading an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Got {
    /// Bytes of the object.
    pub size: u64,
    /// Bytes of the object that drives had to decode.
    pub decoded: u64,
}

/// A reading under way.
struct Download<'a> {
    cluster: &'a Cluster,
    name: &'a str,
    found: Found,
    /// Why shares were left out.
    why: Vec<String>,
    decoded: u64,
}

impl Cluster {
    /// Reads an object into `output`. After an error, discard the bytes that were written.
    pub(crate) async fn get(&self, name: &str, output: &mut dyn Write) -> Result<Got, ActorError> {
        let survey = self.find(name).await;
        let found = survey.readable(name)?.clone();
        let layout = found.header.layout;
        let mut download = Download { cluster: self, name, found, why: survey.silent, decoded: 0 };
        let mut hash = Sha256::new();
        for stripe in 0..layout.stripes() {
            let mut left = layout.object_bytes(stripe) as usize;
            for cell in download.stripe(stripe).await? {
                let part = &cell[..left.min(cell.len())];
                left -= part.len();
                hash.update(part);
                output
                    .write_all(part)
                    .map_err(|error| ActorError::Invalid(format!("what was read cannot be written: {error}")))?;
            }
        }
        if hex(&hash.finalize()) != download.found.header.object_sha256 {
            let name = excerpt(name);
            return Err(ActorError::Rotten(format!(
                "object {name}: what was read does not have the digest of what was put"
            )));
        }
        Ok(Got { size: layout.size, decoded: download.decoded })
    }
}

impl Download<'_> {
    fn layout(&self) -> Layout {
        self.found.header.layout
    }

    fn key(&self, share: u16) -> Key {
        Key { object: self.found.header.object(), version: self.found.header.version, share }
    }

    /// Continues without shares whose drives failed; any other error ends the reading.
    fn without(&mut self, error: ActorError) -> Result<(), ActorError> {
        let ActorError::Unreachable { what, drives } = error else { return Err(error) };
        self.found.holders.retain(|_, drive| !drives.contains(drive));
        self.why.push(what);
        Ok(())
    }

    /// Reads or decodes the data cells of a stripe.
    async fn stripe(&mut self, stripe: u64) -> Result<Vec<Bytes>, ActorError> {
        let code = self.layout().code;
        let mut cells: BTreeMap<u16, Bytes> = BTreeMap::new();
        loop {
            let lost: Vec<u16> = (0..code.data)
                .filter(|share| !self.found.holders.contains_key(share) && !cells.contains_key(share))
                .collect();
            let there = (0..code.data).filter(|share| !lost.contains(share) && !cells.contains_key(share));
            let reading = there.map(|share| self.read(stripe, share));
            let mut failures = Vec::new();
            for (share, result) in join_all(reading).await {
                match result {
                    Ok(cell) => drop(cells.insert(share, cell)),
                    Err(error) => failures.push(error),
                }
            }
            if failures.is_empty() && !lost.is_empty() {
                match self.decode(stripe, &lost).await {
                    Ok(made) => cells.extend(made),
                    Err(error) => failures.push(error),
                }
            }
            if failures.is_empty() {
                debug_assert_eq!(cells.len(), usize::from(code.data), "each share of data was read or decoded");
                return Ok(cells.into_values().collect());
            }
            failures.into_iter().try_for_each(|error| self.without(error))?;
        }
    }

    async fn read(&self, stripe: u64, share: u16) -> (u16, Result<Bytes, ActorError>) {
        let (drive, cell) = (self.found.holders[&share], self.layout().cell_bytes(stripe));
        let target = crate::server::cell_target(&self.key(share), stripe, cell);
        let read = self.cluster.peers.ask(drive, Method::GET, &target, Vec::new()).await;
        (share, read.map_err(|error| blame(drive, error)))
    }

    /// Has the lost cells made: each of N drives that keep shares makes its byte range.
    async fn decode(&mut self, stripe: u64, lost: &[u16]) -> Result<BTreeMap<u16, Bytes>, ActorError> {
        let is_held = |share: &u16| self.found.holders.contains_key(share);
        debug_assert!(!lost.iter().any(is_held), "what is lost is made of other shares");
        let (layout, cell_here) = (self.layout(), self.layout().cell_bytes(stripe));
        let code = layout.code;
        let sources: Vec<(u16, RingId)> =
            self.found.holders.iter().take(usize::from(code.data)).map(|(share, drive)| (*share, *drive)).collect();
        if sources.len() < usize::from(code.data) {
            let (name, left, needed) = (excerpt(self.name), sources.len(), code.data);
            let why = self.why.join("; ");
            return Err(ActorError::Lost(format!(
                "object {name}: {left} of its {code} shares are left, and {needed} are needed; {why}"
            )));
        }
        let wanted: Vec<(u16, Option<RingId>)> = lost.iter().map(|share| (*share, None)).collect();
        let Key { object, version, .. } = self.key(0);
        let order = |block: u16| {
            let (sources, wanted) = (sources.clone(), wanted.clone());
            Order { object, version, code, stripe, cell_here, block, sources, wanted }
        };
        let orders = (0..code.data).map(|block| (sources[usize::from(block)].1, order(block))).collect();
        let mut cells: BTreeMap<u16, Vec<u8>> =
            lost.iter().map(|share| (*share, vec![0; cell_here as usize])).collect();
        for (order, made) in self.cluster.code(orders).await {
            let (made, range) = (made?, block_range(cell_here, code, order.block));
            let range = range.start as usize..range.end as usize;
            if made.len() != range.len() * lost.len() {
                return Err(ActorError::System(format!(
                    "a drive made {} B where {} were wanted",
                    made.len(),
                    range.len() * lost.len()
                )));
            }
            for (place, share) in lost.iter().enumerate() {
                let part = &made[place * range.len()..(place + 1) * range.len()];
                cells.get_mut(share).expect("one cell for each lost share")[range.clone()].copy_from_slice(part);
            }
        }
        let padded = |share: u16| u64::from(share) * u64::from(cell_here);
        self.decoded += lost
            .iter()
            .map(|share| layout.object_bytes(stripe).saturating_sub(padded(*share)).min(u64::from(cell_here)))
            .sum::<u64>();
        Ok(cells.into_iter().map(|(share, cell)| (share, Bytes::from(cell))).collect())
    }
}
