//! Bytes that a drive holds in memory for requests at a time. A request claims its bytes before they are there, and waits if too many are claimed.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::ActorError;

/// Bytes of a permit, the unit in which claims are counted.
const UNIT: usize = 1 << 10;

/// How long a request waits for others. Those that ask give up after a minute.
const WAIT: Duration = Duration::from_secs(30);

/// See the head of this file.
pub(super) struct Budget {
    units: usize,
    free: Arc<Semaphore>,
}

/// Bytes that are claimed until this is dropped.
pub(super) struct Claim(#[expect(dead_code, reason = "held, not read")] OwnedSemaphorePermit);

impl Budget {
    pub(super) fn new(bytes: u64) -> Self {
        let units = (bytes as usize / UNIT).clamp(1, Semaphore::MAX_PERMITS.min(u32::MAX as usize));
        Self { units, free: Arc::new(Semaphore::new(units)) }
    }

    /// All bytes that can be claimed.
    pub(super) const fn bytes(&self) -> usize {
        self.units * UNIT
    }

    /// Claims bytes. A claim of more than there are takes all: it is then the only one.
    ///
    /// # Errors
    /// Others do not give back theirs in time.
    pub(super) async fn claim(&self, bytes: usize) -> Result<Claim, ActorError> {
        let units = bytes.div_ceil(UNIT).clamp(1, self.units) as u32;
        let claimed = tokio::time::timeout(WAIT, Arc::clone(&self.free).acquire_many_owned(units)).await;
        match claimed {
            Ok(Ok(permit)) => Ok(Claim(permit)),
            _ => Err(ActorError::System(format!(
                "this drive has no memory for the request: others held it for {} s; try again",
                WAIT.as_secs()
            ))),
        }
    }
}

impl Claim {
    /// Ties the claim to the bytes: it ends when the last reference to them is gone.
    pub(super) fn hold(self, bytes: impl AsRef<[u8]> + Send + 'static) -> Bytes {
        Bytes::from_owner(Held { bytes, _claim: self })
    }
}

struct Held<T> {
    bytes: T,
    _claim: Claim,
}

impl<T: AsRef<[u8]>> AsRef<[u8]> for Held<T> {
    fn as_ref(&self) -> &[u8] {
        self.bytes.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn claims_end_with_the_bytes_that_they_are_for() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let _inside = runtime.enter();
        let budget = Budget::new(10 * UNIT as u64);
        let at_once = |bytes: usize| budget.claim(bytes).now_or_never().map(Result::unwrap);
        let held = at_once(6 * UNIT - 5).unwrap().hold(vec![7; 3]);
        let part = held.slice(1..2);
        assert!(at_once(5 * UNIT).is_none());
        drop(held);
        assert!(at_once(5 * UNIT).is_none(), "a part of the bytes is still there");
        drop(part);
        assert!(at_once(1000 * UNIT).is_some(), "more than there are: all");
        assert!(at_once(0).is_some());
    }
}
