//! Upkeep of a drive: it hands shares on to the drives that own them, repairs objects that it knows to be incomplete, and scrubs.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::watch;

use super::Node;
use super::moved::add;
use crate::layout::{block_range, check_cell};
use crate::share::Header;
use crate::store::{Key, Store};
use crate::{ActorError, Members, Repaired, RingId, Scrubbed, Standing};

/// Objects whose names are asked for at once.
const OBJECTS_AT_ONCE: usize = 256;

/// Seconds without a write after which a share that is being written is given up: its client is gone, or waits for its input. A drive that leaves waits
/// less: a put that still goes on then does without that drive, as if the drive had failed.
const EXPIRE_SECONDS: u64 = 600;
const EXPIRE_LEAVING_SECONDS: u64 = 5;

/// Time that a drive has to answer a routine request for its list.
const HEAR: Duration = Duration::from_millis(500);

/// How often, at intervals of a second, a scrub tries to repair an object whose shares are on the move.
const MOVING_TRIES: usize = 10;

/// All blocks of a share's cell.
pub(super) fn cell(store: &Store, key: &Key, stripe: u64, cell_here: u32) -> Result<Vec<u8>, ActorError> {
    check_cell(cell_here)?;
    let code = store.header(key)?.layout.code;
    let mut bytes = Vec::with_capacity(cell_here as usize);
    for block in 0..code.data {
        let read = store.read_block(key, stripe, cell_here, block)?;
        debug_assert_eq!(read.len(), block_range(cell_here, code, block).len());
        bytes.extend_from_slice(&read);
    }
    Ok(bytes)
}

/// Names of the objects that a drive keeps shares of; damaged shares have no name.
///
/// # Errors
/// Files cannot be read now.
pub(super) fn names(store: &Store) -> Result<Vec<String>, ActorError> {
    let mut names = Vec::new();
    for object in store.objects(None, usize::MAX) {
        let newest = store.newest(object)?;
        names.extend(newest.filter(|header| !header.deleted).map(|header| header.name.clone()));
    }
    Ok(names)
}

/// Runs the upkeep of the drive until the server ends.
pub(super) async fn run(node: &Arc<Node>, every: Duration, mut is_ended: watch::Receiver<bool>) {
    for look in 0.. {
        // A failure is tried again the next time.
        let is_leaving = node.standing().is_some_and(|standing| standing != Standing::In);
        let seconds = if is_leaving { EXPIRE_LEAVING_SECONDS } else { EXPIRE_SECONDS };
        let _ = node.disk(move |store| store.expire(seconds)).await;
        if node.is_unsaved() {
            let _ = node.save_members().await;
        }
        let _ = hear(node, look).await;
        if node.is_moving.load(Ordering::Relaxed) {
            let version = node.peers().members().version();
            let all = hand_on(node).await.unwrap_or(false);
            if all && node.peers().members().version() == version {
                node.is_moving.store(false, Ordering::Relaxed);
            }
        }
        for name in node.store.owed() {
            let _ = pay(node, name).await;
        }
        if tokio::time::timeout(every, is_ended.wait_for(|ended| *ended)).await.is_ok() {
            return;
        }
    }
}

/// Asks one of the other drives, each in turn, for its list of members. So a drive that was away when the list changed, or was given up, learns of it
/// even if it gets no requests.
async fn hear(node: &Arc<Node>, look: usize) -> Result<(), ActorError> {
    let (me, members) = (node.store.id(), node.peers().members());
    let others: Vec<&str> =
        members.present().filter(|(id, _)| *id != me).map(|(_, member)| member.address.as_str()).collect();
    let Some(address) = others.get(look % others.len().max(1)) else { return Ok(()) };
    let asked = node.peers().at(address, axum::http::Method::GET, "/v1/members", Vec::new());
    // Given up before the drive counts as silent, since no caller waits for this.
    let Ok(theirs) = tokio::time::timeout(HEAR, asked).await else { return Ok(()) };
    node.learn(&Members::parse(&theirs?)?).await.map(drop)
}

/// Repairs an object that is known to be incomplete, if this drive is the first that keeps shares of it; the others check whether it was repaired.
async fn pay(node: &Arc<Node>, name: String) -> Result<(), ActorError> {
    let survey = node.cluster.find(&name).await;
    let is_done = match survey.newest() {
        None => survey.is_unknown(),
        Some(found) => found.header.deleted || found.is_complete(),
    };
    if is_done {
        return node.disk(move |store| store.paid(&name)).await;
    }
    if survey.newest().is_some_and(|found| found.holders.values().next() == Some(&node.store.id())) {
        repair(node, &name).await?;
    }
    Ok(())
}

/// Repairs an object. It is then no longer owed, unless shares of it wait for their drives.
pub(super) async fn repair(node: &Arc<Node>, name: &str) -> Result<Repaired, ActorError> {
    let repaired = match node.cluster.repair(name).await {
        // It was deleted, or its put was never finished.
        Err(ActorError::Missing(_)) => Repaired::default(),
        other => other?,
    };
    if repaired.unmade.is_empty() {
        let name = name.to_owned();
        node.disk(move |store| store.paid(&name)).await?;
    }
    Ok(repaired)
}

/// Hands on every share that belongs to another drive. Returns whether all are where they belong.
async fn hand_on(node: &Arc<Node>) -> Result<bool, ActorError> {
    let (mut after, mut all) = (None, true);
    loop {
        let objects = node.store.objects(after, OBJECTS_AT_ONCE);
        let Some(last) = objects.last() else { return Ok(all) };
        debug_assert!(after.is_none_or(|after| *last > after), "each look goes on behind the one before");
        after = Some(*last);
        for object in objects {
            // Lost shares are left to a scrub, which sets them aside. Shares that cannot be read now are tried again, and do not stop other objects.
            let Ok(held) = node.disk(move |store| store.held(object)).await else {
                all = false;
                continue;
            };
            for header in held {
                // Shares of one object may wait for each other: the others go on.
                all &= hand_on_one(node, &header).await.unwrap_or(false);
            }
        }
    }
}

/// Returns whether the share is where it belongs now.
async fn hand_on_one(node: &Arc<Node>, header: &Arc<Header>) -> Result<bool, ActorError> {
    let object = header.object();
    let Ok(placed) = node.peers().ring().place(object, header.layout.code.shares()) else {
        // There are too few drives to place it: it stays.
        return Ok(true);
    };
    debug_assert!(header.share < header.layout.code.shares(), "a share that is kept is one of its code's");
    let owner = placed[usize::from(header.share)];
    if owner == node.store.id() {
        return Ok(true);
    }
    if !node.cluster.keeps(owner, header).await? {
        let read = async |stripe: u64| {
            let key = Key { object, version: header.version, share: header.share };
            let cell_here = header.layout.cell_bytes(stripe);
            let bytes = node.disk(move |store| cell(store, &key, stripe, cell_here)).await?;
            add(&node.counted.handed_out, bytes.len());
            Ok(bytes)
        };
        node.cluster.hand_on(header, owner, read).await?;
    }
    let (version, share) = (header.version, (!header.deleted).then_some(header.share));
    node.disk(move |store| store.forget(object, |found, number| (found, number) == (version, share))).await?;
    Ok(true)
}

/// Reads all that the drive keeps and sets rotten shares aside. Repairs the objects with damage here, and those for which this drive is the first.
pub(super) async fn scrub(node: &Arc<Node>) -> Result<Scrubbed, ActorError> {
    let mut scrubbed = Scrubbed::default();
    let mut after = None;
    loop {
        let objects = node.store.objects(after, OBJECTS_AT_ONCE);
        let Some(last) = objects.last() else { return Ok(scrubbed) };
        debug_assert!(after.is_none_or(|after| *last > after), "each look goes on behind the one before");
        after = Some(*last);
        for object in objects {
            scrub_one(node, object, &mut scrubbed).await?;
        }
    }
}

async fn scrub_one(node: &Arc<Node>, object: RingId, scrubbed: &mut Scrubbed) -> Result<(), ActorError> {
    // A rotten share's name may be known only to other drives.
    // If files cannot be read now, the scrub below reports it.
    let known = node.disk(move |store| store.held(object)).await.unwrap_or_default();
    let found = node.disk(move |store| Ok(store.scrub(object))).await?;
    scrubbed.shares += found.whole;
    scrubbed.rotten += found.rotten.len() as u64;
    scrubbed.gone += found.gone.len() as u64;
    scrubbed.unrepaired.extend(found.unread.iter().cloned());
    let name = match known.first() {
        Some(header) => Some(header.name.clone()),
        None => named_by_others(node, object).await,
    };
    let Some(name) = name else {
        scrubbed.unrepaired.push(format!("object {object}: no other drive knows its name"));
        return Ok(());
    };
    if found.is_whole() && !is_first(node, &name).await {
        return Ok(());
    }
    match repair_in_time(node, &name).await {
        Ok(repaired) => {
            scrubbed.repaired += repaired.shares.len() as u64;
            scrubbed.unrepaired.extend(repaired.unmade);
        }
        Err(error) => scrubbed.unrepaired.push(error.to_string()),
    }
    Ok(())
}

/// Repairs an object, and waits a little for shares that are on the move.
async fn repair_in_time(node: &Arc<Node>, name: &str) -> Result<Repaired, ActorError> {
    for _ in 1..MOVING_TRIES {
        match repair(node, name).await {
            Err(ActorError::Moving(_)) => tokio::time::sleep(Duration::from_secs(1)).await,
            other => return other,
        }
    }
    repair(node, name).await
}

/// Whether this drive is the first of those that keep shares of the newest version: only that one looks for missing shares.
async fn is_first(node: &Arc<Node>, name: &str) -> bool {
    let survey = node.cluster.find(name).await;
    survey.newest().is_none_or(|found| found.header.deleted || found.holders.values().next() == Some(&node.store.id()))
}

async fn named_by_others(node: &Arc<Node>, object: RingId) -> Option<String> {
    for drive in node.cluster.present() {
        let target = format!("/v1/objects/{object}");
        let answer = node.peers().ask(drive, axum::http::Method::GET, &target, Vec::new()).await;
        let held: Option<Vec<Header>> = answer.ok().and_then(|text| crate::wire::from_json(&text).ok());
        if let Some(header) = held.as_deref().and_then(<[Header]>::first) {
            return Some(header.name.clone());
        }
    }
    None
}
