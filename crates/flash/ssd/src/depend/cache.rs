//! The write cache, and flushes and barriers.
//!
//! A write is admitted, in turn, when its bytes fit, and acknowledged a fixed time later. Programs that end make room. The
//! programs of a command free the bytes that it brought, and also the bytes of earlier writes that filled no page and so made no
//! program.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use wane_archive::{Archive, ArchiveError};
use wane_nand::Barrier;

use super::{Graph, News};
use crate::command::Breakdown;
use crate::config::WriteCache;
use crate::slab::NONE;

#[derive(Clone, Debug)]
pub(super) struct Cache {
    config: WriteCache,
    used: u64,
    /// Bytes that no program has taken yet.
    loose: u64,
    /// Admitted commands with programs to come.
    leaving: u32,
    /// Writes that wait for admission.
    waiting: VecDeque<u32>,
}

impl Cache {
    pub(super) fn new(config: WriteCache) -> Self {
        Self { config, used: 0, loose: 0, leaving: 0, waiting: VecDeque::new() }
    }

    pub(super) fn archive(&mut self, archive: &mut dyn Archive) -> Result<(), ArchiveError> {
        archive.field("cache.used", &mut self.used)?;
        archive.field("cache.loose", &mut self.loose)?;
        archive.field("cache.leaving", &mut self.leaving)?;
        archive.field("cache.waiting", &mut self.waiting)
    }
}

/// Programs between flushes and barriers. A second one of these counts erases, for barriers only.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Flushes {
    /// The last span, which nothing waits for yet, and the number of spans before it.
    last: Span,
    before: u32,
    /// The spans before the last, from the oldest flush or barrier that still waits.
    spans: VecDeque<(Span, Behind)>,
    /// Programs whose end is not known.
    pending: u64,
    /// Latest end of a program of the spans that have gone.
    end: u64,
}

/// Programs between two flushes or barriers.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Span {
    /// Programs whose end is not known, and the latest end of the others.
    left: u32,
    end: u64,
}

/// What waits for a span and all before it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum Behind {
    /// A command.
    Flush(u32),
    /// An operation with a barrier before it.
    Barrier(u32),
}

impl Span {
    const NEW: Self = Self { left: 0, end: 0 };
}

impl Flushes {
    pub(super) fn new() -> Self {
        Self { last: Span::NEW, before: 0, spans: VecDeque::new(), pending: 0, end: 0 }
    }

    /// Counts a program; returns its span.
    #[inline]
    pub(super) fn add(&mut self) -> u32 {
        self.pending += 1;
        self.last.left += 1;
        self.before
    }

    /// Makes `behind` wait for all programs so far. Returns their latest end if all ends are known.
    fn wait(&mut self, behind: Behind) -> Option<u64> {
        if self.pending == 0 {
            debug_assert!(self.spans.is_empty(), "what waited for programs that have all ended went on");
            return Some(self.end.max(self.last.end));
        }
        self.spans.push_back((std::mem::replace(&mut self.last, Span::NEW), behind));
        self.before = self.before.wrapping_add(1);
        None
    }

    /// Records the end of a counted program.
    #[inline]
    fn leave(&mut self, span: u32, end: u64) {
        self.pending -= 1;
        let back = self.before.wrapping_sub(span) as usize;
        let span = if back == 0 {
            &mut self.last
        } else {
            let place = self.spans.len() - back;
            &mut self.spans[place].0
        };
        span.left -= 1;
        span.end = span.end.max(end);
    }

    /// The next flush or barrier that waits for nothing any more, in order, and the time until which it waited.
    #[inline]
    fn next_behind(&mut self) -> Option<(Behind, u64)> {
        let (Span { left, end }, behind) = *self.spans.front()?;
        if left > 0 {
            return None;
        }
        self.spans.pop_front();
        self.end = self.end.max(end);
        Some((behind, self.end))
    }
}

impl Graph {
    /// Whether the cache acknowledges this command.
    #[inline]
    pub(super) fn is_cached(&self, command: u32) -> bool {
        self.cache.is_some() && self.parts[command].is_write()
    }

    /// Makes a host program wait until its write is admitted to the cache, as its data are not here before.
    #[inline]
    pub(super) fn wait_for_admission(&mut self, id: u32, command: u32) {
        if self.is_cached(command) {
            let links = &mut self.links[id];
            links.waits += 1;
            links.next_waiter = std::mem::replace(&mut self.parts[command].admission, id);
        }
    }

    /// A read or a write has all its operations.
    #[inline]
    pub(super) fn submit_data(&mut self, now: u64, command: u32) {
        if self.is_cached(command) {
            if let Some(cache) = &mut self.cache {
                cache.waiting.push_back(command);
            }
            return self.admit(now);
        }
        self.take_loose(command);
        if self.parts[command].left > 0 {
            return;
        }
        match &self.cache {
            Some(cache) => {
                let end = now + cache.config.latency_ns;
                self.acknowledge(command, end);
            }
            None => self.finish(command, now, Breakdown::default()),
        }
    }

    /// Lets the programs of a command take along the bytes in the cache that no program has taken.
    /// Pages that the drive fills up on its own account do so too, unless a write waits for the cache: it came before them and
    /// must not wait for them.
    pub(super) fn take_along(&mut self, command: u32) {
        if self.cache.as_ref().is_some_and(|cache| cache.waiting.is_empty()) {
            self.take_loose(command);
        }
    }

    #[inline]
    fn take_loose(&mut self, command: u32) {
        let Some(cache) = &mut self.cache else { return };
        if self.parts[command].programs > 0 {
            self.parts[command].cached += std::mem::take(&mut cache.loose);
            self.parts[command].is_leaving = true;
            cache.leaving += 1;
        }
    }

    /// Admits writes in turn. A write that does not fit is admitted too if no program is left that could make room.
    fn admit(&mut self, now: u64) {
        while let Some(cache) = &mut self.cache
            && let Some(command) = cache.waiting.front().copied()
        {
            let bytes = self.parts[command].bytes;
            if cache.used + bytes > cache.config.bytes && cache.leaving > 0 {
                return;
            }
            cache.waiting.pop_front();
            cache.used += bytes;
            cache.loose += bytes;
            let end = now + cache.config.latency_ns;
            self.take_loose(command);
            self.acknowledge(command, end);
            let mut id = std::mem::replace(&mut self.parts[command].admission, NONE);
            // The chain is last in, first out; queues and followers put programs back into order.
            while id != NONE {
                let next = self.links[id].next_waiter;
                self.satisfy(id, now);
                id = next;
            }
        }
    }

    /// Lets a program of a command make room when it ends at `end`. Until then the command keeps its slot.
    #[inline]
    pub(super) fn leave_cache(&mut self, now: u64, command: u32, bytes: u32, end: u64) {
        if self.cache.is_none() || !self.parts[command].is_leaving {
            return;
        }
        if end > now {
            self.parts[command].left += 1;
            self.news.push(News::Room { command, bytes, end });
        } else {
            self.free(now, command, bytes);
        }
    }

    /// A program has ended and makes room, as [`News::Room`] announced.
    pub(crate) fn make_room(&mut self, now: u64, command: u32, bytes: u32) {
        let parts = &mut self.parts[command];
        parts.left -= 1;
        if parts.left == 0 {
            self.none_left(command);
        }
        self.free(now, command, bytes);
    }

    fn free(&mut self, now: u64, command: u32, bytes: u32) {
        let Some(cache) = &mut self.cache else { return };
        let parts = &mut self.parts[command];
        parts.programs -= 1;
        let freed = if parts.programs == 0 { parts.cached } else { parts.cached.min(u64::from(bytes)) };
        parts.cached -= freed;
        cache.used -= freed;
        debug_assert!(cache.loose <= cache.used, "what no program has taken yet lies in the cache");
        cache.leaving -= u32::from(parts.programs == 0);
        self.admit(now);
    }

    /// Makes a flush wait for every program so far, a protected one for every write and flush so far.
    pub(super) fn submit_flush(&mut self, command: u32) {
        self.take_loose(command);
        let before = if self.parts[command].is_protected() { &mut self.unacknowledged } else { &mut self.flushes };
        let Some(latest) = before.wait(Behind::Flush(command)) else {
            self.parts[command].left += 1;
            return;
        };
        self.flushed(command, latest.max(self.parts[command].submitted_at));
        if self.parts[command].left == 0 {
            self.none_left(command);
        }
    }

    /// Completes a flush, whose programs end at `end`.
    fn flushed(&mut self, command: u32, end: u64) {
        let parts = &mut self.parts[command];
        if end >= parts.end {
            let dependency_ns = end - parts.submitted_at;
            parts.end = end;
            self.breakdowns.put(command, Breakdown { dependency_ns, ..Breakdown::default() });
        }
    }

    /// Records the end of a program; flushes end in order.
    #[inline]
    pub(super) fn leave_flush(&mut self, span: u32, end: u64) {
        self.flushes.leave(span, end);
        while let Some((behind, latest)) = self.flushes.next_behind() {
            self.go_on(behind, latest);
        }
    }

    /// Records that a command ends at `end`, for the protected flushes behind it. News of the command itself come first.
    pub(super) fn acknowledged(&mut self, command: u32, end: u64) {
        let Some(span) = self.parts[command].span_counted() else { return };
        self.unacknowledged.leave(span, end);
        while let Some((behind, latest)) = self.unacknowledged.next_behind() {
            self.go_on(behind, latest);
        }
    }

    /// Records the end of an erase.
    pub(super) fn leave_erases(&mut self, span: u32, end: u64) {
        self.erases.leave(span, end);
        while let Some((behind, latest)) = self.erases.next_behind() {
            self.go_on(behind, latest);
        }
    }

    /// Lets the flush or operation go on that waited until `latest` for all before it.
    fn go_on(&mut self, behind: Behind, latest: u64) {
        match behind {
            Behind::Barrier(id) => self.satisfy(id, latest),
            Behind::Flush(flush) => {
                self.flushed(flush, latest);
                self.parts[flush].left -= 1;
                if self.parts[flush].left == 0 {
                    self.none_left(flush);
                }
            }
        }
    }

    /// Makes the next program or erase wait at `barrier`, in addition to its own waits and to other barriers before it.
    pub(crate) fn set_barrier(&mut self, barrier: Barrier) {
        let is_another = self.barrier.is_some_and(|before| before != barrier);
        self.barrier = Some(if is_another { Barrier::Changes } else { barrier });
    }

    /// Makes a program or an erase wait for all that its barrier names.
    #[cold]
    pub(super) fn wait_at_barrier(&mut self, id: u32, barrier: Barrier) {
        let links = &mut self.links[id];
        if matches!(barrier, Barrier::Programs | Barrier::Changes) {
            match self.flushes.wait(Behind::Barrier(id)) {
                Some(latest) => links.wait_until(latest),
                None => links.waits += 1,
            }
        }
        if matches!(barrier, Barrier::Erases | Barrier::Changes) {
            match self.erases.wait(Behind::Barrier(id)) {
                Some(latest) => links.wait_until(latest),
                None => links.waits += 1,
            }
        }
    }
}
