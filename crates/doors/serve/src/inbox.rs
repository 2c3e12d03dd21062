//! What other threads have for the one that owns the drive.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use wane_units::Nanos;

use crate::client::Asked;
use crate::control::Order;
use crate::metrics::Snapshot;
use crate::real::{RealTime, duration};

/// A message.
pub(crate) enum Mail {
    /// Requests of a client, in their order.
    Asked(Vec<Asked>),
    /// A control request.
    Order(Order),
    /// A sync of the journal is over.
    Synced,
    /// Somebody wants to know how things are. Nothing changes for it.
    Look(oneshot::Sender<Snapshot>),
    /// The thread meets a bug.
    #[cfg(test)]
    Panic,
}

/// Where threads leave messages.
pub(crate) struct Inbox {
    /// `None` once nobody reads it any more.
    mail: Mutex<Option<Vec<Mail>>>,
    came: Condvar,
    /// Whether there is any, for a reader that spins.
    is_full: AtomicBool,
}

impl Default for Inbox {
    fn default() -> Self {
        Self { mail: Mutex::new(Some(Vec::new())), came: Condvar::new(), is_full: AtomicBool::new(false) }
    }
}

impl Inbox {
    fn open(&self) -> MutexGuard<'_, Option<Vec<Mail>>> {
        self.mail.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Leaves a message. One that nobody will read is dropped, and so who waits for its answer waits no longer.
    pub(crate) fn leave(&self, mail: Mail) {
        let mut open = self.open();
        let Some(all) = open.as_mut() else { return };
        all.push(mail);
        self.is_full.store(true, Ordering::Release);
        drop(open);
        self.came.notify_one();
    }

    /// Takes what is there into `to`, which is empty. If there is nothing, waits for it until `until`; the last `spin` of that time without sleep.
    pub(crate) fn take(&self, to: &mut Vec<Mail>, real: RealTime, until: Nanos, spin: Nanos) {
        let mut open = self.open();
        while open.as_ref().is_some_and(Vec::is_empty) {
            let left = Nanos(until.0.saturating_sub(real.now().0));
            if left <= spin {
                drop(open);
                while !self.is_full.load(Ordering::Acquire) && real.now() < until {
                    std::hint::spin_loop();
                }
                open = self.open();
                break;
            }
            let sleep = duration(Nanos(left.0 - spin.0));
            open = self.came.wait_timeout(open, sleep).unwrap_or_else(PoisonError::into_inner).0;
        }
        if let Some(open) = open.as_mut() {
            std::mem::swap(open, to);
        }
        self.is_full.store(false, Ordering::Release);
    }

    /// Nobody reads it any more.
    pub(crate) fn close(&self) {
        *self.open() = None;
    }
}
