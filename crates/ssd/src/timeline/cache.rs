//! Writes acknowledged by the controller's memory, and flushes.

use std::collections::VecDeque;

use super::{Breakdown, CommandKind, End, Timeline};
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
    pending: u64,
    /// Latest end of a program of these.
    end: u64,
}

/// Programs between two flushes.
#[derive(Clone, Debug)]
struct Span {
    /// Those to place, and the latest end of the others.
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

impl Timeline {
    /// Whether the cache acknowledges this command.
    #[inline]
    pub(super) fn is_cached(&self, command: u32) -> bool {
        self.cache.is_some() && self.commands[command].completion.kind == CommandKind::Write
    }

    /// A host program of a write needs data that are not here before the write is admitted.
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
    pub(super) fn submit_data(&mut self, command: u32) {
        if self.is_cached(command) {
            if let Some(cache) = &mut self.cache {
                cache.waiting.push_back(command);
            }
            return self.admit();
        }
        self.take_loose(command);
        let parts = &self.parts[command];
        if parts.left > 0 {
            return;
        }
        match &self.cache {
            _ if parts.has_operations => self.host_operations_ended(command),
            Some(cache) => {
                let cache_ns = cache.config.latency_ns;
                self.finish_parts(command, self.now + cache_ns, Breakdown { cache_ns, ..Breakdown::default() });
            }
            None => self.finish_parts(command, self.now, Breakdown::default()),
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
    fn admit(&mut self) {
        while let Some(cache) = &mut self.cache
            && let Some(command) = cache.waiting.front().copied()
        {
            let bytes = self.commands[command].completion.bytes;
            if cache.used + bytes > cache.config.bytes && cache.leaving > 0 {
                return;
            }
            cache.waiting.pop_front();
            cache.used += bytes;
            cache.loose += bytes;
            let end = self.now + cache.config.latency_ns;
            self.take_loose(command);
            let mut id = std::mem::replace(&mut self.parts[command].admission, NONE);
            let cache_ns = end - self.commands[command].completion.submitted_at;
            self.finish_parts(command, end, Breakdown { cache_ns, ..Breakdown::default() });
            // The chain is last in, first out; queues and followers put programs back into order.
            while id != NONE {
                let next = self.links[id].next_waiter;
                self.satisfy(id, self.now);
                id = next;
            }
        }
    }

    /// A program of a command ends at `end` and makes room then; until then the command keeps its slot.
    #[inline]
    pub(super) fn leave_cache(&mut self, command: u32, bytes: u32, end: u64) {
        if self.cache.is_some() {
            self.parts[command].left += 1;
            self.at_later(end, End::Leave { command, bytes });
        }
    }

    /// That time has come.
    pub(super) fn make_room(&mut self, command: u32, bytes: u32) {
        let Some(cache) = &mut self.cache else { return };
        let parts = &mut self.parts[command];
        parts.programs -= 1;
        parts.left -= 1;
        let freed = if parts.programs == 0 { parts.cached } else { parts.cached.min(u64::from(bytes)) };
        parts.cached -= freed;
        cache.used -= freed;
        cache.leaving -= u32::from(parts.programs == 0);
        if parts.left == 0 {
            self.host_operations_ended(command);
        }
        self.admit();
    }

    /// A flush waits for every program so far.
    pub(super) fn submit_flush(&mut self, command: u32) {
        self.take_loose(command);
        if self.flushes.pending > 0 {
            self.parts[command].left += 1;
            let last = self.flushes.spans.len() - 1;
            self.flushes.spans[last].flush = command;
            self.flushes.spans.push_back(Span::NEW);
            return;
        }
        let latest = self.flushes.spans.iter().fold(self.flushes.end, |latest, span| latest.max(span.end));
        self.parts[command].end_at_least(latest, self.now);
        if self.parts[command].left == 0 {
            self.host_operations_ended(command);
        }
    }

    /// A program is placed and ends at `end`; flushes end in order.
    #[inline]
    pub(super) fn leave_flush(&mut self, span: u32, end: u64) {
        let flushes = &mut self.flushes;
        flushes.pending -= 1;
        let place = span.wrapping_sub(flushes.gone) as usize;
        let span = &mut flushes.spans[place];
        span.left -= 1;
        span.end = span.end.max(end);
        while let Some(Span { left: 0, end, flush }) = self.flushes.spans.front().cloned()
            && flush != NONE
        {
            let flushes = &mut self.flushes;
            flushes.spans.pop_front();
            flushes.gone = flushes.gone.wrapping_add(1);
            flushes.end = flushes.end.max(end);
            let (latest, submitted_at) = (flushes.end, self.commands[flush].completion.submitted_at);
            let parts = &mut self.parts[flush];
            parts.end_at_least(latest, submitted_at);
            parts.left -= 1;
            if parts.left == 0 {
                self.host_operations_ended(flush);
            }
        }
    }
}
