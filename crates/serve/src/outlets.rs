//! The drives that a server serves, by name, as its other threads reach them.

use std::sync::{Arc, PoisonError, RwLock};

use serde_json::{Value, json};

use crate::control::Busy;
use crate::inbox::Inbox;
use crate::page::Hub;

/// A served drive.
pub(crate) struct Outlet {
    pub(crate) name: String,
    /// Of the thread that owns it.
    pub(crate) inbox: Arc<Inbox>,
    /// What occupies that thread.
    pub(crate) busy: Arc<Busy>,
    /// What it shows.
    pub(crate) hub: Arc<Hub>,
}

impl Outlet {
    /// What keeps the drive's thread busy, if anything does: `doing`, and `done`, the share of it, if that is known.
    pub(crate) fn doing(&self) -> Option<Value> {
        self.busy.told().or_else(|| self.hub.last().doing.map(|doing| json!({ "doing": doing })))
    }
}

/// See the head of this file. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Outlets(Arc<RwLock<Vec<Arc<Outlet>>>>);

impl Outlets {
    pub(crate) fn add(&self, outlet: Outlet) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).push(Arc::new(outlet));
    }

    /// All of them, in the order in which they came.
    pub(crate) fn all(&self) -> Vec<Arc<Outlet>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The one with this name; without a name the first.
    pub(crate) fn of(&self, name: Option<&str>) -> Option<Arc<Outlet>> {
        self.all().into_iter().find(|outlet| name.is_none_or(|name| outlet.name == name))
    }
}
