//! Syncs of the journal.

use std::sync::Arc;

use wane_journal::Syncing;

use crate::ServeError;
use crate::inbox::{Inbox, Mail};
use crate::threads::start;

/// The thread that syncs the journal, so that the drive's does not wait for the disk.
pub(crate) struct Syncer {
    to: Option<std::sync::mpsc::Sender<Syncing>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Syncer {
    pub(crate) fn new(inbox: Arc<Inbox>) -> Result<Self, ServeError> {
        let (to, from) = std::sync::mpsc::channel::<Syncing>();
        let thread = start("wane-sync", move || {
            for syncing in from {
                syncing.run();
                inbox.leave(Mail::Synced);
            }
        })?;
        Ok(Self { to: Some(to), thread: Some(thread) })
    }

    pub(crate) fn make(&self, syncing: Syncing) {
        if let Some(to) = &self.to {
            // One that is not taken has failed.
            let _ = to.send(syncing);
        }
    }
}

impl Drop for Syncer {
    fn drop(&mut self) {
        drop(self.to.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
