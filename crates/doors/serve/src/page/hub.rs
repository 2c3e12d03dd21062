//! Hands what is shown from the thread that owns the drive to the viewers.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::Bytes;
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::broadcast;
use wane_units::Nanos;

use crate::metrics::Snapshot;

/// Events that a viewer may be behind before it misses the oldest.
const KEPT: usize = 64;

/// What was shown last.
#[derive(Clone, Default)]
pub(crate) struct Last {
    /// Events for whoever comes.
    pub(crate) drive: Option<Bytes>,
    pub(crate) wear: Option<Bytes>,
    /// The data of a tick in which nothing was answered.
    pub(crate) tick: Value,
    /// For metrics.
    pub(crate) snapshot: Snapshot,
    /// What keeps the drive's thread busy.
    pub(crate) doing: Option<&'static str>,
}

/// What a viewer gets from the hub.
#[derive(Clone)]
enum Told {
    Event(Bytes),
    /// The last event: the drive is served no longer.
    Over(Bytes),
}

/// See the head of this file.
pub(crate) struct Hub {
    to: broadcast::Sender<Told>,
    /// Viewers there are. The channel knows too, but only behind a lock.
    viewers: AtomicUsize,
    last: Mutex<Last>,
}

impl Default for Hub {
    fn default() -> Self {
        Self { to: broadcast::channel(KEPT).0, viewers: AtomicUsize::new(0), last: Mutex::default() }
    }
}

/// One who watches until it is dropped.
pub(super) struct Viewer {
    hub: Arc<Hub>,
    events: broadcast::Receiver<Told>,
    is_over: bool,
}

impl Viewer {
    /// The next event; `None` at the end. Those for which it was too slow are missing.
    pub(super) async fn next(&mut self) -> Option<Bytes> {
        while !self.is_over {
            match self.events.recv().await {
                Ok(Told::Event(event)) => return Some(event),
                Ok(Told::Over(event)) => {
                    self.is_over = true;
                    return Some(event);
                }
                Err(broadcast::error::RecvError::Lagged(_)) => {}
                Err(broadcast::error::RecvError::Closed) => return None,
            }
        }
        None
    }
}

#[cfg(test)]
impl Viewer {
    /// The next event, if it is there.
    pub(super) fn there(&mut self) -> Option<Bytes> {
        self.events.try_recv().ok().map(|(Told::Event(event) | Told::Over(event))| event)
    }
}

impl Drop for Viewer {
    fn drop(&mut self) {
        self.hub.viewers.fetch_sub(1, Ordering::Relaxed);
    }
}

/// An event as it is sent.
pub(super) fn event(name: &str, data: &impl Serialize) -> Bytes {
    let data = serde_json::to_string(data).expect("what is shown is JSON");
    format!("event: {name}\ndata: {data}\n\n").into()
}

/// The event that names all drives of a server.
pub(super) fn drives(names: &[&str]) -> Bytes {
    event("drives", &names)
}

impl Hub {
    pub(crate) fn last(&self) -> MutexGuard<'_, Last> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is_watched(&self) -> bool {
        self.viewers.load(Ordering::Relaxed) > 0
    }

    pub(super) fn tell(&self, event: Bytes) {
        // Without viewers nobody sees it.
        let _ = self.to.send(Told::Event(event));
    }

    /// Tells the names of all drives of the server.
    pub(crate) fn tell_drives(&self, names: &[&str]) {
        self.tell(drives(names));
    }

    /// The drive is served no longer, while its server goes on.
    pub(crate) fn tell_withdrawn(&self) {
        let _ = self.to.send(Told::Over(event("withdrawn", &json!({}))));
    }

    /// Somebody comes, and sees first what the drive is.
    pub(super) fn come(self: &Arc<Self>) -> (Vec<Bytes>, Viewer) {
        let events = self.to.subscribe();
        self.viewers.fetch_add(1, Ordering::Relaxed);
        let viewer = Viewer { hub: Arc::clone(self), events, is_over: false };
        let last = self.last();
        ([&last.drive, &last.wear].into_iter().flatten().cloned().collect(), viewer)
    }

    /// Tells once more of the drive as it was, and what occupies it.
    pub(super) fn tell_busy(&self, doing: &Value, real: Nanos) {
        let mut tick = self.last().tick.clone();
        if tick.is_null() || !self.is_watched() {
            return;
        }
        tick["real_s"] = json!(real.0 as f64 / 1e9);
        tick["busy"] = json!({ "doing": doing["doing"], "done": doing["done"] });
        self.tell(event("tick", &tick));
    }
}
