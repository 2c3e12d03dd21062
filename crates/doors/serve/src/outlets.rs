//! The drives that a server serves, by name, as its other threads reach them.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use serde_json::{Value, json};
use wane_nbd::Export;

use crate::client::Client;
use crate::control::Busy;
use crate::inbox::Inbox;
use crate::page::Hub;

/// A served drive.
pub(crate) struct Outlet {
    pub(crate) name: String,
    /// Where clients find it.
    pub(crate) uri: String,
    /// Where it is kept.
    pub(crate) folder: Option<PathBuf>,
    /// Of the thread that owns it.
    pub(crate) inbox: Arc<Inbox>,
    /// What occupies that thread.
    pub(crate) busy: Busy,
    /// What it shows.
    pub(crate) hub: Arc<Hub>,
    /// Ends that thread.
    pub(crate) stop: Arc<AtomicBool>,
    export: Mutex<Export>,
    /// Who uses it; `None` once it is served no longer.
    clients: Mutex<Option<Vec<Arc<Client>>>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Outlet {
    /// A drive that shows itself at `hub`, and of which clients are told `export`.
    pub(crate) fn new(uri: String, folder: Option<PathBuf>, hub: Arc<Hub>, export: Export) -> Self {
        Self {
            name: export.name.clone(),
            uri,
            folder,
            inbox: Arc::default(),
            busy: Busy::default(),
            hub,
            stop: Arc::default(),
            export: Mutex::new(export),
            clients: Mutex::new(Some(Vec::new())),
        }
    }

    /// What keeps the drive's thread busy, if anything does: `doing`, and `done`, the share of it, if that is known.
    pub(crate) fn doing(&self) -> Option<Value> {
        self.busy.told().or_else(|| self.hub.last().doing.map(|doing| json!({ "doing": doing })))
    }

    /// What new clients are told of it.
    pub(crate) fn export(&self) -> Export {
        locked(&self.export).clone()
    }

    pub(crate) fn tell(&self, export: Export) {
        *locked(&self.export) = export;
    }

    /// A client uses it from now on. Returns whether it may.
    pub(crate) fn join(&self, client: &Arc<Client>) -> bool {
        let mut clients = locked(&self.clients);
        clients.as_mut().map(|clients| clients.push(Arc::clone(client))).is_some()
    }

    pub(crate) fn client_count(&self) -> usize {
        let mut clients = locked(&self.clients);
        clients.as_mut().map_or(0, |clients| {
            clients.retain(|client| !client.is_gone());
            clients.len()
        })
    }

    /// It is served no longer. Its clients leave, and who waits for its thread is told so.
    pub(crate) fn close(&self) {
        for client in locked(&self.clients).take().into_iter().flatten() {
            client.leave();
            client.socket.end();
        }
        self.inbox.close();
    }
}

/// Tells the pages of all drives which there are.
fn tell_drives(all: &[Arc<Outlet>]) {
    let names: Vec<&str> = all.iter().map(|outlet| outlet.name.as_str()).collect();
    all.iter().for_each(|outlet| outlet.hub.tell_drives(&names));
}

/// See the head of this file.
#[derive(Default)]
pub(crate) struct Outlets {
    all: RwLock<Vec<Arc<Outlet>>>,
}

impl Outlets {
    /// Adds one. Returns whether its name was free.
    pub(crate) fn add(&self, outlet: Arc<Outlet>) -> bool {
        let mut all = self.all.write().unwrap_or_else(PoisonError::into_inner);
        let is_free = all.iter().all(|other| other.name != outlet.name);
        if is_free {
            all.push(outlet);
            tell_drives(&all);
        }
        is_free
    }

    pub(crate) fn remove(&self, outlet: &Arc<Outlet>) {
        let mut all = self.all.write().unwrap_or_else(PoisonError::into_inner);
        all.retain(|other| !Arc::ptr_eq(other, outlet));
        tell_drives(&all);
    }

    /// The first that is there.
    pub(crate) fn any(&self) -> Option<Arc<Outlet>> {
        self.all().into_iter().next()
    }

    /// All of them, in the order in which they came.
    pub(crate) fn all(&self) -> Vec<Arc<Outlet>> {
        self.all.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The one with this name; without a name the one that clients get who name none.
    ///
    /// # Errors
    /// A sentence that says which there are.
    pub(crate) fn of(&self, name: Option<&str>) -> Result<Arc<Outlet>, String> {
        let all = self.all();
        let is_meant = |outlet: &&Arc<Outlet>| match name {
            Some(name) => outlet.name == name,
            None => locked(&outlet.export).is_default,
        };
        all.iter().find(is_meant).cloned().ok_or_else(|| {
            let names: Vec<&str> = all.iter().map(|outlet| outlet.name.as_str()).collect();
            let found = name.map_or_else(
                || "no drive, and the first one is served no longer".to_owned(),
                |name| format!("drive {}", wane_units::excerpt(name)),
            );
            match *names {
                [] => "the server ends".to_owned(),
                [only] => format!("found {found}, and {only} is allowed"),
                _ => format!("found {found}, and one of {} is allowed", names.join(", ")),
            }
        })
    }

    /// Ends the threads of all.
    pub(crate) fn stop(&self) {
        self.all().iter().for_each(|outlet| outlet.stop.store(true, Ordering::Relaxed));
    }
}
