//! Draws requests ahead of time, so that their map entries are being loaded into the caches before they are served.

use wane_workload::{Batch, Drawn, Source, SourceError};

use crate::host::Host;

/// Largest number of pages of a request that is served whole.
pub(crate) const PAGES_MAX: usize = 1 << 20;

/// Number of requests that are drawn ahead.
const REQUESTS_AHEAD: usize = 16;

/// See the head of this file.
#[derive(Clone, Default)]
pub(crate) struct Ahead {
    /// A ring of requests; those not yet served start at `first`. Empty until the first one is drawn.
    requests: Vec<Batch>,
    first: usize,
    count: usize,
    ended: bool,
}

impl Ahead {
    /// The next request; `None` at the end. It stays the next one until [`Ahead::pop`].
    #[inline]
    pub(crate) fn front(&mut self, source: &mut dyn Source, host: &Host) -> Result<Option<&mut Batch>, SourceError> {
        if self.count < REQUESTS_AHEAD && !self.ended {
            self.fill(source, host)?;
        }
        Ok(if self.count == 0 { None } else { Some(&mut self.requests[self.first]) })
    }

    /// Removes the next request.
    #[inline]
    pub(crate) fn pop(&mut self) {
        debug_assert!(self.count > 0, "what is left behind was drawn");
        self.first = (self.first + 1) % (2 * REQUESTS_AHEAD);
        self.count -= 1;
    }

    fn fill(&mut self, source: &mut dyn Source, host: &Host) -> Result<(), SourceError> {
        if self.requests.is_empty() {
            self.requests = vec![Batch::default(); 2 * REQUESTS_AHEAD];
        }
        while self.count < 2 * REQUESTS_AHEAD {
            let next = &mut self.requests[(self.first + self.count) % (2 * REQUESTS_AHEAD)];
            if source.next(next, PAGES_MAX, 1)? == Drawn::End {
                self.ended = true;
                break;
            }
            host.place(&mut next.pages);
            host.prefetch(&next.pages);
            self.count += 1;
        }
        Ok(())
    }
}
