//! Host commands: what they still wait for, and when they are done.

use serde::{Deserialize, Serialize};

use super::{Graph, News};
use crate::command::{Breakdown, Command, CommandKind};
use crate::slab::NONE;

/// Progress of a command.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Parts {
    kind: CommandKind,
    pub(super) bytes: u64,
    pub(super) submitted_at: u64,
    /// Number of things that the command still waits for: host operations whose end is not known, the flush, and its programs
    /// that have not made room in the cache.
    pub(super) left: u32,
    /// Host programs that are not done.
    pub(super) programs: u32,
    /// Bytes that its programs will free in the cache.
    pub(super) cached: u64,
    /// Whether writes wait in the cache until its programs are done.
    pub(super) is_leaving: bool,
    /// Programs that wait for admission to the cache.
    pub(super) admission: u32,
    /// Transfers of its pages from the controller's buffer.
    handed_ns: u64,
    /// The command's end if it is known, otherwise the latest known end of what it waits for.
    pub(super) end: u64,
    /// Whether its own end is known.
    pub(super) is_done: bool,
    /// Number of the span in which protected flushes count it.
    span: u32,
}

impl Default for Parts {
    fn default() -> Self {
        Self::new(CommandKind::Trim, 0, 0)
    }
}

impl Parts {
    #[inline]
    fn new(kind: CommandKind, bytes: u64, submitted_at: u64) -> Self {
        Self {
            kind,
            bytes,
            submitted_at,
            left: 0,
            programs: 0,
            cached: 0,
            is_leaving: false,
            admission: NONE,
            handed_ns: 0,
            end: submitted_at,
            is_done: false,
            span: 0,
        }
    }

    pub(super) fn is_read(&self) -> bool {
        self.kind == CommandKind::Read
    }

    pub(super) fn is_write(&self) -> bool {
        self.kind == CommandKind::Write
    }

    pub(super) fn is_protected(&self) -> bool {
        self.kind == CommandKind::ProtectedFlush
    }

    /// Whether a protected flush waits for it.
    fn is_counted(&self) -> bool {
        matches!(self.kind, CommandKind::Write | CommandKind::Flush)
    }

    /// The span in which protected flushes count it, if they do.
    pub(super) fn span_counted(&self) -> Option<u32> {
        self.is_counted().then_some(self.span)
    }
}

impl Graph {
    /// Adds a command, whose operations follow.
    #[inline]
    pub(crate) fn begin(&mut self, now: u64, number: u32, command: &Command) {
        self.parts.put(number, Parts::new(command.kind, command.bytes, now));
        if self.parts[number].is_counted() {
            self.parts[number].span = self.unacknowledged.add();
        }
    }

    /// When a page from the controller's buffer has come. The pages of one command come one after the other.
    pub(crate) fn hand_out(&mut self, command: u32, transfer_ns: u64) -> u64 {
        if command == NONE {
            return transfer_ns;
        }
        let parts = &mut self.parts[command];
        parts.handed_ns += transfer_ns;
        parts.handed_ns
    }

    /// Closes a command: all of its operations were added.
    #[inline(always)]
    pub(crate) fn close(&mut self, now: u64, command: u32) {
        self.close_job();
        let parts = &self.parts[command];
        // The operations of most commands say the rest; these are the others.
        if self.cache.is_some() || parts.left == 0 || !(parts.is_read() || parts.is_write()) {
            self.close_any(now, command);
        }
    }

    fn close_any(&mut self, now: u64, command: u32) {
        match self.parts[command].kind {
            CommandKind::Trim => {
                self.take_along(command);
                self.finish(command, now, Breakdown::default());
            }
            CommandKind::Flush | CommandKind::ProtectedFlush => self.submit_flush(command),
            CommandKind::Read | CommandKind::Write => self.submit_data(now, command),
        }
    }

    /// The end of a command that [`News`] reported, and where its time went.
    #[inline]
    pub(crate) fn end_of(&self, command: u32) -> (u64, Breakdown) {
        (self.parts[command].end, self.breakdowns[command])
    }

    /// Called when a command no longer waits for anything.
    #[inline]
    pub(super) fn none_left(&mut self, command: u32) {
        debug_assert_eq!(self.parts[command].left, 0, "a command that is over has nothing left");
        if self.parts[command].is_done {
            self.news.push(News::Over(command));
        } else if !self.is_cached(command) {
            let parts = &mut self.parts[command];
            parts.is_done = true;
            let (end, is_over) = (parts.end, true);
            // The acknowledgment that a protected flush waited for may lie ahead.
            let done = News::Done { command, is_over };
            self.news.push(if parts.is_protected() { News::Acknowledged { command, is_over } } else { done });
            self.acknowledged(command, end);
        }
    }

    pub(super) fn finish(&mut self, command: u32, end: u64, breakdown: Breakdown) {
        let is_over = self.set_end(command, end, breakdown);
        self.news.push(News::Done { command, is_over });
        self.acknowledged(command, end);
    }

    /// Lets the cache acknowledge a command at `end`.
    pub(super) fn acknowledge(&mut self, command: u32, end: u64) {
        let cache_ns = end - self.parts[command].submitted_at;
        let is_over = self.set_end(command, end, Breakdown { cache_ns, ..Breakdown::default() });
        self.news.push(News::Acknowledged { command, is_over });
        self.acknowledged(command, end);
    }

    /// Sets a command's end. Returns whether none of its operations is left.
    fn set_end(&mut self, command: u32, end: u64, breakdown: Breakdown) -> bool {
        let parts = &mut self.parts[command];
        debug_assert!(!parts.is_done, "a command is done once");
        (parts.is_done, parts.end) = (true, end);
        let is_over = parts.left == 0;
        self.breakdowns.put(command, breakdown);
        is_over
    }
}
