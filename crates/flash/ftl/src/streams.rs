//! Open streams: which one takes data, and which free block it opens next.

use wane_nand::{Media, Task};
use wane_units::{Lpn, SuperblockId};

use crate::counters::Cause;
use crate::domain::{Frontier, Parked};
use crate::engine::{Ftl, Outcome};
use crate::policies::allocation::FreeView;
use crate::policies::placement::{HostWrite, Origin, RelocatedRun};
use crate::policies::{BlockEvent, StreamId};

impl<M: Media> Ftl<M> {
    /// Takes the free block that the allocation policy chooses. `None` if no block is free.
    pub(crate) fn open_block(&mut self, domain: usize, stream: Option<StreamId>) -> Option<SuperblockId> {
        let (erase_count, failures) = (&self.erase_count, &self.failures);
        let now = self.counters.host_units_written;
        let state = &mut self.domains[domain];
        let first = state.free.first()?;
        let view = FreeView { free: &state.free, erase_count, failures, stream, mode: self.mode.mode, now };
        let answer = state.allocation.choose(&view);
        let is_free = answer == first || state.has(answer) && state.free.contains(answer, erase_count[answer.index()]);
        self.counters.policy_refusals += u64::from(!is_free);
        let block = if is_free { answer } else { first };
        let erases = erase_count[block.index()];
        state.free.remove(block, erases);
        assert_eq!(state.index.valid(block), 0, "a free block holds nothing valid");
        assert!(!state.index.is_closed(block), "a free block is in no index");
        assert!(!self.retired[block.index()], "a block out of service is never opened");
        state.tell(BlockEvent::Opened, block, erases);
        self.note_opened(block, stream);
        self.placement.opened(block, stream);
        // What is written to it lies among what may not be read yet.
        (self.is_whole() || self.load_block(block)).then_some(block)
    }

    /// Opens a block for a stream.
    pub(crate) fn open_next(&mut self, domain: usize, stream: StreamId) -> Option<Frontier> {
        self.open_block(domain, Some(stream)).map(|block| Frontier { block, next: 0 })
    }

    /// The block that a stream fills at present.
    #[inline]
    pub(crate) fn frontier(&self, domain: usize, stream: StreamId) -> Option<Frontier> {
        let state = &self.domains[domain];
        if stream == self.host_stream { state.host } else { state.parked[stream.index()].frontier }
    }

    /// The block that a stream fills; a new one if it has none. The host's present stream has one unless no block is free.
    pub(crate) fn frontier_or_next(&mut self, domain: usize, stream: StreamId) -> Option<Frontier> {
        let found = self.frontier(domain, stream);
        if found.is_some() || stream == self.host_stream {
            return found;
        }
        let opened = self.open_next(domain, stream);
        self.domains[domain].parked[stream.index()].frontier = opened;
        opened
    }

    /// Notes `run` units that the firmware wrote to a stream, and closes its block when it is full.
    pub(crate) fn advance(&mut self, domain: usize, stream: StreamId, frontier: Frontier, run: u32) {
        let now = self.counters.host_units_written;
        let filled = self.frontier(domain, stream).map(|found| found.block);
        debug_assert_eq!(filled, Some(frontier.block), "the stream fills the block that was written");
        let state = &mut self.domains[domain];
        let moved = Frontier { next: frontier.next + run, ..frontier };
        debug_assert!(moved.next <= self.units_per_block, "a block takes no more than it has");
        let full = moved.next == self.units_per_block;
        if full {
            state.close(moved.block, now, self.erase_count[moved.block.index()]);
        }
        if stream != self.host_stream {
            state.parked[stream.index()].frontier = (!full).then_some(moved);
        } else if full {
            self.domains[domain].host = self.open_next(domain, stream);
        } else {
            state.host = Some(moved);
        }
    }

    /// Asks the placement policy for the stream of the units of a block that are relocated next.
    pub(crate) fn place_run(&mut self, domain: usize, from: SuperblockId, task: Task, units: u32) -> StreamId {
        debug_assert!(units > 0, "a place is sought for a unit at least");
        if self.stream_count == 1 {
            return StreamId(0);
        }
        let run = RelocatedRun {
            task,
            from,
            erase_count: self.erase_count[from.index()],
            closed_at: self.domains[domain].index.closed_at(from),
            units,
            now: self.counters.host_units_written,
        };
        let answer = self.placement.relocated(&run);
        let stream = self.checked(answer);
        if stream != self.host_stream {
            self.domains[domain].parked[stream.index()].task = task;
        }
        stream
    }

    /// The stream of the parity of stripes that a task filled.
    #[inline]
    pub(crate) fn place_parity(&mut self, task: Task) -> StreamId {
        if self.stream_count == 1 {
            return StreamId(0);
        }
        let answer = self.placement.parity(task);
        self.checked(answer)
    }

    /// Asks the placement policy for the stream of a host request, and makes it the host's present stream. `Some` if that stops the call.
    pub(crate) fn place_request(&mut self, pages: &[u32], cause: Cause) -> Option<Outcome> {
        let first = Lpn(*pages.first()?);
        let origin = if cause == Cause::FileSystem { Origin::FileSystemMove } else { Origin::Host };
        let (units, now) = (pages.len() as u32, self.counters.host_units_written);
        let answer = self.placement.host(&HostWrite { first, units, origin, hint: self.hint, now });
        let stream = self.checked(answer);
        if stream == self.host_stream { None } else { self.turn_host(stream) }
    }

    fn checked(&mut self, answer: StreamId) -> StreamId {
        let is_one = answer.0 < self.stream_count;
        self.counters.policy_refusals += u64::from(!is_one);
        if is_one { answer } else { StreamId(0) }
    }

    /// Parks the blocks of the host's present stream and continues with those of another, then reclaims what new ones took.
    fn turn_host(&mut self, stream: StreamId) -> Option<Outcome> {
        assert_ne!(self.host_stream, stream, "the host turns to another stream than its present one");
        let before = std::mem::replace(&mut self.host_stream, stream);
        let mut opened = false;
        for domain in 0..self.domains.len() {
            let state = &mut self.domains[domain];
            let place = &state.parked[before.index()];
            assert!(
                place.frontier.is_none(),
                "the place of the host's present stream is empty, or its block would be lost"
            );
            state.parked[before.index()] = Parked { frontier: state.host.take(), task: Task::Host };
            state.host = state.parked[stream.index()].frontier.take();
            if state.host.is_none() {
                self.domains[domain].host = self.open_next(domain, stream);
                opened = true;
            }
        }
        if !opened {
            return None;
        }
        // A domain that this leaves short of its reserve is reclaimed when its next block is full.
        (0..self.domains.len()).find_map(|domain| match self.reclaim_domain(domain) {
            Outcome::Done => None,
            stop => Some(stop),
        })
    }
}
