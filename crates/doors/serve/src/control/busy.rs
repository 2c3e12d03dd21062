//! What occupies the thread that owns the drive, for those who ask meanwhile.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;

/// See the head of this file.
#[derive(Default)]
pub(crate) struct Busy {
    doing: Mutex<Option<Value>>,
    is_cancelled: AtomicBool,
}

impl Busy {
    fn doing(&self) -> MutexGuard<'_, Option<Value>> {
        self.doing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Something begins, or goes on.
    pub(crate) fn tell(&self, doing: Value) {
        *self.doing() = Some(doing);
    }

    /// It is over.
    pub(crate) fn end(&self) {
        let mut doing = self.doing();
        *doing = None;
        self.is_cancelled.store(false, Ordering::SeqCst);
    }

    /// What is being done, if anything takes long.
    pub(crate) fn told(&self) -> Option<Value> {
        self.doing().clone()
    }

    /// Asks for its end. Returns whether there is anything.
    pub(crate) fn cancel(&self) -> bool {
        let doing = self.doing();
        self.is_cancelled.store(doing.is_some(), Ordering::SeqCst);
        doing.is_some()
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.is_cancelled.load(Ordering::SeqCst)
    }
}
