//! A sync that another thread makes.

use std::fmt;
use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

type Call = Box<dyn FnOnce() -> io::Result<()> + Send>;

/// How a sync ended, once it did.
#[derive(Debug, Default)]
pub(crate) struct Ended {
    how: Mutex<Option<io::Result<()>>>,
    came: Condvar,
}

impl Ended {
    fn end(&self, how: io::Result<()>) {
        self.how.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(how);
        self.came.notify_all();
    }

    /// Takes how it ended; `None` if it has not.
    pub(crate) fn taken(&self) -> Option<io::Result<()>> {
        self.how.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Waits for its end.
    pub(crate) fn wait(&self) -> io::Result<()> {
        let mut how = self.how.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            match how.take() {
                Some(how) => return how,
                None => how = self.came.wait(how).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }
}

/// A sync that was begun: [`Syncing::run`] makes it, in whichever thread. One that is dropped has failed.
pub struct Syncing {
    call: Option<Call>,
    ended: Arc<Ended>,
}

impl fmt::Debug for Syncing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Syncing").finish_non_exhaustive()
    }
}

impl Syncing {
    pub(crate) fn new(call: Call) -> (Self, Arc<Ended>) {
        let ended = Arc::<Ended>::default();
        (Self { call: Some(call), ended: Arc::clone(&ended) }, ended)
    }

    /// Waits until what was written is on the disk. [`crate::Journal::settle`] then says what came of it.
    pub fn run(mut self) {
        if let Some(call) = self.call.take() {
            self.ended.end(call());
        }
    }
}

impl Drop for Syncing {
    fn drop(&mut self) {
        if self.call.is_some() {
            self.ended.end(Err(io::Error::other("nobody made the sync")));
        }
    }
}
