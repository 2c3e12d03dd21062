//! A plain queueing simulator of reads, which shares nothing with the schedulers. Each die senses one page at a time, first come
//! first served, and is held until its channel has moved the page. A channel moves one page at a time, in the order in which they
//! were sensed.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

/// A drive that only reads, with constant times.
#[derive(Clone, Copy, Debug)]
pub struct ReadModel {
    /// Channels; die `d` is on channel `d % channels`.
    pub channels: usize,
    /// Time to sense a page, ns.
    pub sense_ns: u64,
    /// Time to move a page, ns.
    pub transfer_ns: u64,
}

/// The arrivals of reads.
#[derive(Clone, Debug)]
pub enum Load {
    /// This number of reads is outstanding at any time.
    Closed(usize),
    /// Reads come at these times, ascending, ns.
    Open(Vec<u64>),
}

/// Events. At equal times, ends come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Moved { read: usize },
    Sensed { read: usize },
    Comes { read: usize },
}

impl ReadModel {
    /// Reads a page of each of these dies in turn. Returns when each read came and when it was done.
    pub fn run(&self, load: &Load, dies: &[usize]) -> Vec<(u64, u64)> {
        assert!(self.channels > 0, "a drive has a channel");
        let mut events = BinaryHeap::new();
        match load {
            Load::Closed(depth) => {
                events.extend((0..(*depth).min(dies.len())).map(|read| Reverse((0, Event::Comes { read }))));
            }
            Load::Open(times) => {
                events.extend(times.iter().zip(0..dies.len()).map(|(at, read)| Reverse((*at, Event::Comes { read }))));
            }
        }
        let mut next = match load {
            Load::Closed(depth) => *depth,
            Load::Open(_) => dies.len(),
        };
        // The first of each queue is in service.
        let mut at_die: BTreeMap<usize, VecDeque<usize>> = BTreeMap::new();
        let mut at_channel: BTreeMap<usize, VecDeque<usize>> = BTreeMap::new();
        let mut times = vec![(0, 0); dies.len()];
        while let Some(Reverse((now, event))) = events.pop() {
            match event {
                Event::Comes { read } => {
                    times[read].0 = now;
                    let queue = at_die.entry(dies[read]).or_default();
                    queue.push_back(read);
                    if queue.len() == 1 {
                        events.push(Reverse((now + self.sense_ns, Event::Sensed { read })));
                    }
                }
                Event::Sensed { read } => {
                    let queue = at_channel.entry(dies[read] % self.channels).or_default();
                    queue.push_back(read);
                    if queue.len() == 1 {
                        events.push(Reverse((now + self.transfer_ns, Event::Moved { read })));
                    }
                }
                Event::Moved { read } => {
                    times[read].1 = now;
                    let channel = at_channel.get_mut(&(dies[read] % self.channels)).expect("it moved a page");
                    assert_eq!(channel.pop_front(), Some(read), "the channel moved the page at the head of its queue");
                    if let Some(read) = channel.front() {
                        events.push(Reverse((now + self.transfer_ns, Event::Moved { read: *read })));
                    }
                    let die = at_die.get_mut(&dies[read]).expect("it sensed a page");
                    assert_eq!(die.pop_front(), Some(read), "the die held the page at the head of its queue");
                    if let Some(read) = die.front() {
                        events.push(Reverse((now + self.sense_ns, Event::Sensed { read: *read })));
                    }
                    if next < dies.len() {
                        events.push(Reverse((now, Event::Comes { read: next })));
                        next += 1;
                    }
                }
            }
        }
        times
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_worked_out_by_hand() {
        let model = ReadModel { channels: 1, sense_ns: 100, transfer_ns: 10 };
        let open = |times: &[u64], dies: &[usize]| model.run(&Load::Open(times.to_vec()), dies);
        assert_eq!(open(&[0, 0], &[0, 0]), [(0, 110), (0, 220)], "one die");
        assert_eq!(open(&[0, 5], &[0, 1]), [(0, 110), (5, 120)], "the channel is busy from 100 to 110");
        assert_eq!(open(&[0, 5, 6], &[0, 1, 1]), [(0, 110), (5, 120), (6, 230)], "a die is held while its page waits");
        assert_eq!(model.run(&Load::Closed(1), &[0, 1]), [(0, 110), (110, 220)]);
    }
}
