//! AutoStream by queues of chunks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wane_nand::Task;
use wane_units::SuperblockId;

use super::chunks::{self, Filled, Follows, Writes};
use super::{HostWrite, PlacementPolicy, RelocatedRun, STREAMS_MAX, StreamId};
use crate::policies::state::remembered_by_serde;
use crate::policies::{Builtin, Needs, Setting};

/// No chunk.
const NONE: u32 = u32::MAX;

/// See [`AutostreamMqParams`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AutostreamMq {
    params: AutostreamMqParams,
    writes: Writes,
    filled: Filled,
    chunks: Vec<Chunk>,
    /// One queue for each level. A chunk with a count of 0 is in none.
    queues: Vec<Queue>,
    /// The chunk that was written most.
    hottest: u32,
    /// Its mean interval in host writes when it was last written.
    interval: u64,
}

/// A stretch of the logical space.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Chunk {
    /// Number of writes, halved by each demotion. Its logarithm is the level.
    count: u32,
    /// All its writes, and the number of the first of them.
    writes: u32,
    first: u64,
    /// The number of the write after which it may be demoted.
    expiry: u64,
    /// Its neighbors in its queue.
    before: u32,
    after: u32,
}

impl Default for Chunk {
    fn default() -> Self {
        Self { count: 0, writes: 0, first: 0, expiry: 0, before: NONE, after: NONE }
    }
}

impl Chunk {
    fn level(&self) -> u32 {
        self.count.max(1).ilog2()
    }
}

/// Chunks of one level, the longest untouched first.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Queue {
    head: u32,
    tail: u32,
}

/// One stream per queue: chunks rise through the queues when they are written and fall when they are not.
///
/// The drive finds the streams by itself and ignores hints of the host. A write counts for the chunk in which it starts. The chunk
/// then goes to the end of queue floor(log2 count), and the queue's number is the stream. A chunk may stay in its queue for the
/// average number of writes between two writes of the hottest chunk, which is the one that was written most. Each write checks the
/// first chunk of each queue: if its time is over, it falls one queue, its count is halved, and its time begins again. A chunk that
/// falls out of queue 0 starts again from a count of 0. So a chunk that is written as often as the hottest reaches a count of 2 or 3,
/// and chunks that are written much less often share stream 0. High streams fill only if a few chunks get most writes.
///
/// Relocated data go to the stream that filled their block. A placement policy hears of blocks and never of pages, so that stream
/// stands for the level that the chunks had when the host last wrote them. A later rise or fall of a chunk shows at its next write.
/// Data that wear leveling moved, and parity, count as stream 0. Memory: 32 bytes a chunk, 1 a block.
///
/// Source: Yang et al., SYSTOR 2017, as described in its abstract, talk and patent, since the text was not available; a rival in the
/// capacity-variant SSD (001, section 4), whose code does not contain it. No source gives the following, so they are ours: the chunk,
/// 8 streams, that a fall halves the count (otherwise the next write would undo it) and leads out of queue 0, that counts stay below
/// 2^`streams`, and the stream of relocated data.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct AutostreamMqParams {
    /// Number of streams and of queues. Each stream keeps a block of each domain open, which takes spare space.
    #[schemars(range(min = 2, max = STREAMS_MAX))]
    pub streams: u32,
    /// Mapping units whose writes are counted together: 1 MiB where a unit is 4 KiB.
    #[schemars(range(min = 1, max = 1 << 24), extend("x-unit" = "mapping units", "x-scales" = "capacity"))]
    pub chunk_units: u32,
}

impl Default for AutostreamMqParams {
    fn default() -> Self {
        Self { streams: 8, chunk_units: 256 }
    }
}

impl Builtin for AutostreamMq {
    const NAME: &'static str = "autostream-mq";
    type Params = AutostreamMqParams;

    fn build(params: AutostreamMqParams) -> Self {
        Self {
            queues: vec![Queue { head: NONE, tail: NONE }; params.streams as usize],
            params,
            writes: Writes::default(),
            filled: Filled::default(),
            chunks: Vec::new(),
            hottest: NONE,
            interval: u64::MAX,
        }
    }
}

impl AutostreamMq {
    /// Counts a write for its chunk, moves the chunk to the end of its queue, and returns its level.
    fn count(&mut self, number: u32) -> u32 {
        let now = self.writes.count();
        self.leave(number);
        let chunk = &mut self.chunks[number as usize];
        if chunk.writes == 0 {
            chunk.first = now;
        }
        chunk.writes = chunk.writes.saturating_add(1);
        chunk.count = (chunk.count + 1).min((1 << self.params.streams) - 1);
        let Chunk { writes, first, .. } = *chunk;
        let to_beat = self.chunks.get(self.hottest as usize).map_or(2, |hottest| hottest.writes);
        if writes >= to_beat {
            self.hottest = number;
            self.interval = ((now - first) / u64::from(writes - 1)).max(1);
        }
        self.enter(number, now);
        self.chunks[number as usize].level()
    }

    /// Demotes the first chunk of each queue if its time is over.
    fn demote(&mut self) {
        let now = self.writes.count();
        for level in 0..self.queues.len() {
            let head = self.queues[level].head;
            if head == NONE || self.chunks[head as usize].expiry >= now {
                continue;
            }
            self.leave(head);
            let chunk = &mut self.chunks[head as usize];
            chunk.count /= 2;
            if level > 0 {
                self.enter(head, now);
            }
        }
    }

    /// Appends a chunk to the queue of its level.
    fn enter(&mut self, number: u32, now: u64) {
        let level = self.chunks[number as usize].level() as usize;
        let tail = std::mem::replace(&mut self.queues[level].tail, number);
        let chunk = &mut self.chunks[number as usize];
        chunk.expiry = now.saturating_add(self.interval);
        (chunk.before, chunk.after) = (tail, NONE);
        match tail {
            NONE => self.queues[level].head = number,
            tail => self.chunks[tail as usize].after = number,
        }
    }

    /// Takes a chunk out of the queue of its level, if it is in one.
    fn leave(&mut self, number: u32) {
        let chunk = self.chunks[number as usize];
        if chunk.count == 0 {
            return;
        }
        let queue = &mut self.queues[chunk.level() as usize];
        match chunk.before {
            NONE => queue.head = chunk.after,
            before => self.chunks[before as usize].after = chunk.after,
        }
        match chunk.after {
            NONE => queue.tail = chunk.before,
            after => self.chunks[after as usize].before = chunk.before,
        }
    }
}

impl PlacementPolicy for AutostreamMq {
    remembered_by_serde!();

    fn begin(&mut self, setting: Setting) {
        self.filled = Filled::new(&setting);
        self.chunks = vec![Chunk::default(); chunks::count(&setting, self.params.chunk_units)];
    }

    fn streams(&self, _tasks: &[Task]) -> u32 {
        self.params.streams
    }

    fn host(&mut self, write: &HostWrite) -> StreamId {
        let stream = if let Follows::Rest(stream) = self.writes.next(write) {
            stream
        } else {
            let level = self.count(write.first.0 / self.params.chunk_units);
            self.demote();
            StreamId(level)
        };
        self.writes.placed(write, stream);
        stream
    }

    fn opened(&mut self, block: SuperblockId, stream: Option<StreamId>) {
        self.filled.opened(block, stream);
    }

    fn relocated(&mut self, run: &RelocatedRun) -> StreamId {
        self.filled.stream(run.from)
    }

    fn parity(&self, _task: Task) -> StreamId {
        StreamId(0)
    }

    fn needs(&self) -> Needs {
        Needs { requests: true, ..Needs::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policies::placement::tests::{setting, write};
    use wane_sim::Streams;

    /// A policy with chunks of one unit on a drive of 64 units.
    fn policy(streams: u32) -> AutostreamMq {
        let mut policy = AutostreamMq::build(AutostreamMqParams { streams, chunk_units: 1 });
        policy.begin(setting(16, 4));
        policy
    }

    /// Chunks of each queue, first to last.
    fn queues(policy: &AutostreamMq) -> Vec<Vec<u32>> {
        let of = |queue: &Queue| {
            let (mut all, mut at) = (Vec::new(), queue.head);
            while at != NONE {
                assert_eq!(policy.chunks[at as usize].before, all.last().copied().unwrap_or(NONE));
                all.push(at);
                at = policy.chunks[at as usize].after;
            }
            assert_eq!(queue.tail, all.last().copied().unwrap_or(NONE));
            all
        };
        policy.queues.iter().map(of).collect()
    }

    #[test]
    fn chunks_rise_with_their_count_and_fall_when_their_time_is_over() {
        let mut policy = policy(4);
        // Write by write: the chunk, its stream, then queues 0 to 2 and the interval of the hottest chunk.
        type Row = (u32, u32, [&'static [u32]; 3], u64);
        let table: [Row; 11] = [
            (5, 0, [&[5], &[], &[]], u64::MAX),
            (5, 1, [&[], &[5], &[]], 1),
            (7, 0, [&[7], &[5], &[]], 1),
            // Chunk 5 stayed until write 3, and falls to a count of 1; chunk 7 stays until write 4.
            (8, 0, [&[7, 8, 5], &[], &[]], 1),
            // With two writes chunk 7 is the hottest: its interval is that of write 3 to 5. No head but 8 is out of time.
            (7, 1, [&[8, 5], &[7], &[]], 2),
            // Chunk 8 stayed until write 5 and falls out.
            (7, 1, [&[5], &[7], &[]], 1),
            // A count of 4; three intervals over the writes 3 to 7. Chunk 5 falls out.
            (7, 2, [&[], &[], &[7]], 1),
            // Chunk 8 begins anew.
            (8, 0, [&[8], &[], &[7]], 1),
            // Chunk 7 stayed until write 8: it falls to a count of 2 and stays until 10.
            (8, 1, [&[], &[8, 7], &[]], 1),
            (9, 0, [&[9], &[8, 7], &[]], 1),
            // Chunk 8 falls. Only the first chunk of each queue is checked.
            (10, 0, [&[9, 10, 8], &[7], &[]], 1),
        ];
        for (number, (chunk, stream, want, interval)) in table.into_iter().enumerate() {
            assert_eq!(policy.host(&write(chunk, 1, number as u64)), StreamId(stream), "write {}", number + 1);
            assert_eq!(
                (&queues(&policy)[..3], policy.interval),
                (&want.map(<[u32]>::to_vec)[..], interval),
                "write {}",
                number + 1
            );
        }
    }

    #[test]
    fn a_count_ends_where_one_fall_leaves_the_last_queue() {
        let mut policy = policy(3);
        let streams: Vec<u32> = (0..20).map(|now| policy.host(&write(1, 1, now)).0).collect();
        assert_eq!([streams[0], streams[1], streams[3], streams[19]], [0, 1, 2, 2]);
        assert_eq!(policy.chunks[1].count, 7);
        policy.host(&write(2, 1, 20));
        policy.host(&write(3, 1, 21));
        assert_eq!((policy.chunks[1].count, policy.chunks[1].level()), (3, 1));
    }

    #[test]
    fn every_chunk_lies_in_the_queue_of_its_level_after_random_writes() {
        let mut policy = policy(8);
        let mut stream = Streams::new(3).stream("writes");
        for now in 0..20_000 {
            let chunk = if stream.chance(0.8) { stream.below(6) } else { stream.below(64) };
            policy.host(&write(chunk as u32, 1, now));
            if now % 97 == 0 {
                let mut seen = 0;
                for (level, queue) in queues(&policy).into_iter().enumerate() {
                    seen += queue.len();
                    let of = |chunk: &u32| policy.chunks[*chunk as usize].level() as usize;
                    assert!(queue.iter().all(|chunk| of(chunk) == level), "write {now}");
                }
                assert_eq!(seen, policy.chunks.iter().filter(|chunk| chunk.count > 0).count(), "write {now}");
            }
        }
        let mean = |range: std::ops::Range<usize>| {
            let counts: Vec<u32> = policy.chunks[range].iter().map(|chunk| chunk.count).collect();
            f64::from(counts.iter().sum::<u32>()) / counts.len() as f64
        };
        assert!(mean(0..6) > 3.0 * mean(6..64), "{} and {}", mean(0..6), mean(6..64));
    }
}
