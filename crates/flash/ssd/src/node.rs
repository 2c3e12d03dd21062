//! One flash operation that is not done, the queues it waits in, and the meter of what it waited behind.

use serde::{Deserialize, Serialize};
use wane_nand::Task;

use crate::slab::{NONE, Slab};
use crate::times::Times;

/// Number of classes that waiting is split by: those of [`Task`].
pub(crate) const CLASSES: usize = 4;

/// Index of "nobody", after the classes.
pub(crate) const NOBODY: usize = CLASSES;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Kind {
    Read,
    Program,
    Erase,
    /// Served from the controller's buffer: takes its transfer time and no resource.
    Buffered,
}

/// A flash operation that is not done. [`crate::depend::Graph`] knows what it waits for before it may queue.
///
/// The fields that queues and dies look at come first, in one line of the cache.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[repr(C, align(64))]
pub(crate) struct Node {
    /// Place in the history of the drive.
    pub(crate) sequence: u64,
    /// When it entered its queue.
    pub(crate) entered: u64,
    pub(crate) times: Times,
    pub(crate) block: u32,
    pub(crate) die: u32,
    /// Next in its queue.
    pub(crate) next: u32,
    /// Next of the operations that run as one on several planes.
    pub(crate) next_in_batch: u32,
    pub(crate) kind: Kind,
    pub(crate) task: Task,
    /// Queue of its class.
    pub(crate) rank: u8,
    /// Time at the processors, queueing there included.
    pub(crate) think_ns: u64,
    /// Waiting by the class that held the resource.
    pub(crate) waited: [u64; CLASSES],
    #[cfg(test)]
    pub(crate) started: u64,
}

const _: () = assert!(std::mem::offset_of!(Node, rank) < 64, "queues look at one line of the cache");

/// Queues of a resource, one for each class and one more for the host's reads.
pub(crate) const RANKS: usize = 5;
/// The queue of host reads.
pub(crate) const READS: u8 = 0;

/// The operations that wait for a resource: a queue for each class, in the order of arrival, ties by sequence.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ClassQueues {
    heads: [u32; RANKS],
    tails: [u32; RANKS],
    /// Bit of each queue that is not empty.
    occupied: u8,
}

impl ClassQueues {
    pub(crate) const fn new() -> Self {
        Self { heads: [NONE; RANKS], tails: [NONE; RANKS], occupied: 0 }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.occupied == 0
    }

    pub(crate) fn has_reads(&self) -> bool {
        self.occupied & 1 << READS != 0
    }

    #[inline]
    pub(crate) fn push(&mut self, nodes: &mut Slab<Node>, id: u32) {
        let rank = nodes[id].rank as usize;
        nodes[id].next = NONE;
        if self.occupied & 1 << rank == 0 {
            self.occupied |= 1 << rank;
            self.heads[rank] = id;
            self.tails[rank] = id;
        } else if came_before(&nodes[self.tails[rank]], &nodes[id]) {
            debug_assert_eq!(nodes[self.tails[rank]].next, NONE, "the last of a queue is followed by none");
            nodes[self.tails[rank]].next = id;
            self.tails[rank] = id;
        } else {
            self.insert(nodes, rank, id);
        }
    }

    /// Inserts an operation into the middle of a queue: at ties in time, and when a collection releases it.
    #[cold]
    fn insert(&mut self, nodes: &mut Slab<Node>, rank: usize, id: u32) {
        let (mut before, mut after) = (NONE, self.heads[rank]);
        while came_before(&nodes[after], &nodes[id]) {
            (before, after) = (after, nodes[after].next);
        }
        nodes[id].next = after;
        match before {
            NONE => self.heads[rank] = id,
            before => nodes[before].next = id,
        }
    }

    /// The next operation: the head of the first queue that is not empty. Of the host's two queues the earlier head goes
    /// first, unless reads overtake writes.
    #[inline]
    pub(crate) fn next(&self, nodes: &Slab<Node>, reads_overtake: bool) -> u32 {
        match self.next_rank(nodes, reads_overtake) {
            Some(rank) => self.heads[rank],
            None => NONE,
        }
    }

    /// The queue whose head goes next.
    #[inline(always)]
    fn next_rank(&self, nodes: &Slab<Node>, reads_overtake: bool) -> Option<usize> {
        if self.occupied & 3 == 3 {
            let (read, other) = (&nodes[self.heads[0]], &nodes[self.heads[1]]);
            let overtakes = reads_overtake && other.task == Task::Host;
            return Some(usize::from(!overtakes && !came_before(read, other)));
        }
        (self.occupied != 0).then(|| self.occupied.trailing_zeros() as usize)
    }

    /// The first host read.
    pub(crate) fn next_read(&self) -> u32 {
        self.heads[READS as usize]
    }

    /// Removes the next operation.
    #[inline]
    pub(crate) fn pop_next(&mut self, nodes: &Slab<Node>, reads_overtake: bool) -> Option<u32> {
        let rank = self.next_rank(nodes, reads_overtake)?;
        let head = self.heads[rank];
        self.pop_from(nodes, rank, nodes[head].next);
        Some(head)
    }

    /// Removes the head of a queue.
    #[inline]
    pub(crate) fn pop(&mut self, nodes: &Slab<Node>, head: u32) {
        let rank = nodes[head].rank as usize;
        debug_assert_eq!(self.heads[rank], head, "only heads leave");
        self.pop_from(nodes, rank, nodes[head].next);
    }

    #[inline(always)]
    fn pop_from(&mut self, nodes: &Slab<Node>, rank: usize, next: u32) {
        self.heads[rank] = next;
        if next == NONE {
            self.occupied &= !(1 << rank);
        } else {
            // Long queues do not stay in the cache, and the new head's `next` is needed soon.
            nodes.prefetch(next);
        }
    }

    /// Empties all queues into `out`.
    pub(crate) fn drain(&mut self, nodes: &Slab<Node>, out: &mut Vec<u32>) {
        for head in self.heads {
            let mut id = head;
            while id != NONE {
                out.push(id);
                id = nodes[id].next;
            }
        }
        *self = Self::new();
    }
}

#[inline(always)]
fn came_before(one: &Node, other: &Node) -> bool {
    (one.entered, one.sequence) < (other.entered, other.sequence)
}

/// The class that holds a resource, and how long each class has held it so far.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Usage {
    pub(crate) busy: [u64; CLASSES + 1],
    since: u64,
    holder: usize,
}

impl Usage {
    pub(crate) const fn new() -> Self {
        Self { busy: [0; CLASSES + 1], since: 0, holder: NOBODY }
    }

    #[inline]
    pub(crate) fn touch(&mut self, now: u64) {
        self.busy[self.holder] += now - self.since;
        self.since = now;
    }

    #[inline]
    pub(crate) fn hold(&mut self, now: u64, holder: usize) {
        self.touch(now);
        self.holder = holder;
    }

    /// Starts measuring what an operation waits behind: the time that each class holds the resource until [`Usage::stop`].
    #[inline]
    pub(crate) fn start(&mut self, now: u64, waited: &mut [u64; CLASSES]) {
        self.touch(now);
        for (waited, busy) in waited.iter_mut().zip(&self.busy) {
            *waited = waited.wrapping_sub(*busy);
        }
    }

    /// Stops measuring, at a time at which the resource has been touched.
    #[inline]
    pub(crate) fn stop(&self, waited: &mut [u64; CLASSES]) {
        for (waited, busy) in waited.iter_mut().zip(&self.busy) {
            *waited = waited.wrapping_add(*busy);
        }
        debug_assert!(waited.iter().all(|waited| *waited <= self.since), "nobody waits for longer than time has run");
    }

    /// Time held by each class until `now`, or until the last change if that is later.
    pub(crate) fn held_at(&self, now: u64) -> [u64; CLASSES] {
        std::array::from_fn(|class| {
            let running = if class == self.holder { now.saturating_sub(self.since) } else { 0 };
            self.busy[class] + running
        })
    }
}

/// How long dies and channels were held.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Utilization {
    /// Share of the dies' time so far in which they were held, 0 to 1.
    pub dies: f64,
    /// The same of the channels.
    pub channels: f64,
    /// Time that dies were held, summed over dies, by [`wane_nand::Task`], ns.
    pub die_held_ns: [u64; CLASSES],
    /// The same of the channels.
    pub channel_held_ns: [u64; CLASSES],
}

impl Utilization {
    pub(crate) fn of<'a>(
        now: u64,
        dies: impl Iterator<Item = &'a Usage>,
        channels: impl Iterator<Item = &'a Usage>,
    ) -> Self {
        let (dies, die_held_ns) = held(now, dies);
        let (channels, channel_held_ns) = held(now, channels);
        Self { dies, channels, die_held_ns, channel_held_ns }
    }
}

fn held<'a>(now: u64, usages: impl Iterator<Item = &'a Usage>) -> (f64, [u64; CLASSES]) {
    let (mut count, mut sums) = (0u64, [0; CLASSES]);
    for usage in usages {
        count += 1;
        for (sum, held) in sums.iter_mut().zip(usage.held_at(now)) {
            *sum += held;
        }
    }
    let sum: u64 = sums.iter().sum();
    assert!(
        u128::from(sum) <= u128::from(count) * u128::from(now),
        "nothing is held by two at once: {sum} of {now} ns"
    );
    let whole = count as f64 * now as f64;
    let share = if whole > 0.0 { sum as f64 / whole } else { 0.0 };
    (share, sums)
}
