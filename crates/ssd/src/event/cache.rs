//! The write cache, and flushes.
//!
//! A write is acknowledged a fixed time after it is admitted; it is admitted, in turn, when its bytes fit. Programs that
//! end make room: those of a command free what it brought, together with what earlier writes left behind that filled no
//! page and made no program.

use std::collections::VecDeque;

use super::{Breakdown, CommandKind, EventScheduler, Later};
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
pub(super) struct Flush {
    /// Programs to come and the flush behind them, from the oldest flush that waits on.
    spans: VecDeque<(u32, u32)>,
    /// Spans that have gone.
    gone: u32,
    pending: u64,
}

impl Flush {
    pub(super) fn new() -> Self {
        Self { spans: VecDeque::from([(0, NONE)]), gone: 0, pending: 0 }
    }

    /// Counts a program; returns its span.
    pub(super) fn add(&mut self) -> u32 {
        self.pending += 1;
        let last = self.spans.len() - 1;
        self.spans[last].0 += 1;
        self.gone.wrapping_add(last as u32)
    }
}

impl EventScheduler {
    /// Whether the cache acknowledges this command.
    pub(super) fn is_cached(&self, command: u32) -> bool {
        self.cache.is_some() && self.commands[command].command.kind == CommandKind::Write
    }

    /// A host program of a write needs data that are not here before the write is admitted.
    pub(super) fn wait_for_admission(&mut self, id: u32, command: u32) {
        if self.is_cached(command) {
            let node = &mut self.nodes[id];
            node.waits += 1;
            node.next_waiter = std::mem::replace(&mut self.commands[command].admission, id);
        }
    }

    /// A read or a write has all its operations.
    pub(super) fn submit_data(&mut self, command: u32) {
        if self.is_cached(command) {
            if let Some(cache) = &mut self.cache {
                cache.waiting.push_back(command);
            }
            self.admit();
            return;
        }
        self.take_loose(command);
        if self.commands[command].left > 0 {
            return;
        }
        match &self.cache {
            Some(cache) => {
                let time = self.now + cache.config.latency_ns;
                self.at_later(time, Later::Acknowledged(command));
            }
            None => self.finish(command, Breakdown::default()),
        }
    }

    /// Programs of a command take what lies loose in the cache along.
    fn take_loose(&mut self, command: u32) {
        let Some(cache) = &mut self.cache else { return };
        if self.commands[command].programs > 0 {
            self.commands[command].cached += std::mem::take(&mut cache.loose);
            cache.leaving += 1;
        }
    }

    /// Admits writes in turn. One that does not fit is admitted all the same when no program is left that could make room.
    fn admit(&mut self) {
        while let Some(cache) = &mut self.cache
            && let Some(command) = cache.waiting.front().copied()
        {
            let bytes = self.commands[command].command.bytes;
            if cache.used + bytes > cache.config.bytes && cache.leaving > 0 {
                return;
            }
            cache.waiting.pop_front();
            cache.used += bytes;
            cache.loose += bytes;
            let time = self.now + cache.config.latency_ns;
            self.take_loose(command);
            self.at_later(time, Later::Acknowledged(command));
            let mut id = std::mem::replace(&mut self.commands[command].admission, NONE);
            // The chain is last in, first out; queues and followers put programs back into order.
            while id != NONE {
                let next = self.nodes[id].next_waiter;
                self.satisfy(id);
                id = next;
            }
        }
    }

    pub(super) fn acknowledge(&mut self, command: u32) {
        let cache_ns = self.now - self.commands[command].submitted_at;
        self.finish(command, Breakdown { cache_ns, ..Breakdown::default() });
    }

    /// A program of a command is done and makes room.
    pub(super) fn leave_cache(&mut self, command: u32, bytes: u32) {
        let Some(cache) = &mut self.cache else { return };
        let entry = &mut self.commands[command];
        let freed = if entry.programs == 0 { entry.cached } else { entry.cached.min(u64::from(bytes)) };
        entry.cached -= freed;
        cache.used -= freed;
        cache.leaving -= u32::from(entry.programs == 0);
        self.admit();
    }

    /// A flush waits for every program so far.
    pub(super) fn submit_flush(&mut self, command: u32) {
        self.take_loose(command);
        if self.flush.pending > 0 {
            self.commands[command].left += 1;
            let last = self.flush.spans.len() - 1;
            self.flush.spans[last].1 = command;
            self.flush.spans.push_back((0, NONE));
        } else if self.commands[command].left == 0 {
            self.finish(command, Breakdown::default());
        }
    }

    /// A program is done; flushes end in order.
    pub(super) fn leave_flush(&mut self, span: u32) {
        self.flush.pending -= 1;
        let place = span.wrapping_sub(self.flush.gone) as usize;
        self.flush.spans[place].0 -= 1;
        while let Some((0, command)) = self.flush.spans.front().copied()
            && command != NONE
        {
            self.flush.spans.pop_front();
            self.flush.gone = self.flush.gone.wrapping_add(1);
            self.commands[command].left -= 1;
            if self.commands[command].left == 0 {
                let dependency_ns = self.now - self.commands[command].submitted_at;
                self.finish(command, Breakdown { dependency_ns, ..Breakdown::default() });
            }
        }
    }
}
