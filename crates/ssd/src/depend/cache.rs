//! The write cache, and flushes.
//!
//! A write is acknowledged a fixed time after it is admitted; it is admitted, in turn, when its bytes fit. Programs that
//! end make room: those of a command free what it brought, together with what earlier writes left behind that filled no
//! page and made no program.

use std::collections::VecDeque;

use super::{Graph, Links, News};
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
}

/// Programs between flushes.
#[derive(Clone, Debug)]
pub(super) struct Flushes {
    /// From the oldest flush that waits on.
    spans: VecDeque<Span>,
    /// Spans that have gone.
    gone: u32,
    /// Programs whose end is not known.
    pending: u64,
    /// Latest end of a program of the spans that have gone.
    end: u64,
}

/// Programs between two flushes.
#[derive(Clone, Copy, Debug)]
struct Span {
    /// Those whose end is not known, and the latest end of the others.
    left: u32,
    end: u64,
    /// The flush behind them.
    flush: u32,
}

impl Span {
    const NEW: Self = Self { left: 0, end: 0, flush: NONE };
}

impl Flushes {
    pub(super) fn new() -> Self {
        Self { spans: VecDeque::from([Span::NEW]), gone: 0, pending: 0, end: 0 }
    }

    /// Counts a program; returns its span.
    #[inline]
    pub(super) fn add(&mut self) -> u32 {
        self.pending += 1;
        let last = self.spans.len() - 1;
        self.spans[last].left += 1;
        self.gone.wrapping_add(last as u32)
    }
}

impl Graph {
    /// Whether the cache acknowledges this command.
    #[inline]
    pub(super) fn is_cached(&self, command: u32) -> bool {
        self.cache.is_some() && self.parts[command].is_write()
    }

    /// A host program of a write needs data that are not here before the write is admitted.
    #[inline]
    pub(super) fn wait_for_admission(&mut self, id: u32, links: &mut Links) {
        let command = links.command;
        if self.is_cached(command) {
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

    /// Programs of a command take what lies loose in the cache along.
    #[inline]
    fn take_loose(&mut self, command: u32) {
        let Some(cache) = &mut self.cache else { return };
        if self.parts[command].programs > 0 {
            self.parts[command].cached += std::mem::take(&mut cache.loose);
            cache.leaving += 1;
        }
    }

    /// Admits writes in turn. One that does not fit is admitted all the same when no program is left that could make room.
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

    /// A program of a command ends at `end` and makes room then; until then the command keeps its slot.
    #[inline]
    pub(super) fn leave_cache(&mut self, now: u64, command: u32, bytes: u32, end: u64) {
        if self.cache.is_none() {
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

    /// A flush waits for every program so far.
    pub(super) fn submit_flush(&mut self, command: u32) {
        self.take_loose(command);
        let flushes = &mut self.flushes;
        if flushes.pending > 0 {
            self.parts[command].left += 1;
            let last = flushes.spans.len() - 1;
            flushes.spans[last].flush = command;
            flushes.spans.push_back(Span::NEW);
            return;
        }
        let latest = flushes
            .spans
            .iter()
            .fold(self.parts[command].submitted_at.max(flushes.end), |latest, span| latest.max(span.end));
        self.flushed(command, latest);
        if self.parts[command].left == 0 {
            self.none_left(command);
        }
    }

    /// The programs that a flush waits for end at `end`.
    fn flushed(&mut self, command: u32, end: u64) {
        let parts = &mut self.parts[command];
        if end >= parts.end {
            let dependency_ns = end - parts.submitted_at;
            parts.end = end;
            self.breakdowns.put(command, Breakdown { dependency_ns, ..Breakdown::default() });
        }
    }

    /// The end of a program is known; flushes end in order.
    #[inline]
    pub(super) fn leave_flush(&mut self, span: u32, end: u64) {
        let flushes = &mut self.flushes;
        flushes.pending -= 1;
        let place = span.wrapping_sub(flushes.gone) as usize;
        let span = &mut flushes.spans[place];
        span.left -= 1;
        span.end = span.end.max(end);
        while let Some(Span { left: 0, end, flush }) = self.flushes.spans.front().copied()
            && flush != NONE
        {
            let flushes = &mut self.flushes;
            flushes.spans.pop_front();
            flushes.gone = flushes.gone.wrapping_add(1);
            flushes.end = flushes.end.max(end);
            let latest = flushes.end;
            self.flushed(flush, latest);
            self.parts[flush].left -= 1;
            if self.parts[flush].left == 0 {
                self.none_left(flush);
            }
        }
    }
}
