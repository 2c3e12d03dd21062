//! Granting of processors, dies and channels, and what happens when their work ends.

use wane_nand::Task;
use wane_units::BlockId;

use super::{EventScheduler, Later, Phase};
use crate::config::{MultiPlane, Suspend};
use crate::node::{Kind, NOBODY};
use crate::slab::NONE;
use crate::thermal::stretched;

impl EventScheduler {
    /// Grants everything that is free: dies before channels, because an operation that gets a die now may want a channel now.
    #[inline]
    pub(super) fn grant(&mut self) {
        if self.firmware.is_some() {
            self.grant_processors();
        }
        while let Some(die) = self.dirty_dies.pop() {
            self.dies[die as usize].dirty = false;
            self.grant_die(die as usize);
        }
        while let Some(channel) = self.dirty_channels.pop() {
            self.channels[channel as usize].dirty = false;
            self.grant_channel(channel as usize);
        }
    }

    fn grant_processors(&mut self) {
        while let Some(firmware) = &mut self.firmware {
            if firmware.free == 0 {
                return;
            }
            let Some(id) = firmware.queues.pop_next(&self.nodes, self.config.reads_overtake()) else { return };
            firmware.free -= 1;
            let time = self.now + firmware.think_ns;
            self.at_later(time, Later::ProcessorDone(id));
        }
    }

    /// Moves on an operation that has passed its processor.
    pub(super) fn processor_done(&mut self, id: u32) {
        if let Some(firmware) = &mut self.firmware {
            firmware.free += 1;
            let count = self.config.processors.map_or(0, |processors| processors.count);
            debug_assert!(firmware.free <= count, "no more processors are idle than there are");
        }
        let node = &mut self.nodes[id];
        node.think_ns = self.now - node.entered;
        self.queue_at_die(id);
    }

    pub(super) fn mark_die(&mut self, die: usize) {
        if !self.dies[die].dirty {
            self.dies[die].dirty = true;
            self.dirty_dies.push(die as u32);
        }
    }

    fn mark_channel(&mut self, channel: u32) {
        if !self.channels[channel as usize].dirty {
            self.channels[channel as usize].dirty = true;
            self.dirty_channels.push(channel);
        }
    }

    fn grant_die(&mut self, index: usize) {
        match self.dies[index].phase {
            Phase::Idle => {}
            Phase::Array if self.may_suspend(index) => return self.suspend(index),
            _ => return,
        }
        let die = &mut self.dies[index];
        if die.suspended == NONE {
            if let Some(first) = die.queues.pop_next(&self.nodes, self.config.reads_overtake()) {
                self.start(index, first);
            }
            return;
        }
        // As in `next_at_die`: only host reads interrupt.
        let first = die.queues.next_read();
        if first == NONE {
            return self.resume(index);
        }
        die.queues.pop(&self.nodes, first);
        self.start(index, first);
    }

    /// The next operation of a die. While an operation is suspended, only host reads run.
    fn next_at_die(&self, index: usize) -> u32 {
        let die = &self.dies[index];
        if die.suspended == NONE {
            die.queues.next(&self.nodes, self.config.reads_overtake())
        } else {
            die.queues.next_read()
        }
    }

    /// Starts an operation, which has left its queue, on its die.
    #[inline]
    fn start(&mut self, index: usize, first: u32) {
        debug_assert_eq!(self.dies[index].phase, Phase::Idle, "a die runs one batch at a time");
        let now = self.now;
        if self.config.multi_plane == MultiPlane::On {
            self.join_planes(index, first);
        }
        if self.heat.is_some() {
            self.warm_up(first);
        }
        let array_ns = self.array_of(first);
        let die = &mut self.dies[index];
        die.batch = first;
        let node = &self.nodes[first];
        let (kind, holder) = (node.kind, node.task as usize);
        self.graph.prefetch(first, BlockId(node.block));
        die.usage.hold(now, holder);
        let mut id = first;
        while id != NONE {
            let node = &mut self.nodes[id];
            if node.task == Task::Host {
                die.usage.stop(&mut node.waited);
                // The die senses until the slowest of the batch is done: the difference counts as waiting.
                node.waited[holder] += if kind == Kind::Read { array_ns - node.times.array_ns } else { 0 };
            }
            #[cfg(test)]
            {
                node.started = now;
            }
            id = node.next_in_batch;
        }
        if kind == Kind::Program && self.times.has_channels() {
            self.transfer_batch(index, Phase::Loading);
        } else {
            die.phase = Phase::Array;
            die.ends = now + array_ns;
            self.calendar.set(index, self.now, die.ends);
            self.note_begun(first);
        }
        self.begin_jobs(index, first);
    }

    /// Warms the drive, as a die begins to work. If the drive is too warm, the operation takes longer.
    #[inline(never)]
    fn warm_up(&mut self, first: u32) {
        let array_ns = self.array_of(first);
        let Some(heat) = &mut self.heat else { return };
        let stretch = heat.stretch(self.now);
        heat.die_works(array_ns);
        let mut id = first;
        while let Some(stretch) = stretch.filter(|_| id != NONE) {
            let node = &mut self.nodes[id];
            node.times.stretch_array(stretch);
            id = node.next_in_batch;
        }
    }

    /// Records that the flash begins programs or erases that run as one.
    #[inline]
    fn note_begun(&mut self, first: u32) {
        let mut id = first;
        while self.graph.tracks_changes() && id != NONE && self.nodes[id].kind != Kind::Read {
            self.graph.change_begins(id, self.now);
            id = self.nodes[id].next_in_batch;
        }
    }

    /// Adds the next operations of the queue to a batch while they are of the same kind and on other planes.
    fn join_planes(&mut self, index: usize, first: u32) {
        let plane = |this: &Self, id: u32| 1u64 << (this.geometry.plane_of(BlockId(this.nodes[id].block)).0 % 64);
        let mut planes = plane(self, first);
        let mut last = first;
        loop {
            let next = self.next_at_die(index);
            if next == NONE || self.nodes[next].kind != self.nodes[first].kind || planes & plane(self, next) != 0 {
                return;
            }
            self.dies[index].queues.pop(&self.nodes, next);
            planes |= plane(self, next);
            self.nodes[next].next_in_batch = NONE;
            self.nodes[last].next_in_batch = next;
            last = next;
        }
    }

    /// The longest array time of operations that run as one.
    fn array_of(&self, first: u32) -> u64 {
        let (mut id, mut longest) = (first, 0);
        while id != NONE {
            longest = longest.max(self.nodes[id].times.array_ns);
            id = self.nodes[id].next_in_batch;
        }
        longest
    }

    /// Holds the die until the channel has moved every page of the batch.
    fn transfer_batch(&mut self, index: usize, phase: Phase) {
        let die = &mut self.dies[index];
        debug_assert_eq!(die.left, 0, "a batch moves its data once");
        die.phase = phase;
        let channel = &mut self.channels[die.channel as usize];
        let mut id = die.batch;
        while id != NONE {
            die.left += 1;
            let node = &mut self.nodes[id];
            node.entered = self.now;
            if node.task == Task::Host {
                channel.usage.start(self.now, &mut node.waited);
            }
            let next = node.next_in_batch;
            channel.queues.push(&mut self.nodes, id);
            id = next;
        }
        let channel = die.channel;
        self.mark_channel(channel);
    }

    fn grant_channel(&mut self, index: usize) {
        let channel = &mut self.channels[index];
        if channel.current != NONE {
            return;
        }
        let Some(id) = channel.queues.pop_next(&self.nodes, self.config.reads_overtake()) else { return };
        channel.current = id;
        let node = &mut self.nodes[id];
        if let Some(heat) = &mut self.heat {
            let stretch = heat.stretch(self.now);
            heat.channel_works(node.times.transfer_ns);
            node.times.transfer_ns = stretch.map_or(node.times.transfer_ns, |by| stretched(node.times.transfer_ns, by));
        }
        channel.usage.hold(self.now, node.task as usize);
        if node.task == Task::Host {
            channel.usage.stop(&mut node.waited);
        }
        let (slot, event) = (node.die as usize, self.dies.len() + index);
        debug_assert!(
            matches!(self.dies[slot].phase, Phase::Loading | Phase::Unloading),
            "a transfer has the slot of its die to itself"
        );
        self.calendar.set_event(slot, event, self.now, self.now + node.times.transfer_ns);
    }

    pub(super) fn transfer_ends(&mut self, index: usize) {
        let channel = &mut self.channels[index];
        channel.usage.hold(self.now, NOBODY);
        let id = std::mem::replace(&mut channel.current, NONE);
        if !channel.queues.is_empty() {
            self.mark_channel(index as u32);
        }
        let die_index = self.nodes[id].die as usize;
        let die = &mut self.dies[die_index];
        debug_assert!(die.left > 0, "a batch transfers each of its pages once");
        die.left -= 1;
        let is_last = die.left == 0;
        if die.phase == Phase::Loading && is_last {
            // The die goes on at once: its slot of the calendar is set anew.
            return self.program_batch(die_index);
        }
        self.calendar.clear(die_index);
        if die.phase == Phase::Loading {
            return;
        }
        if is_last {
            self.free_die(die_index);
        }
        self.complete(id);
    }

    fn program_batch(&mut self, index: usize) {
        let array_ns = self.array_of(self.dies[index].batch);
        let die = &mut self.dies[index];
        debug_assert_eq!(die.phase, Phase::Loading, "a program begins once its data are there");
        die.phase = Phase::Array;
        die.ends = self.now + array_ns;
        self.calendar.set(index, self.now, die.ends);
        let (first, has_reads) = (die.batch, die.queues.has_reads());
        self.note_begun(first);
        if has_reads {
            self.mark_die(index);
        }
    }

    pub(super) fn die_ends(&mut self, index: usize) {
        self.calendar.clear(index);
        let die = &self.dies[index];
        if die.phase == Phase::Suspending {
            return self.free_die(index);
        }
        let mut id = die.batch;
        if self.nodes[id].kind == Kind::Read && self.times.has_channels() {
            return self.transfer_batch(index, Phase::Unloading);
        }
        self.free_die(index);
        while id != NONE {
            let next = self.nodes[id].next_in_batch;
            self.complete(id);
            id = next;
        }
    }

    fn free_die(&mut self, index: usize) {
        let die = &mut self.dies[index];
        debug_assert_ne!(die.phase, Phase::Idle, "a die that is freed was held");
        die.phase = Phase::Idle;
        die.usage.hold(self.now, NOBODY);
        if !die.queues.is_empty() || die.suspended != NONE {
            self.mark_die(index);
        }
    }

    fn may_suspend(&self, index: usize) -> bool {
        let die = &self.dies[index];
        let kinds = matches!(
            (self.config.suspend, self.nodes[die.batch].kind),
            (Suspend::Program | Suspend::Both, Kind::Program) | (Suspend::Erase | Suspend::Both, Kind::Erase)
        );
        kinds && die.queues.has_reads() && die.ends - self.now > self.config.suspend_ns
    }

    fn suspend(&mut self, index: usize) {
        let die = &mut self.dies[index];
        debug_assert_eq!(die.suspended, NONE, "while a batch is suspended only reads run, which are not");
        die.suspended = die.batch;
        die.remaining = die.ends - self.now;
        die.phase = Phase::Suspending;
        self.calendar.set(index, self.now, self.now + self.config.suspend_ns);
    }

    fn resume(&mut self, index: usize) {
        let die = &mut self.dies[index];
        debug_assert_eq!(die.phase, Phase::Idle, "what was suspended goes on while nothing else runs");
        die.batch = std::mem::replace(&mut die.suspended, NONE);
        die.phase = Phase::Array;
        die.ends = self.now + die.remaining;
        die.usage.hold(self.now, self.nodes[die.batch].task as usize);
        self.calendar.set(index, self.now, die.ends);
    }
}
