//! Requests drawn ahead of their time, so that their map entries are on their way when they are served.

use wane_ssd::Drive;
use wane_units::Lpn;
use wane_workload::{Batch, Op, Progress, Source, SourceError};

/// Pages of a request that is served whole.
pub(crate) const PAGES_MAX: usize = 1 << 20;

/// Requests that are drawn ahead.
const REQUESTS_AHEAD: usize = 16;

/// See the head of this file.
#[derive(Clone)]
pub(crate) struct Ahead {
    /// A ring; those not yet served lie from `first` on.
    requests: Vec<Batch>,
    first: usize,
    count: usize,
    ended: bool,
}

impl Ahead {
    pub(crate) fn new() -> Self {
        Self { requests: vec![Batch::default(); 2 * REQUESTS_AHEAD], first: 0, count: 0, ended: false }
    }

    /// The next request, whole but for what a phase that ends after `units_left` more units has no room for; none at the
    /// end. [`Ahead::give_back`] returns its memory.
    #[inline]
    pub(crate) fn next(
        &mut self,
        source: &mut dyn Source,
        drive: &Drive,
        units_left: Option<u64>,
    ) -> Result<Option<Batch>, SourceError> {
        if self.count < REQUESTS_AHEAD && !self.ended {
            self.fill(source, drive)?;
        }
        if self.count == 0 {
            return Ok(None);
        }
        let mut next = std::mem::take(&mut self.requests[self.first]);
        self.first = (self.first + 1) % (2 * REQUESTS_AHEAD);
        self.count -= 1;
        if let Some(left) = units_left.filter(|_| next.op == Op::Write) {
            next.pages.truncate(usize::try_from(left).unwrap_or(usize::MAX));
        }
        Ok(Some(next))
    }

    /// Takes a request's memory back.
    #[inline]
    pub(crate) fn give_back(&mut self, batch: Batch) {
        // The place that it was taken from, which is filled last.
        let place = (self.first + 2 * REQUESTS_AHEAD - 1) % (2 * REQUESTS_AHEAD);
        if self.count < 2 * REQUESTS_AHEAD {
            self.requests[place] = batch;
        }
    }

    fn fill(&mut self, source: &mut dyn Source, drive: &Drive) -> Result<(), SourceError> {
        while self.count < 2 * REQUESTS_AHEAD {
            let next = &mut self.requests[(self.first + self.count) % (2 * REQUESTS_AHEAD)];
            if source.next(next, PAGES_MAX, 1)? == Progress::End {
                self.ended = true;
                break;
            }
            drive.prefetch(Lpn::slice(&next.pages));
            self.count += 1;
        }
        Ok(())
    }
}
