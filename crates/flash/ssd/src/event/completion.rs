//! What happens when an operation is done, and what it means for its command.

use super::{Done, EventScheduler, Later};
use crate::command::{Breakdown, CommandKind};
use crate::depend::News;
use crate::node::Kind;
use crate::slab::NONE;

impl EventScheduler {
    /// Ends an operation.
    pub(super) fn complete(&mut self, id: u32) {
        #[cfg(test)]
        self.log_operation(id);
        let node = &self.nodes[id];
        self.alive[node.task as usize] -= 1;
        self.operations += u64::from(node.kind != Kind::Buffered);
        let known = |_| node.times.breakdown(node.kind, &node.waited, node.think_ns);
        let done = self.graph.ended(self.now, id, self.now, known);
        self.take_news();
        if done != NONE {
            let node = &self.nodes[id];
            let known = |_| node.times.breakdown(node.kind, &node.waited, node.think_ns);
            let breakdown = self.graph.breakdown(id, self.now, known);
            self.commands[done].is_over = true;
            self.finish(done, breakdown);
        }
        self.nodes.release(id);
    }

    /// Takes up what followed in the graph from the last calls.
    #[inline(always)]
    pub(super) fn take_news(&mut self) {
        if self.graph.has_news() {
            self.take_all_news();
        }
    }

    #[inline(never)]
    fn take_all_news(&mut self) {
        while let Some(id) = self.graph.next_ready() {
            self.queue_up(id);
        }
        for place in 0..self.graph.news.len() {
            match self.graph.news[place] {
                News::Done { command, is_over } => {
                    self.commands[command].is_over = is_over;
                    self.finish_known(command);
                }
                News::Acknowledged { command, is_over } => {
                    self.commands[command].is_over = is_over;
                    let (end, _) = self.graph.end_of(command);
                    self.at_later(end, Later::Acknowledged(command));
                }
                News::Over(command) => {
                    self.commands[command].is_over = true;
                    if self.commands[command].is_handed {
                        self.commands.release(command);
                    }
                }
                News::Room { .. } => unreachable!("every end has come when it is told"),
                News::Left { die, job } => self.open_gate(die as usize, job),
            }
        }
        self.graph.news.clear();
    }

    /// Completes a command whose end, which the graph knew, has come.
    pub(super) fn finish_known(&mut self, command: u32) {
        let (end, breakdown) = self.graph.end_of(command);
        debug_assert_eq!(end, self.now, "a command is done when its end has come");
        self.finish(command, breakdown);
    }

    /// The drive is done with a command. For the host it is done once it has crossed the link, if there is one.
    #[inline]
    fn finish(&mut self, command: u32, breakdown: Breakdown) {
        if self.link.is_none() { self.hand_over(command, breakdown) } else { self.cross(command, breakdown) }
    }

    /// Makes a command wait for its turn on the link. Trims do not cross it, and what the firmware does on its own account is a
    /// trim.
    fn cross(&mut self, command: u32, breakdown: Breakdown) {
        let what = &self.commands[command].completion;
        let link = self.link.as_mut().filter(|_| what.kind != CommandKind::Trim);
        let Some(link) = link else { return self.hand_over(command, breakdown) };
        link.free_at = link.free_at.max(self.now) + link.config.crossing_ns(what.bytes);
        let end = link.free_at;
        link.crossing.push_back((command, Breakdown { link_ns: end - self.now, ..breakdown }));
        self.at_later(end, Later::Crossed);
    }

    /// The first command on the link has crossed it.
    pub(super) fn crossed(&mut self) {
        let first = self.link.as_mut().and_then(|link| link.crossing.pop_front());
        let (command, breakdown) = first.expect("what crosses the link is in its queue");
        self.hand_over(command, breakdown);
    }

    /// Completes a command for the host. Its slot stays until it was handed out and its operations are done.
    #[inline]
    fn hand_over(&mut self, command: u32, breakdown: Breakdown) {
        self.count_outstanding();
        self.outstanding -= 1;
        let entry = &mut self.commands[command];
        let completion = &mut entry.completion;
        (completion.at, completion.breakdown) = (self.now, breakdown);
        debug_assert_eq!(breakdown.total_ns(), completion.latency_ns(), "the parts add up");
        if let Some(link) = &mut self.link {
            link.owed_ns -= link.time_of(completion.kind, completion.bytes);
        }
        let done = Done { at: self.now, number: entry.number, command };
        match self.done.back() {
            Some(last) if last.at == done.at && last.number > done.number => self.insert_done(done),
            _ => self.done.push_back(done),
        }
    }

    /// Inserts a command among those that are done at the same time.
    #[cold]
    fn insert_done(&mut self, done: Done) {
        let later = self.done.iter().rev().take_while(|other| other.at == done.at && other.number > done.number);
        let place = self.done.len() - later.count();
        self.done.insert(place, done);
    }
}
