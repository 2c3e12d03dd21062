//! Putting an object, stripe by stripe.
//!
//! Cells go to the N drives of their shares. Then each of these drives makes its own byte range of all parities: drive j makes block j of the K
//! parities. A drive that fails meanwhile is left out if the quorum allows; until the put ends, another drive codes in its place.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

use axum::http::Method;
use bytes::Bytes;
use futures_util::future::join_all;
use sha2::{Digest, Sha256};
use wane_units::excerpt;

use super::{Cluster, blame, counted};
use crate::layout::{cell_of, check_cell};
use crate::share::{Version, check_name};
use crate::store::{Key, Plan, hex};
use crate::wire::{Named, Order, Seal, Which};
use crate::{ActorError, Code, RingId, auth};

/// Options of a put.
#[derive(Clone, Copy, Debug)]
pub struct PutOptions {
    /// Shares of data and of parity.
    pub code: Code,
    /// Bytes of a cell: a multiple of 64 up to 8 MiB.
    pub cell: u32,
    /// Shares Q that must be on disks before the put is acknowledged; `None`: all N + K. Q is N or more, so that the object can be read, and
    /// more than K: the N + K - Q drives without a share may each keep one of an older version, and must be fewer than N.
    pub quorum: Option<u16>,
}

/// Result of a put.
#[derive(Clone, Debug)]
pub struct Put {
    /// Its version.
    pub version: Version,
    /// Bytes of the object.
    pub size: u64,
    /// SHA-256 of the object, in hexadecimal digits.
    pub sha256: String,
    /// The drives of the shares.
    pub placed: Vec<RingId>,
    /// Shares that are not on the disk yet; their repair is queued.
    pub missing: Vec<u16>,
}

/// A put under way.
struct Upload<'a> {
    cluster: &'a Cluster,
    plan: Plan,
    placed: Vec<RingId>,
    quorum: u16,
    /// Drives that failed, and why.
    dead: BTreeSet<RingId>,
    why: BTreeSet<String>,
    /// Drives that code in place of dead drives, by the dead drives' shares.
    substitutes: BTreeMap<u16, RingId>,
}

impl Cluster {
    /// Puts the bytes of `input` under a name. Only one stripe of the object is in memory at a time.
    pub(crate) async fn put(&self, name: &str, input: &mut dyn Read, options: PutOptions) -> Result<Put, ActorError> {
        check_name(name)?;
        let code = options.code.checked()?;
        check_cell(options.cell)?;
        let quorum = quorum_of(options)?;
        let placed = self.peers.ring().place(RingId::of_object(name), code.shares())?;
        assert_eq!(placed.len(), usize::from(code.shares()), "each share has a drive of its own");
        let before = self.find_everywhere(name).await;
        let version = Version { generation: before.last_generation() + 1, upload: auth::random()? };
        let plan = Plan { name: name.to_owned(), version, share: 0, code, cell: options.cell };
        let (dead, substitutes) = (BTreeSet::new(), BTreeMap::new());
        let mut upload = Upload { cluster: self, plan, placed, quorum, dead, why: BTreeSet::new(), substitutes };
        let done = upload.run(input).await;
        if done.is_err() {
            upload.give_up().await;
        }
        done
    }
}

impl Upload<'_> {
    async fn run(&mut self, input: &mut dyn Read) -> Result<Put, ActorError> {
        self.begin().await?;
        let Plan { code, cell, .. } = self.plan;
        let mut buffer = vec![0; cell as usize * usize::from(code.data)];
        let (mut hash, mut size) = (Sha256::new(), 0u64);
        for stripe in 0.. {
            let filled = fill(input, &mut buffer)?;
            if filled == 0 {
                break;
            }
            hash.update(&buffer[..filled]);
            size += filled as u64;
            self.stripe(stripe, &cells(&buffer[..filled], code)).await?;
            if filled < buffer.len() {
                break;
            }
        }
        self.seal(size, hex(&hash.finalize())).await
    }

    fn is_alive(&self, share: u16) -> bool {
        !self.dead.contains(&self.placed[usize::from(share)])
    }

    fn alive(&self) -> Vec<u16> {
        (0..self.plan.code.shares()).filter(|share| self.is_alive(*share)).collect()
    }

    /// Continues without the drives that failed, if the quorum allows; any other error ends the put.
    ///
    /// # Errors
    /// Fewer drives are left than are needed.
    fn without(&mut self, failures: Vec<ActorError>) -> Result<(), ActorError> {
        if failures.is_empty() {
            return Ok(());
        }
        for error in failures {
            let ActorError::Unreachable { what, drives } = error else { return Err(error) };
            // Several errors may name the same drive, in different words.
            if drives.is_empty() || drives.iter().any(|drive| !self.dead.contains(drive)) {
                self.why.insert(what);
            }
            self.dead.extend(drives);
        }
        self.substitutes.retain(|_, drive| !self.dead.contains(drive));
        let alive = self.alive().len();
        self.enough(alive, if alive == 1 { "drives takes it" } else { "drives take it" })
    }

    /// Checks that `count` drives or shares are a quorum. `what` follows the count in the message.
    fn enough(&self, count: usize, what: &str) -> Result<(), ActorError> {
        let quorum = usize::from(self.quorum);
        debug_assert!(quorum >= usize::from(self.plan.code.data), "a quorum can be read");
        if count >= quorum {
            return Ok(());
        }
        let (name, all, why) = (excerpt(&self.plan.name), self.placed.len(), self.reasons());
        Err(ActorError::Lost(format!(
            "object {name} was not put: {count} of its {all} {what}, and {quorum} are needed; {why}"
        )))
    }

    fn reasons(&self) -> String {
        self.why.iter().map(String::as_str).collect::<Vec<&str>>().join("; ")
    }

    async fn stage(&self, share: u16, drive: RingId) -> Result<(), ActorError> {
        let plan = Plan { share, ..self.plan.clone() };
        let staged = self.cluster.peers.tell::<()>(drive, "/v1/stage", &plan).await;
        staged.map_err(|error| blame(drive, error))
    }

    async fn begin(&mut self) -> Result<(), ActorError> {
        let staged = self.alive().into_iter().map(|share| self.stage(share, self.placed[usize::from(share)]));
        let staged = join_all(staged).await;
        self.without(staged.into_iter().filter_map(Result::err).collect())
    }

    /// Drives that code the shares of data now. A dead drive is replaced by the one that stands in for the fewest others, parities' drives first.
    async fn coders(&mut self) -> Result<Vec<RingId>, ActorError> {
        loop {
            let data = 0..self.plan.code.data;
            let Some(share) =
                data.clone().find(|share| !self.is_alive(*share) && !self.substitutes.contains_key(share))
            else {
                let coder = |share| self.substitutes.get(&share).copied().unwrap_or(self.placed[usize::from(share)]);
                return Ok(data.map(coder).collect());
            };
            let stands_in = |drive: &RingId| self.substitutes.values().filter(|other| *other == drive).count();
            let drives = self.alive().into_iter().rev().map(|share| self.placed[usize::from(share)]);
            let drive = drives.min_by_key(stands_in).expect("as many drives are alive as the quorum, at least one");
            match self.stage(share, drive).await {
                Ok(()) => drop(self.substitutes.insert(share, drive)),
                Err(error) => self.without(vec![error])?,
            }
        }
    }

    /// Sends a stripe's cells and has its parities made; repeats this without the drives that fail.
    async fn stripe(&mut self, stripe: u64, cells: &[Bytes]) -> Result<(), ActorError> {
        debug_assert_eq!(cells.len(), usize::from(self.plan.code.data), "a stripe has a cell for each share of data");
        let mut sent: BTreeMap<u16, RingId> = BTreeMap::new();
        let mut coded: BTreeSet<u16> = BTreeSet::new();
        loop {
            let coders = self.coders().await?;
            let wanting = (0..).zip(&coders).filter(|(share, drive)| sent.get(share) != Some(drive));
            let sending = wanting.map(|(share, drive)| self.send(stripe, share, *drive, &cells[usize::from(share)]));
            let mut failures = Vec::new();
            for (share, drive, result) in join_all(sending).await {
                match result {
                    Ok(()) => drop(sent.insert(share, drive)),
                    Err(error) => failures.push(error),
                }
            }
            if failures.is_empty() {
                let orders = self.orders(stripe, cells[0].len() as u32, &coders, &coded);
                for (order, result) in self.cluster.code(orders).await {
                    match result {
                        Ok(_) => drop(coded.insert(order.block)),
                        Err(error) => failures.push(error),
                    }
                }
            }
            if failures.is_empty() {
                return Ok(());
            }
            self.without(failures)?;
        }
    }

    async fn send(
        &self,
        stripe: u64,
        share: u16,
        drive: RingId,
        cell: &Bytes,
    ) -> (u16, RingId, Result<(), ActorError>) {
        let key = Key { share, ..self.plan.key() };
        let target = crate::server::cell_target(&key, stripe, cell.len() as u32);
        let sent = self.cluster.peers.ask(drive, Method::PUT, &target, cell.clone()).await;
        (share, drive, sent.map(drop).map_err(|error| blame(drive, error)))
    }

    /// Orders to make the parities' blocks: drive j makes block j.
    fn orders(&self, stripe: u64, cell_here: u32, coders: &[RingId], coded: &BTreeSet<u16>) -> Vec<(RingId, Order)> {
        let Plan { code, version, .. } = self.plan;
        debug_assert_eq!(coders.len(), usize::from(code.data), "each share of data has a drive that codes");
        let parities = self.alive().into_iter().filter(|share| *share >= code.data);
        let wanted: Vec<(u16, Option<RingId>)> =
            parities.map(|share| (share, Some(self.placed[usize::from(share)]))).collect();
        if wanted.is_empty() {
            return Vec::new();
        }
        let sources: Vec<(u16, RingId)> = (0..).zip(coders.iter().copied()).collect();
        let order = |block: u16| {
            let (object, sources, wanted) = (self.plan.key().object, sources.clone(), wanted.clone());
            (coders[usize::from(block)], Order { object, version, code, stripe, cell_here, block, sources, wanted })
        };
        // Also blocks without bytes, since their records belong in the file.
        (0..code.data).filter(|block| !coded.contains(block)).map(order).collect()
    }

    async fn seal(&mut self, size: u64, object_sha256: String) -> Result<Put, ActorError> {
        let (alive, peers) = (self.alive(), &self.cluster.peers);
        let sealing = alive.iter().map(|share| {
            let key = Key { share: *share, ..self.plan.key() };
            let request = Seal { key, size, object_sha256: object_sha256.clone(), on_the_move: false };
            let drive = self.placed[usize::from(*share)];
            async move {
                let sealed = peers.tell::<()>(drive, "/v1/seal", &request).await;
                (*share, sealed.map_err(|error| blame(drive, error)))
            }
        });
        let (mut sealed, mut failures) = (Vec::new(), Vec::new());
        for (share, result) in join_all(sealing).await {
            match result {
                Ok(()) => sealed.push(share),
                Err(error) => failures.push(error),
            }
        }
        self.without(failures)?;
        // A drive that blames another for its failure is not dead, but has no share on its disk.
        self.enough(sealed.len(), if sealed.len() == 1 { "shares is on a disk" } else { "shares are on a disk" })?;
        self.free_substitutes().await;
        let missing: Vec<u16> = (0..self.plan.code.shares()).filter(|share| !sealed.contains(share)).collect();
        assert_eq!(sealed.len() + missing.len(), self.placed.len(), "each share is sealed or missing");
        if !missing.is_empty() {
            self.queue_repair(&sealed).await?;
        }
        let (object, version) = (self.plan.key().object, self.plan.version);
        self.cluster.forget(object, version, Which::Before, &self.cluster.present()).await;
        Ok(Put { version, size, sha256: object_sha256, placed: self.placed.clone(), missing })
    }

    /// Has every drive that keeps a share note that other shares are missing.
    async fn queue_repair(&mut self, sealed: &[u16]) -> Result<(), ActorError> {
        let named = Named { name: self.plan.name.clone() };
        let told = sealed
            .iter()
            .map(|share| self.cluster.peers.tell::<()>(self.placed[usize::from(*share)], "/v1/owe", &named));
        let noted = join_all(told).await.into_iter().filter(Result::is_ok).count();
        if noted == 0 {
            let (name, missing) = (excerpt(&self.plan.name), self.placed.len() - sealed.len());
            return Err(ActorError::Lost(format!(
                "object {name} was not put: {} missing, and no drive could note it; {}",
                counted(missing, "share"),
                self.reasons()
            )));
        }
        Ok(())
    }

    async fn free_substitutes(&self) {
        let keys = self.substitutes.iter().map(|(share, drive)| (*drive, Key { share: *share, ..self.plan.key() }));
        self.abort(keys.collect()).await;
    }

    /// Gives up shares that are being written; those that cannot be given up now expire.
    async fn abort(&self, keys: Vec<(RingId, Key)>) {
        let peers = &self.cluster.peers;
        join_all(keys.iter().map(|(drive, key)| peers.tell::<()>(*drive, "/v1/abort", key))).await;
    }

    /// Removes all traces of the put from the drives that answer.
    async fn give_up(&self) {
        self.free_substitutes().await;
        let keys =
            self.alive().into_iter().map(|share| (self.placed[usize::from(share)], Key { share, ..self.plan.key() }));
        self.abort(keys.collect()).await;
        self.cluster.forget(self.plan.key().object, self.plan.version, Which::This, &self.placed).await;
    }
}

/// Returns the number of shares that must be on disks.
fn quorum_of(options: PutOptions) -> Result<u16, ActorError> {
    let code = options.code;
    let (least, most) = (code.data.max(code.parity + 1), code.shares());
    let quorum = options.quorum.unwrap_or(most);
    assert!(least <= most, "all shares of a code are a quorum");
    if (least..=most).contains(&quorum) {
        assert!(most - quorum < code.data, "the shares that a put does without bring no older version back");
        return Ok(quorum);
    }
    let why = if (code.data..=most).contains(&quorum) {
        let (without, data) = (most - quorum, code.data);
        format!(": the {without} shares that it does without may be left of an older version, which {data} bring back")
    } else {
        String::new()
    };
    let allowed = if least == most { format!("{most} alone are") } else { format!("{least} to {most} are") };
    Err(ActorError::Invalid(format!("a quorum of {quorum}: with the code {code}, {allowed} allowed{why}")))
}

/// Reads until the buffer is full or the input ends.
fn fill(input: &mut dyn Read, buffer: &mut [u8]) -> Result<usize, ActorError> {
    let mut filled = 0;
    while filled < buffer.len() {
        match input.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(ActorError::Invalid(format!("what is to be put cannot be read: {error}"))),
        }
    }
    Ok(filled)
}

/// The cells of a stripe, the last of them padded with zeros.
fn cells(bytes: &[u8], code: Code) -> Vec<Bytes> {
    let cell = cell_of(bytes.len() as u64, code) as usize;
    debug_assert!(cell * usize::from(code.data) >= bytes.len(), "the cells of a stripe hold all of its bytes");
    let cut = |share: usize| {
        let held = &bytes[(share * cell).min(bytes.len())..((share + 1) * cell).min(bytes.len())];
        let mut held = held.to_vec();
        held.resize(cell, 0);
        Bytes::from(held)
    };
    (0..usize::from(code.data)).map(cut).collect()
}
